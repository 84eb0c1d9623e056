/* Tokens to expressions. The rule of the grammar stands above each function. */
#include "spec/reader.h"
#include <math.h>
#include <string.h>

static struct ws_expr *node(struct ws_parser *p, enum ws_expr_kind kind, size_t begin, size_t nargs) {
  struct ws_expr *e = WS_NEW(p->r->a, struct ws_expr);
  e->kind = kind;
  e->n = nargs;
  e->arg = nargs ? WS_NEW_N(p->r->a, struct ws_expr *, nargs) : NULL;
  e->depth = 1;
  e->pos = ws_span(p, begin);
  return e;
}

/* Whoever walks a tree recurses, so its height is bounded here, whatever shape the text has. */
static struct ws_expr *finish(struct ws_parser *p, struct ws_expr *e) {
  for (size_t i = 0; i < e->n; i++)
    if (e->arg[i]->depth >= e->depth) e->depth = e->arg[i]->depth + 1;
  if (e->depth > WS_EXPR_DEPTH && !p->failed)
    ws_parse_error_at(p, e->pos, "too-deep", "an expression of more than %d levels: name a part of it on a line of its own", WS_EXPR_DEPTH);
  return e;
}

static struct ws_expr *binary(struct ws_parser *p, size_t begin, enum ws_op op, struct ws_expr *a, struct ws_expr *b) {
  struct ws_expr *e = node(p, WS_E_BINARY, begin, 2);
  e->op = op;
  e->arg[0] = a;
  e->arg[1] = b;
  return finish(p, e);
}

static size_t here(const struct ws_parser *p) { return ws_peek(p, 0)->begin; }

static bool enter(struct ws_parser *p) { /* bounds the recursion of the parser itself */
  if (++p->depth > WS_EXPR_DEPTH && !p->failed)
    ws_parse_error(p, "too-deep", "an expression of more than %d levels: name a part of it on a line of its own", WS_EXPR_DEPTH);
  return !p->failed;
}

static bool part_follows(struct ws_parser *p) { return ws_is(p, "of") || ws_is(p, ".."); }

/* part = expr "of" expr | expr ".." expr */
static struct ws_expr *part(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = ws_parse_expr(p);
  if (!part_follows(p)) {
    ws_parse_error(p, "syntax", "expected a part `i of n` or `first..last`, found %s", ws_found(p));
    return a;
  }
  bool of = ws_accept(p, "of");
  if (!of) ws_accept(p, "..");
  struct ws_expr *b = ws_parse_expr(p);
  struct ws_expr *e = node(p, of ? WS_E_PART : WS_E_RANGE, begin, 2);
  e->arg[0] = a;
  e->arg[1] = b;
  return finish(p, e);
}

/* Appends args and the closing bracket to e: [expr {"," expr}]. The opening bracket has been read. */
static void args(struct ws_parser *p, struct ws_expr *e, const char *close, bool parts) {
  size_t cap = e->n, open = p->t[p->i - 1].begin;
  bool empty = ws_is(p, close);
  while (!p->failed && !empty) {
    struct ws_expr *a = parts ? part(p) : ws_parse_expr(p);
    *WS_PUSH(p->r->a, e->arg, e->n, cap) = a;
    if (ws_is(p, close) || !ws_accept(p, ",")) break;
  }
  if (p->failed || ws_accept(p, close)) return;
  struct ws_pos o = ws_reader_pos(p->r, open, open + 1);
  if (!parts && part_follows(p))
    ws_parse_error(p, "syntax", "a part stands in .rows() or .cols() only");
  else
    ws_parse_error(p, "syntax", "expected `,` or `%s` to close the `%c` of column %u, found %s", close, p->r->text[open], o.col, ws_found(p));
}

static const struct ws_token *attribute(struct ws_parser *p) {
  const struct ws_token *t = ws_peek(p, 0);
  if (!p->failed && t->kind != WS_T_NAME) ws_parse_error(p, "syntax", "expected a name after `.`, found %s", ws_found(p));
  else p->i++;
  return t;
}

/* {"." NAME ["(" args ")"] | "[" args "]"} */
static struct ws_expr *suffixes(struct ws_parser *p, struct ws_expr *a, size_t begin) {
  while (!p->failed) {
    struct ws_expr *e;
    if (ws_accept(p, ".")) {
      const struct ws_token *t = attribute(p);
      if (p->failed) break;
      bool method = ws_accept(p, "(");
      e = node(p, method ? WS_E_METHOD : WS_E_ATTR, begin, 1);
      e->arg[0] = a;
      e->name = t->text;
      e->name_pos = ws_token_pos(p, t);
      if (method) {
        bool parts = !strcmp(e->name, "rows") || !strcmp(e->name, "cols");
        args(p, e, ")", parts);
        if (!p->failed && parts && e->n != 2)
          ws_parse_error_at(p, e->name_pos, "syntax", "`.%s()` takes one part: `i of n` or `first..last`", e->name);
      }
    } else if (ws_accept(p, "[")) {
      e = node(p, WS_E_INDEX, begin, 1);
      e->arg[0] = a;
      args(p, e, "]", false);
      if (!p->failed && e->n < 2) ws_parse_error_at(p, ws_span(p, begin), "syntax", "empty brackets: an index or the coordinates of a tile are missing");
    } else break;
    e->pos = ws_span(p, begin);
    a = finish(p, e);
  }
  return a;
}

/* post = (NUMBER | NAME | NAME "(" args ")" | "(" expr ")") suffixes */
struct ws_expr *ws_parse_post(struct ws_parser *p) {
  const struct ws_token *t = ws_peek(p, 0);
  size_t begin = t->begin;
  struct ws_expr *e = node(p, WS_E_NUMBER, begin, 0);
  if (p->failed) return e;
  if (t->kind == WS_T_NUMBER || ws_is(p, "inf")) {
    p->i++;
    e->number = t->kind == WS_T_NUMBER ? t->number : (double)INFINITY;
    e->is_int = t->kind == WS_T_NUMBER && t->is_int;
  } else if (ws_accept(p, "(")) {
    e = ws_parse_expr(p);
    if (!p->failed && !ws_is(p, ")")) {
      struct ws_pos o = ws_token_pos(p, t);
      if (ws_is(p, "@")) ws_parse_error(p, "syntax", "a product `D = A @ B` stands alone on its line");
      else ws_parse_error(p, "syntax", "expected `)` to close the `(` of column %u, found %s", o.col, ws_found(p));
    }
    ws_accept(p, ")");
  } else if (t->kind == WS_T_NAME && (!ws_reserved(t->text) || !strcmp(t->text, "true") || !strcmp(t->text, "false"))) {
    p->i++;
    bool call = ws_accept(p, "(");
    e->kind = call ? WS_E_CALL : WS_E_NAME;
    e->name = t->text;
    e->name_pos = ws_token_pos(p, t);
    if (call) args(p, e, ")", false);
  } else ws_parse_error(p, "syntax", "expected an expression, found %s", ws_found(p));
  if (p->failed) return e;
  e->pos = ws_span(p, begin); /* parentheses belong to what they enclose */
  return suffixes(p, finish(p, e), begin);
}

/* un = "-" un | post */
static struct ws_expr *unary(struct ws_parser *p) {
  size_t begin = here(p);
  if (!ws_accept(p, "-")) return ws_parse_post(p);
  struct ws_expr *a = NULL;
  if (enter(p)) a = unary(p);
  p->depth--;
  if (!a) a = node(p, WS_E_NUMBER, begin, 0);
  struct ws_expr *e = node(p, WS_E_UNARY, begin, 1);
  e->op = WS_OP_NEG;
  e->arg[0] = a;
  return finish(p, e);
}

/* term = un {("*" | "/" | "%") un} */
static struct ws_expr *term(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = unary(p);
  while (!p->failed) {
    enum ws_op op = ws_is(p, "*") ? WS_OP_MUL : ws_is(p, "/") ? WS_OP_DIV : ws_is(p, "%") ? WS_OP_MOD : WS_OP_NONE;
    if (!op) break;
    p->i++;
    struct ws_expr *b = unary(p);
    a = binary(p, begin, op, a, b);
  }
  return a;
}

/* sum = term {("+" | "-") term} */
struct ws_expr *ws_parse_sum(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = term(p);
  while (!p->failed) {
    enum ws_op op = ws_is(p, "+") ? WS_OP_ADD : ws_is(p, "-") ? WS_OP_SUB : WS_OP_NONE;
    if (!op) break;
    p->i++;
    struct ws_expr *b = term(p);
    a = binary(p, begin, op, a, b);
  }
  return a;
}

static enum ws_op comparison(struct ws_parser *p) {
  static const struct { const char *text; enum ws_op op; } ops[] = {{"==", WS_OP_EQ}, {"!=", WS_OP_NE}, {"<", WS_OP_LT}, {"<=", WS_OP_LE}, {">", WS_OP_GT}, {">=", WS_OP_GE}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ws_is(p, ops[i].text)) return ops[i].op;
  return WS_OP_NONE;
}

/* cmp = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum] */
static struct ws_expr *compare(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = ws_parse_sum(p);
  enum ws_op op = comparison(p);
  if (!op) return a;
  p->i++;
  struct ws_expr *b = ws_parse_sum(p);
  if (!p->failed && comparison(p)) ws_parse_error(p, "syntax", "comparisons do not chain: join two by `and`");
  return binary(p, begin, op, a, b);
}

/* not = "not" not | cmp */
static struct ws_expr *negation(struct ws_parser *p) {
  size_t begin = here(p);
  if (!ws_accept(p, "not")) return compare(p);
  struct ws_expr *a = NULL;
  if (enter(p)) a = negation(p);
  p->depth--;
  if (!a) a = node(p, WS_E_NUMBER, begin, 0);
  struct ws_expr *e = node(p, WS_E_UNARY, begin, 1);
  e->op = WS_OP_NOT;
  e->arg[0] = a;
  return finish(p, e);
}

/* and = not {"and" not} */
static struct ws_expr *conjunction(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = negation(p);
  while (ws_accept(p, "and")) {
    struct ws_expr *b = negation(p);
    a = binary(p, begin, WS_OP_AND, a, b);
  }
  return a;
}

/* or = and {"or" and} */
static struct ws_expr *disjunction(struct ws_parser *p) {
  size_t begin = here(p);
  struct ws_expr *a = conjunction(p);
  while (ws_accept(p, "or")) {
    struct ws_expr *b = conjunction(p);
    a = binary(p, begin, WS_OP_OR, a, b);
  }
  return a;
}

/* expr = or ["if" or "else" expr] */
struct ws_expr *ws_parse_expr(struct ws_parser *p) {
  size_t begin = here(p);
  if (!enter(p)) {
    p->depth--;
    return node(p, WS_E_NUMBER, begin, 0);
  }
  struct ws_expr *a = disjunction(p);
  if (ws_accept(p, "if")) {
    struct ws_expr *c = disjunction(p);
    ws_expect(p, "else", "and the other value: `x if cond else y`");
    struct ws_expr *b = ws_parse_expr(p);
    struct ws_expr *e = node(p, WS_E_SELECT, begin, 3);
    e->arg[0] = c;
    e->arg[1] = a;
    e->arg[2] = b;
    a = finish(p, e);
  }
  p->depth--;
  return a;
}

/* mem = NAME ["[" expr {"," expr} "]"] {"." ("rows" | "cols") "(" part ")" | ".T" | ".peer"} */
bool ws_is_mem(const struct ws_expr *e) {
  while ((e->kind == WS_E_METHOD && (!strcmp(e->name, "rows") || !strcmp(e->name, "cols"))) ||
         (e->kind == WS_E_ATTR && (!strcmp(e->name, "T") || !strcmp(e->name, "peer"))))
    e = e->arg[0];
  if (e->kind == WS_E_INDEX) e = e->arg[0];
  return e->kind == WS_E_NAME && !ws_reserved(e->name);
}

/* ref = NAME ["[" expr "]"] */
bool ws_is_ref(const struct ws_expr *e) {
  if (e->kind == WS_E_INDEX && e->n == 2) e = e->arg[0];
  return e->kind == WS_E_NAME && !ws_reserved(e->name);
}
