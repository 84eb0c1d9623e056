/* The checks of a launch: every rule with its message, and the numbers that a right launch gives. No device. */
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, O, LSE };
static struct ws_manifest *manifest;

static int load(void **state) {
  (void)state;
  return (int)ws_manifest_read(WS_TEST_DATA "/copy.ptx", &manifest, NULL);
}

static int unload(void **state) {
  (void)state;
  ws_manifest_free(manifest);
  return 0;
}

static void refuse(const struct test_launch *t, const char *message) {
  struct ws_error_info err = {.message = "nothing was said"};
  uint64_t grid = 12345;
  assert_int_equal(ws_manifest_check_launch(manifest, &t->launch, &grid, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, message);
  assert_int_equal(grid, 12345);
  assert_int_equal(ws_manifest_check_launch(manifest, &t->launch, NULL, NULL), WS_ERR_ARGUMENT);
}

static void accept(const struct test_launch *t, uint64_t want) {
  struct ws_error_info err = {0};
  uint64_t grid = 12345;
  if (ws_manifest_check_launch(manifest, &t->launch, &grid, &err)) fail_msg("%s", err.message);
  assert_int_equal(grid, want);
}

/* A fresh launch, bent by the statement, must be refused with the message. */
#define REFUSE(bend, message)                                                                                          \
  do {                                                                                                                 \
    struct test_launch t;                                                                                              \
    test_launch_init(&t);                                                                                              \
    bend;                                                                                                              \
    refuse(&t, message);                                                                                               \
  } while (0)
#define ACCEPT(bend, grid)                                                                                             \
  do {                                                                                                                 \
    struct test_launch t;                                                                                              \
    test_launch_init(&t);                                                                                              \
    bend;                                                                                                              \
    accept(&t, grid);                                                                                                  \
  } while (0)

static void tensors(void **state) {
  (void)state;
  ACCEPT((void)0, 5 * 4 * 2);
  REFUSE(t.launch.ntensors = 4, "tensor lse is missing: the kernel needs q, k, v, o, lse");
  REFUSE(t.launch.tensors = NULL, "the launch has 5 tensors, but the array is NULL");
  REFUSE(t.tensors[K].name = "x", "tensor 'x': the kernel has no such tensor; it has q, k, v, o, lse");
  REFUSE(t.tensors[K].name = NULL, "tensor number 1 of the launch has no name");
  REFUSE(t.tensors[K].name = "q", "tensor q is given twice");
  REFUSE(t.tensors[Q].type = WS_DTYPE_F16,
         "tensor q: type f16 found, expected bf16: convert it, or generate the kernel for that type");
  REFUSE(t.tensors[Q].type = (enum ws_dtype)77, "tensor q: type number 77 found, which is none of enum ws_dtype");
  ACCEPT(t.tensors[Q].type = WS_DTYPE_NONE, 40);
  REFUSE(t.tensors[LSE].rank = 4, "tensor lse: rank 4 found, expected 3: [batch, heads, queries]");
  REFUSE(t.tensors[Q].rank = 3, "tensor q: rank 3 found, expected 4: [batch, heads, queries, 128]");
  REFUSE(t.tensors[Q].rank = -1, "tensor q: rank -1 found, expected 4: [batch, heads, queries, 128]");
  REFUSE(t.tensors[Q].shape = NULL, "tensor q: its shape is NULL");
  struct ws_tensor swap;
  ACCEPT((swap = t.tensors[Q], t.tensors[Q] = t.tensors[LSE], t.tensors[LSE] = swap), 40); /* any order */
  assert_int_equal(ws_manifest_check_launch(manifest, NULL, NULL, NULL), WS_ERR_ARGUMENT);
  assert_int_equal(ws_manifest_check_launch(NULL, NULL, NULL, NULL), WS_ERR_ARGUMENT);
}

static void shapes(void **state) {
  (void)state;
  REFUSE(t.shape[Q][3] = 64,
         "tensor q: dim 3: extent 64 found, expected 128: the kernel is generated for this extent alone");
  REFUSE(t.shape[Q][2] = -1, "tensor q: dim 2 (queries): extent -1 found, expected 0 or more");
  REFUSE(t.shape[K][0] = 3, "tensor k: dim 0 (batch): extent 3 found, expected 2 as in tensor q");
  REFUSE(t.shape[V][2] = 8, "tensor v: dim 2 (keys): extent 8 found, expected 7 as in tensor k");
  REFUSE(t.shape[LSE][1] = 2, "tensor lse: dim 1 (heads): extent 2 found, expected 4 as in tensor q");
  REFUSE(t.shape[K][1] = t.shape[V][1] = 3,
         "heads (4, from tensor q) must be a multiple of kv_heads (3, from tensor k)");
  REFUSE(t.shape[K][1] = t.shape[V][1] = 0,
         "heads (4, from tensor q) must be a multiple of kv_heads (0, from tensor k)");
  ACCEPT(t.shape[K][1] = t.shape[V][1] = 1, 40);
  ACCEPT(t.shape[K][2] = t.shape[V][2] = 0, 40); /* no key: still a launch, which writes zeros */
  ACCEPT(t.shape[Q][2] = t.shape[O][2] = t.shape[LSE][2] = 0, 0);
  ACCEPT(t.shape[Q][1] = t.shape[O][1] = t.shape[LSE][1] = t.shape[K][1] = t.shape[V][1] = 0, 0);
}

/* A kernel of packed heads: so many query heads for each key head, no other multiple of them. */
static void ratios(void **state) {
  (void)state;
  struct ws_manifest *kept = manifest;
  char *text = test_read("copy.ptx", NULL), *packed = test_replace(text, "// multiple: heads kv_heads\n", "// require: ratio\n// ratio: heads kv_heads 2\n");
  struct ws_error_info err = {.message = ""};
  if (ws_manifest_parse(packed, strlen(packed), &manifest, &err)) fail_msg("%s", err.message);
  ACCEPT((void)0, 40);
  REFUSE(t.shape[K][1] = t.shape[V][1] = 1, "heads (4, from tensor q) must be 2 times kv_heads (1, from tensor k): the kernel was generated for that");
  REFUSE(t.shape[K][1] = t.shape[V][1] = 4, "heads (4, from tensor q) must be 2 times kv_heads (4, from tensor k): the kernel was generated for that");
  REFUSE(t.shape[K][1] = t.shape[V][1] = 0, "heads (4, from tensor q) must be 2 times kv_heads (0, from tensor k): the kernel was generated for that");
  REFUSE(t.shape[Q][1] = t.shape[O][1] = t.shape[LSE][1] = 5, "heads (5, from tensor q) must be 2 times kv_heads (2, from tensor k): the kernel was generated for that");
  REFUSE(t.shape[Q][1] = t.shape[O][1] = t.shape[LSE][1] = 0, "heads (0, from tensor q) must be 2 times kv_heads (2, from tensor k): the kernel was generated for that");
  ACCEPT(t.shape[Q][1] = t.shape[O][1] = t.shape[LSE][1] = t.shape[K][1] = t.shape[V][1] = 0, 0);
  ws_manifest_free(manifest);
  manifest = kept;
  free(packed);
  free(text);
}

static void strides(void **state) {
  (void)state;
  REFUSE(t.stride[Q][1] = -128,
         "tensor q: dim 1 (heads): stride -128 found, expected 0 or more: pass a copy without reversed dims");
  REFUSE(
      t.stride[K][3] = 2,
      "tensor k: dim 3: stride 2 found, expected 1: the kernel takes no stride for this dim, pass a contiguous copy");
  REFUSE(t.stride[LSE][2] = 2, "tensor lse: dim 2 (queries): stride 2 found, expected 1: the kernel takes no stride "
                               "for this dim, pass a contiguous copy");
  REFUSE(t.stride[Q][2] = 516, "tensor q: dim 2 (queries): stride 516 elements = 1032 bytes found, expected a multiple "
                               "of 16 bytes: pad the dims inside it");
  ACCEPT(t.stride[Q][2] = 520, 40);
  ACCEPT(t.stride[K][1] = 0, 40); /* an input may be expanded */
  REFUSE(t.stride[O][1] = 0,
         "tensor o: dim 1 (heads): stride 0 found, expected 1 or more: the elements of an output must not overlap");
  REFUSE(t.stride[O][1] = 64,
         "tensor o: dim 1 (heads): stride 64 found, expected 128 or more: the elements of an output must not overlap");
  REFUSE(
      t.stride[O][2] = 384,
      "tensor o: dim 2 (queries): stride 384 found, expected 512 or more: the elements of an output must not overlap");
  REFUSE(t.stride[LSE][0] = 19,
         "tensor lse: dim 0 (batch): stride 19 found, expected 20 or more: the elements of an output must not overlap");
  REFUSE(t.stride[Q][0] = INT64_MAX / 4 * 2,
         "tensor q: dim 0 (batch): stride 4611686018427387902 elements = 9223372036854775804 bytes found, expected a "
         "multiple of 16 bytes: pad the dims inside it");
  REFUSE(t.stride[Q][0] = INT64_MAX - 7, "tensor q: its extents and strides reach beyond 64-bit addresses");
  REFUSE(t.stride[Q][2] = (int64_t)1 << 61, "tensor q: its extents and strides reach beyond 64-bit addresses");
  REFUSE((t.stride[Q][2] = (int64_t)1 << 58, t.tensors[Q].data = UINT64_C(0xf000000000000000)),
         "tensor q: its extents and strides reach beyond 64-bit addresses");
  ACCEPT(for (int i = 0; i < TEST_TENSORS; i++) t.tensors[i].stride = NULL, 40);
  ACCEPT((t.shape[Q][0] = t.shape[K][0] = t.shape[V][0] = t.shape[O][0] = t.shape[LSE][0] = 1, t.stride[Q][0] = -3,
          t.stride[O][0] = 1, t.stride[K][0] = INT64_MAX),
         20); /* of one element: no matter */
}

static void addresses(void **state) {
  (void)state;
  REFUSE(t.tensors[V].data = 0, "tensor v: its address is NULL, but none of its extents is 0");
  REFUSE(t.tensors[Q].data = 0x10008, "tensor q: address 0x10008 found, expected a multiple of 16 bytes");
  REFUSE(t.tensors[LSE].data = 0x10002, "tensor lse: address 0x10002 found, expected a multiple of 4 bytes");
  ACCEPT((t.shape[K][2] = t.shape[V][2] = 0, t.tensors[K].data = 0, t.tensors[V].data = 3, t.stride[K][1] = -1),
         40); /* empty */
}

static void scalars(void **state) {
  (void)state;
  ACCEPT((t.launch.scalars = &t.scalar, t.launch.nscalars = 1), 40);
  REFUSE(t.launch.nscalars = 1, "the launch has 1 scalars, but the array is NULL");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.name = "scales"),
         "scalar 'scales': the kernel has no such scalar; its first is scale");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.name = NULL),
         "scalar number 0 of the launch has no name");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.value = (double)NAN),
         "scalar scale: nan found, expected a finite number");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.value = 0), "scalar scale: 0 found, expected more than 0");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.value = -1), "scalar scale: -1 found, expected more than 0");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.value = 1e-60), "scalar scale: 1e-60 found, expected more than 0");
  REFUSE((t.launch.scalars = &t.scalar, t.launch.nscalars = 1, t.scalar.value = 1e39),
         "scalar scale: 1e+39 found, which does not fit the kernel's f32 parameter");
  struct ws_scalar two[2] = {{"scale", 1}, {"scale", 2}};
  REFUSE((t.launch.scalars = two, t.launch.nscalars = 2), "scalar scale is given twice");
}

static void sizes(void **state) {
  (void)state;
  int64_t big = (int64_t)1 << 29;
  REFUSE((t.shape[Q][2] = t.shape[O][2] = t.shape[LSE][2] = big, t.stride[Q][0] = t.stride[O][0] = big * 512,
          t.stride[LSE][1] = big, t.stride[LSE][0] = 4 * big),
         "the grid queries * heads * batch has more than 2^31 - 1 CTAs: launch in several parts, for instance over the "
         "batch");
  REFUSE((t.shape[K][2] = t.shape[V][2] = (int64_t)1 << 32),
         "keys (4294967296, from tensor k) is more than 4294967295, the most that the kernel's 32-bit parameter holds");
  ACCEPT((t.shape[K][2] = t.shape[V][2] = ((int64_t)1 << 32) - 1, t.stride[K][2] = t.stride[V][2] = 0), 40);
}

/* Random launches: never a crash, and what is accepted reaches no byte beyond 64 bits. */
static void survives_random_launches(void **state) {
  (void)state;
  static const int64_t odd[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                64,
                                128,
                                512,
                                1 << 20,
                                INT32_MAX,
                                (int64_t)1 << 32,
                                (int64_t)1 << 40,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX / 2,
                                INT64_MAX / 16 * 8};
  uint64_t seed = 7;
  int accepted = 0;
  for (int round = 0; round < 100000; round++) {
    struct test_launch t;
    struct ws_error_info err;
    test_launch_init(&t);
    for (int edits = (int)(test_random(&seed) % 4); edits; edits--) {
      size_t k = test_random(&seed) % TEST_TENSORS, d = test_random(&seed) % 4;
      int64_t v = odd[test_random(&seed) % (sizeof odd / sizeof *odd)];
      switch (test_random(&seed) % 4) {
      case 0: t.shape[k][d] = v; break;
      case 1: t.stride[k][d] = v; break;
      case 2: t.tensors[k].data = (uint64_t)v; break;
      case 3:
        for (int i = 0; i < TEST_TENSORS; i++) t.shape[i][d] = v;
        break;
      }
    }
    accepted += !ws_manifest_check_launch(manifest, &t.launch, NULL, &err);
  }
  assert_true(accepted > 20000 && accepted < 80000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors),
      cmocka_unit_test(shapes), cmocka_unit_test(ratios),
      cmocka_unit_test(strides),
      cmocka_unit_test(addresses),
      cmocka_unit_test(scalars),
      cmocka_unit_test(sizes),
      cmocka_unit_test(survives_random_launches),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
