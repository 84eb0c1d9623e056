/* Content: loads, masks and stores name global tiles, so every slot and every value is known to hold certain rows and columns of
 * something. Products compare the axis that they contract; arithmetic, masks, sums and stores compare both. */
#include "world.h"
#include <string.h>

struct rect {
  int r0, r1, c0, c1;
};

static int identify(struct world *w, const char *dim, int tile, int block) {
  for (size_t i = 0; i < w->nidents; i++)
    if (!strcmp(w->ident[i].dim, dim) && w->ident[i].tile == tile && w->ident[i].block == block) return (int)i + 1;
  *WS_PUSH(w->arena, w->ident, w->nidents, w->idents_cap) = (struct ident){dim, tile, block};
  return (int)w->nidents;
}

static const char *axis_name(struct world *w, int id, int off) {
  const struct ident *i = &w->ident[id - 1];
  struct ws_arena *a = w->found->arena;
  if (i->tile < 0) return ws_fmt(a, "%s from %d", i->dim, off);
  if (i->block < 0) return ws_fmt(a, "%s %d.. of work tile %d", i->dim, off, i->tile + 1);
  return ws_fmt(a, "%s %d.. of block %d of work tile %d", i->dim, off, i->block + 1, i->tile + 1);
}

static struct tag flip(struct tag t) { return (struct tag){{t.id[1], t.id[0]}, {t.off[1], t.off[0]}}; }

static struct tag agree(struct warp *p, struct tag a, struct tag b, const char *what) {
  struct world *w = p->w;
  for (int x = 0; x < 2; x++) {
    if (a.id[x] && b.id[x] && (a.id[x] != b.id[x] || a.off[x] != b.off[x])) {
      struct finding *f = report(w, p->at->src->pos, "content", "%s: %s %s meet %s", what, x ? "columns" : "rows", axis_name(w, a.id[x], a.off[x]), axis_name(w, b.id[x], b.off[x]));
      note(w, f, p->at->src->pos, "by %s; %s", role_name(p), where(p));
    }
    if (!a.id[x]) a.id[x] = b.id[x], a.off[x] = b.off[x];
  }
  return a;
}

/* --- where things come from --- */

static struct rect rect_of(const struct warp *p, const struct ws_mem *m) {
  struct rect r;
  r.r0 = m->row0 + ws_index_at(0, m->row_at, p->cta, p->instance), r.r1 = r.r0 + m->rows;
  r.c0 = m->col0 + ws_index_at(0, m->col_at, p->cta, p->instance), r.c1 = r.c0 + m->cols;
  return r;
}

static const char *dim_name(const char *dim) { return !strcmp(dim, "packed") ? "queries" : dim; }

/* The columns of a problem's tensor are head dims by name, though their extent is fixed. */
static const char *fixed_columns(const struct world *w, const struct ws_tensor *t) {
  for (size_t i = 0; i < w->s->problem->ntensors; i++) {
    const struct ws_problem_tensor *x = &w->s->problem->tensors[i];
    if (strcmp(x->name, t->name) || x->tile_dims < 2) continue;
    int n = 0;
    while (n < WS_PROBLEM_DIMS && x->dims[n]) n++;
    return n ? x->dims[n - 1] : NULL;
  }
  return NULL;
}

static struct tag of_tensor(struct warp *p, const struct ws_mem *m) {
  struct world *w = p->w;
  const struct ws_tensor *t = m->tensor;
  struct tag tag = {{0}, {0}};
  if (t->coords) return tag;
  struct rect r = rect_of(p, m);
  int tile = m->tile ? p->iter[m->tile->index] : -1;
  double v;
  if (m->tile && t->row_dim >= 0 && t->dim[t->row_dim]) {
    v = -1;
    if (m->block) evaluate(p, m->block, &v);
    tag.id[0] = identify(w, dim_name(t->dim[t->row_dim]), tile, (int)v), tag.off[0] = r.r0;
  }
  if (t->col_dim >= 0 && t->dim[t->col_dim]) {
    v = -1;
    if (m->col_block) evaluate(p, m->col_block, &v);
    if (m->tile) tag.id[1] = identify(w, dim_name(t->dim[t->col_dim]), tile, (int)v), tag.off[1] = r.c0;
  } else {
    const char *dim = fixed_columns(w, t);
    if (dim) tag.id[1] = identify(w, dim, -1, -1), tag.off[1] = r.c0;
  }
  return m->transposed ? flip(tag) : tag;
}

/* --- memory --- */

static struct content *content_of(struct warp *p, const struct ws_mem *m, int cta) {
  struct world *w = p->w;
  int element = ws_index_at(m->element, m->element_at, p->cta, p->instance), stage = stage_of(p, m);
  for (struct content *c = w->content; c; c = c->next)
    if (c->buffer == m->buffer && c->cta == cta && c->element == element && c->stage == stage) return c;
  struct content *c = WS_NEW(w->arena, struct content);
  *c = (struct content){.buffer = m->buffer, .cta = cta, .element = element, .stage = stage, .next = w->content};
  return w->content = c;
}

static void add_piece(struct world *w, struct piece **list, struct rect r, const struct piece *like) {
  if (r.r0 >= r.r1 || r.c0 >= r.c1) return;
  struct piece *x = WS_NEW(w->arena, struct piece);
  *x = (struct piece){.r0 = r.r0, .r1 = r.r1, .c0 = r.c0, .c1 = r.c1, .tag = like->tag, .foreign = like->foreign, .next = *list};
  *list = x;
}

static int hi(int a, int b) { return a > b ? a : b; }
static int lo(int a, int b) { return a < b ? a : b; }

/* r is what `now` says from now on; pieces that it covers in part keep the rest. */
static void replace(struct world *w, struct content *c, struct rect r, const struct piece *now) {
  struct piece *left = NULL;
  for (struct piece *x = c->piece; x; x = x->next) {
    int r0 = hi(x->r0, r.r0), r1 = lo(x->r1, r.r1), c0 = hi(x->c0, r.c0), c1 = lo(x->c1, r.c1);
    if (r0 >= r1 || c0 >= c1) {
      add_piece(w, &left, (struct rect){x->r0, x->r1, x->c0, x->c1}, x);
      continue;
    }
    add_piece(w, &left, (struct rect){x->r0, r0, x->c0, x->c1}, x);
    add_piece(w, &left, (struct rect){r1, x->r1, x->c0, x->c1}, x);
    add_piece(w, &left, (struct rect){r0, r1, x->c0, c0}, x);
    add_piece(w, &left, (struct rect){r0, r1, c1, x->c1}, x);
  }
  add_piece(w, &left, r, now);
  c->piece = left;
}

static int first_column(const struct content *c) { return c->buffer->column[c->element * c->buffer->stages + c->stage]; }

/* What lies over r in tensor memory does not hold its own tile there any more. */
static void overlay(struct warp *p, const struct content *from, struct rect r) {
  int bits = (int)ws_type_bits(from->buffer->type), c0 = first_column(from) + r.c0 * bits / 32, c1 = first_column(from) + (r.c1 * bits + 31) / 32;
  for (struct content *c = p->w->content; c; c = c->next) {
    if (c == from || !c->buffer->tmem || c->cta != from->cta) continue;
    int first = first_column(c), per = (int)ws_type_bits(c->buffer->type), end = first + (c->buffer->cols * per + 31) / 32;
    struct rect hit = {r.r0, r.r1, (hi(c0, first) - first) * 32 / per, (lo(c1, end) - first) * 32 / per};
    if (hit.c0 < hit.c1) replace(p->w, c, hit, &(struct piece){.foreign = p->at});
  }
}

static const struct ws_bufferm *below(const struct ws_bufferm *b) {
  while (b->over) b = b->over;
  return b;
}

/* The same in shared memory, for tiles of one shape: what lies where in others is not followed. */
static void overlay_shared(struct warp *p, const struct content *from, struct rect r) {
  const struct ws_bufferm *b = from->buffer;
  for (struct content *c = p->w->content; c; c = c->next) {
    bool other = c != from && !c->buffer->tmem && c->cta == from->cta && c->element == from->element && c->stage == from->stage && below(c->buffer) == below(b);
    bool alike = c->buffer->rows == b->rows && c->buffer->cols == b->cols && c->buffer->type == b->type && !c->viewed && !from->viewed;
    if (other && alike) replace(p->w, c, r, &(struct piece){.foreign = p->at});
  }
}

static bool is_view(const struct ws_mem *m) { return m->handle && (m->handle->rows != m->buffer->rows || m->handle->cols != m->buffer->cols); }

/* r holds `tag` (the tag of its first row and column) from now on. */
static void put(struct warp *p, const struct ws_mem *m, struct rect r, struct tag tag, int cta) {
  struct content *c = content_of(p, m, cta);
  c->viewed |= is_view(m);
  if (m->transposed) tag = flip(tag);
  tag.off[0] -= r.r0, tag.off[1] -= r.c0;
  replace(p->w, c, r, &(struct piece){.tag = tag});
  if (m->buffer->tmem) overlay(p, c, r);
  else overlay_shared(p, c, r);
}

/* Not where only a race has put it: that is found as a race. */
static void overwritten(struct warp *p, const struct ws_mem *m, const struct piece *x) {
  struct finding *f = report(p->w, p->at->src->pos, "content", "this reads `%s` where it is overwritten", m->buffer->name);
  note(p->w, f, x->foreign->src->pos, "by this, which lies over it; by %s; %s", role_name(p), where(p));
}

/* What is read has been written through the same buffer in the same shape, as far as can be told. */
static void unwritten(struct warp *p, const struct ws_mem *m, const struct content *c, struct rect r, long have) {
  const struct ws_schedule *s = p->w->s;
  if (have == (long)(r.r1 - r.r0) * (r.c1 - r.c0) || c->viewed || is_view(m)) return;
  for (int i = 0; i < s->nbuffers && !m->buffer->tmem; i++)
    if (s->buffers[i].over == m->buffer || m->buffer->over) return;
  struct finding *f = report(p->w, p->at->src->pos, "content", "this reads `%s`, %s", m->buffer->name, have ? "of which a part has never been written" : "which nobody has written");
  note(p->w, f, p->at->src->pos, "by %s; %s", role_name(p), where(p));
}

static struct tag get(struct warp *p, const struct ws_mem *m, struct rect r, int cta) {
  struct tag t = {{0}, {0}};
  const struct content *c = content_of(p, m, cta);
  long have = 0;
  for (const struct piece *x = c->piece; x; x = x->next)
    if (x->r0 < r.r1 && r.r0 < x->r1 && x->c0 < r.c1 && r.c0 < x->c1) {
      have += (long)(lo(x->r1, r.r1) - hi(x->r0, r.r0)) * (lo(x->c1, r.c1) - hi(x->c0, r.c0));
      if (x->foreign) overwritten(p, m, x);
      else t = agree(p, t, x->tag, "this memory holds parts of different tiles");
    }
  unwritten(p, m, c, r, have);
  t.off[0] += r.r0, t.off[1] += r.c0;
  return m->transposed ? flip(t) : t;
}

/* The rows of this warp, and how far they are below the first. */
static struct rect mine(const struct warp *p, const struct ws_mem *m, enum ws_layout layout, int *below) {
  struct rect r = rect_of(p, m);
  struct region x = part_of(p, m, (struct region){.r0 = r.r0, .r1 = r.r1, .c0 = r.c0, .c1 = r.c1}, layout);
  *below = m->transposed ? x.c0 - r.c0 : x.r0 - r.r0;
  return (struct rect){x.r0, x.r1, x.c0, x.c1};
}

/* --- values --- */

static bool same_part(const struct ws_part *a, const struct ws_part *b) {
  return a->cols == b->cols && a->of == b->of && a->index == b->index && a->first == b->first && a->last == b->last;
}

static struct tag value_of(struct warp *p, const struct ws_node *x);

static struct tag part_value(struct warp *p, const struct ws_node *x) {
  const struct ws_node *of = x->arg[0];
  if (of->kind == WS_N_VAR)
    for (int i = 0; i < p->value[of->var->index].nparts; i++)
      if (same_part(&p->value[of->var->index].part[i].part, &x->part)) return p->value[of->var->index].part[i].tag;
  struct tag t = value_of(p, of);
  int axis = x->part.cols, extent = axis ? of->cols : of->rows;
  if (t.id[axis]) t.off[axis] += x->part.of ? x->part.index * (extent / x->part.of) : x->part.first;
  return t;
}

static struct tag read_value(struct warp *p, const struct ws_node *x) {
  if (x->mem->space == WS_GLOBAL) return of_tensor(p, x->mem);
  int below;
  struct rect r = mine(p, x->mem, x->layout, &below);
  struct tag t = get(p, x->mem, r, p->cta);
  t.off[0] -= below;
  return t;
}

static struct tag reduced(struct tag t, enum ws_fn fn) {
  if (fn != WS_F_COLMAX && fn != WS_F_COLSUM) t.id[1] = 0;
  if (fn != WS_F_ROWMAX && fn != WS_F_ROWSUM && fn != WS_F_ROWPART && fn != WS_F_TOTAL) t.id[0] = 0;
  return t;
}

static struct tag value_of(struct warp *p, const struct ws_node *x) {
  struct tag t = {{0}, {0}}, u;
  switch (x->kind) {
  case WS_N_VAR: return p->value[x->var->index].tag;
  case WS_N_PART: return part_value(p, x);
  case WS_N_READ: return read_value(p, x);
  case WS_N_REDUCE: return reduced(value_of(p, x->arg[0]), x->fn);
  case WS_N_MASK:
    t = of_tensor(p, x->mem), u = of_tensor(p, x->mem2);
    t.id[1] = u.id[0], t.off[1] = u.off[0];
    return agree(p, value_of(p, x->arg[0]), t, "mask");
  case WS_N_ROWPOS: t = of_tensor(p, x->mem), t.id[1] = 0; return t;
  case WS_N_COLPOS: u = of_tensor(p, x->mem), t.id[1] = u.id[0], t.off[1] = u.off[0]; return t;
  case WS_N_OP:
    for (int i = 0; i < x->n; i++) t = agree(p, t, value_of(p, x->arg[i]), "arithmetic");
    return t;
  default: return t;
  }
}

static void set_part(struct warp *p, const struct ws_act *a, struct tag t) {
  struct value *v = &p->value[a->dst->index];
  const struct ws_part *part = &a->dst_part;
  if (part->index == 0) v->nparts = 0;
  int max = (int)(sizeof v->part / sizeof *v->part), axis = part->cols;
  if (v->nparts == max || !part->of) {
    v->tag = (struct tag){{0}, {0}};
    return;
  }
  v->part[v->nparts].part = *part, v->part[v->nparts++].tag = t;
  if (v->nparts != part->of) return;
  int width = (axis ? a->dst->cols : a->dst->rows) / part->of;
  struct tag all = v->part[0].tag;
  for (int i = 1; i < v->nparts; i++) {
    const struct tag *x = &v->part[i].tag;
    for (int k = 0; k < 2; k++)
      if (x->id[k] != all.id[k] || x->off[k] - (k == axis ? i * width : 0) != all.off[k]) all.id[k] = 0;
  }
  v->tag = all;
}

/* --- statements --- */

static void product(struct warp *p, const struct ws_act *a) {
  bool pair = p->w->ctas == 2 && a->by == WS_BY_TCGEN05;
  int first = pair ? 0 : p->cta, n = pair ? 2 : 1, below = 0;
  struct tag b[2], none = {{0}, {0}};
  for (int i = 0; i < n; i++) b[i] = get(p, a->b_mem, rect_of(p, a->b_mem), first + i);
  int half = a->b_mem->transposed ? a->b_mem->rows : a->b_mem->cols;
  if (pair && b[0].id[1] && b[1].id[1] && (b[0].id[1] != b[1].id[1] || b[1].off[1] != b[0].off[1] + half))
    report(p->w, a->src->pos, "content", "the halves of B do not fit: %s in CTA 0, %s in CTA 1", axis_name(p->w, b[0].id[1], b[0].off[1]), axis_name(p->w, b[1].id[1], b[1].off[1]));
  for (int i = 0; i < n; i++) {
    struct tag x = a->a_mem ? get(p, a->a_mem, pair || a->to ? rect_of(p, a->a_mem) : mine(p, a->a_mem, WS_L_ACC, &below), first + i) : value_of(p, a->a);
    if (a->a_mem) x.off[0] -= below;
    if (x.id[1] && b[i].id[0] && (x.id[1] != b[i].id[0] || x.off[1] != b[i].off[0])) {
      struct finding *f = report(p->w, a->src->pos, "content", "this product contracts %s with %s", axis_name(p->w, x.id[1], x.off[1]), axis_name(p->w, b[i].id[0], b[i].off[0]));
      note(p->w, f, a->src->pos, "by %s; %s", role_name(p), where(p));
    }
    struct tag t = {{x.id[0], b[0].id[1]}, {x.off[0], b[0].off[1]}};
    int rows = a->a_mem ? a->a_mem->transposed ? a->a_mem->cols : a->a_mem->rows : 0;
    bool adds = a->accumulate && a->start != WS_STARTS;
    if (a->to) {
      if (pair && rows == 64) t = none; /* its right half lies below its left half */
      if (adds) t = agree(p, get(p, a->to, rect_of(p, a->to), first + i), t, "this sum");
      put(p, a->to, rect_of(p, a->to), t, first + i);
    } else {
      struct value *v = &p->value[a->dst->index];
      *v = (struct value){.tag = adds ? agree(p, v->tag, t, "this sum") : t};
    }
  }
}

static void load(struct warp *p, const struct ws_act *a) {
  if (a->when && !holds(p, a->when)) return;
  struct tag t = a->from->space == WS_GLOBAL ? of_tensor(p, a->from) : get(p, a->from, rect_of(p, a->from), p->cta);
  if (a->opt.multicast && p->w->ctas == 2) put(p, a->to, rect_of(p, a->to), t, 1 - p->cta);
  put(p, a->to, rect_of(p, a->to), t, a->to->peer ? 1 - p->cta : p->cta);
}

static void assign(struct warp *p, const struct ws_act *a) {
  struct tag none = {{0}, {0}}, t;
  if (a->handle_from) return;
  if (a->to) {
    for (int c = 0; c < p->w->ctas; c++) put(p, a->to, rect_of(p, a->to), none, c);
    return;
  }
  if (!a->value || !a->dst) return;
  t = value_of(p, a->value);
  if (a->dst2) p->value[a->dst2->index] = (struct value){.tag = reduced(t, WS_F_ROWMAX)};
  if (a->dst_part.given) set_part(p, a, t);
  else p->value[a->dst->index] = (struct value){.tag = t};
}

void flow(struct warp *p, const struct ws_act *a) {
  int below;
  struct rect r;
  struct tag t;
  switch (a->kind) {
  case WS_S_LOAD: load(p, a); break;
  case WS_S_WRITE:
    r = mine(p, a->to, a->value->layout, &below);
    t = value_of(p, a->value);
    t.off[0] += below;
    put(p, a->to, r, t, p->cta);
    break;
  case WS_S_COPY: put(p, a->to, rect_of(p, a->to), get(p, a->from, rect_of(p, a->from), p->cta), p->cta); break;
  case WS_S_STORE: case WS_S_REDUCE:
    t = a->value ? value_of(p, a->value) : get(p, a->from, rect_of(p, a->from), p->cta);
    agree(p, t, of_tensor(p, a->to), "this store");
    break;
  case WS_S_PRODUCT: product(p, a); break;
  default: assign(p, a);
  }
}
