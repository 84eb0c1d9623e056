/* The machine: decoded kernels, warps, CTAs, grids.
 *
 *   ptx.h --decode.c--> struct kernel --grid.c--> clusters on worker threads --cluster.c, cta.c--> warps in turn --warp.c--> handlers
 *
 * A register is 32 lanes side by side in its warp's register file, so that a handler is a loop over lanes that the
 * compiler turns into vector code; a predicate is a 32-bit mask. Constants and special registers have register slots
 * too, filled when a warp starts, so every operand is an offset into the file. */
#ifndef WS_EMU_MACHINE_H
#define WS_EMU_MACHINE_H
#include "isa.h"
#include "ptx.h"
#include <stdio.h>

enum { LANES = 32, MAX_WARPS = 32, MAX_PATHS = 4 * LANES, NBARRIERS = 16 };
#define NO_SLOT UINT32_MAX
#define ALL_LANES UINT32_MAX

/* Windows of the generic address space. Global addresses are host addresses and lie below. */
#define WINDOW_SHARED ((uint64_t)1 << 48) /* + rank in the cluster << 24 + offset */
#define WINDOW_LOCAL ((uint64_t)2 << 48)  /* + offset in the thread's local memory */
#define WINDOW_PARAM ((uint64_t)3 << 48)  /* + offset in the kernel's parameters */
#define WINDOW_MASK (~(uint64_t)0 << 48)
enum { LOCAL_BASE = 256 }; /* the first local address: address 0 stays invalid */

/* ---- decoded instructions ---- */
struct wsemu_event;
struct warp;
struct inst;
enum event {
  EV_NEXT,  /* go on with the next instruction */
  EV_JUMP,  /* w->pc is set */
  EV_BLOCK, /* the warp cannot run on now; w->pc is where it resumes */
  EV_EXIT,  /* the warp's last thread ended */
  EV_FAULT  /* w->cta->fault says why */
};
typedef int emu_fn(struct warp *w, const struct inst *in);

enum inst_flag { F_GUARD = 1, F_GUARD_NOT = 2, F_ALIGNED = 4, F_SRC_NOT = 8 /* the source predicate is negated */,
                 F_ANY_PC = 16 /* lanes may gather from different instructions of this kind */,
                 F_WGMMA = 32 /* touches registers of some wgmma: hazard.h */ };
enum { A1_WIDE = 1, A2_WIDE = 2, A3_WIDE = 4 }; /* in `u`: the base register of the first, second, third address has 64 bits */
struct inst {
  emu_fn *fn;
  const uint32_t *x;   /* slots of vector operands, in the order of the operand pattern */
  int64_t imm, imm2;   /* address offsets, integer constants */
  uint32_t o[6];       /* slots of scalar operands in the order of the pattern, NO_SLOT when left out; branch: o[0] target, o[1] reconvergence */
  uint32_t guard;      /* slot of the guard predicate */
  uint8_t flags;       /* enum inst_flag */
  uint8_t n;           /* vector elements */
  uint8_t w;           /* bytes of a register of the w-type operand */
  uint8_t u;           /* A1_WIDE, A2_WIDE, and bits of the handler's own */
};
struct inst_src { /* where a decoded instruction comes from */
  const struct ptx_inst *ptx;
  const struct isa_row *row;
};

struct emu_const { uint32_t slot; uint8_t bytes; bool shared; uint64_t value; }; /* shared: plus the first address's rank bits */
struct kernel {
  struct ws_emu_pool pool;
  const struct ptx_module *m;
  struct ptx_func *func;
  struct inst *code;
  struct inst_src *src;
  size_t n, cap, cap_src;
  uint32_t reg_bytes;           /* of a warp's register file */
  struct emu_const *consts;
  size_t nconsts, cap_consts;
  uint8_t *image;               /* the register file of a warp that starts: constants, the rest poisoned */
  uint32_t sreg[SR_COUNT];      /* slots, NO_SLOT when not used */
  uint32_t carry;               /* slot of the condition code */
  uint32_t registers;           /* a thread's at the start, for setmaxnreg; 0 = the kernel does not fix them */
  uint32_t local_bytes;         /* a thread's local memory */
  uint32_t shared_base, shared_static; /* first address and bytes of static shared memory */
  uint32_t shared_dynamic;      /* address of dynamic shared memory */
  bool uses_dynamic;
  uint32_t *touches, *touch_at; /* of instructions marked F_WGMMA: slot * 2 + written; where each one's begin */
  bool is_async;                /* something accesses memory asynchronously */
  char *warnings;               /* lines of registers that may be read before they are written, or NULL */
};

/* What becomes of reads of registers and memory that nothing has written. By default: an error where no path writes the register
 * first, a warning where some path does not, and of memory. */
enum emu_uninitialised { UNINIT_ERROR, UNINIT_WARN, UNINIT_STRICT, UNINIT_OFF };
/* Decodes an entry. On failure returns NULL with a CUDA result in *code and a message in err. */
struct kernel *ws_emu_decode(const struct ptx_module *m, struct ptx_func *f, enum emu_uninitialised how, int *code, char *err, size_t n);
void ws_emu_kernel_free(struct kernel *k);
/* "LINE: text" of a decoded instruction, for messages. */
void ws_emu_where(const struct kernel *k, const struct inst *in, char *out, size_t n);

/* ---- execution state ---- */
/* From one thread's local memory to the next one's. */
static inline size_t ws_emu_local_stride(const struct kernel *k) { return ((size_t)k->local_bytes + 15) & ~(size_t)15; }

struct path { /* lanes that run together; paths of a warp form a tree, parents wait for their children at the join */
  uint32_t pc, rpc, mask;
  int16_t parent;
  uint8_t kids, state; /* enum path_state */
  uint32_t members;    /* PATH_SYNC: whom it waits for */
};
enum path_state { PATH_FREE, PATH_RUN, PATH_JOIN, PATH_SYNC, PATH_WAIT /* for an mbarrier */ };
enum warp_state { WARP_RUN, WARP_BARRIER, WARP_STUCK, WARP_DONE, WARP_MBAR, WARP_CLUSTER, WARP_REGISTERS, WARP_GROUP,
                  WARP_TENSOR /* for tensor memory */ };

struct copy { /* a cp.async in flight */
  uint32_t mask, group;             /* lanes not yet done; number of the group, counted a lane */
  uint8_t bytes;
  uint32_t dst[LANES], count[LANES]; /* shared offset, bytes to read (the rest is zero) */
  uint64_t src[LANES], number;      /* number: in the order of issue */
  const struct inst *in;
};

struct warp_stats {
  uint64_t instructions, global_read, global_written, shared_read, shared_written, flops, exponentials, barriers;
  uint64_t async, delayed, reordered; /* operations issued; not performed at issue; begun before an older one */
};

struct warp {
  uint8_t *regs;
  uint32_t mask;   /* lanes that execute the current instruction */
  uint32_t active; /* lanes of the current path */
  uint32_t pc, rpc;
  uint32_t live;   /* lanes not yet exited */
  uint32_t spins;  /* backward branches since the last change of path */
  struct cta *cta;
  uint8_t *local;  /* LANES * local_bytes */
  uint32_t index;
  uint8_t state, cur, npaths;
  struct path path[MAX_PATHS];
  const struct inst *waits; /* the instruction that blocks it */
  uint32_t barrier;         /* the barrier it waits at */
  struct copy *copies;
  size_t ncopies, cap_copies;
  uint64_t copies_issued;
  uint32_t groups[LANES];   /* groups committed */
  uint32_t bulk_groups[LANES];
  bool expired;             /* the next wait for an mbarrier fails instead of blocking */
  bool cluster_open;        /* has arrived at the cluster's barrier and not waited */
  uint32_t cluster_phase;   /* ends the wait */
  struct flight *flight;    /* hazard.h; NULL before the first wgmma */
  struct race_warp *race;   /* race.h; NULL when races are not looked for */
  uint64_t wg_issued;       /* wgmma operations */
  uint32_t wg_groups, wg_before; /* groups committed; those below are waited for */
  uint32_t registers, wanted_registers; /* setmaxnreg: of each thread */
  struct tc_move *moves;    /* tensor.h: loads and stores that it has not waited for */
  uint32_t tc_before, tc_after; /* the cluster's tick at its last tcgen05.fence of either kind */
  struct warp_stats stats;
};

struct barrier {
  uint32_t arrived, expected; /* threads; expected 0 = all of the CTA */
  uint32_t waiting;           /* warps, a bit each */
  uint32_t popc;
  bool all, any, red;
  const struct inst *first;   /* who opened this phase */
};
struct fault {
  int code; /* a CUDA result, 0 = none */
  char msg[6000];
};
struct cta {
  struct grid *grid;
  struct cluster *cluster;
  const struct kernel *k;
  uint32_t id[3], rank, linear, threads, nwarps;
  bool done;
  uint8_t *shared;
  uint8_t *written;   /* unwritten.h: of every 4 bytes of it; NULL where that is not looked for */
  uint32_t shared_size;
  uint32_t shared_lo; /* the first address: the kernel's, with the CTA's rank in the cluster above */
  struct warpgroup *groups; /* NULL before the first wgmma */
  struct tensor *tensor;    /* NULL before the first allocation */
  struct race_cta *race;    /* race.h; NULL when races are not looked for */
  struct mbar *mbars;
  uint32_t nmbars, cap_mbars;
  uint32_t free_registers; /* setmaxnreg: given up by warps, a thread's worth each */
  struct barrier bar[NBARRIERS];
  struct warp *warps;
  void *memory;      /* registers, shared and local memory in one piece */
  size_t memory_size;
  uint64_t executed; /* warp instructions */
  uint32_t polls;    /* volatile and acquire loads and atomics since the last turn: signs of waiting for another CTA */
  struct fault fault;
};

enum emu_device { DEV_AUTO, DEV_90, DEV_100, DEV_103 }; /* ORDER: drv_launch.c */
enum emu_schedule { SCHED_EARLY, SCHED_LATE, SCHED_RANDOM };
struct emu_options {
  uint8_t schedule;
  uint8_t uninitialised; /* enum emu_uninitialised, for kernels yet to be decoded */
  bool no_race;         /* does not look for races */
  bool lenient;         /* takes what published kernels rely on for tensor memory: tensor_race.c */
  bool tensor_any;      /* operations on tensor memory keep no order but that of pipelined pairs */
  uint8_t device;       /* enum emu_device */
  uint64_t seed;
  uint32_t threads;     /* 0 = one a core */
  double watchdog;      /* seconds that one launch may take, 0 = no limit */
  char level[8];        /* vector level, "" = the best */
  void (*trace)(void *ctx, const struct wsemu_event *e); /* trace.h; NULL = nobody listens */
  void *trace_ctx;
};

struct emu_launch {
  const struct kernel *kernel;
  uint32_t grid[3], block[3], cluster[3], dynamic_shared;
  bool explicit_cluster;
  const uint8_t *params; /* param_bytes */
  struct unwritten *unwritten; /* unwritten.h: what was read of memory that nothing has written */
  struct emu_options options;
};
struct grid {
  const struct emu_launch *l;
  uint64_t id, clusters;
  double deadline; /* on the clock of ws_emu_late; 0 = none */
  struct grid_run *run;
};

/* Takes a cluster of the grid that has not started, so that it never will; false: there is none. */
bool ws_emu_grid_cancel(struct grid *g, uint64_t *number);
bool ws_emu_late(const struct grid *g); /* the watchdog's time is over */
/* Runs a grid to its end or first fault. Adds to *total, and the seconds that workers spent to *core_seconds. */
int ws_emu_run_grid(const struct emu_launch *l, struct warp_stats *total, double *core_seconds, struct fault *fault);

/* cta.c */
struct cta *ws_emu_cta_new(struct cluster *cl, uint32_t rank, const uint32_t id[3], struct fault *fault);
void ws_emu_cta_free(struct cta *c);
bool ws_emu_warp_ended(struct cta *c); /* true: it was the last one */
void ws_emu_grant_registers(struct cta *c); /* to warps that wait for them, as far as there are */
int ws_emu_barrier(struct warp *w, const struct inst *in, uint32_t id, uint32_t count, bool wait, int red, uint32_t pred);

/* warp.c: lanes and paths */
int ws_emu_warp_run(struct warp *w, uint64_t budget);
int ws_emu_branch(struct warp *w, const struct inst *in, uint32_t taken);
int ws_emu_jump_lanes(struct warp *w, const struct inst *in, const uint32_t *target, uint32_t mask); /* brx: a target a lane */
int ws_emu_exit(struct warp *w);
/* Gathers the lanes of `members` at this instruction. EV_NEXT: all there, w->mask is their union; else block. */
int ws_emu_gather(struct warp *w, const struct inst *in, uint32_t members);
/* Lanes of `group` execute the instruction first, those of the path that are left after them. */
int ws_emu_apart(struct warp *w, const struct inst *in, uint32_t group);
static inline int ws_emu_sync_lanes(struct warp *w, const struct inst *in, uint32_t members) {
  return w->mask == ALL_LANES && members == ALL_LANES ? EV_NEXT : ws_emu_gather(w, in, members);
}

/* fault.c: every message about a running kernel */
void ws_emu_thread_id(const struct warp *w, int lane, uint32_t t[3]); /* %tid */
int ws_emu_fault(struct warp *w, const struct inst *in, int lane, int code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
int ws_emu_bad_address(struct warp *w, const struct inst *in, int lane, enum ptx_space space, uint64_t address, uint32_t bytes,
                       bool write);
void ws_emu_deadlock(struct cluster *cl, int code, const char *headline);

static inline void *ws_emu_slot(const struct warp *w, uint32_t slot) { return w->regs + slot; }
#endif
