/* The player's time over growing schedules: longer lists, deeper rings, more roles. With longer lists it grows no faster than n log n in the
 * events played. An event joins clocks, which have a component for each agent and barrier: with deeper rings and more roles its
 * cost may grow as their number does, and a CTA bounds that.
 *
 *   growth            prints the tables; exit code 1 where a table grows faster */
#include "play/play.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char head[] = "schedule: growth\ntarget: sm_90a\nproblem: attention.forward\n"
                           "params:\n  dtype: {type: type, choices: [f16], default: f16}\n  head_dim: {type: int, choices: [64], default: 64}\n"
                           "work:\n  tile: {queries: 64}\n  blocks: {keys: 64}\n  launch: persistent\n"
                           "tensors:\n";

/* A loading role and `pairs` pairs of roles: one copies each block on to the other, through a ring of its own. */
static size_t write_spec(char *out, size_t size, int stages, int pairs) {
  size_t n = (size_t)snprintf(out, size, "%s", head);
#define ADD(...) n += (size_t)snprintf(out + n, size - n, __VA_ARGS__)
  for (int i = 0; i < pairs; i++) ADD("  w%d: {dims: [batch, kv_heads, keys, head_dim], type: f16}\n", i);
  ADD("roles:\n  load: {warps: 1, threads: 1}\n");
  for (int i = 0; i < pairs; i++) ADD("  a%d: {warps: 1}\n  b%d: {warps: 1}\n", i, i);
  ADD("buffers:\n  K: {space: smem, tile: [8, head_dim], type: dtype, stages: %d}\n", stages);
  for (int i = 0; i < pairs; i++) ADD("  P%d: {space: smem, tile: [8, head_dim], type: dtype, stages: %d}\n", i, stages);
  ADD("pipelines:\n  k: {buffer: K, by: tma, from: load, to: {a0: warp");
  for (int i = 1; i < pairs; i++) ADD(", a%d: warp", i);
  ADD("}}\n");
  for (int i = 0; i < pairs; i++) ADD("  p%d: {buffer: P%d, from: {a%d: warp}, to: {b%d: warp}}\n", i, i, i, i);
  ADD("programs:\n  load:\n    - for t in work:\n        - for j in kv(t):\n            - acquire k -> s\n            - load k[t, j].rows(0 of 8) -> s\n");
  for (int i = 0; i < pairs; i++) {
    ADD("  a%d:\n    - for t in work:\n        - for j in kv(t):\n            - wait k -> s\n            - acquire p%d -> d\n", i, i);
    ADD("            - copy s -> d\n            - commit p%d\n            - sync\n            - release s\n", i);
    ADD("  b%d:\n    - for t in work:\n        - for j in kv(t):\n            - wait p%d -> s\n", i, i);
    ADD("            - store s -> w%d[t, j].rows(0 of 8)\n            - sync\n            - release s\n", i);
  }
#undef ADD
  return n;
}

/* Seconds of CPU for one play; the events of it. */
static double play(int stages, int pairs, int blocks, long *events) {
  static char text[1 << 16];
  size_t n = write_spec(text, sizeof text, stages, pairs);
  struct ws_arena a = {0};
  struct ws_source src = {"growth", text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  struct ws_schedule *s = spec && !d.errors ? ws_schedule_build(&spec->docs[0], &src, NULL, NULL, 0, &a, &d) : NULL;
  struct ws_play_options opt = {.most_blocks = blocks};
  double t = now();
  struct ws_play_result r = {0};
  if (s) r = ws_play(s, &opt, &a, &d);
  t = now() - t;
  if (!s || (r.verdict != WS_CLEAN && r.verdict != WS_INCOMPLETE)) {
    struct ws_buf b = {.arena = &a};
    ws_diags_print(&d, &b);
    fprintf(stderr, "%s%s%s", text, b.s ? b.s : "", r.notes ? r.notes : "");
    exit(2);
  }
  *events = r.events;
  ws_arena_free(&a);
  return t;
}

/* Agents and barriers: components of a clock. */
static double things(const int *row) { return 1 + 2 * row[1] + 2 * row[0] * (1 + row[1]); }

static bool table(const char *what, const int (*row)[3], int n) {
  double first = 0, last = 0;
  long events = 0, fewest = 0;
  printf("%s\n  stages  roles  blocks    events        ms   ns an event\n", what);
  for (int i = 0; i < n; i++) {
    double best = 1e9;
    for (int k = 0; k < 3; k++) { /* the best of three: others use this machine, too */
      double t = play(row[i][0], row[i][1], row[i][2], &events);
      if (t < best) best = t;
    }
    last = best / (double)events;
    if (i == 0) first = last, fewest = events;
    printf("  %6d %6d %7d %9ld %9.2f %9.0f\n", row[i][0], 1 + 2 * row[i][1], row[i][2], events, 1e3 * best, 1e9 * last);
  }
  double allowed = log((double)events) / log((double)fewest) * (things(row[n - 1]) / things(row[0]));
  printf("  an event costs %.2f times as much at the end; %.2f is allowed\n", last / first, allowed);
  return last / first <= 1.5 * allowed; /* a clock is not exact */
}

int main(void) {
  static const int blocks[][3] = {{2, 2, 10}, {2, 2, 20}, {2, 2, 40}, {2, 2, 80}, {2, 2, 160}};
  static const int stages[][3] = {{2, 2, 0}, {4, 2, 0}, {8, 2, 0}, {16, 2, 0}};
  static const int roles[][3] = {{2, 1, 10}, {2, 2, 10}, {2, 4, 10}, {2, 8, 10}, {2, 15, 10}};
  bool good = table("longer lists", blocks, sizeof blocks / sizeof *blocks);
  good &= table("deeper rings", stages, sizeof stages / sizeof *stages);
  good &= table("more roles", roles, sizeof roles / sizeof *roles);
  return !good;
}
