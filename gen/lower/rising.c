/* Vectors that rise evenly from one element of a thread to the next: u * (colpos(G) - n), with u and n uniform. The first element is
 * computed as it stands; every other one is that plus u times an immediate, one fma in the place of an addition, a conversion
 * and a multiplication. */
#include "eval.h"
#include <stddef.h>

static bool uniform(const struct ws_node *x) { return x->rows == 1 && x->cols == 1; }

/* The position in an integer that is one plus or minus what is uniform; *sign says which. NULL: it is none. */
static const struct ws_node *position_in(const struct lower *l, const struct ws_node *x, int *sign) {
  if (x->kind == WS_N_COLPOS || x->kind == WS_N_ROWPOS) return x->kind == WS_N_ROWPOS && ws_packed(l, x->mem) ? NULL : x; /* packed: rows of a query are equal */
  if (x->kind != WS_N_OP || x->type != WS_I32) return NULL;
  if (x->fn == WS_F_NEG) {
    *sign = -*sign;
    return position_in(l, x->arg[0], sign);
  }
  if (x->fn != WS_F_ADD && x->fn != WS_F_SUB) return NULL;
  if (uniform(x->arg[1])) return position_in(l, x->arg[0], sign);
  if (!uniform(x->arg[0])) return NULL;
  if (x->fn == WS_F_SUB) *sign = -*sign;
  return position_in(l, x->arg[1], sign);
}

/* Distance of element e of a vector from element 0. */
static int distance(const struct tile *t, int e) { return t->lane ? e : t->mt ? e * 8 : e / 2 * 8 + e % 2; }

bool ws_lower_rising(struct lower *l, struct ws_node *x, const struct tile *into) {
  bool vector = !into->mt != !into->nt && into->n > 1;
  if (!vector || into->packed || x->kind != WS_N_OP || x->fn != WS_F_MUL || x->type != WS_F32) return false;
  int side = uniform(x->arg[0]) ? 0 : 1, sign = 1;
  const struct ws_node *u = x->arg[side], *p = uniform(u) ? position_in(l, x->arg[1 - side], &sign) : NULL;
  if (!p) return false;
  struct eval *ev = WS_NEW(l->arena, struct eval);
  struct tile first = {.n = 1, .mt = into->mt, .nt = into->nt, .lane = into->lane, .reg = WS_NEW(l->arena, const char *)};
  first.reg[0] = ws_lower_temp(l, WS_REG_B32);
  ev->l = l, ev->ext = ws_tile_extent(into);
  ev->known[ev->nknown++] = (struct known){p, ws_lower_positions(l, p, &first)};
  ws_eval_prepare(ev, x, true);
  const char *base = ws_eval_element(ev, x, 0, WS_F32, into->reg[0]);
  const char *step = u->kind == WS_N_CONST ? NULL : ws_eval_element(ev, u, 0, WS_F32, NULL);
  for (int e = 1; e < into->n; e++) {
    double d = sign * distance(into, e);
    if (step) OP(l, "fma_f32", into->reg[e], step, ws_ptx_float(&l->px, d), base);
    else OP(l, "add_f32", into->reg[e], base, ws_ptx_float(&l->px, d * u->value));
  }
  return true;
}
