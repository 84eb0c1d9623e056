/* gen/problem: what a problem brings to a schedule: its tensors, scalars, lists and masks, as one table.
 *
 * Everything else in gen/ is free of attention: a tensor is a name with dims, a list walks blocks of a dim, a mask compares
 * positions. May include gen/base only. The CPU reference of each problem stands in reference.c. */
#ifndef WS_PROBLEM_H
#define WS_PROBLEM_H
#include <stdbool.h>
#include <stddef.h>

/* A dim of a tensor: a run-time extent by name, or a parameter of the spec that fixes it at generation. */
struct ws_problem_tensor {
  const char *name;
  bool out;
  const char *type;     /* "f32" or the parameter that holds the type */
  const char *dims[4];  /* batch, heads, rows, columns; the column dim may be a parameter; NULL ends the list */
};

/* A launch argument that the kernel sees as a uniform value. value = argument * factor. */
struct ws_problem_scalar {
  const char *name;     /* as a spec writes it */
  const char *arg;      /* the launch argument, NULL for a constant */
  double factor;        /* or the constant's value */
};

/* A list of blocks along a run-time dim, as in `for j in kv(t)`. */
struct ws_problem_list {
  const char *name;     /* kv */
  const char *dim;      /* keys: also the key in work.blocks that gives the step */
  const char *seen_from;/* queries: the dim of the work tile from which blocks are visible */
};

struct ws_problem {
  const char *name;
  const char *work_dim; /* the dim that a work tile cuts: queries */
  const struct ws_problem_tensor *tensors;
  size_t ntensors;
  const struct ws_problem_scalar *scalars;
  size_t nscalars;
  const struct ws_problem_list *lists;
  size_t nlists;
  const char *const *params; /* parameters of the spec that the problem reads, NULL-terminated; `causal` among them */
};

const struct ws_problem *ws_problem_find(const char *name); /* NULL if there is none */
size_t ws_problem_names(const char *const **names);         /* for messages */
#endif
