/* Messages, and the exit codes of failed calls. */
#include "cli.h"
#include <stdarg.h>
#include <string.h>

int ws_cli_fail(int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fflush(stdout); /* in order, where both go to one place */
  fputs("warpscore: error: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  return code;
}

void ws_cli_say(const char *text) {
  fflush(stdout);
  if (text) fputs(text, stderr);
  fflush(stderr);
}

int ws_cli_finish(int code) {
  if ((fflush(stdout) || ferror(stdout)) && code == WS_CLI_OK) return ws_cli_fail(WS_CLI_USAGE, "the standard output cannot be written");
  return code;
}

int ws_cli_diags_code(const struct ws_diags *d) {
  static const char *const options[] = {"define", "no-target", "template"}; /* what is wrong with -D, --target and --templates */
  for (size_t i = 0; i < d->n; i++)
    for (size_t k = 0; d->list[i].severity == WS_ERROR && k < sizeof options / sizeof *options; k++)
      if (!strcmp(d->list[i].code, options[k])) return WS_CLI_USAGE;
  return d->errors ? WS_CLI_REJECTED : WS_CLI_OK;
}

int ws_cli_runtime_fail(const struct ws_error_info *err) {
  static const int codes[] = {
      [WS_ERR_ARGUMENT] = WS_CLI_USAGE,    [WS_ERR_MANIFEST] = WS_CLI_REJECTED,   [WS_ERR_IO] = WS_CLI_USAGE,
      [WS_ERR_NO_DEVICE] = WS_CLI_MISSING, [WS_ERR_UNSUPPORTED] = WS_CLI_MISSING, [WS_ERR_COMPILE] = WS_CLI_REJECTED,
      [WS_ERR_MEMORY] = WS_CLI_MISSING,    [WS_ERR_DRIVER] = WS_CLI_REJECTED,
  };
  size_t i = (size_t)err->status;
  int code = i && i < sizeof codes / sizeof *codes ? codes[i] : WS_CLI_INTERNAL;
  return ws_cli_fail(code, "%s", err->message);
}

int ws_cli_open_device(const char *name, const struct ws_manifest *m, struct ws_device **out) {
  struct ws_error_info err;
  enum ws_status status = ws_device_open(name, m, NULL, out, &err);
  return status ? ws_cli_runtime_fail(&err) : WS_CLI_OK;
}
