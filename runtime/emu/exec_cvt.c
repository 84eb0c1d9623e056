/* PTX ISA "Data Movement and Conversion Instructions": cvt. One exact general path, and vector loops for the frequent
 * conversions. */
#include "exec.h"
#include <float.h>
#include <stdlib.h>

/* R_STOCHASTIC carries in a mode how many random bits there are (from bit 3 on) and the bits (from bit 8 on). */
enum { R_NEAREST, R_ZERO, R_DOWN, R_UP, R_AWAY, R_STOCHASTIC };
#define STOCHASTIC(n, bits) (R_STOCHASTIC | (n) << 3 | (int)(bits) << 8)
enum { CV_FTZ = 1, CV_SAT = 2, CV_RELU = 4, CV_SATFINITE = 8, CV_INTEGRAL = 16 };
struct format { uint8_t exponent, mantissa; uint32_t max, nan; };
static const struct format f16_format = {5, 10, 0x7bff, 0x7fff}, bf16_format = {8, 7, 0x7f7f, 0x7fff}, tf32_format = {8, 10, 0x3fbff, 0x3ffff},
                           f32_format = {8, 23, 0x7f7fffff, 0x7fffffff}, e4m3_format = {4, 3, 0x7e, 0x7f}, e5m2_format = {5, 2, 0x7b, 0x7f},
                           e2m1_format = {2, 1, 0x7, 0x7}, e2m3_format = {2, 3, 0x1f, 0x1f}, e3m2_format = {3, 2, 0x1f, 0x1f}; /* no NaN: the largest */

/* ---- rounding ---- */
static bool round_up(double rest, bool odd, bool negative, int mode) {
  switch (mode) {
    case R_NEAREST: return rest > 0.5 || (rest == 0.5 && odd);
    case R_AWAY: return rest >= 0.5;
    case R_DOWN: return negative && rest > 0;
    case R_UP: return !negative && rest > 0;
    case R_ZERO: return false;
    default: return floor(ldexp(rest, mode >> 3 & 31)) + (mode >> 8) >= ldexp(1, mode >> 3 & 31); /* the carry out of their sum */
  }
}

/* A finite double to a format: sign, exponent and mantissa bits. Above the largest value: infinity or that value, as the
 * mode says. */
static uint32_t round_to(double v, const struct format *f, int mode) {
  int e;
  bool negative = signbit(v);
  uint32_t sign = (uint32_t)negative << (f->exponent + f->mantissa);
  if (v != v) return f->nan;
  uint32_t infinity = f->max + 1;
  if (isinf(v)) return sign | infinity;
  if (v == 0) return sign;
  frexp(v, &e);
  int least = 2 - (1 << (f->exponent - 1)), quantum = (e - 1 > least ? e - 1 : least) - f->mantissa;
  double scaled = ldexp(fabs(v), -quantum), whole = floor(scaled);
  uint64_t n = (uint64_t)whole;
  n += round_up(scaled - whole, n & 1, negative, mode);
  uint64_t bits = ((uint64_t)(quantum + f->mantissa - least) << f->mantissa) + n;
  if (bits <= f->max) return sign | (uint32_t)bits;
  bool to_max = mode == R_ZERO || (mode == R_DOWN && !negative) || (mode == R_UP && negative);
  return sign | (to_max ? f->max : infinity);
}

static double round_integral(double v, int mode) {
  if (!(fabs(v) < 0x1p53)) return v;
  double whole = floor(fabs(v)), r = whole + round_up(fabs(v) - whole, fmod(whole, 2) != 0, v < 0, mode);
  return copysign(r, v);
}

/* ---- the general path: a source value is an integer or a double, both exact ---- */
struct value { bool is_int, is_unsigned; int64_t i; double d; };

/* The value of a code of 8, 6 or 4 bits. */
static double narrow(uint32_t v, const struct format *f) {
  uint32_t m = v & ((1u << f->mantissa) - 1), e = v >> f->mantissa & ((1u << f->exponent) - 1), size = v & ((1u << (f->exponent + f->mantissa)) - 1);
  int bias = (1 << (f->exponent - 1)) - 1;
  double r = e ? ldexp(1.0 + ldexp(m, -f->mantissa), (int)e - bias) : ldexp(m, 1 - bias - f->mantissa);
  if (size > f->max) r = f == &e5m2_format && !m ? HUGE_VAL : (double)NAN;
  return v >> (f->exponent + f->mantissa) & 1 ? -r : r;
}

static struct value read_value(const struct warp *w, uint32_t slot, uint32_t bytes, int i, uint8_t type, unsigned flags) {
  const uint8_t *p = w->regs + slot + (uint32_t)i * bytes;
  struct value v = {0};
  uint64_t raw = 0;
  memcpy(&raw, p, bytes < 8 ? bytes : 8);
  switch (type) {
    case T_F16: v.d = h2f((uint16_t)raw); return v;
    case T_BF16: v.d = bf2f((uint16_t)raw); return v;
    case T_F32: v.d = flags & CV_FTZ ? ftz(u2f((uint32_t)raw)) : u2f((uint32_t)raw); return v;
    case T_F64: v.d = u2d(raw); return v;
    default: break;
  }
  uint32_t bits = ws_emu_types[type].bits, shift = 64 - bits;
  v.is_int = true;
  v.is_unsigned = ws_emu_types[type].cls == 'u';
  v.i = v.is_unsigned ? (int64_t)(raw << shift >> shift) : (int64_t)(raw << shift) >> shift;
  return v;
}

static int64_t clamp_int(struct value v, uint32_t bits, bool is_unsigned) {
  uint64_t top = is_unsigned ? ~0ull >> (64 - bits) : ~0ull >> (65 - bits);
  int64_t low = is_unsigned ? 0 : -(int64_t)top - 1;
  if (v.is_unsigned || v.i >= 0) return (uint64_t)v.i > top ? (int64_t)top : v.i;
  return v.i < low ? low : v.i;
}

/* Out-of-range values clamp. NaN gives 0, or the top bit where a 64-bit type is involved. */
static int64_t float_to_int(double d, uint32_t bits, bool is_unsigned, int mode, bool wide) {
  if (d != d) return wide ? (int64_t)(1ull << (bits - 1)) : 0;
  d = round_integral(d, mode);
  double top = ldexp(1, (int)bits - (is_unsigned ? 0 : 1)), low = is_unsigned ? 0 : -top;
  if (d <= low) return is_unsigned ? 0 : (int64_t)(~0ull << (bits - 1));
  if (d >= top) return (int64_t)(is_unsigned ? ~0ull >> (64 - bits) : ~0ull >> (65 - bits));
  return is_unsigned && d >= 0x1p63 ? (int64_t)((uint64_t)(d - 0x1p63) + (1ull << 63)) : (int64_t)d;
}

/* An integer as a double that rounds on as the integer would: beyond 53 bits the lowest bit is sticky. */
static double int_to_double(struct value v, int mode, bool final) {
  bool negative = !v.is_unsigned && v.i < 0;
  uint64_t m = negative ? 0 - (uint64_t)v.i : (uint64_t)v.i;
  if (m >> 53) {
    int drop = 11 - __builtin_clzll(m);
    uint64_t rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    m >>= drop;
    if (final) m += round_up(rest > half ? 0.75 : rest == half ? 0.5 : rest ? 0.25 : 0, m & 1, negative, mode);
    else if (rest) m |= 1;
    double d = ldexp((double)m, drop);
    return negative ? -d : d;
  }
  return negative ? -(double)m : (double)m;
}

static uint64_t float_bits(double d, uint8_t type, int mode, unsigned flags) {
  const struct format *f = type == T_F16 ? &f16_format : type == T_BF16 ? &bf16_format : type == T_TF32 ? &tf32_format : &f32_format;
  if (flags & CV_SAT) d = d > 0 ? (d < 1 ? d : 1) : 0;
  if (flags & CV_RELU && d < 0) d = 0;
  if (flags & CV_RELU && d == 0) d = 0;
  if (type == T_F64) return d2u(d);
  uint32_t bits = round_to(d, f, mode), magnitude = ~(1u << (f->exponent + f->mantissa));
  if (flags & CV_SATFINITE && d == d && (bits & magnitude) > f->max) bits = (bits & ~magnitude) | f->max;
  if (type == T_TF32) return (uint64_t)bits << 13;
  if (type == T_F32 && flags & CV_FTZ && !(bits & 0x7f800000u)) bits &= 0x80000000u;
  return bits;
}

static void write_value(struct warp *w, uint32_t slot, uint32_t bytes, int i, uint64_t v) {
  memcpy(w->regs + slot + (uint32_t)i * bytes, &v, bytes);
}

/* in->imm: source type, destination type, mode, flags, a byte each; in->imm2: source and destination register bytes. */
#define SRC_TYPE(in) ((uint8_t)(in)->imm)
#define DST_TYPE(in) ((uint8_t)((in)->imm >> 8))
#define MODE(in) ((int)((in)->imm >> 16 & 0xff))
#define FLAGS(in) ((unsigned)((in)->imm >> 24 & 0xff))
HANDLER(cvt_general) {
  uint8_t s = SRC_TYPE(in), t = DST_TYPE(in);
  uint32_t bits = ws_emu_types[t].bits, sb = (uint32_t)in->imm2 & 0xff, db = (uint32_t)in->imm2 >> 8;
  bool to_int = ws_emu_types[t].cls != 'f', is_unsigned = ws_emu_types[t].cls == 'u';
  unsigned flags = FLAGS(in);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    struct value v = read_value(w, in->o[1], sb, i, s, flags);
    uint64_t r;
    if (to_int && v.is_int) r = (uint64_t)(flags & CV_SAT ? clamp_int(v, bits, is_unsigned) : v.i);
    else if (to_int) r = (uint64_t)float_to_int(v.d, bits, is_unsigned, MODE(in), s == T_F64 || bits == 64);
    else if (v.is_int) r = float_bits(int_to_double(v, MODE(in), t == T_F64), t, MODE(in), flags);
    else r = float_bits(flags & CV_INTEGRAL ? round_integral(v.d, MODE(in)) : v.d, t, MODE(in), flags);
    if (to_int && bits < 64) { /* extended to the register by the destination's signedness */
      uint32_t shift = 64 - bits;
      r = is_unsigned ? r << shift >> shift : (uint64_t)((int64_t)(r << shift) >> shift);
    }
    write_value(w, in->o[0], db, i, r);
  }
  return EV_NEXT;
}

/* ---- packed types: the first operand, or the upper half, becomes the upper part ---- */
static const struct packed { uint8_t type, count, bits; const struct format *format; } packed_types[] = { /* bits: of an element's container */
    {T_E4M3X2, 2, 8, &e4m3_format}, {T_E5M2X2, 2, 8, &e5m2_format}, {T_E2M3X2, 2, 8, &e2m3_format}, {T_E3M2X2, 2, 8, &e3m2_format},
    {T_E2M1X2, 2, 4, &e2m1_format}, {T_E4M3X4, 4, 8, &e4m3_format}, {T_E5M2X4, 4, 8, &e5m2_format}, {T_E2M3X4, 4, 8, &e2m3_format},
    {T_E3M2X4, 4, 8, &e3m2_format}, {T_E2M1X4, 4, 4, &e2m1_format}};
static const struct packed *packed_type(uint8_t type) {
  for (size_t i = 0; i < sizeof packed_types / sizeof *packed_types; i++)
    if (packed_types[i].type == type) return &packed_types[i];
  return NULL;
}
/* PTX ISA "cvt", .satfinite: what is larger, infinity too, becomes the largest value; a format without NaN gives that for NaN. */
static uint32_t to_narrow(double d, const struct format *f, int mode, unsigned flags) {
  double most = narrow(f->max, f);
  if (d != d) return f->nan;
  if (flags & CV_RELU && d <= 0) d = 0;
  return round_to(d > most ? most : d < -most ? -most : d, f, mode);
}
static double half_of(uint32_t pair, int upper, uint8_t type) {
  uint16_t h = (uint16_t)(upper ? pair >> 16 : pair);
  return type == T_F16X2 ? h2f(h) : bf2f(h);
}
HANDLER(cvt_pack) {
  const float *a = SLOT(float, 1), *b = SLOT(float, 2);
  uint8_t half = DST_TYPE(in) == T_F16X2 ? T_F16 : T_BF16;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    SLOT(uint32_t, 0)[i] = (uint32_t)(float_bits(a[i], half, MODE(in), FLAGS(in)) << 16 | float_bits(b[i], half, MODE(in), FLAGS(in)));
  }
  return EV_NEXT;
}
HANDLER(cvt_pack_stochastic) { /* 13 of the 16 random bits of a half are f16's */
  const float *a = SLOT(float, 1), *b = SLOT(float, 2);
  uint8_t half = DST_TYPE(in) == T_F16X2 ? T_F16 : T_BF16;
  int n = half == T_F16 ? 13 : 16;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint32_t random = SLOT(uint32_t, 3)[i], own = (1u << n) - 1;
    uint64_t upper = float_bits(a[i], half, STOCHASTIC(n, random >> 16 & own), FLAGS(in)), lower = float_bits(b[i], half, STOCHASTIC(n, random & own), FLAGS(in));
    SLOT(uint32_t, 0)[i] = (uint32_t)(upper << 16 | lower);
  }
  return EV_NEXT;
}
HANDLER(cvt_narrow) { /* two f32, or two halves of a register */
  const struct packed *t = packed_type(DST_TYPE(in));
  uint8_t s = SRC_TYPE(in);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    double upper = s == T_F32 ? (double)SLOT(float, 1)[i] : half_of(SLOT(uint32_t, 1)[i], 1, s), lower = s == T_F32 ? (double)SLOT(float, 2)[i] : half_of(SLOT(uint32_t, 1)[i], 0, s);
    write_value(w, in->o[0], (uint32_t)in->imm2 >> 8, i, to_narrow(upper, t->format, R_NEAREST, FLAGS(in)) << t->bits | to_narrow(lower, t->format, R_NEAREST, FLAGS(in)));
  }
  return EV_NEXT;
}
HANDLER(cvt_widen) { /* to f16x2 */
  const struct packed *t = packed_type(SRC_TYPE(in));
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint32_t pair = 0;
    memcpy(&pair, w->regs + in->o[1] + (uint32_t)i * (uint32_t)(in->imm2 & 0xff), in->imm2 & 0xff);
    uint32_t upper = (uint32_t)float_bits(narrow(pair >> t->bits, t->format), T_F16, R_NEAREST, FLAGS(in));
    SLOT(uint32_t, 0)[i] = upper << 16 | (uint32_t)float_bits(narrow(pair, t->format), T_F16, R_NEAREST, FLAGS(in));
  }
  return EV_NEXT;
}
/* Four elements, the first in the uppermost bits. PTX ISA "cvt": the first two take their random bits from the upper half of the
 * operand, the others from the lower; of .e2m1x4 8 bits each, those of the first two from the upper byte of either half. */
HANDLER(cvt_four_stochastic) {
  const struct packed *t = packed_type(DST_TYPE(in));
  static const uint8_t byte[4] = {24, 8, 16, 0};
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint32_t random = SLOT(uint32_t, 1)[i], r = 0;
    for (int k = 0; k < 4; k++) {
      int mode = t->bits == 4 ? STOCHASTIC(8, random >> byte[k] & 0xff) : STOCHASTIC(16, k < 2 ? random >> 16 : random & 0xffff);
      r = r << t->bits | to_narrow(((const float *)ws_emu_slot(w, in->x[k]))[i], t->format, mode, FLAGS(in));
    }
    write_value(w, in->o[0], (uint32_t)in->imm2 >> 8, i, r);
  }
  return EV_NEXT;
}
/* ue8m0: a power of two and no sign; the sign of the source has no effect. */
static uint32_t to_ue8m0(double d, bool up, bool finite) {
  int e;
  if (d != d) return 0xff;
  if (isinf(d)) return finite ? 0xfe : 0xff;
  double f = frexp(fabs(d), &e); /* in [1/2, 1), or 0 */
  e += 127 - (up && f > 0.5 ? 0 : 1);
  if (d == 0 || e < 0) return 0;
  return e < 0xff ? (uint32_t)e : finite ? 0xfe : 0xff;
}
HANDLER(cvt_to_ue8m0) {
  uint8_t s = SRC_TYPE(in);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    double upper = s == T_F32 ? (double)SLOT(float, 1)[i] : half_of(SLOT(uint32_t, 1)[i], 1, s), lower = s == T_F32 ? (double)SLOT(float, 2)[i] : half_of(SLOT(uint32_t, 1)[i], 0, s);
    bool up = MODE(in) == R_UP, finite = FLAGS(in) & CV_SATFINITE;
    SLOT(uint16_t, 0)[i] = (uint16_t)(to_ue8m0(upper, up, finite) << 8 | to_ue8m0(lower, up, finite));
  }
  return EV_NEXT;
}
static uint32_t of_ue8m0(uint32_t code) { return code == 0xff ? 0x7fff : code ? code << 7 : 0x40; } /* 2^-127 is subnormal in bf16 */
DEF1(cvt_of_ue8m0, uint32_t, uint16_t, of_ue8m0(a[i] >> 8) << 16 | of_ue8m0(a[i] & 0xff))

/* cvt.pack: b below a, below what is left of c (PTX ISA "cvt.pack"). imm: bits of an element; imm2: most in the low half, least in the high one. */
HANDLER(cvt_saturate_pack) {
  const int32_t *a = SLOT(int32_t, 1), *b = SLOT(int32_t, 2);
  const uint32_t *c = in->o[3] == NO_SLOT ? NULL : SLOT(uint32_t, 3);
  uint32_t *d = SLOT(uint32_t, 0), bits = (uint32_t)in->imm, mask = (1u << bits) - 1;
  int32_t least = (int32_t)(in->imm2 >> 32), most = (int32_t)(in->imm2 & 0xffff);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    int32_t hi = a[i] < least ? least : a[i] > most ? most : a[i], lo = b[i] < least ? least : b[i] > most ? most : b[i];
    d[i] = ((uint32_t)lo & mask) | ((uint32_t)hi & mask) << bits | (c ? c[i] << 2 * bits : 0);
  }
  return EV_NEXT;
}
static emu_fn *resolve_pack(struct bind *b) {
  const char *type = b->u->mods[2]; /* .u8 and the like */
  int64_t bits = strtol(type + 2, NULL, 10), most = (1ll << (type[1] == 's' ? bits - 1 : bits)) - 1;
  b->in->imm = bits;
  b->in->imm2 = most | (type[1] == 's' ? -most - 1 : 0) * (1ll << 32);
  return cvt_saturate_pack;
}

/* ---- the frequent ones as vector loops ---- */
DEF2(bf16x2_f32, uint32_t, float, float, (uint32_t)f2bf(a[i]) << 16 | f2bf(b[i]))
DEF2(f16x2_f32, uint32_t, float, float, (uint32_t)f2h(a[i]) << 16 | f2h(b[i]))
DEF1(bf16_f32, uint16_t, float, f2bf(a[i]))
DEF1(f16_f32, uint16_t, float, f2h(a[i]))
DEF1(f32_f16, float, uint16_t, canon(h2f(a[i])))
DEF1(f32_bf16, float, uint16_t, canon(bf2f(a[i])))
DEF1(f32_s32, float, int32_t, (float)a[i])
DEF1(f32_u32, float, uint32_t, (float)a[i])
DEF1(u64_u32, uint64_t, uint32_t, a[i])
DEF1(s64_s32, int64_t, int32_t, a[i])
DEF1(u32_u64, uint32_t, uint64_t, a[i])
DEF1(u16_u32, uint16_t, uint32_t, a[i])
DEF1(u32_u16, uint32_t, uint16_t, a[i])
DEF1(s32_s16, int32_t, int16_t, a[i])
static inline int32_t trunc_s32(float f) {
  float g = f < -2147483648.0f ? -2147483648.0f : f; /* f >= 2^31 is handled by the selection */
  g = g < 2147483648.0f ? g : 0.0f;                  /* NaN and too large: the conversion stays defined */
  int32_t r = (int32_t)g;
  return f >= 2147483648.0f ? INT32_MAX : f != f ? 0 : r;
}
DEF1(s32_f32_rz, int32_t, float, trunc_s32(a[i]))

static const struct { const char *key; emu_fn *fn; uint8_t dst, src; } fast[] = {
    {"cvt.rn.bf16x2.f32", bf16x2_f32, 4, 4}, {"cvt.rn.f16x2.f32", f16x2_f32, 4, 4}, {"cvt.rn.bf16.f32", bf16_f32, 2, 4},
    {"cvt.rn.f16.f32", f16_f32, 2, 4}, {"cvt.f32.f16", f32_f16, 4, 2}, {"cvt.f32.bf16", f32_bf16, 4, 2}, {"cvt.rn.f32.s32", f32_s32, 4, 4},
    {"cvt.rn.f32.u32", f32_u32, 4, 4}, {"cvt.u64.u32", u64_u32, 8, 4}, {"cvt.s64.s32", s64_s32, 8, 4}, {"cvt.u32.u64", u32_u64, 4, 8},
    {"cvt.s32.s64", u32_u64, 4, 8}, {"cvt.s32.u64", u32_u64, 4, 8}, {"cvt.u32.s64", u32_u64, 4, 8}, {"cvt.u16.u32", u16_u32, 2, 4},
    {"cvt.u32.u16", u32_u16, 4, 2}, {"cvt.s32.s16", s32_s16, 4, 2}, {"cvt.rzi.s32.f32", s32_f32_rz, 4, 4}};

/* Which rounding a conversion needs, takes or must not have (PTX ISA "cvt", Semantics). */
static bool rounding_fits(const struct isa_use *u, uint8_t t, uint8_t s, bool integral, bool mode) {
  bool tf = ws_emu_types[t].cls == 'f', sf = ws_emu_types[s].cls == 'f';
  if (!tf && sf) return integral;
  if (!tf) return !integral && !mode;
  if (!sf) return mode;
  uint32_t tb = ws_emu_types[t].bits, sb = ws_emu_types[s].bits;
  if (tb == sb && t == s) return !mode;
  if (tb > sb) return !integral && !mode;
  (void)u;
  return mode && !integral;
}

emu_fn *LEVELLED(ws_emu_resolve_cvt)(struct bind *b) {
  static const struct { const char *mod; int mode; bool integral; } modes[] = {
      {".rn", R_NEAREST, 0}, {".rz", R_ZERO, 0}, {".rm", R_DOWN, 0}, {".rp", R_UP, 0}, {".rna", R_AWAY, 0},
      {".rni", R_NEAREST, 1}, {".rzi", R_ZERO, 1}, {".rmi", R_DOWN, 1}, {".rpi", R_UP, 1}};
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  uint8_t t = u->type[0], s = u->type[1];
  if (ws_emu_has(u, ".pack")) return resolve_pack(b);
  for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
    if (!strcmp(fast[i].key, u->key) && fast[i].dst == b->dw && fast[i].src == b->sw) return fast[i].fn;
  int64_t mode = R_NEAREST;
  bool integral = false, given = false;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (!strcmp(u->mods[0], modes[i].mod) && !u->ignored[0]) mode = modes[i].mode, integral = modes[i].integral, given = !integral;
  int64_t flags = (ws_emu_has(u, ".ftz") ? CV_FTZ : 0) | (ws_emu_has(u, ".sat") ? CV_SAT : 0) | (ws_emu_has(u, ".relu") ? CV_RELU : 0) |
                  (ws_emu_has(u, ".satfinite") ? CV_SATFINITE : 0) | (integral ? CV_INTEGRAL : 0);
  in->imm = s | (int64_t)t << 8 | mode << 16 | flags << 24;
  in->imm2 = b->sw | (int64_t)b->dw << 8;
  bool stochastic = ws_emu_has(u, ".rs");
  if (packed_type(s)) return cvt_widen;
  if (packed_type(t)) return stochastic ? cvt_four_stochastic : cvt_narrow;
  if (t == T_UE8M0X2) return cvt_to_ue8m0;
  if (s == T_UE8M0X2) return cvt_of_ue8m0;
  if (t == T_F16X2 || t == T_BF16X2) return stochastic ? cvt_pack_stochastic : cvt_pack;
  return rounding_fits(u, t, s, integral, given) ? cvt_general : NULL;
}
