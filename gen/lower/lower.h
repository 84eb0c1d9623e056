/* gen/lower: the only place where a statement meets a target (mma.sync on sm_80, wgmma and TMA on sm_90a).
 *
 *   supported.c  what is refused, all of it before anything is lowered
 *   lower.c    statements in order
 *   kernel.c   the kernel around them: parameters, roles, barriers, manifest facts
 *   ring.c     slots of rings, mbarriers, named barriers;  watchdog.c  waits at mbarriers;  fence.c  fences by hand
 *   tile.c     register tiles: which register holds which element
 *   expr.c     elementwise expressions; eval.h says how;  rising.c  slopes;  half.c  in f16;  pairs.c  in f32x2;  part.c  parts of tiles
 *   rows.c     row reductions, votes, masks, positions
 *   read.c     memory into registers
 *   uniform.c  values that all threads share: indices, lists, conditions
 *   product.c  mma.sync and its fragments;  wgmma.c  products of warpgroups;  descriptor.c  operands in shared memory
 *   tcgen05.c  tensor memory: products of one thread, loads and stores, allocation
 *   packed.c   rows that are queries of several heads
 *   vector.c   vectors in memory
 *   transpose.c  tiles that are read, written or copied transposed
 *   copy.c     global and shared memory by threads;  store.c  registers to global memory;  write.c  to shared memory;  tma.c  by TMA
 *   loop.c     work tiles, lists of blocks, copies of a loop body
 *
 * Code is emitted through templates only. Three texts grow side by side: what a program computes once at its start
 * (lane offsets), what a work tile computes once (pointers, list bounds), and the statements. */
#ifndef WS_LOWER_H
#define WS_LOWER_H
#include "ptx/ptx.h"
#include "schedule/schedule.h"

/* A register tile. Layout acc (mma.sync C fragments, PTX ISA "Matrix Fragments for mma.m16n8k16"): the rows of the tile are
 * split over the warps of the role; thread element e = (mi * nt + ni) * 4 + i is row 16 mi + g + 8 (i / 2), column
 * 8 ni + 2 t + i % 2, with g = lane / 4, t = lane % 4. A tile of 16-bit elements packs pairs: register e / 2. A row vector
 * has one register for each of the 2 mt rows of a thread, equal in the four lanes of a quad; a column vector one for each
 * of its 2 nt columns. Layout a (A fragments) has the register order of a packed acc tile. Layout lane (tensor memory): thread r
 * of the role has all of row r, element e is column e; there mt is 1 and nt the number of columns. */
struct extent {
  int mt, nt;          /* m-tiles of 16 rows, n-tiles of 8 columns; nt = 0: row vector; mt = 0: column vector; both: uniform */
  int n;               /* elements of a thread */
  bool lane;
};
static inline int ws_row_slots(const struct extent *x) { return x->lane ? x->mt : x->mt * 2; }                       /* rows of a thread */
static inline int ws_row_slot(const struct extent *x, int e) { return x->lane ? 0 : e / (x->nt * 4) * 2 + e % 4 / 2; } /* which of them has e */
static inline int ws_column(const struct extent *x, int e) { return x->lane ? e : e / 4 % x->nt * 8 + e % 2; }        /* from the thread's first */
struct tile {
  const char **reg;
  int n;               /* registers */
  int mt, nt;
  bool packed;         /* two 16-bit elements a register */
  bool lane;
};
static inline struct extent ws_tile_extent(const struct tile *t) { return (struct extent){t->mt, t->nt, t->n, t->lane}; }

/* Values that do not change in a loop are computed before it, everywhere = true. Outside of loops they are computed in
 * place, where their registers live no longer than needed, and are forgotten at the end of their block. */
struct lifetime {                  /* first member of what is kept in a struct keep */
  bool everywhere;
};
enum { KEPT = 32 };
struct keep {
  struct lifetime *item[KEPT];
  int n;
};

/* How threads share the 16-byte units of a tile in a copy: thread -> (row, unit), rows a pass, passes. */
struct copy_map {
  struct lifetime life;
  const char *name;
  int unit;                        /* bytes that a thread moves: 16, or one f32 where rows start anywhere */
  int units, whole;                /* of a row: with the padding that is filled with zeros, without */
  int rows_pass, passes, active, rows;
  struct ws_smem_layout layout;
  const char *row, *unit_bytes;    /* registers: row and byte of this thread's unit in pass 0 */
  const char *clip;                /* row, or a row past every end for threads that fill padding */
  const char *idle;                /* predicate of threads without a unit, NULL if none */
  const char *smem[8];             /* shared-memory offset in pass 0, by the XOR that later passes need; see copy.c */
};

/* Lane offsets of one way to read fragments from one layout. */
enum { WS_FRAG_OFFSETS = 16 };
struct frag_map {
  struct lifetime life;
  enum frag_kind { FRAG_A, FRAG_B, FRAG_BT, FRAG_C, FRAG_C32, FRAG_ROWS, FRAG_LANES, FRAG_AT, FRAG_CT, FRAG_C32T } kind; /* C: accumulators of 16 or 32 bits; rows: vectors; lanes: a row a thread; T: transposed */
  struct ws_smem_layout layout;
  int warp_rows;
  int first, n;                    /* transposed: the first of n units */
  const char *offset[WS_FRAG_OFFSETS]; /* by the low bits of the unit; transposed: by unit */
};

struct pointer {                   /* a tensor tile's address for one copy_map, by work tile */
  struct lifetime life;
  const struct ws_tensor *tensor;
  const struct copy_map *map;
  unsigned coords;                 /* dims that an index gives: no part of base */
  const char *base, *pass;         /* thread's address in block 0; bytes from pass to pass */
  const char *block;               /* bytes from block to block: block * passes */
  int passes;
};

enum tri { NO, YES, UNKNOWN };

/* A position that a program keeps in a ring, or the phase of a barrier that it waits for; see ring.c. */
struct ring_pos {
  const struct ws_pipelinem *pipe;
  const struct ws_barrierm *barrier;
  int element;
  const struct ws_node *element_at;
  enum ring_side { RING_FILL, RING_COMMIT, RING_DRAIN, RING_ARRIVE, RING_PHASE } side; /* PHASE: waits with a stated phase */
  const char *name;
  const char *bytes, *first, *last;/* cp.async: byte offset of the slot, a register; of the first and the last one */
  const char *stage, *phase;       /* registers, mbarriers: stage (NULL = there is one) and the parity to wait for */
  const char *told;                /* by `expect`, with stages: the stage that was told last, its address less the place of the first */
};
struct slot {                      /* what a handle stands for: registers, or "" for a static place */
  const char *at, *bar;            /* bytes from %smem; address of its full mbarrier */
};

/* A tensor map that the kernel takes as a parameter: boxes of rows and columns of a tensor. */
struct tma_map {
  const struct ws_tensor *tensor;
  int rows, cols, swizzle;         /* rows of the tile: with `heads`, queries times heads */
  bool groups;                     /* every 8 rows with all their panels (order: rows8): row and column are two dims each */
  int heads, group;                /* packed tiles: the dim of which a box has `group`; heads = -1: a box is of one head */
  int order[WS_MAX_DIMS];          /* of the tensor's dims in the map, outermost first */
  const char *name;                /* of the parameter */
  const char *address;             /* register of program `prog` */
  const struct ws_programm *prog;
};

/* Block numbers of a list for this work tile: it runs over begin .. end - 1, of which clear_begin .. clear_end - 1 need no
 * mask. Registers, or "0". */
struct list_bounds {
  const char *begin, *end, *clear_begin, *clear_end;
};

struct lower {
  struct ws_arena *arena;
  struct ws_schedule *s;
  struct ws_diags *diags;
  struct ws_ptx px;
  struct ws_programm *prog;
  struct ws_buf *start, *tile_start; /* see above */
  struct tile *var;                /* by variable */
  struct slot *handle;             /* by handle */
  struct ring_pos **rings;
  size_t nrings, rings_cap;
  struct fixed {                   /* values that depend on the instance alone */
    const struct ws_node *node;
    const char *reg;
  } *fixed;
  size_t nfixed, fixed_cap;
  const char *l2[2];               /* policies of this program: evict_first, evict_last */
  struct ready *ready;             /* descriptors built ahead; see tcgen05.c */
  size_t nready, ready_cap;
  const char *lane_first;          /* predicate: lane 0; NULL until it is needed */
  struct tma_map **tma_maps;       /* of the whole kernel */
  size_t nmaps, maps_cap;
  struct keep maps, frags, pointers; /* struct copy_map, frag_map, pointer */
  const char **strides;            /* of this program: registers for strides that are numbers */
  size_t nstrides, strides_cap;
  const char **names;              /* used by ws_lower_unique */
  size_t nnames, names_cap;
  const char *tile, *block;        /* registers: the work tile, the block of the innermost loop over a list; NULL outside of them */
  int depth;                       /* loops over blocks around the current statement */
  int votes;                       /* votes around it: rarely taken, so what it needs is computed in place */
  struct iter_state {              /* by loop variable */
    const char *index;             /* register: block number */
    enum tri masked, first;        /* known in this copy of the body */
  } *iter;
  struct list_bounds bounds[8];    /* by list of the problem, once they are known for this tile */
  bool used[4];                    /* problem scalars that the code reads */
  int temp[WS_REG_CLASSES];        /* temporaries of the current statement */
  struct fixed known;              /* the block number that it has computed last; node is NULL before */
  int hoisting;                    /* temporaries come from another name while hoisted code is written */
  bool tmem;                       /* the program touches tensor memory */
  const struct ws_act *act;        /* the statement that is lowered */
  const struct ws_acts *around;    /* the block of statements that it stands in */
  bool one_role;
};

#define OP(L, TMPL, ...) WS_OP(&(L)->px, TMPL, __VA_ARGS__)

/* lower.c */
void ws_lower_acts(struct lower *l, struct ws_acts *acts);
const char *ws_lower_temp(struct lower *l, enum ws_reg_class c);   /* lives to the end of the statement */
const char *ws_lower_int(struct lower *l, long v);
const char *ws_lower_named(struct lower *l, enum ws_reg_class c, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void ws_lower_comment(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Emit into `to` (NULL = in place); returns what to restore. */
struct ws_buf *ws_lower_hoist(struct lower *l, struct ws_buf *to);
void ws_lower_restore(struct lower *l, struct ws_buf *old);
void ws_lower_keep(struct lower *l, struct keep *k, struct lifetime *item, struct ws_pos pos); /* an error when full */
bool ws_lower_in_loop(struct lower *l, const struct ws_tensor *t, const struct ws_bufferm *b); /* is it touched in a loop over blocks? */

void ws_lower_note(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a comment inside a block */
const char *ws_lower_unique(struct lower *l, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a register name not used yet */
void ws_lower_guide(struct lower *l, const char *path);                                       /* guide.c */

/* watchdog.c: waits at mbarriers, with or without a bound in time */
struct bar_ref {                   /* [reg + imm] */
  const char *reg;
  long imm;
};
void ws_lower_wait_at(struct lower *l, const struct ws_act *a, struct bar_ref b, const char *phase);
void ws_lower_role_name(struct lower *l, const struct ws_programm *p); /* a comment that a report looks for */

/* ring.c */
void ws_lower_acquire(struct lower *l, struct ws_act *a);
void ws_lower_commit(struct lower *l, struct ws_act *a);
void ws_lower_wait(struct lower *l, struct ws_act *a);
void ws_lower_release(struct lower *l, struct ws_act *a);
void ws_lower_arrive(struct lower *l, struct ws_act *a);       /* at an mbarrier */
void ws_lower_init(struct lower *l, struct ws_act *a);          /* explicit forms: init, inval */
void ws_lower_wait_phase(struct lower *l, struct ws_act *a);
void ws_lower_expect(struct lower *l, struct ws_act *a);
void ws_lower_counter(struct lower *l, struct ws_act *a);       /* arrive G, wait G == n */
void ws_lower_same_slot(struct lower *l, const struct ws_act *a);
const char *ws_lower_full(struct lower *l, const struct ws_act *a, const char **imm); /* the full mbarrier of the slot that a load fills: [register + *imm] */
const char *ws_barrier_form(struct lower *l, const char *template); /* the template of that name for the target */
const char *ws_lane_first(struct lower *l);                    /* predicate: the first lane of a warp */
void ws_lower_barriers(struct lower *l);                       /* at the start of the kernel */

/* fence.c: `fence KIND` stands in place of the derived fence of that kind of the statement beside it */
enum ws_fence { WS_FENCE_ASYNC, WS_FENCE_BEFORE, WS_FENCE_AFTER, WS_FENCE_WGMMA, WS_FENCE_INIT };
void ws_lower_fence(struct lower *l, const struct ws_act *a);
bool ws_fence_stated(const struct lower *l, enum ws_fence kind);
const char *ws_fence_reason(const struct ws_schedule *s, const struct ws_act *a); /* why the target has none; NULL = it has */

/* tma.c */
void ws_lower_tma_load(struct lower *l, struct ws_act *a);
void ws_lower_tma_store(struct lower *l, struct ws_act *a);
void ws_lower_proxy_fence(struct lower *l, const struct ws_bufferm *b); /* behind what threads wrote to b */

void ws_lower_tensor_fence(struct lower *l, const struct ws_tensor *t); /* behind what threads wrote to t */

/* descriptor.c */
enum { WS_KSTEP = 16 };
struct operand {
  const struct ws_mem *mem;
  bool mn_major;
  const char *low, *high;        /* registers or immediates: descriptor words of step 0 */
};
void ws_describe(struct lower *l, struct operand *o, bool rows);
const char *ws_descriptor(struct lower *l, const struct operand *o, int k, int mi, const char *into); /* of k step k, m-tile mi; NULL: a temporary */
/* Its numbers, without code: bytes from the tile's start to the operand, from step 0 to step k; the words' constant parts. */
long ws_descriptor_start(const struct operand *o);
long ws_descriptor_step(const struct operand *o, int k, int mi);
long ws_descriptor_lead(const struct operand *o);
long ws_descriptor_high(const struct ws_schedule *s, const struct operand *o);

/* Where a slot's bytes lie under the shape that its name gives it: panels are as high as that has rows. */
static inline struct ws_smem_layout ws_mem_layout(const struct ws_mem *m) {
  struct ws_smem_layout l = m->buffer->layout;
  if (m->handle && l.panel_units && !l.group_bytes) l.panel_bytes = (long)m->handle->rows * l.pitch;
  return l;
}

/* tcgen05.c */
void ws_lower_tcgen05_commit(struct lower *l, struct bar_ref b, enum ws_barrier_scope scope);
void ws_lower_tcgen05(struct lower *l, struct ws_act *a);
void ws_lower_descriptors(struct lower *l, struct ws_acts *block); /* those of products with descriptors=all */
unsigned ws_tcgen05_instruction(bool bf16, int m, int n, bool a_mn, bool b_mn); /* instruction descriptor */
void ws_lower_from_zero(struct lower *l, struct ws_act *a);   /* D = 0 in tensor memory */
struct tile ws_lower_read_tmem(struct lower *l, const struct ws_mem *m, const struct tile *into, int chunk);
void ws_lower_read_red(struct lower *l, const struct ws_act *a); /* x, r = read(S) with red=max */
void ws_lower_write_tmem(struct lower *l, const struct ws_mem *m, const struct tile *v, int chunk);
void ws_lower_tmem_alloc(struct lower *l);                    /* at the start of the kernel, and at its end */
void ws_lower_tmem_free(struct lower *l);
void ws_lower_tmem_lanes(struct lower *l);                    /* at the start of a program */
void ws_lower_fence_before(struct lower *l);                  /* in front of an arrival, behind a wait */
void ws_lower_fence_after(struct lower *l);
bool ws_program_uses_tmem(const struct ws_programm *p);
bool ws_reads_tmem(const struct ws_node *x);
bool ws_tmem_even(const struct ws_bufferm *b);                /* are elements and stages evenly spaced? */
long ws_tmem_stage_step(const struct ws_bufferm *b);
long ws_tmem_element_step(const struct ws_bufferm *b);

/* wgmma.c */
void ws_lower_wgmma(struct lower *l, struct ws_act *a);
void ws_lower_await(struct lower *l, struct ws_act *a);

/* tile.c */
struct tile ws_tile_make(struct lower *l, const char *name, int rows, int cols, enum ws_type t, enum ws_layout lay);
struct tile *ws_tile_of(struct lower *l, const struct ws_var *v);
struct extent ws_extent(const struct lower *l, int rows, int cols, enum ws_layout lay);
const char *ws_tile_element(const struct tile *t, int e, const struct extent *of); /* t broadcast to `of`: its element e */
int ws_warp_rows(const struct lower *l, int rows);
enum ws_reg_class ws_reg_class(enum ws_type t);  /* of one element, or of a pair of 16 bits */
struct ws_list ws_register_lines(struct lower *l, const char *const *reg, int n); /* an operand list, sixteen a line */

/* part.c */
struct tile ws_tile_part(struct lower *l, const struct tile *full, int first, int cols);
int ws_part_first(const struct ws_part *p, int extent); /* its first column */
static inline int ws_part_cols(const struct ws_part *p, int extent) { return p->of ? extent / p->of : p->last - p->first + 1; }

/* expr.c */
void ws_lower_assign(struct lower *l, struct ws_acts *acts, size_t index);
struct tile ws_lower_value(struct lower *l, struct ws_node *x);    /* into fresh registers, or a variable's own */
struct tile ws_lower_operand(struct lower *l, struct ws_node *x, const char *name);  /* into registers of that name */
bool ws_is_half_arithmetic(const struct ws_node *x);                /* half.c: is a part of it computed in f16? */
const char *ws_lower_vote(struct lower *l, const struct ws_node *x); /* any, all: a predicate that the warp shares */

/* uniform.c */
const char *ws_uniform_int(struct lower *l, const struct ws_node *x);
const char *ws_block_number(struct lower *l, const struct ws_node *x); /* of a block: once a statement */
const char *ws_uniform_pred(struct lower *l, const struct ws_node *x, bool *negated); /* NULL + *negated: constant */
enum tri ws_uniform_static(struct lower *l, const struct ws_node *x);
const char *ws_tile_start(struct lower *l, const struct ws_mem *m);    /* position of the first row of a global tile */
const char *ws_scalar(struct lower *l, const struct ws_problem_scalar *p);

/* product.c */
void ws_lower_product(struct lower *l, struct ws_act *a);
struct tile ws_lower_read_a(struct lower *l, const struct ws_mem *m, const struct tile *into);
const struct frag_map *ws_frag_map(struct lower *l, enum frag_kind k, const struct ws_bufferm *b, int warp_rows);
void ws_lower_swizzle(struct lower *l, const struct ws_smem_layout *lay, const char *unit, const char *row, const char *low); /* low: a register for the row's bits, `row` itself if it is read no more */
const char *ws_slot_base(struct lower *l, const struct ws_mem *m, long *imm);
const char *ws_frag_address(struct lower *l, const struct frag_map *f, const char *slot, int low); /* offset[low] + slot */

/* packed.c */
bool ws_packed(const struct lower *l, const struct ws_mem *m);       /* are the rows of this tile of a tensor those of several heads? */
const char *ws_packed_row(struct lower *l, const struct ws_mem *m, const char *thread_row); /* a row of a part, counted in the tile */
const char *ws_packed_query(struct lower *l, const char *row, long k); /* the query, counted in the tile, of the row k below `row` */
void ws_packed_address(struct lower *l, const struct ws_mem *m, const char *address, const char *base, const char *row, long k);
const char *ws_packed_rows_left(struct lower *l, const struct ws_mem *m, const char *row); /* rows from this one to the end */
/* transpose.c */
struct ws_turned_a {               /* A operands stored [k, m]: addresses of this lane by m-tile */
  const char *reg[WS_FRAG_OFFSETS];
  long imm, step;                  /* bytes from k step to k step */
  int mt;
};
struct ws_turned_a *ws_turned_a(struct lower *l, const struct ws_mem *m);
void ws_turned_a_load(struct lower *l, const struct ws_turned_a *t, int kt, int mi, const char **a);
void ws_write_turned(struct lower *l, const struct ws_mem *to, const struct tile *v);
struct tile ws_read_turned(struct lower *l, const struct ws_mem *m, const struct tile *into);
void ws_copy_turned(struct lower *l, const struct ws_mem *from, const struct ws_mem *to);
struct tile ws_load_turned(struct lower *l, const struct ws_mem *from, const struct tile *into);
void ws_store_turned(struct lower *l, const struct ws_mem *to, const struct tile *v);

/* vector.c */
void ws_write_vector(struct lower *l, const struct ws_mem *to, const struct tile *v);
struct tile ws_read_vector(struct lower *l, const struct ws_mem *m, const struct tile *into);
struct tile ws_load_vector(struct lower *l, const struct ws_mem *from, const struct tile *into); /* column vectors and tensors */
void ws_store_vector(struct lower *l, const struct ws_mem *to, const struct tile *v, bool add);

/* copy.c */
void ws_lower_load(struct lower *l, struct ws_act *a);
bool ws_constant_bits(double v, enum ws_type t, unsigned *bits); /* filling 32 bits; false: not exact there */
struct l2_hint {                   /* what a load says to the L2 cache: "" twice for nothing */
  const char *form, *policy;
};
struct l2_hint ws_lower_l2(struct lower *l, const struct ws_act *a);
void ws_lower_store(struct lower *l, struct ws_act *a);
void ws_lower_write(struct lower *l, struct ws_act *a);
void ws_lower_copy(struct lower *l, struct ws_act *a);
void ws_lower_reduction(struct lower *l, struct ws_act *a);
const char *ws_lower_extent(struct lower *l, const char *dim);     /* the run-time extent of a dim */
const char *ws_lower_stride(struct lower *l, const struct ws_tensor *t, int k); /* bytes from one index of dim k to the next */
const char *ws_table_address(struct lower *l, const struct ws_mem *m); /* of an element of a table or counter */
const char *ws_outer_index(const char *dim);                       /* the index of the work tile along an outer dim */
struct row_walk {                  /* this thread's row of a tile of a tensor, and those further down */
  const struct ws_mem *mem;
  const char *address;
  const char *pass;                /* bytes to its row in the next pass; NULL: rows are packed, addresses are made from */
  const char *base, *row;          /* the address of the tile's row 0, and this thread's row */
  int rows_pass;
};
void ws_walk_on(struct lower *l, const struct row_walk *w, int k); /* `address` goes on to pass k from the one before */
struct acc_access {                /* how this lane's part of an accumulator lies in a tensor */
  struct row_walk walk;            /* from its first row to its next ones, 8 further */
  const char *rows_left, *cols_left; /* rows and columns from there to the tensor's end; cols_left NULL = all are there */
};
struct smem_acc {                  /* the same in shared memory, elements of f32 */
  const struct frag_map *map;
  const struct ws_mem *mem;
  const char *reg[8];
  long imm;
};
struct smem_acc ws_smem_acc(struct lower *l, const struct ws_mem *m, bool vector);
const char *ws_smem_acc_at(struct lower *l, const struct smem_acc *a, int row, int ni, const char **imm); /* register; immediate in *imm */
struct acc_access ws_acc_access(struct lower *l, const struct ws_mem *m, bool vector);
struct acc_access ws_column_access(struct lower *l, const struct ws_mem *m, int second); /* a column vector along rows: the first of a lane's two elements, or the second; -1: along columns */
struct acc_access ws_turned_access(struct lower *l, const struct ws_mem *m, int warp_rows, int second); /* transposed: first of the lane's two f32 columns, or the second; -1: pairs behind movmatrix */
const char *ws_acc_row(struct lower *l, int warp_rows);            /* first row of this lane in an accumulator */

/* loop.c */
static inline bool ws_sorts_longest(const struct ws_schedule *s) { return (s->arch >= 90 || s->persistent) && s->sort_longest && s->tile_rows && (s->causal || s->window); }
/* Queries of a work tile: its rows, or where these are the queries of several heads a part of them. */
static inline int ws_tile_positions(const struct ws_schedule *s) { return s->group ? s->tile_rows / s->group : s->tile_rows; }
void ws_lower_for(struct lower *l, struct ws_act *a);
/* from: the block that queries(t, j) is seen from, else NULL. */
struct list_bounds ws_list_bounds(struct lower *l, const struct ws_problem_list *list, const struct ws_node *from);
const char *ws_row_origin(struct lower *l);                                     /* first row of the work tile */

/* supported.c */
bool ws_lower_supports(struct ws_schedule *s); /* false after errors: what this lowering does not do */

struct ws_kernel_text;
/* rule.c: errors of the spec's reference, and workspaces that nothing writes. */
bool ws_lower_rule(struct ws_schedule *s);
bool ws_lower_workspaces(struct ws_schedule *const *s, size_t n); /* all kernels of a file */
/* Is there any lowering for the schedule's target? */
bool ws_lower_has_target(const struct ws_schedule *s);
/* Lowers one schedule. NULL after an error. */
struct ws_kernel_text *ws_lower(struct ws_schedule *s, const struct ws_templates *t, const char *spec_path);
#endif
