/* Names, slots and ranges of a request -> declarations of the model. */
#include "place.h"
#include <string.h>

static const char *names_of_buffers(const struct ws_schedule *s) {
  struct ws_buf b = {.arena = s->arena};
  ws_buf_puts(&b, "");
  for (int i = 0; i < s->nbuffers; i++) ws_buf_printf(&b, "%s%s", i ? ", " : "", s->buffers[i].name);
  return b.s;
}

static bool find_buffer(struct probe *p, const char **why) {
  const struct ws_schedule *s = p->s;
  for (int i = 0; i < s->nbuffers; i++)
    if (!strcmp(s->buffers[i].name, p->q->buffer)) p->buffer = &s->buffers[i];
  if (!p->buffer) return *why = ws_fmt(p->a, "--buffer %s: %s has no such buffer; it has %s", p->q->buffer, s->name, names_of_buffers(s)), false;
  const struct ws_bufferm *b = p->buffer;
  if (p->q->element >= b->count) return *why = ws_fmt(p->a, "--element %d: %s has %d element%s; they are counted from 0", p->q->element, b->name, b->count, b->count > 1 ? "s" : ""), false;
  if (p->q->stage >= b->stages) return *why = ws_fmt(p->a, "--stage %d: %s has %d stage%s; they are counted from 0", p->q->stage, b->name, b->stages, b->stages > 1 ? "s" : ""), false;
  if (b->acc8) return *why = ws_fmt(p->a, "--buffer %s: the order acc8 of its keys is not shown; see specs/README.md", b->name), false;
  p->rows = b->rows, p->cols = b->cols;
  return true;
}

/* NAME or ROLE.NAME. Programs may use one name for different tiles: then the role is needed. */
static bool find_var(struct probe *p, const char **why) {
  const char *dot = strchr(p->q->operand, '.'), *name = dot ? dot + 1 : p->q->operand;
  struct ws_buf known = {.arena = p->a};
  ws_buf_puts(&known, "");
  for (int i = 0; i < p->s->nprograms; i++) {
    const struct ws_programm *g = &p->s->programs[i];
    bool here = !dot || (strlen(g->role->name) == (size_t)(dot - p->q->operand) && !memcmp(g->role->name, p->q->operand, (size_t)(dot - p->q->operand)));
    for (size_t k = 0; k < g->nvars; k++) {
      const struct ws_var *v = g->vars[k], *old = p->var;
      if (here) ws_buf_printf(&known, "%s%s", known.n ? ", " : "", v->name);
      if (!here || strcmp(v->name, name)) continue;
      if (old && g->role != p->prog->role)
        return *why = ws_fmt(p->a, "--operand %s: %s and %s have one each: ask for %s.%s or %s.%s", name, p->prog->role->name, g->role->name, p->prog->role->name, name, g->role->name, name), false;
      if (!old) p->var = v, p->prog = g;
    }
  }
  if (!p->var) return *why = ws_fmt(p->a, "--operand %s: there is no such register tile; there are %s", p->q->operand, known.n ? known.s : "none"), false;
  p->rows = p->var->rows, p->cols = p->var->cols;
  return true;
}

static bool range(struct probe *p, bool given, int from, int to, int extent, const char *what, int *first, int *last, const char **why) {
  *first = given ? from : 0, *last = given ? to : extent < 16 ? extent - 1 : 15;
  if (*first <= *last && *last < extent) return true;
  *why = ws_fmt(p->a, "--%s %d..%d: the tile has %s 0..%d", what, from, to, what, extent - 1);
  return false;
}

bool ws_probe_resolve(struct probe *p, const char **why) {
  const struct ws_probe_request *q = p->q;
  if (!(q->buffer ? find_buffer : find_var)(p, why)) return false;
  return range(p, q->rows_given, q->row0, q->row1, p->rows, "rows", &p->row0, &p->row1, why) &&
         range(p, q->cols_given, q->col0, q->col1, p->cols, "cols", &p->col0, &p->col1, why);
}

bool ws_probe_print(struct ws_schedule *s, const struct ws_probe_request *q, struct ws_buf *out, const char **why) {
  struct probe p = {.s = s, .q = q, .a = s->arena};
  if (!q->buffer && !q->operand) {
    (q->json ? ws_probe_json_list : ws_probe_text_list)(s, out);
    return true;
  }
  if (!ws_probe_resolve(&p, why)) return false;
  (q->json ? ws_probe_json : ws_probe_text)(&p, out);
  return true;
}

long ws_probe_offset(struct ws_schedule *s, const struct ws_probe_request *q, int row, int col) {
  struct probe p = {.s = s, .q = q, .a = s->arena};
  const char *why;
  if (!ws_probe_resolve(&p, &why)) return -1;
  if (!p.buffer->tmem) return ws_probe_smem(&p, row, col).address - ws_probe_base(&p);
  struct tmem_place x = ws_probe_tmem(&p, row, col); /* the dump: a lane's columns, then the next lane's */
  int column = x.column - p.buffer->column[q->element * p.buffer->stages + q->stage];
  return ((long)x.lane * p.buffer->tmem_cols + column) * 4 + (x.half > 0 ? 2 : 0);
}

const char *ws_probe_buffer_name(const struct ws_schedule *s, int i) { return i < s->nbuffers ? s->buffers[i].name : NULL; }
