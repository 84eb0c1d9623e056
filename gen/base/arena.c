#include "arena.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ws_arena_block {
  struct ws_arena_block *next;
  size_t used, size;
  _Alignas(16) unsigned char data[];
};

enum { BLOCK = 64 * 1024 };

static void free_blocks(struct ws_arena_block *b) {
  for (struct ws_arena_block *next; b; b = next) {
    next = b->next;
    free(b);
  }
}

void ws_arena_free(struct ws_arena *a) {
  free_blocks(a->head);
  free_blocks(a->spare);
  a->head = a->spare = NULL;
  a->total = 0;
}

void ws_arena_reset(struct ws_arena *a) {
  for (struct ws_arena_block *b = a->head, *next; b; b = next) {
    next = b->next;
    if (b->size == BLOCK) b->next = a->spare, a->spare = b;
    else free(b);
  }
  a->head = NULL;
  a->total = 0;
}

static struct ws_arena_block *new_block(struct ws_arena *a, size_t size) {
  struct ws_arena_block *b = size <= BLOCK ? a->spare : NULL;
  if (b) {
    a->spare = b->next;
    memset(b->data, 0, b->used);
    b->used = 0;
    return b;
  }
  size_t room = size > BLOCK ? size : BLOCK;
  b = calloc(1, sizeof *b + room);
  if (!b) longjmp(a->oom, 1);
  b->size = room;
  return b;
}

void *ws_alloc(struct ws_arena *a, size_t size) {
  if (size > SIZE_MAX / 2) longjmp(a->oom, 1);
  size = (size + 15) & ~(size_t)15;
  if (!size) size = 16;
  struct ws_arena_block *b = a->head;
  if (!b || b->size - b->used < size) {
    b = new_block(a, size);
    b->next = a->head;
    a->head = b;
  }
  void *p = b->data + b->used;
  b->used += size;
  a->total += size;
  return p;
}

void *ws_grow(struct ws_arena *a, void *old, size_t n, size_t *cap, size_t item) {
  if (n < *cap) return old;
  size_t more = *cap ? *cap * 2 : 8;
  if (more > SIZE_MAX / 2 / item) longjmp(a->oom, 1);
  void *p = ws_alloc(a, more * item);
  if (n) memcpy(p, old, n * item);
  *cap = more;
  return p;
}

char *ws_strndup(struct ws_arena *a, const char *s, size_t n) {
  char *p = ws_alloc(a, n + 1);
  if (n) memcpy(p, s, n);
  return p;
}

char *ws_strdup(struct ws_arena *a, const char *s) { return ws_strndup(a, s, strlen(s)); }

char *ws_vfmt(struct ws_arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  char *p = ws_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

char *ws_fmt(struct ws_arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *p = ws_vfmt(a, fmt, ap);
  va_end(ap);
  return p;
}

void ws_buf_add(struct ws_buf *b, const char *s, size_t n) {
  if (b->cap - b->n <= n) {
    size_t more = b->cap ? b->cap * 2 : 1024;
    while (more - b->n <= n) more *= 2;
    char *p = ws_alloc(b->arena, more);
    if (b->n) memcpy(p, b->s, b->n);
    b->s = p;
    b->cap = more;
  }
  memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

void ws_buf_puts(struct ws_buf *b, const char *s) { ws_buf_add(b, s, strlen(s)); }

void ws_buf_printf(struct ws_buf *b, const char *fmt, ...) {
  char small[512];
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(small, sizeof small, fmt, ap);
  va_end(ap);
  if (n >= 0 && (size_t)n < sizeof small)
    ws_buf_add(b, small, (size_t)n);
  else if (n > 0) {
    char *p = ws_vfmt(b->arena, fmt, again);
    ws_buf_add(b, p, (size_t)n);
  }
  va_end(again);
}
