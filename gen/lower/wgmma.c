/* Products of warpgroups: wgmma.mma_async m64nNk16 (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
 * Instructions"). Operands in shared memory are named by descriptors (descriptor.c). All products of one statement are one group. */
#include "lower.h"

static void multiply(struct lower *l, const struct ws_act *act, const struct tile *d, const struct tile *a, const struct operand *am,
                     const struct operand *b, int k, int mi) {
  const char *n = ws_lower_int(l, d->nt * 8L), *type = act->b_mem->buffer->type == WS_BF16 ? "bf16" : "f16";
  const char *db = ws_descriptor(l, b, k, 0, NULL), *add = !act->accumulate && k == 0 ? "0" : "1", *tb = b->mn_major ? "1" : "0";
  struct ws_list lines[] = {ws_register_lines(l, &d->reg[mi * d->nt * 4], d->nt * 4)};
  if (a->n) {
    const char **r = &a->reg[(mi * a->nt + 2 * k) * 2], *args[] = {n, type, r[0], r[1], r[2], r[3], db, add, tb};
    ws_ptx_op_list(&l->px, "wgmma_rs", args, sizeof args / sizeof *args, lines, 1);
    return;
  }
  const char *args[] = {n, type, ws_descriptor(l, am, k, mi, NULL), db, add, am->mn_major ? "1" : "0", tb};
  ws_ptx_op_list(&l->px, "wgmma_ss", args, sizeof args / sizeof *args, lines, 1);
}

void ws_lower_wgmma(struct lower *l, struct ws_act *act) {
  struct operand b = {.mem = act->b_mem, .mn_major = !act->b_mem->transposed}, am = {.mem = act->a_mem, .mn_major = act->a_mem && act->a_mem->transposed};
  struct tile d = *ws_tile_of(l, act->dst), a = {0};
  int steps = (act->b_mem->transposed ? act->b_mem->cols : act->b_mem->rows) / WS_KSTEP;
  if (act->a) a = ws_lower_operand(l, act->a, ws_fmt(l->arena, "packed%u_", act->src->pos.line));
  if (!act->a) ws_describe(l, &am, true);
  ws_describe(l, &b, false);
  if (!ws_fence_stated(l, WS_FENCE_WGMMA)) WS_OP0(&l->px, "wgmma_fence");
  for (int k = 0; k < steps; k++)
    for (int mi = 0; mi < d.mt; mi++) {
      if (mi == 0)
        ws_lower_note(l, "k step %d of %d: %s %d to %d%s", k + 1, steps, act->b_mem->transposed ? "columns" : "rows", k * WS_KSTEP, k * WS_KSTEP + WS_KSTEP - 1,
                      !act->accumulate && k == 0 ? "; D = 0" : "");
      multiply(l, act, &d, &a, &am, &b, k, mi);
    }
  WS_OP0(&l->px, "wgmma_commit");
}

void ws_lower_await(struct lower *l, struct ws_act *a) {
  if (a->wait_groups < 0) {
    ws_lower_note(l, "no instruction: nothing is in flight here");
    return;
  }
  OP(l, a->by == WS_BY_BULK ? "bulk_wait_read" : "wgmma_wait", ws_lower_int(l, a->wait_groups));
}
