/* Memory, streams and events: each a driver call in the device's context, its failure put into words. */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>

enum { EVERY_CONTEXT = 1, MAPPED = 2 }; /* flags of cuMemHostAlloc: CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP */

/* Runs one driver call, then a second one (or 0), in the device's context. */
#define IN_CONTEXT(device, err, first, second, ...)                                                                    \
  do {                                                                                                                 \
    bool pushed_;                                                                                                      \
    if (!(device)) return ws_rt_fail((err), WS_ERR_ARGUMENT, "the device is NULL");                                    \
    enum ws_status status_ = ws_rt_enter((device), &pushed_, (err));                                                   \
    if (status_) return status_;                                                                                       \
    const struct ws_cu_api *api = &(device)->driver.api;                                                               \
    ws_cu_result result_ = (first);                                                                                    \
    if (!result_) result_ = (second);                                                                                  \
    if (result_) status_ = ws_rt_driver_fail(&(device)->driver, result_, (err), __VA_ARGS__);                          \
    ws_rt_leave((device), pushed_);                                                                                    \
    return status_;                                                                                                    \
  } while (0)

enum ws_status ws_device_synchronize(struct ws_device *device, struct ws_error_info *err) {
  IN_CONTEXT(device, err, api->cuCtxSynchronize(), 0, "%s: waiting for the device", device->name);
}

void *ws_device_symbol(const struct ws_device *device, const char *name) {
  return device && name ? dlsym(device->driver.library, name) : NULL;
}

enum ws_status ws_memory_alloc(struct ws_device *device, size_t bytes, uint64_t *address, struct ws_error_info *err) {
  if (!address) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_memory_alloc: address is NULL");
  *address = 0;
  if (!bytes) return WS_OK; /* the driver refuses 0 bytes; an empty tensor has the address 0 */
  ws_cu_deviceptr p = 0;
  IN_CONTEXT(device, err, api->cuMemAlloc_v2(&p, bytes), (*address = p, 0u), "%s: allocating %zu bytes", device->name,
             bytes);
}

enum ws_status ws_memory_free(struct ws_device *device, uint64_t address, struct ws_error_info *err) {
  if (!address) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemFree_v2(address), 0, "%s: freeing memory", device->name);
}

enum ws_status ws_host_alloc(struct ws_device *device, size_t bytes, void **address, struct ws_error_info *err) {
  if (!address) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_host_alloc: address is NULL");
  *address = NULL;
  if (!bytes) return WS_OK;
  void *p = NULL;
  IN_CONTEXT(device, err, api->cuMemHostAlloc(&p, bytes, EVERY_CONTEXT | MAPPED), (*address = p, 0u),
             "%s: allocating %zu bytes of host memory", device->name, bytes);
}

enum ws_status ws_host_free(struct ws_device *device, void *address, struct ws_error_info *err) {
  if (!address) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemFreeHost(address), 0, "%s: freeing host memory", device->name);
}

enum ws_status ws_memory_upload(struct ws_device *device, uint64_t to, const void *from, size_t bytes, void *stream,
                                struct ws_error_info *err) {
  if (!bytes) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemcpyHtoDAsync_v2(to, from, bytes, stream), api->cuStreamSynchronize(stream),
             "%s: copying %zu bytes to the device", device->name, bytes);
}

enum ws_status ws_memory_download(struct ws_device *device, void *to, uint64_t from, size_t bytes, void *stream,
                                  struct ws_error_info *err) {
  if (!bytes) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemcpyDtoHAsync_v2(to, from, bytes, stream), api->cuStreamSynchronize(stream),
             "%s: copying %zu bytes from the device", device->name, bytes);
}

enum ws_status ws_memory_copy(struct ws_device *device, uint64_t to, uint64_t from, size_t bytes, void *stream,
                              struct ws_error_info *err) {
  if (!bytes) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemcpyDtoDAsync_v2(to, from, bytes, stream), 0, "%s: copying %zu bytes on the device",
             device->name, bytes);
}

enum ws_status ws_memory_fill(struct ws_device *device, uint64_t to, int value, size_t bytes, void *stream,
                              struct ws_error_info *err) {
  if (!bytes) return WS_OK;
  IN_CONTEXT(device, err, api->cuMemsetD8Async(to, (unsigned char)value, bytes, stream), 0, "%s: filling %zu bytes",
             device->name, bytes);
}

enum ws_status ws_stream_create(struct ws_device *device, void **stream, struct ws_error_info *err) {
  struct CUstream_st *s = NULL;
  if (!stream) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_stream_create: stream is NULL");
  *stream = NULL;
  IN_CONTEXT(device, err, api->cuStreamCreate(&s, WS_CU_STREAM_NON_BLOCKING), (*stream = s, 0u),
             "%s: creating a stream", device->name);
}

enum ws_status ws_stream_destroy(struct ws_device *device, void *stream, struct ws_error_info *err) {
  if (!stream) return WS_OK;
  IN_CONTEXT(device, err, api->cuStreamDestroy_v2(stream), 0, "%s: destroying a stream", device->name);
}

enum ws_status ws_stream_synchronize(struct ws_device *device, void *stream, struct ws_error_info *err) {
  IN_CONTEXT(device, err, api->cuStreamSynchronize(stream), 0, "%s: waiting for a stream", device->name);
}

static ws_cu_result ask(const struct ws_cu_api *api, struct CUstream_st *stream, int *done) {
  ws_cu_result answer = api->cuStreamQuery(stream);
  *done = !answer;
  return answer == WS_CUDA_ERROR_NOT_READY ? 0 : answer;
}

enum ws_status ws_stream_done(struct ws_device *device, void *stream, int *done, struct ws_error_info *err) {
  if (!done) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_stream_done: done is NULL");
  *done = 0;
  IN_CONTEXT(device, err, ask(api, stream, done), 0, "%s: asking a stream", device->name);
}

enum ws_status ws_event_create(struct ws_device *device, void **event, struct ws_error_info *err) {
  struct CUevent_st *e = NULL;
  if (!event) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_event_create: event is NULL");
  *event = NULL;
  IN_CONTEXT(device, err, api->cuEventCreate(&e, WS_CU_EVENT_DEFAULT), (*event = e, 0u), "%s: creating an event",
             device->name);
}

enum ws_status ws_event_destroy(struct ws_device *device, void *event, struct ws_error_info *err) {
  if (!event) return WS_OK;
  IN_CONTEXT(device, err, api->cuEventDestroy_v2(event), 0, "%s: destroying an event", device->name);
}

enum ws_status ws_event_record(struct ws_device *device, void *event, void *stream, struct ws_error_info *err) {
  IN_CONTEXT(device, err, api->cuEventRecord(event, stream), 0, "%s: recording an event", device->name);
}

enum ws_status ws_event_elapsed(struct ws_device *device, void *from, void *to, float *milliseconds,
                                struct ws_error_info *err) {
  if (!milliseconds) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_event_elapsed: milliseconds is NULL");
  *milliseconds = 0;
  IN_CONTEXT(device, err, api->cuEventSynchronize(to), api->cuEventElapsedTime(milliseconds, from, to),
             "%s: timing between two events", device->name);
}
