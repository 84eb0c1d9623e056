/* The trace: who synchronises with whom, in program order (wsemu.h, struct wsemu_event). A handler that synchronises says so once
 * it has happened: an instruction that blocks and is executed again tells when it goes on. Costs a test of one pointer when nobody
 * listens. A traced launch runs on one worker thread, so events come one after the other. */
#ifndef WS_EMU_TRACE_H
#define WS_EMU_TRACE_H
#include "machine.h"
#include "wsemu.h"

static inline bool ws_emu_traced(const struct warp *w) { return w->cta->grid->l->options.trace; }
/* Adds who and where; lanes default to those that execute. */
void ws_emu_trace(const struct warp *w, const struct inst *in, struct wsemu_event e);
#define NOTHING(id) .kind = WSEMU_##id, .object = WSEMU_NO_OBJECT, .count = WSEMU_NO_COUNT /* to count or name */
#define TRACE(w, in, ...)                                                                                             \
  do {                                                                                                                \
    if (__builtin_expect(ws_emu_traced(w), 0)) ws_emu_trace(w, in, (struct wsemu_event){__VA_ARGS__});                \
  } while (0)

/* The same for one instruction whose lanes may name different mbarriers: arrivals at one of them are one event. */
struct trace_arrivals {
  uint32_t n;
  struct wsemu_event e[LANES];
};
static inline void trace_arrival(struct trace_arrivals *t, uint32_t lane, const struct wsemu_event *e) {
  uint32_t k = 0;
  while (k < t->n && (t->e[k].object != e->object || t->e[k].target != e->target)) k++;
  if (k == t->n) {
    t->e[t->n] = *e;
    t->e[t->n++].lanes = 1u << lane;
    return;
  }
  t->e[k].lanes |= 1u << lane;
  t->e[k].count += e->count;
  t->e[k].amount += e->amount;
}

int ws_emu_trace_file(struct emu_options *o, const char *path); /* "" = none; 1: it cannot be written */
void ws_emu_trace_end(const struct emu_options *o);             /* a launch has ended */
#endif
