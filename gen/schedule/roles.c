/* Roles: warps in order of declaration, registers of warpgroups. */
#include "passes.h"
#include <string.h>

void ws_declared_count(struct ws_schedule *s, const struct ws_name *n, long least, bool *is_array, int *count) {
  *is_array = n->count != NULL;
  *count = 1;
  long v;
  if (n->count && ws_static_int(s, NULL, n->count, least, 64, ws_fmt(s->arena, "the number of `%s`", n->name), &v)) *count = (int)v;
}

struct ws_rolem *ws_find_role(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->nroles; i++)
    if (!strcmp(s->roles[i].name, name)) return &s->roles[i];
  return NULL;
}

/* setmaxnreg is executed by whole warpgroups and takes 24 to 256 in steps of 8 (PTX ISA, setmaxnreg). */
static void registers(struct ws_schedule *s, struct ws_rolem *r) {
  long v;
  const struct ws_expr *e = r->decl->registers;
  if (!e || !ws_static_int(s, NULL, e, 24, 256, ws_fmt(s->arena, "the registers of `%s`", r->name), &v)) return;
  if (v % 8)
    ws_error(s->diags, e->pos, "range", "the registers of `%s` must be a multiple of 8, found %ld", r->name, v);
  else
    r->registers = (int)v;
}

static const struct ws_rolem *role_of_warp(const struct ws_schedule *s, int warp) {
  for (int i = 0; i < s->nroles; i++)
    if (warp >= s->roles[i].first_warp && warp < s->roles[i].first_warp + s->roles[i].warps * s->roles[i].count) return &s->roles[i];
  return NULL;
}

static void warpgroups(struct ws_schedule *s) {
  for (int g = 0; g * 128 < s->threads; g++) {
    const struct ws_rolem *first = role_of_warp(s, g * 4);
    for (int w = g * 4 + 1; first && w < g * 4 + 4 && w * 32 < s->threads; w++) {
      const struct ws_rolem *r = role_of_warp(s, w);
      if (!r || r->registers == first->registers) continue;
      ws_error(s->diags, r->decl->name.pos, "registers", "`%s` has %s registers, `%s` in the same warpgroup %s: a warpgroup has one value", r->name,
               r->registers ? ws_fmt(s->arena, "%d", r->registers) : "no", first->name, first->registers ? ws_fmt(s->arena, "%d", first->registers) : "none");
      break;
    }
    if (first && first->registers && s->threads - g * 128 < 128) /* PTX ISA, setmaxnreg: all warps of the warpgroup execute it */
      ws_error(s->diags, first->decl->registers->pos, "registers", "`registers` is for whole warpgroups of 4 warps: the one that `%s` stands in has %d; add a role of %d warps",
               first->name, s->threads / 32 - g * 4, 4 - (s->threads / 32 - g * 4));
  }
}

void ws_declare_roles(struct ws_schedule *s) {
  s->roles = WS_NEW_N(s->arena, struct ws_rolem, s->doc->nroles);
  static const char *const codes[] = {"separate"};
  int warp = 0;
  for (size_t i = 0; i < s->doc->nroles; i++) {
    const struct ws_role *d = &s->doc->roles[i];
    struct ws_rolem *r = &s->roles[s->nroles];
    *r = (struct ws_rolem){.decl = d, .name = d->name.name, .index = s->nroles++, .first_warp = warp, .warps = 1, .sync_id = -1, .all_id = -1};
    ws_declared_count(s, &d->name, 1, &r->is_array, &r->count);
    long v;
    if (d->warps && ws_static_int(s, NULL, d->warps, 1, 32, ws_fmt(s->arena, "the warps of `%s`", r->name), &v))
      r->warps = (int)v;
    registers(s, r);
    if (d->threads && ws_static_int(s, NULL, d->threads, 1, 1, "`threads`", &v)) r->one_thread = true;
    if (d->code) r->separate = ws_static_word(s, d->code, "code", codes, 1) != NULL;
    warp += r->warps * r->count;
  }
  s->threads = warp * 32;
  if (!s->nroles && !s->diags->errors) ws_error(s->diags, s->doc->pos, "roles", "a schedule needs at least one role");
  if (s->threads > 1024)
    ws_error(s->diags, s->doc->roles[0].name.pos, "budget", "the roles have %d warps; a CTA has at most 32", warp);
  else
    warpgroups(s);
}
