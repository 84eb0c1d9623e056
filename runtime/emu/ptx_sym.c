/* Names in nested scopes. A name is found in the innermost open scope that declares it; PTX ISA "Parameterized Variable
 * Names" lets one declaration stand for a range of registers. */
#include "ptx_lex.h"
#include <stdio.h>
#include <string.h>

static uint32_t hash(const char *s, size_t n) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
  return h;
}

struct ptx_sym *ws_emu_lookup(struct parser *ps, const char *s, size_t n) {
  for (struct ptx_sym *y = ps->buckets[hash(s, n) % SYMTAB_BUCKETS]; y; y = y->next)
    if (!strncmp(y->name, s, n) && !y->name[n] && y->kind != SYM_REG_RANGE) return y;
  return NULL;
}

static struct ptx_sym *lookup_range(struct parser *ps, const char *s, size_t n) {
  for (struct ptx_sym *y = ps->buckets[hash(s, n) % SYMTAB_BUCKETS]; y; y = y->next)
    if (!strncmp(y->name, s, n) && !y->name[n] && y->kind == SYM_REG_RANGE) return y;
  return NULL;
}

struct ptx_sym *ws_emu_declare(struct parser *ps, const struct token *name, enum ptx_sym_kind kind) {
  struct ptx_sym *old = kind == SYM_REG_RANGE ? lookup_range(ps, name->s, name->n) : ws_emu_lookup(ps, name->s, name->n);
  if (old && old->depth == ps->depth)
    ws_emu_parse_error(ps, name->line, name->col, "'%.*s' is declared twice in this scope, first in line %u",
                       (int)name->n, name->s, old->line);
  struct ptx_sym *y = WS_EMU_NEW(&ps->m->pool, struct ptx_sym);
  y->name = ws_emu_strndup(&ps->m->pool, name->s, name->n);
  y->kind = (uint8_t)kind;
  y->type = T_NONE;
  y->depth = ps->depth;
  y->line = name->line;
  y->col = name->col;
  y->id = PTX_NO_REG;
  struct ptx_sym **b = &ps->buckets[hash(name->s, name->n) % SYMTAB_BUCKETS];
  y->next = *b;
  *b = y;
  *WS_EMU_PUSH(&ps->m->pool, ps->scope, ps->nscope, ps->cap_scope) = y;
  return y;
}

void ws_emu_open_scope(struct parser *ps) {
  if (ps->depth == MAX_DEPTH) ws_emu_parse_error(ps, ps->t.line, ps->t.col, "scopes are nested deeper than %d", MAX_DEPTH);
  ps->scope_start[++ps->depth] = ps->nscope;
}

/* Labels named in this scope but not yet defined may be defined further out: they move there. */
static void settle_labels(struct parser *ps) {
  size_t keep = 0;
  for (size_t i = 0; i < ps->npending; i++) {
    struct pending_label *l = &ps->pending[i];
    if (l->depth != ps->depth) {
      ps->pending[keep++] = *l;
      continue;
    }
    struct ptx_sym *y = ws_emu_lookup(ps, l->name, strlen(l->name));
    if (y && y->kind == SYM_LABEL && y->depth == ps->depth) {
      if (l->at) l->at->sym = y;
      if (l->slot) *l->slot = y;
      continue;
    }
    if (ps->depth <= 1)
      ws_emu_parse_error(ps, l->line, l->col, "'%s' is not declared", l->name);
    l->depth--;
    ps->pending[keep++] = *l;
  }
  ps->npending = keep;
}

void ws_emu_close_scope(struct parser *ps) {
  settle_labels(ps);
  while (ps->nscope > ps->scope_start[ps->depth]) {
    struct ptx_sym *y = ps->scope[--ps->nscope];
    struct ptx_sym **b = &ps->buckets[hash(y->name, strlen(y->name)) % SYMTAB_BUCKETS];
    while (*b && *b != y) b = &(*b)->next; /* nearly always the first */
    if (*b) *b = y->next;
  }
  ps->depth--;
}

/* ---- registers: (declaration, number) -> dense number, so that `.reg .b32 %r<1000000>` costs what is used ---- */
static uint32_t new_register(struct parser *ps, const struct ptx_sym *y, const char *s, size_t n) {
  struct ptx_func *f = ps->func;
  struct ptx_reg *r = WS_EMU_PUSH(&ps->m->pool, f->regs, f->nregs, f->cap_regs);
  r->name = ws_emu_strndup(&ps->m->pool, s, n);
  r->type = y->type;
  return (uint32_t)(f->nregs - 1);
}

static void grow_index(struct parser *ps) {
  size_t cap = ps->cap_reg_keys ? ps->cap_reg_keys * 2 : 256;
  struct ptx_sym **index = WS_EMU_NEW_N(&ps->m->pool, struct ptx_sym *, cap);
  uint32_t *keys = WS_EMU_NEW_N(&ps->m->pool, uint32_t, cap * 2);
  for (size_t i = 0; i < ps->cap_reg_keys; i++) {
    if (!ps->reg_index[i]) continue;
    size_t at = (hash(ps->reg_index[i]->name, strlen(ps->reg_index[i]->name)) + ps->reg_keys[2 * i] * 2654435761u) & (cap - 1);
    while (index[at]) at = (at + 1) & (cap - 1);
    index[at] = ps->reg_index[i];
    keys[2 * at] = ps->reg_keys[2 * i];
    keys[2 * at + 1] = ps->reg_keys[2 * i + 1];
  }
  ps->reg_index = index;
  ps->reg_keys = keys;
  ps->cap_reg_keys = cap;
}

static uint32_t range_register(struct parser *ps, struct ptx_sym *y, uint32_t number, const char *s, size_t n) {
  if (ps->func->nregs * 2 >= ps->cap_reg_keys) grow_index(ps);
  size_t mask = ps->cap_reg_keys - 1;
  size_t at = (hash(y->name, strlen(y->name)) + number * 2654435761u) & mask;
  for (; ps->reg_index[at]; at = (at + 1) & mask)
    if (ps->reg_index[at] == y && ps->reg_keys[2 * at] == number) return ps->reg_keys[2 * at + 1];
  uint32_t dense = new_register(ps, y, s, n);
  ps->reg_index[at] = y;
  ps->reg_keys[2 * at] = number;
  ps->reg_keys[2 * at + 1] = dense;
  return dense;
}

/* The declaration that a register's name belongs to; number: within a range. NULL when the name is no register. */
static struct ptx_sym *declaration(struct parser *ps, const char *s, size_t n, uint32_t *number) {
  struct ptx_sym *y = ws_emu_lookup(ps, s, n);
  size_t digits = 0;
  uint64_t v = 0;
  *number = 0;
  if (y || !ps->func) return y && ps->func && y->kind == SYM_REG ? y : NULL;
  while (digits < n && s[n - 1 - digits] >= '0' && s[n - 1 - digits] <= '9') digits++;
  /* All digits at the end are the number, as ptxas reads it: no name reaches a range whose own name ends in a digit. */
  if (!digits || digits > 9 || (digits > 1 && s[n - digits] == '0')) return NULL;
  for (size_t i = n - digits; i < n; i++) v = v * 10 + (uint64_t)(s[i] - '0');
  *number = (uint32_t)v;
  y = lookup_range(ps, s, n - digits);
  return y && v < y->size ? y : NULL;
}

uint32_t ws_emu_register(struct parser *ps, const char *s, size_t n) {
  uint32_t number;
  struct ptx_sym *y = declaration(ps, s, n, &number);
  if (!y || y->lanes) return PTX_NO_REG;
  if (y->kind == SYM_REG_RANGE) return range_register(ps, y, number, s, n);
  if (y->id == PTX_NO_REG) y->id = new_register(ps, y, s, n);
  return y->id;
}

int ws_emu_vector(struct parser *ps, const char *s, size_t n, struct ptx_sym **y, uint32_t *number) {
  *y = declaration(ps, s, n, number);
  return *y ? (*y)->lanes : 0;
}

uint32_t ws_emu_element(struct parser *ps, struct ptx_sym *y, uint32_t number, uint32_t element, const char *s, size_t n) {
  char name[64];
  int len = snprintf(name, sizeof name, "%.*s.%c", (int)(n > 50 ? 50 : n), s, "xyzw"[element]);
  if (y->kind == SYM_REG_RANGE) return range_register(ps, y, number * 4 + element, name, (size_t)len);
  if (!y->elements) {
    y->elements = WS_EMU_NEW_N(&ps->m->pool, uint32_t, y->lanes);
    for (uint32_t i = 0; i < y->lanes; i++) y->elements[i] = PTX_NO_REG;
  }
  if (y->elements[element] == PTX_NO_REG) y->elements[element] = new_register(ps, y, name, (size_t)len);
  return y->elements[element];
}
