/* Random arguments of cuTensorMapEncodeTiled: good ones, and good ones bent at the edges of what is allowed. */
#ifndef EMU_TMAP_DRAW_H
#define EMU_TMAP_DRAW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tmap_args {
  unsigned int type, interleave, swizzle, l2, fill;
  uint32_t rank;
  uint64_t address, extents[5], strides[5];
  uint32_t box[5], steps[5];
  uint32_t null; /* a bit for each of map, address, extents, strides, box, steps that is NULL; bit 6: map off by 32, bit 7: by 64 bytes */
};
struct rng;
uint32_t tmap_element_bytes(unsigned int type); /* 0: unknown or packed */
/* What the hardware of compute capability 9.0 loads: plain types, no interleave, rows as wide as the swizzle. */
void tmap_draw_good(struct rng *r, struct tmap_args *a);
void tmap_draw(struct rng *r, struct tmap_args *a); /* anything that a program may pass */
void tmap_print(const struct tmap_args *a, char *out, size_t n);
#endif
