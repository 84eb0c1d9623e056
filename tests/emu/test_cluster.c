/* Clusters: barriers, distributed shared memory, remote mbarriers, asynchronous stores, launches; and setmaxnreg. PTX ISA
 * "barrier.cluster", "mapa", "getctarank", "st.async", "red.async", "setmaxnreg", "griddepcontrol". */
#include "harness.h"

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)%s\n{\n.shared .align 16 .b8 s[256];\n" \
             ".reg .b64 o, x, g;\n.reg .b32 t, v, n, b, r, nr, ra, i;\n.reg .pred p, q, e;\n"                         \
             "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmov.u32 i, %%ctaid.x;\nmov.u32 n, %%ntid.x;\nmad.lo.u32 i, i, n, t;\nmul.wide.u32 x, i, 4;\nadd.u64 o, o, x;\n" \
             "mov.u32 b, s;\nsetp.eq.u32 q, t, 0;\nmov.u32 r, %%cluster_ctarank;\nmov.u32 nr, %%cluster_nctarank;\n"
#define SYNC "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
#define OUT "st.global.u32 [o], v;\n"
enum { THREADS = 64, CTAS = 8 };
static const char *const schedules[] = {"early", "late", "random:1", "random:2", "random:77"};

static struct CUmod_st *load(const char *directives, const char *body) {
  char text[8192];
  int n = snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", directives, body);
  assert_true(n > 0 && (size_t)n < sizeof text);
  return emu_module(text);
}
static ws_cu_result run(const char *directives, const char *body, const char *schedule, unsigned threads, uint32_t *out) {
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  struct CUmod_st *m = load(directives, body);
  ws_cu_deviceptr p = emu_buffer(NULL, CTAS * threads * 4);
  ws_cu_result r = emu_run(emu_function(m, "k"), CTAS, threads, 0, &p, 1);
  CHECK(cuModuleUnload(m));
  emu_fetch(out, p, CTAS * threads * 4);
  return r;
}
static void expect(const char *directives, const char *body, unsigned threads, uint32_t (*want)(uint32_t cta, uint32_t t)) {
  static uint32_t out[CTAS * 512];
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    CHECK(run(directives, body, schedules[k], threads, out));
    for (uint32_t i = 0; i < CTAS * threads; i++) assert_int_equal(out[i], want(i / threads, i % threads));
  }
}
static void expect_fault(const char *directives, const char *body, unsigned threads, const char *what) {
  static uint32_t out[CTAS * 512];
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    assert_int_not_equal(run(directives, body, schedules[k], threads, out), WS_CUDA_SUCCESS);
    if (strstr(emu_message(), what)) continue;
    print_message("'%s' is not in: %s\n", what, emu_message());
    fail();
  }
}
#define FOUR "\n.reqnctapercluster 4, 1, 1"

static uint32_t registers(uint32_t cta, uint32_t t) { (void)t; return cta % 4 | 4 << 4 | (cta / 4) << 8 | 2 << 12 | cta % 4 << 16 | 4 << 20 | 1u << 24; }
static uint32_t next_rank(uint32_t cta, uint32_t t) { return (cta + 1) % 4 * 100 + t; }
static uint32_t sum_of_ranks(uint32_t cta, uint32_t t) { (void)t; return cta % 4 == 0 ? THREADS * 6 : 1; }
static uint32_t seven(uint32_t cta, uint32_t t) { (void)cta, (void)t; return 7; }

static void test_registers(void **state) {
  (void)state;
  expect(FOUR, "mov.u32 v, r; shl.b32 n, nr, 4; or.b32 v, v, n; mov.u32 n, %clusterid.x; shl.b32 n, n, 8; or.b32 v, v, n; mov.u32 n, %nclusterid.x; shl.b32 n, n, 12; or.b32 v, v, n;\n"
         "mov.u32 n, %cluster_ctaid.x; shl.b32 n, n, 16; or.b32 v, v, n; mov.u32 n, %cluster_nctaid.x; shl.b32 n, n, 20; or.b32 v, v, n; mov.pred p, %is_explicit_cluster; selp.u32 n, 0x1000000, 0, p; or.b32 v, v, n;\n" OUT, THREADS, registers);
}

/* Each CTA reads what its neighbour wrote, by every way of naming it. */
static void test_distributed_memory(void **state) {
  (void)state;
  static const char write[] = "mad.lo.u32 v, r, 100, t; shl.b32 n, t, 2; add.u32 n, n, b; st.shared.u32 [n], v;\n" SYNC "add.u32 r, r, 1; and.b32 r, r, 3;\n";
  char body[2048];
  static const char *const reads[] = {"mapa.shared::cluster.u32 ra, n, r; ld.shared::cluster.u32 v, [ra];\n",
                                      "mapa.shared::cluster.u32 ra, s, r; shl.b32 n, t, 2; add.u32 ra, ra, n; ld.shared::cluster.u32 v, [ra];\n",
                                      "cvt.u64.u32 g, n; cvta.shared.u64 g, g; mapa.u64 g, g, r; ld.u32 v, [g];\n",
                                      "mapa.shared::cluster.u32 ra, n, r; getctarank.shared::cluster.u32 v, ra; setp.ne.u32 p, v, r; @p trap; ld.shared::cluster.u32 v, [ra];\n"};
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    snprintf(body, sizeof body, "%s%s" SYNC OUT, write, reads[i]);
    expect(FOUR, body, THREADS, next_rank);
  }
  expect(FOUR, "mov.u32 v, 1; @q st.shared.u32 [b], 0;\n" SYNC "mapa.shared::cluster.u32 ra, b, 0; red.shared::cluster.add.u32 [ra], r; atom.shared::cluster.add.u32 n, [ra], 0;\n" SYNC
         "setp.eq.u32 p, r, 0; @p ld.shared.u32 v, [b];\n" OUT, THREADS, sum_of_ranks);
  /* a CTA's own addresses carry its rank, so that shared::cluster accesses with them stay at home */
  expect(FOUR, "@q st.shared.u32 [s], 7;\nbar.sync 0; ld.shared::cluster.u32 v, [b];\n" SYNC OUT, THREADS, seven);
}

/* Threads of all CTAs arrive at the barrier of CTA 0, which waits for them and then lets the others go on. */
static void test_remote_arrive(void **state) {
  (void)state;
  expect(FOUR, "setp.eq.u32 p, r, 0; @q mbarrier.init.shared::cta.b64 [s], 256; @q mbarrier.init.shared::cta.b64 [s+8], 1; @q fence.mbarrier_init.release.cluster; mov.u32 v, 7;\n" SYNC
         "mapa.shared::cluster.u32 ra, b, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [ra]; @!p bra REST;\n"
         "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W; setp.lt.u32 e, t, 4; @e mapa.shared::cluster.u32 ra, b, t; @e mbarrier.arrive.shared::cluster.b64 _, [ra+8];\n"
         "REST:\nV: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s+8], 0; @!e bra V;\n" SYNC OUT, THREADS, seven);
  expect(FOUR, "@q mbarrier.init.shared::cta.b64 [s], 2; mov.u32 v, 7;\n" SYNC "xor.b32 r, r, 1; mapa.shared::cluster.u32 ra, b, r; @q mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [ra];\n"
         "@q mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [ra], 4; @q mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [ra], 4;\nW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W;\n" SYNC OUT, THREADS, seven);
  expect(FOUR, "@q mbarrier.init.shared::cta.b64 [s], 1; mov.u32 v, 7;\n" SYNC "add.u32 r, r, 3; and.b32 r, r, 3; mapa.shared::cluster.u32 ra, b, r; @q mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [ra], 8;\n"
         "@q mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [ra], 8;\nW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W;\n" SYNC OUT, THREADS, seven);
}

static uint32_t async_values(uint32_t cta, uint32_t t) { return (cta + 3) % 4 + 10 * t + 3 * (t + 1); }
static void test_async_stores(void **state) {
  (void)state;
  expect(FOUR, "@q mbarrier.init.shared::cta.b64 [s], 1; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 1024; shl.b32 n, t, 2; add.u32 n, n, b; .reg .b64 w, y;\n"
         ".shared .align 16 .b8 d[1024];\n" SYNC "add.u32 i, r, 1; and.b32 i, i, 3; mov.u32 n, d; shl.b32 v, t, 4; add.u32 n, n, v; mapa.shared::cluster.u32 n, n, i; mapa.shared::cluster.u32 ra, b, i; mad.lo.u32 v, t, 10, r;\n"
         "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [n], {v, t}, [ra]; cvt.u64.u32 w, t; add.u64 w, w, 1; st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [n+8], w, [ra];\n"
         "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W; mov.u32 n, d; shl.b32 v, t, 4; add.u32 n, n, v; ld.shared.v2.u32 {v, i}, [n]; setp.ne.u32 e, i, t; @e trap; ld.shared.u64 w, [n+8]; cvt.u32.u64 i, w; mad.lo.u32 v, i, 3, v;\n" SYNC OUT,
         THREADS, async_values);
  expect(FOUR, "@q mbarrier.init.shared::cta.b64 [s], 1; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 256; @q st.shared.u32 [s+16], 0; setp.eq.u32 p, r, 0;\n" SYNC
         "add.u32 i, r, 1; and.b32 i, i, 3; mapa.shared::cluster.u32 ra, b, i; mov.u32 v, 1; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [ra+16], 7, [ra];\n"
         "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W; ld.shared.u32 v, [s+16];\n" SYNC OUT, THREADS, seven);
}

/* A read before the wait sees the value early and not late; without any wait the store outlives the CTA it goes to. */
static void test_missing_wait(void **state) {
  static const char start[] = "@q mbarrier.init.shared::cta.b64 [s], 1; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 4; @q st.shared.u32 [s+16], 1;\n" SYNC
                              "xor.b32 r, r, 1; mapa.shared::cluster.u32 ra, b, r; @q st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [ra+16], 7, [ra];\n" SYNC "ld.shared.u32 v, [s+16];\n" OUT;
  static uint32_t out[CTAS * THREADS];
  char body[2048];
  (void)state;
  snprintf(body, sizeof body, "%sW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W;\n" SYNC, start);
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  CHECK(run(FOUR, body, "early", THREADS, out));
  assert_int_equal(out[0], 7);
  wsemuResetStats();
  CHECK(run(FOUR, body, "late", THREADS, out));
  assert_int_equal(out[0], 1);
  struct wsemu_stats s = {.size = sizeof s};
  assert_int_equal(wsemuGetStats(&s), 0);
  assert_int_equal(s.async_operations, CTAS);
  assert_int_equal(s.async_delayed, CTAS);
  CHECK(run(FOUR, start, "early", THREADS, out));
  assert_int_not_equal(run(FOUR, start, "late", THREADS, out), WS_CUDA_SUCCESS);
  assert_non_null(strstr(emu_message(), "which has ended"));
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

/* Every red.async operation on two words of the next CTA, whose first is 5 and whose second -6, by thread 0 alone. */
static void test_async_reductions(void **state) {
  static const struct { const char *op; uint32_t value, first, second; } ops[] = {
      {"add.u32", 3, 8, UINT32_MAX - 2}, {"add.s32", UINT32_MAX, 4, (uint32_t)-7}, {"min.u32", 3, 3, 3}, {"min.s32", 3, 3, (uint32_t)-6}, {"max.u32", 9, 9, (uint32_t)-6}, {"max.s32", 9, 9, 9},
      {"inc.u32", 5, 0, 0}, {"dec.u32", 9, 4, 9}, {"and.b32", 12, 4, 8}, {"or.b32", 3, 7, (uint32_t)-5}, {"xor.b32", 1, 4, (uint32_t)-5}};
  (void)state;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
      char body[2048];
      uint32_t got[CTAS * THREADS];
      snprintf(body, sizeof body, "@q mbarrier.init.shared::cta.b64 [s], 1; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 8; @q st.shared.u32 [s+16], 5; @q st.shared.u32 [s+20], -6;\n" SYNC
               "add.u32 i, r, 1; and.b32 i, i, 3; mapa.shared::cluster.u32 ra, b, i; mov.u32 v, %u; @q red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s [ra+16], v, [ra];\n"
               "@q red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s [ra+20], v, [ra];\nW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 e, [s], 0; @!e bra W;\n"
               "and.b32 t, t, 1; shl.b32 t, t, 2; add.u32 t, t, b; ld.shared.u32 v, [t+16];\n" SYNC OUT, ops[i].value, ops[i].op, ops[i].op);
      CHECK(run(FOUR, body, schedules[k], THREADS, got));
      for (uint32_t t = 0; t < CTAS * THREADS; t++) assert_int_equal(got[t], t & 1 ? ops[i].second : ops[i].first);
    }
}

/* Arrivals without .aligned, one relaxed; a warp that ends early no longer counts. */
static void test_barrier_forms(void **state) {
  (void)state;
  expect(FOUR, "mov.u32 v, 7; barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire; barrier.cluster.arrive.release; barrier.cluster.wait;\n" OUT, THREADS, seven);
  expect(FOUR, "mov.u32 v, 7; setp.ge.u32 p, t, 32; setp.eq.u32 e, r, 2; and.pred p, p, e;\n" OUT "@p exit;\n" SYNC SYNC, THREADS, seven);
  expect("", "mov.u32 v, 7; setp.ne.u32 p, nr, 1; @p trap; griddepcontrol.wait;\n" SYNC "griddepcontrol.launch_dependents;\n" OUT, THREADS, seven);
}

static void test_faults(void **state) {
  static const struct { const char *body, *what; } bad[] = {
      {"mapa.shared::cluster.u32 ra, b, 4;", "to CTA 4 of a cluster of 4"},
      {"add.u32 ra, b, 0x4000000; sub.u32 ra, ra, 0; mov.u32 ra, 0x5000400; ld.shared::cluster.u32 v, [ra];", "of CTA 5 of the cluster's 4"},
      {"mapa.shared::cluster.u32 ra, b, 1; ld.shared::cluster.u32 v, [ra+256];\n" SYNC, "outside of the CTA's 256 bytes"},
      {"setp.eq.u32 p, r, 1; mapa.shared::cluster.u32 ra, b, 1; @p exit; W: ld.volatile.shared.u32 v, [b]; add.u32 i, i, 1; setp.lt.u32 e, i, 100000; @e bra W; ld.shared::cluster.u32 v, [ra];", "of CTA 1 of its cluster, which has ended"},
      {"barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;", "again without having waited"},
      {"barrier.cluster.wait.aligned;", "without having arrived"},
      {"@q mbarrier.init.shared.b64 [s], 1;\n" SYNC "mapa.shared::cluster.u32 ra, b, 1; add.u32 r, r, 2; and.b32 r, r, 3; mapa.shared::cluster.u32 n, b, r; setp.eq.u32 p, r, 2; @p st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [ra+16], t, [n];\n" SYNC,
       "signals an mbarrier of another CTA"},
      {"@q mbarrier.init.shared.b64 [s], 1;\n" SYNC "mapa.shared::cluster.u32 ra, b, 1; setp.eq.u32 p, r, 0; @p mbarrier.try_wait.parity.shared::cta.b64 e, [ra], 0;\n" SYNC, "outside of the CTA's"},
      {"setp.eq.u32 p, r, 3; @p bra W; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; bra.uni E;\nW: @q mbarrier.init.shared.b64 [s], 1; bar.sync 0;\nV: mbarrier.try_wait.parity.shared::cta.b64 e, [s], 0; @!e bra V;\nE:",
       "CTA 3 of the cluster, warps 0-1 wait for an mbarrier"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) expect_fault(FOUR, bad[k].body, THREADS, bad[k].what);
}

static ws_cu_result launch(struct CUfunc_st *f, unsigned grid_x, unsigned x, unsigned y, ws_cu_deviceptr out) {
  struct ws_cu_launch_attribute a = {.id = WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
  a.value.cluster_dim.x = x;
  a.value.cluster_dim.y = y;
  a.value.cluster_dim.z = 1;
  struct ws_cu_launch_config config = {.grid_x = grid_x, .grid_y = 2, .grid_z = 1, .block_x = 32, .block_y = 1, .block_z = 1, .attrs = &a, .nattrs = 1};
  void *args[] = {&out};
  return cuLaunchKernelEx(&config, f, args, NULL);
}
static void test_launch(void **state) {
  (void)state;
  struct CUmod_st *m = load("", "mov.u32 v, %cluster_ctaid.y; mad.lo.u32 v, v, 10, nr; mad.lo.u32 v, r, 100, v; mov.u32 n, %ctaid.y; mul.lo.u32 n, n, 1024; cvt.u64.u32 x, n; add.u64 o, o, x;\n" SYNC OUT);
  struct CUfunc_st *f = emu_function(m, "k");
  uint32_t out[2 * 256];
  ws_cu_deviceptr p = emu_buffer(NULL, sizeof out);
  CHECK(launch(f, 8, 2, 2, p));
  CHECK(cuMemcpyDtoH_v2(out, p, sizeof out));
  for (uint32_t y = 0; y < 2; y++)
    for (uint32_t x = 0; x < 8; x++) assert_int_equal(out[256 * y + 32 * x], 4 + 10 * y + 100 * (x % 2 + 2 * y));
  assert_int_equal(launch(f, 7, 2, 1, p), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  assert_int_equal(launch(f, 8, 8, 2, p), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  CHECK(launch(f, 8, 8, 2, p));
  assert_int_equal(launch(f, 64, 32, 1, p), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuModuleUnload(m));
  m = load("\n.reqnctapercluster 2, 1, 1", "mov.u32 v, 0;");
  assert_int_equal(launch(emu_function(m, "k"), 8, 4, 1, p), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(launch(emu_function(m, "k"), 8, 2, 1, p));
  CHECK(cuModuleUnload(m));
  m = load("\n.explicitcluster", "mov.u32 v, 0;");
  assert_int_equal(emu_run(emu_function(m, "k"), 8, 32, 0, &p, 1), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuModuleUnload(m));
  m = load("\n.maxclusterrank 4", "mov.u32 v, 0;");
  assert_int_equal(launch(emu_function(m, "k"), 8, 8, 1, p), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(p));
}

/* 384 threads start with 168 registers each: 24 + 240 + 240 fit, 32 + 240 + 240 do not. */
#define REGS "\n.reqntid 384\n.minnctapersm 1"
static void test_setmaxnreg(void **state) {
  (void)state;
  expect(REGS, "mov.u32 v, 7; setp.lt.u32 p, t, 128; @p bra LOW;\nsetmaxnreg.inc.sync.aligned.u32 240; bra.uni END;\nLOW: setmaxnreg.dec.sync.aligned.u32 24;\nEND:\n" OUT, 384, seven);
  struct CUmod_st *m = load("", "setmaxnreg.inc.sync.aligned.u32 240;");
  struct CUfunc_st *f = emu_function(m, "k");
  char text[1024];
  int regs;
  CHECK(cuFuncGetAttribute(&regs, WS_CU_FUNC_ATTRIBUTE_NUM_REGS, f));
  assert_true(wsemuWarnings(f, text, sizeof text) > 0);
  assert_non_null(strstr(text, "setmaxnreg.inc.sync.aligned.u32 240;': has no effect"));
  CHECK(cuModuleUnload(m));
  expect("", "mov.u32 v, 7; setmaxnreg.inc.sync.aligned.u32 240;\n" OUT, 384, seven);
  expect_fault(REGS, "setp.lt.u32 p, t, 128; @p bra LOW;\nsetmaxnreg.inc.sync.aligned.u32 240; bra.uni END;\nLOW: setmaxnreg.dec.sync.aligned.u32 32;\nEND:", 384, "has 168 registers a thread and waits for 240");
  expect_fault(REGS, "setmaxnreg.dec.sync.aligned.u32 176;", 384, "asks for 176 registers a thread but has 168");
  expect_fault(REGS, "setmaxnreg.inc.sync.aligned.u32 160;", 384, "asks for 160 registers a thread but has 168");
}

/* PTX ISA "clusterlaunchcontrol": clusters of n CTAs take over what has not started; every CTA's work is done once. */
#define CLC_HEAD ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out)\n.reqntid 32\n"
#define CLC_BODY "{\n.shared .align 16 .b8 s[16];\n.shared .align 8 .b64 bar;\n.reg .b64 o, x;\n.reg .b32 t, v, par, r, first, y, z;\n.reg .b128 h;\n.reg .pred p, lead;\n"   \
  "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nsetp.eq.u32 lead, t, 0;\nmov.u32 r, %%cluster_ctarank;\nmov.u32 first, %%ctaid.x;\nsub.u32 first, first, r;\nmov.u32 par, 0;\n"        \
  "@lead mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nbar.sync 0;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"                \
  "WORK: add.u32 v, first, r;\nmul.wide.u32 x, v, 4;\nadd.u64 x, o, x;\n@lead red.global.add.u32 [x], 1;\n"                                                                     \
  "@lead mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nsetp.eq.and.u32 p, r, 0, lead;\n"                 \
  "@p clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes%s.b128 [s], [bar];\n"                                                                        \
  "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], par;\n@!p bra WAIT;\nxor.b32 par, par, 1;\nld.shared.b128 h, [s];\nfence.proxy.async.shared::cta;\n"                     \
  "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, h;\n@!p bra END;\n%s;\nbra WORK;\nEND:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n"
static void test_launch_control(void **state) {
  static const char *const query[] = {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {first, y, z, _}, h", "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 first, h"};
  (void)state;
  for (uint32_t n = 1; n <= 2; n++)
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
      char text[4096];
      uint32_t out[64] = {0};
      int at = snprintf(text, sizeof text, CLC_HEAD "%s", n == 2 ? ".reqnctapercluster 2, 1, 1\n" : "");
      snprintf(text + at, sizeof text - (size_t)at, CLC_BODY, n == 2 ? ".multicast::cluster::all" : "", query[k % 2]);
      assert_int_equal(wsemuSetOption("schedule", schedules[k]), 0);
      struct CUmod_st *m = emu_module(text);
      ws_cu_deviceptr p = emu_buffer(out, sizeof out);
      CHECK(emu_run(emu_function(m, "k"), 64, 32, 0, &p, 1));
      CHECK(cuModuleUnload(m));
      emu_fetch(out, p, sizeof out);
      for (int i = 0; i < 64; i++) assert_int_equal(out[i], 1);
    }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_registers), cmocka_unit_test(test_distributed_memory), cmocka_unit_test(test_remote_arrive), cmocka_unit_test(test_async_stores), cmocka_unit_test(test_missing_wait), cmocka_unit_test(test_async_reductions),
                                     cmocka_unit_test(test_barrier_forms), cmocka_unit_test(test_faults), cmocka_unit_test(test_launch), cmocka_unit_test(test_launch_control), cmocka_unit_test(test_setmaxnreg)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
