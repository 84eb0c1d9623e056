/* Tensor memory and what works on it. PTX ISA "TensorCore 5th Generation Family Instructions".
 *
 * Every CTA has an SM of its own here, so all of 512 columns x 128 lanes. A column's lanes lie side by side: a product runs over
 * the lanes as vectors, and a register of tcgen05.ld.32x32b is one copy.
 *
 * Products, copies and commits of one thread form a queue (tc_op). A commit is an operation of that queue and an agent
 * (engine.h) for each mbarrier that it signals: the agent performs the queue through its commit. So `late` performs a product
 * when somebody waits for its commit, `random` at any turn before, always in the order of issue (option "tensor" = "program",
 * the default) or, with "any", in any order that the ISA's pipelined pairs leave.
 *
 * tcgen05.ld and .st of a warp (tc_move) are performed at issue (early) or at the warp's tcgen05.wait (late); until then the
 * registers of a load hold poison. */
#ifndef WS_EMU_TENSOR_H
#define WS_EMU_TENSOR_H
#include "engine.h"

enum { TC_COLUMNS = 512, TC_LANES = 128, TC_UNIT = 32 /* columns: what is allocated at least */, TC_UNITS = TC_COLUMNS / TC_UNIT };
#define TC_POISON 0x7ff57ff5u /* a NaN in f32, f16 and bf16 */

enum tc_kind { TC_MMA, TC_COPY, TC_SHIFT, TC_COMMIT };
/* Columns that an operation uses, in lanes 0..15 (1) and 16..31 (2) of every quarter. */
struct tc_span { uint16_t column, columns; uint8_t halves; bool write; };
struct tc_op {
  struct tc_op *next;
  struct who who;
  uint64_t number;        /* in the order of issue, of the CTA's */
  int (*run)(const struct tc_op *op); /* EV_NEXT or EV_FAULT */
  int (*touch)(const struct tc_op *op, uint32_t number); /* the same: notes what it reads of shared memory */
  uint8_t kind;           /* enum tc_kind */
  bool pair;              /* cta_group::2 */
  bool add, a_tensor;     /* D is added; A lies in tensor memory */
  uint8_t scale;          /* D is scaled by 2^-scale first */
  uint64_t a, b;          /* descriptors, or A's address */
  uint32_t d, form;       /* address of D, instruction descriptor */
  uint32_t off[8];        /* lanes that are not written, a bit each */
  struct tc_span span[2];
  uint8_t spans;
  uint32_t mbar;          /* commit: offset in shared memory .. */
  uint32_t targets;       /* .. of these CTAs */
  struct vclock *clock;   /* commit: race.h, what its arrivals hand on, or NULL */
};
struct tc_move {          /* a tcgen05.ld or .st that the warp has not waited for */
  struct tc_move *next;
  const struct inst *in;
  void (*run)(struct warp *w, const struct tc_move *m);
  uint32_t lane, column;  /* where it begins */
  uint32_t columns;       /* how many it spans, from `column` on */
  bool store, done;       /* done: performed already */
  uint32_t data[];        /* of a store: a register after the other */
};
enum tc_wish { TC_NONE, TC_ALLOC, TC_DEALLOC };
struct tc_want { uint8_t wish; bool pair; uint32_t columns, at; /* shared offset, or first column */ };
struct tc_access { uint32_t tick, pc; uint16_t warp; }; /* tick 0: none */
enum { TC_GRANULE = 16, TC_GRANULES = TC_LANES / TC_GRANULE };
struct tc_column {        /* who used a column last: tensor_race.c */
  struct tc_access wrote[2], read[2];                         /* operations, by halves of the quarters */
  struct tc_access loaded[TC_GRANULES], stored[TC_GRANULES];  /* warps */
  uint32_t newest, checked;                                   /* ticks: of a warp's last access; up to which operations have looked */
};
struct tc_claim { uint8_t units; const struct inst *in; uint32_t warp; }; /* an allocation, kept at its first unit */
struct tensor {
  uint32_t word[TC_COLUMNS][TC_LANES];
  struct tc_claim claim[TC_UNITS];
  uint32_t used;          /* units, a bit each */
  uint32_t last_size;     /* of the last allocation, 0 = none yet */
  bool relinquished;
  struct tc_column column[TC_COLUMNS];
  struct tc_op *first, **last;
  uint64_t issued;
  struct tc_want want[MAX_WARPS]; /* of warps in WARP_TENSOR */
};

/* The CTA's tensor memory; NULL after a fault. */
struct tensor *ws_emu_tensor(struct who who, struct cta *c);
/* Columns [first, first + n) are allocated and the address's lane field names a lane: else a fault and EV_FAULT. */
int ws_emu_tc_check(struct who who, struct cta *c, uint32_t address, uint32_t n, const char *what);
/* Appends an operation to its thread's queue. */
int ws_emu_tc_issue(const struct tc_op *like);
int ws_emu_tc_commit(const struct tc_op *like); /* .mbar and .targets are checked */
/* Issues a move: takes it over. */
int ws_emu_tc_move(struct warp *w, struct tc_move *m);
int ws_emu_tc_wait(struct warp *w, bool store);
int ws_emu_tc_alloc(struct warp *w, const struct inst *in, uint32_t shared_offset, uint32_t columns, bool pair);
int ws_emu_tc_dealloc(struct warp *w, const struct inst *in, uint32_t address, uint32_t columns, bool pair);
int ws_emu_tc_relinquish(struct warp *w, const struct inst *in);

/* tensor_race.c: accesses that nothing orders, found when they happen. EV_NEXT or EV_FAULT. Option "race" = "off" drops this. */
int ws_emu_tc_race_move(struct warp *w, const struct tc_move *m);  /* a move is issued */
void ws_emu_tc_moved(struct warp *w, const struct tc_move *m);     /* it is waited for */
int ws_emu_tc_race_op(const struct tc_op *op, struct cta *c);      /* an operation is issued that uses the CTA's tensor memory */
void ws_emu_tc_performed(const struct tc_op *op, struct cta *c);
void ws_emu_tc_fence(struct warp *w, bool after);

void ws_emu_tc_turn(struct cluster *cl); /* the random schedule, between turns */
bool ws_emu_tc_left(struct cta *c);      /* a CTA ends: false after a fault */
void ws_emu_tc_free(struct cta *c);
#endif
