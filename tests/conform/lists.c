/* Lengths of lists by counting, from the definition: query i of m sees key j of n where j <= i + n - m under the causal mask, and
 * within a window that ends there. A block is on a list where somebody sees somebody. */
#include "conform.h"
#include "play/play.h"
#include <string.h>

static bool sees(const struct ws_schedule *s, const struct shape *x, int64_t row, int64_t key) {
  int64_t diagonal = row + x->sk - x->sq;
  if (s->causal && key > diagonal) return false;
  return !s->window || key > diagonal - s->window;
}

static bool any_seen(const struct ws_schedule *s, const struct shape *x, int64_t r0, int64_t r1, int64_t k0, int64_t k1) {
  for (int64_t r = r0; r < r1 && r < x->sq; r++)
    for (int64_t k = k0; k < k1 && k < x->sk; k++)
      if (sees(s, x, r, k)) return true;
  return false;
}

int queries_of_tile(const struct ws_schedule *s) { return s->tile_rows / (s->group ? s->group : 1); } /* packed: each of all heads that share keys */
static int64_t tile_rows(const struct ws_schedule *s, const struct shape *x) { return s->tile_rows ? queries_of_tile(s) : x->sq; }
static int64_t row_tiles(const struct ws_schedule *s, const struct shape *x) { return (x->sq + tile_rows(s, x) - 1) / tile_rows(s, x); }
int64_t tile_count(const struct ws_schedule *s, const struct shape *x) { return row_tiles(s, x) * x->h * x->b; }

int blocks_of(const struct ws_schedule *s, const struct shape *x, const struct ws_problem_list *list, int64_t tile, int block) {
  int64_t rows = tile_rows(s, x), r0 = tile * rows, n = 0;
  const struct ws_block_step *step = ws_schedule_block(s, list->dim), *given = list->given ? ws_schedule_block(s, list->given) : NULL;
  if (!strcmp(list->dim, "keys")) {
    for (int64_t k = 0; k < x->sk; k += step->step) n += any_seen(s, x, r0, r0 + rows, k, k + step->step);
    return (int)n;
  }
  int64_t k0 = 0, k1 = x->sk;
  if (given) {
    int64_t number = given->descending ? (x->sk + given->step - 1) / given->step - 1 - block : block;
    k0 = number * given->step, k1 = k0 + given->step;
  }
  for (int64_t r = 0; r < x->sq; r += step->step) n += any_seen(s, x, r, r + step->step, k0, k1) != list->unseen;
  return (int)n;
}

/* Work tiles count row tiles fastest, then heads, then batches. With `sort: longest` and lists of different length: one tile a CTA, the
 * last rows of all heads first (of each head by itself before sm_90); a CTA of many tiles gets twins of a head, row tile i from the end
 * and i from the start. */
int tiles_of_group(const struct ws_schedule *s, const struct shape *x, int group, int ngroups, int64_t tile[MOST_TILES]) {
  int64_t n = row_tiles(s, x), heads = x->h * x->b, twins = (n + 1) / 2;
  bool sorted = s->arch >= 90 && s->sort_longest && s->tile_rows && (s->causal || s->window);
  int k = 0;
  if (s->arch < 90 && s->sort_longest) return tile[0] = n - 1 - group % n, 1;
  if (!s->persistent) return tile[0] = sorted ? n - 1 - group / heads : group % n, 1;
  for (int64_t t = group; t < (sorted ? twins : n) * heads; t += ngroups) {
    if (k + 2 > MOST_TILES) return -1;
    int64_t i = t % twins;
    if (!sorted) tile[k++] = t % n;
    if (!sorted) continue;
    tile[k++] = n - 1 - i;
    if (n - 1 - i != i) tile[k++] = i;
  }
  return k;
}
