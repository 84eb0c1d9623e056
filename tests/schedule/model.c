#include "model.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const model_specs[] = {"fa1_forward",      "fa2_forward",      "fa3_cluster",          "fa3_forward_fp8", "b300_v14",
                                   "b300_v16",         "fa4_forward",      "fa4_forward_2cta",     "fa4_forward_d256", "fa4_backward",
                                   "fa4_backward_2cta", "mla_decode",      "decode_paged",         NULL};

char *model_read(const char *folder, const char *name, size_t *len) {
  static const char *const places[] = {"specs", "../../specs"}; /* published; lowered, and so among the project's */
  char path[512];
  FILE *f = NULL;
  for (size_t i = 0; i < 2 && !f; i++) {
    snprintf(path, sizeof path, "%s/%s/%s.yaml", folder, places[i], name);
    f = fopen(path, "rb");
  }
  if (!f) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  char *text = malloc(1 << 16);
  *len = fread(text, 1, (1 << 16) - 1, f);
  text[*len] = 0;
  fclose(f);
  return text;
}

static bool has_param(const struct ws_document *d, const char *name) {
  for (size_t i = 0; i < d->nparams; i++)
    if (!strcmp(d->params[i].name, name)) return true;
  return false;
}

void model_build(struct model *m, const char *path, char *text, size_t len, const struct ws_define *defs, size_t ndefs) {
  memset(m, 0, sizeof *m);
  m->text = text;
  m->source = (struct ws_source){.path = path, .text = text, .len = len};
  m->diags.arena = &m->arena, m->diags.source = &m->source;
  if (setjmp(m->arena.oom)) abort();
  m->spec = ws_spec_read(&m->source, &m->arena, &m->diags);
  if (!m->spec || m->diags.errors) return;
  for (size_t i = 0; i < m->spec->ndocs && i < 8; i++) {
    struct ws_define mine[16];
    size_t n = 0;
    for (size_t k = 0; k < ndefs && n < 16; k++)
      if (has_param(&m->spec->docs[i], defs[k].name)) mine[n++] = defs[k];
    m->doc[m->ndocs++] = ws_schedule_build(&m->spec->docs[i], &m->source, NULL, mine, n, &m->arena, &m->diags);
  }
}

bool model_ok(const struct model *m) {
  bool ok = m->ndocs > 0 && !m->diags.errors;
  for (size_t i = 0; i < m->ndocs; i++) ok &= m->doc[i] != NULL;
  return ok;
}

const char *model_errors(struct model *m) {
  struct ws_buf b = {.arena = &m->arena};
  ws_buf_puts(&b, "");
  ws_diags_print(&m->diags, &b);
  return b.s;
}

void model_free(struct model *m) {
  ws_arena_free(&m->arena);
  free(m->text);
}
