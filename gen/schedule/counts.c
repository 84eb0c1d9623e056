/* Arrivals. The count of a barrier is the sum over the CTAs and role instances whose program reaches an arrival at it of their
 * unit; one for TMA and for commits. `from` and `to` are held against that, both ways: an arrival of another role is refused
 * where it stands (sync.c), a role that is listed and never arrives, or never waits, is refused here. */
#include "passes.h"
#include <stdint.h>

enum side { FULL, EMPTY, FILL, WAITED, PIPELINE_SIDES, BARRIER = PIPELINE_SIDES, BARRIER_WAITED };

struct tally {
  struct ws_schedule *s;
  const struct ws_programm *p;
  size_t *pipeline, *barrier;  /* by index: the first slot; a slot is one side of one element */
  size_t slots;
  uint32_t *reached;           /* [rank][slot]: a bit for each role instance, the number of its first warp */
};

static size_t slot_of(const struct tally *t, enum side side, int index, int element) {
  if (side < PIPELINE_SIDES) return t->pipeline[index] + (size_t)(element * PIPELINE_SIDES) + side;
  return t->barrier[index] + (size_t)(element * 2) + (side - BARRIER);
}

static bool reaches(const struct tally *t, int rank, size_t slot, const struct ws_rolem *r, int instance) {
  return t->reached[(size_t)rank * t->slots + slot] >> (r->first_warp + instance * r->warps) & 1;
}

static void reach(void *ctx, struct ws_act *a, int rank, int instance) {
  struct tally *t = ctx;
  int el = ws_index_at(a->element, a->element_at, rank, instance);
  enum side side;
  switch (a->kind) {
  case WS_S_COMMIT: side = a->pipe ? FULL : BARRIER; break;
  case WS_S_RELEASE: side = EMPTY; break;
  case WS_S_LOAD: side = FILL, el = ws_index_at(a->to->element, a->to->element_at, rank, instance); break;
  case WS_S_ARRIVE: case WS_S_ARRIVE_EXPECT: side = BARRIER; break;
  case WS_S_SYNC: side = BARRIER_WAITED; break;
  case WS_S_WAIT: case WS_S_WAIT_PHASE: side = a->pipe ? WAITED : BARRIER_WAITED; break;
  default: return;
  }
  if (!a->pipe && (!a->barrier || a->kind == WS_S_LOAD)) return; /* a load at a barrier: `expect` has arrived for it */
  int index = a->pipe ? a->pipe->index : a->barrier->index;
  t->reached[(size_t)rank * t->slots + slot_of(t, side, index, el)] |= UINT32_C(1) << (t->p->role->first_warp + instance * t->p->role->warps);
}

static bool role_reaches(const struct tally *t, size_t slot, const struct ws_rolem *r) {
  for (int rank = 0; rank < 2; rank++)
    for (int i = 0; i < r->count; i++)
      if (reaches(t, rank, slot, r, i)) return true;
  return false;
}

static int unit_count(const struct ws_endm *e) {
  return e->unit == WS_UNIT_THREAD ? 32 * e->role->warps : e->unit == WS_UNIT_WARP ? e->role->warps : 1;
}

static int arrivals(const struct tally *t, size_t slot, const struct ws_endm *ends, int n, enum ws_barrier_scope scope) {
  int sum[2] = {0, 0};
  for (int rank = 0; rank < 2; rank++)
    for (int k = 0; k < n; k++)
      for (int i = 0; i < ends[k].role->count; i++)
        if (reaches(t, rank, slot, ends[k].role, i)) sum[rank] += unit_count(&ends[k]);
  if (scope == WS_SCOPE_LEADER || scope == WS_SCOPE_PAIR) return sum[0] + sum[1];
  return sum[0] ? sum[0] : sum[1]; /* the two CTAs run the same programs; one that only one of them runs counts there */
}

static const char *element_name(struct ws_schedule *s, const char *name, bool is_array, int el) {
  return is_array ? ws_fmt(s->arena, "%s[%d]", name, el) : name;
}

static void listed(struct tally *t, enum side side, int index, int el, const struct ws_endm *ends, int n, const char *what, const char *never) {
  for (int k = 0; k < n; k++)
    if (!role_reaches(t, slot_of(t, side, index, el), ends[k].role))
      ws_error(t->s->diags, ends[k].pos, "count", "role `%s` is listed here, but %s %s", ends[k].role->name, never, what);
}

/* A ring that no program touches keeps nobody waiting. */
static bool in_use(const struct tally *t, const struct ws_pipelinem *p, int el) {
  uint32_t any = 0;
  for (size_t rank = 0; rank < 2; rank++)
    for (int side = FULL; side < PIPELINE_SIDES; side++) any |= t->reached[rank * t->slots + slot_of(t, (enum side)side, p->index, el)];
  return any != 0;
}

static void pipeline(struct tally *t, struct ws_pipelinem *p) {
  struct ws_schedule *s = t->s;
  for (int el = 0; el < p->count; el++) {
    if (!in_use(t, p, el)) continue;
    const char *what = ws_fmt(s->arena, "pipeline `%s`", element_name(s, p->name, p->is_array, el));
    if (p->by == WS_BY_THREADS)
      listed(t, FULL, p->index, el, p->from, p->nfrom, what, "never commits a slot of");
    else
      listed(t, FILL, p->index, el, p->from, p->nfrom, what, "never loads into");
    listed(t, WAITED, p->index, el, p->to, p->nto, what, "never waits for");
    if (!p->no_empty) listed(t, EMPTY, p->index, el, p->to, p->nto, what, "never releases a slot of");
    if (p->by == WS_BY_THREADS) p->full_count[el] = arrivals(t, slot_of(t, FULL, p->index, el), p->from, p->nfrom, p->full);
    if (p->by == WS_BY_TMA) p->full_count[el] = 1;
    if (!p->no_empty) p->empty_count[el] = arrivals(t, slot_of(t, EMPTY, p->index, el), p->to, p->nto, p->empty);
  }
}

/* --- named barriers: threads and ids --- */

static int named_instances(const struct tally *t, const struct ws_barrierm *b, int el) {
  int n = 0;
  for (int i = 0; i < t->s->nroles; i++)
    for (int k = 0; k < t->s->roles[i].count; k++) {
      const struct ws_rolem *r = &t->s->roles[i];
      if (reaches(t, 0, slot_of(t, BARRIER, b->index, el), r, k) || reaches(t, 0, slot_of(t, BARRIER_WAITED, b->index, el), r, k))
        n += b->per_warp ? 1 : r->warps;
    }
  return n;
}

static void check_per_warp(struct tally *t, struct ws_barrierm *b) {
  const struct ws_rolem *first = b->nfrom ? b->from[0].role : b->nto ? b->to[0].role : NULL;
  const struct ws_endm *lists[] = {b->from, b->to};
  int n[] = {b->nfrom, b->nto};
  for (int l = 0; l < 2; l++)
    for (int k = 0; k < n[l]; k++)
      if (first && lists[l][k].role->warps != first->warps)
        ws_error(t->s->diags, lists[l][k].pos, "count", "`per: warp` pairs warp by warp: `%s` has %d warps, `%s` has %d", lists[l][k].role->name, lists[l][k].role->warps,
                 first->name, first->warps);
}

static void barrier(struct tally *t, struct ws_barrierm *b) {
  struct ws_schedule *s = t->s;
  if (b->per_warp) check_per_warp(t, b);
  for (int el = 0; el < b->count; el++) {
    const char *what = ws_fmt(s->arena, "barrier `%s`", element_name(s, b->name, b->is_array, el));
    listed(t, BARRIER, b->index, el, b->from, b->nfrom, what, "never arrives at");
    listed(t, BARRIER_WAITED, b->index, el, b->to, b->nto, what, b->named ? "never syncs on" : "never waits for");
    b->arrivals[el] = b->named ? 32 * named_instances(t, b, el) : b->declared ? b->declared : arrivals(t, slot_of(t, BARRIER, b->index, el), b->from, b->nfrom, b->scope);
  }
}

struct uses {
  bool own, whole;             /* `sync`, `sync ROLE` */
};

static void sync_uses(void *ctx, struct ws_act *a) {
  struct uses *u = ctx;
  if (a->kind != WS_S_SYNC) return;
  u->own |= a->sync == WS_SYNC_ROLE;
  u->whole |= a->sync == WS_SYNC_REF && a->role;
}

/* Barrier 0 is the CTA's; roles and named barriers take ids in order of declaration (PTX ISA, barrier: 16 a CTA). */
static void named_ids(struct ws_schedule *s) {
  int id = 1;
  for (int i = 0; i < s->nroles; i++) {
    struct ws_rolem *r = &s->roles[i];
    struct uses u = {0};
    for (int k = 0; k < s->nprograms; k++)
      if (s->programs[k].role == r) ws_each_act(s->programs[k].body, sync_uses, &u);
    bool alone = r->warps * 32 == s->threads, together = r->warps * r->count * 32 == s->threads;
    if (u.own && (alone || r->warps > 1)) r->sync_id = alone ? 0 : id, id += alone ? 0 : r->count;
    if (u.whole) r->all_id = together ? 0 : id, id += together ? 0 : 1;
  }
  const struct ws_barrierm *last = NULL;
  for (int i = 0; i < s->nbarriers; i++) {
    struct ws_barrierm *b = &s->barriers[i];
    if (!b->named) continue;
    b->ids = b->per_warp && b->nfrom ? b->from[0].role->warps : 1;
    b->id = id, id += b->ids * b->count;
    last = b;
  }
  s->named = id;
  if (id > 16)
    ws_error(s->diags, last ? last->decl->name.pos : s->roles[0].decl->name.pos, "budget", "a CTA has 16 named barriers; this schedule needs %d, with the CTA's own and one for each `sync` of a role", id);
}

/* --- mbarriers in shared memory, behind the buffers: 8 bytes each --- */

static long mbarriers(struct ws_schedule *s, long *at, int n) {
  long first = *at;
  *at += 8L * n;
  s->mbarriers += n;
  return first;
}

static void place(struct ws_schedule *s) {
  long at = (s->buffer_bytes + 7) / 8 * 8;
  for (int i = 0; i < s->npipelines; i++) {
    struct ws_pipelinem *p = &s->pipelines[i];
    int n = p->count * p->buffer->stages;
    if (p->by != WS_BY_CP_ASYNC) p->full_at = mbarriers(s, &at, n);
    if (!p->no_empty) p->empty_at = mbarriers(s, &at, n);
  }
  for (int i = 0; i < s->nbarriers; i++)
    if (!s->barriers[i].named) s->barriers[i].at = mbarriers(s, &at, s->barriers[i].count * s->barriers[i].stages);
  if (s->tmem_cols) at += 8; /* where tcgen05.alloc writes the address */
  if (s->mbarriers || s->tmem_cols) s->smem_bytes = at;
}

/* --- commits and releases by tcgen05.commit: what products of this thread wrote or read --- */

struct touched {
  const struct ws_bufferm *buffer;
  bool read, written;
};

static void touches(void *ctx, struct ws_act *a) {
  struct touched *t = ctx;
  if (a->kind != WS_S_PRODUCT || a->by != WS_BY_TCGEN05) return;
  t->written |= a->to->buffer == t->buffer;
  t->read |= a->a_mem->buffer == t->buffer || a->b_mem->buffer == t->buffer;
}

static void by_products(void *ctx, struct ws_act *a) {
  const struct ws_programm *p = ctx;
  if (!a->pipe || !a->single || (a->kind != WS_S_COMMIT && a->kind != WS_S_RELEASE)) return;
  struct touched t = {.buffer = a->pipe->buffer};
  ws_each_act(p->body, touches, &t);
  a->by = (a->kind == WS_S_COMMIT ? t.written : t.read) ? WS_BY_TCGEN05 : WS_BY_THREADS;
}

void ws_pass_counts(struct ws_schedule *s) {
  struct tally t = {.s = s};
  t.pipeline = WS_NEW_N(s->arena, size_t, s->npipelines), t.barrier = WS_NEW_N(s->arena, size_t, s->nbarriers);
  for (int i = 0; i < s->npipelines; i++) t.pipeline[i] = t.slots, t.slots += (size_t)s->pipelines[i].count * PIPELINE_SIDES;
  for (int i = 0; i < s->nbarriers; i++) t.barrier[i] = t.slots, t.slots += (size_t)s->barriers[i].count * 2;
  t.reached = WS_NEW_N(s->arena, uint32_t, 2 * t.slots);
  for (int i = 0; i < s->nprograms; i++) {
    t.p = &s->programs[i];
    for (int rank = 0; rank < (s->pair ? 2 : 1); rank++)
      for (int k = 0; k < t.p->count; k++) ws_each_reached(t.p->body, rank, t.p->first + k, reach, &t);
    ws_each_act(s->programs[i].body, by_products, &s->programs[i]);
  }
  for (int i = 0; i < s->npipelines; i++) pipeline(&t, &s->pipelines[i]);
  for (int i = 0; i < s->nbarriers; i++) barrier(&t, &s->barriers[i]);
  named_ids(s);
  place(s);
}
