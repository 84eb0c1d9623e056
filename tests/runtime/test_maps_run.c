/* Kernels with tensor maps and clusters on a device: `test_runtime_maps_run emu|cuda:0`. Exit code 77: no such device. */
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ws_device *device;
static char *text;

enum { SPACE = 1 << 20 }; /* elements around the tensors */

/* Order of the dims in memory, strides in elements with some padding. */
static void strides(const int64_t *shape, const int *order, int64_t pad, int64_t *stride) {
  int64_t step = 1;
  for (int i = 3; i >= 0; i--) {
    stride[order[i]] = step;
    step = step * shape[order[i]] + (i == 3 ? pad : 0);
  }
}

static void copy_once(const struct ws_kernel *k, const int64_t *shape, const int *q_order, const int *o_order, int64_t pad) {
  static uint16_t q[SPACE], o[SPACE], wanted[SPACE];
  int64_t qs[4], os[4];
  uint64_t at[2];
  struct ws_error_info err;
  strides(shape, q_order, pad, qs);
  strides(shape, o_order, 0, os);
  for (int i = 0; i < SPACE; i++) q[i] = (uint16_t)(i * 40503u >> 3), o[i] = wanted[i] = 0xffff;
  for (int64_t b = 0; b < shape[0]; b++)
    for (int64_t h = 0; h < shape[1]; h++)
      for (int64_t s = 0; s < shape[2]; s++)
        for (int64_t d = 0; d < 64; d++)
          wanted[1024 + b * os[0] + h * os[1] + s * os[2] + d] = q[1024 + b * qs[0] + h * qs[1] + s * qs[2] + d];
  for (int i = 0; i < 2; i++) assert_int_equal(ws_memory_alloc(device, sizeof q, &at[i], &err), WS_OK);
  assert_int_equal(ws_memory_upload(device, at[0], q, sizeof q, NULL, &err), WS_OK);
  assert_int_equal(ws_memory_upload(device, at[1], o, sizeof o, NULL, &err), WS_OK);
  for (int d = 0; d < 3; d++)
    if (shape[d] == 1) qs[d] = 3, os[d] = -5; /* these do not matter */
  const struct ws_tensor t[] = {{"q", at[0] + 2048, WS_DTYPE_BF16, 4, shape, qs}, {"o", at[1] + 2048, WS_DTYPE_BF16, 4, shape, os}};
  const struct ws_launch l = {.tensors = t, .ntensors = 2};
  if (ws_kernel_launch(k, &l, &err) || ws_memory_download(device, o, at[1], sizeof o, NULL, &err)) fail_msg("%s", err.message);
  for (int i = 0; i < SPACE; i++)
    if (o[i] != wanted[i])
      fail_msg("shape %lld %lld %lld: element %d is %04x, not %04x", (long long)shape[0], (long long)shape[1], (long long)shape[2], i - 1024, o[i], wanted[i]);
  for (int i = 0; i < 2; i++) ws_memory_free(device, at[i], NULL);
}

static void copies(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {{1, 1, 64, 64}, {1, 2, 32, 64}, {2, 3, 100, 64}, {1, 4, 1, 64}, {3, 2, 33, 64}, {2, 1, 7, 64}, {0, 2, 5, 64}, {2, 2, 0, 64}};
  static const int orders[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 2, 0, 3}};
  struct ws_kernel *k;
  struct ws_error_info err;
  if (ws_kernel_load_text(device, text, strlen(text), &k, &err)) fail_msg("%s", err.message);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int q = 0; q < 3; q++) copy_once(k, shapes[i], orders[q], orders[(q + (int)i) % 3], q == 1 ? 24 : 0);
  ws_kernel_free(k);
}

int main(int argc, char **argv) {
  struct ws_error_info err;
  if (ws_device_open(argc > 1 ? argv[1] : "emu", NULL, NULL, &device, &err)) return fprintf(stderr, "%s\n", err.message), 77;
  if (ws_device_get_info(device)->major != 9) return 77;
  text = test_read("tma_copy.ptx", NULL);
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(text);
  ws_device_close(device);
  return failed;
}
