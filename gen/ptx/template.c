#include "template.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct piece {
  enum { TEXT, ARG, OPEN, CLOSE, FIELD } kind;
  const char *text;
  size_t len;
  int index;              /* ARG: argument; OPEN: list; FIELD: field of the innermost list */
  size_t match;           /* OPEN: index of its CLOSE */
};

struct ws_template {
  const char *name, *file;
  unsigned line;
  int version;
  const char *arg[16];
  size_t nargs;
  struct {
    const char *name, *field[8];
    size_t nfields;
  } list[4];
  size_t nlists;
  struct piece *piece;
  size_t npieces, cap;
  struct ws_template *next;
};

enum { BUCKETS = 256 };
struct ws_templates {
  struct ws_template *bucket[BUCKETS];
};

static unsigned hash(const char *s) {
  unsigned h = 2166136261u; /* FNV-1a */
  while (*s) h = (h ^ (unsigned char)*s++) * 16777619u;
  return h % BUCKETS;
}

static struct ws_template *find(const struct ws_templates *t, const char *name) {
  struct ws_template *x = t->bucket[hash(name)];
  while (x && strcmp(x->name, name)) x = x->next;
  return x;
}

struct reader {
  struct ws_templates *set;
  struct ws_arena *arena;
  struct ws_diags *diags;
  const char *file;
  unsigned line;
};

static bool fail(struct reader *r, const char *why, const char *what) {
  ws_error(r->diags, (struct ws_pos){0, 0, 0}, "template", "%s:%u: %s `%s`", r->file, r->line, why, what);
  return false;
}

static char *word(struct reader *r, const char **p, const char *end) {
  while (*p < end && **p == ' ') (*p)++;
  const char *s = *p;
  if (*p < end && strchr("[]:", **p)) return ws_strndup(r->arena, (*p)++, 1);
  while (*p < end && !strchr(" []:", **p)) (*p)++;
  return ws_strndup(r->arena, s, (size_t)(*p - s));
}

static bool header(struct reader *r, struct ws_template *t, const char *p, const char *end) {
  t->file = r->file, t->line = r->line, t->version = 70;
  t->name = word(r, &p, end);
  if (!*t->name) return fail(r, "a template needs a name after", "==");
  if (find(r->set, t->name)) return fail(r, "a second template", t->name);
  bool in_list = false;
  for (char *w; *(w = word(r, &p, end));) {
    if (*w == ':') break;
    if (*w == '@')
      t->version = atoi(w + 1);
    else if (*w == '[') {
      if (t->nlists == 4) return fail(r, "more than 4 lists in", t->name);
      t->list[t->nlists++].name = word(r, &p, end);
      in_list = true;
    } else if (*w == ']')
      in_list = false;
    else if (in_list) {
      if (t->list[t->nlists - 1].nfields == 8) return fail(r, "more than 8 fields in", t->name);
      t->list[t->nlists - 1].field[t->list[t->nlists - 1].nfields++] = w;
    } else {
      if (t->nargs == 16) return fail(r, "more than 16 arguments of", t->name);
      t->arg[t->nargs++] = w;
    }
  }
  return true;
}

static void add(struct reader *r, struct ws_template *t, struct piece p) {
  *WS_PUSH(r->arena, t->piece, t->npieces, t->cap) = p;
}

/* One {{...}}. open: the list whose section this stands in, -1 outside. */
static bool tag(struct reader *r, struct ws_template *t, const char *name, int *open, size_t *opened) {
  if (*name == '#' || *name == '/') {
    int k = 0;
    while (k < (int)t->nlists && strcmp(t->list[k].name, name + 1)) k++;
    if (k == (int)t->nlists) return fail(r, "no such list", name + 1);
    if (*name == '#') {
      if (*open >= 0) return fail(r, "sections do not nest:", name);
      *open = k, *opened = t->npieces;
      add(r, t, (struct piece){.kind = OPEN, .index = k});
    } else {
      if (*open != k) return fail(r, "no open section", name + 1);
      t->piece[*opened].match = t->npieces;
      *open = -1;
      add(r, t, (struct piece){.kind = CLOSE});
    }
    return true;
  }
  if (*open >= 0)
    for (size_t i = 0; i < t->list[*open].nfields; i++)
      if (!strcmp(t->list[*open].field[i], name)) return add(r, t, (struct piece){.kind = FIELD, .index = (int)i}), true;
  for (size_t i = 0; i < t->nargs; i++)
    if (!strcmp(t->arg[i], name)) return add(r, t, (struct piece){.kind = ARG, .index = (int)i}), true;
  return fail(r, "no argument", name);
}

static bool body(struct reader *r, struct ws_template *t, const char *p, const char *end) {
  const char *start = p;
  int open = -1;
  size_t opened = 0;
  while (p < end) {
    const char *q = p;
    while (q + 1 < end && !(q[0] == '{' && q[1] == '{')) q++;
    if (q + 1 >= end) q = end;
    if (q > p) add(r, t, (struct piece){.kind = TEXT, .text = p, .len = (size_t)(q - p)});
    if (q == end) break;
    const char *close = strstr(q, "}}");
    if (!close || close >= end) return fail(r, "`{{` is not closed in", t->name);
    const char *name = ws_strndup(r->arena, q + 2, (size_t)(close - q - 2));
    if (!tag(r, t, name, &open, &opened)) return false;
    p = close + 2;
    /* A section tag alone on its line leaves no empty line behind. */
    if ((*name == '#' || *name == '/') && p < end && *p == '\n' && (q == start || q[-1] == '\n')) p++;
  }
  return open < 0 || fail(r, "a section is not closed in", t->name);
}

static bool read_file(struct reader *r, const char *text) {
  const char *p = text;
  r->line = 1;
  while (*p && strncmp(p, "== ", 3)) {
    const char *nl = strchr(p, '\n');
    if (!nl) return true;
    p = nl + 1, r->line++;
  }
  while (*p) {
    const char *nl = strchr(p, '\n');
    if (!nl) return fail(r, "the file ends in a header", p);
    struct ws_template *t = WS_NEW(r->arena, struct ws_template);
    if (!header(r, t, p + 3, nl)) return false;
    const char *start = nl + 1, *end = start;
    unsigned lines = 1;
    while (*end && strncmp(end, "== ", 3)) {
      const char *e = strchr(end, '\n');
      end = e ? e + 1 : end + strlen(end);
      lines++;
    }
    const char *stop = end;
    while (stop > start + 1 && stop[-1] == '\n' && stop[-2] == '\n') stop--; /* blank lines between templates */
    if (!body(r, t, start, stop)) return false;
    unsigned h = hash(t->name);
    t->next = r->set->bucket[h], r->set->bucket[h] = t;
    r->line += lines;
    p = end;
  }
  return true;
}

/* The text of dir/path, or NULL if there is no such file. */
static const char *override(struct ws_arena *a, const char *dir, const char *path, const char **name) {
  enum { MOST = 1 << 20 };
  *name = ws_fmt(a, "%s/%s", dir, path);
  struct stat st;
  if (stat(*name, &st) || !S_ISREG(st.st_mode) || st.st_size > MOST) return NULL;
  char *text = ws_alloc(a, (size_t)st.st_size + 1); /* before the file is open: memory that runs out leaves none behind */
  FILE *f = fopen(*name, "rb");
  if (!f) return NULL;
  text[fread(text, 1, (size_t)st.st_size, f)] = 0;
  fclose(f);
  return text;
}

struct ws_templates *ws_templates_load(const char *dir, struct ws_arena *a, struct ws_diags *d) {
  struct ws_templates *set = WS_NEW(a, struct ws_templates);
  bool any = false;
  for (const struct ws_template_file *f = ws_template_files; f->path; f++) {
    struct reader r = {.set = set, .arena = a, .diags = d, .file = f->path};
    const char *text = f->text, *name, *own = dir ? override(a, dir, f->path, &name) : NULL;
    if (own) text = own, r.file = name, any = true;
    if (!read_file(&r, text)) return NULL;
  }
  if (dir && !any) {
    ws_error(d, (struct ws_pos){0, 0, 0}, "template", "`%s` holds no template file; the names are those of templates/, e.g. %s", dir,
             ws_template_files[0].path);
    return NULL;
  }
  return set;
}

static void expand(const struct ws_template *t, const char *const *args, const struct ws_list *lists, struct ws_buf *out) {
  size_t item = 0;
  const struct ws_list *l = NULL;
  size_t opened = 0;
  for (size_t i = 0; i < t->npieces; i++) {
    const struct piece *p = &t->piece[i];
    switch (p->kind) {
    case TEXT: ws_buf_add(out, p->text, p->len); break;
    case ARG: ws_buf_puts(out, args[p->index]); break;
    case FIELD: ws_buf_puts(out, l->cell[item * l->fields + (size_t)p->index]); break;
    case OPEN:
      l = &lists[p->index], item = 0, opened = i;
      if (!l->n) i = p->match;
      break;
    case CLOSE:
      if (++item < l->n) i = opened;
      break;
    }
  }
}

int ws_template_expand(const struct ws_templates *set, const char *name, const char *const *args, size_t nargs,
                       const struct ws_list *lists, size_t nlists, struct ws_buf *out, struct ws_diags *d) {
  const struct ws_template *t = find(set, name);
  const struct ws_pos none = {0, 0, 0};
  if (!t) return ws_error(d, none, "template", "no template `%s`", name), 0;
  bool ok = t->nargs == nargs && t->nlists == nlists;
  for (size_t i = 0; ok && i < nlists; i++) ok = t->list[i].nfields == lists[i].fields;
  if (!ok) {
    ws_error(d, none, "template", "%s:%u: template `%s` has %zu arguments and %zu lists, the generator gives %zu and %zu", t->file, t->line,
             name, t->nargs, t->nlists, nargs, nlists);
    return 0;
  }
  expand(t, args, lists, out);
  return t->version;
}
