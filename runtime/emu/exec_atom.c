/* PTX ISA "Parallel Synchronization and Communication Instructions": atom, red. Lanes go one after the other in lane
 * order; each operation is atomic between worker threads too. */
#include "address.h"

enum { A_CAS, A_EXCH, A_AND, A_OR, A_XOR, A_ADD, A_MIN, A_MAX, A_INC, A_DEC };
/* in->u: bits 0..1 address width, 4..6 space; in->imm2: operation, type, element bytes, vector length, result? */
#define SPACE(in) ((enum ptx_space)((in)->u >> 4 & 7))
#define OP(in) ((int)((in)->imm2 & 0xff))
#define TYPE(in) ((uint8_t)((in)->imm2 >> 8))
#define BYTES(in) ((uint32_t)((in)->imm2 >> 16 & 0xff))
#define RESULT(in) ((in)->imm2 >> 24 & 1)
/* An exchange may well be the first write. */
#define KIND(in) (ACCESS_WRITE | ACCESS_STRONG | (OP(in) == A_EXCH ? 0 : ACCESS_UPDATE))
enum { ACQUIRES = 1 << 25, RELEASES = 1 << 26 };

static uint64_t combine_int(int op, uint64_t old, uint64_t b, uint8_t type) {
  uint32_t bits = ws_emu_types[type].bits, shift = 64 - bits;
  bool less = ws_emu_types[type].cls == 's' ? (int64_t)(old << shift) < (int64_t)(b << shift) : old < b;
  switch (op) {
    case A_EXCH: return b;
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    case A_ADD: return old + b;
    case A_MIN: return less ? old : b;
    case A_MAX: return less ? b : old;
    case A_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
  }
}

/* min and max of a NaN and a number give the number, -0 is less than +0 (PTX ISA "min", "max"). */
static uint16_t extreme_half(int op, uint16_t a, uint16_t b, bool bf) {
  float x = bf ? bf2f(a) : h2f(a), y = bf ? bf2f(b) : h2f(b);
  if (x != x && y != y) return 0x7fff;
  if (x != x || y != y) return x != x ? b : a;
  bool less = x < y || (x == y && a > b); /* equal and different: zeros */
  return less == (op == A_MIN) ? a : b;
}
static uint64_t extreme_float(int op, uint64_t old, uint64_t b, uint8_t type) {
  bool bf = type == T_BF16 || type == T_BF16X2;
  uint64_t r = extreme_half(op, (uint16_t)old, (uint16_t)b, bf);
  return ws_emu_types[type].bits == 16 ? r : r | (uint64_t)extreme_half(op, (uint16_t)(old >> 16), (uint16_t)(b >> 16), bf) << 16;
}

/* .f32 additions in global memory flush subnormals, those in shared memory do not. */
static uint64_t add_float(uint64_t old, uint64_t b, uint8_t type, bool flush) {
  switch (type) {
    case T_F32: {
      float x = u2f((uint32_t)old), y = u2f((uint32_t)b);
      return f2u(flush ? ftz(canon(ftz(x) + ftz(y))) : canon(x + y));
    }
    case T_F64: return d2u(u2d(old) + u2d(b));
    case T_F16: return f2h(h2f((uint16_t)old) + h2f((uint16_t)b));
    case T_BF16: return f2bf(bf2f((uint16_t)old) + bf2f((uint16_t)b));
    case T_F16X2:
      return f2h(h2f((uint16_t)old) + h2f((uint16_t)b)) | (uint64_t)f2h(h2f((uint16_t)(old >> 16)) + h2f((uint16_t)(b >> 16))) << 16;
    default:
      return f2bf(bf2f((uint16_t)old) + bf2f((uint16_t)b)) | (uint64_t)f2bf(bf2f((uint16_t)(old >> 16)) + bf2f((uint16_t)(b >> 16))) << 16;
  }
}

/* One element. b: operand (for cas the comparison), c: cas's new value. Returns the old value. */
#define UPDATE(T)                                                                                                     \
  do {                                                                                                                \
    T *q = (T *)p, old = __atomic_load_n(q, __ATOMIC_SEQ_CST), next;                                                  \
    do {                                                                                                              \
      if (OP(in) == A_CAS) next = old == (T)b ? (T)c : old;                                                           \
      else if (ws_emu_types[TYPE(in)].cls == 'f' && OP(in) == A_ADD) next = (T)add_float(old, b, TYPE(in), flush);    \
      else if (ws_emu_types[TYPE(in)].cls == 'f' && OP(in) != A_EXCH) next = (T)extreme_float(OP(in), old, b, TYPE(in)); \
      else next = (T)combine_int(OP(in), old, (T)b, TYPE(in));                                                        \
    } while (!__atomic_compare_exchange_n(q, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));                 \
    return old;                                                                                                       \
  } while (0)
static uint64_t update(const struct inst *in, void *p, uint64_t b, uint64_t c, bool flush) {
  switch (BYTES(in)) {
    case 2: UPDATE(uint16_t);
    case 4: UPDATE(uint32_t);
    default: UPDATE(uint64_t);
  }
}

static inline uint64_t lane_value(const struct warp *w, uint32_t slot, uint32_t bytes, int i) {
  uint64_t v = 0;
  memcpy(&v, w->regs + slot + (uint32_t)i * bytes, bytes);
  return v;
}

static void order(struct warp *w, const struct inst *in) {
  ws_emu_race_observed(w, in->imm2 & ACQUIRES);
  ws_emu_race_published(w, in->imm2 & RELEASES);
}

/* Scalar: [d,] [a], b {, c}. */
HANDLER(atomic) {
  struct access p;
  int at = RESULT(in) ? 1 : 0;
  uint32_t bytes = BYTES(in);
  int ev = access_lanes(w, in, at, SPACE(in), bytes, KIND(in), &p);
  if (ev != EV_NEXT) return ev;
  order(w, in);
  count_access(w, SPACE(in), bytes, ACCESS_WRITE);
  w->cta->polls++;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    uint64_t b = lane_value(w, in->o[at + 1], bytes, i), c = OP(in) == A_CAS ? lane_value(w, in->o[at + 2], bytes, i) : 0;
    bool flush = p.p[i] < w->cta->shared || p.p[i] >= w->cta->shared + w->cta->shared_size;
    uint64_t old = update(in, p.p[i], b, c, flush);
    if (RESULT(in)) memcpy(w->regs + in->o[0] + (uint32_t)i * bytes, &old, bytes);
  }
  return EV_NEXT;
}

/* 16 bytes, under a lock that all worker threads share: the one piece of state of these handlers. */
static int lock_128;
HANDLER(atomic_128) {
  struct access p;
  int ev = access_lanes(w, in, 1, SPACE(in), 16, KIND(in), &p);
  if (ev != EV_NEXT) return ev;
  order(w, in);
  count_access(w, SPACE(in), 16, ACCESS_WRITE);
  w->cta->polls++;
  for (uint32_t m = w->mask; m; m &= m - 1) {
    uint32_t i = (uint32_t)__builtin_ctz(m);
    const uint8_t *b = w->regs + in->o[2] + i * 16, *c = OP(in) == A_CAS ? w->regs + in->o[3] + i * 16 : b;
    uint8_t old[16];
    while (__atomic_exchange_n(&lock_128, 1, __ATOMIC_ACQUIRE)) continue;
    memcpy(old, p.p[i], 16);
    if (OP(in) == A_EXCH || !memcmp(old, b, 16)) memcpy(p.p[i], c, 16);
    __atomic_store_n(&lock_128, 0, __ATOMIC_RELEASE);
    memcpy(w->regs + in->o[0] + i * 16, old, 16);
  }
  return EV_NEXT;
}

/* Vector: every element is an atomic operation of its own. x: results (atom), then operands. */
HANDLER(atomic_vector) {
  struct access p;
  uint32_t bytes = BYTES(in), n = in->n;
  int ev = access_lanes(w, in, 0, SPACE(in), bytes * n, KIND(in), &p);
  if (ev != EV_NEXT) return ev;
  order(w, in);
  count_access(w, SPACE(in), bytes * n, ACCESS_WRITE);
  w->cta->polls++;
  const uint32_t *b = in->x + (RESULT(in) ? n : 0);
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    for (uint32_t k = 0; k < n; k++) {
      uint64_t old = update(in, p.p[i] + k * bytes, lane_value(w, b[k], bytes, i), 0, true);
      if (RESULT(in)) memcpy(w->regs + in->x[k] + (uint32_t)i * bytes, &old, bytes);
    }
  }
  return EV_NEXT;
}

emu_fn *LEVELLED(ws_emu_resolve_atom)(struct bind *b) {
  static const char *const ops[] = {".cas", ".exch", ".and", ".or", ".xor", ".add", ".min", ".max", ".inc", ".dec"};
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  int64_t op = 0;
  for (int i = 0; i < 10; i++)
    if (ws_emu_has(u, ops[i])) op = i;
  uint8_t t = u->type[0];
  in->u |= (uint8_t)(b->space << 4);
  in->imm2 = op | (int64_t)t << 8 | (int64_t)(ws_emu_types[t].bits / 8) << 16 | (int64_t)(u->row->mnemonic[0] == 'a') << 24;
  if (ws_emu_has(u, ".acquire") || ws_emu_has(u, ".acq_rel")) in->imm2 |= ACQUIRES;
  if (ws_emu_has(u, ".release") || ws_emu_has(u, ".acq_rel")) in->imm2 |= RELEASES;
  if (t == T_B128) return atomic_128;
  if (u->vec == 1) return atomic;
  return b->space == SP_SHARED || ws_emu_types[t].bits / 8 * u->vec > 16 ? NULL : atomic_vector;
}
