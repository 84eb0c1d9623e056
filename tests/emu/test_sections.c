/* A test for every section of the PTX ISA that the instruction table names: each of its rows has been run, in a kernel that ended well, by
 * one of the emulator's tests. These write the numbers of their rows to DIRECTORY/NAME.txt (harness.c), one a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include "isa.h"

static bool run[4096];
/* Nothing that has one of the first two ends well; the others leave no instruction of their own behind when a kernel is decoded
 * (test_warp.c: test_calls). */
static const char *const excuses[] = {"trap", "brkpt", "call", "ret"};

static bool excused(const struct isa_row *r) {
  for (size_t i = 0; i < sizeof excuses / sizeof *excuses; i++)
    if (!strcmp(r->mnemonic, excuses[i])) return true;
  return false;
}
static void test_section(void **state) {
  const char *section = *state;
  int missing = 0;
  for (size_t i = 0; i < ws_emu_isa_rows; i++) {
    const struct isa_row *r = &ws_emu_isa[i];
    if (strcmp(r->section, section) || run[i] || excused(r)) continue;
    print_message("no test runs '%s %s'\n", r->mnemonic, r->modifiers);
    missing++;
  }
  assert_int_equal(missing, 0);
}

static int read_rows(const char *directory) {
  int files = 0;
  DIR *dir = opendir(directory);
  if (!dir) return 0;
  for (struct dirent *e; (e = readdir(dir));) {
    char path[2048];
    unsigned long row;
    if (!strstr(e->d_name, ".txt")) continue;
    snprintf(path, sizeof path, "%s/%.200s", directory, e->d_name);
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%lu", &row) == 1)
      if (row < sizeof run) run[row] = true;
    if (f) fclose(f), files++;
  }
  closedir(dir);
  return files;
}

int main(int argc, char **argv) {
  size_t n = 0;
  struct CMUnitTest *tests = calloc(ws_emu_isa_rows, sizeof *tests);
  if (argc != 2 || !tests || !read_rows(argv[1])) return fprintf(stderr, "usage: test_emu_sections DIRECTORY (with the rows that tests have run)\n"), 2;
  for (size_t i = 0; i < ws_emu_isa_rows; i++) {
    size_t k = 0;
    while (k < n && strcmp(tests[k].name, ws_emu_isa[i].section)) k++;
    if (k == n) tests[n++] = (struct CMUnitTest){ws_emu_isa[i].section, test_section, NULL, NULL, (void *)(uintptr_t)ws_emu_isa[i].section};
  }
  int failed = _cmocka_run_group_tests("emu.sections", tests, n, NULL, NULL);
  free(tests);
  return failed;
}
