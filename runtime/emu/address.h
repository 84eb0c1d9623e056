/* Addresses of a warp's access to host pointers, every lane checked: alignment, and the bounds of what the address
 * points into. Shared by the memory, atomic and asynchronous handlers. */
#ifndef WS_EMU_ADDRESS_H
#define WS_EMU_ADDRESS_H
#include "engine.h"
#include "exec.h"
#include "memory.h"
#include "race.h"
#include "unwritten.h"

enum { ACCESS_READ = RACE_READ, ACCESS_WRITE = RACE_WRITE, ACCESS_STRONG = RACE_STRONG, ACCESS_UPDATE = 32 /* a write that reads, too */,
       ACCESS_PADDED = 64 /* not all of the bytes that are read are used */ };
struct access {
  uint8_t *p[LANES]; /* of the executing lanes */
};

/* The lanes' addresses: base register plus offset, 32-bit bases zero-extended. Offsets of 32-bit addresses wrap. */
static inline void lane_addresses(const struct warp *w, uint32_t slot, bool wide, int64_t imm, uint64_t a[LANES]) {
  if (wide) {
    const uint64_t *r = ws_emu_slot(w, slot);
    for (int i = 0; i < LANES; i++) a[i] = r[i] + (uint64_t)imm;
  } else {
    const uint32_t *r = ws_emu_slot(w, slot);
    for (int i = 0; i < LANES; i++) a[i] = (uint32_t)(r[i] + (uint32_t)imm);
  }
}

/* Executing lanes whose access of `bytes` (a power of two) does not lie aligned within [lo, hi). */
static inline uint32_t outside(const struct warp *w, const uint64_t a[LANES], uint64_t lo, uint64_t hi, uint32_t bytes) {
  int32_t bad[LANES];
  if (hi - lo < bytes) return w->mask;
  uint64_t last = hi - lo - bytes;
  for (int i = 0; i < LANES; i++) bad[i] = ((a[i] - lo > last) | ((a[i] & (bytes - 1)) != 0)) ? -1 : 0;
  return mask_of(bad) & w->mask;
}

static inline int window_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint64_t lo, uint64_t size, uint8_t *base,
                                uint32_t bytes, enum ptx_space space, int kind, struct access *out) {
  uint32_t bad = outside(w, a, lo, lo + size, bytes);
  if (__builtin_expect(bad != 0, 0)) {
    int i = __builtin_ctz(bad);
    return ws_emu_bad_address(w, in, i, space, a[i], bytes, kind & ACCESS_WRITE);
  }
  for (int i = 0; i < LANES; i++) out->p[i] = (uint8_t *)((uintptr_t)base + (uintptr_t)(a[i] - lo)); /* any value in idle lanes */
  return EV_NEXT;
}

/* Accesses within bounds, held against what has been written (unwritten.h). `owner`: whose shared memory, NULL: device memory. */
static inline int written_access(struct warp *w, const struct inst *in, struct cta *owner, const uint64_t a[LANES], uint32_t bytes, int kind) {
  uint8_t *map = owner ? owner->written : ws_emu_global_map.written;
  uint64_t lo = owner ? owner->shared_lo : ws_emu_global_map.base;
  if (!map) return EV_NEXT;
  if ((!(kind & (ACCESS_WRITE | ACCESS_PADDED)) || kind & ACCESS_UPDATE) && w->cta->written && __builtin_expect(!unwritten_none(w, map, lo, a, bytes), 0) &&
      ws_emu_unwritten_lanes(w, in, owner, a, bytes) != EV_NEXT)
    return EV_FAULT;
  if (kind & ACCESS_WRITE) unwritten_mark_lanes(w, map, lo, a, bytes);
  return EV_NEXT;
}

static inline int global_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint32_t bytes, int kind, struct access *out) {
  const struct mem_alloc *m = ws_emu_mem_find(a[__builtin_ctz(w->mask)]);
  for (int i = 0; i < LANES; i++) out->p[i] = (uint8_t *)(uintptr_t)a[i];
  if (__builtin_expect(m && !(m->read_only && kind & ACCESS_WRITE) && !outside(w, a, m->lo, m->hi, bytes), 1))
    return written_access(w, in, NULL, a, bytes, kind);
  for (uint32_t k = w->mask; k; k &= k - 1) { /* several allocations, or a fault */
    int i = __builtin_ctz(k);
    if ((a[i] & (bytes - 1)) || !ws_emu_mem_holds(a[i], bytes, kind & ACCESS_WRITE))
      return ws_emu_bad_address(w, in, i, SP_GLOBAL, a[i], bytes, kind & ACCESS_WRITE);
  }
  return written_access(w, in, NULL, a, bytes, kind);
}

/* PTX ISA "Data Movement and Conversion Instructions: ld": 32 bytes at once in global memory only; ptxas takes generic addresses, too. */
static inline int too_wide(struct warp *w, const struct inst *in, uint32_t bytes) {
  return WHO_FAULT(WHO(w, in, __builtin_ctz(w->mask)), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "accesses %u bytes at once outside of global memory", bytes);
}

static inline int local_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint32_t bytes, int kind, struct access *out) {
  if (__builtin_expect(bytes > 16, 0)) return too_wide(w, in, bytes);
  uint32_t size = w->cta->k->local_bytes;
  size_t stride = ws_emu_local_stride(w->cta->k);
  int ev = window_access(w, in, a, LOCAL_BASE, size, w->local, bytes, SP_LOCAL, kind, out);
  for (uint32_t i = 0; ev == EV_NEXT && i < LANES; i++) out->p[i] = (uint8_t *)((uintptr_t)out->p[i] + i * stride);
  return ev;
}

static inline int shared_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint32_t bytes, int kind, struct access *out) {
  struct cta *c = w->cta;
  if (__builtin_expect(bytes > 16, 0)) return too_wide(w, in, bytes);
  int ev = window_access(w, in, a, c->shared_lo, c->shared_size, c->shared, bytes, SP_SHARED, kind, out);
  if (ev == EV_NEXT && c->race) ev = ws_emu_race_lanes(w, in, c, BY_WARP, a, bytes, kind & RACE_HOW);
  return ev == EV_NEXT ? written_access(w, in, c, a, bytes, kind) : ev;
}

/* Shared memory of the cluster's CTAs, which may differ from lane to lane. */
static inline int cluster_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint32_t bytes, int kind, struct access *out) {
  const struct cta *c = w->cta;
  if (!outside(w, a, c->shared_lo, (uint64_t)c->shared_lo + c->shared_size, bytes))
    return shared_access(w, in, a, bytes, kind, out);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint32_t offset = 0;
    if (a[i] >> 32) return ws_emu_bad_address(w, in, i, SP_SHARED, a[i], bytes, kind & ACCESS_WRITE);
    struct cta *peer = ws_emu_peer(WHO(w, in, i), (uint32_t)a[i], bytes, kind & ACCESS_WRITE, &offset);
    if (!peer) return EV_FAULT;
    if (!(kind & (ACCESS_WRITE | ACCESS_PADDED)) && ws_emu_unwritten_range(WHO(w, in, i), peer, offset, bytes) != EV_NEXT) return EV_FAULT;
    out->p[i] = peer->shared + offset;
    if (ws_emu_race_lane(WHO(w, in, i), peer, offset, bytes, kind & RACE_HOW) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

/* "Addresses are .. truncated if the register width exceeds the state space address width" (Addresses as Operands): a generic address
 * of shared memory serves where a shared address is asked for. Other high bits come from no address and are left, to be a fault. */
static inline uint64_t narrow_shared(uint64_t a) { return (a & WINDOW_MASK) == WINDOW_SHARED ? a & ~WINDOW_MASK : a; }

static inline int space_access(struct warp *w, const struct inst *in, enum ptx_space space, const uint64_t a[LANES], uint32_t bytes, int kind,
                               struct access *out) {
  struct cta *c = w->cta;
  switch (space) {
    case SP_SHARED: return shared_access(w, in, a, bytes, kind, out);
    case SP_CLUSTER: return cluster_access(w, in, a, bytes, kind, out);
    case SP_LOCAL: return local_access(w, in, a, bytes, kind, out);
    case SP_PARAM:
      if (kind & ACCESS_WRITE) return ws_emu_bad_address(w, in, __builtin_ctz(w->mask), SP_PARAM, a[__builtin_ctz(w->mask)], bytes, true);
      return window_access(w, in, a, 0, c->k->func->param_bytes, (uint8_t *)(uintptr_t)c->grid->l->params, bytes, SP_PARAM, kind, out);
    default: return global_access(w, in, a, bytes, kind, out);
  }
}

static inline enum ptx_space space_of_window(uint64_t window) {
  return window == WINDOW_SHARED ? SP_CLUSTER : window == WINDOW_LOCAL ? SP_LOCAL : window == WINDOW_PARAM ? SP_PARAM : SP_GLOBAL;
}

/* Generic addresses: each window's lanes in turn. */
static inline int generic_access(struct warp *w, const struct inst *in, const uint64_t a[LANES], uint32_t bytes, int kind, struct access *out) {
  uint32_t rest = w->mask, all = w->mask;
  int ev = EV_NEXT;
  while (rest && ev == EV_NEXT) {
    uint64_t window = a[__builtin_ctz(rest)] & WINDOW_MASK, at[LANES];
    struct access part;
    w->mask = 0;
    for (int i = 0; i < LANES; i++) {
      if ((rest >> i & 1) && (a[i] & WINDOW_MASK) == window) w->mask |= 1u << i;
      at[i] = space_of_window(window) == SP_GLOBAL ? a[i] : a[i] & ~WINDOW_MASK;
    }
    ev = space_access(w, in, space_of_window(window), at, bytes, kind, &part);
    for (uint32_t m = w->mask; m; m &= m - 1) out->p[__builtin_ctz(m)] = part.p[__builtin_ctz(m)];
    rest &= ~w->mask;
  }
  w->mask = all;
  return ev;
}

/* The instruction's first address (o[slot], imm). `space` is a constant of the instruction. */
static inline int access_lanes(struct warp *w, const struct inst *in, int slot, enum ptx_space space, uint32_t bytes, int kind,
                               struct access *out) {
  uint64_t a[LANES];
  lane_addresses(w, in->o[slot], in->u & A1_WIDE, in->imm, a);
  if ((space == SP_SHARED || space == SP_CLUSTER) && (in->u & A1_WIDE))
    for (int i = 0; i < LANES; i++) a[i] = narrow_shared(a[i]);
  if (space == SP_GENERIC) return generic_access(w, in, a, bytes, kind, out);
  return space_access(w, in, space, a, bytes, kind, out);
}

/* The 32-bit shared address behind `a`, given in `space` or generic; `bytes` only for the message. False after a fault. */
static inline bool any_shared(struct who who, uint64_t a, enum ptx_space space, uint32_t bytes, uint32_t *address) {
  uint64_t window = space == SP_GENERIC ? WINDOW_SHARED : 0;
  *address = (uint32_t)a;
  if ((window ? a : narrow_shared(a)) == (window | *address)) return true;
  ws_emu_bad_address(who.w, who.in, who.lane, space == SP_GENERIC ? SP_GENERIC : SP_SHARED, a, bytes, true);
  return false;
}
/* The same where only the CTA's own shared memory will do, unless the space is shared::cluster. */
static inline bool own_shared(struct who who, uint64_t a, enum ptx_space space, uint32_t bytes, uint32_t *address) {
  if (!any_shared(who, a, space, bytes, address)) return false;
  if (space == SP_CLUSTER || *address >> RANK_SHIFT == who.w->cta->rank) return true;
  ws_emu_bad_address(who.w, who.in, who.lane, SP_SHARED, *address, bytes, true);
  return false;
}

static inline void count_access(struct warp *w, enum ptx_space space, uint32_t bytes, int kind) {
  uint64_t n = (uint64_t)bytes * (uint64_t)__builtin_popcount(w->mask);
  if (space == SP_SHARED || space == SP_CLUSTER) *(kind & ACCESS_WRITE ? &w->stats.shared_written : &w->stats.shared_read) += n;
  if (space == SP_GLOBAL || space == SP_GENERIC) *(kind & ACCESS_WRITE ? &w->stats.global_written : &w->stats.global_read) += n;
}
#endif
