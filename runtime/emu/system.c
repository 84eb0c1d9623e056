/* The functions that every kernel may call without defining them: "PTX Writer's Guide to Interoperability", System Calls.
 * vprintf(format, arguments) prints to the standard output at once; __assertfail(message, file, line, ..) ends the launch. */
#include "system.h"
#include "memory.h"
#include "../src/cuda_abi.h"
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096 };

/* `n` bytes at a generic address of the thread, or false. */
static bool fetch(struct who who, uint64_t a, void *out, uint32_t n) {
  const struct cta *c = who.w->cta;
  uint64_t window = a & WINDOW_MASK, at = a & ~WINDOW_MASK;
  const uint8_t *from = NULL;
  if (!window && ws_emu_mem_holds(a, n, false)) from = (const uint8_t *)(uintptr_t)a;
  if (window == WINDOW_LOCAL && at >= LOCAL_BASE && at + n <= LOCAL_BASE + (uint64_t)c->k->local_bytes)
    from = who.w->local + who.lane * ws_emu_local_stride(c->k) + (at - LOCAL_BASE);
  if (window == WINDOW_SHARED && at >= c->shared_lo && at + n <= (uint64_t)c->shared_lo + c->shared_size) from = c->shared + (at - c->shared_lo);
  if (from) memcpy(out, from, n);
  return from != NULL;
}

/* A string, cut where it leaves memory or the room. */
static size_t string_at(struct who who, uint64_t a, char *out, size_t n) {
  size_t i = 0;
  while (i + 1 < n && fetch(who, a + i, &out[i], 1) && out[i]) i++;
  out[i] = 0;
  return i;
}

/* ---- printf ---- */
struct print { char text[TEXT], string[TEXT]; size_t at; uint64_t args; int32_t parsed; };

static uint64_t argument(struct who who, struct print *p, uint32_t bytes) {
  uint64_t v = 0;
  p->args = (p->args + bytes - 1) & ~(uint64_t)(bytes - 1);
  if (!fetch(who, p->args, &v, bytes)) v = 0;
  p->args += bytes;
  p->parsed++;
  return v;
}

/* One conversion: `spec` holds it without its length, %-08.3 and the letter behind; * has become a number. */
static int convert(struct who who, struct print *p, char *spec, size_t n, bool wide, char letter) {
  char *out = p->text + p->at;
  size_t room = TEXT - p->at;
  uint64_t v;
  double d;
  switch (letter) {
    case 'd': case 'i':
      v = argument(who, p, wide ? 8 : 4);
      memcpy(spec + n, "lld", 4);
      return snprintf(out, room, spec, wide ? (long long)v : (long long)(int32_t)v);
    case 'u': case 'o': case 'x': case 'X':
      v = argument(who, p, wide ? 8 : 4);
      memcpy(spec + n, (char[]){'l', 'l', letter, 0}, 4);
      return snprintf(out, room, spec, (unsigned long long)v);
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
      v = argument(who, p, 8);
      memcpy(&d, &v, 8);
      memcpy(spec + n, (char[]){letter, 0}, 2);
      return snprintf(out, room, spec, d);
    case 'c':
      v = argument(who, p, 4);
      memcpy(spec + n, "c", 2);
      return snprintf(out, room, spec, (int)v);
    case 'p': return snprintf(out, room, "0x%llx", (unsigned long long)argument(who, p, 8));
    case 's':
      string_at(who, argument(who, p, 8), p->string, sizeof p->string);
      memcpy(spec + n, "s", 2);
      return snprintf(out, room, spec, p->string);
    default: return snprintf(out, room, "%c", letter); /* %% and what is no conversion */
  }
}

/* The conversion that starts at f, behind its %; returns what follows it. */
static const char *conversion(struct who who, struct print *p, const char *f) {
  char spec[64] = "%";
  size_t n = 1;
  bool wide = false;
  for (; *f && strchr("-+ #0123456789.*", *f); f++) {
    if (n + 16 > sizeof spec) continue;
    if (*f != '*') spec[n++] = *f;
    else n += (size_t)snprintf(spec + n, 12, "%d", (int)(argument(who, p, 4) % TEXT));
  }
  for (; *f && strchr("hlLjzt", *f); f++) wide |= *f != 'h';
  if (!*f) return f;
  int k = convert(who, p, spec, n, wide, *f);
  if (k > 0) p->at += (size_t)k < TEXT - p->at ? (size_t)k : TEXT - 1 - p->at;
  return f + 1;
}

int32_t ws_emu_vprintf(struct who who, uint64_t format, uint64_t args) {
  struct print p = {.args = args};
  char f[TEXT];
  if (!format) return -1;
  string_at(who, format, f, sizeof f);
  for (const char *c = f; *c && p.at + 1 < TEXT;) {
    if (*c == '%') c = conversion(who, &p, c + 1);
    else p.text[p.at++] = *c++;
  }
  fwrite(p.text, 1, p.at, stdout);
  return p.parsed; /* CUDA's printf counts arguments, not characters (CUDA C++ Programming Guide, "Formatted Output") */
}

int ws_emu_assertfail(struct who who, uint64_t message, uint64_t file, uint32_t line) {
  char what[512], where[512];
  string_at(who, message, what, sizeof what);
  string_at(who, file, where, sizeof where);
  return WHO_FAULT(who, WS_CUDA_ERROR_ASSERT, "failed the assertion '%s' of %s:%u", what, where, line);
}
