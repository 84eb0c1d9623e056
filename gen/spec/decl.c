/* Nodes to declarations, driven by the table of keys. */
#include "spec/keys.h"
#include "spec/reader.h"
#include <stdlib.h>
#include <string.h>

#define FIELD(base, offset, type) ((type *)(void *)((char *)(base) + (offset)))

static const char *text_of(struct ws_reader *r, const struct ws_node *n) {
  size_t q = n->style == WS_QUOTED || n->style == WS_DOUBLE_QUOTED ? 1 : 0;
  return ws_strndup(r->a, r->text + n->begin + q, n->end - n->begin - 2 * q);
}

/* Whether node is the text of one value: a scalar on one line, quoted or not. */
static bool is_value(struct ws_reader *r, const struct ws_node *n, const char *what) {
  if (n->kind == WS_NODE_BROKEN) return false;
  if (n->kind != WS_NODE_SCALAR)
    ws_reader_error(r, n->pos, "bad-value", "expected %s, found a %s", what, n->kind == WS_NODE_MAP ? "mapping" : "list");
  else if (n->style == WS_LITERAL)
    ws_reader_error(r, ws_reader_pos(r, n->begin, n->begin + 1), "quoted", "no `|` or `>` text in a spec: write the value behind its key");
  else if (ws_reader_pos(r, n->end, n->end).line != n->pos.line)
    ws_reader_error(r, n->pos, "multi-line", "a value stands on one line; this one runs on to line %u: check the indentation there", ws_reader_pos(r, n->end, n->end).line);
  else if (!*text_of(r, n)) ws_reader_error(r, n->pos, "empty", "expected %s, found nothing", what);
  else if (n->style == WS_DOUBLE_QUOTED && memchr(r->text + n->begin, '\\', n->end - n->begin))
    ws_reader_error(r, n->pos, "quoted", "no `\\` escapes in a spec");
  else return true;
  return false;
}

static void open_value(struct ws_parser *p, struct ws_reader *r, const struct ws_node *n) {
  size_t q = n->style == WS_PLAIN ? 0 : 1;
  ws_parser_open(p, r, n->begin + q, n->end - q);
  p->end_name = "the end of the value";
  if (!q && n->end < r->len && r->text[n->end] == ',') p->end_name = "the end of the value (quote it if the `,` is a part of it)";
}

static const char *list_words(struct ws_reader *r, const char *const *words, size_t n, const char *last) {
  const char *s = "";
  for (size_t i = 0; i < n; i++) s = ws_fmt(r->a, "%s%s%s%s%s", s, i == 0 ? "" : i + 1 == n ? " " : ", ", i && i + 1 == n ? last : "", i && i + 1 == n ? " " : "", words[i]);
  return s;
}

static void unknown(struct ws_reader *r, struct ws_pos pos, const char *what, const char *word, const char *const *words, size_t n, const char *more) {
  const char *near = ws_nearest(word, words, n);
  if (near) ws_reader_error(r, pos, "unknown-word", "`%s` is no %s: did you mean `%s`?", word, what, near);
  else ws_reader_error(r, pos, "unknown-word", "`%s` is no %s: expected %s%s", word, what, list_words(r, words, n, "or"), more);
}

static size_t count_words(const char *const *words) {
  size_t n = 0;
  while (words[n]) n++;
  return n;
}

static bool is_word(const char *const *words, const char *s) {
  for (; *words; words++)
    if (!strcmp(*words, s)) return true;
  return false;
}

/* --- values --- */

static struct ws_expr *read_expr(struct ws_reader *r, const struct ws_node *n, const char *what) {
  struct ws_parser p;
  if (!is_value(r, n, what)) return NULL;
  open_value(&p, r, n);
  struct ws_expr *e = ws_parse_expr(&p);
  ws_expect_end(&p, "the value");
  return p.failed ? NULL : e;
}

/* NAME {"." NAME}; NULL after an error. */
static const char *read_name(struct ws_reader *r, const struct ws_node *n, const char *what, bool dotted) {
  struct ws_parser p;
  if (!is_value(r, n, what)) return NULL;
  open_value(&p, r, n);
  const char *name = ws_expect_name(&p, what, NULL);
  while (dotted && ws_accept(&p, ".")) name = ws_fmt(r->a, "%s.%s", name, ws_expect_name(&p, what, NULL));
  ws_expect_end(&p, "the name (which has letters, digits and `_`)");
  return p.failed ? NULL : name;
}

static void read_names(struct ws_reader *r, const struct ws_node *n, const struct ws_key *k, void *out) {
  const char ***names = FIELD(out, k->at, const char **);
  struct ws_pos **pos = FIELD(out, k->pos, struct ws_pos *);
  size_t *count = FIELD(out, k->at2, size_t), items = n->kind == WS_NODE_LIST ? n->n : 1;
  if (n->kind == WS_NODE_LIST && !items) ws_reader_error(r, n->pos, "empty", "an empty list: expected at least one %s", k->name);
  *names = WS_NEW_N(r->a, const char *, items);
  *pos = WS_NEW_N(r->a, struct ws_pos, items);
  for (size_t i = 0; i < items; i++) {
    const struct ws_node *item = n->kind == WS_NODE_LIST ? n->item[i] : n;
    const char *name = read_name(r, item, "a name", false);
    if (!name) continue;
    (*names)[*count] = name;
    (*pos)[(*count)++] = item->pos;
  }
}

static const char *read_word(struct ws_reader *r, const struct ws_node *n, const struct ws_key *k) {
  size_t nwords = count_words(k->words);
  const char *what = ws_fmt(r->a, "%s %s", nwords > 1 ? "one of" : "the word", list_words(r, k->words, nwords, "or"));
  if (!is_value(r, n, what)) return NULL;
  const char *word = text_of(r, n);
  if (is_word(k->words, word)) return word;
  unknown(r, n->pos, ws_fmt(r->a, "value of `%s`", k->name), ws_reader_quote(r, n->begin, n->end), k->words, nwords, "");
  return NULL;
}

static void read_exprs(struct ws_reader *r, const struct ws_node *n, const struct ws_key *k, void *out) {
  bool list = n->kind == WS_NODE_LIST;
  struct ws_expr ***exprs = FIELD(out, k->at, struct ws_expr **);
  size_t *count = FIELD(out, k->at2, size_t), items = list ? n->n : 1;
  if (k->kind == WS_K_LIST && !list) {
    if (n->kind != WS_NODE_BROKEN) ws_reader_error(r, n->pos, "bad-value", "expected a list `[a, b]` as %s", k->name);
    return;
  }
  if (!items) ws_reader_error(r, n->pos, "empty", "an empty list: expected at least one value");
  *exprs = WS_NEW_N(r->a, struct ws_expr *, items);
  for (size_t i = 0; i < items; i++) {
    struct ws_expr *e = read_expr(r, list ? n->item[i] : n, "a value");
    if (e) (*exprs)[(*count)++] = e;
  }
}

/* Whether a list has cut an expression into pieces. */
static bool has_open_paren(struct ws_reader *r, const struct ws_node *n) {
  for (size_t i = 0; i < n->n; i++)
    if (n->item[i]->kind == WS_NODE_SCALAR && strchr(text_of(r, n->item[i]), '(') && !strchr(text_of(r, n->item[i]), ')')) return true;
  return false;
}

static void read_tile(struct ws_reader *r, const struct ws_node *n, const struct ws_key *k, void *out) {
  if (n->kind == WS_NODE_BROKEN) return;
  *FIELD(out, k->pos, struct ws_pos) = n->pos;
  if (n->kind == WS_NODE_LIST && n->n != 2 && has_open_paren(r, n)) {
    ws_reader_error(r, n->pos, "bad-value", "an expression with a comma is quoted in a list: ['max(1, 2)', 3]");
    return;
  }
  if (n->kind != WS_NODE_LIST || n->n != 2) {
    ws_reader_error(r, n->pos, "bad-value", "expected `[rows, cols]` as tile, found %s",
                    n->kind == WS_NODE_LIST ? ws_fmt(r->a, "a list of %zu", n->n) : n->kind == WS_NODE_MAP ? "a mapping" : "one value");
    return;
  }
  *FIELD(out, k->at, struct ws_expr *) = read_expr(r, n->item[0], "the rows");
  *FIELD(out, k->at2, struct ws_expr *) = read_expr(r, n->item[1], "the columns");
}

/* --- mappings --- */

struct entry { /* a key of a mapping, for the search of duplicates */
  const char *name;
  struct ws_pos pos;
};

static int by_name(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  if (c) return c;
  return x->pos.line != y->pos.line ? (x->pos.line < y->pos.line ? -1 : 1) : x->pos.col < y->pos.col ? -1 : x->pos.col > y->pos.col;
}

static void find_duplicates(struct ws_reader *r, struct entry *e, size_t n, const char *what) {
  qsort(e, n, sizeof *e, by_name);
  for (size_t i = 1; i < n; i++) /* two documents in one, not a dozen duplicates */
    if (!strcmp(what, "the top-level key") && !strcmp(e[i].name, "schedule") && !strcmp(e[i - 1].name, "schedule")) {
      ws_reader_error(r, e[i].pos, "duplicate-key", "a second `schedule` in one document: a further kernel begins with a line `---`");
      return;
    }
  for (size_t i = 1; i < n; i++) {
    if (strcmp(e[i - 1].name, e[i].name)) continue;
    ws_reader_error(r, e[i].pos, "duplicate-key", "%s `%s` is given twice; first in line %u", what, e[i].name, e[i - 1].pos.line);
    e[i].pos.line = e[i - 1].pos.line; /* a third one names the first, too */
  }
}

static void find_duplicate_keys(struct ws_reader *r, const struct ws_node *n, const char *what) {
  struct entry *e = WS_NEW_N(r->a, struct entry, n->n);
  size_t count = 0;
  for (size_t i = 0; i < n->n; i++)
    if (n->key[i]->kind == WS_NODE_SCALAR) e[count++] = (struct entry){text_of(r, n->key[i]), n->key[i]->pos};
  find_duplicates(r, e, count, what);
}

static bool is_mapping(struct ws_reader *r, const struct ws_node *n, const char *what, struct ws_pos owner) {
  if (n->kind == WS_NODE_MAP && n->n) return true;
  if (n->kind == WS_NODE_BROKEN) return false;
  if (n->kind == WS_NODE_MAP || (n->kind == WS_NODE_SCALAR && n->begin == n->end)) {
    if (!r->cut) ws_reader_error(r, owner, "empty", "%s is empty: expected `key: value` lines", what);
  } else ws_reader_error(r, n->pos, "bad-value", "expected %s as a mapping `key: value`, found %s", what, n->kind == WS_NODE_LIST ? "a list" : ws_fmt(r->a, "`%s`", ws_reader_quote(r, n->begin, n->end)));
  return false;
}

static const char *plain_key(struct ws_reader *r, const struct ws_node *key, const char *what) {
  struct ws_parser p;
  if (!is_value(r, key, what)) return NULL;
  open_value(&p, r, key);
  const char *name = ws_expect_name(&p, what, NULL);
  ws_expect_end(&p, "the name (which has letters, digits and `_`)");
  return p.failed ? NULL : name;
}

static void read_pairs(struct ws_reader *r, const struct ws_node *n, const struct ws_node *key, const struct ws_key *k, void *out) {
  struct ws_pair **pairs = FIELD(out, k->at, struct ws_pair *);
  size_t *count = FIELD(out, k->at2, size_t);
  if (!is_mapping(r, n, ws_fmt(r->a, "`%s`", k->name), key->pos)) return;
  find_duplicate_keys(r, n, "the key");
  *pairs = WS_NEW_N(r->a, struct ws_pair, n->n);
  for (size_t i = 0; i < n->n; i++) {
    const char *name = plain_key(r, n->key[i], "the name of an index space");
    struct ws_expr *value = read_expr(r, n->item[i], "a value");
    if (name && value) (*pairs)[(*count)++] = (struct ws_pair){name, n->key[i]->pos, value};
  }
}

static bool read_unit(struct ws_reader *r, const struct ws_node *n, const struct ws_key *k, struct ws_end *end) {
  if (!is_value(r, n, "the unit thread, warp or one")) return false;
  const char *word = text_of(r, n);
  for (size_t u = 0; k->words[u]; u++) /* ORDER enum ws_unit */
    if (!strcmp(k->words[u], word)) {
      end->unit = (enum ws_unit)u;
      return end->unit_given = true;
    }
  unknown(r, n->pos, "unit", ws_reader_quote(r, n->begin, n->end), k->words, 3, "");
  return false;
}

static void read_ends(struct ws_reader *r, const struct ws_node *n, const struct ws_node *key, const struct ws_key *k, void *out) {
  struct ws_end **ends = FIELD(out, k->at, struct ws_end *);
  size_t *count = FIELD(out, k->at2, size_t), items = n->kind == WS_NODE_SCALAR ? 1 : n->n;
  bool map = n->kind == WS_NODE_MAP, list = n->kind == WS_NODE_LIST;
  if (map && !is_mapping(r, n, ws_fmt(r->a, "`%s`", k->name), key->pos)) return;
  if (map) find_duplicate_keys(r, n, "the key");
  if (list && !items) ws_reader_error(r, n->pos, "empty", "an empty list: expected at least one role");
  *ends = WS_NEW_N(r->a, struct ws_end, items ? items : 1);
  for (size_t i = 0; i < items && n->kind != WS_NODE_BROKEN; i++) {
    const struct ws_node *item = map ? n->key[i] : list ? n->item[i] : n;
    struct ws_end end = {.role = read_name(r, item, "a role", false), .pos = item->pos};
    if (map && !read_unit(r, n->item[i], k, &end)) continue;
    if (end.role) (*ends)[(*count)++] = end;
  }
}

/* --- records --- */

/* A section that has slipped into the table above it. */
static bool indented_section(struct ws_reader *r, const struct ws_node *key, const struct ws_node *value) {
  if (key->kind != WS_NODE_SCALAR || value->kind != WS_NODE_SCALAR || value->begin != value->end) return false;
  for (size_t k = 0; k < ws_document_record.nkeys; k++)
    if (!strcmp(ws_document_record.keys[k].name, text_of(r, key))) {
      ws_reader_error(r, key->pos, "indent", "the section `%s` begins in column 1: remove its indentation", text_of(r, key));
      return r->cut = true;
    }
  return false;
}

static void read_record(struct ws_reader *r, const struct ws_node *n, const struct ws_record *rec, struct ws_pos owner, const char *name, void *out);

/* NAME or NAME[expr] */
static const char *declared_name(struct ws_reader *r, const struct ws_node *key, const struct ws_record *rec, struct ws_expr **count) {
  struct ws_parser p;
  const char *what = ws_fmt(r->a, "the name of a %s", rec->what);
  if (!is_value(r, key, what)) return NULL;
  if (key->end - key->begin > WS_HEADER_MAX) {
    ws_reader_error(r, key->pos, "too-large", "a key of more than %d bytes", WS_HEADER_MAX);
    return NULL;
  }
  open_value(&p, r, key);
  const char *name = ws_expect_name(&p, what, NULL);
  struct ws_expr *elements = NULL;
  if (ws_is(&p, "[")) {
    if (rec->count == WS_NO_OFFSET) ws_parse_error(&p, "bad-key", "a %s has no elements: only roles, buffers, pipelines and barriers come as NAME[n]", rec->what);
    ws_accept(&p, "[");
    elements = ws_parse_expr(&p);
    ws_expect(&p, "]", "after the number of elements");
  }
  ws_expect_end(&p, "the name (which has letters, digits and `_`)");
  if (p.failed) return NULL;
  *count = elements;
  return name;
}

static void read_table(struct ws_reader *r, const struct ws_node *n, const struct ws_node *key, const struct ws_key *k, void *out) {
  const struct ws_record *rec = k->record;
  size_t *count = FIELD(out, k->at2, size_t);
  if (!is_mapping(r, n, ws_fmt(r->a, "`%s`", k->name), key->pos)) return;
  char *rows = ws_alloc(r->a, rec->size * n->n);
  struct entry *names = WS_NEW_N(r->a, struct entry, n->n);
  *FIELD(out, k->at, void *) = rows;
  for (size_t i = 0; i < n->n; i++) {
    if (indented_section(r, n->key[i], n->item[i])) break;
    void *row = rows + rec->size * *count;
    struct ws_expr *elements = NULL;
    const char *name = declared_name(r, n->key[i], rec, &elements);
    *FIELD(row, 0, const char *) = name;
    *FIELD(row, rec->pos, struct ws_pos) = n->key[i]->pos;
    if (elements) *FIELD(row, rec->count, struct ws_expr *) = elements;
    if (rec->scalar != WS_NO_OFFSET && n->item[i]->kind == WS_NODE_SCALAR)
      *FIELD(row, rec->scalar, struct ws_expr *) = read_expr(r, n->item[i], "a value");
    else read_record(r, n->item[i], rec, n->key[i]->pos, name, row);
    if (name) names[(*count)++] = (struct entry){name, n->key[i]->pos};
    else memset(row, 0, rec->size); /* nothing can refer to it */
  }
  find_duplicates(r, names, *count, ws_fmt(r->a, "the %s", rec->what)); /* S and S[2] are one name */
}

static void read_programs(struct ws_reader *r, const struct ws_node *n, const struct ws_node *key, const struct ws_key *k, void *out) {
  static const struct ws_record program = {.what = "program", .count = offsetof(struct ws_program, index)};
  struct ws_program **programs = FIELD(out, k->at, struct ws_program *);
  size_t *count = FIELD(out, k->at2, size_t);
  if (!is_mapping(r, n, "`programs`", key->pos)) return;
  struct entry *names = WS_NEW_N(r->a, struct entry, n->n);
  *programs = WS_NEW_N(r->a, struct ws_program, n->n);
  for (size_t i = 0; i < n->n; i++) {
    const struct ws_node *name = n->key[i];
    struct ws_program p = {.pos = name->pos};
    p.role = declared_name(r, name, &program, &p.index);
    if (p.index && p.index->kind != WS_E_NAME && p.index->kind != WS_E_NUMBER) {
      ws_reader_error(r, p.index->pos, "bad-key", "expected a name for the instance's index, or its number");
      p.index = NULL;
    }
    p.body = ws_read_block(r, n->item[i], name->pos, ws_fmt(r->a, "the program `%s`", p.role ? p.role : "?"));
    if (!p.role) continue;
    struct ws_buf text = {.arena = r->a};
    ws_buf_puts(&text, p.role);
    if (p.index) {
      ws_buf_puts(&text, "[");
      ws_expr_print(p.index, &text);
      ws_buf_puts(&text, "]");
    }
    names[*count] = (struct entry){text.s, name->pos};
    (*programs)[(*count)++] = p;
  }
  find_duplicates(r, names, *count, "the program");
}

static void read_value(struct ws_reader *r, const struct ws_node *key, const struct ws_node *n, const struct ws_key *k, void *out) {
  const char *word;
  switch (k->kind) {
    case WS_K_NAME:
    case WS_K_DOTTED:
      *FIELD(out, k->at, const char *) = read_name(r, n, ws_fmt(r->a, "a name as %s", k->name), k->kind == WS_K_DOTTED);
      break;
    case WS_K_NAMES: read_names(r, n, k, out); return;
    case WS_K_WORD: *FIELD(out, k->at, const char *) = read_word(r, n, k); break;
    case WS_K_FLAG:
      word = read_word(r, n, k);
      *FIELD(out, k->at, bool) = word && !strcmp(word, k->words[1]);
      break;
    case WS_K_EXPR: *FIELD(out, k->at, struct ws_expr *) = read_expr(r, n, ws_fmt(r->a, "a value of %s", k->name)); break;
    case WS_K_EXPRS:
    case WS_K_LIST: read_exprs(r, n, k, out); return;
    case WS_K_TILE: read_tile(r, n, k, out); return;
    case WS_K_PAIRS: read_pairs(r, n, key, k, out); return;
    case WS_K_ENDS: read_ends(r, n, key, k, out); return;
    case WS_K_SECTION:
      read_record(r, n, k->record, key->pos, NULL, FIELD(out, k->at, char));
      *FIELD(out, k->at + k->record->pos, struct ws_pos) = key->pos;
      return;
    case WS_K_TABLE: read_table(r, n, key, k, out); return;
    case WS_K_PROGRAMS: read_programs(r, n, key, k, out); return;
  }
  if (k->pos != WS_NO_OFFSET) *FIELD(out, k->pos, struct ws_pos) = n->pos;
}

static void unknown_key(struct ws_reader *r, const struct ws_node *key, const struct ws_record *rec) {
  const char *names[32];
  size_t n = 0;
  for (; n < rec->nkeys && n < 32; n++) names[n] = rec->keys[n].name;
  const char *word = ws_reader_quote(r, key->begin, key->end), *near = ws_nearest(text_of(r, key), names, n);
  if (near) ws_reader_error(r, key->pos, "unknown-key", "a %s has no key `%s`: did you mean `%s`?", rec->what, word, near);
  else ws_reader_error(r, key->pos, "unknown-key", "a %s has no key `%s`: expected %s", rec->what, word, list_words(r, names, n, "or"));
}

/* A named barrier has no phases, an mbarrier no warps. */
static void check_only(struct ws_reader *r, const struct ws_node *n, const struct ws_record *rec, const bool *seen, const struct ws_node **keys) {
  const char *kind = NULL;
  for (size_t k = 0; k < rec->nkeys; k++)
    if (rec->keys[k].kind == WS_K_FLAG) {
      kind = rec->keys[k].words[0];
      for (size_t i = 0; i < n->n; i++)
        if (n->key[i] == keys[k] && n->item[i]->kind == WS_NODE_SCALAR && !strcmp(text_of(r, n->item[i]), rec->keys[k].words[1])) kind = rec->keys[k].words[1];
    }
  for (size_t k = 0; k < rec->nkeys; k++)
    if (seen[k] && rec->keys[k].only && strcmp(rec->keys[k].only, kind))
      ws_reader_error(r, keys[k]->pos, "bad-key", "`%s` belongs to a barrier of `kind: %s`; this one is %s %s", rec->keys[k].name,
                      rec->keys[k].only, kind[0] == 'm' ? "an" : "a", kind[0] == 'm' ? "mbarrier" : "named barrier");
}

static void read_record(struct ws_reader *r, const struct ws_node *n, const struct ws_record *rec, struct ws_pos owner, const char *name, void *out) {
  bool seen[32] = {false};
  const struct ws_node *keys[32] = {NULL};
  const char *what = name ? ws_fmt(r->a, "the %s `%s`", rec->what, name) : ws_fmt(r->a, "the %s", rec->what);
  if (!is_mapping(r, n, what, owner)) return;
  find_duplicate_keys(r, n, rec == &ws_document_record ? "the top-level key" : "the key");
  bool broken = false; /* a key that could not be read may be the one that is missing */
  for (size_t i = 0; i < n->n; i++) {
    if (n->key[i]->kind != WS_NODE_SCALAR) {
      broken = true;
      continue;
    }
    const char *word = text_of(r, n->key[i]);
    size_t k = 0;
    if (!strcmp(word, "<<")) { /* YAML's merge key: the alias behind it has had its error */
      if (n->item[i]->kind != WS_NODE_BROKEN) ws_reader_error(r, n->key[i]->pos, "unknown-key", "no merge keys in a spec: write the keys out");
      broken = true;
      continue;
    }
    while (k < rec->nkeys && strcmp(rec->keys[k].name, word)) k++;
    if (k == rec->nkeys && rec != &ws_document_record && indented_section(r, n->key[i], n->item[i])) break;
    if (k == rec->nkeys && r->bad[n->key[i]->pos.line - 1]) broken = true;
    else if (k == rec->nkeys) {
      unknown_key(r, n->key[i], rec);
      const char *names[32];
      for (size_t m = 0; m < rec->nkeys; m++) names[m] = rec->keys[m].name;
      const char *meant = ws_nearest(word, names, rec->nkeys);
      for (size_t m = 0; m < rec->nkeys; m++) /* a misspelt key is not missing, too; nor what is below it lost */
        if (meant && !strcmp(meant, names[m]) && !seen[m]) {
          seen[m] = true;
          keys[m] = n->key[i];
          read_value(r, n->key[i], n->item[i], &rec->keys[m], out);
        }
    }
    if (k == rec->nkeys || seen[k]) continue; /* reported as a duplicate */
    seen[k] = true;
    keys[k] = n->key[i];
    read_value(r, n->key[i], n->item[i], &rec->keys[k], out);
  }
  check_only(r, n, rec, seen, keys);
  const char *missing[32];
  size_t nmissing = 0;
  for (size_t k = 0; k < rec->nkeys; k++)
    if (rec->keys[k].required && !seen[k]) missing[nmissing++] = ws_fmt(r->a, "`%s`", rec->keys[k].name);
  if (nmissing && !broken && !r->cut)
    ws_reader_error(r, owner, "missing-key", "%s lacks the key%s %s", what, nmissing > 1 ? "s" : "", list_words(r, missing, nmissing, "and"));
}

/* --- words that may be parameters --- */

static bool is_param(const struct ws_document *doc, const char *name) {
  for (size_t i = 0; i < doc->nparams; i++)
    if (!strcmp(doc->params[i].name, name)) return true;
  return false;
}

static void check_word(struct ws_reader *r, const struct ws_document *doc, const struct ws_key *k, const struct ws_expr *e) {
  if (!e || e->kind != WS_E_NAME || is_word(k->words, e->name) || is_param(doc, e->name)) return;
  unknown(r, e->pos, ws_fmt(r->a, "value of `%s`", k->name), e->name, k->words, count_words(k->words), ", or a parameter");
}

static void check_words(struct ws_reader *r, const struct ws_document *doc, const struct ws_record *rec, const void *in) {
  for (size_t i = 0; i < rec->nkeys; i++) {
    const struct ws_key *k = &rec->keys[i];
    const void *at = (const char *)in + k->at;
    if (k->kind == WS_K_EXPR && k->words) check_word(r, doc, k, *(struct ws_expr *const *)at);
    else if (k->kind == WS_K_PAIRS && k->words) {
      size_t n = *(const size_t *)(const void *)((const char *)in + k->at2);
      for (size_t p = 0; p < n; p++) check_word(r, doc, k, (*(struct ws_pair *const *)at)[p].value);
    } else if (k->kind == WS_K_SECTION) check_words(r, doc, k->record, at);
    else if (k->kind == WS_K_TABLE) {
      size_t n = *(const size_t *)(const void *)((const char *)in + k->at2);
      for (size_t p = 0; p < n; p++) check_words(r, doc, k->record, *(const char *const *)at + p * k->record->size);
    }
  }
}

void ws_read_document(struct ws_reader *r, const struct ws_node *root, struct ws_document *doc) {
  doc->pos = ws_reader_pos(r, root->begin, root->begin + (root->end > root->begin));
  read_record(r, root, &ws_document_record, doc->pos, NULL, doc);
  check_words(r, doc, &ws_document_record, doc);
}
