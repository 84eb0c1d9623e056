/* Diagnostics as SARIF 2.1.0. A note with a place is a related location; one without is a further line of the message. */
#include "diag.h"
#include <string.h>

/* A relative or absolute path as a URI reference (RFC 3986): other bytes than these are escaped. */
static void put_uri(struct ws_buf *out, const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  ws_buf_puts(out, "\"");
  for (; *path; path++)
    if (strchr(plain, *path)) ws_buf_add(out, path, 1);
    else ws_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*path);
  ws_buf_puts(out, "\"");
}

/* The column in characters: SARIF does not count bytes. */
static uint32_t character(const struct ws_source *src, uint32_t line, uint32_t col) {
  const char *s = src->text, *end = s + src->len;
  for (uint32_t i = 1; i < line && s; i++) {
    s = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
    if (s) s++;
  }
  if (!s || !col) return 1;
  uint32_t n = 1;
  for (uint32_t i = 0; i + 1 < col && s + i < end; i++) n += ((unsigned char)s[i] & 0xc0) != 0x80;
  return n;
}

static void put_place(struct ws_buf *out, const struct ws_diags *d, struct ws_pos pos) {
  ws_buf_puts(out, "\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
  put_uri(out, d->source && d->source->path ? d->source->path : "-");
  ws_buf_puts(out, "}");
  if (pos.line && d->source)
    ws_buf_printf(out, ", \"region\": {\"startLine\": %u, \"startColumn\": %u, \"endColumn\": %u}", pos.line, character(d->source, pos.line, pos.col),
                  character(d->source, pos.line, pos.col + (pos.len ? pos.len : 1)));
  ws_buf_puts(out, "}");
}

static const char *rule_of(const struct ws_diag *x) { return x->code ? x->code : "warpscore"; }

/* Each kind of finding once. */
static void put_rules(struct ws_buf *out, const struct ws_diags *d) {
  bool first = true;
  for (size_t i = 0; i < d->n; i++) {
    bool seen = d->list[i].severity == WS_NOTE;
    for (size_t k = 0; k < i && !seen; k++) seen = d->list[k].severity != WS_NOTE && !strcmp(rule_of(&d->list[k]), rule_of(&d->list[i]));
    if (seen) continue;
    ws_buf_puts(out, first ? "{\"id\": " : ", {\"id\": ");
    ws_buf_json(out, rule_of(&d->list[i]));
    ws_buf_puts(out, "}");
    first = false;
  }
}

static void put_message(struct ws_buf *out, const struct ws_diags *d, size_t first, size_t end) {
  struct ws_buf text = {.arena = out->arena};
  ws_buf_puts(&text, d->list[first].message);
  for (size_t i = first + 1; i < end; i++)
    if (!d->list[i].pos.line) ws_buf_printf(&text, "\n%s", d->list[i].message);
  ws_buf_puts(out, "\"message\": {\"text\": ");
  ws_buf_json(out, text.s);
  ws_buf_puts(out, "}");
}

static void put_related(struct ws_buf *out, const struct ws_diags *d, size_t first, size_t end) {
  int n = 0;
  for (size_t i = first + 1; i < end; i++) {
    if (!d->list[i].pos.line) continue;
    ws_buf_printf(out, "%s{\"id\": %d, ", n ? ", " : ", \"relatedLocations\": [", n + 1);
    n++;
    put_place(out, d, d->list[i].pos);
    ws_buf_puts(out, ", \"message\": {\"text\": ");
    ws_buf_json(out, d->list[i].message);
    ws_buf_puts(out, "}}");
  }
  if (n) ws_buf_puts(out, "]");
}

void ws_diags_sarif(const struct ws_diags *d, const char *version, struct ws_buf *out) {
  ws_buf_puts(out, "{\n\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n\"version\": \"2.1.0\",\n\"runs\": [{\n");
  ws_buf_puts(out, "\"tool\": {\"driver\": {\"name\": \"warpscore\", \"version\": ");
  ws_buf_json(out, version);
  ws_buf_puts(out, ", \"rules\": [");
  put_rules(out, d);
  ws_buf_puts(out, "]}},\n\"columnKind\": \"unicodeCodePoints\",\n\"results\": [");
  for (size_t i = 0, end; i < d->n; i = end) {
    for (end = i + 1; end < d->n && d->list[end].severity == WS_NOTE;) end++;
    ws_buf_printf(out, "%s\n  {\"ruleId\": ", i ? "," : "");
    ws_buf_json(out, rule_of(&d->list[i]));
    ws_buf_printf(out, ", \"level\": \"%s\", ", d->list[i].severity == WS_ERROR ? "error" : "warning");
    put_message(out, d, i, end);
    ws_buf_puts(out, ", \"locations\": [{");
    put_place(out, d, d->list[i].pos);
    ws_buf_puts(out, "}]");
    put_related(out, d, i, end);
    ws_buf_puts(out, "}");
  }
  ws_buf_puts(out, d->n ? "\n]\n}]\n}\n" : "]\n}]\n}\n");
}
