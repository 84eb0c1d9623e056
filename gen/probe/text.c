/* Lists and tables as text. */
#include "place.h"
#include <stdio.h>

/* ---- without a name: what there is ---- */

static void buffer_line(const struct ws_bufferm *b, struct ws_buf *o) {
  char name[96];
  snprintf(name, sizeof name, b->is_array ? "%.60s[%d]" : "%.60s", b->name, b->count);
  ws_buf_printf(o, "  %-12s %-5s [%d, %d]", name, ws_type_name(b->type), b->rows, b->cols);
  if (b->stages > 1) ws_buf_printf(o, " x %d stages", b->stages);
  if (b->tmem)
    ws_buf_printf(o, "  tensor memory, columns %d to %d", b->column[0], b->column[0] + b->tmem_cols - 1);
  else
    ws_buf_printf(o, "  shared memory at %ld, %ld bytes", b->offset, b->bytes);
  if (b->count * b->stages > 1) ws_buf_puts(o, b->tmem ? ", the first of several" : " each");
  if (b->over) ws_buf_printf(o, "; over %s", b->over->name);
  ws_buf_puts(o, "\n");
}

void ws_probe_text_list(const struct ws_schedule *s, struct ws_buf *o) {
  ws_buf_printf(o, "%s for %s\n\nbuffers (--buffer NAME):\n", s->name, s->target);
  for (int i = 0; i < s->nbuffers; i++) buffer_line(&s->buffers[i], o);
  for (int i = 0; i < s->nprograms; i++) {
    const struct ws_programm *p = &s->programs[i];
    if (!p->nvars) continue;
    ws_buf_printf(o, "\nregister tiles of %s, %d warps (--operand NAME, or %s.NAME):\n", p->role->name, p->role->warps, p->role->name);
    for (size_t k = 0; k < p->nvars; k++) {
      const struct ws_var *v = p->vars[k];
      ws_buf_printf(o, "  %-12s %-5s [%d, %d]  layout %s\n", v->name, ws_type_name(v->type), v->rows, v->cols, ws_layout_name(v->layout));
    }
  }
}

/* ---- shared memory ---- */

static void layout_words(const struct ws_bufferm *b, struct ws_buf *o) {
  const struct ws_smem_layout *l = &b->layout;
  if (b->panel)
    ws_buf_printf(o, "%d panel%s of %d bytes a row, %ld bytes from one to the next", l->units / l->panel_units, l->units > l->panel_units ? "s" : "", b->panel, l->panel_bytes);
  else
    ws_buf_printf(o, "rows of %d bytes", l->pitch);
  if (b->rows8) ws_buf_printf(o, ", every 8 rows %ld bytes behind the ones before", l->group_bytes);
  if (l->mask && l->shift) ws_buf_printf(o, "; unit u of row r lies at u ^ (r >> %d & %d)", l->shift, l->mask);
  if (l->mask && !l->shift) ws_buf_printf(o, "; unit u of row r lies at u ^ (r & %d)", l->mask);
  ws_buf_puts(o, l->mask ? "\n" : "; not swizzled\n");
}

/* A line a 16-byte unit: its elements follow one another. */
static void smem_table(const struct probe *p, struct ws_buf *o) {
  ws_buf_puts(o, "  row  columns    address          panel  unit -> lies at  banks\n");
  int bits = (int)ws_type_bits(p->buffer->type);
  for (int r = p->row0; r <= p->row1; r++)
    for (int c = p->col0, next; c <= p->col1; c = next) {
      next = (c * bits / 128 + 1) * 128 / bits; /* the first column of the next unit */
      int last = next - 1 < p->col1 ? next - 1 : p->col1;
      struct place x = ws_probe_smem(p, r, c), y = ws_probe_smem(p, r, last);
      ws_buf_printf(o, "%5d  %4d..%-4d %7ld = 0x%05lX", r, c, last, x.address, (unsigned long)x.address);
      if (x.unit >= 0)
        ws_buf_printf(o, "  %5d  %4d -> %-7d", x.panel, x.unit, x.lies);
      else
        ws_buf_puts(o, "      -     -          ");
      ws_buf_printf(o, "  %2d..%d\n", x.bank, (int)((y.address + bits / 8 - 1) / 4 % 32));
    }
}

/* ---- descriptors ---- */

static const char *const swizzle_names[] = {"none", "128 bytes, atoms of 32", "128 bytes", "?", "64 bytes", "?", "32 bytes", "?"};

static void fields(const struct probe *p, struct words w, struct ws_buf *o) {
  const unsigned at = w.low & 0x3FFF, lead = w.low >> 16 & 0x3FFF, stride = w.high & 0x3FFF, code = w.high >> 29;
  ws_buf_printf(o, "    bits  0-13  start     0x%04X  address %u (with %%smem = 0)\n", at, at * 16);
  ws_buf_printf(o, "    bits 16-29  leading   0x%04X  %u bytes from panel to panel%s\n", lead, lead * 16, lead ? "" : "; not used, K-major");
  ws_buf_printf(o, "    bits 32-45  stride    0x%04X  %u bytes from 8 rows to the next 8\n", stride, stride * 16);
  if (p->s->arch >= 100) ws_buf_printf(o, "    bits 46-48  version   %u\n", w.high >> 14 & 7);
  ws_buf_printf(o, "    bits 49-51  base      %u\n", w.high >> 17 & 7);
  if (p->s->arch >= 100)
    ws_buf_printf(o, "    bits 61-63  swizzle   %u       %s\n", code, swizzle_names[code]);
  else
    ws_buf_printf(o, "    bits 62-63  swizzle   %u       %s\n", code >> 1, swizzle_names[code & 6]);
}

static void product(const struct probe *p, const struct product *x, struct ws_buf *o) {
  struct words w = ws_probe_words(p, x, 0);
  ws_buf_printf(o, "\n%s of the %s (%s, %s): %s-major, m%dn%dk16, %d step%s of K\n", x->a ? "left operand" : "right operand",
                ws_probe_lines(p, x, "product in line", "products in lines"), x->prog->role->name, ws_mechanism_name(x->act->by), x->o.mn_major ? (x->a ? "M" : "N") : "K", x->m * x->ctas, x->n * x->ctas, x->steps,
                x->steps > 1 ? "s" : "");
  ws_buf_printf(o, "  descriptor of step 0: 0x%08X%08X\n", w.high, w.low);
  fields(p, w, o);
  const struct ws_handle *h = x->o.mem->handle;
  if (h && (h->rows != p->rows || h->cols != p->cols)) /* not the table's shape */
    ws_buf_printf(o, "    the slot is used as [%d, %d]: its panels are %ld bytes apart there\n", h->rows, h->cols, ws_mem_layout(x->o.mem).panel_bytes);
  if (x->a && x->prog->role->warps > 4)
    ws_buf_printf(o, "    warpgroup g of the role: start + 0x%04lX g\n", ws_smem_unit(&p->buffer->layout, 64, 0) / 16);
  ws_buf_puts(o, "  start of step");
  for (int k = 0; k < x->steps; k++) ws_buf_printf(o, "%s %d: 0x%04X", k ? "," : "", k, ws_probe_words(p, x, k).low & 0x3FFF);
  ws_buf_puts(o, "\n");
}

static void slot_words(const struct probe *p, struct ws_buf *o) {
  const struct ws_bufferm *b = p->buffer;
  ws_buf_printf(o, "%s", b->name);
  if (b->is_array) ws_buf_printf(o, "[%d]", p->q->element);
  ws_buf_printf(o, " %s [%d, %d]", ws_type_name(b->type), b->rows, b->cols);
  if (b->stages > 1) ws_buf_printf(o, ", stage %d of %d", p->q->stage, b->stages);
}

static void smem(const struct probe *p, struct ws_buf *o) {
  slot_words(p, o);
  ws_buf_printf(o, ": shared memory, %ld bytes from %%smem + %ld on\n", p->buffer->bytes, ws_probe_base(p));
  layout_words(p->buffer, o);
  ws_buf_puts(o, "\n");
  smem_table(p, o);
  ws_probe_picture(p, o);
  struct products found = ws_probe_products(p);
  for (size_t i = 0; i < found.n; i++) product(p, &found.list[i], o);
  if (p->s->arch < 90) ws_buf_puts(o, "\nno descriptors: mma.sync takes its operands from registers, which ldmatrix fills\n");
}

/* ---- grids: tensor memory and registers ---- */

static void grid(const struct probe *p, int width, void (*cell)(const struct probe *p, int row, int col, struct ws_buf *o), struct ws_buf *o) {
  ws_buf_puts(o, "   row");
  for (int c = p->col0; c <= p->col1; c++) ws_buf_printf(o, " %*d", width, c);
  ws_buf_puts(o, "  <- column\n");
  for (int r = p->row0; r <= p->row1; r++) {
    ws_buf_printf(o, " %5d", r);
    for (int c = p->col0; c <= p->col1; c++) {
      struct ws_buf b = {.arena = p->a};
      cell(p, r, c, &b);
      ws_buf_printf(o, " %*s", width, b.s);
    }
    ws_buf_puts(o, "\n");
  }
}

static const char *half_name(int half) { return half < 0 ? "" : half ? "h" : "l"; }

static void tmem_cell(const struct probe *p, int row, int col, struct ws_buf *o) {
  struct tmem_place x = ws_probe_tmem(p, row, col);
  ws_buf_printf(o, "%d:%d%s", x.lane, x.column, half_name(x.half));
}

static void tmem(const struct probe *p, struct ws_buf *o) {
  struct tmem_place first = ws_probe_tmem(p, 0, 0);
  slot_words(p, o);
  ws_buf_printf(o, ": tensor memory, columns %d to %d of lanes 0 to %d\n", first.column, first.column + p->buffer->tmem_cols - 1, p->rows - 1);
  ws_buf_printf(o, "lane:column%s; the address is lane << 16 | column, from %%tmem on; warp w of a warpgroup reaches lanes 32 w to 32 w + 31\n\n",
                first.half < 0 ? "" : ", l and h its low and high half");
  grid(p, 8, tmem_cell, o);
  ws_probe_columns(p, o);
  ws_probe_accesses(p, o);
}

static void register_cell(const struct probe *p, int row, int col, struct ws_buf *o) {
  struct register_place x = ws_probe_register(p, row, col);
  ws_buf_printf(o, "%d/%d:%d%s", x.warp, x.lane, x.number, half_name(x.half));
}

static void copies(const struct register_place *x, struct ws_buf *o) {
  if (x->lanes == 32) ws_buf_puts(o, "the same in all lanes of a warp");
  else if (x->lanes > 1) ws_buf_printf(o, "the same in %d lanes, %d apart; the first is shown", x->lanes, x->step);
  if (x->warps > 1) ws_buf_printf(o, "%sthe same in all %d warps", x->lanes > 1 ? "; " : "", x->warps);
  if (x->lanes > 1 || x->warps > 1) ws_buf_puts(o, "\n");
}

static void registers(const struct probe *p, struct ws_buf *o) {
  const struct ws_var *v = p->var;
  int n = ws_probe_registers(p);
  struct register_place first = ws_probe_register(p, 0, 0);
  ws_buf_printf(o, "%s of %s: %s [%d, %d], layout %s: %d register%s a thread, %%%s_0%s, of %d warps\n", v->name, p->prog->role->name, ws_type_name(v->type), v->rows,
                v->cols, ws_layout_name(v->layout), n, n > 1 ? "s" : "", v->name, n > 1 ? ws_fmt(p->a, " to %%%s_%d", v->name, n - 1) : "", p->prog->role->warps);
  ws_buf_printf(o, "warp/lane:register%s; warps are counted within an instance of the role, whose first is warp %d of the CTA\n",
                first.half < 0 ? "" : ", l and h its low and high half", p->prog->role->first_warp + p->prog->first * p->prog->role->warps);
  copies(&first, o);
  ws_buf_puts(o, "\n");
  grid(p, 9, register_cell, o);
}

void ws_probe_text(const struct probe *p, struct ws_buf *o) {
  if (p->var) registers(p, o);
  else if (p->buffer->tmem) tmem(p, o);
  else smem(p, o);
}
