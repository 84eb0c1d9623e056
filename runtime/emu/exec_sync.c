/* PTX ISA "Parallel Synchronization and Communication Instructions": bar, barrier, membar, fence. */
#include "exec.h"
#include "hazard.h"
#include "race.h"
#include "trace.h"

enum { RED_NONE, RED_POPC, RED_AND, RED_OR };

/* An operand that all executing lanes must agree on. */
static int uniform(struct warp *w, const struct inst *in, uint32_t slot, const char *what, uint32_t *value) {
  const uint32_t *r = ws_emu_slot(w, slot);
  int first = __builtin_ctz(w->mask);
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (r[__builtin_ctz(m)] != r[first])
      return ws_emu_fault(w, in, __builtin_ctz(m), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives %s %u, another thread of its warp %u", what,
                          r[__builtin_ctz(m)], r[first]);
  *value = r[first];
  return EV_NEXT;
}

/* in->imm: reduction; in->imm2: 1 when it waits. Operands: [d,] barrier {, count} [, predicate]. */
HANDLER(barrier) {
  uint32_t id = 0, count = 0, at = in->imm ? 1 : 0;
  int ev = ws_emu_gather(w, in, ALL_LANES); /* the whole warp takes part, also in the forms without .aligned */
  if (ev != EV_NEXT) return ev;
  if ((ev = uniform(w, in, in->o[at], "barrier", &id)) != EV_NEXT) return ev;
  if (in->o[at + 1] != NO_SLOT) {
    if ((ev = uniform(w, in, in->o[at + 1], "thread count", &count)) != EV_NEXT) return ev;
    if (!count)
      return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "names 0 threads at barrier %u", id);
  }
  TRACE(w, in, .kind = in->imm2 ? WSEMU_BARRIER_SYNC : WSEMU_BARRIER_ARRIVE, .object = id, .count = count ? count : w->cta->nwarps * LANES);
  return ws_emu_barrier(w, in, id, count, in->imm2, (int)in->imm, in->imm ? SRC_PRED(3) : 0);
}

HANDLER(fence) {
  (void)in;
  ws_emu_race_fence(w);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return EV_NEXT;
}

HANDLER(proxy_fence) {
  ws_emu_race_proxy_fence(w, false);
  TRACE(w, in, NOTHING(PROXY_FENCE));
  return EV_NEXT;
}
HANDLER(init_fence) { /* of mbarrier.init: for the async proxy, and before relaxed arrivals */
  ws_emu_race_proxy_fence(w, true);
  ws_emu_race_fence(w);
  return EV_NEXT;
}

emu_fn *LEVELLED(ws_emu_resolve_sync)(struct bind *b) {
  const struct isa_use *u = b->u;
  if (ws_emu_has(u, ".async")) return proxy_fence;
  if (ws_emu_has(u, ".mbarrier_init")) return init_fence;
  if (strncmp(u->row->mnemonic, "bar", 3)) return fence;
  b->in->imm = ws_emu_has(u, ".popc") ? RED_POPC : ws_emu_has(u, ".and") ? RED_AND : ws_emu_has(u, ".or") ? RED_OR : RED_NONE;
  b->in->imm2 = !ws_emu_has(u, ".arrive");
  return barrier;
}
