/* The fake driver with its state for tests: opened once by fixture_begin, cleared before each test by fixture_reset. */
#ifndef WS_TEST_FIXTURE_H
#define WS_TEST_FIXTURE_H
#include "fake_driver.h"
#include "support.h"

extern struct fake_driver *fake;
extern char *copy_ptx; /* data/copy.ptx */
extern size_t copy_length;

int fixture_begin(void); /* 0, or the exit code of the test */
void fixture_end(void);
int fixture_reset(void **state); /* one device of compute capability 8.0, nothing fails */
void fixture_nothing_is_left(void);
struct ws_kernel *fixture_load(char *text, struct ws_device **device); /* text on a new device cuda:0 of the fake driver; frees text */
void fixture_unload(struct ws_kernel *k, struct ws_device *device);    /* both closed, and nothing is left */
char *fixture_folder(void); /* a new folder under TMPDIR; fixture_remove deletes it with its files and frees the name */
void fixture_remove(char *folder);
int fixture_files(const char *folder, char *last, size_t size); /* how many; last (may be NULL): the path of one */
#endif
