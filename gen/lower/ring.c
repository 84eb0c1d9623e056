/* Rings and barriers: which slot comes next, and who waits for whom.
 *
 * A program keeps a position in each ring that it fills, commits or drains. By cp.async it is the byte offset of the slot: a
 * `sync` orders the reuse. With mbarriers it is the number of the stage and a phase parity (PTX ISA, "Parallel Synchronization
 * and Communication Instructions: mbarrier"): the full side starts with parity 0, the empty side with parity 1, so that the
 * first round of fills does not wait. A slot then has two mbarriers, full and, a fixed distance behind it, empty. */
#include "eval.h"

/* --- positions --- */

static bool same_place(const struct ring_pos *r, const struct ws_act *a, enum ring_side side) {
  return r->pipe == a->pipe && r->barrier == a->barrier && r->side == side && r->element == a->element &&
         (r->element_at == a->element_at || (r->element_at && a->element_at && ws_same_node(r->element_at, a->element_at)));
}

static const char *place_name(struct lower *l, const struct ws_act *a, const char *side) {
  const char *name = a->pipe ? a->pipe->name : a->barrier->name;
  bool many = a->pipe ? a->pipe->is_array : a->barrier->is_array;
  return ws_lower_unique(l, many && !a->element_at ? "%s%d_%s" : "%s%.0d_%s", name, many && !a->element_at ? a->element : 0, side);
}

static void start_bytes(struct lower *l, struct ring_pos *r, const struct ws_pipelinem *p) {
  const struct ws_bufferm *b = p->buffer;
  long first = b->offset + (r->element_at ? 0 : (long)r->element * b->stages * b->bytes);
  ws_lower_comment(l, "ring %s: %d slots of %ld bytes from %ld%s; bytes from %%smem of the slot next %s", p->name, b->stages, b->bytes, first,
                   r->element_at ? " and this instance's element on" : "", r->side == RING_DRAIN ? "waited for" : "filled");
  r->bytes = ws_lower_named(l, WS_REG_B32, "%s", r->name);
  r->first = ws_lower_int(l, first), r->last = ws_lower_int(l, first + (b->stages - 1) * b->bytes);
  if (r->element_at) {
    const char *element = ws_uniform_int(l, r->element_at);
    r->first = ws_lower_named(l, WS_REG_B32, "%s_first", r->name), r->last = ws_lower_named(l, WS_REG_B32, "%s_last", r->name);
    OP(l, "mad_s32", r->first, element, ws_lower_int(l, b->stages * b->bytes), ws_lower_int(l, first));
    OP(l, "add_s32", r->last, r->first, ws_lower_int(l, (b->stages - 1) * b->bytes));
  }
  OP(l, "ring_start", r->bytes, r->first);
}

/* mbarriers of a place: its first one, counted from %smem, and the element that the instance adds to it. */
static long barrier_at(const struct ws_act *a) {
  if (a->barrier) return a->barrier->at + (a->element_at ? 0 : 8L * a->element * a->barrier->stages);
  return (a->pipe->full_at >= 0 ? a->pipe->full_at : a->pipe->empty_at) + (a->element_at ? 0 : 8L * a->element * a->pipe->buffer->stages);
}

static void start_phase(struct lower *l, struct ring_pos *r, const struct ws_act *a) {
  if (r->side == RING_PHASE) { /* the parity is stated */
    ws_lower_comment(l, "barrier %s: the stage that the next `phase` is about", a->barrier->name);
    OP(l, "mov_s32", r->stage = ws_lower_named(l, WS_REG_B32, "%s_stage", r->name), "0");
    return;
  }
  int stages = a->pipe ? a->pipe->buffer->stages : a->barrier->stages;
  bool passes = a->pipe ? r->side == RING_FILL : a->barrier->open;
  ws_lower_comment(l, "%s %s: %s%s", a->pipe ? "ring" : "barrier", a->pipe ? a->pipe->name : a->barrier->name,
                   stages > 1 ? "the stage that comes next, and " : "", passes ? "the parity to wait for: 1, the first round passes" : "the parity to wait for");
  if (stages > 1) OP(l, "mov_s32", r->stage = ws_lower_named(l, WS_REG_B32, "%s_stage", r->name), "0");
  OP(l, "mov_s32", r->phase = ws_lower_named(l, WS_REG_B32, "%s_phase", r->name), passes ? "1" : "0");
}

static struct ring_pos *position(struct lower *l, const struct ws_act *a, enum ring_side side) {
  static const char *const words[] = {[RING_FILL] = "fill", [RING_COMMIT] = "commit", [RING_DRAIN] = "drain", [RING_ARRIVE] = "arrive", [RING_PHASE] = "phase"};
  for (size_t i = 0; i < l->nrings; i++)
    if (same_place(l->rings[i], a, side)) return l->rings[i];
  struct ring_pos *r = *WS_PUSH(l->arena, l->rings, l->nrings, l->rings_cap) = WS_NEW(l->arena, struct ring_pos);
  *r = (struct ring_pos){.pipe = a->pipe, .barrier = a->barrier, .side = side, .element = a->element, .element_at = a->element_at, .name = place_name(l, a, words[side])};
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  if (a->pipe && a->pipe->by == WS_BY_CP_ASYNC)
    start_bytes(l, r, a->pipe);
  else
    start_phase(l, r, a);
  ws_lower_restore(l, old);
  return r;
}

/* The position moves on: the next stage; behind the last one the first, in the next phase. */
static void advance(struct lower *l, const struct ring_pos *r, int stages) {
  if (r->side == RING_PHASE)
    OP(l, "stage_advance", r->stage, ws_lower_int(l, stages), ws_lower_temp(l, WS_REG_PRED));
  else if (stages > 1)
    OP(l, "ring_advance", r->stage, r->phase, ws_lower_int(l, stages), ws_lower_temp(l, WS_REG_PRED));
  else
    OP(l, "phase_flip", r->phase);
}

/* --- mbarriers --- */

/* The first mbarrier of a place: the full one of a ring that has it. */
static struct bar_ref first_barrier(struct lower *l, const struct ws_act *a) {
  struct bar_ref b = {"%smem", barrier_at(a)};
  if (!a->element_at) return b;
  int stages = a->pipe ? a->pipe->buffer->stages : a->barrier->stages;
  OP(l, "mad_s32", b.reg = ws_lower_temp(l, WS_REG_B32), ws_uniform_int(l, a->element_at), ws_lower_int(l, 8L * stages), "%smem");
  return b;
}

static struct bar_ref staged_barrier(struct lower *l, const struct ws_act *a, const struct ring_pos *r) {
  struct bar_ref b = first_barrier(l, a);
  if (!r->stage) return b;
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "mad_s32", d, r->stage, "8", b.reg);
  return (struct bar_ref){d, b.imm};
}

static long empty_from_full(const struct ws_pipelinem *p) { return p->full_at >= 0 ? p->empty_at - p->full_at : 0; }

/* sm_80 has the older forms. */
const char *ws_barrier_form(struct lower *l, const char *template) { return l->s->arch >= 90 ? template : ws_fmt(l->arena, "%s_sm80", template); }

const char *ws_lane_first(struct lower *l) {
  if (l->lane_first) return l->lane_first;
  l->lane_first = ws_lower_named(l, WS_REG_PRED, "lane_first");
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  ws_lower_comment(l, "the first lane of each warp");
  OP(l, "compare_s32", "eq", l->lane_first, "%lane", "0");
  ws_lower_restore(l, old);
  return l->lane_first;
}

/* In front of an arrival: the fence, and who arrives. */
static const char *arrival_guard(struct lower *l, const struct ws_act *a) {
  ws_lower_fence_before(l);
  if (a->single || a->unit == WS_UNIT_THREAD) return "";
  if (a->unit == WS_UNIT_WARP) {
    WS_OP0(&l->px, "sync_warp");
    return ws_fmt(l->arena, "@%s ", ws_lane_first(l));
  }
  const char *p = ws_lower_temp(l, WS_REG_PRED);
  OP(l, "compare_s32", "eq", p, "%thread", "0");
  return ws_fmt(l->arena, "@%s ", p);
}

static void arrive_at(struct lower *l, const struct ws_act *a, struct bar_ref b, enum ws_barrier_scope scope) {
  if (a->by == WS_BY_TCGEN05) { /* the products of this thread arrive when they are done */
    ws_lower_tcgen05_commit(l, b, scope);
    return;
  }
  const char *guard = arrival_guard(l, a), *imm = ws_lower_int(l, b.imm);
  if (scope == WS_SCOPE_CTA) {
    OP(l, ws_barrier_form(l, "mbarrier_arrive"), guard, b.reg, imm);
    return;
  }
  for (int rank = 0; rank < 2; rank++) /* pair: an arrival at both CTAs; leader: at rank 0; peer: at the other one */
    if (scope == WS_SCOPE_PAIR || rank == 0)
      OP(l, "mbarrier_arrive_cluster", guard, b.reg, imm, scope == WS_SCOPE_PEER ? "%peer" : ws_lower_int(l, rank), ws_lower_temp(l, WS_REG_B32));
}

/* --- statements on rings --- */

/* Names the slot at the position. */
static void name_slot(struct lower *l, const struct ws_act *a, const struct ring_pos *r) {
  const struct ws_bufferm *b = a->pipe->buffer;
  if (!a->handle) return;
  struct slot *h = &l->handle[a->handle->index];
  *h = (struct slot){"", ""};
  if (!r->stage) return;
  struct bar_ref bar = first_barrier(l, a);
  long each = b->tmem ? ws_tmem_stage_step(b) : b->bytes; /* in tensor memory slots are counted in columns */
  const char *first = ws_lower_int(l, b->tmem ? b->column[a->element_at ? 0 : a->element * b->stages]
                                              : b->offset + (a->element_at ? 0 : (long)a->element * b->stages * b->bytes));
  h->at = ws_lower_named(l, WS_REG_B32, "slot_%s", a->handle->name);
  h->bar = ws_lower_named(l, WS_REG_B32, "bar_%s", a->handle->name);
  if (a->element_at) {
    const char *d = ws_lower_temp(l, WS_REG_B32);
    OP(l, "mad_s32", d, ws_uniform_int(l, a->element_at), ws_lower_int(l, b->tmem ? ws_tmem_element_step(b) : b->stages * b->bytes), first);
    first = d;
  }
  OP(l, "ring_slot", h->at, h->bar, r->stage, ws_lower_int(l, each), first, bar.reg, ws_lower_int(l, bar.imm));
}

static struct bar_ref slot_barrier(struct lower *l, const struct ws_act *a, const struct ring_pos *r) {
  const char *named = a->handle ? l->handle[a->handle->index].bar : "";
  return *named ? (struct bar_ref){named, 0} : staged_barrier(l, a, r);
}

static void take_bytes(struct lower *l, struct ws_act *a, bool fill) {
  const struct ws_bufferm *b = a->pipe->buffer;
  if (b->stages == 1) {
    if (a->handle) l->handle[a->handle->index] = (struct slot){"", ""};
    if (fill) ws_lower_note(l, "no instruction: the ring has one slot");
    return;
  }
  const struct ring_pos *r = position(l, a, fill ? RING_FILL : RING_DRAIN);
  const char *slot = a->handle ? ws_lower_named(l, WS_REG_B32, "slot_%s", a->handle->name) : ws_lower_temp(l, WS_REG_B32);
  if (a->handle) l->handle[a->handle->index] = (struct slot){slot, ""};
  OP(l, "ring_next", slot, r->bytes, ws_lower_int(l, b->bytes), r->last, r->first, ws_lower_temp(l, WS_REG_PRED));
}

void ws_lower_acquire(struct lower *l, struct ws_act *a) {
  const struct ws_pipelinem *p = a->pipe;
  if (p->by == WS_BY_CP_ASYNC) {
    take_bytes(l, a, true);
    return;
  }
  const struct ring_pos *r = position(l, a, RING_FILL);
  name_slot(l, a, r);
  struct bar_ref b = slot_barrier(l, a, r);
  if (!p->no_empty) ws_lower_wait_at(l, a, (struct bar_ref){b.reg, b.imm + empty_from_full(p)}, r->phase);
  if (p->by == WS_BY_TMA && p->full == WS_SCOPE_LEADER)
    OP(l, "mbarrier_expect_leader", b.reg, ws_lower_int(l, b.imm), ws_lower_int(l, a->bytes), ws_lower_temp(l, WS_REG_PRED));
  else if (p->by == WS_BY_TMA)
    OP(l, "mbarrier_expect", b.reg, ws_lower_int(l, b.imm), ws_lower_int(l, a->bytes));
  if (p->no_empty && p->by != WS_BY_TMA) ws_lower_note(l, "no waiting: other synchronisation orders the reuse");
  advance(l, r, p->buffer->stages);
}

void ws_lower_commit(struct lower *l, struct ws_act *a) {
  if (a->pipe && a->pipe->by == WS_BY_CP_ASYNC) {
    WS_OP0(&l->px, "cp_async_commit");
    return;
  }
  int stages = a->pipe ? a->pipe->buffer->stages : a->barrier->stages;
  const struct ring_pos *r = stages > 1 ? position(l, a, RING_COMMIT) : NULL;
  struct bar_ref b = r ? staged_barrier(l, a, r) : first_barrier(l, a);
  arrive_at(l, a, b, a->pipe ? a->pipe->full : a->barrier->scope);
  if (r) advance(l, r, stages);
}

static void wait_barrier(struct lower *l, struct ws_act *a) {
  const struct ring_pos *r = position(l, a, RING_DRAIN);
  ws_lower_wait_at(l, a, staged_barrier(l, a, r), r->phase);
  advance(l, r, a->barrier->stages);
}

void ws_lower_wait(struct lower *l, struct ws_act *a) {
  if (a->barrier) {
    wait_barrier(l, a);
    return;
  }
  if (a->pipe->by == WS_BY_CP_ASYNC) {
    OP(l, "cp_async_wait", ws_lower_int(l, a->wait_groups));
    ws_lower_proxy_fence(l, a->pipe->buffer); /* cp.async writes as threads do (PTX ISA, "Async proxy") */
    take_bytes(l, a, false);
    return;
  }
  const struct ring_pos *r = position(l, a, RING_DRAIN);
  name_slot(l, a, r);
  ws_lower_wait_at(l, a, slot_barrier(l, a, r), r->phase);
  advance(l, r, a->pipe->buffer->stages);
}

void ws_lower_release(struct lower *l, struct ws_act *a) {
  struct bar_ref b = a->handle && *l->handle[a->handle->index].bar ? (struct bar_ref){l->handle[a->handle->index].bar, 0} : first_barrier(l, a);
  arrive_at(l, a, (struct bar_ref){b.reg, b.imm + empty_from_full(a->pipe)}, a->pipe->empty);
}

void ws_lower_arrive(struct lower *l, struct ws_act *a) {
  const struct ring_pos *r = a->barrier->stages > 1 ? position(l, a, RING_ARRIVE) : NULL;
  arrive_at(l, a, r ? staged_barrier(l, a, r) : first_barrier(l, a), a->barrier->scope);
  if (r) advance(l, r, a->barrier->stages);
}

/* --- explicit forms: what is stated about a barrier in place of what a ring derives --- */

static const char *stage_at(struct lower *l, struct bar_ref b, int k, const char **imm) {
  *imm = ws_lower_int(l, b.imm + 8L * k);
  return b.reg;
}

/* init, inval: all stages. The name in front is what a report of the watchdog looks for. */
void ws_lower_init(struct lower *l, struct ws_act *a) {
  const char *imm, *count = a->kind == WS_S_INIT ? ws_uniform_int(l, a->value) : NULL;
  struct bar_ref b = first_barrier(l, a);
  if (count) ws_lower_note(l, "%s", a->barrier->name);
  for (int k = 0; k < a->barrier->stages; k++) {
    const char *reg = stage_at(l, b, k, &imm);
    if (count)
      OP(l, ws_barrier_form(l, "mbarrier_init"), reg, imm, count);
    else
      OP(l, ws_barrier_form(l, "mbarrier_inval"), reg, imm);
  }
}

void ws_lower_wait_phase(struct lower *l, struct ws_act *a) {
  const struct ring_pos *r = a->barrier->stages > 1 ? position(l, a, RING_PHASE) : NULL;
  const char *phase = ws_uniform_int(l, a->value);
  ws_lower_wait_at(l, a, r ? staged_barrier(l, a, r) : first_barrier(l, a), phase);
  if (r) advance(l, r, a->barrier->stages);
}

/* With stages: the loads behind it come to the stage that was told of them. */
void ws_lower_expect(struct lower *l, struct ws_act *a) {
  struct ring_pos *r = a->barrier->stages > 1 ? position(l, a, RING_ARRIVE) : NULL;
  const char *bytes = ws_uniform_int(l, a->value);
  struct bar_ref b = r ? staged_barrier(l, a, r) : first_barrier(l, a);
  OP(l, "mbarrier_arrive_expect", arrival_guard(l, a), b.reg, ws_lower_int(l, b.imm), bytes);
  if (!r) return;
  if (!r->told) r->told = ws_lower_named(l, WS_REG_B32, "%s_told", r->name);
  OP(l, "mov_s32", r->told, b.reg);
  advance(l, r, a->barrier->stages);
}

/* --- counters in global memory --- */

/* A tensor that TMA loads and threads write. */
static void bulk_reads(void *ctx, struct ws_act *a) { *(bool *)ctx |= a->kind == WS_S_LOAD && a->by == WS_BY_TMA && a->from->tensor && a->from->tensor->workspace; }
static void bulk_writes(void *ctx, struct ws_act *a) { *(bool *)ctx |= (a->kind == WS_S_STORE || a->kind == WS_S_REDUCE) && a->by == WS_BY_BULK; }

void ws_lower_counter(struct lower *l, struct ws_act *a) {
  bool bulk = false;
  if (a->kind == WS_S_WAIT_EQ) {
    const char *n = ws_uniform_int(l, a->value), *address = ws_table_address(l, a->from);
    OP(l, "counter_wait", ws_ptx_label(&l->px, "count"), ws_lower_temp(l, WS_REG_PRED), ws_lower_temp(l, WS_REG_B32), address, n);
    ws_each_act(l->prog->body, bulk_reads, &bulk);
    if (bulk) WS_OP0(&l->px, "fence_async_global"); /* what was waited for is seen by TMA, too */
    return;
  }
  ws_each_act(l->prog->body, bulk_writes, &bulk);
  if (bulk) { /* what this thread stored by TMA is there before it says so */
    OP(l, "bulk_wait", "0");
    WS_OP0(&l->px, "fence_async_global");
  }
  OP(l, "counter_arrive", ws_table_address(l, a->from));
}

/* A second name for a slot. */
void ws_lower_same_slot(struct lower *l, const struct ws_act *a) {
  const struct slot *from = &l->handle[a->handle_from->index];
  struct slot *to = &l->handle[a->handle->index];
  *to = *from;
  if (*from->at) OP(l, "mov_s32", to->at = ws_lower_named(l, WS_REG_B32, "slot_%s", a->handle->name), from->at);
  if (*from->bar) OP(l, "mov_s32", to->bar = ws_lower_named(l, WS_REG_B32, "bar_%s", a->handle->name), from->bar);
}

const char *ws_lower_full(struct lower *l, const struct ws_act *a, const char **imm) {
  const struct ws_handle *h = a->to->handle;
  if (!a->pipe) {
    const struct ring_pos *r = a->barrier->stages > 1 ? position(l, a, RING_ARRIVE) : NULL;
    if (r && r->told) return *imm = ws_lower_int(l, barrier_at(a)), r->told;
    struct bar_ref own = first_barrier(l, a);
    *imm = ws_lower_int(l, own.imm);
    return own.reg;
  }
  struct ws_act at = {.pipe = a->pipe, .element = h ? h->element : a->to->element, .element_at = h ? h->element_at : a->to->element_at};
  struct bar_ref b = h && *l->handle[h->index].bar ? (struct bar_ref){l->handle[h->index].bar, 0} : first_barrier(l, &at);
  *imm = ws_lower_int(l, b.imm);
  return b.reg;
}

/* --- the start of a kernel --- */

static void init_side(struct lower *l, const char *what, long at, const int *count, int elements, int stages) {
  for (int e = 0; e < elements; e++)
    for (int k = 0; k < stages; k++) {
      if (e == 0 && k == 0) ws_lower_note(l, "%s", what);
      OP(l, ws_barrier_form(l, "mbarrier_init"), "%smem", ws_lower_int(l, at + 8L * (e * stages + k)), ws_lower_int(l, count[e]));
    }
}

/* Does a program initialise them all? */
static bool none_here(const struct ws_schedule *s) {
  for (int i = 0; i < s->npipelines; i++)
    if (s->pipelines[i].full_at >= 0 || s->pipelines[i].empty_at >= 0) return false;
  for (int i = 0; i < s->nbarriers; i++)
    if (!s->barriers[i].named && !s->barriers[i].inits) return false;
  return true;
}

void ws_lower_barriers(struct lower *l) {
  const struct ws_schedule *s = l->s;
  if (none_here(s) && !s->pair) return;
  const char *skip = ws_ptx_label(&l->px, "barriers_set"), *p = ws_lower_temp(l, WS_REG_PRED);
  ws_lower_comment(l, "one thread sets the mbarriers up: how many arrivals complete a phase");
  OP(l, "thread_unless_first", p, skip);
  for (int i = 0; i < s->npipelines; i++) {
    const struct ws_pipelinem *q = &s->pipelines[i];
    if (q->full_at >= 0) init_side(l, ws_fmt(l->arena, "%s: full", q->name), q->full_at, q->full_count, q->count, q->buffer->stages);
    if (q->empty_at >= 0) init_side(l, ws_fmt(l->arena, "%s: empty", q->name), q->empty_at, q->empty_count, q->count, q->buffer->stages);
  }
  for (int i = 0; i < s->nbarriers; i++)
    if (!s->barriers[i].named && !s->barriers[i].inits) init_side(l, s->barriers[i].name, s->barriers[i].at, s->barriers[i].arrivals, s->barriers[i].count, s->barriers[i].stages);
  if (s->arch >= 90) WS_OP0(&l->px, "mbarrier_init_fence"); /* before that only this CTA looks at them: the barrier below is enough */
  OP(l, "label", skip);
  WS_OP0(&l->px, s->pair ? "sync_cluster" : "sync_cta");
}
