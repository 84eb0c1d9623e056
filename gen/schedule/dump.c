/* The programs of a model as text; the tests read it. Declarations: dump_decl.c. */
#include "dump.h"
#include <string.h>

static void dump_node(const struct ws_node *x, struct ws_buf *o);

/* Rows or columns: first+extent, with what instance and rank add to the first. */
static void dump_extent(int first, const struct ws_node *at, int extent, struct ws_buf *o) {
  ws_buf_printf(o, "%d", first);
  if (at) ws_buf_puts(o, "+("), dump_node(at, o), ws_buf_puts(o, ")");
  ws_buf_printf(o, "+%d", extent);
}

static void dump_tile(const struct ws_mem *m, struct ws_buf *o) {
  const char *sep = "";
  ws_buf_printf(o, "%s[", m->tensor->name);
  if (m->tile) ws_buf_puts(o, m->tile->name), sep = ", ";
  for (int k = 0; k < m->tensor->ndims; k++)
    if (m->coord[k]) ws_buf_printf(o, "%s%s ", sep, m->tensor->dim[k] ? m->tensor->dim[k] : "dim"), dump_node(m->coord[k], o), sep = ", ";
  if (m->block) ws_buf_puts(o, sep), dump_node(m->block, o), sep = ", ";
  if (m->col_block) ws_buf_printf(o, "%scolumns ", sep), dump_node(m->col_block, o);
  ws_buf_puts(o, "]");
}

static void dump_element(int element, const struct ws_node *at, struct ws_buf *o) {
  if (!at) {
    ws_buf_printf(o, "[%d]", element);
    return;
  }
  ws_buf_puts(o, "["), dump_node(at, o), ws_buf_puts(o, "]");
}

static void dump_mem(const struct ws_mem *m, struct ws_buf *o) {
  if (m->space == WS_GLOBAL)
    dump_tile(m, o);
  else
    ws_buf_printf(o, "%s", m->handle ? m->handle->name : m->buffer->name);
  if (m->space != WS_GLOBAL && m->buffer->is_array && !m->handle) dump_element(m->element, m->element_at, o);
  ws_buf_puts(o, "{"), dump_extent(m->row0, m->row_at, m->rows, o), ws_buf_puts(o, ", "), dump_extent(m->col0, m->col_at, m->cols, o);
  ws_buf_printf(o, "}%s%s", m->transposed ? ".T" : "", m->peer ? ".peer" : "");
}

static void dump_part(const struct ws_part *p, struct ws_buf *o) {
  ws_buf_puts(o, p->cols ? "cols " : "rows ");
  if (p->of)
    ws_buf_printf(o, "%d of %d", p->index, p->of);
  else
    ws_buf_printf(o, "%d..%d", p->first, p->last);
}

static void dump_leaf(const struct ws_node *x, struct ws_buf *o) {
  switch (x->kind) {
  case WS_N_CONST: ws_buf_printf(o, "%.17g", x->value); break;
  case WS_N_SCALAR: ws_buf_puts(o, x->scalar->name); break;
  case WS_N_VAR: ws_buf_puts(o, x->var->name); break;
  case WS_N_ITER: ws_buf_puts(o, x->iter->name); break;
  case WS_N_INSTANCE: ws_buf_puts(o, "instance"); break;
  case WS_N_RANK: ws_buf_puts(o, "rank"); break;
  case WS_N_COORD: ws_buf_printf(o, "%s.%s", x->iter->name, x->name); break;
  case WS_N_EXTENT: ws_buf_puts(o, x->name); break;
  default: break;
  }
}

static void dump_node(const struct ws_node *x, struct ws_buf *o) {
  static const char *const kinds[] = {[WS_N_MASK] = "mask", [WS_N_READ] = "read", [WS_N_AT] = "at", [WS_N_NEXT] = "next", [WS_N_LEN] = "len",
                                      [WS_N_HAS_NEXT] = "has_next", [WS_N_IS_FIRST] = "first", [WS_N_IS_LAST] = "last",
                                      [WS_N_IS_MASKED] = "masked", [WS_N_ROWPOS] = "rowpos", [WS_N_COLPOS] = "colpos", [WS_N_START] = "start", [WS_N_PART] = "part"};
  switch (x->kind) {
  case WS_N_CONST: case WS_N_SCALAR: case WS_N_VAR: case WS_N_ITER: case WS_N_INSTANCE: case WS_N_RANK: case WS_N_COORD: case WS_N_EXTENT:
    dump_leaf(x, o);
    return;
  case WS_N_OP: case WS_N_REDUCE:
    ws_buf_printf(o, "%s(", ws_fn_name(x->fn));
    if (x->kind == WS_N_OP && x->fn == WS_F_CAST) ws_buf_printf(o, "%s, ", ws_type_name(x->type));
    break;
  case WS_N_QUERY: ws_buf_printf(o, "%s(", x->name); break;
  default: ws_buf_printf(o, "%s(", kinds[x->kind]);
  }
  if (x->list) ws_buf_printf(o, "%s", x->list->name);
  if (x->iter) ws_buf_printf(o, "%s%s", x->list ? " " : "", x->iter->name);
  if (x->from) ws_buf_puts(o, " seen from "), dump_node(x->from, o);
  if (x->kind == WS_N_AT || x->kind == WS_N_NEXT || x->kind == WS_N_HAS_NEXT) ws_buf_printf(o, ", %d", x->count);
  for (int i = 0; i < x->n; i++) {
    if (i) ws_buf_puts(o, ", ");
    dump_node(x->arg[i], o);
  }
  if (x->kind == WS_N_PART) ws_buf_puts(o, ", "), dump_part(&x->part, o);
  if (x->mem) ws_buf_puts(o, x->n ? ", " : ""), dump_mem(x->mem, o);
  if (x->mem2) ws_buf_puts(o, ", "), dump_mem(x->mem2, o);
  ws_buf_puts(o, ")");
}

static void dump_acts(const struct ws_acts *acts, struct ws_buf *o, int depth);

static void dump_if(const struct ws_act *a, struct ws_buf *o, int depth) {
  for (int i = 0; i < a->narms; i++) {
    ws_buf_printf(o, "%*s%s", depth * 2, "", i ? a->arms[i].cond ? "elif " : "else" : "if ");
    if (a->arms[i].cond) dump_node(a->arms[i].cond, o);
    ws_buf_puts(o, "\n");
    dump_acts(a->arms[i].body, o, depth + 1);
  }
}

/* How a statement is carried out, where who executes decides it. */
static void dump_mechanism(const struct ws_act *a, struct ws_buf *o) {
  switch (a->kind) {
  case WS_S_LOAD: case WS_S_STORE: case WS_S_REDUCE: case WS_S_PRODUCT: ws_buf_printf(o, "  by %s", ws_mechanism_name(a->by)); break;
  case WS_S_COMMIT: case WS_S_RELEASE:
    if (a->by == WS_BY_TCGEN05) ws_buf_printf(o, "  by %s", ws_mechanism_name(a->by));
    break;
  case WS_S_AWAIT: ws_buf_printf(o, "  by %s", ws_mechanism_name(a->by)); break;
  default: break;
  }
  if (a->accumulate && a->start == WS_STARTS) ws_buf_puts(o, "  from zero");
  if (a->accumulate && a->start == WS_STARTS_BY_PATH) ws_buf_puts(o, "  from zero by path");
  if (a->bytes && a->kind == WS_S_ACQUIRE) ws_buf_printf(o, "  bytes %ld", a->bytes);
  if (a->kind == WS_S_WAIT && a->pipe && a->pipe->by == WS_BY_CP_ASYNC) ws_buf_printf(o, "  groups %d", a->wait_groups);
  if (a->kind == WS_S_AWAIT && a->by != WS_BY_TCGEN05) ws_buf_printf(o, "  groups %d", a->wait_groups);
}

static void dump_options(const struct ws_act *a, struct ws_buf *o) {
  const struct ws_options *p = &a->opt;
  if (p->chunk) ws_buf_printf(o, "  chunk %d", p->chunk);
  if (p->poly) ws_buf_printf(o, "  poly %d of %d from %d", p->poly, p->period, p->start);
  if (p->multicast) ws_buf_puts(o, "  multicast");
  if (p->descriptors_all) ws_buf_puts(o, "  descriptors by all");
  if (p->poll == WS_POLL_LEADER) ws_buf_puts(o, "  polled by a leader");
  if (p->l2) ws_buf_printf(o, "  l2 %s", p->l2);
  if (a->ahead) ws_buf_printf(o, "  ahead %d", a->ahead);
}

static void dump_act(const struct ws_act *a, struct ws_buf *o, int depth) {
  if (a->kind == WS_S_IF) return dump_if(a, o, depth);
  ws_buf_printf(o, "%*s%u: %s", depth * 2, "", a->src->pos.line, a->src->text);
  if (a->kind == WS_S_FOR && a->iter->from) ws_buf_puts(o, "  seen from "), dump_node(a->iter->from, o);
  bool array = a->barrier ? a->barrier->is_array : a->pipe && a->pipe->is_array && a->kind != WS_S_LOAD;
  if (array) ws_buf_puts(o, "  element "), dump_element(a->element, a->element_at, o);
  if (a->value) ws_buf_puts(o, "  = "), dump_node(a->value, o);
  if (a->a) ws_buf_puts(o, "  a "), dump_node(a->a, o);
  if (a->a_mem) ws_buf_puts(o, "  a "), dump_mem(a->a_mem, o);
  if (a->b_mem) ws_buf_puts(o, "  b "), dump_mem(a->b_mem, o);
  if (a->dst) ws_buf_printf(o, "  -> %s %s [%d, %d] %s", a->dst->name, ws_type_name(a->dst->type), a->dst->rows, a->dst->cols, ws_layout_name(a->dst->layout));
  if (a->dst_part.given) ws_buf_puts(o, " "), dump_part(&a->dst_part, o);
  if (a->dst2) ws_buf_printf(o, ", %s %s [%d, %d] %s", a->dst2->name, ws_type_name(a->dst2->type), a->dst2->rows, a->dst2->cols, ws_layout_name(a->dst2->layout));
  if (a->from) ws_buf_puts(o, "  from "), dump_mem(a->from, o);
  if (a->to) ws_buf_puts(o, "  to "), dump_mem(a->to, o);
  if (a->when) ws_buf_puts(o, "  when "), dump_node(a->when, o);
  dump_mechanism(a, o);
  dump_options(a, o);
  ws_buf_puts(o, "\n");
  if (a->body) dump_acts(a->body, o, depth + 1);
}

static void dump_acts(const struct ws_acts *acts, struct ws_buf *o, int depth) {
  for (size_t i = 0; i < acts->n; i++) dump_act(&acts->act[i], o, depth);
}

void ws_schedule_dump(const struct ws_schedule *s, struct ws_buf *o) {
  ws_dump_declarations(s, o);
  for (int i = 0; i < s->nprograms; i++) {
    const struct ws_programm *p = &s->programs[i];
    ws_buf_printf(o, "program %s", p->role->name);
    if (p->role->is_array && p->count == 1) ws_buf_printf(o, "[%d]", p->first);
    if (p->count > 1) ws_buf_printf(o, "[%d..%d]", p->first, p->first + p->count - 1);
    ws_buf_puts(o, "\n");
    for (size_t k = 0; k < p->nvars; k++)
      ws_buf_printf(o, "  tile %s %s [%d, %d] %s%s\n", p->vars[k]->name, ws_type_name(p->vars[k]->type), p->vars[k]->rows, p->vars[k]->cols,
                    ws_layout_name(p->vars[k]->layout), p->vars[k]->partial ? " partial" : "");
    for (size_t k = 0; k < p->nhandles; k++)
      ws_buf_printf(o, "  slot %s of %s [%d, %d]\n", p->handles[k]->name, p->handles[k]->pipe->name, p->handles[k]->rows, p->handles[k]->cols);
    dump_acts(p->body, o, 1);
  }
}
