/* Devices: opened by name or by what a kernel needs. The primary context is shared with everything else in the process
 * that uses the device (PyTorch, the CUDA runtime), so pointers and streams go both ways. */
#define _POSIX_C_SOURCE 200809L
#include "runtime.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

enum ws_status ws_rt_enter(const struct ws_device *device, bool *pushed, struct ws_error_info *err) {
  struct CUctx_st *current = NULL;
  *pushed = false;
  if (!device->driver.api.cuCtxGetCurrent(&current) && current == device->context) return WS_OK;
  ws_cu_result result = device->driver.api.cuCtxPushCurrent_v2(device->context);
  if (result) return ws_rt_driver_fail(&device->driver, result, err, "%s: making its context current", device->name);
  *pushed = true;
  return WS_OK;
}

void ws_rt_leave(const struct ws_device *device, bool pushed) {
  struct CUctx_st *old;
  if (pushed) device->driver.api.cuCtxPopCurrent_v2(&old);
}

/* ---- opening one device ---- */

static ws_cu_result read_info(struct ws_device *d) {
  struct ws_cu_api *api = &d->driver.api;
  size_t memory = 0;
  int shared = 0;
  const struct {
    unsigned int attribute;
    int *value;
  } wanted[] = {
      {WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &d->info.major},
      {WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &d->info.minor},
      {WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &d->info.multiprocessors},
      {WS_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
  };
  ws_cu_result result = api->cuDeviceGetName(d->model, sizeof d->model, d->handle);
  d->model[sizeof d->model - 1] = 0;
  if (!result) result = api->cuDeviceTotalMem_v2(&memory, d->handle);
  for (size_t i = 0; !result && i < sizeof wanted / sizeof *wanted; i++)
    result = api->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, d->handle);
  d->info.memory = memory;
  d->info.shared_per_cta = shared > 0 ? (uint32_t)shared : 0;
  d->info.driver_version = d->driver.version;
  return result;
}

static void destroy(struct ws_device *d) {
  ws_rt_driver_close(&d->driver);
  free(d->cache_folder);
  free(d);
}

static ws_cu_result take_context(struct ws_device *d, const struct ws_device_options *options) {
  d->foreign = options && options->context;
  if (!d->foreign) return d->driver.api.cuDevicePrimaryCtxRetain(&d->context, d->handle);
  d->context = options->context;
  return WS_CUDA_SUCCESS;
}

/* Takes over the driver. ordinal < 0: the emulator. */
static enum ws_status open_ordinal(struct ws_rt_driver *driver, int ordinal, const struct ws_device_options *options,
                                   struct ws_device **out, struct ws_error_info *err) {
  const char *folder = options ? options->cache_folder : NULL;
  struct ws_device *d = calloc(1, sizeof *d);
  if (d && folder) d->cache_folder = strdup(folder);
  if (!d || (folder && !d->cache_folder)) {
    free(d);
    ws_rt_driver_close(driver);
    return ws_rt_out_of_memory(err, sizeof *d + (folder ? strlen(folder) + 1 : 0));
  }
  d->driver = *driver;
  if (ordinal < 0)
    snprintf(d->name, sizeof d->name, "emu");
  else
    snprintf(d->name, sizeof d->name, "cuda:%d", ordinal);
  d->info.emulator = ordinal < 0;
  d->info.ordinal = ordinal < 0 ? 0 : ordinal;
  d->info.name = d->name;
  d->info.model = d->model;
  d->info.choice = d->choice;
  atomic_init(&d->references, 1);
  ws_cu_result result = driver->api.cuDeviceGet(&d->handle, ordinal < 0 ? 0 : ordinal);
  if (!result) result = read_info(d);
  if (!result) result = take_context(d, options);
  if (result) {
    enum ws_status status = ws_rt_driver_fail(driver, result, err, "%s: opening the device", d->name);
    destroy(d);
    return status;
  }
  *out = d;
  return WS_OK;
}

static enum ws_status open_driver(const struct ws_device_options *options, struct ws_rt_driver *driver, int *count,
                                  struct ws_error_info *err) {
  const char *path = options && options->driver_path ? options->driver_path : "libcuda.so.1";
  enum ws_status status = ws_rt_driver_open(path, driver, err);
  if (status) return status;
  ws_cu_result result = driver->api.cuDeviceGetCount(count);
  if (!result) return WS_OK;
  status = ws_rt_driver_fail(driver, result, err, "counting the devices");
  ws_rt_driver_close(driver);
  return status;
}

static enum ws_status open_cuda(const struct ws_device_options *options, int ordinal, struct ws_device **out,
                                struct ws_error_info *err) {
  struct ws_rt_driver driver;
  int count = 0;
  enum ws_status status = open_driver(options, &driver, &count, err);
  if (status) return status;
  if (ordinal < count) return open_ordinal(&driver, ordinal, options, out, err);
  ws_rt_driver_close(&driver);
  return ws_rt_fail(err, WS_ERR_NO_DEVICE, "cuda:%d: there is no such device: the driver has %d", ordinal, count);
}

static enum ws_status open_emulator(const struct ws_device_options *options, struct ws_device **out,
                                    struct ws_error_info *err) {
  char path[PATH_MAX];
  struct ws_rt_driver driver;
  struct ws_error_info first = {.status = WS_ERR_NO_DEVICE, .message = "the path is too long"};
  for (int i = 0; ws_rt_emulator_path(options, i, path, sizeof path); i++) {
    struct ws_error_info this;
    enum ws_status status = ws_rt_driver_open(path, &driver, &this);
    if (!status) return open_ordinal(&driver, -1, options, out, err);
    if (i == 0) first = this;
  }
  return ws_rt_fail(
      err, WS_ERR_NO_DEVICE,
      "emu: no emulator: %.1500s: put libwarpscore-emu.so beside the program or its path into WARPSCORE_EMU",
      first.message);
}

/* ---- the best device for a kernel ---- */

static bool runs_on(const struct ws_manifest *m, int major, int minor) {
  return !m || ws_rt_target_runs(m->info.target, major, minor, NULL, 0);
}

/* The GPU of the highest compute capability that can run the kernel, the one with more multiprocessors among equals;
 * why says what was found. */
static int best_ordinal(const struct ws_rt_driver *driver, int count, const struct ws_manifest *m, char *why,
                        size_t size) {
  int best = -1, best_rank = -1, best_cores = -1, seen_major = 0, seen_minor = 0;
  for (int i = 0; i < count; i++) {
    ws_cu_device device;
    int major = 0, minor = 0, cores = 0;
    if (driver->api.cuDeviceGet(&device, i) ||
        driver->api.cuDeviceGetAttribute(&major, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ||
        driver->api.cuDeviceGetAttribute(&minor, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ||
        driver->api.cuDeviceGetAttribute(&cores, WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
      continue;
    seen_major = major;
    seen_minor = minor;
    int rank = major * 100 + minor;
    if (!runs_on(m, major, minor) || rank < best_rank || (rank == best_rank && cores <= best_cores)) continue;
    best = i;
    best_rank = rank;
    best_cores = cores;
  }
  if (best >= 0)
    snprintf(why, size, "the best of %d GPU%s", count, count == 1 ? "" : "s");
  else if (count <= 0)
    snprintf(why, size, "the driver has no GPU");
  else
    snprintf(why, size, "none of %d GPU%s (compute capability %d.%d) runs %s", count, count == 1 ? "" : "s", seen_major,
             seen_minor, m ? m->info.target : "a kernel");
  return best;
}

static enum ws_status open_best(const struct ws_device_options *options, const struct ws_manifest *m,
                                struct ws_device **out, struct ws_error_info *err) {
  struct ws_rt_driver driver;
  struct ws_error_info gpu = {.status = WS_OK};
  char why[400];
  int count = 0;
  if (open_driver(options, &driver, &count, &gpu)) {
    snprintf(why, sizeof why, "no GPU: %.380s", gpu.message);
  } else {
    int ordinal = best_ordinal(&driver, count, m, why, sizeof why);
    if (ordinal < 0) {
      ws_rt_driver_close(&driver);
    } else if (open_ordinal(&driver, ordinal, options, out, &gpu)) {
      if (gpu.status == WS_ERR_MEMORY) return ws_rt_fail(err, WS_ERR_MEMORY, "%s", gpu.message); /* nothing is faulty */
      snprintf(why, sizeof why, "%.399s", gpu.message);
    } else {
      snprintf((*out)->choice, sizeof(*out)->choice, "%s", why);
      return WS_OK;
    }
  }
  struct ws_error_info emulator;
  if (open_emulator(options, out, &emulator))
    return ws_rt_fail(err, WS_ERR_NO_DEVICE, "%s; %.1500s", why, emulator.message);
  snprintf((*out)->choice, sizeof(*out)->choice, "%s", why);
  return WS_OK;
}

/* ---- public ---- */

/* "cuda" or "cuda:N" */
static bool cuda_ordinal(const char *name, int *ordinal) {
  *ordinal = 0;
  if (!strcmp(name, "cuda")) return true;
  if (strncmp(name, "cuda:", 5) || !name[5] || strlen(name + 5) > 4) return false;
  for (const char *p = name + 5; *p; p++) {
    if (*p < '0' || *p > '9') return false;
    *ordinal = *ordinal * 10 + (*p - '0');
  }
  return true;
}

/* The device of the caller's context: "cuda:N". */
static enum ws_status context_device(const struct ws_device_options *options, int *ordinal, struct ws_error_info *err) {
  struct ws_rt_driver driver;
  int count = 0;
  enum ws_status status = open_driver(options, &driver, &count, err);
  if (status) return status;
  struct CUctx_st *old;
  ws_cu_result result = WS_CUDA_ERROR_NOT_SUPPORTED;
  if (driver.api.cuCtxGetDevice) result = driver.api.cuCtxPushCurrent_v2(options->context);
  if (!result) {
    result = driver.api.cuCtxGetDevice(ordinal); /* a device's handle is its ordinal */
    driver.api.cuCtxPopCurrent_v2(&old);
  }
  if (result) status = ws_rt_driver_fail(&driver, result, err, "asking for the device of the caller's context");
  ws_rt_driver_close(&driver);
  return status;
}

static enum ws_status open_named(const char *name, const struct ws_manifest *m, const struct ws_device_options *options,
                                 struct ws_device **out, struct ws_error_info *err) {
  int ordinal;
  if (!cuda_ordinal(name, &ordinal))
    return ws_rt_fail(err, WS_ERR_ARGUMENT, "device '%.80s': expected cuda:N, emu or best", name);
  enum ws_status status = open_cuda(options, ordinal, out, err);
  char reason[64];
  if (status || !m || ws_rt_target_runs(m->info.target, (*out)->info.major, (*out)->info.minor, reason, sizeof reason))
    return status;
  status = ws_rt_fail(err, WS_ERR_UNSUPPORTED, "kernel %s for %s needs %s; %s (%s) has %d.%d", m->info.entry,
                      m->info.target, reason, (*out)->name, (*out)->model, (*out)->info.major, (*out)->info.minor);
  ws_device_close(*out);
  *out = NULL;
  return status;
}

static enum ws_status open_in_context(const char *name, const struct ws_manifest *m,
                                      const struct ws_device_options *options, struct ws_device **out,
                                      struct ws_error_info *err) {
  char own[16];
  int ordinal = 0, asked;
  enum ws_status status = context_device(options, &ordinal, err);
  if (status) return status;
  if (name && strcmp(name, "best") && (!cuda_ordinal(name, &asked) || asked != ordinal))
    return ws_rt_fail(err, WS_ERR_ARGUMENT, "device '%.80s': the caller's context belongs to cuda:%d", name, ordinal);
  snprintf(own, sizeof own, "cuda:%d", ordinal);
  return open_named(own, m, options, out, err);
}

enum ws_status ws_device_open(const char *name, const struct ws_manifest *m, const struct ws_device_options *options,
                              struct ws_device **out, struct ws_error_info *err) {
  if (!out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_device_open: out is NULL");
  *out = NULL;
  if (options && options->context) return open_in_context(name, m, options, out, err);
  if (!name || !strcmp(name, "best")) return open_best(options, m, out, err);
  if (!strcmp(name, "emu")) return open_emulator(options, out, err);
  return open_named(name, m, options, out, err);
}

void ws_rt_device_retain(struct ws_device *d) { atomic_fetch_add(&d->references, 1); }

void ws_device_close(struct ws_device *d) {
  if (!d || atomic_fetch_sub(&d->references, 1) > 1) return;
  if (!d->foreign) d->driver.api.cuDevicePrimaryCtxRelease_v2(d->handle);
  destroy(d);
}

const struct ws_device_info *ws_device_get_info(const struct ws_device *d) { return d ? &d->info : NULL; }
