/* Fat binaries as nvcc embeds them: a header, then entries, each with a header of its own, one a target and kind of code.
 *
 *   container  u32 magic, u16 version, u16 header bytes, u64 bytes of all entries
 *   entry      u16 kind (1: PTX, 2: machine code), u16 version, u32 header bytes, u64 payload bytes (padded), u32 bytes when compressed,
 *              .., u16 minor and major version of the code, u32 target, .., u64 flags at byte 40 (0x2000, 0x8000: compressed)
 *
 * The layout is what the tools write (cuobjdump prints these fields); NVIDIA documents only what fatbinary is for. */
#include "cudart.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRAPPER_MAGIC = 0x466243b1, CONTAINER_HEADER = 16, ENTRY_HEADER = 48, KIND_PTX = 1 };
#define CONTAINER_MAGIC UINT32_C(0xba55ed50)
#define COMPRESSED UINT64_C(0xa000)
struct wrapper { uint32_t magic, version; const void *data; const void *more; };

static uint64_t field(const uint8_t *p, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}

struct entry { const uint8_t *text; size_t bytes, position; uint32_t target; bool compressed; };

static bool newer(const struct entry *a, const struct entry *b) {
  return a->target != b->target ? a->target > b->target : a->position < b->position;
}

/* The newest PTX entry that is older than `than`, if there is such a bound. */
static bool pick(const uint8_t *p, size_t left, const struct entry *than, struct entry *out, bool *other) {
  bool found = false;
  for (size_t position = 0; left >= ENTRY_HEADER; position++) {
    uint64_t head = field(p + 4, 4), payload = field(p + 8, 8);
    if (head < ENTRY_HEADER || head > left || payload > left - head) break;
    struct entry e = {p + head, (size_t)payload, position, (uint32_t)field(p + 28, 4), (field(p + 40, 8) & COMPRESSED) != 0};
    bool ptx = field(p, 2) == KIND_PTX;
    *other |= !ptx;
    if (ptx && (!than || newer(than, &e)) && (!found || newer(&e, out))) {
      *out = e;
      found = true;
    }
    p += head + payload;
    left -= (size_t)(head + payload);
  }
  return found;
}

char *ws_cudart_ptx(const void *wrapper, unsigned int nth, char *why, size_t n) {
  struct wrapper w;
  struct entry e = {0}, last;
  bool other = false;
  *why = 0;
  memcpy(&w, wrapper, sizeof w);
  if (w.magic != WRAPPER_MAGIC || !w.data || field(w.data, 4) != CONTAINER_MAGIC) return snprintf(why, n, "no fat binary"), NULL;
  const uint8_t *data = w.data;
  uint64_t head = field(data + 6, 2), size = field(data + 8, 8);
  if (head < CONTAINER_HEADER) return snprintf(why, n, "a fat binary of unknown form"), NULL;
  bool found = pick(data + head, (size_t)size, NULL, &e, &other);
  for (unsigned int i = 0; i < nth && found; i++) {
    last = e;
    found = pick(data + head, (size_t)size, &last, &e, &other);
  }
  if (!found) {
    snprintf(why, n, "the program holds no %sPTX%s", nth ? "more " : "", other ? ", but machine code: -gencode arch=compute_X,code=compute_X adds PTX" : "");
    return NULL;
  }
  if (e.compressed) return snprintf(why, n, "the program's PTX is compressed: nvcc -no-compress leaves it as text"), NULL;
  char *text = malloc(e.bytes + 1);
  if (!text) return snprintf(why, n, "out of memory"), NULL;
  memcpy(text, e.text, e.bytes);
  text[e.bytes] = 0;
  return text;
}
