/* Every choice of every parameter of every spec types; a spec printed in canonical form has the same model; a spec with any
 * one line of a program left out is refused or has a model that prints.
 *
 *   forms_test FOLDER */
#include "model.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

/* --- choices --- */

struct choice {
  const char *name;
  size_t n;
  char value[40][32];
};

static size_t choices_of(struct model *m, struct choice *out, size_t max) {
  size_t n = 0;
  for (size_t d = 0; d < m->spec->ndocs; d++)
    for (size_t i = 0; i < m->spec->docs[d].nparams && n < max; i++) {
      const struct ws_param *p = &m->spec->docs[d].params[i];
      bool known = false, boolean = p->type && !strcmp(p->type, "bool");
      for (size_t k = 0; k < n; k++) known |= !strcmp(out[k].name, p->name);
      if (known || (!p->nchoices && !boolean)) continue;
      struct choice *c = &out[n++];
      c->name = p->name, c->n = 0;
      for (size_t k = 0; k < p->nchoices && c->n < 40; k++) {
        struct ws_buf b = {.arena = &m->arena};
        ws_expr_print(p->choices[k], &b);
        snprintf(c->value[c->n++], sizeof *c->value, "%s", b.s);
      }
      if (boolean) {
        strcpy(c->value[c->n++], "false");
        strcpy(c->value[c->n++], "true");
      }
    }
  return n;
}

/* Combinations that ask for more shared memory than a CTA has, and no others do. */
static const struct {
  const char *spec, *all_of[3];
} too_much[] = {
    {"fa2_forward", {" head_dim=128 ", " stages=3 ", " block_n=128 "}},
    {"fa3_forward", {" head_dim=128 ", " block_n=176 "}},
    {"fa4_forward", {" head_dim=96 ", " kv_stages=6 "}},
    {"fa4_forward", {" head_dim=96 ", " kv_stages=10 "}},
    {"fa4_forward", {" head_dim=128 ", " kv_stages=4 "}},
    {"fa4_forward", {" head_dim=128 ", " kv_stages=6 "}},
    {"fa4_forward", {" head_dim=128 ", " kv_stages=10 "}},
};

static bool fits(const char *spec, const char *all) {
  for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
    bool match = !strcmp(too_much[i].spec, spec);
    for (int k = 0; k < 3 && too_much[i].all_of[k]; k++) match = match && strstr(all, too_much[i].all_of[k]);
    if (match) return false;
  }
  return true;
}

static void every_choice(void **state) {
  (void)state;
  size_t built = 0, refused = 0;
  for (const char *const *spec = model_specs; *spec; spec++) {
    static struct choice c[16];
    size_t len, n, index[16] = {0};
    struct model first;
    char *text = model_read(folder, *spec, &len);
    model_build(&first, *spec, text, len, NULL, 0);
    assert_true(model_ok(&first));
    n = choices_of(&first, c, 16);
    for (;;) {
      struct ws_define defs[16];
      char all[512] = "";
      for (size_t i = 0; i < n; i++) {
        defs[i] = (struct ws_define){c[i].name, c[i].value[index[i]]};
        snprintf(all + strlen(all), sizeof all - strlen(all), " %s=%s ", c[i].name, c[i].value[index[i]]);
      }
      struct model m;
      char *copy = malloc(first.source.len + 1);
      memcpy(copy, first.source.text, first.source.len + 1);
      model_build(&m, *spec, copy, first.source.len, defs, n);
      bool ok = model_ok(&m);
      if (ok != fits(*spec, all) || (!ok && !strstr(model_errors(&m), "shared memory: the buffers need"))) fail_msg("%s%s: %s", *spec, all, model_errors(&m));
      *(ok ? &built : &refused) += 1;
      model_free(&m);
      size_t i = 0;
      while (i < n && ++index[i] == c[i].n) index[i++] = 0;
      if (i == n) break;
    }
    model_free(&first);
  }
  print_message("%zu combinations type, %zu ask for more than an SM has\n", built, refused);
}

/* --- canonical form --- */

/* The dump without what printing changes: line numbers and the text of a statement. */
static char *without_source(const char *dump) {
  char *out = malloc(strlen(dump) + 1), *o = out;
  for (const char *p = dump; *p;) {
    const char *nl = strchr(p, '\n'), *end = nl ? nl + 1 : p + strlen(p), *q = p;
    while (*q == ' ') *o++ = *q++;
    const char *digits = q;
    while (q < end && *q >= '0' && *q <= '9') q++;
    if (q > digits && *q == ':') {
      q++;
      while (q < end && *q != '\n' && !(q[0] == ' ' && q[1] == ' ')) q++;
    } else
      q = digits;
    while (q < end) *o++ = *q++;
    p = end;
  }
  *o = 0;
  return out;
}

static void canonical_form(void **state) {
  (void)state;
  for (const char *const *spec = model_specs; *spec; spec++) {
    size_t len;
    struct model m, again;
    char *text = model_read(folder, *spec, &len);
    model_build(&m, *spec, text, len, NULL, 0);
    assert_true(model_ok(&m));
    struct ws_buf printed = {.arena = &m.arena};
    ws_spec_print(m.spec, &printed);
    char *copy = malloc(printed.n + 1);
    memcpy(copy, printed.s, printed.n + 1);
    model_build(&again, "printed", copy, printed.n, NULL, 0);
    if (!model_ok(&again)) fail_msg("%s: %s", *spec, model_errors(&again));
    for (size_t i = 0; i < m.ndocs; i++) {
      struct ws_buf a = {.arena = &m.arena}, b = {.arena = &again.arena};
      ws_schedule_dump(m.doc[i], &a);
      ws_schedule_dump(again.doc[i], &b);
      char *x = without_source(a.s), *y = without_source(b.s);
      assert_string_equal(x, y);
      assert_true(strlen(x) > 100);
      free(x), free(y);
    }
    model_free(&m), model_free(&again);
  }
}

/* --- a line left out --- */

static void left_out(void **state) {
  (void)state;
  size_t found = 0, silent = 0;
  for (const char *const *spec = model_specs; *spec; spec++) {
    size_t len;
    char *text = model_read(folder, *spec, &len), *p = strstr(text, "programs:");
    while (p && (p = strchr(p, '\n'))) {
      char *line = p + 1, *end = strchr(line, '\n'), *dash = line + strspn(line, " ");
      p = line;
      if (!end) break;
      if (*dash != '-' || end[-1] == ':') continue;
      size_t cut = (size_t)(end + 1 - line), before = (size_t)(line - text);
      char *copy = malloc(len + 1);
      memcpy(copy, text, before);
      memcpy(copy + before, end + 1, len - before - cut + 1);
      struct model m;
      model_build(&m, *spec, copy, len - cut, NULL, 0);
      if (model_ok(&m)) {
        struct ws_buf b = {.arena = &m.arena};
        for (size_t i = 0; i < m.ndocs; i++) ws_schedule_dump(m.doc[i], &b), ws_schedule_budget(m.doc[i], &b);
        assert_true(b.n > 100);
        silent++;
      } else {
        assert_true(m.diags.errors > 0);
        found++;
      }
      model_free(&m);
    }
    free(text);
  }
  print_message("%zu of %zu lines are missed at once; the others are for the player\n", found, found + silent);
  assert_true(found > silent / 4);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_choice), cmocka_unit_test(canonical_form), cmocka_unit_test(left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
