/* Elementwise expressions over register tiles.
 *
 * A tree is lowered element by element. What is narrower than the whole (a row vector inside a matrix expression, a
 * reduction) is computed first, once a row. a*b + c becomes one fma. */
#include "lower.h"
#include <math.h>
#include <string.h>

struct extent {
  int mt, nt, n; /* elements of a thread */
};

static struct extent extent_of(struct lower *l, const struct ws_node *x) {
  if (x->rows == 1 && x->cols == 1) return (struct extent){0, 0, 1};
  int mt = ws_warp_rows(l, x->rows) / 16, nt = x->cols == 1 ? 0 : x->layout == WS_L_A ? (x->cols + 15) / 16 * 2 : x->cols / 8;
  return (struct extent){mt, nt, nt ? mt * nt * 4 : mt * 2};
}

/* A node whose elements are known: computed before, or a variable. */
struct known {
  const struct ws_node *node;
  struct tile tile;
};
struct eval {
  struct lower *l;
  struct extent ext;
  struct known known[64];
  int nknown;
};

static struct ws_node *rewritten(struct lower *l, struct ws_node *x);
static void prepare(struct eval *ev, const struct ws_node *x, bool top);

static const char *element(struct eval *ev, const struct ws_node *x, int e, const char *into);

static bool is_const(const struct ws_node *x, double v) { return x->kind == WS_N_CONST && x->value == v; }

static const struct known *find(const struct eval *ev, const struct ws_node *x) {
  for (int i = 0; i < ev->nknown; i++)
    if (ev->known[i].node == x) return &ev->known[i];
  return NULL;
}

/* --- one element --- */

static const char *const simple[] = {
    [WS_F_ADD] = "add_f32", [WS_F_SUB] = "sub_f32", [WS_F_MUL] = "mul_f32", [WS_F_DIV] = "div_f32", [WS_F_NEG] = "neg_f32",
    [WS_F_FMA] = "fma_f32", [WS_F_MAX] = "max_f32", [WS_F_MIN] = "min_f32", [WS_F_ABS] = "abs_f32", [WS_F_EXP2] = "exp2_f32",
    [WS_F_LOG2] = "log2_f32", [WS_F_TANH] = "tanh_f32"};
static const char *const compare[] = {[WS_F_EQ] = "eq", [WS_F_NE] = "ne", [WS_F_LT] = "lt", [WS_F_LE] = "le", [WS_F_GT] = "gt", [WS_F_GE] = "ge"};

static const char *predicate(struct eval *ev, const struct ws_node *x, int e) {
  struct lower *l = ev->l;
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  if (x->fn == WS_F_AND || x->fn == WS_F_OR) {
    const char *a = predicate(ev, x->arg[0], e), *b = predicate(ev, x->arg[1], e);
    OP(l, x->fn == WS_F_AND ? "and_pred" : "or_pred", p, a, b);
  } else if (x->fn == WS_F_NOT)
    OP(l, "not_pred", p, predicate(ev, x->arg[0], e));
  else
    OP(l, "compare_f32", compare[x->fn], p, element(ev, x->arg[0], e, NULL), element(ev, x->arg[1], e, NULL));
  return p;
}

static const char *element(struct eval *ev, const struct ws_node *x, int e, const char *into) {
  struct lower *l = ev->l;
  const struct known *k = find(ev, x);
  if (k) return ws_tile_element(&k->tile, e, ev->ext.nt);
  if (x->kind == WS_N_CONST) return ws_ptx_float(&l->px, x->value);
  if (x->kind == WS_N_SCALAR) return ws_scalar(l, x->scalar);
  if (x->kind == WS_N_VAR) return ws_tile_element(ws_tile_of(l, x->var), e, ev->ext.nt);
  if (x->kind != WS_N_OP) {
    ws_error(l->diags, x->pos, "not-lowered", "this expression is not lowered for %s", l->s->target);
    return "0f00000000";
  }
  const char *d = into ? into : ws_lower_temp(l, WS_REG_F32);
  switch (x->fn) {
  case WS_F_SELECT: {
    const char *p = predicate(ev, x->arg[0], e), *a = element(ev, x->arg[1], e, NULL), *b = element(ev, x->arg[2], e, NULL);
    OP(l, "select_f32", d, a, b, p);
    return d;
  }
  case WS_F_FINITE: { /* -inf -> 0 */
    const char *p = ws_lower_temp(l, WS_REG_PRED), *a = element(ev, x->arg[0], e, NULL);
    OP(l, "compare_f32", "neu", p, a, ws_ptx_float(&l->px, -INFINITY));
    OP(l, "select_f32", d, a, ws_ptx_float(&l->px, 0), p);
    return d;
  }
  case WS_F_DIV:
    if (is_const(x->arg[0], 1)) {
      OP(l, "rcp_f32", d, element(ev, x->arg[1], e, NULL));
      return d;
    }
    break;
  default: break;
  }
  const char *arg[3] = {0};
  for (int i = 0; i < x->n; i++) arg[i] = element(ev, x->arg[i], e, NULL);
  const char *args[4] = {d, arg[0], arg[1], arg[2]};
  ws_ptx_op(&l->px, simple[x->fn], args, (size_t)x->n + 1);
  return d;
}

/* --- reductions along a row: 2 nt elements in each of 4 lanes --- */

/* This lane's part of row r: two chains, so that the latency of one hides behind the other. */
static const char *lane_part(struct lower *l, const struct tile *in, int r, const char *op) {
  const char *first = in->reg[(r / 2 * in->nt) * 4 + r % 2 * 2], *second = in->reg[(r / 2 * in->nt) * 4 + r % 2 * 2 + 1];
  const char *chain[2] = {first, second};
  for (int ni = 1; ni < in->nt; ni++)
    for (int c = 0; c < 2; c++) {
      const char *d = ni == 1 ? ws_lower_temp(l, WS_REG_F32) : chain[c];
      OP(l, op, d, chain[c], in->reg[((r / 2) * in->nt + ni) * 4 + (r % 2) * 2 + c]);
      chain[c] = d;
    }
  const char *acc = ws_lower_temp(l, WS_REG_F32);
  OP(l, op, acc, chain[0], chain[1]);
  return acc;
}

static struct tile reduce(struct lower *l, const struct ws_node *x) {
  struct extent ex = extent_of(l, x->arg[0]);
  struct tile in = ws_lower_value(l, x->arg[0]);
  struct tile out = {.mt = ex.mt, .nt = 0, .n = ex.mt * 2, .reg = WS_NEW_N(l->arena, const char *, ex.mt * 2)};
  bool max = x->fn == WS_F_ROWMAX;
  const char *op = max ? "max_f32" : "add_f32";
  for (int r = 0; r < out.n; r++) {
    const char *acc = x->fn == WS_F_TOTAL ? in.reg[r] : lane_part(l, &in, r, op);
    if (x->fn != WS_F_ROWPART) {
      const char *full = ws_lower_temp(l, WS_REG_F32), *other = ws_lower_temp(l, WS_REG_F32);
      OP(l, max ? "quad_max" : "quad_sum", full, acc, other);
      acc = full;
    }
    out.reg[r] = acc;
  }
  return out;
}

/* --- votes --- */

/* `any(x > v)` with one v a row asks whether this lane's largest x of the row exceeds v: the maximum of a row costs no more
 * than its comparisons, and the test is one a row. NaN loses in both forms. */
static const struct ws_node *row_limit(const struct ws_node *x) {
  const struct ws_node *c = x->arg[0];
  if (x->fn != WS_F_ANY || c->kind != WS_N_OP || (c->fn != WS_F_GT && c->fn != WS_F_GE)) return NULL;
  return c->arg[0]->cols > 1 && c->arg[1]->cols == 1 ? c : NULL;
}

const char *ws_lower_vote(struct lower *l, const struct ws_node *x) {
  struct ws_node *c = rewritten(l, x->arg[0]);
  const struct ws_node *by_row = row_limit(x);
  const char *vote = ws_lower_temp(l, WS_REG_PRED), *lane = NULL;
  struct eval *ev = WS_NEW(l->arena, struct eval);
  struct tile in = {0};
  ev->l = l, ev->ext = extent_of(l, c);
  if (by_row) {
    in = ws_lower_value(l, c->arg[0]);
    ev->ext = extent_of(l, &(struct ws_node){.rows = c->rows, .cols = 1});
    prepare(ev, c->arg[1], true);
  } else
    prepare(ev, c, true);
  for (int e = 0; e < ev->ext.n; e++) {
    const char *p;
    if (by_row) {
      p = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "compare_f32", compare[c->fn], p, lane_part(l, &in, e, "max_f32"), element(ev, c->arg[1], e, NULL));
    } else
      p = predicate(ev, c, e);
    if (lane) OP(l, x->fn == WS_F_ANY ? "or_pred" : "and_pred", p, p, lane);
    lane = p;
  }
  OP(l, "vote", ws_fn_name(x->fn), vote, lane);
  return vote;
}

/* --- masks --- */

/* First column, counted from this thread's first, that row slot r may not see: the end of the keys, and for a causal mask
 * the diagonal, aligned bottom-right (row i sees keys up to i + keys - queries). */
static const char **mask_limits(struct lower *l, const struct ws_node *x, struct extent ex) {
  const struct ws_mem *rows = x->mem, *cols = x->mem2;
  const char **lim = WS_NEW_N(l->arena, const char *, ex.mt * 2);
  const char *j = ws_uniform_int(l, cols->block), *seen = ws_lower_temp(l, WS_REG_B32), *diagonal = NULL;
  const char *step = ws_lower_int(l, cols->block_rows), *part = ws_lower_int(l, -cols->row0);
  OP(l, "mask_columns", seen, j, step, part);
  if (l->s->causal) {
    diagonal = ws_lower_temp(l, WS_REG_B32);
    OP(l, "mask_diagonal", diagonal, ws_acc_row(l, ws_warp_rows(l, x->rows)), j, step, part);
  }
  for (int r = 0; r < ex.mt * 2; r++) {
    lim[r] = seen;
    if (!diagonal) continue;
    lim[r] = ws_lower_temp(l, WS_REG_B32);
    OP(l, "mask_row", lim[r], seen, diagonal, ws_lower_int(l, rows->row0 + r * 8 + 1));
  }
  return lim;
}

static struct tile masked(struct lower *l, const struct ws_node *x, const struct tile *into) {
  struct extent ex = extent_of(l, x);
  struct tile in = ws_lower_value(l, x->arg[0]), out = *into;
  const char **lim = mask_limits(l, x, ex);
  for (int e = 0; e < ex.n; e++) {
    int r = e / (ex.nt * 4) * 2 + e % 4 / 2, col = e / 4 % ex.nt * 8 + e % 2;
    OP(l, "mask_element", out.reg[e], in.reg[e], lim[r], ws_lower_int(l, col), ws_lower_temp(l, WS_REG_PRED), ws_ptx_float(&l->px, -INFINITY));
  }
  return out;
}

/* Does this copy of the loop body know that the block needs no mask? */
static bool mask_is_nothing(const struct lower *l, const struct ws_node *x) {
  const struct ws_node *b = x->mem2->block;
  return b && b->kind == WS_N_ITER && l->iter[b->iter->index].masked == NO;
}

/* --- whole tiles --- */

/* a*b - c, c - a*b and a*b + c as one fma; a mask that is nothing disappears. */
static struct ws_node *rewritten(struct lower *l, struct ws_node *x) {
  if (x->kind == WS_N_MASK && mask_is_nothing(l, x)) return rewritten(l, x->arg[0]);
  if (!x->n) return x;
  struct ws_node *y = WS_NEW(l->arena, struct ws_node);
  *y = *x;
  y->arg = WS_NEW_N(l->arena, struct ws_node *, x->n);
  for (int i = 0; i < x->n; i++) y->arg[i] = rewritten(l, x->arg[i]);
  if (y->kind != WS_N_OP || (y->fn != WS_F_ADD && y->fn != WS_F_SUB)) return y;
  for (int side = 0; side < 2; side++) {
    struct ws_node *m = y->arg[side], *c = y->arg[1 - side];
    if (m->kind != WS_N_OP || m->fn != WS_F_MUL) continue;
    struct ws_node *a = m->arg[0], *b = m->arg[1], *neg = WS_NEW(l->arena, struct ws_node);
    if (y->fn == WS_F_SUB) { /* negate the narrower one: it is done once a row */
      struct ws_node **n = side == 0 ? &c : a->cols <= b->cols ? &a : &b;
      *neg = **n;
      neg->kind = WS_N_OP, neg->fn = WS_F_NEG, neg->n = 1, neg->arg = WS_NEW_N(l->arena, struct ws_node *, 1);
      neg->arg[0] = *n;
      *n = neg;
    }
    y->fn = WS_F_FMA, y->n = 3, y->arg = WS_NEW_N(l->arena, struct ws_node *, 3);
    y->arg[0] = a, y->arg[1] = b, y->arg[2] = c;
    return y;
  }
  return y;
}

static void know(struct eval *ev, const struct ws_node *x, struct tile t) {
  if (ev->nknown == 64) {
    ws_error(ev->l->diags, x->pos, "expression", "this expression has more than 64 parts that are computed once a row: split it");
    return;
  }
  ev->known[ev->nknown++] = (struct known){x, t};
}

static void prepare(struct eval *ev, const struct ws_node *x, bool top) {
  struct lower *l = ev->l;
  if (x->kind == WS_N_REDUCE) return know(ev, x, reduce(l, x));
  if (x->kind == WS_N_MASK || x->kind == WS_N_READ) return know(ev, x, ws_lower_value(l, (struct ws_node *)(size_t)x));
  if (x->kind != WS_N_OP) return;
  struct extent ex = extent_of(l, x);
  if (!top && ex.n < ev->ext.n) return know(ev, x, ws_lower_value(l, (struct ws_node *)(size_t)x));
  for (int i = 0; i < x->n; i++) prepare(ev, x->arg[i], false);
}

/* cast to 16 bits: two neighbouring columns to one register, the left one in the low half. */
static struct tile packed(struct lower *l, const struct ws_node *x, const struct tile *into) {
  struct tile in = ws_lower_value(l, x->arg[0]), out = *into;
  for (int i = 0; i < out.n; i++) OP(l, x->type == WS_BF16 ? "pack_bf16" : "pack_f16", out.reg[i], in.reg[2 * i + 1], in.reg[2 * i]);
  return out;
}

static struct tile fresh(struct lower *l, const struct ws_node *x) {
  struct extent ex = extent_of(l, x);
  struct tile t = {.mt = ex.mt, .nt = ex.nt, .n = ex.n, .packed = ws_type_bits(x->type) == 16};
  if (t.packed) t.n /= 2;
  t.reg = WS_NEW_N(l->arena, const char *, t.n);
  for (int i = 0; i < t.n; i++) t.reg[i] = ws_lower_temp(l, x->type == WS_F32 ? WS_REG_F32 : WS_REG_B32);
  return t;
}

static struct tile value_into(struct lower *l, struct ws_node *x, const struct tile *into) {
  struct tile t = into ? *into : fresh(l, x);
  if (x->kind == WS_N_MASK) return masked(l, x, &t);
  if (x->kind == WS_N_READ) return ws_lower_read_a(l, x->mem, NULL, &t);
  if (x->kind == WS_N_OP && x->fn == WS_F_CAST && ws_type_bits(x->type) == 16) return packed(l, x, &t);
  struct eval *ev = WS_NEW(l->arena, struct eval);
  ev->l = l, ev->ext = (struct extent){t.mt, t.nt, t.n};
  prepare(ev, x, true);
  for (int e = 0; e < t.n; e++) {
    const char *r = element(ev, x, e, x->kind == WS_N_OP ? t.reg[e] : NULL);
    if (strcmp(r, t.reg[e])) OP(l, "mov_f32", t.reg[e], r);
  }
  return t;
}

struct tile ws_lower_value(struct lower *l, struct ws_node *x) {
  x = rewritten(l, x);
  if (x->kind == WS_N_VAR) return *ws_tile_of(l, x->var);
  if (x->kind == WS_N_REDUCE) return reduce(l, x);
  return value_into(l, x, NULL);
}

/* --- assignments --- */

static int uses_in(const struct ws_node *x, const struct ws_var *v) {
  int n = x && x->kind == WS_N_VAR && x->var == v;
  for (int i = 0; x && i < x->n; i++) n += uses_in(x->arg[i], v);
  return n;
}

struct count {
  const struct ws_var *v;
  int uses, writes;
};

static void count_act(void *ctx, struct ws_act *a) {
  struct count *c = ctx;
  c->uses += uses_in(a->value, c->v) + uses_in(a->a, c->v);
  if (a->kind == WS_S_PRODUCT && a->accumulate && a->dst == c->v) c->uses++;
  c->writes += a->dst == c->v;
}

/* May dst stand for src instead of being copied? When dst is assigned here only, is read behind this statement in the same
 * block only, and src keeps its value until the last of these reads. */
static bool renames(struct lower *l, struct ws_acts *acts, size_t index, const struct ws_var *dst, const struct ws_var *src) {
  if (dst->nassign != 1 || dst->rows != src->rows || dst->cols != src->cols) return false;
  struct count all = {.v = dst}, here = {.v = dst};
  ws_each_act(l->prog->body, count_act, &all);
  for (size_t i = index + 1; i < acts->n && here.uses < all.uses; i++) {
    struct count written = {.v = src};
    struct ws_acts one = {.act = &acts->act[i], .n = 1};
    ws_each_act(&one, count_act, &written);
    ws_each_act(&one, count_act, &here);
    bool last = here.uses == all.uses && !acts->act[i].body && !acts->act[i].narms && acts->act[i].kind == WS_S_ASSIGN;
    if (written.writes && !last) return false;
  }
  return here.uses == all.uses;
}

void ws_lower_assign(struct lower *l, struct ws_acts *acts, size_t index) {
  struct ws_act *a = &acts->act[index];
  struct ws_node *x = rewritten(l, a->value);
  struct tile *t = &l->var[a->dst->index];
  if (x->kind == WS_N_VAR && renames(l, acts, index, a->dst, x->var)) {
    *t = *ws_tile_of(l, x->var);
    return;
  }
  *t = ws_tile_make(l, a->dst->name, a->dst->rows, a->dst->cols, a->dst->type, a->dst->layout);
  value_into(l, x, t);
}
