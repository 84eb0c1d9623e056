/* .npy arrays: '<f4' or '<f2' in, '<f4' out, C order. The format's description is NumPy Enhancement Proposal 1: a magic
 * string, a version, the length of a header, the header (a Python dictionary literal) and the elements. */
#include "cli.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct header {
  const char *p, *end;
  bool has_type, has_order, has_shape;
  size_t size; /* of an element */
  int rank;
  int64_t shape[32];
  char *why;
  size_t why_size;
};

__attribute__((format(printf, 2, 3))) static bool bad(struct header *h, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(h->why, h->why_size, fmt, ap);
  va_end(ap);
  return false;
}

static void blanks(struct header *h) {
  while (h->p < h->end && (*h->p == ' ' || *h->p == '\n' || *h->p == '\t')) h->p++;
}

static bool take(struct header *h, const char *word) {
  size_t n = strlen(word);
  blanks(h);
  if ((size_t)(h->end - h->p) < n || memcmp(h->p, word, n)) return false;
  h->p += n;
  return true;
}

static bool take_string(struct header *h, const char **s, size_t *n) {
  blanks(h);
  if (h->p == h->end || (*h->p != '\'' && *h->p != '"')) return false;
  const char *stop = memchr(h->p + 1, *h->p, (size_t)(h->end - h->p - 1));
  if (!stop) return false;
  *s = h->p + 1;
  *n = (size_t)(stop - *s);
  h->p = stop + 1;
  return true;
}

static bool take_extent(struct header *h, int64_t *out) {
  blanks(h);
  const char *start = h->p;
  int64_t v = 0;
  for (; h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++)
    if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, (int64_t)(*h->p - '0'), &v))
      return bad(h, "an extent is larger than 2^63");
  *out = v;
  return h->p > start || bad(h, "its shape is no tuple of numbers");
}

static bool take_shape(struct header *h) {
  if (!take(h, "(")) return bad(h, "its shape is no tuple");
  while (!take(h, ")")) {
    if (h->rank == 32) return bad(h, "more than 32 dims");
    if (!take_extent(h, &h->shape[h->rank])) return false;
    h->rank++;
    if (!take(h, ",")) {
      if (take(h, ")")) break;
      return bad(h, "its shape is no tuple of numbers");
    }
  }
  return true;
}

static bool take_type(struct header *h) {
  const char *s;
  size_t n;
  if (!take_string(h, &s, &n)) return bad(h, "its element type is no string: only '<f4' and '<f2' are read");
  if (n == 3 && !memcmp(s, "<f4", 3))
    h->size = 4;
  else if (n == 3 && !memcmp(s, "<f2", 3))
    h->size = 2;
  else
    return bad(h, "element type '%.*s' found, expected '<f4' or '<f2'", n > 40 ? 40 : (int)n, s);
  return true;
}

static bool take_entry(struct header *h) {
  const char *s;
  size_t n;
  if (!take_string(h, &s, &n) || !take(h, ":")) return bad(h, "its header is no dictionary");
  bool *seen = n == 5 && !memcmp(s, "descr", 5)             ? &h->has_type
               : n == 13 && !memcmp(s, "fortran_order", 13) ? &h->has_order
               : n == 5 && !memcmp(s, "shape", 5)           ? &h->has_shape
                                                            : NULL;
  if (!seen) return bad(h, "unknown header key '%.*s'", n > 40 ? 40 : (int)n, s);
  if (*seen) return bad(h, "header key '%.*s' appears twice", (int)n, s);
  *seen = true;
  if (seen == &h->has_type) return take_type(h);
  if (seen == &h->has_shape) return take_shape(h);
  if (take(h, "True")) return bad(h, "it is in Fortran order: save a C-order copy (numpy.ascontiguousarray)");
  return take(h, "False") || bad(h, "fortran_order is neither True nor False");
}

static bool parse_header(struct header *h) {
  if (!take(h, "{")) return bad(h, "its header is no dictionary");
  while (!take(h, "}")) {
    if (!take_entry(h)) return false;
    if (!take(h, ",")) {
      if (take(h, "}")) break;
      return bad(h, "its header is no dictionary");
    }
  }
  blanks(h);
  if (h->p != h->end) return bad(h, "something follows the dictionary in its header");
  if (!h->has_type || !h->has_order || !h->has_shape)
    return bad(h, "its header lacks %s", !h->has_type ? "descr" : !h->has_order ? "fortran_order" : "shape");
  return true;
}

/* The header's place in the file. */
static bool find_header(struct header *h, const unsigned char *p, size_t length, size_t *data) {
  if (length < 10 || memcmp(p, "\x93NUMPY", 6)) return bad(h, "it is no .npy file");
  size_t n, at;
  if (p[6] == 1) {
    n = (size_t)p[8] | (size_t)p[9] << 8;
    at = 10;
  } else if (p[6] == 2 || p[6] == 3) {
    if (length < 12) return bad(h, "it is cut short inside its header");
    n = (size_t)p[8] | (size_t)p[9] << 8 | (size_t)p[10] << 16 | (size_t)p[11] << 24;
    at = 12;
  } else {
    return bad(h, ".npy version %d found, expected 1, 2 or 3", p[6]);
  }
  if (n > length - at) return bad(h, "it is cut short inside its header");
  h->p = (const char *)p + at;
  h->end = h->p + n;
  *data = at + n;
  return true;
}

static bool take_elements(struct header *h, const unsigned char *p, size_t length, struct ws_cli_array *out) {
  size_t count = 1, bytes;
  for (int i = 0; i < h->rank; i++)
    if (__builtin_mul_overflow(count, (size_t)h->shape[i], &count))
      return bad(h, "its shape has more than 2^64 elements");
  if (__builtin_mul_overflow(count, h->size, &bytes)) return bad(h, "its shape has more than 2^64 bytes");
  if (bytes != length) return bad(h, "%zu bytes of elements found, expected %zu for its shape", length, bytes);
  out->data = malloc(count * sizeof(float) + 1);
  if (!out->data) return bad(h, "out of memory");
  for (size_t i = 0; i < count; i++)
    out->data[i] = ws_ref_load(p + i * h->size, h->size == 2 ? WS_REF_F16 : WS_REF_F32);
  out->rank = h->rank;
  memcpy(out->shape, h->shape, sizeof out->shape);
  return true;
}

bool ws_cli_npy_parse(const void *bytes, size_t length, int rank, struct ws_cli_array *out, char *why, size_t size) {
  struct header h = {.why = why, .why_size = size};
  size_t data = 0;
  memset(out, 0, sizeof *out);
  if (!find_header(&h, bytes, length, &data) || !parse_header(&h)) return false;
  if (h.rank != rank) return bad(&h, "rank %d found, expected %d%s", h.rank, rank, rank == 4 ? ": (batch, heads, sequence, head dim)" : "");
  return take_elements(&h, (const unsigned char *)bytes + data, length - data, out);
}

bool ws_cli_npy_read(const char *path, int rank, struct ws_cli_array *out) {
  char *text, why[256];
  size_t length;
  if (!ws_cli_read_file(path, &text, &length)) return false;
  bool good = ws_cli_npy_parse(text, length, rank, out, why, sizeof why);
  free(text);
  if (!good) ws_cli_fail(0, "%s: %s", path, why);
  return good;
}

bool ws_cli_npy_write(const char *path, const struct ws_cli_array *a) {
  char head[256], shape[128] = "";
  size_t count = 1, n = 0;
  for (int i = 0; i < a->rank; i++) {
    count *= (size_t)a->shape[i];
    n += (size_t)snprintf(shape + n, sizeof shape - n, "%lld,%s", (long long)a->shape[i], i + 1 < a->rank ? " " : "");
  }
  int text = snprintf(head + 10, sizeof head - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
  int total = (10 + text + 1 + 63) / 64 * 64; /* padded with blanks and a newline to a multiple of 64 */
  memset(head + 10 + text, ' ', (size_t)(total - 10 - text));
  head[total - 1] = '\n';
  memcpy(head, "\x93NUMPY\x01", 8); /* version 1.0: the literal's terminator is the minor */
  head[8] = (char)((total - 10) & 0xff);
  head[9] = (char)((total - 10) >> 8);
  char *all = malloc((size_t)total + count * sizeof(float));
  if (!all) return ws_cli_fail(0, "%s: out of memory", path), false;
  memcpy(all, head, (size_t)total);
  memcpy(all + total, a->data, count * sizeof(float));
  bool good = ws_cli_write_file(path, all, (size_t)total + count * sizeof(float));
  free(all);
  return good;
}
