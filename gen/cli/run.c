/* warpscore run: a kernel on random data (or .npy files), held against the fp64 reference. */
#include "cli.h"
#include "emu/wsemu.h"
#include "inputs.h"
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help_text[] =
    "usage: warpscore run [OPTIONS] SPEC.yaml|KERNEL.ptx\n\n"
    "Generates the kernel if a spec is given, launches it and compares O and LSE with an fp64 reference. Inputs are "
    "random,\n"
    "N(0,1), the same on every machine for the same seed. Outputs are poisoned before the launch; guards around all\n"
    "tensors and the padding inside them must not change. PASS: the relative Frobenius errors are at most 1.5 times "
    "those\n"
    "of a plain fp32 evaluation with P and O rounded to the kernel's types, NaN and infinities are where the "
    "reference\n"
    "has them, every output element is written and nothing else. With fewer than 64 rows in all the largest error of 32 plain\n"
    "evaluations counts that round P differently. Exit code 1 when a shape fails.\n\n"
    "options:\n"
    "      --shape LIST         b=1,hq=2,hkv=HQ,sq=256,sk=SQ (these are the defaults; repeatable: several shapes).\n"
    "                           Heads that are not given are those that a kernel with packed heads needs.\n"
    "                           layout=, pad=, seed= and sms= may stand in the list, too\n"
    "      --shapes FILE        one such list a line, # starts a comment\n"
    "      --layout bshd|bhsd   order of the dims in memory (default bshd)\n"
    "      --pad N              N more elements between rows, heads and batches (default 0)\n"
    "      --seed N             of the random inputs (default 1)\n"
    "      --sms N              multiprocessors that a persistent kernel uses (default: all)\n"
    "      --scale X            of the scores, more than 0 (default: the kernel's, 1/sqrt(head dim))\n"
    "      --q --k --v FILE     inputs from .npy files, <f4 or <f2, shape (b,h,s,d), rounded to the kernel's type. What\n"
    "                           they say about the shape --shape must not contradict\n"
    "      --in NAME=FILE       the same for any input of the kernel (slopes, bias, ..): of the shape that it has there\n"
    "      --o, --out FILE      write O as .npy (<f4), of the last shape\n"
    "      --lse FILE           write LSE as .npy (<f4), of the last shape\n"
    "      --device DEVICE      cuda:N, emu or best (default: best: a GPU that can run the kernel, else the emulator)\n"
    "      --compare DEVICE     run on this device, too: O must be equal within 2 units in the last place, taken at "
    "the\n"
    "                           larger of the element and its row's rms\n"
    "      --timeout SECONDS    give up when the kernel has not finished by then (default: wait for ever)\n"
    "      --schedule WHEN      when the emulator's asynchronous copies and products complete: early, late (the default)\n"
    "                           or random:SEED; a list separated by commas runs all, and O and LSE must be the same\n"
    "                           bits each time\n"
    "      --stats              what the emulator counted\n" WS_CLI_SPEC_HELP
    "      --format text|json   json: one object with all results\n"
    "      --help               this text\n";

#define MOST_ULPS 2.0 /* between two devices */
enum { MOST_SCHEDULES = 32 };

struct request {
  struct ws_cli_spec_options spec;
  const char *device, *compare, *out, *lse;
  struct ws_cli_files files;
  const char *schedule[MOST_SCHEDULES]; /* of the emulator; nschedules = 0: as it stands */
  size_t nschedules;
  struct ws_cli_shapes shapes;
  bool stats, has_scale;
  double scale, timeout; /* seconds; 0 = none */
};

struct loaded { /* one device with the kernel loaded */
  struct ws_device *device;
  struct ws_kernel *kernel;
  const char *ptx;
};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void unload(struct loaded *s) {
  ws_kernel_free(s->kernel);
  ws_device_close(s->device);
}

static int load_on(struct loaded *s, const char *device, const struct ws_manifest *m, const struct ws_cli_text *text) {
  struct ws_error_info err;
  memset(s, 0, sizeof *s);
  s->ptx = text->ptx;
  int code = ws_cli_open_device(device, m, &s->device);
  if (code == WS_CLI_OK && ws_kernel_load_text(s->device, text->ptx, text->length, &s->kernel, &err))
    code = ws_cli_runtime_fail(&err);
  return code;
}

/* ---- outputs ---- */

static bool write_output(const struct ws_cli_tensor *t, const char *path) {
  int64_t n = ws_cli_tensor_count(t);
  struct ws_cli_array a = {.rank = t->info->rank, .data = malloc((size_t)n * sizeof(float) + 1)};
  if (!a.data) return ws_cli_fail(0, "out of memory"), false;
  memcpy(a.shape, t->shape, sizeof a.shape);
  for (int64_t i = 0; i < n; i++) a.data[i] = ws_cli_tensor_result(t, i);
  bool good = ws_cli_npy_write(path, &a);
  free(a.data);
  return good;
}

/* ---- printing ---- */

struct result {
  struct ws_cli_problem problem;
  struct ws_cli_verdict verdict;
  struct ws_cli_distance distance;
  bool compared, pass;
  const char *disturbed; /* the schedule whose bits are others than the first one's, NULL = none */
  double seconds;
};

static void print_error(const char *name, const struct ws_cli_error *e, const struct ws_cli_error *plain,
                        double limit) {
  printf("%-9s %-11.3e %-15.4e %-13.4e %.4e", name, e->max, e->frobenius, plain->frobenius, limit);
  if (e->nan) printf("  %zu NaN without reason", e->nan);
  if (e->missing_nan) printf("  %zu NaN missing", e->missing_nan);
  if (e->infinite) printf("  %zu infinities differ", e->infinite);
  putchar('\n');
}

static void print_details(const struct result *r) {
  const struct ws_cli_verdict *v = &r->verdict;
  printf("%-9s %-11s %-15s %-13s %s\n", "", "max error", "rel. Frobenius", "plain fp32", "limit");
  print_error("O", &v->o, &v->plain_o, v->limit_o);
  print_error("LSE", &v->lse, &v->plain_lse, v->limit_lse);
  printf("memory    %s\n", v->damaged ? v->damage : "nothing outside O and LSE changed");
  if (v->unwritten) printf("          %zu output elements were never written\n", v->unwritten);
  if (r->disturbed) printf("schedule  %s gives other bits\n", r->disturbed);
  if (r->compared)
    printf("compared  O within %.3g ulps (%zu elements differ), LSE within %.3g ulps%s\n", r->distance.o_ulps,
           r->distance.o_differ, r->distance.lse_ulps, r->distance.classes ? ", NaN or infinity on one side only" : "");
}

static void print_line(const struct result *r) {
  const struct ws_cli_verdict *v = &r->verdict;
  printf(" O %.3e (plain %.3e) LSE %.3e (plain %.3e)", v->o.frobenius, v->plain_o.frobenius, v->lse.frobenius,
         v->plain_lse.frobenius);
  if (v->o.nan + v->lse.nan) printf(" %zu NaN without reason", v->o.nan + v->lse.nan);
  if (v->o.missing_nan + v->lse.missing_nan) printf(" %zu NaN missing", v->o.missing_nan + v->lse.missing_nan);
  if (v->o.infinite + v->lse.infinite) printf(" %zu infinities differ", v->o.infinite + v->lse.infinite);
  if (v->unwritten) printf(" %zu elements unwritten", v->unwritten);
  if (v->damaged) printf(" %s", v->damage);
  if (r->disturbed) printf(" other bits under %s", r->disturbed);
  if (r->compared)
    printf(" compared %.3g ulps%s", r->distance.o_ulps, r->distance.classes ? " NaN or infinity on one side only" : "");
  putchar('\n');
}

static void print_result(const struct result *r, bool single) {
  char shape[256];
  ws_cli_print_shape(&r->problem.shape, shape, sizeof shape);
  const char *word = r->pass ? "PASS" : "FAIL";
  if (!single) {
    printf("%s %s", word, shape);
    print_line(r);
    return;
  }
  printf("shape     %s\n", shape);
  print_details(r);
  puts(word);
}

static json_t *error_json(const struct ws_cli_error *e, const struct ws_cli_error *plain, double limit) {
  return json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "max", e->max, "frobenius", e->frobenius, "plain_frobenius",
                   plain->frobenius, "limit", limit, "nan", (json_int_t)e->nan, "missing_nan",
                   (json_int_t)e->missing_nan, "infinities", (json_int_t)e->infinite);
}

static json_t *result_json(const struct result *r) {
  char shape[256];
  const struct ws_cli_verdict *v = &r->verdict;
  ws_cli_print_shape(&r->problem.shape, shape, sizeof shape);
  json_t *j =
      json_pack("{s:s, s:b, s:o, s:o, s:I, s:I, s:f}", "shape", shape, "pass", r->pass, "o",
                error_json(&v->o, &v->plain_o, v->limit_o), "lse", error_json(&v->lse, &v->plain_lse, v->limit_lse),
                "unwritten", (json_int_t)v->unwritten, "damaged", (json_int_t)v->damaged, "seconds", r->seconds);
  if (j && r->disturbed) json_object_set_new(j, "disturbed_by", json_string(r->disturbed));
  if (j && r->compared)
    json_object_set_new(j, "compared",
                        json_pack("{s:f, s:f, s:I}", "o_ulps", r->distance.o_ulps, "lse_ulps", r->distance.lse_ulps,
                                  "differ", (json_int_t)r->distance.o_differ));
  return j;
}

static void print_head(const struct ws_manifest *m, const struct loaded *s) {
  const struct ws_kernel_info *k = ws_manifest_kernel(m);
  const struct ws_device_info *d = ws_device_get_info(s->device);
  const struct ws_kernel_resources *r = ws_kernel_get_resources(s->kernel);
  const char *value, *name;
  printf("kernel    %s for %s:", k->entry, k->target);
  for (size_t i = 0; (name = ws_manifest_setting_at(m, i, &value)); i++) printf("%s %s %s", i ? "," : "", name, value);
  printf("\ndevice    %s: %s%s%s%s\n", d->name, d->model, *d->choice ? " (" : "", d->choice, *d->choice ? ")" : "");
  if (r->registers)
    printf("resources %d registers, %d bytes spilled, %u bytes of shared memory, %d CTAs an SM\n", r->registers,
           r->local_bytes, k->shared + (uint32_t)r->static_shared, r->ctas_per_sm);
  else
    printf("resources registers not known without the assembler, %u bytes of shared memory\n", k->shared + (uint32_t)r->static_shared);
}

/* ---- the emulator's counters ---- */

static void reset_stats(const struct loaded *s) {
  void (*reset)(void);
  void *symbol = ws_device_symbol(s->device, "wsemuResetStats");
  memcpy(&reset, &symbol, sizeof reset);
  if (reset) reset();
}

static bool read_stats(const struct loaded *s, struct wsemu_stats *out) {
  int (*get)(struct wsemu_stats *);
  void *symbol = ws_device_symbol(s->device, "wsemuGetStats");
  memcpy(&get, &symbol, sizeof get);
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
  return get && !get(out);
}

static void print_stats(const struct wsemu_stats *s) {
  double rate = s->core_seconds > 0 ? (double)s->warp_instructions / s->core_seconds : 0;
  printf("stats     %llu warp instructions in %.3f s (%.3f core s): %.2f million a second and core\n",
         (unsigned long long)s->warp_instructions, s->kernel_seconds, s->core_seconds, rate * 1e-6);
  printf("          global %llu bytes read, %llu written; shared %llu read, %llu written\n",
         (unsigned long long)s->global_bytes_read, (unsigned long long)s->global_bytes_written,
         (unsigned long long)s->shared_bytes_read, (unsigned long long)s->shared_bytes_written);
  printf("          %llu tensor FLOPs, %llu exponentials, %llu barrier waits\n", (unsigned long long)s->tensor_flops,
         (unsigned long long)s->exponentials, (unsigned long long)s->barrier_waits);
  if (s->async_operations)
    printf("          %llu asynchronous operations, %llu delayed, %llu out of order\n", (unsigned long long)s->async_operations,
           (unsigned long long)s->async_delayed, (unsigned long long)s->async_reordered);
}

static json_t *stats_json(const struct wsemu_stats *s) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "warp_instructions",
                   (json_int_t)s->warp_instructions, "global_bytes_read", (json_int_t)s->global_bytes_read,
                   "global_bytes_written", (json_int_t)s->global_bytes_written, "shared_bytes_read",
                   (json_int_t)s->shared_bytes_read, "shared_bytes_written", (json_int_t)s->shared_bytes_written,
                   "tensor_flops", (json_int_t)s->tensor_flops, "exponentials", (json_int_t)s->exponentials,
                   "barrier_waits", (json_int_t)s->barrier_waits, "async_operations", (json_int_t)s->async_operations,
                   "async_delayed", (json_int_t)s->async_delayed, "async_reordered", (json_int_t)s->async_reordered,
                   "kernel_seconds", s->kernel_seconds, "core_seconds", s->core_seconds);
}

/* ---- running ---- */

/* false where the device is no emulator, or does not take the value. */
static bool set_option(const struct loaded *s, const char *name, const char *value) {
  int (*set)(const char *, const char *);
  void *symbol = ws_device_symbol(s->device, "wsemuSetOption");
  memcpy(&set, &symbol, sizeof set);
  return set && !set(name, value);
}

/* The emulator ends a kernel by itself; it has run when its launch returns. */
static bool set_watchdog(const struct loaded *s, double timeout) {
  char text[64];
  snprintf(text, sizeof text, "%.17g", timeout);
  return set_option(s, "watchdog", text);
}

/* A GPU does not stop a kernel, and every call that ends something waits for it: nothing but leaving the process is left. */
static int wait_for(const struct loaded *s, double timeout) {
  struct ws_error_info err;
  const double start = seconds();
  const struct timespec pause = {0, 200000};
  int done = 0;
  while (timeout > 0 && !done) {
    if (ws_stream_done(s->device, NULL, &done, &err)) return ws_cli_runtime_fail(&err);
    if (!done && seconds() - start > timeout) {
      ws_cli_fail(0, "%s: the kernel did not finish within %g s", ws_device_get_info(s->device)->name, timeout);
      fflush(NULL);
      _exit(WS_CLI_REJECTED);
    }
    if (!done) nanosleep(&pause, NULL);
  }
  return ws_device_synchronize(s->device, &err) ? ws_cli_runtime_fail(&err) : WS_CLI_OK;
}

/* The emulator's: what the kernels read of memory that nothing had written. */
static void print_warnings(const struct loaded *s) {
  size_t (*get)(struct CUfunc_st *, char *, size_t);
  void *symbol = ws_device_symbol(s->device, "wsemuWarnings");
  memcpy(&get, &symbol, sizeof get);
  size_t n = get ? get(NULL, NULL, 0) : 0;
  char *text = n ? malloc(n + 1) : NULL;
  if (!text) return;
  get(NULL, text, n + 1);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) fprintf(stderr, "warpscore: warning: %s\n", line);
  free(text);
}

static int execute(struct ws_cli_problem *p, const struct loaded *s, double timeout, double *time) {
  int code = ws_cli_problem_upload(p, s->device);
  bool watched = timeout > 0 && set_watchdog(s, timeout);
  double start = seconds();
  if (code == WS_CLI_OK) code = ws_cli_problem_launch(p, s->kernel, NULL);
  if (code != WS_CLI_OK && watched && seconds() - start > timeout) {
    ws_cli_fail(0, "%s: the kernel did not finish within %g s", ws_device_get_info(s->device)->name, timeout);
    code = WS_CLI_REJECTED;
  }
  if (code == WS_CLI_OK) code = wait_for(s, timeout);
  *time = seconds() - start;
  print_warnings(s);
  if (code != WS_CLI_OK) ws_cli_watchdog_report(p, s->ptx);
  if (code == WS_CLI_OK) code = ws_cli_problem_download(p, s->device);
  ws_cli_problem_release(p, s->device);
  return code;
}

static int compare(struct result *r, const struct ws_cli_inputs *files, const struct loaded *other, double timeout) {
  struct ws_cli_problem twin;
  double time;
  if (!ws_cli_problem_init(&twin, r->problem.manifest, &r->problem.shape, &r->problem.scale)) return twin.code;
  int code = ws_cli_problem_tensors(&twin) ? WS_CLI_OK : twin.code;
  if (code == WS_CLI_OK) code = ws_cli_inputs_fill(&twin, files) ? execute(&twin, other, timeout, &time) : WS_CLI_USAGE;
  if (code == WS_CLI_OK) {
    r->compared = true;
    r->distance = ws_cli_compare(&r->problem, &twin);
    if (r->distance.o_ulps > MOST_ULPS || r->distance.classes) r->pass = false;
  }
  ws_cli_problem_free(&twin);
  return code;
}

static bool same_bits(const struct ws_cli_tensor *a, const struct ws_cli_tensor *b) { return !memcmp(a->after, b->after, a->bytes); }

/* The same shape under the other completion orders: nothing that a kernel may rely on has changed. */
static int run_other_schedules(const struct request *q, struct result *r, const struct ws_cli_inputs *files, const struct loaded *s) {
  int code = WS_CLI_OK;
  for (size_t i = 1; i < q->nschedules && code == WS_CLI_OK && !r->disturbed; i++) {
    struct ws_cli_problem twin;
    double time;
    if (!ws_cli_problem_init(&twin, r->problem.manifest, &r->problem.shape, &r->problem.scale)) return twin.code;
    set_option(s, "schedule", q->schedule[i]);
    code = ws_cli_problem_tensors(&twin) ? WS_CLI_OK : twin.code;
    if (code == WS_CLI_OK) code = ws_cli_inputs_fill(&twin, files) ? execute(&twin, s, q->timeout, &time) : WS_CLI_USAGE;
    bool same = code != WS_CLI_OK || (same_bits(&r->problem.t[WS_CLI_O], &twin.t[WS_CLI_O]) && same_bits(&r->problem.t[WS_CLI_LSE], &twin.t[WS_CLI_LSE]));
    if (!same) r->disturbed = q->schedule[i], r->pass = false;
    if (code != WS_CLI_OK) fprintf(stderr, "warpscore: the schedule was %s\n", q->schedule[i]);
    ws_cli_problem_free(&twin);
  }
  if (q->nschedules) set_option(s, "schedule", q->schedule[0]);
  return code;
}

static int run_shape(struct request *q, const struct ws_manifest *m, const struct ws_cli_shape *given,
                     const struct ws_cli_inputs *files, const struct loaded *loaded, struct result *r) {
  struct ws_cli_shape shape = *given;
  memset(r, 0, sizeof *r);
  if (!ws_cli_inputs_shape(files, &shape)) return WS_CLI_USAGE;
  if (!ws_cli_problem_init(&r->problem, m, &shape, q->has_scale ? &q->scale : NULL)) return r->problem.code;
  int code = WS_CLI_OK;
  if (!ws_cli_problem_tensors(&r->problem))
    code = r->problem.code;
  else if (!ws_cli_inputs_fill(&r->problem, files))
    code = WS_CLI_USAGE;
  else
    code = execute(&r->problem, &loaded[0], q->timeout, &r->seconds);
  if (code == WS_CLI_OK && !ws_cli_judge(&r->problem, &r->verdict))
    code = ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  r->pass = r->verdict.pass;
  if (code == WS_CLI_OK) code = run_other_schedules(q, r, files, &loaded[0]);
  if (code == WS_CLI_OK && q->compare) code = compare(r, files, &loaded[1], q->timeout);
  if (code == WS_CLI_OK && q->out && !write_output(&r->problem.t[WS_CLI_O], q->out)) code = WS_CLI_USAGE;
  if (code == WS_CLI_OK && q->lse && !write_output(&r->problem.t[WS_CLI_LSE], q->lse)) code = WS_CLI_USAGE;
  return code;
}

static int run_shapes(struct request *q, const struct ws_manifest *m, const struct ws_cli_inputs *files,
                      const struct loaded *loaded, json_t *results) {
  int code = WS_CLI_OK;
  size_t failed = 0;
  for (size_t i = 0; i < q->shapes.n && code == WS_CLI_OK; i++) {
    struct result r;
    code = run_shape(q, m, &q->shapes.list[i], files, loaded, &r);
    if (code != WS_CLI_OK) {
      char shape[256];
      ws_cli_print_shape(&q->shapes.list[i], shape, sizeof shape);
      fprintf(stderr, "warpscore: the shape was %s\n", shape);
    } else if (q->spec.json) {
      json_array_append_new(results, result_json(&r));
    } else {
      print_result(&r, q->shapes.n == 1);
      fflush(stdout);
    }
    failed += code == WS_CLI_OK && !r.pass;
    ws_cli_problem_free(&r.problem);
  }
  if (code == WS_CLI_OK && q->shapes.n > 1 && !q->spec.json) printf("%zu shapes, %zu failed\n", q->shapes.n, failed);
  return code == WS_CLI_OK && failed ? WS_CLI_REJECTED : code;
}

/* All words are tried at once, so that a wrong one is said before anything runs; the first stays. */
static int set_schedules(const struct request *q, const struct loaded *s) {
  for (size_t i = q->nschedules; i-- > 0;) {
    const char *device = ws_device_get_info(s->device)->name;
    if (set_option(s, "schedule", q->schedule[i])) continue;
    if (!ws_device_symbol(s->device, "wsemuSetOption")) return ws_cli_fail(WS_CLI_USAGE, "--schedule: %s completes when it likes, the emulator does as it is told", device);
    return ws_cli_fail(WS_CLI_USAGE, "--schedule: '%s' found, expected early, late or random:SEED", q->schedule[i]);
  }
  return WS_CLI_OK;
}

static int run_kernel(struct request *q, const struct ws_cli_text *text, const struct ws_manifest *m,
                      const struct ws_cli_inputs *files) {
  struct loaded loaded[2] = {{0}};
  struct wsemu_stats stats;
  json_t *root = json_object(), *results = json_array();
  json_object_set(root, "results", results);
  int code = load_on(&loaded[0], q->device, m, text);
  if (code == WS_CLI_OK && q->compare) code = load_on(&loaded[1], q->compare, m, text);
  if (code == WS_CLI_OK) code = set_schedules(q, &loaded[0]);
  if (code == WS_CLI_OK) {
    const struct ws_device_info *d = ws_device_get_info(loaded[0].device);
    if (!q->spec.json) print_head(m, &loaded[0]);
    json_object_set_new(root, "device", json_pack("{s:s, s:s}", "name", d->name, "model", d->model));
    reset_stats(&loaded[0]);
    code = run_shapes(q, m, files, loaded, results);
    bool counted = q->stats && read_stats(&loaded[0], &stats);
    if (counted && q->spec.json)
      json_object_set_new(root, "stats", stats_json(&stats));
    else if (counted)
      print_stats(&stats);
    else if (q->stats)
      ws_cli_fail(0, "--stats: %s counts nothing, the emulator does", d->name);
    json_object_set_new(root, "pass", json_boolean(code == WS_CLI_OK));
    if (q->spec.json && json_dumpf(root, stdout, JSON_INDENT(2)) == 0) putchar('\n');
  }
  json_decref(results);
  json_decref(root);
  unload(&loaded[0]);
  unload(&loaded[1]);
  return code;
}

static int run_request(struct request *q, const char *path) {
  struct ws_cli_inputs *in = calloc(1, sizeof *in);
  struct ws_cli_text text = {0};
  struct ws_manifest *m = NULL;
  struct ws_error_info err;
  int code = in ? WS_CLI_OK : ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  if (code == WS_CLI_OK && q->shapes.n > 1 && (q->out || q->lse || ws_cli_files_any(&q->files)))
    code = ws_cli_fail(WS_CLI_USAGE, "--q and the like take one shape");
  if (code == WS_CLI_OK && ((q->out && !ws_cli_can_write(q->out)) || (q->lse && !ws_cli_can_write(q->lse)))) code = WS_CLI_USAGE;
  if (code == WS_CLI_OK) code = ws_cli_obtain(path, &q->spec, &text);
  if (code == WS_CLI_OK && ws_manifest_parse(text.ptx, text.length, &m, &err))
    code = ws_cli_fail(WS_CLI_REJECTED, "%s: %s", path, err.message);
  if (code == WS_CLI_OK) code = ws_cli_inputs_read(&q->files, m, in);
  if (code == WS_CLI_OK) code = run_kernel(q, &text, m, in);
  ws_manifest_free(m);
  ws_cli_text_free(&text);
  if (in) ws_cli_inputs_free(in);
  free(in);
  return code;
}

/* ---- options ---- */

enum {
  OPT_SCALE = 256,
  OPT_Q,
  OPT_K,
  OPT_V,
  OPT_IN,
  OPT_O,
  OPT_LSE,
  OPT_DEVICE,
  OPT_COMPARE,
  OPT_TIMEOUT,
  OPT_SCHEDULE,
  OPT_STATS
};
static const struct option options[] = {
    WS_CLI_SPEC_OPTIONS,
    WS_CLI_SHAPE_OPTIONS,
    {"scale", required_argument, NULL, OPT_SCALE},
    {"q", required_argument, NULL, OPT_Q},
    {"k", required_argument, NULL, OPT_K},
    {"v", required_argument, NULL, OPT_V},
    {"in", required_argument, NULL, OPT_IN},
    {"o", required_argument, NULL, OPT_O},
    {"out", required_argument, NULL, OPT_O},
    {"lse", required_argument, NULL, OPT_LSE},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"schedule", required_argument, NULL, OPT_SCHEDULE},
    {"stats", no_argument, NULL, OPT_STATS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool add_schedules(struct request *q, char *list) {
  char *save = NULL;
  for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
    if (q->nschedules == MOST_SCHEDULES) return ws_cli_fail(0, "--schedule: more than %d", MOST_SCHEDULES), false;
    q->schedule[q->nschedules++] = s;
  }
  return q->nschedules || (ws_cli_fail(0, "--schedule: nothing found, expected early, late or random:SEED"), false);
}

static bool own_option(int option, char *value, struct request *q) {
  switch (option) {
  case OPT_SCALE:
    q->has_scale = true;
    return ws_cli_parse_number("--scale", value, &q->scale) && (q->scale > 0 || (ws_cli_fail(0, "--scale: %s found, expected a number > 0", value), false));
  case OPT_Q:
  case OPT_K:
  case OPT_V: q->files.qkv[option - OPT_Q] = value; return true;
  case OPT_IN: return ws_cli_files_add(&q->files, value);
  case OPT_O: q->out = value; return true;
  case OPT_LSE: q->lse = value; return true;
  case OPT_DEVICE: q->device = value; return true;
  case OPT_COMPARE: q->compare = value; return true;
  case OPT_TIMEOUT:
    if (!ws_cli_parse_number("--timeout", value, &q->timeout)) return false;
    return q->timeout > 0 || (ws_cli_fail(0, "--timeout: %s found, expected seconds > 0", value), false);
  case OPT_SCHEDULE: return add_schedules(q, value);
  case OPT_STATS: q->stats = true; return true;
  default: return true;
  }
}

int ws_cli_run(int argc, char **argv) {
  struct request q = {0};
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
  if (argc - optind != 1) return ws_cli_fail(WS_CLI_USAGE, "run takes one spec or kernel; see `warpscore run --help`");
  int code = ws_cli_collect_shapes(&q.shapes, argc, argv, options, &base) ? run_request(&q, argv[argc - 1]) : WS_CLI_USAGE;
  free(q.shapes.list);
  return code;
}
