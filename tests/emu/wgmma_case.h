/* One wgmma on random operands: its kernel, its operands in their layouts, and the sum by its definition. */
#ifndef EMU_WGMMA_CASE_H
#define EMU_WGMMA_CASE_H
#include "harness.h"
#include <math.h>

enum { WG_IMAGE = 40960, WG_B_AT = 8192 }; /* of shared memory; A lies at its start */
struct wg_case {
  const char *types; /* ".f32.bf16.bf16" */
  int n, k, bytes;   /* bytes of an element of A and B */
  int a_span, b_span; /* swizzle of each; 16: none, 0: A in registers */
  int ta, tb;        /* M, N contiguous */
  int scale_d, sa, sb;
  int step;          /* K steps of 32 bytes that A and B start behind their tile (K contiguous, swizzled) */
};
static inline bool wg_is(const struct wg_case *c, const char *type) { return strstr(c->types + 4, type) != NULL; }
static inline int wg_d_regs(const struct wg_case *c) { return c->types[1] == 'f' && c->types[2] == '1' ? c->n / 4 : c->n / 2; }

/* Parameters: the image, D and A registers (128 threads each a register), the result, the descriptors of A and B. */
static inline void wg_kernel(const struct wg_case *c, char *out, size_t n) {
  int d = wg_d_regs(c), at = 0;
#define PUT(...) at += snprintf(out + at, n - (size_t)at, __VA_ARGS__)
  PUT(".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 image, .param .u64 dd, .param .u64 aa, .param .u64 out, .param .u64 da, .param .u64 db)\n.reqntid 128\n{\n"
      ".shared .align 1024 .b8 s[%d];\n.reg .b64 p, q, x, a, b;\n.reg .b32 t, v, i;\n.reg .pred e, sd;\n.reg .b32 d<%d>, r<4>;\n", WG_IMAGE, d);
  PUT("mov.u32 t, %%tid.x;\nld.param.u64 p, [image];\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\nmov.u32 i, s;\nshl.b32 v, t, 2;\nadd.u32 i, i, v;\nmov.u32 v, 0;\n"
      "COPY:\nld.global.b32 r0, [p];\nst.shared.b32 [i], r0;\nadd.u64 p, p, 512;\nadd.u32 i, i, 512;\nadd.u32 v, v, 512;\nsetp.lt.u32 e, v, %d;\n@e bra COPY;\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\n", WG_IMAGE);
  PUT("ld.param.u64 p, [dd];\nadd.u64 p, p, x;\nld.param.u64 q, [aa];\nadd.u64 q, q, x;\n");
  for (int i = 0; i < d; i++) PUT("ld.global.b32 d%d, [p+%d];\n", i, 512 * i);
  for (int i = 0; i < 4; i++) PUT("ld.global.b32 r%d, [q+%d];\n", i, 512 * i);
  PUT("ld.param.u64 a, [da];\nld.param.u64 b, [db];\nmov.u32 v, s;\nand.b32 v, v, 0x3ffff;\nshr.u32 v, v, 4;\ncvt.u64.u32 x, v;\nadd.u64 a, a, x;\nadd.u64 b, b, x;\nsetp.ne.u32 sd, %d, 0;\n", c->scale_d);
  PUT("wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%dk%d%s {", c->n, c->k, c->types);
  for (int i = 0; i < d; i++) PUT("%sd%d", i ? ", " : "", i);
  PUT(c->a_span ? "}, a, b, sd" : "}, {r0, r1, r2, r3}, b, sd");
  if (!wg_is(c, "8") || wg_is(c, "e")) PUT(", %d, %d", c->sa, c->sb);
  if (c->bytes == 2) PUT(c->a_span ? ", %d, %d" : ", %d", c->a_span ? c->ta : c->tb, c->tb);
  PUT(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nld.param.u64 p, [out];\nmul.wide.u32 x, t, 4;\nadd.u64 p, p, x;\n");
  for (int i = 0; i < d; i++) PUT("st.global.b32 [p+%d], d%d;\n", 512 * i, i);
  PUT("ret;\n}\n");
#undef PUT
  assert_true((size_t)at < n);
}

/* Byte of element (mn, k) behind the start of a tile, and the descriptor's offsets. PTX ISA "Shared Memory Matrix Layout". */
struct wg_layout { uint32_t leading, stride, span; bool mn; };
static inline struct wg_layout wg_layout_of(int span, bool mn, int extent) {
  struct wg_layout l = {.span = (uint32_t)span, .mn = mn};
  if (span == 16) l.leading = mn ? (uint32_t)extent * 16 : 128, l.stride = mn ? 128 : 256;
  else l.leading = mn ? (uint32_t)span * 16 : 16, l.stride = (uint32_t)span * 8;
  return l;
}
static inline uint32_t wg_place(struct wg_layout l, uint32_t mn, uint32_t k, uint32_t es) {
  uint32_t kb = k * es, mb = mn * es, o;
  if (!l.mn && l.span == 16) o = (mn >> 3) * l.stride + (mn & 7) * 16 + (kb >> 4) * l.leading + (kb & 15);
  else if (!l.mn) o = (mn >> 3) * l.stride + (mn & 7) * l.span + kb;
  else if (l.span == 16) o = (mb >> 4) * l.stride + (k >> 3) * l.leading + (k & 7) * 16 + (mb & 15);
  else o = mb / l.span * l.leading + (k >> 3) * l.stride + (k & 7) * l.span + mb % l.span;
  uint32_t mask = l.span == 128 ? 7 : l.span == 64 ? 3 : l.span == 32 ? 1 : 0;
  return o ^ ((o >> 7 & mask) << 4);
}
static inline uint64_t wg_descriptor(struct wg_layout l, uint32_t offset) {
  uint64_t code = l.span == 128 ? 1 : l.span == 64 ? 2 : l.span == 32 ? 3 : 0;
  return code << 62 | (uint64_t)(l.stride >> 4) << 32 | (uint64_t)(l.leading >> 4) << 16 | offset >> 4;
}

struct wg_data {
  uint8_t image[WG_IMAGE];
  uint32_t d[128 * 128], a[4 * 128]; /* registers: thread t of register r at 128 r + t */
  uint32_t am[64][32], bm[256][32];  /* codes of A and B */
  uint64_t da, db;
};
static inline uint32_t wg_code(const struct wg_case *c, struct rng *r, int how) {
  float f = rng_normal(r);
  if (how == 1) f = rng_below(r, 6) ? ldexpf(f, (int)rng_below(r, 20) - 10) : 0;
  if (c->bytes == 1) {
    uint32_t v = (uint32_t)rng_next(r) & 0xff;
    if (wg_is(c, "e") && how == 0) v = (v & 0x80) | (wg_is(c, "e4m3") ? 0x20 : 0x30) | (v & 0x1f);
    if (wg_is(c, "e4m3") && (v & 0x7f) == 0x7f) v ^= 1;
    if (wg_is(c, "e5m2") && (v & 0x7c) == 0x7c) v ^= 4;
    return v;
  }
  if (c->bytes == 4) { uint32_t u; memcpy(&u, &f, 4); return u; }
  if (wg_is(c, ".bf16")) return float_to_bf16(f);
  return f16_of((double)f);
}
static inline void wg_fill(const struct wg_case *c, struct wg_data *w, struct rng *r, int how) {
  struct wg_layout la = wg_layout_of(c->a_span ? c->a_span : 128, c->ta, 64), lb = wg_layout_of(c->b_span, c->tb, c->n);
  uint32_t es = (uint32_t)c->bytes, step = (uint32_t)(c->step * c->k);
  for (size_t i = 0; i < sizeof w->image; i++) w->image[i] = (uint8_t)rng_next(r);
  for (uint32_t m = 0; m < 64; m++)
    for (uint32_t k = 0; k < (uint32_t)c->k; k++) {
      w->am[m][k] = wg_code(c, r, how);
      if (c->a_span) memcpy(w->image + wg_place(la, m, k + (c->ta ? 0 : step), es), &w->am[m][k], es);
      /* as a register: the fragment of mma.m16n8k16, 4 bytes a lane */
      uint32_t byte = k * es, lane = 4 * (m & 7) + (byte >> 2 & 3), reg = (m >> 3 & 1) + 2 * (byte >> 4);
      uint8_t *at = (uint8_t *)&w->a[128 * reg + 32 * (m >> 4) + lane];
      memcpy(at + (byte & 3), &w->am[m][k], es);
    }
  for (uint32_t n = 0; n < (uint32_t)c->n; n++)
    for (uint32_t k = 0; k < (uint32_t)c->k; k++) {
      w->bm[n][k] = wg_code(c, r, how);
      memcpy(w->image + WG_B_AT + wg_place(lb, n, k + (c->tb ? 0 : step), es), &w->bm[n][k], es);
    }
  w->da = wg_descriptor(la, c->ta ? 0 : step * es);
  w->db = wg_descriptor(lb, WG_B_AT + (c->tb ? 0 : step * es));
  for (int i = 0; i < 128 * 128; i++) {
    float f = how == 1 ? ldexpf(rng_normal(r), (int)rng_below(r, 30) - 15) : 4 * rng_normal(r);
    memcpy(&w->d[i], &f, 4);
    if (wg_is(c, "8") && !wg_is(c, "e")) w->d[i] = (uint32_t)rng_next(r);
    if (c->types[2] == '1') w->d[i] = f16_of((double)rng_normal(r)) | (uint32_t)f16_of((double)rng_normal(r)) << 16;
  }
}
#endif
