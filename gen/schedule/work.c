/* The work: tiles, blocks of the inner lists, launch; the window of a mask. */
#include "passes.h"
#include <string.h>

/* Dims that a list walks in blocks: those that `blocks` may cut. */
static size_t block_dims(const struct ws_problem *p, const char **dims) {
  size_t n = 0;
  for (size_t i = 0; i < p->nlists; i++) {
    bool seen = p->lists[i].single;
    for (size_t k = 0; k < n; k++) seen |= !strcmp(dims[k], p->lists[i].dim);
    if (!seen && n < 8) dims[n++] = p->lists[i].dim;
  }
  return n;
}

static void tile_entry(struct ws_schedule *s, const struct ws_pair *t) {
  const struct ws_problem *p = s->problem;
  static const char *const packs[] = {"gqa"};
  const char *known[3] = {p->work_dim};
  size_t n = 1;
  if (p->splits) known[n++] = "splits";
  if (p->packs) known[n++] = "pack";
  long v;
  if (p->splits && !strcmp(t->key, "splits")) {
    if (ws_static_int(s, NULL, t->value, 1, 1, "the splits of a work tile", &v)) s->tile_splits = (int)v;
  } else if (!strcmp(t->key, "pack")) {
    if (!p->packs)
      ws_error(s->diags, t->pos, "problem", "problem `%s` has no packed rows: `pack` belongs to attention.forward and attention.decode", p->name);
    else
      s->pack = ws_static_word(s, t->value, "way to pack rows", packs, 1) != NULL;
  } else if (strcmp(t->key, p->work_dim))
    ws_unknown(s, t->pos, "extent of a work tile", t->key, known, n);
  else if (t->value->kind == WS_E_NAME && !strcmp(t->value->name, "all"))
    s->tile_rows = 0;
  else if (ws_static_int(s, NULL, t->value, 1, 4096, "the extent of a work tile", &v))
    s->tile_rows = (int)v;
}

static void blocks(struct ws_schedule *s, const struct ws_work *w) {
  const char *dims[8];
  size_t ndims = block_dims(s->problem, dims);
  long v;
  for (size_t i = 0; i < w->nblocks; i++) {
    const struct ws_pair *b = &w->blocks[i];
    bool known = false;
    for (size_t k = 0; k < ndims; k++) known |= !strcmp(dims[k], b->key);
    if (!known)
      ws_unknown(s, b->pos, "dim to cut into blocks", b->key, dims, ndims);
    else if (ws_static_int(s, NULL, b->value, 1, 4096, "the extent of a block", &v) && s->nblocks < 4)
      s->blocks[s->nblocks++] = (struct ws_block_step){b->key, (int)v, false};
  }
  static const char *const orders[] = {"ascending", "descending"};
  for (size_t i = 0; i < w->norder; i++) {
    const char *o = ws_static_word(s, w->order[i].value, "order", orders, 2);
    bool found = false;
    for (int k = 0; k < s->nblocks; k++)
      if (!strcmp(s->blocks[k].dim, w->order[i].key)) s->blocks[k].descending = o && *o == 'd', found = true;
    if (!found)
      ws_error(s->diags, w->order[i].pos, "work", "`order` names `%s`, which `blocks` does not cut", w->order[i].key);
  }
}

/* Where a parameter stands, for errors about its value. */
static struct ws_pos position_of(const struct ws_schedule *s, const struct ws_static *v) {
  for (size_t i = 0; i < s->nparams; i++)
    if (&s->params[i].value == v) return s->params[i].pos;
  return s->doc->pos;
}

static void window(struct ws_schedule *s) {
  const struct ws_static *w = ws_schedule_param(s, "window");
  if (!w || (w->kind == WS_ST_INT && !w->i)) return;
  struct ws_pos pos = position_of(s, w);
  if (w->kind != WS_ST_INT || w->i < 0 || w->i > 1 << 30)
    ws_error(s->diags, pos, "problem", "`window` is the number of keys that a row sees up to the diagonal, 0 for all");
  else if (!s->causal)
    ws_error(s->diags, pos, "problem", "a window ends at the diagonal: it needs `causal: true`");
  else
    s->window = (int)w->i;
}

/* The heads that a tile packs. Its rows are whole queries: all heads of each. */
static void group(struct ws_schedule *s, struct ws_pos pack) {
  const struct ws_static *g = ws_schedule_param(s, "group");
  if (!g)
    ws_error(s->diags, pack, "problem", "`pack: gqa` needs a parameter `group`: how many query heads share a key head");
  else if (g->kind != WS_ST_INT || g->i < 1 || g->i > 256)
    ws_error(s->diags, position_of(s, g), "problem", "`group` is how many query heads share a key head: an integer from 1 to 256");
  else if (!s->tile_rows)
    ws_error(s->diags, pack, "work", "`pack: gqa` needs a tile of so many rows, not of all");
  else if (s->tile_rows % g->i)
    ws_error(s->diags, position_of(s, g), "work", "a tile of %d rows does not hold whole queries of %ld heads: `group` must divide its rows", s->tile_rows, g->i);
  else
    s->group = (int)g->i;
}

void ws_declare_work(struct ws_schedule *s) {
  const struct ws_work *w = &s->doc->work;
  const struct ws_static *causal = ws_schedule_param(s, "causal");
  long v;
  s->causal = causal && causal->kind == WS_ST_BOOL && causal->i;
  window(s);
  s->tile_rows = -1;
  const struct ws_pair *pack = NULL;
  for (size_t i = 0; i < w->ntile; i++) {
    tile_entry(s, &w->tile[i]);
    if (!strcmp(w->tile[i].key, "pack")) pack = &w->tile[i];
  }
  if (s->tile_rows < 0) {
    if (!s->diags->errors)
      ws_error(s->diags, w->pos.line ? w->pos : s->doc->pos, "work", "`work` needs `tile: {%s: ...}`: the rows of a work tile",
               s->problem->work_dim);
    s->tile_rows = 0;
  } else if (s->pack && s->problem->packs == WS_PACKS_HEADS)
    group(s, pack->pos);
  s->tile_dim = s->problem->packs == WS_PACKS_DIM ? "packed" : s->problem->work_dim;
  blocks(s, w);
  static const char *const launches[] = {"single", "persistent"}, *const sorts[] = {"longest"}, *const clusters[] = {"pair"};
  const char *word = w->launch ? ws_static_word(s, w->launch, "launch", launches, 2) : NULL;
  s->persistent = word && *word == 'p';
  if (w->sort) s->sort_longest = ws_static_word(s, w->sort, "sort", sorts, 1) != NULL;
  if (w->cluster) s->pair = ws_static_word(s, w->cluster, "cluster", clusters, 1) != NULL;
  if (s->pair && s->arch < 90) ws_error(s->diags, w->cluster->pos, "target", "clusters exist from sm_90 on, not on %s", s->target);
  if (w->ctas && ws_static_int(s, NULL, w->ctas, 1, 32, "the number of CTAs an SM", &v)) s->ctas = (int)v;
}

const struct ws_block_step *ws_schedule_block(const struct ws_schedule *s, const char *dim) {
  for (int i = 0; i < s->nblocks; i++)
    if (!strcmp(s->blocks[i].dim, dim)) return &s->blocks[i];
  return NULL;
}
