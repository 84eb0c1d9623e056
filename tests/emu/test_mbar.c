/* mbarriers under every schedule, and what their misuse is called: PTX ISA "mbarrier". */
#include "harness.h"

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 s[1024];\n" \
             ".reg .b64 o, x, st, st1;\n.reg .b32 t, v, n, b;\n.reg .pred p, q;\n" \
             "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, 4;\nadd.u64 o, o, x;\nmov.u32 b, s;\nsetp.eq.u32 q, t, 0;\n"
enum { THREADS = 128 };
static const char *const schedules[] = {"early", "late", "random:1", "random:2", "random:77"};
#define EACH_SCHEDULE(k) for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++)

static ws_cu_result run(const char *body, const char *schedule, uint32_t out[THREADS]) {
  char text[4096];
  int n = snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", body);
  assert_true(n > 0 && (size_t)n < sizeof text);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr p = emu_buffer(NULL, THREADS * 4);
  ws_cu_result r = emu_run_text(text, THREADS, 0, &p, 1);
  emu_fetch(out, p, THREADS * 4);
  return r;
}
/* Runs under every schedule; each thread's number must be want(thread). */
static void expect(const char *body, uint32_t (*want)(uint32_t t)) {
  uint32_t out[THREADS];
  EACH_SCHEDULE(k) {
    CHECK(run(body, schedules[k], out));
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], want(t));
  }
}
static void expect_fault(const char *body, ws_cu_result code, const char *what) {
  uint32_t out[THREADS];
  EACH_SCHEDULE(k) {
    assert_int_equal(run(body, schedules[k], out), code);
    if (strstr(emu_message(), what)) continue;
    print_message("'%s' is not in: %s\n", what, emu_message());
    fail();
  }
}
#define INIT(count) "@q mbarrier.init.shared::cta.b64 [s], " #count ";\n@q fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define WAIT(parity) "W" #parity ": mbarrier.try_wait.parity.shared::cta.b64 p, [s], " #parity ";\n@!p bra W" #parity ";\n"

static uint32_t seven(uint32_t t) { (void)t; return 7; }
static uint32_t next_thread(uint32_t t) { return 3 * ((t + 32) % THREADS); }

/* Every thread arrives; data written before are seen after the wait. */
static void test_arrive_and_wait(void **state) {
  (void)state;
  expect(INIT(128) "shl.b32 n, t, 2; add.u32 b, b, n; mul.lo.u32 v, t, 3; st.shared.u32 [b+256], v; mbarrier.arrive.shared::cta.b64 st, [s];\n"
         "W: mbarrier.test_wait.shared::cta.b64 p, [s], st; @!p bra W; add.u32 n, n, 128; and.b32 n, n, 511; mov.u32 b, s; add.u32 b, b, n; ld.shared.u32 v, [b+256]; st.global.u32 [o], v;", next_thread);
  expect(INIT(128) "shl.b32 n, t, 2; add.u32 b, b, n; mul.lo.u32 v, t, 3; st.shared.u32 [b+256], v; mbarrier.arrive.release.cta.shared::cta.b64 _, [s];\n"
         WAIT(0) "add.u32 n, n, 128; and.b32 n, n, 511; mov.u32 b, s; add.u32 b, b, n; ld.shared.u32 v, [b+256]; st.global.u32 [o], v;", next_thread);
}

/* The first phase of a fresh barrier: parity 1 counts as over, parity 0 not. */
static uint32_t parities(uint32_t t) { (void)t; return 2; }
static void test_parity(void **state) {
  (void)state;
  expect(INIT(1) "mbarrier.test_wait.parity.shared::cta.b64 p, [s], 1; selp.u32 v, 2, 0, p; bar.sync 0; @q mbarrier.arrive.shared::cta.b64 _, [s]; bar.sync 0;" WAIT(0)
         "st.global.u32 [o], v;", parities);
}

/* Bytes keep a phase open after the last arrival, and may come before they are announced. */
static void test_transactions(void **state) {
  (void)state;
  expect(INIT(1) "setp.eq.u32 p, t, 64; mov.u32 v, 7; @q st.shared.u32 [s+16], 0; bar.sync 0; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 48; bar.sync 0;\n"
         "@p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 32; @p st.shared.u32 [s+16], v; fence.acq_rel.cta; @p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 16;\n"
         WAIT(0) "ld.shared.u32 v, [s+16]; st.global.u32 [o], v;", seven);
  expect(INIT(1) "setp.eq.u32 p, t, 64; mov.u32 v, 7; @p st.shared.u32 [s+16], v; @p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 32; bar.sync 0;\n"
         "@q mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 32; @q mbarrier.arrive.shared::cta.b64 _, [s];" WAIT(0) "ld.shared.u32 v, [s+16]; st.global.u32 [o], v;", seven);
}

/* Two phases; 128 arrivals, then 64 after half of the threads have dropped out. */
static void test_drop(void **state) {
  (void)state;
  expect(INIT(128) "setp.lt.u32 p, t, 64; @p mbarrier.arrive_drop.shared::cta.b64 _, [s]; @!p mbarrier.arrive.shared::cta.b64 _, [s];" WAIT(0)
         "bar.sync 0; setp.ge.u32 p, t, 96; mov.u32 v, 7; @p st.shared.u32 [s+16], v; setp.ge.u32 p, t, 64; @p mbarrier.arrive.shared::cta.b64 _, [s];" WAIT(1) "ld.shared.u32 v, [s+16]; st.global.u32 [o], v;", seven);
}

/* The other forms of arrive_drop: 130 expected, one dropped without completing, one with bytes; then the rest. */
static void test_drop_forms(void **state) {
  (void)state;
  expect(INIT(130) "@q mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 st, [s], 1; @q mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 _, [s], 8;\n"
         "bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [s]; @q mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 8;" WAIT(0) "bar.sync 0; mov.u32 v, 7; mbarrier.arrive.shared::cta.b64 _, [s];" WAIT(1) "st.global.u32 [o], v;", seven);
}

/* Fences have no effect that a program could see; all of their forms are known. */
static void test_fences(void **state) {
  (void)state;
  expect("mov.u32 v, 7; fence.acq_rel.cta; fence.acq_rel.cluster; fence.sc.gpu; fence.acquire.gpu; fence.release.cluster; membar.cta; membar.gl; membar.sys; fence.proxy.alias; fence.proxy.async; fence.proxy.async.global;\n"
         "fence.proxy.async.shared::cta; fence.proxy.async.shared::cluster; fence.mbarrier_init.release.cluster; fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
         "fence.release.sync_restrict::shared::cta.cluster; fence.acquire.sync_restrict::shared::cluster.cluster; fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [o], 128; st.global.u32 [o], v;", seven);
}

static uint32_t counts(uint32_t t) { return t ? 0 : 10 * 4 + 7; }
static void test_pending_count(void **state) {
  (void)state;
  expect("mov.u32 v, 0; @!q bra DONE;\nmbarrier.init.shared.b64 [s], 10; mbarrier.arrive.noComplete.shared.b64 st, [s], 3; mbarrier.arrive.shared.b64 st1, [s];\n"
         "mbarrier.pending_count.b64 v, st; mbarrier.pending_count.b64 n, st1; mad.lo.u32 v, v, 4, n; mbarrier.inval.shared.b64 [s]; mbarrier.init.shared.b64 [s], 1;\nDONE: st.global.u32 [o], v;", counts);
}

/* A ring of two stages between one producing thread and three warps that consume: a wait of one lane does not hold up the
 * others for longer than the ISA says. */
static uint32_t ring(uint32_t t) { return t < 32 ? 0 : 45; }
static void test_ring(void **state) {
  (void)state;
  expect("@!q bra READY; mbarrier.init.shared::cta.b64 [s], 1; mbarrier.init.shared::cta.b64 [s+8], 1; mbarrier.init.shared::cta.b64 [s+16], 3; mbarrier.init.shared::cta.b64 [s+24], 3;\n"
         "READY: bar.sync 0; mov.u32 v, 0; mov.u32 n, 0; .reg .b32 i, par, at, lane; .reg .pred e; mov.u32 i, 0; mov.u32 lane, %laneid; setp.lt.u32 p, t, 32; @!p bra CONSUME;\n"
         "setp.ne.u32 e, lane, 0; @e bra END;\nPRODUCE: and.b32 at, i, 1; shl.b32 at, at, 3; add.u32 at, at, b; shr.u32 par, i, 1; and.b32 par, par, 1; xor.b32 par, par, 1;\n"
         "PW: mbarrier.try_wait.parity.shared::cta.b64 p, [at+16], par, 100; @!p bra PW; add.u32 n, i, 0; st.shared.u32 [at+32], n; mbarrier.arrive.shared::cta.b64 _, [at];\n"
         "add.u32 i, i, 1; setp.lt.u32 p, i, 10; @p bra PRODUCE; bra END;\n"
         "CONSUME: and.b32 at, i, 1; shl.b32 at, at, 3; add.u32 at, at, b; shr.u32 par, i, 1; and.b32 par, par, 1;\n"
         "CW: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [at], par; @!p bra CW; ld.shared.u32 n, [at+32]; add.u32 v, v, n; bar.warp.sync -1; setp.eq.u32 e, lane, 0;\n"
         "@e mbarrier.arrive.shared::cta.b64 _, [at+16]; add.u32 i, i, 1; setp.lt.u32 p, i, 10; @p bra CONSUME;\nEND: bar.warp.sync -1; st.global.u32 [o], v;", ring);
}

static void test_generic_address(void **state) {
  (void)state;
  expect(INIT(1) "mov.u64 x, s; cvta.shared.u64 x, x; @q mbarrier.arrive.b64 _, [x]; W: mbarrier.try_wait.parity.b64 p, [x], 0; @!p bra W; mov.u32 v, 7; st.global.u32 [o], v;", seven);
}

/* cp.async.mbarrier.arrive: the arrival comes when the thread's copies are there. */
static void test_copies(void **state) {
  (void)state;
  expect("mov.u32 v, 7; st.global.u32 [o], v; shl.b32 n, t, 2; add.u32 n, n, b;" INIT(128)
         "cp.async.ca.shared.global [n+128], [o], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [s];" WAIT(0) "shl.b32 n, t, 2; xor.b32 n, n, 128; add.u32 n, n, b; ld.shared.u32 v, [n+128]; st.global.u32 [o], v;", seven);
  expect("mov.u32 v, 7; st.global.u32 [o], v; shl.b32 n, t, 2; add.u32 n, n, b;" INIT(128)
         "cp.async.ca.shared.global [n+128], [o], 4; cp.async.mbarrier.arrive.shared.b64 [s]; mbarrier.arrive.shared.b64 st, [s];" WAIT(0) "shl.b32 n, t, 2; xor.b32 n, n, 128; add.u32 n, n, b; ld.shared.u32 v, [n+128]; st.global.u32 [o], v;", seven);
}

/* A failed wait is a result like another: the program may give up and do the other side's work. */
static void test_wait_fails_at_last(void **state) {
  (void)state;
  expect(INIT(128) "mov.u32 n, 0;\nTRY: mbarrier.try_wait.parity.shared::cta.b64 p, [s], 0; @p bra OVER; add.u32 n, n, 1; setp.lt.u32 p, n, 20; @p bra TRY; mbarrier.arrive.shared::cta.b64 _, [s];\n"
         "W: mbarrier.try_wait.parity.shared::cta.b64 p, [s], 0; @!p bra W;\nOVER: mov.u32 v, 7; st.global.u32 [o], v;", seven);
}

static void test_faults(void **state) {
  static const struct { const char *body, *what; ws_cu_result code; } bad[] = {
      {"@q mbarrier.arrive.shared.b64 st, [s];", "none is initialised", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {"mbarrier.try_wait.parity.shared::cta.b64 p, [s+8], 0;", "none is initialised", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "@q st.shared.u32 [s+4], 1; @q mbarrier.arrive.shared.b64 st, [s];", "have overwritten its bytes", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(2) "mbarrier.arrive.noComplete.shared.b64 st, [s], 3;", "has 2 of 2 arrivals pending", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "@q mbarrier.arrive.noComplete.shared.b64 st, [s], 1;", "with a .noComplete arrival", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 1048575;", "at most 1048575 fit", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 1048575;", "to -2097150", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {"@q mbarrier.init.shared.b64 [s+4], 1;", "not a multiple of 8", WS_CUDA_ERROR_MISALIGNED_ADDRESS},
      {"@q mbarrier.init.shared.b64 [s+1024], 1;", "outside of the CTA's", WS_CUDA_ERROR_ILLEGAL_ADDRESS},
      {"@q mbarrier.init.shared.b64 [s], 0;", "with count 0", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) INIT(1), "again without mbarrier.inval", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "mov.b64 st, 5; mbarrier.test_wait.shared.b64 p, [s], st;", "no state that an arrive returned", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "mbarrier.test_wait.parity.shared.b64 p, [s], 2;", "phase parity 2", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "@q mbarrier.arrive.shared.b64 st, [s]; @q mbarrier.arrive.shared.b64 _, [s]; @q mbarrier.test_wait.shared.b64 p, [s], st;", "phase 0 of an mbarrier in phase 2",
       WS_CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {INIT(1) "@q mbarrier.arrive.shared::cluster.b64 _, [b+16777216];", "of CTA 1 of the cluster's 1", WS_CUDA_ERROR_ILLEGAL_ADDRESS}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) expect_fault(bad[k].body, bad[k].code, bad[k].what);
}

/* The other lanes of a warp end while one waits: where it might trap, they do not wait for it. */
static uint32_t seven_first(uint32_t t) { return t ? 3 : 7; }
static void test_lanes_end(void **state) {
  (void)state;
  expect(INIT(1) "setp.eq.u32 p, t, 127;\n@p bra LATE;\n@!q bra REST;\nWATCH: mbarrier.try_wait.parity.shared::cta.b64 p, [s], 0;\n@p bra DONE;\n"
         "setp.ne.u32 p, t, 5;\n@p bra WATCH;\ntrap;\nDONE: st.global.u32 [o], 7;\nbra OUT;\n"
         "LATE: mov.u32 n, 0;\nAGAIN: add.u32 n, n, 1;\nsetp.lt.u32 p, n, 20000;\n@p bra AGAIN;\nmbarrier.arrive.shared::cta.b64 _, [s];\n"
         "REST: st.global.u32 [o], 3;\nOUT:", seven_first);
}

/* Who waits, for what, and what is missing. */
static void test_deadlock(void **state) {
  (void)state;
  expect_fault(INIT(129) "mbarrier.arrive.shared::cta.b64 st, [s];" WAIT(0), WS_CUDA_ERROR_LAUNCH_TIMEOUT, "mbarrier at 0x400: phase 0 (parity 0) is open, 1 of 129 arrivals and 0 bytes pending");
  expect_fault(INIT(1) "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s], 64; @q mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 48;" WAIT(0), WS_CUDA_ERROR_LAUNCH_TIMEOUT,
               "0 of 1 arrivals and 16 bytes pending");
  assert_non_null(strstr(emu_message(), "warps 0-3 wait for an mbarrier"));
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arrive_and_wait), cmocka_unit_test(test_parity), cmocka_unit_test(test_transactions), cmocka_unit_test(test_drop), cmocka_unit_test(test_drop_forms), cmocka_unit_test(test_fences),
                                     cmocka_unit_test(test_pending_count), cmocka_unit_test(test_ring), cmocka_unit_test(test_generic_address), cmocka_unit_test(test_copies),
                                     cmocka_unit_test(test_wait_fails_at_last), cmocka_unit_test(test_faults), cmocka_unit_test(test_lanes_end), cmocka_unit_test(test_deadlock)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
