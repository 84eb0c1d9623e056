/* ptxas, the assembler of the CUDA toolkit: $PTXAS, the search path, then the toolkit's usual place. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* FOLDER[/NAME] if that is a program. */
static bool program(const char *folder, size_t n, const char *name, char *out, size_t size) {
  size_t m = name ? strlen(name) : 0;
  if (!n || n + m + 2 > size) return false;
  memcpy(out, folder, n);
  if (name) out[n++] = '/';
  if (name) memcpy(out + n, name, m);
  out[n + m] = 0;
  return !access(out, X_OK);
}

static bool search(const char *name, char *out, size_t size) {
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    if (program(path, n, name, out, size)) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

bool ws_cli_find_ptxas(char *out, size_t size) {
  static const char usual[] = "/usr/local/cuda/bin/ptxas";
  const char *named = getenv("PTXAS");
  if (named && strchr(named, '/')) return program(named, strlen(named), NULL, out, size);
  if (named && *named) return search(named, out, size);
  return search("ptxas", out, size) || program(usual, sizeof usual - 1, NULL, out, size);
}

/* Runs a program; its stdout and, for both, its stderr go to fd. The exit status, or -1 when it could not run. */
static int run(char **argv, int fd, bool both) {
  pid_t pid;
  int status = 0;
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions)) return -1;
  posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
  if (both) posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
  int result = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (result) {
    errno = result;
    return -1;
  }
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What ptxas says about code that it had to slow down, though it assembles, and what helps. C7510 to C7515 serialise wgmma, C7507
 * and C7508 drop setmaxnreg (the numbers are of CUDA 12 and 13; the words are searched, too). The first that fits is taken. */
static const struct sign {
  const char *words, *remedy;
} signs[] = {
    {"insufficient register resources", "a role holds more register tiles at a time than its `registers` allow: give it more, or smaller tiles"},
    {"wgmma.mma_async instructions are serialized", "a register tile is used between its product and its `await`, or is written while a product reads it: move the "
                                                    "statement behind the `await`"},
    {"'setmaxnreg' ignored", "a role needs more registers than its `registers` say: give it more, or smaller tiles"},
    {"setmaxnreg ignored", "the registers of the launch are not known: every role of the warpgroup needs `registers`"},
    {"(C7507)", "`registers` has no effect"},
    {"(C7508)", "`registers` has no effect"},
};

/* The line of `said` that is such a sign, else NULL. */
static const char *slowed(const char *said, size_t *length, const char **remedy) {
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    const char *at = strstr(said, signs[i].words);
    if (!at) continue;
    while (at > said && at[-1] != '\n') at--;
    *length = strcspn(at, "\n"), *remedy = signs[i].remedy;
    return at;
  }
  return NULL;
}

static int judge_messages(const char *path, int status, const char *ptxas) {
  char *said = NULL;
  const char *remedy = "";
  size_t length;
  if (status < 0) return ws_cli_fail(WS_CLI_MISSING, "%s: cannot be run: %s", ptxas, strerror(errno));
  if (!ws_cli_read_file(path, &said, &length)) return WS_CLI_INTERNAL;
  ws_cli_say(said);
  int code = status ? ws_cli_fail(WS_CLI_REJECTED, "ptxas rejects the kernel (exit status %d)", status) : WS_CLI_OK;
  const char *line = code == WS_CLI_OK ? slowed(said, &length, &remedy) : NULL;
  if (line) code = ws_cli_fail(WS_CLI_REJECTED, "ptxas gives up what the schedule asks for: %.*s\n  %s", (int)length, line, remedy);
  free(said);
  return code;
}

static int assemble_in(const char *folder, const char *ptxas, const char *ptx, size_t length, const char *target,
                       char **cubin, size_t *cubin_length) {
  char in[256], out[256], said[256], arch[64];
  snprintf(in, sizeof in, "%s/kernel.ptx", folder);
  snprintf(out, sizeof out, "%s/kernel.cubin", folder);
  snprintf(said, sizeof said, "%s/messages", folder);
  snprintf(arch, sizeof arch, "-arch=%s", target);
  if (!ws_cli_write_file(in, ptx, length)) return WS_CLI_INTERNAL;
  char *argv[] = {(char *)(uintptr_t)ptxas, "-v", arch, "-o", out, in, NULL};
  fflush(stdout);
  int fd = open(said, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int code = fd < 0 ? ws_cli_fail(WS_CLI_INTERNAL, "%s: cannot be written: %s", said, strerror(errno)) : judge_messages(said, run(argv, fd, true), ptxas);
  if (fd >= 0) close(fd);
  if (code == WS_CLI_OK && !ws_cli_read_file(out, cubin, cubin_length)) code = WS_CLI_INTERNAL;
  unlink(in);
  unlink(out);
  unlink(said);
  return code;
}

int ws_cli_assemble(const char *ptx, size_t length, const char *target, char **cubin, size_t *cubin_length) {
  char ptxas[4096], folder[] = "/tmp/warpscore.XXXXXX";
  if (!ws_cli_find_ptxas(ptxas, sizeof ptxas))
    return ws_cli_fail(WS_CLI_MISSING, "no ptxas: looked at $PTXAS, in $PATH and at /usr/local/cuda/bin/ptxas: install "
                                       "the CUDA toolkit, or run without --cubin");
  if (!mkdtemp(folder)) return ws_cli_fail(WS_CLI_INTERNAL, "%s: cannot be made: %s", folder, strerror(errno));
  int code = assemble_in(folder, ptxas, ptx, length, target, cubin, cubin_length);
  rmdir(folder);
  return code;
}

bool ws_cli_ptxas_version(char *out, size_t size) {
  char ptxas[4096], said[4096];
  int fds[2];
  if (!ws_cli_find_ptxas(ptxas, sizeof ptxas) || pipe(fds)) return false;
  char *argv[] = {ptxas, "--version", NULL};
  int status = run(argv, fds[1], false); /* a few lines: they fit into the pipe */
  close(fds[1]);
  ssize_t n = read(fds[0], said, sizeof said - 1);
  close(fds[0]);
  if (status || n <= 0) return false;
  said[n] = 0;
  const char *v = strstr(said, ", V");
  if (!v) return false;
  v += 3;
  return snprintf(out, size, "%.*s", (int)strspn(v, "0123456789."), v) > 0;
}
