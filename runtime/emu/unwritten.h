/* Reads of shared and global memory that nothing has written since it came to be: since the CTA began, since cuMemAlloc.
 *
 * Every 4 bytes of memory have a byte that says whether something has written to them: beside each CTA's shared memory, and for
 * device memory in one range that mirrors its addresses. A write of a part of the 4 bytes counts for all of them: what is missed
 * is rather a read than a write. A write is noted when it is issued, also an asynchronous one: whether its bytes are there in time is
 * race.h's business. The bytes of the map are written by several worker threads, each with the same value.
 *
 * What a launch has to say is collected in struct unwritten, one line an instruction, that of the CTA with the lowest number. */
#ifndef WS_EMU_UNWRITTEN_H
#define WS_EMU_UNWRITTEN_H
#include "engine.h"
#include <pthread.h>
#include <string.h>

enum { UNWRITTEN_GRAIN = 2 /* bits */, UNWRITTEN_MOST = 50 /* instructions of a launch */ };
struct unwritten_read { const struct inst *in; uint32_t linear; char what[1100]; };
struct unwritten {
  pthread_mutex_t lock;
  uint32_t n;
  struct unwritten_read read[UNWRITTEN_MOST];
};

/* Device memory's map: the byte of `address` is written[(address - base) >> UNWRITTEN_GRAIN]; NULL: the host has no room for it. memory.c */
struct unwritten_map { uint8_t *written; uint64_t base; };
extern struct unwritten_map ws_emu_global_map __attribute__((visibility("hidden")));

struct unwritten *ws_emu_unwritten_new(void);
/* The launch's lines in the order of instructions, or NULL; frees u. The caller frees the text. */
char *ws_emu_unwritten_end(struct unwritten *u, const struct kernel *k);

/* Lanes of a warp that read what nothing has written: a warning, or a fault where option "uninitialised" is "strict". `owner`: whose shared memory;
 * NULL: device memory. a[]: of the executing lanes. */
int ws_emu_unwritten_lanes(struct warp *w, const struct inst *in, struct cta *owner, const uint64_t a[LANES], uint32_t bytes);
/* One thread's or operation's read of a range, `at` an offset in shared memory or an address; looks and reports. */
int ws_emu_unwritten_range(struct who who, struct cta *owner, uint64_t at, uint64_t bytes);

/* ---- the map ---- */
static inline void unwritten_mark(uint8_t *map, uint64_t at, uint64_t bytes) {
  if (map && bytes) memset(map + (at >> UNWRITTEN_GRAIN), 1, (size_t)(((at + bytes - 1) >> UNWRITTEN_GRAIN) - (at >> UNWRITTEN_GRAIN) + 1));
}
static inline void unwritten_mark_shared(struct cta *c, uint32_t offset, uint32_t bytes) { unwritten_mark(c->written, offset, bytes); }
static inline void unwritten_mark_global(uint64_t address, uint64_t bytes) {
  unwritten_mark(ws_emu_global_map.written, address - ws_emu_global_map.base, bytes);
}

/* Of the executing lanes, `bytes` (a power of two, aligned) at a[lane], which lie in the memory that begins at `lo`. */
#define UNWRITTEN_EACH(T, value)                                                                                      \
  for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1)                                                                       \
    __atomic_store_n((T *)(void *)(map + ((a[__builtin_ctz(m_)] - lo) >> UNWRITTEN_GRAIN)), (T)(value), __ATOMIC_RELAXED)
static inline void unwritten_mark_lanes(const struct warp *w, uint8_t *map, uint64_t lo, const uint64_t a[LANES], uint32_t bytes) {
  if (bytes == 16) UNWRITTEN_EACH(uint32_t, 0x01010101u);
  else if (bytes == 8) UNWRITTEN_EACH(uint16_t, 0x0101u);
  else if (bytes == 32) UNWRITTEN_EACH(uint64_t, 0x0101010101010101u);
  else UNWRITTEN_EACH(uint8_t, 1);
}
#undef UNWRITTEN_EACH
#define UNWRITTEN_ALL(T, value)                                                                                       \
  do {                                                                                                                \
    T all = (T)(value);                                                                                               \
    for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1)                                                                     \
      all &= __atomic_load_n((const T *)(const void *)(map + ((a[__builtin_ctz(m_)] - lo) >> UNWRITTEN_GRAIN)), __ATOMIC_RELAXED); \
    return all == (T)(value);                                                                                         \
  } while (0)
static inline bool unwritten_none(const struct warp *w, const uint8_t *map, uint64_t lo, const uint64_t a[LANES], uint32_t bytes) {
  if (bytes == 16) UNWRITTEN_ALL(uint32_t, 0x01010101u);
  if (bytes == 8) UNWRITTEN_ALL(uint16_t, 0x0101u);
  if (bytes == 32) UNWRITTEN_ALL(uint64_t, 0x0101010101010101u);
  UNWRITTEN_ALL(uint8_t, 1);
}
#undef UNWRITTEN_ALL
#endif
