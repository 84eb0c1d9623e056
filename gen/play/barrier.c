/* Phases of mbarriers and named barriers: who arrived, which phase is complete, and the proof that no other order exists.
 *
 * An arrival must come after the phase before its own: otherwise it could count for that one. A phase must not complete
 * before each thread that waits for the phase before has seen it: a wait looks at one bit of parity (PTX ISA,
 * mbarrier.try_wait), so it would miss it. With both, the phases seen here are those of every execution. */
#include "world.h"
#include <string.h>

/* Does c come after a phase? It does behind a wait for it, or for something that follows, and where it comes after every arrival. */
bool after_phase(const struct world *w, const struct clock *c, int comp, int phases, const struct clock *last) {
  if (c->v[comp] >= phases) return true;
  for (int i = 0; i < w->dims; i++)
    if (i != comp && last->v[i] > c->v[i]) return false;
  return true;
}

static void check_waiters(struct world *w, struct bar *b, const struct ws_act *act) {
  for (int i = 0; i < w->nwarps; i++) {
    struct warp *p = &w->warp[i];
    const struct actor *a[2] = {&p->all, &p->lead};
    for (int k = 0; k < 2; k++) {
      int c = a[k]->comp;
      if (c < 0 || b->seen[c] != b->phase - 1 || b->now.v[c] >= b->seen_at[c]) continue;
      const struct ws_pos pos = b->barrier ? b->barrier->decl->name.pos : b->pipe->decl->name.pos;
      struct finding *f = report(w, pos, "phase", "phase %d of %s may complete before %s has seen phase %d: the parity aliases", b->phase, bar_name(w, b), role_name(p), b->phase - 1);
      const struct ws_act *wait = wait_of(p, b);
      if (wait) note(w, f, wait->src->pos, "%s waits for phase %d here", role_name(p), b->phase - 1);
      note(w, f, act->src->pos, "this can be the last arrival of phase %d: it has to come after that wait, by an arrival of %s behind it and a wait before this", b->phase, role_name(p));
    }
  }
}

static void complete(struct world *w, struct bar *b, const struct ws_act *act) {
  if (b->pending || b->bytes || !b->count) return;
  check_waiters(w, b, act);
  b->phase++;
  b->now.v[b->comp] = b->phase;
  struct clock old = b->last;
  b->last = b->now, b->now = old;
  memset(b->now.v, 0, (size_t)w->dims * sizeof *b->now.v);
  b->pending = b->count;
}

/* --- init and inval, where they are stated; without `init` the entry has initialised it --- */

void bar_init(struct warp *p, struct bar *b, int count) {
  struct world *w = p->w;
  if (b->init && !b->inval) {
    struct finding *f = report(w, p->at->src->pos, "init", "%s is initialised again", bar_name(w, b));
    note(w, f, b->init->src->pos, "it was initialised here, and `inval` does not stand between");
  }
  struct actor *me = actor_of(p);
  if (b->phase) { /* hardware would count phases from 0 again, waits and arrivals go on counting */
    incomplete(w, "%u: a barrier that is initialised again after %s", p->at->src->pos.line, "a phase of it is complete");
    w->failed = true;
  }
  b->init = p->at, b->inval = NULL, b->init_comp = me->comp, b->init_time = ++me->clock.v[me->comp], b->fence_time = 0;
  b->count = b->pending = count;
}

void bar_inval(struct warp *p, struct bar *b) {
  struct world *w = p->w;
  struct clock mine = knowledge(p, false);
  b->inval = p->at;
  for (int c = 0; b->used.v && c < w->nactors; c++) {
    if (b->used.v[c] <= mine.v[c]) continue;
    struct finding *f = report(w, p->at->src->pos, "init", "%s is invalidated while it may be used", bar_name(w, b));
    note(w, f, p->at->src->pos, "by %s, %s: a barrier has to stand before this, behind the last use", role_name(p), where(p));
    return;
  }
}

/* PTX ISA "membar, fence": for the threads of the CTA any barrier behind `init` is enough; the asynchronous proxy and the peer need
 * fence.mbarrier_init by the thread that initialised, and that barrier behind it. */
void bar_fence(struct warp *p) {
  struct world *w = p->w;
  struct actor *me = actor_of(p), *lead = p->lead.comp >= 0 ? &p->lead : me; /* where all lanes execute it, the elected one does */
  for (int i = 0; i < w->nbars; i++) {
    struct bar *b = w->bar[i];
    if (!b || !b->init || b->fence_time) continue;
    if (b->init_comp == me->comp) b->fence_time = ++me->clock.v[me->comp];
    else if (b->init_comp == lead->comp) b->fence_time = ++lead->clock.v[lead->comp];
  }
}

void bar_visible(struct warp *p, struct bar *b, const char *who) {
  if (!b->barrier || !b->barrier->inits || !b->init) return; /* bar_usable finds that it is not initialised */
  if (b->fence_time && knowledge(p, false).v[b->init_comp] >= b->fence_time) return;
  struct world *w = p->w;
  struct finding *f = report(w, p->at->src->pos, "init", "%s is used by %s, which may not see its `init`", bar_name(w, b), who);
  if (b->init_comp == actor_of(p)->comp) note(w, f, b->init->src->pos, "`fence mbarrier_init` has to stand behind this, before line %u", p->at->src->pos.line);
  else note(w, f, b->init->src->pos, "this thread has to execute `fence mbarrier_init` behind this, and then a barrier has to hand it to %s", role_name(p));
}

void bar_usable(struct warp *p, struct bar *b) {
  struct world *w = p->w;
  struct actor *me = actor_of(p);
  struct clock mine = knowledge(p, false);
  if (!b->used.v) b->used = new_clock(w);
  b->used.v[me->comp] = ++me->clock.v[me->comp];
  if (b->inval) {
    struct finding *f = report(w, p->at->src->pos, "init", "%s is used when it may be invalid", bar_name(w, b));
    note(w, f, b->inval->src->pos, "by this; a barrier has to stand before it, behind the last use");
  } else if (b->barrier->inits && (!b->init || mine.v[b->init_comp] < b->init_time)) {
    struct finding *f = report(w, p->at->src->pos, "init", "%s is used, but not behind its `init`", bar_name(w, b));
    note(w, f, b->init ? b->init->src->pos : p->at->src->pos, "by %s, %s: a barrier has to stand between", role_name(p), where(p));
  }
}

void bar_arrive(struct world *w, const struct warp *p, const struct ws_act *act, struct bar *b, const struct clock *c, int units) {
  if (units > b->pending) {
    struct finding *f = report(w, act->src->pos, "count", "%s arrives at %s, whose phase %d has had all its %d arrivals", role_name(p), bar_name(w, b), b->phase, b->count);
    note(w, f, act->src->pos, "%s", where(p));
    w->failed = true;
    return;
  }
  if (b->phase && !after_phase(w, c, b->comp, b->phase, &b->last)) {
    struct finding *f = report(w, act->src->pos, "drift", "this arrival at %s is meant for phase %d, but is not ordered after phase %d: it may count for that one", bar_name(w, b), b->phase, b->phase - 1);
    note(w, f, act->src->pos, "by %s, %s: a wait for the phase before, or for something that follows it, has to stand before this", role_name(p), where(p));
  }
  join(w, &b->now, c);
  b->pending -= units;
  complete(w, b, act);
}

void bar_bytes(struct world *w, struct bar *b, const struct ws_act *act, long bytes, const struct clock *c) {
  join(w, &b->now, c);
  b->bytes -= bytes;
  complete(w, b, act);
}

void bar_expect(struct warp *p, struct bar *b, long bytes) {
  b->bytes += bytes;
  declare_bar(p, WS_D_ARRIVE, b, 0, 1, bytes);
  struct clock c = knowledge(p, false);
  bar_arrive(p->w, p, p->at, b, &c, 1);
}

bool bar_wait(struct warp *p, struct bar *b, int phase) {
  struct world *w = p->w;
  struct actor *me = actor_of(p);
  if (phase >= 0 && b->phase < phase + 1) {
    p->wait = (struct waiting){.bar = b, .phase = phase};
    return false;
  }
  if (phase >= 0 && b->phase > phase + 1) {
    struct finding *f = report(w, p->at->src->pos, "phase", "%s waits for phase %d of %s, but phase %d is complete: the parity aliases", role_name(p), phase, bar_name(w, b), b->phase - 1);
    note(w, f, p->at->src->pos, "%s", where(p));
    w->failed = true;
    return true;
  }
  if (phase >= 0) {
    int mine = b->last.v[p->all.comp];
    join(w, &me->clock, &b->last);
    if (me == &p->all && has_lanes(p) && mine > p->lane_time) p->lane_time = mine;
  }
  declare_bar(p, WS_D_WAIT, b, phase, 0, 0);
  if (phase > b->seen[me->comp]) b->seen[me->comp] = phase, b->seen_at[me->comp] = ++me->clock.v[me->comp];
  return true;
}

/* The barrier of the cluster has the world as its key: there is one for both CTAs. */
static struct named *find_named(struct warp *p, const void *key, int element, int sub, int count) {
  struct world *w = p->w;
  int cta = key == w ? 0 : p->cta;
  for (struct named *n = w->named; n; n = n->next)
    if (n->key == key && n->element == element && n->sub == sub && n->cta == cta) return n;
  struct named *n = WS_NEW(w->arena, struct named);
  *n = (struct named){.key = key, .element = element, .sub = sub, .cta = cta, .comp = new_component(w), .count = count, .now = new_clock(w), .last = new_clock(w), .next = w->named};
  return w->named = n;
}

static void named_arrive(struct warp *p, struct named *n) {
  struct world *w = p->w;
  struct clock c = knowledge(p, true);
  if (n->generation && !after_phase(w, &c, n->comp, n->generation, &n->last)) {
    struct finding *f = report(w, p->at->src->pos, "drift", "this arrival at a named barrier is not ordered after its phase %d: it may count for that one", n->generation - 1);
    note(w, f, p->at->src->pos, "by %s, %s", role_name(p), where(p));
  }
  join(w, &n->now, &c);
  n->got += 32;
  n->act = p->at;
  if (n->got > n->count) {
    struct finding *f = report(w, p->at->src->pos, "count", "the named barrier gets %d threads, but counts %d", n->got, n->count);
    note(w, f, p->at->src->pos, "by %s, %s", role_name(p), where(p));
    w->failed = true;
  } else if (n->got == n->count) {
    n->got = 0, n->generation++;
    n->now.v[n->comp] = n->generation;
    struct clock old = n->last;
    n->last = n->now, n->now = old;
    memset(n->now.v, 0, (size_t)w->dims * sizeof *n->now.v);
  }
}

bool named_barrier(struct warp *p, const void *key, int element, int sub, int count, bool wait) {
  struct named *n = find_named(p, key, element, sub, count);
  if (!p->arrived) {
    p->generation = n->generation;
    named_arrive(p, n);
    if (p->w->failed) return true;
  }
  if (!wait) return true;
  if (n->generation <= p->generation) {
    p->arrived = true;
    p->wait = (struct waiting){.named = n, .phase = p->generation};
    return false;
  }
  p->arrived = false;
  join(p->w, &p->all.clock, &n->last);
  lanes_meet(p);
  return true;
}
