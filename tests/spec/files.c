#include "files.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *read_file(const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t n = 0, cap = 4096;
  char *s = malloc(cap + 1);
  for (size_t got; s && (got = fread(s + n, 1, cap - n, f)) > 0;) {
    n += got;
    if (n == cap) s = realloc(s, (cap *= 2) + 1);
  }
  fclose(f);
  if (s) s[n] = 0;
  *len = n;
  return s;
}

int write_file(const char *path, const char *s, size_t len) {
  FILE *f = fopen(path, "wb");
  if (!f) return 1;
  size_t put = fwrite(s, 1, len, f);
  return fclose(f) || put != len;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **list_files(const char *dir, const char *ending, size_t *n) {
  DIR *d = opendir(dir);
  char **files = NULL;
  *n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t len = strlen(e->d_name), m = strlen(ending);
    if (len <= m || strcmp(e->d_name + len - m, ending)) continue;
    files = realloc(files, (*n + 1) * sizeof *files);
    size_t size = strlen(dir) + len + 2;
    files[*n] = malloc(size);
    snprintf(files[(*n)++], size, "%s/%s", dir, e->d_name);
  }
  if (d) closedir(d);
  if (*n) qsort(files, *n, sizeof *files, by_text);
  return files;
}

void free_files(char **files, size_t n) {
  for (size_t i = 0; i < n; i++) free(files[i]);
  free(files);
}

const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
