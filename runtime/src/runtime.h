/* runtime/src: what the files of the loader share. Not installed.
 *
 *   error.c     status and message
 *   manifest.c, manifest_values.c, manifest_map.c  the comments at the head of a .ptx -> struct ws_manifest
 *   entry.c     the parameters that the code declares, held against the manifest
 *   lexer.c     the words of one manifest line
 *   arguments.c a launch checked against a manifest -> parameter values and grid; maps.c: its tensor maps
 *   target.c    which kernel runs where
 *   driver.c    a driver library opened at run time -> the table of entry points
 *   device.c    devices, contexts, the choice of the best one
 *   memory.c    memory, streams, events
 *   load.c      PTX or machine code -> a module; cache.c: compiled kernels in a folder of the caller's
 *   kernel.c    query, plan, launch, free
 *   table.c     which kernel for which problem: a text table
 * Includes the public header and cuda_abi.h; nothing outside runtime/. */
#ifndef WS_RUNTIME_H
#define WS_RUNTIME_H
#include "../include/warpscore.h"
#include "cuda_abi.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- error.c ---- */
enum ws_status ws_rt_fail(struct ws_error_info *err, enum ws_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum ws_status ws_rt_out_of_memory(struct ws_error_info *err, size_t bytes);
/* The bytes of a file with a terminator behind them, to be freed by the caller. */
enum ws_status ws_rt_read_file(const char *path, char **text, size_t *length, struct ws_error_info *err);

/* ---- lexer.c: a cursor over one line; every taker returns false and moves nothing when the word is not there ---- */
struct ws_rt_cursor {
  const char *p, *end;
};
bool ws_rt_take_name(struct ws_rt_cursor *c, const char **name, size_t *n); /* [A-Za-z_$][A-Za-z0-9_$]* */
bool ws_rt_take_word(struct ws_rt_cursor *c, const char **word, size_t *n); /* up to a blank */
bool ws_rt_take_integer(struct ws_rt_cursor *c, int64_t *value);            /* decimal, 0 .. 2^63-1 */
bool ws_rt_take_number(struct ws_rt_cursor *c, double *value);              /* decimal with fraction and exponent, any locale */
bool ws_rt_take_char(struct ws_rt_cursor *c, char wanted);
bool ws_rt_at_end(struct ws_rt_cursor *c);
bool ws_rt_equal(const char *s, size_t n, const char *literal);

/* ---- manifest.c ---- */
enum {
  WS_RT_MANIFEST_VERSION = 1,
  WS_RT_MAX_MANIFEST = 64 * 1024, /* bytes up to the end line */
  WS_RT_MAX_TENSORS = 16,
  WS_RT_MAX_DIMS = 32,            /* names of dims */
  WS_RT_MAX_SCALARS = 16,
  WS_RT_MAX_PARAMS = 96,
  WS_RT_MAX_FACTORS = 8,
  WS_RT_MAX_MULTIPLES = 8,
  WS_RT_MAX_SETTINGS = 64,
  WS_RT_MAX_MAPS = 16,
  WS_RT_MAP_RANK = 5,             /* of a tensor map: the hardware's limit */
  WS_RT_MAP_ALIGN = 16,           /* bytes: of its address and strides */
};

enum ws_rt_param_type { WS_RT_U64, WS_RT_S64, WS_RT_U32, WS_RT_S32, WS_RT_F32, WS_RT_F64, WS_RT_MAP, WS_RT_PARAM_TYPES };
extern const char *const ws_rt_param_types[WS_RT_PARAM_TYPES]; /* "u64", ...: of manifest and PTX; "map": .b8 [128] */
enum ws_rt_source { WS_RT_DATA, WS_RT_STRIDE, WS_RT_DIM, WS_RT_SCALAR, WS_RT_TENSOR_MAP };

struct ws_rt_param {
  enum ws_rt_param_type type;
  enum ws_rt_source source;
  size_t index;  /* tensor, dim name, scalar or map */
  int dim;       /* of the tensor, for a stride */
  double factor; /* of a scalar */
};

struct ws_rt_map { /* a window into a tensor, innermost dim first as the driver counts */
  const char *name;
  size_t tensor;
  int rank, dim[WS_RT_MAP_RANK]; /* of the tensor */
  uint32_t box[WS_RT_MAP_RANK];
  uint32_t inside[WS_RT_MAP_RANK], step[WS_RT_MAP_RANK]; /* of a dim that is split in two: the extent of its inner part, 0 elsewhere;
                                                            how much of it the outer part steps over, 1 elsewhere */
  int sole;                                              /* a dim that has no place in the map, so that it has to be 1; -1 = none */
  unsigned int type, swizzle, l2; /* the driver's constants */
};

struct ws_rt_factor { /* ceil(value / divisor) */
  bool is_dim;
  size_t dim;
  int64_t number, divisor;
};

struct ws_manifest {
  struct ws_kernel_info info;
  struct ws_tensor_info tensors[WS_RT_MAX_TENSORS];
  size_t dim_of[WS_RT_MAX_TENSORS][WS_MAX_RANK]; /* index into dims for a named dim */
  size_t ntensors;
  const char *dims[WS_RT_MAX_DIMS];
  size_t ndims;
  struct ws_scalar_info scalars[WS_RT_MAX_SCALARS];
  size_t nscalars;
  struct ws_rt_param params[WS_RT_MAX_PARAMS];
  size_t nparams;
  struct ws_rt_map maps[WS_RT_MAX_MAPS];
  size_t nmaps;
  struct ws_rt_factor factors[WS_RT_MAX_FACTORS];
  size_t nfactors;
  struct {
    size_t dim, of;
    int64_t ratio; /* dim = ratio * of; 0 = any multiple */
  } multiples[WS_RT_MAX_MULTIPLES];
  size_t nmultiples;
  struct {
    const char *name, *value;
  } settings[WS_RT_MAX_SETTINGS];
  size_t nsettings;
  char *pool; /* all strings */
  size_t pool_used, pool_size;
};

/* ---- entry.c: code is the text behind the manifest ---- */
enum ws_status ws_rt_check_entry(const struct ws_manifest *m, const char *code, const char *end, struct ws_error_info *err);

/* ---- arguments.c ---- */
union ws_rt_value {
  uint64_t u64;
  int64_t s64;
  uint32_t u32;
  int32_t s32;
  float f32;
  double f64;
};
struct ws_rt_tiles { /* what the driver wants to know of one launch's tensor, beside struct ws_rt_map */
  uint64_t address, extents[WS_RT_MAP_RANK], strides[WS_RT_MAP_RANK]; /* strides[0] belongs to dim 1 */
};
struct ws_rt_call {
  bool planning;       /* in: addresses do not matter */
  uint32_t device_sms; /* in: 0 = not known */
  uint32_t sms;        /* out, as all below: multiprocessors that a persistent grid counts on */
  uint64_t grid;
  size_t workspace_bytes;
  union ws_rt_value values[WS_RT_MAX_PARAMS]; /* [nparams] */
  struct ws_rt_tiles tiles[WS_RT_MAX_MAPS];   /* [nmaps] */
};
/* Checks a launch and computes the kernel's parameters, the grid and the workspace. */
enum ws_status ws_rt_arguments(const struct ws_manifest *m, const struct ws_launch *launch, struct ws_rt_call *call,
                               struct ws_error_info *err);

/* "dim 1 (heads)" or "dim 3" */
const char *ws_rt_dim_word(const struct ws_tensor_info *t, int d, char *out, size_t size);

/* ---- maps.c ---- */
/* One map of a launch whose tensor has passed all other checks; stride in bytes, of the tensor's dims. */
enum ws_status ws_rt_tiles(const struct ws_manifest *m, size_t map, const struct ws_tensor *t, const int64_t *stride,
                           struct ws_rt_tiles *out, struct ws_error_info *err);

/* ---- driver.c ---- */
struct ws_rt_driver {
  void *library;
  struct ws_cu_api api;
  size_t (*last_message)(char *out, size_t n); /* the emulator's; NULL on a real driver */
  int version;                                 /* 1000 * major + 10 * minor */
};
enum ws_status ws_rt_driver_open(const char *path, struct ws_rt_driver *d, struct ws_error_info *err);
void ws_rt_driver_close(struct ws_rt_driver *d);
/* The emulator's paths to try in turn; index from 0; false past the last one. */
bool ws_rt_emulator_path(const struct ws_device_options *options, int index, char *out, size_t size);
/* A failed driver call: "WHAT: NAME (text)", out of memory told apart. */
enum ws_status ws_rt_driver_fail(const struct ws_rt_driver *d, ws_cu_result result, struct ws_error_info *err,
                                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- device.c ---- */
struct ws_device {
  struct ws_rt_driver driver;
  struct ws_device_info info;
  ws_cu_device handle;
  struct CUctx_st *context;
  bool foreign; /* the context is the caller's */
  atomic_int references;
  char *cache_folder; /* or NULL */
  char name[32], model[256], choice[512];
};
void ws_rt_device_retain(struct ws_device *device);
/* Makes the device's context current for the calling thread, and back. */
enum ws_status ws_rt_enter(const struct ws_device *device, bool *pushed, struct ws_error_info *err);
void ws_rt_leave(const struct ws_device *device, bool pushed);

/* ---- load.c ---- */
struct ws_kernel {
  struct ws_device *device;
  struct ws_manifest *manifest;
  struct CUmod_st *module;
  struct CUfunc_st *function;
  struct ws_kernel_resources resources;
  struct ws_load_info load;
  char cache_note[512]; /* behind load.cache */
};

/* ---- cache.c: files NAME.wscubin in a folder of the caller's ---- */
struct ws_rt_cache_key {
  const char *ptx;
  size_t length;
  const char *target;
  int driver_version, major, minor;
};
struct ws_rt_cache_entry {
  char *file; /* all of it; to be freed */
  const char *cubin;
  size_t cubin_length;
};
/* Both never fail the load: note says in words what became of it. */
bool ws_rt_cache_find(const char *folder, const struct ws_rt_cache_key *key, struct ws_rt_cache_entry *entry, char *note,
                      size_t size);
void ws_rt_cache_store(const char *folder, const struct ws_rt_cache_key *key, const void *cubin, size_t length, char *note,
                       size_t size);
bool ws_rt_whole_elf(const void *image, size_t n);

/* ---- target.c ---- */
/* Whether a kernel for `target` runs on compute capability major.minor; reason (may be NULL) says what it needs. */
bool ws_rt_target_runs(const char *target, int major, int minor, char *reason, size_t size);
/* The newest PTX version (10 * major + minor) that a driver of this CUDA version compiles; 0 = not known. */
int ws_rt_ptx_of_driver(int driver_version);
enum ws_status ws_rt_check_ptx_version(const struct ws_kernel_info *kernel, int driver_version, struct ws_error_info *err);
#endif
