/* PTX ISA "Data Movement and Conversion Instructions": cp.async.bulk, cp.reduce.async.bulk, their tensor forms, bulk groups.
 *
 * Everything is checked at issue, with the thread's line; the bytes move in an agent (engine.h). A copy into shared memory is one
 * step that ends by crediting the mbarrier; a multicast is such an agent for each CTA. A copy out of shared memory is two: it
 * reads, which wait_group.read waits for, and then it writes. Tiles: tile.h. */
#include "address.h"
#include "tile.h"
#include "trace.h"

/* in->w: the operation of a reduction, enum bulk_op, and its type << 4; in->n: rank of a tensor form; in->u: A1_WIDE .. A3_WIDE, MULTICAST .. */
enum { MULTICAST = 8, PAIR = 16 /* .cta_group::2 */, FOUR = 32 /* .tile::gather4, .tile::scatter4 */, MASKED = 64 /* .cp_mask */ };
#define OP(in) ((uint8_t)((in)->w & 15))
#define TYPE(in) ((uint8_t)((in)->w >> 4))
#define POISON UINT64_C(0x7ff57ff57ff57ff5) /* as exec_async.c has it */
#define BAD(who, ...) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, __VA_ARGS__)

/* ---- operands ---- */
static uint64_t one_address(struct who who, int slot, bool wide, int64_t imm) {
  const uint8_t *r = ws_emu_slot(who.w, who.in->o[slot]);
  uint64_t v = 0;
  memcpy(&v, r + (size_t)who.lane * (wide ? 8 : 4), wide ? 8 : 4);
  return wide ? v + (uint64_t)imm : (uint32_t)((uint32_t)v + (uint32_t)imm);
}
static uint64_t address_1(struct who who, int slot) { return one_address(who, slot, who.in->u & A1_WIDE, who.in->imm); }
static uint64_t address_2(struct who who, int slot) { return one_address(who, slot, who.in->u & A2_WIDE, who.in->imm2); }
static uint64_t address_3(struct who who, int slot) { /* its offset stands behind the coordinates */
  const uint32_t *x = who.in->x + who.in->n;
  return one_address(who, slot, who.in->u & A3_WIDE, (int64_t)((uint64_t)x[1] << 32 | x[0]));
}
static uint32_t word(struct who who, int slot) { return ((const uint32_t *)ws_emu_slot(who.w, who.in->o[slot]))[who.lane]; }

/* `bytes` in the shared memory of a CTA of the cluster, or of the thread's own. False after a fault. */
static bool shared_range(struct who who, uint64_t a, enum ptx_space space, uint32_t bytes, uint32_t align, bool write, struct place *p) {
  uint32_t address;
  if (!own_shared(who, a, space, 16, &address)) return false;
  if (address % align)
    return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "uses the shared address 0x%x: a multiple of %u is needed", address, align), false;
  p->cta = ws_emu_peer(who, address, 16, write, &p->offset);
  if (!p->cta) return false;
  if (bytes <= p->cta->shared_size - p->offset) return true;
  WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at the shared address 0x%x, %llu bytes past the end of its CTA's shared memory",
            write ? "writes" : "reads", bytes, address, (unsigned long long)p->offset + bytes - p->cta->shared_size);
  return false;
}

static bool global_range(struct who who, uint64_t a, uint32_t bytes, bool write) {
  if (a % 16)
    return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "uses the global address 0x%llx: a multiple of 16 is needed", (unsigned long long)a), false;
  if (!bytes || ws_emu_mem_holds(a, bytes, write)) return true;
  char near[300];
  ws_emu_mem_describe(a, bytes, write, near, sizeof near);
  WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at the global address 0x%llx, %s", write ? "writes" : "reads", bytes, (unsigned long long)a, near);
  return false;
}

static bool good_size(struct who who, uint32_t bytes) {
  if (bytes % 16) BAD(who, "copies %u bytes: a multiple of 16 is needed", bytes);
  return bytes % 16 == 0;
}

/* ---- tensor maps ---- */
/* The 128 bytes that a generic address names: in the kernel's parameters, or in global or constant memory. */
static const void *map_bytes(struct who who, uint64_t a) {
  const struct cta *c = who.w->cta;
  uint64_t window = a & WINDOW_MASK, at = a & ~WINDOW_MASK;
  if (at % 64) return WHO_FAULT(who, WS_CUDA_ERROR_MISALIGNED_ADDRESS, "names a tensor map at 0x%llx: a multiple of 64 is needed", (unsigned long long)at), NULL;
  if (window == WINDOW_PARAM && at + TMAP_BYTES <= c->k->func->param_bytes) return c->grid->l->params + at;
  if (!window && ws_emu_mem_holds(a, TMAP_BYTES, false)) return (const void *)(uintptr_t)a;
  const char *where = window == WINDOW_SHARED ? "shared memory" : window == WINDOW_LOCAL ? "local memory" : window ? "the parameters" : "global memory";
  WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "names a tensor map at 0x%llx in %s, where none can lie", (unsigned long long)at, where);
  return NULL;
}

/* What a map's own fields rule out, on this device or here. */
static const char *unsupported(const struct tmap *m) {
  if (m->interleave) return "it is interleaved, which is not supported";
  if (m->swizzle > WS_CU_TENSOR_MAP_SWIZZLE_128B) return "its swizzle needs compute capability 10.0";
  if (m->type >= WS_CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ) return "its type converts, which is not supported";
  if (m->swizzle && m->box[0] * ws_emu_tmap_element(m->type) != 16u << m->swizzle) return "its rows are narrower than its swizzle, which is not supported";
  return NULL;
}

static bool take_tile(struct who who, uint64_t a, struct tile *t) {
  const void *bytes = map_bytes(who, a);
  if (!bytes) return false;
  if (!ws_emu_tmap_unpack(bytes, &t->map)) return BAD(who, "names a tensor map, but there is none at 0x%llx", (unsigned long long)(a & ~WINDOW_MASK)), false;
  t->map.four = who.in->u & FOUR;
  if (t->map.four && (t->map.rank != 2 || t->map.box[1] != 1))
    return BAD(who, "takes four rows through a tensor map of rank %u with a box of %u rows: rank 2 and one row are needed", t->map.rank, t->map.rank > 1 ? t->map.box[1] : 1), false;
  if (!t->map.four && t->map.rank != who.in->n) return BAD(who, "has %u coordinates, but its tensor map has rank %u", who.in->n, t->map.rank), false;
  const char *why = unsupported(&t->map);
  if (why) return WHO_FAULT(who, WS_CUDA_ERROR_NOT_SUPPORTED, "uses a tensor map: %s", why), false;
  for (int d = 0; d < who.in->n; d++) t->at[d] = ((const int32_t *)ws_emu_slot(who.w, who.in->x[d]))[who.lane];
  t->bytes = ws_emu_tmap_tile_bytes(&t->map);
  return true;
}

/* All rows of the tile that lie in the tensor lie in memory, too. */
static bool tile_in_memory(struct who who, const struct tile *t, bool write) {
  uint64_t lo, n = t->map.four ? 1 : tile_span(t, &lo);
  if (!t->map.four && (!n || ws_emu_mem_holds(lo, n, write))) return true;
  struct tile_walk walk;
  struct tile_row row;
  ws_emu_tile_begin(&walk, &t->map, t->at);
  while (ws_emu_tile_next(&walk, &row)) { /* several allocations, or a fault */
    if (row.first == row.last || ws_emu_mem_holds(row.global + row.first, row.last - row.first, write)) continue;
    char near[300];
    ws_emu_mem_describe(row.global + row.first, row.last - row.first, write, near, sizeof near);
    WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes through a tensor map at 0x%llx, %s", write ? "writes" : "reads", row.last - row.first,
              (unsigned long long)(row.global + row.first), near);
    return false;
  }
  return true;
}

/* The rows that are read were written before. */
static int tile_written(struct who who, const struct tile *t) {
  struct tile_walk walk;
  struct tile_row row;
  int ev = EV_NEXT;
  if (!who.w->cta->written) return ev;
  ws_emu_tile_begin(&walk, &t->map, t->at);
  while (ev == EV_NEXT && ws_emu_tile_next(&walk, &row))
    if (row.first != row.last) ev = ws_emu_unwritten_range(who, NULL, row.global + row.first, row.last - row.first);
  return ev;
}

/* ---- into shared memory ---- */
struct load {
  struct tile tile; /* map.rank 0: plain bytes */
  uint64_t from;    /* global, or */
  struct place own; /* cta set: of the issuing CTA's shared memory */
  struct place to;
  uint8_t op, type;
};

static bool alive(struct who who, const struct place *p) {
  if (p->cta->done) WHO_FAULT(who, WS_CUDA_ERROR_ILLEGAL_ADDRESS, "writes shared memory of CTA %u of its cluster, which has ended", p->cta->rank);
  return !p->cta->done;
}

static enum agent_step perform_load(struct agent *a) {
  struct load *l = (struct load *)(void *)a->payload;
  uint8_t *to = l->to.cta->shared + l->to.offset;
  const uint8_t *from = l->own.cta ? l->own.cta->shared + l->own.offset : (const uint8_t *)(uintptr_t)l->from;
  if (!alive(a->who, &l->to)) return AGENT_FAULT;
  if (l->tile.map.rank) tile_load(&l->tile, l->to);
  else if (l->op) reduce_bytes(l->op, l->type, to, from, l->tile.bytes);
  else memmove(to, from, l->tile.bytes);
  return ws_emu_mbar_complete_tx(a->who, a->signal, l->tile.bytes) == EV_NEXT ? AGENT_DONE : AGENT_FAULT;
}

static int issue_load(struct who who, const struct load *l, struct mbar_ref signal) {
  if (ws_emu_race_mbar_signalled(who, signal) != EV_NEXT ||
      ws_emu_race_signalled(who, l->to.cta, signal, l->to.offset, l->tile.bytes, RACE_ASYNC | RACE_WRITE | (l->op ? RACE_STRONG : 0)) != EV_NEXT ||
      (l->own.cta && ws_emu_race_signalled(who, l->own.cta, signal, l->own.offset, l->tile.bytes, RACE_ASYNC) != EV_NEXT))
    return EV_FAULT;
  struct agent *a = ws_emu_agent_new(who, sizeof *l, perform_load);
  if (!a) return EV_FAULT;
  unwritten_mark_shared(l->to.cta, l->to.offset, l->tile.bytes);
  memcpy(a->payload, l, sizeof *l);
  a->signal = signal;
  a->holds_shared = l->own.cta || l->to.cta == who.w->cta;
  if (!l->op && !ws_emu_early(who.w)) {
    const uint64_t poison[2] = {POISON, POISON};
    uint8_t *to = l->to.cta->shared + l->to.offset;
    for (uint32_t i = 0; i < l->tile.bytes; i += 16) memcpy(to + i, poison, 16);
  }
  who.w->stats.shared_written += l->tile.bytes;
  TRACE(who.w, who.in, .kind = WSEMU_BULK_LOAD, .object = ws_emu_mbar_name(signal), .target = signal.cta->rank, .count = WSEMU_NO_COUNT,
        .amount = l->tile.bytes, .lanes = 1u << who.lane);
  return ws_emu_agent_issue(a);
}

/* The same tile to the same offset of every CTA in the mask, each with its own mbarrier at the offset of the named one; with
 * .cta_group::2 that of the even or odd CTA of its pair, as the named one is. */
static int multicast(struct who who, struct load *l, uint32_t mask, struct mbar_ref signal) {
  const struct cluster *cl = who.w->cta->cluster;
  uint32_t parity = signal.cta->rank & 1;
  if (who.in->u & PAIR && cl->n % 2) return BAD(who, "has .cta_group::2 in a cluster of %u CTAs", cl->n);
  if (!mask || mask >> cl->n) return BAD(who, "has the CTA mask 0x%x in a cluster of %u CTAs", mask, cl->n);
  for (; mask; mask &= mask - 1) {
    struct cta *c = cl->cta[__builtin_ctz(mask)];
    l->to.cta = c;
    signal.cta = who.in->u & PAIR ? cl->cta[(c->rank & ~1u) | parity] : c;
    if (!alive(who, &l->to) || !ws_emu_mbar_get(who, signal) || issue_load(who, l, signal) != EV_NEXT) return EV_FAULT;
  }
  return EV_NEXT;
}

static bool paired(struct who who, const struct cta *a, const struct cta *b) { return who.in->u & PAIR && (a->rank ^ b->rank) == 1; }

/* slot: of the mbarrier; behind it the CTA mask, if any. */
static int start_load(struct who who, struct load *l, int slot, enum ptx_space space, uint32_t align) {
  struct mbar_ref signal;
  uint32_t bar;
  if (!shared_range(who, address_1(who, 0), space, l->tile.bytes, align, true, &l->to)) return EV_FAULT;
  if (!own_shared(who, address_3(who, slot), space, 8, &bar) || !ws_emu_mbar_at(who, bar, &signal)) return EV_FAULT;
  if (!l->own.cta) who.w->stats.global_read += l->tile.bytes;
  else who.w->stats.shared_read += l->tile.bytes;
  if (who.in->u & MULTICAST) {
    uint16_t mask = ((const uint16_t *)ws_emu_slot(who.w, who.in->o[slot + 1]))[who.lane];
    if ((signal.cta != who.w->cta && !paired(who, signal.cta, who.w->cta)) || l->to.cta != who.w->cta) return BAD(who, "multicasts with a destination or mbarrier outside of its own CTA");
    return multicast(who, l, mask, signal);
  }
  if (signal.cta != l->to.cta && !paired(who, signal.cta, l->to.cta)) return BAD(who, "writes to CTA %u of its cluster but signals an mbarrier of CTA %u", l->to.cta->rank, signal.cta->rank);
  return issue_load(who, l, signal);
}

/* [d], [g], size, [mb] {, mask} */
static int load_one(struct who who, enum ptx_space space) {
  struct load l = {.from = address_2(who, 1), .tile.bytes = word(who, 2)};
  if (!good_size(who, l.tile.bytes) || !global_range(who, l.from, l.tile.bytes, false) ||
      ws_emu_unwritten_range(who, NULL, l.from, l.tile.bytes) != EV_NEXT)
    return EV_FAULT;
  return start_load(who, &l, 3, space, 16);
}
/* [d], [s], size, [mb]: also reductions */
static int send_one(struct who who) {
  struct load l = {.op = OP(who.in), .type = TYPE(who.in), .tile.bytes = word(who, 2)};
  if (!good_size(who, l.tile.bytes) || !shared_range(who, address_2(who, 1), SP_SHARED, l.tile.bytes, 16, false, &l.own) ||
      ws_emu_unwritten_range(who, l.own.cta, l.own.offset, l.tile.bytes) != EV_NEXT)
    return EV_FAULT;
  return start_load(who, &l, 3, SP_CLUSTER, 16);
}
/* [d], [map, {c}], [mb] {, mask} */
static int tile_one(struct who who, enum ptx_space space) {
  struct load l = {0};
  if (!take_tile(who, address_2(who, 1), &l.tile) || !tile_in_memory(who, &l.tile, false) || tile_written(who, &l.tile) != EV_NEXT) return EV_FAULT;
  return start_load(who, &l, 2, space, TMAP_DST_ALIGN);
}

/* ---- out of shared memory ---- */
struct store {
  struct tile tile; /* map.rank 0: plain bytes to */
  uint64_t to;
  struct place from;
  uint8_t op, type;
  uint16_t mask;    /* of every 16 bytes those that are written; 0: all */
  uint8_t data[];
};

static enum agent_step perform_store(struct agent *a) {
  struct store *s = (struct store *)(void *)a->payload;
  if (!a->step) {
    if (s->tile.map.rank) tile_gather(&s->tile, s->from, s->data);
    else memcpy(s->data, s->from.cta->shared + s->from.offset, s->tile.bytes);
    a->holds_shared = false;
    return AGENT_AGAIN;
  }
  if (s->tile.map.rank) tile_store(&s->tile, s->data, s->op, s->type);
  else if (s->op) reduce_bytes(s->op, s->type, (uint8_t *)(uintptr_t)s->to, s->data, s->tile.bytes);
  else if (s->mask) {
    for (uint32_t i = 0; i < s->tile.bytes; i++)
      if (s->mask >> i % 16 & 1) ((uint8_t *)(uintptr_t)s->to)[i] = s->data[i];
  } else memcpy((void *)(uintptr_t)s->to, s->data, s->tile.bytes);
  return AGENT_DONE;
}

static int issue_store(struct who who, const struct store *s) {
  if (ws_emu_race_store(who, s->from.cta, s->from.offset, s->tile.bytes) != EV_NEXT) return EV_FAULT; /* whenever it happens */
  struct agent *a = ws_emu_agent_new(who, sizeof *s + s->tile.bytes, perform_store);
  if (!a) return EV_FAULT;
  memcpy(a->payload, s, sizeof *s);
  a->group = who.w->bulk_groups[who.lane];
  a->holds_shared = true;
  who.w->stats.shared_read += s->tile.bytes;
  who.w->stats.global_written += s->tile.bytes;
  TRACE(who.w, who.in, NOTHING(BULK_STORE), .amount = s->tile.bytes, .lanes = 1u << who.lane);
  return ws_emu_agent_issue(a);
}

/* [g], [s], size {, policy} {, mask} */
static int store_one(struct who who) {
  struct store s = {.to = address_1(who, 0), .op = OP(who.in), .type = TYPE(who.in), .tile.bytes = word(who, 2)};
  if (!good_size(who, s.tile.bytes) || !global_range(who, s.to, s.tile.bytes, true) ||
      !shared_range(who, address_2(who, 1), SP_SHARED, s.tile.bytes, 16, false, &s.from))
    return EV_FAULT;
  if (who.in->u & MASKED) {
    s.mask = ((const uint16_t *)ws_emu_slot(who.w, who.in->o[4]))[who.lane];
    if (!s.mask) return EV_NEXT;
  }
  if (!s.mask && ws_emu_unwritten_range(who, s.from.cta, s.from.offset, s.tile.bytes) != EV_NEXT) return EV_FAULT;
  unwritten_mark_global(s.to, s.tile.bytes);
  return issue_store(who, &s);
}
/* [map, {c}], [s] */
static int tile_store_one(struct who who) {
  struct store s = {.op = OP(who.in)};
  if (!take_tile(who, address_1(who, 0), &s.tile) || !tile_in_memory(who, &s.tile, true) ||
      !shared_range(who, address_2(who, 1), SP_SHARED, s.tile.bytes, TMAP_DST_ALIGN, false, &s.from))
    return EV_FAULT;
  s.type = bulk_type_of_map(s.tile.map.type);
  if (s.op && !bulk_has(s.op, s.type)) return BAD(who, "reduces with an operation that its tensor map's type %u does not have", s.tile.map.type);
  return issue_store(who, &s);
}

/* ---- handlers: every executing thread issues one ---- */
#define EACH_THREAD(...)                                                                                              \
  do {                                                                                                                \
    for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1) {                                                                   \
      struct who who = {w, in, __builtin_ctz(m_)};                                                                    \
      if ((__VA_ARGS__) != EV_NEXT) return EV_FAULT;                                                                  \
    }                                                                                                                 \
    return EV_NEXT;                                                                                                   \
  } while (0)
HANDLER(bulk_load_cta) { EACH_THREAD(load_one(who, SP_SHARED)); }
HANDLER(bulk_load) { EACH_THREAD(load_one(who, SP_CLUSTER)); }
HANDLER(bulk_send) { EACH_THREAD(send_one(who)); }
HANDLER(bulk_store) { EACH_THREAD(store_one(who)); }
HANDLER(tensor_load_cta) { EACH_THREAD(tile_one(who, SP_SHARED)); }
HANDLER(tensor_load) { EACH_THREAD(tile_one(who, SP_CLUSTER)); }
HANDLER(tensor_store) { EACH_THREAD(tile_store_one(who)); }

static int prefetch_one(struct who who) {
  uint32_t bytes = word(who, 1);
  return good_size(who, bytes) && global_range(who, address_1(who, 0), bytes, false) ? EV_NEXT : EV_FAULT;
}
HANDLER(bulk_prefetch) { EACH_THREAD(prefetch_one(who)); }
static int prefetch_tile(struct who who) {
  struct tile t;
  return take_tile(who, address_1(who, 0), &t) ? EV_NEXT : EV_FAULT;
}
HANDLER(tensor_prefetch) { EACH_THREAD(prefetch_tile(who)); }
HANDLER(map_prefetch) { return EV_NEXT; }

HANDLER(bulk_commit) {
  for (uint32_t m = w->mask; m; m &= m - 1) w->bulk_groups[__builtin_ctz(m)]++;
  TRACE(w, in, NOTHING(BULK_COMMIT));
  return EV_NEXT;
}
/* All but the newest in->imm groups; in->n: only their reads. */
HANDLER(bulk_wait) {
  for (uint32_t m = w->mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    uint32_t groups = w->bulk_groups[lane], keep = in->imm < groups ? (uint32_t)in->imm : groups;
    if (ws_emu_agents_finish(w, lane, groups - keep, in->n) != EV_NEXT) return EV_FAULT;
    ws_emu_race_knows(w, BY_STORE, groups - keep);
  }
  TRACE(w, in, .kind = in->n ? WSEMU_BULK_WAIT_READ : WSEMU_BULK_WAIT, .object = WSEMU_NO_OBJECT, .count = (uint32_t)in->imm);
  return EV_NEXT;
}

/* ---- PTX ISA "st.bulk": zeros by ordinary stores; o[0] the address, o[1] the size in a register of in->w bytes ---- */
HANDLER(store_zeros) {
  uint32_t all = w->mask;
  uint64_t a[LANES], left[LANES];
  lane_addresses(w, in->o[0], in->u & A1_WIDE, in->imm, a);
  for (int i = 0; i < LANES; i++) {
    left[i] = 0;
    memcpy(&left[i], (const uint8_t *)ws_emu_slot(w, in->o[1]) + i * in->w, in->w);
    if (!(all >> i & 1)) continue;
    if (left[i] % 8 || left[i] > 16777216) return ws_emu_fault(w, in, i, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "initialises %llu bytes: a multiple of 8 up to 16777216 is needed", (unsigned long long)left[i]);
  }
  for (;;) {
    struct access p;
    w->mask = 0;
    for (int i = 0; i < LANES; i++)
      if (all >> i & 1 && left[i]) w->mask |= 1u << i;
    if (!w->mask) break;
    int ev = in->n == SP_SHARED ? shared_access(w, in, a, 8, ACCESS_WRITE, &p) : generic_access(w, in, a, 8, ACCESS_WRITE, &p);
    if (ev != EV_NEXT) return ev;
    for (uint32_t m = w->mask; m; m &= m - 1) memset(p.p[__builtin_ctz(m)], 0, 8);
    w->stats.shared_written += 8u * (uint64_t)__builtin_popcount(w->mask);
    for (int i = 0; i < LANES; i++) a[i] += 8, left[i] -= left[i] ? 8 : 0;
  }
  w->mask = all;
  return EV_NEXT;
}

/* ---- forms ---- */
static uint8_t operation(const struct isa_use *u) {
  for (uint8_t op = BULK_ADD; op <= BULK_XOR; op++)
    if (ws_emu_has(u, bulk_op_names[op])) return op;
  return BULK_COPY;
}

static emu_fn *tensor_form(const struct isa_use *u, struct inst *in) {
  static const char *const dims[] = {".1d", ".2d", ".3d", ".4d", ".5d"};
  uint8_t rank = 0;
  for (uint8_t d = 0; d < 5; d++)
    if (ws_emu_has(u, dims[d])) rank = d + 1;
  if (ws_emu_has(u, ".tile::gather4") || ws_emu_has(u, ".tile::scatter4")) in->u |= FOUR;
  if (in->n != (in->u & FOUR ? 5 : rank)) return NULL; /* the coordinates that bind counted */
  in->w = operation(u);
  if (ws_emu_has(u, ".prefetch")) return tensor_prefetch;
  if (ws_emu_has(u, ".bulk_group")) return tensor_store;
  return ws_emu_has(u, ".shared::cluster") ? tensor_load : tensor_load_cta;
}

emu_fn *LEVELLED(ws_emu_resolve_bulk)(struct bind *b) {
  const struct isa_use *u = b->u;
  struct inst *in = b->in;
  if (*u->row->mnemonic == 's') { /* st.bulk */
    in->w = b->sw;
    in->n = (uint8_t)b->space;
    return in->imm2 ? NULL : store_zeros; /* the initial value must be 0 */
  }
  if (ws_emu_has(u, ".multicast::cluster")) in->u |= MULTICAST;
  if (ws_emu_has(u, ".cp_mask")) in->u |= MASKED;
  if (ws_emu_has(u, ".cta_group::2")) in->u |= PAIR;
  if (ws_emu_has(u, ".tensormap")) return map_prefetch;
  if (ws_emu_has(u, ".commit_group")) return bulk_commit;
  if (ws_emu_has(u, ".wait_group")) return in->n = ws_emu_has(u, ".read"), in->imm < 0 ? NULL : bulk_wait;
  if (ws_emu_has(u, ".tensor")) return tensor_form(u, in);
  in->n = 0;
  in->w = (uint8_t)(operation(u) | (u->ntypes ? bulk_type_of_ptx(u->type[0]) : 0) << 4);
  if (ws_emu_has(u, ".prefetch")) return bulk_prefetch;
  if (ws_emu_has(u, ".bulk_group")) return bulk_store;
  if (ws_emu_has(u, ".shared::cta") && ws_emu_has(u, ".shared::cluster")) return bulk_send;
  return ws_emu_has(u, ".shared::cluster") ? bulk_load : bulk_load_cta;
}
