/* A launch: clusters on worker threads. A cluster that has run long, or seems to wait for another one, goes to the end of
 * the queue, so that those not yet started get their turn however few threads there are. */
#define _GNU_SOURCE
#include "engine.h"
#include "../src/cuda_abi.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct grid_run {
  struct grid g;
  pthread_mutex_t lock;
  struct cluster *first, **last; /* paused clusters, in order */
  uint64_t ctas;             /* of the grid */
  uint64_t next, active;     /* the next cluster to start; clusters running now */
  struct warp_stats total;
  double core_seconds;
  struct fault fault;        /* of the CTA with the lowest number */
  uint64_t fault_cta;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double thread_time(void) { /* what this thread spent on a processor, however many others want it */
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_fault(struct grid_run *r, const struct fault *f, uint64_t cta) {
  if (!r->fault.code || cta < r->fault_cta) {
    r->fault = *f;
    r->fault_cta = cta;
  }
}

bool ws_emu_late(const struct grid *g) { return g->deadline > 0 && now() > g->deadline; }

/* The lock is held. Clusters that run see the deadline by themselves. */
static void end_unstarted(struct grid_run *r) {
  struct fault f = {.code = WS_CUDA_ERROR_LAUNCH_TIMEOUT};
  if (r->fault.code) return;
  snprintf(f.msg, sizeof f.msg, "kernel '%s': the watchdog ended the launch: %llu of %llu %s had not started", r->g.l->kernel->func->sym->name,
           (unsigned long long)(r->g.clusters - r->next), (unsigned long long)r->g.clusters, r->g.clusters < r->ctas ? "clusters" : "CTAs");
  keep_fault(r, &f, r->ctas);
}

/* A new cluster while there are any, else the one that was paused first. */
static struct cluster *take(struct grid_run *r, struct fault *fault, uint64_t *number, bool *finished) {
  struct cluster *c = NULL;
  bool fresh = false;
  pthread_mutex_lock(&r->lock);
  if (r->next < r->g.clusters && ws_emu_late(&r->g)) end_unstarted(r);
  *finished = r->fault.code || (!r->active && !r->first && r->next == r->g.clusters);
  if (!*finished && r->next < r->g.clusters) {
    fresh = true;
    *number = r->next++;
    r->active++;
  } else if (!*finished && r->first) {
    c = r->first;
    r->first = c->next;
    if (!r->first) r->last = &r->first;
    r->active++;
  }
  pthread_mutex_unlock(&r->lock);
  return fresh ? ws_emu_cluster_new(&r->g, *number, fault) : c;
}

bool ws_emu_grid_cancel(struct grid *g, uint64_t *number) {
  struct grid_run *r = g->run;
  pthread_mutex_lock(&r->lock);
  bool found = r->next < g->clusters;
  if (found) *number = r->next++;
  pthread_mutex_unlock(&r->lock);
  return found;
}

static void add_stats(struct warp_stats *to, const struct cta *c) {
  for (uint32_t i = 0; i < c->nwarps; i++) {
    const struct warp_stats *s = &c->warps[i].stats;
    to->instructions += s->instructions;
    to->global_read += s->global_read;
    to->global_written += s->global_written;
    to->shared_read += s->shared_read;
    to->shared_written += s->shared_written;
    to->flops += s->flops;
    to->exponentials += s->exponentials;
    to->barriers += s->barriers;
    to->async += s->async;
    to->delayed += s->delayed;
    to->reordered += s->reordered;
  }
}

static void put_back(struct grid_run *r, struct cluster *c, enum cluster_event ev) {
  pthread_mutex_lock(&r->lock);
  r->active--;
  if (ev != CLUSTER_FAULT && ws_emu_late(&r->g)) {
    ws_emu_deadlock(c, WS_CUDA_ERROR_LAUNCH_TIMEOUT, "the watchdog ended the launch");
    ev = CLUSTER_FAULT;
  }
  if (ev == CLUSTER_PAUSED && !r->fault.code) {
    c->next = NULL;
    *r->last = c;
    r->last = &c->next;
    pthread_mutex_unlock(&r->lock);
    return;
  }
  for (uint32_t i = 0; i < c->n; i++) add_stats(&r->total, c->cta[i]);
  if (ev == CLUSTER_FAULT) keep_fault(r, &c->faulted->fault, c->faulted->linear);
  pthread_mutex_unlock(&r->lock);
  ws_emu_cluster_free(c);
}

static void *work(void *arg) {
  struct grid_run *r = arg;
  double start = thread_time();
  for (;;) {
    struct fault fault = {0};
    bool finished = false;
    uint64_t number = 0;
    struct cluster *c = take(r, &fault, &number, &finished);
    if (finished) break;
    if (c) {
      put_back(r, c, ws_emu_cluster_run(c));
    } else if (fault.code) {
      pthread_mutex_lock(&r->lock);
      r->active--;
      keep_fault(r, &fault, number);
      pthread_mutex_unlock(&r->lock);
    } else {
      sched_yield(); /* the last clusters run on other threads */
      nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
  }
  pthread_mutex_lock(&r->lock);
  r->core_seconds += thread_time() - start;
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

int ws_emu_run_grid(const struct emu_launch *l, struct warp_stats *total, double *core_seconds, struct fault *fault) {
  static _Atomic uint64_t launches; /* %gridid: unique in the process */
  struct grid_run *r = calloc(1, sizeof *r);
  if (!r) return WS_CUDA_ERROR_OUT_OF_MEMORY;
  r->g = (struct grid){.l = l, .id = ++launches, .run = r};
  r->ctas = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  r->g.clusters = r->ctas / (l->cluster[0] * l->cluster[1] * l->cluster[2]);
  if (l->options.watchdog > 0) r->g.deadline = now() + l->options.watchdog;
  r->last = &r->first;
  pthread_mutex_init(&r->lock, NULL);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t threads = l->options.threads ? l->options.threads : cores > 0 ? (uint64_t)cores : 1;
  if (threads > r->g.clusters) threads = r->g.clusters;
  if (threads > 256) threads = 256;
  if (l->options.trace) threads = 1; /* events one after the other */
  pthread_t id[256];
  uint64_t started = 0;
  while (started + 1 < threads && !pthread_create(&id[started], NULL, work, r)) started++;
  work(r); /* this thread is one of the workers */
  for (uint64_t i = 0; i < started; i++) pthread_join(id[i], NULL);
  while (r->first) {
    struct cluster *c = r->first;
    r->first = c->next;
    for (uint32_t i = 0; i < c->n; i++) add_stats(&r->total, c->cta[i]);
    ws_emu_cluster_free(c);
  }
  *total = r->total;
  *core_seconds = r->core_seconds;
  *fault = r->fault;
  pthread_mutex_destroy(&r->lock);
  free(r);
  return fault->code;
}
