/* The tensor maps of a launch: extents, strides and address as the driver wants them. What it would refuse without a reason is
 * refused here by name; what no access depends on (the stride of a single element, a tensor without elements) is made legal. */
#include "runtime.h"

#define BAD(...) ws_rt_fail(err, WS_ERR_ARGUMENT, __VA_ARGS__)

static const int64_t most_extent = INT64_C(1) << 32, beyond_stride = INT64_C(1) << 40;

/* The kernel has no tile to read: a map of one element, at an address that is aligned. */
static void harmless(const struct ws_rt_map *map, const struct ws_tensor *t, struct ws_rt_tiles *out) {
  out->address = t->data & ~(uint64_t)(WS_RT_MAP_ALIGN - 1);
  if (!out->address) out->address = 4096;
  for (int i = 0; i < map->rank; i++) {
    out->extents[i] = 1;
    if (i) out->strides[i - 1] = WS_RT_MAP_ALIGN;
  }
}

static enum ws_status take_extent(const struct ws_manifest *m, const struct ws_rt_map *map, int i, int64_t extent,
                                  struct ws_rt_tiles *out, struct ws_error_info *err) {
  const struct ws_tensor_info *info = &m->tensors[map->tensor];
  char word[128];
  if (extent > most_extent)
    return BAD("tensor %s: %s: extent %lld found, expected at most 2^32 for the tensor map %s: launch in several parts", info->name,
               ws_rt_dim_word(info, map->dim[i], word, sizeof word), (long long)extent, map->name);
  out->extents[i] = (uint64_t)extent;
  return WS_OK;
}

static enum ws_status take_stride(const struct ws_manifest *m, const struct ws_rt_map *map, int i, int64_t bytes,
                                  struct ws_rt_tiles *out, struct ws_error_info *err) {
  const struct ws_tensor_info *info = &m->tensors[map->tensor];
  int64_t size = (int64_t)ws_dtype_size(info->type);
  char word[128];
  ws_rt_dim_word(info, map->dim[i], word, sizeof word);
  if (bytes % WS_RT_MAP_ALIGN)
    return BAD("tensor %s: %s: stride %lld elements = %lld bytes found, expected a multiple of %d bytes for the tensor map %s: pad "
               "the dims inside it",
               info->name, word, (long long)(bytes / size), (long long)bytes, WS_RT_MAP_ALIGN, map->name);
  if (bytes >= beyond_stride)
    return BAD("tensor %s: %s: stride %lld elements = %lld bytes found, expected less than 2^40 bytes for the tensor map %s: pass a "
               "copy, or launch in several parts",
               info->name, word, (long long)(bytes / size), (long long)bytes, map->name);
  out->strides[i - 1] = (uint64_t)bytes;
  return WS_OK;
}

/* Of a map with split dims. Rows of a group that is not whole would be those of nobody, or of the next head. */
static enum ws_status whole_groups(const struct ws_manifest *m, const struct ws_rt_map *map, const struct ws_tensor *t, struct ws_error_info *err) {
  const struct ws_tensor_info *info = &m->tensors[map->tensor];
  char word[128];
  for (int i = 0; i < map->rank; i++)
    if (t->shape[map->dim[i]] % map->step[i])
      return BAD("tensor %s: %s: extent %lld found, expected a multiple of %u for the tensor map %s, which takes so many together",
                 info->name, ws_rt_dim_word(info, map->dim[i], word, sizeof word), (long long)t->shape[map->dim[i]], map->step[i], map->name);
  if (map->sole >= 0 && t->shape[map->sole] != 1)
    return BAD("tensor %s: %s: extent %lld found, expected 1 for the tensor map %s, whose five dims leave none for it: launch once for each",
               info->name, ws_rt_dim_word(info, map->sole, word, sizeof word), (long long)t->shape[map->sole], map->name);
  return WS_OK;
}

enum ws_status ws_rt_tiles(const struct ws_manifest *m, size_t index, const struct ws_tensor *t, const int64_t *stride,
                           struct ws_rt_tiles *out, struct ws_error_info *err) {
  const struct ws_rt_map *map = &m->maps[index];
  for (int i = 0; i < map->rank; i++)
    if (!t->shape[map->dim[i]]) return harmless(map, t, out), WS_OK;
  if (map->sole >= 0 && !t->shape[map->sole]) return harmless(map, t, out), WS_OK;
  if (whole_groups(m, map, t, err)) return WS_ERR_ARGUMENT;
  out->address = t->data;
  for (int i = 0; i < map->rank; i++) {
    int64_t extent = map->inside[i] ? map->inside[i] : t->shape[map->dim[i]] / map->step[i];
    if (take_extent(m, map, i, extent, out, err)) return WS_ERR_ARGUMENT;
    if (!i) continue; /* one element: the manifest has the tensor's last dim here */
    if (extent == 1)  /* never stepped over */
      out->strides[i - 1] = WS_RT_MAP_ALIGN;
    else if (take_stride(m, map, i, stride[map->dim[i]] * map->step[i], out, err))
      return WS_ERR_ARGUMENT;
  }
  return WS_OK;
}
