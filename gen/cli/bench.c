/* warpscore bench: the time of a kernel on a GPU, by CUDA events, with what makes the figure comparable. */
#include "cli.h"
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: warpscore bench [OPTIONS] SPEC.yaml|KERNEL.ptx\n\n"
    "Times the kernel on a GPU with CUDA events: the median of --repeat timed launches after --warmup ones, on random\n"
    "N(0,1) inputs. TFLOP/s counts 4 d for every visible pair of query and key; GB/s the bytes of Q, K, V and O once.\n"
    "Exit code 4 without a GPU that can run the kernel.\n\n"
    "options:\n"
    "      --shape LIST         b=1,hq=2,hkv=HQ,sq=256,sk=SQ (these are the defaults; repeatable; heads that are not\n"
    "                           given are those that a kernel with packed heads needs)\n"
    "      --shapes FILE        one such list a line, # starts a comment\n"
    "      --layout bshd|bhsd   order of the dims in memory (default bshd)\n"
    "      --pad N              N more elements between rows, heads and batches (default 0)\n"
    "      --seed N             of the random inputs (default 1)\n"
    "      --sms N              multiprocessors that a persistent kernel uses (default: all)\n"
    "      --device cuda:N      (default: the best GPU)\n"
    "      --warmup N           launches before (default 10)\n"
    "      --repeat N           timed launches (default 40)\n"
    "      --cubin              assemble with ptxas here instead of compiling in the driver\n" WS_CLI_SPEC_HELP
    "      --format text|json\n"
    "      --help               this text\n";

struct request {
  struct ws_cli_spec_options spec;
  const char *device;
  struct ws_cli_shapes shapes;
  int64_t warmup, repeat;
  bool cubin;
};

struct figure {
  struct ws_cli_shape shape; /* with the heads that the kernel wants */
  double median, least; /* milliseconds */
  double tflops, gbytes;
};

/* FNV-1a of the text: tells whether two figures are of the same kernel. */
static uint64_t text_hash(const char *p, size_t n) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
  return h;
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* ---- timing ---- */

static int time_launches(struct request *q, struct ws_cli_problem *p, struct ws_device *device,
                         struct ws_kernel *kernel, void *stream, void **events, float *times) {
  struct ws_error_info err;
  int code = WS_CLI_OK;
  for (int64_t i = 0; i < q->warmup && code == WS_CLI_OK; i++) code = ws_cli_problem_launch(p, kernel, stream);
  for (int64_t i = 0; i < q->repeat && code == WS_CLI_OK; i++) {
    if (ws_event_record(device, events[2 * i], stream, &err)) return ws_cli_runtime_fail(&err);
    code = ws_cli_problem_launch(p, kernel, stream);
    if (code == WS_CLI_OK && ws_event_record(device, events[2 * i + 1], stream, &err)) return ws_cli_runtime_fail(&err);
  }
  for (int64_t i = 0; i < q->repeat && code == WS_CLI_OK; i++)
    if (ws_event_elapsed(device, events[2 * i], events[2 * i + 1], &times[i], &err)) return ws_cli_runtime_fail(&err);
  return code;
}

static int with_events(struct request *q, struct ws_cli_problem *p, struct ws_device *device, struct ws_kernel *kernel,
                       float *times) {
  struct ws_error_info err;
  void *stream = NULL, **events = calloc((size_t)q->repeat * 2, sizeof *events);
  int code = WS_CLI_OK;
  if (!events) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  if (ws_stream_create(device, &stream, &err)) code = ws_cli_runtime_fail(&err);
  for (int64_t i = 0; i < 2 * q->repeat && code == WS_CLI_OK; i++)
    if (ws_event_create(device, &events[i], &err)) code = ws_cli_runtime_fail(&err);
  if (code == WS_CLI_OK) code = time_launches(q, p, device, kernel, stream, events, times);
  if (stream && ws_stream_synchronize(device, stream, &err) && code == WS_CLI_OK) code = ws_cli_runtime_fail(&err);
  for (int64_t i = 0; i < 2 * q->repeat; i++) ws_event_destroy(device, events[i], NULL);
  ws_stream_destroy(device, stream, NULL);
  free(events);
  return code;
}

/* A time of a kernel that left an output unwritten or NaN is worth nothing. */
static int check_output(struct ws_cli_problem *p, struct ws_device *device) {
  int code = ws_cli_problem_download(p, device);
  int64_t n = code == WS_CLI_OK ? ws_cli_tensor_count(&p->t[WS_CLI_O]) : 0;
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(ws_cli_tensor_result(&p->t[WS_CLI_O], i)))
      return ws_cli_fail(WS_CLI_REJECTED, "O is not finite: see `warpscore run`");
  return code;
}

static void compute(const struct ws_cli_problem *p, float *times, size_t n, struct figure *f) {
  const struct ws_cli_shape *s = &p->shape;
  qsort(times, n, sizeof *times, by_value);
  f->shape = *s;
  f->median = n % 2 ? (double)times[n / 2] : ((double)times[n / 2 - 1] + (double)times[n / 2]) / 2;
  f->least = (double)times[0];
  double pairs = (double)ws_ref_attention_pairs(s->sq, s->sk, p->causal);
  if (p->causal && s->sq == s->sk) pairs = (double)s->sq * (double)s->sk / 2; /* the papers' count */
  double flop = 2 * (double)(s->b * s->hq) * pairs * (double)(p->d + p->dv), bytes = 0;
  for (int i = WS_CLI_Q; i <= WS_CLI_O; i++)
    bytes += (double)ws_cli_tensor_count(&p->t[i]) * (double)ws_ref_size(p->t[i].type);
  f->tflops = f->median > 0 ? flop / f->median * 1e-9 : 0;
  f->gbytes = f->median > 0 ? bytes / f->median * 1e-6 : 0;
}

static int bench_shape(struct request *q, const struct ws_manifest *m, const struct ws_cli_shape *shape,
                       struct ws_device *device, struct ws_kernel *kernel, struct figure *f) {
  struct ws_cli_problem p;
  if (!ws_cli_problem_init(&p, m, shape, NULL)) return p.code;
  float *times = malloc(sizeof *times * (size_t)q->repeat);
  int code = !times ? ws_cli_fail(WS_CLI_MISSING, "out of memory") : ws_cli_problem_tensors(&p) ? WS_CLI_OK : p.code;
  if (code == WS_CLI_OK) ws_cli_problem_inputs(&p);
  if (code == WS_CLI_OK) code = ws_cli_problem_upload(&p, device);
  if (code == WS_CLI_OK) code = with_events(q, &p, device, kernel, times);
  if (code == WS_CLI_OK) code = check_output(&p, device);
  if (code == WS_CLI_OK) compute(&p, times, (size_t)q->repeat, f);
  ws_cli_problem_release(&p, device);
  ws_cli_problem_free(&p);
  free(times);
  return code;
}

/* ---- what makes a figure comparable ---- */

struct context {
  char hash[32], compiler[64], clocks[96], settings[512];
  const struct ws_device_info *device;
  const struct ws_kernel_info *kernel;
  const struct ws_kernel_resources *resources;
  struct ws_cli_clocks now;
};

static void describe_clocks(struct context *c, const struct ws_device *device) {
  unsigned (*bus)(char *, int, int);
  char id[32] = "";
  void *symbol = ws_device_symbol(device, "cuDeviceGetPCIBusId");
  memcpy(&bus, &symbol, sizeof bus);
  const char *colon = strchr(c->device->name, ':');
  if (bus && colon && !bus(id, sizeof id, atoi(colon + 1))) c->now = ws_cli_read_clocks(id);
  if (c->now.known)
    snprintf(c->clocks, sizeof c->clocks, "SM %u MHz, memory %u MHz, %u W after the run", c->now.sm, c->now.memory,
             c->now.power);
  else
    snprintf(c->clocks, sizeof c->clocks, "not known");
}

static void describe(struct context *c, const struct request *q, const struct ws_cli_text *text,
                     const struct ws_device *device, const struct ws_kernel *kernel) {
  char version[32] = "?";
  const char *value, *name;
  size_t n = 0;
  memset(c, 0, sizeof *c);
  c->device = ws_device_get_info(device);
  c->kernel = ws_manifest_kernel(ws_kernel_manifest(kernel));
  c->resources = ws_kernel_get_resources(kernel);
  snprintf(c->hash, sizeof c->hash, "%016llx", (unsigned long long)text_hash(text->ptx, text->length));
  if (q->cubin) {
    ws_cli_ptxas_version(version, sizeof version);
    snprintf(c->compiler, sizeof c->compiler, "ptxas %s", version);
  } else {
    snprintf(c->compiler, sizeof c->compiler, "JIT of the driver");
  }
  for (size_t i = 0; (name = ws_manifest_setting_at(ws_kernel_manifest(kernel), i, &value)) && n < sizeof c->settings;
       i++)
    n += (size_t)snprintf(c->settings + n, sizeof c->settings - n, "%s%s %s", i ? ", " : "", name, value);
}

static void print_table(const struct request *q, const struct context *c, const struct figure *f) {
  printf("kernel    %s for %s: %s\n", c->kernel->entry, c->kernel->target, c->settings);
  printf("device    %s: %s, driver for CUDA %d.%d\n", c->device->name, c->device->model,
         c->device->driver_version / 1000, c->device->driver_version % 1000 / 10);
  printf("clocks    %s\n", c->clocks);
  printf("compiled  %s: %d registers, %d bytes spilled, %d CTAs an SM; PTX %s, warpscore %s\n", c->compiler,
         c->resources->registers, c->resources->local_bytes, c->resources->ctas_per_sm, c->hash, ws_version());
  printf("%-64s %10s %10s %9s %9s\n", "shape", "median ms", "least ms", "TFLOP/s", "GB/s");
  for (size_t i = 0; i < q->shapes.n; i++) {
    char shape[256];
    ws_cli_print_shape(&f[i].shape, shape, sizeof shape);
    printf("%-64s %10.4f %10.4f %9.1f %9.1f\n", shape, f[i].median, f[i].least, f[i].tflops, f[i].gbytes);
  }
}

static void print_json(const struct request *q, const struct context *c, const struct figure *f) {
  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "tool", ws_version(),
                           "kernel", c->kernel->entry, "target", c->kernel->target, "settings", c->settings, "gpu",
                           c->device->model, "driver", (json_int_t)c->device->driver_version, "compiler", c->compiler,
                           "ptx_fnv1a", c->hash, "registers", (json_int_t)c->resources->registers, "local_bytes",
                           (json_int_t)c->resources->local_bytes, "ctas_per_sm", (json_int_t)c->resources->ctas_per_sm,
                           "warmup", (json_int_t)q->warmup, "repeat", (json_int_t)q->repeat);
  if (root && c->now.known)
    json_object_set_new(root, "clocks_after",
                        json_pack("{s:I, s:I, s:I}", "sm_mhz", (json_int_t)c->now.sm, "memory_mhz",
                                  (json_int_t)c->now.memory, "power_w", (json_int_t)c->now.power));
  json_t *list = json_array();
  for (size_t i = 0; i < q->shapes.n; i++) {
    char shape[256];
    ws_cli_print_shape(&f[i].shape, shape, sizeof shape);
    json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f}", "shape", shape, "median_ms", f[i].median,
                                          "least_ms", f[i].least, "tflops", f[i].tflops, "gbytes_per_s", f[i].gbytes));
  }
  json_object_set_new(root, "results", list);
  json_dumpf(root, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(root);
}

/* ---- the command ---- */

static int load(const struct request *q, const struct ws_cli_text *text, const struct ws_manifest *m,
                struct ws_device *device, struct ws_kernel **kernel) {
  struct ws_error_info err;
  char *cubin = NULL;
  size_t length = 0;
  if (!q->cubin)
    return ws_kernel_load_text(device, text->ptx, text->length, kernel, &err) ? ws_cli_runtime_fail(&err) : WS_CLI_OK;
  char arch[32];
  const struct ws_device_info *d = ws_device_get_info(device);
  const char *target = ws_manifest_kernel(m)->target;
  snprintf(arch, sizeof arch, "sm_%d%d", d->major, d->minor);
  if (target[strlen(target) - 1] == 'a' || target[strlen(target) - 1] == 'f') snprintf(arch, sizeof arch, "%s", target);
  int code = ws_cli_assemble(text->ptx, text->length, arch, &cubin, &length);
  if (code == WS_CLI_OK && ws_kernel_load_cubin(device, text->ptx, text->length, cubin, length, kernel, &err))
    code = ws_cli_runtime_fail(&err);
  free(cubin);
  return code;
}

static int bench_on(struct request *q, const struct ws_cli_text *text, const struct ws_manifest *m,
                    struct ws_device *device) {
  struct ws_kernel *kernel = NULL;
  struct context c;
  const struct ws_device_info *d = ws_device_get_info(device);
  if (d->emulator) return ws_cli_fail(WS_CLI_MISSING, "bench needs a GPU%s%s", *d->choice ? ": " : "", d->choice);
  struct figure *figures = calloc(q->shapes.n, sizeof *figures);
  int code = figures ? load(q, text, m, device, &kernel) : WS_CLI_INTERNAL;
  for (size_t i = 0; i < q->shapes.n && code == WS_CLI_OK; i++)
    code = bench_shape(q, m, &q->shapes.list[i], device, kernel, &figures[i]);
  if (code == WS_CLI_OK) {
    describe(&c, q, text, device, kernel);
    describe_clocks(&c, device);
    if (q->spec.json)
      print_json(q, &c, figures);
    else
      print_table(q, &c, figures);
  }
  ws_kernel_free(kernel);
  free(figures);
  return code;
}

static int bench_request(struct request *q, const char *path) {
  struct ws_cli_text text;
  struct ws_manifest *m = NULL;
  struct ws_device *device = NULL;
  struct ws_error_info err;
  int code = ws_cli_obtain(path, &q->spec, &text);
  if (code == WS_CLI_OK && ws_manifest_parse(text.ptx, text.length, &m, &err))
    code = ws_cli_fail(WS_CLI_REJECTED, "%s: %s", path, err.message);
  if (code == WS_CLI_OK) code = ws_cli_open_device(q->device, m, &device);
  if (code == WS_CLI_OK) code = bench_on(q, &text, m, device);
  ws_device_close(device);
  ws_manifest_free(m);
  ws_cli_text_free(&text);
  return code;
}

enum { OPT_DEVICE = 256, OPT_WARMUP, OPT_REPEAT, OPT_CUBIN };
static const struct option options[] = {
    WS_CLI_SPEC_OPTIONS,
    WS_CLI_SHAPE_OPTIONS,
    {"device", required_argument, NULL, OPT_DEVICE},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"repeat", required_argument, NULL, OPT_REPEAT},
    {"cubin", no_argument, NULL, OPT_CUBIN},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool own_option(int option, char *value, struct request *q) {
  switch (option) {
  case OPT_DEVICE: q->device = value; return true;
  case OPT_WARMUP: return ws_cli_parse_integer("--warmup", value, 0, 100000, &q->warmup);
  case OPT_REPEAT: return ws_cli_parse_integer("--repeat", value, 1, 100000, &q->repeat);
  case OPT_CUBIN: q->cubin = true; return true;
  default: return true;
  }
}

int ws_cli_bench(int argc, char **argv) {
  struct request q = {.warmup = 10, .repeat = 40};
  struct ws_cli_shape base = WS_CLI_DEFAULT_SHAPE;
  for (int c; (c = ws_cli_next_option(argc, argv, ":D:h", options)) != -1;) {
    if (c == 'h') {
      fputs(help_text, stdout);
      return WS_CLI_OK;
    }
    if (c == '?') return WS_CLI_USAGE;
    int taken = ws_cli_spec_option(&q.spec, c, optarg);
    if (!taken) taken = ws_cli_shape_option(&base, c, optarg);
    if (taken < 0 || (!taken && !own_option(c, optarg, &q))) return WS_CLI_USAGE;
  }
  if (argc - optind != 1)
    return ws_cli_fail(WS_CLI_USAGE, "bench takes one spec or kernel; see `warpscore bench --help`");
  int code = ws_cli_collect_shapes(&q.shapes, argc, argv, options, &base) ? bench_request(&q, argv[argc - 1]) : WS_CLI_USAGE;
  free(q.shapes.list);
  return code;
}
