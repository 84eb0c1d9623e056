/* cuTensorMapEncodeTiled: the arguments checked as the driver checks them, and packed. */
#include "drv.h"
#include "tmap.h"
#include <string.h>

static uint8_t small(unsigned int v) { return v > UINT8_MAX ? UINT8_MAX : (uint8_t)v; } /* what is too large stays invalid */

API cuTensorMapEncodeTiled(struct ws_cu_tensor_map *map, unsigned int type, uint32_t rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, unsigned int interleave,
                           unsigned int swizzle, unsigned int l2_promotion, unsigned int fill) {
  ws_cu_result r = ws_emu_enter();
  if (r) return r;
  /* The driver's documentation wants a map at a multiple of 64, and an address; the driver of an H200 takes 32 and NULL. */
  if (!map || (uintptr_t)map % 32 || !extents || !box || !element_strides || !strides)
    return ws_emu_leave(ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "cuTensorMapEncodeTiled: an argument is NULL, or the map's address no multiple of 32"));
  struct tmap m = {.type = small(type), .rank = small(rank), .interleave = small(interleave), .swizzle = small(swizzle),
                   .l2 = small(l2_promotion), .fill = small(fill), .address = (uintptr_t)address};
  for (uint32_t d = 0; d < rank && d < TMAP_RANK; d++) {
    m.extent[d] = extents[d];
    m.box[d] = box[d];
    m.step[d] = element_strides[d];
    m.stride[d] = d ? strides[d - 1] : ws_emu_tmap_element(m.type);
  }
  const char *why = ws_emu_tmap_invalid(&m);
  if (why) return ws_emu_leave(ws_emu_say(WS_CUDA_ERROR_INVALID_VALUE, "cuTensorMapEncodeTiled: %s", why));
  ws_emu_tmap_pack(&m, map);
  return ws_emu_leave(WS_CUDA_SUCCESS);
}
