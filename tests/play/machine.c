/* What a step does to a state, and what is wrong with a state. */
#include "machine.h"
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

int16_t *position(int16_t *s) { return s; }
static int16_t *own(const struct machine *m, int16_t *s) { return s + m->x->nagents; }
struct bar_state *bar_of(const struct machine *m, int16_t *s, int i) { return (struct bar_state *)(void *)(s + 2 * m->x->nagents) + i; }
static int16_t *done(const struct machine *m, int16_t *s) { return s + (size_t)(2 * m->x->nagents) + 4 * m->x->nbarriers; }
bool is_done(const struct machine *m, int16_t *s, int op) { return done(m, s)[op / 8] >> op % 8 & 1; }

void machine_found(struct machine *m, enum trouble t, const struct ws_act *a, const struct ws_act *b) {
  if (m->out.trouble == T_NONE) m->out.trouble = t, m->out.a = a, m->out.b = b;
}

static bool open(const struct machine *m, int16_t *s, const struct access *a) {
  int at = position(s)[a->agent];
  return at >= a->segment && (a->closer >= 0 ? !is_done(m, s, a->closer) : at <= a->last);
}

void machine_enter(struct machine *m, int16_t *s, int agent) {
  for (const struct clash *c = m->clash[agent][position(s)[agent]]; c; c = c->next)
    if (open(m, s, c->other)) machine_found(m, T_RACE, c->other->act, c->mine->act);
}

/* --- events --- */

/* An arrival belongs to one phase, whatever the order; else a phase can be complete without those that it waits for. */
static void arrive(struct machine *m, int16_t *s, int at, int units, long bytes, int *counted, const struct ws_act *a) {
  struct bar_state *b = bar_of(m, s, at);
  if (*counted >= 0 && *counted != b->phase && !m->deadlock_only) machine_found(m, T_DRIFT, a, NULL);
  *counted = b->phase;
  if (units > b->pending) return machine_found(m, T_COUNT, a, NULL);
  long sum = b->low + b->high * 32768L + bytes;
  b->high = (int16_t)(sum / 32768), b->low = (int16_t)(sum % 32768);
  b->pending = (int16_t)(b->pending - units);
  if (b->pending || sum || !m->x->barrier[at].count) return;
  b->phase++, b->pending = (int16_t)m->x->barrier[at].count;
}

/* mbarrier.try_wait looks at one bit: the phase of that parity is complete, and the next one is not. */
bool machine_passes(struct machine *m, int16_t *s, int agent, const struct event *e) {
  int phase = bar_of(m, s, e->barrier)->phase;
  if (e->kind == EV_WAIT_OWN) return phase > own(m, s)[agent];
  bool pass = (phase & 1) != (e->phase & 1);
  if (!m->deadlock_only && (pass ? phase != e->phase + 1 : phase > e->phase + 1)) machine_found(m, T_ALIAS, e->act, NULL);
  return pass;
}

bool machine_step(struct machine *m, int16_t *s, int agent) {
  const struct agent *p = &m->x->agent[agent];
  int at = position(s)[agent];
  if (at == (int)p->n) return false;
  const struct event *e = &p->event[at];
  if (e->kind != EV_ARRIVE && !machine_passes(m, s, agent, e)) return false;
  bool waits = e->kind == EV_ARRIVE && at + 1 < (int)p->n && p->event[at + 1].kind == EV_WAIT_OWN;
  own(m, s)[agent] = waits ? bar_of(m, s, e->barrier)->phase : 0;
  if (e->kind == EV_ARRIVE) arrive(m, s, e->barrier, e->units, e->bytes, &m->counted[agent][at], e->act);
  position(s)[agent]++;
  return true;
}

bool machine_complete(struct machine *m, int16_t *s, int op) {
  const struct operation *o = &m->x->op[op];
  if (is_done(m, s, op) || position(s)[o->agent] < o->segment || (o->before >= 0 && !is_done(m, s, o->before))) return false;
  done(m, s)[op / 8] = (int16_t)(done(m, s)[op / 8] | 1 << op % 8);
  for (int i = 0; i < o->n; i++) arrive(m, s, o->barrier[i], o->units, -o->bytes, &m->op_counted[2 * op + i], o->act);
  return true;
}

/* Does anybody wait for a phase that this operation arrives at, or a later commit of its thread? That covers its products, too. */
static bool waited_for(const struct machine *m, size_t op) {
  const struct operation *o = m->x->op;
  for (size_t i = op; i < m->x->nops && (i == op || o[op].units); i++)
    for (int k = 0; k < o[i].n && o[i].agent == o[op].agent && (i == op || o[i].units); k++)
      if (m->op_counted[2 * i + (size_t)k] <= m->last_wait[o[i].barrier[k]]) return true;
  return false;
}

void machine_stuck(struct machine *m, int16_t *s) {
  for (int i = 0; i < m->x->nagents; i++)
    if (position(s)[i] < (int)m->x->agent[i].n) return machine_found(m, T_DEADLOCK, m->x->agent[i].event[position(s)[i]].act, NULL);
  for (size_t i = 0; i < m->x->nops; i++)
    if ((m->x->op[i].bytes || m->x->op[i].covers) && !waited_for(m, i)) machine_found(m, T_IN_FLIGHT, m->x->op[i].act, NULL);
}

/* --- the start --- */

static void add_clash(struct machine *m, const struct access *mine, const struct access *other) {
  struct clash **list = &m->clash[mine->agent][mine->segment];
  for (const struct clash *c = *list; c; c = c->next)
    if (c->other == other) return;
  struct clash *c = WS_NEW(m->x->arena, struct clash);
  *c = (struct clash){mine, other, *list};
  *list = c;
}

static void find_clashes(struct machine *m) {
  const struct system *x = m->x;
  for (size_t i = 0; i < x->naccesses; i++)
    for (size_t k = 0; k < i; k++) {
      const struct access *b = &x->access[i], *a = &x->access[k];
      if (!conflict(x, a, b)) continue;
      if (a->agent != b->agent) add_clash(m, b, a), add_clash(m, a, b);
      else if (overtakes(a, b)) {
        if (a->closer < 0) machine_found(m, T_RACE, a->act, b->act);
        else add_clash(m, b, a);
      }
    }
}

void machine_new(struct machine *m, const struct system *x, const struct limits *l) {
  *m = (struct machine){.x = x, .deadlock_only = l->deadlock_only};
  m->size = (size_t)(2 * x->nagents) + 4 * x->nbarriers + (x->nops + 7) / 8;
  m->counted = WS_NEW_N(x->arena, int *, x->nagents + 1), m->op_counted = WS_NEW_N(x->arena, int, 2 * x->nops + 2);
  m->last_wait = WS_NEW_N(x->arena, int, x->nbarriers + 1);
  m->clash = WS_NEW_N(x->arena, struct clash **, x->nagents + 1);
  for (size_t i = 0; i < x->nbarriers; i++) m->last_wait[i] = -1;
  for (size_t i = 0; i < 2 * x->nops; i++) m->op_counted[i] = -1;
  for (int i = 0; i < x->nagents; i++) {
    m->clash[i] = WS_NEW_N(x->arena, struct clash *, x->agent[i].n + 1);
    m->counted[i] = WS_NEW_N(x->arena, int, x->agent[i].n + 1);
    for (size_t k = 0; k < x->agent[i].n; k++) {
      const struct event *e = &x->agent[i].event[k];
      m->counted[i][k] = -1;
      if (e->kind == EV_WAIT && e->phase > m->last_wait[e->barrier]) m->last_wait[e->barrier] = e->phase;
    }
  }
  if (!l->deadlock_only) find_clashes(m);
}

void machine_start(const struct machine *m, int16_t *s) {
  memset(s, 0, m->size * sizeof *s);
  for (size_t i = 0; i < m->x->nbarriers; i++) bar_of(m, s, (int)i)->pending = (int16_t)m->x->barrier[i].count;
}
