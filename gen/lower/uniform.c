/* Values that all threads of a CTA share: block numbers, list lengths, conditions. Signed 32-bit. */
#include "eval.h"
#include <string.h>

const char *ws_scalar(struct lower *l, const struct ws_problem_scalar *p) {
  if (!p->arg) return ws_ptx_float(&l->px, p->factor);
  l->used[p - l->s->problem->scalars] = true;
  return ws_lower_named(l, WS_REG_F32, "%s", p->name);
}

static const char *uniform_int(struct lower *l, const struct ws_node *x);

static const struct iter_state *state(const struct lower *l, const struct ws_node *x) { return &l->iter[x->iter->index]; }

/* Made of numbers, the instance and the rank alone. */
static bool by_instance(const struct ws_node *x) {
  if (x->kind != WS_N_OP) return x->kind == WS_N_CONST || x->kind == WS_N_INSTANCE || x->kind == WS_N_RANK;
  for (int i = 0; i < x->n; i++)
    if (!by_instance(x->arg[i])) return false;
  return true;
}

/* What depends on the instance alone is computed once, at the start of the program. */
static const char *of_instance(struct lower *l, const struct ws_node *x) {
  for (size_t i = 0; i < l->nfixed; i++)
    if (ws_same_node(l->fixed[i].node, x)) return l->fixed[i].reg;
  double v;
  if (!l->s->pair && l->prog->count == 1 && ws_known(x, 0, l->prog->first, &v)) return ws_lower_int(l, (long)v);
  struct fixed *f = WS_PUSH(l->arena, l->fixed, l->nfixed, l->fixed_cap);
  *f = (struct fixed){x, ws_lower_named(l, WS_REG_B32, "of_instance%zu", l->nfixed)};
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  ws_lower_comment(l, "which element this instance of the role takes");
  const char *d = uniform_int(l, x);
  OP(l, "mov_s32", f->reg, d);
  ws_lower_restore(l, old);
  return f->reg;
}

const char *ws_uniform_int(struct lower *l, const struct ws_node *x) {
  return x->kind == WS_N_OP && by_instance(x) ? of_instance(l, x) : uniform_int(l, x);
}

/* A load asks for its block's number in its condition, its address and the rows that are left: all of these are on one way
 * through the code, so that the register of the first holds it for the others. */
const char *ws_block_number(struct lower *l, const struct ws_node *x) {
  if (l->hoisting || (x->kind != WS_N_AT && x->kind != WS_N_NEXT)) return ws_uniform_int(l, x);
  if (l->known.node && ws_same_node(l->known.node, x)) return l->known.reg;
  struct ws_node *node = WS_NEW(l->arena, struct ws_node);
  *node = *x;
  l->known = (struct fixed){node, ws_uniform_int(l, x)};
  return l->known.reg;
}

/* Numbers of tiles, blocks, instances and extents are none; a difference may be. */
static bool may_be_negative(const struct ws_node *x) {
  if (x->kind == WS_N_CONST) return x->value < 0;
  if (x->kind == WS_N_VAR || (x->kind == WS_N_NEXT && x->count < 0)) return true;
  if (x->kind == WS_N_OP && (x->fn == WS_F_SUB || x->fn == WS_F_NEG)) return true;
  if (x->kind == WS_N_OP && x->fn == WS_F_MOD) return false;
  for (int i = 0; i < x->n; i++)
    if (may_be_negative(x->arg[i])) return true;
  return false;
}

/* An integer that a program computed: the same in all lanes. */
static const char *int_of_data(struct lower *l, const struct ws_node *x) {
  struct eval *ev = WS_NEW(l->arena, struct eval);
  ev->l = l, ev->ext = ws_extent(l, 1, 1, WS_L_NONE);
  ws_eval_prepare(ev, x, true);
  return ws_eval_element(ev, x, 0, WS_I32, NULL);
}

static const char *uniform_int(struct lower *l, const struct ws_node *x) {
  const char *d;
  switch (x->kind) {
  case WS_N_CONST:
    if (x->value == (double)(long)x->value && x->value > -1e9 && x->value < 1e9) return ws_lower_int(l, (long)x->value);
    break;
  case WS_N_ITER: return state(l, x)->index;
  case WS_N_INSTANCE: return l->prog->count == 1 ? ws_lower_int(l, l->prog->first) : "%instance";
  case WS_N_RANK: return l->s->pair ? "%rank" : "0";
  case WS_N_START: return ws_tile_start(l, x->mem);
  case WS_N_EXTENT: return ws_lower_extent(l, x->name);
  case WS_N_LEN: {
    struct list_bounds b = ws_list_bounds(l, x->list, x->from);
    if (!strcmp(b.begin, "0")) return b.end;
    d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "sub_s32", d, b.end, b.begin);
    return d;
  }
  case WS_N_AT: {
    bool down = ws_schedule_block(l->s, x->list->dim)->descending;
    struct list_bounds b = ws_list_bounds(l, x->list, x->from);
    d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "add_s32", d, down ? b.end : b.begin, ws_lower_int(l, down ? -1 - x->count : x->count));
    return d;
  }
  case WS_N_NEXT:
    d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "add_s32", d, state(l, x)->index, ws_lower_int(l, x->iter->descending ? -x->count : x->count));
    return d;
  case WS_N_OP:
    if (x->fn == WS_F_MOD && may_be_negative(x->arg[0])) {
      const char *a = uniform_int(l, x->arg[0]), *b = uniform_int(l, x->arg[1]);
      OP(l, "modulus_s32", d = ws_lower_temp(l, WS_REG_B32), a, b, ws_lower_temp(l, WS_REG_PRED));
      return d;
    }
    if (x->n == 2 && (x->fn <= WS_F_MUL || x->fn == WS_F_DIV || x->fn == WS_F_MOD)) {
      static const char *const ops[] = {[WS_F_ADD] = "add_s32", [WS_F_SUB] = "sub_s32", [WS_F_MUL] = "mul_s32", [WS_F_DIV] = "div_s32", [WS_F_MOD] = "rem_s32"}; /* of instances and lists: not negative */
      const char *a = uniform_int(l, x->arg[0]), *b = uniform_int(l, x->arg[1]);
      d = ws_lower_temp(l, WS_REG_B32);
      OP(l, ops[x->fn], d, a, b);
      return d;
    }
    if (x->type == WS_I32 && x->rows == 1 && x->cols == 1) return int_of_data(l, x);
    break;
  case WS_N_COORD: return !strcmp(x->name, "batch") ? "%batch" : !strcmp(x->name, "head") ? "%head" : !strcmp(x->name, "kv_head") ? "%kv_head" : "0"; /* supported.c: no splits */
  case WS_N_READ:
    if (x->type == WS_I32 && x->rows == 1 && x->cols == 1) return int_of_data(l, x);
    break;
  case WS_N_VAR:
    if (x->type == WS_I32 && x->rows == 1 && x->cols == 1) return ws_tile_of(l, x->var)->reg[0];
    break;
  default: break;
  }
  ws_error(l->diags, x->pos, "not-lowered", "this is no uniform integer that %s code can compute", l->s->target);
  return "0";
}

/* Is the condition known in this copy of the code? */
enum tri ws_uniform_static(struct lower *l, const struct ws_node *x) {
  enum tri a, b;
  switch (x->kind) {
  case WS_N_CONST: return x->value != 0 ? YES : NO;
  case WS_N_IS_FIRST: return state(l, x)->first;
  case WS_N_IS_MASKED: return state(l, x)->masked;
  case WS_N_OP:
    if (x->fn == WS_F_NOT) {
      a = ws_uniform_static(l, x->arg[0]);
      return a == UNKNOWN ? UNKNOWN : a == YES ? NO : YES;
    }
    if (x->fn != WS_F_AND && x->fn != WS_F_OR) return UNKNOWN;
    a = ws_uniform_static(l, x->arg[0]), b = ws_uniform_static(l, x->arg[1]);
    if (x->fn == WS_F_AND) return a == NO || b == NO ? NO : a == YES && b == YES ? YES : UNKNOWN;
    return a == YES || b == YES ? YES : a == NO && b == NO ? NO : UNKNOWN;
  default: return UNKNOWN;
  }
}

static const char *compare(struct lower *l, const char *op, const char *a, const char *b) {
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", op, p, a, b);
  return p;
}

/* Is the loop at the first / last block of its list? */
static const char *at_end(struct lower *l, const struct ws_node *x, bool first) {
  struct list_bounds b = ws_list_bounds(l, x->iter->list, x->iter->from);
  if (first != x->iter->descending) return compare(l, "eq", state(l, x)->index, b.begin);
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, b.end, "-1");
  return compare(l, "eq", state(l, x)->index, d);
}

static const char *in_mask(struct lower *l, const struct ws_node *x) {
  struct list_bounds b = ws_list_bounds(l, x->iter->list, x->iter->from);
  const char *p = compare(l, "ge", state(l, x)->index, b.clear_end);
  if (!strcmp(b.clear_begin, "0")) return p;
  const char *left = compare(l, "lt", state(l, x)->index, b.clear_begin), *both = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "or_pred", both, p, left);
  return both;
}

static bool from_data(const struct ws_node *x) {
  if (x->kind == WS_N_VAR || x->kind == WS_N_READ) return true;
  for (int i = 0; i < x->n; i++)
    if (from_data(x->arg[i])) return true;
  return false;
}

/* A condition on single values that a program computed or read: the same in all lanes, each finds it for itself. */
static const char *of_data(struct lower *l, const struct ws_node *x) {
  struct eval *ev = WS_NEW(l->arena, struct eval);
  ev->l = l, ev->ext = ws_extent(l, 1, 1, WS_L_NONE);
  ws_eval_prepare(ev, x, true);
  return ws_eval_predicate(ev, x, 0);
}

const char *ws_uniform_pred(struct lower *l, const struct ws_node *x, bool *negated) {
  enum tri known = ws_uniform_static(l, x);
  *negated = known == NO;
  if (known != UNKNOWN) return NULL;
  switch (x->kind) {
  case WS_N_LEN: {
    struct list_bounds b = ws_list_bounds(l, x->list, x->from);
    return compare(l, "gt", b.end, b.begin);
  }
  case WS_N_HAS_NEXT: {
    struct list_bounds b = ws_list_bounds(l, x->iter->list, x->iter->from);
    const char *next = ws_block_number(l, &(struct ws_node){.kind = WS_N_NEXT, .iter = x->iter, .count = x->count});
    return x->iter->descending ? compare(l, "ge", next, b.begin) : compare(l, "lt", next, b.end);
  }
  case WS_N_REDUCE:
    if (x->fn == WS_F_ANY || x->fn == WS_F_ALL) return ws_lower_vote(l, x);
    break;
  case WS_N_VAR:
    if (x->type == WS_BOOL) return ws_tile_of(l, x->var)->reg[0];
    break;
  case WS_N_IS_FIRST: return at_end(l, x, true);
  case WS_N_IS_LAST: return at_end(l, x, false);
  case WS_N_IS_MASKED: return in_mask(l, x);
  case WS_N_OP: {
    static const char *const ops[] = {[WS_F_EQ] = "eq", [WS_F_NE] = "ne", [WS_F_LT] = "lt", [WS_F_LE] = "le", [WS_F_GT] = "gt", [WS_F_GE] = "ge"};
    bool neg = false;
    if (x->fn == WS_F_NOT) {
      const char *p = ws_uniform_pred(l, x->arg[0], &neg), *d = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "not_pred", d, p);
      return d;
    }
    if (x->fn == WS_F_AND || x->fn == WS_F_OR) {
      const char *a = ws_uniform_pred(l, x->arg[0], &neg), *b = ws_uniform_pred(l, x->arg[1], &neg);
      if (!a || !b) return a ? a : b; /* the known side decides nothing */
      const char *d = ws_lower_temp(l, WS_REG_PRED);
      OP(l, x->fn == WS_F_AND ? "and_pred" : "or_pred", d, a, b);
      return d;
    }
    if (x->fn >= WS_F_EQ && x->fn <= WS_F_GE && from_data(x)) return of_data(l, x);
    if (x->fn >= WS_F_EQ && x->fn <= WS_F_GE) return compare(l, ops[x->fn], ws_uniform_int(l, x->arg[0]), ws_uniform_int(l, x->arg[1]));
    break;
  }
  default: break;
  }
  ws_error(l->diags, x->pos, "not-lowered", "this condition is not uniform over the CTA: write `a if cond else b` for elements");
  return NULL;
}
