/* The cache of compiled kernels, on the driver that watches: what is compiled and what is not, damage, other drivers, several
 * processes. */
#include "fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static enum ws_status load(const char *folder, const char *text, enum ws_load_source *source, char *note) {
  const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER, .cache_folder = folder};
  struct ws_error_info err = {0};
  struct ws_device *d;
  struct ws_kernel *k = NULL;
  enum ws_status status = ws_device_open("cuda:0", NULL, &options, &d, &err);
  if (status) return status;
  status = ws_kernel_load_text(d, text, strlen(text), &k, &err);
  ws_device_close(d);
  if (status) {
    snprintf(note, 512, "%.500s", err.message);
    return status;
  }
  *source = ws_kernel_get_load_info(k)->source;
  snprintf(note, 512, "%s", ws_kernel_get_load_info(k)->cache);
  assert_true(ws_kernel_get_load_info(k)->seconds > 0);
  struct test_launch t; /* it is the same kernel, wherever it came from */
  test_launch_init(&t);
  assert_int_equal(ws_kernel_launch(k, &t.launch, &err), WS_OK);
  ws_kernel_free(k);
  return WS_OK;
}

static void expect(const char *folder, const char *text, enum ws_load_source want, const char *begins, const char *holds) {
  enum ws_load_source source;
  char note[512];
  assert_int_equal(load(folder, text, &source, note), WS_OK);
  if (source != want || strncmp(note, begins, strlen(begins)) || !strstr(note, holds))
    fail_msg("source %d, '%s'; expected %d, '%s ... %s'", source, note, want, begins, holds);
  fixture_nothing_is_left();
}

static void compiles_once(void **state) {
  (void)state;
  char *folder = fixture_folder(), path[1024];
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", folder);
  assert_int_equal(fixture_files(folder, path, sizeof path), 1);
  assert_non_null(strstr(path, ".wscubin"));
  expect(folder, copy_ptx, WS_LOAD_CACHED, "taken from ", path);
  expect(folder, copy_ptx, WS_LOAD_CACHED, "taken from ", path);
  assert_int_equal(atomic_load(&fake->linked), 1);
  expect(NULL, copy_ptx, WS_LOAD_COMPILED, "", "");
  assert_int_equal(atomic_load(&fake->compiled), 1);
  assert_int_equal(fixture_files(folder, NULL, 0), 1);
  fixture_remove(folder);
}

/* Everything that the machine code depends on makes another entry. */
static void tells_keys_apart(void **state) {
  (void)state;
  char *folder = fixture_folder(), *other = test_replace(copy_ptx, "add.u64 %d8, %d8, %d3;", "add.u64 %d8, %d8, %d2;");
  char *target = test_replace(copy_ptx, "target: sm_80", "target: sm_75");
  char *sm_75 = test_replace(target, ".target sm_80", ".target sm_75");
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", "");
  expect(folder, other, WS_LOAD_COMPILED, "stored in ", "");
  expect(folder, sm_75, WS_LOAD_COMPILED, "stored in ", "");
  fake->version = 13000;
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", "");
  fake->device[0].minor = 6;
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", "");
  assert_int_equal(fixture_files(folder, NULL, 0), 5);
  fake->version = 12040;
  fake->device[0].minor = 0;
  expect(folder, copy_ptx, WS_LOAD_CACHED, "taken from ", "");
  expect(folder, other, WS_LOAD_CACHED, "taken from ", "");
  expect(folder, sm_75, WS_LOAD_CACHED, "taken from ", "");
  fixture_remove(folder);
  free(other);
  free(target);
  free(sm_75);
}

static void write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

/* Any byte changed, any length: never taken, always compiled and replaced. */
static void survives_damage(void **state) {
  (void)state;
  char *folder = fixture_folder(), path[1024], *good = malloc(1 << 16), *bad = malloc(1 << 16);
  uint64_t random = 42;
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", "");
  fixture_files(folder, path, sizeof path);
  FILE *f = fopen(path, "rb");
  size_t n = fread(good, 1, 1 << 16, f);
  fclose(f);
  assert_true(n > 2 * copy_length);
  for (int i = 0; i < 300; i++) {
    size_t length = i % 3 ? n : (size_t)(test_random(&random) % n), at = (size_t)(test_random(&random) % n);
    memcpy(bad, good, n);
    bool padding = false;
    if (length == n) {
      bad[at] = (char)(bad[at] ^ (1 << test_random(&random) % 8));
      padding = at >= 256 + copy_length && at < 256 + (copy_length + 63) / 64 * 64; /* never read */
    }
    write_file(path, bad, length);
    expect(folder, copy_ptx, padding ? WS_LOAD_CACHED : WS_LOAD_COMPILED, padding ? "taken" : "stored in ",
           padding ? "" : "; the entry there ");
    expect(folder, copy_ptx, WS_LOAD_CACHED, "taken from ", "");
  }
  assert_int_equal(fixture_files(folder, NULL, 0), 1);
  write_file(path, bad, 0);
  expect(folder, copy_ptx, WS_LOAD_COMPILED, "stored in ", "cut short");
  /* Machine code that the driver refuses although it is what was stored: compiled again. */
  char note[512];
  enum ws_load_source source;
  fake->failed = "";
  for (int nth = 1; strcmp(fake->failed, "cuModuleLoadDataEx"); nth++) {
    fixture_reset(NULL);
    fake->failed = "";
    fake->fail_nth = nth;
    if (load(folder, copy_ptx, &source, note) || source == WS_LOAD_CACHED) strcpy(note, "another call failed");
    assert_true(nth < 100);
  }
  if (!strstr(note, "stored in ") || !strstr(note, "; the entry there was refused by the driver (999)")) fail_msg("%s", note);
  fixture_reset(NULL);
  fake->bad_image = "\x7f" "ELF"; /* all of it: there is no kernel */
  assert_int_equal(load(folder, copy_ptx, &source, note), WS_ERR_COMPILE);
  fixture_nothing_is_left();
  fixture_remove(folder);
  free(good);
  free(bad);
}

static void does_without(void **state) {
  (void)state;
  char *folder = fixture_folder(), sub[600], deep[700];
  snprintf(sub, sizeof sub, "%s/made", folder);
  snprintf(deep, sizeof deep, "%s/not/made", folder);
  expect(deep, copy_ptx, WS_LOAD_COMPILED, "not stored in ", "No such file or directory");
  expect("/dev/null", copy_ptx, WS_LOAD_COMPILED, "not stored in /dev/null: ", "Not a directory");
  expect(sub, copy_ptx, WS_LOAD_COMPILED, "stored in ", "");
  expect(sub, copy_ptx, WS_LOAD_CACHED, "taken from ", "");
  if (getuid()) { /* root writes everywhere */
    char *other = test_replace(copy_ptx, "add.u64 %d8, %d8, %d3;", "add.u64 %d8, %d8, %d2;");
    chmod(sub, 0500);
    expect(sub, other, WS_LOAD_COMPILED, "not stored in ", "Permission denied");
    chmod(sub, 0700);
    free(other);
  }
  char *huge = malloc(8001);
  memset(huge, 'x', 8000);
  huge[8000] = 0;
  expect(huge, copy_ptx, WS_LOAD_COMPILED, "not stored in ", "File name too long");
  fake->fail_name = "cuLinkComplete"; /* the compiler's error is the load's */
  fake->fail_result = 218;
  enum ws_load_source source;
  char note[512], *other = test_replace(copy_ptx, "add.u64 %d8, %d8, %d3;", "add.u64 %d8, %d8, %d2;");
  assert_int_equal(load(sub, other, &source, note), WS_ERR_COMPILE);
  fixture_nothing_is_left();
  assert_int_equal(fixture_files(sub, NULL, 0), 1);
  free(huge);
  free(other);
  char path[1024];
  fixture_files(sub, path, sizeof path);
  unlink(path);
  rmdir(sub);
  fixture_remove(folder);
}

/* Processes that compile, damage and read one entry at the same time: each gets a kernel, nothing half-written is taken, and no
 * temporary file stays. */
static void shared_by_processes(void **state) {
  (void)state;
  enum { PROCESSES = 8, ROUNDS = 60 };
  char *folder = fixture_folder(), path[1024];
  pid_t child[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    child[p] = fork();
    assert_true(child[p] >= 0);
    if (child[p]) continue;
    uint64_t random = (uint64_t)p + 1;
    for (int i = 0; i < ROUNDS; i++) {
      enum ws_load_source source;
      char note[512];
      if (load(folder, copy_ptx, &source, note)) _exit(1);
      if (!strncmp(note, "not stored", 10) || strstr(note, "; the entry")) _exit(2);
      if (test_random(&random) % 4 == 0 && strstr(note, folder)) unlink(strchr(note, '/')); /* compiled again by somebody */
    }
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_int_equal(waitpid(child[p], &status, 0), child[p]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  assert_true(fixture_files(folder, path, sizeof path) <= 1);
  expect(folder, copy_ptx, fixture_files(folder, NULL, 0) ? WS_LOAD_CACHED : WS_LOAD_COMPILED, "", "");
  fixture_remove(folder);
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(compiles_once), TEST(tells_keys_apart), TEST(survives_damage), TEST(does_without), TEST(shared_by_processes),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return failed;
}
