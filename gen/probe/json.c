/* The same for programs: an element is an object, the selection an array of them. */
#include "place.h"

void ws_probe_json_list(const struct ws_schedule *s, struct ws_buf *o) {
  ws_buf_printf(o, "{\n  \"schedule\": \"%s\",\n  \"target\": \"%s\",\n  \"buffers\": [", s->name, s->target);
  for (int i = 0; i < s->nbuffers; i++) {
    const struct ws_bufferm *b = &s->buffers[i];
    ws_buf_printf(o, "%s\n    {\"name\": \"%s\", \"space\": \"%s\", \"type\": \"%s\", \"rows\": %d, \"cols\": %d, \"elements\": %d, \"stages\": %d, ", i ? "," : "", b->name,
                  b->tmem ? "tmem" : "smem", ws_type_name(b->type), b->rows, b->cols, b->count, b->stages);
    ws_buf_printf(o, b->tmem ? "\"column\": %ld}" : "\"offset\": %ld}", b->tmem ? (long)b->column[0] : b->offset);
  }
  ws_buf_puts(o, "\n  ],\n  \"tiles\": [");
  bool some = false;
  for (int i = 0; i < s->nprograms; i++)
    for (size_t k = 0; k < s->programs[i].nvars; k++) {
      const struct ws_var *v = s->programs[i].vars[k];
      ws_buf_printf(o, "%s\n    {\"role\": \"%s\", \"name\": \"%s\", \"type\": \"%s\", \"rows\": %d, \"cols\": %d, \"layout\": \"%s\"}", some ? "," : "",
                    s->programs[i].role->name, v->name, ws_type_name(v->type), v->rows, v->cols, ws_layout_name(v->layout));
      some = true;
    }
  ws_buf_puts(o, "\n  ]\n}\n");
}

static void element(const struct probe *p, int row, int col, struct ws_buf *o) {
  ws_buf_printf(o, "    {\"row\": %d, \"col\": %d, ", row, col);
  if (p->var) {
    struct register_place x = ws_probe_register(p, row, col);
    ws_buf_printf(o, "\"warp\": %d, \"lane\": %d, \"register\": %d, \"half\": %d, \"warps\": %d, \"lanes\": %d, \"lane_step\": %d}", x.warp, x.lane, x.number, x.half,
                  x.warps, x.lanes, x.step);
  } else if (p->buffer->tmem) {
    struct tmem_place x = ws_probe_tmem(p, row, col);
    ws_buf_printf(o, "\"lane\": %d, \"column\": %d, \"half\": %d}", x.lane, x.column, x.half);
  } else {
    struct place x = ws_probe_smem(p, row, col);
    ws_buf_printf(o, "\"address\": %ld, \"panel\": %d, \"unit\": %d, \"lies\": %d, \"bank\": %d}", x.address, x.panel, x.unit, x.lies, x.bank);
  }
}

static void descriptors(const struct probe *p, struct ws_buf *o) {
  struct products found = ws_probe_products(p);
  ws_buf_puts(o, ",\n  \"products\": [");
  for (size_t i = 0; i < found.n; i++) {
    const struct product *x = &found.list[i];
    ws_buf_printf(o, "%s\n    {\"lines\": [%s], \"role\": \"%s\", \"by\": \"%s\", \"operand\": \"%s\", \"k_major\": %s, \"m\": %d, \"n\": %d, \"descriptors\": [", i ? "," : "",
                  ws_probe_lines(p, x, "", "") + 1, x->prog->role->name, ws_mechanism_name(x->act->by), x->a ? "a" : "b", x->o.mn_major ? "false" : "true", x->m * x->ctas, x->n * x->ctas);
    for (int k = 0; k < x->steps; k++) {
      struct words w = ws_probe_words(p, x, k);
      ws_buf_printf(o, "%s\"0x%08X%08X\"", k ? ", " : "", w.high, w.low);
    }
    ws_buf_puts(o, "]}");
  }
  ws_buf_puts(o, "\n  ]");
}

void ws_probe_json(const struct probe *p, struct ws_buf *o) {
  ws_buf_printf(o, "{\n  \"name\": \"%s\",\n  \"space\": \"%s\",\n", p->var ? p->var->name : p->buffer->name, p->var ? "registers" : p->buffer->tmem ? "tmem" : "smem");
  ws_buf_printf(o, "  \"type\": \"%s\",\n  \"rows\": %d,\n  \"cols\": %d,\n", ws_type_name(p->var ? p->var->type : p->buffer->type), p->rows, p->cols);
  if (p->var) ws_buf_printf(o, "  \"role\": \"%s\",\n  \"layout\": \"%s\",\n  \"registers\": %d,\n", p->prog->role->name, ws_layout_name(p->var->layout), ws_probe_registers(p));
  else ws_buf_printf(o, "  \"element\": %d,\n  \"stage\": %d,\n", p->q->element, p->q->stage);
  ws_buf_puts(o, "  \"elements\": [\n");
  for (int r = p->row0; r <= p->row1; r++)
    for (int c = p->col0; c <= p->col1; c++) {
      element(p, r, c, o);
      ws_buf_puts(o, r == p->row1 && c == p->col1 ? "\n" : ",\n");
    }
  ws_buf_puts(o, "  ]");
  if (!p->var && !p->buffer->tmem) descriptors(p, o);
  ws_buf_puts(o, "\n}\n");
}
