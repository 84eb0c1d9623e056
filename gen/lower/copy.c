/* Moves between global and shared memory by all threads of a role: who copies what, addresses, loads. store.c and write.c: from registers. */
#include "copy.h"
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
  const char **at = ws_ptx_temps(&l->px, WS_REG_B32, ws_fmt(l->arena, "%s_smem", m->name), (size_t)lay->mask + 1);
  OP(l, "copy_smem", at[0], m->row, ws_lower_int(l, lay->pitch));
  if (m->unit == 4) OP(l, "element_unit", at[0], unit, ws_lower_temp(l, WS_REG_B32));
  if (lay->panel_units && m->units > lay->panel_units) { /* a row goes on in the next panel */
    const char *panel = ws_lower_temp(l, WS_REG_B32), *wide = ws_lower_int(l, lay->panel_units);
    OP(l, "div_s32", panel, unit, wide);
    OP(l, "rem_s32", unit, unit, wide);
    OP(l, "mad_s32", at[0], panel, ws_lower_int(l, lay->panel_bytes), at[0]);
  }
  if (lay->mask) ws_lower_swizzle(l, lay, unit, m->row, ws_lower_temp(l, WS_REG_B32));
  OP(l, "add_unit", at[0], unit);
  m->smem[0] = at[0];
  for (int p = 1; p < m->passes && lay->mask; p++) {
    int x = (p * m->rows_pass >> lay->shift) & lay->mask;
    if (m->smem[x]) continue;
    m->smem[x] = at[x];
    OP(l, "xor_b32", at[x], at[0], ws_lower_int(l, x * 16));
  }
}

struct copy_map *ws_copy_kept(const struct lower *l, const struct ws_smem_layout *key, int rows, bool everywhere) {
  for (int i = 0; i < l->maps.n; i++) {
    struct copy_map *m = (struct copy_map *)l->maps.item[i];
    if (m->rows == rows && (m->life.everywhere || !everywhere) && !memcmp(&m->layout, key, sizeof *key)) return m;
  }
  return NULL;
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

struct copy_map *ws_copy_map(struct lower *l, const char *name, int rows, int cols, enum ws_type t, const struct ws_smem_layout *lay, bool fill,
                             bool everywhere, struct ws_pos pos) {
  return copy_map_by(l, 16, name, rows, cols, t, lay, fill, everywhere, pos);
}

static const char *param(struct lower *l, const struct ws_tensor *t, const char *what, const char *dim) {
  const char *r = dim ? ws_lower_named(l, WS_REG_B64, "%s_%s_%s", t->name, what, dim) : ws_lower_named(l, WS_REG_B64, "%s_%s", t->name, what);
  return r;
}

/* Bytes from one index of dim k to the next: a parameter, or known where the dim and all inside of it are numbers. */
const char *ws_lower_stride(struct lower *l, const struct ws_tensor *t, int k) {
  if (t->dim[k]) return param(l, t, "stride", t->dim[k]);
  long bytes = ws_type_bits(t->type) / 8;
  for (int i = k + 1; i < t->ndims; i++) bytes *= t->fixed[i]; /* supported.c: none of them is a run-time dim */
  const char *name = ws_fmt(l->arena, "%s_stride_%d", t->name, k), *r = ws_lower_named(l, WS_REG_B64, "%s", name);
  for (size_t i = 0; i < l->nstrides; i++)
    if (!strcmp(l->strides[i], name)) return r;
  *WS_PUSH(l->arena, l->strides, l->nstrides, l->strides_cap) = name;
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  ws_lower_comment(l, "bytes from row to row of %s", t->name);
  OP(l, "mov_b64", r, ws_lower_int(l, bytes));
  ws_lower_restore(l, old);
  return r;
}

/* The registers behind the indices of a tensor's outer dims. */
const char *ws_outer_index(const char *dim) {
  return !strcmp(dim, "batch") ? "%batch" : !strcmp(dim, "kv_heads") ? "%kv_head" : "%head";
}

/* base = data + outer offsets + (first row + r) * row stride + unit bytes, once a work tile. */
struct pointer *ws_copy_pointer(struct lower *l, const struct ws_mem *m, const struct copy_map *map) {
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
  const char *rows = ws_lower_stride(l, t, row), *wide = ws_lower_temp(l, WS_REG_B64);
  if (map->unit_bytes)
    OP(l, "pointer_base", p->base, param(l, t, "data", NULL), map->unit_bytes, wide);
  else
    OP(l, "mov_b64", p->base, param(l, t, "data", NULL));
  for (int k = 0; k < t->ndims; k++)
    if (k != row && k != t->col_dim && t->dim[k] && !m->coord[k])
      OP(l, "pointer_add", p->base, ws_outer_index(t->dim[k]), ws_lower_stride(l, t, k), ws_lower_temp(l, WS_REG_B64));
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
const char *ws_copy_rows_left(struct lower *l, const struct ws_mem *m, const char *thread_row) {
  if (ws_packed(l, m)) return ws_packed_rows_left(l, m, ws_packed_row(l, m, thread_row));
  const char *left = ws_lower_temp(l, WS_REG_B32), *first = ws_row_origin(l), *dim = m->tensor->dim[m->tensor->row_dim];
  if (!dim) { /* whole: all rows are there */
    OP(l, "mov_s32", left, ws_lower_int(l, m->tensor->fixed[m->tensor->row_dim]));
    OP(l, "sub_s32", left, left, thread_row);
    if (m->row0) OP(l, "add_s32", left, left, ws_lower_int(l, -m->row0));
    if (m->row_at) OP(l, "sub_s32", left, left, ws_uniform_int(l, m->row_at));
    return left;
  }
  if (m->block) OP(l, "mul_s32", first = ws_lower_temp(l, WS_REG_B32), ws_block_number(l, m->block), ws_lower_int(l, m->block_rows));
  OP(l, "rows_left", left, ws_lower_extent(l, dim), first, thread_row);
  if (m->row0) OP(l, "add_s32", left, left, ws_lower_int(l, -m->row0));
  if (m->row_at) OP(l, "sub_s32", left, left, ws_uniform_int(l, m->row_at));
  return left;
}

/* The thread's address in the first row of the tile, pass 0; in a packed tile that of the tile's row 0. */
static const char *tile_address(struct lower *l, const struct ws_mem *m, const struct pointer *p) {
  const char *a = ws_lower_temp(l, WS_REG_B64);
  if (m->block) {
    const char *j = ws_block_number(l, m->block), *steps = j;
    if (p->passes > 1) OP(l, "mul_s32", steps = ws_lower_temp(l, WS_REG_B32), j, ws_lower_int(l, p->passes));
    OP(l, "pointer_block", a, p->base, steps, p->block, ws_lower_temp(l, WS_REG_B64));
  } else
    OP(l, "mov_b64", a, p->base);
  long bytes = (long)ws_type_bits(m->tensor->type) / 8;
  bool packed = ws_packed(l, m);
  if (m->row0 && !packed) OP(l, "pointer_rows", a, ws_lower_int(l, m->row0), ws_lower_stride(l, m->tensor, m->tensor->row_dim));
  if (m->row_at && !packed) OP(l, "pointer_add", a, ws_uniform_int(l, m->row_at), ws_lower_stride(l, m->tensor, m->tensor->row_dim), ws_lower_temp(l, WS_REG_B64));
  for (int k = 0; k < m->tensor->ndims; k++)
    if (m->coord[k]) OP(l, "pointer_add", a, ws_uniform_int(l, m->coord[k]), ws_lower_stride(l, m->tensor, k), ws_lower_temp(l, WS_REG_B64));
  if (m->col0) OP(l, "add_s64", a, a, ws_lower_int(l, m->col0 * bytes));
  if (m->col_at) OP(l, "pointer_cols", a, ws_uniform_int(l, m->col_at), ws_lower_int(l, bytes), ws_lower_temp(l, WS_REG_B64));
  if (m->col_block) OP(l, "pointer_cols", a, ws_uniform_int(l, m->col_block), ws_lower_int(l, m->col_block_cols * bytes), ws_lower_temp(l, WS_REG_B64));
  return a;
}

struct row_walk ws_copy_walk(struct lower *l, const struct ws_mem *m, const struct pointer *p) {
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
const char *ws_copy_pass_guard(struct lower *l, const struct copy_map *map, int pass) {
  int last = map->rows - pass * map->rows_pass;
  if (last >= map->rows_pass) return map->idle;
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", "ge", p, map->row, ws_lower_int(l, last));
  if (map->idle) OP(l, "or_pred", p, p, map->idle);
  return p;
}

/* The padding of rows is filled with zeros, as loads do it. */
void ws_copy_fill(struct lower *l, const struct ws_mem *to, const char *word, struct ws_pos pos) {
  if (!part_is_plain(l, to)) return;
  enum ws_type t = to->buffer->type;
  struct copy_map *map = ws_copy_map(l, to->buffer->name, to->rows, to->cols, t, &to->buffer->layout, true, ws_lower_in_loop(l, NULL, to->buffer), pos);
  struct smem_side s = smem_side(l, to, map);
  const char *v = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mov_b32", v, word);
  if (map->whole < map->units) OP(l, "fill_padding", v, map->unit_bytes, ws_lower_int(l, map->whole * 16L), ws_lower_temp(l, WS_REG_PRED));
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = ws_copy_pass_guard(l, map, k);
    OP(l, "fill_unit", guard ? ws_fmt(l->arena, "@!%s ", guard) : "", reg, imm, v);
  }
}

/* `l2=...`: a policy for the L2 cache, made once a program. */
struct l2_hint ws_lower_l2(struct lower *l, const struct ws_act *a) {
  if (!a->opt.l2 || !strcmp(a->opt.l2, "evict_normal")) return (struct l2_hint){"", ""};
  const char **reg = &l->l2[strcmp(a->opt.l2, "evict_first") != 0];
  if (!*reg) {
    *reg = ws_lower_named(l, WS_REG_B64, "l2_%s", a->opt.l2);
    struct ws_buf *old = ws_lower_hoist(l, l->start);
    ws_lower_comment(l, "what loads ask of the L2 cache");
    OP(l, "l2_policy", *reg, a->opt.l2);
    ws_lower_restore(l, old);
  }
  return (struct l2_hint){".L2::cache_hint", ws_fmt(l->arena, ", %s", *reg)};
}

/* The first column of a tile whose columns end at run time. */
static const char *first_column(struct lower *l, const struct ws_mem *m) {
  const char *first = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mul_s32", first, m->col_block ? ws_uniform_int(l, m->col_block) : "0", ws_lower_int(l, m->col_block_cols));
  if (m->col0) OP(l, "add_s32", first, first, ws_lower_int(l, m->col0));
  return first;
}

/* Can the tile be copied in units of 16 bytes: do rows start at multiples of them, and is no unit cut by the end of its row? Strides
 * and extents say so at run time. */
static const char *aligned(struct lower *l, const struct ws_mem *m) {
  const struct ws_tensor *t = m->tensor;
  const char *bits = ws_lower_temp(l, WS_REG_B64), *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "aligned_start", bits, param(l, t, "data", NULL));
  for (int k = 0; k < t->ndims; k++)
    if (t->dim[k] && k != t->col_dim) OP(l, "aligned_stride", bits, param(l, t, "stride", t->dim[k]));
  OP(l, "aligned_columns", bits, ws_lower_extent(l, t->dim[t->col_dim]), first_column(l, m), ws_lower_int(l, m->cols), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B64));
  OP(l, "aligned", p, bits);
  return p;
}

/* A tile whose columns end somewhere, too, by units of 16 bytes or by single f32. */
static void load_columns(struct lower *l, struct ws_act *a, int unit) {
  const struct ws_mem *from = a->from, *to = a->to;
  struct copy_map *map = copy_map_by(l, unit, to->buffer->name, to->rows, to->cols, WS_F32, &to->buffer->layout, false, unit == 16, a->src->pos);
  struct pointer *p = ws_copy_pointer(l, from, map);
  const struct row_walk w = ws_copy_walk(l, from, p);
  const char *left = ws_copy_rows_left(l, from, map->row), *bytes = ws_lower_temp(l, WS_REG_B32), *first = first_column(l, from);
  const char *extent = ws_lower_extent(l, from->tensor->dim[from->tensor->col_dim]);
  if (unit == 4) OP(l, "columns_left", bytes, extent, first, map->unit_bytes, ws_lower_int(l, unit));
  else OP(l, "columns_inside", left, extent, first, map->unit_bytes, bytes, ws_lower_temp(l, WS_REG_PRED));
  struct smem_side s = smem_side(l, to, map);
  struct l2_hint l2 = ws_lower_l2(l, a);
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = ws_copy_pass_guard(l, map, k);
    const char *off = guard ? ws_fmt(l->arena, "@!%s ", guard) : "", *p1 = ws_lower_temp(l, WS_REG_PRED), *size = ws_lower_temp(l, WS_REG_B32), *row = ws_lower_int(l, k * map->rows_pass);
    if (unit == 4) OP(l, "cp_async_element", off, reg, imm, w.address, left, row, p1, size, bytes, l2.form, l2.policy);
    else OP(l, "cp_async_clipped", off, reg, imm, w.address, left, row, p1, size, l2.form, l2.policy);
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
  OP(l, "branch_unless", aligned(l, a->from), single);
  l->depth++; /* what this way needs is computed before the branches */
  load_columns(l, a, 16);
  l->depth--;
  OP(l, "branch", end);
  OP(l, "label", single);
  int maps = l->maps.n, pointers = l->pointers.n;
  l->known.node = NULL;
  l->votes++; /* rarely taken: in place, so that registers are left for what runs mostly */
  load_columns(l, a, 4);
  l->votes--;
  l->maps.n = maps, l->pointers.n = pointers;
  OP(l, "label", end);
  if (skip) OP(l, "label", skip);
}

/* A vector of f32 along the rows of a tensor: an element a thread. */
static void load_vector(struct lower *l, struct ws_act *a) {
  const struct ws_mem *from = a->from, *to = a->to;
  int n = from->rows, threads = l->prog->role->warps * 32;
  static const struct ws_smem_layout key = {.pitch = -4000};
  bool everywhere = ws_lower_in_loop(l, from->tensor, NULL);
  struct copy_map *map = ws_copy_kept(l, &key, 0, everywhere);
  if (!map) {
    map = WS_NEW(l->arena, struct copy_map);
    *map = (struct copy_map){.layout = key, .rows_pass = threads, .row = "%thread", .life.everywhere = everywhere};
    map->name = ws_lower_unique(l, "elements");
    ws_lower_keep(l, &l->maps, &map->life, l->prog->decl->pos);
  }
  struct pointer *p = ws_copy_pointer(l, from, map);
  const char *skip, *reg = ws_lower_temp(l, WS_REG_B32);
  if (!load_when(l, a, &skip)) return;
  long imm, step = to->cols == 1 ? to->buffer->layout.pitch : 4;
  const char *slot = ws_slot_base(l, to, &imm), *left = ws_copy_rows_left(l, from, "%thread");
  const struct row_walk w = ws_copy_walk(l, from, p);
  struct l2_hint l2 = ws_lower_l2(l, a);
  OP(l, "mad_s32", reg, "%thread", ws_lower_int(l, step), "%smem");
  if (*slot) OP(l, "add_s32", reg, reg, slot);
  imm += (long)to->row0 * to->buffer->layout.pitch + (to->cols == 1 ? 0 : to->col0 * step);
  for (int k = 0; k * threads < n; k++) {
    const char *guard = "";
    if (n - k * threads < threads) {
      const char *mine = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "compare_s32", "lt", mine, "%thread", ws_lower_int(l, n - k * threads));
      guard = ws_fmt(l->arena, "@%s ", mine);
    }
    OP(l, "cp_async_element", guard, reg, ws_lower_int(l, imm + k * threads * step), w.address, left, ws_lower_int(l, k * threads), ws_lower_temp(l, WS_REG_PRED),
       ws_lower_temp(l, WS_REG_B32), "4", l2.form, l2.policy);
    if ((k + 1) * threads < n) ws_walk_on(l, &w, k + 1);
  }
  if (skip) OP(l, "label", skip);
}

void ws_lower_load(struct lower *l, struct ws_act *a) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (from->cols == 1) {
    load_vector(l, a);
    return;
  }
  if (!part_is_plain(l, to)) return;
  if (from->tensor->col_dim >= 0 && from->tensor->dim[from->tensor->col_dim]) {
    load_run_time_columns(l, a);
    return;
  }
  struct copy_map *map = ws_copy_map(l, to->buffer->name, to->rows, to->cols, to->buffer->type, &to->buffer->layout, true, ws_lower_in_loop(l, from->tensor, to->buffer), a->src->pos);
  struct pointer *p = ws_copy_pointer(l, from, map);
  const char *skip;
  if (!load_when(l, a, &skip)) return;
  if (map->clip == map->row && whole_block(l, from)) ws_lower_note(l, "no row check: only the block at the end of %s can reach past it", from->tensor->name);
  const struct row_walk w = ws_copy_walk(l, from, p);
  const char *left = map->clip == map->row && whole_block(l, from) ? NULL : ws_copy_rows_left(l, from, map->clip);
  struct smem_side s = smem_side(l, to, map);
  struct l2_hint l2 = ws_lower_l2(l, a);
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = ws_copy_pass_guard(l, map, k);
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
void ws_copy_out(struct lower *l, struct ws_act *a, const char *move) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (!part_is_plain(l, from)) return;
  struct copy_map *map = ws_copy_map(l, from->buffer->name, from->rows, from->cols, from->buffer->type, &from->buffer->layout, false, ws_lower_in_loop(l, to->tensor, NULL), a->src->pos);
  struct pointer *p = ws_copy_pointer(l, to, map);
  const struct row_walk w = ws_copy_walk(l, to, p);
  const char *left = ws_copy_rows_left(l, to, map->row);
  struct smem_side s = smem_side(l, from, map);
  const char *v[4] = {ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32)};
  for (int k = 0; k < map->passes; k++) {
    const char *imm, *reg = smem_pass(l, &s, map, k, &imm), *guard = ws_copy_pass_guard(l, map, k), *in = ws_lower_temp(l, WS_REG_PRED);
    OP(l, "row_exists", in, left, ws_lower_int(l, k * map->rows_pass));
    if (guard) OP(l, "and_not_pred", in, in, guard);
    if (!strcmp(move, "red_unit16"))
      OP(l, move, from->buffer->type == WS_BF16 ? "bf16" : "f16", in, v[0], v[1], v[2], v[3], reg, imm, w.address);
    else
      OP(l, move, in, v[0], v[1], v[2], v[3], reg, imm, w.address);
    if (k + 1 < map->passes) ws_walk_on(l, &w, k + 1);
  }
}

/* Between tiles of shared memory. */
void ws_lower_copy(struct lower *l, struct ws_act *a) {
  const struct ws_mem *from = a->from, *to = a->to;
  if (from->transposed != to->transposed) {
    ws_copy_turned(l, from, to);
    ws_lower_proxy_fence(l, to->buffer);
    return;
  }
  if (!part_is_plain(l, from) || !part_is_plain(l, to)) return;
  bool loop = ws_lower_in_loop(l, NULL, from->buffer) || ws_lower_in_loop(l, NULL, to->buffer);
  bool whole = from->cols == from->buffer->cols && to->cols == to->buffer->cols && from->buffer->layout.units == to->buffer->layout.units; /* with the padding of rows */
  const struct copy_map *f = ws_copy_map(l, from->buffer->name, from->rows, from->cols, from->buffer->type, &from->buffer->layout, whole, loop, a->src->pos);
  const struct copy_map *t = ws_copy_map(l, to->buffer->name, to->rows, to->cols, to->buffer->type, &to->buffer->layout, whole, loop, a->src->pos);
  if (f->rows_pass != t->rows_pass) {
    ws_error(l->diags, a->src->pos, "not-lowered", "a copy between tiles whose rows lie in different ways: `%s` and `%s`", from->buffer->name, to->buffer->name);
    return;
  }
  struct smem_side x = smem_side(l, from, f), y = smem_side(l, to, t);
  const char *v[4] = {ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32)};
  for (int k = 0; k < f->passes; k++) {
    const char *here, *there, *source = smem_pass(l, &x, f, k, &here), *target = smem_pass(l, &y, t, k, &there), *guard = ws_copy_pass_guard(l, f, k);
    OP(l, "copy_unit", guard ? ws_fmt(l->arena, "@!%s ", guard) : "", v[0], v[1], v[2], v[3], source, here, target, there);
  }
  ws_lower_proxy_fence(l, to->buffer);
}
