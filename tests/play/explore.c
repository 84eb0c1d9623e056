/* All orders of the events of a system, breadth first: each state is visited once. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

struct search {
  struct machine m;
  size_t nstates, cap, mask;
  int16_t *state;
  uint32_t *hash;                /* number of a state, from 1 */
};

static uint32_t hash_of(const int16_t *s, size_t n) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < n; i++) h = (h ^ (uint16_t)s[i]) * 0xff51afd7ed558ccdu, h ^= h >> 29;
  return (uint32_t)(h >> 7);
}

static void grow(struct search *y) {
  size_t size = y->m.size;
  y->cap = y->cap ? 4 * y->cap : 256, y->mask = 4 * y->cap - 1;
  y->state = realloc(y->state, y->cap * size * sizeof *y->state);
  free(y->hash);
  y->hash = calloc(y->mask + 1, sizeof *y->hash);
  if (!y->state || !y->hash) abort();
  for (size_t k = 0; k < y->nstates; k++) {
    size_t i = hash_of(y->state + k * size, size) & y->mask;
    while (y->hash[i]) i = (i + 1) & y->mask;
    y->hash[i] = (uint32_t)k + 1;
  }
}

/* A copy of a state behind the last one, where the next one is made. */
static int16_t *copy_of(struct search *y, size_t from) {
  size_t size = y->m.size;
  if (y->nstates + 1 >= y->cap) grow(y);
  return memcpy(y->state + y->nstates * size, y->state + from * size, size * sizeof *y->state);
}

/* Is the state behind the last one new? Then it is the last one now. */
static bool keep(struct search *y) {
  size_t size = y->m.size;
  const int16_t *s = y->state + y->nstates * size;
  size_t i = hash_of(s, size) & y->mask;
  for (; y->hash[i]; i = (i + 1) & y->mask)
    if (!memcmp(s, y->state + (y->hash[i] - 1) * size, size * sizeof *s)) return false;
  y->hash[i] = (uint32_t)++y->nstates;
  return true;
}

static bool expand(struct search *y, size_t from) {
  bool moved = false;
  for (int i = 0; i < y->m.x->nagents; i++) {
    int16_t *s = copy_of(y, from);
    if (!machine_step(&y->m, s, i)) continue;
    moved = true;
    if (keep(y)) machine_enter(&y->m, s, i);
  }
  for (size_t i = 0; i < y->m.x->nops; i++)
    if (machine_complete(&y->m, copy_of(y, from), (int)i)) moved = true, keep(y);
  return moved;
}

struct outcome explore(const struct system *x, const struct limits *l) {
  struct search y = {0};
  if (x->unknown) return (struct outcome){.trouble = T_UNKNOWN};
  if (x->trouble && !l->deadlock_only) return (struct outcome){.trouble = x->trouble, .a = x->at};
  machine_new(&y.m, x, l);
  grow(&y);
  machine_start(&y.m, y.state);
  keep(&y);
  for (int i = 0; i < x->nagents; i++) machine_enter(&y.m, y.state, i);
  for (size_t k = 0; k < y.nstates && !y.m.out.trouble; k++) {
    if (!expand(&y, k)) machine_stuck(&y.m, copy_of(&y, k));
    if ((long)y.nstates > l->states) machine_found(&y.m, T_TOO_LARGE, NULL, NULL);
  }
  y.m.out.states = (long)y.nstates;
  free(y.state), free(y.hash);
  return y.m.out;
}
