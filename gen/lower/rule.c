/* The `reference:` of a spec, checked where it stands: names, functions, indices. `run` evaluates it later from the manifest. */
#include "lower.h"
#include "manifest.h"
#include "problem/formula.h"
#include <string.h>

static void check(struct ws_schedule *s, const struct ws_expr *e, const struct ws_formula_tensor *tensors, size_t n) {
  if (e) ws_formula_compile(ws_with_params(s, e), tensors, n, s->arena, s->diags);
}

bool ws_lower_rule(struct ws_schedule *s) {
  const struct ws_rule_decl *r = &s->doc->reference;
  size_t before = s->diags->errors, n = 0;
  struct ws_formula_tensor *tensors = WS_NEW_N(s->arena, struct ws_formula_tensor, s->ntensors);
  for (int i = 0; i < s->ntensors; i++) {
    const struct ws_tensor *t = &s->tensors[i];
    if (t->out || t->workspace || t->ndims > 4) continue; /* what a kernel writes is no part of its reference */
    tensors[n] = (struct ws_formula_tensor){.name = t->name, .rank = t->ndims};
    for (int k = 0; k < t->ndims; k++) tensors[n].dim[k] = t->dim[k];
    n++;
  }
  check(s, r->score, tensors, n);
  check(s, r->visible, tensors, n);
  check(s, r->sink, tensors, n);
  return s->diags->errors == before;
}

struct writes {
  const struct ws_tensor *tensor;
  bool found;
};

static void write_of(void *ctx, struct ws_act *a) {
  struct writes *w = ctx;
  const struct ws_mem *m = a->kind == WS_S_ARRIVE ? a->from : a->to; /* an arrival counts up in memory */
  w->found |= m && m->tensor == w->tensor;
}

static bool written(const struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->ntensors; i++) {
    struct writes w = {.tensor = &s->tensors[i]};
    if (strcmp(w.tensor->name, name)) continue;
    for (int k = 0; k < s->nprograms; k++) ws_each_act(s->programs[k].body, write_of, &w);
    if (w.found) return true;
  }
  return false;
}

static const char *shape(struct ws_schedule *s, const struct ws_tensor *t) {
  const char *dims = "";
  for (int k = 0; k < t->ndims; k++)
    dims = t->dim[k] ? ws_fmt(s->arena, "%s%s%s", dims, k ? ", " : "", t->dim[k]) : ws_fmt(s->arena, "%s%s%ld", dims, k ? ", " : "", t->fixed[k]);
  return ws_fmt(s->arena, "%s [%s]", ws_type_name(t->type), dims);
}

static const struct ws_tensor *named(const struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->ntensors; i++)
    if (!strcmp(s->tensors[i].name, name)) return &s->tensors[i];
  return NULL;
}

/* Kernels of a file share tensors by name: what one lays out by tiles or padding of its own, the next one would read elsewhere. */
static bool same_shapes(struct ws_schedule *const *s, size_t n) {
  bool good = true;
  for (size_t k = 1; k < n; k++)
    for (int i = 0; i < s[k]->ntensors; i++) {
      const struct ws_tensor *t = &s[k]->tensors[i], *first = NULL;
      size_t q = 0;
      for (; q < k && !first; q++) first = named(s[q], t->name);
      if (!t->pos.line || !first || !strcmp(shape(s[k], t), shape(s[k], first))) continue;
      ws_error(s[k]->diags, t->pos, "workspace", "`%s` is %s here and %s in `%s`: tensors of equal name are the same memory", t->name, shape(s[k], t), shape(s[k], first), s[q - 1]->name);
      ws_note(s[k]->diags, first->pos, "there");
      good = false;
    }
  return good;
}

/* A workspace that no kernel of the file writes is an input whose declaration forgot to say so. Said once. */
bool ws_lower_workspaces(struct ws_schedule *const *s, size_t n) {
  bool good = same_shapes(s, n);
  for (size_t k = 0; k < n; k++)
    for (int i = 0; i < s[k]->ntensors; i++) {
      const struct ws_tensor *t = &s[k]->tensors[i];
      bool found = !t->workspace || !t->used;
      for (size_t q = 0; q < n && !found; q++) found = written(s[q], t->name);
      if (found) continue;
      ws_error(s[k]->diags, t->pos, "workspace", "nothing writes the workspace `%s`: `input: true` makes it a tensor that the caller fills", t->name);
      good = false;
    }
  return good;
}
