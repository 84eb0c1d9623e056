/* Arguments of `warpscore emu`. Arrays go to the kernel as the bytes that they are: no element is converted. */
#include "emu_args.h"
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* bf16 has no name in .npy files: its bits are kept as 16-bit integers. */
static const struct emu_type types[] = {
    {"u8", "|u1", 1, 'u'},  {"s8", "|i1", 1, 's'},  {"u16", "<u2", 2, 'u'}, {"s16", "<i2", 2, 's'},
    {"u32", "<u4", 4, 'u'}, {"s32", "<i4", 4, 's'}, {"u64", "<u8", 8, 'u'}, {"s64", "<i8", 8, 's'},
    {"f16", "<f2", 2, 'h'}, {"bf16", "<u2", 2, 'h'}, {"f32", "<f4", 4, 'f'}, {"f64", "<f8", 8, 'f'},
};
enum { NTYPES = sizeof types / sizeof *types };
static const char expected[] = "expected in:FILE, inout:FILE[=FILE], out:TYPE[N]=FILE, zero:TYPE[N][=FILE] or u32, s32, "
                               "u64, s64, f32, f64 with a value";
static const size_t most = (size_t)1 << 36; /* bytes of an array */

static const struct emu_type *type_named(const char *s, size_t n) {
  for (int i = 0; i < NTYPES; i++)
    if (strlen(types[i].name) == n && !memcmp(types[i].name, s, n)) return &types[i];
  return NULL;
}

/* ---- values ---- */
static bool parse_integer(const char *s, const struct emu_type *t, uint64_t *bits) {
  char *end;
  unsigned n = t->bytes * 8u;
  bool negative = *s == '-';
  errno = 0;
  if (*s < '0' && *s != '-') return false;
  if (t->cls == 's') {
    long long v = strtoll(s, &end, 0);
    if (n < 64 && (v < -((long long)1 << (n - 1)) || v > ((long long)1 << (n - 1)) - 1)) return false;
    *bits = (uint64_t)v;
  } else {
    *bits = strtoull(s, &end, 0);
    if (negative || (n < 64 && *bits >> n)) return false;
  }
  return *s && end != s && !*end && !errno;
}

static bool parse_floating(const char *s, const struct emu_type *t, uint64_t *bits) {
  char *end;
  double d = strtod(s, &end);
  float f = (float)d;
  uint32_t single;
  memcpy(&single, &f, 4);
  if (t->bytes == 8) memcpy(bits, &d, 8);
  else *bits = single;
  return *s && *s != ' ' && !*end;
}

/* ---- .npy: the header's three entries, of any element type of the table ---- */
static const char *after(const char *head, const char *key) {
  const char *p = strstr(head, key);
  if (!p) return NULL;
  p += strlen(key);
  while (*p == ' ' || *p == ':') p++;
  return p;
}

static int parse_npy(const char *path, char *text, size_t length, struct emu_arg *a) {
  const unsigned char *u = (const unsigned char *)text;
  if (length < 10 || memcmp(text, "\x93NUMPY", 6)) return ws_cli_fail(WS_CLI_USAGE, "%s: it is no .npy file", path);
  size_t at = u[6] == 1 ? 10 : 12, n = u[8] | (size_t)u[9] << 8;
  if (u[6] > 1 && length >= 12) n |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
  if (at > length || n > length - at) return ws_cli_fail(WS_CLI_USAGE, "%s: it is cut short inside its header", path);
  char *head = strndup(text + at, n);
  if (!head) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  const char *descr = after(head, "'descr'"), *order = after(head, "'fortran_order'"), *shape = after(head, "'shape'");
  int code = WS_CLI_OK;
  size_t count = 1, width = 0;
  if (!descr || !order || !shape || *descr != '\'' || *shape != '(') {
    code = ws_cli_fail(WS_CLI_USAGE, "%s: its header is no dictionary of descr, fortran_order and shape", path);
    goto out;
  }
  size_t k = strcspn(descr + 1, "'");
  for (int i = 0; i < NTYPES && !width; i++)
    if (strlen(types[i].descr) == k && !memcmp(types[i].descr, descr + 1, k)) width = types[i].bytes;
  if (!width) {
    code = ws_cli_fail(WS_CLI_USAGE, "%s: element type '%.*s' found, expected one of |u1 |i1 <u2 <i2 <u4 <i4 <u8 <i8 <f2 <f4 <f8",
                       path, k > 40 ? 40 : (int)k, descr + 1);
    goto out;
  }
  snprintf(a->descr, sizeof a->descr, "%.*s", (int)k, descr + 1);
  if (strncmp(order, "False", 5)) {
    code = ws_cli_fail(WS_CLI_USAGE, "%s: it is in Fortran order: save a C-order copy (numpy.ascontiguousarray)", path);
    goto out;
  }
  for (const char *p = shape + 1; *p && *p != ')' && !code;) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(p, &end, 10);
    if (*p < '0' || *p > '9' || errno || a->rank == 8 || __builtin_mul_overflow(count, (size_t)v, &count) || count > most)
      code = ws_cli_fail(WS_CLI_USAGE, "%s: its shape is no tuple of at most 8 numbers, or too large", path);
    else a->shape[a->rank++] = (int64_t)v;
    p = end + strspn(end, " ,");
  }
  if (!code && length - at - n != count * width)
    code = ws_cli_fail(WS_CLI_USAGE, "%s: %zu bytes of elements found, expected %zu for its shape", path, length - at - n,
                       count * width);
  if (code) goto out;
  a->size = count * width;
  a->bytes = malloc(a->size + 1);
  if (!a->bytes) code = ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  else memcpy(a->bytes, text + at + n, a->size);
out:
  free(head);
  return code;
}

static int read_array(const char *path, struct emu_arg *a) {
  char *text;
  size_t length;
  if (!ws_cli_read_file(path, &text, &length)) return WS_CLI_USAGE;
  int code = parse_npy(path, text, length, a);
  free(text);
  return code;
}

int emu_arg_write(const struct emu_arg *a) {
  char head[320], shape[200] = "";
  size_t n = 0;
  if (!a->write) return WS_CLI_OK;
  for (int i = 0; i < a->rank; i++)
    n += (size_t)snprintf(shape + n, sizeof shape - n, "%lld,%s", (long long)a->shape[i], i + 1 < a->rank ? " " : "");
  int text = snprintf(head + 10, sizeof head - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a->descr, shape);
  size_t total = ((size_t)text + 11 + 63) / 64 * 64; /* blanks and a newline to a multiple of 64 */
  memset(head + 10 + text, ' ', total - 10 - (size_t)text);
  head[total - 1] = '\n';
  memcpy(head, "\x93NUMPY\x01", 8); /* version 1.0: the literal's terminator is the minor */
  head[8] = (char)((total - 10) & 0xff);
  head[9] = (char)((total - 10) >> 8);
  char *all = malloc(total + a->size);
  if (!all) return ws_cli_fail(WS_CLI_INTERNAL, "%s: out of memory", a->write);
  memcpy(all, head, total);
  memcpy(all + total, a->bytes, a->size);
  bool good = ws_cli_write_file(a->write, all, total + a->size);
  free(all);
  return good ? WS_CLI_OK : WS_CLI_USAGE;
}

/* ---- TYPE[N,M]=FILE ---- */
static int parse_array(char *s, const char *shown, struct emu_arg *a) {
  size_t n = strcspn(s, "[=");
  a->type = type_named(s, n);
  if (!a->type)
    return ws_cli_fail(WS_CLI_USAGE, "--arg %s: '%.*s' found, expected one of u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64", shown,
                       n > 40 ? 40 : (int)n, s);
  snprintf(a->descr, sizeof a->descr, "%s", a->type->descr);
  size_t count = 1, bytes = 0;
  char *p = s + n;
  bool good = *p == '[';
  while (good && *p != ']') {
    char *end;
    p++;
    errno = 0;
    unsigned long long v = strtoull(p, &end, 10);
    good = *p >= '0' && *p <= '9' && !errno && v && a->rank < 8 && !__builtin_mul_overflow(count, (size_t)v, &count) &&
           !__builtin_mul_overflow(count, (size_t)a->type->bytes, &bytes) && bytes <= most && (*end == ',' || *end == ']');
    if (good) a->shape[a->rank++] = (int64_t)v;
    p = end;
  }
  if (!good) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: expected %s[N] with at most 8 extents from 1 and 2^36 bytes", shown, a->type->name);
  p++;
  if (*p == '=' && p[1]) a->write = p + 1;
  if (a->kind == EMU_OUT && !a->write) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: expected =FILE behind the shape", shown);
  if (a->kind == EMU_ZERO && *p && !a->write) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: nothing or =FILE may follow the shape", shown);
  a->size = bytes;
  a->bytes = calloc(1, bytes + 1);
  return a->bytes ? WS_CLI_OK : ws_cli_fail(WS_CLI_INTERNAL, "--arg %s: out of memory", shown);
}

int emu_arg_parse(char *text, struct emu_arg *a) {
  size_t n = strcspn(text, ":");
  char *rest = text + n + 1;
  memset(a, 0, sizeof *a);
  a->text = text;
  if (!text[n]) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: %s", text, expected);
  static const struct { const char *name; enum emu_arg_kind kind; } kinds[] = {
      {"in", EMU_IN}, {"inout", EMU_INOUT}, {"out", EMU_OUT}, {"zero", EMU_ZERO}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strlen(kinds[i].name) != n || memcmp(kinds[i].name, text, n)) continue;
    a->kind = kinds[i].kind;
    if (a->kind == EMU_OUT || a->kind == EMU_ZERO) return parse_array(rest, text, a);
    char *equals = a->kind == EMU_INOUT ? strchr(rest, '=') : NULL;
    if (!*rest || equals == rest || (equals && !equals[1])) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: a file is missing", text);
    a->write = a->kind == EMU_INOUT ? rest : NULL;
    if (!equals) return read_array(rest, a);
    a->write = equals + 1;
    *equals = 0;
    int code = read_array(rest, a);
    *equals = '=';
    return code;
  }
  a->kind = EMU_VALUE;
  a->type = type_named(text, n);
  if (!a->type || a->type->cls == 'h' || a->type->bytes < 4) return ws_cli_fail(WS_CLI_USAGE, "--arg %s: %s", text, expected);
  if (!(a->type->cls == 'f' ? parse_floating : parse_integer)(rest, a->type, &a->value))
    return ws_cli_fail(WS_CLI_USAGE, "--arg %s: '%s' found, expected a number that fits %s", text, rest, a->type->name);
  return WS_CLI_OK;
}

void emu_arg_free(struct emu_arg *a) {
  free(a->bytes);
  a->bytes = NULL;
}
