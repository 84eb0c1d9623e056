/*   conform LIST ROOT      every line of LIST: options of the kernel (as `run` takes them: -D name=value, --target T), then its spec
 *   conform --plant N LIST ROOT   plants defects into the PTX of the lines' kernels: every N-th place
 *   conform --rules        the tables
 *   -v                     says more
 *   --arms                 arms that data decide have to be taken, and left
 *   --schedule S           when asynchronous operations complete, as `run` takes it
 * Exit code 1 where something differs, or where a planted defect is not found. */
#include "conform.h"
#include "play/play.h"
#include <stdlib.h>
#include <string.h>

/* Shapes in tiles and blocks. cut: rows and keys taken off, so that the last ones are ragged. */
static const struct units {
  int heads, tiles, blocks, cut;
  bool several;                  /* blocks: more than twice around the deepest ring */
} units[] = {{1, 1, 0, 0, false}, {1, 1, 1, 0, false}, {1, 1, 2, 5, false}, {2, 2, 3, 7, false}, {1, 1, 0, 3, true}, {2, 3, 1, 1, false}};

static int deepest(const struct ws_schedule *s) {
  int n = 1;
  for (int i = 0; i < s->npipelines; i++)
    if (s->pipelines[i].buffer->stages > n) n = s->pipelines[i].buffer->stages;
  return n;
}

static struct shape shape_of(const struct ws_schedule *s, const struct units *u) {
  const struct ws_block_step *keys = ws_schedule_block(s, "keys"), *queries = ws_schedule_block(s, "queries");
  int rows = s->tile_rows ? queries_of_tile(s) : queries ? queries->step : 64;
  int64_t sq = (int64_t)u->tiles * rows - (u->cut < rows ? u->cut : rows - 1), blocks = u->several ? 2 * deepest(s) + 1 : u->blocks, sk = blocks * keys->step - (blocks ? u->cut : 0);
  return (struct shape){1, u->heads, sq, sk};
}

struct total {
  long kernels, shapes, events, taken, left;
};

static int check_shape(struct ws_device *device, struct subject *x, const struct shape *shape, bool verbose, struct total *t) {
  struct run r;
  int wrong = 0;
  if (!run_kernel(device, x, x->ptx, x->ptx_len, shape, &r)) return printf("FAIL %s\n", r.fault), 1;
  if (*r.fault) wrong += printf("FAIL %s\n", r.fault) > 0;
  for (int g = 0; g < r.ngroups; g++) {
    struct trace want;
    struct finding f[3];
    int n = declared(x, shape, g, r.ngroups, &want) ? compare(x, &want, &r.group[g], r.fault, f, 3) : 1;
    wrong += n;
    for (int i = 0; i < n && i < 3; i++) printf("FAIL %s\n", f[i].text);
    for (int c = 0; c < 2; c++)
      for (int k = 0; k < MOST_WARPS; k++) t->events += (long)want.warp[c][k].n;
    trace_free(&want);
  }
  if (wrong || verbose)
    printf("%s %s: b=%lld,h=%lld,sq=%lld,sk=%lld: %d %s, %d findings\n", wrong ? "FAIL" : "same", x->spec, (long long)shape->b, (long long)shape->h, (long long)shape->sq,
           (long long)shape->sk, r.ngroups, x->s->pair ? "pairs" : "CTAs", wrong);
  run_free(&r);
  return wrong;
}

struct line {
  char text[1000], path[1200];
  const char *target;
  struct ws_define defines[32];
  size_t n;
};

/* "-D a=b -D c=d --target T SPEC", relative to root. */
static bool parse(const char *from, const char *root, struct line *l) {
  memset(l, 0, sizeof *l);
  snprintf(l->text, sizeof l->text, "%s", from);
  char *save = NULL;
  for (char *w = strtok_r(l->text, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
    if (!strcmp(w, "--target")) l->target = strtok_r(NULL, " \t\n", &save);
    else if (strcmp(w, "-D")) snprintf(l->path, sizeof l->path, "%s%s%s", root, *root ? "/" : "", w);
    else {
      char *name = strtok_r(NULL, " \t\n", &save), *eq = name ? strchr(name, '=') : NULL;
      if (!eq || l->n == 32) return false;
      *eq = 0;
      l->defines[l->n++] = (struct ws_define){name, eq + 1};
    }
  }
  return *l->path;
}

static int one_kernel(struct ws_device *device, struct line *l, int plant, bool verbose, struct total *t) {
  struct subject x;
  int wrong = 0;
  if (!subject_open(&x, l->path, l->defines, l->n, l->target)) {
    subject_close(&x);
    return 1;
  }
  if (plant) {
    struct shape s = shape_of(x.s, &(struct units){1, 1, 3, 5, false});
    wrong = plant_all(device, &x, &s, plant, verbose);
  }
  for (size_t i = 0; !plant && i < sizeof units / sizeof *units; i++, t->shapes++) {
    struct shape s = shape_of(x.s, &units[i]);
    wrong += check_shape(device, &x, &s, verbose, t);
    s.sq += 2 * (int64_t)queries_of_tile(x.s); /* first rows that see no key, under a causal mask */
    if (!x.s->causal || i != 2) continue;
    wrong += check_shape(device, &x, &s, verbose, t);
    t->shapes++;
  }
  t->taken += x.taken, t->left += x.left;
  subject_close(&x);
  return wrong;
}

static int all_lines(FILE *f, const char *root, const char *schedule, int plant, bool arms, bool verbose) {
  struct ws_device *device = open_emulator(schedule, plant > 0);
  char text[1000];
  struct total t = {0};
  int wrong = 0;
  if (!device) return 1;
  while (fgets(text, sizeof text, f)) {
    struct line l;
    if (*text == '#' || *text == '\n') continue;
    if (!parse(text, root, &l)) wrong += printf("FAIL a line that is none: %s", text) > 0;
    else wrong += one_kernel(device, &l, plant, verbose, &t), t.kernels++;
  }
  close_emulator(device);
  if (plant) printf("%ld kernels with planted defects, %d not found\n", t.kernels, wrong);
  else printf("%ld kernels, %ld shapes, %ld events declared (arms that data decide: %ld taken, %ld left), %d findings\n", t.kernels, t.shapes, t.events, t.taken, t.left, wrong);
  if (arms && (!t.taken || !t.left)) wrong += printf("FAIL arms that data decide are never taken, or never left\n") > 0;
  return wrong || !t.kernels;
}

int main(int argc, char **argv) {
  int plant = 0, i = 1;
  bool verbose = false, arms = false;
  const char *schedule = "late";
  for (; i < argc && *argv[i] == '-'; i++) {
    if (!strcmp(argv[i], "--rules")) return print_rules(), 0;
    if (!strcmp(argv[i], "-v")) verbose = true;
    else if (!strcmp(argv[i], "--arms")) arms = true;
    else if (!strcmp(argv[i], "--schedule") && i + 1 < argc) schedule = argv[++i];
    else if (!strcmp(argv[i], "--plant") && i + 1 < argc) plant = atoi(argv[++i]);
    else break;
  }
  FILE *f = i + 2 == argc ? fopen(argv[i], "r") : NULL;
  if (!f) return fprintf(stderr, "usage: conform [-v] [--arms] [--schedule S] [--plant N] LIST ROOT | --rules\n"), 2;
  int code = all_lines(f, argv[i + 1], schedule, plant, arms, verbose);
  fclose(f);
  return code;
}
