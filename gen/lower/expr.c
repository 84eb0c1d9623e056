/* Elementwise expressions over register tiles.
 *
 * A tree is lowered element by element. What is narrower than the whole (a row vector inside a matrix expression, a
 * reduction) is computed first, once a row or column. a*b + c becomes one fma; equal parts are computed once. */
#include "eval.h"
#include <math.h>
#include <string.h>

static struct extent extent_of(const struct lower *l, const struct ws_node *x) { return ws_extent(l, x->rows, x->cols, x->layout); }

static bool is_const(const struct ws_node *x, double v) { return x->kind == WS_N_CONST && x->value == v; }

/* --- equal trees --- */

static bool same_mem(const struct ws_mem *a, const struct ws_mem *b) {
  return a == b || (a && b && a->tensor == b->tensor && a->buffer == b->buffer && a->handle == b->handle && a->tile == b->tile && a->row0 == b->row0 &&
                    a->col0 == b->col0 && a->rows == b->rows && a->cols == b->cols && ws_same_node(a->block, b->block));
}

bool ws_same_node(const struct ws_node *a, const struct ws_node *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->n != b->n || a->fn != b->fn || a->type != b->type || a->var != b->var || a->iter != b->iter) return false;
  if (a->kind == WS_N_CONST && a->value != b->value) return false;
  if (a->name != b->name && (!a->name || !b->name || strcmp(a->name, b->name))) return false;
  if (a->scalar != b->scalar || a->list != b->list || a->count != b->count || !same_mem(a->mem, b->mem) || !same_mem(a->mem2, b->mem2)) return false;
  if (a->kind == WS_N_PART && (a->part.cols != b->part.cols || a->part.of != b->part.of || a->part.index != b->part.index || a->part.first != b->part.first || a->part.last != b->part.last))
    return false;
  for (int i = 0; i < a->n; i++)
    if (!ws_same_node(a->arg[i], b->arg[i])) return false;
  return true;
}

static const struct known *find(const struct eval *ev, const struct ws_node *x) {
  for (int i = 0; i < ev->nknown; i++)
    if (ws_same_node(ev->known[i].node, x)) return &ev->known[i];
  return NULL;
}

/* --- one element --- */

static const char *const simple[] = {
    [WS_F_ADD] = "add_f32", [WS_F_SUB] = "sub_f32", [WS_F_MUL] = "mul_f32", [WS_F_DIV] = "div_f32", [WS_F_NEG] = "neg_f32",
    [WS_F_FMA] = "fma_f32", [WS_F_MAX] = "max_f32", [WS_F_MIN] = "min_f32", [WS_F_ABS] = "abs_f32", [WS_F_EXP2] = "exp2_f32",
    [WS_F_LOG2] = "log2_f32", [WS_F_TANH] = "tanh_f32", [WS_F_FLOOR] = "floor_f32", [WS_F_ALL] = NULL};
static const char *const simple_s32[] = {[WS_F_ADD] = "add_s32", [WS_F_SUB] = "sub_s32", [WS_F_MUL] = "mul_s32", [WS_F_MAX] = "max_s32",
                                         [WS_F_MIN] = "min_s32", [WS_F_NEG] = "neg_s32", [WS_F_ABS] = "abs_s32", [WS_F_FMA] = "mad_s32", [WS_F_ALL] = NULL};
const char *ws_eval_simple(enum ws_fn f) { return simple[f]; }
bool ws_eval_known(const struct eval *ev, const struct ws_node *x) { return find(ev, x) != NULL; }
const char *const ws_compare_ops[] = {[WS_F_EQ] = "eq", [WS_F_NE] = "ne", [WS_F_LT] = "lt", [WS_F_LE] = "le", [WS_F_GT] = "gt", [WS_F_GE] = "ge"};

static bool integer(const struct ws_node *x) { return x->type == WS_I32 || (x->kind == WS_N_CONST && x->value == floor(x->value) && fabs(x->value) < 1e9); }

static const char *leaf(struct eval *ev, const struct ws_node *x, int e, enum ws_type t);

/* A condition of one element. */
const char *ws_eval_predicate(struct eval *ev, const struct ws_node *x, int e) {
  struct lower *l = ev->l;
  if (x->kind == WS_N_REDUCE) return ws_lower_vote(l, x);
  if (x->kind == WS_N_VAR || x->kind == WS_N_PART) return leaf(ev, x, e, WS_BOOL);
  bool never = false, about_list = x->kind == WS_N_IS_FIRST || x->kind == WS_N_IS_LAST || x->kind == WS_N_IS_MASKED || x->kind == WS_N_HAS_NEXT || x->kind == WS_N_LEN;
  const char *uniform = about_list ? ws_uniform_pred(l, x, &never) : NULL, *p = uniform ? uniform : ws_lower_temp(l, WS_REG_PRED);
  if (uniform) return uniform;
  if (x->kind == WS_N_CONST || about_list) {
    OP(l, "compare_s32", "ne", p, about_list ? never ? "0" : "1" : x->value != 0 ? "1" : "0", "0");
    return p;
  }
  if (x->fn == WS_F_AND || x->fn == WS_F_OR) {
    const char *a = ws_eval_predicate(ev, x->arg[0], e), *b = ws_eval_predicate(ev, x->arg[1], e);
    OP(l, x->fn == WS_F_AND ? "and_pred" : "or_pred", p, a, b);
  } else if (x->fn == WS_F_NOT)
    OP(l, "not_pred", p, ws_eval_predicate(ev, x->arg[0], e));
  else {
    bool ints = integer(x->arg[0]) && integer(x->arg[1]);
    enum ws_type t = ints ? WS_I32 : WS_F32;
    const char *a = ws_eval_element(ev, x->arg[0], e, t, NULL), *b = ws_eval_element(ev, x->arg[1], e, t, NULL);
    OP(l, ints ? "compare_s32" : "compare_f32", ws_compare_ops[x->fn], p, a, b);
  }
  return p;
}

/* A leaf, or NULL: what has a register or an immediate already. */
static const char *leaf(struct eval *ev, const struct ws_node *x, int e, enum ws_type t) {
  struct lower *l = ev->l;
  const struct known *k = find(ev, x);
  if (k) return ws_tile_element(&k->tile, e, &ev->ext);
  switch (x->kind) {
  case WS_N_CONST: return t == WS_I32 ? ws_lower_int(l, (long)x->value) : ws_ptx_float(&l->px, x->value);
  case WS_N_SCALAR: return ws_scalar(l, x->scalar);
  case WS_N_VAR: return ws_tile_element(ws_tile_of(l, x->var), e, &ev->ext);
  case WS_N_ITER: case WS_N_AT: case WS_N_NEXT: case WS_N_LEN: case WS_N_EXTENT: case WS_N_START: case WS_N_INSTANCE: case WS_N_COORD:
    return ws_uniform_int(l, x);
  default: return NULL;
  }
}

/* a % b and floor(a / b) of integers, b > 0: rounded down, so that positions before 0 behave like those behind it. */
static const char *rounded_down(struct eval *ev, const struct ws_node *x, int e, const char *d) {
  struct lower *l = ev->l;
  const struct ws_node *q = x->fn == WS_F_MOD ? x : x->arg[0]; /* floor(x) of an integer x is x */
  if (q->kind != WS_N_OP || (q->fn != WS_F_MOD && q->fn != WS_F_DIV)) return ws_eval_element(ev, q, e, WS_I32, d);
  const char *a = ws_eval_element(ev, q->arg[0], e, WS_I32, NULL), *b = ws_eval_element(ev, q->arg[1], e, WS_I32, NULL), *p = ws_lower_temp(l, WS_REG_PRED);
  if (x->fn == WS_F_MOD)
    OP(l, "modulus_s32", d, a, b, p);
  else
    OP(l, "quotient_s32", d, a, b, ws_lower_temp(l, WS_REG_B32), p);
  return d;
}

/* exp2 with `poly`: of every `period` columns that a thread has (all of its row in layout `lane`, two of eight in an accumulator) the
 * last `poly` are computed on the FMA pipe, from the start-th group of 32 columns of the tile to the last but one
 * (FlashAttention-4, section 3: software emulation of the exponential). */
static bool on_fma_pipe(const struct lower *l, const struct extent *x, int e) {
  const struct ws_options *o = &l->act->opt;
  if (!o->poly || !x->nt || (!x->lane && !x->mt)) return false;
  int cols = l->act->dst->cols, part = x->lane ? x->nt : x->nt * 8, all = cols > part ? cols : part;
  int first = l->act->dst_part.given ? ws_part_first(&l->act->dst_part, cols) : 0, at = x->lane ? e : e / 4 % x->nt * 8;
  int group = (first + at) / 32, k = x->lane ? first + e : (first + at) / 4 + e % 2;
  return group >= o->start && group < (all + 31) / 32 - 1 && k % o->period >= o->period - o->poly;
}

static const char *exp2_poly(struct lower *l, const char *d, const char *x) {
  OP(l, "exp2_poly", d, x, ws_lower_temp(l, WS_REG_F32), ws_lower_temp(l, WS_REG_F32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32));
  return d;
}

void ws_eval_exp2(struct eval *ev, int e, const char *d, const char *x) {
  if (on_fma_pipe(ev->l, &ev->ext, e)) exp2_poly(ev->l, d, x);
  else OP(ev->l, "exp2_f32", d, x);
}

/* One of a pair of 16-bit values as f32. */
static const char *unpacked(struct eval *ev, const struct ws_node *x, int e, const char *d) {
  struct lower *l = ev->l;
  const struct known *k = find(ev, x);
  struct tile t = k ? k->tile : ws_lower_value(l, (struct ws_node *)x);
  int i = t.mt == ev->ext.mt && t.nt == ev->ext.nt ? e : t.mt ? ws_row_slot(&ev->ext, e) : t.nt ? (ev->ext.lane ? e : ev->ext.mt ? e / 4 % ev->ext.nt * 2 + e % 2 : e) : 0;
  if (x->type == WS_BF16)
    OP(l, i % 2 ? "high_bf16" : "low_bf16", d, t.reg[i / 2], ws_lower_temp(l, WS_REG_B32));
  else
    OP(l, i % 2 ? "high_f16" : "low_f16", d, t.reg[i / 2], ws_lower_temp(l, WS_REG_B16), ws_lower_temp(l, WS_REG_B16));
  return d;
}

static const char *operation(struct eval *ev, const struct ws_node *x, int e, enum ws_type t, const char *d) {
  struct lower *l = ev->l;
  const char *arg[3] = {0};
  if (x->fn == WS_F_SELECT) {
    const char *p = ws_eval_predicate(ev, x->arg[0], e);
    arg[0] = ws_eval_element(ev, x->arg[1], e, t, NULL), arg[1] = ws_eval_element(ev, x->arg[2], e, t, NULL);
    OP(l, t == WS_I32 ? "select_s32" : "select_f32", d, arg[0], arg[1], p);
    return d;
  }
  if (x->fn == WS_F_FINITE) { /* -inf -> 0 */
    const char *p = ws_lower_temp(l, WS_REG_PRED), *a = ws_eval_element(ev, x->arg[0], e, WS_F32, NULL);
    OP(l, "compare_f32", "neu", p, a, ws_ptx_float(&l->px, -INFINITY));
    OP(l, "select_f32", d, a, ws_ptx_float(&l->px, 0), p);
    return d;
  }
  if (x->fn == WS_F_DIV && is_const(x->arg[0], 1)) {
    OP(l, "rcp_f32", d, ws_eval_element(ev, x->arg[1], e, WS_F32, NULL));
    return d;
  }
  if (t == WS_I32 && (x->fn == WS_F_MOD || x->fn == WS_F_FLOOR)) return rounded_down(ev, x, e, d);
  if (x->fn == WS_F_CAST && ws_type_bits(x->arg[0]->type) == 16) return unpacked(ev, x->arg[0], e, d);
  if (x->fn == WS_F_CAST) return ws_eval_element(ev, x->arg[0], e, WS_F32, d);
  if (x->fn == WS_F_EXP2 && on_fma_pipe(l, &ev->ext, e)) return exp2_poly(l, d, ws_eval_element(ev, x->arg[0], e, WS_F32, NULL));
  const char *name = t == WS_I32 ? simple_s32[x->fn] : simple[x->fn];
  if (!name) {
    ws_error(l->diags, x->pos, "not-lowered", "`%s` of %s: not lowered for %s", ws_fn_sign(x->fn), t == WS_I32 ? "integers" : "numbers", l->s->target);
    return d;
  }
  for (int i = 0; i < x->n; i++) arg[i] = ws_eval_element(ev, x->arg[i], e, t, NULL);
  const char *args[4] = {d, arg[0], arg[1], arg[2]};
  ws_ptx_op(&l->px, name, args, (size_t)x->n + 1);
  return d;
}

const char *ws_eval_element(struct eval *ev, const struct ws_node *x, int e, enum ws_type t, const char *into) {
  struct lower *l = ev->l;
  if (t == WS_F32 && x->type == WS_I32 && x->kind != WS_N_CONST) { /* an integer among numbers */
    const char *i = ws_eval_element(ev, x, e, WS_I32, NULL), *f = into ? into : ws_lower_temp(l, WS_REG_F32);
    OP(l, "cvt_f32_s32", f, i);
    return f;
  }
  const char *r = leaf(ev, x, e, t);
  if (r) return r;
  if (x->kind != WS_N_OP) {
    ws_error(l->diags, x->pos, "not-lowered", "this expression is not lowered for %s", l->s->target);
    return "0f00000000";
  }
  return operation(ev, x, e, t, into ? into : ws_lower_temp(l, t == WS_I32 ? WS_REG_B32 : WS_REG_F32));
}

/* --- whole tiles --- */

/* a*b - c, c - a*b and a*b + c as one fma; a mask that is nothing disappears. */
struct ws_node *ws_rewritten(struct lower *l, struct ws_node *x) {
  if (x->kind == WS_N_MASK && ws_mask_is_nothing(l, x)) return ws_rewritten(l, x->arg[0]);
  if (!x->n) return x;
  if (x->kind == WS_N_PART) {
    struct ws_node *pushed = ws_part_pushed(l, x);
    if (pushed != x) return ws_rewritten(l, pushed);
  }
  struct ws_node *y = WS_NEW(l->arena, struct ws_node);
  *y = *x;
  y->arg = WS_NEW_N(l->arena, struct ws_node *, x->n);
  for (int i = 0; i < x->n; i++) y->arg[i] = ws_rewritten(l, x->arg[i]);
  if (y->kind == WS_N_OP && y->fn == WS_F_SELECT && y->arg[0]->cols == 1 && y->arg[0]->rows == 1) { /* known in this copy of a loop's body? */
    enum tri known = ws_uniform_static(l, y->arg[0]);
    struct ws_node *arm = y->arg[known == YES ? 1 : 2];
    if (known != UNKNOWN && arm->rows == y->rows && arm->cols == y->cols) return arm;
  }
  if (y->kind != WS_N_OP || (y->type != WS_F32 && y->type != WS_F16) || (y->fn != WS_F_ADD && y->fn != WS_F_SUB)) return y;
  for (int side = 0; side < 2; side++) {
    struct ws_node *m = y->arg[side], *c = y->arg[1 - side];
    if (m->kind != WS_N_OP || m->fn != WS_F_MUL || m->type != y->type) continue;
    struct ws_node *a = m->arg[0], *b = m->arg[1], *neg = WS_NEW(l->arena, struct ws_node);
    if (y->fn == WS_F_SUB) { /* negate the narrower one: it is done once a row */
      struct ws_node **n = side == 0 ? &c : a->cols <= b->cols ? &a : &b;
      *neg = **n;
      neg->value = -neg->value;
      if (neg->kind != WS_N_CONST) {
        neg->kind = WS_N_OP, neg->fn = WS_F_NEG, neg->n = 1, neg->arg = WS_NEW_N(l->arena, struct ws_node *, 1);
        neg->arg[0] = *n;
      }
      *n = neg;
    }
    y->fn = WS_F_FMA, y->n = 3, y->arg = WS_NEW_N(l->arena, struct ws_node *, 3);
    y->arg[0] = a, y->arg[1] = b, y->arg[2] = c;
    return y;
  }
  return y;
}

static void know(struct eval *ev, const struct ws_node *x, struct tile t) {
  if (ev->nknown == MAX_KNOWN) {
    ws_error(ev->l->diags, x->pos, "expression", "this expression has more than %d parts that are computed once a row: split it", MAX_KNOWN);
    return;
  }
  ev->known[ev->nknown++] = (struct known){x, t};
}

void ws_eval_prepare(struct eval *ev, const struct ws_node *x, bool top) {
  struct lower *l = ev->l;
  if (find(ev, x)) return;
  bool half = x->kind == WS_N_OP && ws_type_bits(x->type) == 16; /* pairs: half.c */
  bool computed = half || x->kind == WS_N_REDUCE || x->kind == WS_N_MASK || x->kind == WS_N_READ || x->kind == WS_N_ROWPOS || x->kind == WS_N_COLPOS || x->kind == WS_N_PART;
  if (!computed && x->kind != WS_N_OP) return;
  bool vote = x->kind == WS_N_REDUCE && (x->fn == WS_F_ANY || x->fn == WS_F_ALL);
  if (vote || (x->type == WS_BOOL && !computed) || (!computed && (top || extent_of(l, x).n == ev->ext.n))) {
    for (int i = 0; i < x->n; i++) ws_eval_prepare(ev, x->arg[i], false);
    return;
  }
  struct ws_node *y = WS_NEW(l->arena, struct ws_node);
  *y = *x;
  know(ev, x, ws_lower_value(l, y));
}

/* cast to 16 bits: two neighbouring columns to one register, the left one in the low half. */
static struct tile packed(struct lower *l, const struct ws_node *x, const struct tile *into) {
  struct tile in = ws_lower_value(l, x->arg[0]), out = *into;
  for (int i = 0; i < out.n; i++) OP(l, x->type == WS_BF16 ? "pack_bf16" : "pack_f16", out.reg[i], in.reg[in.n == 1 ? 0 : 2 * i + 1], in.reg[2 * i]); /* one value: in both halves */
  return out;
}

static struct tile fresh(struct lower *l, const struct ws_node *x) {
  struct extent ex = extent_of(l, x);
  struct tile t = {.mt = ex.mt, .nt = ex.nt, .n = ex.n, .packed = ws_type_bits(x->type) == 16, .lane = ex.lane};
  if (t.packed) t.n = (t.n + 1) / 2;
  t.reg = WS_NEW_N(l->arena, const char *, t.n);
  for (int i = 0; i < t.n; i++) t.reg[i] = ws_lower_temp(l, ws_reg_class(x->type));
  return t;
}

static struct tile value_into(struct lower *l, struct ws_node *x, const struct tile *into) {
  struct tile t = into ? *into : fresh(l, x);
  if (x->kind == WS_N_MASK) return ws_lower_mask(l, x, &t);
  if (x->kind == WS_N_READ) return ws_lower_read(l, x, &t);
  if (x->kind == WS_N_ROWPOS || x->kind == WS_N_COLPOS) return ws_lower_positions(l, x, &t);
  if (x->kind == WS_N_OP && x->fn == WS_F_CAST && ws_type_bits(x->type) == 16) return packed(l, x, &t);
  if (t.packed && t.lane) return ws_lower_half(l, x, &t);
  if (ws_lower_rising(l, x, &t)) return t;
  struct eval *ev = WS_NEW(l->arena, struct eval);
  ev->l = l, ev->ext = ws_tile_extent(&t);
  ws_eval_prepare(ev, x, true);
  enum ws_type type = x->type == WS_I32 ? WS_I32 : WS_F32;
  for (int e = 0; e < t.n && ws_pairs_help(ev, x); e += 2) {
    const char *out[2];
    ws_eval_pair(ev, x, e, &t.reg[e], out);
    if (e + 2 == t.n) return t;
  }
  for (int e = 0; e < t.n; e++) {
    const char *r = x->type == WS_BOOL ? ws_eval_predicate(ev, x, e) : ws_eval_element(ev, x, e, type, t.reg[e]);
    if (strcmp(r, t.reg[e])) OP(l, x->type == WS_BOOL ? "mov_pred" : type == WS_I32 ? "mov_s32" : "mov_f32", t.reg[e], r);
  }
  return t;
}

struct tile ws_lower_operand(struct lower *l, struct ws_node *x, const char *name) {
  x = ws_rewritten(l, x);
  if (x->kind != WS_N_OP) return ws_lower_value(l, x);
  struct tile t = fresh(l, x);
  t.reg = ws_ptx_temps(&l->px, WS_REG_B32, name, (size_t)t.n);
  return value_into(l, x, &t);
}

/* Part of a tile: some of its registers. */
static struct tile part_of(struct lower *l, struct ws_node *x) {
  struct tile full = ws_lower_value(l, x->arg[0]);
  return ws_tile_part(l, &full, ws_part_first(&x->part, x->arg[0]->cols), x->cols);
}

struct tile ws_lower_value(struct lower *l, struct ws_node *x) {
  x = ws_rewritten(l, x);
  if (x->kind == WS_N_VAR) return *ws_tile_of(l, x->var);
  if (x->kind == WS_N_PART) return part_of(l, x);
  if (x->kind == WS_N_REDUCE && (x->fn == WS_F_COLMAX || x->fn == WS_F_COLSUM)) return ws_lower_column_reduce(l, x);
  if (x->kind == WS_N_REDUCE && x->type != WS_BOOL) return ws_lower_reduce(l, x);
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
  for (int i = 0; i < a->narms; i++) c->uses += uses_in(a->arms[i].cond, c->v);
  if (a->kind == WS_S_PRODUCT && a->accumulate && a->dst == c->v) c->uses++;
  c->writes += a->dst == c->v || a->dst2 == c->v;
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
    if (written.writes) return false;
  }
  return here.uses == all.uses;
}

/* x.cols(b of n) = ...: the other columns keep what they hold. */
static void assign_part(struct lower *l, const struct ws_act *a, struct ws_node *x) {
  const struct ws_var *v = a->dst;
  int n = v->cols / a->dst_part.of;
  struct tile whole = *ws_tile_of(l, v), part = ws_tile_part(l, &whole, n * a->dst_part.index, n);
  if (!ws_part_reads_others(x, v, &a->dst_part)) {
    value_into(l, x, &part);
    return;
  }
  struct tile t = value_into(l, x, NULL);
  for (int i = 0; i < part.n; i++) OP(l, v->type == WS_F32 ? "mov_f32" : v->type == WS_BOOL ? "mov_pred" : "mov_s32", part.reg[i], t.reg[t.n == part.n ? i : 0]);
}

void ws_lower_assign(struct lower *l, struct ws_acts *acts, size_t index) {
  struct ws_act *a = &acts->act[index];
  struct ws_node *x = ws_rewritten(l, a->value);
  struct tile *t = &l->var[a->dst->index];
  if (a->dst_part.given) {
    assign_part(l, a, x);
    return;
  }
  if (x->kind == WS_N_CONST && a->dst->type == WS_I32) {
    struct ws_node *whole = WS_NEW(l->arena, struct ws_node);
    *whole = *x;
    whole->type = WS_I32;
    x = whole;
  }
  if (x->kind == WS_N_VAR && renames(l, acts, index, a->dst, x->var)) {
    *t = *ws_tile_of(l, x->var);
    ws_lower_note(l, "no instruction: %s is %s here", a->dst->name, x->var->name);
    return;
  }
  *t = ws_tile_make(l, a->dst->name, a->dst->rows, a->dst->cols, a->dst->type, a->dst->layout);
  if (x->kind != WS_N_CONST && (x->rows != a->dst->rows || x->cols != a->dst->cols)) { /* a vector that products are added to */
    struct tile v = ws_lower_value(l, x);
    struct extent ex = ws_tile_extent(t);
    for (int e = 0; e < t->n; e++) OP(l, "mov_f32", t->reg[e], ws_tile_element(&v, e, &ex));
    return;
  }
  value_into(l, x, t);
}
