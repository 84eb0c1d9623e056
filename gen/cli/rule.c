/* The spec's own mathematics, as the manifest holds it: `set: reference_score ...` and its kin (gen/lower/manifest.c). */
#include "cli.h"
#include "problem/formula.h"
#include <string.h>

static struct ws_formula_tensor view(const struct ws_cli_tensor *t) {
  struct ws_formula_tensor f = {.name = t->info->name, .data = t->before + WS_CLI_GUARD, .type = t->type, .rank = t->info->rank};
  for (int d = 0; d < f.rank; d++) f.dim[d] = t->info->dims[d].name, f.shape[d] = t->shape[d], f.stride[d] = t->stride[d] * (int64_t)ws_ref_size(t->type);
  return f;
}

static bool formula(struct ws_cli_problem *p, const char *key, const struct ws_formula_tensor *tensors, size_t n, const struct ws_formula **out) {
  const char *text = ws_manifest_setting(p->manifest, ws_fmt(&p->arena, "reference_%s", key));
  if (!text) return true;
  struct ws_source source = {.path = ws_fmt(&p->arena, "reference_%s", key), .text = text, .len = strlen(text)};
  struct ws_diags d = {.arena = &p->arena, .source = &source};
  const struct ws_expr *e = ws_spec_parse_expr(text, &p->arena, &d);
  *out = e && !d.errors ? ws_formula_compile(e, tensors, n, &p->arena, &d) : NULL;
  if (*out) return true;
  struct ws_buf words = {.arena = &p->arena};
  ws_diags_print(&d, &words);
  return ws_cli_fail(0, "the reference of the kernel cannot be evaluated:\n%s", words.s ? words.s : text), false;
}

bool ws_cli_rule(struct ws_cli_problem *p) {
  if (setjmp(p->arena.oom)) return ws_cli_fail(0, "out of memory"), false;
  struct ws_formula_tensor *tensors = WS_NEW_N(&p->arena, struct ws_formula_tensor, p->ntensors);
  size_t n = 0;
  for (int i = 0; i < p->ntensors; i++)
    if (p->t[i].info->direction == WS_IN) tensors[n++] = view(&p->t[i]); /* what a kernel writes is no part of its reference */
  const char *weight = ws_manifest_setting(p->manifest, "reference_weight");
  p->rule.sigmoid = weight && !strcmp(weight, "sigmoid");
  return formula(p, "score", tensors, n, &p->rule.score) && formula(p, "visible", tensors, n, &p->rule.visible) &&
         formula(p, "sink", tensors, n, &p->rule.sink);
}
