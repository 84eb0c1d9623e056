/* Exchange between the lanes of a warp. PTX ISA "shfl.sync", "vote.sync", "match.sync", "redux.sync", "activemask",
 * "elect.sync", "bar.warp.sync". */
#include "exec.h"
#include "trace.h"

enum { NOT_EXECUTING = 0x7fc0dead }; /* what a shuffle reads from a lane that does not take part: undefined in the ISA */

/* The member mask in o[slot]; gathers those lanes. Lanes with other masks, groups of their own, do it one group after the other. Forms without .sync have none: the lanes that
 * happen to execute together take part. */
static int members(struct warp *w, const struct inst *in, int slot) {
  if (in->o[slot] == NO_SLOT) return EV_NEXT;
  const uint32_t *r = SLOT(uint32_t, slot);
  uint32_t mask = r[__builtin_ctz(w->mask)];
  if (w->mask == ALL_LANES && mask == ALL_LANES) return EV_NEXT;
  uint32_t group = 0;
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (r[__builtin_ctz(m)] == mask) group |= m & -m;
  if (group != w->mask) return ws_emu_apart(w, in, group);
  return ws_emu_gather(w, in, mask);
}
#define GATHER(slot)                                                                                                  \
  do {                                                                                                                \
    int ev_ = members(w, in, slot);                                                                                   \
    if (ev_ != EV_NEXT) return ev_;                                                                                   \
  } while (0)
static inline void put_pred(struct warp *w, uint32_t slot, uint32_t v) {
  if (slot == NO_SLOT) return;
  uint32_t *p = ws_emu_slot(w, slot);
  *p = (*p & ~w->mask) | (v & w->mask);
}

/* ---- shfl: d|p, a, b, c, mask ---- */
enum { UP, DOWN, BFLY, IDX };
HANDLER(shfl) {
  GATHER(5);
  uint32_t *d = SLOT(uint32_t, 0), src[LANES], p = 0;
  const uint32_t *b = SLOT(uint32_t, 3), *c = SLOT(uint32_t, 4);
  memcpy(src, SLOT(uint32_t, 2), sizeof src);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m), bv = (int)(b[i] & 31), cv = (int)(c[i] & 31), seg = (int)(c[i] >> 8 & 31);
    int max = (i & seg) | (cv & ~seg), min = i & seg, j;
    bool ok;
    switch (in->imm) {
      case UP: j = i - bv; ok = j >= max; break;
      case DOWN: j = i + bv; ok = j <= max; break;
      case BFLY: j = i ^ bv; ok = j <= max; break;
      default: j = min | (bv & ~seg); ok = j <= max; break;
    }
    if (!ok) j = i;
    d[i] = w->mask >> j & 1 ? src[j] : NOT_EXECUTING;
    p |= (uint32_t)ok << i;
  }
  put_pred(w, in->o[1], p);
  return EV_NEXT;
}

/* ---- vote: d, p, mask ---- */
HANDLER(vote_all) {
  GATHER(2);
  put_pred(w, in->o[0], (SRC_PRED(1) & w->mask) == w->mask ? ALL_LANES : 0);
  return EV_NEXT;
}
HANDLER(vote_any) {
  GATHER(2);
  put_pred(w, in->o[0], SRC_PRED(1) & w->mask ? ALL_LANES : 0);
  return EV_NEXT;
}
HANDLER(vote_uni) {
  GATHER(2);
  uint32_t v = SRC_PRED(1) & w->mask;
  put_pred(w, in->o[0], v == w->mask || !v ? ALL_LANES : 0);
  return EV_NEXT;
}
HANDLER(ballot) {
  GATHER(2);
  uint32_t *d = SLOT(uint32_t, 0), v = SRC_PRED(1) & w->mask;
  EACH_LANE(d[i] = v);
}

/* ---- match: d, a, mask and d|p, a, mask ---- */
static inline uint64_t match_value(const struct warp *w, uint32_t slot, uint32_t bytes, int i) {
  uint64_t v = 0;
  memcpy(&v, w->regs + slot + (uint32_t)i * bytes, bytes);
  return v;
}
HANDLER(match_any) {
  GATHER(2);
  uint32_t *d = SLOT(uint32_t, 0), r[LANES] = {0};
  for (uint32_t m = w->mask; m; m &= m - 1)
    for (uint32_t k = w->mask; k; k &= k - 1) {
      int i = __builtin_ctz(m), j = __builtin_ctz(k);
      if (match_value(w, in->o[1], in->w, i) == match_value(w, in->o[1], in->w, j)) r[i] |= 1u << j;
    }
  EACH_LANE(d[i] = r[i]);
}
HANDLER(match_all) {
  GATHER(3);
  uint32_t *d = SLOT(uint32_t, 0);
  bool all = true;
  int first = __builtin_ctz(w->mask);
  for (uint32_t m = w->mask; m; m &= m - 1)
    all &= match_value(w, in->o[2], in->w, first) == match_value(w, in->o[2], in->w, __builtin_ctz(m));
  put_pred(w, in->o[1], all ? ALL_LANES : 0);
  EACH_LANE(d[i] = all ? w->mask : 0);
}

/* ---- redux: d, a, mask ---- */
enum { ADD, MIN_U, MAX_U, MIN_S, MAX_S, AND, OR, XOR };
HANDLER(redux) {
  GATHER(2);
  const uint32_t *a = SLOT(uint32_t, 1);
  uint32_t *d = SLOT(uint32_t, 0), r = a[__builtin_ctz(w->mask)];
  for (uint32_t m = w->mask & (w->mask - 1); m; m &= m - 1) {
    uint32_t v = a[__builtin_ctz(m)];
    switch (in->imm) {
      case ADD: r += v; break;
      case MIN_U: r = v < r ? v : r; break;
      case MAX_U: r = v > r ? v : r; break;
      case MIN_S: r = (int32_t)v < (int32_t)r ? v : r; break;
      case MAX_S: r = (int32_t)v > (int32_t)r ? v : r; break;
      case AND: r &= v; break;
      case OR: r |= v; break;
      default: r ^= v; break;
    }
  }
  EACH_LANE(d[i] = r);
}

/* .f32: in->imm bits MAX, ABS, NAN. A NaN gives way to numbers unless .NaN asks for it. */
enum { F_MAX = 1, F_ABS = 2, F_NAN = 4 };
HANDLER(redux_f) {
  GATHER(2);
  const uint32_t *a = SLOT(uint32_t, 1);
  uint32_t *d = SLOT(uint32_t, 0), clear = in->imm & F_ABS ? 0x7fffffffu : UINT32_MAX;
  float r = NAN;
  bool nan = false;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    float v = u2f(a[__builtin_ctz(m)] & clear);
    nan |= v != v;
    bool better = v == r ? (f2u(v) >> 31) != (uint32_t)(in->imm & F_MAX) : (v < r) == !(in->imm & F_MAX);
    if (v == v && (r != r || better)) r = v;
  }
  if (nan && in->imm & F_NAN) r = NAN;
  uint32_t bits = f2u(canon(r));
  EACH_LANE(d[i] = bits);
}

HANDLER(activemask) {
  uint32_t *d = SLOT(uint32_t, 0), v = w->mask;
  EACH_LANE(d[i] = v);
}

/* elect: d|p, mask. The lowest executing member is the leader. */
HANDLER(elect) {
  GATHER(2);
  uint32_t *d = SLOT(uint32_t, 0), leader = (uint32_t)__builtin_ctz(w->mask);
  put_pred(w, in->o[1], 1u << leader);
  EACH_LANE(d[i] = leader);
}

HANDLER(warp_sync) {
  GATHER(0);
  TRACE(w, in, NOTHING(WARP_SYNC));
  return EV_NEXT;
}

emu_fn *LEVELLED(ws_emu_resolve_warp)(struct bind *b) {
  static const struct { const char *mod; int64_t mode; } modes[] = {{".up", UP}, {".down", DOWN}, {".bfly", BFLY}, {".idx", IDX}};
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  const char *m = u->row->mnemonic;
  if (!strcmp(m, "shfl")) {
    for (int i = 0; i < 4; i++)
      if (ws_emu_has(u, modes[i].mod)) in->imm = modes[i].mode;
    return shfl;
  }
  if (!strcmp(m, "vote"))
    return ws_emu_has(u, ".all") ? vote_all : ws_emu_has(u, ".any") ? vote_any : ws_emu_has(u, ".uni") ? vote_uni : ballot;
  if (!strcmp(m, "match")) {
    in->w = (uint8_t)(ws_emu_types[u->type[0]].bits / 8);
    return ws_emu_has(u, ".any") ? match_any : match_all;
  }
  if (!strcmp(m, "redux")) {
    bool s = u->type[0] == T_S32;
    if (u->type[0] == T_F32) {
      in->imm = (ws_emu_has(u, ".max") ? F_MAX : 0) | (ws_emu_has(u, ".abs") ? F_ABS : 0) | (ws_emu_has(u, ".NaN") ? F_NAN : 0);
      return redux_f;
    }
    in->imm = ws_emu_has(u, ".add") ? ADD : ws_emu_has(u, ".min") ? (s ? MIN_S : MIN_U) : ws_emu_has(u, ".max") ? (s ? MAX_S : MAX_U)
              : ws_emu_has(u, ".and") ? AND : ws_emu_has(u, ".or") ? OR : XOR;
    return redux;
  }
  if (!strcmp(m, "activemask")) return activemask;
  if (!strcmp(m, "elect")) return elect;
  in->flags |= F_ANY_PC;
  return warp_sync;
}
