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
    [WS_F_LOG2] = "log2", [WS_F_TANH] = "tanh", [WS_F_FINITE] = "finite", [WS_F_CAST] = "cast", [WS_F_EQ] = "eq",
    [WS_F_NE] = "ne", [WS_F_LT] = "lt", [WS_F_LE] = "le", [WS_F_GT] = "gt", [WS_F_GE] = "ge", [WS_F_AND] = "and",
    [WS_F_OR] = "or", [WS_F_NOT] = "not", [WS_F_SELECT] = "select", [WS_F_ROWMAX] = "rowmax", [WS_F_ROWSUM] = "rowsum",
    [WS_F_ROWPART] = "rowpart", [WS_F_TOTAL] = "total", [WS_F_COLMAX] = "colmax", [WS_F_COLSUM] = "colsum",
    [WS_F_ANY] = "any", [WS_F_ALL] = "all"};
const char *ws_fn_name(enum ws_fn f) { return fn_names[f]; }

const char *ws_layout_name(enum ws_layout l) {
  static const char *const names[] = {"-", "acc", "a", "lane", "copy"};
  return names[l];
}

struct ws_var *ws_find_var(struct ws_scope *sc, const char *name) {
  for (size_t i = 0; i < sc->p->nvars; i++)
    if (!strcmp(sc->p->vars[i]->name, name)) return sc->p->vars[i];
  return NULL;
}

struct ws_iter *ws_find_iter(struct ws_scope *sc, const char *name) {
  for (size_t i = sc->p->niters; i-- > 0;)
    if (!sc->p->iters[i]->closed && !strcmp(sc->p->iters[i]->name, name)) return sc->p->iters[i];
  return NULL;
}

struct ws_handle *ws_find_handle(struct ws_scope *sc, const char *name) {
  for (size_t i = 0; i < sc->p->nhandles; i++)
    if (!strcmp(sc->p->handles[i]->name, name)) return sc->p->handles[i];
  return NULL;
}

static struct ws_node *node(struct ws_scope *sc, enum ws_node_kind kind, struct ws_pos pos, int n) {
  struct ws_node *x = WS_NEW(sc->s->arena, struct ws_node);
  x->kind = kind, x->pos = pos, x->rows = x->cols = 1, x->type = WS_F32, x->n = n;
  x->arg = n ? WS_NEW_N(sc->s->arena, struct ws_node *, n) : NULL;
  return x;
}

/* --- memory --- */

static struct ws_tensor *find_tensor(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->ntensors; i++)
    if (!strcmp(s->tensors[i].name, name)) return &s->tensors[i];
  return NULL;
}

static struct ws_bufferm *find_buffer(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->nbuffers; i++)
    if (!strcmp(s->buffers[i].name, name)) return &s->buffers[i];
  return NULL;
}

static const struct ws_expr *root(const struct ws_expr *e) {
  while (e->kind == WS_E_INDEX || e->kind == WS_E_ATTR || e->kind == WS_E_METHOD) e = e->arg[0];
  return e;
}

bool ws_names_memory(struct ws_scope *sc, const struct ws_expr *e) {
  const struct ws_expr *r = root(e);
  return r->kind == WS_E_NAME && !ws_find_var(sc, r->name) &&
         (ws_find_handle(sc, r->name) || find_buffer(sc->s, r->name) || find_tensor(sc->s, r->name));
}

static struct ws_mem *of_buffer(struct ws_scope *sc, struct ws_bufferm *b, const struct ws_expr *e, int element) {
  struct ws_mem *m = WS_NEW(sc->s->arena, struct ws_mem);
  *m = (struct ws_mem){.pos = e->pos, .space = b->tmem ? WS_TMEM : WS_SMEM, .buffer = b, .element = element, .rows = b->rows,
                       .cols = b->cols};
  if (b->stages > 1) {
    ws_error(sc->s->diags, e->pos, "slot", "`%s` has %d stages: name a slot by `acquire` or `wait ... -> NAME`", b->name,
             b->stages);
    return NULL;
  }
  return m;
}

static struct ws_mem *of_tensor(struct ws_scope *sc, struct ws_tensor *t, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  if (e->kind != WS_E_INDEX || e->n < 2 || e->n > 3) {
    ws_error(s->diags, e->pos, "tensor-tile", "a tile of tensor `%s` is written `%s[t]` or `%s[t, j]`", t->name, t->name, t->name);
    return NULL;
  }
  struct ws_mem *m = WS_NEW(s->arena, struct ws_mem);
  *m = (struct ws_mem){.pos = e->pos, .space = WS_GLOBAL, .tensor = t};
  m->tile = e->arg[1]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[1]->name) : NULL;
  if (!m->tile || m->tile->list) {
    ws_error(s->diags, e->arg[1]->pos, "tensor-tile", "the first index of a tile is the variable of `for ... in work`");
    return NULL;
  }
  int row = t->ndims >= 4 ? t->ndims - 2 : t->ndims - 1;
  const char *dim = t->dim[row];
  m->cols = t->ndims >= 4 ? (int)t->fixed[t->ndims - 1] : 1;
  bool cut = dim && !strcmp(dim, s->problem->work_dim);
  if (e->n == 2) {
    if (!cut || !s->tile_rows) {
      ws_error(s->diags, e->pos, "tensor-tile", "a work tile does not cut the rows of `%s` (%s): give a second index, a block of `%s`",
               t->name, dim ? dim : "fixed", dim ? dim : "");
      return NULL;
    }
    m->rows = m->block_rows = s->tile_rows;
    return m;
  }
  if (cut && s->tile_rows) {
    ws_error(s->diags, e->arg[2]->pos, "tensor-tile", "the work tile already cuts the rows of `%s`: write `%s[%s]`", t->name,
             t->name, m->tile->name);
    return NULL;
  }
  const struct ws_block_step *b = dim ? ws_schedule_block(s, dim) : NULL;
  if (!b) {
    ws_error(s->diags, e->pos, "tensor-tile", "`work.blocks` does not say the block of `%s`", dim ? dim : "this dim");
    return NULL;
  }
  m->rows = m->block_rows = b->step;
  m->block = ws_resolve_expr(sc, e->arg[2]);
  if (!m->block) return NULL;
  const struct ws_problem_list *l = m->block->iter && m->block->kind != WS_N_AT ? m->block->iter->list : m->block->list;
  if ((m->block->kind != WS_N_ITER && m->block->kind != WS_N_AT && m->block->kind != WS_N_NEXT) || !l || strcmp(l->dim, dim)) {
    ws_error(s->diags, e->arg[2]->pos, "tensor-tile", "the second index of `%s` is a block of `%s`: a loop variable, next(), prev() or .at()",
             t->name, dim);
    return NULL;
  }
  return m;
}

static bool part(struct ws_scope *sc, struct ws_mem *m, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  bool rows = !strcmp(e->name, "rows");
  const struct ws_expr *a = e->n == 2 ? e->arg[1] : NULL;
  if (!a || (a->kind != WS_E_PART && a->kind != WS_E_RANGE)) {
    ws_error(s->diags, e->pos, "part", "`.%s()` takes `i of n` or `a..b`", e->name);
    return false;
  }
  if (m->transposed) rows = !rows;
  int *ext = rows ? &m->rows : &m->cols, *start = rows ? &m->row0 : &m->col0;
  long x, y;
  if (a->kind == WS_E_RANGE) {
    if (!ws_static_int(s, sc->env, a->arg[0], 0, *ext - 1, "the start of a part", &x)) return false;
    if (!ws_static_int(s, sc->env, a->arg[1], x, *ext - 1, "the end of a part", &y)) return false;
    *start += (int)x, *ext = (int)(y - x + 1);
    return true;
  }
  if (!ws_static_int(s, sc->env, a->arg[1], 1, 4096, "the number of parts", &y)) return false;
  if (!ws_static_int(s, sc->env, a->arg[0], 0, y - 1, "the number of a part", &x)) return false;
  if (*ext % y) {
    ws_error(s->diags, a->pos, "part", "%d %s do not split into %ld equal parts", *ext, e->name, y);
    return false;
  }
  *ext /= (int)y, *start += (int)x * *ext;
  return true;
}

static void unknown_memory(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  size_t n = 0;
  const char **known = WS_NEW_N(s->arena, const char *, (size_t)(s->nbuffers + s->ntensors) + sc->p->nhandles + 1);
  for (size_t i = 0; i < sc->p->nhandles; i++) known[n++] = sc->p->handles[i]->name;
  for (int i = 0; i < s->nbuffers; i++) known[n++] = s->buffers[i].name;
  for (int i = 0; i < s->ntensors; i++) known[n++] = s->tensors[i].name;
  ws_unknown(s, e->name_pos.line ? e->name_pos : e->pos, "memory", e->name, known, n);
}

static struct ws_mem *named_memory(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  const struct ws_expr *r = e->kind == WS_E_INDEX ? e->arg[0] : e;
  if (r->kind != WS_E_NAME) {
    ws_error(s->diags, e->pos, "memory", "expected memory here: a buffer, a slot or a tile of a tensor");
    return NULL;
  }
  struct ws_handle *h = ws_find_handle(sc, r->name);
  struct ws_bufferm *b = find_buffer(s, r->name);
  struct ws_tensor *t = find_tensor(s, r->name);
  if (h && e->kind == WS_E_NAME) {
    struct ws_mem *m = WS_NEW(s->arena, struct ws_mem);
    *m = (struct ws_mem){.pos = e->pos, .space = h->pipe->buffer->tmem ? WS_TMEM : WS_SMEM, .buffer = h->pipe->buffer, .handle = h,
                         .element = h->element, .rows = h->rows, .cols = h->cols};
    return m;
  }
  if (b) {
    long el = 0;
    if (e->kind == WS_E_NAME && b->is_array) {
      ws_error(s->diags, e->pos, "element", "`%s` is an array of %d: which element?", b->name, b->count);
      return NULL;
    }
    if (e->kind == WS_E_INDEX) {
      if (!b->is_array || e->n != 2) {
        ws_error(s->diags, e->pos, "element", "`%s` is not an array", b->name);
        return NULL;
      }
      if (!ws_static_int(s, sc->env, e->arg[1], 0, b->count - 1, ws_fmt(s->arena, "the element of `%s`", b->name), &el)) return NULL;
    }
    return of_buffer(sc, b, e, (int)el);
  }
  if (t) return of_tensor(sc, t, e);
  unknown_memory(sc, r);
  return NULL;
}

struct ws_mem *ws_resolve_mem(struct ws_scope *sc, const struct ws_expr *e) {
  if (e->kind == WS_E_ATTR && !strcmp(e->name, "T")) {
    struct ws_mem *m = ws_resolve_mem(sc, e->arg[0]);
    if (m) m->transposed = !m->transposed;
    return m;
  }
  if (e->kind == WS_E_ATTR && !strcmp(e->name, "peer")) {
    ws_error(sc->s->diags, e->pos, "target", "`.peer` needs a cluster, which %s does not have", sc->s->target);
    return NULL;
  }
  if (e->kind == WS_E_METHOD && (!strcmp(e->name, "rows") || !strcmp(e->name, "cols"))) {
    struct ws_mem *m = ws_resolve_mem(sc, e->arg[0]);
    return m && part(sc, m, e) ? m : NULL;
  }
  return named_memory(sc, e);
}

/* --- lists --- */

struct ws_iter *ws_resolve_list(struct ws_scope *sc, const struct ws_expr *e, const char *var, struct ws_pos pos) {
  struct ws_schedule *s = sc->s;
  struct ws_iter *it = WS_NEW(s->arena, struct ws_iter);
  *it = (struct ws_iter){.name = var, .pos = pos};
  if (e->kind == WS_E_ATTR) {
    static const char *const parts[] = {"first", "rest", "last"};
    size_t k = 0;
    while (k < 3 && strcmp(parts[k], e->name)) k++;
    if (k == 3) {
      ws_unknown(s, e->name_pos, "part of a list", e->name, parts, 3);
      return NULL;
    }
    it->part = WS_FIRST + k;
    e = e->arg[0];
  }
  if (e->kind == WS_E_NAME && !strcmp(e->name, "work") && it->part == WS_ALL) return it;
  const char *known[8];
  size_t n = 0;
  for (size_t i = 0; i < s->problem->nlists; i++) {
    known[n++] = s->problem->lists[i].name;
    if (e->kind == WS_E_CALL && !strcmp(e->name, known[i])) it->list = &s->problem->lists[i];
  }
  known[n++] = "work";
  if (!it->list) {
    struct ws_buf text = {.arena = s->arena};
    ws_expr_print(e, &text);
    ws_unknown(s, e->pos, "list", e->kind == WS_E_CALL ? e->name : text.s, known, n);
    return NULL;
  }
  it->of = e->n == 1 && e->arg[0]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[0]->name) : NULL;
  if (!it->of || it->of->list) {
    ws_error(s->diags, e->pos, "list", "`%s(t)` takes the variable of `for ... in work`", it->list->name);
    return NULL;
  }
  const struct ws_block_step *b = ws_schedule_block(s, it->list->dim);
  if (!b) {
    ws_error(s->diags, e->pos, "list", "`work.blocks` does not say the block of `%s`", it->list->dim);
    return NULL;
  }
  it->descending = b->descending;
  return it;
}

static struct ws_node *list_value(struct ws_scope *sc, const struct ws_expr *list, enum ws_node_kind kind, const struct ws_expr *e) {
  struct ws_iter *it = ws_resolve_list(sc, list, "", e->pos);
  if (!it) return NULL;
  struct ws_node *x = node(sc, kind, e->pos, 0);
  x->type = WS_I32, x->list = it->list, x->iter = it->of;
  if (!it->list) {
    ws_error(sc->s->diags, e->pos, "list", "`work` has no length here");
    return NULL;
  }
  return x;
}

static bool is_list(struct ws_scope *sc, const struct ws_expr *e) {
  for (size_t i = 0; i < sc->s->problem->nlists; i++)
    if (e->kind == WS_E_CALL && !strcmp(e->name, sc->s->problem->lists[i].name)) return true;
  return false;
}

/* --- calls --- */

static struct ws_node *about_iter(struct ws_scope *sc, const struct ws_expr *e, size_t f) {
  struct ws_schedule *s = sc->s;
  struct ws_iter *it = e->n >= 1 && e->arg[0]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[0]->name) : NULL;
  if (!it || !it->list) {
    ws_error(s->diags, e->n ? e->arg[0]->pos : e->pos, "call", "`%s` takes the variable of a loop over blocks", e->name);
    return NULL;
  }
  struct ws_node *x = node(sc, functions[f].kind, e->pos, 0);
  long n = 1;
  if (e->n == 2 && !ws_static_int(s, sc->env, e->arg[1], 0, 64, ws_fmt(s->arena, "the distance of `%s`", e->name), &n)) return NULL;
  x->iter = it;
  x->count = functions[f].fn ? -(int)n : (int)n; /* prev is next with the sign turned */
  x->type = functions[f].kind == WS_N_NEXT ? WS_I32 : WS_BOOL;
  return x;
}

static struct ws_node *call(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  size_t f = 0;
  while (f < NFUNCTIONS && strcmp(functions[f].name, e->name)) f++;
  if (f == NFUNCTIONS) {
    if (is_list(sc, e)) return list_value(sc, e, WS_N_LEN, e); /* as a condition: is it not empty? */
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
  case WS_N_LEN: return list_value(sc, e->arg[0], WS_N_LEN, e);
  default: break;
  }
  bool memory = functions[f].kind == WS_N_READ || functions[f].kind == WS_N_ROWPOS || functions[f].kind == WS_N_COLPOS;
  int args = memory ? 0 : functions[f].kind == WS_N_MASK || functions[f].fn == WS_F_CAST ? 1 : (int)e->n;
  struct ws_node *x = node(sc, functions[f].kind, e->pos, args);
  x->fn = functions[f].fn;
  for (int i = 0; i < args; i++)
    if (!(x->arg[i] = ws_resolve_expr(sc, e->arg[i]))) return NULL;
  if (memory && !(x->mem = ws_resolve_mem(sc, e->arg[0]))) return NULL;
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

static struct ws_node *name(struct ws_scope *sc, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  struct ws_var *v = ws_find_var(sc, e->name);
  if (v) {
    struct ws_node *x = node(sc, WS_N_VAR, e->pos, 0);
    x->var = v;
    return x;
  }
  struct ws_iter *it = ws_find_iter(sc, e->name);
  if (it) {
    struct ws_node *x = node(sc, WS_N_ITER, e->pos, 0);
    x->iter = it, x->type = WS_I32;
    return x;
  }
  for (size_t i = 0; i < s->problem->nscalars; i++)
    if (!strcmp(s->problem->scalars[i].name, e->name)) {
      struct ws_node *x = node(sc, WS_N_SCALAR, e->pos, 0);
      x->scalar = &s->problem->scalars[i];
      return x;
    }
  if (ws_names_memory(sc, e)) {
    ws_error(s->diags, e->pos, "memory", "`%s` is memory: write `read(%s)` for its values", e->name, e->name);
    return NULL;
  }
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
    struct ws_node *x = node(sc, WS_N_CONST, e->pos, 0);
    x->value = v.kind == WS_ST_FLOAT || v.kind == WS_ST_INT ? v.f : (double)v.i;
    return x;
  }
  if (bad) return NULL;
  switch (e->kind) {
  case WS_E_NAME: return name(sc, e);
  case WS_E_CALL: return call(sc, e);
  case WS_E_METHOD:
    if (!strcmp(e->name, "at") && e->n == 2) {
      struct ws_node *x = list_value(sc, e->arg[0], WS_N_AT, e);
      long n;
      if (!x || !ws_static_int(s, sc->env, e->arg[1], 0, 64, "the index of `.at()`", &n)) return NULL;
      return x->count = (int)n, x;
    }
    break;
  case WS_E_UNARY: case WS_E_BINARY: case WS_E_SELECT: {
    struct ws_node *x = node(sc, WS_N_OP, e->pos, (int)e->n);
    x->fn = e->kind == WS_E_SELECT ? WS_F_SELECT : fn_of(e->op);
    bool ok = true;
    for (size_t i = 0; i < e->n; i++) ok &= (x->arg[i] = ws_resolve_expr(sc, e->arg[i])) != NULL;
    return ok ? x : NULL;
  }
  default: break;
  }
  if (ws_names_memory(sc, e))
    ws_error(s->diags, e->pos, "memory", "this is memory: write `read(...)` for its values");
  else
    ws_error(s->diags, e->pos, "expression", "this has no value here");
  return NULL;
}
