/* Launches, and what the emulator offers beyond the driver API (wsemu.h). */
#include "drv.h"
#include "trace.h"
#include "unwritten.h"
#include <stdlib.h>
#include <string.h>

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };

/* The parameter block: every parameter at the offset that its declaration gives it. */
static uint8_t *gather_params(const struct ptx_func *f, void **params, void **extra, ws_cu_result *r) {
  uint8_t *block = calloc(1, f->param_bytes + 16);
  *r = block ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
  if (!block) return NULL;
  if (extra) {
    const void *buffer = NULL;
    size_t size = 0;
    for (; (uintptr_t)*extra != EXTRA_END; extra += 2) {
      if ((uintptr_t)extra[0] == EXTRA_BUFFER) buffer = extra[1];
      else if ((uintptr_t)extra[0] == EXTRA_SIZE && extra[1]) size = *(size_t *)extra[1];
      else break;
    }
    if (!buffer || size < f->param_bytes) *r = WS_CUDA_ERROR_INVALID_VALUE;
    else memcpy(block, buffer, f->param_bytes);
    return block;
  }
  for (uint32_t i = 0; i < f->nparams && !*r; i++) {
    if (!params || !params[i]) *r = WS_CUDA_ERROR_INVALID_VALUE;
    else memcpy(block + f->params[i]->address, params[i], f->params[i]->size);
  }
  return block;
}

static ws_cu_result check_shape(const struct CUfunc_st *f, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic) {
  static const uint32_t max_grid[3] = {0x7fffffff, 65535, 65535}, max_block[3] = {1024, 1024, 64};
  const char *name = f->f->sym->name;
  for (int i = 0; i < 3; i++)
    if (!grid[i] || grid[i] > max_grid[i] || !block[i] || block[i] > max_block[i])
      return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "kernel '%s': the launch shape (%u,%u,%u) x (%u,%u,%u) is out of range", name, grid[0],
                        grid[1], grid[2], block[0], block[1], block[2]);
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  const uint32_t *req = f->f->reqntid, *max = f->f->maxntid;
  if (threads > DRV_MAX_THREADS) return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "kernel '%s': %llu threads a CTA", name, (unsigned long long)threads);
  if (req[0] && (req[0] != block[0] || req[1] != block[1] || req[2] != block[2]))
    return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "kernel '%s': .reqntid %u,%u,%u but the launch has %u,%u,%u", name, req[0], req[1], req[2],
                      block[0], block[1], block[2]);
  if (max[0] && threads > (uint64_t)max[0] * max[1] * max[2])
    return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "kernel '%s': more threads than .maxntid allows", name);
  int64_t fixed = f->kernel->shared_static, limit = f->max_dynamic >= 0 ? f->max_dynamic : DRV_SHARED_DEFAULT - fixed;
  if (dynamic > limit)
    return ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "kernel '%s': %u bytes of dynamic shared memory, but %lld are allowed%s", name, dynamic,
                      (long long)limit, f->max_dynamic < 0 ? " (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES raises this)" : "");
  return WS_CUDA_SUCCESS;
}

/* The cluster's shape: the launch's, or what .reqnctapercluster says. PTX ISA "Cluster Dimension Directives". */
static ws_cu_result check_cluster(const struct CUfunc_st *f, uint32_t grid[3], const uint32_t asked[3], uint32_t cluster[3], bool *is_explicit) {
  const struct ptx_func *p = f->f;
  const char *name = p->sym->name;
  bool required = p->reqncluster[0];
  *is_explicit = asked[0] || required || p->explicit_cluster;
  if (p->explicit_cluster && !asked[0] && !required)
    return ws_emu_say(WS_CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel '%s': .explicitcluster, but the launch gives no cluster", name);
  for (int i = 0; i < 3; i++) {
    cluster[i] = asked[0] ? asked[i] : required ? p->reqncluster[i] : 1;
    if (required && asked[0] && asked[i] != p->reqncluster[i])
      return ws_emu_say(WS_CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel '%s': .reqnctapercluster %u,%u,%u but the launch has %u,%u,%u", name,
                        p->reqncluster[0], p->reqncluster[1], p->reqncluster[2], asked[0], asked[1], asked[2]);
    if (p->blocks_are_clusters) grid[i] *= cluster[i];
    if (!cluster[i] || cluster[i] > DRV_MAX_CLUSTER || grid[i] % cluster[i])
      return ws_emu_say(WS_CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel '%s': a grid of %u,%u,%u does not divide into clusters of %u,%u,%u", name, grid[0],
                        grid[1], grid[2], cluster[0], cluster[1], cluster[2]);
  }
  uint32_t n = cluster[0] * cluster[1] * cluster[2], most = f->non_portable ? DRV_MAX_CLUSTER : DRV_PORTABLE_CLUSTER;
  if (n > most || (p->maxclusterrank && n > p->maxclusterrank))
    return ws_emu_say(WS_CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel '%s': a cluster of %u CTAs: at most %u are allowed%s", name, n,
                      p->maxclusterrank && p->maxclusterrank < most ? p->maxclusterrank : most,
                      f->non_portable ? "" : " (CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED raises this)");
  return WS_CUDA_SUCCESS;
}

static void add_stats(const struct warp_stats *s, double seconds, double core) {
  struct warp_stats *t = &ws_emu_drv.stats;
  t->instructions += s->instructions;
  t->global_read += s->global_read;
  t->global_written += s->global_written;
  t->shared_read += s->shared_read;
  t->shared_written += s->shared_written;
  t->flops += s->flops;
  t->exponentials += s->exponentials;
  t->barriers += s->barriers;
  t->async += s->async;
  t->delayed += s->delayed;
  t->reordered += s->reordered;
  ws_emu_drv.kernel_seconds += seconds;
  ws_emu_drv.core_seconds += core;
}

static void note_rows(const struct kernel *k) {
  for (size_t i = 0; i < k->n; i++) {
    size_t row = (size_t)(k->src[i].row - ws_emu_isa);
    if (k->src[i].row && row < 64 * DRV_ROW_WORDS) ws_emu_drv.rows_run[row / 64] |= (uint64_t)1 << row % 64;
  }
}

ws_cu_result ws_emu_launch(struct CUctx_st *c, struct CUfunc_st *f, const struct launch_shape *shape, void **params, void **extra) {
  struct emu_launch l = {.dynamic_shared = shape->dynamic, .options = ws_emu_drv.options};
  ws_cu_result r = ws_emu_function_kernel(f);
  if (r) return r;
  memcpy(l.grid, shape->grid, sizeof l.grid);
  memcpy(l.block, shape->block, sizeof l.block);
  if ((r = check_shape(f, l.grid, l.block, l.dynamic_shared))) return r;
  if ((r = check_cluster(f, l.grid, shape->cluster, l.cluster, &l.explicit_cluster))) return r;
  uint8_t *bytes = gather_params(f->f, params, extra, &r);
  if (r) {
    free(bytes);
    return ws_emu_say(r, "kernel '%s': its %u parameters were not passed", f->f->sym->name, f->f->nparams);
  }
  l.kernel = f->kernel;
  l.params = bytes;
  free(f->unwritten);
  f->unwritten = NULL;
  l.unwritten = l.options.uninitialised == UNINIT_OFF ? NULL : ws_emu_unwritten_new();
  struct warp_stats stats = {0};
  struct fault *fault = calloc(1, sizeof *fault);
  double core = 0, start = ws_emu_now();
  r = fault ? (ws_cu_result)ws_emu_run_grid(&l, &stats, &core, fault) : WS_CUDA_ERROR_OUT_OF_MEMORY;
  add_stats(&stats, ws_emu_now() - start, core);
  f->unwritten = ws_emu_unwritten_end(l.unwritten, f->kernel);
  ws_emu_trace_end(&l.options);
  if (!r) note_rows(f->kernel);
  if (r && fault) {
    ws_emu_say(r, "%s", fault->msg);
    c->broken = r;
    c->culprit = f->module;
  }
  free(fault);
  free(bytes);
  return r;
}

static ws_cu_result launch(struct CUfunc_st *f, const struct launch_shape *shape, struct CUstream_st *stream, void **params, void **extra) {
  struct CUctx_st *c;
  ws_cu_result r = ws_emu_enter_work(&c);
  if (r) return r;
  if (!ws_emu_is_function(f) || !ws_emu_is_stream(stream)) return ws_emu_leave(WS_CUDA_ERROR_INVALID_HANDLE);
  return ws_emu_leave(ws_emu_launch(c, f, shape, params, extra));
}

API cuLaunchKernel(struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                   unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, struct CUstream_st *stream, void **params, void **extra) {
  struct launch_shape shape = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic = shared_bytes};
  return launch(function, &shape, stream, params, extra);
}

API cuLaunchKernelEx(const struct ws_cu_launch_config *config, struct CUfunc_st *function, void **params, void **extra) {
  if (!config || (config->nattrs && !config->attrs)) return WS_CUDA_ERROR_INVALID_VALUE;
  struct launch_shape shape = {.grid = {config->grid_x, config->grid_y, config->grid_z},
                               .block = {config->block_x, config->block_y, config->block_z}, .dynamic = config->shared_bytes};
  for (unsigned int i = 0; i < config->nattrs; i++) {
    const struct ws_cu_launch_attribute *a = &config->attrs[i];
    if (a->id == WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      shape.cluster[0] = a->value.cluster_dim.x;
      shape.cluster[1] = a->value.cluster_dim.y;
      shape.cluster[2] = a->value.cluster_dim.z;
      if (!shape.cluster[0] || !shape.cluster[1] || !shape.cluster[2]) return WS_CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    if (a->id == WS_CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative) return WS_CUDA_ERROR_NOT_SUPPORTED;
  }
  return launch(function, &shape, config->stream, params, extra);
}

/* ---- wsemu.h ---- */
#define EXPORT __attribute__((visibility("default")))
EXPORT int wsemuGetStats(struct wsemu_stats *s) {
  if (!s || s->size < sizeof *s) return 1;
  pthread_mutex_lock(&ws_emu_drv.lock);
  const struct warp_stats *t = &ws_emu_drv.stats;
  *s = (struct wsemu_stats){.size = s->size, .warp_instructions = t->instructions, .global_bytes_read = t->global_read,
                            .global_bytes_written = t->global_written, .shared_bytes_read = t->shared_read,
                            .shared_bytes_written = t->shared_written, .tensor_flops = t->flops, .exponentials = t->exponentials,
                            .barrier_waits = t->barriers, .async_operations = t->async,
                            .async_delayed = t->delayed, .async_reordered = t->reordered, .kernel_seconds = ws_emu_drv.kernel_seconds, .core_seconds = ws_emu_drv.core_seconds};
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return 0;
}

EXPORT int wsemuRowsRun(unsigned int row) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  int r = row >= ws_emu_isa_rows ? -1 : row < 64 * DRV_ROW_WORDS && ws_emu_drv.rows_run[row / 64] >> row % 64 & 1;
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return r;
}

EXPORT void wsemuResetStats(void) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  ws_emu_drv.stats = (struct warp_stats){0};
  ws_emu_drv.kernel_seconds = ws_emu_drv.core_seconds = 0;
  pthread_mutex_unlock(&ws_emu_drv.lock);
}

EXPORT size_t wsemuLastMessage(char *out, size_t n) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  size_t len = strlen(ws_emu_drv.message), k = len < n ? len : n ? n - 1 : 0;
  if (out && n) {
    memcpy(out, ws_emu_drv.message, k);
    out[k] = 0;
  }
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return len;
}

static int set_schedule(struct emu_options *o, const char *value) {
  if (!strcmp(value, "early")) o->schedule = SCHED_EARLY;
  else if (!strcmp(value, "late")) o->schedule = SCHED_LATE;
  else if (!strncmp(value, "random:", 7)) {
    char *end;
    uint64_t seed = strtoull(value + 7, &end, 0);
    if (!value[7] || *end) return 1;
    o->schedule = SCHED_RANDOM;
    o->seed = seed;
  } else return 1;
  return 0;
}

int ws_emu_set_option(const char *name, const char *value) {
  struct emu_options *o = &ws_emu_drv.options;
  char *end;
  if (!name || !value) return 1;
  if (!strcmp(name, "schedule")) return set_schedule(o, value);
  if (!strcmp(name, "trace")) return ws_emu_trace_file(o, value);
  if (!strcmp(name, "threads")) {
    unsigned long n = strtoul(value, &end, 10);
    if (!*value || *end || n > 256) return 1;
    o->threads = (uint32_t)n;
    return 0;
  }
  if (!strcmp(name, "watchdog")) {
    double s = strtod(value, &end);
    if (!*value || *end || !(s >= 0)) return 1;
    o->watchdog = s;
    return 0;
  }
  if (!strcmp(name, "race")) {
    if (strcmp(value, "on") && strcmp(value, "off") && strcmp(value, "lenient")) return 1;
    o->no_race = value[1] == 'f';
    o->lenient = *value == 'l';
    return 0;
  }
  if (!strcmp(name, "tensor")) {
    if (strcmp(value, "program") && strcmp(value, "any")) return 1;
    o->tensor_any = *value == 'a';
    return 0;
  }
  if (!strcmp(name, "device")) {
    static const char *const names[] = {[DEV_AUTO] = "auto", [DEV_90] = "sm_90", [DEV_100] = "sm_100", [DEV_103] = "sm_103"};
    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
      if (!strcmp(value, names[i])) return o->device = i, 0;
  }
  if (!strcmp(name, "uninitialised")) {
    static const char *const names[] = {[UNINIT_ERROR] = "error", [UNINIT_WARN] = "warn", [UNINIT_STRICT] = "strict", [UNINIT_OFF] = "off"};
    for (uint8_t i = 0; i < 4; i++)
      if (!strcmp(value, names[i])) return o->uninitialised = i, 0;
  }
  return 1;
}

EXPORT int wsemuSetOption(const char *name, const char *value) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  int bad = ws_emu_set_option(name, value);
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return bad;
}

EXPORT int wsemuSetTrace(void (*sink)(void *ctx, const struct wsemu_event *e), void *ctx) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  ws_emu_trace_file(&ws_emu_drv.options, "");
  ws_emu_drv.options.trace = sink;
  ws_emu_drv.options.trace_ctx = ctx;
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return 0;
}
