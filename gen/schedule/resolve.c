/* Statements: `each` expanded, static conditions decided, every name a pointer. */
#include "passes.h"
#include <limits.h>
#include <string.h>

struct walk {
  struct ws_scope sc;
  bool *defined;      /* by variable index: assigned on every path to here */
  size_t cap;
};

static void block(struct walk *w, const struct ws_block *b, struct ws_acts *out);

static struct ws_schedule *sched(struct walk *w) { return w->sc.s; }

static void not_lowered(struct walk *w, const struct ws_stmt *st, const char *what) {
  ws_error(sched(w)->diags, st->pos, "not-lowered", "%s: not lowered for %s", what, sched(w)->target);
}

static struct ws_act *act(struct walk *w, struct ws_acts *out, const struct ws_stmt *st) {
  struct ws_act *a = WS_PUSH(sched(w)->arena, out->act, out->n, out->cap);
  *a = (struct ws_act){.kind = st->kind, .src = st};
  return a;
}

static void define(struct walk *w, const struct ws_var *v) {
  if ((size_t)v->index >= w->cap) {
    size_t more = w->cap ? w->cap * 2 : 32;
    while (more <= (size_t)v->index) more *= 2;
    bool *d = WS_NEW_N(sched(w)->arena, bool, more);
    if (w->cap) memcpy(d, w->defined, w->cap);
    w->defined = d, w->cap = more;
  }
  w->defined[v->index] = true;
}

static bool *save(struct walk *w) {
  bool *d = WS_NEW_N(sched(w)->arena, bool, w->cap + 1);
  if (w->cap) memcpy(d, w->defined, w->cap);
  return d;
}

/* A use of a name that some path leaves undefined. */
static void check_defined(struct walk *w, const struct ws_node *x) {
  if (!x) return;
  if (x->kind == WS_N_VAR && ((size_t)x->var->index >= w->cap || !w->defined[x->var->index])) {
    ws_error(sched(w)->diags, x->pos, "undefined", "`%s` is not defined on every path to here", x->var->name);
    define(w, x->var);
  }
  for (int i = 0; i < x->n; i++) check_defined(w, x->arg[i]);
}

static struct ws_node *value(struct walk *w, const struct ws_expr *e) {
  struct ws_node *x = ws_resolve_expr(&w->sc, e);
  check_defined(w, x);
  return x;
}

static bool taken(struct ws_schedule *s, const char *name, const char **as) {
  for (size_t i = 0; i < s->nparams; i++)
    if (!strcmp(s->params[i].name, name)) return *as = "a parameter", true;
  for (int i = 0; i < s->nbuffers; i++)
    if (!strcmp(s->buffers[i].name, name)) return *as = "a buffer", true;
  for (int i = 0; i < s->ntensors; i++)
    if (!strcmp(s->tensors[i].name, name)) return *as = "a tensor", true;
  for (size_t i = 0; i < s->problem->nscalars; i++)
    if (!strcmp(s->problem->scalars[i].name, name)) return *as = "a scalar of the problem", true;
  return false;
}

static struct ws_var *target_var(struct walk *w, const struct ws_expr *e) {
  struct ws_schedule *s = sched(w);
  if (e->kind != WS_E_NAME) {
    ws_error(s->diags, e->pos, "assign", "only a name, or memory in a product, stands left of `=`");
    return NULL;
  }
  const char *as;
  if (taken(s, e->name, &as) || (ws_find_iter(&w->sc, e->name) && (as = "a loop variable")) ||
      (ws_find_handle(&w->sc, e->name) && (as = "a slot"))) {
    ws_error(s->diags, e->pos, "assign", "`%s` is %s: a register tile needs another name", e->name, as);
    return NULL;
  }
  struct ws_var *v = ws_find_var(&w->sc, e->name);
  if (!v) {
    v = WS_NEW(s->arena, struct ws_var);
    *v = (struct ws_var){.name = e->name, .pos = e->pos, .index = (int)w->sc.p->nvars, .rows = 1, .cols = 1};
    *WS_PUSH(s->arena, w->sc.p->vars, w->sc.p->nvars, w->sc.p->vars_cap) = v;
  }
  v->nassign++;
  return v;
}

/* --- pipelines and barriers --- */

static bool reference(struct walk *w, const struct ws_expr *e, struct ws_pipelinem **pipe, struct ws_barrierm **bar, int *element) {
  struct ws_schedule *s = sched(w);
  const struct ws_expr *r = e->kind == WS_E_INDEX && e->n == 2 ? e->arg[0] : e;
  const char **known = WS_NEW_N(s->arena, const char *, (size_t)(s->npipelines + s->nbarriers) + 1);
  size_t n = 0;
  *pipe = NULL, *bar = NULL, *element = 0;
  if (r->kind != WS_E_NAME) {
    ws_error(s->diags, e->pos, "reference", "expected a pipeline or a barrier");
    return false;
  }
  bool is_array = false;
  int count = 1;
  for (int i = 0; i < s->npipelines; i++) {
    known[n++] = s->pipelines[i].name;
    if (!strcmp(s->pipelines[i].name, r->name)) *pipe = &s->pipelines[i], is_array = (*pipe)->is_array, count = (*pipe)->count;
  }
  for (int i = 0; i < s->nbarriers; i++) {
    known[n++] = s->barriers[i].name;
    if (!strcmp(s->barriers[i].name, r->name)) *bar = &s->barriers[i], is_array = (*bar)->is_array, count = (*bar)->count;
  }
  if (!*pipe && !*bar) {
    ws_unknown(s, r->pos, "pipeline or barrier", r->name, known, n);
    return false;
  }
  if (is_array != (e->kind == WS_E_INDEX)) {
    ws_error(s->diags, e->pos, "element", is_array ? "`%s` is an array: which element?" : "`%s` is not an array", r->name);
    return false;
  }
  long el = 0;
  if (is_array && !ws_static_int(s, w->sc.env, e->arg[1], 0, count - 1, ws_fmt(s->arena, "the element of `%s`", r->name), &el)) return false;
  *element = (int)el;
  return true;
}

static struct ws_handle *bind(struct walk *w, const struct ws_stmt *st, struct ws_pipelinem *p, int element) {
  struct ws_schedule *s = sched(w);
  if (!st->handle) return NULL;
  long r = p->buffer->rows, c = p->buffer->cols;
  if (st->as_rows && (!ws_static_int(s, w->sc.env, st->as_rows, 1, 65536, "the rows of a slot", &r) ||
                      !ws_static_int(s, w->sc.env, st->as_cols, 1, 65536, "the columns of a slot", &c)))
    return NULL;
  if (r * c > (long)p->buffer->rows * p->buffer->cols)
    ws_error(s->diags, st->handle_pos, "slot-shape", "[%ld, %ld] does not fit into a slot of `%s`, which is [%d, %d]", r, c,
             p->buffer->name, p->buffer->rows, p->buffer->cols);
  const char *as;
  if (taken(s, st->handle, &as) || (ws_find_var(&w->sc, st->handle) && (as = "a register tile"))) {
    ws_error(s->diags, st->handle_pos, "assign", "`%s` is %s: a slot needs another name", st->handle, as);
    return NULL;
  }
  struct ws_handle *h = ws_find_handle(&w->sc, st->handle);
  if (!h) {
    h = WS_NEW(s->arena, struct ws_handle);
    *h = (struct ws_handle){.name = st->handle, .pos = st->handle_pos, .index = (int)w->sc.p->nhandles, .pipe = p,
                            .element = element, .rows = (int)r, .cols = (int)c};
    *WS_PUSH(s->arena, w->sc.p->handles, w->sc.p->nhandles, w->sc.p->handles_cap) = h;
  } else if (h->pipe != p || h->element != element || h->rows != r || h->cols != c) {
    ws_error(s->diags, st->handle_pos, "slot-name", "`%s` already names a slot of `%s` as [%d, %d]", h->name, h->pipe->name,
             h->rows, h->cols);
    ws_note(s->diags, h->pos, "named here");
  }
  return h;
}

static void ring(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sched(w);
  struct ws_pipelinem *p;
  struct ws_barrierm *b;
  int element;
  if (!reference(w, st->a, &p, &b, &element)) return;
  if (b) return not_lowered(w, st, ws_fmt(s->arena, "mbarrier `%s`", b->name));
  if (p->by != WS_BY_CP_ASYNC)
    return not_lowered(w, st, ws_fmt(s->arena, "pipeline `%s` by %s", p->name, p->by == WS_BY_TMA ? "tma" : "threads"));
  if (st->kind == WS_S_RELEASE) return not_lowered(w, st, "`release` of a cp.async ring");
  struct ws_act *a = act(w, out, st);
  a->pipe = p, a->element = element;
  a->handle = bind(w, st, p, element);
  if (!st->handle && st->kind != WS_S_COMMIT && p->buffer && p->buffer->stages > 1)
    ws_error(s->diags, st->pos, "slot", "`%s` has %d stages: name the slot: `%s %s -> NAME`", p->name, p->buffer->stages,
             st->kind == WS_S_ACQUIRE ? "acquire" : "wait", p->name);
}

static void sync_stmt(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  if (st->sync == WS_SYNC_CLUSTER) return not_lowered(w, st, "`sync cluster`");
  struct ws_act *a = act(w, out, st);
  a->sync = st->sync;
  if (st->sync != WS_SYNC_REF) return;
  for (int i = 0; i < sched(w)->nroles; i++)
    if (st->a->kind == WS_E_NAME && !strcmp(sched(w)->roles[i].name, st->a->name)) return not_lowered(w, st, "`sync` of a role by name");
  struct ws_pipelinem *p;
  if (!reference(w, st->a, &p, &a->barrier, &a->element)) return;
  not_lowered(w, st, "named barriers");
}

/* --- moves, products, assignments --- */

static bool in_global(struct walk *w, const struct ws_mem *m, const char *what) {
  if (m->space == WS_GLOBAL) return true;
  ws_error(sched(w)->diags, m->pos, "memory", "%s must be a tile of a tensor", what);
  return false;
}

static bool in_smem(struct walk *w, const struct ws_mem *m, const char *what) {
  if (m->space == WS_SMEM) return true;
  ws_error(sched(w)->diags, m->pos, "memory", "%s must be in shared memory", what);
  return false;
}

static bool same_shape(struct walk *w, const struct ws_stmt *st, int r, int c, int r2, int c2) {
  if (r == r2 && c == c2) return true;
  ws_error(sched(w)->diags, st->pos, "shape", "shapes differ: [%d, %d] -> [%d, %d]", r, c, r2, c2);
  return false;
}

static void load(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_mem *from = ws_resolve_mem(&w->sc, st->a), *to = ws_resolve_mem(&w->sc, st->dst);
  struct ws_node *when = st->when ? value(w, st->when) : NULL;
  if (!from || !to || (st->when && !when)) return;
  if (!in_global(w, from, "the source of a load") || !in_smem(w, to, "the destination of a load")) return;
  if (!same_shape(w, st, from->rows, from->cols, to->rows, to->cols)) return;
  if (from->tensor->type != to->buffer->type) {
    ws_error(sched(w)->diags, st->pos, "type", "`%s` holds %s, `%s` holds %s", from->tensor->name, ws_type_name(from->tensor->type),
             to->buffer->name, ws_type_name(to->buffer->type));
    return;
  }
  if (from->transposed || to->transposed) return not_lowered(w, st, "a transposing load");
  struct ws_act *a = act(w, out, st);
  a->from = from, a->to = to, a->when = when;
}

static void store(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_mem *to = ws_resolve_mem(&w->sc, st->dst), *from = NULL;
  struct ws_node *v = NULL;
  if (ws_names_memory(&w->sc, st->a))
    from = ws_resolve_mem(&w->sc, st->a);
  else
    v = value(w, st->a);
  if (!to || (!from && !v) || !in_global(w, to, "the destination of a store")) return;
  if (!to->tensor->out && !to->tensor->workspace) {
    ws_error(sched(w)->diags, to->pos, "store", "`%s` is an input of the problem", to->tensor->name);
    return;
  }
  if (from && (!in_smem(w, from, "the source of a store") || !same_shape(w, st, from->rows, from->cols, to->rows, to->cols))) return;
  struct ws_act *a = act(w, out, st);
  a->from = from, a->to = to, a->value = v;
}

static void write(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_mem *to = ws_resolve_mem(&w->sc, st->dst);
  struct ws_node *v = value(w, st->a);
  if (!to || !v || !in_smem(w, to, "the destination of a write")) return;
  struct ws_act *a = act(w, out, st);
  a->to = to, a->value = v;
}

static void product(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_act a = {.kind = st->kind, .src = st, .accumulate = st->accumulate};
  if (ws_names_memory(&w->sc, st->a))
    a.a_mem = ws_resolve_mem(&w->sc, st->a);
  else
    a.a = value(w, st->a);
  a.b_mem = ws_resolve_mem(&w->sc, st->b);
  if ((!a.a && !a.a_mem) || !a.b_mem) return;
  if (!in_smem(w, a.b_mem, "the right operand of a product") || (a.a_mem && !in_smem(w, a.a_mem, "the left operand of a product"))) return;
  for (size_t i = 0; i < st->nopts; i++) {
    long n;
    if (strcmp(st->opts[i].name, "ahead"))
      ws_error(sched(w)->diags, st->opts[i].pos, "option", "option `%s` has no meaning for a product on %s", st->opts[i].name, sched(w)->target);
    else if (ws_static_int(sched(w), w->sc.env, st->opts[i].value, 0, 8, "`ahead`", &n))
      a.ahead = (int)n;
  }
  if (ws_names_memory(&w->sc, st->dst)) return not_lowered(w, st, "a product into memory");
  bool fresh = st->dst->kind == WS_E_NAME && !ws_find_var(&w->sc, st->dst->name);
  a.dst = target_var(w, st->dst);
  if (!a.dst) return;
  if (st->accumulate && (fresh || (size_t)a.dst->index >= w->cap || !w->defined[a.dst->index]))
    ws_error(sched(w)->diags, st->dst->pos, "undefined", "`%s` is not defined on every path to here: `%s = 0` starts a sum", a.dst->name, a.dst->name);
  define(w, a.dst);
  *act(w, out, st) = a;
}

static void assign(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  if (st->accumulate) {
    ws_error(sched(w)->diags, st->pos, "assign", "`+=` stands before a product only: write `x = x + ...`");
    return;
  }
  if (st->dst->kind == WS_E_NAME && st->a->kind == WS_E_NAME && ws_find_handle(&w->sc, st->a->name))
    return not_lowered(w, st, "a second name for a slot");
  struct ws_node *v = value(w, st->a);
  struct ws_var *d = target_var(w, st->dst);
  if (!v || !d) return;
  define(w, d);
  struct ws_act *a = act(w, out, st);
  a->dst = d, a->value = v;
}

/* --- control --- */

static void for_loop(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sched(w);
  struct ws_iter *it = ws_resolve_list(&w->sc, st->list, st->var, st->var_pos);
  if (!it) return;
  const char *as;
  if (taken(s, st->var, &as) || (ws_find_var(&w->sc, st->var) && (as = "a register tile"))) {
    ws_error(s->diags, st->var_pos, "assign", "`%s` is %s: a loop variable needs another name", st->var, as);
    return;
  }
  if (!it->list && w->sc.p->niters) return not_lowered(w, st, "a second loop over `work`");
  it->index = (int)w->sc.p->niters;
  *WS_PUSH(s->arena, w->sc.p->iters, w->sc.p->niters, w->sc.p->iters_cap) = it;
  struct ws_act a = {.kind = WS_S_FOR, .src = st, .iter = it, .peel_first = st->peel_first, .split_masked = st->split_masked};
  long n = 0;
  if (st->unroll && !ws_static_int(s, w->sc.env, st->unroll, 1, 16, "`unroll`", &n)) return;
  a.unroll = (int)n;
  a.body = WS_NEW(s->arena, struct ws_acts);
  bool *before = save(w);
  size_t cap = w->cap;
  block(w, st->body, a.body);
  if (it->list && it->part != WS_FIRST && it->part != WS_LAST) /* may run no time */
    for (size_t i = 0; i < w->cap; i++) w->defined[i] = i < cap && before[i];
  it->closed = true;
  *act(w, out, st) = a;
}

static void if_stmt(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sched(w);
  struct ws_arm *arms = WS_NEW_N(s->arena, struct ws_arm, st->nbranches);
  int n = 0;
  bool *before = save(w), *all = NULL, closed = false;
  size_t cap = w->cap, allcap = 0;
  for (size_t i = 0; i < st->nbranches && !closed; i++) {
    const struct ws_branch *b = &st->branches[i];
    struct ws_static v;
    bool bad = false, is_static = b->cond && ws_static_try(s, w->sc.env, b->cond, &v, &bad);
    if (bad) return;
    if (is_static && !v.i && v.f == 0) continue;         /* never taken */
    closed = is_static || !b->cond;
    if (closed && n == 0) return block(w, b->body, out); /* always taken */
    for (size_t k = 0; k < w->cap; k++) w->defined[k] = k < cap && before[k];
    struct ws_arm *arm = &arms[n++];
    if (!closed) {
      arm->cond = value(w, b->cond);
      if (!arm->cond) return;
    }
    arm->body = WS_NEW(s->arena, struct ws_acts);
    block(w, b->body, arm->body);
    if (!all) all = save(w), allcap = w->cap;
    for (size_t k = 0; k < allcap; k++) all[k] = all[k] && w->defined[k];
  }
  if (!n) return;
  for (size_t k = 0; k < w->cap; k++) w->defined[k] = closed ? k < allcap && all[k] : k < cap && before[k];
  struct ws_act *a = act(w, out, st);
  a->arms = arms, a->narms = n;
}

static void each(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  long lo, hi;
  struct ws_schedule *s = sched(w);
  if (!ws_static_int(s, w->sc.env, st->lo, LONG_MIN, LONG_MAX, "the start of `each`", &lo) ||
      !ws_static_int(s, w->sc.env, st->hi, LONG_MIN, LONG_MAX, "the end of `each`", &hi))
    return;
  if (hi - lo > 256) {
    ws_error(s->diags, st->pos, "range", "`each` over %ld values: at most 256", hi - lo + 1);
    return;
  }
  for (long i = lo; i <= hi; i++) {
    struct ws_env env = {st->var, i, w->sc.env};
    const struct ws_env *outer = w->sc.env;
    w->sc.env = &env;
    block(w, st->body, out);
    w->sc.env = outer;
  }
}

static void statement(struct walk *w, const struct ws_stmt *st, struct ws_acts *out) {
  switch (st->kind) {
  case WS_S_FOR: return for_loop(w, st, out);
  case WS_S_EACH: return each(w, st, out);
  case WS_S_IF: return if_stmt(w, st, out);
  case WS_S_LOAD: return load(w, st, out);
  case WS_S_STORE: return store(w, st, out);
  case WS_S_WRITE: return write(w, st, out);
  case WS_S_PRODUCT: return product(w, st, out);
  case WS_S_ASSIGN: return assign(w, st, out);
  case WS_S_ACQUIRE: case WS_S_WAIT: case WS_S_COMMIT: case WS_S_RELEASE: return ring(w, st, out);
  case WS_S_SYNC: return sync_stmt(w, st, out);
  default: break;
  }
  const char *text = st->text;
  size_t n = strcspn(text, "(=:");
  not_lowered(w, st, ws_fmt(sched(w)->arena, "`%.*s`", (int)(n < 60 ? n : 60), text));
}

static void block(struct walk *w, const struct ws_block *b, struct ws_acts *out) {
  for (size_t i = 0; b && i < b->n; i++) statement(w, b->stmt[i], out);
}

void ws_each_act(struct ws_acts *acts, ws_act_fn *fn, void *ctx) {
  for (size_t i = 0; i < acts->n; i++) {
    struct ws_act *a = &acts->act[i];
    fn(ctx, a);
    if (a->body) ws_each_act(a->body, fn, ctx);
    for (int k = 0; k < a->narms; k++) ws_each_act(a->arms[k].body, fn, ctx);
  }
}

static struct ws_rolem *role_named(struct ws_schedule *s, const struct ws_program *d) {
  const char **known = WS_NEW_N(s->arena, const char *, s->nroles + 1);
  for (int i = 0; i < s->nroles; i++) {
    known[i] = s->roles[i].name;
    if (!strcmp(known[i], d->role)) return &s->roles[i];
  }
  ws_unknown(s, d->pos, "role", d->role, known, (size_t)s->nroles);
  return NULL;
}

/* Does a pipeline or barrier name the role? A role that none names may idle. */
static bool takes_part(const struct ws_schedule *s, const char *role) {
  bool named = false;
  for (size_t i = 0; i < s->doc->npipelines; i++) {
    const struct ws_pipeline *p = &s->doc->pipelines[i];
    for (size_t k = 0; k < p->nfrom; k++) named |= !strcmp(p->from[k].role, role);
    for (size_t k = 0; k < p->nto; k++) named |= !strcmp(p->to[k].role, role);
  }
  for (size_t i = 0; i < s->doc->nbarriers; i++) {
    const struct ws_barrier *b = &s->doc->barriers[i];
    for (size_t k = 0; k < b->nfrom; k++) named |= !strcmp(b->from[k].role, role);
    for (size_t k = 0; k < b->nto; k++) named |= !strcmp(b->to[k].role, role);
  }
  return named;
}

void ws_pass_resolve(struct ws_schedule *s) {
  s->programs = WS_NEW_N(s->arena, struct ws_programm, s->doc->nprograms);
  for (size_t i = 0; i < s->doc->nprograms; i++) {
    const struct ws_program *d = &s->doc->programs[i];
    struct ws_rolem *r = role_named(s, d);
    if (!r) continue;
    struct ws_programm *p = &s->programs[s->nprograms++];
    *p = (struct ws_programm){.decl = d, .role = r, .body = WS_NEW(s->arena, struct ws_acts)};
    for (int k = 0; k + 1 < s->nprograms; k++)
      if (s->programs[k].role == r) ws_error(s->diags, d->pos, "doubled-name", "role `%s` has two programs", r->name);
    if (r->is_array || r->one_thread) {
      ws_error(s->diags, r->decl->name.pos, "not-lowered", "role `%s`: %s not lowered for %s", r->name,
               r->is_array ? "role arrays are" : "one-thread roles are", s->target);
      continue;
    }
    struct walk w = {.sc = {.s = s, .p = p}};
    block(&w, d->body, p->body);
  }
  for (int k = 0; k < s->nroles; k++) {
    bool has = false;
    for (int i = 0; i < s->nprograms; i++) has |= s->programs[i].role == &s->roles[k];
    if (!has && (!s->nprograms || takes_part(s, s->roles[k].name)))
      ws_error(s->diags, s->roles[k].decl->name.pos, "role", "role `%s` has no program", s->roles[k].name);
  }
}
