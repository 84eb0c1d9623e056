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

/* Runs a program; its stdout goes to fd, or to stderr for fd < 0. The exit status, or -1 when it could not run. */
static int run(char **argv, int fd) {
  pid_t pid;
  int status = 0;
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions)) return -1;
  posix_spawn_file_actions_adddup2(&actions, fd < 0 ? STDERR_FILENO : fd, STDOUT_FILENO);
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

static int assemble_in(const char *folder, const char *ptxas, const char *ptx, size_t length, const char *target,
                       char **cubin, size_t *cubin_length) {
  char in[256], out[256], arch[64];
  snprintf(in, sizeof in, "%s/kernel.ptx", folder);
  snprintf(out, sizeof out, "%s/kernel.cubin", folder);
  snprintf(arch, sizeof arch, "-arch=%s", target);
  int code = WS_CLI_OK;
  if (!ws_cli_write_file(in, ptx, length)) return WS_CLI_INTERNAL;
  char *argv[] = {(char *)(uintptr_t)ptxas, "-v", arch, "-o", out, in, NULL};
  fflush(stdout);
  int status = run(argv, -1);
  if (status < 0)
    code = ws_cli_fail(WS_CLI_MISSING, "%s: cannot be run: %s", ptxas, strerror(errno));
  else if (status)
    code = ws_cli_fail(WS_CLI_REJECTED, "ptxas rejects the kernel (exit status %d)", status);
  else if (!ws_cli_read_file(out, cubin, cubin_length))
    code = WS_CLI_INTERNAL;
  unlink(in);
  unlink(out);
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
  int status = run(argv, fds[1]); /* a few lines: they fit into the pipe */
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
