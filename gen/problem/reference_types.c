/* The element types of reference.h: conversions in integers, so that the host compiler's half types do not matter. */
#include "reference.h"
#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
  int precision, least; /* significand bits; exponent of the smallest normal value */
} types[] = {
    [WS_REF_F16] = {"f16", 2, 11, -14},
    [WS_REF_BF16] = {"bf16", 2, 8, -126},
    [WS_REF_F32] = {"f32", 4, 24, -126},
};

bool ws_ref_type_find(const char *name, enum ws_ref_type *type) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(types[i].name, name)) return *type = (enum ws_ref_type)i, true;
  return false;
}

size_t ws_ref_size(enum ws_ref_type type) { return types[type].size; }
int ws_ref_precision(enum ws_ref_type type) { return types[type].precision; }

static uint32_t bits_of(float v) {
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}

static float float_of(uint32_t u) {
  float v;
  memcpy(&v, &u, sizeof v);
  return v;
}

uint16_t ws_ref_to_bf16(float v) {
  uint32_t u = bits_of(v);
  if (v != v) return (uint16_t)(u >> 16 | 0x40); /* a quiet NaN, whatever the payload */
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float ws_ref_from_bf16(uint16_t bits) { return float_of((uint32_t)bits << 16); }

uint16_t ws_ref_to_f16(float v) {
  uint32_t u = bits_of(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
  if (a >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* 2^16 and beyond */
  uint32_t half, rest, shift;
  if (a >= 0x38800000) { /* normal: rebias the exponent from 127 to 15; a carry moves into it */
    shift = 13;
    half = (a >> shift) - (112 << 10);
    rest = a & 0x1fff;
  } else { /* subnormal: multiples of 2^-24 */
    uint32_t exponent = a >> 23;
    if (exponent < 102) return (uint16_t)sign; /* below 2^-25 */
    uint32_t significand = (a & 0x7fffff) | 0x800000;
    shift = 126 - exponent;
    half = significand >> shift;
    rest = significand & ((1u << shift) - 1);
  }
  uint32_t tie = 1u << (shift - 1);
  half += rest > tie || (rest == tie && (half & 1));
  return (uint16_t)(sign | half);
}

float ws_ref_from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
  if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  float v = (float)fraction * 0x1p-24f;
  return sign ? -v : v;
}

void ws_ref_store(void *at, enum ws_ref_type type, float v) {
  uint16_t half;
  switch (type) {
  case WS_REF_F16: half = ws_ref_to_f16(v); break;
  case WS_REF_BF16: half = ws_ref_to_bf16(v); break;
  default: memcpy(at, &v, sizeof v); return;
  }
  memcpy(at, &half, sizeof half);
}

float ws_ref_load(const void *at, enum ws_ref_type type) {
  uint16_t half;
  float v;
  if (type == WS_REF_F32) {
    memcpy(&v, at, sizeof v);
    return v;
  }
  memcpy(&half, at, sizeof half);
  return type == WS_REF_F16 ? ws_ref_from_f16(half) : ws_ref_from_bf16(half);
}

double ws_ref_ulp(enum ws_ref_type type, double v) {
  int exponent = types[type].least;
  if (isfinite(v) && v != 0 && ilogb(v) > exponent) exponent = ilogb(v);
  return ldexp(1, exponent - types[type].precision + 1);
}
