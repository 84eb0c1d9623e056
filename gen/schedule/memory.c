/* Places in memory: buffers, slots, tiles of tensors, their parts. */
#include "passes.h"
#include <string.h>

static const struct ws_expr *root(const struct ws_expr *e) {
  while (e->kind == WS_E_INDEX || e->kind == WS_E_ATTR || e->kind == WS_E_METHOD) e = e->arg[0];
  return e;
}

bool ws_names_memory(struct ws_scope *sc, const struct ws_expr *e) {
  const struct ws_expr *r = root(e);
  return r->kind == WS_E_NAME && !ws_find_var(sc, r->name) &&
         (ws_find_handle(sc, r->name) || ws_find_buffer(sc->s, r->name) || ws_find_tensor(sc->s, r->name));
}

/* --- indices --- */

static bool by_instance(struct ws_scope *sc, const struct ws_expr *e) {
  if (e->kind == WS_E_NAME) {
    if (sc->s->pair && !strcmp(e->name, "rank")) return true;
    for (const struct ws_env *v = sc->env; v; v = v->outer)
      if (!strcmp(v->name, e->name)) return v->runtime;
  }
  for (size_t i = 0; i < e->n; i++)
    if (by_instance(sc, e->arg[i])) return true;
  return false;
}

static void integers(struct ws_node *x) {
  if (x->type == WS_F32) x->type = WS_I32;
  for (int i = 0; i < x->n; i++) integers(x->arg[i]);
}

bool ws_resolve_index(struct ws_scope *sc, const struct ws_expr *e, long lo, long hi, const char *what, long *value, struct ws_node **at) {
  struct ws_schedule *s = sc->s;
  *at = NULL;
  if (!by_instance(sc, e)) return ws_static_int(s, sc->env, e, lo, hi, what, value);
  struct ws_node *x = ws_resolve_expr(sc, e);
  if (!x) return false;
  integers(x);
  for (int r = s->pair ? 1 : 0; r >= 0; r--)
    for (int i = sc->p->first + sc->p->count - 1; i >= sc->p->first; i--) {
      double v;
      if (!ws_known(x, r, i, &v)) {
        ws_error(s->diags, e->pos, "not-static", "%s must be known at generation, or by the instance's index and the rank", what);
        return false;
      }
      if (v < (double)lo || v > (double)hi) {
        ws_error(s->diags, e->pos, "range", "%s must be from %ld to %ld, found %ld%s", what, lo, hi, (long)v,
                 sc->p->count > 1 ? ws_fmt(s->arena, " in instance %d", i) : s->pair ? ws_fmt(s->arena, " at rank %d", r) : "");
        return false;
      }
      *value = (long)v;
    }
  *at = x;
  return true;
}

/* --- buffers and slots --- */

static struct ws_mem *of_buffer(struct ws_scope *sc, struct ws_bufferm *b, const struct ws_expr *e) {
  struct ws_schedule *s = sc->s;
  long el = 0;
  struct ws_node *at = NULL;
  if (e->kind == WS_E_NAME && b->is_array) {
    ws_error(s->diags, e->pos, "element", "`%s` is an array of %d: which element?", b->name, b->count);
    return NULL;
  }
  if (e->kind == WS_E_INDEX) {
    if (!b->is_array || e->n != 2) {
      ws_error(s->diags, e->pos, "element", "`%s` is not an array", b->name);
      return NULL;
    }
    if (!ws_resolve_index(sc, e->arg[1], 0, b->count - 1, ws_fmt(s->arena, "the element of `%s`", b->name), &el, &at)) return NULL;
  }
  if (b->stages > 1) {
    ws_error(s->diags, e->pos, "slot", "`%s` has %d stages: name a slot by `acquire` or `wait ... -> NAME`", b->name, b->stages);
    return NULL;
  }
  struct ws_mem *m = WS_NEW(s->arena, struct ws_mem);
  *m = (struct ws_mem){.pos = e->pos, .space = b->tmem ? WS_TMEM : WS_SMEM, .buffer = b, .element = (int)el, .element_at = at,
                       .rows = b->rows, .cols = b->cols};
  return m;
}

/* --- tiles of tensors --- */

static bool same_dim(const struct ws_schedule *s, const char *a, const char *b) {
  if (!strcmp(a, b)) return true; /* packed rows are queries, of several heads */
  return s->problem->packs == WS_PACKS_DIM && (!strcmp(a, "queries") || !strcmp(a, "packed")) && (!strcmp(b, "queries") || !strcmp(b, "packed"));
}

static bool cut_by_work(const struct ws_schedule *s, const char *dim) { return s->tile_rows && same_dim(s, dim, s->tile_dim); }

static bool given_by_work(const struct ws_schedule *s, const char *dim) {
  return !strcmp(dim, "batch") || !strcmp(dim, "heads") || !strcmp(dim, "kv_heads") || (!strcmp(dim, "splits") && s->tile_splits);
}

/* The index of a block along a dim: a loop variable, next(), prev() or .at(). */
static struct ws_node *block_index(struct ws_scope *sc, const struct ws_tensor *t, const char *dim, const struct ws_expr *e) {
  struct ws_node *x = ws_resolve_expr(sc, e);
  if (!x) return NULL;
  const struct ws_problem_list *l = x->iter && x->kind != WS_N_AT ? x->iter->list : x->list;
  if ((x->kind == WS_N_ITER || x->kind == WS_N_AT || x->kind == WS_N_NEXT) && l && same_dim(sc->s, l->dim, dim)) return x;
  ws_error(sc->s->diags, e->pos, "tensor-tile", "the second index of `%s` is a block of `%s`: a loop variable, next(), prev() or .at()",
           t->name, dim);
  return NULL;
}

static struct ws_node *coordinate(struct ws_scope *sc, const struct ws_expr *e) { return ws_resolve_expr(sc, e); }

struct tile_index {              /* the indices of a tile that are not used yet */
  const struct ws_expr *e;
  size_t next;
};

static const struct ws_expr *next_index(struct tile_index *ix) { return ix->next < ix->e->n ? ix->e->arg[ix->next++] : NULL; }

static bool missing(struct ws_scope *sc, const struct ws_tensor *t, const struct ws_expr *e, const char *dim, const char *what) {
  ws_error(sc->s->diags, e->pos, "tensor-tile", "a work tile does not cut the %s of `%s` (%s): give a second index, a block of `%s`", what,
           t->name, dim, dim);
  return false;
}

/* Rows or columns of a tile. */
static bool tile_side(struct ws_scope *sc, struct ws_mem *m, struct tile_index *ix, bool rows) {
  const struct ws_tensor *t = m->tensor;
  struct ws_schedule *s = sc->s;
  int k = rows ? t->row_dim : t->col_dim, *extent = rows ? &m->rows : &m->cols, *step = rows ? &m->block_rows : &m->col_block_cols;
  *extent = 1;
  if (k < 0) return true;
  const char *dim = t->dim[k];
  if (!dim) return *extent = (int)t->fixed[k], true;
  if (cut_by_work(s, dim)) return *extent = *step = s->tile_rows, true;
  const struct ws_expr *e = next_index(ix);
  if (!e) return missing(sc, t, ix->e, dim, rows ? "rows" : "columns");
  const struct ws_block_step *b = ws_schedule_block(s, dim);
  if (!b) {
    ws_error(s->diags, ix->e->pos, "tensor-tile", "`work.blocks` does not say the block of `%s`", dim);
    return false;
  }
  *extent = *step = b->step;
  return (*(rows ? &m->block : &m->col_block) = block_index(sc, t, dim, e)) != NULL;
}

/* A dim that is neither rows nor columns: given by the work tile, or by a coordinate. */
static bool outer_dim(struct ws_scope *sc, struct ws_mem *m, struct tile_index *ix, int k) {
  const struct ws_tensor *t = m->tensor;
  const char *dim = t->dim[k];
  if (dim && given_by_work(sc->s, dim)) return true;
  const struct ws_expr *e = next_index(ix);
  if (!e && dim) return missing(sc, t, ix->e, dim, "outer dims");
  if (!e) {
    ws_error(sc->s->diags, ix->e->pos, "tensor-tile", "`%s` needs an index for its dim of %ld", t->name, t->fixed[k]);
    return false;
  }
  bool listed = false;
  for (size_t i = 0; dim && i < sc->s->problem->nlists; i++) listed |= !strcmp(sc->s->problem->lists[i].dim, dim) && !t->coords;
  m->coord[k] = listed ? block_index(sc, t, dim, e) : coordinate(sc, e);
  return m->coord[k] != NULL;
}

static struct ws_mem *of_work_tile(struct ws_scope *sc, struct ws_mem *m, const struct ws_expr *e) {
  struct ws_tensor *t = m->tensor;
  struct tile_index ix = {e, 2};
  m->rows = m->cols = 1;
  for (int k = 0; k < t->ndims; k++) {
    bool ok = k == t->row_dim ? tile_side(sc, m, &ix, true) : k == t->col_dim ? tile_side(sc, m, &ix, false) : outer_dim(sc, m, &ix, k);
    if (!ok) return NULL;
  }
  if (ix.next == e->n) return m;
  const char *dim = t->row_dim >= 0 ? t->dim[t->row_dim] : NULL;
  if (dim && cut_by_work(sc->s, dim) && e->n == 3)
    ws_error(sc->s->diags, e->arg[2]->pos, "tensor-tile", "the work tile already cuts the rows of `%s`: write `%s[%s]`", t->name, t->name, m->tile->name);
  else
    ws_error(sc->s->diags, e->arg[ix.next]->pos, "tensor-tile", "`%s` takes %zu %s here", t->name, ix.next - 1, ix.next == 2 ? "index" : "indices");
  return NULL;
}

/* T[a, b]: coordinates of all outer dims (of a table: of all dims); rows and columns are whole. */
static struct ws_mem *by_coordinates(struct ws_scope *sc, struct ws_mem *m, const struct ws_expr *e) {
  struct ws_tensor *t = m->tensor;
  struct tile_index ix = {e, 1};
  bool whole = true;
  m->rows = m->cols = 1;
  size_t outer = 0;
  for (int k = 0; k < t->ndims; k++) {
    if (k == t->row_dim || k == t->col_dim)
      whole &= !t->dim[k], *(k == t->row_dim ? &m->rows : &m->cols) = (int)t->fixed[k];
    else
      outer++;
  }
  if (!whole || e->n - 1 != outer) {
    ws_error(sc->s->diags, e->arg[1]->pos, "tensor-tile", "the first index of a tile is the variable of `for ... in work`");
    return NULL;
  }
  for (int k = 0; k < t->ndims; k++)
    if (k != t->row_dim && k != t->col_dim && !(m->coord[k] = coordinate(sc, next_index(&ix)))) return NULL;
  return m;
}

static struct ws_mem *of_tensor(struct ws_scope *sc, struct ws_tensor *t, const struct ws_expr *e) {
  if (e->kind != WS_E_INDEX || e->n < 2 || e->n > 1 + WS_MAX_DIMS) {
    ws_error(sc->s->diags, e->pos, "tensor-tile", "a tile of tensor `%s` is written `%s[t]` or `%s[t, j]`", t->name, t->name, t->name);
    return NULL;
  }
  struct ws_mem *m = WS_NEW(sc->s->arena, struct ws_mem);
  *m = (struct ws_mem){.pos = e->pos, .space = WS_GLOBAL, .tensor = t};
  struct ws_iter *it = e->arg[1]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[1]->name) : NULL;
  if (!it || it->list) return by_coordinates(sc, m, e);
  m->tile = it;
  return of_work_tile(sc, m, e);
}

/* --- parts --- */

static struct ws_node *plus(struct ws_scope *sc, struct ws_node *a, struct ws_node *b) { return a ? ws_node_op(sc, WS_F_ADD, a, b) : b; }

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
  struct ws_node *at;
  if (!ws_static_int(s, sc->env, a->arg[1], 1, 4096, "the number of parts", &y)) return false;
  if (!ws_resolve_index(sc, a->arg[0], 0, y - 1, "the number of a part", &x, &at)) return false;
  if (*ext % y) {
    ws_error(s->diags, a->pos, "part", "%d %s do not split into %ld equal parts", *ext, e->name, y);
    return false;
  }
  *ext /= (int)y;
  if (!at) return *start += (int)x * *ext, true;
  struct ws_node **shift = rows ? &m->row_at : &m->col_at;
  *shift = plus(sc, *shift, ws_node_op(sc, WS_F_MUL, at, ws_node_int(sc, a->pos, *ext)));
  return true;
}

bool ws_resolve_part(struct ws_scope *sc, const struct ws_expr *e, struct ws_part *out) {
  struct ws_schedule *s = sc->s;
  const struct ws_expr *a = e->n == 2 ? e->arg[1] : NULL;
  long x, y;
  *out = (struct ws_part){.given = true, .cols = !strcmp(e->name, "cols")};
  if (!a || (a->kind != WS_E_PART && a->kind != WS_E_RANGE)) {
    ws_error(s->diags, e->pos, "part", "`.%s()` takes `i of n` or `a..b`", e->name);
    return false;
  }
  if (a->kind == WS_E_RANGE) {
    if (!ws_static_int(s, sc->env, a->arg[0], 0, 65535, "the start of a part", &x) ||
        !ws_static_int(s, sc->env, a->arg[1], x, 65535, "the end of a part", &y))
      return false;
    out->first = (int)x, out->last = (int)y;
    return true;
  }
  if (!ws_static_int(s, sc->env, a->arg[1], 1, 64, "the number of parts", &y) ||
      !ws_static_int(s, sc->env, a->arg[0], 0, y - 1, "the number of a part of registers", &x))
    return false;
  out->index = (int)x, out->of = (int)y;
  return true;
}

/* --- all --- */

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
  struct ws_bufferm *b = ws_find_buffer(s, r->name);
  struct ws_tensor *t = ws_find_tensor(s, r->name);
  if (h && e->kind == WS_E_NAME) {
    struct ws_mem *m = WS_NEW(s->arena, struct ws_mem);
    *m = (struct ws_mem){.pos = e->pos, .space = h->pipe->buffer->tmem ? WS_TMEM : WS_SMEM, .buffer = h->pipe->buffer, .handle = h,
                         .element = h->element, .element_at = h->element_at, .rows = h->rows, .cols = h->cols};
    return m;
  }
  if (b) return of_buffer(sc, b, e);
  if (t) return of_tensor(sc, t, e);
  unknown_memory(sc, r);
  return NULL;
}

static struct ws_mem *peer(struct ws_scope *sc, const struct ws_expr *e) {
  if (!sc->s->pair) {
    if (sc->s->arch < 90)
      ws_error(sc->s->diags, e->pos, "target", "`.peer` needs a cluster, which %s does not have", sc->s->target);
    else
      ws_error(sc->s->diags, e->pos, "scope", "`.peer` needs `cluster: pair`");
    return NULL;
  }
  struct ws_mem *m = ws_resolve_mem(sc, e->arg[0]);
  if (m && m->space != WS_SMEM) {
    ws_error(sc->s->diags, e->pos, "memory", "`.peer` belongs to shared memory");
    return NULL;
  }
  if (m) m->peer = true;
  return m;
}

struct ws_mem *ws_resolve_mem(struct ws_scope *sc, const struct ws_expr *e) {
  if (e->kind == WS_E_ATTR && !strcmp(e->name, "T")) {
    struct ws_mem *m = ws_resolve_mem(sc, e->arg[0]);
    if (m) m->transposed = !m->transposed;
    return m;
  }
  if (e->kind == WS_E_ATTR && !strcmp(e->name, "peer")) return peer(sc, e);
  if (e->kind == WS_E_METHOD && (!strcmp(e->name, "rows") || !strcmp(e->name, "cols"))) {
    struct ws_mem *m = ws_resolve_mem(sc, e->arg[0]);
    return m && part(sc, m, e) ? m : NULL;
  }
  return named_memory(sc, e);
}
