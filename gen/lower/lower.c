#include "lower.h"
#include "compile.h"
#include "manifest.h"
#include <stdarg.h>
#include <string.h>

/* --- registers and text --- */

const char *ws_lower_temp(struct lower *l, enum ws_reg_class c) {
  static const char *const names[2][WS_REG_CLASSES] = {{"p", "i", "f", "w"}, {"hp", "hi", "hf", "hw"}};
  const char *name = names[l->hoisting > 0][c];
  int i = l->temp[c]++;
  return ws_ptx_temps(&l->px, c, name, (size_t)i + 1)[i];
}

const char *ws_lower_int(struct lower *l, long v) { return ws_ptx_int(&l->px, v); }

const char *ws_lower_named(struct lower *l, enum ws_reg_class c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *name = ws_vfmt(l->arena, fmt, ap);
  va_end(ap);
  return ws_ptx_reg(&l->px, c, name);
}

void ws_lower_comment(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  ws_buf_printf(l->px.out, "\n    // %s\n", ws_vfmt(l->arena, fmt, ap));
  va_end(ap);
}

void ws_lower_note(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  ws_buf_printf(l->px.out, "    // %s\n", ws_vfmt(l->arena, fmt, ap));
  va_end(ap);
}

const char *ws_lower_unique(struct lower *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *base = ws_vfmt(l->arena, fmt, ap), *name = base;
  va_end(ap);
  for (int again = 2;; again++) {
    bool used = false;
    for (size_t i = 0; i < l->nnames; i++) used |= !strcmp(l->names[i], name);
    if (!used) break;
    name = ws_fmt(l->arena, "%s_x%d", base, again);
  }
  return *WS_PUSH(l->arena, l->names, l->nnames, l->names_cap) = name;
}

struct ws_buf *ws_lower_hoist(struct lower *l, struct ws_buf *to) {
  struct ws_buf *old = l->px.out;
  if (to) l->px.out = to;
  l->hoisting++;
  return old;
}

void ws_lower_restore(struct lower *l, struct ws_buf *old) {
  l->px.out = old;
  l->hoisting--;
}

struct touch {
  const struct ws_tensor *tensor;
  const struct ws_bufferm *buffer;
  bool found;
};

static void touches(void *ctx, struct ws_act *a) {
  struct touch *t = ctx;
  const struct ws_mem *mem[] = {a->from, a->to, a->a_mem, a->b_mem};
  for (size_t i = 0; i < 4; i++)
    t->found |= mem[i] && ((t->tensor && mem[i]->tensor == t->tensor) || (t->buffer && mem[i]->buffer == t->buffer));
}

static void touches_in_loop(void *ctx, struct ws_act *a) {
  if (a->kind == WS_S_FOR && a->iter->list) ws_each_act(a->body, touches, ctx);
}

bool ws_lower_in_loop(struct lower *l, const struct ws_tensor *t, const struct ws_bufferm *b) {
  if (l->depth) return true;
  struct touch c = {.tensor = t, .buffer = b};
  ws_each_act(l->prog->body, touches_in_loop, &c);
  return c.found;
}

/* --- rings --- */

static struct ring_state *ring_of(struct lower *l, const struct ws_pipelinem *p, int element) {
  struct ring_state *r = &l->ring[p->index * 64 + element];
  const struct ws_bufferm *b = p->buffer;
  if (b->stages == 1 || r->fill) return r;
  const char *name = p->is_array ? ws_fmt(l->arena, "%s%d", p->name, element) : p->name;
  r->fill = ws_lower_named(l, WS_REG_B32, "%s_fill", name);
  r->drain = ws_lower_named(l, WS_REG_B32, "%s_drain", name);
  struct ws_buf *old = ws_lower_hoist(l, l->start);
  ws_lower_comment(l, "ring %s: %d slots of %ld bytes from %ld; bytes from %%smem of the slot next filled and next waited for", p->name, b->stages, b->bytes,
                   b->offset + (long)element * b->stages * b->bytes);
  const char *first = ws_lower_int(l, b->offset + (long)element * b->stages * b->bytes);
  OP(l, "ring_start", r->fill, first);
  OP(l, "ring_start", r->drain, first);
  ws_lower_restore(l, old);
  return r;
}

static void take_slot(struct lower *l, struct ws_act *a, bool fill) {
  struct ring_state *r = ring_of(l, a->pipe, a->element);
  const struct ws_bufferm *b = a->pipe->buffer;
  if (b->stages == 1) {
    if (a->handle) l->handle[a->handle->index] = "";
    if (fill) ws_lower_note(l, "no instruction: the ring has one slot");
    return;
  }
  const char *slot = a->handle ? ws_lower_named(l, WS_REG_B32, "slot_%s", a->handle->name) : ws_lower_temp(l, WS_REG_B32);
  if (a->handle) l->handle[a->handle->index] = slot;
  long first = b->offset + (long)a->element * b->stages * b->bytes;
  OP(l, "ring_next", slot, fill ? r->fill : r->drain, ws_lower_int(l, b->bytes), ws_lower_int(l, first + (b->stages - 1) * b->bytes),
     ws_lower_int(l, first), ws_lower_temp(l, WS_REG_PRED));
}

/* --- statements --- */

/* The barrier of a role's instance: one id an instance, counted on from the first one's. */
static const char *barrier_id(struct lower *l, int id) {
  if (l->prog->count == 1) return ws_lower_int(l, id + l->prog->first);
  const char *d = ws_lower_temp(l, WS_REG_B32);
  OP(l, "add_s32", d, "%instance", ws_lower_int(l, id));
  return d;
}

static void sync_act(struct lower *l, const struct ws_act *a) {
  const struct ws_rolem *r = l->prog->role;
  if (a->barrier)
    OP(l, a->kind == WS_S_ARRIVE ? "barrier_arrive" : "barrier_sync", ws_lower_int(l, a->barrier->id + a->element * a->barrier->ids),
       ws_lower_int(l, a->barrier->arrivals[a->element]));
  else if (a->sync == WS_SYNC_WARP || (a->sync == WS_SYNC_ROLE && r->warps == 1))
    WS_OP0(&l->px, "sync_warp");
  else if (a->sync == WS_SYNC_ALL || l->one_role)
    WS_OP0(&l->px, "sync_cta");
  else if (a->sync == WS_SYNC_ROLE)
    OP(l, "barrier_sync", barrier_id(l, r->sync_id), ws_lower_int(l, r->warps * 32L));
  else
    OP(l, "barrier_sync", ws_lower_int(l, a->role->all_id), ws_lower_int(l, a->role->warps * a->role->count * 32L));
}

static void if_act(struct lower *l, struct ws_act *a) {
  const char *end = ws_ptx_label(&l->px, "endif");
  for (int i = 0; i < a->narms; i++) {
    struct ws_arm *arm = &a->arms[i];
    const char *next = NULL;
    bool never = false;
    const char *p = arm->cond ? ws_uniform_pred(l, arm->cond, &never) : NULL;
    if (never) continue;
    if (p) {
      next = i + 1 < a->narms ? ws_ptx_label(&l->px, "else") : end;
      OP(l, "branch_unless", p, next);
    }
    ws_lower_acts(l, arm->body);
    if (!p) break; /* always taken: what follows is never reached */
    if (next != end) {
      OP(l, "branch", end);
      OP(l, "label", next);
    }
  }
  OP(l, "label", end);
}

/* The comment behind a statement in the spec, "" if there is none. */
static const char *spec_comment(struct lower *l, const struct ws_act *a) {
  const struct ws_source *src = l->diags->source;
  const char *p = src->text, *end = src->text + src->len;
  for (unsigned line = 1; line < a->src->pos.line && p; line++) p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL;
  if (!p) return "";
  const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
  for (; p + 1 < stop; p++)
    if (p[0] == ' ' && p[1] == '#') return ws_strndup(l->arena, p + 1, (size_t)(stop - p - 1));
  return "";
}

static void comment(struct lower *l, const struct ws_act *a) {
  const char *why = spec_comment(l, a), *text = ws_fmt(l->arena, "%u: %s", a->src->pos.line, a->src->text);
  ws_buf_printf(l->px.out, "\n    // %-*s%s%s\n", *why ? 48 : 0, text, *why ? "  " : "", why);
  OP(l, "location", ws_lower_int(l, a->src->pos.line), ws_lower_int(l, a->src->pos.col));
}

static void lower_act(struct lower *l, struct ws_acts *acts, size_t i) {
  struct ws_act *a = &acts->act[i];
  memset(l->temp, 0, sizeof l->temp);
  comment(l, a);
  switch (a->kind) {
  case WS_S_FOR: ws_lower_for(l, a); break;
  case WS_S_IF: if_act(l, a); break;
  case WS_S_LOAD: ws_lower_load(l, a); break;
  case WS_S_STORE: ws_lower_store(l, a); break;
  case WS_S_WRITE: ws_lower_write(l, a); break;
  case WS_S_PRODUCT: ws_lower_product(l, a); break;
  case WS_S_ASSIGN: ws_lower_assign(l, acts, i); break;
  case WS_S_SYNC: case WS_S_ARRIVE: sync_act(l, a); break;
  case WS_S_ACQUIRE: take_slot(l, a, true); break;
  case WS_S_COMMIT: WS_OP0(&l->px, "cp_async_commit"); break;
  case WS_S_WAIT:
    OP(l, "cp_async_wait", ws_lower_int(l, a->wait_groups));
    take_slot(l, a, false);
    break;
  default: ws_error(l->diags, a->src->pos, "not-lowered", "this statement is not lowered for %s", l->s->target);
  }
}

void ws_lower_keep(struct lower *l, struct keep *k, struct lifetime *item, struct ws_pos pos) {
  if (k->n == KEPT)
    ws_error(l->diags, pos, "not-lowered", "more than %d ways to address memory in one program: split it into roles", KEPT);
  else
    k->item[k->n++] = item;
}

/* Forgets what was computed in place since the count was n. */
static void forget(struct keep *k, int n) {
  int kept = n;
  for (int i = n; i < k->n; i++)
    if (k->item[i]->everywhere) k->item[kept++] = k->item[i];
  k->n = kept;
}

void ws_lower_acts(struct lower *l, struct ws_acts *acts) {
  int maps = l->maps.n, frags = l->frags.n, pointers = l->pointers.n;
  for (size_t i = 0; i < acts->n; i++) lower_act(l, acts, i);
  forget(&l->maps, maps);
  forget(&l->frags, frags);
  forget(&l->pointers, pointers);
}

/* --- the kernel --- */

static void program(struct lower *l, struct ws_programm *p, struct ws_buf *out) {
  struct ws_buf start = {.arena = l->arena}, body = {.arena = l->arena};
  l->prog = p;
  l->var = WS_NEW_N(l->arena, struct tile, p->nvars);
  l->handle = WS_NEW_N(l->arena, const char *, p->nhandles);
  for (size_t i = 0; i < p->nhandles; i++) l->handle[i] = "";
  l->ring = WS_NEW_N(l->arena, struct ring_state, (size_t)l->s->npipelines * 64);
  l->iter = WS_NEW_N(l->arena, struct iter_state, p->niters);
  l->maps.n = l->frags.n = l->pointers.n = l->depth = 0;
  l->start = l->tile_start = &start;
  l->px.out = &start;
  const char *skip = NULL;
  int warps = p->role->warps, first = p->role->first_warp + p->first * warps;
  if (!l->one_role) {
    skip = ws_ptx_label(&l->px, ws_fmt(l->arena, "not_%s", p->role->name));
    OP(l, "role_enter", ws_lower_temp(l, WS_REG_PRED), ws_lower_int(l, first), ws_lower_int(l, first + p->count * warps), skip);
  }
  WS_OP0(&l->px, "entry_sequence");
  if (first) OP(l, "entry_role", ws_lower_int(l, first * 32L));
  if (p->count > 1) OP(l, "entry_instance", ws_lower_named(l, WS_REG_B32, "instance"), ws_lower_int(l, warps * 32L), ws_lower_int(l, p->first));
  WS_OP0(&l->px, "entry_lanes");
  l->px.out = &body;
  ws_lower_acts(l, p->body);
  l->px.out = out;
  ws_buf_add(out, start.s, start.n);
  if (body.n) ws_buf_add(out, body.s, body.n);
  if (skip) OP(l, "label", skip);
}

static void declare_fixed(struct lower *l) {
  static const char *const b32[] = {"thread", "lane", "warp", "quad_row", "quad_column", "smem", "diagonal", "tile", "row0", "head", "batch", "kv_head", "row_tiles", "row_tile", "batch_head", "group"};
  for (size_t i = 0; i < sizeof b32 / sizeof *b32; i++) ws_ptx_reg(&l->px, WS_REG_B32, b32[i]);
  ws_ptx_reg(&l->px, WS_REG_PRED, "quad_first");
  ws_ptx_reg(&l->px, WS_REG_F32, "zero");
}

static void load_params(struct lower *l, const struct ws_params *params) {
  static const enum ws_reg_class classes[] = {[WS_PARAM_U64] = WS_REG_B64, [WS_PARAM_U32] = WS_REG_B32, [WS_PARAM_F32] = WS_REG_F32};
  static const char *const types[] = {[WS_PARAM_U64] = "u64", [WS_PARAM_U32] = "u32", [WS_PARAM_F32] = "f32"};
  for (size_t i = 0; i < params->n; i++) {
    const struct ws_kernel_param *p = &params->param[i];
    OP(l, "load_param", types[p->type], ws_ptx_reg(&l->px, classes[p->type], p->name), p->name);
  }
}

static struct ws_list param_lines(struct lower *l, const struct ws_params *params) {
  static const char *const types[] = {[WS_PARAM_U64] = ".u64", [WS_PARAM_U32] = ".u32", [WS_PARAM_F32] = ".f32"};
  const char **cell = WS_NEW_N(l->arena, const char *, params->n + 1);
  for (size_t i = 0; i < params->n; i++)
    cell[i] = ws_fmt(l->arena, "%s %s%s", types[params->param[i].type], params->param[i].name, i + 1 < params->n ? "," : "");
  return (struct ws_list){params->n, 1, cell};
}

/* A string for a .file directive and a comment: no quotes, no line ends. */
static const char *plain_path(struct lower *l, const char *path) {
  char *s = ws_strdup(l->arena, path);
  for (char *p = s; *p; p++)
    if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ') *p = '_';
  return s;
}

bool ws_lower_has_target(const struct ws_schedule *s) { return s->arch == 80; }

struct ws_kernel_text *ws_lower(struct ws_schedule *s, const struct ws_templates *t, const char *spec_path) {
  struct lower *l = WS_NEW(s->arena, struct lower);
  size_t before = s->diags->errors;
  l->arena = s->arena, l->s = s, l->diags = s->diags;
  l->one_role = s->nprograms == 1 && s->threads == s->programs[0].role->warps * 32 && s->programs[0].count == 1;
  if (s->persistent) {
    ws_error(l->diags, s->doc->work.launch->pos, "not-lowered", "a persistent launch is not lowered for %s yet: `launch: single`", s->target);
    return NULL;
  }
  if (!ws_lower_has_target(s)) {
    ws_error(l->diags, s->doc->ntargets ? s->doc->target_pos[0] : s->doc->pos, "not-lowered", "target %s is not lowered yet; sm_80 is", s->target);
    return NULL;
  }
  if (!ws_lower_supports(s)) return NULL;
  ws_ptx_init(&l->px, l->arena, l->diags, t);
  declare_fixed(l);
  struct ws_buf code = {.arena = l->arena}, all = {.arena = l->arena}, out = {.arena = l->arena};
  for (int i = 0; i < s->nprograms; i++) program(l, &s->programs[i], &code);
  struct ws_params params = ws_kernel_params(s, l->used);
  l->px.out = &all;
  load_params(l, &params);
  if (!l->one_role) {
    ws_lower_named(l, WS_REG_B32, "cta_warp");
    WS_OP0(&l->px, "cta_warp");
  }
  ws_ptx_aligned(&l->px, code.s);
  WS_OP0(&l->px, "finish");
  l->px.out = &out;
  struct ws_list lists[] = {param_lines(l, &params), ws_ptx_reg_lines(&l->px)};
  struct ws_buf guide = {.arena = l->arena};
  l->px.out = &guide;
  ws_lower_guide(l, plain_path(l, spec_path));
  l->px.out = &out;
  const char *args[] = {ws_manifest_text(s, &params), guide.s, ws_fmt(l->arena, "%d.%d", l->px.version / 10, l->px.version % 10), s->target,
                        plain_path(l, spec_path), s->name, ws_lower_int(l, s->threads), ws_lower_int(l, s->ctas ? s->ctas : 1), all.s};
  ws_ptx_op_list(&l->px, "module", args, sizeof args / sizeof *args, lists, 2);
  if (s->diags->errors > before) return NULL;
  struct ws_kernel_text *k = WS_NEW(l->arena, struct ws_kernel_text);
  k->name = s->name, k->ptx = out.s, k->ptx_len = out.n;
  return k;
}
