/* Derived counts against those that the published kernels declare by hand, and against a count on paper: which roles arrive,
 * in which unit, from how many CTAs.
 *
 *   counts_test FOLDER */
#include "model.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const char *folder;

enum side { FULL, EMPTY, BARRIER };
static const struct expected {
  const char *spec, *schedule, *name;
  int element;
  enum side side;
  int count;
  enum ws_barrier_scope scope;
  const char *why;
} table[] = {
    /* FlashAttention-4 forward: the counts of flash_fwd_sm100. */
    {"fa4_forward", "fa4_forward", "p_ready", 0, BARRIER, 256, WS_SCOPE_CTA, "128 threads of softmax[0] and 128 of correction"},
    {"fa4_forward", "fa4_forward", "p_ready", 1, BARRIER, 256, WS_SCOPE_CTA, "128 threads of softmax[1] and 128 of correction"},
    {"fa4_forward", "fa4_forward", "p_last", 0, BARRIER, 4, WS_SCOPE_CTA, "one arrival for each of four warps"},
    {"fa4_forward", "fa4_forward", "p_last", 1, BARRIER, 4, WS_SCOPE_CTA, "one arrival for each of four warps"},
    {"fa4_forward", "fa4_forward", "s_full", 0, BARRIER, 1, WS_SCOPE_CTA, "a commit"},
    {"fa4_forward", "fa4_forward", "o_full", 1, BARRIER, 1, WS_SCOPE_CTA, "a commit"},
    {"fa4_forward", "fa4_forward", "stats_free", 0, BARRIER, 128, WS_SCOPE_CTA, "correction, by thread"},
    {"fa4_forward", "fa4_forward", "stats_full", 0, BARRIER, 64, WS_SCOPE_CTA, "named: a warp of softmax and a warp of correction"},
    {"fa4_forward", "fa4_forward", "os", 0, FULL, 128, WS_SCOPE_CTA, "correction writes O, by thread"},
    {"fa4_forward", "fa4_forward", "os", 0, EMPTY, 1, WS_SCOPE_CTA, "the storing thread"},
    {"fa4_forward", "fa4_forward", "kv", 0, FULL, 1, WS_SCOPE_CTA, "TMA: one arrival with the bytes"},
    {"fa4_forward", "fa4_forward", "kv", 0, EMPTY, 1, WS_SCOPE_CTA, "a commit"},
    /* The same over a pair: the leader's barriers collect both CTAs, commits go to both. */
    {"fa4_forward_2cta", "fa4_forward_2cta", "p_ready", 0, BARRIER, 512, WS_SCOPE_LEADER, "twice 256"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "p_last", 1, BARRIER, 8, WS_SCOPE_LEADER, "twice four warps"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "s_full", 0, BARRIER, 1, WS_SCOPE_PAIR, "one commit, issued by rank 0 for both"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "stats_free", 1, BARRIER, 128, WS_SCOPE_CTA, "own CTA only"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "kv", 0, FULL, 1, WS_SCOPE_LEADER, "the leader expects the bytes of both"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "kv", 0, EMPTY, 1, WS_SCOPE_PAIR, "one commit frees the slots of both"},
    {"fa4_forward_d256", "fa4_forward_d256", "s", 0, EMPTY, 256, WS_SCOPE_LEADER, "128 softmax threads in each CTA"},
    {"fa4_forward_d256", "fa4_forward_d256", "s", 0, FULL, 1, WS_SCOPE_PAIR, "a commit"},
    {"fa4_forward_d256", "fa4_forward_d256", "p", 0, FULL, 256, WS_SCOPE_LEADER, "128 softmax threads in each CTA"},
    {"fa4_forward_d256", "fa4_forward_d256", "p", 0, EMPTY, 1, WS_SCOPE_PAIR, "a commit"},
    {"fa4_forward_d256", "fa4_forward_d256", "st", 0, FULL, 128, WS_SCOPE_CTA, "statistics, by thread"},
    {"fa4_forward_d256", "fa4_forward_d256", "o_free", 0, BARRIER, 256, WS_SCOPE_LEADER, "128 correction threads in each CTA"},
    /* Backward. */
    {"fa4_backward", "fa4_backward", "p_ready", 0, BARRIER, 8, WS_SCOPE_CTA, "four warps of each of two groups"},
    {"fa4_backward", "fa4_backward", "ds", 0, FULL, 8, WS_SCOPE_CTA, "four warps of each of two groups"},
    {"fa4_backward", "fa4_backward", "l", 0, EMPTY, 8, WS_SCOPE_CTA, "eight warps read LSE"},
    {"fa4_backward", "fa4_backward", "dq_free", 0, BARRIER, 4, WS_SCOPE_CTA, "four warps of reduce"},
    {"fa4_backward", "fa4_backward", "e_free", 0, BARRIER, 2, WS_SCOPE_CTA, "one thread of each group"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "ds", 0, FULL, 16, WS_SCOPE_LEADER, "eight warps in each CTA"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "p_ready", 0, BARRIER, 16, WS_SCOPE_LEADER, "eight warps in each CTA"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "ds_tmem", 0, BARRIER, 16, WS_SCOPE_LEADER, "eight warps in each CTA"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "dx_both", 0, BARRIER, 2, WS_SCOPE_LEADER, "the relay of each CTA"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "dx", 0, FULL, 1, WS_SCOPE_PEER, "the bytes of the peer's copy"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "dq_free", 0, BARRIER, 8, WS_SCOPE_LEADER, "four warps of reduce in each CTA"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "e_free", 0, BARRIER, 2, WS_SCOPE_CTA, "one thread of each group, own CTA"},
    /* Hopper. */
    {"fa3_cluster", "fa3_cluster", "k", 0, EMPTY, 16, WS_SCOPE_PAIR, "eight warps in each CTA release a multicast slot"},
    {"fa3_cluster", "fa3_cluster", "q", 0, EMPTY, 8, WS_SCOPE_CTA, "eight warps"},
    {"fa3_cluster", "fa3_cluster", "turn", 0, BARRIER, 256, WS_SCOPE_CTA, "named: one group waits, the other arrives"},
    {"fa3_cluster", "fa3_cluster", "turn", 1, BARRIER, 256, WS_SCOPE_CTA, "named: one group waits, the other arrives"},
    {"fa3_forward_fp8", "fa3_forward_fp8", "vr", 0, EMPTY, 4, WS_SCOPE_CTA, "four warps transpose"},
    {"fa3_forward_fp8", "fa3_forward_fp8", "vt", 0, FULL, 128, WS_SCOPE_CTA, "four warps transpose, by thread"},
    {"fa3_forward_fp8", "fa3_forward_fp8", "vt", 0, EMPTY, 8, WS_SCOPE_CTA, "eight warps"},
    {"mla_decode", "mla_decode", "kv", 0, EMPTY, 8, WS_SCOPE_CTA, "four warps of each of two instances with code of their own"},
    {"decode_paged", "decode_paged", "k", 0, EMPTY, 4, WS_SCOPE_CTA, "four instances of one warp"},
    /* One thread commits, everybody waits. */
    {"b300_v14", "b300_v14", "qk_done", 0, BARRIER, 1, WS_SCOPE_CTA, "a commit"},
    {"b300_v16", "b300_v16", "pv_done", 0, BARRIER, 1, WS_SCOPE_CTA, "one of four instances commits"},
};

/* Bytes of a TMA fill as the waiting CTA's barrier counts them. */
static const struct fill {
  const char *spec, *schedule, *statement;
  long bytes;
  const char *why;
} fills[] = {
    {"fa4_forward", "fa4_forward", "acquire kv -> Kj", 128 * 128 * 2, "a block of K"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "acquire kv -> Kj", 2 * 64 * 128 * 2, "64 rows in each CTA, counted by the leader"},
    {"fa4_forward_2cta", "fa4_forward_2cta", "acquire kv -> Vj as [128, head_dim / 2]", 2 * 128 * 64 * 2, "64 columns in each CTA"},
    {"fa3_cluster", "fa3_cluster", "acquire k -> Kj", 128 * 128 * 2, "own half and the peer's: a whole slot in each CTA"},
    {"fa3_cluster", "fa3_cluster", "acquire q", 128 * 128 * 2, "own rows"},
    {"fa4_backward", "fa4_backward", "acquire l -> Lm", 128 * 4, "a row vector of f32"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "acquire dx", 128 * 64 * 2, "one half of dS, from the peer"},
    {"decode_paged", "decode_paged", "acquire k -> Kj", 64 * 128 * 2, "a page"},
    {"mla_decode", "mla_decode", "acquire kv -> Cj", 64 * 576 * 2, "latent and rope"},
};

/* What a CTA takes. */
static const struct size {
  const char *spec, *schedule;
  int threads, tmem;
  long buffers;
  int named;
} sizes[] = {
    {"b300_v14", "b300_v14", 128, 64, 82432, 1},           {"b300_v16", "b300_v16", 512, 128, 82432, 5},
    {"fa1_forward", "fa1_forward", 128, 0, 65536, 1}, {"fa2_forward", "fa2_forward", 128, 0, 98304, 1},
    {"fa3_cluster", "fa3_cluster", 384, 0, 196608, 5}, {"fa3_forward_fp8", "fa3_forward_fp8", 384, 0, 221184, 5},
    {"fa4_forward", "fa4_forward", 512, 512, 231424, 9}, {"fa4_forward_2cta", "fa4_forward_2cta", 512, 512, 231424, 9},
    {"fa4_forward_d256", "fa4_forward_d256", 384, 512, 131584, 1}, {"fa4_backward", "fa4_backward", 512, 512, 231424, 5},
    {"fa4_backward_2cta", "fa4_backward_2cta", 512, 512, 230400, 5}, {"mla_decode", "mla_decode", 384, 0, 229632, 2},
    {"decode_paged", "decode_paged", 160, 0, 168960, 2}, /* the last vector of 64 bytes padded to 128 */
};

/* The n-th place of a statement (in the order of the programs, `each` expanded): groups behind an awaited one, or how a sum
 * starts. */
static const struct nth {
  const char *spec, *schedule, *statement;
  int n, groups;
  enum ws_start start;
  const char *why;
} places[] = {
    {"fa3_cluster", "fa3_cluster", "await S", 0, 0, WS_START_UNKNOWN, "first block: nothing behind S"},
    {"fa3_cluster", "fa3_cluster", "await S", 1, 1, WS_START_UNKNOWN, "P V of the block before runs behind S"},
    {"fa3_cluster", "fa3_cluster", "await O", 0, 0, WS_START_UNKNOWN, "the last group"},
    {"fa4_backward", "fa4_backward", "await Rs[(b + 1) % 2]", 0, 1, WS_START_UNKNOWN, "the reduction from the other buffer is younger"},
    {"fa4_backward", "fa4_backward", "await Ev.cols(w of 2)", 0, 1, WS_START_UNKNOWN, "dK is stored behind dV"},
    {"fa4_backward_2cta", "fa4_backward_2cta", "await Rs[(b + 1) % 4]", 3, 6, WS_START_UNKNOWN, "two reductions from each of three younger buffers"},
    {"fa4_forward", "fa4_forward", "await Os[i]", 0, 1, WS_START_UNKNOWN, "the other half's store is younger"},
    {"fa1_forward", "fa1_forward", "wait k", 0, 2, WS_START_UNKNOWN, "V and the first Q are younger"},
    {"fa4_forward_d256", "fa4_forward_d256", "Sn += Q[h] @ K.T", 0, -1, WS_STARTS, "the first half of the head dim starts the sum"},
    {"fa4_forward_d256", "fa4_forward_d256", "Sn += Q[h] @ K.T", 1, -1, WS_ADDS, "the second half adds"},
    {"fa4_forward", "fa4_forward", "O[i] += P[i].cols(0..95) @ V.rows(0..95)", 0, -1, WS_STARTS_BY_PATH, "a tile's first block starts the sum"},
    {"fa4_forward", "fa4_forward", "O[i] += P[i].cols(96..127) @ V.rows(96..127)", 0, -1, WS_ADDS, "the last quarter of P adds"},
    {"fa4_backward", "fa4_backward", "dV += P @ dO", 0, -1, WS_STARTS, "before the loop"},
    {"fa4_backward", "fa4_backward", "dV += P @ dO", 1, -1, WS_ADDS, "in the loop"},
    {"fa4_backward", "fa4_backward", "dK += dS @ Qc", 0, -1, WS_STARTS_BY_PATH, "in the loop, the first time"},
};

static const struct ws_schedule *load(struct model *m, const char *spec, const char *schedule) {
  size_t len;
  char *text = model_read(folder, spec, &len);
  model_build(m, spec, text, len, NULL, 0);
  if (!model_ok(m)) fail_msg("%s", model_errors(m));
  for (size_t i = 0; i < m->ndocs; i++)
    if (!strcmp(m->doc[i]->name, schedule)) return m->doc[i];
  fail_msg("%s: no schedule %s", spec, schedule);
  return NULL;
}

static void check_count(const struct ws_schedule *s, const struct expected *e) {
  int have = -1;
  enum ws_barrier_scope scope = WS_SCOPE_CTA;
  for (int i = 0; e->side != BARRIER && i < s->npipelines; i++) {
    const struct ws_pipelinem *p = &s->pipelines[i];
    if (strcmp(p->name, e->name)) continue;
    have = (e->side == FULL ? p->full_count : p->empty_count)[e->element], scope = e->side == FULL ? p->full : p->empty;
  }
  for (int i = 0; e->side == BARRIER && i < s->nbarriers; i++)
    if (!strcmp(s->barriers[i].name, e->name)) have = s->barriers[i].arrivals[e->element], scope = s->barriers[i].scope;
  if (have != e->count || scope != e->scope)
    fail_msg("%s: %s[%d]: count %d scope %s, expected %d %s: %s", e->spec, e->name, e->element, have, ws_scope_name(scope), e->count, ws_scope_name(e->scope), e->why);
}

static void counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct model m;
    check_count(load(&m, table[i].spec, table[i].schedule), &table[i]);
    model_free(&m);
  }
}

struct look {
  const char *statement;
  long bytes;
  int found;
};

static void look_at(void *ctx, struct ws_act *a) {
  struct look *l = ctx;
  if (a->kind != WS_S_ACQUIRE || strcmp(a->src->text, l->statement)) return;
  if (l->found++ && a->bytes != l->bytes) fail_msg("%s: %ld and %ld bytes", l->statement, l->bytes, a->bytes);
  l->bytes = a->bytes;
}

static void bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
    struct model m;
    const struct ws_schedule *s = load(&m, fills[i].spec, fills[i].schedule);
    struct look l = {.statement = fills[i].statement};
    for (int k = 0; k < s->nprograms; k++) ws_each_act(s->programs[k].body, look_at, &l);
    if (!l.found || l.bytes != fills[i].bytes) fail_msg("%s: `%s`: %ld bytes, expected %ld: %s", fills[i].spec, l.statement, l.bytes, fills[i].bytes, fills[i].why);
    model_free(&m);
  }
}

struct seek {
  const char *statement;
  int n;
  const struct ws_act *found;
};

static void seek(void *ctx, struct ws_act *a) {
  struct seek *k = ctx;
  if (!strcmp(a->src->text, k->statement) && k->n-- == 0) k->found = a;
}

static void groups_and_starts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    struct model m;
    const struct ws_schedule *s = load(&m, places[i].spec, places[i].schedule);
    struct seek k = {places[i].statement, places[i].n, NULL};
    for (int p = 0; p < s->nprograms; p++) ws_each_act(s->programs[p].body, seek, &k);
    if (!k.found || k.found->wait_groups != places[i].groups || k.found->start != places[i].start)
      fail_msg("%s: `%s` number %d: groups %d, start %d; expected %d, %d: %s", places[i].spec, places[i].statement, places[i].n, k.found ? k.found->wait_groups : -2,
               k.found ? (int)k.found->start : -1, places[i].groups, (int)places[i].start, places[i].why);
    model_free(&m);
  }
}

static void budgets(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct model m;
    const struct ws_schedule *s = load(&m, sizes[i].spec, sizes[i].schedule);
    if (s->threads != sizes[i].threads || s->tmem_cols != sizes[i].tmem || s->buffer_bytes != sizes[i].buffers || s->named != sizes[i].named)
      fail_msg("%s: %d threads, %d columns, %ld bytes, %d named barriers; expected %d, %d, %ld, %d", sizes[i].spec, s->threads, s->tmem_cols, s->buffer_bytes, s->named,
               sizes[i].threads, sizes[i].tmem, sizes[i].buffers, sizes[i].named);
    model_free(&m);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(bytes), cmocka_unit_test(groups_and_starts), cmocka_unit_test(budgets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
