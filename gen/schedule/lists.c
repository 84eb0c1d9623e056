/* Lists of blocks: which one, in which order, seen from where. */
#include "passes.h"
#include <string.h>

bool ws_is_list(struct ws_scope *sc, const struct ws_expr *e) {
  for (size_t i = 0; i < sc->s->problem->nlists; i++)
    if (e->kind == WS_E_CALL && !strcmp(e->name, sc->s->problem->lists[i].name)) return true;
  return false;
}

static bool list_part(struct ws_scope *sc, const struct ws_expr *e, struct ws_iter *it) {
  static const char *const parts[] = {"first", "rest", "last"};
  for (size_t k = 0; k < 3; k++)
    if (!strcmp(parts[k], e->name)) return it->part = (enum ws_list_part)(WS_FIRST + k), true;
  ws_unknown(sc->s, e->name_pos, "part of a list", e->name, parts, 3);
  return false;
}

static const struct ws_problem_list *find(struct ws_scope *sc, const struct ws_expr *e) {
  const struct ws_problem *p = sc->s->problem;
  const struct ws_problem_list *same = NULL;
  const char *known[16];
  size_t n = 0;
  for (size_t i = 0; i < p->nlists; i++) {
    bool seen = false;
    for (size_t k = 0; k < n; k++) seen |= !strcmp(known[k], p->lists[i].name);
    if (!seen && n < 15) known[n++] = p->lists[i].name;
    if (e->kind != WS_E_CALL || strcmp(e->name, p->lists[i].name)) continue;
    if (e->n == (p->lists[i].given ? 2 : 1)) return &p->lists[i];
    same = &p->lists[i];
  }
  known[n++] = "work";
  if (same) {
    ws_error(sc->s->diags, e->pos, "list", "`%s(t)` takes the variable of `for ... in work`", e->name);
    return NULL;
  }
  struct ws_buf text = {.arena = sc->s->arena};
  ws_expr_print(e, &text);
  ws_unknown(sc->s, e->pos, "list", e->kind == WS_E_CALL ? e->name : text.s, known, n);
  return NULL;
}

/* The block j of queries(t, j). */
static bool given_block(struct ws_scope *sc, const struct ws_expr *e, struct ws_iter *it) {
  it->from = ws_resolve_expr(sc, e);
  if (!it->from) return false;
  const struct ws_problem_list *l = it->from->kind == WS_N_AT ? it->from->list : it->from->iter ? it->from->iter->list : NULL;
  if ((it->from->kind == WS_N_ITER || it->from->kind == WS_N_AT || it->from->kind == WS_N_NEXT) && l && !strcmp(l->dim, it->list->given)) return true;
  ws_error(sc->s->diags, e->pos, "list", "the second argument of `%s` is a block of `%s`", it->list->name, it->list->given);
  return false;
}

struct ws_iter *ws_resolve_list(struct ws_scope *sc, const struct ws_expr *e, const char *var, struct ws_pos pos) {
  struct ws_schedule *s = sc->s;
  struct ws_iter *it = WS_NEW(s->arena, struct ws_iter);
  *it = (struct ws_iter){.name = var, .pos = pos};
  if (e->kind == WS_E_ATTR) {
    if (!list_part(sc, e, it)) return NULL;
    e = e->arg[0];
  }
  if (e->kind == WS_E_NAME && !strcmp(e->name, "work") && it->part == WS_ALL) return it;
  it->list = find(sc, e);
  if (!it->list) return NULL;
  it->of = e->arg[0]->kind == WS_E_NAME ? ws_find_iter(sc, e->arg[0]->name) : NULL;
  if (!it->of || it->of->list) {
    ws_error(s->diags, e->pos, "list", "`%s(t)` takes the variable of `for ... in work`", it->list->name);
    return NULL;
  }
  if (it->list->given && !given_block(sc, e->arg[1], it)) return NULL;
  const struct ws_block_step *b = ws_schedule_block(s, it->list->dim);
  if (!b && !it->list->single) {
    ws_error(s->diags, e->pos, "list", "`work.blocks` does not say the block of `%s`", it->list->dim);
    return NULL;
  }
  it->descending = b && b->descending;
  return it;
}

struct ws_node *ws_list_value(struct ws_scope *sc, const struct ws_expr *list, enum ws_node_kind kind, const struct ws_expr *e) {
  struct ws_iter *it = ws_resolve_list(sc, list, "", e->pos);
  if (!it) return NULL;
  struct ws_node *x = ws_node(sc, kind, e->pos, 0);
  x->type = WS_I32, x->list = it->list, x->iter = it->of, x->from = it->from;
  if (!it->list || it->part != WS_ALL) {
    ws_error(sc->s->diags, e->pos, "list", it->list ? "a part of a list has no length here" : "`work` has no length here");
    return NULL;
  }
  return x;
}
