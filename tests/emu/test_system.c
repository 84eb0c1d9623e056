/* printf and assert in kernels: "PTX Writer's Guide to Interoperability", System Calls. What is printed is read back from a file that
 * stands in for the standard output. */
#include "harness.h"
#include <unistd.h>

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n" \
             ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
#define PRINT "{\n.param .b64 p0;\nst.param.b64 [p0], f;\n.param .b64 p1;\nst.param.b64 [p1], args;\n.param .b32 back;\n" \
              "call.uni (back), vprintf, (p0, p1);\nld.param.b32 n, [back];\n}\n"

/* Runs k on `threads` threads; its result and what it printed. */
static ws_cu_result run(const char *text, unsigned threads, ws_cu_deviceptr *params, int nparams, char *printed, size_t size) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stdout);
  int old = dup(1);
  assert_true(old >= 0 && dup2(fileno(file), 1) == 1);
  ws_cu_result r = emu_run_text(text, threads, 0, params, nparams);
  fflush(stdout);
  dup2(old, 1);
  close(old);
  rewind(file);
  size_t n = fread(printed, 1, size - 1, file);
  printed[n] = 0;
  fclose(file);
  return r;
}

static void test_printf(void **state) {
  /* arguments as a C compiler lays out struct { int t; double x; const char *s; long long l; int c; const char *shared; int width, v; } */
  static const char text[] = HEAD
      ".global .align 1 .b8 fmt[64] = {37, 100, 32, 37, 54, 46, 50, 102, 124, 37, 45, 52, 115, 124, 37, 108, 108, 120, 37, 37, 37, 99, 32, 37, 115, 32, 37, 42, 117, 32, 37, 113, 10, 0};\n" /* "%d %6.2f|%-4s|%llx%%%c %s %*u %q\n" */
      ".const .align 1 .b8 word[4] = {97, 98, 99, 0};\n.visible .entry k(.param .u64 out)\n{\n.shared .align 1 .b8 s[4];\n.local .align 8 .b8 a[64];\n.reg .b64 f, args, x, o;\n.reg .b32 n, t;\n"
      "mov.u32 t, %tid.x;\nst.shared.u8 [s], 111;\nst.shared.u8 [s+1], 107;\nst.shared.u8 [s+2], 0;\nmov.u64 args, a;\ncvta.local.u64 args, args;\nst.local.u32 [a], t;\nst.local.f64 [a+8], 0d400a000000000000;\n"
      "mov.u64 x, word;\ncvta.const.u64 x, x;\nst.local.u64 [a+16], x;\nst.local.u64 [a+24], 0x123456789abc;\nst.local.u32 [a+32], 122;\nmov.u64 x, s;\ncvta.shared.u64 x, x;\nst.local.u64 [a+40], x;\n"
      "st.local.u32 [a+48], 4;\nst.local.u32 [a+52], 77;\nmov.u64 f, fmt;\ncvta.global.u64 f, f;\n" PRINT "ld.param.u64 o, [out];\nmul.wide.u32 x, t, 4;\nadd.u64 o, o, x;\nst.global.u32 [o], n;\nret;\n}\n";
  char printed[1024], want[1024] = "";
  uint32_t n[3];
  (void)state;
  ws_cu_deviceptr out = emu_buffer(NULL, sizeof n);
  CHECK(run(text, 3, &out, 1, printed, sizeof printed));
  emu_fetch(n, out, sizeof n);
  for (int t = 0; t < 3; t++) {
    snprintf(want + strlen(want), 128, "%d %6.2f|%-4s|%llx%%%c %s %*u q\n", t, 3.25, "abc", 0x123456789abcULL, 'z', "ok", 4, 77u);
    assert_int_equal(n[t], 8); /* arguments, the width among them */
  }
  assert_string_equal(printed, want);
}

/* Formats that lead out of memory, or into more text than there is room for, end early. */
static void test_bad_formats(void **state) {
  static const char body[] = HEAD ".visible .entry k(.param .u64 format, .param .u64 arguments)\n{\n.reg .b64 f, args;\n.reg .b32 n;\nld.param.u64 f, [format];\nld.param.u64 args, [arguments];\n" PRINT "ret;\n}\n";
  static const char *const formats[] = {"%s", "%5000d|", "%", "%ll", "%-+ #012345678901234567890123456789012345678901234567890123456789d", "%*.*f|%s", "a%hhd%zu%jx%tn"};
  static char printed[1 << 16];
  struct rng r = {5};
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    uint64_t args[4];
    for (int k = 0; k < 4; k++) args[k] = rng_next(&r);
    size_t size = strlen(formats[i]) + 1;
    char *copy = malloc(size); /* on a device the format ends with its allocation */
    memcpy(copy, formats[i], size);
    ws_cu_deviceptr p[2] = {emu_buffer(copy, size), emu_buffer(args, sizeof args)};
    CHECK(run(body, 1, p, 2, printed, sizeof printed));
    for (int k = 0; k < 2; k++) CHECK(cuMemFree_v2(p[k]));
    free(copy);
  }
  ws_cu_deviceptr nowhere[2] = {0, 0};
  CHECK(run(body, 32, nowhere, 2, printed, sizeof printed));
  assert_string_equal(printed, "");
}

static void test_assert(void **state) {
  static const char text[] = HEAD
      ".global .align 1 .b8 what[8] = {116, 32, 60, 32, 53, 0};\n.global .align 1 .b8 file[8] = {107, 46, 99, 117, 0};\n.visible .entry k()\n{\n.reg .b64 m, f;\n.reg .b32 t;\n.reg .pred p;\n"
      "mov.u32 t, %tid.x;\nsetp.lt.u32 p, t, 5;\n@p bra GOOD;\nmov.u64 m, what;\ncvta.global.u64 m, m;\nmov.u64 f, file;\ncvta.global.u64 f, f;\n{\n.param .b64 p0;\nst.param.b64 [p0], m;\n.param .b64 p1;\nst.param.b64 [p1], f;\n"
      ".param .b32 p2;\nst.param.b32 [p2], 42;\n.param .b64 p3;\nst.param.b64 [p3], m;\n.param .b64 p4;\nst.param.b64 [p4], 1;\ncall.uni __assertfail, (p0, p1, p2, p3, p4);\n}\nGOOD:\nret;\n}\n";
  char printed[64];
  (void)state;
  CHECK(run(text, 5, NULL, 0, printed, sizeof printed));
  assert_int_equal(run(text, 7, NULL, 0, printed, sizeof printed), WS_CUDA_ERROR_ASSERT);
  assert_non_null(strstr(emu_message(), "thread (5,0,0) failed the assertion 't < 5' of k.cu:42"));
}

static void test_others(void **state) {
  static const char text[] = ".version 8.3\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 r) malloc(.param .b64 n);\n.visible .entry k()\n{\n.param .b64 a;\n.param .b64 b;\nst.param.b64 [b], 8;\ncall.uni (a), malloc, (b);\nret;\n}\n";
  char printed[64];
  (void)state;
  assert_int_equal(run(text, 1, NULL, 0, printed, sizeof printed), WS_CUDA_ERROR_NOT_SUPPORTED);
  assert_non_null(strstr(emu_message(), "'malloc' has no body"));
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_printf), cmocka_unit_test(test_bad_formats), cmocka_unit_test(test_assert), cmocka_unit_test(test_others)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
