/* spec_oom_test FILE...: reads each file with the arena out of memory after every allocation that it makes, and
 * in between; whoever holds libyaml's objects then must have freed them (LeakSanitizer says so in sanitized builds). */
#include "files.h"
#include "spec/syntax.h"
#include <stdio.h>
#include <stdlib.h>

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static size_t left = (size_t)-1; /* callocs that succeed */

void *__wrap_calloc(size_t n, size_t size) {
  if (!left) return NULL;
  left--;
  return __real_calloc(n, size);
}

/* Whether the file could be read with `blocks` blocks of memory, of which `used` bytes are gone already. */
static bool try(const char *text, size_t len, size_t blocks, size_t used, bool *tree) {
  struct ws_arena *a = malloc(sizeof *a);
  *a = (struct ws_arena){0};
  volatile bool done = false; /* across the longjmp */
  left = blocks;
  if (!setjmp(a->oom)) {
    struct ws_source src = {"x.yaml", text, len};
    struct ws_diags d = {.arena = a, .source = &src};
    (void)ws_alloc(a, used);
    *tree = ws_spec_read(&src, a, &d) != NULL;
    done = true;
  }
  left = (size_t)-1;
  ws_arena_free(a);
  free(a);
  return done;
}

int main(int argc, char **argv) {
  int failures = argc < 2;
  for (int i = 1; i < argc; i++) {
    size_t len, refused = 0, last = 0;
    char *text = read_file(argv[i], &len);
    bool tree = false;
    for (size_t blocks = 0; text && blocks < 64; blocks++) {
      bool done = false;
      for (size_t used = 16; used < 64 * 1024; used += blocks ? 208 : 64 * 1024) {
        done = try(text, len, blocks, used, &tree);
        refused += !done;
        last = blocks;
      }
      if (done) break;
    }
    printf("%s: out of memory %zu times, read with %zu blocks\n", argv[i], refused, last);
    if (!text || !tree || refused < 100) failures++;
    free(text);
  }
  return failures != 0;
}
