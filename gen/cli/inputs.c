/* Inputs of `run` from .npy files: which, what they say about the shape, and their values in the tensors. */
#include "inputs.h"
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

bool ws_cli_files_add(struct ws_cli_files *q, char *text) {
  char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1]) return ws_cli_fail(0, "--in %s: expected NAME=FILE.npy", text), false;
  if (q->nin == WS_CLI_MOST) return ws_cli_fail(0, "--in: more than %d", WS_CLI_MOST), false;
  *equals = 0;
  q->in[q->nin].name = text;
  q->in[q->nin++].path = equals + 1;
  return true;
}

bool ws_cli_files_any(const struct ws_cli_files *q) { return q->qkv[0] || q->qkv[1] || q->qkv[2] || q->nin; }

/* ---- reading ---- */

void ws_cli_inputs_free(struct ws_cli_inputs *in) {
  for (int i = 0; i < 3; i++) free(in->file[i].data);
  for (size_t i = 0; i < in->nown; i++) free(in->own[i].array.data);
}

/* --in NAME=FILE of a tensor that is not q, k or v: the kernel says what rank it has. */
static int read_own(struct ws_cli_inputs *in, const struct ws_manifest *m, const char *name, const char *path) {
  const struct ws_tensor_info *t;
  struct ws_buf names = {0};
  struct ws_arena arena = {0};
  for (size_t i = 0; (t = ws_manifest_tensor(m, i)) && (t->direction != WS_IN || strcmp(t->name, name)); i++) {}
  if (t && t->type == WS_DTYPE_I32) return ws_cli_fail(WS_CLI_USAGE, "--in %s: it is of integers, and files hold <f4 or <f2", name);
  if (t) {
    in->own[in->nown].name = name;
    return ws_cli_npy_read(path, t->rank, &in->own[in->nown++].array) ? WS_CLI_OK : WS_CLI_USAGE;
  }
  if (setjmp(arena.oom)) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  names.arena = &arena;
  for (size_t i = 0; (t = ws_manifest_tensor(m, i)); i++)
    if (t->direction == WS_IN) ws_buf_printf(&names, "%s%s", names.s ? ", " : "", t->name);
  ws_cli_fail(0, "--in %s: the kernel has no such input; it has %s", name, names.s ? names.s : "none");
  ws_arena_free(&arena);
  return WS_CLI_USAGE;
}

int ws_cli_inputs_read(const struct ws_cli_files *q, const struct ws_manifest *m, struct ws_cli_inputs *in) {
  static const char *const names[] = {"q", "k", "v"};
  int code = WS_CLI_OK;
  for (int i = 0; i < 3; i++)
    if (q->qkv[i] && !ws_cli_npy_read(q->qkv[i], 4, &in->file[i])) return WS_CLI_USAGE;
  for (size_t i = 0; i < q->nin && code == WS_CLI_OK; i++) {
    int k = 0;
    while (k < 3 && strcmp(names[k], q->in[i].name)) k++;
    for (size_t j = 0; j < i; j++)
      if (!strcmp(q->in[i].name, q->in[j].name)) return ws_cli_fail(WS_CLI_USAGE, "--in %s is given twice", q->in[i].name);
    if (k == 3)
      code = read_own(in, m, q->in[i].name, q->in[i].path);
    else if (in->file[k].data)
      code = ws_cli_fail(WS_CLI_USAGE, "--in %s and --%s exclude each other", names[k], names[k]);
    else if (!ws_cli_npy_read(q->in[i].path, 4, &in->file[k]))
      code = WS_CLI_USAGE;
  }
  return code;
}

/* The shape's extent is the file's, unless --shape says another one. */
static bool take_extent(struct ws_cli_shape *s, enum ws_cli_extent which, int64_t *extent, const char *name, const char *option, const struct ws_cli_array *a, int dim) {
  if (s->given & which && *extent != a->shape[dim])
    return ws_cli_fail(0, "%s: shape (%lld, %lld, %lld, %lld) found, but --shape says %s=%lld", option, (long long)a->shape[0],
                       (long long)a->shape[1], (long long)a->shape[2], (long long)a->shape[3], name, (long long)*extent),
           false;
  *extent = a->shape[dim];
  return true;
}

bool ws_cli_inputs_shape(const struct ws_cli_inputs *in, struct ws_cli_shape *s) {
  const struct ws_cli_array *q = &in->file[0], *k = &in->file[1], *v = &in->file[2];
  if (k->data && v->data && memcmp(k->shape, v->shape, 3 * sizeof *k->shape))
    return ws_cli_fail(0, "--k and --v: batch, heads or lengths differ"), false;
  const struct ws_cli_array *kv = k->data ? k : v;
  const char *option = k->data ? "--k" : "--v";
  if (q->data && kv->data && q->shape[0] != kv->shape[0])
    return ws_cli_fail(0, "--q has batch %lld, --k or --v has %lld", (long long)q->shape[0], (long long)kv->shape[0]),
           false;
  if (q->data && (!take_extent(s, WS_CLI_B, &s->b, "b", "--q", q, 0) || !take_extent(s, WS_CLI_HQ, &s->hq, "hq", "--q", q, 1) ||
                  !take_extent(s, WS_CLI_SQ, &s->sq, "sq", "--q", q, 2)))
    return false;
  return !kv->data || (take_extent(s, WS_CLI_B, &s->b, "b", option, kv, 0) && take_extent(s, WS_CLI_HKV, &s->hkv, "hkv", option, kv, 1) &&
                       take_extent(s, WS_CLI_SK, &s->sk, "sk", option, kv, 2));
}

static void print_extents(const int64_t *shape, int rank, char *out, size_t size) {
  size_t n = 0;
  out[0] = 0;
  for (int d = 0; d < rank && n < size; d++) n += (size_t)snprintf(out + n, size - n, "%s%lld", d ? ", " : "", (long long)shape[d]);
}

static bool fill_own(struct ws_cli_problem *p, const char *name, const struct ws_cli_array *a) {
  int i = WS_CLI_TENSORS;
  while (i < p->ntensors && strcmp(p->t[i].info->name, name)) i++;
  struct ws_cli_tensor *t = &p->t[i];
  if (i == p->ntensors) return ws_cli_fail(0, "--in %s: the kernel's launch has no such tensor", name), false;
  for (int d = 0; d < t->info->rank; d++) {
    char have[100], want[100];
    if (a->shape[d] == t->shape[d]) continue;
    print_extents(a->shape, t->info->rank, have, sizeof have);
    print_extents(t->shape, t->info->rank, want, sizeof want);
    return ws_cli_fail(0, "--in %s: shape (%s) found, expected (%s)", name, have, want), false;
  }
  ws_cli_tensor_values(t, a->data);
  return true;
}

bool ws_cli_inputs_fill(struct ws_cli_problem *p, const struct ws_cli_inputs *in) {
  static const char *const names[] = {"--q", "--k", "--v"};
  const struct ws_cli_array *files = in->file;
  ws_cli_problem_inputs(p);
  for (size_t i = 0; i < in->nown; i++)
    if (!fill_own(p, in->own[i].name, &in->own[i].array)) return false;
  for (int i = 0; i < 3; i++) {
    struct ws_cli_tensor *t = &p->t[WS_CLI_Q + i];
    if (!files[i].data) continue;
    if (files[i].shape[3] != t->shape[3])
      return ws_cli_fail(0, "%s: head dim %lld found, the kernel has %lld", names[i], (long long)files[i].shape[3],
                         (long long)t->shape[3]),
             false;
    ws_cli_tensor_values(t, files[i].data);
  }
  return true;
}
