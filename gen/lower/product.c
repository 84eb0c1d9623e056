/* mma.sync products and the fragments they eat.
 *
 * Shared-memory tiles are swizzled (struct ws_smem_layout): the 16-byte unit u of row r lies at unit u ^ ((r >> shift) & mask).
 * Fragment rows start at multiples of 8, so the XOR depends on the lane alone; for the low bits of u it is folded into a
 * few lane offsets, computed once a program, and everything else is an immediate. */
#include "lower.h"
#include <string.h>

/* --- lane addresses --- */

static const char *const frag_names[] = {"addr", "addr", "addr", "addr_out", "addr_acc", "addr_rows", "addr_row"};
static const char *const frag_templates[] = {"lanes_a", "lanes_b", "lanes_bt", "lanes_c", "lanes_c32", "lanes_rows", "lanes_own"};
static const char *const frag_words[] = {"A operands", "B operands, its rows being the columns of B", "B operands, loaded transposed", "accumulators that are written to it",
                                         "accumulators of f32", "one value a row", "its own row"};

void ws_lower_swizzle(struct lower *l, const struct ws_smem_layout *lay, const char *unit, const char *row, const char *low) {
  if (lay->shift) OP(l, "swizzle_shifted", unit, row, ws_lower_int(l, lay->shift), ws_lower_int(l, lay->mask), low);
  else OP(l, "swizzle", unit, row, ws_lower_int(l, lay->mask), low);
}

const struct frag_map *ws_frag_map(struct lower *l, enum frag_kind k, const struct ws_bufferm *b, int warp_rows) {
  const struct ws_smem_layout *lay = &b->layout;
  if (k == FRAG_B || k == FRAG_BT) warp_rows = 0; /* every warp reads all of B */
  for (int i = 0; i < l->frags.n; i++) {
    const struct frag_map *g = (const struct frag_map *)l->frags.item[i];
    if (g->kind == k && !memcmp(&g->layout, lay, sizeof *lay) && g->warp_rows == warp_rows) return g;
  }
  struct frag_map *f = WS_NEW(l->arena, struct frag_map);
  *f = (struct frag_map){.kind = k, .layout = *lay, .warp_rows = warp_rows};
  const char *name = ws_lower_unique(l, "%s_%s", frag_names[k], b->name);
  f->life.everywhere = k >= FRAG_C ? l->depth > 0 && !l->votes : ws_lower_in_loop(l, NULL, b);
  ws_lower_keep(l, &l->frags, &f->life, l->prog->decl->pos);
  struct ws_buf *old = ws_lower_hoist(l, f->life.everywhere ? l->start : NULL);
  ws_lower_comment(l, "this lane's address in a tile like %s, for %s", b->name, frag_words[k]);
  const char **reg = ws_ptx_temps(&l->px, WS_REG_B32, ws_fmt(l->arena, "%s_u", name), (size_t)lay->mask + 1), *unit = ws_lower_temp(l, WS_REG_B32), *row = ws_lower_temp(l, WS_REG_B32);
  OP(l, frag_templates[k], reg[0], ws_lower_int(l, lay->pitch), ws_lower_int(l, warp_rows), unit, row);
  if (lay->mask) ws_lower_swizzle(l, lay, unit, row, row);
  OP(l, "add_unit", reg[0], unit);
  for (int u = 0; u <= lay->mask; u++) {
    f->offset[u] = reg[u];
    if (u && (k == FRAG_C || k == FRAG_LANES || u % 2 == 0)) OP(l, "xor_b32", reg[u], reg[0], ws_lower_int(l, u * 16));
  }
  ws_lower_restore(l, old);
  return f;
}

/* Where a tile starts: a register (its slot, or what depends on the instance) or "" and, in *imm, what is known at generation. */
const char *ws_slot_base(struct lower *l, const struct ws_mem *m, long *imm) {
  const struct ws_bufferm *b = m->buffer;
  const char *base = m->handle ? l->handle[m->handle->index].at : "";
  *imm = *base ? 0 : b->offset + ((m->element_at ? 0 : (long)m->element) * b->stages + m->stage) * b->bytes;
  const struct ws_node *at[] = {*base ? NULL : m->element_at, m->row_at};
  long step[] = {b->stages * b->bytes, b->layout.pitch};
  for (int k = 0; k < 2; k++) {
    if (!at[k]) continue;
    const char *d = ws_lower_temp(l, WS_REG_B32);
    if (*base)
      OP(l, "mad_s32", d, ws_uniform_int(l, at[k]), ws_lower_int(l, step[k]), base);
    else
      OP(l, "mul_s32", d, ws_uniform_int(l, at[k]), ws_lower_int(l, step[k]));
    base = d;
  }
  return base;
}

const char *ws_frag_address(struct lower *l, const struct frag_map *f, const char *slot, int low) {
  if (!*slot) return f->offset[low];
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, f->offset[low], slot);
  return d;
}

/* Registers for the lane offsets of a tile: the map's own for a static place, else slot + offset. */
struct place {
  const char *reg[8];
  long imm;
};

static struct place place_of(struct lower *l, const struct frag_map *f, const struct ws_mem *m, int step) {
  struct place p = {.imm = 0};
  const char *slot = ws_slot_base(l, m, &p.imm);
  for (int u = 0; u <= f->layout.mask; u += step) p.reg[u] = ws_frag_address(l, f, slot, u);
  return p;
}

/* The address of row0 + rows, unit u: register and immediate. */
static const char *address(struct lower *l, const struct place *p, const struct frag_map *f, long row, long unit, const char **imm) {
  long low = unit & f->layout.mask;
  *imm = ws_lower_int(l, p->imm + ws_smem_unit(&f->layout, row, unit));
  return p->reg[low];
}

static const char *element_type(enum ws_type t) { return t == WS_BF16 ? "bf16" : "f16"; }

/* Columns that do not start or end at multiples of 16: whole pairs of units are read, and the units that are asked for kept. */
static void read_units(struct lower *l, const struct ws_mem *m, const struct tile *t, const struct frag_map *f, const struct place *p) {
  int first = m->col0 / 8, n = m->cols / 8;
  const char *pair[4];
  for (int i = 0; i < 4; i++) pair[i] = ws_lower_temp(l, WS_REG_B32);
  for (int mi = 0; mi < t->mt; mi++)
    for (int u = 0; u < t->nt; u++) {
      const char **d = &t->reg[(mi * t->nt + u) * 2];
      if (u < n && (u == 0 || (first + u) % 2 == 0)) {
        const char *imm, *reg = address(l, p, f, m->row0 + mi * 16, (first + u) / 2 * 2, &imm);
        OP(l, "ldmatrix", pair[0], pair[1], pair[2], pair[3], reg, imm);
      }
      for (int i = 0; i < 2; i++) OP(l, "mov_b32", d[i], u < n ? pair[(first + u) % 2 * 2 + i] : "0");
    }
}

struct tile ws_lower_read_a(struct lower *l, const struct ws_mem *m, const struct tile *into) {
  struct tile t = *into;
  if (m->space == WS_SMEM && m->transposed && ws_type_bits(m->buffer->type) == 16 && t.packed && m->rows % 16 == 0) return ws_read_turned(l, m, into);
  if (m->space != WS_SMEM || m->transposed || ws_type_bits(m->buffer->type) != 16 || !t.packed || m->cols % 8) {
    ws_error(l->diags, m->pos, "not-lowered", "read: only 16-bit A operands from shared memory are lowered for %s", l->s->target);
    return t;
  }
  const struct frag_map *f = ws_frag_map(l, FRAG_A, m->buffer, ws_warp_rows(l, m->rows));
  struct place p = place_of(l, f, m, 2);
  if (m->col0 / 8 % 2 || t.nt % 2) {
    read_units(l, m, &t, f, &p);
    return t;
  }
  for (int mi = 0; mi < t.mt; mi++)
    for (int kt = 0; kt < t.nt / 2; kt++) {
      const char *imm, *reg = address(l, &p, f, m->row0 + mi * 16, m->col0 / 8 + kt * 2, &imm), **a = &t.reg[(mi * t.nt + 2 * kt) * 2];
      OP(l, "ldmatrix", a[0], a[1], a[2], a[3], reg, imm);
    }
  return t;
}

/* --- the product --- */

struct operands {
  struct lower *l;
  const struct ws_act *act;
  struct tile d, a;             /* a.n = 0: from shared memory, step by step */
  const struct frag_map *fa, *fb;
  const struct ws_turned_a *turned; /* A stored [k, m] */
  struct place pa, pb;
  const char **b;               /* fragment registers: 4 for each pair of n-tiles and each step held */
  const char **areg;
  int held;                     /* k steps whose fragments are live at once */
  int pairs;
  bool thin;                    /* under a vote: one pair of n-tiles at a time, so that registers are left for what runs mostly */
};

static const char **b_fragment(const struct operands *o, int kt, int np) { return o->thin ? o->b : &o->b[(kt % o->held * o->pairs + np) * 4]; }

static void load_b(struct operands *o, int kt, int first, int end) {
  const struct ws_mem *m = o->act->b_mem;
  for (int np = first; np < end; np++) {
    long row = m->transposed ? m->row0 + np * 16 : m->row0 + kt * 16, unit = m->transposed ? m->col0 / 8 + kt * 2 : m->col0 / 8 + np * 2;
    const char *imm, *reg = address(o->l, &o->pb, o->fb, row, unit, &imm), **b = b_fragment(o, kt, np);
    OP(o->l, m->transposed ? "ldmatrix" : "ldmatrix_trans", b[0], b[1], b[2], b[3], reg, imm);
  }
}

static void load_a(struct operands *o, int kt) {
  const struct ws_mem *m = o->act->a_mem;
  for (int mi = 0; o->turned && mi < o->d.mt; mi++) ws_turned_a_load(o->l, o->turned, kt, mi, &o->areg[(kt % o->held * o->d.mt + mi) * 4]);
  for (int mi = 0; m && !o->turned && mi < o->d.mt; mi++) {
    const char *imm, *reg = address(o->l, &o->pa, o->fa, m->row0 + mi * 16, m->col0 / 8 + kt * 2, &imm), **a = &o->areg[(kt % o->held * o->d.mt + mi) * 4];
    OP(o->l, "ldmatrix", a[0], a[1], a[2], a[3], reg, imm);
  }
}

static void multiply(struct operands *o, int kt, int first, int end, bool fresh) {
  struct lower *l = o->l;
  const char *type = element_type(o->act->b_mem->buffer->type);
  for (int nt = first; nt < end && nt < o->d.nt; nt++)
    for (int mi = 0; mi < o->d.mt; mi++) {
      const char **a = o->a.n ? &o->a.reg[(mi * o->a.nt + 2 * kt) * 2] : &o->areg[(kt % o->held * o->d.mt + mi) * 4];
      const char **b = b_fragment(o, kt, nt / 2) + nt % 2 * 2, **d = &o->d.reg[(mi * o->d.nt + nt) * 4];
      if (fresh)
        OP(l, "mma_first", type, d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], ws_lower_named(l, WS_REG_F32, "zero"));
      else
        OP(l, "mma", type, d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1]);
    }
}

void ws_lower_product(struct lower *l, struct ws_act *act) {
  const struct ws_mem *b = act->b_mem, *am = act->a_mem;
  struct operands o = {.l = l, .act = act, .d = *ws_tile_of(l, act->dst), .held = l->votes ? 1 : act->ahead + 1, .thin = l->votes > 0};
  int ksteps = ((b->transposed ? b->cols : b->rows) + 15) / 16;
  if (act->a) {
    if (act->a->kind != WS_N_VAR) ws_lower_note(l, "accumulators packed to 16 bits: an A operand as they stand");
    o.a = ws_lower_operand(l, act->a, "packed");
  } else if (am->transposed) {
    o.turned = ws_turned_a(l, am);
  } else {
    o.fa = ws_frag_map(l, FRAG_A, am->buffer, ws_warp_rows(l, am->rows));
    o.pa = place_of(l, o.fa, am, 2);
  }
  o.fb = ws_frag_map(l, b->transposed ? FRAG_B : FRAG_BT, b->buffer, 0);
  o.pb = place_of(l, o.fb, b, 2);
  o.pairs = (o.d.nt + 1) / 2;
  if (o.held > ksteps) o.held = ksteps;
  o.b = ws_ptx_temps(&l->px, WS_REG_B32, "bfrag", (size_t)(o.thin ? 4 : o.held * o.pairs * 4));
  if (am) o.areg = ws_ptx_temps(&l->px, WS_REG_B32, "afrag", (size_t)(o.held * o.d.mt * 4));
  for (int kt = 0; kt < o.held - 1; kt++) load_a(&o, kt), load_b(&o, kt, 0, o.pairs);
  for (int kt = 0; kt < ksteps; kt++) {
    if (kt + o.held - 1 < ksteps) {
      load_a(&o, kt + o.held - 1);
      if (!o.thin) load_b(&o, kt + o.held - 1, 0, o.pairs);
    }
    ws_lower_note(l, "k step %d of %d: %s %d to %d%s", kt + 1, ksteps, b->transposed ? "columns" : "rows", kt * 16, kt * 16 + 15,
                  !act->accumulate && kt == 0 ? "; C = 0" : "");
    for (int np = 0; np < o.pairs; np += o.thin ? 1 : o.pairs) {
      int end = o.thin ? np + 1 : o.pairs;
      if (o.thin) load_b(&o, kt, np, end);
      multiply(&o, kt, np * 2, end * 2, !act->accumulate && kt == 0);
    }
  }
}
