/* spec_fuzz COUNT SEED DIR...: reads COUNT mutants of the files in the folders and checks fuzz_check() on each.
 *
 * Deterministic: the same arguments give the same mutants. A mutant that fails is written to fuzz-failure.yaml. */
#include "files.h"
#include "fuzz_check.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t next(void) { /* splitmix64 */
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static size_t below(size_t n) { return n ? (size_t)(next() % n) : 0; }

static const char *const pieces[] = {
    ": ", ":", "- ", "#", " #", "[", "]", "{", "}", "(", ")", ",", "\n", "\n  ", "\n    - ", " ", "\t", "'", "\"", "|", ">", "&a ", "*a", "!t ", "?", "@", "%", "`",
    "---\n", "...\n", "->", "..", ".", "=", "+=", "==", "<", "0", "1.5", "1e5", "99999999999999999999", "if ", "else:", "elif x:", "- else:\n", "for j in kv(t):", "each i in 0..1:",
    "one thread:", " with chunk=3", " when x", " as [1, 2]", "load ", "wait ", "sync", ".T", ".rows(0 of 2)", ".cols(0..1)", "not ", "and ", "inf", "\r", "\r\n", "\xc3\xa9", "\xff",
    "\xef\xbb\xbf", "\xe2\x80\xa8", "\x01", "stages: 2", "{space: smem}", "((((((((((((", "[[[[[[[[[[[[", "- - - - - - ", "------------", "S[2]", "false", "null", "~",
};

struct text {
  char *s;
  size_t n, cap;
};

/* Replaces t[at, at + drop) by n bytes of s. */
static void splice(struct text *t, size_t at, size_t drop, const char *s, size_t n) {
  if (t->n - drop + n + 1 > t->cap) t->s = realloc(t->s, t->cap = 2 * (t->n + n) + 64);
  memmove(t->s + at + n, t->s + at + drop, t->n - at - drop);
  memcpy(t->s + at, s, n);
  t->n += n - drop;
}

/* The line around a random byte. */
static void pick_line(const struct text *t, size_t *begin, size_t *end) {
  size_t i = below(t->n);
  for (*begin = i; *begin && t->s[*begin - 1] != '\n';) --*begin;
  for (*end = i; *end < t->n && t->s[*end] != '\n';) ++*end;
  if (*end < t->n) ++*end;
}

static void mutate(struct text *t, const struct text *other) {
  size_t begin, end, i = below(t->n + 1), n;
  const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
  char byte = (char)next(), copy[4096];
  switch (t->n ? below(9) : 0) {
    case 0: splice(t, i, 0, piece, strlen(piece)); break;
    case 1: splice(t, i, i < t->n, piece, strlen(piece)); break;
    case 2: splice(t, i, i < t->n, &byte, 1); break;
    case 3:
      n = below(8);
      splice(t, i, i + n <= t->n ? n : t->n - i, "", 0);
      break;
    case 4: /* a line goes */
      pick_line(t, &begin, &end);
      splice(t, begin, end - begin, "", 0);
      break;
    case 5: /* a line comes again, elsewhere */
      pick_line(t, &begin, &end);
      n = end - begin < sizeof copy ? end - begin : sizeof copy;
      memcpy(copy, t->s + begin, n);
      pick_line(t, &begin, &end);
      splice(t, begin, 0, copy, n);
      break;
    case 6: /* indentation */
      pick_line(t, &begin, &end);
      if (below(2)) splice(t, begin, 0, "    ", 1 + below(4));
      else if (end - begin > 3 && !memcmp(t->s + begin, "  ", 2)) splice(t, begin, 1 + below(2), "", 0);
      break;
    case 7: /* a piece of another file */
      pick_line(other, &begin, &end);
      splice(t, i, 0, other->s + begin, end - begin);
      break;
    default:
      if (!below(4)) t->n = i; /* cut */
  }
}

static struct text *load(int argc, char **argv, size_t *n) {
  struct text *t = NULL;
  *n = 0;
  for (int i = 3; i < argc; i++) {
    size_t files;
    char **list = list_files(argv[i], ".yaml", &files);
    for (size_t k = 0; k < files; k++) {
      t = realloc(t, (*n + 1) * sizeof *t);
      t[*n].s = read_file(list[k], &t[*n].n);
      t[*n].cap = t[*n].n;
      *n += t[*n].s != NULL;
    }
    free_files(list, files);
  }
  return t;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  size_t count = strtoull(argv[1], NULL, 10), n, failures = 0;
  state = strtoull(argv[2], NULL, 10);
  struct text *files = load(argc, argv, &n), t = {0};
  for (size_t i = 0; i < count && n && failures < 5; i++) {
    const struct text *from = &files[below(n)];
    splice(&t, 0, t.n, from->s, from->n);
    for (size_t k = below(6) + 1; k; k--) mutate(&t, &files[below(n)]);
    const char *wrong = fuzz_check(t.s, t.n);
    if (!wrong) continue;
    printf("FAIL mutant %zu: %s\n", i, wrong);
    if (!failures++) (void)write_file("fuzz-failure.yaml", t.s, t.n);
  }
  printf("%zu mutants of %zu files, %zu failures\n", count, n, failures);
  for (size_t i = 0; i < n; i++) free(files[i].s);
  free(files);
  free(t.s);
  return failures || !n;
}
