/* Kernels with tensor maps and clusters on a device: `test_runtime_maps_run emu|cuda:0 [FOLDER of tma_copy.ptx]`. On a GPU a launch must cost at most one
 * microsecond more than the driver's own, and a captured one must give the same. Exit code 77: no such device. */
#include "cuda_abi.h"
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- a GPU: beside the driver's own launches, and captured ---- */

static struct ws_cu_api api;

static void bind_driver(void) {
#define BIND(need, name, params)                                                                                      \
  do {                                                                                                                \
    void *symbol = ws_device_symbol(device, #name);                                                                   \
    memcpy(&api.name, &symbol, sizeof symbol);                                                                        \
  } while (0);
  WS_CU_FUNCTIONS(BIND)
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct both { /* the same launch through the library and without it */
  struct ws_kernel *k;
  struct ws_launch launch;
  struct CUfunc_st *f;
  struct ws_cu_launch_config config;
  void *params[4];
};

/* Seconds a launch, the median over batches that the queue of the driver can hold. */
static double cost(struct both *l, bool library) {
  enum { BATCH = 100, BATCHES = 101 };
  static double times[BATCHES];
  for (int i = 0; i < BATCHES; i++) {
    double start = now();
    for (int j = 0; j < BATCH; j++) {
      if (library) assert_int_equal(ws_kernel_launch(l->k, &l->launch, NULL), WS_OK);
      else assert_int_equal(api.cuLaunchKernelEx(&l->config, l->f, l->params, NULL), 0);
    }
    times[i] = (now() - start) / BATCH;
    assert_int_equal(api.cuCtxSynchronize(), 0);
  }
  qsort(times, BATCHES, sizeof *times, ascending);
  return times[BATCHES / 2];
}

static struct both b;
static uint16_t host[4096], back[4096];
static uint64_t at[2];

static void begin_both(struct ws_tensor *t, const int64_t *shape) {
  struct ws_error_info err;
  struct CUctx_st *context;
  bind_driver();
  assert_int_equal(api.cuDevicePrimaryCtxRetain(&context, 0) || api.cuCtxSetCurrent(context), 0);
  if (ws_kernel_load_text(device, text, strlen(text), &b.k, &err)) fail_msg("%s", err.message);
  for (int i = 0; i < 4096; i++) host[i] = (uint16_t)(i * 7);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ws_memory_alloc(device, sizeof host, &at[i], &err), WS_OK);
    t[i] = (struct ws_tensor){i ? "o" : "q", at[i], WS_DTYPE_BF16, 4, shape, NULL};
  }
  assert_int_equal(ws_memory_upload(device, at[0], host, sizeof host, NULL, &err), WS_OK);
  b.launch = (struct ws_launch){.tensors = t, .ntensors = 2};
  assert_int_equal(ws_stream_create(device, &b.launch.stream, &err), WS_OK);
}

static void end_both(void) {
  for (int i = 0; i < 2; i++) ws_memory_free(device, at[i], NULL);
  ws_stream_destroy(device, b.launch.stream, NULL);
  ws_kernel_free(b.k);
  api.cuDevicePrimaryCtxRelease_v2(0);
}

static void captures(void **state) {
  (void)state;
  if (ws_device_get_info(device)->emulator) skip(); /* it has no graphs */
  const int64_t shape[] = {1, 1, 64, 64};
  struct ws_tensor t[2];
  struct ws_error_info err;
  struct CUgraph_st *graph;
  struct CUgraphExec_st *exec;
  begin_both(t, shape);
  assert_int_equal(api.cuStreamBeginCapture_v2(b.launch.stream, WS_CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
  if (ws_kernel_launch(b.k, &b.launch, &err)) fail_msg("%s", err.message);
  assert_int_equal(api.cuStreamEndCapture(b.launch.stream, &graph) || api.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  assert_int_equal(ws_memory_fill(device, at[1], 0, sizeof host, b.launch.stream, &err), WS_OK);
  assert_int_equal(api.cuGraphLaunch(exec, b.launch.stream), 0);
  assert_int_equal(ws_memory_download(device, back, at[1], sizeof back, b.launch.stream, &err), WS_OK);
  assert_memory_equal(back, host, sizeof host);
  api.cuGraphExecDestroy(exec);
  api.cuGraphDestroy(graph);
  end_both();
}

static void costs(void **state) {
  (void)state;
  if (ws_device_get_info(device)->emulator) skip(); /* a launch runs the kernel there */
  const int64_t shape[] = {1, 1, 64, 64};
  const uint64_t extents[] = {64, 64, 1, 1}, strides[] = {128, 8192, 8192}, turned[] = {64, 1, 64, 1}, steps[] = {8192, 128, 8192};
  const uint32_t box[] = {64, 32, 1, 1}, turned_box[] = {64, 1, 32, 1}, ones[] = {1, 1, 1, 1};
  uint32_t heads = 1, queries = 64;
  struct ws_tensor t[2];
  struct CUmod_st *module;
  struct ws_cu_tensor_map maps[2];
  begin_both(t, shape);
  assert_int_equal(api.cuModuleLoadDataEx(&module, text, 0, NULL, NULL) || api.cuModuleGetFunction(&b.f, module, "tma_copy"), 0);
  assert_int_equal(api.cuTensorMapEncodeTiled(&maps[0], 9, 4, (void *)(uintptr_t)at[0], extents, strides, box, ones, 0, 3, 2, 0), 0);
  assert_int_equal(api.cuTensorMapEncodeTiled(&maps[1], 9, 4, (void *)(uintptr_t)at[1], turned, steps, turned_box, ones, 0, 3, 2, 0), 0);
  struct ws_cu_launch_attribute cluster = {.id = WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster_dim = {2, 1, 1}};
  b.config = (struct ws_cu_launch_config){2, 1, 1, 32, 1, 1, 8192, b.launch.stream, &cluster, 1};
  void *const params[] = {&maps[0], &maps[1], &heads, &queries};
  memcpy(b.params, params, sizeof params);
  double best = 1;
  for (int i = 0; i < 5; i++) {
    double driver = cost(&b, false), library = cost(&b, true);
    printf("cuLaunchKernelEx %.2f us, ws_kernel_launch with two tensor maps %.2f us: %.2f us more\n", driver * 1e6, library * 1e6, (library - driver) * 1e6);
    if (library - driver < best) best = library - driver;
  }
  assert_true(best < 1e-6);
  api.cuModuleUnload(module);
  end_both();
}

int main(int argc, char **argv) {
  struct ws_error_info err;
  if (ws_device_open(argc > 1 ? argv[1] : "emu", NULL, NULL, &device, &err)) return fprintf(stderr, "%s\n", err.message), 77;
  if (ws_device_get_info(device)->major != 9) return 77;
  text = test_read_in(argc > 2 ? argv[2] : WS_TEST_DATA, "tma_copy.ptx", NULL);
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies), cmocka_unit_test(captures), cmocka_unit_test(costs)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(text);
  ws_device_close(device);
  return failed;
}
