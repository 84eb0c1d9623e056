/* A spec or a .ptx -> the text of a kernel; files written whole or not at all. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static bool read_stream(FILE *f, const char *path, char **text, size_t *length) {
  const size_t most = (size_t)1 << 34;
  size_t n = 0, cap = 64 * 1024;
  char *buf = malloc(cap + 1);
  while (buf) {
    n += fread(buf + n, 1, cap - n, f);
    if (n < cap) break;
    char *more = cap < most ? realloc(buf, cap * 2 + 1) : NULL;
    if (!more) free(buf);
    buf = more;
    cap *= 2;
  }
  if (!buf) return ws_cli_fail(0, "%s: out of memory or too large", path), false;
  if (ferror(f)) {
    ws_cli_fail(0, "%s: cannot be read: %s", path, strerror(errno));
    free(buf);
    return false;
  }
  buf[n] = 0;
  *text = buf;
  *length = n;
  return true;
}

bool ws_cli_read_file(const char *path, char **text, size_t *length) {
  if (!strcmp(path, "-")) return read_stream(stdin, "standard input", text, length);
  FILE *f = fopen(path, "rb");
  if (!f) return ws_cli_fail(0, "%s: cannot be opened: %s", path, strerror(errno)), false;
  bool good = read_stream(f, path, text, length);
  fclose(f);
  return good;
}

static bool write_all(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t done = write(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

/* A pipe or a device is written in place: there is nothing to rename. */
static bool write_special(const char *path, const void *bytes, size_t length) {
  int fd = open(path, O_WRONLY);
  bool good = fd >= 0 && write_all(fd, bytes, length);
  int reason = errno;
  if (fd >= 0) close(fd);
  if (!good) ws_cli_fail(0, "%s: cannot be written: %s", path, strerror(reason));
  return good;
}

bool ws_cli_write_file(const char *path, const void *bytes, size_t length) {
  if (!path || !strcmp(path, "-")) {
    if (fwrite(bytes, 1, length, stdout) == length && !fflush(stdout)) return true;
    return ws_cli_fail(0, "the standard output cannot be written: %s", strerror(errno)), false;
  }
  struct stat st;
  bool exists = !stat(path, &st);
  if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return write_special(path, bytes, length);
  size_t n = strlen(path);
  char *temporary = malloc(n + 8);
  if (!temporary) return ws_cli_fail(0, "out of memory"), false;
  memcpy(temporary, path, n);
  memcpy(temporary + n, ".XXXXXX", 8);
  int fd = mkstemp(temporary);
  bool made = fd >= 0, good = made;
  if (good) {
    mode_t mask = umask(0);
    umask(mask);
    good = write_all(fd, bytes, length) && !fchmod(fd, exists ? st.st_mode & 0777 : 0666 & ~mask);
    if (close(fd)) good = false;
  }
  good = good && !rename(temporary, path);
  if (!good) {
    ws_cli_fail(0, "%s: cannot be written: %s", path, strerror(errno));
    if (made) unlink(temporary);
  }
  free(temporary);
  return good;
}

bool ws_cli_can_write(const char *path) {
  struct stat st;
  if (!strcmp(path, "-")) return true;
  bool exists = !stat(path, &st), good = true;
  if (exists && !S_ISREG(st.st_mode)) {
    good = !S_ISDIR(st.st_mode) && !access(path, W_OK);
    if (S_ISDIR(st.st_mode)) errno = EISDIR;
  } else { /* a file of that folder takes its place */
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    good = folder && !access(folder, W_OK | X_OK);
    free(folder);
  }
  if (!good) ws_cli_fail(0, "%s: cannot be written: %s", path, strerror(errno));
  return good;
}

/* ---- specs ---- */

char *ws_cli_diagnostics(struct ws_cli_unit *u, bool json) {
  struct ws_buf buf = {.arena = &u->arena};
  if (setjmp(u->arena.oom)) return NULL;
  if (json)
    ws_diags_json(&u->diags, &buf);
  else
    ws_diags_print(&u->diags, &buf);
  return strdup(buf.s ? buf.s : "");
}

char *ws_cli_sarif(struct ws_cli_unit *u) {
  struct ws_buf buf = {.arena = &u->arena};
  if (setjmp(u->arena.oom)) return NULL;
  ws_diags_sarif(&u->diags, ws_version(), &buf);
  return strdup(buf.s);
}

int ws_cli_compile(const char *path, const struct ws_cli_spec_options *o, enum ws_compile_stage stage,
                   struct ws_cli_unit *u) {
  memset(u, 0, sizeof *u);
  size_t length;
  if (!ws_cli_read_file(path, &u->text, &length)) return WS_CLI_USAGE;
  u->source = (struct ws_source){.path = strcmp(path, "-") ? path : "<stdin>", .text = u->text, .len = length};
  u->diags = (struct ws_diags){.arena = &u->arena, .source = &u->source};
  struct ws_compile_options options = {.stage = stage,
                                       .defines = o->defines,
                                       .ndefines = o->ndefines,
                                       .target = o->target,
                                       .templates_dir = o->templates,
                                       .no_play = o->no_play,
                                       .strict = o->strict};
  bool oom = false;
  u->compiled = ws_compile(&u->source, &options, &u->arena, &u->diags, &oom);
  if (oom) return ws_cli_fail(WS_CLI_INTERNAL, "%s: out of memory", path);
  if (u->compiled) return WS_CLI_OK;
  if (u->diags.errors) return ws_cli_diags_code(&u->diags);
  return ws_cli_fail(WS_CLI_INTERNAL, "%s: the generator gave up without a reason", path);
}

void ws_cli_unit_free(struct ws_cli_unit *u) {
  ws_arena_free(&u->arena);
  free(u->text);
  memset(u, 0, sizeof *u);
}

const struct ws_kernel_text *ws_cli_pick(const struct ws_cli_unit *u, const struct ws_cli_spec_options *o) {
  const struct ws_compiled *c = u->compiled;
  if (!o->kernel && c->n == 1) return &c->kernels[0];
  for (size_t i = 0; i < c->n && o->kernel; i++)
    if (!strcmp(c->kernels[i].name, o->kernel)) return &c->kernels[i];
  if (o->kernel)
    ws_cli_fail(0, "%s: no document has the name '%s'", u->source.path, o->kernel);
  else
    ws_cli_fail(0, "%s: %zu documents: pick one with --kernel NAME", u->source.path, c->n);
  return NULL;
}

/* ---- kernels ---- */

static bool is_kernel(const char *path, const char *text, size_t length) {
  size_t n = strlen(path);
  static const char head[] = "// warpscore manifest";
  return (n > 4 && !strcmp(path + n - 4, ".ptx")) ||
         (length >= sizeof head - 1 && !memcmp(text, head, sizeof head - 1));
}

static bool take(struct ws_cli_text *out, const char *name, const char *ptx, size_t length) {
  out->name = strdup(name);
  out->ptx = malloc(length + 1);
  if (!out->name || !out->ptx) {
    ws_cli_text_free(out);
    return false;
  }
  memcpy(out->ptx, ptx, length);
  out->ptx[length] = 0;
  out->length = length;
  return true;
}

static int compile_kernel(const char *path, const struct ws_cli_spec_options *o, struct ws_cli_text *out) {
  struct ws_cli_unit u;
  int code = ws_cli_compile(path, o, WS_STAGE_PTX, &u);
  char *said = ws_cli_diagnostics(&u, false);
  ws_cli_say(said);
  free(said);
  const struct ws_kernel_text *k = code == WS_CLI_OK ? ws_cli_pick(&u, o) : NULL;
  if (code == WS_CLI_OK && !k) code = WS_CLI_USAGE;
  if (k && !take(out, k->name, k->ptx, k->ptx_len)) code = ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  ws_cli_unit_free(&u);
  return code;
}

int ws_cli_obtain(const char *path, const struct ws_cli_spec_options *o, struct ws_cli_text *out) {
  memset(out, 0, sizeof *out);
  char *text = NULL;
  size_t length = 0;
  if (!strcmp(path, "-")) return compile_kernel(path, o, out);
  if (!ws_cli_read_file(path, &text, &length)) return WS_CLI_USAGE;
  bool kernel = is_kernel(path, text, length), taken = kernel && take(out, path, text, length);
  free(text);
  if (!kernel) return compile_kernel(path, o, out);
  if (!taken) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  if (o->ndefines || o->target || o->templates || o->kernel)
    return ws_cli_fail(WS_CLI_USAGE, "%s: -D, --target, --templates and --kernel need a spec, not a generated kernel",
                       path);
  return WS_CLI_OK;
}

void ws_cli_text_free(struct ws_cli_text *t) {
  free(t->name);
  free(t->ptx);
  memset(t, 0, sizeof *t);
}
