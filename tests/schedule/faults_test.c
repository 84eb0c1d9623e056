/* Faults planted into the schedules that types, counts and budgets cannot see: each is a well-typed schedule that is wrong in
 * its order or its contents. They build today; the player has to find them, and what it finds belongs into the last column.
 * Faults that the model finds stand in bad/ with their messages.
 *
 *   faults_test FOLDER */
#include "model.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

enum { EDITS = 3 };
static const struct fault {
  const char *name, *spec;
  struct edit {
    const char *old, *new; /* every occurrence */
  } edit[EDITS];
  const char *what;
} faults[] = {
    {"contiguous columns", "fa4_backward", {{"2 * h + w of 4", "2 * w + h of 4"}}, "dS of one group lands on dP that the other has not read: two races"},
    {"store without a tile", "fa4_forward",
     {{"  store:\n    - for t in work:\n        - if kv(t):\n", "  store:\n    - for t in work:\n        - if t >= 0:\n"}},
     "an empty tile has no O to store: deadlock"},
    {"two arrivals at an empty tile", "fa4_forward", {{"            - store -inf -> lse[t]\n", "            - store -inf -> lse[t]\n            - each i in 0..1:\n                - arrive p_ready[i]\n"}},
     "p_ready counts twice where two empty tiles follow each other"},
    {"half a barrier", "fa4_backward", {{"if h == 0:\n                        - sync compute", "if h == 0 and w == 0:\n                        - sync compute"}}, "one group skips a barrier of two"},
    {"wait for K first", "fa4_forward",
     {{"                - wait kv -> V                             # of the block before j\n", "                - wait kv -> V\n                - wait kv -> K\n"},
      {"                    - if i == 0:\n                        - wait kv -> K                     # of block j\n                      else:\n                        - release V\n", ""}},
     "V of the block before is never released"},
    {"repack without await", "fa3_forward_fp8", {{"- await O\n", "- sync warp\n"}}, "registers of a wgmma in flight are rewritten"},
    {"a look-ahead too long", "fa2_forward", {{"next(j, stages - 1)", "next(j, stages)"}}, "the slot of a block holds the one behind it"},
    {"wrong columns of P", "fa4_forward", {{"@ V.rows(96..127)", "@ V.rows(64..95)"}}, "the contracted keys of P and V differ"},
    {"no open barrier", "fa4_forward", {{"to: softmax, open: true}", "to: softmax}"}}, "the first wait of the softmax waits for ever"},
    {"K and V swapped", "fa4_forward", {{"load k[t, j] -> Kj", "load v[t, j] -> Kj"}, {"load v[t, j] -> Vj", "load k[t, j] -> Vj"}}, "scores of V, values of K"},
    {"V of this block", "fa3_cluster", {{"v[t, prev(j)]", "v[t, j]"}}, "V runs one block behind K"},
    {"rows of the other group", "fa4_forward", {{"mask(x, q[t].rows(i of 2), k[t, j])", "mask(x, q[t].rows(1 - i of 2), k[t, j])"}}, "x holds rows of group i"},
};

/* Text with every occurrence of old replaced. Frees text. */
static char *replaced(char *text, const struct edit *e, int *count) {
  size_t old = strlen(e->old), new = strlen(e->new), len = strlen(text);
  char *out = malloc(len + 64 * (new + 1) + 1), *o = out;
  *count = 0;
  for (const char *p = text; *p;) {
    if (!strncmp(p, e->old, old) && *count < 64) {
      memcpy(o, e->new, new);
      o += new, p += old, ++*count;
    } else
      *o++ = *p++;
  }
  *o = 0;
  free(text);
  return out;
}

static void for_the_player(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const struct fault *f = &faults[i];
    size_t len;
    char *text = model_read(folder, f->spec, &len);
    for (int k = 0; k < EDITS && f->edit[k].old; k++) {
      int n;
      text = replaced(text, &f->edit[k], &n);
      if (!n) fail_msg("%s: `%s` is not in %s", f->name, f->edit[k].old, f->spec);
    }
    struct model m;
    model_build(&m, f->spec, text, strlen(text), NULL, 0);
    if (!model_ok(&m)) fail_msg("%s is found without playing: move it to bad/\n%s", f->name, model_errors(&m));
    model_free(&m);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(for_the_player)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
