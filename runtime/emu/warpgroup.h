/* wgmma in flight. PTX ISA "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operations".
 *
 * The four warps of a warpgroup issue the same operations in the same order; each joins the operation at its place in the
 * warpgroup's queue. One that all four have issued may be performed: at once (early), when a wait covers it (late) or at any
 * turn in between (random), always in order. Then its operands are read from shared memory and from A's registers.
 *
 * Accumulators live in a tile of the warpgroup from the first operation that uses them until no queued one does; their
 * registers hold poison meanwhile. So a chain over K moves them out of the registers and back once. */
#ifndef WS_EMU_WARPGROUP_H
#define WS_EMU_WARPGROUP_H
#include "engine.h"
#include <string.h>

enum { WG_WARPS = 4, WG_ROWS = 64, WG_ALL = 15 };

enum wg_kind { WG_F32, WG_F16, WG_S32 }; /* of accumulators; f16 are kept as f32 */
struct wg_tile {
  struct wg_tile *next;
  const uint32_t *x;   /* slots of the registers */
  uint32_t regs, cols, stride;
  uint32_t uses;       /* operations in the queue */
  uint32_t loaded;     /* warps whose rows are here */
  uint8_t kind;
  union { float f; int32_t i; } c[] __attribute__((aligned(64))); /* WG_ROWS rows of `stride` */
};
struct wg_op {
  struct wg_op *next;
  const struct inst *in;
  uint64_t a, b;       /* descriptors */
  uint64_t number;     /* among the warpgroup's */
  uint32_t group;      /* committed together */
  uint32_t warps;      /* that have issued it, a bit each */
  bool add;            /* D is added */
  struct vclock *clock; /* race.h: what its warps knew when they issued it; NULL once all have */
  struct wg_tile *tile;
};
struct warpgroup {
  struct wg_op *first, **last;
  uint64_t issued;     /* operations, by the warp that is ahead */
  struct wg_tile *tiles;
  struct cta *cta;
  uint32_t index;
  int (*run)(struct warpgroup *g, const struct wg_op *op); /* EV_NEXT or EV_FAULT */
  int (*touch)(struct warpgroup *g, const struct wg_op *op); /* the same: notes what it reads */
};
/* What an instruction says, decoded once into in->imm2. in->x: the slots of D, then of A. */
enum { WG_A_REGISTERS = 1, WG_NEGATE_A = 2, WG_NEGATE_B = 4, WG_A_MN = 8, WG_B_MN = 16 /* M or N is the contiguous dimension */ };
struct wg_form {
  uint16_t n;             /* columns */
  uint8_t kind;           /* enum wg_kind */
  uint8_t type_a, type_b; /* enum ptx_type */
  uint8_t flags, regs;    /* regs: of D */
  uint8_t unused;
};
static inline struct wg_form ws_emu_wg_form(const struct inst *in) {
  struct wg_form f;
  _Static_assert(sizeof f == sizeof in->imm2, "fits");
  memcpy(&f, &in->imm2, sizeof f);
  return f;
}

/* The executing warp issues an operation whose product `run` computes; `touch` is called when all warps have. */
int ws_emu_wg_issue(struct warp *w, const struct inst *in, uint64_t a, uint64_t b, bool add,
                    int (*run)(struct warpgroup *g, const struct wg_op *op), int (*touch)(struct warpgroup *g, const struct wg_op *op));
int ws_emu_wg_wait(struct warp *w, const struct inst *in, uint32_t keep);
void ws_emu_wg_turn(struct cluster *cl); /* the random schedule, between turns */
void ws_emu_wg_free(struct cta *c);
#endif
