/* PTX ISA "Data Movement and Conversion Instructions": cvt, mov with vectors. References: definitions in long double and
 * 128-bit integers. */
#include "isa_case.h"
#include <math.h>

typedef __int128 s128;
static long double h_value(uint64_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  long double v = e == 31 ? (m ? (long double)NAN : (long double)INFINITY) : e ? ldexpl(1024 + m, e - 25) : ldexpl(m, -24);
  return h & 0x8000 ? -v : v;
}
/* Rounds to p significant bits, exponents from least; mode: n nearest even, z, m, p, a (nearest, ties away). */
static long double round_bits(long double v, int p, int least, int mode) {
  if (!isfinite(v) || v == 0) return v;
  int e = ilogbl(v);
  if (e < least) e = least;
  long double scaled = ldexpl(v, p - 1 - e), down = floorl(scaled), frac = scaled - down, r = down;
  bool up = false;
  if (mode == 'n') up = frac > 0.5L || (frac == 0.5L && fmodl(down, 2) != 0);
  if (mode == 'a') up = frac > 0.5L || (frac == 0.5L && v > 0);
  if (mode == 'z') up = frac > 0 && v < 0;
  if (mode == 'p') up = frac > 0;
  if (up) r = down + 1;
  return copysignl(ldexpl(r, e - p + 1), v);
}
static uint64_t code_h(long double v) { /* v is representable or too large */
  uint64_t s = signbit(v) ? 0x8000 : 0;
  long double x = fabsl(v);
  if (v != v) return 0x7fff;
  if (x > 65504) return s | 0x7c00;
  if (x < 0x1p-14L) return s | (uint64_t)(x * 0x1p24L);
  int e = ilogbl(x);
  return s | ((uint64_t)(e + 15) << 10) | ((uint64_t)ldexpl(x, 10 - e) & 1023);
}
static uint64_t code_b(long double v) { return of_f32((float)v) >> 16 | (v != v ? 0x7fff : 0); }
static uint64_t to_h(long double v, int mode) {
  long double r = round_bits(v, 11, -14, mode);
  if (fabsl(r) > 65504 && isfinite(v) && (mode == 'z')) return (signbit(v) ? 0x8000 : 0) | 0x7bff;
  return code_h(r);
}
static uint64_t to_b(long double v, int mode) {
  long double r = round_bits(v, 8, -126, mode);
  if (v != v) return 0x7fff;
  if (fabsl(r) > 0x1.fep127L && isfinite(v) && mode == 'z') return (signbit(v) ? 0x8000 : 0) | 0x7f7f;
  return code_b(r);
}
/* to integers: NaN gives 0, or the top bit where a 64-bit type takes part; the rest clamps */
static uint64_t to_int(long double v, int bits, bool is_signed, int mode, bool wide) {
  if (v != v) return wide ? 1ull << (bits - 1) : 0;
  long double r = mode == 'n' ? rintl(v) : mode == 'z' ? truncl(v) : mode == 'm' ? floorl(v) : ceill(v);
  long double top = ldexpl(1, bits - (is_signed ? 1 : 0)) - 1, low = is_signed ? -top - 1 : 0;
  r = r > top ? top : r < low ? low : r;
  return r < 0 ? (uint64_t)(int64_t)r : (uint64_t)r;
}
static s128 sx(uint64_t v, int n) { return (s128)((int64_t)(v << (64 - n)) >> (64 - n)); }
static s128 clamp(s128 v, s128 lo, s128 hi) { return v < lo ? lo : v > hi ? hi : v; }
#define FA ((long double)as_f32(a))
#define FB ((long double)as_f32(b))
#define DA ((long double)as_f64(a))
static long double flush(long double v) { return fabsl(v) < 0x1p-126L ? copysignl(0, v) : v; }

WANT(h_f, to_h(FA, 'n')) WANT(h_f_rz, to_h(FA, 'z')) WANT(b_f, to_b(FA, 'n')) WANT(b_f_rz, to_b(FA, 'z')) WANT(f_h, of_f32((float)h_value(a & 0xffff))) WANT(f_b, of_f32(as_f32((a & 0xffff) << 16)))
WANT(h2_f, to_h(FA, 'n') << 16 | to_h(FB, 'n')) WANT(b2_f, to_b(FA, 'n') << 16 | to_b(FB, 'n'))
static uint64_t relu(uint64_t h) { return h == 0x7fff ? h : h & 0x8000 ? 0 : h; }
WANT(b2_relu, relu(to_b(FA, 'n')) << 16 | relu(to_b(FB, 'n'))) WANT(h_d, to_h(DA, 'n')) WANT(f_d, of_f32((float)as_f64(a))) WANT(d_f, of_f64((double)as_f32(a)))
WANT(f_d_rz, of_f32((float)(fabsl(round_bits(DA, 24, -126, 'z')) > 0x1.fffffep127L && isfinite(as_f64(a)) ? copysignl(0x1.fffffep127L, DA) : round_bits(DA, 24, -126, 'z'))))
WANT(s32_f, to_int(FA, 32, 1, 'z', 0)) WANT(u32_f, to_int(FA, 32, 0, 'n', 0)) WANT(s64_f, to_int(FA, 64, 1, 'm', 1)) WANT(u64_d, to_int(DA, 64, 0, 'p', 1)) WANT(s32_d, to_int(DA, 32, 1, 'n', 1))
WANT(s16_h, to_int(h_value(a & 0xffff), 16, 1, 'z', 0)) WANT(u8_f, to_int(FA, 8, 0, 'z', 0)) WANT(s32_f_ftz, to_int(flush(FA), 32, 1, 'p', 0))
WANT(f_s32, of_f32((float)(int32_t)a)) WANT(f_u64, of_f32((float)a)) WANT(f_s64_rz, of_f32((float)round_bits((long double)(int64_t)a, 24, -126, 'z'))) WANT(d_u64, of_f64((double)a))
WANT(d_s64_rm, of_f64((double)round_bits((long double)(int64_t)a, 53, -1022, 'm'))) WANT(h_s32, to_h((long double)(int32_t)a, 'n')) WANT(h_u64, to_h((long double)a, 'n'))
WANT(f_f_rni, of_f32(rintf(as_f32(a)))) WANT(f_f_rzi, of_f32(truncf(as_f32(a)))) WANT(f_f_rmi, of_f32(floorf(as_f32(a)))) WANT(d_d_rpi, of_f64(ceil(as_f64(a))))
WANT(f_f_sat, of_f32(as_f32(a) > 0 ? (as_f32(a) < 1 ? as_f32(a) : 1) : 0))
WANT(u32_u16, a & 0xffff) WANT(s32_s16, sx(a, 16)) WANT(s64_s32, sx(a, 32)) WANT(u64_u32, a & 0xffffffff) WANT(s32_s8, sx(a, 8)) WANT(u16_u32, a & 0xffff) WANT(u32_u8, a & 0xff)
WANT(s8_sat, clamp(sx(a, 32), -128, 127)) WANT(u8_sat, clamp(sx(a, 32), 0, 255)) WANT(u16_sat, clamp((s128)(a & 0xffffffff), 0, 65535)) WANT(s32_sat64, clamp(sx(a, 64), INT32_MIN, INT32_MAX))
WANT(u32_sat_s32, clamp(sx(a, 32), 0, UINT32_MAX))
WANT(tf32, a != a ? 0 : (as_f32(a) != as_f32(a)) ? 0x7fffe000 : isinf(as_f32(a)) ? a : of_f32((float)round_bits(FA, 11, -126, 'a') + 0 * as_f32(0)) | (a & 0x80000000))
/* fp8: nearest even by search over the codes */
static long double e4m3(unsigned c) { int e = c >> 3 & 15; return e ? ldexpl(8 + (c & 7), e - 10) : ldexpl(c & 7, -9); }
static long double e5m2(unsigned c) { int e = c >> 2 & 31; return e ? ldexpl(4 + (c & 3), e - 17) : ldexpl(c & 3, -16); }
static uint64_t to_fp8(long double v, long double (*value)(unsigned), unsigned max) {
  if (v != v) return 0x7f;
  unsigned best = 0, s = signbit(v) ? 0x80 : 0;
  long double x = fminl(fabsl(v), 1e6L); /* beyond the largest code, where differences stay exact */
  for (unsigned c = 1; c <= max; c++) {
    long double d = fabsl(value(c) - x), e = fabsl(value(best) - x);
    if (d < e || (d == e && !(c & 1))) best = c;
  }
  return s | best;
}
WANT(e4m3_f, to_fp8(FA, e4m3, 0x7e) << 8 | to_fp8(FB, e4m3, 0x7e)) WANT(e5m2_f, to_fp8(FA, e5m2, 0x7b) << 8 | to_fp8(FB, e5m2, 0x7b))
WANT(e4m3_h, to_fp8(h_value(a >> 16 & 0xffff), e4m3, 0x7e) << 8 | to_fp8(h_value(a & 0xffff), e4m3, 0x7e))
static uint64_t h_of_e4m3(uint64_t c) { return (c & 0x7f) == 0x7f ? 0x7fff : code_h(e4m3((unsigned)c & 0x7f)) | (c & 0x80) << 8; }
static uint64_t h_of_e5m2(uint64_t c) { return (c & 0x7f) > 0x7c ? 0x7fff : (c & 0xff) << 8; }
WANT(h_e4m3, h_of_e4m3(a & 0xff) | h_of_e4m3(a >> 8 & 0xff) << 16) WANT(h_e5m2, h_of_e5m2(a & 0xff) | h_of_e5m2(a >> 8 & 0xff) << 16)
/* ---- 6 and 4 bits, ue8m0, stochastic rounding ---- */
#define BA ((long double)as_f32((a & 0xffff) << 16))
#define BA1 ((long double)as_f32(a & 0xffff0000))
static long double e2m1(unsigned c) { static const long double v[8] = {0, 0.5L, 1, 1.5L, 2, 3, 4, 6}; return v[c & 7]; }
static long double e2m3(unsigned c) { int e = c >> 3 & 3; return e ? ldexpl(8 + (c & 7), e - 4) : ldexpl(c & 7, -3); }
static long double e3m2(unsigned c) { int e = c >> 2 & 7; return e ? ldexpl(4 + (c & 3), e - 5) : ldexpl(c & 3, -4); }
struct small { long double (*value)(unsigned); unsigned max, sign, nan; };
static const struct small s_e2m1 = {e2m1, 7, 8, 7}, s_e2m3 = {e2m3, 31, 32, 31}, s_e3m2 = {e3m2, 31, 32, 31}, s_e4m3 = {e4m3, 0x7e, 0x80, 0x7f}, s_e5m2 = {e5m2, 0x7b, 0x80, 0x7f};
static uint64_t to_small(long double v, const struct small *s) {
  if (v != v) return s->nan;
  uint64_t r = to_fp8(v, s->value, s->max);
  return (r & 0x7f) | (r & 0x80 ? s->sign : 0);
}
/* between the codes below and above: up when the random bits carry */
static uint64_t stochastic_small(long double v, const struct small *s, int n, uint64_t random) {
  if (v != v) return s->nan;
  unsigned c = 0, sign = signbit(v) ? s->sign : 0;
  long double x = fminl(fabsl(v), s->value(s->max));
  while (c < s->max && s->value(c + 1) <= x) c++;
  if (c < s->max && floorl((x - s->value(c)) / (s->value(c + 1) - s->value(c)) * ldexpl(1, n)) + random >= ldexpl(1, n)) c++;
  return sign | c;
}
static uint64_t relu_small(uint64_t c, const struct small *s) { return c & s->sign && c != s->nan ? 0 : c; }
WANT(e2m1_f, to_small(FA, &s_e2m1) << 4 | to_small(FB, &s_e2m1)) WANT(e2m3_f, to_small(FA, &s_e2m3) << 8 | to_small(FB, &s_e2m3)) WANT(e3m2_f, to_small(FA, &s_e3m2) << 8 | to_small(FB, &s_e3m2))
WANT(e3m2_f_relu, relu_small(to_small(FA, &s_e3m2), &s_e3m2) << 8 | relu_small(to_small(FB, &s_e3m2), &s_e3m2))
WANT(e2m1_h, to_small(h_value(a >> 16 & 0xffff), &s_e2m1) << 4 | to_small(h_value(a & 0xffff), &s_e2m1)) WANT(e2m3_b, to_small(BA1, &s_e2m3) << 8 | to_small(BA, &s_e2m3)) WANT(e4m3_b, to_small(BA1, &s_e4m3) << 8 | to_small(BA, &s_e4m3))
static uint64_t h_of_small(uint64_t c, const struct small *s) { return code_h(s->value((unsigned)c & (s->sign - 1))) | (c & s->sign ? 0x8000 : 0); }
WANT(h_e2m1, h_of_small(a & 15, &s_e2m1) | h_of_small(a >> 4 & 15, &s_e2m1) << 16) WANT(h_e2m3, h_of_small(a & 63, &s_e2m3) | h_of_small(a >> 8 & 63, &s_e2m3) << 16) WANT(h_e3m2, h_of_small(a & 63, &s_e3m2) | h_of_small(a >> 8 & 63, &s_e3m2) << 16)
static uint64_t ue8m0(long double v, bool up, bool finite) { /* the exponents, one after the other */
  long double x = fabsl(v);
  int c = 0;
  if (v != v) return 0xff;
  while (c < 255 && (up ? ldexpl(1, c - 127) < x : ldexpl(1, c - 126) <= x)) c++;
  return c == 255 && finite ? 254 : (uint64_t)c;
}
WANT(ue8m0_rz, ue8m0(FA, 0, 1) << 8 | ue8m0(FB, 0, 1)) WANT(ue8m0_rp, ue8m0(FA, 1, 1) << 8 | ue8m0(FB, 1, 1)) WANT(ue8m0_inf, ue8m0(FA, 1, 0) << 8 | ue8m0(FB, 1, 0)) WANT(ue8m0_b, ue8m0(BA1, 0, 1) << 8 | ue8m0(BA, 0, 1))
static uint64_t b_of_ue8m0(uint64_t c) { return c == 255 ? 0x7fff : of_f32((float)ldexpl(1, (int)c - 127)) >> 16; }
WANT(b_ue8m0, b_of_ue8m0(a & 0xff) | b_of_ue8m0(a >> 8 & 0xff) << 16)
static uint64_t stochastic(long double v, int p, int least, int n, uint64_t random, long double most, uint64_t (*code)(long double), bool finite) {
  if (v != v) return 0x7fff;
  long double x = fabsl(v), down = round_bits(x, p, least, 'm');
  if (isinf(v) || down > most) return (finite ? code(most) : code((long double)INFINITY)) | (signbit(v) ? 0x8000 : 0);
  int e = x > 0 ? ilogbl(x) : least;
  long double step = ldexpl(1, (e < least ? least : e) - p + 1);
  if (floorl((x - down) / step * ldexpl(1, n)) + random >= ldexpl(1, n)) down += step;
  if (down > most) down = finite ? most : (long double)INFINITY;
  return code(down) | (signbit(v) ? 0x8000 : 0);
}
WANT(h2_rs, stochastic(FA, 11, -14, 13, c >> 16 & 0x1fff, 65504, code_h, 0) << 16 | stochastic(FB, 11, -14, 13, c & 0x1fff, 65504, code_h, 0))
WANT(b2_rs, stochastic(FA, 8, -126, 16, c >> 16 & 0xffff, 0x1.fep127L, code_b, 1) << 16 | stochastic(FB, 8, -126, 16, c & 0xffff, 0x1.fep127L, code_b, 1))
static uint64_t four(uint64_t a, uint64_t b, uint64_t c, const struct small *s) {
  uint64_t hi = c >> 16 & 0xffff, lo = c & 0xffff;
  return stochastic_small(FA, s, 16, hi) << 24 | stochastic_small(FB, s, 16, hi) << 16 | stochastic_small(FB, s, 16, lo) << 8 | stochastic_small(FA, s, 16, lo);
}
WANT(e4m3x4, four(a, b, c, &s_e4m3)) WANT(e5m2x4, four(a, b, c, &s_e5m2)) WANT(e2m3x4, four(a, b, c, &s_e2m3)) WANT(e3m2x4, four(a, b, c, &s_e3m2))
WANT(e2m1x4, stochastic_small(FA, &s_e2m1, 8, c >> 24 & 255) << 12 | stochastic_small(FB, &s_e2m1, 8, c >> 8 & 255) << 8 | stochastic_small(FB, &s_e2m1, 8, c >> 16 & 255) << 4 | stochastic_small(FA, &s_e2m1, 8, c & 255))
WANT(swap64, (a << 32) | (a >> 32)) WANT(halves, ((a & 0xffff) << 16) | ((a >> 16) & 0xffff)) WANT(bytes, (a & 0xff) << 24 | (a >> 8 & 0xff) << 16 | (a >> 16 & 0xff) << 8 | (a >> 24 & 0xff))

#define V(text, types, fn) {"Data Movement and Conversion Instructions: cvt", text, types, fn, EXACT, NULL}
#define V9(text, types, fn) {"Data Movement and Conversion Instructions: cvt", text, types, fn, EXACT, SM90}
#define V10(text, types, fn) {"Data Movement and Conversion Instructions: cvt", text, types, fn, EXACT, ".version 9.1\n.target sm_100a\n"}
#define N(text, types, fn) {"Data Movement and Conversion Instructions: cvt", text, types, fn, ANY_NAN, NULL}
static const struct isa_case cases[] = {
    V("cvt.rn.f16.f32 %d, %a;", "f16 f32", h_f), V("cvt.rz.f16.f32 %d, %a;", "f16 f32", h_f_rz), V("cvt.rn.bf16.f32 %d, %a;", "bf16 f32", b_f), V("cvt.rz.bf16.f32 %d, %a;", "bf16 f32", b_f_rz),
    N("cvt.f32.f16 %d, %a;", "f32 f16", f_h), N("cvt.f32.bf16 %d, %a;", "f32 bf16", f_b), V("cvt.rn.f16x2.f32 %d, %a, %b;", "b32 f32 f32", h2_f), V("cvt.rn.bf16x2.f32 %d, %a, %b;", "b32 f32 f32", b2_f),
    V("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", "b32 f32 f32", b2_relu), V("cvt.rn.f16.f64 %d, %a;", "f16 f64", h_d), N("cvt.rn.f32.f64 %d, %a;", "f32 f64", f_d), N("cvt.rz.f32.f64 %d, %a;", "f32 f64", f_d_rz),
    N("cvt.f64.f32 %d, %a;", "f64 f32", d_f), V("cvt.rzi.s32.f32 %d, %a;", "s32 f32", s32_f), V("cvt.rni.u32.f32 %d, %a;", "u32 f32", u32_f), V("cvt.rmi.s64.f32 %d, %a;", "s64 f32", s64_f),
    V("cvt.rpi.u64.f64 %d, %a;", "u64 f64", u64_d), V("cvt.rni.s32.f64 %d, %a;", "s32 f64", s32_d), V("cvt.rzi.s16.f16 %d, %a;", "s16 f16", s16_h), V("cvt.rzi.u8.f32 %d, %a;", "u32 f32", u8_f),
    V("cvt.rpi.ftz.s32.f32 %d, %a;", "s32 f32", s32_f_ftz), V("cvt.rn.f32.s32 %d, %a;", "f32 s32", f_s32), V("cvt.rn.f32.u64 %d, %a;", "f32 u64", f_u64), V("cvt.rz.f32.s64 %d, %a;", "f32 s64", f_s64_rz),
    V("cvt.rn.f64.u64 %d, %a;", "f64 u64", d_u64), V("cvt.rm.f64.s64 %d, %a;", "f64 s64", d_s64_rm), V("cvt.rn.f16.s32 %d, %a;", "f16 s32", h_s32), V("cvt.rn.f16.u64 %d, %a;", "f16 u64", h_u64),
    N("cvt.rni.f32.f32 %d, %a;", "f32 f32", f_f_rni), N("cvt.rzi.f32.f32 %d, %a;", "f32 f32", f_f_rzi), N("cvt.rmi.f32.f32 %d, %a;", "f32 f32", f_f_rmi), N("cvt.rpi.f64.f64 %d, %a;", "f64 f64", d_d_rpi),
    N("cvt.sat.f32.f32 %d, %a;", "f32 f32", f_f_sat), V("cvt.u32.u16 %d, %a;", "u32 u16", u32_u16), V("cvt.s32.s16 %d, %a;", "s32 s16", s32_s16), V("cvt.s64.s32 %d, %a;", "s64 s32", s64_s32),
    V("cvt.u64.u32 %d, %a;", "u64 u32", u64_u32), V("cvt.s32.s8 %d, %a;", "s32 b32", s32_s8), V("cvt.u16.u32 %d, %a;", "u16 u32", u16_u32), V("cvt.u32.u8 %d, %a;", "u32 b16", u32_u8),
    V("cvt.sat.s8.s32 %d, %a;", "s32 s32", s8_sat), V("cvt.sat.u8.s32 %d, %a;", "u32 s32", u8_sat), V("cvt.sat.u16.u32 %d, %a;", "u16 u32", u16_sat), V("cvt.sat.s32.s64 %d, %a;", "s32 s64", s32_sat64),
    V("cvt.sat.u32.s32 %d, %a;", "u32 s32", u32_sat_s32), N("cvt.rna.tf32.f32 %d, %a;", "b32 f32", tf32), V9("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", "b16 f32 f32", e4m3_f),
    V9("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", "b16 f32 f32", e5m2_f), V9("cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;", "b16 f16x2", e4m3_h), V9("cvt.rn.f16x2.e4m3x2 %d, %a;", "b32 b16", h_e4m3),
    V10("cvt.rn.satfinite.e2m1x2.f32 %d, %a, %b;", "b8 f32 f32", e2m1_f), V10("cvt.rn.satfinite.e2m3x2.f32 %d, %a, %b;", "b16 f32 f32", e2m3_f), V10("cvt.rn.satfinite.e3m2x2.f32 %d, %a, %b;", "b16 f32 f32", e3m2_f),
    V10("cvt.rn.satfinite.relu.e3m2x2.f32 %d, %a, %b;", "b16 f32 f32", e3m2_f_relu), V10("cvt.rn.satfinite.e2m1x2.f16x2 %d, %a;", "b8 f16x2", e2m1_h), V10("cvt.rn.satfinite.e2m3x2.bf16x2 %d, %a;", "b16 bf16x2", e2m3_b),
    V10("cvt.rn.satfinite.e4m3x2.bf16x2 %d, %a;", "b16 bf16x2", e4m3_b), V10("cvt.rn.f16x2.e2m1x2 %d, %a;", "b32 b8", h_e2m1), V10("cvt.rn.f16x2.e2m3x2 %d, %a;", "b32 b16", h_e2m3), V10("cvt.rn.f16x2.e3m2x2 %d, %a;", "b32 b16", h_e3m2),
    V10("cvt.rz.satfinite.ue8m0x2.f32 %d, %a, %b;", "b16 f32 f32", ue8m0_rz), V10("cvt.rp.satfinite.ue8m0x2.f32 %d, %a, %b;", "b16 f32 f32", ue8m0_rp), V10("cvt.rp.ue8m0x2.f32 %d, %a, %b;", "b16 f32 f32", ue8m0_inf),
    V10("cvt.rz.satfinite.ue8m0x2.bf16x2 %d, %a;", "b16 bf16x2", ue8m0_b), V10("cvt.rn.bf16x2.ue8m0x2 %d, %a;", "b32 b16", b_ue8m0), V10("cvt.rs.f16x2.f32 %d, %a, %b, %c;", "b32 f32 f32 b32", h2_rs),
    V10("cvt.rs.satfinite.bf16x2.f32 %d, %a, %b, %c;", "b32 f32 f32 b32", b2_rs), V10("cvt.rs.satfinite.e4m3x4.f32 %d, {%a, %b, %b, %a}, %c;", "b32 f32 f32 b32", e4m3x4),
    V10("cvt.rs.satfinite.e5m2x4.f32 %d, {%a, %b, %b, %a}, %c;", "b32 f32 f32 b32", e5m2x4), V10("cvt.rs.satfinite.e2m3x4.f32 %d, {%a, %b, %b, %a}, %c;", "b32 f32 f32 b32", e2m3x4),
    V10("cvt.rs.satfinite.e3m2x4.f32 %d, {%a, %b, %b, %a}, %c;", "b32 f32 f32 b32", e3m2x4), V10("cvt.rs.satfinite.e2m1x4.f32 %d, {%a, %b, %b, %a}, %c;", "b16 f32 f32 b32", e2m1x4),
    {"Data Movement and Conversion Instructions: cvt", "cvt.rn.f16x2.e5m2x2 %d, %a;", "b32 b16", h_e5m2, EXACT, SM90},
    {"Data Movement and Conversion Instructions: mov", "mov.b64 {t, u}, %a; mov.b64 %d, {u, t};", "b64 b64", swap64, EXACT, NULL},
    {"Data Movement and Conversion Instructions: mov", "mov.b32 {h, g}, %a; mov.b32 %d, {g, h};", "b32 b32", halves, EXACT, NULL},
    {"Data Movement and Conversion Instructions: mov", "{ .reg .b8 e, f, i, j; mov.b32 {e, f, i, j}, %a; mov.b32 %d, {j, i, f, e}; }", "b32 b32", bytes, EXACT, NULL}};

int main(void) { return isa_run("emu.cvt", cases, COUNT(cases)); }
