/* Every data/bad/NAME.ptx is refused with exactly the text of NAME.err: names that start with decode_ at the launch, the
 * others when the module is loaded. `test_emu_errors --update` rewrites the .err files. */
#include "harness.h"
#include <dirent.h>

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static void message_of(const char *name, char *out, size_t n) {
  char path[512], log[2048] = "unwritten";
  snprintf(path, sizeof path, "bad/%.120s.ptx", name);
  char *text = emu_read_file(path);
  struct CUmod_st *m = NULL;
  unsigned int options[2] = {WS_CU_JIT_ERROR_LOG_BUFFER, WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {log, (void *)(uintptr_t)sizeof log};
  ws_cu_result r = cuModuleLoadDataEx(&m, text, 2, options, values);
  free(text);
  if (!r) {
    assert_string_equal(log, "");
    ws_cu_deviceptr p = 0;
    r = emu_run(emu_function(m, "k"), 1, 32, 0, &p, 1);
    assert_int_not_equal(r, 0);
    CHECK(cuCtxSynchronize()); /* a kernel that never ran breaks nothing */
    CHECK(cuModuleUnload(m));
    assert_true(!strncmp(name, "decode_", 7));
  } else {
    assert_true(strncmp(name, "decode_", 7) != 0);
    assert_string_equal(log, emu_message());
    assert_int_equal((size_t)(uintptr_t)values[1], strlen(log) + 1);
  }
  const char *result = "?";
  cuGetErrorName(r, &result);
  snprintf(out, n, "%s\n%s\n", result, emu_message());
}

static bool update;
static void test_messages(void **state) {
  static char names[256][128];
  int n = 0;
  (void)state;
  DIR *dir = opendir(EMU_DATA "/bad");
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    size_t len = strlen(e->d_name);
    if (len < 5 || strcmp(e->d_name + len - 4, ".ptx") || len > 120) continue;
    assert_true(n < 256);
    memcpy(names[n], e->d_name, len - 4);
    names[n++][len - 4] = 0;
  }
  closedir(dir);
  qsort(names, (size_t)n, sizeof names[0], compare);
  assert_true(n > 40);
  int bad = 0;
  for (int i = 0; i < n; i++) {
    char got[4096], path[1024];
    message_of(names[i], got, sizeof got);
    if (update) {
      snprintf(path, sizeof path, EMU_DATA "/bad/%.120s.err", names[i]);
      FILE *f = fopen(path, "w");
      assert_non_null(f);
      fputs(got, f);
      fclose(f);
      continue;
    }
    snprintf(path, sizeof path, "bad/%.120s.err", names[i]);
    char *want = emu_read_file(path);
    if (strcmp(want, got)) {
      print_message("%s:\n got  %s want %s", names[i], got, want);
      bad++;
    }
    free(want);
  }
  assert_int_equal(bad, 0);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(int argc, char **argv) {
  update = argc > 1 && !strcmp(argv[1], "--update");
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
