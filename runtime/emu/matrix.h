/* Matrices in shared memory, as descriptors name them: rows of M or N, 32 bytes of K each. PTX ISA "Shared Memory Matrix
 * Layout"; wgmma and tcgen05 share the layouts and differ in the bits of the descriptor. */
#ifndef WS_EMU_MATRIX_H
#define WS_EMU_MATRIX_H
#include "exec.h"
#include "race.h"
#include "unwritten.h"

#define INLINE static inline __attribute__((always_inline))

struct matrix {
  struct cta *cta;
  struct who who;
  uint32_t start, leading, stride, span; /* span: of the swizzle, 16 for none */
  uint32_t bytes;                        /* of an element */
  uint32_t atom;                         /* 32: what the swizzle moves, else 16 */
};
/* What both descriptors have in common. */
INLINE struct matrix matrix_of(struct cta *c, struct who who, uint64_t d, uint32_t span, uint32_t bytes) {
  return (struct matrix){c, who, (uint32_t)(d & 0x3fff) << 4, (uint32_t)(d >> 16 & 0x3fff) << 4, (uint32_t)(d >> 32 & 0x3fff) << 4, span, bytes, 16};
}

/* Where the 16 bytes at an offset from the start lie in shared memory; false when they lie outside. */
INLINE bool place_of(const struct matrix *m, uint32_t offset, uint32_t *at) {
  uint32_t a = m->start + offset;
  a ^= m->atom == 32 ? (a >> 7 & 3) << 5 : (a >> 7 & (m->span / 16 - 1)) << 4;
  *at = a -= m->cta->k->shared_base;
  return a <= m->cta->shared_size && m->cta->shared_size - a >= 16;
}
INLINE const uint8_t *chunk(const struct matrix *m, uint32_t offset) {
  uint32_t a;
  return place_of(m, offset, &a) ? m->cta->shared + a : NULL;
}
/* Where 16-byte unit `unit` (0 or 1) of K of row `mn` starts, K being contiguous. */
INLINE uint32_t k_major(const struct matrix *m, uint32_t mn, uint32_t unit) {
  uint32_t row = (mn >> 3) * m->stride + (mn & 7) * m->span;
  return row + (m->span == 16 ? unit * m->leading : unit * 16);
}
/* Where the 16 bytes from element `mn` on of row `k` start, M or N being contiguous. */
INLINE uint32_t mn_major(const struct matrix *m, uint32_t mn, uint32_t k) {
  uint32_t at = mn * m->bytes;
  if (m->atom == 32) return at / 128 * m->leading + (k >> 2) * m->stride + (k & 3) * 128 + at % 128;
  if (m->span == 16) return (at >> 4) * m->stride + (k >> 3) * m->leading + (k & 7) * 16;
  return at / m->span * m->leading + (k >> 3) * m->stride + (k & 7) * m->span + at % m->span;
}

/* rows x `units` 16-byte units. Returns the first row that lies outside of shared memory, or `rows`. */
INLINE uint32_t fetch_units(const struct matrix *m, uint32_t rows, uint32_t units, uint8_t (*out)[32]) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t unit = 0; unit < units; unit++) {
      const uint8_t *p = chunk(m, k_major(m, r, unit));
      if (!p) return r;
      memcpy(out[r] + 16 * unit, p, 16);
    }
  return rows;
}
static inline uint32_t fetch_k(const struct matrix *m, uint32_t rows, uint8_t (*out)[32]) { return fetch_units(m, rows, 2, out); }
INLINE uint32_t fetch_mn_as(const struct matrix *m, uint32_t rows, uint32_t bytes, uint8_t (*out)[32]) {
  for (uint32_t r = 0; r < rows; r += 16 / bytes)
    for (uint32_t k = 0; k < 32 / bytes; k++) {
      const uint8_t *p = chunk(m, mn_major(m, r, k));
      if (!p) return r;
      for (uint32_t j = 0; j < 16 / bytes && r + j < rows; j++) memcpy(out[r + j] + bytes * k, p + bytes * j, bytes);
    }
  return rows;
}
static inline uint32_t fetch_mn(const struct matrix *m, uint32_t rows, uint8_t (*out)[32]) {
  return m->bytes == 1 ? fetch_mn_as(m, rows, 1, out) : m->bytes == 2 ? fetch_mn_as(m, rows, 2, out) : fetch_mn_as(m, rows, 4, out);
}

/* Whether something has written the same bytes; what lies outside counts, and so do 16 bytes of which rows beyond the last have a part. */
INLINE bool written_chunk(const struct matrix *m, uint32_t offset, uint32_t *at) {
  uint32_t word;
  if (!place_of(m, offset, at)) return true;
  memcpy(&word, m->cta->written + (*at >> UNWRITTEN_GRAIN), sizeof word);
  return word == 0x01010101u;
}
static inline int unwritten_matrix(const struct matrix *m, uint32_t rows, bool mn) {
  uint32_t at, step = mn ? 16 / m->bytes : 1, n = mn ? 32 / m->bytes : 2;
  if (!m->cta->written) return EV_NEXT;
  for (uint32_t r = 0; r + step <= rows; r += step)
    for (uint32_t k = 0; k < n; k++)
      if (!written_chunk(m, mn ? mn_major(m, r, k) : k_major(m, r, k), &at)) return ws_emu_unwritten_range(m->who, m->cta, at, 16);
  return EV_NEXT;
}

/* The same bytes, noted as read; what lies outside is left to the fetch. */
INLINE void touch_chunk(const struct matrix *m, uint32_t offset, struct race_touch *t) {
  uint32_t a;
  if (place_of(m, offset, &a)) ws_emu_race_touch(t, a, 16);
}
INLINE void touch_units(const struct matrix *m, uint32_t rows, uint32_t units, struct race_touch *t) {
  for (uint32_t r = 0; r < rows && t->ev == EV_NEXT; r++)
    for (uint32_t unit = 0; unit < units; unit++) touch_chunk(m, k_major(m, r, unit), t);
}
INLINE void touch_mn(const struct matrix *m, uint32_t rows, struct race_touch *t) {
  for (uint32_t r = 0; r < rows && t->ev == EV_NEXT; r += 16 / m->bytes)
    for (uint32_t k = 0; k < 32 / m->bytes; k++) touch_chunk(m, mn_major(m, r, k), t);
}
#endif
