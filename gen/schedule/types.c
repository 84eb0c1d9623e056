/* Shapes, element types and layouts of register tiles.
 *
 * A name has one shape, the widest of its assignments, and one layout. Both are found as the least fixpoint: every name
 * starts as [1, 1] without a layout, and the program is walked until nothing grows. Layouts flow both ways: from products
 * and memory to uses, and from a use back to a `read` that nothing else decides. What products and TMEM fix comes first, then
 * what is read as a left operand, and what nothing decides is `copy`. Then one more walk checks the rules. */
#include "passes.h"
#include <limits.h>
#include <math.h>
#include <string.h>

struct infer {
  struct ws_schedule *s;
  struct ws_programm *p;
  enum stage { FLOW, OPERANDS, REST } stage; /* layouts that instructions fix; then A operands; then `copy` for what is left */
  bool changed, check;
};

static int max_int(int a, int b) { return a > b ? a : b; }

static void shape_error(struct infer *in, const struct ws_node *x, const struct ws_node *a, const struct ws_node *b) {
  ws_error(in->s->diags, x->pos, "shape", "shapes do not fit: [%d, %d] and [%d, %d]; an extent is equal or 1", a->rows, a->cols,
           b->rows, b->cols);
}

static void layout_error(struct infer *in, struct ws_pos pos, const struct ws_node *a, const struct ws_node *b) {
  ws_error(in->s->diags, pos, "layout", "layouts differ: `%s` meets `%s`; the way over is write, sync, read",
           ws_layout_name(a->layout), ws_layout_name(b->layout));
  ws_note(in->s->diags, a->pos, "layout `%s` here", ws_layout_name(a->layout));
  ws_note(in->s->diags, b->pos, "layout `%s` here", ws_layout_name(b->layout));
}

/* A use that takes layout l: decides what nothing else has decided. */
static void want(struct infer *in, struct ws_node *x, enum ws_layout l) {
  if (l == WS_L_NONE || x->layout != WS_L_NONE || (x->rows == 1 && x->cols == 1)) return;
  if (l == WS_L_A && in->stage < OPERANDS) return;
  switch (x->kind) {
  case WS_N_READ: x->layout = l, in->changed = true; break;
  case WS_N_VAR:
    if (x->var->layout == WS_L_NONE) x->var->layout = x->layout = l, in->changed = true;
    break;
  case WS_N_PART: want(in, x->arg[0], l); break; /* a part lies as the whole does */
  case WS_N_OP: case WS_N_MASK: case WS_N_REDUCE:
    for (int i = 0; i < x->n; i++) want(in, x->arg[i], l == WS_L_A ? WS_L_ACC : l);
    break;
  default: break;
  }
}

static void join_args(struct infer *in, struct ws_node *x) {
  int r = 1, c = 1;
  const struct ws_node *first = NULL;
  x->partial = false;
  for (int i = 0; i < x->n; i++) {
    const struct ws_node *a = x->arg[i];
    if (in->check && i && ((a->rows != 1 && r != 1 && a->rows != r) || (a->cols != 1 && c != 1 && a->cols != c)))
      return shape_error(in, x, &(struct ws_node){.rows = r, .cols = c}, a);
    r = max_int(r, a->rows), c = max_int(c, a->cols);
    x->partial |= a->partial;
    if (a->layout == WS_L_NONE || (a->rows == 1 && a->cols == 1)) continue;
    if (first && in->check && first->layout != a->layout) layout_error(in, x->pos, first, a);
    if (!first) first = a;
  }
  x->rows = r, x->cols = c;
  x->layout = first ? first->layout : WS_L_NONE;
  if (first)
    for (int i = 0; i < x->n; i++) want(in, x->arg[i], first->layout);
}

/* A value that may stand in a partial row sum: the total counts it once for each thread that has a part of the row. */
static bool fits_partial(const struct ws_node *x) { return x->partial || (x->kind == WS_N_CONST && x->value == 0); }

/* Partial sums may be added and scaled by complete rows, and compared where a vote asks all lanes; anything else needs the total. */
static void check_partial(struct infer *in, const struct ws_node *x) {
  if (!in->check || !x->partial || (x->fn >= WS_F_EQ && x->fn <= WS_F_NOT)) return;
  bool choice = x->fn == WS_F_SELECT && !x->arg[0]->partial;
  if (choice || x->fn == WS_F_ADD) {
    for (int i = choice; i < x->n; i++)
      if (!fits_partial(x->arg[i]))
        ws_error(in->s->diags, x->arg[i]->pos, "partial", "this is complete and meets a partial row sum, where it would count once for each thread of the row: add it behind `total`");
    return;
  }
  bool scale = (x->fn == WS_F_MUL || x->fn == WS_F_DIV) && x->arg[0]->partial + x->arg[1]->partial <= 1;
  if (!scale || (x->fn == WS_F_DIV && x->arg[1]->partial))
    ws_error(in->s->diags, x->pos, "partial", "a partial row sum can be added and scaled; finish it with `total` first");
}

static bool comparison(enum ws_fn f) { return f >= WS_F_EQ && f <= WS_F_NOT; }

/* Integers stay integers under + - * % min max abs and in choices; a quotient is a number, and so is what meets a number or
 * a constant with a fraction. floor(a / b) of integers is the integer quotient, rounded down. */
static bool keeps_integers(const struct ws_node *x) {
  switch (x->fn) {
  case WS_F_DIV: case WS_F_EXP2: case WS_F_LOG2: case WS_F_TANH: case WS_F_FINITE: return false;
  default: return true;
  }
}

static bool whole(const struct ws_node *x) { return x->value == floor(x->value) && fabs(x->value) < 1e9; }

static bool integer_quotient(const struct ws_node *x) {
  const struct ws_node *d = x->fn == WS_F_FLOOR ? x->arg[0] : NULL;
  if (!d || d->kind != WS_N_OP || d->fn != WS_F_DIV) return false;
  for (int i = 0; i < 2; i++)
    if (d->arg[i]->kind == WS_N_CONST ? !whole(d->arg[i]) : d->arg[i]->type != WS_I32) return false;
  return true;
}

/* What f16 can do by itself: two columns an instruction. */
static bool in_f16(enum ws_fn f) {
  return f == WS_F_ADD || f == WS_F_SUB || f == WS_F_MUL || f == WS_F_NEG || f == WS_F_MAX || f == WS_F_MIN || f == WS_F_ABS || f == WS_F_EXP2;
}

static void op(struct infer *in, struct ws_node *x) {
  join_args(in, x);
  check_partial(in, x);
  if (x->fn == WS_F_CAST) return;
  bool ints = true, any = false, half = false, other = false;
  for (int i = x->fn == WS_F_SELECT; i < x->n; i++) {
    if (x->arg[i]->kind == WS_N_CONST) {
      ints &= whole(x->arg[i]);
      continue;
    }
    any = true;
    half |= x->arg[i]->type == WS_F16, other |= x->arg[i]->type != WS_F16 && x->arg[i]->type != WS_T_NONE;
    ints &= x->arg[i]->type == WS_I32;
    if (in->check && !comparison(x->fn) && x->arg[i]->type == WS_BOOL)
      ws_error(in->s->diags, x->arg[i]->pos, "type", "a condition is not a number: write `a if cond else b`");
    if (in->check && (x->fn == WS_F_AND || x->fn == WS_F_OR || x->fn == WS_F_NOT) && x->arg[i]->type != WS_BOOL && x->arg[i]->kind != WS_N_LEN)
      ws_error(in->s->diags, x->arg[i]->pos, "type", "`%s` joins conditions, this is a number", ws_fn_name(x->fn));
    if (in->check && x->arg[i]->type != WS_BOOL && x->arg[i]->type != WS_F16 && ws_type_bits(x->arg[i]->type) < 32)
      ws_error(in->s->diags, x->arg[i]->pos, "type", "arithmetic is done in f32 or f16: cast to another narrow type last");
  }
  if (in->check && x->fn == WS_F_SELECT && x->arg[0]->type != WS_BOOL)
    ws_error(in->s->diags, x->arg[0]->pos, "type", "the condition of a choice is a comparison");
  if (integer_quotient(x)) ints = any = true;
  if (in->check && half && (other || !in_f16(x->fn)))
    ws_error(in->s->diags, x->pos, "type", other ? "f16 meets another type here: cast one of them" : "`%s` is not done in f16: cast to f32 first", ws_fn_sign(x->fn));
  x->type = comparison(x->fn) ? WS_BOOL : half && !other ? WS_F16 : any && ints && keeps_integers(x) ? WS_I32 : WS_F32;
}

static void reduce(struct infer *in, struct ws_node *x) {
  const struct ws_node *a = x->arg[0];
  x->layout = a->layout, x->type = a->type, x->partial = false;
  switch (x->fn) {
  case WS_F_ROWPART: x->partial = true; /* fall through */
  case WS_F_ROWMAX: case WS_F_ROWSUM: x->rows = a->rows, x->cols = 1; break;
  case WS_F_TOTAL: x->rows = a->rows, x->cols = a->cols; break;
  case WS_F_COLMAX: case WS_F_COLSUM: x->rows = 1, x->cols = a->cols; break;
  default: x->rows = x->cols = 1, x->layout = WS_L_NONE; break;
  }
  if (!in->check) return;
  if (a->partial && x->fn != WS_F_TOTAL && x->fn != WS_F_ANY && x->fn != WS_F_ALL)
    ws_error(in->s->diags, x->pos, "partial", "a partial row sum can be added and scaled; finish it with `total` first");
  if (x->fn == WS_F_TOTAL && !a->partial)
    ws_error(in->s->diags, x->pos, "partial", "`total` finishes a partial row sum (`rowpart`); this is complete");
  if ((x->fn == WS_F_ANY || x->fn == WS_F_ALL) && a->type != WS_BOOL)
    ws_error(in->s->diags, a->pos, "type", "`%s` takes a condition on elements, e.g. `any(x > m)`", ws_fn_name(x->fn));
}

static void mask(struct infer *in, struct ws_node *x) {
  const struct ws_node *a = x->arg[0];
  x->rows = a->rows, x->cols = a->cols, x->layout = a->layout, x->type = a->type;
  if (!in->check) return;
  const struct ws_mem *tiles[] = {x->mem, x->mem2};
  int extent[] = {a->rows, a->cols};
  for (int i = 0; i < 2; i++) {
    if (tiles[i]->space != WS_GLOBAL)
      ws_error(in->s->diags, tiles[i]->pos, "mask", "`mask(x, ROWS, COLS)` names the global tiles whose rows are the rows and the columns of x");
    else if (tiles[i]->rows != extent[i])
      ws_error(in->s->diags, tiles[i]->pos, "mask", "x has %d %s, this tile has %d rows", extent[i], i ? "columns" : "rows", tiles[i]->rows);
  }
}

static void infer_node(struct infer *in, struct ws_node *x);

/* An index of a tile: a uniform integer. */
static void infer_index(struct infer *in, struct ws_node *x) {
  if (!x) return;
  infer_node(in, x);
  bool whole = x->kind == WS_N_CONST && x->value == (double)(long)x->value;
  if (in->check && !whole && (x->type != WS_I32 || x->rows != 1 || x->cols != 1))
    ws_error(in->s->diags, x->pos, "index", "an index is one integer, found %s [%d, %d]", ws_type_name(x->type), x->rows, x->cols);
}

static void infer_mem(struct infer *in, struct ws_mem *m) {
  if (!m) return;
  infer_index(in, m->block);
  infer_index(in, m->col_block);
  for (int k = 0; k < WS_MAX_DIMS; k++) infer_index(in, m->coord[k]);
  const struct ws_rolem *r = in->p->role;
  if (in->check && m->space == WS_TMEM && (r->warps % 4 || r->first_warp % 4))
    ws_error(in->s->diags, m->pos, "warpgroup", "TMEM is read and written by whole warpgroups: `%s` has %d warp%s from warp %d on", r->name, r->warps, r->warps > 1 ? "s" : "",
             r->first_warp);
}

static void infer_read(struct infer *in, struct ws_node *x) {
  const struct ws_mem *m = x->mem;
  infer_mem(in, x->mem);
  x->rows = m->transposed ? m->cols : m->rows, x->cols = m->transposed ? m->rows : m->cols;
  x->type = m->space == WS_GLOBAL ? m->tensor->type : m->buffer->type;
  if (m->space == WS_TMEM && x->layout == WS_L_NONE) x->layout = WS_L_LANE, in->changed = true;
  if (in->check && m->space == WS_TMEM && m->transposed) ws_error(in->s->diags, m->pos, "transposed", "TMEM is read as it lies: no `.T`");
}

/* A part of the columns: the rows of a register tile lie in different threads. */
static void infer_part(struct infer *in, struct ws_node *x) {
  const struct ws_node *a = x->arg[0];
  const struct ws_part *p = &x->part;
  int whole = p->cols ? a->cols : a->rows, n = p->of ? whole / p->of : p->last - p->first + 1;
  x->rows = a->rows, x->cols = a->cols, x->type = a->type, x->layout = a->layout, x->partial = a->partial;
  if (n < 1) n = 1;
  *(p->cols ? &x->cols : &x->rows) = n;
  if (!in->check) return;
  if (!p->cols)
    ws_error(in->s->diags, x->pos, "part", "the rows of a register tile lie in different threads: take a part of its columns");
  else if (p->of ? whole % p->of : p->last >= whole)
    ws_error(in->s->diags, x->pos, "part", p->of ? "%d columns do not split into %d equal parts" : "the tile has %d columns, this part ends at %d", whole, p->of ? p->of : p->last);
  else if ((a->layout == WS_L_ACC || a->layout == WS_L_A) && (n % 8 || (!p->of && p->first % 8)))
    ws_error(in->s->diags, x->pos, "part", "a part of layout `%s` is a multiple of 8 columns, not %d", ws_layout_name(a->layout), n);
}

static void infer_node(struct infer *in, struct ws_node *x) {
  for (int i = 0; i < x->n; i++) infer_node(in, x->arg[i]);
  switch (x->kind) {
  case WS_N_VAR:
    x->rows = x->var->rows, x->cols = x->var->cols, x->type = x->var->type, x->layout = x->var->layout, x->partial = x->var->partial;
    break;
  case WS_N_OP: op(in, x); break;
  case WS_N_REDUCE: reduce(in, x); break;
  case WS_N_MASK:
    infer_mem(in, x->mem);
    infer_mem(in, x->mem2);
    mask(in, x);
    break;
  case WS_N_READ: infer_read(in, x); break;
  case WS_N_PART: infer_part(in, x); break;
  case WS_N_START: x->type = WS_I32; break;
  case WS_N_ROWPOS: case WS_N_COLPOS:
    infer_mem(in, x->mem);
    x->rows = x->kind == WS_N_ROWPOS ? x->mem->rows : 1, x->cols = x->kind == WS_N_COLPOS ? x->mem->rows : 1, x->type = WS_I32;
    if (in->check && x->mem->space != WS_GLOBAL)
      ws_error(in->s->diags, x->mem->pos, "mask", "positions belong to a tile of a tensor");
    break;
  default: break;
  }
}

static void grow(struct infer *in, struct ws_var *v, const struct ws_node *x) {
  int r = max_int(v->rows, x->rows), c = max_int(v->cols, x->cols);
  if (r != v->rows || c != v->cols) v->rows = r, v->cols = c, in->changed = true;
  if (v->layout == WS_L_NONE && x->layout != WS_L_NONE && (x->rows > 1 || x->cols > 1)) v->layout = x->layout, in->changed = true;
  if (x->kind == WS_N_CONST) {
    if (v->type == WS_T_NONE && v->nassign == 1) v->type = WS_F32, in->changed = true;
    return;
  }
  if (v->type == WS_T_NONE) v->type = x->type, in->changed = true;
  if (!v->partial && x->partial) v->partial = true, in->changed = true;
}

/* What an assignment to a part of a tile says of the whole. */
static struct ws_node scaled(const struct ws_act *a) {
  struct ws_node x = *a->value;
  if (a->dst_part.given && a->dst_part.cols && x.kind != WS_N_CONST) x.cols *= a->dst_part.of;
  return x;
}

static void check_assign(struct infer *in, const struct ws_act *a) {
  const struct ws_var *v = a->dst;
  const struct ws_node whole = scaled(a), *x = &whole;
  if (a->dst_part.given && !a->dst_part.cols) {
    ws_error(in->s->diags, a->src->dst->pos, "part", "the rows of a register tile lie in different threads: assign a part of its columns");
    return;
  }
  if (x->kind == WS_N_CONST) {
    if (v->partial && x->value != 0)
      ws_error(in->s->diags, x->pos, "partial", "`%s` holds a partial row sum, in which this would count once for each thread of the row: start from 0 and add it behind `total`", v->name);
    return;
  }
  bool widened = v->adds && (x->rows == v->rows || x->rows == 1) && (x->cols == v->cols || x->cols == 1);
  if ((x->rows != v->rows || x->cols != v->cols) && !widened)
    ws_error(in->s->diags, x->pos, "shape", "`%s` is [%d, %d] elsewhere, [%d, %d] here; only a constant is widened", v->name, v->rows,
             v->cols, x->rows, x->cols);
  else if (x->layout != v->layout && x->layout != WS_L_NONE)
    layout_error(in, a->src->pos, &(struct ws_node){.pos = v->pos, .layout = v->layout}, x);
  if (x->type != v->type)
    ws_error(in->s->diags, x->pos, "type", "`%s` is %s elsewhere, %s here", v->name, ws_type_name(v->type), ws_type_name(x->type));
  if (v->partial && !x->partial)
    ws_error(in->s->diags, x->pos, "partial", "`%s` holds a partial row sum elsewhere", v->name);
}

static void check_layout(struct infer *in, const struct ws_var *v) {
  if (v->layout == WS_L_LANE && v->rows > 32 * in->p->role->warps)
    ws_error(in->s->diags, v->pos, "layout", "`%s` has %d rows, one a thread: `%s` has %d threads", v->name, v->rows, in->p->role->name, 32 * in->p->role->warps);
  int per = 16 * in->p->role->warps;
  bool wgmma = in->s->arch == 90 && in->p->role->warps % 4 == 0;
  if ((v->layout == WS_L_ACC || v->layout == WS_L_A) && v->rows > 1 && v->rows % per)
    ws_error(in->s->diags, v->pos, "layout", "`%s` has %d rows: %d %s take a multiple of %d", v->name, v->rows, wgmma ? per / 64 : in->p->role->warps,
             wgmma ? "warpgroups of wgmma" : "warps of mma.sync", per);
}

static void product(struct infer *in, struct ws_act *a) {
  if (a->a) {
    infer_node(in, a->a);
    want(in, a->a, WS_L_A);
  }
  if (a->dst) {
    struct ws_product_shape p = ws_product_shape(in->s, a);
    struct ws_node d = {.rows = p.m, .cols = p.n, .type = WS_F32, .layout = WS_L_ACC, .kind = WS_N_OP};
    grow(in, a->dst, &d);
    a->dst->adds |= a->accumulate;
    if (a->dst->type != WS_F32) a->dst->type = WS_F32, in->changed = true;
  }
  if (in->check) ws_check_product(in->s, in->p, a);
}

static void moved(struct infer *in, struct ws_act *a) {
  infer_mem(in, a->to->space == WS_TMEM && !a->value ? NULL : a->to);
  if (a->from && a->from->space != WS_TMEM) infer_mem(in, a->from);
  if (!a->value) return;
  infer_node(in, a->value);
  if (a->to->space == WS_TMEM) want(in, a->value, WS_L_LANE);
  if (in->stage == REST) want(in, a->value, WS_L_COPY);
  if (!in->check) return;
  const struct ws_node *x = a->value;
  struct ws_diags *dg = in->s->diags;
  bool is_const = x->kind == WS_N_CONST;
  enum ws_type t = a->to->space == WS_GLOBAL ? a->to->tensor->type : a->to->buffer->type;
  if (!is_const && x->type != t)
    ws_error(dg, x->pos, "type", "%s goes into %s memory: cast it", ws_type_name(x->type), ws_type_name(t));
  if (!is_const && (x->rows != (a->to->transposed ? a->to->cols : a->to->rows) || x->cols != (a->to->transposed ? a->to->rows : a->to->cols)))
    ws_error(dg, a->src->pos, "shape", "shapes differ: [%d, %d] -> [%d, %d]", x->rows, x->cols, a->to->rows, a->to->cols);
  if (x->partial) ws_error(dg, x->pos, "partial", "a partial row sum leaves the registers: finish it with `total` first");
  if (!is_const && a->to->space == WS_TMEM && x->layout != WS_L_LANE && (x->rows > 1 || x->cols > 1))
    layout_error(in, x->pos, x, &(struct ws_node){.pos = a->to->pos, .layout = WS_L_LANE});
}

static void assign(struct infer *in, struct ws_act *a) {
  if (!a->dst) return; /* a slot's second name; D = 0 */
  infer_node(in, a->value);
  struct ws_node x = scaled(a);
  grow(in, a->dst, &x);
  want(in, a->value, a->dst->layout);
  if (a->dst2) grow(in, a->dst2, &(struct ws_node){.kind = WS_N_OP, .rows = x.rows, .cols = 1, .type = x.type, .layout = x.layout});
  if (!in->check) return;
  check_assign(in, a);
  if (a->single && (a->dst->rows > 1 || a->dst->cols > 1))
    ws_error(in->s->diags, a->src->pos, "one-thread", "`%s` is a register tile [%d, %d]: one thread has single values only", a->dst->name, a->dst->rows, a->dst->cols);
}

static void counter(struct infer *in, const struct ws_act *a) {
  if (a->from) infer_mem(in, a->from);
  if (a->value) infer_index(in, a->value);
}

static void infer_act(void *ctx, struct ws_act *a) {
  struct infer *in = ctx;
  switch (a->kind) {
  case WS_S_ASSIGN: case WS_S_ASSIGN2: assign(in, a); break;
  case WS_S_PRODUCT: product(in, a); break;
  case WS_S_STORE: case WS_S_WRITE: case WS_S_REDUCE: case WS_S_LOAD: case WS_S_COPY: moved(in, a); break;
  case WS_S_WAIT_EQ: case WS_S_ARRIVE: case WS_S_WAIT_PHASE: case WS_S_ARRIVE_EXPECT: case WS_S_INIT: counter(in, a); break;
  default: break;
  }
  if (a->when) infer_node(in, a->when);
  for (int i = 0; i < a->narms; i++)
    if (a->arms[i].cond) {
      infer_node(in, a->arms[i].cond);
      if (in->check && (a->arms[i].cond->rows > 1 || a->arms[i].cond->cols > 1))
        ws_error(in->s->diags, a->arms[i].cond->pos, "condition", "a branch takes a uniform condition; for elements write `a if cond else b`");
    }
}

/* What a product writes is an accumulator, whatever else is done with it. */
static void accumulators(void *ctx, struct ws_act *a) {
  (void)ctx;
  if (a->kind == WS_S_PRODUCT && a->dst) a->dst->layout = WS_L_ACC;
}

static void settle(struct infer *in) {
  /* Every round grows a shape, decides a layout or a type; a name grows at most a few times. */
  in->changed = true;
  for (size_t round = 0; in->changed && round < 8 * in->p->nvars + 8; round++) {
    in->changed = false;
    ws_each_act(in->p->body, infer_act, in);
  }
}

void ws_pass_types(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++) {
    struct infer in = {.s = s, .p = &s->programs[i]};
    ws_each_act(in.p->body, accumulators, NULL);
    ws_find_integers(s, in.p);
    for (in.stage = FLOW; in.stage < REST; in.stage++) settle(&in);
    settle(&in); /* REST: a store decides for what it moves */
    for (size_t k = 0; k < in.p->nvars; k++) {
      struct ws_var *v = in.p->vars[k];
      if (v->type == WS_T_NONE) v->type = WS_F32;
      if (v->layout == WS_L_NONE && (v->rows > 1 || v->cols > 1)) v->layout = WS_L_COPY;
    }
    settle(&in);
    in.check = true;
    ws_each_act(in.p->body, infer_act, &in);
    for (size_t k = 0; k < in.p->nvars; k++) check_layout(&in, in.p->vars[k]);
  }
}
