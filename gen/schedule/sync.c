/* Everything that waits or arrives: rings, barriers, sync, await, counters in global memory, explicit forms. */
#include "passes.h"
#include <string.h>

static bool all_threads(struct ws_scope *sc, const struct ws_stmt *st, const char *what) {
  if (!sc->single) return true;
  ws_error(sc->s->diags, st->pos, "one-thread", "%s needs all threads of the role: not in %s", what, sc->p->role->one_thread ? "a role of one thread" : "a one-thread block");
  return false;
}

/* --- references --- */

static bool reference(struct ws_scope *sc, const struct ws_expr *e, struct ws_act *a) {
  struct ws_schedule *s = sc->s;
  const struct ws_expr *r = e->kind == WS_E_INDEX && e->n == 2 ? e->arg[0] : e;
  const char **known = WS_NEW_N(s->arena, const char *, (size_t)(s->npipelines + s->nbarriers) + 1);
  size_t n = 0;
  if (r->kind != WS_E_NAME) {
    ws_error(s->diags, e->pos, "reference", "expected a pipeline or a barrier");
    return false;
  }
  bool is_array = false;
  int count = 1;
  for (int i = 0; i < s->npipelines; i++) {
    known[n++] = s->pipelines[i].name;
    if (!strcmp(s->pipelines[i].name, r->name)) a->pipe = &s->pipelines[i], is_array = a->pipe->is_array, count = a->pipe->count;
  }
  for (int i = 0; i < s->nbarriers; i++) {
    known[n++] = s->barriers[i].name;
    if (!strcmp(s->barriers[i].name, r->name)) a->barrier = &s->barriers[i], is_array = a->barrier->is_array, count = a->barrier->count;
  }
  if (!a->pipe && !a->barrier) {
    ws_unknown(s, r->pos, "pipeline or barrier", r->name, known, n);
    return false;
  }
  if (is_array != (e->kind == WS_E_INDEX)) {
    ws_error(s->diags, e->pos, "element", is_array ? "`%s` is an array: which element?" : "`%s` is not an array", r->name);
    return false;
  }
  long el = 0;
  if (is_array && !ws_resolve_index(sc, e->arg[1], 0, count - 1, ws_fmt(s->arena, "the element of `%s`", r->name), &el, &a->element_at)) return false;
  a->element = (int)el;
  return !a->pipe || a->pipe->buffer;
}

static const struct ws_endm *end_of(const struct ws_endm *e, int n, const struct ws_rolem *r) {
  for (int i = 0; i < n; i++)
    if (e[i].role == r) return &e[i];
  return NULL;
}

/* Is the role declared at this end? Its unit there. */
static bool at_end(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, bool from) {
  const struct ws_endm *list = a->pipe ? from ? a->pipe->from : a->pipe->to : from ? a->barrier->from : a->barrier->to;
  int n = a->pipe ? from ? a->pipe->nfrom : a->pipe->nto : from ? a->barrier->nfrom : a->barrier->nto;
  const struct ws_endm *e = end_of(list, n, sc->p->role);
  if (e) return a->unit = e->unit, true;
  ws_error(sc->s->diags, st->pos, "end", "role `%s` is not among `%s` of %s `%s`", sc->p->role->name, from ? "from" : "to", a->pipe ? "pipeline" : "barrier",
           a->pipe ? a->pipe->name : a->barrier->name);
  ws_note(sc->s->diags, a->pipe ? a->pipe->decl->name.pos : a->barrier->decl->name.pos, "declared here");
  return false;
}

/* One thread arrives once; `thread` and `warp` count all threads or warps of the role. */
static bool unit_fits(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_act *a) {
  static const char *const words[] = {"thread", "warp", "one"};
  if (!sc->single || a->unit == WS_UNIT_ONE) return true;
  ws_error(sc->s->diags, st->pos, "unit", "one thread arrives here, but `%s` arrives by `%s` at `%s`: write `{%s: one}`, or take this out of the block", sc->p->role->name,
           words[a->unit], a->pipe ? a->pipe->name : a->barrier->name, sc->p->role->name);
  return false;
}

/* --- slots --- */

static bool bind(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  struct ws_schedule *s = sc->s;
  struct ws_pipelinem *p = a->pipe;
  if (!st->handle) return true;
  long r = p->buffer->rows, c = p->buffer->cols;
  if (st->as_rows && (!ws_static_int(s, sc->env, st->as_rows, 1, 65536, "the rows of a slot", &r) ||
                      !ws_static_int(s, sc->env, st->as_cols, 1, 65536, "the columns of a slot", &c)))
    return false;
  if (r * c > (long)p->buffer->rows * p->buffer->cols)
    ws_error(s->diags, st->handle_pos, "slot-shape", "[%ld, %ld] does not fit into a slot of `%s`, which is [%d, %d]", r, c,
             p->buffer->name, p->buffer->rows, p->buffer->cols);
  const char *as;
  if (ws_name_taken(sc, st->handle, &as) || (ws_find_var(sc, st->handle) && (as = "a register tile"))) {
    ws_error(s->diags, st->handle_pos, "assign", "`%s` is %s: a slot needs another name", st->handle, as);
    return false;
  }
  struct ws_handle *h = ws_find_handle(sc, st->handle);
  if (!h) {
    h = WS_NEW(s->arena, struct ws_handle);
    *h = (struct ws_handle){.name = st->handle, .pos = st->handle_pos, .index = (int)sc->p->nhandles, .pipe = p,
                            .element = a->element, .element_at = a->element_at, .rows = (int)r, .cols = (int)c};
    *WS_PUSH(s->arena, sc->p->handles, sc->p->nhandles, sc->p->handles_cap) = h;
  } else if (h->pipe != p || h->element != a->element || !h->element_at != !a->element_at || h->rows != r || h->cols != c) {
    ws_error(s->diags, st->handle_pos, "slot-name", "`%s` already names a slot of `%s` as [%d, %d]", h->name, h->pipe->name,
             h->rows, h->cols);
    ws_note(s->diags, h->pos, "named here");
  }
  a->handle = h;
  return true;
}

static bool slot_named(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_act *a) {
  const struct ws_pipelinem *p = a->pipe;
  if (st->handle || p->buffer->stages == 1 || (st->kind == WS_S_WAIT && p->by == WS_BY_CP_ASYNC)) return true;
  ws_error(sc->s->diags, st->pos, "slot", "`%s` has %d stages: name the slot: `%s %s -> NAME`", p->name, p->buffer->stages,
           st->kind == WS_S_ACQUIRE ? "acquire" : "wait", p->name);
  return false;
}

static void ring(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  struct ws_pipelinem *p = a->pipe;
  bool fills = st->kind == WS_S_ACQUIRE || st->kind == WS_S_COMMIT;
  bool bound = bind(sc, st, a); /* first: what follows may use the name */
  if (!at_end(sc, st, a, fills) || !bound) return;
  if (p->by == WS_BY_CP_ASYNC && st->kind == WS_S_WAIT && a->opt.poll == WS_POLL_LEADER) {
    ws_error(s->diags, st->pos, "option", "`poll=leader` belongs to waits at an mbarrier: each thread waits for its own cp.async");
    return;
  }
  if (p->by == WS_BY_CP_ASYNC && st->kind == WS_S_RELEASE) {
    ws_error(s->diags, st->pos, "release", "a slot filled by cp.async is not released: a `sync` orders its reuse");
    return;
  }
  if (p->no_empty && st->kind == WS_S_RELEASE) {
    ws_error(s->diags, st->pos, "release", "pipeline `%s` has `empty: none`: other synchronisation orders the reuse", p->name);
    return;
  }
  if (p->by == WS_BY_TMA && st->kind == WS_S_COMMIT) {
    ws_error(s->diags, st->pos, "commit", "a slot filled by TMA is completed by its bytes: no `commit`");
    return;
  }
  if (p->by == WS_BY_CP_ASYNC && !all_threads(sc, st, "cp.async")) return;
  if (p->by == WS_BY_TMA && st->kind == WS_S_ACQUIRE && !sc->single) {
    ws_error(s->diags, st->pos, "all-threads", "`acquire` of a slot that TMA fills announces its bytes: one thread does it, in `one thread:`");
    return;
  }
  if ((st->kind == WS_S_COMMIT || st->kind == WS_S_RELEASE) && p->by != WS_BY_CP_ASYNC && !unit_fits(sc, st, a)) return;
  if (st->kind == WS_S_ACQUIRE || st->kind == WS_S_WAIT) slot_named(sc, st, a);
  a->by = p->by;
  *ws_act_push(sc, out, st) = *a;
}

/* release SLOT */
static bool release_handle(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  struct ws_handle *h = st->a->kind == WS_E_NAME ? ws_find_handle(sc, st->a->name) : NULL;
  if (!h) return false;
  a->handle = h, a->pipe = h->pipe, a->element = h->element, a->element_at = h->element_at;
  return true;
}

/* --- barriers --- */

static void on_barrier(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  const struct ws_barrierm *b = a->barrier;
  const char *word = st->kind == WS_S_ACQUIRE ? "acquire" : st->kind == WS_S_RELEASE ? "release" : NULL;
  if (word) {
    ws_error(s->diags, st->pos, "barrier", "`%s` is for pipelines; `%s` is a barrier: `arrive` and `wait`", word, b->name);
    return;
  }
  if (st->handle) {
    ws_error(s->diags, st->handle_pos, "barrier", "`%s` is a barrier: it has no slot to name", b->name);
    return;
  }
  if (b->named && st->kind != WS_S_ARRIVE) {
    ws_error(s->diags, st->pos, "barrier", "`%s` is a named barrier: `sync %s` waits, `arrive %s` does not", b->name, b->name, b->name);
    return;
  }
  if (!at_end(sc, st, a, st->kind != WS_S_WAIT)) return;
  if (b->named && !all_threads(sc, st, "a named barrier")) return;
  if (st->kind == WS_S_COMMIT) {
    if (!sc->single || s->arch < 100) {
      ws_error(s->diags, st->pos, "commit", s->arch < 100 ? "`commit` of a barrier stands for products of tcgen05, which %s does not have: `arrive`"
               : "`commit` is issued by the thread that issued the products: put it into `one thread:`", s->target);
      return;
    }
    a->by = WS_BY_TCGEN05;
  }
  if (st->kind != WS_S_WAIT && !b->named && !unit_fits(sc, st, a)) return;
  *ws_act_push(sc, out, st) = *a;
}

static void explicit_form(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  if (!a->barrier) {
    ws_error(s->diags, st->a->pos, "manual", "explicit forms are for barriers; `%s` is a pipeline", a->pipe->name);
    return;
  }
  if (!a->barrier->manual) {
    ws_error(s->diags, st->pos, "manual", "barrier `%s` is not declared `manual: true`", a->barrier->name);
    ws_note(s->diags, a->barrier->decl->name.pos, "declared here");
    return;
  }
  if (st->b && !(a->value = ws_resolve_expr(sc, st->b))) return;
  bool arrives = st->kind == WS_S_ARRIVE_EXPECT, waits = st->kind == WS_S_WAIT_PHASE;
  if (!arrives && !waits && !sc->single) {
    ws_error(s->diags, st->pos, "all-threads", "one thread sets a barrier up and takes it down: put it into `one thread:`");
    return;
  }
  if ((arrives || waits) && !at_end(sc, st, a, arrives)) return;
  if (arrives && !unit_fits(sc, st, a)) return;
  if (st->kind == WS_S_INIT) ((struct ws_barrierm *)a->barrier)->inits = true;
  if (arrives) sc->expect = *a;
  *ws_act_push(sc, out, st) = *a;
}

static void fence(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  static const char *const kinds[] = {"proxy.async", "tcgen05.before", "tcgen05.after", "wgmma", "mbarrier_init"};
  struct ws_buf text = {.arena = sc->s->arena};
  ws_expr_print(st->a, &text);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i], text.s)) a->fence = kinds[i];
  if (!a->fence)
    ws_unknown(sc->s, st->a->pos, "fence", text.s, kinds, sizeof kinds / sizeof *kinds);
  else
    *ws_act_push(sc, out, st) = *a;
}

/* --- sync, await, counters --- */

static void sync_stmt(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  a->sync = st->sync;
  if (!all_threads(sc, st, "`sync`")) return;
  if (st->sync == WS_SYNC_CLUSTER && !s->pair) {
    ws_error(s->diags, st->pos, "scope", "`sync cluster` needs `cluster: pair`");
    return;
  }
  if (st->sync == WS_SYNC_REF) {
    a->role = st->a->kind == WS_E_NAME ? ws_find_role(s, st->a->name) : NULL;
    if (a->role && a->role != sc->p->role) {
      ws_error(s->diags, st->a->pos, "sync", "`sync %s` is a barrier of the threads of `%s`; role `%s` is not among them", a->role->name, a->role->name, sc->p->role->name);
      return;
    }
    if (!a->role) {
      if (!reference(sc, st->a, a)) return;
      if (!a->barrier || !a->barrier->named) {
        ws_error(s->diags, st->a->pos, "sync", "`sync` takes a named barrier or a role; `%s` is %s: `wait`", a->pipe ? a->pipe->name : a->barrier->name,
                 a->pipe ? "a pipeline" : "an mbarrier");
        return;
      }
      if (!end_of(a->barrier->to, a->barrier->nto, sc->p->role) && !at_end(sc, st, a, false)) return;
    }
  }
  *ws_act_push(sc, out, st) = *a;
}

static void await(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  if (!ws_names_memory(sc, st->a)) {
    a->awaited = st->a->kind == WS_E_NAME ? ws_find_var(sc, st->a->name) : NULL;
    if (!a->awaited) {
      ws_error(s->diags, st->a->pos, "await", "`await` takes a register tile of a product or a read, or memory that a bulk store reads");
      return;
    }
    if (!all_threads(sc, st, "a register tile")) return;
  } else {
    if (!(a->from = ws_resolve_mem(sc, st->a))) return;
    if (a->from->space != WS_SMEM) {
      ws_error(s->diags, a->from->pos, "memory", "what a bulk store reads must be in shared memory");
      return;
    }
    if (!sc->single) {
      ws_error(s->diags, st->pos, "all-threads", "the thread that issued a store waits for it: put it into `one thread:`");
      return;
    }
    a->by = WS_BY_BULK;
  }
  *ws_act_push(sc, out, st) = *a;
}

static bool names_tensor(struct ws_scope *sc, const struct ws_expr *e) {
  const struct ws_expr *r = e->kind == WS_E_INDEX ? e->arg[0] : e;
  if (r->kind != WS_E_NAME || !ws_find_tensor(sc->s, r->name)) return false;
  for (int i = 0; i < sc->s->npipelines; i++)
    if (!strcmp(sc->s->pipelines[i].name, r->name)) return false;
  for (int i = 0; i < sc->s->nbarriers; i++)
    if (!strcmp(sc->s->barriers[i].name, r->name)) return false;
  return true;
}

/* arrive G[...], wait G[...] == n: a counter in global memory. */
static void counter(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  a->from = ws_resolve_mem(sc, st->a);
  if (st->b) a->value = ws_resolve_expr(sc, st->b);
  if (!a->from || (st->b && !a->value)) return;
  if (a->from->space != WS_GLOBAL || !a->from->tensor->coords || !a->from->tensor->workspace) {
    ws_error(s->diags, a->from->pos, "counter", "a counter is an element of a workspace of i32");
    return;
  }
  a->from->tensor->used = true;
  *ws_act_push(sc, out, st) = *a;
}

void ws_resolve_sync(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  switch (st->kind) {
  case WS_S_SYNC: return sync_stmt(sc, st, &a, out);
  case WS_S_AWAIT: return await(sc, st, &a, out);
  case WS_S_WAIT_EQ: return counter(sc, st, &a, out);
  case WS_S_FENCE: return fence(sc, st, &a, out);
  case WS_S_ARRIVE:
    if (names_tensor(sc, st->a)) return counter(sc, st, &a, out);
    break;
  default: break;
  }
  if (!(st->kind == WS_S_RELEASE && release_handle(sc, st, &a)) && !reference(sc, st->a, &a)) return;
  bool is_explicit = st->kind == WS_S_WAIT_PHASE || st->kind == WS_S_ARRIVE_EXPECT || st->kind == WS_S_INIT || st->kind == WS_S_INVAL;
  if (!ws_resolve_options(sc, st, &a)) return;
  if (is_explicit)
    explicit_form(sc, st, &a, out);
  else if (a.pipe && st->kind == WS_S_ARRIVE)
    ws_error(sc->s->diags, st->pos, "arrive", "`arrive` is for barriers; a pipeline is filled by `commit` and freed by `release`");
  else if (a.pipe)
    ring(sc, st, &a, out);
  else
    on_barrier(sc, st, &a, out);
}
