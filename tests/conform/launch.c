/* A kernel launched, and what the emulator saw. */
#include "conform.h"
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

void add(struct events *l, const struct event *e) {
  if (l->n == l->cap) {
    size_t cap = l->cap ? 2 * l->cap : 64;
    struct event *grown = realloc(l->e, cap * sizeof *grown);
    if (!grown) abort();
    l->e = grown, l->cap = cap;
  }
  l->e[l->n++] = *e;
}

void trace_free(struct trace *t) {
  for (int c = 0; c < 2; c++)
    for (int k = 0; k < MOST_WARPS; k++) free(t->warp[c][k].e);
  free(t->bytes.e);
}

void run_free(struct run *r) {
  for (int i = 0; i < r->ngroups; i++) trace_free(&r->group[i]);
  free(r->group);
  r->group = NULL, r->ngroups = 0;
}

/* --- what the kernel does --- */

struct sink {
  struct run *out;
  int ctas;                      /* of a group */
};

static void take(void *ctx, const struct wsemu_event *v) {
  struct sink *s = ctx;
  int group = (int)v->cta / s->ctas, rank = (int)v->cta % s->ctas;
  if (group >= s->out->ngroups || v->warp >= MOST_WARPS) return;
  struct event e = {.kind = v->kind, .line = v->loc_line, .ptx = v->ptx_line, .threads = __builtin_popcount(v->lanes), .lanes = v->lanes,
                    .object = v->object == WSEMU_NO_OBJECT ? -1 : (long)(int32_t)v->object, .target = v->object == WSEMU_NO_OBJECT ? -1 : (long)v->target,
                    .count = v->count == WSEMU_NO_COUNT ? -1 : (long)v->count, .parity = v->kind == WSEMU_MBAR_WAIT ? (long)v->parity : -1, .amount = (long)v->amount};
  struct trace *t = &s->out->group[group];
  struct events *l = &t->warp[rank][v->warp];
  if (e.kind == WSEMU_MBAR_TRY) e.parity = (long)v->parity;
  if (l->n && l->e[l->n - 1].kind == WSEMU_MBAR_TRY) l->n--; /* only that counts at which a warp stands to the end */
  add(v->kind == WSEMU_MBAR_BYTES ? &t->bytes : l, &e);
}

struct ws_device *open_emulator(const char *schedule, bool plant) {
  struct ws_device *device = NULL;
  struct ws_error_info err;
  int (*set)(const char *, const char *);
  if (ws_device_open("emu", NULL, NULL, &device, &err)) return printf("FAIL %s\n", err.message), NULL;
  *(void **)&set = ws_device_symbol(device, "wsemuSetOption");
  if (!set || set("schedule", schedule)) return printf("FAIL no schedule of the emulator: %s\n", schedule), ws_device_close(device), NULL;
  if (plant) set("race", "off"), set("watchdog", "20");
  return device;
}

void close_emulator(struct ws_device *device) { ws_device_close(device); }

char *read_whole(const char *path, size_t *len) {
  char *text = NULL;
  return ws_cli_read_file(path, &text, len) ? text : NULL;
}

typedef int set_trace(void (*sink)(void *ctx, const struct wsemu_event *e), void *ctx);

/* As ws_cli_problem_launch, but on one multiprocessor: a persistent kernel's CTA then has all tiles. */
static enum ws_status launch(const struct ws_cli_problem *p, const struct ws_kernel *k, struct ws_plan *plan, struct ws_error_info *err) {
  struct ws_tensor tensors[WS_CLI_MOST];
  for (int i = 0; i < p->ntensors; i++) {
    const struct ws_cli_tensor *t = &p->t[i];
    tensors[i] = (struct ws_tensor){.name = t->info->name, .data = t->device + WS_CLI_GUARD, .type = t->info->type, .rank = t->info->rank, .shape = t->shape, .stride = t->stride};
  }
  const struct ws_launch l = {.tensors = tensors, .ntensors = (size_t)p->ntensors, .sm_count = 1};
  if (plan) return ws_kernel_plan(k, &l, plan, err);
  return ws_kernel_launch(k, &l, err);
}

static bool launched(struct ws_device *device, struct ws_cli_problem *p, const struct ws_kernel *k, int ctas, struct run *out) {
  struct ws_error_info err = {0};
  struct ws_plan plan;
  set_trace *set;
  *(void **)&set = ws_device_symbol(device, "wsemuSetTrace");
  if (ws_cli_problem_upload(p, device) != WS_CLI_OK) return false;
  if (launch(p, k, &plan, &err)) return printf("FAIL %s\n", err.message), false;
  out->ngroups = (int)plan.grid / ctas;
  out->group = calloc((size_t)out->ngroups + 1, sizeof *out->group);
  if (!set || !out->group) return printf("FAIL no emulator, or no memory\n"), false;
  struct sink sink = {out, ctas};
  set(take, &sink);
  if (launch(p, k, NULL, &err)) snprintf(out->fault, sizeof out->fault, "%s", err.message);
  set(NULL, NULL);
  return true;
}

bool run_kernel(struct ws_device *device, const struct subject *x, const char *ptx, size_t len, const struct shape *shape, struct run *out) {
  struct ws_error_info err = {0};
  struct ws_manifest *m = NULL;
  struct ws_kernel *k = NULL;
  struct ws_cli_problem p;
  memset(out, 0, sizeof *out);
  if (ws_manifest_parse(ptx, len, &m, &err) || ws_kernel_load_text(device, ptx, len, &k, &err)) {
    snprintf(out->fault, sizeof out->fault, "%s", err.message);
    ws_manifest_free(m);
    return false;
  }
  const struct ws_cli_shape s = {.b = shape->b, .hq = shape->h * x->heads, .hkv = shape->h, .sq = shape->sq, .sk = shape->sk, .layout = WS_CLI_BSHD, .seed = 7};
  bool good = ws_cli_problem_init(&p, m, &s, NULL) && ws_cli_problem_tensors(&p);
  if (good) {
    ws_cli_problem_inputs(&p);
    good = launched(device, &p, k, x->ctas, out);
  }
  ws_kernel_free(k); /* first: a fault stays with the module */
  ws_cli_problem_release(&p, device);
  ws_cli_problem_free(&p);
  ws_manifest_free(m);
  return good;
}
