/* Mutated specs through the whole generator: whatever the text is, ws_compile answers with a kernel or with errors, in
 * bounded time and memory. The sanitizer build turns this into a search for memory errors and leaks.
 *
 *   gen_fuzz COUNT SEED FILE...
 *
 * Mutations keep most of a spec a spec: a token becomes another token of the corpus, a number another number, lines
 * move, and now and then a byte flips. Before each compile the text is written to gen_fuzz.yaml in the current folder,
 * so that a crash leaves its input behind. */
#include "compile.h"
#include "corpus.h"
#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 16, MAX_TOKENS = 1 << 14, SECONDS = 20 };
static const size_t max_bytes = (size_t)256 << 20; /* of the arena of one compile */
static const char last_input[] = "gen_fuzz.yaml";

struct token {
  const char *s;
  size_t n;
  enum { WORD, NUMBER, OTHER } kind;
};

struct fuzz {
  uint64_t state;
  struct corpus_file *file;
  size_t nfiles;
  struct token pool[MAX_TOKENS]; /* tokens of all files */
  size_t npool;
};

static uint64_t next(struct fuzz *f, uint64_t n) { /* xorshift64*, 0 .. n-1 */
  f->state ^= f->state >> 12, f->state ^= f->state << 25, f->state ^= f->state >> 27;
  return (f->state * 2685821657736338717u >> 33) % n;
}

static size_t split(const char *text, size_t len, struct token *out, size_t max) {
  size_t n = 0;
  for (size_t i = 0; i < len && n < max;) {
    unsigned char c = (unsigned char)text[i];
    size_t start = i++;
    if (isspace(c)) continue;
    if (c == '#') { /* comments are no tokens */
      while (i < len && text[i] != '\n') i++;
      continue;
    }
    bool word = isalpha(c) || c == '_', number = isdigit(c);
    while ((word || number) && i < len && (isalnum((unsigned char)text[i]) || text[i] == '_')) i++;
    out[n++] = (struct token){text + start, i - start, word ? WORD : number ? NUMBER : OTHER};
  }
  return n;
}

/* Replaces [at, at + old) of text by s. */
static size_t put(char *text, size_t len, size_t at, size_t old, const char *s, size_t n) {
  if (len - old + n >= MAX_TEXT) return len;
  memmove(text + at + n, text + at + old, len - at - old);
  memcpy(text + at, s, n);
  return len - old + n;
}

static size_t line_at(const char *text, size_t len, size_t at, size_t *end) {
  while (at > 0 && text[at - 1] != '\n') at--;
  *end = at;
  while (*end < len && text[*end] != '\n') (*end)++;
  if (*end < len) (*end)++;
  return at;
}

static size_t mutate_token(struct fuzz *f, char *text, size_t len) {
  static const char *const numbers[] = {"0", "1", "2", "3", "7", "8", "15", "16", "17", "24", "33", "64", "255", "256", "4096",
                                        "65536", "9007199254740991", "0.5", "1e300", "-1"};
  static struct token own[MAX_TOKENS];
  size_t n = split(text, len, own, MAX_TOKENS);
  if (!n) return len;
  const struct token *t = &own[next(f, n)];
  size_t at = (size_t)(t->s - text);
  char copy[512];
  switch (next(f, 8)) {
  case 0: return put(text, len, at, t->n, "", 0);
  case 1:
    if (t->n > sizeof copy) return len;
    memcpy(copy, t->s, t->n);
    return put(text, len, at, 0, copy, t->n);
  case 2: {
    const char *s = numbers[next(f, sizeof numbers / sizeof *numbers)];
    return put(text, len, at, t->n, s, strlen(s));
  }
  default: { /* another token, mostly of the same kind */
    const struct token *o = &f->pool[next(f, f->npool)];
    for (int i = 0; i < 50 && o->kind != t->kind; i++) o = &f->pool[next(f, f->npool)];
    return put(text, len, at, t->n, o->s, o->n);
  }
  }
}

static size_t mutate_line(struct fuzz *f, char *text, size_t len) {
  size_t end, at = line_at(text, len, next(f, len), &end);
  char line[1024];
  if (end - at > sizeof line) return len;
  memcpy(line, text + at, end - at);
  switch (next(f, 4)) {
  case 0: return put(text, len, at, end - at, "", 0);
  case 1: return put(text, len, at, 0, line, end - at);
  case 2: {
    size_t to_end, to = line_at(text, len, next(f, len), &to_end);
    return put(text, len, to, 0, line, end - at);
  }
  default: { /* a line of another file, at the same depth */
    const struct corpus_file *o = &f->file[next(f, f->nfiles)];
    size_t o_end, o_at = line_at(o->text, o->len, next(f, o->len), &o_end);
    while (o_at < o_end && o->text[o_at] == ' ') o_at++;
    size_t indent = 0;
    while (at + indent < end && text[at + indent] == ' ') indent++;
    return put(text, len, at + indent, end - at - indent, o->text + o_at, o_end - o_at);
  }
  }
}

static size_t mutate(struct fuzz *f, char *text, size_t len) {
  for (uint64_t n = next(f, 3) ? 1 : 1 + next(f, 4); n > 0 && len; n--) { /* one change leaves the rest of a spec alive */
    uint64_t what = next(f, 20);
    if (what == 0)
      text[next(f, len)] = (char)next(f, 256);
    else if (what < 5)
      len = mutate_line(f, text, len);
    else
      len = mutate_token(f, text, len);
  }
  return len;
}

static void too_slow(int signal) {
  static const char message[] = "a compile does not end: gen_fuzz.yaml\n";
  (void)signal;
  if (write(STDERR_FILENO, message, sizeof message - 1)) _exit(1);
  _exit(1);
}

/* The contract of ws_compile. */
static bool compile(const char *text, size_t len, size_t *accepted) {
  struct ws_arena a = {0};
  struct ws_diags d = {0};
  struct ws_source src = {.path = last_input, .text = text, .len = len};
  struct ws_compile_options opt = {.stage = WS_STAGE_PTX};
  bool oom;
  alarm(SECONDS);
  struct ws_compiled *c = ws_compile(&src, &opt, &a, &d, &oom);
  alarm(0);
  bool good = oom ? c == NULL : (c == NULL) == (d.errors > 0);
  if (c && (!c->n || !c->kernels[0].ptx || strlen(c->kernels[0].ptx) != c->kernels[0].ptx_len)) good = false;
  if (!good) fprintf(stderr, "result and errors disagree: %s\n", last_input);
  if (a.total > max_bytes) good = fprintf(stderr, "%zu MiB for one compile: %s\n", a.total >> 20, last_input) < 0;
  *accepted += c != NULL;
  ws_arena_free(&a);
  return good;
}

static bool save(const char *text, size_t len) {
  FILE *f = fopen(last_input, "wb");
  if (!f) return false;
  bool good = fwrite(text, 1, len, f) == len;
  return fclose(f) == 0 && good;
}

int main(int argc, char **argv) {
  static struct fuzz f;
  static char text[MAX_TEXT];
  static struct corpus_file files[256];
  if (argc < 4 || argc - 3 > 256) return fprintf(stderr, "usage: gen_fuzz COUNT SEED FILE...\n"), 2;
  f.file = files;
  for (int i = 3; i < argc; i++) {
    files[f.nfiles] = corpus_read(argv[i]);
    if (files[f.nfiles].len >= MAX_TEXT / 2) return fprintf(stderr, "%s is too long\n", argv[i]), 1;
    f.npool += split(files[f.nfiles].text, files[f.nfiles].len, f.pool + f.npool, MAX_TOKENS - f.npool);
    f.nfiles++;
  }
  signal(SIGALRM, too_slow);
  unsigned long count = strtoul(argv[1], NULL, 10), seed = strtoul(argv[2], NULL, 10);
  size_t accepted = 0;
  for (unsigned long i = 0; i < count; i++) {
    f.state = (seed * 1000003u + i) * 2654435769u + 1;
    for (int k = 0; k < 8; k++) next(&f, 2);
    const struct corpus_file *from = &files[next(&f, f.nfiles)];
    memcpy(text, from->text, from->len);
    size_t len = mutate(&f, text, from->len);
    if (!save(text, len)) return fprintf(stderr, "%s: cannot be written\n", last_input), 1;
    if (!compile(text, len, &accepted)) return fprintf(stderr, "seed %lu, mutation %lu of %s\n", seed, i, from->path), 1;
  }
  printf("%lu mutated specs, %zu of them still kernels\n", count, accepted);
  for (size_t i = 0; i < f.nfiles; i++) free(files[i].text);
  return accepted == 0; /* mutations that break everything would test the reader only */
}
