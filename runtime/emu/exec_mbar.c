/* PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier". The objects are in mbar.c; lanes go one after
 * the other, in lane order.
 *
 * A wait that fails blocks its path until the phase is over (test_wait too: it may come late). It fails at last when nothing
 * else in the cluster can go on, and under the random schedule now and then. */
#include "address.h"
#include "trace.h"

/* in->u: bits 0 address width, 4..6 the space; in->w: enum mbar_what; in->n: MB_EXPECT .. */
#define SPACE(in) ((enum ptx_space)((in)->u >> 4))
enum { MB_EXPECT = 1, MB_KEEP = 2, MB_DROP = 4, MB_PARITY = 8, MB_CLUSTER = 16 /* scope */, MB_RELAXED = 32 };

static const uint32_t *words(const struct warp *w, const struct inst *in, int i) { return (const uint32_t *)ws_emu_slot(w, in->o[i]); }
static uint32_t name_at(const struct warp *w, uint32_t address) { /* of an mbarrier of its own CTA */
  return ws_emu_mbar_name((struct mbar_ref){w->cta, address - w->cta->shared_lo});
}

static int at(struct who who, const uint64_t a[LANES], struct mbar_ref *ref) {
  uint32_t address;
  if (!own_shared(who, a[who.lane], SPACE(who.in), 8, &address) || !ws_emu_mbar_at(who, address, ref)) return EV_FAULT;
  return who.w->race ? ws_emu_race_mbar_used(who, *ref, ws_emu_mbar_get(who, *ref)) : EV_NEXT;
}

/* Runs the statement for each executing lane's thread `who`; `address` holds its own shared address. */
#define EACH_OWN(...)                                                                                                 \
  do {                                                                                                                \
    uint64_t a_[LANES];                                                                                               \
    lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a_);                                                        \
    for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1) {                                                                   \
      struct who who = {w, in, __builtin_ctz(m_)};                                                                    \
      uint32_t address;                                                                                               \
      if (!own_shared(who, a_[who.lane], SPACE(in), 8, &address)) return EV_FAULT;                                    \
      if ((__VA_ARGS__) != EV_NEXT) return EV_FAULT;                                                                  \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  } while (0)
static int set_up(struct who who, uint32_t address) {
  struct warp *w = who.w;
  uint32_t count = words(who.w, who.in, 1)[who.lane];
  TRACE(w, who.in, .kind = WSEMU_MBAR_INIT, .object = name_at(w, address), .target = w->cta->rank, .count = count, .lanes = 1u << who.lane);
  return ws_emu_mbar_init(who, address, count);
}
static int put_away(struct who who, uint32_t address) {
  struct warp *w = who.w;
  TRACE(w, who.in, .kind = WSEMU_MBAR_INVAL, .object = name_at(w, address), .target = w->cta->rank, .count = WSEMU_NO_COUNT, .lanes = 1u << who.lane);
  return ws_emu_mbar_inval(who, address);
}
HANDLER(init) { EACH_OWN(set_up(who, address)); }
HANDLER(inval) { EACH_OWN(put_away(who, address)); }

static int tx(struct warp *w, const struct inst *in, int (*change)(struct who, struct mbar_ref, uint32_t)) {
  uint64_t a[LANES];
  struct trace_arrivals t = {.n = 0};
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    struct who who = {w, in, __builtin_ctz(m)};
    struct mbar_ref ref;
    if (at(who, a, &ref) != EV_NEXT) return EV_FAULT;
    ws_emu_race_mbar_arrive(who, ref, in->n & MB_CLUSTER, true); /* with a fence before it, it releases */
    if (change(who, ref, SLOT(uint32_t, 1)[who.lane]) != EV_NEXT) return EV_FAULT;
    if (ws_emu_traced(w) && change == ws_emu_mbar_expect_tx)
      trace_arrival(&t, (uint32_t)who.lane, &(struct wsemu_event){.kind = WSEMU_MBAR_EXPECT, .object = ws_emu_mbar_name(ref), .target = ref.cta->rank,
                                                                  .count = 0, .amount = SLOT(uint32_t, 1)[who.lane]});
  }
  for (uint32_t k = 0; k < t.n; k++) ws_emu_trace(w, in, t.e[k]);
  return EV_NEXT;
}
HANDLER(expect_tx) { return tx(w, in, ws_emu_mbar_expect_tx); }
HANDLER(complete_tx) { return tx(w, in, ws_emu_mbar_complete_tx); }

/* One thread's arrive: [state,] address {, count or bytes}. */
static uint32_t operand(struct who who) { return who.in->o[2] == NO_SLOT ? 1 : words(who.w, who.in, 2)[who.lane]; }
static uint32_t arrivals(struct who who) { return who.in->n & MB_EXPECT ? 1 : operand(who); }
static int arrive_one(struct who who, struct mbar_ref ref, uint64_t *state) {
  const struct inst *in = who.in;
  struct warp *w = who.w;
  uint32_t value = operand(who), count = arrivals(who);
  const struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b) return EV_FAULT;
  *state = ws_emu_mbar_state(b);
  if (in->n & MB_EXPECT && ws_emu_mbar_expect_tx(who, ref, value) != EV_NEXT) return EV_FAULT;
  if (in->n & MB_KEEP && count == b->pending && !b->tx)
    return ws_emu_fault(w, in, who.lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "completes phase %u of an mbarrier with a .noComplete arrival", b->phase);
  ws_emu_race_mbar_arrive(who, ref, in->n & MB_CLUSTER, in->n & MB_RELAXED);
  return (in->n & MB_DROP ? ws_emu_mbar_drop : ws_emu_mbar_arrive)(who, ref, count);
}
HANDLER(arrive) {
  uint64_t a[LANES], state[LANES] = {0};
  struct trace_arrivals t = {.n = 0};
  bool good = true;
  lane_addresses(w, in->o[1], in->u & A1_WIDE, in->imm, a);
  __atomic_thread_fence(__ATOMIC_RELEASE); /* cluster scope stays on this host thread; a wider one may follow from it */
  for (uint32_t m = w->mask; m && good; m &= m - 1) {
    struct who who = {w, in, __builtin_ctz(m)};
    struct mbar_ref ref;
    if (at(who, a, &ref) != EV_NEXT) return EV_FAULT;
    if (ws_emu_traced(w)) trace_arrival(&t, (uint32_t)who.lane, &(struct wsemu_event){.kind = WSEMU_MBAR_ARRIVE, .object = ws_emu_mbar_name(ref), .target = ref.cta->rank,
                                                                                      .count = arrivals(who), .amount = in->n & MB_EXPECT ? operand(who) : 0});
    good = arrive_one(who, ref, &state[who.lane]) == EV_NEXT;
  }
  for (uint32_t k = 0; k < t.n; k++) ws_emu_trace(w, in, t.e[k]);
  if (!good) return EV_FAULT;
  if (in->o[0] == NO_SLOT) return EV_NEXT;
  uint64_t *d = SLOT(uint64_t, 0);
  EACH_LANE(d[i] = state[i]);
}

/* Whether the phase that the thread names is over, or EV_FAULT. */
static int is_over(struct who who, const struct mbar *b, bool *over) {
  const struct inst *in = who.in;
  struct warp *w = who.w;
  if (in->n & MB_PARITY) {
    uint32_t parity = SLOT(uint32_t, 2)[who.lane];
    if (parity > 1) return ws_emu_fault(w, in, who.lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "waits for phase parity %u: 0 or 1 is needed", parity);
    *over = (b->phase & 1) != parity;
    return EV_NEXT;
  }
  uint64_t state = SLOT(uint64_t, 2)[who.lane];
  uint32_t behind = b->phase - (uint32_t)(state >> 32);
  if ((state >> 20 & 0xfff) != 0xb00)
    return ws_emu_fault(w, in, who.lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "waits with 0x%llx, which is no state that an arrive returned", (unsigned long long)state);
  if (behind > 1)
    return ws_emu_fault(w, in, who.lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                        "waits for phase %u of an mbarrier in phase %u: only this one and the one before it are known", (uint32_t)(state >> 32), b->phase);
  *over = behind == 1;
  return EV_NEXT;
}

/* Lanes whose wait has passed, or (MBAR_TRY) has not: the parity of the phase that they wait for. */
static void told(struct warp *w, const struct inst *in, enum wsemu_event_kind kind, struct mbar *const bars[LANES], uint32_t lanes) {
  struct trace_arrivals t = {.n = 0};
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(m);
    struct wsemu_event e = {.kind = kind, .object = ws_emu_mbar_name((struct mbar_ref){w->cta, bars[lane]->offset}), .target = w->cta->rank,
                            .parity = (bars[lane]->phase + (kind == WSEMU_MBAR_WAIT)) & 1};
    trace_arrival(&t, lane, &e);
  }
  for (uint32_t k = 0; k < t.n; k++) t.e[k].count = WSEMU_NO_COUNT, ws_emu_trace(w, in, t.e[k]);
}

HANDLER(wait) {
  uint64_t a[LANES];
  uint32_t done = 0;
  struct mbar *bars[LANES] = {NULL};
  lane_addresses(w, in->o[1], in->u & A1_WIDE, in->imm, a);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    struct who who = {w, in, __builtin_ctz(m)};
    struct mbar_ref ref;
    bool over = false;
    if (at(who, a, &ref) != EV_NEXT) return EV_FAULT;
    if (ref.cta != w->cta) return ws_emu_fault(w, in, who.lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "waits for an mbarrier of another CTA");
    bars[who.lane] = ws_emu_mbar_get(who, ref);
    if (is_over(who, bars[who.lane], &over) != EV_NEXT) return EV_FAULT;
    done |= (uint32_t)over << who.lane;
    if (over) ws_emu_race_mbar_waited(w, bars[who.lane], in->n & MB_RELAXED);
  }
  bool fails = w->expired || (w->cta->grid->l->options.schedule == SCHED_RANDOM && ws_emu_random(w->cta->cluster, 4) == 0);
  if (!done && ws_emu_traced(w)) told(w, in, WSEMU_MBAR_TRY, bars, w->mask);
  if (!done && !fails) {
    for (uint32_t m = w->mask; m; m &= m - 1) bars[__builtin_ctz(m)]->waiting |= 1u << w->index;
    return ws_emu_path_wait(w, in);
  }
  if (!done) w->expired = false;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  PRED(0) = (PRED(0) & ~w->mask) | done;
  if (done && ws_emu_traced(w)) told(w, in, WSEMU_MBAR_WAIT, bars, done);
  return EV_NEXT;
}

HANDLER(pending_count) {
  const uint64_t *s = SLOT(uint64_t, 1);
  uint32_t *d = SLOT(uint32_t, 0);
  EACH_LANE(d[i] = (uint32_t)s[i] & MBAR_MAX);
}

emu_fn *LEVELLED(ws_emu_resolve_mbar)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".pending_count")) return pending_count;
  in->u |= (uint8_t)(b->space << 4);
  if (ws_emu_has(u, ".init")) return init;
  if (ws_emu_has(u, ".inval")) return inval;
  if (ws_emu_has(u, ".complete_tx")) return complete_tx;
  bool drop = ws_emu_has(u, ".arrive_drop");
  in->n = (uint8_t)((ws_emu_has(u, ".expect_tx") ? MB_EXPECT : 0) | (ws_emu_has(u, ".noComplete") ? MB_KEEP : 0) | (drop ? MB_DROP : 0) |
                    (ws_emu_has(u, ".parity") ? MB_PARITY : 0) | (ws_emu_has(u, ".cluster") ? MB_CLUSTER : 0) | (ws_emu_has(u, ".relaxed") ? MB_RELAXED : 0));
  if (drop || ws_emu_has(u, ".arrive")) return arrive;
  return ws_emu_has(u, ".expect_tx") ? expect_tx : wait;
}
