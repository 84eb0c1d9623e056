/* Clusters: PTX ISA "barrier.cluster", "mapa", "getctarank", "st.async", "red.async", "griddepcontrol"; and "setmaxnreg". */
#include "address.h"
#include "trace.h"
#include <stdlib.h>

#define SPACE(in) ((enum ptx_space)((in)->u >> 4))

HANDLER(cluster_arrive) {
  int ev = ws_emu_gather(w, in, ALL_LANES); /* the whole warp takes part, also in the forms without .aligned */
  if (ev != EV_NEXT) return ev;
  TRACE(w, in, NOTHING(CLUSTER_ARRIVE));
  return ws_emu_cluster_arrive(w, in);
}
HANDLER(cluster_wait) {
  int ev = ws_emu_gather(w, in, ALL_LANES);
  if (ev != EV_NEXT) return ev;
  TRACE(w, in, NOTHING(CLUSTER_WAIT));
  return ws_emu_cluster_wait(w, in);
}

/* in->imm2: generic addresses */
static int mapped(struct who who, uint64_t a, uint32_t rank, bool generic, uint64_t *out) {
  uint32_t own;
  if (!any_shared(who, a, generic ? SP_GENERIC : SP_CLUSTER, 1, &own)) return EV_FAULT;
  if (rank >= who.w->cta->cluster->n)
    return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "maps an address to CTA %u of a cluster of %u", rank, who.w->cta->cluster->n);
  *out = (generic ? WINDOW_SHARED : 0) | (own & ((1u << RANK_SHIFT) - 1)) | (uint64_t)rank << RANK_SHIFT;
  return EV_NEXT;
}
#define MAPA(T)                                                                                                       \
  HANDLER(mapa_##T) {                                                                                                 \
    T *d = SLOT(T, 0);                                                                                                \
    const T *a = SLOT(T, 1);                                                                                          \
    const uint32_t *rank = SLOT(uint32_t, 2);                                                                         \
    for (uint32_t m = w->mask; m; m &= m - 1) {                                                                       \
      int i = __builtin_ctz(m);                                                                                       \
      uint64_t v = 0;                                                                                                 \
      if (mapped(WHO(w, in, i), a[i], rank[i], in->imm2, &v) != EV_NEXT) return EV_FAULT;                             \
      d[i] = (T)v;                                                                                                    \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  }
MAPA(uint32_t)
MAPA(uint64_t)
#define RANK(T)                                                                                                       \
  HANDLER(rank_##T) {                                                                                                 \
    uint32_t *d = SLOT(uint32_t, 0);                                                                                  \
    const T *a = SLOT(T, 1);                                                                                          \
    EACH_LANE(d[i] = (uint32_t)a[i] >> RANK_SHIFT);                                                                   \
  }
RANK(uint32_t)
RANK(uint64_t)

/* ---- st.async, red.async: [address], values, [mbarrier] ---- */
enum { OP_STORE, OP_ADD, OP_MIN, OP_MAX, OP_INC, OP_DEC, OP_AND, OP_OR, OP_XOR };
struct remote {
  struct cta *to;
  uint32_t offset, bytes;   /* bytes of an element */
  uint32_t n;
  int op;
  bool is_signed;
  uint64_t v[4];
};
static uint64_t combine(const struct remote *r, uint64_t old, uint64_t v) {
  bool less = r->is_signed ? (int32_t)old < (int32_t)v : (uint32_t)old < (uint32_t)v;
  switch (r->op) {
    case OP_ADD: return old + v;
    case OP_MIN: return less ? old : v;
    case OP_MAX: return less ? v : old;
    case OP_INC: return old >= v ? 0 : old + 1;
    case OP_DEC: return !old || old > v ? v : old - 1;
    case OP_AND: return old & v;
    case OP_OR: return old | v;
    case OP_XOR: return old ^ v;
    default: return v;
  }
}
static enum agent_step remote_write(struct agent *a) {
  struct remote *r = (struct remote *)(void *)a->payload;
  uint8_t *p = r->to->shared + r->offset;
  if (r->to->done) {
    WHO_FAULT(a->who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "writes shared memory of CTA %u of its cluster, which has ended", r->to->rank);
    return AGENT_FAULT;
  }
  for (uint32_t k = 0; k < r->n; k++, p += r->bytes) {
    uint64_t old = 0;
    memcpy(&old, p, r->bytes);
    old = combine(r, old, r->v[k]);
    memcpy(p, &old, r->bytes);
  }
  return ws_emu_mbar_complete_tx(a->who, a->signal, r->bytes * r->n) == EV_NEXT ? AGENT_DONE : AGENT_FAULT;
}

/* in->w: bytes of an element; in->n: elements; in->u bits 4..7: the operation, bit 3: signed */
static int remote_one(struct who who, uint64_t address, uint64_t bar) {
  const struct inst *in = who.in;
  struct agent *a = ws_emu_agent_new(who, sizeof(struct remote), remote_write);
  if (!a) return EV_FAULT;
  struct remote *r = (struct remote *)(void *)a->payload;
  uint32_t to, at;
  *r = (struct remote){.bytes = in->w, .n = in->n, .op = in->u >> 4, .is_signed = in->u >> 3 & 1};
  for (uint32_t k = 0; k < r->n; k++) memcpy(&r->v[k], who.w->regs + in->x[k] + (uint32_t)who.lane * r->bytes, r->bytes);
  if (!any_shared(who, address, SP_CLUSTER, r->bytes, &to) || !any_shared(who, bar, SP_CLUSTER, 8, &at) ||
      !(r->to = ws_emu_peer(who, to, r->bytes * r->n, true, &r->offset)) || !ws_emu_mbar_at(who, at, &a->signal)) {
    ws_emu_agent_free(a);
    return EV_FAULT;
  }
  if (r->to != a->signal.cta) {
    ws_emu_agent_free(a);
    return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "writes to CTA %u but signals an mbarrier of another CTA", to >> RANK_SHIFT);
  }
  if (ws_emu_race_mbar_used(who, a->signal, ws_emu_mbar_get(who, a->signal)) != EV_NEXT ||
      ws_emu_race_signalled(who, r->to, a->signal, r->offset, r->bytes * r->n, r->op ? RACE_WRITE | RACE_STRONG : RACE_WRITE) != EV_NEXT) {
    ws_emu_agent_free(a);
    return EV_FAULT;
  }
  return ws_emu_agent_issue(a);
}
HANDLER(remote) {
  uint64_t to[LANES], bar[LANES];
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, to);
  lane_addresses(w, in->o[1], in->u & A2_WIDE, in->imm2, bar);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (remote_one(WHO(w, in, i), to[i], bar[i]) != EV_NEXT) return EV_FAULT;
  }
  count_access(w, SP_CLUSTER, (uint32_t)in->w * in->n, ACCESS_WRITE);
  return EV_NEXT;
}

/* ---- setmaxnreg: in->imm registers a thread; in->imm2: it takes some ---- */
HANDLER(setmaxnreg) {
  uint32_t want = (uint32_t)in->imm;
  if (!w->registers) return EV_NEXT; /* the assembler drops it where the kernel's directives fix no count */
  if (in->imm2 ? want < w->registers : want > w->registers)
    return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "asks for %u registers a thread but has %u", want, w->registers);
  TRACE(w, in, .kind = WSEMU_REGISTERS, .object = WSEMU_NO_OBJECT, .count = want);
  w->wanted_registers = want;
  w->waits = in;
  w->state = WARP_REGISTERS;
  ws_emu_grant_registers(w->cta);
  if (w->state == WARP_RUN) return EV_NEXT;
  w->pc++;
  return EV_BLOCK;
}

HANDLER(nothing) { return EV_NEXT; } /* grids run one after another */

static emu_fn *remote_form(struct bind *b) {
  static const char *const names[] = {[OP_ADD] = ".add", [OP_MIN] = ".min", [OP_MAX] = ".max", [OP_INC] = ".inc",
                                      [OP_DEC] = ".dec", [OP_AND] = ".and", [OP_OR] = ".or", [OP_XOR] = ".xor"};
  struct inst *in = b->in;
  uint8_t op = OP_STORE, type = b->u->type[0];
  for (uint8_t i = OP_ADD; i <= OP_XOR; i++)
    if (ws_emu_has(b->u, names[i])) op = i;
  in->w = ws_emu_types[type].bits / 8;
  in->u |= (uint8_t)(op << 4 | (ws_emu_types[type].cls == 's' ? 8 : 0));
  return in->w * in->n > 16 ? NULL : remote;
}

emu_resolve LEVELLED(ws_emu_resolve_clc);
emu_fn *LEVELLED(ws_emu_resolve_cluster)(struct bind *b) {
  if (!strcmp(b->u->row->mnemonic, "clusterlaunchcontrol")) return LEVELLED(ws_emu_resolve_clc)(b);
  static const struct emu_key keys[] = {{"mapa.u32", mapa_uint32_t}, {"mapa.u64", mapa_uint64_t}, {"mapa.shared::cluster.u32", mapa_uint32_t},
                                        {"mapa.shared::cluster.u64", mapa_uint64_t}, {"getctarank.u32", rank_uint32_t}, {"getctarank.u64", rank_uint64_t},
                                        {"getctarank.shared::cluster.u32", rank_uint32_t}, {"getctarank.shared::cluster.u64", rank_uint64_t},
                                        {"griddepcontrol.wait", nothing}, {"griddepcontrol.launch_dependents", nothing}};
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".mbarrier::complete_tx::bytes")) return remote_form(b);
  if (ws_emu_has(u, ".cluster")) {
    in->flags |= ws_emu_has(u, ".aligned") ? 0 : F_ANY_PC;
    in->imm2 = ws_emu_has(u, ".relaxed");
    return ws_emu_has(u, ".arrive") ? cluster_arrive : cluster_wait;
  }
  if (ws_emu_has(u, ".sync")) {
    in->imm2 = ws_emu_has(u, ".inc");
    return in->imm % 8 || in->imm < 24 || in->imm > 256 ? NULL : setmaxnreg;
  }
  in->imm2 = !ws_emu_has(u, ".shared::cluster");
  return ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
}
