/* The 16-byte units of a buffer in the order of their addresses, each the letter of the unit of its row that lies there. A line
 * is 128 bytes, all 32 banks once: rows read together want different places in their lines. */
#include "place.h"

enum { LINE = 8 }; /* units */

static char letter(int unit) {
  static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-*#";
  return all[unit % (int)(sizeof all - 1)];
}

struct cell {
  int row, unit;                /* unit < 0: nothing, or padding, lies there */
};

static void line(const struct probe *p, const struct cell *cell, long first, long n, struct ws_buf *o) {
  int row0 = -1, row1 = -1;
  ws_buf_printf(o, "  %7ld ", ws_probe_base(p) + first * 16);
  for (long i = first; i < first + LINE && i < n; i++) {
    if (cell[i].unit < 0) {
      ws_buf_puts(o, " .");
      continue;
    }
    if (row0 < 0) row0 = cell[i].row;
    ws_buf_puts(o, row1 >= 0 && cell[i].row != row1 ? "|" : " ");
    row1 = cell[i].row;
    if (p->q->colour)
      ws_buf_printf(o, "\033[%dm%c\033[0m", 41 + cell[i].unit % 6, letter(cell[i].unit));
    else
      ws_buf_printf(o, "%c", letter(cell[i].unit));
  }
  ws_buf_printf(o, row1 > row0 ? "   rows %d to %d\n" : "   row %d\n", row0, row1);
}

/* Does the line hold a row that is shown? */
static bool shown(const struct probe *p, const struct cell *cell, long first, long n) {
  for (long i = first; i < first + LINE && i < n; i++)
    if (cell[i].unit >= 0 && cell[i].row >= p->row0 && cell[i].row <= p->row1) return true;
  return false;
}

void ws_probe_picture(const struct probe *p, struct ws_buf *o) {
  const struct ws_smem_layout *l = &p->buffer->layout;
  long n = p->buffer->bytes / 16, base = ws_probe_base(p);
  int bits = (int)ws_type_bits(p->buffer->type), units = (int)((long)p->cols * bits / 128);
  if (!l->units || !units) return;
  struct cell *cell = WS_NEW_N(p->a, struct cell, n);
  for (long i = 0; i < n; i++) cell[i].unit = -1;
  for (int r = 0; r < p->rows; r++)
    for (int u = 0; u < units; u++) {
      long at = (ws_probe_smem(p, r, u * 128 / bits).address - base) / 16;
      if (at < n) cell[at] = (struct cell){r, u};
    }
  ws_buf_printf(o, "\n128 bytes a line, a letter a unit of 16 bytes: %c = columns 0 to %d, %c the next ones, ...\n", letter(0), 128 / bits - 1, letter(1));
  long before = -1;
  for (long i = 0; i < n; i += LINE) {
    if (!shown(p, cell, i, n)) continue;
    if (before >= 0 && i != before + LINE) ws_buf_puts(o, "      ...\n");
    line(p, cell, i, n, o);
    before = i;
  }
}
