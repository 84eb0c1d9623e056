/* PTX ISA "Comparison and Selection Instructions", "Half Precision Comparison Instructions", testp. */
#include "exec.h"

/* ---- comparisons into a mask: one function a comparison and type ---- */
typedef uint32_t compare_fn(const void *a, const void *b, bool flush);

#define COMPARE(name, T, expr)                                                                                        \
  static uint32_t name(const void *pa, const void *pb, bool flush) {                                                  \
    const T *a = pa, *b = pb;                                                                                         \
    int32_t r[LANES];                                                                                                 \
    (void)flush;                                                                                                      \
    for (int i = 0; i < LANES; i++) r[i] = (expr) ? -1 : 0;                                                           \
    return mask_of(r);                                                                                                \
  }
#define COMPARE_INT(S, T)                                                                                             \
  COMPARE(eq_##S, T, a[i] == b[i]) COMPARE(ne_##S, T, a[i] != b[i]) COMPARE(lt_##S, T, a[i] < b[i])                   \
  COMPARE(le_##S, T, a[i] <= b[i]) COMPARE(gt_##S, T, a[i] > b[i]) COMPARE(ge_##S, T, a[i] >= b[i])
COMPARE_INT(u16, uint16_t)
COMPARE_INT(s16, int16_t)
COMPARE_INT(u32, uint32_t)
COMPARE_INT(s32, int32_t)
COMPARE_INT(u64, uint64_t)
COMPARE_INT(s64, int64_t)

/* Ordered comparisons are false with a NaN, the ..u forms true. */
#define COMPARE_FLOAT(S, T, L)                                                                                        \
  COMPARE(eq_##S, T, L(a[i]) == L(b[i])) COMPARE(lt_##S, T, L(a[i]) < L(b[i])) COMPARE(le_##S, T, L(a[i]) <= L(b[i])) \
  COMPARE(gt_##S, T, L(a[i]) > L(b[i])) COMPARE(ge_##S, T, L(a[i]) >= L(b[i]))                                        \
  COMPARE(ne_##S, T, L(a[i]) < L(b[i]) || L(a[i]) > L(b[i]))                                                          \
  COMPARE(num_##S, T, L(a[i]) == L(a[i]) && L(b[i]) == L(b[i]))
static inline float as_is(float f) { return f; }
static inline double as_is_d(double f) { return f; }
static inline float h_ftz(uint16_t h) { return h2f(h & 0x7c00u ? h : h & 0x8000u); }
#define LOAD_F(x) (flush ? ftz(x) : as_is(x))
#define LOAD_H(x) (flush ? h_ftz(x) : h2f(x))
COMPARE_FLOAT(f32, float, LOAD_F)
COMPARE_FLOAT(f64, double, as_is_d)
COMPARE_FLOAT(f16, uint16_t, LOAD_H)
COMPARE_FLOAT(bf16, uint16_t, bf2f)

#define ROWS_INT(S) {eq_##S, ne_##S, lt_##S, le_##S, gt_##S, ge_##S, NULL}
#define ROWS_FLOAT(S) {eq_##S, ne_##S, lt_##S, le_##S, gt_##S, ge_##S, num_##S}
enum { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_NUM };
static compare_fn *const compare[10][7] = {ROWS_INT(u16), ROWS_INT(s16), ROWS_INT(u32), ROWS_INT(s32), ROWS_INT(u64),
                                           ROWS_INT(s64), ROWS_FLOAT(f32), ROWS_FLOAT(f64), ROWS_FLOAT(f16), ROWS_FLOAT(bf16)};

/* in->imm: row * 8 + column. in->u: how the result is used. */
enum { U_INVERT = 4, U_FLUSH = 8, U_AND = 16, U_OR = 32, U_XOR = 64 };

static inline uint32_t combine(const struct inst *in, uint32_t p, uint32_t q) {
  return in->u & U_AND ? p & q : in->u & U_OR ? p | q : in->u & U_XOR ? p ^ q : p;
}
static inline void put_pred(struct warp *w, uint32_t slot, uint32_t v) {
  if (slot == NO_SLOT) return;
  uint32_t *p = ws_emu_slot(w, slot);
  *p = (*p & ~w->mask) | (v & w->mask);
}
static inline uint32_t compared(struct warp *w, const struct inst *in, int a, int b) {
  uint32_t p = compare[in->imm >> 3][in->imm & 7](SLOT(void, a), SLOT(void, b), in->u & U_FLUSH);
  return in->u & U_INVERT ? ~p : p;
}

HANDLER(setp) { /* p|q, a, b {, c}: p = (a cmp b) op c, q = !(a cmp b) op c */
  uint32_t t = compared(w, in, 2, 3), c = in->o[4] == NO_SLOT ? 0 : SRC_PRED(4);
  put_pred(w, in->o[0], combine(in, t, c));
  put_pred(w, in->o[1], combine(in, ~t, c));
  return EV_NEXT;
}

/* The halves of packed operands side by side. */
static void unpack(const uint32_t *v, uint16_t lo[LANES], uint16_t hi[LANES]) {
  for (int i = 0; i < LANES; i++) lo[i] = (uint16_t)v[i], hi[i] = (uint16_t)(v[i] >> 16);
}
static void compared_x2(struct warp *w, const struct inst *in, int a, int b, uint32_t t[2]) {
  uint16_t x[2][LANES], y[2][LANES];
  unpack(SLOT(uint32_t, a), x[0], x[1]);
  unpack(SLOT(uint32_t, b), y[0], y[1]);
  for (int k = 0; k < 2; k++) {
    t[k] = compare[in->imm >> 3][in->imm & 7](x[k], y[k], in->u & U_FLUSH);
    if (in->u & U_INVERT) t[k] = ~t[k];
  }
}
HANDLER(setp_x2) { /* p: the low halves, q: the high halves */
  uint32_t t[2], c = in->o[4] == NO_SLOT ? 0 : SRC_PRED(4);
  compared_x2(w, in, 2, 3, t);
  put_pred(w, in->o[0], combine(in, t[0], c));
  put_pred(w, in->o[1], combine(in, t[1], c));
  return EV_NEXT;
}

/* set: 1.0 or all ones, by the destination's type (in->imm2: the value for true, in->w its bytes). */
HANDLER(set) {
  uint32_t t = combine(in, compared(w, in, 1, 2), in->o[3] == NO_SLOT ? 0 : SRC_PRED(3));
  uint32_t *d4 = SLOT(uint32_t, 0);
  uint16_t *d2 = SLOT(uint16_t, 0);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint32_t v = t >> i & 1 ? (uint32_t)in->imm2 : 0;
    if (in->w == 2) d2[i] = (uint16_t)v;
    else d4[i] = v;
  }
  return EV_NEXT;
}
HANDLER(set_x2) {
  uint32_t t[2], *d = SLOT(uint32_t, 0), c = in->o[3] == NO_SLOT ? 0 : SRC_PRED(3);
  compared_x2(w, in, 1, 2, t);
  for (int k = 0; k < 2; k++) t[k] = combine(in, t[k], c);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    d[i] = (t[0] >> i & 1 ? (uint32_t)in->imm2 : 0) | (t[1] >> i & 1 ? (uint32_t)in->imm2 << 16 : 0);
  }
  return EV_NEXT;
}

/* ---- selection ---- */
#define SELP(N)                                                                                                       \
  HANDLER(selp_##N) {                                                                                                 \
    uint##N##_t *d = SLOT(uint##N##_t, 0);                                                                            \
    const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2);                                           \
    uint32_t p = SRC_PRED(3);                                                                                         \
    EACH_LANE(d[i] = p >> i & 1 ? a[i] : b[i]);                                                                       \
  }                                                                                                                   \
  HANDLER(slct_s_##N) {                                                                                               \
    uint##N##_t *d = SLOT(uint##N##_t, 0);                                                                            \
    const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2);                                           \
    const int32_t *c = SLOT(int32_t, 3);                                                                              \
    EACH_LANE(d[i] = c[i] >= 0 ? a[i] : b[i]);                                                                        \
  }                                                                                                                   \
  HANDLER(slct_f_##N) { /* NaN and -0 with .ftz or without: the comparison decides */                                 \
    uint##N##_t *d = SLOT(uint##N##_t, 0);                                                                            \
    const uint##N##_t *a = SLOT(uint##N##_t, 1), *b = SLOT(uint##N##_t, 2);                                           \
    const float *c = SLOT(float, 3);                                                                                  \
    EACH_LANE(d[i] = (in->u ? ftz(c[i]) : c[i]) >= 0.0f ? a[i] : b[i]);                                               \
  }
SELP(16)
SELP(32)
SELP(64)

/* ---- testp ---- */
enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL };
static bool test(int cls, int what) {
  switch (what) {
    case TEST_FINITE: return cls == FP_NORMAL || cls == FP_SUBNORMAL || cls == FP_ZERO;
    case TEST_INFINITE: return cls == FP_INFINITE;
    case TEST_NUMBER: return cls != FP_NAN;
    case TEST_NAN: return cls == FP_NAN;
    case TEST_NORMAL: return cls == FP_NORMAL || cls == FP_ZERO; /* PTX ISA "testp": zeros count as normal */
    default: return cls == FP_SUBNORMAL;
  }
}
HANDLER(testp) {
  uint32_t r = 0;
  for (int i = 0; i < LANES; i++) {
    int cls = in->w == 8 ? fpclassify(SLOT(double, 1)[i]) : fpclassify(SLOT(float, 1)[i]);
    r |= (uint32_t)test(cls, (int)in->imm) << i;
  }
  put_pred(w, in->o[0], r);
  return EV_NEXT;
}

/* ---- binding ---- */
static int type_row(uint8_t t) {
  switch (t) {
    case T_U16: case T_B16: return 0;
    case T_S16: return 1;
    case T_U32: case T_B32: return 2;
    case T_S32: return 3;
    case T_U64: case T_B64: return 4;
    case T_S64: return 5;
    case T_F32: return 6;
    case T_F64: return 7;
    case T_F16: case T_F16X2: return 8;
    default: return 9;
  }
}
static bool bind_compare(struct bind *b, uint8_t type) {
  static const struct { const char *mod; uint8_t column; bool invert, is_unsigned; } ops[] = {
      {".eq", C_EQ, 0, 0}, {".ne", C_NE, 0, 0}, {".lt", C_LT, 0, 0}, {".le", C_LE, 0, 0}, {".gt", C_GT, 0, 0}, {".ge", C_GE, 0, 0},
      {".lo", C_LT, 0, 1}, {".ls", C_LE, 0, 1}, {".hi", C_GT, 0, 1}, {".hs", C_GE, 0, 1}, {".equ", C_NE, 1, 0}, {".neu", C_EQ, 1, 0},
      {".ltu", C_GE, 1, 0}, {".leu", C_GT, 1, 0}, {".gtu", C_LE, 1, 0}, {".geu", C_LT, 1, 0}, {".num", C_NUM, 0, 0}, {".nan", C_NUM, 1, 0}};
  const struct isa_use *u = b->u;
  char cls = ws_emu_types[type].cls;
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
    if (strcmp(u->mods[0], ops[k].mod)) continue;
    if (ops[k].is_unsigned && cls != 'u') return false;
    if (cls == 'b' && ops[k].column != C_EQ && ops[k].column != C_NE) return false;
    b->in->imm = type_row(type) * 8 + ops[k].column;
    b->in->u = (uint8_t)((ops[k].invert ? U_INVERT : 0) | (ws_emu_has(u, ".ftz") ? U_FLUSH : 0) | (ws_emu_has(u, ".and") ? U_AND : 0) |
                         (ws_emu_has(u, ".or") ? U_OR : 0) | (ws_emu_has(u, ".xor") ? U_XOR : 0));
    return true;
  }
  return false;
}

static emu_fn *resolve_set(struct bind *b) {
  uint8_t d = b->u->type[0], s = b->u->type[1];
  if (!bind_compare(b, s)) return NULL;
  b->in->w = (uint8_t)(ws_emu_types[d].bits / 8);
  b->in->imm2 = d == T_F32 ? 0x3f800000 : d == T_F16 || d == T_F16X2 ? 0x3c00 : d == T_BF16 || d == T_BF16X2 ? 0x3f80 : 0xffffffff;
  if (s != T_F16X2 && s != T_BF16X2) return set;
  b->in->imm2 &= 0xffff; /* half by half */
  return set_x2;
}

static emu_fn *by_width(uint8_t bits, emu_fn *f16, emu_fn *f32, emu_fn *f64) { return bits == 16 ? f16 : bits == 32 ? f32 : f64; }

emu_fn *LEVELLED(ws_emu_resolve_cmp)(struct bind *b) {
  const struct isa_use *u = b->u;
  const char *m = u->row->mnemonic;
  uint8_t bits = ws_emu_types[u->type[0]].bits;
  if (!strcmp(m, "selp")) return by_width(bits, selp_16, selp_32, selp_64);
  if (!strcmp(m, "slct")) {
    b->in->u = ws_emu_has(u, ".ftz");
    return u->type[1] == T_S32 ? by_width(bits, slct_s_16, slct_s_32, slct_s_64) : by_width(bits, slct_f_16, slct_f_32, slct_f_64);
  }
  if (!strcmp(m, "set")) return resolve_set(b);
  if (!strcmp(m, "testp")) {
    static const char *const tests[] = {".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"};
    for (int i = 0; i < 6; i++)
      if (ws_emu_has(u, tests[i])) b->in->imm = i;
    b->in->w = (uint8_t)(bits / 8);
    return testp;
  }
  if (!bind_compare(b, u->type[0])) return NULL;
  return u->type[0] == T_F16X2 || u->type[0] == T_BF16X2 ? setp_x2 : setp;
}
