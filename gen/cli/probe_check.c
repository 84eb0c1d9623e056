/* warpscore probe --check: the table of a buffer against a device. Elements hold their number: as bits for the dump of shared
 * memory; for products as values, a byte at a time, which f16 and bf16 hold exactly. */
#include "probe.h"
#include "ptx/template.h"
#include <stdlib.h>
#include <string.h>

enum { RAW, LOW, HIGH, PASSES };
struct trial {
  struct ws_device *device;
  struct ws_schedule *s;
  const struct ws_probe_request *q;
  const struct ws_probe_kernel *k;
  struct ws_kernel *kernel;
  uint64_t tile, ones, dump, result;       /* on the device */
  unsigned char *tile_bytes, *dump_bytes;
  float *results;
  unsigned char *picked;                   /* of the low pass */
  long wrong;                              /* elements */
  char first[256];                         /* what the first of them is */
};

/* ---- numbers ---- */

static uint16_t half_of(bool bf16, unsigned byte) { /* 0 .. 255, exactly */
  unsigned exponent = 0, bias = bf16 ? 127 : 15, digits = bf16 ? 7 : 10;
  if (!byte) return 0;
  while (byte >> (exponent + 1)) exponent++;
  unsigned fraction = (byte - (1u << exponent)) << digits >> exponent;
  return (uint16_t)((bias + exponent) << digits | fraction);
}

static void number(struct trial *t, int pass) {
  long n = (long)t->k->rows * t->k->cols;
  for (long i = 0; i < n; i++) {
    uint16_t half = pass == RAW ? (uint16_t)i : half_of(t->k->bf16, (unsigned)(pass == LOW ? i & 255 : i >> 8));
    uint32_t word = (uint32_t)i;
    if (t->k->bits == 16) memcpy(t->tile_bytes + i * 2, &half, 2);
    else memcpy(t->tile_bytes + i * 4, &word, 4);
  }
}

static void unit_vectors(const struct ws_probe_kernel *k, unsigned char *image) {
  uint16_t one = half_of(k->bf16, 1);
  memset(image, 0, WS_PROBE_IDENTITY * 2);
  for (int r = 0; r < 16; r++) memcpy(image + ws_probe_identity_byte(r, r), &one, 2);
}

/* ---- comparing ---- */

static void wrong(struct trial *t, const char *where, long row, long col, long expected, long found) {
  if (!t->wrong++)
    snprintf(t->first, sizeof t->first, "%s (%ld, %ld): expected element (%ld, %ld), found number %ld", where, row, col, expected / t->k->cols, expected % t->k->cols, found);
}

static void compare_bytes(struct trial *t) {
  for (int r = 0; r < t->k->rows; r++)
    for (int c = 0; c < t->k->cols; c++) {
      long n = (long)r * t->k->cols + c, at = ws_probe_offset(t->s, t->q, r, c);
      uint32_t found = 0;
      if (at >= 0 && at + t->k->bits / 8 <= t->k->bytes) memcpy(&found, t->dump_bytes + at, (size_t)t->k->bits / 8);
      if ((t->k->bits == 16 ? (uint16_t)n : (uint32_t)n) != found) wrong(t, t->k->tmem ? "tensor memory, element" : "shared memory, element", r, c, n, (long)found);
    }
}

/* The element that a product meets at output (row, col) of step k. */
static long meets(const struct trial *t, const struct ws_probe_product *p, int step, int row, int col) {
  int outer = p->a ? row : col, k = step * 16 + (p->a ? col : row);
  int r = p->row0 + (p->transposed ? k : outer), c = p->col0 + (p->transposed ? outer : k);
  return (long)r * t->k->cols + c;
}

static void compare_products(struct trial *t, int pass) {
  for (int i = 0; i < t->k->nproducts; i++) {
    const struct ws_probe_product *p = &t->k->product[i];
    for (int s = 0; s < p->steps; s++)
      for (int e = 0; e < p->m * p->n; e++) {
        long at = p->first + (long)s * p->m * p->n + e, expected = meets(t, p, s, e / p->n, e % p->n);
        float v = t->results[at];
        if (pass == LOW) {
          t->picked[at] = v >= 0 && v < 256 ? (unsigned char)v : 0;
          if (v != (float)(expected & 255)) wrong(t, p->what, p->a ? e / p->n : e % p->n, s * 16 + (p->a ? e % p->n : e / p->n), expected, (long)t->picked[at]);
        } else if (v != (float)(expected >> 8))
          wrong(t, p->what, p->a ? e / p->n : e % p->n, s * 16 + (p->a ? e % p->n : e / p->n), expected, (v >= 0 && v < 256 ? (long)v * 256 : 0) + t->picked[at]);
      }
  }
}

/* ---- running ---- */

static int launch(struct trial *t, int pass) {
  struct ws_error_info err;
  const struct ws_probe_kernel *k = t->k;
  size_t tile = (size_t)k->rows * (size_t)k->cols * (size_t)k->bits / 8;
  int64_t shape[] = {k->rows, k->cols}, ones[] = {128, 16}, words = k->bytes / 4, results = k->results ? k->results : 1;
  const struct ws_tensor tensors[] = {{.name = "tile", .data = t->tile, .rank = 2, .shape = shape}, {.name = "ones", .data = t->ones, .rank = 2, .shape = ones},
                                      {.name = "dump", .data = t->dump, .rank = 1, .shape = &words}, {.name = "result", .data = t->result, .rank = 1, .shape = &results}};
  struct ws_launch l = {.tensors = tensors, .ntensors = 4};
  number(t, pass);
  if (ws_memory_upload(t->device, t->tile, t->tile_bytes, tile, NULL, &err) || ws_kernel_launch(t->kernel, &l, &err) || ws_device_synchronize(t->device, &err) ||
      ws_memory_download(t->device, t->dump_bytes, t->dump, (size_t)k->bytes, NULL, &err) ||
      ws_memory_download(t->device, t->results, t->result, (size_t)results * 4, NULL, &err))
    return ws_cli_runtime_fail(&err);
  if (pass == RAW) compare_bytes(t);
  else compare_products(t, pass);
  return WS_CLI_OK;
}

static int with_memory(struct trial *t) {
  struct ws_error_info err;
  const struct ws_probe_kernel *k = t->k;
  unsigned char image[WS_PROBE_IDENTITY * 2];
  size_t tile = (size_t)k->rows * (size_t)k->cols * (size_t)k->bits / 8, results = (size_t)(k->results ? k->results : 1);
  t->tile_bytes = malloc(tile), t->dump_bytes = calloc(1, (size_t)k->bytes), t->results = calloc(results, 4), t->picked = calloc(results, 1);
  if (!t->tile_bytes || !t->dump_bytes || !t->results || !t->picked) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  unit_vectors(k, image);
  if (ws_memory_alloc(t->device, tile, &t->tile, &err) || ws_memory_alloc(t->device, sizeof image, &t->ones, &err) ||
      ws_memory_alloc(t->device, (size_t)k->bytes, &t->dump, &err) || ws_memory_alloc(t->device, results * 4, &t->result, &err) ||
      ws_memory_upload(t->device, t->ones, image, sizeof image, NULL, &err))
    return ws_cli_runtime_fail(&err);
  int code = WS_CLI_OK;
  for (int pass = RAW; pass < (k->nproducts ? PASSES : LOW) && code == WS_CLI_OK; pass++) code = launch(t, pass);
  return code;
}

static void release(struct trial *t) {
  struct ws_error_info err;
  const uint64_t all[] = {t->tile, t->ones, t->dump, t->result};
  for (int i = 0; i < 4; i++) ws_memory_free(t->device, all[i], &err);
  ws_kernel_free(t->kernel);
  free(t->tile_bytes), free(t->dump_bytes), free(t->results), free(t->picked);
}

static int report(const struct trial *t) {
  printf("%s  %s: %d x %d elements by %s", t->wrong ? "FAIL" : "PASS", t->q->buffer, t->k->rows, t->k->cols, t->k->tmem ? "tcgen05.st" : t->k->tma ? "TMA" : "threads");
  for (int i = 0; i < t->k->nproducts; i++) printf("; %s", t->k->product[i].what);
  putchar('\n');
  if (t->wrong) printf("      %ld differ; the first: %s\n", t->wrong, t->first);
  return t->wrong ? WS_CLI_REJECTED : WS_CLI_OK;
}

static int check_one(struct ws_cli_unit *u, struct ws_schedule *s, const struct ws_templates *templates, struct ws_device *device,
                     const struct ws_probe_request *q, bool may_skip) {
  struct ws_error_info err;
  struct trial t = {.device = device, .s = s, .q = q};
  const char *why = NULL;
  t.k = ws_probe_kernel(s, templates, q, &why);
  if (!t.k && u->diags.errors) return ws_cli_fail(ws_cli_diags_code(&u->diags), "--buffer %s: %s", q->buffer, why);
  if (!t.k && may_skip) return printf("skip  %s: %s\n", q->buffer, why), WS_CLI_OK;
  if (!t.k) return ws_cli_fail(WS_CLI_USAGE, "--buffer %s: %s", q->buffer, why);
  int code = ws_kernel_load_text(device, t.k->ptx, t.k->length, &t.kernel, &err) ? ws_cli_runtime_fail(&err) : with_memory(&t);
  if (code == WS_CLI_OK) code = report(&t);
  release(&t);
  return code;
}

static int check_all(struct ws_cli_unit *u, struct ws_schedule *s, struct ws_device *device, const struct ws_cli_probe_options *o) {
  if (setjmp(u->arena.oom)) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  const struct ws_templates *templates = ws_templates_load(o->spec.templates, &u->arena, &u->diags);
  if (!templates) return ws_cli_diags_code(&u->diags);
  if (o->request.buffer) return check_one(u, s, templates, device, &o->request, false);
  for (int i = 0, worst = WS_CLI_OK;; i++) {
    struct ws_probe_request q = o->request;
    q.buffer = ws_probe_buffer_name(s, i);
    if (!q.buffer) return worst;
    int code = check_one(u, s, templates, device, &q, true);
    if (code > worst) worst = code;
    if (code > WS_CLI_REJECTED || u->diags.errors) return code;
  }
}

int ws_cli_probe_check(struct ws_cli_unit *u, struct ws_schedule *s, const struct ws_cli_probe_options *o) {
  struct ws_device *device = NULL;
  int code = ws_cli_open_device(o->device, NULL, &device);
  if (code == WS_CLI_OK) code = check_all(u, s, device, o);
  char *said = u->diags.errors ? ws_cli_diagnostics(u, o->spec.json) : NULL; /* of templates */
  ws_cli_say(said);
  free(said);
  ws_device_close(device);
  return code;
}
