/* What each agent of a schedule does, in a straight line: loops run, conditions decided, slots, phases and groups counted. */
#include "explore.h"
#include <math.h>
#include <string.h>

enum { WHOLE = 1 << 29, OWNER_ANY = -1, OWNER_MACHINE = -2, OWNER_FRAGMENT = -3 };
enum side { FULL, EMPTY, HAND, MEET, SYNC };

struct pending {                 /* a group of this agent that runs on: cp.async, wgmma, bulk */
  size_t first, end;             /* its accesses */
  const struct ws_var *owned[2];
  struct pending *next;
};
struct slot {
  int element, slot;
};
struct thread {                  /* the agent that is being unrolled */
  struct system *x;
  struct agent *me;
  int index, order, committed;   /* committed: the operation of its last tcgen05.commit */
  bool single;
  int *iter;
  struct slot *handle;
  struct {
    int acquired, committed, waited, last;
  } *count;                      /* by ring and element, then by barrier and element */
  int *first;                    /* of a ring or barrier in `count` */
  struct pending *copies, *open, *products, *stores; /* in order of commit; open: the cp.async group not committed yet */
  size_t tensor;                 /* products not covered by a commit are accesses from here on */
  bool any_product;
  int runs;                      /* of statements, to tell executions apart */
};

static void trouble(struct thread *t, enum trouble what, const struct ws_act *a) {
  if (t->x->trouble == T_NONE) t->x->trouble = what, t->x->at = a;
}
static void unknown(struct thread *t, const char *what) { t->x->unknown = what; }

/* --- who --- */

static bool leads(const struct agent *a) { return a->first == 0 && a->lanes != LANES_OTHERS; }
static int warps(const struct agent *a) { return a->end - a->first; }
static int threads(const struct agent *a) { return a->lanes == LANES_LEADER ? 1 : a->lanes == LANES_OTHERS ? 31 : 32 * warps(a); }
static bool alone(const struct thread *t) { return t->single || t->me->role->one_thread; }

static int units_of(const struct thread *t, enum ws_unit u) {
  if (alone(t)) return 1;
  if (u == WS_UNIT_THREAD) return threads(t->me);
  if (u == WS_UNIT_ONE) return leads(t->me);
  return t->me->lanes == LANES_OTHERS ? 0 : warps(t->me);
}

/* --- numbers --- */

static bool value(struct thread *t, const struct ws_node *n, double *v);

static int length(struct thread *t, const struct ws_problem_list *l, const struct ws_iter *tile, const struct ws_node *from) {
  struct system *x = t->x;
  if (!l) return x->ntiles;
  int at = tile ? t->iter[tile->index] : 0;
  if (l->unseen) return at % 2;
  double v = 0;
  if (l->given && from) value(t, from, &v);
  if (l->given) return 1 + ((int)v + at) % 3;
  return x->trips[at < x->ntiles ? at : 0];
}

static bool operation(enum ws_fn f, const double *a, double *v) {
  switch (f) {
  case WS_F_ADD: *v = a[0] + a[1]; break;
  case WS_F_SUB: *v = a[0] - a[1]; break;
  case WS_F_MUL: *v = a[0] * a[1]; break;
  case WS_F_DIV: *v = a[1] != 0 ? trunc(a[0] / a[1]) : 0; break;
  case WS_F_MOD: *v = a[1] != 0 ? fmod(a[0], a[1]) : 0; break;
  case WS_F_NEG: *v = -a[0]; break;
  case WS_F_MAX: *v = fmax(a[0], a[1]); break;
  case WS_F_MIN: *v = fmin(a[0], a[1]); break;
  case WS_F_EQ: *v = a[0] == a[1]; break;
  case WS_F_NE: *v = a[0] != a[1]; break;
  case WS_F_LT: *v = a[0] < a[1]; break;
  case WS_F_LE: *v = a[0] <= a[1]; break;
  case WS_F_GT: *v = a[0] > a[1]; break;
  case WS_F_GE: *v = a[0] >= a[1]; break;
  case WS_F_AND: *v = a[0] != 0 && a[1] != 0; break;
  case WS_F_OR: *v = a[0] != 0 || a[1] != 0; break;
  case WS_F_NOT: *v = a[0] == 0; break;
  case WS_F_SELECT: *v = a[0] != 0 ? a[1] : a[2]; break;
  default: return false;
  }
  return true;
}

static bool of_loop(struct thread *t, const struct ws_node *n, double *v) {
  int at = t->iter[n->iter->index], len = length(t, n->iter->list, n->iter->of, n->iter->from), to = at + n->count;
  switch (n->kind) {
  case WS_N_NEXT: *v = to >= 0 && to < len ? to : -1; return true;
  case WS_N_HAS_NEXT: *v = to >= 0 && to < len; return true;
  case WS_N_IS_FIRST: *v = at == 0; return true;
  case WS_N_IS_LAST: *v = at == len - 1; return true;
  case WS_N_IS_MASKED: t->x->branches = true, *v = (at + t->x->mode) % 2 == 0; return true;
  default: return false;
  }
}

static bool value(struct thread *t, const struct ws_node *n, double *v) {
  double a[3] = {0};
  switch (n->kind) {
  case WS_N_CONST: return *v = n->value, true;
  case WS_N_INSTANCE: return *v = t->me->instance, true;
  case WS_N_RANK: return *v = t->me->cta, true;
  case WS_N_ITER: return *v = t->iter[n->iter->index], true;
  case WS_N_LEN: return *v = length(t, n->list, n->iter, n->from), true;
  case WS_N_AT: return *v = n->count < length(t, n->list, n->iter, n->from) ? n->count : -1, true;
  case WS_N_REDUCE:
    t->x->branches = true;
    return *v = t->x->mode % 2 == 0, n->fn == WS_F_ANY || n->fn == WS_F_ALL;
  case WS_N_OP:
    for (int i = 0; i < n->n; i++)
      if (i == 3 || !value(t, n->arg[i], &a[i])) return false;
    return operation(n->fn, a, v);
  default: return n->iter && of_loop(t, n, v);
  }
}

static bool holds(struct thread *t, const struct ws_node *n) {
  double v = 0;
  if (value(t, n, &v)) return v != 0;
  return t->x->branches = true, t->x->mode % 2 == 0;
}

/* --- accesses --- */

static int element_of(const struct thread *t, int base, const struct ws_node *at) { return ws_index_at(base, at, t->me->cta, t->me->instance); }

static struct place global(struct thread *t, const struct ws_mem *m) {
  double row = -1, col = 0;
  if (m->block) value(t, m->block, &row);
  if (m->col_block) value(t, m->col_block, &col);
  struct place p = {.root = m->tensor, .element = m->tile ? t->iter[m->tile->index] : -1, .stage = (int)row};
  p.r0 = element_of(t, m->row0, m->row_at), p.c0 = element_of(t, m->col0, m->col_at) + (int)col * m->col_block_cols;
  p.r1 = p.r0 + m->rows, p.c1 = p.c0 + m->cols;
  return p;
}

static const char tensor_memory[] = "tensor memory";

static struct place place_of(struct thread *t, const struct ws_mem *m, int cta) {
  if (m->space == WS_GLOBAL) return global(t, m);
  const struct ws_bufferm *b = m->buffer, *root = b;
  while (root->over) root = root->over;
  int stage = m->handle ? t->handle[m->handle->index].slot : m->stage;
  struct place p = {.root = root, .cta = cta, .element = element_of(t, m->element, m->element_at), .stage = stage};
  p.r0 = element_of(t, m->row0, m->row_at), p.r1 = p.r0 + m->rows;
  p.c0 = element_of(t, m->col0, m->col_at), p.c1 = p.c0 + m->cols;
  if (b->tmem) { /* in columns of 32 bits */
    int bits = (int)ws_type_bits(b->type), at = b->column[p.element * b->stages + stage];
    p.root = tensor_memory, p.c1 = at + (p.c1 * bits + 31) / 32, p.c0 = at + p.c0 * bits / 32, p.element = p.stage = 0;
  } else if ((m->handle && (m->handle->rows != b->rows || m->handle->cols != b->cols)) || root->rows != b->rows || root->cols != b->cols || root->type != b->type)
    p.r0 = p.c0 = 0, p.r1 = p.c1 = WHOLE; /* the same bytes in two shapes */
  return p;
}

static bool by_rows(enum ws_layout l) { return l == WS_L_ACC || l == WS_L_A || l == WS_L_LANE; }

/* These layouts give equal parts of the rows to the warps; tensor memory gives a quarter to every fourth warp. */
static struct place share(const struct thread *t, const struct ws_mem *m, struct place p, enum ws_layout l) {
  int n = t->me->role->warps, first = t->me->first, end = t->me->end;
  bool tmem = m->space == WS_TMEM;
  if ((!tmem && !by_rows(l)) || alone(t) || p.r1 == WHOLE) return p;
  if (tmem && n > 4) {
    if (end - first >= 3) return p;
    n = 4, first %= 4, end = first + 1;
  }
  int *lo = m->transposed ? &p.c0 : &p.r0, *hi = m->transposed ? &p.c1 : &p.r1, rows = *hi - *lo;
  if (rows < n || rows % n) return p;
  *hi = *lo + end * (rows / n), *lo += first * (rows / n);
  return p;
}

/* Which lane of a warp has an element, as a number: the same for two accesses only if each lane touches its own bytes. A vector is
 * read by several lanes and written by one of them. */
static int owner_of(const struct thread *t, const struct ws_mem *m, const struct ws_node *n, bool writes) {
  if (alone(t) || m->space == WS_TMEM) return OWNER_MACHINE;
  int vector = n->cols == 1 ? 1 : n->rows == 1 ? 2 : 0;
  if (n->layout == WS_L_LANE && vector == 1) vector = 0;
  return (int)n->layout * 8 + vector * 2 + (vector && writes);
}

static struct access *touch(struct thread *t, const struct ws_act *a, enum access_kind kind, struct place p, int owner) {
  struct access *x = WS_PUSH(t->x->arena, t->x->access, t->x->naccesses, t->x->accesses_cap);
  *x = (struct access){.agent = t->index, .segment = (int)t->me->n, .last = (int)t->me->n, .closer = -1, .order = t->order, .close = t->order};
  x->kind = kind, x->owner = owner, x->at = p, x->act = a;
  x->group = (t->runs * 64 + t->me->instance) * 2 + t->me->cta;
  return x;
}

static void touch_async(struct thread *t, const struct ws_act *a, enum access_kind kind, struct place p) {
  struct access *x = touch(t, a, kind, p, OWNER_MACHINE);
  x->async = true, x->last = x->close = FOREVER;
}

static bool table(const struct ws_mem *m) { return m->space == WS_GLOBAL && (m->tensor->coords || !m->tile); }

static void use(struct thread *t, const struct ws_act *a, const struct ws_var *v) {
  for (const struct pending *g = t->products; g; g = g->next)
    if (g->owned[0] == v || g->owned[1] == v) trouble(t, T_OWNED, a);
}

static void reads(struct thread *t, const struct ws_act *a, const struct ws_node *n) {
  if (n->kind == WS_N_VAR) use(t, a, n->var);
  if (n->kind == WS_N_READ && !table(n->mem)) touch(t, a, AC_READ, share(t, n->mem, place_of(t, n->mem, t->me->cta), n->layout), owner_of(t, n->mem, n, false));
  for (int i = 0; i < n->n; i++) reads(t, a, n->arg[i]);
}

static void writes(struct thread *t, const struct ws_act *a) {
  reads(t, a, a->value);
  if (table(a->to)) return;
  bool fixed = by_rows(a->value->layout) || a->to->space == WS_TMEM;
  struct place p = share(t, a->to, place_of(t, a->to, t->me->cta), a->value->layout);
  touch(t, a, fixed ? AC_WRITE : AC_TOGETHER, p, fixed || alone(t) ? owner_of(t, a->to, a->value, true) : OWNER_ANY);
}

/* --- groups that run on until the thread waits for them --- */

static struct pending *new_group(struct thread *t) {
  struct pending *g = WS_NEW(t->x->arena, struct pending);
  g->first = g->end = t->x->naccesses;
  return g;
}

static void append(struct pending **list, struct pending *g) {
  while (*list) list = &(*list)->next;
  *list = g;
}

/* wait_group N: all but the youngest N are complete. */
static void complete_all_but(struct thread *t, struct pending **list, int n) {
  int all = 0;
  for (const struct pending *g = *list; g; g = g->next) all++;
  for (; n >= 0 && all > n; all--, *list = (*list)->next)
    for (size_t i = (*list)->first; i < (*list)->end; i++) {
      struct access *x = &t->x->access[i];
      if (x->agent == t->index && x->async && x->close == FOREVER) x->last = (int)t->me->n, x->close = t->order;
    }
}

/* --- barriers --- */

static int barrier(struct thread *t, const void *thing, enum side side, int element, int slot, int cta, int count) {
  struct system *x = t->x;
  for (size_t i = 0; i < x->nbarriers; i++) {
    const struct barrier *b = &x->barrier[i];
    if (b->thing == thing && b->side == (int)side && b->element == element && b->slot == slot && b->cta == cta) return (int)i;
  }
  *WS_PUSH(x->arena, x->barrier, x->nbarriers, x->barriers_cap) = (struct barrier){thing, (int)side, element, slot, cta, side >= MEET, count};
  return (int)x->nbarriers - 1;
}

static struct event *event(struct thread *t, const struct ws_act *a, enum event_kind kind, int bar) {
  struct event *e = WS_PUSH(t->x->arena, t->me->event, t->me->n, t->me->cap);
  *e = (struct event){.kind = kind, .barrier = bar, .act = a};
  return e;
}

static void arrive_at(struct thread *t, const struct ws_act *a, int bar, int units, long bytes) {
  struct event *e = event(t, a, EV_ARRIVE, bar);
  e->units = units, e->bytes = bytes;
}

static void wait_for(struct thread *t, const struct ws_act *a, int bar, int phase) {
  if (phase >= 0) event(t, a, EV_WAIT, bar)->phase = phase;
}

/* The lanes of the split warp meet. */
static void meet(struct thread *t, const struct ws_act *a) {
  if (t->me->lanes == LANES_ALL || alone(t)) return;
  int b = barrier(t, t->me->p, MEET, t->me->instance, 0, t->me->cta, 2);
  arrive_at(t, a, b, 1, 0);
  event(t, a, EV_WAIT_OWN, b);
}

static int reach(const struct thread *t, enum ws_barrier_scope s, int *cta) {
  cta[0] = t->me->cta;
  if (!t->x->s->pair || s == WS_SCOPE_CTA) return 1;
  cta[1] = 1;
  if (s == WS_SCOPE_PAIR) return cta[0] = 0, 2;
  cta[0] = s == WS_SCOPE_LEADER ? 0 : 1 - t->me->cta;
  return 1;
}

static int count_of(const struct ws_act *a, enum side side, int el) {
  return side == HAND ? a->barrier->arrivals[el] : side == FULL ? a->pipe->full_count[el] : a->pipe->empty_count[el];
}

static int ring_barrier(struct thread *t, const struct ws_act *a, enum side side, int el, int slot, int cta) {
  return barrier(t, side == HAND ? (const void *)a->barrier : (const void *)a->pipe, side, el, slot, cta, count_of(a, side, el));
}

static void arrive(struct thread *t, const struct ws_act *a, enum side side, int el, int slot, enum ws_barrier_scope scope) {
  int cta[2], n = reach(t, scope, cta), units = units_of(t, a->unit);
  if (a->unit == WS_UNIT_WARP) meet(t, a);
  for (int i = 0; units && i < n; i++) arrive_at(t, a, ring_barrier(t, a, side, el, slot, cta[i]), units, 0);
}

/* tcgen05.commit: an operation of its own that arrives when all products before it are complete. */
static void commit_products(struct thread *t, const struct ws_act *a, enum side side, int el, int slot, enum ws_barrier_scope scope) {
  struct system *x = t->x;
  int cta[2], id = (int)x->nops;
  if (!t->any_product) trouble(t, T_COMMIT, a);
  struct operation o = {.agent = t->index, .segment = (int)t->me->n, .before = t->committed, .units = 1, .act = a, .n = reach(t, scope, cta)};
  for (int i = 0; i < o.n; i++) o.barrier[i] = ring_barrier(t, a, side, el, slot, cta[i]);
  for (size_t i = t->tensor; i < x->naccesses; i++)
    if (x->access[i].agent == t->index && x->access[i].async && x->access[i].act->by == WS_BY_TCGEN05 && x->access[i].closer < 0) x->access[i].closer = id, o.covers = true;
  *WS_PUSH(x->arena, x->op, x->nops, x->ops_cap) = o;
  t->tensor = x->naccesses, t->committed = id;
}

static void named(struct thread *t, const struct ws_act *a, const void *thing, int el, int sub, int count, bool wait) {
  if (alone(t)) unknown(t, "a named barrier of one thread");
  int b = barrier(t, thing, SYNC, el, sub, t->me->cta, count);
  arrive_at(t, a, b, threads(t->me), 0);
  if (wait) event(t, a, EV_WAIT_OWN, b);
}

/* `per: warp`: a barrier for each warp; the warps of a group pass theirs one after the other. */
static void per_warp(struct thread *t, const struct ws_act *a, int el, bool wait) {
  for (int w = t->me->first; w < t->me->end; w++) {
    int b = barrier(t, a->barrier, SYNC, el, w, t->me->cta, a->barrier->arrivals[el]);
    arrive_at(t, a, b, threads(t->me) / warps(t->me), 0);
    if (wait) event(t, a, EV_WAIT_OWN, b);
  }
}

static void cluster(struct thread *t, const struct ws_act *a) {
  int b = barrier(t, t->x, SYNC, 0, 0, 0, 2 * t->x->s->threads);
  arrive_at(t, a, b, threads(t->me), 0);
  event(t, a, EV_WAIT_OWN, b);
}

static void sync_statement(struct thread *t, const struct ws_act *a, int el) {
  const struct ws_schedule *s = t->x->s;
  const struct ws_rolem *r = t->me->role;
  if (a->sync == WS_SYNC_WARP) meet(t, a);
  else if (a->sync == WS_SYNC_ALL) named(t, a, s, 0, 0, s->threads, true);
  else if (a->sync == WS_SYNC_ROLE) named(t, a, r, t->me->instance, 0, 32 * r->warps, true);
  else if (a->sync == WS_SYNC_CLUSTER) cluster(t, a);
  else if (a->role) named(t, a, a->role, -1, 0, 32 * a->role->warps * a->role->count, true);
  else if (a->barrier->per_warp) per_warp(t, a, el, true);
  else named(t, a, a->barrier, el, 0, a->barrier->arrivals[el], true);
}

/* --- rings --- */

static int counter(const struct thread *t, const struct ws_act *a, int el) {
  return t->first[a->pipe ? a->pipe->index : t->x->s->npipelines + a->barrier->index] + el;
}

static void acquire(struct thread *t, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int cta[2], c = counter(t, a, el), k = t->count[c].acquired++, n = r->buffer->stages;
  if (!r->no_empty) wait_for(t, a, ring_barrier(t, a, EMPTY, el, k % n, t->me->cta), k / n - 1);
  if (a->handle) t->handle[a->handle->index] = (struct slot){el, k % n};
  if (r->by != WS_BY_TMA || (t->x->s->pair && r->full == WS_SCOPE_LEADER && t->me->cta)) return;
  reach(t, r->full == WS_SCOPE_PAIR ? WS_SCOPE_CTA : r->full, cta);
  arrive_at(t, a, ring_barrier(t, a, FULL, el, k % n, cta[0]), 1, a->bytes);
}

static void wait_ring(struct thread *t, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int c = counter(t, a, el), k = t->count[c].waited++, n = r->buffer->stages;
  bool polls = a->opt.poll != WS_POLL_LEADER || t->me->lanes != LANES_OTHERS; /* one lane of each warp */
  if (r->by == WS_BY_CP_ASYNC) {
    if (t->count[c].committed <= k) trouble(t, T_GROUPS, a);
    complete_all_but(t, &t->copies, a->wait_groups);
  } else if (polls)
    wait_for(t, a, ring_barrier(t, a, FULL, el, k % n, t->me->cta), k / n);
  if (a->opt.poll == WS_POLL_LEADER) meet(t, a);
  t->count[c].last = k % n;
  if (a->handle) t->handle[a->handle->index] = (struct slot){el, k % n};
}

static void commit(struct thread *t, const struct ws_act *a, int el) {
  int c = counter(t, a, el), k = t->count[c].committed++;
  if (!a->pipe) {
    int n = a->barrier->stages > 0 ? a->barrier->stages : 1;
    commit_products(t, a, HAND, el, k % n, a->barrier->scope);
    return;
  }
  int slot = k % a->pipe->buffer->stages;
  if (a->pipe->by == WS_BY_CP_ASYNC) {
    struct pending *g = t->open ? t->open : new_group(t);
    g->end = t->x->naccesses, t->open = NULL;
    append(&t->copies, g);
  } else if (a->by == WS_BY_TCGEN05)
    commit_products(t, a, FULL, el, slot, a->pipe->full);
  else
    arrive(t, a, FULL, el, slot, a->pipe->full);
}

static void release(struct thread *t, const struct ws_act *a, int el) {
  int slot = t->count[counter(t, a, el)].last;
  if (a->handle) slot = t->handle[a->handle->index].slot, el = t->handle[a->handle->index].element;
  if (a->by == WS_BY_TCGEN05) commit_products(t, a, EMPTY, el, slot, a->pipe->empty);
  else arrive(t, a, EMPTY, el, slot, a->pipe->empty);
}

static void wait_barrier(struct thread *t, const struct ws_act *a, int el) {
  const struct ws_barrierm *b = a->barrier;
  int k = t->count[counter(t, a, el)].waited++, n = b->stages > 0 ? b->stages : 1;
  if (a->opt.poll != WS_POLL_LEADER || t->me->lanes != LANES_OTHERS) wait_for(t, a, ring_barrier(t, a, HAND, el, k % n, t->me->cta), k / n - b->open);
  if (a->opt.poll == WS_POLL_LEADER) meet(t, a);
}

static void arrive_barrier(struct thread *t, const struct ws_act *a, int el) {
  const struct ws_barrierm *b = a->barrier;
  if (!b) return unknown(t, "counters in global memory");
  if (b->named && b->per_warp) return per_warp(t, a, el, false);
  if (b->named) return named(t, a, b, el, 0, b->arrivals[el], false);
  int k = t->count[counter(t, a, el)].committed++, n = b->stages > 0 ? b->stages : 1;
  arrive(t, a, HAND, el, k % n, b->scope);
}

/* --- data --- */

static void load_cp_async(struct thread *t, const struct ws_act *a) {
  if (!t->open) t->open = new_group(t);
  if (!a->when || holds(t, a->when)) touch_async(t, a, AC_TOGETHER, place_of(t, a->to, t->me->cta));
}

static void load_tma(struct thread *t, const struct ws_act *a) {
  struct system *x = t->x;
  if (a->when && !holds(t, a->when)) return;
  int me = t->me->cta, cta[2] = {me, 1}, n = 1, id = (int)x->nops;
  int el = element_of(t, a->to->element, a->to->element_at), slot = a->to->handle ? t->handle[a->to->handle->index].slot : a->to->stage;
  size_t first = x->naccesses;
  if (a->from->space == WS_SMEM) touch_async(t, a, AC_READ, place_of(t, a->from, me));
  if (a->opt.multicast && x->s->pair) cta[0] = 0, n = 2;
  else if (a->to->peer) cta[0] = 1 - me;
  for (int i = 0; i < n; i++) touch_async(t, a, AC_WRITE, place_of(t, a->to, cta[i]));
  for (size_t i = first; i < x->naccesses; i++) x->access[i].closer = id;
  if (n == 1) reach(t, a->pipe->full == WS_SCOPE_PAIR ? WS_SCOPE_CTA : a->pipe->full, cta);
  struct operation o = {.agent = t->index, .segment = (int)t->me->n, .before = -1, .n = n, .bytes = a->bytes, .act = a};
  for (int i = 0; i < n; i++) o.barrier[i] = ring_barrier(t, a, FULL, el, slot, cta[i]);
  *WS_PUSH(x->arena, x->op, x->nops, x->ops_cap) = o;
}

static void store(struct thread *t, const struct ws_act *a) {
  if (a->value && a->kind == WS_S_STORE) return writes(t, a);
  if (a->value) return reads(t, a, a->value);
  struct place p = place_of(t, a->from, t->me->cta);
  if (a->by != WS_BY_BULK) {
    touch(t, a, AC_READ, p, alone(t) ? OWNER_MACHINE : OWNER_ANY);
    return;
  }
  struct pending *g = new_group(t);
  touch_async(t, a, AC_READ, p);
  g->end = t->x->naccesses;
  append(&t->stores, g);
}

static void product_wgmma(struct thread *t, const struct ws_act *a) {
  const struct ws_var *va = a->a && a->a->kind == WS_N_VAR ? a->a->var : NULL;
  if (a->a && !va) reads(t, a, a->a);
  for (const struct pending *g = t->products; g; g = g->next) /* sums into one accumulator may follow each other */
    if ((g->owned[0] == a->dst && !a->accumulate) || g->owned[1] == a->dst || (va && g->owned[0] == va)) trouble(t, T_OWNED, a);
  struct pending *g = new_group(t);
  touch_async(t, a, AC_READ, place_of(t, a->b_mem, t->me->cta));
  if (a->a_mem) touch_async(t, a, AC_READ, share(t, a->a_mem, place_of(t, a->a_mem, t->me->cta), WS_L_ACC));
  g->end = t->x->naccesses, g->owned[0] = a->dst, g->owned[1] = va;
  append(&t->products, g);
}

static void product_tcgen05(struct thread *t, const struct ws_act *a) {
  bool pair = t->x->s->pair;
  t->any_product = true;
  for (int c = pair ? 0 : t->me->cta, end = pair ? 1 : c; c <= end; c++) {
    touch_async(t, a, AC_READ, place_of(t, a->a_mem, c));
    touch_async(t, a, AC_READ, place_of(t, a->b_mem, c));
    touch_async(t, a, AC_WRITE, place_of(t, a->to, c));
  }
}

static void product(struct thread *t, const struct ws_act *a) {
  if (a->by == WS_BY_TCGEN05) return product_tcgen05(t, a);
  if (a->by == WS_BY_WGMMA) return product_wgmma(t, a);
  if (a->a) reads(t, a, a->a);
  touch(t, a, AC_READ, place_of(t, a->b_mem, t->me->cta), OWNER_FRAGMENT);
  if (a->a_mem) touch(t, a, AC_READ, share(t, a->a_mem, place_of(t, a->a_mem, t->me->cta), WS_L_ACC), OWNER_FRAGMENT);
}

static void assign(struct thread *t, const struct ws_act *a) {
  if (a->handle_from) t->handle[a->handle->index] = t->handle[a->handle_from->index];
  if (a->value) reads(t, a, a->value);
  if (a->dst) use(t, a, a->dst);
  if (a->dst2) use(t, a, a->dst2);
}

static void await(struct thread *t, const struct ws_act *a) {
  if (a->from) complete_all_but(t, &t->stores, a->wait_groups);
  else if (a->by == WS_BY_WGMMA) complete_all_but(t, &t->products, a->wait_groups);
}

/* --- statements --- */

static void block(struct thread *t, const struct ws_acts *b);

static void loop(struct thread *t, const struct ws_act *a) {
  const struct ws_iter *i = a->iter;
  int n = length(t, i->list, i->of, i->from), first = i->part == WS_REST ? 1 : i->part == WS_LAST ? n - 1 : 0, end = i->part == WS_FIRST && n > 1 ? 1 : n;
  for (int k = first; n && k < end; k++) t->iter[i->index] = k, block(t, a->body);
}

static void branch(struct thread *t, const struct ws_act *a) {
  for (int i = 0; i < a->narms; i++) {
    const struct ws_node *c = a->arms[i].cond;
    if (c) reads(t, a, c);
    if (!c || holds(t, c)) return block(t, a->arms[i].body);
  }
}

/* The other lanes go on without the elected one: reconverging orders nothing. */
static void one_thread(struct thread *t, const struct ws_act *a) {
  if (!leads(t->me)) return;
  bool was = t->single;
  t->single = true;
  block(t, a->body);
  t->single = was;
}

static void statement(struct thread *t, const struct ws_act *a) {
  int el = element_of(t, a->element, a->element_at);
  t->order++, t->runs += !t->single;
  switch (a->kind) {
  case WS_S_FOR: loop(t, a); break;
  case WS_S_IF: branch(t, a); break;
  case WS_S_ONE_THREAD: one_thread(t, a); break;
  case WS_S_ACQUIRE: acquire(t, a, el); break;
  case WS_S_COMMIT: commit(t, a, el); break;
  case WS_S_WAIT: (a->pipe ? wait_ring : wait_barrier)(t, a, el); break;
  case WS_S_RELEASE: release(t, a, el); break;
  case WS_S_ARRIVE: arrive_barrier(t, a, el); break;
  case WS_S_SYNC: sync_statement(t, a, el); break;
  case WS_S_AWAIT: await(t, a); break;
  case WS_S_LOAD: (a->by == WS_BY_CP_ASYNC ? load_cp_async : load_tma)(t, a); break;
  case WS_S_STORE: case WS_S_REDUCE: store(t, a); break;
  case WS_S_WRITE: writes(t, a); break;
  case WS_S_COPY:
    touch(t, a, AC_READ, place_of(t, a->from, t->me->cta), OWNER_ANY);
    touch(t, a, AC_TOGETHER, place_of(t, a->to, t->me->cta), OWNER_ANY);
    break;
  case WS_S_PRODUCT: product(t, a); break;
  case WS_S_ASSIGN: case WS_S_ASSIGN2: assign(t, a); break;
  default: unknown(t, a->src->text);
  }
}

static void block(struct thread *t, const struct ws_acts *b) {
  for (size_t i = 0; i < b->n; i++) statement(t, &b->act[i]);
}

/* What is still running when the program ends, and slots that were acquired for nothing. */
static void at_end(struct thread *t) {
  const struct ws_schedule *s = t->x->s;
  if (t->stores || t->products || t->copies || t->open) trouble(t, T_IN_FLIGHT, NULL);
  for (size_t i = t->tensor; i < t->x->naccesses; i++)
    if (t->x->access[i].async && t->x->access[i].act->by == WS_BY_TCGEN05) trouble(t, T_IN_FLIGHT, t->x->access[i].act);
  for (int i = 0; i < s->npipelines; i++)
    for (int el = 0; el < s->pipelines[i].count; el++)
      if (s->pipelines[i].by != WS_BY_TMA && t->count[t->first[i] + el].acquired != t->count[t->first[i] + el].committed) trouble(t, T_RING, NULL);
}

static void run(struct system *x, int index) {
  struct agent *me = &x->agent[index];
  const struct ws_schedule *s = x->s;
  struct ws_arena *a = x->arena;
  struct thread t = {.x = x, .me = me, .index = index, .committed = -1, .tensor = x->naccesses};
  t.iter = WS_NEW_N(a, int, me->p->niters + 1), t.handle = WS_NEW_N(a, struct slot, me->p->nhandles + 1);
  t.first = WS_NEW_N(a, int, s->npipelines + s->nbarriers + 1);
  int n = 0;
  for (int i = 0; i < s->npipelines; i++) t.first[i] = n, n += s->pipelines[i].count;
  for (int i = 0; i < s->nbarriers; i++) t.first[s->npipelines + i] = n, n += s->barriers[i].count;
  t.count = ws_alloc(a, sizeof *t.count * (size_t)(n + 1));
  block(&t, me->p->body);
  t.order++;
  at_end(&t);
}

/* --- agents --- */

static void add_agent(struct system *x, const struct ws_programm *p, int cta, int instance, int first, int end, enum lanes lanes) {
  if (x->nagents == MAX_AGENTS) {
    x->unknown = "more agents";
    return;
  }
  x->agent[x->nagents++] = (struct agent){.p = p, .role = p->role, .cta = cta, .instance = instance, .first = first, .end = end, .lanes = lanes};
}

static void add_instance(struct system *x, const struct ws_programm *p, int cta, int instance, bool split) {
  int n = p->role->warps;
  if (p->role->one_thread) add_agent(x, p, cta, instance, 0, 1, LANES_ALL);
  else if (!split) add_agent(x, p, cta, instance, 0, n, LANES_ALL);
  else {
    add_agent(x, p, cta, instance, 0, 1, LANES_LEADER);
    add_agent(x, p, cta, instance, 0, 1, LANES_OTHERS);
    if (n > 1) add_agent(x, p, cta, instance, 1, n, LANES_ALL);
  }
}

int instances(const struct ws_schedule *s) {
  int n = 0;
  for (int i = 0; i < s->nprograms; i++) n += s->programs[i].count;
  return n * (s->pair ? 2 : 1);
}

void unroll(struct system *x, const struct ws_schedule *s, struct ws_arena *a, const int *trips, int ntiles, int mode, int split) {
  *x = (struct system){.s = s, .arena = a, .ntiles = ntiles, .mode = mode};
  memcpy(x->trips, trips, (size_t)ntiles * sizeof *trips);
  int id = 0;
  for (int cta = 0; cta < (s->pair ? 2 : 1); cta++)
    for (int i = 0; i < s->nprograms; i++)
      for (int k = 0; k < s->programs[i].count; k++) add_instance(x, &s->programs[i], cta, s->programs[i].first + k, id++ == split);
  for (int i = 0; i < x->nagents; i++) run(x, i);
}
