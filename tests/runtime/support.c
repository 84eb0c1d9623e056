#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *test_read(const char *name, size_t *length) { return test_read_in(WS_TEST_DATA, name, length); }

char *test_read_in(const char *folder, const char *name, size_t *length) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  fclose(f);
  if (length) *length = n;
  return text;
}

char *test_replace(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) fail_msg("'%s' is not in the text", from);
  size_t before = (size_t)(at - text);
  char *out = calloc(1, strlen(text) + strlen(to) + 1);
  memcpy(out, text, before);
  strcpy(out + before, to);
  strcat(out + before, at + strlen(from));
  return out;
}

uint64_t test_random(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void test_launch_init(struct test_launch *t) {
  static const char *const names[] = {"q", "k", "v", "o", "lse"};
  static const int64_t shapes[TEST_TENSORS][4] = {
      {2, 4, 5, 128}, {2, 2, 7, 128}, {2, 2, 7, 128}, {2, 4, 5, 128}, {2, 4, 5, 0}};
  memset(t, 0, sizeof *t);
  for (int i = 0; i < TEST_TENSORS; i++) {
    memcpy(t->shape[i], shapes[i], sizeof t->shape[i]);
    int64_t heads = shapes[i][1], rows = shapes[i][2];
    int64_t bshd[4] = {rows * heads * 128, 128, heads * 128, 1}, bhs[4] = {heads * rows, rows, 1, 0};
    memcpy(t->stride[i], i < 4 ? bshd : bhs, sizeof t->stride[i]);
    t->tensors[i] = (struct ws_tensor){.name = names[i],
                                       .data = 0x10000u * (uint64_t)(i + 1),
                                       .type = i < 4 ? WS_DTYPE_BF16 : WS_DTYPE_F32,
                                       .rank = i < 4 ? 4 : 3,
                                       .shape = t->shape[i],
                                       .stride = t->stride[i]};
  }
  t->scalar = (struct ws_scalar){"scale", 0.125};
  t->launch = (struct ws_launch){.tensors = t->tensors, .ntensors = TEST_TENSORS};
}
