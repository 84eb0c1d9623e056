/* Where a wait, a release or a barrier would give the order that a race lacks: looked up in the programs of both sides. What is there, but in the
 * wrong place, is named with its place. A hint, no proof: lines stand for program order. */
#include "world.h"

/* --- statements of a ring in a program --- */

struct lookup {
  enum ws_stmt_kind kind;
  const struct ws_pipelinem *ring;
  uint32_t line;
  const struct ws_act *before, *behind; /* the nearest ones on both sides of the line */
};

static void look(void *ctx, struct ws_act *a) {
  struct lookup *l = ctx;
  if (a->kind != l->kind || a->pipe != l->ring) return;
  uint32_t line = a->src->pos.line;
  if (line < l->line && (!l->before || line > l->before->src->pos.line)) l->before = a;
  if (line > l->line && (!l->behind || line < l->behind->src->pos.line)) l->behind = a;
}

static struct lookup find(const struct warp *p, enum ws_stmt_kind kind, const struct ws_pipelinem *ring, uint32_t line) {
  struct lookup l = {.kind = kind, .ring = ring, .line = line};
  ws_each_act(p->p->body, look, &l);
  return l;
}

static const struct ws_pipelinem *ring_of(const struct world *w, const struct region *r, const struct op *op) {
  if (op && op->act->pipe) return op->act->pipe;
  if (op && op->pipe) return op->pipe;
  for (int i = 0; i < w->s->npipelines; i++)
    if (w->s->pipelines[i].buffer == r->root) return &w->s->pipelines[i];
  return NULL;
}

struct arrivals {
  const struct bar *b;
  const struct ws_act *found;
};

static void look_arrival(void *ctx, struct ws_act *a) {
  struct arrivals *x = ctx;
  const struct bar *b = x->b;
  bool there = b->pipe ? a->pipe == b->pipe && a->kind == (b->empty ? WS_S_RELEASE : b->pipe->by == WS_BY_TMA ? WS_S_LOAD : WS_S_COMMIT)
                       : a->barrier == b->barrier && (a->kind == WS_S_ARRIVE || a->kind == WS_S_COMMIT || a->kind == WS_S_ARRIVE_EXPECT);
  if (there && !x->found) x->found = a;
}

static void look_wait(void *ctx, struct ws_act *a) {
  struct arrivals *x = ctx;
  const struct bar *b = x->b;
  bool there = b->pipe ? a->pipe == b->pipe && a->kind == (b->empty ? WS_S_ACQUIRE : WS_S_WAIT) : a->barrier == b->barrier && a->kind == WS_S_WAIT;
  if (there && !x->found) x->found = a;
}

const struct ws_act *wait_of(const struct warp *p, const struct bar *b) {
  struct arrivals x = {.b = b};
  ws_each_act(p->p->body, look_wait, &x);
  return x.found;
}

const struct ws_act *arrival_of(const struct warp *p, const struct bar *b) {
  struct arrivals x = {.b = b};
  ws_each_act(p->p->body, look_arrival, &x);
  return x.found;
}

/* --- kinds of races --- */

struct race {
  struct warp *p;
  struct finding *f;
  const struct touch *old;
  const struct ws_pipelinem *ring;
  const struct op *op;
  struct ws_pos here, there;
};

#define SAY(pos, ...) note(x->p->w, x->f, pos, __VA_ARGS__)

struct span {
  uint32_t from, to;
  bool sync;
};

static void look_sync(void *ctx, struct ws_act *a) {
  struct span *s = ctx;
  s->sync |= a->kind == WS_S_SYNC && a->sync != WS_SYNC_WARP && a->src->pos.line > s->from && a->src->pos.line < s->to;
}

/* Does one thread arrive for all, and nothing says that all are there? */
static bool one_for_all(const struct ws_act *arrival, const struct warp *p, uint32_t access) {
  struct span s = {access, arrival->src->pos.line, false};
  ws_each_act(p->p->body, look_sync, &s);
  return arrival->unit != WS_UNIT_THREAD && has_lanes(p) && !s.sync;
}

/* What was filled is read: a `wait` has to stand before the read. */
static void wait_before(const struct race *x) {
  struct lookup l = find(x->p, WS_S_WAIT, x->ring, x->here.line);
  if (l.before) SAY(l.before->src->pos, "`%s` is for another fill or another slot: this needs one of its own, before it", l.before->src->text);
  else if (l.behind) SAY(l.behind->src->pos, "this `wait` has to stand before the use on line %u", x->here.line);
  else SAY(x->here, "`wait %s` has to stand before this, in the program of %s", x->ring->name, role_name(x->p));
}

/* A slot that threads filled: `commit` behind the write, `wait` before the read. */
static bool filled_by_threads(const struct race *x) {
  struct lookup c = find(x->old->who, WS_S_COMMIT, x->ring, x->there.line), l = find(x->p, WS_S_WAIT, x->ring, x->here.line);
  if (!c.before && !c.behind) return false;
  if (!c.behind) SAY(c.before->src->pos, "the `commit` stands before the write on line %u: it has to stand behind it", x->there.line);
  else if (l.before && one_for_all(c.behind, x->old->who, x->there.line)) SAY(c.behind->src->pos, "one thread commits for all: a `sync` has to stand between the write on line %u and this", x->there.line);
  else wait_before(x);
  return true;
}

/* A slot is refilled: `release` behind the last read, `acquire` before the write. Or it was read before it was filled. */
static bool refilled(const struct race *x) {
  struct lookup w = find(x->old->who, WS_S_WAIT, x->ring, x->there.line);
  if (!w.before && w.behind) return SAY(w.behind->src->pos, "this `wait` has to stand before the read on line %u", x->there.line), true;
  if (x->ring->no_empty) return false;
  struct lookup r = find(x->old->who, WS_S_RELEASE, x->ring, x->there.line), a = find(x->p, WS_S_ACQUIRE, x->ring, x->here.line);
  if (!r.before && !r.behind) return false;
  if (!a.before) SAY(x->here, "`acquire %s` has to stand before this: it waits for the `release` of the readers", x->ring->name);
  else if (!r.behind) SAY(r.before->src->pos, "the `release` stands before the read on line %u: it has to stand behind it", x->there.line);
  else if (one_for_all(r.behind, x->old->who, x->there.line)) SAY(r.behind->src->pos, "one thread releases for all: a `sync` has to stand between the read on line %u and this", x->there.line);
  else SAY(r.behind->src->pos, "it may still be read when this writes: the `acquire` on line %u does not wait for this `release`; it may count another arrival instead", a.before->src->pos.line);
  return true;
}

static void of_copy(const struct race *x) {
  if (x->op && x->op->kind == x->old->op->kind) SAY(x->here, "two copies into one slot run at the same time: `acquire` a slot for each, or wait for the first");
  else if (x->old->op->kind == OP_TMA) wait_before(x);
  else if (!x->old->op->waited) SAY(x->here, "`wait %s` has to stand before this", x->ring ? x->ring->name : "RING");
  else SAY(x->here, "`wait %s` tells a thread of its own copies only: a `sync%s` has to stand between it and this", x->ring ? x->ring->name : "RING", x->p->role->warps == 1 && x->old->who == x->p ? " warp" : "");
}

static void between(const struct race *x) {
  const struct warp *p = x->p, *q = x->old->who;
  const char *before = x->there.line < x->here.line ? "before" : "before the next round comes to";
  const char *all = p->instance == q->instance ? "" : ws_fmt(p->w->found->arena, " %s", p->role->name);
  if (p->role == q->role && p->cta == q->cta) SAY(x->here, "a `sync%s` has to stand behind line %u, %s line %u", all, x->there.line, before, x->here.line);
  else SAY(x->here, "%s has to arrive behind line %u at a barrier that %s waits for before line %u", role_name(q), x->there.line, role_name(p), x->here.line);
}

void remedy(struct warp *p, struct finding *f, const struct touch *old, enum access kind, const struct op *op, const struct region *r) {
  if (!f) return;
  const struct race race = {p, f, old, ring_of(p->w, r, old->op), op, p->at->src->pos, old->act->src->pos}, *x = &race;
  if (old->who == p && !old->op && !op) SAY(race.here, "lanes of one warp: one lane touches what another one did; `sync warp` has to stand between");
  else if (old->op && old->kind != ACC_READ && (old->op->kind == OP_CP_ASYNC || (old->op->kind == OP_TMA && race.ring))) of_copy(x);
  else if (old->op && old->op->kind == OP_WGMMA) SAY(race.there, "`await` this product, and let the release or barrier follow it");
  else if (old->op && old->op->kind == OP_TCGEN05) SAY(race.there, "a `commit` has to stand behind this product, and a wait for its barrier before line %u", race.here.line);
  else if (old->op && old->op->kind == OP_BULK) SAY(race.there, "`await` this store's source before the memory is written again on line %u", race.here.line);
  else if (!race.ring || !(kind == ACC_READ ? filled_by_threads(x) : refilled(x))) between(x);
}
