/* Registers of wgmma and tcgen05.ld in flight (hazard.h). */
#include "hazard.h"
#include "warpgroup.h"
#include "../src/cuda_abi.h"
#include <stdlib.h>
#include <string.h>

enum { UNIT = 6 }; /* a register starts at a multiple of 64 bytes of the file */
enum { FREE, IN_D, IN_A, IN_LD };
struct reg_state {
  uint32_t used_by, group; /* the instruction in flight, its group */
  uint32_t touched_by, epoch; /* the last other access, and after how many fences */
  uint8_t in;
};
struct flight {
  uint32_t epoch;          /* wgmma.fences so far */
  bool any;                /* some register is in flight */
  struct reg_state r[];
};

/* ---- when the kernel is decoded ---- */
static uint32_t registers_of(const struct inst *in) { /* of D and A, in in->x */
  struct wg_form f = ws_emu_wg_form(in);
  return f.regs + (f.flags & WG_A_REGISTERS ? 4u : 0);
}
/* tcgen05.ld and .ld.red: in->n registers and, when it reduces, o[0]. */
static bool is_load(const struct kernel *k, size_t i) { return k->src[i].row->family == FAM_TENSOR && !strncmp(k->src[i].row->operands, "=b{D}", 5); }
static bool is_mma(const struct kernel *k, size_t i) { return k->src[i].row->family == FAM_WGMMA && *k->src[i].row->operands == '='; }

void ws_emu_mark_wgmma(struct kernel *k, const uint32_t (*uses)[2], size_t nuses) {
  bool any = false;
  uint8_t *is_wg = ws_emu_alloc(&k->pool, (k->reg_bytes >> UNIT) + 1);
  memset(is_wg, 0, (k->reg_bytes >> UNIT) + 1);
  for (size_t i = 0; i < k->n; i++) {
    k->is_async |= (k->src[i].row->effects & (E_ASYNC | E_PROXY)) != 0;
    if (is_load(k, i)) {
      any = true;
      for (uint32_t r = 0; r < k->code[i].n; r++) is_wg[k->code[i].x[r] >> UNIT] = 1;
      if (k->code[i].w) is_wg[k->code[i].o[0] >> UNIT] = 1;
    }
    if (!is_mma(k, i)) continue;
    any = true;
    for (uint32_t r = 0; r < registers_of(&k->code[i]); r++) is_wg[k->code[i].x[r] >> UNIT] = 1;
  }
  if (!any) return;
  k->touch_at = WS_EMU_NEW_N(&k->pool, uint32_t, k->n + 1);
  k->touches = WS_EMU_NEW_N(&k->pool, uint32_t, nuses + 1);
  uint32_t n = 0;
  size_t at = 0;
  for (size_t i = 0; i < k->n; i++) {
    k->touch_at[i] = n;
    for (; at < nuses && uses[at][0] <= i; at++)
      if (is_wg[uses[at][1] >> 1 >> UNIT] && k->src[i].row->family != FAM_WGMMA && !(uses[at][1] >> 1 & 63)) k->touches[n++] = uses[at][1];
    if (n > k->touch_at[i]) k->code[i].flags |= F_WGMMA;
  }
  k->touch_at[k->n] = n;
}

/* ---- when it runs ---- */
static struct flight *flight_of(struct warp *w) {
  if (!w->flight) w->flight = calloc(1, sizeof *w->flight + ((w->cta->k->reg_bytes >> UNIT) + 1) * sizeof *w->flight->r);
  return w->flight;
}
static int hazard(struct warp *w, const struct inst *in, uint32_t other, const char *what, const char *other_is) {
  char where[600];
  ws_emu_where(w->cta->k, &w->cta->k->code[other], where, sizeof where);
  return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "%s %s, %s", what, other_is, where);
}
static int no_memory(struct warp *w, const struct inst *in) {
  return ws_emu_fault(w, in, __builtin_ctz(w->mask), WS_CUDA_ERROR_OUT_OF_MEMORY, "has no host memory left for its registers in flight");
}

int ws_emu_wg_touch(struct warp *w, const struct inst *in) {
  const struct kernel *k = w->cta->k;
  struct flight *f = flight_of(w);
  uint32_t pc = (uint32_t)(in - k->code);
  if (!f) return no_memory(w, in);
  for (uint32_t i = k->touch_at[pc]; i < k->touch_at[pc + 1]; i++) {
    struct reg_state *r = &f->r[k->touches[i] >> 1 >> UNIT];
    bool written = k->touches[i] & 1;
    if (r->in == IN_D) return hazard(w, in, r->used_by, written ? "writes" : "reads", "an accumulator that no wgmma.wait_group has waited for");
    if (r->in == IN_LD && !w->cta->grid->l->options.no_race)
      return hazard(w, in, r->used_by, written ? "writes" : "reads", "a register of a load that no tcgen05.wait::ld has waited for");
    if (r->in == IN_A && written) return hazard(w, in, r->used_by, "writes", "a register of A that no wgmma.wait_group has waited for");
    r->touched_by = pc;
    r->epoch = f->epoch + 1;
  }
  return EV_NEXT;
}

static int unfenced(struct warp *w, const struct inst *in, const struct flight *f, const struct reg_state *r) {
  if (!f->epoch)
    return ws_emu_fault(w, in, 0, WS_CUDA_ERROR_ILLEGAL_INSTRUCTION, "executes this without a wgmma.fence before the first one");
  if (r->epoch != f->epoch + 1) return EV_NEXT;
  return hazard(w, in, r->touched_by, "uses a register without a wgmma.fence", "since its last access");
}

/* The same accumulators as the operation in flight: the hardware keeps their order. */
static bool same_accumulators(const struct kernel *k, const struct inst *in, const struct reg_state *first) {
  const struct inst *other = &k->code[first->used_by];
  struct wg_form a = ws_emu_wg_form(in), b = ws_emu_wg_form(other);
  return first->in == IN_D && a.regs == b.regs && a.kind == b.kind && !memcmp(in->x, other->x, a.regs * sizeof *in->x);
}

int ws_emu_wg_enter(struct warp *w, const struct inst *in) {
  const struct kernel *k = w->cta->k;
  struct flight *f = flight_of(w);
  if (!f) return no_memory(w, in);
  uint32_t n = registers_of(in), d = ws_emu_wg_form(in).regs;
  bool same = same_accumulators(k, in, &f->r[in->x[0] >> UNIT]);
  for (uint32_t i = 0; i < n; i++) {
    struct reg_state *r = &f->r[in->x[i] >> UNIT];
    if (r->in && (i < d ? !same : r->in == IN_D))
      return hazard(w, in, r->used_by, i < d ? "accumulates in" : "takes A from", "a register of another operation in flight");
    if (unfenced(w, in, f, r) != EV_NEXT) return EV_FAULT;
  }
  for (uint32_t i = 0; i < n; i++) {
    struct reg_state *r = &f->r[in->x[i] >> UNIT];
    if (i >= d && r->in == IN_D) return hazard(w, in, (uint32_t)(in - k->code), "takes A from", "one of its own accumulators");
    r->in = i < d ? IN_D : IN_A;
    r->used_by = (uint32_t)(in - k->code);
    r->group = w->wg_groups;
  }
  f->any = true;
  return EV_NEXT;
}

void ws_emu_wg_leave(struct warp *w, uint32_t before) {
  struct flight *f = w->flight;
  if (!f || !f->any) return;
  f->any = false;
  for (uint32_t i = 0; i < w->cta->k->reg_bytes >> UNIT; i++) {
    struct reg_state *r = &f->r[i];
    if (r->in && (int32_t)(r->group - before) < 0) r->in = FREE;
    f->any |= r->in != FREE;
  }
}

static void set_load(struct warp *w, const struct inst *in, uint8_t state) {
  struct flight *f = flight_of(w);
  for (uint32_t i = 0; f && i < (uint32_t)in->n + (in->w != 0); i++) {
    struct reg_state *r = &f->r[(i < in->n ? in->x[i] : in->o[0]) >> UNIT];
    r->in = state;
    r->used_by = (uint32_t)(in - w->cta->k->code);
  }
}
void ws_emu_ld_enter(struct warp *w, const struct inst *in) { set_load(w, in, IN_LD); } /* without memory: not looked for */
void ws_emu_ld_leave(struct warp *w, const struct inst *in) { set_load(w, in, FREE); }

void ws_emu_wg_fence(struct warp *w) {
  if (flight_of(w)) w->flight->epoch++;
}
