/* Tiles that are read, written or copied transposed.
 *
 * A lane's rows become columns: where it starts in a row of shared memory depends on its warp, so the swizzle cannot be folded into
 * an immediate by the unit's low bits as in product.c. Each unit that a lane needs has a register of its own instead, computed once
 * a program; rows further down by eights, which no swizzle sees (struct ws_smem_layout), stay immediates. 16-bit elements are
 * transposed by the matrix instructions, ldmatrix.trans and movmatrix (PTX ISA, "Warp-level matrix instructions"), f32 one by one. */
#include "eval.h"
#include <string.h>

/* --- places in shared memory --- */

/* The address of (row, unit), both registers; plus `byte` within the unit, a register or "". */
static void place(struct lower *l, const char *d, const struct ws_smem_layout *lay, const char *row, const char *unit, const char *byte) {
  const char *r = ws_lower_temp(l, WS_REG_B32), *u = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mad_s32", d, row, ws_lower_int(l, lay->pitch), "%smem");
  OP(l, "mov_s32", u, unit);
  if (lay->panel_units) {
    OP(l, "div_s32", r, u, ws_lower_int(l, lay->panel_units));
    OP(l, "rem_s32", u, u, ws_lower_int(l, lay->panel_units));
    OP(l, "mad_s32", d, r, ws_lower_int(l, lay->panel_bytes), d);
  }
  if (lay->mask) ws_lower_swizzle(l, lay, u, row, r);
  OP(l, "add_unit", d, u);
  if (*byte) OP(l, "add_s32", d, d, byte);
}

static const char *sum(struct lower *l, const char *a, const char *b) {
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, a, b);
  return d;
}

/* Lane offsets: the row and, for unit number k, the unit where a lane starts. */
struct start {
  const char *row[2], *unit, *byte;
  int rows;                        /* rows of a lane: 2 for f32, its neighbouring columns */
};

static struct start lane_start(struct lower *l, enum frag_kind kind, int warp_rows) {
  struct start s = {.rows = 1, .byte = ""};
  const char *unit = ws_lower_temp(l, WS_REG_B32), *row = ws_lower_temp(l, WS_REG_B32), *word = ws_lower_temp(l, WS_REG_B32);
  switch (kind) {
  case FRAG_AT: /* ldmatrix.trans x4 of A stored [k, m] */
    OP(l, "lanes_turned", row, unit);
    OP(l, "mad_s32", unit, "%warp", ws_lower_int(l, warp_rows / 8), unit);
    break;
  case FRAG_CT: /* behind movmatrix: lane -> row lane / 4, 4 bytes lane % 4 */
    row = "%quad_row";
    OP(l, "mul_s32", unit, "%warp", ws_lower_int(l, warp_rows / 8));
    OP(l, "mul_s32", s.byte = ws_lower_temp(l, WS_REG_B32), "%quad_column", "2");
    break;
  default: { /* f32: rows 2 (lane % 4), + 1; column lane / 4 of the warp's */
    OP(l, "acc_row", unit, ws_lower_int(l, warp_rows));
    OP(l, "mov_s32", s.byte = ws_lower_temp(l, WS_REG_B32), "0");
    OP(l, "element_unit", s.byte, unit, word);
    row = "%quad_column", s.rows = 2;
    s.row[1] = sum(l, row, "1");
    break;
  }
  }
  s.row[0] = row, s.unit = unit;
  return s;
}

/* Registers for n units from `first` on, `step` apart; for f32 those of the lane's second row behind them. */
static const struct frag_map *turned(struct lower *l, enum frag_kind kind, const struct ws_mem *m, int warp_rows, int n, int step) {
  const struct ws_bufferm *b = m->buffer;
  int first = (int)((long)m->col0 * ws_type_bits(b->type) / 128);
  for (int i = 0; i < l->frags.n; i++) {
    const struct frag_map *g = (const struct frag_map *)l->frags.item[i];
    if (g->kind == kind && !memcmp(&g->layout, &b->layout, sizeof b->layout) && g->warp_rows == warp_rows && g->first == first && g->n == n) return g;
  }
  struct frag_map *f = WS_NEW(l->arena, struct frag_map);
  *f = (struct frag_map){.kind = kind, .layout = b->layout, .warp_rows = warp_rows, .first = first, .n = n};
  f->life.everywhere = ws_lower_in_loop(l, NULL, b);
  ws_lower_keep(l, &l->frags, &f->life, l->prog->decl->pos);
  struct ws_buf *old = ws_lower_hoist(l, f->life.everywhere ? l->start : NULL);
  ws_lower_comment(l, "this lane's addresses in a tile like %s, transposed", b->name);
  struct start s = lane_start(l, kind, warp_rows);
  const char **reg = ws_ptx_temps(&l->px, WS_REG_B32, ws_fmt(l->arena, "%s_u", ws_lower_unique(l, "turned_%s", b->name)), (size_t)(n * s.rows));
  for (int r = 0; r < s.rows; r++)
    for (int k = 0; k < n; k++) {
      const char *unit = first + k * step ? sum(l, s.unit, ws_lower_int(l, first + k * step)) : s.unit;
      place(l, f->offset[r * n + k] = reg[r * n + k], &b->layout, s.row[r], unit, s.byte);
    }
  ws_lower_restore(l, old);
  return f;
}

/* Where the tile starts: registers for its units, and what is known at generation. */
struct turned_place {
  const char *reg[WS_FRAG_OFFSETS];
  long imm;
};

static struct turned_place turned_at(struct lower *l, const struct frag_map *f, const struct ws_mem *m, int n) {
  struct turned_place p = {.imm = 0};
  const char *slot = ws_slot_base(l, m, &p.imm);
  p.imm += (long)m->row0 * f->layout.pitch;
  for (int i = 0; i < n; i++) p.reg[i] = ws_frag_address(l, f, slot, i);
  return p;
}

static bool too_many(struct lower *l, struct ws_pos pos, int warp_rows) {
  if (warp_rows <= 64) return false;
  ws_error(l->diags, pos, "not-lowered", "a transposed tile of %d rows a warp: at most 64", warp_rows);
  return true;
}

/* --- A operands stored [k, m] --- */

struct ws_turned_a *ws_turned_a(struct lower *l, const struct ws_mem *m) {
  struct ws_turned_a *t = WS_NEW(l->arena, struct ws_turned_a);
  int warp_rows = ws_warp_rows(l, m->cols), mt = warp_rows / 16;
  if (too_many(l, m->pos, warp_rows)) mt = 1;
  const struct frag_map *f = turned(l, FRAG_AT, m, warp_rows, mt, 2);
  struct turned_place p = turned_at(l, f, m, mt);
  memcpy(t->reg, p.reg, sizeof t->reg);
  t->imm = p.imm, t->step = 16L * f->layout.pitch, t->mt = mt;
  return t;
}

void ws_turned_a_load(struct lower *l, const struct ws_turned_a *t, int kt, int mi, const char **a) {
  OP(l, "ldmatrix_trans", a[0], a[1], a[2], a[3], t->reg[mi < t->mt ? mi : 0], ws_lower_int(l, t->imm + kt * t->step));
}

/* --- registers to and from tiles [columns, rows] of shared memory --- */

/* Accumulators: packed pairs are transposed eight by eight across the warp. */
static void write16(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  const struct frag_map *f = turned(l, FRAG_CT, to, v->mt * 16, v->mt * 2, 1);
  struct turned_place p = turned_at(l, f, to, v->mt * 2);
  const char *d = ws_lower_temp(l, WS_REG_B32);
  for (int s = 0; s < v->mt * 2; s++)
    for (int ni = 0; ni < v->nt; ni++) {
      OP(l, "movmatrix", d, v->reg[(s / 2 * v->nt + ni) * 2 + s % 2]);
      OP(l, "st_shared", p.reg[s], ws_lower_int(l, p.imm + 8L * ni * f->layout.pitch), d);
    }
}

/* f32: one by one. load: the other way round. */
static void each32(struct lower *l, const struct ws_mem *m, const struct tile *v, bool load) {
  int n = v->mt * 2;
  const struct frag_map *f = turned(l, FRAG_C32T, m, v->mt * 16, n, 2);
  struct turned_place p = turned_at(l, f, m, n * 2);
  for (int s = 0; s < n; s++)
    for (int ni = 0; ni < v->nt; ni++)
      for (int c = 0; c < 2; c++) {
        const char *x = v->reg[(s / 2 * v->nt + ni) * 4 + s % 2 * 2 + c], *imm = ws_lower_int(l, p.imm + 8L * ni * f->layout.pitch);
        if (load)
          OP(l, "ld_shared_f32", x, p.reg[c * n + s], imm);
        else
          OP(l, "st_shared_f32", p.reg[c * n + s], imm, x);
      }
}

void ws_write_turned(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  if (too_many(l, to->pos, v->mt * 16)) return;
  if (v->packed)
    write16(l, to, v);
  else
    each32(l, to, v, false);
}

/* A tile [rows, columns] as an accumulator holds it, 16-bit elements in pairs. */
struct tile ws_read_turned(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  if (too_many(l, m->pos, into->mt * 16)) return *into;
  if (!into->packed) {
    each32(l, m, into, true);
    return *into;
  }
  struct ws_turned_a *t = ws_turned_a(l, m);
  for (int mi = 0; mi < into->mt; mi++)
    for (int kt = 0; kt < into->nt / 2; kt++) ws_turned_a_load(l, t, kt, mi, &into->reg[(mi * into->nt + 2 * kt) * 2]);
  return *into;
}

/* --- from shared memory to shared memory --- */

/* 16-bit: a warp takes blocks of 16 by 16. */
static void copy16(struct lower *l, const struct ws_mem *from, const struct ws_mem *to) {
  int warps = l->prog->role->warps, across = from->cols / 16, blocks = from->rows / 16 * across;
  const struct ws_smem_layout *a = &from->buffer->layout, *b = &to->buffer->layout;
  long here, there;
  const char *source = ws_slot_base(l, from, &here), *target = ws_slot_base(l, to, &there);
  const char **v = ws_ptx_temps(&l->px, WS_REG_B32, "turned", 4);
  int first = from->col0 / 8, second = to->col0 / 8;
  here += (long)from->row0 * a->pitch, there += (long)to->row0 * b->pitch;
  int temps[WS_REG_CLASSES];
  memcpy(temps, l->temp, sizeof temps);
  for (int p = 0; p * warps < blocks; p++) {
    memcpy(l->temp, temps, sizeof temps);
    const char *skip = (p + 1) * warps > blocks ? ws_ptx_label(&l->px, "turned") : NULL, *block = p ? sum(l, "%warp", ws_lower_int(l, p * warps)) : "%warp";
    const char *down = ws_lower_temp(l, WS_REG_B32), *right = ws_lower_temp(l, WS_REG_B32), *row = ws_lower_temp(l, WS_REG_B32), *unit = ws_lower_temp(l, WS_REG_B32);
    const char *at = ws_lower_temp(l, WS_REG_B32), *byte = ws_lower_temp(l, WS_REG_B32), *x[2] = {ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32)};
    ws_lower_note(l, "block %%warp + %d of %d, 16 by 16", p * warps, blocks);
    if (skip) {
      const char *none = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "compare_s32", "ge", none, block, ws_lower_int(l, blocks));
      OP(l, "branch_if", none, skip);
    }
    OP(l, "div_s32", down, block, ws_lower_int(l, across));
    OP(l, "rem_s32", right, block, ws_lower_int(l, across));
    OP(l, "lanes_block", row, unit);
    OP(l, "mad_s32", row, down, "16", row);
    OP(l, "mad_s32", unit, right, "2", unit);
    if (first) OP(l, "add_s32", unit, unit, ws_lower_int(l, first));
    place(l, at, a, row, unit, source);
    OP(l, "ldmatrix_trans", v[0], v[1], v[2], v[3], at, ws_lower_int(l, here));
    OP(l, "mad_s32", row, right, "16", "%quad_row");
    OP(l, "mul_s32", byte, "%quad_column", "2");
    if (*target) OP(l, "add_s32", byte, byte, target);
    for (int i = 0; i < 2; i++) {
      OP(l, "mad_s32", unit, down, "2", ws_lower_int(l, second + i));
      place(l, x[i], b, row, unit, byte);
    }
    for (int i = 0; i < 4; i++) OP(l, "st_shared", x[i % 2], ws_lower_int(l, there + i / 2 * 8L * b->pitch), v[i]);
    if (skip) OP(l, "label", skip);
  }
}

/* f32: a thread takes one element after the other; neighbours lie in one row of the source. */
static void copy32(struct lower *l, const struct ws_mem *from, const struct ws_mem *to) {
  int threads = l->prog->role->warps * 32, n = from->rows * from->cols;
  long here, there;
  const char *source = ws_slot_base(l, from, &here), *target = ws_slot_base(l, to, &there);
  here += (long)from->row0 * from->buffer->layout.pitch, there += (long)to->row0 * to->buffer->layout.pitch;
  int temps[WS_REG_CLASSES];
  memcpy(temps, l->temp, sizeof temps);
  for (int p = 0; p * threads < n; p++) {
    memcpy(l->temp, temps, sizeof temps);
    const char *skip = (p + 1) * threads > n ? ws_ptx_label(&l->px, "turned") : NULL, *e = p ? sum(l, "%thread", ws_lower_int(l, p * threads)) : "%thread";
    if (skip) {
      const char *none = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "compare_s32", "ge", none, e, ws_lower_int(l, n));
      OP(l, "branch_if", none, skip);
    }
    const char *x = ws_lower_temp(l, WS_REG_F32), *at = ws_lower_temp(l, WS_REG_B32), *row = ws_lower_temp(l, WS_REG_B32), *col = ws_lower_temp(l, WS_REG_B32);
    const char *unit = ws_lower_temp(l, WS_REG_B32), *word = ws_lower_temp(l, WS_REG_B32), *byte = ws_lower_temp(l, WS_REG_B32);
    OP(l, "div_s32", row, e, ws_lower_int(l, from->cols));
    OP(l, "rem_s32", col, e, ws_lower_int(l, from->cols));
    for (int side = 0; side < 2; side++) {
      const struct ws_mem *m = side ? to : from;
      const char *base = side ? target : source;
      OP(l, "add_s32", unit, side ? row : col, ws_lower_int(l, m->col0));
      OP(l, "mov_s32", byte, *base ? base : "0");
      OP(l, "element_unit", byte, unit, word);
      place(l, at, &m->buffer->layout, side ? col : row, unit, byte);
      if (side)
        OP(l, "st_shared_f32", at, ws_lower_int(l, there), x);
      else
        OP(l, "ld_shared_f32", x, at, ws_lower_int(l, here));
    }
    if (skip) OP(l, "label", skip);
  }
}

void ws_copy_turned(struct lower *l, const struct ws_mem *from, const struct ws_mem *to) {
  ws_lower_note(l, "transposed on the way");
  if (ws_type_bits(from->buffer->type) == 16)
    copy16(l, from, to);
  else
    copy32(l, from, to);
}

/* --- registers to a tensor's tile [columns, rows] --- */

/* The other way round, f32: what lies outside of the tensor is 0. */
struct tile ws_load_turned(struct lower *l, const struct ws_mem *from, const struct tile *into) {
  const char *in = ws_lower_temp(l, WS_REG_PRED);
  for (int second = 0; second < 2; second++) {
    struct acc_access at = ws_turned_access(l, from, into->mt * 16, second);
    for (int ni = 0; ni < into->nt; ni++) {
      OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, ni * 8L));
      for (int s = 0; s < into->mt * 2; s++) OP(l, "read_f32", in, into->reg[(s / 2 * into->nt + ni) * 4 + s % 2 * 2 + second], at.walk.address, ws_lower_int(l, 32L * s));
      if (ni + 1 < into->nt) ws_walk_on(l, &at.walk, ni + 1);
    }
  }
  return *into;
}

static void store_columns(struct lower *l, const struct ws_mem *to, const struct tile *v, int second) {
  struct acc_access at = ws_turned_access(l, to, v->mt * 16, second);
  const char *d = ws_lower_temp(l, WS_REG_B32), *in = ws_lower_temp(l, WS_REG_PRED);
  for (int ni = 0; ni < v->nt; ni++) {
    OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, ni * 8L));
    for (int s = 0; s < v->mt * 2; s++) {
      const char *imm = ws_lower_int(l, 8L * s * ws_type_bits(to->tensor->type) / 8);
      if (second < 0) {
        OP(l, "movmatrix", d, v->reg[(s / 2 * v->nt + ni) * 2 + s % 2]);
        OP(l, "store_pair16", in, at.walk.address, imm, d);
      } else
        OP(l, "store_f32_at", in, at.walk.address, imm, v->reg[(s / 2 * v->nt + ni) * 4 + s % 2 * 2 + second]);
    }
    if (ni + 1 < v->nt) ws_walk_on(l, &at.walk, ni + 1);
  }
}

void ws_store_turned(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  for (int i = v->packed ? -1 : 0; i < (v->packed ? 0 : 2); i++) store_columns(l, to, v, i);
}
