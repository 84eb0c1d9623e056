/* Agents: when the steps of asynchronous operations happen (engine.h). */
#include "race.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>

static uint8_t schedule(const struct cluster *cl) { return cl->grid->l->options.schedule; }

bool ws_emu_early(const struct warp *w) { return schedule(w->cta->cluster) == SCHED_EARLY; }

struct agent *ws_emu_agent_new(struct who who, size_t payload, enum agent_step (*perform)(struct agent *a)) {
  struct agent *a = calloc(1, sizeof *a + payload);
  if (!a) WHO_FAULT(who, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its asynchronous operations");
  else a->who = who, a->perform = perform;
  return a;
}

void ws_emu_agent_free(struct agent *a) {
  ws_emu_race_snapshot_free(a->clock);
  free(a);
}

static void unlink_agent(struct cluster *cl, struct agent **at) {
  struct agent *a = *at;
  *at = a->next;
  if (cl->last == &a->next) cl->last = at;
  ws_emu_agent_free(a);
}

/* One step of the agent that *at points to. False after a fault. */
static bool step(struct cluster *cl, struct agent **at) {
  struct agent *a = *at;
  if (cl->first != a && !a->step) a->who.w->stats.reordered++;
  enum agent_step s = a->perform(a);
  a->step++;
  cl->events++;
  if (s == AGENT_DONE) unlink_agent(cl, at);
  return s != AGENT_FAULT;
}

int ws_emu_agent_issue(struct agent *a) {
  struct cluster *cl = a->who.w->cta->cluster;
  uint8_t when = schedule(cl);
  a->who.w->stats.async++;
  if (when == SCHED_EARLY || (when == SCHED_RANDOM && ws_emu_random(cl, 4) == 0)) {
    enum agent_step s;
    do {
      s = a->perform(a);
      a->step++;
    } while (s == AGENT_AGAIN);
    cl->events++;
    ws_emu_agent_free(a);
    return s == AGENT_FAULT ? EV_FAULT : EV_NEXT;
  }
  a->delayed = true;
  a->who.w->stats.delayed++;
  a->next = NULL;
  *cl->last = a;
  cl->last = &a->next;
  return EV_NEXT;
}

int ws_emu_agents_finish(struct warp *w, int lane, uint32_t before, bool read) {
  struct cluster *cl = w->cta->cluster;
  for (struct agent **at = &cl->first; *at;) {
    struct agent *a = *at;
    if (a->signal.cta || a->who.w != w || a->who.lane != lane || a->group >= before || (read && !a->holds_shared)) {
      at = &a->next;
      continue;
    }
    if (!step(cl, at)) return EV_FAULT; /* the same place again: the next step, or the next agent */
  }
  return EV_NEXT;
}

/* A warp waits for the mbarrier that the agent will credit. */
static bool wanted(const struct agent *a) {
  for (uint32_t i = 0; i < a->signal.cta->nmbars; i++) {
    const struct mbar *b = &a->signal.cta->mbars[i];
    if (b->live && b->offset == a->signal.offset) return b->waiting;
  }
  return true; /* gone: let it say so */
}

static struct agent **random_agent(struct cluster *cl) {
  uint32_t n = 0;
  for (struct agent *a = cl->first; a; a = a->next) n++;
  if (!n) return NULL;
  struct agent **at = &cl->first;
  for (uint32_t k = ws_emu_random(cl, n); k; k--) at = &(*at)->next;
  return at;
}

bool ws_emu_agents_relieve(struct cluster *cl) {
  struct agent **oldest = NULL;
  for (struct agent **at = &cl->first; *at; at = &(*at)->next) {
    if (!(*at)->signal.cta) continue;
    if (wanted(*at)) return step(cl, at), true;
    if (!oldest) oldest = at;
  }
  if (oldest) step(cl, oldest);
  return oldest != NULL;
}

void ws_emu_agents_turn(struct cluster *cl) {
  while (cl->first && !cl->faulted && ws_emu_random(cl, 2)) step(cl, random_agent(cl));
}

bool ws_emu_agents_left(struct cta *c) {
  for (struct agent *a = c->cluster->first; a; a = a->next) {
    if (a->who.w->cta != c || !a->holds_shared) continue;
    WHO_FAULT(a->who, WS_CUDA_ERROR_LAUNCH_FAILED, "issued this operation and its CTA ended without waiting for it");
    return false;
  }
  return true;
}

bool ws_emu_agents_drain(struct cluster *cl) {
  while (cl->first)
    if (!step(cl, &cl->first)) return false;
  return true;
}

void ws_emu_agents_free(struct cluster *cl) {
  while (cl->first) unlink_agent(cl, &cl->first);
}
