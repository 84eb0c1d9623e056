/* Inside gen/spec: what its files share.
 *
 *   text.c   the bytes: limits, encoding, lines, positions; an ASCII copy for libyaml
 *   layout.c lines that are deeper than they may be: forgotten colons, dashes, indentation
 *   yaml.c   libyaml events -> a tree of nodes that know their bytes; one error a broken line
 *   keys.c   THE table of keys: what a document and each declaration may hold
 *   decl.c   nodes -> declarations, driven by that table
 *   lex.c    bytes of one line -> tokens
 *   expr.c   tokens -> expressions
 *   stmt.c   tokens -> statements and headers
 *   block.c  nodes -> blocks, with the forms of YAML that a block may not have
 *   read.c   the entry points
 *   print.c, print_expr.c  tree -> text
 *   schema.c the table of keys -> a JSON Schema
 *
 * Data flows down this list. Text always comes from the source bytes, never from libyaml's values, so that every token
 * has its true place. Strings and nodes live in the arena. */
#ifndef WS_SPEC_READER_H
#define WS_SPEC_READER_H
#include "spec/syntax.h"

enum {
  WS_SOURCE_MAX = 1 << 20,  /* bytes of a file */
  WS_NAME_MAX = 64,         /* bytes of a name */
  WS_HEADER_MAX = 400,      /* bytes of a block's header or a declared name: YAML ends a key at 1024, and printing adds spaces */
  WS_EXPR_DEPTH = 100,      /* levels of an expression */
  WS_NODE_DEPTH = 100,      /* levels of YAML: about 49 blocks in each other */
  WS_YAML_ERRORS = 20,      /* broken lines after which the rest of a file is not read */
};

struct ws_reader {
  struct ws_arena *a;
  struct ws_diags *d;
  const char *text;     /* the source as it is */
  size_t len;
  char *clean;          /* the same length in ASCII: libyaml's character index is then the byte offset */
  uint32_t *line_start; /* byte offset of each line */
  size_t nlines;
  bool *bad;            /* lines that have had their error: whatever else is found there follows from it */
  bool cut;             /* the file was not read to its end: nothing is missing for certain */
};

/* --- text.c --- */
bool ws_reader_open(struct ws_reader *r, const char *text, size_t len, struct ws_arena *a, struct ws_diags *d);
struct ws_pos ws_reader_pos(const struct ws_reader *r, size_t begin, size_t end);
/* Reports unless the line has had its error. */
void ws_reader_error(struct ws_reader *r, struct ws_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Bytes for a message: cut after 40. */
const char *ws_reader_quote(struct ws_reader *r, size_t begin, size_t end);

/* --- layout.c --- */
void ws_reader_layout(struct ws_reader *r);

/* --- yaml.c --- */
enum ws_node_kind {
  WS_NODE_BROKEN, /* had its error */
  WS_NODE_SCALAR, WS_NODE_LIST, WS_NODE_MAP,
};
enum ws_node_style { WS_PLAIN, WS_QUOTED, WS_DOUBLE_QUOTED, WS_LITERAL /* | or > */ };

struct ws_node {
  enum ws_node_kind kind;
  enum ws_node_style style;
  bool flow;
  size_t begin, end;      /* bytes; of a scalar with its quotes */
  struct ws_pos pos;
  size_t n;
  struct ws_node **item;  /* of a list; the values of a map */
  struct ws_node **key;   /* of a map */
};

/* The root nodes of the file's documents. */
struct ws_node **ws_yaml_read(struct ws_reader *r, size_t *n);

/* --- lex.c --- */
enum ws_token_kind { WS_T_END, WS_T_NUMBER, WS_T_NAME, WS_T_OP, WS_T_BAD };
struct ws_token {
  enum ws_token_kind kind;
  size_t begin, end;
  const char *text;       /* a name or an operator; of a bad token the message */
  const char *code;       /* of a bad token */
  double number;
  bool is_int;
};

struct ws_parser {
  struct ws_reader *r;
  struct ws_token *t;
  size_t n, i;            /* tokens, the last being WS_T_END; the current one */
  bool failed;            /* one error a statement: after it every token is the end */
  int depth;
  const char *end_name;   /* what the end is called in messages */
};

void ws_parser_open(struct ws_parser *p, struct ws_reader *r, size_t begin, size_t end);
const struct ws_token *ws_peek(const struct ws_parser *p, size_t ahead);
bool ws_is(const struct ws_parser *p, const char *word);      /* the current token is this operator or word */
bool ws_accept(struct ws_parser *p, const char *word);
void ws_expect(struct ws_parser *p, const char *word, const char *why); /* why: what it is for, or NULL */
void ws_expect_end(struct ws_parser *p, const char *after);   /* "the product" */
const char *ws_expect_name(struct ws_parser *p, const char *what, struct ws_pos *pos); /* not a reserved word */
const char *ws_found(struct ws_parser *p);                    /* the current token for a message */
struct ws_pos ws_token_pos(const struct ws_parser *p, const struct ws_token *t);
struct ws_pos ws_span(const struct ws_parser *p, size_t begin); /* from begin to the end of the last token read */
/* Reports at the current token (or what the lexer found wrong there) and ends the parse. */
void ws_parse_error(struct ws_parser *p, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void ws_parse_error_at(struct ws_parser *p, struct ws_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool ws_reserved(const char *name);

/* --- expr.c: results are never NULL, but mean nothing once p->failed --- */
struct ws_expr *ws_parse_expr(struct ws_parser *p);
struct ws_expr *ws_parse_sum(struct ws_parser *p);
struct ws_expr *ws_parse_post(struct ws_parser *p);
/* Whether e is memory, NAME[..] with parts, and what is wrong when it is not. */
bool ws_is_mem(const struct ws_expr *e);
bool ws_is_ref(const struct ws_expr *e);

/* --- stmt.c --- */
struct ws_stmt *ws_parse_stmt(struct ws_reader *r, size_t begin, size_t end);   /* NULL after an error */
struct ws_stmt *ws_parse_header(struct ws_reader *r, size_t begin, size_t end); /* for, each, if, one thread */
bool ws_is_header_word(const char *s, size_t n);

/* --- block.c --- */
struct ws_block *ws_read_block(struct ws_reader *r, const struct ws_node *node, struct ws_pos owner, const char *what);

/* --- decl.c --- */
void ws_read_document(struct ws_reader *r, const struct ws_node *root, struct ws_document *doc);
#endif
