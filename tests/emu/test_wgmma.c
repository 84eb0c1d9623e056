/* wgmma: every layout, type and form against the sum by its definition; its groups under every schedule; its misuse. PTX ISA
 * "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operations". */
#include "wgmma_case.h"

static const char *const schedules[] = {"early", "late", "random:1", "random:5"};

static double value(const struct wg_case *c, uint32_t code) {
  float f;
  if (c->bytes == 4) code &= 0xffffe000u;
  if (wg_is(c, ".bf16")) code <<= 16;
  if (c->bytes == 4 || wg_is(c, ".bf16")) return memcpy(&f, &code, 4), (double)f;
  int man = wg_is(c, "e4m3") ? 3 : wg_is(c, "e5m2") ? 2 : 10, exp_bits = wg_is(c, "e4m3") ? 4 : 5, bias = exp_bits == 4 ? 7 : 15;
  int e = (int)(code >> man) & ((1 << exp_bits) - 1), m = (int)code & ((1 << man) - 1), sign = (int)(code >> (man + exp_bits)) & 1;
  double v = e ? ldexp(1 + ldexp(m, -man), e - bias) : ldexp(m, 1 - bias - man);
  return sign ? -v : v;
}
/* The exponent that the alignment goes by: that of the least normal for subnormals. */
static int exponent(const struct wg_case *c, double v) {
  int least = wg_is(c, "e4m3") ? -6 : wg_is(c, ".bf16") || c->bytes == 4 ? -126 : -14, e;
  if (v == 0) return -100000;
  frexp(v, &e);
  return e - 1 < least ? least : e - 1;
}
static double cut(double v, int unit) { return ldexp(trunc(ldexp(v, -unit)), unit); }

/* D + A B for one element, exactly as the ledger says. */
static uint32_t want(const struct wg_case *c, const struct wg_data *w, uint32_t m, uint32_t n, uint32_t old) {
  bool half = c->types[2] == '1', fp8 = c->bytes == 1;
  double d = 0, term[32], sum;
  float f;
  int top;
  if (c->scale_d && half) { _Float16 h; uint16_t u = (uint16_t)old; memcpy(&h, &u, 2); d = (double)(float)h; }
  else if (c->scale_d) memcpy(&f, &old, 4), d = (double)f;
  frexp(d, &top);
  top = d == 0 ? -100000 : top - 1;
  for (int k = 0; k < c->k; k++) {
    double a = value(c, w->am[m][k]), b = value(c, w->bm[n][k]);
    term[k] = a * b * c->sa * c->sb;
    int e = exponent(c, a) + exponent(c, b);
    if (term[k] != 0 && e > top) top = e;
  }
  int bits = fp8 ? 13 : 25;
  sum = cut(d, top - bits);
  for (int k = 0; k < c->k; k++) sum += cut(term[k], top - bits);
  if (half) { _Float16 h = (_Float16)sum; uint16_t u; memcpy(&u, &h, 2); return u == 0x8000 ? 0 : u; }
  int e;
  frexp(sum, &e);
  f = sum == 0 ? 0 : (float)cut(sum, e - 1 - (fp8 ? 13 : 23));
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static uint32_t want_int(const struct wg_case *c, const struct wg_data *w, uint32_t m, uint32_t n, uint32_t old) {
  int64_t s = c->scale_d ? (int32_t)old : 0;
  bool sa = !strncmp(c->types + 4, ".s8", 3), sb = !strcmp(c->types + strlen(c->types) - 3, ".s8");
  for (int k = 0; k < 32; k++) s += (sa ? (int8_t)w->am[m][k] : (int)w->am[m][k]) * (sb ? (int8_t)w->bm[n][k] : (int)w->bm[n][k]);
  return (uint32_t)s;
}

static struct wg_data w;
static uint32_t out[128 * 128];
static void launch(const struct wg_case *c, const char *schedule) {
  static char text[32768];
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  wg_kernel(c, text, sizeof text);
  ws_cu_deviceptr p[6] = {emu_buffer(w.image, sizeof w.image), emu_buffer(w.d, sizeof w.d), emu_buffer(w.a, sizeof w.a), emu_buffer(NULL, sizeof out), w.da, w.db};
  CHECK(emu_run_text(text, 128, 0, p, 6));
  emu_fetch(out, p[3], sizeof out);
  for (int i = 0; i < 3; i++) CHECK(cuMemFree_v2(p[i]));
}
/* Element (m, n) in a register file of 128 threads. */
static uint32_t element(const uint32_t *regs, bool half, uint32_t m, uint32_t n) {
  uint32_t i = (n & 1) + 2 * (m >> 3 & 1) + 4 * (n >> 3), t = 32 * (m >> 4) + 4 * (m & 7) + (n >> 1 & 3);
  return half ? regs[128 * (i / 2) + t] >> 16 * (i & 1) & 0xffff : regs[128 * i + t];
}
static void check(const struct wg_case *c, const char *schedule) {
  bool half = c->types[2] == '1', integer = c->types[1] == 's';
  int bad = 0;
  launch(c, schedule);
  for (uint32_t m = 0; m < 64; m++)
    for (uint32_t n = 0; n < (uint32_t)c->n; n++) {
      uint32_t got = element(out, half, m, n), old = element(w.d, half, m, n), is = (integer ? want_int : want)(c, &w, m, n, old);
      if (got != is && bad++ < 3)
        print_message("m64n%dk%d%s a %d b %d ta %d tb %d: (%u, %u) is 0x%x, want 0x%x\n", c->n, c->k, c->types, c->a_span, c->b_span, c->ta, c->tb, m, n, got, is);
    }
  assert_int_equal(bad, 0);
}

#define BF ".f32.bf16.bf16"
#define HF ".f32.f16.f16"
static const struct wg_case cases[] = {
    {BF, 64, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0}, {BF, 128, 16, 2, 128, 128, 0, 0, 0, 1, 1, 1}, {BF, 256, 16, 2, 128, 128, 0, 0, 1, 1, 1, 3},
    {HF, 8, 16, 2, 16, 16, 0, 0, 1, 1, 1, 0},    {HF, 24, 16, 2, 64, 64, 0, 0, 1, -1, 1, 1},   {HF, 40, 16, 2, 32, 32, 0, 0, 1, 1, -1, 0},
    {BF, 128, 16, 2, 128, 128, 0, 1, 1, 1, 1, 2}, {BF, 128, 16, 2, 128, 128, 1, 1, 1, 1, 1, 0}, {HF, 64, 16, 2, 64, 64, 1, 1, 1, -1, -1, 0},
    {HF, 32, 16, 2, 32, 32, 1, 1, 0, 1, 1, 0},   {HF, 16, 16, 2, 16, 16, 1, 1, 1, 1, 1, 0},     {BF, 192, 16, 2, 64, 128, 1, 0, 1, 1, 1, 0},
    {BF, 256, 16, 2, 0, 128, 0, 1, 1, 1, 1, 0},  {BF, 64, 16, 2, 0, 64, 0, 0, 1, 1, 1, 1},       {HF, 8, 16, 2, 0, 16, 0, 1, 0, -1, 1, 0},
    {".f16.f16.f16", 128, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0}, {".f16.f16.f16", 40, 16, 2, 0, 32, 0, 0, 1, 1, 1, 0},
    {".f32.tf32.tf32", 64, 8, 4, 128, 128, 0, 0, 1, 1, 1, 1}, {".f32.tf32.tf32", 16, 8, 4, 0, 64, 0, 0, 1, 1, -1, 0},
    {".f32.e4m3.e4m3", 128, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0}, {".f32.e5m2.e5m2", 64, 32, 1, 64, 64, 0, 0, 1, 1, 1, 0}, {".f32.e4m3.e4m3", 64, 32, 1, 0, 128, 0, 0, 1, 1, 1, 0},
    {".s32.s8.s8", 64, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0},    {".s32.u8.s8", 64, 32, 1, 0, 128, 0, 0, 0, 1, 1, 0}};

static void test_forms(void **state) {
  struct rng r = {79};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int how = 0; how < 2; how++) {
      wg_fill(&cases[i], &w, &r, how);
      check(&cases[i], schedules[(i + (size_t)how) % 4]);
    }
}

/* NaN, infinity, very large and very small values, in single elements. */
static void test_specials(void **state) {
  static const struct wg_case c = {BF, 16, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0};
  struct rng r = {83};
  (void)state;
  wg_fill(&c, &w, &r, 0);
  struct wg_layout l = wg_layout_of(128, false, 64);
  uint16_t nan = 0x7fc0, inf = 0x7f80, huge = 0x7f00;
  memcpy(w.image + wg_place(l, 3, 2, 2), &nan, 2);
  memcpy(w.image + wg_place(l, 5, 2, 2), &inf, 2);
  memcpy(w.image + wg_place(l, 7, 2, 2), &huge, 2);
  launch(&c, "late");
  for (uint32_t n = 0; n < 16; n++) {
    assert_int_equal(element(out, false, 3, n), 0x7fffffff);
    assert_int_equal(element(out, false, 5, n) & 0x7fffffff, 0x7f800000);
    assert_int_equal(element(out, false, 4, n), want(&c, &w, 4, n, element(w.d, false, 4, n)));
    w.am[7][2] = huge;
    assert_int_equal(element(out, false, 7, n), want(&c, &w, 7, n, element(w.d, false, 7, n)));
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_specials)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
