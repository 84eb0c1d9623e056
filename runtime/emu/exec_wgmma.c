/* PTX ISA "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operations": operands in shared memory by descriptor or in
 * registers, and the product of a whole warpgroup, 64 x N x K. When a product happens is decided in warpgroup.c.
 *
 * The sum is the one of mma (exec_mma.c): D and all K products are aligned to the largest exponent among them, each
 * truncated 25 bits below it (13 for 8-bit floating point), their exact sum truncated to f32 or rounded to f16. */
#include "exec.h"
#include "hazard.h"
#include "warpgroup.h"

#if defined(__AVX512F__)
enum { BLOCK = 16 };
#else
enum { BLOCK = 8 };
#endif
enum { NOTHING = -4096, MOST_K = 32, MOST_N = 256 };
typedef float fv __attribute__((vector_size(4 * BLOCK)));
typedef int32_t iv __attribute__((vector_size(4 * BLOCK)));
typedef uint32_t uv __attribute__((vector_size(4 * BLOCK)));
typedef double dv __attribute__((vector_size(8 * BLOCK)));
typedef int64_t lv __attribute__((vector_size(8 * BLOCK)));
#define INLINE static inline __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi" /* vector arguments: the functions are all inlined */

/* Operands as values and exponents (NOTHING: zero). A by rows, B by rows of k, padded with zeros to whole blocks. */
struct operands {
  fv bv[MOST_K][MOST_N / BLOCK];
  iv be[MOST_K][MOST_N / BLOCK];
  float av[WG_ROWS][MOST_K];
  int32_t ae[WG_ROWS][MOST_K];
  uint32_t k, blocks;
  bool special;       /* NaN or infinity, or exponents that the vector code has no room for */
};

/* ---- matrices in shared memory: rows of M or N, 32 bytes of K each. PTX ISA "Matrix Descriptor Format", "Shared Memory
 * Matrix Layout" ---- */
struct matrix {
  struct cta *cta;
  struct who who;
  uint32_t start, leading, stride, span; /* span: of the swizzle, 16 for none */
};
static const char *decode_matrix(struct cta *c, uint64_t d, struct matrix *m) {
  static const uint8_t spans[4] = {16, 128, 64, 32};
  *m = (struct matrix){.cta = c, .start = (uint32_t)(d & 0x3fff) << 4, .leading = (uint32_t)(d >> 16 & 0x3fff) << 4,
                       .stride = (uint32_t)(d >> 32 & 0x3fff) << 4, .span = spans[d >> 62]};
  if (d & 0x3ff1c000c000c000u) return "sets reserved bits";
  if (d >> 49 & 7) return "has a base offset, which is not modelled: start the tile at a multiple of the swizzle's pattern";
  return NULL;
}
/* 16 bytes at an offset from the start; NULL when they lie outside. */
INLINE const uint8_t *chunk(const struct matrix *m, uint32_t offset) {
  uint32_t a = m->start + offset;
  a ^= (a >> 7 & (m->span / 16 - 1)) << 4;
  a -= m->cta->k->shared_base;
  if (a > m->cta->shared_size || m->cta->shared_size - a < 16) return NULL;
  if (m->cta->shadow && m->cta->shadow[a / 16].in) ws_emu_proxy_reads(m->who, m->cta, a, 16); /* a fault is seen at the end */
  return m->cta->shared + a;
}
/* Where 16-byte unit `unit` (0 or 1) of K of row `mn` starts, K being contiguous. */
INLINE uint32_t k_major(const struct matrix *m, uint32_t mn, uint32_t unit) {
  uint32_t row = (mn >> 3) * m->stride + (mn & 7) * m->span;
  return row + (m->span == 16 ? unit * m->leading : unit * 16);
}
/* Where the 8 elements from `mn` on of row `k` start, M or N being contiguous and elements having 2 bytes. */
INLINE uint32_t mn_major(const struct matrix *m, uint32_t mn, uint32_t k) {
  if (m->span == 16) return (mn >> 3) * m->stride + (k >> 3) * m->leading + (k & 7) * 16;
  return 2 * mn / m->span * m->leading + (k >> 3) * m->stride + (k & 7) * m->span + 2 * mn % m->span;
}

/* rows x 32 bytes. Returns the first row that lies outside of shared memory, or `rows`. */
static uint32_t fetch_k(const struct matrix *m, uint32_t rows, uint8_t (*out)[32]) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t unit = 0; unit < 2; unit++) {
      const uint8_t *p = chunk(m, k_major(m, r, unit));
      if (!p) return r;
      memcpy(out[r] + 16 * unit, p, 16);
    }
  return rows;
}
static uint32_t fetch_mn(const struct matrix *m, uint32_t rows, uint8_t (*out)[32]) {
  for (uint32_t r = 0; r < rows; r += 8)
    for (uint32_t k = 0; k < 16; k++) {
      const uint8_t *p = chunk(m, mn_major(m, r, k));
      if (!p) return r;
      for (uint32_t j = 0; j < 8; j++) memcpy(out[r + j] + 2 * k, p + 2 * j, 2);
    }
  return rows;
}

/* ---- rows of codes to values ---- */
INLINE float value_of(uint32_t code, uint8_t type) {
  switch (type) {
    case T_F16: return h2f((uint16_t)code);
    case T_BF16: return bf2f((uint16_t)code);
    case T_TF32: return u2f(code & 0xffffe000u);
    case T_E5M2: return h2f((uint16_t)(code << 8));
    default: { /* e4m3: no infinities, one NaN */
      float f = u2f((code & 0x7f) << 20) * 0x1p120f;
      f = (code & 0x7f) == 0x7f ? u2f(0x7fffffffu) : f;
      return code & 0x80 ? -f : f;
    }
  }
}
/* A subnormal has the exponent of the least normal of its format. */
INLINE int32_t exponent_of(float v, uint8_t type) {
  int32_t least = type == T_F16 || type == T_E5M2 ? -14 : type == T_E4M3 ? -6 : -126, e = (int32_t)(f2u(v) >> 23 & 255) - 127;
  e = e < least ? least : e;
  return f2u(v) << 1 ? e : NOTHING;
}
INLINE uint32_t code_at(const uint8_t *row, uint32_t k, uint32_t bytes) {
  uint32_t c = 0;
  memcpy(&c, row + k * bytes, bytes);
  return c;
}
/* Values and exponents of n codes; returns the largest magnitude, as bits. */
INLINE uint32_t convert(const uint32_t *code, uint32_t n, uint8_t type, uint32_t sign, float *v, int32_t *e) {
  uint32_t top = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t u = f2u(value_of(code[i], type)), size = u & 0x7fffffffu;
    e[i] = exponent_of(u2f(u), type);
    v[i] = u2f(u ^ sign);
    top = size > top ? size : top;
  }
  return top;
}
INLINE uint32_t fill_a_as(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t bytes, uint32_t sign) {
  uint32_t top = 0;
  for (uint32_t r = 0; r < WG_ROWS; r++) {
    uint32_t code[MOST_K], t;
    for (uint32_t k = 0; k < 32 / bytes; k++) code[k] = code_at(rows[r], k, bytes);
    t = convert(code, 32 / bytes, type, sign, q->av[r], q->ae[r]);
    top = t > top ? t : top;
  }
  return top;
}
INLINE uint32_t fill_b_as(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t bytes, uint32_t sign) {
  uint32_t code[MOST_K][BLOCK], top = 0;
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    for (uint32_t c = 0; c < BLOCK; c++)
      for (uint32_t k = 0; k < 32 / bytes; k++) code[k][c] = code_at(rows[blk * BLOCK + c], k, bytes);
    for (uint32_t k = 0; k < 32 / bytes; k++) {
      uint32_t t = convert(code[k], BLOCK, type, sign, (float *)&q->bv[k][blk], (int32_t *)&q->be[k][blk]);
      top = t > top ? t : top;
    }
  }
  return top;
}
#define FOR_TYPE(call)                                                                                                \
  switch (type) {                                                                                                     \
    case T_F16: return call(T_F16, 2);                                                                                \
    case T_BF16: return call(T_BF16, 2);                                                                              \
    case T_TF32: return call(T_TF32, 4);                                                                              \
    case T_E5M2: return call(T_E5M2, 1);                                                                              \
    default: return call(T_E4M3, 1);                                                                                  \
  }
/* The largest magnitude, as bits. */
static uint32_t fill_a(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t sign) {
#define A_AS(t, bytes) fill_a_as(q, rows, t, bytes, sign)
  FOR_TYPE(A_AS)
}
static uint32_t fill_b(struct operands *q, const uint8_t (*rows)[32], uint8_t type, uint32_t sign) {
#define B_AS(t, bytes) fill_b_as(q, rows, t, bytes, sign)
  FOR_TYPE(B_AS)
}

/* ---- the sum ---- */
INLINE iv maxv(iv a, iv b) {
#if defined(__AVX512F__)
  return (iv)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (iv)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  iv m = a > b;
  return (a & m) | (b & ~m);
#endif
}
INLINE fv power(iv e) { /* 2^e for e in -126 .. 127, 0 below */
  return (fv)(maxv(e + 127, (iv){0}) << 23);
}
INLINE bool any(iv v) {
  int32_t r = 0;
  for (int i = 0; i < BLOCK; i++) r |= v[i];
  return r != 0;
}
INLINE fv truncatedv(dv v, int kept) { /* to `kept` bits behind the first */
  lv u = (lv)v & (int64_t)(~0ull << (52 - kept));
  return __builtin_convertvector((dv)u, fv);
}

/* ROWS rows of one block at a time: loads of B are what this loop waits for. *odd: columns where exponents run too low for it. */
enum { ROWS = 2 };
INLINE void rows(const struct operands *q, uint32_t i, uint32_t blk, uint32_t k, int bits, int kept, const fv c[ROWS], fv out[ROWS], iv *odd) {
  iv top[ROWS];
  uv sum[ROWS]; /* NaN and infinity give any number here: their blocks are computed again */
  fv s[ROWS];
  for (uint32_t r = 0; r < ROWS; r++) {
    iv raw = (iv)c[r] >> 23 & 255, zero = c[r] == 0.0f;
    *odd |= raw == 255;
    top[r] = ((maxv(raw, (iv){0} + 1) - 127) & ~zero) | (NOTHING & zero);
    sum[r] = (uv){0};
  }
  for (uint32_t j = 0; j < k; j++)
    for (uint32_t r = 0; r < ROWS; r++) top[r] = maxv(top[r], q->ae[i + r][j] + q->be[j][blk]);
  for (uint32_t r = 0; r < ROWS; r++) {
    *odd |= (top[r] < -100) & (top[r] > NOTHING / 2);
    iv scale = bits - top[r];
    s[r] = power(scale & (scale < 128));
  }
  for (uint32_t j = 0; j < k; j++)
    for (uint32_t r = 0; r < ROWS; r++) sum[r] += (uv)__builtin_convertvector(q->av[i + r][j] * q->bv[j][blk] * s[r], iv);
  for (uint32_t r = 0; r < ROWS; r++) {
    dv total = __builtin_convertvector((iv)sum[r], dv) + __builtin_convertvector(__builtin_convertvector(c[r] * s[r], iv), dv);
    out[r] = truncatedv(total, kept) * power(top[r] - bits);
  }
}

/* The same by the definition, one element, with IEEE's arithmetic for NaN and infinity. */
static double element(const struct operands *q, uint32_t i, uint32_t n, int bits, float c) {
  uint32_t raw = f2u(c) >> 23 & 255;
  int32_t top = c == 0.0f ? NOTHING : (int32_t)(raw ? raw : 1) - 127;
  double ieee = (double)c, sum = 0;
  for (uint32_t j = 0; j < q->k; j++) {
    int32_t e = q->ae[i][j] + ((const int32_t *)q->be[j])[n];
    ieee += (double)q->av[i][j] * (double)((const float *)q->bv[j])[n];
    top = e > top ? e : top;
  }
  if (ieee != ieee || isinf(ieee)) return ieee;
  if (top < NOTHING / 2) return 0;
  double scale = ldexp(1, bits - top);
  for (uint32_t j = 0; j < q->k; j++) sum += trunc((double)q->av[i][j] * (double)((const float *)q->bv[j])[n] * scale);
  return (sum + trunc((double)c * scale)) / scale;
}
static float truncated(double v, int kept) {
  float f = (float)u2d(d2u(v) & (~0ull << (52 - kept)));
  if (v != v) return canon((float)v);
  return fabs((double)f) > fabs(v) && fabs(v) < 0x1p128 ? u2f(f2u(f) - 1) : f; /* a subnormal that was rounded up */
}

struct rule { int bits, kept; bool half; }; /* half: the result is rounded to f16 */
static void slow_block(const struct operands *q, uint32_t blk, struct rule r, struct wg_tile *t, const float (*c)[BLOCK]) {
  for (uint32_t i = 0; i < WG_ROWS; i++)
    for (uint32_t n = 0; n < BLOCK; n++) {
      double v = element(q, i, blk * BLOCK + n, r.bits, c[i][n]);
      float f = r.half ? h2f(d2h(v)) : truncated(v, r.kept);
      t->c[i * t->stride + blk * BLOCK + n].f = f == 0.0f ? 0.0f : f;
    }
}
INLINE void product_as(const struct operands *q, uint32_t k, int bits, int kept, struct wg_tile *t, bool add) {
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    fv c[WG_ROWS], new[ROWS];
    iv odd = {0};
    for (uint32_t i = 0; i < WG_ROWS; i += ROWS) {
      for (uint32_t r = 0; r < ROWS; r++) {
        c[i + r] = (fv){0};
        if (add) memcpy(&c[i + r], &t->c[(i + r) * t->stride + blk * BLOCK], sizeof *c);
      }
      rows(q, i, blk, k, bits, kept, c + i, new, &odd);
      for (uint32_t r = 0; r < ROWS; r++) memcpy(&t->c[(i + r) * t->stride + blk * BLOCK], &new[r], sizeof *new);
    }
    if (q->special || any(odd)) slow_block(q, blk, (struct rule){bits, kept, false}, t, (const float(*)[BLOCK])(const void *)c);
  }
}
static void product_16(const struct operands *q, struct wg_tile *t, bool add) { product_as(q, 16, 25, 23, t, add); }
static void product_tf32(const struct operands *q, struct wg_tile *t, bool add) { product_as(q, 8, 25, 23, t, add); }
static void product_8(const struct operands *q, struct wg_tile *t, bool add) { product_as(q, 32, 13, 13, t, add); }
static void product_half(const struct operands *q, struct wg_tile *t, bool add) {
  for (uint32_t blk = 0; blk < q->blocks; blk++) {
    float c[WG_ROWS][BLOCK];
    for (uint32_t i = 0; i < WG_ROWS; i++)
      for (uint32_t n = 0; n < BLOCK; n++) c[i][n] = add ? t->c[i * t->stride + blk * BLOCK + n].f : 0;
    slow_block(q, blk, (struct rule){q->k == 32 ? 13 : 25, 23, true}, t, (const float(*)[BLOCK])c);
  }
}

static void product_int(const uint8_t (*a)[32], const uint8_t (*b)[32], struct wg_form f, bool saturate, struct wg_tile *t, bool add) {
  for (uint32_t i = 0; i < WG_ROWS; i++)
    for (uint32_t n = 0; n < f.n; n++) {
      int64_t s = add ? t->c[i * t->stride + n].i : 0;
      for (uint32_t k = 0; k < 32; k++)
        s += (f.type_a == T_S8 ? (int8_t)a[i][k] : a[i][k]) * (f.type_b == T_S8 ? (int8_t)b[n][k] : b[n][k]);
      if (saturate) s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
      t->c[i * t->stride + n].i = (int32_t)(uint32_t)s;
    }
}

/* ---- one operation of a warpgroup ---- */
/* A's registers: unit u = r >> 1 of rows g + 8 (r & 1), four bytes a lane t. */
static void registers_a(const struct warpgroup *g, const struct inst *in, uint32_t first, uint8_t (*rows)[32]) {
  for (uint32_t i = 0; i < WG_WARPS; i++)
    for (uint32_t r = 0; r < 4; r++) {
      const uint32_t *s = ws_emu_slot(&g->cta->warps[g->index * WG_WARPS + i], in->x[first + r]);
      for (uint32_t l = 0; l < LANES; l++) memcpy(rows[16 * i + l / 4 + 8 * (r & 1)] + 16 * (r >> 1) + 4 * (l & 3), &s[l], 4);
    }
}
static int fetch(const struct warpgroup *g, const struct inst *in, uint64_t desc, bool mn, uint32_t rows, const char *which, uint8_t (*out)[32]) {
  struct matrix m;
  struct warp *w = &g->cta->warps[g->index * WG_WARPS];
  const char *why = decode_matrix(g->cta, desc, &m);
  if (why) return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives descriptor 0x%llx of %s, which %s", (unsigned long long)desc, which, why);
  m.who = WHO(w, in, 0);
  uint32_t good = (mn ? fetch_mn : fetch_k)(&m, rows, out);
  if (good == rows) return w->cta->fault.code ? EV_FAULT : EV_NEXT;
  return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_ADDRESS,
                      "gives descriptor 0x%llx of %s, whose row %u lies outside of the CTA's %u bytes [0x%x, 0x%x): start 0x%x, leading offset %u, stride %u, swizzle %u",
                      (unsigned long long)desc, which, good, g->cta->shared_size, g->cta->k->shared_base, g->cta->k->shared_base + g->cta->shared_size,
                      m.start, m.leading, m.stride, m.span);
}

static int run(struct warpgroup *g, const struct wg_op *op) {
  struct wg_form f = ws_emu_wg_form(op->in);
  uint8_t a[WG_ROWS][32], b[MOST_N][32];
  struct operands q;
  int ev = EV_NEXT;
  if (f.flags & WG_A_REGISTERS) registers_a(g, op->in, f.regs, a);
  else ev = fetch(g, op->in, op->a, f.flags & WG_A_MN, WG_ROWS, "A", a);
  if (ev == EV_NEXT) ev = fetch(g, op->in, op->b, f.flags & WG_B_MN, f.n, "B", b);
  if (ev != EV_NEXT) return ev;
  if (f.kind == WG_S32) {
    product_int((const uint8_t(*)[32])a, (const uint8_t(*)[32])b, f, op->in->n, op->tile, op->add);
    return EV_NEXT;
  }
  q.k = 256 / ws_emu_types[f.type_a].bits;
  q.blocks = (f.n + BLOCK - 1u) / BLOCK;
  memset(b + f.n, 0, (q.blocks * BLOCK - f.n) * sizeof *b);
  uint32_t top_a = fill_a(&q, (const uint8_t(*)[32])a, f.type_a, f.flags & WG_NEGATE_A ? 1u << 31 : 0);
  uint32_t top_b = fill_b(&q, (const uint8_t(*)[32])b, f.type_b, f.flags & WG_NEGATE_B ? 1u << 31 : 0);
  q.special = top_a >= 0x7f800000u || top_b >= 0x7f800000u || (top_a >> 23) + (top_b >> 23) > 2 * 127 + 120;
  if (f.kind == WG_F16) product_half(&q, op->tile, op->add);
  else if (q.k == 32) product_8(&q, op->tile, op->add);
  else (q.k == 16 ? product_16 : product_tf32)(&q, op->tile, op->add);
  return EV_NEXT;
}

/* ---- handlers: o[0] descriptor of A, o[1] of B, o[2] scale-d ---- */
HANDLER(mma_async) {
  struct wg_form f = ws_emu_wg_form(in);
  const uint64_t *a = f.flags & WG_A_REGISTERS ? NULL : SLOT(uint64_t, 0), *b = SLOT(uint64_t, 1);
  uint32_t add = SRC_PRED(2);
  for (int i = 1; i < LANES; i++)
    if ((a && a[i] != a[0]) || b[i] != b[0])
      return ws_emu_fault(w, in, i, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives a descriptor (0x%llx) that differs from its warp's (0x%llx)",
                          (unsigned long long)(b[i] != b[0] ? b[i] : a[i]), (unsigned long long)(b[i] != b[0] ? b[0] : a[0]));
  if (add && add != ALL_LANES) return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives a scale-d that differs within its warp (0x%08x)", add);
  w->stats.flops += 2ull * 16 * f.n * (256u / ws_emu_types[f.type_a].bits);
  return ws_emu_wg_issue(w, in, a ? a[0] : 0, b[0], add, run);
}
HANDLER(fence) {
  ws_emu_wg_fence(w);
  return EV_NEXT;
}
HANDLER(commit) {
  w->wg_groups++;
  return EV_NEXT;
}
HANDLER(wait) { return ws_emu_wg_wait(w, in, (uint32_t)in->imm); }

/* Constants: scale-a and scale-b (1 or -1), then the transpositions of the operands that lie in shared memory. */
static bool small_constants(const struct bind *b, struct wg_form *f) {
  int8_t v[4];
  uint32_t n = b->smalls, have = f->type_a == T_F16 || f->type_a == T_BF16 ? (f->flags & WG_A_REGISTERS ? 3 : 4) : f->kind == WG_S32 ? 0 : 2;
  memcpy(v, &b->in->imm, sizeof v);
  if (n != have) return false;
  for (uint32_t i = 0; i < n; i++)
    if (i < 2 ? v[i] != 1 && v[i] != -1 : v[i] != 0 && v[i] != 1) return false;
  if (n && v[0] < 0) f->flags |= WG_NEGATE_A;
  if (n && v[1] < 0) f->flags |= WG_NEGATE_B;
  if (n == 4 && v[2]) f->flags |= WG_A_MN;
  if (n > 2 && v[n - 1]) f->flags |= WG_B_MN;
  return true;
}

emu_fn *LEVELLED(ws_emu_resolve_wgmma)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".fence")) return fence;
  if (ws_emu_has(u, ".commit_group")) return commit;
  if (ws_emu_has(u, ".wait_group")) return in->imm < 0 || in->imm > 255 ? NULL : wait;
  struct wg_form f = {.kind = u->type[0] == T_S32 ? WG_S32 : u->type[0] == T_F16 ? WG_F16 : WG_F32, .type_a = u->type[1], .type_b = u->type[2]};
  f.flags = in->o[0] == NO_SLOT ? WG_A_REGISTERS : 0;
  f.regs = (uint8_t)(b->nx - (in->o[0] == NO_SLOT ? 4 : 0));
  f.n = (uint16_t)(f.regs * (f.kind == WG_F16 ? 4 : 2));
  if (!small_constants(b, &f)) return NULL;
  in->n = ws_emu_has(u, ".satfinite");
  memcpy(&in->imm2, &f, sizeof f);
  return mma_async;
}
