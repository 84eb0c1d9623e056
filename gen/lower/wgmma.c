/* Products of warpgroups: wgmma.mma_async m64nNk16 (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
 * Instructions"). Operands in shared memory are named by 64-bit descriptors ("Matrix Descriptor Format"):
 *
 *   bits 0-13 address / 16;  16-29 distance of panels / 16 (MN-major only);  32-45 distance of 8 rows / 16;  62-63 swizzle
 *
 * The low word of a step is the tile's plus a constant, the high word is a constant. Which element lies where: "Strides" and
 * "Canonical layouts" there. A step takes 16 of the contracted index: K-major 32 bytes of a row, then the next panel; MN-major
 * 16 rows. All products of one statement are one group. */
#include "lower.h"

enum { KSTEP = 16 };

struct operand {
  const struct ws_mem *mem;
  bool mn_major;
  const char *low, *high;        /* registers or immediates: descriptor words of step 0 */
};

static unsigned swizzle_code(const struct ws_bufferm *b) { return b->swizzle == 128 ? 1 : b->swizzle == 64 ? 2 : b->swizzle == 32 ? 3 : 0; }

/* Bytes from step 0 to step k, of the contracted index, in m-tile mi. */
static long step_bytes(const struct operand *o, int k, int mi) {
  const struct ws_smem_layout *lay = &o->mem->buffer->layout;
  if (o->mn_major) return (long)k * KSTEP * lay->pitch + ws_smem_unit(lay, 0, (long)mi * 8);
  long unit = (long)o->mem->col0 / 8 + k * 2L, first = (long)o->mem->col0 / 8;
  long low = unit % lay->panel_units * 16, low0 = first % lay->panel_units * 16; /* the XOR is taken of the sum */
  return ws_smem_unit(lay, 64L * mi, unit) + low - ws_smem_unit(lay, 0, first) - low0;
}

/* Where the operand starts, counted from its tile. */
static long start_bytes(const struct operand *o) {
  const struct ws_smem_layout *lay = &o->mem->buffer->layout;
  long unit = o->mem->col0 / 8;
  return ws_smem_unit(lay, o->mem->row0, unit) + unit % lay->panel_units * 16;
}

/* rows: the operand is split over the warpgroups of the role, 64 rows each. */
static void describe(struct lower *l, struct operand *o, bool rows) {
  const struct ws_smem_layout *lay = &o->mem->buffer->layout;
  long imm, eight = 8L * lay->pitch;
  const char *slot = ws_slot_base(l, o->mem, &imm), *base = "%smem", *low = ws_lower_temp(l, WS_REG_B32);
  if (*slot) OP(l, "add_s32", base = ws_lower_temp(l, WS_REG_B32), "%smem", slot);
  OP(l, "descriptor_start", low, base, ws_lower_int(l, imm + start_bytes(o)));
  if (o->mn_major) OP(l, "descriptor_row", low, ws_fmt(l->arena, "0x%lX", lay->panel_bytes / 16 << 16));
  if (rows && l->prog->role->warps > 4)
    OP(l, "descriptor_warpgroup", low, ws_lower_int(l, 64L * lay->pitch / 16), ws_lower_temp(l, WS_REG_B32));
  o->low = low, o->high = ws_fmt(l->arena, "0x%08lX", (long)swizzle_code(o->mem->buffer) << 30 | eight / 16);
}

static const char *descriptor(struct lower *l, const struct operand *o, int k, int mi) {
  const char *d = ws_lower_temp(l, WS_REG_B64), *t = ws_lower_temp(l, WS_REG_B32);
  OP(l, "descriptor", d, o->low, ws_lower_int(l, step_bytes(o, k, mi) / 16), o->high, t);
  return d;
}

/* The accumulator registers of one m-tile, sixteen a line. */
static struct ws_list register_lines(struct lower *l, const struct tile *t, int mi) {
  int n = t->nt * 4;
  const char **cell = WS_NEW_N(l->arena, const char *, (size_t)(n + 15) / 16);
  size_t lines = 0;
  for (int i = 0; i < n; i += 16) {
    struct ws_buf b = {.arena = l->arena};
    for (int k = i; k < i + 16 && k < n; k++) ws_buf_printf(&b, "%s%s", t->reg[mi * n + k], k + 1 < n ? k + 1 < i + 16 ? ", " : "," : "");
    cell[lines++] = b.s;
  }
  return (struct ws_list){lines, 1, cell};
}

static void multiply(struct lower *l, const struct ws_act *act, const struct tile *d, const struct tile *a, const struct operand *am,
                     const struct operand *b, int k, int mi) {
  const char *n = ws_lower_int(l, d->nt * 8L), *type = act->b_mem->buffer->type == WS_BF16 ? "bf16" : "f16";
  const char *db = descriptor(l, b, k, 0), *add = !act->accumulate && k == 0 ? "0" : "1", *tb = b->mn_major ? "1" : "0";
  struct ws_list lines[] = {register_lines(l, d, mi)};
  if (a->n) {
    const char **r = &a->reg[(mi * a->nt + 2 * k) * 2], *args[] = {n, type, r[0], r[1], r[2], r[3], db, add, tb};
    ws_ptx_op_list(&l->px, "wgmma_rs", args, sizeof args / sizeof *args, lines, 1);
    return;
  }
  const char *args[] = {n, type, descriptor(l, am, k, mi), db, add, am->mn_major ? "1" : "0", tb};
  ws_ptx_op_list(&l->px, "wgmma_ss", args, sizeof args / sizeof *args, lines, 1);
}

void ws_lower_wgmma(struct lower *l, struct ws_act *act) {
  struct operand b = {.mem = act->b_mem, .mn_major = !act->b_mem->transposed}, am = {.mem = act->a_mem, .mn_major = act->a_mem && act->a_mem->transposed};
  struct tile d = *ws_tile_of(l, act->dst), a = {0};
  int steps = (act->b_mem->transposed ? act->b_mem->cols : act->b_mem->rows) / KSTEP;
  if (act->a) a = ws_lower_operand(l, act->a, ws_fmt(l->arena, "packed%u_", act->src->pos.line));
  if (!act->a) describe(l, &am, true);
  describe(l, &b, false);
  WS_OP0(&l->px, "wgmma_fence");
  for (int k = 0; k < steps; k++)
    for (int mi = 0; mi < d.mt; mi++) {
      if (mi == 0)
        ws_lower_note(l, "k step %d of %d: %s %d to %d%s", k + 1, steps, act->b_mem->transposed ? "columns" : "rows", k * KSTEP, k * KSTEP + KSTEP - 1,
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
