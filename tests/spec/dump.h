/* The whole syntax tree as text: what the tests compare. */
#ifndef WS_TEST_DUMP_H
#define WS_TEST_DUMP_H
#include "spec/syntax.h"

/* With positions every node ends in @line:column+length. */
void dump_spec(const struct ws_spec *s, bool positions, struct ws_buf *out);
#endif
