/* Budgets of a target: what a CTA asks for and what an SM has. */
#include "passes.h"

static const struct limits {
  int arch;
  long smem_cta, smem_sm;  /* bytes; CUDA C++ Programming Guide, compute capabilities: opt-in a block, a multiprocessor */
  long regs_sm;
  int threads_sm, ctas_sm;
  int tmem;                /* columns; PTX ISA, "Tensor Memory" */
} limits[] = {
    {80, 163 * 1024, 164 * 1024, 65536, 2048, 32, 0},
    {90, 227 * 1024, 228 * 1024, 65536, 2048, 32, 0},
    {100, 227 * 1024, 228 * 1024, 65536, 2048, 32, 512},
    {103, 227 * 1024, 228 * 1024, 65536, 2048, 32, 512},
};

static const struct limits *limits_of(const struct ws_schedule *s) {
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (limits[i].arch == s->arch) return &limits[i];
  return &limits[0];
}

static int min_int(long a, long b) { return (int)(a < b ? a : b); }

/* Registers a thread may have when `ctas` CTAs share an SM: allocated in units of 8, at most 255. */
static int registers(const struct ws_schedule *s, int ctas) {
  long r = limits_of(s)->regs_sm / ((long)s->threads * ctas) / 8 * 8;
  return min_int(r, 255);
}

static int role_registers(const struct ws_schedule *s, const struct ws_rolem *r, int ctas) {
  return r->registers ? min_int(r->registers, 255) : registers(s, ctas);
}

/* 32-bit registers a thread needs for one tile. */
static long tile_registers(const struct ws_programm *p, const struct ws_var *v) {
  long bits = (long)ws_type_bits(v->type), warps = p->role->warps;
  if (v->rows == 1 && v->cols == 1) return 1;
  if (v->layout == WS_L_LANE) return v->cols == 1 ? 1 : (v->cols * bits + 31) / 32;
  if (v->layout == WS_L_COPY) return (v->rows * (long)v->cols * bits / 32 + 32 * warps - 1) / (32 * warps);
  long rows = v->rows == 1 ? 1 : v->rows / warps;
  if (v->cols == 1) return rows / 8; /* a row vector is replicated in the four lanes of a row */
  return rows * v->cols * bits / 32 / 32;
}

static const struct ws_var *largest(const struct ws_programm *p, long *size) {
  const struct ws_var *best = NULL;
  for (size_t i = 0; i < p->nvars; i++) {
    long n = tile_registers(p, p->vars[i]);
    if (!best || n > *size) best = p->vars[i], *size = n;
  }
  return best;
}

/* setmaxnreg moves registers between warpgroups: their sum stays what the launch gave (PTX ISA, setmaxnreg). */
static long declared_registers(const struct ws_schedule *s, long *cap) {
  long sum = 0, groups = (s->threads + 127) / 128;
  for (int i = 0; i < s->nroles; i++)
    for (int w = s->roles[i].first_warp; w < s->roles[i].first_warp + s->roles[i].warps * s->roles[i].count; w++)
      if (w % 4 == 0) sum += s->roles[i].registers;
  *cap = limits_of(s)->regs_sm / (s->ctas ? s->ctas : 1) / s->threads / 8 * 8 * groups;
  return sum;
}

static void check_smem(struct ws_schedule *s, int ctas) {
  const struct limits *l = limits_of(s);
  long cap = min_int(l->smem_cta, l->smem_sm / ctas - 1024);
  if (s->smem_bytes <= cap || !s->nbuffers) return;
  const struct ws_bufferm *big = &s->buffers[0];
  for (int i = 0; i < s->nbuffers; i++)
    if (!s->buffers[i].over && !s->buffers[i].tmem &&
        s->buffers[i].bytes * s->buffers[i].stages * s->buffers[i].count > big->bytes * big->stages * big->count)
      big = &s->buffers[i];
  ws_error(s->diags, big->decl->name.pos, "budget", "shared memory: the buffers need %ld bytes, a CTA of %s has %ld%s; the largest is `%s` with %ld",
           s->smem_bytes, s->target, cap, ctas > 1 ? " at this `ctas`" : "", big->name, big->bytes * big->stages * big->count);
}

static void check_registers(struct ws_schedule *s, int ctas) {
  long cap, sum = declared_registers(s, &cap);
  if (sum > cap)
    ws_error(s->diags, s->roles[0].decl->name.pos, "budget", "the roles ask for %ld registers, added up over warpgroups; %d threads%s have %ld", sum, s->threads,
             ctas > 1 ? " at this `ctas`" : "", cap);
  for (int i = 0; i < s->nprograms; i++) {
    long n = 0;
    const struct ws_var *v = largest(&s->programs[i], &n);
    int has = role_registers(s, s->programs[i].role, ctas);
    if (v && n > has)
      ws_error(s->diags, v->pos, "budget", "`%s` alone takes %ld registers a thread, `%s` has %d: more warps or a smaller tile", v->name, n,
               s->programs[i].role->name, has);
  }
}

void ws_pass_budget(struct ws_schedule *s) {
  const struct limits *l = limits_of(s);
  int ctas = s->ctas ? s->ctas : 1;
  check_smem(s, ctas);
  if ((long)s->threads * ctas > l->threads_sm || ctas > l->ctas_sm)
    ws_error(s->diags, s->doc->work.ctas ? s->doc->work.ctas->pos : s->doc->pos, "budget", "%d CTAs of %d threads: an SM of %s holds %d threads", ctas,
             s->threads, s->target, l->threads_sm);
  if (s->tmem_cols && s->tmem_cols * ctas > l->tmem)
    ws_error(s->diags, s->doc->work.ctas ? s->doc->work.ctas->pos : s->doc->pos, "budget", "%d CTAs of %d TMEM columns: an SM has %d", ctas, s->tmem_cols, l->tmem);
  check_registers(s, ctas);
}

/* TMEM is allocated in powers of two from 32 (PTX ISA, tcgen05.alloc). */
static int tmem_allocated(const struct ws_schedule *s) {
  int n = s->tmem_cols ? 32 : 0;
  while (n && n < s->tmem_cols) n *= 2;
  return n;
}

static void program_line(const struct ws_schedule *s, const struct ws_programm *p, int ctas, struct ws_buf *out) {
  long n = 0;
  const struct ws_var *v = largest(p, &n);
  ws_buf_printf(out, "registers %s", p->role->name);
  if (p->role->is_array && p->count == 1) ws_buf_printf(out, "[%d]", p->first);
  ws_buf_printf(out, ": at most %d a thread; largest tile %s %ld\n", role_registers(s, p->role, ctas), v ? v->name : "-", n);
}

void ws_schedule_budget(const struct ws_schedule *s, struct ws_buf *out) {
  const struct limits *l = limits_of(s);
  int ctas = s->ctas ? s->ctas : 1, alloc = tmem_allocated(s);
  int by_smem = s->smem_bytes ? min_int(l->smem_sm / (s->smem_bytes + 1024), l->ctas_sm) : l->ctas_sm, by_threads = l->threads_sm / s->threads;
  for (int i = 0; i < s->nprograms; i++) program_line(s, &s->programs[i], ctas, out);
  long cap, sum = declared_registers(s, &cap);
  if (sum) ws_buf_printf(out, "registers over warpgroups: %ld of %ld\n", sum, cap);
  ws_buf_printf(out, "shared memory: %ld of %ld bytes\n", s->smem_bytes, l->smem_cta);
  ws_buf_printf(out, "TMEM columns: %d\n", s->tmem_cols);
  ws_buf_printf(out, "barriers: %d of 16 named, %d mbarriers\n", s->named, s->mbarriers);
  ws_buf_printf(out, "CTAs an SM: %d asked for; shared memory allows %d, threads allow %d", ctas, by_smem, by_threads);
  if (alloc) ws_buf_printf(out, ", TMEM allows %d", l->tmem / alloc);
  ws_buf_puts(out, "\n");
}
