#include "manifest.h"
#include <string.h>

#ifndef WS_VERSION
#define WS_VERSION "0"
#endif

static void add(const struct ws_schedule *s, struct ws_params *p, enum ws_param_type type, const char *name, const char *source) {
  *WS_PUSH(s->arena, p->param, p->n, p->cap) = (struct ws_kernel_param){.type = type, .name = name, .source = source};
}

/* Run-time extents of the problem, each once, in the order of the tensors. */
static size_t extents(const struct ws_schedule *s, const char **dim) {
  size_t n = 0;
  for (int i = 0; i < s->ntensors; i++)
    for (int k = 0; k < s->tensors[i].ndims; k++) {
      const char *d = s->tensors[i].dim[k];
      bool seen = !d;
      for (size_t q = 0; q < n; q++) seen |= d && !strcmp(dim[q], d);
      if (!seen && n < 16) dim[n++] = d;
    }
  return n;
}

struct ws_params ws_kernel_params(const struct ws_schedule *s, const bool *used, struct tma_map *const *maps, size_t nmaps) {
  struct ws_params p = {0};
  struct ws_arena *a = s->arena;
  for (size_t i = 0; i < nmaps; i++) { /* first: they are aligned to 64 bytes */
    add(s, &p, WS_PARAM_MAP, maps[i]->name, maps[i]->name);
    p.param[p.n - 1].map = maps[i];
  }
  for (int i = 0; i < s->ntensors; i++) {
    const struct ws_tensor *t = &s->tensors[i];
    add(s, &p, WS_PARAM_U64, ws_fmt(a, "%s_data", t->name), ws_fmt(a, "%s.data", t->name));
    for (int k = 0; k < t->ndims; k++)
      if (t->dim[k] && k != t->col_dim) /* columns are contiguous, a fixed extent outside of them has no index */
        add(s, &p, WS_PARAM_U64, ws_fmt(a, "%s_stride_%s", t->name, t->dim[k]), ws_fmt(a, "%s.stride.%s", t->name, t->dim[k]));
  }
  const char *dim[16];
  size_t n = extents(s, dim);
  for (size_t i = 0; i < n; i++)
    if (s->persistent || ws_sorts_longest(s) || strcmp(dim[i], "batch")) add(s, &p, WS_PARAM_U32, strcmp(dim[i], "batch") ? dim[i] : "batch_count", dim[i]);
  if (s->watchdog > 0) add(s, &p, WS_PARAM_U64, "watchdog_data", "watchdog.data");
  for (size_t i = 0; i < s->problem->nscalars; i++) {
    const struct ws_problem_scalar *c = &s->problem->scalars[i];
    if (used[i] && c->arg)
      add(s, &p, WS_PARAM_F32, c->name, c->factor == 1 ? c->arg : ws_fmt(a, "%s * %.17g", c->arg, c->factor));
  }
  return p;
}

static void line_set(const struct ws_param_value *p, struct ws_buf *o) {
  ws_buf_printf(o, "// set: %s ", p->name);
  ws_static_print(&p->value, o);
  ws_buf_puts(o, "\n");
}

static void print_dim(const struct ws_tensor *t, int i, int k, struct ws_buf *o) {
  if (t->dim[k])
    ws_buf_printf(o, "%s%s", i ? ", " : "", t->dim[k]);
  else
    ws_buf_printf(o, "%s%ld", i ? ", " : "", t->fixed[k]);
}

static void print_dims(const struct ws_tensor *t, struct ws_buf *o) {
  for (int k = 0; k < t->ndims; k++) print_dim(t, k, k, o);
}

static void line_map(const struct tma_map *m, struct ws_buf *o) {
  const struct ws_tensor *t = m->tensor;
  ws_buf_printf(o, "// map: %s %s [", m->name, t->name);
  for (int i = 0; i < t->ndims; i++) print_dim(t, i, m->order[i], o);
  ws_buf_puts(o, "] box [");
  int group = m->heads >= 0 ? m->group : 1;
  for (int i = 0, k; i < t->ndims; i++) {
    k = m->order[i];
    ws_buf_printf(o, "%s%d", i ? ", " : "", k == t->row_dim ? m->rows / group : k == t->col_dim ? m->cols : k == m->heads ? group : 1);
  }
  ws_buf_printf(o, "] swizzle %d%s\n", m->swizzle, m->groups ? " groups 8" : "");
}

/* A counter starts at zero, and the caller says so. */
struct counts {
  const struct ws_tensor *tensor;
  bool found;
};

static void counted(void *ctx, struct ws_act *a) {
  struct counts *c = ctx;
  c->found |= a->kind == WS_S_ARRIVE && !a->barrier && a->from->tensor == c->tensor;
}

static bool is_counter(const struct ws_schedule *s, const struct ws_tensor *t) {
  struct counts c = {t, false};
  for (int i = 0; t->coords && i < s->nprograms; i++) ws_each_act(s->programs[i].body, counted, &c);
  return c.found;
}

static void line_tensor(const struct ws_schedule *s, const struct ws_tensor *t, struct ws_buf *o) {
  ws_buf_printf(o, "// tensor: %s %s %s [", t->name, is_counter(s, t) ? "inout" : t->workspace ? "workspace" : t->out ? "out" : "in", ws_type_name(t->type));
  print_dims(t, o);
  bool rows = t->col_dim >= 0 && !t->dim[t->col_dim] && t->fixed[t->col_dim] > 1; /* moved in units of 16 bytes */
  ws_buf_printf(o, "] align %u\n", rows ? 16 : ws_type_bits(t->type) / 8);
}

struct ws_expr *ws_with_params(const struct ws_schedule *s, const struct ws_expr *e) {
  struct ws_expr *x = WS_NEW(s->arena, struct ws_expr);
  *x = *e;
  x->arg = WS_NEW_N(s->arena, struct ws_expr *, e->n);
  for (size_t i = 0; i < e->n; i++) x->arg[i] = ws_with_params(s, e->arg[i]);
  const struct ws_static *v = e->kind == WS_E_NAME ? ws_schedule_param(s, e->name) : NULL;
  if (v && (v->kind == WS_ST_INT || v->kind == WS_ST_FLOAT || v->kind == WS_ST_BOOL)) {
    x->kind = WS_E_NUMBER, x->number = v->kind == WS_ST_FLOAT ? v->f : (double)v->i, x->is_int = v->kind != WS_ST_FLOAT;
  }
  return x;
}

static void line_rule(const struct ws_schedule *s, const char *key, const struct ws_expr *e, struct ws_buf *o) {
  if (!e) return;
  ws_buf_printf(o, "// set: reference_%s ", key);
  ws_expr_print(ws_with_params(s, e), o);
  ws_buf_puts(o, "\n");
}

/* The spec's own mathematics, or what a window means. */
static void reference(const struct ws_schedule *s, struct ws_buf *o) {
  const struct ws_rule_decl *r = &s->doc->reference;
  line_rule(s, "score", r->score, o);
  line_rule(s, "visible", r->visible, o);
  line_rule(s, "sink", r->sink, o);
  if (r->weight) ws_buf_printf(o, "// set: reference_weight %s\n", r->weight->name);
  if (s->window && !r->visible)
    ws_buf_printf(o, "// set: reference_visible col <= row + keys - queries and col > row + keys - queries - %d\n", s->window);
}

/* Exponentials on the FMA pipe are less exact than `run` expects of an exponential: it reads how much (templates/common/arith.ptx). */
static void finds_poly(void *ctx, struct ws_act *a) { *(bool *)ctx |= a->opt.poly > 0; }

static void line_exp2(const struct ws_schedule *s, struct ws_buf *o) {
  bool poly = false;
  for (int i = 0; i < s->nprograms; i++) ws_each_act(s->programs[i].body, finds_poly, &poly);
  if (poly) ws_buf_puts(o, "// set: exp2_error 1.7e-4\n");
}

/* Arithmetic in f16: four roundings of 2^-11 each (weight, row sum, O, the factor of a block), as random errors no more than that in
 * sums of a few thousand terms. */
static void finds_half(void *ctx, struct ws_act *a) { *(bool *)ctx |= ws_is_half_arithmetic(a->value); }

static void line_half(const struct ws_schedule *s, struct ws_buf *o) {
  bool half = false;
  for (int i = 0; i < s->nprograms; i++) ws_each_act(s->programs[i].body, finds_half, &half);
  if (half) ws_buf_puts(o, "// set: half_error 2e-3\n");
}

const char *ws_manifest_text(const struct ws_schedule *s, const struct ws_params *params) {
  static const char *const types[] = {[WS_PARAM_U64] = "u64", [WS_PARAM_U32] = "u32", [WS_PARAM_F32] = "f32", [WS_PARAM_MAP] = "map"};
  struct ws_buf o = {.arena = s->arena};
  ws_buf_printf(&o, "// warpscore manifest 1\n// tool: warpscore %s\n// schedule: %s\n// entry: %s\n// target: %s\n// problem: %s\n", WS_VERSION, s->name,
                s->name, s->target, s->problem->name);
  for (size_t i = 0; i < s->nparams; i++) line_set(&s->params[i], &o);
  if (s->group) ws_buf_puts(&o, "// set: pack gqa\n");
  if (s->watchdog > 0) ws_buf_printf(&o, "// set: watchdog %g\n", s->watchdog);
  reference(s, &o);
  line_exp2(s, &o);
  line_half(s, &o);
  for (int i = 0; i < s->ntensors; i++) line_tensor(s, &s->tensors[i], &o);
  if (s->watchdog > 0) ws_buf_puts(&o, "// tensor: watchdog inout i32 [16] align 4\n");
  const struct ws_tensor *q = &s->tensors[0];
  ws_buf_printf(&o, "// scalar: scale f32 rsqrt %ld\n// multiple: heads kv_heads\n", q->fixed[q->ndims - 1]);
  bool groups = false;
  for (int i = 0; i < s->nbuffers; i++) groups |= s->buffers[i].rows8;
  if (groups) ws_buf_puts(&o, "// require: groups\n");
  if (s->group) ws_buf_printf(&o, "// require: ratio\n// ratio: heads kv_heads %d\n", s->group);
  for (size_t i = 0; i < params->n; i++)
    if (params->param[i].map) line_map(params->param[i].map, &o);
  for (size_t i = 0; i < params->n; i++) ws_buf_printf(&o, "// param: %s %s\n", types[params->param[i].type], params->param[i].source);
  const char *each = s->pair ? "2 * " : ""; /* CTAs a work tile */
  if (s->tile_rows)
    ws_buf_printf(&o, "// grid: %s%s/%d * %s * batch\n", each, s->problem->work_dim, ws_tile_positions(s), s->group ? "kv_heads" : "heads");
  else
    ws_buf_printf(&o, "// grid: %sheads * batch\n", each);
  if (s->persistent) ws_buf_printf(&o, "// persistent: %d\n", s->ctas ? s->ctas : 1);
  if (s->pair) ws_buf_puts(&o, "// cluster: 2\n");
  ws_buf_printf(&o, "// block: %d\n// shared: %ld\n", s->threads, s->smem_bytes);
  ws_buf_printf(&o, "// lse_base: e\n// checked: %s\n// end manifest", s->checked ? s->checked : "no");
  return o.s;
}
