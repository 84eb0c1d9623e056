/* Registers that are read before they are written: what is an error, what a warning, and what neither. */
#include "harness.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.func (.reg .b32 r) twice(.reg .b32 v) { .reg .b32 w; add.u32 w, v, v; mov.b32 r, w; ret; }\n.func (.reg .b32 r) nothing() { ret; }\n" \
             ".visible .entry k(.param .u64 out)\n{\n.reg .pred p, q;\n.reg .b32 t, a, b, c;\n.reg .b64 o;\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nsetp.lt.u32 p, t, 7;\n"
static const struct { const char *body, *strict; bool never; } cases[] = {
    /* nothing writes it on any path */
    {"add.u32 b, a, t;", "14:1: error: register 'a' is read but nothing has written it: 'add.u32 b, a, t;'", true},
    {"add.u32 b, a, t;\nmov.u32 a, 1;", "14:1: error: register 'a' is read but nothing has written it: 'add.u32 b, a, t;'", true},
    {"add.u32 a, a, t;", "14:1: error: register 'a' is read but nothing has written it: 'add.u32 a, a, t;'", true},
    {"@q mov.u32 a, 1;", "14:1: error: register 'q' is read but nothing has written it: '@q mov.u32 a, 1;'", true},
    {"st.global.u32 [o], b;", "14:1: error: register 'b' is read but nothing has written it: 'st.global.u32 [o], b;'", true},
    {"{ .reg .b64 z; ld.global.u32 a, [z]; }", "14:16: error: register 'z' is read but nothing has written it: 'ld.global.u32 a, [z];'", true},
    {"mov.b64 o, {t, c};", "14:1: error: register 'c' is read but nothing has written it: 'mov.b64 o, {t, c};'", true},
    {"@p bra L;\nmov.u32 b, a;\nL:", "15:1: error: register 'a' is read but nothing has written it: 'mov.u32 b, a;'", true},
    {"call (a), twice, (b);", "14:1: error: register 'b' is read but nothing has written it: 'call (a), twice, (b);'", true},
    {"call (a), nothing, ();\nadd.u32 b, a, t;", "15:1: error: register 'a' is read but nothing has written it: 'add.u32 b, a, t;'", true},
    /* some path does not */
    {"@p mov.u32 a, 1;\nadd.u32 b, a, t;", "15:1: error: register 'a' may be read before it is written: 'add.u32 b, a, t;'", false},
    {"@p mov.u32 a, 1;\n@!p add.u32 b, a, t;", "15:1: error: register 'a' may be read before it is written: '@!p add.u32 b, a, t;'", false},
    {"@p mov.u32 a, 1;\nsetp.lt.u32 p, t, 9;\n@p add.u32 b, a, t;", "16:1: error: register 'a' may be read before it is written: '@p add.u32 b, a, t;'", false},
    {"@p bra L;\nmov.u32 a, 1;\nL: add.u32 b, a, t;", "16:4: error: register 'a' may be read before it is written: 'add.u32 b, a, t;'", false},
    {"mov.u32 b, 0;\nL: @p bra M;\nadd.u32 b, b, a;\nbra E;\nM: mov.u32 a, 1;\nsetp.gt.u32 p, t, 99;\nbra L;\nE:", "16:1: error: register 'a' may be read before it is written: 'add.u32 b, b, a;'", false},
    {"@p call (a), twice, (t);\nadd.u32 b, a, t;", "15:1: error: register 'a' may be read before it is written: 'add.u32 b, a, t;'", false},
    /* all of these are in order */
    {"@p mov.u32 a, 1;\n@!p mov.u32 a, 2;\nadd.u32 b, a, t;", NULL, false},
    {"@p mov.u32 a, 1;\n@p add.u32 b, a, t;\n@p add.u32 a, b, a;", NULL, false},
    {"@p bra L;\nmov.u32 a, 1;\nbra E;\nL: mov.u32 a, 2;\nE: add.u32 b, a, t;", NULL, false},
    {"mov.u32 a, 0;\nL: add.u32 a, a, 1;\nsetp.lt.u32 p, a, 5;\n@p bra L;\nmov.u32 b, a;", NULL, false},
    {"@p bra L;\nmov.u32 a, 1;\nbra M;\nL: exit;\nM: add.u32 b, a, t;", NULL, false},
    {"bra L;\nadd.u32 b, a, t;\nL:", NULL, false}, /* never reached */
    {"call (a), twice, (t);\nadd.u32 b, a, t;", NULL, false},
};

/* The result of a launch under a setting; the message without the kernel's name in msg. */
static ws_cu_result try(const char *body, const char *how, char *warnings, size_t n, char *msg, size_t nmsg) {
  char text[4096];
  snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", body);
  assert_int_equal(wsemuSetOption("uninitialised", how), 0);
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "k");
  ws_cu_deviceptr p = emu_buffer(NULL, 64);
  ws_cu_result r = emu_run(f, 1, 32, 0, &p, 1);
  snprintf(msg, nmsg, "%s", strncmp(emu_message(), "kernel 'k': ", 12) ? emu_message() : emu_message() + 12);
  assert_true(wsemuWarnings(f, warnings, n) < n);
  CHECK(cuMemFree_v2(p));
  CHECK(cuModuleUnload(m));
  return r;
}

static void test_cases(void **state) {
  char warnings[1024], msg[2048];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ws_cu_result r = try(cases[i].body, "strict", warnings, sizeof warnings, msg, sizeof msg);
    assert_int_equal(r, cases[i].strict ? WS_CUDA_ERROR_INVALID_PTX : WS_CUDA_SUCCESS);
    if (cases[i].strict) assert_string_equal(msg, cases[i].strict);
    assert_string_equal(warnings, "");
    r = try(cases[i].body, "error", warnings, sizeof warnings, msg, sizeof msg);
    assert_int_equal(r, cases[i].never ? WS_CUDA_ERROR_INVALID_PTX : WS_CUDA_SUCCESS);
    if (cases[i].never) assert_string_equal(msg, cases[i].strict);
    assert_int_equal(*warnings != 0, cases[i].strict && !cases[i].never);
    if (strstr(cases[i].body, "[z]")) continue; /* would fault: a register starts poisoned */
    r = try(cases[i].body, "warn", warnings, sizeof warnings, msg, sizeof msg);
    assert_int_equal(r, WS_CUDA_SUCCESS);
    assert_int_equal(*warnings != 0, cases[i].strict != NULL);
  }
  try(cases[10].body, "error", warnings, sizeof warnings, msg, sizeof msg);
  assert_string_equal(warnings, "kernel 'k', line 15: 'add.u32 b, a, t;': register 'a' may be read before it is written\n");
  assert_int_equal(wsemuSetOption("uninitialised", "error"), 0);
  assert_int_equal(wsemuSetOption("uninitialised", "never"), 1);
}

/* A register that nothing has written holds all ones, never zero. */
static void test_poison(void **state) {
  char text[2048];
  uint32_t got = 0;
  (void)state;
  snprintf(text, sizeof text, HEAD "st.global.u32 [o], a;\nret;\n}\n");
  assert_int_equal(wsemuSetOption("uninitialised", "warn"), 0);
  ws_cu_deviceptr p = emu_buffer(NULL, 64);
  CHECK(emu_run_text(text, 1, 0, &p, 1));
  CHECK(cuMemcpyDtoH_v2(&got, p, 4));
  CHECK(cuMemFree_v2(p));
  assert_int_equal(wsemuSetOption("uninitialised", "error"), 0);
  assert_int_equal(got, UINT32_MAX);
}

/* Many warnings are cut; a long chain of blocks in backward order ends soon. */
static void test_large(void **state) {
  enum { N = 3000 };
  char *text = malloc(N * 200 + 4096), warnings[65536];
  (void)state;
  assert_non_null(text);
  int n = sprintf(text, HEAD ".reg .b32 x<%d>;\n.reg .pred s<%d>;\nbra B0;\n", N, N);
  for (int i = N - 1; i >= 0; i--)
    n += sprintf(text + n, "B%d: setp.lt.u32 s%d, t, %d; @s%d mov.u32 x%d, t; bra B%d;\n", i, i, i % 32, i, i, i + 1);
  n += sprintf(text + n, "B%d:\n", N);
  for (int i = 0; i < N; i++) n += sprintf(text + n, "add.u32 a, x%d, t;\n", i);
  sprintf(text + n, "ret;\n}\n");
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "k");
  ws_cu_deviceptr p = emu_buffer(NULL, 64);
  CHECK(emu_run(f, 1, 32, 0, &p, 1));
  size_t len = wsemuWarnings(f, warnings, sizeof warnings), lines = 0;
  assert_true(len < sizeof warnings);
  for (size_t i = 0; i < len; i++) lines += warnings[i] == '\n';
  assert_int_equal(lines, 50);
  CHECK(cuMemFree_v2(p));
  CHECK(cuModuleUnload(m));
  free(text);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_poison), cmocka_unit_test(test_large)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
