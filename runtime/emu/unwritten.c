/* What is said of reads of memory that nothing has written (unwritten.h). */
#include "unwritten.h"
#include "memory.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>

struct unwritten *ws_emu_unwritten_new(void) {
  struct unwritten *u = calloc(1, sizeof *u);
  if (u) pthread_mutex_init(&u->lock, NULL);
  return u;
}

static int by_instruction(const void *a, const void *b) {
  const struct inst *x = ((const struct unwritten_read *)a)->in, *y = ((const struct unwritten_read *)b)->in;
  return x < y ? -1 : x > y;
}

char *ws_emu_unwritten_end(struct unwritten *u, const struct kernel *k) {
  if (!u) return NULL;
  size_t room = u->n * (sizeof u->read->what + 128) + 1, at = 0;
  char *text = u->n ? malloc(room) : NULL;
  qsort(u->read, u->n, sizeof *u->read, by_instruction);
  for (uint32_t i = 0; text && i < u->n; i++)
    at += (size_t)snprintf(text + at, room - at, "kernel '%.100s', %s\n", k->func->sym->name, u->read[i].what);
  pthread_mutex_destroy(&u->lock);
  free(u);
  return text;
}

/* Where the instruction's line stands, or may stand: an earlier CTA's goes first. NULL: nowhere. The lock is held. */
static struct unwritten_read *entry(struct unwritten *u, const struct inst *in, uint32_t linear) {
  for (uint32_t i = 0; i < u->n; i++)
    if (u->read[i].in == in) return linear < u->read[i].linear ? &u->read[i] : NULL;
  return u->n < UNWRITTEN_MOST ? &u->read[u->n++] : NULL;
}

static void describe(const struct cta *owner, uint64_t at, uint64_t bytes, char *out, size_t n) {
  const struct mem_alloc *m = owner ? NULL : ws_emu_mem_find(at);
  if (owner)
    snprintf(out, n, "reads %llu bytes of shared memory at 0x%llx, which nothing has written since the CTA began", (unsigned long long)bytes,
             (unsigned long long)(owner->shared_lo + at));
  else
    snprintf(out, n, "reads %llu bytes at 0x%llx, %llu bytes into the allocation of %llu bytes at 0x%llx, which nothing has written since cuMemAlloc",
             (unsigned long long)bytes, (unsigned long long)at, m ? (unsigned long long)(at - m->lo) : 0,
             m ? (unsigned long long)(m->hi - m->lo) : 0, m ? (unsigned long long)m->lo : 0);
}

static int report(struct who who, const struct cta *owner, uint64_t at, uint64_t bytes) {
  struct cta *c = who.w->cta;
  const struct emu_launch *l = c->grid->l;
  char what[400], where[600];
  uint32_t t[3];
  struct unwritten_read *r;
  if (l->options.uninitialised == UNINIT_STRICT) {
    describe(owner, at, bytes, what, sizeof what);
    return ws_emu_fault(who.w, who.in, who.lane, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s", what);
  }
  pthread_mutex_lock(&l->unwritten->lock);
  r = entry(l->unwritten, who.in, c->linear);
  if (r) {
    describe(owner, at, bytes, what, sizeof what);
    ws_emu_where(c->k, who.in, where, sizeof where);
    ws_emu_thread_id(who.w, who.lane, t);
    r->in = who.in;
    r->linear = c->linear;
    snprintf(r->what, sizeof r->what, "%s: CTA (%u,%u,%u) thread (%u,%u,%u) %s", where, c->id[0], c->id[1], c->id[2], t[0], t[1], t[2], what);
  }
  pthread_mutex_unlock(&l->unwritten->lock);
  return EV_NEXT;
}

static const uint8_t *first_unwritten(const struct cta *owner, uint64_t at, uint64_t bytes) {
  const uint8_t *map = owner ? owner->written : ws_emu_global_map.written;
  if (!map || !bytes) return NULL;
  if (!owner) at -= ws_emu_global_map.base;
  uint64_t first = at >> UNWRITTEN_GRAIN, last = (at + bytes - 1) >> UNWRITTEN_GRAIN;
  return memchr(map + first, 0, (size_t)(last - first + 1));
}

int ws_emu_unwritten_lanes(struct warp *w, const struct inst *in, struct cta *owner, const uint64_t a[LANES], uint32_t bytes) {
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint64_t at = owner ? a[i] - owner->shared_lo : a[i];
    if (first_unwritten(owner, at, bytes)) return report(WHO(w, in, i), owner, at, bytes);
  }
  return EV_NEXT;
}

int ws_emu_unwritten_range(struct who who, struct cta *owner, uint64_t at, uint64_t bytes) {
  const uint8_t *hole = who.w->cta->written ? first_unwritten(owner, at, bytes) : NULL;
  if (!hole) return EV_NEXT;
  const uint8_t *map = owner ? owner->written : ws_emu_global_map.written;
  uint64_t from = ((uint64_t)(hole - map) << UNWRITTEN_GRAIN) + (owner ? 0 : ws_emu_global_map.base);
  return report(who, owner, from > at ? from : at, bytes - (from > at ? from - at : 0));
}
