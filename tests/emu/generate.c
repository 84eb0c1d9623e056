#include "generate.h"
#include "cuda_abi.h"
#include "isa.h"
#include "wsemu.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define X(need, name, params) ws_cu_result name params;
WS_CU_FUNCTIONS(X)
#undef X

struct writer {
  const uint8_t *bytes;
  size_t left;
  char *out;
  size_t at, cap;
  int target;     /* of targets[] */
  bool allocated; /* tensor memory */
};
static const struct { const char *name; int sm; } targets[] = {{"sm_80", 80}, {"sm_90a", 90}, {"sm_100a", 100}, {"sm_103a", 103}};

static uint32_t pick(struct writer *w, uint32_t n) { /* below n */
  uint32_t v = 0;
  for (int i = 0; i < (n > 256 ? 2 : 1) && w->left; i++, w->left--) v = v << 8 | *w->bytes++;
  return v % n;
}
__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *fmt, ...) {
  va_list a;
  va_start(a, fmt);
  int n = w->at < w->cap ? vsnprintf(w->out + w->at, w->cap - w->at, fmt, a) : 0;
  va_end(a);
  if (n > 0) w->at += (size_t)n;
}

/* ---- operands ---- */
static void immediate(struct writer *w, char cls, int bits) {
  static const char *const integers[] = {"0", "1", "-1", "2", "16", "31", "32", "33", "64", "128", "0x7fffffff", "0x80000000", "0xffff", "255", "4", "8"};
  static const char *const floats[] = {"0f00000000", "0f80000000", "0f3F800000", "0f7F800000", "0f7FFFFFFF", "0f00000001", "0f7F7FFFFF", "0fCF000000"};
  if (cls == 'f' && bits == 64) put(w, "0d%016llX", (unsigned long long)(0x3ff0000000000000u << pick(w, 3)));
  else if (cls == 'f' && bits == 32) put(w, "%s", floats[pick(w, 8)]);
  else put(w, "%s", integers[pick(w, 16)]);
}
static void reg(struct writer *w, int bits) {
  if (bits == 1) put(w, "p%u", pick(w, 4));
  else if (bits <= 16) put(w, "h%u", pick(w, 8));
  else if (bits == 32) put(w, "r%u", 2 + pick(w, 18));
  else if (bits == 64) put(w, "x%u", 2 + pick(w, 6));
  else put(w, "z%u", pick(w, 2));
}
static void value(struct writer *w, char cls, int bits, bool written) {
  uint32_t how = written ? 9 : pick(w, 10);
  if (!how && bits >= 16 && bits <= 64) immediate(w, cls, bits);
  else if (bits == 8 && cls == 'f') put(w, "c%u", pick(w, 4)); /* two of four bits */
  else reg(w, bits);
}
static void address(struct writer *w, char space, const struct isa_use *u) {
  static const char *const shared[] = {"s", "s+16", "s+1024", "r0", "r1", "r1+256", "s+8184", "bar", "bar", "bar+8", "s+8190", "r2", "r3+4"};
  static const char *const global[] = {"x0", "x1", "x1+16", "x0+4096", "gv", "gv+8", "x0+65532", "x2", "x4"};
  static const char *const generic[] = {"x0", "x1", "x2", "x3", "x4", "x2+64", "gv"};
  static const char *const tensor[] = {"t0", "t0+8", "r4", "t1", "r5"};
  static const struct { const char *mod; char space; } spaces[] = {{".shared", 's'}, {".shared::cta", 's'}, {".shared::cluster", 's'}, {".global", 'g'}, {".local", 'l'}, {".const", 'k'}, {".param", 'p'}, {".param::entry", 'p'}};
  for (size_t i = 0; !space && i < sizeof spaces / sizeof *spaces; i++)
    if (ws_emu_has(u, spaces[i].mod)) space = spaces[i].space;
  const char *text = space == 's' || space == 'c' ? shared[pick(w, 13)] : space == 'g' ? global[pick(w, 9)] : space == 'm' ? tensor[pick(w, 5)]
                   : space == 'l' ? (pick(w, 4) ? "l+16" : "r6") : space == 'k' ? (pick(w, 4) ? "cv" : "cv+8") : space == 'p' ? (pick(w, 4) ? "in" : "tm+16") : generic[pick(w, 7)];
  put(w, "[%s]", text);
}
static void coordinates(struct writer *w, const struct isa_use *u) {
  uint32_t n = ws_emu_has(u, ".tile::gather4") || ws_emu_has(u, ".tile::scatter4") ? 5 : 2;
  for (int d = 1; d <= 5 && n == 2; d++) {
    char mod[8];
    snprintf(mod, sizeof mod, ".%dd", d);
    if (ws_emu_has(u, mod)) n = (uint32_t)d;
  }
  put(w, "[map, {");
  for (uint32_t i = 0; i < n; i++) put(w, "%s%d", i ? ", " : "", (int)pick(w, 20) * 8 - 24);
  put(w, "}]");
}
static void vector(struct writer *w, char cls, int bits, uint32_t n, bool written, bool sink) {
  uint32_t from = pick(w, 18);
  if (n == 1 && pick(w, 2)) { value(w, cls, bits, written); return; }
  put(w, "{");
  for (uint32_t i = 0; i < n; i++) {
    put(w, "%s", i ? ", " : "");
    if (sink && !pick(w, 12)) put(w, "_");
    else if (written && bits == 32 && n > 8) put(w, "v%u", i); /* an accumulator of its own */
    else if (written && bits == 32) put(w, "r%u", 2 + (from + i) % 18);
    else if (written && bits == 64) put(w, "x%u", 2 + i % 6);
    else reg(w, bits);
  }
  put(w, "}");
}
/* The number of registers of wgmma's and tcgen05's data, as their names tell. */
static uint32_t data_registers(const struct isa_use *u) {
  static const struct { const char *shape; uint32_t n; } per[] = {{".16x64b", 1}, {".16x128b", 2}, {".16x256b", 4}};
  uint32_t n = 1;
  for (int i = 0; i < u->nmods; i++) {
    unsigned a, m;
    if (sscanf(u->mods[i], ".x%u", &a) == 1) n *= a;
    if (sscanf(u->mods[i], ".m64n%uk", &m) == 1) n *= m / 2 / (u->type[0] == T_F16 ? 2 : 1);
    for (size_t k = 0; k < sizeof per / sizeof *per; k++)
      if (!strcmp(u->mods[i], per[k].shape)) n *= per[k].n;
  }
  return n < 1 ? 1 : n > 128 ? 128 : n;
}

static void operand(struct writer *w, const char *p, const struct isa_use *u) {
  bool written = *p == '=';
  p += written;
  char code = *p, cls = 'b';
  int bits = code == 'h' ? 16 : code == 'q' || code == 'Q' || code == 'X' ? 64 : code == 'p' ? 1 : 32;
  if (code >= '0' && code <= '3') bits = ws_emu_types[u->type[code - '0']].bits, cls = ws_emu_types[u->type[code - '0']].cls;
  if (code == 'W') bits = 2 * ws_emu_types[u->type[0]].bits, cls = ws_emu_types[u->type[0]].cls;
  if (code == 'X') bits = 32;
  if (strchr(p, 'w') && bits < 64 && !pick(w, 4)) bits = bits < 32 ? 32 : 64, cls = 'b';
  const char *brace = strchr(p, '{');
  switch (code) {
    case '@': address(w, p[1] && strchr("scgmn", p[1]) ? p[1] == 'n' ? 0 : p[1] : 0, u); return;
    case 't': coordinates(w, u); return;
    case '_': put(w, "_"); return;
    case '#': case 'N': put(w, "%u", 1u << pick(w, 10)); return;
    case 'S': put(w, "%u", pick(w, 20)); return;
    case 'i': put(w, "%d", (int)pick(w, 3) - 1); return;
    case 'I': put(w, "%u", pick(w, 17)); return;
    case 'H': put(w, "%u", 32 * pick(w, 5)); return;
    case 'D': if (pick(w, 2)) put(w, "x6"); else put(w, "[t0]"); return;
    case 'X': put(w, "[t1]"); return;
    case 'A': if (pick(w, 2)) put(w, "x6"); else vector(w, 'b', 32, 4, false, false); return;
    case 'M': reg(w, ws_emu_types[u->type[0]].bits); put(w, ", "); reg(w, ws_emu_types[u->type[0]].bits); return;
    default: break;
  }
  if (brace) vector(w, cls, bits, brace[1] == 'D' ? data_registers(u) : (uint32_t)(brace[1] - '0'), written, false);
  else if (strchr(p, '*') && u->vec > 1) vector(w, cls, bits, u->vec, written, written);
  else value(w, cls, bits, written);
  if (strstr(p, "|p") && !pick(w, 3)) put(w, "|p%u", pick(w, 4));
}

/* ---- instructions ---- */
static bool fits(const struct writer *w, const struct isa_row *r) {
  int sm = targets[w->target].sm;
  return r->sm <= sm && !(r->effects & E_UNSYNC) && !((r->effects & E_CHIP) && r->sm != sm) && !strpbrk(r->operands, "LC(T") && !strchr(r->mnemonic, ' ');
}
static void spell(struct writer *w, const struct isa_row *r, char *name, size_t n) {
  size_t at = (size_t)snprintf(name, n, "%s", r->mnemonic);
  for (const char *p = r->modifiers; *p; p += strcspn(p, " "), p += *p == ' ') {
    char kind = *p == '?' || *p == '~' ? *p++ : 0;
    size_t place = strcspn(p, " "), count = 1;
    for (size_t i = 0; i < place; i++) count += p[i] == '|';
    if (kind && pick(w, 3)) continue;
    const char *a = p;
    for (uint32_t k = pick(w, (uint32_t)count); k; k--) a += strcspn(a, "|") + 1;
    at += (size_t)snprintf(name + at, at < n ? n - at : 0, "%.*s", (int)strcspn(a, "| "), a);
    if (at >= n) at = n - 1;
  }
}
static void instruction(struct writer *w) {
  const struct isa_row *r = NULL;
  char name[256], why[128], pattern[16];
  struct isa_use u;
  for (int tries = 0; !r && tries < 8; tries++) {
    r = &ws_emu_isa[pick(w, (uint32_t)ws_emu_isa_rows)];
    if (!fits(w, r) || ((r->effects & (E_END | E_BRANCH)) && pick(w, 4)) || (!strcmp(r->mnemonic, "brkpt") && pick(w, 4))) r = NULL;
  }
  if (!r) return;
  spell(w, r, name, sizeof name);
  if (!ws_emu_isa_match(name, &u, why, sizeof why)) return;
  uint32_t guard = r->effects & E_ALIGNED ? 9 : pick(w, 10);
  if (guard < 2) put(w, guard ? "@!p%u " : "@p%u ", pick(w, 4));
  put(w, "%s", name);
  bool first = true;
  for (const char *p = u.row->operands; *p; p += strcspn(p, " "), p += *p == ' ') {
    snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(p, " "), p);
    if (strpbrk(pattern, "?^+") && pick(w, 2)) continue;
    put(w, first ? " " : ", ");
    operand(w, pattern, &u);
    first = false;
  }
  put(w, ";\n");
}

static void prologue(struct writer *w) {
  int sm = targets[w->target].sm;
  put(w, ".version 9.1\n.target %s\n.address_size 64\n.global .align 32 .b8 gv[256];\n.const .align 16 .b8 cv[64] = {1, 2, 3};\n"
         ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 tm[128])\n.maxntid 64\n.minnctapersm 1\n%s{\n"
         ".shared .align 1024 .b8 s[8192];\n.shared .align 8 .b64 bar[2];\n.local .align 16 .b8 l[64];\n.reg .pred p<4>;\n.reg .b16 h<8>;\n.reg .b8 c<4>;\n.reg .b32 r<20>, v<128>, t<2>;\n"
         ".reg .b64 x<8>, map;\n.reg .b128 z<2>;\n", targets[w->target].name, sm >= 90 && pick(w, 2) ? ".reqnctapercluster 2, 1, 1\n" : "");
  put(w, "ld.param.u64 x0, [in];\ncvta.to.global.u64 x0, x0;\nmov.u32 r0, s;\nmov.u32 r10, %%tid.x;\nmad.lo.u32 r1, r10, 16, r0;\nmul.wide.u32 x1, r10, 16;\nadd.u64 x1, x1, x0;\n"
         "cvt.u64.u32 x2, r0;\ncvta.shared.u64 x2, x2;\nmov.u64 x3, l;\ncvta.local.u64 x3, x3;\nld.param.u64 x4, [out];\nmov.b64 map, tm;\ncvta.param.u64 map, map;\n"
         "setp.eq.u32 p0, r10, 0;\nsetp.lt.u32 p1, r10, %u;\nsetp.ne.u32 p2, r10, r10;\nnot.pred p3, p2;\n", pick(w, 65));
  for (int i = 2; i < 20; i++)
    if (i != 10) put(w, "mov.b32 r%d, %d;\n", i, i * 5 - 20);
  for (int i = 0; i < 8; i++) put(w, "mov.b16 h%d, %d;\n", i, i * 4660);
  for (int i = 0; i < 4; i++) put(w, "{ .reg .b8 hi; mov.b16 {c%d, hi}, h%d; }\n", i, i + 1);
  for (int i = 0; i < 128; i++) put(w, "mov.b32 v%d, %d;\n", i, i);
  put(w, "mov.b64 x5, 0x3ff0000000000000;\nmov.b64 x6, 0x4000004000010000;\nmov.b64 x7, -1;\nmov.b128 z0, {x5, x6};\nmov.b128 z1, {x7, x6};\nmov.b32 t0, 0;\nmov.b32 t1, 64;\n"
         "@p0 mbarrier.init.shared.b64 [bar], %u;\n@p0 mbarrier.init.shared.b64 [bar+8], 64;\nbar.sync 0;\n", 1 + pick(w, 64));
  w->allocated = sm >= 100 && pick(w, 4);
  if (w->allocated)
    put(w, "setp.lt.u32 p2, r10, 32;\n@p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 128;\nbar.sync 0;\nld.shared.b32 t0, [s];\nadd.u32 t1, t0, 64;\n");
}

bool generate_kernel(const uint8_t *bytes, size_t n, char *out, size_t cap) {
  struct writer w = {bytes, n, out, 0, cap, 0, false};
  w.target = (int)pick(&w, sizeof targets / sizeof *targets);
  prologue(&w);
  bool label = false;
  for (uint32_t i = 1 + pick(&w, 12); i; i--) {
    if (!label && !pick(&w, 8)) put(&w, "@p1 bra OVER;\n"), label = true;
    instruction(&w);
  }
  put(&w, "%sst.global.b32 [x1], r2;\n", label ? "OVER:\n" : "");
  if (w.allocated) put(&w, "bar.sync 0;\nsetp.lt.u32 p2, r10, 32;\n@p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t0, 128;\n");
  put(&w, "ret;\n}\n");
  return w.at < cap;
}

const char *generate_run(const char *ptx, bool launch, bool *ran) {
  static ws_cu_deviceptr memory;
  static _Alignas(128) uint8_t map[128];
  char message[256] = "";
  struct CUmod_st *m = NULL;
  struct CUfunc_st *f = NULL;
  *ran = false;
  if (!memory) {
    const uint64_t extents[] = {64, 64}, strides[] = {128};
    const uint32_t box[] = {64, 8}, steps[] = {1, 1};
    struct CUctx_st *context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context) || cuMemAlloc_v2(&memory, 65536)) return "no context";
    if (cuTensorMapEncodeTiled((void *)map, WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)memory, extents, strides, box, steps, 0, WS_CU_TENSOR_MAP_SWIZZLE_128B, 0, 0))
      return "no tensor map";
  }
  if (cuModuleLoadData(&m, ptx)) {
    wsemuLastMessage(message, sizeof message);
    return *message ? NULL : "a refusal without a message";
  }
  if (launch && !cuModuleGetFunction(&f, m, "k")) {
    enum { MOST_PARAMETERS = 4096, MOST_BYTES = 1 << 16 }; /* whatever the text declares */
    static union { uint64_t value; _Alignas(128) uint8_t bytes[MOST_BYTES]; } pointer, number, tensor;
    static void *args[MOST_PARAMETERS];
    pointer.value = memory;
    number.value = 64;
    memcpy(tensor.bytes, map, sizeof map);
    for (int i = 0; i < MOST_PARAMETERS; i++) args[i] = i < 2 ? &pointer : i == 2 ? (void *)&tensor : (void *)&number;
    ws_cu_result r = cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
    *ran = !r;
    if (r) wsemuLastMessage(message, sizeof message);
    if (r && !*message) return "a fault without a message";
  }
  if (cuModuleUnload(m)) return "a module that cannot be unloaded";
  return cuCtxSynchronize() ? "a context that is not whole after its module was unloaded" : NULL;
}
