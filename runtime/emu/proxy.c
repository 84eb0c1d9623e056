/* Ordinary writes to shared memory that the async proxy must not read yet (hazard.h). PTX ISA "Async proxy", "membar, fence". */
#include "hazard.h"
#include "../src/cuda_abi.h"

enum { UNIT = 4 };

void ws_emu_proxy_fence(struct warp *w) { w->proxy_fence = ++w->cta->proxy_tick; }

void ws_emu_proxy_wrote(struct warp *w, const struct inst *in, struct cta *owner, uint32_t offset, uint32_t bytes) {
  struct shadow s = {.tick = owner->proxy_tick, .warp = (uint16_t)(w->index | (owner == w->cta ? 0 : 0x8000)), .in = in};
  for (uint32_t u = offset >> UNIT; u <= (offset + bytes - 1) >> UNIT; u++) owner->shadow[u] = s;
}

void ws_emu_proxy_async_wrote(struct cta *owner, uint32_t offset, uint32_t bytes) {
  if (!owner->shadow || !bytes) return;
  for (uint32_t u = offset >> UNIT; u <= (offset + bytes - 1) >> UNIT; u++) owner->shadow[u].in = NULL;
}

int ws_emu_proxy_reads(struct who who, struct cta *owner, uint32_t offset, uint32_t bytes) {
  if (!owner->shadow || !bytes) return EV_NEXT;
  for (uint32_t u = offset >> UNIT; u <= (offset + bytes - 1) >> UNIT; u++) {
    struct shadow *s = &owner->shadow[u];
    bool peer = s->warp & 0x8000; /* its fences are counted in its own CTA: not looked for */
    if (!s->in) continue;
    if (peer || owner->warps[s->warp].proxy_fence > s->tick || (who.w->cta == owner && who.w->proxy_fence > s->tick)) {
      s->in = NULL; /* visible from now on */
      continue;
    }
    char where[600];
    ws_emu_where(owner->k, s->in, where, sizeof where);
    return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION,
                     "reads shared address 0x%x through the async proxy, which warp %u wrote without a fence.proxy.async since, %s",
                     owner->shared_lo + (u << UNIT), s->warp, where);
  }
  return EV_NEXT;
}
