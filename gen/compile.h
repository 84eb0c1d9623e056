/* The generator as a library: one call from the text of a spec to the text of a kernel.
 *
 * Thread-safe: no global state; each call has its own arena, which the caller frees. */
#ifndef WS_COMPILE_H
#define WS_COMPILE_H
#include "base/diag.h"

struct ws_define {        /* -D name=value */
  const char *name, *value;
};

struct ws_schedule;

/* CHECK: all errors, budgets, verdict; SCHEDULE: the model as text, lowered or not; PTX: the kernel. */
enum ws_compile_stage { WS_STAGE_CHECK, WS_STAGE_SCHEDULE, WS_STAGE_PTX };

struct ws_compile_options {
  enum ws_compile_stage stage;
  const struct ws_define *defines;
  size_t ndefines;
  const char *target;         /* one of the spec's targets; NULL = its first */
  const char *templates_dir;  /* NULL = the templates compiled in; files there override them */
  bool no_play;               /* leave the protocol unchecked: the verdict is `incomplete`, the manifest says `checked: no` */
  bool strict;                /* what rests on an assumption is `review` (gen/play/play.h) */
};

struct ws_kernel_text {
  const char *name;           /* the schedule's name, which is the entry's name */
  const char *ptx;            /* WS_STAGE_PTX: manifest and code */
  size_t ptx_len;
  const char *dump;           /* WS_STAGE_SCHEDULE and later: the model as text */
  const char *budget;         /* one line a budget, and the verdict in the last, for `check` */
  struct ws_schedule *model;  /* what the text was made from; lives in the arena */
};

struct ws_compiled {
  struct ws_kernel_text *kernels; /* one a document */
  size_t n;
};

/* Compiles src. All strings live in a. Findings go to d; the result is NULL exactly when d->errors > 0. Returns NULL with
 * *oom = true when memory ran out. */
struct ws_compiled *ws_compile(const struct ws_source *src, const struct ws_compile_options *opt, struct ws_arena *a,
                               struct ws_diags *d, bool *oom);
#endif
