/* The values of the manifest's keys, each with its parser; the table at the end is the list of keys. */
#include "manifest.h"
#include <math.h>
#include <string.h>

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

const char *ws_rt_keep(struct ws_manifest *m, const char *s, size_t n) {
  char *p = m->pool + m->pool_used;
  memcpy(p, s, n);
  p[n] = 0;
  m->pool_used += n + 1;
  return p;
}

bool ws_rt_find_tensor(const struct ws_manifest *m, const char *s, size_t n, size_t *index) {
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

static enum ws_status take_type(struct ws_rt_reader *r, enum ws_dtype *type) {
  const char *s;
  size_t n;
  if (!ws_rt_take_word(&r->c, &s, &n)) return ws_rt_bad_line(r, "%s: a type is missing", r->key);
  for (int i = 0; i < NTYPES; i++)
    if (ws_rt_equal(s, n, types[i].name)) return *type = types[i].type, WS_OK;
  return ws_rt_bad_line(r, "%s: unknown type '%.*s': expected f16, bf16, f32, e4m3, e5m2 or i32", r->key,
                        ws_rt_shown(n), s);
}

static enum ws_status name_value(struct ws_rt_reader *r, const char **out) {
  const char *s;
  size_t n;
  if (!ws_rt_take_word(&r->c, &s, &n)) return ws_rt_bad_line(r, "%s: the value is missing", r->key);
  *out = ws_rt_keep(r->m, s, n);
  return WS_OK;
}

static enum ws_status line_value(struct ws_rt_reader *r, const char **out) {
  if (ws_rt_at_end(&r->c)) return ws_rt_bad_line(r, "%s: the value is missing", r->key);
  *out = ws_rt_keep(r->m, r->c.p, (size_t)(r->c.end - r->c.p));
  r->c.p = r->c.end;
  return WS_OK;
}

static enum ws_status entry_value(struct ws_rt_reader *r) {
  const char *s;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "entry: expected the name of a kernel");
  r->m->info.entry = ws_rt_keep(r->m, s, n);
  return WS_OK;
}

static enum ws_status target_value(struct ws_rt_reader *r) {
  if (name_value(r, &r->m->info.target)) return WS_ERR_MANIFEST;
  char reason[64];
  ws_rt_target_runs(r->m->info.target, 0, 0, reason, sizeof reason);
  if (!*reason) return ws_rt_bad_line(r, "target: '%.80s' is no target: expected sm_80 or the like", r->m->info.target);
  return WS_OK;
}

static enum ws_status problem_value(struct ws_rt_reader *r) { return name_value(r, &r->m->info.problem); }
static enum ws_status schedule_value(struct ws_rt_reader *r) { return name_value(r, &r->m->info.schedule); }
static enum ws_status tool_value(struct ws_rt_reader *r) { return line_value(r, &r->m->info.tool); }

static enum ws_status one_of(struct ws_rt_reader *r, const char **out, const char *const *choices, const char *list) {
  if (name_value(r, out)) return WS_ERR_MANIFEST;
  for (; *choices; choices++)
    if (!strcmp(*out, *choices)) return WS_OK;
  return ws_rt_bad_line(r, "%s: '%.80s' found, expected %s", r->key, *out, list);
}

static enum ws_status lse_base_value(struct ws_rt_reader *r) {
  static const char *const choices[] = {"e", "2", NULL};
  return one_of(r, &r->m->info.lse_base, choices, "e or 2");
}

static enum ws_status checked_value(struct ws_rt_reader *r) {
  static const char *const choices[] = {"clean", "review", "no", NULL};
  return one_of(r, &r->m->info.checked, choices, "clean, review or no");
}

static enum ws_status bounded(struct ws_rt_reader *r, uint32_t *out, int64_t low, int64_t high) {
  int64_t v;
  if (!ws_rt_take_integer(&r->c, &v) || v < low || v > high)
    return ws_rt_bad_line(r, "%s: expected a number from %lld to %lld", r->key, (long long)low, (long long)high);
  *out = (uint32_t)v;
  return WS_OK;
}

static enum ws_status block_value(struct ws_rt_reader *r) { return bounded(r, &r->m->info.block, 1, 1024); }
static enum ws_status shared_value(struct ws_rt_reader *r) { return bounded(r, &r->m->info.shared, 0, 1 << 24); }
static enum ws_status cluster_value(struct ws_rt_reader *r) { return bounded(r, &r->m->info.cluster, 1, 16); }
static enum ws_status registers_value(struct ws_rt_reader *r) { return bounded(r, &r->m->info.registers, 0, 65536); }

/* A feature that a loader has to have to launch this kernel at all. */
static enum ws_status require_value(struct ws_rt_reader *r) {
  static const char *const known[] = {"map", "cluster", "persistent", "ratio", "groups"}; /* the keys that version 1 began without */
  const char *s = "";
  if (name_value(r, &s)) return WS_ERR_MANIFEST;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(s, known[i])) return WS_OK;
  return ws_rt_bad_line(r, "the kernel needs '%.80s', which this loader (%s) does not have: use a newer libwarpscore",
                        s, ws_version());
}

static enum ws_status set_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n;
  if (m->nsettings == WS_RT_MAX_SETTINGS) return ws_rt_bad_line(r, "more than %d 'set' lines", WS_RT_MAX_SETTINGS);
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "set: expected a name and a value");
  for (size_t i = 0; i < m->nsettings; i++)
    if (ws_rt_equal(s, n, m->settings[i].name)) return ws_rt_bad_line(r, "set: '%.*s' is set twice", ws_rt_shown(n), s);
  m->settings[m->nsettings].name = ws_rt_keep(m, s, n);
  if (line_value(r, &m->settings[m->nsettings].value)) return WS_ERR_MANIFEST;
  m->nsettings++;
  return WS_OK;
}

static enum ws_status take_dim(struct ws_rt_reader *r, struct ws_tensor_info *t) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  struct ws_dim_info *dim = &t->dims[t->rank];
  if (ws_rt_take_integer(&r->c, &dim->extent)) {
    if (!dim->extent) return ws_rt_bad_line(r, "tensor %s: a fixed dim of extent 0", t->name);
  } else if (ws_rt_take_name(&r->c, &s, &n)) {
    if (!find_dim(m, s, n, &index)) {
      if (m->ndims == WS_RT_MAX_DIMS) return ws_rt_bad_line(r, "more than %d names of dims", WS_RT_MAX_DIMS);
      m->dims[m->ndims++] = ws_rt_keep(m, s, n);
    }
    for (int d = 0; d < t->rank; d++)
      if (t->dims[d].name == m->dims[index])
        return ws_rt_bad_line(r, "tensor %s: dim '%s' appears twice", t->name, m->dims[index]);
    dim->name = m->dims[index];
    m->dim_of[m->ntensors][t->rank] = index;
  } else {
    return ws_rt_bad_line(r, "tensor %s: expected the name or the extent of a dim", t->name);
  }
  t->rank++;
  return WS_OK;
}

static enum ws_status take_dims(struct ws_rt_reader *r, struct ws_tensor_info *t) {
  if (!ws_rt_take_char(&r->c, '[')) return ws_rt_bad_line(r, "tensor %s: expected its dims in [ ]", t->name);
  do {
    if (t->rank == WS_MAX_RANK) return ws_rt_bad_line(r, "tensor %s: more than %d dims", t->name, WS_MAX_RANK);
    if (take_dim(r, t)) return WS_ERR_MANIFEST;
  } while (ws_rt_take_char(&r->c, ','));
  if (!ws_rt_take_char(&r->c, ']')) return ws_rt_bad_line(r, "tensor %s: expected ',' or ']' after a dim", t->name);
  return WS_OK;
}

static enum ws_status take_direction(struct ws_rt_reader *r, struct ws_tensor_info *t) {
  static const char *const names[] = {
      [WS_IN] = "in", [WS_OUT] = "out", [WS_INOUT] = "inout", [WS_WORKSPACE] = "workspace"};
  const char *s;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n))
    return ws_rt_bad_line(r, "tensor %s: expected in, out, inout or workspace", t->name);
  for (int i = 0; i < 4; i++)
    if (ws_rt_equal(s, n, names[i])) return t->direction = (enum ws_direction)i, WS_OK;
  return ws_rt_bad_line(r, "tensor %s: '%.*s' found, expected in, out, inout or workspace", t->name, ws_rt_shown(n), s);
}

/* NAME in|out|inout|workspace TYPE [DIM, ...] align BYTES */
static enum ws_status tensor_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  if (m->ntensors == WS_RT_MAX_TENSORS) return ws_rt_bad_line(r, "more than %d tensors", WS_RT_MAX_TENSORS);
  struct ws_tensor_info *t = &m->tensors[m->ntensors];
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "tensor: expected a name");
  if (ws_rt_find_tensor(m, s, n, &index)) return ws_rt_bad_line(r, "tensor: '%.*s' is declared twice", ws_rt_shown(n), s);
  t->name = ws_rt_keep(m, s, n);
  if (take_direction(r, t) || take_type(r, &t->type) || take_dims(r, t)) return WS_ERR_MANIFEST;
  int64_t align;
  if (!ws_rt_take_name(&r->c, &s, &n) || !ws_rt_equal(s, n, "align") || !ws_rt_take_integer(&r->c, &align))
    return ws_rt_bad_line(r, "tensor %s: expected 'align BYTES' behind the dims", t->name);
  if (align < (int64_t)ws_dtype_size(t->type) || align > 4096 || (align & (align - 1)))
    return ws_rt_bad_line(r,
                          "tensor %s: align %lld found, expected a power of two from the element's %zu bytes to 4096",
                          t->name, (long long)align, ws_dtype_size(t->type));
  t->align = (uint32_t)align;
  m->ntensors++;
  return WS_OK;
}

/* NAME TYPE (rsqrt N | NUMBER) */
static enum ws_status scalar_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  if (m->nscalars == WS_RT_MAX_SCALARS) return ws_rt_bad_line(r, "more than %d scalars", WS_RT_MAX_SCALARS);
  struct ws_scalar_info *t = &m->scalars[m->nscalars];
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "scalar: expected a name");
  if (find_scalar(m, s, n, &index)) return ws_rt_bad_line(r, "scalar: '%.*s' is declared twice", ws_rt_shown(n), s);
  t->name = ws_rt_keep(m, s, n);
  if (take_type(r, &t->type)) return WS_ERR_MANIFEST;
  if (t->type != WS_DTYPE_F32 && t->type != WS_DTYPE_I32)
    return ws_rt_bad_line(r, "scalar %s: expected type f32 or i32", t->name);
  bool rsqrt = ws_rt_take_name(&r->c, &s, &n);
  if (rsqrt && !ws_rt_equal(s, n, "rsqrt"))
    return ws_rt_bad_line(r, "scalar %s: '%.*s' found, expected a number or 'rsqrt N'", t->name, ws_rt_shown(n), s);
  if (!ws_rt_take_number(&r->c, &t->value) || !isfinite(t->value) || (rsqrt && t->value <= 0))
    return ws_rt_bad_line(r, "scalar %s: expected a number or 'rsqrt N' with N > 0 as its default", t->name);
  if (rsqrt) t->value = 1 / sqrt(t->value);
  m->nscalars++;
  return WS_OK;
}

/* DIM OF: the first is a multiple of the second */
static enum ws_status multiple_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  if (m->nmultiples == WS_RT_MAX_MULTIPLES)
    return ws_rt_bad_line(r, "more than %d 'multiple' and 'ratio' lines", WS_RT_MAX_MULTIPLES);
  size_t which[2];
  for (int i = 0; i < 2; i++) {
    const char *s;
    size_t n;
    if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "%s: expected the names of two dims", r->key);
    if (!find_dim(m, s, n, &which[i]))
      return ws_rt_bad_line(r, "%s: no tensor above has a dim '%.*s'", r->key, ws_rt_shown(n), s);
  }
  m->multiples[m->nmultiples].dim = which[0];
  m->multiples[m->nmultiples].ratio = 0;
  m->multiples[m->nmultiples++].of = which[1];
  return WS_OK;
}

/* DIM OF N: the first is N times the second */
static enum ws_status ratio_value(struct ws_rt_reader *r) {
  int64_t n;
  if (multiple_value(r)) return WS_ERR_MANIFEST;
  if (!ws_rt_take_integer(&r->c, &n) || n < 1) return ws_rt_bad_line(r, "ratio: expected a number > 0 behind the two dims");
  r->m->multiples[r->m->nmultiples - 1].ratio = n;
  return WS_OK;
}

/* The stride of one named dim of tensor `index`: ".stride.DIM" is read up to DIM. */
static enum ws_status stride_param(struct ws_rt_reader *r, struct ws_rt_param *p) {
  struct ws_tensor_info *t = &r->m->tensors[p->index];
  const char *s;
  size_t n;
  if (!ws_rt_take_char(&r->c, '.') || !ws_rt_take_name(&r->c, &s, &n))
    return ws_rt_bad_line(r, "param: expected '%s.stride.DIM'", t->name);
  for (int d = 0; d < t->rank; d++)
    if (t->dims[d].name && ws_rt_equal(s, n, t->dims[d].name)) {
      p->source = WS_RT_STRIDE;
      p->dim = d;
      t->strided[d] = 1;
      return WS_OK;
    }
  return ws_rt_bad_line(r, "param: tensor %s has no dim '%.*s'", t->name, ws_rt_shown(n), s);
}

static enum ws_status tensor_param(struct ws_rt_reader *r, struct ws_rt_param *p) {
  const char *s, *tensor = r->m->tensors[p->index].name;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n))
    return ws_rt_bad_line(r, "param: expected '%s.data' or '%s.stride.DIM'", tensor, tensor);
  if (ws_rt_equal(s, n, "stride")) return stride_param(r, p);
  if (!ws_rt_equal(s, n, "data"))
    return ws_rt_bad_line(r, "param: '%s.%.*s' found, expected '%s.data' or '%s.stride.DIM'", tensor, ws_rt_shown(n), s,
                          tensor, tensor);
  if (p->type != WS_RT_U64) return ws_rt_bad_line(r, "param: %s.data is an address: expected type u64", tensor);
  p->source = WS_RT_DATA;
  r->data_seen[p->index] = true;
  return WS_OK;
}

static enum ws_status scalar_param(struct ws_rt_reader *r, struct ws_rt_param *p) {
  p->source = WS_RT_SCALAR;
  p->factor = 1;
  if (ws_rt_take_char(&r->c, '*') && (!ws_rt_take_number(&r->c, &p->factor) || !isfinite(p->factor)))
    return ws_rt_bad_line(r, "param: expected a number behind '*'");
  return WS_OK;
}

const char *const ws_rt_param_types[WS_RT_PARAM_TYPES] = {[WS_RT_U64] = "u64", [WS_RT_S64] = "s64", [WS_RT_U32] = "u32",
                                                          [WS_RT_S32] = "s32", [WS_RT_F32] = "f32", [WS_RT_F64] = "f64",
                                                          [WS_RT_MAP] = "map"};

/* TYPE (TENSOR.data | TENSOR.stride.DIM | DIM | SCALAR [* NUMBER]), or map MAP */
static enum ws_status param_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, i;
  if (m->nparams == WS_RT_MAX_PARAMS) return ws_rt_bad_line(r, "more than %d kernel parameters", WS_RT_MAX_PARAMS);
  struct ws_rt_param *p = &m->params[m->nparams];
  if (!ws_rt_take_word(&r->c, &s, &n)) return ws_rt_bad_line(r, "param: expected a type and a source");
  for (i = 0; i < WS_RT_PARAM_TYPES && !ws_rt_equal(s, n, ws_rt_param_types[i]); i++) {
  }
  if (i == WS_RT_PARAM_TYPES)
    return ws_rt_bad_line(r, "param: unknown type '%.*s': expected u64, s64, u32, s32, f32, f64 or map", ws_rt_shown(n), s);
  p->type = (enum ws_rt_param_type)i;
  if (p->type == WS_RT_MAP) {
    if (ws_rt_map_param(r, p)) return WS_ERR_MANIFEST;
    m->nparams++;
    return WS_OK;
  }
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "param: expected the name of a tensor, dim or scalar");
  enum ws_status status = WS_OK;
  if (ws_rt_take_char(&r->c, '.')) {
    if (!ws_rt_find_tensor(m, s, n, &p->index))
      return ws_rt_bad_line(r, "param: no tensor above is called '%.*s'", ws_rt_shown(n), s);
    status = tensor_param(r, p);
  } else if (find_dim(m, s, n, &p->index)) {
    p->source = WS_RT_DIM;
  } else if (find_scalar(m, s, n, &p->index)) {
    status = scalar_param(r, p);
  } else {
    return ws_rt_bad_line(r, "param: no dim or scalar above is called '%.*s'", ws_rt_shown(n), s);
  }
  if (status) return status;
  if (p->source != WS_RT_SCALAR && p->type >= WS_RT_F32)
    return ws_rt_bad_line(r, "param: '%.*s' is an integer: expected type u64, s64, u32 or s32", ws_rt_shown(n), s);
  m->nparams++;
  return WS_OK;
}

/* CTAs for each multiprocessor: behind 'persistent' in the grid's line, or in a line of its own that says the same. */
static enum ws_status take_persistent(struct ws_rt_reader *r) {
  if (r->m->info.persistent) return ws_rt_bad_line(r, "%s: another line says already that the grid is persistent", r->key);
  return bounded(r, &r->m->info.persistent, 1, 32);
}

/* persistent NUMBER [of ...]: so many CTAs for each multiprocessor in use, but no more than there is work. */
static enum ws_status persistent_value(struct ws_rt_reader *r, bool *more) {
  const char *s;
  size_t n;
  struct ws_rt_cursor before = r->c;
  *more = true;
  if (!ws_rt_take_name(&r->c, &s, &n) || !ws_rt_equal(s, n, "persistent")) {
    r->c = before;
    return WS_OK;
  }
  if (take_persistent(r)) return WS_ERR_MANIFEST;
  *more = ws_rt_take_name(&r->c, &s, &n);
  return *more && !ws_rt_equal(s, n, "of")
             ? ws_rt_bad_line(r, "grid: '%.*s' found, expected 'of' behind 'persistent N'", ws_rt_shown(n), s)
             : WS_OK;
}

/* [persistent NUMBER [of]] FACTOR * FACTOR ...; FACTOR = (DIM | NUMBER) [/ NUMBER] */
static enum ws_status grid_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  bool more;
  ws_rt_at_end(&r->c);
  m->info.grid = ws_rt_keep(m, r->c.p, (size_t)(r->c.end - r->c.p));
  if (persistent_value(r, &more)) return WS_ERR_MANIFEST;
  if (!more) return WS_OK;
  do {
    if (m->nfactors == WS_RT_MAX_FACTORS) return ws_rt_bad_line(r, "grid: more than %d factors", WS_RT_MAX_FACTORS);
    struct ws_rt_factor *f = &m->factors[m->nfactors++];
    const char *s;
    size_t n;
    if (ws_rt_take_name(&r->c, &s, &n)) {
      if (!find_dim(m, s, n, &f->dim))
        return ws_rt_bad_line(r, "grid: no tensor above has a dim '%.*s'", ws_rt_shown(n), s);
      f->is_dim = true;
    } else if (!ws_rt_take_integer(&r->c, &f->number)) {
      return ws_rt_bad_line(r, "grid: expected the name of a dim or a number");
    }
    f->divisor = 1;
    if (ws_rt_take_char(&r->c, '/') && (!ws_rt_take_integer(&r->c, &f->divisor) || !f->divisor))
      return ws_rt_bad_line(r, "grid: expected a number > 0 behind '/'");
  } while (ws_rt_take_char(&r->c, '*'));
  return WS_OK;
}

const struct ws_rt_key ws_rt_keys[WS_RT_KEYS] = {
    {"tool", false, false, tool_value},         {"schedule", false, false, schedule_value},
    {"entry", true, false, entry_value},        {"target", true, false, target_value},
    {"problem", true, false, problem_value},    {"set", false, true, set_value},
    {"tensor", true, true, tensor_value},       {"scalar", false, true, scalar_value},
    {"multiple", false, true, multiple_value},  {"param", true, true, param_value},
    {"grid", true, false, grid_value},          {"block", true, false, block_value},
    {"shared", true, false, shared_value},      {"registers", false, false, registers_value},
    {"lse_base", false, false, lse_base_value}, {"checked", false, false, checked_value},
    {"require", false, true, require_value},    {"map", false, true, ws_rt_map_value},
    {"cluster", false, false, cluster_value},   {"persistent", false, false, take_persistent},
    {"ratio", false, true, ratio_value},
};
