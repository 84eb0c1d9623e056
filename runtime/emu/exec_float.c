/* PTX ISA "Floating-Point Instructions": .f32, .f64, .f32x2. Rounding to nearest is the host's; the other modes are in
 * exec_round.c. Approximate functions are computed in double and rounded once, then flushed for .ftz. */
#include "exec.h"

/* ---- .f32 arithmetic: plain, .ftz, .sat, .ftz.sat ---- */
#define F(x) (ftz(x))
#define FORMS2(name, op)                                                                                              \
  DEF2(name##_, float, float, float, canon(op(a[i], b[i])))                                                           \
  DEF2(name##_f, float, float, float, ftz(canon(op(F(a[i]), F(b[i])))))                                               \
  DEF2(name##_s, float, float, float, sat(op(a[i], b[i])))                                                            \
  DEF2(name##_fs, float, float, float, ftz(sat(op(F(a[i]), F(b[i])))))
#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
FORMS2(add, ADD)
FORMS2(sub, SUB)
DEF2(mul_, float, float, float, canon(a[i] * b[i]))
DEF2(mul_s, float, float, float, sat(a[i] * b[i]))
DEF3(fma_, float, float, float, float, canon(fmaf(a[i], b[i], c[i])))
DEF3(fma_s, float, float, float, float, sat(fmaf(a[i], b[i], c[i])))

/* Ruling: .ftz flushes what is below 2^-126 once rounded to 24 bits with an unbounded exponent (as an H200 does): a
 * product or fma that reaches 2^-126 only because subnormals are spaced widely gives zero. Such results are rare: they
 * are looked for, and then mended, after the loop. Sums of two are exact there. */
enum { LEAST_NORMAL = 0x00800000 };
static inline bool tiny(float a, float b, float c) { /* |a * b + c| < 2^-126 (1 - 2^-25), exactly */
  double p = (double)a * b, s = p + c, bb = s - p, err = (p - (s - bb)) + (c - bb), edge = 0x1p-126 - 0x1p-151;
  return fabs(s) < edge || (fabs(s) == edge && err != 0 && (err < 0) == (s > 0));
}
static int finish_ftz(struct warp *w, float *d, const float *a, const float *b, const float *c, float r[LANES], bool saturate) {
  uint32_t least = 0;
  for (int i = 0; i < LANES; i++) least |= (f2u(r[i]) & 0x7fffffffu) == LEAST_NORMAL;
  for (int i = 0; least && i < LANES; i++)
    if ((f2u(r[i]) & 0x7fffffffu) == LEAST_NORMAL && tiny(F(a[i]), F(b[i]), c ? F(c[i]) : 0.0f)) r[i] = copysignf(0.0f, r[i]);
  if (saturate) for (int i = 0; i < LANES; i++) r[i] = sat(r[i]);
  EACH_LANE(d[i] = r[i]);
}
#define MUL_FTZ(name, saturate)                                                                                       \
  HANDLER(name) {                                                                                                     \
    const float *a = SLOT(float, 1), *b = SLOT(float, 2);                                                             \
    float r[LANES];                                                                                                   \
    for (int i = 0; i < LANES; i++) r[i] = ftz(canon(F(a[i]) * F(b[i])));                                             \
    return finish_ftz(w, SLOT(float, 0), a, b, NULL, r, saturate);                                                    \
  }
#define FMA_FTZ(name, saturate)                                                                                       \
  HANDLER(name) {                                                                                                     \
    const float *a = SLOT(float, 1), *b = SLOT(float, 2), *c = SLOT(float, 3);                                        \
    float r[LANES];                                                                                                   \
    for (int i = 0; i < LANES; i++) r[i] = ftz(canon(fmaf(F(a[i]), F(b[i]), F(c[i]))));                               \
    return finish_ftz(w, SLOT(float, 0), a, b, c, r, saturate);                                                       \
  }
MUL_FTZ(mul_f, false)
MUL_FTZ(mul_fs, true)
FMA_FTZ(fma_f, false)
FMA_FTZ(fma_fs, true)

/* ---- .f64 ---- */
DEF2(add_d, double, double, double, a[i] + b[i])
DEF2(sub_d, double, double, double, a[i] - b[i])
DEF2(mul_d, double, double, double, a[i] * b[i])
DEF2(div_d, double, double, double, a[i] / b[i])
DEF3(fma_d, double, double, double, double, fma(a[i], b[i], c[i]))
DEF1(rcp_d, double, double, 1.0 / a[i])
DEF1(sqrt_d, double, double, sqrt(a[i]))
DEF1(abs_d, uint64_t, uint64_t, a[i] & INT64_MAX)
DEF1(neg_d, uint64_t, uint64_t, a[i] ^ (uint64_t)1 << 63)
/* .approx.ftz.f64: the low 32 bits of operand and result are zero, subnormals are flushed. */
static inline double ftz_high(double v) {
  uint64_t u = d2u(v) & 0xffffffff00000000u;
  return u2d(u & 0x7ff0000000000000u ? u : u & (uint64_t)1 << 63);
}
DEF1(rcp_approx_d, double, double, ftz_high(1.0 / ftz_high(a[i])))
DEF1(rsqrt_d, double, double, 1.0 / sqrt(a[i]))
DEF1(rsqrt_approx_d, double, double, ftz_high(1.0 / sqrt(ftz_high(a[i]))))

/* ---- .f32x2: two values in a 64-bit register ---- */
#define DEFPAIR(name, expr)                                                                                           \
  HANDLER(name) {                                                                                                     \
    float *d = SLOT(float, 0); const float *a = SLOT(float, 1), *b = SLOT(float, 2), *c = SLOT(float, in->o[3] == NO_SLOT ? 2 : 3); \
    (void)c;                                                                                                          \
    if (w->mask == ALL_LANES) {                                                                                       \
      INDEPENDENT                                                                                                     \
      for (int i = 0; i < 2 * LANES; i++) d[i] = expr;                                                                \
      return EV_NEXT;                                                                                                 \
    }                                                                                                                 \
    for (int i = 0; i < 2 * LANES; i++)                                                                               \
      if (w->mask >> (i >> 1) & 1) d[i] = expr;                                                                       \
    return EV_NEXT;                                                                                                   \
  }
DEFPAIR(add_2, canon(a[i] + b[i]))
DEFPAIR(sub_2, canon(a[i] - b[i]))
DEFPAIR(mul_2, canon(a[i] * b[i]))
DEFPAIR(fma_2, canon(fmaf(a[i], b[i], c[i])))
DEFPAIR(add_2f, ftz(canon(F(a[i]) + F(b[i]))))
DEFPAIR(sub_2f, ftz(canon(F(a[i]) - F(b[i]))))
DEFPAIR(mul_2f, ftz(canon(F(a[i]) * F(b[i]))))
DEFPAIR(fma_2f, ftz(canon(fmaf(F(a[i]), F(b[i]), F(c[i])))))

/* ---- division, roots ---- */
DEF2(div_rn, float, float, float, canon(a[i] / b[i]))
DEF2(div_rn_f, float, float, float, ftz(canon(F(a[i]) / F(b[i]))))
DEF2(div_approx, float, float, float, canon((float)((double)a[i] / (double)b[i])))
DEF2(div_approx_f, float, float, float, ftz(canon((float)((double)F(a[i]) / (double)F(b[i])))))
#define FORMS1(name, expr)                                                                                            \
  static inline float name##_of(float x) { return (float)(expr); }                                                    \
  DEF1(name##_, float, float, canon(name##_of(a[i])))                                                                 \
  DEF1(name##_f, float, float, ftz(canon(name##_of(F(a[i])))))
FORMS1(rcp, 1.0 / (double)x)
FORMS1(sqrt, sqrt((double)x))
FORMS1(rsqrt, 1.0 / sqrt((double)x))
FORMS1(lg2, log2((double)x))
FORMS1(sin, sin((double)x))
FORMS1(cos, cos((double)x))
DEF1(tanh_, float, float, canon((float)tanh((double)a[i])))

/* 2^x = 2^n * 2^f with |f| <= 1/2 and the exponential series to f^11: relative error below 1e-14, so that the rounding
 * to f32 decides. Multiplications and additions stay separate: every vector level gives the same bits. */
static inline float exp2_of(float v) {
  double x = (double)v;
  x = x > 130.0 ? 130.0 : x;
  x = x < -160.0 ? -160.0 : x;
  double shifted = x + 0x1.8p52, n = shifted - 0x1.8p52;
  double t = (x - n) * 0x1.62e42fefa39efp-1;
  double p = 1.0 / 39916800.0;
  p = p * t + 1.0 / 3628800.0;
  p = p * t + 1.0 / 362880.0;
  p = p * t + 1.0 / 40320.0;
  p = p * t + 1.0 / 5040.0;
  p = p * t + 1.0 / 720.0;
  p = p * t + 1.0 / 120.0;
  p = p * t + 1.0 / 24.0;
  p = p * t + 1.0 / 6.0;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  return (float)(p * u2d((d2u(shifted) + 1023) << 52));
}
#define COUNT_SPECIAL w->stats.exponentials += (uint64_t)__builtin_popcount(w->mask)
HANDLER(ex2_) {
  float *d = SLOT(float, 0);
  const float *a = SLOT(float, 1);
  COUNT_SPECIAL;
  EACH_LANE(d[i] = canon(exp2_of(a[i])));
}
HANDLER(ex2_f) {
  float *d = SLOT(float, 0);
  const float *a = SLOT(float, 1);
  COUNT_SPECIAL;
  EACH_LANE(d[i] = ftz(canon(exp2_of(F(a[i])))));
}

/* ---- signs, minimum, maximum ---- */
DEF1(abs_, float, float, canon(u2f(f2u(a[i]) & 0x7fffffffu)))
DEF1(neg_, float, float, canon(u2f(f2u(a[i]) ^ 0x80000000u)))
DEF1(abs_f, float, float, canon(u2f(f2u(F(a[i])) & 0x7fffffffu)))
DEF1(neg_f, float, float, canon(u2f(f2u(F(a[i])) ^ 0x80000000u)))
DEF2(copysign_, uint32_t, uint32_t, uint32_t, (a[i] & 0x80000000u) | (b[i] & 0x7fffffffu))
DEF2(copysign_d, uint64_t, uint64_t, uint64_t, (a[i] & (uint64_t)1 << 63) | (b[i] & INT64_MAX))

/* A NaN operand gives the other one; +0 is larger than -0. */
static inline float min_of(float a, float b) {
  float r = a < b || (a == b && f2u(a) >> 31) ? a : b;
  return a != a ? b : b != b ? a : r;
}
static inline float max_of(float a, float b) {
  float r = a > b || (a == b && !(f2u(a) >> 31)) ? a : b;
  return a != a ? b : b != b ? a : r;
}
static inline float nan_or(float r, float a, float b) { return a != a || b != b ? u2f(0x7fffffffu) : r; }
DEF2(min_, float, float, float, canon(min_of(a[i], b[i])))
DEF2(max_, float, float, float, canon(max_of(a[i], b[i])))
DEF2(min_f, float, float, float, canon(min_of(F(a[i]), F(b[i]))))
DEF2(max_f, float, float, float, canon(max_of(F(a[i]), F(b[i]))))
DEF2(min_n, float, float, float, nan_or(min_of(a[i], b[i]), a[i], b[i]))
DEF2(max_n, float, float, float, nan_or(max_of(a[i], b[i]), a[i], b[i]))
enum { MM_FTZ = 1, MM_NAN = 2, MM_XORSIGN = 4, MM_MAX = 8, MM_ABS = 16 };
static inline float minmax(float a, float b, unsigned u) {
  if (u & MM_FTZ) a = ftz(a), b = ftz(b);
  uint32_t sign = (f2u(a) ^ f2u(b)) & 0x80000000u;
  if (u & MM_XORSIGN) a = fabsf(a), b = fabsf(b);
  float r = u & MM_MAX ? max_of(a, b) : min_of(a, b);
  if (u & MM_NAN) r = nan_or(r, a, b);
  if (r != r) return u2f(0x7fffffffu);
  return u & MM_XORSIGN ? u2f((f2u(r) & 0x7fffffffu) | sign) : r;
}
DEF2(minmax_, float, float, float, minmax(a[i], b[i], in->u))
static inline float minmax3(float a, float b, float c, unsigned u) {
  if (u & MM_ABS) a = fabsf(a), b = fabsf(b), c = fabsf(c);
  return minmax(minmax(a, b, u), c, u);
}
DEF3(minmax3_, float, float, float, float, minmax3(a[i], b[i], c[i], in->u))

/* Mixed precision: the narrow operands are exact in f32. */
#define MIXED(t, wide)                                                                                                \
  HANDLER(mixed_##t) {                                                                                                \
    float *d = SLOT(float, 0);                                                                                        \
    const uint16_t *a = SLOT(uint16_t, 1), *b = in->imm == 'f' ? SLOT(uint16_t, 2) : a;                               \
    const float *c = SLOT(float, in->imm == 'f' ? 3 : 2);                                                             \
    for (uint32_t m = w->mask; m; m &= m - 1) {                                                                       \
      int i = __builtin_ctz(m);                                                                                       \
      float x = wide(a[i]), r = in->imm == 'f' ? fmaf(x, wide(b[i]), c[i]) : in->imm == 's' ? x - c[i] : x + c[i];    \
      d[i] = in->u ? sat(r) : canon(r);                                                                               \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }
MIXED(h, h2f)
MIXED(b, bf2f)
DEF2(min_d, double, double, double, a[i] != a[i] ? b[i] : b[i] != b[i] ? a[i] : a[i] < b[i] || (a[i] == b[i] && signbit(a[i])) ? a[i] : b[i])
DEF2(max_d, double, double, double, a[i] != a[i] ? b[i] : b[i] != b[i] ? a[i] : a[i] > b[i] || (a[i] == b[i] && !signbit(a[i])) ? a[i] : b[i])

#define FTZ_SAT(op, f) {op ".f32", f##_}, {op ".ftz.f32", f##_f}, {op ".sat.f32", f##_s}, {op ".ftz.sat.f32", f##_fs}
#define APPROX(op, f) {op ".approx.f32", f##_}, {op ".approx.ftz.f32", f##_f}
static const struct emu_key keys[] = {
    FTZ_SAT("add", add), FTZ_SAT("add.rn", add), FTZ_SAT("sub", sub), FTZ_SAT("sub.rn", sub), FTZ_SAT("mul", mul), FTZ_SAT("mul.rn", mul),
    FTZ_SAT("fma.rn", fma), FTZ_SAT("mad", fma), FTZ_SAT("mad.rn", fma), {"add.f64", add_d}, {"add.rn.f64", add_d}, {"sub.f64", sub_d},
    {"sub.rn.f64", sub_d}, {"mul.f64", mul_d}, {"mul.rn.f64", mul_d}, {"fma.rn.f64", fma_d}, {"mad.rn.f64", fma_d}, {"div.rn.f64", div_d},
    {"rcp.rn.f64", rcp_d}, {"sqrt.rn.f64", sqrt_d}, {"rcp.approx.ftz.f64", rcp_approx_d}, {"rsqrt.approx.f64", rsqrt_d},
    {"rsqrt.approx.ftz.f64", rsqrt_approx_d}, {"add.rn.f32x2", add_2}, {"sub.rn.f32x2", sub_2}, {"mul.rn.f32x2", mul_2},
    {"add.f32x2", add_2}, {"sub.f32x2", sub_2}, {"mul.f32x2", mul_2}, {"add.ftz.f32x2", add_2f}, {"sub.ftz.f32x2", sub_2f}, {"mul.ftz.f32x2", mul_2f},
    {"fma.rn.f32x2", fma_2}, {"add.rn.ftz.f32x2", add_2f}, {"sub.rn.ftz.f32x2", sub_2f}, {"mul.rn.ftz.f32x2", mul_2f},
    {"fma.rn.ftz.f32x2", fma_2f}, {"div.rn.f32", div_rn}, {"div.rn.ftz.f32", div_rn_f}, {"div.full.f32", div_approx},
    {"div.full.ftz.f32", div_approx_f}, {"div.approx.f32", div_approx}, {"div.approx.ftz.f32", div_approx_f}, APPROX("rcp", rcp),
    {"rcp.rn.f32", rcp_}, {"rcp.rn.ftz.f32", rcp_f}, APPROX("sqrt", sqrt), {"sqrt.rn.f32", sqrt_}, {"sqrt.rn.ftz.f32", sqrt_f},
    APPROX("rsqrt", rsqrt), APPROX("ex2", ex2), APPROX("lg2", lg2), APPROX("sin", sin), APPROX("cos", cos), {"tanh.approx.f32", tanh_},
    {"abs.f32", abs_}, {"neg.f32", neg_}, {"abs.ftz.f32", abs_f}, {"neg.ftz.f32", neg_f}, {"abs.f64", abs_d}, {"neg.f64", neg_d},
    {"copysign.f32", copysign_}, {"copysign.f64", copysign_d}, {"min.f32", min_}, {"max.f32", max_}, {"min.ftz.f32", min_f},
    {"max.ftz.f32", max_f}, {"min.NaN.f32", min_n}, {"max.NaN.f32", max_n}, {"min.f64", min_d}, {"max.f64", max_d}};

emu_resolve LEVELLED(ws_emu_resolve_directed);

emu_fn *LEVELLED(ws_emu_resolve_float)(struct bind *b) {
  const struct isa_use *u = b->u;
  bool three = *u->row->mnemonic == 'm' && u->row->operands[strlen(u->row->operands) - 1] == '+' && b->in->o[3] != NO_SLOT;
  if (u->ntypes == 2 && (ws_emu_has(u, ".rz") || ws_emu_has(u, ".rm") || ws_emu_has(u, ".rp"))) return LEVELLED(ws_emu_resolve_directed)(b);
  if (u->ntypes == 2) {
    b->in->imm = *u->row->mnemonic;
    b->in->u = ws_emu_has(u, ".sat");
    return u->type[1] == T_F16 ? mixed_h : mixed_b;
  }
  emu_fn *fn = three ? NULL : ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
  if (fn) return fn;
  if (!strcmp(u->row->mnemonic, "min") || !strcmp(u->row->mnemonic, "max")) {
    if (three ? ws_emu_has(u, ".xorsign") : ws_emu_has(u, ".xorsign") != ws_emu_has(u, ".abs")) return NULL;
    b->in->u = (uint8_t)((ws_emu_has(u, ".ftz") ? MM_FTZ : 0) | (ws_emu_has(u, ".NaN") ? MM_NAN : 0) |
                         (ws_emu_has(u, ".xorsign") ? MM_XORSIGN : 0) | (u->row->mnemonic[1] == 'a' ? MM_MAX : 0) | (three && ws_emu_has(u, ".abs") ? MM_ABS : 0));
    return three ? minmax3_ : minmax_;
  }
  return LEVELLED(ws_emu_resolve_directed)(b);
}
