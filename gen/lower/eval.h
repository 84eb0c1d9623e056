/* Private to gen/lower: how an expression is evaluated element by element (expr.c) and what is computed as a whole before
 * that (rows.c: reductions, votes, masks, positions; read.c: memory). */
#ifndef WS_EVAL_H
#define WS_EVAL_H
#include "lower.h"

enum { MAX_KNOWN = 64, MAX_BOTH = 8 };
struct known {          /* a part whose elements are known */
  const struct ws_node *node;
  struct tile tile;
};
struct both {           /* a value in both halves of a pair */
  const char *value, *pair;
};
struct eval {
  struct lower *l;
  struct extent ext;    /* of the whole expression */
  struct known known[MAX_KNOWN];
  int nknown;
  struct both both[MAX_BOTH];
  int nboth;
};

extern const char *const ws_compare_ops[];
bool ws_same_node(const struct ws_node *a, const struct ws_node *b);
struct ws_node *ws_rewritten(struct lower *l, struct ws_node *x);
void ws_eval_prepare(struct eval *ev, const struct ws_node *x, bool top);
const char *ws_eval_element(struct eval *ev, const struct ws_node *x, int e, enum ws_type t, const char *into);
const char *ws_eval_simple(enum ws_fn f); /* the template of an operation on one element */
bool ws_eval_known(const struct eval *ev, const struct ws_node *x);
void ws_eval_exp2(struct eval *ev, int e, const char *d, const char *x);
const char *ws_eval_predicate(struct eval *ev, const struct ws_node *x, int e);

/* part.c */
struct ws_node *ws_part_pushed(struct lower *l, struct ws_node *x);
bool ws_part_reads_others(const struct ws_node *x, const struct ws_var *v, const struct ws_part *dst);

/* rows.c */
struct tile ws_lower_column_reduce(struct lower *l, const struct ws_node *x);
struct tile ws_lower_reduce(struct lower *l, const struct ws_node *x);
struct tile ws_lower_mask(struct lower *l, const struct ws_node *x, const struct tile *into);
bool ws_mask_is_nothing(const struct lower *l, const struct ws_node *x);
struct tile ws_lower_positions(struct lower *l, const struct ws_node *x, const struct tile *into);
/* rising.c */
bool ws_lower_rising(struct lower *l, struct ws_node *x, const struct tile *into); /* false: x is not one, and nothing was done */
/* half.c */
struct tile ws_lower_half(struct lower *l, struct ws_node *x, const struct tile *into);
struct tile ws_lower_half_reduce(struct lower *l, const struct tile *in, bool max);
/* pairs.c */
bool ws_packs_f32(const struct lower *l);
bool ws_pairs_help(const struct eval *ev, const struct ws_node *x);
void ws_eval_pair(struct eval *ev, const struct ws_node *x, int e, const char *const *into, const char **out);
const char *ws_lower_pair_sum(struct lower *l, const struct tile *in); /* of a multiple of 4 columns */
/* read.c */
struct tile ws_lower_read(struct lower *l, const struct ws_node *x, const struct tile *into);
#endif
