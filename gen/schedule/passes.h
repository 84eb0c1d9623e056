/* Private to gen/schedule: the passes and what they share. */
#ifndef WS_PASSES_H
#define WS_PASSES_H
#include "schedule.h"

/* Names known at generation beside the parameters: the variables of `each`. Innermost first. */
struct ws_env {
  const char *name;
  long value;
  const struct ws_env *outer;
};

/* params.c. Evaluates an expression at generation. Returns false when it is not static; an error is reported for a static
 * expression that is wrong (types, division by zero), then *bad is set and false returned. */
bool ws_static_try(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out, bool *bad);
/* The same where only a static value will do; the error names what is wanted. */
bool ws_static_need(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out,
                    const char *what);
bool ws_static_int(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, long lo, long hi, const char *what,
                   long *out);
void ws_pass_params(struct ws_schedule *s, const struct ws_define *defines, size_t ndefines);

void ws_pass_declare(struct ws_schedule *s);  /* declare.c */
void ws_pass_resolve(struct ws_schedule *s);  /* resolve.c, resolve_expr.c */
void ws_pass_types(struct ws_schedule *s);    /* types.c */
void ws_pass_groups(struct ws_schedule *s);   /* groups.c */
void ws_pass_budget(struct ws_schedule *s);   /* budget.c */

/* "unknown NAME; did you mean NEAR?" with the list of what there is. */
void ws_unknown(struct ws_schedule *s, struct ws_pos pos, const char *what, const char *name, const char *const *known,
                size_t n);

/* resolve: what the statement walk hands to the expression resolver. */
struct ws_scope {
  struct ws_schedule *s;
  struct ws_programm *p;
  const struct ws_env *env;
};
struct ws_node *ws_resolve_expr(struct ws_scope *sc, const struct ws_expr *e);      /* NULL after an error */
struct ws_mem *ws_resolve_mem(struct ws_scope *sc, const struct ws_expr *e);        /* NULL after an error */
bool ws_names_memory(struct ws_scope *sc, const struct ws_expr *e);                 /* would ws_resolve_mem take it? */
struct ws_iter *ws_resolve_list(struct ws_scope *sc, const struct ws_expr *e, const char *var, struct ws_pos pos);
struct ws_var *ws_find_var(struct ws_scope *sc, const char *name);
struct ws_iter *ws_find_iter(struct ws_scope *sc, const char *name);
struct ws_handle *ws_find_handle(struct ws_scope *sc, const char *name);

#endif
