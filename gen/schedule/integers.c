/* Names that count: `n = 0` and `n = n + 1`, where something asks for an integer (a phase, a coordinate, the element of a table).
 * The fixpoint of types.c would call `n = 0` an f32, as constants are; here a name is an integer if all that it is ever assigned
 * is one, taking for granted that the names in it are: the greatest fixpoint. */
#include "passes.h"
#include <math.h>
#include <stdint.h>

struct names {
  struct ws_programm *p;
  bool *whole, *asked;         /* by variable */
  bool changed;
};

static bool is_whole(const struct names *n, const struct ws_node *x) {
  switch (x->kind) {
  case WS_N_CONST: return x->value == floor(x->value) && fabs(x->value) < 1e9;
  case WS_N_VAR: return n->whole[x->var->index];
  case WS_N_READ: return x->mem->space == WS_GLOBAL && x->mem->tensor->type == WS_I32;
  case WS_N_ITER: case WS_N_AT: case WS_N_NEXT: case WS_N_LEN: case WS_N_START: case WS_N_INSTANCE: case WS_N_RANK: case WS_N_EXTENT: case WS_N_COORD: case WS_N_QUERY:
    return true;
  case WS_N_OP:
    switch (x->fn) {
    case WS_F_ADD: case WS_F_SUB: case WS_F_MUL: case WS_F_MOD: case WS_F_NEG: case WS_F_MAX: case WS_F_MIN: case WS_F_ABS: return is_whole(n, x->arg[0]) && (x->n < 2 || is_whole(n, x->arg[1]));
    case WS_F_SELECT: return is_whole(n, x->arg[1]) && is_whole(n, x->arg[2]);
    default: return false;
    }
  default: return false;
  }
}

static void ask(struct names *n, const struct ws_node *x) {
  if (!x) return;
  if (x->kind == WS_N_VAR) n->asked[x->var->index] = true;
  for (int i = 0; i < x->n; i++) ask(n, x->arg[i]);
}

static void ask_mem(struct names *n, const struct ws_mem *m) {
  if (!m) return;
  ask(n, m->block);
  ask(n, m->col_block);
  for (int k = 0; k < WS_MAX_DIMS; k++) ask(n, m->coord[k]);
}

static void ask_reads(struct names *n, const struct ws_node *x) {
  if (!x) return;
  ask_mem(n, x->mem);
  ask_mem(n, x->mem2);
  for (int i = 0; i < x->n; i++) ask_reads(n, x->arg[i]);
}

static void asks(void *ctx, struct ws_act *a) {
  struct names *n = ctx;
  const struct ws_mem *mem[] = {a->from, a->to, a->a_mem, a->b_mem};
  for (int i = 0; i < 4; i++) ask_mem(n, mem[i]);
  ask_reads(n, a->value);
  ask_reads(n, a->a);
  switch (a->kind) {
  case WS_S_WAIT_PHASE: case WS_S_ARRIVE_EXPECT: case WS_S_INIT: case WS_S_WAIT_EQ: ask(n, a->value); break;
  default: break;
  }
}

static void assigned(void *ctx, struct ws_act *a) {
  struct names *n = ctx;
  struct ws_var *none[] = {a->kind == WS_S_ASSIGN && a->value && !a->dst_part.given ? NULL : a->dst, a->dst2};
  for (int i = 0; i < 2; i++)
    if (none[i] && n->whole[none[i]->index]) n->whole[none[i]->index] = false, n->changed = true;
  if (a->kind == WS_S_ASSIGN && a->dst && a->value && n->whole[a->dst->index] && !is_whole(n, a->value)) n->whole[a->dst->index] = false, n->changed = true;
}

/* What an integer is made of is one. */
static void passes_on(void *ctx, struct ws_act *a) {
  struct names *n = ctx;
  if (a->kind != WS_S_ASSIGN || !a->dst || !a->value || !n->asked[a->dst->index]) return;
  ask(n, a->value);
}

void ws_find_integers(struct ws_schedule *s, struct ws_programm *p) {
  struct names n = {.p = p, .whole = WS_NEW_N(s->arena, bool, p->nvars + 1), .asked = WS_NEW_N(s->arena, bool, p->nvars + 1), .changed = true};
  for (size_t i = 0; i < p->nvars; i++) n.whole[i] = true;
  for (size_t round = 0; n.changed && round <= p->nvars; round++) n.changed = false, ws_each_act(p->body, assigned, &n);
  ws_each_act(p->body, asks, &n);
  for (size_t round = 0, known = 0, last = SIZE_MAX; known != last && round <= p->nvars; round++) {
    last = known, known = 0;
    ws_each_act(p->body, passes_on, &n);
    for (size_t i = 0; i < p->nvars; i++) known += n.asked[i];
  }
  for (size_t i = 0; i < p->nvars; i++)
    if (n.whole[i] && n.asked[i]) p->vars[i]->type = WS_I32;
}
