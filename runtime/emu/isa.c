/* Matching an instruction's name against the table. */
#include "isa.h"
#include <stdio.h>
#include <string.h>

const struct isa_row ws_emu_isa[] = {
#define X(mnemonic, modifiers, operands, ptx, sm, effects, family, section)                                           \
  {mnemonic, modifiers, operands, ptx, sm, effects, family, section},
#include "isa.def"
#undef X
};
const size_t ws_emu_isa_rows = sizeof ws_emu_isa / sizeof *ws_emu_isa;

const struct isa_refused ws_emu_isa_refused[] = {
    {"tcgen05.mma.sp, tcgen05.mma.ws.sp", "the layout of the sparsity metadata stands in figures only", "tcgen05.mma.sp tcgen05.mma.ws.sp"},
    {"mma.sp, wgmma.mma_async.sp, wgmma of .b1, wmma", "attention does not use them", "mma.sp wgmma.mma_async.sp wgmma..b1 wmma"},
    {"mma of m8n8k4, m8n8k16, m8n8k32, f64, sub-byte and block-scaled forms", "attention does not use them", "mma..m8n8k mma..f64 mma..u4 mma..s4 mma..b1 mma..kind::"},
    {"cp.async.bulk.tensor .im2col, .im2col::w, .im2col::w::128", "maps for convolutions cannot be encoded", "cp..im2col"},
    {"tensormap.replace, tensormap.cp_fenceproxy", "tensor maps are the emulator's own 128 bytes, which a kernel cannot alter", "tensormap"},
    {"multimem.*", "there is one device", "multimem"},
    {"st.async, red.async to global memory", "not modelled", "st.async..global red.async..global"},
    {"tex, tld4, txq, suld, sust, sured, suq, istypep", "there are no textures and surfaces", "tex tld4 txq suld sust sured suq istypep"},
    {"shfl, vote without .sync", "not there for targets from sm_70 on; barrier.cluster, redux and elect not before theirs", ""},
    {"fma .oob", "the bits of the NaN that it looks for are not documented", "fma..oob"},
    {"cvt of .s2f6x2", "not modelled", "cvt..s2f6x2"},
    {"vadd .. vset4 (video)", "not modelled", "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset"},
    {"add, sub, min, max of .u8x4, .s8x4", "not there for the targets that are", "add..u8x4 add..s8x4 sub..u8x4 sub..s8x4 min..u8x4 min..s8x4 max..u8x4 max..s8x4"},
    {"call of a function pointer, recursive calls", "calls are expanded when a kernel is decoded", ""},
    {"alloca, stacksave, stackrestore", "a thread's local memory is laid out when a kernel is decoded", "alloca stacksave stackrestore"},
    {NULL, NULL, NULL}};

/* Why a name is refused, or NULL. A pattern is a prefix of the name, or a mnemonic and, behind two dots, a part of what follows it. */
static const char *refusal(const char *name) {
  for (const struct isa_refused *r = ws_emu_isa_refused; r->forms; r++)
    for (const char *p = r->names; *p; p += strcspn(p, " "), p += *p == ' ') {
      char pattern[64], *part;
      snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(p, " "), p);
      if ((part = strstr(pattern, ".."))) *part++ = 0;
      size_t n = strlen(pattern);
      if (strncmp(name, pattern, n)) continue;
      if (part ? name[n] == '.' && strstr(name + n, part) : true) return r->reason;
    }
  return NULL;
}

/* One of the alternatives at p (up to a space) equals the modifier. */
static bool offers(const char *p, const char *mod, size_t n) {
  while (*p && *p != ' ') {
    size_t k = strcspn(p, "| ");
    if (k == n && !memcmp(p, mod, n)) return true;
    p += k;
    if (*p == '|') p++;
  }
  return false;
}

static enum ptx_type type_named(const char *s) {
  for (int i = 0; i < T_COUNT; i++)
    if (!strcmp(ws_emu_types[i].text, s)) return (enum ptx_type)i;
  return T_NONE;
}

static void take(struct isa_use *u, const char *mod, size_t n, bool ignored) {
  char *m = u->mods[u->nmods];
  memcpy(m, mod, n);
  m[n] = 0;
  u->ignored[u->nmods++] = ignored;
  enum ptx_type t = type_named(m);
  if (t != T_NONE && u->ntypes < ISA_MAX_TYPES) u->type[u->ntypes++] = (uint8_t)t;
  if (m[1] == 'v' && m[2] >= '2' && m[2] <= '8' && !m[3]) u->vec = (uint8_t)(m[2] - '0');
  if (!ignored && strlen(u->key) + n < sizeof u->key) strcat(u->key, m);
}

/* Walks places and modifiers together; an optional place is passed over when it does not offer the modifier. */
static bool match_row(const struct isa_row *row, const char *mods, struct isa_use *u) {
  *u = (struct isa_use){.row = row, .vec = 1};
  snprintf(u->key, sizeof u->key, "%s", row->mnemonic);
  const char *p = row->modifiers;
  for (;;) {
    while (*p == ' ') p++;
    if (!*p) return !*mods;
    char kind = *p == '?' || *p == '~' ? *p++ : 0;
    size_t n = *mods ? 1 + strcspn(mods + 1, ".") : 0;
    if (n && n < sizeof u->mods[0] && u->nmods < ISA_MAX_MODS && offers(p, mods, n)) {
      take(u, mods, n, kind == '~');
      mods += n;
    } else if (!kind) {
      return false;
    }
    p += strcspn(p, " ");
  }
}

/* Modifiers of one kind, types or state spaces, mean something by their order. */
enum { KIND_TYPE, KIND_SPACE, KINDS, KIND_OTHER = KINDS };
static int kind_of(const char *mod) {
  static const char *const spaces[] = {".global", ".shared", ".local", ".param", ".const"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (!strncmp(mod, spaces[i], strlen(spaces[i]))) return KIND_SPACE;
  return type_named(mod) != T_NONE ? KIND_TYPE : KIND_OTHER;
}

/* The same with the modifiers in any order: a place takes the first one left that it offers. The assembler takes them so, and public
 * kernels write .cta_group and .multicast of bulk copies in three orders. What belongs to the mnemonic keeps its order, and so
 * do types and spaces. */
static bool of_mnemonic(const struct isa_row *row, const char *word, size_t n) { /* .async .bulk .tensor, .arrive .expect_tx .. */
  static const char *const mnemonics[] = {"cp", "mbarrier", "tcgen05", "barrier", "wgmma", "clusterlaunchcontrol"}, *const words[] = {".async", ".bulk"};
  bool several = false;
  for (size_t i = 0; i < sizeof mnemonics / sizeof *mnemonics; i++) several = several || !strcmp(row->mnemonic, mnemonics[i]);
  for (size_t i = 0; i < sizeof words / sizeof *words && !several; i++)
    if (strlen(words[i]) == n && !memcmp(words[i], word, n)) return true;
  return several && !memchr(word, '|', n) && !memchr(word, ':', n) && (word[1] < '0' || word[1] > '9') && strncmp(word, ".sync", 5);
}
static bool match_any_order(const struct isa_row *row, const char *mods, struct isa_use *u) {
  const char *m[ISA_MAX_MODS], *p = row->modifiers;
  int n = 0, left, last[KINDS] = {-1, -1};
  bool head = true, taken[ISA_MAX_MODS] = {false};
  *u = (struct isa_use){.row = row, .vec = 1};
  snprintf(u->key, sizeof u->key, "%s", row->mnemonic);
  for (; *mods; mods += 1 + strcspn(mods + 1, ".")) {
    if (n == ISA_MAX_MODS) return false;
    m[n++] = mods;
  }
  for (left = n; *p; p += strcspn(p, " "), p += *p == ' ') {
    char kind = *p == '?' || *p == '~' ? *p++ : 0;
    size_t place = strcspn(p, " ");
    int i = 0, found = -1;
    head = head && !kind && of_mnemonic(row, p, place);
    for (; i < (head ? u->nmods + 1 : n) && i < n && found < 0; i++) {
      size_t size = 1 + strcspn(m[i] + 1, ".");
      if (!taken[i] && size < sizeof u->mods[0] && offers(p, m[i], size)) found = i;
    }
    if (found < 0 && !kind) return false;
    if (found < 0) continue;
    take(u, m[found], 1 + strcspn(m[found] + 1, "."), kind == '~');
    int k = kind_of(u->mods[u->nmods - 1]);
    if (k != KIND_OTHER && found < last[k]) return false;
    if (k != KIND_OTHER) last[k] = found;
    taken[found] = true;
    left--;
  }
  return !left;
}

/* Where no two places of a row offer the same modifier: not .row and .col of products. */
static bool any_order(const struct isa_row *row) { return strcmp(row->mnemonic, "mma"); }

bool ws_emu_isa_match(const char *name, struct isa_use *u, char *why, size_t n) {
  size_t len = strcspn(name, ".");
  bool known = false;
  for (size_t i = 0; i < ws_emu_isa_rows; i++) {
    const struct isa_row *row = &ws_emu_isa[i];
    if (strncmp(row->mnemonic, name, len) || row->mnemonic[len]) continue;
    known = true;
    if (match_row(row, name + len, u)) return true;
  }
  for (size_t i = 0; known && i < ws_emu_isa_rows; i++) {
    const struct isa_row *row = &ws_emu_isa[i];
    if (!any_order(row) || strncmp(row->mnemonic, name, len) || row->mnemonic[len]) continue;
    if (match_any_order(row, name + len, u)) return true;
  }
  const char *reason = refusal(name);
  snprintf(why, n, known ? "this form of '%.*s' is not supported%s%s%s" : "'%.*s' is not supported%s%s%s", (int)len, name, reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
  return false;
}

bool ws_emu_has(const struct isa_use *u, const char *mod) {
  for (int i = 0; i < u->nmods; i++)
    if (!strcmp(u->mods[i], mod)) return true;
  return false;
}

/* ---- the coverage list ---- */
static size_t add(char *out, size_t n, size_t at, const char *s) {
  for (; *s; s++, at++) {
    if (at + 1 < n) out[at] = *s;
  }
  if (n) out[at + 1 < n ? at : n - 1] = 0;
  return at;
}

size_t ws_emu_isa_list(char *out, size_t n) {
  const char *section = "";
  size_t at = add(out, n, 0, "| instruction | modifiers | PTX | target | how | effects |\n|---|---|---|---|---|---|\n");
  static const struct { uint16_t bit; const char *text; } names[] = {
      {E_READ, " reads"}, {E_WRITE, " writes"}, {E_ATOMIC, " atomic"}, {E_SYNC, " synchronises"}, {E_ASYNC, " asynchronous"},
      {E_WARP, " warp-wide"}, {E_BRANCH, " branches"}, {E_END, " ends threads"}, {E_ALIGNED, " aligned"}, {E_ARCH, " architecture-specific"}, {E_PROXY, " async proxy"},
      {E_REGISTERS, " registers"}, {E_CHIP, " one target"}, {E_UNSYNC, " before sm_70"}};
  for (size_t i = 0; i < ws_emu_isa_rows; i++) {
    const struct isa_row *r = &ws_emu_isa[i];
    char cell[160];
    if (strcmp(section, r->section)) {
      section = r->section;
      at = add(out, n, at, "| *");
      at = add(out, n, at, section);
      at = add(out, n, at, "* | | | | | |\n");
    }
    snprintf(cell, sizeof cell, "| `%s` | ", r->mnemonic);
    at = add(out, n, at, cell);
    for (const char *p = r->modifiers; *p; p++) { /* a bar would end the table's cell */
      char c[2] = {*p, 0};
      at = add(out, n, at, *p == '|' ? "/" : *p == '?' || *p == '~' ? "?" : c);
    }
    const char *how = r->effects & E_ORDER ? "ordering only" : r->effects & E_RULED ? "representative" : "modelled";
    snprintf(cell, sizeof cell, " | %u.%u | sm_%u | %s |", r->ptx / 10u, r->ptx % 10u, r->sm, how);
    at = add(out, n, at, cell);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (r->effects & names[k].bit) at = add(out, n, at, names[k].text);
    at = add(out, n, at, " |\n");
  }
  at = add(out, n, at, "| *Refused* | | | | | |\n");
  for (const struct isa_refused *r = ws_emu_isa_refused; r->forms; r++) {
    char line[400];
    snprintf(line, sizeof line, "| %s | %s | | | refused | |\n", r->forms, r->reason);
    at = add(out, n, at, line);
  }
  return at;
}
