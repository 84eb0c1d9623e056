/* An attention kernel inside a program of its own: compiled in as an array, loaded on the best device, launched on a stream and
 * buffers of the program's, held against the plain formula. All that is needed is warpscore.h.
 *
 *   embed [DEVICE [CACHE_FOLDER]]      DEVICE: best, emu, cuda:0, ... */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpscore.h>
#include "kernel_ptx.h"

enum { BATCH = 1, HEADS = 4, KV_HEADS = 2, QUERIES = 40, KEYS = 75 };

static struct ws_error_info err;

static void must(enum ws_status status) {
  if (!status) return;
  fprintf(stderr, "embed: %s: %s\n", ws_status_name(status), err.message);
  exit(1);
}

/* ---- numbers ---- */

static float from_bf16(uint16_t v) {
  uint32_t bits = (uint32_t)v << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint16_t to_bf16(float f) { /* to nearest, ties to even; no NaN here */
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t *random_values(size_t n) { /* from -2 to 2 */
  uint16_t *v = malloc(n * sizeof *v);
  for (size_t i = 0; v && i < n; i++) v[i] = to_bf16(4 * (float)rand() / (float)RAND_MAX - 2);
  return v;
}

/* One row of softmax(q k^T / sqrt d) v in double precision; the log of its denominator is returned. */
static double reference_row(const uint16_t *q, const uint16_t *k, const uint16_t *v, int keys, int d, double *o) {
  double score[KEYS], most = -INFINITY, sum = 0;
  for (int j = 0; j < keys; j++) {
    score[j] = 0;
    for (int c = 0; c < d; c++) score[j] += (double)from_bf16(q[c]) * from_bf16(k[j * d + c]);
    score[j] /= sqrt(d);
    if (score[j] > most) most = score[j];
  }
  for (int c = 0; c < d; c++) o[c] = 0;
  for (int j = 0; j < keys; j++) {
    double p = exp(score[j] - most);
    sum += p;
    for (int c = 0; c < d; c++) o[c] += p * from_bf16(v[j * d + c]);
  }
  for (int c = 0; c < d; c++) o[c] /= sum;
  return most + log(sum);
}

/* The kernel's results against the formula. */
static int judge(const uint16_t *q, const uint16_t *k, const uint16_t *v, const uint16_t *o, const float *lse, int64_t d) {
  double *want = malloc(sizeof *want * (size_t)d), error = 0, norm = 0, lse_error = 0;
  int good = want != NULL;
  for (size_t r = 0; good && r < BATCH * HEADS * QUERIES; r++) {
    size_t head = r / QUERIES / (HEADS / KV_HEADS); /* of k and v; one batch */
    const size_t kv = head * KEYS * (size_t)d;
    double l = reference_row(q + r * (size_t)d, k + kv, v + kv, KEYS, (int)d, want);
    lse_error = fmax(lse_error, fabs(lse[r] - l));
    good &= fabs(lse[r] - l) < 1e-3; /* false for a NaN */
    for (int64_t c = 0; c < d; c++) {
      double e = from_bf16(o[r * (size_t)d + (size_t)c]) - want[c];
      error += e * e;
      norm += want[c] * want[c];
    }
  }
  error = sqrt(error / norm);
  printf("error %.1e, LSE within %.1e\n", error, lse_error);
  free(want);
  return good && error < 4e-3; /* bf16 has 8 bits: 2^-9 = 0.002 of each value */
}

/* ---- the device's side ---- */

static uint64_t on_device(struct ws_device *device, const void *host, size_t bytes, void *stream) {
  uint64_t address;
  must(ws_memory_alloc(device, bytes, &address, &err));
  if (host)
    must(ws_memory_upload(device, address, host, bytes, stream, &err));
  else
    must(ws_memory_fill(device, address, 0xff, bytes, stream, &err)); /* NaN: what is not written will show */
  return address;
}

int main(int argc, char **argv) {
  struct ws_manifest *manifest;
  struct ws_device *device;
  struct ws_kernel *kernel;
  void *stream;
  const struct ws_device_options options = {.cache_folder = argc > 2 ? argv[2] : NULL};
  must(ws_manifest_parse(kernel_ptx, kernel_ptx_length, &manifest, &err));
  must(ws_device_open(argc > 1 ? argv[1] : NULL, manifest, &options, &device, &err));
  must(ws_kernel_load_text(device, kernel_ptx, kernel_ptx_length, &kernel, &err));
  must(ws_stream_create(device, &stream, &err));
  const struct ws_load_info *load = ws_kernel_get_load_info(kernel);
  printf("%s on %s (%s), loaded in %.1f ms %s\n", ws_manifest_kernel(manifest)->entry, ws_device_get_info(device)->name,
         ws_device_get_info(device)->model, 1e3 * load->seconds, load->cache);

  /* The head dim is fixed when a kernel is generated: the last dim of its first tensor. Everything else is free. */
  const struct ws_tensor_info *first = ws_manifest_tensor(manifest, 0);
  const int64_t d = first->dims[first->rank - 1].extent;
  const int64_t q_shape[] = {BATCH, HEADS, QUERIES, d}, kv_shape[] = {BATCH, KV_HEADS, KEYS, d};
  const size_t nq = (size_t)(BATCH * HEADS * QUERIES * d), nkv = (size_t)(BATCH * KV_HEADS * KEYS * d), rows = BATCH * HEADS * QUERIES;
  uint16_t *q = random_values(nq), *k = random_values(nkv), *v = random_values(nkv), *o = malloc(2 * nq);
  float *lse = malloc(4 * rows);
  if (!q || !k || !v || !o || !lse) return 1;

  const struct ws_tensor tensors[] = {
      {"q", on_device(device, q, 2 * nq, stream), WS_DTYPE_BF16, 4, q_shape, NULL},
      {"k", on_device(device, k, 2 * nkv, stream), WS_DTYPE_BF16, 4, kv_shape, NULL},
      {"v", on_device(device, v, 2 * nkv, stream), WS_DTYPE_BF16, 4, kv_shape, NULL},
      {"o", on_device(device, NULL, 2 * nq, stream), WS_DTYPE_BF16, 4, q_shape, NULL},
      {"lse", on_device(device, NULL, 4 * rows, stream), WS_DTYPE_F32, 3, q_shape, NULL}, /* its dims are q's first three */
  };
  struct ws_launch launch = {.tensors = tensors, .ntensors = 5, .stream = stream};

  /* Kernels that need scratch memory say how much; most need none. */
  struct ws_plan plan;
  must(ws_kernel_plan(kernel, &launch, &plan, &err));
  must(ws_memory_alloc(device, plan.workspace_bytes, &launch.workspace, &err));
  launch.workspace_bytes = plan.workspace_bytes;

  must(ws_kernel_launch(kernel, &launch, &err));
  must(ws_memory_download(device, o, tensors[3].data, 2 * nq, stream, &err));
  must(ws_memory_download(device, lse, tensors[4].data, 4 * rows, stream, &err));

  int good = judge(q, k, v, o, lse, d);
  printf("%llu CTAs of %u threads: %s\n", (unsigned long long)plan.grid, plan.block, good ? "right" : "WRONG");

  for (int i = 0; i < 5; i++) must(ws_memory_free(device, tensors[i].data, &err));
  must(ws_memory_free(device, launch.workspace, &err));
  must(ws_stream_destroy(device, stream, &err));
  ws_kernel_free(kernel);
  ws_device_close(device);
  ws_manifest_free(manifest);
  free(q), free(k), free(v), free(o), free(lse);
  return good ? 0 : 1;
}
