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
 * worker threads, "0" = one a core; name "watchdog": seconds that a launch may take, "0" (the default) = no limit;
 * name "uninitialised", for kernels not yet launched: "error" (the default: a kernel that reads a register which no path
 * has written is refused; where some path has not, wsemuWarnings says so), "strict" (both are refused) or "warn" (none); name "race": "on" (the
 * default: wgmma or a bulk copy that reads shared memory which a warp wrote without a proxy fence since is a fault), "lenient" (mbarriers and barriers that acquire or release fence
 * tensor memory, too, and a register of tcgen05.ld that is read has its data without a wait, as published kernels rely on) or "off"; name "device": "sm_90", "sm_100" or "sm_103" (what the device passes for, and whose modules load) or "auto" (the
 * default: an sm_90 that runs modules of all three); name "tensor": "program" (the default: tcgen05 products, copies and
 * commits of one thread happen in the order of issue) or "any" (only pipelined pairs keep their order).
 * Returns 0, or 1 for an unknown name or value. cuInit reads them once from the environment: WSEMU_SCHEDULE,
 * WSEMU_THREADS, WSEMU_WATCHDOG, WSEMU_UNINITIALISED, WSEMU_RACE, WSEMU_DEVICE, WSEMU_TENSOR. */
int wsemuSetOption(const char *name, const char *value);

struct CUmod_st;
/* The name of a module's entry number `index`, or NULL; it lives as long as the module. */
const char *wsemuEntryName(struct CUmod_st *module, unsigned int index);
struct CUfunc_st;
/* What is suspicious about a kernel that has been decoded (launched or asked for an attribute), one line each: registers
 * that may be read before they are written, a setmaxnreg that the assembler drops. Copies at most n bytes with the terminator, returns the full length. */
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
#endif
