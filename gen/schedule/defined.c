/* Names that a path leaves undefined: register tiles (whole, or part by part) and slots.
 *
 * The program is walked once for each instance and rank, so that conditions on them correlate. A loop is walked as its first
 * and as a later iteration: what `if first(j)` guards is known in each. A list is known to have a block inside `if kv(t)`. */
#include "passes.h"
#include <string.h>

struct var_state {
  bool whole, cols;
  int of;                      /* parts assigned so far: bits of `mask` among `of` equal ones */
  unsigned long long mask;
  const struct ws_iter *if_any;  /* whole if the list of this loop has a block: it was assigned in one; NULL = not known to be */
};
struct handle_state {
  bool bound;
  const struct ws_iter *if_any;
};
struct state {
  struct var_state *var;
  struct handle_state *handle;
};
struct fact {                  /* this list has a block */
  const struct ws_problem_list *list;
  const struct ws_iter *of;
  const struct ws_node *from;
  const struct fact *outer;
};
struct walk {
  struct ws_schedule *s;
  struct ws_programm *p;
  int rank, instance;
  struct state st;
  signed char *first;          /* by loop variable: 1 in its first iteration, 0 in a later one, -1 not known */
  const struct fact *facts;
};

static void acts(struct walk *w, const struct ws_acts *a);

static struct state copy(struct walk *w, const struct state *from) {
  struct state c = {WS_NEW_N(w->s->arena, struct var_state, w->p->nvars + 1), WS_NEW_N(w->s->arena, struct handle_state, w->p->nhandles + 1)};
  if (w->p->nvars) memcpy(c.var, from->var, w->p->nvars * sizeof *c.var);
  if (w->p->nhandles) memcpy(c.handle, from->handle, w->p->nhandles * sizeof *c.handle);
  return c;
}

static bool same_block(const struct ws_node *a, const struct ws_node *b) {
  return a == b || (a && b && a->kind == b->kind && a->iter == b->iter && a->count == b->count);
}

static bool same_list(const struct ws_iter *a, const struct ws_iter *b) {
  return a == b || (a && b && a->list == b->list && a->of == b->of && same_block(a->from, b->from));
}

/* Is it known here that the loop's list has a block? */
static bool has_any(const struct walk *w, const struct ws_iter *it) {
  for (const struct fact *f = it ? w->facts : NULL; f; f = f->outer)
    if (f->list == it->list && f->of == it->of && same_block(f->from, it->from)) return true;
  return false;
}

/* What is sure on both paths: all of it on one and some of it on the other is that on both. */
static const struct ws_iter *both(bool x, const struct ws_iter *x_if, bool y, const struct ws_iter *y_if) {
  return x ? y_if : y || same_list(x_if, y_if) ? x_if : NULL;
}

static void meet(struct walk *w, struct state *a, const struct state *b) {
  for (size_t i = 0; i < w->p->nvars; i++) {
    struct var_state *x = &a->var[i];
    const struct var_state *y = &b->var[i];
    if (x->whole && y->whole) continue;
    const struct ws_iter *if_any = both(x->whole, x->if_any, y->whole, y->if_any);
    if (x->whole)
      *x = *y;
    else if (!y->whole)
      x->mask = x->of == y->of && x->cols == y->cols ? x->mask & y->mask : 0;
    x->if_any = if_any;
  }
  for (size_t i = 0; i < w->p->nhandles; i++) {
    struct handle_state *x = &a->handle[i];
    const struct handle_state *y = &b->handle[i];
    x->if_any = both(x->bound, x->if_any, y->bound, y->if_any), x->bound &= y->bound;
  }
}

static void define(struct walk *w, const struct ws_var *v, const struct ws_part *part) {
  struct var_state *x = &w->st.var[v->index];
  if (!part || !part->given || part->of <= 1) {
    x->whole = true;
    return;
  }
  if (x->of != part->of || x->cols != part->cols) x->of = part->of, x->cols = part->cols, x->mask = 0;
  x->mask |= 1ull << part->index;
  if (x->mask == (part->of == 64 ? ~0ull : (1ull << part->of) - 1)) x->whole = true;
}

static bool defined(const struct walk *w, const struct ws_var *v, const struct ws_part *part) {
  const struct var_state *x = &w->st.var[v->index];
  return x->whole || has_any(w, x->if_any) || (part && part->of && part->of == x->of && part->cols == x->cols && (x->mask >> part->index & 1));
}

/* --- uses --- */

static void use(struct walk *w, const struct ws_node *x);

static void use_handle(struct walk *w, struct ws_pos pos, const struct ws_handle *h) {
  if (!h || w->st.handle[h->index].bound || has_any(w, w->st.handle[h->index].if_any)) return;
  ws_error(w->s->diags, pos, "undefined", "`%s` names no slot on some path to here", h->name);
  w->st.handle[h->index].bound = true;
}

static void use_mem(struct walk *w, const struct ws_mem *m) {
  if (!m) return;
  use_handle(w, m->pos, m->handle);
  use(w, m->block);
  use(w, m->col_block);
  for (int k = 0; k < WS_MAX_DIMS; k++) use(w, m->coord[k]);
}

static void use(struct walk *w, const struct ws_node *x) {
  if (!x) return;
  const struct ws_node *v = x->kind == WS_N_PART ? x->arg[0] : x;
  if (v->kind == WS_N_VAR) {
    if (defined(w, v->var, x->kind == WS_N_PART ? &x->part : NULL)) return;
    ws_error(w->s->diags, v->pos, "undefined", "`%s` is not defined on every path to here", v->var->name);
    w->st.var[v->var->index].whole = true;
    return;
  }
  use_mem(w, x->mem);
  use_mem(w, x->mem2);
  for (int i = 0; i < x->n; i++) use(w, x->arg[i]);
}

/* --- control --- */

static int truth(const struct walk *w, const struct ws_node *x) {
  double v;
  if (ws_known(x, w->rank, w->instance, &v)) return v != 0;
  if (x->kind == WS_N_IS_FIRST) return w->first[x->iter->index];
  if (x->kind != WS_N_OP || (x->fn != WS_F_NOT && x->fn != WS_F_AND && x->fn != WS_F_OR)) return -1;
  int a = truth(w, x->arg[0]), b = x->n > 1 ? truth(w, x->arg[1]) : 0;
  if (x->fn == WS_F_NOT) return a < 0 ? -1 : !a;
  int decides = x->fn == WS_F_OR;
  if (a == decides || b == decides) return decides;
  return a < 0 || b < 0 ? -1 : !decides;
}

static void branches(struct walk *w, const struct ws_act *a) {
  struct state before = copy(w, &w->st), after = {0};
  const struct fact *facts = w->facts;
  bool closed = false, any = false;
  for (int i = 0; i < a->narms && !closed; i++) {
    const struct ws_node *c = a->arms[i].cond;
    int known = c ? truth(w, c) : 1;
    if (known == 0) continue;
    closed = known == 1;
    w->st = copy(w, &before);
    if (c) use(w, c);
    struct fact f = {.outer = facts};
    if (c && c->kind == WS_N_LEN) f.list = c->list, f.of = c->iter, f.from = c->from, w->facts = &f;
    acts(w, a->arms[i].body);
    w->facts = facts;
    if (any) meet(w, &w->st, &after);
    after = w->st, any = true;
  }
  w->st = any ? after : before;
  if (!closed && any) meet(w, &w->st, &before);
}

/* Behind a loop that may have run not at all: what its first block gave is there if the list had one. */
static void given_any(struct walk *w, const struct ws_iter *it, const struct state *once) {
  for (size_t i = 0; i < w->p->nvars; i++)
    if (!w->st.var[i].whole && once->var[i].whole && !w->st.var[i].if_any) w->st.var[i].if_any = it;
  for (size_t i = 0; i < w->p->nhandles; i++)
    if (!w->st.handle[i].bound && once->handle[i].bound && !w->st.handle[i].if_any) w->st.handle[i].if_any = it;
}

static void loop(struct walk *w, const struct ws_act *a) {
  const struct ws_iter *it = a->iter;
  struct state before = copy(w, &w->st);
  bool many = !it->list || it->part == WS_ALL || it->part == WS_REST;
  const struct fact *facts = w->facts, here = {it->list, it->of, it->from, facts};
  if (it->list) w->facts = &here;
  w->first[it->index] = it->list && it->part == WS_REST ? 0 : it->part == WS_LAST ? -1 : 1;
  acts(w, a->body);
  struct state once = copy(w, &w->st);
  if (many) {
    w->first[it->index] = 0;
    acts(w, a->body);
  }
  w->first[it->index] = -1;
  w->facts = facts;
  bool ran = !it->list || (it->part != WS_REST && has_any(w, it));
  w->st = ran ? once : before;
  if (!ran && it->part != WS_REST) given_any(w, it, &once);
}

/* --- statements --- */

static void act(struct walk *w, const struct ws_act *a) {
  if (a->kind == WS_S_IF) return branches(w, a);
  if (a->kind == WS_S_FOR) return loop(w, a);
  if (a->kind == WS_S_ONE_THREAD) return acts(w, a->body);
  use(w, a->value);
  use(w, a->a);
  use(w, a->when);
  const struct ws_mem *mem[] = {a->from, a->to, a->a_mem, a->b_mem};
  for (size_t i = 0; i < 4; i++) use_mem(w, mem[i]);
  if (a->kind == WS_S_RELEASE) use_handle(w, a->src->a->pos, a->handle);
  if (a->handle_from) use_handle(w, a->src->a->pos, a->handle_from);
  if (a->awaited && !defined(w, a->awaited, NULL)) use(w, &(struct ws_node){.kind = WS_N_VAR, .var = a->awaited, .pos = a->src->a->pos});
  if (a->handle && a->kind != WS_S_RELEASE) w->st.handle[a->handle->index].bound = true;
  if (a->kind == WS_S_PRODUCT && a->dst && a->accumulate && !defined(w, a->dst, NULL))
    ws_error(w->s->diags, a->src->dst->pos, "undefined", "`%s` is not defined on every path to here: `%s = 0` starts a sum", a->dst->name, a->dst->name);
  if (a->dst) define(w, a->dst, &a->dst_part);
  if (a->dst2) define(w, a->dst2, NULL);
}

static void acts(struct walk *w, const struct ws_acts *a) {
  for (size_t i = 0; i < a->n; i++) act(w, &a->act[i]);
}

void ws_pass_defined(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++)
    for (int r = 0; r < (s->pair ? 2 : 1); r++)
      for (int k = 0; k < s->programs[i].count; k++) {
        struct ws_programm *p = &s->programs[i];
        struct walk w = {.s = s, .p = p, .rank = r, .instance = p->first + k};
        w.st.var = WS_NEW_N(s->arena, struct var_state, p->nvars + 1);
        w.st.handle = WS_NEW_N(s->arena, struct handle_state, p->nhandles + 1);
        w.first = WS_NEW_N(s->arena, signed char, p->niters + 1);
        acts(&w, p->body);
      }
}
