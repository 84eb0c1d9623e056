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

struct moment moment_of(const struct warp *p) {
  struct moment m = {.n = 0};
  for (int i = 0; i < p->depth; i++) {
    const struct ws_iter *x = p->frame[i].iter;
    if (x && m.n < (int)(sizeof m.at / sizeof *m.at)) m.iter[m.n] = x, m.at[m.n++] = p->iter[x->index];
  }
  return m;
}

static void put_moment(struct ws_buf *b, const struct moment *m) {
  for (int i = 0; i < m->n; i++) {
    const char *th = m->at[i] == 0 ? "st" : m->at[i] == 1 ? "nd" : m->at[i] == 2 ? "rd" : "th";
    ws_buf_printf(b, "; %s is the %d%s", m->iter[i]->name, m->at[i] + 1, th);
  }
}

const char *moment_name(struct world *w, const struct moment *m) {
  struct ws_buf b = {.arena = w->found->arena};
  ws_buf_puts(&b, "");
  put_moment(&b, m);
  return b.s;
}

const char *where(const struct warp *p) {
  struct ws_buf b = {.arena = p->w->found->arena};
  struct moment m = moment_of(p);
  ws_buf_puts(&b, "blocks a tile:");
  for (int i = 0; i < p->w->ntiles; i++) ws_buf_printf(&b, "%s%d", i ? ", " : " ", p->w->trips[i]);
  put_moment(&b, &m);
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

/* Which fill of its ring a slot held: the phase of that slot's barriers. */
static const char *fill_name(struct world *w, const struct region *r) {
  if (!r->fill) return "";
  return ws_fmt(w->found->arena, "; fill %d of the ring, phase %d of the slot", r->fill, r->phase);
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
  note(w, f, old->act->src->pos, "the %s, by %s%s%s", verb(old->kind), who(old->who, old->op), moment_name(w, &old->when), fill_name(w, &old->at));
  note(w, f, p->at->src->pos, "here by %s; %s%s", who(p, op), where(p), fill_name(w, r));
  remedy(p, f, old, kind, op, r);
}

/* --- deadlock --- */

/* Who arrives there, where it stands, and with which statement it would arrive. */
static void due(struct world *w, struct finding *f, const struct warp *p, const struct ws_rolem *r) {
  for (int i = 0; i < w->nwarps; i++) {
    const struct warp *x = &w->warp[i];
    if (x->role != r || x->index || (x->cta != p->cta && x->p == p->p)) continue;
    struct moment m = moment_of(x);
    const struct ws_act *a = p->wait.bar ? arrival_of(x, p->wait.bar) : NULL;
    if (x->done) note(w, f, x->p->decl->pos, "%s, which arrives there, has ended", role_name(x));
    else if (x->at) note(w, f, x->at->src->pos, "%s, which arrives there, stands here%s", role_name(x), moment_name(w, &m));
    if (a && x->done) note(w, f, a->src->pos, "it arrives with this; once more is needed, or one wait less");
    else if (a && x->at != a) note(w, f, a->src->pos, "it arrives with this, which it has not reached again");
  }
}

/* Of a named barrier: the roles on its lists that do not wait there. */
static void absent(struct world *w, struct finding *f, const struct warp *p) {
  for (int i = 0; i < w->s->nbarriers; i++) {
    const struct ws_barrierm *b = &w->s->barriers[i];
    if (b != p->wait.named->key) continue;
    for (int k = 0; k < b->nfrom; k++) due(w, f, p, b->from[k].role);
    for (int k = 0; k < b->nto; k++)
      if (b->to[k].role != p->role) due(w, f, p, b->to[k].role);
  }
}

static void missing(struct world *w, struct finding *f, const struct warp *p) {
  const struct bar *b = p->wait.bar;
  if (p->wait.named) absent(w, f, p);
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
