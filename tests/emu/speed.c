/* How fast the emulator runs an attention forward of 1 x 2 x 512 x 512, head dim 128: warp instructions a second and
 * core; and how long a tile of 128 x 64 bf16 takes through a tensor map. Prints its numbers; fails only below a loose floor, so
 * that a loaded machine does not. */
#include "harness.h"
#include <math.h>

/* One thread loads the same tile again and again and waits for each. */
static void time_tiles(void) {
  enum { TILES = 2000, ROWS = 1024 };
  static const char text[] =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 tm[128])\n{\n.shared .align 1024 .b8 s[16384];\n"
      ".shared .align 8 .b64 bar;\n.reg .pred p;\n.reg .b32 i, row, par;\n.reg .b64 map;\nmov.b64 map, tm;\ncvta.param.u64 map, map;\n"
      "mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nmov.u32 i, 0;\n"
      "L: and.b32 par, i, 1;\nand.b32 row, i, 511;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16384;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [map, {0, row}], [bar];\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], par;\n@!p bra W;\nadd.u32 i, i, 1;\nsetp.lt.u32 p, i, 2000;\n@p bra L;\nret;\n}\n";
  static const char *const schedules[] = {"early", "late"};
  const uint64_t extents[] = {64, ROWS}, strides[] = {128};
  const uint32_t box[] = {64, 128}, steps[] = {1, 1};
  _Alignas(128) uint8_t map[128];
  struct CUmod_st *m = emu_module(text);
  ws_cu_deviceptr image = emu_buffer(NULL, ROWS * 128);
  CHECK(cuTensorMapEncodeTiled((void *)map, WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)image, extents, strides, box, steps, 0,
                               WS_CU_TENSOR_MAP_SWIZZLE_128B, 0, 0));
  void *args[] = {map};
  for (int i = 0; i < 2; i++) {
    wsemuSetOption("schedule", schedules[i]);
    wsemuResetStats();
    CHECK(cuLaunchKernel(emu_function(m, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    struct wsemu_stats s = {.size = sizeof s};
    wsemuGetStats(&s);
    printf("%.2f us a tile of 128 x 64 bf16 (%s)\n", s.kernel_seconds / TILES * 1e6, schedules[i]);
  }
  wsemuSetOption("schedule", "late");
  CHECK(cuModuleUnload(m));
  CHECK(cuMemFree_v2(image));
}

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
  time_tiles();
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
