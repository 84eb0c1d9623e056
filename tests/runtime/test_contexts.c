/* Several devices, several contexts, several threads: every call runs in its kernel's context and leaves the thread's as it
 * was; DLPack tensors. */
#include "fixture.h"
#include "warpscore_dlpack.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *context_of(int device) { return (void *)(uintptr_t)(0x1000 + 16 * device); } /* as in fake_driver.c */

static void *current(const struct ws_device *d) {
  unsigned int (*get)(void **);
  void *symbol = ws_device_symbol(d, "cuCtxGetCurrent");
  void *c = NULL;
  memcpy(&get, &symbol, sizeof get);
  assert_int_equal(get(&c), 0);
  return c;
}

static struct ws_device *open_on(const char *name, void *context) {
  const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER, .context = context};
  struct ws_error_info err;
  struct ws_device *d;
  if (ws_device_open(name, NULL, &options, &d, &err)) fail_msg("%s", err.message);
  return d;
}

static struct ws_kernel *load_on(struct ws_device *d) {
  struct ws_error_info err;
  struct ws_kernel *k;
  if (ws_kernel_load_text(d, copy_ptx, copy_length, &k, &err)) fail_msg("%s", err.message);
  return k;
}

static void several_devices(void **state) {
  (void)state;
  fake->devices = 3;
  for (int i = 0; i < 3; i++) fake->device[i].major = 8 + i;
  struct ws_device *d[3];
  struct ws_kernel *k[3];
  for (int i = 0; i < 3; i++) {
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", i);
    d[i] = open_on(name, NULL);
    assert_int_equal(ws_device_get_info(d[i])->ordinal, i);
    k[i] = load_on(d[i]);
  }
  struct test_launch t;
  test_launch_init(&t);
  for (int i = 0; i < 30; i++) {
    int n = (i * 7) % 3;
    assert_int_equal(ws_kernel_launch(k[n], &t.launch, NULL), WS_OK);
    assert_ptr_equal(fake->current, context_of(n));
    assert_null(current(d[n]));
  }
  for (int i = 0; i < 3; i++) ws_device_close(d[i]), ws_kernel_free(k[i]);
  fixture_nothing_is_left();
}

/* A context of the caller's: nothing is retained, its device is found, its threads keep what they had current. */
static void callers_context(void **state) {
  (void)state;
  fake->devices = 2;
  fake->device[1].major = 9;
  struct ws_device *d = open_on(NULL, context_of(1));
  assert_string_equal(ws_device_get_info(d)->name, "cuda:1");
  assert_int_equal(fake->contexts, 0);
  struct ws_kernel *k = load_on(d);
  struct test_launch t;
  test_launch_init(&t);
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  assert_ptr_equal(fake->current, context_of(1));
  assert_null(current(d));
  ws_kernel_free(k);
  ws_device_close(d);
  d = open_on("cuda:1", context_of(1));
  ws_device_close(d);
  fixture_nothing_is_left();

  const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER, .context = context_of(1)};
  static const char *const wrong[] = {"cuda:0", "emu", "cuda:", "x"};
  struct ws_error_info err;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char want[128];
    snprintf(want, sizeof want, "device '%s': the caller's context belongs to cuda:1", wrong[i]);
    assert_int_equal(ws_device_open(wrong[i], NULL, &options, &d, &err), WS_ERR_ARGUMENT);
    assert_string_equal(err.message, want);
  }
  fake->fail_name = "cuCtxGetDevice";
  fake->fail_result = 201;
  assert_int_equal(ws_device_open(NULL, NULL, &options, &d, &err), WS_ERR_DRIVER);
  assert_string_equal(err.message, "asking for the device of the caller's context: CUDA_ERROR_INVALID_CONTEXT (201): no "
                                   "valid context is current");
}

struct worker {
  struct ws_kernel *kernel;
  pthread_t thread;
};

static void *work(void *arg) {
  struct worker *w = arg;
  struct test_launch t;
  struct ws_error_info err;
  struct ws_plan plan;
  test_launch_init(&t);
  for (int i = 0; i < 3000; i++) {
    if (ws_kernel_launch(w->kernel, &t.launch, &err) || ws_kernel_plan(w->kernel, &t.launch, &plan, &err)) return w;
    t.tensors[0].type = i % 2 ? WS_DTYPE_BF16 : WS_DTYPE_F16; /* every other launch is refused */
    if ((ws_kernel_launch(w->kernel, &t.launch, &err) == WS_OK) != i % 2) return w;
    t.tensors[0].type = WS_DTYPE_BF16;
  }
  return NULL;
}

static void threads_on_devices(void **state) {
  (void)state;
  enum { THREADS = 8 };
  struct worker w[THREADS];
  struct ws_device *d[2];
  fake->devices = 2;
  fake->device[1].major = 8;
  fake->nparams = 0;
  for (int i = 0; i < 2; i++) d[i] = open_on(i ? "cuda:1" : "cuda:0", NULL);
  struct ws_kernel *k[2] = {load_on(d[0]), load_on(d[1])};
  for (int i = 0; i < THREADS; i++) {
    w[i].kernel = k[i % 2];
    assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(w[i].thread, &failed);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&fake->launches), THREADS * (3000 + 1500));
  for (int i = 0; i < 2; i++) ws_kernel_free(k[i]), ws_device_close(d[i]);
  fixture_nothing_is_left();
}

/* ---- DLPack ---- */

static void takes_dlpack(void **state) {
  (void)state;
  struct ws_device *d = open_on("cuda:0", NULL);
  struct ws_kernel *k = load_on(d);
  struct test_launch t;
  struct ws_tensor tensors[TEST_TENSORS];
  struct ws_error_info err;
  test_launch_init(&t);
  for (int i = 0; i < TEST_TENSORS; i++) {
    const struct ws_tensor *from = &t.tensors[i];
    struct ws_dlpack_tensor dl = {(void *)(uintptr_t)(from->data - 4096), 2, 0, from->rank, i < 4 ? 4 : 2, i < 4 ? 16 : 32, 1,
                                  t.shape[i], t.stride[i], 4096};
    assert_int_equal(ws_tensor_from_dlpack(&dl, from->name, d, &tensors[i], &err), WS_OK);
    assert_int_equal(tensors[i].data, from->data);
    assert_int_equal(tensors[i].type, from->type);
  }
  t.launch.tensors = tensors;
  assert_int_equal(ws_kernel_launch(k, &t.launch, &err), WS_OK);
  const uint64_t want[4] = {0x10000, 5120, 256, 1024};
  for (int i = 0; i < 4; i++) assert_int_equal(fake->params[i], want[i]);
  static const struct {
    int device_type, device, code, bits, lanes;
    const char *message;
  } wrong[] = {
      {1, 0, 4, 16, 1, "tensor q: DLPack: its memory is of device type 1, expected 2 (CUDA): move it to the GPU"},
      {2, 1, 4, 16, 1, "tensor q: DLPack: it lies on device 1, the kernel's is 0"},
      {2, 0, 4, 16, 2, "tensor q: DLPack: type code 4 with 16 bits: expected f16, bf16, f32, e4m3, e5m2 or i32"},
      {2, 0, 2, 64, 1, "tensor q: DLPack: type code 2 with 64 bits: expected f16, bf16, f32, e4m3, e5m2 or i32"},
      {2, 0, 1, 8, 1, "tensor q: DLPack: type code 1 with 8 bits: expected f16, bf16, f32, e4m3, e5m2 or i32"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct ws_dlpack_tensor dl = {NULL, wrong[i].device_type, wrong[i].device, 4, (uint8_t)wrong[i].code,
                                  (uint8_t)wrong[i].bits, (uint16_t)wrong[i].lanes, t.shape[0], NULL, 0};
    assert_int_equal(ws_tensor_from_dlpack(&dl, "q", d, &tensors[0], &err), WS_ERR_ARGUMENT);
    assert_string_equal(err.message, wrong[i].message);
    assert_int_equal(ws_tensor_from_dlpack(&dl, "q", d, &tensors[0], NULL), WS_ERR_ARGUMENT);
  }
  assert_int_equal(ws_tensor_from_dlpack(NULL, "q", d, &tensors[0], &err), WS_ERR_ARGUMENT);
  assert_int_equal(ws_tensor_from_dlpack(&wrong, NULL, d, &tensors[0], &err), WS_ERR_ARGUMENT);
  static const struct {
    int code, bits;
    enum ws_dtype type;
  } types[] = {{2, 16, WS_DTYPE_F16}, {4, 16, WS_DTYPE_BF16}, {2, 32, WS_DTYPE_F32}, {10, 8, WS_DTYPE_E4M3},
               {12, 8, WS_DTYPE_E5M2}, {0, 32, WS_DTYPE_I32}, {0, 64, WS_DTYPE_NONE}, {4, 32, WS_DTYPE_NONE}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    assert_int_equal(ws_dtype_from_dlpack(types[i].code, types[i].bits, 1), types[i].type);
  ws_kernel_free(k);
  ws_device_close(d);
  fixture_nothing_is_left();
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(several_devices), TEST(callers_context), TEST(threads_on_devices), TEST(takes_dlpack),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return failed;
}
