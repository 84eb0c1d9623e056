/* Memory runs out at an allocation of a compile, once and for good: ws_compile says so, and nothing is left behind.
 *
 *   gen_oom [--sample N] TEMPLATES FILE...    at every allocation; or at about N of each file, evenly spaced, others in each file
 *
 * Linked with --wrap=calloc,malloc,realloc,fopen,fclose: the arena's memory, and the files of overriding templates. */
#include "compile.h"
#include "corpus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *f);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *f);

static long budget = -1; /* allocations that still succeed; -1 = all */
static long calls, open_files;

static int denied(void) {
  calls++;
  if (budget < 0) return 0;
  if (budget == 0) return 1;
  budget--;
  return 0;
}

void *__wrap_calloc(size_t n, size_t size) { return denied() ? NULL : __real_calloc(n, size); }
void *__wrap_malloc(size_t size) { return denied() ? NULL : __real_malloc(size); }
void *__wrap_realloc(void *p, size_t size) { return denied() ? NULL : __real_realloc(p, size); }
FILE *__wrap_fopen(const char *path, const char *mode) {
  FILE *f = __real_fopen(path, mode);
  open_files += f != NULL;
  return f;
}
int __wrap_fclose(FILE *f) {
  open_files--;
  return __real_fclose(f);
}

static bool attempt(const struct corpus_file *f, const char *templates, long allowed, bool *oom) {
  struct ws_arena a = {0};
  struct ws_diags d = {0};
  struct ws_source src = {.path = f->path, .text = f->text, .len = f->len};
  struct ws_compile_options opt = {.stage = WS_STAGE_PTX, .templates_dir = templates};
  budget = allowed;
  struct ws_compiled *c = ws_compile(&src, &opt, &a, &d, oom);
  budget = -1;
  bool good = *oom ? c == NULL : (c == NULL) == (d.errors > 0);
  ws_arena_free(&a);
  if (!good) fprintf(stderr, "%s: %ld allocations: result and errors disagree\n", f->path, allowed);
  if (open_files) fprintf(stderr, "%s: %ld allocations: %ld files left open\n", f->path, allowed, open_files);
  return good && !open_files;
}

/* At every step-th allocation; the phase, in percent of a step, says which. */
static bool allocations(const struct corpus_file *f, const char *templates, long sample, long phase) {
  bool oom = true, good = true;
  calls = 0;
  if (!attempt(f, templates, -1, &oom) || oom) return false;
  long n = calls, step = sample && n > sample ? n / sample : 1, tried = 0;
  for (long i = step * phase / 100; i < n && good; i += step, tried++) {
    good = attempt(f, templates, i, &oom);
    if (good && !oom) good = fprintf(stderr, "%s: %ld of %ld allocations suffice, but nothing was said\n", f->path, i, n) < 0;
  }
  printf("%s: %ld of %ld allocations%s\n", f->path, tried, n, templates ? ", templates from a folder" : "");
  return good && tried > 0;
}

int main(int argc, char **argv) {
  long sample = argc > 2 && !strcmp(argv[1], "--sample") ? atol(argv[2]) : 0;
  int first = sample ? 3 : 1;
  if (argc < first + 2) return fprintf(stderr, "usage: gen_oom [--sample N] TEMPLATES FILE...\n"), 2;
  bool good = true;
  for (int i = first + 1; i < argc; i++) {
    struct corpus_file f = corpus_read(argv[i]);
    good = allocations(&f, NULL, sample, i * 37L % 100) && allocations(&f, argv[first], sample, (i * 37L + 50) % 100) && good;
    free(f.text);
  }
  return !good;
}
