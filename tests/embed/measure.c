/* What the library costs, and whether it holds under load, in one run on one device:
 *
 *   embed_measure --copy tests/runtime/data/copy.ptx [--kernel K.ptx]... [--device cuda:0] [--threads 8] [--launches 10000]
 *
 *   launch    ws_kernel_launch beside cuLaunchKernelEx itself: at most 1 us more
 *   load      compiled by the driver (its own cache switched off), stored in a cache folder, taken from there: at most 5 ms,
 *             with the same results bit for bit
 *   threads   launches from several threads on streams of their own, without one error, with the right results
 *   context   kernel, memory and stream in a context of the caller's own
 *   graph     a captured launch replayed: bit for bit what eager launches give
 *
 * On the emulator the limits do not hold; there the program itself is tested. Exit code 0 fine, 1 a goal is missed, 77 no such
 * device. */
#define _GNU_SOURCE
#include "cuda_abi.h"
#include "warpscore.h"
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TENSORS = 8, BATCH = 200, BATCHES = 300, LOADS = 25 };
static const double MAX_OVERHEAD = 1e-6, MAX_LOAD = 5e-3;

static struct ws_error_info err;
static struct ws_device *device;
static struct ws_cu_api api; /* of the same driver, for what is measured against */

static void die(const char *what) {
  fprintf(stderr, "embed_measure: %s\n", what);
  exit(1);
}

static void must(enum ws_status status) {
  if (status) die(err.message);
}

static void cu(ws_cu_result result) {
  char text[64];
  snprintf(text, sizeof text, "a driver call failed with %u", result);
  if (result) die(text);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(double *v, size_t n, double q) {
  qsort(v, n, sizeof *v, ascending);
  return v[(size_t)(q * (double)(n - 1) + 0.5)];
}

static uint64_t next_random(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static void bind_driver(void) {
  static const struct {
    const char *name;
    size_t offset;
  } entries[] = {
#define ENTRY(need, name, params) {#name, offsetof(struct ws_cu_api, name)},
      WS_CU_FUNCTIONS(ENTRY)};
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *symbol = ws_device_symbol(device, entries[i].name);
    memcpy((char *)&api + entries[i].offset, &symbol, sizeof symbol);
  }
}

/* ---- a launch of any kernel: shapes by the names of dims, random inputs, poisoned outputs ---- */

struct job {
  const struct ws_kernel *kernel;
  struct ws_tensor tensors[MAX_TENSORS];
  int64_t shape[MAX_TENSORS][WS_MAX_RANK];
  size_t bytes[MAX_TENSORS];
  char *host[MAX_TENSORS]; /* inputs as they were sent */
  struct ws_launch launch;
  uint64_t random;
};

struct extents {
  int64_t batch, heads, kv_heads, queries, keys;
};

static int64_t extent_of(const struct ws_dim_info *d, const struct extents *e) {
  if (!d->name) return d->extent;
  if (!strcmp(d->name, "batch")) return e->batch;
  if (!strcmp(d->name, "heads")) return e->heads;
  if (!strcmp(d->name, "kv_heads")) return e->kv_heads;
  if (!strcmp(d->name, "queries")) return e->queries;
  if (!strcmp(d->name, "keys")) return e->keys;
  die("a kernel with other dims than attention has");
  return 0;
}

static void fill_inputs(struct job *j) {
  for (size_t i = 0; i < j->launch.ntensors; i++) {
    const struct ws_tensor_info *info = ws_manifest_tensor(ws_kernel_manifest(j->kernel), i);
    if (info->direction != WS_IN) {
      must(ws_memory_fill(device, j->tensors[i].data, 0xff, j->bytes[i], j->launch.stream, &err));
      continue;
    }
    for (size_t b = 0; b + 1 < j->bytes[i]; b += 2) { /* bf16 or f16 from about -2 to 2 */
      uint64_t r = next_random(&j->random);
      uint16_t v = (uint16_t)((r & 0x807f) | (uint64_t)(120 + (r >> 20) % 8) << 7);
      memcpy(j->host[i] + b, &v, 2);
    }
    must(ws_memory_upload(device, j->tensors[i].data, j->host[i], j->bytes[i], j->launch.stream, &err));
  }
}

static void start_job(struct job *j, const struct ws_kernel *k, const struct extents *e, uint64_t seed) {
  const struct ws_manifest *m = ws_kernel_manifest(k);
  memset(j, 0, sizeof *j);
  j->kernel = k;
  j->random = seed;
  must(ws_stream_create(device, &j->launch.stream, &err));
  const struct ws_tensor_info *info;
  for (size_t i = 0; i < MAX_TENSORS && (info = ws_manifest_tensor(m, i)); i++) {
    j->bytes[i] = ws_dtype_size(info->type);
    for (int d = 0; d < info->rank; d++) {
      j->shape[i][d] = extent_of(&info->dims[d], e);
      j->bytes[i] *= (size_t)j->shape[i][d];
    }
    j->tensors[i] = (struct ws_tensor){info->name, 0, info->type, info->rank, j->shape[i], NULL};
    must(ws_memory_alloc(device, j->bytes[i], &j->tensors[i].data, &err));
    j->host[i] = malloc(j->bytes[i]);
    if (!j->host[i]) die("out of memory");
    j->launch.ntensors = i + 1;
  }
  j->launch.tensors = j->tensors;
  fill_inputs(j);
}

static void end_job(struct job *j) {
  for (size_t i = 0; i < j->launch.ntensors; i++) {
    must(ws_memory_free(device, j->tensors[i].data, &err));
    free(j->host[i]);
  }
  must(ws_stream_destroy(device, j->launch.stream, &err));
}

/* The outputs' bytes, one tensor behind the other. */
static char *outputs(const struct job *j, size_t *n) {
  *n = 0;
  char *all = malloc(1);
  for (size_t i = 0; i < j->launch.ntensors; i++) {
    if (ws_manifest_tensor(ws_kernel_manifest(j->kernel), i)->direction == WS_IN) continue;
    all = realloc(all, *n + j->bytes[i]);
    if (!all) die("out of memory");
    must(ws_memory_download(device, all + *n, j->tensors[i].data, j->bytes[i], j->launch.stream, &err));
    *n += j->bytes[i];
  }
  return all;
}

/* What the kernel makes of inputs that are the same in every call. */
static char *results(const struct ws_kernel *k, size_t *n, bool *right) {
  const struct extents e = {2, 4, 2, 300, 500};
  struct job j;
  start_job(&j, k, &e, 9);
  must(ws_kernel_launch(k, &j.launch, &err));
  char *out = outputs(&j, n);
  if (right) *right = !memcmp(out, j.host[0], j.bytes[0]); /* of copy.ptx */
  end_job(&j);
  return out;
}

/* ---- launch ---- */

/* The same kernel and arguments without the library. */
struct raw {
  struct CUmod_st *module;
  struct CUfunc_st *function;
  struct ws_cu_launch_config config;
  uint64_t values[32];
  void *params[32];
};

static void load_raw(struct raw *r, const char *text, const struct job *j) {
  cu(api.cuModuleLoadDataEx(&r->module, text, 0, NULL, NULL));
  cu(api.cuModuleGetFunction(&r->function, r->module, "copy"));
  r->config = (struct ws_cu_launch_config){.grid_x = 1, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1,
                                           .shared_bytes = 1024, .stream = j->launch.stream};
  memset(r->values, 0, sizeof r->values);
  static const int data[] = {0, 4, 5, 12, 16}; /* parameters of copy.ptx; strides of a single row do not matter */
  for (int i = 0; i < 5; i++) r->values[data[i]] = j->tensors[i].data;
  for (int i = 19; i < 23; i++) r->values[i] = 1;
  for (int i = 0; i < 32; i++) r->params[i] = &r->values[i];
}

static double ours(struct job *j, int n) {
  double begin = now();
  for (int i = 0; i < n; i++) must(ws_kernel_launch(j->kernel, &j->launch, &err));
  double end = now();
  must(ws_stream_synchronize(device, j->launch.stream, &err));
  return (end - begin) / n;
}

static double theirs(struct raw *r, struct job *j, int n) {
  double begin = now();
  for (int i = 0; i < n; i++) cu(api.cuLaunchKernelEx(&r->config, r->function, r->params, NULL));
  double end = now();
  must(ws_stream_synchronize(device, j->launch.stream, &err));
  return (end - begin) / n;
}

static bool measure_launch(const struct ws_kernel *k, const char *text, bool judged) {
  static double a[BATCHES], b[BATCHES], c[BATCHES];
  const struct extents one = {1, 1, 1, 1, 1};
  struct job j;
  struct raw r;
  struct CUctx_st *context, *old;
  int batches = judged ? BATCHES : 3, each = judged ? BATCH : 10;
  start_job(&j, k, &one, 1);
  cu(api.cuDevicePrimaryCtxRetain(&context, ws_device_get_info(device)->ordinal));
  cu(api.cuCtxPushCurrent_v2(context));
  load_raw(&r, text, &j);
  for (int i = -5; i < batches; i++) { /* in turn, so that both meet the same machine; the first five warm up */
    int at = i < 0 ? 0 : i;
    a[at] = theirs(&r, &j, each);
    b[at] = ours(&j, each);
    cu(api.cuCtxPopCurrent_v2(&old));
    c[at] = ours(&j, each);
    cu(api.cuCtxPushCurrent_v2(context));
  }
  double raw = quantile(a, (size_t)batches, 0.5), lib = quantile(b, (size_t)batches, 0.5),
         switched = quantile(c, (size_t)batches, 0.5);
  printf("launch   cuLaunchKernelEx %.3f us (%.3f to %.3f), ws_kernel_launch %.3f us (%.3f to %.3f): + %.3f us; from a thread "
         "without the context current %.3f us: + %.3f us; median and 10 to 90 %% of %d batches of %d\n",
         1e6 * raw, 1e6 * quantile(a, (size_t)batches, 0.1), 1e6 * quantile(a, (size_t)batches, 0.9), 1e6 * lib,
         1e6 * quantile(b, (size_t)batches, 0.1), 1e6 * quantile(b, (size_t)batches, 0.9), 1e6 * (lib - raw), 1e6 * switched,
         1e6 * (switched - raw), batches, each);
  size_t n;
  char *out = outputs(&j, &n);
  bool right = !memcmp(out, j.host[0], j.bytes[0]);
  free(out);
  cu(api.cuModuleUnload(r.module));
  cu(api.cuCtxPopCurrent_v2(&old));
  cu(api.cuDevicePrimaryCtxRelease_v2(ws_device_get_info(device)->ordinal));
  end_job(&j);
  if (!right) puts("launch   WRONG: the kernel did not do its work");
  return right && (!judged || lib - raw <= MAX_OVERHEAD);
}

/* ---- load ---- */

static double load_once(struct ws_device *d, const char *path, enum ws_load_source *source, char *note, size_t size) {
  struct ws_kernel *k;
  double begin = now();
  must(ws_kernel_load_file(d, path, &k, &err));
  double seconds = now() - begin;
  *source = ws_kernel_get_load_info(k)->source;
  snprintf(note, size, "%s", ws_kernel_get_load_info(k)->cache);
  ws_kernel_free(k);
  return seconds;
}

static bool measure_load(const char *name, const char *path, bool judged) {
  char folder[] = "/tmp/warpscore-cache-XXXXXX", note[600];
  if (!mkdtemp(folder)) die("no temporary folder");
  const struct ws_device_options options = {.cache_folder = folder};
  struct ws_device *cached;
  enum ws_load_source source;
  double jit[3], load[LOADS], stored;
  bool good = true;
  must(ws_device_open(name, NULL, &options, &cached, &err));
  for (int i = 0; i < 3; i++) jit[i] = load_once(device, path, &source, note, sizeof note);
  stored = load_once(cached, path, &source, note, sizeof note);
  char *file = strchr(note, '/'), first[600];
  snprintf(first, sizeof first, "%s", file ? file : "");
  for (int i = 0; i < LOADS; i++) {
    load[i] = load_once(cached, path, &source, note, sizeof note);
    good &= !judged || source == WS_LOAD_CACHED;
  }
  double median = quantile(load, LOADS, 0.5), compiled = quantile(jit, 3, 0.5); /* and sorted now */
  printf("load     %s: compiled %.1f ms (%.1f to %.1f), compiled and stored %.1f ms, cached %.2f ms (%.2f to %.2f); %s\n", path,
         1e3 * compiled, 1e3 * jit[0], 1e3 * jit[2], 1e3 * stored, 1e3 * median, 1e3 * load[0],
         1e3 * load[LOADS - 1], source == WS_LOAD_CACHED ? "from the cache" : note);
  struct ws_kernel *direct, *from_cache;
  size_t n, m;
  must(ws_kernel_load_file(device, path, &direct, &err));
  must(ws_kernel_load_file(cached, path, &from_cache, &err));
  char *a = results(direct, &n, NULL), *b = results(from_cache, &m, NULL);
  bool same = n == m && !memcmp(a, b, n);
  const struct ws_kernel_resources *x = ws_kernel_get_resources(direct), *y = ws_kernel_get_resources(from_cache);
  printf("load     compiled: %d registers, %d bytes spilled; cached: %d, %d; results %s\n", x->registers, x->local_bytes,
         y->registers, y->local_bytes, same ? "equal bit for bit" : "DIFFER");
  free(a);
  free(b);
  ws_kernel_free(direct);
  ws_kernel_free(from_cache);
  ws_device_close(cached);
  if (*first) unlink(first);
  rmdir(folder);
  return good && same && (!judged || median < MAX_LOAD);
}

/* ---- threads ---- */

struct worker {
  pthread_t thread;
  const struct ws_kernel *kernel;
  int number, launches;
  char problem[256]; /* "" = fine */
};

static void *work(void *arg) {
  struct worker *w = arg;
  struct ws_error_info own;
  struct job j;
  static pthread_mutex_t setup = PTHREAD_MUTEX_INITIALIZER; /* must() ends the program through one err */
  const struct extents e = {1 + w->number % 2, 2, 1, 5 + w->number, 3};
  pthread_mutex_lock(&setup);
  start_job(&j, w->kernel, &e, (uint64_t)w->number + 77);
  pthread_mutex_unlock(&setup);
  for (int i = 0; i < w->launches && !*w->problem; i++)
    if (ws_kernel_launch(w->kernel, &j.launch, &own))
      snprintf(w->problem, sizeof w->problem, "launch %d: %.200s", i, own.message);
  pthread_mutex_lock(&setup);
  size_t n;
  char *out = outputs(&j, &n);
  if (!*w->problem && memcmp(out, j.host[0], j.bytes[0]))
    snprintf(w->problem, sizeof w->problem, "the result is wrong");
  free(out);
  end_job(&j);
  pthread_mutex_unlock(&setup);
  return NULL;
}

static bool measure_threads(const struct ws_kernel *k, int threads, int launches) {
  struct worker *w = calloc((size_t)threads, sizeof *w);
  bool good = w != NULL;
  double begin = now();
  for (int i = 0; good && i < threads; i++) {
    w[i].kernel = k, w[i].number = i, w[i].launches = launches;
    if (pthread_create(&w[i].thread, NULL, work, &w[i])) die("no thread");
  }
  for (int i = 0; good && i < threads; i++) pthread_join(w[i].thread, NULL);
  double seconds = now() - begin;
  for (int i = 0; w && i < threads; i++)
    if (*w[i].problem) good = false, printf("threads  WRONG: thread %d: %s\n", i, w[i].problem);
  printf("threads  %d threads with %d launches each in %.3f s: %s\n", threads, launches, seconds,
         good ? "no error, results right" : "WRONG");
  free(w);
  return good;
}

/* ---- context ---- */

static bool measure_context(const char *path, bool emulator) {
  struct CUctx_st *context, *old;
  struct ws_device *primary = device;
  struct ws_kernel *k;
  if (!api.cuCtxCreate_v2 || !api.cuCtxDestroy_v2) {
    puts("context  this driver makes none");
    return true;
  }
  cu(api.cuCtxCreate_v2(&context, 0, ws_device_get_info(device)->ordinal));
  cu(api.cuCtxPopCurrent_v2(&old));
  const struct ws_device_options options = {.context = context, .driver_path = emulator ? getenv("WARPSCORE_EMU") : NULL};
  must(ws_device_open(NULL, NULL, &options, &device, &err));
  must(ws_kernel_load_file(device, path, &k, &err));
  size_t n;
  bool right;
  free(results(k, &n, &right));
  printf("context  a kernel in a context of the program's own on %s: %s\n", ws_device_get_info(device)->name,
         right ? "right" : "WRONG");
  ws_kernel_free(k);
  ws_device_close(device);
  device = primary;
  cu(api.cuCtxDestroy_v2(context));
  return right;
}

/* ---- graph ---- */

static bool measure_graph(const struct ws_kernel *k) {
  const char *entry = ws_manifest_kernel(ws_kernel_manifest(k))->entry;
  const struct extents e = {2, 4, 2, 300, 500};
  struct job j;
  struct CUgraph_st *graph = NULL;
  struct CUgraphExec_st *exec = NULL;
  struct CUctx_st *context, *old;
  bool good = true;
  start_job(&j, k, &e, 5);
  cu(api.cuDevicePrimaryCtxRetain(&context, ws_device_get_info(device)->ordinal));
  cu(api.cuCtxPushCurrent_v2(context));
  ws_cu_result result = WS_CUDA_ERROR_NOT_SUPPORTED;
  if (api.cuStreamBeginCapture_v2) result = api.cuStreamBeginCapture_v2(j.launch.stream, WS_CU_STREAM_CAPTURE_MODE_GLOBAL);
  if (result == WS_CUDA_ERROR_NOT_SUPPORTED) {
    printf("graph    %s: this driver has none\n", entry);
  } else {
    cu(result);
    must(ws_kernel_launch(k, &j.launch, &err));
    cu(api.cuStreamEndCapture(j.launch.stream, &graph));
    cu(api.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int round = 0; round < 10; round++) {
      size_t n, m;
      fill_inputs(&j);
      cu(api.cuGraphLaunch(exec, j.launch.stream));
      char *replayed = outputs(&j, &n);
      for (size_t i = 0; i < j.launch.ntensors; i++)
        if (ws_manifest_tensor(ws_kernel_manifest(k), i)->direction != WS_IN)
          must(ws_memory_fill(device, j.tensors[i].data, 0xff, j.bytes[i], j.launch.stream, &err));
      must(ws_kernel_launch(k, &j.launch, &err));
      char *eager = outputs(&j, &m);
      bool written = false; /* not the poison */
      for (size_t i = 0; i < n; i++) written |= replayed[i] != (char)0xff;
      good &= n == m && written && !memcmp(replayed, eager, n);
      free(replayed);
      free(eager);
    }
    printf("graph    %s: 10 replays with new inputs %s\n", entry, good ? "equal eager launches bit for bit" : "WRONG");
    cu(api.cuGraphExecDestroy(exec));
    cu(api.cuGraphDestroy(graph));
  }
  cu(api.cuCtxPopCurrent_v2(&old));
  cu(api.cuDevicePrimaryCtxRelease_v2(ws_device_get_info(device)->ordinal));
  end_job(&j);
  return good;
}

/* ---- all of it ---- */

static char *read_text(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  if (!f || !text || !fread(text, 1, (1 << 16) - 1, f)) die("the file of --copy cannot be read");
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"copy", 1, NULL, 'c'},    {"kernel", 1, NULL, 'k'},   {"device", 1, NULL, 'd'},
                                          {"threads", 1, NULL, 't'}, {"launches", 1, NULL, 'l'}, {NULL, 0, NULL, 0}};
  const char *copy_path = NULL, *name = "cuda:0", *paths[16];
  int threads = 8, launches = 10000, npaths = 0, o;
  while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) switch (o) {
    case 'c': copy_path = optarg; break;
    case 'k': if (npaths < 16) paths[npaths++] = optarg; break;
    case 'd': name = optarg; break;
    case 't': threads = atoi(optarg); break;
    case 'l': launches = atoi(optarg); break;
    default: return 2;
    }
  if (!copy_path || threads < 1 || launches < 1) return 2;
  setenv("CUDA_CACHE_DISABLE", "1", 1); /* the driver's own cache would make compiling look cheap */
  if (ws_device_open(name, NULL, NULL, &device, &err)) {
    printf("%s: skipped\n", err.message);
    return err.status == WS_ERR_NO_DEVICE ? 77 : 1;
  }
  const struct ws_device_info *info = ws_device_get_info(device);
  bool judged = !info->emulator, good = true;
  printf("%s, %s, driver for CUDA %d.%d\n", info->name, info->model, info->driver_version / 1000,
         info->driver_version % 1000 / 10);
  bind_driver();
  struct ws_kernel *copy;
  must(ws_kernel_load_file(device, copy_path, &copy, &err));
  char *text = read_text(copy_path);
  good &= measure_launch(copy, text, judged);
  good &= measure_load(name, copy_path, judged);
  good &= measure_threads(copy, threads, launches);
  good &= measure_context(copy_path, info->emulator);
  good &= measure_graph(copy);
  for (int i = 0; i < npaths; i++) {
    struct ws_kernel *k;
    good &= measure_load(name, paths[i], judged);
    must(ws_kernel_load_file(device, paths[i], &k, &err));
    good &= measure_graph(k);
    ws_kernel_free(k);
  }
  free(text);
  ws_kernel_free(copy);
  ws_device_close(device);
  puts(good ? "all goals are reached" : "a goal is missed");
  return good ? 0 : 1;
}
