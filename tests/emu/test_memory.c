/* Loads, stores and atomics of every width and space, and what a bad address is told: PTX ISA "ld", "st", "atom", "red",
 * "cvta", "isspacep". Messages are compared word for word, addresses replaced by their distance. */
#include "harness.h"

static void run(const char *decls, const char *body, unsigned threads, const void *in, void *out, size_t cell) {
  char text[8192];
  snprintf(text, sizeof text,
           ".version 8.3\n.target sm_90\n.address_size 64\n%s\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred p, q;\n.reg .b8 c0;\n.reg .b16 h<4>;\n.reg .b32 t, u, v, r<8>;\n.reg .b64 i, o, x, y, z<4>;\n.reg .f32 f<4>;\n.reg .b128 w;\n"
           "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, %zu;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\n%s\nret;\n}\n", decls, cell, body);
  struct CUmod_st *m = NULL;
  if (cuModuleLoadData(&m, text)) {
    print_message("%s\n", emu_message());
    fail();
  }
  ws_cu_deviceptr p[2] = {emu_buffer(in, threads * cell), emu_buffer(NULL, threads * cell)};
  CHECK(emu_run(emu_function(m, "k"), 1, threads, 0, p, 2));
  emu_fetch(out, p[1], threads * cell);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuModuleUnload(m));
}

static void test_widths_and_vectors(void **state) {
  static const char *const copies[] = {
      "ld.global.v4.u32 {r0, r1, r2, r3}, [i]; st.global.v4.u32 [o], {r0, r1, r2, r3};", "ld.global.nc.v2.u64 {z0, z1}, [i]; st.global.v2.b64 [o], {z0, z1};",
      "ld.v2.b64 {z0, z1}, [i]; ld.v4.b16 {h0, h1, h2, h3}, [i+8]; st.v4.b16 [o], {h0, h1, h2, h3}; st.v2.b64 [o], {z0, z1};", "ld.global.L1::no_allocate.L2::128B.v4.f32 {f0, f1, f2, f3}, [i]; st.global.cs.v4.f32 [o], {f0, f1, f2, f3};",
      "ld.global.v4.u16 {h0, h1, h2, h3}, [i]; st.global.v4.u16 [o], {h0, h1, h2, h3}; ld.global.u8 h0, [i+8]; st.global.u8 [o+8], h0; ld.global.u8 r0, [i+9]; st.global.u8 [o+9], r0; ld.global.b8 c0, [i+10]; st.global.b8 [o+10], c0; ld.global.s8 z0, [i+11]; st.global.u8 [o+11], z0; ld.volatile.global.b32 r0, [i+12]; st.volatile.global.b32 [o+12], r0;",
      "ld.global.v4.u8 {r0, _, r1, r2}, [i]; ld.global.v2.u8 {_, r3}, [i]; st.global.v4.u8 [o], {r0, r3, r1, r2}; ld.global.v2.b64 {z0, _}, [i]; ld.global.v4.b32 {_, r1, r2, r3}, [i]; st.global.b32 [o+4], r1; st.global.v2.b32 [o+8], {r2, r3};",
      "ld.acquire.gpu.global.b64 z0, [i]; st.release.gpu.global.b64 [o], z0; ld.relaxed.sys.global.b64 z0, [i+8]; st.relaxed.cta.global.b64 [o+8], z0;",
      "ld.global.b128 w, [i]; st.global.b128 [o], w;", "ld.global.b128 w, [i]; mov.b128 {z0, z1}, w; mov.b128 w, {z0, z1}; st.global.b128 [o], w;"};
  struct rng r = {43};
  uint64_t in[64], out[64];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = rng_next(&r);
  for (size_t k = 0; k < sizeof copies / sizeof *copies; k++) {
    run("", copies[k], 32, in, out, 16);
    assert_memory_equal(in, out, sizeof in);
  }
}

static void test_extension(void **state) {
  struct rng r = {47};
  uint64_t in[32], out[32];
  (void)state;
  for (int i = 0; i < 32; i++) in[i] = rng_next(&r);
  run("", "ld.global.s8 r0, [i]; ld.global.u16 r1, [i+2]; ld.global.s16 z0, [i+4]; cvt.u32.u64 r2, z0; xor.b32 r0, r0, r2; mov.b64 z0, {r0, r1}; st.global.b64 [o], z0;", 32, in, out, 8);
  for (int i = 0; i < 32; i++) {
    uint32_t lo = (uint32_t)(int8_t)in[i] ^ (uint32_t)(int16_t)(in[i] >> 32), hi = in[i] >> 16 & 0xffff;
    assert_int_equal(out[i], lo | (uint64_t)hi << 32);
  }
}

static void test_spaces_and_cvta(void **state) {
  struct rng r = {53};
  uint64_t in[64], out[64];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = rng_next(&r);
  /* shared by offset and generically, local with a private address, constants and initialised globals */
  run(".global .align 8 .b64 g[64];\n.const .align 4 .u32 tab[4] = {10, 0x20, 030, 0b101};\n.global .align 8 .u64 pt = generic(g)+8;\n.global .f32 fv[3] = {1.5, 0f40000000, -2.0};\n",
      "{ .shared .align 8 .b64 s[64]; .local .align 8 .b64 l[4]; ld.global.u64 z0, [i]; mov.u32 u, s; mad.lo.u32 u, t, 8, u; st.shared.u64 [u], z0;"
      "mov.u64 x, s; cvta.shared.u64 x, x; mul.wide.u32 y, t, 8; add.u64 x, x, y; ld.u64 z1, [x]; isspacep.shared p, x; isspacep.global q, i;"
      "mov.u64 y, l; cvta.local.u64 y, y; st.u64 [y+8], z1; ld.local.u64 z2, [l+8]; mov.u64 x, g; mul.wide.u32 y, t, 8; add.u64 x, x, y; st.global.u64 [x], z2; cvta.global.u64 x, x; ld.u64 z3, [x];"
      "and.b32 u, t, 3; mul.wide.u32 y, u, 4; mov.u64 x, tab; add.u64 x, x, y; ld.const.u32 v, [x]; cvt.u64.u32 y, v; add.u64 z3, z3, y; selp.u64 y, 1000, 0, p; add.u64 z3, z3, y; selp.u64 y, 4000, 0, q; add.u64 z3, z3, y;"
      "ld.global.f32 f0, [fv+4]; cvt.rzi.u64.f32 y, f0; add.u64 z3, z3, y; ld.global.u64 x, [pt]; mov.u64 y, g; sub.u64 x, x, y; add.u64 z3, z3, x; st.global.u64 [o], z3; }", 64, in, out, 8);
  static const uint32_t tab[] = {10, 32, 24, 5};
  for (int i = 0; i < 64; i++) assert_int_equal(out[i], in[i] + tab[i & 3] + 5000 + 2 + 8);
}

/* "Addresses are .. truncated if the register width exceeds the state space address width" (Addresses as Operands). */
static void test_truncated_addresses(void **state) {
  struct rng r = {59};
  uint64_t in[64], out[64];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = rng_next(&r);
  run("", "{ .shared .align 8 .b64 s[64]; ld.global.u64 z0, [i]; mov.u64 x, s; cvta.shared.u64 x, x; mul.wide.u32 y, t, 8; add.u64 x, x, y; st.shared.u64 [x], z0;"
      "atom.shared.add.u64 z1, [x], 1; ld.shared::cluster.u64 z2, [x]; add.u64 z1, z1, z2; st.global.u64 [o], z1; }", 64, in, out, 8);
  for (int i = 0; i < 64; i++) assert_int_equal(out[i], 2 * in[i] + 1);
}

static void test_atomics(void **state) {
  static const char text[] =
      ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 mem)\n{\n.reg .b64 p, x;\n.reg .b32 t, c, r<4>;\n.reg .f32 f;\n.reg .pred q;\n.shared .b32 s[4];\nld.param.u64 p, [mem];\n"
      "mov.u32 t, %tid.x; mov.u32 c, %ctaid.x; mad.lo.u32 t, c, 64, t;\natom.global.add.u32 r0, [p], 1;\nred.global.max.u32 [p+4], t;\nred.global.min.s32 [p+8], t;\nred.global.or.b32 [p+12], 4;\n"
      "red.global.add.u64 [p+16], 3;\ncvt.rn.f32.u32 f, t;\nred.global.add.f32 [p+24], f;\natom.global.inc.u32 r1, [p+28], 9;\nmov.b32 r3, 0x3c003c00;\nred.global.add.noftz.f16x2 [p+32], r3;\nmov.u64 x, 256; \nred.global.add.v2.f32 [p+40], {f, f};\n"
      "{ .reg .b64 a; mul.wide.u32 a, t, 4; add.u64 a, a, p; st.global.u32 [a+64], r0; }\nL: atom.global.cas.b32 r2, [p+36], 0, 1; setp.ne.u32 q, r2, 0; @q bra L; ld.volatile.global.u32 r3, [p+48]; add.u32 r3, r3, 1; st.volatile.global.u32 [p+48], r3; atom.global.exch.b32 r2, [p+36], 0;\nret;\n}\n";
  (void)state;
  enum { N = 256 };
  static uint32_t mem[16 + N];
  for (int threads = 1; threads <= 3; threads++) {
    char n[2] = {(char)('0' + threads), 0};
    assert_int_equal(wsemuSetOption("threads", n), 0);
    memset(mem, 0, sizeof mem);
    mem[2] = 5;
    ws_cu_deviceptr p = emu_buffer(mem, sizeof mem);
    struct CUmod_st *m = emu_module(text);
    CHECK(emu_run(emu_function(m, "k"), N / 64, 64, 0, &p, 1));
    CHECK(cuModuleUnload(m));
    emu_fetch(mem, p, sizeof mem);
    float f, v[2];
    memcpy(&f, &mem[6], 4);
    memcpy(v, &mem[10], 8);
    assert_int_equal(mem[0], N);
    assert_int_equal(mem[1], N - 1);
    assert_int_equal(mem[2], 0);
    assert_int_equal(mem[3], 4);
    assert_int_equal(mem[4], 3 * N);
    assert_true(f == N * (N - 1) / 2 && v[0] == f && v[1] == f);
    assert_int_equal(mem[7], N % 10);
    assert_int_equal(mem[8], 0x5c005c00); /* 256 ones in f16 */
    assert_int_equal(mem[12], N);         /* a lock between lanes, warps and CTAs */
    bool seen[N] = {false};
    for (int i = 0; i < N; i++) {
      assert_true(mem[16 + i] < N && !seen[mem[16 + i]]);
      seen[mem[16 + i]] = true;
    }
  }
  wsemuSetOption("threads", "0");
}

/* ---- faults ---- */
static void expect_fault(const char *body, ws_cu_result code, const char *want) {
  char text[4096], got[2048];
  snprintf(text, sizeof text, ".version 8.3\n.target sm_80\n.address_size 64\n.extern .shared .b8 dyn[];\n.visible .entry k(.param .u64 in)\n{\n.reg .b64 i, x;\n.reg .b32 t, u, v<4>;\n.reg .pred p;\n.local .align 8 .b8 l[16];\n"
           "ld.param.u64 i, [in]; mov.b64 x, i;\nmov.u32 t, %%tid.x; mov.b32 u, t; mov.b32 v0, t; mov.b32 v1, t; mov.b32 v2, t; mov.b32 v3, t;\n%s\nret;\n}\n", body);
  ws_cu_deviceptr p = emu_buffer(NULL, 1000);
  struct CUmod_st *m = emu_module(text);
  ws_cu_result r = emu_run(emu_function(m, "k"), 1, 64, 128, &p, 1);
  assert_int_equal(r, code);
  assert_int_equal(cuCtxSynchronize(), code); /* the context is broken .. */
  CHECK(cuModuleUnload(m));
  CHECK(cuCtxSynchronize());                  /* .. until the module is gone */
  CHECK(cuMemFree_v2(p));
  char *out = got; /* device addresses become @ */
  for (const char *c = emu_message(); *c;) {
    unsigned long long a;
    int n;
    if (sscanf(c, "0x%llx%n", &a, &n) == 1 && a > 0xffffffff) {
      out += sprintf(out, a >= p && a < p + 100000 ? "@+%llu" : "@", a - p);
      c += n;
    } else {
      *out++ = *c++;
    }
  }
  *out = 0;
  assert_string_equal(got, want);
}

static void test_faults(void **state) {
  (void)state;
  expect_fault("mul.wide.u32 x, t, 16; add.u64 x, x, i;\nld.global.v4.u32 {v0, v1, v2, v3}, [x+4];", WS_CUDA_ERROR_MISALIGNED_ADDRESS,
               "kernel 'k', line 14: 'ld.global.v4.u32 {v0, v1, v2, v3}, [x+4];': CTA (0,0,0) thread (0,0,0) reads 16 bytes at global address @+4, which is not a multiple of 16");
  expect_fault("mul.wide.u32 x, t, 16; add.u64 x, x, i;\nst.global.u32 [x], t;", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: 'st.global.u32 [x], t;': CTA (0,0,0) thread (63,0,0) writes 4 bytes at global address @+1008, 8 bytes past the end of the 1000 bytes at @+0");
  expect_fault("add.u64 x, i, 996;\nld.global.u64 x, [x+4]; ", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: 'ld.global.u64 x, [x+4];': CTA (0,0,0) thread (0,0,0) reads 8 bytes at global address @+1000, 0 bytes past the end of the 1000 bytes at @+0");
  expect_fault("setp.ne.u32 p, t, 37; @p bra E;\n@!p st.global.u8 [i+-1], t;\nE:", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: '@!p st.global.u8 [i+-1], t;': CTA (0,0,0) thread (37,0,0) writes 1 bytes at global address @, 1 bytes before the 1000 bytes at @+0");
  expect_fault("mov.u32 u, dyn; mad.lo.u32 u, t, 4, u;\nst.shared.u32 [u], t;", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: 'st.shared.u32 [u], t;': CTA (0,0,0) thread (32,0,0) writes 4 bytes at shared address 0x80, outside of the CTA's 128 bytes [0x0, 0x80)");
  expect_fault("mov.u64 x, dyn; cvta.shared.u64 x, x;\nld.u16 u, [x+1];", WS_CUDA_ERROR_MISALIGNED_ADDRESS,
               "kernel 'k', line 14: 'ld.u16 u, [x+1];': CTA (0,0,0) thread (0,0,0) reads 2 bytes at shared address 0x1, which is not a multiple of 2");
  expect_fault("st.local.u64 [l+16], x;", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 13: 'st.local.u64 [l+16], x;': CTA (0,0,0) thread (0,0,0) writes 8 bytes at local address 0x110, outside of the thread's 16 bytes [0x100, 0x110)");
  expect_fault("mov.u64 x, 0;\nld.global.u32 u, [x];", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: 'ld.global.u32 u, [x];': CTA (0,0,0) thread (0,0,0) reads 4 bytes at global address 0x0, far from any allocation");
  expect_fault("ld.param.u32 u, [in+6];", WS_CUDA_ERROR_MISALIGNED_ADDRESS,
               "kernel 'k', line 13: 'ld.param.u32 u, [in+6];': CTA (0,0,0) thread (0,0,0) reads 4 bytes at parameter address 0x6, which is not a multiple of 4");
  expect_fault("setp.eq.u32 p, t, 33;\n@p trap;", WS_CUDA_ERROR_LAUNCH_FAILED, "kernel 'k', line 14: '@p trap;': CTA (0,0,0) thread (33,0,0) met a trap");
  expect_fault("setp.lt.u32 p, t, 16;\n@p bar.sync 0;", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
               "kernel 'k', line 14: '@p bar.sync 0;': CTA (0,0,0) thread (0,0,0) executes this .aligned instruction with lanes 0x0000ffff of the warp's 0xffffffff");
  expect_fault(".loc 1 1 0\nmov.b32 u, 16; bar.sync u;", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "kernel 'k', line 14: 'bar.sync u;': CTA (0,0,0) thread (0,0,0) names barrier 16: there are 0..15");
  expect_fault("mov.u64 x, dyn; or.b64 x, x, 0x100000000;\nld.shared.u32 u, [x];", WS_CUDA_ERROR_ILLEGAL_ADDRESS,
               "kernel 'k', line 14: 'ld.shared.u32 u, [x];': CTA (0,0,0) thread (0,0,0) reads 4 bytes at shared address @, outside of the CTA's 128 bytes [0x0, 0x80)");
}

/* 32 bytes at once are for global memory, also where the address is generic. */
static void test_wide_outside(void **state) {
  static const char *const space[] = {"shared", "local"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    char text[700];
    snprintf(text, sizeof text, ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n.%s .align 32 .b8 m[64];\n.reg .b64 a, z<4>;\n"
             "mov.u64 a, m;\ncvta.%s.u64 a, a;\nst.v4.b64 [a], {0, 0, 0, 0};\nret;\n}\n", space[k], space[k]);
    ws_cu_deviceptr p = emu_buffer(NULL, 64);
    assert_int_equal(emu_run_text(text, 1, 0, &p, 1), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION);
    assert_non_null(strstr(emu_message(), "line 10: 'st.v4.b64 [a], {0, 0, 0, 0};': CTA (0,0,0) thread (0,0,0) accesses 32 bytes at once outside of global memory"));
  }
}

static void test_deadlock_report(void **state) {
  (void)state;
  expect_fault("setp.lt.u32 p, t, 32; @p bra A;\nbar.sync 3, 64;\nA: setp.ge.u32 p, t, 32; @p bra B;\nbar.sync 2, 64;\nB:", WS_CUDA_ERROR_LAUNCH_TIMEOUT,
               "kernel 'k': deadlock: no warp can run in CTA (0,0,0)\n  warp 0 waits at barrier 2 (32 of 64 threads arrived), line 16: 'bar.sync 2, 64;'\n"
               "  warp 1 waits at barrier 3 (32 of 64 threads arrived), line 14: 'bar.sync 3, 64;'");
  expect_fault("setp.lt.u32 p, t, 3; @p bra A;\nbar.sync 0;\nA: setp.ge.u32 p, t, 3; @p bra B;\nbar.sync 0;\nB:", WS_CUDA_ERROR_LAUNCH_TIMEOUT,
               "kernel 'k': deadlock: no warp can run in CTA (0,0,0)\n  warp 0: lanes 0xfffffff8 wait for the others, line 14: 'bar.sync 0;'\n  warp 0: lanes 0x00000007 wait for the others, line 16: 'bar.sync 0;'\n"
               "  warp 1 waits at barrier 0 (32 of 64 threads arrived), line 14: 'bar.sync 0;'");
  expect_fault("setp.lt.u32 p, t, 32; @p bra A;\nbar.sync 1, 32;\nbra B; A:\nbar.sync 1, 64;\nB:", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
               "kernel 'k', line 14: 'bar.sync 1, 32;': CTA (0,0,0) thread (32,0,0) names 32 threads at barrier 1, but this phase was opened with 64 (0: all) by line 16: 'bar.sync 1, 64;'");
}

static void test_watchdog(void **state) {
  (void)state;
  assert_int_equal(wsemuSetOption("watchdog", "0.2"), 0);
  expect_fault("L: bra L;", WS_CUDA_ERROR_LAUNCH_TIMEOUT,
               "kernel 'k': the watchdog ended the launch in CTA (0,0,0)\n  warps 0-1 run, line 13: 'bra L;'");
  /* One CTA that would end by itself, before its turn is over. */
  assert_int_equal(wsemuSetOption("watchdog", "0.002"), 0);
  struct CUmod_st *m = emu_module(".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 n;\n.reg .pred p;\nmov.u32 n, 0;\n"
                                  "L: add.u32 n, n, 1;\nsetp.lt.u32 p, n, 1000000;\n@p bra L;\nret;\n}\n");
  assert_int_equal(emu_run(emu_function(m, "k"), 1, 32, 0, NULL, 0), WS_CUDA_ERROR_LAUNCH_TIMEOUT);
  assert_non_null(strstr(emu_message(), "kernel 'k': the watchdog ended the launch in CTA (0,0,0)\n  warp 0 runs, line "));
  CHECK(cuModuleUnload(m));
  /* Many short ones. */
  m = emu_module(".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry none()\n{\nret;\n}\n");
  assert_int_equal(emu_run(emu_function(m, "none"), 1 << 21, 32, 0, NULL, 0), WS_CUDA_ERROR_LAUNCH_TIMEOUT);
  assert_non_null(strstr(emu_message(), "kernel 'none': the watchdog ended the launch"));
  CHECK(cuModuleUnload(m));
  assert_int_equal(wsemuSetOption("watchdog", "0"), 0);
}

/* 32 bytes a thread, from sm_100 on. */
static void test_wide_accesses(void **state) {
  static const char *const bodies[] = {"ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [i];\nst.global.v8.f32 [o], {r0, r1, r2, r3, r4, r5, r6, r7};",
                                       "ld.global.nc.L1::no_allocate.L2::evict_last.v4.u64 {z0, z1, z2, z3}, [i];\nst.global.v4.b64 [o], {z0, z1, z2, z3};",
                                       "ld.acquire.gpu.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [i];\nst.relaxed.cta.global.L1::no_allocate.v8.b32 [o], {r0, r1, r2, r3, r4, r5, r6, r7};",
                                       "ld.relaxed.sys.v4.b64 {z0, z1, z2, z3}, [i];\nst.release.gpu.global.v4.u64 [o], {z0, z1, z2, z3};",
                                       "ld.volatile.global.v8.f32 {r0, r1, r2, r3, r4, r5, r6, r7}, [i];\nst.volatile.global.v8.u32 [o], {r0, r1, r2, r3, r4, r5, r6, r7};",
                                       "ld.volatile.v4.b64 {z0, z1, z2, z3}, [i];\nst.volatile.v4.s64 [o], {z0, z1, z2, z3};", "ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [i+16];"};
  enum { GOOD = sizeof bodies / sizeof *bodies - 1 };
  uint8_t in[2048], out[1024];
  struct rng r = {41};
  (void)state;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)rng_next(&r);
  for (int k = 0; k <= GOOD; k++) {
    char text[1024];
    snprintf(text, sizeof text, ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 i, o, x, z<4>;\n.reg .b32 t, r<8>;\n"
             "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, 32;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\n%s\nret;\n}\n", bodies[k]);
    ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
    ws_cu_result res = emu_run_text(text, 32, 0, p, 2);
    emu_fetch(out, p[1], sizeof out);
    CHECK(cuMemFree_v2(p[0]));
    if (k < GOOD) assert_memory_equal(out, in, sizeof out);
    assert_int_equal(res, k < GOOD ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_MISALIGNED_ADDRESS);
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_widths_and_vectors), cmocka_unit_test(test_wide_accesses), cmocka_unit_test(test_extension), cmocka_unit_test(test_spaces_and_cvta), cmocka_unit_test(test_truncated_addresses), cmocka_unit_test(test_atomics),
                                     cmocka_unit_test(test_faults), cmocka_unit_test(test_wide_outside), cmocka_unit_test(test_deadlock_report), cmocka_unit_test(test_watchdog)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
