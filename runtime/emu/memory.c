/* One process-wide range, because a device address has to mean the same to every context: the state here is the
 * emulated device's memory, as global as a GPU's. */
#define _GNU_SOURCE
#include "memory.h"
#include "unwritten.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BITS = 16, CHUNK = 1024, MAX_CHUNKS = 4096, POISON = 0xA5 };
#define PAGE ((uint64_t)1 << PAGE_BITS)
#define LARGEST_RANGE ((uint64_t)1 << 38)
#define SMALLEST_RANGE ((uint64_t)1 << 30)

static struct {
  uint64_t base, size, cursor; /* the range; where the next search starts */
  uint64_t used, limit;        /* bytes allocated, and how many may be */
  _Atomic uint32_t *page;      /* page -> allocation number + 1; stays set after a free, for messages */
  struct mem_alloc *chunk[MAX_CHUNKS];
  uint32_t n;
} mem;

struct unwritten_map ws_emu_global_map; /* as global as the memory that it mirrors */

static struct mem_alloc *alloc_at(uint32_t i) { return &mem.chunk[i / CHUNK][i % CHUNK]; }

static bool reserve(void) {
  if (mem.base) return true;
  for (uint64_t size = LARGEST_RANGE; size >= SMALLEST_RANGE; size >>= 1) {
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    void *pages = mmap(NULL, (size >> PAGE_BITS) * sizeof *mem.page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
      munmap(p, size);
      continue;
    }
    mem.page = pages;
    mem.base = ((uint64_t)(uintptr_t)p + PAGE - 1) & ~(PAGE - 1);
    mem.size = (size - PAGE) & ~(PAGE - 1);
    mem.cursor = mem.base + PAGE;
    void *map = mmap(NULL, mem.size >> UNWRITTEN_GRAIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ws_emu_global_map = (struct unwritten_map){map == MAP_FAILED ? NULL : map, mem.base};
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    mem.limit = physical / 4 * 3;
    return true;
  }
  return false;
}

/* A free run of pages for `bytes` and one page of distance on each side, searched from the cursor round the range. */
static uint64_t find_run(uint64_t bytes) {
  uint64_t need = ((bytes + PAGE - 1) & ~(PAGE - 1)) + PAGE, end = mem.base + mem.size;
  for (int round = 0; round < 2; round++) {
    uint64_t at = round ? mem.base + PAGE : mem.cursor, run = 0, start = at;
    for (; at < end; at += PAGE) {
      uint32_t id = atomic_load_explicit(&mem.page[(at - mem.base) >> PAGE_BITS], memory_order_relaxed);
      if (id && alloc_at(id - 1)->live) {
        at = (alloc_at(id - 1)->hi + PAGE - 1) & ~(PAGE - 1); /* the loop steps over the guard page */
        run = 0;
        start = at + PAGE;
        continue;
      }
      run += PAGE;
      if (run >= need) {
        mem.cursor = start + need;
        return start;
      }
    }
  }
  return 0;
}

static uint32_t new_record(void) {
  for (uint32_t i = 0; mem.n == CHUNK * MAX_CHUNKS && i < mem.n; i++)
    if (!alloc_at(i)->live) return i; /* all used up: forget what was freed */
  if (mem.n == CHUNK * MAX_CHUNKS) return UINT32_MAX;
  if (mem.n % CHUNK == 0) {
    mem.chunk[mem.n / CHUNK] = calloc(CHUNK, sizeof(struct mem_alloc));
    if (!mem.chunk[mem.n / CHUNK]) return UINT32_MAX;
  }
  return mem.n++;
}

uint64_t ws_emu_mem_new(size_t bytes, unsigned flags) {
  if (!bytes || !reserve() || bytes > mem.limit || mem.used > mem.limit - bytes) return 0;
  uint64_t at = find_run(bytes);
  uint32_t id = at ? new_record() : UINT32_MAX;
  if (id == UINT32_MAX) return 0;
  uint64_t span = (bytes + PAGE - 1) & ~(PAGE - 1);
  if (mprotect((void *)(uintptr_t)at, span, PROT_READ | PROT_WRITE)) return 0;
  memset((void *)(uintptr_t)at, POISON, bytes);
  if (!(flags & MEM_UNWRITTEN)) unwritten_mark_global(at, bytes);
  *alloc_at(id) = (struct mem_alloc){.lo = at, .hi = at + bytes, .live = true, .host = (flags & MEM_HOST) != 0,
                                     .read_only = (flags & MEM_READ_ONLY) != 0};
  for (uint64_t p = at; p < at + span; p += PAGE)
    atomic_store_explicit(&mem.page[(p - mem.base) >> PAGE_BITS], id + 1, memory_order_release);
  mem.used += bytes;
  return at;
}

static struct mem_alloc *record_of(uint64_t address) {
  if (!mem.base || address - mem.base >= mem.size) return NULL;
  uint32_t id = atomic_load_explicit(&mem.page[(address - mem.base) >> PAGE_BITS], memory_order_acquire);
  return id ? alloc_at(id - 1) : NULL;
}

bool ws_emu_mem_free(uint64_t address, unsigned flags) {
  struct mem_alloc *a = record_of(address);
  if (!a || !a->live || a->lo != address || a->host != ((flags & MEM_HOST) != 0)) return false;
  uint64_t span = (a->hi - a->lo + PAGE - 1) & ~(PAGE - 1);
  a->live = false;
  mem.used -= a->hi - a->lo;
  /* a fresh mapping gives the memory back and makes stray host accesses fault */
  mmap((void *)(uintptr_t)a->lo, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (ws_emu_global_map.written)
    mmap(ws_emu_global_map.written + ((a->lo - mem.base) >> UNWRITTEN_GRAIN), span >> UNWRITTEN_GRAIN, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return true;
}

const struct mem_alloc *ws_emu_mem_find(uint64_t address) {
  const struct mem_alloc *a = record_of(address);
  return a && a->live && address >= a->lo && address < a->hi ? a : NULL;
}

bool ws_emu_mem_holds(uint64_t address, uint64_t bytes, bool write) {
  const struct mem_alloc *a = ws_emu_mem_find(address);
  return a && bytes <= a->hi - address && !(write && a->read_only);
}

void ws_emu_mem_seal(uint64_t address) {
  struct mem_alloc *a = record_of(address);
  if (a) a->read_only = true;
}

void ws_emu_mem_describe(uint64_t address, uint64_t bytes, bool write, char *out, size_t n) {
  const struct mem_alloc *best = NULL, *in = record_of(address);
  uint64_t distance = UINT64_MAX;
  if (in && in->live && in->read_only && write && address >= in->lo && address < in->hi) {
    snprintf(out, n, "which is constant memory");
    return;
  }
  if (in && !in->live && address >= in->lo && address < in->hi) {
    snprintf(out, n, "inside %llu bytes at 0x%llx that were freed", (unsigned long long)(in->hi - in->lo), (unsigned long long)in->lo);
    return;
  }
  for (uint32_t i = 0; i < mem.n; i++) {
    const struct mem_alloc *a = alloc_at(i);
    uint64_t d = address < a->lo ? a->lo - address : address >= a->hi ? address - a->hi : 0;
    if (a->live && d < distance) best = a, distance = d;
  }
  if (!best || distance > (uint64_t)1 << 32) {
    snprintf(out, n, "far from any allocation");
    return;
  }
  unsigned long long size = best->hi - best->lo, lo = best->lo;
  if (address < best->lo) snprintf(out, n, "%llu bytes before the %llu bytes at 0x%llx", (unsigned long long)distance, size, lo);
  else if (address >= best->hi) snprintf(out, n, "%llu bytes past the end of the %llu bytes at 0x%llx", (unsigned long long)distance, size, lo);
  else snprintf(out, n, "%llu bytes of which lie past the end of the %llu bytes at 0x%llx", (unsigned long long)(address + bytes - best->hi), size, lo);
}

void ws_emu_mem_info(size_t *available, size_t *total) {
  reserve();
  *total = mem.limit;
  *available = mem.limit - mem.used;
}
