/* What a schedule declares for given lists: its play, told event by event. The entry and the exit of a kernel, which no statement
 * stands for, are told as the language has them (specs/README.md, "What is derived"). */
#include "world.h"

void declare(struct warp *p, struct ws_declaration e) {
  const struct world *w = p->w;
  if (!w->shape) return;
  e.cta = p->cta;
  e.warp = p->role->first_warp + p->instance * p->role->warps + p->index;
  e.role = p->role;
  e.instance = p->instance;
  e.act = p->at;
  bool one = p->single || (e.kind == WS_D_WAIT && p->at->opt.poll == WS_POLL_LEADER);
  e.threads = one ? 1 : e.kind == WS_D_ARRIVE ? (int)e.count : 32;
  for (int i = p->depth - 1; i >= 0; i--)
    if (p->frame[i].vote) e.vote = p->frame[i].vote; /* the outermost */
  w->shape->declare(w->shape->ctx, &e);
}

void declare_bar(struct warp *p, enum ws_declared kind, const struct bar *b, int phase, long count, long bytes) {
  if (!p->w->shape) return;
  struct ws_declaration e = {.kind = kind, .pipe = b->pipe, .barrier = b->barrier, .empty = b->empty, .element = b->element, .slot = b->slot,
                             .at_cta = b->cta, .phase = kind == WS_D_WAIT ? phase : 0, .again = kind != WS_D_WAIT && phase, .count = count, .bytes = bytes};
  declare(p, e);
}

struct reader {
  const struct ws_bufferm *buffer;
  bool found;
};

/* Through the async proxy (PTX ISA, "Async proxy"). */
static void reads(void *ctx, struct ws_act *a) {
  struct reader *r = ctx;
  if (a->kind == WS_S_PRODUCT && a->by != WS_BY_MMA_SYNC) r->found |= (a->a_mem && a->a_mem->buffer == r->buffer) || (a->b_mem && a->b_mem->buffer == r->buffer);
  if (a->kind == WS_S_STORE && a->by == WS_BY_BULK) r->found |= a->from && a->from->buffer == r->buffer;
}

void declare_handed(struct warp *p, const struct ws_bufferm *b) {
  struct reader r = {.buffer = b};
  const struct ws_schedule *s = p->w->s;
  for (int i = 0; p->w->shape && i < s->nprograms; i++) ws_each_act(s->programs[i].body, reads, &r);
  if (r.found) declare(p, (struct ws_declaration){.kind = WS_D_HAND});
}

/* --- entry and exit --- */

struct edge {                    /* of a kernel */
  const struct ws_schedule *s;
  const struct ws_play_shape *shape;
  int cta;
  bool exit;
};

static void tell(const struct edge *x, int warp, struct ws_declaration e) {
  e.cta = x->cta, e.warp = warp, e.exit = x->exit;
  if (!e.threads) e.threads = 32;
  x->shape->declare(x->shape->ctx, &e);
}

static void inits(const struct edge *x, struct ws_declaration e, const int *count, int elements, int stages) {
  e.kind = WS_D_INIT, e.threads = 1, e.at_cta = x->cta;
  for (e.element = 0; e.element < elements; e.element++)
    for (e.slot = 0; e.slot < stages; e.slot++) e.count = count[e.element], tell(x, 0, e);
}

static void all_meet(const struct edge *x, bool cluster) {
  for (int k = 0; k < x->s->threads / 32; k++)
    tell(x, k, (struct ws_declaration){.kind = cluster ? WS_D_MEET_CLUSTER : WS_D_MEET, .count = cluster ? 0 : x->s->threads});
}

/* What a thread starts with (PTX ISA, setmaxnreg): a role that wants as many says nothing. */
static int launch_registers(const struct ws_schedule *s) {
  int n = 65536 / (s->threads * (s->ctas ? s->ctas : 1)) / 8 * 8;
  return n > 255 ? 255 : n;
}

static void registers(const struct edge *x) {
  for (int i = 0; i < x->s->nroles; i++) {
    const struct ws_rolem *r = &x->s->roles[i];
    if (!r->registers || r->registers == launch_registers(x->s)) continue;
    for (int k = 0; k < r->warps * r->count; k++) tell(x, r->first_warp + k, (struct ws_declaration){.kind = WS_D_REGISTERS, .count = r->registers});
  }
}

static void enter(const struct edge *x) {
  const struct ws_schedule *s = x->s;
  for (int i = 0; i < s->npipelines; i++) {
    const struct ws_pipelinem *p = &s->pipelines[i];
    struct ws_declaration e = {.pipe = p};
    if (p->full_at >= 0) inits(x, e, p->full_count, p->count, p->buffer->stages);
    e.empty = true;
    if (p->empty_at >= 0) inits(x, e, p->empty_count, p->count, p->buffer->stages);
  }
  for (int i = 0; i < s->nbarriers; i++)
    if (!s->barriers[i].named) inits(x, (struct ws_declaration){.barrier = &s->barriers[i]}, s->barriers[i].arrivals, s->barriers[i].count, s->barriers[i].stages);
  if (s->mbarriers || s->pair) all_meet(x, s->pair);
  if (s->tmem_cols) {
    tell(x, 0, (struct ws_declaration){.kind = WS_D_ALLOC, .count = s->tmem_cols});
    all_meet(x, false);
  }
  registers(x);
}

static void leave(struct edge *x) {
  x->exit = true;
  if (x->s->pair || x->s->tmem_cols) all_meet(x, x->s->pair);
  if (x->s->tmem_cols) tell(x, 0, (struct ws_declaration){.kind = WS_D_FREE, .count = x->s->tmem_cols});
}

static void play(const struct ws_schedule *s, const struct ws_play_shape *shape, struct ws_arena *a, struct findings *f) {
  static const int trips[MAX_TILES] = {0};
  int ctas = s->pair ? 2 : 1;
  struct edge x[2] = {{s, shape, 0, false}, {s, shape, 1, false}};
  for (int c = 0; c < ctas; c++) enter(&x[c]);
  struct world *w = world_new(s, a, f, trips, shape->ntiles, 0, true);
  w->shape = shape;
  run_world(w);
  for (int c = 0; c < ctas; c++) leave(&x[c]);
}

bool ws_play_declare(const struct ws_schedule *s, const struct ws_play_shape *shape, struct ws_arena *a, struct ws_diags *d) {
  struct findings *f = WS_NEW(a, struct findings);
  f->arena = a;
  if (shape->ntiles < 1 || shape->ntiles > MAX_TILES) {
    ws_error(d, s->doc->pos, "limit", "1 to %d work tiles can be played, not %d", (int)MAX_TILES, shape->ntiles);
    return false;
  }
  play(s, shape, a, f);
  emit_findings(f, d);
  for (int i = 0; i < f->nincomplete; i++) ws_error(d, s->doc->pos, "incomplete", "not modelled: line %s", f->incomplete[i]);
  return !f->errors && !f->nincomplete;
}
