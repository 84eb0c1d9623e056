/* What the emulator offers beyond the CUDA driver API. The functions are exported by libwarpscore-emu.so and obtained by
 * dlsym, so a program needs no link dependency. All are thread-safe. */
#ifndef WSEMU_H
#define WSEMU_H
#include <stddef.h>
#include <stdint.h>

struct wsemu_stats {            /* summed over all launches since the last reset */
  uint64_t size;                /* sizeof(struct wsemu_stats), set by the caller */
  uint64_t warp_instructions;   /* instructions issued, one a warp */
  uint64_t global_bytes_read, global_bytes_written;
  uint64_t shared_bytes_read, shared_bytes_written;
  uint64_t tensor_flops;        /* 2*m*n*k a matrix instruction */
  uint64_t exponentials;        /* ex2 and other special-function results, one a lane */
  uint64_t barrier_waits;       /* CTA barriers waited at, one a warp */
  uint64_t async_operations;    /* asynchronous operations of the engine issued */
  uint64_t async_delayed;       /* of these, not performed at issue */
  uint64_t async_reordered;     /* and begun before an older one */
  double kernel_seconds;        /* wall time inside launches */
  double core_seconds;          /* the same, summed over the worker threads while they worked */
};
int wsemuGetStats(struct wsemu_stats *s); /* 0 on success */
void wsemuResetStats(void);

/* The message behind the last error of a launch or load in this process, e.g. with the PTX line of a bad load; "" if none.
 * Copies at most n bytes with the terminator. Returns the message's full length. */
size_t wsemuLastMessage(char *out, size_t n);

/* name "schedule": "early", "late" (the default) or "random:SEED" (when asynchronous operations complete); name "threads":
 * worker threads, "0" = one a core; name "watchdog": seconds that a launch may take, "0" (the default) = no limit; one
 * that lasts longer, whether it hangs or is only slow, ends with CUDA_ERROR_LAUNCH_TIMEOUT;
 * name "uninitialised", for kernels not yet launched: "error" (the default: a kernel that reads a register which no path
 * has written is refused; where some path has not, wsemuWarnings says so), "strict" (both are refused) or "warn" (none), "off": nothing is looked
 * for; reads of memory that nothing has written, in all launches from now on: "strict": a fault, "error" and "warn": wsemuWarnings says so; name "race": "on" (the
 * default: accesses that nothing orders, fences of the async proxy and of tensor memory that are missing are faults), "lenient" (takes what
 * published kernels rely on: mbarriers and barriers that acquire or release fence tensor memory, a register of tcgen05.ld that is read has
 * its data without a wait, the reader may fence the async proxy, an arrival at a peer's mbarrier needs no scope) or "off"; name "device": "sm_90", "sm_100" or "sm_103" (what the device passes for, and whose modules load) or "auto" (the
 * default: an sm_90 that runs modules of all three); name "trace": a file for the events of all launches from now on, one line each, "" = none; name "tensor": "program" (the default: tcgen05 products, copies and
 * commits of one thread happen in the order of issue) or "any" (only pipelined pairs keep their order).
 * Returns 0, or 1 for an unknown name or value. cuInit reads them once from the environment: WSEMU_SCHEDULE,
 * WSEMU_THREADS, WSEMU_WATCHDOG, WSEMU_UNINITIALISED, WSEMU_RACE, WSEMU_DEVICE, WSEMU_TENSOR, WSEMU_TRACE. */
int wsemuSetOption(const char *name, const char *value);

/* ---- the trace: every synchronising event of a launch ---- */

/* What happened. Events of one warp come in its program order, except those marked *, which happen when the asynchronous operation
 * completes and name who issued it. What faults may be told or not. An instruction of many threads is one event, but one for each mbarrier that they name.
 *   object  an mbarrier, in bytes from the start of dynamic shared memory, and target, the rank in the cluster of the CTA that has it;
 *           or the number of a named barrier
 *   count   arrivals, of all threads together; threads of a named barrier (without a count: all of the CTA); N of a wait for groups;
 *           columns allocated; registers
 *   amount  bytes; of a product 2*m*n*k, a warp's share; of loads and stores of tensor memory registers * 128 */
#define WSEMU_EVENTS(X)                                                                                               \
  X(MBAR_INIT, "mbarrier.init")         /* object count */                                                            \
  X(MBAR_INVAL, "mbarrier.inval")       /* object */                                                                  \
  X(MBAR_ARRIVE, "mbarrier.arrive")     /* object count, amount: of .expect_tx */                                     \
  X(MBAR_EXPECT, "mbarrier.expect_tx")  /* object amount, without an arrival */                                       \
  X(MBAR_WAIT, "mbarrier.wait")         /* object parity: the wait has passed */                                      \
  X(MBAR_TRY, "mbarrier.try")           /* object parity: a wait that does not pass yet, perhaps many times */           \
  X(MBAR_BYTES, "mbarrier.complete_tx") /* * object amount */                                                         \
  X(BARRIER_SYNC, "barrier.sync")       /* object count; when the warp arrives */                                     \
  X(BARRIER_ARRIVE, "barrier.arrive")   /* object count */                                                            \
  X(CLUSTER_ARRIVE, "cluster.arrive") X(CLUSTER_WAIT, "cluster.wait")                                                 \
  X(WARP_SYNC, "warp.sync")                                                                                           \
  X(COPY, "cp.async")                   /* amount */                                                                  \
  X(COPY_ARRIVE, "cp.async.arrive")     /* object */                                                                  \
  X(COPY_COMMIT, "cp.async.commit")                                                                                   \
  X(COPY_WAIT, "cp.async.wait")         /* count */                                                                   \
  X(BULK_LOAD, "bulk.load")             /* object amount; of a multicast one for each CTA */                          \
  X(BULK_STORE, "bulk.store")           /* amount */                                                                  \
  X(BULK_COMMIT, "bulk.commit")                                                                                       \
  X(BULK_WAIT, "bulk.wait") X(BULK_WAIT_READ, "bulk.wait.read") /* count */                                           \
  X(WGMMA_FENCE, "wgmma.fence") X(WGMMA, "wgmma") /* amount */                                                        \
  X(WGMMA_COMMIT, "wgmma.commit")                                                                                     \
  X(WGMMA_WAIT, "wgmma.wait")           /* count */                                                                   \
  X(TENSOR_MMA, "tcgen05.mma") X(TENSOR_COPY, "tcgen05.cp") /* amount */                                              \
  X(TENSOR_COMMIT, "tcgen05.commit")    /* object, one for each CTA */                                                \
  X(TENSOR_LD, "tcgen05.ld") X(TENSOR_ST, "tcgen05.st") /* amount */                                                  \
  X(TENSOR_WAIT_LD, "tcgen05.wait.ld") X(TENSOR_WAIT_ST, "tcgen05.wait.st")                                           \
  X(TENSOR_BEFORE, "tcgen05.fence.before") X(TENSOR_AFTER, "tcgen05.fence.after")                                     \
  X(TENSOR_ALLOC, "tcgen05.alloc") X(TENSOR_FREE, "tcgen05.dealloc") X(TENSOR_RELINQUISH, "tcgen05.relinquish") /* count */ \
  X(PROXY_FENCE, "fence.proxy.async")                                                                                 \
  X(REGISTERS, "setmaxnreg")            /* count */                                                                   \
  X(EXIT, "exit")                       /* the warp's last thread has ended */
enum wsemu_event_kind {
#define X(id, name) WSEMU_##id,
  WSEMU_EVENTS(X)
#undef X
  WSEMU_EVENT_KINDS
};
#define WSEMU_NO_OBJECT UINT32_MAX
#define WSEMU_NO_COUNT UINT32_MAX
struct wsemu_event {
  uint32_t size;                /* sizeof(struct wsemu_event): more may follow in later versions */
  uint32_t kind;                /* enum wsemu_event_kind */
  uint32_t cta, rank, warp, lanes; /* CTA of the grid, its rank in the cluster, warp of the CTA, its threads */
  uint32_t ptx_line, loc_line;  /* line of the PTX; of the source that .loc names, 0 = none */
  uint32_t object, target, count, parity;
  uint64_t amount;
};
const char *wsemuEventName(uint32_t kind); /* as in the second column */
/* Calls sink for every event of launches from now on, until it is set anew; NULL = none. A traced launch runs on one worker
 * thread and holds the driver's lock: the sink must not call the driver. Replaces the file of option "trace". Returns 0. */
int wsemuSetTrace(void (*sink)(void *ctx, const struct wsemu_event *e), void *ctx);

struct CUmod_st;
/* The name of a module's entry number `index`, or NULL; it lives as long as the module. */
const char *wsemuEntryName(struct CUmod_st *module, unsigned int index);
struct CUfunc_st;
/* What is suspicious about a kernel that has been decoded (launched or asked for an attribute), one line each: registers
 * that may be read before they are written, a setmaxnreg that the assembler drops, and what its last launch read of shared memory or of an
 * allocation of cuMemAlloc that nothing had written: the first read of each instruction. NULL: only the latter, of all kernels. Copies at most n bytes with the terminator, returns the full length. */
size_t wsemuWarnings(struct CUfunc_st *function, char *out, size_t n);
struct wsemu_param { /* one parameter of a kernel */
  uint64_t bytes;
  int floating, array; /* declared with a floating-point type; declared as an array */
  char name[128], type[16];
};
/* Returns 0, or 1 when there is no such function or parameter. */
int wsemuGetParam(struct CUfunc_st *function, unsigned int index, struct wsemu_param *out);

/* What of a module the emulator cannot run: one line a statement ("kernel 'k': LINE:COL: why: 'name'"), without launching
 * anything. Copies at most n bytes with the terminator; *length is the full length. Returns the number of kernels that
 * would be refused, or -1 when the text does not parse (the line says where). */
int wsemuListUnsupported(const char *ptx, char *out, size_t n, size_t *length);

/* The instruction table as Markdown. Copies at most n bytes with the terminator, returns the full length. */
size_t wsemuCoverage(char *out, size_t n);
/* Whether a kernel that has ended well in this process had an instruction of that row of the table: 1, 0, or -1 behind the last row. */
int wsemuRowsRun(unsigned int row);
#endif
