#include "lower.h"
#include <stdarg.h>
#include <string.h>

/* --- registers and text --- */

const char *ws_lower_temp(struct lower *l, enum ws_reg_class c) {
  static const char *const names[2][WS_REG_CLASSES] = {{"p", "i", "f", "w", "h"}, {"hp", "hi", "hf", "hw", "hh"}};
  const char *name = names[l->hoisting > 0][c];
  int i = l->temp[c]++;
  return ws_ptx_temps(&l->px, c, name, (size_t)i + 1)[i];
}

const char *ws_lower_int(struct lower *l, long v) { return ws_ptx_int(&l->px, v); }

const char *ws_lower_named(struct lower *l, enum ws_reg_class c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *name = ws_vfmt(l->arena, fmt, ap);
  va_end(ap);
  return ws_ptx_reg(&l->px, c, name);
}

void ws_lower_comment(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  bool moved = l->hoisting && l->act && (l->px.out == l->start || l->px.out == l->tile_start);
  ws_buf_printf(l->px.out, "\n    // %s%s\n", moved ? ws_fmt(l->arena, "for line %u: ", l->act->src->pos.line) : "", ws_vfmt(l->arena, fmt, ap));
  va_end(ap);
}

void ws_lower_note(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  ws_buf_printf(l->px.out, "    // %s\n", ws_vfmt(l->arena, fmt, ap));
  va_end(ap);
}

const char *ws_lower_unique(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *base = ws_vfmt(l->arena, fmt, ap), *name = base;
  va_end(ap);
  for (int again = 2;; again++) {
    bool used = false;
    for (size_t i = 0; i < l->nnames; i++) used |= !strcmp(l->names[i], name);
    if (!used) break;
    name = ws_fmt(l->arena, "%s_x%d", base, again);
  }
  return *WS_PUSH(l->arena, l->names, l->nnames, l->names_cap) = name;
}

struct ws_buf *ws_lower_hoist(struct lower *l, struct ws_buf *to) {
  struct ws_buf *old = l->px.out;
  if (to) l->px.out = to;
  l->hoisting++;
  return old;
}

void ws_lower_restore(struct lower *l, struct ws_buf *old) {
  l->px.out = old;
  l->hoisting--;
}

struct touch {
  const struct ws_tensor *tensor;
  const struct ws_bufferm *buffer;
  bool found;
};

static void touches(void *ctx, struct ws_act *a) {
  struct touch *t = ctx;
  const struct ws_mem *mem[] = {a->from, a->to, a->a_mem, a->b_mem};
  for (size_t i = 0; i < 4; i++)
    t->found |= mem[i] && ((t->tensor && mem[i]->tensor == t->tensor) || (t->buffer && mem[i]->buffer == t->buffer));
}

static void touches_in_loop(void *ctx, struct ws_act *a) {
  if (a->kind == WS_S_FOR && a->iter->list) ws_each_act(a->body, touches, ctx);
}

bool ws_lower_in_loop(struct lower *l, const struct ws_tensor *t, const struct ws_bufferm *b) {
  if (l->votes) return false;
  if (l->depth) return true;
  struct touch c = {.tensor = t, .buffer = b};
  ws_each_act(l->prog->body, touches_in_loop, &c);
  return c.found;
}

/* --- statements --- */

/* The barrier of a role's instance: one id an instance, counted on from the first one's. */
static const char *barrier_id(struct lower *l, int id) {
  if (l->prog->count == 1) return ws_lower_int(l, id + l->prog->first);
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, "%instance", ws_lower_int(l, id));
  return d;
}

/* A named barrier: one id an element, or one a warp. */
static const char *named_id(struct lower *l, const struct ws_act *a) {
  const struct ws_barrierm *b = a->barrier;
  const char *id = ws_lower_int(l, b->id + (a->element_at ? 0 : a->element * b->ids)), *d;
  if (a->element_at) {
    OP(l, "mad_s32", d = ws_lower_temp(l, WS_REG_B32), ws_uniform_int(l, a->element_at), ws_lower_int(l, b->ids), id);
    id = d;
  }
  if (b->per_warp) OP(l, "add_s32", d = ws_lower_temp(l, WS_REG_B32), id, "%warp"), id = d;
  return id;
}

static void meet(struct lower *l, const struct ws_act *a) {
  const struct ws_rolem *r = l->prog->role;
  if (a->barrier)
    OP(l, a->kind == WS_S_ARRIVE ? "barrier_arrive" : "barrier_sync", named_id(l, a), ws_lower_int(l, a->barrier->arrivals[a->element]));
  else if (a->sync == WS_SYNC_WARP || (a->sync == WS_SYNC_ROLE && r->warps == 1))
    WS_OP0(&l->px, "sync_warp");
  else if (a->sync == WS_SYNC_CLUSTER)
    WS_OP0(&l->px, "sync_cluster");
  else if (a->sync == WS_SYNC_ALL || l->one_role)
    WS_OP0(&l->px, "sync_cta");
  else if (a->sync == WS_SYNC_ROLE)
    OP(l, "barrier_sync", barrier_id(l, r->sync_id), ws_lower_int(l, r->warps * 32L));
  else
    OP(l, "barrier_sync", ws_lower_int(l, a->role->all_id), ws_lower_int(l, a->role->warps * a->role->count * 32L));
}

static void sync_act(struct lower *l, const struct ws_act *a) {
  ws_lower_fence_before(l);
  meet(l, a);
  if (a->kind == WS_S_SYNC) ws_lower_fence_after(l);
}

static bool has_vote(const struct ws_node *x) {
  if (x->kind == WS_N_VAR) return x->type == WS_BOOL;
  if (x->kind == WS_N_REDUCE && (x->fn == WS_F_ANY || x->fn == WS_F_ALL)) return true;
  for (int i = 0; i < x->n; i++)
    if (has_vote(x->arg[i])) return true;
  return false;
}

static void if_act(struct lower *l, struct ws_act *a) {
  const char *end = ws_ptx_label(&l->px, "endif");
  for (int i = 0; i < a->narms; i++) {
    struct ws_arm *arm = &a->arms[i];
    const char *next = NULL;
    bool never = false;
    const char *p = arm->cond ? ws_uniform_pred(l, arm->cond, &never) : NULL;
    if (never) continue;
    if (p) {
      next = i + 1 < a->narms ? ws_ptx_label(&l->px, "else") : end;
      OP(l, "branch_unless", p, next);
    }
    bool vote = arm->cond && has_vote(arm->cond);
    l->votes += vote;
    ws_lower_acts(l, arm->body);
    l->votes -= vote;
    if (!p) break; /* always taken: what follows is never reached */
    if (next != end) {
      OP(l, "branch", end);
      OP(l, "label", next);
    }
  }
  OP(l, "label", end);
}

/* The comment behind a statement in the spec, "" if there is none. */
static const char *spec_comment(struct lower *l, const struct ws_act *a) {
  const struct ws_source *src = l->diags->source;
  const char *p = src->text, *end = src->text + src->len;
  for (unsigned line = 1; line < a->src->pos.line && p; line++) p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL;
  if (!p) return "";
  const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
  for (; p + 1 < stop; p++)
    if (p[0] == ' ' && p[1] == '#') return ws_strndup(l->arena, p + 1, (size_t)(stop - p - 1));
  return "";
}

static void comment(struct lower *l, const struct ws_act *a) {
  const char *why = spec_comment(l, a), *text = ws_fmt(l->arena, "%u: %s", a->src->pos.line, a->src->text);
  ws_buf_printf(l->px.out, "\n    // %-*s%s%s\n", *why ? 48 : 0, text, *why ? "  " : "", why);
  OP(l, "location", ws_lower_int(l, a->src->pos.line), ws_lower_int(l, a->src->pos.col));
}

/* The first thread of the role runs the block, the others go around it. */
static void one_thread(struct lower *l, struct ws_act *a) {
  const char *skip = ws_ptx_label(&l->px, "others"), *p = ws_lower_temp(l, WS_REG_PRED);
  ws_lower_descriptors(l, a->body);
  OP(l, "compare_s32", "ne", p, "%thread", "0");
  OP(l, "branch_if", p, skip);
  ws_lower_acts(l, a->body);
  OP(l, "label", skip);
}

static void lower_act(struct lower *l, struct ws_acts *acts, size_t i) {
  struct ws_act *a = &acts->act[i];
  memset(l->temp, 0, sizeof l->temp);
  l->known.node = NULL;
  l->act = a, l->around = acts;
  comment(l, a);
  switch (a->kind) {
  case WS_S_FOR: ws_lower_for(l, a); break;
  case WS_S_IF: if_act(l, a); break;
  case WS_S_LOAD: a->by == WS_BY_TMA ? ws_lower_tma_load(l, a) : ws_lower_load(l, a); break;
  case WS_S_STORE:
    a->by == WS_BY_BULK ? ws_lower_tma_store(l, a) : ws_lower_store(l, a);
    if (a->by != WS_BY_BULK) ws_lower_tensor_fence(l, a->to->tensor);
    break;
  case WS_S_WRITE: ws_lower_write(l, a); break;
  case WS_S_COPY: ws_lower_copy(l, a); break;
  case WS_S_REDUCE: a->by == WS_BY_BULK ? ws_lower_tma_store(l, a) : ws_lower_reduction(l, a); break;
  case WS_S_PRODUCT: a->by == WS_BY_WGMMA ? ws_lower_wgmma(l, a) : a->by == WS_BY_TCGEN05 ? ws_lower_tcgen05(l, a) : ws_lower_product(l, a); break;
  case WS_S_ASSIGN: a->handle ? ws_lower_same_slot(l, a) : a->to ? ws_lower_from_zero(l, a) : ws_lower_assign(l, acts, i); break;
  case WS_S_ASSIGN2: ws_lower_read_red(l, a); break;
  case WS_S_WAIT_EQ: ws_lower_counter(l, a); break;
  case WS_S_ARRIVE: !a->barrier ? ws_lower_counter(l, a) : a->barrier->named ? sync_act(l, a) : ws_lower_arrive(l, a); break;
  case WS_S_SYNC: sync_act(l, a); break;
  case WS_S_ACQUIRE: ws_lower_acquire(l, a); break;
  case WS_S_COMMIT: ws_lower_commit(l, a); break;
  case WS_S_WAIT: ws_lower_wait(l, a); break;
  case WS_S_RELEASE: ws_lower_release(l, a); break;
  case WS_S_AWAIT: ws_lower_await(l, a); break;
  case WS_S_INIT: case WS_S_INVAL: ws_lower_init(l, a); break;
  case WS_S_WAIT_PHASE: ws_lower_wait_phase(l, a); break;
  case WS_S_ARRIVE_EXPECT: ws_lower_expect(l, a); break;
  case WS_S_FENCE: ws_lower_fence(l, a); break;
  case WS_S_ONE_THREAD: one_thread(l, a); break;
  default: ws_error(l->diags, a->src->pos, "not-lowered", "this statement is not lowered for %s", l->s->target);
  }
  l->known.node = NULL; /* what stands in a branch is not known behind it */
}

void ws_lower_keep(struct lower *l, struct keep *k, struct lifetime *item, struct ws_pos pos) {
  if (k->n == KEPT)
    ws_error(l->diags, pos, "not-lowered", "more than %d ways to address memory in one program: split it into roles", KEPT);
  else
    k->item[k->n++] = item;
}

/* Forgets what was computed in place since the count was n. */
static void forget(struct keep *k, int n) {
  int kept = n;
  for (int i = n; i < k->n; i++)
    if (k->item[i]->everywhere) k->item[kept++] = k->item[i];
  k->n = kept;
}

void ws_lower_acts(struct lower *l, struct ws_acts *acts) {
  int maps = l->maps.n, frags = l->frags.n, pointers = l->pointers.n;
  for (size_t i = 0; i < acts->n; i++) lower_act(l, acts, i);
  forget(&l->maps, maps);
  forget(&l->frags, frags);
  forget(&l->pointers, pointers);
}
