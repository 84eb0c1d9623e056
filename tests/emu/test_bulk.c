/* Bulk copies under every schedule: tiles against an oracle that places every element by itself, plain copies, clusters, groups,
 * reductions, and what misuse is called. PTX ISA "cp.async.bulk" and the sections behind it. */
#include "harness.h"
#include "tma_kernels.h"
#include "tmap_draw.h"

enum { SMEM = 80 * 1024, IMAGE = 1 << 22 };
static const char *const schedules[] = {"early", "late", "random:1", "random:2"};
#define EACH_SCHEDULE(k) for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++)

static void expect_message(const char *what) {
  if (strstr(emu_message(), what)) return;
  print_message("'%s' is not in: %s\n", what, emu_message());
  fail();
}

/* ---- tiles ---- */
struct job {
  struct tmap_args a;
  int32_t at[5];
  uint32_t bytes, offset;
  const char *op; /* of tma_kernel */
};

static ws_cu_result encode(const struct tmap_args *a, uint64_t address, void *map) {
  return cuTensorMapEncodeTiled(map, a->type, a->rank, (void *)(uintptr_t)address, a->extents, a->strides, a->box, a->steps, a->interleave, a->swizzle, a->l2, a->fill);
}

static void draw_job(struct rng *r, struct job *j) {
  struct tmap_args *a = &j->a;
  uint32_t size;
  do {
    tmap_draw_good(r, a);
    size = tmap_element_bytes(a->type);
    j->bytes = a->box[0] * size;
    for (uint32_t d = 1; d < a->rank; d++) {
      if (a->rank > 2 && a->box[d] > 4) a->box[d] = 1 + a->box[d] % 4;
      j->bytes *= (a->box[d] + a->steps[d] - 1) / a->steps[d];
    }
  } while (j->bytes > 60000 || (a->rank > 1 && a->extents[a->rank - 1] * a->strides[a->rank - 2] > IMAGE / 2));
  for (uint32_t d = 0; d < a->rank; d++) j->at[d] = (int32_t)rng_below(r, (uint32_t)a->extents[d] + a->box[d]) - (int32_t)a->box[d] / 2;
  j->offset = 128 * rng_below(r, 16);
}

static ws_cu_result run_job(const struct job *j, uint8_t *global, uint8_t *shared) {
  char *ptx = tma_kernel((int)j->a.rank, j->op);
  struct CUmod_st *m = emu_module(ptx);
  struct CUfunc_st *f = emu_function(m, "k");
  ws_cu_deviceptr image = emu_buffer(global, IMAGE), dump = emu_buffer(shared, SMEM);
  _Alignas(128) uint8_t map[128];
  uint32_t offset = j->offset, bytes = j->bytes, smem = SMEM - 2048;
  int32_t at[5];
  memcpy(at, j->at, sizeof at);
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SMEM));
  CHECK(encode(&j->a, image + 4096, map));
  void *params[] = {map, &dump, &offset, &bytes, &smem, &at[0], &at[1], &at[2], &at[3], &at[4]};
  ws_cu_result result = cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, SMEM, NULL, params, NULL);
  if (result) fprintf(stderr, "%s\n", emu_message());
  CHECK(cuModuleUnload(m));
  emu_fetch(global, image, IMAGE);
  emu_fetch(shared, dump, SMEM);
  free(ptx);
  return result;
}

static void reduce(const struct job *j, uint8_t *to, const uint8_t *from) {
  uint32_t size = tmap_element_bytes(j->a.type);
  uint64_t u = 0, v = 0, r;
  memcpy(&u, to, size), memcpy(&v, from, size);
  bool less = j->a.type == 3 ? (int32_t)u < (int32_t)v : j->a.type == 5 ? (int64_t)u < (int64_t)v : u < v;
  switch (j->op[0] == 'a' && j->op[1] == 'd' ? '+' : j->op[1]) {
    case '+': r = u + v; break;
    case 'i': r = less ? u : v; break;
    case 'a': r = less ? v : u; break;
    case 'n': r = j->op[0] == 'i' ? (u >= v ? 0 : u + 1) : u & v; break;
    case 'e': r = !u || u > v ? v : u - 1; break;
    case 'r': r = u | v; break;
    default: r = u ^ v; break;
  }
  memcpy(to, &r, size);
}

/* Element after element; the tile's place in shared memory starts at a multiple of 1024 plus the offset. */
static void oracle(const struct job *j, uint8_t *global, uint8_t *shared) {
  static const uint32_t rows[] = {0, 1, 3, 7};
  const struct tmap_args *a = &j->a;
  uint32_t size = tmap_element_bytes(a->type);
  for (uint32_t i = 0; i < j->bytes / size; i++) {
    uint64_t rest = i, at = 4096;
    bool inside = true;
    for (uint32_t d = 0; d < a->rank; d++) {
      uint64_t step = d ? a->steps[d] : 1, n = (a->box[d] + step - 1) / step;
      int64_t x = j->at[d] + (int64_t)(rest % n * step);
      rest /= n;
      inside &= x >= 0 && x < (int64_t)a->extents[d];
      at += (uint64_t)x * (d ? a->strides[d - 1] : size);
    }
    uint32_t s = j->offset + i * size;
    s ^= ((s >> 7) & rows[a->swizzle]) * 16;
    if (!j->op && inside) memcpy(shared + s, global + at, size);
    else if (!j->op) for (uint32_t k = 0; k < size; k++) shared[s + k] = !a->fill ? 0 : k == size - 1 ? 0x7f : 0xff;
    else if (inside && *j->op) reduce(j, global + at, shared + s);
    else if (inside) memcpy(global + at, shared + s, size);
  }
}

static void compare_tiles(bool store, int rounds) {
  static const char *const ops[][8] = {[2] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}, [3] = {"add", "min", "max", "and", "or", "xor", "add", "min"},
                                       [4] = {"add", "min", "max", "and", "or", "xor", "max", "min"}, [5] = {"add", "min", "max", "and", "or", "xor", "max", "min"}};
  struct rng r = {31};
  uint8_t *global[2] = {malloc(IMAGE), malloc(IMAGE)}, *shared[2] = {malloc(SMEM), malloc(SMEM)};
  for (size_t i = 0; i < IMAGE; i += 8) { uint64_t v = rng_next(&r); memcpy(global[0] + i, &v, 8); }
  for (int round = 0; round < rounds; round++) {
    struct job j = {0};
    draw_job(&r, &j);
    if (store) j.op = j.a.type >= 2 && j.a.type <= 5 && round % 3 ? ops[j.a.type][rng_below(&r, 8)] : "";
    for (size_t i = 0; i < SMEM; i += 8) { uint64_t v = rng_next(&r); memcpy(shared[0] + i, &v, 8); }
    memcpy(global[1], global[0], IMAGE);
    memcpy(shared[1], shared[0], SMEM);
    assert_int_equal(wsemuSetOption("schedule", schedules[round % 4]), 0);
    if (run_job(&j, global[0], shared[0])) fail();
    memset(shared[1] + SMEM - 2048, 0, 4); /* the flag: complete */
    oracle(&j, global[1], shared[1]);
    if (!memcmp(global[0], global[1], IMAGE) && !memcmp(shared[0], shared[1], SMEM - 2044)) continue;
    char text[512];
    tmap_print(&j.a, text, sizeof text);
    fail_msg("%s %s at %d %d %d %d %d, +%u: %s", j.op ? "store" : "load", j.op ? j.op : "", j.at[0], j.at[1], j.at[2], j.at[3], j.at[4], j.offset, text);
  }
  for (int i = 0; i < 2; i++) free(global[i]), free(shared[i]);
}
static void test_tile_loads(void **state) { (void)state; compare_tiles(false, 160); }
static void test_tile_stores(void **state) { (void)state; compare_tiles(true, 160); }

/* ---- plain copies: k(in, out), 32 words each unless said otherwise ---- */
#define HEAD(cluster) ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n" cluster "{\n" \
             ".shared .align 128 .b8 s[2048];\n.shared .align 8 .b64 bar;\n.reg .b64 i, o, x;\n.reg .b32 t, v, n, b, m, c, r;\n.reg .b16 h;\n.reg .pred p, q;\n" \
             "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %tid.x;\nmul.wide.u32 x, t, 4;\nmov.u32 b, s;\nmov.u32 m, bar;\n" \
             "mov.u32 r, %cluster_ctarank;\nshl.b32 n, t, 2;\nadd.u32 c, b, n;\nsetp.eq.u32 q, t, 0;\n" \
             "@q mbarrier.init.shared::cta.b64 [bar], 1;\n@q fence.mbarrier_init.release.cluster;\nst.shared.u32 [c], 0;\nfence.proxy.async;\n"
#define ALONE "bar.sync 0;\n"
#define ALL "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
#define WAIT "W: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra W;\n"
#define SHOW "ld.shared.u32 v, [c];\nmad.wide.u32 x, r, 128, x;\nadd.u64 x, o, x;\nst.global.u32 [x], v;\n"
#define EXPECT "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n"
enum { WORDS = 512 };
static uint32_t input[WORDS], output[WORDS];

static ws_cu_result run(const char *text, unsigned ctas, const char *schedule) {
  struct rng r = {9};
  for (int k = 0; k < WORDS; k++) input[k] = (uint32_t)rng_next(&r), output[k] = 1000u + (uint32_t)k;
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  struct CUmod_st *m = emu_module(text);
  ws_cu_deviceptr params[2] = {emu_buffer(input, sizeof input), emu_buffer(output, sizeof output)};
  ws_cu_result result = emu_run(emu_function(m, "k"), ctas, 32, 0, params, 2);
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(params[0]));
  emu_fetch(output, params[1], sizeof output);
  return result;
}
/* Under every schedule words [0, n) of the output are want(k). */
static void expect(const char *text, unsigned ctas, int n, uint32_t (*want)(int k)) {
  EACH_SCHEDULE(s) {
    if (run(text, ctas, schedules[s])) fail_msg("%s: %s", schedules[s], emu_message());
    for (int k = 0; k < n; k++)
      if (output[k] != want(k)) fail_msg("%s: word %d is %08x, not %08x", schedules[s], k, output[k], want(k));
  }
}
static uint32_t same(int k) { return input[k]; }
static uint32_t repeated(int k) { return input[k % 32]; }

static void test_loads(void **state) {
  (void)state;
  expect(HEAD("") ALONE EXPECT "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i], 128, [bar];\n" WAIT SHOW "ret;\n}\n", 1, 32, same);
  expect(HEAD("") ALONE EXPECT "mov.u32 n, 64;\n.reg .b64 pol;\ncreatepolicy.fractional.L2::evict_last.b64 pol;\n"
         "@q cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [b], [i], n, [m], pol;\n"
         "@q cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [b+64], [i+64], 64, [m];\n" WAIT SHOW "ret;\n}\n", 1, 32, same);
  expect(HEAD("") ALONE "cp.async.bulk.prefetch.L2.global [i], 128;\n" EXPECT
         "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i], 128, [bar];\n" WAIT SHOW "ret;\n}\n", 1, 32, same);
}

/* Both CTAs of the pair get what one of them asks for; then each sends its words to the other. */
static uint32_t exchanged(int k) { return input[k < 32 ? 32 + k : k - 32]; }
static uint32_t summed(int k) { return input[k < 32 ? 32 + k : k - 32] + input[k]; }
static void test_clusters(void **state) {
  (void)state;
  expect(HEAD(".reqnctapercluster 4, 1, 1\n") EXPECT ALL "setp.eq.u32 p, r, 2;\nand.pred p, p, q;\nmov.u16 h, 15;\n"
         "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [i], 128, [bar], h;\n" WAIT SHOW ALL "ret;\n}\n", 4, 128, repeated);
#define PAIR HEAD(".reqnctapercluster 2, 1, 1\n") "mad.wide.u32 x, r, 128, i;\nmul.wide.u32 i, t, 4;\nadd.u64 i, x, i;\nld.global.u32 v, [i];\nst.shared.u32 [c+128], v;\n" \
             "fence.proxy.async;\n" EXPECT ALL "xor.b32 n, r, 1;\nmapa.shared::cluster.u32 m, m, n;\nmapa.shared::cluster.u32 n, b, n;\n"
#define END "mul.wide.u32 x, t, 4;\n" SHOW ALL "ret;\n}\n"
  expect(PAIR "@q cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [n], [s+128], 128, [m];\n" WAIT END, 2, 64, exchanged);
  expect(PAIR "st.shared.u32 [c], v;\n" ALL "@q cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [n], [s+128], 128, [m];\n" WAIT END, 2, 64, summed);
}

/* ---- groups: shared memory is read by wait_group.read, and not before it has to be ---- */
#define STORE HEAD("") "add.u64 x, i, x;\nld.global.u32 v, [x];\nst.shared.u32 [c], v;\nfence.proxy.async;\n" ALONE \
              "@q cp.async.bulk.global.shared::cta.bulk_group [o], [s], 128;\n@q cp.async.bulk.commit_group;\n"
static void test_groups(void **state) {
  (void)state;
  expect(STORE "@q cp.async.bulk.wait_group.read 0;\nbar.sync 0;\nst.shared.u32 [c], 5;\n@q cp.async.bulk.wait_group 0;\nret;\n}\n", 1, 32, same);
  expect(STORE "@q cp.async.bulk.wait_group 0;\nret;\n}\n", 1, 32, same);
  const char *racing = STORE "bar.sync 0;\nst.shared.u32 [c], 5;\nfence.proxy.async;\nbar.sync 0;\n@q cp.async.bulk.wait_group 0;\nret;\n}\n";
  assert_int_equal(wsemuSetOption("race", "off"), 0); /* it overwrites what is still read */
  CHECK(run(racing, 1, "early"));
  assert_int_equal(output[7], input[7]);
  CHECK(run(racing, 1, "late"));
  assert_int_equal(output[7], 5);
  /* The newest group may be open; the older one is not. */
  const char *newest = STORE "@q cp.async.bulk.global.shared::cta.bulk_group [o+128], [s], 128;\n@q cp.async.bulk.commit_group;\n"
                       "@q cp.async.bulk.wait_group.read 1;\nbar.sync 0;\nst.shared.u32 [c], 5;\nfence.proxy.async;\nbar.sync 0;\n@q cp.async.bulk.wait_group 0;\nret;\n}\n";
  CHECK(run(newest, 1, "late"));
  assert_int_equal(output[7], input[7]);
  assert_int_equal(output[32 + 7], 5);
  /* Nobody waits for the write: it comes after all. */
  expect(STORE "@q cp.async.bulk.wait_group.read 0;\nret;\n}\n", 1, 32, same);
  /* A load that nobody waits for is not there. */
  CHECK(run(HEAD("") ALONE EXPECT "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i], 128, [bar];\n" SHOW WAIT "ret;\n}\n", 1, "late"));
  assert_int_equal(output[3], 0x7ff57ff5);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

/* ---- reductions: in the output stand 1000 + k, in shared memory small numbers ---- */
static uint32_t word_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static uint32_t add_f32(int k) { (void)k; return word_of(2.5f); }
static uint32_t add_f16(int k) { (void)k; return 0x41004100; }  /* 1 + 1.5 = 2.5 */
static uint32_t add_bf16(int k) { (void)k; return 0x40204020; }
static uint32_t min_f16(int k) { (void)k; return 0x3c00bc00; }  /* min(1, 2) and min(1, -1) */
static uint32_t max_bf16(int k) { (void)k; return 0x40003f80; } /* max(1, 2) and max(1, NaN) */
static uint32_t add_u64(int k) { return k % 2 ? 8 : 6; }        /* (7, 5) + (1, 3): a carry that is none */
static uint32_t max_s64(int k) { return k % 2 ? 5 : 7; }
static uint32_t flushed(int k) { (void)k; return 0; }
static void reduction(const char *op, const char *first, const char *second, uint32_t (*want)(int k)) {
  char text[4096];
  snprintf(text, sizeof text,
           "%sadd.u64 x, o, x;\nand.b32 n, t, 1;\nsetp.eq.u32 p, n, 0;\n%s\nst.global.u32 [x], v;\n%s\nst.shared.u32 [c], v;\nfence.proxy.async;\nbar.sync 0;\n"
           "@q cp.reduce.async.bulk.global.shared::cta.bulk_group%s [o], [s], 128;\n@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group 0;\nret;\n}\n",
           HEAD(""), first, second, op);
  expect(text, 1, 32, want);
}
static void test_reductions(void **state) {
  (void)state;
  reduction(".add.f32", "mov.b32 v, 0f3F800000;", "mov.b32 v, 0f3FC00000;", add_f32);
  reduction(".add.f32", "mov.b32 v, 5;", "mov.b32 v, 6;", flushed);
  reduction(".add.noftz.f16", "mov.b32 v, 0x3c003c00;", "mov.b32 v, 0x3e003e00;", add_f16);
  reduction(".add.noftz.bf16", "mov.b32 v, 0x3f803f80;", "mov.b32 v, 0x3fc03fc0;", add_bf16);
  reduction(".min.f16", "mov.b32 v, 0x3c003c00;", "mov.b32 v, 0x4000bc00;", min_f16);
  reduction(".max.bf16", "mov.b32 v, 0x3f803f80;", "mov.b32 v, 0x40007fc0;", max_bf16);
  reduction(".add.u64", "selp.b32 v, 5, 7, p;", "selp.b32 v, 1, 1, p;", add_u64);
  reduction(".max.s64", "selp.b32 v, 7, 5, p;", "selp.b32 v, 9, 0xfffffff0, p;", max_s64);
}

/* ---- misuse ---- */
static void expect_fault(const char *text, unsigned ctas, ws_cu_result code, const char *what) {
  EACH_SCHEDULE(s) {
    ws_cu_result result = run(text, ctas, schedules[s]);
    if (result != code) fail_msg("%s: result %u instead of %u for '%s': %s", schedules[s], result, code, what, emu_message());
    expect_message(what);
  }
}
#define LOAD(dst, src, size, bar) HEAD("") ALONE EXPECT "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " dst ", " src ", " size ", " bar ";\n" WAIT SHOW "ret;\n}\n"
static void test_faults(void **state) {
  (void)state;
  expect_fault(LOAD("[s+8]", "[i]", "128", "[bar]"), 1, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "16");
  expect_fault(LOAD("[s]", "[i+8]", "128", "[bar]"), 1, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "a multiple of 16 is needed");
  expect_fault(LOAD("[s]", "[i]", "120", "[bar]"), 1, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "copies 120 bytes: a multiple of 16 is needed");
  expect_fault(LOAD("[s]", "[i+1984]", "128", "[bar]"), 1, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "reads 128 bytes at the global address");
  expect_fault(LOAD("[s+2032]", "[i]", "128", "[bar]"), 1, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "past the end of its CTA's shared memory");
  expect_fault(LOAD("[s]", "[i]", "128", "[s+256]"), 1, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "where none is initialised");
}
/* What was written with ordinary instructions needs a fence before a bulk operation may read it. */
static void test_missing_fences(void **state) {
  (void)state;
#define UNFENCED HEAD("") "st.shared.u32 [c], 3;\n" ALONE "@q cp.async.bulk.global.shared::cta.bulk_group [o], [s], 128;\n@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group 0;\nret;\n}\n"
  expect_fault(UNFENCED, 1, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "which warp 0 wrote without a fence.proxy.async since");
  expect_fault(HEAD(".reqnctapercluster 2, 1, 1\n") EXPECT ALL "xor.b32 n, r, 1;\nmapa.shared::cluster.u32 m, m, n;\nmapa.shared::cluster.u32 n, b, n;\nst.shared.u32 [c+128], 3;\n"
               "@q cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [n], [s+128], 128, [m];\n" WAIT ALL "ret;\n}\n", 2,
               WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "without a fence.proxy.async since");
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  CHECK(run(UNFENCED, 1, "late"));
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}
static void test_lost_operations(void **state) {
  (void)state;
  run(HEAD("") ALONE EXPECT "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i], 128, [bar];\nret;\n}\n", 1, "late");
  expect_message("its CTA ended without waiting for it");
  run(STORE "ret;\n}\n", 1, "late");
  expect_message("its CTA ended without waiting for it");
  expect_fault(HEAD(".reqnctapercluster 2, 1, 1\n") EXPECT ALL "mov.u16 h, 5;\n@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [i], 128, [bar], h;\nret;\n}\n",
               2, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "the CTA mask 0x5 in a cluster of 2 CTAs");
  expect_fault(HEAD(".reqnctapercluster 2, 1, 1\n") EXPECT ALL "xor.b32 n, r, 1;\nmapa.shared::cluster.u32 n, b, n;\n"
               "@q cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [n], [s+128], 128, [bar];\n" ALL "ret;\n}\n", 2,
               WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "but signals an mbarrier of CTA");
}

/* Tiles that are refused: bend the good job and see what is said. */
static ws_cu_result bent(struct tmap_args a, uint32_t offset, int rank, int damage) {
  char *ptx = tma_kernel(rank, NULL);
  struct CUmod_st *m = emu_module(ptx);
  struct CUfunc_st *f = emu_function(m, "k");
  ws_cu_deviceptr image = emu_buffer(NULL, 65536), dump = emu_buffer(NULL, SMEM);
  _Alignas(128) uint8_t map[128];
  uint32_t bytes = 1024, smem = 8192, zero = 0;
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SMEM));
  CHECK(encode(&a, image + a.address, map));
  if (damage >= 0) map[damage] ^= 1;
  void *params[] = {map, &dump, &offset, &bytes, &smem, &zero, &zero, &zero, &zero, &zero};
  ws_cu_result result = cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 16384, NULL, params, NULL);
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(image));
  CHECK(cuMemFree_v2(dump));
  free(ptx);
  return result;
}
static void test_bad_tiles(void **state) {
  (void)state;
  const struct tmap_args good = {.type = 9, .rank = 2, .extents = {64, 32}, .strides = {128}, .box = {64, 8}, .steps = {1, 1}, .swizzle = 3};
  struct tmap_args a = good;
  assert_int_equal(wsemuSetOption("schedule", "late"), 0);
  CHECK(bent(good, 0, 2, -1));
#define SAYS(code, what, ...)                                                                                         \
  do {                                                                                                                \
    assert_int_equal(bent(__VA_ARGS__), code);                                                                        \
    expect_message(what);                                                                                             \
  } while (0)
  SAYS(WS_CUDA_ERROR_MISALIGNED_ADDRESS, "a multiple of 128 is needed", good, 64, 2, -1);
  SAYS(WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "has 3 coordinates, but its tensor map has rank 2", good, 0, 3, -1);
  SAYS(WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "names a tensor map, but there is none", good, 0, 2, 0);
  SAYS(WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "names a tensor map, but there is none", good, 0, 2, 50);
  SAYS(WS_CUDA_ERROR_ILLEGAL_ADDRESS, "through a tensor map", (a = good, a.address = 65536 - 512, a), 0, 2, -1);
  SAYS(WS_CUDA_ERROR_ILLEGAL_ADDRESS, "past the end", good, 15360 - 128, 2, -1);
  SAYS(WS_CUDA_ERROR_NOT_SUPPORTED, "rows are narrower than its swizzle", (a = good, a.box[0] = 32, a), 0, 2, -1);
  SAYS(WS_CUDA_ERROR_NOT_SUPPORTED, "its type converts", (a = good, a.type = 11, a.box[0] = 32, a), 0, 2, -1);
  SAYS(WS_CUDA_ERROR_NOT_SUPPORTED, "it is interleaved",
       (a = good, a.rank = 3, a.extents[2] = 2, a.strides[1] = 4096, a.box[2] = 1, a.steps[0] = a.steps[2] = 1, a.interleave = 1, a.box[0] = 8, a), 0, 3, -1);
}

/* What is not in the table is refused by name. */
static void test_refused_forms(void **state) {
  (void)state;
  static const struct { const char *line, *what; } forms[] = {
      {"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [i, {t, t, t, t}], [bar], {h, h};", ".im2col"},
      {"tensormap.replace.tile.rank.shared::cta.b1024.b32 [s], 4;", "tensormap"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i], [bar];", "a tensor map and its coordinates"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [i, {t}], [bar];", "not supported"},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [o], [s], 128;", ".s64"},
      {"cp.async.bulk.wait_group n;", "integer constant"}};
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD(""), forms[k].line);
    assert_true(run(text, 1, "late") != WS_CUDA_SUCCESS);
    expect_message(forms[k].what);
  }
}

/* The kernel that test_fuzz.c damages is whole itself: everything at once in a cluster of two, the map in global memory. */
static void test_all_together(void **state) {
  (void)state;
  const uint64_t extents[] = {64, 64}, strides[] = {128};
  const uint32_t box[] = {64, 8}, steps[] = {1, 1};
  EACH_SCHEDULE(s) {
    _Alignas(128) uint8_t map[128];
    struct CUmod_st *m = emu_module_file("fuzz_bulk.ptx");
    ws_cu_deviceptr p = emu_buffer(NULL, 65536);
    CHECK(cuTensorMapEncodeTiled((void *)map, WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)p, extents, strides, box, steps, 0,
                                 WS_CU_TENSOR_MAP_SWIZZLE_128B, 0, 0));
    CHECK(cuMemcpyHtoD_v2(p + 32768, map, sizeof map));
    assert_int_equal(wsemuSetOption("schedule", schedules[s]), 0);
    CHECK(emu_run(emu_function(m, "k"), 2, 64, 0, &p, 1));
    CHECK(cuModuleUnload(m));
    CHECK(cuMemFree_v2(p));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tile_loads), cmocka_unit_test(test_tile_stores),   cmocka_unit_test(test_loads),     cmocka_unit_test(test_clusters),
      cmocka_unit_test(test_groups),     cmocka_unit_test(test_reductions),    cmocka_unit_test(test_faults),    cmocka_unit_test(test_lost_operations),
      cmocka_unit_test(test_bad_tiles),  cmocka_unit_test(test_refused_forms), cmocka_unit_test(test_all_together), cmocka_unit_test(test_missing_fences),
  };
  emu_open();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  emu_close();
  return failed;
}
