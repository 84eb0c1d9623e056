/* Who touched which bytes. Two accesses of which one writes are a race unless a clock orders them. The log keeps, for each rectangle,
 * the accesses that a later one can still collide with: what a write covers and comes after is settled. */
#include "world.h"
#include <stdint.h>
#include <string.h>

enum { WHOLE = 1 << 30 };

int stage_of(const struct warp *p, const struct ws_mem *m) { return m->handle ? p->handle[m->handle->index].slot : m->stage; }

static const struct ws_bufferm *root_of(const struct ws_bufferm *b) {
  while (b->over) b = b->over;
  return b;
}

static struct region of_tensor(struct warp *p, const struct ws_mem *m) {
  double v = -1;
  if (m->block) evaluate(p, m->block, &v);
  int t = m->tile ? p->iter[m->tile->index] : -1;
  struct region r = {.root = m->tensor, .element = t, .stage = (int)v};
  v = 0;
  if (m->col_block) evaluate(p, m->col_block, &v);
  r.r0 = m->row0 + ws_index_at(0, m->row_at, p->cta, p->instance), r.r1 = r.r0 + m->rows;
  r.c0 = m->col0 + (int)v * m->col_block_cols + ws_index_at(0, m->col_at, p->cta, p->instance), r.c1 = r.c0 + m->cols;
  return r;
}

/* Tensor memory in columns of 32 bits; shared memory in rows and columns where everybody sees one shape there, else whole. */
struct region region_of(struct warp *p, const struct ws_mem *m, int cta) {
  if (m->space == WS_GLOBAL) return of_tensor(p, m);
  const struct ws_bufferm *b = m->buffer, *root = root_of(b);
  int element = ws_index_at(m->element, m->element_at, p->cta, p->instance), stage = stage_of(p, m);
  struct region r = {.root = b->tmem ? NULL : root, .cta = cta, .element = element, .stage = stage};
  if (m->handle) r.phase = p->handle[m->handle->index].fill / b->stages, r.fill = p->handle[m->handle->index].fill + 1;
  r.r0 = m->row0 + ws_index_at(0, m->row_at, p->cta, p->instance), r.r1 = r.r0 + m->rows;
  r.c0 = m->col0 + ws_index_at(0, m->col_at, p->cta, p->instance), r.c1 = r.c0 + m->cols;
  if (b->tmem) {
    int bits = (int)ws_type_bits(b->type), first = b->column[element * b->stages + stage];
    r.c1 = first + (r.c1 * bits + 31) / 32, r.c0 = first + r.c0 * bits / 32;
    r.element = r.stage = 0;
    return r;
  }
  bool view = m->handle && (m->handle->rows != b->rows || m->handle->cols != b->cols);
  if (view || root->rows != b->rows || root->cols != b->cols || root->type != b->type) r.r0 = r.c0 = 0, r.r1 = r.c1 = WHOLE;
  return r;
}

/* The rows of this warp: layouts split rows over the warps of a role; `copy` does not say which thread has what. */
struct region part_of(const struct warp *p, const struct ws_mem *m, struct region r, enum ws_layout layout) {
  int n = p->role->warps, w = p->index;
  if (m->space == WS_TMEM) layout = WS_L_LANE;
  if (layout != WS_L_ACC && layout != WS_L_A && layout != WS_L_LANE) return r;
  if (m->space == WS_TMEM && n > 4) n = 4, w %= 4;
  int *lo = m->transposed ? &r.c0 : &r.r0, *hi = m->transposed ? &r.c1 : &r.r1, rows = *hi - *lo;
  if (p->single || rows < n || rows % n || *hi == WHOLE) return r;
  *lo += w * (rows / n), *hi = *lo + rows / n;
  return r;
}

/* How lanes lie over the bytes of a value. Vectors are replicated: one lane writes what several read. */
int lanes_of(const struct ws_node *x, bool writes) {
  int vector = x->cols == 1 ? 1 : x->rows == 1 ? 2 : 0;
  if (x->layout == WS_L_LANE && vector == 1) vector = 0;
  return 1 + (int)x->layout * 8 + vector * 2 + (vector ? writes : 0);
}

bool meets(const struct region *a, const struct region *b) {
  return a->root == b->root && a->cta == b->cta && a->element == b->element && a->stage == b->stage && a->r0 < b->r1 && b->r0 < a->r1 && a->c0 < b->c1 && b->c0 < a->c1;
}

static bool covers(const struct region *a, const struct region *b) { return a->r0 <= b->r0 && a->r1 >= b->r1 && a->c0 <= b->c0 && a->c1 >= b->c1; }

static struct touch **bucket(struct world *w, const struct region *r) {
  uintptr_t h = (uintptr_t)r->root / 16 + (uintptr_t)r->cta * 7 + (uintptr_t)r->element * 31 + (uintptr_t)r->stage * 101;
  return &w->log[h % 256];
}

static bool collide(const struct touch *t, enum access kind, const struct ws_act *act, int group) {
  if (t->kind == ACC_READ && kind == ACC_READ) return false;
  return !(t->kind == ACC_SHARED && kind == ACC_SHARED && t->act == act && t->group == group);
}

/* Ordered for every lane? An access of the same warp is, where the lanes are laid alike or met since. Copies of one stream complete
 * in order, but they do not write in order: the earlier one has to be complete (PTX ISA, cp.async: no order within a group or
 * between groups; cp.async.bulk: none at all). */
static bool ordered(const struct warp *p, const struct touch *t, const struct op *op, const struct clock *c, int lanes) {
  if (!op && t->comp == p->all.comp && !t->op && actor_of((struct warp *)p) == &p->all)
    return !has_lanes(p) || t->time <= p->lane_time || (t->lanes == lanes && lanes != LANES_ANY);
  if (op && t->comp == op->comp && (op->kind == OP_CP_ASYNC || op->kind == OP_TMA)) return op->after >= t->time;
  return c->v[t->comp] >= t->time;
}

void touch(struct warp *p, const struct op *op, const struct region *r, enum access kind, int lanes, int group) {
  struct world *w = p->w;
  struct actor *me = actor_of(p);
  const struct clock *c = op ? &op->clock : &me->clock;
  int comp = op ? op->comp : me->comp, time = op ? op->time : ++me->clock.v[me->comp];
  struct touch **at = bucket(w, r);
  for (struct touch **x = at, *t; (t = *x);) {
    bool same = t->at.root == r->root && t->at.cta == r->cta && t->at.element == r->element && t->at.stage == r->stage, gone = false;
    if (same && meets(&t->at, r)) {
      bool inside = covers(r, &t->at);
      if (collide(t, kind, p->at, group)) {
        if (!ordered(p, t, op, c, lanes)) report_race(p, t, kind, op, r);
        else gone = inside && (kind == ACC_WRITE || (kind == ACC_SHARED && t->comp == comp));
      } else
        gone = inside && t->comp == comp && t->kind == kind && t->lanes == lanes && covers(&t->at, r);
    }
    if (gone) *x = t->next;
    else x = &t->next;
  }
  struct touch *t = WS_NEW(w->arena, struct touch);
  *t = (struct touch){.at = *r, .kind = kind, .comp = comp, .time = time, .lanes = lanes, .group = group, .act = p->at, .who = p, .when = moment_of(p), .op = op, .next = *at};
  *at = t;
}
