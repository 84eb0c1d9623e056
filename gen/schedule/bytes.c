/* Transaction bytes of TMA fills: the full boxes of the loads between an acquire and the next one of the same ring, or the
 * next wait, arrival or sync. Equal on every path. A full side of scope `leader` counts the bytes of both CTAs; a multicast
 * brings the other CTA's part, too. */
#include "passes.h"

struct fill {
  struct ws_schedule *s;
  const struct ws_act *acquire;
  long bytes;
  bool closed, failed;
};

static bool closes(const struct ws_act *a, const struct ws_act *acquire) {
  switch (a->kind) {
  case WS_S_ACQUIRE: return a->pipe == acquire->pipe;
  case WS_S_WAIT: case WS_S_WAIT_PHASE: case WS_S_WAIT_EQ: case WS_S_ARRIVE: case WS_S_ARRIVE_EXPECT: case WS_S_COMMIT: case WS_S_RELEASE: case WS_S_SYNC:
    return true;
  default: return false;
  }
}

static long box_bytes(const struct ws_mem *m) { return (long)m->rows * m->cols * (long)ws_type_bits(m->buffer->type) / 8; }

static void walk(struct fill *f, const struct ws_acts *acts, size_t from);

static void branches(struct fill *f, const struct ws_act *a) {
  long before = f->bytes, after = 0;
  bool closed = false, any_closed = false;
  for (int i = 0; i < a->narms; i++) {
    f->bytes = before, f->closed = false;
    walk(f, a->arms[i].body, 0);
    any_closed |= f->closed;
    if (i && f->bytes != after) f->failed = true;
    after = f->bytes;
    closed |= !a->arms[i].cond;
  }
  if (!closed && after != before) f->failed = true;
  f->bytes = after, f->closed = any_closed;
}

static void walk(struct fill *f, const struct ws_acts *acts, size_t from) {
  for (size_t i = from; i < acts->n && !f->closed; i++) {
    struct ws_act *a = &acts->act[i];
    if (closes(a, f->acquire)) {
      f->closed = true;
    } else if (a->kind == WS_S_LOAD && a->pipe == f->acquire->pipe) {
      f->bytes += box_bytes(a->to) * (a->opt.multicast ? 2 : 1);
      a->bytes = box_bytes(a->to);
    } else if (a->kind == WS_S_IF)
      branches(f, a);
    else if (a->kind == WS_S_ONE_THREAD)
      walk(f, a->body, 0);
    else if (a->kind == WS_S_FOR) {
      long before = f->bytes;
      walk(f, a->body, 0);
      if (f->bytes != before) f->failed = true;
    }
  }
}

/* What follows an acquire: the rest of its block, then of the blocks around it up to the loop. */
struct around {
  const struct ws_acts *acts;
  size_t next;
  const struct around *outer;
};

static void fill(struct ws_schedule *s, struct ws_act *a, const struct around *here) {
  struct fill f = {.s = s, .acquire = a};
  for (; here && !f.closed; here = here->outer) walk(&f, here->acts, here->next);
  if (a->pipe->full == WS_SCOPE_LEADER) f.bytes *= 2;
  a->bytes = f.bytes;
  if (f.failed)
    ws_error(s->diags, a->src->pos, "bytes", "the bytes that fill this slot of `%s` differ by the path taken", a->pipe->name);
  else if (!f.bytes)
    ws_error(s->diags, a->src->pos, "bytes", "nothing is loaded into this slot of `%s` before the next wait or arrival", a->pipe->name);
  else if (f.bytes >= 1 << 20)
    ws_error(s->diags, a->src->pos, "bytes", "an mbarrier counts fewer than 2^20 bytes a phase; this fill has %ld", f.bytes);
}

static void acquires(struct ws_schedule *s, struct ws_acts *acts, const struct around *outer) {
  for (size_t i = 0; i < acts->n; i++) {
    struct ws_act *a = &acts->act[i];
    struct around here = {acts, i + 1, outer};
    if (a->kind == WS_S_ACQUIRE && a->pipe->by == WS_BY_TMA) fill(s, a, &here);
    if (a->body) acquires(s, a->body, a->kind == WS_S_FOR ? NULL : &here);
    for (int k = 0; k < a->narms; k++) acquires(s, a->arms[k].body, &here);
  }
}

static void unclaimed(void *ctx, struct ws_act *a) {
  struct ws_schedule *s = ctx;
  if (a->kind == WS_S_LOAD && a->pipe && a->pipe->by == WS_BY_TMA && !a->bytes)
    ws_error(s->diags, a->to->pos, "not-acquired", "this slot of `%s` is not acquired: `acquire` stands before `load`", a->to->buffer->name);
}

void ws_pass_bytes(struct ws_schedule *s) {
  for (int i = 0; i < s->nprograms; i++) {
    acquires(s, s->programs[i].body, NULL);
    ws_each_act(s->programs[i].body, unclaimed, s);
  }
}
