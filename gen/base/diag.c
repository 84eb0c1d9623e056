#include "diag.h"
#include <stdio.h>
#include <string.h>

/* A flood of errors helps nobody, and keeping a list sorted by insertion must stay cheap. */
enum { GROUPS_MAX = 200, NOTES_MAX = 64, NAME_MAX_LEN = 64 };

static bool before(struct ws_pos a, struct ws_pos b) {
  return a.line != b.line ? a.line < b.line : a.col < b.col;
}

static bool same(const struct ws_diag *x, enum ws_severity severity, struct ws_pos pos, const char *message) {
  return x->severity == severity && x->pos.line == pos.line && x->pos.col == pos.col && !strcmp(x->message, message);
}

static void insert(struct ws_diags *d, size_t at, struct ws_diag x) {
  (void)WS_PUSH(d->arena, d->list, d->n, d->cap);
  memmove(d->list + at + 1, d->list + at, (d->n - 1 - at) * sizeof *d->list);
  d->list[at] = x;
}

static void add_group(struct ws_diags *d, enum ws_severity severity, struct ws_pos pos, const char *code, const char *message) {
  d->last = SIZE_MAX; /* notes of a finding that is not kept go with it */
  for (size_t i = 0; i < d->n; i++)
    if (same(&d->list[i], severity, pos, message)) return;
  if (severity == WS_ERROR) d->errors++;
  if (d->groups >= GROUPS_MAX) {
    d->hidden++;
    return;
  }
  size_t at = 0;
  for (size_t i = 0; i < d->n; i++)
    if (d->list[i].severity != WS_NOTE && before(pos, d->list[i].pos)) break;
    else at = i + 1;
  insert(d, at, (struct ws_diag){severity, pos, code, message});
  d->groups++;
  d->last = at;
}

void ws_error(struct ws_diags *d, struct ws_pos pos, const char *code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add_group(d, WS_ERROR, pos, code, ws_vfmt(d->arena, fmt, ap));
  va_end(ap);
}

void ws_warning(struct ws_diags *d, struct ws_pos pos, const char *code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add_group(d, WS_WARNING, pos, code, ws_vfmt(d->arena, fmt, ap));
  va_end(ap);
}

void ws_note(struct ws_diags *d, struct ws_pos pos, const char *fmt, ...) {
  if (d->last == SIZE_MAX || d->last >= d->n) return;
  size_t end = d->last + 1;
  while (end < d->n && d->list[end].severity == WS_NOTE) end++;
  if (end - d->last > NOTES_MAX) return;
  va_list ap;
  va_start(ap, fmt);
  const char *message = ws_vfmt(d->arena, fmt, ap);
  va_end(ap);
  for (size_t i = d->last + 1; i < end; i++)
    if (same(&d->list[i], WS_NOTE, pos, message)) return;
  insert(d, end, (struct ws_diag){WS_NOTE, pos, NULL, message});
}

/* --- nearest name --- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

/* Edit distance with transpositions, in halves: a change of case alone counts 1, any other edit 2. */
static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int row[3][NAME_MAX_LEN + 1];
  for (size_t j = 0; j <= nb; j++) row[0][j] = (int)(2 * j);
  for (size_t i = 1; i <= na; i++) {
    int *cur = row[i % 3], *prev = row[(i + 2) % 3], *prev2 = row[(i + 1) % 3];
    cur[0] = (int)(2 * i);
    for (size_t j = 1; j <= nb; j++) {
      char x = a[i - 1], y = b[j - 1];
      int change = x == y ? 0 : lower(x) == lower(y) ? 1 : 2;
      cur[j] = min3(prev[j - 1] + change, prev[j] + 2, cur[j - 1] + 2);
      if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y && prev2[j - 2] + 2 < cur[j]) cur[j] = prev2[j - 2] + 2;
    }
  }
  return row[na % 3][nb];
}

const char *ws_nearest(const char *name, const char *const *names, size_t n) {
  size_t len = strlen(name);
  if (!len || len > NAME_MAX_LEN) return NULL;
  const char *best = NULL;
  int limit = 2 * (1 + (int)(len / 4));
  for (size_t i = 0; i < n; i++) {
    size_t m = names[i] ? strlen(names[i]) : 0;
    if (!m || m > NAME_MAX_LEN) continue;
    int d = distance(name, len, names[i], m);
    if (d >= 2 * (int)(len < m ? len : m)) continue; /* nothing in common */
    if (d < limit || (d == limit && !best)) {
      best = names[i];
      limit = d;
    }
  }
  return best;
}

/* --- text on a terminal --- */

/* Decodes one character of s[0, n); *size bytes. Returns U+FFFD for a byte that is not UTF-8. */
static uint32_t decode(const char *s, size_t n, size_t *size) {
  const unsigned char *u = (const unsigned char *)s;
  *size = 1;
  if (u[0] < 0x80) return u[0];
  size_t len = u[0] >= 0xf0 && u[0] < 0xf5 ? 4 : u[0] >= 0xe0 && u[0] < 0xf0 ? 3 : u[0] >= 0xc2 && u[0] < 0xe0 ? 2 : 0;
  if (!len || len > n) return 0xfffd;
  uint32_t c = len == 4 ? u[0] & 7 : len == 3 ? u[0] & 15 : u[0] & 31;
  for (size_t i = 1; i < len; i++) {
    if ((u[i] & 0xc0) != 0x80) return 0xfffd;
    c = c << 6 | (u[i] & 0x3f);
  }
  if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (len == 4 && (c < 0x10000 || c > 0x10ffff))) return 0xfffd;
  *size = len;
  return c;
}

static const struct { uint32_t lo, hi; int width; } widths[] = {
    {0x0300, 0x036f, 0}, {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0}, {0x2e80, 0xa4cf, 2},
    {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0}, {0xfe30, 0xfe6f, 2}, {0xfeff, 0xfeff, 0},
    {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

static int width(uint32_t c) {
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (c >= widths[i].lo && c <= widths[i].hi) return widths[i].width;
  return 1;
}

/* Control characters would let a broken file drive the reader's terminal. */
static bool control(uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || c == 0xfffd; }

static void put_safe(struct ws_buf *out, const char *s, size_t n) {
  for (size_t i = 0, size; i < n; i += size) {
    uint32_t c = decode(s + i, n - i, &size);
    if (control(c)) ws_buf_puts(out, "?");
    else ws_buf_add(out, s + i, size);
  }
}

/* The bytes of line number `line` (from 1), without its end. */
static bool find_line(const struct ws_source *src, uint32_t line, const char **s, size_t *n) {
  const char *p = src->text, *end = src->text + src->len;
  for (uint32_t i = 1; i < line && p; i++) {
    p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (p) p++;
  }
  if (!line || !p) return false;
  const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
  *s = p;
  *n = (size_t)((nl ? nl : end) - p);
  if (*n && p[*n - 1] == '\r') --*n;
  return true;
}

enum { TAB = 8, BEFORE = 60, SHOWN = 120 }; /* a long line is cut to a window around the caret */

static size_t advance(const char *s, size_t n, size_t i, size_t column, size_t *size) {
  uint32_t c = decode(s + i, n - i, size);
  if (c == '\t') return TAB - column % TAB;
  return control(c) ? 1 : (size_t)width(c);
}

/* The source line and, below it, a caret under the position and tildes up to its end. */
static void put_line(struct ws_buf *out, const struct ws_source *src, struct ws_pos pos) {
  const char *s;
  size_t n, size, start = 0, end = 0, column = 0;
  if (!find_line(src, pos.line, &s, &n)) return;
  size_t from = pos.col ? pos.col - 1 : 0;
  if (from > n) from = n;
  size_t to = pos.len ? from + pos.len : from + 1;
  for (size_t i = 0; i < n; i += size) {
    if (i == from) start = column;
    column += advance(s, n, i, column, &size);
    if (i < to) end = column;
  }
  if (from == n) start = column;
  if (end <= start) end = start + 1;
  size_t left = column > SHOWN && start > BEFORE ? start - BEFORE : 0, right = left + SHOWN;
  ws_buf_printf(out, "%5u | %s", pos.line, left ? "..." : "");
  column = 0;
  for (size_t i = 0; i < n && column < right; i += size) {
    size_t w = advance(s, n, i, column, &size);
    if (column >= left) {
      if (s[i] == '\t') ws_buf_printf(out, "%*s", (int)w, "");
      else put_safe(out, s + i, size);
    }
    column += w;
  }
  if (end > right + 1) end = right + 1;
  ws_buf_printf(out, "\n      | %*s^", (int)(start - left + (left ? 3 : 0)), "");
  for (size_t i = start + 1; i < end; i++) ws_buf_puts(out, "~");
  ws_buf_puts(out, "\n");
}

static const char *const severities[] = {"error", "warning", "note"};

void ws_diags_print(const struct ws_diags *d, struct ws_buf *out) {
  const char *path = d->source && d->source->path ? d->source->path : "-";
  for (size_t i = 0; i < d->n; i++) {
    const struct ws_diag *x = &d->list[i];
    put_safe(out, path, strlen(path));
    if (x->pos.line) ws_buf_printf(out, ":%u:%u", x->pos.line, x->pos.col);
    ws_buf_printf(out, ": %s: ", severities[x->severity]);
    put_safe(out, x->message, strlen(x->message));
    ws_buf_puts(out, "\n");
    if (d->source && x->pos.line) put_line(out, d->source, x->pos);
  }
  if (d->hidden) ws_buf_printf(out, "%zu more findings are not shown\n", d->hidden);
}

/* --- JSON --- */

void ws_buf_json(struct ws_buf *out, const char *s) {
  ws_buf_puts(out, "\"");
  for (size_t i = 0, n = strlen(s), size; i < n; i += size) {
    uint32_t c = decode(s + i, n - i, &size);
    if (c == '"' || c == '\\') ws_buf_printf(out, "\\%c", (int)c);
    else if (c < 0x20 || c == 0x7f || c == 0xfffd) ws_buf_printf(out, "\\u%04x", c);
    else ws_buf_add(out, s + i, size);
  }
  ws_buf_puts(out, "\"");
}

static void put_place(struct ws_buf *out, const char *path, const struct ws_diag *x) {
  ws_buf_puts(out, "\"file\": ");
  ws_buf_json(out, path);
  ws_buf_printf(out, ", \"line\": %u, \"column\": %u, \"length\": %u, \"message\": ", x->pos.line, x->pos.col, x->pos.len);
  ws_buf_json(out, x->message);
}

void ws_diags_json(const struct ws_diags *d, struct ws_buf *out) {
  const char *path = d->source && d->source->path ? d->source->path : "-";
  ws_buf_puts(out, "[");
  for (size_t i = 0; i < d->n;) {
    const struct ws_diag *x = &d->list[i];
    ws_buf_printf(out, "%s\n  {\"severity\": \"%s\", \"code\": ", i ? "," : "", severities[x->severity]);
    ws_buf_json(out, x->code ? x->code : "");
    ws_buf_puts(out, ", ");
    put_place(out, path, x);
    ws_buf_puts(out, ", \"notes\": [");
    size_t first = ++i;
    for (; i < d->n && d->list[i].severity == WS_NOTE; i++) {
      ws_buf_puts(out, i > first ? ", {" : "{");
      put_place(out, path, &d->list[i]);
      ws_buf_puts(out, "}");
    }
    ws_buf_puts(out, "]}");
  }
  ws_buf_puts(out, d->n ? "\n]\n" : "]\n");
}
