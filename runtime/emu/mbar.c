/* mbarrier objects. PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier".
 *
 * The fields live in a table of the CTA. The eight bytes in shared memory hold a mark and the table's index, so that a
 * barrier is found at once, and that memory which was never initialised, or was overwritten since, is told apart. */
#include "race.h"
#include "trace.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

#define MARK 0x6d42u /* in the upper 16 bits; below them the index, then the offset */
#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

static uint64_t handle(uint32_t index, uint32_t offset) { return (uint64_t)MARK << 48 | (uint64_t)index << 32 | offset; }

static struct mbar *live_at(const struct cta *c, uint32_t offset) { /* by the table alone */
  for (uint32_t i = 0; i < c->nmbars; i++)
    if (c->mbars[i].live && c->mbars[i].offset == offset) return &c->mbars[i];
  return NULL;
}

static struct mbar *marked_at(const struct cta *c, uint32_t offset) { /* by the bytes in memory */
  uint64_t h;
  memcpy(&h, c->shared + offset, sizeof h);
  uint32_t index = h >> 32 & 0xffff;
  if (h >> 48 != MARK || (uint32_t)h != offset || index >= c->nmbars) return NULL;
  struct mbar *b = &c->mbars[index];
  return b->live && b->offset == offset ? b : NULL;
}

uint32_t ws_emu_mbar_name(struct mbar_ref ref) { return ref.offset - (ref.cta->k->shared_dynamic - ref.cta->k->shared_base); }

static uint32_t address_of(const struct cta *c, uint32_t offset) { return c->shared_lo + offset; }

struct mbar *ws_emu_mbar_get(struct who who, struct mbar_ref ref) {
  struct mbar *b = marked_at(ref.cta, ref.offset);
  if (b) return b;
  b = live_at(ref.cta, ref.offset);
  if (b) BAD(who, "uses the mbarrier at 0x%x, but other instructions have overwritten its bytes", address_of(ref.cta, ref.offset));
  else BAD(who, "uses an mbarrier at 0x%x, where none is initialised", address_of(ref.cta, ref.offset));
  return NULL;
}

bool ws_emu_mbar_at(struct who who, uint32_t address, struct mbar_ref *ref) {
  ref->cta = ws_emu_peer(who, address, 8, true, &ref->offset);
  return ref->cta && ws_emu_mbar_get(who, *ref);
}

static struct mbar *new_mbar(struct cta *c) {
  for (uint32_t i = 0; i < c->nmbars; i++)
    if (!c->mbars[i].live) return &c->mbars[i];
  if (c->nmbars == c->cap_mbars) {
    uint32_t cap = c->cap_mbars ? c->cap_mbars * 2 : 16;
    struct mbar *grown = cap > 1u << 16 ? NULL : realloc(c->mbars, cap * sizeof *grown);
    if (!grown) return NULL;
    c->mbars = grown;
    c->cap_mbars = cap;
  }
  c->mbars[c->nmbars] = (struct mbar){0};
  return &c->mbars[c->nmbars++];
}

int ws_emu_mbar_init(struct who who, uint32_t address, uint32_t count) {
  uint32_t offset = 0;
  struct cta *c = ws_emu_peer(who, address, 8, true, &offset);
  if (!c) return EV_FAULT;
  if (c != who.w->cta) return BAD(who, "initialises an mbarrier of another CTA");
  if (!count || count > MBAR_MAX) return BAD(who, "initialises an mbarrier with count %u: 1..%d is needed", count, MBAR_MAX);
  if (marked_at(c, offset)) return BAD(who, "initialises the mbarrier at 0x%x again without mbarrier.inval", address);
  struct mbar *b = live_at(c, offset); /* overwritten: its bytes were put to another use */
  if (!b) b = new_mbar(c);
  if (!b) return WHO_FAULT(who, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its mbarriers");
  *b = (struct mbar){.offset = offset, .expected = count, .pending = count, .live = true, .race = b->race};
  ws_emu_race_mbar_init(who, b);
  uint64_t h = handle((uint32_t)(b - c->mbars), offset);
  memcpy(c->shared + offset, &h, sizeof h);
  c->cluster->events++;
  return EV_NEXT;
}

int ws_emu_mbar_inval(struct who who, uint32_t address) {
  struct mbar_ref ref;
  if (!ws_emu_mbar_at(who, address, &ref)) return EV_FAULT;
  struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b) return EV_FAULT;
  if (ref.cta != who.w->cta) return BAD(who, "invalidates an mbarrier of another CTA");
  if (b->waiting) return BAD(who, "invalidates the mbarrier at 0x%x while warps wait for it (mask 0x%x)", address, b->waiting);
  b->live = false;
  memset(ref.cta->shared + ref.offset, 0xff, 8);
  return EV_NEXT;
}

/* The phase is over when no arrival and no byte is pending. */
static void check_phase(struct cta *c, struct mbar *b) {
  c->cluster->events++;
  if (b->pending || b->tx) return;
  b->phase++;
  b->pending = b->expected;
  ws_emu_race_mbar_phase(c->cluster, b);
  uint32_t waiting = b->waiting;
  b->waiting = 0;
  for (uint32_t m = waiting; m; m &= m - 1) ws_emu_wake(&c->warps[__builtin_ctz(m)]);
}

static int add_tx(struct who who, struct mbar_ref ref, struct mbar *b, int64_t bytes) {
  int64_t tx = b->tx + bytes;
  if (tx < -MBAR_MAX || tx > MBAR_MAX)
    return BAD(who, "takes the pending bytes of the mbarrier at 0x%x from %d to %lld: at most %d fit", address_of(ref.cta, ref.offset), b->tx,
               (long long)tx, MBAR_MAX);
  b->tx = (int32_t)tx;
  ref.cta->cluster->events++;
  return EV_NEXT;
}

int ws_emu_mbar_expect_tx(struct who who, struct mbar_ref ref, uint32_t bytes) {
  struct mbar *b = ws_emu_mbar_get(who, ref);
  return b ? add_tx(who, ref, b, bytes) : EV_FAULT;
}

int ws_emu_mbar_complete_tx(struct who who, struct mbar_ref ref, uint32_t bytes) {
  struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b || add_tx(who, ref, b, -(int64_t)bytes) != EV_NEXT) return EV_FAULT;
  TRACE(who.w, who.in, .kind = WSEMU_MBAR_BYTES, .object = ws_emu_mbar_name(ref), .target = ref.cta->rank, .count = WSEMU_NO_COUNT, .amount = bytes,
        .lanes = 1u << who.lane);
  check_phase(ref.cta, b);
  return EV_NEXT;
}

int ws_emu_mbar_arrive(struct who who, struct mbar_ref ref, uint32_t count) {
  struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b) return EV_FAULT;
  if (!count || count > b->pending)
    return BAD(who, "arrives %u times at the mbarrier at 0x%x, whose phase %u has %u of %u arrivals pending", count,
               address_of(ref.cta, ref.offset), b->phase, b->pending, b->expected);
  b->pending -= count;
  check_phase(ref.cta, b);
  return EV_NEXT;
}

int ws_emu_mbar_add_pending(struct who who, struct mbar_ref ref) {
  struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b) return EV_FAULT;
  if (b->pending == MBAR_MAX) return BAD(who, "adds an arrival to the mbarrier at 0x%x, which has %u pending", address_of(ref.cta, ref.offset), b->pending);
  b->pending++;
  return EV_NEXT;
}

int ws_emu_mbar_drop(struct who who, struct mbar_ref ref, uint32_t count) {
  struct mbar *b = ws_emu_mbar_get(who, ref);
  if (!b) return EV_FAULT;
  if (count > b->expected)
    return BAD(who, "drops %u arrivals of the mbarrier at 0x%x, which expects %u", count, address_of(ref.cta, ref.offset), b->expected);
  b->expected -= count;
  int ev = ws_emu_mbar_arrive(who, ref, count);
  if (ev != EV_NEXT) b->expected += count;
  return ev;
}

/* The mark in between tells a state from other numbers. */
uint64_t ws_emu_mbar_state(const struct mbar *b) { return (uint64_t)b->phase << 32 | 0xb0000000u | b->pending; }
