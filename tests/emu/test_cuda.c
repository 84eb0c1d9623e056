/* Small CUDA C++ kernels, data/cuda/NAME.cu, as nvcc 13.0 -arch=sm_80 -ptx translates them (NAME.ptx), against plain C.
 * All take (in, out): BLOCKS * 256 random numbers and as many results, in blocks of 256 threads; `out` starts as zero where
 * the kernel adds to it, else poisoned. All results are exact. */
#include "harness.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCKS = 8, N = BLOCKS * 256 };

static void scan(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[i] = in[i] + (i % 256 ? out[i - 1] : 0);
}
static void transpose(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[i / 256 * 256 + i % 16 * 16 + i / 16 % 16] = in[i];
}
static void histogram(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[in[i] & 255]++;
}
static void shuffle(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    uint32_t s = 0;
    for (int k = 0; k < 32; k++) s += in[i / 32 * 32 + k];
    out[i] = s ^ in[i % 32 == 31 ? i : i + 1];
  }
}
static void collatz(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    uint64_t v = in[i] % 100000 + 1;
    for (out[i] = 0; v != 1; out[i]++) v = v % 2 ? 3 * v + 1 : v / 2;
  }
}
static void polynomial(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    double x = in[i] / 4294967296.0, y = sqrt(fma(x, x, 1.0)) / (x + 0.5);
    uint64_t b;
    memcpy(&b, &y, 8);
    out[i] = (uint32_t)b ^ (uint32_t)(b >> 32);
  }
}
static void ticket(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[1] += in[i], out[2 + i / 256] += in[i];
  out[0] = BLOCKS;
}
static void turns(const uint32_t *in, uint32_t *out) {
  for (int b = BLOCKS - 1; b >= 0; b--) out[1] = out[1] * 31 + in[b * 256];
  out[0] = BLOCKS;
}
static void dynamic(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[i] = in[i / 256 * 256 + 255 - i % 256];
}
static void bits(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    uint32_t v = in[i], r = 0, b[8];
    for (int k = 0; k < 8; k++) b[k] = (k < 4 ? v : ~v) >> 8 * (k % 4) & 255;
    switch (v % 6) {
      case 0: for (int k = 0; k < 32; k++) r += v >> k & 1; break;
      case 1: while (r < 32 && !(v >> (31 - r) & 1)) r++; break;
      case 2: for (int k = 0; k < 32; k++) r |= (v >> k & 1) << (31 - k); break;
      case 3: for (r = 1; r < 33 && !(v >> (r - 1) & 1);) r++; break;
      case 4: r = b[5] | b[0] << 8 | b[7] << 16 | b[2] << 24; break;
      default: r = (uint32_t)((uint64_t)v * 0x9e3779b9u >> 32);
    }
    out[i] = r;
  }
}

static void calls(const uint32_t *in, uint32_t *out) {
  for (uint32_t i = 0; i < N; i++) {
    uint32_t last[8] = {0}, a = in[i], b = i;
    for (uint32_t n = 0; n < 5; n++) {
      uint32_t x = a * 3 + n, y = b ^ a;
      a = x & 1 ? y : x;
      b = x & 1 ? x : y;
      last[b % 8] += a;
    }
    out[i] = last[in[i] % 8] + b;
  }
}
static void ballot(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    int first = i / 32 * 32, lane = i % 32;
    out[i] = 0;
    for (int k = 0; lane < 16 && k < lane; k++) out[i] += in[first + k] & 1;
    for (int k = 16; lane >= 16 && k < 32; k++) out[i] |= (uint32_t)(in[first + k] % 4 == in[i] % 4) << k;
  }
}
static void maximum(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    if (in[i] > out[i / 256]) out[i / 256] = in[i];
    out[BLOCKS + i / 256] += in[i];
  }
}
static void long_(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    int64_t a = (int64_t)((uint64_t)in[i] << 32 | in[i ^ 1]), b = (int32_t)in[i ^ 2] | 1, q = a / b, r = a % b;
    out[i] = (uint32_t)q ^ (uint32_t)(q >> 32) ^ (uint32_t)r ^ (uint32_t)((uint64_t)a / (in[i ^ 3] | 1u));
  }
}
static void bytes(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    const uint32_t *v = in + i / 4 * 4;
    out[i] = (uint32_t)((int8_t)(in[i] >> 24) * 5) + (in[i] & 0xffff) + (v[0] ^ v[1] ^ v[2] ^ v[3]);
  }
}

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}
static void sort(const uint32_t *in, uint32_t *out) {
  memcpy(out, in, N * sizeof *in);
  for (int b = 0; b < BLOCKS; b++) qsort(out + b * 256, 256, sizeof *out, ascending);
}
static void stencil(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) out[i] = (i ? in[i - 1] : 0) + 2 * in[i] + (i + 1 < N ? in[i + 1] : 0);
}
static void product(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    const uint32_t *a = in + i / 256 * 256, y = (uint32_t)i % 256 / 16, x = (uint32_t)i % 16;
    out[i] = 0;
    for (uint32_t n = 0; n < 16; n++) out[i] += a[y * 16 + n] * a[x * 16 + n];
  }
}
static void crc(const uint32_t *in, uint32_t *out) { /* bit by bit */
  for (int i = 0; i < N; i++) {
    out[i] = ~in[i]; /* the register, ones, and four bytes */
    for (int k = 0; k < 32; k++) out[i] = out[i] >> 1 ^ (out[i] & 1 ? 0xedb88320u : 0);
    out[i] = ~out[i];
  }
}
static void pipeline(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    out[i] = 0;
    for (int n = 0; n < 4; n++) out[i] = out[i] * 3 + in[i / 256 * 256 + n * 64 + i % 64];
  }
}
static void groups(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    uint32_t sum = 0, odd = 0, before = 0;
    for (int k = 0; k < 8; k++) sum += in[i / 8 * 8 + k];
    for (int k = 0; k < 32; k++) odd += in[i / 32 * 32 + k] & 1, before += k < i % 32 ? in[i / 32 * 32 + k] & 1 : 0;
    out[i] = sum ^ (in[i] & 1 ? odd << 8 | before : 0) ^ in[i ^ 3];
  }
}
static void halves(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    uint32_t r[2];
    for (int k = 0; k < 2; k++) {
      uint32_t a = in[i] >> 5 * k & 31, b = in[i] >> (10 + 5 * k) & 31;
      r[k] = a * b + (a > b ? a : b);
    }
    out[i] = r[0] | r[1] << 16;
  }
}
static void search(const uint32_t *in, uint32_t *out) {
  for (int i = 0; i < N; i++) {
    out[i] = 0;
    for (int k = 0; k < 16; k++) out[i] += in[i / 256 * 256 + k] < in[i];
  }
}

static const struct { const char *name; void (*want)(const uint32_t *, uint32_t *); bool zero; } kernels[] = {
    {"scan", scan, false}, {"transpose", transpose, false}, {"histogram", histogram, true}, {"shuffle", shuffle, false},
    {"collatz", collatz, false}, {"polynomial", polynomial, false}, {"ticket", ticket, true}, {"turns", turns, true},
    {"bits", bits, false}, {"dynamic", dynamic, false}, {"calls", calls, false}, {"ballot", ballot, false},
    {"maximum", maximum, true}, {"long", long_, false}, {"bytes", bytes, false},
    {"sort", sort, false}, {"stencil", stencil, false}, {"product", product, false}, {"crc", crc, false},
    {"pipeline", pipeline, false}, {"groups", groups, false}, {"halves", halves, false}, {"search", search, false}};

static void test_kernels(void **state) {
  static uint32_t in[N], got[N], want[N];
  static const char *const threads[] = {"1", "2", "0"};
  struct rng r = {83};
  (void)state;
  assert_int_equal(wsemuSetOption("uninitialised", "strict"), 0);
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
    char file[64];
    snprintf(file, sizeof file, "cuda/%.40s.ptx", kernels[k].name);
    struct CUmod_st *m = emu_module_file(file);
    for (size_t t = 0; t < 3; t++) {
      assert_int_equal(wsemuSetOption("threads", threads[t]), 0);
      for (int i = 0; i < N; i++) in[i] = (uint32_t)rng_next(&r);
      memset(want, 0, sizeof want);
      kernels[k].want(in, want);
      ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof got)};
      if (kernels[k].zero) CHECK(cuMemsetD8_v2(p[1], 0, sizeof got));
      CHECK(emu_run(emu_function(m, "k"), BLOCKS, 256, 1024, p, 2));
      emu_fetch(got, p[1], sizeof got);
      CHECK(cuMemFree_v2(p[0]));
      for (int i = 0; i < N; i++)
        if (got[i] != want[i]) fail_msg("%s: element %d is 0x%x, expected 0x%x", kernels[k].name, i, got[i], want[i]);
    }
    CHECK(cuModuleUnload(m));
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
