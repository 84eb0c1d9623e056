/* How much memory there is: what the machine has free, or what the process's control group or limits leave of it (proc(5),
 * "Control Group v2", getrlimit(2)). */
#include "cli.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The number behind a word at the start of a line, or alone in the file (word ""); -1 where there is none. */
static double number_in(const char *path, const char *word) {
  char line[256];
  double v = -1;
  FILE *f = fopen(path, "r");
  if (!f) return -1;
  while (v < 0 && fgets(line, sizeof line, f)) {
    char *end, *at = line + strlen(word);
    if (strncmp(line, word, strlen(word))) continue;
    v = strtod(at, &end);
    if (end == at) v = -1;
  }
  fclose(f);
  return v;
}

double ws_cli_memory_left(void) {
  double left = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  double most = number_in("/sys/fs/cgroup/memory.max", "");
  double used = number_in("/sys/fs/cgroup/memory.current", "");
  double cached = number_in("/sys/fs/cgroup/memory.stat", "inactive_file "); /* given back when somebody asks */
  struct rlimit limit;
  if (most > 0 && used >= 0) {
    double of_group = most - used + (cached > 0 ? cached : 0);
    if (left < 0 || of_group < left) left = of_group > 0 ? of_group : 1;
  }
  if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY && (left < 0 || (double)limit.rlim_cur < left)) left = (double)limit.rlim_cur;
  return left > 0 ? left : 0;
}
