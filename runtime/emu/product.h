/* The sum of products that wgmma and tcgen05.mma compute, rows x columns over at most 32 elements of K: vector code over the
 * columns, of which there are whole blocks.
 *
 * The sum is the one of mma (exec_mma.c): D and all K products are aligned to the largest exponent among them, each
 * truncated 25 bits below it (13 for 8-bit floating point), their exact sum truncated to f32 or rounded to f16. */
#ifndef WS_EMU_PRODUCT_H
#define WS_EMU_PRODUCT_H
#include "matrix.h"

#if defined(__AVX512F__)
enum { BLOCK = 16 };
#else
enum { BLOCK = 8 };
#endif
enum { NOTHING = -4096, MOST_K = 32, MOST_N = 256 };
typedef float fv __attribute__((vector_size(4 * BLOCK)));
typedef int32_t iv __attribute__((vector_size(4 * BLOCK)));
typedef uint32_t uv __attribute__((vector_size(4 * BLOCK)));
typedef double dv __attribute__((vector_size(8 * BLOCK)));
typedef int64_t lv __attribute__((vector_size(8 * BLOCK)));
#pragma GCC diagnostic ignored "-Wpsabi" /* vector arguments: the functions are all inlined */

/* Operands as values and exponents (NOTHING: zero). A by rows, B by rows of k, padded with zeros to whole blocks. */
struct operands {
  fv bv[MOST_K][MOST_N / BLOCK];
  iv be[MOST_K][MOST_N / BLOCK];
  float av[MOST_N][MOST_K];
  int32_t ae[MOST_N][MOST_K];
  uint32_t k, rows, blocks;
  bool special;       /* NaN or infinity, or exponents that the vector code has no room for */
};
struct sums { float *c; uint32_t stride; }; /* D: element n of row i at i * stride + n */

/* ---- rows of codes to values ---- */
INLINE float value_of(uint32_t code, uint8_t type) {
  switch (type) {
    case T_F16: return h2f((uint16_t)code);
    case T_BF16: return bf2f((uint16_t)code);
    case T_TF32: return u2f(code & 0xffffe000u);
    case T_E5M2: return h2f((uint16_t)(code << 8));
    case T_E2M1: case T_E2M3: case T_E3M2: { /* in the low bits */
      float f = type == T_E2M1 ? u2f((code & 7) << 22) * 0x1p126f : type == T_E2M3 ? u2f((code & 0x1f) << 20) * 0x1p126f : u2f((code & 0x1f) << 21) * 0x1p124f;
      return code & (type == T_E2M1 ? 8 : 0x20) ? -f : f;
    }
    default: { /* e4m3: no infinities, one NaN */
      float f = u2f((code & 0x7f) << 20) * 0x1p120f;
      f = (code & 0x7f) == 0x7f ? u2f(0x7fffffffu) : f;
      return code & 0x80 ? -f : f;
    }
  }
}
/* A subnormal has the exponent of the least normal of its format. */
INLINE int32_t exponent_of(float v, uint8_t type) {
  int32_t least = type == T_F16 || type == T_E5M2 ? -14 : type == T_E4M3 ? -6 : type == T_E2M1 || type == T_E2M3 ? 0 : type == T_E3M2 ? -2 : -126, e = (int32_t)(f2u(v) >> 23 & 255) - 127;
  e = e < least ? least : e;
  return f2u(v) << 1 ? e : NOTHING;
}
INLINE uint32_t code_at(const uint8_t *row, uint32_t k, uint32_t bytes) {
  uint32_t c = 0;
  memcpy(&c, row + k * bytes, bytes);
  return c;
}
/* Values and exponents of n codes; returns the largest magnitude, as bits. */
INLINE uint32_t convert(const uint32_t *code, uint32_t n, uint8_t type, uint32_t sign, float *v, int32_t *e) {
  uint32_t top = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t u = f2u(value_of(code[i], type)), size = u & 0x7fffffffu;
    e[i] = exponent_of(u2f(u), type);
    v[i] = u2f(u ^ sign);
    top = size > top ? size : top;
  }
  return top;
}
INLINE uint32_t fill_a_as(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t bytes, uint32_t sign) {
  uint32_t top = 0;
  for (uint32_t r = 0; r < q->rows; r++) {
    uint32_t code[MOST_K], t;
    for (uint32_t k = 0; k < 32 / bytes; k++) code[k] = code_at(rows[r], k, bytes);
    t = convert(code, 32 / bytes, type, sign, q->av[r], q->ae[r]);
    top = t > top ? t : top;
  }
  return top;
}
INLINE uint32_t fill_b_as(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t bytes, uint32_t sign) {
  uint32_t code[MOST_K][BLOCK], top = 0;
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    for (uint32_t c = 0; c < BLOCK; c++)
      for (uint32_t k = 0; k < 32 / bytes; k++) code[k][c] = code_at(rows[blk * BLOCK + c], k, bytes);
    for (uint32_t k = 0; k < 32 / bytes; k++) {
      uint32_t t = convert(code[k], BLOCK, type, sign, (float *)&q->bv[k][blk], (int32_t *)&q->be[k][blk]);
      top = t > top ? t : top;
    }
  }
  return top;
}
#define FOR_TYPE(call)                                                                                                \
  switch (type) {                                                                                                     \
    case T_F16: return call(T_F16, 2);                                                                                \
    case T_BF16: return call(T_BF16, 2);                                                                              \
    case T_TF32: return call(T_TF32, 4);                                                                              \
    case T_E2M1: return call(T_E2M1, 1);                                                                              \
    case T_E2M3: return call(T_E2M3, 1);                                                                              \
    case T_E3M2: return call(T_E3M2, 1);                                                                              \
    case T_E5M2: return call(T_E5M2, 1);                                                                              \
    default: return call(T_E4M3, 1);                                                                                  \
  }
/* The largest magnitude, as bits. */
static uint32_t fill_a(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t sign) {
#define A_AS(t, bytes) fill_a_as(q, rows, t, bytes, sign)
  FOR_TYPE(A_AS)
}
static uint32_t fill_b(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t sign) {
#define B_AS(t, bytes) fill_b_as(q, rows, t, bytes, sign)
  FOR_TYPE(B_AS)
}

/* ---- the sum ---- */
INLINE iv maxv(iv a, iv b) {
#if defined(__AVX512F__)
  return (iv)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (iv)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  iv m = a > b;
  return (a & m) | (b & ~m);
#endif
}
INLINE fv power(iv e) { /* 2^e for e in -126 .. 127, 0 below */
  return (fv)(maxv(e + 127, (iv){0}) << 23);
}
INLINE bool any(iv v) {
  int32_t r = 0;
  for (int i = 0; i < BLOCK; i++) r |= v[i];
  return r != 0;
}
INLINE fv truncatedv(dv v, int kept) { /* to `kept` bits behind the first */
  lv u = (lv)v & (int64_t)(~0ull << (52 - kept));
  return __builtin_convertvector((dv)u, fv);
}

/* ROWS rows of one block at a time: loads of B are what this loop waits for. *odd: columns where exponents run too low for it. */
enum { ROWS = 2 };
INLINE void rows(const struct operands *q, uint32_t i, uint32_t blk, uint32_t k, int bits, int kept, const fv c[ROWS], fv out[ROWS], iv *odd) {
  iv top[ROWS];
  uv sum[ROWS], high[ROWS]; /* NaN and infinity give any number here: their blocks are computed again */
  fv s[ROWS];
  for (uint32_t r = 0; r < ROWS; r++) {
    iv raw = (iv)c[r] >> 23 & 255, zero = c[r] == 0.0f;
    *odd |= raw == 255;
    top[r] = ((maxv(raw, (iv){0} + 1) - 127) & ~zero) | (NOTHING & zero);
    sum[r] = high[r] = (uv){0};
  }
  for (uint32_t j = 0; j < k; j++)
    for (uint32_t r = 0; r < ROWS; r++) top[r] = maxv(top[r], q->ae[i + r][j] + q->be[j][blk]);
  for (uint32_t r = 0; r < ROWS; r++) {
    *odd |= (top[r] < -100) & (top[r] > NOTHING / 2);
    iv scale = bits - top[r];
    s[r] = power(scale & (scale < 128));
  }
  for (uint32_t j = 0; j < (k < 16 ? k : 16); j++)
    for (uint32_t r = 0; r < ROWS; r++) sum[r] += (uv)__builtin_convertvector(q->av[i + r][j] * q->bv[j][blk] * s[r], iv);
  for (uint32_t j = 16; j < k; j++) /* more than 16 products of 25 bits do not fit 32 */
    for (uint32_t r = 0; r < ROWS; r++) high[r] += (uv)__builtin_convertvector(q->av[i + r][j] * q->bv[j][blk] * s[r], iv);
  for (uint32_t r = 0; r < ROWS; r++) {
    dv total = __builtin_convertvector((iv)sum[r], dv) + __builtin_convertvector(__builtin_convertvector(c[r] * s[r], iv), dv);
    if (k > 16) total += __builtin_convertvector((iv)high[r], dv);
    out[r] = truncatedv(total, kept) * power(top[r] - bits);
  }
}

/* The same by the definition, one element, with IEEE's arithmetic for NaN and infinity. */
static double element(const struct operands *q, uint32_t i, uint32_t n, int bits, float c) {
  uint32_t raw = f2u(c) >> 23 & 255;
  int32_t top = c == 0.0f ? NOTHING : (int32_t)(raw ? raw : 1) - 127;
  double ieee = (double)c, sum = 0;
  for (uint32_t j = 0; j < q->k; j++) {
    int32_t e = q->ae[i][j] + ((const int32_t *)q->be[j])[n];
    ieee += (double)q->av[i][j] * (double)((const float *)q->bv[j])[n];
    top = e > top ? e : top;
  }
  if (ieee != ieee || isinf(ieee)) return ieee;
  if (top < NOTHING / 2) return 0;
  double scale = ldexp(1, bits - top);
  for (uint32_t j = 0; j < q->k; j++) sum += trunc((double)q->av[i][j] * (double)((const float *)q->bv[j])[n] * scale);
  return (sum + trunc((double)c * scale)) / scale;
}
static float truncated(double v, int kept) {
  float f = (float)u2d(d2u(v) & (~0ull << (52 - kept)));
  if (v != v) return canon((float)v);
  return fabs((double)f) > fabs(v) && fabs(v) < 0x1p128 ? u2f(f2u(f) - 1) : f; /* a subnormal that was rounded up */
}

struct rule { int bits, kept; bool half; }; /* half: the result is rounded to f16 */
static void slow_block(const struct operands *q, uint32_t blk, struct rule r, struct sums t, const float (*c)[BLOCK]) {
  for (uint32_t i = 0; i < q->rows; i++)
    for (uint32_t n = 0; n < BLOCK; n++) {
      double v = element(q, i, blk * BLOCK + n, r.bits, c[i][n]);
      float f = r.half ? h2f(d2h(v)) : truncated(v, r.kept);
      t.c[i * t.stride + blk * BLOCK + n] = f == 0.0f ? 0.0f : f;
    }
}
INLINE void product_as(const struct operands *q, uint32_t k, int bits, int kept, struct sums t, bool add) {
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    fv c[MOST_N], new[ROWS];
    iv odd = {0};
    for (uint32_t i = 0; i < q->rows; i += ROWS) {
      for (uint32_t r = 0; r < ROWS; r++) {
        c[i + r] = (fv){0};
        if (add) memcpy(&c[i + r], &t.c[(i + r) * t.stride + blk * BLOCK], sizeof *c);
      }
      rows(q, i, blk, k, bits, kept, c + i, new, &odd);
      for (uint32_t r = 0; r < ROWS; r++) memcpy(&t.c[(i + r) * t.stride + blk * BLOCK], &new[r], sizeof *new);
    }
    if (q->special || any(odd)) slow_block(q, blk, (struct rule){bits, kept, false}, t, (const float(*)[BLOCK])(const void *)c);
  }
}
static inline void product_16(const struct operands *q, struct sums t, bool add) { product_as(q, 16, 25, 23, t, add); }
static inline void product_tf32(const struct operands *q, struct sums t, bool add) { product_as(q, 8, 25, 23, t, add); }
static inline void product_8(const struct operands *q, struct sums t, bool add) { product_as(q, 32, 13, 13, t, add); }
static inline void product_8_wide(const struct operands *q, struct sums t, bool add) { product_as(q, 32, 25, 23, t, add); }
static inline void product_half(const struct operands *q, int bits, struct sums t, bool add) {
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    float c[MOST_N][BLOCK];
    for (uint32_t i = 0; i < q->rows; i++)
      for (uint32_t n = 0; n < BLOCK; n++) c[i][n] = add ? t.c[i * t.stride + blk * BLOCK + n] : 0;
    slow_block(q, blk, (struct rule){bits, 23, true}, t, (const float(*)[BLOCK])c);
  }
}
#endif
