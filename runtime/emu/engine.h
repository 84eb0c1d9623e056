/* The asynchronous side of the machine: clusters, mbarriers, and agents, which stand for operations that go on by
 * themselves after the instruction that issued them (bulk copies, asynchronous stores, arrivals of cp.async).
 *
 * The CTAs of a cluster run on one worker thread, warp after warp, so nothing here needs a lock. A launch without clusters
 * is one of clusters of one CTA.
 *
 * To issue an operation, a handler
 *   1. checks all operands now (ws_emu_who, ws_emu_mbar_at, ws_emu_peer name what is wrong),
 *   2. makes an agent: ws_emu_agent_new(who, payload bytes, perform), fills a->payload, a->signal, a->group, a->holds_shared,
 *   3. poisons the destination unless ws_emu_early(w) says that it will be written at once,
 *   4. hands it over: return ws_emu_agent_issue(a).
 * From then on the agent belongs to the engine, which calls a->perform(a) until that returns AGENT_DONE. Each call is one
 * step (a->step counts them from 0): an operation that first reads and later writes returns AGENT_AGAIN between the two,
 * and other agents and warps may run in between. perform moves data and credits barriers with ws_emu_mbar_complete_tx; it
 * reports what is wrong with ws_emu_fault(a->who.w, a->who.in, a->who.lane, ..) and returns AGENT_FAULT.
 *
 * When a step happens is the schedule's choice:
 *   early   all steps at issue
 *   late    when every warp of the cluster waits and one of them may be waiting for a->signal: the oldest such agent
 *   random  at issue or at any later turn of the cluster's warps, in any order
 * and for agents of a bulk group at the latest when ws_emu_agents_finish asks for them. An agent that still holds its CTA's
 * shared memory (a->holds_shared) when that CTA ends is a fault of the kernel. */
#ifndef WS_EMU_ENGINE_H
#define WS_EMU_ENGINE_H
#include "machine.h"

enum { MAX_CLUSTER = 16, RANK_SHIFT = 24 };

/* ---- who does something: for messages ---- */
struct who {
  struct warp *w;
  const struct inst *in;
  int lane;
};
#define WHO(w, in, lane) ((struct who){w, in, lane})
#define WHO_FAULT(who, ...) ws_emu_fault((who).w, (who).in, (who).lane, __VA_ARGS__)

/* ---- clusters (cluster.c) ---- */
struct cluster {
  struct grid *grid;
  uint64_t number;
  uint32_t n;                      /* CTAs */
  struct cta *cta[MAX_CLUSTER];    /* by rank */
  uint32_t arrived, phase;         /* of barrier.cluster: warps of this phase, phases completed */
  struct agent *first, **last;     /* in flight, the oldest first */
  uint64_t random;                 /* state of the random schedule */
  uint64_t events, seen_events;    /* changes that a waiting warp might have waited for */
  uint32_t idle;                   /* rounds of failed waits without one */
  uint32_t tc_tick;                /* events in tensor memory: tensor_race.c */
  struct race *race;               /* race.h; NULL when races are not looked for */
  struct cta *faulted;             /* the first CTA with a fault */
  struct cluster *next;
};
enum cluster_event { CLUSTER_DONE, CLUSTER_PAUSED, CLUSTER_FAULT };
struct cluster *ws_emu_cluster_new(struct grid *g, uint64_t number, struct fault *fault);
/* The first CTA of the grid's cluster `number`. */
void ws_emu_cluster_id(const struct emu_launch *l, uint64_t number, uint32_t id[3]);
void ws_emu_cluster_free(struct cluster *cl);
enum cluster_event ws_emu_cluster_run(struct cluster *cl);
/* barrier.cluster.arrive and .wait by a whole warp. */
int ws_emu_cluster_arrive(struct warp *w, const struct inst *in);
int ws_emu_cluster_wait(struct warp *w, const struct inst *in);
uint32_t ws_emu_random(struct cluster *cl, uint32_t below);
/* The CTA that a shared::cluster address points into and the offset in its shared memory. NULL after a fault: no such CTA,
 * it has ended, the `bytes` (a power of two: also their alignment) do not lie inside. */
struct cta *ws_emu_peer(struct who who, uint32_t address, uint32_t bytes, bool write, uint32_t *offset);

/* ---- mbarriers (mbar.c), PTX ISA "mbarrier" ---- */
struct mbar {
  uint32_t offset;                 /* in its CTA's shared memory */
  uint32_t phase, expected, pending;
  int32_t tx;
  uint32_t waiting;                /* warps of the CTA that wait for a phase, a bit each */
  bool live;
  struct race_mbar *race;          /* race.h */
};
struct mbar_ref { struct cta *cta; uint32_t offset; }; /* cta NULL: none */
enum { MBAR_MAX = (1 << 20) - 1 };
/* Looks an address up that lies in the shared::cluster window; false after a fault. */
bool ws_emu_mbar_at(struct who who, uint32_t address, struct mbar_ref *ref);
struct mbar *ws_emu_mbar_get(struct who who, struct mbar_ref ref); /* NULL after a fault: no mbarrier lives there (any more) */
uint32_t ws_emu_mbar_name(struct mbar_ref ref); /* bytes from the start of dynamic shared memory */
int ws_emu_mbar_init(struct who who, uint32_t address, uint32_t count);
int ws_emu_mbar_inval(struct who who, uint32_t address);
int ws_emu_mbar_expect_tx(struct who who, struct mbar_ref ref, uint32_t bytes);
int ws_emu_mbar_complete_tx(struct who who, struct mbar_ref ref, uint32_t bytes);
int ws_emu_mbar_arrive(struct who who, struct mbar_ref ref, uint32_t count);
int ws_emu_mbar_add_pending(struct who who, struct mbar_ref ref);
int ws_emu_mbar_drop(struct who who, struct mbar_ref ref, uint32_t count);
/* The state that an arrive returns: phase, and the arrivals pending before it. */
uint64_t ws_emu_mbar_state(const struct mbar *b);

/* ---- agents (agent.c) ---- */
enum agent_step { AGENT_DONE, AGENT_AGAIN, AGENT_FAULT };
struct agent {
  struct agent *next;
  enum agent_step (*perform)(struct agent *a);
  struct who who;                  /* the thread that issued it */
  struct mbar_ref signal;          /* the mbarrier that it will credit; cta NULL: completes by its group */
  uint32_t group;                  /* of the issuing thread's bulk groups */
  uint32_t step;                   /* calls of perform so far */
  bool holds_shared;               /* reads or writes the issuing CTA's shared memory in a later step */
  bool delayed;
  struct vclock *clock;            /* race.h: what an arrival hands on, or NULL */
  uint8_t payload[] __attribute__((aligned(16)));
};
struct agent *ws_emu_agent_new(struct who who, size_t payload, enum agent_step (*perform)(struct agent *a)); /* NULL after a fault */
int ws_emu_agent_issue(struct agent *a); /* EV_NEXT or EV_FAULT */
bool ws_emu_early(const struct warp *w);
/* Performs the agents without a signal that the executing thread `lane` issued, of groups below `before`: to their end, or
 * (read) until they no longer hold shared memory. EV_NEXT or EV_FAULT. */
int ws_emu_agents_finish(struct warp *w, int lane, uint32_t before, bool read);
/* Something must happen or the cluster stands still: one step of one agent that a warp may be waiting for. */
bool ws_emu_agents_relieve(struct cluster *cl);
void ws_emu_agents_turn(struct cluster *cl);    /* the random schedule, between turns */
bool ws_emu_agents_left(struct cta *c);         /* a CTA ends: false after a fault */
bool ws_emu_agents_drain(struct cluster *cl);   /* a cluster ends: performs what no one waits for */
void ws_emu_agents_free(struct cluster *cl);
void ws_emu_agent_free(struct agent *a);        /* one that was not issued */

/* ---- waiting (warp.c) ---- */
/* The executing path waits for an mbarrier's phase and will execute the instruction again. */
int ws_emu_path_wait(struct warp *w, const struct inst *in);
void ws_emu_wake(struct warp *w); /* paths that wait look again */
bool ws_emu_part(struct warp *w); /* lanes that wait at a reconvergence point go on alone; false: none do */
#endif
