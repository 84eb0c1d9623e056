/* cp.async and its groups under every schedule: PTX ISA "cp.async", "cp.async.commit_group", "cp.async.wait_group,
 * cp.async.wait_all". */
#include "harness.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 s[4096];\n.reg .b64 i, o, x;\n.reg .b32 t, a, v<4>, n;\n.reg .pred p;\n" \
             "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, 16;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\nmov.u32 a, s;\nmad.lo.u32 a, t, 64, a;\n"

static void run(const char *body, const char *schedule, const uint32_t *in, uint32_t *out) {
  char text[4096];
  snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", body);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr p[2] = {emu_buffer(in, 64 * 16 * 4), emu_buffer(NULL, 64 * 16)};
  CHECK(emu_run_text(text, 64, 0, p, 2));
  emu_fetch(out, p[1], 64 * 16);
  CHECK(cuMemFree_v2(p[0]));
}

static const char *const schedules[] = {"early", "late", "random:1", "random:2", "random:77"};

static void test_sizes_and_fill(void **state) {
  struct rng r = {59};
  uint32_t in[256 * 4], out[256];
  (void)state;
  for (int i = 0; i < 1024; i++) in[i] = (uint32_t)rng_next(&r);
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    /* 4 + 8 bytes, then 16 bytes of which tid % 17 are read, then an ignored source */
    run("cp.async.ca.shared.global [a], [i], 4; cp.async.ca.shared.global [a+8], [i+8], 8; cp.async.commit_group; rem.u32 n, t, 17; cp.async.cg.shared.global [a+16], [i], 16, n; cp.async.commit_group;"
        "setp.lt.u32 p, t, 7; cp.async.cg.shared.global.L2::128B [a+32], [i], 16, p; cp.async.wait_all; ld.shared.v4.b32 {v0, v1, v2, v3}, [a]; mov.b32 v1, 5; st.global.v4.b32 [o], {v0, v1, v2, v3};", schedules[k], in, out);
    for (int i = 0; i < 64; i++) {
      uint32_t want[4] = {in[4 * i], 5, in[4 * i + 2], in[4 * i + 3]};
      assert_memory_equal(out + 4 * i, want, 16);
    }
    run("rem.u32 n, t, 17; cp.async.cg.shared.global [a+16], [i], 16, n; setp.lt.u32 p, t, 7; cp.async.cg.shared.global [a+32], [i], 16, p; cp.async.commit_group; cp.async.wait_group 0;"
        "ld.shared.v4.b32 {v0, v1, v2, v3}, [a+16]; ld.shared.b32 n, [a+36]; xor.b32 v3, v3, n; st.global.v4.b32 [o], {v0, v1, v2, v3};", schedules[k], in, out);
    for (int i = 0; i < 64; i++) {
      uint32_t want[4] = {0};
      memcpy(want, in + 4 * i, (size_t)(i % 17));
      want[3] ^= i < 7 ? 0 : in[4 * i + 1];
      assert_memory_equal(out + 4 * i, want, 16);
    }
  }
}

/* Three groups; waiting for all but one leaves the last one open. With the late schedule its bytes are poison. */
static void test_wait_group_counts(void **state) {
  struct rng r = {61};
  uint32_t in[256 * 4], out[256];
  (void)state;
  for (int i = 0; i < 1024; i++) in[i] = (uint32_t)rng_next(&r);
  static const char body[] = "cp.async.ca.shared.global [a], [i], 4; cp.async.commit_group; cp.async.ca.shared.global [a+4], [i+4], 4; cp.async.commit_group; cp.async.ca.shared.global [a+8], [i+8], 4; cp.async.commit_group;"
                             "cp.async.ca.shared.global [a+12], [i+12], 4; cp.async.wait_group 1; ld.shared.v4.b32 {v0, v1, v2, v3}, [a]; st.global.v4.b32 [o], {v0, v1, v2, v3};";
  assert_int_equal(wsemuSetOption("race", "off"), 0); /* it reads what is not there yet */
  run(body, "early", in, out);
  assert_memory_equal(out, in, 64 * 16);
  run(body, "late", in, out);
  for (int i = 0; i < 64; i++) {
    assert_int_equal(out[4 * i], in[4 * i]);
    assert_int_equal(out[4 * i + 1], in[4 * i + 1]);
    assert_int_equal(out[4 * i + 2], 0x7ff57ff5);
    assert_int_equal(out[4 * i + 3], 0x7ff57ff5);
  }
  int early = 0, late = 0;
  for (int seed = 0; seed < 40; seed++) {
    char s[32];
    snprintf(s, sizeof s, "random:%d", seed);
    run(body, s, in, out);
    assert_int_equal(out[0], in[0]);
    assert_int_equal(out[1], in[1]);
    early += out[2] == in[2];
    late += out[2] == 0x7ff57ff5;
  }
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  assert_int_equal(early + late, 40);
  assert_true(early > 8 && late > 8);
}

/* The late schedule reads the source at the wait: a store between issue and wait is seen. */
static void test_late_source(void **state) {
  struct rng r = {67};
  uint32_t in[256 * 4], out[256];
  (void)state;
  for (int i = 0; i < 1024; i++) in[i] = (uint32_t)rng_next(&r);
  static const char body[] = "cp.async.cg.shared.global [a], [i], 16; cp.async.commit_group; st.global.u32 [i], 42; cp.async.wait_group 0; ld.shared.v4.b32 {v0, v1, v2, v3}, [a]; st.global.v4.b32 [o], {v0, v1, v2, v3};";
  run(body, "early", in, out);
  for (int i = 0; i < 64; i++) assert_int_equal(out[4 * i], in[4 * i]);
  run(body, "late", in, out);
  for (int i = 0; i < 64; i++) assert_int_equal(out[4 * i], 42);
}

/* Groups are counted for each thread: lanes that commit more often than others wait for their own. */
static void test_groups_per_thread(void **state) {
  struct rng r = {71};
  uint32_t in[256 * 4], out[256];
  (void)state;
  for (int i = 0; i < 1024; i++) in[i] = (uint32_t)rng_next(&r);
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  run("setp.lt.u32 p, t, 20; cp.async.ca.shared.global [a], [i], 4; cp.async.commit_group; @p cp.async.ca.shared.global [a+4], [i+4], 4; @p cp.async.commit_group; @!p st.shared.b32 [a+4], 9; cp.async.ca.shared.global [a+8], [i+8], 4; cp.async.commit_group;"
      "st.shared.b32 [a+12], 0; cp.async.wait_group 2; ld.shared.v4.b32 {v0, v1, v2, v3}, [a]; st.global.v4.b32 [o], {v0, v1, v2, v3};", "late", in, out);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  for (int i = 0; i < 64; i++) {
    uint32_t poison = 0x7ff57ff5;
    assert_int_equal(out[4 * i], i < 20 ? in[4 * i] : poison);
    assert_int_equal(out[4 * i + 1], i < 20 ? poison : 9);
    assert_int_equal(out[4 * i + 2], poison);
  }
}

static void test_faults(void **state) {
  static const struct { const char *body; ws_cu_result code; } bad[] = {
      {"cp.async.cg.shared.global [a+4], [i], 16;", WS_CUDA_ERROR_MISALIGNED_ADDRESS}, {"cp.async.cg.shared.global [a], [i+8], 16;", WS_CUDA_ERROR_MISALIGNED_ADDRESS},
      {"cp.async.cg.shared.global [a+4096], [i], 16;", WS_CUDA_ERROR_ILLEGAL_ADDRESS}, {"cp.async.cg.shared.global [a], [i+65536], 16;", WS_CUDA_ERROR_ILLEGAL_ADDRESS},
      {"cp.async.cg.shared.global [a], [i], 16, 17;", WS_CUDA_ERROR_ILLEGAL_INSTRUCTION}, {"cp.async.cg.shared.global [a], [i], 8;", WS_CUDA_ERROR_NOT_SUPPORTED}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char text[4096];
    snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", bad[k].body);
    ws_cu_deviceptr p[2] = {emu_buffer(NULL, 1024), emu_buffer(NULL, 1024)};
    assert_int_equal(emu_run_text(text, 64, 0, p, 2), bad[k].code);
    CHECK(cuMemFree_v2(p[0]));
    CHECK(cuMemFree_v2(p[1]));
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes_and_fill), cmocka_unit_test(test_wait_group_counts), cmocka_unit_test(test_late_source), cmocka_unit_test(test_groups_per_thread), cmocka_unit_test(test_faults)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
