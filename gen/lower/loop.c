/* Work tiles, lists of blocks, and the copies of a loop body that modifiers ask for. */
#include "lower.h"
#include <string.h>

const char *ws_row_origin(struct lower *l) { return ws_lower_named(l, WS_REG_B32, "row0"); }

/* The bounds of a list, once a work tile. Row i sees the keys up to i + keys - queries, `window` of them. */
struct list_bounds ws_list_bounds(struct lower *l, const struct ws_problem_list *list) {
  if (l->bounds.end) return l->bounds;
  if (!list->seen_from || !l->s->tile_rows) {
    ws_error(l->diags, l->prog->decl->pos, "not-lowered", "list `%s` over `%s`: not lowered for %s", list->name, list->dim, l->s->target);
    return (struct list_bounds){"0", "0", "0", "0"};
  }
  struct list_bounds b = {.begin = "0", .clear_begin = "0"};
  int step = ws_schedule_block(l->s, list->dim)->step;
  const char *rows = ws_lower_int(l, l->s->tile_rows), *block = ws_lower_int(l, step), *round = ws_lower_int(l, step - 1);
  b.end = ws_lower_named(l, WS_REG_B32, "%s_end", list->name), b.clear_end = ws_lower_named(l, WS_REG_B32, "%s_clear_end", list->name);
  struct ws_buf *old = ws_lower_hoist(l, l->tile_start);
  ws_lower_comment(l, "blocks of %s that this tile sees, and of these the ones that need no mask", list->dim);
  if (l->s->causal)
    OP(l, "list_bounds_causal", b.end, b.clear_end, rows, block, round, ws_lower_named(l, WS_REG_B32, "seen"));
  else
    OP(l, "list_bounds", b.end, b.clear_end, block, round);
  if (l->s->window) {
    b.begin = ws_lower_named(l, WS_REG_B32, "%s_begin", list->name), b.clear_begin = ws_lower_named(l, WS_REG_B32, "%s_clear_begin", list->name);
    OP(l, "list_bounds_window", b.begin, b.clear_begin, rows, ws_lower_int(l, l->s->window), block, round, ws_lower_named(l, WS_REG_B32, "seen"), b.end);
  }
  ws_lower_restore(l, old);
  return l->bounds = b;
}

/* --- work --- */

static void work_loop(struct lower *l, struct ws_act *a) {
  struct ws_buf *before = l->px.out, *outer_start = l->tile_start;
  struct ws_buf body = {.arena = l->arena}, start = {.arena = l->arena};
  l->px.out = &body, l->tile_start = &start, l->bounds = (struct list_bounds){0}, l->pointers.n = 0;
  l->iter[a->iter->index] = (struct iter_state){.index = ws_lower_named(l, WS_REG_B32, "tile"), .masked = UNKNOWN, .first = UNKNOWN};
  ws_lower_acts(l, a->body);
  l->px.out = before;
  ws_lower_comment(l, "one work tile a CTA; %%ctaid.x counts row tiles fastest, then heads, then batches");
  const char *rows = ws_lower_int(l, l->s->tile_rows), *round = ws_lower_int(l, l->s->tile_rows - 1);
  OP(l, l->s->sort_longest ? "work_tile_longest" : "work_tile", rows, round);
  if (start.n) ws_buf_add(before, start.s, start.n);
  if (body.n) ws_buf_add(before, body.s, body.n);
  l->tile_start = outer_start;
}

/* --- lists of blocks --- */

struct span {            /* consecutive blocks of a list that share a copy of the body */
  const char *to;        /* descending runs while index >= to, ascending while index < to */
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

/* One iteration, if the list has one. */
static void single(struct lower *l, struct ws_act *a, const struct list_bounds *b) {
  const char *skip = ws_ptx_label(&l->px, "end"), *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", "le", p, b->end, b->begin);
  OP(l, "branch_if", p, skip);
  ws_lower_acts(l, a->body);
  OP(l, "label", skip);
}

static void list_copies(struct lower *l, struct ws_act *a) {
  const struct ws_iter *it = a->iter;
  bool down = it->descending;
  struct list_bounds b = ws_list_bounds(l, it->list);
  const char *j = ws_lower_named(l, WS_REG_B32, "%s", it->name), *step = down ? "-1" : "1";
  struct iter_state *st = &l->iter[it->index];
  *st = (struct iter_state){.index = j, .masked = UNKNOWN, .first = it->part == WS_FIRST ? YES : UNKNOWN};
  if ((it->part == WS_LAST) == down)
    OP(l, "mov_s32", j, b.begin);
  else
    OP(l, "add_s32", j, b.end, "-1");
  if (it->part == WS_REST) OP(l, "add_s32", j, j, step);
  if (it->part == WS_FIRST || it->part == WS_LAST) return single(l, a, &b);
  if (a->peel_first && it->part == WS_ALL) {
    st->first = YES;
    single(l, a, &b);
    memset(l->temp, 0, sizeof l->temp);
    OP(l, "add_s32", j, j, step);
  }
  enum tri first = a->peel_first || it->part == WS_REST ? NO : UNKNOWN;
  const char *stop = down ? b.begin : b.end;
  if (!a->split_masked) return body_copies(l, a, &(struct span){stop, UNKNOWN, first, "loop"}, j);
  bool left = l->s->window > 0; /* the mask cuts at both ends */
  ws_lower_comment(l, "%s", down ? "the last blocks first: those that the mask cuts on the right" : left ? "the blocks that the mask cuts on the left" : "the blocks that all rows see whole");
  if (down || left) body_copies(l, a, &(struct span){down ? b.clear_end : b.clear_begin, YES, first, "masked"}, j);
  if (down || left) ws_lower_comment(l, "the blocks that all rows see whole");
  body_copies(l, a, &(struct span){down ? b.clear_begin : b.clear_end, NO, first, "clear"}, j);
  if (down && !left) return;
  ws_lower_comment(l, "the blocks that the mask cuts on the %s", down ? "left" : "right");
  body_copies(l, a, &(struct span){stop, YES, first, "masked"}, j);
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
