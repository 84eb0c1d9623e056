/* Kernels: loaded through the driver's compiler, then launched any number of times. What a launch needs is fixed at
 * load, so that a launch is the checks of arguments.c and one driver call. */
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ws_kernel {
  struct ws_device *device;
  struct ws_manifest *manifest;
  struct CUmod_st *module;
  struct CUfunc_st *function;
  struct ws_kernel_resources resources;
};

/* ---- before the driver sees it ---- */

static enum ws_status check_device(const struct ws_manifest *m, const struct ws_device *d, bool cubin,
                                   struct ws_error_info *err) {
  const struct ws_kernel_info *k = &m->info;
  char reason[64];
  bool runs = ws_rt_target_runs(k->target, d->info.major, d->info.minor, reason, sizeof reason);
  if (!runs && !d->info.emulator) /* the emulator judges by instruction: its loader names what it cannot run */
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED, "kernel %s for %s needs %s; %s (%s) has %d.%d", k->entry, k->target,
                      reason, d->name, d->model, d->info.major, d->info.minor);
  if (k->shared > d->info.shared_per_cta)
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED, "kernel %s needs %u bytes of shared memory a CTA; %s (%s) has %u",
                      k->entry, k->shared, d->name, d->model, d->info.shared_per_cta);
  return cubin ? WS_OK : ws_rt_check_ptx_version(k, d->info.driver_version, err);
}

/* ---- the driver's compiler ---- */

static enum ws_status refused(struct ws_kernel *k, ws_cu_result result, const char *log, struct ws_error_info *err) {
  const struct ws_device *d = k->device;
  if (result == WS_CUDA_ERROR_NO_BINARY_FOR_GPU)
    return ws_rt_fail(
        err, WS_ERR_UNSUPPORTED,
        "kernel %s: there is no machine code for %s (%s, compute capability %d.%d) in it: assemble it with "
        "ptxas -arch=sm_%d%d, or load the PTX",
        k->manifest->info.entry, d->name, d->model, d->info.major, d->info.minor, d->info.major, d->info.minor);
  enum ws_status status =
      ws_rt_driver_fail(&d->driver, result, err, "%s: loading kernel %s", d->name, k->manifest->info.entry);
  switch (result) {
  case WS_CUDA_ERROR_INVALID_PTX:
  case WS_CUDA_ERROR_INVALID_IMAGE:
  case WS_CUDA_ERROR_INVALID_SOURCE: status = WS_ERR_COMPILE; break;
  case WS_CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case WS_CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case WS_CUDA_ERROR_JIT_COMPILATION_DISABLED: status = WS_ERR_UNSUPPORTED; break;
  default: break;
  }
  if (!err) return status;
  err->status = status;
  size_t n = strlen(err->message);
  if (*log && n + 1 < sizeof err->message) snprintf(err->message + n, sizeof err->message - n, "\n%s", log);
  return status;
}

static enum ws_status load_module(struct ws_kernel *k, const void *image, struct ws_error_info *err) {
  enum { LOG = 8192 };
  char *log = calloc(1, LOG);
  if (!log) return ws_rt_out_of_memory(err, LOG);
  unsigned int options[] = {WS_CU_JIT_ERROR_LOG_BUFFER, WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(LOG - 1)};
  ws_cu_result result = k->device->driver.api.cuModuleLoadDataEx(&k->module, image, 2, options, values);
  enum ws_status status = WS_OK;
  if (result) {
    k->module = NULL;
    status = refused(k, result, log, err);
  }
  free(log);
  return status;
}

/* ---- after it ---- */

static enum ws_status read_resources(struct ws_kernel *k, struct ws_error_info *err) {
  const struct ws_device *d = k->device;
  const struct ws_cu_api *api = &d->driver.api;
  const struct ws_kernel_info *info = &k->manifest->info;
  int threads = 0;
  const struct {
    unsigned int attribute;
    int *value;
  } wanted[] = {
      {WS_CU_FUNC_ATTRIBUTE_NUM_REGS, &k->resources.registers},
      {WS_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &k->resources.local_bytes},
      {WS_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &k->resources.static_shared},
      {WS_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
  };
  ws_cu_result result = 0;
  for (size_t i = 0; !result && i < sizeof wanted / sizeof *wanted; i++)
    result = api->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, k->function);
  if (result)
    return ws_rt_driver_fail(&d->driver, result, err, "%s: reading the attributes of %s", d->name, info->entry);
  if ((uint32_t)threads < info->block)
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED,
                      "kernel %s: the manifest asks for %u threads a CTA, the compiled code allows %d", info->entry,
                      info->block, threads);
  result = api->cuFuncSetAttribute(k->function, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)info->shared);
  if (result)
    return ws_rt_driver_fail(&d->driver, result, err, "%s: giving %s %u bytes of dynamic shared memory", d->name,
                             info->entry, info->shared);
  result = api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&k->resources.ctas_per_sm, k->function, (int)info->block,
                                                            info->shared);
  if (result)
    return ws_rt_driver_fail(&d->driver, result, err, "%s: computing the occupancy of %s", d->name, info->entry);
  return WS_OK;
}

static enum ws_status load_image(struct ws_kernel *k, const void *image, struct ws_error_info *err) {
  const struct ws_device *d = k->device;
  bool pushed;
  enum ws_status status = ws_rt_enter(d, &pushed, err);
  if (status) return status;
  status = load_module(k, image, err);
  if (!status) {
    ws_cu_result result = d->driver.api.cuModuleGetFunction(&k->function, k->module, k->manifest->info.entry);
    if (result) {
      status =
          ws_rt_driver_fail(&d->driver, result, err, "%s: looking for the entry %s", d->name, k->manifest->info.entry);
      if (result == WS_CUDA_ERROR_NOT_FOUND)
        status = ws_rt_fail(err, WS_ERR_MANIFEST,
                            "the manifest names the entry %s, but the code has no such kernel: the file was altered",
                            k->manifest->info.entry);
    }
  }
  if (!status) status = read_resources(k, err);
  ws_rt_leave(d, pushed);
  return status;
}

/* Takes the manifest over. */
static enum ws_status load(struct ws_device *device, struct ws_manifest *manifest, const void *image, bool cubin,
                           struct ws_kernel **out, struct ws_error_info *err) {
  struct ws_kernel *k = calloc(1, sizeof *k);
  if (!k) {
    ws_manifest_free(manifest);
    return ws_rt_out_of_memory(err, sizeof *k);
  }
  k->device = device;
  k->manifest = manifest;
  ws_rt_device_retain(device);
  enum ws_status status = check_device(manifest, device, cubin, err);
  if (!status) status = load_image(k, image, err);
  if (status)
    ws_kernel_free(k);
  else
    *out = k;
  return status;
}

/* ---- public ---- */

static enum ws_status begin(struct ws_device *device, struct ws_kernel **out, struct ws_error_info *err) {
  if (!out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "loading a kernel: out is NULL");
  *out = NULL;
  return device ? WS_OK : ws_rt_fail(err, WS_ERR_ARGUMENT, "loading a kernel: the device is NULL");
}

enum ws_status ws_kernel_load_text(struct ws_device *device, const char *text, size_t length, struct ws_kernel **out,
                                   struct ws_error_info *err) {
  struct ws_manifest *m;
  enum ws_status status = begin(device, out, err);
  if (!status) status = ws_manifest_parse(text, length, &m, err);
  if (status) return status;
  if (!m->info.ptx_major) {
    ws_manifest_free(m);
    return ws_rt_fail(err, WS_ERR_MANIFEST, "there is no code behind the manifest");
  }
  char *copy = malloc(length + 1); /* the driver wants a terminator */
  if (!copy) {
    ws_manifest_free(m);
    return ws_rt_out_of_memory(err, length + 1);
  }
  memcpy(copy, text, length);
  copy[length] = 0;
  if (strlen(copy) == length)
    status = load(device, m, copy, false, out, err);
  else {
    ws_manifest_free(m);
    status =
        ws_rt_fail(err, WS_ERR_MANIFEST, "the text has a NUL byte at offset %zu: the file was altered", strlen(copy));
  }
  free(copy);
  return status;
}

enum ws_status ws_kernel_load_file(struct ws_device *device, const char *path, struct ws_kernel **out,
                                   struct ws_error_info *err) {
  char *text;
  size_t length;
  enum ws_status status = begin(device, out, err);
  if (!status) status = ws_rt_read_file(path, &text, &length, err);
  if (status) return status;
  status = ws_kernel_load_text(device, text, length, out, err);
  free(text);
  if (status && err) {
    char message[WS_MESSAGE_SIZE];
    memcpy(message, err->message, sizeof message);
    snprintf(err->message, sizeof err->message, "%.255s: %.*s", path, WS_MESSAGE_SIZE - 300, message);
  }
  return status;
}

/* The driver takes no length, it believes the ELF header: the tables that it points to must lie inside. */
static bool whole_elf(const unsigned char *p, size_t n) {
  static const unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
  if (n < 64 || memcmp(p, magic, sizeof magic)) return false;
  uint64_t phoff, shoff;
  uint16_t phentsize, phnum, shentsize, shnum;
  memcpy(&phoff, p + 32, 8);
  memcpy(&shoff, p + 40, 8);
  memcpy(&phentsize, p + 54, 2);
  memcpy(&phnum, p + 56, 2);
  memcpy(&shentsize, p + 58, 2);
  memcpy(&shnum, p + 60, 2);
  return phoff <= n && (uint64_t)phentsize * phnum <= n - phoff && shoff <= n &&
         (uint64_t)shentsize * shnum <= n - shoff;
}

enum ws_status ws_kernel_load_cubin(struct ws_device *device, const char *text, size_t length, const void *cubin,
                                    size_t cubin_length, struct ws_kernel **out, struct ws_error_info *err) {
  struct ws_manifest *m;
  enum ws_status status = begin(device, out, err);
  if (!status && (!cubin || !whole_elf(cubin, cubin_length)))
    status = ws_rt_fail(err, WS_ERR_ARGUMENT, "the machine code is no complete cubin (%zu bytes)",
                        cubin ? cubin_length : (size_t)0);
  if (!status) status = ws_manifest_parse(text, length, &m, err);
  return status ? status : load(device, m, cubin, true, out, err);
}

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

const struct ws_manifest *ws_kernel_manifest(const struct ws_kernel *k) { return k->manifest; }

const struct ws_kernel_resources *ws_kernel_get_resources(const struct ws_kernel *k) { return &k->resources; }

enum ws_status ws_kernel_launch(const struct ws_kernel *k, const struct ws_launch *launch, struct ws_error_info *err) {
  union ws_rt_value values[WS_RT_MAX_PARAMS];
  void *params[WS_RT_MAX_PARAMS];
  uint64_t grid = 0;
  if (!k) return ws_rt_fail(err, WS_ERR_ARGUMENT, "the kernel is NULL");
  const struct ws_manifest *m = k->manifest;
  enum ws_status status = ws_rt_arguments(m, launch, values, &grid, err);
  if (status || !grid) return status;
  for (size_t i = 0; i < m->nparams; i++) params[i] = &values[i];
  bool pushed;
  if ((status = ws_rt_enter(k->device, &pushed, err))) return status;
  ws_cu_result result = k->device->driver.api.cuLaunchKernel(k->function, (unsigned int)grid, 1, 1, m->info.block, 1, 1,
                                                             m->info.shared, launch->stream, params, NULL);
  if (result)
    status = ws_rt_driver_fail(&k->device->driver, result, err, "%s: launching %s with %llu CTAs", k->device->name,
                               m->info.entry, (unsigned long long)grid);
  ws_rt_leave(k->device, pushed);
  return status;
}
