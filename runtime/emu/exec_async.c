/* PTX ISA "Data Movement and Conversion Instructions": cp.async and its groups.
 *
 * A copy either happens when it is issued or, after its destination has been poisoned, when a wait covers its group:
 * the schedule option decides, a group at a time. Groups are counted for each thread. An arrival that waits for copies is
 * an agent (engine.h). */
#include "address.h"
#include "trace.h"
#include <stdlib.h>

enum { SEL_SIZE = 4, SEL_IGNORE = 8 }; /* in->u: o[2] is a source size, an ignore-src predicate */
enum { POISON = 0x7ff5 };              /* a NaN in f32, f16 and bf16 */

static bool at_once(const struct warp *w, uint32_t group) {
  const struct emu_options *o = &w->cta->grid->l->options;
  if (o->schedule != SCHED_RANDOM) return o->schedule == SCHED_EARLY;
  uint64_t h = o->seed ^ ((uint64_t)w->cta->linear << 32 | w->index << 24 | (group & 0xffffff));
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h >> 40 & 1;
}

static inline uint8_t *shared_at(const struct warp *w, uint32_t address) { return w->cta->shared + (address - w->cta->shared_lo); }

static void perform(struct warp *w, const struct copy *c, int i) {
  uint8_t *to = shared_at(w, c->dst[i]);
  uint32_t n = c->count[i];
  if (n == 16) { /* sizes the compiler can open-code */
    memcpy(to, (const void *)(uintptr_t)c->src[i], 16);
    return;
  }
  memcpy(to, (const void *)(uintptr_t)c->src[i], n);
  memset(to + n, 0, c->bytes - n);
}

static void poison(struct warp *w, const struct copy *c, int i) {
  uint16_t v = POISON;
  for (uint32_t k = 0; k < c->bytes; k += 2) memcpy(shared_at(w, c->dst[i]) + k, &v, 2);
}

/* Checks every lane's destination and source; fills c. */
static int prepare(struct warp *w, const struct inst *in, struct copy *c) {
  uint64_t dst[LANES];
  uint32_t bytes = in->n;
  const struct cta *cta = w->cta;
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, dst);
  lane_addresses(w, in->o[1], true, in->imm2, c->src);
  uint32_t bad = outside(w, dst, cta->shared_lo, (uint64_t)cta->shared_lo + cta->shared_size, bytes);
  if (bad) return ws_emu_bad_address(w, in, __builtin_ctz(bad), SP_SHARED, dst[__builtin_ctz(bad)], bytes, true);
  if (cta->race && ws_emu_race_lanes(w, in, w->cta, BY_CP_ASYNC, dst, bytes, RACE_WRITE) != EV_NEXT) return EV_FAULT;
  if (cta->written) unwritten_mark_lanes(w, cta->written, cta->shared_lo, dst, bytes);
  c->bytes = (uint8_t)bytes;
  c->number = w->copies_issued++;
  c->in = in;
  c->mask = w->mask;
  for (int i = 0; i < LANES; i++) c->dst[i] = (uint32_t)dst[i];
  const uint32_t *size = in->u & SEL_SIZE ? SLOT(uint32_t, 2) : NULL;
  uint32_t ignore = in->u & SEL_IGNORE ? SRC_PRED(2) : 0;
  uint32_t whole = 0;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    c->count[i] = ignore >> i & 1 ? 0 : size ? size[i] : bytes;
    if (c->count[i] > bytes)
      return ws_emu_fault(w, in, i, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives source size %u for a copy of %u bytes", c->count[i], bytes);
    if (c->count[i] == bytes) whole |= 1u << i;
  }
  const struct mem_alloc *a = whole ? ws_emu_mem_find(c->src[__builtin_ctz(whole)]) : NULL;
  if (whole == w->mask && a && !outside(w, c->src, a->lo, a->hi, bytes))
    return written_access(w, in, NULL, c->src, bytes, ACCESS_READ);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (c->count[i] && ((c->src[i] & (bytes - 1)) || !ws_emu_mem_holds(c->src[i], c->count[i], false)))
      return ws_emu_bad_address(w, in, i, SP_GLOBAL, c->src[i], bytes, false);
    if (c->count[i] && ws_emu_unwritten_range(WHO(w, in, i), NULL, c->src[i], c->count[i]) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

static struct copy *new_copy(struct warp *w) {
  if (w->ncopies == w->cap_copies) {
    size_t cap = w->cap_copies ? w->cap_copies * 2 : 16;
    struct copy *grown = realloc(w->copies, cap * sizeof *grown);
    if (!grown) return NULL;
    w->copies = grown;
    w->cap_copies = cap;
  }
  return &w->copies[w->ncopies];
}

HANDLER(cp_async) {
  struct copy *c = new_copy(w);
  if (!c) return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its copies");
  int ev = prepare(w, in, c);
  if (ev != EV_NEXT) return ev;
  TRACE(w, in, NOTHING(COPY), .amount = (uint64_t)in->n * (uint32_t)__builtin_popcount(w->mask));
  count_access(w, SP_GLOBAL, in->n, ACCESS_READ);
  count_access(w, SP_SHARED, in->n, ACCESS_WRITE);
  uint32_t rest = w->mask;
  while (rest) { /* lanes whose group has the same number share an entry: nearly always all */
    uint32_t group = w->groups[__builtin_ctz(rest)], same = 0;
    for (uint32_t m = rest; m; m &= m - 1) same |= w->groups[__builtin_ctz(m)] == group ? m & -m : 0;
    rest &= ~same;
    bool now = at_once(w, group);
    for (uint32_t m = same; m; m &= m - 1) (now ? perform : poison)(w, c, __builtin_ctz(m));
    c->mask = same;
    c->group = group;
    if (now) continue;
    w->ncopies++;
    if (!rest) break;
    struct copy *next = new_copy(w);
    if (!next) return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its copies");
    *next = w->copies[w->ncopies - 1];
    c = next;
  }
  return EV_NEXT;
}

HANDLER(commit_group) {
  ws_emu_race_copies_committed(w);
  for (uint32_t m = w->mask; m; m &= m - 1) w->groups[__builtin_ctz(m)]++;
  TRACE(w, in, NOTHING(COPY_COMMIT));
  return EV_NEXT;
}

/* Performs the copies of executing lanes that are older than the newest `keep` groups; all: also those not committed. */
static void complete(struct warp *w, uint64_t keep, bool all) {
  size_t left = 0;
  for (size_t k = 0; k < w->ncopies; k++) {
    struct copy *c = &w->copies[k];
    for (uint32_t m = c->mask & w->mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      if (!all && (uint64_t)c->group + keep >= w->groups[i]) continue;
      perform(w, c, i);
      c->mask &= ~(1u << i);
    }
    if (c->mask && left++ != k) w->copies[left - 1] = *c;
  }
  w->ncopies = left;
}

/* ---- cp.async.mbarrier.arrive: an arrival once the copies that a thread has issued so far are there ---- */
struct arrival {
  uint32_t mask;
  uint64_t before; /* copies with lower numbers */
  struct mbar_ref to[LANES];
};

static enum agent_step arrive(struct agent *a) {
  struct arrival *v = (struct arrival *)(void *)a->payload;
  struct warp *w = a->who.w;
  size_t left = 0;
  for (size_t k = 0; k < w->ncopies; k++) {
    struct copy *c = &w->copies[k];
    uint32_t due = c->number < v->before ? c->mask & v->mask : 0;
    for (uint32_t m = due; m; m &= m - 1) perform(w, c, __builtin_ctz(m));
    c->mask &= ~due;
    if (c->mask && left++ != k) w->copies[left - 1] = *c;
  }
  w->ncopies = left;
  for (uint32_t m = v->mask; m; m &= m - 1) {
    struct who who = {w, a->who.in, __builtin_ctz(m)};
    ws_emu_race_mbar_arrive_late(who, v->to[who.lane], a->clock);
    if (ws_emu_mbar_arrive(who, v->to[who.lane], 1) != EV_NEXT) return AGENT_FAULT;
  }
  return AGENT_DONE;
}

/* in->imm2: .noinc, without which the arrival does not count among those that the barrier expects */
HANDLER(mbarrier_arrive) {
  uint64_t at[LANES];
  struct agent *a = ws_emu_agent_new(WHO(w, in, __builtin_ctz(w->mask)), sizeof(struct arrival), arrive);
  if (!a) return EV_FAULT;
  struct arrival *v = (struct arrival *)(void *)a->payload;
  *v = (struct arrival){.mask = w->mask, .before = w->copies_issued};
  a->clock = ws_emu_race_copies_arrive(w);
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, at);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    struct who who = {w, in, __builtin_ctz(m)};
    uint32_t address = 0;
    if (!own_shared(who, at[who.lane], (enum ptx_space)(in->u >> 4), 8, &address) || !ws_emu_mbar_at(who, address, &v->to[who.lane]) ||
        ws_emu_race_mbar_used(who, v->to[who.lane], ws_emu_mbar_get(who, v->to[who.lane])) != EV_NEXT ||
        (!in->imm2 && ws_emu_mbar_add_pending(who, v->to[who.lane]) != EV_NEXT)) {
      ws_emu_agent_free(a);
      return EV_FAULT;
    }
    a->signal = v->to[who.lane];
    TRACE(w, in, .kind = WSEMU_COPY_ARRIVE, .object = ws_emu_mbar_name(a->signal), .target = a->signal.cta->rank, .count = 1, .lanes = 1u << who.lane);
  }
  return ws_emu_agent_issue(a);
}

HANDLER(wait_group) {
  ws_emu_race_copies_waited(w, (uint32_t)in->imm, false);
  complete(w, (uint64_t)in->imm, false);
  TRACE(w, in, .kind = WSEMU_COPY_WAIT, .object = WSEMU_NO_OBJECT, .count = (uint32_t)in->imm);
  return EV_NEXT;
}
HANDLER(wait_all) {
  ws_emu_race_copies_waited(w, 0, true);
  complete(w, 0, true);
  TRACE(w, in, .kind = WSEMU_COPY_WAIT, .object = WSEMU_NO_OBJECT, .count = 0);
  return EV_NEXT;
}

emu_fn *LEVELLED(ws_emu_resolve_async)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".arrive")) {
    in->u |= (uint8_t)(b->space << 4);
    in->imm2 = ws_emu_has(u, ".noinc");
    return mbarrier_arrive;
  }
  if (ws_emu_has(u, ".commit_group")) return commit_group;
  if (ws_emu_has(u, ".wait_all")) return wait_all;
  if (ws_emu_has(u, ".wait_group")) return in->imm < 0 ? NULL : wait_group;
  if (in->n != 16 && (ws_emu_has(u, ".cg") || (in->n != 4 && in->n != 8))) return NULL;
  if (in->o[2] != NO_SLOT) in->u |= b->src_pred ? SEL_IGNORE : SEL_SIZE;
  return cp_async;
}
