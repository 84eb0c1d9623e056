/* The judge: takes a right result, and refuses every kind of wrong one. The kernel is played by the plain evaluation.
 */
#include "cli/cli.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct ws_manifest *manifest;

static void put(struct ws_cli_tensor *t, int64_t i, float v) {
  ws_ref_store(t->after + ws_cli_tensor_offset(t, i), t->type, v);
}

/* A problem whose outputs hold the plain evaluation, its exponents referring to maxima `above` powers of two higher. */
static void solved_above(struct ws_cli_problem *p, const char *text, double above) {
  struct ws_cli_shape base = WS_CLI_DEFAULT_SHAPE, shape;
  assert_true(ws_cli_parse_shape(text, &base, &shape));
  assert_true(ws_cli_problem_init(p, manifest, &shape, NULL) && ws_cli_problem_tensors(p));
  for (int i = WS_CLI_Q; i <= WS_CLI_V; i++) ws_cli_tensor_random(&p->t[i], shape.seed, (uint64_t)i);
  for (int i = 0; i < WS_CLI_TENSORS; i++) memcpy(p->t[i].after, p->t[i].before, p->t[i].bytes);
  struct ws_ref_attention reference = ws_cli_problem_reference(p);
  reference.above = above;
  int64_t n = ws_cli_tensor_count(&p->t[WS_CLI_O]), rows = ws_cli_tensor_count(&p->t[WS_CLI_LSE]);
  float *o = malloc((size_t)n * sizeof *o + 1), *lse = malloc((size_t)rows * sizeof *lse + 1);
  assert_true(ws_ref_attention_plain(&reference, p->t[WS_CLI_O].type, o, lse));
  for (int64_t i = 0; i < n; i++) put(&p->t[WS_CLI_O], i, o[i]);
  for (int64_t i = 0; i < rows; i++) put(&p->t[WS_CLI_LSE], i, lse[i]);
  free(o);
  free(lse);
}

static void solved(struct ws_cli_problem *p, const char *text) { solved_above(p, text, 0); }

static struct ws_cli_verdict judge(const struct ws_cli_problem *p) {
  struct ws_cli_verdict v;
  assert_true(ws_cli_judge(p, &v));
  return v;
}

static const char *const shapes[] = {
    "b=2,hq=4,hkv=2,sq=19,sk=33",
    "sq=7,sk=0",
    "b=0",
    "sq=0",
    "b=2,sq=9,pad=8",
    "b=2,sq=9,pad=24,layout=bhsd",
    "sq=1,sk=1",
    "b=1,hq=8,hkv=1,sq=3,sk=100,seed=9",
};

static void takes_right_results(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    struct ws_cli_problem p;
    solved(&p, shapes[i]);
    struct ws_cli_verdict v = judge(&p);
    if (!v.pass) fail_msg("%s", shapes[i]);
    assert_true(v.o.frobenius == v.plain_o.frobenius && v.damaged == 0 && v.unwritten == 0);
    ws_cli_problem_free(&p);
  }
}

/* With few rows the error of a right kernel is a matter of chance, and must pass whatever the seed: kernels that refer to another
 * maximum than any of the judge's evaluations. Once there are 64 rows, a single evaluation sets the limit. */
static void takes_few_rows(void **state) {
  (void)state;
  int more = 0;
  for (int seed = 1; seed <= 150; seed++) {
    char shape[64];
    snprintf(shape, sizeof shape, "b=1,hq=1,sq=1,sk=%d,seed=%d", 9 + seed % 3 * 12, seed);
    struct ws_cli_problem p;
    solved_above(&p, shape, -2.515);
    struct ws_cli_verdict v = judge(&p);
    if (!v.pass) fail_msg("%s: %g, limit %g", shape, v.o.frobenius, v.limit_o);
    more += v.o.frobenius > 1.5 * v.plain_o.frobenius;
    assert_true(v.limit_o < 8 * v.plain_o.frobenius + 1e-3);
    ws_cli_problem_free(&p);
  }
  assert_true(more > 0); /* one evaluation alone is too strict */
  struct ws_cli_problem p;
  solved(&p, "b=1,hq=1,sq=64,sk=33");
  struct ws_cli_verdict v = judge(&p);
  assert_true(v.limit_o == 1.5 * v.plain_o.frobenius);
  ws_cli_problem_free(&p);
}

/* Bends a right result and expects FAIL. */
#define REFUSE(shape, bend, check)                                                                                     \
  do {                                                                                                                 \
    struct ws_cli_problem p;                                                                                           \
    solved(&p, shape);                                                                                                 \
    struct ws_cli_tensor *o = &p.t[WS_CLI_O], *lse = &p.t[WS_CLI_LSE], *q = &p.t[WS_CLI_Q];                            \
    (void)o, (void)lse, (void)q;                                                                                       \
    bend;                                                                                                              \
    struct ws_cli_verdict v = judge(&p);                                                                               \
    assert_false(v.pass);                                                                                              \
    assert_true(check);                                                                                                \
    ws_cli_problem_free(&p);                                                                                           \
  } while (0)

static void refuses_wrong_results(void **state) {
  (void)state;
  const char *s = "b=2,hq=4,hkv=2,sq=19,sk=33,pad=8";
  REFUSE(s, put(o, 1000, ws_cli_tensor_result(o, 1000) + 1), v.o.max > 0.9 && v.o.frobenius > v.limit_o);
  REFUSE(s, put(lse, 3, ws_cli_tensor_result(lse, 3) + 0.001f), v.lse.frobenius > v.limit_lse);
  REFUSE(s, put(o, 5, (float)NAN), v.o.nan == 1);
  REFUSE(s, put(lse, 5, -INFINITY), v.lse.infinite == 1);
  REFUSE(s, memset(o->after + ws_cli_tensor_offset(o, 77), 0xff, 2), v.unwritten == 1);
  REFUSE(s, o->after[ws_cli_tensor_offset(o, 127) + 2] ^= 1,
         v.damaged == 1 && !strcmp(v.damage, "1 bytes around o changed, the first at byte 256 from its start"));
  REFUSE(s, o->after[0] ^= 1, v.damaged == 1);
  REFUSE(s, o->after[o->bytes - 1] ^= 1, v.damaged == 1);
  REFUSE(s, lse->after[WS_CLI_GUARD - 1] ^= 1,
         v.damaged == 1 && !strcmp(v.damage, "1 bytes around lse changed, the first at byte -1 from its start"));
  REFUSE(s, q->after[ws_cli_tensor_offset(q, 4)] ^= 1, v.damaged == 1); /* inputs are read-only */
  REFUSE("sq=7,sk=0", put(o, 5, 0.001f), v.o.max > 0);                  /* no key: exactly 0 */
  REFUSE("sq=7,sk=0", put(lse, 5, 0), v.lse.infinite == 1);
  REFUSE("b=1,hq=1,sq=1,sk=33", for (int64_t i = 0; i < ws_cli_tensor_count(o); i++) put(o, i, ws_cli_tensor_result(o, i) * 1.02f), v.o.frobenius > 0.015);
  REFUSE("b=1,hq=1,sq=1,sk=33", put(lse, 0, ws_cli_tensor_result(lse, 0) + 0.001f), v.lse.frobenius > v.limit_lse);
  /* scaled by 1%: everywhere a little wrong */
  REFUSE(s, for (int64_t i = 0; i < ws_cli_tensor_count(o); i++) put(o, i, ws_cli_tensor_result(o, i) * 1.01f),
         v.o.frobenius > 0.008);
}

/* A NaN in a visible key must come through. */
static void wants_nan_where_due(void **state) {
  (void)state;
  struct ws_cli_problem p;
  solved(&p, "sq=4,sk=6");
  struct ws_cli_tensor *k = &p.t[WS_CLI_K];
  uint16_t nan = 0x7fc0;
  memcpy(k->before + ws_cli_tensor_offset(k, 130), &nan, 2);
  memcpy(k->after, k->before, k->bytes);
  struct ws_cli_verdict v = judge(&p);
  assert_false(v.pass);
  assert_int_equal(v.lse.missing_nan, 4);
  assert_int_equal(v.o.missing_nan, 4 * 128);
  for (int64_t i = 0; i < 4; i++) put(&p.t[WS_CLI_LSE], i, (float)NAN);
  for (int64_t i = 0; i < 4 * 128; i++) put(&p.t[WS_CLI_O], i, (float)NAN);
  assert_true(judge(&p).pass);
  ws_cli_problem_free(&p);
}

static void measures_distance(void **state) {
  (void)state;
  struct ws_cli_problem a, b;
  solved(&a, "sq=8,sk=8");
  solved(&b, "sq=8,sk=8");
  struct ws_cli_distance d = ws_cli_compare(&a, &b);
  assert_true(d.o_ulps == 0 && d.o_differ == 0 && d.lse_ulps == 0);
  struct ws_cli_tensor *o = &b.t[WS_CLI_O];
  put(o, 300, 2.0f);
  put(&a.t[WS_CLI_O], 300, 2.0f + 3 * 0x1p-6f); /* three units at 2 */
  d = ws_cli_compare(&a, &b);
  assert_true(d.o_ulps == 3 && d.o_differ == 1 && d.classes == 0);
  put(o, 301, (float)NAN);
  d = ws_cli_compare(&a, &b);
  assert_int_equal(d.classes, 1);
  ws_cli_problem_free(&a);
  ws_cli_problem_free(&b);
}

/* Distinct elements never share bytes, and padding lies between them, in every layout. */
static void lays_out(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    struct ws_cli_problem p;
    solved(&p, shapes[i]);
    for (int k = 0; k < WS_CLI_TENSORS; k++) {
      struct ws_cli_tensor *t = &p.t[k];
      size_t size = ws_ref_size(t->type), n = (size_t)ws_cli_tensor_count(t);
      unsigned char *seen = calloc(1, t->bytes);
      for (size_t e = 0; e < n; e++) {
        size_t at = ws_cli_tensor_offset(t, (int64_t)e);
        assert_true(at >= WS_CLI_GUARD && at + size <= t->bytes - WS_CLI_GUARD);
        for (size_t c = 0; c < size; c++) assert_int_equal(seen[at + c]++, 0);
      }
      free(seen);
    }
    ws_cli_problem_free(&p);
  }
}

int main(void) {
  struct ws_error_info err;
  if (ws_manifest_read(WS_TEST_COPY, &manifest, &err)) return 99;
  const struct CMUnitTest tests[] = {cmocka_unit_test(takes_right_results), cmocka_unit_test(takes_few_rows), cmocka_unit_test(refuses_wrong_results),
                                     cmocka_unit_test(wants_nan_where_due), cmocka_unit_test(measures_distance),
                                     cmocka_unit_test(lays_out)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  ws_manifest_free(manifest);
  return failed;
}
