/* gen/spec: from the bytes of a YAML file to a syntax tree.
 *
 * Reads the document with libyaml (events, with positions), checks its shape against one table of keys, and parses every
 * statement and expression from the source bytes, so that each node knows its line and column. It resolves no names and
 * evaluates nothing: that is gen/schedule. All errors of a file are reported in one run. May include gen/base only.
 *
 * The language is described in specs/README.md. */
#ifndef WS_SYNTAX_H
#define WS_SYNTAX_H
#include "base/diag.h"

enum ws_expr_kind {
  WS_E_NUMBER,  /* number; is_int tells 3 from 3.0; `inf` is a number */
  WS_E_NAME,    /* name (true and false are names here) */
  WS_E_CALL,    /* name(args) */
  WS_E_INDEX,   /* arg[0][arg[1], ...] */
  WS_E_ATTR,    /* arg[0].name              (.T .peer .first .rest .last ...) */
  WS_E_METHOD,  /* arg[0].name(arg[1], ...) (.rows .cols .at ...) */
  WS_E_UNARY,   /* op arg[0] */
  WS_E_BINARY,  /* arg[0] op arg[1] */
  WS_E_SELECT,  /* arg[1] if arg[0] else arg[2] */
  WS_E_PART,    /* arg[0] of arg[1]    only as an argument of .rows/.cols and in lhs parts */
  WS_E_RANGE,   /* arg[0] .. arg[1]    likewise */
};

enum ws_op {
  WS_OP_NONE, WS_OP_NEG, WS_OP_NOT,
  WS_OP_ADD, WS_OP_SUB, WS_OP_MUL, WS_OP_DIV, WS_OP_MOD,
  WS_OP_EQ, WS_OP_NE, WS_OP_LT, WS_OP_LE, WS_OP_GT, WS_OP_GE,
  WS_OP_AND, WS_OP_OR,
};

struct ws_expr {
  enum ws_expr_kind kind;
  enum ws_op op;
  struct ws_pos pos;        /* of the whole expression; for a binary, of its operator's left operand to its right end */
  struct ws_pos name_pos;   /* of `name` where there is one */
  const char *name;
  double number;
  bool is_int;
  unsigned depth;           /* levels of the tree: 1 for a leaf, at most 100 */
  size_t n;
  struct ws_expr **arg;
};

struct ws_option {          /* with NAME = sum */
  const char *name;
  struct ws_pos pos;
  struct ws_expr *value;
};

enum ws_stmt_kind {
  WS_S_FOR, WS_S_EACH, WS_S_IF, WS_S_ONE_THREAD,                        /* headers of blocks */
  WS_S_LOAD, WS_S_STORE, WS_S_REDUCE, WS_S_WRITE, WS_S_COPY,            /* a -> b */
  WS_S_PRODUCT,                                                         /* dst (=|+=) a @ b */
  WS_S_ASSIGN,                                                          /* dst = a */
  WS_S_ASSIGN2,                                                         /* dst, dst2 = a */
  WS_S_ACQUIRE, WS_S_WAIT, WS_S_COMMIT, WS_S_RELEASE, WS_S_ARRIVE, WS_S_AWAIT, WS_S_SYNC,
  WS_S_WAIT_EQ,                                                         /* wait a == b (a counter in global memory) */
  WS_S_WAIT_PHASE,                                                      /* wait a phase b */
  WS_S_ARRIVE_EXPECT,                                                   /* arrive a expect b */
  WS_S_INIT, WS_S_INVAL, WS_S_FENCE,                                    /* init a count b; inval a; fence name */
};

enum ws_sync_scope { WS_SYNC_ROLE, WS_SYNC_WARP, WS_SYNC_ALL, WS_SYNC_CLUSTER, WS_SYNC_REF /* a: barrier or role */ };

struct ws_block;
struct ws_branch {          /* one arm of an if; cond NULL = else */
  struct ws_expr *cond;
  struct ws_pos pos;
  const char *text;         /* the header's source text: "if ...", "elif ...", "else" */
  struct ws_block *body;
};

struct ws_stmt {
  enum ws_stmt_kind kind;
  struct ws_pos pos;        /* of the statement or header, its whole text */
  const char *text;         /* the source text, trimmed, without a comment */
  struct ws_expr *dst, *dst2; /* left of = ; right of -> */
  struct ws_expr *a, *b;      /* operands */
  bool accumulate;            /* += */
  const char *handle;         /* acquire/wait ... -> NAME */
  struct ws_pos handle_pos;
  struct ws_expr *as_rows, *as_cols; /* as [r, c] */
  struct ws_expr *when;
  enum ws_sync_scope sync;
  struct ws_option *opts;
  size_t nopts;
  /* headers */
  const char *var;            /* for/each NAME */
  struct ws_pos var_pos;
  struct ws_expr *list;       /* for: the list expression */
  struct ws_expr *lo, *hi;    /* each: both ends included */
  bool peel_first, split_masked;
  struct ws_expr *unroll;     /* NULL = not given */
  struct ws_block *body;      /* for, each, one thread */
  struct ws_branch *branches; /* if */
  size_t nbranches;
};

struct ws_block {
  struct ws_stmt **stmt;
  size_t n;
};

/* --- declarations. An expression that was not given is NULL. --- */

struct ws_name {              /* NAME or NAME[expr]: a declared thing and how many of it */
  const char *name;
  struct ws_pos pos;
  struct ws_expr *count;
};

struct ws_param {
  const char *name;
  struct ws_pos pos;
  const char *type;           /* int float bool type name; NULL when only a value was given */
  struct ws_pos type_pos;
  struct ws_expr **choices;
  size_t nchoices;
  struct ws_expr *value;      /* the default */
};

struct ws_pair {              /* key: value of an open mapping (tile, blocks, order) */
  const char *key;
  struct ws_pos pos;
  struct ws_expr *value;
};

struct ws_work {
  struct ws_pos pos;
  struct ws_pair *tile, *blocks, *order; /* order values are names: ascending descending */
  size_t ntile, nblocks, norder;
  struct ws_expr *launch;     /* name: single persistent */
  struct ws_expr *sort;       /* name: longest */
  struct ws_expr *cluster;    /* name: pair */
  struct ws_expr *ctas;       /* CTAs an SM */
};

struct ws_rule_decl {         /* reference: the spec's own mathematics, judged by `run` */
  struct ws_pos pos;
  struct ws_expr *score, *visible, *sink; /* over one pair of a query and a key */
  struct ws_expr *weight;     /* name: softmax sigmoid */
};

struct ws_tensor_decl {
  const char *name;
  struct ws_pos pos;
  struct ws_expr **dims;      /* names or numbers */
  size_t ndims;
  struct ws_expr *type;
  struct ws_expr *input;      /* true: filled by the caller */
};

struct ws_role {
  struct ws_name name;
  struct ws_expr *warps, *registers, *threads, *code; /* code: name `separate` */
};

struct ws_buffer {
  struct ws_name name;
  struct ws_expr *space;      /* name: smem tmem */
  struct ws_expr *rows, *cols;/* tile: [rows, cols] */
  struct ws_pos tile_pos;
  struct ws_expr *type, *stages, *order, *swizzle;
  struct ws_expr **at;        /* one expression, or one an array element or stage */
  size_t nat;
};

enum ws_unit { WS_UNIT_THREAD, WS_UNIT_WARP, WS_UNIT_ONE };
struct ws_end {               /* one role in from: or to: */
  const char *role;
  struct ws_pos pos;
  enum ws_unit unit;
  bool unit_given;
};

struct ws_pipeline {
  struct ws_name name;
  const char *buffer;
  struct ws_pos buffer_pos;
  const char *by;             /* "tma", "cp.async" or NULL */
  struct ws_pos by_pos;
  struct ws_end *from, *to;
  size_t nfrom, nto;
  const char *full, *empty;   /* scopes: NULL, cta leader pair peer; empty also none */
  struct ws_pos full_pos, empty_pos;
};

struct ws_barrier {
  struct ws_name name;
  bool named;                 /* kind: named */
  struct ws_end *from, *to;
  size_t nfrom, nto;
  const char *scope;          /* NULL, cta leader pair peer */
  struct ws_pos scope_pos;
  struct ws_expr *open, *count, *stages, *manual;
  const char *per;            /* NULL or "warp" */
};

struct ws_program {           /* role: block, or role[i]: block */
  const char *role;
  struct ws_pos pos;
  struct ws_expr *index;      /* NAME or NUMBER */
  struct ws_block *body;
};

struct ws_document {          /* one kernel */
  const struct ws_source *source;
  struct ws_pos pos;
  const char *schedule;
  struct ws_pos schedule_pos;
  const char **targets;
  struct ws_pos *target_pos;
  size_t ntargets;
  const char *problem;
  struct ws_pos problem_pos;
  struct ws_param *params;
  size_t nparams;
  struct ws_work work;
  struct ws_rule_decl reference;
  struct ws_tensor_decl *tensors;
  size_t ntensors;
  struct ws_role *roles;
  size_t nroles;
  struct ws_buffer *buffers;
  size_t nbuffers;
  struct ws_pipeline *pipelines;
  size_t npipelines;
  struct ws_barrier *barriers;
  size_t nbarriers;
  struct ws_program *programs;
  size_t nprograms;
};

struct ws_spec {              /* one file */
  struct ws_document *docs;
  size_t ndocs;
};

/* Reads a whole file. Returns NULL when a syntax error left nothing to go on (the reasons are in d); otherwise the tree,
 * with d->errors counting what was wrong. Never exits, prints or aborts; on any input, however broken. */
struct ws_spec *ws_spec_read(const struct ws_source *src, struct ws_arena *a, struct ws_diags *d);

/* Parses one expression of a value given outside a file (-D name=value); positions count within text. */
struct ws_expr *ws_spec_parse_expr(const char *text, struct ws_arena *a, struct ws_diags *d);

/* Prints a tree in the canonical form of the language; read back, it is the same tree. */
void ws_spec_print(const struct ws_spec *s, struct ws_buf *out);
void ws_expr_print(const struct ws_expr *e, struct ws_buf *out);
void ws_sum_print(const struct ws_expr *e, struct ws_buf *out); /* where the grammar has a sum: with parentheses around what is looser */

/* Writes a JSON Schema (draft 2020-12) of one document, derived from the reader's table of keys, for editors. */
void ws_spec_schema(struct ws_buf *out);
#endif
