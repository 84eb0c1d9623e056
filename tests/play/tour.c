/* All of a schedule: trip counts, sequences of tiles, ways that votes go, the instance that is split. */
#include "explore.h"
#include <stdlib.h>

/* --- all of a schedule --- */

static const int one_tile[][1] = {{1}, {2}, {3}, {0}, {5}, {7}, {9}}; /* as many as the deepest ring needs */
static const int more_tiles[][4] = {{2, 1, 1}, {2, 2, 1}, {2, 0, 2}, {3, 1, 0, 2}, {3, 3, 3, 3}}; /* how many; their blocks */

struct tour {
  const struct ws_schedule *s;
  const struct limits *l;
  struct outcome worst;
  bool branches;
};

static bool undecided(const struct tour *y) { return y->worst.trouble == T_NONE || y->worst.trouble >= T_UNKNOWN; }

static void visit(struct tour *y, const int *trips, int ntiles, int mode, int split) {
  struct ws_arena a = {0};
  struct system *x;
  if (setjmp(a.oom)) abort();
  x = WS_NEW(&a, struct system);
  unroll(x, y->s, &a, trips, ntiles, mode, split);
  struct outcome o = y->l->frozen ? freeze(x, y->l) : explore(x, y->l);
  if (o.trouble == T_TOO_LARGE && y->l->then_frozen) {
    o = freeze(x, y->l);
    y->worst.frozen = true;
  }
  y->branches |= x->branches;
  o.states += y->worst.states, o.frozen |= y->worst.frozen;
  bool worse = o.trouble != T_NONE && undecided(y);
  if (worse) y->worst = o;
  y->worst.states = o.states, y->worst.frozen = o.frozen;
  ws_arena_free(&a);
}

static bool splits(const struct ws_schedule *s, int id) {
  for (int i = 0; i < s->nprograms; id -= s->programs[i++].count)
    if (id < s->programs[i].count) return !s->programs[i].role->one_thread;
  return false;
}

static void all_splits(struct tour *y, const int *trips, int ntiles) {
  int n = instances(y->s) / (y->s->pair ? 2 : 1); /* the two CTAs of a pair are alike: split in the first */
  for (int mode = 0; mode < (y->branches ? 2 : 1); mode++) {
    bool any = false;
    for (int i = 0; i < n && undecided(y); i++)
      if (splits(y->s, i)) any = true, visit(y, trips, ntiles, mode, i);
    if (!any) visit(y, trips, ntiles, mode, -1);
  }
}

struct outcome explore_all(const struct ws_schedule *s, const struct limits *l) {
  struct tour y = {.s = s, .l = l};
  size_t singles = 4, sequences = s->persistent || l->sequences ? sizeof more_tiles / sizeof *more_tiles : 0;
  for (int i = 0; i < s->npipelines; i++) { /* both parities of each slot */
    size_t n = (size_t)s->pipelines[i].buffer->stages + 3;
    if (n > sizeof one_tile / sizeof *one_tile) n = sizeof one_tile / sizeof *one_tile;
    if (n > singles) singles = n;
  }
  for (size_t i = 0; i < singles && undecided(&y); i++) all_splits(&y, one_tile[i], 1);
  for (size_t i = 0; i < sequences && undecided(&y); i++) all_splits(&y, more_tiles[i] + 1, more_tiles[i][0]);
  return y.worst;
}
