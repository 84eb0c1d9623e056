/* Small schedules at random: random_spec.c. */
#ifndef RANDOM_SPEC_H
#define RANDOM_SPEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANDOM_SPEC_SIZE = 1 << 14 };
size_t random_spec(uint64_t seed, char *out, size_t size); /* bytes */
#endif
