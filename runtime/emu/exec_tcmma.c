/* PTX ISA "TensorCore 5th Generation Family Instructions: tcgen05.mma", "tcgen05.cp". Everything is checked at issue, with the thread's line; the
 * product happens when tensor.c says. The vectors of the sum run over the lanes of tensor memory, that is over A's rows; its
 * rows are the columns of D. */
#include "product.h"
#include "tensor.h"
#include "trace.h"

/* in->w: KIND_F16 ..; in->u: bits 0..2 A1_WIDE .. of addresses, PAIR, MASK, SCALE; in->n: scale-input-d
 * o[0] D, o[1] A's descriptor, o[2] or its address, o[3] B's descriptor, o[4] instruction descriptor, o[5] enable-input-d; x: mask */
enum { PAIR = 8, MASK = 16, SCALE = 32 };
enum kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8 };
enum { D_F16, D_F32, D_S32 };
#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

/* ---- PTX ISA "Instruction descriptor" ---- */
struct form {
  uint32_t m, n, bytes;              /* bytes of an element; K is 32 bytes */
  uint8_t d, type_a, type_b;         /* D_F16 .., enum ptx_type */
  bool negate_a, negate_b, mn_a, mn_b, saturate;
};
static uint8_t element_type(uint8_t kind, uint32_t code) {
  switch (kind) {
    case KIND_F16: return code == 0 ? T_F16 : code == 1 ? T_BF16 : T_NONE;
    case KIND_TF32: return code == 2 ? T_TF32 : T_NONE;
    case KIND_F8F6F4: return code == 0 ? T_E4M3 : code == 1 ? T_E5M2 : T_NONE;
    default: return code == 0 ? T_U8 : code == 1 ? T_S8 : T_NONE;
  }
}
static const char *shape_error(const struct form *f, uint8_t kind, bool pair) {
  if (pair ? f->m != 128 && f->m != 256 : f->m != 64 && f->m != 128) return pair ? "M must be 128 or 256" : "M must be 64 or 128";
  if (f->n < (pair ? 16 : 8) || f->n > 256 || f->n % (pair ? 16 : 8)) return pair ? "N must be 16, 32 .. 256" : "N must be 8, 16 .. 256";
  if (kind == KIND_I8 && (pair ? f->n % 32 : f->n % 16 && f->n != 8 && f->n != 24)) return "N is none of this kind's";
  if (f->bytes == 1 && f->mn_b && f->n % (pair ? 32 : 16)) return "N of a transposed B of 8 bits must be a multiple of 16, of 32 for a pair";
  return NULL;
}
static const char *decode_form(uint32_t d, uint8_t kind, bool pair, struct form *f) {
  *f = (struct form){.m = (d >> 24 & 31) << 4, .n = (d >> 17 & 63) << 3, .bytes = kind == KIND_F16 ? 2 : kind == KIND_TF32 ? 4 : 1, .d = d >> 4 & 3,
                     .type_a = element_type(kind, d >> 7 & 7), .type_b = element_type(kind, d >> 10 & 7), .negate_a = d >> 13 & 1,
                     .negate_b = d >> 14 & 1, .mn_a = d >> 15 & 1, .mn_b = d >> 16 & 1, .saturate = d >> 3 & 1};
  if (d & 4) return "is of a sparse product, which is not supported";
  if (d & 0xe0800043u) return "sets bits that this kind reserves";
  if (f->type_a == T_NONE || f->type_b == T_NONE)
    return kind == KIND_F8F6F4 ? "names an element type of 6 or 4 bits, which is not supported" : "names an element type that its kind does not have";
  if (kind == KIND_I8 ? f->d != D_S32 : f->d != D_F32 && f->d != D_F16) return "names a type of D that its kind does not have";
  if (f->d == D_F16 && (kind == KIND_TF32 || f->type_a == T_BF16 || f->type_b == T_BF16)) return "names f16 for D, which these elements do not have";
  if (kind == KIND_I8 ? f->negate_a || f->negate_b : f->saturate) return "sets bits that this kind reserves";
  if (f->bytes == 4 && (f->mn_a || f->mn_b)) return "transposes tf32, which is not supported";
  return shape_error(f, kind, pair);
}

/* ---- PTX ISA "Shared memory descriptor" ---- */
static const char *decode_matrix(struct cta *c, struct who who, uint64_t d, uint32_t bytes, struct matrix *m) {
  static const uint8_t spans[8] = {16, 0, 128, 0, 64, 0, 32, 0};
  uint8_t span = spans[d >> 61];
  *m = matrix_of(c, who, d, span, bytes);
  if (d >> 61 == 1) return "has the layout of 128 bytes with atoms of 32, which is not supported";
  if (!span) return "has an unknown layout in bits 61..63";
  if ((d >> 46 & 7) != 1) return "lacks the constant 1 in bits 46..48";
  if (d >> 52 & 1) return "has an absolute leading offset, which is not supported";
  if (d & 0x1fe00000c000c000u) return "sets reserved bits";
  if (d >> 49 & 7) return "has a base offset, which is not modelled: start the tile at a multiple of the swizzle's pattern";
  return NULL;
}

/* ---- the product ---- */
/* Where row m (of the CTA's own) and column n of D lie. PTX ISA "Data path layout organization" A, B, D, F. */
struct layout { uint32_t rows, columns, base; bool halves, quarters; };
static struct layout layout_of(const struct form *f, bool pair, uint32_t address) {
  struct layout l = {.rows = pair ? f->m / 2 : f->m, .columns = f->n, .base = address >> 16};
  l.halves = pair && f->m == 128;
  l.quarters = !pair && f->m == 64;
  if (l.halves) l.columns = f->n / 2;
  return l;
}
static inline uint32_t lane_of(const struct layout *l, uint32_t m) { return l->base + (l->quarters ? 32 * (m / 16) + m % 16 : m); }

static uint32_t *word_at(struct tensor *t, const struct layout *l, uint32_t d, uint32_t m, uint32_t n) {
  if (l->halves) return &t->word[(d & 0xffff) + n % l->columns][m + 64 * (n / l->columns)];
  return &t->word[(d & 0xffff) + n][lane_of(l, m)];
}

static int fetch(struct who who, struct cta *c, uint64_t desc, bool mn, uint32_t bytes, uint32_t rows, const char *which, uint8_t (*out)[32]) {
  struct matrix m;
  decode_matrix(c, who, desc, bytes, &m); /* checked at issue */
  if (c->done) return BAD(who, "reads shared memory of CTA %u of its cluster, which has ended", c->rank);
  uint32_t good = (mn ? fetch_mn : fetch_k)(&m, rows, out);
  if (good == rows) return who.w->cta->fault.code ? EV_FAULT : EV_NEXT;
  return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS,
                   "gives descriptor 0x%llx of %s, whose row %u lies outside of the CTA's %u bytes [0x%x, 0x%x): start 0x%x, leading offset %u, stride %u, swizzle %u",
                   (unsigned long long)desc, which, good, c->shared_size, c->k->shared_base, c->k->shared_base + c->shared_size, m.start, m.leading, m.stride,
                   m.span);
}
/* A in tensor memory: row m in the lane of D's row, four bytes a column. */
static void tensor_a(const struct tensor *t, const struct layout *l, uint32_t a, uint8_t (*rows)[32]) {
  for (uint32_t c = 0; c < 8; c++)
    for (uint32_t m = 0; m < l->rows; m++) memcpy(rows[m] + 4 * c, &t->word[(a & 0xffff) + c][lane_of(l, m)], 4);
}

static void product_int(const uint8_t (*a)[32], const uint8_t (*b)[32], const struct form *f, uint32_t rows, int32_t (*d)[TC_LANES], bool add) {
  for (uint32_t n = 0; n < f->n; n++)
    for (uint32_t m = 0; m < rows; m++) {
      int64_t s = add ? d[n][m] : 0;
      for (uint32_t k = 0; k < 32; k++)
        s += (f->type_a == T_S8 ? (int8_t)a[m][k] : a[m][k]) * (f->type_b == T_S8 ? (int8_t)b[n][k] : b[n][k]);
      if (f->saturate) s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
      d[n][m] = (int32_t)(uint32_t)s;
    }
}

static void sum_floats(const struct form *f, const uint8_t (*a)[32], const uint8_t (*b)[32], uint32_t rows, struct sums d, bool add) {
  struct operands q;
  q.rows = f->n;
  q.k = 32 / f->bytes;
  q.blocks = rows / BLOCK;
  uint32_t top_a = fill_b(&q, a, f->type_a, f->negate_a ? 1u << 31 : 0); /* the vectors are A's */
  uint32_t top_b = fill_a(&q, b, f->type_b, f->negate_b ? 1u << 31 : 0);
  q.special = top_a >= 0x7f800000u || top_b >= 0x7f800000u || (top_a >> 23) + (top_b >> 23) > 2 * 127 + 120;
  if (f->d == D_F16) product_half(&q, 25, d, add);
  else if (q.k == 16) product_16(&q, d, add);
  else if (q.k == 8) product_tf32(&q, d, add);
  else product_8_wide(&q, d, add);
}

/* D between tensor memory and a plain tile of columns. */
static void take_d(const struct tc_op *op, const struct form *f, const struct layout *l, struct tensor *t, uint32_t (*tile)[TC_LANES]) {
  for (uint32_t n = 0; n < f->n; n++)
    for (uint32_t m = 0; m < l->rows; m++) {
      uint32_t v = *word_at(t, l, op->d, m, n);
      if (f->d == D_F16) v = f2u(h2f((uint16_t)v));
      tile[n][m] = f->d != D_S32 && op->scale ? f2u(ldexpf(u2f(v), -op->scale)) : v;
    }
}
static void put_d(const struct tc_op *op, const struct form *f, const struct layout *l, struct tensor *t, uint32_t part, uint32_t (*tile)[TC_LANES]) {
  const uint32_t *off = op->off + 4 * part;
  for (uint32_t n = 0; n < f->n; n++)
    for (uint32_t m = 0; m < l->rows; m++) {
      uint32_t *to = word_at(t, l, op->d, m, n), lane = (uint32_t)(to - &t->word[0][0]) % TC_LANES;
      if (!(off[lane / 32] >> lane % 32 & 1)) *to = f->d == D_F16 ? f2h(u2f(tile[n][m])) : tile[n][m];
    }
}

/* The rows of A of one CTA. */
static int run_part(const struct tc_op *op, const struct form *f, struct cta *c, uint32_t part, const uint8_t (*b)[32]) {
  struct layout l = layout_of(f, op->pair, op->d);
  struct tensor *t = c->tensor;
  uint8_t a[TC_LANES][32];
  uint32_t tile[MOST_N][TC_LANES] __attribute__((aligned(64)));
  if (op->a_tensor) tensor_a(t, &l, (uint32_t)op->a, a);
  else if (fetch(op->who, c, op->a, f->mn_a, f->bytes, l.rows, "A", a) != EV_NEXT) return EV_FAULT;
  bool masked = op->off[0] | op->off[1] | op->off[2] | op->off[3] | op->off[4] | op->off[5] | op->off[6] | op->off[7];
  bool direct = f->d == D_F32 && l.rows == TC_LANES && !masked && !op->scale;
  if (direct) {
    sum_floats(f, (const uint8_t(*)[32])a, b, l.rows, (struct sums){(float *)(void *)t->word[op->d & 0xffff], TC_LANES}, op->add);
    return EV_NEXT;
  }
  if (op->add) take_d(op, f, &l, t, tile);
  if (f->d == D_S32) product_int((const uint8_t(*)[32])a, b, f, l.rows, (int32_t(*)[TC_LANES])(void *)tile, op->add);
  else sum_floats(f, (const uint8_t(*)[32])a, b, l.rows, (struct sums){(float *)(void *)tile, TC_LANES}, op->add);
  put_d(op, f, &l, t, part, tile);
  return EV_NEXT;
}

static int run(const struct tc_op *op) {
  struct cluster *cl = op->who.w->cta->cluster;
  struct cta *own = op->who.w->cta, *cta[2] = {own, NULL};
  struct form f;
  uint8_t b[MOST_N][32];
  uint32_t parts = op->pair ? 2 : 1;
  decode_form(op->form, op->who.in->w, op->pair, &f); /* checked at issue */
  if (op->pair) cta[0] = cl->cta[own->rank & ~1u], cta[1] = cl->cta[own->rank | 1u];
  for (uint32_t i = 0; i < parts; i++)
    if (fetch(op->who, cta[i], op->b, f.mn_b, f.bytes, f.n / parts, "B", b + i * (f.n / parts)) != EV_NEXT) return EV_FAULT;
  for (uint32_t i = 0; i < parts; i++)
    if (run_part(op, &f, cta[i], i, (const uint8_t(*)[32])b) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

/* What it reads of a CTA's shared memory: A and B, or of a copy its rows. */
static int touch_matrix(const struct tc_op *op, uint32_t number, struct cta *c, uint64_t desc, bool mn, uint32_t bytes, uint32_t rows, uint32_t units) {
  struct matrix m;
  struct race_touch t;
  decode_matrix(c, op->who, desc, bytes, &m); /* checked at issue */
  if (!ws_emu_race_begin(&t, op->who, c, BY_TENSOR, number, RACE_ASYNC, NULL)) return EV_NEXT;
  if (mn) touch_mn(&m, rows, &t);
  else touch_units(&m, rows, units, &t);
  return t.ev;
}
static int touch(const struct tc_op *op, uint32_t number) {
  struct cta *own = op->who.w->cta;
  struct form f;
  decode_form(op->form, op->who.in->w, op->pair, &f);
  struct layout l = layout_of(&f, op->pair, op->d);
  for (uint32_t i = 0; i < (op->pair ? 2u : 1u); i++) {
    struct cta *c = i ? own->cluster->cta[own->rank ^ 1] : own;
    if (!op->a_tensor && touch_matrix(op, number, c, op->a, f.mn_a, f.bytes, l.rows, 2) != EV_NEXT) return EV_FAULT;
    if (touch_matrix(op, number, c, op->b, f.mn_b, f.bytes, f.n / (op->pair ? 2 : 1), 2) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

/* ---- issue ---- */
static uint32_t address_at(struct who who, int slot, bool wide, int64_t imm) {
  const uint8_t *r = ws_emu_slot(who.w, who.in->o[slot]);
  uint32_t v;
  memcpy(&v, r + (size_t)who.lane * (wide ? 8 : 4), 4);
  return v + (uint32_t)imm;
}

static int check_d(struct who who, const struct form *f, const struct tc_op *op, struct cta *c) {
  struct layout l = layout_of(f, op->pair, op->d);
  if (ws_emu_tc_check(who, c, op->d, l.columns, "accumulates in") != EV_NEXT) return EV_FAULT;
  if (op->d & 1) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "accumulates at 0x%08x in tensor memory: an even column is needed", op->d);
  if (l.base && !(l.quarters && l.base == 16)) return BAD(who, "accumulates from lane %u on: 0 is needed, or 16 with M 64", l.base);
  if (!op->a_tensor) return EV_NEXT;
  if (ws_emu_tc_check(who, c, (uint32_t)op->a, 8, "takes A from") != EV_NEXT) return EV_FAULT;
  if (op->a & 3) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "takes A from 0x%08x in tensor memory: a multiple of 4 is needed", (uint32_t)op->a);
  if (op->a >> 16 != l.base) return BAD(who, "takes A from lane %u on, but D begins at lane %u", (uint32_t)op->a >> 16, l.base);
  return f->mn_a ? BAD(who, "transposes A, which lies in tensor memory") : EV_NEXT;
}
static int check_descriptor(struct who who, uint64_t d, const struct form *f, const char *which) {
  struct matrix m;
  const char *why = decode_matrix(who.w->cta, who, d, f->bytes, &m);
  return why ? BAD(who, "gives descriptor 0x%llx of %s, which %s", (unsigned long long)d, which, why) : EV_NEXT;
}

/* What it uses in tensor memory. */
static void spans_of(struct tc_op *op, const struct form *f) {
  struct layout l = layout_of(f, op->pair, op->d);
  uint8_t halves = !l.quarters ? 3 : l.base ? 2 : 1;
  op->span[op->spans++] = (struct tc_span){(uint16_t)op->d, (uint16_t)l.columns, halves, true};
  if (op->a_tensor) op->span[op->spans++] = (struct tc_span){(uint16_t)op->a, 8, halves, false};
}

static int issue(struct who who) {
  struct warp *w = who.w;
  const struct inst *in = who.in;
  struct cluster *cl = w->cta->cluster;
  struct form f;
  struct tc_op op = {.who = who, .run = run, .touch = touch, .kind = TC_MMA, .pair = in->u & PAIR, .a_tensor = in->o[2] != NO_SLOT, .b = SLOT(uint64_t, 3)[who.lane],
                     .form = SLOT(uint32_t, 4)[who.lane], .add = SRC_PRED(5) >> who.lane & 1, .scale = in->u & SCALE ? in->n : 0};
  op.d = address_at(who, 0, in->u & A1_WIDE, in->imm);
  op.a = op.a_tensor ? address_at(who, 2, in->u & A2_WIDE, in->imm2) : SLOT(uint64_t, 1)[who.lane];
  for (uint32_t i = 0; in->u & MASK && i < (op.pair ? 8u : 4u); i++) op.off[i] = ((const uint32_t *)ws_emu_slot(w, in->x[i]))[who.lane];
  const char *why = decode_form(op.form, in->w, op.pair, &f);
  if (why) return BAD(who, "gives instruction descriptor 0x%08x: %s%s (M %u, N %u)", op.form, *why == 'M' || *why == 'N' ? "" : "it ", why, f.m, f.n);
  if (!op.a_tensor && check_descriptor(who, op.a, &f, "A") != EV_NEXT) return EV_FAULT;
  if (check_descriptor(who, op.b, &f, "B") != EV_NEXT || check_d(who, &f, &op, w->cta) != EV_NEXT) return EV_FAULT;
  spans_of(&op, &f);
  if (ws_emu_tc_race_op(&op, w->cta) != EV_NEXT) return EV_FAULT;
  if (op.pair) {
    uint32_t peer = w->cta->rank ^ 1;
    if (peer >= cl->n) return BAD(who, "is executed in CTA %u of a cluster of %u: it has no peer", w->cta->rank, cl->n);
    if (check_d(who, &f, &op, cl->cta[peer]) != EV_NEXT || ws_emu_tc_race_op(&op, cl->cta[peer]) != EV_NEXT) return EV_FAULT;
  }
  w->stats.flops += 2ull * f.m * f.n * (32 / f.bytes);
  TRACE(w, in, NOTHING(TENSOR_MMA), .amount = 2ull * f.m * f.n * (32 / f.bytes), .lanes = 1u << who.lane);
  return ws_emu_tc_issue(&op);
}

HANDLER(mma) {
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (issue(WHO(w, in, __builtin_ctz(m))) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

/* ---- tcgen05.cp: o[0] tensor memory, o[1] the descriptor; in->n: enum copy_shape ---- */
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
static int copy_into(const struct tc_op *op, struct cta *c) {
  const struct copy_form *f = &copies[op->who.in->n];
  struct matrix m;
  uint8_t rows[TC_LANES][32];
  decode_matrix(c, op->who, op->b, 1, &m); /* checked at issue */
  if (c->done) return BAD(op->who, "reads shared memory of CTA %u of its cluster, which has ended", c->rank);
  uint32_t good = fetch_units(&m, f->rows, f->units, rows);
  if (good != f->rows)
    return WHO_FAULT(op->who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "gives descriptor 0x%llx, whose row %u lies outside of the CTA's %u bytes", (unsigned long long)op->b, good,
                     c->shared_size);
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
  const char *why = decode_matrix(c, who, op.b, 1, &m);
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

emu_fn *LEVELLED(ws_emu_resolve_tcmma)(struct bind *b) {
  static const char *const kinds[] = {[KIND_F16] = ".kind::f16", [KIND_TF32] = ".kind::tf32", [KIND_F8F6F4] = ".kind::f8f6f4", [KIND_I8] = ".kind::i8"};
  struct inst *in = b->in;
  for (uint8_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (ws_emu_has(b->u, kinds[k])) in->w = k;
  if (ws_emu_has(b->u, ".cta_group::2")) in->u |= PAIR;
  for (uint8_t s = 0; ws_emu_has(b->u, ".cp") && s < sizeof copies / sizeof *copies; s++)
    if (ws_emu_has(b->u, copies[s].shape) && (!*copies[s].route || ws_emu_has(b->u, copies[s].route))) return in->n = s, copy;
  if (b->nx) in->u |= MASK;
  if (b->ints) in->u |= SCALE;
  return b->ints && in->n > 15 ? NULL : mma;
}
