/* Defects planted into a kernel's text, one at a time, at instructions that a launch has executed. Each has to be found, and named with
 * its line of the spec or of the PTX. */
#include "conform.h"
#include "play/play.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct lines {
  const char **at;               /* start of each line, counted from 1; at[n + 1] is the end */
  size_t n;
};

static struct lines split(const char *text, size_t len) {
  struct lines l = {calloc(len + 3, sizeof *l.at), 0};
  if (!l.at) abort();
  l.at[++l.n] = text;
  for (size_t i = 0; i < len; i++)
    if (text[i] == '\n') l.at[++l.n] = text + i + 1;
  if (l.at[l.n] < text + len) l.at[l.n + 1] = text + len;
  else l.n--;
  return l;
}

static size_t length_of(const struct lines *l, size_t i) { return (size_t)(l->at[i + 1] - l->at[i]); }

/* An instruction that is a line of its own. */
static bool plain(const struct lines *l, size_t i) {
  const char *s = l->at[i], *end = l->at[i + 1], *semicolon = memchr(s, ';', (size_t)(end - s));
  return semicolon && !memchr(s, '{', (size_t)(semicolon - s)) && !memchr(s, '}', (size_t)(semicolon - s));
}

/* Nothing but straight code from line a to line b. */
static bool straight(const struct lines *l, size_t a, size_t b) {
  for (size_t i = a; i <= b; i++) {
    const char *s = l->at[i], *end = l->at[i + 1];
    while (s < end && isspace((unsigned char)*s)) s++;
    for (const char *p = s; p < end && *p != ';' && !(p[0] == '/' && p[1] == '/'); p++)
      if ((*p == ':' && p[1] == '\n') || !strncmp(p, "bra", 3)) return false;
  }
  return true;
}

/* --- one defect: line `at` becomes `with`, line `other` becomes `other_with`; "" removes it --- */
struct defect {
  const char *what;
  size_t at, other;
  char with[400], other_with[400];
};

static void keep(const struct lines *l, size_t i, char *out, size_t n) { snprintf(out, n, "%.*s", (int)length_of(l, i), l->at[i]); }

/* The number behind `before`, changed by `by`. False: it is not there. */
static bool change_number(const char *line, const char *before, long by, char *out, size_t n) {
  const char *p = strstr(line, before);
  if (!p) return false;
  p += strlen(before);
  if (!isdigit((unsigned char)*p)) return false;
  char *end;
  long v = strtol(p, &end, 10) + by;
  return v >= 0 && (size_t)snprintf(out, n, "%.*s%ld%s", (int)(p - line), line, v, end) < n;
}

static bool drop(const struct lines *l, const struct event *e, struct defect *d) {
  *d = (struct defect){.what = "dropped", .at = e->ptx};
  if (!plain(l, e->ptx)) return false;
  if (e->kind != WSEMU_MBAR_WAIT) return true;
  char line[300]; /* its loop has to end */
  if (length_of(l, e->ptx) >= sizeof line) return false;
  keep(l, e->ptx, line, sizeof line);
  const char *p = strchr(line, '%'), *comma = p ? strchr(p, ',') : NULL;
  return comma && (size_t)snprintf(d->with, sizeof d->with, "setp.eq.u32 %.*s, 0, 0;\n", (int)(comma - p), p) < sizeof d->with;
}

static bool twice(const struct lines *l, const struct event *e, struct defect *d) {
  char line[190];
  *d = (struct defect){.what = "twice", .at = e->ptx};
  if (!plain(l, e->ptx) || length_of(l, e->ptx) >= sizeof line) return false;
  if (e->kind == WSEMU_MBAR_WAIT || e->kind == WSEMU_EXIT) return false; /* it passes twice: the phase is over */
  keep(l, e->ptx, line, sizeof line);
  snprintf(d->with, sizeof d->with, "%s%s", line, line);
  return true;
}

/* The last number: a count, N, bytes, registers. */
static bool count(const struct lines *l, const struct event *e, struct defect *d) {
  static const struct {
    uint32_t kind;
    const char *before;
    long by;
  } where[] = {{WSEMU_MBAR_INIT, "], ", 1}, {WSEMU_MBAR_ARRIVE, "], ", 16}, {WSEMU_BARRIER_SYNC, ", ", -32}, {WSEMU_BARRIER_ARRIVE, ", ", -32}, {WSEMU_COPY_WAIT, "wait_group ", 1},
               {WSEMU_WGMMA_WAIT, "aligned ", 1}, {WSEMU_BULK_WAIT_READ, "read ", 1}, {WSEMU_REGISTERS, ".u32 ", 8}, {WSEMU_TENSOR_ALLOC, "], ", -256}};
  char line[300];
  *d = (struct defect){.what = "another count", .at = e->ptx};
  if (!plain(l, e->ptx) || length_of(l, e->ptx) >= sizeof line) return false;
  keep(l, e->ptx, line, sizeof line);
  for (size_t i = 0; i < sizeof where / sizeof *where; i++)
    if (where[i].kind == e->kind && change_number(line, where[i].before, where[i].by, d->with, sizeof d->with)) return true;
  return false;
}

static bool barrier(const struct ws_schedule *s, const struct lines *l, const struct event *e, struct defect *d) {
  char line[300];
  *d = (struct defect){.what = "another barrier", .at = e->ptx};
  if (!plain(l, e->ptx) || length_of(l, e->ptx) >= sizeof line) return false;
  keep(l, e->ptx, line, sizeof line);
  bool named = e->kind == WSEMU_BARRIER_SYNC || e->kind == WSEMU_BARRIER_ARRIVE;
  bool mbar = e->kind == WSEMU_MBAR_WAIT || e->kind == WSEMU_MBAR_ARRIVE || e->kind == WSEMU_TENSOR_COMMIT;
  if (named) return change_number(line, "sync ", 1, d->with, sizeof d->with) || change_number(line, "arrive ", 1, d->with, sizeof d->with);
  long by = is_mbarrier(s, e->object + 8) ? 8 : -8;
  return mbar && is_mbarrier(s, e->object + by) && change_number(line, "+", by, d->with, sizeof d->with);
}

static bool parity(const struct lines *l, const struct event *e, struct defect *d) {
  char line[300];
  *d = (struct defect){.what = "another parity", .at = e->ptx};
  if (e->kind != WSEMU_MBAR_WAIT || !plain(l, e->ptx) || length_of(l, e->ptx) >= sizeof line) return false;
  keep(l, e->ptx, line, sizeof line);
  char *p = strstr(line, "], ");
  if (!p) return false;
  snprintf(d->with, sizeof d->with, "%.*s], %ld;\n", (int)(p - line), line, 1 - e->parity);
  return true;
}

/* The next instruction of another statement that this warp has executed. */
static const struct event *next_of(const struct events *w, size_t i, bool same_kind) {
  for (size_t k = i + 1; k < w->n && k < i + 40; k++) {
    const struct event *e = &w->e[k];
    if (e->ptx > w->e[i].ptx && (!same_kind || e->kind == w->e[i].kind) && (same_kind || e->line != w->e[i].line) && (e->object != w->e[i].object || !same_kind)) return e;
  }
  return NULL;
}

/* Two of a kind with each other's operands. */
static bool swap(const struct lines *l, const struct events *w, size_t i, struct defect *d) {
  const struct event *e = &w->e[i], *o = next_of(w, i, true);
  *d = (struct defect){.what = "swapped", .at = e->ptx};
  if (!o || (e->kind != WSEMU_MBAR_WAIT && e->kind != WSEMU_MBAR_ARRIVE && e->kind != WSEMU_TENSOR_COMMIT && e->kind != WSEMU_BARRIER_SYNC)) return false;
  if (!plain(l, e->ptx) || !plain(l, o->ptx) || length_of(l, e->ptx) >= sizeof d->with || length_of(l, o->ptx) >= sizeof d->with) return false;
  char a[400], b[400];
  keep(l, e->ptx, a, sizeof a), keep(l, o->ptx, b, sizeof b);
  char *pa = strchr(a, '['), *pb = strchr(b, '[');
  if (!pa || !pb) pa = strstr(a, "sync "), pb = strstr(b, "sync ");
  if (!pa || !pb || !strcmp(pa, pb)) return false;
  if (*pb == '[' && strncmp(pb, "[%smem", 6) && strncmp(pa, pb, (size_t)(strcspn(pb, "+"))) != 0) return false; /* its register may not be set yet */
  d->other = o->ptx;
  return (size_t)snprintf(d->with, sizeof d->with, "%.*s%s", (int)(pa - a), a, pb) < sizeof d->with &&
         (size_t)snprintf(d->other_with, sizeof d->other_with, "%.*s%s", (int)(pb - b), b, pa) < sizeof d->other_with;
}

/* Behind the next event of another statement. */
static bool move(const struct lines *l, const struct events *w, size_t i, struct defect *d) {
  const struct event *e = &w->e[i], *o = next_of(w, i, false);
  *d = (struct defect){.what = "moved", .at = e->ptx};
  if (!o || !plain(l, e->ptx) || !plain(l, o->ptx) || !straight(l, e->ptx, o->ptx) || length_of(l, e->ptx) + length_of(l, o->ptx) >= sizeof d->with) return false;
  if (may_be_derived(o->kind) || e->kind == WSEMU_COPY) return false; /* a copy's registers are used again by the next statement */
  char a[200], b[200];
  if (length_of(l, e->ptx) >= sizeof a || length_of(l, o->ptx) >= sizeof b) return false;
  keep(l, e->ptx, a, sizeof a), keep(l, o->ptx, b, sizeof b);
  d->other = o->ptx;
  snprintf(d->other_with, sizeof d->other_with, "%s%s", b, a);
  return true;
}

/* --- the kernel with a defect --- */

static char *planted(const struct lines *l, const struct defect *d, size_t *len) {
  char *out = malloc((size_t)(l->at[l->n + 1] - l->at[1]) + 900);
  if (!out) abort();
  *len = 0;
  for (size_t i = 1; i <= l->n; i++) {
    const char *s = i == d->at ? d->with : i == d->other ? d->other_with : l->at[i];
    size_t n = i == d->at || i == d->other ? strlen(s) : length_of(l, i);
    if (i == d->at && !n) s = "\n", n = 1; /* lines keep their numbers */
    memcpy(out + *len, s, n);
    *len += n;
  }
  out[*len] = 0;
  return out;
}

struct tally {
  int planted, found, refused, missed;
};

static void try_defect(struct ws_device *device, struct subject *x, const struct shape *shape, const struct trace *want, const struct lines *l, const struct event *e,
                       const struct defect *d, bool verbose, struct tally *t) {
  enum { MOST = 64 };
  static const struct finding none;
  struct finding *f = calloc(MOST, sizeof *f);
  struct run r;
  size_t len;
  char *text = planted(l, d, &len), what[300];
  bool named = false;
  if (!f) abort();
  bool ran = run_kernel(device, x, text, len, shape, &r);
  if (!ran || strstr(r.fault, "CUDA_ERROR_INVALID_PTX")) { /* a kernel that it does not know is refused when it is launched */
    t->refused++;
    if (verbose) printf("refused: %s, PTX line %zu: %s\n", d->what, d->at, r.fault);
  } else {
    int n = r.ngroups ? compare(x, want, &r.group[0], r.fault, f, MOST) : 0;
    const struct finding *best = &none;
    for (int i = 0; i < n && i < MOST; i++) {
      bool here = (f[i].line && f[i].line == e->line) || (f[i].from && f[i].from == e->line) || (f[i].done && f[i].done == e->line) || f[i].ptx == d->at || f[i].ptx == d->at + 1 || (d->other && f[i].ptx == d->other) || (strstr(f[i].text, "entry") && strstr(f[i].text, event_name(e->kind)));
      if (here && !named) best = &f[i], named = true;
    }
    t->planted++, t->found += named, t->missed += !named;
    describe_event(x, e, what, sizeof what);
    if (!named) printf("FAIL not found: %s:%u %s %s, PTX line %zu (%d findings)\n%s%s\n", x->spec, e->line, what, d->what, d->at, n, n ? f[0].text : "", r.fault);
    else if (verbose) printf("found: %s:%u %s %s, PTX line %zu\n%s", x->spec, e->line, what, d->what, d->at, best->text);
  }
  run_free(&r);
  free(text);
  free(f);
}

/* Does a rule of what has to stand miss this instruction? Where others stand in for it, its loss is no defect. */
static bool is_missed(const struct events *w, unsigned ptx) {
  struct events rest = {0};
  size_t from, to;
  for (size_t i = 0; i < w->n; i++)
    if (w->e[i].ptx != ptx) add(&rest, &w->e[i]);
  bool missed = missing_rule(&rest, &from, &to);
  free(rest.e);
  return missed;
}

/* Instructions are told apart by line: each is tried once, for the first warp that has executed it. */
static void of_warp(struct ws_device *device, struct subject *x, const struct shape *shape, const struct trace *want, const struct lines *l, const struct events *w,
                    bool *done, int every, int *k, bool verbose, struct tally *t) {
  for (size_t i = 0; i < w->n; i++) {
    const struct event *e = &w->e[i];
    const char *why;
    if (!e->ptx || e->ptx > l->n || done[e->ptx]) continue;
    done[e->ptx] = true;
    bool free_one = derived(w, i, &why);
    if (e->kind == WSEMU_EXIT || (free_one && !is_missed(w, e->ptx))) continue;
    struct defect d[7];
    bool can[7] = {drop(l, e, &d[0]), twice(l, e, &d[1]), count(l, e, &d[2]), barrier(x->s, l, e, &d[3]), parity(l, e, &d[4]), swap(l, w, i, &d[5]), move(l, w, i, &d[6])};
    for (int m = 0; m < (free_one ? 1 : 7); m++)
      if (can[m] && (*k)++ % every == 0) try_defect(device, x, shape, want, l, e, &d[m], verbose, t);
  }
}

int plant_all(struct ws_device *device, struct subject *x, const struct shape *shape, int every, bool verbose) {
  struct run base;
  struct trace want;
  struct tally t = {0};
  int k = 0;
  if (!run_kernel(device, x, x->ptx, x->ptx_len, shape, &base) || *base.fault) return printf("FAIL %s\n", base.fault), run_free(&base), 1;
  if (!declared(x, shape, 0, base.ngroups, &want)) return run_free(&base), trace_free(&want), 1;
  struct finding first;
  if (compare(x, &want, &base.group[0], "", &first, 1)) return printf("FAIL without a defect, too: %s\n", first.text), run_free(&base), trace_free(&want), 1;
  struct lines l = split(x->ptx, x->ptx_len);
  bool *done = calloc(l.n + 2, sizeof *done);
  if (!done) abort();
  for (int c = 0; c < x->ctas; c++)
    for (int w = 0; w < MOST_WARPS; w++) of_warp(device, x, shape, &want, &l, &base.group[0].warp[c][w], done, every, &k, verbose, &t);
  printf("%s %s: %d defects planted, %d found and named, %d more refused by the emulator's parser\n", t.missed || !t.planted ? "FAIL" : "same", x->spec, t.planted, t.found, t.refused);
  free(done), free(l.at);
  trace_free(&want), run_free(&base);
  return t.missed + !t.planted;
}
