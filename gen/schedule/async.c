/* The N of wgmma.wait_group and of bulk wait_group.read: groups that this thread committed after the awaited one. One product
 * by wgmma is one group, one store or reduction by one thread is one group; groups complete in order. N is an immediate: it
 * has to be the same on every path on which something is awaited; where nothing is in flight any N is right.
 *
 * The walk keeps the set of queues that paths lead to. A queue holds the last groups only: older ones are complete or no
 * longer awaited. */
#include "passes.h"
#include <string.h>

enum { DEPTH = 12, STATES = 128, ROUNDS = 24 }; /* a loop that keeps adding groups fills DEPTH and then stays */

struct group {                 /* what a group writes or reads: a register tile, or a buffer's element and part */
  const struct ws_var *var;
  const struct ws_bufferm *buffer;
  int element, row0, col0;
};
struct queue {
  int n;
  struct group g[DEPTH];
};
struct set {
  struct queue *q;
  size_t n, cap;
};
struct walk {
  struct ws_schedule *s;
  enum ws_mechanism by;        /* WGMMA or BULK */
  int rank, instance;
  bool failed, overflow;
  long steps;
  struct set *now;
};

static void walk(struct walk *w, struct ws_acts *acts);

static bool same_group(const struct group *a, const struct group *b) {
  return a->var == b->var && a->buffer == b->buffer && a->element == b->element && a->row0 == b->row0 && a->col0 == b->col0;
}

static bool same_queue(const struct queue *a, const struct queue *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (!same_group(&a->g[i], &b->g[i])) return false;
  return true;
}

static bool add(struct walk *w, struct set *s, const struct queue *q) {
  for (size_t i = 0; i < s->n; i++)
    if (same_queue(&s->q[i], q)) return false;
  if (s->n == STATES) return w->overflow = true, false;
  struct queue item = *q;
  *WS_PUSH(w->s->arena, s->q, s->n, s->cap) = item;
  return true;
}

static struct set *copy(struct walk *w, const struct set *from) {
  struct set *s = WS_NEW(w->s->arena, struct set);
  for (size_t i = 0; i < from->n; i++) *WS_PUSH(w->s->arena, s->q, s->n, s->cap) = from->q[i];
  return s;
}

static struct group group_of(const struct walk *w, const struct ws_var *v, const struct ws_mem *m) {
  struct group g = {.var = v};
  if (m)
    g = (struct group){NULL, m->buffer, ws_index_at(m->element, m->element_at, w->rank, w->instance),
                       m->row0 + ws_index_at(0, m->row_at, w->rank, w->instance), m->col0 + ws_index_at(0, m->col_at, w->rank, w->instance)};
  return g;
}

/* Parts of one store are never awaited apart from it: awaiting a buffer awaits any part of it. */
static bool awaited(const struct group *g, const struct group *what, const struct ws_mem *m) {
  if (!m) return g->var == what->var;
  bool whole = m->rows == m->buffer->rows && m->cols == m->buffer->cols;
  return g->buffer == what->buffer && g->element == what->element && (whole || (g->row0 == what->row0 && g->col0 == what->col0));
}

static void push(struct walk *w, const struct group *g) {
  struct set *next = WS_NEW(w->s->arena, struct set);
  for (size_t i = 0; i < w->now->n; i++) {
    struct queue q = w->now->q[i];
    if (q.n == DEPTH) memmove(q.g, q.g + 1, (size_t)--q.n * sizeof *q.g);
    q.g[q.n++] = *g;
    add(w, next, &q);
  }
  w->now = next;
}

static void await(struct walk *w, struct ws_act *a) {
  struct group what = group_of(w, a->awaited, a->from);
  struct set *next = WS_NEW(w->s->arena, struct set);
  a->by = w->by;
  for (size_t i = 0; i < w->now->n; i++) {
    struct queue q = w->now->q[i];
    int k = q.n - 1;
    while (k >= 0 && !awaited(&q.g[k], &what, a->from)) k--;
    if (k >= 0) {
      int n = q.n - 1 - k;
      if (a->wait_groups >= 0 && a->wait_groups != n && !w->failed) {
        ws_error(w->s->diags, a->src->pos, "groups-differ", "%d or %d groups are younger than the awaited one, by the path taken", a->wait_groups, n);
        w->failed = true;
      }
      a->wait_groups = n;
      memmove(q.g, q.g + k + 1, (size_t)n * sizeof *q.g);
      q.n = n;
    }
    add(w, next, &q);
  }
  w->now = next;
}

static void branches(struct walk *w, struct ws_act *a) {
  struct set *before = copy(w, w->now), *after = WS_NEW(w->s->arena, struct set);
  bool closed = false;
  for (int i = 0; i < a->narms && !closed; i++) {
    double v = 1;
    bool known = !a->arms[i].cond || ws_known(a->arms[i].cond, w->rank, w->instance, &v);
    if (known && v == 0) continue;
    w->now = copy(w, before);
    walk(w, a->arms[i].body);
    for (size_t k = 0; k < w->now->n; k++) add(w, after, &w->now->q[k]);
    closed = known;
  }
  for (size_t k = 0; !closed && k < before->n; k++) add(w, after, &before->q[k]);
  w->now = after;
}

/* A list may have no block, one, or many. A list's first or last block is there where its loop is reached. */
static void loop(struct walk *w, struct ws_act *a) {
  bool once = a->iter->list && (a->iter->part == WS_FIRST || a->iter->part == WS_LAST);
  struct set *seen = copy(w, w->now);
  for (int round = 0; round < ROUNDS; round++) {
    walk(w, a->body);
    if (once) return;
    bool grew = false;
    for (size_t k = 0; k < w->now->n; k++) grew |= add(w, seen, &w->now->q[k]);
    if (!grew) break;
    w->now = copy(w, seen);
  }
  w->now = seen;
}

static bool issues(const struct walk *w, const struct ws_act *a) {
  if (w->by == WS_BY_WGMMA) return a->kind == WS_S_PRODUCT && a->by == WS_BY_WGMMA;
  return (a->kind == WS_S_STORE || a->kind == WS_S_REDUCE) && a->by == WS_BY_BULK;
}

static void walk(struct walk *w, struct ws_acts *acts) {
  for (size_t i = 0; i < acts->n && !w->overflow && !w->failed; i++) {
    struct ws_act *a = &acts->act[i];
    if ((w->steps += 1 + (long)w->now->n / 8) > WS_MAX_STEPS) {
      w->overflow = true;
      return;
    }
    if (a->kind == WS_S_IF)
      branches(w, a);
    else if (a->kind == WS_S_FOR)
      loop(w, a);
    else if (a->kind == WS_S_ONE_THREAD)
      walk(w, a->body);
    else if (issues(w, a)) {
      struct group g = group_of(w, a->dst, w->by == WS_BY_BULK ? a->from : NULL);
      push(w, &g);
    } else if (a->kind == WS_S_AWAIT && (a->from ? w->by == WS_BY_BULK : w->by == WS_BY_WGMMA && a->by != WS_BY_TCGEN05))
      await(w, a);
  }
}

/* --- awaits: of which mechanism --- */

struct origin {
  const struct ws_var *v;
  bool product, tmem;
};

static bool reads_tmem(const struct ws_node *x) {
  if (x->kind == WS_N_READ && x->mem->space == WS_TMEM) return true;
  for (int i = 0; i < x->n; i++)
    if (reads_tmem(x->arg[i])) return true;
  return false;
}

static void origins(void *ctx, struct ws_act *a) {
  struct origin *o = ctx;
  if (a->dst != o->v) return;
  o->product |= a->kind == WS_S_PRODUCT && a->by == WS_BY_WGMMA;
  o->tmem |= a->value && reads_tmem(a->value);
}

struct pass {
  struct ws_schedule *s;
  struct ws_programm *p;
  bool wgmma, bulk;
};

static void classify(void *ctx, struct ws_act *a) {
  struct pass *x = ctx;
  if (a->kind != WS_S_AWAIT) return;
  if (a->from) {
    x->bulk = true;
    return;
  }
  struct origin o = {.v = a->awaited};
  ws_each_act(x->p->body, origins, &o);
  a->by = o.product ? WS_BY_WGMMA : o.tmem ? WS_BY_TCGEN05 : WS_BY_THREADS;
  x->wgmma |= o.product;
  if (!o.product && !o.tmem)
    ws_error(x->s->diags, a->src->pos, "await", "`%s` comes from no wgmma and no read of TMEM: there is nothing to await", a->awaited->name);
}

/* Awaiting what is complete is allowed (the tail of a protocol may say so); what is never issued is a mistake. */
struct issued {
  const struct ws_act *await;
  bool any;
};

static void issues_it(void *ctx, struct ws_act *a) {
  struct issued *x = ctx;
  const struct ws_act *w = x->await;
  x->any |= w->from ? a->by == WS_BY_BULK && a->from && (a->kind == WS_S_STORE || a->kind == WS_S_REDUCE) && a->from->buffer == w->from->buffer
                    : a->kind == WS_S_PRODUCT && a->dst == w->awaited;
}

static void unresolved(void *ctx, struct ws_act *a) {
  struct pass *x = ctx;
  if (a->kind != WS_S_AWAIT || a->by == WS_BY_TCGEN05 || a->wait_groups >= 0) return;
  struct issued is = {.await = a};
  ws_each_act(x->p->body, issues_it, &is);
  if (!is.any) ws_error(x->s->diags, a->src->pos, "await", a->from ? "no thread of this program stores from `%s`" : "no product writes `%s`", a->from ? a->from->buffer->name : a->awaited->name);
}

void ws_pass_async(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++) {
    struct pass x = {.s = s, .p = &s->programs[i]};
    size_t before = s->diags->errors;
    ws_each_act(x.p->body, classify, &x);
    for (int m = 0; m < 2; m++)
      for (int rank = 0; rank < (s->pair ? 2 : 1); rank++)
        for (int k = 0; k < x.p->count && (m ? x.bulk : x.wgmma); k++) {
          struct walk w = {.s = s, .by = m ? WS_BY_BULK : WS_BY_WGMMA, .rank = rank, .instance = x.p->first + k, .now = WS_NEW(s->arena, struct set)};
          add(&w, w.now, &(struct queue){0});
          walk(&w, x.p->body);
          if (w.overflow) ws_error(s->diags, x.p->decl->pos, "groups", "too many paths to count groups on");
        }
    if (s->diags->errors == before) ws_each_act(x.p->body, unresolved, &x);
  }
}
