/* Shared by the files of gen/probe. */
#ifndef WS_PROBE_PLACE_H
#define WS_PROBE_PLACE_H
#include "lower/lower.h"
#include "probe/probe.h"

struct probe {                  /* one request, resolved */
  struct ws_schedule *s;
  const struct ws_probe_request *q;
  struct ws_arena *a;
  const struct ws_bufferm *buffer;
  const struct ws_var *var;
  const struct ws_programm *prog; /* of var */
  int rows, cols;               /* of the tile */
  int row0, row1, col0, col1;   /* shown */
};

struct place {                  /* in shared memory */
  long address;                 /* bytes from %smem */
  int panel, unit, lies;        /* 16-byte unit within the panel's row, before and after the swizzle; -1 = rows have no units */
  int bank;
};
struct place ws_probe_smem(const struct probe *p, int row, int col);
long ws_probe_base(const struct probe *p); /* of the slot */

/* In tensor memory: lane and column; half 0 or 1 of the 32 bits, -1 = all of them. */
struct tmem_place {
  int lane, column, half;
};
struct tmem_place ws_probe_tmem(const struct probe *p, int row, int col);

/* In registers: copies of a vector's elements lie in several lanes or warps. */
struct register_place {
  int warp, lane;               /* the first; within an instance of the role */
  int warps, lanes, step;       /* how many have it: lanes lane, lane + step, ... */
  int number, half;             /* register %NAME_number; half 0 low, 1 high, -1 = the whole register */
};
struct register_place ws_probe_register(const struct probe *p, int row, int col);
int ws_probe_registers(const struct probe *p); /* of a thread */

enum { PROBE_LINES = 16 };
struct product {                /* products that read the buffer through the same descriptor */
  const struct ws_programm *prog;
  const struct ws_act *act;     /* the first of them */
  unsigned line[PROBE_LINES];   /* of the spec */
  int nlines;
  bool a;                       /* as its left operand */
  struct operand o;
  int steps;
  int m, n;                     /* of the instruction, in this CTA */
  int ctas;                     /* that it multiplies for: each has as much */
};
struct products {
  struct product *list;
  size_t n, cap;
};
struct products ws_probe_products(const struct probe *p);
const char *ws_probe_lines(const struct probe *p, const struct product *x, const char *one, const char *many);
struct words {                  /* a descriptor of step k, for %smem = 0 */
  unsigned low, high;
};
struct words ws_probe_words(const struct probe *p, const struct product *x, int k);

void ws_probe_text_list(const struct ws_schedule *s, struct ws_buf *o);
void ws_probe_text(const struct probe *p, struct ws_buf *o);
void ws_probe_picture(const struct probe *p, struct ws_buf *o);
void ws_probe_columns(const struct probe *p, struct ws_buf *o);   /* the picture of tensor memory */
void ws_probe_accesses(const struct probe *p, struct ws_buf *o);  /* who reads and writes the buffer there */
void ws_probe_json_list(const struct ws_schedule *s, struct ws_buf *o);
void ws_probe_json(const struct probe *p, struct ws_buf *o);
bool ws_probe_resolve(struct probe *p, const char **why);
#endif
