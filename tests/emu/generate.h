/* Kernels out of the instruction table: any row, any of its alternatives, operands that fit its pattern, most addresses good. For fuzzing:
 * what they compute means nothing, but they reach the handlers, where mutated text mostly ends in the parser. */
#ifndef EMU_GENERATE_H
#define EMU_GENERATE_H
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

/* Writes the text of a module with one kernel, k(.param .u64 in, .param .u64 out, .param .align 64 .b8 tm[128]), for at least 65536 bytes of
 * device memory behind `in` and `out` and a tensor map; the choices are read from bytes, and are zeros behind them. Returns false when the
 * text does not fit. */
bool generate_kernel(const uint8_t *bytes, size_t n, char *out, size_t cap);
/* Runs a module's entry k, if it has one, on 2 CTAs of 64 threads; loads only, unless `launch`. Checks what every text owes: a result, and a
 * message behind each refusal. Returns NULL or what is wrong. */
const char *generate_run(const char *ptx, bool launch, bool *ran);
#endif
