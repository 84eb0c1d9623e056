/* gen/ptx: the text of a kernel: registers by name, template calls in order, manifest, module.
 * Knows nothing of schedules. May include gen/base and template.h. */
#ifndef WS_PTX_H
#define WS_PTX_H
#include "template.h"

enum ws_reg_class { WS_REG_PRED, WS_REG_B32, WS_REG_F32, WS_REG_B64, WS_REG_B16, WS_REG_CLASSES };

struct ws_reg_set;        /* one .reg line */
struct ws_ptx {
  struct ws_arena *arena;
  struct ws_diags *diags;
  const struct ws_templates *templates;
  struct ws_buf *out;     /* where the next instruction goes */
  struct ws_reg_set *regs;
  size_t nregs, regs_cap;
  int version;            /* lowest PTX ISA version so far, times ten */
  unsigned labels;
};

void ws_ptx_init(struct ws_ptx *p, struct ws_arena *a, struct ws_diags *d, const struct ws_templates *t);

/* A register %NAME (declared once; asking again gives the same), or n registers %NAME_0 .. %NAME_n-1. */
const char *ws_ptx_reg(struct ws_ptx *p, enum ws_reg_class c, const char *name);
const char **ws_ptx_regs(struct ws_ptx *p, enum ws_reg_class c, const char *name, size_t n);
const char **ws_ptx_temps(struct ws_ptx *p, enum ws_reg_class c, const char *name, size_t n); /* %NAME0 ..; NAME ends in no digit */
const char *ws_ptx_label(struct ws_ptx *p, const char *what); /* a fresh $what_N */

/* Expands a template into p->out. */
void ws_ptx_op(struct ws_ptx *p, const char *tmpl, const char *const *args, size_t n);
void ws_ptx_op_list(struct ws_ptx *p, const char *tmpl, const char *const *args, size_t n, const struct ws_list *lists, size_t nlists);
#define WS_ARGS(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define WS_OP(P, TMPL, ...) ws_ptx_op((P), (TMPL), WS_ARGS(__VA_ARGS__))
#define WS_OP0(P, TMPL) ws_ptx_op((P), (TMPL), NULL, 0)

const char *ws_ptx_int(struct ws_ptx *p, long v);     /* an integer immediate */
const char *ws_ptx_float(struct ws_ptx *p, double v); /* 0fXXXXXXXX */

/* Copies code to p->out with the comments behind instructions in one column. */
void ws_ptx_aligned(struct ws_ptx *p, const char *code);

/* The lines `.reg .f32 %S_<64>;` of everything asked for so far, as a list of one field for the module template. */
struct ws_list ws_ptx_reg_lines(struct ws_ptx *p);
#endif
