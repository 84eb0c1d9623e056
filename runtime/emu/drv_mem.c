/* Device and page-locked memory, copies, fills. Everything happens before the call returns, on every stream. */
#include "drv.h"
#include "memory.h"
#include "unwritten.h"
#include <stdlib.h>
#include <string.h>

bool ws_emu_own(struct CUctx_st *c, uint64_t address, bool host) {
  if (c->nallocs == c->cap_allocs) {
    size_t cap = c->cap_allocs ? c->cap_allocs * 2 : 64;
    uint64_t *grown = realloc(c->allocs, cap * sizeof *grown);
    if (!grown) return false;
    c->allocs = grown;
    c->cap_allocs = cap;
  }
  c->allocs[c->nallocs++] = address | (host ? 1 : 0);
  return true;
}

bool ws_emu_disown(struct CUctx_st *c, uint64_t address, bool host) {
  for (size_t i = c->nallocs; i-- > 0;)
    if (c->allocs[i] == (address | (host ? 1 : 0))) {
      c->allocs[i] = c->allocs[--c->nallocs];
      return true;
    }
  return false;
}

static ws_cu_result allocate(size_t bytes, bool host, uint64_t *address) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!address || !bytes) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  uint64_t a = ws_emu_mem_new(bytes, host ? MEM_HOST : MEM_UNWRITTEN);
  if (a && !ws_emu_own(c, a, host)) {
    ws_emu_mem_free(a, host ? MEM_HOST : 0);
    a = 0;
  }
  *address = a;
  return ws_emu_leave(a ? WS_CUDA_SUCCESS : ws_emu_say(WS_CUDA_ERROR_OUT_OF_MEMORY, "no device memory for %zu bytes", bytes));
}

static ws_cu_result release(uint64_t address, bool host) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  if (!address && !host) return ws_emu_leave(WS_CUDA_SUCCESS);
  bool owned = false;
  for (struct CUctx_st *i = ws_emu_drv.contexts; i && !owned; i = i->next) owned = ws_emu_disown(i, address, host);
  if (!owned || !ws_emu_mem_free(address, host ? MEM_HOST : 0))
    return ws_emu_leave(ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "0x%llx is not the start of an allocation", (unsigned long long)address));
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuMemAlloc_v2(ws_cu_deviceptr *address, size_t bytes) {
  uint64_t a = 0;
  ws_cu_result r = allocate(address ? bytes : 0, false, &a);
  if (!r) *address = a;
  return r;
}
API cuMemFree_v2(ws_cu_deviceptr address) { return release(address, false); }
API cuMemHostAlloc(void **address, size_t bytes, unsigned int flags) {
  uint64_t a = 0;
  (void)flags;
  ws_cu_result r = allocate(address ? bytes : 0, true, &a);
  if (!r) *address = (void *)(uintptr_t)a;
  return r;
}
API cuMemFreeHost(void *address) { return release((uint64_t)(uintptr_t)address, true); }

API cuMemGetInfo_v2(size_t *available, size_t *total) {
  struct CUctx_st *c;
  size_t a, t;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  ws_emu_mem_info(&a, &t);
  if (available) *available = a;
  if (total) *total = t;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

/* ---- copies and fills: device ranges have to lie inside one allocation ---- */
static ws_cu_result check(uint64_t address, size_t bytes, const char *what) {
  char near[200];
  if (ws_emu_mem_holds(address, bytes, false)) return WS_CUDA_SUCCESS;
  ws_emu_mem_describe(address, bytes, false, near, sizeof near);
  return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "%s of %zu bytes at device address 0x%llx, %s", what, bytes, (unsigned long long)address, near);
}

static ws_cu_result copy(void *to, bool to_device, const void *from, bool from_device, size_t bytes, const struct CUstream_st *stream) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!ws_emu_is_stream(stream)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  if (!bytes) return ws_emu_leave(WS_CUDA_SUCCESS);
  if (!to || !from) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (to_device) r = check((uint64_t)(uintptr_t)to, bytes, "a copy");
  if (!r && from_device) r = check((uint64_t)(uintptr_t)from, bytes, "a copy");
  if (!r) memmove(to, from, bytes);
  if (!r && to_device) unwritten_mark_global((uint64_t)(uintptr_t)to, bytes);
  return ws_emu_leave(r);
}

#define DEVICE(a) ((void *)(uintptr_t)(a))
API cuMemcpyHtoD_v2(ws_cu_deviceptr to, const void *from, size_t bytes) { return copy(DEVICE(to), true, from, false, bytes, NULL); }
API cuMemcpyDtoH_v2(void *to, ws_cu_deviceptr from, size_t bytes) { return copy(to, false, DEVICE(from), true, bytes, NULL); }
API cuMemcpyDtoD_v2(ws_cu_deviceptr to, ws_cu_deviceptr from, size_t bytes) { return copy(DEVICE(to), true, DEVICE(from), true, bytes, NULL); }
API cuMemcpyHtoDAsync_v2(ws_cu_deviceptr to, const void *from, size_t bytes, struct CUstream_st *stream) {
  return copy(DEVICE(to), true, from, false, bytes, stream);
}
API cuMemcpyDtoHAsync_v2(void *to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream) {
  return copy(to, false, DEVICE(from), true, bytes, stream);
}
API cuMemcpyDtoDAsync_v2(ws_cu_deviceptr to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream) {
  return copy(DEVICE(to), true, DEVICE(from), true, bytes, stream);
}

static ws_cu_result fill(uint64_t to, uint32_t value, size_t width, size_t count, const struct CUstream_st *stream) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!ws_emu_is_stream(stream)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  if (!count) return ws_emu_leave(WS_CUDA_SUCCESS);
  if (to % width || count > SIZE_MAX / width) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  r = check(to, count * width, "a fill");
  if (!r) unwritten_mark_global(to, count * width);
  uint8_t *p = DEVICE(to);
  for (size_t i = 0; !r && i < count; i++) memcpy(p + i * width, &value, width);
  return ws_emu_leave(r);
}
API cuMemsetD8_v2(ws_cu_deviceptr to, unsigned char value, size_t count) { return fill(to, value, 1, count, NULL); }
API cuMemsetD16_v2(ws_cu_deviceptr to, unsigned short value, size_t count) { return fill(to, value, 2, count, NULL); }
API cuMemsetD32_v2(ws_cu_deviceptr to, unsigned int value, size_t count) { return fill(to, value, 4, count, NULL); }
API cuMemsetD8Async(ws_cu_deviceptr to, unsigned char value, size_t count, struct CUstream_st *stream) { return fill(to, value, 1, count, stream); }
API cuMemsetD16Async(ws_cu_deviceptr to, unsigned short value, size_t count, struct CUstream_st *stream) { return fill(to, value, 2, count, stream); }
API cuMemsetD32Async(ws_cu_deviceptr to, unsigned int value, size_t count, struct CUstream_st *stream) { return fill(to, value, 4, count, stream); }
