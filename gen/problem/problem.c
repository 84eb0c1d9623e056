#include "problem.h"
#include <string.h>

#define COUNT(x) (sizeof(x) / sizeof *(x))

static const struct ws_problem_scalar softmax_scalars[] = {
    {"scale", "scale", 1.0},
    {"c", "scale", 1.4426950408889634}, /* exp(scale x) = exp2(c x) */
    {"ln2", NULL, 0.6931471805599453},
    {"log2e", NULL, 1.4426950408889634},
};
static const char *const attention_params[] = {"dtype", "head_dim", "head_dim_v", "causal", "window", NULL};
static const char *const forward_params[] = {"dtype", "head_dim", "head_dim_v", "causal", "window", "group", NULL};
static const char *const no_queries[] = {NULL};

/* O = softmax(scale * Q K^T + mask) V, LSE = ln of the row sums (FlashAttention paper, 2.1 and 3.1). Grouped heads:
 * query head h reads key head h / (heads / kv_heads). Causal is aligned bottom-right: query i sees keys up to
 * i + keys - queries. */
static const struct ws_problem_tensor forward_tensors[] = {
    {"q", false, "dtype", {"batch", "heads", "queries", "head_dim"}, 2},
    {"k", false, "dtype", {"batch", "kv_heads", "keys", "head_dim"}, 2},
    {"v", false, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}, 2},
    {"o", true, "dtype", {"batch", "heads", "queries", "head_dim_v"}, 2},
    {"lse", true, "f32", {"batch", "heads", "queries", NULL}, 1},
};
static const struct ws_problem_list forward_lists[] = {
    {"kv", "keys", "queries", NULL, false, false},
    {"queries", "queries", NULL, NULL, false, false},
    {"queries", "queries", "keys", "keys", false, false},
    {"unseen", "queries", "keys", NULL, true, false},
};

/* The same with 8-bit inputs: values = element * descale, one factor a head. */
static const struct ws_problem_tensor fp8_tensors[] = {
    {"q", false, "dtype", {"batch", "heads", "queries", "head_dim"}, 2},
    {"k", false, "dtype", {"batch", "kv_heads", "keys", "head_dim"}, 2},
    {"v", false, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}, 2},
    {"o", true, "out", {"batch", "heads", "queries", "head_dim_v"}, 2},
    {"lse", true, "f32", {"batch", "heads", "queries", NULL}, 1},
    {"descale_q", false, "f32", {"batch", "kv_heads", NULL}, 0},
    {"descale_k", false, "f32", {"batch", "kv_heads", NULL}, 0},
    {"descale_v", false, "f32", {"batch", "kv_heads", NULL}, 0},
};
static const char *const fp8_params[] = {"dtype", "out", "head_dim", "head_dim_v", "causal", "window", NULL};

/* Gradients (FlashAttention-2 paper, 2.3.2): dV = P^T dO, dP = dO V^T, dS = P * (dP - delta), dQ = dS K, dK = dS^T Q, with
 * delta = rowsum(dO * O). Three kernels: before, the products, after. */
static const struct ws_problem_tensor backward_pre_tensors[] = {
    {"o", false, "dtype", {"batch", "heads", "queries", "head_dim_v"}, 2},
    {"do", false, "dtype", {"batch", "heads", "queries", "head_dim_v"}, 2},
    {"lse", false, "f32", {"batch", "heads", "queries", NULL}, 1},
};
static const struct ws_problem_tensor backward_tensors[] = {
    {"q", false, "dtype", {"batch", "heads", "queries", "head_dim"}, 2},
    {"k", false, "dtype", {"batch", "kv_heads", "keys", "head_dim"}, 2},
    {"v", false, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}, 2},
    {"do", false, "dtype", {"batch", "heads", "queries", "head_dim_v"}, 2},
    {"lse", false, "f32", {"batch", "heads", "queries", NULL}, 1},
    {"dq", true, "dtype", {"batch", "heads", "queries", "head_dim"}, 2},
    {"dk", true, "dtype", {"batch", "kv_heads", "keys", "head_dim"}, 2},
    {"dv", true, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}, 2},
};
static const struct ws_problem_tensor backward_post_tensors[] = {
    {"dq", true, "dtype", {"batch", "heads", "queries", "head_dim"}, 2},
};
static const struct ws_problem_list backward_lists[] = {
    {"queries", "queries", "keys", NULL, false, false},
    {"kv", "keys", NULL, NULL, false, false},
    {"kv", "keys", "queries", "queries", false, false},
    {"unseen", "keys", "queries", NULL, true, false},
};

/* Decode: few queries against long keys that are split over CTAs. `packed` is the rows of all query heads of one key head:
 * row (h, i) is query i of the h-th of them. Keys lie in pages: block_table says where page p of a sequence is. */
static const struct ws_problem_tensor decode_tensors[] = {
    {"q", false, "dtype", {"batch", "kv_heads", "packed", "head_dim"}, 2},
    {"k", false, "dtype", {"batch", "kv_heads", "keys", "head_dim"}, 2},
    {"v", false, "dtype", {"batch", "kv_heads", "keys", "head_dim_v"}, 2},
    {"k_pages", false, "dtype", {"pages", "kv_heads", "page", "head_dim"}, 2},
    {"v_pages", false, "dtype", {"pages", "kv_heads", "page", "head_dim_v"}, 2},
    {"block_table", false, "i32", {"batch", "pages_a_sequence", NULL}, 0},
    {"o", true, "dtype", {"batch", "kv_heads", "packed", "head_dim_v"}, 2},
    {"lse", true, "f32", {"batch", "kv_heads", "packed", NULL}, 1},
};
static const struct ws_problem_list decode_lists[] = {
    {"kv", "keys", "queries", NULL, false, false},
};
static const char *const decode_params[] = {"dtype", "head_dim", "head_dim_v", "causal", "window", "page", NULL};
static const char *const decode_queries[] = {"last_page", NULL};

/* The same with one latent for all heads: V is the first columns of K (DeepSeek-V2 paper, 2.1). */
static const struct ws_problem_tensor mla_tensors[] = {
    {"q", false, "dtype", {"batch", "packed", "head_dim"}, 2},
    {"k", false, "dtype", {"batch", "keys", "head_dim"}, 2},
    {"o", true, "dtype", {"batch", "packed", "head_dim_v"}, 2},
    {"lse", true, "f32", {"batch", "packed", NULL}, 1},
};

/* The partial results of all splits to one: O = sum of O_s exp(LSE_s - LSE). The partial tensors are workspaces. */
static const struct ws_problem_tensor combine_tensors[] = {
    {"o", true, "dtype", {"batch", "kv_heads", "packed", "head_dim_v"}, 2},
    {"lse", true, "f32", {"batch", "kv_heads", "packed", NULL}, 1},
};
static const struct ws_problem_list combine_lists[] = {
    {"splits", "splits", NULL, NULL, false, true},
};

#define TABLES(T, L) T, COUNT(T), softmax_scalars, COUNT(softmax_scalars), L, COUNT(L)
static const struct ws_problem problems[] = {
    {"attention.forward", "queries", false, WS_PACKS_HEADS, TABLES(forward_tensors, forward_lists), forward_params, no_queries},
    {"attention.forward.fp8", "queries", false, WS_PACKS_NOTHING, TABLES(fp8_tensors, forward_lists), fp8_params, no_queries},
    {"attention.backward.pre", "queries", false, WS_PACKS_NOTHING, TABLES(backward_pre_tensors, forward_lists), attention_params, no_queries},
    {"attention.backward", "keys", false, WS_PACKS_NOTHING, TABLES(backward_tensors, backward_lists), attention_params, no_queries},
    {"attention.backward.post", "queries", false, WS_PACKS_NOTHING, TABLES(backward_post_tensors, forward_lists), attention_params, no_queries},
    {"attention.decode", "queries", true, WS_PACKS_DIM, TABLES(decode_tensors, decode_lists), decode_params, decode_queries},
    {"attention.decode.mla", "queries", true, WS_PACKS_DIM, TABLES(mla_tensors, decode_lists), attention_params, no_queries},
    {"attention.combine", "packed", false, WS_PACKS_NOTHING, TABLES(combine_tensors, combine_lists), attention_params, no_queries},
};
static const char *const names[] = {"attention.forward",       "attention.forward.fp8", "attention.backward.pre",
                                    "attention.backward",      "attention.backward.post", "attention.decode",
                                    "attention.decode.mla",    "attention.combine"};

const struct ws_problem *ws_problem_find(const char *name) {
  for (size_t i = 0; i < COUNT(problems); i++)
    if (!strcmp(problems[i].name, name)) return &problems[i];
  return NULL;
}

size_t ws_problem_names(const char *const **out) {
  *out = names;
  return COUNT(names);
}
