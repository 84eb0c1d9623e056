#include "cli.h"
#include <getopt.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int wrong_option(int c, char **argv, const struct option *options) {
  const char *given = optind > 0 && argv[optind - 1] ? argv[optind - 1] : "";
  const char *names[64], *near = NULL;
  char name[64], wanted[80] = "";
  size_t n = 0, length = strcspn(given, "=");
  for (; options[n].name && n < sizeof names / sizeof *names; n++) names[n] = options[n].name;
  if (c == ':') return ws_cli_fail('?', "option '%.60s' needs a value; see `warpscore %s --help`", given, argv[0]);
  if (optopt && strncmp(given, "--", 2)) return ws_cli_fail('?', "unknown option '-%c'; see `warpscore %s --help`", optopt, argv[0]);
  if (optopt) return ws_cli_fail('?', "option '%.*s' takes no value; see `warpscore %s --help`", length > 60 ? 60 : (int)length, given, argv[0]);
  if (length > 2 && length < sizeof name) {
    snprintf(name, sizeof name, "%.*s", (int)length - 2, given + 2);
    near = ws_nearest(name, names, n);
  }
  if (near) snprintf(wanted, sizeof wanted, ": did you mean '--%s'?", near);
  return ws_cli_fail('?', "unknown option '%.*s'%s; see `warpscore %s --help`", length > 60 ? 60 : (int)length, given, wanted, argv[0]);
}

int ws_cli_next_option(int argc, char **argv, const char *letters, const struct option *options) {
  opterr = 0; /* the message is ours */
  int c = getopt_long(argc, argv, letters, options, NULL);
  return c == '?' || c == ':' ? wrong_option(c, argv, options) : c;
}

int ws_cli_spec_option(struct ws_cli_spec_options *o, int option, char *value) {
  switch (option) {
  case 'D': {
    char *equals = strchr(value, '=');
    if (!equals || equals == value) return ws_cli_fail(-1, "-D %s: expected NAME=VALUE", value);
    if (o->ndefines == WS_CLI_MAX_DEFINES) return ws_cli_fail(-1, "more than %d options -D", WS_CLI_MAX_DEFINES);
    *equals = 0;
    o->defines[o->ndefines++] = (struct ws_define){value, equals + 1};
    return 1;
  }
  case 'T': o->target = value; return 1;
  case 'M': o->templates = value; return 1;
  case 'K': o->kernel = value; return 1;
  case WS_CLI_NO_PLAY: return o->no_play = true, 1;
  case WS_CLI_STRICT: return o->strict = true, 1;
  case 'F':
    if (strcmp(value, "text") && strcmp(value, "json") && !(o->takes_sarif && !strcmp(value, "sarif")))
      return ws_cli_fail(-1, "--format %s: expected text or json%s", value, o->takes_sarif ? " or sarif" : "");
    o->json = !strcmp(value, "json"), o->sarif = !strcmp(value, "sarif");
    return 1;
  default: return 0;
  }
}

bool ws_cli_parse_integer(const char *what, const char *text, int64_t low, int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (!*text || *end || errno || v < low || v > high) {
    ws_cli_fail(0, "%s: '%s' found, expected a number from %lld to %lld", what, text, (long long)low, (long long)high);
    return false;
  }
  *out = v;
  return true;
}

bool ws_cli_parse_number(const char *what, const char *text, double *out) {
  char *end;
  double v = strtod(text, &end);
  if (!*text || *end || !isfinite(v)) {
    ws_cli_fail(0, "%s: '%s' found, expected a number", what, text);
    return false;
  }
  *out = v;
  return true;
}

bool ws_cli_parse_layout(const char *text, enum ws_cli_layout *out) {
  if (!strcmp(text, "bshd")) return *out = WS_CLI_BSHD, true;
  if (!strcmp(text, "bhsd")) return *out = WS_CLI_BHSD, true;
  ws_cli_fail(0, "layout: '%s' found, expected bshd or bhsd", text);
  return false;
}

/* One KEY=VALUE of a shape. */
static bool shape_field(const char *key, const char *value, struct ws_cli_shape *s) {
  int64_t v = 0;
  const struct {
    const char *key;
    int64_t *field;
    unsigned given;
  } fields[] = {{"b", &s->b, WS_CLI_B},    {"hq", &s->hq, WS_CLI_HQ}, {"hkv", &s->hkv, WS_CLI_HKV}, {"sq", &s->sq, WS_CLI_SQ},
                {"sk", &s->sk, WS_CLI_SK}, {"pad", &s->pad, 0},       {"sms", &s->sms, 0}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!strcmp(key, fields[i].key)) {
      s->given |= fields[i].given;
      return ws_cli_parse_integer(key, value, 0, INT32_MAX, fields[i].field);
    }
  if (!strcmp(key, "seed")) {
    if (!ws_cli_parse_integer(key, value, 0, INT64_MAX, &v)) return false;
    s->seed = (uint64_t)v;
    return true;
  }
  if (!strcmp(key, "layout")) return ws_cli_parse_layout(value, &s->layout);
  if (!strcmp(key, "d"))
    ws_cli_fail(0, "shape: the head dim is fixed when the kernel is generated (-D head_dim=...)");
  else
    ws_cli_fail(0, "shape: unknown key '%s': expected b, hq, hkv, sq, sk, layout, pad, seed or sms", key);
  return false;
}

bool ws_cli_parse_shape(const char *text, const struct ws_cli_shape *base, struct ws_cli_shape *out) {
  char *copy = strdup(text), *next, *save = NULL;
  if (!copy) return ws_cli_fail(0, "out of memory"), false;
  bool good = true;
  *out = *base;
  for (next = strtok_r(copy, ", \t", &save); next && good; next = strtok_r(NULL, ", \t", &save)) {
    char *equals = strchr(next, '=');
    if (!equals) {
      ws_cli_fail(0, "shape: '%s' found, expected KEY=VALUE, as in b=1,hq=8,hkv=2,sq=512,sk=512", next);
      good = false;
    } else {
      *equals = 0;
      good = shape_field(next, equals + 1, out);
    }
  }
  free(copy);
  return good;
}

bool ws_cli_add_shape(struct ws_cli_shapes *s, const char *text, const struct ws_cli_shape *base) {
  if (s->n == s->cap) {
    size_t cap = s->cap ? s->cap * 2 : 16;
    struct ws_cli_shape *list = realloc(s->list, cap * sizeof *list);
    if (!list) return ws_cli_fail(0, "out of memory"), false;
    s->list = list;
    s->cap = cap;
  }
  if (!ws_cli_parse_shape(text, base, &s->list[s->n])) return false;
  s->n++;
  return true;
}

bool ws_cli_add_shapes_of_file(struct ws_cli_shapes *s, const char *path, const struct ws_cli_shape *base) {
  char *text, *save = NULL;
  size_t length, before = s->n;
  if (!ws_cli_read_file(path, &text, &length)) return false;
  bool good = true;
  for (char *line = strtok_r(text, "\n", &save); line && good; line = strtok_r(NULL, "\n", &save)) {
    line[strcspn(line, "#\r")] = 0;
    if (line[strspn(line, " \t")]) good = ws_cli_add_shape(s, line, base);
  }
  free(text);
  if (good && s->n == before) {
    ws_cli_fail(0, "%s: no shape in it", path);
    good = false;
  }
  return good;
}

void ws_cli_shape_heads(struct ws_cli_shape *s, int64_t group) {
  if (s->hq < 0) s->hq = group ? group * (s->hkv < 0 ? 1 : s->hkv) : 2;
  if (s->hkv < 0) s->hkv = group ? s->hq / group : s->hq;
}

void ws_cli_print_shape(const struct ws_cli_shape *s, char *out, size_t size) {
  struct ws_cli_shape given = *s;
  ws_cli_shape_heads(&given, 0);
  int n = snprintf(out, size, "b=%lld,hq=%lld,hkv=%lld,sq=%lld,sk=%lld", (long long)s->b, (long long)given.hq,
                   (long long)given.hkv, (long long)s->sq, (long long)(s->sk < 0 ? s->sq : s->sk));
  if (n > 0 && (size_t)n < size)
    snprintf(out + n, size - (size_t)n, ",layout=%s,pad=%lld,seed=%llu", s->layout == WS_CLI_BSHD ? "bshd" : "bhsd",
             (long long)s->pad, (unsigned long long)s->seed);
  size_t used = strlen(out);
  if (s->sms) snprintf(out + used, size - used, ",sms=%lld", (long long)s->sms);
}

int ws_cli_shape_option(struct ws_cli_shape *base, int option, char *value) {
  int64_t seed;
  switch (option) {
  case WS_CLI_SHAPE:
  case WS_CLI_SHAPES: return 1;
  case WS_CLI_LAYOUT: return ws_cli_parse_layout(value, &base->layout) ? 1 : -1;
  case WS_CLI_PAD: return ws_cli_parse_integer("--pad", value, 0, INT32_MAX, &base->pad) ? 1 : -1;
  case WS_CLI_SMS: return ws_cli_parse_integer("--sms", value, 0, INT32_MAX, &base->sms) ? 1 : -1;
  case WS_CLI_SEED:
    if (!ws_cli_parse_integer("--seed", value, 0, INT64_MAX, &seed)) return -1;
    base->seed = (uint64_t)seed;
    return 1;
  default: return 0;
  }
}

bool ws_cli_collect_shapes(struct ws_cli_shapes *s, int argc, char **argv, const struct option *options,
                           const struct ws_cli_shape *base) {
  optind = 1;
  for (int c; (c = ws_cli_next_option(argc, argv, ":D:h", options)) != -1;) {
    if (c == WS_CLI_SHAPE && !ws_cli_add_shape(s, optarg, base)) return false;
    if (c == WS_CLI_SHAPES && !ws_cli_add_shapes_of_file(s, optarg, base)) return false;
  }
  return s->n || ws_cli_add_shape(s, "", base);
}
