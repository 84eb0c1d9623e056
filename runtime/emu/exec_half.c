/* PTX ISA "Half Precision Floating-Point Instructions": .f16 .f16x2 .bf16 .bf16x2. Packed operands are 64 values side by
 * side. Sums and products of two are computed in f32 or double, where they are exact or keep enough bits that one
 * rounding to 16 bits is the right one; fma goes through double with round to odd. */
#include "exec.h"

/* A value of in->u & H_BF: bf16, else f16. */
enum { H_FTZ = 1, H_SAT = 2, H_RELU = 4, H_NAN = 8, H_XORSIGN = 16, H_MAX = 32 };
static inline uint16_t flush_h(uint16_t h) { return h & 0x7c00u ? h : h & 0x8000u; }

static inline uint16_t finish_h(uint16_t h, unsigned u) {
  bool nan = (h & 0x7fffu) > 0x7c00u;
  if (u & H_SAT) h = nan || h >> 15 ? 0 : h > 0x3c00u ? 0x3c00u : h;
  if (u & H_RELU) h = nan ? 0x7fff : h >> 15 ? 0 : h;
  return u & H_FTZ ? flush_h(h) : h;
}
/* .ftz flushes what is below 2^-14 once rounded to 11 bits with an unbounded exponent, as for .f32 (exec_float.c). */
static inline uint16_t finish_product(double v, unsigned u) {
  uint16_t h = d2h(v);
  if (u & H_FTZ && fabs(v) < 0x1p-14 - 0x1p-26) h &= 0x8000u;
  return finish_h(h, u);
}
static inline uint16_t finish_b(uint16_t h, unsigned u) {
  bool nan = (h & 0x7fffu) > 0x7f80u;
  if (u & H_RELU) h = nan ? 0x7fff : h >> 15 ? 0 : h;
  return h;
}
#define IN_H(x) h2f(in->u & H_FTZ ? flush_h(x) : (x))
#define IN_B(x) bf2f(x)

/* Lane loop over 16-bit values: n a register, lane of value i is i / n. */
#define HALF_LOOP(expr)                                                                                               \
  do {                                                                                                                \
    if (w->mask == ALL_LANES) {                                                                                       \
      INDEPENDENT                                                                                                     \
      for (int i = 0; i < in->n * LANES; i++) d[i] = (uint16_t)(expr);                                                \
      return EV_NEXT;                                                                                                 \
    }                                                                                                                 \
    for (int i = 0; i < in->n * LANES; i++)                                                                           \
      if (w->mask >> (in->n == 2 ? i >> 1 : i) & 1) d[i] = (uint16_t)(expr);                                          \
    return EV_NEXT;                                                                                                   \
  } while (0)
#define HALF1(name, expr)                                                                                             \
  HANDLER(name) { uint16_t *d = SLOT(uint16_t, 0); const uint16_t *a = SLOT(uint16_t, 1); HALF_LOOP(expr); }
#define HALF2(name, expr)                                                                                             \
  HANDLER(name) {                                                                                                     \
    uint16_t *d = SLOT(uint16_t, 0); const uint16_t *a = SLOT(uint16_t, 1), *b = SLOT(uint16_t, 2); HALF_LOOP(expr);  \
  }
#define HALF3(name, expr)                                                                                             \
  HANDLER(name) {                                                                                                     \
    uint16_t *d = SLOT(uint16_t, 0);                                                                                  \
    const uint16_t *a = SLOT(uint16_t, 1), *b = SLOT(uint16_t, 2), *c = SLOT(uint16_t, 3); HALF_LOOP(expr);           \
  }
/* A sum of two values rounded to f32 and then to 16 bits is rounded correctly, because 24 >= 2 * 11 + 2 (Figueroa, "When is
 * double rounding innocuous?"); below f32's normal range a bf16 sum is exact. Products are exact in double. */
HALF2(add_h, finish_h(f2h(IN_H(a[i]) + IN_H(b[i])), in->u))
HALF2(sub_h, finish_h(f2h(IN_H(a[i]) - IN_H(b[i])), in->u))
HALF2(mul_h, finish_product(IN_H(a[i]) * IN_H(b[i]), in->u))
HALF2(add_b, finish_b(f2bf(IN_B(a[i]) + IN_B(b[i])), in->u))
HALF2(sub_b, finish_b(f2bf(IN_B(a[i]) - IN_B(b[i])), in->u))
HALF2(mul_b, finish_b(d2bf((double)IN_B(a[i]) * (double)IN_B(b[i])), in->u))

/* The double sum of product and addend may be inexact: its error is kept as a sticky bit (round to odd), after which
 * one rounding to 16 bits is right. */
static inline double fma_odd(float a, float b, float c) {
  double p = (double)a * b, s = p + c;
  double bb = s - p, err = (p - (s - bb)) + (c - bb); /* Knuth's two-sum: s + err is exact */
  uint64_t u = d2u(s);
  bool sticky = err != 0 && err == err && !(u & 1);
  return sticky ? u2d((err > 0) == (s > 0) ? u + 1 : u - 1) : s;
}
HALF3(fma_h, finish_product(fma_odd(IN_H(a[i]), IN_H(b[i]), IN_H(c[i])), in->u))
HALF3(fma_b, finish_b(d2bf(fma_odd(IN_B(a[i]), IN_B(b[i]), IN_B(c[i]))), in->u))

#define CANON(h, inf) ((uint16_t)(((h) & 0x7fffu) > (inf) ? 0x7fffu : (h)))
HALF1(abs_h, CANON((in->u & H_FTZ ? flush_h(a[i]) : a[i]) & 0x7fffu, 0x7c00u))
HALF1(neg_h, CANON((in->u & H_FTZ ? flush_h(a[i]) : a[i]) ^ 0x8000u, 0x7c00u))
HALF1(abs_b, CANON(a[i] & 0x7fffu, 0x7f80u))
HALF1(neg_b, CANON(a[i] ^ 0x8000u, 0x7f80u))

/* Minimum and maximum on the bits: `inf` is the format's infinity. */
static inline int32_t order_of(uint16_t h) { return h & 0x8000u ? -(int32_t)(h & 0x7fffu) - 1 : (int32_t)h; }
static inline uint16_t minmax(uint16_t a, uint16_t b, unsigned u, unsigned inf) {
  uint16_t sign = (uint16_t)((a ^ b) & 0x8000u);
  bool na = (a & 0x7fffu) > inf, nb = (b & 0x7fffu) > inf;
  if (u & H_XORSIGN) a &= 0x7fffu, b &= 0x7fffu;
  if (na && nb) return 0x7fff;
  if (na || nb) {
    if (u & H_NAN) return 0x7fff;
    uint16_t r = na ? b : a;
    return u & H_XORSIGN ? (uint16_t)((r & 0x7fffu) | sign) : r;
  }
  uint16_t r = (order_of(a) < order_of(b)) == !(u & H_MAX) ? a : b;
  return u & H_XORSIGN ? (uint16_t)((r & 0x7fffu) | sign) : r;
}
#define FL(x) (in->u & H_FTZ ? flush_h(x) : (x))
HALF2(minmax_h, minmax(FL(a[i]), FL(b[i]), in->u, 0x7c00))
HALF2(minmax_b, minmax(a[i], b[i], in->u, 0x7f80))

/* Approximate functions: double, rounded once. */
#define FLUSH_B(x) ((uint16_t)((x) & 0x7f80u ? (x) : (x) & 0x8000u))
HALF1(ex2_h, d2h(exp2((double)h2f(a[i]))))
HALF1(ex2_b, FLUSH_B(d2bf(exp2((double)bf2f(FLUSH_B(a[i]))))))
HALF1(tanh_h, d2h(tanh((double)h2f(a[i]))))
HALF1(tanh_b, d2bf(tanh((double)bf2f(a[i]))))

emu_fn *LEVELLED(ws_emu_resolve_half)(struct bind *b) {
  static const struct { const char *mnemonic; emu_fn *h, *b; } ops[] = {
      {"add", add_h, add_b}, {"sub", sub_h, sub_b}, {"mul", mul_h, mul_b}, {"fma", fma_h, fma_b}, {"abs", abs_h, abs_b}, {"neg", neg_h, neg_b},
      {"min", minmax_h, minmax_b}, {"max", minmax_h, minmax_b}, {"ex2", ex2_h, ex2_b}, {"tanh", tanh_h, tanh_b}};
  const struct isa_use *u = b->u;
  uint8_t t = u->type[0];
  b->in->n = t == T_F16X2 || t == T_BF16X2 ? 2 : 1;
  b->in->u = (uint8_t)((ws_emu_has(u, ".ftz") ? H_FTZ : 0) | (ws_emu_has(u, ".sat") ? H_SAT : 0) | (ws_emu_has(u, ".relu") ? H_RELU : 0) |
                       (ws_emu_has(u, ".NaN") ? H_NAN : 0) | (ws_emu_has(u, ".xorsign") ? H_XORSIGN : 0) |
                       (!strcmp(u->row->mnemonic, "max") ? H_MAX : 0));
  if (ws_emu_has(u, ".xorsign") != ws_emu_has(u, ".abs")) return NULL;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (!strcmp(u->row->mnemonic, ops[i].mnemonic)) return t == T_F16 || t == T_F16X2 ? ops[i].h : ops[i].b;
  return NULL;
}
