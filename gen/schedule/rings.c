/* Pipelines and barriers as declared. Their counts come from the programs (counts.c). */
#include "passes.h"
#include <string.h>

const char *ws_scope_name(enum ws_barrier_scope s) {
  static const char *const names[] = {"cta", "leader", "pair", "peer"};
  return names[s];
}

const char *ws_mechanism_name(enum ws_mechanism m) {
  static const char *const names[] = {"threads", "cp.async", "tma", "bulk", "mma.sync", "wgmma", "tcgen05"};
  return names[m];
}

static int ends(struct ws_schedule *s, const struct ws_end *from, size_t n, struct ws_endm **out) {
  int count = 0;
  *out = WS_NEW_N(s->arena, struct ws_endm, n + 1);
  for (size_t i = 0; i < n; i++) {
    struct ws_rolem *r = ws_find_role(s, from[i].role);
    if (!r) {
      const char **known = WS_NEW_N(s->arena, const char *, s->nroles + 1);
      for (int k = 0; k < s->nroles; k++) known[k] = s->roles[k].name;
      ws_unknown(s, from[i].pos, "role", from[i].role, known, (size_t)s->nroles);
      continue;
    }
    if (r->one_thread && from[i].unit_given && from[i].unit != WS_UNIT_ONE)
      ws_error(s->diags, from[i].pos, "unit", "role `%s` is one thread: it arrives as `one`", r->name);
    (*out)[count++] = (struct ws_endm){r, r->one_thread ? WS_UNIT_ONE : from[i].unit, from[i].pos};
  }
  return count;
}

static enum ws_barrier_scope scope(struct ws_schedule *s, const char *word, struct ws_pos pos) {
  if (!word || !strcmp(word, "none") || !strcmp(word, "cta")) return WS_SCOPE_CTA;
  if (!s->pair) ws_error(s->diags, pos, "scope", "scope `%s` needs `cluster: pair`", word);
  return !strcmp(word, "leader") ? WS_SCOPE_LEADER : !strcmp(word, "pair") ? WS_SCOPE_PAIR : WS_SCOPE_PEER;
}

static void pipeline(struct ws_schedule *s, const struct ws_pipeline *d) {
  struct ws_pipelinem *p = &s->pipelines[s->npipelines];
  *p = (struct ws_pipelinem){.decl = d, .name = d->name.name, .index = s->npipelines++, .full_at = -1, .empty_at = -1};
  ws_declared_count(s, &d->name, 0, &p->is_array, &p->count);
  p->buffer = ws_find_buffer(s, d->buffer);
  if (!p->buffer) ws_unknown_buffer(s, d->buffer_pos, d->buffer);
  else if (p->buffer->count != p->count)
    ws_error(s->diags, d->name.pos, "pipeline", "pipeline `%s` has %d elements, its buffer `%s` has %d", p->name, p->count,
             p->buffer->name, p->buffer->count);
  p->by = !d->by ? WS_BY_THREADS : *d->by == 't' ? WS_BY_TMA : WS_BY_CP_ASYNC;
  if (p->by == WS_BY_TMA && s->arch < 90) ws_error(s->diags, d->by_pos, "target", "TMA exists from sm_90 on, not on %s", s->target);
  if (p->by != WS_BY_THREADS && p->buffer && p->buffer->tmem)
    ws_error(s->diags, d->by_pos, "pipeline", "%s fills shared memory; `%s` is in TMEM", d->by, p->buffer->name);
  p->nfrom = ends(s, d->from, d->nfrom, &p->from), p->nto = ends(s, d->to, d->nto, &p->to);
  p->full = scope(s, d->full, d->full_pos), p->empty = scope(s, d->empty, d->empty_pos);
  p->no_empty = p->by == WS_BY_CP_ASYNC || (d->empty && !strcmp(d->empty, "none"));
  p->full_count = WS_NEW_N(s->arena, int, p->count), p->empty_count = WS_NEW_N(s->arena, int, p->count);
}

static void barrier(struct ws_schedule *s, const struct ws_barrier *d) {
  struct ws_barrierm *b = &s->barriers[s->nbarriers];
  *b = (struct ws_barrierm){.decl = d, .name = d->name.name, .index = s->nbarriers++, .stages = 1, .at = -1};
  ws_declared_count(s, &d->name, 0, &b->is_array, &b->count);
  b->named = d->named, b->per_warp = d->per != NULL;
  b->open = ws_static_flag(s, d->open, "`open`"), b->manual = ws_static_flag(s, d->manual, "`manual`");
  b->nfrom = ends(s, d->from, d->nfrom, &b->from), b->nto = ends(s, d->to, d->nto, &b->to);
  b->scope = scope(s, d->scope, d->scope_pos);
  long v;
  if (d->count && ws_static_int(s, NULL, d->count, 1, (1 << 20) - 1, "`count`", &v)) b->declared = (int)v;
  if (d->stages && ws_static_int(s, NULL, d->stages, 1, 64, "`stages`", &v)) b->stages = (int)v;
  b->arrivals = WS_NEW_N(s->arena, int, b->count);
}

void ws_declare_rings(struct ws_schedule *s) {
  s->pipelines = WS_NEW_N(s->arena, struct ws_pipelinem, s->doc->npipelines);
  for (size_t i = 0; i < s->doc->npipelines; i++) pipeline(s, &s->doc->pipelines[i]);
  s->barriers = WS_NEW_N(s->arena, struct ws_barrierm, s->doc->nbarriers);
  for (size_t i = 0; i < s->doc->nbarriers; i++) barrier(s, &s->doc->barriers[i]);
}
