/* Modules and functions: PTX text in, kernels out. */
#include "drv.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- the log buffers of a load ---- */
struct jit_log { char *error; size_t error_size; void **error_used, **info_used; char *info; size_t info_size; };

static struct jit_log jit_options(unsigned int n, const unsigned int *options, void **values) {
  struct jit_log l = {0};
  for (unsigned int i = 0; options && values && i < n; i++) {
    if (options[i] == WS_CU_JIT_ERROR_LOG_BUFFER) l.error = values[i];
    if (options[i] == WS_CU_JIT_INFO_LOG_BUFFER) l.info = values[i];
    if (options[i] == WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) l.error_size = (unsigned int)(uintptr_t)values[i], l.error_used = &values[i];
    if (options[i] == WS_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) l.info_size = (unsigned int)(uintptr_t)values[i], l.info_used = &values[i];
  }
  return l;
}

static void write_log(const struct jit_log *l, const char *text) {
  size_t n = 0;
  if (l->error && l->error_size) {
    n = strlen(text);
    if (n >= l->error_size) n = l->error_size - 1;
    memcpy(l->error, text, n);
    l->error[n] = 0;
  }
  if (l->error_used) *l->error_used = (void *)(uintptr_t)(n ? n + 1 : 0);
  if (l->info && l->info_size) *l->info = 0;
  if (l->info_used) *l->info_used = NULL;
}

/* ---- variables ---- */
static bool place_variables(struct CUmod_st *m, char *err, size_t n) {
  size_t count = 0;
  for (struct ptx_sym *y = m->ptx->vars; y; y = y->all) count += y->space != SP_SHARED;
  m->vars = calloc(count + 1, sizeof *m->vars);
  if (!m->vars) { snprintf(err, n, "out of memory"); return false; }
  for (struct ptx_sym *y = m->ptx->vars; y; y = y->all) {
    if (y->space == SP_SHARED) continue;
    if (y->is_extern) { snprintf(err, n, "%u:%u: error: '%s' is declared .extern but nothing defines it", y->line, y->col, y->name); return false; }
    y->address = ws_emu_mem_new(y->size ? y->size : 1, 0);
    if (!y->address) { snprintf(err, n, "%u:%u: error: no device memory for '%s'", y->line, y->col, y->name); return false; }
    m->vars[m->nvars++] = y->address;
    void *at = (void *)(uintptr_t)y->address;
    if (y->init) memcpy(at, y->init, y->size);
    else memset(at, 0, y->size); /* PTX ISA "Initializers": global and const variables start as zero */
  }
  for (struct ptx_sym *y = m->ptx->vars; y; y = y->all) {
    for (size_t i = 0; i < y->nrefs; i++) {
      const struct ptx_init_ref *r = &y->refs[i];
      if (r->of->kind == SYM_FUNC) continue; /* a table of functions stays 0: a kernel that calls through it is refused */
      uint64_t a = r->of->kind == SYM_VAR && (r->of->space == SP_GLOBAL || r->of->space == SP_CONST) ? r->of->address : 0;
      if (!a) { snprintf(err, n, "%u:%u: error: '%s' has no address to initialise '%s' with", y->line, y->col, r->of->name, y->name); return false; }
      a = (a + (uint64_t)r->addend) >> r->shift;
      memcpy((char *)(uintptr_t)y->address + r->offset, &a, r->bytes <= 8 ? r->bytes : 8);
    }
    if (y->space == SP_CONST) ws_emu_mem_seal(y->address);
  }
  return true;
}

/* ---- load and unload ---- */
static ws_cu_result load(struct CUctx_st *c, struct CUmod_st **module, const char *image, char *err, size_t n) {
  static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'}, fat[4] = {0x50, 0xed, 0x55, 0xba};
  if (!memcmp(image, elf, 1) || !memcmp(image, fat, 1)) {
    snprintf(err, n, "the image is machine code or a fat binary: the emulator runs PTX text only");
    return WS_CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  struct CUmod_st *m = calloc(1, sizeof *m);
  if (!m) return WS_CUDA_ERROR_OUT_OF_MEMORY;
  m->ctx = c;
  m->ptx = ws_emu_parse(image, strlen(image), err, n);
  ws_cu_result r = m->ptx ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_PTX;
  if (!r && m->ptx->version > DRV_MAX_PTX) {
    snprintf(err, n, "1:1: error: .version %u.%u is newer than the emulator's %u.%u", m->ptx->version / 10, m->ptx->version % 10,
             DRV_MAX_PTX / 10u, DRV_MAX_PTX % 10u);
    r = WS_CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  const char *why = r ? NULL : ws_emu_target_refused(m->ptx->sm, m->ptx->sm_suffix);
  if (why) {
    snprintf(err, n, "1:1: error: .target sm_%u%.1s %s", m->ptx->sm, &m->ptx->sm_suffix, why);
    r = WS_CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (!r && !place_variables(m, err, n)) r = WS_CUDA_ERROR_INVALID_PTX;
  m->next = c->modules;
  c->modules = m;
  if (r) {
    ws_emu_drop_module(m);
    return r;
  }
  *module = m;
  return WS_CUDA_SUCCESS;
}

void ws_emu_drop_module(struct CUmod_st *m) {
  struct CUmod_st **at = &m->ctx->modules;
  while (*at && *at != m) at = &(*at)->next;
  if (*at) *at = m->next;
  if (m->ctx->culprit == m) {
    m->ctx->broken = 0;
    m->ctx->culprit = NULL;
  }
  while (m->funcs) {
    struct CUfunc_st *f = m->funcs;
    m->funcs = f->next;
    ws_emu_kernel_free(f->kernel);
    free(f->unwritten);
    free(f);
  }
  for (size_t i = 0; i < m->nvars; i++) ws_emu_mem_free(m->vars[i], 0);
  free(m->vars);
  ws_emu_module_free(m->ptx);
  free(m);
}

static struct CUmod_st *find_module(const struct CUmod_st *m) {
  for (struct CUctx_st *c = ws_emu_drv.contexts; c; c = c->next)
    for (struct CUmod_st *i = c->modules; i; i = i->next)
      if (i == m) return i;
  return NULL;
}

bool ws_emu_is_function(const struct CUfunc_st *f) {
  for (struct CUctx_st *c = ws_emu_drv.contexts; c; c = c->next)
    for (struct CUmod_st *m = c->modules; m; m = m->next)
      for (struct CUfunc_st *i = m->funcs; i; i = i->next)
        if (i == f) return true;
  return false;
}

API cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned int noptions, unsigned int *options, void **values) {
  struct CUctx_st *c;
  char err[1024] = "";
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!module || !image) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  struct jit_log log = jit_options(noptions, options, values);
  r = load(c, module, image, err, sizeof err);
  if (r) ws_emu_say(r, "%s", err);
  write_log(&log, r ? err : "");
  return ws_emu_leave(r);
}

API cuModuleLoadData(struct CUmod_st **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, NULL, NULL); }

API cuModuleUnload(struct CUmod_st *module) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!find_module(module)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  ws_emu_drop_module(module);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!function || !name) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (!find_module(module)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  struct ptx_func *f = ws_emu_find_func(module->ptx, name);
  if (!f || !f->is_entry) return ws_emu_leave(ws_emu_say(WS_CUDA_ERROR_NOT_FOUND, "the module has no entry '%s'", name));
  struct CUfunc_st *h = module->funcs;
  while (h && h->f != f) h = h->next;
  if (!h && (h = calloc(1, sizeof *h))) {
    *h = (struct CUfunc_st){.next = module->funcs, .module = module, .f = f, .max_dynamic = -1};
    module->funcs = h;
  }
  *function = h;
  return ws_emu_leave(h ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY);
}

API cuModuleGetGlobal_v2(ws_cu_deviceptr *address, size_t *bytes, struct CUmod_st *module, const char *name) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!name) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (!find_module(module)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  for (struct ptx_sym *y = module->ptx->vars; y; y = y->all)
    if (y->space != SP_SHARED && y->depth == 0 && !strcmp(y->name, name)) {
      if (address) *address = y->address;
      if (bytes) *bytes = y->size;
      return ws_emu_leave(WS_CUDA_SUCCESS);
    }
  return ws_emu_leave(WS_CUDA_ERROR_NOT_FOUND);
}

/* ---- functions ---- */
ws_cu_result ws_emu_function_kernel(struct CUfunc_st *f) {
  int code = 0;
  char err[1024];
  if (f->kernel) return WS_CUDA_SUCCESS;
  f->kernel = ws_emu_decode(f->module->ptx, f->f, ws_emu_drv.options.uninitialised, &code, err, sizeof err);
  return f->kernel ? WS_CUDA_SUCCESS : ws_emu_say((ws_cu_result)code, "kernel '%s': %s", f->f->sym->name, err);
}

static int dynamic_limit(const struct CUfunc_st *f) {
  int fixed = f->kernel ? (int)f->kernel->shared_static : 0;
  return f->max_dynamic >= 0 ? f->max_dynamic : DRV_SHARED_DEFAULT - fixed;
}

/* What a query can answer before the kernel has been decoded is answered; a kernel that cannot be decoded has no sizes. */
API cuFuncGetAttribute(int *value, unsigned int attribute, struct CUfunc_st *function) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!value) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (!ws_emu_is_function(function)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  ws_emu_function_kernel(function);
  const struct kernel *k = function->kernel;
  const struct ptx_func *f = function->f;
  const uint32_t *t = f->reqntid[0] ? f->reqntid : f->maxntid;
  uint64_t threads = t[0] ? (uint64_t)t[0] * t[1] * t[2] : DRV_MAX_THREADS;
  int sm = (int)(function->module->ptx->sm);
  *value = 0;
  switch (attribute) {
    case WS_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = threads < DRV_MAX_THREADS ? (int)threads : DRV_MAX_THREADS; break;
    case WS_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = k ? (int)k->shared_static : 0; break;
    case WS_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = k ? (int)k->local_bytes : 0; break;
    case WS_CU_FUNC_ATTRIBUTE_NUM_REGS: *value = f->maxnreg ? (int)f->maxnreg : f->nregs < 255 ? (int)f->nregs : 255; break;
    case WS_CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = sm; break;
    case WS_CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)ws_emu_device()->sm; break;
    case WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = dynamic_limit(function); break;
    case WS_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
    case WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function->non_portable; break;
    default: break;
  }
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuFuncSetAttribute(struct CUfunc_st *function, unsigned int attribute, int value) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!ws_emu_is_function(function)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  if (attribute == WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    ws_emu_function_kernel(function);
    int fixed = function->kernel ? (int)function->kernel->shared_static : 0;
    if (value < 0 || value > DRV_SHARED_OPTIN - fixed) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
    function->max_dynamic = value;
  }
  if (attribute == WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) function->non_portable = value != 0;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function, int block_size, size_t dynamic_shared) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!blocks || block_size <= 0 || block_size > DRV_MAX_THREADS) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (!ws_emu_is_function(function)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  ws_emu_function_kernel(function);
  size_t fixed = function->kernel ? function->kernel->shared_static : 0, shared = fixed + 1024;
  if (dynamic_shared > (size_t)dynamic_limit(function)) {
    *blocks = 0;
    return ws_emu_leave(WS_CUDA_SUCCESS);
  }
  shared += dynamic_shared;
  size_t by_threads = 2048 / ((size_t)(block_size + 31) / 32 * 32), by_shared = DRV_SHARED_SM / shared;
  size_t n = by_threads < by_shared ? by_threads : by_shared;
  *blocks = n < 32 ? (int)n : 32;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}
