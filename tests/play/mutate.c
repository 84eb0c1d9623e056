/* Mutants of a schedule. Each statement that synchronises is dropped or doubled, and swapped with the statement below it, as is
 * a statement above one; each ring gets one stage more and one less; and in the model, each count of arrivals is one more and one
 * less. What the model or the player refuses is caught; a mutant that survives has to be in the list of those that are harmless,
 * which says why; so has one that the player refuses although the oracle finds nothing. A mutant is built for several values of
 * its parameters, as far as the schedule has room for them, and survives where all of them do.
 *
 *   mutate [-v] [-p] [-q N] LIST SPEC...     -q: every N-th mutant only; -v: all mutants and what found them; -p: the oracle has to
 *                                            prove each survivor, over all interleavings at its trip counts
 * Exit code 1 when a survivor is not in the list. */
#include <fnmatch.h>
#include "explore.h"
#include "play/play.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how { DROP, DOUBLE, SWAP, DEEPER, SHALLOWER, MORE, FEWER, HOWS };
static const char *const how_names[] = {"drop", "double", "swap", "deeper", "shallower", "more", "fewer"};

struct line {
  const char *s;
  size_t n, indent;      /* indent: of the dash; -1 cast = no statement */
  bool statement, ring;  /* ring: of a buffer with stages */
};
struct text {
  const char *name;
  char *s;
  struct line line[2048];
  size_t n;
};
struct tally {
  long made, by_model, by_player, survived, unexplained;
  long proven, frozen, harmful, unknown; /* of the survivors: frozen: proven without enumerating all states */
  long alone;
};

static bool prove;
static bool alone;               /* the player refused the mutant, and the oracle finds nothing; contents are the player's alone */
static struct outcome proof;     /* of the mutant at hand, over its variants */

/* A line of the list: SPEC | how | statement | statement below | why. Patterns of fnmatch; a # starts a comment. */
struct rule {
  char *field[5];
};
static struct rule rules[512];
static size_t nrules;

static char *trim(char *s) {
  while (*s == ' ') s++;
  for (size_t n = strlen(s); n && s[n - 1] == ' '; n--) s[n - 1] = 0;
  return s;
}

static bool read_rules(char *text) {
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (*line == '#' || !*trim(line)) continue;
    if (nrules == sizeof rules / sizeof *rules) return false;
    struct rule *r = &rules[nrules++];
    for (int i = 0; i < 5; i++) {
      if (!line) return false;
      char *bar = i < 4 ? strchr(line, '|') : NULL;
      if (i < 4 && !bar) return false;
      if (bar) *bar = 0;
      r->field[i] = trim(line);
      line = bar ? bar + 1 : NULL;
    }
  }
  return true;
}

static const char *why(const char *spec, const char *how, const char *first, const char *second) {
  const char *x[4] = {spec, how, first, second};
  for (size_t i = 0; i < nrules; i++) {
    int k = 0;
    while (k < 4 && !fnmatch(rules[i].field[k], x[k], 0)) k++;
    if (k == 4) return rules[i].field[4];
  }
  return NULL;
}

/* Values of parameters: code that one of them leaves out is in another. */
static const struct ws_define variants[][2] = {
    {{NULL, NULL}, {NULL, NULL}},
    {{"q_registers", "true"}, {"stages", "3"}},
    {{"lazy", "false"}, {"readback", "16"}},
};

enum { VARIANTS = sizeof variants / sizeof *variants };
static bool usable[VARIANTS]; /* the schedule itself is right with these values; what it has no room for says nothing about a mutant */

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
    const char *space = strstr(s, "space: "), *stages = strstr(s, "stages: ");
    l->ring = !programs && space && stages && space < stages && stages < s + end;
    l->statement = programs && end > l->indent + 2 && s[l->indent] == '-' && s[l->indent + 1] == ' ' && s[end - 1] != ':';
    s += l->n;
  }
  return t->n > 0;
}

/* `stages: n` becomes `stages: n + 1` or `stages: n - 1`. */
static size_t change_depth(const struct line *l, enum how how, char *out) {
  const char *at = strstr(l->s, "stages: ") + 8;
  size_t before = (size_t)(at - l->s), len = strcspn(at, ",}# \n");
  memcpy(out, l->s, before + len);
  memcpy(out + before + len, how == DEEPER ? " + 1" : " - 1", 4);
  memcpy(out + before + len + 4, at + len, l->n - before - len);
  return l->n + 4;
}

static size_t build(const struct text *t, enum how how, size_t at, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    size_t k = how == SWAP && i == at ? at + 1 : how == SWAP && i == at + 1 ? at : i;
    if (how == DROP && i == at) continue;
    if ((how == DEEPER || how == SHALLOWER) && i == at) {
      n += change_depth(&t->line[i], how, out + n);
      continue;
    }
    for (int copies = how == DOUBLE && i == at ? 2 : 1; copies; copies--) memcpy(out + n, t->line[k].s, t->line[k].n), n += t->line[k].n;
  }
  out[n] = 0;
  return n;
}

static bool has_param(const struct ws_document *d, const char *name) {
  for (size_t i = 0; name && i < d->nparams; i++)
    if (!strcmp(d->params[i].name, name)) return true;
  return false;
}

static void explore_too(const struct ws_schedule *s) {
  const struct limits l = {.states = 2000, .then_frozen = true, .sequences = true};
  struct outcome o = explore_all(s, &l);
  o.frozen |= proof.frozen;
  if (o.trouble) proof = o, printf("  line %u, line %u: %s\n", o.a ? o.a->src->pos.line : 0, o.b ? o.b->src->pos.line : 0, trouble_name(o.trouble));
  proof.frozen = o.frozen;
}

static void found_too(const struct ws_schedule *s) {
  const struct limits l = {.frozen = true, .sequences = true};
  alone = explore_all(s, &l).trouble == T_NONE;
}

/* 0: survived; 1: refused by the model; 2: by the player; 3: the variant is that of the defaults. */
static int judge_variant(const char *text, size_t n, const struct ws_define *v, const char **word) {
  struct ws_arena a = {0};
  struct ws_source src = {"mutant", text, n};
  struct ws_diags d = {.arena = &a, .source = &src};
  volatile int result = 0;
  static char code[64];
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  if (!spec || d.errors) result = 1;
  for (size_t i = 0; spec && !result && i < spec->ndocs; i++) {
    struct ws_define mine[2];
    size_t k = 0;
    for (int x = 0; x < 2; x++)
      if (has_param(&spec->docs[i], v[x].name)) mine[k++] = v[x];
    if (v[0].name && !k) {
      result = 3;
      break;
    }
    struct ws_schedule *s = ws_schedule_build(&spec->docs[i], &src, NULL, mine, k, &a, &d);
    if (!s) result = 1;
    struct ws_play_options opt = {0};
    struct ws_play_result r = {0};
    if (s) r = ws_play(s, &opt, &a, &d);
    if (r.verdict != WS_CLEAN || r.needs_single) result = 2; /* no schedule here is right for one tile only */
    else if (s && prove) explore_too(s);
    if (s && prove && result == 2 && strcmp(d.n ? d.list[0].code : "", "content")) found_too(s);
  }
  snprintf(code, sizeof code, "%s", d.n ? d.list[0].code : "");
  *word = code;
  ws_arena_free(&a);
  return result;
}

static int judge(const char *text, size_t n, const char **word) {
  for (size_t i = 0; i < VARIANTS; i++) {
    int r = usable[i] ? judge_variant(text, n, variants[i], word) : 3;
    if (r == 1 || r == 2) return r;
  }
  return 0;
}

static void statement(const struct line *l, char *out, size_t size) {
  size_t end = l->n;
  const char *hash = memchr(l->s, '#', l->n);
  if (hash) end = (size_t)(hash - l->s);
  while (end && (l->s[end - 1] == ' ' || l->s[end - 1] == '\n')) end--;
  size_t start = l->indent + (l->statement ? 2 : 0);
  snprintf(out, size, "%.*s", (int)(end - start), l->s + start);
}

static void count_proof(struct tally *y) {
  if (proof.trouble >= T_UNKNOWN) y->unknown++;
  else if (proof.trouble) y->harmful++;
  else if (proof.frozen) y->frozen++;
  else y->proven++;
}

static void tell(const char *spec, const char *how, const char *first, const char *second, const char *reason) {
  printf("%s | %s | %s | %s | %s\n", spec, how, first, second, reason ? reason : "?");
}

static void mutant(const struct text *t, enum how how, size_t at, struct tally *y, char *out, bool verbose) {
  const char *word;
  size_t n = build(t, how, at, out);
  proof = (struct outcome){0}, alone = false;
  int r = judge(out, n, &word);
  y->made++, y->by_model += r == 1, y->by_player += r == 2, y->survived += r == 0;
  if (!r && prove) count_proof(y);
  if (r && !verbose && !alone) return;
  char first[512], second[512] = "", name[128];
  statement(&t->line[at], first, sizeof first);
  if (how == SWAP) statement(&t->line[at + 1], second, sizeof second);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(t->name, "."), t->name);
  const char *known = why(name, how_names[how], first, second), *reason = r ? word : known;
  alone &= !known;
  y->alone += alone;
  if (!reason) y->unexplained++;
  if (!reason || verbose || alone || (!r && proof.trouble)) tell(name, how_names[how], first, second, reason);
}

/* --- counts: the model is changed, not the text --- */

struct counts {
  const struct text *t;
  struct ws_schedule *s;
  struct tally *y;
  size_t every, count;
  bool verbose;
};

static void one_count(struct counts *c, int *count, int by, const char *what) {
  if (!*count || c->count++ % c->every) return;
  char name[128];
  int was = *count;
  struct ws_diags *d = c->s->diags;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(c->t->name, "."), c->t->name);
  *count += by, d->n = d->errors = d->groups = 0, proof = (struct outcome){0}, alone = false;
  struct ws_play_options opt = {0};
  struct ws_play_result r = ws_play(c->s, &opt, c->s->arena, d);
  bool survived = r.verdict == WS_CLEAN && !r.needs_single;
  if (survived && prove) explore_too(c->s), count_proof(c->y);
  if (!survived && prove) found_too(c->s);
  c->y->alone += alone;
  *count = was;
  const char *how = how_names[by > 0 ? MORE : FEWER], *reason = survived ? why(name, how, what, "") : d->n ? d->list[0].code : "";
  c->y->made++, c->y->by_player += !survived, c->y->survived += survived, c->y->unexplained += survived && !reason;
  if (!reason || c->verbose || alone) tell(name, how, what, "", reason);
}

static void all_counts(struct counts *c) {
  char what[160];
  for (int i = 0; i < c->s->npipelines; i++)
    for (int k = 0; k < 4; k++) {
      struct ws_pipelinem *p = &c->s->pipelines[i];
      snprintf(what, sizeof what, "%s of %s", k / 2 ? "empty" : "full", p->name);
      one_count(c, &(k / 2 ? p->empty_count : p->full_count)[0], k % 2 ? 1 : -1, what);
    }
  for (int i = 0; i < c->s->nbarriers; i++)
    for (int k = 0; k < 2; k++) {
      struct ws_barrierm *b = &c->s->barriers[i];
      one_count(c, &b->arrivals[0], (k ? 1 : -1) * (b->named ? 32 : 1), b->name);
    }
}

static void counts(const struct text *t, size_t every, struct tally *y, bool verbose) {
  struct ws_arena a = {0};
  struct ws_source src = {"mutant", t->s, strlen(t->s)};
  struct ws_diags d = {.arena = &a, .source = &src};
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  for (size_t i = 0; spec && !d.errors && i < spec->ndocs; i++) {
    struct counts c = {.t = t, .y = y, .every = every, .verbose = verbose, .s = ws_schedule_build(&spec->docs[i], &src, NULL, NULL, 0, &a, &d)};
    if (c.s) all_counts(&c);
  }
  ws_arena_free(&a);
}

static bool find_usable(const struct text *t) {
  const char *word;
  bool was = prove;
  prove = false;
  for (size_t i = 0; i < VARIANTS; i++) usable[i] = judge_variant(t->s, strlen(t->s), variants[i], &word) == 0;
  prove = was;
  return usable[0];
}

static void spec(const struct text *t, size_t every, struct tally *y, bool verbose) {
  static char out[1 << 18];
  static size_t count;
  for (size_t i = 0; i < t->n; i++) {
    const struct line *l = &t->line[i];
    for (enum how how = DEEPER; l->ring && how <= SHALLOWER; how++)
      if (count++ % every == 0) mutant(t, how, i, y, out, verbose);
    if (!l->statement) continue;
    bool sibling = i + 1 < t->n && t->line[i + 1].statement && t->line[i + 1].indent == l->indent;
    for (enum how how = DROP; how <= SWAP; how++) {
      if (how == SWAP ? !sibling || (!synchronises(l) && !synchronises(&t->line[i + 1])) : !synchronises(l)) continue;
      if (count++ % every == 0) mutant(t, how, i, y, out, verbose);
    }
  }
}

int main(int argc, char **argv) {
  size_t every = 1;
  bool verbose = false, list = false;
  struct tally y = {0};
  static struct text t, rules_text;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-v")) verbose = true;
    else if (!strcmp(argv[i], "-p")) prove = true;
    else if (!strcmp(argv[i], "-q") && i + 1 < argc) every = strtoul(argv[++i], NULL, 10);
    else if (!read_text(list ? &t : &rules_text, argv[i])) return fprintf(stderr, "%s: cannot be read\n", argv[i]), 2;
    else if (!list) {
      list = true;
      if (!read_rules(rules_text.s)) return fprintf(stderr, "%s: a line needs five fields\n", argv[i]), 2;
    } else {
      if (!find_usable(&t)) return fprintf(stderr, "%s: is not clean itself\n", argv[i]), 1;
      spec(&t, every ? every : 1, &y, verbose);
      counts(&t, every ? every : 1, &y, verbose);
      free(t.s);
    }
  }
  free(rules_text.s);
  fprintf(stderr, "%ld mutants: %ld refused by the model, %ld by the player, %ld harmless, %ld unexplained\n", y.made, y.by_model, y.by_player, y.survived - y.unexplained, y.unexplained);
  if (prove) fprintf(stderr, "survivors: %ld proven harmless state by state, %ld by standing still, %ld harmful, %ld not modelled; %ld of those that the player refused are clean for the oracle\n", y.proven, y.frozen, y.harmful, y.unknown, y.alone);
  return y.unexplained > 0 || y.harmful > 0 || y.alone > 0 || !y.made;
}
