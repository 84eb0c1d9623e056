/* Tensor memory: allocation, the queues of operations, moves of a warp (tensor.h). */
#include "tensor.h"
#include "hazard.h"
#include "race.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)
#define BAD_ADDRESS(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, __VA_ARGS__)
#define NO_MEMORY(who) WHO_FAULT(who, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its tensor memory")

static const struct emu_options *options(const struct cluster *cl) { return &cl->grid->l->options; }
static struct who warp_who(struct warp *w, const struct inst *in) { return WHO(w, in, w->mask ? __builtin_ctz(w->mask) : 0); }

struct tensor *ws_emu_tensor(struct who who, struct cta *c) {
  if (c->tensor) return c->tensor;
  struct tensor *t = calloc(1, sizeof *t);
  if (!t) return NO_MEMORY(who), NULL;
  t->last = &t->first;
  return c->tensor = t;
}

static uint32_t units_mask(uint32_t first, uint32_t units) { return (uint32_t)(((uint64_t)1 << units) - 1) << first; }

int ws_emu_tc_check(struct who who, struct cta *c, uint32_t address, uint32_t n, const char *what) {
  uint32_t first = address & 0xffff, lane = address >> 16;
  if (lane >= TC_LANES) return BAD_ADDRESS(who, "%s tensor memory at 0x%08x: there are lanes 0..%d", what, address, TC_LANES - 1);
  for (uint32_t col = first; col < first + n; col++) {
    if (col < TC_COLUMNS && c->tensor && c->tensor->used >> col / TC_UNIT & 1) {
      col |= TC_UNIT - 1;
      continue;
    }
    return BAD_ADDRESS(who, "%s columns %u..%u of tensor memory (address 0x%08x), but column %u is not allocated%s", what, first, first + n - 1, address,
                       col, col < TC_COLUMNS ? "" : ": there are 512");
  }
  return EV_NEXT;
}

/* ---- allocation ---- */
static struct cta *peer_of(const struct cta *c) {
  uint32_t rank = c->rank ^ 1;
  return rank < c->cluster->n ? c->cluster->cta[rank] : NULL;
}

/* The first unit of a run that is free in all of `used`, or TC_UNITS. Under the random schedule any such run. Runs begin at multiples
 * of their size, so that allocations which do not grow never leave gaps. */
static uint32_t find_run(struct cluster *cl, uint32_t used, uint32_t units) {
  uint32_t fits[TC_UNITS], n = 0;
  for (uint32_t i = 0; i + units <= TC_UNITS; i += units)
    if (!(used & units_mask(i, units))) fits[n++] = i;
  if (!n) return TC_UNITS;
  return options(cl)->schedule == SCHED_RANDOM ? fits[ws_emu_random(cl, n)] : fits[0];
}

static void take(struct warp *w, const struct tc_want *want, uint32_t unit) {
  struct cta *c = w->cta;
  struct tensor *t = c->tensor;
  uint32_t units = want->columns / TC_UNIT, address = unit * TC_UNIT;
  t->claim[unit] = (struct tc_claim){(uint8_t)units, w->waits, w->index};
  t->used |= units_mask(unit, units);
  memset(&t->column[address], 0, want->columns * sizeof *t->column);
  for (uint32_t col = address; col < address + want->columns; col++)
    for (uint32_t l = 0; l < TC_LANES; l++) t->word[col][l] = TC_POISON;
  memcpy(c->shared + want->at, &address, sizeof address);
  ws_emu_race_lane(WHO(w, w->waits, 0), c, want->at, 4, RACE_WRITE); /* a fault is seen at the next turn */
}
static void give(struct warp *w, const struct tc_want *want) {
  struct tensor *t = w->cta->tensor;
  t->claim[want->at / TC_UNIT].units = 0;
  t->used &= ~units_mask(want->at / TC_UNIT, want->columns / TC_UNIT);
}

/* The warp of the peer that wants the same; with one for itself in *other. */
static bool partner(struct warp *w, const struct tc_want *want, struct warp **other) {
  struct cta *c = peer_of(w->cta);
  *other = NULL;
  if (!want->pair) return true;
  for (uint32_t i = 0; c && c->tensor && i < c->nwarps; i++) {
    const struct tc_want *o = &c->tensor->want[i];
    if (o->wish == want->wish && o->pair && o->columns == want->columns && (want->wish == TC_ALLOC || o->at == want->at)) {
      *other = &c->warps[i];
      return true;
    }
  }
  return false;
}

static bool grant_one(struct warp *w) {
  struct tensor *t = w->cta->tensor;
  struct tc_want *want = &t->want[w->index];
  struct warp *other;
  if (!want->wish || !partner(w, want, &other)) return false;
  struct tc_want *theirs = other ? &other->cta->tensor->want[other->index] : NULL;
  if (want->wish == TC_ALLOC) {
    uint32_t unit = find_run(w->cta->cluster, t->used | (other ? other->cta->tensor->used : 0), want->columns / TC_UNIT);
    if (unit == TC_UNITS) return false;
    take(w, want, unit);
    if (other) take(other, theirs, unit);
  } else {
    give(w, want);
    if (other) give(other, theirs);
  }
  want->wish = TC_NONE;
  w->state = WARP_RUN;
  if (other) {
    theirs->wish = TC_NONE;
    other->state = WARP_RUN;
  }
  w->cta->cluster->events++;
  return true;
}

/* Grants what can be granted, in the order of CTAs and warps. */
static void grant(struct cluster *cl) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t r = 0; r < cl->n; r++)
      for (uint32_t i = 0; cl->cta[r]->tensor && i < cl->cta[r]->nwarps; i++) again |= grant_one(&cl->cta[r]->warps[i]);
  }
}

static int ask(struct warp *w, const struct inst *in, struct tc_want want) {
  struct cta *c = w->cta;
  if (want.pair && !peer_of(c)) return BAD(warp_who(w, in), "is executed in CTA %u of a cluster of %u: it has no peer", c->rank, c->cluster->n);
  c->tensor->want[w->index] = want;
  w->waits = in;
  w->state = WARP_TENSOR;
  grant(c->cluster);
  if (w->state == WARP_RUN) return EV_NEXT;
  w->pc++;
  return EV_BLOCK;
}

static int good_count(struct who who, uint32_t columns) {
  if (columns >= TC_UNIT && columns <= TC_COLUMNS && !(columns & (columns - 1))) return EV_NEXT;
  return BAD(who, "names %u columns: a power of two from %d to %d is needed", columns, TC_UNIT, TC_COLUMNS);
}

int ws_emu_tc_alloc(struct warp *w, const struct inst *in, uint32_t shared_offset, uint32_t columns, bool pair) {
  struct who who = warp_who(w, in);
  struct tensor *t = ws_emu_tensor(who, w->cta);
  if (!t || good_count(who, columns) != EV_NEXT) return EV_FAULT;
  if (t->relinquished) return BAD(who, "allocates after a tcgen05.relinquish_alloc_permit of its CTA");
  if (t->last_size && columns > t->last_size)
    return BAD(who, "allocates %u columns after an allocation of %u: the number must not grow within a CTA", columns, t->last_size);
  t->last_size = columns;
  return ask(w, in, (struct tc_want){TC_ALLOC, pair, columns, shared_offset});
}

/* An operation or move that still uses columns [at, at + n), told as a fault of `who`. */
static int idle_columns(struct who who, struct cta *c, uint32_t at, uint32_t n, const char *what) {
  char where[600];
  for (uint32_t i = 0; i < c->nwarps; i++)
    for (const struct tc_move *m = c->warps[i].moves; m; m = m->next) {
      if (m->column >= at + n || at >= m->column + m->columns) continue;
      if (!m->store && options(c->cluster)->no_race) continue; /* harmless but for the rule */
      ws_emu_where(c->k, m->in, where, sizeof where);
      return BAD(who, "%s columns that warp %u accesses without a tcgen05.wait::%s since, %s", what, i, m->store ? "st" : "ld", where);
    }
  for (const struct tc_op *op = c->tensor->first; op; op = op->next) {
    bool uses = false;
    for (uint32_t i = 0; i < op->spans; i++) uses |= op->span[i].column < at + n && at < op->span[i].column + op->span[i].columns;
    if (!uses) continue;
    ws_emu_where(c->k, op->who.in, where, sizeof where);
    return BAD(who, "%s columns of an operation whose completion nobody has waited for, %s", what, where);
  }
  return EV_NEXT;
}

int ws_emu_tc_dealloc(struct warp *w, const struct inst *in, uint32_t address, uint32_t columns, bool pair) {
  struct who who = warp_who(w, in);
  struct tensor *t = ws_emu_tensor(who, w->cta);
  if (!t || good_count(who, columns) != EV_NEXT) return EV_FAULT;
  const struct tc_claim *k = address % TC_UNIT || address >= TC_COLUMNS ? NULL : &t->claim[address / TC_UNIT];
  if (!k || !k->units) return BAD_ADDRESS(who, "deallocates tensor memory at 0x%08x, where no allocation begins", address);
  if (k->units * TC_UNIT != columns)
    return BAD_ADDRESS(who, "deallocates %u columns at 0x%08x, where %u are allocated", columns, address, k->units * TC_UNIT);
  if (idle_columns(who, w->cta, address, columns, "deallocates") != EV_NEXT) return EV_FAULT;
  return ask(w, in, (struct tc_want){TC_DEALLOC, pair, columns, address});
}

int ws_emu_tc_relinquish(struct warp *w, const struct inst *in) {
  struct tensor *t = ws_emu_tensor(warp_who(w, in), w->cta);
  if (!t) return EV_FAULT;
  t->relinquished = true;
  return EV_NEXT;
}

/* ---- queues ---- */
static bool same_thread(const struct tc_op *a, const struct tc_op *b) { return a->who.w == b->who.w && a->who.lane == b->who.lane; }

/* PTX ISA "tcgen05 pipelined instructions": pairs of one thread that keep their order in any case. */
static bool pipelined(const struct tc_op *before, const struct tc_op *after) {
  if (after->kind == TC_COMMIT) return true;
  if (before->kind == TC_MMA) return after->kind == TC_SHIFT || (after->kind == TC_MMA && before->d == after->d && before->form == after->form);
  return before->kind == TC_COPY ? after->kind == TC_MMA : before->kind == TC_SHIFT;
}

/* The operation of `like`'s thread to perform next, of those up to number `through`: the oldest, or without program order the
 * youngest that none before it holds back. */
static struct tc_op **next_op(struct cta *c, const struct tc_op *like, uint64_t through) {
  bool any = options(c->cluster)->tensor_any;
  struct tc_op **found = NULL;
  for (struct tc_op **at = &c->tensor->first; *at && (*at)->number <= through; at = &(*at)->next) {
    bool held = false;
    if (!same_thread(*at, like)) continue;
    if (!any) return at;
    for (struct tc_op *b = c->tensor->first; b != *at; b = b->next) held |= same_thread(b, like) && (b->kind == TC_COMMIT ? (*at)->kind == TC_COMMIT : pipelined(b, *at));
    if (!held) found = at;
  }
  return found;
}

static void free_op(struct tc_op *op) {
  ws_emu_race_snapshot_free(op->clock);
  free(op);
}

static int perform(struct cta *c, struct tc_op **at) {
  struct tc_op *op = *at;
  int ev = op->run(op);
  if (op->spans) {
    ws_emu_tc_performed(op, c);
    if (op->pair) ws_emu_tc_performed(op, c->cluster->cta[c->rank ^ 1]);
  }
  c->cluster->events++;
  if (c->tensor->first != op) op->who.w->stats.reordered++;
  *at = op->next;
  if (c->tensor->last == &op->next) c->tensor->last = at;
  free_op(op);
  return ev;
}

static int perform_through(struct cta *c, const struct tc_op *like, uint64_t through) {
  struct tc_op **at;
  int ev = EV_NEXT;
  while (ev == EV_NEXT && (at = next_op(c, like, through))) ev = perform(c, at);
  return ev;
}

static struct tc_op *append(const struct tc_op *like) {
  struct cta *c = like->who.w->cta;
  struct tensor *t = ws_emu_tensor(like->who, c);
  struct tc_op *op = t ? malloc(sizeof *op) : NULL;
  if (!op) {
    if (t) NO_MEMORY(like->who);
    return NULL;
  }
  *op = *like;
  op->number = ++t->issued;
  op->next = NULL;
  *t->last = op;
  t->last = &op->next;
  return op;
}

int ws_emu_tc_issue(const struct tc_op *like) {
  struct warp *w = like->who.w;
  struct cluster *cl = w->cta->cluster;
  const struct tc_op *op = append(like);
  if (!op) return EV_FAULT;
  if (like->touch(like, (uint32_t)op->number) != EV_NEXT) return EV_FAULT;
  w->stats.async++;
  uint8_t when = options(cl)->schedule;
  if (when == SCHED_EARLY || (when == SCHED_RANDOM && ws_emu_random(cl, 4) == 0)) return perform_through(w->cta, like, op->number);
  w->stats.delayed++;
  return EV_NEXT;
}

/* ---- commit ---- */
static int run_commit(const struct tc_op *op) {
  const struct cluster *cl = op->who.w->cta->cluster;
  for (uint32_t m = op->targets; m; m &= m - 1) {
    struct mbar_ref ref = {cl->cta[__builtin_ctz(m)], op->mbar};
    if (ref.cta->done) return BAD_ADDRESS(op->who, "signals an mbarrier of CTA %u of its cluster, which has ended", ref.cta->rank);
    ws_emu_race_mbar_arrive_late(op->who, ref, op->clock);
    if (ws_emu_mbar_arrive(op->who, ref, 1) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

struct commit { struct tc_op like; uint64_t number; };
static enum agent_step perform_commit(struct agent *a) { /* nothing is left to do where a younger one was performed before */
  const struct commit *p = (const struct commit *)(const void *)a->payload;
  return perform_through(a->who.w->cta, &p->like, p->number) == EV_NEXT ? AGENT_DONE : AGENT_FAULT;
}

int ws_emu_tc_commit(const struct tc_op *like) {
  struct cluster *cl = like->who.w->cta->cluster;
  struct tc_op *op = append(like);
  if (!op) return EV_FAULT;
  op->run = run_commit;
  op->clock = ws_emu_race_snapshot(like->who.w, BY_TENSOR, (uint32_t)op->number);
  op->kind = TC_COMMIT;
  uint64_t number = op->number; /* the first agent may perform it at once */
  for (uint32_t m = like->targets; m; m &= m - 1) {
    struct agent *a = ws_emu_agent_new(like->who, sizeof(struct commit), perform_commit);
    if (!a) return EV_FAULT;
    struct commit *p = (struct commit *)(void *)a->payload;
    p->like = *like;
    p->number = number;
    a->signal = (struct mbar_ref){cl->cta[__builtin_ctz(m)], like->mbar};
    if (ws_emu_agent_issue(a) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

/* ---- moves ---- */
int ws_emu_tc_move(struct warp *w, struct tc_move *m) {
  struct cluster *cl = w->cta->cluster;
  uint8_t when = options(cl)->schedule;
  int ev = ws_emu_tc_race_move(w, m);
  m->done = ev == EV_NEXT && (when == SCHED_EARLY || (when == SCHED_RANDOM && ws_emu_random(cl, 2)));
  if (m->done) m->run(w, m);
  struct tc_move **at = &w->moves;
  while (*at) at = &(*at)->next;
  m->next = NULL;
  *at = m;
  return ev;
}

int ws_emu_tc_wait(struct warp *w, bool store) {
  for (struct tc_move **at = &w->moves; *at;) {
    struct tc_move *m = *at;
    if (m->store != store) {
      at = &m->next;
      continue;
    }
    if (!m->done) m->run(w, m);
    if (!m->store) ws_emu_ld_leave(w, m->in);
    ws_emu_tc_moved(w, m);
    *at = m->next;
    free(m);
  }
  return EV_NEXT;
}

/* ---- turns and ends ---- */
void ws_emu_tc_turn(struct cluster *cl) {
  for (uint32_t r = 0; r < cl->n; r++) {
    struct cta *c = cl->cta[r];
    while (c->tensor && c->tensor->first && ws_emu_random(cl, 2)) {
      uint32_t n = 0;
      for (const struct tc_op *op = c->tensor->first; op; op = op->next) n++;
      const struct tc_op *op = c->tensor->first;
      for (uint32_t k = ws_emu_random(cl, n); k; k--) op = op->next;
      struct tc_op like = *op;
      if (perform(c, next_op(c, &like, UINT64_MAX)) != EV_NEXT) return;
    }
  }
}

static void drop(struct tensor *t) {
  while (t->first) {
    struct tc_op *op = t->first;
    t->first = op->next;
    free_op(op);
  }
  t->last = &t->first;
}

/* A commit that nobody waits for may come too late; everything else must be over. */
bool ws_emu_tc_left(struct cta *c) {
  if (!c->tensor) return true;
  for (const struct tc_op *op = c->tensor->first; op; op = op->next)
    if (op->kind != TC_COMMIT) return BAD(op->who, "issued this operation and its CTA ended without waiting for it"), false;
  for (uint32_t i = 0; i < TC_UNITS; i++) {
    const struct tc_claim *k = &c->tensor->claim[i];
    if (!k->units) continue;
    BAD(WHO(&c->warps[k->warp], k->in, 0), "allocated %u columns of tensor memory at 0x%08x and its CTA ended without tcgen05.dealloc", k->units * TC_UNIT,
        i * TC_UNIT);
    return false;
  }
  drop(c->tensor);
  return true;
}

void ws_emu_tc_free(struct cta *c) {
  for (uint32_t i = 0; i < c->nwarps; i++)
    while (c->warps[i].moves) {
      struct tc_move *m = c->warps[i].moves;
      c->warps[i].moves = m->next;
      free(m);
    }
  if (c->tensor) drop(c->tensor);
  free(c->tensor);
}
