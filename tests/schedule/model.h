/* tests/schedule: a spec to its model, for the programs of this folder. */
#ifndef WS_TEST_MODEL_H
#define WS_TEST_MODEL_H
#include "schedule/schedule.h"

struct model {
  struct ws_arena arena;
  struct ws_diags diags;
  struct ws_source source;
  struct ws_spec *spec;         /* NULL when it does not read */
  struct ws_schedule *doc[8];   /* a document's model, NULL when it does not build */
  size_t ndocs;
  char *text;                   /* owned */
};

/* Reads folder/specs/NAME.yaml. Exits with a message when that fails: a test without its input has failed. */
char *model_read(const char *folder, const char *name, size_t *len);
/* Builds the model of every document of a text (taken over); -D definitions apply to the documents that have the parameter. */
void model_build(struct model *m, const char *path, char *text, size_t len, const struct ws_define *defs, size_t ndefs);
bool model_ok(const struct model *m);
void model_free(struct model *m);
const char *model_errors(struct model *m);
extern const char *const model_specs[]; /* the specs of this folder, NULL-terminated */
#endif
