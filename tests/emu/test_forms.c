/* Forms of the instruction table that the other files leave out, each under the name of its PTX ISA section: arithmetic and comparisons
 * against their definitions, the rest in small kernels. */
#include "isa_case.h"
#include <math.h>

#define FA as_f32(a)
#define FB as_f32(b)
#define DA as_f64(a)
#define DB as_f64(b)
#define LOW(v) ((v) & 0xffff)
#define HIGH(v) ((v) >> 16 & 0xffff)
static float f_of_h(uint64_t h) { return (float)f16_value((uint16_t)h); }
static float f_of_b(uint64_t h) { return bf16_to_float((uint16_t)h); }
static float ftz(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f; }
static uint64_t to_b(float f) { return f != f ? 0x7fff : float_to_bf16(f); }

/* ---- integers ---- */
static int32_t half_at(uint64_t v, int i) { return (int16_t)(v >> 16 * i); }
static uint64_t pairs(int32_t lo, int32_t hi) { return (uint64_t)(uint16_t)lo | (uint64_t)(uint16_t)hi << 16; }
static int32_t most(int32_t x, int32_t y) { return x > y ? x : y; }
static int32_t least(int32_t x, int32_t y) { return x < y ? x : y; }
WANT(add_s16x2, pairs(half_at(a, 0) + half_at(b, 0), half_at(a, 1) + half_at(b, 1)))
WANT(min_relu, (uint32_t)most(least((int32_t)a, (int32_t)b), 0)) WANT(max_relu, (uint32_t)most(most((int32_t)a, (int32_t)b), 0))
WANT(min_u16x2, pairs(least((int32_t)LOW(a), (int32_t)LOW(b)), least((int32_t)HIGH(a), (int32_t)HIGH(b)))) WANT(max_u16x2, pairs(most((int32_t)LOW(a), (int32_t)LOW(b)), most((int32_t)HIGH(a), (int32_t)HIGH(b))))
WANT(min_s16x2, pairs(most(least(half_at(a, 0), half_at(b, 0)), 0), most(least(half_at(a, 1), half_at(b, 1)), 0))) WANT(max_s16x2, pairs(most(half_at(a, 0), half_at(b, 0)), most(half_at(a, 1), half_at(b, 1))))
static int64_t s24(uint64_t v) { return (int32_t)((uint32_t)v << 8) >> 8; }
WANT(mad24_hi, (uint32_t)(s24(a) * s24(b) >> 16) + (uint32_t)c) WANT(mad24_lo, (uint32_t)((a & 0xffffff) * (b & 0xffffff) + c))
WANT(dp2a, (uint32_t)c + (uint32_t)(half_at(a, 0) * (int32_t)(b >> 16 & 0xff)) + (uint32_t)(half_at(a, 1) * (int32_t)(b >> 24 & 0xff)))
/* the (c % 5)-th set bit from bit b % 32 on, downwards for negative numbers; bit b itself for 0 */
static uint64_t fns(uint64_t a, uint64_t b, uint64_t c) {
  int base = (int)(b & 31), n = (int)(c % 7) - 3, step = n < 0 ? -1 : 1;
  if (!n) return a >> base & 1 ? (uint64_t)base : 0xffffffff;
  for (int i = base; i >= 0 && i < 32; i += step)
    if (a >> i & 1 && !(n -= step)) return (uint64_t)i;
  return 0xffffffff;
}
WANT(lop3_or, ((a & b) ^ c) & 0xffffffff) /* and the predicate below */
static uint64_t lop3_pred(uint64_t a, uint64_t b, uint64_t c) { return lop3_or(a, b, c) != 0 || (c & 1); }

/* ---- comparisons: bit 0 the first predicate, bit 1 the second; r: c is odd ---- */
#define R "and.b32 t, %c, 1; setp.eq.u32 r, t, 1; "
#define PQ " p|q, %a, %b, r; selp.b32 t, 1, 0, p; selp.b32 u, 2, 0, q; or.b32 %d, t, u;"
#define P2 " p|q, %a, %b; selp.b32 t, 1, 0, p; selp.b32 u, 2, 0, q; or.b32 %d, t, u;"
#define ODD (c & 1)
static uint64_t two(bool p, bool q) { return p | (uint64_t)q << 1; }
WANT(setp_lt_and_ftz, two(ftz(FA) < ftz(FB) && ODD, !(ftz(FA) < ftz(FB)) && ODD)) WANT(setp_geu_d, two(!(DA < DB), DA < DB)) WANT(setp_nan_xor_d, two((DA != DA || DB != DB) != ODD, (DA == DA && DB == DB) != ODD))
WANT(setp_gt_or_h, two(f_of_h(a) > f_of_h(b) || ODD, !(f_of_h(a) > f_of_h(b)) || ODD)) WANT(setp_ne_b, two(f_of_b(a) < f_of_b(b) || f_of_b(a) > f_of_b(b), !(f_of_b(a) < f_of_b(b) || f_of_b(a) > f_of_b(b))))
WANT(setp_le_and_b, two(f_of_b(a) <= f_of_b(b) && ODD, !(f_of_b(a) <= f_of_b(b)) && ODD))
WANT(set_lt_and, (int32_t)a < (int32_t)b && ODD ? 0xffffffff : 0) WANT(set_gt_f, ftz(FA) > ftz(FB) ? 0x3f800000 : 0) WANT(set_ltu_xor_d, (DA >= DB) == ODD ? 0xffffffff : 0)
WANT(set_ge_h, f_of_h(a) >= f_of_h(b) ? 0x3c00 : 0) WANT(set_eq_b, f_of_b(a) == f_of_b(b) ? 0xffff : 0)
WANT(set_lt_b2, (f_of_b(LOW(a)) < f_of_b(LOW(b)) ? 0x3f80 : 0) | (f_of_b(HIGH(a)) < f_of_b(HIGH(b)) ? 0x3f800000 : 0)) WANT(slct_f, as_f32(c) >= 0 ? a : b) WANT(slct_ftz, ftz(as_f32(c)) >= 0 ? a : b)

/* ---- floating point ---- */
WANT(sub_d, of_f64(DA - DB)) WANT(mad_d, of_f64(fma(DA, DB, as_f64(c)))) WANT(rcp_d, of_f64(1.0 / DA)) WANT(abs_d, a & INT64_MAX) WANT(neg_d, a ^ (1ull << 63))
static uint64_t top_word(double v) { uint64_t u = of_f64(v); return (u >> 52 & 0x7ff ? u : u & 1ull << 63) & ~0xffffffffull; }
WANT(rcp_approx_d, top_word(1.0 / as_f64(top_word(DA))))
static uint64_t least_d(double x, double y) { return of_f64(x != x ? y : y != y ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y); }
static uint64_t most_d(double x, double y) { return of_f64(x != x ? y : y != y ? x : x == y ? (signbit(x) ? y : x) : x > y ? x : y); }
WANT(min_d, least_d(DA, DB)) WANT(max_d, most_d(DA, DB))
WANT(sub_b2, to_b(f_of_b(LOW(a)) - f_of_b(LOW(b))) | to_b(f_of_b(HIGH(a)) - f_of_b(HIGH(b))) << 16) WANT(abs_h, f_of_h(a) != f_of_h(a) ? 0x7fff : a & 0x7fff) WANT(neg_b, f_of_b(a) != f_of_b(a) ? 0x7fff : a ^ 0x8000)
static uint64_t least_h(uint64_t a, uint64_t b) {
  float x = f_of_h(a), y = f_of_h(b);
  return x != x && y != y ? 0x7fff : x != x ? b : y != y ? a : x == y ? a | b : x < y ? a : b;
}
WANT(min_h, least_h(LOW(a), LOW(b))) WANT(max_nan_b, f_of_b(a) != f_of_b(a) || f_of_b(b) != f_of_b(b) ? 0x7fff : f_of_b(a) == f_of_b(b) ? a & b : f_of_b(a) > f_of_b(b) ? a : b)
WANT(ex2_b, to_b(ftz((float)exp2(ftz(f_of_b(a)))))) WANT(tanh_b, to_b((float)tanh(f_of_b(a))))
WANT(s32_b, f_of_b(a) != f_of_b(a) ? 0 : (uint32_t)(f_of_b(a) >= 0x1p31f ? INT32_MAX : f_of_b(a) < -0x1p31f ? INT32_MIN : (int32_t)f_of_b(a)))
static uint64_t b_s32(uint64_t a, uint64_t b, uint64_t c) { /* 24 bits first would round twice: an odd last bit keeps what is cut off */
  int64_t v = (int32_t)a, m = v < 0 ? -v : v;
  (void)b, (void)c;
  int drop = 0;
  while (m >> drop > 0xffff) drop++;
  int64_t kept = m >> drop << drop;
  return to_b((float)(v < 0 ? -1 : 1) * ((float)kept + (kept != m ? ldexpf(0.5f, drop) : 0)));
}
WANT(tf32_rz, FA != FA ? 0x7fffe000 : a & 0xffffe000)

#define IS "Integer Arithmetic Instructions: "
#define CS "Comparison and Selection Instructions: "
#define HC "Half Precision Comparison Instructions: "
#define FS "Floating-Point Instructions: "
#define HS "Half Precision Floating-Point Instructions: "
#define CV "Data Movement and Conversion Instructions: cvt"
#define E(sec, text, types, fn) {sec, text, types, fn, EXACT, SM90}
#define A(sec, text, types, fn) {sec, text, types, fn, ANY_NAN, SM90}
static const struct isa_case cases[] = {
    E(IS "add", "add.s16x2 %d, %a, %b;", "b32 b32 b32", add_s16x2), E(IS "min", "min.relu.s32 %d, %a, %b;", "b32 b32 b32", min_relu), E(IS "max", "max.relu.s32 %d, %a, %b;", "b32 b32 b32", max_relu),
    E(IS "min", "min.u16x2 %d, %a, %b;", "b32 b32 b32", min_u16x2), E(IS "max", "max.u16x2 %d, %a, %b;", "b32 b32 b32", max_u16x2), E(IS "min", "min.relu.s16x2 %d, %a, %b;", "b32 b32 b32", min_s16x2),
    E(IS "max", "max.s16x2 %d, %a, %b;", "b32 b32 b32", max_s16x2), E(IS "mad24", "mad24.hi.s32 %d, %a, %b, %c;", "b32 b32 b32 b32", mad24_hi), E(IS "mad24", "mad24.lo.u32 %d, %a, %b, %c;", "b32 b32 b32 b32", mad24_lo),
    E(IS "dp2a", "dp2a.hi.s32.u32 %d, %a, %b, %c;", "b32 b32 b32 b32", dp2a), E(IS "fns", "and.b32 t, %b, 31; rem.u32 u, %c, 7; sub.s32 u, u, 3; fns.b32 %d, %a, t, u;", "b32 b32 b32 b32", fns),
    E("Logic and Shift Instructions: lop3", R "lop3.or.b32 u|p, %a, %b, %c, 0x6a, r; selp.b32 %d, 1, 0, p;", "b32 b32 b32 b32", lop3_pred), E("Logic and Shift Instructions: lop3", R "lop3.and.b32 %d|p, %a, %b, %c, 0x6a, r;", "b32 b32 b32 b32", lop3_or),
    E(CS "setp", R "setp.lt.and.ftz.f32" PQ, "b32 f32 f32 b32", setp_lt_and_ftz), E(CS "setp", "setp.geu.f64" P2, "b32 f64 f64", setp_geu_d), E(CS "setp", R "setp.nan.xor.f64" PQ, "b32 f64 f64 b32", setp_nan_xor_d),
    E(HC "setp", R "setp.gt.or.f16" PQ, "b32 f16 f16 b32", setp_gt_or_h), E(HC "setp", "setp.ne.bf16" P2, "b32 bf16 bf16", setp_ne_b), E(HC "setp", R "setp.le.and.bf16" PQ, "b32 bf16 bf16 b32", setp_le_and_b),
    E(CS "set", R "set.lt.and.u32.s32 %d, %a, %b, r;", "b32 b32 b32 b32", set_lt_and), E(CS "set", "set.gt.ftz.f32.f32 %d, %a, %b;", "f32 f32 f32", set_gt_f), E(CS "set", R "set.ltu.xor.s32.f64 %d, %a, %b, r;", "b32 f64 f64 b32", set_ltu_xor_d),
    E(HC "set", "set.ge.f16.f16 %d, %a, %b;", "f16 f16 f16", set_ge_h), E(HC "set", "set.eq.u16.bf16 %d, %a, %b;", "b16 bf16 bf16", set_eq_b), E(HC "set", "set.lt.bf16x2.bf16x2 %d, %a, %b;", "b32 bf16x2 bf16x2", set_lt_b2),
    E(CS "slct", "slct.b32.f32 %d, %a, %b, %c;", "b32 b32 b32 f32", slct_f), E(CS "slct", "slct.ftz.u32.f32 %d, %a, %b, %c;", "b32 b32 b32 f32", slct_ftz),
    A(FS "sub", "sub.rn.f64 %d, %a, %b;", "f64 f64 f64", sub_d), A(FS "mad", "mad.rn.f64 %d, %a, %b, %c;", "f64 f64 f64 f64", mad_d), A(FS "rcp", "rcp.rn.f64 %d, %a;", "f64 f64", rcp_d), A(FS "rcp.approx.ftz.f64", "rcp.approx.ftz.f64 %d, %a;", "f64 f64", rcp_approx_d),
    A(FS "abs", "abs.f64 %d, %a;", "f64 f64", abs_d), A(FS "neg", "neg.f64 %d, %a;", "f64 f64", neg_d), A(FS "min", "min.f64 %d, %a, %b;", "f64 f64 f64", min_d), A(FS "max", "max.f64 %d, %a, %b;", "f64 f64 f64", max_d),
    E(HS "sub", "sub.rn.bf16x2 %d, %a, %b;", "b32 bf16x2 bf16x2", sub_b2), E(HS "abs", "abs.f16 %d, %a;", "f16 f16", abs_h), E(HS "neg", "neg.bf16 %d, %a;", "bf16 bf16", neg_b), E(HS "min", "min.f16 %d, %a, %b;", "f16 f16 f16", min_h),
    E(HS "max", "max.NaN.bf16 %d, %a, %b;", "bf16 bf16 bf16", max_nan_b), E(HS "ex2", "ex2.approx.ftz.bf16 %d, %a;", "bf16 bf16", ex2_b), E(HS "tanh", "tanh.approx.bf16 %d, %a;", "bf16 bf16", tanh_b),
    E(CV, "cvt.rzi.s32.bf16 %d, %a;", "b32 bf16", s32_b), E(CV, "cvt.rn.bf16.s32 %d, %a;", "bf16 b32", b_s32), A(CV, "cvt.rz.tf32.f32 %d, %a;", "b32 f32", tf32_rz)};

/* ---- small kernels: k(in, out), o: the thread's own word of the result, n: its number ---- */
#define KERNEL(version, target) ".version " version "\n.target " target "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 s[1024];\n.reg .b64 i, o, x, y;\n.reg .b32 n, t, u, v, r<8>;\n.reg .b16 h, g;\n.reg .pred p, q;\n" \
                                "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 n, %tid.x;\nmul.wide.u32 x, n, 4;\nadd.u64 o, o, x;\n"
#define END "st.global.u32 [o], v;\nret;\n}\n"
static uint32_t given[64], result[64];
static void run(const char *text) {
  for (uint32_t k = 0; k < 64; k++) given[k] = 1000 + k;
  ws_cu_deviceptr p[2] = {emu_buffer(given, sizeof given), emu_buffer(NULL, sizeof result)};
  CHECK(emu_run_text(text, 64, 0, p, 2));
  emu_fetch(result, p[1], sizeof result);
  emu_fetch(given, p[0], sizeof given);
}
static void test_hints(void **state) {
  (void)state;
  run(KERNEL("8.0", "sm_90") "prefetch.global.L2 [i];\nprefetchu.L1 [i];\napplypriority.global.L2::evict_normal [i], 128;\ndiscard.global.L2 [o], 128;\ncreatepolicy.range.global.L2::evict_last.L2::evict_first.b64 y, [i], 64, 128;\n"
      "createpolicy.cvt.L2.b64 y, y;\npmevent 3;\nadd.u64 i, i, x;\nldu.global.u32 v, [i];\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 1000 + k);
}
static void test_match(void **state) { /* all lanes of a warp have the number of the warp; then not */
  (void)state;
  run(KERNEL("7.0", "sm_80") "shr.u32 t, n, 5;\nmatch.all.sync.b32 u|p, t, -1;\nselp.b32 v, 1, 0, p;\nand.b32 u, u, 2;\nadd.u32 v, v, u;\nmatch.all.sync.b32 u|p, n, -1;\n@p add.u32 v, v, 64;\nshl.b32 u, u, 3;\nadd.u32 v, v, u;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 3);
}
static void test_barriers(void **state) { /* warp 1 writes for warp 0, which only it waits for; then all count the odd threads */
  (void)state;
  run(KERNEL("7.0", "sm_80") "mov.u32 t, s;\nshl.b32 u, n, 2;\nadd.u32 t, t, u;\nsetp.ge.u32 p, n, 32;\n@p bra SECOND;\nbarrier.cta.sync 1, 64;\nld.shared.u32 v, [t+128];\nbra BOTH;\nSECOND:\nst.shared.u32 [t], n;\nmov.u32 v, 5;\nbarrier.cta.arrive 1, 64;\n"
      "BOTH:\nand.b32 u, n, 1;\nsetp.ne.u32 q, u, 0;\nbarrier.cta.red.popc.u32 u, 2, 64, q;\nbarrier.sync 3;\nmad.lo.u32 v, u, 1000, v;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 32000 + (k < 32 ? k + 32 : 5));
}
static void test_stmatrix(void **state) { /* what is stored plain comes back plain, and from memory transposed */
  (void)state;
  run(KERNEL("8.0", "sm_90") "mov.u32 t, s;\nand.b32 u, n, 31;\nshl.b32 u, u, 4;\nshr.u32 r0, n, 5;\nshl.b32 r0, r0, 9;\nadd.u32 t, t, u;\nadd.u32 t, t, r0;\nmad.lo.u32 r1, n, 131072, n;\nadd.u32 r2, r1, 7;\n"
      "stmatrix.sync.aligned.m8n8.x2.shared.b16 [t], {r1, r2};\nldmatrix.sync.aligned.m8n8.x2.shared.b16 {r3, r4}, [t];\nstmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [t], {r3};\nldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {r5}, [t];\n"
      "xor.b32 v, r5, r1;\nxor.b32 u, r4, r2;\nor.b32 v, v, u;\n" END);
  for (uint32_t k = 0; k < 64; k++) assert_int_equal(result[k], 0);
}
/* 64 threads at once at the words of the input: 1000, 1001 .. before. */
static void test_atomics(void **state) {
  (void)state;
  run(KERNEL("8.1", "sm_90") "mov.u32 v, 0;\nsetp.ge.u32 p, n, 16;\nsetp.eq.u32 q, n, 0;\n@q st.global.v4.u32 [i+64], {0, 0, 0, 0};\n@q st.global.v4.u32 [i+80], {0, 0, 0, 0};\n@q st.global.v4.u32 [i+96], {0, 0, 0, 0};\n@q st.global.v4.u32 [i+112], {0, 0, 0, 0};\n@q st.global.v4.u32 [i+128], {0, 0, 0, 0};\n"
      "@q st.global.v4.u32 [i+144], {0, 0, 0, 0};\nbar.sync 0;\n"
      "atom.global.and.b32 t, [i], 0xffffff0f;\natom.global.or.b32 t, [i+4], 0x10000;\nred.global.inc.u32 [i+8], 2000;\natom.global.add.f32 t, [i+64], 0f3F000000;\n" /* 1/2 */
      "mov.b32 r0, 0x3c003c00;\natom.global.add.noftz.f16x2 t, [i+68], r0;\nmov.b32 r1, 0x3f803f80;\natom.global.add.noftz.bf16x2 t, [i+72], r1;\nred.global.add.noftz.bf16x2 [i+76], r1;\n"
      "mov.b32 r2, 0f3F800000;\natom.global.add.v2.f32 {t, u}, [i+80], {r2, r2};\natom.global.v2.f32.add {t, u}, [i+88], {r2, r2};\nred.global.v4.f32.add [i+96], {r2, r2, r2, r2};\n"
      "mov.b16 h, 0x3c00;\nred.global.add.noftz.v4.f16 [i+112], {h, h, h, h};\nmov.b16 g, 0x3f80;\nred.global.add.noftz.v4.bf16 [i+128], {g, g, g, g};\nred.global.add.noftz.v2.f16x2 [i+144], {r0, r0};\nred.global.add.noftz.v2.bf16x2 [i+152], {r1, r1};\n" END);
  static const uint32_t want[] = {1000 & 0xffffff0f, 1001 | 0x10000, 1002 + 64};
  for (int k = 0; k < 3; k++) assert_int_equal(given[k], want[k]);
  float sixty_four = 64, f;
  memcpy(&f, &given[16], 4);
  assert_true(f == 32);
  assert_int_equal(given[17], 0x54005400); /* 64 in f16 */
  assert_int_equal(given[18], 0x42804280);
  assert_int_equal(given[19], 0x42804280);
  for (int k = 20; k < 28; k++) assert_memory_equal(&given[k], &sixty_four, 4);
  for (int k = 28; k < 30; k++) assert_int_equal(given[k], 0x54005400);
  for (int k = 32; k < 34; k++) assert_int_equal(given[k], 0x42804280);
  for (int k = 36; k < 38; k++) assert_int_equal(given[k], 0x54005400);
  for (int k = 38; k < 40; k++) assert_int_equal(given[k], 0x42804280);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  static const struct CMUnitTest kernels[] = {
      {"Data Movement and Conversion Instructions: prefetch, prefetchu, applypriority, discard, createpolicy, ldu", test_hints, NULL, NULL, NULL},
      {"Parallel Synchronization and Communication Instructions: match.sync", test_match, NULL, NULL, NULL},
      {"Parallel Synchronization and Communication Instructions: bar, barrier", test_barriers, NULL, NULL, NULL},
      {"Warp-level Matrix Store Instruction: stmatrix", test_stmatrix, NULL, NULL, NULL},
      {"Parallel Synchronization and Communication Instructions: atom, red", test_atomics, NULL, NULL, NULL}};
  int failed = isa_run("emu.forms", cases, COUNT(cases)); /* opens and closes the driver, which keeps what it has run */
  return failed + cmocka_run_group_tests(kernels, setup, teardown);
}
