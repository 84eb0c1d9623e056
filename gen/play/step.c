/* One statement of one warp: loops, branches and one-thread blocks; the rest is in sync.c and move.c. */
#include "world.h"
#include <stdint.h>

static void push(struct warp *p, const struct ws_acts *acts, struct ws_iter *iter, int end, bool single) {
  if (p->depth == MAX_FRAMES) {
    incomplete(p->w, "blocks nested deeper than %d", (int)MAX_FRAMES);
    p->w->failed = true;
    return;
  }
  p->frame[p->depth++] = (struct frame){.acts = acts, .iter = iter, .end = end, .single = single};
}

static void loop(struct warp *p, const struct ws_act *a) {
  struct ws_iter *i = a->iter;
  int n = list_length(p, i->list, i->of, i->from);
  int from = i->part == WS_REST ? 1 : i->part == WS_LAST ? n - 1 : 0, end = i->part == WS_FIRST ? 1 : n;
  if (from < 0 || from >= end || n == 0) return;
  p->iter[i->index] = from;
  push(p, a->body, i, end, false);
}

/* Does the way that this condition goes depend on data, so that a run takes one of two? */
static bool decides(struct warp *p, const struct ws_node *cond, bool *by_data) {
  struct findings *f = p->w->found;
  bool votes = f->votes, masked = f->masked;
  f->votes = f->masked = false;
  bool yes = holds(p, cond);
  *by_data |= f->votes || f->masked;
  f->votes |= votes, f->masked |= masked;
  return yes;
}

static void branch(struct warp *p, const struct ws_act *a) {
  bool by_data = false;
  for (int i = 0; i < a->narms; i++)
    if (!a->arms[i].cond || (reads_of(p, a->arms[i].cond), decides(p, a->arms[i].cond, &by_data))) {
      push(p, a->arms[i].body, NULL, 0, false);
      if (by_data) p->frame[p->depth - 1].vote = ++p->w->votes;
      return;
    }
}

/* The elected thread goes on from what its warp knows; of what other lanes did it knows what they had done when they last met. */
static void one_thread(struct warp *p, const struct ws_act *a) {
  if (p->index != 0) return;
  push(p, a->body, NULL, 0, true);
  if (!has_lanes(p)) return;
  struct clock c = knowledge(p, false);
  p->single = true;
  join(p->w, &p->lead.clock, &c);
}

int execution_of(const struct warp *p) {
  uint32_t h = (uint32_t)p->instance + 17u * (uint32_t)p->cta;
  for (int i = 0; i < p->depth; i++)
    if (p->frame[i].iter) h = h * 1000003u + (uint32_t)p->iter[p->frame[i].iter->index] + 1u;
  return (int)(h >> 1);
}

static void leave(struct warp *p, const struct frame *f) {
  if (f->single) p->single = p->role->one_thread;
  if (--p->depth) return;
  p->done = true;
  program_end(p);
}

bool step(struct warp *p) {
  struct frame *f = &p->frame[p->depth - 1];
  if (f->next == f->acts->n) {
    if (f->iter && ++p->iter[f->iter->index] < f->end) return f->next = 0, true;
    return leave(p, f), true;
  }
  const struct ws_act *a = p->at = &f->acts->act[f->next];
  p->wait = (struct waiting){0};
  switch (a->kind) {
  case WS_S_FOR: f->next++, loop(p, a); break;
  case WS_S_IF: f->next++, branch(p, a); break;
  case WS_S_ONE_THREAD: f->next++, one_thread(p, a); break;
  case WS_S_LOAD: case WS_S_STORE: case WS_S_REDUCE: case WS_S_WRITE: case WS_S_COPY: case WS_S_PRODUCT: case WS_S_ASSIGN: case WS_S_ASSIGN2:
    flow(p, a), move(p, a), f->next++;
    break;
  default:
    if (!synchronise(p, a)) return false;
    f->next++;
  }
  p->w->events++;
  return true;
}
