/* What the descriptors of tcgen05.mma and tcgen05.cp say: PTX ISA "Instruction descriptor", "Shared memory descriptor", "Zero-Column
 * Mask Descriptor", and what each kind allows. Nothing here touches an element. */
#ifndef WS_EMU_TCFORM_H
#define WS_EMU_TCFORM_H
#include "matrix.h"
#include "tensor.h"

/* in->w: KIND_F16 .. and the flags WEIGHTS ..; in->u: bits 0..2 A1_WIDE .. of addresses, PAIR, MASK, SCALE; in->n: scale-input-d, of
 * block-scaled kinds the factors that a row has
 * o[0] D, o[1] A's descriptor, o[2] or its address, o[3] B's descriptor, o[4] instruction descriptor, o[5] enable-input-d;
 * x: mask; or slots and offsets of the addresses of A's and B's scale factors; or the zero-column mask */
enum { PAIR = 8, MASK = 16, SCALE = 32 };
enum kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4, KIND_MASK = 7, WEIGHTS = 8 /* .ws */, SHIFTED = 16 /* .ashift */ };
enum { D_F16, D_F32, D_S32 };
#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

/* The address in tensor memory behind an operand. */
static inline uint32_t address_at(struct who who, int slot, bool wide, int64_t imm) {
  const uint8_t *r = ws_emu_slot(who.w, who.in->o[slot]);
  uint32_t v;
  memcpy(&v, r + (size_t)who.lane * (wide ? 8 : 4), 4);
  return v + (uint32_t)imm;
}

/* ---- PTX ISA "Instruction descriptor" ---- */
struct form {
  uint32_t m, n, k;
  uint32_t bytes;                    /* of an element, 1 for those of less; a row has 32 bytes of K */
  uint8_t d, type_a, type_b;         /* D_F16 .., enum ptx_type */
  uint8_t parts;                     /* sums of at most 32 elements of K, one after the other */
  uint8_t factors, id_a, id_b;       /* scale factors of a row, 0: none; byte of the first in its word */
  bool negate_a, negate_b, mn_a, mn_b, saturate, weights, ue4m3;
};
static inline bool block_scaled(uint8_t kind) { return kind >= KIND_MXF8F6F4; }
static uint8_t element_type(uint8_t kind, uint32_t code) {
  static const uint8_t small[8] = {T_E4M3, T_E5M2, T_NONE, T_E2M3, T_E3M2, T_E2M1, T_NONE, T_NONE};
  switch (kind) {
    case KIND_F16: return code == 0 ? T_F16 : code == 1 ? T_BF16 : T_NONE;
    case KIND_TF32: return code == 2 ? T_TF32 : T_NONE;
    case KIND_F8F6F4: case KIND_MXF8F6F4: return small[code];
    case KIND_MXF4: case KIND_MXF4NVF4: return code == 1 ? T_E2M1 : T_NONE;
    default: return code == 0 ? T_U8 : code == 1 ? T_S8 : T_NONE;
  }
}
/* Bits of an element in memory. */
static inline uint32_t element_bits(uint8_t type) {
  return type == T_E2M1 ? 4 : type == T_E2M3 || type == T_E3M2 ? 6 : ws_emu_types[type].bits;
}
static const char *shape_error(const struct form *f, uint8_t kind, bool pair) {
  if (f->weights) {
    if (f->m != 32 && f->m != 64 && f->m != 128) return "M must be 32, 64 or 128";
    return f->n != 64 && f->n != 128 && f->n != 256 ? "N must be 64, 128 or 256" : NULL;
  }
  if (block_scaled(kind) && !pair && f->m != 128) return "M must be 128";
  if (pair ? f->m != 128 && f->m != 256 : f->m != 64 && f->m != 128) return pair ? "M must be 128 or 256" : "M must be 64 or 128";
  if (f->n < (pair ? 16 : 8) || f->n > 256 || f->n % (pair ? 16 : 8)) return pair ? "N must be 16, 32 .. 256" : "N must be 8, 16 .. 256";
  if (kind == KIND_I8 && (pair ? f->n % 32 : f->n % 16 && f->n != 8 && f->n != 24)) return "N is none of this kind's";
  if (f->bytes == 1 && f->mn_b && f->n % (pair ? 32 : 16)) return "N of a transposed B of 8 bits must be a multiple of 16, of 32 for a pair";
  return NULL;
}
static const char *factor_error(uint32_t d, uint8_t kind, struct form *f) {
  f->id_a = d >> 29 & 3;
  f->id_b = d >> 4 & 3;
  f->ue4m3 = !(d >> 23 & 1);
  if (d >> 31 && kind != KIND_MXF8F6F4) return "asks for K 96, which is not modelled";
  if (d & 0x8700004bu) return "sets bits that this kind reserves";
  if (kind != KIND_MXF8F6F4 && d & 0x00009000u) return "sets bits that this kind reserves";
  if (f->ue4m3 && f->factors != 4) return "names UE4M3 for the scale factors, which go with four of them a row";
  if (f->factors == 4 ? f->id_a | f->id_b : f->factors == 2 ? (f->id_a | f->id_b) & 1 : 0) return "names a scale factor id that its vector size does not have";
  return NULL;
}
static inline const char *decode_form(uint32_t d, const struct inst *in, bool pair, struct form *f) {
  uint8_t kind = in->w & KIND_MASK;
  bool four = kind == KIND_MXF4 || kind == KIND_MXF4NVF4;
  *f = (struct form){.m = (d >> 24 & 31) << 4, .n = (d >> 17 & 63) << 3, .bytes = kind == KIND_F16 ? 2 : kind == KIND_TF32 ? 4 : 1, .d = d >> 4 & 3,
                     .type_a = element_type(kind, d >> 7 & 7), .type_b = element_type(kind, d >> 10 & (four ? 3 : 7)), .negate_a = d >> 13 & 1,
                     .negate_b = d >> 14 & 1, .mn_a = d >> 15 & 1, .mn_b = d >> 16 & 1, .saturate = d >> 3 & 1, .parts = four ? 2 : 1, .weights = in->w & WEIGHTS};
  f->k = four ? 64 : 32 / f->bytes;
  if (d & 4) return "is of a sparse product, which this instruction is not";
  if (block_scaled(kind)) {
    f->factors = in->n;
    const char *why = factor_error(d, kind, f);
    if (why) return why;
    f->m = (d >> 27 & 3) << 7;
    f->d = D_F32;
    f->saturate = false;
  } else if (d & (f->weights ? 0x20800043u : 0xe0800043u)) {
    return "sets bits that this kind reserves";
  }
  if (f->type_a == T_NONE || f->type_b == T_NONE) return "names an element type that its kind does not have";
  if (kind == KIND_I8 ? f->d != D_S32 : f->d != D_F32 && f->d != D_F16) return "names a type of D that its kind does not have";
  if (f->d == D_F16 && (kind == KIND_TF32 || f->type_a == T_BF16 || f->type_b == T_BF16)) return "names f16 for D, which these elements do not have";
  if (kind == KIND_I8 ? f->negate_a || f->negate_b : f->saturate) return "sets bits that this kind reserves";
  if ((f->mn_a && element_bits(f->type_a) < 8) || (f->mn_b && element_bits(f->type_b) < 8)) return "transposes elements of less than 8 bits";
  return shape_error(f, kind, pair);
}

/* ---- PTX ISA "Shared memory descriptor" ---- */
static inline const char *decode_matrix(struct cta *c, struct who who, uint64_t d, uint32_t bytes, bool mn, struct matrix *m) {
  static const uint8_t spans[8] = {16, 128, 128, 0, 64, 0, 32, 0};
  uint8_t span = spans[d >> 61];
  bool atoms32 = d >> 61 == 1;
  *m = matrix_of(c, who, d, span, bytes);
  m->atom = atoms32 ? 32 : 16;
  if (!span) return "has an unknown layout in bits 61..63";
  if (atoms32 && mn && bytes != 4) return "has the layout of 128 bytes with atoms of 32, which a transposed matrix has of tf32 alone";
  if (!atoms32 && mn && bytes == 4) return "has a layout that a transposed matrix of tf32 does not have: it needs that of 128 bytes with atoms of 32";
  if ((d >> 46 & 7) != 1) return "lacks the constant 1 in bits 46..48";
  if (d >> 52 & 1) return "has an absolute leading offset, which is not modelled";
  if (d & 0x1fe00000c000c000u) return "sets reserved bits";
  if (d >> 49 & 7) return "has a base offset, which is not modelled: start the tile at a multiple of the swizzle's pattern";
  return NULL;
}

/* ---- PTX ISA "Zero-Column Mask Descriptor": runs of columns of B that count as zeros ---- */
static inline uint32_t column_shift(uint64_t d) { return (uint32_t)(d >> 56 & 63); }
static inline bool zero_column(uint64_t d, const struct form *f, uint32_t n) {
  uint32_t masks = 128 / f->m, size = f->n / masks, i = n / size;
  uint32_t zeros = (uint32_t)(d >> 40 & 0xff) + 1, used = (uint32_t)(d >> 48 & 0xff) + 1;
  if (!(d >> 39 & 1)) return false;
  uint32_t at = n % size + (uint32_t)(d >> 8 * i & 0xff) + (d >> (32 + i) & 1 ? 0 : zeros); /* in a pattern that begins with zeros */
  return at % (zeros + used) < zeros;
}
/* Notes a matrix of `rows` rows of `units` 16-byte units as read by the operation with this number. */
static inline int touch_matrix(const struct tc_op *op, uint32_t number, struct cta *c, uint64_t desc, bool mn, uint32_t bytes, uint32_t rows, uint32_t units) {
  struct matrix m;
  struct race_touch t;
  decode_matrix(c, op->who, desc, bytes, mn, &m); /* checked at issue */
  if (!ws_emu_race_begin(&t, op->who, c, BY_TENSOR, number, RACE_ASYNC, NULL)) return EV_NEXT;
  if (mn) touch_mn(&m, rows, &t);
  else touch_units(&m, rows, units, &t);
  return t.ev;
}
#endif
