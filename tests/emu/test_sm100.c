/* What sm_100 adds besides tensor memory: PTX ISA "Floating-Point Instructions", "Mixed Precision Floating Point Instructions",
 * "redux.sync". */
#include "isa_case.h"
#include <math.h>

#define SM100 ".version 8.8\n.target sm_100a\n"
static float f(uint64_t u) { return as_f32(u); }
static float ftz(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
/* The definition: a NaN gives way, +0 is above -0. */
static float larger(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
static float smaller(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
static float all(float (*op)(float, float), float a, float b, float c, bool nan) { return nan && (a != a || b != b || c != c) ? NAN : op(op(a, b), c); }
WANT(max3, of_f32(all(larger, f(a), f(b), f(c), false)))
WANT(min3, of_f32(all(smaller, f(a), f(b), f(c), false)))
WANT(max3_abs, of_f32(all(larger, fabsf(f(a)), fabsf(f(b)), fabsf(f(c)), false)))
WANT(max3_nan, of_f32(all(larger, ftz(f(a)), ftz(f(b)), ftz(f(c)), true)))

static float half(uint64_t u) { return (float)f16_value((uint16_t)u); }
static float bf(uint64_t u) { return bf16_to_float((uint16_t)u); }
static float sat(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
WANT(add_b, of_f32(bf(a) + f(b))) WANT(sub_h, of_f32(half(a) - f(b))) WANT(fma_h, of_f32(fmaf(half(a), half(b), f(c)))) WANT(fma_b, of_f32(sat(fmaf(bf(a), bf(b), f(c)))))

/* Pairs of f32. */
#define PAIR(expr) ({ uint64_t r_ = 0; for (int i_ = 0; i_ < 64; i_ += 32) { float x = f(a >> i_ & UINT32_MAX), y = f(b >> i_ & UINT32_MAX), z = f(c >> i_ & UINT32_MAX); (void)y, (void)z; r_ |= of_f32(expr) << i_; } r_; })
static uint64_t add2(uint64_t a, uint64_t b, uint64_t c) { return PAIR(x + y); }
static uint64_t mul2(uint64_t a, uint64_t b, uint64_t c) { return PAIR(x * y); }
static uint64_t fma2(uint64_t a, uint64_t b, uint64_t c) { return PAIR(fmaf(x, y, z)); }
static uint64_t sub2_ftz(uint64_t a, uint64_t b, uint64_t c) { return PAIR(ftz(ftz(x) - ftz(y))); }

#define F(sec, text, types, fn) {"Floating-Point Instructions: " sec, text, types, fn, EXACT, SM100}
#define M(sec, text, types, fn) {"Mixed Precision Floating Point Instructions: " sec, text, types, fn, EXACT, SM100}
#define F4 "f32 f32 f32 f32"
static const struct isa_case cases[] = {
    F("max", "max.f32 %d, %a, %b, %c;", F4, max3), F("min", "min.f32 %d, %a, %b, %c;", F4, min3), F("max", "max.abs.f32 %d, %a, %b, %c;", F4, max3_abs),
    F("max", "max.ftz.NaN.f32 %d, %a, %b, %c;", F4, max3_nan), M("add", "add.f32.bf16 %d, %a, %b;", "f32 bf16 f32", add_b), M("sub", "sub.rn.f32.f16 %d, %a, %b;", "f32 f16 f32", sub_h),
    M("fma", "fma.rn.f32.f16 %d, %a, %b, %c;", "f32 f16 f16 f32", fma_h), M("fma", "fma.rn.sat.f32.bf16 %d, %a, %b, %c;", "f32 bf16 bf16 f32", fma_b),
    F("add", "add.rn.f32x2 %d, %a, %b;", "b64 b64 b64", add2), F("mul", "mul.rn.f32x2 %d, %a, %b;", "b64 b64 b64", mul2),
    F("add", "add.f32x2 %d, %a, %b;", "b64 b64 b64", add2), F("mul", "mul.f32x2 %d, %a, %b;", "b64 b64 b64", mul2), F("sub", "sub.ftz.f32x2 %d, %a, %b;", "b64 b64 b64", sub2_ftz),
    F("fma", "fma.rn.f32x2 %d, %a, %b, %c;", "b64 b64 b64 b64", fma2), F("sub", "sub.rn.ftz.f32x2 %d, %a, %b;", "b64 b64 b64", sub2_ftz),
    {"Parallel Synchronization and Communication Instructions: redux.sync", "mov.b32 %d, %a; redux.sync.max.f32 %a, %b, -1; redux.sync.min.f32 t, %b, -1; setp.le.f32 p, %b, %a; setp.ge.f32 q, %b, t;"
     "setp.nan.f32 r, %b, %b; or.pred p, p, r; or.pred q, q, r; and.pred p, p, q; @!p mov.b32 %d, 0xdead;", "b32 b32 b32", NULL, EXACT, SM100}};
/* Every thread's value lies between what redux gives for the warp: then %d is %a. */
static uint64_t same(uint64_t a, uint64_t b, uint64_t c) { (void)b, (void)c; return a; }

int main(void) {
  static struct isa_case all_cases[COUNT(cases)];
  memcpy(all_cases, cases, sizeof cases);
  all_cases[COUNT(cases) - 1].want = same;
  return isa_run("sm100", all_cases, COUNT(cases));
}
