/* Operands to register slots, addresses and constants, after the operand pattern of the instruction's table row. */
#include "decode.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

#define BAD WS_CUDA_ERROR_INVALID_PTX

/* ---- slots ---- */
uint32_t ws_emu_new_slot(struct decoder *d, uint32_t bits) {
  struct kernel *k = d->k;
  uint32_t bytes = bits == 1 ? 4 : bits / 8 * LANES, align = bits == 1 ? 4 : 64;
  uint32_t at = (k->reg_bytes + align - 1) & ~(align - 1);
  if (at > 1u << 28) ws_emu_decode_error(d, WS_CUDA_ERROR_OUT_OF_MEMORY, "too many registers");
  k->reg_bytes = at + bytes;
  return at;
}

static uint32_t width_of(uint8_t type) { return ws_emu_types[type].bits < 8 ? 0 : ws_emu_types[type].bits / 8u; }

uint32_t ws_emu_reg_slot(struct decoder *d, struct instance *s, uint32_t reg) {
  if (s->slot[reg] == NO_SLOT) s->slot[reg] = ws_emu_new_slot(d, ws_emu_types[s->f->regs[reg].type].bits);
  return s->slot[reg];
}

void ws_emu_note_use(struct decoder *d, uint32_t slot, const char *name, bool written) {
  *WS_EMU_PUSH(&d->scratch, d->uses, d->nuses, d->cap_uses) = (struct reg_use){(uint32_t)d->k->n - 1, slot, name, written, false};
}

/* The slot of a register operand that the newest instruction reads or writes. */
static uint32_t use_slot(struct decoder *d, struct instance *s, uint32_t reg, bool written) {
  uint32_t slot = ws_emu_reg_slot(d, s, reg);
  ws_emu_note_use(d, slot, s->f->regs[reg].name, written);
  return slot;
}

static void grow_consts(struct decoder *d) {
  size_t cap = d->cap_const_index ? d->cap_const_index * 2 : 256;
  uint32_t *index = WS_EMU_NEW_N(&d->k->pool, uint32_t, cap);
  for (size_t i = 0; i < d->k->nconsts; i++) {
    const struct emu_const *c = &d->k->consts[i];
    size_t at = (c->value * 0x9e3779b97f4a7c15u >> 32 ^ c->bytes) & (cap - 1);
    while (index[at]) at = (at + 1) & (cap - 1);
    index[at] = (uint32_t)i + 1;
  }
  d->const_index = index;
  d->cap_const_index = cap;
}

/* Constants get slots while decoding; when the decode ends they are moved together (decode.c). bytes 0: a predicate;
 * shared: an address in shared memory, to which each CTA adds its rank. */
static uint32_t const_slot(struct decoder *d, uint64_t value, uint32_t bytes, bool shared) {
  struct kernel *k = d->k;
  if (bytes && bytes < 8) value &= ((uint64_t)1 << bytes * 8) - 1;
  if (!bytes) value = value ? ALL_LANES : 0;
  if (k->nconsts * 2 >= d->cap_const_index) grow_consts(d);
  size_t mask = d->cap_const_index - 1, at = (value * 0x9e3779b97f4a7c15u >> 32 ^ bytes) & mask;
  for (; d->const_index[at]; at = (at + 1) & mask) {
    const struct emu_const *c = &k->consts[d->const_index[at] - 1];
    if (c->value == value && c->bytes == bytes && c->shared == shared) return c->slot;
  }
  struct emu_const *c = WS_EMU_PUSH(&k->pool, k->consts, k->nconsts, k->cap_consts);
  *c = (struct emu_const){.slot = ws_emu_new_slot(d, bytes ? bytes * 8 : 1), .bytes = (uint8_t)bytes, .shared = shared, .value = value};
  d->const_index[at] = (uint32_t)k->nconsts;
  return c->slot;
}

uint32_t ws_emu_const_slot(struct decoder *d, uint64_t value, uint32_t bytes) { return const_slot(d, value, bytes, false); }

static uint32_t sreg_slot(struct decoder *d, uint8_t sr) {
  if (d->k->sreg[sr] == NO_SLOT) d->k->sreg[sr] = ws_emu_new_slot(d, ws_emu_types[ws_emu_sregs[sr].type].bits);
  return d->k->sreg[sr];
}

/* ---- variables ---- */
uint32_t ws_emu_var_offset(struct decoder *d, struct instance *s, const struct ptx_sym *y) {
  if (y->id >= s->f->nvars) ws_emu_decode_error(d, BAD, "'%s' cannot be used here", y->name);
  if (s->var[y->id] == NO_SLOT) {
    uint64_t at = ((uint64_t)d->k->local_bytes + y->align - 1) & ~((uint64_t)y->align - 1);
    if (at + y->size > 512 * 1024) ws_emu_decode_error(d, WS_CUDA_ERROR_OUT_OF_MEMORY, "more than 512 KiB of local memory a thread");
    d->k->local_bytes = (uint32_t)(at + y->size);
    s->var[y->id] = (uint32_t)at;
  }
  return s->var[y->id];
}

uint32_t ws_emu_shared_address(struct decoder *d, const struct ptx_sym *y) {
  for (size_t i = 0; i < d->nshared; i++)
    if (d->shared[i].sym == y) return d->shared[i].address;
  ws_emu_decode_error(d, BAD, "'%s' has no address", y->name);
}

static bool entry_param(const struct instance *s, const struct ptx_sym *y) {
  if (!s->f->is_entry) return false;
  for (uint32_t i = 0; i < s->f->nparams; i++)
    if (s->f->params[i] == y) return true;
  return false;
}

/* The address of a variable inside its own state space, and which space that is: parameters of functions and of calls
 * live in the thread's local memory. */
static uint64_t var_address(struct decoder *d, struct instance *s, const struct ptx_sym *y, uint8_t *space) {
  if (!y || y->kind != SYM_VAR) ws_emu_decode_error(d, BAD, "'%s' has no address", y ? y->name : "?");
  *space = y->space;
  switch (y->space) {
    case SP_GLOBAL: case SP_CONST: return y->address;
    case SP_SHARED: return ws_emu_shared_address(d, y);
    case SP_PARAM:
      if (entry_param(s, y)) return y->address;
      *space = SP_LOCAL;
      break;
    default: break;
  }
  return LOCAL_BASE + ws_emu_var_offset(d, s, y);
}

static uint64_t window_of(uint8_t space) {
  return space == SP_SHARED ? WINDOW_SHARED : space == SP_LOCAL ? WINDOW_LOCAL : space == SP_PARAM ? WINDOW_PARAM : 0;
}

/* ---- scalar operands ---- */
struct place { /* one operand of the pattern */
  bool written, wide_ok, optional, newer, counted, kept, vector, pair, accumulators;
  char code, space; /* space of an address: s, c, g, m, n, or 0 for the one among the modifiers */
  int n; /* {n}, or 0 */
};

static const char *next_place(const char *p, struct place *pl) {
  *pl = (struct place){0};
  while (*p == ' ') p++;
  if (!*p) return NULL;
  if (*p == '=') pl->written = true, p++;
  pl->code = *p++;
  for (; *p && *p != ' '; p++) {
    if (*p == 'w') pl->wide_ok = true;
    if (*p == '*') pl->vector = true;
    if (*p == '?' || *p == '+' || *p == '^') pl->optional = true;
    if (*p == '+') pl->newer = true;
    if (*p == '^') pl->counted = true;
    if (*p == '!') pl->kept = true;
    if (*p == '|') pl->pair = true;
    if (*p == '{' && p[1] == 'D') pl->accumulators = true;
    else if (*p == '{') pl->n = p[1] - '0';
    if (pl->code == '@' && strchr("scgmn", *p)) pl->space = *p;
  }
  return p;
}

static uint8_t place_type(const struct place *pl, const struct isa_use *u) {
  switch (pl->code) {
    case 'b': case 'I': case 'H': case 'N': return T_B32;
    case 'h': return T_B16;
    case 'q': case 'A': case 'D': return T_B64;
    case 'p': return T_PRED;
    case 'W': return u->type[0] == T_U16 ? T_U32 : u->type[0] == T_S16 ? T_S32 : u->type[0] == T_U32 ? T_U64 : T_S64;
    default: return pl->code >= '0' && pl->code - '0' < u->ntypes ? u->type[pl->code - '0'] : T_B32;
  }
}

static uint64_t float_bits(struct decoder *d, const struct ptx_operand *o, uint8_t type) {
  double v;
  float f;
  if (ws_emu_types[type].bits == 64) {
    if (o->kind == OPD_F64) return o->imm;
    uint32_t single = (uint32_t)o->imm;
    memcpy(&f, &single, 4);
    v = (double)f;
    uint64_t wide;
    memcpy(&wide, &v, 8);
    return wide;
  }
  if (o->kind == OPD_F32) return o->imm;
  if (ws_emu_types[type].bits != 32) ws_emu_decode_error(d, BAD, "a floating literal does not fit %s", ws_emu_types[type].text);
  memcpy(&v, &o->imm, 8);
  f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

static void check_register(struct decoder *d, struct instance *s, const struct ptx_operand *o, uint8_t type, bool wide_ok) {
  const struct ptx_reg *r = &s->f->regs[o->reg];
  const struct ptx_type_info *rt = &ws_emu_types[r->type], *t = &ws_emu_types[type];
  bool fits = t->bits == rt->bits || (wide_ok && t->bits < rt->bits && rt->cls != 'p' && t->cls != 'p');
  bool kinds = rt->cls == t->cls || rt->cls == 'b' || t->cls == 'b' || (rt->cls == 'u' && t->cls == 's') ||
               (rt->cls == 's' && t->cls == 'u');
  if (!fits || !kinds)
    ws_emu_decode_error(d, BAD, "register '%s' is %s but %s is needed", r->name, rt->text, t->text);
}

static uint32_t source(struct decoder *d, struct instance *s, const struct ptx_operand *o, uint8_t type, bool wide_ok,
                       uint8_t *bytes) {
  uint32_t width = width_of(type);
  uint8_t space;
  *bytes = (uint8_t)width;
  switch (o->kind) {
    case OPD_REG:
      check_register(d, s, o, type, wide_ok);
      *bytes = (uint8_t)width_of(s->f->regs[o->reg].type);
      return use_slot(d, s, o->reg, false);
    case OPD_SREG:
      if (d->k->src[d->k->n - 1].row->family != FAM_MOVE && d->k->src[d->k->n - 1].row->family != FAM_CVT)
        ws_emu_decode_error(d, BAD, "'%s' can only be read by mov and cvt", ws_emu_sregs[o->sreg].text);
      if (!ws_emu_sregs[o->sreg].fixed) ws_emu_decode_error(d, BAD, "'%s' can only be read by mov", ws_emu_sregs[o->sreg].text);
      if (width_of(ws_emu_sregs[o->sreg].type) != width) {
        if (!(wide_ok && width_of(ws_emu_sregs[o->sreg].type) > width))
          ws_emu_decode_error(d, BAD, "'%s' is %s but %s is needed", ws_emu_sregs[o->sreg].text,
                            ws_emu_types[ws_emu_sregs[o->sreg].type].text, ws_emu_types[type].text);
        *bytes = (uint8_t)width_of(ws_emu_sregs[o->sreg].type);
      }
      return sreg_slot(d, o->sreg);
    case OPD_INT: {
      char cls = ws_emu_types[type].cls;
      if (cls == 'f') ws_emu_decode_error(d, BAD, "an integer literal is given but %s is needed", ws_emu_types[type].text);
      return ws_emu_const_slot(d, o->imm, width);
    }
    case OPD_F32: case OPD_F64:
      if (ws_emu_types[type].cls != 'f' && ws_emu_types[type].cls != 'b')
        ws_emu_decode_error(d, BAD, "a floating literal is given but %s is needed", ws_emu_types[type].text);
      return ws_emu_const_slot(d, float_bits(d, o, type), width);
    case OPD_SYM:
      if (width < 4) break;
      {
        uint64_t a = var_address(d, s, o->sym, &space) + o->imm;
        return const_slot(d, a, width, space == SP_SHARED);
      }
    default: break;
  }
  ws_emu_decode_error(d, BAD, "an operand has the wrong form");
}

static uint32_t dest(struct decoder *d, struct instance *s, const struct ptx_operand *o, uint8_t type, bool wide_ok, uint8_t *bytes) {
  *bytes = (uint8_t)width_of(type);
  if (o->kind == OPD_SINK) return ws_emu_new_slot(d, ws_emu_types[type].bits);
  if (o->kind != OPD_REG) ws_emu_decode_error(d, BAD, "the destination must be a register");
  check_register(d, s, o, type, wide_ok);
  *bytes = (uint8_t)width_of(s->f->regs[o->reg].type);
  return use_slot(d, s, o->reg, true);
}

/* ---- addresses ---- */
static uint8_t space_named(const struct isa_use *u) {
  static const struct { const char *text; uint8_t space; } names[] = {
      {".global", SP_GLOBAL}, {".shared", SP_SHARED}, {".shared::cta", SP_SHARED}, {".shared::cluster", SP_CLUSTER}, {".local", SP_LOCAL}, {".const", SP_CONST},
      {".param", SP_PARAM}, {".param::entry", SP_PARAM}, {".param::func", SP_PARAM}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (ws_emu_has(u, names[i].text)) return names[i].space;
  return SP_GENERIC;
}

static void address(struct decoder *d, struct instance *s, const struct ptx_operand *o, struct bind *b, int nth, uint8_t space,
                    uint32_t *slot, int64_t *imm) {
  if (o->kind != OPD_ADDR || o->nsub != 1) ws_emu_decode_error(d, BAD, "an address in brackets is needed");
  const struct ptx_operand *base = &o->sub[0];
  uint8_t found = space, wide = nth > 2 ? 0 : nth == 2 ? A3_WIDE : nth ? A2_WIDE : A1_WIDE;
  *imm = (int64_t)o->imm;
  if (base->kind == OPD_REG) {
    uint8_t type = s->f->regs[base->reg].type;
    if (width_of(type) != 4 && width_of(type) != 8) ws_emu_decode_error(d, BAD, "an address needs a register of 32 or 64 bits");
    if (width_of(type) == 4 && (space == SP_GENERIC || space == SP_GLOBAL))
      ws_emu_decode_error(d, BAD, "an address in this space needs a register of 64 bits");
    if (width_of(type) == 8 && space == SP_TENSOR) ws_emu_decode_error(d, BAD, "an address in tensor memory needs a register of 32 bits");
    if (width_of(type) == 8) b->in->u |= wide;
    *slot = use_slot(d, s, base->reg, false);
  } else {
    b->in->u |= wide;
    if (base->kind == OPD_SYM) *imm += (int64_t)var_address(d, s, base->sym, &found);
    else if (base->kind == OPD_INT) *imm += (int64_t)base->imm;
    else ws_emu_decode_error(d, BAD, "malformed address");
    *slot = const_slot(d, 0, 8, base->kind == OPD_SYM && found == SP_SHARED);
    if (base->kind == OPD_SYM && space == SP_GENERIC) *imm += (int64_t)window_of(found);
    else if (base->kind == OPD_SYM && found != space && !(space == SP_PARAM && found == SP_LOCAL) && !(space == SP_CLUSTER && found == SP_SHARED))
      ws_emu_decode_error(d, BAD, "'%s' does not lie in the instruction's state space", base->sym->name);
  }
  if (!nth) b->space = space == SP_PARAM && found == SP_LOCAL ? SP_LOCAL : space;
}

/* ---- mov and cvta: the operands decide what happens ---- */
static void vector_slots(struct decoder *d, struct instance *s, const struct ptx_operand *o, bool written, uint32_t total_bits,
                         struct inst *in, struct bind *b) {
  uint32_t *x = WS_EMU_NEW_N(&d->k->pool, uint32_t, o->nsub ? o->nsub : 1);
  if (o->nsub != 2 && o->nsub != 4 && o->nsub != 8 && o->nsub != 16) ws_emu_decode_error(d, BAD, "a vector of 2 or 4 is needed");
  uint32_t bits = total_bits / o->nsub;
  uint8_t type = bits == 8 ? T_B8 : bits == 16 ? T_B16 : bits == 32 ? T_B32 : T_B64, bytes;
  if (bits < 8) ws_emu_decode_error(d, BAD, "a vector has too many elements");
  for (uint16_t i = 0; i < o->nsub; i++) {
    if (written && o->sub[i].kind == OPD_SINK) x[i] = NO_SLOT;
    else x[i] = written ? dest(d, s, &o->sub[i], type, false, &bytes) : source(d, s, &o->sub[i], type, false, &bytes);
  }
  in->x = x;
  in->n = (uint8_t)o->nsub;
  in->w = (uint8_t)(bits / 8);
  (void)b;
}

enum { MOV_PLAIN, MOV_PACK, MOV_UNPACK, MOV_SREG, MOV_NARROW }; /* ORDER: exec_move.c */
static void bind_move(struct decoder *d, struct instance *s, const struct ptx_inst *p, struct bind *b) {
  struct inst *in = b->in;
  uint8_t type = b->u->type[0], bytes, space;
  if (p->nops != 2) ws_emu_decode_error(d, BAD, "two operands are needed");
  const struct ptx_operand *to = &p->ops[0], *from = &p->ops[1];
  bool is_mov = *p->name == 'm';
  in->imm = MOV_PLAIN;
  if (to->kind == OPD_VEC && is_mov) {
    in->imm = MOV_UNPACK;
    vector_slots(d, s, to, true, ws_emu_types[type].bits, in, b);
    in->o[1] = source(d, s, from, type, false, &bytes);
    return;
  }
  in->o[0] = dest(d, s, to, type, false, &bytes);
  if (from->kind == OPD_VEC && is_mov) {
    in->imm = MOV_PACK;
    vector_slots(d, s, from, false, ws_emu_types[type].bits, in, b);
  } else if (from->kind == OPD_SREG && !ws_emu_sregs[from->sreg].fixed) {
    in->imm = MOV_SREG;
    in->imm2 = from->sreg;
    if (width_of(ws_emu_sregs[from->sreg].type) != width_of(type)) ws_emu_decode_error(d, BAD, "'%s' has another width", ws_emu_sregs[from->sreg].text);
  } else if (from->kind == OPD_SREG && width_of(type) == 2 && is_mov) {
    in->imm = MOV_NARROW;
    in->o[1] = sreg_slot(d, from->sreg);
  } else if (from->kind == OPD_SYM && !is_mov) { /* cvta of a variable: its generic address */
    uint64_t a = var_address(d, s, from->sym, &space) + from->imm;
    in->o[1] = const_slot(d, a, width_of(type), space == SP_SHARED);
  } else {
    in->o[1] = source(d, s, from, type, false, &bytes);
  }
}

/* ---- by pattern ---- */
enum { MOST_X = 256 };
struct binder {
  struct bind b;
  int scalars, addresses, ints, nx, cap_x;
  uint32_t x[MOST_X + 2];
};

static void bind_vector(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o, const struct place *pl,
                        int n, uint8_t type) {
  struct ptx_operand const *e = o;
  if (n > 1 || pl->n || pl->accumulators) {
    if (o->kind == OPD_VEC && o->nsub == n) e = o->sub;
    else if (!(n == 1 && o->kind != OPD_VEC)) ws_emu_decode_error(d, BAD, "a vector of %d is needed", n);
  } else if (o->kind == OPD_VEC) {
    ws_emu_decode_error(d, BAD, "an instruction without .v2 or .v4 takes no vector");
  }
  uint32_t sink = 0; /* what an element _ is as wide as: the others may be wider than the type */
  for (int i = 0; i < n && !sink && pl->wide_ok; i++)
    if (e[i].kind == OPD_REG) sink = width_of(s->f->regs[e[i].reg].type);
  for (int i = 0; i < n; i++) {
    uint8_t bytes;
    if (r->nx == MOST_X) ws_emu_decode_error(d, BAD, "too many vector elements");
    if (pl->accumulators && r->b.u->row->family == FAM_TENSOR && e[i].kind != OPD_REG) ws_emu_decode_error(d, BAD, "every element must be a register");
    for (int k = 0; k < i && pl->accumulators && pl->written; k++) /* the assembler drops the whole load then */
      if (e[k].kind == OPD_REG && e[i].kind == OPD_REG && e[k].reg == e[i].reg) ws_emu_decode_error(d, BAD, "a register is named twice in the result");
    r->x[r->nx++] = pl->written ? dest(d, s, &e[i], type, pl->wide_ok, &bytes) : source(d, s, &e[i], type, pl->wide_ok, &bytes);
    if (e[i].kind == OPD_SINK && sink && sink != bytes) {
      r->x[r->nx - 1] = ws_emu_new_slot(d, sink * 8);
      bytes = (uint8_t)sink;
    }
    if (i && bytes != r->b.in->w) ws_emu_decode_error(d, BAD, "the registers of a vector must have the same width");
    r->b.in->w = bytes;
  }
  if (pl->vector) r->b.in->n = (uint8_t)n;
}

static void bind_int(struct decoder *d, struct binder *r, const struct ptx_operand *o) {
  if (o->kind != OPD_INT) ws_emu_decode_error(d, BAD, "an integer constant is needed");
  if (r->addresses < 1 && r->ints == 0) r->b.in->imm = (int64_t)o->imm;
  else if (r->addresses < 2) r->b.in->imm2 = (int64_t)o->imm;
  else if (o->imm < 256) r->b.in->n = (uint8_t)o->imm;
  else ws_emu_decode_error(d, BAD, "the constant is out of range");
  r->ints++;
  r->b.ints++;
}

/* A third address has its offset behind the vector operands in x, low half first. */
static void bind_address(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o, const struct place *pl, uint32_t *slot) {
  struct inst *in = r->b.in;
  int64_t third = 0;
  uint8_t space = pl->space == 's' ? SP_SHARED : pl->space == 'c' ? SP_CLUSTER : pl->space == 'm' ? SP_TENSOR : pl->space == 'n' ? SP_GENERIC : pl->space == 'g' || r->addresses ? SP_GLOBAL : space_named(r->b.u);
  address(d, s, o, &r->b, r->addresses, space, slot, r->addresses == 0 ? &in->imm : r->addresses == 1 ? &in->imm2 : &third);
  if (r->addresses++ != 2) return;
  r->x[r->nx++] = (uint32_t)third;
  r->x[r->nx++] = (uint32_t)((uint64_t)third >> 32);
}

/* [map, {c0, ..}]: x gets the coordinates, n their number. */
static void bind_tensor(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o, uint32_t *slot) {
  struct inst *in = r->b.in;
  if (o->kind != OPD_ADDR || o->nsub != 2 || o->sub[1].kind != OPD_VEC || o->sub[1].nsub > 5)
    ws_emu_decode_error(d, BAD, "a tensor map and its coordinates in brackets are needed");
  struct ptx_operand map = *o;
  map.nsub = 1;
  address(d, s, &map, &r->b, r->addresses, SP_GENERIC, slot, r->addresses ? &in->imm2 : &in->imm);
  r->addresses++;
  for (uint16_t i = 0; i < o->sub[1].nsub; i++) {
    uint8_t bytes;
    r->x[r->nx++] = source(d, s, &o->sub[1].sub[i], T_B32, false, &bytes);
  }
  in->n = (uint8_t)o->sub[1].nsub;
}

/* Constants of one byte each, the first in the lowest byte of imm. */
static void bind_small(struct decoder *d, struct binder *r, const struct ptx_operand *o) {
  if (o->kind != OPD_INT || (int64_t)o->imm < -128 || (int64_t)o->imm > 127) ws_emu_decode_error(d, BAD, "a small integer constant is needed");
  r->b.in->imm |= (int64_t)((o->imm & 0xff) << 8 * r->b.smalls++);
}

/* The registers of tcgen05.ld and .st: a column of 32 lanes each, of .16x128b two and of .16x256b four for each repetition. */
static int tensor_registers(struct decoder *d, const struct isa_use *u) {
  int each = 0, n = 0;
  for (int i = 0; i < u->nmods; i++) {
    if (u->mods[i][1] == 'x') n = atoi(u->mods[i] + 2);
    else if (!strncmp(u->mods[i], ".16x", 4) || !strncmp(u->mods[i], ".32x", 4)) each = strstr(u->mods[i], "128b") ? 2 : strstr(u->mods[i], "256b") ? 4 : 1;
  }
  if (each * n > 128) ws_emu_decode_error(d, BAD, "this shape has at most 128 registers");
  return each * n;
}

/* wgmma's accumulators: 64 x N elements in the registers of 128 threads, 16-bit ones in pairs. */
static int accumulators(struct decoder *d, const struct isa_use *u) {
  if (u->row->family == FAM_TENSOR) return tensor_registers(d, u);
  const char *shape = strchr(u->mods[3], 'n');
  int n = shape ? atoi(shape + 1) : 0;
  return u->type[0] == T_F16 ? n / 4 : n / 2;
}

/* Operands for which there is no slot: x gets it, and the offset of an address. */
static void bind_extra(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o, char code) {
  uint32_t slot = NO_SLOT;
  int64_t imm = 0;
  uint8_t bytes;
  if (code == 'Q') {
    r->x[r->nx++] = source(d, s, o, T_B64, false, &bytes);
    return;
  }
  address(d, s, o, &r->b, 3, SP_TENSOR, &slot, &imm);
  r->x[r->nx++] = slot;
  r->x[r->nx++] = (uint32_t)imm;
}

/* Constants that the assembler checks, too; in a register they are checked when the instruction runs. */
static void check_constant(struct decoder *d, const struct ptx_operand *o, char code) {
  if (o->kind != OPD_INT) return;
  if (code == 'I' && o->imm > 15) ws_emu_decode_error(d, BAD, "barriers are numbered 0 to 15");
  if (code == 'H' && (!o->imm || o->imm % LANES)) ws_emu_decode_error(d, BAD, "a thread count must be a multiple of 32");
  if (code == 'N' && (o->imm < 32 || o->imm > 512 || o->imm & (o->imm - 1))) ws_emu_decode_error(d, BAD, "a number of columns must be 32, 64, 128, 256 or 512");
}

static void bind_place(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o, const struct place *pl) {
  struct inst *in = r->b.in;
  uint8_t bytes, type = place_type(pl, r->b.u);
  if (pl->vector || pl->n || pl->accumulators) {
    bind_vector(d, s, r, o, pl, pl->accumulators ? accumulators(d, r->b.u) : pl->n ? pl->n : r->b.u->vec, type);
    return;
  }
  if (pl->code == '#') {
    bind_int(d, r, o);
    return;
  }
  if (pl->code == 'i') {
    bind_small(d, r, o);
    return;
  }
  if (pl->code == 'X' || pl->code == 'Q') {
    bind_extra(d, s, r, o, pl->code);
    return;
  }
  uint32_t *slot = &in->o[r->scalars++];
  switch (pl->code) {
    case '@':
      bind_address(d, s, r, o, pl, slot);
      return;
    case 't':
      bind_tensor(d, s, r, o, slot);
      return;
    case 'D':
      in->o[r->scalars++] = NO_SLOT;
      if (o->kind == OPD_ADDR) {
        *slot = NO_SLOT;
        slot++;
        bind_address(d, s, r, o, &(struct place){.code = '@', .space = 'm'}, slot);
        return;
      }
      r->addresses++;
      break;
    case 'A': /* registers, after the slots of D in x; else a descriptor */
      if (o->kind != OPD_VEC) break;
      bind_vector(d, s, r, o, pl, 4, T_B32);
      return;
    case '_':
      if (o->kind != OPD_SINK) ws_emu_decode_error(d, BAD, "the result of this form must be '_'");
      return;
    case 'L':
      if (o->kind != OPD_SYM || !o->sym || o->sym->kind != SYM_LABEL) ws_emu_decode_error(d, BAD, "a label is needed");
      ws_emu_patch(d, s, o, (uint32_t)(in - d->k->code), NULL);
      return;
    case 'S': /* cp.async: source size, or the predicate that ignores the source; a policy alone leaves both out */
      if (o->kind == OPD_REG && ws_emu_types[s->f->regs[o->reg].type].bits == 64 && ws_emu_has(r->b.u, ".L2::cache_hint")) {
        *slot = NO_SLOT;
        return;
      }
      r->b.src_pred = o->kind == OPD_REG && s->f->regs[o->reg].type == T_PRED;
      type = r->b.src_pred ? T_PRED : T_B32;
      break;
    default: break;
  }
  check_constant(d, o, pl->code);
  if (pl->kept && o->kind == OPD_SINK) ws_emu_decode_error(d, BAD, "this result must be a register");
  if (type == T_PRED && !pl->written && o->negated) {
    in->flags |= F_SRC_NOT;
    r->b.negated |= (uint8_t)(1 << (r->scalars - 1));
  }
  else if (o->negated) ws_emu_decode_error(d, BAD, "'!' needs a source predicate");
  if (pl->written) {
    *slot = dest(d, s, o, type, pl->wide_ok, &bytes);
    r->b.dw = bytes;
    if (pl->pair) {
      in->o[r->scalars++] = o->second ? dest(d, s, o->second, T_PRED, false, &bytes) : NO_SLOT;
    }
  } else {
    *slot = source(d, s, o, type, pl->wide_ok, &bytes);
    r->b.sw = bytes;
  }
  if (o->second && !pl->pair) ws_emu_decode_error(d, BAD, "'|' is not allowed here");
}

static void bind_targets(struct decoder *d, struct instance *s, struct binder *r, const struct ptx_operand *o) {
  if (o->kind != OPD_SYM || !o->sym || o->sym->kind != SYM_TARGETS) ws_emu_decode_error(d, BAD, "a .branchtargets label is needed");
  struct ptx_sym *y = o->sym;
  uint32_t *x = WS_EMU_NEW_N(&d->k->pool, uint32_t, y->ntargets);
  for (uint32_t i = 0; i < y->ntargets; i++) {
    struct ptx_operand l = {.sym = y->targets[i]};
    if (!l.sym || l.sym->kind != SYM_LABEL) ws_emu_decode_error(d, BAD, "a branch target is no label");
    ws_emu_patch(d, s, &l, 0, &x[i]);
  }
  r->b.in->x = x;
  r->b.in->imm = y->ntargets;
}

struct inst *ws_emu_emit(struct decoder *d, const struct ptx_inst *p, const struct isa_row *row) {
  struct kernel *k = d->k;
  if (k->n == 1u << 22) ws_emu_decode_error(d, WS_CUDA_ERROR_OUT_OF_MEMORY, "the kernel is too long once its calls are expanded");
  struct inst *in = WS_EMU_PUSH(&k->pool, k->code, k->n, k->cap);
  *in = (struct inst){.guard = NO_SLOT, .n = 1};
  for (int i = 0; i < 6; i++) in->o[i] = NO_SLOT;
  size_t n = k->n - 1;
  *WS_EMU_PUSH(&k->pool, k->src, n, k->cap_src) = (struct inst_src){p, row};
  return in;
}

void ws_emu_bind(struct decoder *d, struct instance *s, const struct ptx_inst *p, const struct isa_use *u) {
  struct binder r = {.b = {.u = u, .in = ws_emu_emit(d, p, u->row)}};
  struct inst *in = r.b.in;
  if (p->guard != PTX_NO_REG) {
    in->guard = use_slot(d, s, p->guard, false);
    d->uses[d->nuses - 1].is_guard = true;
    in->flags |= (uint8_t)(F_GUARD | (p->guard_not ? F_GUARD_NOT : 0));
  }
  if (u->row->effects & E_ALIGNED || ws_emu_has(u, ".aligned")) in->flags |= F_ALIGNED;
  const char *pat = u->row->operands;
  if (*pat == 'M') {
    bind_move(d, s, p, &r.b);
  } else {
    struct place pl;
    int at = 0;
    /* optional operands in front of required ones (bar.red p, a {, b}, q) are left out when operands are too few */
    int required = 0;
    for (const char *q = pat; (q = next_place(q, &pl));) required += !pl.optional;
    int spare = p->nops - required;
    while ((pat = next_place(pat, &pl))) {
      bool absent = pl.optional && (spare <= 0 || (pl.n && at < p->nops && p->ops[at].kind != OPD_VEC));
      if (absent) {
        if (pl.code != '#' && pl.code != 'i' && pl.code != 'Q' && !pl.n) r.scalars++;
        continue;
      }
      if (pl.optional) spare--;
      if (pl.newer && (d->m->sm < 100 || d->m->version < 88))
        ws_emu_decode_error(d, BAD, "this many operands of '%s' need .target sm_100 and .version 8.8", u->row->mnemonic);
      if (pl.counted && (d->m->sm < 90 || d->m->version < 78))
        ws_emu_decode_error(d, BAD, "a count needs .target sm_90 and .version 7.8 here");
      if (at == p->nops) ws_emu_decode_error(d, BAD, "operands are missing");
      if (pl.code == 'T') bind_targets(d, s, &r, &p->ops[at++]);
      else bind_place(d, s, &r, &p->ops[at++], &pl);
    }
    if (at < p->nops) ws_emu_decode_error(d, BAD, "there are too many operands");
    r.b.nx = (uint32_t)r.nx;
    if (r.nx) {
      uint32_t *x = WS_EMU_NEW_N(&d->k->pool, uint32_t, r.nx);
      memcpy(x, r.x, sizeof *x * (size_t)r.nx);
      in->x = x;
    }
  }
  in->fn = d->level->resolve[u->row->family](&r.b);
  if (!in->fn) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "this form of '%s' is not supported", u->row->mnemonic);
}
