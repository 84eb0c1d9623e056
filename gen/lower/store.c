/* From registers and constants to global memory, and sums there. */
#include "copy.h"
#include <math.h>
#include <string.h>

/* The bits of a constant in an element type, filling a 32-bit register. False: it is not exact there. */
bool ws_constant_bits(double v, enum ws_type t, unsigned *bits) {
  float f = (float)v;
  memcpy(bits, &f, 4);
  if (t == WS_F32) return true;
  if (t == WS_BF16) {
    bool exact = (double)f == v && !(*bits & 0xFFFF);
    *bits = (*bits >> 16) * 0x10001u;
    return exact;
  }
  int e;
  double m = frexp(fabs(v), &e); /* 0.5 <= m < 1; f16 has 11 bits, from 2^-24 on, below 2^16 */
  unsigned sign = v < 0 ? 0x8000 : 0, h = isinf(v) ? 0x7C00 : 0;
  bool exact = true;
  if (v != 0 && !isinf(v)) {
    int digits = e < -13 ? e + 24 : 11;
    double whole = digits > 0 ? ldexp(m, digits) : 0.5;
    exact = whole == floor(whole) && e <= 16;
    if (exact) h = e < -13 ? (unsigned)whole : (unsigned)(e + 14) << 10 | ((unsigned)whole & 0x3FF);
  }
  *bits = (sign | h) * 0x10001u;
  return exact;
}

static void store_const(struct lower *l, struct ws_act *a) {
  const struct ws_mem *to = a->to;
  enum ws_type t = to->tensor->type;
  unsigned word;
  if (!ws_constant_bits(a->value->value, t, &word)) {
    ws_error(l->diags, a->value->pos, "not-lowered", "this constant is not exact in %s", ws_type_name(t));
    return;
  }
  const char *bits = ws_fmt(l->arena, "0x%08X", word);
  bool vector = to->cols == 1, everywhere = ws_lower_in_loop(l, to->tensor, NULL);
  struct ws_smem_layout plain = {.pitch = vector ? 16 : to->cols * (int)ws_type_bits(t) / 8};
  struct copy_map *map = vector ? ws_copy_map(l, to->tensor->name, to->rows, 4, WS_F32, &plain, false, everywhere, a->src->pos)
                                : ws_copy_map(l, to->tensor->name, to->rows, to->cols, t, &plain, false, everywhere, a->src->pos);
  struct pointer *p = ws_copy_pointer(l, to, map);
  const struct row_walk w = ws_copy_walk(l, to, p);
  const char *left = ws_copy_rows_left(l, to, map->row);
  for (int k = 0; k < map->passes; k++) {
    const char *in = ws_lower_temp(l, WS_REG_PRED), *guard = ws_copy_pass_guard(l, map, k);
    OP(l, "row_exists", in, left, ws_lower_int(l, k * map->rows_pass));
    if (guard) OP(l, "and_not_pred", in, in, guard);
    if (vector && t != WS_F32)
      OP(l, "store_b16", in, w.address, ws_fmt(l->arena, "0x%04X", word & 0xFFFF), ws_lower_temp(l, WS_REG_B16));
    else
      OP(l, vector ? "store_b32" : "store_unit_const", in, w.address, bits);
    if (k + 1 < map->passes) ws_walk_on(l, &w, k + 1);
  }
}

/* Rows and columns of accumulators: one row a quad, two columns a lane, eight rows a step. bytes = 0: a row vector. */
static struct copy_map *acc_map(struct lower *l, int warp_rows, int bytes, bool everywhere) {
  struct ws_smem_layout key = {.pitch = -1 - bytes};
  struct copy_map *m = ws_copy_kept(l, &key, warp_rows, everywhere);
  if (m) return m;
  m = WS_NEW(l->arena, struct copy_map);
  *m = (struct copy_map){.rows = warp_rows, .layout = key, .rows_pass = 8, .life.everywhere = everywhere};
  m->name = ws_lower_unique(l, bytes ? "acc%d" : "acc", bytes);
  m->row = ws_lower_named(l, WS_REG_B32, "%s_row", m->name);
  m->unit_bytes = bytes ? ws_lower_named(l, WS_REG_B32, "%s_byte", m->name) : NULL;
  struct ws_buf *old = ws_lower_hoist(l, m->life.everywhere ? l->start : NULL);
  ws_lower_comment(l, "this lane's first row of an accumulator, %d rows a warp", warp_rows);
  OP(l, "acc_row", m->row, ws_lower_int(l, warp_rows));
  if (bytes) OP(l, "mul_s32", m->unit_bytes, "%quad_column", ws_lower_int(l, bytes));
  ws_lower_restore(l, old);
  ws_lower_keep(l, &l->maps, &m->life, l->prog->decl->pos);
  return m;
}

/* Rows where a thread has one of its own. */
static struct copy_map *lane_map(struct lower *l, bool everywhere) {
  static const struct ws_smem_layout key = {.pitch = -1000};
  struct copy_map *m = ws_copy_kept(l, &key, 0, everywhere);
  if (m) return m;
  m = WS_NEW(l->arena, struct copy_map);
  *m = (struct copy_map){.layout = key, .rows_pass = 1, .row = "%thread", .life.everywhere = everywhere};
  m->name = ws_lower_unique(l, "own_row");
  ws_lower_keep(l, &l->maps, &m->life, l->prog->decl->pos);
  return m;
}

const char *ws_acc_row(struct lower *l, int warp_rows) { return acc_map(l, warp_rows, 0, l->depth > 0)->row; }

/* bytes: from one column of the quad to the next, 0 for a row vector. */
static struct acc_access access_by(struct lower *l, const struct ws_mem *m, int bytes) {
  const struct ws_tensor *t = m->tensor;
  bool vector = bytes == 0;
  struct copy_map *map = acc_map(l, ws_warp_rows(l, m->rows), bytes, ws_lower_in_loop(l, t, NULL));
  struct pointer *p = ws_copy_pointer(l, m, map);
  struct acc_access a = {.walk = ws_copy_walk(l, m, p), .rows_left = ws_copy_rows_left(l, m, map->row)};
  if (vector || t->col_dim < 0 || !t->dim[t->col_dim]) return a;
  const char *first = ws_lower_temp(l, WS_REG_B32); /* columns are a run-time dim: they end somewhere, too */
  OP(l, "mul_s32", first, m->col_block ? ws_uniform_int(l, m->col_block) : "0", ws_lower_int(l, m->col_block_cols));
  if (m->col0) OP(l, "add_s32", first, first, ws_lower_int(l, m->col0));
  OP(l, "rows_left", a.cols_left = ws_lower_temp(l, WS_REG_B32), ws_lower_extent(l, t->dim[t->col_dim]), first, "%quad_column");
  return a;
}

/* A tensor's tile [columns, rows]: a lane's rows are its columns. */
static struct copy_map *turned_map(struct lower *l, int warp_rows, int bytes, int second, bool everywhere) {
  struct ws_smem_layout key = {.pitch = -2000 - bytes, .units = second};
  struct copy_map *m = ws_copy_kept(l, &key, warp_rows, everywhere);
  if (m) return m;
  m = WS_NEW(l->arena, struct copy_map);
  *m = (struct copy_map){.rows = warp_rows, .layout = key, .rows_pass = 8, .life.everywhere = everywhere};
  m->name = ws_lower_unique(l, "turned%d", bytes);
  m->row = ws_lower_named(l, WS_REG_B32, "%s_row", m->name);
  m->unit_bytes = ws_lower_named(l, WS_REG_B32, "%s_byte", m->name);
  struct ws_buf *old = ws_lower_hoist(l, m->life.everywhere ? l->start : NULL);
  ws_lower_comment(l, "this lane's first place in an accumulator that lies transposed, %d columns a warp", warp_rows);
  if (second < 0) { /* behind movmatrix: row lane / 4, two columns lane % 4 */
    OP(l, "mov_s32", m->row, "%quad_row");
    OP(l, "mad_s32", m->unit_bytes, "%warp", ws_lower_int(l, warp_rows), "%quad_column");
  } else {
    OP(l, "add_s32", m->row, "%quad_column", ws_lower_int(l, second));
    OP(l, "acc_row", m->unit_bytes, ws_lower_int(l, warp_rows));
  }
  OP(l, "mul_s32", m->unit_bytes, m->unit_bytes, ws_lower_int(l, bytes));
  ws_lower_restore(l, old);
  ws_lower_keep(l, &l->maps, &m->life, l->prog->decl->pos);
  return m;
}

/* A column vector: the two elements of a lane, eight a step. */
struct acc_access ws_column_access(struct lower *l, const struct ws_mem *m, int second) {
  bool everywhere = ws_lower_in_loop(l, m->tensor, NULL);
  int bytes = second < 0 ? (int)ws_type_bits(m->tensor->type) / 8 : 0;
  struct ws_smem_layout key = {.pitch = -3000 - bytes, .units = second};
  struct copy_map *map = ws_copy_kept(l, &key, 0, everywhere);
  if (!map) {
    map = WS_NEW(l->arena, struct copy_map);
    *map = (struct copy_map){.layout = key, .rows_pass = 8, .life.everywhere = everywhere};
    map->name = ws_lower_unique(l, "column");
    map->row = ws_lower_named(l, WS_REG_B32, "%s_row", map->name);
    map->unit_bytes = bytes ? ws_lower_named(l, WS_REG_B32, "%s_byte", map->name) : NULL;
    struct ws_buf *old = ws_lower_hoist(l, everywhere ? l->start : NULL);
    ws_lower_comment(l, "this lane's first element of a column vector");
    if (bytes) {
      OP(l, "mov_s32", map->row, "0");
      OP(l, "mul_s32", map->unit_bytes, "%quad_column", ws_lower_int(l, bytes));
    } else
      OP(l, "add_s32", map->row, "%quad_column", ws_lower_int(l, second));
    ws_lower_restore(l, old);
    ws_lower_keep(l, &l->maps, &map->life, l->prog->decl->pos);
  }
  struct pointer *p = ws_copy_pointer(l, m, map);
  return (struct acc_access){.walk = ws_copy_walk(l, m, p), .rows_left = ws_copy_rows_left(l, m, map->row)};
}

struct acc_access ws_turned_access(struct lower *l, const struct ws_mem *m, int warp_rows, int second) {
  struct copy_map *map = turned_map(l, warp_rows, (int)ws_type_bits(m->tensor->type) / 8, second, ws_lower_in_loop(l, m->tensor, NULL));
  struct pointer *p = ws_copy_pointer(l, m, map);
  return (struct acc_access){.walk = ws_copy_walk(l, m, p), .rows_left = ws_copy_rows_left(l, m, map->row)};
}

struct acc_access ws_acc_access(struct lower *l, const struct ws_mem *m, bool vector) {
  return access_by(l, m, vector ? 0 : (int)ws_type_bits(m->tensor->type) / 8);
}

/* 16-bit tiles: the four lanes of a quad exchange what they have of four n-tiles of a row, 4 bytes each, so that each has 16
 * bytes of one: lane t of n-tile 4 k + t. */
static void store_quads(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  struct acc_access at = access_by(l, to, 8); /* two columns a lane: 16 bytes */
  const char *odd = ws_lower_temp(l, WS_REG_PRED), *high = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "quad_lanes", odd, high, ws_lower_temp(l, WS_REG_B32));
  const char **b = ws_ptx_temps(&l->px, WS_REG_B32, "turned", 6);
  for (int r = 0; r < v->mt * 2; r++) {
    const char *in = ws_lower_temp(l, WS_REG_PRED);
    OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, r * 8));
    for (int ni = 0; ni < v->nt; ni += 4) {
      const char *x[4];
      for (int k = 0; k < 4; k++) x[k] = v->reg[((r / 2 * v->nt + ni + k) * 4 + r % 2 * 2) / 2];
      OP(l, "quad_turn", b[0], b[1], b[2], b[3], b[4], b[5], x[0], x[1], x[2], x[3], odd, high);
      OP(l, "store_quad", in, at.walk.address, ws_lower_int(l, ni * 16L), b[0], b[1], b[2], b[3]);
    }
    if (r + 1 < v->mt * 2) ws_walk_on(l, &at.walk, r + 1);
  }
}

/* A thread has the whole row. */
static void store_lanes(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  struct copy_map *map = lane_map(l, ws_lower_in_loop(l, to->tensor, NULL));
  struct pointer *p = ws_copy_pointer(l, to, map);
  const char *address = ws_copy_walk(l, to, p).address, *in = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "row_exists", in, ws_copy_rows_left(l, to, "%thread"), "0");
  if (!v->nt) OP(l, "store_f32", in, address, v->reg[0]);
  for (int i = 0; v->nt && i + 3 < v->n; i += 4)
    OP(l, "store_quad", in, address, ws_lower_int(l, i * 4L), v->reg[i], v->reg[i + 1], v->reg[i + 2], v->reg[i + 3]);
}

/* Whether this thread has the r-th of its rows; of a row vector, the first lane of a quad has. */
static const char *owns_row(struct lower *l, const struct acc_access *at, int r, bool vector) {
  const char *in = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "row_exists", in, at->rows_left, ws_lower_int(l, r * 8));
  if (vector) OP(l, "and_pred", in, in, "%quad_first");
  return in;
}

/* Registers to global memory by the owner of each element; of a row vector, by the first lane of its quad. */
static void store_tile(struct lower *l, const struct ws_mem *to, struct tile v) {
  if (v.lane) {
    store_lanes(l, to, &v);
    return;
  }
  if (v.packed && v.nt && v.nt % 4 == 0 && to->tensor->col_dim >= 0 && !to->tensor->dim[to->tensor->col_dim]) {
    store_quads(l, to, &v);
    return;
  }
  int bytes = (int)ws_type_bits(to->tensor->type) / 8;
  struct acc_access at = ws_acc_access(l, to, !v.nt);
  for (int r = 0; r < v.mt * 2; r++) {
    const char *in = owns_row(l, &at, r, !v.nt);
    if (!v.nt) {
      if (v.packed)
        OP(l, r % 2 ? "store_high16" : "store_low16", in, at.walk.address, v.reg[r / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
      else
        OP(l, "store_f32", in, at.walk.address, v.reg[r]);
    }
    for (int ni = 0; ni < v.nt; ni++) {
      const char *imm = ws_lower_int(l, ni * 8L * bytes);
      int e = (r / 2 * v.nt + ni) * 4 + r % 2 * 2;
      if (v.packed)
        OP(l, "store_pair16", in, at.walk.address, imm, v.reg[e / 2]);
      else
        OP(l, "store_pair_f32", in, at.walk.address, imm, v.reg[e], v.reg[e + 1]);
    }
    if (r + 1 < v.mt * 2) ws_walk_on(l, &at.walk, r + 1);
  }
}

/* A tile of shared memory is turned on its way through registers, or the registers are on theirs to global memory. */
static void store_turned(struct lower *l, struct ws_act *a) {
  struct tile v;
  if (!a->from) {
    v = ws_lower_value(l, a->value);
    ws_store_turned(l, a->to, &v);
    return;
  }
  struct ws_mem from = *a->from, to = *a->to; /* whichever side says so, what is read is turned */
  from.transposed = true, to.transposed = false;
  v = ws_tile_make(l, ws_lower_unique(l, "turned"), from.cols, from.rows, from.buffer->type, WS_L_ACC);
  v = ws_read_turned(l, &from, &v);
  store_tile(l, &to, v);
}

/* --- reductions in global memory --- */

/* Each thread adds what it owns; of a row vector, the first lane of a quad does. */
static void reduce_registers(struct lower *l, struct ws_act *a) {
  struct tile v = ws_lower_value(l, a->value);
  if (!v.mt) {
    ws_store_vector(l, a->to, &v, true);
    return;
  }
  const char *type = a->to->tensor->type == WS_BF16 ? "bf16" : "f16";
  struct acc_access at = ws_acc_access(l, a->to, !v.nt);
  for (int r = 0; r < v.mt * 2; r++) {
    const char *in = owns_row(l, &at, r, !v.nt);
    if (!v.nt) {
      if (v.packed)
        OP(l, r % 2 ? "red_high16" : "red_low16", type, in, at.walk.address, "0", v.reg[r / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
      else
        OP(l, "red_f32", in, at.walk.address, "0", v.reg[r]);
    }
    for (int ni = 0; ni < v.nt && v.packed; ni++) OP(l, "red_pair16", type, in, at.walk.address, ws_lower_int(l, ni * 16L), v.reg[(r / 2 * v.nt + ni) * 2 + r % 2]);
    for (int ni = 0; ni < v.nt && !v.packed; ni++)
      for (int c = 0; c < 2; c++) OP(l, "red_f32", in, at.walk.address, ws_lower_int(l, (ni * 8L + c) * 4), v.reg[(r / 2 * v.nt + ni) * 4 + r % 2 * 2 + c]);
    if (r + 1 < v.mt * 2) ws_walk_on(l, &at.walk, r + 1);
  }
}

void ws_lower_reduction(struct lower *l, struct ws_act *a) {
  if (a->from)
    ws_copy_out(l, a, ws_type_bits(a->from->buffer->type) == 16 ? "red_unit16" : "red_unit");
  else
    reduce_registers(l, a);
}

void ws_lower_store(struct lower *l, struct ws_act *a) {
  struct tile v = {0};
  if (a->to->tensor->coords) {
    const char *first = ws_lower_temp(l, WS_REG_PRED), *value = ws_uniform_int(l, a->value);
    OP(l, "compare_s32", "eq", first, "%thread", "0");
    OP(l, "store_s32", first, ws_table_address(l, a->to), value);
    return;
  }
  if (!a->from && a->value->kind != WS_N_CONST && a->value->rows == 1 && a->value->cols > 1) {
    v = ws_lower_value(l, a->value);
    ws_store_vector(l, a->to, &v, false);
    return;
  }
  bool turned = a->from ? a->from->transposed != a->to->transposed : a->to->transposed && a->value->kind != WS_N_CONST;
  if (turned)
    store_turned(l, a);
  else if (a->from)
    ws_copy_out(l, a, "store_unit");
  else if (a->value->kind == WS_N_CONST)
    store_const(l, a);
  else
    store_tile(l, a->to, ws_lower_value(l, a->value));
}
