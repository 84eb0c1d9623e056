#include "isa_case.h"
#include <math.h>

enum { N = 4096 };

static int bits_of(const char *type) {
  if (strlen(type) > 4 && strstr(type, "16x2")) return 32;
  return type[0] == 'b' && type[1] == 'f' ? 16 : atoi(type + (type[0] != 0));
}

/* The kernel: loads each input at its width from 64-bit cells, stores the output zero-extended. */
static void kernel_text(const struct isa_case *k, char *out, size_t n) {
  char type[4][16] = {""}, body[512];
  int count = sscanf(k->types, "%15s %15s %15s %15s", type[0], type[1], type[2], type[3]);
  size_t at = (size_t)snprintf(out, n, "%s.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                               ".reg .pred p, q, r;\n.reg .b64 i, o, x, y;\n.reg .b32 t, u;\n.reg .b16 h, g;\n",
                               k->header ? k->header : ".version 7.8\n.target sm_80\n");
  for (int i = 0; i < count; i++) {
    int bits = bits_of(type[i]);
    at += (size_t)snprintf(out + at, n - at, ".reg .b%d %%%c;\n", bits, i ? 'a' + i - 1 : 'd');
  }
  at += (size_t)snprintf(out + at, n - at, "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 t, %%ctaid.x;\nmov.u32 u, %%tid.x;\n"
                         "mad.lo.u32 t, t, 256, u;\nmul.wide.u32 x, t, 32;\nadd.u64 i, i, x;\nmul.wide.u32 x, t, 8;\nadd.u64 o, o, x;\n");
  for (int i = 1; i < count; i++) at += (size_t)snprintf(out + at, n - at, "ld.global.b%d %%%c, [i+%d];\n", bits_of(type[i]), 'a' + i - 1, 8 * (i - 1));
  snprintf(body, sizeof body, "%s", k->text);
  at += (size_t)snprintf(out + at, n - at, "%s\nmov.b64 x, 0;\nst.global.b64 [o], x;\nst.global.b%d [o], %%d;\nret;\n}\n", body, bits_of(type[0]));
  assert_true(at < n);
}

static bool is_nan(uint64_t v, int bits) {
  return bits == 64 ? (v & INT64_MAX) > 0x7ff0000000000000u : bits == 32 ? (v & 0x7fffffff) > 0x7f800000 : (v & 0x7fff) > 0x7c00;
}

static bool matches(const struct isa_case *k, uint64_t got, uint64_t want, int bits) {
  uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  want &= mask;
  if (got == want) return true;
  if (k->compare == ANY_NAN) return is_nan(got, bits) && is_nan(want, bits);
  if (k->compare != ULP2_F32) return false;
  float g = as_f32(got), w = as_f32(want);
  if (w != w || isinf(w) || w == 0) return (w != w && g != g) || (w == 0 && fabsf(g) <= 0x1p-126f);
  return fabs((double)g - w) <= 2 * fabs((double)nextafterf(w, INFINITY) - w);
}

static void run_case(void **state) {
  const struct isa_case *k = *state;
  static uint64_t in[N][4], out[N];
  char text[4096], type[4][16] = {""};
  struct rng r = {0x9e3779b97f4a7c15u};
  for (const char *c = k->text; *c; c++) r.s = (r.s ^ (unsigned char)*c) * 0x100000001b3u;
  int count = sscanf(k->types, "%15s %15s %15s %15s", type[0], type[1], type[2], type[3]);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < 3; j++) {
      in[i][j] = j + 1 < count ? rng_pattern(&r, bits_of(type[j + 1])) : 0;
      if (j + 1 < count && strlen(type[j + 1]) > 4) in[i][j] = rng_pattern(&r, 16) | rng_pattern(&r, 16) << 16;
    }
  kernel_text(k, text, sizeof text);
  struct CUmod_st *m = NULL;
  if (cuModuleLoadData(&m, text)) {
    print_message("%s\n%s", emu_message(), text);
    fail();
  }
  ws_cu_deviceptr p[2] = {emu_buffer(in, sizeof in), emu_buffer(NULL, sizeof out)};
  CHECK(emu_run(emu_function(m, "k"), N / 256, 256, 0, p, 2));
  emu_fetch(out, p[1], sizeof out);
  CHECK(cuMemFree_v2(p[0]));
  CHECK(cuModuleUnload(m));
  int bad = 0;
  for (int i = 0; i < N; i++) {
    uint64_t want = k->want(in[i][0], in[i][1], in[i][2]);
    if (matches(k, out[i], want, bits_of(type[0]))) continue;
    if (bad++ < 5)
      print_message("%s  a %llx b %llx c %llx: got %llx, want %llx\n", k->text, (unsigned long long)in[i][0], (unsigned long long)in[i][1],
                    (unsigned long long)in[i][2], (unsigned long long)out[i], (unsigned long long)want);
  }
  assert_int_equal(bad, 0);
}

static int setup(void **state) { (void)state; emu_open(); return 0; }
static int teardown(void **state) { (void)state; emu_close(); return 0; }

int isa_run(const char *group, const struct isa_case *cases, size_t n) {
  struct CMUnitTest *tests = calloc(n, sizeof *tests);
  char(*names)[160] = calloc(n, sizeof *names);
  if (!tests || !names) return 1;
  for (size_t i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "%s | %s", cases[i].section, cases[i].text);
    tests[i] = (struct CMUnitTest){names[i], run_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
  }
  int failed = _cmocka_run_group_tests(group, tests, n, setup, teardown);
  free(tests);
  free(names);
  return failed;
}
