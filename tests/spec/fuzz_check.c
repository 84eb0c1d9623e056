#include "fuzz_check.h"
#include "dump.h"
#include <string.h>

static bool inside(const struct ws_source *src, struct ws_pos p) {
  if (!p.line) return true;
  const char *s = src->text, *end = src->text + src->len;
  for (uint32_t i = 1; i < p.line; i++) {
    s = memchr(s, '\n', (size_t)(end - s));
    if (!s) return false;
    s++;
  }
  const char *nl = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
  size_t n = (size_t)((nl ? nl : end) - s);
  return p.col >= 1 && p.col - 1 <= n && p.col - 1 + p.len <= n;
}

static const char *check_diags(const struct ws_diags *d) {
  size_t errors = 0;
  for (size_t i = 0; i < d->n; i++) {
    errors += d->list[i].severity == WS_ERROR;
    if (!inside(d->source, d->list[i].pos)) return "a finding lies outside of the file";
    if (!d->list[i].message || !*d->list[i].message) return "a finding has no message";
    if (i && d->list[i].severity != WS_NOTE && d->list[i - 1].severity != WS_NOTE && d->list[i].pos.line < d->list[i - 1].pos.line) return "the findings are not sorted";
  }
  return errors + d->hidden != d->errors ? "the errors are miscounted" : NULL;
}

static const char *check(const char *text, size_t len, struct ws_arena *a) {
  struct ws_source src = {"x.yaml", text, len};
  struct ws_diags d = {.arena = a, .source = &src};
  struct ws_buf out = {.arena = a}, json = {.arena = a}, once = {.arena = a}, twice = {.arena = a}, tree = {.arena = a}, tree2 = {.arena = a};
  struct ws_spec *s = ws_spec_read(&src, a, &d);
  const char *wrong = check_diags(&d);
  ws_diags_print(&d, &out);
  ws_diags_json(&d, &json);
  if (wrong) return wrong;
  if (!s) return d.errors ? NULL : "no tree and no error";
  ws_spec_print(s, &once);
  dump_spec(s, true, &tree);
  if (d.errors) return NULL;
  struct ws_source src2 = {"x.yaml", once.s ? once.s : "", once.n};
  struct ws_diags d2 = {.arena = a, .source = &src2};
  struct ws_spec *s2 = ws_spec_read(&src2, a, &d2);
  if (!s2 || d2.errors) return "the canonical text is refused";
  ws_spec_print(s2, &twice);
  if (strcmp(once.s, twice.s)) return "printing twice gives two texts";
  tree.n = 0;
  dump_spec(s, false, &tree);
  dump_spec(s2, false, &tree2);
  return strcmp(tree.s, tree2.s) ? "the canonical text reads as another tree" : NULL;
}

const char *fuzz_check(const char *text, size_t len) {
  struct ws_arena a = {0};
  if (setjmp(a.oom)) {
    ws_arena_free(&a);
    return "no memory";
  }
  const char *wrong = check(text, len, &a);
  ws_arena_free(&a);
  return wrong;
}
