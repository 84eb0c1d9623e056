/* warpscore check SPEC: all that is wrong with a spec, its budgets, the verdict. */
#include "cli.h"
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: warpscore check [OPTIONS] SPEC\n\n"
    "Reads a spec (- = standard input), types it and budgets it. Prints every error with its place to stderr, then "
    "one\n"
    "line a budget and the verdict to stdout. Exit code 0 for the verdicts clean and review, 1 otherwise.\n\n"
    "options:\n" WS_CLI_SPEC_HELP
    "      --format text|json|sarif\n"
    "                           json: one object with diagnostics, budgets and verdict on stdout; sarif: the\n"
    "                           diagnostics as SARIF 2.1.0, for code hosts and editors\n"
    "      --help               this text\n";

/* The word behind the last "verdict: " at the start of a line; "" without one. */
static void verdict_of(const char *budget, char *out, size_t size) {
  snprintf(out, size, "%s", "");
  for (const char *line = budget; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (!strncmp(line, "verdict: ", 9)) snprintf(out, size, "%.*s", (int)strcspn(line + 9, " \n"), line + 9);
}

/* Whether --kernel, if it is given, means this one. */
static bool meant(const struct ws_kernel_text *k, const char *kernel) { return !kernel || !strcmp(k->name, kernel); }

static bool accepted(const char *budget) {
  char word[32];
  verdict_of(budget ? budget : "", word, sizeof word);
  return !strcmp(word, "clean") || !strcmp(word, "review");
}

static int print_text(struct ws_cli_unit *u, const char *kernel, int code) {
  char *said = ws_cli_diagnostics(u, false);
  ws_cli_say(said);
  free(said);
  for (size_t i = 0; u->compiled && i < u->compiled->n; i++) {
    const struct ws_kernel_text *k = &u->compiled->kernels[i];
    if (!meant(k, kernel)) continue;
    if (u->compiled->n > 1 && !kernel) printf("%s%s:\n", i ? "\n" : "", k->name);
    if (k->budget) fputs(k->budget, stdout);
    if (!accepted(k->budget)) code = WS_CLI_REJECTED;
  }
  if (!u->compiled) puts("verdict: error");
  return code;
}

static json_t *lines_of(const char *text) {
  json_t *lines = json_array();
  while (text && *text) {
    size_t n = strcspn(text, "\n");
    json_array_append_new(lines, json_stringn(text, n));
    text += n + (text[n] == '\n');
  }
  return lines;
}

static int print_json(struct ws_cli_unit *u, const char *kernel, int code) {
  char *said = ws_cli_diagnostics(u, true);
  json_t *root = json_object(), *kernels = json_array(), *diagnostics = said ? json_loads(said, 0, NULL) : NULL;
  free(said);
  json_object_set_new(root, "diagnostics", diagnostics ? diagnostics : json_array());
  for (size_t i = 0; u->compiled && i < u->compiled->n; i++) {
    const struct ws_kernel_text *k = &u->compiled->kernels[i];
    char word[32];
    if (!meant(k, kernel)) continue;
    verdict_of(k->budget ? k->budget : "", word, sizeof word);
    json_array_append_new(
        kernels, json_pack("{s:s, s:o, s:s}", "name", k->name, "budget", lines_of(k->budget), "verdict", word));
    if (!accepted(k->budget)) code = WS_CLI_REJECTED;
  }
  json_object_set_new(root, "kernels", kernels);
  json_dumpf(root, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(root);
  return code;
}

static int print_sarif(struct ws_cli_unit *u, const char *kernel, int code) {
  char *said = ws_cli_sarif(u);
  if (!said) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  fputs(said, stdout);
  free(said);
  for (size_t i = 0; u->compiled && i < u->compiled->n; i++)
    if (meant(&u->compiled->kernels[i], kernel) && !accepted(u->compiled->kernels[i].budget)) code = WS_CLI_REJECTED;
  return code;
}

int ws_cli_check(int argc, char **argv) {
  static const struct option options[] = {WS_CLI_SPEC_OPTIONS, {"help", no_argument, NULL, 'h'}, {0}};
  struct ws_cli_spec_options o = {.takes_sarif = true};
  for (int c; (c = ws_cli_next_option(argc, argv, ":D:h", options)) != -1;) {
    int taken = ws_cli_spec_option(&o, c, optarg);
    if (taken < 0) return WS_CLI_USAGE;
    if (taken) continue;
    if (c != 'h') return WS_CLI_USAGE;
    fputs(help_text, stdout);
    return WS_CLI_OK;
  }
  if (argc - optind != 1) return ws_cli_fail(WS_CLI_USAGE, "check takes one spec; see `warpscore check --help`");
  struct ws_cli_unit u;
  int code = ws_cli_compile(argv[optind], &o, WS_STAGE_CHECK, &u);
  if (code == WS_CLI_OK && o.kernel && !ws_cli_pick(&u, &o))
    code = WS_CLI_USAGE;
  else if (u.text)
    code = (o.sarif ? print_sarif : o.json ? print_json : print_text)(&u, o.kernel, code);
  ws_cli_unit_free(&u);
  return code;
}
