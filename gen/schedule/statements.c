/* Moves, products, assignments: who executes decides the mechanism. */
#include "passes.h"
#include <string.h>

static bool in_space(struct ws_scope *sc, const struct ws_mem *m, enum ws_space space, const char *what) {
  static const char *const must[] = {"must be in shared memory", "must be in TMEM", "must be a tile of a tensor"};
  if (m->space == space) return true;
  ws_error(sc->s->diags, m->pos, "memory", "%s %s", what, must[space]);
  return false;
}

static int seen_rows(const struct ws_mem *m) { return m->transposed ? m->cols : m->rows; }
static int seen_cols(const struct ws_mem *m) { return m->transposed ? m->rows : m->cols; }

static bool same_shape(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_mem *a, const struct ws_mem *b) {
  if (seen_rows(a) == seen_rows(b) && seen_cols(a) == seen_cols(b)) return true;
  ws_error(sc->s->diags, st->pos, "shape", "shapes differ: [%d, %d] -> [%d, %d]", seen_rows(a), seen_cols(a), seen_rows(b), seen_cols(b));
  return false;
}

static enum ws_type type_of(const struct ws_mem *m) { return m->tensor ? m->tensor->type : m->buffer->type; }
static const char *name_of(const struct ws_mem *m) { return m->tensor ? m->tensor->name : m->buffer->name; }

static bool same_type(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_mem *a, const struct ws_mem *b) {
  if (type_of(a) == type_of(b)) return true;
  ws_error(sc->s->diags, st->pos, "type", "`%s` holds %s, `%s` holds %s", name_of(a), ws_type_name(type_of(a)), name_of(b), ws_type_name(type_of(b)));
  return false;
}

static bool all_threads(struct ws_scope *sc, struct ws_pos pos, const char *what) {
  if (!sc->single) return true;
  ws_error(sc->s->diags, pos, "one-thread", "%s needs all threads of the role: not in %s", what, sc->p->role->one_thread ? "a role of one thread" : "a one-thread block");
  return false;
}

static bool one_thread(struct ws_scope *sc, struct ws_pos pos, const char *what) {
  if (sc->single) return true;
  ws_error(sc->s->diags, pos, "all-threads", "%s is issued by one thread: put it into `one thread:`, or give the role `threads: 1`", what);
  return false;
}

/* --- load --- */

/* The ring that a load fills: the slot's, or the one over the buffer; a ring filled from the peer is one of its own. */
static struct ws_pipelinem *ring_of(struct ws_scope *sc, const struct ws_mem *to) {
  struct ws_schedule *s = sc->s;
  if (to->handle) return to->handle->pipe;
  for (int i = 0; i < s->npipelines; i++) {
    struct ws_pipelinem *p = &s->pipelines[i];
    if (p->buffer == to->buffer && p->by != WS_BY_THREADS && (p->full == WS_SCOPE_PEER) == to->peer) return p;
  }
  for (int i = 0; i < s->npipelines; i++)
    if (s->pipelines[i].buffer == to->buffer) return &s->pipelines[i];
  return NULL;
}

/* TMA and bulk copies move multiples of 16 bytes (PTX ISA, cp.async.bulk: size; cuTensorMapEncodeTiled: box in bytes). */
static bool bulk_rows(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_mem *m) {
  long n = m->rows == 1 || m->cols == 1 ? (long)m->rows * m->cols : m->cols, bytes = n * (long)ws_type_bits(m->buffer->type) / 8;
  if (bytes % 16 == 0) return true;
  ws_error(sc->s->diags, st->pos, "bulk", "TMA and bulk copies move multiples of 16 bytes; a row of this part of `%s` has %ld", m->buffer->name, bytes);
  return false;
}

/* Without a ring: TMA completes the barrier at which this thread announced bytes last. */
static bool at_barrier(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  const struct ws_act *e = &sc->expect;
  if (!sc->single || !e->barrier) {
    ws_error(sc->s->diags, a->to->pos, "pipeline", "`%s` belongs to no pipeline: a load fills an acquired slot%s", a->to->buffer->name,
             sc->single ? ", or completes the barrier of an `arrive b expect ...` before it" : "");
    return false;
  }
  a->barrier = e->barrier, a->element = e->element, a->element_at = e->element_at;
  a->by = WS_BY_TMA;
  a->bytes = (long)a->to->rows * a->to->cols * (long)ws_type_bits(a->to->buffer->type) / 8;
  if (a->when || a->opt.multicast || a->to->peer) {
    ws_error(sc->s->diags, st->pos, "pipeline", "`when`, `multicast` and `.peer` belong to loads into slots of a pipeline");
    return false;
  }
  return bulk_rows(sc, st, a->to);
}

static bool load_mechanism(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  struct ws_schedule *s = sc->s;
  if (!a->pipe) return at_barrier(sc, st, a);
  if (a->pipe->by == WS_BY_THREADS) {
    ws_error(s->diags, a->to->pos, "pipeline", "pipeline `%s` is filled by threads or products: a load needs `by: tma` or `by: cp.async`", a->pipe->name);
    return false;
  }
  a->by = a->pipe->by;
  if (a->by == WS_BY_TMA && !one_thread(sc, st->pos, a->to->peer ? "a copy to the peer" : "a TMA load")) return false;
  if (a->by == WS_BY_CP_ASYNC && !all_threads(sc, st->pos, "cp.async")) return false;
  if (a->when && a->by != WS_BY_CP_ASYNC) {
    ws_error(s->diags, a->when->pos, "when", "`when` is for cp.async: the bytes of a TMA load are counted on");
    return false;
  }
  if (a->opt.multicast && (!s->pair || a->by != WS_BY_TMA)) {
    ws_error(s->diags, st->pos, "option", s->pair ? "`multicast` is for TMA" : "`multicast=pair` needs `cluster: pair`");
    return false;
  }
  if (a->opt.multicast && a->pipe->empty != WS_SCOPE_PAIR) {
    ws_error(s->diags, st->pos, "scope", "a multicast fills slots of both CTAs: pipeline `%s` needs `empty: pair`", a->pipe->name);
    ws_note(s->diags, a->pipe->decl->name.pos, "declared here");
    return false;
  }
  if (a->by == WS_BY_TMA && !bulk_rows(sc, st, a->to)) return false;
  if (a->to->buffer->acc8) {
    ws_error(s->diags, a->to->pos, "order", "a load copies rows as they lie; `%s` has its keys in accumulator order: `copy` or `write` puts them there", a->to->buffer->name);
    return false;
  }
  if (a->to->peer) a->by = WS_BY_BULK;
  return true;
}

static void load(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_mem *from = ws_resolve_mem(sc, st->a), *to = ws_resolve_mem(sc, st->dst);
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1, .from = from, .to = to};
  a.when = st->when ? ws_resolve_expr(sc, st->when) : NULL;
  if (!from || !to || (st->when && !a.when) || !ws_resolve_options(sc, st, &a)) return;
  if (to->peer ? !in_space(sc, from, WS_SMEM, "the source of a copy to the peer") : !in_space(sc, from, WS_GLOBAL, "the source of a load")) return;
  if (!in_space(sc, to, WS_SMEM, "the destination of a load") || !same_shape(sc, st, from, to) || !same_type(sc, st, from, to)) return;
  if (from->transposed != to->transposed && from->rows > 1 && from->cols > 1) {
    ws_error(sc->s->diags, st->pos, "transposed", "a load transposes vectors only: TMA and cp.async copy rows as they are");
    return;
  }
  a.pipe = ring_of(sc, to);
  if (!load_mechanism(sc, st, &a)) return;
  if (from->tensor) from->tensor->used = true;
  *ws_act_push(sc, out, st) = a;
}

/* --- store, reduce --- */

static void store(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  a.to = ws_resolve_mem(sc, st->dst);
  if (ws_names_memory(sc, st->a))
    a.from = ws_resolve_mem(sc, st->a);
  else
    a.value = ws_resolve_expr(sc, st->a);
  const char *what = st->kind == WS_S_STORE ? "the destination of a store" : "the destination of a reduction";
  if (!a.to || (!a.from && !a.value) || !ws_resolve_options(sc, st, &a) || !in_space(sc, a.to, WS_GLOBAL, what)) return;
  if (!a.to->tensor->out && !a.to->tensor->workspace) {
    ws_error(s->diags, a.to->pos, "store", "`%s` is an input of the %s", a.to->tensor->name, a.to->tensor->input ? "schedule" : "problem");
    return;
  }
  if (a.from && (!in_space(sc, a.from, WS_SMEM, "the source of a store") || !same_shape(sc, st, a.from, a.to) || !same_type(sc, st, a.from, a.to))) return;
  if (a.value && !all_threads(sc, st->pos, "storing registers")) return;
  a.by = a.from && sc->single ? WS_BY_BULK : WS_BY_THREADS;
  if (a.by == WS_BY_BULK && s->arch < 90) {
    ws_error(s->diags, st->pos, "target", "bulk copies exist from sm_90 on: on %s all threads store", s->target);
    return;
  }
  if (a.by == WS_BY_BULK && !bulk_rows(sc, st, a.from)) return;
  a.to->tensor->used = true;
  *ws_act_push(sc, out, st) = a;
}

/* --- write, copy --- */

static void write(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  if (ws_names_memory(sc, st->a)) {
    ws_error(sc->s->diags, st->a->pos, "memory", "write takes registers: `copy` goes from memory to memory, `read(...)` gives values");
    return;
  }
  a.to = ws_resolve_mem(sc, st->dst);
  a.value = ws_resolve_expr(sc, st->a);
  if (!a.to || !a.value || !ws_resolve_options(sc, st, &a)) return;
  if (a.to->space == WS_GLOBAL) {
    ws_error(sc->s->diags, a.to->pos, "memory", "the destination of a write must be in shared memory or TMEM; `store` goes to tensors");
    return;
  }
  if (!all_threads(sc, st->pos, "write")) return;
  a.by = WS_BY_THREADS;
  *ws_act_push(sc, out, st) = a;
}

static void copy(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  a.from = ws_resolve_mem(sc, st->a), a.to = ws_resolve_mem(sc, st->dst);
  if (!a.from || !a.to || !ws_resolve_options(sc, st, &a)) return;
  if (!in_space(sc, a.from, WS_SMEM, "the source of a copy") || !in_space(sc, a.to, WS_SMEM, "the destination of a copy")) return;
  if (!same_shape(sc, st, a.from, a.to) || !same_type(sc, st, a.from, a.to) || !all_threads(sc, st->pos, "copy")) return;
  *ws_act_push(sc, out, st) = a;
}

void ws_resolve_move(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  switch (st->kind) {
  case WS_S_LOAD: load(sc, st, out); break;
  case WS_S_WRITE: write(sc, st, out); break;
  case WS_S_COPY: copy(sc, st, out); break;
  default: store(sc, st, out); break;
  }
}

/* --- product --- */

struct ws_var *ws_target_var(struct ws_scope *sc, const struct ws_expr *e, const struct ws_expr *where) {
  struct ws_schedule *s = sc->s;
  if (e->kind != WS_E_NAME) {
    ws_error(s->diags, where->pos, "assign", "only a name, or memory in a product, stands left of `=`");
    return NULL;
  }
  const char *as;
  if (ws_name_taken(sc, e->name, &as) || (ws_find_iter(sc, e->name) && (as = "a loop variable")) ||
      (ws_find_handle(sc, e->name) && (as = "a slot"))) {
    ws_error(s->diags, e->pos, "assign", "`%s` is %s: a register tile needs another name", e->name, as);
    return NULL;
  }
  struct ws_var *v = ws_find_var(sc, e->name);
  if (!v) {
    v = WS_NEW(s->arena, struct ws_var);
    *v = (struct ws_var){.name = e->name, .pos = e->pos, .index = (int)sc->p->nvars, .rows = 1, .cols = 1};
    *WS_PUSH(s->arena, sc->p->vars, sc->p->nvars, sc->p->vars_cap) = v;
  }
  v->nassign++;
  return v;
}

static bool wgmma_role(const struct ws_schedule *s, const struct ws_rolem *r) { return s->arch == 90 && r->warps % 4 == 0; }

static bool into_tmem(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  if (a->to->space != WS_TMEM) {
    ws_error(sc->s->diags, a->to->pos, "product", "a product goes into TMEM or into a register tile, not into `%s`", name_of(a->to));
    return false;
  }
  if (!one_thread(sc, st->pos, "tcgen05.mma")) return false;
  a->by = WS_BY_TCGEN05;
  if (a->a_mem) return true;
  ws_error(sc->s->diags, a->a->pos, "product", "the left operand of tcgen05.mma is shared memory or TMEM: write it there first");
  return false;
}

static bool into_registers(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  if (!all_threads(sc, st->pos, "a product into registers")) return false;
  if (a->a_mem && !in_space(sc, a->a_mem, WS_SMEM, "the left operand of a product")) return false;
  for (size_t i = 0; i < st->nopts; i++)
    if (!strcmp(st->opts[i].name, "descriptors")) {
      ws_error(sc->s->diags, st->opts[i].pos, "option", "option `descriptors` belongs to a product into TMEM");
      return false;
    }
  a->by = wgmma_role(sc->s, sc->p->role) && !sc->vote ? WS_BY_WGMMA : WS_BY_MMA_SYNC; /* a vote parts the warps of a warpgroup */
  return (a->dst = ws_target_var(sc, st->dst, st->dst)) != NULL;
}

static void product(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_act a = {.kind = st->kind, .src = st, .accumulate = st->accumulate, .single = sc->single, .wait_groups = -1};
  if (ws_names_memory(sc, st->a))
    a.a_mem = ws_resolve_mem(sc, st->a);
  else
    a.a = ws_resolve_expr(sc, st->a);
  a.b_mem = ws_resolve_mem(sc, st->b);
  if ((!a.a && !a.a_mem) || !a.b_mem || !in_space(sc, a.b_mem, WS_SMEM, "the right operand of a product")) return;
  if (a.a_mem && a.a_mem->space == WS_GLOBAL && !in_space(sc, a.a_mem, WS_SMEM, "the left operand of a product")) return;
  if (!ws_resolve_options(sc, st, &a)) return;
  if (ws_names_memory(sc, st->dst)) {
    a.to = ws_resolve_mem(sc, st->dst);
    if (!a.to || !into_tmem(sc, st, &a)) return;
  } else if (!into_registers(sc, st, &a))
    return;
  *ws_act_push(sc, out, st) = a;
}

/* --- assignments --- */

/* Qc = Qn: a second name for a slot. */
static void rename_slot(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  struct ws_handle *from = ws_find_handle(sc, st->a->name), *h = ws_find_handle(sc, st->dst->name);
  const char *as;
  if (ws_name_taken(sc, st->dst->name, &as) || (ws_find_var(sc, st->dst->name) && (as = "a register tile"))) {
    ws_error(s->diags, st->dst->pos, "assign", "`%s` is %s: a slot needs another name", st->dst->name, as);
    return;
  }
  if (!h) {
    h = WS_NEW(s->arena, struct ws_handle);
    *h = *from;
    h->name = st->dst->name, h->pos = st->dst->pos, h->index = (int)sc->p->nhandles;
    *WS_PUSH(s->arena, sc->p->handles, sc->p->nhandles, sc->p->handles_cap) = h;
  } else if (h->pipe != from->pipe || h->element != from->element || h->rows != from->rows || h->cols != from->cols) {
    ws_error(s->diags, st->pos, "slot-name", "`%s` names a slot of `%s` as [%d, %d], `%s` one of `%s` as [%d, %d]", h->name, h->pipe->name, h->rows,
             h->cols, from->name, from->pipe->name, from->rows, from->cols);
    return;
  }
  struct ws_act *a = ws_act_push(sc, out, st);
  a->handle = h, a->handle_from = from;
}

/* D = 0: the next += on D starts from zero. */
static void from_zero(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_static v;
  bool bad = false;
  struct ws_mem *m = ws_resolve_mem(sc, st->dst);
  if (!m) return;
  bool zero = ws_static_try(sc->s, sc->env, st->a, &v, &bad) && (v.kind == WS_ST_INT || v.kind == WS_ST_FLOAT) && v.f == 0;
  if (!zero || m->space != WS_TMEM) {
    if (!bad)
      ws_error(sc->s->diags, st->pos, "memory", "memory is changed by write, load, copy or a product; `D = 0` marks an accumulator in TMEM");
    return;
  }
  if (!one_thread(sc, st->pos, "a product into TMEM, which this starts,")) return;
  struct ws_act *a = ws_act_push(sc, out, st);
  a->to = m;
}

static void two_results(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  struct ws_schedule *s = sc->s;
  if (a->value->kind != WS_N_READ || a->value->mem->space != WS_TMEM || !a->opt.red)
    ws_error(s->diags, st->pos, "assign", "two names stand for a read of TMEM with its row maxima only: `x, r = read(S) with red=max`");
  else if (s->arch != 103)
    ws_error(s->diags, st->pos, "target", "tcgen05.ld.red exists on sm_103a, not on %s", s->target);
  else
    a->dst2 = ws_target_var(sc, st->dst2, st->dst2);
}

static bool names_tmem(struct ws_scope *sc, const char *name) {
  const struct ws_handle *h = ws_find_handle(sc, name);
  const struct ws_bufferm *b = h ? h->pipe->buffer : ws_find_buffer(sc->s, name);
  return b && b->tmem;
}

static void assign(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  struct ws_schedule *s = sc->s;
  if (st->accumulate) {
    ws_error(s->diags, st->pos, "assign", "`+=` stands before a product only: write `x = x + ...`");
    return;
  }
  if (st->dst->kind == WS_E_NAME && st->a->kind == WS_E_NAME && ws_find_handle(sc, st->a->name)) return rename_slot(sc, st, out);
  struct ws_act a = {.kind = st->kind, .src = st, .single = sc->single, .wait_groups = -1};
  bool part = st->dst->kind == WS_E_METHOD && (!strcmp(st->dst->name, "rows") || !strcmp(st->dst->name, "cols"));
  if (ws_names_memory(sc, st->dst) && (st->dst->kind != WS_E_NAME || names_tmem(sc, st->dst->name))) return from_zero(sc, st, out);
  a.value = ws_resolve_expr(sc, st->a);
  if (part && !ws_resolve_part(sc, st->dst, &a.dst_part)) return;
  a.dst = ws_target_var(sc, part ? st->dst->arg[0] : st->dst, st->dst);
  if (!a.value || !a.dst || !ws_resolve_options(sc, st, &a)) return;
  if (st->kind == WS_S_ASSIGN2) {
    two_results(sc, st, &a);
    if (!a.dst2) return;
  }
  *ws_act_push(sc, out, st) = a;
}

void ws_resolve_compute(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out) {
  if (st->kind == WS_S_PRODUCT)
    product(sc, st, out);
  else
    assign(sc, st, out);
}
