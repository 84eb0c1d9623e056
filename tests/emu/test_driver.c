/* The driver API as an application meets it: wrong arguments and handles, module variables, launch limits, attributes,
 * options, several threads, the same results whatever the number of worker threads and the vector level. */
#include "harness.h"
#include <math.h>
#include <pthread.h>

static const char simple[] = ".version 7.8\n.target sm_80\n.address_size 64\n.global .align 4 .u32 counter[3] = {1, 2, 3};\n.const .f32 c = 2.5;\n.extern .shared .align 16 .b8 dyn[];\n"
                             ".visible .entry k(.param .u64 out, .param .u32 a, .param .u16 b, .param .align 8 .b8 s[12])\n.maxntid 64\n{\n.reg .b64 o;\n.reg .b32 r, q, t;\n.reg .b16 h;\n.reg .f32 f;\nmov.u32 t, %tid.x;\n"
                             "ld.param.u64 o, [out];\nld.param.u32 r, [a];\nld.param.u16 h, [b];\ncvt.u32.u16 q, h;\nadd.u32 r, r, q;\nld.param.u32 q, [s+8];\nadd.u32 r, r, q;\nld.global.u32 q, [counter+8];\nadd.u32 r, r, q;\n"
                             "ld.const.f32 f, [c];\ncvt.rzi.u32.f32 q, f;\nadd.u32 r, r, q;\nst.global.u32 [o], r;\nst.global.u32 [counter], r;\nret;\n}\n";

static void test_arguments(void **state) {
  struct CUmod_st *m = NULL;
  struct CUfunc_st *f = NULL;
  (void)state;
  assert_int_equal(cuModuleLoadData(NULL, simple), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuModuleLoadData(&m, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuModuleLoadData(&m, "\x7f" "ELF...."), WS_CUDA_ERROR_NO_BINARY_FOR_GPU);
  assert_int_equal(cuModuleLoadData(&m, ".version 12.0\n.target sm_90\n"), WS_CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  assert_int_equal(cuModuleUnload((struct CUmod_st *)&m), WS_CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuModuleLoadData(&m, simple));
  assert_int_equal(cuModuleGetFunction(&f, m, "absent"), WS_CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&f, m, "k"));
  ws_cu_deviceptr out = emu_buffer(NULL, 4), address = 0;
  uint32_t a = 10, got = 0, s[3] = {7, 8, 9};
  uint16_t b = 500;
  void *args[] = {&out, &a, &b, s};
  CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
  CHECK(cuMemcpyDtoH_v2(&got, out, 4));
  assert_int_equal(got, 10 + 500 + 9 + 3 + 2);
  struct { uint64_t out; uint32_t a; uint16_t b; uint16_t pad; uint32_t s[3]; } block = {out, 11, 2, 0, {0, 0, 5}};
  size_t size = sizeof block;
  void *extra[] = {(void *)1, &block, (void *)2, &size, NULL};
  CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
  CHECK(cuMemcpyDtoH_v2(&got, out, 4));
  assert_int_equal(got, 11 + 2 + 5 + 3 + 2);
  CHECK(cuModuleGetGlobal_v2(&address, &size, m, "counter"));
  assert_int_equal(size, 12);
  CHECK(cuMemcpyDtoH_v2(&got, address, 4));
  assert_int_equal(got, 23);
  assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, NULL, args, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 0, 1, 1, 0, NULL, args, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f, 1, 70000, 1, 32, 1, 1, 0, NULL, args, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 49153, NULL, args, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
  assert_int_equal(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 + 1), WS_CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 227 * 1024, NULL, args, NULL));
  assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), WS_CUDA_ERROR_INVALID_HANDLE);
  assert_int_equal(cuMemcpyHtoD_v2(out + 1, &a, 4), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuMemcpyDtoH_v2(&a, out, 5), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuMemFree_v2(out + 4), WS_CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(out));
  assert_int_equal(cuMemFree_v2(out), WS_CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleUnload(m));
  assert_int_equal(cuModuleUnload(m), WS_CUDA_ERROR_INVALID_HANDLE);
}

static void test_memory_calls(void **state) {
  uint32_t v[64], w[64];
  (void)state;
  for (int i = 0; i < 64; i++) v[i] = (uint32_t)i * 0x01010101u;
  ws_cu_deviceptr a = emu_buffer(NULL, sizeof v), b = emu_buffer(v, sizeof v);
  CHECK(cuMemcpyDtoH_v2(w, a, sizeof w));
  for (int i = 0; i < 64; i++) assert_int_equal(w[i], 0xa5a5a5a5); /* new memory is poisoned */
  CHECK(cuMemsetD8_v2(a, 0x11, 16));
  CHECK(cuMemsetD16_v2(a + 16, 0x2233, 8));
  CHECK(cuMemsetD32_v2(a + 32, 0x44556677, 8));
  CHECK(cuMemcpyDtoD_v2(a + 64, b + 64, 192));
  CHECK(cuMemcpyDtoH_v2(w, a, sizeof w));
  assert_int_equal(w[0], 0x11111111);
  assert_int_equal(w[4], 0x22332233);
  assert_int_equal(w[8], 0x44556677);
  assert_memory_equal(w + 16, v + 16, 192);
  assert_int_equal(cuMemsetD16_v2(a + 1, 0, 1), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cuMemsetD32_v2(a, 0, 65), WS_CUDA_ERROR_INVALID_VALUE);
  void *host = NULL;
  CHECK(cuMemHostAlloc(&host, 100, 0));
  memset(host, 3, 100);
  CHECK(cuMemcpyHtoDAsync_v2(a, host, 100, NULL));
  CHECK(cuMemFreeHost(host));
  assert_int_equal(cuMemAlloc_v2(&a, 0), WS_CUDA_ERROR_INVALID_VALUE);
  ws_cu_deviceptr huge = 0;
  assert_int_equal(cuMemAlloc_v2(&huge, (size_t)1 << 60), WS_CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemFree_v2(b));
}

static void test_contexts_streams_events(void **state) {
  struct CUctx_st *c = NULL, *d = NULL;
  struct CUstream_st *s = NULL;
  struct CUevent_st *e = NULL, *g = NULL;
  ws_cu_deviceptr p = 0;
  float ms = -1;
  (void)state;
  CHECK(cuCtxCreate_v2(&c, 0, 0));
  CHECK(cuCtxGetCurrent(&d));
  assert_ptr_equal(c, d);
  CHECK(cuMemAlloc_v2(&p, 64)); /* freed with the context */
  CHECK(cuStreamCreate(&s, 0));
  CHECK(cuEventCreate(&e, 0));
  CHECK(cuEventCreate(&g, 0));
  assert_int_equal(cuEventElapsedTime(&ms, e, g), WS_CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventRecord(e, s));
  CHECK(cuStreamWaitEvent(s, e, 0));
  CHECK(cuEventRecord(g, s));
  CHECK(cuEventSynchronize(g));
  CHECK(cuEventElapsedTime(&ms, e, g));
  assert_true(ms >= 0 && ms < 10000);
  CHECK(cuEventDestroy_v2(e));
  assert_int_equal(cuEventDestroy_v2(e), WS_CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamSynchronize(s));
  CHECK(cuCtxDestroy_v2(c));
  assert_int_equal(cuStreamDestroy_v2(s), WS_CUDA_ERROR_INVALID_HANDLE);
  assert_int_equal(cuCtxPushCurrent_v2(c), WS_CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxGetCurrent(&d));
  assert_true(d && d != c);
}

static void test_queries(void **state) {
  const char *text = NULL;
  void *fn = NULL;
  unsigned int found = 9;
  int v = 0, major = 0, minor = 0;
  size_t a = 0, t = 0;
  char name[64];
  (void)state;
  CHECK(cuGetErrorName(700, &text));
  assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  assert_int_equal(cuGetErrorString(123456, &text), WS_CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetProcAddress("cuMemAlloc", &fn, 12000, 0));
  assert_true(fn == (void *)(uintptr_t)cuMemAlloc_v2);
  CHECK(cuGetProcAddress_v2("cuNothing", &fn, 12000, 0, &found));
  assert_true(!fn && found == 1);
  assert_int_equal(cuGetProcAddress("cuNothing", &fn, 12000, 0), WS_CUDA_ERROR_NOT_FOUND);
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  assert_string_equal(name, "warpscore CPU emulator");
  CHECK(cuDeviceComputeCapability(&major, &minor, 0));
  CHECK(cuDeviceGetAttribute(&v, WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  assert_int_equal(v, 232448);
  CHECK(cuMemGetInfo_v2(&a, &t));
  assert_true(a > 0 && a <= t);
  assert_int_equal(cuDeviceGetName(name, sizeof name, 1), WS_CUDA_ERROR_INVALID_DEVICE);
  assert_int_equal(wsemuSetOption("schedule", "sometimes"), 1);
  assert_int_equal(wsemuSetOption("schedule", "random:"), 1);
  assert_int_equal(wsemuSetOption("threads", "-1"), 1);
  assert_int_equal(wsemuSetOption("colour", "red"), 1);
}

/* ---- determinism: the attention kernel with 1, 2, 3 worker threads and each schedule gives the same bytes ---- */
static void attention(uint16_t *o) {
  enum { H = 1, S = 256, D = 128 };
  static uint16_t x[3][H * S * D];
  struct rng r = {73};
  ws_cu_deviceptr p[4];
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < H * S * D; k++) x[i][k] = float_to_bf16(rng_normal(&r));
    p[i] = emu_buffer(x[i], sizeof x[i]);
  }
  p[3] = emu_buffer(NULL, sizeof x[0]);
  struct CUmod_st *m = emu_module_file("attention.ptx");
  struct CUfunc_st *f = emu_function(m, "attention");
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 3 * 64 * 256));
  int rows = S;
  float scale = 0.125f;
  void *args[] = {&p[0], &p[1], &p[2], &p[3], &rows, &rows, &scale};
  struct ws_cu_launch_config c = {S / 64, H, 1, 128, 1, 1, 3 * 64 * 256, NULL, NULL, 0};
  CHECK(cuLaunchKernelEx(&c, f, args, NULL));
  CHECK(cuModuleUnload(m));
  emu_fetch(o, p[3], sizeof x[0]);
  for (int i = 0; i < 3; i++) CHECK(cuMemFree_v2(p[i]));
}
static void test_determinism(void **state) {
  static uint16_t first[256 * 128], other[256 * 128];
  static const char *const threads[] = {"1", "2", "3", "0"}, *const schedules[] = {"late", "early", "random:9", "random:10"};
  (void)state;
  attention(first);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(wsemuSetOption("threads", threads[i]), 0);
    assert_int_equal(wsemuSetOption("schedule", schedules[i]), 0);
    attention(other);
    assert_memory_equal(first, other, sizeof first);
  }
  assert_int_equal(wsemuSetOption("schedule", "late"), 0);
}

/* CTAs that wait for later ones make progress with a single worker: CTA i spins until CTA i + 1 has set its flag. */
static void test_later_ctas_start(void **state) {
  static const char text[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 flags)\n{\n.reg .b64 p, x;\n.reg .b32 c, n, v;\n.reg .pred q;\nld.param.u64 p, [flags];\nmov.u32 c, %ctaid.x;\nmov.u32 n, %nctaid.x;\nmul.wide.u32 x, c, 4;\nadd.u64 p, p, x;\n"
                             "add.u32 c, c, 1;\nsetp.eq.u32 q, c, n;\n@q bra SET;\nW: ld.acquire.gpu.global.u32 v, [p+4];\nsetp.eq.u32 q, v, 0;\n@q bra W;\nSET: st.release.gpu.global.u32 [p], c;\nret;\n}\n";
  uint32_t flags[20] = {0};
  (void)state;
  assert_int_equal(wsemuSetOption("threads", "1"), 0);
  ws_cu_deviceptr p = emu_buffer(flags, sizeof flags);
  struct CUmod_st *m = emu_module(text);
  CHECK(emu_run(emu_function(m, "k"), 20, 1, 0, &p, 1));
  CHECK(cuModuleUnload(m));
  emu_fetch(flags, p, sizeof flags);
  for (uint32_t i = 0; i < 20; i++) assert_int_equal(flags[i], i + 1);
  assert_int_equal(wsemuSetOption("threads", "0"), 0);
}

/* Several host threads, each with a context of its own on the stack. */
static void *host_thread(void *arg) {
  struct CUctx_st *c = NULL;
  int *bad = arg;
  if (cuCtxCreate_v2(&c, 0, 0)) return *bad = 1, NULL;
  for (int k = 0; k < 20 && !*bad; k++) {
    struct CUmod_st *m = NULL;
    struct CUfunc_st *f = NULL;
    ws_cu_deviceptr out = 0;
    uint32_t a = (uint32_t)k, s[3] = {0}, got = 0;
    uint16_t b = 1;
    void *args[] = {&out, &a, &b, s};
    *bad |= cuModuleLoadData(&m, simple) || cuModuleGetFunction(&f, m, "k") || cuMemAlloc_v2(&out, 4) || cuLaunchKernel(f, 3, 1, 1, 32, 1, 1, 0, NULL, args, NULL) ||
            cuMemcpyDtoH_v2(&got, out, 4) || got != a + 6 || cuMemFree_v2(out) || cuModuleUnload(m);
  }
  *bad |= cuCtxDestroy_v2(c) != 0;
  return NULL;
}
static void test_host_threads(void **state) {
  pthread_t t[4];
  int bad[4] = {0};
  (void)state;
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, host_thread, &bad[i]), 0);
  for (int i = 0; i < 4; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(bad[i], 0);
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arguments), cmocka_unit_test(test_memory_calls), cmocka_unit_test(test_contexts_streams_events), cmocka_unit_test(test_queries),
                                     cmocka_unit_test(test_determinism), cmocka_unit_test(test_later_ctas_start), cmocka_unit_test(test_host_threads)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
