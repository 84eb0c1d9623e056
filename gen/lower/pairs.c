/* `pack=f32x2`: two columns an instruction where a thread has a row (layout lane). f32x2 lies in a 64-bit
 * register, two neighbouring columns of a tile (PTX ISA, "Floating-Point Instructions": add, sub, mul, fma, .f32x2). Each half is
 * rounded as by itself, so that the results are the same bits. */
#include "eval.h"
#include <string.h>

static const char *const ops[] = {[WS_F_ADD] = "add_f32x2", [WS_F_SUB] = "sub_f32x2", [WS_F_MUL] = "mul_f32x2", [WS_F_FMA] = "fma_f32x2", [WS_F_ALL] = NULL};

bool ws_packs_f32(const struct lower *l) { return l->act && l->act->opt.pack; }

static const char *joined(struct lower *l, const char *low, const char *high) {
  const char *d = ws_lower_temp(l, WS_REG_B64);
  OP(l, "pair_f32", d, low, high);
  return d;
}

/* The same value in both halves: once for all columns. */
static const char *both(struct eval *ev, const char *value) {
  for (int i = 0; i < ev->nboth; i++)
    if (!strcmp(ev->both[i].value, value)) return ev->both[i].pair;
  const char *d = joined(ev->l, value, value);
  if (ev->nboth < MAX_BOTH) ev->both[ev->nboth++] = (struct both){value, d};
  return d;
}

static bool has_pair(const struct ws_node *x) { return x->kind == WS_N_OP && x->type == WS_F32 && x->fn < WS_F_ALL && ops[x->fn]; }

/* Columns e and e + 1: into[] are the registers that the caller wants, or NULL; out[] where they are. */
static void pair(struct eval *ev, const struct ws_node *x, int e, const char *const *into, const char **out);

static void packed(struct eval *ev, const struct ws_node *x, int e, const char *const *into, const char **out) {
  struct lower *l = ev->l;
  const char *arg[3][2], *args[4];
  bool immediate = false;
  for (int i = 0; i < x->n; i++) {
    pair(ev, x->arg[i], e, NULL, arg[i]);
    immediate |= arg[i][0][0] != '%' || arg[i][1][0] != '%';
  }
  for (int k = 0; k < 2; k++) out[k] = into ? into[k] : ws_lower_temp(l, WS_REG_F32);
  if (immediate) {
    for (int k = 0; k < 2; k++) {
      const char *one[] = {out[k], arg[0][k], arg[1][k], x->n > 2 ? arg[2][k] : NULL};
      ws_ptx_op(&l->px, ws_eval_simple(x->fn), one, (size_t)x->n + 1);
    }
    return;
  }
  for (int i = 0; i < x->n; i++) args[i + 1] = strcmp(arg[i][0], arg[i][1]) ? joined(l, arg[i][0], arg[i][1]) : both(ev, arg[i][0]);
  args[0] = ws_lower_temp(l, WS_REG_B64);
  ws_ptx_op(&l->px, ops[x->fn], args, (size_t)x->n + 1);
  OP(l, "halves_f32", out[0], out[1], args[0]);
}

static void pair(struct eval *ev, const struct ws_node *x, int e, const char *const *into, const char **out) {
  if (has_pair(x) && !ws_eval_known(ev, x)) {
    packed(ev, x, e, into, out);
    return;
  }
  if (x->kind == WS_N_OP && x->fn == WS_F_EXP2 && x->type == WS_F32 && has_pair(x->arg[0]) && !ws_eval_known(ev, x) && !ws_eval_known(ev, x->arg[0])) {
    const char *arg[2];
    packed(ev, x->arg[0], e, NULL, arg);
    for (int k = 0; k < 2; k++) ws_eval_exp2(ev, e + k, out[k] = into ? into[k] : ws_lower_temp(ev->l, WS_REG_F32), arg[k]);
    return;
  }
  for (int k = 0; k < 2; k++) out[k] = ws_eval_element(ev, x, e + k, WS_F32, into ? into[k] : NULL);
}

/* Does a pair have anything to do here? */
bool ws_pairs_help(const struct eval *ev, const struct ws_node *x) {
  if (!ws_packs_f32(ev->l) || !ev->ext.lane || !ev->ext.nt || ev->ext.n % 2 || x->type != WS_F32 || x->kind != WS_N_OP) return false;
  return has_pair(x) || (x->fn == WS_F_EXP2 && has_pair(x->arg[0]));
}

void ws_eval_pair(struct eval *ev, const struct ws_node *x, int e, const char *const *into, const char **out) { pair(ev, x, e, into, out); }

/* The sum of a row: two packed chains, which are the four of the scalar form. */
const char *ws_lower_pair_sum(struct lower *l, const struct tile *in) {
  const char *chain[2] = {0}, *part[4], *left = ws_lower_temp(l, WS_REG_F32), *right = ws_lower_temp(l, WS_REG_F32), *sum = ws_lower_temp(l, WS_REG_F32);
  for (int e = 0; e < in->nt; e += 2) {
    const char *x = joined(l, in->reg[e], in->reg[e + 1]), **c = &chain[e / 2 % 2];
    if (*c) OP(l, "add_f32x2", *c, *c, x);
    else *c = x;
  }
  for (int i = 0; i < 4; i++) part[i] = ws_lower_temp(l, WS_REG_F32);
  for (int c = 0; c < 2; c++) OP(l, "halves_f32", part[2 * c], part[2 * c + 1], chain[c]);
  OP(l, "add_f32", left, part[0], part[1]);
  OP(l, "add_f32", right, part[2], part[3]);
  OP(l, "add_f32", sum, left, right);
  return sum;
}
