/* The indentation of a file, looked at before libyaml reads it.
 *
 * YAML joins a line to the deeper lines below it, so that a forgotten `:` or `- ` comes up as an error of quite another
 * line, or of several. In this language no plain text runs over two lines; so wherever a line that opens nothing is
 * followed by a deeper one, the mistake is here. It is reported, and repaired in the ASCII copy so that the rest of the
 * file is read as it was meant. What is not understood is left to libyaml. */
#include "spec/keys.h"
#include "spec/reader.h"
#include <string.h>

struct view {             /* a line that is not empty; offsets are bytes of the file */
  size_t line, start;
  size_t indent;          /* spaces before anything */
  bool dash;
  size_t dash_column;     /* of the last dash */
  size_t text, end;       /* without dashes and comment */
  size_t value;           /* behind the first `: `; 0 = none */
  bool opens;             /* ends in `:` */
  bool block_text;        /* | or > */
  bool inside;            /* ends within brackets or quotes */
};

struct scan {             /* within brackets and quotes, over lines */
  int depth;
  char quote;
};

static size_t stop_of(const struct ws_reader *r, size_t line) {
  size_t end = line + 1 < r->nlines ? r->line_start[line + 1] - 1 : r->len;
  return end > r->line_start[line] && r->clean[end - 1] == '\r' ? end - 1 : end;
}

static bool ends_word(const struct ws_reader *r, size_t i, size_t stop) { return i >= stop || r->clean[i] == ' '; }

/* Advances over one character within brackets or quotes. */
static void step(struct scan *s, char c) {
  if (s->quote) s->quote = c == s->quote ? 0 : s->quote;
  else if (c == '\'' || c == '"') s->quote = c;
  else if (c == '[' || c == '{') s->depth++;
  else if (c == ']' || c == '}') s->depth--;
}

static bool starts_collection(char c) { return c == '[' || c == '{' || c == '\'' || c == '"'; }

/* Fills v from its text on: end, value, opens, inside. */
static void scan_text(const struct ws_reader *r, struct view *v, size_t stop, struct scan *s) {
  v->end = v->text;
  for (size_t i = v->text; i < stop; i++) {
    char c = r->clean[i];
    bool inside = s->depth > 0 || s->quote;
    if (c == '#' && !s->quote && r->clean[i - 1] == ' ') break;
    if (inside || ((i == v->text || i == v->value) && starts_collection(c))) step(s, c);
    else if (c == ':' && ends_word(r, i + 1, stop) && !v->value) {
      for (v->value = i + 1; v->value < stop && r->clean[v->value] == ' ';) v->value++;
      v->opens = true;
    }
    if (c != ' ') v->end = i + 1;
  }
  v->opens = v->opens && v->end <= v->value && r->clean[v->end - 1] == ':';
  v->inside = s->depth > 0 || s->quote;
  size_t first = v->value && !v->opens ? v->value : v->text;
  v->block_text = r->clean[first] == '|' || r->clean[first] == '>';
}

/* False for an empty line, a comment, and the markers of documents. */
static bool look(const struct ws_reader *r, size_t line, struct view *v, struct scan *s) {
  size_t i = r->line_start[line], stop = stop_of(r, line);
  *v = (struct view){.line = line, .start = i};
  while (i < stop && r->clean[i] == ' ') i++;
  v->indent = i - v->start;
  if (i == stop || r->clean[i] == '#') return false;
  while (i < stop && r->clean[i] == '-' && ends_word(r, i + 1, stop)) {
    v->dash = true;
    v->dash_column = i++ - v->start;
    while (i < stop && r->clean[i] == ' ') i++;
  }
  v->text = i;
  scan_text(r, v, stop, s);
  return true;
}

static bool marker(const struct ws_reader *r, const struct view *v) {
  const char *s = r->clean + v->start;
  return v->indent == 0 && stop_of(r, v->line) - v->start >= 3 && (!memcmp(s, "---", 3) || !memcmp(s, "...", 3) || *s == '%');
}

/* The next line with something on it; false at the end of the document. */
static bool following(const struct ws_reader *r, size_t line, struct view *v) {
  while (++line < r->nlines) {
    struct scan s = {0};
    if (look(r, line, v, &s)) return !marker(r, v);
  }
  return false;
}

static size_t column(const struct view *v) { return v->text - v->start; }

/* Lines deeper than this belong to the line. */
static size_t base(const struct view *v) { return v->value || !v->dash ? column(v) : v->dash_column; }

static void blank(struct ws_reader *r, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) r->clean[i] = ' ';
}

/* Blanks the lines from `line` on that are deeper than `indent`. Keys may be among them: nothing is missing for certain. */
static void blank_below(struct ws_reader *r, size_t line, size_t indent) {
  for (; line < r->nlines; line++) {
    struct view v;
    struct scan s = {0};
    if (!look(r, line, &v, &s)) continue;
    if (v.indent <= indent) break;
    if (!v.dash) r->cut = true;
    r->bad[line] = true;
    blank(r, v.start, stop_of(r, line));
  }
}

static size_t word_length(const struct ws_reader *r, const struct view *v) {
  size_t i = v->text;
  while (i < v->end && ((r->clean[i] >= 'a' && r->clean[i] <= 'z') || (r->clean[i] >= 'A' && r->clean[i] <= 'Z') || (r->clean[i] >= '0' && r->clean[i] <= '9') || r->clean[i] == '_')) i++;
  return i - v->text;
}

static bool is_header(const struct ws_reader *r, const struct view *v) { return ws_is_header_word(r->text + v->text, word_length(r, v)); }

/* The last character becomes the colon; yaml.c gives the key its character back. */
static void add_colon(struct ws_reader *r, struct view *v) {
  ws_reader_error(r, ws_reader_pos(r, v->text, v->end), "colon", "the `:` that opens the block is missing at the end of this line");
  if (v->end - v->text < 2) blank_below(r, v->line + 1, base(v));
  else r->clean[v->end - 1] = ':';
  r->bad[v->line] = true;
  v->opens = true;
}

static const struct ws_key *section(const struct ws_reader *r, const struct view *v) {
  size_t n = word_length(r, v);
  for (size_t i = 0; i < ws_document_record.nkeys; i++)
    if (strlen(ws_document_record.keys[i].name) == n && !memcmp(ws_document_record.keys[i].name, r->clean + v->text, n)) return &ws_document_record.keys[i];
  return NULL;
}

/* Whether p, which has a value behind its colon, should rather open a block with v. */
static bool should_open(const struct ws_reader *r, const struct view *p, const struct view *v) {
  const struct ws_key *k = base(p) == 0 && !p->dash ? section(r, p) : NULL;
  if (!p->value || starts_collection(r->clean[p->value])) return false;
  return (is_header(r, p) && v->dash) || (!p->dash && v->dash) || (k && (k->record || k->kind == WS_K_PROGRAMS));
}

/* --- columns --- */

struct columns { /* of the open lists and mappings, outermost first */
  struct { size_t column, line, items; bool list; } open[2 * WS_NODE_DEPTH];
  size_t n;
  size_t lost;     /* a column that has had its error; SIZE_MAX = none */
};

static void open_column(struct columns *c, size_t column, size_t line, bool list) {
  if (c->n && c->open[c->n - 1].column == column) {
    c->open[c->n - 1].items++;
    c->open[c->n - 1].list |= list;
  } else if (c->n < sizeof c->open / sizeof *c->open) {
    c->open[c->n].column = column;
    c->open[c->n].line = line;
    c->open[c->n].list = list;
    c->open[c->n++].items = 1;
  }
}

/* v is deeper than p, which opens nothing. True: v is gone. */
static bool deeper(struct ws_reader *r, struct columns *c, struct view *p, const struct view *v) {
  if (!p->value && is_header(r, p)) {
    add_colon(r, p);
    open_column(c, column(p), p->line, false);
    return false;
  }
  if (should_open(r, p, v)) {
    ws_reader_error(r, ws_reader_pos(r, p->value, p->end), "behind-colon", "nothing may stand behind this `:`, which opens the lines below");
    blank(r, p->value, stop_of(r, p->line));
    p->opens = true;
    return false;
  }
  if (p->value && base(p) == 0 && !section(r, p)) { /* its indentation is lost: what follows belongs to the section above */
    ws_reader_error(r, ws_reader_pos(r, p->text, p->value ? p->value - 1 : p->end), "indent", "no section begins with this line: check its indentation");
    r->bad[p->line] = r->cut = true;
    blank(r, p->start, stop_of(r, p->line));
    return false;
  }
  if (v->dash || v->value)
    ws_reader_error(r, ws_reader_pos(r, v->start + v->indent, v->end), "indent", "this line is deeper than line %zu, which opens no block: check the indentation", p->line + 1);
  else
    ws_reader_error(r, ws_reader_pos(r, p->value ? p->value : p->text, p->end), "multi-line", "a statement or value stands on one line; this one runs on to line %zu: check the indentation there", v->line + 1);
  blank_below(r, v->line, base(p));
  return true;
}

static bool starts_branch(const struct ws_reader *r, const struct view *v) { /* else, elif */
  return !v->dash && word_length(r, v) == 4 && r->clean[v->text] == 'e' && r->clean[v->text + 1] == 'l' && is_header(r, v);
}

/* A line without its dash, among lines with one. True: v is gone. */
static bool without_dash(struct ws_reader *r, const struct view *v) {
  struct view next = {.line = v->line};
  bool opens = v->opens && is_header(r, v) && !starts_branch(r, v), plain = !v->value && !starts_collection(r->clean[v->text]), branch = false;
  if (v->dash || v->inside || !(opens || plain)) return false;
  bool any = following(r, v->line, &next);
  while (any && opens && next.indent > v->indent) {
    branch |= next.indent == v->indent + 2 && starts_branch(r, &next);
    any = following(r, next.line, &next);
  }
  if (!branch && (!any || !next.dash || next.indent != v->indent)) return false;
  ws_reader_error(r, ws_reader_pos(r, v->text, v->end), "dash", "`- ` is missing before this line");
  r->bad[v->line] = true;
  blank(r, v->text, stop_of(r, v->line));
  r->clean[v->text] = '-';
  if (opens) blank_below(r, v->line + 1, v->indent);
  return true;
}

/* v goes back to a column where nothing is open. Either it is wrong, or the only line before it in its block is. */
static bool misplaced(struct ws_reader *r, struct columns *c, const struct view *v, size_t wrong) {
  struct view next = {.line = v->line};
  bool any = following(r, v->line, &next);
  while (any && next.indent > v->indent && v->opens) any = following(r, next.line, &next);
  if (c->open[wrong].items == 1 && any && next.indent == v->indent && c->lost != v->indent) {
    struct view first;
    struct scan s = {0};
    if (look(r, c->open[wrong].line, &first, &s))
      ws_reader_error(r, ws_reader_pos(r, first.start + first.indent, first.end), "indent", "this line is deeper than line %zu of its block: check the indentation", v->line + 1);
    for (size_t line = c->open[wrong].line; line < v->line; line++) {
      r->bad[line] = true;
      blank(r, r->line_start[line], stop_of(r, line));
    }
    r->cut |= !v->dash;
    c->n = wrong;
    return false;
  }
  if (c->lost != v->indent) ws_reader_error(r, ws_reader_pos(r, v->start + v->indent, v->end), "indent", "this line is in line with nothing above it: check the indentation");
  c->lost = v->indent;
  r->bad[v->line] = true;
  r->cut |= !v->dash;
  blank(r, v->start, stop_of(r, v->line));
  if (v->opens) blank_below(r, v->line + 1, c->open[wrong].column);
  return true;
}

/* Closes and opens columns for v after p. True: v is gone. */
static bool place(struct ws_reader *r, struct columns *c, const struct view *p, const struct view *v) {
  bool opened = p && p->opens && (v->indent > base(p) || (v->dash && v->indent == column(p))); /* a list may stand below its key */
  size_t n = c->n;
  while (n && c->open[n - 1].column > v->indent) n--;
  bool fits = n && c->open[n - 1].column == v->indent && (!v->dash || c->open[n - 1].list);
  if (!fits && !opened && n && n < c->n) {
    if (misplaced(r, c, v, n)) return true;
  } else c->n = n;
  open_column(c, v->indent, v->line, v->dash);
  if (v->dash && v->dash_column != v->indent) open_column(c, v->dash_column, v->line, true);
  if (v->dash && v->value) open_column(c, column(v), v->line, false);
  if (v->indent < c->lost) c->lost = SIZE_MAX;
  return false;
}

/* An entry that has lost its indentation: a program, which has a list below it, or the first entry of a section. */
static bool stray_entry(struct ws_reader *r, const struct view *p, const struct view *v) {
  struct view next;
  if (v->indent || v->dash || !v->value || section(r, v)) return false;
  bool program = v->opens && following(r, v->line, &next) && next.dash, entry = !v->opens && !v->inside && p && p->opens && p->indent == 0 && section(r, p);
  if (!program && !entry) return false;
  ws_reader_error(r, ws_reader_pos(r, v->text, v->end), "indent", "no section begins with this line: check its indentation");
  r->cut = r->bad[v->line] = true;
  blank(r, v->start, stop_of(r, v->line));
  blank_below(r, v->line + 1, 0);
  return true;
}

/* --- the file --- */

/* Skips the lines of a bracket or quote that goes on over several. Returns the last of them. */
static size_t skip_inside(const struct ws_reader *r, struct view *v, struct scan *s) {
  size_t line = v->line;
  while ((s->depth > 0 || s->quote) && line + 1 < r->nlines) {
    size_t stop = stop_of(r, ++line);
    for (size_t i = r->line_start[line]; i < stop; i++) {
      if (r->clean[i] == '#' && !s->quote && i && r->clean[i - 1] == ' ') break;
      step(s, r->clean[i]);
    }
  }
  return line;
}

static size_t skip_block_text(const struct ws_reader *r, const struct view *v) {
  size_t line = v->line, indent = v->dash ? v->dash_column : v->indent;
  for (struct view next; line + 1 < r->nlines; line++) {
    struct scan s = {0};
    if (look(r, line + 1, &next, &s) && next.indent <= indent) break;
  }
  return line;
}

/* Reports and repairs what is wrong with v after p (NULL = none). True: v is gone. */
static bool check(struct ws_reader *r, struct columns *c, struct view *p, struct view *v) {
  struct view next;
  bool opened = !p || p->opens || (p->dash && p->text == p->end);
  if (!opened && v->indent > base(p) && deeper(r, c, p, v)) return true;
  if (place(r, c, p, v)) return true;
  if (stray_entry(r, p, v)) return true;
  if (!v->dash && !v->value && !v->inside && !starts_collection(r->clean[v->text]) && following(r, v->line, &next) && next.indent > v->indent) add_colon(r, v);
  else if (without_dash(r, v)) *v = (struct view){.line = v->line, .start = v->start, .indent = v->indent, .dash = true, .dash_column = column(v), .text = v->text + 1, .end = v->text + 1};
  return false;
}

void ws_reader_layout(struct ws_reader *r) {
  struct columns *c = WS_NEW(r->a, struct columns);
  struct view prev = {0}, v;
  bool have = false; /* prev is a line of this document that is understood */
  c->lost = SIZE_MAX;
  for (size_t line = 0; line < r->nlines; line++) {
    struct scan s = {0};
    if (!look(r, line, &v, &s)) continue;
    if (marker(r, &v)) {
      have = false;
      c->n = 0;
    } else if (strchr("?&*!", r->clean[v.text]) || v.block_text) { /* refused later */
      have = false;
      if (v.block_text) line = skip_block_text(r, &v);
    } else if (!check(r, c, have ? &prev : NULL, &v)) {
      line = skip_inside(r, &v, &s);
      prev = v;
      have = true;
    }
  }
}
