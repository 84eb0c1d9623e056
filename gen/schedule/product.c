/* Products: shapes, and what mma.sync, wgmma and tcgen05.mma take as operands. */
#include "passes.h"

static int seen_rows(const struct ws_mem *m) { return m->transposed ? m->cols : m->rows; }
static int seen_cols(const struct ws_mem *m) { return m->transposed ? m->rows : m->cols; }

/* In a pair each CTA holds all rows of its A, half of the columns of B, and all columns of its rows of D; with 64 rows a CTA
 * the right half of D's columns lies below the left half (PTX ISA, tcgen05 "Data path layout organization"). */
struct ws_product_shape ws_product_shape(const struct ws_schedule *s, const struct ws_act *a) {
  struct ws_product_shape p = {.n = seen_cols(a->b_mem), .kb = seen_rows(a->b_mem), .b = a->b_mem->buffer->type};
  if (a->a)
    p.m = a->a->rows, p.k = a->a->cols, p.a = a->a->type;
  else
    p.m = seen_rows(a->a_mem), p.k = seen_cols(a->a_mem), p.a = a->a_mem->buffer->type;
  if (a->by == WS_BY_TCGEN05 && s->pair) p.n *= 2;
  if (a->by == WS_BY_TCGEN05 && s->pair && p.m == 64) p.m = 128, p.n /= 2;
  return p;
}

struct check {
  struct ws_schedule *s;
  const struct ws_programm *p;
  const struct ws_act *act;
  struct ws_product_shape sh;
  struct ws_pos a;             /* of the left operand */
};

static bool is_16bit(enum ws_type t) { return t == WS_F16 || t == WS_BF16; }
static bool is_8bit(enum ws_type t) { return t == WS_E4M3 || t == WS_E5M2; }

static void check_mma_sync(const struct check *c) {
  const struct ws_product_shape *x = &c->sh;
  struct ws_diags *d = c->s->diags;
  const struct ws_mem *b = c->act->b_mem;
  bool wide = is_8bit(x->a) && is_8bit(x->b) && c->s->arch >= 90;
  if (wide && (x->k % 32 || x->n % 8))
    ws_error(d, b->pos, "product", "[%d, %d] @ [%d, %d]: mma.sync m16n8k32 takes k a multiple of 32 and n of 8", x->m, x->k, x->kb, x->n);
  else if (!wide && (x->k % (b->transposed ? 8 : 16) || x->n % 8))
    ws_error(d, x->k % 8 ? c->a : b->pos, "product", "[%d, %d] @ [%d, %d]: mma.sync m16n8k16 takes k a multiple of 16 (of 8 where both operands have it along padded rows) and n of 8", x->m, x->k, x->kb, x->n);
  if (x->m % (16 * c->p->role->warps))
    ws_error(d, c->a, "product", "%d rows do not split over %d warps in tiles of 16", x->m, c->p->role->warps);
  if (!wide && (x->a != x->b || !is_16bit(x->a)))
    ws_error(d, c->act->src->pos, "product", "%s @ %s: mma.sync on %s takes f16 @ f16 or bf16 @ bf16", ws_type_name(x->a), ws_type_name(x->b), c->s->target);
  if (wide && !b->transposed)
    ws_error(d, b->pos, "product", "an 8-bit product takes its right operand as `.T` only (both operands along k)");
}

static void check_types(const struct check *c, const char *name) {
  const struct ws_product_shape *x = &c->sh;
  if ((x->a == x->b && is_16bit(x->a)) || (is_8bit(x->a) && is_8bit(x->b))) return;
  ws_error(c->s->diags, c->act->src->pos, "product", "%s @ %s: %s takes f16 @ f16, bf16 @ bf16 or 8-bit floats", ws_type_name(x->a), ws_type_name(x->b), name);
}

/* wgmma.mma_async: m64 a warpgroup, n a multiple of 8 up to 256, k of 32 bytes; 8-bit operands K-major (PTX ISA, "Asynchronous
 * warpgroup level matrix instructions"). */
static void check_wgmma(const struct check *c) {
  const struct ws_product_shape *x = &c->sh;
  struct ws_diags *d = c->s->diags;
  const struct ws_act *a = c->act;
  int step = is_8bit(x->b) ? 32 : 16;
  const struct ws_rolem *r = c->p->role;
  check_types(c, "wgmma");
  if (r->first_warp % 4)
    ws_error(d, a->src->pos, "warpgroup", "wgmma is issued by whole warpgroups: `%s` has %d warps from warp %d on", r->name, r->warps, r->first_warp);
  if (x->n % 8 || x->n > 256 || x->k % step)
    ws_error(d, a->b_mem->pos, "product", "[%d, %d] @ [%d, %d]: wgmma takes n a multiple of 8 up to 256 and k of %d", x->m, x->k, x->kb, x->n, step);
  if (is_8bit(x->a) && a->a_mem && a->a_mem->transposed)
    ws_error(d, c->a, "product", "8-bit wgmma takes its left operand K-major only, without `.T`");
}

/* tcgen05.mma: M 64 or 128 a CTA, N a multiple of 16 (of 8 for M = 64) up to 256, K of 32 bytes; A in TMEM is K-major (PTX ISA,
 * "tcgen05 matrix shape"). */
static void check_tcgen05(const struct check *c) {
  const struct ws_product_shape *x = &c->sh;
  struct ws_diags *d = c->s->diags;
  const struct ws_act *a = c->act;
  const struct ws_mem *to = a->to;
  int step = is_8bit(x->b) ? 32 : 16, nstep = c->s->pair ? 32 : x->m == 64 ? 8 : 16;
  check_types(c, "tcgen05.mma");
  if (x->m != 64 && x->m != 128)
    ws_error(d, c->a, "product", "tcgen05.mma takes 64 or 128 rows a CTA, not %d", x->m);
  else if (x->n % nstep || x->n > 256 || x->k % step)
    ws_error(d, a->b_mem->pos, "product", "[%d, %d] @ [%d, %d]: tcgen05.mma takes n a multiple of %d up to 256 and k of %d", x->m, x->k, x->kb, x->n, nstep, step);
  if (a->a_mem->space == WS_TMEM && a->a_mem->transposed)
    ws_error(d, c->a, "product", "a left operand in TMEM is K-major: no `.T`");
  if (is_8bit(x->b) && !a->b_mem->transposed && c->s->arch < 100)
    ws_error(d, a->b_mem->pos, "product", "an 8-bit product takes its right operand as `.T` only");
  if (seen_rows(to) != x->m || seen_cols(to) != x->n || to->transposed)
    ws_error(d, a->src->pos, "shape", "the product is [%d, %d]%s, `%s` is [%d, %d]", x->m, x->n, c->s->pair ? " a CTA" : "", to->buffer->name, seen_rows(to), seen_cols(to));
  if (to->buffer->type != WS_F32 && !(to->buffer->type == WS_F16 && x->a == WS_F16))
    ws_error(d, a->src->pos, "type", "tcgen05.mma adds up in f32, or in f16 for f16 operands, not in %s", ws_type_name(to->buffer->type));
}

static void check_orders(const struct check *c) {
  const struct ws_act *a = c->act;
  struct ws_diags *d = c->s->diags;
  bool acc8 = a->b_mem->buffer->acc8;
  if (a->a && a->a->layout == WS_L_ACC && is_8bit(c->sh.a) && !acc8)
    ws_error(d, a->b_mem->pos, "order", "an accumulator cast to 8 bits is a left operand only against keys in accumulator order: declare `%s` with `order: acc8`", a->b_mem->buffer->name);
  if (acc8 && ((a->a && a->a->layout != WS_L_ACC) || (a->a_mem && !a->a_mem->buffer->acc8)))
    ws_error(d, a->b_mem->pos, "order", "`%s` has its keys in accumulator order, the left operand has not", a->b_mem->buffer->name);
}

void ws_check_product(struct ws_schedule *s, const struct ws_programm *p, const struct ws_act *a) {
  struct check c = {s, p, a, ws_product_shape(s, a), a->a ? a->a->pos : a->a_mem->pos};
  const struct ws_product_shape *x = &c.sh;
  if (a->by == WS_BY_WGMMA && is_8bit(x->b) && !a->b_mem->transposed) {
    ws_error(s->diags, a->b_mem->pos, "product", "8-bit wgmma takes its right operand as `.T` only (K-major)");
    return;
  }
  if (x->k != x->kb) {
    ws_error(s->diags, a->src->pos, "product", "[%d, %d] @ [%d, %d]: the contracted extents differ", x->m, x->k, x->kb, x->n);
    return;
  }
  if (a->by == WS_BY_MMA_SYNC) check_mma_sync(&c);
  if (a->by == WS_BY_WGMMA) check_wgmma(&c);
  if (a->by == WS_BY_TCGEN05) check_tcgen05(&c);
  if (a->ahead && a->by != WS_BY_MMA_SYNC)
    ws_error(s->diags, a->src->pos, "option", "`ahead` reads fragments early: it is for mma.sync, not for %s", ws_mechanism_name(a->by));
  if (a->dst && (a->dst->rows != x->m || a->dst->cols != x->n))
    ws_error(s->diags, a->src->pos, "shape", "`%s` is [%d, %d] elsewhere, the product is [%d, %d]", a->dst->name, a->dst->rows, a->dst->cols, x->m, x->n);
  if (a->a && a->a->layout != WS_L_A && a->a->layout != WS_L_ACC)
    ws_error(s->diags, c.a, "layout", "the left operand has layout `%s`; %s takes `a`, or `acc` cast to %s", ws_layout_name(a->a->layout), ws_mechanism_name(a->by),
             is_8bit(x->b) ? "8 bits" : "16 bits");
  check_orders(&c);
}
