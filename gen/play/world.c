/* Clocks, agents, the table of barriers. */
#include "world.h"
#include <math.h>
#include <string.h>

int new_component(struct world *w) {
  if (w->dims == w->cap) {
    w->failed = true;
    incomplete(w, "more than %d agents, operations and barriers", w->cap);
    return w->dims - 1;
  }
  return w->dims++;
}

struct clock new_clock(struct world *w) { return (struct clock){WS_NEW_N(w->arena, int, w->cap)}; }

void join(const struct world *w, struct clock *a, const struct clock *b) {
  for (int i = 0; i < w->dims; i++)
    if (a->v[i] < b->v[i]) a->v[i] = b->v[i];
}

struct clock copy_clock(struct world *w, const struct clock *a) {
  struct clock c = new_clock(w);
  memcpy(c.v, a->v, (size_t)w->dims * sizeof *c.v);
  return c;
}

bool has_lanes(const struct warp *p) { return !p->role->one_thread; }

struct actor *actor_of(struct warp *p) { return p->single && has_lanes(p) ? &p->lead : &p->all; }

void lanes_meet(struct warp *p) {
  struct world *w = p->w;
  join(w, &p->all.clock, &p->own);
  if (p->lead.comp >= 0) {
    join(w, &p->all.clock, &p->lead.clock);
    join(w, &p->lead.clock, &p->all.clock);
  }
  p->lane_time = ++p->all.clock.v[p->all.comp];
}

/* One lane of many knows its own accesses and what all lanes know; of the accesses of the others only those before the last barrier. */
struct clock knowledge(struct warp *p, bool all) {
  struct world *w = p->w;
  struct actor *me = actor_of(p);
  struct clock c = w->scratch;
  if (!has_lanes(p)) {
    ++me->clock.v[me->comp];
    memcpy(c.v, me->clock.v, (size_t)w->dims * sizeof *c.v);
    return c;
  }
  memcpy(c.v, p->all.clock.v, (size_t)w->dims * sizeof *c.v);
  if (all && !p->single) {
    c.v[p->all.comp] = ++p->all.clock.v[p->all.comp];
    join(w, &c, &p->own);
    if (p->lead.comp >= 0) join(w, &c, &p->lead.clock);
    return c;
  }
  c.v[p->all.comp] = p->lane_time;
  if (p->lead.comp >= 0) {
    ++p->lead.clock.v[p->lead.comp];
    join(w, &c, &p->lead.clock);
  }
  return c;
}

/* Rings come first, then barriers. */
static int stages_of(const struct ws_schedule *s, int thing) {
  if (thing < s->npipelines) return s->pipelines[thing].buffer->stages;
  int n = s->barriers[thing - s->npipelines].stages;
  return n > 0 ? n : 1;
}

static int count_of(const struct ws_schedule *s, int thing) {
  return thing < s->npipelines ? s->pipelines[thing].count : s->barriers[thing - s->npipelines].count;
}

static void number_things(struct world *w) {
  const struct ws_schedule *s = w->s;
  int n = s->npipelines + s->nbarriers, bars = 0;
  w->element0 = WS_NEW_N(w->arena, int, n + 1), w->bar0 = WS_NEW_N(w->arena, int, n + 1);
  for (int i = 0; i < n; i++) {
    w->element0[i] = w->elements, w->bar0[i] = bars;
    w->elements += count_of(s, i);
    bars += 2 * count_of(s, i) * stages_of(s, i) * w->ctas;
  }
  w->nbars = bars;
  w->bar = WS_NEW_N(w->arena, struct bar *, bars + 1);
}

struct bar *find_bar(struct world *w, const void *thing, enum side side, int element, int slot, int cta) {
  const struct ws_pipelinem *p = side == SIDE_BARRIER ? NULL : thing;
  const struct ws_barrierm *b = side == SIDE_BARRIER ? thing : NULL;
  int k = p ? p->index : w->s->npipelines + b->index;
  int i = ((element * stages_of(w->s, k) + slot) * w->ctas + cta) * 2 + (side == SIDE_EMPTY);
  struct bar **at = &w->bar[w->bar0[k] + i];
  if (*at) return *at;
  struct bar *x = *at = WS_NEW(w->arena, struct bar);
  *x = (struct bar){.pipe = p, .barrier = b, .empty = side == SIDE_EMPTY, .cta = cta, .element = element, .slot = slot};
  x->count = p ? (side == SIDE_EMPTY ? p->empty_count : p->full_count)[element] : b->arrivals[element];
  x->pending = x->count, x->comp = new_component(w), x->now = new_clock(w), x->last = new_clock(w);
  x->seen = WS_NEW_N(w->arena, int, w->nactors), x->seen_at = WS_NEW_N(w->arena, int, w->nactors); /* actors are the first components */
  for (int c = 0; c < w->nactors; c++) x->seen[c] = -1;
  return x;
}

int *counter_of(struct warp *p, const struct ws_act *a, int element, enum counter c) {
  int thing = a->pipe ? a->pipe->index : p->w->s->npipelines + a->barrier->index;
  return &actor_of(p)->position[(p->w->element0[thing] + element) * COUNTERS + (int)c];
}

struct count {
  int products;
};
static void count_act(void *ctx, struct ws_act *a) {
  struct count *c = ctx;
  c->products += (a->kind == WS_S_PRODUCT && a->by == WS_BY_TCGEN05) || (a->kind == WS_S_LOAD && !a->pipe); /* streams by place */
}

/* An upper bound of the components: actors, three streams a warp, the barriers, a stream of TMA copies for each slot. */
static int bound(const struct ws_schedule *s, int warps, int ctas, int products) {
  int n = warps * 6 + 32;
  for (int i = 0; i < s->npipelines; i++) n += 4 * ctas * s->pipelines[i].count * s->pipelines[i].buffer->stages;
  for (int i = 0; i < s->nbarriers; i++) {
    const struct ws_barrierm *b = &s->barriers[i];
    n += ctas * b->count * (b->named ? (b->ids ? b->ids : 1) : b->stages > 0 ? b->stages : 1);
  }
  for (int i = 0; i < s->nroles; i++) n += ctas * (s->roles[i].count + 1);
  return n + products * ctas * 16;
}

static void new_actor(struct world *w, struct actor *a) {
  a->comp = new_component(w);
  a->clock = new_clock(w);
  a->position = WS_NEW_N(w->arena, int, w->elements * COUNTERS + 1);
  a->slot = WS_NEW_N(w->arena, int, w->elements + 1);
}

static void new_warp(struct world *w, const struct ws_programm *p, int cta, int instance, int index) {
  struct warp *x = &w->warp[w->nwarps++];
  *x = (struct warp){.w = w, .p = p, .role = p->role, .cta = cta, .instance = instance, .index = index};
  new_actor(w, &x->all);
  x->lead.comp = -1;
  if (index == 0 && has_lanes(x)) new_actor(w, &x->lead);
  x->own = new_clock(w);
  x->iter = WS_NEW_N(w->arena, int, p->niters + 1);
  x->handle = WS_NEW_N(w->arena, struct handle, p->nhandles + 1);
  x->value = WS_NEW_N(w->arena, struct value, p->nvars + 1);
  x->owner = WS_NEW_N(w->arena, struct op *, p->nvars + 1);
  x->number = WS_NEW_N(w->arena, double, p->nvars + 1);
  for (size_t i = 0; i < p->nvars; i++) x->number[i] = NAN;
  x->frame[0] = (struct frame){.acts = p->body};
  x->depth = 1;
  x->single = p->role->one_thread;
}

struct world *world_new(const struct ws_schedule *s, struct ws_arena *a, struct findings *f, const int *trips, int ntiles, int mode, bool issue_order) {
  struct world *w = WS_NEW(a, struct world);
  *w = (struct world){.s = s, .arena = a, .found = f, .ntiles = ntiles, .mode = mode, .issue_order = issue_order, .ctas = s->pair ? 2 : 1};
  memcpy(w->trips, trips, (size_t)ntiles * sizeof *trips);
  int warps = 0;
  struct count n = {0};
  for (int i = 0; i < s->nprograms; i++) {
    warps += s->programs[i].count * s->programs[i].role->warps * w->ctas;
    ws_each_act(s->programs[i].body, count_act, &n);
  }
  w->nactors = 2 * warps, w->cap = bound(s, warps, w->ctas, n.products);
  w->scratch = new_clock(w);
  w->warp = WS_NEW_N(a, struct warp, warps + 1);
  number_things(w);
  w->issued = WS_NEW_N(a, int, w->cap + 1);
  w->log = WS_NEW_N(a, struct touch *, 256);
  w->landing_end = &w->landing;
  for (int c = 0; c < w->ctas; c++)
    for (int i = 0; i < s->nprograms; i++)
      for (int k = 0; k < s->programs[i].count; k++)
        for (int x = 0; x < (s->programs[i].role->one_thread ? 1 : s->programs[i].role->warps); x++)
          new_warp(w, &s->programs[i], c, s->programs[i].first + k, x);
  return w;
}
