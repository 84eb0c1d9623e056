/* PTX ISA "Warp-level Matrix Load/Store/Transpose Instruction": ldmatrix, stmatrix, movmatrix. Lane l is group g = l / 4,
 * thread t = l % 4 of its group. mma is in exec_mma.c. */
#include "address.h"

#define SPACE(in) ((enum ptx_space)((in)->u >> 4))

static int whole_warp(struct warp *w, const struct inst *in) {
  if (w->mask == ALL_LANES) return EV_NEXT;
  return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "executes this with lanes 0x%08x: all 32 are needed", w->mask);
}

/* Row pointers of in->n matrices: lane 8m + r holds the address of row r of matrix m. */
static int rows(struct warp *w, const struct inst *in, int kind, struct access *p) {
  int ev = whole_warp(w, in);
  if (ev != EV_NEXT) return ev;
  w->mask = in->n == 4 ? ALL_LANES : (1u << 8 * in->n) - 1;
  ev = access_lanes(w, in, 0, SPACE(in), 16, kind, p);
  if (ev == EV_NEXT) count_access(w, SPACE(in) == SP_GENERIC ? SP_SHARED : SPACE(in), 16, kind);
  w->mask = ALL_LANES;
  return ev;
}

HANDLER(ldmatrix) {
  struct access p;
  int ev = rows(w, in, ACCESS_READ, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    uint32_t *d = ws_emu_slot(w, in->x[m]);
    for (int g = 0; g < 8; g++) memcpy(d + 4 * g, p.p[8 * m + g], 16);
  }
  return EV_NEXT;
}
HANDLER(ldmatrix_trans) {
  struct access p;
  int ev = rows(w, in, ACCESS_READ, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    uint32_t *d = ws_emu_slot(w, in->x[m]);
    uint16_t v[8][8];
    for (int r = 0; r < 8; r++) memcpy(v[r], p.p[8 * m + r], 16);
    for (int l = 0; l < LANES; l++) d[l] = v[2 * (l & 3)][l >> 2] | (uint32_t)v[2 * (l & 3) + 1][l >> 2] << 16;
  }
  return EV_NEXT;
}
HANDLER(stmatrix) {
  struct access p;
  int ev = rows(w, in, ACCESS_WRITE, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    const uint32_t *s = ws_emu_slot(w, in->x[m]);
    for (int g = 0; g < 8; g++) memcpy(p.p[8 * m + g], s + 4 * g, 16);
  }
  return EV_NEXT;
}
HANDLER(stmatrix_trans) {
  struct access p;
  int ev = rows(w, in, ACCESS_WRITE, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    const uint32_t *s = ws_emu_slot(w, in->x[m]);
    uint16_t v[8][8];
    for (int l = 0; l < LANES; l++) v[2 * (l & 3)][l >> 2] = (uint16_t)s[l], v[2 * (l & 3) + 1][l >> 2] = (uint16_t)(s[l] >> 16);
    for (int r = 0; r < 8; r++) memcpy(p.p[8 * m + r], v[r], 16);
  }
  return EV_NEXT;
}

/* ---- 8 bits, sm_100: a row is 16 elements. imm2: bits of an element in memory ---- */
/* PTX ISA "Optional Decompression": elements of 6 or 4 bits lie side by side from the row's first byte on, the rest of its 16 bytes
 * is padding; each comes to lie in the low bits of a byte. */
static void row_bytes(const uint8_t *p, int64_t bits, uint8_t out[16]) {
  uint8_t all[17] = {0};
  memcpy(all, p, 16);
  for (uint32_t i = 0; i < 16; i++) {
    uint32_t at = i * (uint32_t)bits;
    out[i] = (uint8_t)(((all[at / 8] | (uint32_t)all[at / 8 + 1] << 8) >> at % 8) & ((1u << bits) - 1));
  }
}
HANDLER(ldmatrix_8x16) { /* lane l: four elements of row l / 4 */
  struct access p;
  int ev = rows(w, in, in->imm2 == 8 ? ACCESS_READ : ACCESS_READ | ACCESS_PADDED, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    uint8_t *d = ws_emu_slot(w, in->x[m]);
    for (int g = 0; g < 8; g++) row_bytes(p.p[8 * m + g], in->imm2, d + 16 * g);
  }
  return EV_NEXT;
}
HANDLER(ldmatrix_16x16) { /* transposed: register 0 has column g of four rows, register 1 column g + 8 */
  struct access p;
  int ev = rows(w, in, in->imm2 == 8 ? ACCESS_READ : ACCESS_READ | ACCESS_PADDED, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m += 2) {
    uint8_t v[16][16], *d[2] = {ws_emu_slot(w, in->x[m]), ws_emu_slot(w, in->x[m + 1])};
    for (int r = 0; r < 16; r++) row_bytes(p.p[8 * m + r], in->imm2, v[r]);
    for (int l = 0; l < LANES; l++)
      for (int j = 0; j < 4; j++) d[0][4 * l + j] = v[4 * (l & 3) + j][l >> 2], d[1][4 * l + j] = v[4 * (l & 3) + j][(l >> 2) + 8];
  }
  return EV_NEXT;
}
HANDLER(stmatrix_16x8) { /* lane l: elements 0, 1 of row g and 2, 3 of row g + 8, columns 2t and 2t + 1; a column is a row in memory */
  struct access p;
  int ev = rows(w, in, ACCESS_WRITE, &p);
  if (ev != EV_NEXT) return ev;
  for (int m = 0; m < in->n; m++) {
    const uint8_t *s = ws_emu_slot(w, in->x[m]);
    for (int l = 0; l < LANES; l++)
      for (int j = 0; j < 4; j++) p.p[8 * m + 2 * (l & 3) + (j & 1)][(l >> 2) + 8 * (j >> 1)] = s[4 * l + j];
  }
  return EV_NEXT;
}

HANDLER(movmatrix) {
  int ev = whole_warp(w, in);
  if (ev != EV_NEXT) return ev;
  const uint32_t *s = SLOT(uint32_t, 1);
  uint32_t *d = SLOT(uint32_t, 0);
  uint16_t v[8][8];
  for (int l = 0; l < LANES; l++) v[l >> 2][2 * (l & 3)] = (uint16_t)s[l], v[l >> 2][2 * (l & 3) + 1] = (uint16_t)(s[l] >> 16);
  for (int l = 0; l < LANES; l++) d[l] = v[2 * (l & 3)][l >> 2] | (uint32_t)v[2 * (l & 3) + 1][l >> 2] << 16;
  return EV_NEXT;
}

emu_resolve LEVELLED(ws_emu_resolve_mma);

emu_fn *LEVELLED(ws_emu_resolve_matrix)(struct bind *b) {
  const struct isa_use *u = b->u;
  const char *m = u->row->mnemonic;
  bool trans = ws_emu_has(u, ".trans");
  if (!strcmp(m, "movmatrix")) return movmatrix;
  if (!strcmp(m, "mma")) return LEVELLED(ws_emu_resolve_mma)(b);
  b->in->u |= (uint8_t)(b->space << 4);
  b->in->n = ws_emu_has(u, ".x4") ? 4 : ws_emu_has(u, ".x2") ? 2 : 1;
  if (ws_emu_has(u, ".m16n8")) return stmatrix_16x8;
  b->in->imm2 = ws_emu_has(u, ".b4x16_p64") ? 4 : ws_emu_has(u, ".b6x16_p32") ? 6 : 8;
  if (ws_emu_has(u, ".m8n16")) return ldmatrix_8x16;
  if (ws_emu_has(u, ".m16n16")) return b->in->n *= 2, ldmatrix_16x16;
  return *m == 'l' ? (trans ? ldmatrix_trans : ldmatrix) : trans ? stmatrix_trans : stmatrix;
}
