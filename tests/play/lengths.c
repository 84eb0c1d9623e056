/* How many events shipped schedules have, what their check costs, and how its time grows with longer lists.
 *
 *   lengths SPEC...            every spec: read, built and played as `check` does it; the largest of them
 *   lengths --grow SPEC...     lists of more and more blocks: time grows no worse than n log n in the events played
 *
 * Times are CPU time, the best of several; the exponent is the slope of log time over log events, fitted over all lengths. n log n has
 * a little more than 1; what else the machine does and caches do is left room for. */
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

static char *read_file(const char *path, size_t *n) {
  static char text[1 << 20];
  FILE *f = fopen(path, "rb");
  *n = f ? fread(text, 1, sizeof text, f) : 0;
  if (f) fclose(f);
  return *n ? text : NULL;
}

struct cost {
  double built, played;          /* seconds */
  struct ws_play_result r;
};

static bool check(const char *path, int blocks, struct cost *c) {
  struct ws_arena a = {0};
  size_t n;
  const char *text = read_file(path, &n);
  struct ws_source src = {path, text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  if (!text) return printf("FAIL %s cannot be read\n", path), false;
  if (setjmp(a.oom)) abort();
  double start = now();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  struct ws_schedule *s = spec && !d.errors ? ws_schedule_build(&spec->docs[0], &src, NULL, NULL, 0, &a, &d) : NULL;
  double built = now();
  if (s) c->r = ws_play(s, &(struct ws_play_options){.most_blocks = blocks}, &a, &d);
  c->built = built - start, c->played = now() - built;
  bool good = s && (c->r.verdict == WS_CLEAN || c->r.verdict == WS_REVIEW);
  if (!good) printf("FAIL %s is not clean\n", path);
  ws_arena_free(&a);
  return good;
}

static bool best_of(const char *path, int blocks, int times, struct cost *c) {
  struct cost x;
  c->built = c->played = 1e9;
  for (int i = 0; i < times; i++) {
    if (!check(path, blocks, &x)) return false;
    if (x.built < c->built) c->built = x.built;
    if (x.played < c->played) c->played = x.played;
  }
  c->r = x.r;
  return true;
}

static const char *name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static int all(char **spec, int n) {
  long most = 0;
  double slowest = 0;
  const char *which = "", *slow = "";
  printf("%-24s %5s %9s %9s %9s %9s\n", "", "runs", "events", "longest", "read ms", "play ms");
  for (int i = 0; i < n; i++) {
    struct cost c;
    if (!best_of(spec[i], 0, 2, &c)) return 1;
    printf("%-24s %5d %9ld %9ld %9.2f %9.2f\n", name(spec[i]), c.r.runs, c.r.events, c.r.longest, 1e3 * c.built, 1e3 * c.played);
    if (c.r.events > most) most = c.r.events, which = spec[i];
    if (c.built + c.played > slowest) slowest = c.built + c.played, slow = spec[i];
  }
  printf("the most events: %ld, %s; the slowest check: %.1f ms, %s\n", most, name(which), 1e3 * slowest, name(slow));
  return slowest > 1.0; /* a second is what the design allows */
}

/* The slope of y over x. */
static double slope(const double *x, const double *y, int n) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < n; i++) sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static int grow(const char *spec) {
  static const int blocks[] = {5, 10, 20, 40, 80};
  enum { N = sizeof blocks / sizeof *blocks };
  double e[N], t[N], nlogn[N];
  printf("%s\n  %6s %5s %9s %9s %12s\n", name(spec), "blocks", "runs", "events", "play ms", "ns an event");
  for (int i = 0; i < N; i++) {
    struct cost c;
    if (!best_of(spec, blocks[i], blocks[i] > 20 ? 3 : 5, &c)) return 1;
    double events = (double)c.r.events;
    e[i] = log(events), t[i] = log(c.played), nlogn[i] = log(events * log(events));
    printf("  %6d %5d %9ld %9.2f %12.0f\n", blocks[i], c.r.runs, c.r.events, 1e3 * c.played, 1e9 * c.played / events);
  }
  double measured = slope(e, t, N), right = slope(e, nlogn, N), allowed = right + 0.2;
  printf("  time grows as events^%.2f; n log n: ^%.2f, allowed ^%.2f\n", measured, right, allowed);
  if (measured > allowed) printf("FAIL %s: time grows faster than n log n\n", spec);
  return measured > allowed;
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: lengths [--grow] SPEC...\n"), 2;
  if (strcmp(argv[1], "--grow")) return all(argv + 1, argc - 1);
  int wrong = argc < 3;
  for (int i = 2; i < argc; i++) wrong += grow(argv[i]);
  return wrong > 0;
}
