/* Diagnostics: every error of a file, each with its place, collected and printed together.
 *
 * A message names the place and the remedy. The list is kept sorted by position, equal entries are dropped. */
#ifndef WS_DIAG_H
#define WS_DIAG_H
#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

/* A place in a source file: line and byte column, both from 1; line 0 = the whole file. len = bytes to underline (0 = one). */
struct ws_pos {
  uint32_t line, col, len;
};

enum ws_severity { WS_ERROR, WS_WARNING, WS_NOTE }; /* a note belongs to the error or warning before it */

struct ws_diag {
  enum ws_severity severity;
  struct ws_pos pos;
  const char *code;    /* stable name of the kind of finding, e.g. "unknown-name"; a string literal */
  const char *message; /* without a full stop */
};

struct ws_source {
  const char *path;    /* as the user gave it; only for messages and .file */
  const char *text;
  size_t len;
};

struct ws_diags {
  struct ws_arena *arena;
  const struct ws_source *source;
  struct ws_diag *list;
  size_t n, cap;
  size_t errors;
  size_t groups;       /* errors and warnings in the list; past 200 they are only counted, in hidden */
  size_t hidden;
  size_t last;         /* the group that notes belong to; private to diag.c */
};

/* Adds a finding. The message is formatted into the arena. */
void ws_error(struct ws_diags *d, struct ws_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void ws_warning(struct ws_diags *d, struct ws_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void ws_note(struct ws_diags *d, struct ws_pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The nearest of n names by edit distance if it is near enough to suggest (distance <= 1 + len/4), else NULL. */
const char *ws_nearest(const char *name, const char *const *names, size_t n);

/* Text form: "path:line:col: error: message", the source line, a caret with the underline. Groups (an error with its
 * notes) are sorted by position. JSON form: one array of objects. SARIF 2.1.0 (OASIS) is what code hosts and editors read: one
 * run, a result for each error or warning; version is the tool's. */
void ws_diags_print(const struct ws_diags *d, struct ws_buf *out);
void ws_diags_json(const struct ws_diags *d, struct ws_buf *out);
void ws_diags_sarif(const struct ws_diags *d, const char *version, struct ws_buf *out);
void ws_buf_json(struct ws_buf *out, const char *s); /* as a JSON string, in quotes */
#endif
