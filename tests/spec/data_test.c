/* Runs the data folders:
 *
 *   data_test good DIR            every NAME.yaml reads without an error, and its canonical text reads as the same tree;
 *                                 beside NAME.tree, the tree with all positions is exactly that text
 *   data_test bad DIR             every NAME.yaml is refused with exactly the diagnostics of NAME.err
 *   data_test ... --update        rewrites NAME.tree where it exists, and every NAME.err: read the difference before a commit
 *
 * The messages carry the file's name without its folder. */
#include "dump.h"
#include "files.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool update;
static int failures;

static void fail(const char *path, const char *what) {
  printf("FAIL %s: %s\n", path, what);
  failures++;
}

static char *with_ending(const char *path, const char *ending) {
  size_t stem = strlen(path) - strlen(".yaml"), size = stem + strlen(ending) + 1;
  char *s = malloc(size);
  snprintf(s, size, "%.*s%s", (int)stem, path, ending);
  return s;
}

/* Compares text with the file beside path, or rewrites it. */
static void compare(const char *path, const char *ending, const char *text) {
  char *other = with_ending(path, ending);
  size_t len;
  char *expected = read_file(other, &len);
  if (update) {
    if ((!expected || strcmp(expected, text)) && write_file(other, text, strlen(text))) fail(other, "cannot be written");
  } else if (!expected) fail(other, "is missing: run with --update and read it");
  else if (strcmp(expected, text)) {
    fail(path, "differs");
    printf("--- expected\n%s--- found\n%s---\n", expected, text);
  }
  free(expected);
  free(other);
}

static bool exists(const char *path, const char *ending) {
  char *other = with_ending(path, ending);
  FILE *f = fopen(other, "rb");
  free(other);
  if (f) fclose(f);
  return f != NULL;
}

static const char *dump(const struct ws_spec *s, bool positions, struct ws_arena *a) {
  struct ws_buf out = {.arena = a};
  dump_spec(s, positions, &out);
  return out.s;
}

static struct ws_spec *read_text(const char *path, const char *text, size_t len, struct ws_arena *a, struct ws_diags *d) {
  struct ws_source *src = WS_NEW(a, struct ws_source);
  *src = (struct ws_source){base_name(path), text, len};
  *d = (struct ws_diags){.arena = a, .source = src};
  return ws_spec_read(src, a, d);
}

static void good(const char *path, const char *text, size_t len, struct ws_arena *a) {
  struct ws_diags d;
  struct ws_buf message = {.arena = a}, once = {.arena = a}, twice = {.arena = a};
  struct ws_spec *s = read_text(path, text, len, a, &d);
  ws_diags_print(&d, &message);
  if (!s || d.errors || d.n) {
    fail(path, message.s ? message.s : "no tree");
    return;
  }
  if (exists(path, ".tree")) compare(path, ".tree", dump(s, true, a));
  ws_spec_print(s, &once);
  struct ws_spec *again = read_text(path, once.s, once.n, a, &d);
  ws_diags_print(&d, &message);
  if (!again || d.errors) {
    fail(path, "its canonical text is refused");
    printf("%s%s", once.s, message.s);
    return;
  }
  if (strcmp(dump(s, false, a), dump(again, false, a))) fail(path, "its canonical text reads as another tree");
  ws_spec_print(again, &twice);
  if (strcmp(once.s, twice.s)) fail(path, "printing twice gives two texts");
}

/* The JSON form holds the same findings. */
static void check_json(const char *path, const struct ws_diags *d, struct ws_arena *a) {
  struct ws_buf out = {.arena = a};
  json_error_t error;
  ws_diags_json(d, &out);
  json_t *j = json_loads(out.s, 0, &error);
  size_t i, groups = 0, k = 0;
  json_t *x;
  for (size_t n = 0; n < d->n; n++) groups += d->list[n].severity != WS_NOTE;
  if (!j || json_array_size(j) != groups) fail(path, "its JSON diagnostics are malformed");
  json_array_foreach(j, i, x) {
    while (k < d->n && d->list[k].severity == WS_NOTE) k++;
    if (json_integer_value(json_object_get(x, "line")) != d->list[k].pos.line || strcmp(json_string_value(json_object_get(x, "code")), d->list[k].code) ||
        json_integer_value(json_object_get(x, "column")) != d->list[k].pos.col)
      fail(path, "its JSON diagnostics differ from the text");
    k++;
  }
  json_decref(j);
}

static void bad(const char *path, const char *text, size_t len, struct ws_arena *a) {
  struct ws_diags d;
  struct ws_buf message = {.arena = a};
  struct ws_spec *s = read_text(path, text, len, a, &d);
  ws_diags_print(&d, &message);
  if (!d.errors) fail(path, "is accepted");
  (void)s;
  if (message.s) compare(path, ".err", message.s);
  check_json(path, &d, a);
}

static void one_file(const char *path, const char *text, size_t len, bool expect_good) {
  struct ws_arena a = {0};
  if (setjmp(a.oom)) fail(path, "no memory");
  else if (expect_good) good(path, text, len, &a);
  else bad(path, text, len, &a);
  ws_arena_free(&a);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  update = argc > 3 && !strcmp(argv[3], "--update");
  size_t n, done = 0;
  char **files = list_files(argv[2], ".yaml", &n);
  for (size_t i = 0; i < n; i++) {
    size_t len;
    char *text = read_file(files[i], &len);
    if (text) one_file(files[i], text, len, !strcmp(argv[1], "good"));
    else fail(files[i], "cannot be read");
    free(text);
    done++;
  }
  free_files(files, n);
  printf("%zu files, %d failures\n", done, failures);
  return failures || !done;
}
