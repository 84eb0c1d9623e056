/* Tensor memory: allocation, the shapes of tcgen05.ld and .st, waits, commits and their order, and the misuse of each. PTX ISA
 * "TensorCore 5th Generation Family Instructions". */
#include "harness.h"
#include <math.h>

static const char *const schedules[] = {"early", "late", "random:1", "random:5"};
enum { WORDS = 128 * 256 };
static uint32_t got[WORDS], in[WORDS];

/* 128 threads; o, x: own words of the result and the input, 512 bytes from one register to the next. A and B: 16 columns of ones
 * in bf16 without a swizzle, so an element of D is a multiple of 16. */
#define HEAD ".version 8.8\n.target sm_%d%s\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n.reqntid 128\n{\n"             \
             ".shared .align 1024 .b8 s[8192];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 bar2;\n.shared .align 4 .b32 where;\n.shared .align 4 .b32 where2;\n"       \
             ".reg .b64 o, x, a, b, y;\n.reg .b32 t, w, v, n, ta, row, tb, i;\n.reg .pred p, q, lead, first;\n.reg .b32 r<128>;\n" \
             "ld.param.u64 o, [out];\nld.param.u64 x, [in];\nmov.u32 t, %%tid.x;\nmul.wide.u32 y, t, 4;\nadd.u64 o, o, y;\nadd.u64 x, x, y;\nshr.u32 w, t, 5;\n" \
             "setp.eq.u32 lead, t, 0;\nsetp.lt.u32 first, t, 32;\nmov.u32 n, s;\nshl.b32 v, t, 2;\nadd.u32 n, n, v;\nmov.b32 v, 0x3f803f80;\nmov.u32 i, 0;\n" \
             "FILL: st.shared.b32 [n], v;\nadd.u32 n, n, 512;\nadd.u32 i, i, 512;\nsetp.lt.u32 p, i, 8192;\n@p bra FILL;\n" \
             "mov.u64 a, 0x0000401000080040;\nmov.u64 b, a;\n@lead mbarrier.init.shared::cta.b64 [bar], 1;\n@lead mbarrier.init.shared::cta.b64 [bar2], 1;\n" \
             "fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
#define ALLOC_AT(where, n) "@!first bra A_" #where ";\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [" #where "], " #n ";\nA_" #where ":\nbar.sync 0;\n"
#define ROW "ld.shared.b32 ta, [where];\nshl.b32 row, t, 16;\nand.b32 row, row, 0x600000;\nadd.u32 row, row, ta;\n"
#define ALLOC(n) ALLOC_AT(where, n) ROW
#define FREE(n) "bar.sync 0;\n@!first bra FREED;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 ta, " #n ";\nFREED:\n"
#define BEFORE "tcgen05.fence::before_thread_sync;\n"
#define AFTER "tcgen05.fence::after_thread_sync;\n"
#define SYNC BEFORE "bar.sync 0;\n" AFTER
#define WAIT_LD "tcgen05.wait::ld.sync.aligned;\n"
#define WAIT_ST "tcgen05.wait::st.sync.aligned;\n"
#define LD1(to, at) "tcgen05.ld.sync.aligned.32x32b.x1.b32 {" #to "}, [row+" #at "];\n"
#define ST1(from, at) "tcgen05.st.sync.aligned.32x32b.x1.b32 [row+" #at "], {" #from "};\n"
#define OUT(r) "st.global.b32 [o], " #r ";\n"
/* M 128, N 16, f32 */
#define FORM 0x8040490
#define NUMBER_(x) #x
#define NUMBER(x) NUMBER_(x)
#define MMA(at, add) "@lead tcgen05.mma.cta_group::1.kind::f16 [ta+" #at "], a, b, " NUMBER(FORM) ", " #add ";\n"
#define COMMIT(bar) "@lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [" #bar "];\n"
#define WAIT(bar) "W_" #bar ": mbarrier.try_wait.parity.shared::cta.b64 p, [" #bar "], 0;\n@!p bra W_" #bar ";\n"

static ws_cu_result run_on(int sm, const char *suffix, const char *body, const char *schedule) {
  static char text[65536];
  int n = snprintf(text, sizeof text, HEAD "%s\nret;\n}\n", sm, suffix, body);
  assert_true(n > 0 && (size_t)n < sizeof text);
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr p[2] = {emu_buffer(NULL, sizeof got), emu_buffer(in, sizeof in)};
  ws_cu_result r = emu_run_text(text, 128, 0, p, 2);
  emu_fetch(got, p[0], sizeof got);
  CHECK(cuMemFree_v2(p[1]));
  return r;
}
static ws_cu_result run(const char *body, const char *schedule) { return run_on(100, "a", body, schedule); }
static void expect_word(const char *body, uint32_t want) {
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    CHECK(run(body, schedules[k]));
    for (int t = 0; t < 128; t++) assert_int_equal(got[t], want);
  }
}
static void expect(const char *body, float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  expect_word(body, u);
}
static void fault_under(const char *body, const char *schedule, const char *what, const char *other) {
  assert_int_not_equal(run(body, schedule), WS_CUDA_SUCCESS);
  if (strstr(emu_message(), what) && strstr(emu_message(), other)) return;
  print_message("'%s', '%s' are not in (%s): %s\n", what, other, schedule, emu_message());
  fail();
}
static void expect_fault(const char *body, const char *what, const char *other) {
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) fault_under(body, schedules[k], what, other);
}

/* ---- allocation ---- */
static void test_allocation(void **state) {
  (void)state;
  expect_word(ALLOC(32) FREE(32) "mov.b32 v, 7;\n" OUT(v), 7);
  expect_word(ALLOC(256) ALLOC_AT(where2, 256) "ld.shared.b32 tb, [where2];\nsub.u32 v, tb, ta;\nabs.s32 v, v;\n" FREE(256)
              "@!first bra END;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 tb, 256;\nEND:\n" OUT(v), 256);
  /* the second allocation waits until warp 1 has given the first one back */
  expect_word(ALLOC(512) "setp.eq.u32 q, w, 1;\nsetp.eq.u32 p, w, 2;\n@p bra SECOND;\n@!q bra END;\nmov.u32 i, 0;\nSPIN: add.u32 i, i, 1;\nsetp.lt.u32 p, i, 20000;\n@p bra SPIN;\n"
              "tcgen05.dealloc.cta_group::1.sync.aligned.b32 ta, 512;\nbra END;\nSECOND:\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where2], 64;\n"
              "ld.shared.b32 tb, [where2];\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 tb, 64;\nEND:\nmov.b32 v, 1;\n" OUT(v), 1);
  expect_fault(ALLOC(128), "allocated 128 columns of tensor memory", "ended without tcgen05.dealloc");
  fault_under(ALLOC(48), "late", "a number of columns must be 32, 64, 128, 256 or 512", "tcgen05.alloc");
  fault_under(ALLOC(16), "late", "a number of columns must be 32, 64", "tcgen05.alloc");
  expect_fault("mov.b32 v, 48;\n" ALLOC(v), "names 48 columns", "a power of two from 32 to 512");
  assert_int_not_equal(run_on(103, "a", ALLOC(64) "tcgen05.ld.red.sync.aligned.32x32b.x2.max.u32 {v, n}, _, [row];\n" WAIT_LD FREE(64), "late"), WS_CUDA_SUCCESS);
  assert_non_null(strstr(emu_message(), "this result must be a register"));
  expect_fault(ALLOC(32) ALLOC_AT(where2, 64), "allocates 64 columns after an allocation of 32", "must not grow");
  expect_fault(ALLOC(64) "@!first bra L;\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nL:\n" ALLOC_AT(where2, 32), "after a tcgen05.relinquish_alloc_permit", "where2");
  expect_fault(ALLOC(64) "add.u32 ta, ta, 32;\n" FREE(64), "deallocates tensor memory at", "where no allocation begins");
  expect_fault(ALLOC(64) FREE(32), "deallocates 32 columns", "where 64 are allocated");
  expect_fault(ALLOC(64) FREE(64) "bar.sync 0;\n@first bra AGAIN;\nbra END;\nAGAIN:\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 ta, 64;\nEND:\n", "where no allocation begins", "64");
  fault_under(ALLOC(512) ALLOC_AT(where2, 512), "late", "waits for tensor memory", "where2"); /* a deadlock */
}

/* ---- shapes ---- */
static const struct shape { const char *name; int registers, repeats; } shapes[] = {
    {"32x32b", 1, 8}, {"16x64b", 1, 8}, {"16x128b", 2, 4}, {"16x256b", 4, 2}, {"16x32bx2", 1, 8}};
/* Where register r of lane t lies. PTX ISA "Matrix fragments for tcgen05.{ld,st}" */
static void place(int shape, int r, int t, int half, int *lane, int *col) {
  if (shape == 0) *lane = t, *col = r;
  if (shape == 1) *lane = t / 4 + 8 * (t & 1), *col = 2 * r + (t >> 1 & 1);
  if (shape == 2) *lane = t / 4 + 8 * (r & 1), *col = 4 * (r >> 1) + (t & 3);
  if (shape == 3) *lane = t / 4 + 8 * (r >> 1 & 1), *col = 8 * (r >> 2) + 2 * (t & 3) + (r & 1);
  if (shape == 4) *lane = t & 15, *col = r + (t >> 4) * half;
}
static size_t put_vector(char *to, const char *name, int first, int n) {
  size_t at = (size_t)sprintf(to, "{");
  for (int i = 0; i < n; i++) at += (size_t)sprintf(to + at, "%s%s%d", i ? ", " : "", name, first + i);
  return at + (size_t)sprintf(to + at, "}");
}
/* Fills 64 columns from `in`, by 32x32b; leaves what `move` says in r0 .. r15; writes them and all columns. */
static void run_move(const char *move, const char *schedule) {
  static char body[40000];
  size_t at = (size_t)sprintf(body, "%s", ALLOC(64));
  for (int c = 0; c < 64; c++) at += (size_t)sprintf(body + at, "ld.global.b32 r%d, [x+%d];\n", c + 16, 512 * c);
  at += (size_t)sprintf(body + at, "tcgen05.st.sync.aligned.32x32b.x64.b32 [row], ");
  at += put_vector(body + at, "r", 16, 64);
  at += (size_t)sprintf(body + at, ";\n" WAIT_ST);
  for (int c = 0; c < 16; c++) at += (size_t)sprintf(body + at, "xor.b32 r%d, t, 0x%x;\n", c, 0x5a000000 + (c << 16));
  at += (size_t)sprintf(body + at, "%s", move);
  for (int c = 0; c < 16; c++) at += (size_t)sprintf(body + at, "st.global.b32 [o+%d], r%d;\n", 512 * c, c);
  at += (size_t)sprintf(body + at, "tcgen05.ld.sync.aligned.32x32b.x64.b32 ");
  at += put_vector(body + at, "r", 16, 64);
  at += (size_t)sprintf(body + at, ", [row];\n" WAIT_LD);
  for (int c = 0; c < 64; c++) at += (size_t)sprintf(body + at, "st.global.b32 [o+%d], r%d;\n", 512 * (c + 16), c + 16);
  sprintf(body + at, FREE(64));
  CHECK(run(body, schedule));
}
static void test_shapes(void **state) {
  (void)state;
  for (int i = 0; i < WORDS; i++) in[i] = (uint32_t)i * 2654435761u;
  for (int s = 0; s < 5; s++)
    for (int how = 0; how < 8; how++) { /* 1: packed, 2: lanes 16.., 4: a store */
      bool packed = how & 1, high = how & 2 && s, store = how & 4;
      int n = shapes[s].registers * shapes[s].repeats, bad = 0;
      char move[600], vector[200], half[16] = "";
      put_vector(vector, "r", 0, n);
      if (s == 4) sprintf(half, ", 12");
      if (store) snprintf(move, sizeof move, "add.u32 tb, row, %d;\ntcgen05.st.sync.aligned.%s.x%d%s.b32 [tb+4]%s, %s;\n" WAIT_ST, high ? 16 << 16 : 0, shapes[s].name, shapes[s].repeats, packed ? ".unpack::16b" : "", half, vector);
      else snprintf(move, sizeof move, "add.u32 tb, row, %d;\ntcgen05.ld.sync.aligned.%s.x%d%s.b32 %s, [tb+4]%s;\n" WAIT_LD, high ? 16 << 16 : 0, shapes[s].name, shapes[s].repeats, packed ? ".pack::16b" : "", vector, half);
      run_move(move, schedules[(s + how) % 4]);
      static uint32_t all[80][128], tensor[64][128];
      memcpy(all, got, sizeof all);
      memcpy(tensor, in, sizeof tensor);
      for (int r = 0; r < n; r++)
        for (int t = 0; t < 128; t++) {
          int lane, col;
          place(s, r, t % 32, 12, &lane, &col);
          lane += t / 32 * 32 + (high ? 16 : 0);
          uint32_t own = (uint32_t)t ^ (0x5a000000u + ((uint32_t)r << 16)), *at = &tensor[4 + (packed ? 2 * col : col)][lane];
          uint32_t there = packed ? (at[0] & 0xffff) | at[128] << 16 : *at;
          if (store && packed) at[0] = own & 0xffff, at[128] = own >> 16;
          else if (store) *at = own;
          bad += all[r][t] != (store ? own : there);
        }
      if (memcmp(tensor, all[16], sizeof tensor)) bad++;
      if (bad) print_message("shape %s, case %d: %d wrong\n", shapes[s].name, how, bad);
      assert_int_equal(bad, 0);
    }
}

/* tcgen05.ld.red: over the thread's own columns; a NaN gives way unless asked for. */
static void test_reductions(void **state) {
  static const uint32_t values[4] = {0x3f800000, 0xc1200000, 0x7fc00000, 0x40490fdb}; /* 1, -10, NaN, pi */
  static const struct { const char *op; uint32_t want; } ops[] = {
      {"max.f32", 0x40490fdb}, {"min.f32", 0xc1200000}, {"max.abs.f32", 0x41200000}, {"min.abs.f32", 0x3f800000}, {"max.NaN.f32", 0x7fffffff},
      {"min.abs.NaN.f32", 0x7fffffff}, {"max.u32", 0xc1200000}, {"max.s32", 0x7fc00000}, {"min.s32", 0xc1200000}, {"min.u32", 0x3f800000}, {"f32.max.abs", 0x41200000}};
  (void)state;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    char body[2000];
    size_t at = (size_t)sprintf(body, ALLOC(32));
    for (int c = 0; c < 4; c++) at += (size_t)sprintf(body + at, "mov.b32 r%d, 0x%x;\n", c, values[c]);
    sprintf(body + at, "tcgen05.st.sync.aligned.32x32b.x4.b32 [row], {r0, r1, r2, r3};\n" WAIT_ST "tcgen05.ld.red.sync.aligned.32x32b.x4.%s {r4, r5, r6, r7}, v, [row];\n" WAIT_LD OUT(v)
            "st.global.b32 [o+512], r7;\n" FREE(32), ops[i].op);
    CHECK(run_on(103, "a", body, schedules[i % 4]));
    assert_int_equal(got[5], ops[i].want);
    assert_int_equal(got[128 + 5], values[3]);
  }
  /* two halves of 16 lanes, over the thread's own registers: columns 0, 1 and 2, 3 */
  static const struct { const char *op; uint32_t low, high; } halves[] = {{"max.f32", 0x3f800000, 0x40490fdb}, {"min.s32", 0xc1200000, 0x40490fdb}};
  for (size_t i = 0; i < 2; i++) {
    char body[2000];
    size_t at = (size_t)sprintf(body, ALLOC(32));
    for (int c = 0; c < 4; c++) at += (size_t)sprintf(body + at, "mov.b32 r%d, 0x%x;\n", c, values[c]);
    sprintf(body + at, "tcgen05.st.sync.aligned.32x32b.x4.b32 [row], {r0, r1, r2, r3};\n" WAIT_ST "tcgen05.ld.red.sync.aligned.16x32bx2.x2.%s {r4, r5}, v, [row], 2;\n" WAIT_LD OUT(v) FREE(32), halves[i].op);
    CHECK(run_on(103, "a", body, schedules[i]));
    for (int t = 0; t < 128; t++) assert_int_equal(got[t], t & 16 ? halves[i].high : halves[i].low);
  }
}

/* ---- tcgen05.cp: shared memory holds its own byte offsets, columns 8 .. 15 (or 11) are filled, every row without a swizzle or with one ---- */
static const struct copy { const char *form; int rows, units; } copies[] = {
    {"128x256b", 128, 2}, {"4x256b", 4, 2}, {"128x128b", 128, 1}, {"64x128b.warpx2::02_13", 64, 1}, {"64x128b.warpx2::01_23", 64, 1}, {"32x128b.warpx4", 32, 1}};
static int copied_row(int form, int lane) { /* the row of a lane, or -1 */
  switch (form) {
    case 1: return lane % 32 ? -1 : lane / 32;
    case 3: return lane % 64;
    case 4: return lane / 64 * 32 + lane % 32;
    case 5: return lane % 32;
    default: return lane;
  }
}
static void test_copies(void **state) {
  (void)state;
  for (int form = 0; form < 6; form++)
    for (int swizzle = 0; swizzle < 2; swizzle++) {
      char body[4000];
      /* no swizzle: 128 to the next unit, 256 to the next 8 rows; 64-byte swizzle: rows of 64 bytes */
      unsigned long long desc = swizzle ? 0x8000402000010000ull : 0x0000401000080000ull;
      int n = snprintf(body, sizeof body,
               ALLOC(32) "mov.u32 n, s;\nshl.b32 v, t, 2;\nadd.u32 n, n, v;\nmov.u32 i, v;\nmov.u32 tb, 0;\nOWN: st.shared.b32 [n], i;\nadd.u32 n, n, 512;\nadd.u32 i, i, 512;\nadd.u32 tb, tb, 512;\nsetp.lt.u32 p, tb, 8192;\n@p bra OWN;\n"
               "fence.proxy.async.shared::cta;\nbar.sync 0;\nmov.u32 v, s;\nshr.u32 v, v, 4;\ncvt.u64.u32 a, v;\nor.b64 a, a, 0x%llx;\n"
               "@lead tcgen05.cp.cta_group::1.%s [ta+8], a;\n" COMMIT(bar) WAIT(bar) AFTER
               "tcgen05.ld.sync.aligned.32x32b.x8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [row+8];\n" WAIT_LD, desc, copies[form].form);
      for (int c = 0; c < 8; c++) n += snprintf(body + n, sizeof body - (size_t)n, "st.global.b32 [o+%d], r%d;\n", 512 * c, c);
      snprintf(body + n, sizeof body - (size_t)n, FREE(32));
      CHECK(run(body, schedules[(form + swizzle) % 4]));
      for (int c = 0; c < 8; c++)
        for (int lane = 0; lane < 128; lane++) {
          int row = c < 4 * copies[form].units ? copied_row(form, lane) : -1, unit = c / 4;
          uint32_t at = (uint32_t)(swizzle ? row / 8 * 512 + row % 8 * 64 + unit * 16 : row / 8 * 256 + row % 8 * 16 + unit * 128);
          if (swizzle) at ^= (at >> 7 & 3) << 4;
          assert_int_equal(got[128 * c + lane], row < 0 ? 0x7ff57ff5 : at + (uint32_t)c % 4 * 4);
        }
    }
  expect_fault(ALLOC(32) "@lead tcgen05.cp.cta_group::1.128x128b [ta+2], a;\n" FREE(32), "a multiple of 4 columns", "tcgen05.cp");
  expect_fault(ALLOC(32) "@lead tcgen05.cp.cta_group::1.128x256b [ta+28], a;\n" FREE(32), "is not allocated", "tcgen05.cp");
  /* a copy, then a product that takes what it copied, without a wait: ones * ones */
  expect(ALLOC(64) "@lead tcgen05.cp.cta_group::1.128x256b [ta+32], a;\n@lead tcgen05.mma.cta_group::1.kind::f16 [ta], [ta+32], b, " NUMBER(FORM) ", 0;\n" COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 16);
}

/* Elements of 6 and 4 bits become bytes on the way: 6 bits in the low ones, 4 bits in bits 2..5. */
static uint32_t unpacked(uint32_t unit_at, int i, int bits) {
  uint32_t v = 0;
  for (int b = 0; b < bits; b++) {
    uint32_t at = unit_at + (uint32_t)(i * bits + b) / 8; /* the word at offset o holds o */
    v |= ((at & ~3u) >> (8 * (at & 3) + (uint32_t)(i * bits + b) % 8) & 1) << b;
  }
  return bits == 4 ? v << 2 : v;
}
static void test_unpacking_copies(void **state) {
  (void)state;
  for (int form = 0; form < 6; form++)
    for (int bits = 4; bits <= 6; bits += 2) {
      char body[4000];
      int n = snprintf(body, sizeof body,
               ALLOC(32) "mov.u32 n, s;\nshl.b32 v, t, 2;\nadd.u32 n, n, v;\nmov.u32 i, v;\nmov.u32 tb, 0;\nOWN: st.shared.b32 [n], i;\nadd.u32 n, n, 512;\nadd.u32 i, i, 512;\nadd.u32 tb, tb, 512;\nsetp.lt.u32 p, tb, 8192;\n@p bra OWN;\n"
               "fence.proxy.async.shared::cta;\nbar.sync 0;\nmov.u32 v, s;\nshr.u32 v, v, 4;\ncvt.u64.u32 a, v;\nor.b64 a, a, 0x0000401000080000;\n"
               "@lead tcgen05.cp.cta_group::1.%s.b8x16.%s [ta+8], a;\n" COMMIT(bar) WAIT(bar) AFTER
               "tcgen05.ld.sync.aligned.32x32b.x8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [row+8];\n" WAIT_LD, copies[form].form, bits == 4 ? "b4x16_p64" : "b6x16_p32");
      for (int c = 0; c < 8; c++) n += snprintf(body + n, sizeof body - (size_t)n, "st.global.b32 [o+%d], r%d;\n", 512 * c, c);
      snprintf(body + n, sizeof body - (size_t)n, FREE(32));
      CHECK(run(body, schedules[(form + bits / 2) % 4]));
      for (int c = 0; c < 4 * copies[form].units; c++)
        for (int lane = 0; lane < 128; lane++) {
          int row = copied_row(form, lane);
          for (int i = 0; row >= 0 && i < 4; i++)
            assert_int_equal(got[128 * c + lane] >> 8 * i & 0xff, unpacked((uint32_t)(row / 8 * 256 + row % 8 * 16 + c / 4 * 128), c % 4 * 4 + i, bits));
        }
    }
}

/* Row i of 32 goes to row i + 1, in eight columns; other lanes and columns stay. */
static void test_shift(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    char body[4000];
    int n = snprintf(body, sizeof body, ALLOC(32) "shl.b32 v, t, 4;\n");
    for (int c = 0; c < 16; c++) n += snprintf(body + n, sizeof body - (size_t)n, "add.u32 n, v, %d;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [row+%d], {n};\n", c, c);
    n += snprintf(body + n, sizeof body - (size_t)n, WAIT_ST SYNC "@lead tcgen05.shift.cta_group::1.down [ta+%d];\n@lead tcgen05.shift.cta_group::1.down [ta+%d];\n" COMMIT(bar) WAIT(bar) AFTER, (32 << 16) + 4, (32 << 16) + 4);
    for (int c = 0; c < 16; c++) n += snprintf(body + n, sizeof body - (size_t)n, LD1(v, %d) WAIT_LD "st.global.b32 [o+%d], v;\n", c, 512 * c);
    snprintf(body + n, sizeof body - (size_t)n, FREE(32));
    CHECK(run(body, schedules[k]));
    for (int c = 0; c < 16; c++)
      for (int lane = 0; lane < 128; lane++) {
        bool moved = lane / 32 == 1 && c >= 4 && c < 12;
        int from = !moved ? lane : lane < 34 ? 32 : lane - 2;
        assert_int_equal(got[128 * c + lane], 16 * from + c);
      }
  }
  expect_fault(ALLOC(32) "@lead tcgen05.shift.cta_group::1.down [ta+1048576];\n" FREE(32), "shifts from lane 16 on: a multiple of 32", "tcgen05.shift");
  expect_fault(ALLOC(32) "@lead tcgen05.shift.cta_group::1.down [ta+28];\n" FREE(32), "is not allocated", "tcgen05.shift");
}

/* ---- order ---- */
static void test_order(void **state) {
  (void)state;
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 16);
  expect(ALLOC(64) MMA(0, 0) MMA(0, 1) MMA(32, 0) MMA(0, 1) COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 48);
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) MMA(32, 0) MMA(32, 1) COMMIT(bar2) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) WAIT(bar2) FREE(64), 16);
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) MMA(32, 0) MMA(32, 1) COMMIT(bar2) WAIT(bar2) AFTER LD1(v, 40) WAIT_LD OUT(v) FREE(64), 32);
  expect_word(ALLOC(64) COMMIT(bar) WAIT(bar) "mov.b32 v, 3;\n" OUT(v) FREE(64), 3); /* nothing to wait for */
  /* P in bf16 stored over columns 32.., then taken as A: 2 * 1 * 16 */
  expect(ALLOC(64) "mov.b32 r0, 0x40004000;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [row+32], {r0, r0, r0, r0, r0, r0, r0, r0};\n" WAIT_ST SYNC
         "@lead tcgen05.mma.cta_group::1.kind::f16 [ta], [ta+32], b, " NUMBER(FORM) ", 0;\n" COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 32);
}

/* Products of one thread that write and read the same columns without a commit in between: in program order by ruling A1, without it
 * the second one may come first. */
#define A1 "mov.b32 r0, 0x40004000;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [row+32], {r0, r0, r0, r0, r0, r0, r0, r0};\n" WAIT_ST SYNC           \
           "@lead tcgen05.mma.cta_group::1.kind::f16 [ta], [ta+32], b, " NUMBER(FORM) ", 0;\n" MMA(32, 0) COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v)
static void test_program_order(void **state) {
  (void)state;
  expect(ALLOC(64) A1 FREE(64), 32);
  assert_int_equal(wsemuSetOption("tensor", "any"), 0);
  CHECK(run(ALLOC(64) A1 FREE(64), "late"));
  assert_int_not_equal(got[5], 0x42000000);
  expect(ALLOC(64) MMA(0, 0) MMA(0, 1) MMA(32, 0) MMA(0, 1) COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 48);
  assert_int_equal(wsemuSetOption("tensor", "program"), 0);
  assert_int_equal(wsemuSetOption("tensor", "none"), 1);
}

/* Under the late schedule operands are read when somebody waits, loads are performed at their wait. */
static void test_late(void **state) {
#define OVERWRITE "bar.sync 0;\nmov.b32 v, 0x40004000;\nmov.u32 i, 0;\nsub.u32 n, n, 8192;\nM: st.shared.b32 [n], v;\nadd.u32 n, n, 512;\nadd.u32 i, i, 512;\n" \
                  "setp.lt.u32 p, i, 8192;\n@p bra M;\nfence.proxy.async;\nbar.sync 0;\n"
  static const char smem[] = ALLOC(64) MMA(0, 0) COMMIT(bar) OVERWRITE WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64);
  (void)state;
  expect_fault(smem, "which a tcgen05 operation of thread (0,0,0) reads, and nothing orders the two", "st.shared.b32 [n], v");
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) WAIT(bar) OVERWRITE AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), 16);
  assert_int_equal(wsemuSetOption("race", "off"), 0); /* its operands are overwritten under it */
  CHECK(run(smem, "early"));
  assert_int_equal(got[5], 0x41800000);
  CHECK(run(smem, "late"));
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  assert_int_equal(got[5], 0x42800000);
  struct wsemu_stats s = {.size = sizeof s};
  wsemuResetStats();
  CHECK(run(ALLOC(64) MMA(0, 0) MMA(0, 1) COMMIT(bar) WAIT(bar) AFTER LD1(v, 3) WAIT_LD OUT(v) FREE(64), "late"));
  assert_int_equal(wsemuGetStats(&s), 0);
  assert_int_equal(s.async_operations, 3);
  assert_int_equal(s.tensor_flops, 2 * 2 * 128 * 16 * 16);
  assert_int_equal(wsemuSetOption("race", "off"), 0); /* then a missing wait gives wrong numbers */
  CHECK(run(ALLOC(64) MMA(0, 0) COMMIT(bar) LD1(v, 3) WAIT_LD OUT(v) WAIT(bar) FREE(64), "late"));
  assert_int_equal(got[5], 0x7ff57ff5);
  CHECK(run(ALLOC(64) "mov.b32 v, 9;\n" ST1(v, 0) LD1(v, 0) WAIT_LD OUT(v) WAIT_ST FREE(64), "late"));
  assert_int_equal(got[5], 0x7ff57ff5);
  /* but a register that is read has the data of its load: "Register dependencies, same thread" */
  expect_word(ALLOC(64) "mov.b32 v, 9;\n" ST1(v, 0) WAIT_ST LD1(v, 0) OUT(v) FREE(64), 9);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

static void test_hazards(void **state) {
  static const char in_flight[] = ALLOC(64) MMA(0, 0) COMMIT(bar) "bar.sync 0;\n" LD1(v, 3) WAIT_LD OUT(v) WAIT(bar) FREE(64);
  (void)state;
  fault_under(in_flight, "late", "reads column 3 of tensor memory, which an operation in flight writes", "tcgen05.mma");
  fault_under(in_flight, "early", "without a tcgen05.fence::after_thread_sync since the end of the operation", "tcgen05.mma");
  expect_fault(ALLOC(64) MMA(0, 0) COMMIT(bar) WAIT(bar) LD1(v, 3) WAIT_LD OUT(v) FREE(64), "without a tcgen05.fence::after_thread_sync since the end", "tcgen05.mma");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST LD1(v, 0) OUT(v) WAIT_LD FREE(64), "reads a register of a load that no tcgen05.wait::ld has waited for", "tcgen05.ld");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST LD1(v, 0) "mov.b32 v, 1;\n" WAIT_LD FREE(64), "writes a register of a load", "tcgen05.ld");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) LD1(v, 0) WAIT_ST WAIT_LD FREE(64), "which it stores without a tcgen05.wait::st since", "tcgen05.st");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\nmov.b32 n, 1;\n" ST1(v, 0) WAIT_ST LD1(v, 0) ST1(n, 0) WAIT_LD WAIT_ST FREE(64), "which it loads without a tcgen05.wait::ld since", "tcgen05.ld");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) SYNC MMA(0, 1) COMMIT(bar) WAIT(bar) WAIT_ST FREE(64), "which a warp stores without a tcgen05.wait::st since", "tcgen05.st");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST "bar.sync 0;\n" AFTER MMA(0, 1) COMMIT(bar) WAIT(bar) FREE(64), "which another warp stored without a tcgen05.fence::before_thread_sync", "tcgen05.st");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST BEFORE "bar.sync 0;\n" MMA(0, 1) COMMIT(bar) WAIT(bar) FREE(64), "which another warp stored, without a tcgen05.fence::after_thread_sync since", "tcgen05.st");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST LD1(v, 0) FREE(64) WAIT_LD, "accesses without a tcgen05.wait::ld since", "tcgen05.ld");
  fault_under(ALLOC(64) MMA(0, 0) COMMIT(bar) FREE(64), "late", "an operation whose completion nobody has waited for", "tcgen05.mma");
  expect_fault(ALLOC(64) ALLOC_AT(where2, 32) "ld.shared.b32 tb, [where2];\n" MMA(0, 0) FREE(64), "tcgen05", "CTA");
}

/* What published kernels rely on: an mbarrier or a barrier with the default semantics fences, a register that is read was loaded. */
#define RELAXED(bar) "W_" #bar ": mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [" #bar "], 0;\n@!p bra W_" #bar ";\n"
static void test_lenient(void **state) {
  (void)state;
  assert_int_equal(wsemuSetOption("race", "lenient"), 0);
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) WAIT(bar) LD1(v, 3) OUT(v) FREE(64), 16);
  expect(ALLOC(64) MMA(0, 0) COMMIT(bar) RELAXED(bar) "bar.sync 0;\n" LD1(v, 3) OUT(v) FREE(64), 16);
  expect(ALLOC(64) "mov.b32 v, 0x40000000;\n" ST1(v, 0) WAIT_ST "bar.sync 0;\n" MMA(0, 1) COMMIT(bar) WAIT(bar) LD1(v, 0) "add.f32 v, v, v;\n" ST1(v, 0) WAIT_ST LD1(v, 0) OUT(v) FREE(64), 36);
  expect_fault(ALLOC(64) MMA(0, 0) COMMIT(bar) RELAXED(bar) LD1(v, 3) WAIT_LD OUT(v) FREE(64), "without a tcgen05.fence::after_thread_sync since the end", "tcgen05.mma");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) WAIT_ST LD1(v, 0) "mov.b32 v, 1;\n" WAIT_LD FREE(64), "writes a register of a load", "tcgen05.ld");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) LD1(v, 0) OUT(v) WAIT_ST FREE(64), "which it stores without a tcgen05.wait::st since", "tcgen05.st");
  expect_fault(ALLOC(64) "mov.b32 v, 1;\n" ST1(v, 0) "bar.sync 0;\n" MMA(0, 1) COMMIT(bar) WAIT(bar) WAIT_ST FREE(64), "which a warp stores without a tcgen05.wait::st since", "tcgen05.st");
  assert_int_equal(wsemuSetOption("race", "on"), 0);
  assert_int_equal(wsemuSetOption("race", "len"), 1);
}

/* Two warps with the same quarter of the lanes: 128 threads use a column, arrive, and 128 others use it after them. ISA
 * "Non-pipelined instructions, different thread". What a public attention kernel hands over so lacks the wait. */
#define HEAD_256 ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n.reqntid 256\n{\n"            \
                 ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 where;\n.reg .b64 o, y;\n.reg .b32 t, u, v, ta, row;\n.reg .pred p, q, first;\n" \
                 "ld.param.u64 o, [out];\nmov.u32 t, %tid.x;\nmul.wide.u32 y, t, 4;\nadd.u64 o, o, y;\nsetp.lt.u32 first, t, 32;\nsetp.lt.u32 q, t, 128;\n"   \
                 "setp.eq.u32 p, t, 0;\n@p mbarrier.init.shared::cta.b64 [bar], 128;\nmov.b32 u, t;\nmov.b32 v, t;\nbar.sync 0;\n" ALLOC(32)
#define HANDED(first_use, then, before_use, second_use) \
  HEAD_256 "@!q bra CONSUMER;\n" first_use then "mbarrier.arrive.shared::cta.b64 _, [bar];\nbra BOTH;\nCONSUMER:\n" WAIT(bar) before_use second_use "BOTH: bar.sync 0;\n" WAIT_ST WAIT_LD OUT(v) FREE(32) "ret;\n}\n"
static ws_cu_result run_pair(const char *text, const char *schedule) {
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr p[2] = {emu_buffer(NULL, sizeof got), 0};
  ws_cu_result r = emu_run_text(text, 256, 0, p, 2);
  emu_fetch(got, p[0], sizeof got);
  return r;
}
static void pair_right(const char *text) {
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    CHECK(run_pair(text, schedules[k]));
    for (uint32_t t = 128; t < 256; t++) assert_int_equal(got[t], t - 128);
  }
}
static void pair_fault(const char *text, const char *what) {
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    assert_int_not_equal(run_pair(text, schedules[k]), WS_CUDA_SUCCESS);
    if (strstr(emu_message(), what)) continue;
    print_message("'%s' is not in (%s): %s\n", what, schedules[k], emu_message());
    fail();
  }
}
static void test_other_warps(void **state) {
  static const char no_wait[] = HANDED(ST1(u, 0), BEFORE, AFTER, LD1(v, 0) WAIT_LD), no_before[] = HANDED(ST1(u, 0), WAIT_ST, AFTER, LD1(v, 0)),
                    no_after[] = HANDED(ST1(u, 0), WAIT_ST BEFORE, "", LD1(v, 0) WAIT_LD);
  (void)state;
  pair_right(HANDED(ST1(u, 0), WAIT_ST BEFORE, AFTER, LD1(v, 0)));
  pair_fault(no_wait, "of tensor memory, which another warp stores without a tcgen05.wait::st since");
  pair_fault(no_before, "of tensor memory, which another warp stored without a tcgen05.fence::before_thread_sync since its wait");
  pair_fault(no_after, "of tensor memory, which another warp stored, without a tcgen05.fence::after_thread_sync since");
  pair_fault(HANDED(LD1(v, 0), BEFORE, AFTER, ST1(u, 0)), "of tensor memory, which another warp loads without a tcgen05.wait::ld since");
  pair_fault(HANDED(LD1(v, 0), WAIT_LD, AFTER, ST1(u, 0)), "of tensor memory, which another warp loaded without a tcgen05.fence::before_thread_sync since its wait");
  assert_int_equal(wsemuSetOption("race", "lenient"), 0);
  pair_right(no_before);
  pair_right(no_after);
  pair_fault(no_wait, "which another warp stores without a tcgen05.wait::st since");
  assert_int_equal(wsemuSetOption("race", "off"), 0);
  CHECK(run_pair(no_wait, "late")); /* and the numbers are wrong indeed */
  assert_int_equal(got[128], 0x7ff57ff5);
  assert_int_equal(wsemuSetOption("race", "on"), 0);
}

static void test_faults(void **state) {
#define ONE(d, da, db, form) ALLOC(64) "@lead tcgen05.mma.cta_group::1.kind::f16 [ta+" #d "], " da ", " db ", " NUMBER(form) ", 0;\n" COMMIT(bar) WAIT(bar) FREE(64)
  (void)state;
  expect_fault(ALLOC(64) "add.u32 row, ta, 0x200000;\n" LD1(v, 0) WAIT_LD FREE(64), "reads from lane 32 of tensor memory", " has lanes ");
  expect_fault(ALLOC(64) LD1(v, 64) WAIT_LD FREE(64), "reads columns", "is not allocated");
  expect_fault(ALLOC(64) "add.u32 row, row, t;\n" LD1(v, 0) WAIT_LD FREE(64), "but thread 0 of its warp", "tcgen05.ld");
  expect_fault(ONE(56, "a", "b", FORM), "accumulates in columns", "is not allocated");
  expect_fault(ONE(1, "a", "b", FORM), "an even column is needed", "tcgen05.mma");
  expect_fault(ONE(0, "[ta+34]", "b", FORM), "a multiple of 4 is needed", "tcgen05.mma");
  expect_fault(ONE(0, "a", "b", 0x9040490), "M must be 64 or 128", "0x09040490");
  expect_fault(ONE(0, "a", "b", 0x8000490), "N must be 8, 16 .. 256", "0x08000490");
  expect_fault(ONE(0, "a", "b", 0x8040494), "sparse", "0x08040494");
  expect_fault(ONE(0, "a", "b", 0x8040890), "an element type that its kind does not have", "0x08040890");
  expect_fault(ONE(0, "a", "b", 0x8040480), "names f16 for D", "0x08040480");
  expect_fault(ONE(0, "0x0000001000080040", "b", FORM), "lacks the constant 1 in bits 46..48", "of A");
  expect_fault(ONE(0, "a", "0x2000401000080040", 0x8050490), "atoms of 32, which a transposed matrix has of tf32 alone", "of B");
  expect_fault(ONE(0, "a", "0x6000401000080040", FORM), "an unknown layout", "of B");
  expect_fault(ONE(0, "a", "0x0002401000080040", FORM), "has a base offset", "of B");
  fault_under(ONE(0, "a", "0x0000401000081000", FORM), "late", "of B, whose row 0 lies outside of the CTA's", "stride 256");
#define SCALED(kind, at_a, at_b, form) ALLOC(64) "@lead tcgen05.mma.cta_group::1.kind::" kind " [ta], a, b, " NUMBER(form) ", [ta+" #at_a "], [ta+" #at_b "], 0;\n" COMMIT(bar) WAIT(bar) FREE(64)
  expect_fault(SCALED("mxf8f6f4.block_scale", 33, 36, 0x8880000), "takes scale factors of A from 0x0000", "an even column");
  expect_fault(SCALED("mxf8f6f4.block_scale", 32, 64, 0x8880000), "takes scale factors from column", "is not allocated");
  expect_fault(SCALED("mxf8f6f4.block_scale", 32, 36, 0x8080000), "names UE4M3 for the scale factors", "0x08080000");
  expect_fault(SCALED("mxf4.block_scale", 32, 36, 0x88880480), "asks for K 96", "0x88880480");
  expect_fault(SCALED("mxf4.block_scale", 32, 36, 0x28880480), "a scale factor id", "0x28880480");
  fault_under(ALLOC(64) "tcgen05.st.sync.aligned.32x32b.x1.b32 [row+32], {t};\n" WAIT_ST SYNC "@lead tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [ta], a, b, 0x08880000, [ta+32], [ta+36], 0;\n" COMMIT(bar) WAIT(bar) FREE(64), "early",
              "takes scale factors of A from column 32, which differ between lane 0 and lane 32", "all four quarters");
  expect_fault(ALLOC(64) "@lead tcgen05.mma.cta_group::1.kind::f16.ashift [ta], [ta+32], b, 0x04040490, 0;\n" FREE(64), "shifts A, but M is 64", "tcgen05.mma");
  expect_fault(ALLOC(64) "@lead tcgen05.mma.ws.cta_group::1.kind::f16 [ta], a, b, 0x08040490, 0;\n" FREE(64), "N must be 64, 128 or 256", "0x08040490");
  expect_fault(ALLOC(64) "@lead tcgen05.mma.cta_group::1.kind::tf32 [ta], a, b, 0x08050910, 0;\n" FREE(64), "needs that of 128 bytes with atoms of 32", "of B");
  expect_fault(ALLOC(64) "sub.u32 n, n, 8192;\nst.shared.b32 [n], v;\nbar.sync 0;\n" MMA(0, 0) COMMIT(bar) WAIT(bar) FREE(64), "without a fence.proxy.async since", "st.shared.b32");
  expect_fault(ALLOC(64) "@lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [s];\n" FREE(64), "where none is initialised", "tcgen05.commit");
}

/* ---- a GEMM of roles, stages and tensor maps, as kernels are written; and what happens when one of its lines is wrong ---- */
enum { GM = 256, GN = 256, GK = 512 };
static void map_of(void *map, ws_cu_deviceptr at, uint64_t rows) {
  const uint64_t extents[2] = {GK, rows}, strides[1] = {2 * GK};
  const uint32_t box[2] = {64, 128}, steps[2] = {1, 1};
  CHECK(cuTensorMapEncodeTiled(map, WS_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)at, extents, strides, box, steps, 0, WS_CU_TENSOR_MAP_SWIZZLE_128B, 0, 0));
}
/* The largest error of the product; the launch's result in *result. */
static double run_gemm(const char *text, const char *schedule, ws_cu_result *result) {
  static uint16_t a[GM][GK], b[GN][GK];
  static float c[GM][GN];
  static _Alignas(128) uint8_t maps[2][128];
  struct rng r = {89};
  double worst = 0;
  uint32_t n = GN, steps = GK / 64;
  for (int i = 0; i < GM; i++)
    for (int k = 0; k < GK; k++) a[i][k] = float_to_bf16(rng_normal(&r)), b[i][k] = float_to_bf16(rng_normal(&r));
  assert_int_equal(wsemuSetOption("schedule", schedule), 0);
  ws_cu_deviceptr pa = emu_buffer(a, sizeof a), pb = emu_buffer(b, sizeof b), pc = emu_buffer(NULL, sizeof c);
  map_of(maps[0], pa, GM);
  map_of(maps[1], pb, GN);
  struct CUmod_st *m = emu_module(text);
  struct CUfunc_st *f = emu_function(m, "gemm");
  void *args[] = {maps[0], maps[1], &pc, &n, &steps};
  CHECK(cuFuncSetAttribute(f, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 3 * 32768));
  *result = cuLaunchKernel(f, GN / 128, GM / 128, 1, 192, 1, 1, 3 * 32768, NULL, args, NULL);
  CHECK(cuModuleUnload(m));
  emu_fetch(c, pc, sizeof c);
  CHECK(cuMemFree_v2(pa));
  CHECK(cuMemFree_v2(pb));
  for (int i = 0; i < GM; i += 5)
    for (int j = 0; j < GN; j += 3) {
      double s = 0;
      for (int k = 0; k < GK; k++) s += (double)bf16_to_float(a[i][k]) * (double)bf16_to_float(b[j][k]);
      worst = fabs(s - (double)c[i][j]) <= worst ? worst : fabs(s - (double)c[i][j]);
    }
  return worst;
}
/* The text with the first `from` behind `behind` replaced. */
static char *altered(const char *text, const char *behind, const char *from, const char *to) {
  const char *at = strstr(strstr(text, behind), from);
  size_t n = strlen(text) + strlen(to) + 1;
  char *out = malloc(n);
  assert_true(at && out);
  snprintf(out, n, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return out;
}
static void test_gemm(void **state) {
  static const struct { const char *behind, *from, *to, *what; } wrong[] = { /* what NULL: wrong numbers under `late` */
      {"MULTIPLY:", "0x4000404000010000", "0x4000402000010000", NULL},             /* 512 from 8 rows to the next */
      {"FULL:", "0x8200490", "0x8210490", NULL},                                    /* B is no transposed one */
      {"FULL:", "add.u64 da, da, 2", "add.u64 da, da, 4", NULL},
      {"FULL:", "[y];", "[addr];", "in phase|arrives 1 times|mbarrier"},           /* the wrong barrier */
      {"STORE:", "tcgen05.fence::after_thread_sync;", "", "without a tcgen05.fence::after_thread_sync"},
      {"STORE:", "tcgen05.wait::ld.sync.aligned;", "", "that no tcgen05.wait::ld has waited for"},
      {"STORE:", "mbarrier.try_wait.parity.shared::cta.b64 q, [bar+48], 0;\n  @!q bra STORE;", "", "tcgen05.mma"},
      {"END:", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 tm, 128;", "", "ended without tcgen05.dealloc"},
      {"STORE:", "shl.b32 addr, warp, 21;", "mov.b32 addr, 0;", "has lanes 32..63"}};
  char *text = emu_read_file("gemm_tcgen05.ptx");
  ws_cu_result r;
  (void)state;
  for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
    double e = run_gemm(text, schedules[k], &r);
    if (r) print_message("%s\n", emu_message());
    assert_int_equal(r, WS_CUDA_SUCCESS);
    assert_true(e < 1e-4);
  }
  assert_int_equal(wsemuSetOption("tensor", "any"), 0); /* nothing of it relies on the order of issue */
  assert_true(run_gemm(text, "late", &r) < 1e-4);
  assert_int_equal(wsemuSetOption("tensor", "program"), 0);
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    char *bad = altered(text, wrong[k].behind, wrong[k].from, wrong[k].to);
    double e = run_gemm(bad, "late", &r);
    const char *said = r ? emu_message() : "";
    bool right = wrong[k].what ? r && (strchr(wrong[k].what, '|') || strstr(said, wrong[k].what)) : !r && !(e < 1);
    if (!right) print_message("case %zu: error %g: %s\n", k, e, said);
    assert_true(right);
    free(bad);
  }
  free(text);
}

/* What the device passes for, and what it then runs. */
static void test_device(void **state) {
  int major = 0, minor = 0, sms = 0;
  (void)state;
  static const struct { const char *name; int major, minor, sms; } devices[] = {{"sm_90", 9, 0, 132}, {"sm_100", 10, 0, 148}, {"sm_103", 10, 3, 148}, {"auto", 9, 0, 132}};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    assert_int_equal(wsemuSetOption("device", devices[i].name), 0);
    CHECK(cuDeviceGetAttribute(&major, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    CHECK(cuDeviceGetAttribute(&minor, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    CHECK(cuDeviceGetAttribute(&sms, WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    assert_int_equal(major, devices[i].major);
    assert_int_equal(minor, devices[i].minor);
    assert_int_equal(sms, devices[i].sms);
    static const struct { int sm; const char *suffix; } targets[] = {{80, ""}, {90, "a"}, {100, "a"}, {100, "f"}, {103, "a"}, {103, "f"}};
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
      struct CUmod_st *m = NULL;
      char text[200];
      int own = devices[i].major * 10 + devices[i].minor;
      bool runs = !strcmp(devices[i].name, "auto") || (*targets[k].suffix == 'a' ? own == targets[k].sm : own >= targets[k].sm);
      snprintf(text, sizeof text, ".version 8.8\n.target sm_%d%s\n.address_size 64\n.visible .entry k() { ret; }\n", targets[k].sm, targets[k].suffix);
      ws_cu_result r = cuModuleLoadData(&m, text);
      assert_int_equal(r, runs ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NO_BINARY_FOR_GPU);
      if (runs) CHECK(cuModuleUnload(m));
    }
  }
  assert_int_equal(wsemuSetOption("device", "sm_120"), 1);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocation), cmocka_unit_test(test_shapes), cmocka_unit_test(test_reductions), cmocka_unit_test(test_copies), cmocka_unit_test(test_unpacking_copies), cmocka_unit_test(test_shift), cmocka_unit_test(test_order), cmocka_unit_test(test_program_order),
                                     cmocka_unit_test(test_late), cmocka_unit_test(test_hazards), cmocka_unit_test(test_lenient), cmocka_unit_test(test_other_warps), cmocka_unit_test(test_faults), cmocka_unit_test(test_gemm), cmocka_unit_test(test_device)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
