/* An element -> its place. Said once more, and not called from gen/lower: there addresses are spread over templates, here they
 * are numbers; the tests hold both against a device's. */
#include "place.h"

/* ---- shared memory: struct ws_smem_layout ---- */

long ws_probe_base(const struct probe *p) {
  const struct ws_bufferm *b = p->buffer;
  return b->offset + ((long)p->q->element * b->stages + p->q->stage) * b->bytes;
}

struct place ws_probe_smem(const struct probe *p, int row, int col) {
  const struct ws_smem_layout *l = &p->buffer->layout;
  long byte = (long)col * ws_type_bits(p->buffer->type) / 8, base = ws_probe_base(p);
  struct place x = {.address = base + (long)row * l->pitch + byte, .unit = -1, .lies = -1};
  if (l->units) {
    long unit = byte / 16;
    x.panel = l->panel_units ? (int)(unit / l->panel_units) : 0;
    x.unit = (int)unit - x.panel * l->panel_units;
    x.lies = x.unit ^ ((row >> l->shift) & l->mask);
    x.address = base + ws_smem_unit(l, row, 0) + x.panel * l->panel_bytes + x.lies * 16L + byte % 16;
  }
  x.bank = (int)(x.address / 4 % 32);
  return x;
}

/* ---- tensor memory: row r in lane r, two elements of 16 bits in one column ---- */

struct tmem_place ws_probe_tmem(const struct probe *p, int row, int col) {
  const struct ws_bufferm *b = p->buffer;
  int each = 32 / (int)ws_type_bits(b->type);
  return (struct tmem_place){row, b->column[p->q->element * b->stages + p->q->stage] + col / each, each > 1 ? col % each : -1};
}

/* ---- registers: struct tile in gen/lower/lower.h ---- */

/* Layout acc, and a, whose registers are those of a packed accumulator: quad g = lane / 4 has rows g and g + 8 of every 16,
 * lane t of the quad columns 2 t and 2 t + 1 of every 8. */
static struct register_place fragment(const struct probe *p, int row, int col) {
  const struct ws_var *v = p->var;
  int warps = p->prog->role->warps, warp_rows = v->rows / warps, nt = v->layout == WS_L_A ? (v->cols + 15) / 16 * 2 : v->cols / 8;
  int r = warp_rows ? row % warp_rows : 0, mi = r / 16, g = r % 8, high = r % 16 / 8, ni = col / 8, t = col % 8 / 2;
  struct register_place x = {.warps = 1, .lanes = 1, .step = 1, .half = -1};
  if (v->rows > 1) x.warp = row / warp_rows;
  else x.warps = warps;
  if (v->rows > 1 && v->cols > 1)
    x.lane = g * 4 + t, x.number = (mi * nt + ni) * 4 + high * 2 + col % 2;
  else if (v->rows > 1) /* the same in the four lanes of the quad */
    x.lane = g * 4, x.lanes = 4, x.number = mi * 2 + high;
  else if (v->cols > 1) /* the same in all quads */
    x.lane = t, x.lanes = 8, x.step = 4, x.number = ni * 2 + col % 2;
  else
    x.lanes = 32;
  return x;
}

struct register_place ws_probe_register(const struct probe *p, int row, int col) {
  const struct ws_var *v = p->var;
  struct register_place x = fragment(p, row, col);
  if (v->layout == WS_L_LANE && (v->rows > 1 || v->cols > 1)) { /* row r in thread r */
    x = (struct register_place){.warp = row / 32, .lane = row % 32, .warps = 1, .lanes = 1, .step = 1, .number = col, .half = -1};
    if (v->rows == 1) x.warps = p->prog->role->warps, x.warp = x.lane = 0, x.lanes = 32;
  }
  if (ws_type_bits(v->type) == 16) x.half = x.number % 2, x.number /= 2;
  return x;
}

int ws_probe_registers(const struct probe *p) {
  const struct ws_var *v = p->var;
  struct lower l = {.prog = (struct ws_programm *)p->prog};
  int n = ws_extent(&l, v->rows, v->cols, v->layout).n;
  return ws_type_bits(v->type) == 16 ? (n + 1) / 2 : n;
}
