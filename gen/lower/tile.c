#include "lower.h"

int ws_warp_rows(const struct lower *l, int rows) { return rows / l->prog->role->warps; }

struct extent ws_extent(const struct lower *l, int rows, int cols, enum ws_layout lay) {
  struct extent x = {.lane = lay == WS_L_LANE && (rows > 1 || cols > 1)};
  if (x.lane) {
    x.mt = rows > 1, x.nt = cols > 1 ? cols : 0, x.n = cols;
    return x;
  }
  if (rows > 1) x.mt = ws_warp_rows(l, rows) / 16;
  if (cols > 1) x.nt = lay == WS_L_A ? (cols + 15) / 16 * 2 : cols / 8; /* A is padded to whole k steps */
  x.n = x.mt && x.nt ? x.mt * x.nt * 4 : x.mt ? x.mt * 2 : x.nt ? x.nt * 2 : 1;
  return x;
}

struct tile ws_tile_make(struct lower *l, const char *name, int rows, int cols, enum ws_type t, enum ws_layout lay) {
  struct extent ex = ws_extent(l, rows, cols, lay);
  struct tile x = {.mt = ex.mt, .nt = ex.nt, .n = ex.n, .packed = ws_type_bits(t) == 16, .lane = ex.lane};
  if (x.packed) x.n = (x.n + 1) / 2;
  x.reg = ws_ptx_regs(&l->px, ws_reg_class(t), name, (size_t)x.n);
  return x;
}

struct tile *ws_tile_of(struct lower *l, const struct ws_var *v) {
  struct tile *t = &l->var[v->index];
  if (!t->n) *t = ws_tile_make(l, v->name, v->rows, v->cols, v->type, v->layout);
  return t;
}

const char *ws_tile_element(const struct tile *t, int e, const struct extent *of) {
  if (t->mt == of->mt && t->nt == of->nt) return t->reg[e];
  if (t->mt) return t->reg[ws_row_slot(of, e)];                        /* a row vector: by the row of e */
  if (t->nt && of->lane) return t->reg[e];
  if (t->nt) return t->reg[of->mt ? e / 4 % of->nt * 2 + e % 2 : e];   /* a column vector: by its column */
  return t->reg[0];
}

enum ws_reg_class ws_reg_class(enum ws_type t) { return t == WS_F32 ? WS_REG_F32 : t == WS_BOOL ? WS_REG_PRED : WS_REG_B32; }

struct ws_list ws_register_lines(struct lower *l, const char *const *reg, int n) {
  const char **cell = WS_NEW_N(l->arena, const char *, (size_t)(n + 15) / 16);
  size_t lines = 0;
  for (int i = 0; i < n; i += 16) {
    struct ws_buf b = {.arena = l->arena};
    for (int k = i; k < i + 16 && k < n; k++) ws_buf_printf(&b, "%s%s", reg[k], k + 1 < n ? k + 1 < i + 16 ? ", " : "," : "");
    cell[lines++] = b.s;
  }
  return (struct ws_list){lines, 1, cell};
}
