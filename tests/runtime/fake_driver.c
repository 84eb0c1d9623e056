#include "fake_driver.h"
#include "cuda_abi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define CU EXPORT ws_cu_result

static struct fake_driver fake;
static void *owned[64]; /* alive, so that what a test must leave behind can be swept up */

static void *own(void *p) {
  for (size_t i = 0; i < 64; i++)
    if (!owned[i]) return owned[i] = p;
  abort();
}

static void disown(void *p) {
  for (size_t i = 0; i < 64; i++)
    if (owned[i] == p) owned[i] = NULL;
  free(p);
}

static void sweep(void) {
  for (size_t i = 0; i < 64; i++) disown(owned[i]);
}
static _Thread_local struct CUctx_st *stack[16];
static _Thread_local int depth;

EXPORT struct fake_driver *fake_driver(void);
struct fake_driver *fake_driver(void) {
  fake.sweep = sweep;
  return &fake;
}

static ws_cu_result enter(const char *name) {
  int n = atomic_fetch_add(&fake.calls, 1) + 1;
  if ((fake.fail_name && !strcmp(fake.fail_name, name)) || (fake.fail_nth && n == fake.fail_nth)) {
    fake.failed = name;
    return fake.fail_result;
  }
  return WS_CUDA_SUCCESS;
}
/* A call that makes something fails before it is made; one that ends something reports the failure afterwards. */
#define BEGIN(name)                                                                                                    \
  ws_cu_result result_ = enter(#name);                                                                                 \
  if (result_) return result_
#define RELEASE(name, counter)                                                                                         \
  ws_cu_result result_ = enter(#name);                                                                                 \
  fake.counter--;                                                                                                      \
  return result_

static struct CUctx_st *context_of(int device) { return (struct CUctx_st *)(uintptr_t)(0x1000 + 16 * device); }
#define NEED_CONTEXT()                                                                                                 \
  if (!depth) return WS_CUDA_ERROR_INVALID_CONTEXT

CU cuInit(unsigned int flags) {
  BEGIN(cuInit);
  return flags ? WS_CUDA_ERROR_INVALID_VALUE : WS_CUDA_SUCCESS;
}
CU cuDriverGetVersion(int *version) {
  BEGIN(cuDriverGetVersion);
  *version = fake.version;
  return WS_CUDA_SUCCESS;
}
CU cuGetErrorName(ws_cu_result result, const char **name) {
  switch (result) {
#define NAME(n, value, text)                                                                                           \
  case value: *name = #n; return WS_CUDA_SUCCESS;
    WS_CU_RESULTS(NAME)
  default: *name = NULL; return WS_CUDA_ERROR_INVALID_VALUE;
  }
}
CU cuGetErrorString(ws_cu_result result, const char **text) {
  switch (result) {
#define TEXT(n, value, t)                                                                                              \
  case value: *text = t; return WS_CUDA_SUCCESS;
    WS_CU_RESULTS(TEXT)
  default: *text = NULL; return WS_CUDA_ERROR_INVALID_VALUE;
  }
}
CU cuDeviceGet(ws_cu_device *device, int ordinal) {
  BEGIN(cuDeviceGet);
  *device = ordinal;
  return ordinal < fake.devices ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_DEVICE;
}
CU cuDeviceGetCount(int *count) {
  BEGIN(cuDeviceGetCount);
  *count = fake.devices;
  return WS_CUDA_SUCCESS;
}
CU cuDeviceGetName(char *name, int size, ws_cu_device device) {
  BEGIN(cuDeviceGetName);
  snprintf(name, (size_t)size, "Fake %d", device);
  return WS_CUDA_SUCCESS;
}
CU cuDeviceGetAttribute(int *value, unsigned int attribute, ws_cu_device device) {
  BEGIN(cuDeviceGetAttribute);
  switch (attribute) {
  case WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = fake.device[device].major; break;
  case WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = fake.device[device].minor; break;
  case WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = fake.device[device].multiprocessors; break;
  case WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = fake.device[device].shared; break;
  default: return WS_CUDA_ERROR_INVALID_VALUE;
  }
  return WS_CUDA_SUCCESS;
}
CU cuDeviceTotalMem_v2(size_t *bytes, ws_cu_device device) {
  BEGIN(cuDeviceTotalMem_v2);
  *bytes = (size_t)1 << 30 << device;
  return WS_CUDA_SUCCESS;
}
CU cuDevicePrimaryCtxRetain(struct CUctx_st **context, ws_cu_device device) {
  BEGIN(cuDevicePrimaryCtxRetain);
  fake.contexts++;
  *context = context_of(device);
  return WS_CUDA_SUCCESS;
}
CU cuDevicePrimaryCtxRelease_v2(ws_cu_device device) {
  (void)device;
  RELEASE(cuDevicePrimaryCtxRelease_v2, contexts);
}
CU cuCtxGetCurrent(struct CUctx_st **context) {
  BEGIN(cuCtxGetCurrent);
  *context = depth ? stack[depth - 1] : NULL;
  return WS_CUDA_SUCCESS;
}
CU cuCtxPushCurrent_v2(struct CUctx_st *context) {
  BEGIN(cuCtxPushCurrent_v2);
  if (depth == 16) return WS_CUDA_ERROR_OUT_OF_MEMORY;
  stack[depth++] = context;
  return WS_CUDA_SUCCESS;
}
CU cuCtxPopCurrent_v2(struct CUctx_st **context) {
  ws_cu_result result = enter("cuCtxPopCurrent_v2");
  if (!depth) return WS_CUDA_ERROR_INVALID_CONTEXT;
  *context = stack[--depth];
  return result;
}
CU cuCtxGetDevice(ws_cu_device *device) {
  BEGIN(cuCtxGetDevice);
  NEED_CONTEXT();
  *device = (int)(((uintptr_t)stack[depth - 1] - 0x1000) / 16);
  return WS_CUDA_SUCCESS;
}
CU cuCtxSynchronize(void) {
  BEGIN(cuCtxSynchronize);
  NEED_CONTEXT();
  return WS_CUDA_SUCCESS;
}

/* ---- modules: a copy of the image is the module, and the function, too ---- */

CU cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned int n, unsigned int *options,
                      void **values) {
  BEGIN(cuModuleLoadDataEx);
  NEED_CONTEXT();
  for (unsigned int i = 0; i < n; i++) fake.line_info += options[i] == WS_CU_JIT_GENERATE_LINE_INFO;
  if (fake.jit_log) {
    char *log = NULL;
    size_t size = 0;
    for (unsigned int i = 0; i < n; i++) {
      if (options[i] == WS_CU_JIT_ERROR_LOG_BUFFER) log = values[i];
      if (options[i] == WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (size_t)(uintptr_t)values[i];
    }
    if (log && size) snprintf(log, size, "%s", fake.jit_log);
    return WS_CUDA_ERROR_INVALID_PTX;
  }
  if (fake.bad_image && !strncmp(image, fake.bad_image, strlen(fake.bad_image))) return WS_CUDA_ERROR_INVALID_IMAGE;
  if (*(const char *)image == '/') atomic_fetch_add(&fake.compiled, 1);
  *module = own(strdup(image));
  fake.modules++;
  return WS_CUDA_SUCCESS;
}
CU cuModuleUnload(struct CUmod_st *module) {
  disown(module);
  RELEASE(cuModuleUnload, modules);
}
CU cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name) {
  BEGIN(cuModuleGetFunction);
  char entry[128];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  if (memcmp(module,
             "\x7f"
             "ELF",
             4) &&
      !strstr((const char *)module, entry))
    return WS_CUDA_ERROR_NOT_FOUND;
  *function = (struct CUfunc_st *)module;
  return WS_CUDA_SUCCESS;
}
CU cuFuncGetAttribute(int *value, unsigned int attribute, struct CUfunc_st *function) {
  BEGIN(cuFuncGetAttribute);
  (void)function;
  *value = attribute == WS_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? fake.threads_per_block
           : attribute == WS_CU_FUNC_ATTRIBUTE_NUM_REGS            ? 40
                                                                   : 0;
  return WS_CUDA_SUCCESS;
}
CU cuFuncSetAttribute(struct CUfunc_st *function, unsigned int attribute, int value) {
  BEGIN(cuFuncSetAttribute);
  (void)function;
  if (attribute == WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) fake.max_dynamic_shared = value;
  if (attribute == WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) fake.portable_only = !value;
  return WS_CUDA_SUCCESS;
}
CU cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function, int size, size_t shared) {
  BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  (void)function, (void)shared;
  *blocks = 2048 / size;
  return WS_CUDA_SUCCESS;
}

/* ---- the linker: its machine code is an ELF head and the PTX ---- */

struct CUlinkState_st {
  char *cubin;
  size_t length;
};
CU cuLinkCreate_v2(unsigned int n, unsigned int *options, void **values, struct CUlinkState_st **state) {
  BEGIN(cuLinkCreate_v2);
  (void)n, (void)options, (void)values;
  NEED_CONTEXT();
  *state = own(calloc(1, sizeof **state));
  fake.links++;
  return WS_CUDA_SUCCESS;
}
CU cuLinkAddData_v2(struct CUlinkState_st *state, unsigned int type, void *data, size_t bytes, const char *name,
                    unsigned int n, unsigned int *options, void **values) {
  BEGIN(cuLinkAddData_v2);
  (void)name, (void)n, (void)options, (void)values;
  const char *text = data;
  if (type != WS_CU_JIT_INPUT_PTX || !bytes || text[bytes - 1]) return WS_CUDA_ERROR_INVALID_VALUE;
  state->length = 64 + bytes;
  state->cubin = own(calloc(1, state->length));
  memcpy(state->cubin, "\x7f" "ELF\2\1", 6);
  memcpy(state->cubin + 64, data, bytes);
  return WS_CUDA_SUCCESS;
}
CU cuLinkComplete(struct CUlinkState_st *state, void **cubin, size_t *bytes) {
  BEGIN(cuLinkComplete);
  atomic_fetch_add(&fake.linked, 1);
  *cubin = state->cubin;
  *bytes = state->length;
  return WS_CUDA_SUCCESS;
}
CU cuLinkDestroy(struct CUlinkState_st *state) {
  if (state->cubin) disown(state->cubin);
  disown(state);
  RELEASE(cuLinkDestroy, links);
}

/* ---- memory, streams, events ---- */

CU cuMemAlloc_v2(ws_cu_deviceptr *address, size_t bytes) {
  BEGIN(cuMemAlloc_v2);
  NEED_CONTEXT();
  void *p = bytes < (size_t)1 << 32 ? aligned_alloc(256, (bytes + 255) & ~(size_t)255) : NULL;
  if (!p) return WS_CUDA_ERROR_OUT_OF_MEMORY;
  fake.allocations++;
  *address = (uintptr_t)own(p);
  return WS_CUDA_SUCCESS;
}
CU cuMemFree_v2(ws_cu_deviceptr address) {
  disown((void *)(uintptr_t)address);
  RELEASE(cuMemFree_v2, allocations);
}
CU cuMemGetInfo_v2(size_t *available, size_t *total) {
  BEGIN(cuMemGetInfo_v2);
  *available = *total = (size_t)1 << 30;
  return WS_CUDA_SUCCESS;
}
CU cuMemHostAlloc(void **address, size_t bytes, unsigned int flags) {
  BEGIN(cuMemHostAlloc);
  NEED_CONTEXT();
  (void)flags;
  fake.allocations++;
  *address = own(malloc(bytes));
  return WS_CUDA_SUCCESS;
}
CU cuMemFreeHost(void *address) {
  disown(address);
  RELEASE(cuMemFreeHost, allocations);
}
CU cuMemcpyHtoDAsync_v2(ws_cu_deviceptr to, const void *from, size_t bytes, struct CUstream_st *stream) {
  BEGIN(cuMemcpyHtoDAsync_v2);
  NEED_CONTEXT();
  (void)stream;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return WS_CUDA_SUCCESS;
}
CU cuMemcpyDtoHAsync_v2(void *to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream) {
  BEGIN(cuMemcpyDtoHAsync_v2);
  NEED_CONTEXT();
  (void)stream;
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return WS_CUDA_SUCCESS;
}
CU cuMemcpyDtoDAsync_v2(ws_cu_deviceptr to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream) {
  BEGIN(cuMemcpyDtoDAsync_v2);
  (void)stream;
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
  return WS_CUDA_SUCCESS;
}
CU cuMemsetD8Async(ws_cu_deviceptr to, unsigned char value, size_t count, struct CUstream_st *stream) {
  BEGIN(cuMemsetD8Async);
  (void)stream;
  memset((void *)(uintptr_t)to, value, count);
  return WS_CUDA_SUCCESS;
}
CU cuMemsetD32Async(ws_cu_deviceptr to, unsigned int value, size_t count, struct CUstream_st *stream) {
  BEGIN(cuMemsetD32Async);
  (void)stream;
  for (size_t i = 0; i < count; i++) ((unsigned int *)(uintptr_t)to)[i] = value;
  return WS_CUDA_SUCCESS;
}
CU cuStreamCreate(struct CUstream_st **stream, unsigned int flags) {
  BEGIN(cuStreamCreate);
  (void)flags;
  *stream = (struct CUstream_st *)(uintptr_t)(0x2000 + 16 * ++fake.streams);
  return WS_CUDA_SUCCESS;
}
CU cuStreamDestroy_v2(struct CUstream_st *stream) {
  (void)stream;
  RELEASE(cuStreamDestroy_v2, streams);
}
CU cuStreamSynchronize(struct CUstream_st *stream) {
  BEGIN(cuStreamSynchronize);
  (void)stream;
  return WS_CUDA_SUCCESS;
}
CU cuStreamQuery(struct CUstream_st *stream) {
  BEGIN(cuStreamQuery);
  (void)stream;
  return fake.pending ? fake.pending--, WS_CUDA_ERROR_NOT_READY : WS_CUDA_SUCCESS;
}
CU cuEventCreate(struct CUevent_st **event, unsigned int flags) {
  BEGIN(cuEventCreate);
  (void)flags;
  *event = (struct CUevent_st *)(uintptr_t)(0x3000 + 16 * ++fake.events);
  return WS_CUDA_SUCCESS;
}
CU cuEventDestroy_v2(struct CUevent_st *event) {
  (void)event;
  RELEASE(cuEventDestroy_v2, events);
}
CU cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream) {
  BEGIN(cuEventRecord);
  (void)event, (void)stream;
  return WS_CUDA_SUCCESS;
}
CU cuEventSynchronize(struct CUevent_st *event) {
  BEGIN(cuEventSynchronize);
  (void)event;
  return WS_CUDA_SUCCESS;
}
CU cuEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to) {
  BEGIN(cuEventElapsedTime);
  (void)from, (void)to;
  *milliseconds = 1.5f;
  return WS_CUDA_SUCCESS;
}

static ws_cu_result launch(struct CUfunc_st *function, unsigned int grid_x, unsigned int block_x, unsigned int shared_bytes,
                           struct CUstream_st *stream, void **params) {
  if (!function) return WS_CUDA_ERROR_INVALID_VALUE;
  atomic_fetch_add(&fake.launches, 1);
  fake.grid = grid_x;
  fake.block = block_x;
  fake.shared = shared_bytes;
  fake.stream = stream;
  fake.current = stack[depth - 1];
  for (int i = 0; i < fake.nparams; i++) memcpy(&fake.params[i], params[i], sizeof fake.params[i]);
  return WS_CUDA_SUCCESS;
}

CU cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                  struct CUstream_st *stream, void **params, void **extra) {
  BEGIN(cuLaunchKernel);
  NEED_CONTEXT();
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || extra) return WS_CUDA_ERROR_INVALID_VALUE;
  fake.cluster = 0;
  return launch(function, grid_x, block_x, shared_bytes, stream, params);
}

#ifndef FAKE_OLD /* a driver from before clusters and tensor maps has neither */
CU cuLaunchKernelEx(const struct ws_cu_launch_config *c, struct CUfunc_st *function, void **params, void **extra) {
  BEGIN(cuLaunchKernelEx);
  NEED_CONTEXT();
  if (c->grid_y != 1 || c->grid_z != 1 || c->block_y != 1 || c->block_z != 1 || extra || c->nattrs != 1 ||
      c->attrs->id != WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION || c->attrs->value.cluster_dim.y != 1 ||
      c->attrs->value.cluster_dim.z != 1)
    return WS_CUDA_ERROR_INVALID_VALUE;
  fake.cluster = c->attrs->value.cluster_dim.x;
  return launch(function, c->grid_x, c->block_x, c->shared_bytes, c->stream, params);
}

CU cuTensorMapEncodeTiled(struct ws_cu_tensor_map *map, unsigned int type, uint32_t rank, void *address, const uint64_t *extents,
                          const uint64_t *strides, const uint32_t *box, const uint32_t *steps, unsigned int interleave,
                          unsigned int swizzle, unsigned int l2, unsigned int fill) {
  BEGIN(cuTensorMapEncodeTiled);
  int n = atomic_fetch_add(&fake.maps, 1);
  struct fake_map *m = &fake.map[n % 16];
  *m = (struct fake_map){type, rank, interleave, swizzle, l2, fill, (uintptr_t)address, {0}, {0}, {0}, {0}};
  if ((uintptr_t)map % 64 || rank < 1 || rank > 5) return WS_CUDA_ERROR_INVALID_VALUE;
  memcpy(m->extents, extents, rank * sizeof *extents);
  memcpy(m->strides, strides, (rank - 1) * sizeof *strides);
  memcpy(m->box, box, rank * sizeof *box);
  memcpy(m->steps, steps, rank * sizeof *steps);
  memset(map, 0xee, sizeof *map);
  map->opaque[0] = (uint64_t)n;
  return WS_CUDA_SUCCESS;
}
#endif
