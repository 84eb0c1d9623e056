/* A cluster: its CTAs and their warps in turn, its barrier, what to do when nothing can go on. PTX ISA "Cooperative Thread
 * Arrays", "barrier.cluster". */
#include "race.h"
#include "tensor.h"
#include "unwritten.h"
#include "warpgroup.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <time.h>

enum { TURN = 4096, RANDOM_TURN = 512, POLL_LIMIT = 64 };
enum { PAUSE_AFTER = 1 << 22, PAUSE_WAITING = 1 << 16 }; /* warp instructions before other clusters get their turn */
enum { IDLE_ROUNDS = 1000 };                             /* failed waits that change nothing: a deadlock */

uint32_t ws_emu_random(struct cluster *cl, uint32_t below) {
  cl->random = cl->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((cl->random >> 33) * below >> 31);
}

void ws_emu_cluster_id(const struct emu_launch *l, uint64_t number, uint32_t id[3]) {
  for (int d = 0; d < 3; d++) {
    uint32_t n = l->grid[d] / l->cluster[d];
    id[d] = (uint32_t)(number % n) * l->cluster[d];
    number /= n;
  }
}

struct cluster *ws_emu_cluster_new(struct grid *g, uint64_t number, struct fault *fault) {
  const struct emu_launch *l = g->l;
  struct cluster *cl = calloc(1, sizeof *cl);
  uint32_t first[3], rank[3];
  if (!cl) {
    fault->code = WS_CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(fault->msg, sizeof fault->msg, "kernel '%s': no host memory for a cluster", l->kernel->func->sym->name);
    return NULL;
  }
  cl->grid = g;
  cl->number = number;
  cl->last = &cl->first;
  cl->random = (l->options.seed + 1) * 0x9e3779b97f4a7c15u ^ number;
  ws_emu_cluster_id(l, number, first);
  for (uint32_t r = 0; r < l->cluster[0] * l->cluster[1] * l->cluster[2]; r++) {
    uint32_t cta[3];
    rank[0] = r % l->cluster[0];
    rank[1] = r / l->cluster[0] % l->cluster[1];
    rank[2] = r / l->cluster[0] / l->cluster[1];
    for (int d = 0; d < 3; d++) cta[d] = first[d] + rank[d];
    cl->cta[r] = ws_emu_cta_new(cl, r, cta, fault);
    if (!cl->cta[r]) {
      ws_emu_cluster_free(cl);
      return NULL;
    }
    cl->n++;
  }
  ws_emu_race_start(cl);
  return cl;
}

void ws_emu_cluster_free(struct cluster *cl) {
  if (!cl) return;
  ws_emu_agents_free(cl);
  ws_emu_race_end(cl);
  for (uint32_t r = 0; r < cl->n; r++) ws_emu_cta_free(cl->cta[r]);
  free(cl);
}

struct cta *ws_emu_peer(struct who who, uint32_t address, uint32_t bytes, bool write, uint32_t *offset) {
  struct cluster *cl = who.w->cta->cluster;
  uint32_t rank = address >> RANK_SHIFT;
  if (rank >= cl->n) {
    WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at shared address 0x%x, of CTA %u of the cluster's %u", write ? "writes" : "reads", bytes,
              address, rank, cl->n);
    return NULL;
  }
  struct cta *c = cl->cta[rank];
  *offset = address - c->shared_lo;
  if (*offset > c->shared_size || c->shared_size - *offset < bytes || address & (bytes - 1)) {
    ws_emu_bad_address(who.w, who.in, who.lane, SP_SHARED, address, bytes, write);
    return NULL;
  }
  if (c->done) {
    WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s shared memory of CTA %u of its cluster, which has ended", write ? "writes" : "reads", rank);
    return NULL;
  }
  if (write) unwritten_mark_shared(c, *offset, bytes);
  return c;
}

/* ---- the cluster's barrier: threads that have ended do not count ---- */
static uint32_t warps_left(const struct cluster *cl) {
  uint32_t n = 0;
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++) {
      const struct warp *w = &cl->cta[r]->warps[i];
      n += w->state != WARP_DONE || w->cluster_phase > cl->phase;
    }
  return n;
}

static void check_barrier(struct cluster *cl) {
  if (!cl->arrived || cl->arrived < warps_left(cl)) return;
  cl->arrived = 0;
  cl->phase++;
  ws_emu_race_cluster_done(cl);
  cl->events++;
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++)
      if (cl->cta[r]->warps[i].state == WARP_CLUSTER) {
        ws_emu_race_cluster_wait(&cl->cta[r]->warps[i]);
        cl->cta[r]->warps[i].state = WARP_RUN;
      }
}

int ws_emu_cluster_arrive(struct warp *w, const struct inst *in) {
  struct cluster *cl = w->cta->cluster;
  if (w->cluster_open)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "arrives at the cluster's barrier again without having waited");
  w->cluster_open = true;
  w->cluster_phase = cl->phase + 1;
  cl->arrived++;
  ws_emu_race_cluster_arrive(w, in->imm2);
  check_barrier(cl);
  return EV_NEXT;
}

int ws_emu_cluster_wait(struct warp *w, const struct inst *in) {
  struct cluster *cl = w->cta->cluster;
  if (!w->cluster_open)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "waits at the cluster's barrier without having arrived");
  w->cluster_open = false;
  if (cl->phase >= w->cluster_phase) {
    ws_emu_race_cluster_wait(w);
    return EV_NEXT;
  }
  w->state = WARP_CLUSTER;
  w->waits = in;
  w->stats.barriers++;
  w->pc++;
  return EV_BLOCK;
}

/* ---- nothing can run ---- */
/* Waits for an mbarrier may fail: PTX ISA bounds how long a try_wait takes. */
static bool fail_waits(struct cluster *cl) {
  bool any = false;
  if (cl->events != cl->seen_events) cl->idle = 0;
  cl->seen_events = cl->events;
  if (cl->idle++ >= IDLE_ROUNDS) return false;
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++) {
      struct warp *w = &cl->cta[r]->warps[i];
      if (w->state != WARP_MBAR) continue;
      w->expired = true;
      for (uint32_t b = 0; b < w->cta->nmbars; b++) w->cta->mbars[b].waiting &= ~(1u << i);
      ws_emu_wake(w);
      any = true;
    }
  return any;
}

static bool part_paths(struct cluster *cl) {
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++) {
      struct warp *w = &cl->cta[r]->warps[i];
      if (w->state == WARP_MBAR && ws_emu_part(w)) return true;
    }
  return false;
}

static bool relieve(struct cluster *cl) { return ws_emu_agents_relieve(cl) || part_paths(cl) || fail_waits(cl); }

/* ---- the warps in turn ---- */
struct turn { uint32_t done, ran; };

static bool run_warp(struct cluster *cl, struct warp *w, struct turn *t) {
  struct cta *c = w->cta;
  bool random = cl->grid->l->options.schedule == SCHED_RANDOM;
  t->ran++;
  ws_emu_warp_run(w, random ? 1 + ws_emu_random(cl, RANDOM_TURN) : TURN);
  if (cl->faulted) return false;
  if (w->state == WARP_DONE) {
    cl->events++;
    if (ws_emu_warp_ended(c)) c->done = true;
    check_barrier(cl);
    if (c->done && (!ws_emu_agents_left(c) || !ws_emu_tc_left(c))) return false;
  }
  if (random) {
    ws_emu_agents_turn(cl);
    ws_emu_wg_turn(cl);
    ws_emu_tc_turn(cl);
  }
  return !cl->faulted;
}

static bool run_cta(struct cluster *cl, struct cta *c, struct turn *t) {
  for (uint32_t i = 0; i < c->nwarps; i++)
    if (c->warps[i].state == WARP_RUN && !run_warp(cl, &c->warps[i], t)) return false;
  t->done += c->done;
  return true;
}

/* The watchdog ends a launch between turns; grid.c says so. */
static bool too_late(const struct cluster *cl) {
  struct timespec t;
  if (cl->grid->deadline <= 0) return false;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec > cl->grid->deadline;
}

enum cluster_event ws_emu_cluster_run(struct cluster *cl) {
  uint64_t start = 0;
  for (uint32_t r = 0; r < cl->n; r++) {
    start += cl->cta[r]->executed;
    cl->cta[r]->polls = 0;
  }
  for (;;) {
    struct turn t = {0};
    uint64_t spent = 0;
    uint32_t polls = 0;
    for (uint32_t r = 0; r < cl->n; r++) {
      if (!run_cta(cl, cl->cta[r], &t)) return CLUSTER_FAULT;
      spent += cl->cta[r]->executed;
      polls += cl->cta[r]->polls;
    }
    if (t.done == cl->n) return ws_emu_agents_drain(cl) ? CLUSTER_DONE : CLUSTER_FAULT;
    if (!t.ran && !relieve(cl)) {
      ws_emu_deadlock(cl, WS_CUDA_ERROR_LAUNCH_TIMEOUT, "deadlock: no warp can run");
      return CLUSTER_FAULT;
    }
    if (cl->faulted) return CLUSTER_FAULT;
    if (ws_emu_late(cl->grid)) return CLUSTER_PAUSED;
    spent -= start;
    if (spent <= PAUSE_AFTER && (spent <= PAUSE_WAITING || polls <= POLL_LIMIT) && !too_late(cl)) continue;
    ws_emu_agents_relieve(cl); /* a warp may poll for what an agent writes */
    return cl->faulted ? CLUSTER_FAULT : CLUSTER_PAUSED;
  }
}
