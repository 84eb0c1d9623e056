/* Tensor maps: the driver's rules, our own 128 bytes, the walk over a tile. */
#include "tmap.h"
#include "../src/cuda_abi.h"
#include <string.h>

/* ---- types ---- */
static const struct {
  uint8_t bytes;
  bool floating;
} types[] = {{1, false}, {2, false}, {4, false}, {4, false}, {8, false}, {8, false}, {2, true},
             {4, true},  {8, true},  {2, true},  {4, true},  {4, true},  {4, true}};
enum { NTYPES = sizeof types / sizeof *types }; /* the packed 4- and 6-bit types behind them want a later device */

uint32_t ws_emu_tmap_element(uint8_t type) { return type < NTYPES ? types[type].bytes : 0; }

/* ---- the driver's rules: what an H200's says of random arguments (tests/emu, emu_tma_gpu), where that is not its documentation ---- */
/* Of the dense box in shared memory. */
static uint64_t box_bytes(const struct tmap *m) {
  uint64_t n = types[m->type].bytes;
  for (int d = 0; d < m->rank; d++) n *= (m->box[d] + m->step[d] - 1) / m->step[d];
  return n;
}

static const char *invalid_dims(const struct tmap *m) {
  uint32_t unit = m->interleave == WS_CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  if (m->address >> 57) return "the address is beyond 2^57";
  if (m->address % unit) return unit == 32 ? "the address is no multiple of 32" : "the address is no multiple of 16";
  for (int d = 0; d < m->rank; d++) {
    if (!m->extent[d] || m->extent[d] > (uint64_t)1 << 32) return "an extent is not within 1 to 2^32";
    if (d && (m->stride[d] % unit || m->stride[d] >= (uint64_t)1 << 40))
      return unit == 32 ? "a stride is no multiple of 32 below 2^40" : "a stride is no multiple of 16 below 2^40";
    if (!m->box[d] || m->box[d] > 256) return "a box extent is not within 1 to 256";
    if (m->step[d] > 8 || !m->step[d]) return "an element stride is not within 1 to 8";
  }
  return NULL;
}

const char *ws_emu_tmap_invalid(const struct tmap *m) {
  static const uint32_t spans[] = {0, 32, 64, 128, 128, 128, 128};
  if (m->type >= NTYPES) return "the data type is unknown on this device";
  if (!m->rank || m->rank > TMAP_RANK) return "the rank is not within 1 to 5";
  if (m->interleave > WS_CU_TENSOR_MAP_INTERLEAVE_32B) return "the interleave is unknown";
  if (m->interleave && m->rank < 3) return "an interleaved tensor has rank 3 at least";
  if (m->swizzle >= sizeof spans / sizeof *spans) return "the swizzle is unknown";
  if (m->swizzle > WS_CU_TENSOR_MAP_SWIZZLE_128B) return "swizzles of larger atoms need a device of compute capability 10.0";
  if (m->l2 > WS_CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return "the L2 promotion is unknown";
  if (m->fill > WS_CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) return "the fill is unknown";
  if (m->fill && !types[m->type].floating) return "only floating-point types are filled with NaN";
  const char *why = invalid_dims(m);
  if (why) return why;
  uint32_t inner = m->box[0] * types[m->type].bytes;
  if (inner % 16) return "the box's inner bytes are no multiple of 16";
  if (!m->interleave && m->swizzle && inner > spans[m->swizzle]) return "the box's inner bytes do not fit the swizzle";
  if (box_bytes(m) % (1u << 18) == 0) return "the box has 2^18 bytes"; /* larger boxes are taken: 18 bits that wrap to 0, it seems */
  return NULL;
}

/* ---- 128 bytes: of our own making, as nobody else may read them ---- */
struct packed {
  uint64_t mark;
  uint64_t zero; /* programs clear bit 21 of this word in maps of small tensors, for the sake of NVIDIA drivers up to 13.1 */
  uint64_t address;
  uint64_t stride[TMAP_RANK - 1];
  uint32_t last[TMAP_RANK]; /* extents, less 1 */
  uint8_t box[TMAP_RANK];   /* less 1 */
  uint8_t step[TMAP_RANK];
  uint8_t type, rank, interleave, swizzle, l2, fill;
  uint8_t spare[22];
  uint32_t sum;
};
_Static_assert(offsetof(struct packed, sum) == 116 && sizeof(struct packed) <= TMAP_BYTES, "a tensor map");
#define MARK UINT64_C(0x50414d524f534e54)

/* Of all 128 bytes but the sum: a map that a kernel has altered is none. */
static uint32_t checksum(const uint8_t *p) {
  uint32_t h = 0x811c9dc5u;
  for (size_t i = 0; i < TMAP_BYTES; i++)
    if (i < offsetof(struct packed, sum) || i >= offsetof(struct packed, sum) + 4) h = (h ^ p[i]) * 0x01000193u;
  return h;
}

void ws_emu_tmap_pack(const struct tmap *m, void *to) {
  uint8_t bytes[TMAP_BYTES] = {0};
  struct packed p = {.mark = MARK, .address = m->address, .type = m->type, .rank = m->rank, .interleave = m->interleave,
                     .swizzle = m->swizzle, .l2 = m->l2, .fill = m->fill};
  for (int d = 0; d < m->rank; d++) {
    p.last[d] = (uint32_t)(m->extent[d] - 1);
    p.box[d] = (uint8_t)(m->box[d] - 1);
    p.step[d] = (uint8_t)m->step[d];
    if (d) p.stride[d - 1] = m->stride[d];
  }
  memcpy(bytes, &p, sizeof p);
  p.sum = checksum(bytes);
  memcpy(bytes, &p, sizeof p);
  memcpy(to, bytes, sizeof bytes);
}

bool ws_emu_tmap_unpack(const void *from, struct tmap *m) {
  struct packed p;
  memcpy(&p, from, sizeof p);
  if (p.mark != MARK || p.sum != checksum(from)) return false;
  *m = (struct tmap){.address = p.address, .type = p.type, .rank = p.rank, .interleave = p.interleave, .swizzle = p.swizzle,
                     .l2 = p.l2, .fill = p.fill};
  if (m->type >= NTYPES || m->rank > TMAP_RANK) return false;
  for (int d = 0; d < m->rank; d++) {
    m->extent[d] = (uint64_t)p.last[d] + 1;
    m->box[d] = p.box[d] + 1u;
    m->step[d] = p.step[d];
    m->stride[d] = d ? p.stride[d - 1] : types[m->type].bytes;
  }
  return true;
}

/* ---- tiles ---- */
/* The element stride of dimension 0 is ignored unless the tensor is interleaved. */
uint32_t ws_emu_tmap_count(const struct tmap *m, int d) {
  if (m->four && d == 1) return 4;
  uint32_t step = d || m->interleave ? m->step[d] : 1;
  return (m->box[d] + step - 1) / step;
}

uint32_t ws_emu_tmap_tile_bytes(const struct tmap *m) {
  uint64_t n = types[m->type].bytes;
  for (int d = 0; d < m->rank; d++) n *= ws_emu_tmap_count(m, d);
  return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

void ws_emu_tmap_fill(const struct tmap *m, void *to, uint32_t bytes) {
  static const uint16_t half = 0x7fff;
  static const uint32_t single = 0x7fffffff;
  static const uint64_t twice = UINT64_C(0x7fffffffffffffff);
  uint32_t size = types[m->type].bytes;
  if (!m->fill) {
    memset(to, 0, bytes);
    return;
  }
  const void *nan = size == 2 ? (const void *)&half : size == 4 ? (const void *)&single : &twice;
  for (uint32_t i = 0; i + size <= bytes; i += size) memcpy((uint8_t *)to + i, nan, size);
}

void ws_emu_tile_begin(struct tile_walk *w, const struct tmap *m, const int32_t *coordinates) {
  int64_t size = types[m->type].bytes, width = ws_emu_tmap_count(m, 0), from = coordinates[0], extent = (int64_t)m->extent[0];
  int64_t first = from < 0 ? -from : 0, last = extent - from < width ? extent - from : width;
  if (last < 0) last = 0;
  if (first > last) first = last;
  *w = (struct tile_walk){.m = m, .row_bytes = (uint32_t)(width * size), .first = (uint32_t)(first * size), .last = (uint32_t)(last * size)};
  for (int d = 0; d < m->rank; d++) w->at[d] = w->begin[d] = coordinates[d], w->count[d] = ws_emu_tmap_count(m, d);
  for (int i = 0; m->four && i < 4; i++) w->rows[i] = coordinates[1 + i];
}

bool ws_emu_tile_next(struct tile_walk *w, struct tile_row *row) {
  const struct tmap *m = w->m;
  if (w->done) return false;
  bool inside = true;
  uint64_t address = m->address;
  for (int d = 0; d < m->rank; d++) {
    address += (uint64_t)w->at[d] * m->stride[d];
    if (d) inside &= w->at[d] >= 0 && w->at[d] < (int64_t)m->extent[d];
  }
  *row = (struct tile_row){address, w->offset, inside ? w->first : 0, inside ? w->last : 0};
  w->offset += w->row_bytes;
  int d = 1;
  for (; d < m->rank; d++) { /* the next row */
    w->at[d] += m->step[d];
    if (++w->index[d] < w->count[d]) {
      if (m->four) w->at[d] = w->rows[w->index[d]];
      break;
    }
    w->index[d] = 0;
    w->at[d] = w->begin[d];
  }
  w->done = d == m->rank || m->rank == 1;
  return true;
}
