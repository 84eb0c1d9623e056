/* Every schedule is clean, in less than a second; those that rest on ruling A1 are `review` when it is not granted, and only those;
 * to play twice is to find the same; and a result names what was played. */
#include "play/play.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const rest_on_a1[] = {"fa4_forward", "fa4_forward_2cta", "fa4_forward_d192", "fa4_forward_d256", "fa4_backward", "fa4_backward_2cta"};

static bool listed(const char *name) {
  for (size_t i = 0; i < sizeof rest_on_a1 / sizeof *rest_on_a1; i++)
    if (!strcmp(rest_on_a1[i], name)) return true;
  return false;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wrong(const char *name, const char *what) { return fprintf(stderr, "%s: %s\n", name, what), 1; }

static struct {
  long events, longest;
  char name[64];
} largest;                       /* of all */

static int document(const struct ws_schedule *s, struct ws_arena *a, struct ws_diags *d) {
  bool a1 = listed(s->name);
  struct ws_play_options lenient = {0}, strict = {.strict = true};
  double t = now();
  struct ws_play_result r = ws_play(s, &lenient, a, d), again = ws_play(s, &strict, a, d);
  t = (now() - t) / 2;
  int bad = 0;
  if (r.events > largest.events) {
    largest.events = r.events, largest.longest = r.longest;
    snprintf(largest.name, sizeof largest.name, "%s", s->name);
  }
  if (r.verdict != WS_CLEAN) bad += wrong(s->name, "is not clean");
  if (again.verdict != (a1 ? WS_REVIEW : WS_CLEAN)) bad += wrong(s->name, a1 ? "rests on A1, and is not `review`" : "does not rest on A1, and is not `clean`");
  if (r.needs_single || again.needs_single) bad += wrong(s->name, "is right for one work tile only");
  if (r.needs_a1 != a1 || again.events != r.events || again.runs != r.runs || again.longest != r.longest) bad += wrong(s->name, "two plays differ");
  if (!!strstr(r.notes, "A1") != a1 || strncmp(r.notes, "protocol: played ", 17)) bad += wrong(s->name, "the notes do not say what was played");
  if (t > 1) bad += wrong(s->name, "takes longer than a second");
  printf("%-22s %-10s %4d runs %8ld statements, %6ld in the longest, %7.2f ms%s\n", s->name, ws_verdict_name(r.verdict), r.runs, r.events, r.longest, 1e3 * t, a1 ? ", with A1" : "");
  return bad;
}

static int file(const char *path) {
  static char text[1 << 17];
  FILE *f = fopen(path, "rb");
  if (!f) return wrong(path, "cannot be read");
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  struct ws_arena a = {0};
  struct ws_source src = {path, text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  volatile int bad = 0;
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  for (size_t i = 0; spec && i < spec->ndocs; i++) {
    const struct ws_schedule *s = ws_schedule_build(&spec->docs[i], &src, NULL, NULL, 0, &a, &d);
    bad = bad + (s ? document(s, &a, &d) : 1);
  }
  if (d.errors || !spec) {
    struct ws_buf b = {.arena = &a};
    ws_diags_print(&d, &b);
    bad = bad + wrong(path, b.s ? b.s : "does not read");
  }
  ws_arena_free(&a);
  return bad;
}

int main(int argc, char **argv) {
  int bad = argc < 2;
  for (int i = 1; i < argc; i++) bad += file(argv[i]);
  printf("the largest: %s, %ld statements in all runs, %ld in the longest\n", largest.name, largest.events, largest.longest);
  return bad != 0;
}
