/* Memory runs out at an allocation of a compile, once and for good: ws_compile says so, and nothing is left behind.
 *
 *   gen_oom MOST TEMPLATES FILE...
 *
 * At every allocation, or where a compile has more than MOST at so many of them, other ones in each file; once more with templates
 * read from a folder, every eighth file.
 *
 * Linked with --wrap=calloc,malloc,realloc,fopen,fclose: the arena's memory, and the files of overriding templates. */
#include "compile.h"
#include "corpus.h"
#include <stdio.h>
#include <stdlib.h>

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

static bool run_out(const struct corpus_file *f, const char *templates, long most, long shift) {
  bool oom = true, good = true;
  calls = 0;
  if (!attempt(f, templates, -1, &oom) || oom) return false;
  long n = calls, step = (n + most - 1) / most;
  for (long i = step > 1 ? shift % step : 0; i < n && good; i += step) {
    good = attempt(f, templates, i, &oom);
    if (good && !oom) good = fprintf(stderr, "%s: %ld of %ld allocations suffice, but nothing was said\n", f->path, i, n) < 0;
  }
  printf("%s: %ld allocations%s\n", f->path, n, templates ? ", templates from a folder" : "");
  return good && n > 0;
}

int main(int argc, char **argv) {
  long most = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
  if (most < 1) return fprintf(stderr, "usage: gen_oom MOST TEMPLATES FILE...\n"), 2;
  bool good = true;
  for (int i = 3; i < argc; i++) {
    struct corpus_file f = corpus_read(argv[i]);
    good = run_out(&f, NULL, most, i) && (i % 8 != 3 || run_out(&f, argv[2], most, i + 1)) && good;
    free(f.text);
  }
  return !good;
}
