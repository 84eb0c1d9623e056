/* Small schedules at random. A right one is put together from parts: rings filled by TMA, by cp.async or by threads, pairs of mbarriers or of
 * named barriers; then up to three edits move, drop, double or exchange lines of its programs, or change a unit or a depth. Many are
 * right all the same. Equal seeds give equal schedules. */
#include "random_spec.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 96, WIDTH = 120 };
struct line {
  int indent;
  char s[WIDTH];
};
struct maker {
  uint64_t state;
  struct line line[MAX_LINES];   /* of the programs */
  int n;
  char head[4096];
  size_t nhead;
};

static uint32_t next(struct maker *m) {
  m->state = m->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(m->state >> 33);
}
static int below(struct maker *m, int n) { return (int)(next(m) % (uint32_t)n); }
static bool one_in(struct maker *m, int n) { return below(m, n) == 0; }

__attribute__((format(printf, 2, 3))) static void head(struct maker *m, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  m->nhead += (size_t)vsnprintf(m->head + m->nhead, sizeof m->head - m->nhead, fmt, ap);
  va_end(ap);
}

__attribute__((format(printf, 3, 4))) static void line(struct maker *m, int indent, const char *fmt, ...) {
  if (m->n == MAX_LINES) return;
  va_list ap;
  va_start(ap, fmt);
  m->line[m->n].indent = indent;
  vsnprintf(m->line[m->n++].s, WIDTH, fmt, ap);
  va_end(ap);
}

static const char *unit(struct maker *m) {
  static const char *const units[] = {"thread", "warp", "one"};
  return units[below(m, 3)];
}

static void top(struct maker *m, const char *target, bool persistent) {
  head(m, "schedule: random\ntarget: %s\nproblem: attention.forward\n", target);
  head(m, "params:\n  dtype: {type: type, choices: [f16], default: f16}\n  head_dim: {type: int, choices: [64], default: 64}\n");
  head(m, "work:\n  tile: {queries: 64}\n  blocks: {keys: 64}\n  launch: %s\n", persistent ? "persistent" : "single");
  head(m, "tensors:\n");
  for (const char *x = "abcde"; *x; x++) head(m, "  w%c: {dims: [batch, kv_heads, keys, head_dim], type: f16}\n", *x);
}

static void buffer(struct maker *m, const char *name, int stages) {
  head(m, "  %s: {space: smem, tile: [64, head_dim], type: dtype", name);
  if (stages > 1) head(m, ", stages: %d", stages);
  head(m, "}\n");
}

static void loops(struct maker *m, bool guard) {
  line(m, 0, "for t in work:");
  if (guard) line(m, 1, "if kv(t):");
  line(m, 1 + guard, "for j in kv(t):");
}

/* --- Hopper: copies by TMA, a ring between roles, a handshake by hand --- */

enum handshake { NO_HANDSHAKE, MBARRIERS, NAMED };
struct hopper {
  bool v, p, both, also, persistent, guard, wgmma, bulk, bare, leader; /* bare: P without an empty side; bulk: one thread stores it */
  enum handshake x;
  int k_stages, v_stages, p_stages, use_warps;
};

static void hopper_head(struct maker *m, const struct hopper *h) {
  top(m, "sm_90a", h->persistent);
  head(m, "roles:\n  use: {warps: %d}\n", h->use_warps); /* first: wgmma takes whole warpgroups */
  if (h->also) head(m, "  also: {warps: 1}\n");
  head(m, "  load: {warps: 1, threads: 1}\n");
  head(m, "buffers:\n");
  buffer(m, "K", h->k_stages);
  if (h->v) buffer(m, "V", h->v_stages);
  if (h->p) buffer(m, "P", h->p_stages);
  if (h->x) buffer(m, "X", 1);
  const char *ku = unit(m), *vu = unit(m);
  head(m, "pipelines:\n  k: {buffer: K, by: tma, from: load, to: {use: %s", ku);
  if (h->both) head(m, ", also: %s", unit(m));
  head(m, "}}\n");
  if (h->v) head(m, "  v: {buffer: V, by: tma, from: load, to: {use: %s}}\n", vu);
  if (h->p) head(m, "  p: {buffer: P, from: {use: %s}, to: {%s: %s}%s}\n", unit(m), h->also ? "also" : "use", unit(m), h->bare ? ", empty: none" : "");
  if (!h->x) return;
  const char *kind = h->x == NAMED ? "kind: named, " : "", *first = h->x == MBARRIERS ? ", open: true" : "";
  head(m, "barriers:\n  x_full: {%sfrom: use, to: also}\n  x_free: {%sfrom: also, to: use%s}\n", kind, kind, first);
}

/* Before one thread or lane arrives for all. Left out now and then: it is not always needed. */
static void all_here(struct maker *m, int in, int warps) {
  if (!one_in(m, 4)) line(m, in, warps == 1 && one_in(m, 2) ? "sync warp" : "sync");
}

/* What is in P goes to global memory: by all threads, or in bulk by one. */
static void drain(struct maker *m, const struct hopper *h, int in) {
  line(m, in, "wait p -> d");
  if (h->bulk) {
    line(m, in, "one thread:");
    line(m, in + 1, "store d -> wc[t, j]");
    line(m, in + 1, "await d");
  } else
    line(m, in, "store d -> wc[t, j]");
  all_here(m, in, h->also ? 1 : h->use_warps);
  if (!h->bare) line(m, in, "release d");
}

static void hopper_use(struct maker *m, const struct hopper *h, int in) {
  line(m, in, h->leader ? "wait k -> a with poll=leader" : "wait k -> a");
  if (h->p) {
    line(m, in, "acquire p -> b");
    line(m, in, "copy a -> b");
    all_here(m, in, h->use_warps);
    line(m, in, "commit p");
  }
  if (h->x) {
    if (h->x == MBARRIERS) line(m, in, "wait x_free");
    line(m, in, "copy a -> X");
    line(m, in, "arrive x_full");
    if (h->x == NAMED) line(m, in, "sync x_free");
  }
  line(m, in, "store a -> wa[t, j]");
  all_here(m, in, h->use_warps);
  line(m, in, "release a");
  if (h->v) {
    line(m, in, "wait v -> e");
    if (h->wgmma) line(m, in, "S = e @ e.T"), line(m, in, "await S");
    else line(m, in, "store e -> wb[t, j]");
    all_here(m, in, h->use_warps);
    line(m, in, "release e");
  }
  if (h->p && !h->also) drain(m, h, in);
}

static void hopper_also(struct maker *m, const struct hopper *h, int in) {
  if (h->both) {
    line(m, in, "wait k -> a");
    line(m, in, "store a -> wd[t, j]");
    all_here(m, in, 1);
    line(m, in, "release a");
  }
  if (h->x) {
    line(m, in, h->x == NAMED ? "sync x_full" : "wait x_full");
    line(m, in, "store X -> we[t, j]");
    line(m, in, "arrive x_free");
  }
  if (h->p) drain(m, h, in);
}

static void hopper(struct maker *m) {
  struct hopper h = {.v = one_in(m, 2), .p = one_in(m, 2), .both = one_in(m, 3), .persistent = one_in(m, 2), .guard = one_in(m, 2), .bulk = one_in(m, 4), .leader = one_in(m, 6)};
  h.x = one_in(m, 2) ? NO_HANDSHAKE : one_in(m, 2) ? MBARRIERS : NAMED;
  if (h.p && h.v) h.v = one_in(m, 3); /* two rings are enough mostly */
  h.also = h.both || h.x || (h.p && one_in(m, 2));
  h.k_stages = 1 + below(m, 3), h.v_stages = 1 + below(m, 2), h.p_stages = 1 + below(m, 2), h.use_warps = 1 + below(m, 2);
  h.wgmma = h.v && one_in(m, 3), h.bare = h.p && h.x && one_in(m, 3);
  if (h.wgmma) h.use_warps = 4;
  hopper_head(m, &h);
  line(m, -1, "load:");
  loops(m, h.guard);
  int in = 2 + h.guard;
  line(m, in, "acquire k -> s");
  line(m, in, "load k[t, j] -> s");
  if (h.v) line(m, in, "acquire v -> r"), line(m, in, "load v[t, j] -> r");
  line(m, -1, "use:");
  loops(m, h.guard);
  hopper_use(m, &h, in);
  if (!h.also) return;
  line(m, -1, "also:");
  loops(m, h.guard);
  hopper_also(m, &h, in);
}

/* --- pairs of CTAs: each loads half of every block into both --- */

static void pair(struct maker *m) {
  const char *scope = one_in(m, 6) ? "" : ", empty: pair"; /* without: only the own CTA's readers are waited for */
  int warps = 1 + below(m, 2);
  top(m, "sm_90a", one_in(m, 2));
  char *launch = strstr(m->head, "tensors:\n");
  char tail[1024];
  snprintf(tail, sizeof tail, "%s", launch);
  m->nhead = (size_t)(launch - m->head);
  head(m, "  cluster: pair\n%s", tail);
  head(m, "roles:\n  use: {warps: %d}\n  load: {warps: 1, threads: 1}\nbuffers:\n", warps);
  buffer(m, "K", 1 + below(m, 2));
  head(m, "pipelines:\n  k: {buffer: K, by: tma, from: load, to: {use: %s}%s}\n", unit(m), scope);
  line(m, -1, "load:");
  loops(m, false);
  line(m, 2, "acquire k -> s");
  line(m, 2, "load k[t, j].rows(rank of 2) -> s.rows(rank of 2) with multicast=pair");
  line(m, -1, "use:");
  loops(m, false);
  line(m, 2, "wait k -> a");
  line(m, 2, "store a.rows(rank of 2) -> wa[t, j].rows(rank of 2)");
  all_here(m, 2, warps);
  line(m, 2, "release a");
}

/* --- Blackwell: products by tcgen05 into tensor memory, through a ring or between two barriers --- */

struct blackwell {
  bool ring, persistent;
  int k_stages, s_stages;
};

static void blackwell_head(struct maker *m, const struct blackwell *b) {
  top(m, "sm_100a", b->persistent);
  head(m, "roles:\n  soft: {warps: 4}\n  load: {warps: 1, threads: 1}\n  mma: {warps: 1, threads: 1}\nbuffers:\n");
  buffer(m, "Q", 1);
  buffer(m, "K", b->k_stages);
  head(m, "  S: {space: tmem, tile: [64, 64], type: f32");
  if (b->ring && b->s_stages > 1) head(m, ", stages: %d", b->s_stages);
  head(m, "}\npipelines:\n  q: {buffer: Q, by: tma, from: load, to: mma}\n  k: {buffer: K, by: tma, from: load, to: mma}\n");
  if (b->ring) head(m, "  s: {buffer: S, from: mma, to: {soft: %s}}\n", unit(m));
  else head(m, "barriers:\n  s_full: {from: mma, to: soft}\n  s_free: {from: {soft: %s}, to: mma, open: true}\n", unit(m));
}

static void blackwell(struct maker *m) {
  struct blackwell b = {.ring = one_in(m, 2), .persistent = one_in(m, 2), .k_stages = 1 + below(m, 3), .s_stages = 1 + below(m, 2)};
  const int in = 2;
  blackwell_head(m, &b);
  for (int role = 0; role < 3; role++) {
    static const char *const names[] = {"load:", "mma:", "soft:"};
    line(m, -1, "%s", names[role]);
    line(m, 0, "for t in work:");
    line(m, 1, "if kv(t):"); /* without blocks the commit for Q would cover nothing */
    if (role == 0) line(m, in, "acquire q"), line(m, in, "load q[t] -> Q");
    if (role == 1) line(m, in, "wait q");
    line(m, in, "for j in kv(t):");
    if (role == 0) line(m, in + 1, "acquire k -> s"), line(m, in + 1, "load k[t, j] -> s");
    if (role == 1) {
      line(m, in + 1, "wait k -> a");
      line(m, in + 1, b.ring ? "acquire s -> d" : "wait s_free");
      line(m, in + 1, b.ring ? "d = Q @ a.T" : "S = Q @ a.T");
      line(m, in + 1, b.ring ? "commit s" : "commit s_full");
      line(m, in + 1, "release a");
      line(m, in, "release q");
    }
    if (role < 2) continue;
    line(m, in + 1, b.ring ? "wait s -> d" : "wait s_full");
    line(m, in + 1, b.ring ? "x = read(d) with chunk=32" : "x = read(S) with chunk=32");
    all_here(m, in + 1, 4);
    line(m, in + 1, b.ring ? "release d" : "arrive s_free");
  }
}

/* --- Ampere: copies by cp.async, one role or two --- */

static void ampere_ring(struct maker *m, int in, int stages, const char *sync) {
  line(m, in, "each s in 0..%d:", stages - 2);
  line(m, in + 1, "acquire k -> n");
  line(m, in + 1, "load k[t, kv(t).at(s)] -> n when s < len(kv(t))");
  line(m, in + 1, "commit k");
  line(m, in, "for j in kv(t):");
  line(m, in + 1, "wait k -> a");
  line(m, in + 1, "%s", sync);
  line(m, in + 1, "acquire k -> n");
  line(m, in + 1, "load k[t, next(j, %d)] -> n when has_next(j, %d)", stages - 1, stages - 1);
  line(m, in + 1, "commit k");
  line(m, in + 1, "store a -> wa[t, j]");
  line(m, in, "each s in 0..%d:", stages - 2);
  line(m, in + 1, "wait k");
  line(m, in, "%s", sync);
}

static void ampere_block(struct maker *m, int in, const char *sync) {
  line(m, in, "acquire k -> n");
  line(m, in, "load k[t, j] -> n");
  line(m, in, "commit k");
  line(m, in, "wait k -> a");
  line(m, in, "%s", sync);
  line(m, in, "store a -> wa[t, j]");
}

static void ampere(struct maker *m) {
  bool two = one_in(m, 2), persistent = one_in(m, 3), guard = one_in(m, 2), p = one_in(m, 3);
  int stages = 1 + below(m, 3), warps = 1 + below(m, 2);
  const char *sync = warps == 1 && one_in(m, 2) ? "sync warp" : "sync";
  if (two && stages > 1) two = one_in(m, 3);
  top(m, "sm_80", persistent);
  head(m, "roles:\n  work: {warps: %d}\n", warps);
  if (two) head(m, "  load: {warps: 1}\n");
  head(m, "buffers:\n");
  buffer(m, "K", stages);
  if (two) buffer(m, "V", 1);
  if (p) buffer(m, "P", 1);
  head(m, "pipelines:\n  k: {buffer: K, by: cp.async, from: work, to: work}\n");
  if (two) head(m, "  v: {buffer: V, by: cp.async, from: load, to: load}\nbarriers:\n  v_full: {kind: named, from: load, to: work}\n  v_free: {kind: named, from: work, to: load}\n");
  line(m, -1, "work:");
  line(m, 0, "for t in work:");
  int in = 1 + guard;
  if (guard) line(m, 1, "if kv(t):");
  if (stages > 1) ampere_ring(m, in, stages, sync);
  else {
    line(m, in, "for j in kv(t):");
    ampere_block(m, in + 1, sync);
    if (p) line(m, in + 1, "copy a -> P"), line(m, in + 1, "%s", sync), line(m, in + 1, "store P -> wb[t, j]");
    if (two) line(m, in + 1, "sync v_full"), line(m, in + 1, "store V -> wc[t, j]"), line(m, in + 1, "arrive v_free");
    line(m, in + 1, "%s", sync);
  }
  if (!two) return;
  line(m, -1, "load:");
  loops(m, guard);
  in = 2 + guard;
  line(m, in, "acquire v -> s");
  line(m, in, "load v[t, j] -> s");
  line(m, in, "commit v");
  line(m, in, "wait v");
  line(m, in, "arrive v_full");
  line(m, in, "sync v_free");
}

/* --- Ampere: two roles load, a third one gathers: named barriers of three --- */

static void gather(struct maker *m) {
  top(m, "sm_80", one_in(m, 2));
  head(m, "roles:\n  a: {warps: 1}\n  b: {warps: 1}\n  both: {warps: 1}\nbuffers:\n");
  buffer(m, "A", 1);
  buffer(m, "B", 1);
  head(m, "pipelines:\n  ka: {buffer: A, by: cp.async, from: a, to: a}\n  kb: {buffer: B, by: cp.async, from: b, to: b}\n");
  head(m, "barriers:\n  full: {kind: named, from: [a, b], to: both}\n  free: {kind: named, from: both, to: [a, b]}\n");
  for (int i = 0; i < 2; i++) {
    line(m, -1, "%c:", 'a' + i);
    loops(m, false);
    line(m, 2, "acquire k%c", 'a' + i);
    line(m, 2, "load k[t, j] -> %c", 'A' + i);
    line(m, 2, "commit k%c", 'a' + i);
    line(m, 2, "wait k%c", 'a' + i);
    line(m, 2, "arrive full");
    line(m, 2, "sync free");
  }
  line(m, -1, "both:");
  loops(m, false);
  line(m, 2, "sync full");
  line(m, 2, "store A -> wa[t, j]");
  line(m, 2, "store B -> wb[t, j]");
  line(m, 2, "arrive free");
}

/* --- edits --- */

static bool is_block(const struct line *l) { return l->s[strlen(l->s) - 1] == ':'; }

static int pick(struct maker *m) {
  for (int tries = 0; tries < 50; tries++) {
    int i = below(m, m->n);
    if (!is_block(&m->line[i])) return i;
  }
  return -1;
}

static void remove_line(struct maker *m, int i) { memmove(&m->line[i], &m->line[i + 1], (size_t)(--m->n - i) * sizeof *m->line); }

static void insert_line(struct maker *m, int i, const struct line *l) {
  if (m->n == MAX_LINES) return;
  memmove(&m->line[i + 1], &m->line[i], (size_t)(m->n++ - i) * sizeof *m->line);
  m->line[i] = *l;
}

/* Moves a line up or down within its block. */
static void move_line(struct maker *m, int i) {
  int way = one_in(m, 2) ? 1 : -1, steps = 1 + below(m, 4), k = i;
  while (steps-- && k + way >= 0 && k + way < m->n && m->line[k + way].indent == m->line[i].indent && !is_block(&m->line[k + way])) k += way;
  struct line l = m->line[i];
  remove_line(m, i);
  insert_line(m, k, &l);
}

static void edit(struct maker *m) {
  int i = pick(m);
  if (i < 0) return;
  struct line l = m->line[i];
  switch (below(m, 8)) {
  case 0: case 1: remove_line(m, i); break;
  case 2: insert_line(m, i, &l); break;
  case 3: snprintf(l.s, WIDTH, "sync"), insert_line(m, i, &l); break;
  case 4: snprintf(l.s, WIDTH, "sync warp"), insert_line(m, i, &l); break;
  default: move_line(m, i);
  }
}

size_t random_spec(uint64_t seed, char *out, size_t size) {
  struct maker m = {.state = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u};
  for (int i = 0; i < 4; i++) next(&m);
  int kind = below(&m, 13);
  (kind < 1 ? pair : kind < 2 ? gather : kind < 5 ? ampere : kind < 7 ? blackwell : hopper)(&m);
  for (int edits = below(&m, 4); edits > 0; edits--) edit(&m);
  size_t n = (size_t)snprintf(out, size, "%sprograms:\n", m.head);
  for (int i = 0; i < m.n && n < size; i++) {
    const struct line *l = &m.line[i];
    n += l->indent < 0 ? (size_t)snprintf(out + n, size - n, "  %s\n", l->s) : (size_t)snprintf(out + n, size - n, "%*s- %s\n", 4 + 4 * l->indent, "", l->s);
  }
  return n;
}
