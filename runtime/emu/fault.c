/* Messages about a running kernel: who did what, in which line, and what lies near a bad address. */
#include "engine.h"
#include "memory.h"
#include "../src/cuda_abi.h"
#include <stdarg.h>
#include <stdlib.h>
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

/* A piece that does not fit is left out as a whole. */
static void append(struct fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct fault *f, const char *fmt, ...) {
  size_t n = strlen(f->msg);
  va_list ap;
  va_start(ap, fmt);
  if (vsnprintf(f->msg + n, sizeof f->msg - n, fmt, ap) >= (int)(sizeof f->msg - n)) f->msg[n] = 0;
  va_end(ap);
}

/* ---- standing still ---- */
struct group { /* warps, one after the other, that stand alike */
  const char *name;
  bool many;
};

static void stuck_paths(struct fault *f, const struct warp *w, struct group g) {
  char where[400];
  for (int p = 0; p < MAX_PATHS; p++) {
    if (w->path[p].state != PATH_SYNC) continue;
    ws_emu_where(w->cta->k, &w->cta->k->code[w->path[p].pc], where, sizeof where);
    append(f, "\n  %s: lanes 0x%08x wait for the others, %s", g.name, w->path[p].mask, where);
  }
}

/* The mbarriers that a warp waits for, each with what is missing. */
static void waits_for_mbars(struct fault *f, const struct warp *w, struct group g) {
  const struct cta *c = w->cta;
  char where[400];
  ws_emu_where(c->k, w->waits, where, sizeof where);
  append(f, "\n  %s wait%s for an mbarrier, %s", g.name, g.many ? "" : "s", where);
  for (uint32_t i = 0; i < c->nmbars; i++) {
    const struct mbar *b = &c->mbars[i];
    if (!b->live || !(b->waiting >> w->index & 1)) continue;
    append(f, "\n    mbarrier at 0x%x: phase %u (parity %u) is open, %u of %u arrivals and %d bytes pending", c->shared_lo + b->offset, b->phase,
           b->phase & 1, b->pending, b->expected, b->tx);
  }
}

static void standing(struct fault *f, const struct warp *w, struct group g) {
  const struct cta *c = w->cta;
  char where[400];
  const struct inst *at = w->state == WARP_RUN ? &c->k->code[w->pc < c->k->n ? w->pc : 0] : w->waits;
  const char *s = g.many ? "" : "s", *name = g.name;
  if (w->state == WARP_STUCK) {
    stuck_paths(f, w, g);
    return;
  }
  if (w->state == WARP_MBAR) {
    waits_for_mbars(f, w, g);
    return;
  }
  ws_emu_where(c->k, at, where, sizeof where);
  if (w->state == WARP_BARRIER) {
    const struct barrier *b = &c->bar[w->barrier];
    append(f, "\n  %s wait%s at barrier %u (%u of %u threads arrived), %s", name, s, w->barrier, b->arrived, b->expected ? b->expected : c->nwarps * LANES,
           where);
  } else if (w->state == WARP_CLUSTER) {
    append(f, "\n  %s wait%s at the cluster's barrier (%u warps arrived), %s", name, s, c->cluster->arrived, where);
  } else if (w->state == WARP_REGISTERS) {
    append(f, "\n  %s ha%s %u registers a thread and wait%s for %u (%u are free), %s", name, g.many ? "ve" : "s", w->registers, s, w->wanted_registers,
           c->free_registers, where);
  } else if (w->state == WARP_TENSOR) {
    append(f, "\n  %s wait%s for tensor memory, %s", name, s, where);
  } else if (w->state == WARP_GROUP) {
    append(f, "\n  %s wait%s for the other warps of %s warpgroup, %s", name, s, g.many ? "their" : "its", where);
  } else {
    append(f, "\n  %s run%s, %s", name, s, where);
  }
}

static bool alike(const struct warp *a, const struct warp *b, struct fault *x, struct fault *y) {
  const struct group nobody = {"", false};
  if (a->state != b->state) return false;
  x->msg[0] = y->msg[0] = 0;
  standing(x, a, nobody);
  standing(y, b, nobody);
  return !strcmp(x->msg, y->msg);
}

/* Warps first .. last - 1 of a CTA; cluster: its rank is said, too. */
static void tell(struct fault *f, const struct cta *c, uint32_t first, uint32_t last, bool cluster) {
  char name[80] = "";
  bool many = last - first > 1;
  if (cluster) snprintf(name, sizeof name, "CTA %u of the cluster, ", c->rank);
  size_t n = strlen(name);
  if (many) snprintf(name + n, sizeof name - n, "warps %u-%u", first, last - 1);
  else snprintf(name + n, sizeof name - n, "warp %u", first);
  standing(f, &c->warps[first], (struct group){name, many});
}

/* Every warp that has not ended, with what it waits for. The story is told by the first CTA that has one. */
void ws_emu_deadlock(struct cluster *cl, int code, const char *headline) {
  if (cl->faulted) return;
  uint32_t r = 0;
  while (r + 1 < cl->n && cl->cta[r]->done) r++;
  struct cta *c = cl->cta[r];
  struct fault *f = &c->fault, *both = calloc(2, sizeof *both);
  cl->faulted = c;
  f->code = code;
  snprintf(f->msg, sizeof f->msg, "kernel '%s': %s in CTA (%u,%u,%u)", c->k->func->sym->name, headline, c->id[0], c->id[1], c->id[2]);
  for (; r < cl->n; r++) {
    const struct cta *t = cl->cta[r];
    for (uint32_t i = 0, next; i < t->nwarps; i = next) {
      next = i + 1;
      if (t->warps[i].state == WARP_DONE) continue;
      while (both && next < t->nwarps && alike(&t->warps[i], &t->warps[next], &both[0], &both[1])) next++;
      tell(f, t, i, next, cl->n > 1);
    }
  }
  free(both);
}
