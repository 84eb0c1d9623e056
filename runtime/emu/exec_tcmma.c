/* PTX ISA "TensorCore 5th Generation Family Instructions: tcgen05.mma", "tcgen05.cp". Everything is checked at issue, with the thread's line; the
 * product happens when tensor.c says. The vectors of the sum run over the lanes of tensor memory, that is over A's rows; its
 * rows are the columns of D. */
#include "product.h"
#include "tcform.h"
#include "trace.h"

/* ---- the product ---- */
/* Where row m (of the CTA's own) and column n of D lie. PTX ISA "Data path layout organization" A, B, D to G. */
struct layout { uint32_t rows, columns, base; bool wrapped /* columns go on in lanes further on */, quarters; };
static struct layout layout_of(const struct form *f, bool pair, uint32_t address) {
  struct layout l = {.rows = pair ? f->m / 2 : f->m, .columns = f->n, .base = address >> 16};
  l.wrapped = (pair && f->m == 128) || (f->weights && f->m < 128);
  l.quarters = !pair && !f->weights && f->m == 64;
  if (l.wrapped) l.columns = f->weights ? f->n * f->m / 128 : f->n / 2;
  return l;
}
static inline uint32_t lane_of(const struct layout *l, uint32_t m) { return l->base + (l->quarters ? 32 * (m / 16) + m % 16 : m); }

static uint32_t *word_at(struct tensor *t, const struct layout *l, uint32_t d, uint32_t m, uint32_t n) {
  if (l->wrapped) return &t->word[(d & 0xffff) + n % l->columns][m + l->rows * (n / l->columns)];
  return &t->word[(d & 0xffff) + n][lane_of(l, m)];
}

static int fetch(struct who who, struct cta *c, uint64_t desc, const struct form *f, uint32_t rows, const char *which, uint8_t (*out)[32]) {
  struct matrix m;
  bool is_a = *which == 'A', mn = is_a ? f->mn_a : f->mn_b;
  bool padded = element_bits(is_a ? f->type_a : f->type_b) < 8 && f->parts == 1; /* not all of the bytes are used */
  decode_matrix(c, who, desc, f->bytes, mn, &m); /* checked at issue */
  if (c->done) return BAD(who, "reads shared memory of CTA %u of its cluster, which has ended", c->rank);
  uint32_t good = (mn ? fetch_mn : fetch_k)(&m, rows, out);
  if (good == rows) return who.w->cta->fault.code ? EV_FAULT : padded ? EV_NEXT : unwritten_matrix(&m, rows, mn);
  return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS,
                   "gives descriptor 0x%llx of %s, whose row %u lies outside of the CTA's %u bytes [0x%x, 0x%x): start 0x%x, leading offset %u, stride %u, swizzle %u",
                   (unsigned long long)desc, which, good, c->shared_size, c->k->shared_base, c->k->shared_base + c->shared_size, m.start, m.leading, m.stride,
                   m.span);
}
/* A in tensor memory: row m in the lane of D's row, four bytes a column; shifted: row m - 1, row 0 its own. */
static void tensor_a(const struct tensor *t, const struct layout *l, uint32_t a, bool shifted, uint8_t (*rows)[32]) {
  for (uint32_t c = 0; c < 8; c++)
    for (uint32_t m = 0; m < l->rows; m++) memcpy(rows[m] + 4 * c, &t->word[(a & 0xffff) + c][lane_of(l, shifted && m ? m - 1 : m)], 4);
}
/* PTX ISA "Packing formats of elements in Tensor and Shared memory": rows of 32 bytes to codes of a byte each, 32 for each part. 16 elements of
 * 6 or 4 bits begin every 16 bytes in shared memory, in tensor memory each has a byte (4 bits in its middle); two of mxf4 share a byte. */
static void unpack(uint8_t (*rows)[32], uint32_t n, uint8_t type, uint32_t parts, bool in_tensor, uint8_t (*out)[MOST_N][32]) {
  uint32_t bits = element_bits(type);
  for (uint32_t r = 0; r < n; r++) {
    if (bits >= 8) memcpy(out[0][r], rows[r], 32);
    else if (parts == 2)
      for (uint32_t k = 0; k < 64; k++) out[k / 32][r][k % 32] = rows[r][k / 2] >> 4 * (k & 1) & 15;
    else if (in_tensor)
      for (uint32_t k = 0; k < 32; k++) out[0][r][k] = bits == 4 ? rows[r][k] >> 2 & 15 : rows[r][k] & 63;
    else
      for (uint32_t k = 0; k < 32; k++) {
        uint32_t at = k % 16 * bits, byte = k / 16 * 16 + at / 8, next = byte < 31 ? byte + 1 : byte;
        out[0][r][k] = (uint8_t)((rows[r][byte] | (uint32_t)rows[r][next] << 8) >> at % 8 & ((1u << bits) - 1));
      }
  }
}

/* ---- PTX ISA "Block Scaling": row r has its factors in lane r % 32 of every quarter, column r / 32 ---- */
static float factor_of(uint32_t code, bool ue4m3) { return ue4m3 ? value_of(code & 0x7f, T_E4M3) : code == 0xff ? u2f(0x7fffffff) : code ? u2f(code << 23) : 0x1p-127f; }
static void factors_of(const struct tensor *t, uint32_t at, uint32_t rows, const struct form *f, uint32_t id, float (*out)[4]) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t i = 0; i < 4; i++) out[r][i] = i < f->factors ? factor_of(t->word[(at & 0xffff) + r / 32][r % 32] >> 8 * (id + i) & 0xff, f->ue4m3) : 1;
}
static int check_copies(struct who who, const struct tensor *t, uint32_t at, uint32_t rows, const char *which) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t q = 1; q < 4; q++)
      if (t->word[(at & 0xffff) + r / 32][r % 32] != t->word[(at & 0xffff) + r / 32][r % 32 + 32 * q])
        return BAD(who, "takes scale factors of %s from column %u, which differ between lane %u and lane %u: all four quarters need them", which, (at & 0xffff) + r / 32,
                   r % 32, r % 32 + 32 * q);
  return EV_NEXT;
}
/* The factor of element k of a part. */
static inline uint32_t factor_index(const struct form *f, uint32_t part, uint32_t k) { return (part * 32 + k) * f->factors / f->k; }
static uint32_t scale_vectors(struct operands *q, const struct form *f, uint32_t part, const float (*s)[4]) { /* A's */
  uint32_t top = 0;
  for (uint32_t k = 0; k < q->k; k++)
    for (uint32_t r = 0; r < q->blocks * BLOCK; r++) {
      float *v = &((float *)q->bv[k])[r];
      *v *= s[r][factor_index(f, part, k)];
      ((int32_t *)q->be[k])[r] = exponent_of(*v, T_F32);
      uint32_t size = f2u(*v) & 0x7fffffffu;
      top = size > top ? size : top;
    }
  return top;
}
static uint32_t scale_rows(struct operands *q, const struct form *f, uint32_t part, const float (*s)[4]) {
  uint32_t top = 0;
  for (uint32_t r = 0; r < q->rows; r++)
    for (uint32_t k = 0; k < q->k; k++) {
      float *v = &q->av[r][k];
      *v *= s[r][factor_index(f, part, k)];
      q->ae[r][k] = exponent_of(*v, T_F32);
      uint32_t size = f2u(*v) & 0x7fffffffu;
      top = size > top ? size : top;
    }
  return top;
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

struct scales { float a[TC_LANES][4], b[MOST_N][4]; };
static void sum_floats(const struct form *f, uint32_t part, const uint8_t (*a)[32], const uint8_t (*b)[32], uint32_t rows, const struct scales *s, struct sums d, bool add) {
  struct operands q;
  q.rows = f->n;
  q.k = 32 / f->bytes;
  q.blocks = (rows + BLOCK - 1) / BLOCK;
  uint32_t top_a = fill_b(&q, a, f->type_a, f->negate_a ? 1u << 31 : 0); /* the vectors are A's */
  uint32_t top_b = fill_a(&q, b, f->type_b, f->negate_b ? 1u << 31 : 0);
  if (s) top_a = scale_vectors(&q, f, part, s->a), top_b = scale_rows(&q, f, part, s->b);
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

/* The rows of A of one CTA. b: codes of B, part after part. */
static int run_part(const struct tc_op *op, const struct form *f, struct cta *c, uint32_t half, const uint8_t (*b)[MOST_N][32]) {
  struct layout l = layout_of(f, op->pair, op->d);
  struct tensor *t = c->tensor;
  uint8_t raw[TC_LANES][32], a[2][MOST_N][32];
  struct scales s;
  uint32_t tile[MOST_N][TC_LANES] __attribute__((aligned(64)));
  if (op->a_tensor) tensor_a(t, &l, (uint32_t)op->a, op->who.in->w & SHIFTED, raw);
  else if (fetch(op->who, c, op->a, f, l.rows, "A", raw) != EV_NEXT) return EV_FAULT;
  unpack(raw, l.rows, f->type_a, f->parts, op->a_tensor, a);
  if (f->factors) {
    if (check_copies(op->who, t, op->factors_a, l.rows, "A") != EV_NEXT || check_copies(op->who, t, op->factors_b, f->n, "B") != EV_NEXT) return EV_FAULT;
    for (uint32_t r = l.rows; r < TC_LANES; r++) s.a[r][0] = s.a[r][1] = s.a[r][2] = s.a[r][3] = 0;
    factors_of(t, op->factors_a, l.rows, f, f->id_a, s.a);
    factors_of(t, op->factors_b, f->n, f, f->id_b, s.b);
  }
  bool masked = op->off[0] | op->off[1] | op->off[2] | op->off[3] | op->off[4] | op->off[5] | op->off[6] | op->off[7];
  bool direct = f->d == D_F32 && l.rows == TC_LANES && !masked && !op->scale;
  struct sums d = direct ? (struct sums){(float *)(void *)t->word[op->d & 0xffff], TC_LANES} : (struct sums){(float *)(void *)tile, TC_LANES};
  if (op->add && !direct) take_d(op, f, &l, t, tile);
  if (f->d == D_S32) product_int((const uint8_t(*)[32])a[0], b[0], f, l.rows, (int32_t(*)[TC_LANES])(void *)tile, op->add);
  else
    for (uint32_t part = 0; part < f->parts; part++)
      sum_floats(f, part, (const uint8_t(*)[32])a[part], b[part], l.rows, f->factors ? &s : NULL, d, op->add || part);
  if (!direct) put_d(op, f, &l, t, half, tile);
  return EV_NEXT;
}

static int run(const struct tc_op *op) {
  struct cluster *cl = op->who.w->cta->cluster;
  struct cta *own = op->who.w->cta, *cta[2] = {own, NULL};
  struct form f;
  uint8_t raw[MOST_N + 64][32], b[2][MOST_N][32];
  uint32_t halves = op->pair ? 2 : 1, shift = column_shift(op->zeros);
  decode_form(op->form, op->who.in, op->pair, &f); /* checked at issue */
  if (op->pair) cta[0] = cl->cta[own->rank & ~1u], cta[1] = cl->cta[own->rank | 1u];
  for (uint32_t i = 0; i < halves; i++)
    if (fetch(op->who, cta[i], op->b, &f, f.n / halves + shift, "B", raw + i * (f.n / halves)) != EV_NEXT) return EV_FAULT;
  unpack(raw + shift, f.n, f.type_b, f.parts, false, b);
  for (uint32_t n = 0; op->zeros && n < f.n; n++)
    if (zero_column(op->zeros, &f, n)) memset(b[0][n], 0, 32);
  for (uint32_t i = 0; i < halves; i++)
    if (run_part(op, &f, cta[i], i, (const uint8_t(*)[MOST_N][32])b) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

/* What it reads of shared memory: A and B. */
static int touch(const struct tc_op *op, uint32_t number) {
  struct cta *own = op->who.w->cta;
  struct form f;
  decode_form(op->form, op->who.in, op->pair, &f);
  struct layout l = layout_of(&f, op->pair, op->d);
  uint32_t rows_b = f.n / (op->pair ? 2 : 1) + column_shift(op->zeros);
  for (uint32_t i = 0; i < (op->pair ? 2u : 1u); i++) {
    struct cta *c = i ? own->cluster->cta[own->rank ^ 1] : own;
    if (!op->a_tensor && touch_matrix(op, number, c, op->a, f.mn_a, f.bytes, l.rows, 2) != EV_NEXT) return EV_FAULT;
    if (touch_matrix(op, number, c, op->b, f.mn_b, f.bytes, rows_b, 2) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

/* ---- issue ---- */
static int check_factors(struct who who, struct cta *c, uint32_t at, uint32_t rows, const char *which) {
  if (ws_emu_tc_check(who, c, at, (rows + 31) / 32, "takes scale factors from") != EV_NEXT) return EV_FAULT;
  if (at >> 16 || at & 1) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "takes scale factors of %s from 0x%08x in tensor memory: lane 0 and an even column are needed", which, at);
  return EV_NEXT;
}
static int check_d(struct who who, const struct form *f, const struct tc_op *op, struct cta *c) {
  struct layout l = layout_of(f, op->pair, op->d);
  if (ws_emu_tc_check(who, c, op->d, l.columns, "accumulates in") != EV_NEXT) return EV_FAULT;
  if (op->d & 1) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "accumulates at 0x%08x in tensor memory: an even column is needed", op->d);
  if (l.base && !(l.quarters && l.base == 16)) return BAD(who, "accumulates from lane %u on: 0 is needed, or 16 with M 64", l.base);
  if (f->factors && check_factors(who, c, op->factors_a, l.rows, "A") != EV_NEXT) return EV_FAULT;
  if (f->factors && check_factors(who, c, op->factors_b, f->n, "B") != EV_NEXT) return EV_FAULT;
  if (who.in->w & SHIFTED && f->m < (op->pair ? 256u : 128u)) return BAD(who, "shifts A, but M is %u: 128 is needed, 256 for a pair", f->m);
  if (!op->a_tensor) return EV_NEXT;
  if (ws_emu_tc_check(who, c, (uint32_t)op->a, 8, "takes A from") != EV_NEXT) return EV_FAULT;
  if (op->a & 3) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "takes A from 0x%08x in tensor memory: a multiple of 4 is needed", (uint32_t)op->a);
  if (op->a >> 16 != l.base) return BAD(who, "takes A from lane %u on, but D begins at lane %u", (uint32_t)op->a >> 16, l.base);
  return f->mn_a ? BAD(who, "transposes A, which lies in tensor memory") : EV_NEXT;
}
static int check_descriptor(struct who who, uint64_t d, const struct form *f, bool mn, const char *which) {
  struct matrix m;
  const char *why = decode_matrix(who.w->cta, who, d, f->bytes, mn, &m);
  return why ? BAD(who, "gives descriptor 0x%llx of %s, which %s", (unsigned long long)d, which, why) : EV_NEXT;
}

/* What it uses in tensor memory. */
static void spans_of(struct tc_op *op, const struct form *f) {
  struct layout l = layout_of(f, op->pair, op->d);
  uint8_t halves = !l.quarters ? 3 : l.base ? 2 : 1;
  op->span[op->spans++] = (struct tc_span){(uint16_t)op->d, (uint16_t)l.columns, halves, true};
  if (op->a_tensor) op->span[op->spans++] = (struct tc_span){(uint16_t)op->a, 8, halves, false};
  if (!f->factors) return;
  op->span[op->spans++] = (struct tc_span){(uint16_t)op->factors_a, (uint16_t)((l.rows + 31) / 32), 3, false};
  op->span[op->spans++] = (struct tc_span){(uint16_t)op->factors_b, (uint16_t)((f->n + 31) / 32), 3, false};
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
  if (block_scaled(in->w & KIND_MASK)) { /* bits 30 and 31 may hold the scale factor id, which the instruction descriptor has, too */
    op.factors_a = (((const uint32_t *)ws_emu_slot(w, in->x[0]))[who.lane] + in->x[1]) & 0x3fffffff;
    op.factors_b = (((const uint32_t *)ws_emu_slot(w, in->x[2]))[who.lane] + in->x[3]) & 0x3fffffff;
  }
  if (in->w & WEIGHTS && in->u & MASK) op.zeros = ((const uint64_t *)ws_emu_slot(w, in->x[0]))[who.lane];
  for (uint32_t i = 0; in->u & MASK && !(in->w & WEIGHTS) && i < (op.pair ? 8u : 4u); i++) op.off[i] = ((const uint32_t *)ws_emu_slot(w, in->x[i]))[who.lane];
  const char *why = decode_form(op.form, in, op.pair, &f);
  if (why) return BAD(who, "gives instruction descriptor 0x%08x: %s%s (M %u, N %u)", op.form, *why == 'M' || *why == 'N' ? "" : "it ", why, f.m, f.n);
  if (!op.a_tensor && check_descriptor(who, op.a, &f, f.mn_a, "A") != EV_NEXT) return EV_FAULT;
  if (check_descriptor(who, op.b, &f, f.mn_b, "B") != EV_NEXT || check_d(who, &f, &op, w->cta) != EV_NEXT) return EV_FAULT;
  if (column_shift(op.zeros) > (f.m == 32 ? 16u : 32u)) return BAD(who, "shifts columns of B by %u: at most %u is allowed", column_shift(op.zeros), f.m == 32 ? 16u : 32u);
  spans_of(&op, &f);
  if (ws_emu_tc_race_op(&op, w->cta) != EV_NEXT) return EV_FAULT;
  if (op.pair) {
    uint32_t peer = w->cta->rank ^ 1;
    if (peer >= cl->n) return BAD(who, "is executed in CTA %u of a cluster of %u: it has no peer", w->cta->rank, cl->n);
    if (check_d(who, &f, &op, cl->cta[peer]) != EV_NEXT || ws_emu_tc_race_op(&op, cl->cta[peer]) != EV_NEXT) return EV_FAULT;
  }
  w->stats.flops += 2ull * f.m * f.n * f.k;
  TRACE(w, in, NOTHING(TENSOR_MMA), .amount = 2ull * f.m * f.n * f.k, .lanes = 1u << who.lane);
  return ws_emu_tc_issue(&op);
}

HANDLER(mma) {
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (issue(WHO(w, in, __builtin_ctz(m))) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}

emu_resolve LEVELLED(ws_emu_resolve_tccopy);

emu_fn *LEVELLED(ws_emu_resolve_tcmma)(struct bind *b) {
  static const char *const kinds[] = {[KIND_F16] = ".kind::f16", [KIND_TF32] = ".kind::tf32", [KIND_F8F6F4] = ".kind::f8f6f4", [KIND_I8] = ".kind::i8",
                                      [KIND_MXF8F6F4] = ".kind::mxf8f6f4", [KIND_MXF4] = ".kind::mxf4", [KIND_MXF4NVF4] = ".kind::mxf4nvf4"};
  struct inst *in = b->in;
  if (ws_emu_has(b->u, ".cta_group::2")) in->u |= PAIR;
  if (!ws_emu_has(b->u, ".mma")) return LEVELLED(ws_emu_resolve_tccopy)(b);
  in->w = 0;
  for (uint8_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (ws_emu_has(b->u, kinds[k])) in->w = k;
  if (ws_emu_has(b->u, ".ws")) in->w |= WEIGHTS;
  if (ws_emu_has(b->u, ".ashift")) in->w |= SHIFTED;
  if (in->w & SHIFTED && in->o[2] == NO_SLOT) return NULL; /* A must lie in tensor memory */
  if (block_scaled(in->w & KIND_MASK)) {
    in->n = ws_emu_has(b->u, ".scale_vec::4X") || ws_emu_has(b->u, ".block16") ? 4 : (in->w & KIND_MASK) == KIND_MXF8F6F4 ? 1 : 2;
    return mma;
  }
  if (b->nx) in->u |= MASK;
  if (b->ints) in->u |= SCALE;
  return b->ints && in->n > 15 ? NULL : mma;
}
