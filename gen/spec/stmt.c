/* Tokens to statements and headers of blocks. The rule of the grammar stands above each function. */
#include "spec/reader.h"
#include <string.h>

/* How a statement goes on after its word. */
enum form { FORM_MOVE, FORM_SLOT, FORM_REF, FORM_AWAIT, FORM_SYNC, FORM_INIT, FORM_FENCE };

static const struct statement { const char *word; enum ws_stmt_kind kind; enum form form; } statements[] = {
    {"load", WS_S_LOAD, FORM_MOVE},       {"store", WS_S_STORE, FORM_MOVE},   {"reduce", WS_S_REDUCE, FORM_MOVE},
    {"write", WS_S_WRITE, FORM_MOVE},     {"copy", WS_S_COPY, FORM_MOVE},     {"acquire", WS_S_ACQUIRE, FORM_SLOT},
    {"wait", WS_S_WAIT, FORM_SLOT},       {"commit", WS_S_COMMIT, FORM_REF},  {"release", WS_S_RELEASE, FORM_REF},
    {"arrive", WS_S_ARRIVE, FORM_REF},    {"await", WS_S_AWAIT, FORM_AWAIT},  {"sync", WS_S_SYNC, FORM_SYNC},
    {"init", WS_S_INIT, FORM_INIT},       {"inval", WS_S_INVAL, FORM_REF},    {"fence", WS_S_FENCE, FORM_FENCE},
};

static const char *const headers[] = {"for", "each", "if", "one", "elif", "else"};

/* Options by statement; of an assignment, by the function that takes them. */
static const struct option { const char *name; enum ws_stmt_kind kinds[2]; const char *function, *where; } options[] = {
    {"chunk", {WS_S_WRITE, WS_S_WRITE}, "read", "read() and `write`"},
    {"red", {WS_S_ASSIGN2, WS_S_ASSIGN2}, NULL, "`x, r = read(S)`"},
    {"poly", {WS_S_ASSIGN, WS_S_ASSIGN}, "exp2", "exp2()"},
    {"period", {WS_S_ASSIGN, WS_S_ASSIGN}, "exp2", "exp2()"},
    {"start", {WS_S_ASSIGN, WS_S_ASSIGN}, "exp2", "exp2()"},
    {"pack", {WS_S_ASSIGN, WS_S_WRITE}, NULL, "assignments and `write`"},
    {"op", {WS_S_REDUCE, WS_S_REDUCE}, NULL, "`reduce`"},
    {"multicast", {WS_S_LOAD, WS_S_LOAD}, NULL, "`load`"},
    {"l2", {WS_S_LOAD, WS_S_LOAD}, NULL, "`load`"},
    {"poll", {WS_S_WAIT, WS_S_WAIT}, NULL, "`wait`"},
    {"descriptors", {WS_S_PRODUCT, WS_S_PRODUCT}, NULL, "products"},
    {"ahead", {WS_S_COPY, WS_S_PRODUCT}, NULL, "`copy` and products"},
};

static const char *const fences[] = {"proxy.async", "tcgen05.before", "tcgen05.after", "wgmma", "mbarrier_init"};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct statement *find_statement(const char *word) {
  for (size_t i = 0; i < COUNT(statements); i++)
    if (!strcmp(statements[i].word, word)) return &statements[i];
  return NULL;
}

bool ws_is_header_word(const char *s, size_t n) {
  for (size_t i = 0; i < COUNT(headers); i++)
    if (strlen(headers[i]) == n && !memcmp(headers[i], s, n)) return true;
  return false;
}

/* The text of a span of the statement, for a remedy. */
static const char *words(struct ws_parser *p, const struct ws_expr *e) {
  size_t begin = p->r->line_start[e->pos.line - 1] + e->pos.col - 1;
  return ws_reader_quote(p->r, begin, begin + e->pos.len);
}

/* Memory that a statement names. `what` says what it is for. */
static struct ws_expr *memory(struct ws_parser *p, const char *what) {
  struct ws_expr *e = ws_parse_post(p);
  if (!p->failed && !ws_is_mem(e))
    ws_parse_error_at(p, e->pos, "not-memory", "expected %s: NAME, NAME[..] or parts of it by .rows(), .cols()", what);
  return e;
}

/* ref = NAME ["[" expr "]"] */
static struct ws_expr *reference(struct ws_parser *p, const char *what) {
  const struct ws_token *t = ws_peek(p, 0);
  if (!p->failed && t->kind != WS_T_NAME) ws_parse_error(p, "syntax", "expected %s, found %s", what, ws_found(p));
  struct ws_expr *e = ws_parse_post(p);
  if (!p->failed && !ws_is_ref(e)) ws_parse_error_at(p, e->pos, "syntax", "expected %s: NAME or NAME[index]", what);
  return e;
}

/* --- options --- */

static bool calls(const struct ws_expr *e, const char *function) { /* recursion bounded by WS_EXPR_DEPTH */
  if (e->kind == WS_E_CALL && !strcmp(e->name, function)) return true;
  for (size_t i = 0; i < e->n; i++)
    if (calls(e->arg[i], function)) return true;
  return false;
}

static bool may_have(const struct ws_stmt *s, const struct option *o) {
  if (s->kind == o->kinds[0] || s->kind == o->kinds[1]) return !o->function || s->kind == WS_S_WRITE || calls(s->a, o->function);
  return o->function && !strcmp(o->function, "read") && (s->kind == WS_S_ASSIGN || s->kind == WS_S_ASSIGN2) && calls(s->a, "read");
}

static void check_option(struct ws_parser *p, const struct ws_stmt *s, const char *name, struct ws_pos pos) {
  const char *names[COUNT(options)];
  for (size_t i = 0; i < COUNT(options); i++) {
    names[i] = options[i].name;
    if (strcmp(name, options[i].name)) continue;
    if (!may_have(s, &options[i]))
      ws_parse_error_at(p, pos, "option", "the option `%s` belongs to %s: this statement has none", name, options[i].where);
    return;
  }
  const char *near = ws_nearest(name, names, COUNT(options));
  if (near) ws_parse_error_at(p, pos, "option", "no option `%s`: did you mean `%s`?", name, near);
  else ws_parse_error_at(p, pos, "option", "no option `%s`: there are chunk, red, poly, period, start, pack, op, multicast, l2, poll, descriptors, ahead", name);
}

/* opts = "with" NAME "=" sum {"," NAME "=" sum} */
static void parse_options(struct ws_parser *p, struct ws_stmt *s) {
  size_t cap = 0;
  if (!ws_accept(p, "with")) return;
  do {
    struct ws_pos pos = {0};
    const char *name = ws_expect_name(p, "an option `NAME=value`", &pos);
    for (size_t i = 0; i < s->nopts && !p->failed; i++)
      if (!strcmp(s->opts[i].name, name)) ws_parse_error_at(p, pos, "option", "the option `%s` is given twice", name);
    if (!p->failed) check_option(p, s, name, pos);
    ws_expect(p, "=", "and the option's value");
    struct ws_expr *value = ws_parse_sum(p);
    *WS_PUSH(p->r->a, s->opts, s->nopts, cap) = (struct ws_option){name, pos, value};
  } while (ws_accept(p, ","));
}

static void parse_when(struct ws_parser *p, struct ws_stmt *s) {
  if (!ws_is(p, "when")) return;
  if (s->kind != WS_S_LOAD) ws_parse_error(p, "syntax", "`when` guards only a `load`: put other statements into an `if`");
  ws_accept(p, "when");
  s->when = ws_parse_expr(p);
}

/* --- statements that begin with a word --- */

/* ("load" | "store" | "reduce" | "write" | "copy") expr "->" mem [opts] ["when" expr] */
static void parse_move(struct ws_parser *p, struct ws_stmt *s, const char *word) {
  s->a = ws_parse_expr(p);
  if (!p->failed && !ws_is(p, "->")) {
    if (ws_is(p, "@")) ws_parse_error(p, "syntax", "a product `D = A @ B` stands alone on its line");
    else ws_parse_error(p, "syntax", "expected `->` and where to %s it, found %s", word, ws_found(p));
  }
  ws_accept(p, "->");
  s->dst = memory(p, "memory after `->`");
  parse_options(p, s);
  parse_when(p, s);
  ws_expect_end(p, "the destination");
}

/* ["->" NAME ["as" "[" expr "," expr "]"]] */
static void parse_handle(struct ws_parser *p, struct ws_stmt *s) {
  if (!ws_accept(p, "->")) {
    if (ws_is(p, "as")) ws_parse_error(p, "syntax", "`as` follows the slot's name: `-> NAME as [rows, cols]`");
    return;
  }
  s->handle = ws_expect_name(p, "a name for the slot", &s->handle_pos);
  if (!ws_accept(p, "as")) return;
  ws_expect(p, "[", "and the shape `[rows, cols]`");
  s->as_rows = ws_parse_expr(p);
  ws_expect(p, ",", "between rows and columns");
  s->as_cols = ws_parse_expr(p);
  ws_expect(p, "]", "after `[rows, cols`");
}

/* ("acquire" | "wait") ref [handle] [opts] | "wait" mem "==" expr | "wait" ref "phase" expr */
static void parse_slot(struct ws_parser *p, struct ws_stmt *s, const char *word) {
  const char *what = ws_fmt(p->r->a, "a pipeline%s after `%s`", s->kind == WS_S_WAIT ? " or barrier" : "", word);
  s->a = s->kind == WS_S_WAIT ? memory(p, what) : reference(p, what);
  if (s->kind == WS_S_WAIT && ws_accept(p, "==")) {
    s->kind = WS_S_WAIT_EQ;
    s->b = ws_parse_expr(p);
    ws_expect_end(p, "the value to wait for");
    return;
  }
  if (!p->failed && !ws_is_ref(s->a)) ws_parse_error_at(p, s->a->pos, "syntax", "expected %s: NAME or NAME[index]; or `wait G == n`", what);
  if (s->kind == WS_S_WAIT && ws_accept(p, "phase")) {
    s->kind = WS_S_WAIT_PHASE;
    s->b = ws_parse_expr(p);
    ws_expect_end(p, "the phase");
    return;
  }
  if (ws_is(p, "=")) ws_parse_error(p, "syntax", "a counter is compared by `==`");
  parse_handle(p, s);
  parse_options(p, s);
  ws_expect_end(p, s->handle ? "the slot" : ws_fmt(p->r->a, "`%s %s` (a slot is named by `-> NAME`)", word, p->failed ? "" : words(p, s->a)));
}

/* ("commit" | "release" | "arrive" | "inval") ref | "arrive" ref "expect" expr */
static void parse_ref(struct ws_parser *p, struct ws_stmt *s, const char *word) {
  static const char *const whats[] = {"a pipeline or barrier", "a slot or pipeline", "a barrier"};
  const char *what = s->kind == WS_S_COMMIT ? whats[0] : s->kind == WS_S_RELEASE ? whats[1] : whats[2];
  what = ws_fmt(p->r->a, "%s after `%s`", what, word);
  if (s->kind == WS_S_ARRIVE) { /* a counter in global memory may have several coordinates */
    s->a = memory(p, what);
    if (!p->failed && s->a->kind != WS_E_NAME && s->a->kind != WS_E_INDEX) ws_parse_error_at(p, s->a->pos, "syntax", "expected %s: NAME or NAME[..]", what);
  } else s->a = reference(p, what);
  if (s->kind == WS_S_ARRIVE && ws_accept(p, "expect")) {
    if (!ws_is_ref(s->a)) ws_parse_error_at(p, s->a->pos, "syntax", "expected %s: NAME or NAME[index]", what);
    s->kind = WS_S_ARRIVE_EXPECT;
    s->b = ws_parse_expr(p);
  }
  if (ws_is(p, ",")) ws_parse_error(p, "syntax", "one `%s` a line", word);
  ws_expect_end(p, ws_fmt(p->r->a, "`%s`", word));
}

/* "sync" ["warp" | "all" | "cluster" | ref] */
static void parse_sync(struct ws_parser *p, struct ws_stmt *s) {
  static const struct { const char *word; enum ws_sync_scope scope; } scopes[] = {{"warp", WS_SYNC_WARP}, {"all", WS_SYNC_ALL}, {"cluster", WS_SYNC_CLUSTER}};
  s->sync = WS_SYNC_ROLE;
  if (ws_peek(p, 0)->kind == WS_T_END) return;
  s->sync = WS_SYNC_REF;
  for (size_t i = 0; i < COUNT(scopes); i++)
    if (ws_peek(p, 1)->kind == WS_T_END && ws_accept(p, scopes[i].word)) {
      s->sync = scopes[i].scope;
      return;
    }
  s->a = reference(p, "nothing, `warp`, `all`, `cluster`, a role or a named barrier after `sync`");
  ws_expect_end(p, "`sync`");
}

/* "fence" NAME, the name with its points */
static void parse_fence(struct ws_parser *p, struct ws_stmt *s) {
  size_t begin = ws_peek(p, 0)->begin;
  ws_expect_name(p, "the kind of fence", NULL);
  while (ws_accept(p, ".")) ws_expect_name(p, "the kind of fence", NULL);
  if (p->failed) return;
  s->a = WS_NEW(p->r->a, struct ws_expr);
  s->a->kind = WS_E_NAME;
  s->a->depth = 1;
  s->a->pos = s->a->name_pos = ws_span(p, begin);
  s->a->name = words(p, s->a);
  for (size_t i = 0; i < COUNT(fences); i++)
    if (!strcmp(fences[i], s->a->name)) {
      ws_expect_end(p, "the fence");
      return;
    }
  const char *near = ws_nearest(s->a->name, fences, COUNT(fences));
  if (near) ws_parse_error_at(p, s->a->pos, "unknown-word", "no fence `%s`: did you mean `%s`?", s->a->name, near);
  else ws_parse_error_at(p, s->a->pos, "unknown-word", "no fence `%s`: there are proxy.async, tcgen05.before, tcgen05.after, wgmma, mbarrier_init", s->a->name);
}

/* "init" ref "count" expr */
static void parse_init(struct ws_parser *p, struct ws_stmt *s) {
  s->a = reference(p, "a barrier after `init`");
  ws_expect(p, "count", "and the number of arrivals");
  s->b = ws_parse_expr(p);
  ws_expect_end(p, "the count");
}

static void parse_word(struct ws_parser *p, struct ws_stmt *s, const struct statement *st) {
  s->kind = st->kind;
  p->i++;
  switch (st->form) {
    case FORM_MOVE: parse_move(p, s, st->word); break;
    case FORM_SLOT: parse_slot(p, s, st->word); break;
    case FORM_REF: parse_ref(p, s, st->word); break;
    case FORM_AWAIT:
      s->a = memory(p, "a register tile or memory after `await`");
      ws_expect_end(p, "`await`");
      break;
    case FORM_SYNC: parse_sync(p, s); break;
    case FORM_INIT: parse_init(p, s); break;
    case FORM_FENCE: parse_fence(p, s); break;
  }
}

/* --- assignments and products --- */

static bool has_view(const struct ws_expr *e) { /* .T or .peer somewhere on the left */
  for (; e->n; e = e->arg[0])
    if (e->kind == WS_E_ATTR) return true;
  return false;
}

/* lhs of an assignment to registers: NAME | NAME "." ("rows" | "cols") "(" expr "of" expr ")" */
static bool is_register(const struct ws_expr *e) {
  return e->kind == WS_E_NAME || (e->kind == WS_E_METHOD && e->arg[0]->kind == WS_E_NAME && e->arg[1]->kind == WS_E_PART);
}

static void check_assign(struct ws_parser *p, const struct ws_stmt *s, struct ws_pos op) {
  if (p->failed) return;
  if (s->accumulate)
    ws_parse_error_at(p, op, "syntax", "`+=` accumulates products only: write `%s = %s + ...`", words(p, s->dst), words(p, s->dst));
  else if (s->dst->kind == WS_E_METHOD && s->dst->arg[0]->kind == WS_E_NAME && s->dst->arg[1]->kind == WS_E_RANGE)
    ws_parse_error_at(p, s->dst->pos, "not-register", "a part that is assigned is one of n equal ones: `%s.cols(b of n)`; for memory, `write ... -> %s`", words(p, s->dst->arg[0]), words(p, s->dst));
  else if (!is_register(s->dst) && !ws_is_ref(s->a) && !(s->a->kind == WS_E_NUMBER && s->a->is_int && s->a->number == 0))
    ws_parse_error_at(p, s->dst->pos, "not-register", "memory is changed by `write`, `load`, `copy` and products only: `write ... -> %s`", words(p, s->dst));
}

/* lhs "=" expr [opts] | NAME "," NAME "=" expr opts | (mem | NAME) ("=" | "+=") (mem | expr) "@" mem [opts] */
static void parse_assign(struct ws_parser *p, struct ws_stmt *s) {
  s->kind = WS_S_ASSIGN;
  s->dst = memory(p, "what is assigned");
  if (ws_accept(p, ",")) {
    s->kind = WS_S_ASSIGN2;
    if (!p->failed && s->dst->kind != WS_E_NAME) ws_parse_error_at(p, s->dst->pos, "syntax", "expected two names before `=`");
    s->dst2 = ws_parse_post(p);
    if (!p->failed && (s->dst2->kind != WS_E_NAME || !ws_is_mem(s->dst2))) ws_parse_error_at(p, s->dst2->pos, "syntax", "expected a second name before `=`");
  }
  if (!p->failed && has_view(s->dst)) ws_parse_error_at(p, s->dst->pos, "syntax", "`.T` and `.peer` cannot be assigned");
  struct ws_pos op = ws_token_pos(p, ws_peek(p, 0));
  s->accumulate = ws_accept(p, "+=");
  if (!s->accumulate) {
    if (ws_is(p, "==")) ws_parse_error(p, "syntax", "`==` compares: an assignment has `=`");
    ws_expect(p, "=", "after what is assigned");
  }
  s->a = ws_parse_expr(p);
  if (ws_accept(p, "@")) {
    if (s->kind == WS_S_ASSIGN2) ws_parse_error_at(p, op, "syntax", "a product has one result");
    s->kind = WS_S_PRODUCT;
    s->b = memory(p, "memory as the right operand of `@`");
    if (ws_is(p, "@")) ws_parse_error(p, "syntax", "one product a line");
  } else check_assign(p, s, op);
  parse_options(p, s);
  if (!p->failed && s->kind == WS_S_ASSIGN2 && !(s->nopts && calls(s->a, "read")))
    ws_parse_error_at(p, s->dst2->pos, "syntax", "two results come only from `x, r = read(S) with red=max`");
  ws_expect_end(p, s->kind == WS_S_PRODUCT ? "the product (it stands alone on its line)" : "the assignment");
}

/* --- the whole line --- */

static void unknown_statement(struct ws_parser *p, const char *word) {
  const char *names[COUNT(statements) + COUNT(headers)];
  size_t n = 0;
  for (size_t i = 0; i < COUNT(statements); i++) names[n++] = statements[i].word;
  for (size_t i = 0; i < COUNT(headers) - 2; i++) names[n++] = headers[i]; /* not elif, else */
  const char *near = ws_nearest(word, names, n);
  struct ws_pos pos = ws_token_pos(p, ws_peek(p, 0));
  if (near) ws_parse_error_at(p, pos, "unknown-statement", "no statement `%s`: did you mean `%s`?", word, near);
  else if (ws_peek(p, 1)->kind == WS_T_OP) ws_parse_error_at(p, pos, "unknown-statement", "a call is no statement: its value is assigned, `NAME = %s(...)`", word);
  else ws_parse_error_at(p, pos, "unknown-statement", "no statement `%s`: expected a statement's word or `NAME = ...`", word);
}

/* A word followed by one of these is a name: it is assigned, or a part of it is. */
static bool assigned(const struct ws_parser *p) {
  static const char *const after[] = {"=", "+=", ".", "[", ",", "=="};
  const struct ws_token *t = ws_peek(p, 1);
  for (size_t i = 0; i < COUNT(after); i++)
    if (t->kind == WS_T_OP && !strcmp(t->text, after[i])) return true;
  return false;
}

/* Whether the token after a statement's word could follow one. */
static bool begins_operand(const struct ws_token *t) {
  return t->kind == WS_T_NAME || t->kind == WS_T_NUMBER || (t->kind == WS_T_OP && !strcmp(t->text, "("));
}

static struct ws_stmt *new_stmt(struct ws_reader *r, size_t begin, size_t end) {
  struct ws_stmt *s = WS_NEW(r->a, struct ws_stmt);
  s->pos = ws_reader_pos(r, begin, end);
  s->text = ws_strndup(r->a, r->text + begin, end - begin);
  return s;
}

struct ws_stmt *ws_parse_stmt(struct ws_reader *r, size_t begin, size_t end) {
  struct ws_parser p;
  struct ws_stmt *s = new_stmt(r, begin, end);
  ws_parser_open(&p, r, begin, end);
  const struct ws_token *t = ws_peek(&p, 0);
  const struct statement *st = t->kind == WS_T_NAME && !assigned(&p) ? find_statement(t->text) : NULL;
  if (st) parse_word(&p, s, st);
  else if (t->kind != WS_T_NAME) ws_parse_error(&p, "syntax", "expected a statement, which begins with a word or a name; found %s", ws_found(&p));
  else if (!strcmp(t->text, "else") || !strcmp(t->text, "elif"))
    ws_parse_error(&p, "dangling-else", "`%s` is a further key of its `if`: write it without a dash, in line with `if`, and end it by `:`", t->text);
  else if (!assigned(&p) && ws_is_header_word(t->text, strlen(t->text)))
    ws_parse_error(&p, "header", "`%s` opens a block: end the line by `:` and put a list below it", strcmp(t->text, "one") ? t->text : "one thread");
  else if (ws_peek(&p, 1)->kind == WS_T_END) ws_parse_error(&p, "unknown-statement", "`%s` alone is no statement", t->text);
  else if (!assigned(&p) && begins_operand(ws_peek(&p, 1)) && !ws_reserved(t->text)) unknown_statement(&p, t->text);
  else parse_assign(&p, s);
  return p.failed ? NULL : s;
}

/* --- headers --- */

/* list = NAME ["(" expr {"," expr} ")"] ["." ("first" | "rest" | "last")] */
static struct ws_expr *parse_list(struct ws_parser *p) {
  static const char *const ends[] = {"first", "rest", "last"};
  struct ws_expr *e = ws_parse_post(p), *base = e;
  if (p->failed) return e;
  if (ws_is(p, "..")) {
    ws_parse_error(p, "syntax", "`for` runs over a list such as kv(t): numbers are expanded by `each NAME in 0..n`");
    return e;
  }
  if (e->kind == WS_E_ATTR) {
    base = e->arg[0];
    if (strcmp(e->name, "first") && strcmp(e->name, "rest") && strcmp(e->name, "last")) {
      const char *near = ws_nearest(e->name, ends, 3);
      ws_parse_error_at(p, e->name_pos, "unknown-word", near ? "no `.%s` of a list: did you mean `.%s`?" : "no `.%s` of a list: there are .first, .rest, .last", e->name, near);
    }
  }
  if (!p->failed && !(base->kind == WS_E_NAME || (base->kind == WS_E_CALL && base->n)))
    ws_parse_error_at(p, e->pos, "syntax", "expected a list: work, kv(t), queries(t) ..., or its .first, .rest, .last");
  return e;
}

/* mod = "peel first" | "split masked" | "unroll" sum */
static void parse_mod(struct ws_parser *p, struct ws_stmt *s) {
  static const char *const mods[] = {"peel", "split", "unroll"};
  const struct ws_token *t = ws_peek(p, 0);
  bool peel = ws_is(p, "peel"), split = ws_is(p, "split"), unroll = ws_is(p, "unroll");
  if (p->failed) return;
  if ((peel && s->peel_first) || (split && s->split_masked) || (unroll && s->unroll)) ws_parse_error(p, "syntax", "`%s` is given twice", t->text);
  else if (ws_accept(p, "peel")) {
    ws_expect(p, "first", "after `peel`");
    s->peel_first = true;
  } else if (ws_accept(p, "split")) {
    ws_expect(p, "masked", "after `split`");
    s->split_masked = true;
  } else if (ws_accept(p, "unroll")) s->unroll = ws_parse_sum(p);
  else {
    const char *near = t->kind == WS_T_NAME ? ws_nearest(t->text, mods, 3) : NULL;
    ws_parse_error(p, "unknown-word", "expected `peel first`, `split masked` or `unroll n` after `,`, found %s%s%s%s", ws_found(p),
                   near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "");
  }
}

struct ws_stmt *ws_parse_header(struct ws_reader *r, size_t begin, size_t end) {
  struct ws_parser p;
  struct ws_stmt *s = new_stmt(r, begin, end);
  if (end - begin > WS_HEADER_MAX) {
    ws_reader_error(r, s->pos, "too-large", "a header of more than %d bytes: name a part of it on a line of its own", WS_HEADER_MAX);
    return NULL;
  }
  ws_parser_open(&p, r, begin, end);
  const struct ws_token *t = ws_peek(&p, 0);
  if (ws_accept(&p, "for")) {
    s->kind = WS_S_FOR;
    s->var = ws_expect_name(&p, "a name after `for`", &s->var_pos);
    ws_expect(&p, "in", "and a list");
    s->list = parse_list(&p);
    while (ws_accept(&p, ",")) parse_mod(&p, s);
    ws_expect_end(&p, "the list (modifiers follow a comma)");
  } else if (ws_accept(&p, "each")) {
    s->kind = WS_S_EACH;
    s->var = ws_expect_name(&p, "a name after `each`", &s->var_pos);
    ws_expect(&p, "in", "and a range");
    s->lo = ws_parse_sum(&p);
    ws_expect(&p, "..", "and the last value of the range (it is included)");
    s->hi = ws_parse_sum(&p);
    ws_expect_end(&p, "the range");
  } else if (ws_accept(&p, "if") || ws_accept(&p, "elif")) {
    s->kind = WS_S_IF;
    s->a = ws_parse_expr(&p);
    ws_expect_end(&p, "the condition");
  } else if (ws_accept(&p, "else")) {
    s->kind = WS_S_IF;
    ws_expect_end(&p, "`else`");
  } else if (ws_accept(&p, "one")) {
    s->kind = WS_S_ONE_THREAD;
    ws_expect(&p, "thread", "after `one`");
    ws_expect_end(&p, "`one thread`");
  } else {
    static const char *const words4[] = {"for", "each", "if", "one"};
    const char *near = t->kind == WS_T_NAME && !find_statement(t->text) ? ws_nearest(t->text, words4, 4) : NULL;
    if (near) ws_parse_error(&p, "header", "no block `%s`: did you mean `%s`?", t->text, near);
    else ws_parse_error(&p, "header", "a `:` here makes a block of this line: only `for`, `each`, `if` and `one thread` open one");
  }
  return p.failed ? NULL : s;
}
