/* The kernel around the programs: parameters, barriers, roles, the text of the file. */
#include "lower.h"
#include "compile.h"
#include "manifest.h"
#include <ctype.h>
#include <string.h>

/* The registers a thread starts with: what ptxas gives a kernel of so many threads a CTA, and CTAs an SM (PTX ISA, setmaxnreg). */
static int entry_registers(const struct ws_schedule *s) {
  int n = 65536 / (s->threads * (s->ctas ? s->ctas : 1)) / 8 * 8;
  return n > 255 ? 255 : n;
}

/* A warpgroup gives registers back, or takes what others gave back. */
static void set_registers(struct lower *l, const struct ws_rolem *r) {
  int has = entry_registers(l->s);
  if (!r->registers || r->registers == has) return;
  ws_lower_comment(l, "registers a thread: %d instead of the %d of the launch", r->registers, has);
  OP(l, "setmaxnreg", r->registers < has ? "dec" : "inc", ws_lower_int(l, r->registers));
}

static void enter(struct lower *l, const struct ws_programm *p, const char *skip) {
  int warps = p->role->warps, first = p->role->first_warp + p->first * warps;
  if (skip) OP(l, "role_enter", ws_lower_temp(l, WS_REG_PRED), ws_lower_int(l, first), ws_lower_int(l, first + p->count * warps), skip);
  set_registers(l, p->role);
  ws_lower_comment(l, "which thread of the role this is, for all that follows");
  WS_OP0(&l->px, "entry_sequence");
  if (first) OP(l, "entry_role", ws_lower_int(l, first * 32L));
  if (p->count > 1) OP(l, "entry_instance", ws_lower_named(l, WS_REG_B32, "instance"), ws_lower_int(l, warps * 32L), ws_lower_int(l, p->first));
  if (p->count > 1 && l->s->arch >= 90) OP(l, "uniform", "%instance");
  if (l->s->pair) OP(l, "entry_rank", ws_lower_named(l, WS_REG_B32, "rank"), ws_lower_named(l, WS_REG_B32, "peer"));
  WS_OP0(&l->px, "entry_lanes");
  if (l->tmem && !p->role->one_thread && p->role->warps % 4 == 0) ws_lower_tmem_lanes(l);
  if (!p->role->one_thread) return;
  const char *only = ws_lower_temp(l, WS_REG_PRED);
  ws_lower_comment(l, "one thread runs the program");
  OP(l, "compare_s32", "ne", only, "%thread", "0");
  OP(l, "branch_if", only, skip);
}

static void program(struct lower *l, struct ws_programm *p, struct ws_buf *out) {
  struct ws_buf start = {.arena = l->arena}, body = {.arena = l->arena};
  l->prog = p, l->tmem = ws_program_uses_tmem(p);
  l->var = WS_NEW_N(l->arena, struct tile, p->nvars);
  l->handle = WS_NEW_N(l->arena, struct slot, p->nhandles);
  for (size_t i = 0; i < p->nhandles; i++) l->handle[i] = (struct slot){"", ""};
  l->nrings = l->nfixed = l->nready = l->nstrides = 0, l->lane_first = l->l2[0] = l->l2[1] = NULL;
  l->iter = WS_NEW_N(l->arena, struct iter_state, p->niters);
  l->maps.n = l->frags.n = l->pointers.n = l->depth = 0;
  l->start = l->tile_start = &start;
  l->px.out = &start;
  const char *skip = l->one_role && !p->role->one_thread ? NULL : ws_ptx_label(&l->px, ws_fmt(l->arena, "not_%s", p->role->name));
  enter(l, p, skip);
  l->px.out = &body;
  ws_lower_acts(l, p->body);
  l->px.out = out;
  ws_lower_role_name(l, p);
  ws_buf_add(out, start.s, start.n);
  if (body.n) ws_buf_add(out, body.s, body.n);
  if (skip) OP(l, "label", skip);
}

/* A role without a program gives its registers back, too. */
static void idle_roles(struct lower *l, struct ws_buf *out) {
  l->px.out = out;
  for (int i = 0; i < l->s->nroles; i++) {
    const struct ws_rolem *r = &l->s->roles[i];
    bool runs = false;
    for (int k = 0; k < l->s->nprograms; k++) runs |= l->s->programs[k].role == r;
    if (runs || !r->registers) continue;
    const char *skip = ws_ptx_label(&l->px, ws_fmt(l->arena, "not_%s", r->name));
    OP(l, "role_enter", ws_lower_temp(l, WS_REG_PRED), ws_lower_int(l, r->first_warp), ws_lower_int(l, r->first_warp + r->count * r->warps), skip);
    set_registers(l, r);
    OP(l, "label", skip);
  }
}

static void declare_fixed(struct lower *l) {
  static const char *const b32[] = {"thread", "lane", "warp", "quad_row", "quad_column", "smem", "diagonal", "tile", "row0", "head", "batch", "kv_head", "row_tiles", "row_tile", "batch_head", "group"};
  for (size_t i = 0; i < sizeof b32 / sizeof *b32; i++) ws_ptx_reg(&l->px, WS_REG_B32, b32[i]);
  ws_ptx_reg(&l->px, WS_REG_PRED, "quad_first");
  ws_ptx_reg(&l->px, WS_REG_F32, "zero");
}

/* Does the code name the register %NAME? */
static bool reads(const char *code, const char *name) {
  size_t n = strlen(name);
  for (const char *p = code; p && (p = strchr(p, '%')); p++)
    if (!strncmp(p + 1, name, n) && !isalnum((unsigned char)p[n + 1]) && p[n + 1] != '_' && p[n + 1] != '$') return true;
  return false;
}

/* Those that the code reads: what tensor maps hold, data and strides, is a parameter for the launch alone. */
static void load_params(struct lower *l, const struct ws_params *params, const char *code) {
  static const enum ws_reg_class classes[] = {[WS_PARAM_U64] = WS_REG_B64, [WS_PARAM_U32] = WS_REG_B32, [WS_PARAM_F32] = WS_REG_F32};
  static const char *const types[] = {[WS_PARAM_U64] = "u64", [WS_PARAM_U32] = "u32", [WS_PARAM_F32] = "f32"};
  ws_lower_note(l, "parameters that the code reads");
  for (size_t i = 0; i < params->n; i++) {
    const struct ws_kernel_param *p = &params->param[i];
    if (p->type == WS_PARAM_MAP || !reads(code, p->name)) continue; /* a map is read where it lies */
    OP(l, "load_param", types[p->type], ws_ptx_reg(&l->px, classes[p->type], p->name), p->name);
  }
}

static struct ws_list param_lines(struct lower *l, const struct ws_params *params) {
  static const char *const types[] = {[WS_PARAM_U64] = ".u64", [WS_PARAM_U32] = ".u32", [WS_PARAM_F32] = ".f32"};
  const char **cell = WS_NEW_N(l->arena, const char *, params->n + 1);
  for (size_t i = 0; i < params->n; i++)
    cell[i] = params->param[i].type == WS_PARAM_MAP ? ws_fmt(l->arena, ".align 64 .b8 %s[128]%s", params->param[i].name, i + 1 < params->n ? "," : "")
                                                    : ws_fmt(l->arena, "%s %s%s", types[params->param[i].type], params->param[i].name, i + 1 < params->n ? "," : "");
  return (struct ws_list){params->n, 1, cell};
}

/* A string for a .file directive and a comment: no quotes, no line ends. */
static const char *plain_path(struct lower *l, const char *path) {
  char *s = ws_strdup(l->arena, path);
  for (char *p = s; *p; p++)
    if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ') *p = '_';
  return s;
}

bool ws_lower_has_target(const struct ws_schedule *s) { return s->arch == 80 || s->arch >= 90; }

/* The PTX ISA version that has the target (PTX ISA, "Release Notes"). */
static int lowest_version(const struct ws_schedule *s) { return s->arch == 80 ? 70 : s->arch == 90 ? 80 : s->arch == 100 ? 86 : 88; }

/* The barrier behind all programs. */
static void all_done(struct lower *l) {
  bool tmem = l->s->tmem_cols > 0;
  if (!tmem && !l->s->pair) return;
  ws_lower_comment(l, l->s->pair ? "neither CTA leaves while the other can reach its shared memory" : "nobody uses tensor memory any more");
  if (tmem) WS_OP0(&l->px, "tcgen05_before");
  WS_OP0(&l->px, l->s->pair ? "sync_cluster" : "sync_cta");
  if (tmem) WS_OP0(&l->px, "tcgen05_after");
}

/* Everything between the braces of the entry. */
static void entry(struct lower *l, const struct ws_params *params, const char *programs) {
  struct ws_buf *out = l->px.out, code = {.arena = l->arena};
  l->px.out = &code;
  ws_lower_barriers(l);
  ws_lower_tmem_alloc(l);
  if (!l->one_role) {
    ws_lower_named(l, WS_REG_B32, "cta_warp");
    WS_OP0(&l->px, "cta_warp");
  }
  ws_ptx_aligned(&l->px, programs);
  all_done(l);
  ws_lower_tmem_free(l);
  WS_OP0(&l->px, "finish");
  l->px.out = out;
  load_params(l, params, code.s);
  ws_buf_add(out, code.s, code.n);
}

struct ws_kernel_text *ws_lower(struct ws_schedule *s, const struct ws_templates *t, const char *spec_path) {
  struct lower *l = WS_NEW(s->arena, struct lower);
  size_t before = s->diags->errors;
  l->arena = s->arena, l->s = s, l->diags = s->diags;
  l->one_role = s->nprograms == 1 && s->threads == s->programs[0].role->warps * 32 && s->programs[0].count == 1;
  if (!ws_lower_has_target(s)) {
    ws_error(l->diags, s->doc->ntargets ? s->doc->target_pos[0] : s->doc->pos, "not-lowered", "target %s is not lowered yet", s->target);
    return NULL;
  }
  if (!ws_lower_supports(s)) return NULL;
  ws_ptx_init(&l->px, l->arena, l->diags, t);
  l->px.version = lowest_version(s);
  declare_fixed(l);
  struct ws_buf code = {.arena = l->arena}, all = {.arena = l->arena}, out = {.arena = l->arena};
  for (int i = 0; i < s->nprograms; i++) program(l, &s->programs[i], &code);
  idle_roles(l, &code);
  struct ws_params params = ws_kernel_params(s, l->used, l->tma_maps, l->nmaps);
  l->px.out = &all;
  entry(l, &params, code.s);
  l->px.out = &out;
  struct ws_list lists[] = {param_lines(l, &params), ws_ptx_reg_lines(&l->px)};
  struct ws_buf guide = {.arena = l->arena};
  l->px.out = &guide;
  ws_lower_guide(l, plain_path(l, spec_path));
  l->px.out = &out;
  const char *cluster = s->pair ? "\n.reqnctapercluster 2, 1, 1" : "";
  const char *args[] = {ws_manifest_text(s, &params), guide.s, ws_fmt(l->arena, "%d.%d", l->px.version / 10, l->px.version % 10), s->target,
                        plain_path(l, spec_path), s->name, ws_lower_int(l, s->threads), ws_lower_int(l, s->ctas ? s->ctas : 1), cluster, all.s};
  ws_ptx_op_list(&l->px, "module", args, sizeof args / sizeof *args, lists, 2);
  if (s->diags->errors > before) return NULL;
  struct ws_kernel_text *k = WS_NEW(l->arena, struct ws_kernel_text);
  k->name = s->name, k->ptx = out.s, k->ptx_len = out.n;
  return k;
}
