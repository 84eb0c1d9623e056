/* A tree as text, in the canonical form of the language: sections in the order of the table of keys, one declaration a
 * line, single spaces. Read back, the text gives the same tree. */
#include "spec/keys.h"
#include "spec/syntax.h"
#include <string.h>

#define FIELD(base, offset, type) (*(type const *)(const void *)((const char *)(base) + (offset)))

static void indent(struct ws_buf *out, int level) { ws_buf_printf(out, "%*s", level * 2, ""); }

/* --- statements --- */

static void part(const char *before, const struct ws_expr *e, struct ws_buf *out) {
  if (!e) return;
  ws_buf_puts(out, before);
  ws_expr_print(e, out);
}

static void options(const struct ws_stmt *s, struct ws_buf *out) {
  for (size_t i = 0; i < s->nopts; i++) {
    ws_buf_printf(out, "%s%s=", i ? ", " : " with ", s->opts[i].name);
    ws_sum_print(s->opts[i].value, out);
  }
}

static void handle(const struct ws_stmt *s, struct ws_buf *out) {
  if (s->handle) ws_buf_printf(out, " -> %s", s->handle);
  part(" as [", s->as_rows, out);
  part(", ", s->as_cols, out);
  if (s->as_cols) ws_buf_puts(out, "]");
}

static const struct { const char *word, *second; } words[] = {
    [WS_S_LOAD] = {"load ", NULL},       [WS_S_STORE] = {"store ", NULL},       [WS_S_REDUCE] = {"reduce ", NULL},
    [WS_S_WRITE] = {"write ", NULL},     [WS_S_COPY] = {"copy ", NULL},         [WS_S_PRODUCT] = {NULL, " @ "},
    [WS_S_ACQUIRE] = {"acquire ", NULL}, [WS_S_WAIT] = {"wait ", NULL},         [WS_S_COMMIT] = {"commit ", NULL},
    [WS_S_RELEASE] = {"release ", NULL}, [WS_S_ARRIVE] = {"arrive ", NULL},     [WS_S_AWAIT] = {"await ", NULL},
    [WS_S_WAIT_EQ] = {"wait ", " == "},  [WS_S_WAIT_PHASE] = {"wait ", " phase "}, [WS_S_ARRIVE_EXPECT] = {"arrive ", " expect "},
    [WS_S_INIT] = {"init ", " count "},  [WS_S_INVAL] = {"inval ", NULL},       [WS_S_FENCE] = {"fence ", NULL},
};

static void statement(const struct ws_stmt *s, struct ws_buf *out) {
  static const char *const scopes[] = {[WS_SYNC_ROLE] = "", [WS_SYNC_WARP] = " warp", [WS_SYNC_ALL] = " all", [WS_SYNC_CLUSTER] = " cluster", [WS_SYNC_REF] = ""};
  switch (s->kind) {
    case WS_S_LOAD:
    case WS_S_STORE:
    case WS_S_REDUCE:
    case WS_S_WRITE:
    case WS_S_COPY:
      part(s->a && s->a->kind == WS_E_SELECT ? ws_fmt(out->arena, "%s(", words[s->kind].word) : words[s->kind].word, s->a, out);
      part(s->a && s->a->kind == WS_E_SELECT ? ") -> " : " -> ", s->dst, out);
      options(s, out);
      part(" when ", s->when, out);
      break;
    case WS_S_PRODUCT:
    case WS_S_ASSIGN:
    case WS_S_ASSIGN2:
      part("", s->dst, out);
      part(", ", s->dst2, out);
      part(s->accumulate ? " += " : " = ", s->a, out);
      if (s->kind == WS_S_PRODUCT) part(" @ ", s->b, out);
      options(s, out);
      break;
    case WS_S_SYNC:
      ws_buf_printf(out, "sync%s", scopes[s->sync]);
      part(" ", s->a, out);
      break;
    case WS_S_FOR: /* headers are printed with their blocks */
    case WS_S_EACH:
    case WS_S_IF:
    case WS_S_ONE_THREAD: break;
    default:
      part(words[s->kind].word, s->a, out);
      if (words[s->kind].second) part(words[s->kind].second, s->b, out);
      handle(s, out);
      options(s, out);
  }
}

static void header(const struct ws_stmt *s, struct ws_buf *out) {
  if (s->kind == WS_S_ONE_THREAD) ws_buf_puts(out, "one thread");
  if (s->kind == WS_S_EACH) {
    ws_buf_printf(out, "each %s in ", s->var);
    ws_sum_print(s->lo, out);
    ws_buf_puts(out, "..");
    ws_sum_print(s->hi, out);
  }
  if (s->kind != WS_S_FOR) return;
  ws_buf_printf(out, "for %s in ", s->var);
  ws_expr_print(s->list, out);
  if (s->peel_first) ws_buf_puts(out, ", peel first");
  if (s->split_masked) ws_buf_puts(out, ", split masked");
  if (!s->unroll) return;
  ws_buf_puts(out, ", unroll ");
  ws_sum_print(s->unroll, out);
}

/* Recursion is bounded by the depth of the document that was read. */
static void block(const struct ws_block *b, int level, struct ws_buf *out) {
  for (size_t i = 0; b && i < b->n; i++) {
    const struct ws_stmt *s = b->stmt[i];
    indent(out, level);
    ws_buf_puts(out, "- ");
    for (size_t k = 0; k < s->nbranches; k++) {
      if (k) indent(out, level + 1);
      part(k ? "elif " : "if ", s->branches[k].cond, out);
      ws_buf_puts(out, s->branches[k].cond ? ":\n" : "else:\n");
      block(s->branches[k].body, level + 2, out);
    }
    if (s->kind == WS_S_IF) continue;
    bool opens = s->kind == WS_S_FOR || s->kind == WS_S_EACH || s->kind == WS_S_ONE_THREAD;
    if (opens) header(s, out);
    else statement(s, out);
    ws_buf_puts(out, opens ? ":\n" : "\n");
    if (opens) block(s->body, level + 2, out);
  }
}

/* --- declarations --- */

/* An expression in flow style is quoted where its brackets and commas would be YAML's. */
static void value(const struct ws_expr *e, struct ws_buf *out) {
  struct ws_buf text = {.arena = out->arena};
  if (!e) return;
  ws_expr_print(e, &text);
  bool quote = strpbrk(text.s, ",[]{}") != NULL;
  ws_buf_printf(out, quote ? "'%s'" : "%s", text.s);
}

static void values(struct ws_expr *const *e, size_t n, bool brackets, struct ws_buf *out) {
  if (brackets) ws_buf_puts(out, "[");
  for (size_t i = 0; i < n; i++) {
    if (i) ws_buf_puts(out, ", ");
    value(e[i], out);
  }
  if (brackets) ws_buf_puts(out, "]");
}

static void ends(const struct ws_end *e, size_t n, const char *const *units, struct ws_buf *out) {
  bool units_given = e[0].unit_given;
  if (units_given || n > 1) ws_buf_puts(out, units_given ? "{" : "[");
  for (size_t i = 0; i < n; i++) {
    ws_buf_printf(out, "%s%s", i ? ", " : "", e[i].role);
    if (units_given) ws_buf_printf(out, ": %s", units[e[i].unit]);
  }
  if (units_given || n > 1) ws_buf_puts(out, units_given ? "}" : "]");
}

static void pairs(const struct ws_pair *p, size_t n, struct ws_buf *out) {
  ws_buf_puts(out, "{");
  for (size_t i = 0; i < n; i++) {
    ws_buf_printf(out, "%s%s: ", i ? ", " : "", p[i].key);
    value(p[i].value, out);
  }
  ws_buf_puts(out, "}");
}

static void names(const char *const *s, size_t n, struct ws_buf *out) {
  if (n > 1) ws_buf_puts(out, "[");
  for (size_t i = 0; i < n; i++) ws_buf_printf(out, "%s%s", i ? ", " : "", s[i]);
  if (n > 1) ws_buf_puts(out, "]");
}

static bool given(const struct ws_key *k, const void *in) {
  switch (k->kind) {
    case WS_K_NAME:
    case WS_K_DOTTED:
    case WS_K_WORD: return FIELD(in, k->at, char *) != NULL;
    case WS_K_FLAG: return FIELD(in, k->at, bool);
    case WS_K_EXPR: return FIELD(in, k->at, struct ws_expr *) != NULL;
    case WS_K_TILE: return FIELD(in, k->at, struct ws_expr *) && FIELD(in, k->at2, struct ws_expr *);
    case WS_K_SECTION: return FIELD((const char *)in + k->at, k->record->pos, struct ws_pos).line > 0;
    default: return FIELD(in, k->at2, size_t) > 0;
  }
}

/* The value of a key that fits on its line. */
static void inline_value(const struct ws_key *k, const void *in, struct ws_buf *out) {
  size_t n = k->at2 == WS_NO_OFFSET || k->kind == WS_K_TILE ? 0 : FIELD(in, k->at2, size_t);
  switch (k->kind) {
    case WS_K_NAME:
    case WS_K_DOTTED:
    case WS_K_WORD: ws_buf_puts(out, FIELD(in, k->at, char *)); break;
    case WS_K_FLAG: ws_buf_puts(out, k->words[1]); break;
    case WS_K_EXPR: value(FIELD(in, k->at, struct ws_expr *), out); break;
    case WS_K_NAMES: names(FIELD(in, k->at, const char *const *), n, out); break;
    case WS_K_LIST: values(FIELD(in, k->at, struct ws_expr *const *), n, true, out); break;
    case WS_K_EXPRS: values(FIELD(in, k->at, struct ws_expr *const *), n, n > 1, out); break;
    case WS_K_TILE: values((struct ws_expr *[]){FIELD(in, k->at, struct ws_expr *), FIELD(in, k->at2, struct ws_expr *)}, 2, true, out); break;
    case WS_K_PAIRS: pairs(FIELD(in, k->at, struct ws_pair *), n, out); break;
    case WS_K_ENDS: ends(FIELD(in, k->at, struct ws_end *), n, k->words, out); break;
    default: break;
  }
}

/* A row of a table: NAME: {key: value, ...}, or NAME: value. */
static void row(const struct ws_record *rec, const void *in, struct ws_buf *out) {
  const struct ws_expr *elements = rec->count == WS_NO_OFFSET ? NULL : FIELD(in, rec->count, struct ws_expr *);
  bool first = true, scalar = rec->scalar != WS_NO_OFFSET && !given(&rec->keys[0], in);
  ws_buf_printf(out, "  %s", FIELD(in, 0, char *));
  part("[", elements, out);
  ws_buf_puts(out, elements ? "]: " : ": ");
  if (scalar) {
    value(FIELD(in, rec->scalar, struct ws_expr *), out);
    ws_buf_puts(out, "\n");
    return;
  }
  for (size_t i = 0; i < rec->nkeys; i++) {
    if (!given(&rec->keys[i], in)) continue;
    ws_buf_printf(out, "%s%s: ", first ? "{" : ", ", rec->keys[i].name);
    inline_value(&rec->keys[i], in, out);
    first = false;
  }
  ws_buf_puts(out, first ? "{}\n" : "}\n");
}

static void section(const struct ws_record *rec, const void *in, struct ws_buf *out) {
  for (size_t i = 0; i < rec->nkeys; i++) {
    if (!given(&rec->keys[i], in)) continue;
    ws_buf_printf(out, "  %s: ", rec->keys[i].name);
    inline_value(&rec->keys[i], in, out);
    ws_buf_puts(out, "\n");
  }
}

static void programs(const struct ws_program *p, size_t n, struct ws_buf *out) {
  for (size_t i = 0; i < n; i++) {
    ws_buf_printf(out, "%s  %s", i ? "\n" : "", p[i].role);
    part("[", p[i].index, out);
    ws_buf_puts(out, p[i].index ? "]:\n" : ":\n");
    block(p[i].body, 2, out);
  }
}

static void document(const struct ws_document *doc, struct ws_buf *out) {
  const struct ws_record *rec = &ws_document_record;
  for (size_t i = 0; i < rec->nkeys; i++) {
    const struct ws_key *k = &rec->keys[i];
    if (!given(k, doc)) continue;
    ws_buf_printf(out, "%s:", k->name);
    if (k->kind == WS_K_SECTION || k->kind == WS_K_TABLE || k->kind == WS_K_PROGRAMS) {
      ws_buf_puts(out, "\n");
      if (k->kind == WS_K_SECTION) section(k->record, (const char *)doc + k->at, out);
      else if (k->kind == WS_K_PROGRAMS) programs(FIELD(doc, k->at, struct ws_program *), FIELD(doc, k->at2, size_t), out);
      else
        for (size_t n = 0; n < FIELD(doc, k->at2, size_t); n++) row(k->record, FIELD(doc, k->at, char *) + n * k->record->size, out);
      continue;
    }
    ws_buf_puts(out, " ");
    inline_value(k, doc, out);
    ws_buf_puts(out, "\n");
  }
}

void ws_spec_print(const struct ws_spec *s, struct ws_buf *out) {
  for (size_t i = 0; i < s->ndocs; i++) {
    if (i) ws_buf_puts(out, "---\n");
    document(&s->docs[i], out);
  }
}
