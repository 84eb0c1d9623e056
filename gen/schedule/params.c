/* Parameters of a spec and everything that is known at generation. */
#include "passes.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  enum ws_type type;
  unsigned bits;
} types[] = {{"f32", WS_F32, 32}, {"f16", WS_F16, 16}, {"bf16", WS_BF16, 16}, {"e4m3", WS_E4M3, 8}, {"e5m2", WS_E5M2, 8},
             {"i32", WS_I32, 32}};

unsigned ws_type_bits(enum ws_type t) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == t) return types[i].bits;
  return t == WS_BOOL ? 1 : 0;
}

const char *ws_type_name(enum ws_type t) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == t) return types[i].name;
  return t == WS_BOOL ? "bool" : "?";
}

static enum ws_type type_named(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(types[i].name, name)) return types[i].type;
  return WS_T_NONE;
}

static struct ws_static st_int(long v) { return (struct ws_static){.kind = WS_ST_INT, .i = v, .f = (double)v}; }
static struct ws_static st_bool(bool v) { return (struct ws_static){.kind = WS_ST_BOOL, .i = v, .f = v}; }
static struct ws_static st_float(double v) { return (struct ws_static){.kind = WS_ST_FLOAT, .f = v}; }

static const char *kind_name(enum ws_static_kind k) {
  static const char *const names[] = {"an integer", "a number", "a bool", "a type", "a name"};
  return names[k];
}

static bool evaluate_param(struct ws_schedule *s, struct ws_param_value *p, struct ws_pos use);

static bool from_name(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out,
                      bool *bad) {
  for (; env; env = env->outer)
    if (!strcmp(env->name, e->name)) return !env->runtime && (*out = st_int(env->value), true);
  for (size_t i = 0; i < s->nparams; i++)
    if (!strcmp(s->params[i].name, e->name)) {
      if (!evaluate_param(s, &s->params[i], e->pos)) return *bad = true, false;
      return *out = s->params[i].value, true;
    }
  if (!strcmp(e->name, "true") || !strcmp(e->name, "false")) return *out = st_bool(*e->name == 't'), true;
  enum ws_type t = type_named(e->name);
  if (t) return *out = (struct ws_static){.kind = WS_ST_TYPE, .type = t, .name = e->name}, true;
  return false;
}

static bool is_number(const struct ws_static *v) { return v->kind == WS_ST_INT || v->kind == WS_ST_FLOAT; }
static bool is_true(const struct ws_static *v) { return v->kind == WS_ST_FLOAT ? v->f != 0 : v->i != 0; }

static bool equal(const struct ws_static *a, const struct ws_static *b) {
  if (is_number(a) && is_number(b)) return a->f == b->f;
  if (a->kind != b->kind) return false;
  if (a->kind == WS_ST_TYPE) return a->type == b->type;
  if (a->kind == WS_ST_NAME) return !strcmp(a->name, b->name);
  return a->i == b->i;
}

static bool fail(struct ws_schedule *s, const struct ws_expr *e, bool *bad, const char *why) {
  ws_error(s->diags, e->pos, "static-value", "%s", why);
  *bad = true;
  return false;
}

static bool integer_op(struct ws_schedule *s, const struct ws_expr *e, long a, long b, struct ws_static *out, bool *bad) {
  long r = 0;
  bool over = false;
  switch (e->op) {
  case WS_OP_ADD: over = __builtin_add_overflow(a, b, &r); break;
  case WS_OP_SUB: over = __builtin_sub_overflow(a, b, &r); break;
  case WS_OP_MUL: over = __builtin_mul_overflow(a, b, &r); break;
  default:
    if (b == 0) return fail(s, e, bad, "division by zero");
    if (a == LONG_MIN && b == -1) return fail(s, e, bad, "integer overflow");
    if (e->op == WS_OP_DIV && a % b) return *out = st_float((double)a / (double)b), true;
    r = e->op == WS_OP_DIV ? a / b : a % b;
  }
  if (over) return fail(s, e, bad, "integer overflow");
  *out = st_int(r);
  return true;
}

static bool binary(struct ws_schedule *s, const struct ws_expr *e, const struct ws_static *a, const struct ws_static *b,
                   struct ws_static *out, bool *bad) {
  if (e->op == WS_OP_EQ) return *out = st_bool(equal(a, b)), true;
  if (e->op == WS_OP_NE) return *out = st_bool(!equal(a, b)), true;
  if (!is_number(a) || !is_number(b)) {
    const struct ws_expr *at = e->arg[is_number(a)];
    ws_error(s->diags, at->pos, "static-value", "expected a number here, found %s", kind_name((is_number(a) ? b : a)->kind));
    return *bad = true, false;
  }
  switch (e->op) {
  case WS_OP_LT: return *out = st_bool(a->f < b->f), true;
  case WS_OP_LE: return *out = st_bool(a->f <= b->f), true;
  case WS_OP_GT: return *out = st_bool(a->f > b->f), true;
  case WS_OP_GE: return *out = st_bool(a->f >= b->f), true;
  default: break;
  }
  if (a->kind == WS_ST_INT && b->kind == WS_ST_INT) return integer_op(s, e, a->i, b->i, out, bad);
  if (e->op == WS_OP_MOD) return fail(s, e, bad, "`%` takes integers");
  if (e->op == WS_OP_DIV && b->f == 0) return fail(s, e, bad, "division by zero");
  double r = e->op == WS_OP_ADD ? a->f + b->f : e->op == WS_OP_SUB ? a->f - b->f : e->op == WS_OP_MUL ? a->f * b->f : a->f / b->f;
  *out = st_float(r);
  return true;
}

static bool extreme(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out, bool *bad) {
  bool max = !strcmp(e->name, "max");
  if ((!max && strcmp(e->name, "min")) || !e->n) return false;
  for (size_t i = 0; i < e->n; i++) {
    struct ws_static v;
    if (!ws_static_try(s, env, e->arg[i], &v, bad)) return false;
    if (!is_number(&v)) return fail(s, e->arg[i], bad, "expected a number here");
    if (!i || (max ? v.f > out->f : v.f < out->f)) *out = v;
  }
  return true;
}

/* A condition is a bool or a number; a type or a name says nothing. */
static bool condition(struct ws_schedule *s, const struct ws_expr *e, const struct ws_static *v, bool *bad) {
  if (v->kind != WS_ST_TYPE && v->kind != WS_ST_NAME) return true;
  return fail(s, e, bad, v->kind == WS_ST_TYPE ? "a type is no condition: compare it, as in `dtype == f16`" : "a name is no condition: compare it with `==`");
}

bool ws_static_try(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out, bool *bad) {
  struct ws_static a, b;
  switch (e->kind) {
  case WS_E_NUMBER: return *out = e->is_int ? st_int((long)e->number) : st_float(e->number), true;
  case WS_E_NAME: return from_name(s, env, e, out, bad);
  case WS_E_CALL: return extreme(s, env, e, out, bad);
  case WS_E_UNARY:
    if (!ws_static_try(s, env, e->arg[0], &a, bad)) return false;
    if (e->op == WS_OP_NOT) return condition(s, e->arg[0], &a, bad) && (*out = st_bool(!is_true(&a)), true);
    if (!is_number(&a)) return fail(s, e, bad, "`-` takes a number");
    return *out = a.kind == WS_ST_INT ? st_int(-a.i) : st_float(-a.f), true;
  case WS_E_SELECT:
    if (!ws_static_try(s, env, e->arg[0], &a, bad) || !condition(s, e->arg[0], &a, bad)) return false;
    return ws_static_try(s, env, e->arg[is_true(&a) ? 1 : 2], out, bad);
  case WS_E_BINARY:
    if (!ws_static_try(s, env, e->arg[0], &a, bad)) return false;
    bool logic = e->op == WS_OP_AND || e->op == WS_OP_OR;
    if (logic && !condition(s, e->arg[0], &a, bad)) return false;
    if (e->op == WS_OP_AND && !is_true(&a)) return *out = st_bool(false), true;
    if (e->op == WS_OP_OR && is_true(&a)) return *out = st_bool(true), true;
    if (!ws_static_try(s, env, e->arg[1], &b, bad)) return false;
    if (logic) return condition(s, e->arg[1], &b, bad) && (*out = st_bool(is_true(&b)), true);
    return binary(s, e, &a, &b, out, bad);
  default: return false;
  }
}

bool ws_static_need(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, struct ws_static *out,
                    const char *what) {
  bool bad = false;
  if (ws_static_try(s, env, e, out, &bad)) return true;
  if (!bad) {
    bool own = false; /* the index of an instance is known to the instance only */
    for (const struct ws_env *v = env; v && !own; v = v->outer) own = e->kind == WS_E_NAME && v->runtime && !strcmp(v->name, e->name);
    if (e->kind == WS_E_NAME && !own) {
      const char **known = WS_NEW_N(s->arena, const char *, s->nparams + 1);
      for (size_t i = 0; i < s->nparams; i++) known[i] = s->params[i].name;
      ws_unknown(s, e->pos, "parameter", e->name, known, s->nparams);
    } else
      ws_error(s->diags, e->pos, "not-static", "%s must be known at generation: use numbers and parameters", what);
  }
  return false;
}

bool ws_static_int(struct ws_schedule *s, const struct ws_env *env, const struct ws_expr *e, long lo, long hi, const char *what,
                   long *out) {
  struct ws_static v;
  if (!ws_static_need(s, env, e, &v, what)) return false;
  if (v.kind != WS_ST_INT) {
    ws_error(s->diags, e->pos, "static-value", "%s must be an integer, found %s", what,
             v.kind == WS_ST_FLOAT ? ws_fmt(s->arena, "%g", v.f) : kind_name(v.kind));
    return false;
  }
  if (v.i < lo || v.i > hi) {
    if (hi == LONG_MAX)
      ws_error(s->diags, e->pos, "range", "%s must be at least %ld, found %ld", what, lo, v.i);
    else
      ws_error(s->diags, e->pos, "range", "%s must be from %ld to %ld, found %ld", what, lo, hi, v.i);
    return false;
  }
  *out = v.i;
  return true;
}

const char *ws_static_word(struct ws_schedule *s, const struct ws_expr *e, const char *what, const char *const *words, size_t n) {
  const char *word = e->kind == WS_E_NAME ? e->name : NULL;
  const struct ws_static *p = word ? ws_schedule_param(s, word) : NULL;
  if (p && p->kind == WS_ST_NAME) word = p->name;
  for (size_t i = 0; word && i < n; i++)
    if (!strcmp(word, words[i])) return words[i];
  struct ws_buf text = {.arena = s->arena};
  ws_expr_print(e, &text);
  ws_unknown(s, e->pos, what, word ? word : text.s, words, n);
  return NULL;
}

bool ws_static_flag(struct ws_schedule *s, const struct ws_expr *e, const char *what) {
  struct ws_static v;
  if (!e || !ws_static_need(s, NULL, e, &v, what)) return false;
  if (v.kind != WS_ST_BOOL) ws_error(s->diags, e->pos, "static-value", "%s is true or false, found %s", what, kind_name(v.kind));
  return v.kind == WS_ST_BOOL && v.i;
}

/* --- parameters --- */

/* A choice or default of a parameter of type `name` is the name itself; of type `type`, a type. */
static bool literal(struct ws_schedule *s, const struct ws_param *d, const struct ws_expr *e, struct ws_static *out) {
  if (d->type && !strcmp(d->type, "name")) {
    if (e->kind != WS_E_NAME) {
      ws_error(s->diags, e->pos, "param-type", "parameter `%s` is a name", d->name);
      return false;
    }
    *out = (struct ws_static){.kind = WS_ST_NAME, .name = e->name};
    return true;
  }
  bool bad = false;
  if (e->kind == WS_E_NAME && d->type && !ws_static_try(s, NULL, e, out, &bad)) {
    const char *wanted = !strcmp(d->type, "bool") ? "true or false" : !strcmp(d->type, "type") ? "f32, f16, bf16, e4m3, e5m2 or i32" : "a number or a parameter";
    if (!bad) ws_error(s->diags, e->pos, "param-type", "the value of `%s` is %s, found `%s`", d->name, wanted, e->name);
    return false;
  }
  return ws_static_need(s, NULL, e, out, ws_fmt(s->arena, "the value of `%s`", d->name));
}

static bool fits(const struct ws_param *d, struct ws_static *v) {
  if (!d->type || !strcmp(d->type, "name")) return true;
  if (!strcmp(d->type, "int")) return v->kind == WS_ST_INT;
  if (!strcmp(d->type, "bool")) return v->kind == WS_ST_BOOL;
  if (!strcmp(d->type, "type")) return v->kind == WS_ST_TYPE;
  if (!is_number(v)) return false;
  v->kind = WS_ST_FLOAT;
  return true;
}

static bool allowed(struct ws_schedule *s, struct ws_param_value *p, struct ws_pos pos) {
  struct ws_buf list = {.arena = s->arena};
  for (size_t i = 0; i < p->decl->nchoices; i++) {
    struct ws_static c;
    if (!literal(s, p->decl, p->decl->choices[i], &c)) return false;
    if (equal(&c, &p->value)) return true;
    if (i) ws_buf_puts(&list, ", ");
    ws_expr_print(p->decl->choices[i], &list);
  }
  if (!p->decl->nchoices) return true;
  struct ws_buf value = {.arena = s->arena};
  if (!p->override) ws_expr_print(p->decl->value, &value);
  ws_error(s->diags, pos, "param-choice", "%s`%s` is not one of the choices of parameter `%s`: %s", p->override ? "" : "the default ",
           p->override ? p->override : value.s, p->name, list.s);
  return false;
}

static bool take_value(struct ws_schedule *s, struct ws_param_value *p, const struct ws_expr *e) {
  if (!literal(s, p->decl, e, &p->value)) return false;
  if (fits(p->decl, &p->value)) return allowed(s, p, e->pos);
  ws_error(s->diags, e->pos, "param-type", "parameter `%s` is %s, found %s", p->name, p->decl->type, kind_name(p->value.kind));
  return false;
}

/* Parameters that a value refers to are evaluated first, so that what is wrong with them is said of them. */
static bool evaluate_names(struct ws_schedule *s, const struct ws_expr *e) {
  bool good = true;
  for (size_t i = 0; e->kind == WS_E_NAME && i < s->nparams; i++)
    if (!strcmp(s->params[i].name, e->name)) good = evaluate_param(s, &s->params[i], s->params[i].pos);
  for (size_t i = 0; i < e->n; i++) good &= evaluate_names(s, e->arg[i]);
  return good;
}

/* The value of -D NAME=VALUE. What is wrong with it is said of the option: the spec shows where the parameter is declared. */
static bool take_override(struct ws_schedule *s, struct ws_param_value *p) {
  struct ws_diags *said = s->diags, quiet = {.arena = s->arena, .source = s->diags->source};
  const struct ws_expr *e = ws_spec_parse_expr(p->override, s->arena, &quiet);
  const char *why = quiet.errors || !e ? "not a value" : NULL;
  if (!why && (!p->decl->type || strcmp(p->decl->type, "name")) && !evaluate_names(s, e)) return false;
  if (!why) {
    s->diags = &quiet;
    bool good = take_value(s, p, e);
    s->diags = said;
    if (good) return true;
    why = quiet.n ? quiet.list[0].message : "not a value";
  }
  ws_error(s->diags, (struct ws_pos){0, 0, 0}, "define", "-D %s=%s: %s", p->name, p->override, why);
  ws_note(s->diags, p->pos, "`%s` is declared here", p->name);
  return false;
}

static bool evaluate_param(struct ws_schedule *s, struct ws_param_value *p, struct ws_pos use) {
  if (p->state == 2) return p->value.kind != WS_ST_NAME || p->value.name;
  if (p->state == 1) {
    ws_error(s->diags, use, "param-cycle", "parameter `%s` depends on itself", p->name);
    return false;
  }
  p->state = 1;
  const struct ws_expr *e = p->decl->value;
  if (!p->override && !e) ws_error(s->diags, p->pos, "param-value", "parameter `%s` has neither a default nor a value from -D", p->name);
  bool ok = p->override ? take_override(s, p) : e && take_value(s, p, e);
  p->state = 2;
  if (!ok) p->value = (struct ws_static){.kind = WS_ST_NAME}; /* reported; later uses stay quiet */
  return ok;
}

/* -D watchdog=SECONDS, which every spec with mbarriers takes without declaring it (build.c looks whether there are any). */
static void watchdog(struct ws_schedule *s, const char *text) {
  const struct ws_pos nowhere = {0, 0, 0};
  char *end;
  double v = strtod(text, &end);
  if (!*text || *end || !(v > 0 && v <= 3600)) {
    ws_error(s->diags, nowhere, "define", "-D watchdog=%s: expected the seconds that a wait may last, more than 0 and at most 3600", text);
    return;
  }
  for (size_t i = 0; i < s->doc->ntensors; i++)
    if (!strcmp(s->doc->tensors[i].name, "watchdog")) ws_error(s->diags, s->doc->tensors[i].pos, "doubled-name", "`watchdog` is the tensor that -D watchdog=%s reports in", text);
  s->watchdog = v;
}

static void unknown(struct ws_schedule *s, struct ws_pos pos, const char *code, const char *what, const char *name, const char *const *known,
                    size_t n) {
  const char *near = ws_nearest(name, known, n);
  struct ws_buf list = {.arena = s->arena};
  for (size_t i = 0; i < n && i < 16; i++) ws_buf_printf(&list, "%s%s", i ? ", " : "", known[i]);
  if (n > 16) ws_buf_printf(&list, " and %zu more", n - 16);
  if (near)
    ws_error(s->diags, pos, code, "unknown %s `%s`; did you mean `%s`?", what, name, near);
  else if (n)
    ws_error(s->diags, pos, code, "unknown %s `%s`; there is %s", what, name, list.s);
  else
    ws_error(s->diags, pos, code, "unknown %s `%s`; there is none", what, name);
}

void ws_pass_params(struct ws_schedule *s, const struct ws_define *defines, size_t ndefines) {
  const struct ws_document *doc = s->doc;
  s->nparams = doc->nparams;
  s->params = WS_NEW_N(s->arena, struct ws_param_value, doc->nparams);
  const char **names = WS_NEW_N(s->arena, const char *, doc->nparams + 1);
  for (size_t i = 0; i < doc->nparams; i++) {
    names[i] = doc->params[i].name;
    s->params[i] = (struct ws_param_value){.name = names[i], .pos = doc->params[i].pos, .decl = &doc->params[i]};
  }
  for (size_t k = 0; k < ndefines; k++) {
    bool found = false;
    for (size_t i = 0; i < s->nparams; i++)
      if (!strcmp(names[i], defines[k].name)) s->params[i].override = defines[k].value, found = true;
    if (!found && !strcmp(defines[k].name, "watchdog"))
      watchdog(s, defines[k].value);
    else if (!found)
      unknown(s, (struct ws_pos){0, 0, 0}, "define", "parameter in -D", defines[k].name, names, s->nparams);
  }
  for (size_t i = 0; i < s->nparams; i++) evaluate_param(s, &s->params[i], s->params[i].pos);
}

const struct ws_static *ws_schedule_param(const struct ws_schedule *s, const char *name) {
  for (size_t i = 0; i < s->nparams; i++)
    if (!strcmp(s->params[i].name, name)) return &s->params[i].value;
  return NULL;
}

void ws_unknown(struct ws_schedule *s, struct ws_pos pos, const char *what, const char *name, const char *const *known,
                size_t n) {
  unknown(s, pos, "unknown-name", what, name, known, n);
}
