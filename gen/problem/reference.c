#include "reference.h"
#include "formula.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- threads ---- */

struct crew {
  atomic_size_t next;
  size_t n;
  void (*work)(void *context, size_t i);
  void *context;
};

static void *worker(void *arg) {
  struct crew *c = arg;
  for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) c->work(c->context, i);
  return NULL;
}

static void parallel(const struct ws_ref_attention *p, unsigned threads, size_t n, void (*work)(void *context, size_t i), void *context) {
  enum { MOST = 256 };
  pthread_t ids[MOST];
  struct crew c = {.n = n, .work = work, .context = context};
  long cores = threads ? (long)threads : sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > MOST) cores = MOST;
  if ((size_t)cores > n) cores = (long)n;
  int started = 0;
  while (started < cores - 1 && !pthread_create(&ids[started], NULL, worker, &c)) started++;
  /* this thread works, too: the result does not depend on how many could be started */
  for (size_t i; (i = atomic_fetch_add(&c.next, 1)) < n;) {
    work(context, i);
    if (p && p->progress) p->progress(p->watcher, (double)(i + 1) / (double)n);
  }
  while (started > 0) pthread_join(ids[--started], NULL);
}

void ws_ref_parallel(unsigned threads, size_t n, void (*work)(void *context, size_t i), void *context) {
  parallel(NULL, threads, n, work, context);
}

/* ---- attention.forward ----
 * K and V are widened to packed float arrays once (exact for all three types); then blocks of rows are tasks. */

enum { ROWS = 16, LANES = 8 };

struct job {
  const struct ws_ref_attention *p;
  enum ws_ref_type type; /* of the plain evaluation's P and O */
  float *k, *v;          /* [batch, kv_heads, keys, d] */
  double *o64, *lse64;
  float *o32, *lse32;
  int64_t blocks; /* of rows, a head */
  atomic_bool failed;
};

static const char *address(const struct ws_ref_tensor *t, int64_t b, int64_t h, int64_t s) {
  return (const char *)t->data + b * t->stride[0] + h * t->stride[1] + s * t->stride[2];
}

static void widen_row(const struct ws_ref_tensor *t, int64_t b, int64_t h, int64_t s, int64_t d, float *out) {
  const char *at = address(t, b, h, s);
  for (int64_t i = 0; i < d; i++) out[i] = ws_ref_load(at + i * t->stride[3], t->type);
}

static void widen_head(void *context, size_t i) {
  struct job *j = context;
  const struct ws_ref_attention *p = j->p;
  int64_t b = (int64_t)i / p->kv_heads, h = (int64_t)i % p->kv_heads;
  for (int64_t s = 0; s < p->keys; s++) {
    int64_t row = (int64_t)i * p->keys + s;
    widen_row(&p->k, b, h, s, p->head_dim, j->k + row * p->head_dim);
    widen_row(&p->v, b, h, s, p->head_dim_v, j->v + row * p->head_dim_v);
  }
}

static int64_t visible_keys(const struct ws_ref_attention *p, int64_t query) {
  if (!p->causal || (p->rule && p->rule->visible)) return p->keys;
  int64_t n = query + (p->keys - p->queries) + 1;
  return n < 0 ? 0 : n > p->keys ? p->keys : n;
}

/* Sums in LANES parts, so that the compiler may use vectors without changing the result. */
static double dot64(const float *a, const float *b, int64_t n) {
  double part[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) part[l] += (double)a[i + l] * (double)b[i + l];
  for (; i < n; i++) sum += (double)a[i] * (double)b[i];
  for (int l = 0; l < LANES; l++) sum += part[l];
  return sum;
}

static float dot32(const float *a, const float *b, int64_t n) {
  float part[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) part[l] += a[i + l] * b[i + l];
  for (; i < n; i++) sum += a[i] * b[i];
  for (int l = 0; l < LANES; l++) sum += part[l];
  return sum;
}

/* One row: which it is, and its K and V. */
struct row {
  const struct ws_ref_attention *p;
  int64_t batch, head, query, n; /* n: keys to look at */
  const float *q, *k, *v;
};

static void names_of(const struct row *r, double *at) {
  const struct ws_ref_attention *p = r->p;
  at[WS_FN_ROW] = (double)r->query, at[WS_FN_COL] = NAN, at[WS_FN_S] = NAN, at[WS_FN_HEAD] = (double)r->head;
  at[WS_FN_KV_HEAD] = (double)(r->head * p->kv_heads / p->heads), at[WS_FN_BATCH] = (double)r->batch, at[WS_FN_QUERIES] = (double)p->queries;
  at[WS_FN_KEYS] = (double)p->keys, at[WS_FN_HEADS] = (double)p->heads, at[WS_FN_KV_HEADS] = (double)p->kv_heads, at[WS_FN_SCALE] = p->scale;
  at[WS_FN_LOG2E] = 1.4426950408889634, at[WS_FN_LN2] = 0.6931471805599453;
}

/* The score of key j under the spec's rule; false if the row does not see it. The rule is exact in both evaluations: what
 * differs is the dot product that it starts from. */
static bool ruled(const struct row *r, double *at, int64_t j, double *s) {
  const struct ws_ref_rule *rule = r->p->rule;
  at[WS_FN_COL] = (double)j, at[WS_FN_S] = *s;
  if (rule->visible && !(ws_formula_value(rule->visible, at) != 0)) return false;
  if (rule->score) *s = ws_formula_value(rule->score, at);
  return true;
}

/* Scores of a row into s, hidden ones skipped: index[i] is the key of s[i]. Returns how many. */
static int64_t exact_scores(const struct row *r, double *at, double *s, int64_t *index) {
  int64_t n = 0;
  for (int64_t j = 0; j < r->n; j++) {
    double x = dot64(r->q, r->k + j * r->p->head_dim, r->p->head_dim) * r->p->scale;
    if (r->p->rule && !ruled(r, at, j, &x)) continue;
    s[n] = x, index[n++] = j;
  }
  return n;
}

static void exact_row(const struct row *r, double *s, int64_t *index, double *o, double *lse) {
  const struct ws_ref_attention *p = r->p;
  const struct ws_ref_rule *rule = p->rule;
  double at[WS_FN_COUNT], m = -INFINITY, l = 0;
  names_of(r, at);
  int64_t n = exact_scores(r, at, s, index);
  bool sigmoid = rule && rule->sigmoid;
  double sink = rule && rule->sink ? ws_formula_value(rule->sink, at) : -INFINITY;
  for (int64_t j = 0; j < n && !sigmoid; j++) m = fmax(m, s[j]); /* passes over NaN, which returns through the sum */
  m = fmax(m, sink);
  double shift = m == -INFINITY ? 0 : m;
  memset(o, 0, sizeof *o * (size_t)p->head_dim_v);
  for (int64_t j = 0; j < n; j++) {
    double e = sigmoid ? 1 / (1 + exp(-s[j])) : exp(s[j] - shift);
    l += e;
    for (int64_t i = 0; i < p->head_dim_v; i++) o[i] += e * (double)r->v[index[j] * p->head_dim_v + i];
  }
  if (sink > -INFINITY) l += exp(sink - shift);
  for (int64_t i = 0; i < p->head_dim_v && !sigmoid; i++) o[i] = l == 0 ? o[i] * 0 : o[i] / l;
  *lse = l == 0 ? -INFINITY : shift + log(l);
}

static void plain_row(const struct row *r, enum ws_ref_type type, float *s, int64_t *index, float *o, float *lse) {
  const struct ws_ref_attention *p = r->p;
  const struct ws_ref_rule *rule = p->rule;
  double at[WS_FN_COUNT];
  float m = -INFINITY, l = 0, scale = (float)p->scale;
  int64_t n = 0;
  bool sigmoid = rule && rule->sigmoid;
  names_of(r, at);
  for (int64_t j = 0; j < r->n; j++) {
    double x = (double)(dot32(r->q, r->k + j * p->head_dim, p->head_dim) * scale);
    if (rule && !ruled(r, at, j, &x)) continue;
    s[n] = (float)x, index[n++] = j;
  }
  float sink = rule && rule->sink ? (float)ws_formula_value(rule->sink, at) : -INFINITY;
  for (int64_t j = 0; j < n && !sigmoid; j++) m = fmaxf(m, s[j]);
  m = fmaxf(m, sink);
  float shift = m == -INFINITY ? 0 : m + (float)(p->above * 0.6931471805599453);
  memset(o, 0, sizeof *o * (size_t)p->head_dim_v);
  for (int64_t j = 0; j < n; j++) {
    float e = sigmoid ? 1 / (1 + expf(-s[j])) : expf(s[j] - shift), rounded;
    l += e;
    ws_ref_store(&rounded, type, e);
    rounded = ws_ref_load(&rounded, type);
    for (int64_t i = 0; i < p->head_dim_v; i++) o[i] += rounded * r->v[index[j] * p->head_dim_v + i];
  }
  if (sink > -INFINITY) l += expf(sink - shift);
  for (int64_t i = 0; i < p->head_dim_v; i++) {
    float value = sigmoid ? o[i] : l == 0 ? o[i] * 0 : o[i] / l;
    ws_ref_store(&o[i], type, value);
    o[i] = ws_ref_load(&o[i], type);
  }
  *lse = l == 0 ? -INFINITY : shift + logf(l);
}

static void rows_task(void *context, size_t task) {
  struct job *j = context;
  const struct ws_ref_attention *p = j->p;
  int64_t head = (int64_t)task / j->blocks, first = (int64_t)task % j->blocks * ROWS;
  int64_t b = head / p->heads, h = head % p->heads;
  int64_t kv = b * p->kv_heads + h * p->kv_heads / p->heads;
  const float *k = j->k + kv * p->keys * p->head_dim, *v = j->v + kv * p->keys * p->head_dim_v;
  float *q = malloc(sizeof *q * (size_t)p->head_dim);
  void *scores = malloc(sizeof(double) * (size_t)(p->keys + 1));
  int64_t *index = malloc(sizeof *index * (size_t)(p->keys + 1));
  if (!q || !scores || !index) {
    atomic_store(&j->failed, true);
  } else {
    for (int64_t i = first; i < first + ROWS && i < p->queries; i++) {
      int64_t row = head * p->queries + i;
      struct row r = {.p = p, .batch = b, .head = h, .query = i, .n = visible_keys(p, i), .q = q, .k = k, .v = v};
      widen_row(&p->q, b, h, i, p->head_dim, q);
      if (j->o64)
        exact_row(&r, scores, index, j->o64 + row * p->head_dim_v, &j->lse64[row]);
      else
        plain_row(&r, j->type, scores, index, j->o32 + row * p->head_dim_v, &j->lse32[row]);
    }
  }
  free(q);
  free(scores);
  free(index);
}

static bool run_job(struct job *j) {
  const struct ws_ref_attention *p = j->p;
  size_t heads = (size_t)(p->batch * p->kv_heads), rows = heads * (size_t)p->keys;
  j->k = malloc(sizeof(float) * rows * (size_t)p->head_dim + 1);
  j->v = malloc(sizeof(float) * rows * (size_t)p->head_dim_v + 1);
  j->blocks = (p->queries + ROWS - 1) / ROWS;
  atomic_init(&j->failed, !j->k || !j->v);
  if (!atomic_load(&j->failed)) {
    ws_ref_parallel(p->threads, heads, widen_head, j);
    parallel(p, p->threads, (size_t)(p->batch * p->heads * j->blocks), rows_task, j);
  }
  free(j->k);
  free(j->v);
  return !atomic_load(&j->failed);
}

bool ws_ref_attention_exact(const struct ws_ref_attention *p, double *o, double *lse) {
  struct job j = {.p = p, .o64 = o, .lse64 = lse};
  return run_job(&j);
}

bool ws_ref_attention_plain(const struct ws_ref_attention *p, enum ws_ref_type type, float *o, float *lse) {
  struct job j = {.p = p, .type = type, .o32 = o, .lse32 = lse};
  return run_job(&j);
}

uint64_t ws_ref_attention_pairs(int64_t queries, int64_t keys, bool causal) {
  if (!causal) return (uint64_t)queries * (uint64_t)keys;
  /* The last n = min(queries, keys) rows see keys - n + 1 .. keys keys. */
  uint64_t n = (uint64_t)(queries < keys ? queries : keys);
  return n * ((uint64_t)keys - n) + n * (n + 1) / 2;
}

static const struct ws_reference problems[] = {
    {"attention.forward", ws_ref_attention_exact, ws_ref_attention_plain},
};

const struct ws_reference *ws_reference_find(const char *name) {
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    if (!strcmp(problems[i].name, name)) return &problems[i];
  return NULL;
}
