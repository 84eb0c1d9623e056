/* What a kernel generated with -D watchdog=SECONDS says when a wait lasts too long (gen/lower/watchdog.c): words in host memory that
 * the device writes to, put into a sentence with the help of the kernel's text. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

enum { CLAIM, LINE, BARRIER, PARITY, TILE, BLOCK, CTA, THREAD, INSTANCE };

bool ws_cli_watchdog_is(const struct ws_tensor_info *t) {
  return !strcmp(t->name, "watchdog") && t->type == WS_DTYPE_I32 && t->direction == WS_INOUT && t->rank == 1 && t->dims[0].extent == WS_CLI_WATCHDOG_WORDS;
}

int ws_cli_watchdog_open(struct ws_cli_problem *p, struct ws_device *device) {
  struct ws_error_info err;
  size_t bytes = WS_CLI_WATCHDOG_WORDS * sizeof(int32_t);
  if (!p->words && ws_host_alloc(device, bytes, &p->words, &err)) return ws_cli_runtime_fail(&err);
  memset(p->words, 0, bytes);
  return WS_CLI_OK;
}

/* The rest of the line, without what stands behind two spaces: the comment of the spec. */
static int text_length(const char *s) {
  const char *end = s + strcspn(s, "\n"), *gap = strstr(s, "  ");
  return (int)((gap && gap < end ? gap : end) - s);
}

/* The statement of that line of the spec, and the role that has it: comments of the kernel's text. */
static const char *find_statement(const char *ptx, int line, const char **role) {
  char mark[32];
  snprintf(mark, sizeof mark, "    // %d: ", line);
  *role = NULL;
  for (const char *s = strstr(ptx, "\n{\n"); s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
    if (!strncmp(s, "    // role ", 12)) *role = s + 12;
    if (!strncmp(s, mark, strlen(mark))) return s + strlen(mark);
  }
  return NULL;
}

/* "k: full", and the number of the mbarrier under that name: a slot, or an element's. */
static const char *find_barrier(const char *ptx, int at, int *number) {
  char mark[64]; /* behind the instruction, whose form depends on the target */
  snprintf(mark, sizeof mark, ".b64 [%%smem+%d],", at);
  const char *name = NULL;
  *number = -1;
  for (const char *s = strstr(ptx, "\n{\n"); s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
    if (!strncmp(s, "    // ", 7)) name = s + 7, *number = -1;
    if (strncmp(s, "    mbarrier.init.", 18)) continue;
    ++*number;
    const char *found = strstr(s, mark);
    if (found && found < s + strcspn(s, "\n")) return name;
  }
  return NULL;
}

static void print_role(const char *role, int instance) {
  int n = role ? (int)strcspn(role, "\n") : 0;
  if (!role)
    fputs("a role", stderr);
  else if (n > 3 && !strncmp(role + n - 3, "[i]", 3))
    fprintf(stderr, "`%.*s[%d]`", n - 3, role, instance);
  else
    fprintf(stderr, "`%.*s`", n, role);
}

static void print_where(const char *ptx, const int32_t *w) {
  int number;
  const char *barrier = find_barrier(ptx, w[BARRIER], &number);
  fprintf(stderr, "  parity %d of the mbarrier at byte %d of shared memory", w[PARITY], w[BARRIER]);
  if (barrier) fprintf(stderr, " (%.*s, number %d)", text_length(barrier), barrier, number);
  if (w[TILE] >= 0) fprintf(stderr, "; work tile %d", w[TILE]);
  if (w[BLOCK] >= 0) fprintf(stderr, ", block %d", w[BLOCK]);
  fprintf(stderr, "; CTA %d, thread %d\n", w[CTA], w[THREAD]);
}

void ws_cli_watchdog_report(const struct ws_cli_problem *p, const char *ptx) {
  const char *role, *file = strstr(ptx, "\n.file 1 \""), *seconds = ws_manifest_setting(p->manifest, "watchdog");
  const int32_t *w = p->words;
  if (!w || !w[CLAIM]) return;
  const char *statement = find_statement(ptx, w[LINE], &role);
  fflush(stdout);
  fputs("warpscore: error: watchdog: ", stderr);
  print_role(role, w[INSTANCE]);
  fprintf(stderr, " has waited for %s s", seconds ? seconds : "too many");
  if (file) file += 10, fprintf(stderr, ": %.*s", (int)strcspn(file, "\"\n"), file);
  fprintf(stderr, ":%d", w[LINE]);
  if (statement) fprintf(stderr, ": `%.*s`", text_length(statement), statement);
  fputc('\n', stderr);
  print_where(ptx, w);
  if (w[CLAIM] != 2) fputs("  (the report is not complete)\n", stderr);
}
