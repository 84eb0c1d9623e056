/* Tensor maps: what cuTensorMapEncodeTiled packs into 128 bytes, and the walk over a tile. Pure functions of their arguments.
 * (CUDA Driver API "Tensor Map Object Management"; PTX ISA "Tensors".) Dimension 0 is the innermost one. */
#ifndef WS_EMU_TMAP_H
#define WS_EMU_TMAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TMAP_RANK = 5, TMAP_BYTES = 128, TMAP_DST_ALIGN = 128 };

struct tmap {
  uint8_t type, rank, interleave, swizzle, l2, fill; /* the driver's constants */
  uint64_t address, extent[TMAP_RANK];
  uint64_t stride[TMAP_RANK];                        /* bytes; of dimension 0 the element's */
  uint32_t box[TMAP_RANK], step[TMAP_RANK];          /* step: element strides */
  bool four;      /* .tile::gather4, .tile::scatter4: dimension 1 has four coordinates; not part of the 128 bytes */
};

/* NULL, or what the driver would refuse. */
const char *ws_emu_tmap_invalid(const struct tmap *m);
void ws_emu_tmap_pack(const struct tmap *m, void *to);
bool ws_emu_tmap_unpack(const void *from, struct tmap *m); /* false: these bytes are no tensor map */

uint32_t ws_emu_tmap_element(uint8_t type);               /* bytes, 0 for an unknown or sub-byte type */
uint32_t ws_emu_tmap_count(const struct tmap *m, int dim); /* elements of the tile along a dimension */
uint32_t ws_emu_tmap_tile_bytes(const struct tmap *m);
/* The fill of an element outside the tensor: `bytes` of it. */
void ws_emu_tmap_fill(const struct tmap *m, void *to, uint32_t bytes);

/* The swizzle exchanges 16-byte units by bits of the address in shared memory; it is its own inverse. */
static inline uint32_t ws_emu_swizzle(uint8_t mode, uint32_t address) {
  static const uint8_t mask[4] = {0, 1, 3, 7};
  return address ^ (address >> 7 & mask[mode & 3]) << 4;
}

/* A tile row after row: a row is the tile along dimension 0. */
struct tile_row {
  uint64_t global;       /* address of its first element, which may lie outside the tensor */
  uint32_t shared;       /* offset from the tile's start, before the swizzle */
  uint32_t first, last;  /* the bytes [first, last) of it lie inside the tensor; first == last: none */
};
struct tile_walk {
  const struct tmap *m;
  int64_t at[TMAP_RANK];     /* coordinates */
  int64_t begin[TMAP_RANK], rows[4]; /* rows: with `four` */
  uint32_t index[TMAP_RANK], count[TMAP_RANK]; /* dimensions 1.. */
  uint32_t row_bytes, first, last, offset;
  bool done;
};
void ws_emu_tile_begin(struct tile_walk *w, const struct tmap *m, const int32_t *coordinates);
bool ws_emu_tile_next(struct tile_walk *w, struct tile_row *row);
#endif
