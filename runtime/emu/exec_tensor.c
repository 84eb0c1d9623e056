/* PTX ISA "TensorCore 5th Generation Family Instructions": allocation, tcgen05.ld and .st, waits, fences, commits. */
#include "address.h"
#include "hazard.h"
#include "tensor.h"
#include "trace.h"
#include <stdlib.h>

/* in->u: bits 0..1 widths of addresses, PAIR; of ld and st: PACK and the shape << 4; in->n: registers; in->imm2: the offset of
 * .16x32bx2's second half; in->w of ld.red: RED_MAX .. */
enum { PAIR = 4, PACK = 8 };
enum shape { S_32X32, S_16X64, S_16X128, S_16X256, S_16X32X2 };
enum { RED_MAX = 1, RED_ABS = 2, RED_NAN = 4, RED_F32 = 8, RED_S32 = 16 };
#define SHAPE(in) ((enum shape)((in)->u >> 4))
#define BAD(lane, ...) ws_emu_fault(w, in, lane, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

/* ---- allocation ---- */
static int uniform(struct warp *w, const struct inst *in, int slot) {
  const uint32_t *v = SLOT(uint32_t, slot);
  int first = __builtin_ctz(w->mask);
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (v[__builtin_ctz(m)] != v[first]) return BAD(__builtin_ctz(m), "names 0x%x, but thread %d of its warp 0x%x", v[__builtin_ctz(m)], first, v[first]);
  return EV_NEXT;
}
static int allocate(struct warp *w, const struct inst *in, enum ptx_space space) {
  uint64_t a[LANES];
  int lane = __builtin_ctz(w->mask);
  uint32_t address, offset;
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a);
  if (uniform(w, in, 1) != EV_NEXT || !own_shared(WHO(w, in, lane), a[lane], space, 4, &address)) return EV_FAULT;
  if (!ws_emu_peer(WHO(w, in, lane), address, 4, true, &offset)) return EV_FAULT;
  TRACE(w, in, .kind = WSEMU_TENSOR_ALLOC, .object = WSEMU_NO_OBJECT, .count = SLOT(uint32_t, 1)[lane]);
  return ws_emu_tc_alloc(w, in, offset, SLOT(uint32_t, 1)[lane], in->u & PAIR);
}
HANDLER(alloc_shared) { return allocate(w, in, SP_SHARED); }
HANDLER(alloc_generic) { return allocate(w, in, SP_GENERIC); }
HANDLER(dealloc) {
  int lane = __builtin_ctz(w->mask);
  if (uniform(w, in, 0) != EV_NEXT || uniform(w, in, 1) != EV_NEXT) return EV_FAULT;
  TRACE(w, in, .kind = WSEMU_TENSOR_FREE, .object = WSEMU_NO_OBJECT, .count = SLOT(uint32_t, 1)[lane]);
  return ws_emu_tc_dealloc(w, in, SLOT(uint32_t, 0)[lane], SLOT(uint32_t, 1)[lane], in->u & PAIR);
}
HANDLER(relinquish) {
  TRACE(w, in, NOTHING(TENSOR_RELINQUISH));
  return ws_emu_tc_relinquish(w, in);
}

/* ---- where a register's 32 values lie: PTX ISA "Matrix fragments for tcgen05.{ld,st}" ---- */
static inline void place(enum shape s, uint32_t r, uint32_t t, uint32_t half, uint32_t *lane, uint32_t *col) {
  switch (s) {
    case S_16X64: *lane = t / 4 + 8 * (t & 1), *col = 2 * r + (t >> 1 & 1); break;
    case S_16X128: *lane = t / 4 + 8 * (r & 1), *col = 4 * (r >> 1) + (t & 3); break;
    case S_16X256: *lane = t / 4 + 8 * (r >> 1 & 1), *col = 8 * (r >> 2) + 2 * (t & 3) + (r & 1); break;
    case S_16X32X2: *lane = t & 15, *col = r + (t >> 4) * half; break;
    default: *lane = t, *col = r; break;
  }
}
/* Columns from the first on that n registers span. */
static uint32_t span(const struct inst *in) {
  static const uint8_t per_4[] = {[S_32X32] = 4, [S_16X64] = 8, [S_16X128] = 8, [S_16X256] = 8, [S_16X32X2] = 4};
  uint32_t n = in->n * per_4[SHAPE(in)] / 4u + (SHAPE(in) == S_16X32X2 ? (uint32_t)in->imm2 : 0);
  return in->u & PACK ? 2 * n : n;
}

static void load_register(const struct tensor *t, const struct inst *in, const struct tc_move *m, uint32_t r, uint32_t *d) {
  if (SHAPE(in) == S_32X32 && !(in->u & PACK)) {
    memcpy(d, &t->word[m->column + r][m->lane], LANES * sizeof *d);
    return;
  }
  for (uint32_t i = 0; i < LANES; i++) {
    uint32_t lane, col;
    place(SHAPE(in), r, i, (uint32_t)in->imm2, &lane, &col);
    lane += m->lane;
    if (in->u & PACK) d[i] = (t->word[m->column + 2 * col][lane] & 0xffff) | t->word[m->column + 2 * col + 1][lane] << 16;
    else d[i] = t->word[m->column + col][lane];
  }
}
static void store_register(struct tensor *t, const struct inst *in, const struct tc_move *m, uint32_t r, const uint32_t *s) {
  if (SHAPE(in) == S_32X32 && !(in->u & PACK)) {
    memcpy(&t->word[m->column + r][m->lane], s, LANES * sizeof *s);
    return;
  }
  for (uint32_t i = 0; i < LANES; i++) {
    uint32_t lane, col;
    place(SHAPE(in), r, i, (uint32_t)in->imm2, &lane, &col);
    lane += m->lane;
    if (in->u & PACK) {
      t->word[m->column + 2 * col][lane] = s[i] & 0xffff;
      t->word[m->column + 2 * col + 1][lane] = s[i] >> 16;
    } else {
      t->word[m->column + col][lane] = s[i];
    }
  }
}

/* ld.red: over the thread's own registers. */
static uint32_t reduced(uint32_t a, uint32_t b, uint8_t how) {
  if (!(how & RED_F32)) {
    bool less = how & RED_S32 ? (int32_t)a < (int32_t)b : a < b;
    return less == !(how & RED_MAX) ? a : b;
  }
  float x = u2f(a), y = u2f(b);
  if (x != x || y != y) return how & RED_NAN ? 0x7fffffffu : x == x ? a : y == y ? b : 0x7fffffffu;
  if (x == y) return (how & RED_MAX) ? a & b : a | b; /* +0 is more than -0 */
  return (x < y) == !(how & RED_MAX) ? a : b;
}
static void reduce(struct warp *w, const struct inst *in) {
  uint32_t *d = SLOT(uint32_t, 0), clear = in->w & RED_ABS ? 0x7fffffffu : UINT32_MAX;
  for (uint32_t r = 0; r < in->n; r++) {
    const uint32_t *s = ws_emu_slot(w, in->x[r]);
    for (uint32_t i = 0; i < LANES; i++) d[i] = r ? reduced(d[i], s[i] & clear, in->w) : s[i] & clear;
  }
}

/* ---- moves ---- */
static void run_load(struct warp *w, const struct tc_move *m) {
  for (uint32_t r = 0; r < m->in->n; r++) load_register(w->cta->tensor, m->in, m, r, ws_emu_slot(w, m->in->x[r]));
  if (m->in->w) reduce(w, m->in);
}
static void run_store(struct warp *w, const struct tc_move *m) {
  for (uint32_t r = 0; r < m->in->n; r++) store_register(w->cta->tensor, m->in, m, r, m->data + r * LANES);
}

/* The address, checked: the same in all threads, of the warp's own quarter of the lanes, columns that are allocated. */
static int begin(struct warp *w, const struct inst *in, int slot, const char *what, struct tc_move *m) {
  uint64_t a[LANES];
  lane_addresses(w, in->o[slot], in->u & A1_WIDE, in->imm, a);
  for (int i = 1; i < LANES; i++)
    if (a[i] != a[0]) return BAD(i, "gives the address 0x%08x, but thread 0 of its warp 0x%08x", (uint32_t)a[i], (uint32_t)a[0]);
  uint32_t address = (uint32_t)a[0], quarter = w->index % 4 * 32;
  m->in = in;
  m->lane = address >> 16;
  m->column = address & 0xffff;
  m->columns = span(in);
  if (ws_emu_tc_check(WHO(w, in, 0), w->cta, address, m->columns, what) != EV_NEXT) return EV_FAULT;
  if (m->lane == quarter || (SHAPE(in) != S_32X32 && m->lane == quarter + 16)) return EV_NEXT;
  return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s from lane %u of tensor memory on (address 0x%08x): warp %u has lanes %u..%u%s", what, m->lane,
                      address, w->index, quarter, quarter + 31, SHAPE(in) == S_32X32 ? "" : ", in halves of 16");
}

HANDLER(ld) {
  struct tc_move *m = malloc(sizeof *m);
  if (!m) return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its loads");
  if (begin(w, in, in->w ? 1 : 0, "reads", m) != EV_NEXT) {
    free(m);
    return EV_FAULT;
  }
  m->run = run_load;
  m->store = false;
  for (uint32_t r = 0; r < (uint32_t)in->n + (in->w != 0); r++) {
    uint32_t *d = ws_emu_slot(w, r < in->n ? in->x[r] : in->o[0]);
    for (uint32_t i = 0; i < LANES; i++) d[i] = TC_POISON;
  }
  ws_emu_ld_enter(w, in);
  TRACE(w, in, NOTHING(TENSOR_LD), .amount = in->n * 4u * LANES);
  return ws_emu_tc_move(w, m);
}
HANDLER(st) {
  struct tc_move *m = malloc(sizeof *m + in->n * LANES * sizeof *m->data);
  if (!m) return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its stores");
  if (begin(w, in, 0, "writes", m) != EV_NEXT) {
    free(m);
    return EV_FAULT;
  }
  m->run = run_store;
  m->store = true;
  for (uint32_t r = 0; r < in->n; r++) memcpy(m->data + r * LANES, ws_emu_slot(w, in->x[r]), LANES * sizeof *m->data);
  TRACE(w, in, NOTHING(TENSOR_ST), .amount = in->n * 4u * LANES);
  return ws_emu_tc_move(w, m);
}
HANDLER(wait_ld) {
  TRACE(w, in, NOTHING(TENSOR_WAIT_LD));
  return ws_emu_tc_wait(w, false);
}
HANDLER(wait_st) {
  TRACE(w, in, NOTHING(TENSOR_WAIT_ST));
  return ws_emu_tc_wait(w, true);
}
HANDLER(fence_before) {
  ws_emu_tc_fence(w, false);
  TRACE(w, in, NOTHING(TENSOR_BEFORE));
  return EV_NEXT;
}
HANDLER(fence_after) {
  ws_emu_tc_fence(w, true);
  TRACE(w, in, NOTHING(TENSOR_AFTER));
  return EV_NEXT;
}

/* ---- commit: o[0] the mbarrier, o[1] a mask of CTAs ---- */
static int commit_one(struct who who, uint64_t a, enum ptx_space space) {
  const struct inst *in = who.in;
  const struct cluster *cl = who.w->cta->cluster;
  struct mbar_ref ref;
  uint32_t address;
  if (!any_shared(who, a, space, 8, &address) || !ws_emu_mbar_at(who, address, &ref)) return EV_FAULT;
  if (in->o[1] == NO_SLOT && ws_emu_race_mbar_signalled(who, ref) != EV_NEXT) return EV_FAULT;
  struct tc_op op = {.who = who, .pair = in->u & PAIR, .mbar = ref.offset, .targets = 1u << ref.cta->rank};
  if (in->o[1] != NO_SLOT) {
    op.targets = ((const uint16_t *)ws_emu_slot(who.w, in->o[1]))[who.lane];
    if (!op.targets || op.targets >> cl->n)
      return WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "has the CTA mask 0x%x in a cluster of %u CTAs", op.targets, cl->n);
    for (uint32_t m = op.targets; m; m &= m - 1)
      if (!ws_emu_mbar_get(who, (struct mbar_ref){cl->cta[__builtin_ctz(m)], ref.offset}) ||
          ws_emu_race_mbar_signalled(who, (struct mbar_ref){cl->cta[__builtin_ctz(m)], ref.offset}) != EV_NEXT)
        return EV_FAULT;
  }
  for (uint32_t m = op.targets; m && ws_emu_traced(who.w); m &= m - 1)
    TRACE(who.w, in, .kind = WSEMU_TENSOR_COMMIT, .object = ws_emu_mbar_name(ref), .target = (uint32_t)__builtin_ctz(m), .count = WSEMU_NO_COUNT,
          .lanes = 1u << who.lane);
  return ws_emu_tc_commit(&op);
}
static int commit(struct warp *w, const struct inst *in, enum ptx_space space) {
  uint64_t a[LANES];
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a);
  for (uint32_t m = w->mask; m; m &= m - 1)
    if (commit_one(WHO(w, in, __builtin_ctz(m)), a[__builtin_ctz(m)], space) != EV_NEXT) return EV_FAULT;
  return EV_NEXT;
}
HANDLER(commit_cluster) { return commit(w, in, SP_CLUSTER); }
HANDLER(commit_generic) { return commit(w, in, SP_GENERIC); }

/* ---- forms ---- */
static emu_fn *move_form(struct bind *b, bool load) {
  static const char *const shapes[] = {[S_32X32] = ".32x32b", [S_16X64] = ".16x64b", [S_16X128] = ".16x128b", [S_16X256] = ".16x256b", [S_16X32X2] = ".16x32bx2"};
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  in->n = (uint8_t)b->nx;
  in->w = 0;
  for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++)
    if (ws_emu_has(u, shapes[s])) in->u |= (uint8_t)(s << 4);
  if (ws_emu_has(u, ".pack::16b") || ws_emu_has(u, ".unpack::16b")) in->u |= PACK;
  if (SHAPE(in) == S_16X32X2 && (in->imm2 < 0 || in->imm2 >= TC_COLUMNS)) return NULL;
  if (ws_emu_has(u, ".red"))
    in->w = (uint8_t)((ws_emu_has(u, ".max") ? RED_MAX : 0) | (ws_emu_has(u, ".abs") ? RED_ABS : 0) | (ws_emu_has(u, ".NaN") ? RED_NAN : 0) |
                      (ws_emu_has(u, ".f32") ? RED_F32 : 0) | (ws_emu_has(u, ".s32") ? RED_S32 : 0) | 32);
  return in->w && in->n == 1 ? NULL : load ? ld : st; /* ld.red.x1 has nothing to reduce */
}

emu_fn *LEVELLED(ws_emu_resolve_tensor)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (ws_emu_has(u, ".ld")) return move_form(b, true);
  if (ws_emu_has(u, ".st")) return move_form(b, false);
  if (ws_emu_has(u, ".wait::ld")) return wait_ld;
  if (ws_emu_has(u, ".wait::st")) return wait_st;
  if (ws_emu_has(u, ".cta_group::2")) in->u |= PAIR;
  if (ws_emu_has(u, ".alloc")) return b->space == SP_SHARED ? alloc_shared : alloc_generic;
  if (ws_emu_has(u, ".dealloc")) return dealloc;
  if (ws_emu_has(u, ".relinquish_alloc_permit")) return relinquish;
  if (ws_emu_has(u, ".commit")) return b->space == SP_CLUSTER ? commit_cluster : commit_generic;
  return ws_emu_has(u, ".fence::after_thread_sync") ? fence_after : fence_before;
}
