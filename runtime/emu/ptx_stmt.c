/* Function bodies: declarations, labels, instructions. PTX ISA "Statements", "Predicated Execution". */
#include "ptx_lex.h"
#include <string.h>

enum { MAX_REG_RANGE = 1 << 24, MAX_STATEMENTS = 1 << 23 };

static void reg_declaration(struct parser *ps) {
  ws_emu_next(ps);
  if (ws_emu_accept(ps, ".align")) ws_emu_const_u32(ps, "an alignment", 1 << 20);
  uint8_t lanes = ws_emu_is(ps, ".v2") ? 2 : ws_emu_is(ps, ".v4") ? 4 : 0;
  if (lanes) ws_emu_next(ps);
  enum ptx_type type = ws_emu_type_of(&ps->t);
  if (type == T_NONE) ws_emu_parse_error(ps, ps->t.line, ps->t.col, ".reg needs a type");
  if (lanes && (type == T_PRED || type == T_B128)) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "there are no vectors of %s", ws_emu_types[type].text);
  ws_emu_next(ps);
  do {
    struct token name = ps->t;
    if (name.kind != TK_IDENT) ws_emu_parse_error(ps, name.line, name.col, "expected a register's name");
    ws_emu_next(ps);
    bool range = ws_emu_accept(ps, "<");
    uint64_t count = 0;
    if (range) {
      if (ps->t.kind != TK_INT || ps->t.value > MAX_REG_RANGE)
        ws_emu_parse_error(ps, ps->t.line, ps->t.col, "a register range needs a count of at most %d", MAX_REG_RANGE);
      count = ps->t.value;
      ws_emu_next(ps);
      ws_emu_expect(ps, ">");
    }
    struct ptx_sym *y = ws_emu_declare(ps, &name, range ? SYM_REG_RANGE : SYM_REG);
    y->type = (uint8_t)type;
    y->size = count;
    y->lanes = lanes;
    y->space = SP_REG;
  } while (ws_emu_accept(ps, ","));
  ws_emu_expect(ps, ";");
}

static void body_variable(struct parser *ps) {
  static const struct { const char *text; enum ptx_space space; } spaces[] = {
      {".shared", SP_SHARED}, {".local", SP_LOCAL}, {".param", SP_PARAM}, {".global", SP_GLOBAL}, {".const", SP_CONST}};
  enum ptx_space space = SP_GENERIC;
  bool is_extern = ws_emu_accept(ps, ".extern");
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (ws_emu_is(ps, spaces[i].text)) space = spaces[i].space;
  if (space == SP_GENERIC)
    ws_emu_parse_error(ps, ps->t.line, ps->t.col, "unknown directive '%.*s'", (int)(ps->t.n > 40 ? 40 : ps->t.n), ps->t.s);
  ws_emu_next(ps);
  do {
    struct ptx_sym *y = ws_emu_variable(ps, space, is_extern);
    struct ptx_sym **list = space == SP_GLOBAL || space == SP_CONST ? &ps->m->vars : &ps->func->vars;
    y->all = *list;
    *list = y;
    if (list == &ps->func->vars) y->id = ps->func->nvars++;
  } while (ws_emu_accept(ps, ","));
  ws_emu_expect(ps, ";");
}

/* .loc FILE LINE COLUMN [, function_name LABEL [+ N], inlined_at FILE LINE COLUMN] */
void ws_emu_loc(struct parser *ps) {
  uint32_t line = ps->t.line;
  ws_emu_next(ps);
  ps->loc_file = (uint32_t)ws_emu_const_u32(ps, "a file index", UINT32_MAX);
  ps->loc_line = (uint32_t)ws_emu_const_u32(ps, "a line", UINT32_MAX);
  ws_emu_const_u32(ps, "a column", UINT32_MAX);
  while (ws_emu_is(ps, ",") && ps->t.line == line) { /* the call-site part, up to the end of the line */
    while (ps->t.kind != TK_EOF && ps->t.line == line) ws_emu_next(ps);
  }
}

static void branch_targets(struct parser *ps, struct ptx_sym *y) {
  size_t cap = 0, n = 0;
  y->kind = SYM_TARGETS;
  size_t count = 1;
  for (const char *p = ps->p; p < ps->end && *p && *p != ';'; p++) count += *p == ',';
  if (count > 65536) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "too many branch targets");
  y->targets = ws_emu_grow(&ps->m->pool, NULL, 0, &cap, sizeof *y->targets);
  if (cap < count) y->targets = WS_EMU_NEW_N(&ps->m->pool, struct ptx_sym *, count);
  ws_emu_next(ps);
  do {
    struct token t = ps->t;
    if (t.kind != TK_IDENT || n == count) ws_emu_parse_error(ps, t.line, t.col, "expected a label");
    struct pending_label *l = WS_EMU_PUSH(&ps->m->pool, ps->pending, ps->npending, ps->cap_pending);
    *l = (struct pending_label){.slot = &y->targets[n++], .name = ws_emu_strndup(&ps->m->pool, t.s, t.n), .depth = ps->depth,
                                .line = t.line, .col = t.col};
    ws_emu_next(ps);
  } while (ws_emu_accept(ps, ","));
  y->ntargets = (uint32_t)n;
  ws_emu_expect(ps, ";");
}

static void label(struct parser *ps, const struct token *name) {
  struct ptx_sym *y = ws_emu_declare(ps, name, SYM_LABEL);
  y->id = (uint32_t)ps->func->ninsts;
  if (ws_emu_is(ps, ".branchtargets")) {
    branch_targets(ps, y);
  } else if (ws_emu_is(ps, ".callprototype") || ws_emu_is(ps, ".calltargets")) {
    y->kind = SYM_PROTO;
    while (ps->t.kind != TK_EOF && !ws_emu_is(ps, ";")) ws_emu_next(ps);
    ws_emu_expect(ps, ";");
  }
}

static void guard(struct parser *ps, struct ptx_inst *in) {
  in->guard_not = ws_emu_accept(ps, "!");
  in->guard = ps->t.kind == TK_IDENT ? ws_emu_register(ps, ps->t.s, ps->t.n) : PTX_NO_REG;
  if (in->guard == PTX_NO_REG || ps->func->regs[in->guard].type != T_PRED)
    ws_emu_parse_error(ps, ps->t.line, ps->t.col, "'@' needs a predicate register");
  ws_emu_next(ps);
}

static void instruction(struct parser *ps) {
  struct ptx_inst in = {.line = ps->t.line, .col = ps->t.col, .begin = (uint32_t)(ps->t.s - ps->m->text), .guard = PTX_NO_REG,
                        .loc_file = ps->loc_file, .loc_line = ps->loc_line};
  bool guarded = ws_emu_accept(ps, "@");
  if (guarded) guard(ps, &in);
  struct token name = ps->t;
  if (name.kind == TK_IDENT && *name.s == '%' && !guarded) { /* only a label may begin so */
    ws_emu_next(ps);
    if (ws_emu_accept(ps, ":")) {
      label(ps, &name);
      return;
    }
  }
  if (name.kind != TK_IDENT || *name.s == '%')
    ws_emu_parse_error(ps, name.line, name.col, "expected an instruction, found '%.*s'", (int)(name.n > 40 ? 40 : name.n), name.s);
  ws_emu_mnemonic(ps);
  name = ps->t;
  ws_emu_next(ps);
  if (!guarded && ws_emu_is(ps, ":")) {
    if (memchr(name.s, '.', name.n)) ws_emu_parse_error(ps, name.line, name.col, "a label must not hold a dot");
    ws_emu_next(ps);
    label(ps, &name);
    return;
  }
  if (name.n > 255) ws_emu_parse_error(ps, name.line, name.col, "this instruction's name is too long");
  in.name = ws_emu_strndup(&ps->m->pool, name.s, name.n);
  struct ptx_operand list = {0};
  ps->in_call = !strncmp(in.name, "call", 4);
  ps->in_branch = !strncmp(in.name, "bra", 3);
  ws_emu_operands(ps, &list, ";");
  ps->in_call = ps->in_branch = false;
  in.ops = list.sub;
  in.nops = (uint8_t)(list.nsub < 255 ? list.nsub : 255);
  if (ps->func->ninsts == MAX_STATEMENTS) ws_emu_parse_error(ps, in.line, in.col, "the function is too long");
  *WS_EMU_PUSH(&ps->m->pool, ps->func->insts, ps->func->ninsts, ps->func->cap) = in;
}

static void pragma(struct parser *ps) {
  do {
    ws_emu_next(ps);
    if (ps->t.kind != TK_STRING) ws_emu_parse_error(ps, ps->t.line, ps->t.col, ".pragma needs a string");
    ws_emu_next(ps);
  } while (ws_emu_is(ps, ","));
  ws_emu_expect(ps, ";");
}

void ws_emu_body(struct parser *ps) {
  struct token open = ps->t;
  uint32_t base = ps->depth; /* the function's scope is open already: it holds the parameters */
  ps->reg_index = NULL;
  ps->reg_keys = NULL;
  ps->cap_reg_keys = 0;
  ps->loc_file = ps->loc_line = 0;
  ws_emu_expect(ps, "{");
  for (;;) {
    if (ps->t.kind == TK_EOF) ws_emu_parse_error(ps, open.line, open.col, "this '{' is never closed");
    if (ws_emu_accept(ps, "}")) {
      if (ps->depth == base) break;
      ws_emu_close_scope(ps);
    } else if (ws_emu_is(ps, "{")) {
      ws_emu_open_scope(ps);
      ws_emu_next(ps);
    } else if (ws_emu_is(ps, ".reg")) reg_declaration(ps);
    else if (ws_emu_is(ps, ".loc")) ws_emu_loc(ps);
    else if (ws_emu_is(ps, ".pragma")) pragma(ps);
    else if (ws_emu_is(ps, ".section")) ws_emu_skip_section(ps);
    else if (ps->t.kind == TK_DIRECTIVE) body_variable(ps);
    else if (ws_emu_accept(ps, ";")) continue;
    else instruction(ps);
  }
}
