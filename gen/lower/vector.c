/* Vectors to and from memory: one value a row, which the four lanes of a quad share, or one a column, which the eight quads of a
 * warp, and all warps, share. Slot k of a lane is element base + at(k): rows g + 8 k of its warp, columns 2 t + 8 (k / 2) + k % 2,
 * with g = lane / 4, t = lane % 4 (struct tile). In memory a vector lies along rows or along columns, whichever way it is named.
 * Who writes: the first lane of a quad, or of a column vector the first quad of the role. */
#include "eval.h"

static bool along_rows(const struct ws_mem *m) { return m->cols == 1; }
static int slots(const struct tile *v) { return v->mt ? v->mt * 2 : v->nt * 2; }
static int at(const struct tile *v, int k) { return v->mt ? 8 * k : k / 2 * 8 + k % 2; }

static const char *writer(struct lower *l, const struct tile *v) {
  if (v->mt) return "%quad_first";
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", "lt", p, "%thread", "4");
  return p;
}

/* --- shared memory --- */

struct line {
  const char *reg;                 /* of this lane's element 0 */
  long imm, step;
};

static struct line line_of(struct lower *l, const struct ws_mem *m, const struct tile *v) {
  struct line x = {.step = along_rows(m) ? m->buffer->layout.pitch : (long)ws_type_bits(m->buffer->type) / 8};
  const char *slot = ws_slot_base(l, m, &x.imm), *first = ws_lower_temp(l, WS_REG_B32);
  if (v->mt)
    OP(l, "acc_row", first, ws_lower_int(l, v->mt * 16));
  else
    OP(l, "mov_s32", first, "%quad_column");
  OP(l, "mad_s32", x.reg = ws_lower_temp(l, WS_REG_B32), first, ws_lower_int(l, x.step), "%smem");
  if (*slot) OP(l, "add_s32", x.reg, x.reg, slot);
  x.imm += (long)m->row0 * m->buffer->layout.pitch + (along_rows(m) ? 0 : m->col0 * x.step);
  return x;
}

void ws_write_vector(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  struct line x = line_of(l, to, v);
  const char *p = writer(l, v);
  for (int k = 0; k < slots(v); k++) {
    const char *imm = ws_lower_int(l, x.imm + at(v, k) * x.step);
    if (v->packed)
      OP(l, k % 2 ? "st_shared_high16" : "st_shared_low16", p, x.reg, imm, v->reg[k / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
    else
      OP(l, "st_shared_row", p, x.reg, imm, v->reg[k]);
  }
}

struct tile ws_read_vector(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  struct line x = line_of(l, m, into);
  for (int k = 0; k < slots(into); k += into->packed ? 2 : 1) {
    const char *imm = ws_lower_int(l, x.imm + at(into, k) * x.step), *next = ws_lower_int(l, x.imm + at(into, k + 1) * x.step);
    if (into->packed)
      OP(l, "ld_shared_pair16", into->reg[k / 2], x.reg, imm, next, ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
    else
      OP(l, "ld_shared_f32", into->reg[k], x.reg, imm);
  }
  return *into;
}

/* --- global memory: column vectors along the rows of a tensor, or in its one row --- */

struct tile ws_load_vector(struct lower *l, const struct ws_mem *from, const struct tile *into) {
  const char *in = ws_lower_temp(l, WS_REG_PRED);
  for (int second = 0; second < (along_rows(from) ? 2 : 1); second++) {
    struct acc_access a = ws_column_access(l, from, along_rows(from) ? second : -1);
    for (int k = second; k < slots(into); k += along_rows(from) ? 2 : 1) {
      OP(l, "row_exists", in, a.rows_left, ws_lower_int(l, along_rows(from) ? k / 2 * 8 : 0));
      OP(l, "read_f32", in, into->reg[k], a.walk.address, ws_lower_int(l, along_rows(from) ? 0 : at(into, k) * 4L));
      if (along_rows(from) && k + 2 < slots(into)) ws_walk_on(l, &a.walk, k / 2 + 1);
    }
  }
  return *into;
}

static void put(struct lower *l, const struct tile *v, int k, const char *in, const char *address, const char *imm, bool add, enum ws_type t) {
  const char *type = t == WS_BF16 ? "bf16" : "f16";
  if (!v->packed)
    OP(l, add ? "red_f32" : "store_f32_at", in, address, imm, v->reg[k]);
  else if (add)
    OP(l, k % 2 ? "red_high16" : "red_low16", type, in, address, imm, v->reg[k / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
  else
    OP(l, k % 2 ? "store_high16_at" : "store_low16_at", in, address, imm, v->reg[k / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
}

/* Stores, or adds to what is there. */
void ws_store_vector(struct lower *l, const struct ws_mem *to, const struct tile *v, bool add) {
  const char *in = ws_lower_temp(l, WS_REG_PRED), *mine = writer(l, v);
  bool rows = along_rows(to);
  for (int second = 0; second < (rows ? 2 : 1); second++) {
    struct acc_access a = ws_column_access(l, to, rows ? second : -1);
    for (int k = second; k < slots(v); k += rows ? 2 : 1) {
      OP(l, "row_exists", in, a.rows_left, ws_lower_int(l, rows ? k / 2 * 8 : 0));
      OP(l, "and_pred", in, in, mine);
      put(l, v, k, in, a.walk.address, ws_lower_int(l, rows ? 0 : at(v, k) * (long)ws_type_bits(to->tensor->type) / 8), add, to->tensor->type);
      if (rows && k + 2 < slots(v)) ws_walk_on(l, &a.walk, k / 2 + 1);
    }
  }
}
