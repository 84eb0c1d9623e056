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
  if (c->scale_d && half) d = f16_value((uint16_t)old);
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
  if (half) return f16_of(sum) == 0x8000 ? 0 : f16_of(sum);
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


/* ---- programs of several operations: 8 columns, A and B of ones in bf16 without a swizzle, so every D is a multiple of 16 ---- */
#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n.reqntid 128\n{\n.shared .align 1024 .b8 s[4096];\n.reg .b64 o, x, a, b;\n" \
             ".reg .b32 t, v, n;\n.reg .pred p, q;\n.reg .f32 d<4>, e<4>, f;\n.reg .b32 r<4>;\n"                        \
             "ld.param.u64 o, [out];\nmov.u32 t, %tid.x;\nmul.wide.u32 x, t, 4;\nadd.u64 o, o, x;\nmov.u32 n, s;\nshl.b32 v, t, 2;\nadd.u32 n, n, v;\nmov.b32 v, 0x3f803f80;\n" \
             "mov.u64 a, 0x0000001000080040;\nmov.u64 b, 0x0000001000080040;\nmov.b32 r0, v;\nmov.b32 r1, v;\nmov.b32 r2, v;\nmov.b32 r3, v;\nmov.f32 d0, 0f00000000;\nmov.f32 d1, d0;\nmov.f32 d2, d0;\nmov.f32 d3, d0;\n" \
             "mov.f32 e0, d0;\nmov.f32 e1, d0;\nmov.f32 e2, d0;\nmov.f32 e3, d0;\nmov.f32 f, d0;\n"
#define FILL "L: st.shared.b32 [n], v;\nadd.u32 n, n, 512;\nsetp.lt.u32 p, n, 5120;\n@p bra L;\n"
#define READY FILL "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
#define READY_256 "setp.ge.u32 p, t, 128;\n@p bra F;\n" FILL "F: fence.proxy.async.shared::cta;\nbar.sync 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define SS(d, add) "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" #d "0, " #d "1, " #d "2, " #d "3}, a, b, " #add ", 1, 1, 0, 0;\n"
#define RS(d, add) "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" #d "0, " #d "1, " #d "2, " #d "3}, {r0, r1, r2, r3}, b, " #add ", 1, 1, 0;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define GROUPS_LEFT(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define OUT(d) "st.global.f32 [o], " #d "3;\n"

static ws_cu_result run_text(const char *body, const char *schedule, unsigned threads, float *got) {
  char text[8192];
  int n = snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
  assert_true(n > 0 && (size_t)n < sizeof text);
  if (threads != 128) memcpy(strstr(text, ".reqntid 128"), ".maxntid 256", 12);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr p = emu_buffer(NULL, 256 * 4);
  ws_cu_result r = emu_run_text(text, threads, 0, &p, 1);
  emu_fetch(got, p, 256 * 4);
  return r;
}
static void expect(const char *body, float value, unsigned threads) {
  float got[256];
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    CHECK(run_text(body, schedules[k], threads, got));
    for (unsigned t = 0; t < threads; t++) assert_true(got[t] == value);
  }
}
static void expect_fault(const char *body, unsigned threads, const char *what, const char *other) {
  float got[256];
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    assert_int_not_equal(run_text(body, schedules[k], threads, got), WS_CUDA_SUCCESS);
    if (strstr(emu_message(), what) && strstr(emu_message(), other)) continue;
    print_message("'%s', '%s' are not in: %s\n", what, other, emu_message());
    fail();
  }
}

static void test_groups(void **state) {
  (void)state;
  expect(READY FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) OUT(d), 16, 128);
  expect(READY FENCE SS(d, 0) SS(d, 1) RS(d, 1) COMMIT GROUPS_LEFT(0) OUT(d), 48, 128);
  expect(READY FENCE SS(d, 0) COMMIT SS(e, 0) SS(e, 1) COMMIT GROUPS_LEFT(1) OUT(d) GROUPS_LEFT(0), 16, 128);
  expect(READY FENCE SS(d, 0) COMMIT SS(e, 0) SS(e, 1) COMMIT GROUPS_LEFT(0) OUT(e), 32, 128);
  expect(READY FENCE SS(d, 0) SS(e, 0) COMMIT GROUPS_LEFT(0) FENCE RS(d, 1) SS(e, 1) COMMIT GROUPS_LEFT(0) "add.f32 d3, d3, e3;\n" OUT(d), 64, 128);
  expect(READY FENCE SS(d, 0) COMMIT SS(d, 1) COMMIT GROUPS_LEFT(0) FENCE SS(d, 1) COMMIT GROUPS_LEFT(0) OUT(d), 48, 128);
  expect(READY_256 FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) OUT(d), 16, 256); /* two warpgroups */
  expect("setp.ge.u32 q, t, 128;\n" READY_256 "@q bra SECOND;\n" FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) "bra.uni END;\nSECOND:\n" FENCE SS(d, 0) SS(d, 0) COMMIT GROUPS_LEFT(0) "END:\n" OUT(d), 16, 256);
}

/* The late schedule reads shared memory and A's registers when a wait covers the operation. */
static void test_late_operands(void **state) {
#define OVERWRITE "bar.sync 0;\nmov.b32 v, 0x40004000;\nsub.u32 n, n, 4096;\n" "M: st.shared.b32 [n], v;\nadd.u32 n, n, 512;\nsetp.lt.u32 p, n, 5120;\n@p bra M;\nfence.proxy.async;\nbar.sync 0;\n"
  static const char smem[] = READY FENCE SS(d, 0) COMMIT OVERWRITE GROUPS_LEFT(0) OUT(d);
  float got[256];
  (void)state;
  expect_fault(smem, 128, "which a wgmma of thread (0,0,0) reads, and nothing orders the two", "st.shared.b32 [n], v");
  expect_fault(READY FENCE SS(d, 0) COMMIT SS(e, 0) COMMIT GROUPS_LEFT(1) OVERWRITE GROUPS_LEFT(0) OUT(d), 128, "which a wgmma of thread (0,0,0) reads, and nothing orders the two", "{e0, e1");
  expect(READY FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) OVERWRITE OUT(d), 16, 128);
  assert_int_equal(wsemuSetOption("race", "off"), 0); /* its operands are overwritten under it */
  CHECK(run_text(smem, "early", 128, got));
  assert_true(got[5] == 16);
  CHECK(run_text(smem, "late", 128, got));
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  assert_true(got[5] == 64);
  struct wsemu_stats s = {.size = sizeof s};
  wsemuResetStats();
  CHECK(run_text(READY FENCE SS(d, 0) SS(d, 1) COMMIT GROUPS_LEFT(0) OUT(d), "late", 128, got));
  assert_int_equal(wsemuGetStats(&s), 0);
  assert_int_equal(s.async_operations, 2);
  assert_int_equal(s.async_delayed, 2);
  assert_int_equal(s.tensor_flops, 2 * 2 * 64 * 8 * 16);
}

static void test_hazards(void **state) {
  static const struct { const char *body, *what, *other; } bad[] = {
      {READY FENCE SS(d, 0) COMMIT OUT(d), "reads an accumulator that no wgmma.wait_group has waited for", "wgmma.mma_async"},
      {READY FENCE SS(d, 0) COMMIT SS(e, 0) COMMIT GROUPS_LEFT(1) OUT(e), "reads an accumulator", "{e0, e1"},
      {READY FENCE SS(d, 0) GROUPS_LEFT(0) OUT(d), "reads an accumulator", "{d0, d1"}, /* not committed */
      {READY FENCE SS(d, 0) COMMIT "mov.f32 d2, f;\n" GROUPS_LEFT(0), "writes an accumulator", "mov.f32 d2, f"},
      {READY FENCE RS(d, 0) COMMIT "mov.b32 r1, v;\n" GROUPS_LEFT(0), "writes a register of A", "mov.b32 r1, v"},
      {READY SS(d, 0) COMMIT GROUPS_LEFT(0), "without a wgmma.fence before the first one", "{d0"},
      {READY FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) "mul.f32 d1, d1, d1;\n" SS(d, 1) COMMIT GROUPS_LEFT(0), "without a wgmma.fence since its last access", "mul.f32 d1"},
      {READY FENCE RS(d, 0) COMMIT GROUPS_LEFT(0) "mov.b32 r2, 0;\n" RS(d, 1) COMMIT GROUPS_LEFT(0), "without a wgmma.fence since its last access", "mov.b32 r2, 0"},
      {READY FENCE SS(d, 0) "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {e0, e1, e2, d3}, a, b, 0, 1, 1, 0, 0;\n" COMMIT GROUPS_LEFT(0), "accumulates in a register of another operation in flight", "{d0"},
      {FILL "bar.sync 0;\n" FENCE SS(d, 0) COMMIT GROUPS_LEFT(0), "without a fence.proxy.async since", "st.shared.b32 [n], v"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) expect_fault(bad[k].body, 128, bad[k].what, bad[k].other);
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  expect(FILL "bar.sync 0;\n" FENCE SS(d, 0) COMMIT GROUPS_LEFT(0) OUT(d), 16, 128);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

static void test_faults(void **state) {
  (void)state;
  expect_fault(READY FENCE SS(d, 0) COMMIT GROUPS_LEFT(0), 64, "a whole warpgroup of 128 threads", "of 2");
  expect_fault(READY FENCE "setp.eq.u32 p, t, 5;\n@p " SS(d, 0) COMMIT GROUPS_LEFT(0), 128, ".aligned", "mma_async");
  expect_fault(READY FENCE "setp.lt.u32 p, t, 32;\n@p bra SKIP;\n" SS(d, 0) "SKIP:\n" COMMIT GROUPS_LEFT(0), 128, "wait for the other warps of their warpgroup", "wait_group");
  expect_fault(READY FENCE "cvt.u64.u32 x, t; shr.u64 x, x, 5; shl.b64 x, x, 6; add.u64 a, a, x;\n" SS(d, 0) COMMIT GROUPS_LEFT(0), 128, "differs in its warpgroup's operation 0", "0x10000800");
  expect_fault(READY FENCE "cvt.u64.u32 x, t; add.u64 a, a, x;\n" SS(d, 0) COMMIT GROUPS_LEFT(0), 128, "differs from its warp's", "mma_async");
  expect_fault(READY FENCE "or.b64 a, a, 0x0000400000000000;\n" SS(d, 0) COMMIT GROUPS_LEFT(0), 128, "of A, which sets reserved bits", "mma_async");
  expect_fault(READY FENCE "or.b64 b, b, 0x0002000000000000;\n" SS(d, 0) COMMIT GROUPS_LEFT(0), 128, "of B, which has a base offset", "mma_async");
  expect_fault(READY FENCE "add.u64 b, b, 300;\n" SS(d, 0) COMMIT GROUPS_LEFT(0), 128, "of B, whose row 0 lies outside of the CTA's 4096 bytes", "stride 256");
  expect_fault(READY FENCE "and.b32 n, t, 1; setp.eq.u32 p, n, 1;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, a, b, p, 1, 1, 0, 0;\n" COMMIT GROUPS_LEFT(0), 128, "a scale-d that differs within its warp", "0xaaaaaaaa");
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_specials), cmocka_unit_test(test_groups), cmocka_unit_test(test_late_operands), cmocka_unit_test(test_hazards),
                                     cmocka_unit_test(test_faults)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
