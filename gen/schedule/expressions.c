/* Expressions: every name becomes a pointer, every call a node. Shapes and types come later (types.c). */
#include "passes.h"
#include <limits.h>
#include <math.h>
#include <string.h>

/* --- functions of the language --- */
static const struct {
  const char *name;
  enum ws_node_kind kind;
  enum ws_fn fn;
  int nargs;
} functions[] = {
    {"exp2", WS_N_OP, WS_F_EXP2, 1},       {"log2", WS_N_OP, WS_F_LOG2, 1},     {"tanh", WS_N_OP, WS_F_TANH, 1},
    {"floor", WS_N_OP, WS_F_FLOOR, 1},     {"start", WS_N_START, 0, 1},
    {"abs", WS_N_OP, WS_F_ABS, 1},         {"max", WS_N_OP, WS_F_MAX, 2},       {"min", WS_N_OP, WS_F_MIN, 2},
    {"finite", WS_N_OP, WS_F_FINITE, 1},   {"cast", WS_N_OP, WS_F_CAST, 2},     {"rowmax", WS_N_REDUCE, WS_F_ROWMAX, 1},
    {"rowsum", WS_N_REDUCE, WS_F_ROWSUM, 1}, {"rowpart", WS_N_REDUCE, WS_F_ROWPART, 1},
    {"total", WS_N_REDUCE, WS_F_TOTAL, 1}, {"colmax", WS_N_REDUCE, WS_F_COLMAX, 1},
    {"colsum", WS_N_REDUCE, WS_F_COLSUM, 1}, {"any", WS_N_REDUCE, WS_F_ANY, 1}, {"all", WS_N_REDUCE, WS_F_ALL, 1},
    {"mask", WS_N_MASK, 0, 3},             {"rowpos", WS_N_ROWPOS, 0, 1},       {"colpos", WS_N_COLPOS, 0, 1},
    {"read", WS_N_READ, 0, 1},             {"len", WS_N_LEN, 0, 1},             {"next", WS_N_NEXT, 0, -1},
    {"prev", WS_N_NEXT, 1, 1},             {"has_next", WS_N_HAS_NEXT, 0, -1},  {"first", WS_N_IS_FIRST, 0, 1},
    {"last", WS_N_IS_LAST, 0, 1},          {"masked", WS_N_IS_MASKED, 0, 1},
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static const char *const fn_names[] = {
    [WS_F_ADD] = "add", [WS_F_SUB] = "sub", [WS_F_MUL] = "mul", [WS_F_DIV] = "div", [WS_F_MOD] = "mod", [WS_F_NEG] = "neg",
    [WS_F_FMA] = "fma", [WS_F_MAX] = "max", [WS_F_MIN] = "min", [WS_F_ABS] = "abs", [WS_F_EXP2] = "exp2",
    [WS_F_LOG2] = "log2", [WS_F_TANH] = "tanh", [WS_F_FLOOR] = "floor", [WS_F_FINITE] = "finite", [WS_F_CAST] = "cast", [WS_F_EQ] = "eq",
    [WS_F_NE] = "ne", [WS_F_LT] = "lt", [WS_F_LE] = "le", [WS_F_GT] = "gt", [WS_F_GE] = "ge", [WS_F_AND] = "and",
    [WS_F_OR] = "or", [WS_F_NOT] = "not", [WS_F_SELECT] = "select", [WS_F_ROWMAX] = "rowmax", [WS_F_ROWSUM] = "rowsum",
    [WS_F_ROWPART] = "rowpart", [WS_F_TOTAL] = "total", [WS_F_COLMAX] = "colmax", [WS_F_COLSUM] = "colsum",
    [WS_F_ANY] = "any", [WS_F_ALL] = "all"};
const char *ws_fn_name(enum ws_fn f) { return fn_names[f]; }

const char *ws_fn_sign(enum ws_fn f) {
  static const char *const signs[] = {[WS_F_ADD] = "+", [WS_F_SUB] = "-", [WS_F_MUL] = "*", [WS_F_DIV] = "/", [WS_F_MOD] = "%", [WS_F_NEG] = "-", [WS_F_EQ] = "==",
                                      [WS_F_NE] = "!=", [WS_F_LT] = "<", [WS_F_LE] = "<=", [WS_F_GT] = ">", [WS_F_GE] = ">=", [WS_F_SELECT] = "if", [WS_F_ALL] = NULL};
  return signs[f] ? signs[f] : fn_names[f];
}

const char *ws_layout_name(enum ws_layout l) {
  static const char *const names[] = {"-", "acc", "a", "lane", "copy"};
  return names[l];
}

struct ws_node *ws_node(struct ws_scope *sc, enum ws_node_kind kind, struct ws_pos pos, int n) {
  struct ws_node *x = WS_NEW(sc->s->arena, struct ws_node);
  x->kind = kind, x->pos = pos, x->rows = x->cols = 1, x->type = WS_F32, x->n = n;
  x->arg = n ? WS_NEW_N(sc->s->arena, struct ws_node *, n) : NULL;
  return x;
}

struct ws_node *ws_node_int(struct ws_scope *sc, struct ws_pos pos, long value) {
  struct ws_node *x = ws_node(sc, WS_N_CONST, pos, 0);
  x->value = (double)value, x->type = WS_I32;
  return x;
}

struct ws_node *ws_node_op(struct ws_scope *sc, enum ws_fn fn, struct ws_node *a, struct ws_node *b) {
  struct ws_node *x = ws_node(sc, WS_N_OP, a->pos, 2);
  x->fn = fn, x->type = WS_I32, x->arg[0] = a, x->arg[1] = b;
  return x;
}

/* --- calls --- */

static struct ws_node *about_iter(struct ws_scope *sc, const struct ws_expr *e, size_t f) {
  struct ws_schedule *s = sc->s;
  struct ws_iter *it = e->n >= 1 && e->arg[0]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[0]->name) : NULL;
  if (!it || !it->list) {
    ws_error(s->diags, e->n ? e->arg[0]->pos : e->pos, "call", "`%s` takes the variable of a loop over blocks", e->name);
    return NULL;
  }
  struct ws_node *x = ws_node(sc, functions[f].kind, e->pos, 0);
  long n = 1;
  if (e->n == 2 && !ws_static_int(s, sc->env, e->arg[1], 0, 64, ws_fmt(s->arena, "the distance of `%s`", e->name), &n)) return NULL;
  x->iter = it;
  x->count = functions[f].fn ? -(int)n : (int)n; /* prev is next with the sign turned */
  x->type = functions[f].kind == WS_N_NEXT ? WS_I32 : WS_BOOL;
  return x;
}

/* A function of the problem about a work tile: last_page(t). */
static bool is_query(struct ws_scope *sc, const char *name) {
  for (const char *const *q = sc->s->problem->queries; *q; q++)
    if (!strcmp(*q, name)) return true;
  return false;
}

static struct ws_iter *work_variable(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_iter *it = e->kind == WS_E_NAME ? ws_find_iter(sc, e->name) : NULL;
  return it && !it->list ? it : NULL;
}

static struct ws_node *query(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_iter *it = e->n == 1 ? work_variable(sc, e->arg[0]) : NULL;
  if (!it) {
    ws_error(sc->s->diags, e->pos, "call", "`%s` takes the variable of `for ... in work`", e->name);
    return NULL;
  }
  struct ws_node *x = ws_node(sc, WS_N_QUERY, e->pos, 0);
  x->iter = it, x->name = e->name, x->type = WS_I32;
  return x;
}

/* t.batch: where the work tile is. */
static struct ws_node *coordinate(struct ws_scope *sc, const struct ws_expr *e) {
  static const char *const known[] = {"batch", "head", "kv_head", "split"};
  struct ws_iter *it = work_variable(sc, e->arg[0]);
  if (!it) return NULL;
  for (size_t i = 0; i < 4; i++)
    if (!strcmp(known[i], e->name)) {
      struct ws_node *x = ws_node(sc, WS_N_COORD, e->pos, 0);
      x->iter = it, x->name = known[i], x->type = WS_I32;
      return x;
    }
  ws_unknown(sc->s, e->name_pos, "coordinate of a work tile", e->name, known, 4);
  return NULL;
}

static struct ws_node *value_part(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_node *a = ws_resolve_expr(sc, e->arg[0]), *x = ws_node(sc, WS_N_PART, e->pos, 1);
  if (!a || !ws_resolve_part(sc, e, &x->part)) return NULL;
  x->arg[0] = a;
  return x;
}

static struct ws_node *call(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  size_t f = 0;
  while (f < NFUNCTIONS && strcmp(functions[f].name, e->name)) f++;
  if (f == NFUNCTIONS) {
    if (ws_is_list(sc, e)) return ws_list_value(sc, e, WS_N_LEN, e); /* as a condition: is it not empty? */
    if (is_query(sc, e->name)) return query(sc, e);
    const char *known[NFUNCTIONS];
    for (size_t i = 0; i < NFUNCTIONS; i++) known[i] = functions[i].name;
    ws_unknown(s, e->name_pos, "function", e->name, known, NFUNCTIONS);
    return NULL;
  }
  int want = functions[f].nargs;
  if (want >= 0 ? (int)e->n != want : e->n < 1 || e->n > 2) {
    ws_error(s->diags, e->pos, "call", "`%s` takes %s, found %zu", e->name,
             want < 0 ? "1 or 2 arguments" : want == 1 ? "1 argument" : ws_fmt(s->arena, "%d arguments", want), e->n);
    return NULL;
  }
  switch (functions[f].kind) {
  case WS_N_NEXT: case WS_N_HAS_NEXT: case WS_N_IS_FIRST: case WS_N_IS_LAST: case WS_N_IS_MASKED: return about_iter(sc, e, f);
  case WS_N_LEN: return ws_list_value(sc, e->arg[0], WS_N_LEN, e);
  default: break;
  }
  bool memory = functions[f].kind == WS_N_READ || functions[f].kind == WS_N_ROWPOS || functions[f].kind == WS_N_COLPOS || functions[f].kind == WS_N_START;
  int args = memory ? 0 : functions[f].kind == WS_N_MASK || functions[f].fn == WS_F_CAST ? 1 : (int)e->n;
  struct ws_node *x = ws_node(sc, functions[f].kind, e->pos, args);
  x->fn = functions[f].fn;
  for (int i = 0; i < args; i++)
    if (!(x->arg[i] = ws_resolve_expr(sc, e->arg[i]))) return NULL;
  if (memory && !(x->mem = ws_resolve_mem(sc, e->arg[0]))) return NULL;
  if (x->kind == WS_N_READ && x->mem->tensor) x->mem->tensor->used = true;
  if (x->kind == WS_N_MASK && (!(x->mem = ws_resolve_mem(sc, e->arg[1])) || !(x->mem2 = ws_resolve_mem(sc, e->arg[2])))) return NULL;
  if (x->kind == WS_N_OP && x->fn == WS_F_CAST) {
    struct ws_static t;
    if (!ws_static_need(s, sc->env, e->arg[1], &t, "the type of a cast")) return NULL;
    if (t.kind != WS_ST_TYPE) {
      ws_error(s->diags, e->arg[1]->pos, "static-value", "expected a type: f32, f16, bf16, e4m3 or e5m2");
      return NULL;
    }
    x->type = t.type;
  }
  return x;
}

/* --- the rest --- */

/* The index of an instance in shared code, and the rank. */
static struct ws_node *own_index(struct ws_scope *sc, const struct ws_expr *e) {
  enum ws_node_kind kind = WS_N_CONST;
  for (const struct ws_env *v = sc->env; v && kind == WS_N_CONST; v = v->outer)
    if (v->runtime && !strcmp(v->name, e->name)) kind = WS_N_INSTANCE;
  if (kind == WS_N_CONST && sc->s->pair && !strcmp(e->name, "rank")) kind = WS_N_RANK;
  if (kind == WS_N_CONST) return NULL;
  struct ws_node *x = ws_node(sc, kind, e->pos, 0);
  x->type = WS_I32;
  return x;
}

/* The run-time extent of a dim by its name: queries, keys, heads ... */
static struct ws_node *extent(struct ws_scope *sc, const struct ws_expr *e) {
  for (int i = 0; i < sc->s->ntensors; i++)
    for (int k = 0; k < sc->s->tensors[i].ndims; k++)
      if (sc->s->tensors[i].dim[k] && !strcmp(sc->s->tensors[i].dim[k], e->name)) {
        struct ws_node *x = ws_node(sc, WS_N_EXTENT, e->pos, 0);
        x->name = sc->s->tensors[i].dim[k], x->type = WS_I32;
        return x;
      }
  return NULL;
}

static struct ws_node *name(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  struct ws_node *own = own_index(sc, e);
  if (own) return own;
  struct ws_var *v = ws_find_var(sc, e->name);
  if (v) {
    struct ws_node *x = ws_node(sc, WS_N_VAR, e->pos, 0);
    x->var = v;
    return x;
  }
  struct ws_iter *it = ws_find_iter(sc, e->name);
  if (it) {
    struct ws_node *x = ws_node(sc, WS_N_ITER, e->pos, 0);
    x->iter = it, x->type = WS_I32;
    return x;
  }
  for (size_t i = 0; i < s->problem->nscalars; i++)
    if (!strcmp(s->problem->scalars[i].name, e->name)) {
      struct ws_node *x = ws_node(sc, WS_N_SCALAR, e->pos, 0);
      x->scalar = &s->problem->scalars[i];
      return x;
    }
  if (ws_names_memory(sc, e)) {
    ws_error(s->diags, e->pos, "memory", "`%s` is memory: write `read(%s)` for its values", e->name, e->name);
    return NULL;
  }
  struct ws_node *dim = extent(sc, e);
  if (dim) return dim;
  size_t n = 0;
  const char **known = WS_NEW_N(s->arena, const char *, sc->p->nvars + s->nparams + s->problem->nscalars + 1);
  for (size_t i = 0; i < sc->p->nvars; i++) known[n++] = sc->p->vars[i]->name;
  for (size_t i = 0; i < s->nparams; i++) known[n++] = s->params[i].name;
  for (size_t i = 0; i < s->problem->nscalars; i++) known[n++] = s->problem->scalars[i].name;
  ws_unknown(s, e->pos, "name", e->name, known, n);
  return NULL;
}

static enum ws_fn fn_of(enum ws_op op) {
  static const enum ws_fn map[] = {[WS_OP_NEG] = WS_F_NEG, [WS_OP_NOT] = WS_F_NOT, [WS_OP_ADD] = WS_F_ADD, [WS_OP_SUB] = WS_F_SUB,
                                   [WS_OP_MUL] = WS_F_MUL, [WS_OP_DIV] = WS_F_DIV, [WS_OP_MOD] = WS_F_MOD, [WS_OP_EQ] = WS_F_EQ,
                                   [WS_OP_NE] = WS_F_NE, [WS_OP_LT] = WS_F_LT, [WS_OP_LE] = WS_F_LE, [WS_OP_GT] = WS_F_GT,
                                   [WS_OP_GE] = WS_F_GE, [WS_OP_AND] = WS_F_AND, [WS_OP_OR] = WS_F_OR};
  return map[op];
}

struct ws_node *ws_resolve_expr(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  struct ws_static v;
  bool bad = false;
  if (!(e->kind == WS_E_NAME && ws_find_var(sc, e->name)) && ws_static_try(s, sc->env, e, &v, &bad)) {
    if (v.kind == WS_ST_TYPE || v.kind == WS_ST_NAME) {
      ws_error(s->diags, e->pos, "static-value", "expected a value here, found a %s", v.kind == WS_ST_TYPE ? "type" : "name");
      return NULL;
    }
    struct ws_node *x = ws_node(sc, WS_N_CONST, e->pos, 0);
    x->value = v.kind == WS_ST_FLOAT || v.kind == WS_ST_INT ? v.f : (double)v.i;
    return x;
  }
  if (bad) return NULL;
  if (e->kind == WS_E_SELECT && ws_static_try(s, sc->env, e->arg[0], &v, &bad) && v.kind == WS_ST_BOOL)
    return ws_resolve_expr(sc, e->arg[v.i ? 1 : 2]); /* decided at generation */
  if (bad) return NULL;
  switch (e->kind) {
  case WS_E_NAME: return name(sc, e);
  case WS_E_CALL: return call(sc, e);
  case WS_E_METHOD:
    if (!strcmp(e->name, "at") && e->n == 2) {
      struct ws_node *x = ws_list_value(sc, e->arg[0], WS_N_AT, e);
      long n;
      if (!x || !ws_static_int(s, sc->env, e->arg[1], 0, 64, "the index of `.at()`", &n)) return NULL;
      return x->count = (int)n, x;
    }
    if ((!strcmp(e->name, "rows") || !strcmp(e->name, "cols")) && !ws_names_memory(sc, e)) return value_part(sc, e);
    break;
  case WS_E_ATTR:
    if (work_variable(sc, e->arg[0])) return coordinate(sc, e);
    break;
  case WS_E_UNARY: case WS_E_BINARY: case WS_E_SELECT: {
    struct ws_node *x = ws_node(sc, WS_N_OP, e->pos, (int)e->n);
    x->fn = e->kind == WS_E_SELECT ? WS_F_SELECT : fn_of(e->op);
    bool ok = true;
    for (size_t i = 0; i < e->n; i++) ok &= (x->arg[i] = ws_resolve_expr(sc, e->arg[i])) != NULL;
    return ok ? x : NULL;
  }
  default: break;
  }
  if (ws_names_memory(sc, e))
    ws_error(s->diags, e->pos, "memory", "this is memory: write `read(...)` for its values");
  else if (e->kind == WS_E_ATTR && (!strcmp(e->name, "first") || !strcmp(e->name, "last") || !strcmp(e->name, "rest")))
    ws_error(s->diags, e->pos, "expression", "`.%s` is a list, for a `for`: a block is `.at(n)`", e->name);
  else
    ws_error(s->diags, e->pos, "expression", "this has no value here");
  return NULL;
}
