/* The words of one manifest line. Locale-free: an embedding program may have set a decimal comma. */
#include "runtime.h"
#include <string.h>

static bool letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

static void skip_blanks(struct ws_rt_cursor *c) {
  while (c->p < c->end && *c->p == ' ') c->p++;
}

bool ws_rt_at_end(struct ws_rt_cursor *c) {
  skip_blanks(c);
  return c->p == c->end;
}

bool ws_rt_equal(const char *s, size_t n, const char *literal) {
  return strlen(literal) == n && !memcmp(s, literal, n);
}

bool ws_rt_take_name(struct ws_rt_cursor *c, const char **name, size_t *n) {
  skip_blanks(c);
  const char *p = c->p;
  if (p == c->end || !letter(*p)) return false;
  while (p < c->end && (letter(*p) || digit(*p))) p++;
  *name = c->p;
  *n = (size_t)(p - c->p);
  c->p = p;
  return true;
}

bool ws_rt_take_word(struct ws_rt_cursor *c, const char **word, size_t *n) {
  skip_blanks(c);
  const char *p = c->p;
  while (p < c->end && *p != ' ') p++;
  *word = c->p;
  *n = (size_t)(p - c->p);
  c->p = p;
  return *n > 0;
}

bool ws_rt_take_char(struct ws_rt_cursor *c, char wanted) {
  skip_blanks(c);
  if (c->p == c->end || *c->p != wanted) return false;
  c->p++;
  return true;
}

bool ws_rt_take_integer(struct ws_rt_cursor *c, int64_t *value) {
  skip_blanks(c);
  const char *p = c->p;
  int64_t v = 0;
  while (p < c->end && digit(*p)) {
    if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, (int64_t)(*p - '0'), &v)) return false;
    p++;
  }
  if (p == c->p || (p < c->end && (letter(*p) || *p == '.'))) return false;
  *value = v;
  c->p = p;
  return true;
}

/* value * 10^exponent; more than 64 bits of mantissa in long double on the machines that matter. */
static double scaled(uint64_t mantissa, int exponent) {
  long double v = (long double)mantissa, ten = 10;
  bool negative = exponent < 0;
  unsigned n = (unsigned)(negative ? -exponent : exponent);
  long double power = 1;
  for (; n; n >>= 1, ten *= ten)
    if (n & 1) power *= ten;
  return (double)(negative ? v / power : v * power);
}

bool ws_rt_take_number(struct ws_rt_cursor *c, double *value) {
  skip_blanks(c);
  const char *p = c->p, *end = c->end;
  bool negative = p < end && *p == '-';
  if (negative) p++;
  uint64_t mantissa = 0;
  int exponent = 0, digits = 0;
  bool fraction = false;
  for (; p < end && (digit(*p) || (*p == '.' && !fraction)); p++) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    digits++;
    if (mantissa < UINT64_C(1000000000000000000)) { /* 19 digits fit; later ones only move the point */
      mantissa = mantissa * 10 + (uint64_t)(*p - '0');
      exponent -= fraction;
    } else {
      exponent += !fraction;
    }
    if (digits > 100) return false;
  }
  if (!digits) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *first = p;
    int e = 0;
    for (; p < end && digit(*p) && e < 1000; p++) e = e * 10 + (*p - '0');
    if (p == first || e > 300) return false;
    exponent += minus ? -e : e;
  }
  if (p < end && (letter(*p) || digit(*p) || *p == '.')) return false;
  double v = scaled(mantissa, exponent);
  *value = negative ? -v : v;
  c->p = p;
  return true;
}
