/* Workspace tensors and persistent grids: what a plan says, what a launch takes, what it passes to the kernel. */
#include "fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* copy.ptx with other lines: from -> to, once each. */
static struct ws_kernel *load(const char *const (*edits)[2], struct ws_device **device) {
  char *text = strdup(copy_ptx);
  for (; (*edits)[0]; edits++) {
    char *next = test_replace(text, (*edits)[0], (*edits)[1]);
    free(text);
    text = next;
  }
  return fixture_load(text, device);
}

static void refuse(const struct ws_kernel *k, const struct ws_launch *l, const char *message) {
  struct ws_error_info err;
  int before = atomic_load(&fake->launches);
  assert_int_equal(ws_kernel_launch(k, l, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, message);
  assert_int_equal(atomic_load(&fake->launches), before);
}

#define TENSORS                                                                                                        \
  "// scalar: scale",                                                                                                  \
      "// tensor: part workspace f32 [batch, heads, queries, 3] align 4\n// tensor: count workspace i32 [batch] "     \
      "align 4\n// scalar: scale"
#define PARAMS                                                                                                         \
  "// param: f32 scale",                                                                                               \
      "// param: u64 part.data\n// param: u64 part.stride.heads\n// param: u64 count.data\n// param: f32 scale"},    \
  {".param .f32 p_scale)", ".param .u64 p_part, .param .u64 p_sh, .param .u64 p_count, .param .f32 p_scale)"

static void carves_the_block(void **state) {
  (void)state;
  static const char *const edits[][2] = {{TENSORS}, {PARAMS}, {NULL, NULL}};
  struct ws_device *d;
  struct ws_kernel *k = load(edits, &d);
  struct ws_plan plan;
  struct test_launch t;
  test_launch_init(&t); /* b 2, hq 4, sq 5 */
  fake->nparams = 27;
  assert_int_equal(ws_manifest_tensor(ws_kernel_manifest(k), 5)->direction, WS_WORKSPACE);
  for (int i = 0; i < TEST_TENSORS; i++) t.tensors[i].data = 0; /* planned before there is memory */
  struct ws_error_info err = {.message = ""};
  if (ws_kernel_plan(k, &t.launch, &plan, &err)) fail_msg("%s", err.message);
  assert_int_equal(plan.workspace_bytes, 512 + 256); /* 2*4*5*3*4 = 480 and 8, each rounded up to 256 */
  assert_int_equal(plan.grid, 40);
  assert_int_equal(plan.block, 128);
  assert_int_equal(plan.shared, 1024);
  assert_int_equal(plan.sms, 0);
  test_launch_init(&t);
  refuse(k, &t.launch,
         "workspace: 0 bytes found, expected at least 768: ask ws_kernel_plan and give so much device memory");
  t.launch.workspace = 0x900100;
  t.launch.workspace_bytes = 767;
  refuse(k, &t.launch,
         "workspace: 767 bytes found, expected at least 768: ask ws_kernel_plan and give so much device memory");
  t.launch.workspace_bytes = 768;
  t.launch.workspace = 0x900080;
  refuse(k, &t.launch, "workspace: address 0x900080 found, expected a multiple of 256 bytes");
  t.launch.workspace = 0x900100;
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  assert_int_equal(fake->params[23], 0x900100);
  assert_int_equal(fake->params[24], 5 * 3 * 4);
  assert_int_equal(fake->params[25], 0x900100 + 512);

  /* The caller's own tensor takes the place of a carved one; the rest is still carved. */
  struct ws_tensor six[6];
  const int64_t shape[] = {2, 4, 5, 3};
  memcpy(six, t.tensors, sizeof t.tensors);
  six[5] = (struct ws_tensor){"part", 0x5550000, WS_DTYPE_F32, 4, shape, NULL};
  t.launch.tensors = six;
  t.launch.ntensors = 6;
  t.launch.workspace_bytes = 256;
  assert_int_equal(ws_kernel_plan(k, &t.launch, &plan, NULL), WS_OK);
  assert_int_equal(plan.workspace_bytes, 256);
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  assert_int_equal(fake->params[23], 0x5550000);
  assert_int_equal(fake->params[25], 0x900100);
  six[5].name = "count";
  refuse(k, &t.launch, "tensor count: type f32 found, expected i32: convert it, or generate the kernel for that type");

  /* Nothing to do: no workspace either. */
  test_launch_init(&t);
  t.shape[0][0] = t.shape[1][0] = t.shape[2][0] = t.shape[3][0] = t.shape[4][0] = 0;
  assert_int_equal(ws_kernel_plan(k, &t.launch, &plan, NULL), WS_OK);
  assert_int_equal(plan.workspace_bytes, 0);
  assert_int_equal(plan.grid, 0);
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  /* More than 64 bits of it. */
  t.shape[0][0] = t.shape[1][0] = t.shape[2][0] = t.shape[3][0] = t.shape[4][0] = INT64_MAX / 64;
  assert_int_equal(ws_kernel_plan(k, &t.launch, &plan, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, "tensor part: its extents and strides reach beyond 64-bit addresses");
  assert_int_equal(ws_kernel_plan(NULL, &t.launch, &plan, &err), WS_ERR_ARGUMENT);
  assert_int_equal(ws_kernel_plan(k, &t.launch, NULL, &err), WS_ERR_ARGUMENT);
  assert_int_equal(ws_kernel_plan(k, NULL, &plan, &err), WS_ERR_ARGUMENT);
  fixture_unload(k, d);
}

/* A dim that only a workspace has is for the caller to choose. */
static void asks_for_free_dims(void **state) {
  (void)state;
  static const char *const edits[][2] = {
      {"// scalar: scale", "// tensor: part workspace f32 [splits, 16] align 4\n// scalar: scale"},
      {"// param: f32 scale", "// param: u64 part.data\n// param: u32 splits\n// param: f32 scale"},
      {".param .f32 p_scale)", ".param .u64 p_part, .param .u32 p_splits, .param .f32 p_scale)"},
      {NULL, NULL}};
  struct ws_device *d;
  struct ws_kernel *k = load(edits, &d);
  struct test_launch t;
  test_launch_init(&t);
  fake->nparams = 26;
  refuse(k, &t.launch, "tensor part: no tensor of the launch tells its dim splits: give part itself");
  struct ws_tensor six[6];
  const int64_t shape[] = {7, 16};
  memcpy(six, t.tensors, sizeof t.tensors);
  six[5] = (struct ws_tensor){"part", 0x5550000, WS_DTYPE_F32, 2, shape, NULL};
  t.launch.tensors = six;
  t.launch.ntensors = 6;
  assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
  assert_int_equal(fake->params[24], 7);
  fixture_unload(k, d);
}

static void counts_multiprocessors(void **state) {
  (void)state;
  static const char *const edits[][2] = {
      {"grid: queries * heads * batch", "grid: persistent 2 of queries * heads * batch"}, {NULL, NULL}};
  static const struct {
    int64_t queries;
    uint32_t count, margin;
    uint64_t grid;
    uint32_t sms;
  } cases[] = {
      {5, 0, 0, 40, 108},  {27, 0, 0, 216, 108}, {28, 0, 0, 216, 108}, {5000, 0, 0, 216, 108}, {5000, 0, 8, 200, 100},
      {5000, 16, 0, 32, 16}, {5000, 16, 4, 24, 12}, {5000, 108, 107, 2, 1}, {1, 16, 0, 8, 16},   {0, 16, 0, 0, 16},
      {INT64_MAX / 0x10000000, 0, 0, 216, 108},
  };
  struct ws_device *d;
  struct ws_kernel *k = load(edits, &d);
  struct test_launch t;
  struct ws_plan plan;
  assert_int_equal(ws_manifest_kernel(ws_kernel_manifest(k))->persistent, 2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_launch_init(&t);
    for (int n = 0; n < TEST_TENSORS; n++) t.tensors[n].stride = NULL;
    t.shape[0][2] = t.shape[3][2] = t.shape[4][2] = cases[i].queries;
    t.launch.sm_count = cases[i].count;
    t.launch.sm_margin = cases[i].margin;
    struct ws_error_info err = {.message = ""};
    enum ws_status status = ws_kernel_plan(k, &t.launch, &plan, &err);
    if (cases[i].queries > UINT32_MAX) { /* the grid would do, the kernel's 32-bit parameter not */
      assert_int_equal(status, WS_ERR_ARGUMENT);
      continue;
    }
    if (status) fail_msg("%s", err.message);
    assert_int_equal(plan.grid, cases[i].grid);
    assert_int_equal(plan.sms, cases[i].sms);
    assert_int_equal(ws_kernel_launch(k, &t.launch, NULL), WS_OK);
    if (cases[i].grid) assert_int_equal(fake->grid, cases[i].grid);
  }
  test_launch_init(&t);
  t.launch.sm_count = 109;
  refuse(k, &t.launch, "sm_count: 109 found, but the device has 108 multiprocessors");
  t.launch.sm_count = 8;
  t.launch.sm_margin = 8;
  refuse(k, &t.launch, "sm_margin: 8 found, expected less than the 8 multiprocessors in use");
  /* Without a device somebody has to say how many there are. */
  uint64_t grid;
  struct ws_error_info err;
  t.launch.sm_count = t.launch.sm_margin = 0;
  assert_int_equal(ws_manifest_check_launch(ws_kernel_manifest(k), &t.launch, &grid, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, "sm_count: 0 found, but the grid persistent 2 of queries * heads * batch depends on "
                                   "it: give the multiprocessors of the device");
  assert_int_equal(ws_manifest_check_launch(ws_kernel_manifest(k), &t.launch, NULL, &err), WS_OK);
  t.launch.sm_count = 10;
  assert_int_equal(ws_manifest_check_launch(ws_kernel_manifest(k), &t.launch, &grid, &err), WS_OK);
  assert_int_equal(grid, 20);
  fixture_unload(k, d);
}

static void reads_persistent_grids(void **state) {
  (void)state;
  static const struct {
    const char *grid, *message; /* NULL = fine */
    uint32_t persistent;
  } cases[] = {
      {"persistent 1", NULL, 1},
      {"persistent 32 of queries/128 * heads", NULL, 32},
      {"persistent 0", "manifest line 40: grid: expected a number from 1 to 32", 0},
      {"persistent 33", "manifest line 40: grid: expected a number from 1 to 32", 0},
      {"persistent", "manifest line 40: grid: expected a number from 1 to 32", 0},
      {"persistent 2 queries", "manifest line 40: grid: 'queries' found, expected 'of' behind 'persistent N'", 0},
      {"persistent 2 of", "manifest line 40: grid: expected the name of a dim or a number", 0},
      {"persistent 2 * heads", "manifest line 40: grid: '* heads' is left over at the end of the line", 0},
      {"queries of heads", "manifest line 40: grid: 'of heads' is left over at the end of the line", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[128];
    struct ws_manifest *m;
    struct ws_error_info err;
    snprintf(line, sizeof line, "// grid: %s\n", cases[i].grid);
    char *text = test_replace(copy_ptx, "// grid: queries * heads * batch\n", line);
    enum ws_status status = ws_manifest_parse(text, strlen(text), &m, &err);
    if (cases[i].message) {
      assert_int_equal(status, WS_ERR_MANIFEST);
      assert_string_equal(err.message, cases[i].message);
    } else {
      assert_int_equal(status, WS_OK);
      assert_string_equal(ws_manifest_kernel(m)->grid, cases[i].grid);
      assert_int_equal(ws_manifest_kernel(m)->persistent, cases[i].persistent);
    }
    ws_manifest_free(m);
    free(text);
  }
}

int main(void) {
  if (fixture_begin()) return 99;
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(carves_the_block), TEST(asks_for_free_dims), TEST(counts_multiprocessors), TEST(reads_persistent_grids),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_end();
  return failed;
}
