/* Reads of shared and device memory that nothing has written: each with its twin that writes first, and what counts as a write. */
#include "harness.h"

enum { BYTES = 256 };
/* in: BYTES of device memory as cuMemAlloc gives them; out: the same, filled; s: static, dyn: dynamic shared memory */
#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n" \
             ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.shared .align 16 .b8 s[256];\n.reg .b32 t, a, b, c, d;\n.reg .b64 o, i, g, l;\n.reg .pred p;\n" \
             "ld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 t, %%tid.x;\nmov.u32 b, 7; mov.u32 a, b;\nmul.wide.u32 l, t, 16;\n"
enum where { NOWHERE, SHARED, GLOBAL };
static const struct { const char *body, *text; enum where where; unsigned line, thread, bytes, offset; } cases[] = {
    /* scalars, vectors, parts of what was written */
    {"ld.shared.u32 a, [s+16];", "ld.shared.u32 a, [s+16];", SHARED, 16, 0, 4, 16},
    {"st.shared.u32 [s+16], b;\nld.shared.u32 a, [s+16];", NULL, NOWHERE, 0, 0, 0, 0},
    {"st.shared.u32 [s+16], b;\nld.shared.v2.u32 {a, c}, [s+16];", "ld.shared.v2.u32 {a, c}, [s+16];", SHARED, 17, 0, 8, 16},
    {"st.shared.v2.u32 [s+16], {b, b};\nld.shared.v2.u32 {a, c}, [s+16];", NULL, NOWHERE, 0, 0, 0, 0},
    {"st.shared.u8 [s+16], b;\nld.shared.u8 a, [s+20];", "ld.shared.u8 a, [s+20];", SHARED, 17, 0, 1, 20},
    {"st.shared.u8 [s+16], b;\nld.shared.u8 a, [s+17];", NULL, NOWHERE, 0, 0, 0, 0}, /* the same 4 bytes: not noticed */
    {"ld.shared.u16 a, [dyn+64];", "ld.shared.u16 a, [dyn+64];", SHARED, 16, 0, 2, 64},
    {"st.shared.u16 [dyn+64], b;\nld.shared.u16 a, [dyn+64];", NULL, NOWHERE, 0, 0, 0, 0}, /* s is not used, so it has no room */
    {"ld.global.u32 a, [i+8];", "ld.global.u32 a, [i+8];", GLOBAL, 16, 0, 4, 8},
    {"ld.global.u32 a, [o+8];", NULL, NOWHERE, 0, 0, 0, 0}, /* the host has filled it */
    {"st.global.u32 [i+8], b;\nld.global.u32 a, [i+8];", NULL, NOWHERE, 0, 0, 0, 0},
    {"ld.volatile.global.v4.u32 {a, b, c, d}, [i+32];", "ld.volatile.global.v4.u32 {a, b, c, d}, [i+32];", GLOBAL, 16, 0, 16, 32},
    {"st.global.v4.u32 [i+32], {b, b, b, b};\nld.volatile.global.v4.u32 {a, b, c, d}, [i+32];", NULL, NOWHERE, 0, 0, 0, 0},
    /* some lanes only; generic addresses */
    {"setp.lt.u32 p, t, 5;\nadd.u64 g, i, l;\n@p st.global.u32 [g], b;\nsetp.lt.u32 p, t, 8;\n@p ld.global.u32 a, [g];", "@p ld.global.u32 a, [g];", GLOBAL, 20, 5, 4, 80},
    {"setp.lt.u32 p, t, 5;\nadd.u64 g, i, l;\n@p st.global.u32 [g], b;\n@p ld.global.u32 a, [g];", NULL, NOWHERE, 0, 0, 0, 0},
    {"ld.u32 a, [i+4];", "ld.u32 a, [i+4];", GLOBAL, 16, 0, 4, 4},
    {"cvta.shared.u64 g, s;\nld.u32 a, [g+4];", "ld.u32 a, [g+4];", SHARED, 17, 0, 4, 4},
    {"cvta.shared.u64 g, s;\nst.u32 [g+4], b;\nld.u32 a, [g+4];", NULL, NOWHERE, 0, 0, 0, 0},
    /* atomics read, but for an exchange */
    {"atom.shared.add.u32 a, [s+12], b;", "atom.shared.add.u32 a, [s+12], b;", SHARED, 16, 0, 4, 12},
    {"red.global.add.u32 [i+12], b;", "red.global.add.u32 [i+12], b;", GLOBAL, 16, 0, 4, 12},
    {"atom.shared.exch.b32 a, [s+12], b;\natom.shared.add.u32 a, [s+12], b;\nld.shared.u32 a, [s+12];", NULL, NOWHERE, 0, 0, 0, 0},
    {"red.global.add.u32 [o+12], b;", NULL, NOWHERE, 0, 0, 0, 0},
    /* copies: what they read, and that they write */
    {"cp.async.ca.shared.global [s], [i], 16;\ncp.async.wait_all;\nld.shared.u32 a, [s+12];", "cp.async.ca.shared.global [s], [i], 16;", GLOBAL, 16, 0, 16, 0},
    {"cp.async.ca.shared.global [s], [o], 16;\ncp.async.wait_all;\nld.shared.u32 a, [s+12];", NULL, NOWHERE, 0, 0, 0, 0},
    {"cp.async.ca.shared.global [s], [i], 16, 0;\ncp.async.wait_all;\nld.shared.u32 a, [s+12];", NULL, NOWHERE, 0, 0, 0, 0}, /* zeros */
    {"setp.eq.u32 p, t, 0;\n@p cp.async.bulk.global.shared::cta.bulk_group [i], [s], 32;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n@p ld.global.u32 a, [i+28];",
     "@p cp.async.bulk.global.shared::cta.bulk_group [i], [s], 32;", SHARED, 17, 0, 32, 0},
    {"setp.eq.u32 p, t, 0;\n@p st.shared.v4.u32 [s], {b, b, b, b};\n@p st.shared.v4.u32 [s+16], {b, b, b, b};\nfence.proxy.async;\n@p cp.async.bulk.global.shared::cta.bulk_group [i], [s], 32;\n"
     "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n@p ld.global.u32 a, [i+28];", NULL, NOWHERE, 0, 0, 0, 0},
    /* matrices */
    {"mov.u32 c, s;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [c];", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [c];", SHARED, 17, 0, 16, 0},
    {"mov.u32 c, s;\nst.shared.v4.u32 [c], {b, b, b, b};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [c];", NULL, NOWHERE, 0, 0, 0, 0},
    {"mov.u32 c, s;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [c], {b};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [c];", NULL, NOWHERE, 0, 0, 0, 0},
};

static void expect(char *out, size_t n, size_t i, ws_cu_deviceptr in) {
  char where[200];
  *out = 0;
  if (!cases[i].where) return;
  if (cases[i].where == SHARED)
    snprintf(where, sizeof where, "of shared memory at 0x%x, which nothing has written since the CTA began", 1024 + cases[i].offset);
  else
    snprintf(where, sizeof where, "at 0x%llx, %u bytes into the allocation of %d bytes at 0x%llx, which nothing has written since cuMemAlloc",
             (unsigned long long)in + cases[i].offset, cases[i].offset, BYTES, (unsigned long long)in);
  snprintf(out, n, "kernel 'k', line %u: '%s': CTA (0,0,0) thread (%u,0,0) reads %u bytes %s", cases[i].line, cases[i].text, cases[i].thread, cases[i].bytes, where);
}

static struct CUfunc_st *load(struct CUmod_st **m, const char *body) {
  char text[4096];
  snprintf(text, sizeof text, HEAD "%s\nst.global.u32 [o], a;\nret;\n}\n", body);
  *m = emu_module(text);
  return emu_function(*m, "k");
}

static ws_cu_deviceptr filled(void) {
  uint8_t bytes[BYTES];
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(i * 37 + 11);
  return emu_buffer(bytes, BYTES);
}

/* The result of a launch; what was warned of in warnings, and the error in msg. */
static ws_cu_result try(size_t i, const char *how, char *warnings, size_t n, char *want, size_t nwant) {
  struct CUmod_st *m;
  assert_int_equal(wsemuSetOption("uninitialised", how), 0);
  ws_cu_deviceptr p[2] = {filled(), emu_buffer(NULL, BYTES)};
  struct CUfunc_st *f = load(&m, cases[i].body);
  ws_cu_result r = emu_run(f, 1, 32, 128, p, 2);
  assert_true(wsemuWarnings(f, warnings, n) < n);
  expect(want, nwant, i, p[1]);
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuMemFree_v2(p[1]));
  assert_int_equal(wsemuSetOption("uninitialised", "error"), 0);
  return r;
}

static void test_cases(void **state) {
  char warnings[4096], want[1024], line[1026];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(try(i, "error", warnings, sizeof warnings, want, sizeof want), WS_CUDA_SUCCESS);
    snprintf(line, sizeof line, "%s%s", want, *want ? "\n" : "");
    assert_string_equal(warnings, line);
    ws_cu_result r = try(i, "strict", warnings, sizeof warnings, want, sizeof want);
    assert_string_equal(warnings, "");
    assert_int_equal(r, cases[i].where ? WS_CUDA_ERROR_ILLEGAL_ADDRESS : WS_CUDA_SUCCESS);
    if (cases[i].where) assert_string_equal(emu_message(), want);
    assert_int_equal(try(i, "off", warnings, sizeof warnings, want, sizeof want), WS_CUDA_SUCCESS);
    assert_string_equal(warnings, "");
  }
}

/* What the host or an earlier launch wrote counts; memory that was freed and is allocated again does not. */
static void test_host(void **state) {
  struct CUmod_st *m, *writer;
  char warnings[2048];
  (void)state;
  struct CUfunc_st *f = load(&m, "ld.global.u32 a, [i+8];"), *w = load(&writer, "setp.eq.u32 p, t, 0;\n@p st.global.u32 [i+8], b;\nmov.u32 a, b;");
  ws_cu_deviceptr out = filled();
  for (int how = 0; how < 5; how++) {
    ws_cu_deviceptr in = emu_buffer(NULL, BYTES), p[2] = {out, in};
    if (how == 1) CHECK(cuMemsetD8_v2(in, 3, BYTES));
    if (how == 2) CHECK(cuMemcpyDtoD_v2(in, out, BYTES));
    if (how == 3) CHECK(emu_run(w, 1, 32, 0, p, 2));
    if (how == 4) CHECK(cuMemsetD32_v2(in + 12, 3, 1)); /* others than those that are read */
    CHECK(emu_run(f, 1, 32, 0, p, 2));
    size_t n = wsemuWarnings(f, warnings, sizeof warnings);
    assert_int_equal(n != 0, how == 0 || how == 4);
    assert_int_equal(wsemuWarnings(NULL, NULL, 0), n); /* that of all kernels: the other has nothing to say */
    CHECK(cuMemFree_v2(in));
  }
  CHECK(cuMemFree_v2(out));
  CHECK(cuModuleUnload(m));
  CHECK(cuModuleUnload(writer));
}

/* One line for each instruction, in their order, of the first CTA that reads; the source's line with .loc. */
static void test_lines(void **state) {
  static const char text[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 s[8];\n.reg .b32 a, b, c;\n.reg .pred p;\n"
      "mov.u32 c, %ctaid.x;\nsetp.lt.u32 p, c, 3;\n@p st.shared.u32 [s+4], c;\n@p bra L;\nM:\n.loc 1 17 3\nld.shared.u32 a, [s];\nL: ld.shared.u32 b, [s+4];\nadd.u32 c, c, 64;\n"
      "setp.lt.u32 p, c, 300;\n@p bra M;\nret;\n}\n.file 1 \"spec.yaml\"\n";
  char warnings[4096];
  (void)state;
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "k");
  ws_cu_deviceptr out = filled();
  for (int i = 0; i < 20; i++) {
    CHECK(emu_run(f, 40, 32, 0, &out, 1));
    wsemuWarnings(f, warnings, sizeof warnings);
    assert_string_equal(warnings, "kernel 'k', line 15: 'ld.shared.u32 a, [s];' (from spec.yaml:17): CTA (0,0,0) thread (0,0,0) reads 4 bytes of shared memory at 0x0, "
                                  "which nothing has written since the CTA began\n"
                                  "kernel 'k', line 16: 'ld.shared.u32 b, [s+4];' (from spec.yaml:17): CTA (3,0,0) thread (0,0,0) reads 4 bytes of shared memory at 0x4, "
                                  "which nothing has written since the CTA began\n");
  }
  size_t n = strlen(warnings);
  memset(warnings, 'x', sizeof warnings);
  assert_int_equal(wsemuWarnings(f, warnings, 12), n); /* cut, with its end */
  assert_string_equal(warnings, "kernel 'k',");
  CHECK(cuMemFree_v2(out));
  CHECK(cuModuleUnload(m));
}

/* A matrix of wgmma: 64 rows of A, 8 of B, 16 bf16 each; the first `filled` of B's 16 units of 16 bytes are written. */
static void test_wgmma(void **state) {
  static const char text[] =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 dyn[];\n.visible .entry k(.param .u64 filled)\n{\n"
      ".reg .b32 t, c, n, v;\n.reg .b64 a, b;\n.reg .f32 f<4>;\n.reg .pred p;\n"
      "ld.param.u32 n, [filled];\nmov.u32 t, %tid.x;\nmov.u32 v, 0x3f803f80;\nmov.u32 c, dyn;\nmad.lo.u32 c, t, 16, c;\nst.shared.v4.u32 [c], {v, v, v, v};\n"
      "setp.lt.u32 p, t, n;\n@p st.shared.v4.u32 [c+2048], {v, v, v, v};\nfence.proxy.async;\nbar.sync 0;\n"
      "mov.u32 c, dyn;\nshr.u32 c, c, 4;\ncvt.u64.u32 a, c;\nor.b64 a, a, 0x1000080000;\nadd.u64 b, a, 128;\nsetp.ne.u32 p, n, n;\n"
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, a, b, p, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}\n";
  char warnings[4096];
  (void)state;
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "k");
  for (ws_cu_deviceptr filled = 12; filled <= 16; filled += 4) {
    CHECK(emu_run(f, 1, 128, 2048 + 256, &filled, 1));
    wsemuWarnings(f, warnings, sizeof warnings);
    assert_string_equal(warnings, filled == 16 ? "" : "kernel 'k', line 28: 'wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, a, b, p, 1, 1, 0, 0;': "
                                                      "CTA (0,0,0) thread (0,0,0) reads 16 bytes of shared memory at 0xcc0, which nothing has written since the CTA began\n");
  }
  CHECK(cuModuleUnload(m));
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_host), cmocka_unit_test(test_lines), cmocka_unit_test(test_wgmma)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
