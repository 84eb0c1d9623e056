/* Every column of O on its own, for every head dim: a column that is lost among padding, swizzles or fragments is a small part of a
 * Frobenius norm over all of O, but all of its own.
 *
 *   kernels_columns DEVICE SPEC [DIM]...        without DIM all 32 from 8 to 256, with both types, causal or not
 *
 * The relative error of a column is at most LIMIT times the largest that a plain fp32 evaluation has in any column. With R rows its
 * square varies by a factor 1 + z sqrt(2 / R), z being 3 among 256 columns: 1.5 for 70 rows and more; LIMIT squared is 4. */
#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LIMIT = 2;
static const struct ws_cli_shape shapes[] = {
    {.b = 1, .hq = 2, .hkv = 1, .sq = 70, .sk = 100, .layout = WS_CLI_BSHD, .pad = 8, .seed = 21},
    {.b = 2, .hq = 1, .hkv = 1, .sq = 140, .sk = 65, .layout = WS_CLI_BHSD, .pad = 0, .seed = 22},
};

struct kernel {
  struct ws_cli_text text;
  struct ws_manifest *manifest;
  struct ws_kernel *kernel;
};

/* Relative error of column c; rows without a visible key, whose O is 0, must be 0. */
static double column_error(int64_t rows, int64_t d, int64_t c, const double *want, const float *have) {
  double wrong = 0, all = 0;
  for (int64_t r = 0; r < rows; r++) {
    double w = want[r * d + c], x = (double)have[r * d + c] - w;
    wrong += x * x, all += w * w;
  }
  return all > 0 ? sqrt(wrong / all) : wrong > 0 ? INFINITY : 0;
}

static int check(const struct ws_cli_problem *p, const char *what) {
  int64_t n = ws_cli_tensor_count(&p->t[WS_CLI_O]), d = p->dv, rows = n / d;
  struct ws_ref_attention reference = ws_cli_problem_reference(p);
  double *want = malloc(sizeof *want * (size_t)n), *lse = malloc(sizeof *lse * (size_t)rows), largest = 0;
  float *plain = malloc(sizeof *plain * (size_t)n), *plain_lse = malloc(sizeof *plain_lse * (size_t)rows), *have = malloc(sizeof *have * (size_t)n);
  int wrong = 1;
  if (want && lse && plain && plain_lse && have && ws_ref_attention_exact(&reference, want, lse) &&
      ws_ref_attention_plain(&reference, p->t[WS_CLI_O].type, plain, plain_lse)) {
    wrong = 0;
    for (int64_t i = 0; i < n; i++) have[i] = ws_cli_tensor_result(&p->t[WS_CLI_O], i);
    for (int64_t c = 0; c < d; c++) largest = fmax(largest, column_error(rows, d, c, want, plain));
    for (int64_t c = 0; c < d; c++) {
      double e = column_error(rows, d, c, want, have);
      if (e <= LIMIT * largest) continue; /* NaN is not */
      if (!wrong++) printf("FAIL %s: column %lld has error %g, plain evaluation at most %g\n", what, (long long)c, e, largest);
    }
  }
  free(want), free(lse), free(plain), free(plain_lse), free(have);
  return wrong;
}

static int launch(struct ws_device *device, const struct kernel *k, const struct ws_cli_shape *shape, const char *what) {
  struct ws_cli_problem p;
  struct ws_error_info err;
  int wrong = 1;
  if (!ws_cli_problem_init(&p, k->manifest, shape, NULL) || !ws_cli_problem_tensors(&p)) return 1;
  ws_cli_problem_inputs(&p);
  if (ws_cli_rule(&p) && ws_cli_problem_upload(&p, device) == WS_CLI_OK && ws_cli_problem_launch(&p, k->kernel, NULL) == WS_CLI_OK &&
      !ws_device_synchronize(device, &err) && ws_cli_problem_download(&p, device) == WS_CLI_OK)
    wrong = check(&p, what);
  else
    printf("FAIL %s does not run\n", what);
  ws_cli_problem_release(&p, device);
  ws_cli_problem_free(&p);
  return wrong;
}

/* One kernel on all shapes. *device is opened with the first. Returns how many shapes are wrong, -1 to skip. */
static int run(const char *where, const char *spec, struct ws_device **device, int dim, const char *type, const char *causal) {
  struct ws_cli_spec_options o = {0};
  struct ws_error_info err;
  struct kernel k = {0};
  char define[3][40], what[160];
  snprintf(define[0], sizeof *define, "head_dim=%d", dim);
  snprintf(define[1], sizeof *define, "dtype=%s", type);
  snprintf(define[2], sizeof *define, "causal=%s", causal);
  snprintf(what, sizeof what, "%s -D %s -D %s -D %s", spec, define[0], define[1], define[2]);
  for (int i = 0; i < 3; i++)
    if (ws_cli_spec_option(&o, 'D', define[i]) != 1) return 1;
  int wrong = ws_cli_obtain(spec, &o, &k.text) != WS_CLI_OK || ws_manifest_parse(k.text.ptx, k.text.length, &k.manifest, &err);
  if (!wrong && !*device && ws_cli_open_device(where, k.manifest, device) != WS_CLI_OK) wrong = -1;
  if (!wrong) wrong = ws_kernel_load_text(*device, k.text.ptx, k.text.length, &k.kernel, &err) != 0;
  if (wrong > 0) printf("FAIL %s\n", what);
  for (size_t i = 0; !wrong && k.kernel && i < sizeof shapes / sizeof *shapes; i++) wrong += launch(*device, &k, &shapes[i], what);
  if (k.kernel) ws_kernel_free(k.kernel);
  if (k.manifest) ws_manifest_free(k.manifest);
  ws_cli_text_free(&k.text);
  return wrong;
}

int main(int argc, char **argv) {
  static const char *const types[] = {"f16", "bf16"}, *const masks[] = {"false", "true"};
  struct ws_device *device = NULL;
  int kernels = 0, wrong = 0;
  if (argc < 3) return fprintf(stderr, "usage: kernels_columns DEVICE SPEC [DIM]...\n"), 2;
  for (int i = 0; i < (argc > 3 ? argc - 3 : 32); i++)
    for (int k = 0; k < 4; k++, kernels++) {
      int n = run(argv[1], argv[2], &device, argc > 3 ? atoi(argv[3 + i]) : 8 + 8 * i, types[k % 2], masks[k / 2]);
      if (n < 0) return 77;
      wrong += n;
    }
  if (device) ws_device_close(device);
  printf("%d kernels, %d wrong\n", kernels, wrong);
  return wrong != 0;
}
