/* Declarations: work, tensors, roles, buffers, pipelines, barriers. */
#include "passes.h"
#include <limits.h>
#include <string.h>

static const struct {
  const char *name;
  int arch;
} targets[] = {{"sm_80", 80}, {"sm_90a", 90}, {"sm_100a", 100}, {"sm_103a", 103}};

static void target(struct ws_schedule *s, const char *wanted) {
  const struct ws_document *d = s->doc;
  const char *known[8];
  size_t n = 0;
  for (; n < sizeof targets / sizeof *targets; n++) known[n] = targets[n].name;
  size_t pick = 0;
  for (size_t i = 0; i < d->ntargets; i++) {
    bool ok = false;
    for (size_t k = 0; k < n; k++) ok |= !strcmp(known[k], d->targets[i]);
    if (!ok) ws_unknown(s, d->target_pos[i], "target", d->targets[i], known, n);
  }
  if (wanted) {
    for (pick = 0; pick < d->ntargets && strcmp(d->targets[pick], wanted); pick++) {}
    if (pick == d->ntargets) {
      ws_error(s->diags, d->ntargets ? d->target_pos[0] : d->pos, "target", "the spec has no target `%s`", wanted);
      return;
    }
  }
  if (!d->ntargets) return;
  s->target = d->targets[pick];
  for (size_t k = 0; k < n; k++)
    if (!strcmp(known[k], s->target)) s->arch = targets[k].arch;
}

static const char *name_of(struct ws_schedule *s, const struct ws_expr *e, const char *what, const char *const *known,
                           size_t n) {
  if (e->kind == WS_E_NAME)
    for (size_t i = 0; i < n; i++)
      if (!strcmp(e->name, known[i])) return known[i];
  struct ws_buf text = {.arena = s->arena};
  ws_expr_print(e, &text);
  ws_unknown(s, e->pos, what, text.s, known, n);
  return "";
}

static void work(struct ws_schedule *s) {
  const struct ws_work *w = &s->doc->work;
  const struct ws_problem *p = s->problem;
  const char *dims[8];
  size_t ndims = 0;
  for (size_t i = 0; i < p->nlists; i++) dims[ndims++] = p->lists[i].dim;
  long v;
  s->tile_rows = -1;
  for (size_t i = 0; i < w->ntile; i++) {
    const struct ws_pair *t = &w->tile[i];
    if (strcmp(t->key, p->work_dim)) {
      ws_unknown(s, t->pos, "extent of a work tile", t->key, &p->work_dim, 1);
    } else if (t->value->kind == WS_E_NAME && !strcmp(t->value->name, "all"))
      s->tile_rows = 0;
    else if (ws_static_int(s, NULL, t->value, 1, 4096, "the extent of a work tile", &v))
      s->tile_rows = (int)v;
  }
  if (s->tile_rows < 0) {
    if (!s->diags->errors)
      ws_error(s->diags, w->pos.line ? w->pos : s->doc->pos, "work", "`work` needs `tile: {%s: ...}`: the rows of a work tile",
               p->work_dim);
    s->tile_rows = 0;
  }
  for (size_t i = 0; i < w->nblocks; i++) {
    const struct ws_pair *b = &w->blocks[i];
    bool known = false;
    for (size_t k = 0; k < ndims; k++) known |= !strcmp(dims[k], b->key);
    if (!known)
      ws_unknown(s, b->pos, "dim to cut into blocks", b->key, dims, ndims);
    else if (ws_static_int(s, NULL, b->value, 1, 4096, "the extent of a block", &v) && s->nblocks < 4)
      s->blocks[s->nblocks++] = (struct ws_block_step){b->key, (int)v, false};
  }
  static const char *const orders[] = {"ascending", "descending"};
  for (size_t i = 0; i < w->norder; i++) {
    const char *o = name_of(s, w->order[i].value, "order", orders, 2);
    bool found = false;
    for (int k = 0; k < s->nblocks; k++)
      if (!strcmp(s->blocks[k].dim, w->order[i].key)) s->blocks[k].descending = *o == 'd', found = true;
    if (!found)
      ws_error(s->diags, w->order[i].pos, "work", "`order` names `%s`, which `blocks` does not cut", w->order[i].key);
  }
  static const char *const launches[] = {"single", "persistent"}, *const sorts[] = {"longest"};
  if (w->launch) s->persistent = *name_of(s, w->launch, "launch", launches, 2) == 'p';
  if (w->sort) s->sort_longest = *name_of(s, w->sort, "sort", sorts, 1) != 0;
  if (w->ctas && ws_static_int(s, NULL, w->ctas, 1, 32, "the number of CTAs an SM", &v)) s->ctas = (int)v;
}

static void tensors(struct ws_schedule *s) {
  const struct ws_problem *p = s->problem;
  s->tensors = WS_NEW_N(s->arena, struct ws_tensor, p->ntensors + s->doc->ntensors);
  for (size_t i = 0; i < p->ntensors; i++) {
    const struct ws_problem_tensor *d = &p->tensors[i];
    struct ws_tensor *t = &s->tensors[s->ntensors];
    *t = (struct ws_tensor){.name = d->name, .out = d->out, .index = s->ntensors++, .type = WS_F32};
    const struct ws_static *ty = ws_schedule_param(s, d->type);
    if (ty && ty->kind == WS_ST_TYPE) t->type = ty->type;
    if (strcmp(d->type, "f32") && !ty)
      ws_error(s->diags, s->doc->pos, "problem", "problem `%s` needs a parameter `%s`", p->name, d->type);
    for (int k = 0; k < WS_MAX_DIMS && d->dims[k]; k++, t->ndims++) {
      const char *dim = d->dims[k];
      const struct ws_static *v = ws_schedule_param(s, dim);
      if (!v && !strcmp(dim, "head_dim_v")) v = ws_schedule_param(s, "head_dim"), dim = "head_dim";
      if (v && v->kind == WS_ST_INT)
        t->fixed[k] = v->i;
      else if (k == 3) {
        if (!v) ws_error(s->diags, s->doc->pos, "problem", "problem `%s` needs a parameter `%s`", p->name, dim);
        t->fixed[k] = 1;
      } else
        t->dim[k] = dim;
    }
    t->row_dim = t->ndims >= 4 ? t->ndims - 2 : t->ndims - 1, t->col_dim = t->ndims >= 4 ? t->ndims - 1 : -1;
  }
  for (size_t i = 0; i < s->doc->ntensors; i++) {
    const struct ws_tensor_decl *d = &s->doc->tensors[i];
    ws_error(s->diags, d->pos, "not-lowered", "workspace tensors are not lowered for %s yet: `%s`", s->target, d->name);
  }
}

static bool counted(struct ws_schedule *s, const struct ws_name *n, bool *is_array, int *count) {
  *is_array = n->count != NULL;
  *count = 1;
  long v;
  if (!n->count) return true;
  if (!ws_static_int(s, NULL, n->count, 1, 64, ws_fmt(s->arena, "the number of `%s`", n->name), &v)) return false;
  *count = (int)v;
  return true;
}

static void roles(struct ws_schedule *s) {
  s->roles = WS_NEW_N(s->arena, struct ws_rolem, s->doc->nroles);
  int warp = 0;
  for (size_t i = 0; i < s->doc->nroles; i++) {
    const struct ws_role *d = &s->doc->roles[i];
    struct ws_rolem *r = &s->roles[s->nroles];
    *r = (struct ws_rolem){.decl = d, .name = d->name.name, .index = s->nroles++, .first_warp = warp, .warps = 1};
    counted(s, &d->name, &r->is_array, &r->count);
    long v;
    if (d->warps && ws_static_int(s, NULL, d->warps, 1, 32, ws_fmt(s->arena, "the warps of `%s`", r->name), &v))
      r->warps = (int)v;
    if (d->registers && ws_static_int(s, NULL, d->registers, 24, 255, ws_fmt(s->arena, "the registers of `%s`", r->name), &v))
      r->registers = (int)v;
    if (d->threads && ws_static_int(s, NULL, d->threads, 1, 1, "`threads`", &v)) r->one_thread = true;
    r->separate = d->code != NULL;
    warp += r->warps * r->count;
  }
  s->threads = warp * 32;
  if (!s->nroles && !s->diags->errors) ws_error(s->diags, s->doc->pos, "roles", "a schedule needs at least one role");
  if (s->threads > 1024)
    ws_error(s->diags, s->doc->roles[0].name.pos, "budget", "the roles have %d warps; a CTA has at most 32", warp);
}

/* The layout of a tile in shared memory; see struct ws_smem_layout. */
static struct ws_smem_layout smem_layout(int cols, enum ws_type t) {
  int bits = (int)ws_type_bits(t), row_bytes = cols * bits / 8;
  if (row_bytes % 16) return (struct ws_smem_layout){.pitch = row_bytes};
  int units = bits == 16 ? (cols + 15) / 16 * 2 : row_bytes / 16;
  if (units % 8 == 0) return (struct ws_smem_layout){units * 16, units, 7, 0};
  if (units == 4) return (struct ws_smem_layout){units * 16, units, 3, 1};
  if (units == 2) return (struct ws_smem_layout){units * 16, units, 1, 2};
  return (struct ws_smem_layout){(units | 1) * 16, units, 0, 0};
}

static struct ws_bufferm *find_buffer(struct ws_schedule *s, const char *name) {
  for (int i = 0; i < s->nbuffers; i++)
    if (!strcmp(s->buffers[i].name, name)) return &s->buffers[i];
  return NULL;
}

static void buffer_unknown(struct ws_schedule *s, struct ws_pos pos, const char *name) {
  const char **known = WS_NEW_N(s->arena, const char *, s->doc->nbuffers + 1);
  for (size_t i = 0; i < s->doc->nbuffers; i++) known[i] = s->doc->buffers[i].name.name;
  ws_unknown(s, pos, "buffer", name, known, s->doc->nbuffers);
}

static void place(struct ws_schedule *s, struct ws_bufferm *b) {
  const struct ws_buffer *d = b->decl;
  if (b->tmem) return;
  long each = (b->bytes + 15) / 16 * 16, align = each >= 1024 ? 1024 : 128;
  each = (each + align - 1) / align * align;
  long all = each * b->count * b->stages;
  b->bytes = each;
  if (d->nat) {
    const struct ws_expr *at = d->at[0];
    b->over = d->nat == 1 && at->kind == WS_E_NAME ? find_buffer(s, at->name) : NULL;
    if (!b->over || b->over->tmem) {
      if (at->kind == WS_E_NAME)
        buffer_unknown(s, at->pos, at->name);
      else
        ws_error(s->diags, at->pos, "buffer-at", "a buffer in shared memory is placed over another one: `at: NAME`");
      return;
    }
    if (all > b->over->bytes * b->over->count * b->over->stages)
      ws_error(s->diags, at->pos, "buffer-at", "`%s` needs %ld bytes; `%s`, which it overlays, has %ld", b->name, all,
               b->over->name, b->over->bytes * b->over->count * b->over->stages);
    b->offset = b->over->offset;
    return;
  }
  s->smem_bytes = (s->smem_bytes + align - 1) / align * align;
  b->offset = s->smem_bytes;
  s->smem_bytes += all;
}

static void buffers(struct ws_schedule *s) {
  s->buffers = WS_NEW_N(s->arena, struct ws_bufferm, s->doc->nbuffers);
  for (size_t i = 0; i < s->doc->nbuffers; i++) {
    const struct ws_buffer *d = &s->doc->buffers[i];
    struct ws_bufferm *b = &s->buffers[s->nbuffers];
    *b = (struct ws_bufferm){.decl = d, .name = d->name.name, .index = s->nbuffers++, .stages = 1, .rows = 1, .cols = 1};
    bool ok = counted(s, &d->name, &b->is_array, &b->count);
    b->tmem = d->space && d->space->kind == WS_E_NAME && !strcmp(d->space->name, "tmem");
    long r = 1, c = 1, st = 1;
    struct ws_static ty = {.kind = WS_ST_NAME};
    ok &= ws_static_int(s, NULL, d->rows, 1, 65536, "the rows of a tile", &r);
    ok &= ws_static_int(s, NULL, d->cols, 1, 65536, "the columns of a tile", &c);
    if (d->stages) ok &= ws_static_int(s, NULL, d->stages, 1, 64, "`stages`", &st);
    if (ws_static_need(s, NULL, d->type, &ty, "the type of a buffer")) {
      if (ty.kind != WS_ST_TYPE) ws_error(s->diags, d->type->pos, "static-value", "expected a type: f32, f16, bf16, e4m3, e5m2 or i32");
      ok &= ty.kind == WS_ST_TYPE;
    } else
      ok = false;
    b->type = ty.kind == WS_ST_TYPE ? ty.type : WS_F16;
    b->rows = (int)r, b->cols = (int)c, b->stages = (int)st;
    b->layout = smem_layout(b->cols, b->type);
    b->bytes = (long)b->rows * b->layout.pitch;
    if (ok) place(s, b);
  }
}

static bool role_known(struct ws_schedule *s, const struct ws_end *e) {
  const char **known = WS_NEW_N(s->arena, const char *, s->doc->nroles + 1);
  for (size_t i = 0; i < s->doc->nroles; i++) {
    known[i] = s->doc->roles[i].name.name;
    if (!strcmp(known[i], e->role)) return true;
  }
  ws_unknown(s, e->pos, "role", e->role, known, s->doc->nroles);
  return false;
}

static void pipelines(struct ws_schedule *s) {
  s->pipelines = WS_NEW_N(s->arena, struct ws_pipelinem, s->doc->npipelines);
  for (size_t i = 0; i < s->doc->npipelines; i++) {
    const struct ws_pipeline *d = &s->doc->pipelines[i];
    struct ws_pipelinem *p = &s->pipelines[s->npipelines];
    *p = (struct ws_pipelinem){.decl = d, .name = d->name.name, .index = s->npipelines++};
    counted(s, &d->name, &p->is_array, &p->count);
    p->buffer = find_buffer(s, d->buffer);
    if (!p->buffer) buffer_unknown(s, d->buffer_pos, d->buffer);
    else if (p->buffer->count != p->count)
      ws_error(s->diags, d->name.pos, "pipeline", "pipeline `%s` has %d elements, its buffer `%s` has %d", p->name, p->count,
               p->buffer->name, p->buffer->count);
    p->by = !d->by ? WS_BY_THREADS : *d->by == 't' ? WS_BY_TMA : WS_BY_CP_ASYNC;
    for (size_t k = 0; k < d->nfrom; k++) role_known(s, &d->from[k]);
    for (size_t k = 0; k < d->nto; k++) role_known(s, &d->to[k]);
  }
}

static void barriers(struct ws_schedule *s) {
  s->barriers = WS_NEW_N(s->arena, struct ws_barrierm, s->doc->nbarriers);
  for (size_t i = 0; i < s->doc->nbarriers; i++) {
    const struct ws_barrier *d = &s->doc->barriers[i];
    struct ws_barrierm *b = &s->barriers[s->nbarriers];
    *b = (struct ws_barrierm){.decl = d, .name = d->name.name, .index = s->nbarriers++};
    counted(s, &d->name, &b->is_array, &b->count);
    for (size_t k = 0; k < d->nfrom; k++) role_known(s, &d->from[k]);
    for (size_t k = 0; k < d->nto; k++) role_known(s, &d->to[k]);
  }
}

/* One namespace for roles, buffers, tensors and parameters; one for pipelines and barriers. */
static void doubled(struct ws_schedule *s) {
  struct seen {
    const char *name;
    struct ws_pos pos;
  } *seen = WS_NEW_N(s->arena, struct seen,
                     s->doc->nparams + s->doc->nroles + s->doc->nbuffers + s->doc->ntensors + s->doc->npipelines +
                         s->doc->nbarriers + 1);
  size_t n = 0, first = 0;
#define ADD(N, POS)                                                                                         \
  do {                                                                                                      \
    for (size_t q = first; q < n; q++)                                                                      \
      if (!strcmp(seen[q].name, (N))) {                                                                     \
        ws_error(s->diags, (POS), "doubled-name", "`%s` is declared twice", (N));                           \
        ws_note(s->diags, seen[q].pos, "first declared here");                                              \
        break;                                                                                              \
      }                                                                                                     \
    seen[n++] = (struct seen){(N), (POS)};                                                                  \
  } while (0)
  for (size_t i = 0; i < s->doc->nparams; i++) ADD(s->doc->params[i].name, s->doc->params[i].pos);
  for (size_t i = 0; i < s->doc->nroles; i++) ADD(s->doc->roles[i].name.name, s->doc->roles[i].name.pos);
  for (size_t i = 0; i < s->doc->nbuffers; i++) ADD(s->doc->buffers[i].name.name, s->doc->buffers[i].name.pos);
  for (size_t i = 0; i < s->doc->ntensors; i++) ADD(s->doc->tensors[i].name, s->doc->tensors[i].pos);
  first = n;
  for (size_t i = 0; i < s->doc->npipelines; i++) ADD(s->doc->pipelines[i].name.name, s->doc->pipelines[i].name.pos);
  for (size_t i = 0; i < s->doc->nbarriers; i++) ADD(s->doc->barriers[i].name.name, s->doc->barriers[i].name.pos);
#undef ADD
}

static void window(struct ws_schedule *s) {
  const struct ws_static *w = ws_schedule_param(s, "window");
  if (!w || (w->kind == WS_ST_INT && !w->i)) return;
  struct ws_pos pos = s->doc->pos;
  for (size_t i = 0; i < s->nparams; i++)
    if (&s->params[i].value == w) pos = s->params[i].pos;
  if (w->kind != WS_ST_INT || w->i < 0 || w->i > 1 << 30)
    ws_error(s->diags, pos, "problem", "`window` is the number of keys that a row sees up to the diagonal, 0 for all");
  else if (!s->causal)
    ws_error(s->diags, pos, "problem", "a window ends at the diagonal: it needs `causal: true`");
  else
    s->window = (int)w->i;
}

void ws_pass_declare(struct ws_schedule *s) {
  const struct ws_static *causal = ws_schedule_param(s, "causal");
  s->causal = causal && causal->kind == WS_ST_BOOL && causal->i;
  window(s);
  doubled(s);
  work(s);
  tensors(s);
  roles(s);
  buffers(s);
  pipelines(s);
  barriers(s);
}

struct ws_schedule *ws_schedule_build(const struct ws_document *doc, const struct ws_source *src, const char *wanted,
                                      const struct ws_define *defines, size_t ndefines, struct ws_arena *a,
                                      struct ws_diags *d) {
  struct ws_schedule *s = WS_NEW(a, struct ws_schedule);
  (void)src;
  s->arena = a, s->diags = d, s->doc = doc, s->name = doc->schedule;
  size_t before = d->errors;
  s->problem = doc->problem ? ws_problem_find(doc->problem) : NULL;
  if (!s->problem) {
    const char *const *known;
    size_t n = ws_problem_names(&known);
    ws_unknown(s, doc->problem_pos, "problem", doc->problem ? doc->problem : "", known, n);
    return NULL;
  }
  target(s, wanted);
  ws_pass_params(s, defines, ndefines);
  if (d->errors > before) return NULL;
  ws_pass_declare(s);
  ws_pass_resolve(s);
  if (d->errors > before) return NULL;
  ws_pass_types(s);
  if (d->errors > before) return NULL;
  ws_pass_groups(s);
  ws_pass_budget(s);
  return d->errors > before ? NULL : s;
}

const struct ws_block_step *ws_schedule_block(const struct ws_schedule *s, const char *dim) {
  for (int i = 0; i < s->nblocks; i++)
    if (!strcmp(s->blocks[i].dim, dim)) return &s->blocks[i];
  return NULL;
}
