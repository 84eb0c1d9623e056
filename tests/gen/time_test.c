/* A spec becomes PTX in under 10 ms: the best of 30 compiles, in time of the processor, so that a busy machine does not decide.
 *
 *   gen_time FILE... */
#include "compile.h"
#include "corpus.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) { /* of this thread alone */
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv) {
  int bad = 0, kernels = 0;
  for (int i = 1; i < argc; i++) {
    struct corpus_file f = corpus_read(argv[i]);
    double best = 1e9;
    for (int k = 0; k < 30; k++) {
      struct ws_arena a = {0};
      struct ws_diags d = {0};
      struct ws_source src = {.path = f.path, .text = f.text, .len = f.len};
      struct ws_compile_options opt = {.stage = WS_STAGE_PTX, .no_play = true};
      bool oom;
      double start = now();
      struct ws_compiled *c = ws_compile(&src, &opt, &a, &d, &oom);
      double time = now() - start;
      if (time < best) best = time;
      kernels += c != NULL; /* a spec that is refused is timed, too */
      ws_arena_free(&a);
    }
    printf("%s: %.2f ms\n", f.path, best);
    bad |= best >= 10;
    free(f.text);
  }
  return bad || !kernels;
}
