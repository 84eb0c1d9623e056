#include "ptx.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ws_reg_set {
  const char *name;
  enum ws_reg_class cls;
  size_t n;                /* 0: one register without a number */
  const char **names;
};

void ws_ptx_init(struct ws_ptx *p, struct ws_arena *a, struct ws_diags *d, const struct ws_templates *t) {
  *p = (struct ws_ptx){.arena = a, .diags = d, .templates = t, .version = 70};
}

static struct ws_reg_set *set_named(struct ws_ptx *p, enum ws_reg_class c, const char *name, bool many) {
  for (size_t i = p->nregs; i-- > 0;)
    if (!strcmp(p->regs[i].name, name) && many == (p->regs[i].n > 0)) return &p->regs[i];
  struct ws_reg_set *s = WS_PUSH(p->arena, p->regs, p->nregs, p->regs_cap);
  *s = (struct ws_reg_set){.name = name, .cls = c};
  return s;
}

const char *ws_ptx_reg(struct ws_ptx *p, enum ws_reg_class c, const char *name) {
  struct ws_reg_set *s = set_named(p, c, name, false);
  if (!s->names) {
    s->names = WS_NEW_N(p->arena, const char *, 1);
    s->names[0] = ws_fmt(p->arena, "%%%s", name);
  }
  return s->names[0];
}

/* The numbered names of tiles end in _N, those of temporaries in N: a tile of any name clashes with no temporary. */
const char **ws_ptx_regs(struct ws_ptx *p, enum ws_reg_class c, const char *name, size_t n) {
  return ws_ptx_temps(p, c, ws_fmt(p->arena, "%s_", name), n);
}

const char **ws_ptx_temps(struct ws_ptx *p, enum ws_reg_class c, const char *name, size_t n) {
  struct ws_reg_set *s = set_named(p, c, name, true);
  if (n > s->n) {
    const char **names = WS_NEW_N(p->arena, const char *, n);
    for (size_t i = 0; i < n; i++) names[i] = i < s->n ? s->names[i] : ws_fmt(p->arena, "%%%s%zu", name, i);
    s->names = names, s->n = n;
  }
  return s->names;
}

const char *ws_ptx_label(struct ws_ptx *p, const char *what) { return ws_fmt(p->arena, "$%s_%u", what, p->labels++); }

void ws_ptx_op_list(struct ws_ptx *p, const char *tmpl, const char *const *args, size_t n, const struct ws_list *lists, size_t nlists) {
  int v = ws_template_expand(p->templates, tmpl, args, n, lists, nlists, p->out, p->diags);
  if (v > p->version) p->version = v;
}

void ws_ptx_op(struct ws_ptx *p, const char *tmpl, const char *const *args, size_t n) { ws_ptx_op_list(p, tmpl, args, n, NULL, 0); }

const char *ws_ptx_int(struct ws_ptx *p, long v) { return ws_fmt(p->arena, "%ld", v); }

const char *ws_ptx_float(struct ws_ptx *p, double v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return ws_fmt(p->arena, "0f%08X", bits);
}

/* The value of the last 0fXXXXXXXX of a line, for a comment; "" where there is none or it is zero. */
static const char *float_comment(struct ws_ptx *p, const char *line, size_t n) {
  for (size_t i = n; i >= 10; i--) {
    const char *at = line + i - 10;
    if (memcmp(at, "0f", 2) || (i < n && strspn(at + 2, "0123456789ABCDEF") != 8)) continue;
    uint32_t bits = (uint32_t)strtoul(ws_strndup(p->arena, at + 2, 8), NULL, 16);
    float v;
    memcpy(&v, &bits, 4);
    return v == 0 ? "" : ws_fmt(p->arena, "// %.9g", (double)v);
  }
  return "";
}

void ws_ptx_aligned(struct ws_ptx *p, const char *code) {
  enum { COLUMN = 56 };
  while (*code) {
    size_t n = strcspn(code, "\n"), end = n;
    const char *comment = NULL;
    for (size_t i = 0; i + 3 < n && !comment; i++)
      if (!memcmp(code + i, "; ", 2)) {
        size_t k = i + 1;
        while (k < n && code[k] == ' ') k++;
        if (k + 1 < n && code[k] == '/' && code[k + 1] == '/') comment = code + k, end = i + 1;
      }
    ws_buf_add(p->out, code, end);
    const char *value = comment ? "" : float_comment(p, code, n);
    if (*value) ws_buf_printf(p->out, "%*s%s", (int)(end < COLUMN - 1 ? COLUMN - end : 1), "", value);
    if (comment) ws_buf_printf(p->out, "%*s%.*s", (int)(end < COLUMN - 1 ? COLUMN - end : 1), "", (int)(n - (size_t)(comment - code)), comment);
    if (code[n]) ws_buf_puts(p->out, "\n");
    code += n + (code[n] != 0);
  }
}

struct ws_list ws_ptx_reg_lines(struct ws_ptx *p) {
  static const char *const types[] = {".pred", ".b32", ".f32", ".b64", ".b16"};
  const char **cell = WS_NEW_N(p->arena, const char *, p->nregs + 1);
  size_t n = 0;
  for (int c = 0; c < WS_REG_CLASSES; c++)
    for (size_t i = 0; i < p->nregs; i++) {
      const struct ws_reg_set *s = &p->regs[i];
      if ((int)s->cls != c) continue;
      cell[n++] = s->n ? ws_fmt(p->arena, "%s %%%s<%zu>", types[c], s->name, s->n) : ws_fmt(p->arena, "%s %%%s", types[c], s->name);
    }
  return (struct ws_list){.n = n, .fields = 1, .cell = cell};
}
