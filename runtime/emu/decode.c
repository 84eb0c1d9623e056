/* An entry's statements to executable form: names matched, the target's gate passed, calls expanded in place. */
#include "decode.h"
#include "hazard.h"
#include "../src/cuda_abi.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BAD_PTX WS_CUDA_ERROR_INVALID_PTX

enum { MAX_CALL_DEPTH = 64, DECODE_LIMIT = 1 << 30 };

void ws_emu_decode_error(struct decoder *d, int code, const char *fmt, ...) {
  char msg[400], text[200] = "";
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  const struct ptx_inst *p = d->now;
  if (p) {
    const char *s = d->m->text + p->begin;
    size_t n = strcspn(s, ";\n");
    snprintf(text, sizeof text, "%.*s;", (int)(n > 180 ? 180 : n), s);
    snprintf(d->err, d->err_n, "%u:%u: error: %s: '%s'", p->line, p->col, msg, text);
  } else {
    snprintf(d->err, d->err_n, "%u:%u: error: %s", d->k->func->sym->line, d->k->func->sym->col, msg);
  }
  d->code = code;
  longjmp(d->fail, 2);
}

/* ---- names ---- */
/* Modifiers that came later than the form that has them. */
static const struct { const char *prefix, *modifier; uint8_t ptx; } later[] = {
    {"mbarrier.arrive", ".relaxed", 86}, {"mbarrier.test_wait", ".relaxed", 86}, {"mbarrier.try_wait", ".relaxed", 86}, {"mbarrier.arrive", ".shared::cluster", 80}};
static const struct isa_use *match(struct decoder *d, const char *name) {
  uint32_t h = 2166136261u;
  for (const char *c = name; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
  if (d->nnames * 2 >= d->cap_names) {
    size_t cap = d->cap_names ? d->cap_names * 2 : 256;
    struct name_cache *grown = WS_EMU_NEW_N(&d->k->pool, struct name_cache, cap);
    for (size_t i = 0; i < d->cap_names; i++) {
      if (!d->names[i].name) continue;
      uint32_t g = 2166136261u;
      for (const char *c = d->names[i].name; *c; c++) g = (g ^ (unsigned char)*c) * 16777619u;
      size_t at = g & (cap - 1);
      while (grown[at].name) at = (at + 1) & (cap - 1);
      grown[at] = d->names[i];
    }
    d->names = grown;
    d->cap_names = cap;
  }
  size_t at = h & (d->cap_names - 1);
  for (; d->names[at].name; at = (at + 1) & (d->cap_names - 1))
    if (!strcmp(d->names[at].name, name)) return d->names[at].use;
  char why[300];
  struct isa_use *u = WS_EMU_NEW(&d->k->pool, struct isa_use);
  if (!ws_emu_isa_match(name, u, why, sizeof why)) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "%s", why);
  if (d->m->version < u->row->ptx)
    ws_emu_decode_error(d, BAD_PTX, "this form of '%s' needs .version %u.%u", u->row->mnemonic, u->row->ptx / 10u, u->row->ptx % 10u);
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (d->m->version < later[i].ptx && !strncmp(u->key, later[i].prefix, strlen(later[i].prefix)) && ws_emu_has(u, later[i].modifier))
      ws_emu_decode_error(d, BAD_PTX, "'%s' of '%s' needs .version %u.%u", later[i].modifier, later[i].prefix, later[i].ptx / 10u, later[i].ptx % 10u);
  if (d->m->sm < u->row->sm)
    ws_emu_decode_error(d, BAD_PTX, "this form of '%s' needs .target sm_%u", u->row->mnemonic, u->row->sm);
  if (u->row->effects & E_ARCH && !d->m->sm_suffix)
    ws_emu_decode_error(d, BAD_PTX, "'%s' needs .target sm_%ua", u->row->mnemonic, u->row->sm);
  if (u->row->effects & E_UNSYNC && d->m->sm >= 70 && d->m->version >= 64)
    ws_emu_decode_error(d, BAD_PTX, "'%s' without .sync is not there for targets from sm_70 on", u->row->mnemonic);
  if (u->row->effects & E_CHIP && (d->m->sm != u->row->sm || d->m->sm_suffix != 'a'))
    ws_emu_decode_error(d, BAD_PTX, "this form of '%s' exists for .target sm_%ua only", u->row->mnemonic, u->row->sm);
  d->names[at] = (struct name_cache){name, u};
  d->nnames++;
  return u;
}

/* ---- branches ---- */
void ws_emu_patch(struct decoder *d, struct instance *s, const struct ptx_operand *o, uint32_t at, uint32_t *target) {
  s->patches = ws_emu_grow(&d->k->pool, s->patches, s->npatches, &s->cap_patches, sizeof *s->patches);
  s->patches[s->npatches].at = at;
  s->patches[s->npatches].stmt = o->sym->id;
  s->patches[s->npatches].target = target;
  s->npatches++;
}

static void resolve_patches(struct decoder *d, struct instance *s) {
  for (size_t i = 0; i < s->npatches; i++) {
    uint32_t pc = s->pc[s->patches[i].stmt];
    if (s->patches[i].target) *s->patches[i].target = pc;
    else d->k->code[s->patches[i].at].o[0] = pc;
  }
}

/* ---- calls ---- */
static struct instance *new_instance(struct decoder *d, struct ptx_func *f, struct instance *parent) {
  struct instance *s = WS_EMU_NEW(&d->k->pool, struct instance);
  *s = (struct instance){.f = f, .parent = parent};
  s->slot = WS_EMU_NEW_N(&d->k->pool, uint32_t, f->nregs + 1);
  s->var = WS_EMU_NEW_N(&d->k->pool, uint32_t, f->nvars + 1);
  s->pc = WS_EMU_NEW_N(&d->k->pool, uint32_t, f->ninsts + 1);
  for (size_t i = 0; i <= f->nregs; i++) s->slot[i] = NO_SLOT;
  for (size_t i = 0; i <= f->nvars; i++) s->var[i] = NO_SLOT;
  return s;
}

static void statements(struct decoder *d, struct instance *s);

/* One synthetic instruction of a call's parameter passing, written with the caller's or callee's operands. */
static void transfer(struct decoder *d, struct instance *s, const struct ptx_inst *call, const char *name, struct ptx_operand a,
                     struct ptx_operand b) {
  struct ptx_inst *p = WS_EMU_NEW(&d->k->pool, struct ptx_inst);
  *p = *call;
  p->guard = PTX_NO_REG;
  p->name = name;
  p->ops = WS_EMU_NEW_N(&d->k->pool, struct ptx_operand, 2);
  p->ops[0] = a;
  p->ops[1] = b;
  p->nops = 2;
  ws_emu_bind(d, s, p, match(d, name));
}

static const char *mov_name(uint32_t bits) { return bits == 64 ? "mov.b64" : bits == 32 ? "mov.b32" : bits == 16 ? "mov.b16" : "mov.pred"; }

/* A register of the callee: `id` of the declaration `formal`. */
static void pass_register(struct decoder *d, struct instance *caller, struct instance *callee, const struct ptx_inst *call,
                          const struct ptx_operand *actual, const struct ptx_sym *formal, uint32_t id, bool result) {
  if (id == PTX_NO_REG) return; /* the callee never uses it */
  uint32_t bits = ws_emu_types[formal->type].bits;
  if (bits < 16 && bits != 1) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "this way of passing '%s' is not supported", formal->name);
  /* a register of the other instance is named by its slot: bind in the callee, then exchange one operand */
  struct ptx_operand own = {.kind = OPD_REG, .reg = id};
  transfer(d, callee, call, mov_name(bits), own, own);
  struct inst *in = &d->k->code[d->k->n - 1];
  if (actual->kind == OPD_REG) {
    if (ws_emu_types[caller->f->regs[actual->reg].type].bits != bits) ws_emu_decode_error(d, BAD_PTX, "an argument's width differs from '%s'", formal->name);
    struct reg_use *use = &d->uses[d->nuses - (result ? 2 : 1)]; /* the destination comes first */
    in->o[result ? 0 : 1] = use->slot = ws_emu_reg_slot(d, caller, actual->reg);
    use->name = caller->f->regs[actual->reg].name;
  } else if (!result && (actual->kind == OPD_INT || actual->kind == OPD_F32 || actual->kind == OPD_F64)) {
    in->o[1] = ws_emu_const_slot(d, actual->imm, bits / 8);
    d->nuses--;
  } else {
    ws_emu_decode_error(d, BAD_PTX, "malformed argument");
  }
}

/* A register or constant where the callee has a variable, which lies in the thread's local memory. */
static void pass_memory(struct decoder *d, struct instance *caller, struct instance *callee, const struct ptx_inst *call,
                        const struct ptx_operand *actual, const struct ptx_sym *formal, bool result) {
  static const char *const names[2][9] = {{[1] = "st.local.b8", [2] = "st.local.b16", [4] = "st.local.b32", [8] = "st.local.b64"},
                                          {[1] = "ld.local.b8", [2] = "ld.local.b16", [4] = "ld.local.b32", [8] = "ld.local.b64"}};
  const char *name = names[result][formal->size];
  if (!name) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "this way of passing '%s' is not supported", formal->name);
  struct ptx_operand *base = WS_EMU_NEW(&d->k->pool, struct ptx_operand);
  *base = (struct ptx_operand){.kind = OPD_INT, .imm = LOCAL_BASE + ws_emu_var_offset(d, callee, formal), .reg = PTX_NO_REG};
  struct ptx_operand at = {.kind = OPD_ADDR, .sub = base, .nsub = 1, .reg = PTX_NO_REG};
  if (result) transfer(d, caller, call, name, *actual, at);
  else transfer(d, caller, call, name, at, *actual);
}

/* Passes one argument or result. The variables of a call are shared with the callee (it sees the caller's storage);
 * registers are copied. `formal` belongs to callee, `actual` to caller. */
static void pass(struct decoder *d, struct instance *caller, struct instance *callee, const struct ptx_inst *call,
                 const struct ptx_operand *actual, struct ptx_sym *formal, bool result) {
  if (formal->kind == SYM_VAR && actual->kind == OPD_SYM && actual->sym && actual->sym->kind == SYM_VAR && actual->sym->space == SP_PARAM) {
    if (actual->sym->size < formal->size) ws_emu_decode_error(d, BAD_PTX, "argument '%s' is too small for '%s'", actual->sym->name, formal->name);
    callee->var[formal->id] = ws_emu_var_offset(d, caller, actual->sym);
    return;
  }
  if (result && actual->kind == OPD_SINK) return;
  if (formal->kind == SYM_VAR && formal->size <= 8 && !formal->is_array && actual->kind != OPD_VEC && actual->kind != OPD_SYM) {
    pass_memory(d, caller, callee, call, actual, formal, result);
    return;
  }
  if (formal->kind != SYM_REG || formal->lanes > (actual->kind == OPD_VEC ? actual->nsub : 0))
    ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "this way of passing '%s' is not supported", formal->name);
  for (uint32_t i = 0; i < formal->lanes && formal->elements; i++)
    pass_register(d, caller, callee, call, &actual->sub[i], formal, formal->elements[i], result);
  if (!formal->lanes) pass_register(d, caller, callee, call, actual, formal, formal->id, result);
}

/* A function that the system provides: one instruction with the addresses of arguments and result, which are variables of the caller. */
static bool system_call(struct decoder *d, struct instance *s, const struct ptx_inst *p, const struct ptx_sym *y, const struct ptx_operand *args,
                        const struct ptx_operand *rets) {
  static const struct { const char *name, *row; uint8_t args, rets, used; } list[] = {{"vprintf", "call vprintf", 2, 1, 2}, {"__assertfail", "call __assertfail", 5, 0, 3}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (strcmp(y->name, list[i].name) || (args ? args->nsub : 0) != list[i].args || (rets ? rets->nsub : 0) != list[i].rets) continue;
    struct ptx_inst *call = WS_EMU_NEW(&d->k->pool, struct ptx_inst);
    *call = *p;
    call->name = list[i].row;
    call->nops = (uint8_t)(list[i].used + list[i].rets);
    call->ops = WS_EMU_NEW_N(&d->k->pool, struct ptx_operand, call->nops);
    for (uint16_t k = 0; k < call->nops; k++) {
      struct ptx_operand *actual = k < list[i].used ? &args->sub[k] : &rets->sub[0];
      if (actual->kind != OPD_SYM) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "this way of passing arguments to '%s' is not supported", y->name);
      call->ops[k] = (struct ptx_operand){.kind = OPD_ADDR, .sub = actual, .nsub = 1};
    }
    ws_emu_bind(d, s, call, match(d, call->name));
    return true;
  }
  return false;
}

/* call [(results),] function [, (arguments)] [, prototype] */
static void call(struct decoder *d, struct instance *s, const struct ptx_inst *p) {
  if (!p->nops) ws_emu_decode_error(d, BAD_PTX, "operands are missing");
  const struct ptx_operand *o = p->ops, *end = p->ops + p->nops, *rets = NULL, *args = NULL;
  if (o < end && o->kind == OPD_LIST) rets = o++;
  if (o == end || o->kind != OPD_SYM || !o->sym || o->sym->kind != SYM_FUNC)
    ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "indirect calls are not supported");
  const struct ptx_sym *name = o->sym;
  struct ptx_func *f = o++->sym->func;
  if (o < end && o->kind == OPD_LIST) args = o++;
  if (!f || !f->has_body) {
    if (system_call(d, s, p, name, args, rets)) return;
    ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "'%s' has no body", name->name);
  }
  if (f->is_entry) ws_emu_decode_error(d, BAD_PTX, "an entry cannot be called");
  for (struct instance *i = s; i; i = i->parent)
    if (i->f == f) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "recursive calls are not supported");
  if (++d->depth > MAX_CALL_DEPTH) ws_emu_decode_error(d, WS_CUDA_ERROR_NOT_SUPPORTED, "calls are nested too deeply");
  struct instance *callee = new_instance(d, f, s);
  if ((args ? args->nsub : 0) != f->nparams || (rets ? rets->nsub : 0) != f->nrets)
    ws_emu_decode_error(d, BAD_PTX, "the number of arguments or results differs from '%s'", f->sym->name);
  uint32_t skip = NO_SLOT;
  if (p->guard != PTX_NO_REG) { /* a guarded call branches around the expansion */
    struct ptx_inst *b = WS_EMU_NEW(&d->k->pool, struct ptx_inst);
    static struct ptx_sym nowhere = {.kind = SYM_LABEL};
    struct ptx_operand *l = WS_EMU_NEW(&d->k->pool, struct ptx_operand);
    *b = *p;
    *l = (struct ptx_operand){.kind = OPD_SYM, .sym = &nowhere};
    b->guard_not = !p->guard_not;
    b->name = "bra";
    b->ops = l;
    b->nops = 1;
    size_t before = s->npatches;
    skip = (uint32_t)d->k->n;
    ws_emu_bind(d, s, b, match(d, "bra"));
    s->npatches = before;
  }
  for (uint32_t i = 0; i < f->nparams; i++) pass(d, s, callee, p, &args->sub[i], f->params[i], false);
  for (uint32_t i = 0; i < f->nrets; i++)
    if (f->rets[i]->kind == SYM_VAR && rets->sub[i].kind == OPD_SYM) pass(d, s, callee, p, &rets->sub[i], f->rets[i], true);
  statements(d, callee);
  d->now = p;
  for (uint32_t i = 0; i < f->nrets; i++)
    if (f->rets[i]->kind == SYM_REG || rets->sub[i].kind != OPD_SYM) pass(d, s, callee, p, &rets->sub[i], f->rets[i], true);
  if (skip != NO_SLOT) d->k->code[skip].o[0] = (uint32_t)d->k->n;
  d->depth--;
}

/* ret of an expanded function jumps to its end. */
static void returns(struct decoder *d, struct instance *s, const struct ptx_inst *p) {
  struct ptx_inst *b = WS_EMU_NEW(&d->k->pool, struct ptx_inst);
  struct ptx_sym *end = WS_EMU_NEW(&d->k->pool, struct ptx_sym);
  struct ptx_operand *l = WS_EMU_NEW(&d->k->pool, struct ptx_operand);
  *end = (struct ptx_sym){.name = "ret", .kind = SYM_LABEL, .id = (uint32_t)s->f->ninsts};
  *l = (struct ptx_operand){.kind = OPD_SYM, .sym = end};
  *b = *p;
  b->name = s->parent ? "bra" : "exit";
  b->ops = l;
  b->nops = s->parent != NULL;
  ws_emu_bind(d, s, b, match(d, b->name));
  d->k->src[d->k->n - 1].ptx = p;
}

static void statements(struct decoder *d, struct instance *s) {
  for (size_t i = 0; i < s->f->ninsts; i++) {
    const struct ptx_inst *p = &s->f->insts[i];
    d->now = p;
    s->pc[i] = (uint32_t)d->k->n;
    const struct isa_use *u = match(d, p->name);
    if (*u->row->operands == 'C') call(d, s, p);
    else if (!strcmp(u->row->mnemonic, "ret")) returns(d, s, p);
    else ws_emu_bind(d, s, p, u);
  }
  s->pc[s->f->ninsts] = (uint32_t)d->k->n;
  resolve_patches(d, s);
}

/* ---- shared memory ---- */
static void note_shared(struct decoder *d, const struct ptx_operand *o, int depth) {
  if (depth > 8) return;
  if (o->kind == OPD_SYM && o->sym && o->sym->kind == SYM_VAR && o->sym->space == SP_SHARED) {
    for (size_t i = 0; i < d->nshared; i++)
      if (d->shared[i].sym == o->sym) return;
    *WS_EMU_PUSH(&d->k->pool, d->shared, d->nshared, d->cap_shared) = (struct shared_var){o->sym, 0};
  }
  for (uint16_t i = 0; i < o->nsub; i++) note_shared(d, &o->sub[i], depth + 1);
}

struct seen { struct ptx_func *f; struct seen *next; };
static void find_shared(struct decoder *d, struct ptx_func *f, struct seen **seen) {
  for (struct seen *s = *seen; s; s = s->next)
    if (s->f == f) return;
  struct seen *me = WS_EMU_NEW(&d->k->pool, struct seen);
  *me = (struct seen){f, *seen};
  *seen = me;
  for (size_t i = 0; i < f->ninsts; i++)
    for (uint8_t k = 0; k < f->insts[i].nops; k++) {
      const struct ptx_operand *o = &f->insts[i].ops[k];
      note_shared(d, o, 0);
      if (o->kind == OPD_SYM && o->sym && o->sym->kind == SYM_FUNC && o->sym->func) find_shared(d, o->sym->func, seen);
    }
}

/* Static variables in order of first use, then the dynamic part at the largest alignment its names ask for. On sm_90
 * and later the system keeps the first KiB of the window. */
static void lay_out_shared(struct decoder *d) {
  struct seen *seen = NULL;
  struct kernel *k = d->k;
  find_shared(d, k->func, &seen);
  k->shared_base = d->m->sm >= 90 ? 1024 : 0;
  uint64_t at = k->shared_base;
  uint32_t align = 16;
  for (size_t i = 0; i < d->nshared; i++) {
    const struct ptx_sym *y = d->shared[i].sym;
    if (y->is_extern) {
      if (y->align > align) align = y->align;
      k->uses_dynamic = true;
      continue;
    }
    at = (at + y->align - 1) & ~((uint64_t)y->align - 1);
    d->shared[i].address = (uint32_t)at;
    at += y->size;
    if (at > 1 << 20) ws_emu_decode_error(d, BAD_PTX, "too much static shared memory");
  }
  k->shared_static = (uint32_t)at - k->shared_base;
  k->shared_dynamic = k->uses_dynamic ? (uint32_t)((at + align - 1) & ~((uint64_t)align - 1)) : (uint32_t)at;
  for (size_t i = 0; i < d->nshared; i++)
    if (d->shared[i].sym->is_extern) d->shared[i].address = k->shared_dynamic;
}

/* ---- constants ---- */
/* What a warp's register file holds when it starts: constants, and everything else poisoned. */
static void build_image(struct kernel *k) {
  k->reg_bytes = (k->reg_bytes + 63) & ~63u;
  k->image = ws_emu_alloc(&k->pool, k->reg_bytes);
  memset(k->image, 0xff, k->reg_bytes);
  for (size_t i = 0; i < k->nconsts; i++) {
    const struct emu_const *c = &k->consts[i];
    uint8_t *to = k->image + c->slot;
    if (!c->bytes) memcpy(to, &c->value, 4);
    else for (uint32_t l = 0; l < LANES; l++)
      for (uint32_t b = 0; b < c->bytes; b++) to[l * c->bytes + b] = (uint8_t)(b < 8 ? c->value >> 8 * b & 0xff : 0);
  }
}

/* ---- reads of registers that nothing has written ---- */
enum { MOST_WARNINGS = 50, WARNING_TEXT = 400 };

static void warn(struct decoder *d, size_t pc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void warn(struct decoder *d, size_t pc, const char *fmt, ...) {
  char where[WARNING_TEXT], what[WARNING_TEXT], line[3 * WARNING_TEXT];
  va_list ap;
  if (++d->nwarnings > MOST_WARNINGS) return;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  ws_emu_where(d->k, &d->k->code[pc], where, sizeof where);
  snprintf(line, sizeof line, "kernel '%.100s', %s: %s\n", d->k->func->sym->name, where, what);
  size_t old = d->k->warnings ? strlen(d->k->warnings) : 0, n = strlen(line);
  char *all = ws_emu_alloc(&d->k->pool, old + n + 1);
  if (old) memcpy(all, d->k->warnings, old);
  memcpy(all + old, line, n);
  d->k->warnings = all;
}

static void report_use(void *arg, const struct reg_use *use, bool never) {
  struct decoder *d = arg;
  if (d->uninitialised == UNINIT_OFF) return;
  const char *what = never ? "is read but nothing has written it" : "may be read before it is written";
  if (d->uninitialised == UNINIT_STRICT || (never && d->uninitialised == UNINIT_ERROR)) {
    d->now = d->k->src[use->pc].ptx;
    ws_emu_decode_error(d, BAD_PTX, "register '%s' %s", use->name, what);
  }
  warn(d, use->pc, "register '%.100s' %s", use->name, what);
}

/* The assembler drops setmaxnreg where it does not know what the kernel starts with. */
static void warn_of_dropped(struct decoder *d) {
  for (size_t i = 0; i < d->k->n && !d->k->registers; i++)
    if (d->k->src[i].row->effects & E_REGISTERS)
      warn(d, i, "has no effect: the kernel needs .maxnreg, or .minnctapersm with .reqntid or .maxntid");
}

/* Registers of a thread when the kernel starts, where its directives fix them (PTX ISA "setmaxnreg"): a share of the SM's
 * 64 Ki, a multiple of 8. */
static uint32_t launch_registers(const struct ptx_func *f) {
  const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
  if (f->maxnreg) return (f->maxnreg + 7) & ~7u;
  uint64_t threads = (uint64_t)n[0] * n[1] * n[2] * f->minnctapersm;
  uint64_t share = threads ? 65536 / threads & ~7u : 0;
  return share > 256 ? 256 : (uint32_t)share;
}

/* PTX ISA "tcgen05": all instructions of a kernel name the same .cta_group. */
static void check_cta_group(struct decoder *d) {
  const char *group = NULL;
  for (size_t i = 0; i < d->k->n; i++) {
    const struct inst_src *s = &d->k->src[i];
    const char *g = s->row->family == FAM_TENSOR || s->row->family == FAM_TCMMA ? strstr(s->ptx->name, ".cta_group::") : NULL;
    if (!g) continue;
    if (!group) group = g;
    d->now = s->ptx;
    if (strncmp(g, group, 13)) ws_emu_decode_error(d, BAD_PTX, "another instruction of the kernel has %.13s", group);
  }
  d->now = NULL;
}

static void entry(struct decoder *d, struct ptx_func *f) {
  d->k->registers = launch_registers(f);
  for (int i = 0; i < SR_COUNT; i++) d->k->sreg[i] = NO_SLOT;
  d->k->carry = ws_emu_new_slot(d, 1);
  lay_out_shared(d);
  struct instance *s = new_instance(d, f, NULL);
  statements(d, s);
  d->now = NULL;
  /* a body without a final ret or exit ends as if it had one */
  static const struct ptx_inst end = {.name = "exit", .guard = PTX_NO_REG};
  struct ptx_inst *e = WS_EMU_NEW(&d->k->pool, struct ptx_inst);
  *e = end;
  if (f->ninsts) e->begin = f->insts[f->ninsts - 1].begin, e->line = f->insts[f->ninsts - 1].line;
  ws_emu_bind(d, s, e, match(d, "exit"));
  check_cta_group(d);
  build_image(d->k);
  uint32_t(*uses)[2] = (uint32_t(*)[2])WS_EMU_NEW_N(&d->scratch, uint32_t, 2 * d->nuses + 2);
  for (size_t i = 0; i < d->nuses; i++) uses[i][0] = d->uses[i].pc, uses[i][1] = d->uses[i].slot << 1 | d->uses[i].written;
  ws_emu_mark_wgmma(d->k, (const uint32_t(*)[2])uses, d->nuses);
  struct graph g = {.k = d->k, .pool = &d->scratch};
  ws_emu_graph(&g);
  ws_emu_reconvergence(&g);
  warn_of_dropped(d);
  ws_emu_uninitialised(&g, d->uses, d->nuses, &d->scratch, report_use, d);
}

struct kernel *ws_emu_decode(const struct ptx_module *m, struct ptx_func *f, enum emu_uninitialised how, int *code, char *err, size_t n) {
  struct kernel *volatile k = calloc(1, sizeof *k);
  struct decoder *volatile d = calloc(1, sizeof *d);
  *code = WS_CUDA_ERROR_OUT_OF_MEMORY;
  if (n) *err = 0;
  if (!k || !d) goto oom;
  k->pool.oom = &d->fail;
  k->pool.limit = DECODE_LIMIT;
  k->m = m;
  k->func = f;
  d->k = k;
  d->m = m;
  d->err = err;
  d->err_n = n;
  d->level = ws_emu_level(NULL);
  d->uninitialised = how;
  d->scratch.oom = &d->fail;
  d->scratch.limit = DECODE_LIMIT;
  switch (setjmp(d->fail)) {
    case 0: break;
    case 1: goto oom;
    default: *code = d->code; goto fail;
  }
  entry(d, f);
  ws_emu_pool_free(&d->scratch);
  free(d);
  k->pool.oom = NULL;
  *code = 0;
  return k;
oom:
  snprintf(err, n, "out of memory while decoding '%s'", f->sym->name);
fail:
  if (d) ws_emu_pool_free(&d->scratch);
  free(d);
  ws_emu_kernel_free(k);
  return NULL;
}

void ws_emu_kernel_free(struct kernel *k) {
  if (!k) return;
  ws_emu_pool_free(&k->pool);
  free(k);
}

void ws_emu_where(const struct kernel *k, const struct inst *in, char *out, size_t n) {
  const struct ptx_inst *p = k->src[in - k->code].ptx;
  const char *s = k->m->text + p->begin;
  size_t len = strcspn(s, ";\n");
  const char *file = p->loc_line ? ws_emu_file_name(k->m, p->loc_file) : NULL;
  char origin[256] = "";
  if (file) snprintf(origin, sizeof origin, " (from %s:%u)", file, p->loc_line);
  snprintf(out, n, "line %u: '%.*s;'%s", p->line, (int)(len > 200 ? 200 : len), s, origin);
}
