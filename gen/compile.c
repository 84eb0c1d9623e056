/* The passes in a row. */
#include "compile.h"
#include "lower/lower.h"
#include "play/play.h"
#include "ptx/template.h"
#include "schedule/schedule.h"
#include "spec/syntax.h"

/* Plays the protocol. The manifest carries the word where it is one to rely on. */
static void play(struct ws_schedule *s, const struct ws_compile_options *opt, struct ws_arena *a, struct ws_diags *d, struct ws_buf *out) {
  if (opt->no_play || opt->stage == WS_STAGE_SCHEDULE) {
    ws_buf_puts(out, "protocol: not played\nverdict: incomplete\n");
    return;
  }
  struct ws_play_options how = {.strict = opt->strict};
  struct ws_play_result r = ws_play(s, &how, a, d);
  ws_buf_printf(out, "%sverdict: %s\n", r.notes, ws_verdict_name(r.verdict));
  if (r.verdict == WS_CLEAN || r.verdict == WS_REVIEW) s->checked = ws_verdict_name(r.verdict);
}

static void move_findings(const struct ws_diags *from, struct ws_diags *to) {
  for (size_t i = 0; i < from->n; i++) {
    const struct ws_diag *x = &from->list[i];
    if (x->severity == WS_ERROR) ws_error(to, x->pos, x->code, "%s", x->message);
    else if (x->severity == WS_NOTE) ws_note(to, x->pos, "%s", x->message);
  }
}

static bool compile_one(const struct ws_document *doc, struct ws_schedule **built, bool alone, const struct ws_source *src, const struct ws_compile_options *opt,
                        const struct ws_templates *t, struct ws_arena *a, struct ws_diags *d, struct ws_kernel_text *out) {
  struct ws_schedule *s = ws_schedule_build(doc, src, opt->target, opt->defines, opt->ndefines, a, d);
  *built = s;
  if (!s || !ws_lower_rule(s) || (alone && !ws_lower_workspaces(&s, 1))) return false; /* else another kernel of the file may write it */
  struct ws_buf dump = {.arena = a}, budget = {.arena = a};
  if (opt->stage == WS_STAGE_SCHEDULE) ws_schedule_dump(s, &dump);
  ws_schedule_budget(s, &budget);
  if (opt->stage == WS_STAGE_CHECK && !ws_lower_has_target(s)) ws_buf_printf(&budget, "code: not lowered for %s yet\n", s->target);
  struct ws_diags played = {.arena = a, .source = src}; /* what the target cannot do is said first, and alone */
  play(s, opt, a, &played, &budget);
  if (opt->stage == WS_STAGE_PTX || (opt->stage == WS_STAGE_CHECK && ws_lower_has_target(s))) { /* what the target cannot do is an error of the spec */
    struct ws_kernel_text *k = ws_lower(s, t, src->path);
    if (!k) return false;
    *out = *k;
  }
  move_findings(&played, d);
  if (played.errors) return false;
  out->name = s->name, out->dump = dump.s, out->budget = budget.s, out->model = s;
  return true;
}

struct ws_compiled *ws_compile(const struct ws_source *src, const struct ws_compile_options *opt, struct ws_arena *a, struct ws_diags *d,
                               bool *oom) {
  *oom = false;
  d->arena = a, d->source = src;
  if (setjmp(a->oom)) {
    *oom = true;
    return NULL;
  }
  struct ws_spec *spec = ws_spec_read(src, a, d);
  if (!spec || d->errors) return NULL;
  struct ws_templates *t = ws_templates_load(opt->templates_dir, a, d);
  if (!t) return NULL;
  struct ws_compiled *c = WS_NEW(a, struct ws_compiled);
  c->kernels = WS_NEW_N(a, struct ws_kernel_text, spec->ndocs);
  struct ws_schedule **built = WS_NEW_N(a, struct ws_schedule *, spec->ndocs);
  size_t good = 0;
  for (size_t i = 0; i < spec->ndocs; i++) {
    if (compile_one(&spec->docs[i], &built[good], spec->ndocs == 1, src, opt, t, a, d, &c->kernels[c->n])) c->n++;
    good += built[good] != NULL;
  }
  if (spec->ndocs > 1 && good == spec->ndocs) ws_lower_workspaces(built, good);
  return d->errors ? NULL : c;
}
