/* PTX ISA "clusterlaunchcontrol": a running cluster takes over the work of one that has not started. What a request gets is
 * decided at issue; the answer travels like a bulk copy. */
#include "address.h"

/* The 16 bytes of an answer: the first CTA, and a mark with the verdict in bit 0. */
struct answer { uint32_t ctaid[3], mark; };
enum { MARK = 0x434c4300, MULTICAST = 8 };

struct delivery { struct answer answer; struct cta *to; uint32_t offset; };
static enum agent_step deliver(struct agent *a) {
  struct delivery *d = (struct delivery *)(void *)a->payload;
  if (d->to->done) {
    WHO_FAULT(a->who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "writes shared memory of CTA %u of its cluster, which has ended", d->to->rank);
    return AGENT_FAULT;
  }
  memcpy(d->to->shared + d->offset, &d->answer, sizeof d->answer);
  return ws_emu_mbar_complete_tx(a->who, a->signal, sizeof d->answer) == EV_NEXT ? AGENT_DONE : AGENT_FAULT;
}

static int cancel_one(struct who who, uint64_t address, uint64_t bar, enum ptx_space space) {
  struct cta *c = who.w->cta;
  struct cluster *cl = c->cluster;
  struct mbar_ref signal;
  struct delivery d = {.answer.mark = MARK};
  uint32_t at, mb;
  uint64_t number;
  if (!own_shared(who, address, space, 16, &at) || !own_shared(who, bar, space, 8, &mb)) return EV_FAULT;
  if (!ws_emu_peer(who, at, 16, true, &d.offset) || !ws_emu_mbar_at(who, mb, &signal)) return EV_FAULT;
  if (ws_emu_grid_cancel(c->grid, &number)) {
    d.answer.mark |= 1;
    ws_emu_cluster_id(c->grid->l, number, d.answer.ctaid);
  }
  for (uint32_t r = 0; r < cl->n; r++) {
    if (r != c->rank && !(who.in->u & MULTICAST)) continue;
    signal.cta = d.to = cl->cta[r];
    if (!ws_emu_mbar_get(who, signal) || ws_emu_race_mbar_signalled(who, signal) != EV_NEXT ||
        ws_emu_race_signalled(who, d.to, signal, d.offset, sizeof d.answer, RACE_WRITE | RACE_ASYNC) != EV_NEXT)
      return EV_FAULT;
    struct agent *a = ws_emu_agent_new(who, sizeof d, deliver);
    if (!a) return EV_FAULT;
    unwritten_mark_shared(d.to, d.offset, sizeof d.answer);
    memcpy(a->payload, &d, sizeof d);
    a->signal = signal;
    a->holds_shared = d.to == c;
    if (ws_emu_agent_issue(a) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}
static int try_cancel(struct warp *w, const struct inst *in, enum ptx_space space) {
  uint64_t a[LANES], bar[LANES];
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a);
  lane_addresses(w, in->o[1], in->u & A2_WIDE, in->imm2, bar);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (cancel_one(WHO(w, in, i), a[i], bar[i], space) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}
HANDLER(try_cancel_shared) { return try_cancel(w, in, SP_SHARED); }

/* ---- reading an answer ---- */
static int check(struct warp *w, const struct inst *in, const struct answer *v, uint32_t mask, bool granted) {
  for (uint32_t m = mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if ((v[i].mark & ~1u) != MARK)
      return ws_emu_fault(w, in, i, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "reads an answer that no clusterlaunchcontrol.try_cancel has given");
    if (granted && !(v[i].mark & 1)) return ws_emu_fault(w, in, i, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "asks for the CTA of a request that was not granted");
  }
  return EV_NEXT;
}
HANDLER(is_canceled) {
  const struct answer *v = SLOT(struct answer, 1);
  uint32_t yes = 0;
  if (check(w, in, v, w->mask, false) != EV_NEXT) return EV_FAULT;
  for (uint32_t m = w->mask; m; m &= m - 1) yes |= (v[__builtin_ctz(m)].mark & 1) << __builtin_ctz(m);
  PRED(0) = (PRED(0) & ~w->mask) | yes;
  return EV_NEXT;
}
HANDLER(first_ctaid) { /* the fourth element is undefined */
  const struct answer *v = SLOT(struct answer, 0);
  if (check(w, in, v, w->mask, true) != EV_NEXT) return EV_FAULT;
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t *d = ws_emu_slot(w, in->x[k]);
    for (uint32_t m = w->mask; m; m &= m - 1) d[__builtin_ctz(m)] = v[__builtin_ctz(m)].ctaid[k];
  }
  return EV_NEXT;
}
HANDLER(first_ctaid_one) { /* in->imm: the dimension */
  const struct answer *v = SLOT(struct answer, 1);
  uint32_t *d = SLOT(uint32_t, 0);
  if (check(w, in, v, w->mask, true) != EV_NEXT) return EV_FAULT;
  EACH_LANE(d[i] = v[i].ctaid[in->imm]);
}

emu_resolve LEVELLED(ws_emu_resolve_clc);
emu_fn *LEVELLED(ws_emu_resolve_clc)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".multicast::cluster::all")) in->u |= MULTICAST;
  if (ws_emu_has(u, ".try_cancel")) return b->space == SP_SHARED ? try_cancel_shared : NULL;
  if (ws_emu_has(u, ".is_canceled")) return is_canceled;
  if (ws_emu_has(u, ".get_first_ctaid")) return first_ctaid;
  in->imm = ws_emu_has(u, ".get_first_ctaid::z") ? 2 : ws_emu_has(u, ".get_first_ctaid::y");
  return first_ctaid_one;
}
