/* What concerns whole rows of an accumulator: reductions, votes, masks, positions. */
#include "eval.h"
#include <math.h>
#include <string.h>

/* --- reductions along a row: 2 nt elements in each of 4 lanes --- */

/* The whole row, which is in one thread: four chains. On sm_100 and later a maximum has three operands (PTX ISA, max). */
static const char *lane_row(struct lower *l, const struct tile *in, const char *op) {
  const char *chain[4] = {0};
  bool max = !strcmp(op, "max_f32"), three = max && l->s->arch >= 100;
  if (!max && ws_packs_f32(l) && in->nt % 4 == 0) return ws_lower_pair_sum(l, in);
  for (int e = 0; e < in->nt; e++) {
    int c = e % 4;
    if (three && chain[c] && e / 4 % 2 && e + 4 < in->nt) { /* with the column that is next in its chain, which is skipped below */
      const char *d = e < 8 ? ws_lower_temp(l, WS_REG_F32) : chain[c];
      OP(l, "max3_f32", d, chain[c], in->reg[e], in->reg[e + 4]);
      chain[c] = d;
      continue;
    }
    if (three && chain[c] && e / 4 % 2 == 0) continue;
    const char *d = chain[c] ? e < 8 ? ws_lower_temp(l, WS_REG_F32) : chain[c] : NULL;
    if (d) OP(l, op, d, chain[c], in->reg[e]);
    chain[c] = d ? d : in->reg[e];
  }
  for (int step = 1; step < 4; step *= 2)
    for (int c = 0; c + step < 4; c += 2 * step)
      if (chain[c + step]) {
        const char *d = ws_lower_temp(l, WS_REG_F32);
        OP(l, op, d, chain[c], chain[c + step]);
        chain[c] = d;
      }
  return chain[0];
}

/* This lane's part of row r: two chains, so that the latency of one hides behind the other. */
static const char *lane_part(struct lower *l, const struct tile *in, int r, const char *op) {
  if (in->lane) return lane_row(l, in, op);
  const char **row = &in->reg[r / 2 * in->nt * 4 + r % 2 * 2], *chain[2] = {row[0], row[1]};
  for (int ni = 1; ni < in->nt; ni++)
    for (int c = 0; c < 2; c++) {
      const char *d = ni == 1 ? ws_lower_temp(l, WS_REG_F32) : chain[c];
      OP(l, op, d, chain[c], row[ni * 4 + c]);
      chain[c] = d;
    }
  const char *acc = ws_lower_temp(l, WS_REG_F32);
  OP(l, op, acc, chain[0], chain[1]);
  return acc;
}

struct tile ws_lower_reduce(struct lower *l, const struct ws_node *x) {
  struct tile in = ws_lower_value(l, x->arg[0]);
  if (in.packed) return ws_lower_half_reduce(l, &in, x->fn == WS_F_ROWMAX);
  struct extent of = ws_tile_extent(&in);
  struct tile out = {.mt = in.mt, .n = ws_row_slots(&of), .lane = in.lane, .reg = WS_NEW_N(l->arena, const char *, in.mt * 2)};
  bool max = x->fn == WS_F_ROWMAX;
  for (int r = 0; r < out.n; r++) {
    const char *acc = in.nt ? lane_part(l, &in, r, max ? "max_f32" : "add_f32") : in.reg[r];
    if (x->fn != WS_F_ROWPART && !in.lane) {
      const char *full = ws_lower_temp(l, WS_REG_F32), *other = ws_lower_temp(l, WS_REG_F32);
      OP(l, max ? "quad_max" : "quad_sum", full, acc, other);
      acc = full;
    }
    out.reg[r] = acc;
  }
  return out;
}

/* --- reductions along a column: 2 mt elements in each of 8 lanes, all rows in this warp --- */

struct tile ws_lower_column_reduce(struct lower *l, const struct ws_node *x) {
  struct tile in = ws_lower_value(l, x->arg[0]), out = {.nt = in.nt, .n = in.nt * 2, .reg = WS_NEW_N(l->arena, const char *, in.nt * 2)};
  bool max = x->fn == WS_F_COLMAX;
  if (!in.nt) out.n = 1, out.reg = WS_NEW_N(l->arena, const char *, 1); /* a row vector has one column */
  for (int c = 0; c < out.n; c++) {
    const char *acc = in.reg[in.nt ? c / 2 * 4 + c % 2 : 0];
    for (int r = 1; r < in.mt * 2; r++) {
      const char *d = r == 1 ? ws_lower_temp(l, WS_REG_F32) : acc;
      OP(l, max ? "max_f32" : "add_f32", d, acc, in.reg[in.nt ? (r / 2 * in.nt + c / 2) * 4 + r % 2 * 2 + c % 2 : r]);
      acc = d;
    }
    OP(l, max ? "rows_max" : "rows_sum", out.reg[c] = ws_lower_temp(l, WS_REG_F32), acc, ws_lower_temp(l, WS_REG_F32));
  }
  return out;
}

/* --- votes --- */

/* `any(x > v)` with one v a row asks whether this lane's largest x of the row exceeds v: the maximum of a row costs no more
 * than its comparisons, and the test is one a row. NaN loses in both forms. */
static bool by_row(const struct ws_node *x) {
  const struct ws_node *c = x->arg[0];
  if (x->fn != WS_F_ANY || c->kind != WS_N_OP || (c->fn != WS_F_GT && c->fn != WS_F_GE)) return false;
  return c->arg[0]->cols > 1 && c->arg[0]->rows > 1 && c->arg[0]->type == WS_F32 && c->arg[1]->cols == 1;
}

const char *ws_lower_vote(struct lower *l, const struct ws_node *x) {
  struct ws_node *c = ws_rewritten(l, x->arg[0]);
  const char *vote = ws_lower_temp(l, WS_REG_PRED), *lane = NULL;
  struct eval *ev = WS_NEW(l->arena, struct eval);
  struct tile in = {0};
  bool rows = by_row(x);
  ev->l = l, ev->ext = ws_extent(l, c->rows, rows ? 1 : c->cols, c->layout);
  if (rows) in = ws_lower_value(l, c->arg[0]);
  ws_eval_prepare(ev, rows ? c->arg[1] : c, true);
  for (int e = 0; e < ev->ext.n; e++) {
    const char *p;
    if (rows) {
      p = ws_lower_temp(l, WS_REG_PRED);
      OP(l, "compare_f32", ws_compare_ops[c->fn], p, lane_part(l, &in, e, "max_f32"), ws_eval_element(ev, c->arg[1], e, WS_F32, NULL));
    } else
      p = ws_eval_predicate(ev, c, e);
    if (lane) OP(l, x->fn == WS_F_ANY ? "or_pred" : "and_pred", p, p, lane);
    lane = p;
  }
  OP(l, "vote", ws_fn_name(x->fn), vote, lane);
  return vote;
}

const char *ws_tile_start(struct lower *l, const struct ws_mem *m) {
  const char *first = m->tensor->row_dim >= 0 && !m->tensor->dim[m->tensor->row_dim] ? "0" : ws_row_origin(l);
  if (m->block) OP(l, "mul_s32", first = ws_lower_temp(l, WS_REG_B32), ws_uniform_int(l, m->block), ws_lower_int(l, m->block_rows));
  if (ws_packed(l, m)) {
    if (m->row0 || m->row_at) OP(l, "add_s32", first = ws_lower_temp(l, WS_REG_B32), ws_row_origin(l), ws_packed_query(l, ws_packed_row(l, m, "0"), 0));
    return first;
  }
  for (int k = 0; k < 2; k++) {
    const char *more = k ? m->row_at ? ws_uniform_int(l, m->row_at) : NULL : m->row0 ? ws_lower_int(l, m->row0) : NULL, *d;
    if (more) OP(l, "add_s32", d = ws_lower_temp(l, WS_REG_B32), first, more), first = d;
  }
  return first;
}

/* --- masks --- */

/* The limits of a causal mask in a packed tile, whose rows are queries of several heads: by the query of each slot. */
static void packed_limits(struct lower *l, const struct ws_node *x, const struct extent *ex, const char **lim, const char *left, const char *first) {
  const char *row = ws_packed_row(l, x->mem, ex->lane ? "%thread" : ws_acc_row(l, ws_warp_rows(l, x->rows))), *diagonal = NULL;
  bool even = 8 % l->s->group == 0; /* 8 rows are whole queries */
  for (int r = 0; r < ws_row_slots(ex); r++) {
    if (!even || !r) OP(l, ex->lane ? "mask_diagonal_lane" : "mask_diagonal", diagonal = ws_lower_temp(l, WS_REG_B32), ws_packed_query(l, row, r * 8L), first);
    OP(l, "mask_row", lim[r], left, diagonal, ws_lower_int(l, even ? r * 8 / l->s->group + 1 : 1));
  }
}

/* First column, counted from this thread's first, that row slot r may not see: the end of the keys, and for a causal mask
 * the diagonal, aligned bottom-right (row i sees keys up to i + keys - queries). */
static const char **mask_limits(struct lower *l, const struct ws_node *x, struct extent ex) {
  const struct ws_mem *rows = x->mem, *cols = x->mem2;
  const char **lim = ws_ptx_temps(&l->px, WS_REG_B32, "limit", (size_t)ws_row_slots(&ex)), *left = ws_lower_named(l, WS_REG_B32, "keys_left"), *diagonal = NULL;
  const char *first = ws_tile_start(l, cols);
  OP(l, ex.lane ? "sub_s32" : "mask_keys", left, ws_lower_extent(l, cols->tensor->dim[cols->tensor->row_dim]), first);
  if (l->s->causal && ws_packed(l, rows)) {
    packed_limits(l, x, &ex, lim, left, first);
    return lim;
  }
  if (l->s->causal) OP(l, ex.lane ? "mask_diagonal_lane" : "mask_diagonal", diagonal = ws_lower_named(l, WS_REG_B32, "to_diagonal"), ex.lane ? "%thread" : ws_acc_row(l, ws_warp_rows(l, x->rows)), first);
  if (diagonal && rows->row_at) OP(l, "add_s32", diagonal, diagonal, ws_uniform_int(l, rows->row_at));
  int slots = ws_row_slots(&ex);
  const char **of = WS_NEW_N(l->arena, const char *, slots);
  for (int r = 0; r < slots; r++) {
    of[r] = left;
    if (diagonal) OP(l, "mask_row", of[r] = lim[r], left, diagonal, ws_lower_int(l, rows->row0 + r * 8 + 1));
  }
  return of;
}

struct tile ws_lower_mask(struct lower *l, const struct ws_node *x, const struct tile *into) {
  struct extent ex = ws_extent(l, x->rows, x->cols, x->layout);
  struct tile in = ws_lower_value(l, x->arg[0]), out = *into;
  const char **lim = mask_limits(l, x, ex);
  ws_lower_note(l, "-inf where the column, counted from this lane's first, is at or past the limit of its row");
  const char **low = l->s->window ? WS_NEW_N(l->arena, const char *, ws_row_slots(&ex)) : NULL, *inf = ws_ptx_float(&l->px, -INFINITY);
  for (int r = 0; low && r < ws_row_slots(&ex); r++) OP(l, "add_s32", low[r] = ws_lower_temp(l, WS_REG_B32), lim[r], ws_lower_int(l, -l->s->window));
  const char *p = ws_lower_temp(l, WS_REG_PRED), *q = ws_lower_temp(l, WS_REG_PRED);
  for (int e = 0; e < ex.n; e++) {
    int r = ws_row_slot(&ex, e);
    const char *col = ws_lower_int(l, ws_column(&ex, e));
    if (low)
      OP(l, "mask_element_window", out.reg[e], in.reg[e], lim[r], low[r], col, p, q, inf);
    else
      OP(l, "mask_element", out.reg[e], in.reg[e], lim[r], col, p, inf);
  }
  return out;
}

/* Does this copy of the loop body know that the block needs no mask? */
bool ws_mask_is_nothing(const struct lower *l, const struct ws_node *x) {
  const struct ws_node *b = x->mem2->block;
  return b && b->kind == WS_N_ITER && l->iter[b->iter->index].masked == NO;
}

/* --- positions: rowpos(G), colpos(G): where the rows of a global tile lie along its dim --- */

struct tile ws_lower_positions(struct lower *l, const struct ws_node *x, const struct tile *into) {
  bool rows = x->kind == WS_N_ROWPOS;
  const char *first = ws_lower_temp(l, WS_REG_B32);
  const char *mine = into->lane ? rows ? "%thread" : "0" : rows ? ws_acc_row(l, ws_warp_rows(l, x->rows)) : "%quad_column";
  if (rows && ws_packed(l, x->mem)) {
    const char *row = ws_packed_row(l, x->mem, mine);
    for (int i = 0; i < into->n; i++) OP(l, "add_s32", into->reg[i], ws_row_origin(l), ws_packed_query(l, row, i * 8L));
    return *into;
  }
  OP(l, "add_s32", first, ws_tile_start(l, x->mem), mine);
  for (int i = 0; i < into->n; i++) OP(l, "add_s32", into->reg[i], first, ws_lower_int(l, into->lane ? i : rows ? i * 8 : i / 2 * 8 + i % 2));
  return *into;
}
