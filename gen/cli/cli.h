/* gen/cli: the command line. The only place that prints, and the only one that sees both the generator and the runtime.
 *
 *   main.c      the table of commands
 *   check.c gen.c run.c bench.c   one command each
 *   inputs.c    what run reads from .npy files
 *   probe.c     where elements lie; probe_check.c: the same asked of a device
 *   emu.c       any PTX kernel on the emulator; emu_args.c: its arguments
 *   report.c    messages, and the exit codes of failed calls
 *   options.c   what several commands read the same way: defines, shapes, numbers
 *   source.c    a spec or a .ptx -> the text of a kernel; files written whole or not at all
 *   ptxas.c     the assembler, found and run
 *   npy.c       arrays in and out
 *   random.c    normal random numbers, the same on every machine
 *   tensor.c    a tensor on the host and on the device, with canaries around it and in its padding
 *   problem.c   the tensors of one shape; a launch; what the reference says about it
 *   judge.c     errors against the reference, distances between two devices
 *   memory.c    how much host memory is left
 *   nvml.c      the GPU's clocks, where the driver's management library is there
 *
 * Exported names carry ws_cli_. Messages go to stderr, results to stdout. */
#ifndef WS_CLI_H
#define WS_CLI_H
#include "base/diag.h"
#include "compile.h"
#include "problem/reference.h"
#include "warpscore.h"
#include <stdbool.h>
#include <stdio.h>

/* One rule: what the user wrote on the command line is USAGE where it is wrong, with all that it names: options, their values, files
 * that cannot be read, written or used as what they are given for. What stands in the schedule or kernel is REJECTED. */
enum ws_cli_exit {
  WS_CLI_OK = 0,
  WS_CLI_REJECTED = 1,   /* the schedule or kernel is rejected, or computes what is wrong */
  WS_CLI_USAGE = 2,
  WS_CLI_INTERNAL = 3,   /* a call failed that should not */
  WS_CLI_MISSING = 4,    /* the environment lacks something: a GPU, the emulator, ptxas, memory */
};

int ws_cli_check(int argc, char **argv);
int ws_cli_gen(int argc, char **argv);
int ws_cli_run(int argc, char **argv);
int ws_cli_bench(int argc, char **argv);
int ws_cli_probe(int argc, char **argv);
int ws_cli_emu(int argc, char **argv);

/* ---- report.c ---- */

/* "warpscore: error: ..." on stderr; returns code. */
int ws_cli_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ws_cli_say(const char *text); /* to stderr, behind what went to stdout; NULL = nothing */
/* The same for a failed call of libwarpscore. */
int ws_cli_runtime_fail(const struct ws_error_info *err);
/* The exit code of a spec with these diagnostics: OK without an error. */
int ws_cli_diags_code(const struct ws_diags *d);
int ws_cli_finish(int code); /* the exit code of a command that ended with code: a full disk or a closed pipe shows here at the latest */
/* --device: NULL = best. A name that is none is a usage error. */
int ws_cli_open_device(const char *name, const struct ws_manifest *m, struct ws_device **out);

/* ---- options.c ---- */

enum { WS_CLI_MAX_DEFINES = 64 };
struct ws_cli_spec_options { /* how a spec becomes a kernel */
  struct ws_define defines[WS_CLI_MAX_DEFINES];
  size_t ndefines;
  const char *target, *templates, *kernel;
  bool json, no_play, strict;
  bool takes_sarif, sarif;    /* takes_sarif: set by commands that can write it */
};
struct option;
/* getopt_long(3) without a message of its own: '?' where an option is unknown, or used in a wrong way (said, with the nearest one). */
int ws_cli_next_option(int argc, char **argv, const char *letters, const struct option *options);
/* Takes the option if it is one of -D --target --templates --kernel --format --no-play --strict. 0 = not mine, 1 = taken, -1 = wrong (said). */
int ws_cli_spec_option(struct ws_cli_spec_options *o, int option, char *value);
enum { WS_CLI_NO_PLAY = 1001, WS_CLI_STRICT };
#define WS_CLI_SPEC_OPTIONS                                                                                  \
  {"define", required_argument, NULL, 'D'}, {"target", required_argument, NULL, 'T'},                        \
      {"templates", required_argument, NULL, 'M'}, {"kernel", required_argument, NULL, 'K'}, {                \
    "format", required_argument, NULL, 'F'                                                                   \
  }, {"no-play", no_argument, NULL, WS_CLI_NO_PLAY}, {"strict", no_argument, NULL, WS_CLI_STRICT}
#define WS_CLI_SPEC_HELP                                                                                     \
  "  -D, --define NAME=VALUE  override a parameter of the spec (repeatable)\n"                               \
  "      --target TARGET      one of the spec's targets (default: its first)\n"                              \
  "      --templates DIR      take templates from DIR where it has them\n"                                   \
  "      --kernel NAME        of a spec with several documents, the one with this name (all are read)\n"         \
  "      --no-play            do not check the protocol (deadlocks, races, content)\n"                       \
  "      --strict             what is right under a printed assumption only is `review`, not `clean`\n"

enum ws_cli_layout { WS_CLI_BSHD, WS_CLI_BHSD };
enum ws_cli_extent { WS_CLI_B = 1, WS_CLI_HQ = 2, WS_CLI_HKV = 4, WS_CLI_SQ = 8, WS_CLI_SK = 16 };
struct ws_cli_shape {
  unsigned given;             /* enum ws_cli_extent: what --shape itself says */
  int64_t b, hq, hkv, sq, sk; /* -1 = not given: sk as sq; heads as the kernel wants them, else hq = 2, hkv as hq */
  enum ws_cli_layout layout;
  int64_t pad;                /* elements */
  int64_t sms;                /* multiprocessors that a persistent kernel uses; 0: all */
  uint64_t seed;
};
#define WS_CLI_DEFAULT_SHAPE {.b = 1, .hq = -1, .hkv = -1, .sq = 256, .sk = -1, .layout = WS_CLI_BSHD, .seed = 1}
struct ws_cli_shapes {
  struct ws_cli_shape *list;
  size_t n, cap;
};
/* "b=1,hq=8,hkv=2,sq=512,sk=512[,layout=bhsd,pad=8,seed=3]": what is not named is as in base. */
bool ws_cli_parse_shape(const char *text, const struct ws_cli_shape *base, struct ws_cli_shape *out);
bool ws_cli_add_shape(struct ws_cli_shapes *s, const char *text, const struct ws_cli_shape *base);
bool ws_cli_add_shapes_of_file(struct ws_cli_shapes *s, const char *path, const struct ws_cli_shape *base);
bool ws_cli_parse_layout(const char *text, enum ws_cli_layout *out);

/* --shape --shapes --layout --pad --seed --sms, in two passes: the last four, wherever they stand, are what shapes build on. */
enum { WS_CLI_SHAPE = 1101, WS_CLI_SHAPES, WS_CLI_LAYOUT, WS_CLI_PAD, WS_CLI_SEED, WS_CLI_SMS };
#define WS_CLI_SHAPE_OPTIONS                                                                                 \
  {"shape", required_argument, NULL, WS_CLI_SHAPE}, {"shapes", required_argument, NULL, WS_CLI_SHAPES},      \
      {"layout", required_argument, NULL, WS_CLI_LAYOUT}, {"pad", required_argument, NULL, WS_CLI_PAD},      \
      {"seed", required_argument, NULL, WS_CLI_SEED}, {"sms", required_argument, NULL, WS_CLI_SMS}
/* First pass. 0 = not mine, 1 = taken (or left to the second pass), -1 = wrong (said). */
int ws_cli_shape_option(struct ws_cli_shape *base, int option, char *value);
/* Second pass over all arguments: the list of shapes, base alone where none is given. The caller frees s->list. */
bool ws_cli_collect_shapes(struct ws_cli_shapes *s, int argc, char **argv, const struct option *options,
                           const struct ws_cli_shape *base);
bool ws_cli_parse_integer(const char *what, const char *text, int64_t low, int64_t high, int64_t *out); /* says why not */
bool ws_cli_parse_number(const char *what, const char *text, double *out);
void ws_cli_shape_heads(struct ws_cli_shape *s, int64_t group); /* what is not given; group: query heads of a key head, 0 = any */
void ws_cli_print_shape(const struct ws_cli_shape *s, char *out, size_t size); /* as --shape takes it */

/* ---- source.c ---- */

struct ws_cli_text { /* a kernel's text, owned */
  char *name, *ptx;
  size_t length;
};
/* The spec at path ("-" = stdin) compiled up to a stage; diagnostics are printed. Returns an exit code; call
 * ws_cli_unit_free in any case. */
struct ws_cli_unit {
  struct ws_arena arena;
  struct ws_diags diags;
  struct ws_source source;
  char *text;
  struct ws_compiled *compiled;
};
int ws_cli_compile(const char *path, const struct ws_cli_spec_options *o, enum ws_compile_stage stage,
                   struct ws_cli_unit *u);
void ws_cli_unit_free(struct ws_cli_unit *u);
/* The diagnostics as text or as JSON, to be freed; NULL when memory ran out. */
char *ws_cli_diagnostics(struct ws_cli_unit *u, bool json);
char *ws_cli_sarif(struct ws_cli_unit *u);
/* The one kernel that --kernel or its being alone picks; NULL (said) otherwise. */
const struct ws_kernel_text *ws_cli_pick(const struct ws_cli_unit *u, const struct ws_cli_spec_options *o);
/* A .ptx as it is, a spec through the generator. */
int ws_cli_obtain(const char *path, const struct ws_cli_spec_options *o, struct ws_cli_text *out);
void ws_cli_text_free(struct ws_cli_text *t);

/* Files that the user names: where these fail, the exit code is WS_CLI_USAGE. */
bool ws_cli_read_file(const char *path, char **text, size_t *length); /* says why not */
/* Through a temporary file beside it and a rename: the file is there whole, or as it was. "-" and NULL = stdout. */
bool ws_cli_write_file(const char *path, const void *bytes, size_t length);
bool ws_cli_can_write(const char *path); /* as far as can be told before; says why not */

/* ---- ptxas.c ---- */

/* Assembles a kernel's text into cubin bytes, to be freed. ptxas' messages go to stderr. Returns an exit code. */
int ws_cli_assemble(const char *ptx, size_t length, const char *target, char **cubin, size_t *cubin_length);
bool ws_cli_find_ptxas(char *out, size_t size);
bool ws_cli_ptxas_version(char *out, size_t size); /* "13.0.88" */

/* ---- npy.c ---- */

struct ws_cli_array {
  int rank;
  int64_t shape[4];
  float *data; /* C order, owned */
};
/* Reads '<f4' or '<f2', C order, of the given rank. False with a message of what is wrong in why. */
bool ws_cli_npy_parse(const void *bytes, size_t length, int rank, struct ws_cli_array *out, char *why, size_t size);
bool ws_cli_npy_read(const char *path, int rank, struct ws_cli_array *out); /* says why not */
bool ws_cli_npy_write(const char *path, const struct ws_cli_array *a);      /* '<f4'; says why not */

/* ---- random.c ---- */

/* A sample of N(0, 1) that depends on the three numbers alone: the same bits on every machine. */
double ws_cli_normal(uint64_t seed, uint64_t stream, uint64_t index);
uint64_t ws_cli_mix(uint64_t x); /* a 64-bit finalizer: all bits depend on all bits */

/* ---- tensor.c ---- */

struct ws_cli_tensor {
  const struct ws_tensor_info *info;
  enum ws_ref_type type;
  int64_t shape[4], stride[4]; /* elements */
  size_t bytes;                /* of the images, guards included */
  unsigned char *before, *after; /* as uploaded, as downloaded */
  uint64_t device;             /* of the image; 0 = not allocated */
};
/* The tensor of a shape in a layout, not in memory yet; every byte is a canary once it is. An exit code (said): too large, no memory. */
int ws_cli_tensor_init(struct ws_cli_tensor *t, const struct ws_tensor_info *info, const int64_t *shape,
                       const struct ws_cli_shape *how);
int ws_cli_tensor_alloc(struct ws_cli_tensor *t);
void ws_cli_tensor_free(struct ws_cli_tensor *t);
int64_t ws_cli_tensor_count(const struct ws_cli_tensor *t);                 /* elements */
size_t ws_cli_tensor_offset(const struct ws_cli_tensor *t, int64_t index);  /* of element number index, C order */
void ws_cli_tensor_random(struct ws_cli_tensor *t, uint64_t seed, uint64_t stream);
void ws_cli_tensor_table(struct ws_cli_tensor *t, uint64_t seed); /* i32: a permutation along the last dim */
void ws_cli_tensor_zero(struct ws_cli_tensor *t);
void ws_cli_tensor_values(struct ws_cli_tensor *t, const float *values);    /* rounded to the type */
void ws_cli_tensor_poison(struct ws_cli_tensor *t);                         /* a NaN that no instruction makes */
bool ws_cli_tensor_poisoned(const struct ws_cli_tensor *t, int64_t index);  /* after the run */
float ws_cli_tensor_result(const struct ws_cli_tensor *t, int64_t index);   /* after the run */
/* Bytes that a kernel must not have changed but did: all but an output's elements. first = offset from element 0. */
size_t ws_cli_tensor_damage(const struct ws_cli_tensor *t, int64_t *first);
struct ws_ref_tensor ws_cli_tensor_view(const struct ws_cli_tensor *t);

/* ---- problem.c ---- */

enum { WS_CLI_GUARD = 1024 }; /* bytes of an image before the tensor and behind it */
/* The problem's tensors, then those that the spec brings: inputs of its own and workspaces. */
enum { WS_CLI_Q, WS_CLI_K, WS_CLI_V, WS_CLI_O, WS_CLI_LSE, WS_CLI_TENSORS, WS_CLI_MOST = 16 };
struct ws_cli_problem {
  const struct ws_manifest *manifest;
  int code;                   /* the exit code where one of the calls below returned false */
  struct ws_cli_shape shape;  /* nothing left open */
  int64_t d, dv;
  bool causal, base2;
  double scale;
  struct ws_cli_tensor t[WS_CLI_MOST];
  int ntensors;
  const struct ws_tensor_info *watchdog; /* of a kernel with -D watchdog=SECONDS */
  void *words;                /* of the watchdog, in host memory that the device reaches */
  struct ws_arena arena;      /* of the rule */
  struct ws_ref_rule rule;    /* the spec's own mathematics */
};
/* Checks that the kernel is one that this tool can judge and fills in what the shape leaves open. */
bool ws_cli_problem_init(struct ws_cli_problem *p, const struct ws_manifest *m, const struct ws_cli_shape *shape,
                         const double *scale);
bool ws_cli_problem_tensors(struct ws_cli_problem *p); /* host images: inputs still canaries, outputs poisoned */
void ws_cli_problem_free(struct ws_cli_problem *p);
int ws_cli_problem_upload(struct ws_cli_problem *p, struct ws_device *device);
int ws_cli_problem_launch(const struct ws_cli_problem *p, const struct ws_kernel *kernel, void *stream);
int ws_cli_problem_download(struct ws_cli_problem *p, struct ws_device *device);
void ws_cli_problem_release(struct ws_cli_problem *p, struct ws_device *device);
struct ws_ref_attention ws_cli_problem_reference(const struct ws_cli_problem *p);

void ws_cli_problem_inputs(struct ws_cli_problem *p); /* fills every input with random numbers */

/* ---- watchdog.c ---- */
/* The tensor `watchdog` of a kernel generated with -D watchdog=SECONDS lies in host memory, so that it can be read after a trap. */
enum { WS_CLI_WATCHDOG_WORDS = 16 };
bool ws_cli_watchdog_is(const struct ws_tensor_info *t);
int ws_cli_watchdog_open(struct ws_cli_problem *p, struct ws_device *device); /* words: all zeros; an exit code */
/* Says on stderr who waited too long, if somebody did. ptx: the kernel's text, which knows the names. */
void ws_cli_watchdog_report(const struct ws_cli_problem *p, const char *ptx);

/* ---- rule.c ---- */
/* Compiles what the manifest says of the spec's own mathematics; call it once the tensors are there. False: said why. */
bool ws_cli_rule(struct ws_cli_problem *p);

/* ---- judge.c ---- */

struct ws_cli_error { /* of one result against the reference */
  double max, frobenius;     /* absolute; relative */
  size_t nan, missing_nan, infinite; /* NaN without reason; none where one is due; infinities that differ */
};
struct ws_cli_verdict {
  struct ws_cli_error o, lse, plain_o, plain_lse;
  double limit_o, limit_lse;   /* of the relative Frobenius error */
  size_t unwritten, damaged;   /* output elements, bytes outside */
  char damage[160];
  bool pass;
};
/* False when memory ran out. What takes long is shown on a terminal. */
bool ws_cli_judge(const struct ws_cli_problem *p, struct ws_cli_verdict *v);

struct ws_cli_distance { /* of the same output on two devices */
  double o_ulps, lse_ulps; /* largest; ulps at the larger of the element and its row's rms */
  size_t o_differ, classes; /* elements whose bits differ; NaN or infinity on one side only */
};
struct ws_cli_distance ws_cli_compare(const struct ws_cli_problem *a, const struct ws_cli_problem *b);

/* ---- memory.c ---- */
double ws_cli_memory_left(void); /* bytes of host memory that can still be had; 0 = not known */

/* ---- nvml.c ---- */

struct ws_cli_clocks {
  bool known;
  unsigned sm, memory, power; /* MHz, MHz, W */
};
struct ws_cli_clocks ws_cli_read_clocks(const char *pci_bus_id); /* "0000:0f:00.0" */
#endif
