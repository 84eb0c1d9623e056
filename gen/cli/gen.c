/* warpscore gen SPEC: the PTX text of a kernel, its machine code, or the model as text. */
#include "cli.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: warpscore gen [OPTIONS] SPEC\n\n"
    "Turns a spec (- = standard input) into a PTX kernel. Files are written whole or not at all.\n\n"
    "options:\n"
    "  -o, --output FILE        write the PTX text to FILE (default: standard output)\n" WS_CLI_SPEC_HELP
    "      --dump schedule      print the model instead of PTX: names, types, layouts, budgets\n"
    "      --cubin FILE         assemble with ptxas ($PTXAS, $PATH, /usr/local/cuda/bin) into FILE, print its messages "
    "to\n"
    "                           stderr; no PTX on standard output unless -o asks for it. Exit code 4 without ptxas\n"
    "      --format text|json   diagnostics (on stderr) as text or as one JSON array\n"
    "      --help               this text\n";

struct request {
  struct ws_cli_spec_options spec;
  const char *output, *cubin;
  bool dump;
};

/* The target that the kernel's own manifest names. */
static int assemble(const struct ws_kernel_text *k, const char *path) {
  struct ws_manifest *m;
  struct ws_error_info err;
  char *cubin = NULL;
  size_t length = 0;
  if (ws_manifest_parse(k->ptx, k->ptx_len, &m, &err))
    return ws_cli_fail(WS_CLI_INTERNAL, "%s: %s", k->name, err.message);
  int code = ws_cli_assemble(k->ptx, k->ptx_len, ws_manifest_kernel(m)->target, &cubin, &length);
  if (code == WS_CLI_OK && !ws_cli_write_file(path, cubin, length)) code = WS_CLI_USAGE;
  free(cubin);
  ws_manifest_free(m);
  return code;
}

static int write_kernel(const struct request *r, const struct ws_kernel_text *k) {
  int code = WS_CLI_OK;
  if (r->dump && !k->dump) return ws_cli_fail(WS_CLI_INTERNAL, "%s: no model", k->name);
  if (r->dump) return ws_cli_write_file(r->output, k->dump, strlen(k->dump)) ? WS_CLI_OK : WS_CLI_USAGE;
  if (r->cubin) code = assemble(k, r->cubin);
  if (code != WS_CLI_OK || (r->cubin && !r->output)) return code;
  return ws_cli_write_file(r->output, k->ptx, k->ptx_len) ? WS_CLI_OK : WS_CLI_USAGE;
}

static int generate(const struct request *r, const char *path) {
  struct ws_cli_unit u;
  int code = ws_cli_compile(path, &r->spec, r->dump ? WS_STAGE_SCHEDULE : WS_STAGE_PTX, &u);
  char *said = u.text ? ws_cli_diagnostics(&u, r->spec.json) : NULL;
  ws_cli_say(said);
  free(said);
  const struct ws_kernel_text *k = code == WS_CLI_OK ? ws_cli_pick(&u, &r->spec) : NULL;
  if (k)
    code = write_kernel(r, k);
  else if (code == WS_CLI_OK)
    code = WS_CLI_USAGE;
  ws_cli_unit_free(&u);
  return code;
}

int ws_cli_gen(int argc, char **argv) {
  static const struct option options[] = {WS_CLI_SPEC_OPTIONS,
                                          {"output", required_argument, NULL, 'o'},
                                          {"dump", required_argument, NULL, 'd'},
                                          {"cubin", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
  struct request r = {0};
  for (int c; (c = ws_cli_next_option(argc, argv, ":D:o:h", options)) != -1;) {
    int taken = ws_cli_spec_option(&r.spec, c, optarg);
    if (taken < 0) return WS_CLI_USAGE;
    if (taken) continue;
    switch (c) {
    case 'o': r.output = optarg; break;
    case 'c': r.cubin = optarg; break;
    case 'd':
      if (strcmp(optarg, "schedule")) return ws_cli_fail(WS_CLI_USAGE, "--dump %s: expected schedule", optarg);
      r.dump = true;
      break;
    case 'h': fputs(help_text, stdout); return WS_CLI_OK;
    default: return WS_CLI_USAGE;
    }
  }
  if (argc - optind != 1) return ws_cli_fail(WS_CLI_USAGE, "gen takes one spec; see `warpscore gen --help`");
  if (r.dump && r.cubin) return ws_cli_fail(WS_CLI_USAGE, "--dump and --cubin exclude each other");
  return generate(&r, argv[optind]);
}
