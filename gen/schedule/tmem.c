/* Tensor memory: 512 columns of 128 lanes of 32 bits. `at` gives a column (one for all, or one for each element and stage) or
 * a buffer that is overlaid, element by element; a buffer without `at` comes behind everything above it. What overlaps
 * without `at` saying so is an error. */
#include "passes.h"
#include <string.h>

enum { COLUMNS = 512 };

static int slots(const struct ws_bufferm *b) { return b->count * b->stages; }

static const struct ws_bufferm *root(const struct ws_bufferm *b) {
  while (b->over) b = b->over;
  return b;
}

/* The buffer that `at` names, if it does not give a column: NAME in NAME or NAME + n. */
static const struct ws_expr *named(const struct ws_schedule *s, const struct ws_buffer *d) {
  const struct ws_expr *e = d->nat == 1 ? d->at[0] : NULL;
  if (e && e->kind == WS_E_BINARY && e->op == WS_OP_ADD) e = e->arg[0];
  return e && e->kind == WS_E_NAME && !ws_schedule_param(s, e->name) ? e : NULL;
}

/* at: NAME, or NAME + n */
static struct ws_bufferm *overlaid(struct ws_schedule *s, const struct ws_expr *e, long *offset) {
  bool plus = e->kind == WS_E_BINARY && e->op == WS_OP_ADD;
  const struct ws_expr *name = plus ? e->arg[0] : e;
  if (name->kind != WS_E_NAME || ws_schedule_param(s, name->name)) return NULL;
  struct ws_bufferm *o = ws_find_buffer(s, name->name);
  *offset = 0;
  if (!o || !o->tmem) return NULL;
  if (plus && !ws_static_int(s, NULL, e->arg[1], 0, COLUMNS - 1, "the column offset of an overlay", offset)) return NULL;
  return o;
}

static void place(struct ws_schedule *s, struct ws_bufferm *b, int *next) {
  const struct ws_buffer *d = b->decl;
  int n = slots(b);
  long v = *next, offset;
  b->column = WS_NEW_N(s->arena, int, n);
  b->tmem_cols = (int)(((long)b->cols * (long)ws_type_bits(b->type) + 31) / 32);
  struct ws_bufferm *over = d->nat == 1 ? overlaid(s, d->at[0], &offset) : NULL;
  if (over == b) over = NULL;
  if (over && slots(over) != 1 && slots(over) != n)
    ws_error(s->diags, d->at[0]->pos, "buffer-at", "`%s` has %d slots, `%s`, which it overlays, has %d", b->name, n, over->name, slots(over));
  else if (over) {
    b->over = over;
    for (int i = 0; i < n; i++) b->column[i] = over->column[slots(over) == 1 ? 0 : i] + (int)offset;
  } else if (d->nat > 1 && (int)d->nat != n)
    ws_error(s->diags, d->at[0]->pos, "buffer-at", "`at` gives %zu columns, `%s` has %d slots", d->nat, b->name, n);
  else if (named(s, d))
    ws_unknown_buffer(s, named(s, d)->pos, named(s, d)->name);
  else
    for (int i = 0; i < n; i++) {
      size_t k = (size_t)i < d->nat ? (size_t)i : 0;
      if (d->nat && !ws_static_int(s, NULL, d->at[k], 0, COLUMNS - 1, "a TMEM column", &v)) return;
      b->column[i] = (int)v + (d->nat > 1 ? 0 : i * b->tmem_cols);
    }
  for (int i = 0; i < n; i++)
    if (b->column[i] + b->tmem_cols > *next) *next = b->column[i] + b->tmem_cols;
}

static bool overlap(const struct ws_bufferm *x, const struct ws_bufferm *y) {
  for (int i = 0; i < slots(x); i++)
    for (int k = 0; k < slots(y); k++)
      if ((x != y || i != k) && x->column[i] < y->column[k] + y->tmem_cols && y->column[k] < x->column[i] + x->tmem_cols) return true;
  return false;
}

void ws_place_tmem(struct ws_schedule *s) {
  int next = 0;
  const struct ws_bufferm *last = NULL;
  size_t errors = s->diags->errors;
  for (int i = 0; i < s->nbuffers; i++) {
    struct ws_bufferm *b = &s->buffers[i];
    if (!b->tmem) continue;
    if (b->rows > 128) ws_error(s->diags, b->decl->tile_pos, "buffer", "TMEM has 128 lanes: `%s` has %d rows", b->name, b->rows);
    int before = next;
    place(s, b, &next);
    if (next > before) last = b;
  }
  if (!last || s->diags->errors > errors) return;
  s->tmem_cols = next; /* `at` names columns of the allocation: it begins at 0 */
  if (next > COLUMNS)
    ws_error(s->diags, last->decl->name.pos, "budget", "TMEM has %d columns: `%s` ends at column %d", COLUMNS, last->name, next);
  for (int i = 0; i < s->nbuffers; i++)
    for (int k = 0; k <= i; k++) {
      const struct ws_bufferm *b = &s->buffers[i], *o = &s->buffers[k];
      if (!b->tmem || !o->tmem || (b != o && root(b) == root(o)) || !overlap(b, o)) continue;
      ws_error(s->diags, b->decl->name.pos, "overlap", b == o ? "the slots of `%s` overlap in TMEM" : "`%s` and `%s` overlap in TMEM, and no `at` of one names the other",
               b->name, o->name);
      if (b != o) ws_note(s->diags, o->decl->name.pos, "`%s` has columns %d to %d", o->name, o->column[0], o->column[0] + o->tmem_cols - 1);
    }
}
