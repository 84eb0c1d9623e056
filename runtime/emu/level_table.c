/* One vector level's table of families. Compiled once for each level. */
#include "exec.h"

#define FAMILY(name) emu_resolve LEVELLED(ws_emu_resolve_##name)
FAMILY(control); FAMILY(int); FAMILY(float); FAMILY(half); FAMILY(cmp); FAMILY(move); FAMILY(cvt); FAMILY(mem); FAMILY(atom);
FAMILY(async); FAMILY(warp); FAMILY(sync); FAMILY(matrix); FAMILY(mbar); FAMILY(cluster); FAMILY(wgmma); FAMILY(bulk); FAMILY(tensor); FAMILY(tcmma);

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
extern const struct level LEVELLED(ws_emu_level);
const struct level LEVELLED(ws_emu_level) = {
    QUOTE(LEVEL),
    {[FAM_CONTROL] = LEVELLED(ws_emu_resolve_control), [FAM_INT] = LEVELLED(ws_emu_resolve_int), [FAM_FLOAT] = LEVELLED(ws_emu_resolve_float),
     [FAM_HALF] = LEVELLED(ws_emu_resolve_half), [FAM_CMP] = LEVELLED(ws_emu_resolve_cmp), [FAM_MOVE] = LEVELLED(ws_emu_resolve_move),
     [FAM_CVT] = LEVELLED(ws_emu_resolve_cvt), [FAM_MEM] = LEVELLED(ws_emu_resolve_mem), [FAM_ATOM] = LEVELLED(ws_emu_resolve_atom),
     [FAM_ASYNC] = LEVELLED(ws_emu_resolve_async), [FAM_WARP] = LEVELLED(ws_emu_resolve_warp), [FAM_SYNC] = LEVELLED(ws_emu_resolve_sync),
     [FAM_MATRIX] = LEVELLED(ws_emu_resolve_matrix), [FAM_MBAR] = LEVELLED(ws_emu_resolve_mbar),
     [FAM_CLUSTER] = LEVELLED(ws_emu_resolve_cluster), [FAM_WGMMA] = LEVELLED(ws_emu_resolve_wgmma),
     [FAM_BULK] = LEVELLED(ws_emu_resolve_bulk), [FAM_TENSOR] = LEVELLED(ws_emu_resolve_tensor), [FAM_TCMMA] = LEVELLED(ws_emu_resolve_tcmma)}};
