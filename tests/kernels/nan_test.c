/* Where a NaN goes: from a visible key, value or query to the rows that it belongs to, and nowhere else.
 *
 *   kernels_nan DEVICE SPEC [NAME=VALUE]...
 *
 * Every launch is compared with one whose inputs are finite. Guards and padding of all tensors hold NaN in both (see
 * ws_cli_tensor_init), so a finite result also says that nothing outside of the extents was used. Exit code 77 where the
 * device is not there. */
#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
  struct ws_cli_text text;
  struct ws_manifest *manifest;
  struct ws_device *device;
  struct ws_kernel *kernel;
  bool lazy; /* rows of a warp rescale, or are computed again, together: a NaN in one may move the rounding of another */
};

struct place { /* of the NaN */
  int tensor;
  int64_t b, h, row, col;
};

static const struct ws_cli_shape shapes[] = {
    {.b = 2, .hq = 4, .hkv = 2, .sq = 70, .sk = 100, .layout = WS_CLI_BSHD, .pad = 8, .seed = 11},
    {.b = 2, .hq = 2, .hkv = 2, .sq = 100, .sk = 70, .layout = WS_CLI_BHSD, .pad = 8, .seed = 12},
};

static bool launch(struct ws_cli_problem *p, const struct kernel *k, const struct ws_cli_shape *shape, const struct place *nan) {
  struct ws_error_info err;
  if (!ws_cli_problem_init(p, k->manifest, shape, NULL) || !ws_cli_problem_tensors(p)) return false;
  for (int i = 0; i < 3; i++) ws_cli_tensor_random(&p->t[WS_CLI_Q + i], shape->seed, (uint64_t)i);
  if (nan) {
    struct ws_cli_tensor *t = &p->t[nan->tensor];
    int64_t index = ((nan->b * t->shape[1] + nan->h) * t->shape[2] + nan->row) * t->shape[3] + nan->col;
    ws_ref_store(t->before + ws_cli_tensor_offset(t, index), t->type, NAN);
  }
  bool good = ws_cli_problem_upload(p, k->device) == WS_CLI_OK && ws_cli_problem_launch(p, k->kernel, NULL) == WS_CLI_OK &&
              !ws_device_synchronize(k->device, &err) && ws_cli_problem_download(p, k->device) == WS_CLI_OK;
  ws_cli_problem_release(p, k->device);
  return good;
}

static bool sees(const struct ws_cli_problem *p, int64_t row, int64_t key) {
  return !p->causal || key <= row + p->shape.sk - p->shape.sq;
}

/* Does the NaN belong into column col of O in this row? col -1: into LSE. */
static bool reached(const struct ws_cli_problem *p, const struct place *nan, int64_t b, int64_t h, int64_t row, int64_t col) {
  if (nan->b != b) return false;
  if (nan->tensor == WS_CLI_Q) return nan->h == h && nan->row == row && sees(p, row, 0);
  bool visible = nan->h == h / (p->shape.hq / p->shape.hkv) && sees(p, row, nan->row);
  return visible && (nan->tensor == WS_CLI_K || nan->col == col);
}

/* A value that the mask hides meets a probability of 0 where its block is read for other rows of the tile, and 0 * NaN is
 * NaN: a kernel of tiles (FlashAttention-2 among them) may, but need not, show it in that column. */
static bool behind_mask(const struct ws_cli_problem *p, const struct place *nan, int64_t b, int64_t h, int64_t row, int64_t col) {
  return nan->tensor == WS_CLI_V && nan->b == b && nan->h == h / (p->shape.hq / p->shape.hkv) && nan->col == col && !sees(p, row, nan->row);
}

static const char *const names[] = {"q", "k", "v"};

/* One output element: reached, or as without the NaN. */
static bool element(const struct kernel *k, const struct ws_cli_problem *clean, const struct ws_cli_problem *p,
                    const struct place *nan, int output, int64_t index, int64_t col) {
  const struct ws_cli_tensor *t = &p->t[output];
  int64_t row = output == WS_CLI_O ? index / p->dv : index, i = row % p->shape.sq, h = row / p->shape.sq % p->shape.hq,
          b = row / p->shape.sq / p->shape.hq;
  float now = ws_cli_tensor_result(t, index), before = ws_cli_tensor_result(&clean->t[output], index);
  bool good;
  if (ws_cli_tensor_poisoned(t, index))
    good = false;
  else if (reached(p, nan, b, h, i, col))
    good = isnan(now);
  else if (behind_mask(p, nan, b, h, i, col) && isnan(now))
    good = true;
  else if (k->lazy && isfinite(before))
    good = fabsf(now - before) <= 0.01f * (fabsf(before) + 0.1f);
  else
    good = !memcmp(&now, &before, sizeof now);
  if (!good)
    printf("FAIL NaN in %s[%lld, %lld, %lld, %lld]: %s[%lld, %lld, %lld, %lld] is %g, without it %g\n", names[nan->tensor],
           (long long)nan->b, (long long)nan->h, (long long)nan->row, (long long)nan->col, output == WS_CLI_O ? "o" : "lse",
           (long long)b, (long long)h, (long long)i, (long long)col, (double)now, (double)before);
  return good;
}

static int check(const struct kernel *k, const struct ws_cli_problem *clean, const struct place *nan) {
  struct ws_cli_problem p;
  if (!launch(&p, k, &clean->shape, nan)) return 1;
  int wrong = 0;
  for (int output = WS_CLI_O; output <= WS_CLI_LSE; output++)
    for (int64_t i = 0, n = ws_cli_tensor_count(&p.t[output]); i < n && wrong < 3; i++)
      wrong += !element(k, clean, &p, nan, output, i, output == WS_CLI_O ? i % p.dv : -1);
  ws_cli_problem_free(&p);
  return wrong;
}

/* Without a NaN in an element every result is finite, but for the LSE of a row without a key. */
static int check_clean(const struct ws_cli_problem *p) {
  int wrong = 0;
  for (int64_t i = 0, n = ws_cli_tensor_count(&p->t[WS_CLI_O]); i < n; i++) wrong += !isfinite(ws_cli_tensor_result(&p->t[WS_CLI_O], i));
  for (int64_t i = 0, n = ws_cli_tensor_count(&p->t[WS_CLI_LSE]); i < n; i++) {
    float v = ws_cli_tensor_result(&p->t[WS_CLI_LSE], i);
    wrong += sees(p, i % p->shape.sq, 0) ? !isfinite(v) : v != -INFINITY;
  }
  if (wrong) printf("FAIL %d results are not finite: something outside of the extents was used\n", wrong);
  return wrong;
}

static int check_shape(const struct kernel *k, const struct ws_cli_shape *shape, int *launches) {
  struct ws_cli_problem clean;
  if (!launch(&clean, k, shape, NULL)) return 1;
  int wrong = check_clean(&clean);
  const int64_t rows[] = {0, 15, 31, 32, 63, 64, 69};
  for (int tensor = WS_CLI_Q; tensor <= WS_CLI_V; tensor++) {
    const struct ws_cli_tensor *t = &clean.t[tensor];
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
      int64_t row = i < sizeof rows / sizeof *rows ? rows[i] : t->shape[2] - 1;
      struct place nan = {tensor, (int64_t)i % t->shape[0], (int64_t)i / 2 % t->shape[1], row, (int64_t)(i * 13) % t->shape[3]};
      wrong += check(k, &clean, &nan);
      ++*launches;
    }
  }
  ws_cli_problem_free(&clean);
  return wrong;
}

static int open_kernel(struct kernel *k, int argc, char **argv) {
  struct ws_cli_spec_options o = {0};
  struct ws_error_info err;
  for (int i = 3; i < argc; i++)
    if (ws_cli_spec_option(&o, 'D', argv[i]) != 1) return WS_CLI_USAGE;
  int code = ws_cli_obtain(argv[2], &o, &k->text);
  if (code != WS_CLI_OK) return code;
  if (ws_manifest_parse(k->text.ptx, k->text.length, &k->manifest, &err)) return ws_cli_runtime_fail(&err);
  const char *lazy = ws_manifest_setting(k->manifest, "lazy");
  k->lazy = (lazy && !strcmp(lazy, "true")) || ws_manifest_setting(k->manifest, "limit");
  code = ws_cli_open_device(argv[1], k->manifest, &k->device);
  if (code == WS_CLI_OK && ws_kernel_load_text(k->device, k->text.ptx, k->text.length, &k->kernel, &err)) code = ws_cli_runtime_fail(&err);
  return code;
}

int main(int argc, char **argv) {
  struct kernel k = {.lazy = false};
  if (argc < 3) return fprintf(stderr, "usage: kernels_nan DEVICE SPEC [NAME=VALUE]...\n"), 2;
  int code = open_kernel(&k, argc, argv), wrong = 0, launches = 0;
  for (size_t i = 0; code == WS_CLI_OK && i < sizeof shapes / sizeof *shapes; i++) wrong += check_shape(&k, &shapes[i], &launches);
  if (code == WS_CLI_OK) printf("%d launches with a NaN, %d findings\n", launches, wrong);
  ws_kernel_free(k.kernel);
  ws_device_close(k.device);
  ws_manifest_free(k.manifest);
  ws_cli_text_free(&k.text);
  if (code == WS_CLI_MISSING && strcmp(argv[1], "emu")) return 77;
  return code != WS_CLI_OK ? code : wrong > 0;
}
