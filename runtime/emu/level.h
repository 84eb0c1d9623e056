/* The handlers, compiled once for each vector level (exec_*.c with -DLEVEL=base|v3|v4). All levels compute the same bits:
 * contraction is off and fused operations are written as such. */
#ifndef WS_EMU_LEVEL_H
#define WS_EMU_LEVEL_H
#include "machine.h"

struct bind { /* an instruction about to get its handler */
  const struct isa_use *u;
  struct inst *in;
  uint8_t space;     /* enum ptx_space, where it has an address */
  uint8_t dw, sw;    /* bytes of the destination, source register where the pattern lets them differ from the type */
  uint8_t negated;   /* bit k: the predicate in o[k] is !p */
  uint8_t smalls;    /* constants packed into imm */
  uint32_t nx;       /* words in x */
  uint8_t ints;      /* integer constants given */
  bool src_pred;     /* cp.async: the optional operand is a predicate */
};
typedef emu_fn *emu_resolve(struct bind *b); /* NULL: no such form */
struct level {
  const char *name;
  emu_resolve *resolve[FAM_COUNT];
};
const struct level *ws_emu_level(const char *name); /* "" or NULL: the best that this processor runs; NULL: unknown */

struct emu_key { const char *key; emu_fn *fn; };
emu_fn *ws_emu_find_key(const struct emu_key *keys, size_t n, const char *key);
#endif
