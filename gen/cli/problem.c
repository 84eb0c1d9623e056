/* One shape of attention.forward: its tensors on the host and on a device, the launch, the reference's view of it. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[WS_CLI_TENSORS] = {"q", "k", "v", "o", "lse"};

static const struct ws_tensor_info *find(const struct ws_manifest *m, const char *name) {
  const struct ws_tensor_info *t;
  for (size_t i = 0; (t = ws_manifest_tensor(m, i)); i++)
    if (!strcmp(t->name, name)) return t;
  return NULL;
}

static bool fixed_dim(struct ws_cli_problem *p, const char *tensor, int64_t *out) {
  const struct ws_tensor_info *t = find(p->manifest, tensor);
  if (t && t->rank == 4 && !t->dims[3].name) return *out = t->dims[3].extent, true;
  p->code = ws_cli_fail(WS_CLI_REJECTED, "the kernel's tensor %s is not of the form [batch, heads, sequence, NUMBER]", tensor);
  return false;
}

/* Query heads of a key head, where the kernel was generated for a number of them; else 0. */
static int64_t heads_a_key_head(const struct ws_manifest *m) {
  const char *pack = ws_manifest_setting(m, "pack"), *group = ws_manifest_setting(m, "group");
  int64_t n = pack && group && !strcmp(pack, "gqa") ? strtoll(group, NULL, 10) : 0;
  return n > 0 && n <= INT32_MAX ? n : 0;
}

bool ws_cli_problem_init(struct ws_cli_problem *p, const struct ws_manifest *m, const struct ws_cli_shape *shape,
                         const double *scale) {
  const struct ws_kernel_info *info = ws_manifest_kernel(m);
  memset(p, 0, sizeof *p);
  p->manifest = m;
  p->shape = *shape;
  ws_cli_shape_heads(&p->shape, heads_a_key_head(m));
  if (p->shape.sk < 0) p->shape.sk = p->shape.sq;
  if (!ws_reference_find(info->problem))
    return p->code = ws_cli_fail(WS_CLI_REJECTED, "problem %s: there is no reference for it", info->problem), false;
  for (int i = 0; i < WS_CLI_TENSORS; i++) {
    const struct ws_tensor_info *t = find(m, names[i]);
    if (!t || t->rank != (i == WS_CLI_LSE ? 3 : 4))
      return p->code = ws_cli_fail(WS_CLI_REJECTED, "the kernel has no tensor %s of rank %d", names[i], i == WS_CLI_LSE ? 3 : 4), false;
  }
  if (!fixed_dim(p, "q", &p->d) || !fixed_dim(p, "v", &p->dv)) return false;
  const char *causal = ws_manifest_setting(m, "causal");
  p->causal = causal && !strcmp(causal, "true");
  p->base2 = !strcmp(info->lse_base, "2");
  const struct ws_scalar_info *s;
  for (size_t i = 0; (s = ws_manifest_scalar(m, i)); i++)
    if (!strcmp(s->name, "scale")) p->scale = s->value;
  if (scale) p->scale = *scale;
  if (p->shape.hkv ? p->shape.hq % p->shape.hkv : p->shape.hq != 0)
    return p->code = ws_cli_fail(WS_CLI_USAGE, "shape: hq (%lld) must be a multiple of hkv (%lld)", (long long)p->shape.hq,
                       (long long)p->shape.hkv),
           false;
  int64_t group = heads_a_key_head(m);
  if (group && p->shape.hq != group * p->shape.hkv)
    return p->code = ws_cli_fail(WS_CLI_USAGE, "shape: hq (%lld) must be %lld times hkv (%lld): the kernel was generated for that (-D group=...)",
                       (long long)p->shape.hq, (long long)group, (long long)p->shape.hkv),
           false;
  return true;
}

static bool add_tensor(struct ws_cli_problem *p, const struct ws_tensor_info *info, const int64_t *shape) {
  if (p->ntensors == WS_CLI_MOST) return p->code = ws_cli_fail(WS_CLI_REJECTED, "the kernel has more than %d tensors", WS_CLI_MOST), false;
  p->code = ws_cli_tensor_init(&p->t[p->ntensors], info, shape, &p->shape);
  p->ntensors += !p->code;
  return !p->code;
}

/* Host memory is asked for before any is taken: a system that has given too much kills the program, or another one. */
static bool enough_memory(struct ws_cli_problem *p) {
  double need = 0, have = ws_cli_memory_left();
  for (int i = 0; i < p->ntensors; i++) need += 3 * (double)p->t[i].bytes; /* before, after, and the emulator's */
  const struct ws_cli_shape *s = &p->shape;
  double rows = (double)s->b * (double)s->hq * (double)s->sq, keys = (double)s->b * (double)s->hkv * (double)s->sk;
  need += rows * (double)(p->dv + 1) * (sizeof(double) + 2 * sizeof(float)) + keys * (double)(p->d + p->dv) * sizeof(float); /* the reference's */
  if (have <= 0 || need <= have) return true;
  p->code = ws_cli_fail(WS_CLI_MISSING, "%.3g GB of host memory are needed for the tensors and the reference, %.3g GB are free", need * 1e-9,
                        have * 1e-9);
  return false;
}

static bool fill_memory(struct ws_cli_problem *p) {
  if (!enough_memory(p)) return false;
  for (int i = 0; i < p->ntensors; i++) {
    struct ws_cli_tensor *t = &p->t[i];
    p->code = ws_cli_tensor_alloc(t);
    if (p->code) return false;
    if (t->info->direction == WS_INOUT)
      ws_cli_tensor_zero(t);
    else if (t->info->direction != WS_IN)
      ws_cli_tensor_poison(t);
  }
  return true;
}

/* The shape of a tensor that the spec brings, from the names of its dims. */
static bool own_shape(struct ws_cli_problem *p, const struct ws_tensor_info *info, int64_t *shape) {
  if (info->rank > 4) return p->code = ws_cli_fail(WS_CLI_REJECTED, "tensor %s: rank %d found, at most 4 can be run", info->name, info->rank), false;
  const struct ws_cli_shape *s = &p->shape;
  const struct {
    const char *name;
    int64_t extent;
  } dims[] = {{"batch", s->b}, {"heads", s->hq}, {"kv_heads", s->hkv}, {"queries", s->sq}, {"keys", s->sk}};
  for (int d = 0; d < info->rank; d++) {
    shape[d] = info->dims[d].extent;
    if (!info->dims[d].name) continue;
    size_t k = 0;
    while (k < sizeof dims / sizeof *dims && strcmp(dims[k].name, info->dims[d].name)) k++;
    if (k == sizeof dims / sizeof *dims) return p->code = ws_cli_fail(WS_CLI_REJECTED, "tensor %s: no shape gives its dim %s", info->name, info->dims[d].name), false;
    shape[d] = dims[k].extent;
  }
  return true;
}

bool ws_cli_problem_tensors(struct ws_cli_problem *p) {
  const struct ws_cli_shape *s = &p->shape;
  const int64_t shapes[WS_CLI_TENSORS][4] = {
      {s->b, s->hq, s->sq, p->d},  {s->b, s->hkv, s->sk, p->d}, {s->b, s->hkv, s->sk, p->dv},
      {s->b, s->hq, s->sq, p->dv}, {s->b, s->hq, s->sq, 0},
  };
  for (int i = 0; i < WS_CLI_TENSORS; i++)
    if (!add_tensor(p, find(p->manifest, names[i]), shapes[i])) return false;
  const struct ws_tensor_info *info;
  for (size_t i = 0; (info = ws_manifest_tensor(p->manifest, i)); i++) {
    int k = 0;
    while (k < WS_CLI_TENSORS && strcmp(names[k], info->name)) k++;
    int64_t shape[4];
    if (ws_cli_watchdog_is(info))
      p->watchdog = info;
    else if (k == WS_CLI_TENSORS && (!own_shape(p, info, shape) || !add_tensor(p, info, shape))) return false;
  }
  if (!fill_memory(p)) return false;
  if (!ws_cli_rule(p)) return p->code = WS_CLI_REJECTED, false;
  return true;
}

void ws_cli_problem_inputs(struct ws_cli_problem *p) {
  for (int i = 0; i < p->ntensors; i++)
    if (p->t[i].info->direction == WS_IN && p->t[i].info->type == WS_DTYPE_I32)
      ws_cli_tensor_table(&p->t[i], p->shape.seed);
    else if (p->t[i].info->direction == WS_IN)
      ws_cli_tensor_random(&p->t[i], p->shape.seed, (uint64_t)i);
}

void ws_cli_problem_free(struct ws_cli_problem *p) {
  for (int i = 0; i < p->ntensors; i++) ws_cli_tensor_free(&p->t[i]);
  ws_arena_free(&p->arena);
}

int ws_cli_problem_upload(struct ws_cli_problem *p, struct ws_device *device) {
  struct ws_error_info err;
  for (int i = 0; i < p->ntensors; i++) {
    struct ws_cli_tensor *t = &p->t[i];
    if (!t->device && ws_memory_alloc(device, t->bytes, &t->device, &err)) return ws_cli_runtime_fail(&err);
    if (ws_memory_upload(device, t->device, t->before, t->bytes, NULL, &err)) return ws_cli_runtime_fail(&err);
  }
  return p->watchdog ? ws_cli_watchdog_open(p, device) : WS_CLI_OK;
}

int ws_cli_problem_launch(const struct ws_cli_problem *p, const struct ws_kernel *kernel, void *stream) {
  struct ws_error_info err;
  static const int64_t words[] = {WS_CLI_WATCHDOG_WORDS}, packed[] = {1};
  struct ws_tensor tensors[WS_CLI_MOST + 1];
  const struct ws_scalar scale = {"scale", p->scale};
  for (int i = 0; i < p->ntensors; i++) {
    const struct ws_cli_tensor *t = &p->t[i];
    tensors[i] = (struct ws_tensor){.name = t->info->name,
                                    .data = t->device + WS_CLI_GUARD,
                                    .type = t->info->type,
                                    .rank = t->info->rank,
                                    .shape = t->shape,
                                    .stride = t->stride};
  }
  tensors[p->ntensors] = (struct ws_tensor){"watchdog", (uint64_t)(uintptr_t)p->words, WS_DTYPE_I32, 1, words, packed};
  const struct ws_launch launch = {.tensors = tensors,
                                   .ntensors = (size_t)p->ntensors + (p->watchdog != NULL),
                                   .scalars = &scale,
                                   .nscalars = ws_manifest_scalar(p->manifest, 0) != NULL,
                                   .stream = stream,
                                   .sm_count = (uint32_t)p->shape.sms};
  return ws_kernel_launch(kernel, &launch, &err) ? ws_cli_runtime_fail(&err) : WS_CLI_OK;
}

int ws_cli_problem_download(struct ws_cli_problem *p, struct ws_device *device) {
  struct ws_error_info err;
  for (int i = 0; i < p->ntensors; i++)
    if (ws_memory_download(device, p->t[i].after, p->t[i].device, p->t[i].bytes, NULL, &err))
      return ws_cli_runtime_fail(&err);
  return WS_CLI_OK;
}

void ws_cli_problem_release(struct ws_cli_problem *p, struct ws_device *device) {
  for (int i = 0; i < p->ntensors; i++) {
    ws_memory_free(device, p->t[i].device, NULL);
    p->t[i].device = 0;
  }
  ws_host_free(device, p->words, NULL);
  p->words = NULL;
}

struct ws_ref_attention ws_cli_problem_reference(const struct ws_cli_problem *p) {
  const struct ws_cli_shape *s = &p->shape;
  return (struct ws_ref_attention){.batch = s->b,
                                   .heads = s->hq,
                                   .kv_heads = s->hkv,
                                   .queries = s->sq,
                                   .keys = s->sk,
                                   .head_dim = p->d,
                                   .head_dim_v = p->dv,
                                   .scale = p->scale,
                                   .causal = p->causal,
                                   .rule = p->rule.score || p->rule.visible || p->rule.sink || p->rule.sigmoid ? &p->rule : NULL,
                                   .q = ws_cli_tensor_view(&p->t[WS_CLI_Q]),
                                   .k = ws_cli_tensor_view(&p->t[WS_CLI_K]),
                                   .v = ws_cli_tensor_view(&p->t[WS_CLI_V])};
}
