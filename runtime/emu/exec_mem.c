/* PTX ISA "Data Movement and Conversion Instructions": ld, ld.global.nc, ldu, st, prefetch and cache hints. */
#include "address.h"

struct b128 { uint64_t lo, hi; };
/* in->u: bits 0..1 address widths, bits 4..6 the state space; in->imm2: M_SYNC .. of volatile, acquire, release. */
#define SPACE(in) ((enum ptx_space)((in)->u >> 4))
enum { M_POLL = 1, M_ACQUIRE = 2, M_RELEASE = 4 };

#define LOAD(name, M, R)                                                                                              \
  HANDLER(name) {                                                                                                     \
    struct access p;                                                                                                  \
    uint32_t bytes = (uint32_t)sizeof(M) * in->n;                                                                     \
    int ev = access_lanes(w, in, 0, SPACE(in), bytes, ACCESS_READ | (in->imm2 ? ACCESS_STRONG : 0), &p);              \
    if (ev != EV_NEXT) return ev;                                                                                     \
    count_access(w, SPACE(in), bytes, ACCESS_READ);                                                                   \
    if (in->imm2) {                                                                                                   \
      w->cta->polls++;                                                                                                \
      ws_emu_race_observed(w, in->imm2 & M_ACQUIRE);                                                                  \
    }                                                                                                                 \
    for (uint32_t k = 0; k < in->n; k++) {                                                                            \
      R *d = ws_emu_slot(w, in->x[k]);                                                                                \
      for (uint32_t m = w->mask; m; m &= m - 1) {                                                                     \
        int i = __builtin_ctz(m);                                                                                     \
        d[i] = (R)((const volatile M *)(const void *)p.p[i])[k];                                                      \
      }                                                                                                               \
    }                                                                                                                 \
    if (in->imm2 & M_ACQUIRE) __atomic_thread_fence(__ATOMIC_ACQUIRE);                                                \
    return EV_NEXT;                                                                                                   \
  }
#define STORE(name, M, R)                                                                                             \
  HANDLER(name) {                                                                                                     \
    struct access p;                                                                                                  \
    uint32_t bytes = (uint32_t)sizeof(M) * in->n;                                                                     \
    int ev = access_lanes(w, in, 0, SPACE(in), bytes, ACCESS_WRITE | (in->imm2 ? ACCESS_STRONG : 0), &p);             \
    if (ev != EV_NEXT) return ev;                                                                                     \
    count_access(w, SPACE(in), bytes, ACCESS_WRITE);                                                                  \
    if (in->imm2) ws_emu_race_published(w, in->imm2 & M_RELEASE);                                                     \
    if (in->imm2 & M_RELEASE) __atomic_thread_fence(__ATOMIC_RELEASE);                                                \
    for (uint32_t k = 0; k < in->n; k++) {                                                                            \
      const R *s = ws_emu_slot(w, in->x[k]);                                                                          \
      for (uint32_t m = w->mask; m; m &= m - 1) {                                                                     \
        int i = __builtin_ctz(m);                                                                                     \
        ((volatile M *)(void *)p.p[i])[k] = (M)s[i];                                                                  \
      }                                                                                                               \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }
LOAD(ld_u8_8, uint8_t, uint8_t) LOAD(ld_u8_16, uint8_t, uint16_t) LOAD(ld_u8_32, uint8_t, uint32_t) LOAD(ld_u8_64, uint8_t, uint64_t)
LOAD(ld_s8_16, int8_t, uint16_t) LOAD(ld_s8_32, int8_t, uint32_t) LOAD(ld_s8_64, int8_t, uint64_t)
LOAD(ld_u16_16, uint16_t, uint16_t) LOAD(ld_u16_32, uint16_t, uint32_t) LOAD(ld_u16_64, uint16_t, uint64_t)
LOAD(ld_s16_32, int16_t, uint32_t) LOAD(ld_s16_64, int16_t, uint64_t)
LOAD(ld_u32_32, uint32_t, uint32_t) LOAD(ld_u32_64, uint32_t, uint64_t) LOAD(ld_s32_64, int32_t, uint64_t)
LOAD(ld_u64_64, uint64_t, uint64_t)
STORE(st_8_8, uint8_t, uint8_t) STORE(st_8_16, uint8_t, uint16_t) STORE(st_8_32, uint8_t, uint32_t) STORE(st_8_64, uint8_t, uint64_t)
STORE(st_16_16, uint16_t, uint16_t) STORE(st_16_32, uint16_t, uint32_t) STORE(st_16_64, uint16_t, uint64_t)
STORE(st_32_32, uint32_t, uint32_t) STORE(st_32_64, uint32_t, uint64_t) STORE(st_64_64, uint64_t, uint64_t)

HANDLER(ld_128) {
  struct access p;
  int ev = access_lanes(w, in, 0, SPACE(in), 16, ACCESS_READ, &p);
  if (ev != EV_NEXT) return ev;
  count_access(w, SPACE(in), 16, ACCESS_READ);
  struct b128 *d = ws_emu_slot(w, in->x[0]);
  EACH_LANE(memcpy(&d[i], p.p[i], 16));
}
HANDLER(st_128) {
  struct access p;
  int ev = access_lanes(w, in, 0, SPACE(in), 16, ACCESS_WRITE, &p);
  if (ev != EV_NEXT) return ev;
  count_access(w, SPACE(in), 16, ACCESS_WRITE);
  const struct b128 *s = ws_emu_slot(w, in->x[0]);
  EACH_LANE(memcpy(p.p[i], &s[i], 16));
}

HANDLER(nothing) { (void)w; (void)in; return EV_NEXT; }
HANDLER(policy) { /* an opaque value; hints have no effect here */
  uint64_t *d = SLOT(uint64_t, 0);
  EACH_LANE(d[i] = 0x1000000000000000u);
}

static emu_fn *pick_load(uint8_t type, uint32_t reg) {
  static const struct { uint8_t bits, is_signed, reg; emu_fn *fn; } loads[] = {
      {8, 0, 1, ld_u8_8}, {8, 0, 2, ld_u8_16}, {8, 0, 4, ld_u8_32}, {8, 0, 8, ld_u8_64}, {8, 1, 1, ld_u8_8}, {8, 1, 2, ld_s8_16},
      {8, 1, 4, ld_s8_32}, {8, 1, 8, ld_s8_64}, {16, 0, 2, ld_u16_16}, {16, 0, 4, ld_u16_32}, {16, 0, 8, ld_u16_64},
      {16, 1, 2, ld_u16_16}, {16, 1, 4, ld_s16_32}, {16, 1, 8, ld_s16_64}, {32, 0, 4, ld_u32_32}, {32, 0, 8, ld_u32_64},
      {32, 1, 4, ld_u32_32}, {32, 1, 8, ld_s32_64}, {64, 0, 8, ld_u64_64}, {64, 1, 8, ld_u64_64}, {128, 0, 16, ld_128}};
  const struct ptx_type_info *t = &ws_emu_types[type];
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
    if (loads[i].bits == t->bits && loads[i].is_signed == (t->cls == 's') && loads[i].reg == reg) return loads[i].fn;
  return NULL;
}
static emu_fn *pick_store(uint8_t type, uint32_t reg) {
  static const struct { uint8_t bits, reg; emu_fn *fn; } stores[] = {
      {8, 1, st_8_8}, {8, 2, st_8_16}, {8, 4, st_8_32}, {8, 8, st_8_64}, {16, 2, st_16_16}, {16, 4, st_16_32}, {16, 8, st_16_64},
      {32, 4, st_32_32}, {32, 8, st_32_64}, {64, 8, st_64_64}, {128, 16, st_128}};
  for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
    if (stores[i].bits == ws_emu_types[type].bits && stores[i].reg == reg) return stores[i].fn;
  return NULL;
}

emu_fn *LEVELLED(ws_emu_resolve_mem)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  const char *m = u->row->mnemonic;
  if (!strcmp(m, "createpolicy")) return policy;
  if (strcmp(m, "ld") && strcmp(m, "ldu") && strcmp(m, "st")) return nothing;
  if (ws_emu_types[u->type[0]].bits / 8 * u->vec > 16 && u->row->sm < 100) return NULL;
  in->u |= (uint8_t)(b->space << 4);
  in->imm2 = (ws_emu_has(u, ".volatile") || ws_emu_has(u, ".relaxed") /* of .mmio, too */ ? M_POLL : 0) | (ws_emu_has(u, ".acquire") ? M_ACQUIRE : 0) |
             (ws_emu_has(u, ".release") ? M_RELEASE : 0);
  if (*m == 'l') return pick_load(u->type[0], in->w);
  if (b->space == SP_PARAM || b->space == SP_CONST) return NULL;
  return pick_store(u->type[0], in->w);
}
