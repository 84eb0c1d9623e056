/* Tensor maps from inside: the rules of cuTensorMapEncodeTiled, the packing, the walk over a tile against one that asks every
 * element by itself, and the swizzle against worked examples. */
#include "harness.h"
#include "tmap.h"
#include "tmap_draw.h"

static ws_cu_result encode(const struct tmap_args *a, void *where) {
  uint8_t *to = (uint8_t *)where + (a->null & 64 ? 32 : a->null & 128 ? 64 : 0);
  return cuTensorMapEncodeTiled(a->null & 1 ? NULL : (void *)to, a->type, a->rank, a->null & 2 ? NULL : (void *)(uintptr_t)a->address,
                                a->null & 4 ? NULL : a->extents, a->null & 8 ? NULL : a->strides, a->null & 16 ? NULL : a->box,
                                a->null & 32 ? NULL : a->steps, a->interleave, a->swizzle, a->l2, a->fill);
}

/* From the start of an extent list to the fields that a map must hold. */
static void same(const struct tmap *m, const struct tmap_args *a) {
  assert_int_equal(m->type, a->type);
  assert_int_equal(m->rank, a->rank);
  assert_int_equal(m->address, a->address);
  assert_int_equal(m->interleave, a->interleave);
  assert_int_equal(m->swizzle, a->swizzle);
  assert_int_equal(m->l2, a->l2);
  assert_int_equal(m->fill, a->fill);
  assert_memory_equal(m->extent, a->extents, a->rank * sizeof *a->extents);
  assert_memory_equal(m->stride + 1, a->strides, (a->rank - 1) * sizeof *a->strides);
  assert_int_equal(m->stride[0], tmap_element_bytes(a->type));
  assert_memory_equal(m->box, a->box, a->rank * sizeof *a->box);
  for (uint32_t d = 1; d < a->rank; d++) assert_int_equal(m->step[d], a->steps[d]);
}

static void packs(void **state) {
  (void)state;
  struct rng r = {11};
  _Alignas(128) uint8_t map[256];
  int good = 0, bad = 0;
  CHECK(cuInit(0));
  for (int i = 0; i < 50000; i++) {
    struct tmap_args a;
    struct tmap m;
    tmap_draw(&r, &a);
    memset(map, 0, sizeof map);
    ws_cu_result result = encode(&a, map);
    const uint8_t *at = map + (a.null & 64 ? 32 : a.null & 128 ? 64 : 0);
    assert_int_equal(ws_emu_tmap_unpack(at, &m), result == WS_CUDA_SUCCESS);
    if (result) {
      assert_int_equal(result, WS_CUDA_ERROR_INVALID_VALUE);
      bad++;
      continue;
    }
    good++;
    if (a.null & 2) a.address = 0;
    same(&m, &a);
    uint64_t word; /* programs clear bit 21 of the second word: it means nothing here */
    memcpy(&word, at + 8, sizeof word);
    assert_false(word >> 21 & 1);
    map[(size_t)(at - map) + rng_below(&r, 128)] ^= (uint8_t)(1 + rng_below(&r, 255));
    assert_false(ws_emu_tmap_unpack(at, &m));
  }
  assert_true(good > 10000 && bad > 10000);
}

static void refuses(void **state) {
  (void)state;
  static const uint64_t tera = UINT64_C(1) << 40, four_gi = UINT64_C(1) << 32;
  struct tmap_args good = {.type = 9, .rank = 3, .address = 0x1000, .extents = {64, 9, 4}, .strides = {128, 1152}, .box = {64, 8, 1},
                           .steps = {1, 1, 1}, .swizzle = 3, .l2 = 2};
  _Alignas(128) uint8_t map[256];
#define REFUSED(change, why)                                                                                          \
  do {                                                                                                                \
    struct tmap_args a = good;                                                                                        \
    change;                                                                                                           \
    assert_int_equal(encode(&a, map), WS_CUDA_ERROR_INVALID_VALUE);                                                   \
    assert_string_equal(emu_message(), "cuTensorMapEncodeTiled: " why);                                               \
  } while (0)
#define TAKEN(change)                                                                                                 \
  do {                                                                                                                \
    struct tmap_args a = good;                                                                                        \
    change;                                                                                                           \
    CHECK(encode(&a, map));                                                                                           \
  } while (0)
  TAKEN((void)a);
  TAKEN(a.extents[1] = four_gi);
  TAKEN(a.strides[0] = tera - 16);
  TAKEN(a.strides[0] = 0);
  TAKEN(a.swizzle = 0; a.box[0] = 256);
  TAKEN(a.interleave = 1; a.box[0] = 8);
  TAKEN(a.interleave = 2; a.box[0] = 16);
  TAKEN(a.address = UINT64_C(1) << 56);
  TAKEN(a.swizzle = 0; a.box[0] = a.box[1] = 256; a.box[2] = 3);
  TAKEN(a.null = 2);
  TAKEN(a.null = 64);
  TAKEN(a.null = 128);
  for (int bit = 0; bit < 6; bit++)
    if (bit != 1) REFUSED(a.null = 1u << bit, "an argument is NULL, or the map's address no multiple of 32");
  REFUSED(a.rank = 1; a.null = 8, "an argument is NULL, or the map's address no multiple of 32");
  REFUSED(a.address = UINT64_C(1) << 63, "the address is beyond 2^57");
  REFUSED(a.interleave = 1; a.box[0] = 4, "the box's inner bytes are no multiple of 16");
  REFUSED(a.swizzle = 0; a.box[0] = a.box[1] = 256; a.box[2] = 2, "the box has 2^18 bytes");
  REFUSED(a.steps[0] = 0, "an element stride is not within 1 to 8");
  REFUSED(a.type = 13, "the data type is unknown on this device");
  REFUSED(a.type = 256, "the data type is unknown on this device");
  REFUSED(a.rank = 0, "the rank is not within 1 to 5");
  REFUSED(a.rank = 6, "the rank is not within 1 to 5");
  REFUSED(a.rank = 2; a.interleave = 1, "an interleaved tensor has rank 3 at least");
  REFUSED(a.interleave = 3, "the interleave is unknown");
  REFUSED(a.interleave = 2; a.swizzle = 1; a.address = 0x1010, "the address is no multiple of 32");
  REFUSED(a.interleave = 2; a.swizzle = 1; a.strides[0] = 144, "a stride is no multiple of 32 below 2^40");
  REFUSED(a.interleave = 1; a.steps[0] = 9, "an element stride is not within 1 to 8");
  REFUSED(a.swizzle = 7, "the swizzle is unknown");
  REFUSED(a.l2 = 4, "the L2 promotion is unknown");
  REFUSED(a.fill = 2, "the fill is unknown");
  REFUSED(a.fill = 1; a.type = 1, "only floating-point types are filled with NaN");
  REFUSED(a.address = 0x1008, "the address is no multiple of 16");
  REFUSED(a.extents[1] = 0, "an extent is not within 1 to 2^32");
  REFUSED(a.extents[1] = four_gi + 1, "an extent is not within 1 to 2^32");
  REFUSED(a.strides[0] = 136, "a stride is no multiple of 16 below 2^40");
  REFUSED(a.strides[1] = tera, "a stride is no multiple of 16 below 2^40");
  REFUSED(a.box[1] = 0, "a box extent is not within 1 to 256");
  REFUSED(a.box[1] = 257, "a box extent is not within 1 to 256");
  REFUSED(a.steps[1] = 0, "an element stride is not within 1 to 8");
  REFUSED(a.steps[2] = 9, "an element stride is not within 1 to 8");
  REFUSED(a.box[0] = 60, "the box's inner bytes are no multiple of 16");
  REFUSED(a.box[0] = 72, "the box's inner bytes do not fit the swizzle");
  REFUSED(a.swizzle = 1; a.box[0] = 24, "the box's inner bytes do not fit the swizzle");
}

/* The element at the tile's position i along every dimension, dimension 0 fastest: where it comes from, and whether it is there. */
static bool element(const struct tmap *m, const int32_t *c, uint64_t i, uint64_t *address) {
  bool inside = true;
  *address = m->address;
  for (int d = 0; d < m->rank; d++) {
    uint64_t step = d ? m->step[d] : 1, n = (m->box[d] + step - 1) / step;
    int64_t x = c[d] + (int64_t)(i % n * step);
    i /= n;
    inside &= x >= 0 && (uint64_t)x < m->extent[d];
    *address += (uint64_t)x * m->stride[d];
  }
  return inside;
}

static void walks(void **state) {
  (void)state;
  struct rng r = {5};
  for (int round = 0; round < 3000; round++) {
    struct tmap_args a;
    struct tmap m;
    _Alignas(128) uint8_t map[256];
    int32_t c[5];
    tmap_draw_good(&r, &a);
    CHECK(encode(&a, map));
    assert_true(ws_emu_tmap_unpack(map, &m));
    uint64_t n = 1, size = tmap_element_bytes(a.type), i = 0, there;
    for (uint32_t d = 0; d < a.rank; d++) {
      c[d] = (int32_t)rng_below(&r, (uint32_t)a.extents[d] + 2 * a.box[d]) - (int32_t)a.box[d];
      n *= ws_emu_tmap_count(&m, (int)d);
      if (rng_below(&r, 50) == 0) c[d] = (int32_t)rng_pattern(&r, 32);
    }
    assert_int_equal(ws_emu_tmap_tile_bytes(&m), n * size);
    struct tile_walk w;
    struct tile_row row;
    ws_emu_tile_begin(&w, &m, c);
    while (ws_emu_tile_next(&w, &row)) {
      assert_int_equal(row.shared, i * size);
      for (uint32_t k = 0; k < a.box[0]; k++, i++) {
        bool inside = element(&m, c, i, &there);
        assert_int_equal(row.global + k * size, there);
        assert_int_equal(inside, k * size >= row.first && k * size < row.last);
      }
    }
    assert_int_equal(i, n);
  }
}

/* (row, column) of a bf16 tile at 0x400 with rows of the span -> address. */
static void swizzles(void **state) {
  (void)state;
  static const struct { uint8_t mode; uint32_t span, row, column, address; } cases[] = {
      {3, 128, 0, 8, 0x410}, {3, 128, 1, 0, 0x490},  {3, 128, 1, 8, 0x480},     {3, 128, 7, 0, 0x7f0}, {3, 128, 7, 63, 0x78e},
      {3, 128, 8, 0, 0x800}, {3, 128, 9, 20, 0x8b8}, {3, 128, 127, 63, 0x438e}, {2, 64, 0, 8, 0x410},  {2, 64, 1, 0, 0x440},
      {2, 64, 2, 0, 0x490},  {2, 64, 2, 8, 0x480},   {2, 64, 7, 24, 0x5c0},     {2, 64, 8, 0, 0x600},  {1, 32, 0, 8, 0x410},
      {1, 32, 3, 8, 0x470},  {1, 32, 4, 0, 0x490},   {1, 32, 4, 8, 0x480},      {1, 32, 8, 0, 0x500},  {0, 32, 5, 3, 0x4a6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(ws_emu_swizzle(cases[i].mode, 0x400 + cases[i].row * cases[i].span + 2 * cases[i].column), cases[i].address);
  for (uint32_t a = 0; a < 4096; a++)
    for (uint8_t mode = 0; mode < 4; mode++) assert_int_equal(ws_emu_swizzle(mode, ws_emu_swizzle(mode, a)), a);
}

static void fills(void **state) {
  (void)state;
  uint8_t out[16], zero[16] = {0};
  struct tmap m = {.type = WS_CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
  ws_emu_tmap_fill(&m, out, 16);
  assert_memory_equal(out, zero, 16);
  for (int type = 6; type < 10; type++) {
    m = (struct tmap){.type = (uint8_t)type, .fill = 1};
    ws_emu_tmap_fill(&m, out, 16);
    uint32_t size = tmap_element_bytes((unsigned int)type);
    for (uint32_t i = 0; i < 16; i++) assert_int_equal(out[i], i % size == size - 1 ? 0x7f : 0xff);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packs), cmocka_unit_test(refuses), cmocka_unit_test(walks), cmocka_unit_test(swizzles), cmocka_unit_test(fills)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
