/* What the language says and this lowering does not do yet: every declaration, statement and expression of that kind, all in
 * one run, each at its place. What passes here is lowered by the rest of the folder without a second look, except for limits
 * that only show while registers and addresses are laid out. */
#include "lower.h"
#include <string.h>

struct scan {
  struct ws_schedule *s;
  const struct ws_programm *p;
};

static void refuse(struct scan *c, struct ws_pos pos, const char *what) {
  ws_error(c->s->diags, pos, "not-lowered", "%s: not lowered for %s", what, c->s->target);
}

/* --- expressions --- */

/* Columns of a register tile that are whole registers. */
static const char *part_reason(const struct ws_part *p, int extent, int cols, enum ws_layout lay, enum ws_type t) {
  int first = ws_part_first(p, extent), unit = lay == WS_L_LANE ? ws_type_bits(t) == 16 ? 2 : 1 : 8;
  if (!p->cols) return "rows of a register tile";
  return first % unit || cols % unit ? "a part of a register tile that starts or ends inside of a register" : NULL;
}

static const char *column_reason(const struct ws_programm *p, const struct ws_node *a) {
  if (a->rows == 1) return "a reduction of what has one value a column already";
  if (a->layout == WS_L_LANE) return "a reduction along columns of layout `lane`, whose rows lie in different threads";
  return p->role->warps > 1 ? "a reduction along columns whose rows are split over several warps (one warp, or `write`, `sync` and `read`)" : NULL;
}

static const char *node_reason(const struct ws_programm *p, const struct ws_node *x) {
  switch (x->kind) {
  case WS_N_PART: return part_reason(&x->part, x->arg[0]->cols, x->cols, x->layout, x->type);
  case WS_N_COORD: return strcmp(x->name, "split") ? NULL : "a split of the keys";
  case WS_N_QUERY: return "a function of the work tile";
  case WS_N_OP:
    if (x->type == WS_F16 && x->fn != WS_F_CAST && x->layout != WS_L_LANE) return "arithmetic in f16 outside of layout `lane`";
    if (x->fn != WS_F_CAST) return NULL;
    if (ws_type_bits(x->arg[0]->type) < 32) return ws_type_bits(x->arg[0]->type) == 16 && x->type == WS_F32 ? NULL : "a cast from one narrow type to another";
    return x->type == WS_F32 || x->type == WS_F16 || x->type == WS_BF16 ? NULL : "a cast to this type";
  case WS_N_REDUCE:
    if (x->type == WS_F16 && x->layout != WS_L_LANE) return "a reduction in f16 outside of layout `lane`";
    if (x->fn >= WS_F_ROWMAX && x->fn <= WS_F_ROWPART && x->arg[0]->cols == 1) return "a reduction of what has one value a row already";
    return x->fn == WS_F_COLMAX || x->fn == WS_F_COLSUM ? column_reason(p, x->arg[0]) : NULL;
  default: return NULL;
  }
}

static void check_mem(struct scan *c, const struct ws_mem *m);

static bool rows8(const struct ws_mem *m) { return m && m->space == WS_SMEM && m->buffer->rows8; }

static void check_node(struct scan *c, const struct ws_node *x) {
  if (!x) return;
  const char *why = node_reason(c->p, x);
  if (why) refuse(c, x->pos, why);
  if (rows8(x->mem)) refuse(c, x->pos, "reading rows of `order: rows8`, which are for TMA and products");
  check_mem(c, x->mem);
  check_mem(c, x->mem2);
  for (int i = 0; i < x->n; i++) check_node(c, x->arg[i]);
}

/* A packed tile has the queries of several heads, which only a tensor of queries tells apart. */
static const char *packed_reason(const struct ws_schedule *s, const struct ws_mem *m) {
  const struct ws_tensor *t = m->tensor;
  if (!s->group || !t) return NULL;
  bool queries = t->row_dim >= 0 && t->dim[t->row_dim] && !strcmp(t->dim[t->row_dim], s->problem->work_dim), heads = false;
  for (int k = 0; k < t->ndims; k++) {
    heads |= t->dim[k] && !strcmp(t->dim[k], "heads");
    if (t->dim[k] && !strcmp(t->dim[k], "packed")) return "a tensor with a dim `packed`: its rows are those of heads and queries";
  }
  return heads && !queries ? "a value of each head, or keys of each head, in a tile that has several heads (`pack: gqa`)" : NULL;
}

/* The same by TMA: its boxes are some queries and all heads of each. */
static const char *packed_box(const struct ws_schedule *s, const struct ws_mem *m) {
  bool heads = false;
  if (!s->group || !m || !m->tensor || m->block || packed_reason(s, m)) return NULL;
  for (int k = 0; k < m->tensor->ndims; k++) heads |= m->tensor->dim[k] && !strcmp(m->tensor->dim[k], "heads");
  if (!heads) return "a packed tile by TMA of a tensor that has no heads";
  return m->rows % s->group || m->row0 % s->group ? ws_fmt(s->arena, "a part by TMA that has not all %d heads of each query: parts of a multiple of %d rows", s->group, s->group) : NULL;
}

/* Rows by eights come by one box of five dims, and products alone read them. */
static const char *rows8_reason(const struct ws_schedule *s, const struct ws_act *a, const struct ws_mem *m) {
  if (!rows8(m) || (a->kind == WS_S_PRODUCT && (a->by == WS_BY_TCGEN05 || a->by == WS_BY_WGMMA))) return m && m->handle && rows8(m) && m->handle->cols != m->buffer->cols ? "a slot of `order: rows8` with other columns" : NULL;
  if (a->kind != WS_S_LOAD || a->by != WS_BY_TMA) return "`order: rows8` of what is neither loaded by TMA nor multiplied";
  const struct ws_tensor *t = a->from->tensor;
  bool whole = m->cols == m->buffer->cols && t->fixed[t->col_dim] == m->cols && !a->from->col_at && !m->row_at;
  if (!whole || m->rows % 8 || m->rows > 2048) return "a load by TMA into `order: rows8` of a part: whole rows of the tensor, 8 to 2048 of them";
  return t->ndims < 3 || t->ndims > 4 || s->group ? "a load into `order: rows8` of this tensor: rows, columns, a head, and a batch of one" : NULL;
}

static void check_mem(struct scan *c, const struct ws_mem *m) {
  if (!m) return;
  bool lost = false; /* a stride that nothing says */
  for (int k = 0; m->tensor && k < m->tensor->ndims; k++)
    if (m->coord[k] && !m->tensor->dim[k])
      for (int i = k + 1; i < m->tensor->ndims; i++) lost |= m->tensor->dim[i] != NULL;
  for (int k = 0; k < WS_MAX_DIMS; k++) check_node(c, m->coord[k]);
  if (m->col_at && m->space != WS_GLOBAL) refuse(c, m->pos, "columns of shared memory that depend on the instance");
  if (m->peer) refuse(c, m->pos, "shared memory of the other CTA");
  if (m->space == WS_TMEM && (m->rows != 128 || m->row0 || m->row_at)) refuse(c, m->pos, "a part of the lanes of tensor memory");
  if (m->space == WS_TMEM && !ws_tmem_even(m->buffer)) refuse(c, m->pos, "a buffer in tensor memory whose elements or stages are not evenly spaced");
  if (m->space == WS_TMEM && (long)m->col0 * ws_type_bits(m->buffer->type) % 32) refuse(c, m->pos, "a part of tensor memory that starts inside of a column");
  if (lost) refuse(c, m->pos, "a coordinate along a dim that is a number, outside of dims that are not");
  if (m->space == WS_SMEM && (m->row0 % 8 || (m->col0 && (m->col0 % 8 || m->cols % 8)))) refuse(c, m->pos, "a part that starts inside of 8 rows or 8 columns");
  const char *packed = packed_reason(c->s, m);
  if (packed) refuse(c, m->pos, packed);
  if (m->space == WS_GLOBAL && m->col0 % 8) refuse(c, m->pos, "a part that starts inside of 8 columns");
  check_node(c, m->block);
  check_node(c, m->col_block);
}

/* --- blocks further on in a list have to be there --- */

struct sure {                    /* what encloses a statement: these blocks exist */
  const struct ws_iter *iter;
  int offset;
  const struct sure *outer;
};

static bool is_sure(const struct sure *s, const struct ws_node *b) {
  if (b->count == 0) return true;
  for (; s; s = s->outer)
    if (s->iter == b->iter && (b->count > 0 ? s->offset >= b->count : s->offset <= b->count)) return true;
  return false;
}

static void check_next(struct scan *c, const struct ws_acts *acts, const struct sure *sure);

/* The arm whose condition is `x` and ... is taken: what does that say? */
static void check_arm(struct scan *c, const struct ws_node *x, const struct ws_acts *body, const struct sure *sure) {
  const struct ws_node *n = x && x->kind == WS_N_OP && x->fn == WS_F_NOT ? x->arg[0] : NULL;
  struct sure here = {.outer = sure};
  if (x && x->kind == WS_N_OP && x->fn == WS_F_AND) {
    /* either side alone is enough for each block */
    const struct ws_node *l = x->arg[0], *r = x->arg[1];
    if (l->kind == WS_N_HAS_NEXT) here.iter = l->iter, here.offset = l->count;
    return check_arm(c, r, body, here.iter ? &here : sure);
  }
  if (x && x->kind == WS_N_HAS_NEXT) here.iter = x->iter, here.offset = x->count;
  if (n && n->kind == WS_N_IS_FIRST) here.iter = n->iter, here.offset = -1;
  if (n && n->kind == WS_N_IS_LAST) here.iter = n->iter, here.offset = 1;
  check_next(c, body, here.iter ? &here : sure);
}

static void check_next(struct scan *c, const struct ws_acts *acts, const struct sure *sure) {
  for (size_t i = 0; i < acts->n; i++) {
    const struct ws_act *a = &acts->act[i];
    const struct ws_node *b = a->kind == WS_S_LOAD && !a->when ? a->from->block : NULL;
    if (b && b->kind == WS_N_NEXT && !is_sure(sure, b))
      ws_error(c->s->diags, b->pos, "unguarded", "the list may end before this block: %s",
               a->by == WS_BY_CP_ASYNC ? ws_fmt(c->s->arena, "`when has_next(%s, %d)`", b->iter->name, b->count)
               : b->count < 0 ? ws_fmt(c->s->arena, "`if not first(%s):` around it", b->iter->name) : ws_fmt(c->s->arena, "`if has_next(%s, %d):` around it", b->iter->name, b->count));
    struct sure here = {.iter = a->iter, .offset = -1, .outer = sure};
    if (a->body) check_next(c, a->body, a->kind == WS_S_FOR && a->iter->part == WS_REST ? &here : sure);
    for (int k = 0; k < a->narms; k++) check_arm(c, a->arms[k].cond, a->arms[k].body, sure);
  }
}

static bool turns(const struct ws_act *a) { return a->from && a->from->transposed != a->to->transposed; }

/* 16-byte units need whole ones. */
static bool split_units(const struct ws_act *a) {
  if (a->kind == WS_S_COPY && turns(a)) return false;
  if (a->kind == WS_S_STORE && a->from && turns(a)) return false;
  if (a->kind == WS_S_COPY) return (long)a->from->cols * ws_type_bits(a->from->buffer->type) % 128;
  if (a->kind != WS_S_LOAD && ((a->kind != WS_S_STORE && a->kind != WS_S_REDUCE) || !a->from)) return false;
  const struct ws_mem *g = a->kind == WS_S_LOAD ? a->from : a->to;
  if (a->kind == WS_S_LOAD && a->by == WS_BY_CP_ASYNC && g->cols == 1) return false; /* a vector, by elements */
  if (!g->tensor) return false; /* from the other CTA's shared memory: bulk copies */
  return (long)g->cols * ws_type_bits(g->tensor->type) % 128 || (long)g->col0 * ws_type_bits(g->tensor->type) % 128;
}

/* mma contracts 16 elements a step. A whole buffer is padded with zeros to that, a part of one has its neighbours behind it. */
static bool half_step(const struct ws_mem *m, bool along_rows) {
  if (!m || !m->buffer) return false;
  int n = along_rows ? m->rows : m->cols, first = along_rows ? m->row0 : m->col0, all = along_rows ? m->buffer->rows : m->buffer->cols;
  return n != all && first % 8 == 0 && (n % 16 || first % 16);
}

static bool half_step_registers(const struct ws_node *x) {
  if (x->kind == WS_N_PART) return x->cols % 16 || (!x->part.of && x->part.first % 16);
  return x->kind == WS_N_OP && x->n && half_step_registers(x->arg[0]);
}

/* --- statements --- */

static bool reachable(enum ws_barrier_scope s) { return s != WS_SCOPE_PEER; }

static const char *ring_reason(const struct ws_schedule *s, const struct ws_act *a) {
  if (s->arch >= 90) {
    if (a->barrier) return a->barrier->named || reachable(a->barrier->scope) ? NULL : "a barrier of this scope";
    return reachable(a->pipe->full) && reachable(a->pipe->empty) ? NULL : "a ring of this scope";
  }
  if (a->barrier) return a->barrier->named || reachable(a->barrier->scope) ? NULL : "a barrier of this scope";
  if (a->pipe->full != WS_SCOPE_CTA || a->pipe->empty != WS_SCOPE_CTA) return "a ring of this scope: clusters exist from sm_90 on";
  return a->pipe->by == WS_BY_TMA ? "a pipeline filled by TMA, which exists from sm_90 on" : NULL;
}

/* wgmma reads swizzled panels, and has 64 rows for each warpgroup. */
static const char *wgmma_reason(const struct ws_schedule *s, const struct ws_programm *p, const struct ws_act *a) {
  const struct ws_mem *m[] = {a->a_mem, a->b_mem};
  (void)s;
  for (int i = 0; i < 2; i++) {
    if (m[i] && !m[i]->buffer->panel) return "a wgmma operand whose rows are no panels of 32, 64 or 128 bytes";
    if (m[i] && ws_type_bits(m[i]->buffer->type) != 16) return "wgmma of this type";
  }
  if (a->dst->rows != 16 * p->role->warps) return "more than 64 rows of a product for each warpgroup";
  if (a->opt.descriptors_all) return "`descriptors`";
  return NULL;
}

/* Descriptors built in front of a one-thread block need operands whose place is known there. */
static const char *ahead_reason(const struct ws_programm *p, const struct ws_act *a) {
  if (!a->opt.descriptors_all) return NULL;
  if (p->role->one_thread) return "`descriptors=all` in a role of one thread";
  bool moves = (a->a_mem->handle && a->a_mem->space == WS_SMEM && a->a_mem->buffer->stages > 1) || (a->b_mem->handle && a->b_mem->buffer->stages > 1);
  return moves ? "`descriptors=all` of a slot of a ring" : NULL;
}

/* Does a tile in tensor memory start at a multiple of so many columns, whichever element it is? */
static bool starts_at(const struct ws_mem *m, int unit) {
  const struct ws_bufferm *b = m->buffer;
  for (int i = 0; i < b->count * b->stages; i++)
    if ((b->column[i] + (long)m->col0 * ws_type_bits(b->type) / 32) % unit) return false;
  return true;
}

static const char *tcgen05_reason(const struct ws_programm *p, const struct ws_act *a) {
  const struct ws_mem *m[] = {a->a_mem, a->b_mem};
  if (!a->a_mem) return "a left operand of tcgen05 in registers";
  for (int i = 0; i < 2; i++) {
    if (m[i]->space == WS_SMEM && !m[i]->buffer->panel) return "an operand of tcgen05 whose rows are no panels of 32, 64 or 128 bytes";
    if (ws_type_bits(m[i]->buffer->type) != 16) return "tcgen05 of this type";
  }
  if (a->a_mem->transposed && a->a_mem->space == WS_TMEM) return "a transposed left operand in tensor memory";
  if (a->to->rows != 128 || a->to->buffer->type != WS_F32) return "an accumulator in tensor memory that is not 128 rows of f32";
  if (!starts_at(a->to, 2)) return "an accumulator in tensor memory that starts at an odd column";
  if (a->a_mem->space == WS_TMEM && !starts_at(a->a_mem, 4)) return "a left operand in tensor memory that starts at no multiple of 4 columns";
  return ahead_reason(p, a);
}

/* Columns that are a run-time extent. */
static bool ends_anywhere(const struct ws_mem *m) { return m->tensor && m->tensor->col_dim >= 0 && m->tensor->dim[m->tensor->col_dim]; }

static bool column_vector(const struct ws_node *x) { return x && x->rows == 1 && x->cols > 1; }

/* PTX ISA, red: f32 everywhere, f16 from sm_70 on, bf16 from sm_90 on. */
static const char *reduce_reason(const struct ws_schedule *s, const struct ws_act *a) {
  enum ws_type t = a->to->tensor->type;
  if ((a->to->transposed && !column_vector(a->value)) || (a->from && a->from->transposed)) return "a transposing reduction";
  if (ends_anywhere(a->to)) return "a reduction of rows that end anywhere";
  if (a->value && (a->value->kind == WS_N_CONST || a->value->layout == WS_L_LANE)) return "a reduction of this value";
  if (t == WS_BF16 && s->arch < 90) return "a reduction of bf16, which memory adds from sm_90 on";
  return t == WS_F32 || t == WS_F16 || t == WS_BF16 ? NULL : "a reduction of this type";
}

static const char *copy_reason(const struct ws_act *a) {
  unsigned bits = ws_type_bits(a->from->buffer->type);
  if (!turns(a) || bits == 8) return NULL;
  if (!a->from->buffer->layout.units || !a->to->buffer->layout.units) return "a transposing copy of rows that are no multiple of 16 bytes";
  return bits == 16 && (a->from->rows % 16 || a->from->cols % 16) ? "a transposing copy of 16-bit tiles that are no multiples of 16 rows and columns" : NULL;
}

/* A tile that is turned on its way from registers: every warp has whole rows of it. */
static const char *move_reason(const struct scan *c, const struct ws_act *a) {
  if (!a->to->transposed && !(a->from && a->from->transposed)) return NULL;
  int rows = a->from ? a->from->cols : a->to->cols, cols = a->from ? a->from->rows : a->to->rows;
  if (a->from && a->from->transposed == a->to->transposed) return "a store of a tile that is transposed on both sides";
  if (rows == 1 || cols == 1) return a->from ? "a transposing store of a vector from shared memory" : a->kind == WS_S_STORE && cols == 1 ? "a store of a row vector into a row of a tensor" : NULL;
  if (a->value && a->value->layout == WS_L_LANE) return "a transposing store of layout `lane`";
  if (rows % (16 * c->p->role->warps) || cols % 8) return "a transposing store whose rows do not split over the warps in tiles of 16";
  return a->from && cols % 16 ? "a transposing store of columns that are no multiple of 16" : NULL;
}

static const char *act_reason(const struct scan *c, const struct ws_act *a) {
  const struct ws_schedule *sc = c->s;
  bool hopper = sc->arch >= 90;
  switch (a->kind) {
  case WS_S_ACQUIRE: case WS_S_COMMIT: case WS_S_RELEASE: case WS_S_WAIT: return ring_reason(sc, a);
  case WS_S_ARRIVE: return a->barrier ? ring_reason(sc, a) : a->single ? NULL : "an arrival of many threads at a counter (one arrives: `one thread:`)";
  case WS_S_WAIT_EQ: return NULL;
  case WS_S_WAIT_PHASE: case WS_S_INIT: case WS_S_INVAL: return ring_reason(sc, a);
  case WS_S_ARRIVE_EXPECT: return !hopper ? "`expect`: mbarriers count bytes from sm_90 on" : a->barrier->scope != WS_SCOPE_CTA ? "`expect` at the barrier of another CTA" : NULL;
  case WS_S_FENCE: return ws_fence_reason(sc, a);
  case WS_S_ONE_THREAD: return NULL;
  case WS_S_AWAIT: return hopper ? NULL : "`await`: the products of mma.sync are done when the next instruction starts";
  case WS_S_COPY: return copy_reason(a);
  case WS_S_REDUCE: return reduce_reason(sc, a);
  case WS_S_ASSIGN2: return a->dst->cols % 2 || !starts_at(a->value->mem, 2) ? "tcgen05.ld.red of columns that are no pairs" : NULL;
  case WS_S_ASSIGN: return a->handle || !a->dst_part.given ? NULL : part_reason(&a->dst_part, a->dst->cols, ws_part_cols(&a->dst_part, a->dst->cols), a->dst->layout, a->dst->type);
  case WS_S_PRODUCT:
    if (a->by == WS_BY_WGMMA) return wgmma_reason(sc, c->p, a);
    if (a->by == WS_BY_TCGEN05) return tcgen05_reason(c->p, a);
    return a->a_mem && a->a_mem->transposed && a->a_mem->rows % 16 ? "a transposed left operand whose rows are no multiple of 16" : NULL;
  case WS_S_LOAD:
    if (a->from->space != WS_GLOBAL) return "a copy into the other CTA";
    if (a->by == WS_BY_CP_ASYNC && ends_anywhere(a->from) && a->from->tensor->type != WS_F32) return "a load of 16-bit rows that end anywhere: cp.async moves 4 bytes at least";
    if (a->from->cols == 1 && a->from->rows > 1) return a->by == WS_BY_TMA ? "a vector by TMA" : a->from->tensor->type != WS_F32 ? "a vector of 16 bits by cp.async, which moves 4 bytes at least" : NULL;
    return a->from->transposed != a->to->transposed ? "a load of a row as a column" : NULL;
  case WS_S_STORE: case WS_S_WRITE:
    if (a->kind == WS_S_STORE && ends_anywhere(a->to)) return "a store of rows that end anywhere";
    return move_reason(c, a);
  default: return NULL;
  }
}

/* Does the statement read or write tensor memory? */
static bool tmem(const struct ws_act *a) { return (a->to && a->to->space == WS_TMEM) || (a->value && ws_reads_tmem(a->value)); }

/* Columns that an instruction moves between shared or global memory and an accumulator: two a lane, or an operand of 16. */
static int columns_moved(const struct ws_act *a) {
  const struct ws_node *x = a->kind == WS_S_ASSIGN ? a->value : NULL;
  return x && x->kind == WS_N_READ && x->layout == WS_L_A ? 16 : 8;
}

static const char *option_reason(const struct scan *c, const struct ws_act *a) {
  if (a->opt.pack && (!a->value || a->value->layout != WS_L_LANE)) return "`pack=f32x2` where a thread does not have a whole row (layout `lane`)";
  if (!a->opt.chunk || tmem(a) || a->opt.chunk == columns_moved(a)) return NULL;
  return ws_fmt(c->s->arena, "`chunk=%d` where an instruction moves %d columns", a->opt.chunk, columns_moved(a));
}

/* Registers go to memory from accumulators. */
static void check_layout(struct scan *c, const struct ws_act *a) {
  if ((a->kind != WS_S_STORE && a->kind != WS_S_WRITE && a->kind != WS_S_REDUCE) || !a->value || a->value->kind == WS_N_CONST) return;
  enum ws_layout l = a->value->layout;
  if (a->kind == WS_S_STORE && a->to->tensor->coords && a->value->rows == 1 && a->value->cols == 1) return; /* an element of a table */
  if (column_vector(a->value) && l == WS_L_LANE) refuse(c, a->value->pos, "moving a column vector of layout `lane` to memory");
  if (a->kind == WS_S_WRITE && a->to->space == WS_SMEM && a->value->cols == 1 && a->value->rows > 1 && a->value->type != WS_F32 && l == WS_L_LANE)
    refuse(c, a->value->pos, "writing a row vector of 16 bits in layout `lane`");
  if (l != WS_L_ACC && l != WS_L_COPY && l != WS_L_LANE) refuse(c, a->value->pos, ws_fmt(c->s->arena, "moving layout `%s` to memory", ws_layout_name(l)));
}

static void check_act(void *ctx, struct ws_act *a) {
  struct scan *c = ctx;
  const char *why = act_reason(c, a), *option = option_reason(c, a);
  if (why) refuse(c, a->src->pos, why);
  if (option) refuse(c, a->src->pos, option);
  if (!why && split_units(a)) refuse(c, a->src->pos, "a copy of rows that are no whole units of 16 bytes");
  if (a->kind == WS_S_PRODUCT && half_step(a->a_mem, a->a_mem && a->a_mem->transposed)) refuse(c, a->a_mem->pos, "a product over a part that is no multiple of 16");
  if (a->kind == WS_S_PRODUCT && a->b_mem && half_step(a->b_mem, !a->b_mem->transposed))
    refuse(c, a->b_mem->pos, "a product over a part that is no multiple of 16");
  if (a->kind == WS_S_PRODUCT && a->a && half_step_registers(a->a)) refuse(c, a->a->pos, "a product over a part that is no multiple of 16");
  const char *box = a->kind == WS_S_LOAD && a->by == WS_BY_TMA ? packed_box(c->s, a->from) : a->kind == WS_S_STORE && a->by == WS_BY_BULK ? packed_box(c->s, a->to) : NULL;
  if (box) refuse(c, a->src->pos, box);
  if (a->kind == WS_S_STORE && a->to && a->to->tensor && ws_type_bits(a->to->tensor->type) == 8) refuse(c, a->src->pos, "a store of 8-bit elements");
  if (!why) check_layout(c, a);
  check_node(c, a->value);
  check_node(c, a->a);
  check_node(c, a->when);
  const struct ws_mem *mem[] = {a->from, a->to, a->a_mem, a->b_mem};
  for (size_t i = 0; i < 4; i++) {
    const char *order = rows8_reason(c->s, a, mem[i]);
    if (order) refuse(c, a->src->pos, order);
    check_mem(c, mem[i]);
  }
  for (int i = 0; i < a->narms; i++) check_node(c, a->arms[i].cond);
}

/* --- declarations --- */

static void check_roles(struct scan *c) {
  for (int i = 0; i < c->s->nroles; i++) {
    const struct ws_rolem *r = &c->s->roles[i];
    if (c->s->arch >= 90) continue;
    if (r->registers) refuse(c, r->decl->registers->pos, "`registers`, which setmaxnreg sets from sm_90 on");
  }
}

static void check_buffers(struct scan *c) {
  for (int i = 0; i < c->s->nbuffers; i++) {
    const struct ws_bufferm *b = &c->s->buffers[i];
    if (b->acc8) refuse(c, b->decl->order->pos, "`order: acc8`");
    if (ws_type_bits(b->type) == 8) refuse(c, b->decl->type->pos, "8-bit elements");
  }
}

/* What nothing decides (layout `copy`) lies as an accumulator does, where it has the shape of one. */
static void check_vars(struct scan *c) {
  for (size_t i = 0; i < c->p->nvars; i++) {
    const struct ws_var *v = c->p->vars[i];
    bool fits = (v->rows == 1 || v->rows % (16 * c->p->role->warps) == 0) && (v->cols == 1 || v->cols % 8 == 0);
    bool lanes = v->rows == 1 || v->rows == 32 * c->p->role->warps;
    if ((v->layout == WS_L_LANE && !lanes) || (v->layout == WS_L_COPY && !fits))
      refuse(c, v->pos, ws_fmt(c->s->arena, "`%s` [%d, %d] in layout `%s`, which has not the shape of %s", v->name, v->rows, v->cols, ws_layout_name(v->layout), v->layout == WS_L_LANE ? "a row for each thread" : "accumulators"));
  }
}

static void check_problem(struct scan *c) {
  if (c->s->group && ws_schedule_block(c->s, c->s->problem->work_dim))
    refuse(c, c->s->doc->work.pos.line ? c->s->doc->work.pos : c->s->doc->pos, ws_fmt(c->s->arena, "blocks of %s in a packed tile", c->s->problem->work_dim));
  if (strcmp(c->s->problem->name, "attention.forward")) refuse(c, c->s->doc->problem_pos, ws_fmt(c->s->arena, "problem `%s`", c->s->problem->name));
}

bool ws_lower_supports(struct ws_schedule *s) {
  struct scan c = {.s = s};
  size_t before = s->diags->errors;
  check_problem(&c);
  if (!strcmp(s->name, "_")) ws_error(s->diags, s->doc->schedule_pos, "name", "`_` is no name for a kernel in PTX");
  check_roles(&c);
  check_buffers(&c);
  for (int i = 0; i < s->nprograms; i++) {
    c.p = &s->programs[i];
    ws_each_act(s->programs[i].body, check_act, &c);
    check_next(&c, s->programs[i].body, NULL);
    check_vars(&c);
  }
  return s->diags->errors == before;
}
