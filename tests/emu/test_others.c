/* What PTX of other hands has and nvcc does not write: vector registers, aliases, opaque variables, conversions that pack, comparisons whose
 * result is of another type, 128-bit and vector atomics. Each under the name of its PTX ISA section. */
#include "isa_case.h"
#include <fenv.h>
#include <math.h>

static int64_t clamp(uint64_t v, int64_t least, int64_t most) { int64_t s = (int32_t)v; return s < least ? least : s > most ? most : s; }
static uint64_t packed(uint64_t a, uint64_t b, uint64_t c, int bits, bool is_signed) {
  int64_t least = is_signed ? -(1ll << (bits - 1)) : 0, most = (1ll << (bits - is_signed)) - 1;
  uint64_t mask = (1u << bits) - 1;
  return (((uint64_t)clamp(a, least, most) & mask) << bits | ((uint64_t)clamp(b, least, most) & mask) | (bits < 16 ? c << 2 * bits : 0)) & 0xffffffff;
}
WANT(pack_u16, packed(a, b, c, 16, 0)) WANT(pack_s16, packed(a, b, c, 16, 1)) WANT(pack_u8, packed(a, b, c, 8, 0)) WANT(pack_s8, packed(a, b, c, 8, 1))
WANT(pack_u4, packed(a, b, c, 4, 0)) WANT(pack_s2, packed(a, b, c, 2, 1))
static int64_t s24(uint64_t v) { return (int32_t)((uint32_t)v << 8) >> 8; }
WANT(mad24_sat, (uint32_t)((s24(a) * s24(b) >> 16) + (int32_t)c > INT32_MAX ? INT32_MAX : (s24(a) * s24(b) >> 16) + (int32_t)c < INT32_MIN ? INT32_MIN : (s24(a) * s24(b) >> 16) + (int32_t)c))
static float f_of_h(uint64_t h) {
  int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
  float v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
  return h >> 15 & 1 ? -v : v;
}
WANT(half_of_int, (int32_t)a < (int32_t)b ? 0x3c00 : 0) WANT(half_of_float, as_f32(a) > as_f32(b) || as_f32(a) != as_f32(a) || as_f32(b) != as_f32(b) ? 0x3c00 : 0)
WANT(bf16_of_double, as_f64(a) <= as_f64(b) ? 0x3f80 : 0) WANT(bf16_of_short, (uint16_t)a == (uint16_t)b ? 0x3f80 : 0)
WANT(int_of_halves, (f_of_h(a) < f_of_h(b) ? 0xffff : 0) | (f_of_h(a >> 16) < f_of_h(b >> 16) ? 0xffff0000 : 0))
WANT(int_of_bf16s, (bf16_to_float((uint16_t)a) >= bf16_to_float((uint16_t)b) ? 0xffff : 0) | (bf16_to_float((uint16_t)(a >> 16)) >= bf16_to_float((uint16_t)(b >> 16)) ? 0xffff0000 : 0))
#define ODD "and.b32 t, %c, 1; setp.eq.u32 r, t, 1; "
WANT(and_half_of_int, (int32_t)a < (int32_t)b && (c & 1) ? 0x3c00 : 0) WANT(or_half_of_double, as_f64(a) < as_f64(b) || (c & 1) ? 0x3c00 : 0)
WANT(xor_int_of_halves, (f_of_h(a) < f_of_h(b)) != (c & 1) ? (f_of_h(a >> 16) < f_of_h(b >> 16)) != (c & 1) ? 0xffffffff : 0xffff : (f_of_h(a >> 16) < f_of_h(b >> 16)) != (c & 1) ? 0xffff0000 : 0)
WANT(and_half, f_of_h(a) < f_of_h(b) && (c & 1) ? 0xffffffff : 0) WANT(and_bf16, bf16_to_float((uint16_t)a) < bf16_to_float((uint16_t)b) && (c & 1) ? 0xffffffff : 0)
WANT(and_bf16_of_float, as_f32(a) < as_f32(b) && (c & 1) ? 0x3f80 : 0) WANT(or_bf16_of_int, (uint32_t)a > (uint32_t)b || (c & 1) ? 0x3f80 : 0)
WANT(and_bf16s, (bf16_to_float((uint16_t)a) < bf16_to_float((uint16_t)b) && (c & 1) ? 0x3f80 : 0) | (bf16_to_float((uint16_t)(a >> 16)) < bf16_to_float((uint16_t)(b >> 16)) && (c & 1) ? 0x3f800000 : 0))

WANT(f64_b, of_f64((double)bf16_to_float((uint16_t)a)))
static float rounded(int mode, int op, float x, float y, float z) { /* op: 0 x + z, 1 x - z, 2 x * y + z */
  volatile float a = x, b = y, c = z, r;
  fesetround(mode);
  r = op == 2 ? fmaf(a, b, c) : op ? a - c : a + c;
  fesetround(FE_TONEAREST);
  return r;
}
static float to_unit(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
WANT(add_rz, of_f32(to_unit(rounded(FE_TOWARDZERO, 0, bf16_to_float((uint16_t)a), 0, as_f32(b))))) WANT(sub_rp, of_f32(rounded(FE_UPWARD, 1, f_of_h(a), 0, as_f32(b))))
WANT(fma_rm, of_f32(rounded(FE_DOWNWARD, 2, f_of_h(a), f_of_h(b), as_f32(c))))

#define PACK "Data Movement and Conversion Instructions: cvt.pack"
#define SET "Half Precision Comparison Instructions: set"
#define B3 "b32 b32 b32"
#define MIX "Mixed Precision Floating Point Instructions: "
#define SM100 ".version 8.8\n.target sm_100\n"
#define E(sec, text, types, fn) {sec, text, types, fn, EXACT, SM90}
static const struct isa_case cases[] = {
    E(PACK, "cvt.pack.sat.u16.s32 %d, %a, %b;", B3, pack_u16), E(PACK, "cvt.pack.sat.s16.s32 %d, %a, %b;", B3, pack_s16), E(PACK, "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", pack_u8),
    E(PACK, "cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", pack_s8), E(PACK, "cvt.pack.sat.u4.s32.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", pack_u4), E(PACK, "cvt.pack.sat.s2.s32.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", pack_s2),
    {"Data Movement and Conversion Instructions: cvt", "cvt.f64.bf16.rp %d, %a;", "f64 bf16", f64_b, ANY_NAN, SM90},
    {MIX "add", "add.rz.f32.bf16.sat %d, %a, %b;", "f32 bf16 f32", add_rz, EXACT, SM100}, {MIX "sub", "sub.rp.f32.f16 %d, %a, %b;", "f32 f16 f32", sub_rp, EXACT, SM100},
    {MIX "fma", "fma.rm.f32.f16 %d, %a, %b, %c;", "f32 f16 f16 f32", fma_rm, EXACT, SM100},
    E("Integer Arithmetic Instructions: mad24", "mad24.hi.sat.s32 %d, %a, %b, %c;", "b32 b32 b32 b32", mad24_sat),
    E(SET, "set.lt.f16.s32 %d, %a, %b;", "b16 b32 b32", half_of_int), E(SET, "set.gtu.f16.f32 %d, %a, %b;", "b16 f32 f32", half_of_float), E(SET, "set.le.bf16.f64 %d, %a, %b;", "b16 f64 f64", bf16_of_double),
    E(SET, "set.eq.bf16.b16 %d, %a, %b;", "b16 b16 b16", bf16_of_short), E(SET, "set.lt.u32.f16x2 %d, %a, %b;", "b32 f16x2 f16x2", int_of_halves), E(SET, "set.ge.s32.bf16x2 %d, %a, %b;", "b32 bf16x2 bf16x2", int_of_bf16s),
    E(SET, ODD "set.lt.and.f16.s32 %d, %a, %b, r;", "b16 b32 b32 b32", and_half_of_int), E(SET, ODD "set.lt.or.f16.f64 %d, %a, %b, r;", "b16 f64 f64 b32", or_half_of_double),
    E(SET, ODD "set.lt.xor.u32.f16x2 %d, %a, %b, r;", "b32 f16x2 f16x2 b32", xor_int_of_halves), E(SET, ODD "set.lt.and.s32.f16 %d, %a, %b, r;", "b32 f16 f16 b32", and_half),
    E(SET, ODD "set.lt.and.u32.bf16 %d, %a, %b, r;", "b32 bf16 bf16 b32", and_bf16), E(SET, ODD "set.lt.and.bf16.f32 %d, %a, %b, r;", "b16 f32 f32 b32", and_bf16_of_float),
    E(SET, ODD "set.hi.or.bf16.u32 %d, %a, %b, r;", "b16 b32 b32 b32", or_bf16_of_int), E(SET, ODD "set.lt.and.bf16x2.bf16x2 %d, %a, %b, r;", "b32 bf16x2 bf16x2 b32", and_bf16s)};

/* ---- small kernels: k(in, out), o: the thread's own word of the result, n: its number ---- */
#define KERNEL(version, target, before) ".version " version "\n.target " target "\n.address_size 64\n" before ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 i, o, x, y;\n.reg .b32 n, t, u, v;\n.reg .b16 h, g;\n.reg .pred p, q;\n" \
                                        "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 n, %tid.x;\nmul.wide.u32 x, n, 4;\nadd.u64 o, o, x;\n"
#define END "st.global.u32 [o], v;\nret;\n}\n"
static uint32_t given[64], result[64];
static ws_cu_result launch(const char *text) {
  for (uint32_t k = 0; k < 64; k++) given[k] = 1000 + k;
  ws_cu_deviceptr p[2] = {emu_buffer(given, sizeof given), emu_buffer(NULL, sizeof result)};
  ws_cu_result r = emu_run_text(text, 64, 0, p, 2);
  emu_fetch(result, p[1], sizeof result);
  emu_fetch(given, p[0], sizeof given);
  return r;
}
static void run(const char *text) { CHECK(launch(text)); }
static void expect_refusal(const char *text, const char *what) {
  struct CUmod_st *m = NULL;
  ws_cu_result loaded = cuModuleLoadData(&m, text);
  if (!loaded) CHECK(cuModuleUnload(m));
  assert_int_not_equal(loaded ? loaded : launch(text), 0);
  if (!strstr(emu_message(), what)) fail_msg("'%s' is not in: %s", what, emu_message());
}

static void test_vectors(void **state) { /* elements by both names, whole, through ld, mov and a call, a range of them */
  (void)state;
  run(KERNEL("7.8", "sm_80", ".func (.reg .v2 .u32 r) swap(.reg .v2 .u32 a, .reg .u32 by) { mov.v2.u32 r, {a.y, a.x}; add.u32 r.x, r.x, by; ret; }\n")
      ".reg .v4 .u32 a, b;\n.reg .v2 .u32 c, w<3>;\nld.global.v4.u32 a, [i];\nmov.v4.u32 {a.w, a.z, a.y, a.x}, a;\n" /* 1003, 1002, 1001, 1000 */
      "mov.v4.u32 b, {n, 1, 2, 3};\nmov.b64 y, {a.r, b.x};\nmov.b64 c, y;\ncall (w2), swap, (c, 7);\n" /* w2 = {n + 7, 1003} */
      "mad.lo.u32 v, w2.y, 1000, w2.x;\nadd.u32 v, v, a.a;\nadd.u32 v, v, b.b;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 1003u * 1000 + k + 7 + 1000 + 2);
  expect_refusal(KERNEL("7.8", "sm_80", "") ".reg .v2 .u32 a;\nmov.u32 v, a.z;\n" END, "'a' has 2 elements");
  expect_refusal(KERNEL("7.8", "sm_80", "") ".reg .v4 .u32 a;\nld.global.v2.u32 a, [i];\n" END, "a vector of 2 is needed");
  expect_refusal(KERNEL("7.8", "sm_80", "") ".reg .v4 .u32 a;\nadd.u32 v, a, 1;\n" END, "wrong form");
  expect_refusal(KERNEL("7.8", "sm_80", "") ".reg .v2 .pred a;\n" END, "no vectors of .pred");
}
static void test_alias(void **state) {
  (void)state;
  run(KERNEL("7.8", "sm_80", ".visible .func (.reg .u32 r) other(.reg .u32 a);\n.visible .func (.reg .u32 r) one(.reg .u32 a) { add.u32 r, a, 1; ret; }\n.alias other, one;\n") "call (v), other, (n);\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], k + 1);
  expect_refusal(KERNEL("7.8", "sm_80", ".visible .func other();\n.visible .func one();\n.alias other, one;\n") "mov.u32 v, 0;\n" END, "'one' is no function with a body");
}
/* Registers and constants for variables of the callee, a result that nobody wants; labels that begin with %. */
static void test_calls(void **state) {
  (void)state;
  run(KERNEL("7.8", "sm_80", ".func (.param .b32 r, .param .b16 s) f(.param .b32 a, .param .b64 b, .reg .b32 c) { .reg .b32 x, y; ld.param.b32 x, [a]; ld.param.b32 y, [b]; mad.lo.u32 x, x, y, c; st.param.b32 [r], x; cvt.u16.u32 y, 5; st.param.u16 [s], y; ret; }\n")
      "bra %FIRST;\n%BACK: call (v, _), f, (v, 10, 3);\nbra %LAST;\n%FIRST: call (v, h), f, (n, 100, 7);\ncvt.u32.u16 t, h;\nadd.u32 v, v, t;\nbra %BACK;\n%LAST:\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], (100 * k + 7 + 5) * 10 + 3);
}
/* A module may declare what no kernel here can use; one without a size it may not. */
static void test_opaque(void **state) {
  (void)state;
  run(KERNEL("7.8", "sm_80", ".global .texref tx;\n.global .samplerref sm = { addr_mode_0 = wrap, filter_mode = linear };\n.global .surfref sf;\n") "mov.u32 v, n;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], k);
  expect_refusal(KERNEL("7.8", "sm_80", ".global .b32 nothing[];\n") "mov.u32 v, n;\n" END, "the variable 'nothing' has no size");
}
static void test_registers(void **state) {
  (void)state;
  run(KERNEL("8.0", "sm_90", "") "mov.u32 v, %envreg31;\nmov.u32 t, %pm3;\nadd.u32 v, v, t;\nmov.u64 y, %pm7_64;\ncvt.u32.u64 t, y;\nadd.u32 v, v, t;\nmov.u64 y, %current_graph_exec;\ncvt.u32.u64 t, y;\nadd.u32 v, v, t;\n"
      "mov.u32 t, %reserved_smem_offset_begin;\nadd.u32 v, v, t;\nmov.u32 t, %reserved_smem_offset_0;\nadd.u32 v, v, t;\nmov.u32 t, %reserved_smem_offset_end;\nmov.u32 u, %reserved_smem_offset_cap;\nadd.u32 v, v, t;\nsub.u32 v, v, u;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 0);
  expect_refusal(KERNEL("8.0", "sm_90", "") "mov.u32 v, %envreg32;\n" END, "not declared");
}
static void test_mmio(void **state) {
  (void)state;
  run(KERNEL("8.2", "sm_80", "") "add.u64 i, i, x;\nld.mmio.relaxed.sys.global.u32 v, [i];\nst.mmio.relaxed.sys.u32 [i], n;\nmembar.proxy.alias;\n" END);
  for (uint32_t k = 0; k < 64; k++) {
    assert_int_equal(result[k], 1000 + k);
    assert_int_equal(given[k], k);
  }
}
/* 64 threads add 1 to a number of 128 bits just below 2^64, by compare-and-swap; then every thread puts its own and gets another's. */
static void test_atom_128(void **state) {
  bool seen[65] = {false};
  (void)state;
  run(KERNEL("8.3", "sm_90", "") ".reg .b128 a, b, old;\n.reg .b64 lo, hi, l, z;\nsetp.eq.u32 q, n, 0;\nmov.u64 y, -32;\nmov.u64 z, 0;\n@q st.global.v2.u64 [i], {y, z};\n@q st.global.v2.u64 [i+16], {z, z};\nbar.sync 0;\n"
      "RETRY: ld.relaxed.gpu.global.b128 a, [i];\nmov.b128 {lo, hi}, a;\nadd.cc.u64 l, lo, 1;\naddc.u64 y, hi, 0;\nmov.b128 b, {l, y};\natom.relaxed.gpu.global.cas.b128 old, [i], a, b;\nmov.b128 {l, y}, old;\n"
      "setp.ne.u64 p, l, lo;\nsetp.ne.or.u64 p, y, hi, p;\n@p bra RETRY;\n"
      "cvt.u64.u32 y, n;\nadd.u64 y, y, 1;\nmov.b128 b, {y, y};\natom.global.exch.b128 old, [i+16], b;\nmov.b128 {l, y}, old;\nsub.u64 y, y, l;\nadd.u64 l, l, y;\ncvt.u32.u64 v, l;\n" END);
  static const uint32_t sum[4] = {32, 0, 1, 0};
  assert_memory_equal(given, sum, sizeof sum);
  seen[given[4]] = true; /* the last one put; everyone else's was taken by one thread */
  for (int k = 0; k < 64; k++) {
    assert_true(result[k] <= 64 && !seen[result[k]]);
    seen[result[k]] = true;
  }
}
static void test_atom_vectors(void **state) { /* the least and the most of 64 numbers, of which one is NaN; and an addition */
  (void)state;
  run(KERNEL("8.1", "sm_90", "") ".reg .b16 a<8>;\n.reg .b32 w, z;\n.reg .f32 f;\nmov.b32 z, 0;\nsetp.eq.u32 q, n, 0;\n@q st.global.v4.u32 [i], {z, z, z, z};\n@q st.global.v4.u32 [i+16], {z, z, z, z};\n@q st.global.v4.u32 [i+32], {z, z, z, z};\nbar.sync 0;\n"
      "cvt.rn.f32.u32 f, n;\nsub.f32 f, f, 0f41F00000;\ncvt.rn.f16.f32 h, f;\ncvt.rn.bf16.f32 g, f;\nsetp.eq.u32 p, n, 5;\n@p mov.b16 h, 0x7fff;\n@p mov.b16 g, 0x7fff;\n" /* n - 30 */
      "add.u64 o, i, 64;\nsetp.gt.u32 p, n, 0;\n@p atom.global.min.u32 t, [o], n;\n@p atom.relaxed.gpu.global.max.u32 t, [o+4], n;\nadd.u64 o, i, 128;\n"
      "atom.global.min.noftz.v4.f16 {a0, a1, a2, a3}, [i], {h, h, h, h};\nred.global.max.noftz.v4.bf16 [i+8], {g, g, g, g};\nmov.b32 w, {h, h};\nred.global.max.noftz.v2.f16x2 [i+16], {w, w};\n"
      "mov.b32 w, 0x3f803f80;\natom.global.v2.bf16x2.add.noftz {t, u}, [i+24], {w, w};\nmov.b16 h, 0x3c00;\natom.global.add.noftz.v8.f16 {_, a1, a2, a3, a4, a5, a6, a7}, [i+32], {h, h, h, h, h, h, h, h};\nmov.u32 v, 0;\n" END);
  static const uint32_t want[12] = {0xcf80cf80, 0xcf80cf80, 0x42044204, 0x42044204, 0x50205020, 0x50205020, 0x42804280, 0x42804280, 0x54005400, 0x54005400, 0x54005400, 0x54005400}; /* -30, 33, 33, 64, 64 */
  for (int k = 0; k < 12; k++) assert_int_equal(given[k], want[k]);
  assert_int_equal(given[16], 1);
  assert_int_equal(given[17], 1017);
}

/* 32 bytes an access, in every way that may be asked for: copied through all of them by one thread, 256 bytes. */
static void test_wide(void **state) {
  (void)state;
  run(KERNEL("8.8", "sm_100", "") ".reg .b32 a<8>;\n.reg .b64 b<4>;\nmov.u32 v, 7;\nsetp.ne.u32 p, n, 0;\n@p bra DONE;\nld.global.v8.b32 {a0, a1, a2, a3, a4, a5, a6, a7}, [i];\nst.global.v8.b32 [i+128], {a7, a6, a5, a4, a3, a2, a1, a0};\n"
      "ld.volatile.global.v8.u32 {a0, a1, a2, a3, a4, a5, a6, a7}, [i+128];\nst.volatile.global.v8.u32 [i+128], {a7, a6, a5, a4, a3, a2, a1, a0};\n"
      "ld.acquire.gpu.global.v8.b32 {a0, a1, a2, a3, a4, a5, a6, a7}, [i+128];\nst.release.gpu.global.v8.b32 [i+128], {a7, a6, a5, a4, a3, a2, a1, a0};\n"
      "ld.volatile.global.v4.b64 {b0, b1, b2, b3}, [i+128];\nst.volatile.global.v4.b64 [i+160], {b3, b2, b1, b0};\nld.relaxed.sys.global.v4.u64 {b0, b1, b2, b3}, [i+160];\nst.relaxed.cta.global.v4.u64 [i+192], {b3, b2, b1, b0};\nDONE:\n" END);
  for (uint32_t k = 0; k < 8; k++) {
    assert_int_equal(given[32 + k], 1007 - k);
    assert_int_equal(given[40 + k], 1001 + (k & 6) - (k & 1));
    assert_int_equal(given[48 + k], 1007 - k);
  }
}

/* An address byte by byte, and a table of functions that nothing calls. */
static void test_initialisers(void **state) {
  (void)state;
  run(KERNEL("7.1", "sm_80", ".func f() { ret; }\n.global .u64 table[2] = {f, f};\n.global .align 4 .u32 words[3] = {7, 8, 9};\n.global .align 8 .u8 bytes[8] = {0xFF(words+4), 0xFF00(words+4), 0xFF0000(words+4), 0xFF000000(words+4), "
      "0xFF00000000(words+4), 0xFF0000000000(words+4), 0xFF000000000000(words+4), 0xFF00000000000000(generic(words)+4)};\n") "ld.global.u64 y, [bytes];\nld.u32 v, [y];\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 8);
  run(KERNEL("8.3", "sm_80", ".global .b128 wide[2] = {5, 6};\n") "ld.global.u32 v, [wide+16];\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 6);
  expect_refusal(KERNEL("7.1", "sm_80", ".global .u32 x;\n.global .u8 b = 0xFFFF(x);\n") "mov.u32 v, 0;\n" END, "a mask takes one byte");
  expect_refusal(KERNEL("7.1", "sm_80", ".global .u8 b = 0xFF(3);\n") "mov.u32 v, 0;\n" END, "a mask needs an address");
}

/* Groups of a warp with member masks of their own: in one instruction together, and one group after half of another has come. */
static void test_groups(void **state) {
  (void)state;
  run(KERNEL("7.0", "sm_80", "") ".reg .b32 m, w;\nand.b32 w, n, 16;\nmov.u32 m, 0xffff;\nshl.b32 m, m, w;\nredux.sync.add.u32 v, n, m;\nshfl.sync.bfly.b32 t|p, n, 15, 0x1f, m;\nbar.warp.sync m;\nmad.lo.u32 v, v, 64, t;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], (k / 16 * 256 + 120) * 64 + (k ^ 15));
  run(KERNEL("7.0", "sm_80", "") ".shared .align 4 .b8 s[256];\n.reg .b32 m, w, k, a, b;\nand.b32 w, n, 24;\nmov.u32 m, 0xff;\nshl.b32 m, m, w;\nshl.b32 a, n, 2;\nmov.u32 b, s;\nadd.u32 a, a, b;\nmul.lo.u32 k, n, 37;\nand.b32 k, k, 63;\n"
      "SPIN: sub.u32 k, k, 1;\nsetp.gt.s32 p, k, 0;\n@p bra SPIN;\nst.shared.u32 [a], n;\nand.b32 k, n, 1;\nsetp.eq.u32 q, k, 0;\n@q bra EVEN;\nbar.warp.sync m;\nbra READ;\nEVEN:\nbar.warp.sync m;\nREAD:\nxor.b32 a, a, 28;\nld.shared.u32 v, [a];\n"
      "match.any.sync.b32 t, k, m;\nshr.u32 t, t, w;\nmad.lo.u32 v, v, 256, t;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], (k ^ 7) * 256 + (k & 1 ? 0xaa : 0x55));
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  static const struct CMUnitTest kernels[] = {
      {"Vectors; Data Movement and Conversion Instructions: mov", test_vectors, NULL, NULL, NULL}, {"Other Directives: .alias", test_alias, NULL, NULL, NULL}, {"Control Flow Instructions: call", test_calls, NULL, NULL, NULL}, {"Texture, Sampler and Surface Types", test_opaque, NULL, NULL, NULL},
      {"Data Movement and Conversion Instructions: ld, st of 32 bytes", test_wide, NULL, NULL, NULL}, {"Parallel Synchronization and Communication Instructions: bar.warp.sync, redux.sync, match.sync; shfl.sync", test_groups, NULL, NULL, NULL}, {"Initializers", test_initialisers, NULL, NULL, NULL}, {"Special Registers", test_registers, NULL, NULL, NULL}, {"Data Movement and Conversion Instructions: ld, st", test_mmio, NULL, NULL, NULL},
      {"Parallel Synchronization and Communication Instructions: atom of 128 bits", test_atom_128, NULL, NULL, NULL}, {"Parallel Synchronization and Communication Instructions: atom, red of vectors", test_atom_vectors, NULL, NULL, NULL}};
  int failed = isa_run("emu.others", cases, COUNT(cases)); /* opens and closes the driver, which keeps what it has run */
  return failed + cmocka_run_group_tests(kernels, setup, teardown);
}
