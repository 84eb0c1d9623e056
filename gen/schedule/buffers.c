/* Buffers: tiles, stages, and where they lie in shared memory. TMEM: tmem.c. */
#include "passes.h"
#include <string.h>

struct ws_bufferm *ws_find_buffer(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->nbuffers; i++)
    if (!strcmp(s->buffers[i].name, name)) return &s->buffers[i];
  return NULL;
}

void ws_unknown_buffer(struct ws_schedule *s, struct ws_pos pos, const char *name) {
  const char **known = WS_NEW_N(s->arena, const char *, s->doc->nbuffers + 1);
  for (size_t i = 0; i < s->doc->nbuffers; i++) known[i] = s->doc->buffers[i].name.name;
  ws_unknown(s, pos, "buffer", name, known, s->doc->nbuffers);
}

/* Rows for ldmatrix; see struct ws_smem_layout. */
static struct ws_smem_layout row_layout(int cols, enum ws_type t) {
  int bits = (int)ws_type_bits(t), row_bytes = cols * bits / 8;
  if (row_bytes % 16) return (struct ws_smem_layout){.pitch = row_bytes};
  int units = bits == 16 ? (cols + 15) / 16 * 2 : row_bytes / 16;
  if (units % 8 == 0) return (struct ws_smem_layout){.pitch = units * 16, .units = units, .mask = 7};
  if (units == 4) return (struct ws_smem_layout){.pitch = units * 16, .units = units, .mask = 3, .shift = 1};
  if (units == 2) return (struct ws_smem_layout){.pitch = units * 16, .units = units, .mask = 1, .shift = 2};
  return (struct ws_smem_layout){.pitch = (units | 1) * 16, .units = units};
}

/* TMA, wgmma and tcgen05 take panels of 32, 64 or 128 bytes a row, swizzled over that width (PTX ISA, "Swizzling modes";
 * matrix descriptors of wgmma and tcgen05). The widest that divides a row is chosen; nothing is padded. */
static void panels(struct ws_schedule *s, struct ws_bufferm *b) {
  long row = (long)b->cols * (long)ws_type_bits(b->type) / 8, asked = -1;
  const struct ws_expr *e = b->decl->swizzle;
  if (e && !ws_static_int(s, NULL, e, 0, 128, "`swizzle`", &asked)) return;
  if (e && (s->arch < 90 || b->tmem || (asked && asked != 32 && asked != 64 && asked != 128) || (asked && row % asked))) {
    ws_error(s->diags, e->pos, "swizzle", s->arch < 90 ? "`swizzle` is for TMA, wgmma and tcgen05, from sm_90 on"
             : b->tmem ? "`swizzle` is for shared memory" : "`swizzle` is 0, 32, 64 or 128 and divides the %ld bytes of a row", row);
    return;
  }
  if (s->arch < 90 || b->tmem) return;
  bool vector = b->rows == 1 || b->cols == 1;
  int w = asked >= 0 ? (int)asked : vector ? 0 : row % 128 == 0 ? 128 : row % 64 == 0 ? 64 : row % 32 == 0 ? 32 : 0;
  if (!w && asked < 0 && !vector) return; /* odd rows: padded as for ldmatrix */
  b->layout = (struct ws_smem_layout){.pitch = w ? w : (int)row, .units = row % 16 ? 0 : (int)row / 16};
  if (w) /* the XOR reads address bits 7 to 9: of the row, where a panel's row has 128 bytes, of pairs or fours of rows below that */
    b->layout.mask = w / 16 - 1, b->layout.shift = w == 128 ? 0 : w == 64 ? 1 : 2, b->layout.panel_units = w / 16, b->layout.panel_bytes = (long)b->rows * w;
  b->swizzle = b->panel = w;
  b->bytes = b->rows * row;
  if (b->rows8) b->layout.panel_bytes = 8L * w, b->layout.group_bytes = 8 * row;
}

static void place(struct ws_schedule *s, struct ws_bufferm *b) {
  const struct ws_buffer *d = b->decl;
  if (b->tmem) return;
  long each = (b->bytes + 15) / 16 * 16, align = each >= 1024 || b->swizzle == 128 ? 1024 : b->swizzle == 64 ? 512 : b->swizzle == 32 ? 256 : 128;
  each = (each + align - 1) / align * align;
  long all = each * b->count * b->stages;
  b->bytes = each;
  if (d->nat) {
    const struct ws_expr *at = d->at[0];
    b->over = d->nat == 1 && at->kind == WS_E_NAME ? ws_find_buffer(s, at->name) : NULL;
    if (b->over == b) b->over = NULL;
    if (!b->over || b->over->tmem) {
      if (at->kind == WS_E_NAME)
        ws_unknown_buffer(s, at->pos, at->name);
      else
        ws_error(s->diags, at->pos, "buffer-at", "a buffer in shared memory is placed over another one: `at: NAME`");
      return;
    }
    if (all > b->over->bytes * b->over->count * b->over->stages)
      ws_error(s->diags, at->pos, "buffer-at", "`%s` needs %ld bytes; `%s`, which it overlays, has %ld", b->name, all,
               b->over->name, b->over->bytes * b->over->count * b->over->stages);
    b->offset = b->over->offset;
    return;
  }
  s->smem_bytes = (s->smem_bytes + align - 1) / align * align;
  b->offset = s->smem_bytes;
  s->smem_bytes += all;
}

static void buffer(struct ws_schedule *s, const struct ws_buffer *d) {
  static const char *const spaces[] = {"smem", "tmem"}, *const orders[] = {"panels", "rows8", "acc8"};
  struct ws_bufferm *b = &s->buffers[s->nbuffers];
  *b = (struct ws_bufferm){.decl = d, .name = d->name.name, .index = s->nbuffers++, .stages = 1, .rows = 1, .cols = 1};
  size_t errors = s->diags->errors;
  ws_declared_count(s, &d->name, 0, &b->is_array, &b->count);
  const char *space = d->space ? ws_static_word(s, d->space, "space", spaces, 2) : NULL;
  b->tmem = space && *space == 't';
  if (b->tmem && s->arch < 100) ws_error(s->diags, d->space->pos, "target", "tensor memory exists on sm_100a and sm_103a, not on %s", s->target);
  long r = 1, c = 1, st = 1;
  struct ws_static ty = {.kind = WS_ST_NAME};
  ws_static_int(s, NULL, d->rows, 1, 65536, "the rows of a tile", &r);
  ws_static_int(s, NULL, d->cols, 1, 65536, "the columns of a tile", &c);
  if (d->stages) ws_static_int(s, NULL, d->stages, 1, 64, "`stages`", &st);
  if (ws_static_need(s, NULL, d->type, &ty, "the type of a buffer") && ty.kind != WS_ST_TYPE)
    ws_error(s->diags, d->type->pos, "static-value", "expected a type: f32, f16, bf16, e4m3, e5m2 or i32");
  b->type = ty.kind == WS_ST_TYPE ? ty.type : WS_F16;
  b->rows = (int)r, b->cols = (int)c, b->stages = (int)st;
  const char *order = d->order ? ws_static_word(s, d->order, "order", orders, 3) : NULL;
  b->acc8 = order == orders[2], b->rows8 = order == orders[1];
  if (b->acc8 && (ws_type_bits(b->type) != 8 || b->tmem))
    ws_error(s->diags, d->order->pos, "buffer-order", "`order: acc8` is for 8-bit keys in shared memory; `%s` holds %s", b->name, ws_type_name(b->type));
  b->layout = row_layout(b->cols, b->type);
  b->bytes = (long)b->rows * b->layout.pitch;
  panels(s, b);
  if (s->diags->errors == errors && b->rows8 && (!b->panel || b->rows % 8))
    ws_error(s->diags, d->order->pos, "buffer-order", b->panel ? "`order: rows8` is for a multiple of 8 rows; `%s` has %d" : "`order: rows8` is for swizzled rows in shared memory, from sm_90 on; `%s` has none", b->name, b->rows);
  if (s->diags->errors == errors) place(s, b);
}

void ws_declare_buffers(struct ws_schedule *s) {
  s->buffers = WS_NEW_N(s->arena, struct ws_bufferm, s->doc->nbuffers);
  for (size_t i = 0; i < s->doc->nbuffers; i++) buffer(s, &s->doc->buffers[i]);
  s->buffer_bytes = s->smem_bytes;
}
