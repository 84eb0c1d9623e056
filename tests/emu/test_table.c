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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_refusals), cmocka_unit_test(test_order), cmocka_unit_test(test_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
