/* Private to gen/play: what one run consists of. */
#ifndef WS_PLAY_WORLD_H
#define WS_PLAY_WORLD_H
#include "play.h"

/* A clock: by component, the latest time of it that is known to have happened. Components are warps and elected threads, streams of
 * asynchronous operations that complete in order, and the completed phases of barriers. They are numbered as they appear. */
struct clock {
  int *v;
};

enum op_kind { OP_CP_ASYNC, OP_TMA, OP_WGMMA, OP_TCGEN05, OP_BULK };

struct actor {                   /* something with a program counter and a clock: all lanes of a warp, or its elected thread */
  int comp;
  struct clock clock;            /* what every lane knows */
  int *position;                 /* by counter: how often this ring or barrier was acquired, waited for, committed */
  int *slot;                     /* by ring: the slot last waited for */
};

struct op {                      /* an asynchronous operation in flight */
  enum op_kind kind;
  const struct ws_act *act;
  int comp, time, after;         /* after: of its stream, what was complete when it was issued */
  struct clock clock;            /* what is known when it is complete */
  const struct ws_pipelinem *pipe; /* CP_ASYNC: the ring; element */
  int element;
  bool waited, open;             /* CP_ASYNC: waited for; not committed yet */
  struct region *where;          /* BULK, WGMMA: memory that it reads */
  int nwhere;
  struct op *next;
};

struct handle {
  const struct ws_pipelinem *pipe;
  int element, slot, fill;
};

struct frame {
  const struct ws_acts *acts;
  size_t next;
  struct ws_iter *iter;          /* a loop: its variable goes from here to `end` */
  int end;
  bool single;                   /* a one-thread block */
  int vote;                      /* an arm that data decide: which execution, for declare() */
};

enum { MAX_FRAMES = 64 };

struct waiting {                 /* why a warp stands still */
  struct bar *bar;
  struct named *named;
  int phase;
};

struct tag {                     /* rows and columns of a global tile; id 0 = not known, or the same along that axis */
  int id[2], off[2];
};

struct value {                   /* the content of a register tile */
  struct tag tag;
  struct {
    struct ws_part part;
    struct tag tag;
  } part[16];
  int nparts;
};

struct warp {
  struct world *w;
  const struct ws_programm *p;
  const struct ws_rolem *role;
  int cta, instance, index;      /* index: of the warp in its instance */
  struct actor all, lead;        /* lead: of one-thread blocks; a role of one thread has `all` alone */
  struct clock own;              /* what lanes know, each for itself: its own copies, and what the elected thread knows */
  int lane_time;                 /* accesses of this warp up to here are ordered among its lanes */
  struct frame frame[MAX_FRAMES];
  int depth;
  bool single, done, arrived;    /* arrived: at the named barrier that is being waited for */
  int generation;
  int *iter;                     /* by loop variable: position in its list, or index of the work tile */
  struct handle *handle;
  struct value *value;           /* by register tile */
  double *number;                /* by register tile: what a uniform integer holds; NaN = not known */
  struct op **owner;             /* by register tile: the product in flight that owns it */
  struct op *copies, *products, *stores; /* in order of issue: cp.async, wgmma, bulk */
  struct op *tensor;             /* tcgen05 products, latest first */
  struct commit *commits;        /* tcgen05.commit, oldest first */
  struct waiting wait;
  const struct ws_act *at;       /* the statement being executed */
};

struct region {                  /* a rectangle of one tile */
  const void *root;              /* buffer or tensor */
  int cta, element, stage;       /* of global memory: the work tile and the block */
  int r0, r1, c0, c1;
  int fill, phase;               /* of a ring's slot: which fill it is, from 1, and the phase of its barriers; 0 = not known */
};

struct moment {                  /* the loop variables around a statement */
  const struct ws_iter *iter[4];
  int at[4], n;
};

enum access { ACC_READ, ACC_WRITE, ACC_SHARED }; /* SHARED: warps of one statement write it together, in no fixed partition */

struct touch {                   /* an access in the log */
  struct region at;
  enum access kind;
  int comp, time, lanes, group;  /* lanes: how lanes are laid over the bytes, 0 = one lane or a machine; group: of SHARED */
  const struct ws_act *act;
  const struct warp *who;
  struct moment when;
  const struct op *op;
  struct touch *next;
};

struct bar {                     /* an mbarrier */
  const struct ws_pipelinem *pipe;
  const struct ws_barrierm *barrier;
  bool empty;                    /* of a ring: the empty side */
  int cta, element, slot;
  int count, pending, phase, comp; /* phase: how many are complete */
  long bytes;                    /* expected and not arrived */
  struct clock now, last;        /* of the arrivals of this phase; of the phase before, complete */
  int *seen, *seen_at;           /* by actor: the phase last waited for, its time */
  const struct ws_act *init, *inval; /* stated ones, the last of each; when it was, in the time of who did it */
  int init_comp, init_time, fence_time; /* fence: `fence mbarrier_init` behind it, 0 before */
  struct clock used;             /* by actor: when it last used one that is initialised by hand */
};

struct named {                   /* a named barrier */
  const void *key;
  int cta, element, sub, comp;
  int count, got, generation;
  struct clock now, last;
  const struct ws_act *act;
  struct named *next;
};

struct commit {
  struct clock clock;
  struct bar *to[2];
  int n;
  const struct ws_act *act;
  struct commit *next;
};
struct landing {                 /* a TMA copy on its way */
  struct op *op;
  struct bar *to[2];
  int n;
  long bytes;
  const struct warp *who;
  struct landing *next;
};

struct piece {                   /* what a rectangle of a slot holds; row 0 of the tile would be row tag.off of that tile */
  int r0, r1, c0, c1;
  struct tag tag;
  struct piece *next;
  const struct ws_act *foreign; /* what overwrote this part through a buffer that lies over it */
};
struct content {
  const struct ws_bufferm *buffer;
  int cta, element, stage;
  bool viewed;                   /* written as a tile of another shape */
  struct piece *piece;
  struct content *next;
};

struct stream {                  /* operations that complete in order */
  const void *of;
  enum op_kind kind;
  int element, slot, cta, comp;
  const struct ws_act *last;     /* issued the latest one */
  struct stream *next;
};

struct ident {                   /* a dim of a work tile, or a block of it: what rows or columns are */
  const char *dim;
  int tile, block;               /* -1 = none */
};

struct finding {
  enum ws_severity severity;
  struct ws_pos pos;
  const char *code, *text;
  struct finding_note {
    struct ws_pos pos;
    const char *text;
  } note[12];
  int nnotes;
};

enum { MAX_TILES = 8, MAX_FINDINGS = 12 };

struct world {
  const struct ws_schedule *s;
  struct ws_arena *arena;        /* of this run */
  struct findings *found;
  int trips[MAX_TILES], ntiles;
  int mode;                      /* which way votes and masked() go */
  bool issue_order;              /* A1 */
  int *issued;                   /* by component: operations of a stream so far */
  int ctas, dims, cap, nactors;
  struct clock scratch;          /* of knowledge() */
  int *element0, *bar0;          /* by ring and barrier: its first element among all; by side of a ring and barrier: its first mbarrier */
  int elements;
  struct warp *warp;
  int nwarps;
  struct bar **bar;              /* by thing and side, element, slot, CTA; NULL: not used yet */
  int nbars;
  struct named *named;
  struct touch **log;            /* hashed by root, CTA, element, stage */
  struct content *content;
  struct ident *ident;           /* id - 1 of a tag */
  size_t nidents, idents_cap;
  struct stream *stream;
  struct landing *landing, **landing_end;
  const struct ws_play_shape *shape; /* NULL, or who wants to know what is declared */
  int votes;                     /* arms entered that data decide */
  long events;
  bool failed;                   /* an error after which going on makes no sense */
};

struct findings {                /* over all runs of a model */
  struct ws_arena *arena;
  struct finding f[MAX_FINDINGS];
  int n, errors;
  bool votes, masked;            /* the programs ask */
  bool race;
  const char *incomplete[16];
  int nincomplete;
};

/* world.c */
struct world *world_new(const struct ws_schedule *s, struct ws_arena *a, struct findings *f, const int *trips, int ntiles, int mode, bool issue_order);
int new_component(struct world *w);
struct clock new_clock(struct world *w);
void join(const struct world *w, struct clock *a, const struct clock *b);
struct clock copy_clock(struct world *w, const struct clock *a);
struct actor *actor_of(struct warp *p);           /* who executes now */
bool has_lanes(const struct warp *p);
void lanes_meet(struct warp *p);                  /* bar.warp.sync, or more */
struct clock knowledge(struct warp *p, bool all); /* what an arrival of all lanes, or of one, publishes; until the next call */
enum side { SIDE_FULL, SIDE_EMPTY, SIDE_BARRIER };
struct bar *find_bar(struct world *w, const void *thing, enum side side, int element, int slot, int cta);
enum counter { C_ACQUIRE, C_COMMIT, C_WAIT, C_RELEASE, C_PHASE, COUNTERS }; /* PHASE: waits with a stated phase */
int *counter_of(struct warp *p, const struct ws_act *a, int element, enum counter c);

/* barrier.c */
bool after_phase(const struct world *w, const struct clock *c, int comp, int phases, const struct clock *last);
void bar_expect(struct warp *p, struct bar *b, long bytes);
void bar_arrive(struct world *w, const struct warp *p, const struct ws_act *act, struct bar *b, const struct clock *c, int units);
void bar_bytes(struct world *w, struct bar *b, const struct ws_act *act, long bytes, const struct clock *c);
void bar_init(struct warp *p, struct bar *b, int count);
void bar_inval(struct warp *p, struct bar *b);
void bar_fence(struct warp *p);                            /* `fence mbarrier_init` */
void bar_visible(struct warp *p, struct bar *b, const char *who); /* finds a use by the proxy or the peer without that fence */
void bar_usable(struct warp *p, struct bar *b);          /* finds a use before `init` or after `inval` */
bool bar_wait(struct warp *p, struct bar *b, int phase);  /* false: not yet */
bool named_barrier(struct warp *p, const void *key, int element, int sub, int count, bool wait);

/* value.c */
int list_length(const struct warp *p, const struct ws_problem_list *l, const struct ws_iter *tile, const struct ws_node *from);
bool evaluate(struct warp *p, const struct ws_node *x, double *v);
bool holds(struct warp *p, const struct ws_node *cond); /* of an `if` or `when` */

/* memory.c */
struct region region_of(struct warp *p, const struct ws_mem *m, int cta);
struct region part_of(const struct warp *p, const struct ws_mem *m, struct region r, enum ws_layout layout);
int lanes_of(const struct ws_node *x, bool writes);
void touch(struct warp *p, const struct op *op, const struct region *r, enum access kind, int lanes, int group);
bool meets(const struct region *a, const struct region *b);

/* step.c, sync.c, move.c, content.c */
bool step(struct warp *p);                        /* false: blocked */
bool synchronise(struct warp *p, const struct ws_act *a);
void move(struct warp *p, const struct ws_act *a);
void reads_of(struct warp *p, const struct ws_node *x);
struct op *new_op(struct warp *p, enum op_kind kind, int comp);
int stream_of(struct warp *p, enum op_kind kind, int element, int slot);
enum { LANES_ANY = 126, LANES_FRAGMENT = 127 }; /* any lane may touch any byte; ldmatrix */
int execution_of(const struct warp *p);           /* the same for the warps of an instance that execute a statement together */
bool complete_up_to(struct warp *p, struct op **list, struct op *last);
struct clock issue_clock(struct warp *p);
int targets(const struct warp *p, enum ws_barrier_scope scope, int *cta);
int stage_of(const struct warp *p, const struct ws_mem *m);
void program_end(struct warp *p);
void flow(struct warp *p, const struct ws_act *a);

/* declare.c: does nothing where nobody listens */
void declare(struct warp *p, struct ws_declaration e);
void declare_bar(struct warp *p, enum ws_declared kind, const struct bar *b, int phase, long count, long bytes); /* phase: of WAIT; else nonzero = again */
void declare_handed(struct warp *p, const struct ws_bufferm *b); /* behind a write of threads to b */
void run_world(struct world *w);        /* play.c */
void emit_findings(const struct findings *f, struct ws_diags *d);

/* report.c */
const char *warp_name(const struct warp *p);
const char *role_name(const struct warp *p);
const char *bar_name(struct world *w, const struct bar *b);
const char *mem_name(struct world *w, const struct region *r);
const char *where(const struct warp *p);          /* the trip counts and the loop variables */
struct moment moment_of(const struct warp *p);
const char *moment_name(struct world *w, const struct moment *m);
struct finding *report(struct world *w, struct ws_pos pos, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void note(struct world *w, struct finding *f, struct ws_pos pos, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void incomplete(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_race(struct warp *p, const struct touch *old, enum access kind, const struct op *op, const struct region *r);
void report_deadlock(struct world *w);

/* remedy.c */
void remedy(struct warp *p, struct finding *f, const struct touch *old, enum access kind, const struct op *op, const struct region *r);
const struct ws_act *arrival_of(const struct warp *p, const struct bar *b); /* a statement of its program that arrives there, or NULL */
const struct ws_act *wait_of(const struct warp *p, const struct bar *b);    /* that waits there */
#endif
