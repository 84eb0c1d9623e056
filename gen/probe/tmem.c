/* Tensor memory beyond the table: which buffers have which columns, and which statements move or multiply a buffer: the lane and
 * register of each element, or the column where a product starts. */
#include "place.h"
#include <string.h>

enum { COLUMNS = 512, CHARACTER = 8 };

static bool covers(const struct ws_bufferm *b, int slot, int column) { return column + CHARACTER > b->column[slot] && column < b->column[slot] + b->tmem_cols; }

static void line(const struct probe *p, const struct ws_bufferm *b, int slot, struct ws_buf *o) {
  const char *name = b->name;
  if (b->is_array) name = ws_fmt(p->a, "%s[%d]", name, slot / b->stages);
  if (b->stages > 1) name = ws_fmt(p->a, "%s.%d", name, slot % b->stages);
  bool mine = b == p->buffer && slot == p->q->element * b->stages + p->q->stage;
  ws_buf_printf(o, "  %-10s ", name);
  for (int c = 0; c < COLUMNS; c += CHARACTER) ws_buf_puts(o, covers(b, slot, c) ? (mine ? "#" : "=") : ".");
  ws_buf_printf(o, "  %d to %d%s\n", b->column[slot], b->column[slot] + b->tmem_cols - 1, b->over ? ws_fmt(p->a, ", over %s", b->over->name) : "");
}

/* Lanes are the same for all: 128 rows, a row a lane. */
void ws_probe_columns(const struct probe *p, struct ws_buf *o) {
  ws_buf_printf(o, "\nall %d columns, a character %d of them; # is this buffer\n", COLUMNS, CHARACTER);
  for (int i = 0; i < p->s->nbuffers; i++) {
    const struct ws_bufferm *b = &p->s->buffers[i];
    for (int slot = 0; b->tmem && slot < b->count * b->stages; slot++) line(p, b, slot, o);
  }
}

struct access {
  const struct probe *p;
  const struct ws_programm *prog;
  struct ws_buf *o;
  struct ws_buf seen;           /* what was said: copies of a statement say the same */
};

static void say(struct access *x, const char *text) {
  if (x->seen.s && strstr(x->seen.s, text)) return;
  ws_buf_puts(&x->seen, text);
  ws_buf_puts(x->o, text);
}

static const char *columns(const struct probe *p, const struct ws_mem *m) {
  const struct ws_bufferm *b = m->buffer;
  int each = 32 / (int)ws_type_bits(b->type), first = b->column[p->q->element * b->stages + p->q->stage] + m->col0 / each;
  int last = first + (m->cols + each - 1) / each - 1;
  return first == last ? ws_fmt(p->a, "column %d", first) : ws_fmt(p->a, "columns %d to %d", first, last);
}

static const struct ws_mem *read_of(const struct ws_node *x, const struct ws_bufferm *b) {
  if (!x) return NULL;
  if (x->kind == WS_N_READ && x->mem && x->mem->buffer == b) return x->mem;
  const struct ws_mem *m = NULL;
  for (int i = 0; i < x->n && !m; i++) m = read_of(x->arg[i], b);
  return m;
}

static void access_of(void *ctx, struct ws_act *a) {
  struct access *x = ctx;
  const struct probe *p = x->p;
  const struct ws_mem *from = read_of(a->value, p->buffer), *to = a->to && a->to->buffer == p->buffer ? a->to : NULL;
  unsigned at = a->src->pos.line;
  const char *role = x->prog->role->name;
  if (from && a->dst)
    say(x, ws_fmt(p->a, "  line %u: %s loads %s: row r is in lane r %% 32 of warp r / 32, column c in register %%%s%s\n", at, role, columns(p, from), a->dst->name, from->col0 ? ws_fmt(p->a, "_(c - %d)", from->col0) : "_c"));
  else if (from)
    say(x, ws_fmt(p->a, "  line %u: %s loads %s: row r is in lane r %% 32 of warp r / 32\n", at, role, columns(p, from)));
  if (to && a->kind == WS_S_WRITE) say(x, ws_fmt(p->a, "  line %u: %s stores %s, from lane r %% 32 of warp r / 32\n", at, role, columns(p, to)));
  if (to && a->kind == WS_S_PRODUCT) say(x, ws_fmt(p->a, "  line %u: %s multiplies into %s: row r of the product is lane r\n", at, role, columns(p, to)));
  if (a->kind == WS_S_PRODUCT && a->a_mem && a->a_mem->buffer == p->buffer)
    say(x, ws_fmt(p->a, "  line %u: %s multiplies it from there, left operand: %s, %d a step of K\n", at, role, columns(p, a->a_mem), WS_KSTEP * (int)ws_type_bits(p->buffer->type) / 32));
}

void ws_probe_accesses(const struct probe *p, struct ws_buf *o) {
  struct access x = {.p = p, .o = o, .seen = {.arena = p->a}};
  ws_buf_puts(o, "\n");
  for (int i = 0; i < p->s->nprograms; i++) {
    x.prog = &p->s->programs[i];
    ws_each_act(x.prog->body, access_of, &x);
  }
}
