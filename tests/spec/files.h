/* Files and folders for the test programs. */
#ifndef WS_TEST_FILES_H
#define WS_TEST_FILES_H
#include <stddef.h>

char *read_file(const char *path, size_t *len);               /* malloc'ed and terminated; NULL when there is none */
int write_file(const char *path, const char *s, size_t len);  /* 0 = written */
char **list_files(const char *dir, const char *ending, size_t *n); /* sorted paths, malloc'ed */
void free_files(char **files, size_t n);
const char *base_name(const char *path);
#endif
