/* Moves between global and shared memory by all threads of a role, and from registers to both. */
#include "lower.h"
#include <math.h>
#include <string.h>

/* --- who copies what --- */

static int power_of_two_below(int n) {
  int p = 1;
  while (p * 2 <= n) p *= 2;
  return p;
}

/* A thread keeps one unit column in all passes, so its addresses advance by constants. Where the tile is swizzled the rows
 * of a pass are a power of two: row = pass * rows_pass + r then XORs as (pass * rows_pass) ^ r, and the few different XORs
 * of the passes are registers of their own. */
/* Where the thread's unit lies in shared memory, by the XOR that a pass needs. */
static void copy_smem(struct lower *l, struct copy_map *m, const char *unit) {
  const struct ws_smem_layout *lay = &m->layout;
  const char **at = ws_ptx_temps(&l->px, WS_REG_B32, ws_fmt(l->arena, "%s_smem", m->name), (size_t)lay->mask + 1), *row = ws_lower_temp(l, WS_REG_B32);
  OP(l, "copy_smem", at[0], m->row, ws_lower_int(l, lay->pitch), unit, row);
  if (m->unit == 4) OP(l, "element_unit", at[0], unit, ws_lower_temp(l, WS_REG_B32));
  if (lay->panel_units && m->units > lay->panel_units) { /* a row goes on in the next panel */
    const char *panel = ws_lower_temp(l, WS_REG_B32), *wide = ws_lower_int(l, lay->panel_units);
    OP(l, "div_s32", panel, unit, wide);
    OP(l, "rem_s32", unit, unit, wide);
    OP(l, "mad_s32", at[0], panel, ws_lower_int(l, lay->panel_bytes), at[0]);
  }
  if (lay->mask) OP(l, "swizzle", unit, row, ws_lower_int(l, lay->shift), ws_lower_int(l, lay->mask));
  OP(l, "add_unit", at[0], unit);
  m->smem[0] = at[0];
  for (int p = 1; p < m->passes && lay->mask; p++) {
    int x = (p * m->rows_pass >> lay->shift) & lay->mask;
    if (m->smem[x]) continue;
    m->smem[x] = at[x];
    OP(l, "xor_b32", at[x], at[0], ws_lower_int(l, x * 16));
  }
}

static struct copy_map *copy_map_by(struct lower *l, int unit_size, const char *name, int rows, int cols, enum ws_type t, const struct ws_smem_layout *lay, bool fill,
                                    bool everywhere, struct ws_pos pos) {
  int whole = cols * (int)ws_type_bits(t) / 8 / unit_size, units = fill ? lay->units : whole, threads = l->prog->role->warps * 32;
  for (int i = 0; i < l->maps.n; i++) {
    struct copy_map *m = (struct copy_map *)l->maps.item[i];
    if (m->rows == rows && m->unit == unit_size && m->units == units && m->whole == whole && (m->life.everywhere || !everywhere) && !memcmp(&m->layout, lay, sizeof *lay)) return m;
  }
  struct copy_map *m = WS_NEW(l->arena, struct copy_map);
  *m = (struct copy_map){.unit = unit_size, .units = units, .whole = whole, .rows = rows, .layout = *lay};
  if (!units || cols * (int)ws_type_bits(t) % 128 || units > threads) {
    ws_error(l->diags, pos, "not-lowered", "a copy of rows of %u bytes by %d threads: rows are a multiple of 16 bytes, with a unit of 16 bytes a thread",
             cols * ws_type_bits(t) / 8, threads);
    m->units = m->whole = m->rows_pass = m->passes = 1;
    m->name = m->row = m->clip = m->unit_bytes = "0"; /* the error is said; what follows only must not fall */
    for (int x = 0; x < 8; x++) m->smem[x] = "0";
    return m;
  }
  m->rows_pass = threads / units < rows ? threads / units : rows;
  if (lay->mask) m->rows_pass = power_of_two_below(m->rows_pass);
  m->active = m->rows_pass * units;
  m->passes = (rows + m->rows_pass - 1) / m->rows_pass;
  m->life.everywhere = everywhere;
  ws_lower_keep(l, &l->maps, &m->life, pos);
  const char *n = m->name = ws_lower_unique(l, "%s_copy", name);
  m->row = ws_lower_named(l, WS_REG_B32, "%s_row", n);
  m->unit_bytes = ws_lower_named(l, WS_REG_B32, "%s_byte", n);
  struct ws_buf *old = ws_lower_hoist(l, everywhere ? l->start : NULL);
  ws_lower_comment(l, "copies of %s [%d, %d] %s, and of tiles like it: %d units of %d bytes a row%s, %d rows a pass, %d passes", name, rows, cols,
                   ws_type_name(t), units, unit_size, units > whole ? ", the last one zeros" : "", m->rows_pass, m->passes);
  const char *unit = ws_lower_temp(l, WS_REG_B32);
  if (units == 1)
    OP(l, "copy_lanes_rows", m->row, m->unit_bytes, unit);
  else
    OP(l, "copy_lanes", m->row, m->unit_bytes, ws_lower_int(l, units), unit, unit_size == 4 ? "2" : "4");
  if (lay->units) copy_smem(l, m, unit);
  if (m->active < threads) {
    m->idle = ws_lower_named(l, WS_REG_PRED, "%s_idle", n);
    OP(l, "compare_s32", "ge", m->idle, "%thread", ws_lower_int(l, m->active));
  }
  m->clip = m->row;
  if (units > whole) {
    m->clip = ws_lower_named(l, WS_REG_B32, "%s_clip", n);
    OP(l, "copy_padding", m->clip, m->row, m->unit_bytes, ws_lower_int(l, whole * 16L), ws_lower_temp(l, WS_REG_PRED));
  }
  ws_lower_restore(l, old);
  return m;
}

static struct copy_map *copy_map(struct lower *l, const char *name, int rows, int cols, enum ws_type t, const struct ws_smem_layout *lay, bool fill,
                                 bool everywhere, struct ws_pos pos) {
  return copy_map_by(l, 16, name, rows, cols, t, lay, fill, everywhere, pos);
}

static const char *param(struct lower *l, const struct ws_tensor *t, const char *what, const char *dim) {
  const char *r = dim ? ws_lower_named(l, WS_REG_B64, "%s_%s_%s", t->name, what, dim) : ws_lower_named(l, WS_REG_B64, "%s_%s", t->name, what);
  return r;
}

/* Bytes from one index of dim k to the next: a parameter, or known where the dim and all inside of it are numbers. */
static const char *stride(struct lower *l, const struct ws_tensor *t, int k) {
  if (t->dim[k]) return param(l, t, "stride", t->dim[k]);
  long bytes = ws_type_bits(t->type) / 8;
  for (int i = k + 1; i < t->ndims; i++) bytes *= t->fixed[i]; /* supported.c: none of them is a run-time dim */
  const char *name = ws_fmt(l->arena, "%s_stride_%d", t->name, k), *r = ws_lower_named(l, WS_REG_B64, "%s", name);
  for (size_t i = 0; i < l->nstrides; i++)
    if (!strcmp(l->strides[i], name)) return r;
  *WS_PUSH(l->arena, l->strides, l->nstrides, l->strides_cap) = name;
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  OP(l, "mov_b64", r, ws_lower_int(l, bytes));
  ws_lower_restore(l, old);
  return r;
}

/* The registers behind the indices of a tensor's outer dims. */
const char *ws_outer_index(const char *dim) {
  return !strcmp(dim, "batch") ? "%batch" : !strcmp(dim, "kv_heads") ? "%kv_head" : "%head";
}

/* base = data + outer offsets + (first row + r) * row stride + unit bytes, once a work tile. */
static struct pointer *pointer(struct lower *l, const struct ws_mem *m, const struct copy_map *map) {
  const struct ws_tensor *t = m->tensor;
  unsigned coords = 0;
  for (int k = 0; k < t->ndims; k++) coords |= (unsigned)(m->coord[k] != NULL) << k;
  for (int i = 0; i < l->pointers.n; i++) {
    struct pointer *p = (struct pointer *)l->pointers.item[i];
    if (p->tensor == t && p->map == map && p->coords == coords) return p;
  }
  struct pointer *p = WS_NEW(l->arena, struct pointer);
  p->tensor = t, p->map = map, p->coords = coords;
  p->life.everywhere = ws_lower_in_loop(l, t, NULL);
  ws_lower_keep(l, &l->pointers, &p->life, m->pos);
  const char *name = ws_lower_unique(l, "%s_by_%s", t->name, map->name);
  p->base = ws_lower_named(l, WS_REG_B64, "%s_base", name);
  p->pass = ws_packed(l, m) ? NULL : ws_lower_named(l, WS_REG_B64, "%s_pass", name);
  /* A block is a whole number of passes where rows_pass divides it: then its step needs no register of its own. */
  p->passes = m->block && m->block_rows % map->rows_pass == 0 ? m->block_rows / map->rows_pass : 1;
  p->block = p->passes > 1 || !m->block ? p->pass : ws_lower_named(l, WS_REG_B64, "%s_step", name);
  int row = t->row_dim;
  bool packed = ws_packed(l, m); /* then of the tile's first row: ws_packed_address goes on */
  struct ws_buf *old = ws_lower_hoist(l, p->life.everywhere ? l->tile_start : NULL);
  ws_lower_comment(l, packed ? "global address of this thread's unit in the first row of %s" : "global address of this thread's first unit of %s, and bytes to the rows of the next pass", t->name);
  const char *rows = stride(l, t, row), *wide = ws_lower_temp(l, WS_REG_B64);
  if (map->unit_bytes)
    OP(l, "pointer_base", p->base, param(l, t, "data", NULL), map->unit_bytes, wide);
  else
    OP(l, "mov_b64", p->base, param(l, t, "data", NULL));
  for (int k = 0; k < t->ndims; k++)
    if (k != row && k != t->col_dim && t->dim[k] && !m->coord[k])
      OP(l, "pointer_add", p->base, ws_outer_index(t->dim[k]), stride(l, t, k), ws_lower_temp(l, WS_REG_B64));
  const char *r = packed ? ws_row_origin(l) : map->row;
  if (!m->block && !packed && t->dim[row]) OP(l, "add_s32", r = ws_lower_temp(l, WS_REG_B32), map->row, ws_row_origin(l));
  OP(l, "pointer_add", p->base, r, rows, ws_lower_temp(l, WS_REG_B64));
  if (!packed) OP(l, "mul_s64", p->pass, rows, ws_lower_int(l, map->rows_pass));
  if (p->block != p->pass) OP(l, "mul_s64", p->block, rows, ws_lower_int(l, m->block_rows));
  ws_lower_restore(l, old);
  return p;
}

/* Is the block known to lie inside the tensor? One behind the first of a descending list does, and so does one that needs no
 * mask, with all that come before it. */
static bool whole_block(const struct lower *l, const struct ws_mem *m) {
  const struct ws_node *b = m->block;
  if (!b || (b->kind != WS_N_NEXT && b->kind != WS_N_ITER)) return false;
  int n = b->kind == WS_N_NEXT ? b->count : 0;
  if (b->iter->descending) return n > 0 || (n == 0 && l->iter[b->iter->index].masked == NO);
  return n <= 0 && l->iter[b->iter->index].masked == NO;
}

const char *ws_lower_extent(struct lower *l, const char *dim) { return ws_lower_named(l, WS_REG_B32, "%s", dim); }

/* Rows of the tensor from row r of pass 0 to its end: row `k` of the tile exists for this thread if rows_left > k. */
static const char *rows_left(struct lower *l, const struct ws_mem *m, const char *thread_row) {
  if (ws_packed(l, m)) return ws_packed_rows_left(l, m, ws_packed_row(l, m, thread_row));
  const char *left = ws_lower_temp(l, WS_REG_B32), *first = ws_row_origin(l), *dim = m->tensor->dim[m->tensor->row_dim];
  if (!dim) { /* whole: all rows are there */
    OP(l, "mov_s32", left, ws_lower_int(l, m->tensor->fixed[m->tensor->row_dim]));
    OP(l, "sub_s32", left, left, thread_row);
    if (m->row0) OP(l, "add_s32", left, left, ws_lower_int(l, -m->row0));
    if (m->row_at) OP(l, "sub_s32", left, left, ws_uniform_int(l, m->row_at));
    return left;
  }
  if (m->block) OP(l, "mul_s32", first = ws_lower_temp(l, WS_REG_B32), ws_uniform_int(l, m->block), ws_lower_int(l, m->block_rows));
  OP(l, "rows_left", left, ws_lower_extent(l, dim), first, thread_row);
  if (m->row0) OP(l, "add_s32", left, left, ws_lower_int(l, -m->row0));
  if (m->row_at) OP(l, "sub_s32", left, left, ws_uniform_int(l, m->row_at));
  return left;
}

/* The thread's address in the first row of the tile, pass 0; in a packed tile that of the tile's row 0. */
static const char *tile_address(struct lower *l, const struct ws_mem *m, const struct pointer *p) {
  const char *a = ws_lower_temp(l, WS_REG_B64);
  if (m->block) {
    const char *j = ws_uniform_int(l, m->block), *steps = j;
    if (p->passes > 1) OP(l, "mul_s32", steps = ws_lower_temp(l, WS_REG_B32), j, ws_lower_int(l, p->passes));
    OP(l, "pointer_block", a, p->base, steps, p->block, ws_lower_temp(l, WS_REG_B64));
  } else
    OP(l, "mov_b64", a, p->base);
  long bytes = (long)ws_type_bits(m->tensor->type) / 8;
  bool packed = ws_packed(l, m);
  if (m->row0 && !packed) OP(l, "pointer_rows", a, ws_lower_int(l, m->row0), stride(l, m->tensor, m->tensor->row_dim));
  if (m->row_at && !packed) OP(l, "pointer_add", a, ws_uniform_int(l, m->row_at), stride(l, m->tensor, m->tensor->row_dim), ws_lower_temp(l, WS_REG_B64));
  for (int k = 0; k < m->tensor->ndims; k++)
    if (m->coord[k]) OP(l, "pointer_add", a, ws_uniform_int(l, m->coord[k]), stride(l, m->tensor, k), ws_lower_temp(l, WS_REG_B64));
  if (m->col0) OP(l, "add_s64", a, a, ws_lower_int(l, m->col0 * bytes));
  if (m->col_at) OP(l, "pointer_cols", a, ws_uniform_int(l, m->col_at), ws_lower_int(l, bytes), ws_lower_temp(l, WS_REG_B64));
  if (m->col_block) OP(l, "pointer_cols", a, ws_uniform_int(l, m->col_block), ws_lower_int(l, m->col_block_cols * bytes), ws_lower_temp(l, WS_REG_B64));
  return a;
}

static struct row_walk walk(struct lower *l, const struct ws_mem *m, const struct pointer *p) {
  struct row_walk w = {.mem = m, .address = tile_address(l, m, p), .pass = p->pass, .rows_pass = p->map->rows_pass};
  if (w.pass) return w;
  w.base = w.address, w.address = ws_lower_temp(l, WS_REG_B64), w.row = ws_packed_row(l, m, p->map->row);
  ws_walk_on(l, &w, 0);
  return w;
}

void ws_walk_on(struct lower *l, const struct row_walk *w, int k) {
  if (w->pass)
    OP(l, "add_s64", w->address, w->address, w->pass);
  else
    ws_packed_address(l, w->mem, w->address, w->base, w->row, (long)k * w->rows_pass);
}

/* --- cp.async --- */

struct smem_side {
  const char *reg[8];
  long imm;
};

static struct smem_side smem_side(struct lower *l, const struct ws_mem *m, const struct copy_map *map) {
  struct smem_side s = {.imm = 0};
  const char *slot = ws_slot_base(l, m, &s.imm);
  s.imm += (long)m->row0 * map->layout.pitch;
  for (int x = 0; x < 8; x++) {
    s.reg[x] = map->smem[x];
    if (!*slot || !map->smem[x]) continue;
    s.reg[x] = ws_lower_temp(l, WS_REG_B32);
    OP(l, "add_s32", s.reg[x], map->smem[x], slot);
  }
  return s;
}

static const char *smem_pass(struct lower *l, const struct smem_side *s, const struct copy_map *map, int pass, const char **imm) {
  *imm = ws_lower_int(l, s->imm + (long)pass * map->rows_pass * map->layout.pitch);
  return s->reg[map->layout.mask ? (pass * map->rows_pass >> map->layout.shift) & map->layout.mask : 0];
}

static bool part_is_plain(struct lower *l, const struct ws_mem *smem) {
  if (smem->col0 == 0 && smem->row0 % 8 == 0) return true;
  ws_error(l->diags, smem->pos, "not-lowered", "a copy of this part of `%s`: parts start at column 0 and at a multiple of 8 rows", smem->buffer->name);
  return false;
}

/* Threads beyond the last row of a pass, or without a unit, sit the pass out. */
static const char *pass_guard(struct lower *l, const struct copy_map *map, int pass) {
  int last = map->rows - pass * map->rows_pass;
  if (last >= map->rows_pass) return map->idle;
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", "ge", p, map->row, ws_lower_int(l, last));
  if (map->idle) OP(l, "or_pred", p, p, map->idle);
  return p;
}

/* `l2=...`: a policy for the L2 cache, made once a program. */
struct l2_hint ws_lower_l2(struct lower *l, const struct ws_act *a) {
  if (!a->opt.l2 || !strcmp(a->opt.l2, "evict_normal")) return (struct l2_hint){"", ""};
  const char **reg = &l->l2[strcmp(a->opt.l2, "evict_first") != 0];
  if (!*reg) {
    *reg = ws_lower_named(l, WS_REG_B64, "l2_%s", a->opt.l2);
    struct ws_buf *old = ws_lower_hoist(l, l->start);
    OP(l, "l2_policy", *reg, a->opt.l2);
    ws_lower_restore(l, old);
  }
  return (struct l2_hint){".L2::cache_hint", ws_fmt(l->arena, ", %s", *reg)};
}

/* Do the rows of the tensor start at multiples of 16 bytes? The strides say so at run time. */
static const char *aligned(struct lower *l, const struct ws_tensor *t) {
  const char *bits = ws_lower_temp(l, WS_REG_B64), *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "aligned_start", bits, param(l, t, "data", NULL));
  for (int k = 0; k < t->ndims; k++)
    if (t->dim[k] && k != t->col_dim) OP(l, "aligned_stride", bits, param(l, t, "stride", t->dim[k]));
  OP(l, "aligned", p, bits);
  return p;
}

/* A tile whose columns end somewhere, too, by units of 16 bytes or by single f32. */
static void load_columns(struct lower *l, struct ws_act *a, int unit) {
  const struct ws_mem *from = a->from, *to = a->to;
  struct copy_map *map = copy_map_by(l, unit, to->buffer->name, to->rows, to->cols, WS_F32, &to->buffer->layout, false, unit == 16, a->src->pos);
  struct pointer *p = pointer(l, from, map);
  const struct row_walk w = walk(l, from, p);
  const char *left = rows_left(l, from, map->row), *bytes = ws_lower_temp(l, WS_REG_B32), *first = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mul_s32", first, from->col_block ? ws_uniform_int(l, from->col_block) : "0", ws_lower_int(l, from->col_block_cols));
  if (from->col0) OP(l, "add_s32", first, first, ws_lower_int(l, from->col0));
  OP(l, "columns_left", bytes, ws_lower_extent(l, from->tensor->dim[from->tensor->col_dim]), first, map->unit_bytes, ws_lower_int(l, unit));
  struct smem_side s = smem_side(l, to, map);
  struct l2_hint l2 = ws_lower_l2(l, a);
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = pass_guard(l, map, k);
    OP(l, unit == 4 ? "cp_async_element" : "cp_async_columns", guard ? ws_fmt(l->arena, "@!%s ", guard) : "", reg, imm, w.address, left, ws_lower_int(l, k * map->rows_pass),
       ws_lower_temp(l, WS_REG_PRED), ws_lower_temp(l, WS_REG_B32), bytes, l2.form, l2.policy);
    if (k + 1 < map->passes) ws_walk_on(l, &w, k + 1);
  }
}

/* `when`: the label behind a load that is not always made, NULL if it is; false if it never is. */
static bool load_when(struct lower *l, const struct ws_act *a, const char **skip) {
  bool never = false;
  const char *cond = a->when ? ws_uniform_pred(l, a->when, &never) : NULL;
  *skip = cond ? ws_ptx_label(&l->px, "no_load") : NULL;
  if (cond) OP(l, "branch_unless", cond, *skip);
  return !never;
}

static void load_run_time_columns(struct lower *l, struct ws_act *a) {
  const char *skip, *single = ws_ptx_label(&l->px, "unaligned"), *end = ws_ptx_label(&l->px, "loaded");
  if (!load_when(l, a, &skip)) return;
  OP(l, "branch_unless", aligned(l, a->from->tensor), single);
  l->depth++; /* what this way needs is computed before the branches */
  load_columns(l, a, 16);
  l->depth--;
  OP(l, "branch", end);
  OP(l, "label", single);
  int maps = l->maps.n, pointers = l->pointers.n;
  l->votes++; /* rarely taken: in place, so that registers are left for what runs mostly */
  load_columns(l, a, 4);
  l->votes--;
  l->maps.n = maps, l->pointers.n = pointers;
  OP(l, "label", end);
  if (skip) OP(l, "label", skip);
}

void ws_lower_load(struct lower *l, struct ws_act *a) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (!part_is_plain(l, to)) return;
  if (from->tensor->col_dim >= 0 && from->tensor->dim[from->tensor->col_dim]) {
    load_run_time_columns(l, a);
    return;
  }
  struct copy_map *map = copy_map(l, to->buffer->name, to->rows, to->cols, to->buffer->type, &to->buffer->layout, true, ws_lower_in_loop(l, from->tensor, to->buffer), a->src->pos);
  struct pointer *p = pointer(l, from, map);
  const char *skip;
  if (!load_when(l, a, &skip)) return;
  if (map->clip == map->row && whole_block(l, from)) ws_lower_note(l, "no row check: only the block at the end of %s can reach past it", from->tensor->name);
  const struct row_walk w = walk(l, from, p);
  const char *left = map->clip == map->row && whole_block(l, from) ? NULL : rows_left(l, from, map->clip);
  struct smem_side s = smem_side(l, to, map);
  struct l2_hint l2 = ws_lower_l2(l, a);
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = pass_guard(l, map, k);
    const char *off = guard ? ws_fmt(l->arena, "@!%s ", guard) : "";
    if (left)
      OP(l, "cp_async_clipped", off, reg, imm, w.address, left, ws_lower_int(l, k * map->rows_pass), ws_lower_temp(l, WS_REG_PRED), ws_lower_temp(l, WS_REG_B32), l2.form, l2.policy);
    else
      OP(l, "cp_async", off, reg, imm, w.address, l2.form, l2.policy);
    if (k + 1 < map->passes) ws_walk_on(l, &w, k + 1);
  }
  if (skip) OP(l, "label", skip);
}

/* --- stores --- */

/* From shared to global memory in units of 16 bytes: `move` stores or adds one. */
static void from_smem(struct lower *l, struct ws_act *a, const char *move) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (!part_is_plain(l, from)) return;
  struct copy_map *map = copy_map(l, from->buffer->name, from->rows, from->cols, from->buffer->type, &from->buffer->layout, false, ws_lower_in_loop(l, to->tensor, NULL), a->src->pos);
  struct pointer *p = pointer(l, to, map);
  const struct row_walk w = walk(l, to, p);
  const char *left = rows_left(l, to, map->row);
  struct smem_side s = smem_side(l, from, map);
  const char *v[4] = {ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32)};
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = pass_guard(l, map, k), *in = ws_lower_temp(l, WS_REG_PRED);
    OP(l, "row_exists", in, left, ws_lower_int(l, k * map->rows_pass));
    if (guard) OP(l, "and_not_pred", in, in, guard);
    OP(l, move, in, v[0], v[1], v[2], v[3], reg, imm, w.address);
    if (k + 1 < map->passes) ws_walk_on(l, &w, k + 1);
  }
}

/* The bits of a constant in an element type, filling a 32-bit register. False: it is not exact there. */
static bool pattern(double v, enum ws_type t, unsigned *bits) {
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
  if (!pattern(a->value->value, t, &word)) {
    ws_error(l->diags, a->value->pos, "not-lowered", "this constant is not exact in %s", ws_type_name(t));
    return;
  }
  const char *bits = ws_fmt(l->arena, "0x%08X", word);
  bool vector = to->cols == 1, everywhere = ws_lower_in_loop(l, to->tensor, NULL);
  struct ws_smem_layout plain = {.pitch = vector ? 16 : to->cols * (int)ws_type_bits(t) / 8};
  struct copy_map *map = vector ? copy_map(l, to->tensor->name, to->rows, 4, WS_F32, &plain, false, everywhere, a->src->pos)
                                : copy_map(l, to->tensor->name, to->rows, to->cols, t, &plain, false, everywhere, a->src->pos);
  struct pointer *p = pointer(l, to, map);
  const struct row_walk w = walk(l, to, p);
  const char *left = rows_left(l, to, map->row);
  for (int k = 0; k < map->passes; k++) {
    const char *in = ws_lower_temp(l, WS_REG_PRED), *guard = pass_guard(l, map, k);
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
  for (int i = 0; i < l->maps.n; i++) {
    struct copy_map *m = (struct copy_map *)l->maps.item[i];
    if (m->rows == warp_rows && (m->life.everywhere || !everywhere) && !memcmp(&m->layout, &key, sizeof key)) return m;
  }
  struct copy_map *m = WS_NEW(l->arena, struct copy_map);
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
  for (int i = 0; i < l->maps.n; i++) {
    struct copy_map *m = (struct copy_map *)l->maps.item[i];
    if ((m->life.everywhere || !everywhere) && !memcmp(&m->layout, &key, sizeof key)) return m;
  }
  struct copy_map *m = WS_NEW(l->arena, struct copy_map);
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
  struct pointer *p = pointer(l, m, map);
  struct acc_access a = {.walk = walk(l, m, p), .rows_left = rows_left(l, m, map->row)};
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
  for (int i = 0; i < l->maps.n; i++) {
    struct copy_map *m = (struct copy_map *)l->maps.item[i];
    if (m->rows == warp_rows && (m->life.everywhere || !everywhere) && !memcmp(&m->layout, &key, sizeof key)) return m;
  }
  struct copy_map *m = WS_NEW(l->arena, struct copy_map);
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

struct acc_access ws_turned_access(struct lower *l, const struct ws_mem *m, int warp_rows, int second) {
  struct copy_map *map = turned_map(l, warp_rows, (int)ws_type_bits(m->tensor->type) / 8, second, ws_lower_in_loop(l, m->tensor, NULL));
  struct pointer *p = pointer(l, m, map);
  return (struct acc_access){.walk = walk(l, m, p), .rows_left = rows_left(l, m, map->row)};
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
  struct pointer *p = pointer(l, to, map);
  const char *address = walk(l, to, p).address, *in = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "row_exists", in, rows_left(l, to, "%thread"), "0");
  if (!v->nt) OP(l, "store_f32", in, address, v->reg[0]);
  for (int i = 0; v->nt && i + 3 < v->n; i += 4)
    OP(l, "store_quad", in, address, ws_lower_int(l, i * 4L), v->reg[i], v->reg[i + 1], v->reg[i + 2], v->reg[i + 3]);
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
    const char *in = ws_lower_temp(l, WS_REG_PRED);
    OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, r * 8));
    if (!v.nt) {
      OP(l, "and_pred", in, in, "%quad_first");
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
  const struct ws_mem *from = a->from, *to = a->to;
  struct tile v;
  if (from && from->transposed) {
    v = ws_tile_make(l, ws_lower_unique(l, "turned"), from->cols, from->rows, from->buffer->type, WS_L_ACC);
    v = ws_read_turned(l, from, &v);
  } else
    v = ws_lower_value(l, a->value);
  if (to->transposed)
    ws_store_turned(l, to, &v);
  else
    store_tile(l, to, v);
}

/* --- reductions in global memory, copies between tiles of shared memory --- */

/* Each thread adds what it owns; of a row vector, the first lane of a quad does. */
static void reduce_registers(struct lower *l, struct ws_act *a) {
  struct tile v = ws_lower_value(l, a->value);
  struct acc_access at = ws_acc_access(l, a->to, !v.nt);
  for (int r = 0; r < v.mt * 2; r++) {
    const char *in = ws_lower_temp(l, WS_REG_PRED);
    OP(l, "row_exists", in, at.rows_left, ws_lower_int(l, r * 8));
    if (!v.nt) {
      OP(l, "and_pred", in, in, "%quad_first");
      OP(l, "red_f32", in, at.walk.address, "0", v.reg[r]);
    }
    for (int ni = 0; ni < v.nt; ni++)
      for (int c = 0; c < 2; c++) OP(l, "red_f32", in, at.walk.address, ws_lower_int(l, (ni * 8L + c) * 4), v.reg[(r / 2 * v.nt + ni) * 4 + r % 2 * 2 + c]);
    if (r + 1 < v.mt * 2) ws_walk_on(l, &at.walk, r + 1);
  }
}

void ws_lower_reduction(struct lower *l, struct ws_act *a) {
  if (a->from)
    from_smem(l, a, "red_unit");
  else
    reduce_registers(l, a);
}

void ws_lower_copy(struct lower *l, struct ws_act *a) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (from->transposed != to->transposed) {
    ws_copy_turned(l, from, to);
    ws_lower_proxy_fence(l, to->buffer);
    return;
  }
  if (!part_is_plain(l, from) || !part_is_plain(l, to)) return;
  bool loop = ws_lower_in_loop(l, NULL, from->buffer) || ws_lower_in_loop(l, NULL, to->buffer);
  const struct copy_map *f = copy_map(l, from->buffer->name, from->rows, from->cols, from->buffer->type, &from->buffer->layout, false, loop, a->src->pos);
  const struct copy_map *t = copy_map(l, to->buffer->name, to->rows, to->cols, to->buffer->type, &to->buffer->layout, false, loop, a->src->pos);
  if (f->rows_pass != t->rows_pass) {
    ws_error(l->diags, a->src->pos, "not-lowered", "a copy between tiles whose rows lie in different ways: `%s` and `%s`", from->buffer->name, to->buffer->name);
    return;
  }
  struct smem_side x = smem_side(l, from, f), y = smem_side(l, to, t);
  const char *v[4] = {ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32)};
  for (int k = 0; k < f->passes; k++) {
    const char *here, *there, *source = smem_pass(l, &x, f, k, &here), *target = smem_pass(l, &y, t, k, &there), *guard = pass_guard(l, f, k);
    OP(l, "copy_unit", guard ? ws_fmt(l->arena, "@!%s ", guard) : "", v[0], v[1], v[2], v[3], source, here, target, there);
  }
  ws_lower_proxy_fence(l, to->buffer);
}

void ws_lower_store(struct lower *l, struct ws_act *a) {
  bool turned = a->from ? a->from->transposed != a->to->transposed : a->to->transposed && a->value->kind != WS_N_CONST;
  if (turned)
    store_turned(l, a);
  else if (a->from)
    from_smem(l, a, "store_unit");
  else if (a->value->kind == WS_N_CONST)
    store_const(l, a);
  else
    store_tile(l, a->to, ws_lower_value(l, a->value));
}

/* --- registers to shared memory --- */

/* 16-bit pairs of an accumulator. */
static void write_pairs16(struct lower *l, const struct ws_mem *to, const struct tile *v) {
  const struct frag_map *f = ws_frag_map(l, FRAG_C, to->buffer, ws_warp_rows(l, to->rows));
  long imm;
  const char *slot = ws_slot_base(l, to, &imm), *reg[8];
  for (int u = 0; u <= f->layout.mask; u++) reg[u] = ws_frag_address(l, f, slot, u);
  for (int i = 0; i < v->n; i++) {
    int row = i / (v->nt * 2) * 16 + i % 2 * 8, unit = to->col0 / 8 + i / 2 % v->nt, low = unit & f->layout.mask;
    OP(l, "st_shared", reg[low], ws_lower_int(l, imm + ws_smem_unit(&f->layout, to->row0 + row, unit)), v->reg[i]);
  }
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
static struct tile constant(struct lower *l, struct ws_act *a) {
  const struct ws_mem *to = a->to;
  enum ws_type t = to->buffer->type;
  struct extent x = ws_extent(l, to->rows, to->cols, WS_L_ACC);
  struct tile v = {.mt = x.mt, .nt = x.nt, .n = t == WS_F32 ? x.n : (x.n + 1) / 2, .packed = t != WS_F32};
  unsigned word;
  if (!pattern(a->value->value, t, &word)) ws_error(l->diags, a->value->pos, "not-lowered", "this constant is not exact in %s", ws_type_name(t));
  const char *r = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mov_b32", r, ws_fmt(l->arena, "0x%08X", word));
  v.reg = WS_NEW_N(l->arena, const char *, v.n);
  for (int i = 0; i < v.n; i++) v.reg[i] = r;
  return v;
}

void ws_lower_write(struct lower *l, struct ws_act *a) {
  const struct ws_mem *to = a->to;
  if (to->space == WS_TMEM) {
    struct tile t = ws_lower_value(l, a->value);
    ws_lower_write_tmem(l, to, &t, a->opt.chunk);
    return;
  }
  unsigned bits = ws_type_bits(to->buffer->type);
  if (to->transposed && a->value->kind != WS_N_CONST && to->rows > 1 && to->cols > 1 && (bits == 16 || bits == 32) && to->buffer->layout.units) {
    struct tile t = ws_lower_value(l, a->value);
    ws_write_turned(l, to, &t);
    ws_lower_proxy_fence(l, to->buffer);
    return;
  }
  if ((to->transposed && a->value->kind != WS_N_CONST) || (bits != 16 && bits != 32) || (to->cols > 1 && (to->cols % 8 || !to->buffer->layout.units)) ||
      (to->cols == 1 && bits == 16) || (a->value->kind == WS_N_CONST && to->rows % (16 * l->prog->role->warps))) {
    ws_error(l->diags, a->src->pos, "not-lowered", "write: 16-bit and f32 tiles of accumulators and f32 row vectors are lowered for %s", l->s->target);
    return;
  }
  struct tile v = a->value->kind == WS_N_CONST ? constant(l, a) : ws_lower_value(l, a->value);
  if (v.lane)
    write_lanes(l, to, &v);
  else if (bits == 16)
    write_pairs16(l, to, &v);
  else
    write_f32(l, to, &v);
  ws_lower_proxy_fence(l, to->buffer);
}
