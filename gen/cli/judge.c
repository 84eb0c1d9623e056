/* When is a result right? Its relative Frobenius error against the fp64 reference is at most LIMIT times that of a
 * plain fp32 evaluation with the kernel's types; NaN and infinities are where the reference has them; every output
 * element is written, and nothing else. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 1.5
#define LN2 0.69314718055994531

/* How much of that is chance? The error of a row is mostly that of rounding its few large weights, which all its elements share. So a
 * row counts for little more than one independent error, and the squared error is distributed about as chi^2 with as many degrees of
 * freedom as there are rows, nu. That of a right kernel over that of one plain evaluation is then F(nu, nu), and exceeds LIMIT^2 with
 * a probability of 8e-4 for nu = 64, but of 7 % for 14 and 20 % for 5. Below FEW rows the plain evaluation is therefore made DRAWS
 * times, its exponents referring to maxima that lie a fraction of a power of two apart: each rounds the weights in its own way, as a
 * kernel does that follows a running maximum, and none is better than another. The largest of their errors counts, and a right kernel
 * exceeds LIMIT times that with a probability of 1e-3 for nu = 2, 8e-5 for 5, 3e-5 for 10 (chi^2 against the largest of 32, sampled).
 * From FEW rows on nothing changes. */
enum { FEW = 64, DRAWS = 32 };

/* With few visible keys the plain evaluation is exact, or nearly so, by chance; a correct kernel may still differ in a
 * rare last place. The floor for O is 1/16 of half a unit in the last place: far below the error of rounding O alone,
 * which is about half of that unit, so it cannot hide a wrong result. */
static double floor_o(enum ws_ref_type type) { return ldexp(1, -ws_ref_precision(type) - 4); }

/* The LSE is fp32 made with ex2.approx and lg2.approx, each of relative error about 2^-22 (PTX ISA, ex2 and lg2), after
 * a product with log2(e) rounded to fp32: four units of 2^-22 for the four roundings. */
#define FLOOR_LSE 0x1p-20

/* What a kernel says of itself in its manifest, 0 if nothing. */
static double said(const struct ws_manifest *m, const char *name) {
  const char *error = ws_manifest_setting(m, name);
  return error ? strtod(error, NULL) : 0;
}

/* A kernel whose exponentials are approximated says by how much they may be off: so much may each weight, and so the logarithm of
 * their sum, which is judged relative to the size of all of them. The same where sums are made in f16. */
static double floor_lse(const struct ws_manifest *m, size_t n, const double *lse) {
  double error = fmax(said(m, "exp2_error"), said(m, "half_error")), all = 0, finite = 0;
  for (size_t i = 0; error > 0 && i < n; i++)
    if (isfinite(lse[i])) all += lse[i] * lse[i], finite++;
  return fmax(FLOOR_LSE, all > 0 ? error * sqrt(finite / all) : 0);
}

static struct ws_cli_error measure(size_t n, const double *want, const float *have) {
  struct ws_cli_error e = {0};
  double wrong = 0, all = 0;
  for (size_t i = 0; i < n; i++) {
    double w = want[i], h = (double)have[i];
    if (isnan(w))
      e.missing_nan += !isnan(h);
    else if (isnan(h))
      e.nan++;
    else if (isinf(w) || isinf(h))
      e.infinite += w != h;
    else {
      double d = fabs(h - w);
      if (d > e.max) e.max = d;
      wrong += d * d;
      all += w * w;
    }
  }
  e.frobenius = wrong > 0 ? sqrt(wrong) / sqrt(all) : 0;
  return e;
}

static bool within(const struct ws_cli_error *e, double limit) {
  return e->frobenius <= limit && !e->nan && !e->missing_nan && !e->infinite;
}

struct space {
  double *o, *lse; /* the reference */
  float *plain_o, *plain_lse, *have_o, *have_lse;
  size_t no, nlse;
};

static bool make_space(const struct ws_cli_problem *p, struct space *s) {
  memset(s, 0, sizeof *s);
  s->no = (size_t)ws_cli_tensor_count(&p->t[WS_CLI_O]);
  s->nlse = (size_t)ws_cli_tensor_count(&p->t[WS_CLI_LSE]);
  s->o = malloc(sizeof *s->o * s->no + 1);
  s->lse = malloc(sizeof *s->lse * s->nlse + 1);
  s->plain_o = malloc(sizeof *s->plain_o * s->no + 1);
  s->plain_lse = malloc(sizeof *s->plain_lse * s->nlse + 1);
  s->have_o = malloc(sizeof *s->have_o * s->no + 1);
  s->have_lse = malloc(sizeof *s->have_lse * s->nlse + 1);
  return s->o && s->lse && s->plain_o && s->plain_lse && s->have_o && s->have_lse;
}

static void free_space(struct space *s) {
  free(s->o);
  free(s->lse);
  free(s->plain_o);
  free(s->plain_lse);
  free(s->have_o);
  free(s->have_lse);
}

static void take_results(const struct ws_cli_problem *p, struct space *s, struct ws_cli_verdict *v) {
  for (size_t i = 0; i < s->no; i++) {
    s->have_o[i] = ws_cli_tensor_result(&p->t[WS_CLI_O], (int64_t)i);
    v->unwritten += ws_cli_tensor_poisoned(&p->t[WS_CLI_O], (int64_t)i);
  }
  for (size_t i = 0; i < s->nlse; i++) {
    s->have_lse[i] = ws_cli_tensor_result(&p->t[WS_CLI_LSE], (int64_t)i);
    v->unwritten += ws_cli_tensor_poisoned(&p->t[WS_CLI_LSE], (int64_t)i);
    if (p->base2) s->lse[i] /= LN2;
  }
}

static void find_damage(const struct ws_cli_problem *p, struct ws_cli_verdict *v) {
  for (int i = 0; i < p->ntensors; i++) {
    int64_t first = 0;
    size_t n = ws_cli_tensor_damage(&p->t[i], &first);
    if (n && !v->damaged)
      snprintf(v->damage, sizeof v->damage, "%zu bytes around %s changed, the first at byte %lld from its start", n,
               p->t[i].info->name, (long long)first);
    v->damaged += n;
  }
}

/* The largest errors of plain evaluations: v->plain_o and v->plain_lse are those of the first. */
static bool plain_errors(const struct ws_reference *problem, const struct ws_ref_attention *reference, enum ws_ref_type type, bool base2, struct space *s,
                         struct ws_cli_verdict *v, double *o, double *lse) {
  for (int k = 0; k < (s->nlse < FEW ? DRAWS : 1); k++) {
    struct ws_ref_attention draw = *reference;
    draw.above = (double)k / DRAWS;
    if (!problem->plain(&draw, type, s->plain_o, s->plain_lse)) return false;
    for (size_t i = 0; base2 && i < s->nlse; i++) s->plain_lse[i] = (float)((double)s->plain_lse[i] / LN2);
    struct ws_cli_error eo = measure(s->no, s->o, s->plain_o), el = measure(s->nlse, s->lse, s->plain_lse);
    if (k == 0) v->plain_o = eo, v->plain_lse = el;
    *o = fmax(*o, eo.frobenius), *lse = fmax(*lse, el.frobenius);
  }
  return true;
}

/* The reference of long sequences takes minutes, on all cores. watcher: the share that was shown last. */
static void show_progress(void *watcher, double done) {
  double *shown = watcher;
  if (done >= *shown && done < *shown + 0.01) return;
  *shown = done;
  fprintf(stderr, "\rreference %3.0f %%", 100 * done);
}

bool ws_cli_judge(const struct ws_cli_problem *p, struct ws_cli_verdict *v) {
  struct space s;
  struct ws_ref_attention reference = ws_cli_problem_reference(p);
  const struct ws_reference *problem = ws_reference_find(ws_manifest_kernel(p->manifest)->problem);
  enum ws_ref_type type = p->t[WS_CLI_O].type;
  memset(v, 0, sizeof *v);
  const double many = 2e8; /* pairs of a query and a key: some seconds */
  bool shown = (double)reference.batch * (double)reference.heads * (double)reference.queries * (double)reference.keys > many && isatty(STDERR_FILENO);
  double share = 0;
  if (shown) reference.progress = show_progress, reference.watcher = &share;
  bool good = make_space(p, &s) && problem->exact(&reference, s.o, s.lse);
  double o = 0, lse = 0;
  if (good) take_results(p, &s, v);
  good = good && plain_errors(problem, &reference, type, p->base2, &s, v, &o, &lse);
  if (good) {
    find_damage(p, v);
    v->o = measure(s.no, s.o, s.have_o);
    v->lse = measure(s.nlse, s.lse, s.have_lse);
    v->limit_o = fmax(LIMIT * o, fmax(floor_o(type), said(p->manifest, "half_error")));
    v->limit_lse = fmax(LIMIT * lse, floor_lse(p->manifest, s.nlse, s.lse));
    v->pass = within(&v->o, v->limit_o) && within(&v->lse, v->limit_lse) && !v->unwritten && !v->damaged;
  }
  free_space(&s);
  if (shown) fputs("\r               \r", stderr);
  return good;
}

/* ---- two devices ---- */

static double row_rms(const struct ws_cli_tensor *t, int64_t row, int64_t width) {
  double sum = 0;
  for (int64_t i = 0; i < width; i++) {
    double v = (double)ws_cli_tensor_result(t, row * width + i);
    if (isfinite(v)) sum += v * v;
  }
  return sqrt(sum / (double)width);
}

/* The largest distance in units in the last place, taken at the larger of the element's magnitude and its row's rms. */
static double largest_ulps(const struct ws_cli_tensor *a, const struct ws_cli_tensor *b, int64_t width, size_t *differ,
                           size_t *classes) {
  int64_t n = ws_cli_tensor_count(a);
  double largest = 0;
  for (int64_t row = 0; n && row < n / width; row++) {
    double rms = row_rms(a, row, width);
    for (int64_t i = row * width; i < (row + 1) * width; i++) {
      double x = (double)ws_cli_tensor_result(a, i), y = (double)ws_cli_tensor_result(b, i);
      bool same =
          !memcmp(a->after + ws_cli_tensor_offset(a, i), b->after + ws_cli_tensor_offset(b, i), ws_ref_size(a->type));
      *differ += !same;
      if (same || (isnan(x) && isnan(y)) || x == y) continue;
      if (!isfinite(x) || !isfinite(y)) {
        ++*classes;
        continue;
      }
      double ulps = fabs(x - y) / ws_ref_ulp(a->type, fmax(fmax(fabs(x), fabs(y)), rms));
      if (ulps > largest) largest = ulps;
    }
  }
  return largest;
}

struct ws_cli_distance ws_cli_compare(const struct ws_cli_problem *a, const struct ws_cli_problem *b) {
  struct ws_cli_distance d = {0};
  size_t lse_differ = 0;
  d.o_ulps = largest_ulps(&a->t[WS_CLI_O], &b->t[WS_CLI_O], a->dv, &d.o_differ, &d.classes);
  d.lse_ulps =
      largest_ulps(&a->t[WS_CLI_LSE], &b->t[WS_CLI_LSE], a->shape.sq ? a->shape.sq : 1, &lse_differ, &d.classes);
  return d;
}
