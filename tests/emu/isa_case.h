/* One instruction against an independent C computation: a case is a line of PTX with %a %b %c as inputs and %d as output,
 * run by 4096 threads on random and edge-case bits. Tests are named after the PTX ISA section and the instruction. */
#ifndef EMU_ISA_CASE_H
#define EMU_ISA_CASE_H
#include "harness.h"

enum compare {
  EXACT,    /* all bits */
  ANY_NAN,  /* all bits, but one NaN is as good as another */
  ULP2_F32, /* an f32 within 2 units in the last place of the wanted value, or the same special */
};
struct isa_case {
  const char *section, *text;
  const char *types; /* of d, a, b, c as far as used, e.g. "u32 u32 u32" */
  uint64_t (*want)(uint64_t a, uint64_t b, uint64_t c);
  enum compare compare;
  const char *header; /* of the module; NULL: .version 7.8 .target sm_80 */
};
int isa_run(const char *group, const struct isa_case *cases, size_t n); /* main's result */
#define SM90 ".version 8.3\n.target sm_90\n"
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define WANT(name, ...) static uint64_t name(uint64_t a, uint64_t b, uint64_t c) { (void)a, (void)b, (void)c; return (uint64_t)(__VA_ARGS__); }

static inline float as_f32(uint64_t u) { uint32_t v = (uint32_t)u; float f; memcpy(&f, &v, 4); return f; }
static inline double as_f64(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }
static inline uint64_t of_f32(float f) { uint32_t u; memcpy(&u, &f, 4); return f != f ? 0x7fffffff : u; }
static inline uint64_t of_f64(double f) { uint64_t u; memcpy(&u, &f, 8); return u; }
#endif
