/* The products that read a buffer through matrix descriptors, and the words of these (gen/lower/descriptor.c). */
#include "place.h"

struct scan {
  const struct probe *p;
  const struct ws_programm *prog;
  struct products found;
};

/* Products that read alike, copies of one statement among them, are one entry with several lines. */
static bool known(struct scan *c, const struct product *x) {
  unsigned line = x->act->src->pos.line;
  for (size_t i = 0; i < c->found.n; i++) {
    struct product *y = &c->found.list[i];
    const struct ws_mem *m = x->o.mem, *n = y->o.mem;
    if (y->a != x->a || y->steps != x->steps || y->n != x->n || y->m != x->m || y->o.mn_major != x->o.mn_major || y->prog->role != x->prog->role) continue;
    if (m->row0 != n->row0 || m->col0 != n->col0 || m->rows != n->rows || m->cols != n->cols || ws_mem_layout(m).panel_bytes != ws_mem_layout(n).panel_bytes) continue;
    bool said = false;
    for (int k = 0; k < y->nlines; k++) said |= y->line[k] == line;
    if (!said && y->nlines < PROBE_LINES) y->line[y->nlines++] = line;
    return true;
  }
  return false;
}

static void look(void *ctx, struct ws_act *a) {
  struct scan *c = ctx;
  if (a->kind != WS_S_PRODUCT || (a->by != WS_BY_WGMMA && a->by != WS_BY_TCGEN05)) return;
  const struct ws_mem *m[] = {a->a_mem, a->b_mem};
  const struct ws_mem *b = a->b_mem;
  for (int i = 0; i < 2; i++) {
    if (!m[i] || m[i]->buffer != c->p->buffer || (m[i]->space == WS_SMEM && !m[i]->buffer->panel)) continue; /* without panels: not lowered */
    struct product x = {.prog = c->prog, .act = a, .a = i == 0, .o = {.mem = m[i], .mn_major = i ? !m[i]->transposed : m[i]->transposed}};
    x.steps = (b->transposed ? b->cols : b->rows) / WS_KSTEP;
    x.n = b->transposed ? b->rows : b->cols;
    x.m = a->by == WS_BY_WGMMA ? 64 : a->to->rows;
    x.ctas = a->by == WS_BY_TCGEN05 && c->p->s->pair ? 2 : 1;
    x.line[x.nlines++] = a->src->pos.line;
    if (!known(c, &x)) *WS_PUSH(c->p->a, c->found.list, c->found.n, c->found.cap) = x;
  }
}

struct products ws_probe_products(const struct probe *p) {
  struct scan c = {.p = p};
  for (int i = 0; i < p->s->nprograms; i++) {
    c.prog = &p->s->programs[i];
    ws_each_act(c.prog->body, look, &c);
  }
  return c.found;
}

const char *ws_probe_lines(const struct probe *p, const struct product *x, const char *one, const char *many) {
  struct ws_buf b = {.arena = p->a};
  ws_buf_puts(&b, x->nlines > 1 ? many : one);
  for (int k = 0; k < x->nlines; k++) ws_buf_printf(&b, "%s%u", k ? ", " : " ", x->line[k]);
  return b.s;
}

struct words ws_probe_words(const struct probe *p, const struct product *x, int k) {
  long at = ws_probe_base(p) + ws_descriptor_start(&x->o);
  unsigned low = (unsigned)(at >> 4 & 0x3FFF) | (unsigned)ws_descriptor_lead(&x->o);
  return (struct words){low + (unsigned)(ws_descriptor_step(&x->o, k, 0) / 16), (unsigned)ws_descriptor_high(p->s, &x->o)};
}
