/* One warp: the fetch loop, and the paths that its lanes take.
 *
 * Lanes that run together form a path. A divergent branch turns its path into a parent that waits at the reconvergence
 * point (cfg.c) and makes one path for each side. One path runs at a time; when it waits for lanes of another one (a
 * warp-level synchronisation, an .aligned instruction) or spins for long, the next path takes its turn, and lanes that
 * have reached a reconvergence point may go on without the others: lanes of one warp may wait for each other. */
#include "hazard.h"
#include "trace.h"
#include "../src/cuda_abi.h"
#include <string.h>

enum { SPIN_LIMIT = 512 };

static void load_path(struct warp *w, uint8_t i) {
  const struct path *p = &w->path[i];
  w->cur = i;
  w->pc = p->pc;
  w->rpc = p->rpc;
  w->active = p->mask;
  w->spins = 0;
}

static void save_path(struct warp *w) {
  struct path *p = &w->path[w->cur];
  p->pc = w->pc;
  p->rpc = w->rpc;
  p->mask = w->active;
}

static int free_paths(const struct warp *w) { return MAX_PATHS - w->npaths; }

static uint8_t new_path(struct warp *w, uint32_t pc, uint32_t rpc, uint32_t mask, int parent) {
  uint8_t i = 0;
  while (w->path[i].state != PATH_FREE) i++;
  w->path[i] = (struct path){.pc = pc, .rpc = rpc, .mask = mask, .parent = (int16_t)parent, .state = PATH_RUN};
  if (parent >= 0) w->path[parent].kids++;
  w->npaths++;
  return i;
}

/* Lets lanes that wait at a reconvergence point go on without those that have not come. */
static bool part_join(struct warp *w) {
  for (int i = 0; i < MAX_PATHS && free_paths(w); i++) {
    struct path *p = &w->path[i];
    if (p->state != PATH_JOIN || !p->mask) continue;
    new_path(w, p->pc, p->rpc, p->mask, p->parent);
    p->mask = 0;
    return true;
  }
  return false;
}

/* The next path that can run, after the current one in cyclic order. The current path must be saved or gone. */
static int pick(struct warp *w) {
  bool waits = false;
  do {
    for (unsigned k = 1; k <= MAX_PATHS; k++) {
      uint8_t i = (uint8_t)((w->cur + k) % MAX_PATHS);
      if (w->path[i].state == PATH_RUN) {
        load_path(w, i);
        return EV_JUMP;
      }
      waits |= w->path[i].state == PATH_WAIT;
    }
  } while (!waits && part_join(w)); /* while a path waits for an mbarrier, the others rather wait for it */
  w->state = waits ? WARP_MBAR : WARP_STUCK;
  return EV_BLOCK;
}

int ws_emu_path_wait(struct warp *w, const struct inst *in) {
  save_path(w);
  w->path[w->cur].state = PATH_WAIT;
  w->waits = in;
  if (w->npaths > 1) return pick(w);
  w->state = WARP_MBAR;
  return EV_BLOCK;
}

void ws_emu_wake(struct warp *w) {
  if (w->npaths == 1 && w->path[w->cur].state != PATH_FREE) { /* free: the path that ran last has ended, another one waits */
    if (w->path[w->cur].state == PATH_WAIT) w->path[w->cur].state = PATH_RUN;
    if (w->state == WARP_MBAR) w->state = WARP_RUN;
    return;
  }
  for (unsigned i = 0; i < MAX_PATHS; i++)
    if (w->path[i].state == PATH_WAIT) w->path[i].state = PATH_RUN;
  if (w->state != WARP_MBAR) return;
  w->state = WARP_RUN;
  pick(w);
}

bool ws_emu_part(struct warp *w) {
  if (!part_join(w)) return false;
  w->state = WARP_RUN;
  pick(w);
  return true;
}

/* The current path is over: `arrived` lanes wait at the join. */
static int leave_path(struct warp *w, uint32_t arrived) {
  uint8_t i = w->cur;
  for (;;) {
    int parent = w->path[i].parent;
    w->path[i].state = PATH_FREE;
    w->npaths--;
    if (parent < 0) {
      if (w->npaths) return pick(w);
      w->state = WARP_DONE;
      return EV_EXIT;
    }
    struct path *p = &w->path[parent];
    p->mask |= arrived;
    if (--p->kids) return pick(w);
    if (p->mask) {
      p->state = PATH_RUN;
      load_path(w, (uint8_t)parent);
      return EV_JUMP;
    }
    i = (uint8_t)parent; /* all its lanes ended */
    arrived = 0;
  }
}

/* Splits the current path: part[k] lanes go to target[k]. All masks are non-empty and n > 1. */
static int split(struct warp *w, const struct inst *in, uint32_t rpc, const uint32_t *target, const uint32_t *part, uint32_t n) {
  uint8_t cur = w->cur;
  int parent = w->path[cur].parent;
  if ((uint32_t)free_paths(w) < n)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "diverges from its warp in too many places");
  if (rpc == w->rpc) { /* siblings under the same join: this path becomes the first of them */
    uint8_t first = MAX_PATHS;
    for (uint32_t k = 0; k < n; k++) {
      if (target[k] == rpc && parent >= 0) {
        w->path[parent].mask |= part[k];
      } else if (first == MAX_PATHS) {
        first = cur;
        w->path[cur].pc = target[k];
        w->path[cur].rpc = w->rpc;
        w->path[cur].mask = part[k];
      } else {
        new_path(w, target[k], w->rpc, part[k], parent);
      }
    }
    load_path(w, first);
    return EV_JUMP;
  }
  uint32_t waiting = 0;
  for (uint32_t k = 0; k < n; k++)
    if (target[k] == rpc) waiting |= part[k];
  w->path[cur].pc = rpc;
  w->path[cur].rpc = w->rpc;
  w->path[cur].mask = waiting;
  w->path[cur].state = PATH_JOIN;
  uint8_t first = MAX_PATHS;
  for (uint32_t k = 0; k < n; k++) {
    if (target[k] == rpc) continue;
    uint8_t i = new_path(w, target[k], rpc, part[k], cur);
    if (first == MAX_PATHS) first = i;
  }
  load_path(w, first);
  return EV_JUMP;
}

/* A backward jump while other paths wait: after a while it is their turn. */
static int back(struct warp *w, uint32_t from) {
  if (w->npaths > 1 && w->pc <= from && ++w->spins > SPIN_LIMIT) {
    save_path(w);
    part_join(w);
    return pick(w);
  }
  return EV_JUMP;
}

int ws_emu_branch(struct warp *w, const struct inst *in, uint32_t taken) {
  uint32_t here = w->pc;
  if (taken == w->active) {
    w->pc = in->o[0];
    return back(w, here);
  }
  uint32_t target[2] = {w->pc + 1, in->o[0]}, part[2] = {w->active & ~taken, taken};
  if (target[0] == target[1]) {
    w->pc++;
    return EV_JUMP;
  }
  return split(w, in, in->o[1], target, part, 2);
}

int ws_emu_jump_lanes(struct warp *w, const struct inst *in, const uint32_t *target, uint32_t mask) {
  uint32_t to[LANES + 1], part[LANES + 1], n = 0, rest = w->active & ~mask, here = w->pc;
  if (rest) {
    to[0] = w->pc + 1;
    part[0] = rest;
    n = 1;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t i = (uint32_t)__builtin_ctz(m), k = 0;
    while (k < n && to[k] != target[i]) k++;
    if (k == n) {
      to[n] = target[i];
      part[n++] = 0;
    }
    part[k] |= 1u << i;
  }
  if (n == 1) {
    w->pc = to[0];
    return back(w, here);
  }
  return split(w, in, in->o[1], to, part, n);
}

/* Lanes that waited for others look again: someone ended. */
static void wake_paths(struct warp *w) {
  for (unsigned i = 0; i < MAX_PATHS; i++)
    if (w->path[i].state == PATH_SYNC) w->path[i].state = PATH_RUN;
}

int ws_emu_exit(struct warp *w) {
  w->live &= ~w->mask;
  w->active &= ~w->mask;
  if (!w->live) TRACE(w, &w->cta->k->code[w->pc], NOTHING(EXIT));
  if (w->npaths > 1) wake_paths(w);
  if (w->active) return EV_NEXT;
  return leave_path(w, 0);
}

/* A waiting path whose instruction can complete together with `in`: the same one, or one of its kind. */
static bool joins(const struct warp *w, const struct inst *in, unsigned i, uint32_t members) {
  const struct path *p = &w->path[i];
  if (i == w->cur || p->state != PATH_SYNC || p->members != members) return false;
  return p->pc == w->pc || (in->flags & F_ANY_PC && w->cta->k->code[p->pc].fn == in->fn);
}

static uint32_t guarded(const struct warp *w, const struct inst *in, uint32_t mask) {
  if (!(in->flags & F_GUARD)) return mask;
  uint32_t p = *(uint32_t *)ws_emu_slot(w, in->guard);
  return mask & (in->flags & F_GUARD_NOT ? ~p : p);
}

int ws_emu_gather(struct warp *w, const struct inst *in, uint32_t members) {
  uint32_t need = members & w->live, have = w->mask;
  if (w->mask & ~members)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask & ~members), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                        "executes this without being named in the member mask 0x%08x", members);
  if ((have & need) == need) return EV_NEXT;
  for (unsigned i = 0; i < MAX_PATHS; i++)
    if (joins(w, in, i, members)) have |= guarded(w, &w->cta->k->code[w->path[i].pc], w->path[i].mask);
  if ((have & need) == need) { /* the others go on behind their instruction */
    for (unsigned i = 0; i < MAX_PATHS; i++)
      if (joins(w, in, i, members)) {
        w->path[i].pc++;
        w->path[i].state = PATH_RUN;
      }
    w->mask = have & need;
    return EV_NEXT;
  }
  save_path(w);
  w->path[w->cur].state = PATH_SYNC;
  w->path[w->cur].members = members;
  w->waits = in;
  return pick(w);
}

int ws_emu_apart(struct warp *w, const struct inst *in, uint32_t group) {
  uint32_t target[3] = {w->pc, w->pc, w->pc + 1}, part[3] = {group, w->mask & ~group, w->active & ~w->mask};
  return split(w, in, w->pc + 1, target, part, part[2] ? 3 : 2);
}

static int gather_aligned(struct warp *w, const struct inst *in) {
  if (w->active == w->live && w->mask == w->live) return EV_NEXT;
  if (w->npaths == 1)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                        "executes this .aligned instruction with lanes 0x%08x of the warp's 0x%08x", w->mask, w->live);
  return ws_emu_gather(w, in, ALL_LANES);
}

int ws_emu_warp_run(struct warp *w, uint64_t budget) {
  const struct inst *code = w->cta->k->code;
  uint64_t n = 0;
  int ev = EV_NEXT;
  while (n < budget) {
    if (__builtin_expect(w->pc == w->rpc, 0)) {
      ev = leave_path(w, w->active);
      if (ev != EV_JUMP) break;
      continue;
    }
    const struct inst *in = &code[w->pc];
    uint32_t m = w->active;
    n++;
    if (__builtin_expect(in->flags & (F_GUARD | F_ALIGNED | F_WGMMA), 0)) {
      if (in->flags & F_GUARD) {
        uint32_t p = *(uint32_t *)ws_emu_slot(w, in->guard);
        m &= in->flags & F_GUARD_NOT ? ~p : p;
        if (!m) {
          w->pc++;
          continue;
        }
      }
      w->mask = m;
      if (in->flags & F_ALIGNED && (ev = gather_aligned(w, in)) != EV_NEXT) {
        if (ev == EV_JUMP) continue;
        break;
      }
      if (in->flags & F_WGMMA && (ev = ws_emu_wg_touch(w, in)) != EV_NEXT) break;
    } else {
      w->mask = m;
    }
    ev = in->fn(w, in);
    if (__builtin_expect(ev == EV_NEXT, 1)) {
      w->pc++;
      continue;
    }
    if (ev != EV_JUMP) break;
  }
  w->stats.instructions += n;
  w->cta->executed += n;
  return ev;
}
