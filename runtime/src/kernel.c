/* Loaded kernels: launched any number of times, from any thread. A launch is the checks of arguments.c and one driver call,
 * two more where another context is current. */
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

enum ws_status ws_kernel_launch(const struct ws_kernel *k, const struct ws_launch *launch, struct ws_error_info *err) {
  struct ws_rt_call call; /* not cleared: a launch is to be cheap, and ws_rt_arguments fills what is used */
  void *params[WS_RT_MAX_PARAMS];
  if (!k) return ws_rt_fail(err, WS_ERR_ARGUMENT, "the kernel is NULL");
  const struct ws_manifest *m = k->manifest;
  call.planning = false;
  call.device_sms = device_sms(k);
  enum ws_status status = ws_rt_arguments(m, launch, &call, err);
  if (status || !call.grid) return status;
  for (size_t i = 0; i < m->nparams; i++) params[i] = &call.values[i];
  bool pushed;
  if ((status = ws_rt_enter(k->device, &pushed, err))) return status;
  ws_cu_result result =
      k->device->driver.api.cuLaunchKernel(k->function, (unsigned int)call.grid, 1, 1, m->info.block, 1, 1, m->info.shared,
                                           launch->stream, params, NULL);
  if (result)
    status = ws_rt_driver_fail(&k->device->driver, result, err, "%s: launching %s with %llu CTAs", k->device->name,
                               m->info.entry, (unsigned long long)call.grid);
  ws_rt_leave(k->device, pushed);
  return status;
}
