/* The kernel's parameters and the manifest that tells the loader about them (runtime/README.md). */
#ifndef WS_MANIFEST_H
#define WS_MANIFEST_H
#include "lower.h"

enum ws_param_type { WS_PARAM_U64, WS_PARAM_U32, WS_PARAM_F32, WS_PARAM_MAP };
struct ws_kernel_param {
  enum ws_param_type type;
  const char *name;     /* in the PTX */
  const char *source;   /* in the manifest: what the loader puts there */
  const struct tma_map *map;
};
struct ws_params {
  struct ws_kernel_param *param;
  size_t n, cap;
};

/* Data and strides of every tensor, the run-time extents, the scalars that the code reads. */
struct ws_params ws_kernel_params(const struct ws_schedule *s, const bool *scalar_used, struct tma_map *const *maps, size_t nmaps);
/* An expression with the spec's parameters put in; positions stay. */
struct ws_expr *ws_with_params(const struct ws_schedule *s, const struct ws_expr *e);
const char *ws_manifest_text(const struct ws_schedule *s, const struct ws_params *params);
#endif
