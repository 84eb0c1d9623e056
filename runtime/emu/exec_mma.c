/* PTX ISA "Matrix Multiply-Accumulate Operation Using mma Instruction".
 *
 * Ruling, bit for bit what an H200 does with each of these forms:
 * - 16-bit and tf32 operands: C and all K products are aligned to the largest exponent among them, where a product's
 *   exponent is the sum of its operands' (a subnormal counts with the least normal exponent, a zero not at all); each
 *   is truncated toward zero 25 bits below that exponent; their exact sum is truncated to f32 or rounded to f16.
 * - 8-bit floating point: converted to f16; the products of elements 0 and 1 of every register first, from zero, then
 *   those of elements 2 and 3 on top, each as above; C is added last, with one rounding.
 * - integers: exact, wrapped to 32 bits or clamped by .satfinite.
 * NaN and infinities follow IEEE arithmetic on the exact terms; a NaN result is canonical. */
#include "exec.h"

enum { NOTHING = -4096, ALIGNED_BITS = 25 }; /* the exponent of zero; bits kept below the largest exponent */
typedef float f8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));
typedef int64_t l8 __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi" /* vector arguments: the functions are all inlined */

struct format { int mantissa, top, bias; }; /* mantissa bits, the exponent of infinity, bias */
#define F16 ((struct format){10, 31, 15})
#define BF16 ((struct format){7, 255, 127})
#define TF32 ((struct format){10, 255, 127}) /* of the operand's upper 19 bits */
#define F32 ((struct format){23, 255, 127})

/* The codes of one product, and each split into a signed integer significand held in a float and an exponent:
 * value = m * 2^(e - mantissa bits). A and C by rows, B by rows of k. */
struct tiles {
  uint32_t a[16][16], b[128], c[128];
  float am[16][16];
  int32_t ae[16][16];
  f8 bm[16], cm[16];
  i8 be[16], ce[16];
};

/* ---- fragments to tiles. A register seen as an array of elements holds eight runs, one a group g:
 *   A register r: row g + 8 (r & 1), columns run * (r >> 1) ..;  B register r: column g, rows run * r ..;
 *   C registers 2 h and 2 h + 1: rows g + 8 h, even and odd columns, so element 2 l + e of lane l is in place. */
typedef uint16_t half8 __attribute__((vector_size(16)));
/* 8 x 8: three interleavings of the upper with the lower half turn index bits (row, column) into (column, row). */
INLINE void transpose(const uint16_t *s, uint16_t *t) {
  half8 r[8], u[8];
  memcpy(r, s, sizeof r);
  for (int stage = 0; stage < 3; stage++) {
    for (int i = 0; i < 4; i++) {
      u[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      u[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(r, u, sizeof r);
  }
  memcpy(t, r, sizeof r);
}
INLINE void load_a16(struct tiles *q, int r, const uint16_t *s) {
  for (int g = 0; g < 8; g++)
    for (int j = 0; j < 8; j++) q->a[g + 8 * (r & 1)][8 * (r >> 1) + j] = s[8 * g + j];
}
INLINE void load_b16(struct tiles *q, int r, const uint16_t *s) {
  uint16_t t[64];
  transpose(s, t);
  for (int i = 0; i < 64; i++) q->b[64 * r + i] = t[i];
}
INLINE void load_a32(struct tiles *q, int r, const uint32_t *s) {
  for (int g = 0; g < 8; g++)
    for (int j = 0; j < 4; j++) q->a[g + 8 * (r & 1)][4 * (r >> 1) + j] = s[4 * g + j] >> 13;
}
INLINE void load_b32(struct tiles *q, int r, const uint32_t *s) {
  for (int g = 0; g < 8; g++)
    for (int j = 0; j < 4; j++) q->b[8 * (4 * r + j) + g] = s[4 * g + j] >> 13;
}
INLINE void load_c_f32(const struct warp *w, const uint32_t *x, uint32_t c[128]) {
  for (int h = 0; h < 2; h++) {
    const uint32_t *even = ws_emu_slot(w, x[2 * h]), *odd = ws_emu_slot(w, x[2 * h + 1]);
    for (int l = 0; l < LANES; l++) c[64 * h + 2 * l] = even[l], c[64 * h + 2 * l + 1] = odd[l];
  }
}
INLINE void store_d_f32(struct warp *w, const uint32_t *x, const float d[128]) {
  for (int h = 0; h < 2; h++) {
    float *even = ws_emu_slot(w, x[2 * h]), *odd = ws_emu_slot(w, x[2 * h + 1]);
    INDEPENDENT
    for (int l = 0; l < LANES; l++) even[l] = d[64 * h + 2 * l], odd[l] = d[64 * h + 2 * l + 1];
  }
}
INLINE void load_c_f16(const struct warp *w, const uint32_t *x, uint32_t c[128]) {
  for (int h = 0; h < 2; h++) {
    const uint16_t *s = ws_emu_slot(w, x[h]);
    for (int i = 0; i < 2 * LANES; i++) c[64 * h + i] = s[i];
  }
}
INLINE void store_d_f16(struct warp *w, const uint32_t *x, const uint32_t d[128]) {
  for (int h = 0; h < 2; h++) {
    uint16_t *to = ws_emu_slot(w, x[h]);
    for (int i = 0; i < 2 * LANES; i++) to[i] = (uint16_t)d[64 * h + i];
  }
}

/* ---- the aligned sum ---- */
/* Returns whether one of n codes is NaN or infinite. */
INLINE bool split(const uint32_t *u, int n, struct format f, float *m, int32_t *e) {
  uint32_t special = 0;
  for (int i = 0; i < n; i++) {
    uint32_t exponent = u[i] >> f.mantissa & (uint32_t)f.top, man = u[i] & ((1u << f.mantissa) - 1);
    uint32_t negative = u[i] >> (f.mantissa + (f.top == 31 ? 5 : 8)) & 1;
    special |= exponent == (uint32_t)f.top;
    man |= exponent ? 1u << f.mantissa : 0;
    int32_t s = negative ? -(int32_t)man : (int32_t)man;
    m[i] = (float)s;
    e[i] = man ? (int32_t)(exponent ? exponent : 1) - f.bias : NOTHING;
  }
  return special;
}
INLINE i8 max8(i8 a, i8 b) {
#ifdef __AVX2__
  return (i8)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  i8 m = a > b;
  return (a & m) | (b & ~m);
#endif
}
INLINE f8 power8(i8 e) { /* 2^e, or 0 where that is too small to matter */
  union { i8 i; f8 f; } u = {.i = max8(e + 127, (i8){0}) << 23};
  return u.f;
}
/* Row i of the sums into out. The conversion to integers truncates; eight terms of at most 27 bits fit. */
INLINE void row_sum(const struct tiles *q, int i, int k, int bits, int c_bits, double out[8]) {
  i8 top = q->ce[i], low = {0}, high = {0};
  for (int j = 0; j < k; j++) top = max8(top, q->ae[i][j] + q->be[j]);
  i8 shift = (ALIGNED_BITS - 2 * bits) - top;
  for (int j = 0; j < k; j++) {
    i8 term = __builtin_convertvector(q->am[i][j] * q->bm[j] * power8(q->ae[i][j] + q->be[j] + shift), i8);
    if (j < 8) low += term;
    else high += term;
  }
  i8 c = __builtin_convertvector(q->cm[i] * power8(q->ce[i] - top + (ALIGNED_BITS - c_bits)), i8);
  d8 total = __builtin_convertvector(low, d8) + __builtin_convertvector(high, d8) + __builtin_convertvector(c, d8);
  i8 unit = max8(top, (i8){0} - 900) + (1023 - ALIGNED_BITS);
  union { l8 i; d8 d; } u = {.i = __builtin_convertvector(unit, l8) << 52};
  total *= u.d;
  memcpy(out, &total, sizeof total);
}

static double value(uint32_t u, struct format f) {
  return f.top == 31 ? (double)h2f((uint16_t)u) : (double)u2f(u << (23 - f.mantissa));
}
/* Where NaN or infinity takes part the sum is IEEE's. */
static void special_sums(const struct tiles *q, int k, struct format f, struct format fc, double out[128]) {
  for (int i = 0; i < 16; i++)
    for (int n = 0; n < 8; n++) {
      double s = value(q->c[8 * i + n], fc);
      for (int j = 0; j < k; j++) s += value(q->a[i][j], f) * value(q->b[8 * j + n], f);
      if (s != s || isinf(s)) out[8 * i + n] = s;
    }
}
INLINE void sums(struct tiles *q, int k, struct format f, struct format fc, double out[128]) {
  bool special = split(q->b, 8 * k, f, (float *)q->bm, (int32_t *)q->be);
  special |= split(q->c, 128, fc, (float *)q->cm, (int32_t *)q->ce);
  for (int i = 0; i < 16; i++) special |= split(q->a[i], k, f, q->am[i], q->ae[i]);
  for (int i = 0; i < 16; i++) row_sum(q, i, k, f.mantissa, fc.mantissa, out + 8 * i);
  if (special) special_sums(q, k, f, fc, out);
}
/* A result of zero is +0. */
static inline float truncated(double v) {
  float f = (float)v;
  f = canon(fabs((double)f) > fabs(v) && fabs(v) < 0x1p128 ? u2f(f2u(f) - 1) : f);
  return f == 0.0f ? 0.0f : f;
}
INLINE void truncate_all(const double s[128], float d[128]) {
  for (int i = 0; i < 128; i++) d[i] = truncated(s[i]);
}
INLINE void halves(const double s[128], uint32_t d[128]) {
  for (int i = 0; i < 128; i++) {
    uint32_t h = d2h(s[i]);
    d[i] = h == 0x8000u ? 0 : h;
  }
}

/* ---- forms. x holds the slots of D, A, B, C in this order ---- */
static int whole_warp(struct warp *w, const struct inst *in) {
  if (w->mask == ALL_LANES) return EV_NEXT;
  return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "executes this with lanes 0x%08x: all 32 are needed", w->mask);
}
#define BEGIN(K)                                                                                                      \
  int ev = whole_warp(w, in);                                                                                         \
  if (ev != EV_NEXT) return ev;                                                                                       \
  w->stats.flops += 2 * 16 * 8 * (K)
#define LOAD_AB(BITS, x, aregs, bregs)                                                                                \
  for (int r = 0; r < (aregs); r++) load_a##BITS(&q, r, ws_emu_slot(w, (x)[r]));                                      \
  for (int r = 0; r < (bregs); r++) load_b##BITS(&q, r, ws_emu_slot(w, (x)[(aregs) + r]))
#define MMA_F32(name, BITS, K, AREGS, BREGS, FORMAT)                                                                  \
  HANDLER(name) {                                                                                                     \
    struct tiles q;                                                                                                   \
    double s[128];                                                                                                  \
    float d[128];                                                                                                   \
    BEGIN(K);                                                                                                         \
    LOAD_AB(BITS, in->x + 4, AREGS, BREGS);                                                                           \
    load_c_f32(w, in->x + 4 + AREGS + BREGS, q.c);                                                                    \
    sums(&q, K, FORMAT, F32, s);                                                                                      \
    truncate_all(s, d);                                                                                               \
    store_d_f32(w, in->x, d);                                                                                         \
    return EV_NEXT;                                                                                                   \
  }
#define MMA_F16(name, K, AREGS, BREGS)                                                                                \
  HANDLER(name) {                                                                                                     \
    struct tiles q;                                                                                                   \
    double s[128];                                                                                                  \
    uint32_t d[128];                                                                                                \
    BEGIN(K);                                                                                                         \
    LOAD_AB(16, in->x + 2, AREGS, BREGS);                                                                             \
    load_c_f16(w, in->x + 2 + AREGS + BREGS, q.c);                                                                    \
    sums(&q, K, F16, F16, s);                                                                                         \
    halves(s, d);                                                                                                     \
    store_d_f16(w, in->x, d);                                                                                         \
    return EV_NEXT;                                                                                                   \
  }
MMA_F32(f32_f16_k16, 16, 16, 4, 2, F16)
MMA_F32(f32_bf16_k16, 16, 16, 4, 2, BF16)
MMA_F32(f32_f16_k8, 16, 8, 2, 1, F16)
MMA_F32(f32_bf16_k8, 16, 8, 2, 1, BF16)
MMA_F32(f32_tf32_k8, 32, 8, 4, 2, TF32)
MMA_F32(f32_tf32_k4, 32, 4, 2, 1, TF32)
MMA_F16(f16_f16_k16, 16, 4, 2)
MMA_F16(f16_f16_k8, 8, 2, 1)

/* ---- 8-bit floating point; in->u bit 0, 1: A, B is e5m2; in->w: A registers ---- */
static inline uint16_t f16_of_e4m3(uint32_t v) {
  uint32_t m = v & 0x7f, s = (v & 0x80) << 8;
  float f = u2f(m << 20) * 0x1p120f; /* exact, subnormals too */
  return (uint16_t)(m == 0x7f ? 0x7fffu : f2h(f) | s);
}
/* Elements 2 p and 2 p + 1 of every lane as a register of f16. */
static void pair_of(const uint8_t *s, int p, bool e5m2, uint16_t *t) {
  for (int i = 0; i < 2 * LANES; i++) {
    uint8_t v = s[4 * (i >> 1) + 2 * p + (i & 1)];
    if (e5m2) t[i] = (uint16_t)(v << 8);
    else t[i] = f16_of_e4m3(v);
  }
}
static void load_pairs(struct warp *w, const struct inst *in, const uint32_t *x, int p, struct tiles *q) {
  uint16_t t[2 * LANES];
  for (int r = 0; r < in->w; r++) {
    pair_of(ws_emu_slot(w, x[r]), p, in->u & 1, t);
    load_a16(q, r, t);
  }
  for (int r = 0; r < in->w / 2; r++) {
    pair_of(ws_emu_slot(w, x[in->w + r]), p, in->u & 2, t);
    load_b16(q, r, t);
  }
}
static void sums_k16(struct tiles *q, struct format fc, double s[128]) { sums(q, 16, F16, fc, s); }
static void sums_k8(struct tiles *q, struct format fc, double s[128]) { sums(q, 8, F16, fc, s); }
HANDLER(f32_fp8) {
  struct tiles q;
  double s[128];
  float d[128] = {0};
  const uint32_t *a = in->x + 4;
  BEGIN(8 * in->w);
  for (int p = 0; p < 2; p++) {
    load_pairs(w, in, a, p, &q);
    memcpy(q.c, d, sizeof d);
    (in->w == 4 ? sums_k16 : sums_k8)(&q, F32, s);
    truncate_all(s, d);
  }
  load_c_f32(w, a + in->w + in->w / 2, q.c);
  for (int i = 0; i < 128; i++) d[i] = canon(u2f(q.c[i]) + d[i]);
  store_d_f32(w, in->x, d);
  return EV_NEXT;
}
HANDLER(f16_fp8) {
  struct tiles q;
  double s[128];
  uint32_t d[128] = {0};
  const uint32_t *a = in->x + 2;
  BEGIN(8 * in->w);
  for (int p = 0; p < 2; p++) {
    load_pairs(w, in, a, p, &q);
    memcpy(q.c, d, sizeof d);
    (in->w == 4 ? sums_k16 : sums_k8)(&q, F16, s);
    halves(s, d);
  }
  load_c_f16(w, a + in->w + in->w / 2, q.c);
  for (int i = 0; i < 128; i++) d[i] = f2h(h2f((uint16_t)q.c[i]) + h2f((uint16_t)d[i]));
  store_d_f16(w, in->x, d);
  return EV_NEXT;
}

/* ---- integers; in->u bit 0, 1: A, B is signed; in->w: A registers; in->imm: .satfinite ---- */
HANDLER(s32_int8) {
  int64_t c[128];
  int k = 8 * in->w;
  const uint32_t *a = in->x + 4, *b = a + in->w, *cx = b + in->w / 2;
  uint32_t codes[128];
  BEGIN(k);
  load_c_f32(w, cx, codes);
  for (int i = 0; i < 128; i++) c[i] = (int32_t)codes[i];
  for (int i = 0; i < 16; i++)
    for (int n = 0; n < 8; n++)
      for (int j = 0; j < k; j++) {
        uint8_t va = ((const uint8_t *)ws_emu_slot(w, a[(i >> 3) + 2 * (j >> 4)]))[16 * (i & 7) + (j & 15)];
        uint8_t vb = ((const uint8_t *)ws_emu_slot(w, b[j >> 4]))[16 * n + (j & 15)];
        c[8 * i + n] += (in->u & 1 ? (int8_t)va : va) * (in->u & 2 ? (int8_t)vb : vb);
      }
  for (int i = 0; i < 16; i++)
    for (int n = 0; n < 8; n++) {
      int64_t v = c[8 * i + n];
      if (in->imm) v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
      ((uint32_t *)ws_emu_slot(w, in->x[2 * (i >> 3) + (n & 1)]))[4 * (i & 7) + n / 2] = (uint32_t)v;
    }
  return EV_NEXT;
}

#define M(shape, types) "mma.sync.aligned." shape ".row.col" types
static const struct emu_key keys[] = {
    {M("m16n8k16", ".f32.f16.f16.f32"), f32_f16_k16}, {M("m16n8k16", ".f32.bf16.bf16.f32"), f32_bf16_k16},
    {M("m16n8k16", ".f16.f16.f16.f16"), f16_f16_k16}, {M("m16n8k8", ".f32.f16.f16.f32"), f32_f16_k8},
    {M("m16n8k8", ".f32.bf16.bf16.f32"), f32_bf16_k8}, {M("m16n8k8", ".f16.f16.f16.f16"), f16_f16_k8},
    {M("m16n8k4", ".f32.tf32.tf32.f32"), f32_tf32_k4}, {M("m16n8k8", ".f32.tf32.tf32.f32"), f32_tf32_k8}};

emu_resolve LEVELLED(ws_emu_resolve_mma);
emu_fn *LEVELLED(ws_emu_resolve_mma)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  emu_fn *fn = ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
  if (fn || u->ntypes < 4) return fn;
  in->imm = ws_emu_has(u, ".satfinite");
  in->w = ws_emu_has(u, ".m16n8k32") ? 4 : 2;
  in->u = (uint8_t)((u->type[1] == T_E5M2 || u->type[1] == T_S8 ? 1 : 0) | (u->type[2] == T_E5M2 || u->type[2] == T_S8 ? 2 : 0));
  if (u->type[0] == T_S32) return s32_int8;
  return u->type[0] == T_F32 ? f32_fp8 : f16_fp8;
}
