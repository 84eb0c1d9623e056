/* One tcgen05.mma on random operands: its kernel, for one CTA or a pair, its operands in their layouts, the sum by its
 * definition. */
#ifndef EMU_TCGEN05_CASE_H
#define EMU_TCGEN05_CASE_H
#include "harness.h"
#include <math.h>

enum { TC_IMAGE = 49152, TC_B_AT = 16384, TC_A_COLUMN = 256, TC_A_COLUMNS = 24 /* A, then scale factors of A and of B, 8 each */ }; /* of each CTA's shared memory; A lies at its start */
enum { TC_F16 = 0, TC_BF16 = 1, TC_TF32 = 2, TC_E4M3 = 0, TC_E5M2 = 1, TC_U8 = 0, TC_S8 = 1, TC_E2M3 = 3, TC_E3M2 = 4, TC_E2M1 = 5, TC_ATOMS32 = 256 /* a span: 128 bytes, atoms of 32 */ };
struct tc_more {             /* what few products have */
  const char *mods;          /* ".block_scale.block32": between the kind and the operands */
  bool ws, shifted;          /* .ws; .ashift */
  int factors, id_a, id_b;   /* scale factors of a row, 0: none, and the byte of the first */
  bool ue4m3;
  uint64_t zeros;            /* zero-column mask descriptor */
};
struct tc_case {
  const char *kind;          /* "f16" */
  int pair, m, n, a, b;      /* types of A and B as the descriptor codes them */
  int d;                     /* 0 f16, 1 f32, 2 s32 */
  int a_span, b_span;        /* swizzle of each; 16: none, 0: A in tensor memory */
  int ta, tb;                /* M, N contiguous */
  int add, scale, na, nb;    /* na, nb: negated */
  int step;                  /* K steps of 32 bytes that A and B start behind their tile (K contiguous, swizzled) */
  int lane, mask;            /* D's first lane; lanes 32i+1, 32i+5, 32i+31 are not written */
  struct tc_more more;
};
static inline int tc_bytes(const struct tc_case *c) { return !strcmp(c->kind, "f16") ? 2 : !strcmp(c->kind, "tf32") ? 4 : 1; }
static inline bool tc_fours(const struct tc_case *c) { return !strncmp(c->kind, "mxf4", 4); } /* two elements a byte */
static inline int tc_k(const struct tc_case *c) { return tc_fours(c) ? 64 : 32 / tc_bytes(c); }
static inline int tc_type(const struct tc_case *c, int code) { return tc_fours(c) ? TC_E2M1 : code; }
static inline uint32_t tc_bits(const struct tc_case *c, int code) {
  int es = tc_bytes(c), t = tc_type(c, code);
  return es > 1 || !strcmp(c->kind, "i8") || t < TC_E2M3 ? 8u * (uint32_t)es : t == TC_E2M1 ? 4 : 6;
}
static inline uint32_t tc_form(const struct tc_case *c) {
  if (c->more.factors)
    return (uint32_t)(c->more.id_b << 4 | c->a << 7 | c->b << 10 | c->na << 13 | c->nb << 14 | c->ta << 15 | c->tb << 16 | c->n >> 3 << 17 | !c->more.ue4m3 << 23 | c->m >> 7 << 27 | c->more.id_a << 29);
  return (uint32_t)(c->d << 4 | c->a << 7 | c->b << 10 | c->na << 13 | c->nb << 14 | c->ta << 15 | c->tb << 16 | c->n >> 3 << 17 | c->m >> 4 << 24);
}
#define TC_MASK 0x80000022u

/* Parameters: images, D and A by columns of 128 lanes, the result, the descriptors. Of a pair, CTA 1's follow CTA 0's. */
static inline void tc_kernel(const struct tc_case *c, char *out, size_t n) {
  int at = 0;
#define PUT(...) at += snprintf(out + at, n - (size_t)at, __VA_ARGS__)
  const char *cg = c->pair ? "cta_group::2" : "cta_group::1";
  PUT(".version 8.8\n.target sm_100a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
      ".visible .entry k(.param .u64 image, .param .u64 dd, .param .u64 aa, .param .u64 out, .param .u64 da, .param .u64 db)\n.reqntid 128\n%s{\n"
      ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 where;\n.reg .b64 p, x, a, b;\n.reg .b32 t, v, i, ta, row, rank;\n.reg .pred e, add, lead;\n.reg .b32 r<32>, m;\n",
      c->pair ? ".reqnctapercluster 2, 1, 1\n" : "");
  PUT("mov.u32 t, %%tid.x;\nmov.u32 rank, %%cluster_ctarank;\nmul.wide.u32 x, rank, %d;\nld.param.u64 p, [image];\nadd.u64 p, p, x;\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\nmov.u32 i, s;\nshl.b32 v, t, 2;\n"
      "add.u32 i, i, v;\nmov.u32 v, 0;\nCOPY:\nld.global.b32 r0, [p];\nst.shared.b32 [i], r0;\nadd.u64 p, p, 512;\nadd.u32 i, i, 512;\nadd.u32 v, v, 512;\nsetp.lt.u32 e, v, %d;\n@e bra COPY;\n", TC_IMAGE, TC_IMAGE);
  PUT("setp.eq.u32 lead, t, 0;\n@lead mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n");
  if (c->pair) PUT("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
  PUT("setp.lt.u32 e, t, 32;\n@!e bra ALLOCATED;\ntcgen05.alloc.%s.sync.aligned.shared::cta.b32 [where], 512;\ntcgen05.relinquish_alloc_permit.%s.sync.aligned;\nALLOCATED:\nbar.sync 0;\nld.shared.b32 ta, [where];\n"
      "shl.b32 row, t, 16;\nand.b32 row, row, 0x600000;\nadd.u32 row, row, ta;\n", cg, cg);
  PUT("ld.param.u64 p, [dd];\nmul.wide.u32 x, rank, %d;\nadd.u64 p, p, x;\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\n", 256 * 512);
  for (int col = 0; col < 256; col += 32) {
    for (int i = 0; i < 32; i++) PUT("ld.global.b32 r%d, [p+%d];\n", i, 512 * (col + i));
    PUT("tcgen05.st.sync.aligned.32x32b.x32.b32 [row+%d], {", col);
    for (int i = 0; i < 32; i++) PUT("%sr%d", i ? ", " : "", i);
    PUT("};\n");
  }
  PUT("ld.param.u64 p, [aa];\nmul.wide.u32 x, rank, %d;\nadd.u64 p, p, x;\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\n", TC_A_COLUMNS * 512);
  for (int col = 0; col < TC_A_COLUMNS; col += 8) {
    for (int i = 0; i < 8; i++) PUT("ld.global.b32 r%d, [p+%d];\n", i, 512 * (col + i));
    PUT("tcgen05.st.sync.aligned.32x32b.x8.b32 [row+%d], {r0, r1, r2, r3, r4, r5, r6, r7};\n", TC_A_COLUMN + col);
  }
  PUT("tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n");
  PUT(c->pair ? "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" : "bar.sync 0;\n");
  PUT("tcgen05.fence::after_thread_sync;\nsetp.eq.u32 e, rank, 0;\nand.pred lead, lead, e;\n@!lead bra ISSUED;\nld.param.u64 a, [da];\nld.param.u64 b, [db];\nmov.u32 v, s;\nand.b32 v, v, 0x3ffff;\nshr.u32 v, v, 4;\n"
      "cvt.u64.u32 x, v;\nadd.u64 a, a, x;\nadd.u64 b, b, x;\nsetp.ne.u32 add, %d, 0;\nmov.b32 m, 0x%x;\nadd.u32 v, ta, %d;\nadd.u32 i, ta, %d;\n", c->add, TC_MASK, TC_A_COLUMN + (c->lane << 16), c->lane << 16);
  if (c->more.zeros) PUT(".reg .b64 z;\nmov.b64 z, 0x%llx;\n", (unsigned long long)c->more.zeros);
  PUT("tcgen05.mma%s.%s.kind::%s%s [i], %s, b, 0x%x", c->more.ws ? ".ws" : "", cg, c->kind, c->more.mods ? c->more.mods : "", c->a_span ? "a" : "[v]", tc_form(c));
  if (c->more.factors) PUT(", [v+8], [v+16]");
  if (c->mask) PUT(c->pair ? ", {m, m, m, m, m, m, m, m}" : ", {m, m, m, m}");
  PUT(", add");
  if (c->scale) PUT(", %d", c->scale);
  if (c->more.zeros) PUT(", z");
  PUT(";\n");
  if (c->pair) PUT(".reg .b16 both;\nmov.b16 both, 3;\ntcgen05.commit.%s.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], both;\n", cg);
  else PUT("tcgen05.commit.%s.mbarrier::arrive::one.shared::cluster.b64 [bar];\n", cg);
  PUT("ISSUED:\nbar.warp.sync -1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 e, [bar], 0;\n@!e bra WAIT;\ntcgen05.fence::after_thread_sync;\nld.param.u64 p, [out];\nmul.wide.u32 x, rank, %d;\nadd.u64 p, p, x;\n"
      "mul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\n", 256 * 512);
  for (int col = 0; col < 256; col += 32) {
    PUT("tcgen05.ld.sync.aligned.32x32b.x32.b32 {");
    for (int i = 0; i < 32; i++) PUT("%sr%d", i ? ", " : "", i);
    PUT("}, [row+%d];\ntcgen05.wait::ld.sync.aligned;\n", col);
    for (int i = 0; i < 32; i++) PUT("st.global.b32 [p+%d], r%d;\n", 512 * (col + i), i);
  }
  PUT("tcgen05.fence::before_thread_sync;\n");
  PUT(c->pair ? "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" : "bar.sync 0;\n");
  PUT("setp.lt.u32 e, t, 32;\n@!e bra END;\ntcgen05.dealloc.%s.sync.aligned.b32 ta, 512;\nEND:\nret;\n}\n", cg);
#undef PUT
  assert_true((size_t)at < n);
}

/* Byte of element (mn, k) behind the start of a tile, and the descriptor's offsets. PTX ISA "Shared Memory Matrix Layout". */
struct tc_layout { uint32_t leading, stride, span; bool mn, atoms; };
static inline struct tc_layout tc_layout_of(int span, bool mn, int extent, int es) {
  struct tc_layout l = {.span = span == TC_ATOMS32 ? 128 : (uint32_t)span, .mn = mn, .atoms = span == TC_ATOMS32};
  if (span == 16) l.leading = mn ? (uint32_t)(extent * es) * 8 : 128, l.stride = mn ? 128 : 256;
  else l.leading = mn ? l.span * 32 / (uint32_t)es : 16, l.stride = l.span * (l.atoms && mn ? 4 : 8);
  return l;
}
static inline uint32_t tc_place(struct tc_layout l, uint32_t mn, uint32_t k, uint32_t es) {
  uint32_t kb = k * es, mb = mn * es, o, deep = l.atoms ? 4 : 8;
  if (!l.mn && l.span == 16) o = (mn >> 3) * l.stride + (mn & 7) * 16 + (kb >> 4) * l.leading + (kb & 15);
  else if (!l.mn) o = (mn >> 3) * l.stride + (mn & 7) * l.span + kb;
  else if (l.span == 16) o = (mb >> 4) * l.stride + (k >> 3) * l.leading + (k & 7) * 16 + (mb & 15);
  else o = mb / l.span * l.leading + k / deep * l.stride + k % deep * l.span + mb % l.span;
  uint32_t mask = l.span == 128 ? 7 : l.span == 64 ? 3 : l.span == 32 ? 1 : 0;
  return l.atoms ? o ^ ((o >> 7 & 3) << 5) : o ^ ((o >> 7 & mask) << 4);
}
static inline uint64_t tc_descriptor(struct tc_layout l, uint32_t offset) {
  uint64_t code = l.atoms ? 1 : l.span == 128 ? 2 : l.span == 64 ? 4 : l.span == 32 ? 6 : 0;
  return code << 61 | (uint64_t)1 << 46 | (uint64_t)(l.stride >> 4) << 32 | (uint64_t)(l.leading >> 4) << 16 | offset >> 4;
}

struct tc_data {
  uint8_t image[2][TC_IMAGE];
  uint32_t d[2][256][128], a[2][TC_A_COLUMNS][128]; /* tensor memory of each CTA, by columns */
  uint32_t am[256][64], bm[320][64];     /* codes of A and B */
  uint64_t da, db;
};
/* Where element (m, n) of D lies. PTX ISA "Data path layout organization". */
static inline uint32_t *tc_word(const struct tc_case *c, uint32_t (*d)[256][128], uint32_t m, uint32_t n) {
  uint32_t half = (uint32_t)c->n / 2;
  if (c->pair && c->m == 256) return &d[m / 128][n][m % 128];
  if (c->pair) return &d[m / 64][n % half][m % 64 + (n >= half ? 64 : 0)];
  if (c->more.ws && c->m < 128) return &d[0][n % (uint32_t)(c->n * c->m / 128)][m + (uint32_t)c->m * (n / (uint32_t)(c->n * c->m / 128))];
  if (c->m == 64) return &d[0][n][m / 16 * 32 + m % 16 + (uint32_t)c->lane];
  return &d[0][n][m];
}
static inline uint32_t tc_code(const struct tc_case *c, int type, struct rng *r, int how) {
  float f = rng_normal(r);
  if (how == 1) f = rng_below(r, 6) ? ldexpf(f, (int)rng_below(r, 20) - 10) : 0;
  if (tc_bytes(c) == 1) {
    uint32_t v = (uint32_t)rng_next(r) & 0xff;
    if (c->d == 2) return v;
    if (tc_bits(c, type) < 8) return v & ((1u << tc_bits(c, type)) - 1);
    if (how == 0) v = (v & 0x80) | (type == TC_E4M3 ? 0x20 : 0x30) | (v & 0x1f);
    if (type == TC_E4M3 && (v & 0x7f) == 0x7f) v ^= 1;
    if (type == TC_E5M2 && (v & 0x7c) == 0x7c) v ^= 4;
    return v;
  }
  if (tc_bytes(c) == 4) { uint32_t u; memcpy(&u, &f, 4); return u; }
  if (type == TC_BF16) return float_to_bf16(f);
  return f16_of((double)f);
}
/* Element (mn, k) of a tile, `step` K steps on. 16 elements of 6 or 4 bits lie at the start of 16 bytes, those of mxf4 side by side. */
static inline void tc_put(const struct tc_case *c, uint8_t *tile, struct tc_layout l, uint32_t mn, uint32_t k, uint32_t step, int code, uint32_t v) {
  uint32_t bits = tc_bits(c, code), es = bits / 8;
  if (bits >= 8) memcpy(tile + tc_place(l, mn, k + (l.mn ? 0 : step * 32 / es), es), &v, es);
  for (uint32_t b = 0; bits < 8 && b < bits; b++) {
    uint32_t at = tc_fours(c) ? 4 * k + b : k / 16 * 128 + k % 16 * bits + b;
    uint8_t *byte = tile + tc_place(l, mn, step * 32 + at / 8, 1);
    *byte = (uint8_t)((*byte & ~(1u << at % 8)) | (v >> b & 1) << at % 8);
  }
}
/* The same in tensor memory, where 4 bits lie in the middle of a byte. */
static inline void tc_put_tensor(const struct tc_case *c, uint32_t (*a)[128], uint32_t lane, uint32_t k, int code, uint32_t v) {
  uint32_t bits = tc_bits(c, code), es = bits < 8 ? 1 : bits / 8;
  if (tc_fours(c)) a[k / 8][lane] = (a[k / 8][lane] & ~(15u << k % 8 * 4)) | v << k % 8 * 4;
  else v = bits == 4 ? v << 2 : v, memcpy((uint8_t *)&a[k * es / 4][lane] + k * es % 4, &v, es);
}
static inline void tc_fill_factors(const struct tc_case *c, struct tc_data *w, struct rng *r) {
  for (uint32_t cta = 0; cta < 2; cta++)
    for (uint32_t col = 8; col < TC_A_COLUMNS; col++)
      for (uint32_t lane = 0; lane < 128; lane++) {
        uint32_t v = 0;
        for (int i = 0; i < 4; i++) v = v << 8 | (c->more.ue4m3 ? rng_below(r, 0x7f) : 118 + rng_below(r, 20));
        w->a[cta][col][lane] = lane < 32 ? cta && col >= 16 ? w->a[0][col][lane] : v : w->a[cta][col][lane % 32];
      }
}
/* The scale factor of element k of row m of A, or of column n of B. */
static inline double tc_factor(const struct tc_case *c, const struct tc_data *w, bool of_b, uint32_t i, uint32_t k) {
  uint32_t rows = (uint32_t)(c->pair ? c->m / 2 : c->m), cta = of_b ? 0 : i / rows, row = of_b ? i : i % rows;
  if (!c->more.factors) return 1;
  uint32_t nth = k / (uint32_t)(tc_k(c) / c->more.factors) + (uint32_t)(of_b ? c->more.id_b : c->more.id_a);
  uint32_t code = w->a[cta][(of_b ? 16 : 8) + row / 32][row % 32] >> 8 * nth & 0xff;
  return c->more.ue4m3 ? (code >> 3 ? ldexp(8 + (code & 7), (int)(code >> 3) - 10) : ldexp(code & 7, -9)) : ldexp(1, (int)code - 127);
}
static inline void tc_fill(const struct tc_case *c, struct tc_data *w, struct rng *r, int how) {
  uint32_t es = (uint32_t)tc_bytes(c), step = (uint32_t)c->step, shift = (uint32_t)(c->more.zeros >> 56 & 63), ctas = c->pair ? 2 : 1, rows = (uint32_t)c->m / ctas, cols = (uint32_t)c->n / ctas;
  struct tc_layout la = tc_layout_of(c->a_span ? c->a_span : 128, c->ta, (int)rows, (int)es), lb = tc_layout_of(c->b_span, c->tb, (int)cols, (int)es);
  uint8_t *image = (uint8_t *)w->image;
  uint32_t *words = (uint32_t *)w->d;
  for (size_t i = 0; i < sizeof w->image; i++) image[i] = (uint8_t)rng_next(r);
  memset(w->a, 0x7f, sizeof w->a);
  for (uint32_t m = 0; m < (uint32_t)c->m; m++)
    for (uint32_t k = 0; k < (uint32_t)tc_k(c); k++) {
      uint32_t cta = m / rows, row = m % rows, v = w->am[m][k] = tc_code(c, c->a, r, how);
      uint32_t lane = !c->pair && !c->more.ws && c->m == 64 ? row / 16 * 32 + row % 16 + (uint32_t)c->lane : row;
      if (c->a_span) tc_put(c, w->image[cta], la, row, k, step, c->a, v);
      tc_put_tensor(c, w->a[cta], lane, k, c->a, v);
      if (c->pair && c->m == 128) tc_put_tensor(c, w->a[cta], lane + 64, k, c->a, v);
    }
  for (uint32_t n = 0; n < (uint32_t)c->n + shift; n++)
    for (uint32_t k = 0; k < (uint32_t)tc_k(c); k++) {
      w->bm[n][k] = tc_code(c, c->b, r, how);
      uint32_t cta = shift ? 0 : n / cols;
      tc_put(c, w->image[cta] + TC_B_AT, lb, n - cta * cols, k, step, c->b, w->bm[n][k]);
    }
  if (c->more.factors) tc_fill_factors(c, w, r);
  w->da = tc_descriptor(la, c->ta ? 0 : step * 32);
  w->db = tc_descriptor(lb, TC_B_AT + (c->tb ? 0 : step * 32));
  for (size_t i = 0; i < sizeof w->d / 4; i++) {
    float f = how == 1 ? ldexpf(rng_normal(r), (int)rng_below(r, 30) - 15) : 4 * rng_normal(r);
    memcpy(&words[i], &f, 4);
    if (c->d == 0) words[i] = 0xabcd0000 | f16_of((double)rng_normal(r));
    if (c->d == 2) words[i] = (uint32_t)rng_next(r);
  }
}
#endif
