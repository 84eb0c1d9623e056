/* The declarations of a model as text: what was declared, and the places, counts and ids derived for it. */
#include "dump.h"

void ws_static_print(const struct ws_static *v, struct ws_buf *o) {
  switch (v->kind) {
  case WS_ST_INT: ws_buf_printf(o, "%ld", v->i); break;
  case WS_ST_FLOAT: ws_buf_printf(o, "%.17g", v->f); break;
  case WS_ST_BOOL: ws_buf_printf(o, "%s", v->i ? "true" : "false"); break;
  case WS_ST_TYPE: ws_buf_printf(o, "%s", ws_type_name(v->type)); break;
  case WS_ST_NAME: ws_buf_printf(o, "%s", v->name); break;
  }
}

static void params(const struct ws_schedule *s, struct ws_buf *o) {
  for (size_t i = 0; i < s->nparams; i++) {
    ws_buf_printf(o, "param %s = ", s->params[i].name);
    ws_static_print(&s->params[i].value, o);
    ws_buf_puts(o, "\n");
  }
}

static void tensors(const struct ws_schedule *s, struct ws_buf *o) {
  for (int i = 0; i < s->ntensors; i++) {
    const struct ws_tensor *t = &s->tensors[i];
    if (!t->used) continue;
    ws_buf_printf(o, "tensor %s %s %s [", t->name, t->workspace ? "workspace" : t->out ? "out" : "in", ws_type_name(t->type));
    for (int k = 0; k < t->ndims; k++) {
      ws_buf_puts(o, k ? ", " : "");
      if (t->dim[k])
        ws_buf_puts(o, t->dim[k]);
      else
        ws_buf_printf(o, "%ld", t->fixed[k]);
      if (k == t->row_dim) ws_buf_puts(o, " rows");
      if (k == t->col_dim) ws_buf_puts(o, " columns");
    }
    ws_buf_puts(o, "]\n");
  }
}

static void work(const struct ws_schedule *s, struct ws_buf *o) {
  ws_buf_printf(o, "work tile %d %s%s", s->tile_rows, s->persistent ? "persistent" : "single", s->sort_longest ? " longest first" : "");
  if (s->pack) ws_buf_puts(o, s->group ? ws_fmt(s->arena, " packed by %d", s->group) : " packed");
  if (s->tile_splits) ws_buf_printf(o, " splits %d", s->tile_splits);
  if (s->pair) ws_buf_puts(o, " pair");
  ws_buf_puts(o, "\n");
  for (int i = 0; i < s->nblocks; i++)
    ws_buf_printf(o, "blocks %s %d %s\n", s->blocks[i].dim, s->blocks[i].step, s->blocks[i].descending ? "descending" : "ascending");
}

static void roles(const struct ws_schedule *s, struct ws_buf *o) {
  for (int i = 0; i < s->nroles; i++) {
    const struct ws_rolem *r = &s->roles[i];
    ws_buf_printf(o, "role %s[%d] warps %d from %d", r->name, r->count, r->warps, r->first_warp);
    if (r->registers) ws_buf_printf(o, " registers %d", r->registers);
    if (r->one_thread) ws_buf_puts(o, " one thread");
    if (r->separate) ws_buf_puts(o, " code separate");
    if (r->sync_id >= 0) ws_buf_printf(o, " sync %d", r->sync_id);
    if (r->all_id >= 0) ws_buf_printf(o, " sync of all %d", r->all_id);
    ws_buf_puts(o, "\n");
  }
}

static void buffers(const struct ws_schedule *s, struct ws_buf *o) {
  for (int i = 0; i < s->nbuffers; i++) {
    const struct ws_bufferm *b = &s->buffers[i];
    ws_buf_printf(o, "buffer %s[%d] %s [%d, %d] stages %d", b->name, b->count, ws_type_name(b->type), b->rows, b->cols, b->stages);
    if (b->tmem) {
      ws_buf_puts(o, " tmem");
      for (int k = 0; k < b->count * b->stages; k++) ws_buf_printf(o, " %d..%d", b->column[k], b->column[k] + b->tmem_cols - 1);
    } else if (b->panel)
      ws_buf_printf(o, " at %ld bytes %ld panels of %d bytes swizzle %d", b->offset, b->bytes, b->panel, b->swizzle);
    else
      ws_buf_printf(o, " at %ld bytes %ld pitch %d xor (row >> %d) & %d", b->offset, b->bytes, b->layout.pitch, b->layout.shift, b->layout.mask);
    if (b->over) ws_buf_printf(o, " over %s", b->over->name);
    if (b->acc8) ws_buf_puts(o, " order acc8");
    if (b->rows8) ws_buf_puts(o, " order rows8");
    ws_buf_puts(o, "\n");
  }
}

static void ends(const struct ws_endm *e, int n, const char *word, struct ws_buf *o) {
  static const char *const units[] = {"thread", "warp", "one"};
  ws_buf_printf(o, " %s", word);
  for (int i = 0; i < n; i++) ws_buf_printf(o, " %s:%s", e[i].role->name, units[e[i].unit]);
}

static void element(const char *what, const char *name, bool is_array, int el, struct ws_buf *o) {
  ws_buf_printf(o, "%s %s", what, name);
  if (is_array) ws_buf_printf(o, "[%d]", el);
}

static void side(const char *word, int count, enum ws_barrier_scope scope, long at, struct ws_buf *o) {
  ws_buf_printf(o, " %s ", word);
  if (at < 0) {
    ws_buf_puts(o, "-");
    return;
  }
  ws_buf_printf(o, "%d at %ld", count, at);
  if (scope != WS_SCOPE_CTA) ws_buf_printf(o, " %s", ws_scope_name(scope));
}

static void rings(const struct ws_schedule *s, struct ws_buf *o) {
  for (int i = 0; i < s->npipelines; i++)
    for (int el = 0; el < s->pipelines[i].count; el++) {
      const struct ws_pipelinem *p = &s->pipelines[i];
      long stages = p->buffer->stages, skip = 8 * stages * el;
      element("pipeline", p->name, p->is_array, el, o);
      ws_buf_printf(o, " over %s by %s", p->buffer->name, ws_mechanism_name(p->by));
      side("full", p->full_count[el], p->full, p->full_at < 0 ? -1 : p->full_at + skip, o);
      side("empty", p->empty_count[el], p->empty, p->empty_at < 0 ? -1 : p->empty_at + skip, o);
      ends(p->from, p->nfrom, "from", o), ends(p->to, p->nto, "to", o);
      ws_buf_puts(o, "\n");
    }
  for (int i = 0; i < s->nbarriers; i++)
    for (int el = 0; el < s->barriers[i].count; el++) {
      const struct ws_barrierm *b = &s->barriers[i];
      element("barrier", b->name, b->is_array, el, o);
      if (b->named)
        ws_buf_printf(o, " named %d%s threads %d", b->id + el * b->ids, b->per_warp ? ws_fmt(o->arena, "..%d", b->id + (el + 1) * b->ids - 1) : "", b->arrivals[el]);
      else
        ws_buf_printf(o, " count %d at %ld", b->arrivals[el], b->at + 8L * b->stages * el);
      if (b->scope != WS_SCOPE_CTA) ws_buf_printf(o, " %s", ws_scope_name(b->scope));
      if (b->stages > 1) ws_buf_printf(o, " stages %d", b->stages);
      ws_buf_printf(o, "%s%s", b->open ? " open" : "", b->manual ? " manual" : "");
      ends(b->from, b->nfrom, "from", o), ends(b->to, b->nto, "to", o);
      ws_buf_puts(o, "\n");
    }
}

void ws_dump_declarations(const struct ws_schedule *s, struct ws_buf *o) {
  ws_buf_printf(o, "schedule %s\ntarget %s\nproblem %s\n", s->name, s->target, s->problem->name);
  params(s, o);
  tensors(s, o);
  work(s, o);
  roles(s, o);
  buffers(s, o);
  rings(s, o);
}
