/* Events on their way out: to a caller's function, or as lines of a file. */
#include "trace.h"
#include "engine.h"
#include <stdio.h>

static const char *const names[] = {
#define X(id, name) [WSEMU_##id] = name,
    WSEMU_EVENTS(X)
#undef X
};

__attribute__((visibility("default"))) const char *wsemuEventName(uint32_t kind) {
  return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

void ws_emu_trace(const struct warp *w, const struct inst *in, struct wsemu_event e) {
  const struct cta *c = w->cta;
  const struct ptx_inst *p = c->k->src[in - c->k->code].ptx;
  e.size = sizeof e;
  e.cta = c->linear;
  e.rank = c->rank;
  e.warp = w->index;
  if (!e.lanes) e.lanes = w->mask;
  e.ptx_line = p->line;
  e.loc_line = p->loc_line;
  c->grid->l->options.trace(c->grid->l->options.trace_ctx, &e);
}

/* ---- as text: CTA WARP LANES PTX-LINE SPEC-LINE EVENT and what it has ---- */
static void write_line(void *ctx, const struct wsemu_event *e) {
  FILE *f = ctx;
  if (e->kind == WSEMU_MBAR_TRY) return;
  fprintf(f, "cta %u warp %u lanes 0x%08x ptx %u spec %u %s", e->cta, e->warp, e->lanes, e->ptx_line, e->loc_line, wsemuEventName(e->kind));
  if (e->object != WSEMU_NO_OBJECT) fprintf(f, " object %d of %u", (int32_t)e->object, e->target);
  if (e->count != WSEMU_NO_COUNT) fprintf(f, " count %u", e->count);
  if (e->kind == WSEMU_MBAR_WAIT || e->kind == WSEMU_MBAR_TRY) fprintf(f, " parity %u", e->parity);
  if (e->amount) fprintf(f, " amount %llu", (unsigned long long)e->amount);
  fputc('\n', f);
}

int ws_emu_trace_file(struct emu_options *o, const char *path) {
  FILE *f = *path ? fopen(path, "w") : NULL;
  if (*path && !f) return 1;
  if (o->trace == write_line) fclose(o->trace_ctx);
  o->trace = f ? write_line : NULL;
  o->trace_ctx = f;
  return 0;
}

void ws_emu_trace_end(const struct emu_options *o) {
  if (o->trace == write_line) fflush(o->trace_ctx);
}
