/* What manifest.c (lines, order, completeness), manifest_values.c (the values of the keys) and manifest_map.c (those of
 * tensor maps) share. */
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
  bool map_passed[WS_RT_MAX_MAPS];
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
enum { WS_RT_KEYS = 21 };
extern const struct ws_rt_key ws_rt_keys[WS_RT_KEYS];

/* ---- manifest_values.c, for manifest_map.c ---- */
const char *ws_rt_keep(struct ws_manifest *m, const char *s, size_t n); /* a copy that lives as long as the manifest */
bool ws_rt_find_tensor(const struct ws_manifest *m, const char *s, size_t n, size_t *index);

/* ---- manifest_map.c ---- */
enum ws_status ws_rt_map_value(struct ws_rt_reader *r);
enum ws_status ws_rt_map_param(struct ws_rt_reader *r, struct ws_rt_param *p); /* behind 'param: map' */
enum ws_status ws_rt_check_maps(struct ws_rt_reader *r);                       /* at the end: what only all lines tell */
#endif
