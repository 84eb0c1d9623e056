/* gen/base/diag: order, carets, suggestions, the two forms. */
#include "base/diag.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
  struct ws_arena a;
  struct ws_source src;
  struct ws_diags d;
};

static void begin(struct fixture *f, const char *text) {
  memset(f, 0, sizeof *f);
  f->src = (struct ws_source){"x.yaml", text, strlen(text)};
  f->d = (struct ws_diags){.arena = &f->a, .source = &f->src};
}

static const char *printed(struct fixture *f) {
  struct ws_buf out = {.arena = &f->a};
  ws_diags_print(&f->d, &out);
  return out.s ? out.s : "";
}

static struct ws_pos at(uint32_t line, uint32_t col, uint32_t len) { return (struct ws_pos){line, col, len}; }

static void sorted_groups(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, "one\ntwo\nthree\n");
  if (setjmp(f.a.oom)) fail();
  ws_error(&f.d, at(3, 1, 5), "c", "third");
  ws_note(&f.d, at(1, 2, 0), "of the third");
  ws_note(&f.d, at(2, 1, 1), "also");
  ws_note(&f.d, at(2, 1, 1), "also");
  ws_warning(&f.d, at(1, 1, 3), "a", "first");
  ws_error(&f.d, at(2, 2, 2), "b", "second %d", 7);
  ws_error(&f.d, at(2, 2, 2), "b", "second %d", 7);
  ws_note(&f.d, at(1, 1, 0), "of a finding that is there already");
  ws_error(&f.d, at(2, 2, 2), "b", "second, another");
  ws_error(&f.d, at(0, 0, 0), "f", "the file");
  assert_int_equal(f.d.errors, 4);
  assert_string_equal(printed(&f), "x.yaml: error: the file\n"
                                   "x.yaml:1:1: warning: first\n"
                                   "    1 | one\n"
                                   "      | ^~~\n"
                                   "x.yaml:2:2: error: second 7\n"
                                   "    2 | two\n"
                                   "      |  ^~\n"
                                   "x.yaml:2:2: error: second, another\n"
                                   "    2 | two\n"
                                   "      |  ^~\n"
                                   "x.yaml:3:1: error: third\n"
                                   "    3 | three\n"
                                   "      | ^~~~~\n"
                                   "x.yaml:1:2: note: of the third\n"
                                   "    1 | one\n"
                                   "      |  ^\n"
                                   "x.yaml:2:1: note: also\n"
                                   "    2 | two\n"
                                   "      | ^\n");
  ws_arena_free(&f.a);
}

static void carets(void **state) {
  (void)state;
  struct fixture f;
  /* a tab reaches to column 9; e with an accent is 2 bytes and 1 wide, the two ideographs 3 bytes and 2 wide each */
  begin(&f, "\tab c\n\xc3\xa9 \xe6\xbc\xa2\xe5\xad\x97 x\nbad \xff\x1b byte\r\nend");
  if (setjmp(f.a.oom)) fail();
  ws_error(&f.d, at(1, 5, 1), "a", "tab");
  ws_error(&f.d, at(2, 4, 6), "b", "wide");
  ws_error(&f.d, at(2, 11, 1), "b", "behind");
  ws_error(&f.d, at(3, 5, 90), "c", "past the end of the line");
  ws_error(&f.d, at(4, 4, 0), "d", "at the end");
  ws_error(&f.d, at(9, 1, 0), "d", "no such line");
  assert_string_equal(printed(&f), "x.yaml:1:5: error: tab\n"
                                   "    1 |         ab c\n"
                                   "      |            ^\n"
                                   "x.yaml:2:4: error: wide\n"
                                   "    2 | \xc3\xa9 \xe6\xbc\xa2\xe5\xad\x97 x\n"
                                   "      |   ^~~~\n"
                                   "x.yaml:2:11: error: behind\n"
                                   "    2 | \xc3\xa9 \xe6\xbc\xa2\xe5\xad\x97 x\n"
                                   "      |        ^\n"
                                   "x.yaml:3:5: error: past the end of the line\n"
                                   "    3 | bad ?? byte\n"
                                   "      |     ^~~~~~~\n"
                                   "x.yaml:4:4: error: at the end\n"
                                   "    4 | end\n"
                                   "      |    ^\n"
                                   "x.yaml:9:1: error: no such line\n");
  ws_arena_free(&f.a);
}

static void long_line(void **state) {
  (void)state;
  struct fixture f;
  char text[1001];
  for (int i = 0; i < 1000; i++) text[i] = (char)('a' + i % 26);
  text[1000] = 0;
  begin(&f, text);
  if (setjmp(f.a.oom)) fail();
  ws_error(&f.d, at(1, 521, 3), "a", "far");
  const char *s = printed(&f), *line = strchr(s, '\n') + 1, *caret = strchr(line, '\n') + 1;
  const char *c = strchr(caret, '^');
  assert_non_null(c);
  assert_true(strlen(line) < 300);
  assert_int_equal(line[c - caret], text[520]);
  assert_int_equal(strncmp(c, "^~~\n", 4), 0);
  ws_arena_free(&f.a);
}

static void flood(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, "x\n");
  if (setjmp(f.a.oom)) fail();
  for (uint32_t i = 0; i < 100000; i++) ws_error(&f.d, at(1, i + 1, 1), "a", "number %u", i);
  assert_int_equal(f.d.errors, 100000);
  assert_true(f.d.n <= 1000);
  assert_non_null(strstr(printed(&f), "99800 more findings are not shown\n"));
  ws_arena_free(&f.a);
}

static void json(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, "x\n");
  if (setjmp(f.a.oom)) fail();
  struct ws_buf none = {.arena = &f.a}, out = {.arena = &f.a};
  ws_diags_json(&f.d, &none);
  assert_string_equal(none.s, "[]\n");
  ws_error(&f.d, at(1, 1, 1), "quote", "a \"quote\" \\ \n \x01 \xff \xc3\xa9");
  ws_note(&f.d, at(1, 2, 0), "more");
  ws_warning(&f.d, at(1, 1, 1), "w", "careful");
  ws_diags_json(&f.d, &out);
  json_t *j = json_loads(out.s, 0, NULL), *e = json_array_get(j, 0);
  assert_int_equal(json_array_size(j), 2);
  assert_string_equal(json_string_value(json_object_get(e, "message")), "a \"quote\" \\ \n \x01 \xef\xbf\xbd \xc3\xa9");
  assert_string_equal(json_string_value(json_object_get(e, "severity")), "error");
  assert_string_equal(json_string_value(json_object_get(e, "code")), "quote");
  assert_string_equal(json_string_value(json_object_get(e, "file")), "x.yaml");
  assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(e, "notes"), 0), "message")), "more");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(e, "notes"), 0), "column")), 2);
  json_decref(j);
  ws_arena_free(&f.a);
}

static json_t *at_path(json_t *j, const char *path) {
  char word[64];
  for (; j && *path; path += strcspn(path, "/"), path += *path == '/') {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(path, "/"), path);
    j = json_is_array(j) ? json_array_get(j, strtoul(word, NULL, 10)) : json_object_get(j, word);
  }
  assert_non_null(j);
  return j;
}

/* What SARIF 2.1.0 requires: version, runs, tool.driver.name, results with message.text; columns in characters; a URI. */
static void sarif(void **state) {
  (void)state;
  struct fixture f;
  begin(&f, "\xc3\xa4 = b\n");
  if (setjmp(f.a.oom)) fail();
  struct ws_buf none = {.arena = &f.a}, out = {.arena = &f.a};
  ws_diags_sarif(&f.d, "1.2", &none);
  json_t *j = json_loads(none.s, 0, NULL);
  assert_int_equal(json_array_size(at_path(j, "runs/0/results")), 0);
  json_decref(j);
  f.src.path = "a b.yaml";
  ws_error(&f.d, at(1, 6, 1), "quote", "no \"b\"");
  ws_note(&f.d, at(1, 1, 2), "there");
  ws_note(&f.d, at(0, 0, 0), "so");
  ws_warning(&f.d, at(0, 0, 0), "w", "careful");
  ws_diags_sarif(&f.d, "1.2", &out);
  j = json_loads(out.s, 0, NULL);
  assert_string_equal(json_string_value(at_path(j, "version")), "2.1.0");
  assert_string_equal(json_string_value(at_path(j, "runs/0/tool/driver/name")), "warpscore");
  assert_string_equal(json_string_value(at_path(j, "runs/0/tool/driver/rules/1/id")), "quote");
  assert_string_equal(json_string_value(at_path(j, "runs/0/results/0/level")), "warning");
  assert_null(json_object_get(at_path(j, "runs/0/results/0/locations/0/physicalLocation"), "region"));
  json_t *e = at_path(j, "runs/0/results/1"), *where = at_path(e, "locations/0/physicalLocation");
  assert_string_equal(json_string_value(at_path(e, "ruleId")), "quote");
  assert_string_equal(json_string_value(at_path(e, "message/text")), "no \"b\"\nso");
  assert_string_equal(json_string_value(at_path(where, "artifactLocation/uri")), "a%20b.yaml");
  assert_int_equal(json_integer_value(at_path(where, "region/startLine")), 1);
  assert_int_equal(json_integer_value(at_path(where, "region/startColumn")), 5);
  assert_int_equal(json_integer_value(at_path(where, "region/endColumn")), 6);
  assert_string_equal(json_string_value(at_path(e, "relatedLocations/0/message/text")), "there");
  json_decref(j);
  ws_arena_free(&f.a);
}

static void nearest(void **state) {
  (void)state;
  static const char *const names[] = {"load", "store", "reduce", "release", "Q", "head_dim", "K", NULL};
  size_t n = sizeof names / sizeof *names;
  assert_string_equal(ws_nearest("laod", names, n), "load");     /* transposed */
  assert_string_equal(ws_nearest("lod", names, n), "load");      /* missing */
  assert_string_equal(ws_nearest("stores", names, n), "store");  /* one more */
  assert_string_equal(ws_nearest("relaese", names, n), "release");
  assert_string_equal(ws_nearest("LOAD", names, n), "load");
  assert_string_equal(ws_nearest("q", names, n), "Q");           /* case alone */
  assert_string_equal(ws_nearest("headdim", names, n), "head_dim");
  assert_null(ws_nearest("x", names, n));                        /* one letter for another is no likeness */
  assert_null(ws_nearest("frobnicate", names, n));
  assert_null(ws_nearest("", names, n));
  char longer[200];
  memset(longer, 'a', sizeof longer - 1);
  longer[199] = 0;
  assert_null(ws_nearest(longer, names, n));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorted_groups), cmocka_unit_test(carets), cmocka_unit_test(long_line),
      cmocka_unit_test(flood),         cmocka_unit_test(json),   cmocka_unit_test(sarif),
      cmocka_unit_test(nearest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
