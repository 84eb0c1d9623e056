/* Messages about a running kernel: who did what, in which line, and what lies near a bad address. */
#include "machine.h"
#include "memory.h"
#include "../src/cuda_abi.h"
#include <stdarg.h>
#include <string.h>

static void thread_of(const struct warp *w, int lane, uint32_t t[3]) {
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
  thread_of(w, lane, t);
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  c->fault.code = code;
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
    snprintf(near, sizeof near, "outside of the CTA's %u bytes [0x%x, 0x%x)", c->shared_size, c->k->shared_base,
             c->k->shared_base + c->shared_size);
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

/* Every warp that has not ended, with what it waits for. */
void ws_emu_deadlock(struct cta *c, int code, const char *headline) {
  if (c->fault.code) return;
  c->fault.code = code;
  snprintf(c->fault.msg, sizeof c->fault.msg, "kernel '%s': %s in CTA (%u,%u,%u)", c->k->func->sym->name, headline, c->id[0], c->id[1],
           c->id[2]);
  for (uint32_t i = 0; i < c->nwarps; i++) {
    struct warp *w = &c->warps[i];
    char where[400];
    if (w->state == WARP_DONE) continue;
    if (w->state == WARP_BARRIER) {
      ws_emu_where(c->k, w->waits, where, sizeof where);
      const struct barrier *b = &c->bar[w->barrier];
      append(&c->fault, "\n  warp %u waits at barrier %u (%u of %u threads arrived), %s", i, w->barrier, b->arrived,
             b->expected ? b->expected : c->nwarps * LANES, where);
    } else if (w->state == WARP_STUCK) {
      for (int p = 0; p < MAX_PATHS; p++) {
        if (w->path[p].state != PATH_SYNC) continue;
        ws_emu_where(c->k, &c->k->code[w->path[p].pc], where, sizeof where);
        append(&c->fault, "\n  warp %u: lanes 0x%08x wait for the others, %s", i, w->path[p].mask, where);
      }
    } else {
      ws_emu_where(c->k, &c->k->code[w->pc < c->k->n ? w->pc : 0], where, sizeof where);
      append(&c->fault, "\n  warp %u runs, %s", i, where);
    }
  }
}
