/* Tensor maps, clusters and the grids that go with them: what a manifest may say, what a launch hands to the driver, and what
 * is refused before it sees anything. */
#include "fixture.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *maps_ptx;

/* A launch to bend: b 2, hq 4, hkv 2, sq 300, sk 77, packed. */
struct tiles_launch {
  struct ws_tensor tensors[3];
  int64_t shape[3][4], stride[3][4];
  struct ws_launch launch;
};

static void tiles_init(struct tiles_launch *t) {
  static const int64_t shapes[3][4] = {{2, 4, 300, 128}, {2, 2, 77, 64}, {2, 4, 300, 128}};
  static const char *const names[] = {"q", "k", "o"};
  static const enum ws_dtype types[] = {WS_DTYPE_BF16, WS_DTYPE_E4M3, WS_DTYPE_F32};
  memset(t, 0, sizeof *t);
  memcpy(t->shape, shapes, sizeof shapes);
  for (int i = 0; i < 3; i++) {
    int64_t *s = t->shape[i], packed[4] = {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
    memcpy(t->stride[i], packed, sizeof packed);
    t->tensors[i] = (struct ws_tensor){names[i], 0x10000u * (uint64_t)(i + 1), types[i], 4, s, t->stride[i]};
  }
  t->launch = (struct ws_launch){.tensors = t->tensors, .ntensors = 3};
}

static struct ws_kernel *load(const char *from, const char *to, struct ws_device **device) {
  char *text = test_replace(maps_ptx, from, to);
  fake->device[0].major = 9;
  fake->nparams = 6;
  return fixture_load(text, device);
}

static void same_map(const struct fake_map *m, const struct fake_map *wanted) { assert_memory_equal(m, wanted, sizeof *m); }

static void encodes(void **state) {
  (void)state;
  static const struct fake_map wanted[] = {
      {9, 4, 0, 3, 2, 0, 0x10000, {128, 300, 4, 2}, {256, 76800, 307200}, {64, 128, 1, 1}, {1, 1, 1, 1}},
      {0, 4, 0, 1, 3, 0, 0x20000, {64, 2, 77, 2}, {4928, 64, 9856}, {32, 1, 256, 1}, {1, 1, 1, 1}},
      {7, 4, 0, 0, 0, 0, 0x30000, {128, 300, 4, 2}, {512, 153600, 614400}, {256, 64, 1, 1}, {1, 1, 1, 1}},
  };
  struct ws_device *d;
  struct ws_kernel *k = load("tiles", "tiles", &d);
  struct tiles_launch t;
  struct ws_error_info err;
  tiles_init(&t);
  assert_int_equal(ws_manifest_kernel(ws_kernel_manifest(k))->cluster, 2);
  assert_int_equal(ws_manifest_tensor(ws_kernel_manifest(k), 1)->align, 16); /* 1 in the file: a map wants more */
  if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
  assert_int_equal(fake->maps, 3);
  for (int i = 0; i < 3; i++) same_map(&fake->map[i], &wanted[i]);
  assert_int_equal(fake->grid, 24); /* 3 * 4 * 2 */
  assert_int_equal(fake->cluster, 2);
  const uint64_t first[] = {0, 1, 0x30000, 153600, 2, 300};
  for (int i = 0; i < 6; i++) assert_int_equal(i == 5 ? fake->params[i] & 0xffffffff : fake->params[i], first[i]);
  fixture_unload(k, d);
}

/* Strides that no access uses are replaced; a tensor without elements gets a map of one. */
static void makes_legal(void **state) {
  (void)state;
  struct ws_device *d;
  struct ws_kernel *k = load("tiles", "tiles", &d);
  struct tiles_launch t;
  struct ws_error_info err;
  tiles_init(&t);
  t.shape[0][0] = t.shape[1][0] = t.shape[2][0] = 1;
  t.shape[1][1] = 1;
  t.stride[0][0] = 7, t.stride[1][0] = -3, t.stride[1][1] = INT64_MAX;
  if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
  const uint64_t q[] = {256, 76800, 16}, kk[] = {16, 64, 16};
  assert_memory_equal(fake->map[0].strides, q, sizeof q);
  assert_memory_equal(fake->map[1].strides, kk, sizeof kk);
  static const uint64_t data[] = {0, 3, 0x777777}, address[] = {4096, 4096, 0x777770};
  for (int i = 0; i < 3; i++) { /* no keys: whatever the caller has for them */
    tiles_init(&t);
    t.shape[1][2] = 0;
    t.stride[1][1] = 1;
    t.tensors[1].data = data[i];
    fake->maps = 0;
    if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
    const struct fake_map wanted = {0, 4, 0, 1, 3, 0, address[i], {1, 1, 1, 1}, {16, 16, 16}, {32, 1, 256, 1}, {1, 1, 1, 1}};
    same_map(&fake->map[1], &wanted);
  }
  tiles_init(&t);
  t.shape[0][2] = t.shape[2][2] = 0;
  fake->maps = 0;
  assert_int_equal(ws_kernel_launch(k, &t.launch, &err), WS_OK); /* no queries: no launch */
  assert_int_equal(fake->maps, 0);
  tiles_init(&t); /* a dim that is repeated */
  t.stride[0][1] = 0;
  if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
  assert_int_equal(fake->map[0].strides[1], 0);
  fixture_unload(k, d);
}

static void refuse(const struct ws_kernel *k, const struct tiles_launch *t, const char *message) {
  struct ws_error_info err = {.message = ""};
  int calls = fake->calls, launches = fake->launches, maps = fake->maps;
  assert_int_equal(ws_kernel_launch(k, &t->launch, &err), WS_ERR_ARGUMENT);
  assert_string_equal(err.message, message);
  assert_int_equal(fake->calls, calls);
  assert_int_equal(fake->launches, launches);
  assert_int_equal(fake->maps, maps);
}

static void refuses_launches(void **state) {
  (void)state;
  struct ws_device *d;
  struct ws_kernel *k = load("tiles", "tiles", &d);
  struct tiles_launch t;
  tiles_init(&t);
  t.stride[1][2] = 72;
  t.stride[1][1] = 72 * 77;
  refuse(k, &t, "tensor k: dim 2 (keys): stride 72 elements = 72 bytes found, expected a multiple of 16 bytes: pad the dims inside it");
  tiles_init(&t);
  t.tensors[1].data += 8;
  refuse(k, &t, "tensor k: address 0x20008 found, expected a multiple of 16 bytes");
  tiles_init(&t);
  t.stride[0][3] = 2;
  refuse(k, &t, "tensor q: dim 3: stride 2 found, expected 1: the kernel takes no stride for this dim, pass a contiguous copy");
  tiles_init(&t);
  t.stride[1][0] = INT64_C(1) << 40;
  refuse(k, &t, "tensor k: dim 0 (batch): stride 1099511627776 elements = 1099511627776 bytes found, expected less than 2^40 bytes for "
                "the tensor map k_map: pass a copy, or launch in several parts");
  tiles_init(&t);
  t.shape[1][2] = (INT64_C(1) << 32) + 1;
  t.stride[1][1] = t.stride[1][0] = 0;
  refuse(k, &t, "tensor k: dim 2 (keys): extent 4294967297 found, expected at most 2^32 for the tensor map k_map: launch in several "
                "parts");
  tiles_init(&t); /* o is taken by address, too, without a stride of queries: packed, or the kernel is wrong */
  t.stride[2][2] = 256;
  refuse(k, &t, "tensor o: dim 2 (queries): stride 256 found, expected 128: the kernel takes no stride for this dim, pass a "
                "contiguous copy");
  tiles_init(&t);
  t.shape[0][2] = t.shape[2][2] = 128;
  t.shape[0][1] = t.shape[2][1] = 3;
  t.shape[0][0] = t.shape[1][0] = t.shape[2][0] = 1;
  t.tensors[0].stride = t.tensors[2].stride = NULL;
  refuse(k, &t, "the grid queries/128 * heads * batch has 3 CTAs, expected a multiple of 2, the CTAs of a cluster: give shapes that "
                "fill it");
  fixture_unload(k, d);
}

/* Rows by eights: five dims, of which rows and columns are two each; no place for the batch. */
static void splits_dims(void **state) {
  (void)state;
  static const struct fake_map wanted = {9, 5, 0, 3, 2, 0, 0x10000, {64, 8, 2, 4, 38}, {256, 128, 77824, 2048}, {64, 8, 2, 1, 16}, {1, 1, 1, 1, 1}};
  struct ws_device *d;
  struct ws_kernel *k = load("box [1, 1, 128, 64] swizzle 128", "box [1, 1, 128, 128] swizzle 128 groups 8", &d);
  struct tiles_launch t;
  struct ws_error_info err;
  for (int round = 0; round < 2; round++) { /* the stride of a batch of one does not matter */
    tiles_init(&t);
    t.shape[0][0] = t.shape[1][0] = t.shape[2][0] = 1;
    t.shape[0][2] = t.shape[2][2] = 304;
    t.stride[0][0] = round ? 5 : 4 * 304 * 128, t.stride[0][1] = 304 * 128;
    t.tensors[2].stride = NULL;
    fake->maps = 0;
    if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
    same_map(&fake->map[0], &wanted);
  }
  t.shape[0][2] = t.shape[2][2] = 300;
  refuse(k, &t, "tensor q: dim 2 (queries): extent 300 found, expected a multiple of 8 for the tensor map q_map, which takes so many together");
  tiles_init(&t);
  t.shape[0][2] = t.shape[2][2] = 304;
  t.tensors[0].stride = t.tensors[2].stride = NULL;
  refuse(k, &t, "tensor q: dim 0 (batch): extent 2 found, expected 1 for the tensor map q_map, whose five dims leave none for it: launch once for each");
  fixture_unload(k, d);
}

/* A packed stride that no map can have. */
static void refuses_layouts(void **state) {
  (void)state;
  struct ws_device *d;
  struct tiles_launch t;
  /* o is packed, with rows of 130 floats */
  char *text = test_replace(maps_ptx, "out f32 [batch, heads, queries, 128]", "out f32 [batch, heads, queries, 130]");
  char *again = test_replace(text, "o [batch, heads, queries, 128]", "o [batch, heads, queries, 130]");
  struct ws_kernel *k = load("tiles", "tiles", &d);
  ws_kernel_free(k);
  struct ws_error_info err;
  if (ws_kernel_load_text(d, again, strlen(again), &k, &err)) fail_msg("%s", err.message);
  tiles_init(&t);
  t.shape[2][3] = 130;
  t.tensors[2].stride = NULL;
  refuse(k, &t, "tensor o: dim 2 (queries): stride 130 elements = 520 bytes found, expected a multiple of 16 bytes for the tensor map "
                "o_map: pad the dims inside it");
  free(text);
  free(again);
  fixture_unload(k, d);
}

static void rounds_persistent_grids(void **state) {
  (void)state;
  static const char *const spellings[][2] = {
      {"// cluster: 2", "// cluster: 4\n// persistent: 1\n// require: cluster\n// require: persistent\n// require: map"},
      {"// grid: queries/128", "// cluster: 4\n// grid: persistent 1 of queries/128"}};
  static const struct {
    int64_t queries;
    uint32_t sms;
    uint64_t grid;
  } cases[] = {{128, 0, 8}, {384, 0, 24}, {12800, 0, 108}, {12800, 107, 104}, {12800, 5, 4}, {12800, 3, 4}, {0, 9, 0}, {512, 13, 12}};
  for (int s = 0; s < 2; s++) {
    struct ws_device *d;
    struct tiles_launch t;
    struct ws_plan plan;
    struct ws_error_info err;
    char *text = test_replace(maps_ptx, spellings[s][0], spellings[s][1]), *all = test_replace(text, ".reqnctapercluster 2, 1, 1", "");
    if (s) free(text), text = all, all = test_replace(text, "// cluster: 2\n", "");
    struct ws_kernel *k = load("tiles", "tiles", &d);
    ws_kernel_free(k);
    if (ws_kernel_load_text(d, all, strlen(all), &k, &err)) fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      tiles_init(&t);
      t.tensors[0].stride = t.tensors[2].stride = NULL;
      t.shape[0][2] = t.shape[2][2] = cases[i].queries;
      t.launch.sm_count = cases[i].sms;
      if (ws_kernel_plan(k, &t.launch, &plan, &err)) fail_msg("%s", err.message);
      assert_int_equal(plan.grid, cases[i].grid);
      if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
      if (cases[i].grid) assert_int_equal(fake->cluster, 4);
      if (cases[i].grid) assert_int_equal(fake->grid, cases[i].grid);
    }
    free(text);
    free(all);
    fixture_unload(k, d);
  }
}

/* More than 8 CTAs must be allowed first; one CTA is no cluster. */
static void sizes_of_clusters(void **state) {
  (void)state;
  static const unsigned int sizes[] = {1, 8, 16};
  for (int i = 0; i < 3; i++) {
    struct ws_device *d;
    struct tiles_launch t;
    struct ws_error_info err;
    char line[32];
    snprintf(line, sizeof line, "// cluster: %u", sizes[i]);
    char *text = test_replace(maps_ptx, "// cluster: 2", line), *all = test_replace(text, ".reqnctapercluster 2, 1, 1", "");
    struct ws_kernel *k = load("tiles", "tiles", &d);
    ws_kernel_free(k);
    fake->portable_only = 1;
    if (ws_kernel_load_text(d, all, strlen(all), &k, &err)) fail_msg("%s", err.message);
    assert_int_equal(fake->portable_only, sizes[i] <= 8);
    tiles_init(&t);
    t.shape[0][2] = t.shape[2][2] = 256; /* 16 CTAs */
    t.tensors[0].stride = t.tensors[2].stride = NULL;
    if (ws_kernel_launch(k, &t.launch, &err)) fail_msg("%s", err.message);
    assert_int_equal(fake->cluster, sizes[i] > 1 ? sizes[i] : 0);
    assert_int_equal(fake->grid, 16);
    free(text);
    free(all);
    fixture_unload(k, d);
  }
}

static void old_drivers(void **state) {
  (void)state;
  void *library = dlopen(WS_OLD_DRIVER, RTLD_NOW), *symbol = dlsym(library, FAKE_DRIVER_SYMBOL);
  fake_driver_function *get;
  memcpy(&get, &symbol, sizeof get);
  struct fake_driver *old = get();
  old->devices = 1, old->version = 11080, old->threads_per_block = 1024;
  old->device[0].major = 9, old->device[0].shared = 166912, old->device[0].multiprocessors = 108;
  const struct ws_device_options there = {.driver_path = WS_OLD_DRIVER};
  struct ws_device *d;
  struct ws_kernel *k;
  struct ws_error_info err;
  if (ws_device_open("cuda:0", NULL, &there, &d, &err)) fail_msg("%s", err.message);
  assert_int_equal(ws_kernel_load_text(d, maps_ptx, strlen(maps_ptx), &k, &err), WS_ERR_UNSUPPORTED);
  assert_string_equal(err.message, "kernel tiles needs cuLaunchKernelEx, which the driver of cuda:0 does not have: update it");
  ws_device_close(d);
  dlclose(library);
}

static const struct {
  const char *from, *to, *message;
} damages[] = {
    {"map: q_map q", "map: 1 q", "manifest line 9: map: expected a name"},
    {"map: k_map", "map: q_map", "manifest line 10: map: 'q_map' is declared twice"},
    {"map: q_map q", "map: q_map x", "manifest line 9: map q_map: no tensor above is called 'x'"},
    {"map: q_map q", "map: q_map", "manifest line 9: map q_map: expected the name of a tensor"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, queries]",
     "manifest line 9: map q_map: expected the 4 dims of tensor q in [ ]"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, heads, 128]",
     "manifest line 9: map q_map: tensor q has no dim 'heads' that is left"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, queries, 64]",
     "manifest line 9: map q_map: tensor q has no dim of extent 64 that is left"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, queries, 128, 2]",
     "manifest line 9: map q_map: expected ']' behind 4 dims"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, queries, *]",
     "manifest line 9: map q_map: expected the name or the extent of a dim of tensor q"},
    {"q in bf16 [batch, heads, queries, 128]", "q in bf16 [batch, heads, queries, 128, 1, 2]",
     "manifest line 9: map q_map: tensor q: rank 6 found, expected at most 5: merge dims, or pass its address"},
    {"box [1, 1, 128, 64]", "", "manifest line 9: map q_map: expected 'box [N, ...]' behind the dims"},
    {"box [1, 1, 128, 64]", "box [1, 1, 64]", "manifest line 9: map q_map: expected the 4 extents of its box in [ ]"},
    {"box [1, 1, 128, 64]", "box [1, 1, 1, 128, 64]", "manifest line 9: map q_map: expected ']' behind 4 extents"},
    {"box [1, 1, 128, 64]", "box [1, 1, 257, 64]",
     "manifest line 9: map q_map: box extent 257 found, expected 1 to 256: take several boxes"},
    {"box [1, 1, 128, 64]", "box [1, 0, 128, 64]", "manifest line 9: map q_map: box extent 0 found, expected 1 to 256: take several boxes"},
    {"box [1, 1, 128, 64]", "box [1, 1, 128, 20]", "manifest line 9: map q_map: the box is 40 bytes wide, expected a multiple of 16"},
    {"box [1, 1, 128, 64]", "box [1, 1, 128, 128]",
     "manifest line 9: map q_map: the box is 256 bytes wide, expected at most the swizzle's 128: take several boxes"},
    {" swizzle 128", "", "manifest line 9: map q_map: expected 'swizzle BYTES' behind the box"},
    {"swizzle 128", "swizzle 96", "manifest line 9: map q_map: swizzle: expected 0, 32, 64 or 128 bytes"},
    {"swizzle 128", "swizzle 128 groups 4", "manifest line 9: map q_map: groups: expected 8, the rows of a swizzle's pattern"},
    {"swizzle 128", "swizzle 128 groups", "manifest line 9: map q_map: groups: expected 8, the rows of a swizzle's pattern"},
    {"swizzle 128", "swizzle 128 groups 8",
     "manifest line 9: map q_map: groups: the box must have all columns of tensor q, a multiple of the swizzle"},
    {"box [1, 1, 128, 64] swizzle 128", "box [1, 1, 128, 128] swizzle 0 groups 8",
     "manifest line 9: map q_map: groups: the box must have all columns of tensor q, a multiple of the swizzle"},
    {"box [1, 1, 128, 64] swizzle 128", "box [1, 1, 100, 128] swizzle 128 groups 8",
     "manifest line 9: map q_map: groups: the box must have a multiple of 8 rows"},
    {"box [1, 1, 128, 64] swizzle 128", "box [1, 1, 1, 128] swizzle 128 groups 8",
     "manifest line 9: map q_map: groups: the box must have a multiple of 8 rows"},
    {"box [1, 1, 128, 64] swizzle 128", "box [1, 2, 128, 128] swizzle 128 groups 8",
     "manifest line 9: map q_map: groups: the box has more than one dim of rows"},
    {"swizzle 128", "swizzle 128 l2 32", "manifest line 9: map q_map: l2: expected 0, 64, 128 or 256 bytes"},
    {"swizzle 128", "swizzle 128 fill nan", "manifest line 9: map: 'fill nan' is left over at the end of the line"},
    {"param: map q_map", "param: map p_map", "manifest line 12: param: no map above is called 'p_map'"},
    {"param: map q_map", "param: map", "manifest line 12: param: expected the name of a map"},
    {"// param: map o_map\n", "", "manifest line 21: map o_map has no 'param: map o_map'"},
    {"q_map q [batch, heads, queries, 128]", "q_map q [batch, heads, 128, queries]",
     "manifest line 9: map q_map: its innermost dim must be the last one of tensor q, the only one of stride 1"},
    {"// param: u64 o.data\n", "", "parameter 4 is map in the manifest, but .u64 in the code of tiles: the file was altered"},
    {"cluster: 2", "cluster: 17", "manifest line 19: cluster: expected a number from 1 to 16"},
    {"cluster: 2", "cluster: 4",
     "the manifest has clusters of 4 CTAs, but the code of tiles .reqnctapercluster 2, 1, 1: the file was altered"},
    {"// cluster: 2\n", "",
     "the manifest has clusters of 1 CTAs, but the code of tiles .reqnctapercluster 2, 1, 1: the file was altered"},
    {".reqnctapercluster 2, 1, 1", ".reqnctapercluster 2, 2",
     "the manifest has clusters of 2 CTAs, but the code of tiles .reqnctapercluster 2, 2, 1: the file was altered"},
    {"// cluster: 2", "// persistent: 2\n// persistent: 2", "manifest line 20: a second 'persistent' line"},
    {"// grid: ", "// persistent: 2\n// grid: persistent 2 of ", "manifest line 19: grid: another line says already that the grid is persistent"},
    {"// cluster: 2", "// persistent: 33", "manifest line 19: persistent: expected a number from 1 to 32"},
    {".b8 q_map[128]", ".b8 q_map[64]", "parameter 1 is map in the manifest, but .b8[] in the code of tiles: the file was altered"},
    {".align 64 .b8 q_map[128]", ".align 8 .b8 q_map[128]",
     "parameter 1 is map in the manifest, but .b8[] in the code of tiles: the file was altered"},
    {".align 64 .b8 q_map[128]", ".u64 q_map", "parameter 1 is map in the manifest, but .u64 in the code of tiles: the file was altered"},
};

static void names_every_damage(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    char *broken = test_replace(maps_ptx, damages[i].from, damages[i].to);
    struct ws_manifest *m;
    struct ws_error_info err = {.message = ""};
    enum ws_status status = ws_manifest_parse(broken, strlen(broken), &m, &err);
    if (status != WS_ERR_MANIFEST) fail_msg("'%s' -> '%s': %s", damages[i].from, damages[i].to, ws_status_name(status));
    assert_string_equal(err.message, damages[i].message);
    free(broken);
  }
}

static void survives_random_damage(void **state) {
  (void)state;
  size_t n = strlen(maps_ptx);
  char *copy = malloc(n + 1);
  uint64_t seed = 7;
  for (int round = 0; round < 20000; round++) {
    struct ws_manifest *m;
    struct ws_error_info err;
    struct tiles_launch t;
    uint64_t grid;
    memcpy(copy, maps_ptx, n + 1);
    for (int edits = 1 + (int)(test_random(&seed) % 3); edits; edits--)
      copy[test_random(&seed) % n] = "0123456789.,:/*[] \nabcqko_-"[test_random(&seed) % 27];
    if (ws_manifest_parse(copy, n, &m, &err)) continue;
    tiles_init(&t);
    ws_manifest_check_launch(m, &t.launch, &grid, &err);
    ws_manifest_free(m);
  }
  free(copy);
}

int main(void) {
  if (fixture_begin()) return 99;
  maps_ptx = test_read("maps.ptx", NULL);
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fixture_reset)
      TEST(encodes),           TEST(makes_legal), TEST(refuses_launches),   TEST(splits_dims), TEST(refuses_layouts),        TEST(rounds_persistent_grids),
      TEST(sizes_of_clusters), TEST(old_drivers), TEST(names_every_damage), TEST(survives_random_damage),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(maps_ptx);
  fixture_end();
  return failed;
}
