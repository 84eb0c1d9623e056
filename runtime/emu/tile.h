/* The bytes of bulk operations: a tile between global and shared memory, and reductions element by element. Who may do what is
 * checked before (exec_bulk.c). */
#ifndef WS_EMU_TILE_H
#define WS_EMU_TILE_H
#include "address.h"
#include "tmap.h"

struct place { /* in shared memory */
  struct cta *cta;
  uint32_t offset;
};
struct tile {
  struct tmap map;
  int32_t at[TMAP_RANK];
  uint32_t bytes; /* in shared memory: of all its elements, also those outside of the tensor */
};

/* ---- swizzled rows: units of 16 bytes ---- */
/* Where the unit at an offset of a tile lies: the swizzle looks at its address. */
static inline uint8_t *unit_at(const struct tile *t, const struct place *p, uint32_t offset) {
  uint32_t base = p->cta->k->shared_base;
  return p->cta->shared + (ws_emu_swizzle(t->map.swizzle, base + p->offset + offset) - base);
}

static inline void scatter(const struct tile *t, struct place to, uint32_t offset, const uint8_t *row, uint32_t bytes) {
  if (!t->map.swizzle) {
    memcpy(to.cta->shared + to.offset + offset, row, bytes);
    return;
  }
  for (uint32_t i = 0; i < bytes; i += 16) memcpy(unit_at(t, &to, offset + i), row + i, 16);
}

static inline void tile_load(const struct tile *t, struct place to) {
  uint8_t edge[256 * 8];
  struct tile_walk walk;
  struct tile_row row;
  ws_emu_tile_begin(&walk, &t->map, t->at);
  uint32_t bytes = walk.row_bytes;
  while (ws_emu_tile_next(&walk, &row)) {
    const uint8_t *from = (const uint8_t *)(uintptr_t)row.global;
    if (row.last - row.first != bytes) { /* some of it, or all, is filled */
      ws_emu_tmap_fill(&t->map, edge, bytes);
      if (row.first != row.last) memcpy(edge + row.first, from + row.first, row.last - row.first);
      from = edge;
    }
    scatter(t, to, row.shared, from, bytes);
  }
}

/* The tile's rows one behind the other, without the swizzle. */
static inline void tile_gather(const struct tile *t, struct place from, uint8_t *out) {
  for (uint32_t i = 0; i < t->bytes; i += 16) memcpy(out + i, unit_at(t, &from, i), 16);
}

/* ---- reductions ---- */
enum bulk_op { BULK_COPY, BULK_ADD, BULK_MIN, BULK_MAX, BULK_INC, BULK_DEC, BULK_AND, BULK_OR, BULK_XOR };
enum bulk_type { BULK_U32, BULK_S32, BULK_U64, BULK_S64, BULK_F16, BULK_BF16, BULK_F32, BULK_F64, BULK_NONE };
static const char *const bulk_op_names[] = {"", ".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
static const uint8_t bulk_sizes[] = {4, 4, 8, 8, 2, 2, 4, 8, 0};

static inline uint8_t bulk_type_of_ptx(uint8_t type) {
  switch (type) {
    case T_S32: return BULK_S32;
    case T_U64: case T_B64: return BULK_U64;
    case T_S64: return BULK_S64;
    case T_F16: return BULK_F16;
    case T_BF16: return BULK_BF16;
    case T_F32: return BULK_F32;
    case T_F64: return BULK_F64;
    default: return BULK_U32;
  }
}
static inline uint8_t bulk_type_of_map(uint8_t type) {
  static const uint8_t types[] = {BULK_NONE, BULK_NONE, BULK_U32, BULK_S32, BULK_U64, BULK_S64, BULK_F16, BULK_F32, BULK_F64, BULK_BF16};
  return type < sizeof types ? types[type] : BULK_NONE;
}
/* PTX ISA "cp.reduce.async.bulk": which type has which operation. */
static inline bool bulk_has(uint8_t op, uint8_t type) {
  bool half = type == BULK_F16 || type == BULK_BF16, integer = type <= BULK_S64;
  switch (op) {
    case BULK_ADD: return type != BULK_NONE;
    case BULK_MIN: case BULK_MAX: return integer || half;
    case BULK_INC: case BULK_DEC: return type == BULK_U32;
    default: return integer;
  }
}

static inline uint64_t combine_half(uint8_t op, bool bf, uint16_t old, uint16_t v) {
  float x = bf ? bf2f(old) : h2f(old), y = bf ? bf2f(v) : h2f(v), r;
  if (op == BULK_ADD) r = x + y; /* exact enough for one rounding */
  else if (x != x || y != y) r = x != x ? y : x;
  else if (x == y) return op == BULK_MIN ? old | v : old & v; /* the sign of zeros */
  else r = (x < y) == (op == BULK_MIN) ? x : y;
  return bf ? f2bf(r) : f2h(r);
}
static inline uint64_t combine_element(uint8_t op, uint8_t type, uint64_t old, uint64_t v) {
  bool less = type == BULK_S32 ? (int32_t)old < (int32_t)v : type == BULK_S64 ? (int64_t)old < (int64_t)v : old < v;
  if (type == BULK_F16 || type == BULK_BF16) return combine_half(op, type == BULK_BF16, (uint16_t)old, (uint16_t)v);
  if (type == BULK_F32) return f2u(ftz(canon(ftz(u2f((uint32_t)old)) + ftz(u2f((uint32_t)v)))));
  if (type == BULK_F64) return d2u(u2d(old) + u2d(v));
  switch (op) {
    case BULK_ADD: return old + v;
    case BULK_MIN: return less ? old : v;
    case BULK_MAX: return less ? v : old;
    case BULK_INC: return old >= v ? 0 : old + 1;
    case BULK_DEC: return !old || old > v ? v : old - 1;
    case BULK_AND: return old & v;
    case BULK_OR: return old | v;
    default: return old ^ v;
  }
}

#define REDUCE(T)                                                                                                     \
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {                                                                   \
    T *p = (T *)(void *)(to + i), old, next, v;                                                                       \
    memcpy(&v, from + i, sizeof v);                                                                                   \
    old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                                       \
    do next = (T)combine_element(op, type, old, v);                                                                   \
    while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));                   \
  }
/* Each element is an atomic operation of its own; other clusters run at the same time. */
static inline void reduce_bytes(uint8_t op, uint8_t type, uint8_t *to, const uint8_t *from, uint32_t bytes) {
  switch (bulk_sizes[type]) {
    case 2: REDUCE(uint16_t) break;
    case 4: REDUCE(uint32_t) break;
    default: REDUCE(uint64_t) break;
  }
}

static inline void tile_store(const struct tile *t, const uint8_t *data, uint8_t op, uint8_t type) {
  struct tile_walk walk;
  struct tile_row row;
  ws_emu_tile_begin(&walk, &t->map, t->at);
  while (ws_emu_tile_next(&walk, &row)) {
    uint8_t *to = (uint8_t *)(uintptr_t)row.global + row.first;
    const uint8_t *from = data + row.shared + row.first;
    if (row.first == row.last) continue;
    unwritten_mark_global(row.global + row.first, row.last - row.first);
    if (op) reduce_bytes(op, type, to, from, row.last - row.first);
    else memcpy(to, from, row.last - row.first);
  }
}

/* The bytes from the tile's first element inside of the tensor to behind its last: 0 if there is none. */
static inline uint64_t tile_span(const struct tile *t, uint64_t *lo) {
  uint64_t hi = *lo = t->map.address;
  for (int d = 0; d < t->map.rank; d++) {
    int64_t step = d ? t->map.step[d] : 1, n = ws_emu_tmap_count(&t->map, d), x = t->at[d], skip = x < 0 ? (-x + step - 1) / step : 0;
    int64_t first = x + skip * step, last = x + (n - 1) * step, extent = (int64_t)t->map.extent[d];
    if (last >= extent) last -= (last - extent) / step * step + step;
    if (last < first) return 0;
    *lo += (uint64_t)first * t->map.stride[d];
    hi += (uint64_t)last * t->map.stride[d];
  }
  return hi + ws_emu_tmap_element(t->map.type) - *lo;
}
#endif
