#include "harness.h"
#include <math.h>

static struct CUctx_st *context;

void emu_check(ws_cu_result r, const char *what, const char *file, int line) {
  if (!r) return;
  const char *name = "?";
  cuGetErrorName(r, &name);
  print_message("%s:%d: %s: %s: %s\n", file, line, what, name, emu_message());
  fail();
}

const char *emu_message(void) {
  static char msg[4096];
  wsemuLastMessage(msg, sizeof msg);
  return msg;
}

void emu_open(void) {
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxPushCurrent_v2(context));
}

void emu_close(void) {
  struct CUctx_st *c;
  CHECK(cuCtxPopCurrent_v2(&c));
  CHECK(cuDevicePrimaryCtxRelease_v2(0));
}

struct CUmod_st *emu_module(const char *ptx) {
  struct CUmod_st *m = NULL;
  CHECK(cuModuleLoadData(&m, ptx));
  return m;
}

char *emu_read_file(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", EMU_DATA, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = calloc(1, (size_t)n + 1);
  assert_int_equal(fread(text, 1, (size_t)n, f), n);
  fclose(f);
  return text;
}

struct CUmod_st *emu_module_file(const char *name) {
  char *text = emu_read_file(name);
  struct CUmod_st *m = emu_module(text);
  free(text);
  return m;
}

struct CUfunc_st *emu_function(struct CUmod_st *m, const char *name) {
  struct CUfunc_st *f = NULL;
  CHECK(cuModuleGetFunction(&f, m, name));
  return f;
}

ws_cu_deviceptr emu_buffer(const void *from, size_t bytes) {
  ws_cu_deviceptr p = 0;
  CHECK(cuMemAlloc_v2(&p, bytes));
  if (from) CHECK(cuMemcpyHtoD_v2(p, from, bytes));
  return p;
}

void emu_fetch(void *to, ws_cu_deviceptr from, size_t bytes) {
  CHECK(cuMemcpyDtoH_v2(to, from, bytes));
  CHECK(cuMemFree_v2(from));
}

ws_cu_result emu_run(struct CUfunc_st *f, unsigned grid, unsigned block, unsigned shared, const ws_cu_deviceptr *params, int nparams) {
  void *args[16];
  ws_cu_deviceptr values[16];
  for (int i = 0; i < nparams; i++) {
    values[i] = params[i];
    args[i] = &values[i];
  }
  return cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, NULL, args, NULL);
}

ws_cu_result emu_run_text(const char *ptx, unsigned threads, unsigned shared, const ws_cu_deviceptr *params, int nparams) {
  struct CUmod_st *m = emu_module(ptx);
  ws_cu_result r = emu_run(emu_function(m, "k"), 1, threads, shared, params, nparams);
  CHECK(cuModuleUnload(m));
  return r;
}

uint64_t rng_next(struct rng *r) {
  r->s ^= r->s << 13;
  r->s ^= r->s >> 7;
  r->s ^= r->s << 17;
  return r->s * 0x2545f4914f6cdd1du;
}
uint32_t rng_below(struct rng *r, uint32_t n) { return (uint32_t)((rng_next(r) >> 32) * n >> 32); }

float rng_normal(struct rng *r) {
  double sum = 0;
  for (int i = 0; i < 12; i++) sum += (double)(rng_next(r) >> 11) * 0x1p-53;
  return (float)(sum - 6);
}

uint64_t rng_pattern(struct rng *r, int bits) {
  static const uint64_t f16[] = {0x7c00, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3c00, 0x8000};
  static const uint64_t f32[] = {0x7f800000, 0xff800000, 0x7fc00001, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0x3f800000, 0x80000000};
  static const uint64_t f64[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001, 1, 0x800fffffffffffff, 0x0010000000000000,
                                 0x7fefffffffffffff, 0x3ff0000000000000, 0x8000000000000000};
  uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1, v = rng_next(r);
  uint32_t edge = rng_below(r, 9);
  switch (rng_below(r, 8)) {
    case 0: return (bits == 16 ? f16 : bits == 64 ? f64 : f32)[edge] & mask;
    case 1: return (rng_below(r, 9) - 4ull) & mask;
    case 2: return (1ull << rng_below(r, (uint32_t)bits)) - rng_below(r, 2);
    default: return v & mask;
  }
}

float bf16_to_float(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
uint16_t float_to_bf16(float f) {
  if (f != f) return 0x7fff;
  uint32_t u;
  memcpy(&u, &f, 4);
  uint16_t down = (uint16_t)(u >> 16);
  uint32_t rest = u & 0xffff;
  return (uint16_t)(rest > 0x8000 || (rest == 0x8000 && (down & 1)) ? down + 1 : down);
}
