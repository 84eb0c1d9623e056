/* Budgets of a target: what a CTA asks for and what an SM has. */
#include "passes.h"

static const struct limits {
  int arch;
  long smem_cta, smem_sm;  /* bytes; CUDA C++ Programming Guide, compute capabilities: opt-in a block, a multiprocessor */
  long regs_sm;
  int threads_sm, ctas_sm;
} limits[] = {
    {80, 163 * 1024, 164 * 1024, 65536, 2048, 32},
    {90, 227 * 1024, 228 * 1024, 65536, 2048, 32},
    {100, 227 * 1024, 228 * 1024, 65536, 2048, 32},
    {103, 227 * 1024, 228 * 1024, 65536, 2048, 32},
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

/* 32-bit registers a thread needs for one tile. */
static long tile_registers(const struct ws_programm *p, const struct ws_var *v) {
  long rows = v->rows == 1 ? 1 : v->rows / p->role->warps, bits = (long)ws_type_bits(v->type);
  if (v->rows == 1 && v->cols == 1) return 1;
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

void ws_pass_budget(struct ws_schedule *s) {
  const struct limits *l = limits_of(s);
  int ctas = s->ctas ? s->ctas : 1;
  long cap = min_int(l->smem_cta, l->smem_sm / ctas - 1024);
  if (s->smem_bytes > cap) {
    const struct ws_bufferm *big = &s->buffers[0];
    for (int i = 0; i < s->nbuffers; i++)
      if (!s->buffers[i].over && s->buffers[i].bytes * s->buffers[i].stages * s->buffers[i].count > big->bytes * big->stages * big->count)
        big = &s->buffers[i];
    ws_error(s->diags, big->decl->name.pos, "budget", "shared memory: the buffers need %ld bytes, a CTA of %s has %ld%s; the largest is `%s` with %ld",
             s->smem_bytes, s->target, cap, ctas > 1 ? " at this `ctas`" : "", big->name, big->bytes * big->stages * big->count);
  }
  if ((long)s->threads * ctas > l->threads_sm || ctas > l->ctas_sm)
    ws_error(s->diags, s->doc->work.ctas ? s->doc->work.ctas->pos : s->doc->pos, "budget", "%d CTAs of %d threads: an SM of %s holds %d threads", ctas,
             s->threads, s->target, l->threads_sm);
  for (int i = 0; i < s->nprograms; i++) {
    long n = 0;
    const struct ws_var *v = largest(&s->programs[i], &n);
    if (v && n > registers(s, ctas))
      ws_error(s->diags, v->pos, "budget", "`%s` alone takes %ld registers a thread, `%s` has %d: more warps or a smaller tile", v->name, n,
               s->programs[i].role->name, registers(s, ctas));
  }
}

void ws_schedule_budget(const struct ws_schedule *s, struct ws_buf *out) {
  const struct limits *l = limits_of(s);
  int ctas = s->ctas ? s->ctas : 1;
  int by_smem = s->smem_bytes ? min_int(l->smem_sm / (s->smem_bytes + 1024), l->ctas_sm) : l->ctas_sm, by_threads = l->threads_sm / s->threads;
  for (int i = 0; i < s->nprograms; i++) {
    long n = 0;
    const struct ws_var *v = largest(&s->programs[i], &n);
    ws_buf_printf(out, "registers %s: at most %d a thread; largest tile %s %ld\n", s->programs[i].role->name, registers(s, ctas),
                  v ? v->name : "-", n);
  }
  ws_buf_printf(out, "shared memory: %ld of %ld bytes\n", s->smem_bytes, l->smem_cta);
  ws_buf_printf(out, "TMEM columns: 0\nbarriers: 1 of 16 named, 0 mbarriers\n");
  ws_buf_printf(out, "CTAs an SM: %d asked for; shared memory allows %d, threads allow %d\n", ctas, by_smem, by_threads);
}
