#include "lower.h"

int ws_warp_rows(const struct lower *l, int rows) { return rows / l->prog->role->warps; }

struct tile ws_tile_make(struct lower *l, const char *name, int rows, int cols, enum ws_type t, enum ws_layout lay) {
  struct tile x = {.packed = ws_type_bits(t) == 16};
  enum ws_reg_class c = t == WS_F32 ? WS_REG_F32 : WS_REG_B32;
  if (rows == 1 && cols == 1)
    x.n = 1;
  else {
    x.mt = ws_warp_rows(l, rows) / 16;
    x.nt = cols == 1 ? 0 : lay == WS_L_A ? (cols + 15) / 16 * 2 : cols / 8; /* A is padded to whole k steps */
    x.n = x.nt ? x.mt * x.nt * (x.packed ? 2 : 4) : x.mt * 2;
  }
  x.reg = ws_ptx_regs(&l->px, c, name, (size_t)x.n);
  return x;
}

struct tile *ws_tile_of(struct lower *l, const struct ws_var *v) {
  struct tile *t = &l->var[v->index];
  if (!t->n) *t = ws_tile_make(l, v->name, v->rows, v->cols, v->type, v->layout);
  return t;
}

const char *ws_tile_element(const struct tile *t, int e, int nt) {
  if (!t->mt) return t->reg[0];
  if (t->nt) return t->reg[e];
  if (!nt) return t->reg[e]; /* row vector among row vectors */
  int mi = e / (nt * 4), half = e % 4 / 2;
  return t->reg[mi * 2 + half];
}
