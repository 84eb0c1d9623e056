/* The passes in a row; the target; names that are declared twice. */
#include "passes.h"
#include <string.h>

static const struct {
  const char *name;
  int arch;
} targets[] = {{"sm_80", 80}, {"sm_90a", 90}, {"sm_100a", 100}, {"sm_103a", 103}};

static void target(struct ws_schedule *s, const char *wanted) {
  const struct ws_document *d = s->doc;
  const char *known[8];
  size_t n = 0;
  for (; n < sizeof targets / sizeof *targets; n++) known[n] = targets[n].name;
  size_t pick = 0;
  for (size_t i = 0; i < d->ntargets; i++) {
    bool ok = false;
    for (size_t k = 0; k < n; k++) ok |= !strcmp(known[k], d->targets[i]);
    if (!ok) ws_unknown(s, d->target_pos[i], "target", d->targets[i], known, n);
  }
  if (wanted) {
    for (pick = 0; pick < d->ntargets && strcmp(d->targets[pick], wanted); pick++) {}
    if (pick == d->ntargets) {
      struct ws_buf list = {.arena = s->arena};
      for (size_t i = 0; i < d->ntargets; i++) ws_buf_printf(&list, "%s%s", i ? ", " : "", d->targets[i]);
      ws_error(s->diags, (struct ws_pos){0, 0, 0}, "no-target", "--target %s: the spec has %s", wanted, list.s ? list.s : "no target");
      if (d->ntargets) ws_note(s->diags, d->target_pos[0], "its targets");
      return;
    }
  }
  if (!d->ntargets) return;
  s->target = d->targets[pick];
  for (size_t k = 0; k < n; k++)
    if (!strcmp(known[k], s->target)) s->arch = targets[k].arch;
}

/* One namespace for roles, buffers, tensors and parameters; one for pipelines and barriers. */
struct names {
  struct ws_schedule *s;
  struct seen {
    const char *name;
    struct ws_pos pos;
  } *seen;
  size_t n, first;
};

static void declare_name(struct names *x, const char *name, struct ws_pos pos) {
  for (size_t i = x->first; i < x->n; i++)
    if (!strcmp(x->seen[i].name, name)) {
      ws_error(x->s->diags, pos, "doubled-name", "`%s` is declared twice", name);
      ws_note(x->s->diags, x->seen[i].pos, "first declared here");
      break;
    }
  x->seen[x->n++] = (struct seen){name, pos};
}

static void doubled(struct ws_schedule *s) {
  const struct ws_document *d = s->doc;
  struct names x = {.s = s};
  x.seen = WS_NEW_N(s->arena, struct seen, d->nparams + d->nroles + d->nbuffers + d->ntensors + d->npipelines + d->nbarriers + 1);
  for (size_t i = 0; i < d->nparams; i++) declare_name(&x, d->params[i].name, d->params[i].pos);
  for (size_t i = 0; i < d->nroles; i++) declare_name(&x, d->roles[i].name.name, d->roles[i].name.pos);
  for (size_t i = 0; i < d->nbuffers; i++) declare_name(&x, d->buffers[i].name.name, d->buffers[i].name.pos);
  for (size_t i = 0; i < d->ntensors; i++) declare_name(&x, d->tensors[i].name, d->tensors[i].pos);
  x.first = x.n;
  for (size_t i = 0; i < d->npipelines; i++) declare_name(&x, d->pipelines[i].name.name, d->pipelines[i].name.pos);
  for (size_t i = 0; i < d->nbarriers; i++) declare_name(&x, d->barriers[i].name.name, d->barriers[i].name.pos);
}

static void declare(struct ws_schedule *s) {
  doubled(s);
  ws_declare_work(s);
  ws_declare_tensors(s);
  ws_declare_roles(s);
  ws_declare_buffers(s);
  ws_place_tmem(s);
  ws_declare_rings(s);
}

struct ws_schedule *ws_schedule_build(const struct ws_document *doc, const struct ws_source *src, const char *wanted,
                                      const struct ws_define *defines, size_t ndefines, struct ws_arena *a,
                                      struct ws_diags *d) {
  struct ws_schedule *s = WS_NEW(a, struct ws_schedule);
  (void)src;
  s->arena = a, s->diags = d, s->doc = doc, s->name = doc->schedule;
  size_t before = d->errors;
  s->problem = doc->problem ? ws_problem_find(doc->problem) : NULL;
  if (!s->problem) {
    const char *const *known;
    size_t n = ws_problem_names(&known);
    ws_unknown(s, doc->problem_pos, "problem", doc->problem ? doc->problem : "", known, n);
    return NULL;
  }
  target(s, wanted);
  ws_pass_params(s, defines, ndefines);
  if (d->errors > before) return NULL;
  declare(s);
  ws_pass_resolve(s);
  if (d->errors > before) return NULL;
  ws_pass_defined(s);
  ws_pass_types(s);
  if (d->errors > before) return NULL;
  ws_pass_counts(s);
  if (s->watchdog > 0 && !s->mbarriers)
    ws_error(d, (struct ws_pos){0, 0, 0}, "define", "-D watchdog=%g: it watches the waits at mbarriers, and this schedule for %s has none", s->watchdog, s->target);
  ws_pass_bytes(s);
  ws_pass_zero(s);
  ws_pass_groups(s);
  ws_pass_async(s);
  ws_pass_budget(s);
  ws_pass_range(s);
  return d->errors > before ? NULL : s;
}
