/* PTX ISA "Warp-level Matrix Load/Store/Transpose Instruction", "Matrix Multiply-Accumulate Operation Using mma
 * Instruction". Lane l is (group g = l / 4, thread in group t = l % 4) throughout.
 *
 * Ruling on mma: products are exact; C and the products are added in double, k ascending, and the sum is rounded once
 * to the accumulator's type (nearest even). The double sum's error is below 2^-47 of the largest term. */
#include "address.h"

enum { MMA_TRUNCATE = 0 }; /* 1: round the f32 sum toward zero instead */
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

/* ---- mma ---- */
static inline float e4m3(uint32_t v) {
  uint32_t s = (v & 0x80) << 24, m = v & 0x7f;
  float f = u2f(m << 20) * 0x1p120f; /* exact, subnormals too */
  return u2f((m == 0x7f ? 0x7fffffffu : f2u(f)) | s);
}
static inline float e5m2(uint32_t v) { return h2f((uint16_t)(v << 8)); }
static inline double from_f16(uint16_t v) { return (double)h2f(v); }
static inline double from_bf16(uint16_t v) { return (double)bf2f(v); }
static inline double from_tf32(uint32_t v) { return (double)u2f(v & 0xffffe000u); }
static inline double from_e4m3(uint8_t v) { return (double)e4m3(v); }
static inline double from_e5m2(uint8_t v) { return (double)e5m2(v); }
static inline double from_s8(uint8_t v) { return (double)(int8_t)v; }
static inline double from_u8(uint8_t v) { return (double)v; }

/* Tiles in double: A and C by rows, B by rows of k. A register of the fragments, seen as an array of E = 32 / width
 * elements a lane, holds eight runs of 4 E elements, one a group g:
 *   A register r: row g + 8 (r & 1), columns 4 E (r >> 1) ..;  B register r: column g, rows 4 E r ..;
 *   C registers 2 h, 2 h + 1 (f32): row g + 8 h, even and odd columns, so that element 2 l + e of lane l is in place. */
typedef double row8 __attribute__((vector_size(64)));
struct tiles {
  double a[16][32];
  row8 b[32];
  double c[2][64];
};

#define UNPACK(name, T, E, CONVERT)                                                                                   \
  static inline void name##_a(struct warp *w, const uint32_t *x, int regs, struct tiles *q) {                         \
    for (int r = 0; r < regs; r++) {                                                                                  \
      const T *s = ws_emu_slot(w, x[r]);                                                                              \
      for (int g = 0; g < 8; g++)                                                                                     \
        for (int j = 0; j < 4 * E; j++) q->a[g + 8 * (r & 1)][4 * E * (r >> 1) + j] = CONVERT(s[4 * E * g + j]);      \
    }                                                                                                                 \
  }                                                                                                                   \
  static inline void name##_b(struct warp *w, const uint32_t *x, int regs, struct tiles *q) {                         \
    for (int r = 0; r < regs; r++) {                                                                                  \
      T t[4 * E][8];                                                                                                  \
      transpose_##T(ws_emu_slot(w, x[r]), t[0], 4 * E);                                                               \
      for (int j = 0; j < 4 * E; j++)                                                                                 \
        for (int g = 0; g < 8; g++) q->b[4 * E * r + j][g] = CONVERT(t[j][g]);                                        \
    }                                                                                                                 \
  }
#define TRANSPOSE(T)                                                                                                  \
  static inline void transpose_##T(const T *s, T *t, int n) {                                                         \
    for (int g = 0; g < 8; g++)                                                                                       \
      for (int j = 0; j < n; j++) t[8 * j + g] = s[n * g + j];                                                        \
  }
TRANSPOSE(uint8_t)
TRANSPOSE(uint32_t)
/* 8 x 8: three interleavings of the upper with the lower half turn index bits (row, column) into (column, row). */
typedef uint16_t half8 __attribute__((vector_size(16)));
static inline void transpose_uint16_t(const uint16_t *s, uint16_t *t, int n) {
  half8 r[8], u[8];
  (void)n;
  memcpy(r, s, sizeof r);
  for (int stage = 0; stage < 3; stage++) {
    for (int i = 0; i < 4; i++) {
      u[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      u[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(r, u, sizeof r);
  }
  memcpy(t, r, sizeof r);
}
UNPACK(f16, uint16_t, 2, from_f16)
UNPACK(bf16, uint16_t, 2, from_bf16)
UNPACK(tf32, uint32_t, 1, from_tf32)
UNPACK(e4m3, uint8_t, 4, from_e4m3)
UNPACK(e5m2, uint8_t, 4, from_e5m2)
UNPACK(s8, uint8_t, 4, from_s8)
UNPACK(u8, uint8_t, 4, from_u8)

static inline void multiply(struct tiles *q, int k) {
  row8 *c = (row8 *)(void *)q->c;
  for (int i = 0; i < 16; i += 4) {
    row8 c0 = c[i], c1 = c[i + 1], c2 = c[i + 2], c3 = c[i + 3];
    for (int j = 0; j < k; j++) {
      c0 += q->a[i][j] * q->b[j];
      c1 += q->a[i + 1][j] * q->b[j];
      c2 += q->a[i + 2][j] * q->b[j];
      c3 += q->a[i + 3][j] * q->b[j];
    }
    c[i] = c0, c[i + 1] = c1, c[i + 2] = c2, c[i + 3] = c3;
  }
}

static inline float round_sum(double v) {
  float f = (float)v;
  if (MMA_TRUNCATE && fabs((double)f) > fabs(v)) f = u2f(f2u(f) - 1);
  return canon(f);
}
#define LOAD_C(name, T)                                                                                               \
  static inline void name(struct warp *w, const uint32_t *x, struct tiles *q) {                                       \
    for (int h = 0; h < 2; h++) {                                                                                     \
      const T *even = ws_emu_slot(w, x[2 * h]), *odd = ws_emu_slot(w, x[2 * h + 1]);                                  \
      for (int l = 0; l < LANES; l++) q->c[h][2 * l] = (double)even[l], q->c[h][2 * l + 1] = (double)odd[l];          \
    }                                                                                                                 \
  }
LOAD_C(load_f32, float)
LOAD_C(load_s32, int32_t)
static inline void store_f32(struct warp *w, const uint32_t *x, const struct tiles *q) {
  for (int h = 0; h < 2; h++) {
    float *even = ws_emu_slot(w, x[2 * h]), *odd = ws_emu_slot(w, x[2 * h + 1]);
    INDEPENDENT
    for (int l = 0; l < LANES; l++) even[l] = round_sum(q->c[h][2 * l]), odd[l] = round_sum(q->c[h][2 * l + 1]);
  }
}
/* With an f16 accumulator the even and odd column share a register: its halves are in place as they are. */
static inline void load_f16(struct warp *w, const uint32_t *x, struct tiles *q) {
  for (int h = 0; h < 2; h++) {
    const uint16_t *s = ws_emu_slot(w, x[h]);
    for (int i = 0; i < 2 * LANES; i++) q->c[h][i] = from_f16(s[i]);
  }
}
static inline void store_f16(struct warp *w, const uint32_t *x, const struct tiles *q) {
  for (int h = 0; h < 2; h++) {
    uint16_t *d = ws_emu_slot(w, x[h]);
    for (int i = 0; i < 2 * LANES; i++) d[i] = d2h(q->c[h][i]);
  }
}
/* Exact in double; without .satfinite the sum wraps. */
static inline int32_t round_s32(double v, bool saturate) {
  int64_t i = (int64_t)v;
  return saturate ? (i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : (int32_t)i) : (int32_t)(uint32_t)i;
}
static inline void store_s32(struct warp *w, const struct inst *in, const uint32_t *x, const struct tiles *q) {
  for (int r = 0; r < 4; r++) {
    int32_t *d = ws_emu_slot(w, x[r]);
    for (int l = 0; l < LANES; l++) d[l] = round_s32(q->c[r >> 1][2 * l + (r & 1)], in->imm);
  }
}

/* x: D, A, B, C in the order of the operands. */
#define MMA(name, K, A, AREGS, B, BREGS, ACC, ACC_REGS)                                                               \
  HANDLER(name) {                                                                                                     \
    struct tiles q;                                                                                                   \
    int ev = whole_warp(w, in);                                                                                       \
    if (ev != EV_NEXT) return ev;                                                                                     \
    const uint32_t *a = in->x + ACC_REGS, *b = a + AREGS, *c = b + BREGS;                                             \
    A##_a(w, a, AREGS, &q);                                                                                           \
    B##_b(w, b, BREGS, &q);                                                                                           \
    load_##ACC(w, c, &q);                                                                                             \
    multiply(&q, K);                                                                                                  \
    store_##ACC(w, in->x, &q);                                                                                        \
    w->stats.flops += 2 * 16 * 8 * K;                                                                                 \
    return EV_NEXT;                                                                                                   \
  }
#define store_s32(w, x, q) (store_s32)(w, in, x, q)
MMA(f32_f16_k16, 16, f16, 4, f16, 2, f32, 4)
MMA(f32_bf16_k16, 16, bf16, 4, bf16, 2, f32, 4)
MMA(f16_f16_k16, 16, f16, 4, f16, 2, f16, 2)
MMA(f32_f16_k8, 8, f16, 2, f16, 1, f32, 4)
MMA(f32_bf16_k8, 8, bf16, 2, bf16, 1, f32, 4)
MMA(f16_f16_k8, 8, f16, 2, f16, 1, f16, 2)
MMA(f32_tf32_k4, 4, tf32, 2, tf32, 1, f32, 4)
MMA(f32_tf32_k8, 8, tf32, 4, tf32, 2, f32, 4)
#define MMA8(A, B, SUFFIX)                                                                                            \
  MMA(f32_##SUFFIX##_k32, 32, A, 4, B, 2, f32, 4) MMA(f32_##SUFFIX##_k16, 16, A, 2, B, 1, f32, 4)                     \
  MMA(f16_##SUFFIX##_k32, 32, A, 4, B, 2, f16, 2) MMA(f16_##SUFFIX##_k16, 16, A, 2, B, 1, f16, 2)
MMA8(e4m3, e4m3, 44)
MMA8(e4m3, e5m2, 45)
MMA8(e5m2, e4m3, 54)
MMA8(e5m2, e5m2, 55)
#define MMAI(A, B) MMA(s32_##A##_##B##_k32, 32, A, 4, B, 2, s32, 4) MMA(s32_##A##_##B##_k16, 16, A, 2, B, 1, s32, 4)
MMAI(s8, s8)
MMAI(s8, u8)
MMAI(u8, s8)
MMAI(u8, u8)

#define M(shape, types) "mma.sync.aligned." shape ".row.col" types
#define KEYS8(sa, sb, suffix)                                                                                         \
  {M("m16n8k32", ".f32" sa sb ".f32"), f32_##suffix##_k32}, {M("m16n8k16", ".f32" sa sb ".f32"), f32_##suffix##_k16}, \
  {M("m16n8k32", ".f16" sa sb ".f16"), f16_##suffix##_k32}, {M("m16n8k16", ".f16" sa sb ".f16"), f16_##suffix##_k16}
#define KEYSI(A, B)                                                                                                   \
  {M("m16n8k32", ".s32." #A "." #B ".s32"), s32_##A##_##B##_k32}, {M("m16n8k16", ".s32." #A "." #B ".s32"), s32_##A##_##B##_k16}, \
  {M("m16n8k32", ".satfinite.s32." #A "." #B ".s32"), s32_##A##_##B##_k32},                                           \
  {M("m16n8k16", ".satfinite.s32." #A "." #B ".s32"), s32_##A##_##B##_k16}
static const struct emu_key keys[] = {
    {M("m16n8k16", ".f32.f16.f16.f32"), f32_f16_k16}, {M("m16n8k16", ".f32.bf16.bf16.f32"), f32_bf16_k16},
    {M("m16n8k16", ".f16.f16.f16.f16"), f16_f16_k16}, {M("m16n8k8", ".f32.f16.f16.f32"), f32_f16_k8},
    {M("m16n8k8", ".f32.bf16.bf16.f32"), f32_bf16_k8}, {M("m16n8k8", ".f16.f16.f16.f16"), f16_f16_k8},
    {M("m16n8k4", ".f32.tf32.tf32.f32"), f32_tf32_k4}, {M("m16n8k8", ".f32.tf32.tf32.f32"), f32_tf32_k8},
    KEYS8(".e4m3", ".e4m3", 44), KEYS8(".e4m3", ".e5m2", 45), KEYS8(".e5m2", ".e4m3", 54), KEYS8(".e5m2", ".e5m2", 55),
    KEYSI(s8, s8), KEYSI(s8, u8), KEYSI(u8, s8), KEYSI(u8, u8)};

emu_fn *LEVELLED(ws_emu_resolve_matrix)(struct bind *b) {
  const struct isa_use *u = b->u;
  const char *m = u->row->mnemonic;
  bool trans = ws_emu_has(u, ".trans");
  if (!strcmp(m, "movmatrix")) return movmatrix;
  if (!strcmp(m, "mma")) {
    b->in->imm = ws_emu_has(u, ".satfinite");
    return ws_emu_find_key(keys, sizeof keys / sizeof *keys, u->key);
  }
  b->in->u |= (uint8_t)(b->space << 4);
  b->in->n = ws_emu_has(u, ".x4") ? 4 : ws_emu_has(u, ".x2") ? 2 : 1;
  return *m == 'l' ? (trans ? ldmatrix_trans : ldmatrix) : trans ? stmatrix_trans : stmatrix;
}
