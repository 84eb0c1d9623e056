/* Arithmetic in f16 where a thread has a row (layout lane): two columns an instruction (PTX ISA, "Half Precision Floating-Point
 * Instructions", .f16x2). A row vector lies in both halves of its register, so that it meets pairs as it stands. */
#include "eval.h"

enum { PARTS = 32 };
struct half {
  struct lower *l;
  const struct ws_node *node[PARTS]; /* what is computed as a whole, or once a row, before the pairs */
  struct tile tile[PARTS];
  int n;
  bool wide;                       /* the whole has several columns */
};

static const char *const ops[] = {[WS_F_ADD] = "add_f16x2", [WS_F_SUB] = "sub_f16x2", [WS_F_MUL] = "mul_f16x2", [WS_F_FMA] = "fma_f16x2", [WS_F_NEG] = "neg_f16x2",
                                  [WS_F_ABS] = "abs_f16x2", [WS_F_MAX] = "max_f16x2", [WS_F_MIN] = "min_f16x2", [WS_F_EXP2] = "exp2_f16x2", [WS_F_ALL] = NULL};

static struct tile constant(struct lower *l, const struct ws_node *x) {
  unsigned word;
  if (!ws_constant_bits(x->value, WS_F16, &word)) ws_error(l->diags, x->pos, "not-lowered", "this constant is not exact in f16");
  struct tile t = {.n = 1, .packed = true, .reg = WS_NEW_N(l->arena, const char *, 1)};
  OP(l, "mov_b32", t.reg[0] = ws_lower_temp(l, WS_REG_B32), ws_fmt(l->arena, "0x%08X", word));
  return t;
}

static const struct tile *find(const struct half *h, const struct ws_node *x) {
  for (int i = 0; i < h->n; i++)
    if (ws_same_node(h->node[i], x)) return &h->tile[i];
  return NULL;
}

static void prepare(struct half *h, struct ws_node *x, bool top) {
  if (find(h, x)) return;
  bool whole = x->kind != WS_N_OP || x->fn == WS_F_CAST || (h->wide && x->cols == 1 && !top);
  if (!whole) {
    for (int i = 0; i < x->n; i++) prepare(h, x->arg[i], false);
    return;
  }
  if (h->n == PARTS) {
    ws_error(h->l->diags, x->pos, "expression", "this expression has more than %d parts that are computed before it: split it", PARTS);
    return;
  }
  struct tile t = x->kind == WS_N_CONST ? constant(h->l, x) : ws_lower_value(h->l, x);
  h->node[h->n] = x, h->tile[h->n++] = t;
}

static const char *pair(struct half *h, const struct ws_node *x, int i, const char *into) {
  const struct tile *t = find(h, x);
  if (t) return t->nt ? t->reg[i] : t->reg[0];
  const char *op = x->kind == WS_N_OP && x->fn < WS_F_ALL ? ops[x->fn] : NULL, *arg[3] = {0};
  if (!op) {
    ws_error(h->l->diags, x->pos, "not-lowered", "this operation in f16 is not lowered for %s", h->l->s->target);
    return into ? into : "%f";
  }
  for (int k = 0; k < x->n; k++) arg[k] = pair(h, x->arg[k], i, NULL);
  const char *d = into ? into : ws_lower_temp(h->l, WS_REG_B32);
  if (x->n == 1) OP(h->l, op, d, arg[0]);
  else if (x->n == 2) OP(h->l, op, d, arg[0], arg[1]);
  else OP(h->l, op, d, arg[0], arg[1], arg[2]);
  return d;
}

struct tile ws_lower_half(struct lower *l, struct ws_node *x, const struct tile *into) {
  struct half *h = WS_NEW(l->arena, struct half);
  h->l = l, h->wide = into->nt > 0;
  prepare(h, x, true);
  for (int i = 0; i < into->n; i++) {
    const char *r = pair(h, x, i, into->reg[i]);
    if (r != into->reg[i]) OP(l, "mov_b32", into->reg[i], r);
  }
  return *into;
}

/* The row is in one thread: four chains of pairs, then the two halves. */
struct tile ws_lower_half_reduce(struct lower *l, const struct tile *in, bool max) {
  const char *op = max ? "max_f16x2" : "add_f16x2", *chain[4] = {0};
  for (int i = 0; i < in->n; i++) {
    const char *d = chain[i % 4] ? i < 8 ? ws_lower_temp(l, WS_REG_B32) : chain[i % 4] : NULL;
    if (d) OP(l, op, d, chain[i % 4], in->reg[i]);
    chain[i % 4] = d ? d : in->reg[i];
  }
  for (int step = 1; step < 4; step *= 2)
    for (int c = 0; c + step < 4; c += 2 * step)
      if (chain[c + step]) {
        const char *d = ws_lower_temp(l, WS_REG_B32);
        OP(l, op, d, chain[c], chain[c + step]);
        chain[c] = d;
      }
  struct tile out = {.mt = in->mt, .n = 1, .packed = true, .lane = true, .reg = WS_NEW_N(l->arena, const char *, 1)};
  const char *turned = ws_lower_temp(l, WS_REG_B32);
  OP(l, "halves_turned", turned, chain[0]);
  OP(l, op, out.reg[0] = ws_lower_temp(l, WS_REG_B32), chain[0], turned);
  return out;
}

bool ws_is_half_arithmetic(const struct ws_node *x) {
  if (!x) return false;
  if (x->type == WS_F16 && ((x->kind == WS_N_OP && x->fn != WS_F_CAST) || x->kind == WS_N_REDUCE)) return true;
  for (int i = 0; i < x->n; i++)
    if (ws_is_half_arithmetic(x->arg[i])) return true;
  return false;
}
