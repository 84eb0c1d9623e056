/* A schedule compiled and played. */
#include "conform.h"
#include "play/play.h"
#include <stdlib.h>
#include <string.h>

/* --- the schedule --- */

bool subject_open(struct subject *x, const char *path, const struct ws_define *defines, size_t n, const char *target) {
  size_t len = 0;
  bool oom = false;
  memset(x, 0, sizeof *x);
  x->spec = path;
  if (!(x->text = read_whole(path, &len))) return false;
  x->src = (struct ws_source){path, x->text, len};
  x->diags = (struct ws_diags){.arena = &x->arena, .source = &x->src};
  const struct ws_compile_options opt = {.stage = WS_STAGE_PTX, .defines = defines, .ndefines = n, .target = target, .no_play = true};
  struct ws_compiled *c = ws_compile(&x->src, &opt, &x->arena, &x->diags, &oom);
  if (!c || c->n != 1) {
    struct ws_buf b = {.arena = &x->arena};
    if (!oom) ws_diags_print(&x->diags, &b);
    printf("FAIL %s: %s\n", path, b.s ? b.s : "memory ran out, or several kernels");
    return false;
  }
  x->ctas = c->kernels[0].model->pair ? 2 : 1;
  x->heads = c->kernels[0].model->group ? c->kernels[0].model->group : 1;
  x->s = c->kernels[0].model, x->ptx = c->kernels[0].ptx, x->ptx_len = c->kernels[0].ptx_len;
  return true;
}

void subject_close(struct subject *x) {
  ws_arena_free(&x->arena);
  free(x->text);
}

/* --- what it declares --- */

struct play {
  struct subject *x;
  const struct shape *shape;
  int64_t tile[MOST_TILES];
  struct trace *out;
};

static int length(void *ctx, const struct ws_problem_list *list, int tile, int block) {
  const struct play *p = ctx;
  return blocks_of(p->x->s, p->shape, list, p->tile[tile], block);
}

static void declare(void *ctx, const struct ws_declaration *d) {
  struct play *p = ctx;
  struct events *l = &p->out->warp[d->cta][d->warp];
  size_t before = l->n;
  expand(d, l);
  if (d->kind != WS_D_LOAD) return;
  struct event e = l->e[before]; /* its bytes arrive */
  e.kind = WSEMU_MBAR_BYTES;
  add(&p->out->bytes, &e);
}

bool declared(struct subject *x, const struct shape *shape, int group, int ngroups, struct trace *out) {
  struct play p = {.x = x, .shape = shape, .out = out};
  int n = tiles_of_group(x->s, shape, group, ngroups, p.tile);
  const struct ws_play_shape play = {n, length, declare, &p};
  memset(out, 0, sizeof *out);
  bool good = n > 0 && ws_play_declare(x->s, &play, &x->arena, &x->diags);
  const struct event end = {.kind = WSEMU_EXIT, .threads = -1, .object = -1, .target = -1, .count = -1, .parity = -1, .edge = true};
  for (int c = 0; c < x->ctas; c++)
    for (int k = 0; k < x->s->threads / 32; k++) add(&out->warp[c][k], &end);
  if (good) return true;
  struct ws_buf b = {.arena = &x->arena};
  ws_diags_print(&x->diags, &b);
  printf("FAIL the player does not follow (%d tiles): %s\n", n, b.s ? b.s : "");
  return false;
}
