/* Expressions as text: single spaces, parentheses only where the grammar needs them. */
#include "spec/syntax.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum level { SELECT, OR, AND, NOT, COMPARE, SUM, TERM, UNARY, POST }; /* of the grammar, loosest first */

static const struct { const char *text; enum level level; } ops[] = {
    [WS_OP_NEG] = {"-", UNARY},  [WS_OP_NOT] = {"not ", NOT},   [WS_OP_ADD] = {" + ", SUM},     [WS_OP_SUB] = {" - ", SUM},
    [WS_OP_MUL] = {" * ", TERM}, [WS_OP_DIV] = {" / ", TERM},   [WS_OP_MOD] = {" % ", TERM},    [WS_OP_EQ] = {" == ", COMPARE},
    [WS_OP_NE] = {" != ", COMPARE}, [WS_OP_LT] = {" < ", COMPARE}, [WS_OP_LE] = {" <= ", COMPARE}, [WS_OP_GT] = {" > ", COMPARE},
    [WS_OP_GE] = {" >= ", COMPARE}, [WS_OP_AND] = {" and ", AND}, [WS_OP_OR] = {" or ", OR},
};

static void number(double x, bool is_int, struct ws_buf *out) {
  char s[40];
  if (isinf(x)) {
    ws_buf_puts(out, x < 0 ? "-inf" : "inf");
    return;
  }
  if (is_int) {
    ws_buf_printf(out, "%.0f", x);
    return;
  }
  for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back as the same number */
    snprintf(s, sizeof s, "%.*g", digits, x);
    if (strtod(s, NULL) == x) break;
  }
  ws_buf_puts(out, s);
  if (!strpbrk(s, ".e")) ws_buf_puts(out, ".0");
}

static void expr(const struct ws_expr *e, enum level least, struct ws_buf *out);

static void list(const struct ws_expr *e, size_t first, const char *open, const char *close, struct ws_buf *out) {
  ws_buf_puts(out, open);
  for (size_t i = first; i < e->n; i++) {
    if (i > first) ws_buf_puts(out, ", ");
    expr(e->arg[i], SELECT, out);
  }
  ws_buf_puts(out, close);
}

static enum level level_of(const struct ws_expr *e) {
  return e->kind == WS_E_SELECT ? SELECT : e->kind == WS_E_UNARY || e->kind == WS_E_BINARY ? ops[e->op].level : POST;
}

static void base(const struct ws_expr *e, struct ws_buf *out) { /* 3.T would read as a number */
  bool paren = e->kind == WS_E_NUMBER;
  if (paren) ws_buf_puts(out, "(");
  expr(e, paren ? SELECT : POST, out);
  if (paren) ws_buf_puts(out, ")");
}

static void pair(const struct ws_expr *e, const char *between, struct ws_buf *out) {
  expr(e->arg[0], SELECT, out);
  ws_buf_puts(out, between);
  expr(e->arg[1], SELECT, out);
}

static void expr(const struct ws_expr *e, enum level least, struct ws_buf *out) {
  enum level level = level_of(e);
  if (level < least) ws_buf_puts(out, "(");
  switch (e->kind) {
    case WS_E_NUMBER: number(e->number, e->is_int, out); break;
    case WS_E_NAME: ws_buf_puts(out, e->name); break;
    case WS_E_CALL:
      ws_buf_puts(out, e->name);
      list(e, 0, "(", ")", out);
      break;
    case WS_E_INDEX:
      base(e->arg[0], out);
      list(e, 1, "[", "]", out);
      break;
    case WS_E_ATTR:
    case WS_E_METHOD:
      base(e->arg[0], out);
      ws_buf_printf(out, ".%s", e->name);
      if (e->kind == WS_E_METHOD) list(e, 1, "(", ")", out);
      break;
    case WS_E_UNARY:
      ws_buf_puts(out, ops[e->op].text);
      expr(e->arg[0], level, out);
      break;
    case WS_E_BINARY: /* left to right; comparisons do not chain */
      expr(e->arg[0], level == COMPARE ? SUM : level, out);
      ws_buf_puts(out, ops[e->op].text);
      expr(e->arg[1], level + 1, out);
      break;
    case WS_E_SELECT:
      expr(e->arg[1], OR, out);
      ws_buf_puts(out, " if ");
      expr(e->arg[0], OR, out);
      ws_buf_puts(out, " else ");
      expr(e->arg[2], SELECT, out);
      break;
    case WS_E_PART: pair(e, " of ", out); break;
    case WS_E_RANGE: pair(e, "..", out); break;
  }
  if (level < least) ws_buf_puts(out, ")");
}

void ws_expr_print(const struct ws_expr *e, struct ws_buf *out) { expr(e, SELECT, out); }
void ws_sum_print(const struct ws_expr *e, struct ws_buf *out) { expr(e, SUM, out); }
