/* The products that read a buffer through matrix descriptors, and the words of these (gen/lower/descriptor.c). */
#include "place.h"

struct scan {
  const struct probe *p;
  const struct ws_programm *prog;
  struct products found;
};

/* Copies of a statement, for each instance or element, read alike. */
static bool known(const struct scan *c, const struct product *x) {
  for (size_t i = 0; i < c->found.n; i++) {
    const struct product *y = &c->found.list[i];
    if (y->act->src->pos.line == x->act->src->pos.line && y->a == x->a && y->steps == x->steps && y->n == x->n && y->o.mn_major == x->o.mn_major &&
        ws_descriptor_start(&y->o) == ws_descriptor_start(&x->o) && ws_descriptor_lead(&y->o) == ws_descriptor_lead(&x->o))
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
    if (!m[i] || m[i]->buffer != c->p->buffer || m[i]->space != WS_SMEM) continue;
    struct product x = {.prog = c->prog, .act = a, .a = i == 0, .o = {.mem = m[i], .mn_major = i ? !m[i]->transposed : m[i]->transposed}};
    x.steps = (b->transposed ? b->cols : b->rows) / WS_KSTEP;
    x.n = b->transposed ? b->rows : b->cols;
    x.m = a->by == WS_BY_WGMMA ? 64 : a->to->rows;
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

struct words ws_probe_words(const struct probe *p, const struct product *x, int k) {
  long at = ws_probe_base(p) + ws_descriptor_start(&x->o);
  unsigned low = (unsigned)(at >> 4 & 0x3FFF) | (unsigned)ws_descriptor_lead(&x->o);
  return (struct words){low + (unsigned)(ws_descriptor_step(&x->o, k, 0) / 16), (unsigned)ws_descriptor_high(p->s, &x->o)};
}
