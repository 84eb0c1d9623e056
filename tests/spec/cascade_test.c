/* cascade_test DIR: one mistake, one error. Makes a dozen common mistakes on the lines of each file, one at a time,
 * and counts the errors. Some give none (a deleted word may leave a right spec); hardly any may give two. */
#include "files.h"
#include "spec/syntax.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

/* Each edits s in place (room for a few more bytes) and says whether it did. */
static bool drop_first(char *s, const char *what) {
  char *p = strstr(s, what);
  if (p) memmove(p, p + strlen(what), strlen(p + strlen(what)) + 1);
  return p != NULL;
}

static bool no_colon(char *s) { /* the one that opens a block */
  size_t n = strlen(s);
  char *comment = strstr(s, " #");
  if (comment) n = (size_t)(comment - s);
  while (n && s[n - 1] == ' ') n--;
  if (!n || s[n - 1] != ':') return false;
  memmove(s + n - 1, s + n, strlen(s + n) + 1);
  return true;
}

static bool no_paren(char *s) { return drop_first(s, ")") || drop_first(s, "]"); }
static bool no_brace(char *s) { return drop_first(s, "}"); }
static bool no_dash(char *s) { return drop_first(s, "- "); }
static bool no_arrow(char *s) { return drop_first(s, "->"); }
static bool shallower(char *s) { return s[0] == ' ' && drop_first(s, "  "); }

static bool deeper(char *s) {
  memmove(s + 2, s, strlen(s) + 1);
  memcpy(s, "  ", 2);
  return true;
}

static bool quote_behind(char *s) { return strcat(s, "\"") != NULL; }

static bool quote_before(char *s) {
  char *p = strstr(s, "- ");
  if (!p) return false;
  memmove(p + 3, p + 2, strlen(p + 2) + 1);
  p[2] = '"';
  return true;
}

static bool colon_for_equals(char *s) {
  char *p = strstr(s, " = ");
  if (p) memcpy(p, ": ", 2), drop_first(p + 2, " ");
  return p != NULL;
}

static bool swapped_letters(char *s) {
  for (; *s; s++)
    if (islower((unsigned char)s[0]) && islower((unsigned char)s[1]) && s[0] != s[1]) {
      char c = s[0];
      s[0] = s[1];
      s[1] = c;
      return true;
    }
  return false;
}

static bool strange(char *s) { return strcat(s, " x") != NULL; }

static const struct { const char *name; bool (*make)(char *); } mistakes[] = {
    {"a block's colon is missing", no_colon}, {"a bracket is not closed", no_paren}, {"a brace is not closed", no_brace},
    {"a dash is missing", no_dash},           {"an arrow is missing", no_arrow},     {"a line is shallower", shallower},
    {"a line is deeper", deeper},             {"a quote too much behind", quote_behind}, {"a quote too much before", quote_before},
    {": for =", colon_for_equals},            {"two letters are swapped", swapped_letters}, {"a strange end", strange},
};

static size_t errors_of(const char *text, size_t len) {
  struct ws_arena a = {0};
  if (setjmp(a.oom)) return 1000;
  struct ws_source src = {"x.yaml", text, len};
  struct ws_diags d = {.arena = &a, .source = &src};
  (void)ws_spec_read(&src, &a, &d);
  size_t errors = d.errors;
  ws_arena_free(&a);
  return errors;
}

struct count { size_t none, one, more; };

static void one_file(const char *path, char *text, size_t len, struct count *count) {
  char *mutant = malloc(len + 16), line[LINE + 16];
  size_t number = 1;
  for (char *p = text, *end; p < text + len; p = end + 1, number++) {
    end = memchr(p, '\n', (size_t)(text + len - p));
    if (!end) break;
    size_t n = (size_t)(end - p), before = (size_t)(p - text), after = len - before - n;
    bool comment = p[strspn(p, " ")] == '#' || p[strspn(p, " ")] == '\n';
    for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes && n < LINE && !comment; m++) {
      memcpy(line, p, n);
      line[n] = 0;
      if ((number + m) % 3 || !mistakes[m].make(line)) continue; /* a third of them is enough */
      size_t k = strlen(line);
      memcpy(mutant, text, before);
      memcpy(mutant + before, line, k);
      memcpy(mutant + before + k, end, after);
      size_t errors = errors_of(mutant, before + k + after);
      count->none += errors == 0;
      count->one += errors == 1;
      count->more += errors > 1;
      if (errors > 1 && count->more <= 60) printf("%s:%zu: %s: %zu errors\n", base_name(path), number, mistakes[m].name, errors);
    }
  }
  free(mutant);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  size_t n;
  struct count count = {0};
  char **files = list_files(argv[1], ".yaml", &n);
  for (size_t i = 0; i < n; i++) {
    size_t len;
    char *text = read_file(files[i], &len);
    if (text) one_file(files[i], text, len, &count);
    free(text);
  }
  free_files(files, n);
  printf("%zu mistakes without an error, %zu with one, %zu with more\n", count.none, count.one, count.more);
  return !(count.one > 3000 && count.more * 250 <= count.one && count.none * 4 <= count.one);
}
