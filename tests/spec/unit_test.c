/* What does not fit into a data file: limits, single expressions, time. */
#include "dump.h"
#include "spec/syntax.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The expression's canonical text, or the first message. */
static const char *parsed(const char *text, struct ws_arena *a) {
  struct ws_source src = {"-D", text, strlen(text)};
  struct ws_diags d = {.arena = a, .source = &src};
  struct ws_buf out = {.arena = a};
  struct ws_expr *e = ws_spec_parse_expr(text, a, &d);
  assert_int_equal(e == NULL, d.errors > 0);
  if (e) ws_expr_print(e, &out);
  return e ? out.s : ws_fmt(a, "%u: %s", d.list[0].pos.col, d.list[0].message);
}

static void expressions(void **state) {
  (void)state;
  struct ws_arena a = {0};
  if (setjmp(a.oom)) fail();
  static const char *const same[] = {
      "1", "1.5", "inf", "-inf", "--1", "a", "a + b - c", "a - (b - c)", "a * b / c % d", "a / (b * c)", "(a + b) * c", "-a * b", "-(a + b)", "not a", "not not a",
      "not (a and b)", "a and b or c", "a and (b or c)", "(a or b) and c", "a < b", "(a < b) == c", "a if b else c", "a if b else c if d else e", "(a if b else c) if d else e",
      "a if (b if c else d) else e", "(a if b else c) + 1", "f()", "f(a, b)", "k[t, j]", "S[i].cols(0..95).T", "P.rows(i of n)", "P.rows(2 * i + w of 4)", "kv(t).at(s)", "(a + b).T", "(3).T",
      "t.batch", "(not a) + 1", "a + -b", "-a.T", "(-a).T", "f(a if b else c)", "x.cols(a if b else c..d)", "true", "9007199254740992", "1e+300", "0.1", "1e-07",
  };
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) assert_string_equal(parsed(same[i], &a), same[i]);
  static const char *const other[][2] = {
      {"((a))", "a"}, {"a+b*c", "a + b * c"}, {"0 .. 3", "1: "}, {"010", "10"}, {"1e3", "1000.0"}, {"1E2", "100.0"}, {"(a*b)+(c)", "a * b + c"}, {"- - 1", "--1"},
      {"a if b else (c if d else e)", "a if b else c if d else e"}, {"\ta", "1: "}, {"x.cols(0..3)", "x.cols(0..3)"}, {"x.cols(0.5..3.)", "14: "},
  };
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    const char *got = parsed(other[i][0], &a), *want = other[i][1];
    if (strchr(want, ':')) assert_non_null(strchr(got, ':'));
    else assert_string_equal(got, want);
  }
  ws_arena_free(&a);
}

static void positions(void **state) {
  (void)state;
  struct ws_arena a = {0};
  if (setjmp(a.oom)) fail();
  const char *text = "  (a + bb) * f(x, -y)[1].T";
  struct ws_source src = {"-D", text, strlen(text)};
  struct ws_diags d = {.arena = &a, .source = &src};
  struct ws_expr *e = ws_spec_parse_expr(text, &a, &d);
  assert_non_null(e);
  assert_int_equal(e->pos.col, 3);
  assert_int_equal(e->pos.len, strlen(text) - 2);
  assert_int_equal(e->arg[0]->pos.col, 3); /* with its parentheses */
  assert_int_equal(e->arg[0]->pos.len, 8);
  assert_int_equal(e->arg[0]->arg[1]->pos.col, 8);
  assert_int_equal(e->arg[0]->arg[1]->pos.len, 2);
  assert_int_equal(e->arg[1]->kind, WS_E_ATTR);
  assert_int_equal(e->arg[1]->pos.col, 14);
  assert_int_equal(e->arg[1]->name_pos.col, 26);
  assert_int_equal(e->arg[1]->arg[0]->arg[0]->arg[1]->pos.col, 19);
  assert_int_equal(e->arg[1]->arg[0]->arg[0]->arg[1]->pos.len, 2);
  ws_arena_free(&a);
}

static void numbers(void **state) {
  (void)state;
  struct ws_arena a = {0};
  if (setjmp(a.oom)) fail();
  static const struct { const char *text; double value; bool is_int; } cases[] = {
      {"0", 0, true}, {"010", 10, true}, {"0.1", 0.1, false}, {"8.0", 8, false}, {"1e3", 1000, false}, {"2.5e-3", 0.0025, false}, {"1E+2", 100, false}, {"inf", INFINITY, false}, {"9007199254740992", 9007199254740992.0, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ws_source src = {"-D", cases[i].text, strlen(cases[i].text)};
    struct ws_diags d = {.arena = &a, .source = &src};
    struct ws_expr *e = ws_spec_parse_expr(cases[i].text, &a, &d);
    assert_non_null(e);
    assert_int_equal(e->kind, WS_E_NUMBER);
    assert_true(e->number == cases[i].value);
    assert_int_equal(e->is_int, cases[i].is_int);
  }
  static const char *const refused[] = {"", "9007199254740993", "1e999", "3x", "1.", "0x10", "1_000", ".5", "1.2.3", "--", "1e", "00000000000000000000000000000000000000000001"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const char *got = parsed(refused[i], &a);
    assert_true(got[0] >= '0' && got[0] <= '9' && strstr(got, ": "));
  }
  ws_arena_free(&a);
}

static const char *const head = "schedule: s\ntarget: sm_80\nproblem: p\nwork:\n  tile: {queries: 1}\nroles:\n  all: {warps: 4}\nprograms:\n  all:\n";

static struct ws_spec *read_text(const char *text, size_t len, struct ws_arena *a, struct ws_diags *d, struct ws_source *src) {
  *src = (struct ws_source){"x.yaml", text, len};
  *d = (struct ws_diags){.arena = a, .source = src};
  return ws_spec_read(src, a, d);
}

/* head, then `before` n times, middle, `after` n times; read, with the number of errors. */
static size_t repeated(const char *before, const char *middle, const char *after, size_t n, const char *expected) {
  struct ws_arena a = {0};
  struct ws_diags d;
  struct ws_source src;
  if (setjmp(a.oom)) fail();
  struct ws_buf text = {.arena = &a};
  ws_buf_puts(&text, head);
  for (size_t i = 0; i < n; i++) ws_buf_puts(&text, before);
  ws_buf_puts(&text, middle);
  for (size_t i = 0; i < n; i++) ws_buf_puts(&text, after);
  ws_buf_puts(&text, "\n");
  (void)read_text(text.s, text.n, &a, &d, &src);
  size_t errors = d.errors;
  if (expected) {
    assert_true(d.n > 0);
    if (!strstr(d.list[0].message, expected)) fail_msg("%s", d.list[0].message);
  }
  ws_arena_free(&a);
  return errors;
}

static void depth(void **state) {
  (void)state;
  assert_int_equal(repeated("", "    - x = 1", "", 0, NULL), 0);
  assert_int_equal(repeated("", "    - x = (((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))", "", 0, NULL), 0);
  assert_int_equal(repeated("", "    - x = 1", " + 1", 90, NULL), 0);
  assert_int_equal(repeated("", "    - x = 1", " + 1", 100000, "more than 100 levels"), 1);
  assert_int_equal(repeated("", "    - x = b", ".a", 100000, "more than 100 levels"), 1);
  assert_int_equal(repeated("", "    - x = 1", " if 1 else 1", 50000, "more than 100 levels"), 1);
  assert_int_equal(repeated("", "    - x = ----------------------------------------------------------------------------------------------------------1", "", 0, "more than 100 levels"), 1);
  assert_int_equal(repeated("    - x = (\n", "", "", 20000, "expected"), 20000);
  assert_true(repeated("", "    - ", "[", 100000, NULL) >= 1);
  assert_true(repeated("", "    - ", "- ", 100000, NULL) >= 1);
  assert_true(repeated("", "    ", "{a: ", 100000, NULL) >= 1);
}

static void nested_blocks(void **state) {
  (void)state;
  struct ws_arena a = {0};
  struct ws_diags d;
  struct ws_source src;
  if (setjmp(a.oom)) fail();
  for (int levels = 40; levels <= 400; levels += 360) {
    struct ws_buf text = {.arena = &a};
    ws_buf_puts(&text, head);
    for (int i = 0; i < levels; i++) ws_buf_printf(&text, "%*s- one thread:\n", 4 + 2 * i, "");
    ws_buf_printf(&text, "%*s- sync\n", 4 + 2 * levels, "");
    struct ws_spec *s = read_text(text.s, text.n, &a, &d, &src);
    assert_non_null(s);
    assert_int_equal(d.errors, levels > 49);
    if (levels > 49) assert_non_null(strstr(d.list[0].message, "nested too deep"));
  }
  ws_arena_free(&a);
}

static void sizes(void **state) {
  (void)state;
  struct ws_arena a = {0};
  struct ws_diags d;
  struct ws_source src;
  if (setjmp(a.oom)) fail();
  size_t n = (1 << 20) + 1;
  char *text = malloc(n);
  memset(text, '#', n);
  assert_null(read_text(text, n, &a, &d, &src));
  assert_int_equal(d.errors, 1);
  assert_null(read_text(text, n - 1, &a, &d, &src)); /* a comment only */
  assert_int_equal(d.errors, 1);
  assert_non_null(strstr(d.list[0].message, "empty"));
  free(text);
  assert_null(read_text("", 0, &a, &d, &src));
  assert_int_equal(d.errors, 1);
  assert_null(read_text("a\0b", 3, &a, &d, &src)); /* a zero byte is a character like any other */
  assert_int_equal(d.errors, 1);
  assert_int_equal(repeated("", "    - x = 1", "1", 60, "more than 40"), 1);
  assert_int_equal(repeated("", "    - x", "x", 60, NULL), 1);
  assert_int_equal(repeated("", "    - load k -> x", "x", 70, "more than 64"), 1);
  assert_int_equal(repeated("", "    - if x == y", " and x", 80, "opens a block"), 1);
  struct ws_buf header = {.arena = &a};
  ws_buf_printf(&header, "%s    - if x", head);
  for (int i = 0; i < 80; i++) ws_buf_puts(&header, " and x");
  ws_buf_puts(&header, ":\n        - sync\n");
  assert_non_null(read_text(header.s, header.n, &a, &d, &src));
  assert_int_equal(d.errors, 1);
  assert_non_null(strstr(d.list[0].message, "header of more than 400"));
  ws_arena_free(&a);
}

/* A megabyte of anything is read in a moment: no step may be quadratic. */
static void large_files(void **state) {
  (void)state;
  assert_int_equal(repeated("    - sync\n", "    - sync", "", 90000, NULL), 0);
  assert_int_equal(repeated("    - x =\n", "    - sync", "", 90000, NULL), 90000);
  assert_true(repeated("a: b: c\n", "    - sync", "", 100000, NULL) >= 20);
  assert_true(repeated("    - sync\n", "x: {", "a: 1, ", 100000, NULL) > 0);
  assert_true(repeated("", "    - sync\nbuffers: {", "\"Q\": 1, ", 100000, NULL) > 0);
  assert_true(repeated("", "    - 'x", "\n", 500000, NULL) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions), cmocka_unit_test(positions), cmocka_unit_test(numbers), cmocka_unit_test(depth),
      cmocka_unit_test(nested_blocks), cmocka_unit_test(sizes), cmocka_unit_test(large_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
