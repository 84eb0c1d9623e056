/* The player's verdict beside that of all interleavings.
 *
 *   oracle [-n STATES] SPEC...             schedules from files
 *   oracle [-v] random FIRST COUNT         COUNT well-formed random schedules, from seed FIRST on; -v: each of them
 *   oracle seeds SEED...                   these, well-formed or not
 *   oracle print SEED                      the text of one
 * Exit code 1 where they differ. */
#include "explore.h"
#include "play/play.h"
#include "random_spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of findings, as the player names them. */
static const char *const codes[] = {"clean", "deadlock", "race", "phase", "drift", "count", "in-flight", "groups", "groups-differ", "ring", "owned", "commit", "release", "content", "scope", "other"};
enum { NCODES = sizeof codes / sizeof *codes };

struct tally {
  long well, clean, differ, unclear, states, played[NCODES], explored[TROUBLES];
};

static size_t code_of(const struct ws_diags *d) {
  if (!d->n) return 0;
  size_t i = 0;
  while (i < NCODES - 1 && strcmp(codes[i], d->list[0].code)) i++;
  return i;
}

/* Contents are the player's alone. */
static bool only_content(const struct ws_diags *d) {
  for (size_t i = 0; i < d->n; i++)
    if (d->list[i].severity == WS_ERROR && strcmp(d->list[i].code, "content")) return false;
  return true;
}

static void show(const struct outcome *o) {
  printf("explored: %s, %ld states", trouble_name(o->trouble), o->states);
  if (o->a) printf(", line %u: %s", o->a->src->pos.line, o->a->src->text);
  if (o->b) printf(", line %u: %s", o->b->src->pos.line, o->b->src->text);
  puts("");
}

/* -1: not well-formed; 1: they differ. */
static int compare(const char *name, const char *text, size_t n, const struct limits *l, bool verbose, struct tally *y) {
  struct ws_arena a = {0};
  struct ws_source src = {name, text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  volatile int result = -1;
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  for (size_t i = 0; spec && !d.errors && i < spec->ndocs; i++) {
    const struct ws_schedule *s = ws_schedule_build(&spec->docs[i], &src, NULL, NULL, 0, &a, &d);
    if (!s) break;
    struct ws_play_options opt = {0};
    struct ws_play_result r = ws_play(s, &opt, &a, &d);
    struct outcome o = explore_all(s, l);
    bool differ = (r.verdict == WS_CLEAN || only_content(&d)) != (o.trouble == T_NONE), unclear = o.trouble >= T_UNKNOWN;
    result = result > 0 || (differ && !unclear);
    y->well++, y->clean += r.verdict == WS_CLEAN && o.trouble == T_NONE, y->differ += differ && !unclear, y->unclear += unclear;
    y->played[code_of(&d)]++, y->explored[o.trouble]++, y->states += o.states;
    if (!verbose && (!differ || unclear)) continue;
    printf("%-22s played: %s (%s), ", name, ws_verdict_name(r.verdict), codes[code_of(&d)]);
    show(&o);
  }
  ws_arena_free(&a);
  return result;
}

static int file(const char *path, const struct limits *l, struct tally *y) {
  static char text[1 << 17];
  FILE *f = fopen(path, "rb");
  if (!f) return perror(path), 1;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  const char *name = strrchr(path, '/');
  return compare(name ? name + 1 : path, text, n, l, true, y) != 0;
}

static void report(const struct tally *y) {
  printf("%ld schedules, %ld clean for both, %ld where the two differ, %ld not decided, %ld states\n", y->well, y->clean, y->differ, y->unclear, y->states);
  for (int pass = 0; pass < 2; pass++) {
    printf(pass ? "explored:" : "played:  ");
    for (size_t i = 0; i < (pass ? (size_t)TROUBLES : (size_t)NCODES); i++) {
      long n = pass ? y->explored[i] : y->played[i];
      if (n) printf(" %s %ld", pass ? trouble_name((enum trouble)i) : codes[i], n);
    }
    puts("");
  }
}

static bool one_seed(uint64_t seed, const struct limits *l, bool verbose, struct tally *y) {
  static char text[RANDOM_SPEC_SIZE];
  char name[32];
  size_t n = random_spec(seed, text, sizeof text);
  snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
  return compare(name, text, n, l, verbose, y) > 0;
}

static int random_specs(uint64_t seed, long count, const struct limits *l, bool verbose, struct tally *y) {
  int bad = 0;
  while (y->well < count) bad += one_seed(seed++, l, verbose, y);
  report(y);
  return bad;
}

int main(int argc, char **argv) {
  struct limits l = {.states = 300000};
  struct tally y = {0};
  bool verbose = false;
  int i = 1, bad = 0;
  for (; i < argc && argv[i][0] == '-'; i++)
    if (!strcmp(argv[i], "-v")) verbose = true;
    else if (!strcmp(argv[i], "-n") && i + 1 < argc) l.states = atol(argv[++i]);
  if (i + 1 < argc && !strcmp(argv[i], "print")) {
    static char text[RANDOM_SPEC_SIZE];
    random_spec(strtoull(argv[i + 1], NULL, 10), text, sizeof text);
    return fputs(text, stdout) < 0;
  }
  if (i < argc && !strcmp(argv[i], "seeds")) {
    while (++i < argc) bad += one_seed(strtoull(argv[i], NULL, 10), &l, true, &y);
    return bad != 0;
  }
  if (i + 2 < argc && !strcmp(argv[i], "random")) return random_specs(strtoull(argv[i + 1], NULL, 10), atol(argv[i + 2]), &l, verbose, &y) != 0;
  for (; i < argc; i++) bad += file(argv[i], &l, &y);
  return bad != 0;
}
