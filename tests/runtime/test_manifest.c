/* The manifest's reader: what it takes, what it says about every kind of damage, and that no damage crashes it. */
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ws_manifest *parse(const char *text) {
  struct ws_manifest *m;
  struct ws_error_info err = {0};
  if (ws_manifest_parse(text, strlen(text), &m, &err)) fail_msg("%s", err.message);
  return m;
}

static void reads_everything(void **state) {
  (void)state;
  char *text = test_read("copy.ptx", NULL);
  struct ws_manifest *m = parse(text);
  const struct ws_kernel_info *k = ws_manifest_kernel(m);
  assert_string_equal(k->entry, "copy");
  assert_string_equal(k->target, "sm_80");
  assert_string_equal(k->problem, "attention.forward");
  assert_string_equal(k->tool, "by hand");
  assert_string_equal(k->grid, "queries * heads * batch");
  assert_string_equal(k->checked, "no");
  assert_string_equal(k->lse_base, "e");
  assert_int_equal(k->block, 128);
  assert_int_equal(k->shared, 1024);
  assert_int_equal(k->registers, 32);
  assert_int_equal(k->ptx_major, 7);
  assert_int_equal(k->ptx_minor, 0);
  const struct ws_tensor_info *q = ws_manifest_tensor(m, 0), *lse = ws_manifest_tensor(m, 4);
  assert_string_equal(q->name, "q");
  assert_int_equal(q->rank, 4);
  assert_int_equal(q->direction, WS_IN);
  assert_int_equal(q->type, WS_DTYPE_BF16);
  assert_string_equal(q->dims[1].name, "heads");
  assert_null(q->dims[3].name);
  assert_int_equal(q->dims[3].extent, 128);
  assert_true(q->strided[0] && q->strided[1] && q->strided[2] && !q->strided[3]);
  assert_int_equal(q->align, 16);
  assert_int_equal(lse->rank, 3);
  assert_int_equal(lse->direction, WS_OUT);
  assert_true(lse->strided[0] && lse->strided[1] && !lse->strided[2]);
  assert_null(ws_manifest_tensor(m, 5));
  assert_string_equal(ws_manifest_scalar(m, 0)->name, "scale");
  assert_true(ws_manifest_scalar(m, 0)->value > 0.08838834 && ws_manifest_scalar(m, 0)->value < 0.08838835);
  assert_null(ws_manifest_scalar(m, 1));
  const char *value;
  assert_string_equal(ws_manifest_setting(m, "dtype"), "bf16");
  assert_string_equal(ws_manifest_setting_at(m, 1, &value), "causal");
  assert_string_equal(value, "false");
  assert_null(ws_manifest_setting(m, "stages"));
  assert_null(ws_manifest_setting_at(m, 2, NULL));
  ws_manifest_free(m);
  free(text);
}

/* One damage and the message that it must give. */
static const struct {
  const char *from, *to, *message;
} damages[] = {
    {"// warpscore manifest 1\n", "",
     "no manifest: the first line is '// tool: by hand', expected '// warpscore manifest 1': only kernels written by "
     "warpscore can be loaded"},
    {"manifest 1", "manifest 2",
     "manifest line 1: manifest version 2 found, this loader reads version 1: use a libwarpscore that fits the "
     "generator"},
    {"manifest 1", "manifest one",
     "manifest line 1: expected '// warpscore manifest 1', found '// warpscore manifest one'"},
    {"// end manifest\n", "",
     "manifest line 46: expected '// key: value' or '// end manifest', found '// o = q, element for element, and lse = "
     "scale * log2(e): a kernel that shows wh'"},
    {"// entry: copy\n", "", "manifest line 45: the manifest ends without a 'entry' line"},
    {"// grid: queries * heads * batch\n", "", "manifest line 45: the manifest ends without a 'grid' line"},
    {"// block: 128\n", "", "manifest line 45: the manifest ends without a 'block' line"},
    {"// entry: copy\n", "// entry: copy\n// entry: copy\n", "manifest line 5: a second 'entry' line"},
    {"entry: copy", "entry: 7up", "manifest line 4: entry: expected the name of a kernel"},
    {"entry: copy", "entry: copy that", "manifest line 4: entry: 'that' is left over at the end of the line"},
    {"entry: copy", "entry:", "manifest line 4: entry: expected the name of a kernel"},
    {"entry: copy", "entry copy",
     "manifest line 4: expected '// key: value' or '// end manifest', found '// entry copy'"},
    {"entry: copy", "entry: copy\001", "manifest line 4: a control character (code 1) at column 15"},
    {"target: sm_80", "target: ampere", "manifest line 5: target: 'ampere' is no target: expected sm_80 or the like"},
    {"target: sm_80", "target: sm_8", "manifest line 5: target: 'sm_8' is no target: expected sm_80 or the like"},
    {"in bf16", "in float",
     "manifest line 9: tensor: unknown type 'float': expected f16, bf16, f32, e4m3, e5m2 or i32"},
    {"q in bf16", "q from bf16", "manifest line 9: tensor q: 'from' found, expected in, out, inout or workspace"},
    {"[batch, heads, queries, 128]", "batch, heads, queries, 128",
     "manifest line 9: tensor q: expected its dims in [ ]"},
    {"[batch, heads, queries, 128]", "[batch, heads, queries 128]",
     "manifest line 9: tensor q: expected ',' or ']' after a dim"},
    {"[batch, heads, queries, 128]", "[batch, heads, batch, 128]",
     "manifest line 9: tensor q: dim 'batch' appears twice"},
    {"[batch, heads, queries, 128]", "[batch, heads, queries, 0]",
     "manifest line 9: tensor q: a fixed dim of extent 0"},
    {"[batch, heads, queries, 128]", "[batch, heads, queries, 99999999999999999999]",
     "manifest line 9: tensor q: expected the name or the extent of a dim"},
    {"[batch, heads, queries, 128]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "manifest line 9: tensor q: more than 8 dims"},
    {"align 16", "align 12",
     "manifest line 9: tensor q: align 12 found, expected a power of two from the element's 2 bytes to 4096"},
    {"align 16", "align", "manifest line 9: tensor q: expected 'align BYTES' behind the dims"},
    {"tensor: k", "tensor: q", "manifest line 10: tensor: 'q' is declared twice"},
    {"scale f32", "scale bf16", "manifest line 14: scalar scale: expected type f32 or i32"},
    {"rsqrt 128", "sqrt 128", "manifest line 14: scalar scale: 'sqrt' found, expected a number or 'rsqrt N'"},
    {"rsqrt 128", "rsqrt 0",
     "manifest line 14: scalar scale: expected a number or 'rsqrt N' with N > 0 as its default"},
    {"heads kv_heads", "heads kv_head", "manifest line 15: multiple: no tensor above has a dim 'kv_head'"},
    {"multiple: heads kv_heads", "ratio: heads kv_head 2", "manifest line 15: ratio: no tensor above has a dim 'kv_head'"},
    {"multiple: heads kv_heads", "ratio: heads", "manifest line 15: ratio: expected the names of two dims"},
    {"multiple: heads kv_heads", "ratio: heads kv_heads", "manifest line 15: ratio: expected a number > 0 behind the two dims"},
    {"multiple: heads kv_heads", "ratio: heads kv_heads 0", "manifest line 15: ratio: expected a number > 0 behind the two dims"},
    {"multiple: heads kv_heads", "ratio: heads kv_heads -2", "manifest line 15: ratio: expected a number > 0 behind the two dims"},
    {"multiple: heads kv_heads", "ratio: heads kv_heads 99999999999999999999", "manifest line 15: ratio: expected a number > 0 behind the two dims"},
    {"multiple: heads kv_heads", "ratio: heads kv_heads 2 2", "manifest line 15: ratio: '2' is left over at the end of the line"},
    {"multiple: heads kv_heads",
     "ratio: heads kv_heads 2\n// multiple: heads kv_heads\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2\n// ratio: heads kv_heads 2",
     "manifest line 23: more than 8 'multiple' and 'ratio' lines"},
    {"u64 q.data", "u32 q.data", "manifest line 16: param: q.data is an address: expected type u64"},
    {"u64 q.data", "ptr q.data",
     "manifest line 16: param: unknown type 'ptr': expected u64, s64, u32, s32, f32, f64 or map"},
    {"u64 q.data", "u64 q.size", "manifest line 16: param: 'q.size' found, expected 'q.data' or 'q.stride.DIM'"},
    {"u64 q.data", "u64 x.data", "manifest line 16: param: no tensor above is called 'x'"},
    {"// param: u64 q.data\n", "", "manifest line 45: tensor q has no 'param: u64 q.data'"},
    {"q.stride.heads", "q.stride.head", "manifest line 18: param: tensor q has no dim 'head'"},
    {"q.stride.heads", "q.stride", "manifest line 18: param: expected 'q.stride.DIM'"},
    {"u32 heads", "u32 head", "manifest line 35: param: no dim or scalar above is called 'head'"},
    {"u32 heads", "f32 heads", "manifest line 35: param: 'heads' is an integer: expected type u64, s64, u32 or s32"},
    {"scale * 1.44", "scale * x1.44", "manifest line 39: param: expected a number behind '*'"},
    {"grid: queries", "grid: rows", "manifest line 40: grid: no tensor above has a dim 'rows'"},
    {"grid: queries", "grid: queries/0", "manifest line 40: grid: expected a number > 0 behind '/'"},
    {"grid: queries *", "grid: queries", "manifest line 40: grid: 'heads * batch' is left over at the end of the line"},
    {"block: 128", "block: 2048", "manifest line 41: block: expected a number from 1 to 1024"},
    {"block: 128", "block: -1", "manifest line 41: block: expected a number from 1 to 1024"},
    {"shared: 1024", "shared: 1e3", "manifest line 42: shared: expected a number from 0 to 16777216"},
    {"lse_base: e", "lse_base: 10", "manifest line 44: lse_base: '10' found, expected e or 2"},
    {"checked: no", "checked: maybe", "manifest line 45: checked: 'maybe' found, expected clean, review or no"},
    {"checked: no", "require: clusters",
     "manifest line 45: the kernel needs 'clusters', which this loader (0.1.0) does not have: use a newer "
     "libwarpscore"},
    {"set: causal false", "set: dtype f16", "manifest line 8: set: 'dtype' is set twice"},
    {"set: causal false", "set: causal", "manifest line 8: set: the value is missing"},
    {".target sm_80", ".target sm_90a",
     "line 49: '.target sm_90a' found, but the manifest says target sm_80: the file was altered"},
    {".target sm_80", ".target , sm_80",
     "line 49: '.target ' found, but the manifest says target sm_80: the file was altered"},
    {".version 7.0", ".version seven", "line 48: '.version' without a version"},
    {".version 7.0\n", "", "line 48: '.target' before '.version'"},
    {".target sm_80\n", "", "the code behind the manifest has no '.version' and '.target' lines"},
    {".entry copy(", ".entry copied(", "the code has no '.entry copy', which the manifest names"},
    {".visible .entry copy(", "// .entry copy(.param .u64 x)\n/* .entry copy( */ .visible .entry other(",
     "the code has no '.entry copy', which the manifest names"},
    {"// param: u64 k.stride.keys\n", "",
     "parameter 19 is u32 in the manifest, but .u64 in the code of copy: the file was altered"},
    {"// param: f32 scale * 1.4426950408889634\n", "",
     "the manifest has 23 'param' lines, but the code of copy has 24 parameters: the file was altered"},
    {", .param .f32 p_scale)", ")",
     "the manifest has 24 'param' lines, but the code of copy has 23 parameters: the file was altered"},
    {".param .f32 p_scale)", ".param .s32 p_scale)",
     "parameter 24 is f32 in the manifest, but .s32 in the code of copy: the file was altered"},
    {".param .u64 o_data", ".param .align 8 .b8 o_data[8]",
     "parameter 13 is u64 in the manifest, but .b8[] in the code of copy: the file was altered"},
    {".param .u64 o_data", ".param .u64 o_data[2]",
     "parameter 13 is u64 in the manifest, but .u64[] in the code of copy: the file was altered"},
    {".param .u64 o_data", ".param o_data", "the code's .entry copy: parameter 13 cannot be read"},
};

static void names_every_damage(void **state) {
  (void)state;
  char *text = test_read("copy.ptx", NULL);
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    char *broken = test_replace(text, damages[i].from, damages[i].to);
    struct ws_manifest *m = (struct ws_manifest *)(uintptr_t)1;
    struct ws_error_info err = {0};
    enum ws_status status = ws_manifest_parse(broken, strlen(broken), &m, &err);
    if (status != WS_ERR_MANIFEST) fail_msg("'%s' -> '%s': %s", damages[i].from, damages[i].to, ws_status_name(status));
    assert_string_equal(err.message, damages[i].message);
    assert_int_equal(err.status, WS_ERR_MANIFEST);
    assert_null(m);
    free(broken);
  }
  free(text);
}

/* Keys of newer tools do not matter; nor do line ends, the spelling of a parameter, or code that is not there. */
static void takes_what_it_may(void **state) {
  (void)state;
  char *text = test_read("copy.ptx", NULL);
  char *newer = test_replace(text, "// block", "// colour: blue, with a: colon\n// block");
  ws_manifest_free(parse(newer));
  *strstr(newer, "// o = q") = 0;
  struct ws_manifest *m = parse(newer);
  assert_int_equal(ws_manifest_kernel(m)->ptx_major, 0);
  ws_manifest_free(m);
  free(newer);
  char *spelled = test_replace(text, ".param .u64 q_data", "/* , */ .param .b64 .ptr .global .align 16 q_data // )\n");
  ws_manifest_free(parse(spelled));
  free(spelled);
  char *crlf = malloc(2 * strlen(text) + 1), *to = crlf;
  assert_non_null(crlf);
  for (const char *s = text; *s; *to++ = *s++)
    if (*s == '\n') *to++ = '\r';
  *to = 0;
  m = parse(crlf);
  assert_string_equal(ws_manifest_kernel(m)->grid, "queries * heads * batch");
  ws_manifest_free(m);
  free(crlf);
  free(text);
}

static void numbers_are_exact(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } cases[] = {{"1.4426950408889634", 1.4426950408889634},
               {"0.1", 0.1},
               {"-2.5e-3", -2.5e-3},
               {"1e300", 1e300},
               {"1e-300", 1e-300},
               {"3", 3},
               {"18446744073709551615", 18446744073709551615.0},
               {".5", .5},
               {"0.00000000000000000000012345678901234567890123", 1.2345678901234568e-22}};
  char *text = test_read("copy.ptx", NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *changed = test_replace(text, "rsqrt 128", cases[i].text);
    struct ws_manifest *m = parse(changed);
    double have = ws_manifest_scalar(m, 0)->value;
    if (have != cases[i].value) fail_msg("%s gives %.17g", cases[i].text, have);
    ws_manifest_free(m);
    free(changed);
  }
  free(text);
}

/* Whatever a manifest says, launches against it are checked, not trusted. */
static void try(const char *text, size_t n) {
  struct ws_manifest *m;
  struct ws_error_info err;
  struct test_launch t;
  uint64_t grid;
  char *exact = malloc(n + 1); /* so that a read beyond the end is seen */
  memcpy(exact, text, n);
  if (!ws_manifest_parse(exact, n, &m, &err)) {
    test_launch_init(&t);
    ws_manifest_check_launch(m, &t.launch, &grid, &err);
    ws_manifest_free(m);
  } else {
    assert_null(m);
    assert_true(strlen(err.message) > 0);
  }
  free(exact);
}

static void survives_random_damage(void **state) {
  (void)state;
  size_t n;
  char *text = test_read("copy.ptx", &n), *copy = malloc(2 * n);
  uint64_t seed = 1;
  size_t head = (size_t)(strstr(text, ".address_size") - text);
  for (size_t cut = 0; cut <= head; cut++) try(text, cut);
  for (int round = 0; round < 20000; round++) {
    size_t length = n;
    memcpy(copy, text, n);
    for (int edits = 1 + (int)(test_random(&seed) % 4); edits; edits--) {
      size_t at = test_random(&seed) % head;
      switch (test_random(&seed) % 4) {
      case 0: copy[at] = (char)test_random(&seed); break;
      case 1: copy[at] = "0123456789.,:/*[] \nabcz_-"[test_random(&seed) % 25]; break;
      case 2: memmove(copy + at, copy + at + 1, length - at - 1), length--; break;
      case 3: { /* a piece of the text elsewhere */
        size_t from = test_random(&seed) % head, some = test_random(&seed) % 40;
        memmove(copy + at, text + from, some);
        break;
      }
      }
    }
    try(copy, length);
  }
  free(copy);
  free(text);
}

static void limits_sizes(void **state) {
  (void)state;
  char *text = calloc(1, 200000), *good = test_read("copy.ptx", NULL);
  struct ws_manifest *m;
  struct ws_error_info err;
  const char *rest = strstr(good, "// tool");
  strcpy(text, "// warpscore manifest 1\n");
  for (size_t n = strlen(text); n < 70000; n += 30) strcpy(text + n, "// colour: blue              \n");
  strcat(text, rest);
  assert_int_equal(ws_manifest_parse(text, strlen(text), &m, &err), WS_ERR_MANIFEST);
  assert_non_null(strstr(err.message, "no '// end manifest' within 65536 bytes"));
  strcpy(text, "// warpscore manifest 1\n");
  for (int i = 0; i < 70; i++) sprintf(text + strlen(text), "// set: p%d 1\n", i);
  strcat(text, rest);
  assert_int_equal(ws_manifest_parse(text, strlen(text), &m, &err), WS_ERR_MANIFEST);
  assert_string_equal(err.message, "manifest line 66: more than 64 'set' lines");
  free(good);
  free(text);
}

static void files(void **state) {
  (void)state;
  struct ws_manifest *m;
  struct ws_error_info err;
  assert_int_equal(ws_manifest_read(WS_TEST_DATA "/copy.ptx", &m, &err), WS_OK);
  ws_manifest_free(m);
  assert_int_equal(ws_manifest_read("/nowhere/k.ptx", &m, &err), WS_ERR_IO);
  assert_string_equal(err.message, "/nowhere/k.ptx: cannot be opened: No such file or directory");
  assert_int_equal(ws_manifest_read(WS_TEST_DATA, &m, &err), WS_ERR_IO); /* a folder */
  assert_int_equal(ws_manifest_read("/dev/null", &m, &err), WS_ERR_MANIFEST);
  assert_int_equal(ws_manifest_read("/dev/null", &m, NULL), WS_ERR_MANIFEST);
  assert_int_equal(ws_manifest_parse(NULL, 0, &m, &err), WS_ERR_ARGUMENT);
  ws_manifest_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_everything),
      cmocka_unit_test(names_every_damage),
      cmocka_unit_test(takes_what_it_may),
      cmocka_unit_test(numbers_are_exact),
      cmocka_unit_test(survives_random_damage),
      cmocka_unit_test(limits_sizes),
      cmocka_unit_test(files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
