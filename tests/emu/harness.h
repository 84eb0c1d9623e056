/* What the emulator's tests share: a driver opened through its own entry points, kernels from text or from data/, random
 * numbers, and a comparison that counts. The tests see only the exported functions, as any driver-API program does. */
#ifndef EMU_HARNESS_H
#define EMU_HARNESS_H
#include "cuda_abi.h"
#include "wsemu.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define X(need, name, params) ws_cu_result name params;
WS_CU_FUNCTIONS(X)
#undef X

/* Fails the test with the emulator's message when a call does not succeed. */
#define CHECK(call) emu_check((call), #call, __FILE__, __LINE__)
void emu_check(ws_cu_result r, const char *what, const char *file, int line);

void emu_open(void);                           /* initialises and makes the primary context current */
void emu_close(void);
struct CUmod_st *emu_module(const char *ptx);  /* loads text */
struct CUmod_st *emu_module_file(const char *name); /* loads data/NAME */
char *emu_read_file(const char *name);         /* data/NAME, to be freed */
struct CUfunc_st *emu_function(struct CUmod_st *m, const char *name);
ws_cu_deviceptr emu_buffer(const void *from, size_t bytes); /* device memory, filled from host memory or left poisoned */
void emu_fetch(void *to, ws_cu_deviceptr from, size_t bytes); /* copies back and frees */
/* A launch of `grid` x `block` threads whose parameters are `nparams` addresses. */
ws_cu_result emu_run(struct CUfunc_st *f, unsigned grid, unsigned block, unsigned shared, const ws_cu_deviceptr *params, int nparams);
const char *emu_message(void);
/* Loads text, launches its entry k on one CTA of `threads` and returns the result; the context is whole again after it. */
ws_cu_result emu_run_text(const char *ptx, unsigned threads, unsigned shared, const ws_cu_deviceptr *params, int nparams);

/* numbers.c: xorshift random numbers; the same sequence in every run */
struct rng { uint64_t s; };
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);
float rng_normal(struct rng *r);               /* roughly normal, |x| < 6 */
uint64_t rng_pattern(struct rng *r, int bits); /* random bits, often an edge case: 0, 1, -1, sign bit, infinities, NaN, small */

float bf16_to_float(uint16_t h);
uint16_t float_to_bf16(float f);               /* round to nearest even, by the definition */
uint16_t f16_of(double v);                     /* the same for f16 */
double f16_value(uint16_t h);
#endif
