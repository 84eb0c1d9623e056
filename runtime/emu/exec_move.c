/* PTX ISA "Data Movement and Conversion Instructions": mov, cvta, isspacep. */
#include "exec.h"
#include <time.h>

enum { MOV_PLAIN, MOV_PACK, MOV_UNPACK, MOV_SREG, MOV_NARROW }; /* ORDER: bind.c */
struct b128 { uint64_t lo, hi; };

#define MOV(N, T)                                                                                                     \
  HANDLER(mov_##N) { T *d = SLOT(T, 0); const T *a = SLOT(T, 1); EACH_LANE(d[i] = a[i]); }
MOV(16, uint16_t)
MOV(32, uint32_t)
MOV(64, uint64_t)
MOV(128, struct b128)
DEF1(mov_narrow, uint16_t, uint32_t, a[i])
HANDLER(mov_p) {
  PRED(0) = (PRED(0) & ~w->mask) | (SRC_PRED(1) & w->mask);
  return EV_NEXT;
}

/* {a, b, ..} to one register and back; the first element is the least significant. Lanes are gathered through bytes, so
 * that a destination may also be a source. */
HANDLER(pack) {
  uint32_t total = (uint32_t)in->n * in->w;
  uint8_t *d = SLOT(uint8_t, 0), tmp[16 * LANES];
  for (uint32_t k = 0; k < in->n; k++) {
    const uint8_t *s = w->regs + in->x[k];
    for (uint32_t i = 0; i < LANES; i++) memcpy(tmp + i * total + k * in->w, s + i * in->w, in->w);
  }
  for (uint32_t m = w->mask; m; m &= m - 1) {
    uint32_t i = (uint32_t)__builtin_ctz(m);
    memcpy(d + i * total, tmp + i * total, total);
  }
  return EV_NEXT;
}
HANDLER(unpack) {
  uint32_t total = (uint32_t)in->n * in->w;
  uint8_t tmp[16 * LANES];
  memcpy(tmp, w->regs + in->o[1], total * LANES);
  for (uint32_t k = 0; k < in->n; k++) {
    if (in->x[k] == NO_SLOT) continue;
    uint8_t *d = w->regs + in->x[k];
    for (uint32_t m = w->mask; m; m &= m - 1) {
      uint32_t i = (uint32_t)__builtin_ctz(m);
      memcpy(d + i * in->w, tmp + i * total + k * in->w, in->w);
    }
  }
  return EV_NEXT;
}
/* Elements one by one, all read before the first is written: a destination may also be a source. */
HANDLER(mov_vector) {
  uint8_t tmp[4][8 * LANES];
  for (uint32_t k = 0; k < in->n; k++) memcpy(tmp[k], w->regs + in->x[in->n + k], in->w * LANES);
  for (uint32_t k = 0; k < in->n; k++) {
    uint8_t *d = w->regs + in->x[k];
    for (uint32_t m = w->mask; m; m &= m - 1) {
      uint32_t i = (uint32_t)__builtin_ctz(m);
      memcpy(d + i * in->w, tmp[k] + i * in->w, in->w);
    }
  }
  return EV_NEXT;
}
/* The frequent cases, as vector loops. */
HANDLER(pack_16x2) {
  uint32_t *d = SLOT(uint32_t, 0);
  const uint16_t *a = ws_emu_slot(w, in->x[0]), *b = ws_emu_slot(w, in->x[1]);
  EACH_LANE(d[i] = a[i] | (uint32_t)b[i] << 16);
}
HANDLER(pack_32x2) {
  uint64_t *d = SLOT(uint64_t, 0);
  const uint32_t *a = ws_emu_slot(w, in->x[0]), *b = ws_emu_slot(w, in->x[1]);
  EACH_LANE(d[i] = a[i] | (uint64_t)b[i] << 32);
}

/* %clock counts the warp's instructions, %globaltimer is the host's clock. */
HANDLER(mov_sreg) {
  uint64_t v = w->cta->executed + w->stats.instructions;
  if (in->imm2 == SR_GLOBALTIMER || in->imm2 == SR_GLOBALTIMER_LO || in->imm2 == SR_GLOBALTIMER_HI) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    v = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  }
  if (in->imm2 == SR_CLOCK_HI || in->imm2 == SR_GLOBALTIMER_HI) v >>= 32;
  w->cta->polls++;
  if (in->w == 8) {
    uint64_t *d = SLOT(uint64_t, 0);
    EACH_LANE(d[i] = v);
  }
  uint32_t *d = SLOT(uint32_t, 0);
  EACH_LANE(d[i] = (uint32_t)v);
}

/* ---- generic addresses: in->imm2 is the window; global and constant addresses are their own generic form ---- */
HANDLER(cvta) {
  uint64_t *d = SLOT(uint64_t, 0), window = (uint64_t)in->imm2;
  const uint64_t *a = SLOT(uint64_t, 1);
  EACH_LANE(d[i] = a[i] + window);
}
HANDLER(cvta_to) {
  uint64_t *d = SLOT(uint64_t, 0), window = (uint64_t)in->imm2;
  const uint64_t *a = SLOT(uint64_t, 1);
  EACH_LANE(d[i] = a[i] - window);
}
HANDLER(isspacep) {
  const uint64_t *a = SLOT(uint64_t, 1);
  uint32_t r = 0;
  for (int i = 0; i < LANES; i++) {
    uint64_t window = a[i] & WINDOW_MASK;
    r |= (uint32_t)(window == (uint64_t)in->imm2) << i;
  }
  PRED(0) = (PRED(0) & ~w->mask) | (r & w->mask);
  return EV_NEXT;
}

static uint64_t window_of(const struct isa_use *u) {
  if (ws_emu_has(u, ".shared") || ws_emu_has(u, ".shared::cta") || ws_emu_has(u, ".shared::cluster")) return WINDOW_SHARED;
  if (ws_emu_has(u, ".local")) return WINDOW_LOCAL;
  if (ws_emu_has(u, ".param") || ws_emu_has(u, ".param::entry")) return WINDOW_PARAM;
  return 0;
}

emu_fn *LEVELLED(ws_emu_resolve_move)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  uint32_t bits = u->ntypes ? ws_emu_types[u->type[0]].bits : 64u;
  if (!strcmp(u->row->mnemonic, "mov")) {
    if (u->vec > 1) return mov_vector;
    if (bits == 1) return mov_p;
    if (in->imm == MOV_PACK) return in->n == 2 && in->w == 2 ? pack_16x2 : in->n == 2 && in->w == 4 ? pack_32x2 : pack;
    if (in->imm == MOV_UNPACK) return unpack;
    if (in->imm == MOV_NARROW) return mov_narrow;
    in->w = (uint8_t)(bits / 8);
    if (in->imm == MOV_SREG) return mov_sreg;
    return bits == 16 ? mov_16 : bits == 32 ? mov_32 : bits == 64 ? mov_64 : mov_128;
  }
  in->imm2 = (int64_t)window_of(u);
  if (!strcmp(u->row->mnemonic, "isspacep")) return isspacep;
  if (bits != 64) return NULL;
  return ws_emu_has(u, ".to") ? cvta_to : cvta;
}
