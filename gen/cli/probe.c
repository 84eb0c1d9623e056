/* warpscore probe SPEC: where each element of a buffer or register tile lies. probe_check.c asks a device. */
#include "cli.h"
#include "probe.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "usage: warpscore probe [OPTIONS] SPEC                      the buffers and register tiles\n"
    "       warpscore probe [OPTIONS] --buffer NAME SPEC        a table, a picture, the descriptors of products\n"
    "       warpscore probe [OPTIONS] --operand TILE SPEC       registers of lanes of warps\n"
    "       warpscore probe [OPTIONS] --check [--buffer NAME] SPEC\n\n"
    "Shows for a buffer of a spec (- = standard input) where its elements lie: in shared memory the address from %smem,\n"
    "panel, 16-byte unit before and after the swizzle, and banks; in tensor memory lane and column, and which statement has\n"
    "it in which register; for a register tile warp, lane and register. Descriptors are those of step 0 of K, field by field, for %smem = 0.\n\n"
    "options:\n"
    "      --buffer NAME        a buffer of the spec\n"
    "      --element N          of a buffer that is an array (default 0)\n"
    "      --stage N            of a buffer with stages (default 0)\n"
    "      --operand TILE       a register tile: NAME, or ROLE.NAME where several roles have one\n"
    "      --rows A..B          rows of the table (default: the first 16)\n"
    "      --cols A..B          its columns (default: the first 16)\n"
    "      --check              fill the buffer (all, without --buffer) on a device with elements that\n"
    "                           hold their number, by TMA where the target has it, and compare the bytes with the table;\n"
    "                           multiply it with unit vectors by wgmma or tcgen05 and compare what each (row, k) picks.\n"
    "                           Products of mma.sync, and slots under another shape (`as`), are not multiplied\n"
    "      --device DEVICE      of --check: cuda:N, emu or best (default)\n" WS_CLI_SPEC_HELP
    "      --format text|json   json: an object an element; diagnostics (on stderr) as one JSON array\n"
    "      --help               this text\n";

/* "A..B" or "A". */
static bool parse_range(const char *what, const char *text, int *from, int *to) {
  char first[32];
  const char *dots = strstr(text, "..");
  size_t n = dots ? (size_t)(dots - text) : strlen(text);
  int64_t a, b;
  if (n >= sizeof first) return ws_cli_fail(0, "%s: '%.60s' found, expected A..B, as in 0..15", what, text), false;
  memcpy(first, text, n);
  first[n] = 0;
  if (!ws_cli_parse_integer(what, first, 0, 1 << 20, &a) || !ws_cli_parse_integer(what, dots ? dots + 2 : first, 0, 1 << 20, &b)) return false;
  *from = (int)a, *to = (int)b;
  return a <= b || (ws_cli_fail(0, "%s: '%.60s' found, expected A..B with A not above B", what, text), false);
}

static bool parse_count(const char *what, const char *text, int *out) {
  int64_t v;
  if (!ws_cli_parse_integer(what, text, 0, 1 << 20, &v)) return false;
  *out = (int)v;
  return true;
}

static int print(struct ws_cli_unit *u, struct ws_schedule *s, const struct ws_probe_request *q) {
  struct ws_buf out = {.arena = &u->arena};
  const char *why = NULL;
  if (setjmp(u->arena.oom)) return ws_cli_fail(WS_CLI_INTERNAL, "out of memory");
  if (!ws_probe_print(s, q, &out, &why)) return ws_cli_fail(WS_CLI_USAGE, "%s", why);
  if (out.s) fputs(out.s, stdout);
  return WS_CLI_OK;
}

static int probe(const char *path, const struct ws_cli_probe_options *o) {
  struct ws_cli_unit u;
  int code = ws_cli_compile(path, &o->spec, WS_STAGE_SCHEDULE, &u);
  char *said = u.text ? ws_cli_diagnostics(&u, o->spec.json) : NULL;
  if (said && (code != WS_CLI_OK || !o->spec.json)) ws_cli_say(said);
  free(said);
  const struct ws_kernel_text *k = code == WS_CLI_OK ? ws_cli_pick(&u, &o->spec) : NULL;
  if (k)
    code = o->check ? ws_cli_probe_check(&u, k->model, o) : print(&u, k->model, &o->request);
  else if (code == WS_CLI_OK)
    code = WS_CLI_USAGE;
  ws_cli_unit_free(&u);
  return code;
}

enum { BUFFER = 1201, ELEMENT, STAGE, OPERAND, ROWS, COLS, CHECK, DEVICE };

static int take(struct ws_cli_probe_options *o, int option, char *value) {
  struct ws_probe_request *q = &o->request;
  switch (option) {
  case BUFFER: q->buffer = value; return WS_CLI_OK;
  case OPERAND: q->operand = value; return WS_CLI_OK;
  case ELEMENT: o->element_given = true; return parse_count("--element", value, &q->element) ? WS_CLI_OK : WS_CLI_USAGE;
  case STAGE: o->stage_given = true; return parse_count("--stage", value, &q->stage) ? WS_CLI_OK : WS_CLI_USAGE;
  case ROWS: q->rows_given = true; return parse_range("--rows", value, &q->row0, &q->row1) ? WS_CLI_OK : WS_CLI_USAGE;
  case COLS: q->cols_given = true; return parse_range("--cols", value, &q->col0, &q->col1) ? WS_CLI_OK : WS_CLI_USAGE;
  case CHECK: o->check = true; return WS_CLI_OK;
  case DEVICE: o->device = value; return WS_CLI_OK;
  default: return WS_CLI_USAGE;
  }
}

int ws_cli_probe(int argc, char **argv) {
  static const struct option options[] = {WS_CLI_SPEC_OPTIONS,
                                          {"buffer", required_argument, NULL, BUFFER},
                                          {"element", required_argument, NULL, ELEMENT},
                                          {"stage", required_argument, NULL, STAGE},
                                          {"operand", required_argument, NULL, OPERAND},
                                          {"rows", required_argument, NULL, ROWS},
                                          {"cols", required_argument, NULL, COLS},
                                          {"check", no_argument, NULL, CHECK},
                                          {"device", required_argument, NULL, DEVICE},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
  struct ws_cli_probe_options o = {0};
  for (int c; (c = ws_cli_next_option(argc, argv, ":D:h", options)) != -1;) {
    int taken = ws_cli_spec_option(&o.spec, c, optarg);
    if (taken < 0) return WS_CLI_USAGE;
    if (taken) continue;
    if (c == 'h') return fputs(help_text, stdout), WS_CLI_OK;
    int code = take(&o, c, optarg);
    if (code) return code;
  }
  if (argc - optind != 1) return ws_cli_fail(WS_CLI_USAGE, "probe takes one spec; see `warpscore probe --help`");
  if (o.request.buffer && o.request.operand) return ws_cli_fail(WS_CLI_USAGE, "--buffer and --operand exclude each other");
  if (o.check && o.request.operand) return ws_cli_fail(WS_CLI_USAGE, "--check is for buffers: --buffer NAME, or none for all of shared memory's");
  if ((o.request.rows_given || o.request.cols_given) && (o.check || (!o.request.buffer && !o.request.operand)))
    return ws_cli_fail(WS_CLI_USAGE, "--rows and --cols belong to the table of --buffer NAME or --operand TILE");
  if ((o.element_given || o.stage_given) && !o.request.buffer) return ws_cli_fail(WS_CLI_USAGE, "--element and --stage belong to --buffer NAME");
  if (o.device && !o.check) return ws_cli_fail(WS_CLI_USAGE, "--device belongs to --check");
  o.request.json = o.spec.json;
  o.request.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
  return probe(argv[optind], &o);
}
