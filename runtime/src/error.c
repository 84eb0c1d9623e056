#include "runtime.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRINGIZE(x) #x
#define TEXT(x) STRINGIZE(x)

const char *ws_version(void) { return TEXT(WS_RT_VERSION); }

const char *ws_status_name(enum ws_status status) {
  static const char *const names[] = {
      [WS_OK] = "WS_OK",
      [WS_ERR_ARGUMENT] = "WS_ERR_ARGUMENT",
      [WS_ERR_MANIFEST] = "WS_ERR_MANIFEST",
      [WS_ERR_IO] = "WS_ERR_IO",
      [WS_ERR_NO_DEVICE] = "WS_ERR_NO_DEVICE",
      [WS_ERR_UNSUPPORTED] = "WS_ERR_UNSUPPORTED",
      [WS_ERR_COMPILE] = "WS_ERR_COMPILE",
      [WS_ERR_MEMORY] = "WS_ERR_MEMORY",
      [WS_ERR_DRIVER] = "WS_ERR_DRIVER",
      [WS_ERR_NO_KERNEL] = "WS_ERR_NO_KERNEL",
  };
  size_t i = (size_t)status;
  return i < sizeof names / sizeof *names ? names[i] : "unknown status";
}

enum ws_status ws_rt_fail(struct ws_error_info *err, enum ws_status status, const char *fmt, ...) {
  if (!err) return status;
  err->status = status;
  err->driver_result = 0;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(err->message, sizeof err->message, fmt, ap);
  va_end(ap);
  return status;
}

enum ws_status ws_rt_out_of_memory(struct ws_error_info *err, size_t bytes) {
  return ws_rt_fail(err, WS_ERR_MEMORY, "out of host memory: %zu bytes were asked for", bytes);
}

/* Reads in growing pieces, so that pipes work and a file's size is never trusted. */
static enum ws_status read_all(FILE *f, const char *path, char **text, size_t *length, struct ws_error_info *err) {
  size_t n = 0, cap = 64 * 1024;
  const size_t most = (size_t)256 * 1024 * 1024; /* far beyond any kernel: a wrong file shall not eat the memory */
  char *buf = malloc(cap + 1);
  for (;;) {
    if (!buf) return ws_rt_out_of_memory(err, cap + 1);
    n += fread(buf + n, 1, cap - n, f);
    if (n < cap) break;
    if (cap >= most) {
      free(buf);
      return ws_rt_fail(err, WS_ERR_IO, "%s: larger than %zu bytes: this is no kernel", path, most);
    }
    cap *= 2;
    char *more = realloc(buf, cap + 1);
    if (!more) free(buf);
    buf = more;
  }
  if (ferror(f)) {
    int reason = errno;
    free(buf);
    return ws_rt_fail(err, WS_ERR_IO, "%s: cannot be read: %s", path, strerror(reason));
  }
  buf[n] = 0;
  *text = buf;
  *length = n;
  return WS_OK;
}

enum ws_status ws_rt_read_file(const char *path, char **text, size_t *length, struct ws_error_info *err) {
  if (!path) return ws_rt_fail(err, WS_ERR_ARGUMENT, "the path of the file is NULL");
  FILE *f = fopen(path, "rb");
  if (!f) return ws_rt_fail(err, WS_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
  enum ws_status status = read_all(f, path, text, length, err);
  fclose(f);
  return status;
}
