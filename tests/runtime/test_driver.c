/* Devices and kernels on a driver that watches: what is called, what a launch passes, and what happens when any of the
 * calls fails. */
#include "fixture.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __has_feature
#define WS_CLANG_ASAN __has_feature(address_sanitizer)
#else
#define WS_CLANG_ASAN 0
#endif

static const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER, .emulator_path = "/nowhere/emu.so"};

static struct ws_device *open_device(void) {
  struct ws_device *d;
  struct ws_error_info err;
  if (ws_device_open("cuda:0", NULL, &options, &d, &err)) fail_msg("%s", err.message);
  return d;
}

static struct ws_kernel *load_copy(struct ws_device *d) {
  struct ws_kernel *k;
  struct ws_error_info err;
  if (ws_kernel_load_text(d, copy_ptx, copy_length, &k, &err)) fail_msg("%s", err.message);
  return k;
}

/* ---- devices ---- */

static void opens_by_name(void **state) {
  (void)state;
  struct ws_error_info err;
  struct ws_device *d = open_device();
  const struct ws_device_info *i = ws_device_get_info(d);
  assert_string_equal(i->name, "cuda:0");
  assert_string_equal(i->model, "Fake 0");
  assert_string_equal(i->choice, "");
  assert_int_equal(i->major * 10 + i->minor, 80);
  assert_int_equal(i->driver_version, 12040);
  assert_int_equal(i->shared_per_cta, 166912);
  assert_false(i->emulator);
  assert_non_null(ws_device_symbol(d, FAKE_DRIVER_SYMBOL));
  assert_null(ws_device_symbol(d, "cuNoSuchThing"));
  ws_device_close(d);
  ws_device_close(NULL);
  fixture_nothing_is_left();
  assert_int_equal(ws_device_open("cuda:1", NULL, &options, &d, &err), WS_ERR_NO_DEVICE);
  assert_string_equal(err.message, "cuda:1: there is no such device: the driver has 1");
  assert_null(d);
  static const char *const wrong[] = {"", "cuda:", "cuda:x", "cuda:-1", "gpu", "cuda:99999", "emu2"};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    char want[128];
    snprintf(want, sizeof want, "device '%s': expected cuda:N, emu or best", wrong[k]);
    assert_int_equal(ws_device_open(wrong[k], NULL, &options, &d, &err), WS_ERR_ARGUMENT);
    assert_string_equal(err.message, want);
  }
  const struct ws_device_options none = {.driver_path = "/nowhere/libcuda.so.1"};
  assert_int_equal(ws_device_open("cuda:0", NULL, &none, &d, &err), WS_ERR_NO_DEVICE);
  assert_string_equal(err.message, "/nowhere/libcuda.so.1: there is no such library");
  const struct ws_device_options other = {.driver_path = "libm.so.6"};
  assert_int_equal(ws_device_open("cuda:0", NULL, &other, &d, &err), WS_ERR_NO_DEVICE);
  assert_string_equal(err.message, "libm.so.6: has no function cuInit: this driver is too old or no CUDA driver");
  assert_int_equal(ws_device_open("emu", NULL, &options, &d, &err), WS_ERR_NO_DEVICE);
  assert_string_equal(err.message, "emu: no emulator: /nowhere/emu.so: there is no such library: put "
                                   "libwarpscore-emu.so beside the program or its path into WARPSCORE_EMU");
}

static struct ws_manifest *manifest_for(const char *target) {
  char line[64];
  struct ws_manifest *m;
  snprintf(line, sizeof line, "target: %s", target);
  char *text = test_replace(copy_ptx, "target: sm_80", line), *end = strstr(text, "// o = q");
  assert_int_equal(ws_manifest_parse(text, (size_t)(end - text), &m, NULL), WS_OK);
  free(text);
  return m;
}

/* Devices: 0 = 8.0, 1 = 9.0 with fewer multiprocessors, 2 = 9.0, 3 = 10.3. */
static void picks_the_best(void **state) {
  (void)state;
  static const struct {
    const char *target, *name, *choice;
  } cases[] = {
      {"sm_80", "cuda:3", "the best of 4 GPUs"},
      {"sm_90a", "cuda:2", "the best of 4 GPUs"},
      {"sm_90", "cuda:3", "the best of 4 GPUs"},
      {"sm_100f", "cuda:3", "the best of 4 GPUs"},
      {"sm_103a", "cuda:3", "the best of 4 GPUs"},
      {"sm_100a", NULL, "none of 4 GPUs (compute capability 10.3) runs sm_100a"},
      {"sm_120", NULL, "none of 4 GPUs (compute capability 10.3) runs sm_120"},
  };
  fake->devices = 4;
  fake->device[1].major = fake->device[2].major = 9;
  fake->device[1].multiprocessors = 114;
  fake->device[2].multiprocessors = 132;
  fake->device[3].major = 10;
  fake->device[3].minor = 3;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_manifest *m = manifest_for(cases[i].target);
    struct ws_device *d;
    struct ws_error_info err;
    enum ws_status status = ws_device_open(i % 2 ? "best" : NULL, m, &options, &d, &err);
    if (cases[i].name) {
      assert_int_equal(status, WS_OK);
      assert_string_equal(ws_device_get_info(d)->name, cases[i].name);
      assert_string_equal(ws_device_get_info(d)->choice, cases[i].choice);
      ws_device_close(d);
    } else { /* and no emulator either */
      assert_int_equal(status, WS_ERR_NO_DEVICE);
      assert_int_equal(strncmp(err.message, cases[i].choice, strlen(cases[i].choice)), 0);
      assert_non_null(strstr(err.message, "; emu: no emulator: "));
    }
    ws_manifest_free(m);
  }
  fixture_nothing_is_left();
}

/* Where no GPU will do, the emulator is next; here the same library plays it. */
static void falls_back_to_the_emulator(void **state) {
  (void)state;
  const struct ws_device_options both = {.driver_path = WS_FAKE_DRIVER, .emulator_path = WS_FAKE_DRIVER};
  struct ws_manifest *m = manifest_for("sm_90a");
  struct ws_device *d;
  assert_int_equal(ws_device_open(NULL, m, &both, &d, NULL), WS_OK);
  assert_string_equal(ws_device_get_info(d)->name, "emu");
  struct ws_kernel *kernel; /* what the assembler makes of it nobody knows there */
  assert_int_equal(ws_kernel_load_file(d, WS_TEST_DATA "/copy.ptx", &kernel, NULL), WS_OK);
  assert_int_equal(ws_kernel_get_resources(kernel)->registers, 0);
  ws_kernel_free(kernel);
  assert_true(ws_device_get_info(d)->emulator);
  assert_string_equal(ws_device_get_info(d)->choice, "none of 1 GPU (compute capability 8.0) runs sm_90a");
  ws_device_close(d);
  const struct ws_device_options gone = {.driver_path = "/nowhere/cuda.so", .emulator_path = WS_FAKE_DRIVER};
  assert_int_equal(ws_device_open(NULL, m, &gone, &d, NULL), WS_OK);
  assert_string_equal(ws_device_get_info(d)->choice, "no GPU: /nowhere/cuda.so: there is no such library");
  ws_device_close(d);
  ws_manifest_free(m);
  fixture_nothing_is_left();
}

static void refuses_by_capability(void **state) {
  (void)state;
  static const struct {
    const char *target;
    int major, minor;
    const char *needs; /* NULL = runs */
  } cases[] = {
      {"sm_80", 7, 5, "compute capability 8.0 or later"},
      {"sm_80", 8, 0, NULL},
      {"sm_80", 8, 9, NULL},
      {"sm_80", 12, 0, NULL},
      {"sm_89", 8, 6, "compute capability 8.9 or later"},
      {"sm_90a", 9, 0, NULL},
      {"sm_90a", 10, 0, "compute capability 9.0 exactly"},
      {"sm_90a", 8, 9, "compute capability 9.0 exactly"},
      {"sm_100a", 10, 3, "compute capability 10.0 exactly"},
      {"sm_100f", 10, 3, NULL},
      {"sm_100f", 11, 0, "compute capability 10.0 or a later one of the same family"},
      {"sm_103f", 10, 0, "compute capability 10.3 or a later one of the same family"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_manifest *m = manifest_for(cases[i].target);
    struct ws_device *d;
    struct ws_error_info err;
    char want[256];
    fake->device[0].major = cases[i].major;
    fake->device[0].minor = cases[i].minor;
    enum ws_status status = ws_device_open("cuda:0", m, &options, &d, &err);
    assert_int_equal(status, cases[i].needs ? WS_ERR_UNSUPPORTED : WS_OK);
    if (cases[i].needs) {
      snprintf(want, sizeof want, "kernel copy for %s needs %s; cuda:0 (Fake 0) has %d.%d", cases[i].target,
               cases[i].needs, cases[i].major, cases[i].minor);
      assert_string_equal(err.message, want);
    }
    ws_device_close(d);
    ws_manifest_free(m);
  }
  fixture_nothing_is_left();
}

/* ---- loading ---- */

static void refuse_load(const char *text, enum ws_status want, const char *message) {
  struct ws_device *d = open_device();
  struct ws_kernel *k;
  struct ws_error_info err;
  assert_int_equal(ws_kernel_load_text(d, text, strlen(text), &k, &err), want);
  assert_string_equal(err.message, message);
  assert_null(k);
  ws_device_close(d);
  fixture_nothing_is_left();
}

static void loads_and_refuses(void **state) {
  (void)state;
  char *text = test_replace(copy_ptx, ".version 7.0", ".version 9.0");
  refuse_load(text, WS_ERR_UNSUPPORTED,
              "kernel copy: PTX version 9.0 found, but this driver (CUDA 12.4) compiles up to 8.4: update the driver, "
              "or assemble with ptxas and load the cubin");
  free(text);
  text = test_replace(copy_ptx, "shared: 1024", "shared: 200000");
  refuse_load(text, WS_ERR_UNSUPPORTED,
              "kernel copy needs 200000 bytes of shared memory a CTA; cuda:0 (Fake 0) has 166912");
  free(text);
  text = test_replace(copy_ptx, ".entry copy", ".entry kopy");
  refuse_load(text, WS_ERR_MANIFEST,
              "the code has no '.entry copy', which the manifest names");
  free(text);
  text = test_replace(copy_ptx, "// o = q", "#");
  *strchr(text, '#') = 0;
  refuse_load(text, WS_ERR_MANIFEST, "there is no code behind the manifest");
  free(text);
  fake->device[0].major = 7;
  refuse_load(copy_ptx, WS_ERR_UNSUPPORTED,
              "kernel copy for sm_80 needs compute capability 8.0 or later; cuda:0 (Fake 0) has 7.0");
  fake->device[0].major = 8;
  fake->threads_per_block = 64;
  refuse_load(copy_ptx, WS_ERR_UNSUPPORTED,
              "kernel copy: the manifest asks for 128 threads a CTA, the compiled code allows 64");
  fake->threads_per_block = 1024;
  fake->jit_log = "ptxas error : line 42: Unknown symbol 'x'";
  refuse_load(copy_ptx, WS_ERR_COMPILE,
              "cuda:0: loading kernel copy: CUDA_ERROR_INVALID_PTX (218): the PTX text does not compile\nptxas error : "
              "line 42: Unknown symbol 'x'");
  fake->jit_log = NULL;
  fake->fail_name = "cuModuleLoadDataEx";
  fake->fail_result = 222;
  refuse_load(copy_ptx, WS_ERR_UNSUPPORTED,
              "cuda:0: loading kernel copy: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the PTX version is newer than "
              "the driver");
  fake->fail_result = 2;
  refuse_load(copy_ptx, WS_ERR_MEMORY, "cuda:0: loading kernel copy: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  fake->fail_name = NULL;

  struct ws_device *d = open_device();
  struct ws_kernel *k;
  struct ws_error_info err;
  assert_int_equal(ws_kernel_load_file(d, WS_TEST_DATA "/copy.ptx", &k, &err), WS_OK);
  ws_device_close(d); /* the kernel keeps it */
  assert_int_equal(fake->contexts, 1);
  assert_int_equal(fake->max_dynamic_shared, 1024);
  assert_int_equal(ws_kernel_get_resources(k)->registers, 40);
  assert_int_equal(ws_kernel_get_resources(k)->ctas_per_sm, 16);
  assert_string_equal(ws_manifest_kernel(ws_kernel_manifest(k))->entry, "copy");
  ws_kernel_free(k);
  ws_kernel_free(NULL);
  fixture_nothing_is_left();
  d = open_device();
  assert_int_equal(ws_kernel_load_file(d, "/nowhere/k.ptx", &k, &err), WS_ERR_IO);
  assert_int_equal(ws_kernel_load_file(d, "/dev/null", &k, &err), WS_ERR_MANIFEST);
  assert_int_equal(strncmp(err.message, "/dev/null: no manifest: ", 24), 0);
  assert_int_equal(ws_kernel_load_text(NULL, copy_ptx, copy_length, &k, &err), WS_ERR_ARGUMENT);
  assert_int_equal(ws_kernel_load_text(d, copy_ptx, copy_length, NULL, &err), WS_ERR_ARGUMENT);
  ws_device_close(d);
}

/* WARPSCORE_LINE_INFO asks the driver for the lines of the spec. */
static void loads_with_lines(void **state) {
  (void)state;
  static const char *const words[] = {NULL, "0", "1"};
  struct ws_error_info err;
  for (int i = 0; i < 3; i++) {
    struct ws_device *d = open_device();
    struct ws_kernel *k;
    if (words[i]) setenv("WARPSCORE_LINE_INFO", words[i], 1);
    assert_int_equal(ws_kernel_load_text(d, copy_ptx, copy_length, &k, &err), WS_OK);
    unsetenv("WARPSCORE_LINE_INFO");
    assert_int_equal(fake->line_info, i == 2);
    ws_kernel_free(k);
    ws_device_close(d);
  }
  fixture_nothing_is_left();
}

static void loads_cubins(void **state) {
  (void)state;
  unsigned char elf[128] = {0x7f, 'E', 'L', 'F', 2, 1};
  struct ws_device *d = open_device();
  struct ws_kernel *k;
  struct ws_error_info err;
  assert_int_equal(ws_kernel_load_cubin(d, copy_ptx, copy_length, elf, sizeof elf, &k, &err), WS_OK);
  ws_kernel_free(k);
  elf[40] = 100; /* the section headers: 2 of 64 bytes at 100 do not fit */
  elf[58] = 64;
  elf[60] = 2;
  assert_int_equal(ws_kernel_load_cubin(d, copy_ptx, copy_length, elf, sizeof elf, &k, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, "the machine code is no complete cubin (128 bytes)");
  assert_int_equal(ws_kernel_load_cubin(d, copy_ptx, copy_length, copy_ptx, copy_length, &k, &err), WS_ERR_ARGUMENT);
  assert_int_equal(ws_kernel_load_cubin(d, copy_ptx, copy_length, NULL, 9, &k, &err), WS_ERR_ARGUMENT);
  elf[40] = elf[58] = elf[60] = 0;
  fake->fail_name = "cuModuleLoadDataEx"; /* which devices a cubin is for is known to the driver alone */
  fake->fail_result = 209;
  assert_int_equal(ws_kernel_load_cubin(d, copy_ptx, copy_length, elf, sizeof elf, &k, &err), WS_ERR_UNSUPPORTED);
  assert_string_equal(err.message, "kernel copy: there is no machine code for cuda:0 (Fake 0, compute capability 8.0) "
                                   "in it: assemble it with ptxas -arch=sm_80, or load the PTX");
  ws_device_close(d);
  fixture_nothing_is_left();
}

/* ---- launching ---- */

static void passes_arguments(void **state) {
  (void)state;
  struct ws_device *d = open_device();
  struct ws_kernel *k = load_copy(d);
  struct test_launch t;
  test_launch_init(&t);
  t.launch.stream = (void *)(uintptr_t)0x77;
  int before = atomic_load(&fake->calls);
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  assert_true(atomic_load(&fake->calls) - before <= 4); /* current, push, launch, pop: no allocation, no waiting */
  assert_int_equal(fake->grid, 40);
  assert_int_equal(fake->block, 128);
  assert_int_equal(fake->shared, 1024);
  assert_ptr_equal(fake->stream, (void *)(uintptr_t)0x77);
  const uint64_t want[24] = {0x10000, 5120, 256, 1024, 0x20000, 0x30000, 3584, 256, 512, 3584, 256, 512,
                             0x40000, 5120, 256, 1024, 0x50000, 80,      20,   4,   5,   2,    7};
  for (int i = 0; i < 23; i++) assert_int_equal(fake->params[i], want[i]);
  float scale;
  memcpy(&scale, &fake->params[23], sizeof scale);
  assert_true(scale == (float)(1.4426950408889634 / 11.313708498984761));
  t.launch.scalars = &t.scalar;
  t.launch.nscalars = 1;
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  memcpy(&scale, &fake->params[23], sizeof scale);
  assert_true(scale == (float)(0.125 * 1.4426950408889634));
  t.shape[0][2] = t.shape[3][2] = t.shape[4][2] = 0;
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK); /* empty: no launch */
  assert_int_equal(atomic_load(&fake->launches), 2);
  t.shape[0][3] = 64;
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_kernel_launch(NULL, &t.launch, NULL), WS_ERR_ARGUMENT);
  ws_kernel_free(k);
  ws_device_close(d);
  fixture_nothing_is_left();
}

static void *launch_often(void *kernel) {
  struct test_launch t;
  test_launch_init(&t);
  for (int i = 0; i < 2000; i++)
    if (ws_kernel_launch(kernel, &t.launch, NULL)) return kernel;
  return NULL;
}

static void launches_from_threads(void **state) {
  (void)state;
  struct ws_device *d = open_device();
  struct ws_kernel *k = load_copy(d);
  pthread_t threads[4];
  fake->nparams = 0; /* the record of parameters is not made for several threads */
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, launch_often, k), 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&fake->launches), 8000);
  ws_kernel_free(k);
  ws_device_close(d);
}

/* What the library adds to the driver's own launch: under a microsecond. The best of many batches, as the machine may
 * be busy. Sanitizers and debug builds are slower by their nature. */
static void launches_cheaply(void **state) {
  (void)state;
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !WS_CLANG_ASAN
  struct ws_device *d = open_device();
  struct ws_kernel *k = load_copy(d);
  struct test_launch t;
  test_launch_init(&t);
  double best = 1;
  for (int batch = 0; batch < 50; batch++) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 1000; i++) assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double each = ((double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec)) / 1000;
    if (each < best) best = each;
  }
  if (best >= 1e-6) fail_msg("a launch takes %.0f ns", best * 1e9);
  ws_kernel_free(k);
  ws_device_close(d);
#else
  skip();
#endif
}

/* ---- every call fails once ---- */

/* Everything that the library does with a driver, in order; the first failure's status. Cleans up in any case. */
static enum ws_status whole_life(struct ws_error_info *err) {
  struct ws_device *d = NULL;
  struct ws_kernel *k = NULL;
  void *stream = NULL, *from = NULL, *to = NULL, *shared = NULL;
  uint64_t memory = 0, other = 0;
  char host[64] = "sixty-four bytes to and fro";
  float ms;
  struct test_launch t;
  test_launch_init(&t);
  enum ws_status s = ws_device_open("cuda:0", NULL, &options, &d, err);
#define DO(call)                                                                                                       \
  if (!s) s = (call)
  DO(ws_kernel_load_text(d, copy_ptx, copy_length, &k, err));
  DO(ws_memory_alloc(d, 64, &memory, err));
  DO(ws_memory_alloc(d, 64, &other, err));
  DO(ws_host_alloc(d, 64, &shared, err));
  DO(ws_stream_create(d, &stream, err));
  DO(ws_event_create(d, &from, err));
  DO(ws_event_create(d, &to, err));
  DO(ws_memory_upload(d, memory, host, 64, stream, err));
  DO(ws_memory_copy(d, other, memory, 64, stream, err));
  DO(ws_memory_fill(d, memory, 0, 64, stream, err));
  DO(ws_event_record(d, from, stream, err));
  DO(ws_kernel_launch(k, &t.launch, err));
  DO(ws_event_record(d, to, stream, err));
  int done = 1;
  fake->pending = s ? 0 : 1;
  DO(ws_stream_done(d, stream, &done, err));
  if (!s) assert_false(done);
  DO(ws_stream_done(d, stream, &done, err));
  if (!s) assert_true(done);
  DO(ws_stream_synchronize(d, stream, err));
  DO(ws_event_elapsed(d, from, to, &ms, err));
  DO(ws_memory_download(d, host, other, 64, stream, err));
  DO(ws_device_synchronize(d, err));
  if (!s) assert_string_equal(host, "sixty-four bytes to and fro");
  enum ws_status ends[] = {ws_memory_free(d, memory, NULL), ws_memory_free(d, other, NULL), ws_host_free(d, shared, NULL),
                           ws_stream_destroy(d, stream, NULL), ws_event_destroy(d, from, NULL),
                           ws_event_destroy(d, to, NULL)};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (!s) s = ends[i];
  ws_kernel_free(k);
  ws_device_close(d);
  return s;
}

static void survives_every_failure(void **state) {
  (void)state;
  struct ws_error_info err;
  assert_int_equal(whole_life(&err), WS_OK);
  int calls = atomic_load(&fake->calls), hidden = 0;
  fixture_nothing_is_left();
  assert_true(calls > 60);
  for (int n = 1; n <= calls; n++) {
    fixture_reset(NULL);
    fake->fail_nth = n;
    memset(&err, 0, sizeof err);
    enum ws_status s = whole_life(&err);
    assert_non_null(fake->failed);
    /* A failed push while something is destroyed leaves it alive: there is no context to destroy it in. */
    bool push = !strcmp(fake->failed, "cuCtxPushCurrent_v2");
    if (!push) fixture_nothing_is_left();
    assert_int_equal(fake->contexts, 0);
    if (s && *err.message) {
      assert_non_null(strstr(err.message, "CUDA_ERROR_UNKNOWN (999): unknown error"));
      assert_int_equal(err.driver_result, 999);
    }
    hidden += !s;
  }
  /* Only calls whose failure does no harm pass unseen: asking for the current context, and ends without a status. */
  assert_true(hidden > 0 && hidden < calls / 2);
}

static void survives_failed_switches(void **state) {
  (void)state;
  struct ws_error_info err;
  fake->fail_name = "cuCtxPushCurrent_v2";
  assert_int_equal(whole_life(&err), WS_ERR_DRIVER);
  assert_string_equal(err.message, "cuda:0: making its context current: CUDA_ERROR_UNKNOWN (999): unknown error");
  fixture_nothing_is_left();
  fixture_reset(NULL);
  fake->fail_name = "cuMemAlloc_v2";
  fake->fail_result = 2;
  assert_int_equal(whole_life(&err), WS_ERR_MEMORY);
  assert_string_equal(err.message, "cuda:0: allocating 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  fixture_reset(NULL);
  fake->fail_name = "cuInit";
  fake->fail_result = 12345;
  assert_int_equal(whole_life(&err), WS_ERR_NO_DEVICE);
  assert_string_equal(err.message, WS_FAKE_DRIVER ": cuInit: unknown result (12345): no description");
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(opens_by_name),          TEST(picks_the_best),           TEST(falls_back_to_the_emulator),
      TEST(refuses_by_capability),  TEST(loads_and_refuses),        TEST(loads_cubins),           TEST(loads_with_lines),
      TEST(passes_arguments),       TEST(launches_from_threads),    TEST(launches_cheaply),
      TEST(survives_every_failure), TEST(survives_failed_switches),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return failed;
}
