/* What a warp knows of its lists: how many blocks, where it is, what a condition says. The trip counts are those of the run. Votes and
 * masked() go one way in one run and the other way in another; roles agree on everything else because the problem defines it. */
#include "world.h"
#include <math.h>

static int tile_of(const struct warp *p, const struct ws_iter *tile) { return tile ? p->iter[tile->index] : 0; }

/* The position of a block in its list, from the node that names it. */
static int block_at(struct warp *p, const struct ws_node *from) {
  double v = 0;
  return from && evaluate(p, from, &v) ? (int)v : 0;
}

int list_length(const struct warp *p, const struct ws_problem_list *l, const struct ws_iter *tile, const struct ws_node *from) {
  if (!l) return p->w->ntiles;
  const struct ws_play_shape *shape = p->w->shape;
  if (shape) return shape->length(shape->ctx, l, tile_of(p, tile), l->given ? block_at((struct warp *)p, from) : 0);
  int t = tile_of(p, tile), n = p->w->trips[t < p->w->ntiles ? t : 0];
  if (l->unseen) return t % 2;
  if (l->given) return 1 + (block_at((struct warp *)p, from) + t) % 3; /* a block of the outer list is seen by someone */
  return n;
}

static int length_of(const struct warp *p, const struct ws_iter *i) { return list_length(p, i->list, i->of, i->from); }

static bool operation(enum ws_fn fn, const double *a, double *v) {
  switch (fn) {
  case WS_F_ADD: return *v = a[0] + a[1], true;
  case WS_F_SUB: return *v = a[0] - a[1], true;
  case WS_F_MUL: return *v = a[0] * a[1], true;
  case WS_F_DIV: return a[1] != 0 && (*v = trunc(a[0] / a[1]), true);
  case WS_F_MOD: return a[1] != 0 && (*v = a[0] - a[1] * floor(a[0] / a[1]), true);
  case WS_F_NEG: return *v = -a[0], true;
  case WS_F_NOT: return *v = a[0] == 0, true;
  case WS_F_MAX: return *v = a[0] > a[1] ? a[0] : a[1], true;
  case WS_F_MIN: return *v = a[0] < a[1] ? a[0] : a[1], true;
  case WS_F_EQ: return *v = a[0] == a[1], true;
  case WS_F_NE: return *v = a[0] != a[1], true;
  case WS_F_LT: return *v = a[0] < a[1], true;
  case WS_F_LE: return *v = a[0] <= a[1], true;
  case WS_F_GT: return *v = a[0] > a[1], true;
  case WS_F_GE: return *v = a[0] >= a[1], true;
  case WS_F_AND: return *v = a[0] != 0 && a[1] != 0, true;
  case WS_F_OR: return *v = a[0] != 0 || a[1] != 0, true;
  case WS_F_SELECT: return *v = a[0] != 0 ? a[1] : a[2], true;
  default: return false;
  }
}

static bool about_iter(struct warp *p, const struct ws_node *x, double *v) {
  int at = p->iter[x->iter->index], n = length_of(p, x->iter);
  switch (x->kind) {
  case WS_N_NEXT: *v = at + x->count >= 0 && at + x->count < n ? at + x->count : -1; return true;
  case WS_N_HAS_NEXT: *v = at + x->count >= 0 && at + x->count < n; return true;
  case WS_N_IS_FIRST: *v = at == 0; return true;
  case WS_N_IS_LAST: *v = at == n - 1; return true;
  case WS_N_IS_MASKED: p->w->found->masked = true, *v = (at + p->w->mode) % 2 == 0; return true;
  default: return false;
  }
}

bool evaluate(struct warp *p, const struct ws_node *x, double *v) {
  double a[3] = {0};
  switch (x->kind) {
  case WS_N_CONST: return *v = x->value, true;
  case WS_N_INSTANCE: return *v = p->instance, true;
  case WS_N_RANK: return *v = p->cta, true;
  case WS_N_ITER: return *v = p->iter[x->iter->index], true;
  case WS_N_LEN: return *v = list_length(p, x->list, x->iter, x->from), true;
  case WS_N_AT: {
    int n = list_length(p, x->list, x->iter, x->from);
    return *v = x->count >= 0 && x->count < n ? x->count : -1, true;
  }
  case WS_N_REDUCE: /* a vote */
    if (x->fn != WS_F_ANY && x->fn != WS_F_ALL) return false;
    return p->w->found->votes = true, *v = p->w->mode % 2 == 0, true;
  case WS_N_VAR: return x->type == WS_I32 && !isnan(*v = p->number[x->var->index]);
  case WS_N_OP: break;
  default: return x->iter && about_iter(p, x, v);
  }
  for (int i = 0; i < x->n; i++)
    if (i >= 3 || !evaluate(p, x->arg[i], &a[i])) return false;
  return operation(x->fn, a, v);
}

bool holds(struct warp *p, const struct ws_node *cond) {
  double v = 0;
  if (evaluate(p, cond, &v)) return v != 0;
  p->w->found->votes = true;
  incomplete(p->w, "%u: the condition depends on data or extents: it was played both ways, the same in all roles", cond->pos.line);
  return p->w->mode % 2 == 0;
}
