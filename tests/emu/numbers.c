/* Random numbers and bf16: the part of the harness that needs no driver. */
#include "harness.h"
#include <math.h>

uint64_t rng_next(struct rng *r) {
  r->s ^= r->s << 13;
  r->s ^= r->s >> 7;
  r->s ^= r->s << 17;
  return r->s * 0x2545f4914f6cdd1du;
}
uint32_t rng_below(struct rng *r, uint32_t n) { return (uint32_t)((rng_next(r) >> 32) * n >> 32); }

float rng_normal(struct rng *r) {
  double sum = 0;
  for (int i = 0; i < 12; i++) sum += (double)(rng_next(r) >> 11) * 0x1p-53;
  return (float)(sum - 6);
}

uint64_t rng_pattern(struct rng *r, int bits) {
  static const uint64_t f16[] = {0x7c00, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3c00, 0x8000};
  static const uint64_t f32[] = {0x7f800000, 0xff800000, 0x7fc00001, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0x3f800000, 0x80000000};
  static const uint64_t f64[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001, 1, 0x800fffffffffffff, 0x0010000000000000,
                                 0x7fefffffffffffff, 0x3ff0000000000000, 0x8000000000000000};
  uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1, v = rng_next(r);
  uint32_t edge = rng_below(r, 9);
  switch (rng_below(r, 8)) {
    case 0: return (bits == 16 ? f16 : bits == 64 ? f64 : f32)[edge] & mask;
    case 1: return (rng_below(r, 9) - 4ull) & mask;
    case 2: return (1ull << rng_below(r, (uint32_t)bits)) - rng_below(r, 2);
    default: return v & mask;
  }
}

float bf16_to_float(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
uint16_t float_to_bf16(float f) {
  if (f != f) return 0x7fff;
  uint32_t u;
  memcpy(&u, &f, 4);
  uint16_t down = (uint16_t)(u >> 16);
  uint32_t rest = u & 0xffff;
  return (uint16_t)(rest > 0x8000 || (rest == 0x8000 && (down & 1)) ? down + 1 : down);
}

uint16_t f16_of(double v) {
  int e;
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  if (isnan(v)) return 0x7fff;
  if (isinf(v)) return sign | 0x7c00;
  frexp(v, &e);
  int unit = (e - 1 < -14 ? -14 : e - 1) - 10;
  double q = v == 0 ? 0 : rint(ldexp(fabs(v), -unit)); /* up to 11 bits, or 2048 */
  if (ldexp(q, unit) >= 65536) return sign | 0x7c00;
  return q < 1024 ? (uint16_t)(sign | (int)q) : (uint16_t)(sign | ((unit + 24) * 1024 + (int)q));
}
double f16_value(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -v : v;
}
