/* The checker alone, also for schedules that no target lowers yet and for explicit forms.
 *
 *   judge [-D NAME=VALUE]... SPEC      findings to standard error, the verdict to standard output
 *
 * Exit code 1 for errors, 0 for any other verdict: `incomplete` says that nothing is known to be wrong. */
#include "play/play.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 17, DEFINES = 8 };

static bool slurp(const char *path, char *out) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  out[fread(out, 1, SIZE - 1, f)] = 0;
  fclose(f);
  return true;
}

static int judge(const struct ws_source *src, const struct ws_define *defines, size_t n) {
  struct ws_arena a = {0};
  struct ws_diags d = {.arena = &a, .source = src};
  volatile enum ws_verdict worst = WS_CLEAN;
  if (setjmp(a.oom)) return 3;
  struct ws_spec *spec = ws_spec_read(src, &a, &d);
  for (size_t i = 0; spec && !d.errors && i < spec->ndocs; i++) {
    struct ws_play_options opt = {0};
    const struct ws_schedule *s = ws_schedule_build(&spec->docs[i], src, NULL, defines, n, &a, &d);
    if (!s) continue;
    struct ws_play_result r = ws_play(s, &opt, &a, &d);
    if (r.verdict > worst) worst = r.verdict;
    if (r.verdict == WS_INCOMPLETE || r.needs_single) fputs(r.notes, stdout);
  }
  if (d.errors) worst = WS_VERDICT_ERROR;
  struct ws_buf b = {.arena = &a};
  ws_buf_puts(&b, "");
  ws_diags_print(&d, &b);
  fputs(b.s, stderr);
  printf("verdict: %s\n", ws_verdict_name(worst));
  ws_arena_free(&a);
  return worst == WS_VERDICT_ERROR;
}

int main(int argc, char **argv) {
  static char text[SIZE];
  struct ws_define defines[DEFINES];
  size_t n = 0;
  int i = 1;
  for (; i + 1 < argc && !strcmp(argv[i], "-D") && n < DEFINES; i += 2) {
    char *value = strchr(argv[i + 1], '=');
    if (!value) return 2;
    *value++ = 0;
    defines[n++] = (struct ws_define){argv[i + 1], value};
  }
  if (i + 1 != argc || !slurp(argv[i], text)) return fputs("usage: judge [-D NAME=VALUE]... SPEC\n", stderr), 2;
  struct ws_source src = {argv[i], text, strlen(text)};
  return judge(&src, defines, n);
}
