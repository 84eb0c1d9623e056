/* Mutants of a schedule. Each line that synchronises, copies or writes is dropped, doubled or swapped with the statement below it;
 * what the model or the player refuses is caught. The survivors are printed, one a line, to be held against a list of those that
 * are harmless and why.
 *
 *   mutate [-q N] SPEC...     -q: every N-th mutant only */
#include "play/play.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how { DROP, DOUBLE, SWAP, HOWS };
static const char *const how_names[] = {"drop", "double", "swap"};

struct line {
  const char *s;
  size_t n, indent;      /* indent: of the dash; -1 cast = no statement */
  bool statement;
};
struct text {
  const char *name;
  char *s;
  struct line line[2048];
  size_t n;
};
struct tally {
  long made, by_model, by_player, survived;
};

static bool starts(const struct line *l, const char *word) {
  size_t n = strlen(word);
  const char *s = l->s + l->indent + 2;
  return l->n >= l->indent + 2 + n && !strncmp(s, word, n) && (l->n == l->indent + 2 + n || s[n] == ' ' || s[n] == '\n');
}

static bool synchronises(const struct line *l) {
  static const char *const words[] = {"acquire", "commit", "wait", "release", "arrive", "await", "sync"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (starts(l, words[i])) return true;
  return false;
}

static bool read_text(struct text *t, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  t->s = malloc(1 << 17);
  size_t n = t->s ? fread(t->s, 1, (1 << 17) - 1, f) : 0;
  fclose(f);
  if (!n) return false;
  t->s[n] = 0;
  t->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  bool programs = false;
  t->n = 0;
  for (char *s = t->s; *s && t->n < 2048; t->n++) {
    char *e = strchr(s, '\n');
    struct line *l = &t->line[t->n];
    *l = (struct line){.s = s, .n = e ? (size_t)(e - s) + 1 : strlen(s)};
    if (!strncmp(s, "programs:", 9)) programs = true;
    if (!strncmp(s, "---", 3)) programs = false;
    while (s[l->indent] == ' ') l->indent++;
    size_t end = l->n;
    const char *hash = memchr(s, '#', l->n);
    if (hash) end = (size_t)(hash - s);
    while (end && (s[end - 1] == ' ' || s[end - 1] == '\n')) end--;
    l->statement = programs && end > l->indent + 2 && s[l->indent] == '-' && s[l->indent + 1] == ' ' && s[end - 1] != ':';
    s += l->n;
  }
  return t->n > 0;
}

static size_t build(const struct text *t, enum how how, size_t at, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    size_t k = how == SWAP && i == at ? at + 1 : how == SWAP && i == at + 1 ? at : i;
    if (how == DROP && i == at) continue;
    for (int copies = how == DOUBLE && i == at ? 2 : 1; copies; copies--) memcpy(out + n, t->line[k].s, t->line[k].n), n += t->line[k].n;
  }
  out[n] = 0;
  return n;
}

/* 0: survived; 1: refused by the model; 2: by the player. */
static int judge(const char *text, size_t n, const char **word) {
  struct ws_arena a = {0};
  struct ws_source src = {"mutant", text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  volatile int result = 0;
  static char code[64];
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  if (!spec || d.errors) result = 1;
  for (size_t i = 0; spec && !result && i < spec->ndocs; i++) {
    struct ws_schedule *s = ws_schedule_build(&spec->docs[i], &src, NULL, NULL, 0, &a, &d);
    if (!s) result = 1;
    struct ws_play_options opt = {0};
    if (s && ws_play(s, &opt, &a, &d).verdict != WS_CLEAN) result = 2;
  }
  snprintf(code, sizeof code, "%s", d.n ? d.list[0].code : "");
  *word = code;
  ws_arena_free(&a);
  return result;
}

static void mutant(const struct text *t, enum how how, size_t at, struct tally *y, char *out, bool verbose) {
  const char *word;
  size_t n = build(t, how, at, out);
  int r = judge(out, n, &word);
  y->made++, y->by_model += r == 1, y->by_player += r == 2, y->survived += r == 0;
  if (r && !verbose) return;
  const struct line *l = &t->line[at];
  size_t end = l->n;
  const char *hash = memchr(l->s, '#', l->n);
  if (hash) end = (size_t)(hash - l->s);
  while (end && (l->s[end - 1] == ' ' || l->s[end - 1] == '\n')) end--;
  printf("%s:%zu: %s: %.*s%s%s\n", t->name, at + 1, how_names[how], (int)(end - l->indent - 2), l->s + l->indent + 2, verbose ? " -> " : "", verbose ? word : "");
}

static void spec(const struct text *t, size_t every, struct tally *y, bool verbose) {
  static char out[1 << 18];
  static size_t count;
  for (size_t i = 0; i < t->n; i++) {
    const struct line *l = &t->line[i];
    if (!l->statement) continue;
    bool sibling = i + 1 < t->n && t->line[i + 1].statement && t->line[i + 1].indent == l->indent;
    for (enum how how = DROP; how < HOWS; how++) {
      if (how == SWAP ? !sibling || (!synchronises(l) && !synchronises(&t->line[i + 1])) : !synchronises(l)) continue;
      if (count++ % every == 0) mutant(t, how, i, y, out, verbose);
    }
  }
}

int main(int argc, char **argv) {
  size_t every = 1;
  bool verbose = false;
  struct tally y = {0};
  for (int i = 1; i < argc; i++) {
    static struct text t;
    if (!strcmp(argv[i], "-v")) verbose = true;
    else if (!strcmp(argv[i], "-q") && i + 1 < argc) every = strtoul(argv[++i], NULL, 10);
    else if (!read_text(&t, argv[i])) return fprintf(stderr, "%s: cannot be read\n", argv[i]), 2;
    else spec(&t, every ? every : 1, &y, verbose), free(t.s);
  }
  fprintf(stderr, "%ld mutants: %ld refused by the model, %ld by the player, %ld survived\n", y.made, y.by_model, y.by_player, y.survived);
  return 0;
}
