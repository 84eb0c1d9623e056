/* read(M): memory into registers, in the layout that its use asks for. */
#include "eval.h"

struct tile ws_lower_read(struct lower *l, const struct ws_node *x, const struct tile *into) {
  if (x->mem->space == WS_SMEM && x->layout == WS_L_A) return ws_lower_read_a(l, x->mem, into);
  ws_error(l->diags, x->pos, "not-lowered", "read: only 16-bit A operands from shared memory are lowered for %s", l->s->target);
  return *into;
}
