/* ldmatrix, stmatrix, movmatrix and mma.sync against the fragment tables of the PTX ISA ("Matrix Fragments for mma.m16n8k16
 * with floating point type" and its sisters), written out here as functions of lane and element. */
#include "harness.h"
#include <math.h>

/* Element i of lane's A, B and C fragment: row and column in the matrix (B: row is k). e: elements a register. */
static void at_a(int e, int lane, int i, int *row, int *col) {
  int reg = i / e, in = i % e;
  *row = lane / 4 + (reg % 2 ? 8 : 0);
  *col = lane % 4 * e + in + (reg >= 2 ? 4 * e : 0);
}
static void at_b(int e, int lane, int i, int *row, int *col) {
  *row = lane % 4 * e + i % e + (i / e ? 4 * e : 0);
  *col = lane / 4;
}
static void at_c(int lane, int i, int *row, int *col) {
  *row = lane / 4 + (i >= 2 ? 8 : 0);
  *col = lane % 4 * 2 + i % 2;
}

struct shape {
  const char *name, *header;
  int k, e, aregs, bregs, cregs; /* e: elements a 32-bit register */
  char type_a, type_b, acc;      /* b bf16, h f16, t tf32, 4 e4m3, 5 e5m2, s, u int8; accumulator f, h, i */
  bool saturate;
};

static double half_value(uint32_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -v : v;
}
static double value_of(char type, uint32_t bits) {
  float f;
  switch (type) {
    case 'b': return bf16_to_float((uint16_t)bits);
    case 'h': return half_value(bits);
    case 't': bits &= 0xffffe000; memcpy(&f, &bits, 4); return f;
    case '4': { int e = bits >> 3 & 15; double v = e ? ldexp(8 + (bits & 7), e - 10) : ldexp(bits & 7, -9); return bits & 0x80 ? -v : v; }
    case '5': { int e = bits >> 2 & 31; double v = e ? ldexp(4 + (bits & 3), e - 17) : ldexp(bits & 3, -16); return bits & 0x80 ? -v : v; }
    case 's': return (int8_t)bits;
    default: return (uint8_t)bits;
  }
}
/* A random finite element, its magnitude moderate so that sums stay meaningful. */
static uint32_t random_element(struct rng *r, char type) {
  float f = rng_normal(r);
  uint32_t u;
  memcpy(&u, &f, 4);
  switch (type) {
    case 'b': return float_to_bf16(f);
    case 'h': return (rng_below(r, 2) << 15) | ((8 + rng_below(r, 9)) << 10) | rng_below(r, 1024);
    case 't': return u;
    case '4': { uint32_t c = rng_below(r, 256); return (c & 0x7f) == 0x7f ? 0 : c; }
    case '5': { uint32_t c = rng_below(r, 256); return (c & 0x7f) >= 0x60 ? c & 0x9f : c; }
    default: return rng_below(r, 256);
  }
}

static void kernel(const struct shape *s, char *text, size_t n) {
  int in = s->aregs + s->bregs + s->cregs;
  size_t at = (size_t)snprintf(text, n, "%s.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 i, o, x;\n.reg .b32 t, r<16>, d<4>;\n"
      "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%laneid;\nmul.wide.u32 x, t, %d;\nadd.u64 i, i, x;\nmul.wide.u32 x, t, %d;\nadd.u64 o, o, x;\n", s->header, in * 4, s->cregs * 4);
  for (int i = 0; i < in; i++) at += (size_t)snprintf(text + at, n - at, "ld.global.b32 r%d, [i+%d];\n", i, 4 * i);
  at += (size_t)snprintf(text + at, n - at, "mma.sync.aligned.%s ", s->name);
  int regs[4] = {s->cregs, s->aregs, s->bregs, s->cregs}, next = 0;
  for (int v = 0; v < 4; v++) {
    at += (size_t)snprintf(text + at, n - at, "{");
    for (int i = 0; i < regs[v]; i++) at += (size_t)snprintf(text + at, n - at, "%s%c%d", i ? "," : "", v ? 'r' : 'd', v ? next++ : i);
    at += (size_t)snprintf(text + at, n - at, "}%s", v < 3 ? ", " : ";\n");
  }
  for (int i = 0; i < s->cregs; i++) at += (size_t)snprintf(text + at, n - at, "st.global.b32 [o+%d], d%d;\n", 4 * i, i);
  snprintf(text + at, n - at, "ret;\n}\n");
}

static void check_mma(const struct shape *s, struct rng *r) {
  static uint32_t in[32][16], out[32 * 4], packed[32 * 16];
  static double a[16][32], b[32][8], c[16][8];
  char text[4096];
  int total = s->aregs + s->bregs + s->cregs, width = 32 / s->e, row, col;
  memset(in, 0, sizeof in);
  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < s->aregs * s->e; i++) {
      uint32_t v = random_element(r, s->type_a);
      in[lane][i / s->e] |= v << (i % s->e * width);
      at_a(s->e, lane, i, &row, &col);
      a[row][col] = value_of(s->type_a, v);
    }
    for (int i = 0; i < s->bregs * s->e; i++) {
      uint32_t v = random_element(r, s->type_b);
      in[lane][s->aregs + i / s->e] |= v << (i % s->e * width);
      at_b(s->e, lane, i, &row, &col);
      b[row][col] = value_of(s->type_b, v);
    }
    for (int i = 0; i < 4; i++) {
      uint32_t *reg = &in[lane][s->aregs + s->bregs + (s->acc == 'h' ? i / 2 : i)];
      at_c(lane, i, &row, &col);
      if (s->acc == 'h') { uint32_t v = random_element(r, 'h'); *reg |= v << (i % 2 * 16); c[row][col] = half_value(v); }
      else if (s->acc == 'i') { *reg = (uint32_t)rng_next(r); c[row][col] = (int32_t)*reg; }
      else { float f = rng_normal(r); memcpy(reg, &f, 4); c[row][col] = f; }
    }
    memcpy(packed + lane * total, in[lane], (size_t)total * 4);
  }
  kernel(s, text, sizeof text);
  ws_cu_deviceptr p[2] = {emu_buffer(packed, (size_t)total * 32 * 4), emu_buffer(NULL, (size_t)s->cregs * 32 * 4)};
  struct CUmod_st *m = NULL;
  if (cuModuleLoadData(&m, text)) { print_message("%s\n", emu_message()); fail(); }
  CHECK(emu_run(emu_function(m, "k"), 1, 32, 0, p, 2));
  emu_fetch(out, p[1], (size_t)s->cregs * 32 * 4);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuModuleUnload(m));
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      at_c(lane, i, &row, &col);
      double sum = c[row][col], size = fabs(sum);
      for (int k = 0; k < s->k; k++) sum += a[row][k] * b[k][col], size += fabs(a[row][k] * b[k][col]);
      if (s->acc == 'i') {
        int64_t v = (int64_t)sum;
        uint32_t want = s->saturate ? (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v) : (uint32_t)v;
        assert_int_equal(out[lane * 4 + i], want);
      } else if (s->acc == 'h') {
        double got = half_value(out[lane * 2 + i / 2] >> (i % 2 * 16) & 0xffff);
        if (size < 60000) assert_true(fabs(got - sum) <= (s->e == 4 ? 3 : 1) * (size * 0x1p-11 + 0x1p-25));
      } else {
        float got;
        memcpy(&got, &out[lane * 4 + i], 4);
        /* K + 1 terms lose less than 2^-25 of the largest, the sum less than 2^-23 of itself; twice for 8-bit types */
        assert_true(fabs(got - sum) <= (s->e == 4 ? 2 : 1) * ((s->k + 1) * 0x1p-25 * size + fabs(sum) * 0x1p-23));
      }
    }
}

#define V80 ".version 8.0\n.target sm_80\n"
#define V90 ".version 8.7\n.target sm_90\n"
static const struct shape shapes[] = {
    {"m16n8k16.row.col.f32.bf16.bf16.f32", V80, 16, 2, 4, 2, 4, 'b', 'b', 'f', 0}, {"m16n8k16.row.col.f32.f16.f16.f32", V80, 16, 2, 4, 2, 4, 'h', 'h', 'f', 0},
    {"m16n8k16.row.col.f16.f16.f16.f16", V80, 16, 2, 4, 2, 2, 'h', 'h', 'h', 0}, {"m16n8k8.row.col.f32.bf16.bf16.f32", V80, 8, 2, 2, 1, 4, 'b', 'b', 'f', 0},
    {"m16n8k8.row.col.f32.f16.f16.f32", V80, 8, 2, 2, 1, 4, 'h', 'h', 'f', 0}, {"m16n8k8.row.col.f16.f16.f16.f16", V80, 8, 2, 2, 1, 2, 'h', 'h', 'h', 0},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", V80, 4, 1, 2, 1, 4, 't', 't', 'f', 0}, {"m16n8k8.row.col.f32.tf32.tf32.f32", V80, 8, 1, 4, 2, 4, 't', 't', 'f', 0},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", V90, 32, 4, 4, 2, 4, '4', '4', 'f', 0}, {"m16n8k32.row.col.f32.e5m2.e4m3.f32", V90, 32, 4, 4, 2, 4, '5', '4', 'f', 0},
    {"m16n8k32.row.col.f16.e4m3.e5m2.f16", V90, 32, 4, 4, 2, 2, '4', '5', 'h', 0}, {"m16n8k16.row.col.f32.e4m3.e4m3.f32", V90, 16, 4, 2, 1, 4, '4', '4', 'f', 0},
    {"m16n8k32.row.col.s32.s8.s8.s32", V80, 32, 4, 4, 2, 4, 's', 's', 'i', 0}, {"m16n8k32.row.col.satfinite.s32.u8.s8.s32", V80, 32, 4, 4, 2, 4, 'u', 's', 'i', 1},
    {"m16n8k16.row.col.s32.s8.u8.s32", V80, 16, 4, 2, 1, 4, 's', 'u', 'i', 0}};

static void test_mma(void **state) {
  struct rng r = {31};
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < 4; k++) check_mma(&shapes[i], &r);
}

/* data/mma_h200.bin: inputs and results of an H200, three warps for each form: moderate values, a wide spread of exponents
 * with zeros, and mostly subnormals. A record is the form's name (40 bytes, cut), the input registers of 32 lanes in the
 * order A, B, C, and the result registers. The emulator has to give the same bits. */
static void test_mma_hardware(void **state) {
  size_t n = 0, count = sizeof shapes / sizeof *shapes;
  (void)state;
  FILE *f = fopen(EMU_DATA "/mma_h200.bin", "rb");
  assert_non_null(f);
  char name[40];
  while (fread(name, 1, sizeof name, f) == sizeof name) {
    uint32_t in[32 * 16], want[32 * 4], out[32 * 4];
    char text[4096];
    size_t i = 0;
    while (i < count && strncmp(shapes[i].name, name, 38)) i++;
    assert_true(i < count);
    const struct shape *s = &shapes[i];
    size_t in_bytes = (size_t)(s->aregs + s->bregs + s->cregs) * 128, out_bytes = (size_t)s->cregs * 128;
    assert_int_equal(fread(in, 1, in_bytes, f), in_bytes);
    assert_int_equal(fread(want, 1, out_bytes, f), out_bytes);
    kernel(s, text, sizeof text);
    ws_cu_deviceptr p[2] = {emu_buffer(in, in_bytes), emu_buffer(NULL, out_bytes)};
    CHECK(emu_run_text(text, 32, 0, p, 2));
    emu_fetch(out, p[1], out_bytes);
    CHECK(cuMemFree_v2(p[0]));
    if (memcmp(out, want, out_bytes)) print_message("%s differs\n", s->name);
    assert_memory_equal(out, want, out_bytes);
    n++;
  }
  fclose(f);
  assert_int_equal(n, 3 * count);
}

/* ldmatrix: rows scattered over shared memory by a permutation, each lane's row address its own. */
static void check_ldmatrix(int n, bool trans, bool generic, struct rng *r) {
  uint16_t rows[32][8];
  uint32_t place[32], out[32][4], flat[32 * 4];
  char text[4096];
  for (uint32_t i = 0; i < 32; i++) place[i] = i;
  for (uint32_t i = 31; i; i--) {
    uint32_t j = rng_below(r, i + 1), t = place[i];
    place[i] = place[j];
    place[j] = t;
  }
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 8; j++) rows[i][j] = (uint16_t)rng_next(r);
  static const char *const regs[] = {"", "{d0}", "{d0, d1}", "", "{d0, d1, d2, d3}"};
  snprintf(text, sizeof text, V80 ".address_size 64\n.shared .align 16 .b8 s[512];\n.visible .entry k(.param .u64 rows, .param .u64 place, .param .u64 out)\n{\n.reg .b64 a, b, o, x;\n.reg .b32 t, q, d<4>, v<4>;\n"
      "ld.param.u64 a, [rows];\nld.param.u64 b, [place];\nld.param.u64 o, [out];\nmov.u32 t, %%laneid;\nmul.wide.u32 x, t, 16;\nadd.u64 a, a, x;\nadd.u64 o, o, x;\nmul.wide.u32 x, t, 4;\nadd.u64 b, b, x;\n"
      "ld.global.v4.b32 {v0, v1, v2, v3}, [a];\nld.global.b32 q, [b];\nmov.u32 t, s;\nmad.lo.u32 q, q, 16, t;\nst.shared.v4.b32 [q], {v0, v1, v2, v3};\nbar.warp.sync -1;\n"
      "mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0;\ncvt.u64.u32 x, q; cvta.shared.u64 x, x;\nldmatrix.sync.aligned.m8n8.x%d%s%s.b16 %s, [%s];\nst.global.v4.b32 [o], {d0, d1, d2, d3};\nret;\n}\n",
      n, trans ? ".trans" : "", generic ? "" : ".shared", regs[n], generic ? "x" : "q");
  ws_cu_deviceptr p[3] = {emu_buffer(rows, sizeof rows), emu_buffer(place, sizeof place), emu_buffer(NULL, sizeof flat)};
  CHECK(emu_run_text(text, 32, 0, p, 3));
  emu_fetch(flat, p[2], sizeof flat);
  memcpy(out, flat, sizeof out);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuMemFree_v2(p[1]));
  for (int lane = 0; lane < 32; lane++)
    for (int m = 0; m < n; m++)
      for (int e = 0; e < 2; e++) {
        int row = trans ? lane % 4 * 2 + e : lane / 4, col = trans ? lane / 4 : lane % 4 * 2 + e;
        assert_int_equal(out[lane][m] >> 16 * e & 0xffff, rows[8 * m + row][col]);
      }
}
static void test_ldmatrix(void **state) {
  struct rng r = {37};
  (void)state;
  for (int n = 1; n <= 4; n *= 2)
    for (int k = 0; k < 4; k++) check_ldmatrix(n, k & 1, k & 2, &r);
}

/* stmatrix then ldmatrix gives the registers back; movmatrix twice too, and once is the transposed load. */
static void test_stmatrix_movmatrix(void **state) {
  static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 s[512];\n.reg .b64 i, o, x;\n.reg .b32 t, q, v<4>, d<4>;\n"
      "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %laneid;\nmul.wide.u32 x, t, 16;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\nld.global.v4.b32 {v0, v1, v2, v3}, [i];\nmov.u32 q, s;\nmad.lo.u32 q, t, 16, q;\n"
      "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [q], {v0, v1, v2, v3};\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {d0, d1, d2, d3}, [q];\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 d0, d0;\nmovmatrix.sync.aligned.m8n8.trans.b16 d1, d1;\nst.global.v4.b32 [o], {d0, d1, d2, d3};\nret;\n}\n";
  struct rng r = {41};
  uint32_t in[32][4], out[32][4];
  (void)state;
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 4; j++) in[i][j] = (uint32_t)rng_next(&r);
  ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
  CHECK(emu_run_text(text, 32, 0, p, 2));
  emu_fetch(out, p[1], sizeof out);
  CHECK(cuMemFree_v2(p[0]));
  for (int lane = 0; lane < 32; lane++)
    for (int m = 0; m < 4; m++) {
      if (m < 2) { assert_int_equal(out[lane][m], in[lane][m]); continue; }
      for (int e = 0; e < 2; e++) { /* element (row, col) of the transposed matrix sits with lane col*4 + row/2 */
        int row = lane / 4, col = lane % 4 * 2 + e, src = col * 4 + row / 2;
        assert_int_equal(out[lane][m] >> 16 * e & 0xffff, in[src][m] >> 16 * (row % 2) & 0xffff);
      }
    }
}

/* 8 bits a matrix element, of 8, 6 or 4 bits in memory: rows of 16 bytes, scattered. The packed code of element i lies at bit i * bits. */
static uint32_t code_at(const uint8_t row[16], int i, int bits) {
  uint32_t c = 0;
  for (int b = 0; b < bits; b++) c |= (uint32_t)(row[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
  return c;
}
static void check_ldmatrix8(const char *form, int regs, bool wide, int bits, struct rng *r) {
  uint8_t rows[32][16];
  uint32_t out[32][4], place[32];
  char text[4096];
  static const char *const names[] = {"", "{d0}", "{d0, d1}", "", "{d0, d1, d2, d3}"};
  for (uint32_t i = 0; i < 32; i++) place[i] = (i * 13 + 5) % 32;
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 16; j++) rows[i][j] = (uint8_t)rng_next(r);
  snprintf(text, sizeof text, ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .align 16 .b8 s[512];\n.visible .entry k(.param .u64 rows, .param .u64 place, .param .u64 out)\n{\n.reg .b64 a, b, o, x;\n.reg .b32 t, q, d<4>, v<4>;\n"
      "ld.param.u64 a, [rows];\nld.param.u64 b, [place];\nld.param.u64 o, [out];\nmov.u32 t, %%laneid;\nmul.wide.u32 x, t, 16;\nadd.u64 a, a, x;\nadd.u64 o, o, x;\nmul.wide.u32 x, t, 4;\nadd.u64 b, b, x;\n"
      "ld.global.v4.b32 {v0, v1, v2, v3}, [a];\nld.global.b32 q, [b];\nmov.u32 t, s;\nmad.lo.u32 q, q, 16, t;\nst.shared.v4.b32 [q], {v0, v1, v2, v3};\nbar.warp.sync -1;\n"
      "mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0;\nldmatrix.sync.aligned.%s %s, [q];\nst.global.v4.b32 [o], {d0, d1, d2, d3};\nret;\n}\n", form, names[regs]);
  ws_cu_deviceptr p[3] = {emu_buffer(rows, sizeof rows), emu_buffer(place, sizeof place), emu_buffer(NULL, sizeof out)};
  CHECK(emu_run_text(text, 32, 0, p, 3));
  emu_fetch(out, p[2], sizeof out);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuMemFree_v2(p[1]));
  for (int lane = 0; lane < 32; lane++)
    for (int m = 0; m < regs; m++)
      for (int e = 0; e < 4; e++) {
        int g = lane / 4, t = lane % 4;
        int row = wide ? 16 * (m / 2) + 4 * t + e : 8 * m + g, col = wide ? g + 8 * (m % 2) : 4 * t + e;
        assert_int_equal(out[lane][m] >> 8 * e & 0xff, code_at(rows[row], col, bits));
      }
}
static void test_ldmatrix8(void **state) {
  static const struct { const char *form; int regs; bool wide; int bits; } forms[] = {
      {"m16n16.x1.trans.shared.b8", 2, 1, 8}, {"m16n16.x2.trans.shared::cta.b8", 4, 1, 8}, {"m16n16.x1.trans.shared.b8x16.b6x16_p32", 2, 1, 6}, {"m16n16.x2.trans.shared.b8x16.b6x16_p32", 4, 1, 6},
      {"m16n16.x1.trans.shared.b8x16.b4x16_p64", 2, 1, 4}, {"m16n16.x2.trans.shared.b8x16.b4x16_p64", 4, 1, 4}, {"m8n16.x1.shared.b8x16.b6x16_p32", 1, 0, 6}, {"m8n16.x2.shared.b8x16.b6x16_p32", 2, 0, 6},
      {"m8n16.x4.shared.b8x16.b6x16_p32", 4, 0, 6}, {"m8n16.x1.shared.b8x16.b4x16_p64", 1, 0, 4}, {"m8n16.x2.shared.b8x16.b4x16_p64", 2, 0, 4}, {"m8n16.x4.shared.b8x16.b4x16_p64", 4, 0, 4}};
  struct rng r = {43};
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) check_ldmatrix8(forms[i].form, forms[i].regs, forms[i].wide, forms[i].bits, &r);
}
/* Fragments of C, narrowed to 8 bits, to the rows of the transposed matrix. */
static void test_stmatrix8(void **state) {
  struct rng r = {47};
  static const char *const names[] = {"", "{v0}", "{v0, v1}", "", "{v0, v1, v2, v3}"};
  (void)state;
  for (int n = 1; n <= 4; n *= 2) {
    uint32_t in[32][4];
    uint8_t out[32][16];
    char text[2048];
    for (int i = 0; i < 32; i++)
      for (int j = 0; j < 4; j++) in[i][j] = (uint32_t)rng_next(&r);
    snprintf(text, sizeof text, ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 s[512];\n.reg .b64 i, o, x;\n.reg .b32 t, q, v<4>;\n"
        "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%laneid;\nmul.wide.u32 x, t, 16;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\nld.global.v4.b32 {v0, v1, v2, v3}, [i];\nmov.u32 q, s;\nmad.lo.u32 q, t, 16, q;\n"
        "stmatrix.sync.aligned.m16n8.x%d.trans.shared::cta.b8 [q], %s;\nbar.warp.sync -1;\nld.shared.v4.b32 {v0, v1, v2, v3}, [q];\nst.global.v4.b32 [o], {v0, v1, v2, v3};\nret;\n}\n", n, names[n]);
    ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
    CHECK(emu_run_text(text, 32, 0, p, 2));
    emu_fetch(out, p[1], sizeof out);
    CHECK(cuMemFree_v2(p[0]));
    for (int m = 0; m < n; m++)
      for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
          int row, col;
          at_c(lane, i, &row, &col);
          assert_int_equal(out[8 * m + col][row], in[lane][m] >> 8 * i & 0xff);
        }
  }
}

/* NaN and infinity go through, subnormal inputs count. */
static void test_mma_specials(void **state) {
  struct shape s = shapes[0];
  uint32_t in[32][10] = {{0}}, out[32][4];
  char text[4096];
  (void)state;
  for (int lane = 0; lane < 32; lane++) in[lane][4] = 0x3f803f80, in[lane][5] = 0x3f803f80; /* B: ones */
  in[0][0] = 0x7fc1;     /* row 0: NaN */
  in[4][0] = 0x7f80;     /* row 1: +Inf */
  in[8][0] = 0xff807f80; /* row 2: Inf - Inf */
  in[12][0] = 0x0001;    /* row 3: the smallest bf16 subnormal */
  kernel(&s, text, sizeof text);
  ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
  CHECK(emu_run_text(text, 32, 0, p, 2));
  emu_fetch(out, p[1], sizeof out);
  CHECK(cuMemFree_v2(p[0]));
  for (int t = 0; t < 4; t++) {
    assert_int_equal(out[t][0], 0x7fffffff);
    assert_int_equal(out[4 + t][1], 0x7f800000);
    assert_int_equal(out[8 + t][0], 0x7fffffff);
    assert_int_equal(out[12 + t][0], 0x00010000);
  }
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mma), cmocka_unit_test(test_mma_specials), cmocka_unit_test(test_mma_hardware), cmocka_unit_test(test_ldmatrix), cmocka_unit_test(test_stmatrix_movmatrix), cmocka_unit_test(test_ldmatrix8), cmocka_unit_test(test_stmatrix8)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
