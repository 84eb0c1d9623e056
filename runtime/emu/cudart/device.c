/* The device, streams, events, errors, look-up of driver functions. "CUDA Runtime API", Device Management, Error Handling, Stream
 * Management, Event Management, Driver Entry Point Access. */
#include "cudart.h"
#include "../wsemu.h"
#include <stdio.h>
#include <string.h>

#define ATTR(name) WS_CU_DEVICE_ATTRIBUTE_##name

/* ---- errors ---- */
static _Thread_local int last;
static _Thread_local struct { int result; char text[8192]; } story;

/* After a fault every call gives its code again, as the driver does; what a program did wrong once is told once. */
int ws_cudart_result(int result) {
  if (!result) return 0;
  last = result;
  if (story.result == result && result == WS_CUDA_ERROR_NO_BINARY_FOR_GPU) return result;
  story.result = 0;
  if (result == RT_INVALID_DEVICE_FUNCTION || result == RT_INVALID_SYMBOL) return result; /* not the emulator's */
  if (wsemuLastMessage(story.text, sizeof story.text)) story.result = result;
  return result;
}

void ws_cudart_say(int result, const char *text) {
  snprintf(story.text, sizeof story.text, "%s", text);
  story.result = result;
}

RT cudaGetLastError(void);
RT cudaGetLastError(void) {
  int r = last;
  last = 0;
  return r;
}
RT cudaPeekAtLastError(void);
RT cudaPeekAtLastError(void) { return last; }

static const struct { int value; const char *name, *text; } own[] = {
    {RT_INVALID_CONFIGURATION, "cudaErrorInvalidConfiguration", "the launch configuration is invalid"},
    {12, "cudaErrorInvalidPitchValue", "a pitch is out of range"},
    {RT_INVALID_SYMBOL, "cudaErrorInvalidSymbol", "no such variable of the device"},
    {RT_INVALID_MEMCPY_DIRECTION, "cudaErrorInvalidMemcpyDirection", "no such direction of a copy"},
    {RT_MISSING_CONFIGURATION, "cudaErrorMissingConfiguration", "a kernel was called without a launch configuration"},
    {RT_INVALID_DEVICE_FUNCTION, "cudaErrorInvalidDeviceFunction", "no such kernel"}};

static const char *describe(int result, bool name) {
  const char *text = NULL;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (own[i].value == result) return name ? own[i].name : own[i].text;
  if (name ? cuGetErrorName((ws_cu_result)result, &text) : cuGetErrorString((ws_cu_result)result, &text)) return "unrecognized error code";
  return text;
}

__attribute__((visibility("default"))) const char *cudaGetErrorName(int result);
__attribute__((visibility("default"))) const char *cudaGetErrorName(int result) { return describe(result, true); }

/* With the story of the last failure, if it is of this kind: most programs print this and nothing else. */
__attribute__((visibility("default"))) const char *cudaGetErrorString(int result);
__attribute__((visibility("default"))) const char *cudaGetErrorString(int result) {
  static _Thread_local char text[sizeof story.text + 256];
  if (!result || story.result != result) return describe(result, false);
  snprintf(text, sizeof text, "%s: %s", describe(result, false), story.text);
  return text;
}

/* ---- the device ---- */
static int attribute(unsigned int a) {
  int v = 0;
  return cuDeviceGetAttribute(&v, a, 0) ? 0 : v;
}
static int enter(bool good) { return good ? ws_cudart_begin() : (int)WS_CUDA_ERROR_INVALID_VALUE; }

RT cudaGetDeviceCount(int *count);
RT cudaGetDeviceCount(int *count) {
  int r = enter(count);
  return ws_cudart_result(r ? r : (int)cuDeviceGetCount(count));
}
RT cudaGetDevice(int *device);
RT cudaGetDevice(int *device) {
  if (device) *device = 0;
  return ws_cudart_result(enter(device));
}
RT cudaSetDevice(int device);
RT cudaSetDevice(int device) {
  int r = enter(true);
  return ws_cudart_result(r ? r : device ? (int)WS_CUDA_ERROR_INVALID_DEVICE : 0);
}
RT cudaSetDeviceFlags(unsigned int flags);
RT cudaSetDeviceFlags(unsigned int flags) { return (void)flags, ws_cudart_result(enter(true)); }
RT cudaDeviceGetAttribute(int *value, unsigned int attr, int device);
RT cudaDeviceGetAttribute(int *value, unsigned int attr, int device) { /* cudaDevAttr* has the driver's numbers */
  int r = enter(value);
  return ws_cudart_result(r ? r : (int)cuDeviceGetAttribute(value, attr, device));
}
RT cudaDeviceSynchronize(void);
/* A program whose kernels cannot be loaded hears of it here, too: k<<<>>>() returns nothing, and few ask cudaGetLastError. */
static int synchronized(int r) { return ws_cudart_result(r ? r : ws_cudart_broken()); }
RT cudaDeviceSynchronize(void) {
  int r = enter(true);
  return synchronized(r ? r : (int)cuCtxSynchronize());
}
RT cudaDeviceReset(void);
RT cudaDeviceReset(void) { return ws_cudart_result(enter(true)); } /* memory is given back when the program ends */
RT cudaDriverGetVersion(int *version);
RT cudaDriverGetVersion(int *version) { return ws_cudart_result((int)cuDriverGetVersion(version)); }
RT cudaRuntimeGetVersion(int *version);
RT cudaRuntimeGetVersion(int *version) {
  if (version) *version = RUNTIME_VERSION;
  return ws_cudart_result(version ? 0 : (int)WS_CUDA_ERROR_INVALID_VALUE);
}

RT cudaGetDeviceProperties(struct rt_device_prop *p, int device);
RT cudaGetDeviceProperties(struct rt_device_prop *p, int device) {
  int r = enter(p);
  if (r || device) return ws_cudart_result(r ? r : (int)WS_CUDA_ERROR_INVALID_DEVICE);
  *p = (struct rt_device_prop){.pitch = (size_t)attribute(ATTR(MAX_PITCH)), .map_host = 1, .texture_align = 512, .texture_pitch_align = 32, .surface_align = 512};
  cuDeviceGetName(p->name, sizeof p->name, 0);
  cuDeviceTotalMem_v2(&p->global_bytes, 0);
  const struct { unsigned int attribute; int *value; } ints[] = {
      {ATTR(MAX_REGISTERS_PER_BLOCK), &p->regs_per_block}, {ATTR(WARP_SIZE), &p->warp_size}, {ATTR(MAX_THREADS_PER_BLOCK), &p->max_threads},
      {ATTR(MAX_BLOCK_DIM_X), &p->max_block[0]}, {ATTR(MAX_BLOCK_DIM_Y), &p->max_block[1]}, {ATTR(MAX_BLOCK_DIM_Z), &p->max_block[2]},
      {ATTR(MAX_GRID_DIM_X), &p->max_grid[0]}, {ATTR(MAX_GRID_DIM_Y), &p->max_grid[1]}, {ATTR(MAX_GRID_DIM_Z), &p->max_grid[2]},
      {ATTR(COMPUTE_CAPABILITY_MAJOR), &p->major}, {ATTR(COMPUTE_CAPABILITY_MINOR), &p->minor}, {ATTR(MULTIPROCESSOR_COUNT), &p->sms},
      {ATTR(CONCURRENT_KERNELS), &p->concurrent_kernels}, {ATTR(ASYNC_ENGINE_COUNT), &p->async_engines},
      {ATTR(UNIFIED_ADDRESSING), &p->unified_addressing}, {ATTR(GLOBAL_MEMORY_BUS_WIDTH), &p->bus_width}, {ATTR(L2_CACHE_SIZE), &p->l2_bytes},
      {ATTR(MAX_THREADS_PER_MULTIPROCESSOR), &p->max_threads_per_sm}, {ATTR(MAX_REGISTERS_PER_MULTIPROCESSOR), &p->regs_per_sm},
      {ATTR(MAX_BLOCKS_PER_MULTIPROCESSOR), &p->max_blocks_per_sm}, {ATTR(CLUSTER_LAUNCH), &p->cluster_launch}};
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) *ints[i].value = attribute(ints[i].attribute);
  p->shared_per_block = (size_t)attribute(ATTR(MAX_SHARED_MEMORY_PER_BLOCK));
  p->const_bytes = (size_t)attribute(ATTR(TOTAL_CONSTANT_MEMORY));
  p->shared_per_sm = (size_t)attribute(ATTR(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  p->shared_optin = (size_t)attribute(ATTR(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  p->shared_reserved = (size_t)attribute(ATTR(RESERVED_SHARED_MEMORY_PER_BLOCK));
  return 0;
}

/* ---- streams ---- */
static int stream_create(struct CUstream_st **stream, unsigned int flags) {
  int r = enter(stream);
  return ws_cudart_result(r ? r : (int)cuStreamCreate(stream, flags));
}
RT cudaStreamCreate(struct CUstream_st **stream);
RT cudaStreamCreate(struct CUstream_st **stream) { return stream_create(stream, 0); }
RT cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned int flags);
RT cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned int flags) { return stream_create(stream, flags); }
RT cudaStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority);
RT cudaStreamCreateWithPriority(struct CUstream_st **stream, unsigned int flags, int priority) { return (void)priority, stream_create(stream, flags); }
RT cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
RT cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return 0;
}
RT cudaStreamDestroy(struct CUstream_st *stream);
RT cudaStreamDestroy(struct CUstream_st *stream) { return ws_cudart_result((int)cuStreamDestroy_v2(stream)); }
RT cudaStreamSynchronize(struct CUstream_st *stream);
RT cudaStreamSynchronize(struct CUstream_st *stream) {
  int r = enter(true);
  return synchronized(r ? r : (int)cuStreamSynchronize(stream));
}
RT cudaStreamQuery(struct CUstream_st *stream);
RT cudaStreamQuery(struct CUstream_st *stream) {
  int r = enter(true);
  return ws_cudart_result(r ? r : (int)cuStreamQuery(stream));
}
RT cudaStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags);
RT cudaStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags) {
  int r = enter(true);
  return ws_cudart_result(r ? r : (int)cuStreamWaitEvent(stream, event, flags));
}
RT cudaStreamIsCapturing(struct CUstream_st *stream, unsigned int *status);
RT cudaStreamIsCapturing(struct CUstream_st *stream, unsigned int *status) {
  int r = enter(status);
  return ws_cudart_result(r ? r : (int)cuStreamIsCapturing(stream, status));
}

/* ---- events ---- */
static int event_create(struct CUevent_st **event, unsigned int flags) {
  int r = enter(event);
  return ws_cudart_result(r ? r : (int)cuEventCreate(event, flags));
}
RT cudaEventCreate(struct CUevent_st **event);
RT cudaEventCreate(struct CUevent_st **event) { return event_create(event, 0); }
RT cudaEventCreateWithFlags(struct CUevent_st **event, unsigned int flags);
RT cudaEventCreateWithFlags(struct CUevent_st **event, unsigned int flags) { return event_create(event, flags); }
RT cudaEventDestroy(struct CUevent_st *event);
RT cudaEventDestroy(struct CUevent_st *event) { return ws_cudart_result((int)cuEventDestroy_v2(event)); }
RT cudaEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
RT cudaEventRecord(struct CUevent_st *event, struct CUstream_st *stream) { return ws_cudart_result((int)cuEventRecord(event, stream)); }
RT cudaEventSynchronize(struct CUevent_st *event);
RT cudaEventSynchronize(struct CUevent_st *event) { return ws_cudart_result((int)cuEventSynchronize(event)); }
RT cudaEventQuery(struct CUevent_st *event);
RT cudaEventQuery(struct CUevent_st *event) { return ws_cudart_result((int)cuEventQuery(event)); }
RT cudaEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to);
RT cudaEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to) {
  return ws_cudart_result((int)cuEventElapsedTime(milliseconds, from, to));
}

/* ---- driver functions by name ---- */
static int entry_point(const char *name, void **function, unsigned int version, unsigned long long flags, unsigned int *found) {
  int r = enter(name && function);
  return ws_cudart_result(r ? r : (int)cuGetProcAddress_v2(name, function, (int)version, flags, found));
}
RT cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, unsigned int *found);
RT cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, unsigned int *found) {
  return entry_point(name, function, RUNTIME_VERSION, flags, found);
}
RT cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version, unsigned long long flags, unsigned int *found);
RT cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version, unsigned long long flags, unsigned int *found) {
  return entry_point(name, function, version, flags, found);
}
RT cudaProfilerStart(void);
RT cudaProfilerStart(void) { return 0; }
RT cudaProfilerStop(void);
RT cudaProfilerStop(void) { return 0; }
