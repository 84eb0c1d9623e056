/* Work tiles, lists of blocks, and the copies of a loop body that modifiers ask for. */
#include "lower.h"
#include <string.h>

const char *ws_row_origin(struct lower *l) { return ws_lower_named(l, WS_REG_B32, "row0"); }

/* The bounds of a list, once a work tile: blocks with a visible key, and the blocks before which all of the tile sees
 * every key. */
static void bounds(struct lower *l, const struct ws_problem_list *list) {
  if (l->limits) return;
  if (!list->seen_from || !l->s->tile_rows) {
    ws_error(l->diags, l->prog->decl->pos, "not-lowered", "list `%s` over `%s`: not lowered for %s", list->name, list->dim, l->s->target);
    return;
  }
  const char *n = ws_lower_named(l, WS_REG_B32, "%s_blocks", list->name), *clear = ws_lower_named(l, WS_REG_B32, "%s_clear", list->name);
  const char *step = ws_lower_int(l, ws_schedule_block(l->s, list->dim)->step);
  const char *round = ws_lower_int(l, ws_schedule_block(l->s, list->dim)->step - 1);
  struct ws_buf *old = ws_lower_hoist(l, l->tile_start);
  l->limits = n;
  if (l->s->causal)
    OP(l, "list_bounds_causal", n, clear, ws_lower_int(l, l->s->tile_rows), step, round, ws_lower_named(l, WS_REG_B32, "seen"));
  else
    OP(l, "list_bounds", n, clear, step, round);
  ws_lower_restore(l, old);
}

const char *ws_list_count(struct lower *l, const struct ws_problem_list *list) {
  bounds(l, list);
  return ws_lower_named(l, WS_REG_B32, "%s_blocks", list->name);
}

const char *ws_list_clear(struct lower *l, const struct ws_problem_list *list) {
  bounds(l, list);
  return ws_lower_named(l, WS_REG_B32, "%s_clear", list->name);
}

/* --- work --- */

static void work_loop(struct lower *l, struct ws_act *a) {
  struct ws_buf *before = l->px.out, *outer_start = l->tile_start;
  struct ws_buf body = {.arena = l->arena}, start = {.arena = l->arena};
  l->px.out = &body, l->tile_start = &start, l->limits = NULL, l->npointers = 0;
  l->iter[a->iter->index] = (struct iter_state){.index = ws_lower_named(l, WS_REG_B32, "tile"), .masked = UNKNOWN, .first = UNKNOWN};
  ws_lower_acts(l, a->body);
  l->px.out = before;
  ws_lower_comment(l, "work tile %%ctaid.x: row tiles fastest, then heads, then batches");
  const char *rows = ws_lower_int(l, l->s->tile_rows), *round = ws_lower_int(l, l->s->tile_rows - 1);
  OP(l, l->s->sort_longest ? "work_tile_longest" : "work_tile", rows, round);
  if (start.n) ws_buf_add(before, start.s, start.n);
  if (body.n) ws_buf_add(before, body.s, body.n);
  l->tile_start = outer_start;
}

/* --- lists of blocks --- */

struct span {            /* consecutive blocks of a list that share a copy of the body */
  const char *from, *to; /* first block number; bound: descending runs while index >= to, ascending while index < to */
  enum tri masked, first;
  const char *what;
};

static void body_copies(struct lower *l, struct ws_act *a, const struct span *sp, const char *j) {
  const char *step = a->iter->descending ? "-1" : "1", *cmp = a->iter->descending ? "ge" : "lt";
  const char *loop = ws_ptx_label(&l->px, ws_fmt(l->arena, "%s_%s", a->iter->name, sp->what)), *end = ws_ptx_label(&l->px, "end");
  int copies = a->unroll > 1 ? a->unroll : 1;
  l->iter[a->iter->index].masked = sp->masked, l->iter[a->iter->index].first = sp->first;
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "loop_enter", p, cmp, j, sp->to, end, loop, a->unroll == 1 ? "\n.pragma \"nounroll\";" : "");
  for (int k = 0; k < copies; k++) {
    ws_lower_acts(l, a->body);
    memset(l->temp, 0, sizeof l->temp);
    p = ws_lower_temp(l, WS_REG_PRED);
    if (k + 1 < copies)
      OP(l, "loop_leave", p, cmp, j, step, sp->to, end);
    else
      OP(l, "loop_again", p, cmp, j, step, sp->to, loop);
  }
  OP(l, "label", end);
}

static const char *minus(struct lower *l, const char *a, long n) {
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, a, ws_lower_int(l, -n));
  return d;
}

/* peel first: one iteration of its own. */
static void peeled(struct lower *l, struct ws_act *a, const char *j) {
  bool down = a->iter->descending;
  const char *skip = ws_ptx_label(&l->px, "end"), *p = ws_lower_temp(l, WS_REG_PRED);
  l->iter[a->iter->index].first = YES, l->iter[a->iter->index].masked = UNKNOWN;
  OP(l, "compare_s32", "le", p, ws_list_count(l, a->iter->list), "0");
  OP(l, "branch_if", p, skip);
  ws_lower_acts(l, a->body);
  memset(l->temp, 0, sizeof l->temp);
  OP(l, "add_s32", j, j, down ? "-1" : "1");
  OP(l, "label", skip);
}

static void list_copies(struct lower *l, struct ws_act *a) {
  const struct ws_iter *it = a->iter;
  bool down = it->descending;
  const char *n = ws_list_count(l, it->list), *j = ws_lower_named(l, WS_REG_B32, "%s", it->name);
  const char *first = down ? minus(l, n, 1) : "0";
  l->iter[it->index] = (struct iter_state){.index = j, .masked = UNKNOWN, .first = UNKNOWN};
  bool single = it->part == WS_FIRST || it->part == WS_LAST;
  bool at_end = it->part == WS_LAST;
  const char *start = it->part == WS_REST ? down ? minus(l, n, 2) : "1" : at_end ? down ? "0" : minus(l, n, 1) : first;
  OP(l, "mov_s32", j, start);
  if (single) {
    struct span sp = {.masked = UNKNOWN, .first = it->part == WS_FIRST ? YES : UNKNOWN, .what = it->part == WS_FIRST ? "first" : "last"};
    const char *skip = ws_ptx_label(&l->px, "end"), *p = ws_lower_temp(l, WS_REG_PRED);
    l->iter[it->index].first = sp.first;
    OP(l, "compare_s32", "le", p, n, "0");
    OP(l, "branch_if", p, skip);
    ws_lower_acts(l, a->body);
    OP(l, "label", skip);
    return;
  }
  enum tri is_first = a->peel_first || it->part == WS_REST ? NO : UNKNOWN;
  if (a->peel_first && it->part == WS_ALL) peeled(l, a, j);
  struct span all = {.to = down ? "0" : n, .masked = UNKNOWN, .first = is_first, .what = "loop"};
  if (!a->split_masked) {
    body_copies(l, a, &all, j);
    return;
  }
  const char *clear = ws_list_clear(l, it->list);
  struct span masked = {.to = down ? clear : n, .masked = YES, .first = is_first, .what = "masked"};
  struct span plain = {.to = down ? "0" : clear, .masked = NO, .first = is_first, .what = "clear"};
  ws_lower_comment(l, "%s blocks first: those that the mask cuts%s", down ? "the last" : "the clear", down ? "" : " come last");
  body_copies(l, a, down ? &masked : &plain, j);
  ws_lower_comment(l, "%s", down ? "the blocks that all rows see whole" : "the blocks that the mask cuts");
  body_copies(l, a, down ? &plain : &masked, j);
}

static void list_loop(struct lower *l, struct ws_act *a) {
  l->depth++;
  list_copies(l, a);
  l->depth--;
}

void ws_lower_for(struct lower *l, struct ws_act *a) {
  if (a->iter->list)
    list_loop(l, a);
  else
    work_loop(l, a);
}
