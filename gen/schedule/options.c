/* Options: `with NAME = value`, each on the statements named. */
#include "passes.h"
#include <string.h>

enum where { READ = 1, WRITE = 2, ASSIGN = 4, REDUCE = 8, LOAD = 16, WAIT = 32, PRODUCT = 64, COPY = 128, READ2 = 256, VALUE = 512 };

static const struct {
  const char *name;
  int where;
  const char *meaning;          /* for messages */
} options[] = {
    {"chunk", READ | WRITE | READ2, "read and write"},
    {"red", READ2, "a read with two results"},
    {"poly", ASSIGN, "an assignment with exp2"},
    {"period", ASSIGN, "an assignment with exp2"},
    {"start", ASSIGN, "an assignment with exp2"},
    {"pack", VALUE, "an assignment and write"},
    {"op", REDUCE, "reduce"},
    {"multicast", LOAD, "load"},
    {"l2", LOAD, "load"},
    {"poll", WAIT, "wait"},
    {"descriptors", PRODUCT, "a product of tcgen05"},
    {"ahead", PRODUCT | COPY, "a product and copy"},
};
enum { NOPTIONS = sizeof options / sizeof *options };

static bool calls(const struct ws_expr *e, const char *name) {
  if (e->kind == WS_E_CALL && !strcmp(e->name, name)) return true;
  for (size_t i = 0; i < e->n; i++)
    if (calls(e->arg[i], name)) return true;
  return false;
}

static int place_of(const struct ws_stmt *st) {
  switch (st->kind) {
  case WS_S_WRITE: return VALUE | WRITE | (calls(st->a, "read") ? READ : 0);
  case WS_S_REDUCE: return REDUCE;
  case WS_S_STORE: return calls(st->a, "read") ? READ : 0;
  case WS_S_LOAD: return LOAD;
  case WS_S_WAIT: return WAIT;
  case WS_S_PRODUCT: return PRODUCT;
  case WS_S_COPY: return COPY;
  case WS_S_ASSIGN2: return READ2;
  case WS_S_ASSIGN: return VALUE | (calls(st->a, "exp2") ? ASSIGN : 0) | (calls(st->a, "read") ? READ : 0);
  default: return 0;
  }
}

static bool number(struct ws_scope *sc, const struct ws_option *o, long lo, long hi, int *out) {
  long v;
  if (!ws_static_int(sc->s, sc->env, o->value, lo, hi, ws_fmt(sc->s->arena, "`%s`", o->name), &v)) return false;
  *out = (int)v;
  return true;
}

static bool word(struct ws_scope *sc, const struct ws_option *o, const char *const *words, size_t n, const char **out) {
  return (*out = ws_static_word(sc->s, o->value, ws_fmt(sc->s->arena, "value of `%s`", o->name), words, n)) != NULL;
}

static bool option(struct ws_scope *sc, const struct ws_option *o, struct ws_act *a) {
  static const char *const polls[] = {"all", "leader"}, *const builders[] = {"issuer", "all"}, *const reds[] = {"max"}, *const ops[] = {"add"},
                    *const packs[] = {"f32x2"}, *const multicasts[] = {"pair"}, *const hints[] = {"evict_first", "evict_normal", "evict_last"};
  const char *w;
  if (!strcmp(o->name, "chunk")) return number(sc, o, 1, 128, &a->opt.chunk);
  if (!strcmp(o->name, "poly")) return number(sc, o, 0, 128, &a->opt.poly);
  if (!strcmp(o->name, "period")) return number(sc, o, 1, 128, &a->opt.period);
  if (!strcmp(o->name, "start")) return number(sc, o, 0, 128, &a->opt.start);
  if (!strcmp(o->name, "ahead")) return number(sc, o, 0, 8, &a->ahead);
  if (!strcmp(o->name, "l2")) return word(sc, o, hints, 3, &a->opt.l2);
  if (!strcmp(o->name, "red")) return word(sc, o, reds, 1, &w) && (a->opt.red = WS_F_ROWMAX, true);
  if (!strcmp(o->name, "pack")) {
    if (sc->s->arch < 100) return ws_error(sc->s->diags, o->pos, "target", "arithmetic on f32x2 exists from sm_100 on, not on %s", sc->s->target), false;
    return word(sc, o, packs, 1, &w) && (a->opt.pack = true);
  }
  if (!strcmp(o->name, "op")) return word(sc, o, ops, 1, &w);
  if (!strcmp(o->name, "multicast")) return word(sc, o, multicasts, 1, &w) && (a->opt.multicast = true);
  if (!strcmp(o->name, "poll")) return word(sc, o, polls, 2, &w) && (a->opt.poll = *w == 'l' ? WS_POLL_LEADER : WS_POLL_ALL, true);
  return word(sc, o, builders, 2, &w) && (a->opt.descriptors_all = *w == 'a', true);
}

static bool chunk_fits(struct ws_scope *sc, const struct ws_stmt *st, const struct ws_act *a) {
  int c = a->opt.chunk;
  if (!c || !(c & (c - 1))) return true; /* tcgen05.ld and st move 1 to 128 columns, a power of two (PTX ISA, tcgen05.ld: .num) */
  ws_error(sc->s->diags, st->pos, "option", "`chunk` is a power of two, found %d", c);
  return false;
}

bool ws_resolve_options(struct ws_scope *sc, const struct ws_stmt *st, struct ws_act *a) {
  struct ws_schedule *s = sc->s;
  bool ok = true;
  for (size_t i = 0; i < st->nopts; i++) {
    const struct ws_option *o = &st->opts[i];
    size_t k = 0;
    while (k < NOPTIONS && strcmp(options[k].name, o->name)) k++;
    if (k == NOPTIONS) {
      const char *known[NOPTIONS];
      for (size_t q = 0; q < NOPTIONS; q++) known[q] = options[q].name;
      ws_unknown(s, o->pos, "option", o->name, known, NOPTIONS);
      ok = false;
    } else if (!(options[k].where & place_of(st))) {
      ws_error(s->diags, o->pos, "option", "option `%s` belongs to %s, not to this statement", o->name, options[k].meaning);
      ok = false;
    } else
      ok &= option(sc, o, a);
  }
  if (ok && a->opt.poly && a->opt.period < a->opt.poly) {
    ws_error(s->diags, st->pos, "option", "`poly` columns of every `period`: %d of %d", a->opt.poly, a->opt.period);
    ok = false;
  }
  return ok && chunk_fits(sc, st, a);
}
