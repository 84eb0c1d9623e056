/* PTX ISA "Floating-Point Instructions", "Half Precision Floating-Point Instructions", "Half Precision Comparison
 * Instructions". References: the host's long double arithmetic and the definition of rounding. */
#include "isa_case.h"
#include <fenv.h>
#include <math.h>

/* ---- formats: a value rounded by looking at its two neighbours ---- */
static long double h_value(uint64_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  long double v = e == 31 ? (m ? (long double)NAN : (long double)INFINITY) : e ? ldexpl(1024 + m, e - 25) : ldexpl(m, -24);
  return h & 0x8000 ? -v : v;
}
static long double b_value(uint64_t h) { return (long double)as_f32((h & 0xffff) << 16); }
/* Nearest even among the 16-bit codes: binary search over the ordered positive codes, infinity standing for 2^(emax+1). */
static uint64_t nearest(long double v, long double (*value)(uint64_t), uint64_t inf, long double overflow) {
  if (v != v) return 0x7fff;
  uint64_t sign = signbit(v) ? 0x8000 : 0, lo = 0, hi = inf;
  long double x = fabsl(v);
  if (x >= overflow) return sign | inf;
  while (hi - lo > 1) {
    uint64_t mid = (lo + hi) / 2;
    if (value(mid) <= x) lo = mid;
    else hi = mid;
  }
  long double below = x - value(lo), above = (hi == inf ? overflow : value(hi)) - x;
  return sign | (below < above || (below == above && !(lo & 1)) ? lo : hi);
}
static uint64_t to_h(long double v) { return nearest(v, h_value, 0x7c00, 65536.0L); }
static uint64_t to_b(long double v) { return nearest(v, b_value, 0x7f80, 0x1p128L); }
static uint64_t flush_h(uint64_t h) { return h & 0x7c00 ? h : h & 0x8000; }
#define BOTH(name, lo, f) WANT(name, f(lo(a), lo(b), lo(c)) | f(lo(a >> 16), lo(b >> 16), lo(c >> 16)) << 16)
static uint64_t id(uint64_t h) { return h & 0xffff; }

static float flush(float f) { return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f; }
static float clamp01(float f) { return f != f ? 0 : f > 1 ? 1 : f > 0 ? f : 0; }
/* below 2^-126 when rounded to 24 bits whatever the exponent: below the middle of 2^-126 and the number before it */
static bool tiny(float a, float b, float c) {
  long double s = (long double)a * b + c;
  return s != 0 && fabsl(s) < 0x1p-126L - 0x1p-151L;
}
#define FA as_f32(a)
#define FB as_f32(b)
#define FC as_f32(c)
/* directed rounding of f32: the exact result in long double is not always exact, so the host's mode is used on volatiles */
static float directed(int mode, int op, float x, float y, float z) {
  volatile float p = x, q = y, s = z, r;
  fesetround(mode);
  r = op == '+' ? p + q : op == '*' ? p * q : op == '/' ? p / q : op == 's' ? sqrtf(p) : fmaf(p, q, s);
  fesetround(FE_TONEAREST);
  return r;
}
WANT(add, of_f32(FA + FB)) WANT(sub, of_f32(FA - FB)) WANT(mul, of_f32(FA * FB)) WANT(fma_, of_f32(fmaf(FA, FB, FC)))
WANT(add_ftz, of_f32(flush(flush(FA) + flush(FB)))) WANT(mul_ftz, of_f32(tiny(flush(FA), flush(FB), 0) ? copysignf(0, FA) * copysignf(1, FB) : flush(FA) * flush(FB)))
WANT(fma_ftz, of_f32(tiny(flush(FA), flush(FB), flush(FC)) ? copysignf(0, fmaf(flush(FA), flush(FB), flush(FC))) : fmaf(flush(FA), flush(FB), flush(FC))))
WANT(add_sat, of_f32(clamp01(FA + FB))) WANT(fma_sat, of_f32(clamp01(fmaf(FA, FB, FC))))
WANT(add_rz, of_f32(directed(FE_TOWARDZERO, '+', FA, FB, 0))) WANT(mul_rm, of_f32(directed(FE_DOWNWARD, '*', FA, FB, 0)))
WANT(fma_rp, of_f32(directed(FE_UPWARD, 'f', FA, FB, FC))) WANT(add_rm_ftz, of_f32(flush(directed(FE_DOWNWARD, '+', flush(FA), flush(FB), 0))))
WANT(div_rn, of_f32(FA / FB)) WANT(div_rz, of_f32(directed(FE_TOWARDZERO, '/', FA, FB, 0))) WANT(rcp_rn, of_f32(1.0f / FA)) WANT(sqrt_rn, of_f32(sqrtf(FA)))
WANT(sqrt_rp, of_f32(directed(FE_UPWARD, 's', FA, 0, 0)))
WANT(abs_, of_f32(as_f32(a & 0x7fffffff))) WANT(neg_, of_f32(as_f32(a ^ 0x80000000))) WANT(neg_ftz, of_f32(as_f32((a & 0x7f800000 ? a : a & 0x80000000) ^ 0x80000000)))
WANT(copysign_, (b & 0x7fffffff) | (a & 0x80000000))
static uint64_t pick(float x, float y, bool max, bool nan) {
  if (x != x || y != y) return nan || (x != x && y != y) ? 0x7fffffff : of_f32(x != x ? y : x);
  if (x == 0 && y == 0) return of_f32(max == !signbit(x) ? x : y);
  return of_f32((x < y) != max ? x : y);
}
WANT(min_, pick(FA, FB, 0, 0)) WANT(max_, pick(FA, FB, 1, 0)) WANT(max_nan, pick(FA, FB, 1, 1)) WANT(min_ftz, pick(flush(FA), flush(FB), 0, 0))
static uint64_t xorsign(uint64_t a, uint64_t b) {
  uint64_t m = pick(fabsf(FA), fabsf(FB), 1, 0);
  return m == 0x7fffffff ? m : (m & 0x7fffffff) | ((a ^ b) & 0x80000000);
}
WANT(max_xor, xorsign(a, b))
WANT(add_d, of_f64(as_f64(a) + as_f64(b))) WANT(mul_d, of_f64(as_f64(a) * as_f64(b))) WANT(fma_d, of_f64(fma(as_f64(a), as_f64(b), as_f64(c))))
WANT(div_d, of_f64(as_f64(a) / as_f64(b))) WANT(sqrt_d, of_f64(sqrt(as_f64(a))))
WANT(ex2, of_f32((float)exp2l(FA))) WANT(ex2_ftz, of_f32(flush((float)exp2l(flush(FA))))) WANT(lg2, of_f32((float)log2l(FA))) WANT(rcp, of_f32((float)(1.0L / FA)))
WANT(rsqrt, of_f32((float)(1.0L / sqrtl(FA)))) WANT(sqrt_, of_f32((float)sqrtl(FA))) 
WANT(tanh_, of_f32((float)tanhl(FA))) WANT(div_, of_f32((float)((long double)FA / FB)))
WANT(cmp_lt, FA < FB) WANT(cmp_neu, !(FA == FB)) WANT(cmp_ne, FA < FB || FA > FB) WANT(cmp_geu, !(FA < FB)) WANT(cmp_nan, FA != FA || FB != FB)
WANT(cmp_le_ftz, flush(FA) <= flush(FB)) WANT(cmp_num, FA == FA && FB == FB)
WANT(testp_, (isinf(FA) ? 1 : 0) | (fpclassify(FA) == FP_NORMAL || FA == 0 ? 2 : 0) | (FA != FA ? 4 : 0))

static uint64_t hadd(uint64_t a, uint64_t b, uint64_t c) { (void)c; return to_h(h_value(a) + h_value(b)); }
static uint64_t hsub(uint64_t a, uint64_t b, uint64_t c) { (void)c; return to_h(h_value(a) - h_value(b)); }
static uint64_t hmul(uint64_t a, uint64_t b, uint64_t c) { (void)c; return to_h(h_value(a) * h_value(b)); }
/* product and sum of halves span at most 80 bits: more than long double holds, so they are added as integers of 2^-48 */
static uint64_t hfma(uint64_t a, uint64_t b, uint64_t c) {
  long double p = h_value(a) * h_value(b), z = h_value(c), s = p + z;
  if (!isfinite(p) || !isfinite(z)) return to_h(s);
  __int128 exact = (__int128)(p * 0x1p48L) + (__int128)(z * 0x1p48L);
  if (!exact) return to_h(s);
  bool negative = exact < 0;
  unsigned __int128 m = (unsigned __int128)(negative ? -exact : exact);
  int drop = 0;
  while (m >> drop >> 62) drop++;
  long double v = ldexpl((long double)(uint64_t)(m >> drop | ((m & (((unsigned __int128)1 << drop) - 1)) != 0)), drop - 48);
  return to_h(negative ? -v : v);
}
static uint64_t bmul(uint64_t a, uint64_t b, uint64_t c) { (void)c; return to_b(b_value(a) * b_value(b)); }
static uint64_t badd(uint64_t a, uint64_t b, uint64_t c) { (void)c; return to_b(b_value(a) + b_value(b)); }
/* bf16 exponents differ by hundreds: the smaller addend only decides ties, so it is moved up to just below the larger's end */
static uint64_t bfma(uint64_t a, uint64_t b, uint64_t c) {
  long double p = b_value(a) * b_value(b), z = b_value(c);
  if (!isfinite(p) || !isfinite(z) || p == 0 || z == 0) return to_b(p + z);
  int ep = ilogbl(p), ez = ilogbl(z);
  if (ep > ez + 40) z = copysignl(ldexpl(1, ep - 40), z);
  if (ez > ep + 40) p = copysignl(ldexpl(1, ez - 40), p);
  return to_b(p + z);
}
static uint64_t hmax(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  bool na = (a & 0x7fff) > 0x7c00, nb = (b & 0x7fff) > 0x7c00;
  if (na || nb) return na && nb ? 0x7fff : na ? b : a;
  long double x = h_value(a), y = h_value(b);
  return x == y ? a & b : x > y ? a : b; /* the same bits, or zeros of two signs: +0 */
}
static uint64_t bminnan(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  long double x = b_value(a), y = b_value(b);
  return x != x || y != y ? 0x7fff : x == y ? a | b : x < y ? a : b;
}
static uint64_t relu_h(uint64_t h) { return (h & 0x7fff) > 0x7c00 ? 0x7fff : h & 0x8000 ? 0 : h; }
static uint64_t hfma_relu(uint64_t a, uint64_t b, uint64_t c) { return relu_h(hfma(a, b, c)); }
static uint64_t babs(uint64_t a, uint64_t b, uint64_t c) { (void)b, (void)c; return (a & 0x7fff) > 0x7f80 ? 0x7fff : a & 0x7fff; }
static uint64_t hneg(uint64_t a, uint64_t b, uint64_t c) { (void)b, (void)c; return (a & 0x7fff) > 0x7c00 ? 0x7fff : a ^ 0x8000; }
WANT(hadd1, hadd(id(a), id(b), 0)) WANT(hmul1, hmul(id(a), id(b), 0)) WANT(hfma1, hfma(id(a), id(b), id(c))) WANT(bfma1, bfma(id(a), id(b), id(c)))
BOTH(hadd2, id, hadd) BOTH(hsub2, id, hsub) BOTH(hmul2, id, hmul) BOTH(hfma2, id, hfma) BOTH(hmax2, id, hmax) BOTH(bminnan2, id, bminnan) BOTH(hfma_relu2, id, hfma_relu)
BOTH(bmul2, id, bmul) BOTH(badd2, id, badd) BOTH(bfma2, id, bfma) BOTH(babs2, id, babs) BOTH(hneg2, id, hneg)
static uint64_t hmul_flushed(uint64_t a, uint64_t b) {
  long double p = h_value(a) * h_value(b);
  return fabsl(p) < 0x1p-14L - 0x1p-26L ? (a ^ b) & 0x8000 : to_h(p);
}
WANT(hmul_ftz, hmul_flushed(flush_h(id(a)), flush_h(id(b))))
WANT(hex2, to_h(exp2l(h_value(id(a))))) WANT(htanh, to_h(tanhl(h_value(id(a)))))
WANT(hlt, (h_value(id(a)) < h_value(id(b))) | (h_value(id(a >> 16)) < h_value(id(b >> 16))) << 1)
WANT(hset, (h_value(id(a)) >= h_value(id(b)) ? 0x3c00 : 0) | (h_value(id(a >> 16)) >= h_value(id(b >> 16)) ? 0x3c000000 : 0))

#define F(sec, text, types, fn) {"Floating-Point Instructions: " sec, text, types, fn, EXACT, NULL}
#define D(sec, text, types, fn) {"Floating-Point Instructions: " sec, text, types, fn, ANY_NAN, NULL}
#define A(sec, text, fn) {"Floating-Point Instructions: " sec, text, "f32 f32", fn, ULP2_F32, NULL}
#define H(sec, text, types, fn) {"Half Precision Floating-Point Instructions: " sec, text, types, fn, EXACT, NULL}
#define H9(sec, text, types, fn) {"Half Precision Floating-Point Instructions: " sec, text, types, fn, EXACT, SM90}
#define P(text, fn) {"Comparison and Selection Instructions: setp", text, "u32 f32 f32", fn, EXACT, NULL}
#define F3 "f32 f32 f32"
#define F4 "f32 f32 f32 f32"
#define X2 "f16x2 f16x2 f16x2"
#define X3 "f16x2 f16x2 f16x2 f16x2"
#define Y2 "bf16x2 bf16x2 bf16x2"
#define Y3 "bf16x2 bf16x2 bf16x2 bf16x2"
#define SMALL "mul.f32 %a, %a, 0f2F800000; " /* arguments of sin and cos within the range where they are defined closely */
WANT(sin_small, of_f32((float)sinl(as_f32(of_f32(FA * 0x1p-32f))))) WANT(cos_small, of_f32((float)cosl(as_f32(of_f32(FA * 0x1p-32f)))))
static const struct isa_case cases[] = {
    F("add", "add.f32 %d, %a, %b;", F3, add), F("add", "add.rn.ftz.f32 %d, %a, %b;", F3, add_ftz), F("add", "add.sat.f32 %d, %a, %b;", F3, add_sat),
    F("add", "add.rz.f32 %d, %a, %b;", F3, add_rz), F("add", "add.rm.ftz.f32 %d, %a, %b;", F3, add_rm_ftz), F("sub", "sub.rn.f32 %d, %a, %b;", F3, sub),
    F("mul", "mul.f32 %d, %a, %b;", F3, mul), F("mul", "mul.ftz.f32 %d, %a, %b;", F3, mul_ftz), F("mul", "mul.rm.f32 %d, %a, %b;", F3, mul_rm),
    F("fma", "fma.rn.f32 %d, %a, %b, %c;", F4, fma_), F("fma", "fma.rn.ftz.f32 %d, %a, %b, %c;", F4, fma_ftz), F("fma", "fma.rn.sat.f32 %d, %a, %b, %c;", F4, fma_sat),
    F("fma", "fma.rp.f32 %d, %a, %b, %c;", F4, fma_rp), F("mad", "mad.rn.f32 %d, %a, %b, %c;", F4, fma_), F("div", "div.rn.f32 %d, %a, %b;", F3, div_rn),
    F("div", "div.rz.f32 %d, %a, %b;", F3, div_rz), {"Floating-Point Instructions: div", "div.full.f32 %d, %a, %b;", F3, div_, ULP2_F32, NULL},
    F("rcp", "rcp.rn.f32 %d, %a;", "f32 f32", rcp_rn), F("sqrt", "sqrt.rn.f32 %d, %a;", "f32 f32", sqrt_rn), F("sqrt", "sqrt.rp.f32 %d, %a;", "f32 f32", sqrt_rp),
    F("abs", "abs.f32 %d, %a;", "f32 f32", abs_), F("neg", "neg.f32 %d, %a;", "f32 f32", neg_), F("neg", "neg.ftz.f32 %d, %a;", "f32 f32", neg_ftz),
    F("copysign", "copysign.f32 %d, %a, %b;", F3, copysign_), F("min", "min.f32 %d, %a, %b;", F3, min_), F("min", "min.ftz.f32 %d, %a, %b;", F3, min_ftz),
    F("max", "max.f32 %d, %a, %b;", F3, max_), F("max", "max.NaN.f32 %d, %a, %b;", F3, max_nan),
    {"Floating-Point Instructions: max", "max.xorsign.abs.f32 %d, %a, %b;", F3, max_xor, EXACT, ".version 7.2\n.target sm_86\n"},
    D("add", "add.f64 %d, %a, %b;", "f64 f64 f64", add_d), D("mul", "mul.rn.f64 %d, %a, %b;", "f64 f64 f64", mul_d), D("fma", "fma.rn.f64 %d, %a, %b, %c;", "f64 f64 f64 f64", fma_d),
    D("div", "div.rn.f64 %d, %a, %b;", "f64 f64 f64", div_d), D("sqrt", "sqrt.rn.f64 %d, %a;", "f64 f64", sqrt_d),
    A("ex2", "ex2.approx.f32 %d, %a;", ex2), A("ex2", "ex2.approx.ftz.f32 %d, %a;", ex2_ftz), A("lg2", "lg2.approx.f32 %d, %a;", lg2), A("rcp", "rcp.approx.f32 %d, %a;", rcp),
    A("rsqrt", "rsqrt.approx.f32 %d, %a;", rsqrt), A("sqrt", "sqrt.approx.f32 %d, %a;", sqrt_), A("sin", SMALL "sin.approx.f32 %d, %a;", sin_small),
    A("cos", SMALL "cos.approx.f32 %d, %a;", cos_small), A("tanh", "tanh.approx.f32 %d, %a;", tanh_),
    P("setp.lt.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_lt), P("setp.neu.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_neu), P("setp.ne.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_ne),
    P("setp.geu.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_geu), P("setp.nan.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_nan), P("setp.num.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_num),
    P("setp.le.ftz.f32 p, %a, %b; selp.u32 %d, 1, 0, p;", cmp_le_ftz),
    F("testp", "testp.infinite.f32 p, %a; testp.normal.f32 q, %a; testp.notanumber.f32 r, %a; selp.u32 %d, 1, 0, p; @q or.b32 %d, %d, 2; @r or.b32 %d, %d, 4;", "b32 f32", testp_),
    H("add", "add.f16x2 %d, %a, %b;", X2, hadd2), H("sub", "sub.rn.f16x2 %d, %a, %b;", X2, hsub2), H("mul", "mul.f16x2 %d, %a, %b;", X2, hmul2),
    H("fma", "fma.rn.f16x2 %d, %a, %b, %c;", X3, hfma2), H("fma", "fma.rn.relu.f16x2 %d, %a, %b, %c;", X3, hfma_relu2), H("add", "add.f16 %d, %a, %b;", "f16 f16 f16", hadd1),
    H("mul", "mul.f16 %d, %a, %b;", "f16 f16 f16", hmul1), H("mul", "mul.ftz.f16 %d, %a, %b;", "f16 f16 f16", hmul_ftz), H("fma", "fma.rn.f16 %d, %a, %b, %c;", "f16 f16 f16 f16", hfma1),
    H("fma", "fma.rn.bf16 %d, %a, %b, %c;", "bf16 bf16 bf16 bf16", bfma1), H("fma", "fma.rn.bf16x2 %d, %a, %b, %c;", Y3, bfma2), H("max", "max.f16x2 %d, %a, %b;", X2, hmax2),
    H("min", "min.NaN.bf16x2 %d, %a, %b;", Y2, bminnan2), H("abs", "abs.bf16x2 %d, %a;", "bf16x2 bf16x2", babs2), H("neg", "neg.f16x2 %d, %a;", "f16x2 f16x2", hneg2),
    H9("mul", "mul.bf16x2 %d, %a, %b;", Y2, bmul2), H9("add", "add.rn.bf16x2 %d, %a, %b;", Y2, badd2), H("ex2", "ex2.approx.f16 %d, %a;", "f16 f16", hex2),
    H("tanh", "tanh.approx.f16 %d, %a;", "f16 f16", htanh),
    {"Half Precision Comparison Instructions: setp", "setp.lt.f16x2 p|q, %a, %b; selp.u32 %d, 1, 0, p; @q or.b32 %d, %d, 2;", "b32 f16x2 f16x2", hlt, EXACT, NULL},
    {"Half Precision Comparison Instructions: set", "set.ge.f16x2.f16x2 %d, %a, %b;", X2, hset, EXACT, NULL}};

int main(void) { return isa_run("emu.float", cases, COUNT(cases)); }
