/* Two traces of a CTA, or a pair, warp by warp. */
#include "conform.h"
#include "play/play.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *event_name(uint32_t kind) {
  static const char *const names[] = {
#define X(id, name) [WSEMU_##id] = name,
      WSEMU_EVENTS(X)
#undef X
  };
  return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* --- names --- */

static bool barrier_kind(uint32_t k) { return k == WSEMU_BARRIER_SYNC || k == WSEMU_BARRIER_ARRIVE; }

static bool within(long at, long first, int elements, int stages, int *element, int *stage) {
  if (first < 0 || at < first || at >= first + 8L * elements * stages) return false;
  *element = (int)((at - first) / 8 / stages), *stage = (int)((at - first) / 8 % stages);
  return true;
}

bool is_mbarrier(const struct ws_schedule *s, long at) {
  int e, k;
  for (int i = 0; i < s->npipelines; i++) {
    const struct ws_pipelinem *p = &s->pipelines[i];
    if (within(at, p->full_at, p->count, p->buffer->stages, &e, &k) || within(at, p->empty_at, p->count, p->buffer->stages, &e, &k)) return true;
  }
  for (int i = 0; i < s->nbarriers; i++)
    if (!s->barriers[i].named && within(at, s->barriers[i].at, s->barriers[i].count, s->barriers[i].stages > 0 ? s->barriers[i].stages : 1, &e, &k)) return true;
  return false;
}

static void mbarrier_name(const struct ws_schedule *s, long at, char *out, size_t n) {
  int e, k;
  for (int i = 0; i < s->npipelines; i++) {
    const struct ws_pipelinem *p = &s->pipelines[i];
    bool full = within(at, p->full_at, p->count, p->buffer->stages, &e, &k);
    if (!full && !within(at, p->empty_at, p->count, p->buffer->stages, &e, &k)) continue;
    if (p->is_array) snprintf(out, n, "%s[%d].%s, slot %d", p->name, e, full ? "full" : "empty", k);
    else snprintf(out, n, "%s.%s, slot %d", p->name, full ? "full" : "empty", k);
    return;
  }
  for (int i = 0; i < s->nbarriers; i++) {
    const struct ws_barrierm *b = &s->barriers[i];
    int stages = b->stages > 0 ? b->stages : 1;
    if (b->named || !within(at, b->at, b->count, stages, &e, &k)) continue;
    if (b->is_array) snprintf(out, n, "%s[%d]", b->name, e);
    else snprintf(out, n, "%s", b->name);
    if (stages > 1) snprintf(out + strlen(out), n - strlen(out), ", stage %d", k);
    return;
  }
  snprintf(out, n, "byte %ld of shared memory, where no barrier is", at);
}

static void named_name(const struct ws_schedule *s, long id, char *out, size_t n) {
  snprintf(out, n, "barrier %ld", id);
  if (id == 0) snprintf(out, n, "the CTA's barrier");
  for (int i = 0; id > 0 && i < s->nbarriers; i++) {
    const struct ws_barrierm *b = &s->barriers[i];
    if (!b->named || id < b->id || id >= b->id + b->count * b->ids) continue;
    if (b->ids > 1) snprintf(out, n, "%s[%ld] of warp %ld", b->name, (id - b->id) / b->ids, (id - b->id) % b->ids);
    else snprintf(out, n, "%s[%ld]", b->name, id - b->id);
  }
  for (int i = 0; id > 0 && i < s->nroles; i++)
    if (s->roles[i].sync_id > 0 && id >= s->roles[i].sync_id && id < s->roles[i].sync_id + s->roles[i].count)
      snprintf(out, n, "the barrier of %s[%ld]", s->roles[i].name, id - s->roles[i].sync_id);
}

void describe_event(const struct subject *x, const struct event *e, char *out, size_t n) {
  size_t k = (size_t)snprintf(out, n, "%s", event_name(e->kind));
#define PUT(...) k += k < n ? (size_t)snprintf(out + k, n - k, __VA_ARGS__) : 0
  char name[160];
  if (e->object >= 0) {
    (barrier_kind(e->kind) ? named_name : mbarrier_name)(x->s, e->object, name, sizeof name);
    PUT(" at %s", name);
    if (x->s->pair && e->target >= 0 && !barrier_kind(e->kind)) PUT(" of CTA %ld", e->target);
  }
  if (e->count >= 0) PUT(", count %ld", e->count);
  if (e->parity >= 0) PUT(", parity %ld", e->parity);
  if (e->amount) PUT(", %ld%s", e->amount, e->kind == WSEMU_WGMMA || e->kind == WSEMU_TENSOR_MMA ? " operations" : " bytes");
  if (e->threads >= 0) PUT(", %d thread%s", e->threads, e->threads == 1 ? "" : "s");
#undef PUT
}

/* --- one list made comparable --- */

static bool same_sum(const struct event *a, const struct event *b) {
  return a->kind == b->kind && a->line == b->line && a->object == b->object && a->target == b->target && a->vote == b->vote && sums(a->kind);
}

/* What one statement does in pieces adds up: pieces for two CTAs may take turns. */
static void append(struct events *out, const struct event *e) {
  for (size_t i = out->n; i-- > 0 && out->e[i].kind == e->kind && out->e[i].line == e->line;)
    if (same_sum(&out->e[i], e)) {
      out->e[i].amount += e->amount;
      return;
    }
  add(out, e);
}

struct report {
  struct subject *x;
  struct finding *f;
  int n, most;
  char who[120];
};

static void say(struct report *r, const struct event *want, const struct event *have, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void say(struct report *r, const struct event *want, const struct event *have, const char *fmt, ...) {
  if (r->n++ >= r->most) return;
  struct finding *f = &r->f[r->n - 1];
  char what[700], a[300] = "nothing more", b[300] = "nothing more";
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  if (want) describe_event(r->x, want, a, sizeof a);
  if (have) describe_event(r->x, have, b, sizeof b);
  f->line = want && want->line ? want->line : have ? have->line : 0, f->ptx = have ? have->ptx : 0;
  f->done = have ? have->line : 0;
  int k = snprintf(f->text, sizeof f->text, "%s: %s\n", r->who, what);
  if (want && want->line) k += snprintf(f->text + k, sizeof f->text - (size_t)k, "    %s:%u declares %s\n", r->x->spec, want->line, a);
  else if (want) k += snprintf(f->text + k, sizeof f->text - (size_t)k, "    declared at entry or exit: %s\n", a);
  if (have && have->ptx && have->line) snprintf(f->text + k, sizeof f->text - (size_t)k, "    %s:%u, PTX line %u does %s\n", r->x->spec, have->line, have->ptx, b);
  else if (have && have->ptx) snprintf(f->text + k, sizeof f->text - (size_t)k, "    PTX line %u does %s\n", have->ptx, b);
  else snprintf(f->text + k, sizeof f->text - (size_t)k, "    the kernel does %s\n", b);
}

/* Where two events differ; NULL = nowhere. */
static const char *difference(const struct event *want, const struct event *have) {
  if (want->kind != have->kind) return "another event";
  if (!want->edge && want->line != have->line) return "another statement";
  if (want->object != have->object || (want->target >= 0 && want->target != have->target)) return "another barrier";
  if (want->parity != have->parity) return "another parity";
  if (want->count != have->count) return "another count";
  if (!want->partial && want->amount != have->amount) return want->kind == WSEMU_WGMMA || want->kind == WSEMU_TENSOR_MMA ? "another product" : "other bytes";
  if (want->threads >= 0 && want->threads != have->threads) return "other threads";
  if (want->threads == 1 && have->lanes != 1) return "another thread than the elected one";
  return NULL;
}

static void without_derived(struct report *r, const struct events *all, struct events *out) {
  for (size_t i = 0; i < all->n; i++) {
    const char *why;
    if (!derived(all, i, &why)) append(out, &all->e[i]);
    else if (why) say(r, NULL, &all->e[i], "not in its place: %s", why);
  }
}

/* An arm that data decide, and that the kernel did not take. */
static size_t behind_arm(struct report *r, const struct events *want, size_t i) {
  int vote = want->e[i].vote;
  while (i < want->n && want->e[i].vote == vote) i++;
  r->x->left++;
  return i;
}

/* Two pieces of one statement came as one: what stands between them is not there. */
static bool run_together(const struct events *want, size_t i, const struct event *have) {
  return i + 2 < want->n && same_sum(&want->e[i], have) && same_sum(&want->e[i + 2], have) && have->amount == want->e[i].amount + want->e[i + 2].amount;
}

enum { WHOLE, CUT, DIED };       /* a trace; CUT: the launch died, DIED: in this warp */

static void sequences(struct report *r, const struct events *want, const struct events *have, int cut) {
  size_t i = 0, k = 0;
  while (i < want->n && k < have->n) {
    struct event last = have->e[k];
    if (last.kind == WSEMU_MBAR_TRY) last.kind = WSEMU_MBAR_WAIT; /* the launch died while this warp stood there */
    const char *what = difference(&want->e[i], &last);
    bool first = want->e[i].vote && (!i || want->e[i - 1].vote != want->e[i].vote);
    if (what && first) {
      i = behind_arm(r, want, i);
      continue;
    }
    r->x->taken += first;
    if (what && run_together(want, i, &last)) return say(r, &want->e[i + 1], &have->e[k], "less than is declared: this is not done between the parts of that");
    if (what) return say(r, &want->e[i], &have->e[k], "%s", what);
    i++, k++;
  }
  while (i < want->n && want->e[i].vote && (!i || want->e[i - 1].vote != want->e[i].vote)) i = behind_arm(r, want, i);
  if (k < have->n) say(r, NULL, &have->e[k], "more than is declared");
  else if (i < want->n && cut != CUT) say(r, &want->e[i], NULL, cut ? "the launch has died before this is done" : "less than is declared");
}

/* --- a CTA or a pair --- */

static void name_warp(const struct subject *x, int cta, int warp, char *out, size_t n) {
  const struct ws_schedule *s = x->s;
  char rank[40] = "";
  if (s->pair) snprintf(rank, sizeof rank, "CTA %d, ", cta);
  for (int i = 0; i < s->nroles; i++) {
    const struct ws_rolem *r = &s->roles[i];
    int k = warp - r->first_warp;
    if (k < 0 || k >= r->warps * r->count) continue;
    if (r->is_array) snprintf(out, n, "%s%s[%d], warp %d", rank, r->name, k / r->warps, k % r->warps);
    else snprintf(out, n, "%s%s, warp %d", rank, r->name, k % r->warps);
    return;
  }
  snprintf(out, n, "%swarp %d of the CTA", rank, warp);
}

/* Sums by what `same` takes for equal; they have to agree. */
static void add_sum(struct events *l, const struct event *e, long amount) {
  for (size_t i = 0; i < l->n; i++)
    if (l->e[i].line == e->line && l->e[i].object == e->object && l->e[i].target == e->target && l->e[i].threads == e->threads) {
      l->e[i].amount += amount;
      return;
    }
  add(l, e);
  l->e[l->n - 1].amount = amount;
}

static const struct event *sum_of(const struct events *l, const struct event *e) {
  for (size_t i = 0; i < l->n; i++)
    if (l->e[i].line == e->line && l->e[i].object == e->object && l->e[i].target == e->target && l->e[i].threads == e->threads) return &l->e[i];
  return NULL;
}

static void sums_agree(struct report *r, const struct events *want, const struct events *have, const char *what) {
  for (size_t i = 0; i < want->n; i++) {
    const struct event *h = sum_of(have, &want->e[i]);
    if (!h || h->amount != want->e[i].amount) say(r, &want->e[i], h, "%s", what);
  }
  for (size_t i = 0; i < have->n; i++)
    if (!sum_of(want, &have->e[i])) say(r, NULL, &have->e[i], "%s", what);
}

static void bytes_of_barriers(struct report *r, const struct trace *want, const struct trace *have) {
  struct events w = {0}, h = {0};
  for (size_t i = 0; i < want->bytes.n; i++) add_sum(&w, &want->bytes.e[i], want->bytes.e[i].amount);
  for (size_t i = 0; i < have->bytes.n; i++) add_sum(&h, &have->bytes.e[i], have->bytes.e[i].amount);
  snprintf(r->who, sizeof r->who, "asynchronous copies");
  sums_agree(r, &w, &h, "other bytes complete the barrier, over the whole run");
  free(w.e), free(h.e);
}

/* Copies by the threads of an instance: its warps together. What is declared is the whole tile, by each warp. */
static void copies_of_instances(struct report *r, const struct trace *want, const struct trace *have) {
  const struct ws_schedule *s = r->x->s;
  for (int c = 0; c < (s->pair ? 2 : 1); c++)
    for (int i = 0; i < s->nroles; i++)
      for (int k = 0; k < s->roles[i].count; k++) {
        const struct ws_rolem *role = &s->roles[i];
        struct events w = {0}, h = {0};
        for (int x = 0; x < role->warps; x++) {
          const struct events *a = &want->warp[c][role->first_warp + k * role->warps + x], *b = &have->warp[c][role->first_warp + k * role->warps + x];
          for (size_t n = 0; n < a->n && !x; n++)
            if (a->e[n].kind == WSEMU_COPY) add_sum(&w, &a->e[n], a->e[n].amount);
          for (size_t n = 0; n < b->n; n++) {
            struct event e = b->e[n];
            e.threads = -1;
            if (e.kind == WSEMU_COPY) add_sum(&h, &e, e.amount);
          }
        }
        name_warp(r->x, c, role->first_warp + k * role->warps, r->who, sizeof r->who);
        sums_agree(r, &w, &h, "other bytes are copied by the instance, over the whole run");
        free(w.e), free(h.e);
      }
}

static void one_warp(struct report *r, const struct events *want, const struct events *have, int cut) {
  struct events w = {0}, h = {0};
  size_t from = 0, to = 0;
  for (size_t i = 0; i < want->n; i++) append(&w, &want->e[i]);
  without_derived(r, have, &h);
  sequences(r, &w, &h, cut);
  const char *why = missing_rule(have, &from, &to);
  if (why) {
    char first[200];
    describe_event(r->x, &have->e[from], first, sizeof first);
    say(r, NULL, &have->e[to], "%s\n    %s:%u, PTX line %u does %s", why, r->x->spec, have->e[from].line, have->e[from].ptx, first);
    if (r->n <= r->most) r->f[r->n - 1].from = have->e[from].line;
  }
  free(w.e), free(h.e);
}

/* The fault names the thread that it is about, unless nobody could go on. */
static int died(const struct subject *x, const char *fault, int cta, int warp) {
  const char *p = strstr(fault, "CTA (");
  int c, t;
  if (!*fault) return WHOLE;
  return p && sscanf(p, "CTA (%d,%*d,%*d) thread (%d,", &c, &t) == 2 && c % x->ctas == cta && t / 32 == warp ? DIED : CUT;
}

int compare(struct subject *x, const struct trace *want, const struct trace *have, const char *fault, struct finding *f, int most) {
  struct report r = {.x = x, .f = f, .most = most};
  bool cut = *fault;
  for (int c = 0; c < (x->s->pair ? 2 : 1); c++)
    for (int k = 0; k < x->s->threads / 32 && k < MOST_WARPS; k++) {
      name_warp(x, c, k, r.who, sizeof r.who);
      one_warp(&r, &want->warp[c][k], &have->warp[c][k], died(x, fault, c, k));
    }
  if (!cut) copies_of_instances(&r, want, have), bytes_of_barriers(&r, want, have);
  return r.n;
}
