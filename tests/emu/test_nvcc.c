/* Kernels that nvcc compiled from CUDA C++ with inline PTX (data/NAME.cu beside data/NAME.ptx), against plain loops. */
#include "harness.h"
#include <math.h>

static void random_bf16(struct rng *r, uint16_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = float_to_bf16(rng_normal(r));
}

static void gemm(const char *schedule) {
  enum { M = 128, N = 192, K = 160 };
  static uint16_t a[M * K], b[N * K];
  static float c[M * N];
  struct rng r = {17};
  random_bf16(&r, a, M * K);
  random_bf16(&r, b, N * K);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  struct CUmod_st *m = emu_module_file("gemm.ptx");
  ws_cu_deviceptr da = emu_buffer(a, sizeof a), db = emu_buffer(b, sizeof b), dc = emu_buffer(NULL, sizeof c);
  int n = N, k = K;
  void *args[] = {&da, &db, &dc, &n, &k};
  CHECK(cuLaunchKernel(emu_function(m, "gemm"), N / 64, M / 64, 1, 128, 1, 1, 0, NULL, args, NULL));
  emu_fetch(c, dc, sizeof c);
  double worst = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0, size = 0;
      for (int t = 0; t < K; t++) {
        double p = (double)bf16_to_float(a[i * K + t]) * bf16_to_float(b[j * K + t]);
        sum += p;
        size += fabs(p);
      }
      double e = fabs(c[i * N + j] - sum) / size;
      if (!(e <= worst)) worst = e;
    }
  assert_true(worst < 11 * 0x1p-24); /* one f32 rounding for each of the ten k steps */
  CHECK(cuMemFree_v2(da));
  CHECK(cuMemFree_v2(db));
  CHECK(cuModuleUnload(m));
}

static void test_gemm(void **state) {
  (void)state;
  gemm("early");
  gemm("random:5");
  gemm("late");
}

static void test_attention(void **state) {
  enum { H = 2, SQ = 128, SK = 192, D = 128 };
  static uint16_t q[H * SQ * D], k[H * SK * D], v[H * SK * D], o[H * SQ * D];
  struct rng r = {23};
  (void)state;
  random_bf16(&r, q, H * SQ * D);
  random_bf16(&r, k, H * SK * D);
  random_bf16(&r, v, H * SK * D);
  struct CUmod_st *m = emu_module_file("attention.ptx");
  struct CUfunc_st *f = emu_function(m, "attention");
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 3 * 64 * 256));
  ws_cu_deviceptr dq = emu_buffer(q, sizeof q), dk = emu_buffer(k, sizeof k), dv = emu_buffer(v, sizeof v), dout = emu_buffer(NULL, sizeof o);
  int rows_q = SQ, rows_k = SK;
  float scale = (float)(1.4426950408889634 / sqrt(D));
  void *args[] = {&dq, &dk, &dv, &dout, &rows_q, &rows_k, &scale};
  CHECK(cuLaunchKernel(f, SQ / 64, H, 1, 128, 1, 1, 3 * 64 * 256, NULL, args, NULL));
  emu_fetch(o, dout, sizeof o);
  double worst = 0;
  for (int h = 0; h < H; h++)
    for (int i = 0; i < SQ; i++) {
      double s[SK], max = -INFINITY, sum = 0;
      for (int j = 0; j < SK; j++) {
        s[j] = 0;
        for (int d = 0; d < D; d++) s[j] += (double)bf16_to_float(q[(h * SQ + i) * D + d]) * bf16_to_float(k[(h * SK + j) * D + d]);
        s[j] /= sqrt(D);
        if (s[j] > max) max = s[j];
      }
      for (int j = 0; j < SK; j++) sum += s[j] = exp(s[j] - max);
      for (int d = 0; d < D; d++) {
        double want = 0;
        for (int j = 0; j < SK; j++) want += s[j] / sum * bf16_to_float(v[(h * SK + j) * D + d]);
        double e = fabs(bf16_to_float(o[(h * SQ + i) * D + d]) - want);
        if (!(e <= worst)) worst = e;
      }
    }
  assert_true(worst < 0.01); /* P and O are rounded to bf16: 2^-9 of values below 3 */
  CHECK(cuMemFree_v2(dq));
  CHECK(cuMemFree_v2(dk));
  CHECK(cuMemFree_v2(dv));
  CHECK(cuModuleUnload(m));
}

/* Kernels for sm_90a: cuda::barrier, distributed shared memory, mbarriers of a peer, wgmma. */
static void hopper(const char *schedule) {
  enum { N = 8 * 256, CTAS = 8 };
  static uint32_t in[N], out[N], want[N];
  static uint16_t a[64 * 64], b[64 * 64];
  static float o[64 * 64];
  struct rng r = {31};
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  struct CUmod_st *m = emu_module_file("hopper.ptx");
  for (int i = 0; i < N; i++) in[i] = (uint32_t)rng_next(&r);
  ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
  CHECK(emu_run(emu_function(m, "rounds"), CTAS, 256, 0, p, 2));
  CHECK(cuMemcpyDtoH_v2(out, p[1], sizeof out));
  for (int i = 0; i < N; i++) {
    uint32_t sum = 0;
    for (int k = 0; k < 256; k++) sum += in[i / 256 * 256 + k];
    assert_int_equal(out[i], sum);
  }
  CHECK(cuMemsetD8_v2(p[1], 0, sizeof out));
  CHECK(emu_run(emu_function(m, "bins"), CTAS, 256, 0, p, 2));
  CHECK(cuMemcpyDtoH_v2(out, p[1], sizeof out));
  memset(want, 0, sizeof want);
  for (int i = 0; i < N; i++) want[in[i] % 256]++;
  assert_memory_equal(out, want, 256 * 4);
  CHECK(emu_run(emu_function(m, "pingpong"), CTAS, 32, 0, p, 2));
  CHECK(cuMemcpyDtoH_v2(out, p[1], sizeof out));
  for (int i = 0; i < CTAS; i++) {
    uint32_t v = in[i / 2];
    for (int k = 0; k < 14 + i % 2; k++) v = v * 3 + (k + 1) % 2;
    assert_int_equal(out[i], v);
  }
  random_bf16(&r, a, 64 * 64);
  random_bf16(&r, b, 64 * 64);
  ws_cu_deviceptr q[3] = {emu_buffer(a, sizeof a), emu_buffer(b, sizeof b), emu_buffer(NULL, sizeof o)};
  CHECK(emu_run(emu_function(m, "tile"), 1, 128, 0, q, 3));
  emu_fetch(o, q[2], sizeof o);
  for (int i = 0; i < 64 * 64; i++) {
    double sum = 0, size = 0;
    for (int k = 0; k < 64; k++) {
      double x = (double)bf16_to_float(a[i / 64 * 64 + k]) * bf16_to_float(b[i % 64 * 64 + k]);
      sum += x;
      size += fabs(x);
    }
    assert_true(fabs(o[i] - sum) <= 5 * 0x1p-24 * size);
  }
  for (int i = 0; i < 2; i++) {
    CHECK(cuMemFree_v2(p[i]));
    CHECK(cuMemFree_v2(q[i]));
  }
  CHECK(cuModuleUnload(m));
}
static void test_hopper(void **state) {
  (void)state;
  hopper("early");
  hopper("random:3");
  hopper("late");
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_attention), cmocka_unit_test(test_hopper)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
