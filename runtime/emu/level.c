/* Choosing the vector level once for the processor at hand. */
#include "level.h"
#include <stdlib.h>
#include <string.h>

extern const struct level ws_emu_level_base;
#ifdef WS_EMU_X86_LEVELS
extern const struct level ws_emu_level_v3, ws_emu_level_v4;
#endif

const struct level *ws_emu_level(const char *name) {
  const char *want = name && *name ? name : getenv("WSEMU_LEVEL");
#ifdef WS_EMU_X86_LEVELS
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  if (v4 && (!want || !strcmp(want, "v4"))) return &ws_emu_level_v4;
  if (v3 && (!want || !strcmp(want, "v3") || !strcmp(want, "v4"))) return &ws_emu_level_v3;
#endif
  (void)want;
  return &ws_emu_level_base;
}

emu_fn *ws_emu_find_key(const struct emu_key *keys, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(keys[i].key, key)) return keys[i].fn;
  return NULL;
}
