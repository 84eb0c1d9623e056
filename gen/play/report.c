/* Findings in words: both places, who, in which iteration, and what order is missing. One finding for a place and a kind. */
#include "world.h"
#include <stdarg.h>
#include <string.h>

const char *role_name(const struct warp *p) {
  struct world *w = p->w;
  const char *cta = w->ctas > 1 ? ws_fmt(w->found->arena, " of CTA %d", p->cta) : "";
  return p->role->is_array ? ws_fmt(w->found->arena, "`%s[%d]`%s", p->role->name, p->instance, cta) : ws_fmt(w->found->arena, "`%s`%s", p->role->name, cta);
}

const char *warp_name(const struct warp *p) {
  if (p->role->warps == 1) return role_name(p);
  return ws_fmt(p->w->found->arena, "warp %d of %s", p->index, role_name(p));
}

const char *bar_name(struct world *w, const struct bar *b) {
  bool array = b->pipe ? b->pipe->is_array : b->barrier->is_array;
  const char *el = array ? ws_fmt(w->found->arena, "[%d]", b->element) : "", *cta = w->ctas > 1 ? ws_fmt(w->found->arena, " of CTA %d", b->cta) : "";
  if (!b->pipe) return ws_fmt(w->found->arena, "`%s%s`%s", b->barrier->name, el, cta);
  const char *slot = b->pipe->buffer->stages > 1 ? ws_fmt(w->found->arena, ", slot %d", b->slot) : "";
  return ws_fmt(w->found->arena, "the %s side of `%s%s`%s%s", b->empty ? "empty" : "full", b->pipe->name, el, slot, cta);
}

const char *mem_name(struct world *w, const struct region *r) {
  struct ws_arena *a = w->found->arena;
  if (!r->root) return ws_fmt(a, "tensor memory, columns %d..%d", r->c0, r->c1 - 1);
  for (int i = 0; i < w->s->ntensors; i++)
    if (&w->s->tensors[i] == r->root) return ws_fmt(a, "`%s`", w->s->tensors[i].name);
  const struct ws_bufferm *b = r->root;
  const char *el = b->is_array ? ws_fmt(a, "[%d]", r->element) : "", *slot = b->stages > 1 ? ws_fmt(a, ", slot %d", r->stage) : "";
  return ws_fmt(a, "`%s%s`%s", b->name, el, slot);
}

const char *where(const struct warp *p) {
  struct ws_buf b = {.arena = p->w->found->arena};
  ws_buf_puts(&b, "blocks a tile:");
  for (int i = 0; i < p->w->ntiles; i++) ws_buf_printf(&b, "%s%d", i ? ", " : " ", p->w->trips[i]);
  for (int i = 0; i < p->depth; i++)
    if (p->frame[i].iter) ws_buf_printf(&b, "; %s is the %d%s", p->frame[i].iter->name, p->iter[p->frame[i].iter->index] + 1,
                                        p->iter[p->frame[i].iter->index] == 0 ? "st" : p->iter[p->frame[i].iter->index] == 1 ? "nd" : p->iter[p->frame[i].iter->index] == 2 ? "rd" : "th");
  return b.s;
}

struct finding *report(struct world *w, struct ws_pos pos, const char *code, const char *fmt, ...) {
  struct findings *x = w->found;
  x->errors++;
  x->race |= !strcmp(code, "race");
  for (int i = 0; i < x->n; i++)
    if (x->f[i].pos.line == pos.line && x->f[i].pos.col == pos.col && !strcmp(x->f[i].code, code)) return NULL;
  if (x->n == MAX_FINDINGS) return NULL;
  va_list ap;
  va_start(ap, fmt);
  struct finding *f = &x->f[x->n];
  *f = (struct finding){.severity = WS_ERROR, .pos = pos, .code = code, .text = ws_vfmt(x->arena, fmt, ap)};
  va_end(ap);
  x->n++;
  return f;
}

void note(struct world *w, struct finding *f, struct ws_pos pos, const char *fmt, ...) {
  if (!f || f->nnotes == (int)(sizeof f->note / sizeof *f->note)) return;
  if (pos.line == f->pos.line && pos.col == f->pos.col) pos = (struct ws_pos){0}; /* the line is shown once */
  va_list ap;
  va_start(ap, fmt);
  f->note[f->nnotes++] = (struct finding_note){pos, ws_vfmt(w->found->arena, fmt, ap)};
  va_end(ap);
}

void incomplete(struct world *w, const char *fmt, ...) {
  struct findings *x = w->found;
  va_list ap;
  va_start(ap, fmt);
  const char *text = ws_vfmt(x->arena, fmt, ap);
  va_end(ap);
  for (int i = 0; i < x->nincomplete; i++)
    if (!strcmp(x->incomplete[i], text)) return;
  if (x->nincomplete < (int)(sizeof x->incomplete / sizeof *x->incomplete)) x->incomplete[x->nincomplete++] = text;
}

/* --- races --- */

static const char *verb(enum access kind) { return kind == ACC_READ ? "read" : "write"; }

static const char *who(const struct warp *p, const struct op *op) {
  static const char *const names[] = {"a copy by cp.async", "a copy by TMA", "a product by wgmma", "a product by tcgen05", "a bulk store"};
  return op ? ws_fmt(p->w->found->arena, "%s of %s", names[op->kind], warp_name(p)) : warp_name(p);
}

static const char *ring_of(const struct op *o) { return o->act->pipe ? o->act->pipe->name : o->pipe ? o->pipe->name : "its ring"; }

static void remedy(struct warp *p, struct finding *f, const struct touch *old, enum access kind, const struct op *op) {
  struct world *w = p->w;
  struct ws_pos pos = p->at->src->pos;
  bool one_warp = old->who == p && !old->op && !op;
  if (one_warp) note(w, f, pos, "lanes of one warp: their layouts differ, so one lane touches what another one did; `sync warp` has to stand between");
  else if (old->op && old->op->kind == OP_CP_ASYNC && !old->op->waited) note(w, f, pos, "`wait %s` has to stand before this", ring_of(old->op));
  else if (old->op && old->op->kind == OP_CP_ASYNC)
    note(w, f, pos, "`wait %s` tells a thread of its own copies only: a `sync%s` has to stand between it and this", ring_of(old->op), p->role->warps == 1 && old->who == p ? " warp" : "");
  else if (old->op && old->op->kind == OP_TMA && old->kind != ACC_READ) note(w, f, pos, "`wait %s` has to stand before this", ring_of(old->op));
  else if (old->op && old->op->kind == OP_WGMMA) note(w, f, pos, "`await` the product, and let the release or barrier follow it");
  else if (old->op && old->op->kind == OP_TCGEN05) note(w, f, pos, "a `commit` behind the product, and a wait for its barrier before this");
  else if (old->op && old->op->kind == OP_BULK) note(w, f, pos, "`await` the store's source before the memory is written again");
  else if (old->kind == ACC_READ && kind != ACC_READ) note(w, f, pos, "it may still be read when this writes: a `sync` or `release` behind the read has to come before this");
  else note(w, f, pos, "a `sync`, or an arrival there and a wait here, has to stand between");
}

/* The two places of a race in the other order, which another warp found. */
static bool known(const struct findings *x, struct ws_pos here, struct ws_pos there) {
  for (int i = 0; i < x->n; i++)
    if (!strcmp(x->f[i].code, "race") && x->f[i].pos.line == there.line && x->f[i].nnotes && x->f[i].note[0].pos.line == here.line) return true;
  return false;
}

void report_race(struct warp *p, const struct touch *old, enum access kind, const struct op *op, const struct region *r) {
  struct world *w = p->w;
  if (known(w->found, p->at->src->pos, old->act->src->pos)) return;
  struct finding *f = report(w, p->at->src->pos, "race", "%s of %s is not ordered after the %s on line %u", kind == ACC_READ ? "this read" : "this write", mem_name(w, r), verb(old->kind), old->act->src->pos.line);
  note(w, f, old->act->src->pos, "the %s, by %s", verb(old->kind), who(old->who, old->op));
  note(w, f, p->at->src->pos, "here by %s; %s", who(p, op), where(p));
  remedy(p, f, old, kind, op);
}

/* --- deadlock --- */

static void due(struct world *w, struct finding *f, const struct warp *p, const struct ws_rolem *r) {
  for (int i = 0; i < w->nwarps; i++) {
    const struct warp *x = &w->warp[i];
    if (x->role != r || x->index || (x->cta != p->cta && x->p == p->p)) continue;
    if (x->done) note(w, f, x->p->decl->pos, "%s, which arrives there, has ended", role_name(x));
    else if (x->at) note(w, f, x->at->src->pos, "%s, which arrives there, stands here", role_name(x));
  }
}

static void missing(struct world *w, struct finding *f, const struct warp *p) {
  const struct bar *b = p->wait.bar;
  if (!b) return;
  if (b->bytes > 0) note(w, f, p->at->src->pos, "%ld bytes of this phase have not come", b->bytes);
  if (b->pending) note(w, f, p->at->src->pos, "%d of %d arrivals of this phase are missing", b->pending, b->count);
  const struct ws_endm *e = b->pipe ? b->empty ? b->pipe->to : b->pipe->from : b->barrier->from;
  int n = b->pipe ? b->empty ? b->pipe->nto : b->pipe->nfrom : b->barrier->nfrom;
  for (int i = 0; i < n; i++) due(w, f, p, e[i].role);
}

void report_deadlock(struct world *w) {
  for (int i = 0; i < w->nwarps; i++) {
    const struct warp *p = &w->warp[i];
    if (p->done || !p->at) continue;
    const struct waiting *x = &p->wait;
    const char *what = x->bar ? ws_fmt(w->found->arena, "phase %d of %s", x->phase, bar_name(w, x->bar))
                       : x->named ? ws_fmt(w->found->arena, "%d more threads of %d at a named barrier", x->named->count - x->named->got, x->named->count) : "something";
    struct finding *f = report(w, p->at->src->pos, "deadlock", "deadlock: %s waits here for %s, for ever", role_name(p), what);
    note(w, f, p->at->src->pos, "%s", where(p));
    missing(w, f, p);
  }
}
