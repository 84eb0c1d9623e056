/* cp.async groups. `wait p` waits until the oldest fill of p that was not waited for has landed. Groups complete in the
 * order of their commits (PTX ISA, cp.async.wait_group), so N is the number of groups this thread committed after that one.
 * N is an immediate: it has to be the same on every path, and a loop has to leave the queue as it found it. */
#include "passes.h"
#include <string.h>

enum { DEPTH = 256 };

struct queue {
  struct fill {
    const struct ws_pipelinem *pipe;
    int element;
    bool waited;
  } fill[DEPTH];
  int n;
};

struct groups {
  struct ws_schedule *s;
  struct queue q;
  int rank, instance;
  int open[64]; /* by pipeline: slots acquired and not committed */
  bool failed;
};

static void walk(struct groups *g, struct ws_acts *acts);

static void trim(struct queue *q) {
  int k = 0;
  while (k < q->n && q->fill[k].waited) k++;
  memmove(q->fill, q->fill + k, (size_t)(q->n - k) * sizeof *q->fill);
  q->n -= k;
}

static bool same(const struct queue *a, const struct queue *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (a->fill[i].pipe != b->fill[i].pipe || a->fill[i].element != b->fill[i].element || a->fill[i].waited != b->fill[i].waited)
      return false;
  return true;
}

static void fail(struct groups *g, struct ws_pos pos, const char *code, const char *why) {
  if (!g->failed) ws_error(g->s->diags, pos, code, "%s", why);
  g->failed = true;
}

/* The fills in flight, for a message: "k, v". */
static const char *in_flight(struct groups *g, const struct queue *q) {
  struct ws_buf t = {.arena = g->s->arena};
  for (int i = 0; i < q->n; i++)
    if (!q->fill[i].waited) ws_buf_printf(&t, "%s`%s`", t.n ? ", " : "", q->fill[i].pipe->name);
  return t.n ? t.s : "none";
}

static void commit(struct groups *g, struct ws_act *a) {
  if (!g->open[a->pipe->index % 64]) {
    fail(g, a->src->pos, "not-acquired", ws_fmt(g->s->arena, "`%s` has no acquired slot to commit", a->pipe->name));
    return;
  }
  g->open[a->pipe->index % 64]--;
  if (g->q.n == DEPTH) return fail(g, a->src->pos, "groups", "more than 256 fills in flight");
  g->q.fill[g->q.n++] = (struct fill){a->pipe, ws_index_at(a->element, a->element_at, g->rank, g->instance), false};
}

static void wait(struct groups *g, struct ws_act *a) {
  int k = 0, element = ws_index_at(a->element, a->element_at, g->rank, g->instance);
  while (k < g->q.n && (g->q.fill[k].waited || g->q.fill[k].pipe != a->pipe || g->q.fill[k].element != element)) k++;
  if (k == g->q.n)
    return fail(g, a->src->pos, "groups", ws_fmt(g->s->arena, "`%s` has no committed fill to wait for", a->pipe->name));
  int n = g->q.n - 1 - k;
  if (a->wait_groups >= 0 && a->wait_groups != n) {
    fail(g, a->src->pos, "groups-differ",
         ws_fmt(g->s->arena, "%d or %d groups are younger than this one, by the path taken: commit an empty fill where nothing is loaded",
                a->wait_groups, n));
    return;
  }
  a->wait_groups = n;
  g->q.fill[k].waited = true;
  trim(&g->q);
}

static void branches(struct groups *g, struct ws_act *a) {
  struct queue before = g->q, after = g->q;
  bool closed = false, any = false;
  for (int i = 0; i < a->narms && !closed; i++) {
    double v = 1;
    bool known = !a->arms[i].cond || ws_known(a->arms[i].cond, g->rank, g->instance, &v);
    if (known && v == 0) continue;
    g->q = before;
    walk(g, a->arms[i].body);
    closed |= known;
    if (any && !same(&after, &g->q))
      fail(g, a->src->pos, "groups-differ", ws_fmt(g->s->arena, "the arms of this `if` leave different copies in flight (%s; %s): wait for every fill that was committed",
                                                   in_flight(g, &after), in_flight(g, &g->q)));
    after = g->q, any = true;
  }
  if (!closed && !same(&before, &after))
    fail(g, a->src->pos, "groups-differ", ws_fmt(g->s->arena, "copies in flight differ by whether this `if` is taken (%s; %s): wait for every fill that was committed",
                                                 in_flight(g, &after), in_flight(g, &before)));
  g->q = after;
}

static void loop(struct groups *g, struct ws_act *a) {
  struct queue before = g->q;
  bool once = !a->iter->list || a->iter->part == WS_FIRST || a->iter->part == WS_LAST;
  walk(g, a->body);
  if (!a->iter->list) {
    if (g->q.n) fail(g, a->src->pos, "groups", ws_fmt(g->s->arena, "a work tile ends with a fill of `%s` in flight", g->q.fill[0].pipe->name));
  } else if (!once && !same(&before, &g->q))
    fail(g, a->src->pos, "groups-differ", ws_fmt(g->s->arena, "an iteration finds these copies in flight: %s, and leaves these: %s; each fill of a ring needs one commit and one wait an iteration",
                                                 in_flight(g, &before), in_flight(g, &g->q)));
}

static void walk(struct groups *g, struct ws_acts *acts) {
  for (size_t i = 0; i < acts->n && !g->failed; i++) {
    struct ws_act *a = &acts->act[i];
    switch (a->kind) {
    case WS_S_IF: branches(g, a); continue;
    case WS_S_FOR: loop(g, a); continue;
    case WS_S_ONE_THREAD: walk(g, a->body); continue;
    default: break;
    }
    if (!a->pipe || a->pipe->by != WS_BY_CP_ASYNC) continue;
    switch (a->kind) {
    case WS_S_ACQUIRE: g->open[a->pipe->index % 64]++; break;
    case WS_S_COMMIT: commit(g, a); break;
    case WS_S_WAIT: wait(g, a); break;
    case WS_S_LOAD: {
      if (!g->open[a->pipe->index % 64])
        fail(g, a->to->pos, "not-acquired", ws_fmt(g->s->arena, "this slot of `%s` is not acquired: `acquire` stands before `load`", a->to->buffer->name));
      break;
    }
    default: break;
    }
  }
}

static void program(struct ws_schedule *s, struct ws_programm *p, int rank, int instance) {
  struct groups *g = WS_NEW(s->arena, struct groups);
  g->s = s, g->rank = rank, g->instance = instance;
  walk(g, p->body);
  if (!g->failed && g->q.n)
    ws_error(s->diags, p->decl->pos, "groups", "the program ends with a fill of `%s` in flight", g->q.fill[0].pipe->name);
}

void ws_pass_groups(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++)
    for (int rank = 0; rank < (s->pair ? 2 : 1); rank++)
      for (int k = 0; k < s->programs[i].count; k++) program(s, &s->programs[i], rank, s->programs[i].first + k);
}
