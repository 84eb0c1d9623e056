/* Private to gen/schedule: the passes and what they share. */
#ifndef WS_PASSES_H
#define WS_PASSES_H
#include "schedule.h"

/* Names known at generation beside the parameters: the variables of `each` and, with code of their own, the index of an
 * instance. Innermost first. A name with `runtime` is known to each instance, but not at generation. */
struct ws_env {
  const char *name;
  long value;
  const struct ws_env *outer;
  bool runtime;
};

/* params.c. Evaluates an expression at generation. Returns false when it is not static; an error is reported for a static
 * expression that is wrong (types, division by zero), then *bad is set and false returned. */
bool ws_static_try(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out, bool *bad);
/* The same where only a static value will do; the error names what is wanted. */
bool ws_static_need(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out,
                    const char *what);
bool ws_static_int(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, long lo, long hi, const char *what,
                   long *out);
/* One of n words, or a parameter of type name that holds one. NULL after an error. */
const char *ws_static_word(struct ws_schedule *s, const struct ws_expr *e, const char *what, const char *const *words, size_t n);
bool ws_static_flag(struct ws_schedule *s, const struct ws_expr *e, const char *what); /* true or false; false if not given */
void ws_pass_params(struct ws_schedule *s, const struct ws_define *defines, size_t ndefines);

/* Declarations; each after those above it. */
void ws_declare_work(struct ws_schedule *s);      /* work.c */
void ws_declare_tensors(struct ws_schedule *s);   /* tensors.c */
void ws_declare_roles(struct ws_schedule *s);     /* roles.c */
void ws_declare_buffers(struct ws_schedule *s);   /* buffers.c */
void ws_place_tmem(struct ws_schedule *s);        /* tmem.c */
void ws_declare_rings(struct ws_schedule *s);     /* rings.c */

void ws_pass_resolve(struct ws_schedule *s);      /* resolve.c, statements.c, sync.c, memory.c, lists.c, expressions.c */
void ws_pass_defined(struct ws_schedule *s);      /* defined.c */
void ws_pass_types(struct ws_schedule *s);        /* types.c, product.c */
void ws_pass_counts(struct ws_schedule *s);       /* counts.c */
void ws_pass_bytes(struct ws_schedule *s);        /* bytes.c */
void ws_pass_zero(struct ws_schedule *s);         /* zero.c */
void ws_pass_groups(struct ws_schedule *s);       /* groups.c */
void ws_pass_async(struct ws_schedule *s);        /* async.c */
void ws_pass_budget(struct ws_schedule *s);       /* budget.c */
void ws_pass_range(struct ws_schedule *s);        /* range.c */

/* "unknown NAME; did you mean NEAR?" with the list of what there is. */
void ws_unknown(struct ws_schedule *s, struct ws_pos pos, const char *what, const char *name, const char *const *known,
                size_t n);
/* NAME or NAME[n]: how many. */
/* The n of `name[n]`; least: 0 where an array may have no element, so that a parameter can leave it out. */
void ws_declared_count(struct ws_schedule *s, const struct ws_name *n, long least, bool *is_array, int *count);

struct ws_bufferm *ws_find_buffer(struct ws_schedule *s, const char *name);
struct ws_tensor *ws_find_tensor(struct ws_schedule *s, const char *name);
struct ws_rolem *ws_find_role(struct ws_schedule *s, const char *name);
void ws_unknown_buffer(struct ws_schedule *s, struct ws_pos pos, const char *name);

/* resolve: what the statement walk hands to the expression resolver. */
struct ws_scope {
  struct ws_schedule *s;
  struct ws_programm *p;
  const struct ws_env *env;
  bool single;                 /* one thread executes */
  const struct ws_stmt *vote;  /* the `if` whose vote encloses this; NULL = none */
  int loops;                   /* run-time loops around this */
  struct ws_act expect;        /* the last `arrive b expect`: loads into buffers without a ring complete b */
  size_t acts;                 /* of this program so far */
};
struct ws_node *ws_node(struct ws_scope *sc, enum ws_node_kind kind, struct ws_pos pos, int n);
struct ws_node *ws_node_int(struct ws_scope *sc, struct ws_pos pos, long value);
struct ws_node *ws_node_op(struct ws_scope *sc, enum ws_fn fn, struct ws_node *a, struct ws_node *b);
struct ws_node *ws_resolve_expr(struct ws_scope *sc, const struct ws_expr *e);      /* NULL after an error */
struct ws_mem *ws_resolve_mem(struct ws_scope *sc, const struct ws_expr *e);        /* NULL after an error */
bool ws_names_memory(struct ws_scope *sc, const struct ws_expr *e);                 /* would ws_resolve_mem take it? */
struct ws_iter *ws_resolve_list(struct ws_scope *sc, const struct ws_expr *e, const char *var, struct ws_pos pos);
struct ws_node *ws_list_value(struct ws_scope *sc, const struct ws_expr *list, enum ws_node_kind kind, const struct ws_expr *e);
bool ws_is_list(struct ws_scope *sc, const struct ws_expr *e);
/* An index from lo to hi that is known at generation (*at = NULL), or by instance and rank (*at; *value of the first). */
bool ws_resolve_index(struct ws_scope *sc, const struct ws_expr *e, long lo, long hi, const char *what, long *value, struct ws_node **at);
bool ws_resolve_part(struct ws_scope *sc, const struct ws_expr *e, struct ws_part *out); /* of a register tile */
struct ws_var *ws_find_var(struct ws_scope *sc, const char *name);
struct ws_iter *ws_find_iter(struct ws_scope *sc, const char *name);
struct ws_handle *ws_find_handle(struct ws_scope *sc, const char *name);
bool ws_name_taken(struct ws_scope *sc, const char *name, const char **as);         /* by something that is no register tile */
struct ws_var *ws_target_var(struct ws_scope *sc, const struct ws_expr *e, const struct ws_expr *where);

/* Analyses walk loops more than once: what they cost is bounded by these, far beyond any kernel. */
enum { WS_MAX_LOOPS = 6, WS_MAX_ACTS = 20000, WS_MAX_STEPS = 1000000 };

struct ws_act *ws_act_push(struct ws_scope *sc, struct ws_acts *out, const struct ws_stmt *st);
bool ws_resolve_options(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a); /* options.c */
void ws_resolve_move(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out);    /* statements.c: load store reduce write copy */
void ws_resolve_compute(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out); /* statements.c: product, assignments */
void ws_resolve_sync(struct ws_scope *sc, const struct ws_stmt *st, struct ws_acts *out);    /* sync.c: all that waits or arrives */

void ws_find_integers(struct ws_schedule *s, struct ws_programm *p); /* integers.c: names that count are i32 */

/* product.c: shapes and operand rules of a product, by mechanism. */
struct ws_product_shape {
  int m, n, k, kb;
  enum ws_type a, b;
};
struct ws_product_shape ws_product_shape(const struct ws_schedule *s, const struct ws_act *a);
void ws_check_product(struct ws_schedule *s, const struct ws_programm *p, const struct ws_act *a);
#endif
