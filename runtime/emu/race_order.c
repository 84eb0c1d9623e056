/* What orders accesses to shared memory: clocks, and the synchronisation that hands them on (race.h). PTX ISA "Memory
 * Consistency Model: Synchronizing Operations", "bar, barrier", "barrier.cluster", "mbarrier", "membar, fence". */
#include "race.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

/* ---- clocks ---- */
static bool reach(struct vclock *v, uint32_t n) {
  if (v->n >= n) return true;
  n = (n + 15) & ~15u;
  uint32_t *grown = realloc(v->t, n * sizeof *grown);
  if (!grown) return false; /* what is not known is looked at no more: ws_emu_race_begin wants the whole */
  memset(grown + v->n, 0, (n - v->n) * sizeof *grown);
  v->t = grown;
  v->n = n;
  return true;
}
static void forget(struct vclock *v) {
  if (v->n) memset(v->t, 0, v->n * sizeof *v->t);
  v->by = v->version = 0;
}
/* Whether anything was new. */
static bool join(struct vclock *to, const struct vclock *from) {
  uint32_t any = 0;
  if (!reach(to, from->n)) return false;
  uint32_t *restrict t = to->t;
  const uint32_t *restrict f = from->t;
  for (uint32_t i = 0; i < from->n; i++) {
    any |= f[i] > t[i];
    t[i] = f[i] > t[i] ? f[i] : t[i];
  }
  return any;
}
void ws_emu_race_join(struct vclock *to, const struct vclock *from) {
  to->by = to->version = 0;
  join(to, from);
}

const struct vclock *ws_emu_race_whole(struct warp *w, struct vclock *now) {
  if (!now) now = &w->race->now;
  return reach(now, w->cta->cluster->race->actors) ? now : NULL;
}

static struct race *race_of(const struct warp *w) { return w->cta->cluster->race; }
static uint32_t *own(struct warp *w) { return &w->race->now.t[w->race->actor[BY_WARP]]; }

static uint32_t new_actor(struct race *r, struct warp *w, uint8_t kind) {
  if (r->actors == r->cap) {
    uint32_t cap = r->cap ? r->cap * 2 : 64;
    struct race_actor *grown = cap > 1u << 16 ? NULL : realloc(r->actor, cap * sizeof *grown);
    if (!grown) return NO_ACTOR;
    r->actor = grown;
    r->cap = cap;
  }
  r->actor[r->actors] = (struct race_actor){w, kind};
  return r->actors++;
}
uint32_t ws_emu_race_actor(struct warp *w, enum race_kind kind) {
  if (kind == BY_WGMMA) w = &w->cta->warps[w->index & ~3u]; /* the warpgroup's first warp stands for it */
  uint32_t *a = &w->race->actor[kind];
  if (*a == NO_ACTOR) *a = new_actor(race_of(w), w, (uint8_t)kind);
  return *a;
}

void ws_emu_race_open(struct warp *w) {
  struct race_warp *r = w->race;
  if (!r->closed) return;
  r->closed = false;
  r->version++;
  ++*own(w);
}

void ws_emu_race_knows(struct warp *w, enum race_kind kind, uint32_t clock) {
  if (!w->race) return;
  uint32_t a = ws_emu_race_actor(w, kind);
  if (a == NO_ACTOR || !reach(&w->race->now, a + 1) || w->race->now.t[a] >= clock) return;
  w->race->now.t[a] = clock;
  w->race->version++;
}

void ws_emu_race_release(struct warp *w, struct vclock *to, bool relaxed) {
  struct race_warp *r = w->race;
  if (relaxed) {
    ws_emu_race_join(to, &r->fenced);
    return;
  }
  uint32_t by = r->actor[BY_WARP] + 1;
  r->closed = true;
  if (to->by == by && to->version == r->version) return; /* as the other threads of the warp */
  join(to, &r->now);
  to->by = by;
  to->version = r->version;
}
void ws_emu_race_acquire(struct warp *w, const struct vclock *from, bool relaxed) {
  if (join(relaxed ? &w->race->seen : &w->race->now, from) && !relaxed) w->race->version++;
}

struct vclock *ws_emu_race_snapshot(struct warp *w, enum race_kind kind, uint32_t clock) {
  if (!w->race) return NULL;
  struct vclock *v = calloc(1, sizeof *v);
  uint32_t a = ws_emu_race_actor(w, kind);
  if (!v || a == NO_ACTOR || !reach(v, a + 1)) {
    free(v);
    return NULL;
  }
  ws_emu_race_release(w, v, false);
  if (v->t[a] < clock) v->t[a] = clock;
  return v;
}
void ws_emu_race_snapshot_free(struct vclock *v) {
  if (v) free(v->t);
  free(v);
}

/* ---- life ---- */
static struct race_cta *new_cta(struct race *r, struct cta *c) {
  struct race_cta *n = calloc(1, sizeof *n + c->nwarps * sizeof *n->warp);
  if (!n) return NULL;
  n->cell = calloc((c->shared_size + CELL_BYTES - 1) / CELL_BYTES + 1, sizeof *n->cell);
  bool good = n->cell != NULL;
  for (uint32_t i = 0; i < c->nwarps; i++) {
    struct race_warp *w = &n->warp[i];
    for (uint32_t k = 0; k < WARP_KINDS; k++) w->actor[k] = NO_ACTOR;
    w->actor[BY_WARP] = new_actor(r, &c->warps[i], BY_WARP);
    good &= w->actor[BY_WARP] != NO_ACTOR && reach(&w->now, w->actor[BY_WARP] + 1);
    if (!good) break;
    w->now.t[w->actor[BY_WARP]] = 1;
    w->copies = 1;
    w->version = 1;
  }
  c->race = n;
  return good ? n : NULL;
}

void ws_emu_race_start(struct cluster *cl) {
  const struct emu_launch *l = cl->grid->l;
  const struct cta *c = cl->cta[0];
  if (l->options.no_race || !c->shared_size || (cl->n * c->nwarps == 1 && !l->kernel->is_async)) return;
  cl->race = calloc(1, sizeof *cl->race);
  bool good = cl->race != NULL;
  for (uint32_t i = 0; good && i < cl->n; i++) good = new_cta(cl->race, cl->cta[i]) != NULL;
  if (!good) {
    ws_emu_race_end(cl);
    return;
  }
  for (uint32_t i = 0; i < cl->n; i++)
    for (uint32_t k = 0; k < cl->cta[i]->nwarps; k++) cl->cta[i]->warps[k].race = &cl->cta[i]->race->warp[k];
}

static void free_warp(struct race_warp *w) {
  free(w->now.t);
  free(w->fenced.t);
  free(w->seen.t);
  free(w->proxied.t);
}
void ws_emu_race_end(struct cluster *cl) {
  for (uint32_t i = 0; i < cl->n; i++) {
    struct race_cta *r = cl->cta[i] ? cl->cta[i]->race : NULL;
    if (!r) continue;
    for (uint32_t k = 0; k < cl->cta[i]->nwarps; k++) free_warp(&r->warp[k]), cl->cta[i]->warps[k].race = NULL;
    for (uint32_t k = 0; k < NBARRIERS; k++) free(r->barrier[k].t);
    ws_emu_race_cells_free(r);
    free(r);
    cl->cta[i]->race = NULL;
  }
  if (!cl->race) return;
  free(cl->race->actor);
  free(cl->race->memory.t);
  free(cl->race->open.t);
  free(cl->race->done.t);
  free(cl->race);
  cl->race = NULL;
}

/* ---- barriers of CTA and cluster: an arrival releases, a wait acquires ---- */
void ws_emu_race_barrier(struct warp *w, uint32_t id) {
  if (w->race) ws_emu_race_release(w, &w->cta->race->barrier[id], false);
}
void ws_emu_race_barrier_done(struct cta *c, uint32_t id, uint32_t waiting, bool all) {
  if (!c->race) return;
  struct vclock *v = &c->race->barrier[id];
  for (uint32_t i = 0; all && i < c->nwarps; i++) /* threads that have ended count as arrived */
    if (c->warps[i].state == WARP_DONE) ws_emu_race_release(&c->warps[i], v, false);
  for (uint32_t m = waiting; m; m &= m - 1) ws_emu_race_acquire(&c->warps[__builtin_ctz(m)], v, false);
  forget(v);
}

void ws_emu_race_cluster_arrive(struct warp *w, bool relaxed) {
  if (w->race) ws_emu_race_release(w, &race_of(w)->open, relaxed);
}
void ws_emu_race_cluster_done(struct cluster *cl) {
  if (!cl->race) return;
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++)
      if (cl->cta[r]->warps[i].state == WARP_DONE) ws_emu_race_release(&cl->cta[r]->warps[i], &cl->race->open, false);
  ws_emu_race_join(&cl->race->done, &cl->race->open);
  forget(&cl->race->open);
}
void ws_emu_race_cluster_wait(struct warp *w) {
  if (w->race) ws_emu_race_acquire(w, &race_of(w)->done, false);
}

/* ---- fences; stores and atomics that publish. All such memory is taken as one location ---- */
void ws_emu_race_fence(struct warp *w) {
  if (!w->race) return;
  ws_emu_race_acquire(w, &w->race->seen, false);
  ws_emu_race_release(w, &w->race->fenced, false);
}
void ws_emu_race_observed(struct warp *w, bool acquire) {
  if (w->race) ws_emu_race_acquire(w, &race_of(w)->memory, !acquire);
}
void ws_emu_race_published(struct warp *w, bool release) {
  if (w->race) ws_emu_race_release(w, &race_of(w)->memory, !release);
}

void ws_emu_race_proxy_fence(struct warp *w, bool of_inits) {
  struct race_warp *r = w->race;
  if (!r) return;
  r->closed = true;
  ws_emu_race_open(w);
  uint32_t epoch = *own(w), copies = r->actor[BY_CP_ASYNC];
  copies = copies == NO_ACTOR || copies >= r->now.n ? 0 : r->now.t[copies];
  if (!of_inits) r->fence[r->fences++ % RACE_FENCES] = (struct race_fence){epoch, copies, w->mask};
  if (!of_inits && w->cta->grid->l->options.lenient) ws_emu_race_join(&r->proxied, &r->now);
  if (!r->inits) return;
  r->inits = false;
  for (uint32_t i = 0; i < w->cta->nmbars; i++) {
    struct race_mbar *m = w->cta->mbars[i].race;
    if (!m || m->by != w || m->fenced) continue;
    if (w->mask >> m->lane & 1) m->fenced = epoch;
    else r->inits = true;
  }
}

/* ---- cp.async ---- */
static void committed(struct race_warp *r) { r->group[r->groups++ % RACE_GROUPS] = r->copies++; }
void ws_emu_race_copies_committed(struct warp *w) {
  if (w->race) committed(w->race);
}
/* All but the newest `keep` groups; all: also those not committed. Lanes that diverge are counted together: at least as much is known. */
void ws_emu_race_copies_waited(struct warp *w, uint32_t keep, bool all) {
  struct race_warp *r = w->race;
  if (!r) return;
  if (all) {
    ws_emu_race_knows(w, BY_CP_ASYNC, r->copies++);
    return;
  }
  if (keep >= r->groups) return;
  if (keep >= RACE_GROUPS) keep = RACE_GROUPS - 1;
  ws_emu_race_knows(w, BY_CP_ASYNC, r->group[(r->groups - 1 - keep) % RACE_GROUPS]);
}
struct vclock *ws_emu_race_copies_arrive(struct warp *w) { return w->race ? ws_emu_race_snapshot(w, BY_CP_ASYNC, w->race->copies++) : NULL; }

/* ---- mbarriers ---- */
void ws_emu_race_mbar_free(struct mbar *b) {
  if (!b->race) return;
  free(b->race->open.t);
  free(b->race->done.t);
  free(b->race);
}
/* The clock goes on when memory is put to use as another mbarrier. */
void ws_emu_race_mbar_init(struct who who, struct mbar *b) {
  struct warp *w = who.w;
  if (!w->race) return;
  if (!b->race) {
    b->race = calloc(1, sizeof *b->race);
    if (!b->race) return;
    b->race->actor = new_actor(race_of(w), NULL, BY_MBAR);
  }
  struct race_mbar *m = b->race;
  forget(&m->open);
  forget(&m->done);
  ws_emu_race_open(w);
  m->by = w;
  m->in = who.in;
  m->lane = (uint32_t)who.lane;
  m->init = *own(w);
  m->fenced = 0;
  m->clock++;
  w->race->inits = true;
}
void ws_emu_race_mbar_phase(struct cluster *cl, struct mbar *b) {
  struct race_mbar *m = b->race;
  if (!m || !cl->race || m->actor == NO_ACTOR) return;
  m->clock++;
  ws_emu_race_join(&m->done, &m->open);
  forget(&m->open);
  if (reach(&m->done, m->actor + 1)) m->done.t[m->actor] = m->clock;
}

static uint32_t known(const struct warp *w, const struct warp *of) {
  uint32_t a = of->race->actor[BY_WARP];
  return a < w->race->now.n ? w->race->now.t[a] : 0;
}
static int unseen(struct who who, struct mbar_ref ref, const struct race_mbar *m, const char *what, const char *how) {
  char where[600];
  uint32_t t[3];
  ws_emu_where(who.w->cta->k, m->in, where, sizeof where);
  ws_emu_thread_id(m->by, (int)m->lane, t);
  return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "%s the mbarrier at 0x%x, which thread (%u,%u,%u) initialised %s, %s", what,
                   ref.cta->shared_lo + ref.offset, t[0], t[1], t[2], how, where);
}
int ws_emu_race_mbar_used(struct who who, struct mbar_ref ref, const struct mbar *b) {
  const struct race_mbar *m = b->race;
  if (!m || !who.w->race || m->by == who.w || known(who.w, m->by) >= m->init) return EV_NEXT;
  return unseen(who, ref, m, "uses", "without anything that orders the two");
}
int ws_emu_race_mbar_signalled(struct who who, struct mbar_ref ref) {
  const struct mbar *b = who.w->race ? ws_emu_mbar_get(who, ref) : NULL;
  const struct race_mbar *m = b ? b->race : NULL;
  if (!m) return who.w->cta->fault.code ? EV_FAULT : EV_NEXT;
  if (ws_emu_race_mbar_used(who, ref, b) != EV_NEXT) return EV_FAULT;
  if (who.w->cta->grid->l->options.lenient || (m->fenced && known(who.w, m->by) >= m->fenced)) return EV_NEXT; /* "lenient": the barrier alone, as ThunderKittens has it */
  return unseen(who, ref, m, "signals through the async proxy", "without a fence.mbarrier_init or fence.proxy.async since");
}
/* An arrival at another CTA's mbarrier releases in cluster scope only, as its scope is .cta where none is written; option "race" =
 * "lenient" takes any, as CUTLASS and those who follow it write none. */
void ws_emu_race_mbar_arrive(struct who who, struct mbar_ref ref, bool cluster, bool relaxed) {
  const struct mbar *b = who.w->race ? ws_emu_mbar_get(who, ref) : NULL;
  if (!b || !b->race || (ref.cta != who.w->cta && !cluster && !who.w->cta->grid->l->options.lenient)) return;
  ws_emu_race_release(who.w, &b->race->open, relaxed);
}
void ws_emu_race_mbar_arrive_late(struct who who, struct mbar_ref ref, const struct vclock *from) {
  const struct mbar *b = from ? ws_emu_mbar_get(who, ref) : NULL;
  if (b && b->race) ws_emu_race_join(&b->race->open, from);
}
void ws_emu_race_mbar_waited(struct warp *w, const struct mbar *b, bool relaxed) {
  if (w->race && b->race) ws_emu_race_acquire(w, &b->race->done, relaxed);
}
