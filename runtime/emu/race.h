/* Races in shared memory, by happens-before: two accesses to the same bytes, one of them a write, by different warps or
 * asynchronous operations, that no synchronisation orders, are a fault with both lines, in whatever order they happened to run.
 * PTX ISA "Memory Consistency Model", "Async proxy".
 *
 * Actors are the warps of a cluster and what they start: the cp.async copies of a warp, its bulk stores, its tcgen05 operations,
 * the wgmma operations of a warpgroup, and for each mbarrier the operations that will credit it. An actor has a clock: a warp's
 * goes on when it releases something, the others' count groups, operations or phases, which is how their completion is waited
 * for. A warp knows of every actor up to which clock it is ordered behind it (struct vclock); what releases hands that on, what
 * acquires takes it over. An asynchronous operation is an access of its actor, ordered behind what its warp knows when it issues it;
 * its warp itself is ordered behind it only once it has waited. So all accesses are noted at issue, and the order in which
 * operations complete does not matter.
 *
 * Every 16 bytes have a cell with the accesses that a later one may race with, each with the bytes that it touched: the epochs
 * of Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", with a list where they have a vector.
 * An access drops those before it that it makes superfluous.
 *
 * race.c: cells and reports;  race_order.c: clocks, and what orders. Option "race" = "off" drops all of it; without host memory
 * left nothing is looked for. */
#ifndef WS_EMU_RACE_H
#define WS_EMU_RACE_H
#include "engine.h"

enum race_kind { BY_WARP, BY_CP_ASYNC, BY_WGMMA, BY_STORE, BY_TENSOR, WARP_KINDS, BY_MBAR = WARP_KINDS };
enum race_how { RACE_READ = 0, RACE_WRITE = 1, RACE_STRONG = 2 /* volatile, relaxed or atomic: they do not race with each other */,
                RACE_ASYNC = 4 /* through the async proxy */, RACE_HOW = 7, RACE_FENCED = 8 };
#define NO_ACTOR UINT32_MAX

struct vclock { /* of every actor the last clock that is ordered before; 0 from n on */
  uint32_t *t, n;
  uint32_t by, version; /* the last warp that was joined, and what it knew then */
};
struct race_actor { struct warp *w; uint8_t kind; }; /* of BY_MBAR: w NULL */
enum { RACE_FENCES = 16, RACE_GROUPS = 32 };
struct race_fence { uint32_t epoch, copies, mask; }; /* a proxy fence: the warp's clock behind it, cp.async known to be there, lanes */
struct race_warp {
  uint32_t actor[WARP_KINDS];
  struct vclock now;
  uint32_t version;          /* changes with `now` */
  bool closed;               /* something was released: the next access has a new clock */
  struct vclock fenced;      /* what a relaxed release hands on: known at the last fence */
  struct vclock seen;        /* what relaxed loads saw: known after the next fence */
  struct race_fence fence[RACE_FENCES];
  uint32_t fences;
  struct vclock proxied;     /* what it knew at the last of them, where option "race" = "lenient" */
  uint32_t copies;           /* clock of cp.async: goes on with each group and arrival */
  uint32_t group[RACE_GROUPS], groups; /* the clock of a committed group */
  bool inits;                /* has initialised an mbarrier without a fence since */
};
struct race_access {         /* one of those that a later access may race with */
  uint32_t clock;
  uint16_t actor, bytes;     /* bytes: a bit each */
  uint32_t lanes;            /* of the warp, a bit each; of an operation: warp in the cluster << 8 | the lane that issued it */
  uint32_t what;             /* instruction << 4 | enum race_how */
};
enum { CELL_SHIFT = 4, CELL_BYTES = 1 << CELL_SHIFT, CELL_INLINE = 5 };
struct race_cell { /* a cache line */
  struct race_access a[CELL_INLINE], *more;
  uint16_t n, cap, writes;   /* cap: of `more`, which then holds all; writes stand before reads */
};
struct race_cta {
  struct race_cell *cell;
  struct vclock barrier[NBARRIERS];
  struct race_block *blocks; /* memory of longer lists */
  struct race_warp warp[];
};
struct race {                /* of a cluster */
  struct race_actor *actor;
  uint32_t actors, cap;
  struct vclock memory;      /* what was released by stores and atomics */
  struct vclock open, done;  /* the cluster's barrier: this phase, those before */
};
struct race_mbar {
  uint32_t actor, clock;     /* clock: phases completed */
  struct vclock open, done;
  struct warp *by;           /* who initialised it .. */
  const struct inst *in;
  uint32_t lane, init, fenced; /* .. at which clock; fenced at which, 0 = not yet */
};

/* ---- life ---- */
void ws_emu_race_start(struct cluster *cl);   /* its CTAs are there */
void ws_emu_race_end(struct cluster *cl);
void ws_emu_race_mbar_free(struct mbar *b);
void ws_emu_race_cells_free(struct race_cta *r);

/* ---- accesses (race.c): EV_NEXT or EV_FAULT ---- */
/* Of the executing lanes, a power of two bytes up to 16 each at a[lane], or of their copies by cp.async; `owner` is watched (owner->race). */
int ws_emu_race_lanes(struct warp *w, const struct inst *in, struct cta *owner, enum race_kind kind, const uint64_t a[LANES], uint32_t bytes, int how);
int ws_emu_race_lane(struct who who, struct cta *owner, uint32_t offset, uint32_t bytes, int how); /* one thread */
/* An asynchronous operation: begin, then its bytes. */
struct race_touch {
  struct who who;
  struct cta *owner;
  const struct vclock *now;
  const uint64_t *at;        /* of lanes */
  uint32_t actor, clock, what, lanes;
  int ev;
};
/* kind: one of a warp's; now: NULL: what the warp knows. False: not looked for. */
bool ws_emu_race_begin(struct race_touch *t, struct who who, struct cta *owner, enum race_kind kind, uint32_t clock, int how, struct vclock *now);
/* An operation that will credit the mbarrier. */
bool ws_emu_race_begin_mbar(struct race_touch *t, struct who who, struct cta *owner, struct mbar_ref signal, int how);
void ws_emu_race_touch(struct race_touch *t, uint32_t offset, uint32_t bytes);
int ws_emu_race_store(struct who who, struct cta *owner, uint32_t offset, uint32_t bytes);                         /* a bulk store reads */
int ws_emu_race_signalled(struct who who, struct cta *owner, struct mbar_ref signal, uint32_t offset, uint32_t bytes, int how);

/* ---- order (race_order.c) ---- */
uint32_t ws_emu_race_actor(struct warp *w, enum race_kind kind);
void ws_emu_race_open(struct warp *w);        /* an access follows */
void ws_emu_race_knows(struct warp *w, enum race_kind kind, uint32_t clock); /* it has waited for its operations up to there */
void ws_emu_race_join(struct vclock *to, const struct vclock *from);
void ws_emu_race_release(struct warp *w, struct vclock *to, bool relaxed);
void ws_emu_race_acquire(struct warp *w, const struct vclock *from, bool relaxed);
const struct vclock *ws_emu_race_whole(struct warp *w, struct vclock *now); /* `now`, or what the warp knows, of all actors there are; NULL without memory */
/* A copy of what a warp knows, with its operations of a kind up to a clock; NULL where races are not looked for. */
struct vclock *ws_emu_race_snapshot(struct warp *w, enum race_kind kind, uint32_t clock);
void ws_emu_race_snapshot_free(struct vclock *v);

void ws_emu_race_barrier(struct warp *w, uint32_t id);                  /* arrives */
void ws_emu_race_barrier_done(struct cta *c, uint32_t id, uint32_t waiting, bool all);
void ws_emu_race_cluster_arrive(struct warp *w, bool relaxed);
void ws_emu_race_cluster_done(struct cluster *cl);
void ws_emu_race_cluster_wait(struct warp *w);
void ws_emu_race_fence(struct warp *w);
void ws_emu_race_proxy_fence(struct warp *w, bool of_inits);            /* of_inits: of mbarrier.init only */
void ws_emu_race_observed(struct warp *w, bool acquire);                /* a volatile, relaxed or atomic load */
void ws_emu_race_published(struct warp *w, bool release);               /* .. store */

void ws_emu_race_copies_committed(struct warp *w);
void ws_emu_race_copies_waited(struct warp *w, uint32_t keep, bool all);
struct vclock *ws_emu_race_copies_arrive(struct warp *w);               /* a cp.async.mbarrier.arrive is issued: as snapshot */

void ws_emu_race_mbar_init(struct who who, struct mbar *b);
void ws_emu_race_mbar_phase(struct cluster *cl, struct mbar *b);        /* a phase is over */
int ws_emu_race_mbar_used(struct who who, struct mbar_ref ref, const struct mbar *b);      /* by a thread */
int ws_emu_race_mbar_signalled(struct who who, struct mbar_ref ref);                       /* by the async proxy */
void ws_emu_race_mbar_arrive(struct who who, struct mbar_ref ref, bool cluster, bool relaxed);
void ws_emu_race_mbar_arrive_late(struct who who, struct mbar_ref ref, const struct vclock *from); /* from: a snapshot or NULL */
void ws_emu_race_mbar_waited(struct warp *w, const struct mbar *b, bool relaxed);
#endif
