/* Tensor maps in the manifest: what of a map is fixed when a kernel is written is held against the hardware's limits here.
 * (CUDA Driver API, Tensor Map Object Management; PTX ISA, Tensors.) */
#include "manifest.h"
#include <string.h>

static size_t element_bytes(const struct ws_rt_reader *r, const struct ws_rt_map *map) {
  return ws_dtype_size(r->m->tensors[map->tensor].type);
}

static bool find_map(const struct ws_manifest *m, const char *s, size_t n, size_t *index) {
  for (*index = 0; *index < m->nmaps; ++*index)
    if (ws_rt_equal(s, n, m->maps[*index].name)) return true;
  return false;
}

/* One dim of the map -> the tensor's; taken = those that the map has already. Of equal numbers the first that is left. */
static enum ws_status take_dim(struct ws_rt_reader *r, const struct ws_rt_map *map, bool *taken, int *dim) {
  const struct ws_tensor_info *t = &r->m->tensors[map->tensor];
  const char *s = r->c.p;
  size_t n = 0;
  int64_t extent = 0;
  if (!ws_rt_take_integer(&r->c, &extent) && !ws_rt_take_name(&r->c, &s, &n))
    return ws_rt_bad_line(r, "map %s: expected the name or the extent of a dim of tensor %s", map->name, t->name);
  for (int d = 0; d < t->rank; d++) {
    bool same = n ? t->dims[d].name && ws_rt_equal(s, n, t->dims[d].name) : !t->dims[d].name && t->dims[d].extent == extent;
    if (!same || taken[d]) continue;
    taken[d] = true;
    *dim = d;
    return WS_OK;
  }
  if (n) return ws_rt_bad_line(r, "map %s: tensor %s has no dim '%.*s' that is left", map->name, t->name, ws_rt_shown(n), s);
  return ws_rt_bad_line(r, "map %s: tensor %s has no dim of extent %lld that is left", map->name, t->name, (long long)extent);
}

/* [DIM, ...]: all of the tensor's, outermost first; kept innermost first. A map takes no stride of its innermost dim. */
static enum ws_status take_dims(struct ws_rt_reader *r, struct ws_rt_map *map) {
  const struct ws_tensor_info *t = &r->m->tensors[map->tensor];
  bool taken[WS_MAX_RANK] = {false};
  if (t->rank > WS_RT_MAP_RANK)
    return ws_rt_bad_line(r, "map %s: tensor %s: rank %d found, expected at most %d: merge dims, or pass its address", map->name,
                          t->name, t->rank, WS_RT_MAP_RANK);
  map->rank = t->rank, map->sole = -1;
  for (int i = t->rank - 1; i >= 0; i--) {
    map->inside[i] = 0, map->step[i] = 1;
    if (!ws_rt_take_char(&r->c, i == t->rank - 1 ? '[' : ','))
      return ws_rt_bad_line(r, "map %s: expected the %d dims of tensor %s in [ ]", map->name, t->rank, t->name);
    if (take_dim(r, map, taken, &map->dim[i])) return WS_ERR_MANIFEST;
  }
  if (!ws_rt_take_char(&r->c, ']')) return ws_rt_bad_line(r, "map %s: expected ']' behind %d dims", map->name, t->rank);
  if (map->dim[0] != t->rank - 1)
    return ws_rt_bad_line(r, "map %s: its innermost dim must be the last one of tensor %s, the only one of stride 1", map->name, t->name);
  return WS_OK;
}

static bool take_key(struct ws_rt_reader *r, const char *key) {
  struct ws_rt_cursor before = r->c;
  const char *s;
  size_t n;
  if (ws_rt_take_name(&r->c, &s, &n) && ws_rt_equal(s, n, key)) return true;
  r->c = before;
  return false;
}

/* box [N, ...] */
static enum ws_status take_box(struct ws_rt_reader *r, struct ws_rt_map *map) {
  if (!take_key(r, "box")) return ws_rt_bad_line(r, "map %s: expected 'box [N, ...]' behind the dims", map->name);
  for (int i = map->rank - 1; i >= 0; i--) {
    int64_t n;
    if (!ws_rt_take_char(&r->c, i == map->rank - 1 ? '[' : ',') || !ws_rt_take_integer(&r->c, &n))
      return ws_rt_bad_line(r, "map %s: expected the %d extents of its box in [ ]", map->name, map->rank);
    if (n < 1 || n > 256)
      return ws_rt_bad_line(r, "map %s: box extent %lld found, expected 1 to 256: take several boxes", map->name, (long long)n);
    map->box[i] = (uint32_t)n;
  }
  if (!ws_rt_take_char(&r->c, ']')) return ws_rt_bad_line(r, "map %s: expected ']' behind %d extents", map->name, map->rank);
  uint64_t inner = map->box[0] * element_bytes(r, map);
  if (inner % 16)
    return ws_rt_bad_line(r, "map %s: the box is %llu bytes wide, expected a multiple of 16", map->name, (unsigned long long)inner);
  return WS_OK;
}

/* A number of bytes that the driver has a constant for: its place in the list. */
static enum ws_status take_choice(struct ws_rt_reader *r, const struct ws_rt_map *map, const char *key, const int64_t *bytes,
                                  unsigned int *out) {
  int64_t v;
  if (!ws_rt_take_integer(&r->c, &v)) v = -1;
  for (*out = 0; *out < 4; ++*out)
    if (v == bytes[*out]) return WS_OK;
  return ws_rt_bad_line(r, "map %s: %s: expected %lld, %lld, %lld or %lld bytes", map->name, key, (long long)bytes[0],
                        (long long)bytes[1], (long long)bytes[2], (long long)bytes[3]);
}

/* groups 8: every 8 rows of the box lie together with all of their columns, in panels as wide as the swizzle. Its rows and columns are
 * two dims each then, and of the tensor's others the outermost has no place left:
 * {columns of a panel, 8 rows, panels, another dim, groups of 8 rows}. */
static enum ws_status split(struct ws_rt_reader *r, struct ws_rt_map *map, uint32_t panel) {
  enum { GROUP = 8 };
  const struct ws_tensor_info *t = &r->m->tensors[map->tensor];
  int64_t n = 0;
  int row = 0, others = 0, other = 0, last = map->dim[0];
  if (!ws_rt_take_integer(&r->c, &n) || n != GROUP) return ws_rt_bad_line(r, "map %s: groups: expected 8, the rows of a swizzle's pattern", map->name);
  for (int i = map->rank - 1; i > 0; i--) {
    if (map->box[i] > 1 && row) return ws_rt_bad_line(r, "map %s: groups: the box has more than one dim of rows", map->name);
    if (map->box[i] > 1) row = i;
    else if (others++) other = i;                         /* of two the inner one stays */
    else map->sole = map->dim[i], other = i;
  }
  if (others < 2) map->sole = -1;
  if (!row || map->box[row] % GROUP) return ws_rt_bad_line(r, "map %s: groups: the box must have a multiple of 8 rows", map->name);
  if (others < 1 || others > 2) return ws_rt_bad_line(r, "map %s: groups: expected a tensor of rank 3 or 4, found %d", map->name, map->rank);
  if (t->dims[last].name || t->dims[last].extent != map->box[0] || !panel || map->box[0] % panel)
    return ws_rt_bad_line(r, "map %s: groups: the box must have all columns of tensor %s, a multiple of the swizzle", map->name, t->name);
  const int dims[WS_RT_MAP_RANK] = {last, map->dim[row], last, map->dim[other], map->dim[row]};
  const uint32_t box[WS_RT_MAP_RANK] = {panel, GROUP, map->box[0] / panel, 1, map->box[row] / GROUP};
  const uint32_t inside[WS_RT_MAP_RANK] = {panel, GROUP}, step[WS_RT_MAP_RANK] = {1, 1, panel, 1, GROUP};
  map->rank = WS_RT_MAP_RANK;
  for (int i = 0; i < WS_RT_MAP_RANK; i++) map->dim[i] = dims[i], map->box[i] = box[i], map->inside[i] = inside[i], map->step[i] = step[i];
  return WS_OK;
}

/* swizzle BYTES [groups 8] [l2 BYTES] */
static enum ws_status take_modes(struct ws_rt_reader *r, struct ws_rt_map *map) {
  static const int64_t swizzles[4] = {0, 32, 64, 128}, promotions[4] = {0, 64, 128, 256};
  if (!take_key(r, "swizzle")) return ws_rt_bad_line(r, "map %s: expected 'swizzle BYTES' behind the box", map->name);
  if (take_choice(r, map, "swizzle", swizzles, &map->swizzle)) return WS_ERR_MANIFEST;
  if (take_key(r, "groups") && split(r, map, (uint32_t)((uint64_t)swizzles[map->swizzle] / element_bytes(r, map)))) return WS_ERR_MANIFEST;
  uint64_t inner = map->box[0] * element_bytes(r, map);
  if (map->swizzle && inner > (uint64_t)swizzles[map->swizzle])
    return ws_rt_bad_line(r, "map %s: the box is %llu bytes wide, expected at most the swizzle's %lld: take several boxes", map->name,
                          (unsigned long long)inner, (long long)swizzles[map->swizzle]);
  map->l2 = WS_CU_TENSOR_MAP_L2_PROMOTION_L2_128B; /* a line of the L2 cache */
  return take_key(r, "l2") ? take_choice(r, map, "l2", promotions, &map->l2) : WS_OK;
}

/* There is no type of 8-bit floating point: bytes are copied as they are. */
static unsigned int driver_type(enum ws_dtype type) {
  switch (type) {
  case WS_DTYPE_F16: return WS_CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case WS_DTYPE_BF16: return WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case WS_DTYPE_F32: return WS_CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case WS_DTYPE_I32: return WS_CU_TENSOR_MAP_DATA_TYPE_INT32;
  default: return WS_CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

/* NAME TENSOR [DIM, ...] box [N, ...] swizzle BYTES [groups 8] [l2 BYTES] */
enum ws_status ws_rt_map_value(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  const char *s;
  size_t n, index;
  if (m->nmaps == WS_RT_MAX_MAPS) return ws_rt_bad_line(r, "more than %d tensor maps", WS_RT_MAX_MAPS);
  struct ws_rt_map *map = &m->maps[m->nmaps];
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "map: expected a name");
  if (find_map(m, s, n, &index)) return ws_rt_bad_line(r, "map: '%.*s' is declared twice", ws_rt_shown(n), s);
  map->name = ws_rt_keep(m, s, n);
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "map %s: expected the name of a tensor", map->name);
  if (!ws_rt_find_tensor(m, s, n, &map->tensor))
    return ws_rt_bad_line(r, "map %s: no tensor above is called '%.*s'", map->name, ws_rt_shown(n), s);
  if (take_dims(r, map) || take_box(r, map) || take_modes(r, map)) return WS_ERR_MANIFEST;
  struct ws_tensor_info *t = &m->tensors[map->tensor];
  map->type = driver_type(t->type);
  if (t->align < WS_RT_MAP_ALIGN) t->align = WS_RT_MAP_ALIGN;
  m->nmaps++;
  return WS_OK;
}

enum ws_status ws_rt_map_param(struct ws_rt_reader *r, struct ws_rt_param *p) {
  const char *s;
  size_t n;
  if (!ws_rt_take_name(&r->c, &s, &n)) return ws_rt_bad_line(r, "param: expected the name of a map");
  if (!find_map(r->m, s, n, &p->index)) return ws_rt_bad_line(r, "param: no map above is called '%.*s'", ws_rt_shown(n), s);
  p->source = WS_RT_TENSOR_MAP;
  r->map_passed[p->index] = true;
  return WS_OK;
}

/* A map carries the address and all strides of its tensor but the innermost, which has to be one element. A kernel that takes
 * the address beside it may use that with the strides that it takes, and with packed ones where it takes none. */
enum ws_status ws_rt_check_maps(struct ws_rt_reader *r) {
  struct ws_manifest *m = r->m;
  bool reached[WS_RT_MAX_TENSORS] = {false};
  for (size_t i = 0; i < m->nmaps; i++) {
    const struct ws_rt_map *map = &m->maps[i];
    struct ws_tensor_info *t = &m->tensors[map->tensor];
    if (!r->map_passed[i]) return ws_rt_bad_line(r, "map %s has no 'param: map %s'", map->name, map->name);
    reached[map->tensor] = true;
    for (int d = 1; d < map->rank && !r->data_seen[map->tensor]; d++)
      if (map->dim[d] != map->dim[0]) t->strided[map->dim[d]] = 1;
    if (map->sole >= 0 && !r->data_seen[map->tensor]) t->strided[map->sole] = 1;
  }
  for (size_t t = 0; t < m->ntensors; t++) r->data_seen[t] |= reached[t];
  return WS_OK;
}
