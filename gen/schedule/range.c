/* A maximum that lags. Online softmax may keep an old reference while a row's weights stay below 2**threshold:
 *
 *   m1 = m if d >= -threshold else m1          # d = (old - new maximum) * c
 *   p = exp2(x * c - mc)                       # mc = finite(m1) * c, less an offset if weights are to be larger
 *
 * Weights reach 2**(threshold + offset) then, and become infinite where the type that they are cast to ends below that. */
#include "passes.h"
#include <math.h>

enum { DEPTH = 6, STEPS = 20000 }; /* of variables that stand for others; of all assignments looked at in a program */

struct walk {
  struct ws_schedule *s;
  struct ws_programm *p;
  const struct ws_act *lag;     /* where the reference is chosen */
  double most;                  /* that it lags */
  const struct ws_var *var;     /* whose assignments are looked for */
  double found;
  bool exponential;             /* one of them is an exp2 */
  int depth, *steps;
};

static double largest(enum ws_type t) { /* log2 of the largest number (PTX ISA, "Alternate Floating-Point Data Formats") */
  switch (t) {
  case WS_F16: return log2(65504);
  case WS_BF16: return 127.99;
  case WS_E4M3: return log2(448);
  case WS_E5M2: return log2(57344);
  default: return INFINITY;
  }
}

static bool is(const struct ws_node *x, enum ws_fn f) { return x && x->kind == WS_N_OP && x->fn == f; }

static bool constant(const struct ws_node *x, double *v) {
  if (x->kind == WS_N_CONST) return *v = x->value, true;
  if (!is(x, WS_F_NEG) || !constant(x->arg[0], v)) return false;
  return *v = -*v, true;
}

static double added(struct walk *w, const struct ws_node *x);

static void assignment(void *ctx, struct ws_act *a) {
  struct walk *w = ctx;
  if (++*w->steps > STEPS || a->kind != WS_S_ASSIGN || a->dst != w->var || !a->value) return;
  bool e = is(a->value, WS_F_EXP2);
  double v = added(w, e ? a->value->arg[0] : a->value);
  w->exponential |= e;
  if (v > w->found) w->found = v;
}

/* The constant term of a sum; of a variable, the largest of what it is assigned. */
static double added(struct walk *w, const struct ws_node *x) {
  double v;
  if (constant(x, &v)) return isfinite(v) ? v : 0;
  if (is(x, WS_F_ADD)) return added(w, x->arg[0]) + added(w, x->arg[1]);
  if (is(x, WS_F_SUB)) return added(w, x->arg[0]) - added(w, x->arg[1]);
  if (is(x, WS_F_FMA)) return added(w, x->arg[2]);
  if (is(x, WS_F_NEG)) return -added(w, x->arg[0]);
  if (is(x, WS_F_CAST) || x->kind == WS_N_PART) return added(w, x->arg[0]);
  if (x->kind != WS_N_VAR || w->depth == DEPTH || *w->steps > STEPS) return 0;
  struct walk in = {.s = w->s, .p = w->p, .var = x->var, .found = -INFINITY, .depth = w->depth + 1, .steps = w->steps};
  ws_each_act(w->p->body, assignment, &in);
  return isfinite(in.found) ? in.found : 0;
}

/* Is this an exponential, and what does its exponent add? */
static bool exponential(struct walk *w, const struct ws_node *x, double *offset) {
  while (x->kind == WS_N_PART || is(x, WS_F_CAST)) x = x->arg[0];
  if (is(x, WS_F_EXP2)) return *offset = added(w, x->arg[0]), true;
  if (x->kind != WS_N_VAR) return false;
  struct walk in = {.s = w->s, .p = w->p, .var = x->var, .found = -INFINITY, .steps = w->steps};
  ws_each_act(w->p->body, assignment, &in);
  return *offset = in.found, in.exponential && isfinite(in.found);
}

static void lag_of(void *ctx, struct ws_act *a) {
  struct walk *w = ctx;
  double v;
  if (a->kind != WS_S_ASSIGN || !is(a->value, WS_F_SELECT)) return;
  const struct ws_node *cond = a->value->arg[0], *kept = a->value->arg[1], *fresh = a->value->arg[2];
  if (!(is(cond, WS_F_GE) || is(cond, WS_F_GT)) || !constant(cond->arg[1], &v) || v >= 0) return;
  if (kept->kind != WS_N_VAR || fresh->kind != WS_N_VAR || kept->var == fresh->var || -v <= w->most) return;
  w->most = -v, w->lag = a;
}

static bool cast_in(struct walk *w, const struct ws_node *x) {
  double offset;
  if (!x) return false;
  bool narrow = (is(x, WS_F_CAST) || is(x, WS_F_EXP2)) && isfinite(largest(x->type));
  if (narrow && exponential(w, x, &offset) && w->most + offset > largest(x->type)) {
    ws_error(w->s->diags, w->lag->src->pos, "range", "the maximum may lag by %g%s: weights reach 2**%g, and the largest %s is below 2**%g", w->most,
             offset != 0 ? ws_fmt(w->s->arena, ", and the exponent adds %g", offset) : "", w->most + offset, ws_type_name(x->type), ceil(largest(x->type)));
    ws_note(w->s->diags, x->pos, "they become %s here", ws_type_name(x->type));
    return true;
  }
  for (int i = 0; i < x->n; i++)
    if (cast_in(w, x->arg[i])) return true;
  return false;
}

static void casts(void *ctx, struct ws_act *a) {
  struct walk *w = ctx;
  if (w->lag && (cast_in(w, a->value) || cast_in(w, a->a))) w->lag = NULL; /* said once a program */
}

void ws_pass_range(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++) {
    int steps = 0;
    struct walk w = {.s = s, .p = &s->programs[i], .steps = &steps};
    ws_each_act(w.p->body, lag_of, &w);
    if (w.lag) ws_each_act(w.p->body, casts, &w);
  }
}
