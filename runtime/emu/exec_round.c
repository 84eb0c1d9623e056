/* Arithmetic that rounds toward zero, down or up: the host's rounding mode is changed around the lane loop. This file is
 * compiled with -frounding-math, so that nothing moves across the change. */
#include "exec.h"
#include <fenv.h>

enum { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT };
enum { R_FTZ = 1, R_SAT = 2, R_BF16 = 4 };

static int host_mode(int64_t mode) { return mode == 0 ? FE_TOWARDZERO : mode == 1 ? FE_DOWNWARD : FE_UPWARD; }

#define ROUNDED(name, T, N_ELEMENTS, PRE, POST, FMA, SQRT)                                                            \
  HANDLER(name) {                                                                                                     \
    T *d = SLOT(T, 0);                                                                                                \
    const T *a = SLOT(T, 1), *b = SLOT(T, in->o[2] == NO_SLOT ? 1 : 2), *c = SLOT(T, in->o[3] == NO_SLOT ? 1 : 3);    \
    int old = fegetround();                                                                                           \
    fesetround(host_mode(in->imm));                                                                                   \
    for (int i = 0; i < N_ELEMENTS * LANES; i++) {                                                                    \
      if (!(w->mask >> (i / N_ELEMENTS) & 1)) continue;                                                               \
      volatile T x = PRE(a[i]), y = PRE(b[i]), z = PRE(c[i]), r;                                                      \
      switch (in->imm2) {                                                                                             \
        case OP_ADD: r = x + y; break;                                                                                \
        case OP_SUB: r = x - y; break;                                                                                \
        case OP_MUL: r = x * y; break;                                                                                \
        case OP_FMA: r = FMA(x, y, z); break;                                                                         \
        case OP_DIV: r = x / y; break;                                                                                \
        case OP_RCP: r = (T)1 / x; break;                                                                             \
        default: r = SQRT(x); break;                                                                                  \
      }                                                                                                               \
      d[i] = POST(r);                                                                                                 \
    }                                                                                                                 \
    fesetround(old);                                                                                                  \
    return EV_NEXT;                                                                                                   \
  }
#define PLAIN(x) (x)
static inline float post(float r, unsigned u) {
  r = u & R_SAT ? sat(r) : canon(r);
  return u & R_FTZ ? ftz(r) : r;
}
#define PRE_F(x) (in->u & R_FTZ ? ftz(x) : (x))
#define POST_F(x) post(x, in->u)
ROUNDED(rounded_f, float, 1, PRE_F, POST_F, fmaf, sqrtf)
ROUNDED(rounded_2, float, 2, PRE_F, POST_F, fmaf, sqrtf)
ROUNDED(rounded_d, double, 1, PLAIN, PLAIN, fma, sqrt)

/* Mixed precision: a and, of fma, b are 16 bits wide (PTX ISA "Mixed Precision Floating Point Instructions"). */
HANDLER(rounded_mixed) {
  float *d = SLOT(float, 0);
  const uint16_t *a = SLOT(uint16_t, 1), *b = in->imm2 == OP_FMA ? SLOT(uint16_t, 2) : a;
  const float *c = SLOT(float, in->imm2 == OP_FMA ? 3 : 2);
  bool bf = in->u & R_BF16;
  int old = fegetround();
  fesetround(host_mode(in->imm));
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    volatile float x = bf ? bf2f(a[i]) : h2f(a[i]), y = bf ? bf2f(b[i]) : h2f(b[i]), z = c[i], r;
    r = in->imm2 == OP_FMA ? fmaf(x, y, z) : in->imm2 == OP_SUB ? x - z : x + z;
    d[i] = post(r, in->u);
  }
  fesetround(old);
  return EV_NEXT;
}

emu_fn *LEVELLED(ws_emu_resolve_directed)(struct bind *b) {
  static const char *const ops[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};
  const struct isa_use *u = b->u;
  int op = -1;
  for (int i = 0; i < 7; i++)
    if (!strcmp(u->row->mnemonic, ops[i])) op = i;
  if (!strcmp(u->row->mnemonic, "mad")) op = OP_FMA;
  int mode = ws_emu_has(u, ".rz") ? 0 : ws_emu_has(u, ".rm") ? 1 : ws_emu_has(u, ".rp") ? 2 : -1;
  if (op < 0 || mode < 0) return NULL;
  b->in->imm = mode;
  b->in->imm2 = op;
  b->in->u = (uint8_t)((ws_emu_has(u, ".ftz") ? R_FTZ : 0) | (ws_emu_has(u, ".sat") ? R_SAT : 0));
  if (u->ntypes == 2) {
    b->in->u |= u->type[1] == T_BF16 ? R_BF16 : 0;
    return rounded_mixed;
  }
  return u->type[0] == T_F64 ? rounded_d : u->type[0] == T_F32X2 ? rounded_2 : rounded_f;
}
