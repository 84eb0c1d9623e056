/* Waits at mbarriers. With -D watchdog=SECONDS each has a bound in time (%globaltimer, nanoseconds): the first thread of the launch
 * that waits longer says in the tensor `watchdog` where, and traps; all others wait on, so that nothing is written over. Words:
 *
 *   0  0 = nobody; 1 = being written; 2 = complete     1  line of the spec       2  offset of the mbarrier from %smem
 *   3  parity      4  work tile, -1 outside of one     5  block of the innermost list, -1 outside of one
 *   6  CTA         7  thread of the CTA                8  instance of the role
 *
 * A report names roles and mbarriers by comments of the kernel's text: `// role NAME` before each program, and those of the
 * mbarriers' initialisation (gen/cli/watchdog.c). */
#include "lower.h"

static const char *word(const char *reg) { return reg ? reg : "-1"; }

/* Behind the loop: this thread waits too long. */
static void report(struct lower *l, const struct ws_act *a, struct bar_ref b, const char *phase, const char *again) {
  const struct ws_programm *p = l->prog;
  const char *instance = p->count > 1 ? "%instance" : ws_lower_int(l, p->first), *t = ws_lower_temp(l, WS_REG_B32);
  OP(l, "watchdog_claim", t, ws_lower_temp(l, WS_REG_PRED), again);
  const char *words[] = {ws_lower_int(l, a->src->pos.line), NULL, phase, word(l->tile), word(l->block), NULL, NULL, instance};
  OP(l, "watchdog_place", t, b.reg, ws_lower_int(l, b.imm));
  for (int i = 0; i < 8; i++)
    if (words[i]) OP(l, "watchdog_word", ws_lower_int(l, 4L * i + 4), words[i]);
  WS_OP0(&l->px, "watchdog_trap");
}

static void watched(struct lower *l, const struct ws_act *a, struct bar_ref b, const char *phase, const char *p) {
  const char *again = ws_ptx_label(&l->px, "watch"), *loop = ws_ptx_label(&l->px, "wait"), *done = ws_ptx_label(&l->px, "waited");
  const char *limit = ws_lower_int(l, (long)(l->s->watchdog * 1e9));
  OP(l, ws_barrier_form(l, "mbarrier_wait_watched"), again, ws_lower_temp(l, WS_REG_B64), loop, p, b.reg, ws_lower_int(l, b.imm), phase, done, ws_lower_temp(l, WS_REG_B64), limit);
  report(l, a, b, phase, again);
  OP(l, "label", done);
}

static void wait_at(struct lower *l, const struct ws_act *a, struct bar_ref b, const char *phase) {
  const char *p = ws_lower_temp(l, WS_REG_PRED), *imm = ws_lower_int(l, b.imm);
  bool all = a->opt.poll != WS_POLL_LEADER || a->single;
  if (l->s->watchdog > 0) {
    const char *rest = all ? NULL : ws_ptx_label(&l->px, "polled");
    if (rest) OP(l, "branch_unless", ws_lane_first(l), rest);
    watched(l, a, b, phase, p);
    if (rest) OP(l, "label", rest);
    if (rest) WS_OP0(&l->px, "sync_warp");
    return;
  }
  const char *loop = ws_ptx_label(&l->px, "wait");
  if (all)
    OP(l, l->s->pair ? "mbarrier_wait_cluster" : ws_barrier_form(l, "mbarrier_wait"), loop, p, b.reg, imm, phase);
  else
    OP(l, ws_barrier_form(l, "mbarrier_wait_leader"), loop, p, b.reg, imm, phase, ws_ptx_label(&l->px, "polled"), ws_lane_first(l));
}

void ws_lower_wait_at(struct lower *l, const struct ws_act *a, struct bar_ref b, const char *phase) {
  wait_at(l, a, b, phase);
  ws_lower_fence_after(l);
}

void ws_lower_role_name(struct lower *l, const struct ws_programm *p) {
  if (l->s->watchdog <= 0) return;
  if (!p->role->is_array)
    ws_lower_comment(l, "role %s", p->role->name);
  else if (p->count > 1)
    ws_lower_comment(l, "role %s[i]", p->role->name);
  else
    ws_lower_comment(l, "role %s[%d]", p->role->name, p->first);
}
