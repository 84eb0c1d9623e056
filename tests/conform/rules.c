/* What the lowering may derive. A statement declares one thing; the kernel does it with the events of the first table, in this order.
 * What a kernel does beyond that needs a row in the second table, and the third says what must not be left out. Nothing here is about
 * a particular schedule. */
#include "conform.h"
#include "play/play.h"
#include <string.h>

#define E(id) (1u + WSEMU_##id)

/* --- 1. what stands for a declaration --- */
static const struct stands {
  const char *name;
  unsigned kind[3];              /* E(..), 0 ends it */
  int main;                      /* which of them has the object, count and amount */
  const char *why;
} stands[WS_DECLARED] = {
    [WS_D_INIT] = {"init", {E(MBAR_INIT)}, 0, "entry: one thread sets up every mbarrier"},
    [WS_D_WAIT] = {"wait", {E(MBAR_WAIT)}, 0, "acquire, wait: try_wait.parity until it passes"},
    [WS_D_ARRIVE] = {"arrive", {E(MBAR_ARRIVE)}, 0, "arrive, commit, release, acquire by TMA: the threads of a warp together"},
    [WS_D_COMMIT] = {"commit", {E(TENSOR_COMMIT)}, 0, "commit, release by the thread of products: tcgen05.commit, one event for each CTA"},
    [WS_D_MEET] = {"sync", {E(BARRIER_SYNC)}, 0, "sync; the CTA's barrier at entry and exit"},
    [WS_D_PASS] = {"arrive", {E(BARRIER_ARRIVE)}, 0, "arrive at a named barrier"},
    [WS_D_MEET_WARP] = {"sync warp", {E(WARP_SYNC)}, 0, "sync warp, sync of a role of one warp"},
    [WS_D_MEET_CLUSTER] = {"sync cluster", {E(CLUSTER_ARRIVE), E(CLUSTER_WAIT)}, 0, "a pair's entry and exit"},
    [WS_D_COPY] = {"load", {E(COPY)}, 0, "cp.async in units of 16 bytes, spread over the warps of the instance: their sum counts"},
    [WS_D_COPY_COMMIT] = {"commit", {E(COPY_COMMIT)}, 0, ""},
    [WS_D_COPY_WAIT] = {"wait", {E(COPY_WAIT)}, 0, "N is derived by the model"},
    [WS_D_LOAD] = {"load", {E(BULK_LOAD)}, 0, "TMA: a box for each panel and 256 rows; they add up"},
    [WS_D_STORE] = {"store", {E(BULK_STORE), E(BULK_COMMIT)}, 0, "boxes add up; one group a statement"},
    [WS_D_STORE_WAIT] = {"await", {E(BULK_WAIT_READ)}, 0, "N is derived by the model"},
    [WS_D_WGMMA] = {"product", {E(WGMMA_FENCE), E(WGMMA), E(WGMMA_COMMIT)}, 1, "k steps add up; one group a statement, behind a fence for its registers"},
    [WS_D_WGMMA_WAIT] = {"await", {E(WGMMA_WAIT)}, 0, "N is derived by the model"},
    [WS_D_PRODUCT] = {"product", {E(TENSOR_MMA)}, 0, "k steps add up"},
    [WS_D_READ] = {"read", {E(TENSOR_LD), E(TENSOR_WAIT_LD)}, 0, "chunks add up; wait::ld behind them"},
    [WS_D_WRITE] = {"write", {E(TENSOR_ST), E(TENSOR_WAIT_ST)}, 0, "chunks add up; wait::st behind them"},
    [WS_D_HAND] = {"write, copy", {E(PROXY_FENCE)}, 0, "behind each statement by which threads write what TMA, wgmma or tcgen05 reads"},
    [WS_D_REGISTERS] = {"registers", {E(REGISTERS)}, 0, "entry of a role whose registers differ from the launch's"},
    [WS_D_ALLOC] = {"tensor memory", {E(TENSOR_ALLOC), E(TENSOR_RELINQUISH)}, 0, "entry: the first warp, a power of two of at least 32 columns"},
    [WS_D_FREE] = {"tensor memory", {E(TENSOR_FREE)}, 0, "exit: the same warp"},
};

/* --- 2. what may stand without a declaration --- */
static const struct free_rule {
  unsigned kind;
  enum place {
    BEFORE_ARRIVAL,              /* the warp's next event that is not derived arrives somewhere or ends the kernel */
    BEHIND_WAIT,                 /* the one before waited for something */
  } place;
  const char *why;
} free_rules[] = {
    {E(TENSOR_BEFORE), BEFORE_ARRIVAL, "fence::before_thread_sync in front of what others wait for"},
    {E(TENSOR_AFTER), BEHIND_WAIT, "fence::after_thread_sync behind every wait"},
};

/* --- 3. what has to stand between --- */
static const unsigned arrivals[] = {E(MBAR_ARRIVE), E(BARRIER_SYNC), E(BARRIER_ARRIVE), E(CLUSTER_ARRIVE), 0};
static const unsigned waits[] = {E(MBAR_WAIT), E(BARRIER_SYNC), E(CLUSTER_WAIT), 0};
static const unsigned accesses[] = {E(TENSOR_LD), E(TENSOR_ST), 0};
static const unsigned uses[] = {E(TENSOR_MMA), E(TENSOR_LD), E(TENSOR_ST), 0};
static const struct need_rule {
  const unsigned *from, *to;     /* of one warp, the next of `to` behind one of `from` */
  unsigned need;
  const char *why;
} need_rules[] = {
    {accesses, arrivals, E(TENSOR_BEFORE), "tcgen05.fence::before_thread_sync has to stand between an access to tensor memory and an arrival"},
    {waits, uses, E(TENSOR_AFTER), "tcgen05.fence::after_thread_sync has to stand between a wait and a use of tensor memory"},
};

bool sums(uint32_t kind) {
  return kind == WSEMU_COPY || kind == WSEMU_BULK_LOAD || kind == WSEMU_BULK_STORE || kind == WSEMU_WGMMA || kind == WSEMU_TENSOR_MMA || kind == WSEMU_TENSOR_LD ||
         kind == WSEMU_TENSOR_ST;
}

static long place_of(const struct ws_declaration *d) {
  if (d->pipe) return (d->empty ? d->pipe->empty_at : d->pipe->full_at) + 8L * (d->element * d->pipe->buffer->stages + d->slot);
  if (d->barrier && !d->barrier->named) return d->barrier->at + 8L * (d->element * (d->barrier->stages > 0 ? d->barrier->stages : 1) + d->slot);
  return d->kind == WS_D_MEET || d->kind == WS_D_PASS ? d->id : -1;
}

static long count_of(const struct ws_declaration *d) {
  long n = 32;
  switch (d->kind) {
  case WS_D_ALLOC: case WS_D_FREE:
    while (n < d->count) n *= 2;
    return n;
  case WS_D_INIT: case WS_D_ARRIVE: case WS_D_MEET: case WS_D_PASS: case WS_D_COPY_WAIT: case WS_D_STORE_WAIT: case WS_D_WGMMA_WAIT: case WS_D_REGISTERS:
    return d->count;
  default: return -1;
  }
}

static bool by_leader(const struct ws_declaration *d) { return d->act && !d->act->single && d->role && !d->role->one_thread && d->threads == 1; }

void expand(const struct ws_declaration *d, struct events *out) {
  const struct stands *r = &stands[d->kind];
  struct event gather = {.kind = WSEMU_WARP_SYNC, .line = d->act ? d->act->src->pos.line : 0, .threads = 32, .object = -1, .target = -1, .count = -1, .parity = -1, .vote = d->vote};
  /* one lane for a warp: the warp meets before its lane arrives (`unit: warp`), and behind a wait that its lane polls (`poll=leader`) */
  if (d->kind == WS_D_ARRIVE && !d->again && by_leader(d) && d->act->unit == WS_UNIT_WARP) add(out, &gather);
  for (int i = 0; i < 3 && r->kind[i]; i++) {
    bool one = d->threads == 1;
    struct event e = {.kind = r->kind[i] - 1, .line = gather.line, .threads = one ? 1 : 32, .object = -1, .target = -1, .count = -1, .parity = -1, .vote = d->vote, .edge = !d->act};
    if (i == r->main) {
      e.object = place_of(d), e.count = count_of(d), e.amount = d->bytes;
      if (d->pipe || (d->barrier && !d->barrier->named)) e.target = d->at_cta;
      if (d->kind == WS_D_WAIT) e.parity = d->phase & 1;
      e.partial = d->kind == WS_D_COPY;
    }
    if (e.kind == WSEMU_COPY) e.threads = -1; /* the last copies of a tile may leave lanes over */
    add(out, &e);
  }
  if (d->kind == WS_D_WAIT && by_leader(d)) add(out, &gather);
}

static bool one_of(uint32_t kind, const unsigned *list) {
  for (; *list; list++)
    if (*list == kind + 1) return true;
  return false;
}

static const struct free_rule *rule_of(uint32_t kind) {
  for (size_t i = 0; i < sizeof free_rules / sizeof *free_rules; i++)
    if (free_rules[i].kind == kind + 1) return &free_rules[i];
  return NULL;
}

bool may_be_derived(uint32_t kind) { return rule_of(kind); }

static bool in_place(const struct events *all, size_t i, enum place place) {
  size_t k = i;
  switch (place) {
  case BEFORE_ARRIVAL:
    while (k < all->n && (rule_of(all->e[k].kind) || all->e[k].kind == WSEMU_WARP_SYNC)) k++;
    return k == all->n || one_of(all->e[k].kind, arrivals) || all->e[k].kind == WSEMU_TENSOR_COMMIT || (k > i && all->e[k - 1].kind == WSEMU_WARP_SYNC);
  case BEHIND_WAIT:
    while (k > 0 && (rule_of(all->e[k].kind) || all->e[k].kind == WSEMU_WARP_SYNC)) k--;
    return one_of(all->e[k].kind, waits) || (k < i && all->e[k + 1].kind == WSEMU_WARP_SYNC) || all->e[k].kind == WSEMU_COPY_WAIT;
  }
  return false;
}

bool derived(const struct events *all, size_t i, const char **why_not) {
  const struct free_rule *r = rule_of(all->e[i].kind);
  *why_not = NULL;
  if (!r) return false;
  if (!in_place(all, i, r->place)) *why_not = r->why;
  return true;
}

const char *missing_rule(const struct events *all, size_t *from, size_t *to) {
  for (size_t r = 0; r < sizeof need_rules / sizeof *need_rules; r++) {
    const struct need_rule *n = &need_rules[r];
    bool open = false;
    for (size_t i = 0; i < all->n; i++) {
      uint32_t k = all->e[i].kind;
      if (k + 1 == n->need) open = false;
      if (open && one_of(k, n->to)) return *to = i, n->why;
      if (one_of(k, n->from)) open = true, *from = i;
    }
  }
  return NULL;
}

void print_rules(void) {
  printf("what stands for a declaration\n");
  for (int i = 0; i < WS_DECLARED; i++) {
    printf("  %-14s", stands[i].name);
    for (int k = 0; k < 3 && stands[i].kind[k]; k++) printf("%s%s", k ? ", " : "", event_name(stands[i].kind[k] - 1));
    printf("%s%s\n", *stands[i].why ? ": " : "", stands[i].why);
  }
  printf("  one lane for a warp: warp.sync before its arrival and behind its wait\nwhat may stand without one\n");
  for (size_t i = 0; i < sizeof free_rules / sizeof *free_rules; i++) printf("  %s: %s\n", event_name(free_rules[i].kind - 1), free_rules[i].why);
  printf("what has to stand\n");
  for (size_t i = 0; i < sizeof need_rules / sizeof *need_rules; i++) printf("  %s\n", need_rules[i].why);
}
