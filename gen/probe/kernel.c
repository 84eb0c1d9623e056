/* A kernel of 128 threads that fills one slot as the generated kernels do (TMA with their boxes; threads with their swizzle),
 * writes its bytes to `dump`, and multiplies it with unit vectors through the descriptors of gen/lower/descriptor.c: what a
 * product picks for (row, k) is then an element of the result. The unit vectors are 128 rows of 16 elements, 1 at (r, r).
 * A tile in tensor memory is written by tcgen05.st, a row a thread, at the columns that the schedule has for it, read back by
 * tcgen05.ld, and multiplied from there. */
#include "place.h"
#include <string.h>

enum { THREADS = 128, IDENTITY = WS_PROBE_IDENTITY * 2, BOX_ROWS = 256, MOST = 232448, MOST_NUMBERS = 65536 };

struct maker {
  struct ws_ptx px;
  const struct probe *p;
  struct ws_probe_kernel *k;
  struct products products;
  long ones, bar;               /* in shared memory: the unit vectors; two mbarriers and the address of tensor memory */
  long shared;
  bool tmem;
  int box_rows, box_cols;
  const char *phase;            /* of the second mbarrier */
};

#define EMIT(M, TMPL, ...) WS_OP(&(M)->px, TMPL, __VA_ARGS__)
static const char *num(struct maker *m, long v) { return ws_ptx_int(&m->px, v); }
static const char *b32(struct maker *m, const char *name) { return ws_ptx_reg(&m->px, WS_REG_B32, name); }
static const char *b64(struct maker *m, const char *name) { return ws_ptx_reg(&m->px, WS_REG_B64, name); }
static const char *pred(struct maker *m) { return ws_ptx_reg(&m->px, WS_REG_PRED, "p"); }

static int first_column(const struct maker *m) { return m->p->buffer->column[m->p->q->element * m->p->buffer->stages + m->p->q->stage]; }

/* Columns that the tile leaves free, for a result. */
static int free_column(const struct maker *m) { return !m->k->tmem || first_column(m) >= 16 ? 0 : first_column(m) + m->p->buffer->tmem_cols; }

/* ---- into shared memory ---- */

static void by_threads(struct maker *m, const char *source, long total, long units, long pitch, const struct ws_smem_layout *l, long at) {
  const char *loop = ws_ptx_label(&m->px, "units"), *done = ws_ptx_label(&m->px, "filled"), *i = b32(m, "i"), *unit = b32(m, "unit"), *row = b32(m, "row"), *to = b32(m, "to");
  EMIT(m, "probe_units", loop, done, i, pred(m), num(m, total), row, unit, num(m, units), to, num(m, pitch));
  if (l && !l->units) {
    EMIT(m, "probe_words_end", loop, done, i, to, unit, num(m, at), source, b64(m, "wide"), b32(m, "a"));
    return;
  }
  if (l && l->mask && l->shift) EMIT(m, "swizzle_shifted", unit, row, num(m, l->shift), num(m, l->mask), row);
  else if (l && l->mask) EMIT(m, "swizzle", unit, row, num(m, l->mask), row);
  EMIT(m, "add_unit", to, unit);
  EMIT(m, "probe_units_end", loop, done, i, to, num(m, at), source, b64(m, "wide"), b32(m, "a"), b32(m, "b"), b32(m, "c"), b32(m, "d"));
}

/* The boxes of gen/lower/tma.c: a panel wide, up to 256 rows high. */
static void by_tma(struct maker *m) {
  const struct ws_bufferm *b = m->p->buffer;
  const char *skip = ws_ptx_label(&m->px, "loaded"), *map = b64(m, "map"), *dims = "2", *zero = num(m, m->bar), *bar = "%smem";
  EMIT(m, "probe_first", pred(m), skip);
  EMIT(m, "map_address", map, "tile_map");
  EMIT(m, "mbarrier_expect", bar, zero, num(m, (long)m->k->rows * m->k->cols * m->k->bits / 8));
  for (int r = 0; r < m->k->rows; r += m->box_rows)
    for (int c = 0; c < m->k->cols; c += m->box_cols) {
      long at = m->k->base + ws_smem_unit(&b->layout, r, (long)c * m->k->bits / 128);
      EMIT(m, "tma_load", dims, "%smem", num(m, at), map, ws_fmt(m->p->a, "%d, %d", c, r), bar, zero, "", "");
    }
  EMIT(m, "label", skip);
  EMIT(m, "mbarrier_wait", ws_ptx_label(&m->px, "arrived"), pred(m), bar, zero, "0");
}

/* The words of a thread's row between global and tensor memory, as many at a time as an instruction takes. */
static void rows_of_tmem(struct maker *m, bool in, struct lower *l) {
  const struct ws_bufferm *b = m->p->buffer;
  const char *address = b64(m, in ? "tile_row" : "dump_row");
  EMIT(m, "probe_rows_lane", address, b32(m, "row"), num(m, b->tmem_cols), in ? "%tile_data" : "%dump_data");
  for (int c = 0, n = 32; c < b->tmem_cols; c += n) {
    while (n > b->tmem_cols - c) n /= 2;
    const char **d = ws_ptx_temps(&m->px, WS_REG_B32, "word", (size_t)n), *args[] = {num(m, n), "%tmem_lanes", num(m, first_column(m) + c)};
    struct ws_list lines[] = {ws_register_lines(l, d, n)};
    for (int i = 0; in && i < n; i++) EMIT(m, "probe_load_word", d[i], address, num(m, 4L * (c + i)));
    ws_ptx_op_list(&m->px, in ? "tcgen05_st" : "tcgen05_ld", args, 3, lines, 1);
    if (!in) WS_OP0(&m->px, "tcgen05_wait_ld");
    for (int i = 0; !in && i < n; i++) EMIT(m, "probe_store_word", address, num(m, 4L * (c + i)), d[i]);
  }
}

static void fill_tmem(struct maker *m, struct lower *l) {
  rows_of_tmem(m, true, l);
  WS_OP0(&m->px, "tcgen05_wait_st");
  rows_of_tmem(m, false, l);
  WS_OP0(&m->px, "tcgen05_before");
  WS_OP0(&m->px, "fence_async"); /* the unit vectors */
  WS_OP0(&m->px, "probe_sync");
  WS_OP0(&m->px, "tcgen05_after");
}

static void fill(struct maker *m, struct lower *lower) {
  const struct ws_bufferm *b = m->p->buffer;
  const struct ws_smem_layout *l = &b->layout;
  bool async = m->p->s->arch >= 90;
  if (async) {
    const char *skip = ws_ptx_label(&m->px, "ready");
    EMIT(m, "probe_first", pred(m), skip);
    for (int i = 0; i < 2; i++) EMIT(m, "mbarrier_init", "%smem", num(m, m->bar + 8L * i), "1");
    WS_OP0(&m->px, "mbarrier_init_fence");
    EMIT(m, "label", skip);
    by_threads(m, "%ones_data", IDENTITY / 16, 1, 16, NULL, m->ones);
  }
  if (m->k->tmem) {
    fill_tmem(m, lower);
    return;
  }
  long row = (long)m->k->cols * m->k->bits / 8, each = l->units ? 16 : 4;
  if (!m->k->tma) by_threads(m, "%tile_data", m->k->rows * row / each, row / each, l->pitch, l, m->k->base);
  if (async) WS_OP0(&m->px, "fence_async");
  WS_OP0(&m->px, "probe_sync");
  if (m->k->tma) by_tma(m);
  EMIT(m, "probe_dump", ws_ptx_label(&m->px, "words"), ws_ptx_label(&m->px, "dumped"), b32(m, "i"), pred(m), num(m, m->k->bytes / 4), b32(m, "to"), num(m, m->k->base),
       "%dump_data", b64(m, "wide"), b32(m, "a"));
}

/* ---- products ---- */

struct step {                   /* one product: 16 of the contracted index */
  const struct product *x;
  const char *a, *b;            /* descriptors */
  int column;                   /* of A in tensor memory */
  int m, n;
  long first;                   /* of its outputs */
};

static void store(struct maker *m, const char *address, long element, const char *value) { EMIT(m, "probe_store", pred(m), address, num(m, element * 4), value); }

static void by_wgmma(struct maker *m, const struct step *s, struct lower *l) {
  const char **d = ws_ptx_temps(&m->px, WS_REG_F32, "acc", (size_t)s->n / 2), *address = b64(m, "result"), *type = m->k->bf16 ? "bf16" : "f16";
  struct ws_list lines[] = {ws_register_lines(l, d, s->n / 2)};
  const char *args[] = {num(m, s->n), type, s->a, s->b, "0", s->x->a && s->x->o.mn_major ? "1" : "0", !s->x->a && s->x->o.mn_major ? "1" : "0"};
  WS_OP0(&m->px, "wgmma_fence");
  ws_ptx_op_list(&m->px, "wgmma_ss", args, sizeof args / sizeof *args, lines, 1);
  WS_OP0(&m->px, "wgmma_commit");
  EMIT(m, "wgmma_wait", "0");
  EMIT(m, "probe_rows_acc", address, b32(m, "row"), b32(m, "unit"), num(m, s->n), "%result_data");
  EMIT(m, "probe_below", pred(m), s->x->a ? "128" : "32");
  for (int i = 0; i < s->n / 2; i++) store(m, address, s->first + (i / 2 % 2 * 8L) * s->n + i / 4 * 8 + i % 2, d[i]);
}

static void by_tcgen05(struct maker *m, const struct step *s, struct lower *l) {
  const char *skip = ws_ptx_label(&m->px, "issued"), *bar = num(m, m->bar + 8), *address = b64(m, "result"), *taddr = "%tmem_lanes";
  unsigned idesc = ws_tcgen05_instruction(m->k->bf16, s->m, s->n, s->x->a && s->x->o.mn_major, !s->x->a && s->x->o.mn_major);
  EMIT(m, "probe_first", pred(m), skip);
  if (m->k->tmem) {
    const char *d = b32(m, "tmem_result");
    EMIT(m, "add_s32", d, "%tmem", num(m, free_column(m)));
    EMIT(m, "tcgen05_mma_ts", "1", d, "%tmem", num(m, s->column), s->b, ws_fmt(m->p->a, "0x%08X", idesc), "0");
  } else
    EMIT(m, "tcgen05_mma_ss", "1", "%tmem", s->a, s->b, ws_fmt(m->p->a, "0x%08X", idesc), "0");
  EMIT(m, "tcgen05_commit", "1", "%smem", bar);
  EMIT(m, "label", skip);
  EMIT(m, "mbarrier_wait", ws_ptx_label(&m->px, "done"), pred(m), "%smem", bar, m->phase);
  EMIT(m, "phase_flip", m->phase);
  WS_OP0(&m->px, "tcgen05_after");
  EMIT(m, "probe_rows_lane", address, b32(m, "row"), num(m, s->n), "%result_data");
  EMIT(m, "probe_below", pred(m), s->x->a ? "128" : "16");
  for (int c = 0; c < s->n; c += 16) {
    const char **d = ws_ptx_temps(&m->px, WS_REG_F32, "acc", 16), *args[] = {"16", taddr, num(m, free_column(m) + c)};
    struct ws_list lines[] = {ws_register_lines(l, d, 16)};
    ws_ptx_op_list(&m->px, "tcgen05_ld", args, 3, lines, 1);
    WS_OP0(&m->px, "tcgen05_wait_ld");
    for (int i = 0; i < 16; i++) store(m, address, s->first + c + i, d[i]);
  }
  WS_OP0(&m->px, "tcgen05_before");
  WS_OP0(&m->px, "probe_sync"); /* the next product overwrites the columns */
  WS_OP0(&m->px, "tcgen05_after");
}

/* `rows` rows of an A in pieces of what an instruction takes; all of a B at once. */
static void multiply(struct maker *m, const struct product *x, const struct ws_probe_product *r, struct lower *l) {
  const char *low = b32(m, "low"), *mine = b64(m, "mine"), *ones = b64(m, "unity"), *t = b32(m, "to");
  EMIT(m, "descriptor_start", low, "%smem", num(m, m->ones));
  EMIT(m, "descriptor", ones, low, "0", ws_fmt(m->p->a, "0x%08X", 3u << 30 | (m->p->s->arch >= 100 ? 1u << 14 : 0) | 256 / 16), t);
  for (int k = 0; k < x->steps && m->k->tmem; k++) {
    struct step s = {.x = x, .b = ones, .m = 128, .n = r->n, .column = first_column(m) + x->o.mem->col0 / 2 + k * WS_KSTEP / 2};
    s.first = r->first + (long)k * r->m * r->n;
    by_tcgen05(m, &s, l);
  }
  if (m->k->tmem) return;
  const char *high = ws_fmt(m->p->a, "0x%08lX", ws_descriptor_high(m->p->s, &x->o));
  EMIT(m, "descriptor_start", low, "%smem", num(m, m->k->base + ws_descriptor_start(&x->o)));
  if (x->o.mn_major) EMIT(m, "descriptor_row", low, ws_fmt(m->p->a, "0x%lX", ws_descriptor_lead(&x->o)));
  int piece = x->a ? x->m : 0, pieces = x->a ? r->m / piece : 1;
  for (int k = 0; k < x->steps; k++)
    for (int i = 0; i < pieces; i++) {
      EMIT(m, "descriptor", mine, low, num(m, (ws_descriptor_step(&x->o, k, 0) + ws_smem_unit(&m->p->buffer->layout, (long)i * piece, 0)) / 16), high, t);
      struct step s = {.x = x, .a = x->a ? mine : ones, .b = x->a ? ones : mine, .m = x->a ? piece : m->tmem ? 128 : 64, .n = r->n};
      s.first = r->first + (long)k * r->m * r->n + (long)i * piece * r->n;
      (m->tmem ? by_tcgen05 : by_wgmma)(m, &s, l);
    }
}

/* ---- what is multiplied ---- */

/* A slot under another shape has panels of another height: its elements lie elsewhere, which --check does not lay out. */
static bool plain(const struct probe *p, const struct product *x) {
  const struct ws_mem *h = x->o.mem;
  int along = x->o.mn_major ? h->cols : h->rows;
  if (h->handle && h->handle->rows != p->rows) return false;
  return ws_type_bits(p->buffer->type) == 16 && (!x->a || along % x->m == 0) && !(x->a && x->o.mn_major && along != x->m) && x->n % 16 == 0;
}

static void plan(struct maker *m) {
  struct ws_probe_kernel *k = m->k;
  struct products found = ws_probe_products(m->p), keep = {0};
  k->product = WS_NEW_N(m->p->a, struct ws_probe_product, found.n + 1);
  for (size_t i = 0; i < found.n; i++) {
    const struct product *x = &found.list[i];
    const struct ws_mem *mem = x->o.mem;
    if (!plain(m->p, x)) continue;
    struct ws_probe_product *r = &k->product[k->nproducts++];
    r->what = ws_fmt(m->p->a, "%s operand of %s, %s-major", x->a ? "left" : "right", ws_probe_lines(m->p, x, "line", "lines"), x->o.mn_major ? (x->a ? "M" : "N") : "K");
    r->a = x->a, r->steps = x->steps, r->first = k->results, r->row0 = mem->row0, r->col0 = mem->col0, r->transposed = x->o.mn_major;
    r->m = x->a ? (x->o.mn_major ? mem->cols : mem->rows) : 16, r->n = x->a ? 16 : x->n;
    k->results += (long)r->steps * r->m * r->n;
    *WS_PUSH(m->p->a, keep.list, keep.n, keep.cap) = *x;
    m->tmem = x->act->by == WS_BY_TCGEN05;
  }
  m->products = keep;
}

static const char *refusal(const struct probe *p) {
  const struct ws_bufferm *b = p->buffer;
  long bits = ws_type_bits(b->type), row = b->cols * bits / 8;
  if (b->tmem) return b->rows != 128 || row % 4 || bits < 16 ? "--check needs 128 rows of whole columns, of 16 or 32 bits an element" : NULL;
  if (b->layout.units ? row % 16 : b->layout.pitch != row || row % 4) return "--check needs rows of whole 16-byte units, or of whole words without padding";
  if (bits < 16) return "--check numbers elements of 16 or 32 bits";
  return (long)b->rows * b->cols > MOST_NUMBERS && bits == 16 ? "--check numbers at most 65536 elements of 16 bits" : NULL;
}

static void place_parts(struct maker *m) {
  struct ws_probe_kernel *k = m->k;
  const struct ws_bufferm *b = m->p->buffer;
  k->rows = b->rows, k->cols = b->cols, k->bits = (int)ws_type_bits(b->type), k->bf16 = b->type == WS_BF16;
  k->tmem = m->tmem = b->tmem;
  k->base = b->tmem ? 0 : ws_probe_base(m->p), k->bytes = b->tmem ? 128L * b->tmem_cols * 4 : b->bytes;
  long end = b->tmem ? 0 : (k->base + k->bytes + 1023) / 1024 * 1024;
  m->ones = k->base >= IDENTITY + 1024 ? 0 : end; /* in front of the slot, if there is room */
  m->bar = m->ones + IDENTITY;
  m->shared = m->ones || b->tmem ? m->bar + 64 : end;
  k->tma = m->p->s->arch >= 90 && b->panel;
  if (b->tmem) return;
  m->box_cols = b->panel * 8 / k->bits, m->box_rows = b->rows8 ? 8 : k->rows;
  for (int n = 1; k->rows % n || m->box_rows > BOX_ROWS; n++)
    if (k->rows % (n + 1) == 0) m->box_rows = k->rows / (n + 1);
}

/* ---- the file ---- */

static const char *manifest(const struct maker *m) {
  const struct ws_probe_kernel *k = m->k;
  const char *type = ws_type_name(m->p->buffer->type);
  struct ws_buf o = {.arena = m->p->a};
  ws_buf_printf(&o, "// warpscore manifest 1\n// schedule: probe\n// entry: probe\n// target: %s\n// problem: probe\n", m->p->s->target);
  ws_buf_printf(&o, "// tensor: tile in %s [%d, %d] align 16\n// tensor: ones in %s [128, 16] align 16\n", type, k->rows, k->cols, k->bits == 16 ? type : "f16");
  ws_buf_printf(&o, "// tensor: dump out i32 [%ld] align 4\n// tensor: result out f32 [%ld] align 4\n", k->bytes / 4, k->results ? k->results : 1);
  if (k->tma) ws_buf_printf(&o, "// map: tile_map tile [%d, %d] box [%d, %d] swizzle %d\n// param: map tile_map\n", k->rows, k->cols, m->box_rows, m->box_cols, m->p->buffer->swizzle);
  ws_buf_puts(&o, "// param: u64 tile.data\n// param: u64 ones.data\n// param: u64 dump.data\n// param: u64 result.data\n");
  ws_buf_printf(&o, "// grid: 1\n// block: %d\n// shared: %ld\n// checked: no\n// end manifest", THREADS, m->shared);
  return o.s;
}

static void body(struct maker *m, struct ws_buf *code) {
  static const char *const data[] = {"tile_data", "ones_data", "dump_data", "result_data"};
  static const char *const fixed[] = {"smem", "thread", "lane", "warp"};
  struct lower l = {.arena = m->p->a};
  m->px.out = code;
  for (int i = 0; i < 4; i++) b32(m, fixed[i]), EMIT(m, "load_param", "u64", b64(m, data[i]), data[i]);
  if (m->tmem) EMIT(m, "tmem_alloc", "1", b32(m, "tmem"), pred(m), ws_ptx_label(&m->px, "allocated"), num(m, m->bar + 16), "512");
  WS_OP0(&m->px, "probe_start");
  if (m->tmem) EMIT(m, "tmem_lanes", b32(m, "tmem_lanes")), EMIT(m, "mov_s32", m->phase = b32(m, "phase"), "0");
  fill(m, &l);
  WS_OP0(&m->px, "probe_sync");
  for (size_t i = 0; i < m->products.n; i++) multiply(m, &m->products.list[i], &m->k->product[i], &l);
  if (m->tmem) EMIT(m, "tmem_free", "1", pred(m), ws_ptx_label(&m->px, "freed"), "512");
  WS_OP0(&m->px, "finish");
}

struct ws_probe_kernel *ws_probe_kernel(struct ws_schedule *s, const struct ws_templates *t, const struct ws_probe_request *q, const char **why) {
  struct probe p = {.s = s, .q = q, .a = s->arena};
  if (!ws_probe_resolve(&p, why)) return NULL;
  if ((*why = p.var ? "--check is for buffers" : refusal(&p))) return NULL;
  struct maker m = {.p = &p, .k = WS_NEW(s->arena, struct ws_probe_kernel)};
  place_parts(&m);
  plan(&m);
  if (m.shared > MOST) return *why = ws_fmt(s->arena, "--check needs %ld bytes of shared memory, of %d", m.shared, MOST), NULL;
  ws_ptx_init(&m.px, s->arena, s->diags, t);
  m.px.version = s->arch == 80 ? 70 : s->arch == 90 ? 80 : s->arch == 100 ? 86 : 88;
  struct ws_buf code = {.arena = s->arena}, out = {.arena = s->arena};
  size_t before = s->diags->errors;
  body(&m, &code);
  const char *map[] = {".align 64 .b8 tile_map[128],", ".u64 tile_data,", ".u64 ones_data,", ".u64 dump_data,", ".u64 result_data"};
  struct ws_list lists[] = {{.n = m.k->tma ? 5 : 4, .fields = 1, .cell = m.k->tma ? map : map + 1}, ws_ptx_reg_lines(&m.px)};
  m.px.out = &out;
  const char *args[] = {manifest(&m), ws_fmt(s->arena, "// where the elements of %s lie", p.buffer->name), ws_fmt(s->arena, "%d.%d", m.px.version / 10, m.px.version % 10),
                        s->target, "probe", "probe", num(&m, THREADS), "1", "", code.s};
  ws_ptx_op_list(&m.px, "module", args, sizeof args / sizeof *args, lists, 2);
  if (s->diags->errors > before) return *why = "its kernel cannot be written with these templates", NULL;
  m.k->ptx = out.s, m.k->length = out.n;
  return m.k;
}
