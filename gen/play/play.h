/* gen/play: the protocol checker. Executes the role programs of a model abstractly and proves that their parts fit.
 *
 * Every warp is an agent, in both CTAs of a pair; so is the elected thread of a role's one-thread blocks; so is everything that
 * runs by itself: copies by cp.async and TMA, wgmma groups, tcgen05 products and commits, bulk stores. Each has a component in a
 * vector clock, and clocks join where something synchronises. The programs block only at waits, so one order of events stands
 * for all of them, provided that each arrival and each wait of a barrier's phase is ordered against those of the phase before
 * and after; that is checked as it is played. Then two accesses to the same bytes that no clock orders are a race in some
 * execution, and a state in which nobody can go on is a deadlock in every one.
 *
 *   world.h    what a run consists of        value.c    lists, indices and conditions of one warp
 *   world.c    clocks, agents, barriers      memory.c   who touched which bytes: races
 *   step.c     one statement of one warp     sync.c     rings, barriers, sync, await
 *   barrier.c  phases, arrivals, drift       move.c     loads, stores, products, reads and writes
 *   content.c  which rows and columns of which tile a slot or a value holds
 *   report.c   findings, with both places    play.c     trip counts, sequences of tiles, the verdict
 *   remedy.c   where a wait, a release or a barrier would help
 *   declare.c  what each warp declares for given lists: the events that a kernel has to show, too
 *
 * tests/play holds this against all interleavings of the same model (explore.h there), against SPIN, and against mutants. It is stricter in
 * one case by intent: a slot must not be released while a product in flight reads it, even where nobody can refill it so early. With
 * longer lists the time of a statement is constant; it grows with the number of agents and barriers.
 *
 * May include gen/base and gen/schedule. Reads the model, changes nothing in it. */
#ifndef WS_PLAY_H
#define WS_PLAY_H
#include "schedule/schedule.h"

enum ws_verdict { WS_CLEAN, WS_REVIEW, WS_INCOMPLETE, WS_VERDICT_ERROR };
const char *ws_verdict_name(enum ws_verdict v); /* clean review incomplete error */

struct ws_play_options {
  bool strict;          /* what rests on an assumption is `review`, not `clean`: on `launch: single`, where a CTA has one work tile and
                           need not be ready for another; or on ruling A1: tcgen05 products of one thread run in issue order
                           even when their accumulators differ. PTX promises it for equal accumulators only */
  int most_blocks;      /* longest list of blocks played; 0 = twice around the deepest ring, and one more */
};

struct ws_play_result {
  enum ws_verdict verdict;
  bool needs_a1;        /* right under A1 only */
  bool needs_single;    /* right for one work tile a CTA only */
  const char *notes;    /* lines for `check`: what was played, the assumption, what is not modelled */
  long events;          /* statements executed by all agents, over all runs */
  long longest;         /* in the longest run */
  int runs;
};

/* Plays s for all small trip counts and sequences of work tiles. Findings are errors in d, each with notes: the other place, the
 * trip counts, the order that is missing. The strings of the result live in a. Thread-safe: no global state. */
struct ws_play_result ws_play(const struct ws_schedule *s, const struct ws_play_options *opt, struct ws_arena *a, struct ws_diags *d);

/* --- what a schedule declares --- */

/* What the statements of one CTA, or of a pair, do to synchronise, each once its warp has got past it. */
enum ws_declared {
  WS_D_INIT,          /* an mbarrier, count */
  WS_D_WAIT,          /* at an mbarrier: phase */
  WS_D_ARRIVE,        /* at an mbarrier: count; bytes, where they are announced with it */
  WS_D_COMMIT,        /* of tcgen05 products, at an mbarrier */
  WS_D_MEET, WS_D_PASS, /* at a named barrier, or the CTA's: waits, or does not; id, count */
  WS_D_MEET_WARP,
  WS_D_MEET_CLUSTER,
  WS_D_COPY,          /* cp.async: bytes, of all warps of the instance together */
  WS_D_COPY_COMMIT,
  WS_D_COPY_WAIT,     /* count: N */
  WS_D_LOAD,          /* by TMA: an mbarrier, bytes; of a multicast one for each CTA */
  WS_D_STORE,         /* a bulk store: bytes */
  WS_D_STORE_WAIT,    /* count: N */
  WS_D_WGMMA,         /* bytes: 2*m*n*k of this warp's rows */
  WS_D_WGMMA_WAIT,    /* count: N */
  WS_D_PRODUCT,       /* by tcgen05; bytes: 2*m*n*k */
  WS_D_READ, WS_D_WRITE, /* tensor memory; bytes of this warp */
  WS_D_HAND,          /* what threads wrote to shared memory and TMA, wgmma or tcgen05 reads is handed over */
  WS_D_REGISTERS,     /* count */
  WS_D_ALLOC, WS_D_FREE, /* tensor memory; count: columns that are in use */
  WS_DECLARED
};
struct ws_declaration {
  enum ws_declared kind;
  int cta, warp;                /* rank in the pair; warp of the CTA */
  const struct ws_rolem *role;  /* NULL: at the entry or exit of the kernel, which no statement stands for */
  int instance;
  const struct ws_act *act;     /* the statement; NULL as well */
  bool exit;                    /* behind all programs */
  int threads;                  /* of the warp: 1 or 32 */
  int vote;                     /* of an arm that data decide, played as if taken: the number of that execution, from 1; 0 = none */
  const struct ws_pipelinem *pipe; /* an mbarrier: of a ring, */
  bool empty;                   /* its empty side, */
  const struct ws_barrierm *barrier; /* or by hand */
  int element, slot, at_cta;
  bool again;                   /* the same statement's, at the other CTA of its scope */
  int phase, id;
  long count, bytes;
};
struct ws_play_shape {
  int ntiles;                   /* work tiles of this CTA, at most 8 */
  int (*length)(void *ctx, const struct ws_problem_list *list, int tile, int block); /* blocks of a list; block: position of the one it is seen from */
  void (*declare)(void *ctx, const struct ws_declaration *d);
  void *ctx;
};
/* Plays s once for these lists and hands out what it declares, of each warp in its order. False, with findings in d, where the play
 * finds a fault or something that it does not model. */
bool ws_play_declare(const struct ws_schedule *s, const struct ws_play_shape *shape, struct ws_arena *a, struct ws_diags *d);
#endif
