/* A launch held against the manifest: every tensor, dim, stride and scalar, the workspace, then the kernel's parameters
 * and the grid. No allocation and no driver call, so that a launch stays cheap and can be captured. */
#include "runtime.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MAX_GRID = 0x7fffffff, /* CTAs along x: CUDA's limit since compute capability 3.0 */
  WORKSPACE_ALIGN = 256  /* of the block and of each tensor in it, as cuMemAlloc's */
};

struct arguments {
  const struct ws_manifest *m;
  const struct ws_tensor *tensors[WS_RT_MAX_TENSORS];
  struct ws_tensor carved[WS_RT_MAX_TENSORS];     /* workspace tensors that the launch leaves to the loader */
  int64_t carved_shape[WS_RT_MAX_TENSORS][WS_MAX_RANK];
  size_t workspace_bytes;
  bool planning;                                  /* addresses do not matter */
  int64_t stride[WS_RT_MAX_TENSORS][WS_MAX_RANK]; /* bytes */
  int64_t extent[WS_RT_MAX_DIMS];                 /* of named dims */
  size_t bound_by[WS_RT_MAX_DIMS];                /* tensor, or ntensors while unbound */
  double scalars[WS_RT_MAX_SCALARS];
  struct ws_error_info *err;
};

#define BAD(a, ...) ws_rt_fail((a)->err, WS_ERR_ARGUMENT, __VA_ARGS__)

/* ---- words for messages ---- */

static const char *tensor_names(const struct ws_manifest *m, char *out, size_t size) {
  size_t n = 0;
  *out = 0;
  for (size_t i = 0; i < m->ntensors && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", m->tensors[i].name);
  return out;
}

static const char *dim_list(const struct ws_tensor_info *t, char *out, size_t size) {
  size_t n = (size_t)snprintf(out, size, "[");
  for (int d = 0; d < t->rank && n < size; d++) {
    const char *comma = d ? ", " : "";
    n += (size_t)(t->dims[d].name ? snprintf(out + n, size - n, "%s%s", comma, t->dims[d].name)
                                  : snprintf(out + n, size - n, "%s%lld", comma, (long long)t->dims[d].extent));
  }
  if (n < size) snprintf(out + n, size - n, "]");
  return out;
}

const char *ws_rt_dim_word(const struct ws_tensor_info *t, int d, char *out, size_t size) {
  if (t->dims[d].name)
    snprintf(out, size, "dim %d (%s)", d, t->dims[d].name);
  else
    snprintf(out, size, "dim %d", d);
  return out;
}

/* ---- which tensor is which ---- */

static enum ws_status match_tensors(struct arguments *a, const struct ws_launch *launch) {
  const struct ws_manifest *m = a->m;
  char list[256];
  if (launch->ntensors && !launch->tensors)
    return BAD(a, "the launch has %zu tensors, but the array is NULL", launch->ntensors);
  for (size_t i = 0; i < launch->ntensors; i++) {
    const struct ws_tensor *t = &launch->tensors[i];
    if (!t->name) return BAD(a, "tensor number %zu of the launch has no name", i);
    size_t k = 0;
    while (k < m->ntensors && strcmp(m->tensors[k].name, t->name)) k++;
    if (k == m->ntensors)
      return BAD(a, "tensor '%.80s': the kernel has no such tensor; it has %s", t->name,
                 tensor_names(m, list, sizeof list));
    if (a->tensors[k]) return BAD(a, "tensor %s is given twice", m->tensors[k].name);
    a->tensors[k] = t;
  }
  for (size_t k = 0; k < m->ntensors; k++)
    if (!a->tensors[k] && m->tensors[k].direction != WS_WORKSPACE)
      return BAD(a, "tensor %s is missing: the kernel needs %s", m->tensors[k].name,
                 tensor_names(m, list, sizeof list));
  return WS_OK;
}

/* ---- shapes ---- */

static enum ws_status bind_dim(struct arguments *a, size_t k, int d) {
  const struct ws_tensor_info *info = &a->m->tensors[k];
  int64_t extent = a->tensors[k]->shape[d];
  char word[128];
  if (extent < 0)
    return BAD(a, "tensor %s: %s: extent %lld found, expected 0 or more", info->name,
               ws_rt_dim_word(info, d, word, sizeof word), (long long)extent);
  if (!info->dims[d].name) {
    if (extent == info->dims[d].extent) return WS_OK;
    return BAD(a, "tensor %s: %s: extent %lld found, expected %lld: the kernel is generated for this extent alone",
               info->name, ws_rt_dim_word(info, d, word, sizeof word), (long long)extent, (long long)info->dims[d].extent);
  }
  size_t index = a->m->dim_of[k][d];
  if (a->bound_by[index] == a->m->ntensors) {
    a->bound_by[index] = k;
    a->extent[index] = extent;
  } else if (a->extent[index] != extent) {
    return BAD(a, "tensor %s: %s: extent %lld found, expected %lld as in tensor %s", info->name,
               ws_rt_dim_word(info, d, word, sizeof word), (long long)extent, (long long)a->extent[index],
               a->m->tensors[a->bound_by[index]].name);
  }
  return WS_OK;
}

static enum ws_status bind_shapes(struct arguments *a) {
  const struct ws_manifest *m = a->m;
  char list[256];
  for (size_t i = 0; i < m->ndims; i++) a->bound_by[i] = m->ntensors;
  for (size_t k = 0; k < m->ntensors; k++) {
    const struct ws_tensor_info *info = &m->tensors[k];
    const struct ws_tensor *t = a->tensors[k];
    if (!t) continue; /* to be carved */
    if (t->type != WS_DTYPE_NONE && t->type != info->type && !ws_dtype_size(t->type))
      return BAD(a, "tensor %s: type number %d found, which is none of enum ws_dtype", info->name, (int)t->type);
    if (t->type != WS_DTYPE_NONE && t->type != info->type)
      return BAD(a, "tensor %s: type %s found, expected %s: convert it, or generate the kernel for that type",
                 info->name, ws_dtype_name(t->type), ws_dtype_name(info->type));
    if (t->rank != info->rank)
      return BAD(a, "tensor %s: rank %d found, expected %d: %s", info->name, t->rank, info->rank,
                 dim_list(info, list, sizeof list));
    if (!t->shape) return BAD(a, "tensor %s: its shape is NULL", info->name);
    for (int d = 0; d < info->rank; d++)
      if (bind_dim(a, k, d)) return WS_ERR_ARGUMENT;
  }
  for (size_t i = 0; i < m->nmultiples; i++) {
    size_t x = m->multiples[i].dim, y = m->multiples[i].of;
    int64_t have = a->extent[x], of = a->extent[y];
    if (a->bound_by[x] == m->ntensors || a->bound_by[y] == m->ntensors) continue;
    int64_t n = m->multiples[i].ratio;
    if (n && (have % n || have / n != of))
      return BAD(a, "%s (%lld, from tensor %s) must be %lld times %s (%lld, from tensor %s): the kernel was generated for that", m->dims[x],
                 (long long)have, m->tensors[a->bound_by[x]].name, (long long)n, m->dims[y], (long long)of,
                 m->tensors[a->bound_by[y]].name);
    if (of ? have % of : have)
      return BAD(a, "%s (%lld, from tensor %s) must be a multiple of %s (%lld, from tensor %s)", m->dims[x],
                 (long long)have, m->tensors[a->bound_by[x]].name, m->dims[y], (long long)of,
                 m->tensors[a->bound_by[y]].name);
  }
  return WS_OK;
}

/* ---- strides ---- */

static bool empty(const struct arguments *a, size_t k) {
  for (int d = 0; d < a->m->tensors[k].rank; d++)
    if (!a->tensors[k]->shape[d]) return true;
  return false;
}

static enum ws_status too_large(struct arguments *a, size_t k) {
  return BAD(a, "tensor %s: its extents and strides reach beyond 64-bit addresses", a->m->tensors[k].name);
}

/* One stride in elements -> a->stride in bytes. packed = the stride that the dim would have in a packed tensor. */
static enum ws_status take_stride(struct arguments *a, size_t k, int d, int64_t packed) {
  const struct ws_tensor_info *info = &a->m->tensors[k];
  const struct ws_tensor *t = a->tensors[k];
  int64_t size = (int64_t)ws_dtype_size(info->type), bytes = 0, stride = t->stride ? t->stride[d] : packed;
  char word[128];
  bool overflow = __builtin_mul_overflow(stride, size, &bytes);
  if (t->shape[d] <= 1) { /* never used: index 0 alone exists */
    a->stride[k][d] = overflow || bytes < 0 || bytes % info->align ? 0 : bytes;
    return WS_OK;
  }
  if (stride < 0)
    return BAD(a, "tensor %s: %s: stride %lld found, expected 0 or more: pass a copy without reversed dims", info->name,
               ws_rt_dim_word(info, d, word, sizeof word), (long long)stride);
  if (!info->strided[d] && stride != packed)
    return BAD(a,
               "tensor %s: %s: stride %lld found, expected %lld: the kernel takes no stride for this dim, pass a "
               "contiguous copy",
               info->name, ws_rt_dim_word(info, d, word, sizeof word), (long long)stride, (long long)packed);
  if (overflow) return too_large(a, k);
  if (info->strided[d] && bytes % info->align)
    return BAD(a,
               "tensor %s: %s: stride %lld elements = %lld bytes found, expected a multiple of %u bytes: pad the dims "
               "inside it",
               info->name, ws_rt_dim_word(info, d, word, sizeof word), (long long)stride, (long long)bytes, info->align);
  a->stride[k][d] = bytes;
  return WS_OK;
}

/* The packed stride grows from the last dim to the first; it is measured with the strides that inner dims really have.
 */
static enum ws_status take_strides(struct arguments *a, size_t k) {
  const struct ws_tensor_info *info = &a->m->tensors[k];
  const struct ws_tensor *t = a->tensors[k];
  int64_t packed = 1, size = (int64_t)ws_dtype_size(info->type);
  for (int d = info->rank - 1; d >= 0; d--) {
    if (take_stride(a, k, d, packed)) return WS_ERR_ARGUMENT;
    if (t->shape[d] > 1) packed = a->stride[k][d] / size;
    if (t->shape[d] > 1 && __builtin_mul_overflow(packed, t->shape[d], &packed)) return too_large(a, k);
  }
  return WS_OK;
}

/* The bytes from the first element to behind the last one must fit behind the address. */
static enum ws_status check_reach(struct arguments *a, size_t k) {
  const struct ws_tensor_info *info = &a->m->tensors[k];
  const struct ws_tensor *t = a->tensors[k];
  int64_t reach = (int64_t)ws_dtype_size(info->type), step;
  for (int d = 0; d < info->rank; d++)
    if (__builtin_mul_overflow(t->shape[d] - 1, a->stride[k][d], &step) || __builtin_add_overflow(reach, step, &reach))
      return too_large(a, k);
  uint64_t last;
  if (__builtin_add_overflow(t->data, (uint64_t)reach, &last)) return too_large(a, k);
  return WS_OK;
}

/* Sufficient for outputs without overlap: each stride steps over everything that the smaller strides span. */
static enum ws_status check_overlap(struct arguments *a, size_t k) {
  const struct ws_tensor_info *info = &a->m->tensors[k];
  const struct ws_tensor *t = a->tensors[k];
  int64_t size = (int64_t)ws_dtype_size(info->type), span = size;
  bool done[WS_MAX_RANK] = {false};
  for (int step = 0; step < info->rank; step++) {
    int next = -1;
    for (int d = info->rank - 1; d >= 0; d--)
      if (!done[d] && t->shape[d] > 1 && (next < 0 || a->stride[k][d] < a->stride[k][next])) next = d;
    if (next < 0) break;
    done[next] = true;
    if (a->stride[k][next] < span) {
      char word[128];
      return BAD(a,
                 "tensor %s: %s: stride %lld found, expected %lld or more: the elements of an output must not overlap",
                 info->name, ws_rt_dim_word(info, next, word, sizeof word), (long long)(a->stride[k][next] / size),
                 (long long)((span + size - 1) / size));
    }
    span += (t->shape[next] - 1) * a->stride[k][next];
  }
  return WS_OK;
}

static enum ws_status check_memory(struct arguments *a) {
  for (size_t k = 0; k < a->m->ntensors; k++) {
    const struct ws_tensor_info *info = &a->m->tensors[k];
    const struct ws_tensor *t = a->tensors[k];
    if (empty(a, k)) { /* nothing of it is touched: address and strides do not matter */
      memset(a->stride[k], 0, sizeof a->stride[k]);
      continue;
    }
    if (!t->data && !a->planning) return BAD(a, "tensor %s: its address is NULL, but none of its extents is 0", info->name);
    if (t->data % info->align)
      return BAD(a, "tensor %s: address 0x%llx found, expected a multiple of %u bytes", info->name,
                 (unsigned long long)t->data, info->align);
    if (take_strides(a, k) || check_reach(a, k)) return WS_ERR_ARGUMENT;
    if (info->direction != WS_IN && check_overlap(a, k)) return WS_ERR_ARGUMENT;
  }
  return WS_OK;
}

/* ---- workspace ---- */

/* The extent of every dim that a parameter or a workspace tensor uses has to come from a tensor of the launch. */
static enum ws_status carve_one(struct arguments *a, size_t k) {
  const struct ws_manifest *m = a->m;
  const struct ws_tensor_info *info = &m->tensors[k];
  int64_t bytes = (int64_t)ws_dtype_size(info->type), begin = (int64_t)a->workspace_bytes;
  bool overflow = false;
  for (int d = 0; d < info->rank; d++) {
    size_t index = m->dim_of[k][d];
    if (info->dims[d].name && a->bound_by[index] == m->ntensors)
      return BAD(a, "tensor %s: no tensor of the launch tells its dim %s: give %s itself", info->name, info->dims[d].name,
                 info->name);
    a->carved_shape[k][d] = info->dims[d].name ? a->extent[index] : info->dims[d].extent;
    overflow |= __builtin_mul_overflow(bytes, a->carved_shape[k][d], &bytes);
  }
  int64_t unit = info->align > WORKSPACE_ALIGN ? info->align : WORKSPACE_ALIGN, end;
  overflow |= __builtin_add_overflow(begin, bytes, &end) || __builtin_add_overflow(end, unit - 1, &end);
  if (overflow) return too_large(a, k);
  a->carved[k] = (struct ws_tensor){
      .name = info->name, .data = (uint64_t)begin, .type = info->type, .rank = info->rank, .shape = a->carved_shape[k]};
  a->tensors[k] = &a->carved[k];
  a->workspace_bytes = (size_t)(end / unit * unit);
  return WS_OK;
}

/* Workspace tensors that the launch leaves out lie packed in its block of workspace, one behind the other. */
static enum ws_status carve(struct arguments *a, const struct ws_launch *launch) {
  const struct ws_manifest *m = a->m;
  bool any = false;
  for (size_t k = 0; k < m->ntensors; k++) {
    if (a->tensors[k]) continue;
    if (carve_one(a, k)) return WS_ERR_ARGUMENT;
    any = true;
  }
  if (!any || a->planning || !a->workspace_bytes) return WS_OK;
  if (launch->workspace_bytes < a->workspace_bytes || !launch->workspace)
    return BAD(a, "workspace: %zu bytes found, expected at least %zu: ask ws_kernel_plan and give so much device memory",
               launch->workspace ? launch->workspace_bytes : (size_t)0, a->workspace_bytes);
  if (launch->workspace % WORKSPACE_ALIGN)
    return BAD(a, "workspace: address 0x%llx found, expected a multiple of %d bytes", (unsigned long long)launch->workspace,
               WORKSPACE_ALIGN);
  for (size_t k = 0; k < m->ntensors; k++)
    if (a->tensors[k] == &a->carved[k]) a->carved[k].data += launch->workspace;
  return WS_OK;
}

/* ---- scalars, parameters, grid ---- */

static enum ws_status take_scalars(struct arguments *a, const struct ws_launch *launch) {
  const struct ws_manifest *m = a->m;
  bool given[WS_RT_MAX_SCALARS] = {false};
  for (size_t i = 0; i < m->nscalars; i++) a->scalars[i] = m->scalars[i].value;
  if (launch->nscalars && !launch->scalars)
    return BAD(a, "the launch has %zu scalars, but the array is NULL", launch->nscalars);
  for (size_t i = 0; i < launch->nscalars; i++) {
    const struct ws_scalar *s = &launch->scalars[i];
    if (!s->name) return BAD(a, "scalar number %zu of the launch has no name", i);
    size_t k = 0;
    while (k < m->nscalars && strcmp(m->scalars[k].name, s->name)) k++;
    if (k == m->nscalars)
      return BAD(a, "scalar '%.80s': the kernel has no such scalar%s%s", s->name, m->nscalars ? "; its first is " : "",
                 m->nscalars ? m->scalars[0].name : "");
    if (given[k]) return BAD(a, "scalar %s is given twice", m->scalars[k].name);
    given[k] = true;
    if (!isfinite(s->value)) return BAD(a, "scalar %s: %g found, expected a finite number", s->name, s->value);
    /* Row maxima are taken before the scale, so it must not turn the order of the scores round. */
    if (!((float)s->value > 0) && !strcmp(s->name, "scale")) return BAD(a, "scalar scale: %g found, expected more than 0", s->value);
    a->scalars[k] = s->value;
  }
  return WS_OK;
}

static enum ws_status integer_value(struct arguments *a, const struct ws_rt_param *p, int64_t v,
                                    union ws_rt_value *out) {
  const struct ws_manifest *m = a->m;
  int64_t most = p->type == WS_RT_U32 ? UINT32_MAX : p->type == WS_RT_S32 ? INT32_MAX : INT64_MAX;
  if (v > most && p->source == WS_RT_DIM)
    return BAD(a, "%s (%lld, from tensor %s) is more than %lld, the most that the kernel's 32-bit parameter holds",
               m->dims[p->index], (long long)v, m->tensors[a->bound_by[p->index]].name, (long long)most);
  if (v > most)
    return BAD(a,
               "tensor %s: dim %d: stride %lld bytes found, expected at most %lld: the kernel's parameter has 32 bits",
               m->tensors[p->index].name, p->dim, (long long)v, (long long)most);
  if (p->type == WS_RT_U32)
    out->u32 = (uint32_t)v;
  else if (p->type == WS_RT_S32)
    out->s32 = (int32_t)v;
  else
    out->s64 = v;
  return WS_OK;
}

static enum ws_status scalar_value(struct arguments *a, const struct ws_rt_param *p, union ws_rt_value *out) {
  double v = a->scalars[p->index] * p->factor;
  const char *name = a->m->scalars[p->index].name;
  switch (p->type) {
  case WS_RT_F64: out->f64 = v; return WS_OK;
  case WS_RT_F32:
    if (!(fabs(v) <= 3.4028234663852886e38))
      return BAD(a, "scalar %s: %g found, which does not fit the kernel's f32 parameter", name, a->scalars[p->index]);
    out->f32 = (float)v;
    return WS_OK;
  default: break;
  }
  double least = p->type == WS_RT_S32 ? -0x1p31 : p->type == WS_RT_S64 ? -0x1p63 : 0;
  double beyond = p->type == WS_RT_S32   ? 0x1p31
                  : p->type == WS_RT_U32 ? 0x1p32
                  : p->type == WS_RT_S64 ? 0x1p63
                                         : 0x1p64;
  if (!(v >= least && v < beyond) || v != floor(v))
    return BAD(a, "scalar %s: %g found, expected an integer that fits the kernel's parameter", name,
               a->scalars[p->index]);
  if (p->type == WS_RT_S32)
    out->s32 = (int32_t)v;
  else if (p->type == WS_RT_U32)
    out->u32 = (uint32_t)v;
  else if (p->type == WS_RT_S64)
    out->s64 = (int64_t)v;
  else
    out->u64 = (uint64_t)v;
  return WS_OK;
}

static enum ws_status fill_params(struct arguments *a, union ws_rt_value *values) {
  for (size_t i = 0; i < a->m->nparams; i++) {
    const struct ws_rt_param *p = &a->m->params[i];
    enum ws_status status = WS_OK;
    values[i].u64 = 0;
    switch (p->source) {
    case WS_RT_DATA: values[i].u64 = a->tensors[p->index]->data; break;
    case WS_RT_STRIDE: status = integer_value(a, p, a->stride[p->index][p->dim], &values[i]); break;
    case WS_RT_DIM: status = integer_value(a, p, a->extent[p->index], &values[i]); break;
    case WS_RT_SCALAR: status = scalar_value(a, p, &values[i]); break;
    case WS_RT_TENSOR_MAP: break; /* the driver makes it of what fill_tiles says */
    }
    if (status) return status;
  }
  return WS_OK;
}

static enum ws_status fill_tiles(struct arguments *a, struct ws_rt_tiles *tiles) {
  for (size_t i = 0; i < a->m->nmaps; i++) {
    size_t k = a->m->maps[i].tensor;
    if (ws_rt_tiles(a->m, i, a->tensors[k], a->stride[k], &tiles[i], a->err)) return WS_ERR_ARGUMENT;
  }
  return WS_OK;
}

/* The multiprocessors that a persistent grid counts on. */
static enum ws_status count_sms(struct arguments *a, const struct ws_launch *launch, uint32_t device_sms, uint32_t *sms) {
  uint32_t have = launch->sm_count ? launch->sm_count : device_sms;
  if (device_sms && have > device_sms)
    return BAD(a, "sm_count: %u found, but the device has %u multiprocessors", have, device_sms);
  if (!have && a->m->info.persistent)
    return BAD(a, "sm_count: 0 found, but the grid %s depends on it: give the multiprocessors of the device",
               a->m->info.grid);
  if (have && launch->sm_margin >= have)
    return BAD(a, "sm_margin: %u found, expected less than the %u multiprocessors in use", launch->sm_margin, have);
  *sms = have ? have - launch->sm_margin : 0;
  return WS_OK;
}

/* A grid consists of whole clusters: a persistent one takes fewer CTAs, any other must come out even. */
static enum ws_status whole_clusters(struct arguments *a, uint64_t *grid) {
  uint64_t cluster = a->m->info.cluster, rest = *grid % cluster;
  if (!rest) return WS_OK;
  if (!a->m->info.persistent)
    return BAD(a, "the grid %s has %llu CTAs, expected a multiple of %llu, the CTAs of a cluster: give shapes that fill it",
               a->m->info.grid, (unsigned long long)*grid, (unsigned long long)cluster);
  *grid = *grid > cluster ? *grid - rest : cluster;
  return WS_OK;
}

static enum ws_status compute_grid(struct arguments *a, uint32_t sms, uint64_t *grid) {
  uint64_t product = 1, most = a->m->info.persistent ? (uint64_t)a->m->info.persistent * sms : UINT64_MAX;
  bool overflow = false;
  for (size_t i = 0; i < a->m->nfactors; i++) {
    const struct ws_rt_factor *f = &a->m->factors[i];
    uint64_t v = (uint64_t)(f->is_dim ? a->extent[f->dim] : f->number), by = (uint64_t)f->divisor;
    v = v / by + (v % by != 0);
    if (!v) {
      *grid = 0;
      return WS_OK;
    }
    overflow |= __builtin_mul_overflow(product, v, &product);
  }
  if (a->m->info.persistent && (overflow || product > most || !a->m->nfactors)) {
    *grid = most;
    return whole_clusters(a, grid);
  }
  if (overflow || product > MAX_GRID)
    return BAD(a, "the grid %s has more than 2^31 - 1 CTAs: launch in several parts, for instance over the batch",
               a->m->info.grid);
  *grid = product;
  return whole_clusters(a, grid);
}

enum ws_status ws_rt_arguments(const struct ws_manifest *m, const struct ws_launch *launch, struct ws_rt_call *call,
                               struct ws_error_info *err) {
  struct arguments a;
  a.m = m, a.err = err, a.planning = call->planning, a.workspace_bytes = 0;
  memset(a.tensors, 0, sizeof a.tensors); /* the rest is written before it is read: no time for all of it */
  if (!launch) return BAD(&a, "the launch is NULL");
  if (match_tensors(&a, launch) || bind_shapes(&a) || carve(&a, launch) || check_memory(&a) || take_scalars(&a, launch))
    return WS_ERR_ARGUMENT;
  if (count_sms(&a, launch, call->device_sms, &call->sms) || compute_grid(&a, call->sms, &call->grid)) return WS_ERR_ARGUMENT;
  call->workspace_bytes = a.workspace_bytes;
  return fill_tiles(&a, call->tiles) ? WS_ERR_ARGUMENT : fill_params(&a, call->values);
}

enum ws_status ws_manifest_check_launch(const struct ws_manifest *m, const struct ws_launch *launch, uint64_t *grid,
                                        struct ws_error_info *err) {
  struct ws_rt_call call = {.device_sms = grid ? 0 : UINT32_MAX};
  if (!m) return ws_rt_fail(err, WS_ERR_ARGUMENT, "the manifest is NULL");
  enum ws_status status = ws_rt_arguments(m, launch, &call, err);
  if (!status && grid) *grid = call.grid;
  return status;
}
