/* The lexer of PTX text and what the two halves of the parser share. Internal to the front end. */
#ifndef WS_EMU_PTX_LEX_H
#define WS_EMU_PTX_LEX_H
#include "ptx.h"

enum tok_kind { TK_EOF, TK_IDENT, TK_DIRECTIVE, TK_INT, TK_F32, TK_F64, TK_STRING, TK_PUNCT };
struct token {
  uint8_t kind;
  bool is_unsigned;   /* TK_INT: U suffix, or too large for a signed 64-bit value */
  const char *s;      /* first character; TK_DIRECTIVE: the dot; TK_STRING: past the quote */
  uint32_t n;         /* characters of s */
  uint32_t line, col; /* of the first character, from 1 */
  uint64_t value;     /* TK_INT; TK_F32 and TK_F64: the bits; TK_PUNCT: the character, two-character ones as 'a' << 8 | 'b' */
};

enum { SYMTAB_BUCKETS = 1024, MAX_DEPTH = 64 };
struct pending_label { /* a label named before its definition */
  struct ptx_operand *at;
  struct ptx_sym **slot; /* or an entry of .branchtargets */
  const char *name;
  uint32_t depth, line, col;
};
struct parser {
  struct ptx_module *m;
  const char *p, *end;      /* the next character, the end */
  const char *line_start;
  uint32_t line;
  struct token t;           /* the current token */
  struct ptx_sym *buckets[SYMTAB_BUCKETS];
  struct ptx_sym **scope;   /* symbols of the open scopes, in order of declaration */
  size_t nscope, cap_scope, scope_start[MAX_DEPTH + 1];
  uint32_t depth;           /* open braces; 0 = module scope */
  int nesting;              /* of expressions and operands, bounded */
  bool in_call;             /* parentheses are argument lists, not expressions */
  bool in_branch;           /* an unknown name is a label, also when it begins with % */
  struct ptx_func *func;    /* the function whose body is being read */
  struct ptx_reg *regs;     /* its registers, by dense number */
  struct ptx_sym **reg_index; /* hash of (symbol, number) -> dense number */
  uint32_t *reg_keys;
  size_t cap_reg_keys;
  struct pending_label *pending;
  size_t npending, cap_pending;
  uint32_t loc_file, loc_line;
  jmp_buf fail;
  char *err;
  size_t err_n;
};

/* Report at a position and leave the parse. */
_Noreturn void ws_emu_parse_error(struct parser *ps, uint32_t line, uint32_t col, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void ws_emu_next(struct parser *ps);                        /* reads the next token into ps->t */
void ws_emu_mnemonic(struct parser *ps);                    /* extends an identifier in ps->t by the .modifiers that touch it */
bool ws_emu_is(const struct parser *ps, const char *text);  /* the current token is this directive, word or sign */
bool ws_emu_accept(struct parser *ps, const char *text);    /* the same; then it is consumed */
void ws_emu_expect(struct parser *ps, const char *text);

/* ptx_sym.c: names in nested scopes */
struct ptx_sym *ws_emu_lookup(struct parser *ps, const char *s, size_t n);
struct ptx_sym *ws_emu_declare(struct parser *ps, const struct token *name, enum ptx_sym_kind kind);
void ws_emu_open_scope(struct parser *ps);
void ws_emu_close_scope(struct parser *ps);
/* The dense number of a register named in the text, or PTX_NO_REG when the name is none. */
uint32_t ws_emu_register(struct parser *ps, const char *s, size_t n);
/* A vector register (PTX ISA "Vectors"), by its name: its elements, or 0 when the name is none; y and number say which it is. */
int ws_emu_vector(struct parser *ps, const char *s, size_t n, struct ptx_sym **y, uint32_t *number);
uint32_t ws_emu_element(struct parser *ps, struct ptx_sym *y, uint32_t number, uint32_t element, const char *s, size_t n);

/* ptx_expr.c: constant expressions, operands */
struct const_value {
  uint64_t bits;
  bool is_unsigned;
};
struct const_value ws_emu_const_expr(struct parser *ps);
uint64_t ws_emu_const_u32(struct parser *ps, const char *what, uint64_t max);
void ws_emu_operand(struct parser *ps, struct ptx_operand *o);
void ws_emu_operands(struct parser *ps, struct ptx_operand *o, const char *close); /* into o->sub; consumes `close` */

/* ptx_parse.c: directives; ptx_stmt.c: bodies */
enum ptx_type ws_emu_type_of(const struct token *t); /* T_NONE when the directive is no type */
struct ptx_sym *ws_emu_variable(struct parser *ps, enum ptx_space space, bool is_extern); /* after the space directive; one name */
void ws_emu_body(struct parser *ps);
void ws_emu_loc(struct parser *ps);
void ws_emu_skip_section(struct parser *ps);
#endif
