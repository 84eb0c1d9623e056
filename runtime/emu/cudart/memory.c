/* Memory, copies, fills, symbols. "CUDA Runtime API", Memory Management, Stream Ordered Memory Allocator, Unified Addressing. */
#include "cudart.h"
#include <string.h>

static ws_cu_deviceptr device(const void *p) { return (ws_cu_deviceptr)(uintptr_t)p; }

static int allocate(void **p, size_t bytes, bool host) {
  ws_cu_deviceptr a = 0;
  int r = p ? ws_cudart_begin() : (int)WS_CUDA_ERROR_INVALID_VALUE;
  if (r) return ws_cudart_result(r);
  *p = NULL;
  if (!bytes) return 0; /* the runtime, unlike the driver, allows it */
  if (host) return ws_cudart_result((int)cuMemHostAlloc(p, bytes, 0));
  r = (int)cuMemAlloc_v2(&a, bytes);
  if (!r) *p = (void *)(uintptr_t)a;
  return ws_cudart_result(r);
}
static int release(void *p, bool host) {
  int r = ws_cudart_begin();
  if (!r && p) r = (int)(host ? cuMemFreeHost(p) : cuMemFree_v2(device(p)));
  return ws_cudart_result(r);
}

RT cudaMalloc(void **p, size_t bytes);
RT cudaMalloc(void **p, size_t bytes) { return allocate(p, bytes, false); }
RT cudaFree(void *p);
RT cudaFree(void *p) { return release(p, false); }
RT cudaMallocAsync(void **p, size_t bytes, struct CUstream_st *stream);
RT cudaMallocAsync(void **p, size_t bytes, struct CUstream_st *stream) { return (void)stream, allocate(p, bytes, false); }
RT cudaFreeAsync(void *p, struct CUstream_st *stream);
RT cudaFreeAsync(void *p, struct CUstream_st *stream) { return (void)stream, release(p, false); }
/* The emulator's device memory is memory of this process: the host reads it as well. */
RT cudaMallocManaged(void **p, size_t bytes, unsigned int flags);
RT cudaMallocManaged(void **p, size_t bytes, unsigned int flags) { return (void)flags, allocate(p, bytes, false); }
RT cudaMallocHost(void **p, size_t bytes);
RT cudaMallocHost(void **p, size_t bytes) { return allocate(p, bytes, true); }
RT cudaHostAlloc(void **p, size_t bytes, unsigned int flags);
RT cudaHostAlloc(void **p, size_t bytes, unsigned int flags) { return (void)flags, allocate(p, bytes, true); }
RT cudaFreeHost(void *p);
RT cudaFreeHost(void *p) { return release(p, true); }

RT cudaMemGetInfo(size_t *available, size_t *total);
RT cudaMemGetInfo(size_t *available, size_t *total) {
  int r = ws_cudart_begin();
  return ws_cudart_result(r ? r : (int)cuMemGetInfo_v2(available, total));
}

/* ---- copies: all end before they return, on every stream ---- */
/* Whether an address is the device's: the driver copies from no other. */
static bool on_device(const void *p) {
  uint8_t byte;
  return p && !cuMemcpyDtoH_v2(&byte, device(p), 1);
}

static int copy(void *to, const void *from, size_t bytes, int kind) {
  int r = ws_cudart_begin();
  if (r || !bytes) return ws_cudart_result(r);
  if (kind == COPY_DEFAULT) kind = on_device(from) ? (on_device(to) ? COPY_DEVICE_TO_DEVICE : COPY_DEVICE_TO_HOST) : on_device(to) ? COPY_HOST_TO_DEVICE : COPY_HOST_TO_HOST;
  switch (kind) {
    case COPY_HOST_TO_HOST: memmove(to, from, bytes); break;
    case COPY_HOST_TO_DEVICE: r = (int)cuMemcpyHtoD_v2(device(to), from, bytes); break;
    case COPY_DEVICE_TO_HOST: r = (int)cuMemcpyDtoH_v2(to, device(from), bytes); break;
    case COPY_DEVICE_TO_DEVICE: r = (int)cuMemcpyDtoD_v2(device(to), device(from), bytes); break;
    default: r = RT_INVALID_MEMCPY_DIRECTION;
  }
  return ws_cudart_result(r);
}

RT cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
RT cudaMemcpy(void *to, const void *from, size_t bytes, int kind) { return copy(to, from, bytes, kind); }
RT cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct CUstream_st *stream);
RT cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct CUstream_st *stream) { return (void)stream, copy(to, from, bytes, kind); }

static int copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind) {
  int r = width > to_pitch || width > from_pitch ? 12 /* cudaErrorInvalidPitchValue */ : 0;
  for (size_t i = 0; i < height && !r; i++) r = copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, kind);
  return ws_cudart_result(r);
}
RT cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind);
RT cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
RT cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, struct CUstream_st *stream);
RT cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, struct CUstream_st *stream) {
  return (void)stream, copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}

static int fill(void *to, int value, size_t bytes) {
  int r = ws_cudart_begin();
  if (!r && bytes) r = (int)cuMemsetD8_v2(device(to), (unsigned char)value, bytes);
  return ws_cudart_result(r);
}
RT cudaMemset(void *to, int value, size_t bytes);
RT cudaMemset(void *to, int value, size_t bytes) { return fill(to, value, bytes); }
RT cudaMemsetAsync(void *to, int value, size_t bytes, struct CUstream_st *stream);
RT cudaMemsetAsync(void *to, int value, size_t bytes, struct CUstream_st *stream) { return (void)stream, fill(to, value, bytes); }

RT cudaPointerGetAttributes(struct rt_pointer_attributes *out, const void *p);
RT cudaPointerGetAttributes(struct rt_pointer_attributes *out, const void *p) {
  int r = out ? ws_cudart_begin() : (int)WS_CUDA_ERROR_INVALID_VALUE;
  if (r) return ws_cudart_result(r);
  bool there = on_device(p);
  *out = (struct rt_pointer_attributes){.type = there ? 2 : 0, .device = there ? 0 : -2, .device_pointer = there ? (void *)(uintptr_t)p : NULL,
                                        .host_pointer = there ? NULL : (void *)(uintptr_t)p};
  return 0;
}

/* ---- symbols ---- */
static int symbol(const void *variable, size_t bytes, size_t offset, ws_cu_deviceptr *address) {
  size_t size = 0;
  int r = ws_cudart_symbol(variable, address, &size);
  if (!r && (offset > size || bytes > size - offset)) r = WS_CUDA_ERROR_INVALID_VALUE;
  *address += offset;
  return r;
}
static int to_symbol(const void *variable, const void *from, size_t bytes, size_t offset, int kind) {
  ws_cu_deviceptr a = 0;
  int r = symbol(variable, bytes, offset, &a);
  return r ? ws_cudart_result(r) : copy((void *)(uintptr_t)a, from, bytes, kind);
}
static int from_symbol(void *to, const void *variable, size_t bytes, size_t offset, int kind) {
  ws_cu_deviceptr a = 0;
  int r = symbol(variable, bytes, offset, &a);
  return r ? ws_cudart_result(r) : copy(to, (const void *)(uintptr_t)a, bytes, kind);
}
RT cudaMemcpyToSymbol(const void *variable, const void *from, size_t bytes, size_t offset, int kind);
RT cudaMemcpyToSymbol(const void *variable, const void *from, size_t bytes, size_t offset, int kind) { return to_symbol(variable, from, bytes, offset, kind); }
RT cudaMemcpyToSymbolAsync(const void *variable, const void *from, size_t bytes, size_t offset, int kind, struct CUstream_st *stream);
RT cudaMemcpyToSymbolAsync(const void *variable, const void *from, size_t bytes, size_t offset, int kind, struct CUstream_st *stream) {
  return (void)stream, to_symbol(variable, from, bytes, offset, kind);
}
RT cudaMemcpyFromSymbol(void *to, const void *variable, size_t bytes, size_t offset, int kind);
RT cudaMemcpyFromSymbol(void *to, const void *variable, size_t bytes, size_t offset, int kind) { return from_symbol(to, variable, bytes, offset, kind); }
RT cudaMemcpyFromSymbolAsync(void *to, const void *variable, size_t bytes, size_t offset, int kind, struct CUstream_st *stream);
RT cudaMemcpyFromSymbolAsync(void *to, const void *variable, size_t bytes, size_t offset, int kind, struct CUstream_st *stream) {
  return (void)stream, from_symbol(to, variable, bytes, offset, kind);
}
RT cudaGetSymbolAddress(void **address, const void *variable);
RT cudaGetSymbolAddress(void **address, const void *variable) {
  ws_cu_deviceptr a = 0;
  int r = address ? symbol(variable, 0, 0, &a) : (int)WS_CUDA_ERROR_INVALID_VALUE;
  if (!r) *address = (void *)(uintptr_t)a;
  return ws_cudart_result(r);
}
RT cudaGetSymbolSize(size_t *bytes, const void *variable);
RT cudaGetSymbolSize(size_t *bytes, const void *variable) {
  ws_cu_deviceptr a = 0;
  return ws_cudart_result(bytes ? ws_cudart_symbol(variable, &a, bytes) : (int)WS_CUDA_ERROR_INVALID_VALUE);
}
