/* The same answers without all states. Where every arrival counts for one phase and every wait is seen in time, a step that is possible
 * stays possible until it is taken, and steps commute: the states form a lattice. So one run to its end decides a deadlock. And
 * for each place in a program: go there with no more steps of the others than it takes; stand still; let all others go as far as
 * they can. They pass every place where they can be while this one stands here, so every race shows, and every arrival that can come
 * too early, and every phase that can be missed: the assumption is checked as it is used. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

struct freezer {
  struct machine m;
  int agent, op;                 /* who stands still; -1 = nobody */
  struct arrival {
    int phase, agent, event, op;
    struct arrival *next;
  } **arrivals;                  /* by barrier */
};

static void run_on(struct freezer *f, int16_t *s) {
  const struct system *x = f->m.x;
  for (bool moved = true; moved && !f->m.out.trouble;) {
    moved = false;
    for (int i = 0; i < x->nagents; i++)
      while (i != f->agent && !f->m.out.trouble && machine_step(&f->m, s, i)) machine_enter(&f->m, s, i), moved = true;
    for (size_t i = 0; i < x->nops; i++)
      if ((int)i != f->op) moved |= machine_complete(&f->m, s, (int)i);
  }
}

static void note_arrival(struct freezer *f, int bar, struct arrival a) {
  struct arrival *x = WS_NEW(f->m.x->arena, struct arrival);
  *x = a, x->next = f->arrivals[bar], f->arrivals[bar] = x;
}

static void note_arrivals(struct freezer *f) {
  const struct system *x = f->m.x;
  f->arrivals = WS_NEW_N(x->arena, struct arrival *, x->nbarriers + 1);
  for (int i = 0; i < x->nagents; i++)
    for (size_t k = 0; k < x->agent[i].n; k++)
      if (x->agent[i].event[k].kind == EV_ARRIVE) note_arrival(f, x->agent[i].event[k].barrier, (struct arrival){f->m.counted[i][k], i, (int)k, -1, NULL});
  for (size_t i = 0; i < x->nops; i++)
    for (int k = 0; k < x->op[i].n; k++) note_arrival(f, x->op[i].barrier[k], (struct arrival){f->m.op_counted[2 * i + (size_t)k], -1, 0, (int)i, NULL});
}

/* Runs an agent up to an event, and of the others what it needs: all arrivals of the phases that it waits for. */
static void advance(struct freezer *f, int16_t *s, int agent, int to);

static void finish(struct freezer *f, int16_t *s, int op) {
  const struct operation *o = &f->m.x->op[op];
  if (is_done(&f->m, s, op)) return;
  advance(f, s, o->agent, o->segment);
  if (o->before >= 0) finish(f, s, o->before);
  machine_complete(&f->m, s, op);
}

static void advance(struct freezer *f, int16_t *s, int agent, int to) {
  const struct agent *p = &f->m.x->agent[agent];
  while (position(s)[agent] < to && !f->m.out.trouble) {
    int at = position(s)[agent];
    const struct event *e = &p->event[at];
    int phase = e->kind == EV_WAIT ? e->phase : e->kind == EV_WAIT_OWN ? f->m.counted[agent][at - 1] : -1;
    if (phase >= 0)
      for (const struct arrival *a = f->arrivals[e->barrier]; a; a = a->next) {
        if (a->phase > phase) continue;
        if (a->op >= 0) finish(f, s, a->op);
        else advance(f, s, a->agent, a->event + 1);
      }
    if (!machine_step(&f->m, s, agent)) return machine_found(&f->m, T_DRIFT, e->act, NULL);
    machine_enter(&f->m, s, agent);
  }
}

static void stand_still(struct freezer *f, const int16_t *least, int16_t *s) {
  memcpy(s, least, f->m.size * sizeof *s);
  run_on(f, s);
  if (f->agent < 0 || f->m.out.trouble) return;
  const struct agent *p = &f->m.x->agent[f->agent];
  int at = position(s)[f->agent];
  if (at < (int)p->n && p->event[at].kind == EV_WAIT) machine_passes(&f->m, s, f->agent, &p->event[at]);
}

static void each_place(struct freezer *f, int16_t *least, int16_t *s) {
  const struct system *x = f->m.x;
  for (f->agent = 0, f->op = -1; f->agent < x->nagents; f->agent++) {
    machine_start(&f->m, least);
    for (int i = 0; i < (int)x->agent[f->agent].n && !f->m.out.trouble; i++) {
      advance(f, least, f->agent, i);
      stand_still(f, least, s);
    }
  }
  f->agent = -1;
  for (f->op = 0; f->op < (int)x->nops && !f->m.out.trouble; f->op++) {
    machine_start(&f->m, least);
    advance(f, least, x->op[f->op].agent, x->op[f->op].segment);
    stand_still(f, least, s);
  }
}

struct outcome freeze(const struct system *x, const struct limits *l) {
  struct freezer f = {.agent = -1, .op = -1};
  if (x->unknown) return (struct outcome){.trouble = T_UNKNOWN};
  if (x->trouble) return (struct outcome){.trouble = x->trouble, .a = x->at};
  machine_new(&f.m, x, l);
  int16_t *s = WS_NEW_N(x->arena, int16_t, f.m.size + 1), *least = WS_NEW_N(x->arena, int16_t, f.m.size + 1);
  machine_start(&f.m, s);
  for (int i = 0; i < x->nagents; i++) machine_enter(&f.m, s, i);
  run_on(&f, s);
  if (!f.m.out.trouble) machine_stuck(&f.m, s);
  if (f.m.out.trouble) return f.m.out;
  note_arrivals(&f);
  each_place(&f, least, s);
  return f.m.out;
}
