/* The instruction table: what the emulator knows of each PTX instruction.
 *
 * isa.def is the one list. From it derive the match of a mnemonic with its modifiers, the binding of operands
 * (decode.c), the version and target gate, the dispatch (level.h: one family of exec_*.c a row) and the coverage list.
 *
 * A modifier pattern is a list of places separated by spaces; a place offers alternatives:
 *   .a|.b    exactly one of them       ?.a|.b   one or none       ~.a|.b   one or none, without effect on the result
 * Types among the matched modifiers are collected in order: type 0, type 1 ..
 *
 * An operand pattern is a list of operands separated by spaces:
 *   [=] CODE [w] [{n} | *] [|p] [?]
 *   =  written, else read     CODE  0..3 a register of that type (or an immediate)  b 32 bits  h 16 bits  q 64 bits
 *   p  predicate              W     twice the width of type 0                       #  an integer constant
 *   _  must be _              i     a small constant, packed into imm                A  wgmma's A: a descriptor or {4}
 *   t  the generic address of a tensor map, and coordinates
 *   @  an address: @s @c @g @m @n in shared::cta, shared::cluster, global, tensor memory, generic, else in the space among the modifiers
 *   I H N 32 bits: the number of a barrier, a thread count, a number of columns
 *   X     an address in tensor memory, Q 64 bits: kept among the vector operands
 *   D     tcgen05's A: a descriptor (the first of two slots) or an address in tensor memory (the second)
 *   L     label   F  function   (  argument list          T  target list
 *   w  any register at least as wide as the type (PTX ISA "Operand Size Exceeding Instruction-Type Size")
 *   {n} vector of n   {D} of wgmma's accumulators or tcgen05's data   * vector of the .v2/.v4/.v8 modifier, or one   +  optional, from sm_100 and .version 8.8 on   ^  optional, from sm_90 and .version 7.8 on   !  no sink   |p  may name a second, predicate, result   ?  optional
 */
#ifndef WS_EMU_ISA_H
#define WS_EMU_ISA_H
#include "ptx.h"

enum isa_effect {
  E_NONE = 0,
  E_READ = 1,     /* reads memory */
  E_WRITE = 2,    /* writes memory */
  E_ATOMIC = 4,
  E_SYNC = 8,     /* waits for or releases other threads */
  E_ASYNC = 16,   /* starts work that completes later */
  E_WARP = 32,    /* exchanges data between lanes */
  E_BRANCH = 64,  /* may change the program counter */
  E_END = 128,    /* ends threads */
  E_ALIGNED = 256, /* all threads of the warp must execute it together (.aligned, also where implied) */
  E_ARCH = 512,    /* architecture-specific: the target needs its suffix */
  E_PROXY = 1024,   /* reads shared memory through the async proxy */
  E_REGISTERS = 2048, /* changes how many registers a thread has */
  E_CHIP = 4096, /* on that very target only: no newer one has it */
  E_ORDER = 8192, /* modelled as far as it orders things, or not even that: a hint */
  E_RULED = 16384, /* representative: some bits of the result are a ruling of this emulator's, see README.md */
  E_UNSYNC = 32768 /* exchanges between whatever lanes are there: not from sm_70 and .version 6.4 on */
};

enum isa_family { FAM_CONTROL, FAM_INT, FAM_FLOAT, FAM_HALF, FAM_CMP, FAM_MOVE, FAM_CVT, FAM_MEM, FAM_ATOM, FAM_ASYNC, FAM_WARP, FAM_SYNC,
                  FAM_MATRIX, FAM_MBAR, FAM_CLUSTER, FAM_WGMMA, FAM_BULK, FAM_TENSOR, FAM_TCMMA, FAM_COUNT };

struct isa_row {
  const char *mnemonic, *modifiers, *operands;
  uint8_t ptx; /* least .version, times 10 */
  uint8_t sm;  /* least target */
  uint16_t effects;
  uint8_t family;
  const char *section; /* PTX ISA section */
};
extern const struct isa_row ws_emu_isa[];
extern const size_t ws_emu_isa_rows;

enum { ISA_MAX_MODS = 24, ISA_MAX_TYPES = 6 };
struct isa_use { /* one instruction name, matched */
  const struct isa_row *row;
  uint8_t nmods, ntypes, vec; /* vec: 1, 2, 4 or 8 */
  bool ignored[ISA_MAX_MODS];
  char mods[ISA_MAX_MODS][40]; /* with the dot */
  uint8_t type[ISA_MAX_TYPES];
  char key[200];               /* mnemonic and the modifiers that matter, "add.rn.f32" */
};

/* Matches a full name such as "ld.global.v4.u32". On failure returns false with a reason in why. */
bool ws_emu_isa_match(const char *name, struct isa_use *u, char *why, size_t n);
bool ws_emu_has(const struct isa_use *u, const char *mod); /* one of the matched modifiers, written with its dot */
/* What the ISA has and the table has not, with the reason. */
struct isa_refused {
  const char *forms, *reason;
  const char *names; /* patterns of instruction names, for the message (isa.c); "" where the table or the operands decide */
};
extern const struct isa_refused ws_emu_isa_refused[]; /* ends with NULLs */
/* The coverage list as a Markdown table. Writes at most n bytes with the terminator, returns the full length. */
size_t ws_emu_isa_list(char *out, size_t n);
#endif
