/* PTX ISA "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions", "Logic and Shift
 * Instructions", integer comparison, selection, prmt. The references work on 128-bit numbers or bit by bit. */
#include "isa_case.h"

typedef __int128 s128;
static s128 sx(uint64_t v, int bits) { return (s128)((int64_t)(v << (64 - bits)) >> (64 - bits)); }
static s128 ux(uint64_t v, int bits) { return bits == 64 ? (s128)v : (s128)(v & ((1ull << bits) - 1)); }
static int bit(uint64_t v, unsigned i) { return i < 64 ? (int)(v >> i & 1) : 0; }

#define SIX(X, op) X(op, u16, ux, 16) X(op, s16, sx, 16) X(op, u32, ux, 32) X(op, s32, sx, 32) X(op, u64, ux, 64) X(op, s64, sx, 64)
#define W(op, T, X, N) WANT(op##_##T, op##_f(X(a, N), X(b, N), X(c, N), N))
static s128 add_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a + b; }
static s128 sub_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a - b; }
static s128 lo_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return (s128)((unsigned __int128)a * (unsigned __int128)b); }

static s128 hi_f(s128 a, s128 b, s128 c, int n) { (void)c; return n < 64 ? a * b >> n : (s128)((a < 0 || b < 0) ? a * b >> 64 : (s128)((unsigned __int128)a * (unsigned __int128)b >> 64)); }
static s128 wrap(s128 a, s128 b) { return (s128)((unsigned __int128)a + (unsigned __int128)b); }
static s128 mad_f(s128 a, s128 b, s128 c, int n) { return wrap(lo_f(a, b, c, n), c); }
static s128 madhi_f(s128 a, s128 b, s128 c, int n) { return wrap(hi_f(a, b, c, n), c); }
static s128 min_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a < b ? a : b; }
static s128 max_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a > b ? a : b; }
static s128 sad_f(s128 a, s128 b, s128 c, int n) { (void)n; return c + (a < b ? b - a : a - b); }
static s128 div_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a / (b | 1); }
static s128 rem_f(s128 a, s128 b, s128 c, int n) { (void)c, (void)n; return a % (b | 1); }
SIX(W, add) SIX(W, sub) SIX(W, lo) SIX(W, hi) SIX(W, mad) SIX(W, madhi) SIX(W, min) SIX(W, max) SIX(W, sad) SIX(W, div) SIX(W, rem)
WANT(wide_u16, ux(a, 16) * ux(b, 16)) WANT(wide_s16, sx(a, 16) * sx(b, 16)) WANT(wide_u32, ux(a, 32) * ux(b, 32)) WANT(wide_s32, sx(a, 32) * sx(b, 32))
WANT(madwide_u32, ux(a, 32) * ux(b, 32) + ux(c, 64)) WANT(madwide_s32, sx(a, 32) * sx(b, 32) + sx(c, 64)) WANT(madwide_u16, ux(a, 16) * ux(b, 16) + ux(c, 32))
WANT(abs_s32, sx(a, 32) < 0 ? -sx(a, 32) : sx(a, 32)) WANT(abs_s64, sx(a, 64) < 0 ? -sx(a, 64) : sx(a, 64)) WANT(neg_s16, -sx(a, 16)) WANT(neg_s64, -sx(a, 64))
static s128 clamp32(s128 v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v; }
WANT(addsat, clamp32(sx(a, 32) + sx(b, 32))) WANT(subsat, clamp32(sx(a, 32) - sx(b, 32))) WANT(madhisat, clamp32((sx(a, 32) * sx(b, 32) >> 32) + sx(c, 32)))

static uint64_t ones(uint64_t v, int n) { uint64_t r = 0; for (int i = 0; i < n; i++) r += (uint64_t)bit(v, (unsigned)i); return r; }
static uint64_t zeros(uint64_t v, int n) { uint64_t r = 0; while (r < (uint64_t)n && !bit(v, (unsigned)(n - 1) - (unsigned)r)) r++; return r; }
static uint64_t reverse(uint64_t v, int n) { uint64_t r = 0; for (int i = 0; i < n; i++) r |= (uint64_t)bit(v, (unsigned)i) << (n - 1 - i); return r; }
WANT(popc32, ones(a, 32)) WANT(popc64, ones(a, 64)) WANT(clz32, zeros(a, 32)) WANT(clz64, zeros(a, 64)) WANT(brev32, reverse(a, 32)) WANT(brev64, reverse(a, 64))
static uint64_t highest(uint64_t v, int n, bool is_signed, bool shift) {
  int sign = is_signed ? bit(v, (unsigned)n - 1) : 0;
  for (int i = n - 1; i >= 0; i--)
    if (bit(v, (unsigned)i) != sign) return (uint64_t)(shift ? n - 1 - i : i);
  return UINT32_MAX;
}
WANT(bfind_u32, highest(a, 32, 0, 0)) WANT(bfind_s32, highest(a, 32, 1, 0)) WANT(bfind_u64, highest(a, 64, 0, 0)) WANT(bfind_s64s, highest(a, 64, 1, 1))
/* bfe as the ISA's pseudo-code writes it, a bit at a time */
static uint64_t extract(uint64_t a, uint64_t b, uint64_t c, unsigned msb, bool is_signed) {
  unsigned pos = b & 0xff, len = c & 0xff;
  unsigned top = pos + len - 1 < msb ? pos + len - 1 : msb;
  uint64_t sign = !is_signed || !len ? 0 : (uint64_t)bit(a, top), d = 0;
  for (unsigned i = 0; i <= msb; i++) d |= (i < len && pos + i <= msb ? (uint64_t)bit(a, pos + i) : sign) << i;
  return d;
}
static uint64_t insert(uint64_t a, uint64_t f, uint64_t p, unsigned len, unsigned msb) {
  uint64_t d = f;
  unsigned pos = p & 0xff;
  for (unsigned i = 0; i < len && pos + i <= msb; i++) d = (d & ~(1ull << (pos + i))) | (uint64_t)bit(a, i) << (pos + i);
  return d;
}
WANT(bfe_u32, extract(a, b & 63, c & 63, 31, 0)) WANT(bfe_s32, extract(a, b & 63, c & 63, 31, 1)) WANT(bfe_u64, extract(a, b & 127, c & 127, 63, 0))
WANT(bfe_s64, extract(a, b & 127, c & 127, 63, 1)) WANT(bfi_b32, insert(a, b, c & 63, 9, 31)) WANT(bfi_b64, insert(a, b, c & 127, 40, 63))
WANT(bmsk_clamp, extract(~0ull << ((a & 63) > 32 ? 32 : a & 63) & ((1ull << (((a & 63) > 32 ? 32 : a & 63) + ((b & 63) > 32 ? 32 : b & 63) > 63 ? 63 : ((a & 63) > 32 ? 32 : a & 63) + ((b & 63) > 32 ? 32 : b & 63))) - 1), 0, 32, 31, 0))
WANT(szext_s, (b & 31) ? extract(a, 0, b & 31, 31, 1) : 0)
WANT(and64, a & b) WANT(or16, a | b) WANT(xor32, a ^ b) WANT(not32, ~a) WANT(cnot64, !a)
WANT(shl16, (b & 31) > 15 ? 0 : a << (b & 31)) WANT(shl32, (b & 63) > 31 ? 0 : a << (b & 63)) WANT(shl64, (b & 127) > 63 ? 0 : a << (b & 127))
WANT(shr_u32, (b & 63) > 31 ? 0 : ux(a, 32) >> (b & 63)) WANT(shr_s32, sx(a, 32) >> ((b & 63) > 31 ? 31 : b & 63)) WANT(shr_s16, sx(a, 16) >> ((b & 31) > 15 ? 15 : b & 31))
WANT(shr_s64, sx(a, 64) >> ((b & 127) > 63 ? 63 : b & 127)) WANT(shr_u64, (b & 127) > 63 ? 0 : ux(a, 64) >> (b & 127))
static uint64_t table(uint64_t a, uint64_t b, uint64_t c, int lut) {
  uint64_t d = 0;
  for (unsigned i = 0; i < 32; i++) d |= (uint64_t)(lut >> (bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i)) & 1) << i;
  return d;
}
WANT(lop_ea, table(a, b, c, 0xea)) WANT(lop_96, table(a, b, c, 0x96)) WANT(lop_1b, table(a, b, c, 0x1b))
static uint64_t funnel(uint64_t lo, uint64_t hi, unsigned n, bool left) { /* one position at a time */
  uint64_t v = (hi & 0xffffffff) << 32 | (lo & 0xffffffff);
  for (unsigned i = 0; i < n; i++) v = left ? v << 1 : v >> 1;
  return left ? v >> 32 : v & 0xffffffff;
}
WANT(shf_lw, funnel(a, b, c & 31, 1)) WANT(shf_rw, funnel(a, b, c & 31, 0)) WANT(shf_lc, funnel(a, b, (c & 63) > 32 ? 32 : c & 63, 1)) WANT(shf_rc, funnel(a, b, (c & 63) > 32 ? 32 : c & 63, 0))
static uint64_t permute(uint64_t a, uint64_t b, uint64_t s) {
  unsigned char v[8], r[4];
  memcpy(v, &a, 4);
  memcpy(v + 4, &b, 4);
  for (int i = 0; i < 4; i++) {
    unsigned n = s >> 4 * i & 15;
    r[i] = n & 8 ? (unsigned char)((signed char)v[n & 7] < 0 ? 255 : 0) : v[n];
  }
  uint32_t d;
  memcpy(&d, r, 4);
  return d;
}
WANT(prmt, permute(a, b, c)) WANT(prmt_f4e, permute(a, b, (c & 3) == 0 ? 0x3210 : (c & 3) == 1 ? 0x4321 : (c & 3) == 2 ? 0x5432 : 0x6543))
WANT(prmt_b4e, permute(a, b, (c & 3) == 0 ? 0x5670 : (c & 3) == 1 ? 0x6701 : (c & 3) == 2 ? 0x7012 : 0x0123))
WANT(prmt_ecl, permute(a, b, (c & 3) == 0 ? 0x3210 : (c & 3) == 1 ? 0x3211 : (c & 3) == 2 ? 0x3222 : 0x3333))
WANT(mul24, (ux(a, 24) * ux(b, 24)) & 0xffffffff) WANT(mul24hi, (sx(a, 24) * sx(b, 24)) >> 16)
static uint64_t dot(uint64_t a, uint64_t b, uint64_t c, bool sa, bool sb) {
  s128 r = (s128)c;
  for (int i = 0; i < 4; i++) r += (sa ? sx(a >> 8 * i, 8) : ux(a >> 8 * i, 8)) * (sb ? sx(b >> 8 * i, 8) : ux(b >> 8 * i, 8));
  return (uint64_t)r;
}
WANT(dp4a_us, dot(a, b, c, 0, 1)) WANT(dp4a_ss, dot(a, b, c, 1, 1))
WANT(lt_s32, sx(a, 32) < sx(b, 32)) WANT(below_u32, ux(a, 32) < ux(b, 32)) WANT(ge_s64, sx(a, 64) >= sx(b, 64)) WANT(ls_u64, ux(a, 64) <= ux(b, 64))
WANT(gt_u16, ux(a, 16) > ux(b, 16)) WANT(ne_b16, ux(a, 16) != ux(b, 16)) WANT(eq_b64, a == b) WANT(le_s16, sx(a, 16) <= sx(b, 16))
WANT(boolean, (((sx(a, 32) < sx(b, 32)) != (sx(c, 32) > 0)) | (!(sx(a, 32) < sx(b, 32)) != (sx(c, 32) > 0)) << 1))
WANT(set_u32, sx(a, 32) > sx(b, 32) ? 0xffffffff : 0) WANT(set_f32, ux(a, 32) > ux(b, 32) ? 0x3f800000 : 0) WANT(slct, sx(c, 32) >= 0 ? a : b)
WANT(addcarry, ((ux(a, 64) + ux(b, 64)) >> 64) + c)
WANT(subcarry, (uint64_t)(ux(c, 64) + (ux(a, 64) >= ux(b, 64))))
WANT(addborrow, (uint64_t)(ux(c, 64) - ((ux(a, 64) + ux(b, 64)) >> 64 == 0)))
WANT(subborrow, (uint64_t)(ux(c, 64) - (ux(a, 64) < ux(b, 64))))
WANT(mulfull, (uint64_t)((unsigned __int128)ux(a, 32) * (unsigned __int128)ux(b, 32) + (unsigned __int128)c))

#define ROW6(op, ins, sec)                                                                                            \
  {"Integer Arithmetic Instructions: " sec, ins ".u16 %d, %a, %b;", "u16 u16 u16", op##_u16, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s16 %d, %a, %b;", "s16 s16 s16", op##_s16, EXACT, NULL}, \
  {"Integer Arithmetic Instructions: " sec, ins ".u32 %d, %a, %b;", "u32 u32 u32", op##_u32, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s32 %d, %a, %b;", "s32 s32 s32", op##_s32, EXACT, NULL}, \
  {"Integer Arithmetic Instructions: " sec, ins ".u64 %d, %a, %b;", "u64 u64 u64", op##_u64, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s64 %d, %a, %b;", "s64 s64 s64", op##_s64, EXACT, NULL}
#define ROW6C(op, ins, sec)                                                                                           \
  {"Integer Arithmetic Instructions: " sec, ins ".u16 %d, %a, %b, %c;", "u16 u16 u16 u16", op##_u16, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s16 %d, %a, %b, %c;", "s16 s16 s16 s16", op##_s16, EXACT, NULL}, \
  {"Integer Arithmetic Instructions: " sec, ins ".u32 %d, %a, %b, %c;", "u32 u32 u32 u32", op##_u32, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s32 %d, %a, %b, %c;", "s32 s32 s32 s32", op##_s32, EXACT, NULL}, \
  {"Integer Arithmetic Instructions: " sec, ins ".u64 %d, %a, %b, %c;", "u64 u64 u64 u64", op##_u64, EXACT, NULL}, {"Integer Arithmetic Instructions: " sec, ins ".s64 %d, %a, %b, %c;", "s64 s64 s64 s64", op##_s64, EXACT, NULL}
/* division by zero is not defined: the divisor's lowest bit is set first */
#define ODD(op, ins, sec, T, N) {"Integer Arithmetic Instructions: " sec, "or.b" #N " %b, %b, 1; " ins "." #T " %d, %a, %b;", #T " " #T " " #T, op##_##T, EXACT, NULL}
#define I(sec, text, types, fn) {"Integer Arithmetic Instructions: " sec, text, types, fn, EXACT, NULL}
#define L(sec, text, types, fn) {"Logic and Shift Instructions: " sec, text, types, fn, EXACT, NULL}
#define C(sec, text, types, fn) {"Comparison and Selection Instructions: " sec, text, types, fn, EXACT, NULL}
#define E(sec, text, types, fn) {"Extended-Precision Integer Arithmetic Instructions: " sec, text, types, fn, EXACT, NULL}
#define SHIFT(n) "and.b32 %b, %b, " n "; "
static const struct isa_case cases[] = {
    ROW6(add, "add", "add"), ROW6(sub, "sub", "sub"), ROW6(lo, "mul.lo", "mul"), ROW6(hi, "mul.hi", "mul"), ROW6C(mad, "mad.lo", "mad"),
    ROW6C(madhi, "mad.hi", "mad"), ROW6(min, "min", "min"), ROW6(max, "max", "max"), ROW6C(sad, "sad", "sad"),
    ODD(div, "div", "div", u16, 16), ODD(div, "div", "div", s16, 16), ODD(div, "div", "div", u32, 32), ODD(div, "div", "div", s32, 32),
    ODD(div, "div", "div", u64, 64), ODD(div, "div", "div", s64, 64), ODD(rem, "rem", "rem", u32, 32), ODD(rem, "rem", "rem", s32, 32),
    ODD(rem, "rem", "rem", u64, 64), ODD(rem, "rem", "rem", s64, 64), ODD(rem, "rem", "rem", s16, 16), ODD(rem, "rem", "rem", u16, 16),
    I("mul", "mul.wide.u16 %d, %a, %b;", "u32 u16 u16", wide_u16), I("mul", "mul.wide.s16 %d, %a, %b;", "s32 s16 s16", wide_s16),
    I("mul", "mul.wide.u32 %d, %a, %b;", "u64 u32 u32", wide_u32), I("mul", "mul.wide.s32 %d, %a, %b;", "s64 s32 s32", wide_s32),
    I("mad", "mad.wide.u32 %d, %a, %b, %c;", "u64 u32 u32 u64", madwide_u32), I("mad", "mad.wide.s32 %d, %a, %b, %c;", "s64 s32 s32 s64", madwide_s32),
    I("mad", "mad.wide.u16 %d, %a, %b, %c;", "u32 u16 u16 u32", madwide_u16), I("abs", "abs.s32 %d, %a;", "s32 s32", abs_s32),
    I("abs", "abs.s64 %d, %a;", "s64 s64", abs_s64), I("neg", "neg.s16 %d, %a;", "s16 s16", neg_s16), I("neg", "neg.s64 %d, %a;", "s64 s64", neg_s64),
    I("add", "add.sat.s32 %d, %a, %b;", "s32 s32 s32", addsat), I("sub", "sub.sat.s32 %d, %a, %b;", "s32 s32 s32", subsat),
    I("mad", "mad.hi.sat.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", madhisat), I("popc", "popc.b32 %d, %a;", "u32 b32", popc32),
    I("popc", "popc.b64 %d, %a;", "u32 b64", popc64), I("clz", "clz.b32 %d, %a;", "u32 b32", clz32), I("clz", "clz.b64 %d, %a;", "u32 b64", clz64),
    I("brev", "brev.b32 %d, %a;", "b32 b32", brev32), I("brev", "brev.b64 %d, %a;", "b64 b64", brev64), I("bfind", "bfind.u32 %d, %a;", "u32 u32", bfind_u32),
    I("bfind", "bfind.s32 %d, %a;", "u32 s32", bfind_s32), I("bfind", "bfind.u64 %d, %a;", "u32 u64", bfind_u64),
    I("bfind", "bfind.shiftamt.s64 %d, %a;", "u32 s64", bfind_s64s),
    I("bfe", "and.b32 %b, %b, 63; and.b32 %c, %c, 63; bfe.u32 %d, %a, %b, %c;", "u32 u32 u32 u32", bfe_u32),
    I("bfe", "and.b32 %b, %b, 63; and.b32 %c, %c, 63; bfe.s32 %d, %a, %b, %c;", "s32 s32 u32 u32", bfe_s32),
    I("bfe", "and.b32 %b, %b, 127; and.b32 %c, %c, 127; bfe.u64 %d, %a, %b, %c;", "u64 u64 u32 u32", bfe_u64),
    I("bfe", "and.b32 %b, %b, 127; and.b32 %c, %c, 127; bfe.s64 %d, %a, %b, %c;", "s64 s64 u32 u32", bfe_s64),
    I("bfi", "and.b32 %c, %c, 63; bfi.b32 %d, %a, %b, %c, 9;", "b32 b32 b32 u32", bfi_b32),
    I("bfi", "and.b32 %c, %c, 127; bfi.b64 %d, %a, %b, %c, 40;", "b64 b64 b64 u32", bfi_b64),
    I("bmsk", "and.b32 %a, %a, 63; and.b32 %b, %b, 63; bmsk.clamp.b32 %d, %a, %b;", "b32 u32 u32", bmsk_clamp),
    I("szext", "szext.wrap.s32 %d, %a, %b;", "s32 s32 u32", szext_s), I("mul24", "mul24.lo.u32 %d, %a, %b;", "u32 u32 u32", mul24),
    I("mul24", "mul24.hi.s32 %d, %a, %b;", "s32 s32 s32", mul24hi), I("dp4a", "dp4a.u32.s32 %d, %a, %b, %c;", "s32 u32 s32 s32", dp4a_us),
    I("dp4a", "dp4a.s32.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", dp4a_ss),
    E("addc", "add.cc.u64 x, %a, %b; addc.u64 %d, %c, 0;", "u64 u64 u64 u64", addcarry), E("subc", "sub.cc.u64 x, %a, %b; subc.u64 %d, %c, 0;", "u64 u64 u64 u64", subborrow),
    E("sub.cc", "sub.cc.u64 x, %a, %b; addc.u64 %d, %c, 0;", "u64 u64 u64 u64", subcarry), E("add.cc", "add.cc.u64 x, %a, %b; subc.u64 %d, %c, 0;", "u64 u64 u64 u64", addborrow),
    E("madc", "mov.b64 {t, u}, %c; mad.lo.cc.u32 t, %a, %b, t; madc.hi.u32 u, %a, %b, u; mov.b64 %d, {t, u};", "u64 u32 u32 u64", mulfull),
    L("and", "and.b64 %d, %a, %b;", "b64 b64 b64", and64), L("or", "or.b16 %d, %a, %b;", "b16 b16 b16", or16), L("xor", "xor.b32 %d, %a, %b;", "b32 b32 b32", xor32),
    L("not", "not.b32 %d, %a;", "b32 b32", not32), L("cnot", "cnot.b64 %d, %a;", "b64 b64", cnot64), L("shl", SHIFT("31") "shl.b16 %d, %a, %b;", "b16 b16 u32", shl16),
    L("shl", SHIFT("63") "shl.b32 %d, %a, %b;", "b32 b32 u32", shl32), L("shl", SHIFT("127") "shl.b64 %d, %a, %b;", "b64 b64 u32", shl64),
    L("shr", SHIFT("63") "shr.u32 %d, %a, %b;", "u32 u32 u32", shr_u32), L("shr", SHIFT("63") "shr.s32 %d, %a, %b;", "s32 s32 u32", shr_s32),
    L("shr", SHIFT("31") "shr.s16 %d, %a, %b;", "s16 s16 u32", shr_s16), L("shr", SHIFT("127") "shr.s64 %d, %a, %b;", "s64 s64 u32", shr_s64),
    L("shr", SHIFT("127") "shr.u64 %d, %a, %b;", "u64 u64 u32", shr_u64), L("lop3", "lop3.b32 %d, %a, %b, %c, 0xea;", "b32 b32 b32 b32", lop_ea),
    L("lop3", "lop3.b32 %d, %a, %b, %c, 0x96;", "b32 b32 b32 b32", lop_96), L("lop3", "lop3.b32 %d, %a, %b, %c, 0x1b;", "b32 b32 b32 b32", lop_1b),
    L("shf", "shf.l.wrap.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_lw), L("shf", "shf.r.wrap.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_rw),
    L("shf", "and.b32 %c, %c, 63; shf.l.clamp.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_lc),
    L("shf", "and.b32 %c, %c, 63; shf.r.clamp.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_rc),
    {"Data Movement and Conversion Instructions: prmt", "prmt.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", prmt, EXACT, NULL},
    {"Data Movement and Conversion Instructions: prmt", "prmt.b32.f4e %d, %a, %b, %c;", "b32 b32 b32 b32", prmt_f4e, EXACT, NULL},
    {"Data Movement and Conversion Instructions: prmt", "prmt.b32.b4e %d, %a, %b, %c;", "b32 b32 b32 b32", prmt_b4e, EXACT, NULL},
    {"Data Movement and Conversion Instructions: prmt", "prmt.b32.ecl %d, %a, %b, %c;", "b32 b32 b32 b32", prmt_ecl, EXACT, NULL},
    C("setp", "setp.lt.s32 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 s32 s32", lt_s32), C("setp", "setp.lo.u32 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 u32 u32", below_u32),
    C("setp", "setp.ge.s64 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 s64 s64", ge_s64), C("setp", "setp.ls.u64 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 u64 u64", ls_u64),
    C("setp", "setp.gt.u16 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 u16 u16", gt_u16), C("setp", "setp.ne.b16 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 b16 b16", ne_b16),
    C("setp", "setp.eq.b64 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 b64 b64", eq_b64), C("setp", "setp.le.s16 p, %a, %b; selp.u32 %d, 1, 0, p;", "u32 s16 s16", le_s16),
    C("setp", "setp.gt.s32 r, %c, 0; setp.lt.xor.s32 p|q, %a, %b, r; selp.u32 t, 1, 0, p; selp.u32 u, 2, 0, q; or.b32 %d, t, u;", "u32 s32 s32 s32", boolean),
    C("set", "set.gt.u32.s32 %d, %a, %b;", "u32 s32 s32", set_u32), C("set", "set.hi.f32.u32 %d, %a, %b;", "b32 u32 u32", set_f32),
    C("slct", "slct.b64.s32 %d, %a, %b, %c;", "b64 b64 b64 s32", slct)};

int main(void) { return isa_run("emu.int", cases, COUNT(cases)); }
