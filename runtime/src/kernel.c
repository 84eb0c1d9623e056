/* Loaded kernels: launched any number of times, from any thread. A launch is the checks of arguments.c, one call of the driver's
 * arithmetic for each tensor map, and one driver call; two more where another context is current. */
#include "runtime.h"
#include <stdlib.h>

void ws_kernel_free(struct ws_kernel *k) {
  if (!k) return;
  bool pushed;
  if (k->module && !ws_rt_enter(k->device, &pushed, NULL)) {
    k->device->driver.api.cuModuleUnload(k->module);
    ws_rt_leave(k->device, pushed);
  }
  ws_manifest_free(k->manifest);
  ws_device_close(k->device);
  free(k);
}

const struct ws_manifest *ws_kernel_manifest(const struct ws_kernel *k) { return k ? k->manifest : NULL; }

const struct ws_kernel_resources *ws_kernel_get_resources(const struct ws_kernel *k) { return k ? &k->resources : NULL; }

const struct ws_load_info *ws_kernel_get_load_info(const struct ws_kernel *k) { return k ? &k->load : NULL; }

static uint32_t device_sms(const struct ws_kernel *k) {
  int n = k->device->info.multiprocessors;
  return n > 0 ? (uint32_t)n : 0;
}

enum ws_status ws_kernel_plan(const struct ws_kernel *k, const struct ws_launch *launch, struct ws_plan *plan,
                              struct ws_error_info *err) {
  if (!k || !plan) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_kernel_plan: %s is NULL", k ? "plan" : "the kernel");
  *plan = (struct ws_plan){0};
  struct ws_rt_call call;
  call.planning = true;
  call.device_sms = device_sms(k);
  enum ws_status status = ws_rt_arguments(k->manifest, launch, &call, err);
  if (status) return status;
  const struct ws_kernel_info *info = &k->manifest->info;
  *plan = (struct ws_plan){.grid = call.grid,
                           .block = info->block,
                           .shared = info->shared,
                           .sms = info->persistent ? call.sms : 0,
                           .workspace_bytes = call.workspace_bytes};
  return WS_OK;
}

/* Host arithmetic of the driver: nothing is allocated or queued. */
static enum ws_status encode(const struct ws_kernel *k, const struct ws_rt_call *call, struct ws_cu_tensor_map *maps,
                             struct ws_error_info *err) {
  static const uint32_t ones[WS_RT_MAP_RANK] = {1, 1, 1, 1, 1};
  const struct ws_manifest *m = k->manifest;
  for (size_t i = 0; i < m->nmaps; i++) {
    const struct ws_rt_map *map = &m->maps[i];
    const struct ws_rt_tiles *t = &call->tiles[i];
    ws_cu_result result = k->device->driver.api.cuTensorMapEncodeTiled(
        &maps[i], map->type, (uint32_t)map->rank, (void *)(uintptr_t)t->address, t->extents, t->strides, map->box, ones,
        WS_CU_TENSOR_MAP_INTERLEAVE_NONE, map->swizzle, map->l2, WS_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result)
      return ws_rt_driver_fail(&k->device->driver, result, err, "%s: the tensor map %s of tensor %s", k->device->name, map->name,
                               m->tensors[map->tensor].name);
  }
  return WS_OK;
}

static ws_cu_result queue(const struct ws_kernel *k, uint32_t grid, void *stream, void **params) {
  const struct ws_cu_api *api = &k->device->driver.api;
  const struct ws_kernel_info *info = &k->manifest->info;
  if (info->cluster == 1)
    return api->cuLaunchKernel(k->function, grid, 1, 1, info->block, 1, 1, info->shared, stream, params, NULL);
  struct ws_cu_launch_attribute cluster = {.id = WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                           .value.cluster_dim = {info->cluster, 1, 1}};
  const struct ws_cu_launch_config config = {grid, 1, 1, info->block, 1, 1, info->shared, stream, &cluster, 1};
  return api->cuLaunchKernelEx(&config, k->function, params, NULL);
}

enum ws_status ws_kernel_launch(const struct ws_kernel *k, const struct ws_launch *launch, struct ws_error_info *err) {
  struct ws_rt_call call; /* not cleared: a launch is to be cheap, and ws_rt_arguments fills what is used */
  struct ws_cu_tensor_map maps[WS_RT_MAX_MAPS];
  void *params[WS_RT_MAX_PARAMS];
  if (!k) return ws_rt_fail(err, WS_ERR_ARGUMENT, "the kernel is NULL");
  const struct ws_manifest *m = k->manifest;
  call.planning = false;
  call.device_sms = device_sms(k);
  enum ws_status status = ws_rt_arguments(m, launch, &call, err);
  if (status || !call.grid) return status;
  for (size_t i = 0; i < m->nparams; i++)
    params[i] = m->params[i].source == WS_RT_TENSOR_MAP ? (void *)&maps[m->params[i].index] : &call.values[i];
  bool pushed;
  if ((status = ws_rt_enter(k->device, &pushed, err))) return status;
  status = encode(k, &call, maps, err);
  ws_cu_result result = status ? 0 : queue(k, (uint32_t)call.grid, launch->stream, params);
  if (result)
    status = ws_rt_driver_fail(&k->device->driver, result, err, "%s: launching %s with %llu CTAs", k->device->name,
                               m->info.entry, (unsigned long long)call.grid);
  ws_rt_leave(k->device, pushed);
  return status;
}
