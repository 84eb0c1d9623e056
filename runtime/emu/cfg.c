/* Where divergent lanes meet again: the immediate post-dominator of each branch, found with the iterative algorithm of
 * Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm") on the reversed control-flow graph.
 *
 * A guarded exit has no edge to the end: the lanes that leave are not waited for. */
#include "cfg.h"
#include <string.h>

enum { NONE = UINT32_MAX };

static uint16_t effects(const struct kernel *k, uint32_t pc) { return k->src[pc].row->effects; }
static bool ends(const struct kernel *k, uint32_t pc) { return effects(k, pc) & (E_BRANCH | E_END); }
static bool is_indexed(const struct kernel *k, uint32_t pc) { return k->code[pc].x != NULL; } /* brx.idx */

/* Successors of the block's last instruction, by instruction; k->n stands for the end. Calls visit for each. */
static void successors(const struct graph *g, uint32_t block, void (*visit)(struct graph *, uint32_t from, uint32_t to), struct graph *arg) {
  const struct kernel *k = g->k;
  uint32_t pc = g->b[block].last, next = pc + 1;
  const struct inst *in = &k->code[pc];
  bool guarded = in->flags & F_GUARD;
  if (effects(k, pc) & E_BRANCH) {
    if (is_indexed(k, pc)) for (int64_t i = 0; i < in->imm; i++) visit(arg, block, in->x[i]);
    else visit(arg, block, in->o[0]);
    if (guarded) visit(arg, block, next);
  } else if (effects(k, pc) & E_END && !guarded) {
    visit(arg, block, (uint32_t)k->n);
  } else {
    visit(arg, block, next);
  }
}

static uint32_t to_block(const struct graph *g, uint32_t pc) { return pc >= g->k->n ? g->n : g->block_of[pc]; }
static void count_edge(struct graph *g, uint32_t from, uint32_t to) {
  (void)from;
  g->b[to_block(g, to)].npred++;
}
static void add_edge(struct graph *g, uint32_t from, uint32_t to) {
  struct block *b = &g->b[to_block(g, to)];
  b->pred[b->npred++] = from;
}

void ws_emu_graph(struct graph *g) {
  struct kernel *k = g->k;
  uint8_t *leader = ws_emu_alloc(g->pool, k->n + 1);
  leader[0] = 1;
  for (uint32_t pc = 0; pc < k->n; pc++) {
    if (!ends(k, pc)) continue;
    leader[pc + 1] = 1;
    if (!(effects(k, pc) & E_BRANCH)) continue;
    const struct inst *in = &k->code[pc];
    if (is_indexed(k, pc)) for (int64_t i = 0; i < in->imm; i++) leader[in->x[i]] = 1;
    else leader[in->o[0]] = 1;
  }
  for (uint32_t pc = 0; pc < k->n; pc++) g->n += leader[pc];
  g->b = WS_EMU_NEW_N(g->pool, struct block, g->n + 1);
  g->block_of = WS_EMU_NEW_N(g->pool, uint32_t, k->n + 1);
  uint32_t n = 0;
  for (uint32_t pc = 0; pc < k->n; pc++) {
    if (leader[pc]) g->b[n++].first = pc;
    g->block_of[pc] = n - 1;
    g->b[n - 1].last = pc;
  }
  for (uint32_t i = 0; i < g->n; i++) successors(g, i, count_edge, g);
  for (uint32_t i = 0; i <= g->n; i++) {
    g->b[i].pred = WS_EMU_NEW_N(g->pool, uint32_t, g->b[i].npred + 1);
    g->b[i].npred = 0;
  }
  for (uint32_t i = 0; i < g->n; i++) successors(g, i, add_edge, g);
}

/* Reverse postorder of the reversed graph, from the end backwards. Returns the blocks in that order. */
static uint32_t *order(struct graph *g, uint32_t *count) {
  uint32_t *stack = WS_EMU_NEW_N(g->pool, uint32_t, g->n + 1), *next = WS_EMU_NEW_N(g->pool, uint32_t, g->n + 1);
  uint32_t *post = WS_EMU_NEW_N(g->pool, uint32_t, g->n + 1), depth = 0, n = 0;
  uint8_t *seen = ws_emu_alloc(g->pool, g->n + 1);
  stack[depth++] = g->n;
  seen[g->n] = 1;
  while (depth) {
    uint32_t b = stack[depth - 1];
    if (next[b] < g->b[b].npred) {
      uint32_t p = g->b[b].pred[next[b]++];
      if (!seen[p]) {
        seen[p] = 1;
        stack[depth++] = p;
      }
    } else {
      post[n++] = b;
      depth--;
    }
  }
  for (uint32_t i = 0; i < n; i++) g->b[post[i]].order = n - i; /* the end gets 1 */
  for (uint32_t i = 0; i < n / 2; i++) {
    uint32_t t = post[i];
    post[i] = post[n - 1 - i];
    post[n - 1 - i] = t;
  }
  *count = n;
  return post;
}

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b) {
  while (a != b) {
    while (g->b[a].order > g->b[b].order) a = g->b[a].ipdom;
    while (g->b[b].order > g->b[a].order) b = g->b[b].ipdom;
  }
  return a;
}

struct succ_list { uint32_t *to, n; };
static void dominators(struct graph *g) {
  uint32_t n, *rpo = order(g, &n);
  /* successors of a block are its predecessors in the reversed graph: turn the lists round once */
  struct succ_list *s = WS_EMU_NEW_N(g->pool, struct succ_list, g->n + 1);
  for (uint32_t b = 0; b <= g->n; b++)
    for (uint32_t i = 0; i < g->b[b].npred; i++) s[g->b[b].pred[i]].n++;
  for (uint32_t b = 0; b <= g->n; b++) {
    s[b].to = WS_EMU_NEW_N(g->pool, uint32_t, s[b].n + 1);
    s[b].n = 0;
  }
  for (uint32_t b = 0; b <= g->n; b++)
    for (uint32_t i = 0; i < g->b[b].npred; i++) {
      struct succ_list *from = &s[g->b[b].pred[i]];
      from->to[from->n++] = b;
    }
  for (uint32_t b = 0; b <= g->n; b++) g->b[b].ipdom = NONE;
  g->b[g->n].ipdom = g->n;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < n; i++) {
      uint32_t b = rpo[i], dom = NONE;
      for (uint32_t j = 0; j < s[b].n; j++) {
        uint32_t t = s[b].to[j];
        if (g->b[t].ipdom == NONE) continue;
        dom = dom == NONE ? t : meet(g, dom, t);
      }
      if (dom != g->b[b].ipdom) {
        g->b[b].ipdom = dom;
        changed = true;
      }
    }
  }
}

void ws_emu_reconvergence(struct graph *g) {
  struct kernel *k = g->k;
  dominators(g);
  for (uint32_t i = 0; i < g->n; i++) {
    uint32_t pc = g->b[i].last, dom = g->b[i].ipdom;
    if (effects(k, pc) & E_BRANCH) k->code[pc].o[1] = dom == NONE || dom == g->n ? (uint32_t)k->n : g->b[dom].first;
  }
}
