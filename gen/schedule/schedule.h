/* gen/schedule: THE model. Names resolved, parameters evaluated, `each` expanded, static conditions decided, shapes, types
 * and layouts inferred, counts derived, budgets checked. The player and the lowering read this and nothing else.
 *
 * Passes, in order (build.c runs them; passes.h declares them):
 *   params    parameters and their overrides
 *   declare   work, tensors, roles, buffers (smem.c, tmem.c place them), rings: pipelines and barriers
 *   resolve   statements -> acts; every name becomes a pointer
 *   defined   names that a path leaves undefined, by instance and rank
 *   types     shapes, element types and layouts by a least fixpoint; operand rules of products
 *   counts    arrivals of every barrier, threads and ids of the named ones
 *   bytes     what a TMA fill brings
 *   zero      products whose sum starts from zero
 *   groups    the N of every cp.async wait_group; async.c: the N of wgmma groups and bulk copies
 *   budget    shared memory, TMEM, registers, threads, named barriers
 *   dump      the model as text
 *
 * A program is code. Shared code of a role array is one program for all instances: what depends on the instance (or, in a
 * pair, on the rank) is a node with WS_N_INSTANCE and WS_N_RANK leaves, and ws_known() gives its value for one (rank,
 * instance). With `code: separate`, and for `role[2]:`, each instance has a program of its own and the index is a number.
 * May include gen/base, gen/spec/syntax.h and gen/problem. */
#ifndef WS_SCHEDULE_H
#define WS_SCHEDULE_H
#include "compile.h"
#include "problem/problem.h"
#include "spec/syntax.h"

enum ws_type { WS_T_NONE, WS_F32, WS_F16, WS_BF16, WS_E4M3, WS_E5M2, WS_I32, WS_BOOL };
unsigned ws_type_bits(enum ws_type t);
const char *ws_type_name(enum ws_type t);

/* A value known at generation. */
enum ws_static_kind { WS_ST_INT, WS_ST_FLOAT, WS_ST_BOOL, WS_ST_TYPE, WS_ST_NAME };
struct ws_static {
  enum ws_static_kind kind;
  long i;             /* INT, BOOL */
  double f;           /* FLOAT; also set for INT */
  enum ws_type type;  /* TYPE */
  const char *name;   /* NAME */
};

enum { WS_MAX_DIMS = 6 };
struct ws_tensor {
  const char *name;
  struct ws_pos pos;            /* of a workspace's declaration; line 0 for the problem's */
  bool out, workspace;
  enum ws_type type;
  const char *dim[WS_MAX_DIMS]; /* run-time dim by name, or NULL where fixed */
  long fixed[WS_MAX_DIMS];      /* the extent where fixed */
  int ndims, index;             /* index: among the model's tensors */
  bool input;                   /* declared by the spec, filled by the caller */
  bool coords;                  /* i32: a table or counter; every index is a coordinate, every tile one element */
  int row_dim, col_dim;         /* which dims are rows and columns of a tile; -1 = it has one row, one column. All other
                                   dims are outer: the work tile says where (batch, heads, ...), or an index does */
  bool used;                    /* loaded, stored or read; a tensor that only names positions is not */
};

struct ws_rolem {
  const struct ws_role *decl;
  const char *name;
  int index, count;             /* instances; 1 when not an array */
  bool is_array, one_thread, separate;
  int warps, first_warp;        /* of one instance; of instance 0 */
  int registers;                /* 0 = not given */
  int sync_id;                  /* named barrier of `sync`, instance k has sync_id + k; 0 = the CTA's, -1 = none used */
  int all_id;                   /* named barrier of `sync ROLE`; likewise */
};

/* Where the bytes of a shared-memory tile lie: row r, byte c of the row: r*pitch + swizzle(c). The swizzle XORs the number
 * of the 16-byte unit with bits of the row, so that eight consecutive rows of one unit column fall into different banks
 * (ldmatrix reads them together: PTX ISA, ldmatrix). mask 0 = none: pitch is then an odd number of units. Rows of 16-bit
 * elements are padded to a multiple of 16 columns, the k step of mma.sync; a load fills the padding with zeros. */
struct ws_smem_layout {
  int pitch;                    /* bytes from row to row */
  int units;                    /* 16-byte units of a row, padding included; 0 = rows are no multiple of 16 bytes */
  int mask, shift;              /* unit ^= (row >> shift) & mask */
  int panel_units;              /* units of a row that lie together, the next ones in the next panel; 0 = the whole row does */
  long panel_bytes;             /* from panel to panel */
  long group_bytes;             /* from 8 rows to the next 8, all of whose panels lie together; 0 = panels are as high as the tile */
};
/* Bytes from a tile's start to a row's unit whose low bits, those that the swizzle changes, are taken as 0. */
static inline long ws_smem_unit(const struct ws_smem_layout *l, long row, long unit) {
  long panel = l->panel_units ? unit / l->panel_units : 0;
  unit -= panel * l->panel_units;
  long group = l->group_bytes ? row / 8 * (l->group_bytes - 8L * l->pitch) : 0;
  return group + row * l->pitch + panel * l->panel_bytes + (unit - (unit & l->mask)) * 16;
}

struct ws_bufferm {
  const struct ws_buffer *decl;
  const char *name;
  int index, count;             /* elements of the array; 1 when not an array */
  bool is_array, tmem;
  int rows, cols, stages;
  enum ws_type type;
  long bytes;                   /* of one slot */
  long offset;                  /* of element 0, stage 0 in shared memory; the others follow */
  struct ws_smem_layout layout;
  struct ws_bufferm *over;      /* `at: NAME`: overlays that buffer */
  bool acc8, rows8;             /* order: acc8, rows8 */
  int swizzle, panel;           /* TMA, wgmma and tcgen05 read panels of `panel` bytes a row, one behind the other, each swizzled in
                                   units of `swizzle` bytes (0 = none); panel 0 = rows lie as `layout` says */
  int tmem_cols;                /* columns of one slot */
  int *column;                  /* TMEM: first column, by element * stages + stage */
};

/* How a statement is carried out; the executing threads decide. BULK: bulk copies between shared and global memory, or into the peer's shared memory. */
enum ws_mechanism { WS_BY_THREADS, WS_BY_CP_ASYNC, WS_BY_TMA, WS_BY_BULK, WS_BY_MMA_SYNC, WS_BY_WGMMA, WS_BY_TCGEN05 };
const char *ws_mechanism_name(enum ws_mechanism m);
enum ws_barrier_scope { WS_SCOPE_CTA, WS_SCOPE_LEADER, WS_SCOPE_PAIR, WS_SCOPE_PEER };
const char *ws_scope_name(enum ws_barrier_scope s);

struct ws_endm {                /* a role at an end of a pipeline or barrier */
  struct ws_rolem *role;
  enum ws_unit unit;
  struct ws_pos pos;
};
struct ws_pipelinem {
  const struct ws_pipeline *decl;
  const char *name;
  int index, count;
  bool is_array;
  struct ws_bufferm *buffer;
  enum ws_mechanism by;
  struct ws_endm *from, *to;
  int nfrom, nto;
  enum ws_barrier_scope full, empty;
  bool no_empty;                /* cp.async, or `empty: none`: other synchronisation orders the reuse */
  int *full_count, *empty_count;/* arrivals a phase, by element; 0 = that side has no mbarrier */
  long full_at, empty_at;       /* shared-memory offset of the mbarrier of element 0, stage 0; -1 = none */
};

struct ws_barrierm {
  const struct ws_barrier *decl;
  const char *name;
  int index, count;
  bool is_array;
  bool named, per_warp, open, manual;
  bool inits;                   /* a program says `init`: it is not initialised by the entry */
  enum ws_barrier_scope scope;
  int stages;
  struct ws_endm *from, *to;
  int nfrom, nto;
  int declared;                 /* count: n; 0 = not given */
  int *arrivals;                /* mbarrier: arrivals a phase; named: threads that arrive or wait; by element */
  int id, ids;                  /* named: barrier id of element 0, ids of an element (warps, if per warp, else 1) */
  long at;                      /* mbarrier: shared-memory offset of element 0, stage 0 */
};

/* --- programs --- */

enum ws_layout { WS_L_NONE, WS_L_ACC, WS_L_A, WS_L_LANE, WS_L_COPY };
const char *ws_layout_name(enum ws_layout l);

struct ws_var {                 /* a register tile */
  const char *name;
  struct ws_pos pos;            /* first assignment */
  int index;
  int rows, cols;
  enum ws_type type;
  enum ws_layout layout;
  bool adds;                    /* products are added to it: a vector that it starts from is widened */
  bool partial;                 /* a partial row sum: rowpart without total */
  int nassign;
};

struct ws_node;
struct ws_iter {                /* a loop variable: `for t in work`, `for j in kv(t)` */
  const char *name;
  struct ws_pos pos;
  int index;
  const struct ws_problem_list *list; /* NULL = work */
  struct ws_iter *of;           /* kv(t): t */
  enum ws_list_part { WS_ALL, WS_FIRST, WS_REST, WS_LAST } part;
  bool descending;
  struct ws_node *from;         /* queries(t, j): the block j that its blocks are seen from; else NULL */
  bool closed;                  /* its loop has ended: the name is free again */
};

struct ws_handle {              /* a slot: acquire/wait ... -> NAME */
  const char *name;
  struct ws_pos pos;
  int index;
  struct ws_pipelinem *pipe;
  int element;                  /* of the pipeline array */
  struct ws_node *element_at;   /* where it depends on instance or rank; `element` is then that of the first instance */
  int rows, cols;               /* as [r, c], or the buffer's */
};

struct ws_mem {                 /* a place in memory */
  struct ws_pos pos;
  enum ws_space { WS_SMEM, WS_TMEM, WS_GLOBAL } space;
  struct ws_bufferm *buffer;
  struct ws_handle *handle;     /* NULL = the buffer itself, stage `stage` */
  int element, stage;
  struct ws_tensor *tensor;
  struct ws_iter *tile;         /* t */
  struct ws_node *block;        /* the index of the block along the tensor's row dim; NULL = the work tile's rows */
  int block_rows;               /* its step */
  int row0, col0;               /* first row and column of the part, rows counted within the tile */
  int rows, cols;               /* extent, before the transposition */
  bool transposed;
  bool peer;                    /* of the other CTA of the pair */
  struct ws_node *element_at;   /* the element, where it depends on instance or rank; `element` is then that of the first one */
  struct ws_node *row_at, *col_at; /* rows and columns to add to row0 and col0, by instance or rank; NULL = 0 */
  struct ws_node *col_block;    /* a tensor cut in both directions: the block along its columns, of col_block_cols each */
  int col_block_cols;
  struct ws_node *coord[WS_MAX_DIMS]; /* coordinates given by an index: of outer dims, and of every dim of a table; else NULL */
};

enum ws_node_kind {
  WS_N_CONST,                   /* value */
  WS_N_SCALAR,                  /* a problem scalar */
  WS_N_VAR,
  WS_N_OP,                      /* elementwise op over arg[] */
  WS_N_REDUCE,                  /* reduce over arg[0] */
  WS_N_MASK,                    /* mask(arg[0], mem, mem2) */
  WS_N_START,                   /* start(mem): position of the first row of a global tile: i32, uniform */
  WS_N_ROWPOS, WS_N_COLPOS,     /* positions of mem's rows along the rows/columns: i32 */
  WS_N_READ,                    /* read(mem) */
  WS_N_ITER,                    /* the index of a loop variable's block */
  WS_N_AT,                      /* list.at(n): index of the n-th block in order */
  WS_N_NEXT,                    /* next(j, n); prev is n < 0 */
  WS_N_LEN,                     /* number of blocks of a list */
  WS_N_HAS_NEXT, WS_N_IS_FIRST, WS_N_IS_LAST, WS_N_IS_MASKED, /* predicates of a loop variable */
  WS_N_PART,                    /* x.rows(i of n) or x.cols(a..b): a part of a value; part */
  WS_N_INSTANCE, WS_N_RANK,     /* the instance index of shared code; the CTA's rank in the pair */
  WS_N_COORD,                   /* t.batch, t.head ...: where the work tile is; name */
  WS_N_EXTENT,                  /* queries, keys ...: the run-time extent of a dim; name */
  WS_N_QUERY,                   /* a function of the problem about the work tile, such as last_page(t); name */
};

struct ws_part {                /* rows or columns of a register tile */
  bool given, cols;
  int index, of;                /* the index-th of `of` equal parts; of = 0: first..last */
  int first, last;
};

enum ws_fn {
  WS_F_ADD, WS_F_SUB, WS_F_MUL, WS_F_DIV, WS_F_MOD, WS_F_NEG, WS_F_FMA, /* FMA: a*b + c */
  WS_F_MAX, WS_F_MIN, WS_F_ABS, WS_F_EXP2, WS_F_LOG2, WS_F_TANH, WS_F_FLOOR, WS_F_FINITE, WS_F_CAST,
  WS_F_EQ, WS_F_NE, WS_F_LT, WS_F_LE, WS_F_GT, WS_F_GE, WS_F_AND, WS_F_OR, WS_F_NOT, WS_F_SELECT, /* cond, then, else */
  WS_F_ROWMAX, WS_F_ROWSUM, WS_F_ROWPART, WS_F_TOTAL, WS_F_COLMAX, WS_F_COLSUM, WS_F_ANY, WS_F_ALL,
};
const char *ws_fn_name(enum ws_fn f);  /* in dumps: gt */
const char *ws_fn_sign(enum ws_fn f);  /* as it is written: > */

struct ws_node {
  enum ws_node_kind kind;
  enum ws_fn fn;
  struct ws_pos pos;
  int rows, cols;
  enum ws_type type;
  enum ws_layout layout;
  bool partial;
  double value;                 /* CONST */
  int count;                    /* AT, NEXT, HAS_NEXT: n */
  const struct ws_problem_scalar *scalar;
  struct ws_var *var;
  struct ws_iter *iter;         /* ITER, NEXT, predicates; AT and LEN: the list's tile */
  const struct ws_problem_list *list; /* AT, LEN */
  struct ws_node *from;         /* AT, LEN of queries(t, j): j */
  const char *name;             /* COORD, QUERY */
  struct ws_part part;          /* PART */
  struct ws_mem *mem, *mem2;
  struct ws_node **arg;
  int n;
};

struct ws_acts;
struct ws_arm {                 /* an arm of a run-time `if`; cond NULL = else */
  struct ws_node *cond;
  struct ws_acts *body;
};

/* Does a product start its sum from zero? Where paths differ the code has to know which was taken. */
enum ws_start { WS_START_UNKNOWN, WS_ADDS, WS_STARTS, WS_STARTS_BY_PATH };
enum ws_poll { WS_POLL_ALL, WS_POLL_LEADER };
struct ws_options {             /* with ...; 0 = not given */
  int chunk;                    /* read, write: columns an instruction */
  int poly, period, start;      /* exp2 in this assignment: of every `period` columns the last `poly` on the FMA pipe */
  bool pack;                    /* assignment, write: f32 arithmetic on two columns an instruction */
  bool multicast;               /* load: into both CTAs */
  bool descriptors_all;         /* product: descriptors built by all threads, not by the issuer */
  enum ws_poll poll;            /* wait */
  enum ws_fn red;               /* read with two results: ROWMAX; 0 = none */
  const char *l2;               /* load: eviction hint */
};

struct ws_act {                 /* a statement with everything resolved */
  enum ws_stmt_kind kind;
  const struct ws_stmt *src;    /* text and position */
  bool single;                  /* executed by one thread */
  enum ws_mechanism by;         /* LOAD, STORE, REDUCE, PRODUCT, COMMIT, AWAIT */
  struct ws_var *dst;           /* ASSIGN, PRODUCT into registers */
  struct ws_var *dst2;          /* ASSIGN2 */
  struct ws_part dst_part;      /* x.cols(b of n) = ... */
  struct ws_mem *to;            /* LOAD, STORE, REDUCE, WRITE, COPY; PRODUCT into TMEM; ASSIGN `D = 0` in TMEM */
  struct ws_mem *from;          /* LOAD, STORE from memory, REDUCE, COPY; AWAIT of memory; WAIT_EQ, ARRIVE: the counter */
  struct ws_node *value;        /* ASSIGN, WRITE, STORE of registers; WAIT_EQ, WAIT_PHASE, ARRIVE_EXPECT, INIT */
  struct ws_node *a;            /* PRODUCT: A in registers */
  struct ws_mem *a_mem, *b_mem; /* PRODUCT operands in memory */
  bool accumulate;
  enum ws_start start;          /* PRODUCT: `=`, or a `+=` that `D = 0` stands before */
  struct ws_pipelinem *pipe;    /* ACQUIRE, COMMIT, WAIT, RELEASE; LOAD: the ring that it fills */
  struct ws_barrierm *barrier;
  int element;
  struct ws_node *element_at;   /* where it depends on instance or rank; `element` is then that of the first instance */
  struct ws_handle *handle;     /* bound or used */
  struct ws_handle *handle_from;/* ASSIGN: `Qc = Qn`, a second name for a slot */
  struct ws_var *awaited;       /* AWAIT of a register tile */
  struct ws_node *when;
  enum ws_unit unit;            /* COMMIT, RELEASE, ARRIVE: who arrives */
  long bytes;                   /* ACQUIRE by TMA: transaction bytes of the fill, as one CTA's barrier sees them */
  int wait_groups;              /* WAIT of a cp.async ring, AWAIT: N, derived; -1 = nothing is in flight here */
  enum ws_sync_scope sync;
  struct ws_rolem *role;        /* SYNC of a role by name */
  const char *fence;            /* FENCE */
  int ahead;                    /* with ahead=n */
  struct ws_options opt;
  struct ws_iter *iter;         /* FOR */
  bool peel_first, split_masked;
  int unroll;                   /* 0 = not given */
  struct ws_acts *body;         /* FOR, ONE_THREAD */
  struct ws_arm *arms;          /* IF */
  int narms;
};

struct ws_acts {
  struct ws_act *act;
  size_t n, cap;
};

struct ws_programm {
  const struct ws_program *decl;
  struct ws_rolem *role;
  int first, count;             /* instances first .. first + count - 1 run this code */
  struct ws_acts *body;
  struct ws_var **vars;
  size_t nvars, vars_cap;
  struct ws_iter **iters;
  size_t niters, iters_cap;
  struct ws_handle **handles;
  size_t nhandles, handles_cap;
};

struct ws_param_value {
  const char *name;
  struct ws_pos pos;
  struct ws_static value;
  int state;                    /* evaluation: 0 not yet, 1 being evaluated, 2 done */
  const struct ws_param *decl;
  const char *override;         /* from -D */
};

struct ws_schedule {
  struct ws_arena *arena;
  struct ws_diags *diags;
  const struct ws_document *doc;
  const char *name, *target;
  int arch;                     /* 80, 90, 100, 103 */
  const struct ws_problem *problem;
  struct ws_param_value *params;
  size_t nparams;
  int tile_rows;                /* rows of a work tile; 0 = all */
  const char *tile_dim;         /* the dim that it cuts: queries, keys, packed */
  int tile_splits;              /* splits a work tile: 1; 0 = the schedule does not split keys */
  bool pack;                    /* pack: gqa: the rows are the queries of all heads of one kv_head */
  int group;                    /* and these are so many heads: row r of a tile is query r / group of head r % group; 0 = a tile
                                   has one head, or its rows lie along a dim `packed` */
  bool pair;                    /* cluster: pair */
  struct ws_block_step {
    const char *dim;
    int step;
    bool descending;
  } blocks[4];
  int nblocks;
  bool persistent, sort_longest;
  int ctas;                     /* CTAs an SM asked for; 0 = not given */
  bool causal;
  double watchdog;              /* -D watchdog=SECONDS: the longest wait at an mbarrier; 0 = waits have no bound */
  int window;                   /* keys that a row sees, up to the diagonal; 0 = all */
  struct ws_tensor *tensors;
  int ntensors;
  struct ws_rolem *roles;
  int nroles;
  struct ws_bufferm *buffers;
  int nbuffers;
  struct ws_pipelinem *pipelines;
  int npipelines;
  struct ws_barrierm *barriers;
  int nbarriers;
  struct ws_programm *programs;
  int nprograms;
  int threads;                  /* of a CTA */
  long smem_bytes;              /* in all */
  long buffer_bytes;            /* of the buffers alone; mbarriers follow */
  int mbarriers;
  int named;                    /* named barriers in use, the CTA's among them */
  int tmem_cols;                /* columns of the kernel's allocation that are needed: from 0 to the last in use */
  const char *checked;          /* the player's verdict, for the manifest: clean or review; NULL = none to rely on */
};

/* Builds the model of one document. NULL when it has errors (in d). */
struct ws_schedule *ws_schedule_build(const struct ws_document *doc, const struct ws_source *src, const char *target,
                                      const struct ws_define *defines, size_t ndefines, struct ws_arena *a,
                                      struct ws_diags *d);
void ws_schedule_dump(const struct ws_schedule *s, struct ws_buf *out);
void ws_schedule_budget(const struct ws_schedule *s, struct ws_buf *out);

/* Helpers for whoever reads the model. */
const struct ws_block_step *ws_schedule_block(const struct ws_schedule *s, const char *dim);
const struct ws_static *ws_schedule_param(const struct ws_schedule *s, const char *name);
void ws_static_print(const struct ws_static *v, struct ws_buf *o); /* as -D takes it */

/* The value of a node made of numbers, the instance index and the rank, for one instance in one CTA. False for any other node. */
bool ws_known(const struct ws_node *x, int rank, int instance, double *value);
/* Rows (or an element) by instance: `base` plus what `at` says. */
int ws_index_at(int base, const struct ws_node *at, int rank, int instance);

/* Walks the acts that one instance in one CTA can reach, in order: arms that instance or rank rule out are left out. */
struct ws_act;
typedef void ws_reach_fn(void *ctx, struct ws_act *act, int rank, int instance);
void ws_each_reached(struct ws_acts *acts, int rank, int instance, ws_reach_fn *fn, void *ctx);

/* Walks every act of a block in order, nested blocks included. */
typedef void ws_act_fn(void *ctx, struct ws_act *act);
void ws_each_act(struct ws_acts *acts, ws_act_fn *fn, void *ctx);
#endif
