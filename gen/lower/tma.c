/* Copies by TMA: one thread, boxes described by tensor maps that the runtime builds from the real strides (PTX ISA, "Tensors";
 * "cp.async.bulk.tensor"). A tile in shared memory is panels of `panel` bytes a row (struct ws_smem_layout), so a box is one
 * panel wide and up to 256 rows high; its coordinates are the tensor's dims, innermost first. Rows and columns outside of the
 * tensor arrive as zeros and are not stored. Where every 8 rows lie together with all their panels (order: rows8), one box is the
 * tile: {columns of a panel, 8 rows, panels, head, groups of 8 rows}. */
#include "lower.h"
#include <string.h>

enum { BOX_ROWS = 256 };

static int panel_columns(const struct ws_bufferm *b) { return (b->panel ? b->panel : b->layout.pitch) * 8 / (int)ws_type_bits(b->type); }

/* The dims of a map are the tensor's in their order. Where a tile has all heads of its queries they come behind the queries, so that
 * the rows of a box are in the order of a packed tile. */
static void dims_of(struct lower *l, struct tma_map *m, const struct ws_mem *g) {
  const struct ws_tensor *t = m->tensor;
  m->heads = -1, m->group = l->s->group;
  for (int k = 0; k < t->ndims; k++) {
    m->order[k] = k;
    if (ws_packed(l, g) && t->dim[k] && !strcmp(t->dim[k], "heads")) m->heads = k;
  }
  if (m->heads < 0) return;
  int k = m->heads;
  for (; m->order[k + 1] != t->col_dim; k++) m->order[k] = m->order[k + 1];
  m->order[k] = m->heads;
}

/* The tensor map for boxes of these rows and columns, and the register with its address. */
static const struct tma_map *map_of(struct lower *l, const struct ws_mem *g, const struct ws_bufferm *b, int rows, int cols) {
  const struct ws_tensor *t = g->tensor;
  struct tma_map *m = NULL;
  for (size_t i = 0; i < l->nmaps && !m; i++) {
    struct tma_map *x = l->tma_maps[i];
    if (x->tensor == t && x->rows == rows && x->cols == cols && x->swizzle == b->swizzle && x->groups == b->rows8) m = x;
  }
  if (!m) {
    m = *WS_PUSH(l->arena, l->tma_maps, l->nmaps, l->maps_cap) = WS_NEW(l->arena, struct tma_map);
    *m = (struct tma_map){.tensor = t, .rows = rows, .cols = cols, .swizzle = b->swizzle, .groups = b->rows8};
    m->name = ws_lower_unique(l, "%s_map", t->name);
    dims_of(l, m, g);
  }
  if (m->prog == l->prog) return m;
  m->prog = l->prog;
  m->address = ws_lower_named(l, WS_REG_B64, "%s", m->name);
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  ws_lower_comment(l, "tensor map of %s: boxes of %s of %d columns", t->name, m->heads < 0 ? ws_fmt(l->arena, "%d rows", rows) : ws_fmt(l->arena, "%d queries with %d heads each,", rows / m->group, m->group), cols);
  OP(l, "map_address", m->address, m->name);
  ws_lower_restore(l, old);
  return m;
}

/* The first row of the tile along the tensor's row dim. */
static const char *first_row(struct lower *l, const struct ws_mem *g) { return ws_tile_start(l, g); }

/* "c0, row, head, batch": what the box starts with in each dim of the map, innermost first. */
static const char *coordinates(struct lower *l, const struct tma_map *map, const struct ws_mem *g, const char *row, const char *col) {
  const struct ws_tensor *t = map->tensor;
  struct ws_buf b = {.arena = l->arena};
  for (int i = t->ndims - 1; i >= 0; i--) {
    int k = map->order[i];
    const char *c = k == t->row_dim ? row : k == t->col_dim ? col : g->coord[k] ? ws_uniform_int(l, g->coord[k]) : t->dim[k] ? ws_outer_index(t->dim[k]) : "0";
    ws_buf_printf(&b, "%s%s", b.n ? ", " : "", c);
  }
  return b.s;
}

/* The same of a map of groups: the outermost dim beside rows and columns, the batch, has no place. */
static const char *group_coordinates(struct lower *l, const struct tma_map *map, const struct ws_mem *g, const char *row) {
  const struct ws_tensor *t = map->tensor;
  const char *group = ws_lower_temp(l, WS_REG_B32), *other = "0";
  for (int k = 0; k < t->ndims; k++)
    if (k != t->row_dim && k != t->col_dim) other = g->coord[k] ? ws_uniform_int(l, g->coord[k]) : t->dim[k] ? ws_outer_index(t->dim[k]) : "0";
  OP(l, "div_s32", group, row, "8");
  return ws_fmt(l->arena, "0, 0, 0, %s, %s", other, group);
}

static const char *plus(struct lower *l, const char *a, long b) {
  if (!b) return a;
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, a, ws_lower_int(l, b));
  return d;
}

struct boxes {                   /* one copy: its boxes share registers */
  const struct tma_map *map;
  const struct ws_mem *g, *m;
  const char *smem, *row;        /* address of the tile's part; first row of the tensor */
  long imm;
  int rows, cols;                /* of a box */
};

/* Where the tile starts in shared memory: [register + immediate]. */
static const char *smem_address(struct lower *l, const struct ws_mem *m, long *imm) {
  const char *slot = ws_slot_base(l, m, imm), *d = "%smem";
  if (*slot) OP(l, "add_s32", d = ws_lower_temp(l, WS_REG_B32), "%smem", slot);
  return d;
}

static struct boxes boxes(struct lower *l, const struct ws_mem *g, const struct ws_mem *m) {
  struct boxes x = {.g = g, .m = m, .cols = panel_columns(m->buffer), .rows = m->rows};
  if (x.cols > m->cols || m->buffer->rows8) x.cols = m->cols;
  int pieces = (m->rows + BOX_ROWS - 1) / BOX_ROWS;
  int whole = ws_packed(l, g) ? l->s->group : 1; /* a box has all heads of its queries */
  if (m->buffer->rows8) pieces = 1; /* 8 rows in one dim of the box, at most 256 groups in another */
  while (!m->buffer->rows8 && (m->rows % pieces || m->rows / pieces > BOX_ROWS || m->rows / pieces % whole)) pieces++;
  x.rows = m->rows / pieces;
  x.map = map_of(l, g, m->buffer, x.rows, x.cols);
  x.smem = smem_address(l, m, &x.imm);
  x.row = first_row(l, g);
  return x;
}

/* Box number i of the copy: where it lies on both sides. */
static const char *box(struct lower *l, const struct boxes *x, int i, const char **at) {
  int across = x->m->cols / x->cols, row = i / across * x->rows, col = i % across * x->cols;
  const struct ws_bufferm *b = x->m->buffer;
  long unit = (long)(x->m->col0 + col) * ws_type_bits(b->type) / 128;
  struct ws_smem_layout lay = ws_mem_layout(x->m);
  *at = ws_lower_int(l, x->imm + ws_smem_unit(&lay, x->m->row0 + row, unit));
  if (x->map->groups) return group_coordinates(l, x->map, x->g, plus(l, x->row, row));
  const char *c0 = ws_lower_int(l, x->g->col0 + col);
  if (x->g->col_at) OP(l, "add_s32", c0 = ws_lower_temp(l, WS_REG_B32), ws_uniform_int(l, x->g->col_at), ws_lower_int(l, x->g->col0 + col));
  return coordinates(l, x->map, x->g, plus(l, x->row, ws_packed(l, x->g) ? row / l->s->group : row), c0);
}

static int box_count(const struct boxes *x) { return x->m->cols / x->cols * (x->m->rows / x->rows); }

void ws_lower_tma_load(struct lower *l, struct ws_act *a) {
  struct boxes x = boxes(l, a->from, a->to);
  const char *full_imm, *full = ws_lower_full(l, a, &full_imm), *dims = x.map->groups ? "5" : ws_lower_int(l, a->from->tensor->ndims), *mask = NULL;
  struct l2_hint l2 = ws_lower_l2(l, a);
  if (a->opt.multicast) {
    mask = ws_lower_named(l, WS_REG_B16, "both");
    OP(l, "mov_b16", mask, "3");
  }
  bool leader = a->pipe && a->pipe->full == WS_SCOPE_LEADER;
  if (leader) {
    const char *there = ws_lower_temp(l, WS_REG_B32);
    OP(l, "leader_barrier", there, full, full_imm);
    full = there;
  }
  for (int i = 0; i < box_count(&x); i++) {
    const char *at, *where = box(l, &x, i, &at);
    if (leader)
      OP(l, "tma_load_leader", dims, x.smem, at, x.map->address, where, full, l2.form, l2.policy);
    else if (mask)
      OP(l, "tma_load_multicast", dims, x.smem, at, x.map->address, where, full, full_imm, mask, l2.form, l2.policy);
    else
      OP(l, "tma_load", dims, x.smem, at, x.map->address, where, full, full_imm, l2.form, l2.policy);
  }
}

void ws_lower_tma_store(struct lower *l, struct ws_act *a) {
  struct boxes x = boxes(l, a->to, a->from);
  const char *dims = ws_lower_int(l, a->to->tensor->ndims);
  for (int i = 0; i < box_count(&x); i++) {
    const char *at, *where = box(l, &x, i, &at);
    OP(l, a->kind == WS_S_REDUCE ? "tma_add" : "tma_store", dims, x.map->address, where, x.smem, at);
  }
  WS_OP0(&l->px, "bulk_commit");
}

/* Does anything read this buffer through the async proxy: a product of wgmma or tcgen05, or a store by TMA? */
struct reader {
  const struct ws_bufferm *buffer;
  bool found;
};

static void reads_async(void *ctx, struct ws_act *a) {
  struct reader *r = ctx;
  if (a->kind == WS_S_PRODUCT && (a->by == WS_BY_WGMMA || a->by == WS_BY_TCGEN05)) r->found |= (a->a_mem && a->a_mem->buffer == r->buffer) || a->b_mem->buffer == r->buffer;
  if ((a->kind == WS_S_STORE || a->kind == WS_S_REDUCE) && a->by == WS_BY_BULK) r->found |= a->from->buffer == r->buffer;
}

/* The same for a tensor that threads write, and that TMA loads or adds to. */
struct toucher {
  const struct ws_tensor *tensor;
  bool found;
};

static void touches_async(void *ctx, struct ws_act *a) {
  struct toucher *r = ctx;
  r->found |= (a->kind == WS_S_REDUCE && a->by == WS_BY_BULK && a->to->tensor == r->tensor) || (a->kind == WS_S_LOAD && a->by == WS_BY_TMA && a->from->tensor == r->tensor);
}

void ws_lower_tensor_fence(struct lower *l, const struct ws_tensor *t) {
  struct toucher r = {.tensor = t};
  for (int i = 0; i < l->s->nprograms; i++) ws_each_act(l->s->programs[i].body, touches_async, &r);
  if (!r.found) return;
  ws_lower_note(l, "%s is touched by the async proxy, too: what was written is handed over", t->name);
  WS_OP0(&l->px, "fence_async_global");
}

void ws_lower_proxy_fence(struct lower *l, const struct ws_bufferm *b) {
  struct reader r = {.buffer = b};
  for (int i = 0; i < l->s->nprograms; i++) ws_each_act(l->s->programs[i].body, reads_async, &r);
  if (!r.found || ws_fence_stated(l, WS_FENCE_ASYNC)) return;
  ws_lower_note(l, "%s is read by the async proxy: what was written is handed over", b->name);
  WS_OP0(&l->px, "fence_async");
}
