/* What a program must not do while asynchronous operations are under way, found when it happens.
 *
 * Registers of wgmma (PTX ISA "wgmma.fence", "wgmma.wait_group"): until a wait covers the operation, its accumulators must
 * not be touched and its A registers not be written; and wgmma.fence must lie between an access to such a register and the
 * next operation that uses it. Instructions that touch registers of some wgmma are marked when the kernel is decoded
 * (F_WGMMA); the others cost nothing.
 *
 * Registers of tcgen05.ld must not be touched before tcgen05.wait::ld. They are marked in the same way. */
#ifndef WS_EMU_HAZARD_H
#define WS_EMU_HAZARD_H
#include "engine.h"

/* hazard.c: registers */
void ws_emu_mark_wgmma(struct kernel *k, const uint32_t (*uses)[2], size_t nuses);  /* uses: instruction; slot * 2 + written */
int ws_emu_wg_touch(struct warp *w, const struct inst *in);    /* an instruction marked F_WGMMA is about to be executed */
int ws_emu_wg_enter(struct warp *w, const struct inst *in);    /* a wgmma is issued: EV_NEXT or EV_FAULT */
void ws_emu_wg_leave(struct warp *w, uint32_t before);         /* a wait covers the groups below */
void ws_emu_wg_fence(struct warp *w);
void ws_emu_ld_enter(struct warp *w, const struct inst *in);   /* a tcgen05.ld is issued: its registers are in flight .. */
void ws_emu_ld_leave(struct warp *w, const struct inst *in);   /* .. until a wait covers it */
#endif
