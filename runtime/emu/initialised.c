/* Registers that are read before they are written, found before the kernel runs: a forward data-flow analysis over the
 * control-flow graph.
 *
 * Two sets of registers hold at every point: those that some path has written and those that every path has written. A
 * write under a guard p counts, for every path, only for what is read under p too; a second write under !p completes
 * it. So the analysis needs facts of the form "written where p holds", which a write to p makes void. */
#include "cfg.h"
#include <string.h>

enum { FACT_BITS = 1 << 28 };      /* of all sets together: 32 MiB */
enum { MOST_GUARDS = 32 };         /* facts of one register */
#define MOST_STEPS ((uint64_t)1 << 31) /* a few seconds; what kernels need is a thousandth of it */

struct fact { /* `var` is written wherever `guard` is `sense` */
  uint32_t var, guard, next_of_var, next_of_guard;
  bool sense;
};
struct flow {
  const struct graph *g;
  const struct reg_use *uses;
  struct ws_emu_pool *pool;
  uint32_t *var_of;             /* of slot / 4, plus 1 */
  uint32_t nvars, nfacts;       /* facts are numbered behind the variables */
  struct fact *facts;
  size_t cap_facts;
  uint32_t *by_var, *by_guard;  /* heads of the lists, plus 1 */
  size_t *first_use;            /* of each block, and one past the end */
  size_t words, may_words;
  uint64_t *must, *may;         /* at the end of each block */
  uint64_t *now, *now_may;
  uint8_t *reached, *reported;
  uint64_t steps;               /* taken so far */
};

static bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static void put(uint64_t *set, uint32_t i) { set[i / 64] |= (uint64_t)1 << i % 64; }
static void drop(uint64_t *set, uint32_t i) { set[i / 64] &= ~((uint64_t)1 << i % 64); }

static uint32_t var(const struct flow *f, uint32_t slot) { return f->var_of[slot / 4] - 1; }

static uint32_t find_fact(const struct flow *f, uint32_t v, uint32_t guard, bool sense) {
  for (uint32_t i = f->by_var[v]; i; i = f->facts[i - 1].next_of_var)
    if (f->facts[i - 1].guard == guard && f->facts[i - 1].sense == sense) return f->nvars + i - 1;
  return UINT32_MAX;
}

static const struct inst *guard_of(const struct flow *f, uint32_t pc) {
  const struct inst *in = &f->g->k->code[pc];
  return in->flags & F_GUARD ? in : NULL;
}
static bool sense_of(const struct inst *in) { return !(in->flags & F_GUARD_NOT); }

static void number_variables(struct flow *f, size_t nuses) {
  f->var_of = WS_EMU_NEW_N(f->pool, uint32_t, f->g->k->reg_bytes / 4 + 1);
  for (size_t i = 0; i < nuses; i++) {
    uint32_t *v = &f->var_of[f->uses[i].slot / 4];
    if (!*v) *v = ++f->nvars;
  }
  f->by_var = WS_EMU_NEW_N(f->pool, uint32_t, f->nvars + 1);
  f->by_guard = WS_EMU_NEW_N(f->pool, uint32_t, f->nvars + 1);
  for (size_t i = 0; i < nuses; i++) {
    const struct inst *in = guard_of(f, f->uses[i].pc);
    if (!f->uses[i].written || !in) continue;
    uint32_t v = var(f, f->uses[i].slot), p = var(f, in->guard);
    uint32_t known = 0;
    for (uint32_t k = f->by_var[v]; k; k = f->facts[k - 1].next_of_var) known++;
    if (known == MOST_GUARDS || find_fact(f, v, p, sense_of(in)) != UINT32_MAX) continue;
    size_t n = f->nfacts++;
    *WS_EMU_PUSH(f->pool, f->facts, n, f->cap_facts) = (struct fact){v, p, f->by_var[v], f->by_guard[p], sense_of(in)};
    f->by_var[v] = f->by_guard[p] = f->nfacts;
  }
}

/* Blocks hold ranges of uses, since both are in the order of instructions. */
static void divide_uses(struct flow *f, size_t nuses) {
  size_t at = 0;
  f->first_use = WS_EMU_NEW_N(f->pool, size_t, f->g->n + 1);
  for (uint32_t b = 0; b < f->g->n; b++) {
    while (at < nuses && f->uses[at].pc < f->g->b[b].first) at++;
    f->first_use[b] = at;
  }
  f->first_use[f->g->n] = nuses;
}

static void check_read(struct flow *f, const struct reg_use *u, const struct inst *in, uninitialised_fn *report, void *arg) {
  uint32_t v = var(f, u->slot);
  if (has(f->now, v) || f->reported[v]) return;
  if (in && !u->is_guard) {
    uint32_t fact = find_fact(f, v, var(f, in->guard), sense_of(in));
    if (fact != UINT32_MAX && has(f->now, fact)) return;
  }
  f->reported[v] = 1;
  report(arg, u, !has(f->now_may, v));
}

static void apply_write(struct flow *f, const struct reg_use *u, const struct inst *in) {
  uint32_t v = var(f, u->slot);
  put(f->now_may, v);
  if (in) {
    uint32_t p = var(f, in->guard), fact = find_fact(f, v, p, sense_of(in)), other = find_fact(f, v, p, !sense_of(in));
    if (fact != UINT32_MAX) put(f->now, fact);
    if (other != UINT32_MAX && has(f->now, other)) put(f->now, v);
  } else {
    put(f->now, v);
  }
  for (uint32_t i = f->by_guard[v]; i; i = f->facts[i - 1].next_of_guard) {
    drop(f->now, f->nvars + i - 1);
    f->steps++;
  }
}

/* From the sets at the block's start to those at its end; with a report, the reads on the way are checked. */
static void walk(struct flow *f, uint32_t b, uninitialised_fn *report, void *arg) {
  size_t end = f->first_use[b + 1];
  for (size_t i = f->first_use[b]; i < end;) {
    size_t j = i;
    const struct inst *in = guard_of(f, f->uses[i].pc);
    for (; j < end && f->uses[j].pc == f->uses[i].pc; j++)
      if (report && !f->uses[j].written) check_read(f, &f->uses[j], in, report, arg);
    for (; i < j; i++)
      if (f->uses[i].written) apply_write(f, &f->uses[i], in);
  }
}

static void enter(struct flow *f, uint32_t b) {
  memset(f->now, b ? 0xff : 0, f->words * 8);
  memset(f->now_may, 0, f->may_words * 8);
  for (uint32_t i = 0; i < f->g->b[b].npred; i++) {
    uint32_t p = f->g->b[b].pred[i];
    if (!f->reached[p]) continue;
    for (size_t k = 0; k < f->words; k++) f->now[k] &= f->must[p * f->words + k];
    for (size_t k = 0; k < f->may_words; k++) f->now_may[k] |= f->may[p * f->may_words + k];
  }
}

/* Reverse postorder from the entry: most blocks come behind their predecessors, so few passes are needed. */
static uint32_t *forward_order(const struct flow *f, uint32_t *count) {
  uint32_t n = f->g->n, depth = 0, left = n;
  uint32_t *start = WS_EMU_NEW_N(f->pool, uint32_t, n + 2), *fill = WS_EMU_NEW_N(f->pool, uint32_t, n + 2);
  uint32_t *stack = WS_EMU_NEW_N(f->pool, uint32_t, n + 1), *order = WS_EMU_NEW_N(f->pool, uint32_t, n + 1), edges = 0;
  uint8_t *seen = ws_emu_alloc(f->pool, n + 1);
  for (uint32_t b = 0; b < n; b++)
    for (uint32_t i = 0; i < f->g->b[b].npred; i++, edges++) start[f->g->b[b].pred[i] + 1]++;
  for (uint32_t b = 0; b < n; b++) start[b + 1] += start[b];
  uint32_t *to = WS_EMU_NEW_N(f->pool, uint32_t, edges + 1);
  memcpy(fill, start, sizeof *fill * (n + 1));
  for (uint32_t b = 0; b < n; b++)
    for (uint32_t i = 0; i < f->g->b[b].npred; i++) to[fill[f->g->b[b].pred[i]]++] = b;
  memcpy(fill, start, sizeof *fill * (n + 1));
  stack[depth++] = 0;
  seen[0] = 1;
  while (depth) {
    uint32_t b = stack[depth - 1];
    if (fill[b] == start[b + 1]) {
      order[--left] = b;
      depth--;
      continue;
    }
    uint32_t s = to[fill[b]++];
    if (!seen[s]) seen[stack[depth++] = s] = 1;
  }
  *count = n - left;
  return order + left;
}

static bool solve(struct flow *f) {
  uint32_t count, *order = forward_order(f, &count);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t b = order[i];
      f->steps += (f->words + f->may_words) * (f->g->b[b].npred + 2u) + (f->first_use[b + 1] - f->first_use[b]);
      if (f->steps > MOST_STEPS) return false;
      enter(f, b);
      walk(f, b, NULL, NULL);
      uint64_t *must = f->must + b * f->words, *may = f->may + b * f->may_words;
      if (f->reached[b] && !memcmp(must, f->now, f->words * 8) && !memcmp(may, f->now_may, f->may_words * 8)) continue;
      f->reached[b] = 1;
      memcpy(must, f->now, f->words * 8);
      memcpy(may, f->now_may, f->may_words * 8);
      changed = true;
    }
  }
  return true;
}

bool ws_emu_uninitialised(const struct graph *g, const struct reg_use *uses, size_t nuses, struct ws_emu_pool *pool, uninitialised_fn *report,
                          void *arg) {
  struct flow f = {.g = g, .uses = uses, .pool = pool};
  number_variables(&f, nuses);
  f.words = ((size_t)f.nvars + f.nfacts + 63) / 64 + 1;
  f.may_words = (size_t)f.nvars / 64 + 1;
  if ((f.words + f.may_words) * 64 > FACT_BITS / (g->n + 1)) return false;
  divide_uses(&f, nuses);
  f.must = WS_EMU_NEW_N(pool, uint64_t, f.words * g->n);
  f.may = WS_EMU_NEW_N(pool, uint64_t, f.may_words * g->n);
  f.now = WS_EMU_NEW_N(pool, uint64_t, f.words);
  f.now_may = WS_EMU_NEW_N(pool, uint64_t, f.may_words);
  f.reached = ws_emu_alloc(pool, g->n + 1);
  f.reported = ws_emu_alloc(pool, f.nvars + 1);
  if (!solve(&f)) return false;
  for (uint32_t b = 0; b < g->n; b++) {
    if (!f.reached[b]) continue;
    enter(&f, b);
    walk(&f, b, report, arg);
  }
  return true;
}
