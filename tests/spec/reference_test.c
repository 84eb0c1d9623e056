/* reference_test FILE: every ```yaml example of the language reference reads without an error, and together they show
 * every kind of statement. An example is a whole spec, one section, or a list of statements. */
#include "files.h"
#include "spec/syntax.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = WS_S_FENCE + 1 };

static bool seen[KINDS];

static void see(const struct ws_block *b) {
  for (size_t i = 0; b && i < b->n; i++) {
    const struct ws_stmt *s = b->stmt[i];
    seen[s->kind] = true;
    see(s->body);
    for (size_t k = 0; k < s->nbranches; k++) see(s->branches[k].body);
  }
}

/* Does a line begin with this top-level key? */
static bool has_key(const char *s, size_t n, const char *key) {
  size_t len = strlen(key);
  for (size_t i = 0; i + len < n; i++)
    if ((!i || s[i - 1] == '\n') && !strncmp(s + i, key, len) && s[i + len] == ':') return true;
  return false;
}

/* The example as a whole spec: what it lacks is put around it. */
static void complete(const char *s, size_t n, struct ws_buf *out) {
  static const struct { const char *key, *text; } sections[] = {
      {"schedule", "schedule: example\ntarget: sm_80\nproblem: attention.forward\n"},
      {"work", "work:\n  tile: {queries: 128}\n"},
      {"roles", "roles:\n  all: {warps: 4}\n"},
      {"programs", "programs:\n  all:\n    - sync\n"},
  };
  bool statements = n > 1 && s[0] == '-', whole = n > 9 && !strncmp(s, "schedule:", 9);
  for (size_t i = 0; i < 4 && !whole; i++) {
    if (!has_key(s, n, sections[i].key)) ws_buf_puts(out, sections[i].text);
  }
  for (size_t i = 0; i < n; i++) {
    if (statements && (i == 0 || s[i - 1] == '\n')) ws_buf_puts(out, "    ");
    ws_buf_add(out, s + i, 1);
  }
}

static int check(const char *s, size_t n, unsigned line) {
  struct ws_arena a = {0};
  if (setjmp(a.oom)) return 1;
  struct ws_buf text = {.arena = &a}, message = {.arena = &a};
  complete(s, n, &text);
  struct ws_source src = {ws_fmt(&a, "example of line %u", line), text.s, text.n};
  struct ws_diags d = {.arena = &a, .source = &src};
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  for (size_t i = 0; spec && i < spec->ndocs; i++)
    for (size_t k = 0; k < spec->docs[i].nprograms; k++) see(spec->docs[i].programs[k].body);
  ws_diags_print(&d, &message);
  if (message.s) printf("%s", message.s);
  int failed = !spec || d.errors;
  ws_arena_free(&a);
  return failed;
}

int main(int argc, char **argv) {
  size_t len, examples = 0;
  int failures = 0;
  char *text = argc > 1 ? read_file(argv[1], &len) : NULL;
  if (!text) return 2;
  unsigned line = 1;
  const char *from = text;
  for (char *p = text; (p = strstr(p, "```yaml\n"));) {
    char *begin = p + strlen("```yaml\n"), *end = strstr(begin, "```\n");
    for (; from < begin; from++) line += *from == '\n';
    if (!end) return 1;
    failures += check(begin, (size_t)(end - begin), line);
    examples++;
    p = end + 4;
  }
  for (int k = 0; k < KINDS; k++)
    if (!seen[k]) {
      printf("FAIL: no example of statement kind %d\n", k);
      failures++;
    }
  printf("%zu examples, %d failures\n", examples, failures);
  free(text);
  return failures || examples < 15;
}
