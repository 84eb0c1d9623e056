/* PTX ISA "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operations": operands in shared memory by descriptor or in
 * registers, and the product of a whole warpgroup, 64 x N x K. When a product happens is decided in warpgroup.c, the sum is
 * product.h's. */
#include "hazard.h"
#include "warpgroup.h"
#include "product.h"
#include "trace.h"

/* PTX ISA "Matrix Descriptor Format" */
static const char *decode_matrix(struct cta *c, struct who who, uint64_t d, struct matrix *m) {
  static const uint8_t spans[4] = {16, 128, 64, 32};
  *m = matrix_of(c, who, d, spans[d >> 62], 2);
  if (d & 0x3ff1c000c000c000u) return "sets reserved bits";
  if (d >> 49 & 7) return "has a base offset, which is not modelled: start the tile at a multiple of the swizzle's pattern";
  return NULL;
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
  const char *why = decode_matrix(g->cta, WHO(w, in, 0), desc, &m);
  if (why) return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "gives descriptor 0x%llx of %s, which %s", (unsigned long long)desc, which, why);
  uint32_t good = (mn ? fetch_mn : fetch_k)(&m, rows, out);
  if (good == rows) return w->cta->fault.code ? EV_FAULT : unwritten_matrix(&m, rows, mn);
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
  q.rows = WG_ROWS;
  q.k = 256 / ws_emu_types[f.type_a].bits;
  q.blocks = (f.n + BLOCK - 1u) / BLOCK;
  memset(b + f.n, 0, (q.blocks * BLOCK - f.n) * sizeof *b);
  uint32_t top_a = fill_a(&q, (const uint8_t(*)[32])a, f.type_a, f.flags & WG_NEGATE_A ? 1u << 31 : 0);
  uint32_t top_b = fill_b(&q, (const uint8_t(*)[32])b, f.type_b, f.flags & WG_NEGATE_B ? 1u << 31 : 0);
  q.special = top_a >= 0x7f800000u || top_b >= 0x7f800000u || (top_a >> 23) + (top_b >> 23) > 2 * 127 + 120;
  struct sums d = {&op->tile->c->f, op->tile->stride};
  if (f.kind == WG_F16) product_half(&q, q.k == 32 ? 13 : 25, d, op->add);
  else if (q.k == 32) product_8(&q, d, op->add);
  else (q.k == 16 ? product_16 : product_tf32)(&q, d, op->add);
  return EV_NEXT;
}

/* What it reads of shared memory. Where a descriptor is bad, running it says so. */
static void touch_matrix(struct race_touch *t, uint64_t desc, bool mn, uint32_t rows) {
  struct matrix m;
  if (decode_matrix(t->owner, t->who, desc, &m)) return;
  if (mn) touch_mn(&m, rows, t);
  else touch_units(&m, rows, 2, t);
}
static int touch(struct warpgroup *g, const struct wg_op *op) {
  struct wg_form f = ws_emu_wg_form(op->in);
  struct who who = WHO(&g->cta->warps[g->index * WG_WARPS], op->in, 0);
  struct race_touch t;
  if (!ws_emu_race_begin(&t, who, g->cta, BY_WGMMA, op->group + 1, RACE_ASYNC, op->clock)) return EV_NEXT;
  if (!(f.flags & WG_A_REGISTERS)) touch_matrix(&t, op->a, f.flags & WG_A_MN, WG_ROWS);
  touch_matrix(&t, op->b, f.flags & WG_B_MN, f.n);
  return t.ev;
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
  TRACE(w, in, NOTHING(WGMMA), .amount = 2ull * 16 * f.n * (256u / ws_emu_types[f.type_a].bits));
  return ws_emu_wg_issue(w, in, a ? a[0] : 0, b[0], add, run, touch);
}
HANDLER(fence) {
  ws_emu_wg_fence(w);
  TRACE(w, in, NOTHING(WGMMA_FENCE));
  return EV_NEXT;
}
HANDLER(commit) {
  w->wg_groups++;
  TRACE(w, in, NOTHING(WGMMA_COMMIT));
  return EV_NEXT;
}
HANDLER(wait) {
  TRACE(w, in, .kind = WSEMU_WGMMA_WAIT, .object = WSEMU_NO_OBJECT, .count = (uint32_t)in->imm);
  return ws_emu_wg_wait(w, in, (uint32_t)in->imm);
}

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
