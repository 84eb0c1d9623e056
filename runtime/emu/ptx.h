/* A PTX module as text says it: types, symbols, functions and their statements, with every name resolved.
 *
 *   text --ptx_lex.c--> tokens --ptx_parse.c (directives), ptx_stmt.c (bodies)--> struct ptx_module
 *
 * Nothing here knows what an instruction means: a statement is a name and operands. isa.h gives names their meaning,
 * decode.c turns a kernel's statements into executable form. */
#ifndef WS_EMU_PTX_H
#define WS_EMU_PTX_H
#include "pool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- types: X(NAME, text, bits, class) ---- */
#define PTX_TYPES(X)                                                                                                  \
  X(PRED, ".pred", 1, 'p') X(U8, ".u8", 8, 'u') X(U16, ".u16", 16, 'u') X(U32, ".u32", 32, 'u')                      \
  X(U64, ".u64", 64, 'u') X(S8, ".s8", 8, 's') X(S16, ".s16", 16, 's') X(S32, ".s32", 32, 's')                       \
  X(S64, ".s64", 64, 's') X(B8, ".b8", 8, 'b') X(B16, ".b16", 16, 'b') X(B32, ".b32", 32, 'b')                       \
  X(B64, ".b64", 64, 'b') X(B128, ".b128", 128, 'b') X(F16, ".f16", 16, 'f') X(F32, ".f32", 32, 'f')                 \
  X(F64, ".f64", 64, 'f') X(F16X2, ".f16x2", 32, 'f') X(BF16, ".bf16", 16, 'f') X(BF16X2, ".bf16x2", 32, 'f')        \
  X(TF32, ".tf32", 32, 'f') X(E4M3, ".e4m3", 8, 'f') X(E5M2, ".e5m2", 8, 'f') X(E4M3X2, ".e4m3x2", 16, 'f')          \
  X(E5M2X2, ".e5m2x2", 16, 'f') X(F32X2, ".f32x2", 64, 'f') X(U16X2, ".u16x2", 32, 'u') X(S16X2, ".s16x2", 32, 's') \
  X(E2M1, ".e2m1", 8, 'f') X(E2M3, ".e2m3", 8, 'f') X(E3M2, ".e3m2", 8, 'f') X(E2M1X2, ".e2m1x2", 8, 'f')             \
  X(E2M3X2, ".e2m3x2", 16, 'f') X(E3M2X2, ".e3m2x2", 16, 'f') X(UE8M0X2, ".ue8m0x2", 16, 'f')                         \
  X(E2M1X4, ".e2m1x4", 16, 'f') X(E2M3X4, ".e2m3x4", 32, 'f') X(E3M2X4, ".e3m2x4", 32, 'f')                           \
  X(E4M3X4, ".e4m3x4", 32, 'f') X(E5M2X4, ".e5m2x4", 32, 'f')
enum ptx_type {
#define X(name, text, bits, cls) T_##name,
  PTX_TYPES(X)
#undef X
      T_COUNT,
  T_NONE = 255
};
struct ptx_type_info {
  const char *text;
  uint8_t bits;
  char cls; /* 'u' 's' integers, 'f' floating point, 'b' untyped, 'p' predicate */
};
extern const struct ptx_type_info ws_emu_types[T_COUNT];

/* ---- state spaces ---- */
enum ptx_space { SP_GENERIC, SP_REG, SP_GLOBAL, SP_SHARED, SP_CONST, SP_LOCAL, SP_PARAM,
                 SP_CLUSTER /* shared memory of any CTA of the cluster */, SP_TENSOR };

/* ---- special registers: X(NAME, text, type, fixed: a slot filled when the warp starts) ---- */
#define PTX_SREGS(X)                                                                                                  \
  X(TID_X, "%tid.x", U32, 1) X(TID_Y, "%tid.y", U32, 1) X(TID_Z, "%tid.z", U32, 1)                                   \
  X(NTID_X, "%ntid.x", U32, 1) X(NTID_Y, "%ntid.y", U32, 1) X(NTID_Z, "%ntid.z", U32, 1)                             \
  X(CTAID_X, "%ctaid.x", U32, 1) X(CTAID_Y, "%ctaid.y", U32, 1) X(CTAID_Z, "%ctaid.z", U32, 1)                       \
  X(NCTAID_X, "%nctaid.x", U32, 1) X(NCTAID_Y, "%nctaid.y", U32, 1) X(NCTAID_Z, "%nctaid.z", U32, 1)                 \
  X(LANEID, "%laneid", U32, 1) X(WARPID, "%warpid", U32, 1) X(NWARPID, "%nwarpid", U32, 1)                           \
  X(SMID, "%smid", U32, 1) X(NSMID, "%nsmid", U32, 1) X(GRIDID, "%gridid", U64, 1)                                   \
  X(LANEMASK_EQ, "%lanemask_eq", U32, 1) X(LANEMASK_LE, "%lanemask_le", U32, 1)                                      \
  X(LANEMASK_LT, "%lanemask_lt", U32, 1) X(LANEMASK_GE, "%lanemask_ge", U32, 1)                                      \
  X(LANEMASK_GT, "%lanemask_gt", U32, 1) X(DYN_SMEM, "%dynamic_smem_size", U32, 1)                                   \
  X(TOTAL_SMEM, "%total_smem_size", U32, 1) X(AGGR_SMEM, "%aggr_smem_size", U32, 1)                                  \
  X(CLUSTERID_X, "%clusterid.x", U32, 1) X(CLUSTERID_Y, "%clusterid.y", U32, 1)                                      \
  X(CLUSTERID_Z, "%clusterid.z", U32, 1) X(NCLUSTERID_X, "%nclusterid.x", U32, 1)                                    \
  X(NCLUSTERID_Y, "%nclusterid.y", U32, 1) X(NCLUSTERID_Z, "%nclusterid.z", U32, 1)                                  \
  X(CLUSTER_CTAID_X, "%cluster_ctaid.x", U32, 1) X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", U32, 1)                      \
  X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", U32, 1) X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", U32, 1)                    \
  X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", U32, 1) X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", U32, 1)                  \
  X(CLUSTER_CTARANK, "%cluster_ctarank", U32, 1) X(CLUSTER_NCTARANK, "%cluster_nctarank", U32, 1)                    \
  X(RESERVED_END, "%reserved_smem_offset_end", U32, 1) X(ZERO, "%envreg0", U32, 1) X(ZERO64, "%current_graph_exec", U64, 1)                  \
  X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", PRED, 1)                                                            \
  X(CLOCK, "%clock", U32, 0) X(CLOCK_HI, "%clock_hi", U32, 0) X(CLOCK64, "%clock64", U64, 0)                         \
  X(GLOBALTIMER, "%globaltimer", U64, 0) X(GLOBALTIMER_LO, "%globaltimer_lo", U32, 0)                                \
  X(GLOBALTIMER_HI, "%globaltimer_hi", U32, 0)
enum ptx_sreg {
#define X(name, text, type, fixed) SR_##name,
  PTX_SREGS(X)
#undef X
      SR_COUNT
};
struct ptx_sreg_info {
  const char *text;
  uint8_t type, fixed;
};
extern const struct ptx_sreg_info ws_emu_sregs[SR_COUNT];

/* ---- symbols ---- */
struct ptx_func;
enum ptx_sym_kind { SYM_REG, SYM_REG_RANGE, SYM_VAR, SYM_LABEL, SYM_FUNC, SYM_TARGETS, SYM_PROTO };
struct ptx_init_ref { /* an initialiser that holds an address */
  uint64_t offset;
  struct ptx_sym *of;
  int64_t addend;
  uint8_t bytes, shift; /* shift: of a byte taken by a mask, 0xff00(x) and the like */
  bool generic;
};
struct ptx_sym {
  const char *name;
  struct ptx_sym *next;      /* hash chain */
  struct ptx_sym *all;       /* the module's or function's list of variables */
  uint32_t depth;            /* scope depth of the declaration */
  uint8_t kind, type, space; /* enum ptx_sym_kind, ptx_type, ptx_space */
  bool is_extern, is_array, defined;
  uint32_t line, col;
  uint32_t align;
  uint64_t size;             /* bytes of a variable; count of a register range */
  uint8_t *init;             /* `size` bytes, or NULL */
  struct ptx_init_ref *refs; /* addresses inside init */
  size_t nrefs;
  uint8_t lanes;             /* vector registers: elements; else 0 */
  uint32_t *elements;        /* their dense numbers, or NULL while none is used; of a range they are not kept here */
  uint32_t id;               /* registers: dense number; variables: index in their list; labels: statement */
  struct ptx_func *func;     /* SYM_FUNC */
  struct ptx_sym **targets;  /* SYM_TARGETS: labels */
  uint32_t ntargets;
  uint64_t address;          /* variables in global and const space, once the module is loaded */
};

/* ---- statements ---- */
enum ptx_operand_kind {
  OPD_REG,  /* reg: dense register number */
  OPD_SREG, /* sreg */
  OPD_INT,  /* imm: the value's bits */
  OPD_F32,  /* imm: the bits of an 0f literal */
  OPD_F64,  /* imm: the bits of an 0d or decimal floating literal */
  OPD_SYM,  /* variable, function, label or target list `sym`, plus imm */
  OPD_VEC,  /* { sub[0], .. } */
  OPD_ADDR, /* [sub[0] + imm, sub[1], ..] */
  OPD_LIST, /* ( sub[0], .. ) of a call */
  OPD_SINK  /* _ */
};
struct ptx_operand {
  uint8_t kind, sreg;
  bool negated;               /* !p */
  uint16_t nsub;
  uint32_t reg, line, col;
  uint64_t imm;
  struct ptx_sym *sym;
  struct ptx_operand *sub;
  struct ptx_operand *second; /* the b of a|b */
};
struct ptx_inst {
  const char *name;           /* with all modifiers, "ld.global.v4.u32" */
  uint32_t line, col, begin;  /* where the statement starts; begin: its byte offset in the text */
  uint32_t loc_file, loc_line; /* the .loc in force, 0 = none */
  uint32_t guard;             /* dense predicate register or PTX_NO_REG */
  bool guard_not;
  uint8_t nops;
  struct ptx_operand *ops;
};
#define PTX_NO_REG UINT32_MAX

struct ptx_reg { /* a register that the function uses */
  const char *name;
  uint8_t type;
};
struct ptx_func {
  struct ptx_func *next;
  struct ptx_sym *sym;
  bool is_entry, has_body, visible, noreturn;
  struct ptx_sym **params, **rets; /* variables in param or reg space */
  uint32_t nparams, nrets;
  uint64_t param_bytes;            /* of an entry: parameters laid out in order, each naturally aligned */
  struct ptx_inst *insts;
  size_t ninsts, cap;
  struct ptx_reg *regs;
  size_t nregs, cap_regs;
  struct ptx_sym *vars;            /* shared, local and param variables declared in the body, chained by `all` */
  uint32_t nvars;                  /* these and the param-space parameters and results, numbered by `id` */
  uint32_t reqntid[3], maxntid[3], reqncluster[3]; /* 0 = not given */
  uint32_t minnctapersm, maxnreg, maxclusterrank;
  bool explicit_cluster, blocks_are_clusters;
};
struct ptx_file {
  uint32_t index;
  const char *name;
};
struct ptx_module {
  struct ws_emu_pool pool;
  const char *text; /* the pool's own copy */
  size_t text_len;
  uint32_t version; /* 10 * major + minor */
  uint32_t sm;      /* 80, 90, 100 .. */
  char sm_suffix;   /* 'a', 'f' or 0 */
  struct ptx_func *funcs;
  struct ptx_sym *vars; /* module-scope variables, chained by `all`, last first */
  struct ptx_file *files;
  size_t nfiles, cap_files;
};

/* Parses `len` bytes of text. Returns the module, or NULL with "LINE:COL: error: ..." in err (n bytes, terminated).
 * Never reads past len; a NUL byte ends the text. Thread-safe. */
struct ptx_module *ws_emu_parse(const char *text, size_t len, char *err, size_t n);
void ws_emu_module_free(struct ptx_module *m);
struct ptx_func *ws_emu_find_func(struct ptx_module *m, const char *name);
const char *ws_emu_file_name(const struct ptx_module *m, uint32_t index); /* NULL when there is none */
#endif
