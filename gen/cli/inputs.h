/* Inputs of `run` from .npy files. Internal to run.c, inputs.c. */
#ifndef WS_CLI_INPUTS_H
#define WS_CLI_INPUTS_H
#include "cli.h"

struct ws_cli_files { /* as the options name them */
  const char *qkv[3];
  struct { const char *name, *path; } in[WS_CLI_MOST]; /* --in */
  size_t nin;
};
struct ws_cli_inputs { /* what the files hold */
  struct ws_cli_array file[3]; /* q, k, v; without data: random */
  struct { const char *name; struct ws_cli_array array; } own[WS_CLI_MOST]; /* tensors that the spec brings */
  size_t nown;
};

/* All say what is wrong. */
bool ws_cli_files_add(struct ws_cli_files *q, char *text); /* "NAME=FILE", cut in two: it must stay */
bool ws_cli_files_any(const struct ws_cli_files *q);
/* The files into *in, which is all zeros. An exit code; call ws_cli_inputs_free in any case. */
int ws_cli_inputs_read(const struct ws_cli_files *q, const struct ws_manifest *m, struct ws_cli_inputs *in);
void ws_cli_inputs_free(struct ws_cli_inputs *in);
/* Files tell what --shape leaves open, and must not contradict it or each other. */
bool ws_cli_inputs_shape(const struct ws_cli_inputs *in, struct ws_cli_shape *s);
bool ws_cli_inputs_fill(struct ws_cli_problem *p, const struct ws_cli_inputs *in); /* random numbers where there is no file */
#endif
