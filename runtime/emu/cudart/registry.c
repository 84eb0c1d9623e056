/* What the compiler's start-up code registers. A program's constructors run before main and must not need a device, so modules are
 * loaded when one of their kernels or variables is first used: all of a binary at once, from the first PTX that the device takes. */
#include "cudart.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rt_binary {
  struct rt_binary *next;
  const void *wrapper;
  struct CUmod_st *module;
  int result; /* of the load, once tried */
  bool tried;
};
struct rt_kernel {
  struct rt_kernel *next;
  struct rt_binary *binary;
  const void *host;
  const char *name;
  struct CUfunc_st *function;
};
struct rt_variable {
  struct rt_variable *next;
  struct rt_binary *binary;
  const void *host;
  void **managed; /* a managed variable's host pointer */
  const char *name;
};

/* The process's registrations, as the interface has no handle for them. The lock guards all of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_binary *binaries;
static struct rt_kernel *kernels;
static struct rt_variable *variables;
static struct CUctx_st *context;
static _Thread_local bool current;

static int begin(void) {
  if (!context) {
    int r = (int)cuInit(0);
    if (!r) r = (int)cuDevicePrimaryCtxRetain(&context, 0);
    if (r) return r;
  }
  if (current) return 0;
  struct CUctx_st *c = NULL;
  int r = (int)cuCtxGetCurrent(&c); /* a context that the program made by the driver API is left */
  if (!r && !c) r = (int)cuCtxSetCurrent(context);
  current = !r;
  return r;
}

int ws_cudart_begin(void) {
  if (current) return 0;
  pthread_mutex_lock(&lock);
  int r = begin();
  pthread_mutex_unlock(&lock);
  return r;
}

/* The first of the binary's PTX texts, newest first, that the driver takes. */
static int load(struct rt_binary *b) {
  char why[4096] = "", log[4096] = "";
  if (b->tried) return b->result;
  b->tried = true;
  b->result = WS_CUDA_ERROR_NO_BINARY_FOR_GPU;
  for (unsigned int i = 0; !b->module; i++) {
    char *text = ws_cudart_ptx(b->wrapper, i, why, sizeof why);
    if (!text) break;
    unsigned int options[] = {WS_CU_JIT_ERROR_LOG_BUFFER, WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    b->result = (int)cuModuleLoadDataEx(&b->module, text, 2, options, values);
    if (b->result) b->module = NULL;
    free(text);
  }
  if (!b->module) ws_cudart_say(b->result, *log ? log : why);
  for (struct rt_variable *v = variables; b->module && v; v = v->next) {
    ws_cu_deviceptr address;
    if (v->binary == b && v->managed && !cuModuleGetGlobal_v2(&address, NULL, b->module, v->name)) *v->managed = (void *)(uintptr_t)address;
  }
  return b->result;
}

int ws_cudart_broken(void) {
  int r = 0;
  pthread_mutex_lock(&lock);
  for (const struct rt_binary *b = binaries; b && !r; b = b->next)
    if (b->tried && !b->module) r = b->result;
  pthread_mutex_unlock(&lock);
  return r;
}

/* ---- what the compiler calls ---- */
#define EXPORT __attribute__((visibility("default")))
EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  struct rt_binary *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  pthread_mutex_lock(&lock);
  *b = (struct rt_binary){.next = binaries, .wrapper = wrapper};
  binaries = b;
  pthread_mutex_unlock(&lock);
  return (void **)(void *)b;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle) {
  struct rt_binary *b = (struct rt_binary *)(void *)handle;
  pthread_mutex_lock(&lock);
  for (struct rt_kernel **k = &kernels; *k;) {
    struct rt_kernel *gone = *k;
    if (gone->binary != b) { k = &gone->next; continue; }
    *k = gone->next;
    free(gone);
  }
  for (struct rt_variable **v = &variables; *v;) {
    struct rt_variable *gone = *v;
    if (gone->binary != b) { v = &gone->next; continue; }
    *v = gone->next;
    free(gone);
  }
  struct rt_binary **at = &binaries;
  while (*at && *at != b) at = &(*at)->next;
  if (*at) {
    *at = b->next;
    if (b->module) cuModuleUnload(b->module);
    free(b);
  }
  if (!binaries && context) { /* the last binary of the program: nothing of ours is used any more */
    cuDevicePrimaryCtxRelease_v2(0);
    context = NULL;
  }
  pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block,
                                   void *grid, int *warp);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block,
                                   void *grid, int *warp) {
  struct rt_kernel *k = calloc(1, sizeof *k);
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  if (!k) return;
  pthread_mutex_lock(&lock);
  *k = (struct rt_kernel){.next = kernels, .binary = (struct rt_binary *)(void *)handle, .host = host, .name = name};
  kernels = k;
  pthread_mutex_unlock(&lock);
}

static void add_variable(void **handle, const void *host, void **managed, const char *name) {
  struct rt_variable *v = calloc(1, sizeof *v);
  if (!v) return;
  pthread_mutex_lock(&lock);
  *v = (struct rt_variable){.next = variables, .binary = (struct rt_binary *)(void *)handle, .host = host, .managed = managed, .name = name};
  variables = v;
  pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global) {
  (void)device, (void)external, (void)bytes, (void)constant, (void)global;
  add_variable(handle, host, NULL, name);
}

EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global);
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global) {
  (void)device, (void)external, (void)bytes, (void)constant, (void)global;
  add_variable(handle, host, host, name);
}

/* Asked before a managed variable's first use by the host. */
EXPORT char __cudaInitModule(void **handle);
EXPORT char __cudaInitModule(void **handle) {
  pthread_mutex_lock(&lock);
  int r = begin();
  if (!r && handle) r = load((struct rt_binary *)(void *)handle);
  pthread_mutex_unlock(&lock);
  return !r;
}

/* ---- what the other files ask ---- */
struct rt_kernel *ws_cudart_kernel(const void *host_function) {
  pthread_mutex_lock(&lock);
  struct rt_kernel *k = kernels;
  while (k && k->host != host_function && k != host_function) k = k->next;
  pthread_mutex_unlock(&lock);
  return k;
}

int ws_cudart_function(const void *host_function, struct CUfunc_st **f) {
  struct rt_kernel *k = ws_cudart_kernel(host_function);
  *f = NULL;
  if (!k) return RT_INVALID_DEVICE_FUNCTION;
  pthread_mutex_lock(&lock);
  int r = begin();
  if (!r && !k->function) r = load(k->binary);
  if (!r && !k->function) r = (int)cuModuleGetFunction(&k->function, k->binary->module, k->name);
  if (!r) *f = k->function;
  pthread_mutex_unlock(&lock);
  return r;
}

int ws_cudart_symbol(const void *host_variable, ws_cu_deviceptr *address, size_t *bytes) {
  int r = RT_INVALID_SYMBOL;
  pthread_mutex_lock(&lock);
  struct rt_variable *v = variables;
  while (v && v->host != host_variable) v = v->next;
  if (v && !(r = begin()) && !(r = load(v->binary)) && cuModuleGetGlobal_v2(address, bytes, v->binary->module, v->name)) r = RT_INVALID_SYMBOL;
  pthread_mutex_unlock(&lock);
  return r;
}
