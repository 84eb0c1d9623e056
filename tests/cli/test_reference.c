/* The reference against a brute-force evaluation, the conversions against the compiler's own types or by search. */
#include "cli/cli.h"
#include "problem/reference.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- conversions ---- */

static void f16_round_trip(void **state) {
  (void)state;
  for (uint32_t b = 0; b < 0x10000; b++) {
    float v = ws_ref_from_f16((uint16_t)b);
    if (v != v)
      assert_true((ws_ref_to_f16(v) & 0x7c00) == 0x7c00 && (ws_ref_to_f16(v) & 0x3ff));
    else
      assert_int_equal(ws_ref_to_f16(v), b);
    float w = ws_ref_from_bf16((uint16_t)b);
    if (w != w)
      assert_true((ws_ref_to_bf16(w) & 0x7f80) == 0x7f80 && (ws_ref_to_bf16(w) & 0x7f));
    else
      assert_int_equal(ws_ref_to_bf16(w), b);
  }
}

/* The nearest of all 65536 values, the even one of two equally near: found by search among neighbours. */
static void check_nearest(float v, uint16_t (*to)(float), float (*from)(uint16_t), uint16_t infinity) {
  uint16_t have = to(v), magnitude = have & 0x7fff;
  double x = fabs((double)v), at = fabs((double)from(magnitude));
  if (magnitude == infinity) { /* beyond the middle between the largest value and the next that would be there */
    double last = (double)from((uint16_t)(infinity - 1)), before = (double)from((uint16_t)(infinity - 2));
    assert_true(x >= last + (last - before) / 2);
    return;
  }
  double down = magnitude ? (double)from((uint16_t)(magnitude - 1)) : -1, last = (double)from((uint16_t)(infinity - 1));
  double up = magnitude + 1 == infinity ? last + (last - (double)from((uint16_t)(infinity - 2)))
                                        : (double)from((uint16_t)(magnitude + 1));
  double mine = fabs(x - at);
  bool even = !(magnitude & 1);
  assert_true(mine < fabs(x - up) || (mine == fabs(x - up) && even));
  assert_true(!magnitude || mine < fabs(x - down) || (mine == fabs(x - down) && even));
  assert_int_equal(have >> 15, signbit(v) != 0);
}

static float float_of(uint32_t u) {
  float v;
  memcpy(&v, &u, sizeof v);
  return v;
}

static void rounds_to_nearest_even(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 400000; i++) {
    uint32_t u = (uint32_t)ws_cli_mix(i + 1);
    if (i % 3 == 0) u &= 0xffffe000;                                        /* ties of f16 */
    if (i % 3 == 1) u = (u & 0x80007fff) | (0x33000000 + (u % 0x15000000)); /* around f16's subnormals and overflow */
    float v = float_of(u);
    if (v != v || isinf(v)) continue;
    check_nearest(v, ws_ref_to_f16, ws_ref_from_f16, 0x7c00);
    check_nearest(v, ws_ref_to_bf16, ws_ref_from_bf16, 0x7f80);
  }
  assert_int_equal(ws_ref_to_f16(65519.0f), 0x7bff);
  assert_int_equal(ws_ref_to_f16(65520.0f), 0x7c00);
  assert_int_equal(ws_ref_to_f16(-INFINITY), 0xfc00);
  assert_int_equal(ws_ref_to_bf16(INFINITY), 0x7f80);
  assert_int_equal(ws_ref_to_f16(0x1p-25f), 0);
  assert_int_equal(ws_ref_to_f16(0x1.000002p-25f), 1);
}

static void units_in_the_last_place(void **state) {
  (void)state;
  assert_true(ws_ref_ulp(WS_REF_BF16, 1.0) == 0x1p-7 && ws_ref_ulp(WS_REF_BF16, 1.99) == 0x1p-7 &&
              ws_ref_ulp(WS_REF_BF16, -2.0) == 0x1p-6);
  assert_true(ws_ref_ulp(WS_REF_F16, 1.0) == 0x1p-10 && ws_ref_ulp(WS_REF_F32, 1.0) == 0x1p-23);
  assert_true(ws_ref_ulp(WS_REF_F16, 0) == 0x1p-24 && ws_ref_ulp(WS_REF_F16, 0x1p-20) == 0x1p-24);
}

/* ---- attention against brute force ---- */

struct fixture {
  struct ws_ref_attention p;
  unsigned char *data[3];
};

/* Random tensors whose strides are not packed: rows of d elements and 3 more, heads outside rows or inside. */
static void make(struct fixture *f, struct ws_ref_attention p, enum ws_ref_type type, bool heads_inside) {
  memset(f, 0, sizeof *f);
  f->p = p;
  struct ws_ref_tensor *t[3] = {&f->p.q, &f->p.k, &f->p.v};
  for (int i = 0; i < 3; i++) {
    int64_t heads = i ? p.kv_heads : p.heads, rows = i ? p.keys : p.queries, d = i == 2 ? p.head_dim_v : p.head_dim;
    int64_t size = (int64_t)ws_ref_size(type), row = (d + 3) * size;
    t[i]->type = type;
    t[i]->stride[3] = size;
    t[i]->stride[2] = heads_inside ? row * heads : row;
    t[i]->stride[1] = heads_inside ? row : row * rows;
    t[i]->stride[0] = row * heads * rows;
    size_t n = (size_t)(p.batch * heads * rows * (d + 3));
    f->data[i] = malloc(n * (size_t)size + 1);
    memset(f->data[i], 0xff, n * (size_t)size); /* NaN where nothing is to be read */
    t[i]->data = f->data[i];
    for (int64_t b = 0, k = 0; b < p.batch; b++)
      for (int64_t h = 0; h < heads; h++)
        for (int64_t s = 0; s < rows; s++)
          for (int64_t c = 0; c < d; c++)
            ws_ref_store(f->data[i] + b * t[i]->stride[0] + h * t[i]->stride[1] + s * t[i]->stride[2] + c * size, type,
                         (float)ws_cli_normal(5, (uint64_t)i, (uint64_t)k++));
  }
}

static void drop(struct fixture *f) {
  for (int i = 0; i < 3; i++) free(f->data[i]);
}

static float at(const struct ws_ref_tensor *t, int64_t b, int64_t h, int64_t s, int64_t c) {
  return ws_ref_load((const char *)t->data + b * t->stride[0] + h * t->stride[1] + s * t->stride[2] + c * t->stride[3],
                     t->type);
}

/* The definition, word for word, in long double, without subtracting a maximum. */
static void brute(const struct ws_ref_attention *p, int64_t b, int64_t h, int64_t i, long double *o, long double *lse) {
  int64_t group = p->heads / p->kv_heads;
  long double sum = 0;
  for (int64_t c = 0; c < p->head_dim_v; c++) o[c] = 0;
  for (int64_t j = 0; j < p->keys; j++) {
    if (p->causal && j > i + (p->keys - p->queries)) continue;
    long double s = 0;
    for (int64_t c = 0; c < p->head_dim; c++)
      s += (long double)at(&p->q, b, h, i, c) * (long double)at(&p->k, b, h / group, j, c);
    long double e = expl(s * (long double)p->scale);
    sum += e;
    for (int64_t c = 0; c < p->head_dim_v; c++) o[c] += e * (long double)at(&p->v, b, h / group, j, c);
  }
  for (int64_t c = 0; c < p->head_dim_v && sum > 0; c++) o[c] /= sum;
  *lse = logl(sum);
}

static void compare(const struct ws_ref_attention *p, enum ws_ref_type type) {
  size_t rows = (size_t)(p->batch * p->heads * p->queries), n = rows * (size_t)p->head_dim_v;
  double *o = malloc(n * sizeof *o + 1), *lse = malloc(rows * sizeof *lse + 1);
  float *po = malloc(n * sizeof *po + 1), *plse = malloc(rows * sizeof *plse + 1);
  long double want[256], want_lse;
  double wrong = 0, all = 0;
  assert_true(ws_ref_attention_exact(p, o, lse) && ws_ref_attention_plain(p, type, po, plse));
  for (size_t row = 0; row < rows; row++) {
    int64_t i = (int64_t)row % p->queries, h = (int64_t)row / p->queries % p->heads,
            b = (int64_t)row / p->queries / p->heads;
    brute(p, b, h, i, want, &want_lse);
    if (isinf(want_lse))
      assert_true(lse[row] == -INFINITY && plse[row] == -INFINITY);
    else {
      assert_true(fabsl((long double)lse[row] - want_lse) < 1e-12L);
      assert_true(fabsl((long double)plse[row] - want_lse) < 1e-5L);
    }
    for (int64_t c = 0; c < p->head_dim_v; c++) {
      double w = (double)want[c], have = o[(int64_t)row * p->head_dim_v + c],
             plain = (double)po[(int64_t)row * p->head_dim_v + c];
      assert_true(fabs(have - w) < 1e-12);
      assert_true((float)plain == ws_ref_load(&(uint16_t){type == WS_REF_F16 ? ws_ref_to_f16((float)plain)
                                                                             : ws_ref_to_bf16((float)plain)},
                                              type)); /* rounded */
      wrong += (plain - w) * (plain - w);
      all += w * w;
    }
  }
  double unit = ldexp(1, -ws_ref_precision(type)); /* the plain evaluation is wrong by rounding, and by no more */
  if (all > 0) assert_true(sqrt(wrong / all) < 1.5 * unit);
  free(o);
  free(lse);
  free(po);
  free(plse);
}

static void equals_brute_force(void **state) {
  (void)state;
  static const struct {
    int64_t b, h, kv, sq, sk, d, dv;
  } shapes[] = {{1, 1, 1, 1, 1, 8, 8},   {2, 4, 2, 19, 33, 64, 64}, {1, 6, 1, 40, 17, 128, 128},
                {1, 2, 2, 5, 0, 64, 64}, {2, 2, 1, 0, 9, 64, 64},   {1, 3, 3, 33, 64, 20, 36},
                {0, 2, 2, 4, 4, 64, 64}, {1, 2, 2, 64, 3, 13, 7}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int variant = 0; variant < 8; variant++) {
      struct fixture f;
      enum ws_ref_type type = variant & 1 ? WS_REF_F16 : WS_REF_BF16;
      struct ws_ref_attention p = {
          shapes[i].b, shapes[i].h,  shapes[i].kv, shapes[i].sq,          shapes[i].sk,
          shapes[i].d, shapes[i].dv, .scale = 0.3, .causal = variant & 2, .threads = (unsigned)variant % 3};
      make(&f, p, type, variant & 4);
      compare(&f.p, type);
      drop(&f);
    }
}

struct watcher { int calls; double last; };
static void watch(void *context, double done) {
  struct watcher *w = context;
  assert_true(done > w->last && done <= 1);
  w->calls++, w->last = done;
}

/* One thread that computes: it says how far it is behind every block of rows. */
static void tells_progress(void **state) {
  (void)state;
  struct fixture f;
  struct watcher w = {0};
  make(&f, (struct ws_ref_attention){1, 2, 2, 40, 4, 8, 8, .scale = 1, .threads = 1, .progress = watch, .watcher = &w}, WS_REF_BF16, false);
  double o[2 * 40 * 8], lse[2 * 40];
  assert_true(ws_ref_attention_exact(&f.p, o, lse));
  assert_true(w.calls >= 2 && w.last == 1);
  drop(&f);
}

/* Huge scores: only the subtracted maximum keeps this finite. */
static void survives_large_scores(void **state) {
  (void)state;
  struct fixture f;
  make(&f, (struct ws_ref_attention){1, 1, 1, 3, 4, 8, 8, .scale = 4000}, WS_REF_BF16, false);
  double o[24], lse[3];
  float po[24], plse[3];
  assert_true(ws_ref_attention_exact(&f.p, o, lse) && ws_ref_attention_plain(&f.p, WS_REF_BF16, po, plse));
  for (int i = 0; i < 24; i++) assert_true(isfinite(o[i]) && isfinite(po[i]));
  for (int i = 0; i < 3; i++) assert_true(isfinite(lse[i]) && fabs(lse[i]) > 100);
  drop(&f);
}

/* A NaN key reaches the rows that see it, a NaN query its own row, and nothing else does. */
static void spreads_nan(void **state) {
  (void)state;
  struct fixture f;
  make(&f, (struct ws_ref_attention){1, 2, 1, 6, 8, 16, 16, .scale = 0.25, .causal = true}, WS_REF_F16, true);
  uint16_t nan = 0x7e00;
  memcpy(f.data[1] + 5 * f.p.k.stride[2] + 3 * f.p.k.stride[3], &nan, 2);                   /* key 5: rows 3, 4, 5 */
  memcpy(f.data[0] + 1 * f.p.q.stride[2] + f.p.q.stride[1] + 2 * f.p.q.stride[3], &nan, 2); /* query 1 of head 1 */
  double o[2 * 6 * 16], lse[12];
  float po[2 * 6 * 16], plse[12];
  assert_true(ws_ref_attention_exact(&f.p, o, lse) && ws_ref_attention_plain(&f.p, WS_REF_F16, po, plse));
  for (int row = 0; row < 12; row++) {
    bool due = row % 6 >= 3 || row == 7;
    assert_int_equal(isnan(lse[row]) != 0, due);
    assert_int_equal(isnan(plse[row]) != 0, due);
    for (int c = 0; c < 16; c++) assert_int_equal(isnan(o[row * 16 + c]) != 0, due);
  }
  drop(&f);
}

static void counts_pairs(void **state) {
  (void)state;
  for (int64_t sq = 0; sq < 9; sq++)
    for (int64_t sk = 0; sk < 9; sk++) {
      uint64_t n = 0;
      for (int64_t i = 0; i < sq; i++)
        for (int64_t j = 0; j < sk; j++) n += j <= i + (sk - sq);
      assert_int_equal(ws_ref_attention_pairs(sq, sk, true), n);
      assert_int_equal(ws_ref_attention_pairs(sq, sk, false), sq * sk);
    }
}

/* ---- random numbers ---- */

static void normal_numbers(void **state) {
  (void)state;
  double sum = 0, square = 0, fourth = 0;
  int n = 200000, beyond = 0;
  for (int i = 0; i < n; i++) {
    double x = ws_cli_normal(1, 0, (uint64_t)i);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    beyond += fabs(x) > 3;
  }
  assert_true(fabs(sum / n) < 0.01 && fabs(square / n - 1) < 0.02 && fabs(fourth / n - 3) < 0.15);
  assert_true(beyond > 400 && beyond < 680); /* 0.27 % */
  /* The same on every machine: bits written down once. */
  assert_true(ws_cli_normal(1, 0, 0) == -0x1.5d7ae81d30739p+0 && ws_cli_normal(1, 0, 1) == 0x1.535fd0b260edfp+0 &&
              ws_cli_normal(2, 3, 1000000) == -0x1.2ee1a4aba8acbp-2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(f16_round_trip),
      cmocka_unit_test(rounds_to_nearest_even),
      cmocka_unit_test(units_in_the_last_place),
      cmocka_unit_test(equals_brute_force),
      cmocka_unit_test(tells_progress), cmocka_unit_test(survives_large_scores),
      cmocka_unit_test(spreads_nan),
      cmocka_unit_test(counts_pairs),
      cmocka_unit_test(normal_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
