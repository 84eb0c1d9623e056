/* Parts of register tiles: x.cols(a..b), x.cols(b of n). A part is no copy: it is the registers of these columns. */
#include "eval.h"

int ws_part_first(const struct ws_part *p, int cols) { return p->of ? cols / p->of * p->index : p->first; }

struct tile ws_tile_part(struct lower *l, const struct tile *t, int first, int n) {
  struct tile d = {.mt = t->mt, .packed = t->packed, .lane = t->lane};
  int group = t->lane ? 1 : t->mt ? 4 : 2, pack = t->packed ? 2 : 1; /* elements of a step in the columns, elements a register */
  int from = t->lane ? first : first / 8, rows = t->lane || !t->mt ? 1 : t->mt, each = (t->lane ? n : n / 8) * group / pack;
  d.nt = t->lane ? n : n / 8;
  d.n = rows * each;
  d.reg = WS_NEW_N(l->arena, const char *, d.n);
  for (int i = 0; i < d.n; i++) d.reg[i] = t->reg[i / each * (t->nt * group / pack) + from * group / pack + i % each];
  return d;
}

/* A part of an expression is the expression over parts; a part of what is read is read alone. */
struct ws_node *ws_part_pushed(struct lower *l, struct ws_node *x) {
  struct ws_node *a = x->arg[0], *y;
  int first = ws_part_first(&x->part, a->cols);
  bool read = a->kind == WS_N_READ && a->mem->space != WS_TMEM && !a->mem->transposed && a->layout != WS_L_A;
  if (a->kind != WS_N_OP && !read) return x;
  y = WS_NEW(l->arena, struct ws_node);
  *y = *a;
  y->cols = x->cols;
  if (read) {
    struct ws_mem *m = WS_NEW(l->arena, struct ws_mem);
    *m = *a->mem;
    m->col0 += first, m->cols = x->cols;
    y->mem = m;
    return y;
  }
  y->arg = WS_NEW_N(l->arena, struct ws_node *, a->n);
  for (int i = 0; i < a->n; i++) {
    y->arg[i] = a->arg[i];
    if (a->arg[i]->cols == 1) continue;
    struct ws_node *p = y->arg[i] = WS_NEW(l->arena, struct ws_node);
    *p = *x;
    p->arg = WS_NEW_N(l->arena, struct ws_node *, 1);
    p->arg[0] = a->arg[i], p->type = a->arg[i]->type, p->rows = a->arg[i]->rows, p->layout = a->arg[i]->layout;
  }
  return y;
}

static bool same_columns(const struct ws_part *a, const struct ws_part *b, int cols) {
  return a->of == b->of && ws_part_first(a, cols) == ws_part_first(b, cols);
}

/* Does x read columns of v beside those that are being written? Then nothing may be overwritten before all is read. */
bool ws_part_reads_others(const struct ws_node *x, const struct ws_var *v, const struct ws_part *dst) {
  if (x->kind == WS_N_PART && x->arg[0]->kind == WS_N_VAR) return x->arg[0]->var == v && !same_columns(&x->part, dst, v->cols);
  if (x->kind == WS_N_VAR) return x->var == v;
  for (int i = 0; i < x->n; i++)
    if (ws_part_reads_others(x->arg[i], v, dst)) return true;
  return false;
}
