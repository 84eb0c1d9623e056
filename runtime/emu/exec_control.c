/* PTX ISA "Control Flow Instructions", "Miscellaneous Instructions". */
#include "address.h"
#include "system.h"
#include <string.h>

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

/* ---- system calls: generic addresses of the call's arguments and of the result, in the thread's local memory (decode.c) ---- */
static int argument(struct warp *w, const struct inst *in, int n, uint32_t bytes, int kind, struct access *out) {
  uint64_t a[LANES];
  int64_t third = (int64_t)((uint64_t)in->x[1] << 32 | in->x[0]);
  lane_addresses(w, in->o[n], true, n == 0 ? in->imm : n == 1 ? in->imm2 : third, a);
  return generic_access(w, in, a, bytes, kind, out);
}
static uint64_t value(const struct access *p, int lane, size_t bytes) {
  uint64_t v = 0;
  memcpy(&v, p->p[lane], bytes);
  return v;
}

HANDLER(vprintf_) {
  struct access format, args, result;
  int ev = argument(w, in, 0, 8, ACCESS_READ, &format);
  if (ev == EV_NEXT) ev = argument(w, in, 1, 8, ACCESS_READ, &args);
  if (ev == EV_NEXT) ev = argument(w, in, 2, 4, ACCESS_WRITE, &result);
  for (uint32_t m = w->mask; m && ev == EV_NEXT; m &= m - 1) {
    int i = __builtin_ctz(m);
    int32_t n = ws_emu_vprintf(WHO(w, in, i), value(&format, i, 8), value(&args, i, 8));
    memcpy(result.p[i], &n, 4);
  }
  return ev;
}
HANDLER(assertfail) {
  struct access message, file, line;
  int ev = argument(w, in, 0, 8, ACCESS_READ, &message), i = __builtin_ctz(w->mask);
  if (ev == EV_NEXT) ev = argument(w, in, 1, 8, ACCESS_READ, &file);
  if (ev == EV_NEXT) ev = argument(w, in, 2, 4, ACCESS_READ, &line);
  return ev == EV_NEXT ? ws_emu_assertfail(WHO(w, in, i), value(&message, i, 8), value(&file, i, 8), (uint32_t)value(&line, i, 4)) : ev;
}

emu_fn *LEVELLED(ws_emu_resolve_control)(struct bind *b) {
  static const struct emu_key keys[] = {{"bra", bra}, {"brx.idx", brx}, {"exit", exit_}, {"trap", trap}, {"brkpt", brkpt},
                                        {"nanosleep.u32", nanosleep_}, {"pmevent", nop}, {"pmevent.mask", nop}, {"call vprintf", vprintf_}, {"call __assertfail", assertfail}};
  return ws_emu_find_key(keys, sizeof keys / sizeof *keys, b->u->key);
}
