/* gen/problem: what a problem brings to a schedule: its tensors, scalars, lists and masks, as one table.
 *
 * Everything else in gen/ is free of attention: a tensor is a name with dims, a list walks blocks of a dim, a mask compares
 * positions. May include gen/base only. The CPU reference of each problem stands in reference.c. */
#ifndef WS_PROBLEM_H
#define WS_PROBLEM_H
#include <stdbool.h>
#include <stddef.h>

enum { WS_PROBLEM_DIMS = 6 };

/* A dim of a tensor: a run-time extent by name, or a parameter of the spec that fixes it at generation. */
struct ws_problem_tensor {
  const char *name;
  bool out;
  const char *type;     /* "f32", "i32", or the parameter that holds the type */
  const char *dims[WS_PROBLEM_DIMS]; /* outer dims, rows, columns; the column dim may be a parameter; NULL ends the list */
  int tile_dims;        /* how many of the last ones are the rows and columns of a tile: 2, 1 (one column) or 0 (one value) */
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
  const char *seen_from;/* queries: the dim of the work tile, or of the block `given`, from which blocks are visible; NULL = all */
  const char *given;    /* the list takes a second argument, a block of this dim: queries(t, j); NULL = it takes t alone */
  bool unseen;          /* the blocks that no block of the other dim touches */
  bool single;          /* a block is one element, work.blocks does not cut the dim */
};

/* May work.tile say `pack: gqa`, so that a tile's rows are the queries of all heads of one kv_head? */
enum ws_packs {
  WS_PACKS_NOTHING,
  WS_PACKS_DIM,         /* tensors have a dim `packed`, whose order is the caller's */
  WS_PACKS_HEADS        /* tensors have heads and queries: row r is query r / group of the head r % group, `group` a parameter */
};

struct ws_problem {
  const char *name;
  const char *work_dim; /* the dim that a work tile cuts: queries */
  bool splits;          /* a work tile is also one split of the keys: work.tile may say `splits` */
  enum ws_packs packs;
  const struct ws_problem_tensor *tensors;
  size_t ntensors;
  const struct ws_problem_scalar *scalars;
  size_t nscalars;
  const struct ws_problem_list *lists;
  size_t nlists;
  const char *const *params; /* parameters of the spec that the problem reads, NULL-terminated; `causal` among them */
  const char *const *queries;/* functions of the work tile with an index value, such as last_page; NULL-terminated */
};

const struct ws_problem *ws_problem_find(const char *name); /* NULL if there is none */
size_t ws_problem_names(const char *const **names);         /* for messages */
#endif
