/* Exchange between lanes, divergence and reconvergence, barriers: PTX ISA "shfl.sync", "vote.sync", "match.sync",
 * "redux.sync", "elect.sync", "activemask", "bar.warp.sync", "bar, barrier", "Control Flow Instructions". */
#include "harness.h"

/* A kernel of one CTA: every thread reads in[tid] into %a, %b (b = in[tid + n]) and writes %d to out[tid]. */
static void run(const char *header, const char *body, unsigned threads, const uint32_t *in, uint32_t *out) {
  char text[8192];
  snprintf(text, sizeof text,
           "%s%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred p, q;\n.reg .b32 %%a, %%b, %%d, %%t, %%u, %%v, n;\n"
           ".reg .b64 i, o, x;\n.shared .align 16 .b32 s[1024];\nld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 %%t, %%tid.x;\nmov.u32 n, %%ntid.x;\n"
           "mul.wide.u32 x, %%t, 4;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\nld.global.b32 %%a, [i];\nmul.wide.u32 x, n, 4;\nadd.u64 i, i, x;\nld.global.b32 %%b, [i];\n"
           "mov.b32 %%d, 0;\n%s\nst.global.b32 [o], %%d;\nret;\n}\n", header ? header : ".version 8.0\n.target sm_90\n", header ? "" : ".address_size 64\n", body);
  struct CUmod_st *m = NULL;
  if (cuModuleLoadData(&m, text)) {
    print_message("%s\n", emu_message());
    fail();
  }
  ws_cu_deviceptr p[2] = {emu_buffer(in, threads * 8), emu_buffer(NULL, threads * 4)};
  CHECK(emu_run(emu_function(m, "k"), 1, threads, 0, p, 2));
  emu_fetch(out, p[1], threads * 4);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuModuleUnload(m));
}

static void fill(struct rng *r, uint32_t *in, unsigned n) {
  for (unsigned i = 0; i < 2 * n; i++) in[i] = (uint32_t)rng_next(r);
}

static void test_shfl(void **state) {
  struct rng r = {3};
  uint32_t in[64], out[32];
  (void)state;
  static const struct { const char *text; int mode; uint32_t c; } modes[] = {
      {"shfl.sync.up.b32 %d|p, %a, %b, 0, -1;", 'u', 0}, {"shfl.sync.down.b32 %d|p, %a, %b, 31, -1;", 'd', 31},
      {"shfl.sync.bfly.b32 %d|p, %a, %b, 31, -1;", 'b', 31}, {"shfl.sync.idx.b32 %d|p, %a, %b, 31, -1;", 'i', 31},
      {"shfl.sync.up.b32 %d|p, %a, %b, 0x1800, -1;", 'u', 0x1800}, {"shfl.sync.down.b32 %d|p, %a, %b, 0x181f, -1;", 'd', 0x181f},
      {"shfl.sync.idx.b32 %d|p, %a, %b, 0x1c1f, -1;", 'i', 0x1c1f}, {"shfl.sync.bfly.b32 %d|p, %a, %b, 0x100f, -1;", 'b', 0x100f}};
  for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
    char body[256];
    fill(&r, in, 32);
    for (int i = 0; i < 32; i++) in[32 + i] = rng_below(&r, 32);
    snprintf(body, sizeof body, "%s xor.b32 %%d, %%d, 0; @p xor.b32 %%d, %%d, 1;", modes[k].text);
    run(NULL, body, 32, in, out);
    for (int lane = 0; lane < 32; lane++) { /* the segment of width w that the lane is in, by division */
      int seg = (int)(modes[k].c >> 8 & 31), width = 32 - seg, first = lane / width * width, last = first + (int)(modes[k].c & 31 & (uint32_t)~seg);
      int b = (int)in[32 + lane], src = modes[k].mode == 'u' ? lane - b : modes[k].mode == 'd' ? lane + b : modes[k].mode == 'b' ? lane ^ b : first + (b & ~seg & 31);
      bool ok = modes[k].mode == 'u' ? src >= first : src <= last;
      if (modes[k].mode == 'b' && seg == 16) ok = src <= last; /* bfly may cross downwards */
      assert_int_equal(out[lane], in[ok ? src : lane] ^ (ok ? 1u : 0u));
    }
  }
}

static void test_vote_match_redux(void **state) {
  struct rng r = {5};
  uint32_t in[64], out[32];
  (void)state;
  fill(&r, in, 32);
  run(NULL, "and.b32 %a, %a, 1; setp.ne.u32 p, %a, 0; vote.sync.ballot.b32 %d, p, -1;", 32, in, out);
  uint32_t ballot = 0, sum = 0, mn = UINT32_MAX, x = 0;
  int32_t smax = INT32_MIN;
  for (int i = 0; i < 32; i++) {
    ballot |= (in[i] & 1) << i;
    sum += in[i];
    x ^= in[i];
    mn = in[i] < mn ? in[i] : mn;
    smax = (int32_t)in[i] > smax ? (int32_t)in[i] : smax;
  }
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], ballot);
  run(NULL, "and.b32 %a, %a, 1; setp.ne.u32 p, %a, 0; vote.sync.any.pred q, p, -1; selp.u32 %d, 1, 0, q; vote.sync.all.pred q, p, -1; @q add.u32 %d, %d, 2;"
            "vote.sync.uni.pred q, p, -1; @q add.u32 %d, %d, 4; vote.sync.any.pred q, !p, -1; @q add.u32 %d, %d, 8;", 32, in, out);
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], 9);
  static const char *const ops[] = {"add.u32", "min.u32", "max.s32", "xor.b32"};
  uint32_t want[] = {sum, mn, (uint32_t)smax, x};
  for (int k = 0; k < 4; k++) {
    char body[64];
    snprintf(body, sizeof body, "redux.sync.%s %%d, %%a, -1;", ops[k]);
    run(NULL, body, 32, in, out);
    for (int i = 0; i < 32; i++) assert_int_equal(out[i], want[k]);
  }
  for (int i = 0; i < 32; i++) in[i] &= 3;
  run(NULL, "match.any.sync.b32 %d, %a, -1;", 32, in, out);
  for (int i = 0; i < 32; i++) {
    uint32_t same = 0;
    for (int j = 0; j < 32; j++) same |= (uint32_t)(in[j] == in[i]) << j;
    assert_int_equal(out[i], same);
  }
}

/* elect with the mask of the lanes that execute it */
static void test_elect_and_activemask(void **state) {
  struct rng r = {7};
  uint32_t in[64], out[32];
  (void)state;
  fill(&r, in, 32);
  run(NULL, "setp.lt.u32 p, %t, 9; @p bra SKIP; elect.sync %d|q, 0xfffffe00; @q add.u32 %d, %d, 100; activemask.b32 %u; and.b32 %u, %u, 0xff; add.u32 %d, %d, %u; SKIP:", 32, in, out);
  for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i < 9 ? 0 : 9 + (i == 9 ? 100 : 0));
}

/* Collatz steps: every lane loops its own number of times, with a branch inside the loop. */
static void test_divergent_loop(void **state) {
  struct rng r = {11};
  uint32_t in[192], out[96];
  (void)state;
  for (int i = 0; i < 96; i++) in[i] = 1 + rng_below(&r, 5000);
  run(NULL, "LOOP: setp.eq.u32 p, %a, 1; @p bra DONE; add.u32 %d, %d, 1; and.b32 %u, %a, 1; setp.eq.u32 q, %u, 0; @q bra EVEN; mad.lo.u32 %a, %a, 3, 1; bra LOOP;"
            "EVEN: shr.u32 %a, %a, 1; bra.uni LOOP; DONE: bar.sync 0; activemask.b32 %u; setp.ne.u32 p, %u, -1; @p add.u32 %d, %d, 100000;", 96, in, out);
  for (int i = 0; i < 96; i++) {
    uint32_t steps = 0;
    for (uint32_t v = in[i]; v != 1; v = v & 1 ? 3 * v + 1 : v / 2) steps++;
    assert_int_equal(out[i], steps);
  }
}

/* Three-way branches nested with exits of some lanes; the rest meet at a barrier. */
static void test_nested_and_exit(void **state) {
  struct rng r = {13};
  uint32_t in[128], out[64];
  (void)state;
  fill(&r, in, 64);
  run(NULL, "{ .reg .b32 m; rem.u32 m, %a, 3; setp.eq.u32 p, m, 0; @p bra A0; setp.eq.u32 p, m, 1; @p bra A1; and.b32 %u, %a, 8; setp.ne.u32 q, %u, 0; @q bra B1;"
            "mov.u32 %d, 20; bra B2; B1: mov.u32 %d, 21; st.global.b32 [o], %d; exit; B2: add.u32 %d, %d, 10; bra C0; A1: mov.u32 %d, 1; bra C0; A0: mov.u32 %d, 2; C0: bar.sync 0;"
            "add.u32 %d, %d, 1000; }", 64, in, out);
  for (int i = 0; i < 64; i++)
    assert_int_equal(out[i], in[i] % 3 == 0 ? 1002 : in[i] % 3 == 1 ? 1001 : in[i] & 8 ? 21 : 1030);
}

static void test_brx_idx(void **state) {
  struct rng r = {17};
  uint32_t in[64], out[32];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = rng_below(&r, 4);
  run(NULL, "TS: .branchtargets T0, T1, T2, T3; brx.idx %a, TS; T0: mov.u32 %d, 5; bra E; T1: mov.u32 %d, 6; bra E; T2: mov.u32 %d, 7; T3: add.u32 %d, %d, 8; E: add.u32 %d, %d, 100;", 32, in, out);
  static const uint32_t want[] = {105, 106, 115, 108};
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], want[in[i]]);
}

/* Lanes of one warp wait for each other: the last lane releases the others, which spin in another branch. */
static void test_lanes_wait_for_each_other(void **state) {
  uint32_t in[64] = {0}, out[32];
  (void)state;
  run(NULL, "mov.u32 %u, s; st.shared.u32 [%u], 0; bar.warp.sync -1; setp.eq.u32 p, %t, 31; @p bra RELEASE; W: ld.volatile.shared.u32 %v, [%u]; setp.ne.u32 q, %v, 77; @q bra W; mov.u32 %d, 1; bra E;"
            "RELEASE: st.volatile.shared.u32 [%u], 77; mov.u32 %d, 2; E: bar.warp.sync -1;", 32, in, out);
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], i == 31 ? 2 : 1);
}

/* Without .sync the lanes that are there take part; a target before sm_70, or a version before 6.4. */
static void test_unsynchronised(void **state) {
  static const char old[] = ".version 6.0\n.target sm_60\n.address_size 64\n", newer[] = ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 d;\n.reg .pred p;\nsetp.eq.u32 p, 1, 1;\nvote.ballot.b32 d, p;\nret;\n}\n";
  struct rng r = {61};
  uint32_t in[128], out[64];
  (void)state;
  fill(&r, in, 64);
  run(old, "and.b32 %u, %t, 31; setp.ge.u32 p, %u, 20; @p bra E; setp.lt.s32 q, %a, 0; vote.ballot.b32 %d, q; vote.any.pred p, q; @p add.u32 %d, %d, 0x1000000; vote.all.pred p, !q; @p add.u32 %d, %d, 0x2000000;"
           "shfl.down.b32 %v, %b, 3, 0x1f; setp.lt.u32 p, %u, 17; @p xor.b32 %d, %d, %v; E:", 64, in, out);
  for (int i = 0; i < 64; i++) {
    uint32_t votes = 0, want = 0;
    for (int k = 0; k < 20; k++) votes |= (in[i / 32 * 32 + k] >> 31) << k;
    if (i % 32 < 20) want = votes + (votes ? 0x1000000 : 0x2000000);
    if (i % 32 < 17) want ^= in[64 + i + 3];
    assert_int_equal(out[i], want);
  }
  assert_int_equal(emu_run_text(newer, 32, 0, NULL, 0), WS_CUDA_ERROR_INVALID_PTX);
  assert_non_null(strstr(emu_message(), "without .sync"));
}

static void test_calls(void **state) {
  static const char header[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".func (.reg .u32 rv) twice(.reg .u32 a) { add.u32 rv, a, a; ret; }\n"
      ".func (.reg .u32 v, .reg .pred above) both(.reg .u32 a, .reg .pred turn) { add.u32 v, a, 1; setp.gt.u32 above, a, 40; @turn not.pred above, above; ret; }\n"
      ".func (.param .b32 r0) sq(.param .b32 p0) { .reg .u32 a; .reg .pred p; ld.param.u32 a, [p0]; setp.gt.u32 p, a, 50; @p bra BIG; mul.lo.u32 a, a, a; st.param.b32 [r0], a; ret; BIG: mov.u32 a, 7; st.param.b32 [r0], a; ret; }\n";
  struct rng r = {19};
  uint32_t in[64], out[32];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = rng_below(&r, 100);
  run(header, "{ .param .b32 x0; .param .b32 y0; call (%d), twice, (%a); st.param.b32 [x0], %d; call.uni (y0), sq, (x0); ld.param.b32 %u, [y0]; }\n{ .param .b32 x0; .param .b32 y0; st.param.b32 [x0], %b; setp.lt.u32 p, %b, 30; @p call (y0), sq, (x0); @p ld.param.b32 %v, [y0]; @p add.u32 %u, %u, %v; } mov.u32 %d, %u;", 32, in, out);
  for (int i = 0; i < 32; i++) {
    uint32_t a = 2 * in[i], b = in[32 + i];
    assert_int_equal(out[i], (a > 50 ? 7 : a * a) + (b < 30 ? b * b : 0));
  }
  run(header, "setp.lt.u32 p, %b, 50; call (%u, q), both, (%a, p); mov.u32 %d, %u; @q add.u32 %d, %d, 1000;", 32, in, out);
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], in[i] + 1 + ((in[i] > 40) != (in[32 + i] < 50) ? 1000 : 0));
}

/* Two halves of a CTA hand values through shared memory with named barriers: sync and arrive. */
static void test_named_barriers(void **state) {
  struct rng r = {23};
  uint32_t in[256], out[128];
  (void)state;
  fill(&r, in, 128);
  run(NULL, "mov.u32 %u, s; and.b32 %v, %t, 63; mad.lo.u32 %u, %v, 4, %u; setp.lt.u32 p, %t, 64; @!p bra CONSUME;"
            "st.shared.b32 [%u], %a; bar.arrive 1, 128; bar.sync 2, 128; ld.shared.b32 %d, [%u+256]; bra E;"
            "CONSUME: bar.sync 1, 128; ld.shared.b32 %d, [%u]; st.shared.b32 [%u+256], %a; bar.arrive 2, 128; E:", 128, in, out);
  for (int i = 0; i < 128; i++) assert_int_equal(out[i], in[i ^ 64]);
}

static void test_barrier_reductions(void **state) {
  struct rng r = {29};
  uint32_t in[192], out[96], count = 0;
  (void)state;
  fill(&r, in, 96);
  for (int i = 0; i < 96; i++) count += in[i] & 1;
  run(NULL, "and.b32 %a, %a, 1; setp.eq.u32 p, %a, 1; bar.red.popc.u32 %d, 0, p; barrier.cta.red.or.pred q, 1, 96, p; @q add.u32 %d, %d, 1000; bar.red.and.pred q, 2, !p; @q add.u32 %d, %d, 2000;", 96, in, out);
  for (int i = 0; i < 96; i++) assert_int_equal(out[i], count + 1000);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shfl), cmocka_unit_test(test_vote_match_redux), cmocka_unit_test(test_elect_and_activemask), cmocka_unit_test(test_divergent_loop),
      cmocka_unit_test(test_nested_and_exit), cmocka_unit_test(test_brx_idx), cmocka_unit_test(test_lanes_wait_for_each_other), cmocka_unit_test(test_unsynchronised), cmocka_unit_test(test_calls),
      cmocka_unit_test(test_named_barriers), cmocka_unit_test(test_barrier_reductions)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
