/* The entry points of the reader. */
#include "spec/reader.h"

struct ws_spec *ws_spec_read(const struct ws_source *src, struct ws_arena *a, struct ws_diags *d) {
  struct ws_reader r;
  if (!ws_reader_open(&r, src->text, src->len, a, d)) return NULL;
  size_t n;
  struct ws_node **root = ws_yaml_read(&r, &n);
  struct ws_spec *s = WS_NEW(a, struct ws_spec);
  s->docs = WS_NEW_N(a, struct ws_document, n);
  for (size_t i = 0; i < n; i++) {
    if (root[i]->kind != WS_NODE_MAP) {
      if (root[i]->kind == WS_NODE_SCALAR || root[i]->kind == WS_NODE_LIST)
        ws_reader_error(&r, root[i]->pos, "bad-value", "a document is a mapping that begins with `schedule: NAME`");
      continue;
    }
    s->docs[s->ndocs].source = src;
    ws_read_document(&r, root[i], &s->docs[s->ndocs++]);
  }
  if (!n && !d->errors) ws_error(d, (struct ws_pos){0, 0, 0}, "empty", "the file is empty: a spec begins with `schedule: NAME`");
  return s->ndocs ? s : NULL;
}

struct ws_expr *ws_spec_parse_expr(const char *text, struct ws_arena *a, struct ws_diags *d) {
  struct ws_reader r;
  struct ws_parser p;
  size_t len = 0;
  while (len <= WS_SOURCE_MAX && text[len]) len++;
  if (!ws_reader_open(&r, text, len, a, d)) return NULL;
  ws_parser_open(&p, &r, 0, len);
  struct ws_expr *e = ws_parse_expr(&p);
  ws_expect_end(&p, "the value");
  return p.failed ? NULL : e;
}
