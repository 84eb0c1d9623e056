#include "pool.h"
#include <stdlib.h>
#include <string.h>

struct ws_emu_block {
  struct ws_emu_block *next;
  size_t used, size;
  char *data;
};

enum { BLOCK = 64 * 1024 };

void ws_emu_pool_free(struct ws_emu_pool *p) {
  while (p->head) {
    struct ws_emu_block *next = p->head->next;
    free(p->head->data);
    free(p->head);
    p->head = next;
  }
  p->used = 0;
}

static struct ws_emu_block *new_block(struct ws_emu_pool *p, size_t size) {
  struct ws_emu_block *b = malloc(sizeof *b);
  char *data = b ? aligned_alloc(64, (size + 63) & ~(size_t)63) : NULL;
  if (!data) {
    free(b);
    longjmp(*p->oom, 1);
  }
  *b = (struct ws_emu_block){.size = size, .data = data};
  return b;
}

void *ws_emu_alloc(struct ws_emu_pool *p, size_t size) {
  size_t align = size >= 64 ? 64 : 16;
  if (size > SIZE_MAX / 2 || (p->limit && (size > p->limit || p->used > p->limit - size))) longjmp(*p->oom, 1);
  if (!size) size = 1;
  p->used += size;
  struct ws_emu_block *b = p->head;
  size_t at = b ? (b->used + align - 1) & ~(align - 1) : 0;
  if (!b || at > b->size || b->size - at < size) {
    b = new_block(p, size > BLOCK / 4 ? size : BLOCK);
    if (size > BLOCK / 4 && p->head) { /* a large piece gets a block of its own, behind the one being filled */
      b->next = p->head->next;
      p->head->next = b;
    } else {
      b->next = p->head;
      p->head = b;
    }
    at = 0;
  }
  b->used = at + size;
  return memset(b->data + at, 0, size);
}

char *ws_emu_strndup(struct ws_emu_pool *p, const char *s, size_t n) {
  char *out = ws_emu_alloc(p, n + 1);
  memcpy(out, s, n);
  return out;
}

void *ws_emu_grow(struct ws_emu_pool *p, void *old, size_t n, size_t *cap, size_t item) {
  if (n < *cap) return old;
  size_t want = *cap ? *cap * 2 : 8;
  if (want > SIZE_MAX / 2 / item) longjmp(*p->oom, 1);
  void *out = ws_emu_alloc(p, want * item);
  if (n) memcpy(out, old, n * item);
  *cap = want;
  return out;
}
