/* The tensor memory accelerator of a GPU beside the emulator's: `emu_tma_gpu EMULATOR [DRIVER [SETS [TILES]]]`.
 *
 *   arguments  random argument sets of cuTensorMapEncodeTiled, good and bad: the same return codes
 *   loads      random tiles with every swizzle, rank, element stride, and coordinates in and outside of the tensor: shared memory equal
 *              byte for byte, at destinations that are aligned to 128 bytes only, too
 *   stores     the same tiles back, copied and reduced: global memory equal
 *   probes     what no document says, printed: the NaN of the fill, conversions, rows narrower than the swizzle
 *
 * Exit code 0 equal, 1 different, 77 no GPU of compute capability 9.0. */
#include "harness.h"
#include "tma_kernels.h"
#include "tmap_draw.h"
#include <dlfcn.h>
#include <signal.h>
#include <time.h>

enum { SMEM = 96 * 1024, MOST_SHOWN = 40, CRASHED = 9999 };

struct driver {
  const char *name;
  struct ws_cu_api api;
  struct CUctx_st *context;
};
static struct driver gpu = {.name = "GPU"}, emu = {.name = "emulator"};

static void use(struct driver *d) { d->api.cuCtxSetCurrent(d->context); }

static bool open_driver(struct driver *d, const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int major = 0;
  if (!library) return fprintf(stderr, "%s\n", dlerror()), false;
#define BIND(need, n, params)                                                                                         \
  do {                                                                                                                \
    void *s = dlsym(library, #n);                                                                                     \
    memcpy(&d->api.n, &s, sizeof s);                                                                                  \
  } while (0);
  WS_CU_FUNCTIONS(BIND)
#undef BIND
  if (!d->api.cuTensorMapEncodeTiled || d->api.cuInit(0) || d->api.cuDevicePrimaryCtxRetain(&d->context, 0)) return false;
  d->api.cuDeviceGetAttribute(&major, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  return major == 9;
}

static ws_cu_result encode(struct driver *d, const struct tmap_args *a, void *where) {
  uint8_t *to = (uint8_t *)where + (a->null & 64 ? 32 : a->null & 128 ? 64 : 0);
  use(d);
  return d->api.cuTensorMapEncodeTiled(a->null & 1 ? NULL : (void *)to, a->type, a->rank, a->null & 2 ? NULL : (void *)(uintptr_t)a->address,
                                       a->null & 4 ? NULL : a->extents, a->null & 8 ? NULL : a->strides, a->null & 16 ? NULL : a->box,
                                       a->null & 32 ? NULL : a->steps, a->interleave, a->swizzle, a->l2, a->fill);
}

/* ---- arguments ---- */
/* A NULL may be read instead of refused: that is worth to know, and no reason to end. */
static sigjmp_buf crash;
static void crashed(int signal_number) { siglongjmp(crash, signal_number); }
static ws_cu_result encode_or_crash(struct driver *d, const struct tmap_args *a, void *where) {
  const struct sigaction on = {.sa_handler = crashed};
  struct sigaction before;
  volatile ws_cu_result result = CRASHED;
  sigaction(SIGSEGV, &on, &before);
  if (!sigsetjmp(crash, 1)) result = encode(d, a, where);
  sigaction(SIGSEGV, &before, NULL);
  return result;
}

static uint64_t box_bytes(const struct tmap_args *a) {
  uint64_t n = tmap_element_bytes(a->type);
  for (uint32_t d = 0; d < a->rank && d < 5; d++) n *= (a->box[d] + (a->steps[d] ? a->steps[d] : 1) - 1) / (a->steps[d] ? a->steps[d] : 1);
  return n;
}

static int compare_arguments(int sets) {
  struct rng r = {17};
  _Alignas(128) uint8_t map[2][256];
  int different = 0, good = 0;
  uint64_t largest = 0, refused = UINT64_MAX;
  for (int i = 0; i < sets; i++) {
    struct tmap_args a;
    char text[512];
    tmap_draw(&r, &a);
    ws_cu_result want = encode_or_crash(&gpu, &a, map[0]), have = encode(&emu, &a, map[1]);
    good += !want;
    uint64_t bytes = box_bytes(&a);
    if (!want && bytes > largest) largest = bytes;
    if (want && !have && bytes < refused) refused = bytes;
    if (want == have || want == CRASHED || different++ >= MOST_SHOWN) continue;
    tmap_print(&a, text, sizeof text);
    printf("  GPU %u, emulator %u: %s\n", want, have, text);
  }
  printf("arguments: %d sets, %d of them good, %d different; largest box taken %llu bytes, smallest refused by the GPU alone %llu\n", sets, good, different,
         (unsigned long long)largest, (unsigned long long)refused);
  return different;
}

static void time_encode(void) {
  struct rng r = {3};
  struct tmap_args a;
  _Alignas(128) uint8_t map[256];
  struct timespec t[2];
  tmap_draw_good(&r, &a);
  use(&gpu);
  clock_gettime(CLOCK_MONOTONIC, &t[0]);
  for (int i = 0; i < 100000; i++) encode(&gpu, &a, map);
  clock_gettime(CLOCK_MONOTONIC, &t[1]);
  printf("encoding: %.0f ns a map (with cuCtxSetCurrent)\n", ((double)(t[1].tv_sec - t[0].tv_sec) * 1e9 + (double)(t[1].tv_nsec - t[0].tv_nsec)) / 1e5);
}

/* ---- tiles ---- */
struct job { /* one transfer on both sides */
  struct tmap_args a; /* address: offset of the tensor in the image */
  int32_t at[5];
  uint32_t offset, bytes; /* of the tile in shared memory */
  const char *op; /* NULL: a load */
  size_t image;   /* bytes of global memory */
  const uint8_t *global, *shared;
};
struct outcome {
  ws_cu_result result;
  uint32_t timeout;
  uint8_t *global, shared[SMEM];
};

#define DO(call)                                                                                                      \
  if (!o->result) o->result = (call)
static void run_job(struct driver *d, const struct job *j, struct outcome *o) {
  char *ptx = tma_kernel((int)j->a.rank, j->op);
  struct CUmod_st *module = NULL;
  struct CUfunc_st *f = NULL;
  ws_cu_deviceptr image = 0, shared = 0;
  _Alignas(128) uint8_t map[128];
  uint32_t offset = j->offset, bytes = j->bytes, smem = SMEM - 2048;
  struct tmap_args a = j->a;
  o->result = 0;
  use(d);
  DO(d->api.cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL));
  DO(d->api.cuModuleGetFunction(&f, module, "k"));
  DO(d->api.cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SMEM));
  DO(d->api.cuMemAlloc_v2(&image, j->image));
  DO(d->api.cuMemAlloc_v2(&shared, SMEM));
  DO(d->api.cuMemcpyHtoD_v2(image, j->global, j->image));
  DO(d->api.cuMemcpyHtoD_v2(shared, j->shared, SMEM));
  a.address += image;
  DO(encode(d, &a, map));
  int32_t at[5];
  memcpy(at, j->at, sizeof at);
  void *params[] = {map, &shared, &offset, &bytes, &smem, &at[0], &at[1], &at[2], &at[3], &at[4]};
  DO(d->api.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, SMEM, NULL, params, NULL));
  DO(d->api.cuCtxSynchronize());
  DO(d->api.cuMemcpyDtoH_v2(o->global, image, j->image));
  DO(d->api.cuMemcpyDtoH_v2(o->shared, shared, SMEM));
  memcpy(&o->timeout, o->shared + smem, 4);
  if (module) d->api.cuModuleUnload(module);
  if (image) d->api.cuMemFree_v2(image);
  if (shared) d->api.cuMemFree_v2(shared);
  free(ptx);
}

static void fill_random(struct rng *r, uint8_t *p, size_t n, unsigned int type) {
  for (size_t i = 0; i + 8 <= n; i += 8) {
    uint64_t v = rng_next(r);
    if (type == 6) for (int k = 0; k < 4; k++) v = v << 16 | (0x3800u + (rng_next(r) & 0x87ffu)); /* f16, about 1 */
    if (type == 9) for (int k = 0; k < 4; k++) v = v << 16 | float_to_bf16(rng_normal(r));
    if (type == 7) for (int k = 0; k < 2; k++) { float f = rng_normal(r); uint32_t u; memcpy(&u, &f, 4); v = v << 32 | u; }
    if (type == 8) { double f = (double)rng_normal(r); memcpy(&v, &f, 8); }
    memcpy(p + i, &v, 8);
  }
}

static void finish_job(struct rng *r, struct job *j, uint8_t *global, uint8_t *shared) {
  struct tmap_args *a = &j->a;
  uint32_t size = tmap_element_bytes(a->type);
  uint64_t reach = a->extents[0] * size;
  a->address = 256;
  do {
    j->bytes = a->box[0] * size;
    for (uint32_t d = 1; d < a->rank; d++) j->bytes *= (a->box[d] + a->steps[d] - 1) / a->steps[d];
    for (uint32_t d = 1; d < a->rank && j->bytes > 65536; d++) a->box[d] = (a->box[d] + 1) / 2;
    if (a->rank == 1) break;
  } while (j->bytes > 65536);
  for (uint32_t d = 0; d < a->rank; d++) {
    j->at[d] = (int32_t)rng_below(r, (uint32_t)a->extents[d] + a->box[d]) - (int32_t)a->box[d] / 2;
    if (d) reach += (a->extents[d] - 1) * a->strides[d - 1];
  }
  j->image = (256 + reach + 256 + 15) / 16 * 16;
  j->offset = 128 * rng_below(r, 16);
  fill_random(r, global, j->image, a->type);
  fill_random(r, shared, SMEM, a->type);
  j->global = global;
  j->shared = shared;
}

static const char *draw_op(struct rng *r, unsigned int type) {
  static const char *const ops[10][8] = {
      {NULL}, {NULL}, {"add", "min", "max", "inc", "dec", "and", "or", "xor"}, {"add", "min", "max", "and", "or", "xor"},
      {"add", "min", "max", "and", "or", "xor"}, {"min", "max", "and", "or", "xor"}, {"add", "min", "max"}, {"add"}, {"add"}, {"add", "min", "max"}};
  const char *op = type < 10 ? ops[type][rng_below(r, 8)] : NULL;
  return op ? op : "";
}

static size_t first_difference(const uint8_t *x, const uint8_t *y, size_t n) {
  size_t i = 0;
  while (i < n && x[i] == y[i]) i++;
  return i;
}

static bool same_outcome(const struct job *j, const struct outcome *g, const struct outcome *e) {
  char text[512];
  size_t at = first_difference(g->global, e->global, j->image), in = first_difference(g->shared, e->shared, SMEM);
  if (g->result == e->result && g->timeout == e->timeout && (g->result || (at == j->image && in == SMEM))) return true;
  tmap_print(&j->a, text, sizeof text);
  printf("  %s: GPU %u%s, emulator %u%s, tile of %u bytes at +%u, coordinates %d %d %d %d %d\n    %s\n", !j->op ? "load" : *j->op ? j->op : "store",
         g->result, g->timeout ? " (no completion)" : "", e->result, e->timeout ? " (no completion)" : "", j->bytes, j->offset, j->at[0], j->at[1],
         j->at[2], j->at[3], j->at[4], text);
  if (in < SMEM) printf("    shared memory at +%zu: GPU %02x, emulator %02x\n", in, g->shared[in], e->shared[in]);
  if (at < j->image) printf("    global memory at +%zu: GPU %02x, emulator %02x\n", at, g->global[at], e->global[at]);
  return false;
}

static int compare_tiles(int tiles, uint8_t *global, uint8_t *shared, struct outcome *g, struct outcome *e) {
  struct rng r = {23};
  int different = 0, complete = 0;
  for (int i = 0; i < 2 * tiles && different < MOST_SHOWN; i++) {
    struct job j = {0};
    do tmap_draw_good(&r, &j.a);
    while (j.a.fill); /* its NaN is a probe */
    for (uint32_t d = 0; d < 5 && i < tiles; d++) j.a.steps[d] = 1; /* element strides come in the second half */
    if (i & 1) j.op = draw_op(&r, j.a.type);
    finish_job(&r, &j, global, shared);
    run_job(&gpu, &j, g);
    run_job(&emu, &j, e);
    different += !same_outcome(&j, g, e);
    complete += !g->result && !g->timeout;
    if (g->result) return printf("  the GPU fails with %u: the rest is left out\n", g->result), different + 1;
  }
  printf("tiles: %d loads and %d stores and reductions, %d of them completed, %d different\n", tiles, tiles, complete, different);
  return different;
}

/* ---- probes ---- */
static void probe(const char *what, struct job *j, struct outcome *g, uint32_t show) {
  memset(g->shared, 0, SMEM);
  run_job(&gpu, j, g);
  printf("probe: %s: result %u%s\n", what, g->result, g->timeout ? ", no completion with the bytes of a dense tile" : "");
  for (uint32_t i = 0; i < show && !g->result; i++) printf("%s%02x%s", i % 32 ? "" : "  ", g->shared[j->offset + i], i % 32 == 31 ? "\n" : " ");
}

static void probes(uint8_t *global, uint8_t *shared, struct outcome *g) {
  const struct tmap_args plain = {.rank = 2, .address = 256, .extents = {64, 8}, .strides = {512}, .box = {16, 8}, .steps = {1, 1}};
  struct job j = {.image = 8192, .global = global, .shared = shared};
  memset(shared, 0xcd, SMEM);
  for (size_t i = 0; i < 8192; i++) global[i] = (uint8_t)(i / 512 * 16 + i % 16);
  for (unsigned int type = 6; type <= 12; type++) { /* all of it outside */
    char what[128];
    snprintf(what, sizeof what, "NaN fill of type %u", type);
    j.a = plain, j.a.type = type, j.a.fill = 1, j.at[0] = 1000;
    j.bytes = 128 * tmap_element_bytes(type);
    probe(what, &j, g, 32);
  }
  static const uint32_t words[8] = {0x00000001, 0x807fffff, 0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000, 0x7f800001, 0xffffffff};
  memcpy(global + 256, words, sizeof words);
  for (unsigned int type = 7; type <= 12; type++) {
    char what[128];
    if (type == 8 || type == 9) continue;
    snprintf(what, sizeof what, "type %u of 00000001 807fffff 3f800fff 3f801000 3f801001 3f803000 7f800001 ffffffff", type);
    j.a = plain, j.a.type = type, j.at[0] = 0, j.bytes = 512;
    probe(what, &j, g, 32);
  }
  for (unsigned int swizzle = 1; swizzle < 4; swizzle++) { /* rows of 16 bytes: where does the second one go? */
    char what[128];
    snprintf(what, sizeof what, "rows of 16 bytes with swizzle %u", swizzle);
    for (size_t i = 0; i < 8192; i++) global[i] = (uint8_t)(i / 512 * 16 + i % 16);
    j.a = plain, j.a.type = 0, j.a.swizzle = swizzle, j.bytes = 128;
    probe(what, &j, g, 256);
  }
}

int main(int argc, char **argv) {
  int sets = argc > 3 ? atoi(argv[3]) : 10000, tiles = argc > 4 ? atoi(argv[4]) : 300;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 2 || !open_driver(&emu, argv[1])) return fprintf(stderr, "usage: emu_tma_gpu EMULATOR [DRIVER [SETS [TILES]]]\n"), 1;
  if (!open_driver(&gpu, argc > 2 ? argv[2] : "libcuda.so.1")) return puts("no GPU of compute capability 9.0"), 77;
  size_t most = (size_t)64 << 20;
  uint8_t *global = calloc(1, most), *shared = calloc(1, SMEM);
  struct outcome *g = calloc(1, sizeof *g), *e = calloc(1, sizeof *e);
  if (!global || !shared || !g || !e || !(g->global = calloc(1, most)) || !(e->global = calloc(1, most))) return 1;
  int different = compare_arguments(sets);
  time_encode();
  different += compare_tiles(tiles, global, shared, g, e);
  if (argc <= 2) probes(global, shared, g);
  free(g->global), free(e->global);
  free(g), free(e), free(global), free(shared);
  return different != 0;
}
