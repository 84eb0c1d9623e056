/* emu_libfuzzer_{parse,run,table} CORPUS: the coverage-guided fuzzer on texts that are listed without running, on texts whose kernel k runs,
 * and on kernels made of the instruction table (generate.h). PTX of tests/emu/data is a corpus for the first two. */
#include "generate.h"
#include "wsemu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARSE, RUN, TABLE };
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  wsemuSetOption("watchdog", "0.05");
  wsemuSetOption("threads", "1");
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[1 << 16];
  static const char *const schedules[] = {"early", "late", "random:3"};
  const char *wrong = NULL;
  bool ran;
  if (size >= sizeof text) return 0;
  if (FUZZ == TABLE) {
    if (!generate_kernel(data, size, text, sizeof text)) return 0;
  } else {
    memcpy(text, data, size);
    text[size] = 0;
  }
  if (FUZZ == PARSE) {
    static char list[4096];
    size_t length = 0;
    if (wsemuListUnsupported(text, list, sizeof list, &length) && !length) wrong = "a refusal without a reason";
  } else {
    wsemuSetOption("schedule", schedules[size % 3]);
    wsemuSetOption("uninitialised", size % 8 ? "warn" : "error");
    wrong = generate_run(text, true, &ran);
  }
  if (wrong) {
    fprintf(stderr, "%s\n%s\n", wrong, text);
    abort();
  }
  return 0;
}
