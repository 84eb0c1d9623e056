/* Work tiles, lists of blocks, and the copies of a loop body that modifiers ask for. */
#include "lower.h"
#include <string.h>

const char *ws_row_origin(struct lower *l) { return ws_lower_named(l, WS_REG_B32, "row0"); }

static void kv_bounds(struct lower *l, const struct ws_problem_list *list, struct list_bounds *b) {
  int step = ws_schedule_block(l->s, list->dim)->step;
  const char *rows = ws_lower_int(l, ws_tile_positions(l->s)), *block = ws_lower_int(l, step), *round = ws_lower_int(l, step - 1);
  b->end = ws_lower_named(l, WS_REG_B32, "%s_end", list->name), b->clear_end = ws_lower_named(l, WS_REG_B32, "%s_clear_end", list->name);
  if (l->s->causal && l->s->tile_rows)
    OP(l, "list_bounds_causal", b->end, b->clear_end, rows, block, round, ws_lower_named(l, WS_REG_B32, "seen"));
  else
    OP(l, "list_bounds", b->end, b->clear_end, ws_lower_extent(l, list->dim), block, round);
  if (l->s->causal && !l->s->tile_rows) b->clear_end = "0"; /* a tile of all rows: some row sees only part of every block */
  if (!l->s->window || !l->s->tile_rows) return;
  b->begin = ws_lower_named(l, WS_REG_B32, "%s_begin", list->name), b->clear_begin = ws_lower_named(l, WS_REG_B32, "%s_clear_begin", list->name);
  OP(l, "list_bounds_window", b->begin, b->clear_begin, rows, ws_lower_int(l, l->s->window), block, round, ws_lower_named(l, WS_REG_B32, "seen"), b->end);
}

/* queries(t), queries(t, j), unseen(t): blocks of queries. Key `col` is seen by the rows from col - diagonal on. */
static void query_bounds(struct lower *l, const struct ws_problem_list *list, const struct ws_node *from, struct list_bounds *b) {
  int step = ws_schedule_block(l->s, list->dim)->step;
  const char *block = ws_lower_int(l, step), *round = ws_lower_int(l, step - 1);
  b->end = ws_lower_named(l, WS_REG_B32, "%s_end", list->unseen ? "unseen" : list->name), b->clear_begin = b->clear_end = "0";
  if (list->unseen)
    OP(l, l->s->causal ? "list_unseen_causal" : "list_unseen", b->end, block, round, ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_PRED));
  else
    OP(l, "list_blocks", b->end, ws_lower_extent(l, list->dim), block, round);
  if (!from || !l->s->causal) return;
  b->begin = ws_lower_named(l, WS_REG_B32, "%s_begin", list->name);
  OP(l, "list_begin_seen", b->begin, ws_uniform_int(l, from), ws_lower_int(l, ws_schedule_block(l->s, list->given)->step), block);
}

/* The bounds of a list. Those of a work tile are computed once at its start, those seen from a block in place. */
struct list_bounds ws_list_bounds(struct lower *l, const struct ws_problem_list *list, const struct ws_node *from) {
  int k = (int)(list - l->s->problem->lists);
  if (!from && l->bounds[k].end) return l->bounds[k];
  struct list_bounds b = {.begin = "0", .clear_begin = "0"};
  struct ws_buf *old = ws_lower_hoist(l, from ? NULL : l->tile_start);
  ws_lower_comment(l, "blocks of %s: %s", list->dim, list->unseen ? "those that no key touches" : "those in sight, and of these the ones that need no mask");
  if (!strcmp(list->dim, l->s->problem->work_dim))
    query_bounds(l, list, from, &b);
  else
    kv_bounds(l, list, &b);
  ws_lower_restore(l, old);
  if (!from) l->bounds[k] = b;
  return b;
}

/* --- work --- */

enum { L2_BYTES = 32 << 20 }; /* of keys and values that shall stay in the L2 cache, 50 MiB on an H200, while their tiles are worked on */

/* Bytes of a key and its value. */
static long token_bytes(const struct lower *l) {
  long n = 0;
  for (int i = 0; i < l->s->ntensors; i++) {
    const struct ws_tensor *t = &l->s->tensors[i];
    if (t->used && !t->out && t->row_dim >= 0 && t->dim[t->row_dim] && !strcmp(t->dim[t->row_dim], "keys") && t->col_dim >= 0 && !t->dim[t->col_dim])
      n += t->fixed[t->col_dim] * (long)ws_type_bits(t->type) / 8;
  }
  return n ? n : 1;
}

/* What a tile's number counts beside its rows: heads, or key heads where a tile has all heads of one. */
static const char *tile_heads(const struct lower *l) { return l->s->group ? "%kv_heads" : "%heads"; }

/* Heads of a tile: batch and head from the number of both. known: %group is. */
static void tile_head(struct lower *l, bool known) {
  if (l->s->group) {
    OP(l, "tile_head_packed", ws_lower_int(l, l->s->group));
    return;
  }
  WS_OP0(&l->px, "tile_head");
  if (!known) WS_OP0(&l->px, "heads_a_key_head");
  WS_OP0(&l->px, "tile_key_head");
}

/* One tile a CTA. Longest first: all heads of a section start with their last rows. */
static void single_tile(struct lower *l, const char *rows, const char *round) {
  if (!l->s->tile_rows) {
    WS_OP0(&l->px, "work_head");
  } else if (ws_sorts_longest(l->s)) {
    const char *section = ws_lower_named(l, WS_REG_B32, "section");
    ws_lower_note(l, "sorted by length within sections of heads whose keys and values stay in the L2 cache");
    WS_OP0(&l->px, l->s->group ? "one_a_key_head" : "heads_a_key_head");
    OP(l, "sections", section, ws_lower_int(l, L2_BYTES / token_bytes(l)), ws_lower_temp(l, WS_REG_B32), rows, round, tile_heads(l));
    OP(l, "work_tile_sections", section, ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), ws_lower_temp(l, WS_REG_B32), rows, tile_heads(l));
    tile_head(l, true);
  } else {
    OP(l, l->s->sort_longest && l->s->arch < 90 ? "work_tile_longest" : "work_tile", rows, round);
    tile_head(l, false);
  }
}

/* A CTA stays for many tiles: one of every n, n being the number of CTAs (or of pairs of them). Where tiles differ in length
 * they come in twins. */
static void first_tile(struct lower *l, const char *rows, const char *round, const char *loop, const char *next, const char *end) {
  const char *tiles = ws_lower_temp(l, WS_REG_B32), *p = ws_lower_temp(l, WS_REG_PRED);
  if (ws_sorts_longest(l->s)) {
    OP(l, "twins_start", ws_lower_named(l, WS_REG_B32, "tile_step"));
    OP(l, "twins_loop", loop, next, tiles, ws_lower_temp(l, WS_REG_B32), p, ws_lower_temp(l, WS_REG_PRED), rows, round, end, tile_heads(l));
    tile_head(l, false);
  } else if (l->s->tile_rows) {
    OP(l, "tile_loop", loop, tiles, rows, round, p, end, tile_heads(l));
    OP(l, "work_tile", rows, round);
    tile_head(l, false);
  } else {
    OP(l, "tile_loop_heads", loop, tiles, p, end);
    WS_OP0(&l->px, "work_head");
  }
}

static void next_tile(struct lower *l, const char *loop, const char *next, const char *end) {
  const char *temp = ws_lower_temp(l, WS_REG_B32);
  bool twins = ws_sorts_longest(l->s);
  if (twins) OP(l, "label", next);
  OP(l, l->s->pair ? "pairs_working" : "ctas_working", temp);
  if (twins)
    OP(l, "twins_again", loop, "%tile_step", temp, end);
  else
    OP(l, "tile_again", loop, temp, end);
}

static void work_loop(struct lower *l, struct ws_act *a) {
  struct ws_buf *before = l->px.out, *outer_start = l->tile_start;
  struct ws_buf body = {.arena = l->arena}, start = {.arena = l->arena};
  l->px.out = &body, l->tile_start = &start, l->pointers.n = 0;
  memset(l->bounds, 0, sizeof l->bounds);
  l->tile = ws_lower_named(l, WS_REG_B32, "tile");
  l->iter[a->iter->index] = (struct iter_state){.index = l->tile, .masked = UNKNOWN, .first = UNKNOWN};
  ws_lower_acts(l, a->body);
  l->tile = NULL;
  l->px.out = before;
  const char *rows = ws_lower_int(l, ws_tile_positions(l->s)), *round = ws_lower_int(l, ws_tile_positions(l->s) - 1);
  const char *loop = ws_ptx_label(&l->px, "tile"), *next = ws_ptx_label(&l->px, "next_tile"), *end = ws_ptx_label(&l->px, "no_tile");
  if (l->s->group) ws_lower_comment(l, "a work tile is %d queries with %s of a key head, so that heads are counted as key heads", ws_tile_positions(l->s), l->s->group > 1 ? ws_fmt(l->arena, "all %d heads", l->s->group) : "the head");
  ws_lower_comment(l, "%s", l->s->persistent ? "a CTA stays for many work tiles; their numbers count row tiles fastest, then heads, then batches"
                                             : "one work tile a CTA; %ctaid.x counts row tiles fastest, then heads, then batches");
  WS_OP0(&l->px, l->s->pair ? "tile_of_pair" : "tile_of_cta");
  if (l->s->arch >= 90 && !l->prog->role->one_thread) OP(l, "uniform", "%tile");
  if (l->s->persistent)
    first_tile(l, rows, round, loop, next, end);
  else
    single_tile(l, rows, round);
  if (start.n) ws_buf_add(before, start.s, start.n);
  if (body.n) ws_buf_add(before, body.s, body.n);
  if (l->s->persistent) next_tile(l, loop, next, end);
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
  struct list_bounds b = ws_list_bounds(l, it->list, it->from);
  const char *j = ws_lower_named(l, WS_REG_B32, "%s_block", it->name), *step = down ? "-1" : "1";
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
  const char *outer = l->block;
  l->depth++, l->block = ws_lower_named(l, WS_REG_B32, "%s_block", a->iter->name);
  list_copies(l, a);
  l->depth--, l->block = outer;
}

void ws_lower_for(struct lower *l, struct ws_act *a) {
  if (a->iter->list)
    list_loop(l, a);
  else
    work_loop(l, a);
}
