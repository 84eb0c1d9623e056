/* What a problem's result should be: an fp64 reference, and the plain fp32 evaluation that sets the tolerance.
 *
 * A kernel is right when its error against the reference is of the size of the error that a plain evaluation with the
 * same types makes. Both are computed from inputs already rounded to the kernel's types, on all cores. No state, no
 * dependence on the compiler: the loader's tests use it, too. Thread-safe. */
#ifndef WS_REFERENCE_H
#define WS_REFERENCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- element types ---- */

enum ws_ref_type { WS_REF_F16, WS_REF_BF16, WS_REF_F32 };
bool ws_ref_type_find(const char *name, enum ws_ref_type *type); /* "f16", "bf16", "f32" */
size_t ws_ref_size(enum ws_ref_type type);                       /* bytes */
int ws_ref_precision(enum ws_ref_type type);                     /* significand bits with the hidden one: 11, 8, 24 */

uint16_t ws_ref_to_f16(float v);   /* round to nearest, ties to even; NaN stays NaN; overflow gives infinity */
uint16_t ws_ref_to_bf16(float v);
float ws_ref_from_f16(uint16_t bits);
float ws_ref_from_bf16(uint16_t bits);
void ws_ref_store(void *at, enum ws_ref_type type, float v); /* rounds */
float ws_ref_load(const void *at, enum ws_ref_type type);    /* exact */
/* The distance of two neighbouring values of the type at |v|: 2^(exponent of v - precision + 1), subnormals included. */
double ws_ref_ulp(enum ws_ref_type type, double v);

/* ---- attention.forward ----
 * S = scale Q K^T over the visible keys, O = softmax(S) V, LSE = log(sum(exp(S))). Query i of sq sees key j of sk when
 * not causal or j <= i + (sk - sq) (aligned at the bottom right). Query head h reads KV head h * kv_heads / heads.
 * A row without a visible key has O = 0 and LSE = -inf; so has one whose visible scores are all -inf. NaN and infinity
 * spread as IEEE 754 says, from visible keys and queries alone. */

struct ws_ref_tensor {
  const void *data;
  enum ws_ref_type type;
  int64_t stride[4]; /* bytes: batch, head, row, column */
};

/* What a spec's `reference:` puts in the place of the problem's scores, mask and weights (formula.h). NULL = the problem's. */
struct ws_formula;
struct ws_ref_rule {
  const struct ws_formula *score;   /* of s = scale * q.k */
  const struct ws_formula *visible; /* in the place of the causal mask */
  const struct ws_formula *sink;    /* one more score in the denominator, without a value; depends on the row and head only */
  bool sigmoid;                     /* weights 1 / (1 + exp(-score)), no normalisation; LSE = log of their sum */
};

struct ws_ref_attention {
  int64_t batch, heads, kv_heads, queries, keys; /* heads a multiple of kv_heads */
  int64_t head_dim, head_dim_v;
  double scale;
  bool causal;
  double above;  /* plain evaluation: exponents refer to the row's maximum plus so many powers of two; results differ by rounding only */
  const struct ws_ref_rule *rule;
  struct ws_ref_tensor q, k, v;
  unsigned threads; /* 0 = one a core */
  void (*progress)(void *watcher, double done); /* NULL, or called by the calling thread with the share of the rows that are done */
  void *watcher;
};

/* o: [batch, heads, queries, head_dim_v], lse: [batch, heads, queries], packed. False: out of memory. */
bool ws_ref_attention_exact(const struct ws_ref_attention *p, double *o, double *lse);
/* Everything in fp32, the row maximum subtracted; the unnormalized P and then O rounded to type. */
bool ws_ref_attention_plain(const struct ws_ref_attention *p, enum ws_ref_type type, float *o, float *lse);
/* Pairs of a query and a key that it sees, in one head of one batch: 4 * pairs * d is a forward pass's FLOP count. */
uint64_t ws_ref_attention_pairs(int64_t queries, int64_t keys, bool causal);

/* ---- problems by name: what `run` can judge ---- */
struct ws_reference {
  const char *name; /* as in the manifest */
  bool (*exact)(const struct ws_ref_attention *p, double *o, double *lse);
  bool (*plain)(const struct ws_ref_attention *p, enum ws_ref_type type, float *o, float *lse);
};
const struct ws_reference *ws_reference_find(const char *name); /* NULL if there is none */

/* Calls work(context, i) for i in 0 .. n-1 from several threads, each i once. */
void ws_ref_parallel(unsigned threads, size_t n, void (*work)(void *context, size_t i), void *context);
#endif
