/* warpscore emu: any kernel of a .ptx file on the emulator, arguments from the command line. */
#include "cli.h"
#include "emu/wsemu.h"
#include "emu_args.h"
#include "src/cuda_abi.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: warpscore emu [OPTIONS] KERNEL.ptx\n"
    "       warpscore emu --list-unsupported KERNEL.ptx\n"
    "       warpscore emu --coverage\n\n"
    "Runs one kernel of a PTX file on the CPU emulator. A fault is reported with the PTX line, the CTA and the thread.\n"
    "Files are written only after the kernel has ended well. Exit code 1 when the kernel is refused or faults.\n\n"
    "Looked for: addresses out of bounds or misaligned, registers, shared and device memory read before they are written\n"
    "(shared memory starts as 0xFF bytes, device memory as 0xA5; 4 bytes count as one), races in shared and tensor\n"
    "memory, asynchronous operations that nobody waits for, misused barriers, deadlocks. Not looked for: races in global\n"
    "memory or within a warp, and a barrier in a branch that a part of a warp takes, where the other lanes end or come to\n"
    "it later.\n\n"
    "options:\n"
    "      --entry NAME         the kernel (default: the only one)\n"
    "      --grid X[,Y[,Z]]     CTAs (default 1)\n"
    "      --block X[,Y[,Z]]    threads of a CTA (default 1)\n"
    "      --smem N             bytes of dynamic shared memory (default 0)\n"
    "      --arg ARGUMENT       one for each parameter, in order:\n"
    "                             in:FILE.npy            an array\n"
    "                             inout:FILE.npy[=OUT]   an array, written back to OUT (default: the same file)\n"
    "                             out:TYPE[N,..]=FILE    an array that starts poisoned (every byte 0xA5)\n"
    "                             zero:TYPE[N,..][=FILE] an array that starts as zero\n"
    "                             u32:7 s32:-1 u64:0x10 s64:9 f32:0.5 f64:1e-3\n"
    "                           TYPE: u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64 (bf16 is written as <u2)\n"
    "      --schedule WHEN      asynchronous operations complete early, late (default) or at random:SEED\n"
    "      --tensor ORDER       of tcgen05 products, copies and commits of one thread: program (default: in the order of\n"
    "                           issue) or any (only pipelined pairs keep their order)\n"
    "      --device NAME        run only what sm_90, sm_100 or sm_103 runs (default: auto, the kernel's own target)\n"
    "      --uninitialised HOW  registers read before they are written: warn, error (default: an error where no path\n"
    "                           writes them, else a warning), strict (always an error) or off; memory that nothing has\n"
    "                           written: a warning, with strict an error\n"
    "      --strict             --uninitialised strict\n"
    "      --race HOW           on (default), lenient (without the fences of tensor memory that published kernels leave\n"
    "                           out) or off\n"
    "      --threads N          worker threads, 0 = one a core (default)\n"
    "      --watchdog SECONDS   stop the kernel after this time (default: never)\n"
    "      --stats              what the emulator counted\n"
    "      --list-unsupported   run nothing: list the statements that the emulator has no row for\n"
    "      --coverage           run nothing: print the table of instructions that the emulator knows\n"
    "      --help               this text\n";

#define USED(X)                                                                                                        \
  X(cuCtxPopCurrent_v2) X(cuCtxPushCurrent_v2) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)             \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncSetAttribute) X(cuMemAlloc_v2) X(cuMemFree_v2) \
  X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuLaunchKernel)
struct emulator {
  struct ws_device *device;
  struct ws_cu_api api; /* what USED names */
  int (*set_option)(const char *, const char *);
  int (*get_stats)(struct wsemu_stats *);
  int (*get_param)(struct CUfunc_st *, unsigned int, struct wsemu_param *);
  int (*list_unsupported)(const char *, char *, size_t, size_t *);
  const char *(*entry_name)(struct CUmod_st *, unsigned int);
  size_t (*last_message)(char *, size_t);
  size_t (*warnings)(struct CUfunc_st *, char *, size_t);
  size_t (*coverage)(char *, size_t);
};
struct request {
  const char *entry, *schedule, *tensor, *device, *uninitialised, *race, *threads, *watchdog;
  int64_t grid[3], block[3], smem;
  bool stats, list, coverage;
  struct emu_arg args[EMU_MAX_ARGS];
  int nargs;
};

/* ---- the emulator's functions ---- */
static int open_emulator(struct emulator *e) {
  memset(e, 0, sizeof *e);
  int code = ws_cli_open_device("emu", NULL, &e->device);
  if (code) return code;
  const struct { const char *name; void *to; } symbols[] = {
#define SYMBOL(name) {#name, &e->api.name},
      USED(SYMBOL) {"wsemuSetOption", &e->set_option}, {"wsemuGetStats", &e->get_stats}, {"wsemuGetParam", &e->get_param},
      {"wsemuListUnsupported", &e->list_unsupported}, {"wsemuLastMessage", &e->last_message}, {"wsemuWarnings", &e->warnings},
      {"wsemuEntryName", &e->entry_name}, {"wsemuCoverage", &e->coverage}};
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *p = ws_device_symbol(e->device, symbols[i].name);
    if (!p) return ws_cli_fail(WS_CLI_MISSING, "the emulator is too old: it has no function %s", symbols[i].name);
    memcpy(symbols[i].to, &p, sizeof p);
  }
  return WS_CLI_OK;
}

static int said(const struct emulator *e, int code, const char *what) {
  char msg[8192] = "";
  e->last_message(msg, sizeof msg);
  return ws_cli_fail(code, "%s: %s", what, *msg ? msg : "refused by the emulator");
}

/* ---- without running ---- */
static int list_unsupported(const struct emulator *e, const char *path, const char *ptx) {
  size_t n = 0;
  e->list_unsupported(ptx, NULL, 0, &n);
  char *text = malloc(n + 1);
  if (!text) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  int refused = e->list_unsupported(ptx, text, n + 1, NULL);
  fputs(text, stdout);
  free(text);
  if (refused > 0) printf("%s: %d kernel%s cannot run\n", path, refused, refused > 1 ? "s" : "");
  if (!refused) printf("%s: everything is supported\n", path);
  return refused ? WS_CLI_REJECTED : WS_CLI_OK;
}

static int print_coverage(const struct emulator *e) {
  size_t n = e->coverage(NULL, 0);
  char *text = malloc(n + 1);
  if (!text) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  e->coverage(text, n + 1);
  fputs(text, stdout);
  free(text);
  return WS_CLI_OK;
}

/* ---- running ---- */
static int check_args(const struct emulator *e, struct CUfunc_st *f, const struct request *q) {
  struct wsemu_param p;
  int n = 0;
  while (!e->get_param(f, (unsigned)n, &p)) n++;
  if (n != q->nargs) return ws_cli_fail(WS_CLI_USAGE, "%d arguments given, the kernel has %d parameters", q->nargs, n);
  for (int i = 0; i < n; i++) {
    const struct emu_arg *a = &q->args[i];
    e->get_param(f, (unsigned)i, &p);
    size_t bytes = a->kind == EMU_VALUE ? a->type->bytes : 8;
    bool floating = a->kind == EMU_VALUE && a->type->cls == 'f', untyped = p.type[1] == 'b';
    if (p.array || bytes != p.bytes || (!untyped && floating != (p.floating != 0)))
      return ws_cli_fail(WS_CLI_USAGE, "--arg %s: parameter %d '%s' of the kernel is %s%s (%llu bytes)", a->text, i + 1, p.name, p.type,
                         p.array ? "[]" : "", (unsigned long long)p.bytes);
  }
  return WS_CLI_OK;
}

static int upload(const struct emulator *e, struct request *q) {
  for (int i = 0; i < q->nargs; i++) {
    struct emu_arg *a = &q->args[i];
    if (a->kind == EMU_VALUE) continue;
    ws_cu_deviceptr address = 0;
    if (e->api.cuMemAlloc_v2(&address, a->size ? a->size : 1))
      return ws_cli_fail(WS_CLI_MISSING, "--arg %s: no device memory for %zu bytes", a->text, a->size);
    a->value = address;
    if (a->kind != EMU_OUT && a->size && e->api.cuMemcpyHtoD_v2(a->value, a->bytes, a->size)) return said(e, WS_CLI_INTERNAL, a->text);
  }
  return WS_CLI_OK;
}

static void print_warnings(const struct emulator *e, struct CUfunc_st *f) {
  size_t n = e->warnings(f, NULL, 0);
  fflush(stdout); /* what the kernel printed comes first */
  char *text = n ? malloc(n + 1) : NULL;
  if (!text) return;
  e->warnings(f, text, n + 1);
  for (char *line = text, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    fprintf(stderr, "warpscore: warning: %.*s\n", (int)(end - line), line);
    end += *end == '\n';
  }
  free(text);
}

static int launch(const struct emulator *e, struct CUfunc_st *f, struct request *q, const char *path) {
  void *params[EMU_MAX_ARGS];
  int code = check_args(e, f, q);
  for (int i = 0; i < q->nargs && !code; i++)
    if (q->args[i].write && !ws_cli_can_write(q->args[i].write)) code = WS_CLI_USAGE;
  if (!code) code = upload(e, q);
  if (code) return code;
  for (int i = 0; i < q->nargs; i++) params[i] = &q->args[i].value; /* little-endian: the low bytes come first */
  if (q->smem && e->api.cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)q->smem))
    return ws_cli_fail(WS_CLI_USAGE, "--smem %lld: more than the device's 232448 bytes of shared memory", (long long)q->smem);
  unsigned g[3], b[3];
  for (int i = 0; i < 3; i++) g[i] = (unsigned)q->grid[i], b[i] = (unsigned)q->block[i];
  int failed = (int)e->api.cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], (unsigned)q->smem, NULL, params, NULL);
  print_warnings(e, f);
  if (failed == WS_CUDA_ERROR_INVALID_VALUE || failed == WS_CUDA_ERROR_INVALID_CLUSTER_SIZE) return said(e, WS_CLI_USAGE, path); /* of --grid, --block, --smem */
  if (failed) return said(e, WS_CLI_REJECTED, path);
  for (int i = 0; i < q->nargs; i++) {
    struct emu_arg *a = &q->args[i];
    if (a->write && a->size && e->api.cuMemcpyDtoH_v2(a->bytes, a->value, a->size)) return said(e, WS_CLI_INTERNAL, a->text);
  }
  for (int i = 0; i < q->nargs && !code; i++) code = emu_arg_write(&q->args[i]);
  return code;
}

static void print_stats(const struct emulator *e) {
  struct wsemu_stats s = {.size = sizeof s};
  if (e->get_stats(&s)) return;
  double rate = s.core_seconds > 0 ? (double)s.warp_instructions / s.core_seconds : 0;
  printf("%llu warp instructions in %.3f s (%.3f core s): %.2f million a second and core\n", (unsigned long long)s.warp_instructions,
         s.kernel_seconds, s.core_seconds, rate * 1e-6);
  printf("global %llu bytes read, %llu written; shared %llu read, %llu written\n", (unsigned long long)s.global_bytes_read,
         (unsigned long long)s.global_bytes_written, (unsigned long long)s.shared_bytes_read, (unsigned long long)s.shared_bytes_written);
  printf("%llu tensor FLOPs, %llu exponentials, %llu barrier waits\n", (unsigned long long)s.tensor_flops,
         (unsigned long long)s.exponentials, (unsigned long long)s.barrier_waits);
  if (s.async_operations)
    printf("%llu asynchronous operations, %llu delayed, %llu out of order\n", (unsigned long long)s.async_operations,
           (unsigned long long)s.async_delayed, (unsigned long long)s.async_reordered);
}

static int with_module(const struct emulator *e, struct request *q, const char *path, const char *ptx) {
  struct CUmod_st *m = NULL;
  struct CUfunc_st *f = NULL;
  int code = WS_CLI_OK;
  if (e->api.cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL)) return said(e, WS_CLI_REJECTED, path);
  const char *entry = q->entry ? q->entry : e->entry_name(m, 0);
  if (!entry) code = ws_cli_fail(WS_CLI_REJECTED, "%s: there is no kernel in it", path);
  else if (!q->entry && e->entry_name(m, 1)) code = ws_cli_fail(WS_CLI_USAGE, "%s: several kernels: pick one with --entry NAME", path);
  else if (e->api.cuModuleGetFunction(&f, m, entry)) code = ws_cli_fail(WS_CLI_USAGE, "%s: there is no kernel '%s'", path, entry);
  if (!code) code = launch(e, f, q, path);
  if (!code && q->stats) print_stats(e);
  for (int i = 0; i < q->nargs; i++)
    if (q->args[i].kind != EMU_VALUE && q->args[i].value) e->api.cuMemFree_v2(q->args[i].value);
  e->api.cuModuleUnload(m);
  return code;
}

static int execute(struct request *q, const char *path) {
  struct emulator e;
  struct CUctx_st *context, *old;
  char *ptx = NULL;
  size_t length;
  if (path && !ws_cli_read_file(path, &ptx, &length)) return WS_CLI_USAGE;
  int code = open_emulator(&e);
  const struct { const char *option, *name, *value; } settings[] = {{"--schedule", "schedule", q->schedule},
      {"--tensor", "tensor", q->tensor}, {"--device", "device", q->device}, {"--threads", "threads", q->threads}, {"--watchdog", "watchdog", q->watchdog}, {"--uninitialised", "uninitialised", q->uninitialised}, {"--race", "race", q->race}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings && !code; i++)
    if (settings[i].value && e.set_option(settings[i].name, settings[i].value))
      code = ws_cli_fail(WS_CLI_USAGE, "%s: '%s' is no value; see `warpscore emu --help`", settings[i].option, settings[i].value);
  if (!code && q->coverage) code = print_coverage(&e);
  else if (!code && q->list) code = list_unsupported(&e, path, ptx);
  else if (!code && (e.api.cuDevicePrimaryCtxRetain(&context, 0) || e.api.cuCtxPushCurrent_v2(context))) code = said(&e, WS_CLI_INTERNAL, "emulator");
  else if (!code) {
    code = with_module(&e, q, path, ptx);
    e.api.cuCtxPopCurrent_v2(&old);
    e.api.cuDevicePrimaryCtxRelease_v2(0);
  }
  free(ptx);
  ws_device_close(e.device);
  return code;
}

/* ---- options ---- */
static bool parse_extents(const char *what, const char *text, int64_t out[3]) {
  char buf[128], *save = NULL;
  int n = 0;
  out[0] = out[1] = out[2] = 1;
  if (!*text || strlen(text) >= sizeof buf || text[0] == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,"))
    return ws_cli_fail(0, "%s: '%.60s' found, expected X, X,Y or X,Y,Z", what, text), false;
  snprintf(buf, sizeof buf, "%s", text);
  for (char *p = strtok_r(buf, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
    if (n == 3) return ws_cli_fail(0, "%s: '%.60s' found, expected X, X,Y or X,Y,Z", what, text), false;
    if (!ws_cli_parse_integer(what, p, 1, INT32_MAX, &out[n++])) return false;
  }
  return true;
}

static int take_arg(struct request *q, char *text) {
  if (q->nargs == EMU_MAX_ARGS) return ws_cli_fail(WS_CLI_USAGE, "more than %d arguments", EMU_MAX_ARGS);
  int code = emu_arg_parse(text, &q->args[q->nargs]);
  if (code) emu_arg_free(&q->args[q->nargs]);
  else q->nargs++;
  return code;
}

static int parse_options(struct request *q, int argc, char **argv) {
  static const struct option options[] = {
      {"entry", required_argument, NULL, 'e'}, {"grid", required_argument, NULL, 'g'}, {"block", required_argument, NULL, 'b'},
      {"smem", required_argument, NULL, 's'}, {"arg", required_argument, NULL, 'a'}, {"schedule", required_argument, NULL, 'c'},
      {"uninitialised", required_argument, NULL, 'u'}, {"race", required_argument, NULL, 'r'}, {"tensor", required_argument, NULL, 'T'}, {"device", required_argument, NULL, 'd'}, {"strict", no_argument, NULL, 'S'}, {"threads", required_argument, NULL, 't'},
      {"watchdog", required_argument, NULL, 'w'}, {"stats", no_argument, NULL, 'i'}, {"list-unsupported", no_argument, NULL, 'l'},
      {"coverage", no_argument, NULL, 'v'}, {"help", no_argument, NULL, 'h'}, {0}};
  for (int c, code = 0; (c = ws_cli_next_option(argc, argv, ":h", options)) != -1;) {
    switch (c) {
      case 'e': q->entry = optarg; break;
      case 'g': code = parse_extents("--grid", optarg, q->grid) ? 0 : WS_CLI_USAGE; break;
      case 'b': code = parse_extents("--block", optarg, q->block) ? 0 : WS_CLI_USAGE; break;
      case 's': code = ws_cli_parse_integer("--smem", optarg, 0, INT32_MAX, &q->smem) ? 0 : WS_CLI_USAGE; break;
      case 'a': code = take_arg(q, optarg); break;
      case 'c': q->schedule = optarg; break;
      case 'u': q->uninitialised = optarg; break;
      case 'r': q->race = optarg; break;
      case 'T': q->tensor = optarg; break;
      case 'd': q->device = optarg; break;
      case 'S': q->uninitialised = "strict"; break;
      case 't': q->threads = optarg; break;
      case 'w': q->watchdog = optarg; break;
      case 'i': q->stats = true; break;
      case 'l': q->list = true; break;
      case 'v': q->coverage = true; break;
      case 'h': fputs(help_text, stdout); return -1;
      default: return WS_CLI_USAGE;
    }
    if (code) return code;
  }
  return WS_CLI_OK;
}

int ws_cli_emu(int argc, char **argv) {
  struct request *q = calloc(1, sizeof *q);
  if (!q) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  for (int i = 0; i < 3; i++) q->grid[i] = q->block[i] = 1;
  int code = parse_options(q, argc, argv);
  if (!code && argc - optind != !q->coverage)
    code = ws_cli_fail(WS_CLI_USAGE, q->coverage ? "--coverage takes no file; see `warpscore emu --help`"
                                                 : "emu takes one .ptx file; see `warpscore emu --help`");
  if (!code) code = execute(q, argv[optind]);
  for (int i = 0; i < q->nargs; i++) emu_arg_free(&q->args[i]);
  free(q);
  return code < 0 ? WS_CLI_OK : code;
}
