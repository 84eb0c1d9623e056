/* Bytes of one line to tokens, and the small steps of every parser. */
#include "spec/reader.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that no value can be named after, because an expression may continue with them (or is one). All other words
 * of the language are known by their place. */
static const char *const reserved[] = {"and", "as", "elif", "else", "false", "if", "in", "inf", "not", "of", "or", "true", "when", "with"};

bool ws_reserved(const char *name) {
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (!strcmp(name, reserved[i])) return true;
  return false;
}

static const char *const operators[] = {"->", "..", "==", "!=", "<=", ">=", "+=", /* longest first */
                                        "+", "-", "*", "/", "%", "@", "(", ")", "[", "]", ",", ".", "<", ">", "="};

/* Characters of other languages, and what stands for them here. */
static const struct { const char *text, *instead; } strangers[] = {
    {"&&", "write `and`"}, {"&", "write `and`"}, {"||", "write `or`"}, {"|", "write `or`"}, {"!", "write `not`"},
    {"^", "write x * x, or exp2()"}, {":", "statements have no colon: parts are .rows(a..b), .cols(i of n)"},
    {"{", "statements have no braces"}, {"}", "statements have no braces"}, {"\"", "statements have no quotes"},
    {"'", "statements have no quotes"}, {";", "one statement a line"}, {"?", "write `x if cond else y`"},
    {"#", "a comment needs a space before `#`"},
};

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

struct lexer {
  struct ws_reader *r;
  size_t i, end;
};

static char at(const struct lexer *x, size_t ahead) { return x->i + ahead < x->end ? x->r->text[x->i + ahead] : '\0'; }

static struct ws_token bad(struct ws_token t, const char *code, const char *message) {
  t.kind = WS_T_BAD;
  t.code = code;
  t.text = message;
  return t;
}

static struct ws_token number(struct lexer *x) {
  struct ws_token t = {.kind = WS_T_NUMBER, .begin = x->i, .is_int = true};
  while (digit(at(x, 0))) x->i++;
  if (at(x, 0) == '.' && at(x, 1) != '.') { /* 0..3 is 0, `..`, 3 */
    t.is_int = false;
    x->i++;
    if (!digit(at(x, 0))) {
      t.end = x->i;
      return bad(t, "bad-number", "a digit must follow the point: write 1.0");
    }
    while (digit(at(x, 0))) x->i++;
  }
  if (at(x, 0) == 'e' || at(x, 0) == 'E') {
    size_t sign = at(x, 1) == '+' || at(x, 1) == '-';
    if (digit(at(x, 1 + sign))) {
      t.is_int = false;
      x->i += 1 + sign;
      while (digit(at(x, 0))) x->i++;
    }
  }
  t.end = x->i;
  if (letter(at(x, 0))) {
    while (letter(at(x, 0)) || digit(at(x, 0))) x->i++;
    t.end = x->i;
    return bad(t, "bad-number", ws_fmt(x->r->a, "`%s` is neither a number nor a name", ws_reader_quote(x->r, t.begin, t.end)));
  }
  if (t.end - t.begin > 40) return bad(t, "bad-number", "a number of more than 40 characters");
  char copy[48];
  memcpy(copy, x->r->text + t.begin, t.end - t.begin);
  copy[t.end - t.begin] = 0;
  t.number = strtod(copy, NULL);
  if (t.is_int && strtoull(copy, NULL, 10) > 9007199254740992u) return bad(t, "bad-number", "an integer above 2^53");
  if (isinf(t.number)) return bad(t, "bad-number", "a number too large for a double: write `inf` for infinity");
  return t;
}

static struct ws_token name(struct lexer *x) {
  struct ws_token t = {.kind = WS_T_NAME, .begin = x->i};
  while (letter(at(x, 0)) || digit(at(x, 0))) x->i++;
  t.end = x->i;
  if (t.end - t.begin > WS_NAME_MAX) return bad(t, "too-large", ws_fmt(x->r->a, "a name of more than %d characters", WS_NAME_MAX));
  t.text = ws_strndup(x->r->a, x->r->text + t.begin, t.end - t.begin);
  return t;
}

static struct ws_token stranger(struct lexer *x) {
  struct ws_token t = {.begin = x->i};
  for (size_t k = 0; k < sizeof strangers / sizeof *strangers; k++) {
    size_t n = strlen(strangers[k].text);
    if (x->end - x->i >= n && !memcmp(x->r->text + x->i, strangers[k].text, n)) {
      t.end = x->i += n;
      return bad(t, "bad-character", ws_fmt(x->r->a, "unexpected `%s`: %s", strangers[k].text, strangers[k].instead));
    }
  }
  x->i++;
  while (x->i < x->end && ((unsigned char)x->r->text[x->i] & 0xc0) == 0x80) x->i++; /* one character of UTF-8 */
  t.end = x->i;
  return bad(t, "bad-character", ws_fmt(x->r->a, "unexpected character `%s`: names and operators are ASCII", ws_reader_quote(x->r, t.begin, t.end)));
}

static struct ws_token next(struct lexer *x) {
  while (at(x, 0) == ' ' || at(x, 0) == '\t' || at(x, 0) == '\r') x->i++;
  if (x->i >= x->end) return (struct ws_token){.kind = WS_T_END, .begin = x->end, .end = x->end, .text = ""};
  if (digit(at(x, 0))) return number(x);
  if (letter(at(x, 0))) return name(x);
  for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
    size_t n = strlen(operators[k]);
    if (x->end - x->i < n || memcmp(x->r->text + x->i, operators[k], n)) continue;
    struct ws_token t = {.kind = WS_T_OP, .begin = x->i, .end = x->i + n, .text = operators[k]};
    x->i += n;
    return t;
  }
  return stranger(x);
}

void ws_parser_open(struct ws_parser *p, struct ws_reader *r, size_t begin, size_t end) {
  struct lexer x = {r, begin, end};
  size_t cap = 0;
  *p = (struct ws_parser){.r = r, .end_name = "the end of the line"};
  do *WS_PUSH(r->a, p->t, p->n, cap) = next(&x);
  while (p->t[p->n - 1].kind != WS_T_END && p->t[p->n - 1].kind != WS_T_BAD); /* nothing is read past a bad token */
}

const struct ws_token *ws_peek(const struct ws_parser *p, size_t ahead) {
  return &p->t[p->i + ahead < p->n ? p->i + ahead : p->n - 1];
}

bool ws_is(const struct ws_parser *p, const char *word) {
  const struct ws_token *t = ws_peek(p, 0);
  return !p->failed && (t->kind == WS_T_NAME || t->kind == WS_T_OP) && !strcmp(t->text, word);
}

bool ws_accept(struct ws_parser *p, const char *word) {
  if (!ws_is(p, word)) return false;
  p->i++;
  return true;
}

const char *ws_found(struct ws_parser *p) {
  const struct ws_token *t = ws_peek(p, 0);
  if (t->kind == WS_T_END) return p->end_name;
  const char *reserved_word = t->kind == WS_T_NAME && ws_reserved(t->text) ? "the reserved word " : "";
  return ws_fmt(p->r->a, "%s`%s`", reserved_word, ws_reader_quote(p->r, t->begin, t->end));
}

struct ws_pos ws_token_pos(const struct ws_parser *p, const struct ws_token *t) { return ws_reader_pos(p->r, t->begin, t->end); }

struct ws_pos ws_span(const struct ws_parser *p, size_t begin) {
  return ws_reader_pos(p->r, begin, p->i ? p->t[p->i - 1].end : begin);
}

static void fail(struct ws_parser *p, struct ws_pos pos, const char *code, const char *message) {
  if (!p->failed) ws_reader_error(p->r, pos, code, "%s", message);
  p->failed = true;
  p->t[p->n - 1].kind = WS_T_END;
  p->t[p->n - 1].text = "";
  p->i = p->n - 1;
}

void ws_parse_error(struct ws_parser *p, const char *code, const char *fmt, ...) {
  const struct ws_token *t = ws_peek(p, 0);
  va_list ap;
  va_start(ap, fmt);
  const char *message = ws_vfmt(p->r->a, fmt, ap);
  va_end(ap);
  bool lexical = t->kind == WS_T_BAD;
  fail(p, ws_token_pos(p, t), lexical ? t->code : code, lexical ? t->text : message);
}

void ws_parse_error_at(struct ws_parser *p, struct ws_pos pos, const char *code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *message = ws_vfmt(p->r->a, fmt, ap);
  va_end(ap);
  fail(p, pos, code, message);
}

void ws_expect(struct ws_parser *p, const char *word, const char *why) {
  if (p->failed || ws_accept(p, word)) return;
  ws_parse_error(p, "syntax", "expected `%s`%s%s, found %s", word, why ? " " : "", why ? why : "", ws_found(p));
}

void ws_expect_end(struct ws_parser *p, const char *after) {
  if (p->failed || ws_peek(p, 0)->kind == WS_T_END) return;
  ws_parse_error(p, "syntax", "unexpected `%s` after %s", ws_reader_quote(p->r, ws_peek(p, 0)->begin, ws_peek(p, 0)->end), after);
}

const char *ws_expect_name(struct ws_parser *p, const char *what, struct ws_pos *pos) {
  const struct ws_token *t = ws_peek(p, 0);
  if (p->failed) return "";
  if (t->kind != WS_T_NAME || ws_reserved(t->text)) {
    ws_parse_error(p, t->kind == WS_T_NAME ? "reserved" : "syntax", "expected %s, found %s", what, ws_found(p));
    return "";
  }
  if (pos) *pos = ws_token_pos(p, t);
  p->i++;
  return t->text;
}
