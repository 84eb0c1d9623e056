/* tcgen05: every layout, kind and form of the product against the sum by its definition, for one CTA and for pairs. PTX ISA
 * "TensorCore 5th Generation Family Instructions: tcgen05.mma". */
#include "tcgen05_case.h"

static const char *const schedules[] = {"early", "late", "random:1", "random:5"};

static double value(const struct tc_case *c, int type, uint32_t code) {
  float f;
  int es = tc_bytes(c);
  if (es == 4) code &= 0xffffe000u;
  if (es == 2 && type == TC_BF16) code <<= 16;
  if (es == 4 || (es == 2 && type == TC_BF16)) return memcpy(&f, &code, 4), (double)f;
  int man = es == 2 ? 10 : type == TC_E4M3 ? 3 : 2, exp_bits = es == 1 && type == TC_E4M3 ? 4 : 5, bias = exp_bits == 4 ? 7 : 15;
  int e = (int)(code >> man) & ((1 << exp_bits) - 1), m = (int)code & ((1 << man) - 1), sign = (int)(code >> (man + exp_bits)) & 1;
  double v = e ? ldexp(1 + ldexp(m, -man), e - bias) : ldexp(m, 1 - bias - man);
  return sign ? -v : v;
}
/* The exponent that the alignment goes by: that of the least normal for subnormals. */
static int exponent(const struct tc_case *c, int type, double v) {
  int es = tc_bytes(c), least = es == 1 ? (type == TC_E4M3 ? -6 : -14) : es == 2 && type == TC_F16 ? -14 : -126, e;
  if (v == 0) return -100000;
  frexp(v, &e);
  return e - 1 < least ? least : e - 1;
}
static double cut(double v, int unit) { return ldexp(trunc(ldexp(v, -unit)), unit); }

/* D 2^-scale + A B for one element, exactly as the ledger says. */
static uint32_t want(const struct tc_case *c, const struct tc_data *w, uint32_t m, uint32_t n, uint32_t old) {
  double d = 0, term[32], sum;
  float f;
  int top;
  if (c->add && c->d == 0) { _Float16 h; uint16_t u = (uint16_t)old; memcpy(&h, &u, 2); d = (double)(float)h; }
  else if (c->add) memcpy(&f, &old, 4), d = (double)f;
  d = ldexp(d, -c->scale);
  frexp(d, &top);
  top = d == 0 ? -100000 : top - 1;
  for (int k = 0; k < tc_k(c); k++) {
    double a = value(c, c->a, w->am[m][k]), b = value(c, c->b, w->bm[n][k]);
    term[k] = a * b * (c->na ? -1 : 1) * (c->nb ? -1 : 1);
    int e = exponent(c, c->a, a) + exponent(c, c->b, b);
    if (term[k] != 0 && e > top) top = e;
  }
  sum = cut(d, top - 25);
  for (int k = 0; k < tc_k(c); k++) sum += cut(term[k], top - 25);
  if (c->d == 0) { _Float16 h = (_Float16)sum; uint16_t u; memcpy(&u, &h, 2); return u == 0x8000 ? 0 : u; }
  int e;
  frexp(sum, &e);
  f = sum == 0 ? 0 : (float)cut(sum, e - 1 - 23);
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static uint32_t want_int(const struct tc_case *c, const struct tc_data *w, uint32_t m, uint32_t n, uint32_t old) {
  int64_t s = c->add ? (int32_t)old : 0;
  for (int k = 0; k < 32; k++) s += (c->a == TC_S8 ? (int8_t)w->am[m][k] : (int)w->am[m][k]) * (c->b == TC_S8 ? (int8_t)w->bm[n][k] : (int)w->bm[n][k]);
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
    {"f16", 0, 128, 128, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0}, {"f16", 0, 128, 256, 1, 1, 1, 128, 128, 0, 0, 0, 0, 0, 0, 3, 0, 0},
    {"f16", 0, 128, 8, 0, 0, 1, 16, 16, 0, 0, 1, 0, 0, 0, 0, 0, 0},     {"f16", 0, 128, 64, 0, 0, 1, 64, 32, 0, 0, 1, 0, 1, 0, 0, 0, 0},
    {"f16", 0, 128, 128, 1, 1, 1, 128, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0}, {"f16", 0, 128, 96, 1, 1, 1, 128, 64, 1, 1, 1, 0, 0, 1, 0, 0, 0},
    {"f16", 0, 128, 32, 0, 0, 1, 64, 128, 1, 0, 1, 0, 0, 0, 0, 0, 0},   {"f16", 0, 128, 48, 0, 0, 1, 32, 32, 1, 1, 1, 0, 1, 1, 0, 0, 0},
    {"f16", 0, 128, 64, 1, 1, 1, 16, 16, 1, 1, 1, 0, 0, 0, 0, 0, 0},    {"f16", 0, 128, 128, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0},
    {"f16", 0, 64, 128, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0},  {"f16", 0, 64, 40, 0, 0, 1, 64, 64, 0, 0, 0, 0, 0, 0, 0, 16, 0},
    {"f16", 0, 64, 64, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 16, 0},    {"f16", 0, 128, 64, 0, 0, 0, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0},
    {"f16", 0, 128, 32, 1, 1, 1, 128, 128, 0, 0, 1, 3, 0, 0, 0, 0, 0},  {"f16", 0, 128, 32, 0, 0, 0, 0, 64, 0, 0, 1, 2, 0, 0, 0, 0, 1},
    {"f16", 0, 128, 64, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 1},  {"f16", 0, 128, 32, 0, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0},
    {"tf32", 0, 128, 64, 2, 2, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0}, {"tf32", 0, 64, 16, 2, 2, 1, 0, 64, 0, 0, 1, 4, 0, 1, 0, 0, 0},
    {"f8f6f4", 0, 128, 128, 0, 0, 1, 128, 128, 0, 0, 1, 0, 0, 0, 2, 0, 0}, {"f8f6f4", 0, 128, 64, 1, 0, 1, 0, 64, 0, 0, 1, 0, 0, 0, 0, 0, 0},
    {"f8f6f4", 0, 128, 128, 0, 1, 1, 128, 128, 1, 1, 1, 0, 0, 0, 0, 0, 0}, {"f8f6f4", 0, 128, 32, 0, 0, 0, 16, 32, 0, 1, 1, 0, 0, 0, 0, 0, 0},
    {"i8", 0, 128, 64, 1, 1, 2, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0},   {"i8", 0, 64, 32, 0, 1, 2, 0, 64, 0, 1, 0, 0, 0, 0, 0, 0, 0},
    {"f16", 1, 256, 256, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 1, 0, 0}, {"f16", 1, 256, 128, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 0, 0, 0, 0},
    {"f16", 1, 128, 128, 0, 0, 1, 128, 64, 0, 0, 1, 0, 0, 0, 0, 0, 0},  {"f16", 1, 128, 64, 1, 1, 1, 0, 128, 0, 1, 1, 0, 0, 1, 0, 0, 0},
    {"f16", 1, 256, 64, 0, 0, 0, 128, 128, 1, 1, 1, 0, 0, 0, 0, 0, 1},  {"f8f6f4", 1, 256, 64, 0, 0, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0}};

static void test_forms(void **state) {
  struct rng r = {101};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int how = 0; how < 2; how++) {
      tc_fill(&cases[i], &w, &r, how);
      check(&cases[i], schedules[(i + (size_t)how) % 4]);
    }
}

/* NaN, infinity and very large values in single elements. */
static void test_specials(void **state) {
  static const struct tc_case c = {"f16", 0, 128, 16, 1, 1, 1, 128, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0};
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_specials)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
