/* An arena: memory of one compilation, freed as a whole.
 *
 * Allocation never returns NULL to its callers: when memory runs out the arena longjmps to the handler that
 * ws_arena_guard() set, so a pass needs no error path of its own and nothing leaks. Not thread-safe; one arena belongs
 * to one compilation. */
#ifndef WS_ARENA_H
#define WS_ARENA_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct ws_arena_block;
struct ws_arena {
  struct ws_arena_block *head, *spare; /* spare: for the next allocations after a reset */
  jmp_buf oom;     /* where to go when memory runs out; set before the first allocation */
  size_t total;    /* bytes handed out so far */
};

void ws_arena_free(struct ws_arena *a);
void ws_arena_reset(struct ws_arena *a);                            /* all is given back, but the memory is kept for what comes next */
void *ws_alloc(struct ws_arena *a, size_t size);                    /* zeroed, 16-byte aligned */
void *ws_grow(struct ws_arena *a, void *old, size_t n, size_t *cap, size_t item); /* room for item number n */
char *ws_strndup(struct ws_arena *a, const char *s, size_t n);
char *ws_strdup(struct ws_arena *a, const char *s);
char *ws_fmt(struct ws_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *ws_vfmt(struct ws_arena *a, const char *fmt, va_list ap);

#define WS_NEW(a, T) ((T *)ws_alloc((a), sizeof(T)))
#define WS_NEW_N(a, T, n) ((T *)ws_alloc((a), sizeof(T) * (size_t)(n)))
/* WS_PUSH(a, vec, n, cap): a new last element of a growing array; evaluates to its address. */
#define WS_PUSH(a, vec, n, cap) ((vec) = ws_grow((a), (vec), (n), &(cap), sizeof *(vec)), &(vec)[(n)++])

/* A growing text in an arena. */
struct ws_buf {
  struct ws_arena *arena;
  char *s;         /* always terminated once something was added */
  size_t n, cap;
};
void ws_buf_add(struct ws_buf *b, const char *s, size_t n);
void ws_buf_puts(struct ws_buf *b, const char *s);
void ws_buf_printf(struct ws_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
