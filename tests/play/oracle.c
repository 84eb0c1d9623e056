/* The player's verdict beside that of all interleavings.
 *
 *   oracle [-n STATES] SPEC...             schedules from files
 *   oracle [-v] random FIRST COUNT         COUNT well-formed random schedules, from seed FIRST on; -v: each of them
 *   oracle play FIRST COUNT                plays COUNT well-formed random schedules: no crash is the test
 *   oracle seeds SEED...                   these, well-formed or not
 *   oracle print SEED                      the text of one
 *   oracle spin FOLDER FIRST COUNT         writes Promela models of COUNT random schedules, about half of them with a
 *                                          deadlock, to FOLDER/SEED.pml, and prints their names and whether they deadlock
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
  long well, clean, differ, stricter, apart, frozen, unclear, states, played[NCODES], explored[TROUBLES];
};

static size_t code_of(const struct ws_diags *d) {
  if (!d->n) return 0;
  size_t i = 0;
  while (i < NCODES - 1 && strcmp(codes[i], d->list[0].code)) i++;
  return i;
}

/* Where the player is stricter by intent: contents are followed by it alone; and a slot that a product in flight reads must not be released,
 * though it may be that nobody can refill it so early. */
static bool stricter(const struct ws_diags *d) {
  for (size_t i = 0; i < d->n; i++)
    if (d->list[i].severity == WS_ERROR && strcmp(d->list[i].code, "content") && strcmp(d->list[i].code, "release")) return false;
  return d->errors > 0;
}

static void show(const struct outcome *o) {
  printf("explored: %s, %ld states", trouble_name(o->trouble), o->states);
  if (o->a) printf(", line %u: %s", o->a->src->pos.line, o->a->src->text);
  if (o->b) printf(", line %u: %s", o->b->src->pos.line, o->b->src->text);
  puts("");
}

/* Both ways to explore, which have to agree; the player. Whether anything differs. */
static bool judge(const char *name, const struct ws_schedule *s, struct ws_arena *a, struct ws_diags *d, const struct limits *l, bool verbose, struct tally *y) {
  struct ws_play_options opt = {0};
  struct ws_play_result r = ws_play(s, &opt, a, d);
  struct limits quick = {.frozen = true};
  struct outcome o = explore_all(s, l), z = explore_all(s, &quick);
  bool clean = r.verdict == WS_CLEAN, large = o.trouble >= T_UNKNOWN, apart = !large && (z.trouble == T_NONE) != (o.trouble == T_NONE);
  if (apart) printf("%-22s freeze() says %s, ", name, trouble_name(z.trouble)), show(&o);
  if (large) o = z;
  bool unclear = o.trouble >= T_UNKNOWN, differ = !unclear && clean != (o.trouble == T_NONE) && !stricter(d);
  y->well++, y->apart += apart, y->frozen += large && !unclear, y->unclear += unclear, y->differ += differ;
  y->clean += clean && o.trouble == T_NONE, y->stricter += o.trouble == T_NONE && stricter(d);
  y->played[code_of(d)]++, y->explored[o.trouble]++, y->states += o.states;
  if (verbose || differ) printf("%-22s played: %s (%s), ", name, ws_verdict_name(r.verdict), codes[code_of(d)]), show(&o);
  return apart || differ;
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
    result = result > 0 || judge(name, s, &a, &d, l, verbose, y);
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
  printf("%ld schedules, %ld clean for both, %ld where the two differ, %ld where the player is stricter by intent, %ld not decided, %ld states\n", y->well, y->clean, y->differ, y->stricter, y->unclear, y->states);
  printf("freeze() agrees with all interleavings, except for %ld; it decided %ld with too many states\n", y->apart, y->frozen);
  for (int pass = 0; pass < 2; pass++) {
    printf(pass ? "explored:" : "played:  ");
    for (size_t i = 0; i < (pass ? (size_t)TROUBLES : (size_t)NCODES); i++) {
      long n = pass ? y->explored[i] : y->played[i];
      if (n) printf(" %s %ld", pass ? trouble_name((enum trouble)i) : codes[i], n);
    }
    puts("");
  }
}

static enum ws_verdict play_one(const char *text, size_t n, bool *well) {
  struct ws_arena a = {0};
  struct ws_source src = {"random", text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  struct ws_play_result r = {0};
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  struct ws_schedule *s = spec && !d.errors ? ws_schedule_build(&spec->docs[0], &src, NULL, NULL, 0, &a, &d) : NULL;
  struct ws_play_options opt = {0};
  *well = s != NULL;
  if (s) r = ws_play(s, &opt, &a, &d);
  struct ws_buf b = {.arena = &a};
  ws_diags_print(&d, &b);
  ws_arena_free(&a);
  return r.verdict;
}

static int play_only(uint64_t seed, long count) {
  static char text[RANDOM_SPEC_SIZE];
  long verdicts[WS_VERDICT_ERROR + 1] = {0}, n = 0;
  for (bool well; n < count; n += well) {
    size_t len = random_spec(seed++, text, sizeof text);
    enum ws_verdict v = play_one(text, len, &well);
    if (well) verdicts[v]++;
  }
  printf("%ld schedules played:", n);
  for (int v = 0; v <= WS_VERDICT_ERROR; v++) printf(" %s %ld", ws_verdict_name((enum ws_verdict)v), verdicts[v]);
  puts("");
  return 0;
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

static bool write_model(const struct system *x, const char *path) {
  struct ws_buf b = {.arena = x->arena};
  promela(x, &b);
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  fputs(b.s, f);
  return fclose(f) == 0;
}

/* 1: clean, 2: a deadlock, 0: neither, or not wanted: which may say that there are enough of them. */
static int model(const char *folder, uint64_t seed, const int *wanted) {
  static char text[RANDOM_SPEC_SIZE];
  char path[1024];
  struct ws_arena a = {0};
  struct ws_source src = {"random", text, random_spec(seed, text, sizeof text)};
  struct ws_diags d = {.arena = &a, .source = &src};
  const struct limits l = {.states = 50000, .deadlock_only = true};
  int trips[] = {1 + (int)(seed % 3)};
  volatile int result = 0;
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  const struct ws_schedule *s = spec && !d.errors ? ws_schedule_build(&spec->docs[0], &src, NULL, NULL, 0, &a, &d) : NULL;
  if (s) {
    struct system *x = WS_NEW(&a, struct system);
    unroll(x, s, &a, trips, 1, 0, (int)(seed % (uint64_t)instances(s)));
    struct outcome o = explore(x, &l);
    result = o.trouble == T_NONE || o.trouble == T_IN_FLIGHT ? 1 : o.trouble == T_DEADLOCK ? 2 : 0;
    if (!wanted[result]) result = 0;
    snprintf(path, sizeof path, "%s/%llu.pml", folder, (unsigned long long)seed);
    if (result && !write_model(x, path)) perror(path), exit(2);
    if (result) printf("%llu %s\n", (unsigned long long)seed, result == 2 ? "deadlock" : "clean");
  }
  ws_arena_free(&a);
  return result;
}

static int models(const char *folder, uint64_t seed, int count) {
  int wanted[3] = {0, (count + 1) / 2, count / 2};
  while (wanted[1] + wanted[2] > 0) {
    int kind = model(folder, seed++, wanted);
    wanted[kind] -= kind > 0;
  }
  return 0;
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
  if (i + 2 < argc && !strcmp(argv[i], "play")) return play_only(strtoull(argv[i + 1], NULL, 10), atol(argv[i + 2]));
  if (i + 3 < argc && !strcmp(argv[i], "spin")) return models(argv[i + 1], strtoull(argv[i + 2], NULL, 10), atoi(argv[i + 3]));
  if (i + 2 < argc && !strcmp(argv[i], "random")) return random_specs(strtoull(argv[i + 1], NULL, 10), atol(argv[i + 2]), &l, verbose, &y) != 0;
  for (; i < argc; i++) bad += file(argv[i], &l, &y);
  return bad != 0;
}
