/* test_emu_generated [SEED [SECONDS [KEEP]]]: kernels made of the instruction table (generate.h) under the three schedules. The sanitizer build of
 * this test is the one that counts. KEEP names a file that has the text of the kernel being run, for when it is the last. */
#include "generate.h"
#include "harness.h"
#include "isa.h"
#include <time.h>

static uint64_t seed = 1;
static int seconds = 3;
static const char *keep;

static void test_generated(void **state) {
  static const char *const schedules[] = {"early", "late", "random:5"};
  static char text[1 << 16];
  static uint8_t bytes[512];
  struct rng r = {seed * 0x9e3779b97f4a7c15u};
  struct timespec start, t;
  int tried = 0, ran = 0, rows = 0;
  (void)state;
  assert_int_equal(wsemuSetOption("watchdog", "0.2"), 0);
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(rng_next(&r) >> 24);
    assert_true(generate_kernel(bytes, sizeof bytes, text, sizeof text));
    FILE *f = keep ? fopen(keep, "w") : NULL;
    if (f) fputs(text, f), fclose(f);
    bool well;
    wsemuSetOption("schedule", schedules[tried++ % 3]);
    wsemuSetOption("uninitialised", tried % 8 ? "warn" : "error");
    const char *wrong = generate_run(text, true, &well);
    if (wrong) fail_msg("%s\n%s", wrong, text);
    ran += well;
    if (getenv("WHY") && !well) print_message("%s\n", emu_message());
    clock_gettime(CLOCK_MONOTONIC, &t);
  } while (t.tv_sec - start.tv_sec < seconds);
  for (unsigned int i = 0; wsemuRowsRun(i) >= 0; i++) rows += wsemuRowsRun(i);
  print_message("%d kernels, %d ended well, with %d of %zu rows of the table\n", tried, ran, rows, ws_emu_isa_rows);
  assert_true(ran * 20 > tried); /* the generator is worth its name */
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  if (argc > 2) seconds = atoi(argv[2]);
  if (argc > 3) keep = argv[3];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
