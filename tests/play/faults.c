/* Planted faults: a right schedule, one edit, and what the player says about it, verbatim.
 *
 *   faults [--update] FOLDER SPECS...      FOLDER holds NAME.fault and NAME.err, SPECS the folders of schedules
 *
 * A .fault file: comments (#), `spec: NAME`, then edits, each of which must apply:
 *   replace: OLD        every OLD in the text becomes what the next line, `with: NEW`, says
 *   drop: OLD           every line that holds OLD goes
 *   only: K             the next edit is for the K-th place alone (from 1)
 * @NL@ in NEW begins a new line.
 *   clean:              the edited schedule is right: it is the twin of a fault, and there is no .err
 *   single:             found where a CTA goes on with another work tile only; the schedule has one: `launch: single`
 *   incomplete:         likewise: the player must not call it clean, but has no error either */
#include "play/play.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 17 };

static bool slurp(const char *path, char *out) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  size_t n = fread(out, 1, SIZE - 1, f);
  out[n] = 0;
  fclose(f);
  return true;
}

/* Replaces the only-th OLD (0: all) by NEW; a NULL takes the whole line away. Returns how many. */
static int edit(char *text, const char *old, const char *new, int only) {
  static char out[SIZE];
  size_t n = 0, len = strlen(old);
  int seen = 0, done = 0;
  for (char *s = text; *s;) {
    char *e = strchr(s, '\n'), *next = e ? e + 1 : s + strlen(s), *hit = strstr(s, old);
    bool here = hit && hit < next;
    if (here && ++seen && (!only || seen == only) && n + (size_t)(next - s) + (new ? strlen(new) : 0) < SIZE) {
      done++;
      if (new) n += (size_t)snprintf(out + n, SIZE - n, "%.*s%s%.*s", (int)(hit - s), s, new, (int)(next - hit - (long)len), hit + len);
    } else {
      memcpy(out + n, s, (size_t)(next - s));
      n += (size_t)(next - s);
    }
    s = next;
  }
  out[n] = 0;
  memcpy(text, out, n + 1);
  return done;
}

struct fault {
  char spec[128];
  bool clean, incomplete, single;
};

static bool find_spec(const char *name, char **folders, int n, char *text) {
  char path[1024];
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s.yaml", folders[i], name);
    if (slurp(path, text)) return true;
  }
  return false;
}

static const char *after(const char *line, const char *word) {
  size_t n = strlen(word);
  return strncmp(line, word, n) ? NULL : line[n] == ' ' ? line + n + 1 : line + n;
}

static void new_lines(char *s) {
  for (char *x; (x = strstr(s, "@NL@")); memmove(x + 1, x + 4, strlen(x + 4) + 1)) *x = '\n';
}

static bool apply(char *script, char **folders, int n, struct fault *f, char *text) {
  const char *old = NULL, *x;
  int only = 0;
  for (char *line = script, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = 0;
    if (*line == '#' || !*line) continue;
    if ((x = after(line, "spec:"))) {
      snprintf(f->spec, sizeof f->spec, "%s", x);
      if (!find_spec(x, folders, n, text)) return fprintf(stderr, "no spec %s\n", x), false;
    } else if ((x = after(line, "only:")))
      only = atoi(x);
    else if ((x = after(line, "clean:")))
      f->clean = true;
    else if ((x = after(line, "incomplete:")))
      f->incomplete = true;
    else if ((x = after(line, "single:")))
      f->single = true;
    else if ((x = after(line, "replace:")))
      old = x;
    else if ((x = after(line, "with:")) || (x = after(line, "drop:"))) {
      bool drop = *line == 'd';
      if (!old && !drop) return false;
      if (!edit(text, drop ? x : old, drop ? NULL : x, only)) return fprintf(stderr, "nothing to edit: %s\n", drop ? x : old), false;
      new_lines(text);
      only = 0;
    } else
      return fprintf(stderr, "not understood: %s\n", line), false;
  }
  return *f->spec;
}

static bool play(const char *text, const struct fault *f, char *said) {
  struct ws_arena a = {0};
  struct ws_source src = {f->spec, text, strlen(text)};
  struct ws_diags d = {.arena = &a, .source = &src};
  volatile enum ws_verdict worst = WS_CLEAN;
  volatile bool single = false;
  if (setjmp(a.oom)) abort();
  struct ws_spec *spec = ws_spec_read(&src, &a, &d);
  for (size_t i = 0; spec && !d.errors && i < spec->ndocs; i++) {
    struct ws_schedule *s = ws_schedule_build(&spec->docs[i], &src, NULL, NULL, 0, &a, &d);
    struct ws_play_options opt = {0};
    if (!s) continue;
    struct ws_play_result r = ws_play(s, &opt, &a, &d);
    if (r.verdict > worst) worst = r.verdict;
    single = single || r.needs_single;
    if (r.needs_single) snprintf(said, SIZE, "%s", strchr(r.notes, '\n') + 1);
  }
  if (d.errors && worst != WS_VERDICT_ERROR) worst = WS_VERDICT_ERROR, ws_note(&d, (struct ws_pos){1, 1, 0}, "this was found without playing");
  struct ws_buf b = {.arena = &a};
  ws_buf_puts(&b, "");
  ws_diags_print(&d, &b);
  if (!single) snprintf(said, SIZE, "%s", b.s);
  ws_arena_free(&a);
  return single == f->single && worst == (f->clean || f->single ? WS_CLEAN : f->incomplete ? WS_INCOMPLETE : WS_VERDICT_ERROR);
}

static bool one(const char *folder, const char *file, char **specs, int nspecs, bool update) {
  static char script[SIZE], text[SIZE], said[SIZE], want[SIZE];
  char path[1024];
  struct fault f = {0};
  snprintf(path, sizeof path, "%s/%s", folder, file);
  if (!slurp(path, script) || !apply(script, specs, nspecs, &f, text)) return fprintf(stderr, "%s: cannot be applied\n", file), false;
  if (!play(text, &f, said)) return fprintf(stderr, "%s: %s\n%s", file, f.clean ? "is clean, but was not found to be" : "was not found", said), false;
  if (f.clean || f.incomplete) return true;
  snprintf(strrchr(path, '.'), 5, ".err");
  if (update) {
    FILE *out = fopen(path, "wb");
    if (out) fputs(said, out), fclose(out);
    return out;
  }
  if (slurp(path, want) && !strcmp(want, said)) return true;
  return fprintf(stderr, "%s: expected\n%sfound\n%s", file, want, said), false;
}

int main(int argc, char **argv) {
  int i = 1, n = 0, bad = 0;
  bool update = argc > i && !strcmp(argv[i], "--update");
  i += update;
  if (argc < i + 2) return fputs("usage: faults [--update] FOLDER SPECS...\n", stderr), 2;
  DIR *d = opendir(argv[i]);
  if (!d) return perror(argv[i]), 2;
  for (const struct dirent *e; (e = readdir(d));) {
    const char *dot = strrchr(e->d_name, '.');
    if (!dot || strcmp(dot, ".fault")) continue;
    n++;
    bad += !one(argv[i], e->d_name, argv + i + 1, argc - i - 1, update);
  }
  closedir(d);
  printf("%d planted faults and twins, %d wrong\n", n, bad);
  return bad || !n;
}
