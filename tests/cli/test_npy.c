/* .npy files: what is read, what is refused with which words, and that no bytes crash the reader. */
#include "cli/cli.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t build(unsigned char *out, int version, const char *header, size_t payload) {
  size_t n = strlen(header), at = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)version;
  out[7] = 0;
  for (size_t i = 0; i < at - 8; i++) out[8 + i] = (unsigned char)(n >> 8 * i);
  memcpy(out + at, header, n);
  for (size_t i = 0; i < payload; i++) out[at + n + i] = (unsigned char)(i % 7);
  return at + n + payload;
}

#define GOOD "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }"

static void reads_both_types(void **state) {
  (void)state;
  unsigned char file[4096];
  struct ws_cli_array a;
  char why[256];
  size_t n = build(file, 1, GOOD, 96);
  float first = -1.5f;
  memcpy(file + n - 96, &first, 4);
  assert_true(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
  assert_true(a.rank == 4 && a.shape[0] == 1 && a.shape[3] == 4 && a.data[0] == -1.5f);
  free(a.data);
  /* other spellings that numpy has written: double quotes, no blanks, other order, versions 2 and 3 */
  n = build(file, 2, "{\"shape\":(1,2,3,4),\"fortran_order\":False,\"descr\":\"<f2\"}\n", 48);
  uint16_t half = 0x3e00;
  memcpy(file + n - 48, &half, 2);
  assert_true(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
  assert_true(a.data[0] == 1.5f);
  free(a.data);
  n = build(file, 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2, 3, 4)}", 0);
  assert_true(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
  free(a.data);
}

static const struct {
  const char *header;
  size_t payload;
  const char *why;
} broken[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3, 4), }", 192,
     "element type '<f8' found, expected '<f4' or '<f2'"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }", 96,
     "element type '>f4' found, expected '<f4' or '<f2'"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 2, 3, 4), }", 96,
     "its element type is no string: only '<f4' and '<f2' are read"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3, 4), }", 96,
     "it is in Fortran order: save a C-order copy (numpy.ascontiguousarray)"},
    {"{'descr': '<f4', 'fortran_order': maybe, 'shape': (1, 2, 3, 4), }", 96,
     "fortran_order is neither True nor False"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", 96,
     "rank 3 found, expected 4: (batch, heads, sequence, head dim)"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4,
     "rank 0 found, expected 4: (batch, heads, sequence, head dim)"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }", 95,
     "95 bytes of elements found, expected 96 for its shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }", 97,
     "97 bytes of elements found, expected 96 for its shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4000000000000000000), }", 96,
     "its shape has more than 2^64 elements"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 6000000000000000000), }", 96,
     "its shape has more than 2^64 bytes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 99999999999999999999), }", 96,
     "an extent is larger than 2^63"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, -4), }", 96, "its shape is no tuple of numbers"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [1, 2, 3, 4], }", 96, "its shape is no tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2 3 4), }", 96, "its shape is no tuple of numbers"},
    {"{'descr': '<f4', 'fortran_order': False, }", 96, "its header lacks shape"},
    {"{'descr': '<f4', 'descr': '<f4', }", 96, "header key 'descr' appears twice"},
    {"{'colour': 'blue', }", 96, "unknown header key 'colour'"},
    {"{'descr' '<f4'}", 96, "its header is no dictionary"},
    {"descr", 96, "its header is no dictionary"},
    {"{'descr': '<f4", 96, "its element type is no string: only '<f4' and '<f2' are read"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), } and more", 96,
     "something follows the dictionary in its header"},
};

static void refuses(void **state) {
  (void)state;
  unsigned char file[4096];
  struct ws_cli_array a;
  char why[256];
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    size_t n = build(file, 1, broken[i].header, broken[i].payload);
    assert_false(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
    assert_string_equal(why, broken[i].why);
    assert_null(a.data);
  }
  size_t n = build(file, 9, GOOD, 96);
  assert_false(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
  assert_string_equal(why, ".npy version 9 found, expected 1, 2 or 3");
  assert_false(ws_cli_npy_parse("PK\3\4 a zip file", 15, 4, &a, why, sizeof why));
  assert_string_equal(why, "it is no .npy file");
  n = build(file, 2, GOOD, 96);
  memset(file + 8, 0xff, 4); /* a header of 4 GiB */
  assert_false(ws_cli_npy_parse(file, n, 4, &a, why, sizeof why));
  assert_string_equal(why, "it is cut short inside its header");
}

static void survives_random_bytes(void **state) {
  (void)state;
  unsigned char file[4096];
  size_t n = build(file, 1, GOOD, 96);
  for (uint64_t round = 1; round < 60000; round++) {
    uint64_t r = ws_cli_mix(round);
    size_t length = round <= n ? round : r % 4 ? n : r / 4 % n;
    unsigned char *copy = malloc(length + 1);
    memcpy(copy, file, length);
    for (int edits = 0; edits < (int)(r % 3) && length; edits++) {
      uint64_t x = ws_cli_mix(round * 8 + (uint64_t)edits);
      copy[x % length] = x & 64 ? (unsigned char)(x >> 8) : (unsigned char)"0123456789(){}':,<f4"[x / 128 % 20];
    }
    struct ws_cli_array a;
    char why[256] = "";
    if (ws_cli_npy_parse(copy, length, 4, &a, why, sizeof why))
      free(a.data);
    else
      assert_true(*why);
    free(copy);
  }
}

static void writes_what_it_reads(void **state) {
  (void)state;
  char path[] = "/tmp/ws_npy_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  float values[24];
  for (int i = 0; i < 24; i++) values[i] = (float)ws_cli_normal(1, 2, (uint64_t)i);
  struct ws_cli_array a = {.rank = 4, .shape = {2, 3, 1, 4}, .data = values}, b;
  assert_true(ws_cli_npy_write(path, &a));
  char *bytes;
  size_t length;
  assert_true(ws_cli_read_file(path, &bytes, &length));
  assert_int_equal((length - sizeof values) % 64, 0);
  assert_int_equal(bytes[6], 1);
  assert_int_equal(bytes[7], 0);
  free(bytes);
  assert_true(ws_cli_npy_read(path, 4, &b));
  assert_memory_equal(b.shape, a.shape, sizeof a.shape);
  assert_memory_equal(b.data, values, sizeof values);
  free(b.data);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads_both_types), cmocka_unit_test(refuses),
                                     cmocka_unit_test(survives_random_bytes), cmocka_unit_test(writes_what_it_reads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
