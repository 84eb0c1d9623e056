/* PTX ISA "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions", "Logic and Shift
 * Instructions". Wrap-around arithmetic is done unsigned, so that nothing here is undefined in C. */
#include "exec.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

/* ---- operations of all three widths ---- */
#define WIDTH(N)                                                                                                      \
  DEF2(add_##N, uint##N##_t, uint##N##_t, uint##N##_t, (uint64_t)a[i] + b[i])                                         \
  DEF2(sub_##N, uint##N##_t, uint##N##_t, uint##N##_t, (uint64_t)a[i] - b[i])                                         \
  DEF2(mul_##N, uint##N##_t, uint##N##_t, uint##N##_t, (uint64_t)a[i] * b[i])                                         \
  DEF3(mad_##N, uint##N##_t, uint##N##_t, uint##N##_t, uint##N##_t, (uint64_t)a[i] * b[i] + c[i])                     \
  DEF2(div_u##N, uint##N##_t, uint##N##_t, uint##N##_t, b[i] ? (uint##N##_t)(a[i] / b[i]) : (uint##N##_t)~0ull)       \
  DEF2(rem_u##N, uint##N##_t, uint##N##_t, uint##N##_t, b[i] ? (uint##N##_t)(a[i] % b[i]) : a[i])                     \
  DEF2(div_s##N, uint##N##_t, int##N##_t, int##N##_t,                                                                 \
       !b[i] ? (uint##N##_t)~0ull : b[i] == -1 ? (uint##N##_t)(0 - (uint64_t)a[i]) : (uint##N##_t)(a[i] / b[i]))      \
  DEF2(rem_s##N, uint##N##_t, int##N##_t, int##N##_t,                                                                 \
       !b[i] ? (uint##N##_t)a[i] : b[i] == -1 ? (uint##N##_t)0 : (uint##N##_t)(a[i] % b[i]))                          \
  DEF1(abs_##N, uint##N##_t, int##N##_t, a[i] < 0 ? 0 - (uint64_t)a[i] : (uint64_t)a[i])                              \
  DEF1(neg_##N, uint##N##_t, uint##N##_t, 0 - (uint64_t)a[i])                                                         \
  DEF2(min_u##N, uint##N##_t, uint##N##_t, uint##N##_t, a[i] < b[i] ? a[i] : b[i])                                    \
  DEF2(max_u##N, uint##N##_t, uint##N##_t, uint##N##_t, a[i] > b[i] ? a[i] : b[i])                                    \
  DEF2(min_s##N, int##N##_t, int##N##_t, int##N##_t, a[i] < b[i] ? a[i] : b[i])                                       \
  DEF2(max_s##N, int##N##_t, int##N##_t, int##N##_t, a[i] > b[i] ? a[i] : b[i])                                       \
  DEF3(sad_u##N, uint##N##_t, uint##N##_t, uint##N##_t, uint##N##_t,                                                  \
       (uint64_t)c[i] + (a[i] < b[i] ? (uint64_t)b[i] - a[i] : (uint64_t)a[i] - b[i]))                                \
  DEF3(sad_s##N, uint##N##_t, int##N##_t, int##N##_t, uint##N##_t,                                                    \
       (uint64_t)c[i] + (a[i] < b[i] ? (uint64_t)b[i] - (uint64_t)a[i] : (uint64_t)a[i] - (uint64_t)b[i]))            \
  DEF2(and_##N, uint##N##_t, uint##N##_t, uint##N##_t, a[i] & b[i])                                                   \
  DEF2(or_##N, uint##N##_t, uint##N##_t, uint##N##_t, a[i] | b[i])                                                    \
  DEF2(xor_##N, uint##N##_t, uint##N##_t, uint##N##_t, a[i] ^ b[i])                                                   \
  DEF1(not_##N, uint##N##_t, uint##N##_t, ~a[i])                                                                      \
  DEF1(cnot_##N, uint##N##_t, uint##N##_t, a[i] == 0)                                                                 \
  DEF2(shl_##N, uint##N##_t, uint##N##_t, uint32_t, b[i] >= N ? 0 : (uint64_t)a[i] << (b[i] & (N - 1)))               \
  DEF2(shr_u##N, uint##N##_t, uint##N##_t, uint32_t, b[i] >= N ? 0 : a[i] >> (b[i] & (N - 1)))                        \
  DEF2(shr_s##N, uint##N##_t, int##N##_t, uint32_t, a[i] >> (b[i] >= N ? N - 1 : b[i]))
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* ---- high halves and wide products ---- */
DEF2(mulhi_u16, uint16_t, uint16_t, uint16_t, (uint32_t)a[i] * b[i] >> 16)
DEF2(mulhi_s16, uint16_t, int16_t, int16_t, a[i] * b[i] >> 16)
DEF2(mulhi_u32, uint32_t, uint32_t, uint32_t, (uint64_t)a[i] * b[i] >> 32)
DEF2(mulhi_s32, uint32_t, int32_t, int32_t, (int64_t)a[i] * b[i] >> 32)
DEF2(mulhi_u64, uint64_t, uint64_t, uint64_t, (u128)a[i] * b[i] >> 64)
DEF2(mulhi_s64, uint64_t, int64_t, int64_t, (s128)a[i] * b[i] >> 64)
DEF3(madhi_u16, uint16_t, uint16_t, uint16_t, uint16_t, ((uint32_t)a[i] * b[i] >> 16) + c[i])
DEF3(madhi_s16, uint16_t, int16_t, int16_t, uint16_t, (uint32_t)(a[i] * b[i] >> 16) + c[i])
DEF3(madhi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((uint64_t)a[i] * b[i] >> 32) + c[i])
DEF3(madhi_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)((int64_t)a[i] * b[i] >> 32) + c[i])
DEF3(madhi_u64, uint64_t, uint64_t, uint64_t, uint64_t, (uint64_t)((u128)a[i] * b[i] >> 64) + c[i])
DEF3(madhi_s64, uint64_t, int64_t, int64_t, uint64_t, (uint64_t)((s128)a[i] * b[i] >> 64) + c[i])
DEF2(wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a[i] * b[i])
DEF2(wide_s16, int32_t, int16_t, int16_t, a[i] * b[i])
DEF2(wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a[i] * b[i])
DEF2(wide_s32, int64_t, int32_t, int32_t, (int64_t)a[i] * b[i])
DEF3(madwide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a[i] * b[i] + c[i])
DEF3(madwide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a[i] * b[i]) + c[i])
DEF3(madwide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a[i] * b[i] + c[i])
DEF3(madwide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a[i] * b[i]) + c[i])

/* ---- saturation ---- */
static inline int32_t clamp_s32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v; }
DEF2(addsat, int32_t, int32_t, int32_t, clamp_s32((int64_t)a[i] + b[i]))
DEF2(subsat, int32_t, int32_t, int32_t, clamp_s32((int64_t)a[i] - b[i]))
DEF3(madhisat, int32_t, int32_t, int32_t, int32_t, clamp_s32(((int64_t)a[i] * b[i] >> 32) + c[i]))
DEF2(minrelu, int32_t, int32_t, int32_t, (a[i] < b[i] ? a[i] : b[i]) < 0 ? 0 : a[i] < b[i] ? a[i] : b[i])
DEF2(maxrelu, int32_t, int32_t, int32_t, (a[i] > b[i] ? a[i] : b[i]) < 0 ? 0 : a[i] > b[i] ? a[i] : b[i])

/* ---- packed 16-bit ---- */
#define LO16(T, v) ((T)(v))
#define HI16(T, v) ((T)((v) >> 16))
#define PACK2(lo, hi) ((uint32_t)(uint16_t)(lo) | (uint32_t)(uint16_t)(hi) << 16)
#define MIN_(x, y) ((x) < (y) ? (x) : (y))
#define MAX_(x, y) ((x) > (y) ? (x) : (y))
#define PACKED(name, T, OP)                                                                                           \
  DEF2(name, uint32_t, uint32_t, uint32_t, PACK2(OP(LO16(T, a[i]), LO16(T, b[i])), OP(HI16(T, a[i]), HI16(T, b[i]))))
#define ADD_(x, y) ((x) + (y))
#define MINR(x, y) MAX_(MIN_(x, y), 0)
#define MAXR(x, y) MAX_(MAX_(x, y), 0)
PACKED(add_x2, uint16_t, ADD_)
PACKED(min_u16x2, uint16_t, MIN_)
PACKED(max_u16x2, uint16_t, MAX_)
PACKED(min_s16x2, int16_t, MIN_)
PACKED(max_s16x2, int16_t, MAX_)
PACKED(minr_s16x2, int16_t, MINR)
PACKED(maxr_s16x2, int16_t, MAXR)

/* ---- 24-bit: the operands' low 24 bits, sign-extended for .s32; lo and hi are bits 31..0 and 47..16 ---- */
static inline int64_t s24(int32_t v) { return (int32_t)((uint32_t)v << 8) >> 8; }
static inline uint64_t u24(uint32_t v) { return v & 0xffffffu; }
DEF2(mul24lo_u, uint32_t, uint32_t, uint32_t, u24(a[i]) * u24(b[i]))
DEF2(mul24hi_u, uint32_t, uint32_t, uint32_t, u24(a[i]) * u24(b[i]) >> 16)
DEF2(mul24lo_s, uint32_t, int32_t, int32_t, s24(a[i]) * s24(b[i]))
DEF2(mul24hi_s, uint32_t, int32_t, int32_t, s24(a[i]) * s24(b[i]) >> 16)
DEF3(mad24lo_u, uint32_t, uint32_t, uint32_t, uint32_t, u24(a[i]) * u24(b[i]) + c[i])
DEF3(mad24hi_u, uint32_t, uint32_t, uint32_t, uint32_t, (u24(a[i]) * u24(b[i]) >> 16) + c[i])
DEF3(mad24lo_s, uint32_t, int32_t, int32_t, uint32_t, (uint64_t)(s24(a[i]) * s24(b[i])) + c[i])
DEF3(mad24hi_s, uint32_t, int32_t, int32_t, uint32_t, (uint64_t)(s24(a[i]) * s24(b[i]) >> 16) + c[i])
static inline int32_t sat_s32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v; }
DEF3(mad24hi_sat, uint32_t, int32_t, int32_t, int32_t, sat_s32((s24(a[i]) * s24(b[i]) >> 16) + c[i]))

/* ---- bits ---- */
static inline uint32_t rev32(uint32_t v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}
static inline uint64_t rev64(uint64_t v) { return (uint64_t)rev32((uint32_t)v) << 32 | rev32((uint32_t)(v >> 32)); }
static inline uint32_t find(uint64_t v, int bits, bool shiftamt) { /* v already complemented for negative signed values */
  if (!v) return UINT32_MAX;
  uint32_t top = 63u - (uint32_t)__builtin_clzll(v);
  return shiftamt ? (uint32_t)bits - 1 - top : top;
}
DEF1(popc_32, uint32_t, uint32_t, __builtin_popcount(a[i]))
DEF1(popc_64, uint32_t, uint64_t, __builtin_popcountll(a[i]))
DEF1(clz_32, uint32_t, uint32_t, a[i] ? __builtin_clz(a[i]) : 32)
DEF1(clz_64, uint32_t, uint64_t, a[i] ? __builtin_clzll(a[i]) : 64)
DEF1(brev_32, uint32_t, uint32_t, rev32(a[i]))
DEF1(brev_64, uint64_t, uint64_t, rev64(a[i]))
DEF1(bfind_u32, uint32_t, uint32_t, find(a[i], 32, in->u))
DEF1(bfind_s32, uint32_t, int32_t, find((uint32_t)(a[i] < 0 ? ~a[i] : a[i]), 32, in->u))
DEF1(bfind_u64, uint32_t, uint64_t, find(a[i], 64, in->u))
DEF1(bfind_s64, uint32_t, int64_t, find((uint64_t)(a[i] < 0 ? ~a[i] : a[i]), 64, in->u))

/* Position and length are the low 8 bits of their operands; a field past the end continues with zeros or the sign. */
static inline uint64_t field(uint64_t a, uint32_t pos, uint32_t len, uint32_t msb, bool is_signed) {
  pos &= 0xff;
  len &= 0xff;
  uint32_t s = pos + len - 1 < msb ? pos + len - 1 : msb;
  uint64_t sign = !is_signed || !len ? 0 : a >> s & 1;
  uint64_t r = pos > msb ? 0 : a >> pos;
  uint32_t have = pos > msb ? 0 : msb - pos + 1;
  if (len < have) have = len;
  uint64_t keep = have >= 64 ? ~0ull : (1ull << have) - 1;
  return (r & keep) | (sign ? ~keep : 0);
}
DEF3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, field(a[i], b[i], c[i], 31, false))
DEF3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, field(a[i], b[i], c[i], 31, true))
DEF3(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, field(a[i], b[i], c[i], 63, false))
DEF3(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, field(a[i], b[i], c[i], 63, true))
static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t bits) {
  pos &= 0xff;
  len &= 0xff;
  if (pos >= bits || !len) return b;
  uint64_t m = (len >= 64 ? ~0ull : (1ull << len) - 1) << pos;
  return (b & ~m) | (a << pos & m);
}
HANDLER(bfi_32) {
  uint32_t *d = SLOT(uint32_t, 0);
  const uint32_t *a = SLOT(uint32_t, 1), *b = SLOT(uint32_t, 2), *p = SLOT(uint32_t, 3), *l = SLOT(uint32_t, 4);
  EACH_LANE(d[i] = (uint32_t)insert(a[i], b[i], p[i], l[i], 32));
}
HANDLER(bfi_64) {
  uint64_t *d = SLOT(uint64_t, 0);
  const uint64_t *a = SLOT(uint64_t, 1), *b = SLOT(uint64_t, 2);
  const uint32_t *p = SLOT(uint32_t, 3), *l = SLOT(uint32_t, 4);
  EACH_LANE(d[i] = insert(a[i], b[i], p[i], l[i], 64));
}
/* szext: the low n bits extended. wrap: n mod 32; clamp: at most 32. n = 0 gives 0. */
static inline uint32_t szext(uint32_t v, uint32_t n, bool wrap, bool is_signed) {
  n = wrap ? n & 31 : n > 32 ? 32 : n;
  if (!n) return 0;
  uint32_t s = 32 - n;
  return is_signed ? (uint32_t)((int32_t)(v << s) >> s) : v << s >> s;
}
DEF2(szext_u, uint32_t, uint32_t, uint32_t, szext(a[i], b[i], in->u, false))
DEF2(szext_s, uint32_t, uint32_t, uint32_t, szext(a[i], b[i], in->u, true))
static inline uint32_t bmsk(uint32_t pos, uint32_t len, bool wrap) {
  pos = wrap ? pos & 31 : pos > 32 ? 32 : pos;
  len = wrap ? len & 31 : len > 32 ? 32 : len;
  uint64_t m = ((1ull << len) - 1) << pos;
  return (uint32_t)m;
}
DEF2(bmsk_, uint32_t, uint32_t, uint32_t, bmsk(a[i], b[i], in->u))
static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t off) { /* the n-th set bit from a base */
  if (base > 31) return UINT32_MAX;
  if (!off) return mask >> base & 1 ? base : UINT32_MAX;
  int32_t step = off > 0 ? 1 : -1, count = 0;
  int64_t want = off > 0 ? off : -(int64_t)off;
  for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && ++count == want) return (uint32_t)at;
  return UINT32_MAX;
}
DEF3(fns_, uint32_t, uint32_t, uint32_t, int32_t, fns(a[i], b[i], c[i]))

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t t) {
  uint32_t r = 0;
  r |= t & 1 ? ~a & ~b & ~c : 0;
  r |= t & 2 ? ~a & ~b & c : 0;
  r |= t & 4 ? ~a & b & ~c : 0;
  r |= t & 8 ? ~a & b & c : 0;
  r |= t & 16 ? a & ~b & ~c : 0;
  r |= t & 32 ? a & ~b & c : 0;
  r |= t & 64 ? a & b & ~c : 0;
  r |= t & 128 ? a & b & c : 0;
  return r;
}
HANDLER(lop3_) {
  uint32_t *d = SLOT(uint32_t, 0), t = (uint32_t)in->imm;
  const uint32_t *a = SLOT(uint32_t, 1), *b = SLOT(uint32_t, 2), *c = SLOT(uint32_t, 3);
  EACH_LANE(d[i] = lop3(a[i], b[i], c[i], t));
}
HANDLER(lop3_bool) { /* d|p, a, b, c, table, q: p = (d != 0) op q */
  uint32_t *d = SLOT(uint32_t, 0), t = (uint32_t)in->imm, q = SRC_PRED(5), p = 0;
  const uint32_t *a = SLOT(uint32_t, 2), *b = SLOT(uint32_t, 3), *c = SLOT(uint32_t, 4);
  for (int i = 0; i < LANES; i++) {
    uint32_t r = lop3(a[i], b[i], c[i], t);
    p |= (uint32_t)(r != 0) << i;
    if (w->mask >> i & 1) d[i] = r;
  }
  p = in->u ? p | q : p & q;
  if (in->o[1] != NO_SLOT) PRED(1) = (PRED(1) & ~w->mask) | (p & w->mask);
  return EV_NEXT;
}
DEF3(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, (((uint64_t)b[i] << 32 | a[i]) << (c[i] & 31)) >> 32)
DEF3(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, ((uint64_t)b[i] << 32 | a[i]) >> (c[i] & 31))
DEF3(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, c[i] >= 32 ? a[i] : (((uint64_t)b[i] << 32 | a[i]) << (c[i] & 31)) >> 32)
DEF3(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, c[i] >= 32 ? b[i] : ((uint64_t)b[i] << 32 | a[i]) >> (c[i] & 31))

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t sel) {
  uint64_t v = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int k = 0; k < 4; k++) {
    uint32_t s = sel >> 4 * k & 15, byte = (uint32_t)(v >> 8 * (s & 7)) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << 8 * k;
  }
  return r;
}
/* The named modes pick bytes by the selector's low two bits: rows of the ISA's table as index selectors. */
static const uint16_t prmt_modes[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
                                          {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
DEF3(prmt_, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a[i], b[i], c[i]))
DEF3(prmt_mode, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a[i], b[i], prmt_modes[in->u][c[i] & 3]))

/* ---- dot products of bytes ---- */
static inline int32_t byte_of(uint32_t v, int k, bool is_signed) {
  uint32_t b = v >> 8 * k & 0xff;
  return is_signed ? (int8_t)b : (int32_t)b;
}
static inline int32_t half_of(uint32_t v, int k, bool is_signed) {
  uint32_t h = v >> 16 * k & 0xffff;
  return is_signed ? (int16_t)h : (int32_t)h;
}
static inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, int u) {
  for (int k = 0; k < 4; k++) c += (uint32_t)(byte_of(a, k, u & 1) * byte_of(b, k, u & 2));
  return c;
}
static inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, int u) {
  for (int k = 0; k < 2; k++) c += (uint32_t)(half_of(a, k, u & 1) * byte_of(b, k + (u & 4 ? 2 : 0), u & 2));
  return c;
}
DEF3(dp4a_, uint32_t, uint32_t, uint32_t, uint32_t, dp4a(a[i], b[i], c[i], in->u))
DEF3(dp2a_, uint32_t, uint32_t, uint32_t, uint32_t, dp2a(a[i], b[i], c[i], in->u))

/* ---- carry: bit i of the condition code's mask is lane i's CC.CF. in->u: 1 reads it, 2 writes it. A subtraction is an addition of the
 * complement, as the assembler has it: its CC.CF is set where nothing is borrowed, which shows where addc follows sub.cc ---- */
static void set_carry(struct warp *w, int i, unsigned cf) {
  uint32_t *cc = ws_emu_slot(w, w->cta->k->carry);
  *cc = (*cc & ~(1u << i)) | (uint32_t)cf << i;
}
#define CARRY_IN(i) (in->u & 1 ? *(uint32_t *)ws_emu_slot(w, w->cta->k->carry) >> (i) & 1 : 0)
#define CARRY(N, W2)                                                                                                  \
  HANDLER(addc_##N) {                                                                                                 \
    uint##N##_t *d = SLOT(uint##N##_t, 0); const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2);    \
    for (uint32_t m = w->mask; m; m &= m - 1) {                                                                       \
      int i = __builtin_ctz(m);                                                                                       \
      W2 r = (W2)a[i] + b[i] + CARRY_IN(i);                                                                           \
      d[i] = (uint##N##_t)r;                                                                                          \
      if (in->u & 2) set_carry(w, i, (unsigned)(r >> N) & 1);                                                         \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }                                                                                                                   \
  HANDLER(subc_##N) {                                                                                                 \
    uint##N##_t *d = SLOT(uint##N##_t, 0); const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2);    \
    for (uint32_t m = w->mask; m; m &= m - 1) {                                                                       \
      int i = __builtin_ctz(m);                                                                                       \
      W2 r = (W2)a[i] - b[i] - (in->u & 1 && !CARRY_IN(i));                                                           \
      d[i] = (uint##N##_t)r;                                                                                          \
      if (in->u & 2) set_carry(w, i, ~(unsigned)(r >> N) & 1);                                                        \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }                                                                                                                   \
  HANDLER(madc_##N) { /* in->u: 4 high half, 8 signed */                                                              \
    uint##N##_t *d = SLOT(uint##N##_t, 0);                                                                            \
    const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2), *c = SLOT(uint##N##_t, 3);                \
    for (uint32_t m = w->mask; m; m &= m - 1) {                                                                       \
      int i = __builtin_ctz(m);                                                                                       \
      u128 p = in->u & 8 ? (u128)((s128)(int##N##_t)a[i] * (int##N##_t)b[i]) : (u128)a[i] * b[i];                     \
      W2 r = (W2)(uint##N##_t)(in->u & 4 ? p >> N : p) + c[i] + CARRY_IN(i);                                          \
      d[i] = (uint##N##_t)r;                                                                                          \
      if (in->u & 2) set_carry(w, i, (unsigned)(r >> N) & 1);                                                         \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }
CARRY(32, uint64_t)
CARRY(64, u128)

/* ---- predicates; in->u bit k: o[k] is negated ---- */
#define PRED_IN(k) (in->u >> (k) & 1 ? ~PRED(k) : PRED(k))
#define PRED_OP(name, expr)                                                                                           \
  HANDLER(name) { uint32_t v = (expr); PRED(0) = (PRED(0) & ~w->mask) | (v & w->mask); return EV_NEXT; }
PRED_OP(and_p, PRED_IN(1) & PRED_IN(2))
PRED_OP(or_p, PRED_IN(1) | PRED_IN(2))
PRED_OP(xor_p, PRED_IN(1) ^ PRED_IN(2))
PRED_OP(not_p, ~PRED_IN(1))

#define ALL(op, f) {op ".u16", f##_16}, {op ".s16", f##_16}, {op ".u32", f##_32}, {op ".s32", f##_32}, {op ".u64", f##_64}, {op ".s64", f##_64}
#define SIGNS(op, f) {op ".u16", f##_u16}, {op ".s16", f##_s16}, {op ".u32", f##_u32}, {op ".s32", f##_s32}, {op ".u64", f##_u64}, {op ".s64", f##_s64}
#define SIGNS4(op, f) {op ".u32", f##_u32}, {op ".s32", f##_s32}, {op ".u64", f##_u64}, {op ".s64", f##_s64}
#define WIDE4(op, f) {op ".u16", f##_u16}, {op ".s16", f##_s16}, {op ".u32", f##_u32}, {op ".s32", f##_s32}
#define BITS(op, f) {op ".b16", f##_16}, {op ".b32", f##_32}, {op ".b64", f##_64}
static const struct emu_key keys[] = {
    ALL("add", add), ALL("sub", sub), ALL("mul.lo", mul), ALL("mad.lo", mad), SIGNS("mul.hi", mulhi), SIGNS("mad.hi", madhi),
    WIDE4("mul.wide", wide), WIDE4("mad.wide", madwide), SIGNS("div", div), SIGNS("rem", rem), SIGNS("min", min), SIGNS("max", max),
    SIGNS("sad", sad), {"abs.s16", abs_16}, {"abs.s32", abs_32}, {"abs.s64", abs_64}, {"neg.s16", neg_16}, {"neg.s32", neg_32},
    {"neg.s64", neg_64}, {"add.sat.s32", addsat}, {"sub.sat.s32", subsat}, {"mad.hi.sat.s32", madhisat}, {"min.relu.s32", minrelu},
    {"max.relu.s32", maxrelu}, {"add.u16x2", add_x2}, {"add.s16x2", add_x2}, {"min.u16x2", min_u16x2}, {"max.u16x2", max_u16x2},
    {"min.s16x2", min_s16x2}, {"max.s16x2", max_s16x2}, {"min.relu.s16x2", minr_s16x2}, {"max.relu.s16x2", maxr_s16x2},
    {"mul24.lo.u32", mul24lo_u}, {"mul24.hi.u32", mul24hi_u}, {"mul24.lo.s32", mul24lo_s}, {"mul24.hi.s32", mul24hi_s},
    {"mad24.lo.u32", mad24lo_u}, {"mad24.hi.u32", mad24hi_u}, {"mad24.lo.s32", mad24lo_s}, {"mad24.hi.s32", mad24hi_s}, {"mad24.hi.sat.s32", mad24hi_sat},
    {"popc.b32", popc_32}, {"popc.b64", popc_64}, {"clz.b32", clz_32}, {"clz.b64", clz_64}, {"brev.b32", brev_32}, {"brev.b64", brev_64},
    SIGNS4("bfind", bfind), SIGNS4("bfind.shiftamt", bfind), SIGNS4("bfe", bfe), {"bfi.b32", bfi_32}, {"bfi.b64", bfi_64},
    {"szext.wrap.u32", szext_u}, {"szext.clamp.u32", szext_u}, {"szext.wrap.s32", szext_s}, {"szext.clamp.s32", szext_s},
    {"bmsk.wrap.b32", bmsk_}, {"bmsk.clamp.b32", bmsk_}, {"fns.b32", fns_}, BITS("and", and), BITS("or", or), BITS("xor", xor),
    BITS("not", not), BITS("cnot", cnot), BITS("shl", shl), SIGNS("shr", shr), {"shr.b16", shr_u16}, {"shr.b32", shr_u32},
    {"shr.b64", shr_u64}, {"lop3.b32", lop3_}, {"lop3.or.b32", lop3_bool}, {"lop3.and.b32", lop3_bool}, {"shf.l.wrap.b32", shf_l_wrap},
    {"shf.r.wrap.b32", shf_r_wrap}, {"shf.l.clamp.b32", shf_l_clamp}, {"shf.r.clamp.b32", shf_r_clamp}, {"prmt.b32", prmt_},
    {"and.pred", and_p}, {"or.pred", or_p}, {"xor.pred", xor_p}, {"not.pred", not_p}};

static emu_fn *resolve_carry(struct bind *b) {
  const struct isa_use *u = b->u;
  bool wide = u->type[0] == T_U64 || u->type[0] == T_S64, sub = u->row->mnemonic[0] == 's', mad = u->row->mnemonic[0] == 'm';
  size_t len = strlen(u->row->mnemonic);
  b->in->u = (uint8_t)((u->row->mnemonic[len - 1] == 'c' ? 1 : 0) | (ws_emu_has(u, ".cc") ? 2 : 0) | (ws_emu_has(u, ".hi") ? 4 : 0) |
                       (u->type[0] == T_S32 || u->type[0] == T_S64 ? 8 : 0));
  if (mad) return wide ? madc_64 : madc_32;
  return sub ? (wide ? subc_64 : subc_32) : wide ? addc_64 : addc_32;
}

emu_fn *LEVELLED(ws_emu_resolve_int)(struct bind *b) {
  const struct isa_use *u = b->u;
  const char *m = u->row->mnemonic;
  if (u->type[0] == T_PRED) {
    b->in->u = b->negated;
    return ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
  }
  if (ws_emu_has(u, ".cc") || !strcmp(m, "addc") || !strcmp(m, "subc") || !strcmp(m, "madc")) return resolve_carry(b);
  if (!strcmp(m, "dp4a") || !strcmp(m, "dp2a")) {
    b->in->u = (uint8_t)((u->type[0] == T_S32 ? 1 : 0) | (u->type[1] == T_S32 ? 2 : 0) | (ws_emu_has(u, ".hi") ? 4 : 0));
    return m[2] == '4' ? dp4a_ : dp2a_;
  }
  if (!strcmp(m, "prmt") && u->nmods > 1) {
    static const char *const modes[] = {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    for (uint8_t i = 0; i < 6; i++)
      if (ws_emu_has(u, modes[i])) b->in->u = i;
    return prmt_mode;
  }
  if (*m == 'b' || *m == 's' || *m == 'l')
    b->in->u = ws_emu_has(u, ".shiftamt") || ws_emu_has(u, ".wrap") || ws_emu_has(u, ".or");
  return ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
}
