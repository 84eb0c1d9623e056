/* Tensors: the problem's, workspaces, and inputs of the schedule's own.
 *
 * Which dims are rows and columns of a tile: the last two; a problem's table says it, and in a declaration a dim that the
 * work tile already fixes (batch, heads, kv_heads, splits) is never one of them: [heads] is one value a head. */
#include "passes.h"
#include <string.h>

static const char *const outer_dims[] = {"batch", "heads", "kv_heads", "splits", "pages"};
static const char *const inner_dims[] = {"queries", "keys", "packed"};

static bool is_in(const char *name, const char *const *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(name, list[i])) return true;
  return false;
}

struct ws_tensor *ws_find_tensor(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->ntensors; i++)
    if (!strcmp(s->tensors[i].name, name)) return &s->tensors[i];
  return NULL;
}

static struct ws_pos param_pos(const struct ws_schedule *s, const char *name) {
  for (size_t i = 0; i < s->nparams; i++)
    if (!strcmp(s->params[i].name, name)) return s->params[i].pos;
  return s->doc->pos;
}

static void problem_tensor(struct ws_schedule *s, const struct ws_problem_tensor *d) {
  const struct ws_problem *p = s->problem;
  struct ws_tensor *t = &s->tensors[s->ntensors];
  *t = (struct ws_tensor){.name = d->name, .out = d->out, .index = s->ntensors++, .type = WS_F32, .row_dim = -1, .col_dim = -1};
  const struct ws_static *ty = ws_schedule_param(s, d->type);
  bool fixed = !strcmp(d->type, "f32") || !strcmp(d->type, "i32");
  if (!strcmp(d->type, "i32")) t->type = WS_I32, t->coords = true;
  if (ty && ty->kind == WS_ST_TYPE) t->type = ty->type;
  if (!fixed && ty && ty->kind != WS_ST_TYPE) ws_error(s->diags, param_pos(s, d->type), "param-type", "parameter `%s` is an element type of problem `%s`", d->type, p->name);
  if (!fixed && !ty) ws_error(s->diags, s->doc->pos, "problem", "problem `%s` needs a parameter `%s`", p->name, d->type);
  for (int k = 0; k < WS_PROBLEM_DIMS && d->dims[k]; k++, t->ndims++) {
    const char *dim = d->dims[k];
    const struct ws_static *v = ws_schedule_param(s, dim);
    if (!v && !strcmp(dim, "head_dim_v")) v = ws_schedule_param(s, "head_dim"), dim = "head_dim";
    if (v && v->kind == WS_ST_INT && (v->i < 1 || v->i > 65536)) {
      ws_error(s->diags, param_pos(s, dim), "range", "`%s` must be from 1 to 65536, found %ld", dim, v->i);
      t->fixed[k] = 1;
    } else if (v && v->kind == WS_ST_INT)
      t->fixed[k] = v->i;
    else if (!strncmp(dim, "head_dim", 8)) {
      if (v) ws_error(s->diags, param_pos(s, dim), "param-type", "parameter `%s` is an extent of problem `%s`: an integer", dim, p->name);
      if (!v) ws_error(s->diags, s->doc->pos, "problem", "problem `%s` needs a parameter `%s`", p->name, dim);
      t->fixed[k] = 1;
    } else
      t->dim[k] = dim;
  }
  if (d->tile_dims == 2) t->row_dim = t->ndims - 2, t->col_dim = t->ndims - 1;
  if (d->tile_dims == 1) t->row_dim = t->ndims - 1;
}

static void dim_of(struct ws_schedule *s, struct ws_tensor *t, const struct ws_expr *e) {
  int k = t->ndims++;
  t->fixed[k] = 1;
  if (e->kind == WS_E_NAME && !ws_schedule_param(s, e->name)) {
    const char *known[16];
    size_t n = 0;
    for (size_t i = 0; i < sizeof outer_dims / sizeof *outer_dims; i++) known[n++] = outer_dims[i];
    for (size_t i = 0; i < sizeof inner_dims / sizeof *inner_dims; i++) known[n++] = inner_dims[i];
    if (is_in(e->name, known, n))
      t->dim[k] = e->name, t->fixed[k] = 0;
    else
      ws_unknown(s, e->pos, "dim", e->name, known, n);
    return;
  }
  long v;
  if (ws_static_int(s, NULL, e, 1, 1L << 30, "the extent of a dim", &v)) t->fixed[k] = v;
}

static bool outer(const struct ws_tensor *t, int k) {
  return t->dim[k] && is_in(t->dim[k], outer_dims, sizeof outer_dims / sizeof *outer_dims);
}

static void declared(struct ws_schedule *s, const struct ws_tensor_decl *d) {
  for (int i = 0; i < s->ntensors; i++)
    if (!strcmp(s->tensors[i].name, d->name)) {
      if (!s->tensors[i].pos.line) ws_error(s->diags, d->pos, "doubled-name", "`%s` is a tensor of problem `%s`", d->name, s->problem->name);
      return;
    }
  struct ws_tensor *t = &s->tensors[s->ntensors];
  *t = (struct ws_tensor){.name = d->name, .pos = d->pos, .index = s->ntensors++, .type = WS_F32, .row_dim = -1, .col_dim = -1};
  t->input = ws_static_flag(s, d->input, "`input`");
  t->workspace = !t->input;
  struct ws_static ty;
  if (ws_static_need(s, NULL, d->type, &ty, "the type of a tensor")) {
    if (ty.kind == WS_ST_TYPE)
      t->type = ty.type;
    else
      ws_error(s->diags, d->type->pos, "static-value", "expected a type: f32, f16, bf16, e4m3, e5m2 or i32");
  }
  if (d->ndims > 5) {
    ws_error(s->diags, d->pos, "tensor", "a tensor has 1 to 5 dims, `%s` has %zu", d->name, d->ndims);
    return;
  }
  for (size_t k = 0; k < d->ndims; k++) dim_of(s, t, d->dims[k]);
  t->coords = t->type == WS_I32;
  if (t->coords) return;
  int last = t->ndims - 1;
  if (outer(t, last)) return;
  if (last > 0 && !outer(t, last - 1))
    t->row_dim = last - 1, t->col_dim = last;
  else
    t->row_dim = last;
}

void ws_declare_tensors(struct ws_schedule *s) {
  s->tensors = WS_NEW_N(s->arena, struct ws_tensor, s->problem->ntensors + s->doc->ntensors);
  for (size_t i = 0; i < s->problem->ntensors; i++) problem_tensor(s, &s->problem->tensors[i]);
  for (size_t i = 0; i < s->doc->ntensors; i++) declared(s, &s->doc->tensors[i]);
}
