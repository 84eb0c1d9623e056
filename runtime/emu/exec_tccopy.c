/* PTX ISA "TensorCore 5th Generation Family Instructions: tcgen05.cp", "tcgen05.shift": what moves within tensor memory or into it without
 * registers. Checked at issue; performed when tensor.c says. */
#include "tcform.h"
#include "trace.h"

/* ---- tcgen05.cp: o[0] tensor memory, o[1] the descriptor; in->n: enum copy_shape; in->w: bits of an element that is unpacked, or 0 ---- */
enum copy_shape { CP_128X256, CP_4X256, CP_128X128, CP_64X128_02, CP_64X128_01, CP_32X128 };
static const struct copy_form { const char *shape, *route; uint8_t rows, units, lanes; } copies[] = { /* ORDER: enum copy_shape; lanes: that a row goes to */
    {".128x256b", "", 128, 2, 1}, {".4x256b", "", 4, 2, 1}, {".128x128b", "", 128, 1, 1}, {".64x128b", ".warpx2::02_13", 64, 1, 2},
    {".64x128b", ".warpx2::01_23", 64, 1, 2}, {".32x128b", ".warpx4", 32, 1, 4}};
static uint32_t copy_lane(enum copy_shape s, uint32_t row, uint32_t nth) {
  switch (s) {
    case CP_4X256: return 32 * row;
    case CP_64X128_02: return row + 64 * nth;
    case CP_64X128_01: return row / 32 * 64 + row % 32 + 32 * nth;
    default: return row + 32 * nth;
  }
}
/* PTX ISA "Optional Decompression": 16 elements of 6 or 4 bits at the start of 16 bytes become bytes, 6 bits in the low ones, 4 bits in bits 2..5. */
static void decompress(uint8_t *unit, uint32_t bits) {
  uint8_t in[17] = {0};
  memcpy(in, unit, 16);
  for (uint32_t i = 0; i < 16; i++) {
    uint32_t at = i * bits, v = (in[at / 8] | (uint32_t)in[at / 8 + 1] << 8) >> at % 8 & ((1u << bits) - 1);
    unit[i] = (uint8_t)(bits == 4 ? v << 2 : v);
  }
}
static int copy_into(const struct tc_op *op, struct cta *c) {
  const struct copy_form *f = &copies[op->who.in->n];
  struct matrix m;
  uint8_t rows[TC_LANES][32];
  decode_matrix(c, op->who, op->b, 1, false, &m); /* checked at issue */
  if (c->done) return BAD(op->who, "reads shared memory of CTA %u of its cluster, which has ended", c->rank);
  uint32_t good = fetch_units(&m, f->rows, f->units, rows);
  if (good != f->rows)
    return WHO_FAULT(op->who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "gives descriptor 0x%llx, whose row %u lies outside of the CTA's %u bytes", (unsigned long long)op->b, good,
                     c->shared_size);
  for (uint32_t r = 0; op->who.in->w && r < f->rows; r++)
    for (uint32_t u = 0; u < f->units; u++) decompress(rows[r] + 16 * u, op->who.in->w);
  for (uint32_t r = 0; r < f->rows; r++)
    for (uint32_t nth = 0; nth < f->lanes; nth++)
      for (uint32_t col = 0; col < 4u * f->units; col++) memcpy(&c->tensor->word[(op->d & 0xffff) + col][copy_lane(op->who.in->n, r, nth)], rows[r] + 4 * col, 4);
  return op->who.w->cta->fault.code ? EV_FAULT : EV_NEXT;
}
static int run_copy(const struct tc_op *op) {
  struct cta *own = op->who.w->cta;
  if (copy_into(op, own) != EV_NEXT) return EV_FAULT;
  return op->pair ? copy_into(op, own->cluster->cta[own->rank ^ 1]) : EV_NEXT;
}
static int touch_copy(const struct tc_op *op, uint32_t number) {
  const struct copy_form *f = &copies[op->who.in->n];
  struct cta *own = op->who.w->cta;
  if (touch_matrix(op, number, own, op->b, false, 1, f->rows, f->units) != EV_NEXT) return EV_FAULT;
  return op->pair ? touch_matrix(op, number, own->cluster->cta[own->rank ^ 1], op->b, false, 1, f->rows, f->units) : EV_NEXT;
}
static int issue_copy(struct who who) {
  struct warp *w = who.w;
  const struct inst *in = who.in;
  struct cta *c = w->cta, *peer = (c->rank ^ 1) < c->cluster->n ? c->cluster->cta[c->rank ^ 1] : NULL;
  uint32_t columns = 4u * copies[in->n].units;
  struct matrix m;
  struct tc_op op = {.who = who, .run = run_copy, .touch = touch_copy, .kind = TC_COPY, .pair = in->u & PAIR, .b = SLOT(uint64_t, 1)[who.lane], .d = address_at(who, 0, in->u & A1_WIDE, in->imm)};
  const char *why = decode_matrix(c, who, op.b, 1, false, &m);
  if (why) return BAD(who, "gives descriptor 0x%llx, which %s", (unsigned long long)op.b, why);
  if (op.d >> 16 || op.d & 3) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "copies to 0x%08x in tensor memory: lane 0 and a multiple of 4 columns are needed", op.d);
  if (op.pair && !peer) return BAD(who, "is executed in CTA %u of a cluster of %u: it has no peer", c->rank, c->cluster->n);
  op.span[op.spans++] = (struct tc_span){(uint16_t)op.d, (uint16_t)columns, 3, true};
  if (ws_emu_tc_check(who, c, op.d, columns, "writes") != EV_NEXT || ws_emu_tc_race_op(&op, c) != EV_NEXT) return EV_FAULT;
  if (op.pair && (ws_emu_tc_check(who, peer, op.d, columns, "writes") != EV_NEXT || ws_emu_tc_race_op(&op, peer) != EV_NEXT)) return EV_FAULT;
  TRACE(w, in, NOTHING(TENSOR_COPY), .lanes = 1u << who.lane);
  return ws_emu_tc_issue(&op);
}
HANDLER(copy) {
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (issue_copy(WHO(w, in, __builtin_ctz(m))) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

/* ---- tcgen05.shift.down: o[0] tensor memory. Eight columns of the address's 32 lanes: row i goes to row i + 1, row 0 stays ---- */
enum { SHIFT_COLUMNS = 8 };
static void shift_in(struct tensor *t, uint32_t at) {
  for (uint32_t c = 0; c < SHIFT_COLUMNS; c++) {
    uint32_t *lanes = &t->word[(at & 0xffff) + c][at >> 16];
    memmove(lanes + 1, lanes, 31 * sizeof *lanes);
  }
}
static int run_shift(const struct tc_op *op) {
  struct cta *own = op->who.w->cta;
  shift_in(own->tensor, op->d);
  if (op->pair) shift_in(own->cluster->cta[own->rank ^ 1]->tensor, op->d);
  return EV_NEXT;
}
static int issue_shift(struct who who) {
  const struct inst *in = who.in;
  struct cta *c = who.w->cta, *peer = (c->rank ^ 1) < c->cluster->n ? c->cluster->cta[c->rank ^ 1] : NULL;
  struct tc_op op = {.who = who, .run = run_shift, .kind = TC_SHIFT, .pair = in->u & PAIR, .d = address_at(who, 0, in->u & A1_WIDE, in->imm)};
  if (op.d >> 16 & 31) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "shifts from lane %u on: a multiple of 32 is needed", op.d >> 16);
  if (op.pair && !peer) return BAD(who, "is executed in CTA %u of a cluster of %u: it has no peer", c->rank, c->cluster->n);
  op.span[op.spans++] = (struct tc_span){(uint16_t)op.d, SHIFT_COLUMNS, 3, true};
  if (ws_emu_tc_check(who, c, op.d, SHIFT_COLUMNS, "shifts") != EV_NEXT || ws_emu_tc_race_op(&op, c) != EV_NEXT) return EV_FAULT;
  if (op.pair && (ws_emu_tc_check(who, peer, op.d, SHIFT_COLUMNS, "shifts") != EV_NEXT || ws_emu_tc_race_op(&op, peer) != EV_NEXT)) return EV_FAULT;
  return ws_emu_tc_issue(&op);
}
HANDLER(shift) {
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (issue_shift(WHO(w, in, __builtin_ctz(m))) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

emu_resolve LEVELLED(ws_emu_resolve_tccopy);
emu_fn *LEVELLED(ws_emu_resolve_tccopy)(struct bind *b) {
  struct inst *in = b->in;
  if (ws_emu_has(b->u, ".shift")) return shift;
  in->w = ws_emu_has(b->u, ".b4x16_p64") ? 4 : ws_emu_has(b->u, ".b6x16_p32") ? 6 : 0;
  for (uint8_t s = 0; s < sizeof copies / sizeof *copies; s++)
    if (ws_emu_has(b->u, copies[s].shape) && (!*copies[s].route || ws_emu_has(b->u, copies[s].route))) return in->n = s, copy;
  return NULL;
}
