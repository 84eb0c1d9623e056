/* State of one decode, shared by decode.c (statements, calls, layout) and bind.c (operands). Internal. */
#ifndef WS_EMU_DECODE_H
#define WS_EMU_DECODE_H
#include "cfg.h"
#include "level.h"
#include "machine.h"

struct instance { /* one inlined copy of a function: its own registers and variables */
  struct ptx_func *f;
  struct instance *parent;
  uint32_t *slot;       /* of each dense register, NO_SLOT until used */
  uint32_t *var;        /* local offset of each local and param variable, NO_SLOT until used */
  uint32_t *pc;         /* decoded index of each statement, and one past the end */
  struct { uint32_t at, stmt; uint32_t *target; } *patches; /* branches to statements */
  size_t npatches, cap_patches;
};
struct shared_var { const struct ptx_sym *sym; uint32_t address; };
struct name_cache { const char *name; struct isa_use *use; };
struct decoder {
  struct kernel *k;
  const struct ptx_module *m;
  const struct level *level;
  struct shared_var *shared;
  size_t nshared, cap_shared;
  struct name_cache *names; /* open hash by pointer-independent name */
  size_t cap_names, nnames;
  uint32_t *const_index;    /* open hash of constants */
  size_t cap_const_index;
  int depth;
  const struct ptx_inst *now;
  struct ws_emu_pool scratch; /* gone when the decode ends */
  struct reg_use *uses;     /* of registers, in the order of instructions */
  size_t nuses, cap_uses;
  enum emu_uninitialised uninitialised;
  unsigned int nwarnings;
  jmp_buf fail;
  int code;
  char *err;
  size_t err_n;
};
_Noreturn void ws_emu_decode_error(struct decoder *d, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* bind.c */
void ws_emu_bind(struct decoder *d, struct instance *s, const struct ptx_inst *p, const struct isa_use *u);
uint32_t ws_emu_new_slot(struct decoder *d, uint32_t bits);
uint32_t ws_emu_reg_slot(struct decoder *d, struct instance *s, uint32_t reg);
uint32_t ws_emu_const_slot(struct decoder *d, uint64_t value, uint32_t bytes);
void ws_emu_note_use(struct decoder *d, uint32_t slot, const char *name, bool written); /* by the newest instruction */
struct inst *ws_emu_emit(struct decoder *d, const struct ptx_inst *p, const struct isa_row *row);
uint32_t ws_emu_var_offset(struct decoder *d, struct instance *s, const struct ptx_sym *y); /* local or param variable */
uint32_t ws_emu_shared_address(struct decoder *d, const struct ptx_sym *y);
void ws_emu_patch(struct decoder *d, struct instance *s, const struct ptx_operand *o, uint32_t at, uint32_t *target);
#endif
