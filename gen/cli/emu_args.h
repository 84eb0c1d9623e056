/* The arguments of `warpscore emu`: "KIND:..." as text, arrays in .npy files, values. Internal to emu.c, emu_args.c. */
#ifndef WS_CLI_EMU_ARGS_H
#define WS_CLI_EMU_ARGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emu_arg_kind { EMU_IN, EMU_INOUT, EMU_OUT, EMU_ZERO, EMU_VALUE };
struct emu_type { /* of elements and of values */
  const char *name, *descr; /* "f32", "<f4" */
  unsigned char bytes;
  char cls;                 /* 'u' 's' 'f', or 'h' for types that have no values on the command line */
};
struct emu_arg {
  const char *text;            /* as given */
  enum emu_arg_kind kind;
  const struct emu_type *type; /* arrays: of the elements, NULL for what a file holds */
  int rank;
  int64_t shape[8];
  char descr[16];              /* of the file that was read */
  const char *write;           /* file to write afterwards, NULL = none */
  unsigned char *bytes;        /* an array's elements, owned */
  size_t size;
  uint64_t value;              /* EMU_VALUE: the bits; arrays: the device address */
};

enum { EMU_MAX_ARGS = 256 };
/* Parses one --arg and reads its file. Returns an exit code; a message has been printed unless it is 0. The text must
 * stay; it is cut into pieces. */
int emu_arg_parse(char *text, struct emu_arg *a);
void emu_arg_free(struct emu_arg *a);
int emu_arg_write(const struct emu_arg *a); /* an exit code */
#endif
