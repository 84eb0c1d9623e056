#include "tmap_draw.h"
#include "harness.h"

uint32_t tmap_element_bytes(unsigned int type) {
  static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type < sizeof bytes ? bytes[type] : 0;
}

static uint64_t pick(struct rng *r, const uint64_t *values, size_t n) { return values[rng_below(r, (uint32_t)n)]; }
#define PICK(r, ...) pick(r, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Extents and strides of a packed tensor with some padding. */
static void draw_extents(struct rng *r, struct tmap_args *a, uint32_t size) {
  uint64_t stride = size;
  for (uint32_t d = 0; d < a->rank; d++) {
    a->extents[d] = 1 + rng_below(r, !d ? 300 : a->rank > 3 ? 6 : 40);
    stride = (stride * a->extents[d] + 31) / 32 * 32 + 32 * rng_below(r, 3);
    a->strides[d] = stride;
    a->steps[d] = d && rng_below(r, 4) == 0 ? 1 + rng_below(r, 8) : 1;
    a->box[d] = 1 + rng_below(r, 16);
  }
}

void tmap_draw_good(struct rng *r, struct tmap_args *a) {
  static const uint32_t span[] = {0, 32, 64, 128};
  *a = (struct tmap_args){.type = (unsigned int)PICK(r, 0, 1, 2, 3, 6, 7, 9), .rank = 1 + rng_below(r, 5), .l2 = rng_below(r, 4),
                          .swizzle = rng_below(r, 4)};
  uint32_t size = tmap_element_bytes(a->type);
  a->fill = a->type >= 6 ? rng_below(r, 2) : 0;
  a->address = UINT64_C(0x7f0000000000) + 32 * rng_below(r, 1000);
  draw_extents(r, a, size);
  uint32_t most = 256 * size < 512 ? 256 * size / 16 : 32;
  a->box[0] = (a->swizzle ? span[a->swizzle] : 16 * (1 + rng_below(r, most))) / size;
  uint64_t bytes = size;
  for (uint32_t d = 0; d < a->rank; d++) bytes *= a->box[d];
  for (uint32_t d = a->rank; d-- > 1 && bytes >= 1u << 17;) bytes /= a->box[d], a->box[d] = 1;
}

/* A good set with an interleave, a later swizzle, a narrow row or a type with a conversion. */
static void draw_legal(struct rng *r, struct tmap_args *a) {
  tmap_draw_good(r, a);
  switch (rng_below(r, 6)) {
    case 0: a->type = (unsigned int)PICK(r, 10, 11, 12); a->box[0] = 4 * (1 + rng_below(r, 2)); break;
    case 1: a->swizzle = (unsigned int)PICK(r, 4, 5, 6); a->box[0] = 128 / tmap_element_bytes(a->type); break;
    case 2: if (a->swizzle) a->box[0] = 16 / tmap_element_bytes(a->type); break;
    case 3:
      if (a->rank < 3) break;
      a->interleave = 1 + rng_below(r, 2);
      if (a->interleave == 2) a->swizzle = 1;
      a->box[0] = (a->interleave == 2 ? 32 : 16) / tmap_element_bytes(a->type);
      break;
    default: break;
  }
}

static void bend(struct rng *r, struct tmap_args *a) {
  uint32_t d = rng_below(r, a->rank && a->rank <= 5 ? a->rank : 5);
  uint32_t size = tmap_element_bytes(a->type) ? tmap_element_bytes(a->type) : 1;
  const uint64_t four_gi = UINT64_C(1) << 32, tera = UINT64_C(1) << 40;
  switch (rng_below(r, 14)) {
    case 0: a->type = (unsigned int)PICK(r, 0, 12, 13, 14, 15, 16, 255, UINT32_MAX); break;
    case 1: a->rank = (uint32_t)PICK(r, 0, 1, 2, 3, 5, 6, UINT32_MAX); break;
    case 2: a->address += PICK(r, 1, 4, 8, 16, 32); break;
    case 3: a->address = PICK(r, 16, 32, 4096, 1u << 31, UINT64_C(1) << 47, UINT64_C(1) << 48, UINT64_C(1) << 56, UINT64_C(1) << 63); break;
    case 4: a->extents[d] = PICK(r, 0, 1, 2, four_gi - 1, four_gi, four_gi + 1, UINT64_MAX); break;
    case 5: a->strides[d] = PICK(r, 0, 1, 8, 16, 32, 48, tera - 32, tera - 16, tera - 1, tera, tera + 16, UINT64_MAX & ~UINT64_C(15)); break;
    case 6: a->box[d] = (uint32_t)PICK(r, 0, 1, 2, 255, 256, 257, UINT32_MAX); break;
    case 7: a->box[0] = (uint32_t)PICK(r, 8 / size, 16 / size, 24 / size, 32 / size, 48 / size, 64 / size, 128 / size, 144 / size, 256 / size); break;
    case 8: a->steps[d] = (uint32_t)PICK(r, 0, 1, 2, 7, 8, 9, UINT32_MAX); break;
    case 9: a->interleave = (unsigned int)PICK(r, 0, 1, 2, 3, UINT32_MAX); break;
    case 10: a->swizzle = (unsigned int)PICK(r, 0, 1, 2, 3, 4, 5, 6, 7, 255, UINT32_MAX); break;
    case 11: a->l2 = (unsigned int)PICK(r, 0, 3, 4, 255, UINT32_MAX); break;
    case 12: a->fill = (unsigned int)PICK(r, 0, 1, 2, 255, UINT32_MAX); break;
    default: a->null = 1u << rng_below(r, 8); break;
  }
}

void tmap_draw(struct rng *r, struct tmap_args *a) {
  draw_legal(r, a);
  for (uint32_t n = rng_below(r, 4); n; n--) bend(r, a);
}

void tmap_print(const struct tmap_args *a, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "type %u rank %u address 0x%llx interleave %u swizzle %u l2 %u fill %u null 0x%x", a->type, a->rank,
                               (unsigned long long)a->address, a->interleave, a->swizzle, a->l2, a->fill, a->null);
  for (uint32_t d = 0; d < 5 && d < a->rank && at < n; d++)
    at += (size_t)snprintf(out + at, n - at, "%s%llu/%llu box %u/%u", d ? ", " : ": ", (unsigned long long)a->extents[d],
                           (unsigned long long)a->strides[d], a->box[d], a->steps[d]);
}
