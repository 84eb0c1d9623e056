/* Matrix descriptors of shared memory, for wgmma and tcgen05.mma (PTX ISA, "Matrix Descriptor Format", "Shared memory descriptor"):
 *
 *   bits 0-13 address / 16;  16-29 distance of panels / 16 (MN-major only);  32-45 distance of 8 rows / 16;  61-63 swizzle
 *
 * The low word of a step is the tile's plus a constant, the high word is a constant. Which element lies where: "Strides" and
 * "Canonical layouts" there. A step takes 16 of the contracted index: K-major 32 bytes of a row, then the next panel; MN-major
 * 16 rows. */
#include "lower.h"

/* Swizzle and version. sm_90: bits 62-63 are 1, 2, 3 for 128, 64, 32 bytes; sm_100: bits 61-63 are 2, 4, 6, and bit 46 is set. */
long ws_descriptor_high(const struct ws_schedule *s, const struct operand *o) {
  const struct ws_bufferm *b = o->mem->buffer;
  const struct ws_smem_layout lay = ws_mem_layout(o->mem);
  long code = b->swizzle == 128 ? 1 : b->swizzle == 64 ? 2 : b->swizzle == 32 ? 3 : 0;
  return code << 30 | (s->arch >= 100 ? 1L << 14 : 0) | ws_smem_unit(&lay, 8, 0) / 16;
}

/* The upper half of the low word. */
long ws_descriptor_lead(const struct operand *o) { return o->mn_major ? ws_mem_layout(o->mem).panel_bytes / 16 << 16 : 0; }

/* Bytes from step 0 to step k, of the contracted index, in m-tile mi. */
long ws_descriptor_step(const struct operand *o, int k, int mi) {
  const struct ws_smem_layout as_seen = ws_mem_layout(o->mem), *lay = &as_seen;
  if (o->mn_major) return ws_smem_unit(lay, (long)k * WS_KSTEP, (long)mi * 8);
  long unit = (long)o->mem->col0 / 8 + k * 2L, first = (long)o->mem->col0 / 8;
  long low = unit % lay->panel_units * 16, low0 = first % lay->panel_units * 16; /* the XOR is taken of the sum */
  return ws_smem_unit(lay, 64L * mi, unit) + low - ws_smem_unit(lay, 0, first) - low0;
}

/* Where the operand starts, counted from its tile. */
long ws_descriptor_start(const struct operand *o) {
  const struct ws_smem_layout as_seen = ws_mem_layout(o->mem), *lay = &as_seen;
  long unit = o->mem->col0 / 8;
  return ws_smem_unit(lay, o->mem->row0, unit) + unit % lay->panel_units * 16;
}

/* rows: the operand is split over the warpgroups of the role, 64 rows each. */
void ws_describe(struct lower *l, struct operand *o, bool rows) {
  const struct ws_smem_layout as_seen = ws_mem_layout(o->mem), *lay = &as_seen;
  long imm;
  const char *slot = ws_slot_base(l, o->mem, &imm), *base = "%smem", *low = ws_lower_temp(l, WS_REG_B32);
  if (*slot) OP(l, "add_s32", base = ws_lower_temp(l, WS_REG_B32), "%smem", slot);
  OP(l, "descriptor_start", low, base, ws_lower_int(l, imm + ws_descriptor_start(o)));
  if (o->mn_major) OP(l, "descriptor_row", low, ws_fmt(l->arena, "0x%lX", ws_descriptor_lead(o)));
  if (rows && l->prog->role->warps > 4)
    OP(l, "descriptor_warpgroup", low, ws_lower_int(l, ws_smem_unit(lay, 64, 0) / 16), ws_lower_temp(l, WS_REG_B32));
  o->low = low, o->high = ws_fmt(l->arena, "0x%08lX", ws_descriptor_high(l->s, o));
}

const char *ws_descriptor(struct lower *l, const struct operand *o, int k, int mi, const char *into) {
  const char *d = into ? into : ws_lower_temp(l, WS_REG_B64), *t = ws_lower_temp(l, WS_REG_B32);
  OP(l, "descriptor", d, o->low, ws_lower_int(l, ws_descriptor_step(o, k, mi) / 16), o->high, t);
  return d;
}
