/* make_npy FILE B H S D SEED [INDEX VALUE]...: a .npy of N(0,1) values, some of them replaced (nan, inf, a number). */
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc < 7 || argc % 2 == 0) return 2;
  struct ws_cli_array a = {.rank = 4};
  int64_t n = 1;
  for (int i = 0; i < 4; i++) n *= a.shape[i] = atoll(argv[2 + i]);
  a.data = malloc((size_t)n * sizeof *a.data + 1);
  if (!a.data) return 3;
  for (int64_t i = 0; i < n; i++) a.data[i] = (float)ws_cli_normal((uint64_t)atoll(argv[6]), 0, (uint64_t)i);
  for (int i = 7; i + 1 < argc; i += 2) {
    int64_t at = atoll(argv[i]);
    if (at >= 0 && at < n) a.data[at] = strtof(argv[i + 1], NULL);
  }
  bool good = ws_cli_npy_write(argv[1], &a);
  free(a.data);
  return good ? 0 : 3;
}
