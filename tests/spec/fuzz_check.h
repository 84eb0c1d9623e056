/* What must hold for any input whatever. */
#ifndef WS_TEST_FUZZ_CHECK_H
#define WS_TEST_FUZZ_CHECK_H
#include <stddef.h>

/* NULL, or what was wrong. */
const char *fuzz_check(const char *text, size_t len);
#endif
