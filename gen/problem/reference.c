#include "reference.h"
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

void ws_ref_parallel(unsigned threads, size_t n, void (*work)(void *context, size_t i), void *context) {
  enum { MOST = 256 };
  pthread_t ids[MOST];
  struct crew c = {.n = n, .work = work, .context = context};
  long cores = threads ? (long)threads : sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > MOST) cores = MOST;
  if ((size_t)cores > n) cores = (long)n;
  int started = 0;
  while (started < cores - 1 && !pthread_create(&ids[started], NULL, worker, &c)) started++;
  worker(&c); /* this thread works, too: the result does not depend on how many could be started */
  while (started > 0) pthread_join(ids[--started], NULL);
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
  if (!p->causal) return p->keys;
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

static void exact_row(const struct ws_ref_attention *p, const float *q, const float *k, const float *v, int64_t n,
                      double *s, double *o, double *lse) {
  double m = -INFINITY, l = 0;
  for (int64_t j = 0; j < n; j++) {
    s[j] = dot64(q, k + j * p->head_dim, p->head_dim) * p->scale;
    m = fmax(m, s[j]); /* passes over NaN, which returns through the sum */
  }
  double shift = m == -INFINITY ? 0 : m;
  memset(o, 0, sizeof *o * (size_t)p->head_dim_v);
  for (int64_t j = 0; j < n; j++) {
    double e = exp(s[j] - shift);
    l += e;
    for (int64_t i = 0; i < p->head_dim_v; i++) o[i] += e * (double)v[j * p->head_dim_v + i];
  }
  for (int64_t i = 0; i < p->head_dim_v; i++) o[i] = l == 0 ? o[i] * 0 : o[i] / l;
  *lse = l == 0 ? -INFINITY : m + log(l);
}

static void plain_row(const struct ws_ref_attention *p, enum ws_ref_type type, const float *q, const float *k,
                      const float *v, int64_t n, float *s, float *o, float *lse) {
  float m = -INFINITY, l = 0, scale = (float)p->scale;
  for (int64_t j = 0; j < n; j++) {
    s[j] = dot32(q, k + j * p->head_dim, p->head_dim) * scale;
    m = fmaxf(m, s[j]);
  }
  float shift = m == -INFINITY ? 0 : m;
  memset(o, 0, sizeof *o * (size_t)p->head_dim_v);
  for (int64_t j = 0; j < n; j++) {
    float e = expf(s[j] - shift), rounded;
    l += e;
    ws_ref_store(&rounded, type, e);
    rounded = ws_ref_load(&rounded, type);
    for (int64_t i = 0; i < p->head_dim_v; i++) o[i] += rounded * v[j * p->head_dim_v + i];
  }
  for (int64_t i = 0; i < p->head_dim_v; i++) {
    float value = l == 0 ? o[i] * 0 : o[i] / l;
    ws_ref_store(&o[i], type, value);
    o[i] = ws_ref_load(&o[i], type);
  }
  *lse = l == 0 ? -INFINITY : m + logf(l);
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
  if (!q || !scores) {
    atomic_store(&j->failed, true);
  } else {
    for (int64_t i = first; i < first + ROWS && i < p->queries; i++) {
      int64_t row = head * p->queries + i, n = visible_keys(p, i);
      widen_row(&p->q, b, h, i, p->head_dim, q);
      if (j->o64)
        exact_row(p, q, k, v, n, scores, j->o64 + row * p->head_dim_v, &j->lse64[row]);
      else
        plain_row(p, j->type, q, k, v, n, scores, j->o32 + row * p->head_dim_v, &j->lse32[row]);
    }
  }
  free(q);
  free(scores);
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
    ws_ref_parallel(p->threads, (size_t)(p->batch * p->heads * j->blocks), rows_task, j);
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
