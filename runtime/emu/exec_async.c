#include "exec.h"
emu_fn *LEVELLED(ws_emu_resolve_async)(struct bind *b) { (void)b; return NULL; }
