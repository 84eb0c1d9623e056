/* Every allocation, every call to the system and every call to the driver fails once, in a program that does all that the
 * library offers. Nothing may crash or leak, every failure is a status with a message, and what is left of the program's work is
 * right. The linker routes the library's calls through the __wrap_ functions here (CMakeLists.txt). */
#include "fixture.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- calls that can be made to fail ---- */

static bool armed; /* only while the library is at work */
static int count, fail_at;
static const char *failed;

static bool fails(const char *name) {
  if (!armed || ++count != fail_at) return false;
  failed = name;
  return true;
}

#define WRAP(type, name, bad, error, params, args)                                                                     \
  type __real_##name params;                                                                                           \
  type __wrap_##name params;                                                                                           \
  type __wrap_##name params {                                                                                          \
    if (!fails(#name)) return __real_##name args;                                                                      \
    errno = error;                                                                                                     \
    return bad;                                                                                                        \
  }
WRAP(void *, malloc, NULL, ENOMEM, (size_t n), (n))
WRAP(void *, calloc, NULL, ENOMEM, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, NULL, ENOMEM, (void *p, size_t n), (p, n))
WRAP(char *, strdup, NULL, ENOMEM, (const char *s), (s))
WRAP(FILE *, fopen, NULL, EMFILE, (const char *path, const char *mode), (path, mode))
WRAP(int, mkdir, -1, EACCES, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkstemp, -1, EROFS, (char *path), (path))
WRAP(int, rename, -1, EXDEV, (const char *from, const char *to), (from, to))
WRAP(ssize_t, write, -1, ENOSPC, (int fd, const void *p, size_t n), (fd, p, n))

/* These fail after they have done their work, or half of it, as they do in life. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  bool bad = fails("close");
  int result = __real_close(fd);
  if (bad) errno = EIO;
  return bad ? -1 : result;
}
int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);
int __wrap_fclose(FILE *f) {
  bool bad = fails("fclose");
  int result = __real_fclose(f);
  return bad ? EOF : result;
}
size_t __real_fread(void *p, size_t size, size_t n, FILE *f);
size_t __wrap_fread(void *p, size_t size, size_t n, FILE *f);
size_t __wrap_fread(void *p, size_t size, size_t n, FILE *f) { return __real_fread(p, size, fails("fread") ? n / 64 : n, f); }

/* ---- a program that uses everything ---- */

struct program {
  char *folder, *table_path, *ptx_path, *maps;
  int emptied; /* the cache is emptied before each run: compiled; else: taken from it */
};

static enum ws_status run(const struct program *p, struct ws_error_info *err) {
  struct ws_device *d = NULL;
  struct ws_kernel *k = NULL, *chosen = NULL, *tiles = NULL;
  struct ws_table *table = NULL;
  struct ws_manifest *m = NULL;
  void *stream = NULL;
  uint64_t memory = 0;
  float back = 0, there = 1.5f;
  struct test_launch t;
  struct ws_plan plan;
  struct ws_choice choice;
  test_launch_init(&t);
  const int64_t q[] = {1, 2, 128, 128}, kv[] = {1, 2, 128, 64};
  const struct ws_tensor windows[] = {{"q", 4096, WS_DTYPE_BF16, 4, q, NULL}, {"k", 4096, WS_DTYPE_E4M3, 4, kv, NULL},
                                      {"o", 4096, WS_DTYPE_F32, 4, q, NULL}};
  const struct ws_launch clusters = {.tensors = windows, .ntensors = 3};
  const struct ws_need need = {"attention.forward", WS_DTYPE_BF16, 128, NULL, 5, 7};
  const struct ws_device_options options = {
      .driver_path = WS_FAKE_DRIVER, .emulator_path = "/nowhere/emu.so", .cache_folder = p->folder};
  enum ws_status s = ws_manifest_read(p->ptx_path, &m, err);
#define DO(call)                                                                                                       \
  if (!s) s = (call)
  DO(ws_device_open(NULL, m, &options, &d, err));
  DO(ws_table_read(p->table_path, &table, err));
  DO(ws_kernel_load_file(d, p->ptx_path, &k, err));
  DO(ws_table_load(table, d, &need, &chosen, &choice, err));
  DO(ws_kernel_load_text(d, p->maps, strlen(p->maps), &tiles, err));
  DO(ws_stream_create(d, &stream, err));
  DO(ws_memory_alloc(d, 4, &memory, err));
  DO(ws_memory_upload(d, memory, &there, 4, stream, err));
  DO(ws_kernel_plan(k, &t.launch, &plan, err));
  DO(ws_kernel_launch(k, &t.launch, err));
  DO(ws_kernel_launch(chosen, &t.launch, err));
  if (!s) fake->nparams = 6;
  DO(ws_kernel_launch(tiles, &clusters, err));
  DO(ws_memory_download(d, &back, memory, 4, stream, err));
  DO(ws_device_synchronize(d, err));
  if (!s && back != there) s = WS_ERR_DRIVER;
  enum ws_status ends[] = {ws_memory_free(d, memory, NULL), ws_stream_destroy(d, stream, NULL)};
  for (size_t i = 0; i < 2; i++)
    if (!s && ends[i]) s = ends[i];
  ws_kernel_free(k);
  ws_kernel_free(chosen);
  ws_kernel_free(tiles);
  ws_table_free(table);
  ws_manifest_free(m);
  ws_device_close(d);
  return s;
}

static void empty(const struct program *p) {
  char path[1024];
  while (fixture_files(p->folder, path, sizeof path) && !unlink(path)) {
  }
}

static enum ws_status attempt(const struct program *p, int nth_call, int nth_driver_call, struct ws_error_info *err) {
  fixture_reset(NULL);
  if (p->emptied) empty(p);
  fake->device[0].major = 9;
  fake->fail_nth = nth_driver_call;
  memset(err, 0, sizeof *err);
  count = 0;
  fail_at = nth_call;
  failed = NULL;
  armed = true;
  enum ws_status s = run(p, err);
  armed = false;
  return s;
}

static void check_failure(const struct program *p, enum ws_status s, const struct ws_error_info *err, const char *what) {
  if (s && s == err->status && !*err->message) fail_msg("%s: status %d without a message", what, s);
  if (fake->contexts) fail_msg("%s: %d contexts are left", what, fake->contexts);
  if (strcmp(what, "cuCtxPushCurrent_v2")) fixture_nothing_is_left(); /* no context to destroy in: the driver's fault */
  DIR *d = opendir(p->folder);
  for (struct dirent *e; d && (e = readdir(d));)
    if (strstr(e->d_name, ".wscubin.")) fail_msg("%s: a temporary file is left: %s", what, e->d_name);
  if (d) closedir(d);
}

static void begin(struct program *p) {
  char *base = fixture_folder();
  p->folder = base;
  p->maps = test_read("maps.ptx", NULL);
  p->table_path = fixture_folder();
  p->ptx_path = malloc(600);
  snprintf(p->ptx_path, 600, "%s/copy.ptx", p->table_path);
  FILE *f = fopen(p->ptx_path, "wb");
  fwrite(copy_ptx, 1, copy_length, f);
  fclose(f);
  char *folder = p->table_path;
  p->table_path = malloc(600);
  snprintf(p->table_path, 600, "%s/kernels.txt", folder);
  f = fopen(p->table_path, "wb");
  fputs("warpscore table 1\n* bf16 128 none sm_80 * * copy.ptx\n", f);
  fclose(f);
  free(folder);
}

static void end(struct program *p) {
  *strrchr(p->table_path, '/') = 0;
  fixture_remove(p->table_path);
  fixture_remove(p->folder);
  free(p->ptx_path);
  free(p->maps);
}

/* Failing cache files never fail the load, so some failures pass unseen; memory and reading the kernel's file are seen. */
static void every_call_fails(void **state) {
  (void)state;
  struct program p = {0};
  struct ws_error_info err;
  begin(&p);
  for (p.emptied = 0; p.emptied < 2; p.emptied++) {
    assert_int_equal(attempt(&p, 0, 0, &err), WS_OK);
    if (!p.emptied) assert_int_equal(attempt(&p, 0, 0, &err), WS_OK); /* now from the cache */
    int calls = count, seen = 0, allocations = 0;
    assert_true(calls > 25);
    for (int n = 1; n <= calls; n++) {
      enum ws_status s = attempt(&p, n, 0, &err);
      if (!failed) break; /* fewer calls: an entry of the cache was found on another way */
      check_failure(&p, s, &err, failed);
      bool allocation = strstr("malloc calloc realloc strdup", failed) != NULL;
      allocations += allocation;
      seen += s != WS_OK;
      if (allocation && s && s != WS_ERR_MEMORY) fail_msg("%s number %d: status %d: %s", failed, n, s, err.message);
    }
    assert_true(allocations > 15);
    assert_true(seen >= allocations - 8); /* reading an entry of the cache allocates, too, and may fail unseen */
    assert_int_equal(attempt(&p, 0, 0, &err), WS_OK);
  }
  end(&p);
}

static void every_driver_call_fails(void **state) {
  (void)state;
  struct program p = {0};
  struct ws_error_info err;
  begin(&p);
  for (p.emptied = 0; p.emptied < 2; p.emptied++) {
    assert_int_equal(attempt(&p, 0, 0, &err), WS_OK);
    if (!p.emptied) assert_int_equal(attempt(&p, 0, 0, &err), WS_OK);
    int calls = atomic_load(&fake->calls), hidden = 0;
    assert_true(calls > 50);
    for (int n = 1; n <= calls; n++) {
      enum ws_status s = attempt(&p, 0, n, &err);
      if (!fake->failed) break;
      check_failure(&p, s, &err, fake->failed);
      if (s && *err.message && !strstr(err.message, "999") && !strstr(err.message, "emu: no emulator"))
        fail_msg("%s: %s", fake->failed, err.message);
      hidden += s == WS_OK;
    }
    assert_true(hidden > 0 && hidden < calls / 2); /* which context is current, and ends without a status */
  }
  end(&p);
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_call_fails, fixture_reset),
      cmocka_unit_test_setup(every_driver_call_fails, fixture_reset),
  };
  int result = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return result;
}
