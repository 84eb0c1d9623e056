/* What moves data: loads, stores, copies, reads and writes, products. Asynchronous ones are operations of their own: they know what
 * their issuer knew, and are complete when something says so. */
#include "world.h"
#include <math.h>

int stream_of(struct warp *p, enum op_kind kind, int element, int slot) {
  struct world *w = p->w;
  const void *of = kind == OP_TMA ? p->at->pipe ? (const void *)p->at->pipe : (const void *)p->at->barrier : kind == OP_BULK ? (const void *)actor_of(p) : (const void *)p;
  for (struct stream *s = w->stream; s; s = s->next)
    if (s->of == of && s->kind == kind && s->element == element && s->slot == slot && s->cta == p->cta) return s->last = p->at, s->comp;
  struct stream *s = WS_NEW(w->arena, struct stream);
  *s = (struct stream){.of = of, .kind = kind, .element = element, .slot = slot, .cta = p->cta, .comp = new_component(w), .last = p->at, .next = w->stream};
  return (w->stream = s)->comp;
}

/* What the lanes that issue an operation all know. */
struct clock issue_clock(struct warp *p) {
  struct clock mine = p->single ? knowledge(p, false) : p->all.clock, c = copy_clock(p->w, &mine);
  if (!p->single) c.v[p->all.comp] = p->lane_time;
  return c;
}

static void append(struct op **list, struct op *o) {
  while (*list) list = &(*list)->next;
  *list = o;
}

struct op *new_op(struct warp *p, enum op_kind kind, int comp) {
  struct op *o = WS_NEW(p->w->arena, struct op);
  *o = (struct op){.kind = kind, .act = p->at, .comp = comp, .time = ++p->w->issued[comp], .clock = issue_clock(p)};
  o->after = o->clock.v[comp], o->clock.v[comp] = o->time;
  if (kind == OP_CP_ASYNC) append(&p->copies, o);
  if (kind == OP_WGMMA) append(&p->products, o);
  if (kind == OP_BULK) append(&p->stores, o);
  if (kind == OP_TCGEN05) o->next = p->tensor, p->tensor = o;
  return o;
}

/* --- registers --- */

static void owned(struct warp *p, const struct ws_var *v, const char *what) {
  const struct op *o = p->owner[v->index];
  if (!o) return;
  struct finding *f = report(p->w, p->at->src->pos, "owned", "`%s` is %s while a product in flight owns it", v->name, what);
  note(p->w, f, o->act->src->pos, "the product; `await %s` has to stand between", o->act->dst->name);
}

void reads_of(struct warp *p, const struct ws_node *x) {
  if (x->kind == WS_N_VAR) owned(p, x->var, "read");
  if (x->kind == WS_N_READ) {
    const struct ws_mem *m = x->mem;
    struct region r = part_of(p, m, region_of(p, m, p->cta), x->layout);
    if (m->space == WS_TMEM) declare(p, (struct ws_declaration){.kind = WS_D_READ, .bytes = 4L * m->cols * ws_type_bits(m->buffer->type)});
    bool table = m->space == WS_GLOBAL && (m->tensor->coords || !m->tile);
    if (!table) touch(p, NULL, &r, ACC_READ, m->space == WS_TMEM || p->single ? 0 : lanes_of(x, false), 0);
  }
  for (int i = 0; i < x->n; i++) reads_of(p, x->arg[i]);
}

static bool splits_rows(const struct ws_node *x) { return x->layout == WS_L_ACC || x->layout == WS_L_A || x->layout == WS_L_LANE; }

static void write_value(struct warp *p, const struct ws_act *a) {
  reads_of(p, a->value);
  const struct ws_mem *m = a->to;
  if (a->value->rows == 1 && a->value->cols > 1 && a->value->layout != WS_L_LANE && p->index) return; /* a column vector: the first warp writes what all have */
  if (m->space == WS_GLOBAL && (m->tensor->coords || !m->tile)) return;
  struct region r = part_of(p, m, region_of(p, m, p->cta), a->value->layout);
  if (m->space == WS_TMEM) declare(p, (struct ws_declaration){.kind = WS_D_WRITE, .bytes = 4L * m->cols * ws_type_bits(m->buffer->type)});
  if (a->kind == WS_S_WRITE && m->space == WS_SMEM) declare_handed(p, m->buffer);
  bool fixed = splits_rows(a->value) || m->space == WS_TMEM;
  touch(p, NULL, &r, fixed ? ACC_WRITE : ACC_SHARED, m->space == WS_TMEM || p->single ? 0 : fixed ? lanes_of(a->value, true) : LANES_ANY, execution_of(p));
}

/* --- copies --- */

static long tile_bytes(const struct ws_mem *m) { return (long)m->rows * m->cols * (long)ws_type_bits(m->buffer->type) / 8; }

static void load_cp_async(struct warp *p, const struct ws_act *a) {
  struct op *o = p->copies;
  while (o && !o->open) o = o->next;
  if (!o) o = new_op(p, OP_CP_ASYNC, stream_of(p, OP_CP_ASYNC, 0, 0)), o->open = true;
  else {
    struct clock c = issue_clock(p);
    join(p->w, &o->clock, &c);
  }
  if (a->when && !holds(p, a->when)) return;
  o->act = a;
  declare(p, (struct ws_declaration){.kind = WS_D_COPY, .bytes = tile_bytes(a->to)});
  struct region r = region_of(p, a->to, p->cta);
  touch(p, o, &r, ACC_SHARED, 0, execution_of(p));
}

static void reads_by(struct warp *p, struct op *o, const struct region *r) {
  struct region *all = WS_NEW_N(p->w->arena, struct region, o->nwhere + 1);
  for (int i = 0; i < o->nwhere; i++) all[i] = o->where[i];
  all[o->nwhere++] = *r;
  o->where = all;
  touch(p, o, r, ACC_READ, 0, 0);
}

static void load_tma(struct warp *p, const struct ws_act *a) {
  struct world *w = p->w;
  if (a->when && !holds(p, a->when)) return;
  struct region to = region_of(p, a->to, p->cta);
  int element = ws_index_at(a->to->element, a->to->element_at, p->cta, p->instance), slot = stage_of(p, a->to), cta[2] = {p->cta, 0}, n = 1;
  struct op *o = new_op(p, OP_TMA, stream_of(p, OP_TMA, element, slot));
  if (a->from->space == WS_SMEM) {
    struct region r = region_of(p, a->from, p->cta);
    reads_by(p, o, &r);
  }
  if (a->opt.multicast && w->ctas == 2) cta[0] = 0, cta[1] = 1, n = 2;
  else if (a->to->peer) cta[0] = 1 - p->cta;
  for (int i = 0; i < n; i++) to.cta = cta[i], touch(p, o, &to, ACC_WRITE, 0, 0);
  if (n == 1 && a->pipe) targets(p, a->pipe->full == WS_SCOPE_PAIR ? WS_SCOPE_CTA : a->pipe->full, cta);
  struct landing *l = WS_NEW(w->arena, struct landing);
  *l = (struct landing){.op = o, .n = n, .bytes = a->bytes, .who = p};
  int el = a->pipe ? element : ws_index_at(a->element, a->element_at, p->cta, p->instance);
  int told = a->pipe ? slot : actor_of(p)->slot[w->element0[w->s->npipelines + a->barrier->index] + el];
  for (int i = 0; i < n; i++) {
    l->to[i] = find_bar(w, a->pipe ? (const void *)a->pipe : (const void *)a->barrier, a->pipe ? SIDE_FULL : SIDE_BARRIER, el, told, cta[i]);
    declare_bar(p, WS_D_LOAD, l->to[i], 0, 0, a->bytes);
  }
  *w->landing_end = l, w->landing_end = &l->next;
}

static void store(struct warp *p, const struct ws_act *a) {
  if (a->value) {
    if (a->kind == WS_S_STORE) write_value(p, a);
    else reads_of(p, a->value);
    return;
  }
  struct region r = region_of(p, a->from, p->cta);
  if (a->by == WS_BY_BULK) {
    struct op *o = new_op(p, OP_BULK, stream_of(p, OP_BULK, 0, 0));
    reads_by(p, o, &r);
    declare(p, (struct ws_declaration){.kind = WS_D_STORE, .bytes = tile_bytes(a->from)});
  } else
    touch(p, NULL, &r, ACC_READ, p->single ? 0 : LANES_ANY, 0);
}

static void copy(struct warp *p, const struct ws_act *a) {
  struct region from = region_of(p, a->from, p->cta), to = region_of(p, a->to, p->cta);
  touch(p, NULL, &from, ACC_READ, LANES_ANY, 0);
  touch(p, NULL, &to, ACC_SHARED, LANES_ANY, execution_of(p));
  declare_handed(p, a->to->buffer);
}

/* --- products --- */

static bool same_place(const struct region *a, const struct region *b) {
  return a->root == b->root && a->cta == b->cta && a->element == b->element && a->r0 == b->r0 && a->r1 == b->r1 && a->c0 == b->c0 && a->c1 == b->c1;
}

/* 2*m*n*k of a product into so many rows. */
static long operations(const struct ws_act *a, int rows) { return 2L * rows * a->b_mem->rows * a->b_mem->cols; }

/* One stream for each accumulator: PTX promises order between products on one accumulator; under A1 all of a thread are in order. */
static void product_tcgen05(struct warp *p, const struct ws_act *a) {
  struct world *w = p->w;
  struct region d = region_of(p, a->to, p->cta);
  struct op *before = p->tensor, *o = new_op(p, OP_TCGEN05, stream_of(p, OP_TCGEN05, d.c0, d.c1));
  for (const struct op *x = before; x; x = x->next)
    if (w->issue_order ? x == before : same_place(&x->where[0], &d)) join(w, &o->clock, &x->clock);
  o->where = WS_NEW(w->arena, struct region), o->where[0] = d, o->nwhere = 1;
  declare(p, (struct ws_declaration){.kind = WS_D_PRODUCT, .bytes = operations(a, a->to->rows) * (w->ctas == 2 ? 4 : 1)}); /* of a pair: twice the rows and columns */
  for (int c = w->ctas == 2 ? 0 : p->cta, end = w->ctas == 2 ? 1 : p->cta; c <= end; c++) {
    struct region ra = region_of(p, a->a_mem, c), rb = region_of(p, a->b_mem, c);
    touch(p, o, &ra, ACC_READ, 0, 0);
    touch(p, o, &rb, ACC_READ, 0, 0);
    d.cta = c;
    touch(p, o, &d, ACC_WRITE, 0, 0);
  }
}

static void product_wgmma(struct warp *p, const struct ws_act *a) {
  struct world *w = p->w;
  const struct ws_var *va = a->a && a->a->kind == WS_N_VAR ? a->a->var : NULL;
  const struct op *held = p->owner[a->dst->index];
  if (a->a && !va) reads_of(p, a->a);
  if (held && !(a->accumulate && held->act->dst == a->dst)) owned(p, a->dst, "written");
  if (va && p->owner[va->index] && p->owner[va->index]->act->dst == va) owned(p, va, "read");
  struct op *last = p->products;
  while (last && last->next) last = last->next;
  struct op *o = new_op(p, OP_WGMMA, stream_of(p, OP_WGMMA, 0, 0));
  if (last) join(w, &o->clock, &last->clock);
  declare(p, (struct ws_declaration){.kind = WS_D_WGMMA, .bytes = operations(a, a->dst->rows) / p->role->warps});
  struct region r = region_of(p, a->b_mem, p->cta);
  reads_by(p, o, &r);
  if (a->a_mem) r = part_of(p, a->a_mem, region_of(p, a->a_mem, p->cta), WS_L_ACC), reads_by(p, o, &r);
  p->owner[a->dst->index] = o;
  if (va) p->owner[va->index] = o;
}

static void product_mma(struct warp *p, const struct ws_act *a) {
  if (a->a) reads_of(p, a->a);
  if (a->dst) owned(p, a->dst, "written");
  struct region r = region_of(p, a->b_mem, p->cta);
  touch(p, NULL, &r, ACC_READ, LANES_FRAGMENT, 0);
  if (!a->a_mem) return;
  r = part_of(p, a->a_mem, region_of(p, a->a_mem, p->cta), WS_L_ACC);
  touch(p, NULL, &r, ACC_READ, LANES_FRAGMENT, 0);
}

void move(struct warp *p, const struct ws_act *a) {
  switch (a->kind) {
  case WS_S_LOAD:
    if (a->by == WS_BY_CP_ASYNC) load_cp_async(p, a);
    else load_tma(p, a);
    break;
  case WS_S_STORE: case WS_S_REDUCE: store(p, a); break;
  case WS_S_WRITE: write_value(p, a); break;
  case WS_S_COPY: copy(p, a); break;
  case WS_S_PRODUCT:
    if (a->by == WS_BY_TCGEN05) product_tcgen05(p, a);
    else if (a->by == WS_BY_WGMMA) product_wgmma(p, a);
    else product_mma(p, a);
    break;
  default:
    if (a->handle_from) {
      p->handle[a->handle->index] = p->handle[a->handle_from->index];
      break;
    }
    if (a->value) reads_of(p, a->value);
    if (a->dst) owned(p, a->dst, "written");
    if (a->dst && a->value && a->dst->type == WS_I32 && !evaluate(p, a->value, &p->number[a->dst->index])) p->number[a->dst->index] = NAN;
    if (a->dst2) owned(p, a->dst2, "written");
  }
}

static void left_over(struct warp *p, const struct op *o, const char *what) {
  if (!o) return;
  struct finding *f = report(p->w, o->act->src->pos, "in-flight", "the program of `%s` ends while %s", p->role->name, what);
  note(p->w, f, o->act->src->pos, "nothing waits for it: `await` it before the end");
}

/* A slot that is acquired and never filled moves the ring on: the next fill is not where its reader looks. */
static void never_committed(struct warp *p, const struct actor *a) {
  const struct ws_schedule *s = p->w->s;
  for (int i = 0; a->comp >= 0 && i < s->npipelines; i++)
    for (int el = 0; el < s->pipelines[i].count; el++) {
      const int *k = &a->position[(p->w->element0[i] + el) * COUNTERS];
      if (s->pipelines[i].by == WS_BY_TMA || k[C_ACQUIRE] == k[C_COMMIT]) continue;
      struct finding *f = report(p->w, p->p->decl->pos, "ring", "%s acquires %d slots of `%s` and commits %d", role_name(p), k[C_ACQUIRE], s->pipelines[i].name, k[C_COMMIT]);
      note(p->w, f, s->pipelines[i].decl->name.pos, "%s; each acquired slot is filled and committed once", where(p));
    }
}

void program_end(struct warp *p) {
  never_committed(p, &p->all);
  never_committed(p, &p->lead);
  left_over(p, p->stores, "this store still reads shared memory");
  left_over(p, p->products, "this product is in flight");
  left_over(p, p->copies, "this copy is in flight");
}
