/* What stands at the head of the code for its reader: the memory map, the words, the schedule itself. */
#include "lower.h"
#include <string.h>

static struct ws_list memory_map(struct lower *l) {
  const struct ws_schedule *s = l->s;
  const char **cell = WS_NEW_N(l->arena, const char *, s->nbuffers + 1);
  size_t n = 0;
  for (int i = 0; i < s->nbuffers; i++) {
    const struct ws_bufferm *b = &s->buffers[i];
    if (b->tmem) continue;
    struct ws_buf t = {.arena = l->arena};
    ws_buf_printf(&t, "%6ld  %s [%d, %d] %s", b->offset, b->name, b->rows, b->cols, ws_type_name(b->type));
    if (b->count * b->stages > 1) ws_buf_printf(&t, ", %d %s of %ld bytes", b->count * b->stages, b->stages > 1 ? "slots" : "elements", b->bytes);
    ws_buf_printf(&t, b->rows8 ? ", every 8 rows together, in panels of %d bytes a row%s" : b->panel ? ", panels of %d bytes a row, one behind the other%s" : ", rows of %d bytes%s", b->layout.pitch, b->layout.mask ? ", swizzled" : "");
    if (b->layout.mask) ws_buf_printf(&t, ": unit ^ (row%s & %d)", b->layout.shift ? ws_fmt(l->arena, " >> %d", b->layout.shift) : "", b->layout.mask);
    cell[n++] = t.s;
  }
  return (struct ws_list){.n = n, .fields = 1, .cell = cell};
}

/* Where each buffer in tensor memory lies: the columns of its elements, stage by stage. */
static struct ws_list column_map(struct lower *l) {
  const struct ws_schedule *s = l->s;
  const char **cell = WS_NEW_N(l->arena, const char *, s->nbuffers + 1);
  size_t n = 0;
  for (int i = 0; i < s->nbuffers; i++) {
    const struct ws_bufferm *b = &s->buffers[i];
    if (!b->tmem) continue;
    struct ws_buf t = {.arena = l->arena};
    ws_buf_printf(&t, "%s [%d, %d] %s:", b->name, b->rows, b->cols, ws_type_name(b->type));
    int wide = (int)((long)b->cols * ws_type_bits(b->type) / 32), slots = b->count * b->stages;
    for (int k = 0; k < slots && k < 8; k++) ws_buf_printf(&t, "%s %d to %d", k ? "," : " columns", b->column[k], b->column[k] + wide - 1);
    if (slots > 8) ws_buf_puts(&t, ", ...");
    cell[n++] = t.s;
  }
  return (struct ws_list){.n = n, .fields = 1, .cell = cell};
}

/* The source from the first role on, to the end of the document, with line numbers. */
static struct ws_list schedule_text(struct lower *l) {
  const struct ws_source *src = l->diags->source;
  const char **cell = NULL;
  size_t n = 0, cap = 0;
  unsigned line = 1, first = l->s->nroles ? l->s->roles[0].decl->name.pos.line : 1;
  const char *p = src->text, *end = src->text + src->len;
  while (p < end) {
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    size_t len = (size_t)((nl ? nl : end) - p);
    if (line > first && len >= 3 && !memcmp(p, "---", 3)) break;
    while (len && (p[len - 1] == ' ' || p[len - 1] == '\r')) len--;
    if (line + 1 >= first) *WS_PUSH(l->arena, cell, n, cap) = ws_fmt(l->arena, "%4u %.*s", line, (int)len, p);
    if (!nl) break;
    p = nl + 1, line++;
  }
  return (struct ws_list){.n = n, .fields = 1, .cell = cell};
}

/* A part that depends on how the target moves and multiplies. */
static const char *part(struct lower *l, const char *name) {
  struct ws_buf b = {.arena = l->arena}, *old = l->px.out;
  l->px.out = &b;
  ws_ptx_op(&l->px, ws_fmt(l->arena, "%s_%s", name, l->s->arch >= 100 ? "tensor" : l->s->arch >= 90 ? "async" : "threads"), NULL, 0);
  l->px.out = old;
  while (b.n && b.s[b.n - 1] == '\n') b.s[--b.n] = 0;
  return b.s ? b.s : "";
}

/* The section about tensor memory, "" without. */
static const char *tensor_memory(struct lower *l) {
  struct ws_list lists[] = {column_map(l)};
  if (!lists[0].n) return "";
  struct ws_buf b = {.arena = l->arena}, *old = l->px.out;
  l->px.out = &b;
  ws_ptx_op_list(&l->px, "guide_columns", NULL, 0, lists, 1);
  l->px.out = old;
  return b.s;
}

/* "128 rows of one head" */
static const char *rows_of(struct lower *l) {
  const struct ws_schedule *s = l->s;
  if (!s->group) return ws_fmt(l->arena, "%d rows of one head", s->tile_rows);
  return ws_fmt(l->arena, "%d rows: %d queries of the %d heads of one key head, row r being query r / %d of head r %% %d", s->tile_rows, ws_tile_positions(s), s->group, s->group, s->group);
}

void ws_lower_guide(struct lower *l, const char *path) {
  struct ws_list lists[] = {memory_map(l), schedule_text(l)};
  const struct ws_schedule *s = l->s;
  const char *args[] = {s->name, path, s->target, rows_of(l), ws_lower_int(l, s->threads), ws_lower_int(l, s->threads / 32),
                        tensor_memory(l), part(l, "guide_registers"), part(l, "guide_words"), part(l, "guide_instructions")};
  ws_ptx_op_list(&l->px, "guide", args, sizeof args / sizeof *args, lists, 2);
}
