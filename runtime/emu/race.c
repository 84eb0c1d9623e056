/* Accesses to shared memory held against those before (race.h). */
#include "race.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 8 /* cells */, LIST_MAX = 1024, BLOCK_BYTES = 1 << 16 };
struct race_block {
  struct race_block *next;
  uint32_t used;
  struct race_access a[];
};

void ws_emu_race_cells_free(struct race_cta *r) {
  while (r->blocks) {
    struct race_block *b = r->blocks;
    r->blocks = b->next;
    free(b);
  }
  free(r->cell);
}

/* Room for `n` accesses, given back when the CTA is. */
static struct race_access *room(struct race_cta *r, uint32_t n) {
  enum { PER_BLOCK = (BLOCK_BYTES - sizeof(struct race_block)) / sizeof(struct race_access) };
  if (!r->blocks || r->blocks->used + n > PER_BLOCK) {
    struct race_block *b = malloc(BLOCK_BYTES);
    if (!b) return NULL;
    b->next = r->blocks;
    b->used = 0;
    r->blocks = b;
  }
  r->blocks->used += n;
  return &r->blocks->a[r->blocks->used - n];
}

/* The list of a cell lies in the cell until it is too long. Writes stand before reads. */
static inline struct race_access *list(struct race_cell *c) { return c->more ? c->more : c->a; }
static inline uint32_t room_of(const struct race_cell *c) { return c->more ? c->cap : CELL_INLINE; }

/* Without memory, or in a list without end, the access is not noted. */
static void append(struct race_cta *r, struct race_cell *c, const struct race_access *a) {
  if (c->n == room_of(c)) {
    uint32_t cap = c->more ? c->cap * 2u : 8;
    struct race_access *more = cap > LIST_MAX ? NULL : room(r, cap);
    if (!more) return;
    memcpy(more, list(c), c->n * sizeof *more);
    c->more = more;
    c->cap = (uint16_t)cap;
  }
  struct race_access *l = list(c);
  l[c->n++] = *a;
  if (!(a->what & RACE_WRITE)) return;
  l[c->n - 1] = l[c->writes];
  l[c->writes++] = *a;
}

/* ---- reports ---- */
static const char *const operations[] = {[BY_CP_ASYNC] = "cp.async", [BY_WGMMA] = "wgmma", [BY_STORE] = "bulk copy", [BY_TENSOR] = "tcgen05 operation",
                                         [BY_MBAR] = "bulk copy"};

/* The thread of an access: the one of the warp whose part holds the byte, lanes being in the order of their bytes. */
static struct warp *thread_of(const struct cluster *cl, const struct race_access *a, uint32_t byte, int *lane) {
  const struct race_actor *by = &cl->race->actor[a->actor];
  if (by->kind == BY_WARP || by->kind == BY_CP_ASYNC) {
    uint32_t lanes = a->lanes, n = (uint32_t)__builtin_popcount(lanes), bytes = (uint32_t)__builtin_popcount(a->bytes);
    uint32_t below = (uint32_t)__builtin_popcount(a->bytes & ((1u << byte) - 1));
    for (uint32_t skip = n && bytes % n == 0 ? below / (bytes / n) : 0; skip; skip--) lanes &= lanes - 1;
    *lane = lanes ? __builtin_ctz(lanes) : 0;
    return by->w;
  }
  *lane = (int)(a->lanes & 0xff);
  return &cl->cta[a->lanes >> 13]->warps[a->lanes >> 8 & 31];
}

/* lanes: 0, or threads that wrote and have not fenced. */
static void report(struct race_touch *t, const struct race_access *a, uint32_t cell, uint32_t bytes, uint32_t lanes) {
  const struct cluster *cl = t->owner->cluster;
  const struct kernel *k = t->owner->k;
  uint32_t both = bytes & a->bytes, at, id[3];
  char where[600], whose[64] = "", issues[64] = "", other[64] = "";
  int lane;
  const struct warp *w = thread_of(cl, a, (uint32_t)__builtin_ctz(both), &lane);
  while (lanes && !(lanes >> lane & 1) && both & (both - 1)) {
    both &= both - 1;
    thread_of(cl, a, (uint32_t)__builtin_ctz(both), &lane);
  }
  at = t->owner->shared_lo + (cell << CELL_SHIFT) + (uint32_t)__builtin_ctz(both);
  uint8_t kind = cl->race->actor[a->actor].kind, mine = cl->race->actor[t->actor].kind;
  for (uint32_t m = t->at ? t->lanes : 0, from = 0; m; m &= m - 1) { /* the lane that touches the byte */
    uint32_t l = (uint32_t)__builtin_ctz(m), first = (uint32_t)t->at[l];
    if (first <= at && first > from) t->who.lane = (int)l, from = first;
  }
  ws_emu_where(k, &k->code[a->what >> 4], where, sizeof where);
  ws_emu_thread_id(w, lane, id);
  if (w->cta != t->who.w->cta) snprintf(whose, sizeof whose, " of CTA (%u,%u,%u)", w->cta->id[0], w->cta->id[1], w->cta->id[2]);
  t->ev = EV_FAULT;
  if (mine != BY_WARP) snprintf(issues, sizeof issues, "issues a %s that ", operations[mine]);
  if (kind != BY_WARP) snprintf(other, sizeof other, "a %s of ", operations[kind]);
  WHO_FAULT(t->who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "%s%s shared address 0x%x%s, which %sthread (%u,%u,%u)%s %s%s, %s", lanes ? "" : issues,
            t->what & RACE_WRITE ? "writes" : "reads", at, lanes ? " through the async proxy" : "", other, id[0], id[1], id[2], whose,
            lanes ? "wrote" : a->what & RACE_WRITE ? "writes" : "reads", lanes ? " without a fence.proxy.async since" : ", and nothing orders the two", where);
}

/* ---- the async proxy: what threads wrote by ordinary instructions, cp.async among them, must have been fenced by the threads
 * that wrote it, ordered before the operation. PTX ISA "Async proxy", "membar, fence". Option "race" = "lenient" takes a fence of the
 * warp that issues the operation, too, when the writes are ordered before that, as ThunderKittens stores its tiles. ---- */
/* Who wrote and has not. */
static uint32_t unfenced(const struct race_touch *t, const struct race_access *a) {
  const struct race_actor *by = &t->owner->cluster->race->actor[a->actor];
  if (by->kind != BY_WARP && by->kind != BY_CP_ASYNC) return 0;
  const struct vclock *reader = t->who.w->race ? &t->who.w->race->proxied : NULL;
  if (reader && a->actor < reader->n && reader->t[a->actor] >= a->clock) return 0;
  const struct race_warp *w = by->w->race;
  uint32_t self = w->actor[BY_WARP], need = a->lanes, last = w->fences > RACE_FENCES ? w->fences - RACE_FENCES : 0;
  for (uint32_t i = w->fences; i-- > last && need;) {
    const struct race_fence *f = &w->fence[i % RACE_FENCES];
    if (by->kind == BY_WARP ? f->epoch <= a->clock : f->copies < a->clock) return need;
    if (f->epoch <= t->now->t[self]) need &= ~f->mask;
  }
  return last ? 0 : need; /* those before are forgotten */
}

/* ---- one access to one cell ---- */
static bool conflict(const struct race_touch *t, const struct race_access *a, uint32_t bytes) {
  return a->bytes & bytes && (a->what | t->what) & RACE_WRITE && !(a->what & t->what & RACE_STRONG) && t->now->t[a->actor] < a->clock;
}
/* `a` lies before and shares bytes. False after a fault. */
static bool agrees(struct race_touch *t, struct race_cell *c, struct race_access *a, uint32_t at, uint32_t bytes) {
  if (conflict(t, a, bytes)) {
    for (struct race_access *b = a; b < list(c) + c->n; b++) /* rather the last one: who reads what is written */
      if (conflict(t, b, bytes)) a = b;
    report(t, a, at, bytes, 0);
    return false;
  }
  if ((t->what & (RACE_ASYNC | RACE_WRITE)) != RACE_ASYNC || (a->what & (RACE_WRITE | RACE_ASYNC | RACE_FENCED)) != RACE_WRITE) return true;
  uint32_t lanes = unfenced(t, a);
  if (lanes) {
    report(t, a, at, bytes, lanes);
    return false;
  }
  a->what |= RACE_FENCED; /* visible from now on */
  return true;
}
/* Who is ordered behind this access is behind `a`, too. */
static inline bool superfluous(const struct race_access *a, uint32_t how) {
  return (how & RACE_WRITE || !(a->what & RACE_WRITE)) && (a->what & RACE_STRONG || !(how & RACE_STRONG));
}

/* The common cases in a few steps; false: look closer. An actor's clocks are passed in order, so its later read says all that its
 * earlier one did. */
static inline bool quick_read(const struct race_touch *t, struct race_cell *c, const struct race_access *mine) {
  struct race_access *a = list(c), *end = a + c->n, *reads = a + c->writes;
  const uint32_t *now = t->now->t;
  for (; a < reads; a++)
    if (a->bytes & mine->bytes && (now[a->actor] < a->clock || (mine->what & RACE_ASYNC && !(a->what & (RACE_ASYNC | RACE_FENCED))))) return false;
  for (; a < end; a++)
    if (a->actor == mine->actor && !((a->what ^ mine->what) & RACE_HOW) && !(a->bytes & ~mine->bytes)) {
      *a = *mine;
      return true;
    }
  if (c->n == room_of(c)) return false;
  *end = *mine;
  c->n++;
  return true;
}
static inline bool quick_write(const struct race_touch *t, struct race_cell *c, const struct race_access *mine) {
  struct race_access *a = list(c);
  const uint32_t *now = t->now->t;
  if (mine->bytes != UINT16_MAX || mine->what & RACE_STRONG) return false;
  for (const struct race_access *end = a + c->n; a < end; a++)
    if (now[a->actor] < a->clock) return false;
  *list(c) = *mine;
  c->n = c->writes = 1;
  return true;
}

static void look(struct race_touch *t, struct race_cell *c, uint32_t at, uint32_t bytes, uint32_t lanes) {
  struct race_access mine = {t->clock, (uint16_t)t->actor, (uint16_t)bytes, lanes, t->what}, *a = list(c), *kept = a;
  const uint32_t *now = t->now->t;
  uint32_t how = t->what & RACE_HOW, writes = 0;
  bool noted = false;
  for (const struct race_access *end = a + c->n; a < end; a++) {
    bool same = a->clock == mine.clock && a->actor == mine.actor;
    if (a->bytes & bytes) {
      if (same && (a->what & RACE_HOW) == how && !(bytes & ~(uint32_t)a->bytes) && how != (RACE_ASYNC | RACE_WRITE)) {
        a->lanes |= lanes; /* as the same actor's last one */
        noted = true;
      } else {
        if (!agrees(t, c, a, at, bytes)) return;
        if (now[a->actor] >= a->clock && superfluous(a, how) && !(a->bytes &= (uint16_t)~bytes)) continue;
      }
    }
    if (!noted && same && a->what == mine.what) {
      a->bytes |= (uint16_t)bytes;
      a->lanes |= lanes;
      noted = true;
    }
    if (kept != a) *kept = *a;
    kept++;
    writes += a->what & RACE_WRITE;
  }
  c->writes = (uint16_t)writes;
  c->n = (uint16_t)(kept - list(c));
  if (!noted) append(t->owner->race, c, &mine);
}

static inline void touch(struct race_touch *t, uint32_t at, uint32_t bytes, uint32_t lanes) {
  struct race_cell *c = &t->owner->race->cell[at];
  struct race_access mine = {t->clock, (uint16_t)t->actor, (uint16_t)bytes, lanes, t->what};
  if (t->what & RACE_WRITE ? quick_write(t, c, &mine) : quick_read(t, c, &mine)) return;
  look(t, c, at, bytes, lanes);
}

int ws_emu_race_lanes(struct warp *w, const struct inst *in, struct cta *owner, enum race_kind kind, const uint64_t a[LANES], uint32_t bytes, int how) {
  struct race_touch t;
  if (!ws_emu_race_begin(&t, WHO(w, in, __builtin_ctz(w->mask)), owner, kind, w->race->copies, how, NULL)) return EV_NEXT;
  uint32_t lo = owner->shared_lo, cell = UINT32_MAX, part = (1u << bytes) - 1, touched = 0, lanes = 0;
  t.at = a;
  for (uint32_t i = 0; i < LANES; i++)
    if (w->mask >> i & 1) __builtin_prefetch(&owner->race->cell[((uint32_t)a[i] - lo) >> CELL_SHIFT], 1);
  for (uint32_t m = w->mask; m; m &= m - 1) { /* neighbours that share a cell go together */
    uint32_t i = (uint32_t)__builtin_ctz(m), at = (uint32_t)a[i] - lo;
    if (at >> CELL_SHIFT != cell) {
      if (lanes) t.lanes = lanes, touch(&t, cell, touched, lanes);
      cell = at >> CELL_SHIFT;
      touched = lanes = 0;
    }
    touched |= part << (at & (CELL_BYTES - 1));
    lanes |= 1u << i;
  }
  t.lanes = lanes;
  touch(&t, cell, touched, lanes);
  return t.ev;
}
int ws_emu_race_lane(struct who who, struct cta *owner, uint32_t offset, uint32_t bytes, int how) {
  struct race_touch t;
  if (ws_emu_race_begin(&t, who, owner, BY_WARP, 0, how, NULL)) ws_emu_race_touch(&t, offset, bytes);
  return t.ev;
}

/* ---- asynchronous operations ---- */
static uint32_t issuer(struct who who) { return (who.w->cta->rank << 5 | who.w->index) << 8 | (uint32_t)who.lane; }

bool ws_emu_race_begin(struct race_touch *t, struct who who, struct cta *owner, enum race_kind kind, uint32_t clock, int how, struct vclock *now) {
  struct warp *w = who.w;
  t->ev = EV_NEXT;
  if (!owner->race || !w->race) return false;
  ws_emu_race_open(w);
  uint32_t actor = ws_emu_race_actor(w, kind);
  const struct vclock *whole = actor == NO_ACTOR ? NULL : ws_emu_race_whole(w, now);
  if (!whole) return false;
  uint32_t lanes = kind == BY_WARP || kind == BY_CP_ASYNC ? 1u << who.lane : issuer(who);
  *t = (struct race_touch){who, owner, whole, NULL, actor, kind == BY_WARP ? whole->t[actor] : clock, (uint32_t)(who.in - w->cta->k->code) << 4 | (uint32_t)how,
                           lanes, EV_NEXT};
  return true;
}
bool ws_emu_race_begin_mbar(struct race_touch *t, struct who who, struct cta *owner, struct mbar_ref signal, int how) {
  const struct mbar *b = who.w->race && owner->race ? ws_emu_mbar_get(who, signal) : NULL;
  t->ev = EV_NEXT;
  if (!b || !b->race || b->race->actor == NO_ACTOR || !ws_emu_race_begin(t, who, owner, BY_WARP, 0, how, NULL)) return false;
  t->actor = b->race->actor;
  t->clock = b->race->clock + 1;
  t->lanes = issuer(who);
  return true;
}

void ws_emu_race_touch(struct race_touch *t, uint32_t offset, uint32_t bytes) {
  while (bytes && t->ev == EV_NEXT) {
    if (bytes > AHEAD * CELL_BYTES) __builtin_prefetch(&t->owner->race->cell[(offset >> CELL_SHIFT) + AHEAD], 1);
    uint32_t first = offset & (CELL_BYTES - 1), n = CELL_BYTES - first < bytes ? CELL_BYTES - first : bytes;
    touch(t, offset >> CELL_SHIFT, ((1u << n) - 1) << first, t->lanes);
    offset += n;
    bytes -= n;
  }
}

int ws_emu_race_store(struct who who, struct cta *owner, uint32_t offset, uint32_t bytes) {
  struct race_touch t;
  if (ws_emu_race_begin(&t, who, owner, BY_STORE, who.w->bulk_groups[who.lane] + 1, RACE_ASYNC, NULL)) ws_emu_race_touch(&t, offset, bytes);
  return t.ev;
}
int ws_emu_race_signalled(struct who who, struct cta *owner, struct mbar_ref signal, uint32_t offset, uint32_t bytes, int how) {
  struct race_touch t;
  if (!ws_emu_race_begin_mbar(&t, who, owner, signal, how)) return t.ev;
  ws_emu_race_touch(&t, offset, bytes);
  ws_emu_race_mbar_arrive(who, signal, true, false); /* what lies before it lies before its completion */
  return t.ev;
}
