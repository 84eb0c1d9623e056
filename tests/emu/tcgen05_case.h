/* One tcgen05.mma on random operands: its kernel, for one CTA or a pair, its operands in their layouts, the sum by its
 * definition. */
#ifndef EMU_TCGEN05_CASE_H
#define EMU_TCGEN05_CASE_H
#include "harness.h"
#include <math.h>

enum { TC_IMAGE = 49152, TC_B_AT = 16384, TC_A_COLUMN = 256 }; /* of each CTA's shared memory; A lies at its start */
enum { TC_F16 = 0, TC_BF16 = 1, TC_TF32 = 2, TC_E4M3 = 0, TC_E5M2 = 1, TC_U8 = 0, TC_S8 = 1 };
struct tc_case {
  const char *kind;          /* "f16" */
  int pair, m, n, a, b;      /* types of A and B as the descriptor codes them */
  int d;                     /* 0 f16, 1 f32, 2 s32 */
  int a_span, b_span;        /* swizzle of each; 16: none, 0: A in tensor memory */
  int ta, tb;                /* M, N contiguous */
  int add, scale, na, nb;    /* na, nb: negated */
  int step;                  /* K steps of 32 bytes that A and B start behind their tile (K contiguous, swizzled) */
  int lane, mask;            /* D's first lane; lanes 32i+1, 32i+5, 32i+31 are not written */
};
static inline int tc_bytes(const struct tc_case *c) { return !strcmp(c->kind, "f16") ? 2 : !strcmp(c->kind, "tf32") ? 4 : 1; }
static inline int tc_k(const struct tc_case *c) { return 32 / tc_bytes(c); }
static inline uint32_t tc_form(const struct tc_case *c) {
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
  PUT("ld.param.u64 p, [aa];\nmul.wide.u32 x, rank, %d;\nadd.u64 p, p, x;\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\n", 8 * 512);
  for (int i = 0; i < 8; i++) PUT("ld.global.b32 r%d, [p+%d];\n", i, 512 * i);
  PUT("tcgen05.st.sync.aligned.32x32b.x8.b32 [row+%d], {r0, r1, r2, r3, r4, r5, r6, r7};\ntcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n", TC_A_COLUMN);
  PUT(c->pair ? "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" : "bar.sync 0;\n");
  PUT("tcgen05.fence::after_thread_sync;\nsetp.eq.u32 e, rank, 0;\nand.pred lead, lead, e;\n@!lead bra ISSUED;\nld.param.u64 a, [da];\nld.param.u64 b, [db];\nmov.u32 v, s;\nand.b32 v, v, 0x3ffff;\nshr.u32 v, v, 4;\n"
      "cvt.u64.u32 x, v;\nadd.u64 a, a, x;\nadd.u64 b, b, x;\nsetp.ne.u32 add, %d, 0;\nmov.b32 m, 0x%x;\nadd.u32 v, ta, %d;\nadd.u32 i, ta, %d;\n", c->add, TC_MASK, TC_A_COLUMN + (c->lane << 16), c->lane << 16);
  PUT("tcgen05.mma.%s.kind::%s [i], %s, b, 0x%x", cg, c->kind, c->a_span ? "a" : "[v]", tc_form(c));
  if (c->mask) PUT(c->pair ? ", {m, m, m, m, m, m, m, m}" : ", {m, m, m, m}");
  PUT(", add");
  if (c->scale) PUT(", %d", c->scale);
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
struct tc_layout { uint32_t leading, stride, span; bool mn; };
static inline struct tc_layout tc_layout_of(int span, bool mn, int extent, int es) {
  struct tc_layout l = {.span = (uint32_t)span, .mn = mn};
  if (span == 16) l.leading = mn ? (uint32_t)(extent * es) * 8 : 128, l.stride = mn ? 128 : 256;
  else l.leading = mn ? (uint32_t)(span * 32 / es) : 16, l.stride = (uint32_t)span * 8;
  return l;
}
static inline uint32_t tc_place(struct tc_layout l, uint32_t mn, uint32_t k, uint32_t es) {
  uint32_t kb = k * es, mb = mn * es, o;
  if (!l.mn && l.span == 16) o = (mn >> 3) * l.stride + (mn & 7) * 16 + (kb >> 4) * l.leading + (kb & 15);
  else if (!l.mn) o = (mn >> 3) * l.stride + (mn & 7) * l.span + kb;
  else if (l.span == 16) o = (mb >> 4) * l.stride + (k >> 3) * l.leading + (k & 7) * 16 + (mb & 15);
  else o = mb / l.span * l.leading + (k >> 3) * l.stride + (k & 7) * l.span + mb % l.span;
  uint32_t mask = l.span == 128 ? 7 : l.span == 64 ? 3 : l.span == 32 ? 1 : 0;
  return o ^ ((o >> 7 & mask) << 4);
}
static inline uint64_t tc_descriptor(struct tc_layout l, uint32_t offset) {
  uint64_t code = l.span == 128 ? 2 : l.span == 64 ? 4 : l.span == 32 ? 6 : 0;
  return code << 61 | (uint64_t)1 << 46 | (uint64_t)(l.stride >> 4) << 32 | (uint64_t)(l.leading >> 4) << 16 | offset >> 4;
}

struct tc_data {
  uint8_t image[2][TC_IMAGE];
  uint32_t d[2][256][128], a[2][8][128]; /* tensor memory of each CTA, by columns */
  uint32_t am[256][32], bm[256][32];     /* codes of A and B */
  uint64_t da, db;
};
/* Where element (m, n) of D lies. PTX ISA "Data path layout organization". */
static inline uint32_t *tc_word(const struct tc_case *c, uint32_t (*d)[256][128], uint32_t m, uint32_t n) {
  uint32_t half = (uint32_t)c->n / 2;
  if (c->pair && c->m == 256) return &d[m / 128][n][m % 128];
  if (c->pair) return &d[m / 64][n % half][m % 64 + (n >= half ? 64 : 0)];
  if (c->m == 64) return &d[0][n][m / 16 * 32 + m % 16 + (uint32_t)c->lane];
  return &d[0][n][m];
}
static inline uint32_t tc_code(const struct tc_case *c, int type, struct rng *r, int how) {
  float f = rng_normal(r);
  if (how == 1) f = rng_below(r, 6) ? ldexpf(f, (int)rng_below(r, 20) - 10) : 0;
  if (tc_bytes(c) == 1) {
    uint32_t v = (uint32_t)rng_next(r) & 0xff;
    if (c->d == 2) return v;
    if (how == 0) v = (v & 0x80) | (type == TC_E4M3 ? 0x20 : 0x30) | (v & 0x1f);
    if (type == TC_E4M3 && (v & 0x7f) == 0x7f) v ^= 1;
    if (type == TC_E5M2 && (v & 0x7c) == 0x7c) v ^= 4;
    return v;
  }
  if (tc_bytes(c) == 4) { uint32_t u; memcpy(&u, &f, 4); return u; }
  if (type == TC_BF16) return float_to_bf16(f);
  _Float16 h = (_Float16)f;
  uint16_t u;
  memcpy(&u, &h, 2);
  return u;
}
static inline void tc_fill(const struct tc_case *c, struct tc_data *w, struct rng *r, int how) {
  uint32_t es = (uint32_t)tc_bytes(c), step = (uint32_t)(c->step * tc_k(c)), ctas = c->pair ? 2 : 1, rows = (uint32_t)c->m / ctas, cols = (uint32_t)c->n / ctas;
  struct tc_layout la = tc_layout_of(c->a_span ? c->a_span : 128, c->ta, (int)rows, (int)es), lb = tc_layout_of(c->b_span, c->tb, (int)cols, (int)es);
  uint8_t *image = (uint8_t *)w->image;
  uint32_t *words = (uint32_t *)w->d;
  for (size_t i = 0; i < sizeof w->image; i++) image[i] = (uint8_t)rng_next(r);
  memset(w->a, 0x7f, sizeof w->a);
  for (uint32_t m = 0; m < (uint32_t)c->m; m++)
    for (uint32_t k = 0; k < (uint32_t)tc_k(c); k++) {
      uint32_t cta = m / rows, row = m % rows, v = w->am[m][k] = tc_code(c, c->a, r, how);
      uint32_t lane = !c->pair && c->m == 64 ? row / 16 * 32 + row % 16 + (uint32_t)c->lane : row;
      if (c->a_span) memcpy(w->image[cta] + tc_place(la, row, k + (c->ta ? 0 : step), es), &v, es);
      memcpy((uint8_t *)&w->a[cta][k * es / 4][lane] + k * es % 4, &v, es);
      if (c->pair && c->m == 128) memcpy((uint8_t *)&w->a[cta][k * es / 4][lane + 64] + k * es % 4, &v, es);
    }
  for (uint32_t n = 0; n < (uint32_t)c->n; n++)
    for (uint32_t k = 0; k < (uint32_t)tc_k(c); k++) {
      w->bm[n][k] = tc_code(c, c->b, r, how);
      memcpy(w->image[n / cols] + TC_B_AT + tc_place(lb, n % cols, k + (c->tb ? 0 : step), es), &w->bm[n][k], es);
    }
  w->da = tc_descriptor(la, c->ta ? 0 : step * es);
  w->db = tc_descriptor(lb, TC_B_AT + (c->tb ? 0 : step * es));
  for (size_t i = 0; i < sizeof w->d / 4; i++) {
    float f = how == 1 ? ldexpf(rng_normal(r), (int)rng_below(r, 30) - 15) : 4 * rng_normal(r);
    memcpy(&words[i], &f, 4);
    _Float16 h = (_Float16)rng_normal(r);
    if (c->d == 0) words[i] = 0xabcd0000, memcpy(&words[i], &h, 2);
    if (c->d == 2) words[i] = (uint32_t)rng_next(r);
  }
}
#endif
