/* What manifest.c (lines, order, completeness) and manifest_values.c (the values of the keys) share. */
#ifndef WS_RUNTIME_MANIFEST_H
#define WS_RUNTIME_MANIFEST_H
#include "runtime.h"

struct ws_rt_reader {
  struct ws_manifest *m;
  const char *text, *end; /* the whole kernel */
  const char *next;       /* the line after this one */
  struct ws_rt_cursor c;  /* the rest of the current line's value */
  int line;
  const char *key;
  bool data_seen[WS_RT_MAX_TENSORS];
  struct ws_error_info *err;
};

/* An error in the current line. */
enum ws_status ws_rt_bad_line(struct ws_rt_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline int ws_rt_shown(size_t n) { return n > 80 ? 80 : (int)n; } /* how much of a strange word a message repeats */

struct ws_rt_key {
  const char *name;
  bool required, repeats;
  enum ws_status (*parse)(struct ws_rt_reader *r); /* takes r->c to the end of the value */
};
enum { WS_RT_KEYS = 17 };
extern const struct ws_rt_key ws_rt_keys[WS_RT_KEYS];
#endif
