/* wgmma on a device and here, bit by bit.
 *
 *   emu_wgmma_hw record LIBCUDA FILE    runs the cases on the driver LIBCUDA and writes the results
 *   emu_wgmma_hw compare FILE           runs them here; prints for each how many elements differ, and by how much */
#include "wgmma_case.h"
#include <dlfcn.h>

enum { KINDS = 3 };
#define BF ".f32.bf16.bf16"
static const struct wg_case hw_cases[] = {
    {".f32.f16.f16", 8, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0}, {BF, 8, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0}, {BF, 8, 16, 2, 128, 128, 0, 0, 0, 1, 1, 0},
    {BF, 16, 16, 2, 64, 64, 1, 1, 1, 1, 1, 0}, {BF, 16, 16, 2, 16, 16, 1, 1, 1, 1, 1, 0}, {BF, 8, 16, 2, 16, 16, 0, 0, 1, -1, 1, 0}, {BF, 16, 16, 2, 32, 32, 1, 1, 1, 1, -1, 0},
    {BF, 8, 16, 2, 0, 128, 0, 0, 1, 1, 1, 2}, {".f16.f16.f16", 8, 16, 2, 128, 128, 0, 0, 1, 1, 1, 0}, {".f32.tf32.tf32", 8, 8, 4, 128, 128, 0, 0, 1, 1, 1, 0},
    {".f32.e4m3.e4m3", 8, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0}, {".f32.e5m2.e5m2", 8, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0}, {".f32.e4m3.e5m2", 8, 32, 1, 0, 64, 0, 0, 1, 1, 1, 0},
    {".f16.e4m3.e4m3", 8, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0}, {".s32.s8.s8", 8, 32, 1, 128, 128, 0, 0, 1, 1, 1, 0}};
enum { CASES = sizeof hw_cases / sizeof *hw_cases };

static struct wg_data w;
static void make(int i, int kind) {
  struct rng r = {1000 + (uint64_t)(i * KINDS + kind)};
  wg_fill(&hw_cases[i], &w, &r, kind == 2 ? 1 : kind);
  if (kind == 2) memset(w.d, 0, sizeof w.d); /* sums from zero */
}
static size_t result_bytes(int i) { return (size_t)wg_d_regs(&hw_cases[i]) * 512; }

struct driver {
#define X(need, name, params) ws_cu_result(*name) params;
  WS_CU_FUNCTIONS(X)
#undef X
};
static int record(const char *library, const char *file) {
  static char text[32768], out[65536];
  void *lib = dlopen(library, RTLD_NOW);
  FILE *f = fopen(file, "wb");
  struct driver d;
  if (!lib || !f) return perror(lib ? file : library), 1;
#define X(need, name, params) *(void **)(void *)&d.name = dlsym(lib, #name);
  WS_CU_FUNCTIONS(X)
#undef X
  struct CUctx_st *c = NULL;
  struct CUmod_st *m = NULL;
  struct CUfunc_st *k = NULL;
  ws_cu_deviceptr p[4];
  int bad = d.cuInit(0) || d.cuDevicePrimaryCtxRetain(&c, 0) || d.cuCtxSetCurrent(c);
  for (int i = 0; i < 4 && !bad; i++) bad = d.cuMemAlloc_v2(&p[i], 1 << 20) != 0;
  for (int i = 0; i < CASES * KINDS && !bad; i++) {
    void *args[] = {&p[0], &p[1], &p[2], &p[3], &w.da, &w.db};
    make(i / KINDS, i % KINDS);
    wg_kernel(&hw_cases[i / KINDS], text, sizeof text);
    bad = d.cuModuleLoadData(&m, text) || d.cuModuleGetFunction(&k, m, "k") || d.cuMemcpyHtoD_v2(p[0], w.image, sizeof w.image) || d.cuMemcpyHtoD_v2(p[1], w.d, sizeof w.d) ||
          d.cuMemcpyHtoD_v2(p[2], w.a, sizeof w.a) || d.cuLaunchKernel(k, 1, 1, 1, 128, 1, 1, 0, NULL, args, NULL) || d.cuMemcpyDtoH_v2(out, p[3], result_bytes(i / KINDS));
    fwrite(out, 1, result_bytes(i / KINDS), f);
    if (bad) printf("case %d failed\n", i);
  }
  return fclose(f) || bad;
}

static int compare(const char *file) {
  static uint32_t got[16384], want[16384];
  static char text[32768];
  FILE *f = fopen(file, "rb");
  int differ = 0;
  if (!f) return perror(file), 1;
  emu_open();
  for (int i = 0; i < CASES * KINDS; i++) {
    const struct wg_case *c = &hw_cases[i / KINDS];
    size_t n = result_bytes(i / KINDS) / 4, bad = 0;
    double worst = 0;
    make(i / KINDS, i % KINDS);
    wg_kernel(c, text, sizeof text);
    ws_cu_deviceptr p[6] = {emu_buffer(w.image, sizeof w.image), emu_buffer(w.d, sizeof w.d), emu_buffer(w.a, sizeof w.a), emu_buffer(NULL, sizeof got), w.da, w.db};
    CHECK(emu_run_text(text, 128, 0, p, 6));
    emu_fetch(got, p[3], sizeof got);
    for (int k = 0; k < 3; k++) CHECK(cuMemFree_v2(p[k]));
    if (fread(want, 4, n, f) != n) return printf("%s is too short\n", file), 1;
    for (size_t k = 0; k < n; k++) {
      float a, b;
      memcpy(&a, &got[k], 4);
      memcpy(&b, &want[k], 4);
      if (got[k] != want[k] && bad++ < 2) printf("    %08x here, %08x there (%g, %g)\n", got[k], want[k], (double)a, (double)b);
      if (got[k] != want[k] && fabs((double)a - b) / (fabs((double)b) + 1e-30) > worst) worst = fabs((double)a - b) / (fabs((double)b) + 1e-30);
    }
    printf("m64n%dk%d%s a %d b %d %d%d kind %d: %zu of %zu differ, relative %.3g\n", c->n, c->k, c->types, c->a_span, c->b_span, c->ta, c->tb, i % KINDS, bad, n, worst);
    differ += bad != 0;
  }
  fclose(f);
  emu_close();
  return differ != 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "record")) return record(argv[2], argv[3]);
  if (argc == 3 && !strcmp(argv[1], "compare")) return compare(argv[2]);
  fprintf(stderr, "usage: %s record LIBCUDA FILE | compare FILE\n", argv[0]);
  return 2;
}
