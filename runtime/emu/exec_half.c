#include "exec.h"
emu_fn *LEVELLED(ws_emu_resolve_half)(struct bind *b) { (void)b; return NULL; }
