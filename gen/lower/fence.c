/* Fences by hand. A fence that the schedule states is written where it stands, and the derived one of its kind is not:
 *
 *   tcgen05.before, wgmma    in front of an arrival or `sync`, of a product: that of the statement behind it
 *   tcgen05.after            behind a wait: that of the statement before it
 *   proxy.async              behind writes and copies: theirs, up to the statement that hands them over
 *   mbarrier_init            behind `init`, which has none */
#include "lower.h"
#include <string.h>

static const struct {
  const char *word, *template;
  int first, last;               /* targets that have it */
  const char *why;
} fences[] = {
    [WS_FENCE_ASYNC] = {"proxy.async", "fence_async", 90, 999, "the async proxy exists from sm_90 on"},
    [WS_FENCE_BEFORE] = {"tcgen05.before", "tcgen05_before", 100, 999, "tensor memory exists from sm_100a on"},
    [WS_FENCE_AFTER] = {"tcgen05.after", "tcgen05_after", 100, 999, "tensor memory exists from sm_100a on"},
    [WS_FENCE_WGMMA] = {"wgmma", "wgmma_fence", 90, 90, "wgmma exists on sm_90a alone"},
    [WS_FENCE_INIT] = {"mbarrier_init", "mbarrier_init_fence", 90, 999, "it is for the async proxy and for other CTAs, which reach mbarriers from sm_90 on"},
};

static int kind_of(const struct ws_act *a) {
  int k = 0;
  while (strcmp(fences[k].word, a->fence)) k++;
  return k;
}

const char *ws_fence_reason(const struct ws_schedule *s, const struct ws_act *a) {
  int k = kind_of(a);
  return s->arch < fences[k].first || s->arch > fences[k].last ? ws_fmt(s->arena, "`fence %s`: %s", fences[k].word, fences[k].why) : NULL;
}

void ws_lower_fence(struct lower *l, const struct ws_act *a) { WS_OP0(&l->px, fences[kind_of(a)].template); }

static bool hands_over(const struct ws_act *a) {
  switch (a->kind) {
  case WS_S_WRITE: case WS_S_COPY: case WS_S_ASSIGN: case WS_S_FENCE: return false;
  default: return true;
  }
}

bool ws_fence_stated(const struct lower *l, enum ws_fence kind) {
  const struct ws_acts *b = l->around;
  size_t at = (size_t)(l->act - b->act);
  if (kind == WS_FENCE_BEFORE || kind == WS_FENCE_WGMMA) {
    for (; at && b->act[at - 1].kind == WS_S_FENCE; at--)
      if (kind_of(&b->act[at - 1]) == (int)kind) return true;
    return false;
  }
  for (size_t i = at + 1; i < b->n; i++) {
    if (b->act[i].kind == WS_S_FENCE && kind_of(&b->act[i]) == (int)kind) return true;
    if (kind == WS_FENCE_ASYNC ? hands_over(&b->act[i]) : b->act[i].kind != WS_S_FENCE) return false;
  }
  return false;
}
