/* The emulator's events of a generated kernel against what the played schedule declares.
 *
 *     spec --ws_compile--> model --ws_play_declare--> what each warp declares --rules.c--> the events that it stands for \
 *                       \-> PTX --emulator, wsemuSetTrace--> events of each warp --rules.c: without what is derived ------> compare.c
 *
 *   rules.c     the tables: what stands for a declaration, what may stand beside it, what has to
 *   lists.c     how many blocks a list has, counted from the definition of the masks; which CTA has which work tile
 *   subject.c   compiles and plays;  launch.c  launches and collects
 *   compare.c   warp by warp; names what differs with both lines
 *   plant.c     defects planted into the PTX, which have to be found
 *   conform.c   the command line
 *
 * Two witnesses: the emulator knows nothing of schedules, the player nothing of PTX. */
#ifndef CONFORM_H
#define CONFORM_H
#include "compile.h"
#include "wsemu.h"
#include <stdbool.h>
#include <stdio.h>

struct ws_device; /* runtime: launch.c alone; gen/schedule has names of its own for the same things */
struct ws_declaration;
struct ws_problem_list;

enum { MOST_TILES = 8, MOST_WARPS = 32 };

struct event {
  uint32_t kind;                 /* enum wsemu_event_kind */
  unsigned line, ptx;            /* of the spec, of the PTX; 0 = none */
  int threads;                   /* -1: any */
  uint32_t lanes;                /* which they are, in the emulator: of one thread lane 0, the one that the language elects */
  long object, target, count, parity, amount; /* -1: has none */
  int vote;                      /* declared in an arm that data decide: which execution of it */
  bool edge;                     /* at the kernel's entry or exit: no statement stands for it */
  bool partial;                  /* amount is that of all warps of the instance together */
};
struct events {
  struct event *e;
  size_t n, cap;
};
struct trace {                   /* of a CTA, or a pair: by CTA and warp; `bytes`: what asynchronous copies brought to which mbarrier */
  struct events warp[2][MOST_WARPS], bytes;
};

struct shape {
  int64_t b, h, sq, sk;          /* h: heads; where a tile packs all heads that share keys, those of keys */
};

struct subject {                 /* a kernel */
  struct ws_arena arena;
  struct ws_source src;
  struct ws_diags diags;
  struct ws_schedule *s;
  const char *spec;
  int ctas;                      /* of a group: 1, or 2 for a pair */
  int heads;                     /* that share keys and are packed into a tile, or 1 */
  char *text;                    /* of the spec */
  const char *ptx;
  size_t ptx_len;
  long taken, left;              /* arms that data decide: how often the kernel took one, how often not */
};

/* subject.c */
bool subject_open(struct subject *x, const char *path, const struct ws_define *defines, size_t n, const char *target);
void subject_close(struct subject *x);
bool declared(struct subject *x, const struct shape *shape, int group, int ngroups, struct trace *out);

/* launch.c */
struct ws_device *open_emulator(const char *schedule, bool plant); /* plant: without its own checks of races: the trace has to show what is wrong */
void close_emulator(struct ws_device *device);
char *read_whole(const char *path, size_t *len);
/* Launches ptx, which may differ from the subject's own. Traces by group: a CTA or a pair. *fault: what the launch died of, or "". False: said why. */
struct run {
  struct trace *group;
  int ngroups;
  char fault[2048];
};
bool run_kernel(struct ws_device *device, const struct subject *x, const char *ptx, size_t len, const struct shape *shape, struct run *out);
void run_free(struct run *r);
void trace_free(struct trace *t);
void add(struct events *l, const struct event *e);

const char *event_name(uint32_t kind);

/* lists.c */
int tiles_of_group(const struct ws_schedule *s, const struct shape *shape, int group, int ngroups, int64_t tile[MOST_TILES]); /* -1: more than fit */
int blocks_of(const struct ws_schedule *s, const struct shape *shape, const struct ws_problem_list *list, int64_t tile, int block);
int queries_of_tile(const struct ws_schedule *s);
int64_t tile_count(const struct ws_schedule *s, const struct shape *shape);

/* rules.c */
void expand(const struct ws_declaration *d, struct events *out);
bool derived(const struct events *all, size_t i, const char **why_not); /* event i needs no declaration; NULL: it does */
const char *missing_rule(const struct events *all, size_t *from, size_t *to); /* a rule of what has to stand between two events; NULL = all kept */
bool may_be_derived(uint32_t kind);
bool sums(uint32_t kind);        /* events of one statement add up */
void print_rules(void);

/* compare.c */
struct finding {
  char text[1200];
  unsigned line, ptx;            /* the line of the spec, of the PTX, that it names */
  unsigned from;                 /* another line of the spec: of what has to stand between two statements, the first one's */
  unsigned done;                 /* of what the kernel does there */
};
/* Findings into f, at most `most`; how many there are. fault: what the launch died of, so that traces end early, or "". */
int compare(struct subject *x, const struct trace *want, const struct trace *have, const char *fault, struct finding *f, int most);
void describe_event(const struct subject *x, const struct event *e, char *out, size_t n);
bool is_mbarrier(const struct ws_schedule *s, long at);

/* plant.c */
int plant_all(struct ws_device *device, struct subject *x, const struct shape *shape, int every, bool verbose);
#endif
