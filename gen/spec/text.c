/* The bytes of a file: what may stand in it at all, and where a byte stands. */
#include "spec/reader.h"
#include <string.h>

struct finding { /* the first of a kind, and on how many lines there are more */
  size_t at, len, lines, last_line;
};

static void note_line(struct finding *f, size_t at, size_t len, size_t line) {
  if (!f->lines) *f = (struct finding){at, len, 0, SIZE_MAX};
  if (f->last_line != line) f->lines++;
  f->last_line = line;
}

/* Length of the UTF-8 character at s, 0 when it is none. */
static size_t utf8(const unsigned char *s, size_t n, uint32_t *c) {
  size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (!len || len > n) return 0;
  *c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    *c = *c << 6 | (s[i] & 0x3fu);
  }
  return *c < least[len] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : len;
}

static void find_lines(struct ws_reader *r) {
  size_t n = 1;
  for (size_t i = 0; i < r->len; i++) n += r->text[i] == '\n';
  r->line_start = WS_NEW_N(r->a, uint32_t, n);
  r->bad = WS_NEW_N(r->a, bool, n + 1);
  r->nlines = n;
  for (size_t i = 0, line = 1; i < r->len; i++)
    if (r->text[i] == '\n') r->line_start[line++] = (uint32_t)(i + 1);
}

static const char *more(struct ws_reader *r, const struct finding *f) {
  return f->lines > 1 ? ws_fmt(r->a, " (%zu lines have one)", f->lines) : "";
}

static bool forbidden(uint32_t c) { /* invisible, or a line end for YAML only */
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

/* Fills r->clean and reports what may not stand in a spec. False when the lines cannot be trusted. */
static bool clean(struct ws_reader *r) {
  struct finding tab = {0}, odd = {0}, cr = {0}, broken = {0};
  uint32_t odd_char = 0;
  bool indent = true, tab_indent = false;
  for (size_t i = 0, line = 0; i < r->len;) {
    unsigned char b = (unsigned char)r->text[i];
    uint32_t c = 0;
    size_t len = utf8((const unsigned char *)r->text + i, r->len - i, &c);
    char as = b < 0x80 ? (char)b : 'x';
    if (b == '\n') {
      line++;
      indent = true;
    } else if (b == '\t') {
      note_line(&tab, i, 1, line);
      tab_indent |= indent;
      as = ' ';
    } else if (b == '\r' && !(i + 1 < r->len && r->text[i + 1] == '\n')) {
      note_line(&cr, i, 1, line);
      as = ' ';
    } else if (!len) {
      note_line(&broken, i, 1, line);
      r->bad[line] = true;
    } else if (b != '\r' && forbidden(c) && !(c == 0xfeff && i == 0)) {
      if (!odd.lines) odd_char = c;
      note_line(&odd, i, len, line);
      r->bad[line] = true;
      as = 'x';
    }
    if (c == 0xfeff && i == 0) as = ' '; /* a byte order mark at the start is harmless */
    if (b != ' ' && b != '\t' && b != '\n') indent = false;
    for (size_t k = 0; k < (len ? len : 1); k++) r->clean[i + k] = as;
    i += len ? len : 1;
  }
  if (tab.lines)
    ws_error(r->d, ws_reader_pos(r, tab.at, tab.at + 1), "tab", "a tab%s: indent and separate by spaces", more(r, &tab));
  if (cr.lines)
    ws_error(r->d, ws_reader_pos(r, cr.at, cr.at + 1), "line-end", "a carriage return without a line feed%s: end lines by \\n or \\r\\n", more(r, &cr));
  if (broken.lines)
    ws_error(r->d, ws_reader_pos(r, broken.at, broken.at + 1), "encoding", "byte 0x%02x is not UTF-8%s: save the file as UTF-8",
             (unsigned)(unsigned char)r->text[broken.at], more(r, &broken));
  if (odd.lines)
    ws_error(r->d, ws_reader_pos(r, odd.at, odd.at + odd.len), "bad-character", "character U+%04X%s: a spec holds printable text only", odd_char, more(r, &odd));
  return !tab_indent && !cr.lines;
}

bool ws_reader_open(struct ws_reader *r, const char *text, size_t len, struct ws_arena *a, struct ws_diags *d) {
  *r = (struct ws_reader){.a = a, .d = d, .text = text, .len = len};
  if (len > WS_SOURCE_MAX) {
    ws_error(d, (struct ws_pos){0, 0, 0}, "too-large", "the file has %zu bytes, a spec may have %d", len, WS_SOURCE_MAX);
    return false;
  }
  find_lines(r);
  r->clean = ws_alloc(a, len + 1);
  return clean(r);
}

struct ws_pos ws_reader_pos(const struct ws_reader *r, size_t begin, size_t end) {
  size_t lo = 0, hi = r->nlines; /* the last line that starts at or before begin */
  while (hi - lo > 1) {
    size_t mid = (lo + hi) / 2;
    if (r->line_start[mid] <= begin) lo = mid;
    else hi = mid;
  }
  size_t stop = lo + 1 < r->nlines ? r->line_start[lo + 1] - 1 : r->len;
  if (end > stop) end = stop; /* underline the first line only */
  return (struct ws_pos){(uint32_t)(lo + 1), (uint32_t)(begin - r->line_start[lo] + 1), end > begin ? (uint32_t)(end - begin) : 0};
}

void ws_reader_error(struct ws_reader *r, struct ws_pos pos, const char *code, const char *fmt, ...) {
  if (pos.line && pos.line <= r->nlines && r->bad[pos.line - 1]) {
    if (!r->d->errors) r->d->errors++; /* cannot happen: a bad line was reported */
    return;
  }
  va_list ap;
  va_start(ap, fmt);
  const char *message = ws_vfmt(r->a, fmt, ap);
  va_end(ap);
  ws_error(r->d, pos, code, "%s", message);
}

const char *ws_reader_quote(struct ws_reader *r, size_t begin, size_t end) {
  if (end - begin <= 40) return ws_strndup(r->a, r->text + begin, end - begin);
  size_t n = 37;
  while (n && ((unsigned char)r->text[begin + n] & 0xc0) == 0x80) n--; /* not inside a character */
  return ws_fmt(r->a, "%.*s...", (int)n, r->text + begin);
}
