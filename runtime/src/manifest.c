/* The manifest at the head of a generated .ptx: comment lines, one `// key: value` each, between two fixed lines.
 * runtime/README.md is its description. Whatever is damaged is an error with its line; nothing is guessed. */
#include "manifest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "// warpscore manifest "
#define LAST "// end manifest"

enum ws_status ws_rt_bad_line(struct ws_rt_reader *r, const char *fmt, ...) {
  char what[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return ws_rt_fail(r->err, WS_ERR_MANIFEST, "manifest line %d: %s", r->line, what);
}

/* Moves to the next line; false at the end of the text. */
static bool next_line(struct ws_rt_reader *r, const char **s, size_t *n) {
  if (r->next == r->end) return false;
  const char *stop = memchr(r->next, '\n', (size_t)(r->end - r->next));
  *s = r->next;
  *n = (size_t)((stop ? stop : r->end) - r->next);
  if (*n && (*s)[*n - 1] == '\r') --*n; /* of a file that passed through a system with other line ends */
  r->next = stop ? stop + 1 : r->end;
  r->line++;
  return true;
}

static enum ws_status check_characters(struct ws_rt_reader *r, const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
      return ws_rt_bad_line(r, "a control character (code %d) at column %zu", (unsigned char)s[i], i + 1);
  return WS_OK;
}

static enum ws_status read_line(struct ws_rt_reader *r, const char *s, size_t n, bool *seen) {
  if (check_characters(r, s, n)) return WS_ERR_MANIFEST;
  r->c = (struct ws_rt_cursor){s, s + n};
  const char *name;
  size_t length;
  if (n < 3 || memcmp(s, "// ", 3))
    return ws_rt_bad_line(r, "expected '// key: value' or '" LAST "', found '%.*s'", ws_rt_shown(n), s);
  r->c.p += 3;
  if (!ws_rt_take_name(&r->c, &name, &length) || !ws_rt_take_char(&r->c, ':'))
    return ws_rt_bad_line(r, "expected '// key: value' or '" LAST "', found '%.*s'", ws_rt_shown(n), s);
  for (int i = 0; i < WS_RT_KEYS; i++) {
    if (!ws_rt_equal(name, length, ws_rt_keys[i].name)) continue;
    if (seen[i] && !ws_rt_keys[i].repeats) return ws_rt_bad_line(r, "a second '%s' line", ws_rt_keys[i].name);
    seen[i] = true;
    r->key = ws_rt_keys[i].name;
    if (ws_rt_keys[i].parse(r)) return WS_ERR_MANIFEST;
    if (!ws_rt_at_end(&r->c))
      return ws_rt_bad_line(r, "%s: '%.*s' is left over at the end of the line", r->key,
                            ws_rt_shown((size_t)(r->c.end - r->c.p)), r->c.p);
    return WS_OK;
  }
  return WS_OK; /* of a newer tool, which promises that it does not matter for the launch */
}

static enum ws_status first_line(struct ws_rt_reader *r) {
  const char *s = "";
  size_t n = 0;
  int64_t version;
  if (!next_line(r, &s, &n) || n < strlen(FIRST) || memcmp(s, FIRST, strlen(FIRST)))
    return ws_rt_fail(r->err, WS_ERR_MANIFEST,
                      "no manifest: the first line is '%.*s', expected '" FIRST
                      "%d': only kernels written by warpscore can be loaded",
                      ws_rt_shown(n), s, WS_RT_MANIFEST_VERSION);
  r->c = (struct ws_rt_cursor){s + strlen(FIRST), s + n};
  if (!ws_rt_take_integer(&r->c, &version) || !ws_rt_at_end(&r->c))
    return ws_rt_bad_line(r, "expected '" FIRST "%d', found '%.*s'", WS_RT_MANIFEST_VERSION, ws_rt_shown(n), s);
  if (version != WS_RT_MANIFEST_VERSION)
    return ws_rt_bad_line(
        r, "manifest version %lld found, this loader reads version %d: use a libwarpscore that fits the generator",
        (long long)version, WS_RT_MANIFEST_VERSION);
  return WS_OK;
}

static enum ws_status check_complete(struct ws_rt_reader *r, const bool *seen) {
  struct ws_manifest *m = r->m;
  for (int i = 0; i < WS_RT_KEYS; i++)
    if (ws_rt_keys[i].required && !seen[i])
      return ws_rt_bad_line(r, "the manifest ends without a '%s' line", ws_rt_keys[i].name);
  if (ws_rt_check_maps(r)) return WS_ERR_MANIFEST;
  for (size_t t = 0; t < m->ntensors; t++)
    if (!r->data_seen[t])
      return ws_rt_bad_line(r, "tensor %s has no 'param: u64 %s.data'", m->tensors[t].name, m->tensors[t].name);
  return WS_OK;
}

static enum ws_status read_manifest(struct ws_rt_reader *r) {
  bool seen[WS_RT_KEYS] = {false};
  if (first_line(r)) return WS_ERR_MANIFEST;
  const char *s;
  size_t n;
  for (;;) {
    if (!next_line(r, &s, &n)) return ws_rt_bad_line(r, "the text ends without '" LAST "'");
    if ((size_t)(r->next - r->text) > WS_RT_MAX_MANIFEST)
      return ws_rt_bad_line(r, "no '" LAST "' within %d bytes", WS_RT_MAX_MANIFEST);
    if (ws_rt_equal(s, n, LAST)) return check_complete(r, seen);
    if (read_line(r, s, n, seen)) return WS_ERR_MANIFEST;
  }
}

/* ---- the code behind the manifest: .version, .target and the entry's parameters must be there and agree ---- */

static bool directive(const char *s, size_t n, const char *name, struct ws_rt_cursor *c) {
  size_t k = strlen(name);
  while (n && (*s == ' ' || *s == '\t')) s++, n--;
  if (n <= k || memcmp(s, name, k) || (s[k] != ' ' && s[k] != '\t')) return false;
  *c = (struct ws_rt_cursor){s + k + 1, s + n};
  return true;
}

static enum ws_status read_code(struct ws_rt_reader *r) {
  struct ws_kernel_info *info = &r->m->info;
  const char *s, *target;
  size_t n;
  bool code = false;
  int64_t major, minor;
  while (next_line(r, &s, &n)) {
    struct ws_rt_cursor c;
    if (directive(s, n, ".version", &c)) {
      if (!ws_rt_take_word(&c, &s, &n)) n = 0;
      c = (struct ws_rt_cursor){s, s + n};
      const char *dot = memchr(s, '.', n);
      if (dot) c.end = dot;
      if (!dot || !ws_rt_take_integer(&c, &major) || major > 99)
        return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.version' without a version", r->line);
      c = (struct ws_rt_cursor){dot + 1, s + n};
      if (!ws_rt_take_integer(&c, &minor) || minor > 9)
        return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.version' without a version", r->line);
      info->ptx_major = (uint32_t)major;
      info->ptx_minor = (uint32_t)minor;
    } else if (directive(s, n, ".target", &c)) {
      if (!ws_rt_take_name(&c, &target, &n)) target = "", n = 0;
      if (!ws_rt_equal(target, n, info->target))
        return ws_rt_fail(r->err, WS_ERR_MANIFEST,
                          "line %d: '.target %.*s' found, but the manifest says target %s: the file was altered",
                          r->line, ws_rt_shown(n), target, info->target);
      if (!info->ptx_major) return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.target' before '.version'", r->line);
      return ws_rt_check_entry(r->m, r->next, r->end, r->err);
    }
    if (n && memcmp(s, "//", n < 2 ? n : 2)) code = true;
  }
  return code
             ? ws_rt_fail(r->err, WS_ERR_MANIFEST, "the code behind the manifest has no '.version' and '.target' lines")
             : WS_OK;
}

/* ---- public ---- */

enum ws_status ws_manifest_parse(const char *text, size_t length, struct ws_manifest **out, struct ws_error_info *err) {
  if (!text || !out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_manifest_parse: %s is NULL", text ? "out" : "text");
  *out = NULL;
  size_t head = length < WS_RT_MAX_MANIFEST ? length : WS_RT_MAX_MANIFEST;
  struct ws_manifest *m = calloc(1, sizeof *m);
  if (!m) return ws_rt_out_of_memory(err, sizeof *m);
  m->pool_size = 2 * head + 64; /* every kept word is a piece of a line and has a terminator; grids are kept twice */
  m->pool = malloc(m->pool_size);
  if (!m->pool) {
    free(m);
    return ws_rt_out_of_memory(err, 2 * head + 64);
  }
  m->info.schedule = m->info.tool = m->info.lse_base = "";
  m->info.checked = "no";
  m->info.cluster = 1;
  struct ws_rt_reader r = {.m = m, .text = text, .end = text + length, .next = text, .err = err};
  enum ws_status status = read_manifest(&r);
  if (!status) status = read_code(&r);
  if (status) {
    ws_manifest_free(m);
    return status;
  }
  *out = m;
  return WS_OK;
}

enum ws_status ws_manifest_read(const char *path, struct ws_manifest **out, struct ws_error_info *err) {
  char *text;
  size_t length;
  if (out) *out = NULL;
  enum ws_status status = ws_rt_read_file(path, &text, &length, err);
  if (status) return status;
  status = ws_manifest_parse(text, length, out, err);
  free(text);
  return status;
}

void ws_manifest_free(struct ws_manifest *m) {
  if (!m) return;
  free(m->pool);
  free(m);
}

const struct ws_kernel_info *ws_manifest_kernel(const struct ws_manifest *m) { return m ? &m->info : NULL; }

const struct ws_tensor_info *ws_manifest_tensor(const struct ws_manifest *m, size_t i) {
  return m && i < m->ntensors ? &m->tensors[i] : NULL;
}

const struct ws_scalar_info *ws_manifest_scalar(const struct ws_manifest *m, size_t i) {
  return m && i < m->nscalars ? &m->scalars[i] : NULL;
}

const char *ws_manifest_setting(const struct ws_manifest *m, const char *name) {
  for (size_t i = 0; m && name && i < m->nsettings; i++)
    if (!strcmp(m->settings[i].name, name)) return m->settings[i].value;
  return NULL;
}

const char *ws_manifest_setting_at(const struct ws_manifest *m, size_t i, const char **value) {
  if (!m || i >= m->nsettings) return NULL;
  if (value) *value = m->settings[i].value;
  return m->settings[i].name;
}
