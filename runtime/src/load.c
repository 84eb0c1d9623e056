/* Kernels come to be here: the manifest held against the device, PTX compiled by the driver or its machine code taken from
 * the cache folder, the function and its attributes. What a launch needs is fixed now. */
#define _POSIX_C_SOURCE 200809L
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
  const struct ws_cu_api *api = &d->driver.api;
  if ((m->nmaps && !api->cuTensorMapEncodeTiled) || (k->cluster > 1 && !api->cuLaunchKernelEx))
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED, "kernel %s needs %s, which the driver of %s does not have: update it", k->entry,
                      api->cuLaunchKernelEx ? "cuTensorMapEncodeTiled" : "cuLaunchKernelEx", d->name);
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

enum { LOG_BYTES = 8192 };

/* WARPSCORE_LINE_INFO=1: the driver's compiler keeps the .loc lines, for a profiler's view of the source. */
static bool wants_lines(void) {
  const char *s = getenv("WARPSCORE_LINE_INFO");
  return s && *s && strcmp(s, "0");
}

static ws_cu_result module_from(struct ws_kernel *k, const void *image, char *log) {
  unsigned int options[] = {WS_CU_JIT_ERROR_LOG_BUFFER, WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, WS_CU_JIT_GENERATE_LINE_INFO};
  void *values[] = {log, (void *)(uintptr_t)(LOG_BYTES - 1), (void *)(uintptr_t)1};
  *log = 0;
  ws_cu_result result = k->device->driver.api.cuModuleLoadDataEx(&k->module, image, wants_lines() ? 3 : 2, options, values);
  if (result) k->module = NULL;
  return result;
}

/* PTX -> machine code through the driver's linker -> a module, and the machine code into the cache folder. */
static ws_cu_result link_and_store(struct ws_kernel *k, const struct ws_rt_cache_key *key, char *log) {
  const struct ws_cu_api *api = &k->device->driver.api;
  unsigned int options[] = {WS_CU_JIT_ERROR_LOG_BUFFER, WS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(LOG_BYTES - 1)}, *cubin = NULL;
  size_t length = 0;
  struct CUlinkState_st *state = NULL;
  ws_cu_result result = api->cuLinkCreate_v2(2, options, values, &state);
  if (result) return result;
  /* The driver reads the text only; its terminator counts. */
  result = api->cuLinkAddData_v2(state, WS_CU_JIT_INPUT_PTX, (void *)(uintptr_t)key->ptx, key->length + 1, "kernel.ptx", 0,
                                 NULL, NULL);
  if (!result) result = api->cuLinkComplete(state, &cubin, &length);
  if (!result) result = module_from(k, cubin, log);
  if (!result)
    ws_rt_cache_store(k->device->cache_folder, key, cubin, length, k->cache_note, sizeof k->cache_note);
  api->cuLinkDestroy(state); /* the machine code belongs to it */
  return result;
}

static ws_cu_result through_cache(struct ws_kernel *k, const char *ptx, size_t length, char *log) {
  const struct ws_device *d = k->device;
  const struct ws_rt_cache_key key = {
      ptx, length, k->manifest->info.target, d->info.driver_version, d->info.major, d->info.minor};
  struct ws_rt_cache_entry entry;
  if (ws_rt_cache_find(d->cache_folder, &key, &entry, k->cache_note, sizeof k->cache_note)) {
    ws_cu_result result = module_from(k, entry.cubin, log);
    free(entry.file);
    k->load.source = WS_LOAD_CACHED;
    if (!result || result == WS_CUDA_ERROR_OUT_OF_MEMORY) return result;
    snprintf(k->cache_note, sizeof k->cache_note, "; the entry there was refused by the driver (%u)", result);
  }
  k->load.source = WS_LOAD_COMPILED;
  return link_and_store(k, &key, log);
}

/* length: of PTX text; 0 = image is machine code */
static enum ws_status load_module(struct ws_kernel *k, const char *image, size_t length, struct ws_error_info *err) {
  const struct ws_device *d = k->device;
  const struct ws_cu_api *api = &d->driver.api;
  bool links = api->cuLinkCreate_v2 && api->cuLinkAddData_v2 && api->cuLinkComplete && api->cuLinkDestroy;
  char *log = malloc(LOG_BYTES);
  if (!log) return ws_rt_out_of_memory(err, LOG_BYTES);
  memset(log, 0, LOG_BYTES);
  ws_cu_result result;
  if (length && d->cache_folder && links && !wants_lines()) { /* the cache holds machine code without lines */
    result = through_cache(k, image, length, log);
  } else {
    if (length && d->cache_folder)
      snprintf(k->cache_note, sizeof k->cache_note, "not used: %s", wants_lines() ? "WARPSCORE_LINE_INFO is set" : d->info.emulator ? "the emulator makes no machine code"
                                                                                     : "this driver has no linker");
    k->load.source = length ? WS_LOAD_COMPILED : WS_LOAD_CUBIN;
    result = module_from(k, image, log);
  }
  enum ws_status status = result ? refused(k, result, log, err) : WS_OK;
  free(log);
  return status;
}

/* ---- after it ---- */

enum { PORTABLE_CLUSTER = 8 }; /* CTAs of a cluster that every device has (CUDA C++ Programming Guide, Thread Block Clusters) */

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
  if (d->info.emulator) k->resources.registers = 0; /* it has as many as the text names: what matters is the assembler's choice */
  if ((uint32_t)threads < info->block)
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED,
                      "kernel %s: the manifest asks for %u threads a CTA, the compiled code allows %d", info->entry,
                      info->block, threads);
  result = api->cuFuncSetAttribute(k->function, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)info->shared);
  if (result)
    return ws_rt_driver_fail(&d->driver, result, err, "%s: giving %s %u bytes of dynamic shared memory", d->name,
                             info->entry, info->shared);
  if (info->cluster > PORTABLE_CLUSTER) {
    result = api->cuFuncSetAttribute(k->function, WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (result)
      return ws_rt_driver_fail(&d->driver, result, err, "%s: clusters of %u CTAs for %s", d->name, info->cluster, info->entry);
  }
  result = api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&k->resources.ctas_per_sm, k->function, (int)info->block,
                                                            info->shared);
  if (result)
    return ws_rt_driver_fail(&d->driver, result, err, "%s: computing the occupancy of %s", d->name, info->entry);
  return WS_OK;
}

static enum ws_status load_image(struct ws_kernel *k, const char *image, size_t length, struct ws_error_info *err) {
  const struct ws_device *d = k->device;
  bool pushed;
  enum ws_status status = ws_rt_enter(d, &pushed, err);
  if (status) return status;
  status = load_module(k, image, length, err);
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

static double now(void) {
  struct timespec t = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Takes the manifest over. length: of PTX text; 0 = image is machine code. */
static enum ws_status load(struct ws_device *device, struct ws_manifest *manifest, const char *image, size_t length,
                           struct ws_kernel **out, struct ws_error_info *err) {
  double begin = now();
  struct ws_kernel *k = calloc(1, sizeof *k);
  if (!k) {
    ws_manifest_free(manifest);
    return ws_rt_out_of_memory(err, sizeof *k);
  }
  k->device = device;
  k->manifest = manifest;
  ws_rt_device_retain(device);
  k->load.cache = k->cache_note;
  enum ws_status status = check_device(manifest, device, !length, err);
  if (!status) status = load_image(k, image, length, err);
  k->load.seconds = now() - begin;
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
  if (text && length && !text[length - 1]) length--; /* sizeof of a string */
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
    status = load(device, m, copy, length, out, err);
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
bool ws_rt_whole_elf(const void *image, size_t n) {
  const unsigned char *p = image;
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
  if (!status && (!cubin || !ws_rt_whole_elf(cubin, cubin_length)))
    status = ws_rt_fail(err, WS_ERR_ARGUMENT, "the machine code is no complete cubin (%zu bytes)",
                        cubin ? cubin_length : (size_t)0);
  if (!status) status = ws_manifest_parse(text, length, &m, err);
  return status ? status : load(device, m, cubin, 0, out, err);
}

