/* Mutated PTX: whatever the text, a load or launch ends with a result and a message, never with a crash, a hang or a leak
 * (the sanitizer build of this test is the one that counts). Bounded to a few seconds; the argument is a seed. */
#include "harness.h"
#include <time.h>

static const char *const snippets[] = {"{", "}", ";", ",", "[", "]", "@p ", "!", "%tid.x", "0x", "-1", "99999999999", "0f7FFFFFFF", ".reg .b32 q<9>;", ".v4", ".shared", "|", "bra L;", "L:", "(", ")",
                                       "ret;", "exit;", "bar.sync 0;", "call", ".param .b32 z;", "ld.global.u32", "mma.sync.aligned", "<", ">", "\"", "/*", "//", ".align 8", "[4294967296]", "_", "1/0", "?", ":", "<<", "+"};

static size_t mutate(char *text, size_t n, size_t cap, struct rng *r) {
  uint32_t edits = 1 + rng_below(r, 6);
  for (uint32_t k = 0; k < edits && n > 8; k++) {
    size_t at = rng_below(r, (uint32_t)n), len = 1 + rng_below(r, 12);
    const char *s = snippets[rng_below(r, sizeof snippets / sizeof *snippets)];
    size_t sn = strlen(s);
    switch (rng_below(r, 6)) {
      case 0: text[at] = (char)rng_below(r, 256); break;
      case 1: /* remove */
        if (at + len > n) len = n - at;
        memmove(text + at, text + at + len, n - at - len);
        n -= len;
        break;
      case 2: /* insert a word */
        if (n + sn >= cap) break;
        memmove(text + at + sn, text + at, n - at);
        memcpy(text + at, s, sn);
        n += sn;
        break;
      case 3: /* copy a piece elsewhere */
        if (at + len <= n) memmove(text + rng_below(r, (uint32_t)(n - len)), text + at, len);
        break;
      case 4: text[at] = "0123456789abxr.%_"[rng_below(r, 17)]; break;
      default: /* cut the end off */
        if (rng_below(r, 20) == 0) n = at;
        break;
    }
  }
  text[n] = 0;
  return n;
}

/* Device memory with a tensor map in it, for fuzz_bulk.ptx. */
static ws_cu_deviceptr memory_with_map(void) {
  const uint64_t extents[] = {64, 64}, strides[] = {128};
  const uint32_t box[] = {64, 8}, steps[] = {1, 1};
  _Alignas(128) uint8_t map[128];
  ws_cu_deviceptr p = emu_buffer(NULL, 65536);
  CHECK(cuTensorMapEncodeTiled((void *)map, WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)p, extents, strides, box, steps, 0,
                               WS_CU_TENSOR_MAP_SWIZZLE_128B, 0, 0));
  CHECK(cuMemcpyHtoD_v2(p + 32768, map, sizeof map));
  return p;
}

static uint64_t seed = 1;
static void test_mutations(void **state) {
  static const char *const files[] = {"gemm.ptx", "fuzz_seed.ptx", "fuzz_bulk.ptx", "fuzz_async.ptx", "attention.ptx"};
  static const char *const schedules[] = {"early", "late", "random:3"};
  struct rng r = {seed * 0x9e3779b97f4a7c15u};
  (void)state;
  struct timespec start, t;
  clock_gettime(CLOCK_MONOTONIC, &start);
  assert_int_equal(wsemuSetOption("watchdog", "0.05"), 0);
  int loaded = 0, ran = 0, tried = 0;
  do {
    char *base = emu_read_file(files[tried % 7 == 6 ? 4 : tried % 4]);
    size_t n = strlen(base), cap = n + 4096;
    char *text = realloc(base, cap);
    assert_non_null(text);
    n = mutate(text, n, cap - 64, &r);
    struct CUmod_st *m = NULL;
    struct CUfunc_st *f = NULL;
    assert_int_equal(wsemuSetOption("schedule", schedules[tried / 3 % 3]), 0);
    tried++; /* mutated kernels seldom write all that they read */
    assert_int_equal(wsemuSetOption("uninitialised", tried % 8 ? "warn" : "error"), 0);
    if (!cuModuleLoadData(&m, text)) {
      loaded++;
      static const char *const names[] = {"gemm", "k", "attention"};
      for (int i = 0; i < 3; i++) {
        if (cuModuleGetFunction(&f, m, names[i])) continue;
        ws_cu_deviceptr p = memory_with_map();
        uint64_t small = 64;
        void *args[16];
        for (int k = 0; k < 16; k++) args[k] = k < 4 ? (void *)&p : (void *)&small;
        ran += !cuLaunchKernel(f, 2, 1, 1, names[i][0] == 'k' ? 128 : 64, 1, 1, 0, NULL, args, NULL);
        CHECK(cuMemFree_v2(p));
      }
      CHECK(cuModuleUnload(m));
      CHECK(cuCtxSynchronize());
    } else {
      assert_true(strlen(emu_message()) > 0);
    }
    free(text);
    clock_gettime(CLOCK_MONOTONIC, &t);
  } while (t.tv_sec - start.tv_sec < 4);
  print_message("%d texts, %d loaded, %d ran\n", tried, loaded, ran);
  assert_true(tried > 20 && loaded > 0);
  wsemuSetOption("watchdog", "0");
  wsemuSetOption("schedule", "late");
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
