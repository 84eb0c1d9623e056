/* Operations of warpgroups: their queue, their accumulators, their waits (warpgroup.h). */
#include "warpgroup.h"
#include "exec.h"
#include "hazard.h"
#include "race.h"
#include <stdlib.h>

#define POISON 0x7ff57ff5u /* a NaN in f32, f16 and bf16 */
#define BAD(w, in, ...) ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

static struct warp *member(const struct warpgroup *g, uint32_t i) { return &g->cta->warps[g->index * WG_WARPS + i]; }
static uint8_t schedule(const struct warpgroup *g) { return g->cta->grid->l->options.schedule; }

static struct warpgroup *group_of(struct warp *w, const struct inst *in) {
  struct cta *c = w->cta;
  uint32_t index = w->index / WG_WARPS;
  if (index * WG_WARPS + WG_WARPS > c->nwarps || w->mask != ALL_LANES) {
    BAD(w, in, "executes this with lanes 0x%08x of warp %u of %u: a whole warpgroup of 128 threads is needed", w->mask, w->index, c->nwarps);
    return NULL;
  }
  if (!c->groups) c->groups = calloc(MAX_WARPS / WG_WARPS, sizeof *c->groups);
  if (!c->groups) {
    ws_emu_fault(w, in, 0, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its warpgroup");
    return NULL;
  }
  struct warpgroup *g = &c->groups[index];
  if (!g->cta) *g = (struct warpgroup){.cta = c, .index = index};
  if (!g->last) g->last = &g->first;
  return g;
}

/* ---- accumulators: register i of lane 4 g + t is row g + 8 (i >> 1 & 1), column 8 (i >> 2) + 2 t + (i & 1). So registers 2 j
 * and 2 j + 1, or the halves of register j of f16, are eight runs of eight columns. ---- */
static float *run_of(struct wg_tile *t, uint32_t warp, uint32_t j) { return &t->c[(16 * warp + 8 * (j & 1)) * t->stride + 8 * (j >> 1)].f; }

static void load_rows(struct wg_tile *t, struct warp *w, uint32_t warp) {
  for (uint32_t j = 0; j < t->cols / 4; j++) {
    uint32_t pair[2 * LANES], *even, *odd;
    if (t->kind == WG_F16) {
      even = odd = ws_emu_slot(w, t->x[j]);
      for (uint32_t i = 0; i < 2 * LANES; i++) pair[i] = f2u(h2f((uint16_t)(even[i / 2] >> 16 * (i & 1))));
    } else {
      even = ws_emu_slot(w, t->x[2 * j]);
      odd = ws_emu_slot(w, t->x[2 * j + 1]);
      for (uint32_t l = 0; l < LANES; l++) pair[2 * l] = even[l], pair[2 * l + 1] = odd[l];
    }
    float *to = run_of(t, warp, j);
    for (uint32_t g = 0; g < 8; g++) memcpy(to + g * t->stride, pair + 8 * g, 32);
    for (uint32_t l = 0; l < LANES; l++) even[l] = odd[l] = POISON;
  }
}

static void store_rows(struct wg_tile *t, struct warp *w, uint32_t warp) {
  for (uint32_t j = 0; j < t->cols / 4; j++) {
    uint32_t pair[2 * LANES];
    const float *from = run_of(t, warp, j);
    for (uint32_t g = 0; g < 8; g++) memcpy(pair + 8 * g, from + g * t->stride, 32);
    if (t->kind == WG_F16) {
      uint32_t *d = ws_emu_slot(w, t->x[j]);
      for (uint32_t l = 0; l < LANES; l++) d[l] = f2h(u2f(pair[2 * l])) | (uint32_t)f2h(u2f(pair[2 * l + 1])) << 16;
    } else {
      uint32_t *even = ws_emu_slot(w, t->x[2 * j]), *odd = ws_emu_slot(w, t->x[2 * j + 1]);
      for (uint32_t l = 0; l < LANES; l++) even[l] = pair[2 * l], odd[l] = pair[2 * l + 1];
    }
  }
}

static struct wg_tile *find_tile(const struct warpgroup *g, const uint32_t *x, uint32_t regs) {
  for (struct wg_tile *t = g->tiles; t; t = t->next)
    if (t->regs == regs && !memcmp(t->x, x, regs * sizeof *x)) return t;
  return NULL;
}

static struct wg_tile *new_tile(struct warpgroup *g, const struct inst *in) {
  struct wg_form f = ws_emu_wg_form(in);
  uint32_t stride = (f.n + 15u) & ~15u;
  size_t bytes = (sizeof(struct wg_tile) + sizeof(float) * WG_ROWS * stride + 63) & ~(size_t)63;
  struct wg_tile *t = aligned_alloc(64, bytes);
  if (!t) return NULL;
  memset(t, 0, bytes);
  *t = (struct wg_tile){.next = g->tiles, .x = in->x, .regs = f.regs, .cols = f.n, .stride = stride, .kind = f.kind};
  g->tiles = t;
  return t;
}

/* Back into the registers, once no operation in the queue uses the tile. */
static void retire(struct warpgroup *g, struct wg_tile *t) {
  if (--t->uses) return;
  for (uint32_t i = 0; i < WG_WARPS; i++) store_rows(t, member(g, i), i);
  struct wg_tile **at = &g->tiles;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  free(t);
}

/* ---- the queue ---- */
static int perform(struct warpgroup *g) {
  struct wg_op *op = g->first;
  int ev = g->run(g, op);
  g->cta->cluster->events++;
  g->first = op->next;
  if (!g->first) g->last = &g->first;
  retire(g, op->tile);
  free(op);
  return ev;
}

/* Performs what is older than group `before`. False when an operation among them has not been issued by all warps. */
static bool perform_before(struct warpgroup *g, uint32_t before, int *ev) {
  while (g->first && (int32_t)(g->first->group - before) < 0 && *ev == EV_NEXT) {
    if (g->first->warps != WG_ALL) return false;
    *ev = perform(g);
  }
  return true;
}

/* An operation has become whole: warps may have waited for that. */
static int wake_waiting(struct warpgroup *g) {
  int ev = EV_NEXT;
  for (uint32_t i = 0; i < WG_WARPS; i++) {
    struct warp *w = member(g, i);
    if (w->state == WARP_GROUP && perform_before(g, w->wg_before, &ev)) w->state = WARP_RUN;
  }
  return ev;
}

static struct wg_op *join_op(struct warpgroup *g, struct warp *w, const struct inst *in, const struct wg_op *like) {
  struct wg_op *op = g->first;
  uint32_t warp = w->index % WG_WARPS;
  while (op && op->number != w->wg_issued) op = op->next;
  if (!op) {
    op = malloc(sizeof *op);
    struct wg_tile *t = find_tile(g, in->x, ws_emu_wg_form(in).regs);
    if (op && !t) t = new_tile(g, in);
    if (!op || !t) {
      free(op);
      ws_emu_fault(w, in, 0, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its warpgroup");
      return NULL;
    }
    *op = *like;
    op->number = g->issued++;
    op->tile = t;
    t->uses++;
    *g->last = op;
    g->last = &op->next;
  }
  if (op->in != in || op->b != like->b || op->a != like->a || op->add != like->add || op->group != like->group) {
    char other[600];
    ws_emu_where(w->cta->k, op->in, other, sizeof other);
    BAD(w, in, "differs in its warpgroup's operation %llu (descriptors 0x%llx, 0x%llx, scale-d %d, group %u): another warp issued %s (0x%llx, 0x%llx, %d, %u)",
        (unsigned long long)op->number, (unsigned long long)like->a, (unsigned long long)like->b, like->add, like->group, other,
        (unsigned long long)op->a, (unsigned long long)op->b, op->add, op->group);
    return NULL;
  }
  if (!(op->tile->loaded >> warp & 1)) {
    op->tile->loaded |= 1u << warp;
    load_rows(op->tile, w, warp);
  }
  op->warps |= 1u << warp;
  w->wg_issued++;
  return op;
}

/* The operation is ordered behind what each of its warps knows when it issues it. */
static void know(struct warp *w, struct wg_op *op) {
  if (!w->race) return;
  if (!op->clock) op->clock = calloc(1, sizeof *op->clock);
  if (!op->clock) return;
  ws_emu_race_open(w);
  ws_emu_race_join(op->clock, &w->race->now);
}
static void forget(struct wg_op *op) {
  ws_emu_race_snapshot_free(op->clock);
  op->clock = NULL;
}

int ws_emu_wg_issue(struct warp *w, const struct inst *in, uint64_t a, uint64_t b, bool add,
                    int (*run)(struct warpgroup *g, const struct wg_op *op), int (*touch)(struct warpgroup *g, const struct wg_op *op)) {
  struct warpgroup *g = group_of(w, in);
  if (!g || ws_emu_wg_enter(w, in) != EV_NEXT) return EV_FAULT;
  g->run = run;
  struct wg_op like = {.in = in, .a = a, .b = b, .group = w->wg_groups, .add = add};
  struct wg_op *op = join_op(g, w, in, &like);
  if (!op) return EV_FAULT;
  know(w, op);
  if (op->warps != WG_ALL) return EV_NEXT;
  w->stats.async++;
  int ev = op->clock ? touch(g, op) : EV_NEXT;
  forget(op);
  if (ev != EV_NEXT) return ev;
  if (schedule(g) == SCHED_EARLY)
    while (ev == EV_NEXT && g->first && g->first->warps == WG_ALL) ev = perform(g);
  else w->stats.delayed++;
  return ev == EV_NEXT ? wake_waiting(g) : ev;
}

int ws_emu_wg_wait(struct warp *w, const struct inst *in, uint32_t keep) {
  struct warpgroup *g = group_of(w, in);
  int ev = EV_NEXT;
  if (!g) return EV_FAULT;
  if (keep > w->wg_groups) return EV_NEXT;
  w->wg_before = w->wg_groups - keep;
  ws_emu_wg_leave(w, w->wg_before);
  ws_emu_race_knows(w, BY_WGMMA, w->wg_before);
  if (perform_before(g, w->wg_before, &ev)) return ev;
  w->state = WARP_GROUP;
  w->waits = in;
  w->pc++;
  return EV_BLOCK;
}

void ws_emu_wg_turn(struct cluster *cl) {
  for (uint32_t r = 0; r < cl->n; r++)
    for (uint32_t i = 0; cl->cta[r]->groups && i < MAX_WARPS / WG_WARPS; i++) {
      struct warpgroup *g = &cl->cta[r]->groups[i];
      while (g->first && g->first->warps == WG_ALL && ws_emu_random(cl, 2))
        if (perform(g) != EV_NEXT) return;
    }
}

void ws_emu_wg_free(struct cta *c) {
  for (uint32_t i = 0; c->groups && i < MAX_WARPS / WG_WARPS; i++) {
    struct warpgroup *g = &c->groups[i];
    for (struct wg_op *op = g->first, *next; op; op = next) {
      next = op->next;
      forget(op);
      free(op);
    }
    for (struct wg_tile *t = g->tiles, *next; t; t = next) {
      next = t->next;
      free(t);
    }
  }
  free(c->groups);
}
