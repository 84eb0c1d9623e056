/* An oracle for gen/play: every interleaving of a small schedule, one by one. It shares nothing with the player but the model.
 *
 *   unroll.c   model -> events: what each agent does, in a straight line, for given trip counts
 *   machine.c  what one event does; what is wrong with a state: deadlocks, races, phases
 *   explore.c  all orders of the events
 *   freeze.c   the same answers from the structure of these orders, for schedules with too many states; held against explore.c
 *   tour.c     trip counts and sequences of tiles
 *   promela.c  the same events as a Promela model, for SPIN
 *
 * An agent is a group of threads of one role instance that run in lockstep: all of them, or, in the one instance that a run splits,
 * the elected lane, the other lanes of its warp, the other warps. So whatever two threads of an instance can do to each other
 * is seen, and the state space stays small. Machine operations (TMA copies, tcgen05 commits) complete at any time after issue.
 *
 * Between two events an agent does accesses only: a segment. No access needs a state of its own: where two segments are current
 * together, their accesses are unordered, and where accesses are unordered, some interleaving has both segments current. An
 * asynchronous access is open from its segment to where something says that it is complete.
 *
 * Assumes A1 (tcgen05 operations of one thread run in order). Does not follow contents, and knows no explicit phases. */
#ifndef EXPLORE_H
#define EXPLORE_H
#include "schedule/schedule.h"

enum { MAX_AGENTS = 40, MAX_TRIPS = 8, FOREVER = 1 << 30 };

/* What is wrong with a schedule. */
enum trouble { T_NONE, T_DEADLOCK, T_RACE, T_ALIAS, T_DRIFT, T_COUNT, T_IN_FLIGHT, T_GROUPS, T_RING, T_OWNED, T_COMMIT, T_UNKNOWN, T_TOO_LARGE, TROUBLES };
const char *trouble_name(enum trouble t);

struct barrier {                 /* an mbarrier or a named barrier */
  const void *thing;             /* ring, barrier, role, schedule; the agent itself where its lanes meet */
  int side, element, slot, cta;
  bool named;
  int count;
};

enum event_kind { EV_ARRIVE, EV_WAIT, EV_WAIT_OWN }; /* WAIT_OWN: for the phase of the arrival before it */
struct event {
  enum event_kind kind;
  int barrier, phase, units;     /* phase: of WAIT; -1 has always passed */
  long bytes;                    /* of ARRIVE: expected, too */
  const struct ws_act *act;
};

enum lanes { LANES_ALL, LANES_LEADER, LANES_OTHERS };
struct agent {
  const struct ws_programm *p;
  const struct ws_rolem *role;
  int cta, instance, first, end; /* warps first .. end - 1 of the instance */
  enum lanes lanes;
  struct event *event;
  size_t n, cap;
};

struct place {                   /* a rectangle of a tile */
  const void *root;
  int cta, element, stage, r0, r1, c0, c1;
};
enum access_kind { AC_READ, AC_WRITE, AC_TOGETHER }; /* TOGETHER: all threads of a statement write a tile, in no fixed partition */
struct access {
  int agent, segment, last;      /* open in segments segment .. last of the agent; */
  int closer;                    /* or, >= 0, until this operation is complete */
  int order, close;              /* positions in the agent's program: of the access, of what completes it */
  bool async;
  enum access_kind kind;
  int owner, group;              /* which lane has which byte; the execution, of TOGETHER */
  struct place at;
  const struct ws_act *act;
};

struct operation {               /* completes on its own; then arrives */
  int agent, segment, before;    /* before: an operation that completes earlier; -1 = none */
  int barrier[2], n, units;
  long bytes;
  bool covers;                   /* a commit: products that no commit before it covers */
  const struct ws_act *act;
};

struct system {                  /* a schedule, unrolled */
  const struct ws_schedule *s;
  struct ws_arena *arena;
  int trips[MAX_TRIPS], ntiles, mode;
  struct agent agent[MAX_AGENTS];
  int nagents;
  struct barrier *barrier;
  size_t nbarriers, barriers_cap;
  struct access *access;
  size_t naccesses, accesses_cap;
  struct operation *op;
  size_t nops, ops_cap;
  bool branches;                 /* votes or masked(): mode matters */
  enum trouble trouble;          /* found while unrolling */
  const struct ws_act *at;
  const char *unknown;           /* what the oracle does not model */
};

/* The agents of s for these trip counts. split: the role instance (all programs and CTAs counted) whose threads are told apart; -1 = none. */
void unroll(struct system *x, const struct ws_schedule *s, struct ws_arena *a, const int *trips, int ntiles, int mode, int split);
int instances(const struct ws_schedule *s);
bool conflict(const struct system *x, const struct access *a, const struct access *b);

struct outcome {
  enum trouble trouble;
  const struct ws_act *a, *b;    /* where */
  long states;
  bool frozen;                   /* decided by freeze(), here or there */
};
struct limits {
  long states;
  bool frozen, then_frozen;      /* freeze() in the place of explore(); where explore() finds too many states */
  bool sequences;                /* several work tiles also where the launch is single */
  bool deadlock_only;            /* arrivals count for the phase they find, as in hardware; nothing else is reported */
};
struct outcome explore(const struct system *x, const struct limits *l); /* all states */
struct outcome freeze(const struct system *x, const struct limits *l);  /* the same, from few of them */

/* A schedule for all small trip counts and splits: tour.c. Stops at the first trouble. */
struct outcome explore_all(const struct ws_schedule *s, const struct limits *l);

void promela(const struct system *x, struct ws_buf *out);
#endif
