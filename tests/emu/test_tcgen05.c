/* tcgen05: every layout, kind and form of the product against the sum by its definition, for one CTA and for pairs. PTX ISA
 * "TensorCore 5th Generation Family Instructions: tcgen05.mma". */
#include "tcgen05_case.h"

static const char *const schedules[] = {"early", "late", "random:1", "random:5"};

static double value(const struct tc_case *c, int code_type, uint32_t code) {
  float f;
  int es = tc_bytes(c), type = tc_type(c, code_type);
  if (es == 4) code &= 0xffffe000u;
  if (es == 2 && type == TC_BF16) code <<= 16;
  if (es == 4 || (es == 2 && type == TC_BF16)) return memcpy(&f, &code, 4), (double)f;
  static const int mantissa[] = {3, 2, 0, 3, 2, 1}, field[] = {4, 5, 0, 2, 3, 2}, biases[] = {7, 15, 0, 1, 3, 1}; /* e4m3 e5m2 - e2m3 e3m2 e2m1 */
  int man = es == 2 ? 10 : mantissa[type], exp_bits = es == 2 ? 5 : field[type], bias = es == 2 ? 15 : biases[type];
  int e = (int)(code >> man) & ((1 << exp_bits) - 1), m = (int)code & ((1 << man) - 1), sign = (int)(code >> (man + exp_bits)) & 1;
  double v = e ? ldexp(1 + ldexp(m, -man), e - bias) : ldexp(m, 1 - bias - man);
  return sign ? -v : v;
}
/* The exponent that the alignment goes by: that of the least normal for subnormals; of a scaled element its own. */
static int exponent(const struct tc_case *c, int code_type, double v) {
  static const int leasts[] = {-6, -14, 0, 0, -2, 0};
  int es = tc_bytes(c), type = tc_type(c, code_type), e;
  int least = c->more.factors ? -126 : es == 1 ? leasts[type] : es == 2 && type == TC_F16 ? -14 : -126;
  if (v == 0) return -100000;
  frexp(v, &e);
  return e - 1 < least ? least : e - 1;
}
static double cut(double v, int unit) { return ldexp(trunc(ldexp(v, -unit)), unit); }
/* PTX ISA "Zero-Column Mask Descriptor", by counting through the columns of a sub-mask. */
static bool zeroed(const struct tc_case *c, uint32_t n) {
  uint64_t z = c->more.zeros;
  uint32_t size = (uint32_t)(c->n * c->m / 128), mask = n / size, at = n % size + (uint32_t)(z >> 8 * mask & 0xff);
  bool on = z >> (32 + mask) & 1;
  if (!(z >> 39 & 1)) return false;
  for (;;) {
    uint32_t run = (uint32_t)(on ? z >> 40 & 0xff : z >> 48 & 0xff) + 1;
    if (at < run) return on;
    at -= run;
    on = !on;
  }
}
/* The row of A and of B that element (m, n) comes from. */
static uint32_t row_a(const struct tc_case *c, uint32_t m) { return c->more.shifted && m % 128 ? m - 1 : m; }
static uint32_t row_b(const struct tc_case *c, uint32_t n) { return n + (uint32_t)(c->more.zeros >> 56 & 63); }

/* D 2^-scale + A B for one element, exactly as the ledger says; elements of K from `from` on, 32 at most. */
static float sum_of(const struct tc_case *c, const struct tc_data *w, uint32_t m, uint32_t n, double d, int from, double *exact) {
  double term[32], sum;
  int top, e, k_end = tc_k(c) - from < 32 ? tc_k(c) - from : 32;
  frexp(d, &top);
  top = d == 0 ? -100000 : top - 1;
  for (int k = 0; k < k_end; k++) {
    double a = value(c, c->a, w->am[row_a(c, m)][from + k]) * tc_factor(c, w, false, m, (uint32_t)(from + k));
    double b = value(c, c->b, w->bm[row_b(c, n)][from + k]) * tc_factor(c, w, true, n, (uint32_t)(from + k));
    if (zeroed(c, n)) b = 0;
    term[k] = a * b * (c->na ? -1 : 1) * (c->nb ? -1 : 1);
    e = exponent(c, c->a, a) + exponent(c, c->b, b);
    if (term[k] != 0 && e > top) top = e;
  }
  sum = cut(d, top - 25);
  for (int k = 0; k < k_end; k++) sum += cut(term[k], top - 25);
  *exact = sum;
  frexp(sum, &e);
  return sum == 0 ? 0 : (float)cut(sum, e - 1 - 23);
}
static uint32_t want(const struct tc_case *c, const struct tc_data *w, uint32_t m, uint32_t n, uint32_t old) {
  double d = 0, sum = 0;
  float f = 0;
  if (c->add && c->d == 0) d = f16_value((uint16_t)old);
  else if (c->add) memcpy(&f, &old, 4), d = (double)f;
  d = ldexp(d, -c->scale);
  for (int from = 0; from < tc_k(c); from += 32, d = (double)f) f = sum_of(c, w, m, n, d, from, &sum);
  if (c->d == 0) return f16_of(sum) == 0x8000 ? 0 : f16_of(sum);
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static uint32_t want_int(const struct tc_case *c, const struct tc_data *w, uint32_t m, uint32_t n, uint32_t old) {
  int64_t s = c->add ? (int32_t)old : 0;
  for (int k = 0; k < 32 && !zeroed(c, n); k++) {
    uint32_t a = w->am[row_a(c, m)][k], b = w->bm[row_b(c, n)][k];
    s += (c->a == TC_S8 ? (int8_t)a : (int)a) * (c->b == TC_S8 ? (int8_t)b : (int)b);
  }
  return (uint32_t)s;
}

static struct tc_data w;
static uint32_t out[2][256][128];
static void launch(const struct tc_case *c, const char *schedule) {
  static char text[65536];
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  tc_kernel(c, text, sizeof text);
  ws_cu_deviceptr p[6] = {emu_buffer(w.image, sizeof w.image), emu_buffer(w.d, sizeof w.d), emu_buffer(w.a, sizeof w.a), emu_buffer(NULL, sizeof out), w.da, w.db};
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "k");
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, TC_IMAGE));
  CHECK(emu_run(f, c->pair ? 2 : 1, 128, TC_IMAGE, p, 6));
  CHECK(cuModuleUnload(m));
  emu_fetch(out, p[3], sizeof out);
  for (int i = 0; i < 3; i++) CHECK(cuMemFree_v2(p[i]));
}
static bool written(const struct tc_case *c, const uint32_t *at, const uint32_t *base) { return !(c->mask && TC_MASK >> (at - base) % 32 & 1); }
static void check(const struct tc_case *c, const char *schedule) {
  int bad = 0;
  static uint32_t expected[2][256][128];
  launch(c, schedule);
  memcpy(expected, w.d, sizeof expected);
  for (uint32_t m = 0; m < (uint32_t)c->m; m++)
    for (uint32_t n = 0; n < (uint32_t)c->n; n++) {
      uint32_t *at = tc_word(c, expected, m, n);
      if (written(c, at, &expected[0][0][0])) *at = (c->d == 2 ? want_int : want)(c, &w, m, n, *at);
    }
  const uint32_t *is = (const uint32_t *)out, *must = (const uint32_t *)expected;
  for (uint32_t i = 0; i < (c->pair ? 2u : 1u) * 256 * 128; i++)
    if (is[i] != must[i] && bad++ < 3)
      print_message("%s m%dn%d pair %d a %d b %d ta %d tb %d (%s): CTA %u column %u lane %u is 0x%x, want 0x%x\n", c->kind, c->m, c->n, c->pair, c->a_span, c->b_span, c->ta,
                    c->tb, schedule, i / 32768, i / 128 % 256, i % 128, is[i], must[i]);
  assert_int_equal(bad, 0);
}

static const struct tc_case cases[] = {
    /* kind pair m n  a b d  spans  ta tb  add scale na nb step lane mask */
    {"f16", 0, 128, 128, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}}, {"f16", 0, 128, 256, 1, 1, 1, 128, 128, 0, 0, 0, 0, 0, 0, 3, 0, 0, {0}},
    {"f16", 0, 128, 8, 0, 0, 1, 16, 16, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},     {"f16", 0, 128, 64, 0, 0, 1, 64, 32, 0, 0, 1, 0, 1, 0, 0, 0, 0, {0}},
    {"f16", 0, 128, 128, 1, 1, 1, 128, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0, {0}}, {"f16", 0, 128, 96, 1, 1, 1, 128, 64, 1, 1, 1, 0, 0, 1, 0, 0, 0, {0}},
    {"f16", 0, 128, 32, 0, 0, 1, 64, 128, 1, 0, 1, 0, 0, 0, 0, 0, 0, {0}},   {"f16", 0, 128, 48, 0, 0, 1, 32, 32, 1, 1, 1, 0, 1, 1, 0, 0, 0, {0}},
    {"f16", 0, 128, 64, 1, 1, 1, 16, 16, 1, 1, 1, 0, 0, 0, 0, 0, 0, {0}},    {"f16", 0, 128, 128, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"f16", 0, 64, 128, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0, {0}},  {"f16", 0, 64, 40, 0, 0, 1, 64, 64, 0, 0, 0, 0, 0, 0, 0, 16, 0, {0}},
    {"f16", 0, 64, 64, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 16, 0, {0}},    {"f16", 0, 128, 64, 0, 0, 0, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"f16", 0, 128, 32, 1, 1, 1, 128, 128, 0, 0, 1, 3, 0, 0, 0, 0, 0, {0}},  {"f16", 0, 128, 32, 0, 0, 0, 0, 64, 0, 0, 1, 2, 0, 0, 0, 0, 1, {0}},
    {"f16", 0, 128, 64, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 1, {0}},  {"f16", 0, 128, 32, 0, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"tf32", 0, 128, 64, 2, 2, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0, {0}}, {"tf32", 0, 64, 16, 2, 2, 1, 0, 64, 0, 0, 1, 4, 0, 1, 0, 0, 0, {0}},
    {"f8f6f4", 0, 128, 128, 0, 0, 1, 128, 128, 0, 0, 1, 0, 0, 0, 2, 0, 0, {0}}, {"f8f6f4", 0, 128, 64, 1, 0, 1, 0, 64, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"f8f6f4", 0, 128, 128, 0, 1, 1, 128, 128, 1, 1, 1, 0, 0, 0, 0, 0, 0, {0}}, {"f8f6f4", 0, 128, 32, 0, 0, 0, 16, 32, 0, 1, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"i8", 0, 128, 64, 1, 1, 2, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},   {"i8", 0, 64, 32, 0, 1, 2, 0, 64, 0, 1, 0, 0, 0, 0, 0, 0, 0, {0}},
    {"f16", 1, 256, 256, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0, {0}}, {"f16", 1, 256, 128, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0, {0}},
    {"f16", 1, 128, 128, 0, 0, 1, 128, 64, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}},  {"f16", 1, 128, 64, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 1, 0, 0, 0, {0}},
    {"f16", 1, 256, 64, 0, 0, 0, 128, 128, 1, 1, 1, 0, 0, 0, 0, 0, 1, {0}},  {"f8f6f4", 1, 256, 64, 0, 0, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}}};

static void test_forms(void **state) {
  struct rng r = {101};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int how = 0; how < 2; how++) {
      tc_fill(&cases[i], &w, &r, how);
      check(&cases[i], schedules[(i + (size_t)how) % 4]);
    }
}

#define C(k, p, m_, n_, a_, b_, d_, sa, sb, add_, ...) {.kind = k, .pair = p, .m = m_, .n = n_, .a = a_, .b = b_, .d = d_, .a_span = sa, .b_span = sb, .add = add_, __VA_ARGS__}
static const struct tc_case narrow[] = {
    C("f8f6f4", 0, 128, 64, TC_E2M1, TC_E2M1, 1, 128, 128, 1, .step = 1), C("f8f6f4", 0, 128, 32, TC_E2M3, TC_E3M2, 1, 64, 32, 1, .scale = 0), C("f8f6f4", 0, 128, 48, TC_E3M2, TC_E4M3, 1, 16, 128, 1, .na = 1),
    C("f8f6f4", 0, 64, 16, TC_E2M1, TC_E5M2, 1, 0, 128, 1, .scale = 0), C("f8f6f4", 0, 128, 32, TC_E2M3, TC_E2M1, 0, 0, 128, 1, .scale = 0), C("f8f6f4", 1, 256, 64, TC_E4M3, TC_E2M3, 1, 128, 128, 1, .tb = 0), C("f8f6f4", 0, 128, 64, TC_E4M3, TC_E2M1, 1, 128, 128, 1, .ta = 1),
    C("mxf8f6f4", 0, 128, 64, TC_E4M3, TC_E4M3, 1, 128, 128, 1, .more = {.mods = ".block_scale", .factors = 1}), C("mxf8f6f4", 0, 128, 256, TC_E5M2, TC_E2M1, 1, 128, 128, 1, .more = {.mods = ".block_scale.scale_vec::1X", .factors = 1, .id_a = 3, .id_b = 1}),
    C("mxf8f6f4", 0, 128, 40, TC_E2M3, TC_E3M2, 1, 0, 128, 0, .more = {.mods = ".block_scale.block32", .factors = 1, .id_a = 1, .id_b = 2}), C("mxf8f6f4", 1, 256, 128, TC_E4M3, TC_E5M2, 1, 128, 128, 1, .tb = 1, .more = {.mods = ".block_scale", .factors = 1, .id_b = 3}),
    C("mxf8f6f4", 1, 128, 64, TC_E4M3, TC_E4M3, 1, 128, 128, 1, .more = {.mods = ".block_scale.block32.collector::a::fill", .factors = 1, .id_a = 2}), C("mxf4", 0, 128, 128, 1, 1, 1, 128, 128, 1, .more = {.mods = ".block_scale", .factors = 2}),
    C("mxf4", 0, 128, 64, 1, 1, 1, 128, 128, 1, .step = 2, .nb = 1, .more = {.mods = ".block_scale.scale_vec::2X", .factors = 2, .id_a = 2}), C("mxf4", 1, 256, 64, 1, 1, 1, 0, 128, 1, .more = {.mods = ".block_scale.block32", .factors = 2, .id_b = 2}),
    C("mxf4nvf4", 0, 128, 128, 1, 1, 1, 128, 128, 1, .more = {.mods = ".block_scale.scale_vec::4X", .factors = 4, .ue4m3 = 1}), C("mxf4nvf4", 0, 128, 8, 1, 1, 1, 0, 128, 1, .more = {.mods = ".block_scale.block16", .factors = 4}),
    C("mxf4nvf4", 1, 128, 256, 1, 1, 1, 128, 64, 1, .more = {.mods = ".block_scale.block16", .factors = 4, .ue4m3 = 1}), C("mxf4nvf4", 0, 128, 32, 1, 1, 1, 128, 128, 0, .more = {.mods = ".block_scale.block32", .factors = 2, .id_a = 2, .id_b = 2}),
    C("tf32", 0, 128, 64, 2, 2, 1, TC_ATOMS32, TC_ATOMS32, 1, .ta = 1, .tb = 1), C("tf32", 0, 64, 32, 2, 2, 1, TC_ATOMS32, 128, 1, .ta = 1, .step = 1), C("f16", 0, 128, 32, 1, 1, 1, TC_ATOMS32, 128, 1, .step = 2),
    C("f16", 0, 128, 64, 1, 1, 1, 0, 128, 1, .more = {.mods = ".ashift", .shifted = 1}), C("i8", 1, 256, 64, 1, 0, 2, 0, 128, 1, .more = {.mods = ".ashift.collector::a::lastuse", .shifted = 1}),
    C("i8", 1, 256, 64, 0, 1, 2, 128, 128, 1, .scale = 0), C("i8", 0, 128, 32, 0, 1, 2, 0, 128, 1, .more = {.mods = ".ashift", .shifted = 1}), C("f8f6f4", 0, 128, 32, TC_E4M3, TC_E5M2, 1, 0, 128, 1, .more = {.mods = ".ashift", .shifted = 1}),
    C("tf32", 1, 256, 32, 2, 2, 1, 0, 128, 1, .more = {.mods = ".ashift", .shifted = 1}), C("f8f6f4", 1, 256, 32, TC_E4M3, TC_E2M3, 1, 0, 128, 1, .more = {.mods = ".ashift", .shifted = 1}),
    C("f16", 0, 32, 64, 1, 1, 1, 128, 128, 1, .more = {.ws = 1}), C("f16", 0, 64, 128, 0, 0, 1, 0, 128, 1, .more = {.ws = 1, .mods = ".collector::b2::fill"}), C("tf32", 0, 128, 256, 2, 2, 1, 128, 128, 1, .more = {.ws = 1}), C("f8f6f4", 0, 32, 256, TC_E2M1, TC_E4M3, 0, 128, 128, 1, .more = {.ws = 1}),
    C("i8", 0, 64, 64, 1, 1, 2, 128, 128, 1, .more = {.ws = 1, .zeros = 0x0503008100000201}), C("f16", 0, 128, 128, 1, 1, 1, 128, 128, 1, .more = {.ws = 1, .zeros = 0x0004028100000005}),
    C("f16", 0, 32, 128, 0, 0, 1, 128, 128, 0, .more = {.ws = 1, .zeros = 0x0203028301020100}), C("f16", 0, 128, 64, 1, 1, 1, 128, 128, 1, .more = {.ws = 1, .zeros = 0x0003020000000000})};
static void test_narrow(void **state) {
  struct rng r = {107};
  (void)state;
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
    for (int how = 0; how < 2; how++) {
      tc_fill(&narrow[i], &w, &r, how);
      check(&narrow[i], schedules[(i + (size_t)how) % 4]);
    }
}

/* NaN, infinity and very large values in single elements. */
static void test_specials(void **state) {
  static const struct tc_case c = {"f16", 0, 128, 16, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, {0}};
  struct rng r = {103};
  (void)state;
  tc_fill(&c, &w, &r, 0);
  struct tc_layout l = tc_layout_of(128, false, 128, 2);
  uint16_t nan = 0x7fc0, inf = 0x7f80, huge = 0x7f00;
  memcpy(w.image[0] + tc_place(l, 3, 2, 2), &nan, 2);
  memcpy(w.image[0] + tc_place(l, 5, 2, 2), &inf, 2);
  memcpy(w.image[0] + tc_place(l, 7, 2, 2), &huge, 2);
  launch(&c, "late");
  w.am[7][2] = huge;
  for (uint32_t n = 0; n < 16; n++) {
    assert_int_equal(out[0][n][3], 0x7fffffff);
    assert_int_equal(out[0][n][5] & 0x7fffffff, 0x7f800000);
    assert_int_equal(out[0][n][4], want(&c, &w, 4, n, w.d[0][n][4]));
    assert_int_equal(out[0][n][7], want(&c, &w, 7, n, w.d[0][n][7]));
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_narrow), cmocka_unit_test(test_specials)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
