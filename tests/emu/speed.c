/* How fast the emulator runs an attention forward of 1 x 2 x 512 x 512, head dim 128: warp instructions a second and
 * core. Prints its numbers; fails only below a loose floor, so that a loaded machine does not. */
#include "harness.h"
#include <math.h>

int main(void) {
  enum { H = 2, S = 512, D = 128 };
  emu_open();
  struct CUmod_st *m = emu_module_file("attention.ptx");
  struct CUfunc_st *f = emu_function(m, "attention");
  cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 3 * 64 * 256);
  size_t bytes = (size_t)H * S * D * 2;
  uint16_t *x = malloc(bytes);
  struct rng r = {29};
  ws_cu_deviceptr p[4];
  for (int i = 0; i < 4; i++) {
    for (size_t k = 0; k < bytes / 2; k++) x[k] = float_to_bf16(rng_normal(&r));
    p[i] = emu_buffer(i < 3 ? x : NULL, bytes);
  }
  int rows = S;
  float scale = (float)(1.4426950408889634 / sqrt(D));
  void *args[] = {&p[0], &p[1], &p[2], &p[3], &rows, &rows, &scale};
  double best = 0;
  for (int i = 0; i < 3; i++) {
    wsemuResetStats();
    if (cuLaunchKernel(f, S / 64, H, 1, 128, 1, 1, 3 * 64 * 256, NULL, args, NULL)) {
      printf("launch failed: %s\n", emu_message());
      return 1;
    }
    struct wsemu_stats s = {.size = sizeof s};
    wsemuGetStats(&s);
    double rate = (double)s.warp_instructions / s.core_seconds;
    printf("%.3f s wall, %.3f s core, %llu warp instructions, %.1f million a second and core, %.0f MFLOP in mma, %llu exponentials\n",
           s.kernel_seconds, s.core_seconds, (unsigned long long)s.warp_instructions, rate * 1e-6, (double)s.tensor_flops * 1e-6,
           (unsigned long long)s.exponentials);
    if (rate > best) best = rate;
  }
  free(x);
  cuModuleUnload(m);
  for (int i = 0; i < 4; i++) cuMemFree_v2(p[i]);
  emu_close();
  double floor = FLOOR;
  if (best < floor) printf("slower than %.1f million a second and core\n", floor * 1e-6);
  return best < floor;
}
