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
};
struct state {
  struct var_state *var;
  bool *handle;
};
struct fact {                  /* this list has a block */
  const struct ws_node *len;
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
  struct state c = {WS_NEW_N(w->s->arena, struct var_state, w->p->nvars + 1), WS_NEW_N(w->s->arena, bool, w->p->nhandles + 1)};
  if (w->p->nvars) memcpy(c.var, from->var, w->p->nvars * sizeof *c.var);
  if (w->p->nhandles) memcpy(c.handle, from->handle, w->p->nhandles * sizeof *c.handle);
  return c;
}

static void meet(struct walk *w, struct state *a, const struct state *b) {
  for (size_t i = 0; i < w->p->nvars; i++) {
    struct var_state *x = &a->var[i];
    const struct var_state *y = &b->var[i];
    if (x->whole && y->whole) continue;
    if (x->whole)
      *x = *y;
    else if (!y->whole)
      x->mask = x->of == y->of && x->cols == y->cols ? x->mask & y->mask : 0;
  }
  for (size_t i = 0; i < w->p->nhandles; i++) a->handle[i] = a->handle[i] && b->handle[i];
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
  return x->whole || (part && part->of && part->of == x->of && part->cols == x->cols && (x->mask >> part->index & 1));
}

/* --- uses --- */

static void use(struct walk *w, const struct ws_node *x);

static void use_handle(struct walk *w, struct ws_pos pos, const struct ws_handle *h) {
  if (!h || w->st.handle[h->index]) return;
  ws_error(w->s->diags, pos, "undefined", "`%s` names no slot on some path to here", h->name);
  w->st.handle[h->index] = true;
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
    struct fact f = {c, facts};
    if (c && c->kind == WS_N_LEN) w->facts = &f;
    acts(w, a->arms[i].body);
    w->facts = facts;
    if (any) meet(w, &w->st, &after);
    after = w->st, any = true;
  }
  w->st = any ? after : before;
  if (!closed && any) meet(w, &w->st, &before);
}

static bool same_block(const struct ws_node *a, const struct ws_node *b) {
  return a == b || (a && b && a->kind == b->kind && a->iter == b->iter && a->count == b->count);
}

static bool has_block(const struct walk *w, const struct ws_iter *it) {
  if (!it->list) return true;
  if (it->part == WS_FIRST || it->part == WS_LAST) return true; /* what follows such a loop stands inside `if LIST` */
  for (const struct fact *f = w->facts; f && it->part == WS_ALL; f = f->outer)
    if (f->len->list == it->list && f->len->iter == it->of && same_block(f->len->from, it->from)) return true;
  return false;
}

static void loop(struct walk *w, const struct ws_act *a) {
  const struct ws_iter *it = a->iter;
  struct state before = copy(w, &w->st);
  bool many = !it->list || it->part == WS_ALL || it->part == WS_REST;
  w->first[it->index] = it->list && it->part == WS_REST ? 0 : it->part == WS_LAST ? -1 : 1;
  acts(w, a->body);
  struct state once = copy(w, &w->st);
  if (many) {
    w->first[it->index] = 0;
    acts(w, a->body);
  }
  w->first[it->index] = -1;
  w->st = has_block(w, it) ? once : before;
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
  if (a->handle && a->kind != WS_S_RELEASE) w->st.handle[a->handle->index] = true;
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
        w.st.handle = WS_NEW_N(s->arena, bool, p->nhandles + 1);
        w.first = WS_NEW_N(s->arena, signed char, p->niters + 1);
        acts(&w, p->body);
      }
}
