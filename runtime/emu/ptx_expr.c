/* Constant expressions and operands. PTX ISA "Constant Expressions", "Instruction Operands", "Operand Types". */
#include "ptx_lex.h"
#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 200, MAX_VECTOR = 256 };

static void nest(struct parser *ps) {
  if (++ps->nesting > MAX_NESTING) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "an expression is nested too deeply");
}

static struct const_value conditional(struct parser *ps);

static struct const_value primary(struct parser *ps) {
  struct token t = ps->t;
  struct const_value v = {0};
  if (t.kind == TK_INT) {
    ws_emu_next(ps);
    return (struct const_value){t.value, t.is_unsigned};
  }
  if (ws_emu_accept(ps, "WARP_SZ")) return (struct const_value){32, false};
  if (ws_emu_accept(ps, "(")) {
    if (ws_emu_accept(ps, ".s64") || ws_emu_is(ps, ".u64")) { /* a cast */
      bool u = ws_emu_accept(ps, ".u64");
      ws_emu_expect(ps, ")");
      nest(ps);
      v = primary(ps);
      ps->nesting--;
      v.is_unsigned = u;
      return v;
    }
    nest(ps);
    v = conditional(ps);
    ps->nesting--;
    ws_emu_expect(ps, ")");
    return v;
  }
  static const char unary[] = "-+~!";
  for (size_t i = 0; i < 4; i++) {
    char op[2] = {unary[i], 0};
    if (!ws_emu_accept(ps, op)) continue;
    nest(ps);
    v = primary(ps);
    ps->nesting--;
    if (*op == '-') v.bits = 0 - v.bits;
    if (*op == '~') v.bits = ~v.bits;
    if (*op == '!') v = (struct const_value){!v.bits, false};
    return v;
  }
  ws_emu_parse_error(ps, t.line, t.col, "expected a constant, found '%.*s'", (int)(t.n > 40 ? 40 : t.n), t.s);
}

/* Binary operators by falling precedence, as in C. */
static const struct { char text[3]; int level; } operators[] = {
    {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9}, {"-", 9}, {"<<", 8}, {">>", 8}, {"<", 7}, {">", 7},
    {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&", 5}, {"^", 4}, {"|", 3}, {"&&", 2}, {"||", 1}};

static struct const_value apply(struct parser *ps, const struct token *at, const char *op, struct const_value a,
                                struct const_value b) {
  bool u = a.is_unsigned || b.is_unsigned;
  int64_t sa = (int64_t)a.bits, sb = (int64_t)b.bits;
  int less = u ? (a.bits > b.bits) - (a.bits < b.bits) : (sa > sb) - (sa < sb);
  struct const_value r = {0, u};
  if ((*op == '/' || *op == '%') && !b.bits) ws_emu_parse_error(ps, at->line, at->col, "division by zero");
  switch (op[1] ? op[0] << 8 | op[1] : op[0]) {
    case '*': r.bits = a.bits * b.bits; break;
    case '/': r.bits = u ? a.bits / b.bits : sb == -1 ? 0 - a.bits : (uint64_t)(sa / sb); break;
    case '%': r.bits = u ? a.bits % b.bits : sb == -1 ? 0 : (uint64_t)(sa % sb); break;
    case '+': r.bits = a.bits + b.bits; break;
    case '-': r.bits = a.bits - b.bits; break;
    case '<' << 8 | '<': r = (struct const_value){b.bits > 63 ? 0 : a.bits << b.bits, a.is_unsigned}; break;
    case '>' << 8 | '>':
      r.is_unsigned = a.is_unsigned;
      r.bits = b.bits > 63 ? (a.is_unsigned || sa >= 0 ? 0 : ~(uint64_t)0)
                           : a.is_unsigned ? a.bits >> b.bits : (uint64_t)(sa >> b.bits);
      break;
    case '<': r = (struct const_value){less < 0, false}; break;
    case '>': r = (struct const_value){less > 0, false}; break;
    case '<' << 8 | '=': r = (struct const_value){less <= 0, false}; break;
    case '>' << 8 | '=': r = (struct const_value){less >= 0, false}; break;
    case '=' << 8 | '=': r = (struct const_value){!less, false}; break;
    case '!' << 8 | '=': r = (struct const_value){!!less, false}; break;
    case '&': r.bits = a.bits & b.bits; break;
    case '^': r.bits = a.bits ^ b.bits; break;
    case '|': r.bits = a.bits | b.bits; break;
    case '&' << 8 | '&': r = (struct const_value){a.bits && b.bits, false}; break;
    default: r = (struct const_value){a.bits || b.bits, false}; break;
  }
  return r;
}

static struct const_value binary(struct parser *ps, int level) {
  nest(ps);
  struct const_value a = primary(ps);
  for (;;) {
    size_t i = 0, n = sizeof operators / sizeof *operators;
    while (i < n && !(ws_emu_is(ps, operators[i].text) && operators[i].level >= level)) i++;
    if (i == n) break;
    struct token at = ps->t;
    ws_emu_next(ps);
    a = apply(ps, &at, operators[i].text, a, binary(ps, operators[i].level + 1));
  }
  ps->nesting--;
  return a;
}

static struct const_value conditional(struct parser *ps) {
  nest(ps);
  struct const_value c = binary(ps, 1);
  if (ws_emu_accept(ps, "?")) {
    struct const_value a = conditional(ps);
    ws_emu_expect(ps, ":");
    struct const_value b = conditional(ps);
    c = c.bits ? a : b;
  }
  ps->nesting--;
  return c;
}

struct const_value ws_emu_const_expr(struct parser *ps) { return conditional(ps); }

uint64_t ws_emu_const_u32(struct parser *ps, const char *what, uint64_t max) {
  struct token t = ps->t;
  struct const_value v = conditional(ps);
  if (v.bits > max) ws_emu_parse_error(ps, t.line, t.col, "%s must lie in 0..%llu", what, (unsigned long long)max);
  return v.bits;
}

/* ---- operands ---- */
static struct ptx_operand *sub_operand(struct parser *ps, struct ptx_operand *o, size_t *cap) {
  if (o->nsub == MAX_VECTOR) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "more than %d elements", MAX_VECTOR);
  size_t n = o->nsub;
  struct ptx_operand *grown = ws_emu_grow(&ps->m->pool, o->sub, n, cap, sizeof *o->sub);
  for (size_t i = 0; n && grown != o->sub && i < ps->npending; i++) /* pending labels point into the old array */
    if (ps->pending[i].at >= o->sub && ps->pending[i].at < o->sub + n)
      ps->pending[i].at = grown + (ps->pending[i].at - o->sub);
  o->sub = grown;
  o->nsub++;
  return &o->sub[n];
}

void ws_emu_operands(struct parser *ps, struct ptx_operand *o, const char *close) {
  size_t cap = 0;
  nest(ps);
  if (!ws_emu_is(ps, close)) do ws_emu_operand(ps, sub_operand(ps, o, &cap));
    while (ws_emu_accept(ps, ","));
  ps->nesting--;
  ws_emu_expect(ps, close);
}

/* Environment registers and performance counters, none of which anything here sets, and where the system's shared memory lies. */
static int numbered_register(const struct token *t) {
  static const struct { const char *format; unsigned count; int reg; } list[] = {{"%%envreg%u", 32, SR_ZERO}, {"%%pm%u", 8, SR_ZERO}, {"%%pm%u_64", 8, SR_ZERO64},
      {"%%reserved_smem_offset_%u", 2, SR_ZERO}, {"%%reserved_smem_offset_begin", 1, SR_ZERO}, {"%%reserved_smem_offset_cap", 1, SR_RESERVED_END}};
  char name[40];
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (unsigned k = 0; k < list[i].count; k++) {
      int n = snprintf(name, sizeof name, list[i].format, k);
      if ((uint32_t)n == t->n && !memcmp(name, t->s, t->n)) return list[i].reg;
    }
  return -1;
}
static int special_register(const struct token *t) {
  for (int i = 0; i < SR_COUNT; i++)
    if (strlen(ws_emu_sregs[i].text) == t->n && !memcmp(ws_emu_sregs[i].text, t->s, t->n)) return i;
  return numbered_register(t);
}

/* A vector register stands for its elements; .x .y .z .w, or .r .g .b .a, name one of them. */
static void vector_operand(struct parser *ps, struct ptx_operand *o, struct ptx_sym *y, uint32_t number) {
  static const char letters[] = "xyzwrgba";
  struct token t = ps->t;
  ws_emu_next(ps);
  const char *l = ps->t.kind == TK_DIRECTIVE && ps->t.n == 2 ? strchr(letters, ps->t.s[1]) : NULL;
  if (l) {
    uint32_t element = (uint32_t)(l - letters) % 4;
    if (element >= y->lanes) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "'%.*s' has %d elements", (int)(t.n > 60 ? 60 : t.n), t.s, y->lanes);
    o->kind = OPD_REG;
    o->reg = ws_emu_element(ps, y, number, element, t.s, t.n);
    ws_emu_next(ps);
    return;
  }
  o->kind = OPD_VEC;
  o->nsub = y->lanes;
  o->sub = WS_EMU_NEW_N(&ps->m->pool, struct ptx_operand, y->lanes);
  for (uint32_t i = 0; i < y->lanes; i++)
    o->sub[i] = (struct ptx_operand){.kind = OPD_REG, .line = t.line, .col = t.col, .reg = ws_emu_element(ps, y, number, i, t.s, t.n)};
}

/* A name: register, special register, variable, function or label (which may be defined further down). */
static void name_operand(struct parser *ps, struct ptx_operand *o) {
  struct token t = ps->t;
  o->reg = ws_emu_register(ps, t.s, t.n);
  if (o->reg != PTX_NO_REG) {
    o->kind = OPD_REG;
    ws_emu_next(ps);
    return;
  }
  struct ptx_sym *y;
  uint32_t number;
  if (ws_emu_vector(ps, t.s, t.n, &y, &number)) {
    vector_operand(ps, o, y, number);
    return;
  }
  y = ws_emu_lookup(ps, t.s, t.n);
  if (!y && *t.s == '%' && !ps->in_branch) {
    ws_emu_mnemonic(ps);
    t = ps->t;
    int sr = special_register(&t);
    if (sr < 0) ws_emu_parse_error(ps, t.line, t.col, "'%.*s' is not declared", (int)(t.n > 60 ? 60 : t.n), t.s);
    o->kind = OPD_SREG;
    o->sreg = (uint8_t)sr;
    ws_emu_next(ps);
    return;
  }
  ws_emu_next(ps);
  o->kind = OPD_SYM;
  o->sym = y;
  if (!y) {
    struct pending_label *l = WS_EMU_PUSH(&ps->m->pool, ps->pending, ps->npending, ps->cap_pending);
    *l = (struct pending_label){.at = o, .name = ws_emu_strndup(&ps->m->pool, t.s, t.n), .depth = ps->depth,
                                .line = t.line, .col = t.col};
  }
}

static void offset(struct parser *ps, struct ptx_operand *o) {
  if (ws_emu_is(ps, "+")) {
    ws_emu_next(ps);
    o->imm += binary(ps, 9).bits;
  } else if (ws_emu_is(ps, "-")) {
    ws_emu_next(ps);
    o->imm -= binary(ps, 9).bits;
  }
}

static void address_operand(struct parser *ps, struct ptx_operand *o) {
  size_t cap = 0;
  o->kind = OPD_ADDR;
  nest(ps);
  do {
    struct ptx_operand *s = sub_operand(ps, o, &cap);
    ws_emu_operand(ps, s);
    if (o->nsub > 1) continue;
    if (s->kind == OPD_SYM) {
      o->imm = s->imm;
      s->imm = 0;
    }
    offset(ps, o);
  } while (ws_emu_accept(ps, ","));
  ps->nesting--;
  ws_emu_expect(ps, "]");
}

static void number_operand(struct parser *ps, struct ptx_operand *o) {
  bool minus = false;
  struct parser saved = {.p = ps->p, .line_start = ps->line_start, .line = ps->line, .t = ps->t};
  while (ws_emu_is(ps, "-") || ws_emu_is(ps, "+")) {
    minus ^= ws_emu_is(ps, "-");
    ws_emu_next(ps);
  }
  if (ps->t.kind == TK_F32 || ps->t.kind == TK_F64) {
    o->kind = ps->t.kind == TK_F32 ? OPD_F32 : OPD_F64;
    o->imm = ps->t.value ^ (minus ? (o->kind == OPD_F32 ? 1u << 31 : (uint64_t)1 << 63) : 0);
    ws_emu_next(ps);
    return;
  }
  ps->p = saved.p;
  ps->line_start = saved.line_start;
  ps->line = saved.line;
  ps->t = saved.t;
  o->kind = OPD_INT;
  o->imm = conditional(ps).bits;
}

void ws_emu_operand(struct parser *ps, struct ptx_operand *o) {
  nest(ps);
  *o = (struct ptx_operand){.line = ps->t.line, .col = ps->t.col, .reg = PTX_NO_REG};
  if (ws_emu_accept(ps, "{")) {
    o->kind = OPD_VEC;
    ws_emu_operands(ps, o, "}");
  } else if (ps->in_call && ws_emu_accept(ps, "(")) {
    o->kind = OPD_LIST;
    ws_emu_operands(ps, o, ")");
  } else if (ws_emu_accept(ps, "[")) {
    address_operand(ps, o);
  } else if (ws_emu_is(ps, "_")) {
    o->kind = OPD_SINK;
    ws_emu_next(ps);
  } else if (ps->t.kind == TK_IDENT && !ws_emu_is(ps, "WARP_SZ")) {
    name_operand(ps, o);
    if (o->kind == OPD_SYM) offset(ps, o);
  } else if (ws_emu_is(ps, "!")) {
    struct token at = ps->t;
    ws_emu_next(ps);
    if (ps->t.kind == TK_IDENT) {
      name_operand(ps, o);
      if (o->kind != OPD_REG) ws_emu_parse_error(ps, at.line, at.col, "'!' needs a predicate");
      o->negated = true;
    } else {
      o->kind = OPD_INT;
      o->imm = !conditional(ps).bits;
    }
  } else {
    number_operand(ps, o);
  }
  if (ws_emu_is(ps, "|")) {
    ws_emu_next(ps);
    o->second = WS_EMU_NEW(&ps->m->pool, struct ptx_operand);
    ws_emu_operand(ps, o->second);
  }
  ps->nesting--;
}
