/* gen/probe: where each element of a buffer or of a register tile lies, as `warpscore probe` shows it.
 *
 *   place.c    an element -> its place
 *   words.c    the products that read a buffer, and the words of their matrix descriptors
 *   text.c     lists and tables as text;  picture.c  the units of a buffer as letters;  json.c  the same for programs
 *   kernel.c   a kernel that lays a buffer out on a device, and multiplies it with unit vectors
 *   probe.c    names to declarations
 *
 * Reads the model and gen/lower, and prints nothing itself. This header names no type of the model: the command line, which
 * has tensors of its own, includes it. */
#ifndef WS_PROBE_H
#define WS_PROBE_H
#include "base/diag.h"
#include <stdbool.h>

struct ws_schedule;
struct ws_templates;
struct ws_probe_request {
  const char *buffer, *operand; /* --buffer, --operand: NULL = not asked for; an operand is NAME or ROLE.NAME */
  int element, stage;
  int row0, row1, col0, col1;   /* first and last of the table, where given; else the first sixteen */
  bool rows_given, cols_given;
  bool json, colour;
};

/* What was asked for; neither buffer nor operand: a list of both. False with *why: a name, row or column that is not there.
 * All strings are from the schedule's arena. */
bool ws_probe_print(struct ws_schedule *s, const struct ws_probe_request *q, struct ws_buf *out, const char **why);

const char *ws_probe_buffer_name(const struct ws_schedule *s, int i); /* NULL behind the last */

/* The check. Elements carry their number, of which a 16-bit product sees one byte at a time: `pass` 0 low, 1 high. */
enum { WS_PROBE_IDENTITY = 128 * 16 };     /* elements of the unit vectors: 128 rows of 16 */
struct ws_probe_kernel {
  const char *ptx;
  size_t length;
  int rows, cols, bits;       /* of the tile */
  long base, bytes;           /* of the slot in shared memory */
  bool bf16, tma, tmem;       /* brought by TMA; in tensor memory: `bytes` are those of its 128 lanes */
  int nproducts;              /* operand views that are multiplied */
  struct ws_probe_product {
    const char *what;         /* "B of line 82, MN-major" */
    int m, n;                 /* rows and columns of an output */
    bool a;                   /* the buffer is A: D[row, k]; else B: D[k, column] */
    int steps;
    long first;               /* of its outputs, in elements of the result */
    int row0, col0;           /* of the part that the product reads */
    bool transposed;          /* K runs along the tile's rows */
  } *product;
  long results;               /* f32 elements in all */
};
/* NULL with *why where this buffer cannot be checked. */
struct ws_probe_kernel *ws_probe_kernel(struct ws_schedule *s, const struct ws_templates *t, const struct ws_probe_request *q, const char **why);
/* Bytes from the start of the slot to an element, as the probe says. */
long ws_probe_offset(struct ws_schedule *s, const struct ws_probe_request *q, int row, int col);
/* Byte of element (row, k) in the image of the unit vectors: 32 bytes a row, swizzled over them. */
static inline int ws_probe_identity_byte(int row, int k) { return row * 32 + ((k / 8) ^ (row >> 2 & 1)) * 16 + k % 8 * 2; }
#endif
