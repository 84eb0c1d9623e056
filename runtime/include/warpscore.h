/* libwarpscore: load the kernels that warpscore generates and launch them on a GPU or on the embedded emulator.
 *
 * A kernel is one text file, k.ptx. Its head (a manifest, comment lines that anybody can read) says which tensors it
 * wants, how it is launched and what it runs on, so that the same few calls launch any of them. A whole program, for an
 * attention kernel in bf16 with head dim 64 (`warpscore gen specs/fa2_forward.yaml -D head_dim=64 -o k.ptx`):
 *
 *   int main(void) {
 *     static uint16_t host[1 * 4 * 200 * 64];                         // q, k and v; then o. Here all zero
 *     const int64_t shape[] = {1, 4, 200, 64};                        // [batch, heads, length, head dim], as in the manifest
 *     struct ws_error_info err;
 *     struct ws_device *device = NULL;
 *     struct ws_kernel *kernel = NULL;
 *     uint64_t q = 0, o = 0, lse = 0;                                 // device addresses: these, or any of your own
 *     int bad = ws_device_open(NULL, NULL, NULL, &device, &err) ||    // the best GPU, or the emulator
 *               ws_kernel_load_file(device, "k.ptx", &kernel, &err) ||
 *               ws_memory_alloc(device, sizeof host, &q, &err) || ws_memory_alloc(device, sizeof host, &o, &err) ||
 *               ws_memory_alloc(device, 1 * 4 * 200 * 4, &lse, &err) ||
 *               ws_memory_upload(device, q, host, sizeof host, NULL, &err);
 *     const struct ws_tensor t[] = {{"q", q, WS_DTYPE_BF16, 4, shape, NULL}, {"k", q, WS_DTYPE_BF16, 4, shape, NULL},
 *                                   {"v", q, WS_DTYPE_BF16, 4, shape, NULL}, {"o", o, WS_DTYPE_BF16, 4, shape, NULL},
 *                                   {"lse", lse, WS_DTYPE_F32, 3, shape, NULL}};
 *     const struct ws_launch l = {.tensors = t, .ntensors = 5};       // .stream: a CUstream or cudaStream_t of yours
 *     bad = bad || ws_kernel_launch(kernel, &l, &err) ||              // queued; nothing waits, nothing is allocated
 *           ws_memory_download(device, host, o, sizeof host, NULL, &err);
 *     if (bad) puts(err.message);
 *     ws_memory_free(device, q, NULL), ws_memory_free(device, o, NULL), ws_memory_free(device, lse, NULL);
 *     ws_kernel_free(kernel);
 *     ws_device_close(device);
 *     return bad;
 *   }
 *
 * What the tensors of problem attention.forward mean: o = softmax(scale * q k^T) v; query head h reads kv head h * kv_heads /
 * heads; causal (a parameter of the spec, see the manifest's `set` lines): query i of m sees key j of n where j <= i + n - m;
 * lse, the natural logarithm of the sum of exponentials (the manifest's lse_base), is -inf, and o is 0, for a query without
 * keys; scale is the scalar of that name, more than 0, by default 1 / sqrt(head dim). A spec's own mathematics stands in the lines
 * `set: reference_...` of the manifest.
 *
 * Every fallible call returns WS_OK (0) or says in err.message what is wrong, what was found, what is expected and what
 * to do; on WS_OK err is left alone, and err may be NULL where nobody reads it. Which tensors, dims, types and scalars a
 * kernel has: read its first lines, or ws_manifest_tensor. Memory, streams and events that a program has already (from
 * the CUDA runtime, PyTorch, ...) are used as they are: see struct ws_device_options on contexts.
 *
 * Build with CMake: find_package(warpscore), link warpscore::warpscore or warpscore::warpscore-static;
 * warpscore_embed_ptx(program k.ptx k_ptx) compiles a kernel into the program as the array k_ptx[k_ptx_length], declared
 * in k_ptx.h, for ws_kernel_load_text. Or: cc program.c $(pkg-config --cflags --libs warpscore). The library depends on
 * libc and libm alone: the CUDA driver and the emulator are opened at run time. Nothing here exits, prints, or keeps global state.
 *
 * Thread-safety: all functions may be called from several threads at once, on the same objects too, except that an
 * object must not be closed or freed while another call uses it. An err belongs to one call at a time.
 *
 * Also: warpscore_dlpack.h (tensors of DLPack), and below: a cache of compiled kernels, a table to choose kernels by. */
#ifndef WARPSCORE_H
#define WARPSCORE_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WS_API __attribute__((visibility("default")))
#else
#define WS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

enum ws_status {
  WS_OK = 0,
  WS_ERR_ARGUMENT,    /* an argument of the call is wrong: nothing was launched */
  WS_ERR_MANIFEST,    /* the kernel's text has no manifest, or a damaged one */
  WS_ERR_IO,          /* a file cannot be read */
  WS_ERR_NO_DEVICE,   /* no driver, no emulator, no such device, or none that can run the kernel */
  WS_ERR_UNSUPPORTED, /* this device or driver cannot run this kernel */
  WS_ERR_COMPILE,     /* the driver refused the PTX text; its log is in the message */
  WS_ERR_MEMORY,      /* host or device memory ran out */
  WS_ERR_DRIVER,      /* another driver call failed; driver_result tells how */
  WS_ERR_NO_KERNEL    /* the table of kernels has none for this problem */
};

enum { WS_MESSAGE_SIZE = 2048, WS_MAX_RANK = 8 };

struct ws_error_info {
  enum ws_status status;
  int driver_result;             /* the driver's result code, 0 where no driver call failed */
  char message[WS_MESSAGE_SIZE]; /* always terminated; long compiler logs are cut */
};

WS_API const char *ws_version(void);                        /* of the library, "0.1.0" */
WS_API const char *ws_status_name(enum ws_status status);   /* "WS_ERR_ARGUMENT"; never NULL */

/* ---- the manifest: what a generated kernel says about itself ---- */

enum ws_dtype {
  WS_DTYPE_NONE = 0, /* in struct ws_tensor: not checked */
  WS_DTYPE_F16,
  WS_DTYPE_BF16,
  WS_DTYPE_F32,
  WS_DTYPE_E4M3,
  WS_DTYPE_E5M2,
  WS_DTYPE_I32
};
WS_API const char *ws_dtype_name(enum ws_dtype type);  /* "bf16" */
WS_API size_t ws_dtype_size(enum ws_dtype type);       /* bytes; 0 for WS_DTYPE_NONE */

enum ws_direction {
  WS_IN,
  WS_OUT,
  WS_INOUT,
  WS_WORKSPACE /* scratch: contents do not matter before the kernel and mean nothing after it; see struct ws_launch */
};

struct ws_dim_info {
  const char *name; /* bound by the shapes at launch; NULL = fixed */
  int64_t extent;   /* of a fixed dim */
};

struct ws_tensor_info {
  const char *name;
  enum ws_direction direction;
  enum ws_dtype type;
  int rank;
  struct ws_dim_info dims[WS_MAX_RANK];
  int strided[WS_MAX_RANK]; /* 1: the kernel takes this dim's stride; 0: it must be packed (see ws_tensor.stride) */
  uint32_t align;           /* bytes: of the data pointer and of every stride; at least 16 where the kernel has a tensor map */
};

struct ws_scalar_info {
  const char *name;
  enum ws_dtype type;
  double value; /* taken where the launch gives none */
};

struct ws_kernel_info {
  const char *entry, *target, *problem;      /* "fa2_forward", "sm_80", "attention.forward" */
  const char *schedule, *tool;               /* "" where the manifest has none */
  const char *lse_base;                      /* "e", "2" or "" */
  const char *checked;                       /* the protocol verdict: "clean", "review" or "no" */
  const char *grid;                          /* as written: "queries/128 * heads * batch", "persistent 2 of ..." */
  uint32_t persistent;                       /* CTAs for each multiprocessor in use; 0 = the grid follows the shapes alone */
  uint32_t block;                            /* threads a CTA */
  uint32_t shared;                           /* dynamic shared memory a CTA, bytes */
  uint32_t registers;                        /* upper bound a thread, 0 = unknown */
  uint32_t ptx_major, ptx_minor;             /* the text's .version; 0.0 where there is no text */
  uint32_t cluster;                          /* CTAs of a cluster, along x; 1 = no clusters */
};

struct ws_manifest; /* a checked description, read from the head of a .ptx */

/* Reads the manifest of a kernel's text (the code behind it is not needed) or of a file. The manifest is a copy:
 * text may be freed. WS_ERR_MANIFEST, WS_ERR_IO, WS_ERR_MEMORY. */
WS_API enum ws_status ws_manifest_parse(const char *text, size_t length, struct ws_manifest **out,
                                        struct ws_error_info *err);
WS_API enum ws_status ws_manifest_read(const char *path, struct ws_manifest **out, struct ws_error_info *err);
WS_API void ws_manifest_free(struct ws_manifest *manifest); /* NULL is fine */

/* Everything returned lives as long as the manifest. The index functions return NULL past the end; all do for NULL. */
WS_API const struct ws_kernel_info *ws_manifest_kernel(const struct ws_manifest *manifest);
WS_API const struct ws_tensor_info *ws_manifest_tensor(const struct ws_manifest *manifest, size_t index);
WS_API const struct ws_scalar_info *ws_manifest_scalar(const struct ws_manifest *manifest, size_t index);
/* The value of the spec's parameter, or NULL; the name of the index-th one, *value (unless value is NULL) its value. */
WS_API const char *ws_manifest_setting(const struct ws_manifest *manifest, const char *name);
WS_API const char *ws_manifest_setting_at(const struct ws_manifest *manifest, size_t index, const char **value);

/* ---- devices ---- */

struct ws_device; /* a device with its primary context retained; closed when the last kernel on it is freed, too */

struct ws_device_options {   /* 0, NULL = default */
  const char *driver_path;   /* the CUDA driver; default: "libcuda.so.1" as the dynamic loader finds it */
  const char *emulator_path; /* default: $WARPSCORE_EMU, else libwarpscore-emu.so beside this library or program, else in
                                the library folder of a program's own installation, else as the dynamic loader finds it */
  void *context;             /* the CUcontext (of driver_path's driver) that kernels and memory shall live in; the caller keeps
                                it alive. Default: the device's primary context, which the CUDA runtime, PyTorch, JAX and
                                CuPy use, too */
  const char *cache_folder;  /* where compiled kernels are kept from one run of a program to the next (created if its parent
                                exists); default: nowhere. Only what you trust should be able to write there */
};

struct ws_device_info {
  const char *name;        /* "cuda:0" or "emu" */
  const char *model;       /* "NVIDIA H200" */
  const char *choice;      /* for "best": why this one, in words; else "" */
  int emulator;            /* 1: the emulator */
  int ordinal;             /* N of "cuda:N"; 0 for the emulator */
  int major, minor;        /* compute capability */
  int multiprocessors;
  int driver_version;      /* 1000 * major + 10 * minor of the CUDA version that the driver supports */
  uint64_t memory;         /* bytes */
  uint32_t shared_per_cta; /* the most dynamic shared memory that a CTA can ask for, bytes */
};

/* Opens "cuda:N", "emu", or (NULL or "best") the GPU of the highest compute capability that can run the kernel of
 * manifest, then the emulator. manifest NULL = any kernel; options NULL = defaults (the strings are copied). With
 * options->context the device is the one of that context: name must be NULL or that device's.
 * WS_ERR_ARGUMENT for another name, WS_ERR_NO_DEVICE, WS_ERR_UNSUPPORTED (a named device that cannot run the kernel).
 *
 * Several devices, several contexts: open each of them, load each kernel on each. No call changes the context that is
 * current for the calling thread when it returns. */
WS_API enum ws_status ws_device_open(const char *name, const struct ws_manifest *manifest,
                                     const struct ws_device_options *options, struct ws_device **out,
                                     struct ws_error_info *err);
WS_API void ws_device_close(struct ws_device *device); /* NULL is fine */
WS_API const struct ws_device_info *ws_device_get_info(const struct ws_device *device); /* lives as long as the device */
WS_API enum ws_status ws_device_synchronize(struct ws_device *device, struct ws_error_info *err);

/* A function that the device's driver library exports, or NULL: for driver calls that this library does not wrap, and
 * for what the emulator offers beyond them. Cast it to the function's type. */
WS_API void *ws_device_symbol(const struct ws_device *device, const char *name);

/* ---- memory, streams, events: thin helpers for programs that have no CUDA code of their own ----
 * Addresses are the driver's (CUdeviceptr); streams and events are the driver's handles (CUstream, CUevent) as void *.
 * A NULL stream is the driver's default stream. */

WS_API enum ws_status ws_memory_alloc(struct ws_device *device, size_t bytes, uint64_t *address, struct ws_error_info *err);
WS_API enum ws_status ws_memory_free(struct ws_device *device, uint64_t address, struct ws_error_info *err); /* 0 is fine */
/* Host memory that the device reads and writes at the same address: what a kernel left there can be read after it failed. */
WS_API enum ws_status ws_host_alloc(struct ws_device *device, size_t bytes, void **address, struct ws_error_info *err);
WS_API enum ws_status ws_host_free(struct ws_device *device, void *address, struct ws_error_info *err); /* NULL is fine */
/* Host to device, device to host: ordered on the stream, complete on return. */
WS_API enum ws_status ws_memory_upload(struct ws_device *device, uint64_t to, const void *from, size_t bytes, void *stream,
                                       struct ws_error_info *err);
WS_API enum ws_status ws_memory_download(struct ws_device *device, void *to, uint64_t from, size_t bytes, void *stream,
                                         struct ws_error_info *err);
/* Device to device, and a byte value to all bytes: queued on the stream. */
WS_API enum ws_status ws_memory_copy(struct ws_device *device, uint64_t to, uint64_t from, size_t bytes, void *stream,
                                     struct ws_error_info *err);
WS_API enum ws_status ws_memory_fill(struct ws_device *device, uint64_t to, int value, size_t bytes, void *stream,
                                     struct ws_error_info *err);

WS_API enum ws_status ws_stream_create(struct ws_device *device, void **stream, struct ws_error_info *err);
WS_API enum ws_status ws_stream_destroy(struct ws_device *device, void *stream, struct ws_error_info *err);
WS_API enum ws_status ws_stream_synchronize(struct ws_device *device, void *stream, struct ws_error_info *err);

/* Whether all that was queued on the stream is done, without waiting: 1 or 0. An error is that of the work. */
WS_API enum ws_status ws_stream_done(struct ws_device *device, void *stream, int *done, struct ws_error_info *err);

WS_API enum ws_status ws_event_create(struct ws_device *device, void **event, struct ws_error_info *err);
WS_API enum ws_status ws_event_destroy(struct ws_device *device, void *event, struct ws_error_info *err);
WS_API enum ws_status ws_event_record(struct ws_device *device, void *event, void *stream, struct ws_error_info *err);
/* Waits for the second event, then gives the time between the two in milliseconds. */
WS_API enum ws_status ws_event_elapsed(struct ws_device *device, void *from, void *to, float *milliseconds,
                                       struct ws_error_info *err);

/* ---- kernels ---- */

struct ws_kernel; /* a loaded kernel; keeps its device open */

/* Loads a generated .ptx from a file or from memory (a NUL behind the text may be counted or not): the manifest is checked
 * against the code, then the device and driver against it, then the driver compiles the text (tenths of a second), unless
 * the device's cache folder has the result (see below). The text may be freed afterwards. */
WS_API enum ws_status ws_kernel_load_file(struct ws_device *device, const char *path, struct ws_kernel **out,
                                          struct ws_error_info *err);
WS_API enum ws_status ws_kernel_load_text(struct ws_device *device, const char *text, size_t length,
                                          struct ws_kernel **out, struct ws_error_info *err);
/* The same from machine code: the manifest (or the whole .ptx that the cubin was assembled from) and the cubin. */
WS_API enum ws_status ws_kernel_load_cubin(struct ws_device *device, const char *text, size_t length, const void *cubin,
                                           size_t cubin_length, struct ws_kernel **out, struct ws_error_info *err);
WS_API void ws_kernel_free(struct ws_kernel *kernel); /* NULL is fine */

WS_API const struct ws_manifest *ws_kernel_manifest(const struct ws_kernel *kernel); /* lives as long as the kernel */

/* The emulator assembles nothing: registers are 0 there (not known), nothing is spilled, and ctas_per_sm is what threads and
 * shared memory allow. */
struct ws_kernel_resources {
  int registers;      /* a thread; 0 = not known */
  int local_bytes;    /* a thread: 0 = nothing is spilled */
  int static_shared;  /* bytes a CTA, beside the manifest's dynamic ones */
  int ctas_per_sm;    /* resident at once */
};
WS_API const struct ws_kernel_resources *ws_kernel_get_resources(const struct ws_kernel *kernel);

/* How the kernel came to be. With a cache folder, an entry is one file, named by a hash and checked against the whole PTX
 * text, its target, the driver's CUDA version, the device's compute capability and a checksum of its machine code. Any
 * number of processes may share a folder. A cache that cannot be read or written is never an error: the kernel is compiled
 * and `cache` says why. Old entries are never removed; delete any of them at any time. */
enum ws_load_source {
  WS_LOAD_COMPILED, /* by the driver, from PTX (the driver may have it in a cache of its own) */
  WS_LOAD_CACHED,   /* from the cache folder */
  WS_LOAD_CUBIN     /* from the caller's machine code */
};
struct ws_load_info {
  enum ws_load_source source;
  double seconds;       /* from PTX text or machine code to a kernel on the device */
  const char *cache;    /* "" without a cache folder, else what became of it: "taken from FILE", "stored in FILE", ... */
};
WS_API const struct ws_load_info *ws_kernel_get_load_info(const struct ws_kernel *kernel); /* lives as long as the kernel */

struct ws_tensor {
  const char *name;      /* as in the manifest */
  uint64_t data;         /* device address; may be 0 where an extent is 0 */
  enum ws_dtype type;     /* checked unless WS_DTYPE_NONE */
  int rank;
  const int64_t *shape;  /* [rank], elements */
  const int64_t *stride; /* [rank], in ELEMENTS, like PyTorch's; NULL = packed: the last dim is contiguous, each other
                            one's stride is the next one's extent times its stride. Strides of dims of extent 1 do not
                            matter. Strides are >= 0; an output's elements must not overlap. */
};

struct ws_scalar {
  const char *name;
  double value;
};

struct ws_launch { /* zero what you do not use: struct ws_launch l = {0} */
  const struct ws_tensor *tensors; /* all that the manifest names, in any order; workspace tensors may be left out */
  size_t ntensors;
  const struct ws_scalar *scalars; /* those that shall differ from the manifest's default */
  size_t nscalars;
  void *stream;                    /* the caller's CUstream; NULL = the default stream */
  uint64_t workspace;              /* device memory for the workspace tensors that are left out, aligned to 256 bytes;
                                      launches that may run at once need one each */
  size_t workspace_bytes;          /* its size: at least what ws_kernel_plan says */
  uint32_t sm_count;               /* of persistent kernels: multiprocessors to use, 0 = all that the device has ... */
  uint32_t sm_margin;              /* ... less these, which are left to other kernels (communication, for instance) */
};

/* Checks all arguments against the manifest, then queues the kernel on the stream. No allocation, no synchronization:
 * fit for stream capture into a graph (the addresses and shapes are those of the capture). The launch and all that it
 * points to may be gone when the call returns; device memory and kernel must stay until the kernel has run (the emulator
 * has run it when the call returns). An empty output is no launch and WS_OK. WS_ERR_ARGUMENT leaves all memory untouched; a
 * fault of the running kernel shows at the next synchronization, as always with CUDA (on the emulator at the launch, with
 * the line of the PTX). Whether different tensors overlap each other is the caller's business. */
WS_API enum ws_status ws_kernel_launch(const struct ws_kernel *kernel, const struct ws_launch *launch,
                                       struct ws_error_info *err);

/* What a launch will take, before memory is there for it: all of the launch is checked but addresses, which may be 0. */
struct ws_plan {
  uint64_t grid;          /* CTAs; 0 = there is nothing to do */
  uint32_t block, shared; /* threads a CTA, bytes of dynamic shared memory a CTA */
  uint32_t sms;           /* multiprocessors that a persistent grid counts on; 0 for other kernels */
  size_t workspace_bytes; /* for struct ws_launch; 0 = none is needed */
};
WS_API enum ws_status ws_kernel_plan(const struct ws_kernel *kernel, const struct ws_launch *launch, struct ws_plan *plan,
                                     struct ws_error_info *err);

/* The checks of ws_kernel_launch alone, without a device. grid may be NULL; *grid is the number of CTAs, for which a
 * persistent kernel needs launch->sm_count. */
WS_API enum ws_status ws_manifest_check_launch(const struct ws_manifest *manifest, const struct ws_launch *launch,
                                               uint64_t *grid, struct ws_error_info *err);

/* ---- a table of kernels: which file for which problem on which device ----
 * A text file for people to edit. `#` starts a comment; the first line is `warpscore table 1`; each other line is a kernel:
 *
 *   problem            type  head_dim  mask    target   queries  keys   file
 *   attention.forward  bf16  128       causal  sm_100a  *        *      fa4_128_causal.ptx
 *   attention.forward  bf16  128       causal  sm_80    1-256    4096-  short_128_causal.ptx
 *   attention.forward  bf16  128       causal  sm_80    *        *      fa2_128_causal.ptx
 *
 * (the line of titles is a comment: start it with #). The first line that fits is taken, so better kernels stand higher. `*`
 * fits anything (not as a target), N alone N, N-M from N to M, N- and -M are open on one side. Files are relative to the
 * table's folder. A target is the kernel's own: sm_80 runs on compute capability 8.0 and all later ones, sm_90a and the
 * like on their own alone. The masks none and causal are plain attention; a kernel with a window or a score of its own
 * stands under another word of your choice, which ws_need repeats. */

struct ws_table;
/* folder: what relative files are relative to, NULL = the process's own. WS_ERR_MANIFEST: a damaged table, with its line. */
WS_API enum ws_status ws_table_parse(const char *text, size_t length, const char *folder, struct ws_table **out,
                                     struct ws_error_info *err);
WS_API enum ws_status ws_table_read(const char *path, struct ws_table **out, struct ws_error_info *err);
WS_API void ws_table_free(struct ws_table *table); /* NULL is fine */
WS_API size_t ws_table_rows(const struct ws_table *table);

struct ws_need {
  const char *problem;   /* "attention.forward" */
  enum ws_dtype type;
  int64_t head_dim;
  const char *mask;      /* as in the table: "causal", ...; NULL = "none" */
  int64_t queries, keys; /* lengths */
};

struct ws_choice {
  const char *file;  /* path of the kernel; lives as long as the table */
  size_t row;        /* 0 .. ws_table_rows - 1: to remember a loaded kernel by */
  int line;          /* of the table */
  char reason[1024]; /* in words: what it was chosen for, and why not a line above it */
};

/* Allocates nothing, opens nothing: cheap enough to ask before every launch. WS_ERR_UNSUPPORTED when there are kernels for
 * the problem but none for the device's architecture: the message names what they need. WS_ERR_NO_KERNEL when there are
 * none: the message names the nearest. */
WS_API enum ws_status ws_table_choose(const struct ws_table *table, const struct ws_device *device,
                                      const struct ws_need *need, struct ws_choice *choice, struct ws_error_info *err);
/* Chooses, loads, and compares the kernel's manifest with the line and the mask asked for (WS_ERR_MANIFEST: they disagree;
 * of a mask of your own only that the line has it). choice may be NULL. */
WS_API enum ws_status ws_table_load(const struct ws_table *table, struct ws_device *device, const struct ws_need *need,
                                    struct ws_kernel **out, struct ws_choice *choice, struct ws_error_info *err);

#ifdef __cplusplus
}
#endif
#endif
