#include "exec.h"
emu_fn *LEVELLED(ws_emu_resolve_warp)(struct bind *b) { (void)b; return NULL; }
