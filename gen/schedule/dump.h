/* Private to gen/schedule: the model as text. */
#ifndef WS_DUMP_H
#define WS_DUMP_H
#include "passes.h"
void ws_dump_declarations(const struct ws_schedule *s, struct ws_buf *o); /* dump_decl.c */
#endif
