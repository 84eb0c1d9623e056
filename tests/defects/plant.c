/* Plants a defect: applies one section of edits of a case to the text of its base.
 *
 *   plant CASE spec|ptx < BASE > EDITED
 *
 * A section begins with `edit spec:` or `edit ptx:` and holds lines
 *   replace: OLD        every line's first OLD becomes what the next line, `with: NEW`, says
 *   drop: OLD           every line that holds OLD goes
 *   after: OLD          the next line, `with: NEW`, is put behind every line that holds OLD
 *   only: K             the next edit is for the K-th place alone (from 1)
 * @NL@ in NEW begins a new line. Each edit must apply: a case that no longer fits its base is an error, not a clean kernel. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 22, LINE = 4096 };

struct text {
  char s[SIZE];
  size_t n;
};

static void put(struct text *t, const char *s, size_t n) {
  if (t->n + n >= SIZE) exit((fputs("plant: too long\n", stderr), 3));
  memcpy(t->s + t->n, s, n);
  t->n += n;
  t->s[t->n] = 0;
}

struct edit {
  char old[LINE];
  int only;
  bool behind;
};

/* new is NULL where the line goes. Returns how many places were edited. */
static int apply(struct text *t, const struct edit *e, const char *new) {
  static struct text out;
  int seen = 0, done = 0;
  out.n = 0, *out.s = 0;
  for (const char *s = t->s, *next; *s; s = next) {
    next = s + strcspn(s, "\n");
    next += *next == '\n';
    const char *hit = strstr(s, e->old);
    bool here = hit && hit < next && (++seen, !e->only || seen == e->only);
    done += here;
    if (here && !new) continue;
    if (here && !e->behind) put(&out, s, (size_t)(hit - s)), put(&out, new, strlen(new)), s = hit + strlen(e->old);
    put(&out, s, (size_t)(next - s));
    if (here && e->behind) put(&out, new, strlen(new)), put(&out, "\n", 1);
  }
  memcpy(t->s, out.s, out.n + 1);
  t->n = out.n;
  return done;
}

static const char *after(const char *line, const char *word) {
  size_t n = strlen(word);
  return strncmp(line, word, n) ? NULL : line[n] == ' ' ? line + n + 1 : line + n;
}

static void new_lines(char *s) {
  for (char *x; (x = strstr(s, "@NL@")); memmove(x + 1, x + 4, strlen(x + 4) + 1)) *x = '\n';
}

static bool step(struct text *t, struct edit *e, char *line) {
  const char *x;
  if ((x = after(line, "only:"))) return e->only = atoi(x), true;
  if ((x = after(line, "replace:"))) return snprintf(e->old, LINE, "%s", x), e->behind = false, true;
  if ((x = after(line, "after:"))) return snprintf(e->old, LINE, "%s", x), e->behind = true, true;
  bool drop = (x = after(line, "drop:"));
  if (drop) snprintf(e->old, LINE, "%s", x);
  else if (!(x = after(line, "with:"))) return fprintf(stderr, "not understood: %s\n", line), false;
  new_lines(line);
  if (!*e->old || !apply(t, e, drop ? NULL : x)) return fprintf(stderr, "nothing to edit: %s\n", e->old), false;
  *e = (struct edit){0};
  return true;
}

int main(int argc, char **argv) {
  static struct text base;
  static char line[LINE];
  static struct edit e;
  if (argc != 3) return fputs("usage: plant CASE spec|ptx\n", stderr), 2;
  FILE *f = fopen(argv[1], "r");
  if (!f) return perror(argv[1]), 2;
  base.n = fread(base.s, 1, SIZE - 1, stdin);
  base.s[base.n] = 0;
  bool mine = false, ok = true;
  while (ok && fgets(line, LINE, f)) {
    line[strcspn(line, "\n")] = 0;
    const char *section = after(line, "edit");
    if (section) mine = !strncmp(section, argv[2], strlen(argv[2]));
    else if (mine && *line && *line != '#') ok = step(&base, &e, line);
  }
  fclose(f);
  if (ok) fwrite(base.s, 1, base.n, stdout);
  return !ok;
}
