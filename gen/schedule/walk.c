/* Walks over programs, and what an instance knows of itself: its index and its CTA's rank. */
#include "passes.h"
#include <math.h>

static bool operation(enum ws_fn fn, double a, double b, double *v) {
  switch (fn) {
  case WS_F_ADD: return *v = a + b, true;
  case WS_F_SUB: return *v = a - b, true;
  case WS_F_MUL: return *v = a * b, true;
  case WS_F_DIV: return b != 0 && (*v = trunc(a / b), true);
  case WS_F_MOD: return b != 0 && (*v = a - b * floor(a / b), true);
  case WS_F_NEG: return *v = -a, true;
  case WS_F_NOT: return *v = a == 0, true;
  case WS_F_MAX: return *v = a > b ? a : b, true;
  case WS_F_MIN: return *v = a < b ? a : b, true;
  case WS_F_EQ: return *v = a == b, true;
  case WS_F_NE: return *v = a != b, true;
  case WS_F_LT: return *v = a < b, true;
  case WS_F_LE: return *v = a <= b, true;
  case WS_F_GT: return *v = a > b, true;
  case WS_F_GE: return *v = a >= b, true;
  case WS_F_AND: return *v = a != 0 && b != 0, true;
  case WS_F_OR: return *v = a != 0 || b != 0, true;
  default: return false;
  }
}

bool ws_known(const struct ws_node *x, int rank, int instance, double *value) {
  double a[3] = {0};
  switch (x->kind) {
  case WS_N_CONST: return *value = x->value, true;
  case WS_N_INSTANCE: return *value = instance, true;
  case WS_N_RANK: return *value = rank, true;
  case WS_N_OP: break;
  default: return false;
  }
  if (x->n > 3) return false;
  bool known[3] = {0};
  for (int i = 0; i < x->n; i++) known[i] = ws_known(x->arg[i], rank, instance, &a[i]);
  if (x->fn == WS_F_AND || x->fn == WS_F_OR) /* one side may decide */
    for (int i = 0; i < 2; i++)
      if (known[i] && (a[i] != 0) == (x->fn == WS_F_OR)) return *value = x->fn == WS_F_OR, true;
  for (int i = 0; i < x->n; i++)
    if (!known[i]) return false;
  if (x->fn == WS_F_SELECT) return *value = a[0] != 0 ? a[1] : a[2], true;
  return operation(x->fn, a[0], a[1], value);
}

int ws_index_at(int base, const struct ws_node *at, int rank, int instance) {
  double v;
  return at && ws_known(at, rank, instance, &v) ? (int)v : base;
}

void ws_each_act(struct ws_acts *acts, ws_act_fn *fn, void *ctx) {
  for (size_t i = 0; i < acts->n; i++) {
    struct ws_act *a = &acts->act[i];
    fn(ctx, a);
    if (a->body) ws_each_act(a->body, fn, ctx);
    for (int k = 0; k < a->narms; k++) ws_each_act(a->arms[k].body, fn, ctx);
  }
}

void ws_each_reached(struct ws_acts *acts, int rank, int instance, ws_reach_fn *fn, void *ctx) {
  for (size_t i = 0; i < acts->n; i++) {
    struct ws_act *a = &acts->act[i];
    fn(ctx, a, rank, instance);
    if (a->body) ws_each_reached(a->body, rank, instance, fn, ctx);
    for (int k = 0; k < a->narms; k++) {
      double v = 1;
      bool known = !a->arms[k].cond || ws_known(a->arms[k].cond, rank, instance, &v);
      if (known && v == 0) continue;
      ws_each_reached(a->arms[k].body, rank, instance, fn, ctx);
      if (known) break;
    }
  }
}
