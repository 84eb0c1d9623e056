/* spec_libfuzzer CORPUS: the coverage-guided fuzzer on the same conditions as spec_fuzz. */
#include "fuzz_check.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *wrong = fuzz_check((const char *)data, size);
  if (wrong) {
    fprintf(stderr, "%s\n", wrong);
    abort();
  }
  return 0;
}
