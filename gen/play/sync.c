/* Everything that waits or arrives. */
#include "world.h"
#include <string.h>

int targets(const struct warp *p, enum ws_barrier_scope scope, int *cta) {
  cta[0] = p->cta;
  if (p->w->ctas == 1 || scope == WS_SCOPE_CTA) return 1;
  if (scope == WS_SCOPE_PAIR) return cta[0] = 0, cta[1] = 1, 2;
  cta[0] = scope == WS_SCOPE_LEADER ? 0 : 1 - p->cta;
  return 1;
}

/* A thread can only wait for a barrier of its own CTA. */
static int wait_cta(struct warp *p, enum ws_barrier_scope scope, const char *name) {
  if (p->w->ctas == 2 && scope == WS_SCOPE_LEADER && p->cta == 1)
    report(p->w, p->at->src->pos, "scope", "`%s` of scope `leader` is the leader's barrier: CTA 1 cannot wait for it", name);
  return p->cta;
}

static int units(const struct warp *p, enum ws_unit unit) {
  if (p->single || unit == WS_UNIT_WARP) return 1;
  return unit == WS_UNIT_THREAD ? 32 : p->index == 0;
}

static void arrive(struct warp *p, const struct ws_act *a, const void *thing, enum side side, int element, int slot, enum ws_barrier_scope scope, long bytes) {
  int n = units(p, a->unit), cta[2];
  if (!n) return;
  if (a->unit == WS_UNIT_WARP && has_lanes(p) && !p->single) lanes_meet(p);
  int k = targets(p, scope, cta);
  for (int i = 0; i < k; i++)
    if (cta[i] != p->cta) bar_visible(p, find_bar(p->w, thing, side, element, slot, cta[i]), "the other CTA");
  struct clock c = knowledge(p, a->unit != WS_UNIT_ONE);
  for (int i = 0; i < k && !p->w->failed; i++) {
    struct bar *b = find_bar(p->w, thing, side, element, slot, cta[i]);
    declare_bar(p, WS_D_ARRIVE, b, i, n, bytes * n);
    bar_arrive(p->w, p, a, b, &c, n);
  }
}

/* tcgen05.commit: arrives when all products of this thread so far are complete (PTX ISA, tcgen05.commit). */
static void commit_products(struct warp *p, const struct ws_act *a, const void *thing, enum side side, int element, int slot, enum ws_barrier_scope scope) {
  struct world *w = p->w;
  struct commit *c = WS_NEW(w->arena, struct commit), **end = &p->commits;
  if (!p->tensor) report(w, a->src->pos, "commit", "no product was issued before this commit: it covers nothing");
  struct clock mine = knowledge(p, false);
  *c = (struct commit){.clock = copy_clock(w, &mine), .act = a};
  for (const struct op *o = p->tensor; o; o = o->next) join(w, &c->clock, &o->clock);
  int cta[2];
  c->n = targets(p, scope, cta);
  for (int i = 0; i < c->n; i++) {
    c->to[i] = find_bar(w, thing, side, element, slot, cta[i]);
    bar_visible(p, c->to[i], "the asynchronous proxy");
    declare_bar(p, WS_D_COMMIT, c->to[i], 0, 1, 0);
  }
  while (*end) end = &(*end)->next;
  *end = c;
}

/* --- rings --- */

static void bind(struct warp *p, const struct ws_act *a, int element, int slot, int fill) {
  if (a->handle) p->handle[a->handle->index] = (struct handle){a->pipe, element, slot, fill};
}

static bool acquire(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int *k = counter_of(p, a, el, C_ACQUIRE), slot = *k % r->buffer->stages, round = *k / r->buffer->stages;
  if (!r->no_empty && !bar_wait(p, find_bar(p->w, r, SIDE_EMPTY, el, slot, wait_cta(p, r->empty, r->name)), round - 1)) return false;
  bind(p, a, el, slot, (*k)++);
  if (r->by != WS_BY_TMA || (p->w->ctas == 2 && r->full == WS_SCOPE_LEADER && p->cta == 1)) return true;
  int cta[2];
  targets(p, r->full == WS_SCOPE_PAIR ? WS_SCOPE_CTA : r->full, cta);
  bar_expect(p, find_bar(p->w, r, SIDE_FULL, el, slot, cta[0]), a->bytes);
  return true;
}

static struct op *oldest_fill(struct op *list, const struct ws_pipelinem *r, int el) {
  for (; list; list = list->next)
    if (!list->waited && !list->open && list->pipe == r && list->element == el) return list;
  return NULL;
}

/* Groups complete in the order of their commits (PTX ISA, cp.async.wait_group). Each lane learns of its own copies. */
static bool wait_copies(struct warp *p, const struct ws_act *a, int el, int *k) {
  struct world *w = p->w;
  struct op *mine = oldest_fill(p->copies, a->pipe, el);
  if (!mine) {
    report(w, a->src->pos, "groups", "`%s` has no committed fill to wait for", a->pipe->name);
    w->failed = true;
    return true;
  }
  mine->waited = true;
  declare(p, (struct ws_declaration){.kind = WS_D_COPY_WAIT, .count = a->wait_groups});
  for (struct op *o = p->copies;; o = o->next) {
    join(w, &p->own, &o->clock);
    if (o == mine) break;
  }
  while (p->copies && p->copies->waited) p->copies = p->copies->next;
  int slot = *k % a->pipe->buffer->stages;
  actor_of(p)->slot[w->element0[a->pipe->index] + el] = slot;
  bind(p, a, el, slot, (*k)++);
  return true;
}

static bool wait_ring(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int *k = counter_of(p, a, el, C_WAIT), slot = *k % r->buffer->stages, round = *k / r->buffer->stages;
  if (r->by == WS_BY_CP_ASYNC) return wait_copies(p, a, el, k);
  if (!bar_wait(p, find_bar(p->w, r, SIDE_FULL, el, slot, wait_cta(p, r->full, r->name)), round)) return false;
  if (a->opt.poll == WS_POLL_LEADER && has_lanes(p) && !p->single) lanes_meet(p);
  actor_of(p)->slot[p->w->element0[r->index] + el] = slot;
  bind(p, a, el, slot, (*k)++);
  return true;
}

static void commit_ring(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int *k = counter_of(p, a, el, C_COMMIT), slot = (*k)++ % r->buffer->stages;
  if (r->by == WS_BY_CP_ASYNC) {
    struct op *o = p->copies;
    while (o && !o->open) o = o->next;
    if (!o) o = new_op(p, OP_CP_ASYNC, stream_of(p, OP_CP_ASYNC, 0, 0));
    o->open = false, o->pipe = r, o->element = el;
    declare(p, (struct ws_declaration){.kind = WS_D_COPY_COMMIT});
  } else if (a->by == WS_BY_TCGEN05)
    commit_products(p, a, r, SIDE_FULL, el, slot, r->full);
  else
    arrive(p, a, r, SIDE_FULL, el, slot, r->full, 0);
}

static void still_read(struct warp *p, const struct ws_act *a, int el, int slot, struct op *list, const char *what) {
  for (; list; list = list->next)
    for (int i = 0; i < list->nwhere; i++) {
      const struct region *r = &list->where[i];
      if (r->root != a->pipe->buffer || r->element != el || r->stage != slot) continue;
      struct finding *f = report(p->w, a->src->pos, "release", "%s releases %s while %s still reads it", role_name(p), mem_name(p->w, r), what);
      note(p->w, f, list->act->src->pos, "issued here; `await` it before the release");
      return;
    }
}

static void release(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_pipelinem *r = a->pipe;
  int slot = a->handle ? p->handle[a->handle->index].slot : actor_of(p)->slot[p->w->element0[r->index] + el];
  if (a->handle) el = p->handle[a->handle->index].element;
  still_read(p, a, el, slot, p->products, "a product in flight");
  still_read(p, a, el, slot, p->stores, "a store in flight");
  if (a->by == WS_BY_TCGEN05) commit_products(p, a, r, SIDE_EMPTY, el, slot, r->empty);
  else arrive(p, a, r, SIDE_EMPTY, el, slot, r->empty, 0);
}

/* --- barriers --- */

static bool wait_barrier(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_barrierm *b = a->barrier;
  int *k = counter_of(p, a, el, C_WAIT), n = b->stages > 0 ? b->stages : 1;
  if (!bar_wait(p, find_bar(p->w, b, SIDE_BARRIER, el, *k % n, wait_cta(p, b->scope, b->name)), *k / n - b->open)) return false;
  if (a->opt.poll == WS_POLL_LEADER && has_lanes(p) && !p->single) lanes_meet(p);
  ++*k;
  return true;
}

/* What cannot be followed any further: neither clean nor an error. */
static bool give_up(struct warp *p, const struct ws_act *a, const char *why) {
  incomplete(p->w, "%u: %s", a->src->pos.line, why);
  return p->w->failed = true;
}

/* The parity as stated. It is either that of the phase behind the last one that this thread has seen, and stands for it, or that of
 * the last one: then the wait passes, as the first round of a ring's empty side does (PTX ISA, mbarrier.test_wait: the phase of that
 * parity is complete). What else it could stand for, a phase further on, bar_wait refuses: the parity would alias. */
static bool wait_parity(struct warp *p, const struct ws_act *a, int el) {
  int *k = counter_of(p, a, el, C_PHASE), n = a->barrier->stages > 0 ? a->barrier->stages : 1;
  struct bar *b = find_bar(p->w, a->barrier, SIDE_BARRIER, el, *k % n, wait_cta(p, a->barrier->scope, a->barrier->name));
  double v = 0;
  if (!evaluate(p, a->value, &v)) return give_up(p, a, "the phase is not known before it runs");
  if (v != 0 && v != 1) {
    struct finding *f = report(p->w, a->src->pos, "phase", "a phase is waited for by its parity, 0 or 1; this is %d", (int)v);
    note(p->w, f, a->src->pos, "by %s, %s", role_name(p), where(p));
  }
  int seen = b->seen[actor_of(p)->comp], next = seen + 1;
  if (!bar_wait(p, b, (next & 1) == ((int)v & 1) ? next : seen)) return false;
  ++*k;
  return true;
}

static int sub_of(const struct warp *p, const struct ws_barrierm *b) { return b->per_warp ? p->index : 0; }

static bool meet(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_schedule *s = p->w->s;
  if (a->sync == WS_SYNC_WARP) return lanes_meet(p), true;
  if (a->sync == WS_SYNC_ALL) return named_barrier(p, s, 0, 0, s->threads, true);
  if (a->sync == WS_SYNC_ROLE) return named_barrier(p, p->role, p->instance, 0, 32 * p->role->warps, true);
  if (a->sync == WS_SYNC_CLUSTER) return named_barrier(p, p->w, 0, 0, s->threads * p->w->ctas, true);
  if (a->role) return named_barrier(p, a->role, -1, 0, 32 * a->role->warps * a->role->count, true);
  return named_barrier(p, a->barrier, el, sub_of(p, a->barrier), a->barrier->arrivals[el], true);
}

/* Which of the 16 barriers it is, and how many threads. */
static struct ws_declaration met(const struct warp *p, const struct ws_act *a, int el) {
  const struct ws_schedule *s = p->w->s;
  const struct ws_rolem *r = p->role;
  const struct ws_barrierm *b = a->barrier;
  struct ws_declaration e = {.kind = a->kind == WS_S_ARRIVE ? WS_D_PASS : WS_D_MEET};
  if (b) e.id = b->id + el * b->ids + sub_of(p, b), e.count = b->arrivals[el];
  else if (a->sync == WS_SYNC_ALL) e.count = s->threads;
  else if (a->sync == WS_SYNC_ROLE) e.id = r->sync_id > 0 ? r->sync_id + p->instance : 0, e.count = 32 * r->warps;
  else if (a->role) e.id = a->role->all_id, e.count = 32 * a->role->warps * a->role->count;
  if (a->sync == WS_SYNC_CLUSTER) e.kind = WS_D_MEET_CLUSTER;
  if (!b && (a->sync == WS_SYNC_WARP || (a->sync == WS_SYNC_ROLE && r->warps == 1))) e.kind = WS_D_MEET_WARP;
  return e;
}

static bool sync(struct warp *p, const struct ws_act *a, int el) {
  if (!meet(p, a, el)) return false;
  declare(p, met(p, a, el));
  return true;
}

static bool arrive_barrier(struct warp *p, const struct ws_act *a, int el) {
  const struct ws_barrierm *b = a->barrier;
  if (!b) return incomplete(p->w, "%u: counters in global memory", a->src->pos.line), true;
  if (b->named) {
    declare(p, met(p, a, el));
    return named_barrier(p, b, el, sub_of(p, b), b->arrivals[el], false);
  }
  int *k = counter_of(p, a, el, C_COMMIT), n = b->stages > 0 ? b->stages : 1;
  arrive(p, a, b, SIDE_BARRIER, el, (*k)++ % n, b->scope, 0);
  return true;
}

/* --- await --- */

bool complete_up_to(struct warp *p, struct op **list, struct op *last) {
  struct clock *mine = &actor_of(p)->clock;
  for (struct op *o; (o = *list);) {
    join(p->w, mine, &o->clock);
    for (size_t v = 0; v < p->p->nvars; v++)
      if (p->owner[v] == o) p->owner[v] = NULL;
    *list = o->next;
    if (o == last) return true;
  }
  return false;
}

static void await(struct warp *p, const struct ws_act *a) {
  struct op **list = a->from ? &p->stores : &p->products, *last = NULL;
  int younger = 0;
  struct region r = {0};
  if (a->wait_groups >= 0) declare(p, (struct ws_declaration){.kind = a->by == WS_BY_BULK ? WS_D_STORE_WAIT : WS_D_WGMMA_WAIT, .count = a->wait_groups});
  if (a->from) r = region_of(p, a->from, p->cta);
  else if (a->by != WS_BY_WGMMA) return;
  for (struct op *o = *list; o; o = o->next, younger++) {
    bool hit = !a->from && o->act->dst == a->awaited;
    for (int i = 0; a->from && i < o->nwhere; i++) hit |= meets(&o->where[i], &r);
    if (hit) last = o, younger = -1;
  }
  if (!last) return;
  if (a->wait_groups >= 0 && younger != a->wait_groups)
    report(p->w, a->src->pos, "groups-differ", "%d groups are younger than the awaited one here, %d elsewhere", younger, a->wait_groups);
  complete_up_to(p, list, last);
}

static bool init(struct warp *p, const struct ws_act *a, int el) {
  double v = 0;
  const struct ws_barrierm *b = a->barrier;
  if (!evaluate(p, a->value, &v)) return give_up(p, a, "the count is not known before it runs");
  for (int k = 0; k < b->stages || k < 1; k++) bar_init(p, find_bar(p->w, b, SIDE_BARRIER, el, k, p->cta), (int)v);
  return true;
}

/* Bytes with an arrival, at each barrier that it reaches. */
static bool arrive_expect(struct warp *p, const struct ws_act *a, int el) {
  double v = 0;
  int cta[2], *k = counter_of(p, a, el, C_COMMIT), slot = (*k)++ % (a->barrier->stages > 0 ? a->barrier->stages : 1);
  if (!evaluate(p, a->value, &v)) return give_up(p, a, "the bytes are not known before it runs");
  actor_of(p)->slot[p->w->element0[p->w->s->npipelines + a->barrier->index] + el] = slot; /* the loads behind it complete this one */
  for (int i = 0, n = targets(p, a->barrier->scope, cta); i < n; i++) {
    struct bar *b = find_bar(p->w, a->barrier, SIDE_BARRIER, el, slot, cta[i]);
    bar_visible(p, b, "the asynchronous proxy");
    b->bytes += (long)v * units(p, a->unit);
  }
  arrive(p, a, a->barrier, SIDE_BARRIER, el, slot, a->barrier->scope, (long)v);
  return true;
}

bool synchronise(struct warp *p, const struct ws_act *a) {
  int el = ws_index_at(a->element, a->element_at, p->cta, p->instance);
  bool by_hand = a->barrier && a->barrier->manual && a->kind != WS_S_INIT;
  for (int k = 0; by_hand && a->kind != WS_S_INVAL && (k < a->barrier->stages || k < 1); k++) bar_usable(p, find_bar(p->w, a->barrier, SIDE_BARRIER, el, k, p->cta));
  switch (a->kind) {
  case WS_S_ACQUIRE: return acquire(p, a, el);
  case WS_S_WAIT: return a->pipe ? wait_ring(p, a, el) : wait_barrier(p, a, el);
  case WS_S_COMMIT:
    if (a->pipe) commit_ring(p, a, el);
    else {
      int *k = counter_of(p, a, el, C_COMMIT), n = a->barrier->stages > 0 ? a->barrier->stages : 1;
      commit_products(p, a, a->barrier, SIDE_BARRIER, el, (*k)++ % n, a->barrier->scope);
    }
    return true;
  case WS_S_RELEASE: return release(p, a, el), true;
  case WS_S_ARRIVE: return arrive_barrier(p, a, el);
  case WS_S_SYNC: return sync(p, a, el);
  case WS_S_AWAIT: return await(p, a), true;
  case WS_S_WAIT_PHASE: return wait_parity(p, a, el);
  case WS_S_INIT: return init(p, a, el);
  case WS_S_INVAL:
    for (int k = 0; by_hand && (k < a->barrier->stages || k < 1); k++) bar_inval(p, find_bar(p->w, a->barrier, SIDE_BARRIER, el, k, p->cta));
    return true;
  case WS_S_ARRIVE_EXPECT: return arrive_expect(p, a, el);
  case WS_S_FENCE: /* the others are no part of what is played: a stated one is written where the derived one would be */
    if (!strcmp(a->fence, "mbarrier_init")) bar_fence(p);
    return true;
  default:
    incomplete(p->w, "%u: `%s`", a->src->pos.line, a->src->text);
    return true;
  }
}
