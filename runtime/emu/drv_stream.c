/* Streams and events. Work is complete when its call returns, so a stream is only a handle and an event a time. */
#include "drv.h"
#include <stdlib.h>

bool ws_emu_is_stream(const struct CUstream_st *s) {
  if ((uintptr_t)s <= 2) return true; /* the legacy and the per-thread default stream */
  for (struct CUstream_st *i = ws_emu_drv.streams; i; i = i->next)
    if (i == s) return true;
  return false;
}

API cuStreamCreate(struct CUstream_st **stream, unsigned int flags) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  (void)flags;
  if (r) return r;
  if (!stream) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  struct CUstream_st *s = malloc(sizeof *s);
  if (!s) return ws_emu_leave(WS_CUDA_ERROR_OUT_OF_MEMORY);
  *s = (struct CUstream_st){.next = ws_emu_drv.streams, .ctx = c};
  ws_emu_drv.streams = s;
  *stream = s;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuStreamDestroy_v2(struct CUstream_st *stream) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  struct CUstream_st **at = &ws_emu_drv.streams;
  while (*at && *at != stream) at = &(*at)->next;
  if (!*at) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  *at = stream->next;
  free(stream);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

static ws_cu_result on_stream(const struct CUstream_st *stream) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  return ws_emu_leave(ws_emu_is_stream(stream) ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE);
}
API cuStreamSynchronize(struct CUstream_st *stream) { return on_stream(stream); }
API cuStreamQuery(struct CUstream_st *stream) { return on_stream(stream); }
API cuStreamIsCapturing(struct CUstream_st *stream, unsigned int *status) {
  if (!status) return WS_CUDA_ERROR_INVALID_VALUE;
  *status = 0;
  return on_stream(stream);
}

static struct CUevent_st *find_event(const struct CUevent_st *e) {
  for (struct CUevent_st *i = ws_emu_drv.events; i; i = i->next)
    if (i == e) return i;
  return NULL;
}

API cuEventCreate(struct CUevent_st **event, unsigned int flags) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!event) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  struct CUevent_st *e = malloc(sizeof *e);
  if (!e) return ws_emu_leave(WS_CUDA_ERROR_OUT_OF_MEMORY);
  *e = (struct CUevent_st){.next = ws_emu_drv.events, .ctx = c, .timing = !(flags & 2)};
  ws_emu_drv.events = e;
  *event = e;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuEventDestroy_v2(struct CUevent_st *event) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_ctx(&c);
  if (r) return r;
  struct CUevent_st **at = &ws_emu_drv.events;
  while (*at && *at != event) at = &(*at)->next;
  if (!*at) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  *at = event->next;
  free(event);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

API cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!find_event(event) || !ws_emu_is_stream(stream)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  event->time = ws_emu_now();
  event->recorded = true;
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

static ws_cu_result on_event(const struct CUevent_st *event) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  return ws_emu_leave(find_event(event) ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE);
}
API cuEventSynchronize(struct CUevent_st *event) { return on_event(event); }
API cuEventQuery(struct CUevent_st *event) { return on_event(event); }
API cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags) {
  ws_cu_result r = on_event(event);
  (void)flags;
  return r ? r : on_stream(stream);
}

API cuEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!milliseconds) return ws_emu_leave(WS_CUDA_ERROR_INVALID_VALUE);
  if (!find_event(from) || !find_event(to) || !from->recorded || !to->recorded || !from->timing || !to->timing)
    return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  *milliseconds = (float)((to->time - from->time) * 1e3);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}

/* ---- capture and graphs: not offered ---- */
API cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned int mode) {
  (void)stream, (void)mode;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
API cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph) {
  (void)stream, (void)graph;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
API cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph, unsigned long long flags) {
  (void)exec, (void)graph, (void)flags;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
API cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream) {
  (void)exec, (void)stream;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
API cuGraphExecDestroy(struct CUgraphExec_st *exec) {
  (void)exec;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
API cuGraphDestroy(struct CUgraph_st *graph) {
  (void)graph;
  return WS_CUDA_ERROR_NOT_SUPPORTED;
}
