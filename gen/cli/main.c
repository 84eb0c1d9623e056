#include "cli.h"
#include <string.h>

#define STRINGIZE(x) #x
#define TEXT(x) STRINGIZE(x)

static const struct {
  const char *name, *what;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"check", "read a spec, type it, budget it; print what is wrong", ws_cli_check},
    {"gen", "turn a spec into a PTX kernel with a manifest", ws_cli_gen},
    {"run", "run a kernel on random data and compare it with an fp64 reference", ws_cli_run},
    {"bench", "time a kernel on a GPU", ws_cli_bench},
    {"probe", "show where each element of a buffer or register tile lies", ws_cli_probe},
    {"emu", "run any PTX kernel on the CPU emulator", ws_cli_emu},
};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *f) {
  fprintf(f, "usage: warpscore COMMAND [OPTIONS]\n\ncommands:\n");
  for (int i = 0; i < NCOMMANDS; i++) fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
  fprintf(f, "\n`warpscore COMMAND --help` explains a command; `warpscore --version` prints the version.\n\n"
             "exit codes: 0 fine, 1 the spec or kernel is rejected or wrong, 2 an option, its value or a file that it names\n"
             "            cannot be used, 3 internal error, 4 the environment lacks something (a GPU, the emulator, ptxas, memory)\n");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return WS_CLI_USAGE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    help(stdout);
    return ws_cli_finish(WS_CLI_OK);
  }
  if (!strcmp(argv[1], "--version")) {
    puts("warpscore " TEXT(WS_CLI_VERSION));
    return ws_cli_finish(WS_CLI_OK);
  }
  for (int i = 0; i < NCOMMANDS; i++)
    if (!strcmp(argv[1], commands[i].name)) return ws_cli_finish(commands[i].run(argc - 1, argv + 1));
  const char *names[NCOMMANDS];
  for (int i = 0; i < NCOMMANDS; i++) names[i] = commands[i].name;
  const char *near = ws_nearest(argv[1], names, NCOMMANDS);
  return ws_cli_fail(WS_CLI_USAGE, "unknown command '%s'%s%s%s; see `warpscore --help`", argv[1],
                     near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}
