/* Sums that start from zero. `D = 0` is a mark, never an instruction for TMEM: the next `+=` on D ignores what D held (the
 * accumulate predicate of tcgen05.mma, scale-d of wgmma). Where every path that reaches a `+=` comes from a mark, or none
 * does, the predicate is a constant; where paths differ it is a value of the code. Register tiles follow the same rule: one
 * that is 0 when a product adds to it need not be read. */
#include "passes.h"

enum { PLACES = 64, ROUNDS = 4 };

struct place {                 /* an accumulator */
  const struct ws_var *var;
  const struct ws_bufferm *buffer;
  const struct ws_handle *handle;
  int element, row0, col0, rows, cols;
};
struct state {
  int n;
  struct place place[PLACES];
  enum ws_start zero[PLACES];  /* ADDS: not marked; STARTS: marked; BY_PATH: on some paths */
};
struct walk {
  struct ws_schedule *s;
  int rank, instance;
  struct state st;
};

static void walk(struct walk *w, struct ws_acts *acts);

static struct place place_of(const struct walk *w, const struct ws_var *v, const struct ws_mem *m) {
  if (!m) return (struct place){.var = v};
  return (struct place){NULL, m->buffer, m->handle, ws_index_at(m->element, m->element_at, w->rank, w->instance),
                        m->row0 + ws_index_at(0, m->row_at, w->rank, w->instance), m->col0 + ws_index_at(0, m->col_at, w->rank, w->instance), m->rows, m->cols};
}

static bool same_owner(const struct place *a, const struct place *b) {
  return a->var == b->var && a->buffer == b->buffer && a->handle == b->handle && a->element == b->element;
}

static bool same(const struct place *a, const struct place *b) {
  return same_owner(a, b) && a->row0 == b->row0 && a->col0 == b->col0 && a->rows == b->rows && a->cols == b->cols;
}

static bool overlap(const struct place *a, const struct place *b) {
  return same_owner(a, b) && a->row0 < b->row0 + b->rows && b->row0 < a->row0 + a->rows && a->col0 < b->col0 + b->cols && b->col0 < a->col0 + a->cols;
}

static enum ws_start *entry(struct state *st, const struct place *p) {
  for (int i = 0; i < st->n; i++)
    if (same(&st->place[i], p)) return &st->zero[i];
  if (st->n == PLACES) return NULL;
  st->place[st->n] = *p;
  st->zero[st->n] = WS_ADDS;
  return &st->zero[st->n++];
}

static enum ws_start join(enum ws_start a, enum ws_start b) { return a == b ? a : WS_STARTS_BY_PATH; }

/* a joined with b, place by place; a place that one does not know is unmarked there. True if a changed. */
static bool meet(struct state *a, const struct state *b) {
  bool changed = false;
  for (int i = 0; i < b->n; i++) {
    enum ws_start *x = entry(a, &b->place[i]), old = x ? *x : WS_ADDS;
    if (x) *x = join(*x, b->zero[i]), changed |= *x != old;
  }
  for (int i = 0; i < a->n; i++) {
    bool known = false;
    for (int k = 0; k < b->n; k++) known |= same(&a->place[i], &b->place[k]);
    if (!known && a->zero[i] == WS_STARTS) a->zero[i] = WS_STARTS_BY_PATH, changed = true;
  }
  return changed;
}

static void set(struct walk *w, const struct place *p, enum ws_start z) {
  enum ws_start *x = entry(&w->st, p);
  if (x) *x = z;
}

static void product(struct walk *w, struct ws_act *a) {
  struct place p = place_of(w, a->dst, a->to);
  enum ws_start z = WS_STARTS;
  if (a->accumulate) {
    for (int i = 0; a->to && i < w->st.n; i++)
      if (w->st.zero[i] != WS_ADDS && !same(&w->st.place[i], &p) && overlap(&w->st.place[i], &p))
        ws_error(w->s->diags, a->src->pos, "zero", "`= 0` marked another part of `%s` than this product adds to", a->to->buffer->name);
    const enum ws_start *x = entry(&w->st, &p);
    z = x ? *x : WS_ADDS;
  }
  a->start = a->start == WS_START_UNKNOWN ? z : join(a->start, z);
  set(w, &p, WS_ADDS);
}

static void branches(struct walk *w, struct ws_act *a) {
  struct state before = w->st, after = before;
  bool closed = false, any = false;
  for (int i = 0; i < a->narms && !closed; i++) {
    double v = 1;
    bool known = !a->arms[i].cond || ws_known(a->arms[i].cond, w->rank, w->instance, &v);
    if (known && v == 0) continue;
    w->st = before;
    walk(w, a->arms[i].body);
    if (any) meet(&after, &w->st);
    else after = w->st;
    any = true, closed = known;
  }
  if (any && !closed) meet(&after, &before);
  w->st = after;
}

static void loop(struct walk *w, struct ws_act *a) {
  bool once = a->iter->list && (a->iter->part == WS_FIRST || a->iter->part == WS_LAST);
  for (int round = 0; round < ROUNDS; round++) {
    struct state head = w->st;
    walk(w, a->body);
    if (once) return;
    bool grew = meet(&head, &w->st);
    w->st = head; /* before an iteration, and behind the loop */
    if (!grew) return;
  }
}

static void walk(struct walk *w, struct ws_acts *acts) {
  for (size_t i = 0; i < acts->n; i++) {
    struct ws_act *a = &acts->act[i];
    if (a->kind == WS_S_IF)
      branches(w, a);
    else if (a->kind == WS_S_FOR)
      loop(w, a);
    else if (a->kind == WS_S_ONE_THREAD)
      walk(w, a->body);
    else if (a->kind == WS_S_PRODUCT)
      product(w, a);
    else if (a->kind == WS_S_ASSIGN && (a->dst || a->to)) {
      struct place p = place_of(w, a->dst, a->to);
      bool zero = a->to || (a->value->kind == WS_N_CONST && a->value->value == 0 && !a->dst_part.given);
      set(w, &p, zero ? WS_STARTS : WS_ADDS);
    } else if (a->kind == WS_S_ACQUIRE && a->handle) {
      for (int k = 0; k < w->st.n; k++)
        if (w->st.place[k].handle == a->handle) w->st.zero[k] = WS_ADDS;
    }
  }
}

void ws_pass_zero(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++)
    for (int rank = 0; rank < (s->pair ? 2 : 1); rank++)
      for (int k = 0; k < s->programs[i].count; k++) {
        struct walk *w = WS_NEW(s->arena, struct walk);
        w->s = s, w->rank = rank, w->instance = s->programs[i].first + k;
        walk(w, s->programs[i].body);
      }
}
