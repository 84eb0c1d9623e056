/* Device memory: allocations inside one reserved range of host addresses, each followed by unmapped space, found by
 * address in constant time. A device address is the host address of its byte.
 *
 * Allocation and release are serialised by the caller (the driver's lock); look-ups may run at the same time on other
 * threads. New memory is poisoned with 0xA5. */
#ifndef WS_EMU_MEMORY_H
#define WS_EMU_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_alloc {
  uint64_t lo, hi;  /* the bytes [lo, hi) */
  bool live, read_only, host;
};
enum { MEM_READ_ONLY = 1, MEM_HOST = 2, MEM_UNWRITTEN = 4 /* unwritten.h; without it all of it counts as written */ };

/* Returns the address or 0 when memory runs out. */
uint64_t ws_emu_mem_new(size_t bytes, unsigned flags);
bool ws_emu_mem_free(uint64_t address, unsigned flags); /* false: not the start of a live allocation of that kind */
/* The live allocation that holds an address, or NULL. */
const struct mem_alloc *ws_emu_mem_find(uint64_t address);
bool ws_emu_mem_holds(uint64_t address, uint64_t bytes, bool write); /* the range lies inside one live allocation */
void ws_emu_mem_seal(uint64_t address); /* read-only from now on */
/* The nearest allocation in words: "4 bytes past the end of the 1024 bytes at 0x..". */
void ws_emu_mem_describe(uint64_t address, uint64_t bytes, bool write, char *out, size_t n);
void ws_emu_mem_info(size_t *available, size_t *total);
#endif
