/* The model as text; the tests read it. */
#include "passes.h"
#include <math.h>

static void dump_node(const struct ws_node *x, struct ws_buf *o);

static void dump_mem(const struct ws_mem *m, struct ws_buf *o) {
  if (m->space == WS_GLOBAL) {
    ws_buf_printf(o, "%s[%s", m->tensor->name, m->tile->name);
    if (m->block) ws_buf_puts(o, ", "), dump_node(m->block, o);
    ws_buf_puts(o, "]");
  } else
    ws_buf_printf(o, "%s", m->handle ? m->handle->name : m->buffer->name);
  if (m->space != WS_GLOBAL && m->buffer->is_array && !m->handle) ws_buf_printf(o, "[%d]", m->element);
  ws_buf_printf(o, "{%d+%d, %d+%d}%s", m->row0, m->rows, m->col0, m->cols, m->transposed ? ".T" : "");
}

static void dump_node(const struct ws_node *x, struct ws_buf *o) {
  static const char *const kinds[] = {[WS_N_MASK] = "mask", [WS_N_READ] = "read", [WS_N_AT] = "at", [WS_N_NEXT] = "next", [WS_N_LEN] = "len",
                                      [WS_N_HAS_NEXT] = "has_next", [WS_N_IS_FIRST] = "first", [WS_N_IS_LAST] = "last",
                                      [WS_N_IS_MASKED] = "masked", [WS_N_ROWPOS] = "rowpos", [WS_N_COLPOS] = "colpos"};
  switch (x->kind) {
  case WS_N_CONST: ws_buf_printf(o, "%.17g", x->value); return;
  case WS_N_SCALAR: ws_buf_puts(o, x->scalar->name); return;
  case WS_N_VAR: ws_buf_puts(o, x->var->name); return;
  case WS_N_ITER: ws_buf_puts(o, x->iter->name); return;
  case WS_N_OP: case WS_N_REDUCE:
    ws_buf_printf(o, "%s(", ws_fn_name(x->fn));
    if (x->kind == WS_N_OP && x->fn == WS_F_CAST) ws_buf_printf(o, "%s, ", ws_type_name(x->type));
    break;
  default: ws_buf_printf(o, "%s(", kinds[x->kind]);
  }
  if (x->list) ws_buf_printf(o, "%s", x->list->name);
  if (x->iter) ws_buf_printf(o, "%s%s", x->list ? " " : "", x->iter->name);
  if (x->kind == WS_N_AT || x->kind == WS_N_NEXT || x->kind == WS_N_HAS_NEXT) ws_buf_printf(o, ", %d", x->count);
  for (int i = 0; i < x->n; i++) {
    if (i) ws_buf_puts(o, ", ");
    dump_node(x->arg[i], o);
  }
  if (x->mem) ws_buf_puts(o, x->n ? ", " : ""), dump_mem(x->mem, o);
  if (x->mem2) ws_buf_puts(o, ", "), dump_mem(x->mem2, o);
  ws_buf_puts(o, ")");
}

static void dump_acts(const struct ws_acts *acts, struct ws_buf *o, int depth);

static void dump_act(const struct ws_act *a, struct ws_buf *o, int depth) {
  if (a->kind == WS_S_IF) {
    for (int i = 0; i < a->narms; i++) {
      ws_buf_printf(o, "%*s%s", depth * 2, "", i ? a->arms[i].cond ? "elif " : "else" : "if ");
      if (a->arms[i].cond) dump_node(a->arms[i].cond, o);
      ws_buf_puts(o, "\n");
      dump_acts(a->arms[i].body, o, depth + 1);
    }
    return;
  }
  ws_buf_printf(o, "%*s%u: %s", depth * 2, "", a->src->pos.line, a->src->text);
  if (a->value) ws_buf_puts(o, "  = "), dump_node(a->value, o);
  if (a->dst) ws_buf_printf(o, "  -> %s %s [%d, %d] %s", a->dst->name, ws_type_name(a->dst->type), a->dst->rows, a->dst->cols, ws_layout_name(a->dst->layout));
  if (a->from) ws_buf_puts(o, "  from "), dump_mem(a->from, o);
  if (a->to) ws_buf_puts(o, "  to "), dump_mem(a->to, o);
  if (a->when) ws_buf_puts(o, "  when "), dump_node(a->when, o);
  if (a->kind == WS_S_WAIT && a->pipe && a->pipe->by == WS_BY_CP_ASYNC) ws_buf_printf(o, "  groups %d", a->wait_groups);
  ws_buf_puts(o, "\n");
  if (a->body) dump_acts(a->body, o, depth + 1);
}

static void dump_acts(const struct ws_acts *acts, struct ws_buf *o, int depth) {
  for (size_t i = 0; i < acts->n; i++) dump_act(&acts->act[i], o, depth);
}

static void dump_params(const struct ws_schedule *s, struct ws_buf *o) {
  for (size_t i = 0; i < s->nparams; i++) {
    const struct ws_static *v = &s->params[i].value;
    ws_buf_printf(o, "param %s = ", s->params[i].name);
    switch (v->kind) {
    case WS_ST_INT: ws_buf_printf(o, "%ld\n", v->i); break;
    case WS_ST_FLOAT: ws_buf_printf(o, "%.17g\n", v->f); break;
    case WS_ST_BOOL: ws_buf_printf(o, "%s\n", v->i ? "true" : "false"); break;
    case WS_ST_TYPE: ws_buf_printf(o, "%s\n", ws_type_name(v->type)); break;
    case WS_ST_NAME: ws_buf_printf(o, "%s\n", v->name); break;
    }
  }
}

void ws_schedule_dump(const struct ws_schedule *s, struct ws_buf *o) {
  ws_buf_printf(o, "schedule %s\ntarget %s\nproblem %s\n", s->name, s->target, s->problem->name);
  dump_params(s, o);
  ws_buf_printf(o, "work tile %d %s%s\n", s->tile_rows, s->persistent ? "persistent" : "single", s->sort_longest ? " longest first" : "");
  for (int i = 0; i < s->nblocks; i++)
    ws_buf_printf(o, "blocks %s %d %s\n", s->blocks[i].dim, s->blocks[i].step, s->blocks[i].descending ? "descending" : "ascending");
  for (int i = 0; i < s->nroles; i++)
    ws_buf_printf(o, "role %s[%d] warps %d from %d\n", s->roles[i].name, s->roles[i].count, s->roles[i].warps, s->roles[i].first_warp);
  for (int i = 0; i < s->nbuffers; i++) {
    const struct ws_bufferm *b = &s->buffers[i];
    ws_buf_printf(o, "buffer %s[%d] %s [%d, %d] stages %d at %ld bytes %ld pitch %d xor (row >> %d) & %d\n", b->name, b->count, ws_type_name(b->type),
                  b->rows, b->cols, b->stages, b->offset, b->bytes, b->layout.pitch, b->layout.shift, b->layout.mask);
  }
  for (int i = 0; i < s->nprograms; i++) {
    const struct ws_programm *p = &s->programs[i];
    ws_buf_printf(o, "program %s\n", p->role->name);
    for (size_t k = 0; k < p->nvars; k++)
      ws_buf_printf(o, "  tile %s %s [%d, %d] %s%s\n", p->vars[k]->name, ws_type_name(p->vars[k]->type), p->vars[k]->rows, p->vars[k]->cols,
                    ws_layout_name(p->vars[k]->layout), p->vars[k]->partial ? " partial" : "");
    dump_acts(p->body, o, 1);
  }
}
