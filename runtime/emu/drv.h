/* The driver API's objects. Every entry point takes the one lock; a launch holds it until the kernel has ended, so calls
 * of other threads wait meanwhile. Internal to drv_*.c.
 *
 * After a fault in a kernel its context is broken: launches, copies and synchronisation return the fault's code until
 * the module that faulted is unloaded, or the context is destroyed or reset. Releasing memory and objects still works. */
#ifndef WS_EMU_DRV_H
#define WS_EMU_DRV_H
#include "../src/cuda_abi.h"
#include "machine.h"
#include "wsemu.h"
#include <pthread.h>

#define API __attribute__((visibility("default"))) ws_cu_result

enum { DRV_MAX_SM = 103, DRV_MAX_PTX = 91, DRV_VERSION = 13000,
       DRV_SHARED_OPTIN = 227 * 1024, DRV_SHARED_SM = 228 * 1024, DRV_SHARED_DEFAULT = 48 * 1024, DRV_MAX_THREADS = 1024, DRV_MAX_CLUSTER = 16, DRV_PORTABLE_CLUSTER = 8 };

/* What the device passes for: its compute capability times 10, its SMs. Option "device"; "auto" is an sm_90 for those who ask,
 * and runs modules of all targets. */
struct drv_device { const char *name; uint32_t sm, sms; };
const struct drv_device *ws_emu_device(void);
/* NULL, or why the device does not run modules of this target. */
const char *ws_emu_target_refused(uint32_t sm, char suffix);

struct CUctx_st {
  struct CUctx_st *next;    /* all contexts ever made: their memory stays, so that an old handle is recognised */
  bool alive, primary;
  int uses;                 /* of the primary context */
  ws_cu_result broken;      /* the fault that broke it */
  struct CUmod_st *culprit; /* and the module it happened in */
  struct CUmod_st *modules;
  uint64_t *allocs;         /* device and host memory it owns; bit 0 marks host memory */
  size_t nallocs, cap_allocs;
};
struct CUfunc_st {
  struct CUfunc_st *next;
  struct CUmod_st *module;
  struct ptx_func *f;
  struct kernel *kernel;    /* decoded at the first launch or query */
  char *unwritten;          /* lines of its last launch: memory that it read and nothing had written; or NULL */
  int max_dynamic;          /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  bool non_portable;        /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
};
struct CUmod_st {
  struct CUmod_st *next;
  struct CUctx_st *ctx;
  struct ptx_module *ptx;
  struct CUfunc_st *funcs;
  uint64_t *vars;           /* addresses of its variables */
  size_t nvars;
};
struct CUstream_st { struct CUstream_st *next; struct CUctx_st *ctx; };
struct CUevent_st { struct CUevent_st *next; struct CUctx_st *ctx; double time; bool recorded, timing; };

enum { DRV_ROW_WORDS = 16 }; /* enough for 1024 rows */
struct drv {
  pthread_mutex_t lock;
  bool initialized;
  struct CUctx_st *contexts, *primary;
  struct CUstream_st *streams;
  struct CUevent_st *events;
  struct emu_options options;
  struct warp_stats stats;
  double kernel_seconds, core_seconds;
  uint64_t rows_run[DRV_ROW_WORDS]; /* rows of the instruction table, a bit each, of kernels that have ended well */
  char message[8192];
};
/* The emulated driver is one device for the whole process: this is its state. */
extern struct drv ws_emu_drv __attribute__((visibility("hidden")));

ws_cu_result ws_emu_enter(void);                        /* takes the lock; on an error it is not held */
ws_cu_result ws_emu_enter_ctx(struct CUctx_st **ctx);   /* the same with a current context */
ws_cu_result ws_emu_enter_work(struct CUctx_st **ctx);  /* the same with one that is not broken */
ws_cu_result ws_emu_leave(ws_cu_result r);              /* gives the lock back */
ws_cu_result ws_emu_say(ws_cu_result r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ws_emu_drop_module(struct CUmod_st *m);
void ws_emu_drop_context(struct CUctx_st *c);
bool ws_emu_own(struct CUctx_st *c, uint64_t address, bool host);
bool ws_emu_disown(struct CUctx_st *c, uint64_t address, bool host);
bool ws_emu_is_stream(const struct CUstream_st *s);     /* NULL and the two special handles are streams */
bool ws_emu_is_function(const struct CUfunc_st *f);
ws_cu_result ws_emu_function_kernel(struct CUfunc_st *f);
struct launch_shape { uint32_t grid[3], block[3], cluster[3] /* zeros: the launch gives none */, dynamic; };
ws_cu_result ws_emu_launch(struct CUctx_st *c, struct CUfunc_st *f, const struct launch_shape *shape, void **params, void **extra);
int ws_emu_set_option(const char *name, const char *value); /* the lock is held; 1: unknown */
double ws_emu_now(void);
#endif
