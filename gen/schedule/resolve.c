/* Programs and control: `each` expanded, static conditions decided, every name a pointer. */
#include "passes.h"
#include <limits.h>
#include <string.h>

static void block(struct ws_scope *sc, const struct ws_block *b, struct ws_acts *out);

struct ws_act *ws_act_push(struct ws_scope *sc, struct ws_acts *out, const struct ws_stmt *st) {
  struct ws_act *a = WS_PUSH(sc->s->arena, out->act, out->n, out->cap);
  sc->acts++;
  *a = (struct ws_act){.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  return a;
}

/* --- names of a program --- */

struct ws_var *ws_find_var(struct ws_scope *sc, const char *name) {
  for (size_t i = 0; i < sc->p->nvars; i++)
    if (!strcmp(sc->p->vars[i]->name, name)) return sc->p->vars[i];
  return NULL;
}

struct ws_iter *ws_find_iter(struct ws_scope *sc, const char *name) {
  for (size_t i = sc->p->niters; i-- > 0;)
    if (!sc->p->iters[i]->closed && !strcmp(sc->p->iters[i]->name, name)) return sc->p->iters[i];
  return NULL;
}

struct ws_handle *ws_find_handle(struct ws_scope *sc, const char *name) {
  for (size_t i = 0; i < sc->p->nhandles; i++)
    if (!strcmp(sc->p->handles[i]->name, name)) return sc->p->handles[i];
  return NULL;
}

bool ws_name_taken(struct ws_scope *sc, const char *name, const char **as) {
  struct ws_schedule *s = sc->s;
  for (size_t i = 0; i < s->nparams; i++)
    if (!strcmp(s->params[i].name, name)) return *as = "a parameter", true;
  if (ws_find_buffer(s, name)) return *as = "a buffer", true;
  if (ws_find_tensor(s, name)) return *as = "a tensor", true;
  for (size_t i = 0; i < s->problem->nscalars; i++)
    if (!strcmp(s->problem->scalars[i].name, name)) return *as = "a scalar of the problem", true;
  if (s->pair && !strcmp(name, "rank")) return *as = "the rank of the CTA", true;
  for (const struct ws_env *e = sc->env; e; e = e->outer)
    if (!strcmp(e->name, name)) return *as = e->runtime ? "the index of the instance" : "known at generation", true;
  return false;
}

/* --- control --- */

static void for_loop(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  struct ws_iter *it = ws_resolve_list(sc, st->list, st->var, st->var_pos);
  if (!it) return;
  const char *as;
  if (ws_name_taken(sc, st->var, &as) || (ws_find_var(sc, st->var) && (as = "a register tile")) ||
      (ws_find_iter(sc, st->var) && (as = "the variable of a loop around this one"))) {
    ws_error(s->diags, st->var_pos, "assign", "`%s` is %s: a loop variable needs another name", st->var, as);
    return;
  }
  it->index = (int)sc->p->niters;
  *WS_PUSH(s->arena, sc->p->iters, sc->p->niters, sc->p->iters_cap) = it;
  long n = 0;
  if (st->unroll && !ws_static_int(s, sc->env, st->unroll, 1, 16, "`unroll`", &n)) return;
  struct ws_acts *body = WS_NEW(s->arena, struct ws_acts);
  if (++sc->loops > WS_MAX_LOOPS)
    ws_error(s->diags, st->pos, "range", "loops stand in each other at most %d deep", WS_MAX_LOOPS);
  else
    block(sc, st->body, body);
  sc->loops--;
  it->closed = true;
  struct ws_act *a = ws_act_push(sc, out, st);
  a->iter = it, a->peel_first = st->peel_first, a->split_masked = st->split_masked, a->unroll = (int)n, a->body = body;
}

/* A vote, or a condition kept in a name, which may be one: the lanes of a warp agree on it, and nobody else has to. */
static bool votes(const struct ws_node *x) {
  if (x->kind == WS_N_VAR) return true;
  if (x->kind == WS_N_REDUCE && (x->fn == WS_F_ANY || x->fn == WS_F_ALL)) return true;
  if (x->kind == WS_N_OP && x->fn != WS_F_AND && x->fn != WS_F_OR && x->fn != WS_F_NOT) return false;
  for (int i = 0; i < x->n; i++)
    if (votes(x->arg[i])) return true;
  return false;
}

static void if_stmt(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  struct ws_arm *arms = WS_NEW_N(s->arena, struct ws_arm, st->nbranches);
  const struct ws_stmt *outer = sc->vote;
  int n = 0;
  bool closed = false;
  for (size_t i = 0; i < st->nbranches && !closed; i++) {
    const struct ws_branch *b = &st->branches[i];
    struct ws_static v;
    bool bad = false, is_static = b->cond && ws_static_try(s, sc->env, b->cond, &v, &bad);
    if (bad) return;
    if (is_static && (v.kind == WS_ST_TYPE || v.kind == WS_ST_NAME)) {
      ws_error(s->diags, b->cond->pos, "condition", "a %s is no condition: compare it with `==`", v.kind == WS_ST_TYPE ? "type" : "name");
      is_static = false;
      continue;
    }
    if (is_static && !v.i && v.f == 0) continue;          /* never taken */
    closed = is_static || !b->cond;
    if (closed && n == 0) return block(sc, b->body, out); /* always taken */
    struct ws_arm *arm = &arms[n++];
    if (!closed && !(arm->cond = ws_resolve_expr(sc, b->cond))) return;
    if (arm->cond && votes(arm->cond)) {
      sc->vote = st;
      if (sc->single) ws_error(s->diags, arm->cond->pos, "one-thread", "a vote is taken by all lanes of a warp: not in a one-thread block");
    }
    arm->body = WS_NEW(s->arena, struct ws_acts);
    block(sc, b->body, arm->body);
  }
  sc->vote = outer;
  if (!n) return;
  struct ws_act *a = ws_act_push(sc, out, st);
  a->arms = arms, a->narms = n;
}

static void each(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  long lo, hi;
  struct ws_schedule *s = sc->s;
  if (!ws_static_int(s, sc->env, st->lo, LONG_MIN, LONG_MAX, "the start of `each`", &lo) ||
      !ws_static_int(s, sc->env, st->hi, LONG_MIN, LONG_MAX, "the end of `each`", &hi))
    return;
  unsigned long span = hi < lo ? 0 : (unsigned long)hi - (unsigned long)lo;
  if (span > 256) {
    ws_error(s->diags, st->pos, "range", "`each` over %lu values: at most 256", span + 1);
    return;
  }
  const struct ws_env *outer = sc->env;
  for (unsigned long k = 0; hi >= lo && k <= span; k++) {
    if (++sc->acts >= WS_MAX_ACTS) {
      if (sc->acts < 2 * WS_MAX_ACTS) ws_error(s->diags, st->pos, "range", "`each` expands this program to more than %d statements", WS_MAX_ACTS);
      sc->acts = 2 * WS_MAX_ACTS; /* said once */
      return;
    }
    struct ws_env env = {.name = st->var, .value = lo + (long)k, .outer = outer};
    sc->env = &env;
    block(sc, st->body, out);
    sc->env = outer;
  }
}

static void one_thread(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  if (sc->single) {
    ws_error(s->diags, st->pos, "one-thread", sc->p->role->one_thread ? "role `%s` is one thread already" : "one thread executes this already", sc->p->role->name);
    return;
  }
  struct ws_acts *body = WS_NEW(s->arena, struct ws_acts);
  sc->single = true;
  block(sc, st->body, body);
  sc->single = false;
  ws_act_push(sc, out, st)->body = body;
}

static bool in_vote(enum ws_stmt_kind k) {
  return k == WS_S_WRITE || k == WS_S_ASSIGN || k == WS_S_ASSIGN2 || k == WS_S_PRODUCT || k == WS_S_EACH || k == WS_S_IF;
}

static void statement(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  if (sc->vote && !in_vote(st->kind)) {
    ws_error(sc->s->diags, st->pos, "vote", "a vote branches one warp: it may enclose only read, write, arithmetic and products by mma.sync");
    ws_note(sc->s->diags, sc->vote->pos, "the vote");
    return;
  }
  switch (st->kind) {
  case WS_S_FOR: for_loop(sc, st, out); break;
  case WS_S_EACH: each(sc, st, out); break;
  case WS_S_IF: if_stmt(sc, st, out); break;
  case WS_S_ONE_THREAD: one_thread(sc, st, out); break;
  case WS_S_LOAD: case WS_S_STORE: case WS_S_REDUCE: case WS_S_WRITE: case WS_S_COPY: ws_resolve_move(sc, st, out); break;
  case WS_S_PRODUCT: case WS_S_ASSIGN: case WS_S_ASSIGN2: ws_resolve_compute(sc, st, out); break;
  default: ws_resolve_sync(sc, st, out); break;
  }
}

static void block(struct ws_scope *sc, const struct ws_block *b, struct ws_acts *out) {
  for (size_t i = 0; b && i < b->n; i++) statement(sc, b->stmt[i], out);
}

/* --- programs --- */

/* Does a pipeline or barrier name the role? A role that none names may idle. */
static bool takes_part(const struct ws_schedule *s, const struct ws_rolem *r) {
  bool named = false;
  for (int i = 0; i < s->npipelines; i++) {
    const struct ws_pipelinem *p = &s->pipelines[i];
    for (int k = 0; k < p->nfrom; k++) named |= p->from[k].role == r;
    for (int k = 0; k < p->nto; k++) named |= p->to[k].role == r;
  }
  for (int i = 0; i < s->nbarriers; i++) {
    const struct ws_barrierm *b = &s->barriers[i];
    for (int k = 0; k < b->nfrom; k++) named |= b->from[k].role == r;
    for (int k = 0; k < b->nto; k++) named |= b->to[k].role == r;
  }
  return named;
}

static void program(struct ws_schedule *s, const struct ws_program *d, struct ws_rolem *r, int first, int count, const struct ws_env *env) {
  struct ws_programm *p = &s->programs[s->nprograms];
  for (int k = 0; k < s->nprograms; k++)
    if (s->programs[k].role == r && s->programs[k].first < first + count && first < s->programs[k].first + s->programs[k].count)
      ws_error(s->diags, d->pos, "doubled-name", r->is_array ? "an instance of role `%s` has two programs" : "role `%s` has two programs", r->name);
  *p = (struct ws_programm){.decl = d, .role = r, .first = first, .count = count, .body = WS_NEW(s->arena, struct ws_acts)};
  s->nprograms++;
  struct ws_scope sc = {.s = s, .p = p, .env = env, .single = r->one_thread};
  block(&sc, d->body, p->body);
}

static void programs_of(struct ws_schedule *s, const struct ws_program *d) {
  struct ws_rolem *r = ws_find_role(s, d->role);
  if (!r) {
    const char **known = WS_NEW_N(s->arena, const char *, s->nroles + 1);
    for (int i = 0; i < s->nroles; i++) known[i] = s->roles[i].name;
    ws_unknown(s, d->pos, "role", d->role, known, (size_t)s->nroles);
    return;
  }
  long v;
  if (d->index && !r->is_array) {
    ws_error(s->diags, d->index->pos, "element", "role `%s` is not an array", r->name);
    return;
  }
  bool named = d->index && d->index->kind == WS_E_NAME && !ws_schedule_param(s, d->index->name);
  if (d->index && !named) {
    if (ws_static_int(s, NULL, d->index, 0, r->count - 1, ws_fmt(s->arena, "the instance of `%s`", r->name), &v)) program(s, d, r, (int)v, 1, NULL);
    return;
  }
  struct ws_env env = {.name = named ? d->index->name : "", .runtime = !r->separate};
  if (!r->separate) return program(s, d, r, 0, r->count, named ? &env : NULL);
  for (int i = 0; i < r->count; i++) {
    env.value = i;
    program(s, d, r, i, 1, named ? &env : NULL);
  }
}

void ws_pass_resolve(struct ws_schedule *s) {
  size_t most = 0;
  for (size_t i = 0; i < s->doc->nprograms; i++) most += 64;
  s->programs = WS_NEW_N(s->arena, struct ws_programm, most);
  for (size_t i = 0; i < s->doc->nprograms; i++) programs_of(s, &s->doc->programs[i]);
  for (int k = 0; k < s->nroles; k++) {
    bool has = false;
    for (int i = 0; i < s->nprograms; i++) has |= s->programs[i].role == &s->roles[k];
    if (!has && (!s->nprograms || takes_part(s, &s->roles[k])))
      ws_error(s->diags, s->roles[k].decl->name.pos, "role", "role `%s` has no program", s->roles[k].name);
  }
}
