/* What the handlers (exec_*.c) share: lane loops, register access, float helpers. Compiled once for each vector level,
 * so everything here is static. Handlers trust decode: slots have the right width. */
#ifndef WS_EMU_EXEC_H
#define WS_EMU_EXEC_H
#include "../src/cuda_abi.h"
#include "level.h"
#include <math.h>
#include <string.h>

#ifndef LEVEL
#define LEVEL base
#endif
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define LEVELLED(name) PASTE(name, LEVEL) /* an exported name of this level */

#define HANDLER(name) static int name(struct warp *w __attribute__((unused)), const struct inst *in __attribute__((unused)))
#define SLOT(T, i) ((T *)(void *)(w->regs + in->o[i]))
#define PRED(i) (*(uint32_t *)(void *)(w->regs + in->o[i]))
#define SRC_PRED(i) (in->flags & F_SRC_NOT ? ~PRED(i) : PRED(i))

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
/* Runs the statement for each executing lane i. Sources and destination are the same register or disjoint. */
#define EACH_LANE(...)                                                                                                \
  do {                                                                                                                \
    if (__builtin_expect(w->mask == ALL_LANES, 1)) {                                                                  \
      INDEPENDENT                                                                                                     \
      for (int i = 0; i < LANES; i++) { __VA_ARGS__; }                                                                \
    } else {                                                                                                          \
      for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1) {                                                                 \
        int i = __builtin_ctz(m_);                                                                                    \
        __VA_ARGS__;                                                                                                  \
      }                                                                                                               \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  } while (0)
#define DEF1(name, D, A, ...)                                                                                         \
  HANDLER(name) { D *d = SLOT(D, 0); const A *a = SLOT(A, 1); EACH_LANE(d[i] = (D)(__VA_ARGS__)); }
#define DEF2(name, D, A, B, ...)                                                                                      \
  HANDLER(name) { D *d = SLOT(D, 0); const A *a = SLOT(A, 1); const B *b = SLOT(B, 2); EACH_LANE(d[i] = (D)(__VA_ARGS__)); }
#define DEF3(name, D, A, B, C, ...)                                                                                   \
  HANDLER(name) {                                                                                                     \
    D *d = SLOT(D, 0); const A *a = SLOT(A, 1); const B *b = SLOT(B, 2); const C *c = SLOT(C, 3);                     \
    EACH_LANE(d[i] = (D)(__VA_ARGS__));                                                                               \
  }

/* A mask of lanes from 32 words that are all ones or zero. */
#if defined(__AVX512F__)
#include <immintrin.h>
static inline uint32_t mask_of(const int32_t r[LANES]) {
  __m512i lo = _mm512_loadu_si512(r), hi = _mm512_loadu_si512(r + 16);
  return (uint32_t)_mm512_test_epi32_mask(lo, lo) | (uint32_t)_mm512_test_epi32_mask(hi, hi) << 16;
}
#elif defined(__AVX2__)
#include <immintrin.h>
static inline uint32_t mask_of(const int32_t r[LANES]) {
  uint32_t m = 0;
  for (int k = 0; k < 4; k++)
    m |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)(r + 8 * k)))) << 8 * k;
  return m;
}
#else
static inline uint32_t mask_of(const int32_t r[LANES]) {
  uint32_t m = 0;
  for (int i = 0; i < LANES; i++) m |= (uint32_t)(r[i] & 1) << i;
  return m;
}
#endif

static inline uint32_t f2u(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float u2f(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint64_t d2u(double f) { uint64_t u; memcpy(&u, &f, 8); return u; }
static inline double u2d(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }

/* .ftz: subnormals to zero of the same sign */
static inline float ftz(float f) {
  uint32_t u = f2u(f);
  return u2f((u & 0x7f800000u) ? u : u & 0x80000000u);
}
/* The result NaN of .f32 operations (PTX ISA "Floating-Point Instructions": NaN payloads are not kept). */
static inline float canon(float f) { return f != f ? u2f(0x7fffffffu) : f; }
static inline float sat(float f) { return f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f; } /* NaN -> +0 */

/* ---- 16-bit formats ---- */
static inline float h2f(uint16_t h) {
  uint32_t u = (uint32_t)(h & 0x7fffu) << 13, s = (uint32_t)(h & 0x8000u) << 16;
  float f = u2f(u) * 0x1p112f; /* exact: also gives subnormals their value */
  uint32_t r = f >= 65536.0f || f != f ? u | 0x7f800000u : f2u(f);
  return u2f(r | s);
}
static inline float bf2f(uint16_t h) { return u2f((uint32_t)h << 16); }

/* Round to nearest even; NaN to the canonical NaN. */
static inline uint16_t f2bf(float f) {
  uint32_t u = f2u(f);
  uint32_t r = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}
static inline uint16_t f2h(float f) {
  uint32_t u = f2u(f), s = u >> 16 & 0x8000u;
  u &= 0x7fffffffu;
  uint32_t normal = (u - 0x38000000u + 0xfffu + (u >> 13 & 1)) >> 13; /* exponent 127 -> 15; carries into Inf by itself */
  uint32_t small = f2u(u2f(u) + 0.5f) - 0x3f000000u;                  /* below 2^-14: the addition rounds at 2^-24 */
  uint32_t r = u < 0x38800000u ? small : normal;
  r = u >= 0x47800000u ? 0x7c00u : r;                                 /* 65536 and above */
  r = u > 0x7f800000u ? 0x7fffu : r;
  return (uint16_t)(r | (u > 0x7f800000u ? 0 : s));
}
/* A double to f16 or bf16 with one rounding: first to f32 with round to odd, which keeps the sticky bit. */
static inline float d2f_odd(double v) {
  float f = (float)v;
  if (v != v || (double)f == v || f2u(f) & 1) return f;
  uint32_t u = f2u(f);
  bool away = fabs((double)f) > fabs(v);
  return u2f(away ? u - 1 : u + 1);
}
static inline uint16_t d2h(double v) { return f2h(d2f_odd(v)); }
static inline uint16_t d2bf(double v) { return f2bf(d2f_odd(v)); }
#endif
