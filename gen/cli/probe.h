/* What probe.c and probe_check.c share. */
#ifndef WS_CLI_PROBE_H
#define WS_CLI_PROBE_H
#include "cli.h"
#include "probe/probe.h"

struct ws_cli_probe_options {
  struct ws_cli_spec_options spec;
  struct ws_probe_request request;
  const char *device;
  bool check, element_given, stage_given;
};
int ws_cli_probe_check(struct ws_cli_unit *u, struct ws_schedule *s, const struct ws_cli_probe_options *o);
#endif
