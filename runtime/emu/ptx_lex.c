/* Characters to tokens. PTX ISA "Source Format", "Identifiers", "Constants". */
#include "ptx_lex.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ws_emu_parse_error(struct parser *ps, uint32_t line, uint32_t col, const char *fmt, ...) {
  char msg[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  for (char *c = msg; *c; c++)
    if ((unsigned char)*c < 32 || (unsigned char)*c > 126) *c = '?';
  snprintf(ps->err, ps->err_n, "%u:%u: error: %s", line, col, msg);
  longjmp(ps->fail, 2);
}

static uint32_t column(const struct parser *ps, const char *p) { return (uint32_t)(p - ps->line_start) + 1; }

static int peek(const struct parser *ps, size_t i) {
  return (size_t)(ps->end - ps->p) > i ? (unsigned char)ps->p[i] : 0;
}

static bool is_alpha(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_follow(int c) { return is_alpha(c) || is_digit(c) || c == '_' || c == '$'; }
static int digit_of(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

static void new_line(struct parser *ps) {
  ps->line++;
  ps->line_start = ps->p;
}

static void skip_comment(struct parser *ps) {
  uint32_t line = ps->line, col = column(ps, ps->p);
  ps->p += 2;
  while (!(peek(ps, 0) == '*' && peek(ps, 1) == '/')) {
    if (ps->p >= ps->end) ws_emu_parse_error(ps, line, col, "this comment has no end");
    if (*ps->p++ == '\n') new_line(ps);
  }
  ps->p += 2;
}

static void skip_space(struct parser *ps) {
  for (;;) {
    int c = peek(ps, 0);
    if (c == '\n') {
      ps->p++;
      new_line(ps);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ps->p++;
    } else if ((c == '/' && peek(ps, 1) == '/') || (c == '#' && ps->p == ps->line_start)) {
      while (ps->p < ps->end && *ps->p != '\n') ps->p++;
    } else if (c == '/' && peek(ps, 1) == '*') {
      skip_comment(ps);
    } else {
      return;
    }
  }
}

/* 0f and 0d literals: the bits of the value, exactly 8 or 16 hexadecimal digits. */
static void hex_float(struct parser *ps, struct token *t, int digits) {
  uint64_t v = 0;
  ps->p += 2;
  for (int i = 0; i < digits; i++) {
    int d = digit_of(peek(ps, 0));
    if (d > 15) ws_emu_parse_error(ps, t->line, t->col, "a 0%c literal needs %d hexadecimal digits", t->s[1], digits);
    v = v << 4 | (uint64_t)d;
    ps->p++;
  }
  if (is_follow(peek(ps, 0))) ws_emu_parse_error(ps, t->line, t->col, "a 0%c literal has %d hexadecimal digits", t->s[1], digits);
  t->kind = digits == 8 ? TK_F32 : TK_F64;
  t->value = v;
}

static void decimal_float(struct parser *ps, struct token *t, size_t n) {
  char buf[128];
  if (n >= sizeof buf) ws_emu_parse_error(ps, t->line, t->col, "this number is too long");
  memcpy(buf, ps->p, n);
  buf[n] = 0;
  double d = strtod(buf, NULL);
  memcpy(&t->value, &d, sizeof d);
  t->kind = TK_F64;
  ps->p += n;
}

static bool float_length(struct parser *ps, size_t *n) {
  size_t i = 0;
  bool is_float = false;
  while (is_digit(peek(ps, i))) i++;
  if (peek(ps, i) == '.' && is_digit(peek(ps, i + 1))) {
    is_float = true;
    for (i++; is_digit(peek(ps, i));) i++;
  }
  int c = peek(ps, i);
  if (c == 'e' || c == 'E') {
    size_t j = i + 1;
    if (peek(ps, j) == '+' || peek(ps, j) == '-') j++;
    if (is_digit(peek(ps, j))) {
      is_float = true;
      while (is_digit(peek(ps, j))) j++;
      i = j;
    }
  }
  *n = i;
  return is_float;
}

static void number(struct parser *ps, struct token *t) {
  int c1 = peek(ps, 1), base = 10;
  size_t n;
  if (*ps->p == '0' && (c1 == 'f' || c1 == 'F')) { hex_float(ps, t, 8); return; }
  if (*ps->p == '0' && (c1 == 'd' || c1 == 'D')) { hex_float(ps, t, 16); return; }
  if (*ps->p == '0' && (c1 == 'x' || c1 == 'X')) base = 16;
  else if (*ps->p == '0' && (c1 == 'b' || c1 == 'B')) base = 2;
  else if (float_length(ps, &n)) { decimal_float(ps, t, n); return; }
  else if (*ps->p == '0') base = 8;
  if (base == 16 || base == 2) ps->p += 2;
  const char *start = ps->p;
  uint64_t v = 0;
  for (int d; (d = digit_of(peek(ps, 0))) < base; ps->p++)
    if (__builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)d, &v))
      ws_emu_parse_error(ps, t->line, t->col, "this number does not fit into 64 bits");
  if (ps->p == start) ws_emu_parse_error(ps, t->line, t->col, "a number needs digits");
  t->is_unsigned = v > INT64_MAX;
  if (peek(ps, 0) == 'U') {
    t->is_unsigned = true;
    ps->p++;
  }
  if (is_follow(peek(ps, 0))) ws_emu_parse_error(ps, t->line, t->col, "malformed number");
  t->kind = TK_INT;
  t->value = v;
}

static void string(struct parser *ps, struct token *t) {
  t->s = ++ps->p;
  while (peek(ps, 0) != '"') {
    if (ps->p >= ps->end || *ps->p == '\n') ws_emu_parse_error(ps, t->line, t->col, "this string has no end");
    if (*ps->p == '\\' && ps->end - ps->p > 1 && ps->p[1] != '\n') ps->p++;
    ps->p++;
  }
  t->kind = TK_STRING;
  t->n = (uint32_t)(ps->p++ - t->s);
}

static void punct(struct parser *ps, struct token *t) {
  static const char pairs[][3] = {"==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "::"};
  t->kind = TK_PUNCT;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (*ps->p == pairs[i][0] && peek(ps, 1) == pairs[i][1]) {
      t->value = (uint64_t)pairs[i][0] << 8 | (uint64_t)pairs[i][1];
      ps->p += 2;
      return;
    }
  if (!strchr("{}()[]<>,;:=+-*/%&|^~!?@", *ps->p))
    ws_emu_parse_error(ps, t->line, t->col, "unexpected character 0x%02x", (unsigned char)*ps->p);
  t->value = (unsigned char)*ps->p++;
}

void ws_emu_next(struct parser *ps) {
  skip_space(ps);
  struct token *t = &ps->t;
  *t = (struct token){.kind = TK_EOF, .s = ps->p, .line = ps->line, .col = column(ps, ps->p)};
  if (ps->p >= ps->end || !*ps->p) {
    ps->p = ps->end;
    return;
  }
  int c = *ps->p, c1 = peek(ps, 1);
  if (is_alpha(c) || ((c == '_' || c == '$' || c == '%') && is_follow(c1)) || c == '_') {
    ps->p++;
    while (is_follow(peek(ps, 0))) ps->p++;
    t->kind = TK_IDENT;
  } else if (c == '.' && (is_alpha(c1) || c1 == '_')) {
    ps->p++;
    while (is_follow(peek(ps, 0)) || (peek(ps, 0) == ':' && peek(ps, 1) == ':' && is_alpha(peek(ps, 2))))
      ps->p += *ps->p == ':' ? 2 : 1;
    t->kind = TK_DIRECTIVE;
  } else if (is_digit(c) || (c == '.' && is_digit(c1))) {
    number(ps, t);
  } else if (c == '"') {
    string(ps, t);
    return;
  } else {
    punct(ps, t);
  }
  t->n = (uint32_t)(ps->p - t->s);
}

void ws_emu_mnemonic(struct parser *ps) {
  while (peek(ps, 0) == '.' && is_follow(peek(ps, 1))) {
    ps->p++;
    while (is_follow(peek(ps, 0)) || (peek(ps, 0) == ':' && peek(ps, 1) == ':' && is_follow(peek(ps, 2))))
      ps->p += *ps->p == ':' ? 2 : 1;
  }
  ps->t.n = (uint32_t)(ps->p - ps->t.s);
}

bool ws_emu_is(const struct parser *ps, const char *text) {
  const struct token *t = &ps->t;
  size_t n = strlen(text);
  return t->kind != TK_EOF && t->kind != TK_STRING && t->n == n && !memcmp(t->s, text, n);
}

bool ws_emu_accept(struct parser *ps, const char *text) {
  if (!ws_emu_is(ps, text)) return false;
  ws_emu_next(ps);
  return true;
}

void ws_emu_expect(struct parser *ps, const char *text) {
  if (ws_emu_accept(ps, text)) return;
  const struct token *t = &ps->t;
  if (t->kind == TK_EOF) ws_emu_parse_error(ps, t->line, t->col, "expected '%s' but the text ends", text);
  ws_emu_parse_error(ps, t->line, t->col, "expected '%s' before '%.*s'", text, (int)(t->n > 40 ? 40 : t->n), t->s);
}
