/* Initialisation, the device, contexts, error texts, look-up of entry points. */
#define _GNU_SOURCE
#include "drv.h"
#include "memory.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct drv ws_emu_drv = {.lock = PTHREAD_MUTEX_INITIALIZER, .options = {.schedule = SCHED_LATE}};

enum { STACK = 64 };
static _Thread_local struct CUctx_st *stack[STACK];
static _Thread_local int depth;

double ws_emu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ws_cu_result ws_emu_say(ws_cu_result r, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(ws_emu_drv.message, sizeof ws_emu_drv.message, fmt, ap);
  va_end(ap);
  return r;
}

ws_cu_result ws_emu_enter(void) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  if (ws_emu_drv.initialized) return WS_CUDA_SUCCESS;
  return ws_emu_leave(WS_CUDA_ERROR_NOT_INITIALIZED);
}

ws_cu_result ws_emu_leave(ws_cu_result r) {
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return r;
}

ws_cu_result ws_emu_enter_ctx(struct CUctx_st **ctx) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  *ctx = depth ? stack[depth - 1] : NULL;
  if (!*ctx) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  return (*ctx)->alive ? WS_CUDA_SUCCESS : ws_emu_leave(WS_CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

ws_cu_result ws_emu_enter_work(struct CUctx_st **ctx) {
  ws_cu_result r = ws_emu_enter_ctx(ctx);
  if (r) return r;
  return (*ctx)->broken ? ws_emu_leave((*ctx)->broken) : WS_CUDA_SUCCESS;
}

static bool is_context(const struct CUctx_st *c) {
  for (struct CUctx_st *i = ws_emu_drv.contexts; i; i = i->next)
    if (i == c && i->alive) return true;
  return false;
}

/* ---- initialisation and the device ---- */
const struct drv_device *ws_emu_device(void) {
  static const struct drv_device devices[] = {
      [DEV_AUTO] = {"auto", 90, 132}, [DEV_90] = {"sm_90", 90, 132}, [DEV_100] = {"sm_100", 100, 148}, [DEV_103] = {"sm_103", 103, 148}};
  return &devices[ws_emu_drv.options.device];
}

/* PTX ISA ".target": plain targets run on all later devices, `f` within the family, `a` on that very one. */
const char *ws_emu_target_refused(uint32_t sm, char suffix) {
  const struct drv_device *d = ws_emu_device();
  if (sm > DRV_MAX_SM) return "is newer than the emulated device";
  if (ws_emu_drv.options.device == DEV_AUTO) return NULL;
  if (suffix == 'a' ? sm != d->sm : sm > d->sm || (suffix == 'f' && sm / 10 != d->sm / 10)) return "does not run on the device that option \"device\" names";
  return NULL;
}

API cuInit(unsigned int flags) {
  if (flags) return WS_CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&ws_emu_drv.lock);
  if (!ws_emu_drv.initialized) {
    static const char *const names[] = {"schedule", "threads", "watchdog", "uninitialised", "race", "device", "tensor", "trace"};
    static const char *const vars[] = {"WSEMU_SCHEDULE", "WSEMU_THREADS", "WSEMU_WATCHDOG", "WSEMU_UNINITIALISED", "WSEMU_RACE", "WSEMU_DEVICE", "WSEMU_TENSOR", "WSEMU_TRACE"};
    ws_emu_drv.initialized = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      const char *v = getenv(vars[i]);
      if (v && ws_emu_set_option(names[i], v)) ws_emu_say(0, "%s has an unknown value", vars[i]);
    }
  }
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuDriverGetVersion(int *version) {
  if (!version) return WS_CUDA_ERROR_INVALID_VALUE;
  *version = DRV_VERSION;
  return WS_CUDA_SUCCESS;
}

API cuDeviceGetCount(int *count) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (count) *count = 1;
  return ws_emu_leave(count ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE);
}

API cuDeviceGet(ws_cu_device *device, int ordinal) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (!device) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (ordinal) return ws_emu_leave(WS_CUDA_ERROR_INVALID_DEVICE);
  *device = 0;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuDeviceGetName(char *name, int size, ws_cu_device device) {
  if (!name || size <= 0) return WS_CUDA_ERROR_INVALID_VALUE;
  if (device) return WS_CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, (size_t)size, "warpscore CPU emulator");
  return WS_CUDA_SUCCESS;
}

API cuDeviceTotalMem_v2(size_t *bytes, ws_cu_device device) {
  ws_cu_result r = ws_emu_enter();
  size_t available;
  if (r) return r;
  if (!bytes || device) return ws_emu_leave(bytes ? WS_CUDA_ERROR_INVALID_DEVICE : WS_CUDA_ERROR_INVALID_VALUE);
  ws_emu_mem_info(&available, bytes);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuDeviceComputeCapability(int *major, int *minor, ws_cu_device device) {
  if (device) return WS_CUDA_ERROR_INVALID_DEVICE;
  if (!major || !minor) return WS_CUDA_ERROR_INVALID_VALUE;
  *major = (int)(ws_emu_device()->sm / 10);
  *minor = (int)(ws_emu_device()->sm % 10);
  return WS_CUDA_SUCCESS;
}

API cuDeviceGetAttribute(int *value, unsigned int attribute, ws_cu_device device) {
  static const struct { unsigned int attribute; int value; } list[] = {
      {WS_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, DRV_MAX_THREADS}, {WS_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024}, {WS_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff}, {WS_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535}, {WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, DRV_SHARED_DEFAULT},
      {WS_CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536}, {WS_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff}, {WS_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {WS_CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000}, 
      {WS_CU_DEVICE_ATTRIBUTE_INTEGRATED, 0}, {WS_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0}, {WS_CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {WS_CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0}, {WS_CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0}, {WS_CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
      {WS_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000}, {WS_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
      {WS_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20}, {WS_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {WS_CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1}, {WS_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {WS_CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, DRV_SHARED_SM},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536}, {WS_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
      {WS_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0}, {WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, DRV_SHARED_OPTIN},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32}, {WS_CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
      {WS_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0}, {WS_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
      {WS_CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1}};
  if (!value) return WS_CUDA_ERROR_INVALID_VALUE;
  if (device) return WS_CUDA_ERROR_INVALID_DEVICE;
  *value = 0; /* an attribute that is not listed names something the emulator does not have */
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].attribute == attribute) *value = list[i].value;
  const struct drv_device *d = ws_emu_device();
  if (attribute == WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = (int)(d->sm / 10);
  if (attribute == WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) *value = (int)(d->sm % 10);
  if (attribute == WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *value = (int)d->sms;
  return WS_CUDA_SUCCESS;
}

/* ---- contexts ---- */
static struct CUctx_st *new_context(bool primary) {
  struct CUctx_st *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  *c = (struct CUctx_st){.next = ws_emu_drv.contexts, .alive = true, .primary = primary};
  ws_emu_drv.contexts = c;
  return c;
}

void ws_emu_drop_context(struct CUctx_st *c) {
  while (c->modules) ws_emu_drop_module(c->modules);
  for (size_t i = 0; i < c->nallocs; i++) ws_emu_mem_free(c->allocs[i] & ~(uint64_t)1, c->allocs[i] & 1 ? MEM_HOST : 0);
  free(c->allocs);
  c->allocs = NULL;
  c->nallocs = c->cap_allocs = 0;
  for (struct CUstream_st **s = &ws_emu_drv.streams; *s;) {
    struct CUstream_st *gone = *s;
    if (gone->ctx != c) { s = &gone->next; continue; }
    *s = gone->next;
    free(gone);
  }
  for (struct CUevent_st **e = &ws_emu_drv.events; *e;) {
    struct CUevent_st *gone = *e;
    if (gone->ctx != c) { e = &gone->next; continue; }
    *e = gone->next;
    free(gone);
  }
  c->broken = 0;
  c->culprit = NULL;
  c->uses = 0;
}

API cuDevicePrimaryCtxRetain(struct CUctx_st **context, ws_cu_device device) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (!context) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (device) return ws_emu_leave(WS_CUDA_ERROR_INVALID_DEVICE);
  if (!ws_emu_drv.primary) ws_emu_drv.primary = new_context(true);
  if (!ws_emu_drv.primary) return ws_emu_leave(WS_CUDA_ERROR_OUT_OF_MEMORY);
  ws_emu_drv.primary->alive = true;
  ws_emu_drv.primary->uses++;
  *context = ws_emu_drv.primary;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuDevicePrimaryCtxRelease_v2(ws_cu_device device) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  struct CUctx_st *c = ws_emu_drv.primary;
  if (device) return ws_emu_leave(WS_CUDA_ERROR_INVALID_DEVICE);
  if (!c || !c->uses) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  if (!--c->uses) {
    ws_emu_drop_context(c);
    c->alive = false;
  }
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuDevicePrimaryCtxSetFlags_v2(ws_cu_device device, unsigned int flags) {
  (void)flags;
  return device ? WS_CUDA_ERROR_INVALID_DEVICE : WS_CUDA_SUCCESS;
}

API cuDevicePrimaryCtxGetState(ws_cu_device device, unsigned int *flags, int *active) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (device) return ws_emu_leave(WS_CUDA_ERROR_INVALID_DEVICE);
  if (flags) *flags = 0;
  if (active) *active = ws_emu_drv.primary && ws_emu_drv.primary->alive;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, ws_cu_device device) {
  ws_cu_result r = ws_emu_enter();
  (void)flags;
  if (r) return r;
  if (!context || depth == STACK) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (device) return ws_emu_leave(WS_CUDA_ERROR_INVALID_DEVICE);
  *context = new_context(false);
  if (!*context) return ws_emu_leave(WS_CUDA_ERROR_OUT_OF_MEMORY);
  stack[depth++] = *context;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxDestroy_v2(struct CUctx_st *context) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (!is_context(context) || context->primary) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  ws_emu_drop_context(context);
  context->alive = false;
  if (depth && stack[depth - 1] == context) depth--;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxSetCurrent(struct CUctx_st *context) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (context && !is_context(context)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  if (!context) depth -= depth > 0;
  else if (depth) stack[depth - 1] = context;
  else stack[depth++] = context;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxGetCurrent(struct CUctx_st **context) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (context) *context = depth ? stack[depth - 1] : NULL;
  return ws_emu_leave(context ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE);
}

API cuCtxPushCurrent_v2(struct CUctx_st *context) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (!is_context(context)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  if (depth == STACK) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  stack[depth++] = context;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxPopCurrent_v2(struct CUctx_st **context) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  if (!depth) return ws_emu_leave(WS_CUDA_ERROR_INVALID_CONTEXT);
  depth--;
  if (context) *context = stack[depth];
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxSynchronize(void) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  return r ? r : ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuCtxGetDevice(ws_cu_device *device) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (device) *device = 0;
  return ws_emu_leave(device ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE);
}

/* ---- error texts ---- */
static const struct { ws_cu_result value; const char *name, *text; } results[] = {
#define X(name, value, text) {value, #name, text},
    WS_CU_RESULTS(X)
#undef X
};

API cuGetErrorName(ws_cu_result result, const char **name) {
  if (!name) return WS_CUDA_ERROR_INVALID_VALUE;
  *name = NULL;
  for (size_t i = 0; i < sizeof results / sizeof *results; i++)
    if (results[i].value == result) *name = results[i].name;
  return *name ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

API cuGetErrorString(ws_cu_result result, const char **text) {
  if (!text) return WS_CUDA_ERROR_INVALID_VALUE;
  *text = NULL;
  for (size_t i = 0; i < sizeof results / sizeof *results; i++)
    if (results[i].value == result) *text = results[i].text;
  return *text ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

/* ---- entry points by name, with or without the version suffix ---- */
#define X(need, name, params) API name params;
WS_CU_FUNCTIONS(X)
#undef X
typedef void any_function(void);
static const struct { const char *name; any_function *fn; } functions[] = {
#define X(need, name, params) {#name, (any_function *)name},
    WS_CU_FUNCTIONS(X)
#undef X
};

static bool same_name(const char *exported, const char *asked) {
  size_t n = strlen(asked);
  return !strncmp(exported, asked, n) && (!exported[n] || (exported[n] == '_' && exported[n + 1] == 'v' && exported[n + 3] == 0));
}

API cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, unsigned int *found) {
  (void)version;
  (void)flags;
  if (!name || !function) return WS_CUDA_ERROR_INVALID_VALUE;
  *function = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (same_name(functions[i].name, name)) memcpy(function, &functions[i].fn, sizeof *function);
  if (found) *found = *function ? 0 : 1;
  return *function || found ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
