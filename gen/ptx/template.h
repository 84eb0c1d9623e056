/* Templates: the only place where PTX is written.
 *
 * A template file holds named templates. A line
 *     == NAME ARG ... [LIST FIELD ...] @VERSION : what it is for
 * starts one; the lines up to the next are its text. {{ARG}} is replaced; {{#LIST}} ... {{/LIST}} is repeated for each
 * item, whose fields are names of their own. There is no logic: every number and every repetition comes from gen/lower.
 * @VERSION is the lowest PTX ISA version that has the instructions (times ten: @71), 70 when it is not given.
 * Lines before the first `==` describe the file. May include gen/base only. */
#ifndef WS_TEMPLATE_H
#define WS_TEMPLATE_H
#include "base/diag.h"

struct ws_template_file { /* compiled in */
  const char *path, *text;
};
extern const struct ws_template_file ws_template_files[]; /* ends with a NULL path */

struct ws_templates;
struct ws_template;

/* Reads the compiled-in files; a file of the same path under dir (if not NULL) takes the place of one. A template that is
 * wrong is an error in d that names file and line. NULL after an error. */
struct ws_templates *ws_templates_load(const char *dir, struct ws_arena *a, struct ws_diags *d);

struct ws_list {          /* the items of a section, row by row: n * fields cells */
  size_t n, fields;
  const char *const *cell;
};

/* Expands a template into out. Returns its PTX version, or 0 after an error in d (unknown name, wrong number of
 * arguments: a fault of an overriding file or of the generator). */
int ws_template_expand(const struct ws_templates *t, const char *name, const char *const *args, size_t nargs,
                       const struct ws_list *lists, size_t nlists, struct ws_buf *out, struct ws_diags *d);
#endif
