/* States of a system and the steps between them: shared by the two ways to visit them. */
#ifndef MACHINE_H
#define MACHINE_H
#include "explore.h"

/* A state, in 16-bit words: where each agent stands; the phase of its last arrival, where it waits for that; each barrier; which operations
 * are complete. */
struct bar_state {
  int16_t phase, pending, low, high; /* low, high: bytes expected and not arrived */
};

struct clash {                   /* where an agent enters a segment: an access that must not be open then */
  const struct access *mine, *other;
  struct clash *next;
};

struct machine {
  const struct system *x;
  bool deadlock_only;
  size_t size;                   /* words of a state */
  struct clash ***clash;         /* by agent and segment */
  int **counted, *op_counted;    /* by agent and event; by operation and target: in which phase it counted; -1 = not yet */
  int *last_wait;                /* by barrier: the last phase that anybody waits for */
  struct outcome out;
};

void machine_new(struct machine *m, const struct system *x, const struct limits *l);
void machine_start(const struct machine *m, int16_t *s);
int16_t *position(int16_t *s);
struct bar_state *bar_of(const struct machine *m, int16_t *s, int i);
bool is_done(const struct machine *m, int16_t *s, int op);
void machine_found(struct machine *m, enum trouble t, const struct ws_act *a, const struct ws_act *b);
void machine_enter(struct machine *m, int16_t *s, int agent);            /* the segment where it stands: races */
bool machine_passes(struct machine *m, int16_t *s, int agent, const struct event *e);
bool machine_step(struct machine *m, int16_t *s, int agent);             /* false: it cannot */
bool machine_complete(struct machine *m, int16_t *s, int op);
void machine_stuck(struct machine *m, int16_t *s);                       /* nobody can go on: have all programs ended? */
#endif
