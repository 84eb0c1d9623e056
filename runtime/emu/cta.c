/* One CTA: its memory, its warps at their start, its barriers. PTX ISA "bar, barrier". */
#include "hazard.h"
#include "race.h"
#include "tensor.h"
#include "unwritten.h"
#include "warpgroup.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

static size_t up64(size_t n) { return (n + 63) & ~(size_t)63; }

static void fill32(struct warp *w, enum ptx_sreg sr, uint32_t v) {
  uint32_t slot = w->cta->k->sreg[sr];
  if (slot == NO_SLOT) return;
  uint32_t *r = ws_emu_slot(w, slot);
  for (int i = 0; i < LANES; i++) r[i] = v;
}

static void fill_lanes(struct warp *w, enum ptx_sreg sr, const uint32_t *v) {
  uint32_t slot = w->cta->k->sreg[sr];
  if (slot != NO_SLOT) memcpy(ws_emu_slot(w, slot), v, LANES * sizeof *v);
}

/* PTX ISA "Special Registers". A launch without clusters is one of clusters of one CTA. */
static void special_registers(struct warp *w) {
  const struct cta *c = w->cta;
  const struct emu_launch *l = c->grid->l;
  uint32_t lane[6][LANES], tid[3][LANES];
  for (uint32_t i = 0; i < LANES; i++) {
    uint32_t t = w->index * LANES + i;
    tid[0][i] = t % l->block[0];
    tid[1][i] = t / l->block[0] % l->block[1];
    tid[2][i] = t / l->block[0] / l->block[1];
    lane[0][i] = i;
    lane[1][i] = 1u << i;
    lane[2][i] = (2u << i) - 1;
    lane[3][i] = (1u << i) - 1;
    lane[4][i] = ~0u << i;
    lane[5][i] = ~0u << i << 1;
  }
  fill_lanes(w, SR_LANEID, lane[0]);
  fill_lanes(w, SR_LANEMASK_EQ, lane[1]);
  fill_lanes(w, SR_LANEMASK_LE, lane[2]);
  fill_lanes(w, SR_LANEMASK_LT, lane[3]);
  fill_lanes(w, SR_LANEMASK_GE, lane[4]);
  fill_lanes(w, SR_LANEMASK_GT, lane[5]);
  for (unsigned d = 0; d < 3; d++) {
    fill_lanes(w, SR_TID_X + d, tid[d]);
    fill32(w, SR_NTID_X + d, l->block[d]);
    fill32(w, SR_CTAID_X + d, c->id[d]);
    fill32(w, SR_NCTAID_X + d, l->grid[d]);
    fill32(w, SR_CLUSTERID_X + d, c->id[d] / l->cluster[d]);
    fill32(w, SR_NCLUSTERID_X + d, l->grid[d] / l->cluster[d]);
    fill32(w, SR_CLUSTER_CTAID_X + d, c->id[d] % l->cluster[d]);
    fill32(w, SR_CLUSTER_NCTAID_X + d, l->cluster[d]);
  }
  fill32(w, SR_CLUSTER_CTARANK, c->rank);
  fill32(w, SR_CLUSTER_NCTARANK, l->cluster[0] * l->cluster[1] * l->cluster[2]);
  fill32(w, SR_WARPID, w->index);
  fill32(w, SR_NWARPID, 64);
  uint32_t sms = c->k->m->sm >= 100 ? 148 : 132;
  fill32(w, SR_SMID, c->linear % sms);
  fill32(w, SR_NSMID, sms);
  fill32(w, SR_DYN_SMEM, l->dynamic_shared);
  fill32(w, SR_TOTAL_SMEM, c->shared_size);
  fill32(w, SR_AGGR_SMEM, c->shared_size + c->k->shared_base);
  fill32(w, SR_RESERVED_END, c->k->shared_base);
  fill32(w, SR_ZERO, 0);
  if (c->k->sreg[SR_ZERO64] != NO_SLOT) memset(ws_emu_slot(w, c->k->sreg[SR_ZERO64]), 0, LANES * sizeof(uint64_t));
  if (c->k->sreg[SR_GRIDID] != NO_SLOT) {
    uint64_t *r = ws_emu_slot(w, c->k->sreg[SR_GRIDID]);
    for (int i = 0; i < LANES; i++) r[i] = c->grid->id;
  }
  if (c->k->sreg[SR_IS_EXPLICIT_CLUSTER] != NO_SLOT)
    *(uint32_t *)ws_emu_slot(w, c->k->sreg[SR_IS_EXPLICIT_CLUSTER]) = l->explicit_cluster ? ALL_LANES : 0;
}

/* Addresses of shared variables carry the CTA's rank in its cluster, as those that mapa makes do. */
static void shared_addresses(struct warp *w) {
  const struct kernel *k = w->cta->k;
  for (size_t i = 0; i < k->nconsts; i++) {
    const struct emu_const *c = &k->consts[i];
    if (!c->shared) continue;
    uint64_t v = c->value + (w->cta->shared_lo - k->shared_base);
    for (uint32_t l = 0; l < LANES; l++) memcpy(w->regs + c->slot + l * c->bytes, &v, c->bytes);
  }
}

static void start_warp(struct cta *c, uint32_t i, uint8_t *regs, uint8_t *local) {
  struct warp *w = &c->warps[i];
  uint32_t left = c->threads - i * LANES;
  w->cta = c;
  w->index = i;
  w->regs = regs;
  w->local = local;
  w->live = w->active = left >= LANES ? ALL_LANES : (1u << left) - 1;
  w->rpc = (uint32_t)c->k->n;
  w->npaths = 1;
  w->path[0] = (struct path){.rpc = w->rpc, .mask = w->live, .parent = -1, .state = PATH_RUN};
  memcpy(regs, c->k->image, c->k->reg_bytes);
  if (c->rank) shared_addresses(w);
  special_registers(w);
  w->registers = c->k->registers;
}

struct cta *ws_emu_cta_new(struct cluster *cl, uint32_t rank, const uint32_t id[3], struct fault *fault) {
  const struct emu_launch *l = cl->grid->l;
  const struct kernel *k = l->kernel;
  uint32_t threads = l->block[0] * l->block[1] * l->block[2], nwarps = (threads + LANES - 1) / LANES;
  uint32_t shared = k->shared_dynamic - k->shared_base + l->dynamic_shared;
  size_t map = l->unwritten ? (up64(shared) >> UNWRITTEN_GRAIN) + 64 : 0;
  size_t regs = up64(k->reg_bytes), local = up64(ws_emu_local_stride(k) * LANES);
  size_t bytes = up64(sizeof(struct cta)) + up64(sizeof(struct warp) * nwarps) + up64(shared) + 64 + up64(map) + (regs + local) * nwarps;
  uint8_t *p = aligned_alloc(64, bytes);
  if (!p) {
    fault->code = WS_CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(fault->msg, sizeof fault->msg, "kernel '%s': no host memory for a CTA (%zu bytes)", k->func->sym->name, bytes);
    return NULL;
  }
  struct cta *c = (struct cta *)p;
  memset(p, 0, up64(sizeof *c) + up64(sizeof(struct warp) * nwarps));
  c->grid = cl->grid;
  c->cluster = cl;
  c->k = k;
  c->rank = rank;
  memcpy(c->id, id, sizeof c->id);
  c->linear = id[0] + l->grid[0] * (id[1] + l->grid[1] * id[2]);
  c->threads = threads;
  c->nwarps = nwarps;
  p += up64(sizeof *c);
  c->warps = (struct warp *)p;
  p += up64(sizeof(struct warp) * nwarps);
  c->shared = p;
  c->shared_size = shared;
  c->shared_lo = k->shared_base | rank << RANK_SHIFT;
  memset(c->shared, 0xff, up64(shared) + 64); /* NaNs in every format, and an address out of all bounds */
  p += up64(shared) + 64;
  if (map) c->written = memset(p, 0, map);
  p += up64(map);
  for (uint32_t i = 0; i < nwarps; i++, p += regs + local) {
    memset(p + regs, 0xff, local);
    start_warp(c, i, p, p + regs);
  }
  return c;
}

void ws_emu_cta_free(struct cta *c) {
  if (!c) return;
  for (uint32_t i = 0; i < c->nwarps; i++) {
    free(c->warps[i].copies);
    free(c->warps[i].flight);
  }
  for (uint32_t i = 0; i < c->nmbars; i++) ws_emu_race_mbar_free(&c->mbars[i]);
  free(c->mbars);
  ws_emu_wg_free(c);
  ws_emu_tc_free(c);
  free(c);
}

/* ---- barriers ---- */
static uint32_t threads_left(const struct cta *c) { /* a barrier without a count waits for all warps that still run */
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->nwarps; i++) n += c->warps[i].state != WARP_DONE ? LANES : 0;
  return n;
}

static void release(struct cta *c, struct barrier *b) {
  ws_emu_race_barrier_done(c, (uint32_t)(b - c->bar), b->waiting, !b->expected);
  for (uint32_t m = b->waiting; m; m &= m - 1) {
    struct warp *w = &c->warps[__builtin_ctz(m)];
    const struct inst *in = w->waits;
    w->state = WARP_RUN;
    ws_emu_tc_implied(w, true);
    c->cluster->events++;
    if (!b->red) continue;
    if (in->imm == 1) { /* popc */
      uint32_t *d = ws_emu_slot(w, in->o[0]);
      for (int i = 0; i < LANES; i++) d[i] = w->live >> i & 1 ? b->popc : d[i];
    } else {
      *(uint32_t *)ws_emu_slot(w, in->o[0]) = (in->imm == 2 ? b->all : b->any) ? ALL_LANES : 0;
    }
  }
  *b = (struct barrier){0};
}

static bool complete(const struct cta *c, const struct barrier *b) {
  uint32_t want = b->expected ? b->expected : threads_left(c);
  return b->arrived && b->arrived >= want;
}

/* red: 0 none, 1 popc, 2 and, 3 or. The whole warp counts, with its lanes that ended or never were. */
int ws_emu_barrier(struct warp *w, const struct inst *in, uint32_t id, uint32_t count, bool wait, int red, uint32_t pred) {
  struct cta *c = w->cta;
  int lane = __builtin_ctz(w->mask);
  if (id >= NBARRIERS) return ws_emu_fault(w, in, lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "names barrier %u: there are 0..%d", id, NBARRIERS - 1);
  if (count % LANES || count > c->nwarps * LANES)
    return ws_emu_fault(w, in, lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                        "names %u threads at barrier %u: a multiple of 32 of at most the CTA's %u is needed", count, id, c->nwarps * LANES);
  struct barrier *b = &c->bar[id];
  if (b->arrived && (b->expected != count || b->red != (red != 0))) {
    char first[400];
    ws_emu_where(c->k, b->first, first, sizeof first);
    return ws_emu_fault(w, in, lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                        "names %u threads at barrier %u, but this phase was opened with %u (0: all) by %s", count, id, b->expected, first);
  }
  ws_emu_tc_implied(w, false);
  if (!b->arrived) *b = (struct barrier){.expected = count, .first = in, .all = true, .red = red != 0};
  b->arrived += LANES;
  b->popc += (uint32_t)__builtin_popcount(pred & w->mask);
  b->all &= (pred & w->mask) == w->mask;
  b->any |= (pred & w->mask) != 0;
  ws_emu_race_barrier(w, id);
  if (wait) {
    b->waiting |= 1u << w->index;
    w->waits = in;
    w->barrier = id;
    w->state = WARP_BARRIER;
    w->stats.barriers++;
  }
  if (complete(c, b)) release(c, b);
  if (!wait || w->state == WARP_RUN) return EV_NEXT;
  w->pc++;
  return EV_BLOCK;
}

bool ws_emu_warp_ended(struct cta *c) {
  for (int i = 0; i < NBARRIERS; i++)
    if (!c->bar[i].expected && complete(c, &c->bar[i])) release(c, &c->bar[i]);
  return !threads_left(c);
}

/* ---- setmaxnreg: what a warp gives up, others may take. PTX ISA "setmaxnreg" ---- */
void ws_emu_grant_registers(struct cta *c) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t i = 0; i < c->nwarps; i++) {
      struct warp *w = &c->warps[i];
      if (w->state != WARP_REGISTERS || w->wanted_registers > w->registers + c->free_registers) continue;
      c->free_registers += w->registers;
      c->free_registers -= w->wanted_registers;
      w->registers = w->wanted_registers;
      w->state = WARP_RUN;
      c->cluster->events++;
      again = true;
    }
  }
}
