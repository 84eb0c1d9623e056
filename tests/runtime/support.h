/* What the tests of the loader share: files, text surgery, a launch to bend. */
#ifndef WS_TEST_SUPPORT_H
#define WS_TEST_SUPPORT_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "warpscore.h"
#include <stdbool.h>

char *test_read(const char *name, size_t *length);                             /* of data/, freed by the caller */
char *test_read_in(const char *folder, const char *name, size_t *length);
char *test_replace(const char *text, const char *from, const char *to);        /* the first one; fails if absent */
uint64_t test_random(uint64_t *state);

enum { TEST_TENSORS = 5 };
struct test_launch {
  struct ws_tensor tensors[TEST_TENSORS]; /* q k v o lse */
  int64_t shape[TEST_TENSORS][4], stride[TEST_TENSORS][4];
  struct ws_scalar scalar;
  struct ws_launch launch;
};
/* b 2, hq 4, hkv 2, sq 5, sk 7, d 128, bshd, packed: right for data/copy.ptx. Addresses are made up. */
void test_launch_init(struct test_launch *t);
#endif
