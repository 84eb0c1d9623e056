#include "dump.h"

struct dump {
  struct ws_buf *out;
  bool positions;
};

static void at(const struct dump *d, struct ws_pos p) {
  if (d->positions) ws_buf_printf(d->out, "@%u:%u+%u", p.line, p.col, p.len);
}

static void expr(const struct dump *d, const char *label, const struct ws_expr *e) {
  static const char *const kinds[] = {"number", "name", "call", "index", "attr", "method", "unary", "binary", "select", "part", "range"};
  static const char *const ops[] = {"", "neg", "not", "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
  if (!e) return;
  ws_buf_printf(d->out, " %s(%s", label, kinds[e->kind]);
  at(d, e->pos);
  if (e->op) ws_buf_printf(d->out, " %s", ops[e->op]);
  if (e->kind == WS_E_NUMBER) ws_buf_printf(d->out, e->is_int ? " %.0f" : " float %.17g", e->number);
  if (e->name) {
    ws_buf_printf(d->out, " %s", e->name);
    at(d, e->name_pos);
  }
  for (size_t i = 0; i < e->n; i++) expr(d, "", e->arg[i]);
  ws_buf_puts(d->out, ")");
}

static void exprs(const struct dump *d, const char *label, struct ws_expr **e, size_t n) {
  for (size_t i = 0; i < n; i++) expr(d, label, e[i]);
}

static void line(const struct dump *d, int level, const char *what, const char *name, struct ws_pos pos) {
  ws_buf_printf(d->out, "\n%*s%s", level * 2, "", what);
  if (name) ws_buf_printf(d->out, " %s", name);
  at(d, pos);
}

static void word(const struct dump *d, const char *label, const char *s, struct ws_pos pos) {
  if (!s) return;
  ws_buf_printf(d->out, " %s=%s", label, s);
  at(d, pos);
}

static void block(const struct dump *d, int level, const struct ws_block *b);

static void stmt(const struct dump *d, int level, const struct ws_stmt *s) {
  static const char *const kinds[] = {"for", "each", "if", "one-thread", "load", "store", "reduce", "write", "copy", "product", "assign", "assign2",
                                      "acquire", "wait", "commit", "release", "arrive", "await", "sync", "wait-eq", "wait-phase", "arrive-expect",
                                      "init", "inval", "fence"};
  static const char *const scopes[] = {"role", "warp", "all", "cluster", "ref"};
  line(d, level, kinds[s->kind], NULL, s->pos);
  if (d->positions) ws_buf_printf(d->out, " `%s`", s->text);
  if (s->kind == WS_S_SYNC) ws_buf_printf(d->out, " %s", scopes[s->sync]);
  if (s->accumulate) ws_buf_puts(d->out, " accumulate");
  expr(d, "dst=", s->dst);
  expr(d, "dst2=", s->dst2);
  expr(d, "a=", s->a);
  expr(d, "b=", s->b);
  word(d, "handle", s->handle, s->handle_pos);
  expr(d, "rows=", s->as_rows);
  expr(d, "cols=", s->as_cols);
  expr(d, "when=", s->when);
  for (size_t i = 0; i < s->nopts; i++) {
    word(d, "with", s->opts[i].name, s->opts[i].pos);
    expr(d, "", s->opts[i].value);
  }
  word(d, "var", s->var, s->var_pos);
  expr(d, "in=", s->list);
  expr(d, "lo=", s->lo);
  expr(d, "hi=", s->hi);
  if (s->peel_first) ws_buf_puts(d->out, " peel");
  if (s->split_masked) ws_buf_puts(d->out, " split");
  expr(d, "unroll=", s->unroll);
  block(d, level + 1, s->body);
  for (size_t i = 0; i < s->nbranches; i++) {
    line(d, level, s->branches[i].cond ? " arm" : " else", NULL, s->branches[i].pos);
    if (d->positions) ws_buf_printf(d->out, " `%s`", s->branches[i].text);
    expr(d, "", s->branches[i].cond);
    block(d, level + 1, s->branches[i].body);
  }
}

static void block(const struct dump *d, int level, const struct ws_block *b) {
  for (size_t i = 0; b && i < b->n; i++) stmt(d, level, b->stmt[i]);
}

static void pairs(const struct dump *d, const char *label, const struct ws_pair *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    word(d, label, p[i].key, p[i].pos);
    expr(d, "", p[i].value);
  }
}

static void ends(const struct dump *d, const char *label, const struct ws_end *e, size_t n) {
  static const char *const units[] = {"thread", "warp", "one"};
  for (size_t i = 0; i < n; i++) {
    word(d, label, e[i].role, e[i].pos);
    ws_buf_printf(d->out, ":%s%s", units[e[i].unit], e[i].unit_given ? "" : "(default)");
  }
}

static void declared(const struct dump *d, const char *what, const struct ws_name *n) {
  line(d, 1, what, n->name, n->pos);
  expr(d, "count=", n->count);
}

static void params(const struct dump *d, const struct ws_document *doc) {
  for (size_t i = 0; i < doc->nparams; i++) {
    const struct ws_param *p = &doc->params[i];
    line(d, 1, "param", p->name, p->pos);
    word(d, "type", p->type, p->type_pos);
    exprs(d, "choice=", p->choices, p->nchoices);
    expr(d, "value=", p->value);
  }
}

static void work(const struct dump *d, const struct ws_work *w) {
  line(d, 1, "work", NULL, w->pos);
  pairs(d, "tile", w->tile, w->ntile);
  pairs(d, "blocks", w->blocks, w->nblocks);
  pairs(d, "order", w->order, w->norder);
  expr(d, "launch=", w->launch);
  expr(d, "sort=", w->sort);
  expr(d, "cluster=", w->cluster);
  expr(d, "ctas=", w->ctas);
}

static void memory(const struct dump *d, const struct ws_document *doc) {
  for (size_t i = 0; i < doc->ntensors; i++) {
    line(d, 1, "tensor", doc->tensors[i].name, doc->tensors[i].pos);
    exprs(d, "dim=", doc->tensors[i].dims, doc->tensors[i].ndims);
    expr(d, "type=", doc->tensors[i].type);
  }
  for (size_t i = 0; i < doc->nbuffers; i++) {
    const struct ws_buffer *b = &doc->buffers[i];
    declared(d, "buffer", &b->name);
    expr(d, "space=", b->space);
    expr(d, "rows=", b->rows);
    expr(d, "cols=", b->cols);
    expr(d, "type=", b->type);
    expr(d, "stages=", b->stages);
    exprs(d, "at=", b->at, b->nat);
    expr(d, "order=", b->order);
    expr(d, "swizzle=", b->swizzle);
  }
}

static void roles(const struct dump *d, const struct ws_document *doc) {
  for (size_t i = 0; i < doc->nroles; i++) {
    declared(d, "role", &doc->roles[i].name);
    expr(d, "warps=", doc->roles[i].warps);
    expr(d, "registers=", doc->roles[i].registers);
    expr(d, "threads=", doc->roles[i].threads);
    expr(d, "code=", doc->roles[i].code);
  }
}

static void synchronisation(const struct dump *d, const struct ws_document *doc) {
  for (size_t i = 0; i < doc->npipelines; i++) {
    const struct ws_pipeline *p = &doc->pipelines[i];
    declared(d, "pipeline", &p->name);
    word(d, "buffer", p->buffer, p->buffer_pos);
    word(d, "by", p->by, p->by_pos);
    ends(d, "from", p->from, p->nfrom);
    ends(d, "to", p->to, p->nto);
    word(d, "full", p->full, p->full_pos);
    word(d, "empty", p->empty, p->empty_pos);
  }
  for (size_t i = 0; i < doc->nbarriers; i++) {
    const struct ws_barrier *b = &doc->barriers[i];
    declared(d, b->named ? "named-barrier" : "barrier", &b->name);
    ends(d, "from", b->from, b->nfrom);
    ends(d, "to", b->to, b->nto);
    word(d, "scope", b->scope, b->scope_pos);
    expr(d, "open=", b->open);
    expr(d, "count=", b->count);
    expr(d, "stages=", b->stages);
    expr(d, "manual=", b->manual);
    if (b->per) ws_buf_printf(d->out, " per=%s", b->per);
  }
}

void dump_spec(const struct ws_spec *s, bool positions, struct ws_buf *out) {
  struct dump d = {out, positions};
  for (size_t i = 0; i < s->ndocs; i++) {
    const struct ws_document *doc = &s->docs[i];
    ws_buf_puts(out, i ? "\ndocument" : "document");
    at(&d, doc->pos);
    word(&d, "schedule", doc->schedule, doc->schedule_pos);
    word(&d, "problem", doc->problem, doc->problem_pos);
    for (size_t t = 0; t < doc->ntargets; t++) word(&d, "target", doc->targets[t], doc->target_pos[t]);
    params(&d, doc);
    work(&d, &doc->work);
    memory(&d, doc);
    roles(&d, doc);
    synchronisation(&d, doc);
    for (size_t p = 0; p < doc->nprograms; p++) {
      line(&d, 1, "program", doc->programs[p].role, doc->programs[p].pos);
      expr(&d, "index=", doc->programs[p].index);
      block(&d, 2, doc->programs[p].body);
    }
  }
  ws_buf_puts(out, "\n");
}
