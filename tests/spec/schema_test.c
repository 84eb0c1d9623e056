/* The JSON Schema is JSON, every reference in it resolves, and every key is described and may stand in a spec. */
#include "spec/syntax.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int failures, keys;

static void fail(const char *where, const char *what) {
  printf("FAIL %s: %s\n", where, what);
  failures++;
}

static void walk(json_t *root, json_t *x, const char *where) {
  const char *key;
  json_t *v;
  size_t i;
  const char *ref = json_string_value(json_object_get(x, "$ref"));
  if (ref && (strncmp(ref, "#/$defs/", 8) || !json_object_get(json_object_get(root, "$defs"), ref + 8))) fail(ref, "refers to nothing");
  json_object_foreach(json_object_get(x, "properties"), key, v) {
    const char *doc = json_string_value(json_object_get(v, "description"));
    if (!doc || strlen(doc) < 10 || doc[strlen(doc) - 1] != '.') fail(key, "has no description");
    keys++;
  }
  json_array_foreach(json_object_get(x, "required"), i, v)
    if (!json_object_get(json_object_get(x, "properties"), json_string_value(v))) fail(json_string_value(v), "is required and no key");
  json_object_foreach(x, key, v) if (json_is_object(v)) walk(root, v, key);
  else if (json_is_array(v)) {
    json_t *item;
    json_array_foreach(v, i, item) walk(root, item, where);
  }
}

int main(void) {
  struct ws_arena a = {0};
  if (setjmp(a.oom)) return 1;
  struct ws_buf out = {.arena = &a};
  json_error_t error;
  ws_spec_schema(&out);
  json_t *schema = json_loads(out.s, JSON_REJECT_DUPLICATES, &error);
  if (!schema) fail("schema", error.text);
  else walk(schema, schema, "schema");
  if (keys < 45) fail("schema", "lacks keys");
  printf("%d keys, %d failures\n", keys, failures);
  json_decref(schema);
  ws_arena_free(&a);
  return failures != 0;
}
