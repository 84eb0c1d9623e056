/* A launch: CTAs on worker threads. A CTA that has run long, or seems to wait for another one, goes to the end of the
 * queue, so that CTAs not yet started get their turn however few threads there are. */
#define _GNU_SOURCE
#include "machine.h"
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
  struct cta *first, **last; /* paused CTAs, in order */
  uint64_t next, active;     /* CTAs not yet started; running now */
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

/* A new CTA while there are any, else the one that was paused first. */
static struct cta *take(struct grid_run *r, struct fault *fault, uint64_t *linear, bool *finished) {
  struct cta *c = NULL;
  bool fresh = false;
  pthread_mutex_lock(&r->lock);
  *finished = r->fault.code || (!r->active && !r->first && r->next == r->g.ctas);
  if (!*finished && r->next < r->g.ctas) {
    fresh = true;
    *linear = r->next++;
    r->active++;
  } else if (!*finished && r->first) {
    c = r->first;
    r->first = c->next;
    if (!r->first) r->last = &r->first;
    r->active++;
  }
  pthread_mutex_unlock(&r->lock);
  return fresh ? ws_emu_cta_new(&r->g, *linear, fault) : c;
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
  }
}

static void keep_fault(struct grid_run *r, const struct fault *f, uint64_t cta) {
  if (!r->fault.code || cta < r->fault_cta) {
    r->fault = *f;
    r->fault_cta = cta;
  }
}

static void put_back(struct grid_run *r, struct cta *c, enum cta_event ev) {
  pthread_mutex_lock(&r->lock);
  r->active--;
  if (ev == CTA_PAUSED && r->g.deadline > 0 && now() > r->g.deadline) {
    ws_emu_deadlock(c, WS_CUDA_ERROR_LAUNCH_TIMEOUT, "the watchdog ended the launch");
    ev = CTA_FAULT;
  }
  if (ev == CTA_PAUSED && !r->fault.code) {
    c->next = NULL;
    *r->last = c;
    r->last = &c->next;
    pthread_mutex_unlock(&r->lock);
    return;
  }
  add_stats(&r->total, c);
  if (ev == CTA_FAULT) keep_fault(r, &c->fault, c->linear);
  pthread_mutex_unlock(&r->lock);
  ws_emu_cta_free(c);
}

static void *work(void *arg) {
  struct grid_run *r = arg;
  double start = thread_time();
  for (;;) {
    struct fault fault = {0};
    bool finished = false;
    uint64_t linear = 0;
    struct cta *c = take(r, &fault, &linear, &finished);
    if (finished) break;
    if (c) {
      put_back(r, c, ws_emu_cta_run(c));
    } else if (fault.code) {
      pthread_mutex_lock(&r->lock);
      r->active--;
      keep_fault(r, &fault, linear);
      pthread_mutex_unlock(&r->lock);
    } else {
      sched_yield(); /* the last CTAs run on other threads */
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
  r->g = (struct grid){.l = l, .id = ++launches, .ctas = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], .run = r};
  if (l->options.watchdog > 0) r->g.deadline = now() + l->options.watchdog;
  r->last = &r->first;
  pthread_mutex_init(&r->lock, NULL);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t threads = l->options.threads ? l->options.threads : cores > 0 ? (uint64_t)cores : 1;
  if (threads > r->g.ctas) threads = r->g.ctas;
  if (threads > 256) threads = 256;
  pthread_t id[256];
  uint64_t started = 0;
  while (started + 1 < threads && !pthread_create(&id[started], NULL, work, r)) started++;
  work(r); /* this thread is one of the workers */
  for (uint64_t i = 0; i < started; i++) pthread_join(id[i], NULL);
  while (r->first) {
    struct cta *c = r->first;
    r->first = c->next;
    add_stats(&r->total, c);
    ws_emu_cta_free(c);
  }
  *total = r->total;
  *core_seconds = r->core_seconds;
  *fault = r->fault;
  pthread_mutex_destroy(&r->lock);
  free(r);
  return fault->code;
}
