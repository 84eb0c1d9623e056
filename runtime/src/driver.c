/* A driver library opened at run time. The CUDA driver and the emulator export the same functions, so one table serves
 * both. Libraries stay mapped once opened: driver threads may outlive the last device. */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMULATOR "libwarpscore-emu.so"

static const struct {
  const char *name;
  size_t offset;
  bool required;
} entries[] = {
#define REQUIRED true
#define OPTIONAL false
#define ENTRY(need, name, params) {#name, offsetof(struct ws_cu_api, name), need},
    WS_CU_FUNCTIONS(ENTRY) WS_CU_LINKER_FUNCTIONS(ENTRY)};

/* A message that was cut ends with a whole line. */
static void cut_lines(char *message) {
  static const char rest[] = "\n  ..";
  size_t n = strlen(message);
  if (n + 1 < WS_MESSAGE_SIZE) return;
  for (n -= sizeof rest; n > 0 && message[n] != '\n'; n--) {}
  if (n > 0) memcpy(message + n, rest, sizeof rest);
}

enum ws_status ws_rt_driver_fail(const struct ws_rt_driver *d, ws_cu_result result, struct ws_error_info *err,
                                 const char *fmt, ...) {
  enum ws_status status = result == WS_CUDA_ERROR_OUT_OF_MEMORY ? WS_ERR_MEMORY : WS_ERR_DRIVER;
  if (!err) return status;
  char what[256], more[WS_MESSAGE_SIZE] = "";
  const char *name = NULL, *text = NULL;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  if (d->api.cuGetErrorName(result, &name) || !name) name = "unknown result";
  if (d->api.cuGetErrorString(result, &text) || !text) text = "no description";
  if (d->last_message) d->last_message(more, sizeof more);
  if (*more) /* the emulator's story says what happened; its lines on single warps come behind the first */
    ws_rt_fail(err, status, "%s: %.*s (%s, %u)%s", what, (int)strcspn(more, "\n"), more, name, result, more + strcspn(more, "\n"));
  else
    ws_rt_fail(err, status, "%s: %s (%u): %s", what, name, result, text);
  cut_lines(err->message);
  err->driver_result = (int)result;
  return status;
}

static enum ws_status bind(const char *path, struct ws_rt_driver *d, struct ws_error_info *err) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *symbol = dlsym(d->library, entries[i].name);
    if (!symbol && entries[i].required)
      return ws_rt_fail(err, WS_ERR_NO_DEVICE, "%s: has no function %s: this driver is too old or no CUDA driver", path,
                        entries[i].name);
    memcpy((char *)&d->api + entries[i].offset, &symbol, sizeof symbol);
  }
  void *last = dlsym(d->library, "wsemuLastMessage");
  memcpy(&d->last_message, &last, sizeof last);
  return WS_OK;
}

static enum ws_status start(const char *path, struct ws_rt_driver *d, struct ws_error_info *err) {
  ws_cu_result result = d->api.cuInit(0);
  if (!result) result = d->api.cuDriverGetVersion(&d->version);
  if (!result) return WS_OK;
  ws_rt_driver_fail(d, result, err, "%s: cuInit", path);
  if (err) err->status = WS_ERR_NO_DEVICE;
  return WS_ERR_NO_DEVICE;
}

enum ws_status ws_rt_driver_open(const char *path, struct ws_rt_driver *d, struct ws_error_info *err) {
  memset(d, 0, sizeof *d);
  d->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!d->library) {
    const char *why = dlerror();
    if (!why) why = path;
    if (!strncmp(why, path, strlen(path)) && strstr(why, "No such file or directory"))
      return ws_rt_fail(err, WS_ERR_NO_DEVICE, "%s: there is no such library", path);
    return ws_rt_fail(err, WS_ERR_NO_DEVICE, "the driver library cannot be opened: %s", why);
  }
  enum ws_status status = bind(path, d, err);
  if (!status) status = start(path, d, err);
  if (status) ws_rt_driver_close(d);
  return status;
}

void ws_rt_driver_close(struct ws_rt_driver *d) {
  if (d->library) dlclose(d->library);
  d->library = NULL;
}

/* The folder of the file that holds this function: the shared library, or the program that it is linked into. */
static bool own_folder(char *out, size_t size) {
  Dl_info info;
  char path[PATH_MAX];
  ssize_t n = -1;
  if (dladdr((void *)(uintptr_t)own_folder, &info) && info.dli_fname && strchr(info.dli_fname, '/')) {
    n = (ssize_t)strlen(info.dli_fname);
    if (n >= (ssize_t)sizeof path) return false;
    memcpy(path, info.dli_fname, (size_t)n);
  } else {
    n = readlink("/proc/self/exe", path, sizeof path - 1);
  }
  while (n > 0 && path[n - 1] != '/') n--;
  if (n <= 0 || (size_t)n >= size) return false;
  memcpy(out, path, (size_t)n);
  out[n] = 0;
  return true;
}

bool ws_rt_emulator_path(const struct ws_device_options *options, int index, char *out, size_t size) {
  const char *named = options && options->emulator_path ? options->emulator_path : getenv("WARPSCORE_EMU");
  if (named && *named) { /* asked for by name: nothing else will do */
    snprintf(out, size, "%s", named);
    return index == 0;
  }
  /* beside the library, or the program that it is linked into; where an installation has its libraries; as the loader finds it */
  static const char *const places[] = {"", WS_RT_LIBRARIES "/", NULL};
  char folder[PATH_MAX] = "";
  if (index < 0 || (size_t)index >= sizeof places / sizeof *places) return false;
  if (places[index] && !own_folder(folder, sizeof folder)) folder[0] = 0;
  return snprintf(out, size, "%s%s" EMULATOR, folder, places[index] ? places[index] : "") < (int)size;
}
