/* Blackwell's tensor memory: 128 lanes x 512 columns of 32 bits for a CTA, address = lane << 16 | column (PTX ISA, "Tensor
 * Memory"). Row r of a tile is lane r. Element e of a row is column e, two of 16 bits in one column.
 *
 * Products (tcgen05.mma) are issued by one thread and run in the background; operands are descriptors of shared memory (see
 * wgmma.c; the format differs in the version bit and the swizzle code) or, on the left, tensor memory. Registers are loaded and
 * stored by warps, warp w of a warpgroup lanes 32 w to 32 w + 31. Rules kept here, wherever a program uses tensor memory:
 * wait::ld behind the loads of a statement and wait::st behind its stores; fence::before_thread_sync in front of what others
 * wait for, fence::after_thread_sync behind every wait (PTX ISA, "tcgen05 memory consistency model"). */
#include "eval.h"
#include <string.h>

/* One CTA, or a pair: then rank 0 issues products over the shared memory and tensor memory of both. */
static const char *group(const struct lower *l) { return l->s->pair ? "2" : "1"; }

/* --- addresses --- */

/* First column of element e, stage k. */
static long column(const struct ws_bufferm *b, int e, int k) { return b->column[e * b->stages + k]; }

/* Columns from element to element, or -1 where they are not evenly spaced. */
long ws_tmem_element_step(const struct ws_bufferm *b) {
  long step = b->count > 1 ? column(b, 1, 0) - column(b, 0, 0) : 0;
  for (int e = 2; e < b->count; e++)
    if (column(b, e, 0) - column(b, e - 1, 0) != step) return -1;
  return step;
}

/* Columns from stage to stage; evenly spaced by the tool, or by the spec's `at`. */
long ws_tmem_stage_step(const struct ws_bufferm *b) {
  long step = b->stages > 1 ? column(b, 0, 1) - column(b, 0, 0) : 0;
  for (int k = 2; k < b->stages; k++)
    if (column(b, 0, k) - column(b, 0, k - 1) != step) return -1;
  return step;
}

bool ws_tmem_even(const struct ws_bufferm *b) { return ws_tmem_element_step(b) >= 0 && ws_tmem_stage_step(b) >= 0; }

/* Where a tile starts: [register + *imm]. base: %tmem for products, %tmem_lanes for the lanes of this warp. */
static const char *address(struct lower *l, const struct ws_mem *m, const char *base, long *imm) {
  const struct ws_bufferm *b = m->buffer;
  const char *slot = m->handle ? l->handle[m->handle->index].at : "";
  long cols = (long)m->col0 * ws_type_bits(b->type) / 32;
  *imm = cols + (*slot ? 0 : column(b, m->element_at ? 0 : m->element, m->stage));
  if (*slot) {
    const char *d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "add_s32", d, base, slot);
    base = d;
  } else if (m->element_at) {
    const char *d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "mad_s32", d, ws_uniform_int(l, m->element_at), ws_lower_int(l, ws_tmem_element_step(b)), base);
    base = d;
  }
  if (!m->col_at) return base;
  const char *d = ws_lower_temp(l, WS_REG_B32), *c = ws_uniform_int(l, m->col_at);
  if (ws_type_bits(b->type) == 16) {
    const char *half = ws_lower_temp(l, WS_REG_B32);
    OP(l, "shr_u32", half, c, "1");
    c = half;
  }
  OP(l, "add_s32", d, base, c);
  return d;
}

/* --- registers --- */

enum { CHUNK = 32 }; /* columns an instruction where the spec does not say */

/* The widest instruction for what is left: a power of two. */
static int width(int left, int chunk) {
  int n = 1;
  while (n * 2 <= left && n * 2 <= chunk) n *= 2;
  return n;
}

static void move(struct lower *l, const struct ws_mem *m, const char *const *reg, int n, int chunk, const char *tmpl) {
  long imm;
  const char *base = address(l, m, "%tmem_lanes", &imm);
  for (int c = 0, w; c < n; c += w) {
    w = width(n - c, chunk ? chunk : CHUNK);
    struct ws_list lines[] = {ws_register_lines(l, reg + c, w)};
    const char *args[] = {ws_lower_int(l, w), base, ws_lower_int(l, imm + c)};
    ws_ptx_op_list(&l->px, tmpl, args, 3, lines, 1);
  }
}

struct tile ws_lower_read_tmem(struct lower *l, const struct ws_mem *m, const struct tile *into, int chunk) {
  move(l, m, into->reg, into->n, chunk, "tcgen05_ld");
  WS_OP0(&l->px, "tcgen05_wait_ld");
  return *into;
}

/* x, r = read(S) with red=max: each instruction brings the maximum of its columns along. All of them are read before the wait; all
 * their registers are written, also those that nobody uses. */
void ws_lower_read_red(struct lower *l, const struct ws_act *a) {
  struct tile *x = &l->var[a->dst->index], *r = &l->var[a->dst2->index];
  *x = ws_tile_make(l, a->dst->name, a->dst->rows, a->dst->cols, a->dst->type, a->dst->layout);
  *r = ws_tile_make(l, a->dst2->name, a->dst2->rows, a->dst2->cols, a->dst2->type, a->dst2->layout);
  long imm;
  const char *base = address(l, a->value->mem, "%tmem_lanes", &imm), *max[128];
  int parts = 0;
  for (int c = 0, w; c < x->n; c += w) {
    w = width(x->n - c, a->opt.chunk ? a->opt.chunk : CHUNK);
    max[parts] = parts ? ws_lower_temp(l, WS_REG_F32) : r->reg[0];
    struct ws_list lines[] = {ws_register_lines(l, x->reg + c, w)};
    const char *args[] = {ws_lower_int(l, w), max[parts++], base, ws_lower_int(l, imm + c)};
    ws_ptx_op_list(&l->px, "tcgen05_ld_max", args, 4, lines, 1);
  }
  WS_OP0(&l->px, "tcgen05_wait_ld");
  for (int i = 1; i < parts; i++) OP(l, "max_f32", r->reg[0], r->reg[0], max[i]);
}

void ws_lower_write_tmem(struct lower *l, const struct ws_mem *m, const struct tile *v, int chunk) {
  move(l, m, v->reg, v->n, chunk, "tcgen05_st");
  WS_OP0(&l->px, "tcgen05_wait_st");
}

/* --- products --- */

/* `descriptors=all`: every thread builds all descriptors of a product in front of the block of the one that issues it. */
struct ready {
  const struct ws_act *act;
  const char **a, **b;             /* registers by k step; a is NULL for a left operand in tensor memory */
};

static int k_steps(const struct ws_act *a) { return (a->b_mem->transposed ? a->b_mem->cols : a->b_mem->rows) / WS_KSTEP; }
static struct operand left(const struct ws_act *a) { return (struct operand){.mem = a->a_mem, .mn_major = a->a_mem->transposed}; }
static struct operand right(const struct ws_act *a) { return (struct operand){.mem = a->b_mem, .mn_major = !a->b_mem->transposed}; }

static struct ready *ready(struct lower *l, const struct ws_act *a) {
  for (size_t i = 0; i < l->nready; i++)
    if (l->ready[i].act == a) return &l->ready[i];
  return NULL;
}

static const char **build(struct lower *l, struct operand o, const char **reg, int steps) {
  ws_describe(l, &o, false);
  for (int k = 0; k < steps; k++) ws_descriptor(l, &o, k, 0, reg[k]);
  return reg;
}

static const char **registers(struct lower *l, const char *what, const struct ws_act *a) {
  return ws_ptx_regs(&l->px, WS_REG_B64, ws_lower_unique(l, "%s_%u", what, a->src->pos.line), (size_t)k_steps(a));
}

static void build_ready(void *ctx, struct ws_act *a) {
  struct lower *l = ctx;
  if (a->kind != WS_S_PRODUCT || !a->opt.descriptors_all) return;
  ws_lower_note(l, "descriptors of line %u, built by all threads", a->src->pos.line);
  struct ready *r = ready(l, a);
  if (!r) {
    r = WS_PUSH(l->arena, l->ready, l->nready, l->ready_cap);
    *r = (struct ready){.act = a, .a = a->a_mem->space == WS_SMEM ? registers(l, "left", a) : NULL, .b = registers(l, "right", a)};
  }
  if (r->a) build(l, left(a), r->a, k_steps(a));
  build(l, right(a), r->b, k_steps(a));
}

void ws_lower_descriptors(struct lower *l, struct ws_acts *block) { ws_each_act(block, build_ready, l); }

/* Instruction descriptor (PTX ISA, "Instruction descriptor", kind::f16): D is f32, types of A and B, transpositions, N / 8, M / 16. */
unsigned ws_tcgen05_instruction(bool bf16, int m, int n, bool a_mn, bool b_mn) {
  return 1u << 4 | (unsigned)bf16 << 7 | (unsigned)bf16 << 10 | (unsigned)a_mn << 15 | (unsigned)b_mn << 16 | (unsigned)(n / 8) << 17 | (unsigned)(m / 16) << 24;
}

/* Whether D is added to, where the paths that lead here differ: a register, 0 behind `D = 0`. */
static const char *adds(struct lower *l, const struct ws_mem *d) {
  const struct ws_bufferm *b = d->buffer;
  const char *which = b->is_array ? ws_fmt(l->arena, "%d", d->element) : "";
  return ws_lower_named(l, WS_REG_B32, "%s%s_c%d_adds", b->name, which, d->col0);
}

void ws_lower_from_zero(struct lower *l, struct ws_act *a) { OP(l, "mov_s32", adds(l, a->to), "0"); }

void ws_lower_tcgen05(struct lower *l, struct ws_act *a) {
  struct operand b = right(a), am = left(a);
  const struct ready *built = a->opt.descriptors_all ? ready(l, a) : NULL;
  bool from_tmem = a->a_mem->space == WS_TMEM;
  int steps = k_steps(a), n = a->b_mem->transposed ? a->b_mem->rows : a->b_mem->cols;
  long d_imm, a_imm = 0;
  const char *d = address(l, a->to, "%tmem", &d_imm), *at = NULL;
  if (d_imm) OP(l, "add_s32", at = ws_lower_temp(l, WS_REG_B32), d, ws_lower_int(l, d_imm)), d = at;
  const char *at_a = from_tmem ? address(l, a->a_mem, "%tmem", &a_imm) : NULL, *p = NULL;
  if (!from_tmem && !built) ws_describe(l, &am, false);
  if (!built) ws_describe(l, &b, false);
  const char *idesc = ws_fmt(l->arena, "0x%08X", ws_tcgen05_instruction(a->b_mem->buffer->type == WS_BF16, a->to->rows * (l->s->pair ? 2 : 1), l->s->pair ? n * 2 : n, am.mn_major && !from_tmem, b.mn_major));
  if (a->start == WS_STARTS_BY_PATH) OP(l, "compare_s32", "ne", p = ws_lower_temp(l, WS_REG_PRED), adds(l, a->to), "0");
  for (int k = 0; k < steps; k++) {
    const char *add = k ? "1" : p ? p : a->start == WS_ADDS ? "1" : "0", *db = built ? built->b[k] : ws_descriptor(l, &b, k, 0, NULL);
    if (from_tmem)
      OP(l, "tcgen05_mma_ts", group(l), d, at_a, ws_lower_int(l, a_imm + k * 8L), db, idesc, add);
    else
      OP(l, "tcgen05_mma_ss", group(l), d, built ? built->a[k] : ws_descriptor(l, &am, k, 0, NULL), db, idesc, add);
  }
  if (p) OP(l, "mov_s32", adds(l, a->to), "1");
}

/* An arrival when all products of this thread are done: here, or at both CTAs of the pair. */
void ws_lower_tcgen05_commit(struct lower *l, struct bar_ref b, enum ws_barrier_scope scope) {
  const char *imm = ws_lower_int(l, b.imm);
  if (scope != WS_SCOPE_PAIR) {
    OP(l, "tcgen05_commit", group(l), b.reg, imm);
    return;
  }
  const char *mask = ws_lower_named(l, WS_REG_B16, "both");
  OP(l, "mov_b16", mask, "3");
  OP(l, "tcgen05_commit_pair", b.reg, imm, mask);
}

/* --- the kernel's columns --- */

static int columns_allocated(const struct ws_schedule *s) {
  int n = 32;
  while (n < s->tmem_cols) n *= 2;
  return n;
}

void ws_lower_tmem_alloc(struct lower *l) {
  if (!l->s->tmem_cols) return;
  const char *skip = ws_ptx_label(&l->px, "allocated"), *p = ws_lower_temp(l, WS_REG_PRED);
  ws_lower_comment(l, "the first warp allocates %d columns of tensor memory; their address goes through shared memory", columns_allocated(l->s));
  OP(l, "tmem_alloc", group(l), ws_lower_named(l, WS_REG_B32, "tmem"), p, skip, ws_lower_int(l, l->s->smem_bytes - 8), ws_lower_int(l, columns_allocated(l->s)));
}

/* The lanes of this warp: warp w of the CTA reaches lanes 32 (w % 4) on. */
void ws_lower_tmem_lanes(struct lower *l) {
  if (l->tmem) OP(l, "tmem_lanes", ws_lower_named(l, WS_REG_B32, "tmem_lanes"));
}

void ws_lower_tmem_free(struct lower *l) {
  if (!l->s->tmem_cols) return;
  const char *skip = ws_ptx_label(&l->px, "freed"), *p = ws_lower_temp(l, WS_REG_PRED);
  ws_lower_comment(l, "the warp that allocated tensor memory frees it");
  OP(l, "tmem_free", group(l), p, skip, ws_lower_int(l, columns_allocated(l->s)));
}

/* --- what a program touches --- */

static void touches_tmem(void *ctx, struct ws_act *a) {
  bool *found = ctx;
  const struct ws_mem *m[] = {a->to, a->from, a->a_mem, a->b_mem};
  for (int i = 0; i < 4; i++) *found |= m[i] && m[i]->space == WS_TMEM;
  *found |= a->value && ws_reads_tmem(a->value);
  *found |= a->by == WS_BY_TCGEN05;
}

bool ws_reads_tmem(const struct ws_node *x) {
  if (x->mem && x->mem->space == WS_TMEM) return true;
  for (int i = 0; i < x->n; i++)
    if (ws_reads_tmem(x->arg[i])) return true;
  return false;
}

bool ws_program_uses_tmem(const struct ws_programm *p) {
  bool found = false;
  ws_each_act(p->body, touches_tmem, &found);
  return found;
}

void ws_lower_fence_before(struct lower *l) {
  if (l->tmem && !ws_fence_stated(l, WS_FENCE_BEFORE)) WS_OP0(&l->px, "tcgen05_before");
}
void ws_lower_fence_after(struct lower *l) {
  if (l->tmem && !ws_fence_stated(l, WS_FENCE_AFTER)) WS_OP0(&l->px, "tcgen05_after");
}
