/* Module-level directives. PTX ISA "Directives", "State Spaces, Types, and Variables". */
#include "ptx_lex.h"
#include <stdlib.h>
#include <string.h>

const struct ptx_type_info ws_emu_types[T_COUNT] = {
#define X(name, text, bits, cls) {text, bits, cls},
    PTX_TYPES(X)
#undef X
};
const struct ptx_sreg_info ws_emu_sregs[SR_COUNT] = {
#define X(name, text, type, fixed) {text, T_##type, fixed},
    PTX_SREGS(X)
#undef X
};

enum { MAX_VARIABLE = 1 << 28, MAX_INIT = 1 << 24, MAX_ALIGN = 1 << 20, MODULE_LIMIT = 1 << 30 };

enum ptx_type ws_emu_type_of(const struct token *t) {
  for (int i = 0; i < T_COUNT; i++)
    if (t->kind == TK_DIRECTIVE && strlen(ws_emu_types[i].text) == t->n && !memcmp(ws_emu_types[i].text, t->s, t->n))
      return (enum ptx_type)i;
  return T_NONE;
}

/* ---- variables ---- */
static uint32_t alignment(struct parser *ps) {
  struct token t = ps->t;
  uint64_t a = ws_emu_const_u32(ps, "an alignment", MAX_ALIGN);
  if (!a || (a & (a - 1))) ws_emu_parse_error(ps, t.line, t.col, "an alignment must be a power of two");
  return (uint32_t)a;
}

static void store(struct ptx_sym *y, uint64_t at, uint64_t bits, uint32_t bytes) {
  if (at + bytes <= y->size) memcpy(y->init + at, &bits, bytes < sizeof bits ? bytes : sizeof bits); /* the upper half of .b128 stays 0 */
}

/* One byte of an address: 0xff(x), 0xff00(x) .. (PTX ISA "Initializers"). */
static bool mask(struct parser *ps, uint8_t *shift) {
  struct token t = ps->t;
  if (t.kind != TK_INT || ps->p >= ps->end || *ps->p != '(') return false;
  while (*shift < 64 && t.value != (uint64_t)0xff << *shift) *shift = (uint8_t)(*shift + 8);
  if (*shift == 64) ws_emu_parse_error(ps, t.line, t.col, "a mask takes one byte of an address");
  ws_emu_next(ps);
  ws_emu_next(ps);
  return true;
}

static void init_value(struct parser *ps, struct ptx_sym *y, uint64_t at, uint32_t bytes, size_t *cap) {
  struct token t = ps->t;
  if (at + bytes > y->size) ws_emu_parse_error(ps, t.line, t.col, "more initialisers than '%s' has elements", y->name);
  struct ptx_operand o;
  uint8_t shift = 0;
  bool masked = bytes == 1 && mask(ps, &shift), generic = ws_emu_accept(ps, "generic");
  if (generic) ws_emu_expect(ps, "(");
  ws_emu_operand(ps, &o);
  if (generic) {
    ws_emu_expect(ps, ")");
    if (ws_emu_accept(ps, "+")) o.imm += ws_emu_const_expr(ps).bits;
  }
  if (o.kind == OPD_SYM && o.sym && (o.sym->kind == SYM_VAR || o.sym->kind == SYM_FUNC)) {
    if (masked) ws_emu_expect(ps, ")");
    struct ptx_init_ref *r = WS_EMU_PUSH(&ps->m->pool, y->refs, y->nrefs, *cap);
    *r = (struct ptx_init_ref){.offset = at, .of = o.sym, .addend = (int64_t)o.imm, .bytes = (uint8_t)bytes, .shift = shift, .generic = generic};
    return;
  }
  if (masked) ws_emu_parse_error(ps, t.line, t.col, "a mask needs an address");
  double d;
  float f;
  bool floating = o.kind == OPD_F32 || o.kind == OPD_F64;
  char cls = ws_emu_types[y->type].cls;
  if ((cls == 'f' && o.kind == OPD_INT) || ((cls == 'u' || cls == 's') && floating)) ws_emu_parse_error(ps, t.line, t.col, "this value is not of type %s", ws_emu_types[y->type].text);
  if (o.kind == OPD_INT) store(y, at, o.imm, bytes);
  else if (o.kind == OPD_F32) store(y, at, o.imm, bytes);
  else if (o.kind == OPD_F64 && bytes == 4) {
    memcpy(&d, &o.imm, 8);
    f = (float)d;
    memcpy(y->init + at, &f, 4);
  } else if (o.kind == OPD_F64) store(y, at, o.imm, bytes);
  else ws_emu_parse_error(ps, t.line, t.col, "this is no initialiser");
}

/* `dim` extents: the braces of an array initialiser nest as deep as the array has dimensions. */
static void init_level(struct parser *ps, struct ptx_sym *y, const uint64_t *extent, int dims, uint64_t at, uint64_t span,
                       uint32_t bytes, size_t *cap) {
  if (!dims) {
    init_value(ps, y, at, bytes, cap);
    return;
  }
  ws_emu_expect(ps, "{");
  uint64_t step = extent[0] ? span / extent[0] : span;
  for (uint64_t i = 0; !ws_emu_is(ps, "}"); i++) {
    if (i >= extent[0]) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "more initialisers than '%s' has elements", y->name);
    init_level(ps, y, extent + 1, dims - 1, at + i * step, step, bytes, cap);
    if (!ws_emu_accept(ps, ",")) break;
  }
  ws_emu_expect(ps, "}");
}

static uint64_t count_initialisers(const struct parser *ps) {
  uint64_t commas = 0;
  int depth = 0;
  for (const char *p = ps->t.s; p < ps->end && *p && *p != ';'; p++) {
    if (*p == '{') depth++;
    if (*p == '}' && --depth == 0) break;
    if (*p == ',' && depth == 1) commas++;
  }
  return commas + 1;
}

static void variable_initialiser(struct parser *ps, struct ptx_sym *y, uint64_t *extent, int dims, uint32_t bytes) {
  size_t cap = 0;
  struct token t = ps->t;
  if (dims && !extent[0]) {
    extent[0] = count_initialisers(ps);
    y->size = extent[0] * bytes;
    for (int i = 1; i < dims; i++) y->size *= extent[i];
  }
  if (y->space != SP_GLOBAL && y->space != SP_CONST)
    ws_emu_parse_error(ps, t.line, t.col, "only .global and .const variables take initialisers");
  if (y->size > MAX_INIT) ws_emu_parse_error(ps, t.line, t.col, "the initialised variable '%s' is too large", y->name);
  y->init = ws_emu_alloc(&ps->m->pool, y->size);
  init_level(ps, y, extent, dims, 0, y->size, bytes, &cap);
}

/* After `.global`, `.shared` ..: [.align N] [.v2|.v4] .type name [dims] [= init] */
struct ptx_sym *ws_emu_variable(struct parser *ps, enum ptx_space space, bool is_extern) {
  uint32_t align = 0, lanes = 1;
  enum ptx_type type = T_NONE;
  bool opaque = false; /* PTX ISA "Texture, Sampler and Surface Types": a module may hold them, no kernel here can use them */
  for (;; ws_emu_next(ps)) {
    if (ws_emu_is(ps, ".align")) {
      ws_emu_next(ps);
      align = alignment(ps);
    }
    if (ws_emu_is(ps, ".ptr")) { /* a hint about a pointer parameter: .ptr [.space] [.align N] */
      ws_emu_next(ps);
      if (ws_emu_is(ps, ".global") || ws_emu_is(ps, ".const") || ws_emu_is(ps, ".local") || ws_emu_is(ps, ".shared")) ws_emu_next(ps);
      if (ws_emu_accept(ps, ".align")) alignment(ps);
    }
    if (ws_emu_is(ps, ".v2") || ws_emu_is(ps, ".v4")) lanes = ps->t.s[2] == '2' ? 2 : 4;
    else if (ws_emu_type_of(&ps->t) != T_NONE) type = ws_emu_type_of(&ps->t);
    else if (ws_emu_is(ps, ".texref") || ws_emu_is(ps, ".samplerref") || ws_emu_is(ps, ".surfref")) type = T_B64, opaque = true;
    else if (!ws_emu_is(ps, ".attribute")) break;
    else {
      while (ps->t.kind != TK_EOF && !ws_emu_is(ps, ")")) ws_emu_next(ps);
    }
  }
  struct token name = ps->t;
  if (type == T_NONE) ws_emu_parse_error(ps, name.line, name.col, "a variable needs a type");
  if (name.kind != TK_IDENT) ws_emu_parse_error(ps, name.line, name.col, "expected a variable's name");
  if (type == T_PRED && space != SP_REG) ws_emu_parse_error(ps, name.line, name.col, "predicates live in registers only");
  struct ptx_sym *old = ps->depth == 0 ? ws_emu_lookup(ps, name.s, name.n) : NULL, *y;
  if (old && old->kind == SYM_VAR && old->is_extern && old->depth == ps->depth) y = old;
  else y = ws_emu_declare(ps, &name, space == SP_REG ? SYM_REG : SYM_VAR);
  ws_emu_next(ps);
  y->type = (uint8_t)type;
  y->space = (uint8_t)space;
  y->is_extern = is_extern;
  if (space == SP_REG && lanes > 1) y->lanes = (uint8_t)lanes;
  uint32_t bytes = ws_emu_types[type].bits < 8 ? 1 : ws_emu_types[type].bits / 8u;
  y->align = align > bytes * lanes ? align : align ? align : bytes * lanes;
  uint64_t extent[8], total = (uint64_t)bytes * lanes;
  int dims = 0;
  if (lanes > 1) extent[0] = 0;
  while (ws_emu_accept(ps, "[")) {
    if (dims == 7) ws_emu_parse_error(ps, name.line, name.col, "more than 7 dimensions");
    extent[dims] = ws_emu_is(ps, "]") ? 0 : ws_emu_const_u32(ps, "an extent", MAX_VARIABLE);
    if (__builtin_mul_overflow(total, extent[dims], &total) || total > MAX_VARIABLE)
      ws_emu_parse_error(ps, name.line, name.col, "the variable '%.*s' is too large", (int)name.n, name.s);
    dims++;
    ws_emu_expect(ps, "]");
  }
  if (lanes > 1) extent[dims++] = lanes;
  y->is_array = dims > 0;
  y->size = total;
  if (opaque && ws_emu_is(ps, "=")) {
    while (ps->t.kind != TK_EOF && !ws_emu_accept(ps, "}")) ws_emu_next(ps);
  } else if (ws_emu_accept(ps, "=")) variable_initialiser(ps, y, extent, dims, bytes);
  return y;
}

static enum ptx_space space_of(const struct parser *ps) {
  static const struct { const char *text; enum ptx_space space; } spaces[] = {
      {".global", SP_GLOBAL}, {".shared", SP_SHARED}, {".const", SP_CONST}, {".local", SP_LOCAL}, {".param", SP_PARAM}, {".reg", SP_REG}, {".tex", SP_GLOBAL}};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (ws_emu_is(ps, spaces[i].text)) return spaces[i].space;
  return SP_GENERIC;
}

static void module_variable(struct parser *ps, bool is_extern) {
  enum ptx_space space = space_of(ps);
  if (space == SP_REG || space == SP_LOCAL || space == SP_PARAM)
    ws_emu_parse_error(ps, ps->t.line, ps->t.col, "'%.*s' variables need a function", (int)ps->t.n, ps->t.s);
  ws_emu_next(ps);
  do {
    struct ptx_sym *y = ws_emu_variable(ps, space, is_extern);
    if (!y->size && y->is_array && !is_extern) ws_emu_parse_error(ps, y->line, y->col, "the variable '%s' has no size", y->name);
    for (struct ptx_sym *v = ps->m->vars; v; v = v->all)
      if (v == y) goto known;
    y->all = ps->m->vars;
    ps->m->vars = y;
  known:;
  } while (ws_emu_accept(ps, ","));
  ws_emu_expect(ps, ";");
}

/* ---- functions ---- */
static struct ptx_sym **param_list(struct parser *ps, uint32_t *n) {
  struct ptx_sym **list = NULL;
  size_t count = 0, cap = 0;
  if (!ws_emu_accept(ps, ")")) {
    do {
      enum ptx_space space = space_of(ps);
      if (space != SP_PARAM && space != SP_REG)
        ws_emu_parse_error(ps, ps->t.line, ps->t.col, "expected .param or .reg before '%.*s'", (int)(ps->t.n > 40 ? 40 : ps->t.n), ps->t.s);
      ws_emu_next(ps);
      struct ptx_sym *y = ws_emu_variable(ps, space, false);
      if (count == 4096) ws_emu_parse_error(ps, y->line, y->col, "too many parameters");
      if (y->kind == SYM_VAR) y->id = ps->func->nvars++;
      *WS_EMU_PUSH(&ps->m->pool, list, count, cap) = y;
    } while (ws_emu_accept(ps, ","));
    ws_emu_expect(ps, ")");
  }
  *n = (uint32_t)count;
  return list;
}

static void dims3(struct parser *ps, uint32_t d[3]) {
  d[0] = d[1] = d[2] = 1;
  for (int i = 0; i < 3; i++) {
    d[i] = (uint32_t)ws_emu_const_u32(ps, "an extent", UINT32_MAX);
    if (!ws_emu_accept(ps, ",")) break;
  }
}

static void pragma(struct parser *ps) {
  ws_emu_next(ps);
  do {
    if (ps->t.kind != TK_STRING) ws_emu_parse_error(ps, ps->t.line, ps->t.col, ".pragma needs a string");
    ws_emu_next(ps);
  } while (ws_emu_accept(ps, ","));
  ws_emu_expect(ps, ";");
}

static void performance_directives(struct parser *ps, struct ptx_func *f) {
  for (;;) {
    if (ws_emu_accept(ps, ".reqntid")) dims3(ps, f->reqntid);
    else if (ws_emu_accept(ps, ".maxntid")) dims3(ps, f->maxntid);
    else if (ws_emu_accept(ps, ".reqnctapercluster")) dims3(ps, f->reqncluster);
    else if (ws_emu_accept(ps, ".minnctapersm")) f->minnctapersm = (uint32_t)ws_emu_const_u32(ps, ".minnctapersm", UINT32_MAX);
    else if (ws_emu_accept(ps, ".maxnctapersm")) ws_emu_const_u32(ps, ".maxnctapersm", UINT32_MAX);
    else if (ws_emu_accept(ps, ".maxnreg")) f->maxnreg = (uint32_t)ws_emu_const_u32(ps, ".maxnreg", UINT32_MAX);
    else if (ws_emu_accept(ps, ".maxclusterrank")) f->maxclusterrank = (uint32_t)ws_emu_const_u32(ps, ".maxclusterrank", UINT32_MAX);
    else if (ws_emu_accept(ps, ".explicitcluster")) f->explicit_cluster = true;
    else if (ws_emu_accept(ps, ".blocksareclusters")) f->blocks_are_clusters = true;
    else if (ws_emu_accept(ps, ".noreturn")) f->noreturn = true;
    else if (ws_emu_accept(ps, ".abi_preserve") || ws_emu_accept(ps, ".abi_preserve_control")) ws_emu_const_u32(ps, "a count", UINT32_MAX);
    else if (ws_emu_accept(ps, ".unique")) continue;
    else if (ws_emu_is(ps, ".pragma")) pragma(ps);
    else return;
  }
}

/* Kernel parameters follow each other, each at its own alignment (PTX ISA "Kernel Function Parameters"). */
static void lay_out_params(struct ptx_func *f) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < f->nparams; i++) {
    struct ptx_sym *y = f->params[i];
    at = (at + y->align - 1) & ~(uint64_t)(y->align - 1);
    y->address = at;
    at += y->size;
  }
  f->param_bytes = at;
}

enum { MOST_PARAMETERS = 32764 }; /* PTX ISA "Kernel Function Parameters" */
static void function(struct parser *ps, bool is_entry, bool is_extern, bool visible) {
  struct ptx_func *f = WS_EMU_NEW(&ps->m->pool, struct ptx_func);
  f->is_entry = is_entry;
  f->visible = visible;
  ws_emu_next(ps);
  ws_emu_open_scope(ps);
  ps->func = f;
  if (!is_entry && ws_emu_accept(ps, "(")) f->rets = param_list(ps, &f->nrets);
  struct token name = ps->t;
  if (name.kind != TK_IDENT) ws_emu_parse_error(ps, name.line, name.col, "expected a function's name");
  ws_emu_next(ps);
  if (ws_emu_accept(ps, "(")) f->params = param_list(ps, &f->nparams);
  performance_directives(ps, f);
  if (f->reqntid[0] && f->maxntid[0]) ws_emu_parse_error(ps, name.line, name.col, ".reqntid and .maxntid exclude each other");
  /* The name belongs to the module, so that it is visible inside its own body too. */
  uint32_t depth = ps->depth;
  struct ptx_sym *y = ws_emu_lookup(ps, name.s, name.n);
  if (y && (y->kind != SYM_FUNC || (y->defined && ws_emu_is(ps, "{"))))
    ws_emu_parse_error(ps, name.line, name.col, "'%.*s' is declared twice, first in line %u", (int)name.n, name.s, y->line);
  if (!y) {
    ps->depth = 0;
    y = ws_emu_declare(ps, &name, SYM_FUNC);
    ps->depth = depth;
    ps->nscope--; /* it outlives the scope: module names are never closed */
  }
  f->sym = y;
  lay_out_params(f);
  if (is_entry && f->param_bytes > MOST_PARAMETERS)
    ws_emu_parse_error(ps, name.line, name.col, "the parameters of '%.*s' take %llu bytes: more than %d", (int)name.n, name.s, (unsigned long long)f->param_bytes, MOST_PARAMETERS);
  if (ws_emu_is(ps, "{")) {
    if (is_extern) ws_emu_parse_error(ps, name.line, name.col, "an .extern function has no body");
    f->has_body = true;
    y->defined = true;
    y->func = f;
    ws_emu_body(ps);
  } else {
    if (!ws_emu_accept(ps, ";") && ps->t.kind != TK_DIRECTIVE) ws_emu_expect(ps, ";"); /* compilers before CUDA 5 left it out before a directive */
    if (!y->func) y->func = f;
  }
  ws_emu_close_scope(ps);
  ps->func = NULL;
  struct ptx_func **last = &ps->m->funcs;
  while (*last) last = &(*last)->next;
  *last = f;
}

/* ---- the rest of the module level ---- */
static void version(struct parser *ps) {
  struct token t = ps->t;
  if (t.kind != TK_F64) ws_emu_parse_error(ps, t.line, t.col, ".version needs MAJOR.MINOR");
  const char *dot = memchr(t.s, '.', t.n);
  ps->m->version = (uint32_t)(strtoul(t.s, NULL, 10) % 1000 * 10);
  if (dot) ps->m->version += (uint32_t)(dot[1] - '0');
  if (ps->m->version < 10) ws_emu_parse_error(ps, t.line, t.col, "unknown PTX version");
  ws_emu_next(ps);
}

static void target(struct parser *ps) {
  struct token t = ps->t;
  do {
    t = ps->t;
    if (t.kind != TK_IDENT) ws_emu_parse_error(ps, t.line, t.col, ".target needs a name such as sm_90a");
    if (t.n > 3 && !memcmp(t.s, "sm_", 3)) {
      uint32_t sm = 0, i = 3;
      for (; i < t.n && i < 7 && t.s[i] >= '0' && t.s[i] <= '9'; i++) sm = sm * 10 + (uint32_t)(t.s[i] - '0');
      if (i + 1 < t.n || (i + 1 == t.n && t.s[i] != 'a' && t.s[i] != 'f'))
        ws_emu_parse_error(ps, t.line, t.col, "unknown target '%.*s'", (int)(t.n > 40 ? 40 : t.n), t.s);
      ps->m->sm = sm;
      ps->m->sm_suffix = i < t.n ? t.s[i] : 0;
    }
    ws_emu_next(ps);
  } while (ws_emu_accept(ps, ","));
}

static void file_directive(struct parser *ps) {
  ws_emu_next(ps);
  struct ptx_file f = {.index = (uint32_t)ws_emu_const_u32(ps, "a file index", UINT32_MAX)};
  if (ps->t.kind != TK_STRING) ws_emu_parse_error(ps, ps->t.line, ps->t.col, ".file needs a name");
  f.name = ws_emu_strndup(&ps->m->pool, ps->t.s, ps->t.n);
  ws_emu_next(ps);
  while (ws_emu_accept(ps, ",")) ws_emu_const_expr(ps);
  *WS_EMU_PUSH(&ps->m->pool, ps->m->files, ps->m->nfiles, ps->m->cap_files) = f;
}

/* .section NAME { bytes }: debug data, skipped. */
void ws_emu_skip_section(struct parser *ps) {
  struct token t = ps->t;
  int depth = 0;
  do {
    ws_emu_next(ps);
    if (ws_emu_is(ps, "{")) depth++;
    if (ws_emu_is(ps, "}") && --depth == 0) break;
    if (ps->t.kind == TK_EOF) ws_emu_parse_error(ps, t.line, t.col, "this .section has no end");
  } while (1);
  ws_emu_next(ps);
}

/* .alias NAME, FUNCTION: NAME was declared, FUNCTION has a body (PTX ISA ".alias"). */
static void alias(struct parser *ps) {
  struct ptx_sym *y[2];
  ws_emu_next(ps);
  for (int i = 0; i < 2; i++) {
    struct token t = ps->t;
    y[i] = t.kind == TK_IDENT ? ws_emu_lookup(ps, t.s, t.n) : NULL;
    if (!y[i] || y[i]->kind != SYM_FUNC || (i && !y[i]->defined))
      ws_emu_parse_error(ps, t.line, t.col, i ? "'%.*s' is no function with a body" : "'%.*s' is no function", (int)(t.n > 60 ? 60 : t.n), t.s);
    ws_emu_next(ps);
    ws_emu_expect(ps, i ? ";" : ",");
  }
  y[0]->func = y[1]->func;
}

static void module_item(struct parser *ps) {
  bool is_extern = false, visible = false;
  for (;; ws_emu_next(ps)) {
    if (ws_emu_is(ps, ".extern")) is_extern = true;
    else if (ws_emu_is(ps, ".visible") || ws_emu_is(ps, ".weak") || ws_emu_is(ps, ".common")) visible = true;
    else break;
  }
  if (ws_emu_is(ps, ".entry") || ws_emu_is(ps, ".func")) function(ps, ws_emu_is(ps, ".entry"), is_extern, visible);
  else if (space_of(ps) != SP_GENERIC) module_variable(ps, is_extern);
  else if (ws_emu_is(ps, ".file")) file_directive(ps);
  else if (ws_emu_is(ps, ".section")) ws_emu_skip_section(ps);
  else if (ws_emu_is(ps, ".pragma")) pragma(ps);
  else if (ws_emu_is(ps, ".loc")) ws_emu_loc(ps);
  else if (ws_emu_is(ps, ".alias")) alias(ps);
  else if (ws_emu_is(ps, ".callprototype")) {
    while (ps->t.kind != TK_EOF && !ws_emu_is(ps, ";")) ws_emu_next(ps);
    ws_emu_expect(ps, ";");
  } else
    ws_emu_parse_error(ps, ps->t.line, ps->t.col, "expected a directive, found '%.*s'", (int)(ps->t.n > 40 ? 40 : ps->t.n), ps->t.s);
}

static void module(struct parser *ps) {
  ws_emu_next(ps);
  if (ps->t.kind == TK_EOF) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "the text is empty");
  ws_emu_expect(ps, ".version");
  version(ps);
  ws_emu_expect(ps, ".target");
  target(ps);
  if (!ps->m->sm) ws_emu_parse_error(ps, ps->t.line, ps->t.col, ".target names no sm_ architecture");
  if (ws_emu_accept(ps, ".address_size") && ws_emu_const_u32(ps, ".address_size", 64) != 64)
    ws_emu_parse_error(ps, ps->t.line, ps->t.col, "only .address_size 64 is supported");
  while (ps->t.kind != TK_EOF) module_item(ps);
}

struct ptx_module *ws_emu_parse(const char *text, size_t len, char *err, size_t n) {
  struct ptx_module *volatile m = calloc(1, sizeof *m); /* volatile: read after a longjmp */
  struct parser *volatile ps = calloc(1, sizeof *ps);
  if (n) *err = 0;
  if (!m || !ps) goto oom;
  m->pool.oom = &ps->fail;
  m->pool.limit = MODULE_LIMIT;
  ps->m = m;
  ps->err = err;
  ps->err_n = n;
  switch (setjmp(ps->fail)) {
    case 0: break;
    case 1: goto oom;
    default: goto fail;
  }
  if (len > UINT32_MAX / 2) ws_emu_parse_error(ps, 1, 1, "the text is too long");
  m->text = ws_emu_strndup(&m->pool, text, len);
  m->text_len = len;
  ps->p = ps->line_start = m->text;
  ps->end = m->text + len;
  ps->line = 1;
  module(ps);
  free(ps);
  m->pool.oom = NULL;
  return m;
oom:
  if (n) {
    static const char msg[] = "1:1: error: out of memory";
    size_t k = sizeof msg < n ? sizeof msg : n;
    memcpy(err, msg, k);
    err[k - 1] = 0;
  }
fail:
  free(ps);
  ws_emu_module_free(m);
  return NULL;
}

void ws_emu_module_free(struct ptx_module *m) {
  if (!m) return;
  ws_emu_pool_free(&m->pool);
  free(m);
}

struct ptx_func *ws_emu_find_func(struct ptx_module *m, const char *name) {
  for (struct ptx_func *f = m->funcs; f; f = f->next)
    if (f->has_body && !strcmp(f->sym->name, name)) return f;
  return NULL;
}

const char *ws_emu_file_name(const struct ptx_module *m, uint32_t index) {
  for (size_t i = 0; i < m->nfiles; i++)
    if (m->files[i].index == index) return m->files[i].name;
  return NULL;
}
