/* Messages about a running kernel: who did what, in which line, and what lies near a bad address. */
#include "engine.h"
#include "memory.h"
#include "../src/cuda_abi.h"
#include <stdarg.h>
#include <string.h>

void ws_emu_thread_id(const struct warp *w, int lane, uint32_t t[3]) {
  const uint32_t *b = w->cta->grid->l->block;
  uint32_t i = w->index * LANES + (uint32_t)lane;
  t[0] = i % b[0];
  t[1] = i / b[0] % b[1];
  t[2] = i / b[0] / b[1];
}

int ws_emu_fault(struct warp *w, const struct inst *in, int lane, int code, const char *fmt, ...) {
  struct cta *c = w->cta;
  char where[600], what[700];
  uint32_t t[3];
  va_list ap;
  if (c->fault.code) return EV_FAULT;
  ws_emu_where(c->k, in, where, sizeof where);
  ws_emu_thread_id(w, lane, t);
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  c->fault.code = code;
  if (!c->cluster->faulted) c->cluster->faulted = c;
  snprintf(c->fault.msg, sizeof c->fault.msg, "kernel '%s', %s: CTA (%u,%u,%u) thread (%u,%u,%u) %s", c->k->func->sym->name, where,
           c->id[0], c->id[1], c->id[2], t[0], t[1], t[2], what);
  return EV_FAULT;
}

static const char *space_name(enum ptx_space s) {
  return s == SP_SHARED ? "shared" : s == SP_LOCAL ? "local" : s == SP_PARAM ? "parameter" : s == SP_CONST ? "constant" : "global";
}

int ws_emu_bad_address(struct warp *w, const struct inst *in, int lane, enum ptx_space space, uint64_t address, uint32_t bytes,
                       bool write) {
  struct cta *c = w->cta;
  const char *verb = write ? "writes" : "reads";
  uint64_t window = address & WINDOW_MASK;
  if (space == SP_GENERIC) { /* name the space that the address points into */
    space = window == WINDOW_SHARED ? SP_SHARED : window == WINDOW_LOCAL ? SP_LOCAL : window == WINDOW_PARAM ? SP_PARAM : SP_GLOBAL;
    if (space != SP_GLOBAL) address &= ~WINDOW_MASK;
  }
  if (bytes && address % bytes)
    return ws_emu_fault(w, in, lane, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "%s %u bytes at %s address 0x%llx, which is not a multiple of %u",
                        verb, bytes, space_name(space), (unsigned long long)address, bytes);
  char near[300] = "";
  if (space == SP_SHARED)
    snprintf(near, sizeof near, "outside of the CTA's %u bytes [0x%x, 0x%x)", c->shared_size, c->shared_lo, c->shared_lo + c->shared_size);
  else if (space == SP_LOCAL)
    snprintf(near, sizeof near, "outside of the thread's %u bytes [0x%x, 0x%x)", c->k->local_bytes, LOCAL_BASE, LOCAL_BASE + c->k->local_bytes);
  else if (space == SP_PARAM)
    snprintf(near, sizeof near, "outside of the kernel's %llu parameter bytes", (unsigned long long)c->k->func->param_bytes);
  else
    ws_emu_mem_describe(address, bytes, write, near, sizeof near);
  return ws_emu_fault(w, in, lane, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at %s address 0x%llx, %s", verb, bytes,
                      space_name(space), (unsigned long long)address, near);
}

static void append(struct fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct fault *f, const char *fmt, ...) {
  size_t n = strlen(f->msg);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->msg + n, sizeof f->msg - n, fmt, ap);
  va_end(ap);
}

/* ---- standing still ---- */
static void stuck_paths(struct fault *f, const struct warp *w, const char *name) {
  char where[400];
  for (int p = 0; p < MAX_PATHS; p++) {
    if (w->path[p].state != PATH_SYNC) continue;
    ws_emu_where(w->cta->k, &w->cta->k->code[w->path[p].pc], where, sizeof where);
    append(f, "\n  %s: lanes 0x%08x wait for the others, %s", name, w->path[p].mask, where);
  }
}

/* The mbarriers that a warp waits for, each with what is missing. */
static void waits_for_mbars(struct fault *f, const struct warp *w, const char *name) {
  const struct cta *c = w->cta;
  char where[400];
  ws_emu_where(c->k, w->waits, where, sizeof where);
  append(f, "\n  %s waits for an mbarrier, %s", name, where);
  for (uint32_t i = 0; i < c->nmbars; i++) {
    const struct mbar *b = &c->mbars[i];
    if (!b->live || !(b->waiting >> w->index & 1)) continue;
    append(f, "\n    mbarrier at 0x%x: phase %u (parity %u) is open, %u of %u arrivals and %d bytes pending", c->shared_lo + b->offset, b->phase,
           b->phase & 1, b->pending, b->expected, b->tx);
  }
}

static void standing(struct fault *f, const struct warp *w, const char *name) {
  const struct cta *c = w->cta;
  char where[400];
  const struct inst *at = w->state == WARP_RUN ? &c->k->code[w->pc < c->k->n ? w->pc : 0] : w->waits;
  if (w->state == WARP_STUCK) {
    stuck_paths(f, w, name);
    return;
  }
  if (w->state == WARP_MBAR) {
    waits_for_mbars(f, w, name);
    return;
  }
  ws_emu_where(c->k, at, where, sizeof where);
  if (w->state == WARP_BARRIER) {
    const struct barrier *b = &c->bar[w->barrier];
    append(f, "\n  %s waits at barrier %u (%u of %u threads arrived), %s", name, w->barrier, b->arrived, b->expected ? b->expected : c->nwarps * LANES,
           where);
  } else if (w->state == WARP_CLUSTER) {
    append(f, "\n  %s waits at the cluster's barrier (%u warps arrived), %s", name, c->cluster->arrived, where);
  } else if (w->state == WARP_REGISTERS) {
    append(f, "\n  %s has %u registers a thread and waits for %u (%u are free), %s", name, w->registers, w->wanted_registers, c->free_registers, where);
  } else if (w->state == WARP_TENSOR) {
    append(f, "\n  %s waits for tensor memory, %s", name, where);
  } else if (w->state == WARP_GROUP) {
    append(f, "\n  %s waits for the other warps of its warpgroup, %s", name, where);
  } else {
    append(f, "\n  %s runs, %s", name, where);
  }
}

/* Every warp that has not ended, with what it waits for. The story is told by the first CTA that has one. */
void ws_emu_deadlock(struct cluster *cl, int code, const char *headline) {
  if (cl->faulted) return;
  uint32_t r = 0;
  while (r + 1 < cl->n && cl->cta[r]->done) r++;
  struct cta *c = cl->cta[r];
  struct fault *f = &c->fault;
  cl->faulted = c;
  f->code = code;
  snprintf(f->msg, sizeof f->msg, "kernel '%s': %s in CTA (%u,%u,%u)", c->k->func->sym->name, headline, c->id[0], c->id[1], c->id[2]);
  for (; r < cl->n; r++)
    for (uint32_t i = 0; i < cl->cta[r]->nwarps; i++) {
      char name[64];
      if (cl->n > 1) snprintf(name, sizeof name, "CTA %u of the cluster, warp %u", r, i);
      else snprintf(name, sizeof name, "warp %u", i);
      if (cl->cta[r]->warps[i].state != WARP_DONE) standing(f, &cl->cta[r]->warps[i], name);
    }
}
