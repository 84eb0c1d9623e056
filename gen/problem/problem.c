#include "problem.h"
#include <math.h>
#include <string.h>

#define COUNT(x) (sizeof(x) / sizeof *(x))

/* O = softmax(scale * Q K^T + mask) V, LSE = ln of the row sums (FlashAttention paper, 2.1 and 3.1). Grouped heads:
 * query head h reads key head h / (heads / kv_heads). Causal is aligned bottom-right: query i sees keys up to
 * i + keys - queries. */
static const struct ws_problem_tensor forward_tensors[] = {
    {"q", false, "dtype", {"batch", "heads", "queries", "head_dim"}},
    {"k", false, "dtype", {"batch", "kv_heads", "keys", "head_dim"}},
    {"v", false, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}},
    {"o", true, "dtype", {"batch", "heads", "queries", "head_dim_v"}},
    {"lse", true, "f32", {"batch", "heads", "queries", NULL}},
};
static const struct ws_problem_scalar forward_scalars[] = {
    {"scale", "scale", 1.0},
    {"c", "scale", 1.4426950408889634}, /* exp(scale x) = exp2(c x) */
    {"ln2", NULL, 0.6931471805599453},
    {"log2e", NULL, 1.4426950408889634},
};
static const struct ws_problem_list forward_lists[] = {
    {"kv", "keys", "queries"},
    {"queries", "queries", NULL},
};
static const char *const forward_params[] = {"dtype", "head_dim", "head_dim_v", "causal", "window", NULL};

static const struct ws_problem problems[] = {
    {"attention.forward", "queries", forward_tensors, COUNT(forward_tensors), forward_scalars, COUNT(forward_scalars),
     forward_lists, COUNT(forward_lists), forward_params},
};
static const char *const names[] = {"attention.forward"};

const struct ws_problem *ws_problem_find(const char *name) {
  for (size_t i = 0; i < COUNT(problems); i++)
    if (!strcmp(problems[i].name, name)) return &problems[i];
  return NULL;
}

size_t ws_problem_names(const char *const **out) {
  *out = names;
  return COUNT(names);
}
