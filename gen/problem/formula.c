#include "formula.h"
#include <math.h>
#include <string.h>

enum { MOST = 6 };
struct ws_formula { /* a tree like the expression's, with everything looked up */
  enum { CONST, NAME, OP, CALL, SELECT, TENSOR } kind;
  double value;
  int index;        /* NAME; CALL: function */
  enum ws_op op;
  const struct ws_formula_tensor *tensor;
  int n;
  const struct ws_formula *arg[MOST];
};

static const char *const names[WS_FN_COUNT] = {"s", "row", "col", "head", "kv_head", "batch", "queries", "keys", "heads", "kv_heads", "scale", "log2e", "ln2"};
static const struct {
  const char *name;
  int nargs;
  double (*one)(double);
  double (*two)(double, double);
} functions[] = {{"exp", 1, exp, NULL}, {"exp2", 1, exp2, NULL}, {"log", 1, log, NULL}, {"log2", 1, log2, NULL}, {"tanh", 1, tanh, NULL},
                 {"abs", 1, fabs, NULL}, {"floor", 1, floor, NULL}, {"min", 2, NULL, fmin}, {"max", 2, NULL, fmax}};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

struct compiler {
  const struct ws_formula_tensor *tensors;
  size_t ntensors;
  struct ws_arena *arena;
  struct ws_diags *diags;
};

static const struct ws_formula *compile(struct compiler *c, const struct ws_expr *e);

static const struct ws_formula *unknown(struct compiler *c, struct ws_pos pos, const char *what, const char *name, const char *const *known, size_t n) {
  const char *near = ws_nearest(name, known, n);
  if (near)
    ws_error(c->diags, pos, "unknown-name", "unknown %s `%s` in a reference; did you mean `%s`?", what, name, near);
  else
    ws_error(c->diags, pos, "unknown-name", "unknown %s `%s` in a reference", what, name);
  return NULL;
}

static bool arguments(struct compiler *c, struct ws_formula *f, const struct ws_expr *e, size_t first) {
  for (size_t i = first; i < e->n; i++) {
    if (f->n == MOST) {
      ws_error(c->diags, e->pos, "reference", "more than %d arguments", MOST);
      return false;
    }
    if (!(f->arg[f->n++] = compile(c, e->arg[i]))) return false;
  }
  return true;
}

static const struct ws_formula *name(struct compiler *c, struct ws_formula *f, const struct ws_expr *e) {
  f->kind = NAME;
  for (f->index = 0; f->index < WS_FN_COUNT; f->index++)
    if (!strcmp(names[f->index], e->name)) return f;
  if (!strcmp(e->name, "true") || !strcmp(e->name, "false")) {
    f->kind = CONST, f->value = *e->name == 't';
    return f;
  }
  return unknown(c, e->pos, "name", e->name, names, WS_FN_COUNT);
}

static const struct ws_formula *call(struct compiler *c, struct ws_formula *f, const struct ws_expr *e) {
  const char *known[NFUNCTIONS];
  f->kind = CALL, f->index = -1;
  for (int i = 0; i < NFUNCTIONS; i++) {
    known[i] = functions[i].name;
    if (!strcmp(known[i], e->name)) f->index = i;
  }
  if (f->index < 0) return unknown(c, e->name_pos, "function", e->name, known, NFUNCTIONS);
  if ((int)e->n != functions[f->index].nargs) {
    ws_error(c->diags, e->pos, "call", "`%s` takes %d arguments, found %zu", e->name, functions[f->index].nargs, e->n);
    return NULL;
  }
  return arguments(c, f, e, 0) ? f : NULL;
}

/* `head` belongs to a dim `heads`, not to `kv_heads`. */
static bool fits_dim(struct compiler *c, const struct ws_expr *index, const char *tensor, const char *dim) {
  static const struct {
    const char *index, *dim;
  } of[] = {{"batch", "batch"}, {"head", "heads"}, {"kv_head", "kv_heads"}, {"row", "queries"}, {"col", "keys"}};
  enum { N = sizeof of / sizeof *of };
  int is = -1, wanted = -1;
  for (int i = 0; i < N; i++) {
    if (index->kind == WS_E_NAME && !strcmp(index->name, of[i].index)) is = i;
    if (dim && !strcmp(dim, of[i].dim)) wanted = i;
  }
  if (is < 0 || wanted < 0 || is == wanted) return true;
  ws_error(c->diags, index->pos, "reference", "`%s` counts %s; this dim of `%s` is %s: write `%s`", index->name, of[is].dim, tensor, dim, of[wanted].index);
  return false;
}

static const struct ws_formula *element(struct compiler *c, struct ws_formula *f, const struct ws_expr *e) {
  f->kind = TENSOR;
  const char *base = e->arg[0]->kind == WS_E_NAME ? e->arg[0]->name : "";
  const char **known = WS_NEW_N(c->arena, const char *, c->ntensors + 1);
  for (size_t i = 0; i < c->ntensors; i++) {
    known[i] = c->tensors[i].name;
    if (!strcmp(known[i], base)) f->tensor = &c->tensors[i];
  }
  if (!f->tensor) return unknown(c, e->pos, "tensor", base, known, c->ntensors);
  if ((int)e->n - 1 != f->tensor->rank) {
    ws_error(c->diags, e->pos, "reference", "`%s` has %d dims, found %zu indices", base, f->tensor->rank, e->n - 1);
    return NULL;
  }
  for (size_t i = 1; i < e->n; i++)
    if (!fits_dim(c, e->arg[i], base, f->tensor->dim[i - 1])) return NULL;
  return arguments(c, f, e, 1) ? f : NULL;
}

static const struct ws_formula *compile(struct compiler *c, const struct ws_expr *e) {
  struct ws_formula *f = WS_NEW(c->arena, struct ws_formula);
  switch (e->kind) {
  case WS_E_NUMBER: f->kind = CONST, f->value = e->number; return f;
  case WS_E_NAME: return name(c, f, e);
  case WS_E_CALL: return call(c, f, e);
  case WS_E_INDEX: return element(c, f, e);
  case WS_E_UNARY: case WS_E_BINARY: f->kind = OP, f->op = e->op; return arguments(c, f, e, 0) ? f : NULL;
  case WS_E_SELECT: f->kind = SELECT; return arguments(c, f, e, 0) ? f : NULL;
  default: ws_error(c->diags, e->pos, "reference", "this has no value in a reference"); return NULL;
  }
}

struct ws_formula *ws_formula_compile(const struct ws_expr *e, const struct ws_formula_tensor *tensors, size_t ntensors, struct ws_arena *a,
                                      struct ws_diags *d) {
  struct compiler c = {tensors, ntensors, a, d};
  const struct ws_formula *f = compile(&c, e);
  if (!f) return NULL;
  struct ws_formula *root = WS_NEW(a, struct ws_formula);
  *root = *f;
  return root;
}

static double load(const struct ws_formula *f, const double *at) {
  const char *p = f->tensor->data;
  for (int i = 0; i < f->n; i++) {
    double v = ws_formula_value(f->arg[i], at);
    if (!(v >= 0) || v >= (double)f->tensor->shape[i]) return NAN;
    p += (int64_t)v * f->tensor->stride[i];
  }
  return (double)ws_ref_load(p, f->tensor->type);
}

static double operation(const struct ws_formula *f, const double *at) {
  double a = ws_formula_value(f->arg[0], at);
  if (f->op == WS_OP_NEG) return -a;
  if (f->op == WS_OP_NOT) return a == 0;
  if (f->op == WS_OP_AND && a == 0) return 0;
  if (f->op == WS_OP_OR && a != 0) return 1;
  double b = ws_formula_value(f->arg[1], at);
  switch (f->op) {
  case WS_OP_ADD: return a + b;
  case WS_OP_SUB: return a - b;
  case WS_OP_MUL: return a * b;
  case WS_OP_DIV: return a / b;
  case WS_OP_MOD: return a - floor(a / b) * b;
  case WS_OP_EQ: return a == b;
  case WS_OP_NE: return a != b;
  case WS_OP_LT: return a < b;
  case WS_OP_LE: return a <= b;
  case WS_OP_GT: return a > b;
  case WS_OP_GE: return a >= b;
  case WS_OP_AND: case WS_OP_OR: return b != 0;
  default: return NAN;
  }
}

double ws_formula_value(const struct ws_formula *f, const double *at) {
  switch (f->kind) {
  case CONST: return f->value;
  case NAME: return at[f->index];
  case OP: return operation(f, at);
  case SELECT: return ws_formula_value(f->arg[ws_formula_value(f->arg[0], at) != 0 ? 1 : 2], at);
  case TENSOR: return load(f, at);
  case CALL: {
    double a = ws_formula_value(f->arg[0], at);
    return functions[f->index].one ? functions[f->index].one(a) : functions[f->index].two(a, ws_formula_value(f->arg[1], at));
  }
  }
  return NAN;
}
