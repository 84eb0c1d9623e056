/* A tensor as an image of its memory: guards on both sides, padding between rows, and the elements. Guards and padding
 * hold canaries that are NaN in the tensor's type, so that a kernel that reads them spoils its result and one that
 * writes them is seen. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

enum { GUARD = WS_CLI_GUARD };

/* Order of the dims in memory, outermost first. */
static void memory_order(const struct ws_tensor_info *info, enum ws_cli_layout layout, int *order) {
  int rank = info->rank;
  for (int i = 0; i < rank; i++) order[i] = i;
  if (rank == 4 && layout == WS_CLI_BSHD && info->strided[2]) { /* else the kernel knows how far its rows are apart */
    order[1] = 2;
    order[2] = 1;
  }
}

static bool lay_out(struct ws_cli_tensor *t, const struct ws_cli_shape *how, int64_t *elements) {
  int order[4], rank = t->info->rank;
  memory_order(t->info, how->layout, order);
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    int d = order[i];
    if (i < rank - 1 && t->info->strided[d] && __builtin_add_overflow(step, how->pad, &step)) return false;
    t->stride[d] = step;
    if (__builtin_mul_overflow(step, t->shape[d] > 0 ? t->shape[d] : 1, &step)) return false;
  }
  *elements = ws_cli_tensor_count(t) ? 1 : 0;
  for (int d = 0; d < rank && *elements; d++) *elements += (t->shape[d] - 1) * t->stride[d];
  return step < INT64_MAX / 16;
}

/* A quiet NaN of the type with a payload that depends on its place. */
static void canary(unsigned char *at, enum ws_ref_type type, uint64_t place) {
  uint64_t h = ws_cli_mix(place + 77);
  uint16_t half = (uint16_t)(type == WS_REF_F16 ? 0x7e00 | (h & 0x81ff) : 0x7fc0 | (h & 0x803f));
  uint32_t word = (uint32_t)(0x7fc00000 | (h & 0x803fffff));
  if (type == WS_REF_F32)
    memcpy(at, &word, sizeof word);
  else
    memcpy(at, &half, sizeof half);
}

int64_t ws_cli_tensor_count(const struct ws_cli_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->info->rank; d++)
    if (__builtin_mul_overflow(n, t->shape[d], &n)) return INT64_MAX;
  return n;
}

int ws_cli_tensor_init(struct ws_cli_tensor *t, const struct ws_tensor_info *info, const int64_t *shape,
                       const struct ws_cli_shape *how) {
  memset(t, 0, sizeof *t);
  t->info = info;
  if (info->rank > 4) return ws_cli_fail(WS_CLI_REJECTED, "tensor %s: rank %d found, at most 4 can be run", info->name, info->rank);
  if (info->type == WS_DTYPE_I32)
    t->type = WS_REF_F32; /* 4 bytes; nobody judges them */
  else if (!ws_ref_type_find(ws_dtype_name(info->type), &t->type))
    return ws_cli_fail(WS_CLI_REJECTED, "tensor %s: type %s cannot be judged yet", info->name, ws_dtype_name(info->type));
  memcpy(t->shape, shape, sizeof *shape * (size_t)info->rank);
  int64_t elements;
  if (!lay_out(t, how, &elements)) return ws_cli_fail(WS_CLI_USAGE, "tensor %s: too large", info->name);
  t->bytes = 2 * GUARD + (size_t)elements * ws_ref_size(t->type);
  return WS_CLI_OK;
}

int ws_cli_tensor_alloc(struct ws_cli_tensor *t) {
  size_t size = ws_ref_size(t->type);
  t->before = malloc(t->bytes);
  t->after = malloc(t->bytes);
  if (!t->before || !t->after) {
    ws_cli_tensor_free(t);
    return ws_cli_fail(WS_CLI_MISSING, "tensor %s: out of memory (%zu bytes)", t->info->name, t->bytes);
  }
  for (size_t i = 0; i + size <= t->bytes; i += size) canary(t->before + i, t->type, i);
  memcpy(t->after, t->before, t->bytes);
  return WS_CLI_OK;
}

void ws_cli_tensor_free(struct ws_cli_tensor *t) {
  free(t->before);
  free(t->after);
  t->before = t->after = NULL;
}

size_t ws_cli_tensor_offset(const struct ws_cli_tensor *t, int64_t index) {
  int64_t at = 0;
  for (int d = t->info->rank - 1; d >= 0; d--) {
    at += index % t->shape[d] * t->stride[d];
    index /= t->shape[d];
  }
  return GUARD + (size_t)at * ws_ref_size(t->type);
}

struct filling {
  struct ws_cli_tensor *t;
  uint64_t seed, stream;
  int64_t n;
};
enum { CHUNK = 1 << 14 };

static void fill_chunk(void *context, size_t chunk) {
  struct filling *f = context;
  int64_t first = (int64_t)chunk * CHUNK, last = first + CHUNK < f->n ? first + CHUNK : f->n;
  for (int64_t i = first; i < last; i++)
    ws_ref_store(f->t->before + ws_cli_tensor_offset(f->t, i), f->t->type,
                 (float)ws_cli_normal(f->seed, f->stream, (uint64_t)i));
}

void ws_cli_tensor_random(struct ws_cli_tensor *t, uint64_t seed, uint64_t stream) {
  struct filling f = {t, seed, stream, ws_cli_tensor_count(t)};
  ws_ref_parallel(0, (size_t)((f.n + CHUNK - 1) / CHUNK), fill_chunk, &f);
}

/* Tables: a permutation of 0 .. n - 1 along the last dim, another one in each row. */
void ws_cli_tensor_table(struct ws_cli_tensor *t, uint64_t seed) {
  int64_t n = ws_cli_tensor_count(t), last = t->info->rank ? t->shape[t->info->rank - 1] : 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t row = i / last, k = i % last;
    int32_t v = (int32_t)((last - 1 - k + row + (int64_t)(seed % 1000)) % last);
    memcpy(t->before + ws_cli_tensor_offset(t, i), &v, sizeof v);
  }
}

/* Counters start at zero. */
void ws_cli_tensor_zero(struct ws_cli_tensor *t) {
  int64_t n = ws_cli_tensor_count(t);
  for (int64_t i = 0; i < n; i++) memset(t->before + ws_cli_tensor_offset(t, i), 0, ws_ref_size(t->type));
}

void ws_cli_tensor_values(struct ws_cli_tensor *t, const float *values) {
  int64_t n = ws_cli_tensor_count(t);
  for (int64_t i = 0; i < n; i++) ws_ref_store(t->before + ws_cli_tensor_offset(t, i), t->type, values[i]);
}

/* All ones: a NaN with the sign set, while every instruction that makes a NaN makes it without one (PTX ISA, Floating
 * Point: canonical NaN 0x7fffffff, 0x7fff for the 16-bit types). */
void ws_cli_tensor_poison(struct ws_cli_tensor *t) {
  int64_t n = ws_cli_tensor_count(t);
  for (int64_t i = 0; i < n; i++) memset(t->before + ws_cli_tensor_offset(t, i), 0xff, ws_ref_size(t->type));
}

bool ws_cli_tensor_poisoned(const struct ws_cli_tensor *t, int64_t index) {
  static const unsigned char ones[4] = {0xff, 0xff, 0xff, 0xff};
  return !memcmp(t->after + ws_cli_tensor_offset(t, index), ones, ws_ref_size(t->type));
}

float ws_cli_tensor_result(const struct ws_cli_tensor *t, int64_t index) {
  return ws_ref_load(t->after + ws_cli_tensor_offset(t, index), t->type);
}

/* Outputs: their elements are made equal in a copy first, then all bytes must be equal. */
size_t ws_cli_tensor_damage(const struct ws_cli_tensor *t, int64_t *first) {
  size_t changed = 0, size = ws_ref_size(t->type);
  int64_t n = t->info->direction == WS_IN ? 0 : ws_cli_tensor_count(t);
  unsigned char *expected = n ? malloc(t->bytes) : t->before;
  if (!expected) return t->bytes; /* cannot be proved undamaged */
  if (n) memcpy(expected, t->before, t->bytes);
  for (int64_t i = 0; i < n; i++) {
    size_t at = ws_cli_tensor_offset(t, i);
    memcpy(expected + at, t->after + at, size);
  }
  if (memcmp(expected, t->after, t->bytes))
    for (size_t i = 0; i < t->bytes; i++)
      if (expected[i] != t->after[i] && !changed++) *first = (int64_t)i - GUARD;
  if (n) free(expected);
  return changed;
}

struct ws_ref_tensor ws_cli_tensor_view(const struct ws_cli_tensor *t) {
  struct ws_ref_tensor v = {.data = t->before + GUARD, .type = t->type};
  for (int d = 0; d < t->info->rank; d++) v.stride[d] = t->stride[d] * (int64_t)ws_ref_size(t->type);
  return v;
}
