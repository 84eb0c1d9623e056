/* Normal random numbers from integers and the five operations that IEEE 754 fixes to the last bit; compiled without
 * contraction to fused multiply-adds. */
#include "cli.h"
#include <math.h>

uint64_t ws_cli_mix(uint64_t x) {
  x ^= x >> 33;
  x *= UINT64_C(0xff51afd7ed558ccd);
  x ^= x >> 33;
  x *= UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ x >> 33;
}

/* ln of a normal number: x = 2^e * m with m in [1/sqrt 2, sqrt 2), ln m = 2 artanh((m - 1) / (m + 1)) as a series. The
 * library's log may differ in the last bit between machines. */
static double logarithm(double x) {
  int e;
  double m = frexp(x, &e), series = 0;
  if (m < 0.70710678118654752) {
    m *= 2;
    e--;
  }
  double t = (m - 1) / (m + 1), t2 = t * t;
  for (int k = 25; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
  return 2 * t * series + e * 0.69314718055994531;
}

/* The polar method: a point in the unit disc gives two normal values; the first is taken. */
double ws_cli_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t state =
      ws_cli_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (stream + 1)) + index * UINT64_C(0xd1342543de82ef95);
  for (;;) {
    uint64_t a = ws_cli_mix(state += UINT64_C(0x9e3779b97f4a7c15));
    uint64_t b = ws_cli_mix(state += UINT64_C(0x9e3779b97f4a7c15));
    double x = (double)(a >> 11) * 0x1p-52 - 1, y = (double)(b >> 11) * 0x1p-52 - 1, r = x * x + y * y;
    if (r > 0 && r < 1) return x * sqrt(-2 * logarithm(r) / r);
  }
}
