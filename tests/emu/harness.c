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

/* For test_sections.c: the rows of the instruction table that this program has run. */
static void note_rows(void) {
  const char *path = getenv("EMU_ROWS");
  FILE *f = path ? fopen(path, "w") : NULL;
  for (unsigned int row = 0; f && wsemuRowsRun(row) >= 0; row++)
    if (wsemuRowsRun(row)) fprintf(f, "%u\n", row);
  if (f) fclose(f);
}

void emu_close(void) {
  struct CUctx_st *c;
  note_rows();
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
