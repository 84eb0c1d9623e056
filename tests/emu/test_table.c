/* The instruction table itself: every row is well formed, its own first spelling matches it or an earlier row of the same
 * mnemonic, sections are named, and the coverage list is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "isa.h"

/* The name made of every place's first mandatory alternative. */
static void first_spelling(const struct isa_row *r, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "%s", r->mnemonic);
  for (const char *p = r->modifiers; *p;) {
    size_t k = strcspn(p, " ");
    if (*p == '.') at += (size_t)snprintf(out + at, n - at, "%.*s", (int)strcspn(p, "| "), p);
    p += k;
    while (*p == ' ') p++;
  }
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < ws_emu_isa_rows; i++) {
    const struct isa_row *r = &ws_emu_isa[i];
    struct isa_use u;
    char name[256], why[256] = "";
    first_spelling(r, name, sizeof name);
    if (!ws_emu_isa_match(name, &u, why, sizeof why)) {
      print_message("%s: %s\n", name, why);
      fail();
    }
    assert_string_equal(u.row->mnemonic, r->mnemonic);
    assert_true(u.row <= r);
    assert_true(r->family < FAM_COUNT && r->ptx >= 10 && r->sm >= 10 && strlen(r->section) > 5);
    assert_true(strspn(r->operands, " =0123bhqpW#@LFT(wCMS{}*|?+48scgmn_AiDtXQIHN!^") == strlen(r->operands));
  }
}

static void test_refusals(void **state) {
  static const char *const bad[] = {"", ".", "add", "add.", "add.u32.u32", "add.sat.u32", "ld.global.v3.u32", "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "addd.u32", "cvt.rn", "ld.shared.global.u32"};
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct isa_use u;
    char why[64] = "";
    assert_false(ws_emu_isa_match(bad[i], &u, why, sizeof why));
    assert_true(strlen(why) > 0);
  }
}

/* One form of every group that the list calls refused is refused, with the reason that stands there. */
static void test_refused(void **state) {
  static const char *const names[] = {"tcgen05.mma.sp.cta_group::1.kind::f16", "tcgen05.mma.ws.sp.cta_group::1.kind::f16", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
      "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", "wmma.load.a.sync.aligned.row.m16n16k16.f16", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32", "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32", "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes", "tensormap.replace.tile.rank.shared::cta.b1024.b32",
      "multimem.red.relaxed.gpu.global.add.u32", "st.async.release.sys.global.u32", "red.async.release.sys.global.add.u32", "tex.2d.v4.f32.s32", "suld.b.1d.b32.trap", "istypep.texref", "fma.rn.oob.f16", "cvt.rn.satfinite.s2f6x2.f32", "vadd4.u32.u32.u32", "vset2.s32.s32.lt",
      "add.u8x4", "max.s8x4", "alloca.u64", "stacksave.u64"};
  (void)state;
  bool named[32] = {false};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct isa_use u;
    char why[300] = "";
    assert_false(ws_emu_isa_match(names[i], &u, why, sizeof why));
    size_t k = 0;
    while (ws_emu_isa_refused[k].forms && !(*ws_emu_isa_refused[k].names && strstr(why, ws_emu_isa_refused[k].reason))) k++;
    if (!ws_emu_isa_refused[k].forms) fail_msg("%s: %s", names[i], why);
    for (const struct isa_refused *r = ws_emu_isa_refused; r->forms; r++) /* groups may share a reason */
      if (!strcmp(r->reason, ws_emu_isa_refused[k].reason)) named[r - ws_emu_isa_refused] = true;
  }
  for (size_t k = 0; ws_emu_isa_refused[k].forms; k++)
    if (*ws_emu_isa_refused[k].names && !named[k]) fail_msg("no form of '%s' is here", ws_emu_isa_refused[k].forms);
  struct isa_use u;
  char why[300] = "";
  assert_false(ws_emu_isa_match("st.async.global.u32.u32", &u, why, sizeof why) || ws_emu_isa_match("add.u32.u32", &u, why, sizeof why));
  assert_null(strchr(why, '(')); /* only where a pattern says so */
}

/* The assembler's order of modifiers is free, but for types, state spaces and the words of the mnemonic. */
static void test_order(void **state) {
  static const struct { const char *name, *key; } good[] = {
      {"cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.multicast::cluster",
       "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2"},
      {"cp.async.bulk.tensor.2d.cta_group::1.shared::cluster.global.mbarrier::complete_tx::bytes",
       "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1"},
      {"tcgen05.commit.mbarrier::arrive::one.cta_group::1.shared::cluster.b64", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"},
      {"ld.v4.global.u32", "ld.global.v4.u32"}, {"div.ftz.rn.f32", "div.rn.ftz.f32"}, {"setp.and.lt.s32", "setp.lt.and.s32"},
      {"ld.global.mmio.relaxed.sys.u32", "ld.mmio.relaxed.sys.global.u32"}, {"cvt.rn.relu.satfinite.e5m2x2.f16x2", "cvt.rn.satfinite.relu.e5m2x2.f16x2"}, {"ex2.ftz.approx.f32", "ex2.approx.ftz.f32"},
      {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite", "wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8"}, {"prmt.f4e.b32", "prmt.b32.f4e"},
      {"cp.async.bulk.tensor.2d.tile::gather4.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"},
      {"ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}};
  static const char *const bad[] = {"cp.bulk.async.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.global.shared::cluster.mbarrier::complete_tx::bytes",
                                    "ld.v4.global.u32.u32", "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32", "cvt.f32.rn.f16.f16"};
  struct isa_use u;
  char why[64];
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    if (!ws_emu_isa_match(good[i].name, &u, why, sizeof why)) fail_msg("%s: %s", good[i].name, why);
    assert_string_equal(u.key, good[i].key);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(ws_emu_isa_match(bad[i], &u, why, sizeof why));
}

static void test_list(void **state) {
  size_t n = ws_emu_isa_list(NULL, 0), lines = 0;
  char *text = malloc(n + 1), small[10];
  (void)state;
  assert_non_null(text);
  assert_int_equal(ws_emu_isa_list(text, n + 1), n);
  assert_int_equal(strlen(text), n);
  assert_int_equal(ws_emu_isa_list(small, sizeof small), n);
  assert_memory_equal(small, text, 9);
  for (char *c = text; (c = strstr(c, "\n| `")); c++) lines++;
  assert_int_equal(lines, ws_emu_isa_rows);
  static const char *const kinds[] = {" | modelled | ", " | representative | ", " | ordering only | ", " | refused | "};
  size_t counted = 0;
  for (size_t i = 0; i < 4; i++) {
    size_t before = counted;
    for (char *c = text; (c = strstr(c, kinds[i])); c++) counted++;
    assert_true(counted > before);
  }
  lines = 0;
  for (const struct isa_refused *r = ws_emu_isa_refused; r->forms; r++, lines++) assert_non_null(strstr(text, r->forms));
  assert_int_equal(counted, ws_emu_isa_rows + lines);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_refusals), cmocka_unit_test(test_refused), cmocka_unit_test(test_order), cmocka_unit_test(test_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
