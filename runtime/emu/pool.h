/* Memory of one PTX module or one decoded kernel: handed out in pieces, freed as a whole.
 *
 * ws_emu_alloc() never returns NULL: when memory (or the pool's limit) runs out it longjmps to `oom`, which the owner
 * sets before the first allocation. Not thread-safe. */
#ifndef WS_EMU_POOL_H
#define WS_EMU_POOL_H
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct ws_emu_block;
struct ws_emu_pool {
  struct ws_emu_block *head; /* newest block first */
  size_t used, limit;        /* bytes handed out; limit 0 = none */
  jmp_buf *oom;              /* where to go when memory runs out */
};

void ws_emu_pool_free(struct ws_emu_pool *p);
void *ws_emu_alloc(struct ws_emu_pool *p, size_t size); /* zeroed, 64-byte aligned from 64 bytes on, else 16 */
char *ws_emu_strndup(struct ws_emu_pool *p, const char *s, size_t n);
/* Room for item number n of a growing array: returns the array, moved when it had to grow. */
void *ws_emu_grow(struct ws_emu_pool *p, void *old, size_t n, size_t *cap, size_t item);

#define WS_EMU_NEW(p, T) ((T *)ws_emu_alloc((p), sizeof(T)))
#define WS_EMU_NEW_N(p, T, n) ((T *)ws_emu_alloc((p), sizeof(T) * (size_t)(n)))
/* A new last element of a growing array; evaluates to its address. */
#define WS_EMU_PUSH(p, vec, n, cap) ((vec) = ws_emu_grow((p), (vec), (n), &(cap), sizeof *(vec)), &(vec)[(n)++])
#endif
