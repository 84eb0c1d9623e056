/* Copies of four rows through a tensor map, of some bytes of every 16, and zeros by st.bulk. PTX ISA ".tile::scatter4 and .tile::gather4 modes",
 * "cp.async.bulk", "st.bulk". */
#include "harness.h"

enum { COLUMNS = 64, ROWS = 48, WORDS = COLUMNS * ROWS };
static const char *const schedules[] = {"early", "late", "random:1", "random:2"};
static uint32_t image[WORDS], target[WORDS], expected[WORDS];

/* 32 threads; map, map2: of the image and of the target, boxes of 32 columns and one row; o: the target's address. */
#define HEAD ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 tm[128], .param .align 64 .b8 tm2[128], .param .u64 out)\n{\n" \
             ".shared .align 1024 .b8 s[4096];\n.shared .align 8 .b64 bar;\n.reg .b64 o, x, map, map2;\n.reg .b32 t, v, n, a;\n.reg .b16 h;\n.reg .pred p, q;\n" \
             "mov.b64 map, tm;\ncvta.param.u64 map, map;\nmov.b64 map2, tm2;\ncvta.param.u64 map2, map2;\nld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nsetp.eq.u32 q, t, 0;\n" \
             "mov.u32 a, s;\nshl.b32 n, t, 2;\nadd.u32 a, a, n;\nmul.wide.u32 x, t, 4;\n@q mbarrier.init.shared::cta.b64 [bar], 1;\n@q fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define LOAD(form, rows) "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n@q cp.async.bulk.tensor.2d." form " [s], [map, {" rows "}], [bar];\n" \
                         "W: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra W;\n"
#define GATHER "shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
#define STORE(rows) "@q cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [map2, {" rows "}], [s];\n@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group 0;\n"

static ws_cu_result run(const char *body, const char *schedule, uint32_t box_rows, uint32_t swizzle) {
  static char text[8192];
  _Alignas(128) uint8_t maps[2][128];
  const uint64_t extents[2] = {COLUMNS, ROWS}, strides[1] = {4 * COLUMNS};
  const uint32_t box[2] = {32, box_rows}, steps[2] = {1, 1};
  struct rng r = {7};
  for (int i = 0; i < WORDS; i++) image[i] = (uint32_t)rng_next(&r), target[i] = 1000u + (uint32_t)i;
  snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", body);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr from = emu_buffer(image, sizeof image), to = emu_buffer(target, sizeof target);
  for (int i = 0; i < 2; i++)
    CHECK(cuTensorMapEncodeTiled((void *)maps[i], WS_CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)(uintptr_t)(i ? to : from), extents, strides, box, steps, 0, swizzle, 0, 0));
  struct CUmod_st *m = NULL;
  ws_cu_result result = cuModuleLoadData(&m, text);
  void *params[] = {maps[0], maps[1], &to};
  if (!result) {
    result = cuLaunchKernel(emu_function(m, "k"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
    CHECK(cuModuleUnload(m));
  }
  CHECK(cuMemFree_v2(from));
  emu_fetch(target, to, sizeof target);
  return result;
}
static void expect_fault(const char *body, uint32_t box_rows, const char *what) {
  assert_true(run(body, "late", box_rows, 0) != WS_CUDA_SUCCESS);
  if (strstr(emu_message(), what)) return;
  print_message("'%s' is not in: %s\n", what, emu_message());
  fail();
}

/* Rows 5, -1 (outside: zeros), 47 and 5 again, from column 40 on, of which 24 lie inside; back to rows 3, 48 (dropped), 0 and 20 at column -8. */
static void test_gather_scatter(void **state) {
  static const int from[4] = {5, -1, 47, 5}, to[4] = {3, 48, 0, 20};
  (void)state;
  for (size_t k = 0; k < 8; k++) {
    uint32_t swizzle = k / 4 ? WS_CU_TENSOR_MAP_SWIZZLE_128B : 0;
    CHECK(run(LOAD(GATHER, "40, 5, -1, 47, 5") STORE("-8, 3, 48, 0, 20"), schedules[k % 4], 1, swizzle));
    for (int i = 0; i < WORDS; i++) expected[i] = 1000u + (uint32_t)i;
    for (int r = 0; r < 4; r++)
      for (int c = 0; c < 32; c++) {
        int x = c - 8;
        if (to[r] < ROWS && x >= 0) expected[to[r] * COLUMNS + x] = from[r] >= 0 && 40 + c < COLUMNS ? image[from[r] * COLUMNS + 40 + c] : 0;
      }
    assert_memory_equal(target, expected, sizeof target);
  }
  /* other forms of the same loads, all in a cluster of one */
  static const char *const loads[] = {"2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1 [s], [map, {0, 9, 8, 7, 6}], [bar]", "2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1 [s], [map, {0, 9, 8, 7, 6}], [bar], h"};
  for (size_t k = 0; k < 2; k++) {
    char body[2048];
    snprintf(body, sizeof body, "mov.b16 h, 1;\n@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n@q cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [map, {0, 1, 2, 3, 4}];\n@q cp.async.bulk.tensor.%s;\n"
             "W: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra W;\nadd.u64 x, o, x;\nld.shared.u32 v, [a+256];\nst.global.u32 [x], v;\n", loads[k]);
    CHECK(run(body, schedules[k], 1, 0));
    for (int c = 0; c < 32; c++) assert_int_equal(target[c], image[7 * COLUMNS + c]);
  }
  static const char *const tiles[] = {"2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [s], [map, {32, 5}], [bar]", "2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1 [s], [map, {32, 5}], [bar], h",
                                      "2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [s], [map, {32, 5}], [bar]", "2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [map, {32, 5}], [bar]"};
  for (size_t k = 0; k < 4; k++) {
    char body[2048];
    snprintf(body, sizeof body, "mov.b16 h, 1;\n@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n@q cp.async.bulk.tensor.%s;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra W;\n"
             "add.u64 x, o, x;\nld.shared.u32 v, [a+128];\nst.global.u32 [x], v;\n", tiles[k]);
    CHECK(run(body, schedules[k], 2, 0));
    for (int c = 0; c < 32; c++) assert_int_equal(target[c], image[6 * COLUMNS + 32 + c]);
  }
  /* the swizzle sees four rows of 128 bytes: shared word (row, c) lies in unit c / 4 ^ row */
  CHECK(run(LOAD("shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1", "0, 9, 8, 7, 6")
            "add.u64 x, o, x;\nld.shared.u32 v, [a+256];\nst.global.u32 [x], v;\n", "late", 1, WS_CU_TENSOR_MAP_SWIZZLE_128B));
  for (int c = 0; c < 32; c++) assert_int_equal(target[c], image[7 * COLUMNS + ((c / 4 ^ 2) * 4 + c % 4)]);
}
static void test_gather_faults(void **state) {
  (void)state;
  expect_fault(LOAD(GATHER, "0, 1, 2, 3, 4"), 2, "a box of 2 rows: rank 2 and one row are needed");
  expect_fault(LOAD(GATHER, "0, 1, 2"), 1, "not supported");
}

/* Byte i of every 16 where bit i of the mask is set. */
static void test_byte_mask(void **state) {
  (void)state;
  for (int hint = 0; hint < 2; hint++)
    for (size_t k = 0; k < 4; k++) {
      CHECK(run(hint ? LOAD(GATHER, "0, 1, 2, 3, 4") "mov.b16 h, 0x8421;\n.reg .b64 pol;\ncreatepolicy.fractional.L2::evict_last.b64 pol;\n@q cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [o], [s], 128, pol, h;\n@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group 0;\n"
                     : LOAD(GATHER, "0, 1, 2, 3, 4") "mov.b16 h, 0x8421;\n@q cp.async.bulk.global.shared::cta.bulk_group.cp_mask [o], [s], 128, h;\n@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group 0;\n", schedules[k], 1, 0));
      for (int i = 0; i < WORDS; i++) expected[i] = 1000u + (uint32_t)i;
      for (int i = 0; i < 128; i++)
        if (0x8421 >> i % 16 & 1) ((uint8_t *)expected)[i] = ((uint8_t *)&image[COLUMNS])[i];
      assert_memory_equal(target, expected, sizeof target);
    }
}

/* Each thread its own bytes: thread t the 8 (t % 4) from 32 t on. */
static void test_zeros(void **state) {
  static const char *const forms[] = {"st.bulk.weak.shared::cta [a], n, 0;\n", "st.bulk [x], n, 0;\n", ".reg .b64 y;\ncvt.u64.u32 y, n;\nst.bulk.shared::cta [a], y, 0;\n"};
  (void)state;
  for (size_t k = 0; k < 3; k++) {
    char body[2048];
    snprintf(body, sizeof body, "mov.u32 v, 0;\nmov.u32 n, a;\nF: st.shared.u32 [n], 0xabcdef01;\nadd.u32 n, n, 128;\nadd.u32 v, v, 1;\nsetp.lt.u32 p, v, 8;\n@p bra F;\nbar.sync 0;\nmov.u32 a, s;\nmad.lo.u32 a, t, 32, a;\n"
             "and.b32 n, t, 3;\nshl.b32 n, n, 3;\ncvt.u64.u32 x, a;\ncvta.shared.u64 x, x;\n%sbar.sync 0;\nmul.wide.u32 x, t, 32;\nadd.u64 x, o, x;\n"
             "ld.shared.v4.u32 {v, n, t, v}, [a];\n.reg .b32 r<8>;\nld.shared.v4.u32 {r0, r1, r2, r3}, [a];\nld.shared.v4.u32 {r4, r5, r6, r7}, [a+16];\nst.global.v4.u32 [x], {r0, r1, r2, r3};\nst.global.v4.u32 [x+16], {r4, r5, r6, r7};\n", forms[k]);
    CHECK(run(body, "late", 1, 0));
    for (int i = 0; i < 256; i++) assert_int_equal(target[i], i % 8 < 2 * (i / 8 % 4) ? 0 : 0xabcdef01);
  }
  expect_fault("@q st.bulk.weak.shared::cta [s+4092], 16, 0;\n", 1, "st.bulk");
  expect_fault("@q st.bulk.weak.shared::cta [s], 12, 0;\n", 1, "a multiple of 8");
  expect_fault("@q st.bulk.weak.shared::cta [s+4088], 80000, 0;\n", 1, "shared");
  expect_fault("@q st.bulk.weak.shared::cta [s], 16, 1;\n", 1, "not supported");
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gather_scatter), cmocka_unit_test(test_gather_faults), cmocka_unit_test(test_byte_mask), cmocka_unit_test(test_zeros)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
