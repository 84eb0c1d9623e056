/* Races in shared memory: for each kind of synchronisation a kernel that has it and its twin that lacks it. The one is silent, the
 * other a fault that names both lines, under every schedule. wgmma and tcgen05: test_wgmma.c, test_tensor.c. PTX ISA "Memory
 * Consistency Model". */
#include "harness.h"

static const char *const schedules[] = {"early", "late", "random:1", "random:2", "random:3"};
#define EACH_SCHEDULE(k) for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++)

/* Two warps: p0, p1 hold in one of them, q0, q1 in its first thread. a: address of s, n: the thread's own four bytes of it. g: 64 KiB of
 * global memory. In a pair of CTAs peer and rbar are s and bar of the other one. */
#define HEAD                                                                                                                                \
  ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in)\n%s{\n.shared .align 1024 .b8 s[4096];\n"               \
  ".shared .align 8 .b64 bar;\n.shared .align 8 .b64 bar2;\n.shared .align 4 .b32 flag;\n.reg .b64 g, st;\n.reg .b32 t, v, n, a, b, r, peer, rbar;\n" \
  ".reg .pred p0, p1, q0, q1, w;\nld.param.u64 g, [in];\nmov.u32 t, %%tid.x;\nsetp.lt.u32 p0, t, 32;\nsetp.ge.u32 p1, t, 32;\n"               \
  "setp.eq.u32 q0, t, 0;\nsetp.eq.u32 q1, t, 32;\nshl.b32 n, t, 2;\nmov.u32 a, s;\nadd.u32 n, n, a;\nmov.u32 b, bar;\nmov.u32 v, 7;\n%s%s\nret;\n}\n"
#define PAIR ".reqnctapercluster 2, 1, 1\n"
#define MAP "mov.u32 r, %cluster_ctarank;\nxor.b32 r, r, 1;\nmapa.shared::cluster.u32 peer, a, r;\nmapa.shared::cluster.u32 rbar, b, r;\n"
#define INIT(count) "@q0 mbarrier.init.shared::cta.b64 [bar], " #count ";\n@q0 fence.mbarrier_init.release.cluster;\n"
#define WAIT_OF(p, L, parity, how) "@!" p " bra E" L ";\nW" L ": mbarrier.try_wait.parity" how ".shared::cta.b64 w, [bar], " #parity ";\n@!w bra W" L ";\nE" L ":\n"
#define WAIT(p, L, parity) WAIT_OF(p, L, parity, "")
#define CLUSTER "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"

static ws_cu_result run(const char *body, bool pair, unsigned threads, const char *schedule) {
  char text[8192];
  int n = snprintf(text, sizeof text, HEAD, pair ? PAIR : "", pair ? MAP : "", body);
  assert_true(n > 0 && (size_t)n < sizeof text);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  struct CUmod_st *m = emu_module(text);
  ws_cu_deviceptr p = emu_buffer(NULL, 65536);
  ws_cu_result r = emu_run(emu_function(m, "k"), pair ? 2 : 1, threads, 0, &p, 1);
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(p));
  return r;
}
static void silent(const char *body, bool pair, unsigned threads) {
  EACH_SCHEDULE(k) {
    if (run(body, pair, threads, schedules[k]) == WS_CUDA_SUCCESS) continue;
    print_message("%s: %s\n%s\n", schedules[k], emu_message(), body);
    fail();
  }
}
/* says: in the message there stand these three */
static void races(const char *body, bool pair, unsigned threads, const char *const says[3]) {
  EACH_SCHEDULE(k) {
    assert_int_not_equal(run(body, pair, threads, schedules[k]), WS_CUDA_SUCCESS);
    for (int i = 0; i < 3; i++)
      if (!strstr(emu_message(), says[i])) {
        print_message("%s: '%s' is not in: %s\n", schedules[k], says[i], emu_message());
        fail();
      }
  }
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  ws_cu_result r = run(body, pair, threads, "early");
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  if (r) print_message("without the detector: %s\n", emu_message());
  assert_int_equal(r, WS_CUDA_SUCCESS);
}

struct twin {
  const char *before, *ordered, *racing, *after, *says[3];
  bool pair;
};
static void each(const struct twin *t, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char body[4096];
    snprintf(body, sizeof body, "%s%s%s", t[i].before, t[i].ordered, t[i].after);
    silent(body, t[i].pair, 64);
    snprintf(body, sizeof body, "%s%s%s", t[i].before, t[i].racing, t[i].after);
    races(body, t[i].pair, 64, t[i].says);
  }
}
#define EACH(twins) each(twins, sizeof twins / sizeof *twins)
#define UNORDERED "nothing orders the two"
#define W0 "@p0 st.shared.u32 [n], v;\n"          /* warp 0 writes */
#define R1 "@p1 ld.shared.u32 v, [n+-128];\n"     /* warp 1 reads the same */
#define W1 "@p1 st.shared.u32 [n+-128], v;\n"
#define R0 "@p0 ld.shared.u32 v, [n];\n"

/* PTX ISA "bar, barrier": an arrival releases, a wait acquires. */
static void test_barriers(void **state) {
  static const struct twin twins[] = {
      {W0, "bar.sync 0;\n", "", R1, {"shared address 0x4", UNORDERED, "ld.shared.u32 v, [n+-128]"}, false},
      {R0, "bar.sync 0;\n", "", W1, {"shared address 0x4", UNORDERED, "ld.shared.u32 v, [n]"}, false},
      {W0, "bar.sync 0;\n", "", W1, {"writes shared address 0x4", UNORDERED, "st.shared.u32 [n], v"}, false},
      {W0, "@p0 bar.arrive 1, 64;\n@p1 bar.sync 1, 64;\n", "@p1 bar.arrive 1, 64;\n@p0 bar.sync 1, 64;\n", R1, {"thread (", UNORDERED, "st.shared.u32 [n], v"}, false},
      {W0, "bar.sync 3;\n", "@p0 bar.sync 3, 32;\n@p1 bar.sync 4, 32;\n", R1, {"shared address", UNORDERED, "ld.shared.u32"}, false},
      {W0, "bar.red.popc.u32 v, 0, p0;\n", "bar.warp.sync -1;\n", R1, {"shared address", UNORDERED, "ld.shared.u32"}, false},
      {"bar.sync 0;\n", "@p0 st.shared.u32 [n], v;\nbar.sync 0;\n", "bar.sync 0;\n@p0 st.shared.u32 [n], v;\n", R1, {"shared address", UNORDERED, "ld.shared.u32"}, false},
      {"@p0 bra A;\n", "bar.sync 0;\nld.shared.u32 v, [n+-128];\nbra.uni B;\nA: st.shared.u32 [n], v;\nret;\nB:\n",
       "ld.shared.u32 v, [n+-128];\nbar.sync 0;\nbra.uni B;\nA: st.shared.u32 [n], v;\nret;\nB:\n", "", {"shared address", UNORDERED, "ld.shared.u32"}, false}};
  (void)state;
  EACH(twins);
}

/* PTX ISA "mbarrier": arrive releases, a wait that succeeds acquires what came before the phase's end. */
static void test_mbarriers(void **state) {
#define ARRIVE "@p0 mbarrier.arrive.shared::cta.b64 _, [bar];\n"
  static const struct twin twins[] = {
      {INIT(32) "bar.sync 0;\n" W0, ARRIVE WAIT("p1", "0", 0), ARRIVE, R1, {"shared address 0x4", UNORDERED, "ld.shared.u32 v, [n+-128]"}, false},
      {INIT(32) "bar.sync 0;\n", W0 ARRIVE WAIT("p1", "0", 0), ARRIVE W0 WAIT("p1", "0", 0), R1, {"shared address", UNORDERED, "st.shared.u32 [n], v"}, false},
      {INIT(32) "bar.sync 0;\n" W0, ARRIVE WAIT("p1", "0", 0), "@p0 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n" WAIT("p1", "0", 0), R1,
       {"shared address", UNORDERED, "st.shared.u32 [n], v"}, false},
      {INIT(32) "bar.sync 0;\n" W0, "fence.acq_rel.cta;\n@p0 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n" WAIT("p1", "0", 0),
       "@p0 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\nfence.acq_rel.cta;\n" WAIT("p1", "0", 0), R1, {"shared address", UNORDERED, "st.shared.u32 [n], v"}, false},
      {INIT(32) "bar.sync 0;\n" W0, ARRIVE WAIT_OF("p1", "0", 0, ".relaxed.cta") "fence.acq_rel.cta;\n", ARRIVE WAIT_OF("p1", "0", 0, ".relaxed.cta"), R1,
       {"shared address", UNORDERED, "st.shared.u32 [n], v"}, false}};
  (void)state;
  EACH(twins);
}

/* The first use of an mbarrier is ordered behind its initialisation; the async proxy needs a fence besides. */
static void test_init(void **state) {
#define LOAD "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 128, [bar];\n"
  static const struct twin twins[] = {
      {"@q0 mbarrier.init.shared::cta.b64 [bar], 64;\nmov.u32 r, 0;\n@p0 bra READY;\nSPIN: add.u32 r, r, 1;\nsetp.lt.u32 w, r, 5000;\n@w bra SPIN;\nREADY:\n", "bar.sync 0;\n", "",
       "mbarrier.arrive.shared::cta.b64 _, [bar];\n", {"uses the mbarrier at 0x1400, which thread (0,0,0) initialised", &UNORDERED[8], "mbarrier.init"}, false},
      {"@q0 mbarrier.init.shared::cta.b64 [bar], 1;\n", "@q0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n", "bar.sync 0;\n", "@q1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n@q1 " LOAD WAIT("q1", "0", 0),
       {"signals through the async proxy the mbarrier at 0x1400", "without a fence.mbarrier_init or fence.proxy.async since", "mbarrier.init"}, false},
      {"@q0 mbarrier.init.shared::cta.b64 [bar], 1;\n", "@q0 fence.proxy.async;\nbar.sync 0;\n", "bar.sync 0;\n@q1 fence.proxy.async;\n", "@q1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n@q1 " LOAD WAIT("q1", "0", 0),
       {"signals through the async proxy", "which thread (0,0,0) initialised", "mbarrier.init"}, false}};
  (void)state;
  EACH(twins);
}

/* PTX ISA "cp.async": a wait is for the thread's own copies, others learn of them by a barrier. */
static void test_copies(void **state) {
#define COPY "@p0 cp.async.ca.shared.global [n], [g], 4;\n"
#define GROUP "cp.async.commit_group;\n"
  static const struct twin twins[] = {
      {COPY GROUP, "cp.async.wait_group 0;\nbar.sync 0;\n", "bar.sync 0;\ncp.async.wait_group 0;\n", R1, {"shared address", "a cp.async of thread (", UNORDERED}, false},
      {COPY GROUP, "cp.async.wait_group 0;\nbar.sync 0;\n", "cp.async.wait_group 0;\n", R1, {"shared address", "cp.async", UNORDERED}, false},
      {COPY GROUP, "cp.async.wait_group 0;\n", "", R0, {"reads shared address", "which a cp.async of thread (0,0,0) writes", UNORDERED}, false},
      {COPY GROUP "@p0 cp.async.ca.shared.global [n+512], [g], 4;\n" GROUP, "cp.async.wait_group 1;\n", "cp.async.wait_group 2;\n", R0, {"reads shared address", "which a cp.async of", "[n], [g]"}, false},
      {COPY, "cp.async.wait_all;\n", "cp.async.wait_group 0;\n", R0, {"reads shared address", "which a cp.async of", "[n], [g]"}, false}, /* not committed */
      {R1, "bar.sync 0;\n", "", COPY "cp.async.wait_all;\n", {"shared address", UNORDERED, "cp.async.ca.shared.global"}, false},
      {INIT(32) "bar.sync 0;\n" COPY, "@p0 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n" WAIT("p1", "0", 0), "@p0 mbarrier.arrive.shared::cta.b64 _, [bar];\n" WAIT("p1", "0", 0), R1 "cp.async.wait_all;\n",
       {"shared address", "a cp.async of thread (", UNORDERED}, false}};
  (void)state;
  EACH(twins);
}

/* Bulk copies: the mbarrier for those into shared memory, the group for those out of it. */
static void test_bulk(void **state) {
#define EXPECT(bytes) "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " #bytes ";\n"
#define START INIT(1) "bar.sync 0;\n" EXPECT(128)
#define SECOND "@q0 mbarrier.init.shared::cta.b64 [bar2], 1;\n"
#define REFILL "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar2], 128;\n@q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 128, [bar2];\n"
#define STORE "@q0 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 128;\n@q0 cp.async.bulk.commit_group;\n"
#define FENCED W0 "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
  static const struct twin twins[] = {
      {START "@q0 " LOAD, WAIT("p1", "0", 0), "", R1 WAIT("p0", "9", 0), {"shared address", "bulk copy", UNORDERED}, false},
      {START R1, "bar.sync 0;\n@q0 " LOAD, "@q0 " LOAD "bar.sync 0;\n", WAIT("p0", "0", 0), {"shared address", "bulk copy", UNORDERED}, false},
      {SECOND START "@q0 " LOAD WAIT("p0", "0", 0) WAIT("p1", "1", 0), R1 "bar.sync 0;\n" REFILL, REFILL R1, "@!p0 bra F;\nM: mbarrier.try_wait.parity.shared::cta.b64 w, [bar2], 0;\n@!w bra M;\nF:\n",
       {"shared address", "bulk copy", UNORDERED}, false}, /* refilled while it is read */
      {INIT(1) "bar.sync 0;\n", EXPECT(128) "@q0 " LOAD WAIT("p0", "0", 0) EXPECT(128) "@q0 " LOAD WAIT("p0", "1", 1), EXPECT(256) "@q0 " LOAD "@q0 " LOAD WAIT("p0", "0", 0), "",
       {"issues a bulk copy that writes shared address 0x400, which a bulk copy of thread (0,0,0) writes", UNORDERED, "line"}, false},
      {FENCED STORE, "@q0 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n", "bar.sync 0;\n@q0 cp.async.bulk.wait_group.read 0;\n", W1, {"shared address", "bulk copy", UNORDERED}, false},
      {FENCED STORE STORE, "@q0 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n", "@q0 cp.async.bulk.wait_group.read 1;\nbar.sync 0;\n", W1 "@q0 cp.async.bulk.wait_group 0;\n", {"shared address", "bulk copy", UNORDERED}, false},
      {W0 "fence.proxy.async.shared::cta;\n", "bar.sync 0;\n", "", "@q1 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 128;\n@q1 cp.async.bulk.commit_group;\n@q1 cp.async.bulk.wait_group 0;\n",
       {"shared address", "bulk copy", UNORDERED}, false}};
  (void)state;
  EACH(twins);
}

/* The fence of the async proxy: by each thread that wrote, before it hands on. */
static void test_proxy(void **state) {
#define UNFENCED "reads shared address 0x4"
  static const struct twin twins[] = {
      {W0, "fence.proxy.async.shared::cta;\nbar.sync 0;\n", "bar.sync 0;\n", STORE "@q0 cp.async.bulk.wait_group 0;\n", {UNFENCED, "which thread (0,0,0) wrote without a fence.proxy.async since", "st.shared.u32"}, false},
      {W0, "fence.proxy.async;\nbar.sync 0;\n", "@q0 fence.proxy.async;\nbar.sync 0;\n", STORE "@q0 cp.async.bulk.wait_group 0;\n", {"0x404", "which thread (1,0,0) wrote without a fence.proxy.async since", "st.shared.u32"}, false},
      {W0, "fence.proxy.async;\nbar.sync 0;\n", "bar.sync 0;\nfence.proxy.async;\n", "@q1 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 128;\n@q1 cp.async.bulk.commit_group;\n@q1 cp.async.bulk.wait_group 0;\n",
       {UNFENCED, "which thread (0,0,0) wrote without a fence.proxy.async since", "st.shared.u32"}, false},
      {W0, "fence.proxy.async;\n", "fence.proxy.async;\n@q0 st.shared.u32 [s+8], v;\n", "bar.sync 0;\n" STORE "@q0 cp.async.bulk.wait_group 0;\n", {"0x408", "which thread (0,0,0) wrote without", "[s+8]"}, false},
      {COPY, "cp.async.wait_all;\nfence.proxy.async;\nbar.sync 0;\n", "fence.proxy.async;\ncp.async.wait_all;\nbar.sync 0;\n", STORE "@q0 cp.async.bulk.wait_group 0;\n", {UNFENCED, "which a cp.async of thread (0,0,0) wrote without", "cp.async.ca"}, false}};
  (void)state;
  EACH(twins);
  assert_int_equal(wsemuSetOption("race", "lenient"), 0); /* the thread that issues the operation may fence, once the writes are ordered before it */
#define OTHER "@q1 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 128;\n@q1 cp.async.bulk.commit_group;\n@q1 cp.async.bulk.wait_group 0;\n"
  silent(W0 "bar.sync 0;\n@q1 fence.proxy.async;\n" OTHER, false, 64);
  races(W0 "@q1 fence.proxy.async;\nbar.sync 0;\n" OTHER, false, 64, (const char *const[]){UNFENCED, "which thread (0,0,0) wrote without a fence.proxy.async since", "st.shared.u32"});
  assert_int_equal(wsemuSetOption("race", "lenient"), 0);
  silent("@q0 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n@q1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n@q1 " LOAD WAIT("q1", "0", 0), false, 64);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

/* A pair of CTAs. PTX ISA "barrier.cluster", "mbarrier.arrive", "st.async". */
static void test_clusters(void **state) {
#define REMOTE "@p0 st.shared::cluster.u32 [peer], v;\n"
#define THEIRS "@p1 ld.shared.u32 v, [s];\n"
#define READY INIT(1) CLUSTER
#define ONE "@q0 st.shared::cluster.u32 [peer], v;\n"
  static const struct twin twins[] = {
      {"@q0 st.shared::cluster.u32 [peer], v;\n", CLUSTER, "bar.sync 0;\n", THEIRS CLUSTER, {"shared address 0x", UNORDERED, "of CTA ("}, true},
      {"@q0 st.shared::cluster.u32 [peer], v;\n", "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n", "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n", THEIRS CLUSTER,
       {"shared address 0x", UNORDERED, "of CTA ("}, true},
      {READY ONE, "@q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [rbar];\n", "@q0 mbarrier.arrive.release.cta.shared::cluster.b64 _, [rbar];\n", WAIT_OF("p1", "0", 0, ".acquire.cluster") THEIRS CLUSTER,
       {"reads shared address 0x", UNORDERED, "of CTA ("}, true},
      {READY "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;\n@q0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [peer], 7, [rbar];\n", WAIT("p1", "0", 0), "", THEIRS WAIT("p0", "9", 0) CLUSTER,
       {"shared address 0x", UNORDERED, "st.async"}, true},
      {INIT(1), CLUSTER "@q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [rbar];\n", "bar.sync 0;\nbarrier.cluster.arrive.relaxed;\n@q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [rbar];\nbarrier.cluster.wait;\n", CLUSTER,
       {"the mbarrier at 0x", "initialise", "mbarrier"}, true}};
  (void)state;
  each(twins, 4); /* the last one's twin may find no mbarrier at all */
  silent(INIT(1) CLUSTER "@q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [rbar];\n" CLUSTER, true, 64);
  assert_int_equal(wsemuSetOption("race", "lenient"), 0); /* the scope that CUTLASS leaves out, which is .cta then */
  silent(READY ONE "@q0 mbarrier.arrive.shared::cluster.b64 _, [rbar];\n" WAIT("p1", "0", 0) THEIRS CLUSTER, true, 64);
  races(READY ONE "bar.sync 0;\n" THEIRS CLUSTER, true, 64, (const char *const[]){"shared address 0x", UNORDERED, "of CTA ("});
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

/* Stores, loads and atomics that order. PTX ISA "Release and acquire patterns". */
static void test_flags(void **state) {
#define TELL(how) "@q0 st" how ".u32 [flag], 1;\n"
#define LOOK(how) "@!p1 bra E;\nW: ld" how ".u32 v, [flag];\nsetp.ne.u32 w, v, 1;\n@w bra W;\nE:\n"
#define ZERO "@q0 st.shared.u32 [flag], 0;\nbar.sync 0;\n"
#define D "@q0 st.shared.u32 [s], v;\n"
#define L "@p1 ld.shared.u32 v, [s];\n"
  static const struct twin twins[] = {
      {ZERO D, TELL(".release.cta.shared") LOOK(".acquire.cta.shared"), TELL(".relaxed.cta.shared") LOOK(".relaxed.cta.shared"), L, {"reads shared address 0x400", "which thread (0,0,0) writes", "[s], v"}, false},
      {ZERO D, "fence.acq_rel.cta;\n" TELL(".relaxed.cta.shared") LOOK(".relaxed.cta.shared") "fence.acq_rel.cta;\n", TELL(".relaxed.cta.shared") "fence.acq_rel.cta;\n" LOOK(".relaxed.cta.shared") "fence.acq_rel.cta;\n", L,
       {"reads shared address 0x400", "which thread (0,0,0) writes", "[s], v"}, false},
      {ZERO D, "membar.cta;\n" TELL(".volatile.shared") LOOK(".volatile.shared") "membar.cta;\n", TELL(".volatile.shared") LOOK(".volatile.shared"), L, {"reads shared address 0x400", "which thread (0,0,0) writes", "[s], v"}, false},
      {ZERO D, "@q0 atom.acq_rel.cta.shared.exch.b32 v, [flag], 1;\n" LOOK(".acquire.cta.shared"), "@q0 atom.relaxed.cta.shared.exch.b32 v, [flag], 1;\n" LOOK(".acquire.cta.shared"), L,
       {"reads shared address 0x400", "which thread (0,0,0) writes", "[s], v"}, false},
      {ZERO, TELL(".release.cta.shared") LOOK(".acquire.cta.shared"), TELL(".shared") LOOK(".acquire.cta.shared"), "", {"shared address 0x", UNORDERED, "st.shared.u32 [flag], 1"}, false},
      {ZERO, "atom.shared.add.u32 v, [flag], 1;\n", "@p0 atom.shared.add.u32 v, [flag], 1;\n@p1 ld.shared.u32 v, [flag];\n", "", {"shared address 0x", UNORDERED, "atom.shared.add"}, false}};
  (void)state;
  EACH(twins);
}

/* Bytes: neighbours do not race, whatever they share; one byte in common does. */
static void test_bytes(void **state) {
  static const struct twin twins[] = {
      {"@q0 st.shared.u8 [s+5], v;\n", "@q1 st.shared.u8 [s+6], v;\n", "@q1 st.shared.u8 [s+5], v;\n", "", {"writes shared address 0x405", UNORDERED, "[s+5]"}, false},
      {"@q0 st.shared.u16 [s+6], v;\n", "@q1 st.shared.v2.u32 [s+8], {v, v};\n", "@q1 st.shared.v2.u32 [s], {v, v};\n", "", {"writes shared address 0x406", UNORDERED, "[s+6]"}, false},
      {"@q0 st.shared.v4.u32 [s+16], {v, v, v, v};\n", "@q1 ld.shared.u32 v, [s+12];\n", "@q1 ld.shared.u32 v, [s+28];\n", "", {"shared address 0x41c", UNORDERED, "[s+16]"}, false},
      /* four threads write a unit: the one whose byte it is is named */
      {W0, "@q1 ld.shared.u8 v, [s+128];\n", "@q1 ld.shared.u8 v, [s+25];\n", "", {"shared address 0x419", "thread (6,0,0)", "thread (32,0,0)"}, false}};
  (void)state;
  EACH(twins);
}

/* Many readers, then a writer; a reader among writers; memory in turns. */
static void test_many(void **state) {
  static const char *const says[3] = {"shared address 0x400", UNORDERED, "ld.shared.u32 v, [s]"};
  (void)state;
  silent("@q0 st.shared.u32 [s], v;\nbar.sync 0;\nld.shared.u32 v, [s];\nbar.sync 0;\n@q1 st.shared.u32 [s], v;\n", false, 1024);
  races("@q0 st.shared.u32 [s], v;\nbar.sync 0;\nld.shared.u32 v, [s];\n@q1 st.shared.u32 [s], v;\n", false, 1024, says);
  silent("mov.u32 r, 0;\nLOOP: @q0 st.shared.u32 [s], v;\nbar.sync 0;\nld.shared.u32 v, [s];\nbar.sync 0;\nadd.u32 r, r, 1;\nsetp.lt.u32 w, r, 100;\n@w bra LOOP;\n", false, 512);
}

/* Both lines of the source, both threads, the address: in whichever order the two ran. */
static void test_message(void **state) {
  static const char format[] = ".version 7.8\n.target sm_80\n.address_size 64\n.file 1 \"schedule.yaml\"\n.visible .entry k()\n{\n.shared .align 16 .b8 s[64];\n.reg .b32 t, v, i;\n.reg .pred p, w;\n"
                               "mov.u32 t, %%tid.x;\nmov.u32 v, 1;\nmov.u32 i, 0;\nsetp.%s.u32 p, t, 32;\n@p bra LATER;\nSPIN: add.u32 i, i, 1;\nsetp.lt.u32 w, i, 20000;\n@w bra SPIN;\nLATER: setp.ge.u32 p, t, 32;\n@p bra READ;\n"
                               ".loc 1 40 0\nst.shared.u32 [s+32], v;\nret;\nREAD:\n.loc 1 50 0\nld.shared.u32 v, [s+32];\nret;\n}\n";
  static const char *const writer[] = {"ge", "lt"};
  (void)state;
  assert_int_equal(wsemuSetOption("schedule", "late"), 0);
  for (int i = 0; i < 2; i++) {
    char text[2048];
    snprintf(text, sizeof text, format, writer[i]);
    assert_int_not_equal(emu_run_text(text, 33, 0, NULL, 0), WS_CUDA_SUCCESS);
    const char *m = emu_message();
    const char *first = i ? "thread (32,0,0) reads shared address 0x20, which thread (" : "thread (0,0,0) writes shared address 0x20, which thread (32,0,0) reads";
    if (!strstr(m, first) || !strstr(m, "(from schedule.yaml:40)") || !strstr(m, "(from schedule.yaml:50)")) print_message("%s\n", m);
    assert_non_null(strstr(m, first));
    assert_non_null(strstr(m, "(from schedule.yaml:40)"));
    assert_non_null(strstr(m, "(from schedule.yaml:50)"));
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_barriers), cmocka_unit_test(test_mbarriers), cmocka_unit_test(test_init), cmocka_unit_test(test_copies), cmocka_unit_test(test_bulk),
                                     cmocka_unit_test(test_proxy), cmocka_unit_test(test_clusters), cmocka_unit_test(test_flags), cmocka_unit_test(test_bytes), cmocka_unit_test(test_many), cmocka_unit_test(test_message)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
