#include "corpus.h"
#include <stdio.h>
#include <stdlib.h>

struct corpus_file corpus_read(const char *path) {
  struct corpus_file f = {.path = path};
  FILE *in = fopen(path, "rb");
  enum { MOST = 1 << 20 };
  f.text = malloc(MOST);
  if (!in || !f.text || !(f.len = fread(f.text, 1, MOST - 1, in))) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  f.text[f.len] = 0;
  fclose(in);
  return f;
}
