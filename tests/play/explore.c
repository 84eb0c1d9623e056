/* All orders of the events of a system, breadth first. A state is where each agent stands, how far each barrier is and which operations are
 * complete; a state is visited once. */
#include "explore.h"
#include <stdlib.h>
#include <string.h>

const char *trouble_name(enum trouble t) {
  static const char *const names[] = {"clean", "deadlock", "race", "alias", "drift", "count", "in-flight", "groups", "ring", "owned", "commit", "not modelled", "too large"};
  return names[t];
}

/* --- which accesses must not meet --- */

static bool overlap(const struct place *a, const struct place *b) {
  return a->root == b->root && a->cta == b->cta && a->element == b->element && a->stage == b->stage && a->r0 < b->r1 && b->r0 < a->r1 && a->c0 < b->c1 && b->c0 < a->c1;
}

/* Lanes of one warp that touch their own bytes only do not meet. */
static bool same_warp(const struct system *x, const struct access *a, const struct access *b) {
  const struct agent *p = &x->agent[a->agent], *q = &x->agent[b->agent];
  return !a->async && !b->async && p->p == q->p && p->instance == q->instance && p->cta == q->cta && p->lanes != LANES_ALL && q->lanes != LANES_ALL;
}

bool conflict(const struct system *x, const struct access *a, const struct access *b) {
  if ((a->kind == AC_READ && b->kind == AC_READ) || !overlap(&a->at, &b->at)) return false;
  if (a->kind == AC_TOGETHER && b->kind == AC_TOGETHER && a->act == b->act && a->group == b->group) return false;
  return !same_warp(x, a, b) || a->owner != b->owner || a->owner == -1;
}

/* Of one agent: does b start while the asynchronous a may run? tcgen05 operations of one thread run in order (A1). */
static bool overtakes(const struct access *a, const struct access *b) {
  if (!a->async || b->order <= a->order) return false;
  if (a->closer < 0) return b->order < a->close;
  return !(a->act->by == WS_BY_TCGEN05 && b->act->by == WS_BY_TCGEN05 && b->async);
}

/* --- states --- */

struct clash {                   /* where an agent enters a segment: an access that must not be open then */
  const struct access *mine, *other;
  struct clash *next;
};

struct search {
  const struct system *x;
  const struct limits *l;
  size_t size, nstates, cap, mask; /* size: 16-bit words of a state */
  int16_t *state;
  uint32_t *hash;
  struct clash ***clash;         /* by agent and segment */
  int **counted, *op_counted;    /* by agent and event; by operation and target: in which phase it counted */
  int *last_wait;                /* by barrier: the last phase that anybody waits for */
  struct outcome out;
};

static int16_t *pc(int16_t *s) { return s; }
static int16_t *own(const struct search *y, int16_t *s) { return s + y->x->nagents; }
struct bar_state {
  int16_t phase, pending, low, high;
};
static struct bar_state *bar(const struct search *y, int16_t *s, int i) { return (struct bar_state *)(void *)(s + 2 * y->x->nagents) + i; }
static int16_t *done(const struct search *y, int16_t *s) { return s + (size_t)(2 * y->x->nagents) + 4 * y->x->nbarriers; }
static bool is_done(const struct search *y, int16_t *s, int op) { return done(y, s)[op / 8] >> op % 8 & 1; }

static void found(struct search *y, enum trouble t, const struct ws_act *a, const struct ws_act *b) {
  if (y->out.trouble == T_NONE) y->out.trouble = t, y->out.a = a, y->out.b = b;
}

static bool open(const struct search *y, int16_t *s, const struct access *a) {
  int at = pc(s)[a->agent];
  return at >= a->segment && (a->closer >= 0 ? !is_done(y, s, a->closer) : at <= a->last);
}

static void enter(struct search *y, int16_t *s, int agent) {
  for (const struct clash *c = y->clash[agent][pc(s)[agent]]; c; c = c->next)
    if (open(y, s, c->other)) found(y, T_RACE, c->other->act, c->mine->act);
}

static uint32_t hash_of(const int16_t *s, size_t n) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < n; i++) h = (h ^ (uint16_t)s[i]) * 0xff51afd7ed558ccdu, h ^= h >> 29;
  return (uint32_t)(h >> 7);
}

static void rehash(struct search *y) {
  free(y->hash);
  y->mask = 4 * y->cap - 1;
  y->hash = calloc(y->mask + 1, sizeof *y->hash);
  if (!y->hash) abort();
  for (size_t k = 0; k < y->nstates; k++) {
    size_t i = hash_of(y->state + k * y->size, y->size) & y->mask;
    while (y->hash[i]) i = (i + 1) & y->mask;
    y->hash[i] = (uint32_t)k + 1;
  }
}

static void grow(struct search *y) {
  y->cap = y->cap ? 4 * y->cap : 256;
  y->state = realloc(y->state, y->cap * y->size * sizeof *y->state);
  if (!y->state) abort();
  rehash(y);
}

/* The state behind the last one, where the next one is made. */
static int16_t *scratch(struct search *y, size_t from) {
  if (y->nstates + 1 >= y->cap) grow(y);
  return memcpy(y->state + y->nstates * y->size, y->state + from * y->size, y->size * sizeof *y->state);
}

static bool keep(struct search *y) {
  const int16_t *s = y->state + y->nstates * y->size;
  size_t i = hash_of(s, y->size) & y->mask;
  for (; y->hash[i]; i = (i + 1) & y->mask)
    if (!memcmp(s, y->state + (y->hash[i] - 1) * y->size, y->size * sizeof *s)) return false;
  y->hash[i] = (uint32_t)++y->nstates;
  return true;
}

/* --- events --- */

/* An arrival belongs to one phase, whatever the order; else a phase can be complete without those that it waits for. */
static void arrive(struct search *y, int16_t *s, int at, int units, long bytes, int *counted, const struct ws_act *a) {
  struct bar_state *b = bar(y, s, at);
  if (*counted >= 0 && *counted != b->phase && !y->l->deadlock_only) found(y, T_DRIFT, a, NULL);
  *counted = b->phase;
  if (units > b->pending) return found(y, T_COUNT, a, NULL);
  long sum = b->low + b->high * 32768L + bytes;
  b->high = (int16_t)(sum / 32768), b->low = (int16_t)(sum % 32768);
  b->pending = (int16_t)(b->pending - units);
  if (b->pending || sum || !y->x->barrier[at].count) return;
  b->phase++, b->pending = (int16_t)y->x->barrier[at].count;
}

/* mbarrier.try_wait looks at one bit: the phase of that parity is complete, and the next one is not. */
static bool passes(struct search *y, int16_t *s, int agent, const struct event *e) {
  int phase = bar(y, s, e->barrier)->phase;
  if (e->kind == EV_WAIT_OWN) return phase > own(y, s)[agent];
  bool pass = (phase & 1) != (e->phase & 1);
  if (!y->l->deadlock_only && (pass ? phase != e->phase + 1 : phase > e->phase + 1)) found(y, T_ALIAS, e->act, NULL);
  return pass;
}

static bool step(struct search *y, size_t from, int agent) {
  const struct agent *p = &y->x->agent[agent];
  int16_t *s = scratch(y, from);
  int at = pc(s)[agent];
  if (at == (int)p->n) return false;
  const struct event *e = &p->event[at];
  if (e->kind == EV_ARRIVE) {
    own(y, s)[agent] = bar(y, s, e->barrier)->phase;
    arrive(y, s, e->barrier, e->units, e->bytes, &y->counted[agent][at], e->act);
    if (at + 1 == (int)p->n || p->event[at + 1].kind != EV_WAIT_OWN) own(y, s)[agent] = 0;
  } else if (!passes(y, s, agent, e))
    return false;
  else own(y, s)[agent] = 0;
  pc(s)[agent]++;
  if (keep(y)) enter(y, s, agent);
  return true;
}

static bool complete(struct search *y, size_t from, int op) {
  const struct operation *o = &y->x->op[op];
  int16_t *s = scratch(y, from);
  if (is_done(y, s, op) || pc(s)[o->agent] < o->segment || (o->before >= 0 && !is_done(y, s, o->before))) return false;
  done(y, s)[op / 8] = (int16_t)(done(y, s)[op / 8] | 1 << op % 8);
  for (int i = 0; i < o->n; i++) arrive(y, s, o->barrier[i], o->units, -o->bytes, &y->op_counted[2 * op + i], o->act);
  keep(y);
  return true;
}

/* Nobody can go on: all programs have ended, or never will. */
static void stuck(struct search *y, int16_t *s) {
  for (int i = 0; i < y->x->nagents; i++)
    if (pc(s)[i] < (int)y->x->agent[i].n) return found(y, T_DEADLOCK, y->x->agent[i].event[pc(s)[i]].act, NULL);
  for (size_t i = 0; i < y->x->nops; i++)
    for (int k = 0; k < y->x->op[i].n && y->x->op[i].bytes; k++)
      if (y->op_counted[2 * i + (size_t)k] > y->last_wait[y->x->op[i].barrier[k]]) found(y, T_IN_FLIGHT, y->x->op[i].act, NULL);
}

/* --- the search --- */

static void add_clash(struct search *y, const struct access *mine, const struct access *other) {
  struct clash **list = &y->clash[mine->agent][mine->segment];
  for (const struct clash *c = *list; c; c = c->next)
    if (c->other == other) return;
  struct clash *c = WS_NEW(y->x->arena, struct clash);
  *c = (struct clash){mine, other, *list};
  *list = c;
}

static void find_clashes(struct search *y) {
  const struct system *x = y->x;
  y->clash = WS_NEW_N(x->arena, struct clash **, x->nagents + 1);
  for (int i = 0; i < x->nagents; i++) y->clash[i] = WS_NEW_N(x->arena, struct clash *, x->agent[i].n + 1);
  for (size_t i = 0; i < x->naccesses; i++)
    for (size_t k = 0; k < i; k++) {
      const struct access *b = &x->access[i], *a = &x->access[k];
      if (!conflict(x, a, b)) continue;
      if (a->agent != b->agent) add_clash(y, b, a), add_clash(y, a, b);
      else if (overtakes(a, b)) {
        if (a->closer < 0) found(y, T_RACE, a->act, b->act);
        else add_clash(y, b, a);
      }
    }
}

static void start(struct search *y) {
  const struct system *x = y->x;
  y->size = (size_t)(2 * x->nagents) + 4 * x->nbarriers + (x->nops + 7) / 8;
  y->counted = WS_NEW_N(x->arena, int *, x->nagents + 1), y->op_counted = WS_NEW_N(x->arena, int, 2 * x->nops + 2);
  y->last_wait = WS_NEW_N(x->arena, int, x->nbarriers + 1);
  for (size_t i = 0; i < x->nbarriers; i++) y->last_wait[i] = -1;
  for (size_t i = 0; i < 2 * x->nops; i++) y->op_counted[i] = -1;
  for (int i = 0; i < x->nagents; i++) {
    y->counted[i] = WS_NEW_N(x->arena, int, x->agent[i].n + 1);
    for (size_t k = 0; k < x->agent[i].n; k++) {
      const struct event *e = &x->agent[i].event[k];
      y->counted[i][k] = -1;
      if (e->kind == EV_WAIT && e->phase > y->last_wait[e->barrier]) y->last_wait[e->barrier] = e->phase;
    }
  }
  grow(y);
  memset(y->state, 0, y->size * sizeof *y->state);
  for (size_t i = 0; i < x->nbarriers; i++) bar(y, y->state, (int)i)->pending = (int16_t)x->barrier[i].count;
  keep(y);
}

struct outcome explore(const struct system *x, const struct limits *l) {
  struct search y = {.x = x, .l = l};
  if (x->unknown) return (struct outcome){.trouble = T_UNKNOWN};
  if (x->trouble && !l->deadlock_only) return (struct outcome){.trouble = x->trouble, .a = x->at};
  start(&y);
  if (l->deadlock_only) {
    y.clash = WS_NEW_N(x->arena, struct clash **, x->nagents + 1);
    for (int i = 0; i < x->nagents; i++) y.clash[i] = WS_NEW_N(x->arena, struct clash *, x->agent[i].n + 1);
  } else find_clashes(&y);
  for (int i = 0; i < x->nagents; i++) enter(&y, y.state, i);
  for (size_t k = 0; k < y.nstates && !y.out.trouble; k++) {
    bool moved = false;
    for (int i = 0; i < x->nagents; i++) moved |= step(&y, k, i);
    for (size_t i = 0; i < x->nops; i++) moved |= complete(&y, k, (int)i);
    if (!moved) stuck(&y, scratch(&y, k));
    if ((long)y.nstates > l->states) found(&y, T_TOO_LARGE, NULL, NULL);
  }
  y.out.states = (long)y.nstates;
  free(y.state), free(y.hash);
  return y.out;
}

/* --- all of a schedule --- */

static const int one_tile[][1] = {{1}, {2}, {3}, {0}, {5}, {7}};
static const int more_tiles[][3] = {{1, 1, 0}, {2, 1, 0}, {0, 2, 0}, {1, 0, 2}};

struct tour {
  const struct ws_schedule *s;
  const struct limits *l;
  struct outcome worst;
  bool branches;
};

static void visit(struct tour *y, const int *trips, int ntiles, int mode, int split) {
  struct ws_arena a = {0};
  struct system *x;
  if (setjmp(a.oom)) abort();
  x = WS_NEW(&a, struct system);
  unroll(x, y->s, &a, trips, ntiles, mode, split);
  struct outcome o = explore(x, y->l);
  y->branches |= x->branches;
  o.states += y->worst.states;
  bool worse = o.trouble != T_NONE && (y->worst.trouble == T_NONE || y->worst.trouble >= T_UNKNOWN);
  if (worse) y->worst = o;
  y->worst.states = o.states;
  ws_arena_free(&a);
}

static bool splits(const struct ws_schedule *s, int id) {
  int n = instances(s) / (s->pair ? 2 : 1);
  for (int i = 0; i < s->nprograms; id -= s->programs[i++].count)
    if (id % n < s->programs[i].count) return !s->programs[i].role->one_thread;
  return false;
}

static void all_splits(struct tour *y, const int *trips, int ntiles) {
  int n = instances(y->s) / (y->s->pair ? 2 : 1); /* the two CTAs of a pair are alike: split in the first */
  for (int mode = 0; mode < (y->branches ? 2 : 1); mode++) {
    bool any = false;
    for (int i = 0; i < n && (y->worst.trouble == T_NONE || y->worst.trouble >= T_UNKNOWN); i++)
      if (splits(y->s, i)) any = true, visit(y, trips, ntiles, mode, i);
    if (!any) visit(y, trips, ntiles, mode, -1);
  }
}

struct outcome explore_all(const struct ws_schedule *s, const struct limits *l) {
  struct tour y = {.s = s, .l = l};
  size_t singles = 4, sequences = s->persistent ? sizeof more_tiles / sizeof *more_tiles : 0;
  for (int i = 0; i < s->npipelines; i++) { /* both parities of each slot */
    size_t n = (size_t)s->pipelines[i].buffer->stages + 3;
    if (n > singles && n <= sizeof one_tile / sizeof *one_tile) singles = n;
  }
  for (size_t i = 0; i < singles && (y.worst.trouble == T_NONE || y.worst.trouble >= T_UNKNOWN); i++) all_splits(&y, one_tile[i], 1);
  for (size_t i = 0; i < sequences && (y.worst.trouble == T_NONE || y.worst.trouble >= T_UNKNOWN); i++) all_splits(&y, more_tiles[i], more_tiles[i][2] ? 3 : 2);
  return y.worst;
}
