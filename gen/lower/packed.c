/* Tiles whose rows are the queries of several heads (`pack: gqa`): row r is query r / group of head r % group, counted from the
 * first query of the work tile, %row0, and from the first head that reads its key head, %head. All heads of a query stand
 * together, so that rows are in the order of their positions: a mask and the lists of blocks see a tile of fewer rows, and a box
 * of some queries and all heads (tma.c) is the tile. */
#include "lower.h"
#include <string.h>

bool ws_packed(const struct lower *l, const struct ws_mem *m) {
  const struct ws_tensor *t = m->tensor;
  return l->s->group && t && !m->block && t->row_dim >= 0 && t->dim[t->row_dim] && !strcmp(t->dim[t->row_dim], l->s->problem->work_dim);
}

const char *ws_packed_row(struct lower *l, const struct ws_mem *m, const char *thread_row) {
  const char *row = thread_row, *d;
  if (m->row_at) OP(l, "add_s32", d = ws_lower_temp(l, WS_REG_B32), row, ws_uniform_int(l, m->row_at)), row = d;
  if (m->row0) OP(l, "add_s32", d = ws_lower_temp(l, WS_REG_B32), row, ws_lower_int(l, m->row0)), row = d;
  return row;
}

/* From here to the row k further down. */
static const char *down(struct lower *l, const char *row, long k) {
  if (!k) return row;
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, row, ws_lower_int(l, k));
  return d;
}

const char *ws_packed_query(struct lower *l, const char *row, long k) {
  row = down(l, row, k);
  if (l->s->group == 1) return row;
  const char *query = ws_lower_temp(l, WS_REG_B32);
  OP(l, "packed_query", query, row, ws_lower_int(l, l->s->group));
  return query;
}

static const char *stride(struct lower *l, const struct ws_tensor *t, const char *dim) {
  return ws_lower_named(l, WS_REG_B64, "%s_stride_%s", t->name, dim);
}

void ws_packed_address(struct lower *l, const struct ws_mem *m, const char *address, const char *base, const char *row, long k) {
  const struct ws_tensor *t = m->tensor;
  const char *heads = NULL, *query = ws_packed_query(l, row = down(l, row, k), 0), *wide = ws_lower_temp(l, WS_REG_B64);
  for (int i = 0; i < t->ndims; i++)
    if (t->dim[i] && !strcmp(t->dim[i], "heads")) heads = t->dim[i];
  OP(l, "pointer_at", address, base, query, stride(l, t, t->dim[t->row_dim]), wide);
  if (!heads || l->s->group == 1) return;
  const char *head = ws_lower_temp(l, WS_REG_B32);
  OP(l, "packed_head", head, row, query, ws_lower_int(l, l->s->group));
  OP(l, "pointer_add", address, head, stride(l, t, heads), wide);
}

const char *ws_packed_rows_left(struct lower *l, const struct ws_mem *m, const char *row) {
  const char *left = ws_lower_temp(l, WS_REG_B32);
  OP(l, "packed_rows_left", left, ws_lower_extent(l, m->tensor->dim[m->tensor->row_dim]), ws_row_origin(l), ws_lower_int(l, ws_tile_positions(l->s)),
     ws_lower_int(l, l->s->group), row);
  return left;
}
