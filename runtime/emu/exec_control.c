/* PTX ISA "Control Flow Instructions", "Miscellaneous Instructions". */
#include "exec.h"

HANDLER(bra) { return ws_emu_branch(w, in, w->mask); }
HANDLER(exit_) { return ws_emu_exit(w); }
HANDLER(nop) { (void)w; (void)in; return EV_NEXT; }
HANDLER(trap) { return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_LAUNCH_FAILED, "met a trap"); }
HANDLER(brkpt) { return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_LAUNCH_FAILED, "met a breakpoint"); }
HANDLER(nanosleep_) {
  (void)in;
  w->cta->polls += 16;
  return EV_NEXT;
}

HANDLER(brx) {
  const uint32_t *index = SLOT(uint32_t, 0);
  uint32_t target[LANES];
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (index[i] >= (uint64_t)in->imm)
      return ws_emu_fault(w, in, i, WS_CUDA_ERROR_INVALID_PC, "indexes branch target %u of %lld", index[i], (long long)in->imm);
    target[i] = in->x[index[i]];
  }
  return ws_emu_jump_lanes(w, in, target, w->mask);
}

emu_fn *LEVELLED(ws_emu_resolve_control)(struct bind *b) {
  static const struct emu_key keys[] = {{"bra", bra}, {"brx.idx", brx}, {"exit", exit_}, {"trap", trap}, {"brkpt", brkpt},
                                        {"nanosleep.u32", nanosleep_}, {"pmevent", nop}, {"pmevent.mask", nop}};
  return ws_emu_find_key(keys, sizeof keys / sizeof *keys, b->u->key);
}
