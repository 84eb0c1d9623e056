/* Trip counts, sequences of tiles, the run of one pattern, the verdict. */
#include "world.h"
#include <stdio.h>
#include <string.h>

const char *ws_verdict_name(enum ws_verdict v) {
  static const char *const names[] = {"clean", "review", "incomplete", "error"};
  return names[v];
}

/* --- one run --- */

/* In turn, one statement each: what stands early in the programs happens early, and findings name the later place. */
static bool go_on(struct world *w) {
  bool any = false;
  for (bool moved = true; moved && !w->failed;) {
    moved = false;
    for (int i = 0; i < w->nwarps && !w->failed; i++)
      if (!w->warp[i].done && step(&w->warp[i])) moved = any = true;
  }
  return any;
}

/* A copy's bytes are arrivals, too: they must not come in the phase before theirs. */
static void land(struct world *w, const struct landing *l) {
  for (int i = 0; i < l->n; i++) {
    struct bar *b = l->to[i];
    if (b->phase && !after_phase(w, &l->op->clock, b->comp, b->phase, &b->last)) {
      struct finding *f = report(w, l->op->act->src->pos, "drift", "the bytes of this load are meant for phase %d of %s, but may come in phase %d", b->phase, bar_name(w, b), b->phase - 1);
      note(w, f, l->op->act->src->pos, "by %s; a wait that follows the phase before has to stand before this", role_name(l->who));
    }
    bar_bytes(w, b, l->op->act, l->bytes, &l->op->clock);
  }
}

static bool complete_some(struct world *w) {
  bool moved = false;
  for (; w->landing; w->landing = w->landing->next, moved = true) land(w, w->landing);
  w->landing_end = &w->landing;
  for (int i = 0; i < w->nwarps; i++) {
    struct warp *p = &w->warp[i];
    for (; p->commits && !w->failed; p->commits = p->commits->next, moved = true)
      for (int k = 0; k < p->commits->n && !w->failed; k++) bar_arrive(w, p, p->commits->act, p->commits->to[k], &p->commits->clock, 1);
  }
  return moved;
}

/* What nobody has waited for when all programs have ended. */
static void in_flight(struct world *w) {
  struct clock all = new_clock(w);
  for (int i = 0; i < w->nwarps; i++) {
    join(w, &all, &w->warp[i].all.clock);
    join(w, &all, &w->warp[i].own);
    if (w->warp[i].lead.comp >= 0) join(w, &all, &w->warp[i].lead.clock);
  }
  for (const struct stream *s = w->stream; s; s = s->next)
    if ((s->kind == OP_TMA || s->kind == OP_TCGEN05) && all.v[s->comp] < w->issued[s->comp]) {
      struct finding *f = report(w, s->last->src->pos, "in-flight", "the kernel ends while this %s may be in flight: nobody waits for it", s->kind == OP_TMA ? "load" : "product");
      note(w, f, s->last->src->pos, "blocks a tile: %d", w->trips[w->ntiles - 1]);
    }
}

void run_world(struct world *w) {
  for (;;) {
    bool moved = go_on(w);
    moved |= complete_some(w);
    if (w->failed) return;
    if (!moved) break;
  }
  bool done = true;
  for (int i = 0; i < w->nwarps; i++) done &= w->warp[i].done;
  if (done) in_flight(w);
  else report_deadlock(w);
}

/* --- patterns --- */

enum { MAX_PATTERNS = 256 };
struct patterns {
  int trips[MAX_PATTERNS][MAX_TILES], tiles[MAX_PATTERNS], n;
};

static void pattern(struct patterns *x, int tiles, const int *trips) {
  memcpy(x->trips[x->n], trips, (size_t)tiles * sizeof *trips);
  x->tiles[x->n++] = tiles;
}

/* Short ones first: the first that fails is the simplest example. */
static void all_patterns(struct patterns *x, int most) {
  for (int n = 1; n <= 3; n++) pattern(x, 1, &n);
  pattern(x, 1, &(int){0});
  for (int a = 0; a <= 3; a++)
    for (int b = 0; b <= 2; b++) pattern(x, 2, (int[]){a, b});
  for (int n = 4; n <= most; n += n < 64 ? 1 : n / 8) pattern(x, 1, &n); /* a very deep ring: not every length */
  pattern(x, 3, (int[]){2, 0, 2});
  pattern(x, 3, (int[]){2, 1, 3});
  pattern(x, 3, (int[]){3, 3, 3});
  pattern(x, 4, (int[]){1, 0, 0, 2});
  pattern(x, 4, (int[]){0, 1, 0, 1});
  pattern(x, 3, (int[]){most, 1, most - 1});
}

static int deepest(const struct ws_schedule *s) {
  int n = 1;
  for (int i = 0; i < s->npipelines; i++)
    if (s->pipelines[i].buffer->stages > n) n = s->pipelines[i].buffer->stages;
  return n;
}

struct play {
  const struct ws_schedule *s;
  struct ws_arena run;           /* of one run; then reset */
  struct ws_play_result r;
  struct patterns x;
  struct findings *sequences;    /* of several tiles, where a CTA has one */
};

/* A slot of foreign bytes makes its content wrong, too: that is no finding of its own. */
static void drop_content(struct findings *f) {
  bool other = false;
  for (int i = 0; i < f->n; i++) other |= strcmp(f->f[i].code, "content") != 0;
  int n = 0;
  for (int i = 0; other && i < f->n; i++)
    if (strcmp(f->f[i].code, "content")) f->f[n++] = f->f[i];
  if (other) f->n = n;
}

enum { MOST_EVENTS = 4000000 };

enum which { ALL_PATTERNS, ONE_TILE, SEQUENCES };

static void all_runs(struct play *y, struct findings *f, bool issue_order, enum which which) {
  long start = y->r.events;
  for (int i = 0; i < y->x.n && !f->errors; i++)
    for (int mode = which != ALL_PATTERNS && (which == ONE_TILE) != (y->x.tiles[i] == 1) ? 2 : 0; mode < (f->votes || f->masked ? 2 : 1) && !f->errors; mode++) {
      if (y->r.events - start > MOST_EVENTS) {
        if (f->nincomplete < 16) f->incomplete[f->nincomplete++] = "0: the programs are too long: not all trip counts were played";
        return;
      }
      struct world *w = world_new(y->s, &y->run, f, y->x.trips[i], y->x.tiles[i], mode, issue_order);
      run_world(w);
      y->r.events += w->events, y->r.runs++;
      if (w->events > y->r.longest) y->r.longest = w->events;
      ws_arena_reset(&y->run);
    }
  drop_content(f);
}

void emit_findings(const struct findings *f, struct ws_diags *d) {
  for (int i = 0; i < f->n; i++) {
    ws_error(d, f->f[i].pos, f->f[i].code, "%s", f->f[i].text);
    for (int k = 0; k < f->f[i].nnotes; k++) ws_note(d, f->f[i].note[k].pos, "%s", f->f[i].note[k].text);
  }
}

static void describe(struct play *y, const struct findings *f, const struct ws_play_options *opt, int most, struct ws_arena *a) {
  struct ws_buf b = {.arena = a};
  struct ws_play_result *r = &y->r;
  ws_buf_printf(&b, "protocol: played %d runs, lists of 0 to %d blocks, up to 4 work tiles, %ld statements\n", r->runs, most, r->events);
  if (r->needs_single) ws_buf_printf(&b, "assumes launch: single, one work tile a CTA; with more, line %u: %s\n", y->sequences->f[0].pos.line, y->sequences->f[0].text);
  if (r->needs_a1) ws_buf_puts(&b, "assumes A1: tcgen05 products of one thread run in issue order, also on different accumulators\n");
  for (int i = 0; i < f->nincomplete; i++) ws_buf_printf(&b, "not modelled: line %s\n", f->incomplete[i]);
  r->notes = b.s;
  r->verdict = f->errors ? WS_VERDICT_ERROR : f->nincomplete ? WS_INCOMPLETE : (r->needs_a1 || r->needs_single) && opt->strict ? WS_REVIEW : WS_CLEAN;
}

static void play_all(struct play *y, struct findings *f, struct findings *g) {
  bool sequences = y->s->persistent;
  all_runs(y, f, true, sequences ? ALL_PATTERNS : ONE_TILE);
  if (!f->errors && !sequences) {
    all_runs(y, y->sequences, true, SEQUENCES);
    y->r.needs_single = y->sequences->errors > 0;
  }
  if (f->errors || y->s->arch < 100) return;
  all_runs(y, g, false, sequences || !y->r.needs_single ? ALL_PATTERNS : ONE_TILE);
  y->r.needs_a1 = g->errors > 0;
}

struct ws_play_result ws_play(const struct ws_schedule *s, const struct ws_play_options *opt, struct ws_arena *a, struct ws_diags *d) {
  struct play *y = WS_NEW(a, struct play);
  struct findings *f = WS_NEW(a, struct findings), *g = WS_NEW(a, struct findings);
  y->sequences = WS_NEW(a, struct findings);
  y->s = s, f->arena = g->arena = y->sequences->arena = a;
  /* Twice around the deepest ring, and one more: then both parities have been waited for on each slot, and reused. */
  int most = opt->most_blocks > 0 ? opt->most_blocks : 2 * deepest(s) + 1;
  all_patterns(&y->x, most < 3 ? 3 : most);
  jmp_buf outer; /* memory may run out in either arena: free the inner one first */
  memcpy(&outer, &a->oom, sizeof outer);
  if (setjmp(y->run.oom)) goto out_of_memory;
  if (setjmp(a->oom)) goto out_of_memory;
  play_all(y, f, g);
  memcpy(&a->oom, &outer, sizeof outer);
  ws_arena_free(&y->run);
  emit_findings(f, d);
  describe(y, f, opt, most, a);
  return y->r;
out_of_memory:
  ws_arena_free(&y->run);
  memcpy(&a->oom, &outer, sizeof outer);
  longjmp(a->oom, 1);
}
