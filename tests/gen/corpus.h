/* tests/gen: files for the programs below, read once. */
#ifndef WS_TEST_CORPUS_H
#define WS_TEST_CORPUS_H
#include <stddef.h>

struct corpus_file {
  const char *path;
  char *text;
  size_t len;
};

/* Exits with a message when a file cannot be read: a test without its input has failed. */
struct corpus_file corpus_read(const char *path);
#endif
