/* The parameters that the code declares, held against the manifest's: a launch hands the driver an array of pointers whose
 * length and types only the manifest knows, and the driver reads as many as the code declares. (PTX ISA, Kernel Function
 * Parameters: .param .TYPE NAME, or .param .align N .b8 NAME[BYTES] and .ptr attributes between them.) */
#include "runtime.h"
#include <string.h>

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool part_of_word(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.' ||
         c == '%';
}

/* A word or one character of punctuation; comments are skipped. */
static bool take(struct ws_rt_cursor *c, const char **s, size_t *n) {
  for (;;) {
    while (c->p < c->end && blank(*c->p)) c->p++;
    if (c->end - c->p < 2 || c->p[0] != '/') break;
    if (c->p[1] == '/') {
      const char *stop = memchr(c->p, '\n', (size_t)(c->end - c->p));
      c->p = stop ? stop : c->end;
    } else if (c->p[1] == '*') {
      for (c->p += 2; c->end - c->p >= 2 && memcmp(c->p, "*/", 2); c->p++) {
      }
      c->p = c->end - c->p >= 2 ? c->p + 2 : c->end;
    } else {
      break;
    }
  }
  *s = c->p;
  while (c->p < c->end && part_of_word(*c->p)) c->p++;
  if (c->p == *s && c->p < c->end) c->p++;
  *n = (size_t)(c->p - *s);
  return *n > 0;
}

/* Moves behind ".entry NAME". */
static bool find_entry(struct ws_rt_cursor *c, const char *name) {
  const char *s;
  size_t n;
  while (take(c, &s, &n))
    if (ws_rt_equal(s, n, ".entry") && take(c, &s, &n) && ws_rt_equal(s, n, name)) return true;
  return false;
}

/* One parameter, up to its ',' or ')': the type's word without the dot, and, of an array, how long and how aligned it is. */
struct declared {
  const char *type;
  size_t length;
  bool array;
  int64_t count, align;
};

static bool is_type(const char *s, size_t n) {
  static const char *const widths[] = {"8", "16", "32", "64"};
  if (n < 3 || s[0] != '.' || !strchr("usbf", s[1])) return false;
  for (int i = 0; i < 4; i++)
    if (ws_rt_equal(s + 2, n - 2, widths[i])) return true;
  return false;
}

static bool take_count(struct ws_rt_cursor *c, int64_t *count) {
  const char *s;
  size_t n;
  struct ws_rt_cursor before = *c;
  if (!take(c, &s, &n)) return false;
  struct ws_rt_cursor number = {s, s + n};
  if (ws_rt_take_integer(&number, count) && number.p == number.end) return true;
  *c = before;
  return false;
}

static bool take_parameter(struct ws_rt_cursor *c, struct declared *d, bool *last) {
  const char *s;
  size_t n;
  *d = (struct declared){0};
  if (!take(c, &s, &n) || !ws_rt_equal(s, n, ".param")) return false;
  while (take(c, &s, &n)) {
    if (n == 1 && (*s == ',' || *s == ')')) return *last = *s == ')', d->type != NULL;
    if (n == 1 && *s == '[') d->array = true, take_count(c, &d->count);
    if (!d->type && ws_rt_equal(s, n, ".align")) take_count(c, &d->align);
    if (!d->type && is_type(s, n)) d->type = s + 1, d->length = n - 1;
  }
  return false;
}

/* u, s and b of one width are the same bytes; f is told from u and s, as ptxas does. */
static bool fits(const struct declared *d, enum ws_rt_param_type wanted) {
  const char *type = ws_rt_param_types[wanted];
  if (wanted == WS_RT_MAP)
    return d->array && ws_rt_equal(d->type, d->length, "b8") && d->count == sizeof(struct ws_cu_tensor_map) && d->align >= 64;
  return !d->array && (d->type[0] == 'b' || (d->type[0] == 'f') == (type[0] == 'f')) &&
         ws_rt_equal(d->type + 1, d->length - 1, type + 1);
}

/* The directives between parameters and body: clusters that the code asks for must be the manifest's. */
static enum ws_status check_cluster(const struct ws_manifest *m, struct ws_rt_cursor *c, struct ws_error_info *err) {
  const char *s;
  size_t n;
  while (take(c, &s, &n) && !(n == 1 && *s == '{')) {
    int64_t extent[3] = {1, 1, 1};
    if (!ws_rt_equal(s, n, ".reqnctapercluster")) continue;
    for (int i = 0; i < 3 && take_count(c, &extent[i]); i++) {
      struct ws_rt_cursor before = *c;
      if (!take(c, &s, &n) || *s != ',') *c = before;
    }
    if (extent[0] != m->info.cluster || extent[1] != 1 || extent[2] != 1)
      return ws_rt_fail(err, WS_ERR_MANIFEST,
                        "the manifest has clusters of %u CTAs, but the code of %.80s .reqnctapercluster %lld, %lld, %lld: the file was "
                        "altered",
                        m->info.cluster, m->info.entry, (long long)extent[0], (long long)extent[1], (long long)extent[2]);
  }
  return WS_OK;
}

enum ws_status ws_rt_check_entry(const struct ws_manifest *m, const char *code, const char *end, struct ws_error_info *err) {
  struct ws_rt_cursor c = {code, end};
  const char *s;
  size_t n, count = 0;
  if (!find_entry(&c, m->info.entry))
    return ws_rt_fail(err, WS_ERR_MANIFEST, "the code has no '.entry %.80s', which the manifest names", m->info.entry);
  bool last = true;
  struct ws_rt_cursor before = c;
  if (take(&c, &s, &n) && n == 1 && *s == '(') {
    before = c;
    last = take(&c, &s, &n) && n == 1 && *s == ')';
    if (!last) c = before;
  }
  for (; !last; count++) {
    struct declared d;
    if (!take_parameter(&c, &d, &last))
      return ws_rt_fail(err, WS_ERR_MANIFEST, "the code's .entry %.80s: parameter %zu cannot be read", m->info.entry,
                        count + 1);
    if (count < m->nparams && !fits(&d, m->params[count].type))
      return ws_rt_fail(err, WS_ERR_MANIFEST,
                        "parameter %zu is %s in the manifest, but .%.*s%s in the code of %.80s: the file was altered", count + 1,
                        ws_rt_param_types[m->params[count].type], (int)d.length, d.type, d.array ? "[]" : "", m->info.entry);
  }
  if (count != m->nparams)
    return ws_rt_fail(err, WS_ERR_MANIFEST,
                      "the manifest has %zu 'param' lines, but the code of %.80s has %zu parameters: the file was altered",
                      m->nparams, m->info.entry, count);
  return check_cluster(m, &c, err);
}
