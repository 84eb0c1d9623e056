/* The table of keys as a JSON Schema (draft 2020-12), for editors. It covers keys and closed words; expressions and
 * statements are text there, which only the reader understands. */
#include "spec/keys.h"
#include "spec/syntax.h"
#include <string.h>

#define NAME "[A-Za-z_][A-Za-z0-9_]*"

static void text(struct ws_buf *out, const char *s) { /* the table's texts hold no character below space */
  ws_buf_puts(out, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') ws_buf_puts(out, "\\");
    ws_buf_add(out, s, 1);
  }
  ws_buf_puts(out, "\"");
}

static void line(struct ws_buf *out, int level) { ws_buf_printf(out, "\n%*s", level * 2, ""); }

static void words(struct ws_buf *out, const char *const *w) {
  ws_buf_puts(out, "\"enum\": [");
  for (size_t i = 0; w[i]; i++) {
    if (i) ws_buf_puts(out, ", ");
    if (!strcmp(w[i], "true") || !strcmp(w[i], "false")) ws_buf_puts(out, w[i]); /* what other readers make of the text */
    else text(out, w[i]);
  }
  ws_buf_puts(out, "]");
}

static const char *const expression = "{\"$ref\": \"#/$defs/expression\"}";
static const char *const name = "{\"$ref\": \"#/$defs/name\"}";

static void record(struct ws_buf *out, const struct ws_record *rec, int level);

/* A mapping of names to what `value` prints. */
static void open_mapping(struct ws_buf *out, bool array) {
  ws_buf_printf(out, "\"type\": \"object\", \"minProperties\": 1, \"propertyNames\": {\"pattern\": \"^%s%s$\"}, \"additionalProperties\": ", NAME,
                array ? "( *\\\\[.+\\\\])?" : "");
}

static void table(struct ws_buf *out, const struct ws_record *rec, int level) {
  open_mapping(out, rec->count != WS_NO_OFFSET);
  if (rec->scalar != WS_NO_OFFSET) ws_buf_printf(out, "{\"anyOf\": [%s, ", expression);
  ws_buf_puts(out, "{");
  record(out, rec, level);
  ws_buf_puts(out, rec->scalar != WS_NO_OFFSET ? "}]}" : "}");
}

static void value(struct ws_buf *out, const struct ws_key *k, int level) {
  switch (k->kind) {
    case WS_K_NAME: ws_buf_puts(out, "\"type\": \"string\", \"pattern\": \"^" NAME "$\""); break;
    case WS_K_DOTTED: ws_buf_puts(out, "\"type\": \"string\", \"pattern\": \"^" NAME "(\\\\." NAME ")*$\""); break;
    case WS_K_NAMES: ws_buf_printf(out, "\"anyOf\": [%s, {\"type\": \"array\", \"minItems\": 1, \"items\": %s}]", name, name); break;
    case WS_K_WORD:
    case WS_K_FLAG: words(out, k->words); break;
    case WS_K_EXPR: /* a word, or an expression over parameters */
      ws_buf_puts(out, "\"anyOf\": [");
      if (k->words) {
        ws_buf_puts(out, "{");
        words(out, k->words);
        ws_buf_puts(out, "}, ");
      }
      ws_buf_printf(out, "%s]", expression);
      break;
    case WS_K_EXPRS: ws_buf_printf(out, "\"anyOf\": [%s, {\"type\": \"array\", \"minItems\": 1, \"items\": %s}]", expression, expression); break;
    case WS_K_LIST: ws_buf_printf(out, "\"type\": \"array\", \"minItems\": 1, \"items\": %s", expression); break;
    case WS_K_TILE: ws_buf_printf(out, "\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, \"items\": %s", expression); break;
    case WS_K_PAIRS:
      open_mapping(out, false);
      ws_buf_puts(out, expression);
      break;
    case WS_K_ENDS:
      ws_buf_printf(out, "\"anyOf\": [%s, {\"type\": \"array\", \"minItems\": 1, \"items\": %s}, {", name, name);
      open_mapping(out, false);
      ws_buf_puts(out, "{");
      words(out, k->words);
      ws_buf_puts(out, "}}]");
      break;
    case WS_K_SECTION: record(out, k->record, level); break;
    case WS_K_TABLE: table(out, k->record, level); break;
    case WS_K_PROGRAMS:
      open_mapping(out, true);
      ws_buf_puts(out, "{\"$ref\": \"#/$defs/block\"}");
      break;
  }
}

static void record(struct ws_buf *out, const struct ws_record *rec, int level) {
  const char *sep = "";
  ws_buf_puts(out, "\"type\": \"object\", \"additionalProperties\": false, \"required\": [");
  for (size_t i = 0; i < rec->nkeys; i++) {
    if (!rec->keys[i].required) continue;
    ws_buf_puts(out, sep);
    text(out, rec->keys[i].name);
    sep = ", ";
  }
  ws_buf_puts(out, "],");
  line(out, level);
  ws_buf_puts(out, "\"properties\": {");
  for (size_t i = 0; i < rec->nkeys; i++) {
    line(out, level + 1);
    text(out, rec->keys[i].name);
    ws_buf_puts(out, ": {\"description\": ");
    text(out, rec->keys[i].doc);
    ws_buf_puts(out, ", ");
    value(out, &rec->keys[i], level + 2);
    ws_buf_puts(out, i + 1 < rec->nkeys ? "}," : "}");
  }
  line(out, level);
  ws_buf_puts(out, "}");
}

void ws_spec_schema(struct ws_buf *out) {
  ws_buf_puts(out, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"warpscore schedule\",\n  ");
  record(out, &ws_document_record, 1);
  ws_buf_puts(out, ",\n  \"$defs\": {\n"
                   "    \"name\": {\"type\": \"string\", \"pattern\": \"^" NAME "$\"},\n"
                   "    \"expression\": {\"type\": [\"string\", \"number\", \"boolean\"]},\n"
                   "    \"block\": {\"type\": \"array\", \"minItems\": 1, \"items\": {\"anyOf\": [\n"
                   "      {\"type\": \"string\", \"pattern\": \"^[A-Za-z_]\"},\n"
                   "      {\"type\": \"object\", \"minProperties\": 1, \"additionalProperties\": false, \"patternProperties\": {\n"
                   "        \"^(for|each|if|elif) .+$|^one +thread$|^else$\": {\"$ref\": \"#/$defs/block\"}}}]}}\n"
                   "  }\n}\n");
}
