/* Tables of kernels: reading, choosing, the reasons given, and what is wrong with hostile ones. */
#include "fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table_text[] = "warpscore table 1\n"
                                 "# problem          type head_dim mask   target  queries keys  file\n"
                                 "attention.forward  bf16 128      causal sm_100a *       *     fa4.ptx\n"
                                 "attention.forward  bf16 128      causal sm_80   1-256   4096- short.ptx # for decoding\n"
                                 "attention.forward  bf16 128      causal sm_80   *       *     fa2.ptx\n"
                                 "\n"
                                 "attention.forward  *    -64      none   sm_90a  *       -512  /kernels/small.ptx\r\n"
                                 "attention.forward  f16  128      *      sm_103a *       *     fa4.ptx\n";

static struct ws_device *open_device(int major, int minor) {
  const struct ws_device_options options = {.driver_path = WS_FAKE_DRIVER};
  struct ws_device *d;
  fake->device[0].major = major;
  fake->device[0].minor = minor;
  assert_int_equal(ws_device_open("cuda:0", NULL, &options, &d, NULL), WS_OK);
  return d;
}

static struct ws_table *parse(const char *text) {
  struct ws_table *t;
  struct ws_error_info err;
  if (ws_table_parse(text, strlen(text), "some/folder", &t, &err)) fail_msg("%s", err.message);
  return t;
}

static void chooses(void **state) {
  (void)state;
  static const struct {
    int major, minor;
    struct ws_need need;
    enum ws_status status;
    const char *file, *text; /* the reason, or the message */
  } cases[] = {
      {10, 0, {"attention.forward", WS_DTYPE_BF16, 128, "causal", 1, 9000}, WS_OK, "some/folder/fa4.ptx",
       "attention.forward bf16 head_dim 128 mask causal, 1 queries, 9000 keys on cuda:0 (compute capability 10.0): line 3, "
       "sm_100a, queries *, keys *"},
      {8, 0, {"attention.forward", WS_DTYPE_BF16, 128, "causal", 256, 4096}, WS_OK, "some/folder/short.ptx",
       "attention.forward bf16 head_dim 128 mask causal, 256 queries, 4096 keys on cuda:0 (compute capability 8.0): line 4, "
       "sm_80, queries 1-256, keys 4096-; line 3 needs compute capability 10.0 exactly"},
      {9, 0, {"attention.forward", WS_DTYPE_BF16, 128, "causal", 257, 4096}, WS_OK, "some/folder/fa2.ptx",
       "attention.forward bf16 head_dim 128 mask causal, 257 queries, 4096 keys on cuda:0 (compute capability 9.0): line 5, "
       "sm_80, queries *, keys *; line 3 needs compute capability 10.0 exactly; line 4 has queries 1-256"},
      {9, 0, {"attention.forward", WS_DTYPE_E4M3, 64, NULL, 7, 512}, WS_OK, "/kernels/small.ptx",
       "attention.forward e4m3 head_dim 64 mask none, 7 queries, 512 keys on cuda:0 (compute capability 9.0): line 7, sm_90a, "
       "queries *, keys -512"},
      {10, 3, {"attention.forward", WS_DTYPE_F16, 128, "window", 7, 7}, WS_OK, "some/folder/fa4.ptx",
       "attention.forward f16 head_dim 128 mask window, 7 queries, 7 keys on cuda:0 (compute capability 10.3): line 8, sm_103a, "
       "queries *, keys *"},
      {9, 0, {"attention.forward", WS_DTYPE_F16, 128, "causal", 7, 7}, WS_ERR_UNSUPPORTED, NULL,
       "attention.forward f16 head_dim 128 mask causal, 7 queries, 7 keys: the table has no kernel for compute capability 9.0 "
       "(cuda:0, Fake 0): some/folder/fa4.ptx (line 8, sm_103a) needs compute capability 10.3 exactly: generate one for this "
       "target, or use another device"},
      {7, 5, {"attention.forward", WS_DTYPE_BF16, 128, "causal", 7, 5000}, WS_ERR_UNSUPPORTED, NULL,
       "attention.forward bf16 head_dim 128 mask causal, 7 queries, 5000 keys: the table has no kernel for compute capability 7.5 "
       "(cuda:0, Fake 0): some/folder/fa4.ptx (line 3, sm_100a) needs compute capability 10.0 exactly; some/folder/short.ptx "
       "(line 4, sm_80) needs compute capability 8.0 or later; some/folder/fa2.ptx (line 5, sm_80) needs compute capability 8.0 "
       "or later: generate one for this target, or use another device"},
      {9, 0, {"attention.forward", WS_DTYPE_BF16, 64, "none", 7, 513}, WS_ERR_NO_KERNEL, NULL,
       "attention.forward bf16 head_dim 64 mask none, 7 queries, 513 keys: the table has no such kernel; the nearest, line 7, "
       "has keys -512"},
      {9, 0, {"attention.backward", WS_DTYPE_BF16, 128, "causal", 7, 513}, WS_ERR_NO_KERNEL, NULL,
       "attention.backward bf16 head_dim 128 mask causal, 7 queries, 513 keys: the table has no such kernel; the nearest, line "
       "5, has problem attention.forward"},
  };
  struct ws_table *t = parse(table_text);
  assert_int_equal(ws_table_rows(t), 5);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_device *d = open_device(cases[i].major, cases[i].minor);
    struct ws_choice choice;
    struct ws_error_info err = {.message = ""};
    int calls = atomic_load(&fake->calls);
    enum ws_status status = ws_table_choose(t, d, &cases[i].need, &choice, &err);
    assert_int_equal(atomic_load(&fake->calls), calls);
    if (status != cases[i].status) fail_msg("case %zu: status %d: %s", i, status, err.message);
    assert_string_equal(status ? err.message : choice.reason, cases[i].text);
    if (!status) assert_string_equal(choice.file, cases[i].file);
    ws_device_close(d);
  }
  ws_table_free(t);
  ws_table_free(NULL);
  assert_int_equal(ws_table_rows(NULL), 0);
}

static void refuses_nulls(void **state) {
  (void)state;
  struct ws_table *t = parse(table_text), *out;
  struct ws_device *d = open_device(9, 0);
  struct ws_need need = {"p", WS_DTYPE_F16, 1, NULL, 1, 1};
  struct ws_choice c;
  struct ws_kernel *k;
  assert_int_equal(ws_table_choose(NULL, d, &need, &c, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_choose(t, NULL, &need, &c, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_choose(t, d, NULL, &c, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_choose(t, d, &need, NULL, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_load(t, d, &need, NULL, &c, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_load(t, d, &need, &k, NULL, NULL), WS_ERR_NO_KERNEL);
  assert_null(k);
  need.problem = NULL;
  assert_int_equal(ws_table_choose(t, d, &need, &c, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_parse(NULL, 0, NULL, &out, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_parse("", 0, NULL, NULL, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_read(NULL, &out, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_table_read("/nowhere/t", &out, NULL), WS_ERR_IO);
  ws_device_close(d);
  ws_table_free(t);
}

static void names_damage(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "table line 1: '' found, expected 'warpscore table 1'"},
      {"warpscore table 2\n", "table line 1: 'warpscore table 2' found, expected 'warpscore table 1'"},
      {"warpscore table 1\n\na b c\n",
       "table line 3: 3 words found, expected 8: problem type head_dim mask target queries keys file"},
      {"warpscore table 1\na * * * sm_80 * * f g\n", "table line 2: 'g' is left over: a line has 8 words, the last is the file"},
      {"warpscore table 1\na int8 * * sm_80 * * f\n",
       "table line 2: type: unknown type 'int8': expected f16, bf16, f32, e4m3, e5m2, i32 or *"},
      {"warpscore table 1\na * x * sm_80 * * f\n", "table line 2: head_dim: 'x' found, expected *, N, N-M, N- or -M"},
      {"warpscore table 1\na * * * sm_80 9-3 * f\n", "table line 2: queries: '9-3' found, expected *, N, N-M, N- or -M"},
      {"warpscore table 1\na * * * sm_80 * - f\n", "table line 2: keys: '-' found, expected *, N, N-M, N- or -M"},
      {"warpscore table 1\na * * * sm_80 * 99999999999999999999 f\n",
       "table line 2: keys: '99999999999999999999' found, expected *, N, N-M, N- or -M"},
      {"warpscore table 1\na * * * hopper * * f\n", "table line 2: target: 'hopper' is no target: expected sm_80 or the like"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_table *t;
    struct ws_error_info err;
    assert_int_equal(ws_table_parse(cases[i].text, strlen(cases[i].text), NULL, &t, &err), WS_ERR_MANIFEST);
    assert_string_equal(err.message, cases[i].message);
    assert_null(t);
  }
  struct ws_table *t;
  assert_int_equal(ws_table_parse("warpscore table 1\n\0", 19, NULL, &t, NULL), WS_ERR_MANIFEST);
  assert_int_equal(ws_table_parse(table_text, (size_t)1 << 30, NULL, &t, NULL), WS_ERR_MANIFEST); /* refused unread */
  uint64_t random = 7;
  for (int i = 0; i < 3000; i++) {
    char text[sizeof table_text];
    memcpy(text, table_text, sizeof text);
    for (int n = 0; n < 3; n++)
      text[18 + test_random(&random) % (sizeof text - 18)] = " \t\n#*-09az\x80\xff"[test_random(&random) % 12];
    if (!ws_table_parse(text, sizeof text - 1, NULL, &t, NULL)) ws_table_free(t);
  }
}

/* The kernel of data/, and ones that call themselves what the generator writes of a spec with its own mathematics. */
static void write_kernels(const char *folder) {
  static const struct {
    const char *name, *set;
  } kernels[] = {{"copy", "causal false"},
                 {"causal", "causal true"},
                 {"softcap", "reference_score 50.0 * tanh(s / 50.0)"},
                 {"window", "window 1024"},
                 {"all", "window 0"}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    char file[600], *text = test_replace(copy_ptx, "causal false", kernels[i].set);
    snprintf(file, sizeof file, "%s/%s.ptx", folder, kernels[i].name);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(text);
  }
}

static void loads_the_chosen(void **state) {
  (void)state;
  char *folder = fixture_folder(), path[600];
  snprintf(path, sizeof path, "%s/kernels.txt", folder);
  write_kernels(folder);
  static const struct {
    const char *row, *message; /* NULL = loads */
    const char *problem, *mask;
    enum ws_dtype type;
  } cases[] = {
#define PLAIN "attention.forward", NULL, WS_DTYPE_BF16
      {"attention.forward bf16 128 none sm_80 * * copy.ptx", NULL, PLAIN},
      {"* * * * sm_80 * * copy.ptx", NULL, PLAIN},
      {"* * * * sm_80 * * all.ptx", NULL, PLAIN},
      {"* * * softcap sm_80 * * softcap.ptx", NULL, "attention.forward", "softcap", WS_DTYPE_BF16},
      {"* bf16 128 causal sm_80 * * copy.ptx", "table line 2: mask causal, but the kernel %s has mask none",
       "attention.forward", "causal", WS_DTYPE_BF16},
      {"* * * * sm_80 * * causal.ptx", "table line 2: mask none, but the kernel %s has mask causal", PLAIN},
      {"* * * * sm_80 * * softcap.ptx", "table line 2: mask none, but the kernel %s has mask reference_score", PLAIN},
      {"* * * none sm_80 * * window.ptx", "table line 2: mask none, but the kernel %s has mask window", PLAIN},
      {"* * * causal sm_80 * * window.ptx", "table line 2: mask causal, but the kernel %s has mask window",
       "attention.forward", "causal", WS_DTYPE_BF16},
      {"attention.forward * * * sm_75 * * copy.ptx", "table line 2: target sm_75, but the kernel %s has target sm_80", PLAIN},
      {"other * * * sm_80 * * copy.ptx", "table line 2: problem other, but the kernel %s has problem attention.forward",
       "other", NULL, WS_DTYPE_BF16},
      {"* f16 * * sm_80 * * copy.ptx", "table line 2: type f16, but the kernel %s has type bf16", "attention.forward", NULL,
       WS_DTYPE_F16},
      {"* * * * sm_80 * * gone.ptx", "%s: cannot be opened: No such file or directory", PLAIN},
  };
  struct ws_device *d = open_device(8, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_table *t;
    struct ws_kernel *k;
    struct ws_choice choice;
    struct ws_error_info err = {.message = ""};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "warpscore table 1\n%s", cases[i].row); /* the last line needs no end */
    fclose(f);
    assert_int_equal(ws_table_read(path, &t, &err), WS_OK);
    const struct ws_need need = {cases[i].problem, cases[i].type, 128, cases[i].mask, 5, 7};
    enum ws_status status = ws_table_load(t, d, &need, &k, &choice, &err);
    if (cases[i].message) {
      char want[2048];
      assert_true(status == WS_ERR_MANIFEST || status == WS_ERR_IO);
      snprintf(want, sizeof want, cases[i].message, choice.file);
      assert_string_equal(err.message, want);
      assert_null(k);
    } else if (status) {
      fail_msg("%s", err.message);
    }
    ws_kernel_free(k);
    ws_table_free(t);
  }
  ws_device_close(d);
  fixture_nothing_is_left();
  fixture_remove(folder);
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(chooses), TEST(refuses_nulls), TEST(names_damage), TEST(loads_the_chosen),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return failed;
}
