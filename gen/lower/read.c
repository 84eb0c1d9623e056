/* read(M): memory into registers, in the layout that its use asks for. */
#include "eval.h"
#include <string.h>

/* One value a head or batch, the same for all threads. */
static struct tile uniform(struct lower *l, const struct ws_node *x, const struct tile *into) {
  const struct ws_tensor *t = x->mem->tensor;
  const char *address = ws_lower_temp(l, WS_REG_B64);
  OP(l, "mov_b64", address, ws_lower_named(l, WS_REG_B64, "%s_data", t->name));
  for (int k = 0; k < t->ndims; k++)
    if (t->dim[k]) OP(l, "pointer_add", address, ws_outer_index(t->dim[k]), ws_lower_named(l, WS_REG_B64, "%s_stride_%s", t->name, t->dim[k]), ws_lower_temp(l, WS_REG_B64));
  OP(l, "read_uniform_f32", into->reg[0], address);
  return *into;
}

/* Each lane reads the elements that an accumulator gives it. */
static struct tile from_global(struct lower *l, const struct ws_node *x, const struct tile *into) {
  struct acc_access at = ws_acc_access(l, x->mem, !into->nt);
  for (int r = 0; r < into->mt * 2; r++) {
    const char *in = ws_lower_temp(l, WS_REG_PRED), *both = at.cols_left ? ws_lower_temp(l, WS_REG_PRED) : NULL;
    OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, r * 8));
    if (!into->nt) OP(l, "read_f32", in, into->reg[r], at.walk.address, "0");
    for (int ni = 0; ni < into->nt; ni++) {
      const char **d = &into->reg[(r / 2 * into->nt + ni) * 4 + r % 2 * 2];
      if (!at.cols_left)
        OP(l, "read_pair_f32", in, d[0], d[1], at.walk.address, ws_lower_int(l, ni * 32L));
      for (int c = 0; at.cols_left && c < 2; c++) {
        OP(l, "row_exists", both, at.cols_left, ws_lower_int(l, ni * 8L + c));
        OP(l, "and_pred", both, both, in);
        OP(l, "read_f32", both, d[c], at.walk.address, ws_lower_int(l, (ni * 8L + c) * 4));
      }
    }
    if (r + 1 < into->mt * 2) ws_walk_on(l, &at.walk, r + 1);
  }
  return *into;
}

/* A value a row, a row a thread. */
static struct tile lane_vector(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  const struct frag_map *f = ws_frag_map(l, FRAG_LANES, m->buffer, 0);
  long imm;
  const char *slot = ws_slot_base(l, m, &imm);
  OP(l, "ld_shared_f32", into->reg[0], ws_frag_address(l, f, slot, 0), ws_lower_int(l, imm + ws_smem_unit(&m->buffer->layout, m->row0, 0)));
  return *into;
}

/* f32 tiles and row vectors of shared memory. */
static struct tile from_shared(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  if (into->lane) return lane_vector(l, m, into);
  struct smem_acc a = ws_smem_acc(l, m, !into->nt);
  const char *imm;
  for (int r = 0; r < into->mt * 2; r++) {
    if (!into->nt) {
      const char *reg = ws_smem_acc_at(l, &a, r * 8, 0, &imm);
      OP(l, "ld_shared_f32", into->reg[r], reg, imm);
    }
    for (int ni = 0; ni < into->nt; ni++) {
      const char *reg = ws_smem_acc_at(l, &a, r * 8, ni, &imm), **d = &into->reg[(r / 2 * into->nt + ni) * 4 + r % 2 * 2];
      OP(l, "ld_shared_pair", d[0], d[1], reg, imm);
    }
  }
  return *into;
}

/* A row of 16 bits a thread, 16 bytes at a time. */
static struct tile lanes16(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  const struct frag_map *f = ws_frag_map(l, FRAG_LANES, m->buffer, 0);
  long imm, first = (long)m->col0 / 8;
  const char *slot = ws_slot_base(l, m, &imm), *reg[8];
  for (int u = 0; u <= f->layout.mask; u++) reg[u] = ws_frag_address(l, f, slot, u);
  for (int i = 0; i + 3 < into->n; i += 4) {
    long unit = first + i / 4;
    OP(l, "ld_shared_v4", into->reg[i], into->reg[i + 1], into->reg[i + 2], into->reg[i + 3], reg[unit & f->layout.mask],
       ws_lower_int(l, imm + ws_smem_unit(&f->layout, m->row0, unit)));
  }
  return *into;
}

/* An element of a table: its address, by the coordinates that its index gives. */
const char *ws_table_address(struct lower *l, const struct ws_mem *m) {
  const char *address = ws_lower_temp(l, WS_REG_B64);
  OP(l, "mov_b64", address, ws_lower_named(l, WS_REG_B64, "%s_data", m->tensor->name));
  for (int k = 0; k < m->tensor->ndims; k++) {
    const char *index = m->coord[k] ? ws_uniform_int(l, m->coord[k]) : m->tensor->dim[k] ? ws_outer_index(m->tensor->dim[k]) : NULL;
    if (index) OP(l, "pointer_add", address, index, ws_lower_stride(l, m->tensor, k), ws_lower_temp(l, WS_REG_B64));
  }
  return address;
}

struct tile ws_lower_read(struct lower *l, const struct ws_node *x, const struct tile *into) {
  const struct ws_mem *m = x->mem;
  if (m->space == WS_TMEM) return ws_lower_read_tmem(l, m, into, l->act->opt.chunk);
  if (m->space == WS_GLOBAL && m->tensor->coords) {
    OP(l, "read_uniform_s32", into->reg[0], ws_table_address(l, m));
    return *into;
  }
  bool vector = into->n && !into->lane && (into->mt == 0) != (into->nt == 0);
  bool acc = x->layout == WS_L_ACC || x->layout == WS_L_COPY || (x->layout == WS_L_LANE && x->cols == 1); /* supported.c: what nothing decides lies as an accumulator */
  bool plain = m->cols == 1 && !m->transposed && !into->packed; /* a row vector of f32 along rows */
  if (m->space == WS_SMEM && acc && vector && !plain) return ws_read_vector(l, m, into);
  if (m->space == WS_GLOBAL && acc && vector && !into->mt && m->tensor->type == WS_F32 && !m->tensor->coords) return ws_load_vector(l, m, into);
  if (m->space == WS_SMEM && x->layout == WS_L_A) return ws_lower_read_a(l, m, into);
  if (m->space == WS_SMEM && acc && m->buffer->type == WS_F32 && m->transposed && !into->lane && into->mt && into->nt && m->buffer->layout.units) return ws_read_turned(l, m, into);
  if (m->space == WS_SMEM && acc && m->buffer->type == WS_F32 && !m->transposed && (m->cols == 1 || (m->cols % 8 == 0 && m->buffer->layout.units)))
    return from_shared(l, m, into);
  if (m->space == WS_SMEM && x->layout == WS_L_LANE && ws_type_bits(m->buffer->type) == 16 && m->cols % 8 == 0 && !m->transposed && m->buffer->layout.units)
    return lanes16(l, m, into);
  /* a packed accumulator has the registers of a left operand */
  if (m->space == WS_SMEM && acc && into->packed && into->mt && into->nt && !into->lane && m->cols % (m->transposed ? 16 : 8) == 0 && m->rows % 16 == 0 && m->buffer->layout.units) return ws_lower_read_a(l, m, into);
  if (m->space == WS_GLOBAL && m->tensor->type == WS_F32 && !m->tensor->coords) {
    if (m->tensor->row_dim < 0 && m->tensor->col_dim < 0) return uniform(l, x, into);
    bool turned = m->transposed && into->mt && into->nt && !into->lane && (m->tensor->col_dim < 0 || !m->tensor->dim[m->tensor->col_dim]);
    if (acc && turned) return ws_load_turned(l, m, into);
    if (acc && !m->transposed) return from_global(l, x, into);
  }
  if (m->space == WS_GLOBAL && m->tensor->type != WS_F32)
    ws_error(l->diags, x->pos, "not-lowered", "read: a tile of `%s` straight from global memory: not lowered for %s; `load` it into shared memory and read that", m->tensor->name, l->s->target);
  else
    ws_error(l->diags, x->pos, "not-lowered", "read: this memory in layout `%s` is not lowered for %s", ws_layout_name(x->layout), l->s->target);
  return *into;
}
