/* The manifest at the head of a generated .ptx: comment lines, one `// key: value` each, between two fixed lines.
 * runtime/README.md is its description. Whatever is damaged is an error with its line; nothing is guessed. */
#include "runtime.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "// warpscore manifest "
#define LAST "// end manifest"

struct reader {
  struct ws_manifest *m;
  const char *text, *end; /* the whole kernel */
  const char *next;       /* the line after this one */
  struct ws_rt_cursor c;  /* the rest of the current line's value */
  int line;
  const char *key;
  bool data_seen[WS_RT_MAX_TENSORS];
  struct ws_error_info *err;
};

#define BAD(r, ...) bad((r), __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static enum ws_status bad(struct reader *r, const char *fmt, ...) {
  char what[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return ws_rt_fail(r->err, WS_ERR_MANIFEST, "manifest line %d: %s", r->line, what);
}

static const struct {
  enum ws_dtype type;
  const char *name;
  size_t size;
} types[] = {
    {WS_DTYPE_F16, "f16", 2},   {WS_DTYPE_BF16, "bf16", 2}, {WS_DTYPE_F32, "f32", 4},
    {WS_DTYPE_E4M3, "e4m3", 1}, {WS_DTYPE_E5M2, "e5m2", 1}, {WS_DTYPE_I32, "i32", 4},
};
enum { NTYPES = sizeof types / sizeof *types };

const char *ws_dtype_name(enum ws_dtype type) {
  for (int i = 0; i < NTYPES; i++)
    if (types[i].type == type) return types[i].name;
  return "none";
}

size_t ws_dtype_size(enum ws_dtype type) {
  for (int i = 0; i < NTYPES; i++)
    if (types[i].type == type) return types[i].size;
  return 0;
}

/* ---- strings and tables ---- */

static const char *keep(struct ws_manifest *m, const char *s, size_t n) {
  char *p = m->pool + m->pool_used;
  memcpy(p, s, n);
  p[n] = 0;
  m->pool_used += n + 1;
  return p;
}

static int shown(size_t n) { return n > 80 ? 80 : (int)n; } /* how much of a strange word a message repeats */

static bool find_tensor(const struct ws_manifest *m, const char *s, size_t n, size_t *index) {
  for (*index = 0; *index < m->ntensors; ++*index)
    if (ws_rt_equal(s, n, m->tensors[*index].name)) return true;
  return false;
}

static bool find_scalar(const struct ws_manifest *m, const char *s, size_t n, size_t *index) {
  for (*index = 0; *index < m->nscalars; ++*index)
    if (ws_rt_equal(s, n, m->scalars[*index].name)) return true;
  return false;
}

static bool find_dim(const struct ws_manifest *m, const char *s, size_t n, size_t *index) {
  for (*index = 0; *index < m->ndims; ++*index)
    if (ws_rt_equal(s, n, m->dims[*index])) return true;
  return false;
}

/* ---- the values of the keys; each parser takes r->c to its end ---- */

static enum ws_status take_type(struct reader *r, enum ws_dtype *type) {
  const char *s;
  size_t n;
  if (!ws_rt_take_word(&r->c, &s, &n)) return BAD(r, "%s: a type is missing", r->key);
  for (int i = 0; i < NTYPES; i++)
    if (ws_rt_equal(s, n, types[i].name)) return *type = types[i].type, WS_OK;
  return BAD(r, "%s: unknown type '%.*s': expected f16, bf16, f32, e4m3, e5m2 or i32", r->key, shown(n), s);
}

static enum ws_status name_value(struct reader *r, const char **out) {
  const char *s;
  size_t n;
  if (!ws_rt_take_word(&r->c, &s, &n)) return BAD(r, "%s: the value is missing", r->key);
  *out = keep(r->m, s, n);
  return WS_OK;
}

static enum ws_status line_value(struct reader *r, const char **out) {
  if (ws_rt_at_end(&r->c)) return BAD(r, "%s: the value is missing", r->key);
  *out = keep(r->m, r->c.p, (size_t)(r->c.end - r->c.p));
  r->c.p = r->c.end;
  return WS_OK;
}

static enum ws_status entry_value(struct reader *r) {
  const char *s;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "entry: expected the name of a kernel");
  r->m->info.entry = keep(r->m, s, n);
  return WS_OK;
}

static enum ws_status target_value(struct reader *r) {
  if (name_value(r, &r->m->info.target)) return WS_ERR_MANIFEST;
  char reason[64];
  ws_rt_target_runs(r->m->info.target, 0, 0, false, reason, sizeof reason);
  if (!*reason) return BAD(r, "target: '%.80s' is no target: expected sm_80 or the like", r->m->info.target);
  return WS_OK;
}

static enum ws_status problem_value(struct reader *r) { return name_value(r, &r->m->info.problem); }
static enum ws_status schedule_value(struct reader *r) { return name_value(r, &r->m->info.schedule); }
static enum ws_status tool_value(struct reader *r) { return line_value(r, &r->m->info.tool); }

static enum ws_status one_of(struct reader *r, const char **out, const char *const *choices, const char *list) {
  if (name_value(r, out)) return WS_ERR_MANIFEST;
  for (; *choices; choices++)
    if (!strcmp(*out, *choices)) return WS_OK;
  return BAD(r, "%s: '%.80s' found, expected %s", r->key, *out, list);
}

static enum ws_status lse_base_value(struct reader *r) {
  static const char *const choices[] = {"e", "2", NULL};
  return one_of(r, &r->m->info.lse_base, choices, "e or 2");
}

static enum ws_status checked_value(struct reader *r) {
  static const char *const choices[] = {"clean", "review", "no", NULL};
  return one_of(r, &r->m->info.checked, choices, "clean, review or no");
}

static enum ws_status bounded(struct reader *r, uint32_t *out, int64_t low, int64_t high) {
  int64_t v;
  if (!ws_rt_take_integer(&r->c, &v) || v < low || v > high)
    return BAD(r, "%s: expected a number from %lld to %lld", r->key, (long long)low, (long long)high);
  *out = (uint32_t)v;
  return WS_OK;
}

static enum ws_status block_value(struct reader *r) { return bounded(r, &r->m->info.block, 1, 1024); }
static enum ws_status shared_value(struct reader *r) { return bounded(r, &r->m->info.shared, 0, 1 << 24); }
static enum ws_status registers_value(struct reader *r) { return bounded(r, &r->m->info.registers, 0, 65536); }

/* A feature that a loader has to have to launch this kernel at all. This loader knows none beyond version 1. */
static enum ws_status require_value(struct reader *r) {
  const char *s = "";
  if (name_value(r, &s)) return WS_ERR_MANIFEST;
  return BAD(r, "the kernel needs '%.80s', which this loader (%s) does not have: use a newer libwarpscore", s,
             ws_version());
}

static enum ws_status set_value(struct reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n;
  if (m->nsettings == WS_RT_MAX_SETTINGS) return BAD(r, "more than %d 'set' lines", WS_RT_MAX_SETTINGS);
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "set: expected a name and a value");
  for (size_t i = 0; i < m->nsettings; i++)
    if (ws_rt_equal(s, n, m->settings[i].name)) return BAD(r, "set: '%.*s' is set twice", shown(n), s);
  m->settings[m->nsettings].name = keep(m, s, n);
  if (line_value(r, &m->settings[m->nsettings].value)) return WS_ERR_MANIFEST;
  m->nsettings++;
  return WS_OK;
}

static enum ws_status take_dim(struct reader *r, struct ws_tensor_info *t) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  struct ws_dim_info *dim = &t->dims[t->rank];
  if (ws_rt_take_integer(&r->c, &dim->extent)) {
    if (!dim->extent) return BAD(r, "tensor %s: a fixed dim of extent 0", t->name);
  } else if (ws_rt_take_name(&r->c, &s, &n)) {
    if (!find_dim(m, s, n, &index)) {
      if (m->ndims == WS_RT_MAX_DIMS) return BAD(r, "more than %d names of dims", WS_RT_MAX_DIMS);
      m->dims[m->ndims++] = keep(m, s, n);
    }
    for (int d = 0; d < t->rank; d++)
      if (t->dims[d].name == m->dims[index])
        return BAD(r, "tensor %s: dim '%s' appears twice", t->name, m->dims[index]);
    dim->name = m->dims[index];
    m->dim_of[m->ntensors][t->rank] = index;
  } else {
    return BAD(r, "tensor %s: expected the name or the extent of a dim", t->name);
  }
  t->rank++;
  return WS_OK;
}

static enum ws_status take_dims(struct reader *r, struct ws_tensor_info *t) {
  if (!ws_rt_take_char(&r->c, '[')) return BAD(r, "tensor %s: expected its dims in [ ]", t->name);
  do {
    if (t->rank == WS_MAX_RANK) return BAD(r, "tensor %s: more than %d dims", t->name, WS_MAX_RANK);
    if (take_dim(r, t)) return WS_ERR_MANIFEST;
  } while (ws_rt_take_char(&r->c, ','));
  if (!ws_rt_take_char(&r->c, ']')) return BAD(r, "tensor %s: expected ',' or ']' after a dim", t->name);
  return WS_OK;
}

/* NAME in|out|inout TYPE [DIM, ...] align BYTES */
static enum ws_status tensor_value(struct reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  if (m->ntensors == WS_RT_MAX_TENSORS) return BAD(r, "more than %d tensors", WS_RT_MAX_TENSORS);
  struct ws_tensor_info *t = &m->tensors[m->ntensors];
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "tensor: expected a name");
  if (find_tensor(m, s, n, &index)) return BAD(r, "tensor: '%.*s' is declared twice", shown(n), s);
  t->name = keep(m, s, n);
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "tensor %s: expected in, out or inout", t->name);
  if (ws_rt_equal(s, n, "in"))
    t->direction = WS_IN;
  else if (ws_rt_equal(s, n, "out"))
    t->direction = WS_OUT;
  else if (ws_rt_equal(s, n, "inout"))
    t->direction = WS_INOUT;
  else
    return BAD(r, "tensor %s: '%.*s' found, expected in, out or inout", t->name, shown(n), s);
  if (take_type(r, &t->type) || take_dims(r, t)) return WS_ERR_MANIFEST;
  int64_t align;
  if (!ws_rt_take_name(&r->c, &s, &n) || !ws_rt_equal(s, n, "align") || !ws_rt_take_integer(&r->c, &align))
    return BAD(r, "tensor %s: expected 'align BYTES' behind the dims", t->name);
  if (align < (int64_t)ws_dtype_size(t->type) || align > 4096 || (align & (align - 1)))
    return BAD(r, "tensor %s: align %lld found, expected a power of two from the element's %zu bytes to 4096", t->name,
               (long long)align, ws_dtype_size(t->type));
  t->align = (uint32_t)align;
  m->ntensors++;
  return WS_OK;
}

/* NAME TYPE (rsqrt N | NUMBER) */
static enum ws_status scalar_value(struct reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  if (m->nscalars == WS_RT_MAX_SCALARS) return BAD(r, "more than %d scalars", WS_RT_MAX_SCALARS);
  struct ws_scalar_info *t = &m->scalars[m->nscalars];
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "scalar: expected a name");
  if (find_scalar(m, s, n, &index)) return BAD(r, "scalar: '%.*s' is declared twice", shown(n), s);
  t->name = keep(m, s, n);
  if (take_type(r, &t->type)) return WS_ERR_MANIFEST;
  if (t->type != WS_DTYPE_F32 && t->type != WS_DTYPE_I32) return BAD(r, "scalar %s: expected type f32 or i32", t->name);
  bool rsqrt = ws_rt_take_name(&r->c, &s, &n);
  if (rsqrt && !ws_rt_equal(s, n, "rsqrt"))
    return BAD(r, "scalar %s: '%.*s' found, expected a number or 'rsqrt N'", t->name, shown(n), s);
  if (!ws_rt_take_number(&r->c, &t->value) || !isfinite(t->value) || (rsqrt && t->value <= 0))
    return BAD(r, "scalar %s: expected a number or 'rsqrt N' with N > 0 as its default", t->name);
  if (rsqrt) t->value = 1 / sqrt(t->value);
  m->nscalars++;
  return WS_OK;
}

/* DIM OF: the first is a multiple of the second */
static enum ws_status multiple_value(struct reader *r) {
  struct ws_manifest *m = r->m;
  if (m->nmultiples == WS_RT_MAX_MULTIPLES) return BAD(r, "more than %d 'multiple' lines", WS_RT_MAX_MULTIPLES);
  size_t which[2];
  for (int i = 0; i < 2; i++) {
    const char *s;
    size_t n;
    if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "multiple: expected the names of two dims");
    if (!find_dim(m, s, n, &which[i])) return BAD(r, "multiple: no tensor above has a dim '%.*s'", shown(n), s);
  }
  m->multiples[m->nmultiples].dim = which[0];
  m->multiples[m->nmultiples++].of = which[1];
  return WS_OK;
}

/* The stride of one named dim of tensor `index`: ".stride.DIM" is read up to DIM. */
static enum ws_status stride_param(struct reader *r, struct ws_rt_param *p) {
  struct ws_tensor_info *t = &r->m->tensors[p->index];
  const char *s;
  size_t n;
  if (!ws_rt_take_char(&r->c, '.') || !ws_rt_take_name(&r->c, &s, &n))
    return BAD(r, "param: expected '%s.stride.DIM'", t->name);
  for (int d = 0; d < t->rank; d++)
    if (t->dims[d].name && ws_rt_equal(s, n, t->dims[d].name)) {
      p->source = WS_RT_STRIDE;
      p->dim = d;
      t->strided[d] = 1;
      return WS_OK;
    }
  return BAD(r, "param: tensor %s has no dim '%.*s'", t->name, shown(n), s);
}

static enum ws_status tensor_param(struct reader *r, struct ws_rt_param *p) {
  const char *s, *tensor = r->m->tensors[p->index].name;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "param: expected '%s.data' or '%s.stride.DIM'", tensor, tensor);
  if (ws_rt_equal(s, n, "stride")) return stride_param(r, p);
  if (!ws_rt_equal(s, n, "data"))
    return BAD(r, "param: '%s.%.*s' found, expected '%s.data' or '%s.stride.DIM'", tensor, shown(n), s, tensor, tensor);
  if (p->type != WS_RT_U64) return BAD(r, "param: %s.data is an address: expected type u64", tensor);
  p->source = WS_RT_DATA;
  r->data_seen[p->index] = true;
  return WS_OK;
}

static enum ws_status scalar_param(struct reader *r, struct ws_rt_param *p) {
  p->source = WS_RT_SCALAR;
  p->factor = 1;
  if (ws_rt_take_char(&r->c, '*') && (!ws_rt_take_number(&r->c, &p->factor) || !isfinite(p->factor)))
    return BAD(r, "param: expected a number behind '*'");
  return WS_OK;
}

/* TYPE (TENSOR.data | TENSOR.stride.DIM | DIM | SCALAR [* NUMBER]) */
static enum ws_status param_value(struct reader *r) {
  static const char *const names[] = {[WS_RT_U64] = "u64", [WS_RT_S64] = "s64", [WS_RT_U32] = "u32",
                                      [WS_RT_S32] = "s32", [WS_RT_F32] = "f32", [WS_RT_F64] = "f64"};
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, i;
  if (m->nparams == WS_RT_MAX_PARAMS) return BAD(r, "more than %d kernel parameters", WS_RT_MAX_PARAMS);
  struct ws_rt_param *p = &m->params[m->nparams];
  if (!ws_rt_take_word(&r->c, &s, &n)) return BAD(r, "param: expected a type and a source");
  for (i = 0; i < 6 && !ws_rt_equal(s, n, names[i]); i++) {
  }
  if (i == 6) return BAD(r, "param: unknown type '%.*s': expected u64, s64, u32, s32, f32 or f64", shown(n), s);
  p->type = (enum ws_rt_param_type)i;
  if (!ws_rt_take_name(&r->c, &s, &n)) return BAD(r, "param: expected the name of a tensor, dim or scalar");
  enum ws_status status = WS_OK;
  if (ws_rt_take_char(&r->c, '.')) {
    if (!find_tensor(m, s, n, &p->index)) return BAD(r, "param: no tensor above is called '%.*s'", shown(n), s);
    status = tensor_param(r, p);
  } else if (find_dim(m, s, n, &p->index)) {
    p->source = WS_RT_DIM;
  } else if (find_scalar(m, s, n, &p->index)) {
    status = scalar_param(r, p);
  } else {
    return BAD(r, "param: no dim or scalar above is called '%.*s'", shown(n), s);
  }
  if (status) return status;
  if (p->source != WS_RT_SCALAR && p->type >= WS_RT_F32)
    return BAD(r, "param: '%.*s' is an integer: expected type u64, s64, u32 or s32", shown(n), s);
  m->nparams++;
  return WS_OK;
}

/* FACTOR * FACTOR ...; FACTOR = (DIM | NUMBER) [/ NUMBER] */
static enum ws_status grid_value(struct reader *r) {
  struct ws_manifest *m = r->m;
  ws_rt_at_end(&r->c);
  m->info.grid = keep(m, r->c.p, (size_t)(r->c.end - r->c.p));
  do {
    if (m->nfactors == WS_RT_MAX_FACTORS) return BAD(r, "grid: more than %d factors", WS_RT_MAX_FACTORS);
    struct ws_rt_factor *f = &m->factors[m->nfactors++];
    const char *s;
    size_t n;
    if (ws_rt_take_name(&r->c, &s, &n)) {
      if (!find_dim(m, s, n, &f->dim)) return BAD(r, "grid: no tensor above has a dim '%.*s'", shown(n), s);
      f->is_dim = true;
    } else if (!ws_rt_take_integer(&r->c, &f->number)) {
      return BAD(r, "grid: expected the name of a dim or a number");
    }
    f->divisor = 1;
    if (ws_rt_take_char(&r->c, '/') && (!ws_rt_take_integer(&r->c, &f->divisor) || !f->divisor))
      return BAD(r, "grid: expected a number > 0 behind '/'");
  } while (ws_rt_take_char(&r->c, '*'));
  return WS_OK;
}

/* ---- lines ---- */

static const struct {
  const char *name;
  bool required, repeats;
  enum ws_status (*parse)(struct reader *r);
} keys[] = {
    {"tool", false, false, tool_value},         {"schedule", false, false, schedule_value},
    {"entry", true, false, entry_value},        {"target", true, false, target_value},
    {"problem", true, false, problem_value},    {"set", false, true, set_value},
    {"tensor", true, true, tensor_value},       {"scalar", false, true, scalar_value},
    {"multiple", false, true, multiple_value},  {"param", true, true, param_value},
    {"grid", true, false, grid_value},          {"block", true, false, block_value},
    {"shared", true, false, shared_value},      {"registers", false, false, registers_value},
    {"lse_base", false, false, lse_base_value}, {"checked", false, false, checked_value},
    {"require", false, true, require_value},
};
enum { NKEYS = sizeof keys / sizeof *keys };

/* Moves to the next line; false at the end of the text. */
static bool next_line(struct reader *r, const char **s, size_t *n) {
  if (r->next == r->end) return false;
  const char *stop = memchr(r->next, '\n', (size_t)(r->end - r->next));
  *s = r->next;
  *n = (size_t)((stop ? stop : r->end) - r->next);
  r->next = stop ? stop + 1 : r->end;
  r->line++;
  return true;
}

static enum ws_status check_characters(struct reader *r, const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
      return BAD(r, "a control character (code %d) at column %zu", (unsigned char)s[i], i + 1);
  return WS_OK;
}

static enum ws_status read_line(struct reader *r, const char *s, size_t n, bool *seen) {
  if (check_characters(r, s, n)) return WS_ERR_MANIFEST;
  r->c = (struct ws_rt_cursor){s, s + n};
  const char *name;
  size_t length;
  if (n < 3 || memcmp(s, "// ", 3)) return BAD(r, "expected '// key: value' or '" LAST "', found '%.*s'", shown(n), s);
  r->c.p += 3;
  if (!ws_rt_take_name(&r->c, &name, &length) || !ws_rt_take_char(&r->c, ':'))
    return BAD(r, "expected '// key: value' or '" LAST "', found '%.*s'", shown(n), s);
  for (int i = 0; i < NKEYS; i++) {
    if (!ws_rt_equal(name, length, keys[i].name)) continue;
    if (seen[i] && !keys[i].repeats) return BAD(r, "a second '%s' line", keys[i].name);
    seen[i] = true;
    r->key = keys[i].name;
    if (keys[i].parse(r)) return WS_ERR_MANIFEST;
    if (!ws_rt_at_end(&r->c))
      return BAD(r, "%s: '%.*s' is left over at the end of the line", r->key, shown((size_t)(r->c.end - r->c.p)),
                 r->c.p);
    return WS_OK;
  }
  return WS_OK; /* of a newer tool, which promises that it does not matter for the launch */
}

static enum ws_status first_line(struct reader *r) {
  const char *s = "";
  size_t n = 0;
  int64_t version;
  if (!next_line(r, &s, &n) || n < strlen(FIRST) || memcmp(s, FIRST, strlen(FIRST)))
    return ws_rt_fail(r->err, WS_ERR_MANIFEST,
                      "no manifest: the first line is '%.*s', expected '" FIRST
                      "%d': only kernels written by warpscore can be loaded",
                      shown(n), s, WS_RT_MANIFEST_VERSION);
  r->c = (struct ws_rt_cursor){s + strlen(FIRST), s + n};
  if (!ws_rt_take_integer(&r->c, &version) || !ws_rt_at_end(&r->c))
    return BAD(r, "expected '" FIRST "%d', found '%.*s'", WS_RT_MANIFEST_VERSION, shown(n), s);
  if (version != WS_RT_MANIFEST_VERSION)
    return BAD(r,
               "manifest version %lld found, this loader reads version %d: use a libwarpscore that fits the generator",
               (long long)version, WS_RT_MANIFEST_VERSION);
  return WS_OK;
}

static enum ws_status check_complete(struct reader *r, const bool *seen) {
  struct ws_manifest *m = r->m;
  for (int i = 0; i < NKEYS; i++)
    if (keys[i].required && !seen[i]) return BAD(r, "the manifest ends without a '%s' line", keys[i].name);
  for (size_t t = 0; t < m->ntensors; t++)
    if (!r->data_seen[t])
      return BAD(r, "tensor %s has no 'param: u64 %s.data'", m->tensors[t].name, m->tensors[t].name);
  return WS_OK;
}

static enum ws_status read_manifest(struct reader *r) {
  bool seen[NKEYS] = {false};
  if (first_line(r)) return WS_ERR_MANIFEST;
  const char *s;
  size_t n;
  for (;;) {
    if (!next_line(r, &s, &n)) return BAD(r, "the text ends without '" LAST "'");
    if ((size_t)(r->next - r->text) > WS_RT_MAX_MANIFEST)
      return BAD(r, "no '" LAST "' within %d bytes", WS_RT_MAX_MANIFEST);
    if (ws_rt_equal(s, n, LAST)) return check_complete(r, seen);
    if (read_line(r, s, n, seen)) return WS_ERR_MANIFEST;
  }
}

/* ---- the code behind the manifest: .version and .target must be there and agree (PTX ISA, PTX Module Directives) ----
 */

static bool directive(const char *s, size_t n, const char *name, struct ws_rt_cursor *c) {
  size_t k = strlen(name);
  while (n && (*s == ' ' || *s == '\t')) s++, n--;
  if (n <= k || memcmp(s, name, k) || (s[k] != ' ' && s[k] != '\t')) return false;
  *c = (struct ws_rt_cursor){s + k + 1, s + n};
  return true;
}

static enum ws_status read_code(struct reader *r) {
  struct ws_kernel_info *info = &r->m->info;
  const char *s, *target;
  size_t n;
  bool code = false;
  int64_t major, minor;
  while (next_line(r, &s, &n)) {
    struct ws_rt_cursor c;
    if (n && s[n - 1] == '\r') n--;
    if (directive(s, n, ".version", &c)) {
      if (!ws_rt_take_word(&c, &s, &n)) n = 0;
      c = (struct ws_rt_cursor){s, s + n};
      const char *dot = memchr(s, '.', n);
      if (dot) c.end = dot;
      if (!dot || !ws_rt_take_integer(&c, &major) || major > 99)
        return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.version' without a version", r->line);
      c = (struct ws_rt_cursor){dot + 1, s + n};
      if (!ws_rt_take_integer(&c, &minor) || minor > 9)
        return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.version' without a version", r->line);
      info->ptx_major = (uint32_t)major;
      info->ptx_minor = (uint32_t)minor;
    } else if (directive(s, n, ".target", &c)) {
      if (!ws_rt_take_name(&c, &target, &n) || !ws_rt_equal(target, n, info->target))
        return ws_rt_fail(r->err, WS_ERR_MANIFEST,
                          "line %d: '.target %.*s' found, but the manifest says target %s: the file was altered",
                          r->line, shown(n), target, info->target);
      if (!info->ptx_major) return ws_rt_fail(r->err, WS_ERR_MANIFEST, "line %d: '.target' before '.version'", r->line);
      return WS_OK;
    }
    if (n && memcmp(s, "//", n < 2 ? n : 2)) code = true;
  }
  return code
             ? ws_rt_fail(r->err, WS_ERR_MANIFEST, "the code behind the manifest has no '.version' and '.target' lines")
             : WS_OK;
}

/* ---- public ---- */

enum ws_status ws_manifest_parse(const char *text, size_t length, struct ws_manifest **out, struct ws_error_info *err) {
  if (!text || !out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_manifest_parse: %s is NULL", text ? "out" : "text");
  *out = NULL;
  size_t head = length < WS_RT_MAX_MANIFEST ? length : WS_RT_MAX_MANIFEST;
  struct ws_manifest *m = calloc(1, sizeof *m);
  if (!m) return ws_rt_out_of_memory(err, sizeof *m);
  m->pool_size = 2 * head + 64; /* every kept word is a piece of a line and has a terminator; grids are kept twice */
  m->pool = malloc(m->pool_size);
  if (!m->pool) {
    free(m);
    return ws_rt_out_of_memory(err, 2 * head + 64);
  }
  m->info.schedule = m->info.tool = m->info.lse_base = "";
  m->info.checked = "no";
  struct reader r = {.m = m, .text = text, .end = text + length, .next = text, .err = err};
  enum ws_status status = read_manifest(&r);
  if (!status) status = read_code(&r);
  if (status) {
    ws_manifest_free(m);
    return status;
  }
  *out = m;
  return WS_OK;
}

enum ws_status ws_manifest_read(const char *path, struct ws_manifest **out, struct ws_error_info *err) {
  char *text;
  size_t length;
  if (out) *out = NULL;
  enum ws_status status = ws_rt_read_file(path, &text, &length, err);
  if (status) return status;
  status = ws_manifest_parse(text, length, out, err);
  free(text);
  return status;
}

void ws_manifest_free(struct ws_manifest *m) {
  if (!m) return;
  free(m->pool);
  free(m);
}

const struct ws_kernel_info *ws_manifest_kernel(const struct ws_manifest *m) { return &m->info; }

const struct ws_tensor_info *ws_manifest_tensor(const struct ws_manifest *m, size_t i) {
  return i < m->ntensors ? &m->tensors[i] : NULL;
}

const struct ws_scalar_info *ws_manifest_scalar(const struct ws_manifest *m, size_t i) {
  return i < m->nscalars ? &m->scalars[i] : NULL;
}

const char *ws_manifest_setting(const struct ws_manifest *m, const char *name) {
  for (size_t i = 0; i < m->nsettings; i++)
    if (!strcmp(m->settings[i].name, name)) return m->settings[i].value;
  return NULL;
}

const char *ws_manifest_setting_at(const struct ws_manifest *m, size_t i, const char **value) {
  if (i >= m->nsettings) return NULL;
  if (value) *value = m->settings[i].value;
  return m->settings[i].name;
}
