/* A spec's own mathematics, evaluated in fp64: the `reference:` of a spec whose scores or masks are not the problem's.
 *
 * A formula is an expression of the language over one pair of a query and a key. Names: s = scale * q.k; row, col (from 0);
 * head, kv_head, batch; queries, keys, heads, kv_heads; scale; log2e, ln2; integers and numbers. Functions: exp exp2 log log2
 * tanh abs min max floor. Tensors of the spec by index: bias[batch, head, row, col]. A compiled formula is constant:
 * any number of threads may evaluate it. May include gen/base and gen/spec/syntax.h. */
#ifndef WS_FORMULA_H
#define WS_FORMULA_H
#include "reference.h"
#include "spec/syntax.h"

struct ws_formula_tensor {
  const char *name;
  const void *data;
  enum ws_ref_type type;
  int rank;
  const char *dim[4];          /* names of run-time dims, NULL where fixed or not known */
  int64_t shape[4], stride[4]; /* bytes */
};

enum ws_formula_name {
  WS_FN_S, WS_FN_ROW, WS_FN_COL, WS_FN_HEAD, WS_FN_KV_HEAD, WS_FN_BATCH, WS_FN_QUERIES, WS_FN_KEYS, WS_FN_HEADS, WS_FN_KV_HEADS,
  WS_FN_SCALE, WS_FN_LOG2E, WS_FN_LN2, WS_FN_COUNT
};

struct ws_formula; /* lives in the arena */

/* Compiles e. NULL after an error in d: unknown names, functions, tensors, wrong number of indices. */
struct ws_formula *ws_formula_compile(const struct ws_expr *e, const struct ws_formula_tensor *tensors, size_t ntensors, struct ws_arena *a,
                                      struct ws_diags *d);
/* Its value; a condition is 1 or 0. names holds WS_FN_COUNT values. An index outside its tensor gives NaN. */
double ws_formula_value(const struct ws_formula *f, const double *names);
#endif
