/* exp2 on the FMA pipe, the template as it is, on the emulator: a million arguments against 2^x in double precision, and the
 * ends of the range. The error that templates/common/arith.ptx states is held here. */
#include "harness.h"
#include "ptx/template.h"
#include <math.h>

enum { COUNT = 1 << 20 };
static const double stated = 9e-5;

static const char frame[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {\n"
    "  .reg .b64 %%a<4>;\n  .reg .b32 %%i<4>;\n  .reg .f32 %%f<4>;\n"
    "  ld.param.u64 %%a0, [x];\n  ld.param.u64 %%a1, [y];\n"
    "  mov.u32 %%i0, %%ctaid.x;\n  mov.u32 %%i1, %%ntid.x;\n  mov.u32 %%i2, %%tid.x;\n  mad.lo.u32 %%i0, %%i0, %%i1, %%i2;\n"
    "  mul.wide.u32 %%a2, %%i0, 4;\n  add.s64 %%a0, %%a0, %%a2;\n  add.s64 %%a1, %%a1, %%a2;\n"
    "  ld.global.f32 %%f0, [%%a0];\n%s  st.global.f32 [%%a1], %%f1;\n  ret;\n}\n";

static struct CUmod_st *module(struct ws_arena *a) {
  struct ws_diags d = {.arena = a};
  struct ws_templates *t = ws_templates_load(NULL, a, &d);
  assert_non_null(t);
  struct ws_buf body = {.arena = a};
  const char *args[] = {"%f1", "%f0", "%f2", "%f3", "%i2", "%i3"};
  assert_true(ws_template_expand(t, "exp2_poly", args, sizeof args / sizeof *args, NULL, 0, &body, &d) > 0);
  char *text = malloc(1 << 14);
  snprintf(text, 1 << 14, frame, body.s);
  struct CUmod_st *m = emu_module(text);
  free(text);
  return m;
}

static void run(struct CUmod_st *m, const float *x, float *y) {
  ws_cu_deviceptr in = emu_buffer(x, COUNT * sizeof *x), out = emu_buffer(NULL, COUNT * sizeof *y), params[] = {in, out};
  CHECK(emu_run(emu_function(m, "k"), COUNT / 256, 256, 0, params, 2));
  emu_fetch(y, out, COUNT * sizeof *y);
  CHECK(cuMemFree_v2(in));
}

static void a_million(void **state) {
  (void)state;
  struct ws_arena arena = {0};
  if (setjmp(arena.oom)) abort();
  static float x[COUNT], y[COUNT];
  struct rng r = {7};
  for (int i = 0; i < COUNT; i++) x[i] = i < 1000 ? (float)(i - 900) : -126.0f + (float)(rng_below(&r, 1u << 24)) * (254.0f - 1e-5f) / (float)(1 << 24);
  for (int i = 0; i < COUNT / 2; i++) x[COUNT / 2 + i] = -(float)rng_below(&r, 1u << 24) / (float)(1 << 20); /* where weights are: 0 to -16 */
  x[0] = -INFINITY, x[1] = -127, x[2] = -1e30f, x[3] = 0, x[4] = -0.0f, x[5] = -126.5f, x[6] = 8;
  for (int i = 7; i < 1000; i++)
    if (x[i] < -126 || x[i] >= 128) x[i] = 1;
  emu_open();
  run(module(&arena), x, y);
  emu_close();
  double worst = 0;
  for (int i = 7; i < COUNT; i++) {
    double error = fabs(y[i] / exp2(x[i]) - 1);
    if (error > worst) worst = error;
  }
  print_message("largest relative error of %d arguments: %.3e\n", COUNT - 7, worst);
  assert_true(worst < stated && worst > stated / 2);
  assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0);
  assert_true(y[3] == 1 && y[4] == 1 && y[6] == 256);
  assert_true(fabs(y[5] - exp2(-126.5)) < 0x1p-127);
  ws_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_million)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
