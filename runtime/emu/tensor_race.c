/* Accesses to tensor memory that nothing orders (tensor.h). PTX ISA "tcgen05 Memory Consistency Model Operations".
 *
 * What a warp loads or stores is over when it has waited (tcgen05.wait); what a product does is over when it has been performed.
 * Until then an access to the same columns is a fault. Afterwards the column remembers who it was and when, and the other side
 * must have fenced since: a warp that uses what a product did needs a tcgen05.fence::after_thread_sync later than the
 * product's end; a product that uses what a warp did needs a fence::before_thread_sync of that warp and a fence::after of the
 * issuing warp, both later than the warp's wait. These are necessary in every program, so none is accused wrongly; whether
 * the fences stand around the right barrier is not looked at. */
#include "tensor.h"
#include "hazard.h"
#include "../src/cuda_abi.h"
#include <string.h>

#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

static bool off(const struct cta *c) { return c->grid->l->options.no_race; }
static uint32_t tick(struct cta *c) { return ++c->cluster->tc_tick; }
static uint32_t halves_of(const struct tc_move *m) { return m->in->u >> 4 ? 1u << (m->lane / TC_GRANULE & 1) : 3; } /* shape 0 has 32 lanes */
static bool overlap(uint32_t a, uint32_t na, uint32_t b, uint32_t nb) { return a < b + nb && b < a + na; }

static int accuse(struct who who, const struct cta *c, uint32_t pc, const char *does, uint32_t column, const char *what) {
  char where[600];
  ws_emu_where(c->k, &c->k->code[pc], where, sizeof where);
  return BAD(who, "%s column %u of tensor memory, %s, %s", does, column, what, where);
}
static uint32_t pc_of(const struct cta *c, const struct inst *in) { return (uint32_t)(in - c->k->code); }

/* Option "race" = "lenient": what acquires or releases fences tensor memory, too, as CUTLASS takes it. The ISA's patterns have relaxed
 * accesses to mbarriers between the two fences, and its text asks for the fences without distinction. */
void ws_emu_tc_implied(struct warp *w, bool after) {
  if (w->cta->grid->l->options.lenient) ws_emu_tc_fence(w, after);
}

void ws_emu_tc_fence(struct warp *w, bool after) { *(after ? &w->tc_after : &w->tc_before) = tick(w->cta); }

/* ---- a warp's load or store ---- */
/* Moves that nobody has waited for, of this warp or of another one with the same quarter of the lanes. */
static int against_moves(struct who who, const struct tc_move *m) {
  const struct cta *c = who.w->cta;
  for (uint32_t i = 0; i < c->nwarps; i++)
    for (const struct tc_move *o = c->warps[i].moves; o; o = o->next) {
      bool own = i == who.w->index;
      if ((!o->store && !m->store) || o->lane / 32 != m->lane / 32 || !overlap(o->column, o->columns, m->column, m->columns) || !(halves_of(o) & halves_of(m))) continue;
      return accuse(who, c, pc_of(c, o->in), m->store ? "writes" : "reads", m->column > o->column ? m->column : o->column,
                    o->store ? own ? "which it stores without a tcgen05.wait::st since" : "which another warp stores without a tcgen05.wait::st since"
                             : own ? "which it loads without a tcgen05.wait::ld since" : "which another warp loads without a tcgen05.wait::ld since");
    }
  return EV_NEXT;
}
static int against_queue(struct who who, const struct tc_move *m, const struct cta *issuer, bool pairs) {
  for (const struct tc_op *op = issuer->tensor ? issuer->tensor->first : NULL; op; op = op->next)
    for (uint32_t i = 0; i < op->spans && (!pairs || op->pair); i++) {
      const struct tc_span *s = &op->span[i];
      if ((!s->write && !m->store) || !(s->halves & halves_of(m)) || !overlap(s->column, s->columns, m->column, m->columns)) continue;
      return accuse(who, issuer, pc_of(issuer, op->who.in), m->store ? "writes" : "reads", m->column > s->column ? m->column : s->column,
                    s->write ? "which an operation in flight writes" : "which an operation in flight reads");
    }
  return EV_NEXT;
}
static int against_column(struct who who, const struct tc_move *m, uint32_t col) {
  const struct cta *c = who.w->cta;
  const struct tc_column *k = &c->tensor->column[col];
  for (uint32_t h = 0; h < 2; h++) {
    if (!(halves_of(m) >> h & 1)) continue;
    const struct tc_access *a = k->wrote[h].tick > k->read[h].tick || !m->store ? &k->wrote[h] : &k->read[h];
    if (a->tick && a->tick >= who.w->tc_after)
      return accuse(who, c, a->pc, m->store ? "writes" : "reads", col,
                    "without a tcgen05.fence::after_thread_sync since the end of the operation that used it");
  }
  return EV_NEXT;
}

/* What another warp loaded or stored and has waited for: fences stand on both sides. ISA "Non-pipelined instructions, different thread" */
static int without_fences(struct who who, const struct cta *c, const char *does, uint32_t col, const struct tc_access *a, bool stored) {
  if (!a->tick || (a->warp == who.w->index && c == who.w->cta)) return EV_NEXT;
  if (c->warps[a->warp].tc_before <= a->tick)
    return accuse(who, c, a->pc, does, col, stored ? "which another warp stored without a tcgen05.fence::before_thread_sync since its wait"
                                                   : "which another warp loaded without a tcgen05.fence::before_thread_sync since its wait");
  if (who.w->tc_after <= a->tick)
    return accuse(who, c, a->pc, does, col, stored ? "which another warp stored, without a tcgen05.fence::after_thread_sync since"
                                                   : "which another warp loaded, without a tcgen05.fence::after_thread_sync since");
  return EV_NEXT;
}
/* Other warps of the same quarter. */
static int against_others(struct who who, const struct tc_move *m, uint32_t col) {
  const struct tc_column *k = &who.w->cta->tensor->column[col];
  const char *does = m->store ? "writes" : "reads";
  uint32_t quarter = m->lane / 32 * 2;
  for (uint32_t h = 0; h < 2; h++) {
    if (!(halves_of(m) >> h & 1)) continue;
    if (without_fences(who, who.w->cta, does, col, &k->stored[quarter + h], true) != EV_NEXT) return EV_FAULT;
    if (m->store && without_fences(who, who.w->cta, does, col, &k->loaded[quarter + h], false) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

int ws_emu_tc_race_move(struct warp *w, const struct tc_move *m) {
  struct who who = {w, m->in, __builtin_ctz(w->mask)};
  const struct cta *c = w->cta;
  if (off(c)) return EV_NEXT;
  if (against_moves(who, m) != EV_NEXT || against_queue(who, m, c, false) != EV_NEXT) return EV_FAULT;
  if ((c->rank ^ 1) < c->cluster->n && against_queue(who, m, c->cluster->cta[c->rank ^ 1], true) != EV_NEXT) return EV_FAULT;
  for (uint32_t i = 0; i < m->columns; i++)
    if (against_column(who, m, m->column + i) != EV_NEXT || against_others(who, m, m->column + i) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

void ws_emu_tc_moved(struct warp *w, const struct tc_move *m) {
  struct cta *c = w->cta;
  struct tc_access a = {tick(c), pc_of(c, m->in), (uint16_t)w->index};
  uint32_t quarter = m->lane / 32 * 2;
  for (uint32_t i = 0; i < m->columns; i++) {
    struct tc_column *k = &c->tensor->column[m->column + i];
    k->newest = a.tick;
    for (uint32_t h = 0; h < 2; h++)
      if (halves_of(m) >> h & 1) (m->store ? k->stored : k->loaded)[quarter + h] = a;
  }
}

/* ---- a product or copy ---- */
static int against_accesses(struct who who, struct cta *c, const struct tc_span *s, uint32_t col) {
  struct tc_column *k = &c->tensor->column[col];
  if (k->newest <= k->checked) return EV_NEXT;
  const char *does = s->write ? "writes" : "takes A from";
  for (uint32_t g = 0; g < TC_GRANULES; g++) {
    if (!(s->halves >> (g & 1) & 1)) continue;
    if (without_fences(who, c, does, col, &k->stored[g], true) != EV_NEXT) return EV_FAULT;
    if (s->write && without_fences(who, c, does, col, &k->loaded[g], false) != EV_NEXT) return EV_FAULT;
  }
  if (s->write && s->halves == 3) k->checked = k->newest;
  return EV_NEXT;
}
static int against_pending(struct who who, const struct cta *c, const struct tc_span *s) {
  for (uint32_t i = 0; i < c->nwarps; i++)
    for (const struct tc_move *m = c->warps[i].moves; m; m = m->next) {
      if ((!s->write && !m->store) || !(s->halves & halves_of(m)) || !overlap(s->column, s->columns, m->column, m->columns)) continue;
      return accuse(who, c, pc_of(c, m->in), s->write ? "writes" : "takes A from", m->column > s->column ? m->column : s->column,
                    m->store ? "which a warp stores without a tcgen05.wait::st since" : "which a warp loads without a tcgen05.wait::ld since");
    }
  return EV_NEXT;
}

int ws_emu_tc_race_op(const struct tc_op *op, struct cta *c) {
  if (off(c)) return EV_NEXT;
  for (uint32_t i = 0; i < op->spans; i++) {
    const struct tc_span *s = &op->span[i];
    if (against_pending(op->who, c, s) != EV_NEXT) return EV_FAULT;
    for (uint32_t k = 0; k < s->columns; k++)
      if (against_accesses(op->who, c, s, s->column + k) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

void ws_emu_tc_performed(const struct tc_op *op, struct cta *c) {
  struct tc_access a = {tick(c), pc_of(c, op->who.in), (uint16_t)op->who.w->index};
  for (uint32_t i = 0; i < op->spans && c->tensor; i++)
    for (uint32_t k = 0; k < op->span[i].columns; k++)
      for (uint32_t h = 0; h < 2; h++)
        if (op->span[i].halves >> h & 1) (op->span[i].write ? c->tensor->column[op->span[i].column + k].wrote : c->tensor->column[op->span[i].column + k].read)[h] = a;
}
