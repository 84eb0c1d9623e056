/* From registers to shared memory. */
#include "copy.h"
#include <string.h>

static void write_pairs16(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  const struct frag_map *f = ws_frag_map(l, FRAG_C, to->buffer, ws_warp_rows(l, to->rows));
  long imm;
  const char *slot = ws_slot_base(l, to, &imm), *reg[8];
  for (int u = 0; u <= f->layout.mask; u++) reg[u] = ws_frag_address(l, f, slot, u);
  for (int i = 0; i < v->n; i++) {
    int row = i / (v->nt * 2) * 16 + i % 2 * 8, unit = to->col0 / 8 + i / 2 % v->nt, low = unit & f->layout.mask;
    OP(l, "st_shared", reg[low], ws_lower_int(l, imm + ws_smem_unit(&f->layout, to->row0 + row, unit)), v->reg[i]);
  }
  int last = (to->col0 + to->cols) / 8;
  if (to->col0 + to->cols != to->buffer->cols || f->layout.units <= last) return;
  const char *zero = ws_lower_temp(l, WS_REG_B32); /* the padding that a product contracts, too */
  OP(l, "mov_b32", zero, "0");
  for (int r = 0; r < v->mt * 2; r++)
    OP(l, "st_shared", reg[last & f->layout.mask], ws_lower_int(l, imm + ws_smem_unit(&f->layout, to->row0 + r * 8, last)), zero);
}

struct smem_acc ws_smem_acc(struct lower *l, const struct ws_mem *m, bool vector) {
  struct smem_acc a = {.map = ws_frag_map(l, vector ? FRAG_ROWS : FRAG_C32, m->buffer, ws_warp_rows(l, m->rows)), .mem = m};
  const char *slot = ws_slot_base(l, m, &a.imm);
  for (int u = 0; u <= a.map->layout.mask; u += 2) a.reg[u] = ws_frag_address(l, a.map, slot, u);
  return a;
}

const char *ws_smem_acc_at(struct lower *l, const struct smem_acc *a, int row, int ni, const char **imm) {
  int unit = a->mem->col0 / 4 + ni * 2, low = unit & a->map->layout.mask;
  *imm = ws_lower_int(l, a->imm + ws_smem_unit(&a->map->layout, a->mem->row0 + row, unit));
  return a->reg[low];
}

/* A thread has the whole row: 16 bytes at a time, or its one value. */
static void write_lanes(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  const struct frag_map *f = ws_frag_map(l, FRAG_LANES, to->buffer, 0);
  long imm;
  const char *slot = ws_slot_base(l, to, &imm), *reg[8];
  for (int u = 0; u <= f->layout.mask; u++) reg[u] = ws_frag_address(l, f, slot, u);
  if (!v->nt) {
    OP(l, "st_shared_f32", reg[0], ws_lower_int(l, imm + ws_smem_unit(&f->layout, to->row0, 0)), v->reg[0]);
    return;
  }
  long first = (long)to->col0 * ws_type_bits(to->buffer->type) / 128;
  for (int i = 0; i + 3 < v->n; i += 4) {
    long unit = first + i / 4, low = unit & f->layout.mask;
    OP(l, "st_shared_v4", reg[low], ws_lower_int(l, imm + ws_smem_unit(&f->layout, to->row0, unit)), v->reg[i], v->reg[i + 1], v->reg[i + 2], v->reg[i + 3]);
  }
}

static void write_f32(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  struct smem_acc a = ws_smem_acc(l, to, !v->nt);
  const char *imm;
  for (int r = 0; r < v->mt * 2; r++) {
    if (!v->nt) {
      const char *reg = ws_smem_acc_at(l, &a, r * 8, 0, &imm);
      OP(l, "st_shared_row", "%quad_first", reg, imm, v->reg[r]);
    }
    for (int ni = 0; ni < v->nt; ni++) {
      const char *reg = ws_smem_acc_at(l, &a, r * 8, ni, &imm), **d = &v->reg[(r / 2 * v->nt + ni) * 4 + r % 2 * 2];
      OP(l, "st_shared_pair", reg, imm, d[0], d[1]);
    }
  }
}

/* A constant as an accumulator would hold it. */
static struct tile constant(struct lower *l, struct ws_act *a, int rows, int cols) {
  const struct ws_mem *to = a->to;
  enum ws_type t = to->buffer->type;
  struct extent x = ws_extent(l, rows, cols, WS_L_ACC);
  struct tile v = {.mt = x.mt, .nt = x.nt, .n = t == WS_F32 ? x.n : (x.n + 1) / 2, .packed = t != WS_F32};
  unsigned word;
  if (!ws_constant_bits(a->value->value, t, &word)) ws_error(l->diags, a->value->pos, "not-lowered", "this constant is not exact in %s", ws_type_name(t));
  const char *r = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mov_b32", r, ws_fmt(l->arena, "0x%08X", word));
  v.reg = WS_NEW_N(l->arena, const char *, v.n);
  for (int i = 0; i < v.n; i++) v.reg[i] = r;
  return v;
}

/* Vectors other than rows of f32 that lie along rows, which write_f32 knows. */
static bool vector_write(struct lower *l, struct ws_act *a) {
  const struct ws_mem *to = a->to;
  int rows = to->transposed ? to->cols : to->rows, cols = to->transposed ? to->rows : to->cols;
  unsigned bits = ws_type_bits(to->buffer->type);
  bool is_const = a->value->kind == WS_N_CONST;
  if ((rows > 1 && cols > 1) || rows * cols == 1 || bits == 8 || (!is_const && a->value->layout == WS_L_LANE)) return false;
  if (cols == 1 && (bits == 32 && !to->transposed)) return false;
  if (rows == 1 ? cols % 8 : rows % (16 * l->prog->role->warps)) return false;
  struct tile v = is_const ? constant(l, a, rows, cols) : ws_lower_value(l, a->value);
  ws_write_vector(l, to, &v);
  ws_lower_proxy_fence(l, to->buffer);
  return true;
}

void ws_lower_write(struct lower *l, struct ws_act *a) {
  const struct ws_mem *to = a->to;
  if (to->space == WS_TMEM) {
    struct tile t = ws_lower_value(l, a->value);
    ws_lower_write_tmem(l, to, &t, a->opt.chunk);
    return;
  }
  unsigned bits = ws_type_bits(to->buffer->type);
  if (vector_write(l, a)) return;
  if (to->transposed && a->value->kind != WS_N_CONST && to->rows > 1 && to->cols > 1 && (bits == 16 || bits == 32) && to->buffer->layout.units) {
    struct tile t = ws_lower_value(l, a->value);
    ws_write_turned(l, to, &t);
    ws_lower_proxy_fence(l, to->buffer);
    return;
  }
  if (a->value->kind == WS_N_CONST && to->rows > 1 && to->cols > 1 && to->buffer->layout.units && (bits == 16 || bits == 32) &&
      (to->rows % (16 * l->prog->role->warps) || (to->cols == to->buffer->cols && to->buffer->layout.units * 128 > to->cols * (int)bits))) {
    unsigned word;
    if (!ws_constant_bits(a->value->value, to->buffer->type, &word)) ws_error(l->diags, a->value->pos, "not-lowered", "this constant is not exact in %s", ws_type_name(to->buffer->type));
    ws_copy_fill(l, to, ws_fmt(l->arena, "0x%08X", word), a->src->pos);
    ws_lower_proxy_fence(l, to->buffer);
    return;
  }
  if ((to->transposed && a->value->kind != WS_N_CONST) || (bits != 16 && bits != 32) || (to->cols > 1 && (to->cols % 8 || !to->buffer->layout.units)) ||
      (to->cols == 1 && bits == 16) || (a->value->kind == WS_N_CONST && to->rows % (16 * l->prog->role->warps))) {
    ws_error(l->diags, a->src->pos, "not-lowered", "write: 16-bit and f32 tiles of accumulators and f32 row vectors are lowered for %s", l->s->target);
    return;
  }
  struct tile v = a->value->kind == WS_N_CONST ? constant(l, a, to->rows, to->cols) : ws_lower_value(l, a->value);
  if (v.lane)
    write_lanes(l, to, &v);
  else if (bits == 16)
    write_pairs16(l, to, &v);
  else
    write_f32(l, to, &v);
  ws_lower_proxy_fence(l, to->buffer);
}
