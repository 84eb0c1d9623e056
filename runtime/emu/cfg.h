/* The control-flow graph of a decoded kernel, for cfg.c (reconvergence) and initialised.c (registers). Internal. */
#ifndef WS_EMU_CFG_H
#define WS_EMU_CFG_H
#include "machine.h"

struct block {
  uint32_t first, last;        /* instructions */
  uint32_t *pred, npred;       /* predecessors */
  uint32_t order;              /* position in the reversed graph's reverse postorder; 0 = not reached */
  uint32_t ipdom;
};
struct graph {
  struct kernel *k;
  struct ws_emu_pool *pool;
  struct block *b;             /* n blocks and the virtual end, number n */
  uint32_t n, *block_of;
};
void ws_emu_reconvergence(struct graph *g); /* cfg.c: o[1] of every branch */
void ws_emu_graph(struct graph *g); /* fills b, n and block_of; k and pool are set, the rest zero */

/* One use of a register by an instruction, in the order of instructions. */
struct reg_use {
  uint32_t pc, slot;
  const char *name;
  bool written, is_guard;
};
/* initialised.c: looks for reads of registers that no path has written (*never) or that some path has not.  Calls report
 * for the first place of each register. False: the kernel is too large to look at. */
typedef void uninitialised_fn(void *arg, const struct reg_use *use, bool never);
bool ws_emu_uninitialised(const struct graph *g, const struct reg_use *uses, size_t nuses, struct ws_emu_pool *pool, uninitialised_fn *report,
                          void *arg);
#endif
