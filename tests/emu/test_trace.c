/* The trace: what a kernel of known events tells, to a function and to a file, and that nothing is told when nobody listens. */
#include "harness.h"
#include <unistd.h>

enum { THREADS = 64, MOST = 200 };
static struct wsemu_event seen[MOST];
static size_t nseen;
static void take(void *ctx, const struct wsemu_event *e) {
  assert_ptr_equal(ctx, seen);
  assert_int_equal(e->size, sizeof *e);
  if (nseen < MOST) seen[nseen++] = *e;
}

/* Warp 0 fills and arrives, warp 1 waits. */
static const char kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.file 1 \"spec.yaml\"\n.extern .shared .align 128 .b8 d[];\n"
    ".visible .entry k(.param .u64 in)\n.reqntid 64\n{\n.reg .b64 g;\n.reg .b32 t, s, i;\n.reg .pred p, q, w;\n"
    "ld.param.u64 g, [in];\nmov.u32 t, %tid.x;\nmov.u32 s, d;\nsetp.eq.u32 q, t, 0;\nsetp.lt.u32 w, t, 32;\n"
    ".loc 1 7 1\n@q mbarrier.init.shared::cta.b64 [s+1024], 33;\nbar.sync 0;\n@!w bra OTHER;\n"
    ".loc 1 8 1\nshl.b32 i, t, 4;\nadd.u32 i, i, s;\ncp.async.cg.shared.global [i], [g], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
    ".loc 1 9 1\n@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [s+1024], 256;\nmbarrier.arrive.shared::cta.b64 _, [s+1024];\n"
    "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+512], [g], 256, [s+1024];\nbar.arrive 3, 64;\nret;\nOTHER:\n"
    ".loc 1 10 1\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [s+1024], 0;\n@!p bra WAIT;\nbar.sync 3, 64;\nbar.warp.sync 0xffffffff;\nret;\n}\n";

static void run(void) {
  ws_cu_deviceptr in = emu_buffer(NULL, 1024);
  CHECK(emu_run_text(kernel, THREADS, 2048, &in, 1));
  CHECK(cuMemFree_v2(in));
}

struct expected {
  uint32_t warp, kind, lanes, line, object, count, parity;
  uint64_t amount;
};
static const struct expected expected[] = {
    {0, WSEMU_MBAR_INIT, 1, 7, 1024, 33, 0, 0}, {0, WSEMU_BARRIER_SYNC, ~0u, 7, 0, 64, 0, 0}, {0, WSEMU_COPY, ~0u, 8, WSEMU_NO_OBJECT, WSEMU_NO_COUNT, 0, 512},
    {0, WSEMU_COPY_COMMIT, ~0u, 8, WSEMU_NO_OBJECT, WSEMU_NO_COUNT, 0, 0}, {0, WSEMU_COPY_WAIT, ~0u, 8, WSEMU_NO_OBJECT, 0, 0, 0},
    {0, WSEMU_MBAR_ARRIVE, 1, 9, 1024, 1, 0, 256}, {0, WSEMU_MBAR_ARRIVE, ~0u, 9, 1024, 32, 0, 0}, {0, WSEMU_BULK_LOAD, 1, 9, 1024, WSEMU_NO_COUNT, 0, 256},
    {0, WSEMU_BARRIER_ARRIVE, ~0u, 9, 3, 64, 0, 0}, {0, WSEMU_EXIT, ~0u, 9, WSEMU_NO_OBJECT, WSEMU_NO_COUNT, 0, 0},
    {1, WSEMU_BARRIER_SYNC, ~0u, 7, 0, 64, 0, 0}, {1, WSEMU_MBAR_WAIT, ~0u, 10, 1024, WSEMU_NO_COUNT, 0, 0}, {1, WSEMU_BARRIER_SYNC, ~0u, 10, 3, 64, 0, 0},
    {1, WSEMU_WARP_SYNC, ~0u, 10, WSEMU_NO_OBJECT, WSEMU_NO_COUNT, 0, 0}, {1, WSEMU_EXIT, ~0u, 10, WSEMU_NO_OBJECT, WSEMU_NO_COUNT, 0, 0},
};

static void same(const struct expected *x, const struct wsemu_event *e) {
  assert_string_equal(wsemuEventName(e->kind), wsemuEventName(x->kind));
  assert_int_equal(e->lanes, x->lanes);
  assert_int_equal(e->loc_line, x->line);
  assert_int_equal(e->object, x->object);
  assert_int_equal(e->count, x->count);
  assert_int_equal(e->parity, x->parity);
  assert_int_equal(e->amount, x->amount);
  assert_int_equal(e->cta | e->rank | e->target, 0);
  assert_true(e->ptx_line > 10);
}

static void test_events(void **state) {
  (void)state;
  static const char *const schedules[] = {"early", "late", "random:5"};
  for (size_t s = 0; s < 3; s++) {
    assert_int_equal(wsemuSetOption("schedule", schedules[s]), 0);
    nseen = 0;
    assert_int_equal(wsemuSetTrace(take, seen), 0);
    run();
    wsemuSetTrace(NULL, NULL);
    size_t bytes = 0;
    for (uint32_t warp = 0, x = 0; warp < 2; warp++)
      for (size_t i = 0; i < nseen; i++) {
        if (seen[i].warp != warp || seen[i].kind == WSEMU_MBAR_TRY) continue;
        if (seen[i].kind == WSEMU_MBAR_BYTES) {
          bytes += seen[i].amount;
          continue;
        }
        assert_in_range(x, 0, sizeof expected / sizeof *expected - 1);
        assert_int_equal(expected[x].warp, warp);
        same(&expected[x++], &seen[i]);
        if (warp && i + 1 == nseen) assert_int_equal(x, sizeof expected / sizeof *expected);
      }
    assert_int_equal(bytes, 256);
    assert_true(nseen >= sizeof expected / sizeof *expected + 1);
    size_t before = nseen;
    run();
    assert_int_equal(nseen, before); /* nobody listens */
  }
  assert_int_equal(wsemuSetOption("schedule", "late"), 0);
}

/* A wait that never passes is told, too: the last that is known of its warp. */
static void test_standing(void **state) {
  (void)state;
  nseen = 0;
  wsemuSetTrace(take, seen);
  ws_cu_result r = emu_run_text(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.shared .align 8 .b8 m[8];\n.reg .b32 t;\n.reg .pred p, q;\n"
                                "mov.u32 t, %tid.x;\nsetp.eq.u32 q, t, 0;\n@q mbarrier.init.shared::cta.b64 [m], 1;\nbar.sync 0;\n"
                                "W: mbarrier.try_wait.parity.shared::cta.b64 p, [m], 0;\n@!p bra W;\nret;\n}\n", 32, 0, NULL, 0);
  wsemuSetTrace(NULL, NULL);
  assert_int_equal(r, WS_CUDA_ERROR_LAUNCH_TIMEOUT);
  assert_true(nseen > 2);
  assert_int_equal(seen[nseen - 1].kind, WSEMU_MBAR_TRY);
  assert_int_equal(seen[nseen - 1].parity, 0);
  assert_int_equal(seen[nseen - 1].lanes, ~0u);
}

static void test_file(void **state) {
  (void)state;
  char path[] = "/tmp/wsemu-trace-XXXXXX", line[300];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(wsemuSetOption("trace", "/nowhere/at/all"), 1);
  assert_int_equal(wsemuSetOption("trace", path), 0);
  run();
  assert_int_equal(wsemuSetOption("trace", ""), 0);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  size_t n = 0;
  bool arrive = false;
  while (fgets(line, sizeof line, f)) n++, arrive |= strstr(line, "spec 9 mbarrier.arrive object 1024 of 0 count 1 amount 256") != NULL;
  fclose(f);
  unlink(path);
  assert_int_equal(n, sizeof expected / sizeof *expected + 1);
  assert_true(arrive);
}

static int setup(void **state) { return (void)state, emu_open(), 0; }
static int teardown(void **state) { return (void)state, emu_close(), 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_events), cmocka_unit_test(test_standing), cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
