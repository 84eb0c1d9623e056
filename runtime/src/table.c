/* Tables of kernels: lines of text, read once, searched without allocation. The public header describes the format. */
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "warpscore table 1"

enum { MAX_TABLE = 1 << 20, MAX_SHOWN = 200 };
enum column { PROBLEM, TYPE, HEAD_DIM, MASK, TARGET, QUERIES, KEYS, FILE_NAME, NCOLUMNS };
static const char *const titles[NCOLUMNS] = {"problem", "type", "head_dim", "mask", "target", "queries", "keys", "file"};

struct range {
  int64_t low, high;
};

struct row {
  int line;
  const char *word[NCOLUMNS]; /* the file's with its folder */
  struct range head_dim, queries, keys;
};

struct ws_table {
  struct row *rows;
  size_t nrows, cap;
  char *text; /* the words, terminated in place */
};

/* ---- reading ---- */

struct reader {
  struct ws_table *t;
  const char *folder;
  int line;
  struct ws_error_info *err;
};

#define BAD(r, ...) bad((r)->err, (r)->line, __VA_ARGS__)
static enum ws_status bad(struct ws_error_info *err, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static enum ws_status bad(struct ws_error_info *err, int line, const char *fmt, ...) {
  char what[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return ws_rt_fail(err, WS_ERR_MANIFEST, "table line %d: %s", line, what);
}

/* "*", N, N-M, N-, -M */
static bool take_range(const char *word, struct range *out) {
  struct ws_rt_cursor c = {word, word + strlen(word)};
  *out = (struct range){0, INT64_MAX};
  if (!strcmp(word, "*")) return true;
  bool low = ws_rt_take_integer(&c, &out->low);
  if (!ws_rt_take_char(&c, '-')) {
    out->high = out->low;
    return low && ws_rt_at_end(&c);
  }
  bool high = ws_rt_take_integer(&c, &out->high);
  return (low || high) && ws_rt_at_end(&c) && out->low <= out->high;
}

static enum ws_status check_row(struct reader *r, struct row *row) {
  static const enum column ranges[] = {HEAD_DIM, QUERIES, KEYS};
  struct range *out[] = {&row->head_dim, &row->queries, &row->keys};
  char reason[64];
  for (int i = 0; i < 3; i++)
    if (!take_range(row->word[ranges[i]], out[i]))
      return BAD(r, "%s: '%.80s' found, expected *, N, N-M, N- or -M", titles[ranges[i]], row->word[ranges[i]]);
  ws_rt_target_runs(row->word[TARGET], 0, 0, reason, sizeof reason);
  if (!*reason) return BAD(r, "target: '%.80s' is no target: expected sm_80 or the like", row->word[TARGET]);
  if (!strcmp(row->word[TYPE], "*")) return WS_OK;
  for (enum ws_dtype type = WS_DTYPE_F16; ws_dtype_size(type); type++)
    if (!strcmp(row->word[TYPE], ws_dtype_name(type))) return WS_OK;
  return BAD(r, "type: unknown type '%.80s': expected f16, bf16, f32, e4m3, e5m2, i32 or *", row->word[TYPE]);
}

static enum ws_status add_row(struct reader *r, const struct row *row) {
  struct ws_table *t = r->t;
  if (t->nrows == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 16;
    struct row *more = realloc(t->rows, cap * sizeof *more);
    if (!more) return ws_rt_out_of_memory(r->err, cap * sizeof *more);
    t->rows = more;
    t->cap = cap;
  }
  t->rows[t->nrows] = *row;
  const char *file = row->word[FILE_NAME], *folder = *file != '/' && r->folder && *r->folder ? r->folder : NULL;
  size_t n = (folder ? strlen(folder) + 1 : 0) + strlen(file) + 1;
  char *path = malloc(n);
  if (!path) return ws_rt_out_of_memory(r->err, n);
  snprintf(path, n, "%s%s%s", folder ? folder : "", folder ? "/" : "", file);
  t->rows[t->nrows++].word[FILE_NAME] = path;
  return WS_OK;
}

/* One line, terminated: cut at its comment, split at blanks. */
static enum ws_status read_row(struct reader *r, char *s) {
  struct row row = {.line = r->line};
  int n = 0;
  s[strcspn(s, "#\r")] = 0;
  for (char *p = s; *(p += strspn(p, " \t"));) {
    if (n == NCOLUMNS) return BAD(r, "'%.80s' is left over: a line has %d words, the last is the file", p, NCOLUMNS);
    row.word[n++] = p;
    p += strcspn(p, " \t");
    if (*p) *p++ = 0;
  }
  if (!n) return WS_OK;
  if (n < NCOLUMNS)
    return BAD(r, "%d words found, expected %d: problem type head_dim mask target queries keys file", n, NCOLUMNS);
  enum ws_status status = check_row(r, &row);
  return status ? status : add_row(r, &row);
}

static enum ws_status read_rows(struct reader *r) {
  bool first = true;
  for (char *s = r->t->text, *next; s; s = next) {
    next = strchr(s, '\n');
    if (next) *next++ = 0;
    r->line++;
    enum ws_status status = WS_OK;
    if (first) {
      s[strcspn(s, "\r")] = 0;
      if (strcmp(s, FIRST)) return BAD(r, "'%.80s' found, expected '" FIRST "'", s);
      first = false;
    } else {
      status = read_row(r, s);
    }
    if (status) return status;
  }
  return WS_OK;
}

enum ws_status ws_table_parse(const char *text, size_t length, const char *folder, struct ws_table **out,
                              struct ws_error_info *err) {
  if (!text || !out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_table_parse: %s is NULL", text ? "out" : "text");
  *out = NULL;
  if (length > MAX_TABLE) return ws_rt_fail(err, WS_ERR_MANIFEST, "the table has more than %d bytes", MAX_TABLE);
  if (memchr(text, 0, length)) return ws_rt_fail(err, WS_ERR_MANIFEST, "the table has a NUL byte: it is no text");
  struct ws_table *t = calloc(1, sizeof *t);
  if (!t) return ws_rt_out_of_memory(err, sizeof *t);
  struct reader r = {t, folder, 0, err};
  t->text = malloc(length + 1);
  if (!t->text) {
    ws_table_free(t);
    return ws_rt_out_of_memory(err, length + 1);
  }
  memcpy(t->text, text, length);
  t->text[length] = 0;
  enum ws_status status = read_rows(&r);
  if (status)
    ws_table_free(t);
  else
    *out = t;
  return status;
}

enum ws_status ws_table_read(const char *path, struct ws_table **out, struct ws_error_info *err) {
  char *text;
  size_t length;
  if (!out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_table_read: out is NULL");
  *out = NULL;
  enum ws_status status = ws_rt_read_file(path, &text, &length, err);
  if (status) return status;
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) + (slash == path) : 0;
  char *folder = malloc(n + 1);
  if (folder) {
    memcpy(folder, path, n);
    folder[n] = 0;
    status = ws_table_parse(text, length, folder, out, err);
    free(folder);
  } else {
    status = ws_rt_out_of_memory(err, n + 1);
  }
  free(text);
  return status;
}

void ws_table_free(struct ws_table *t) {
  if (!t) return;
  for (size_t i = 0; i < t->nrows; i++) free((void *)(uintptr_t)t->rows[i].word[FILE_NAME]);
  free(t->rows);
  free(t->text);
  free(t);
}

size_t ws_table_rows(const struct ws_table *t) { return t ? t->nrows : 0; }

/* ---- choosing ---- */

static bool is(const char *word, const char *wanted) { return !strcmp(word, "*") || !strcmp(word, wanted); }
static bool inside(const struct range *r, int64_t v) { return v >= r->low && v <= r->high; }

/* A bit for each column that does not fit. */
static unsigned misfits(const struct row *row, const struct ws_need *need, const struct ws_device *d, const char *mask) {
  unsigned m = 0;
  if (!is(row->word[PROBLEM], need->problem)) m |= 1u << PROBLEM;
  if (!is(row->word[TYPE], ws_dtype_name(need->type))) m |= 1u << TYPE;
  if (!inside(&row->head_dim, need->head_dim)) m |= 1u << HEAD_DIM;
  if (!is(row->word[MASK], mask)) m |= 1u << MASK;
  if (!ws_rt_target_runs(row->word[TARGET], d->info.major, d->info.minor, NULL, 0)) m |= 1u << TARGET;
  if (!inside(&row->queries, need->queries)) m |= 1u << QUERIES;
  if (!inside(&row->keys, need->keys)) m |= 1u << KEYS;
  return m;
}

struct text {
  char *p;
  size_t n, size;
};
static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = t->n < t->size ? vsnprintf(t->p + t->n, t->size - t->n, fmt, ap) : 0;
  va_end(ap);
  if (n > 0) t->n += (size_t)n;
}

static void say_need(struct text *t, const struct ws_need *need, const char *mask) {
  say(t, "%.80s %s head_dim %lld mask %.40s, %lld queries, %lld keys", need->problem, ws_dtype_name(need->type),
      (long long)need->head_dim, mask, (long long)need->queries, (long long)need->keys);
}

/* "needs compute capability 10.0 exactly", "has head_dim 64, keys 1-512" */
static void say_misfit(struct text *t, const struct row *row, unsigned m) {
  char reason[64];
  if (m == 1u << TARGET) {
    ws_rt_target_runs(row->word[TARGET], 0, 0, reason, sizeof reason);
    say(t, "needs %s", reason);
    return;
  }
  say(t, "has ");
  const char *comma = "";
  for (int c = 0; c < NCOLUMNS; c++)
    if (m >> c & 1) say(t, "%s%s %.40s", comma, titles[c], row->word[c]), comma = ", ";
}

static int count(unsigned m) {
  int n = 0;
  for (; m; m &= m - 1) n++;
  return n;
}

static enum ws_status none_fits(const struct ws_table *table, const struct ws_device *d, const struct ws_need *need,
                                const char *mask, struct ws_error_info *err) {
  char what[MAX_SHOWN], list[1200];
  struct text w = {what, 0, sizeof what}, l = {list, 0, sizeof list};
  say_need(&w, need, mask);
  size_t nearest = 0;
  int least = NCOLUMNS + 1;
  bool elsewhere = false;
  for (size_t i = 0; i < table->nrows; i++) {
    const struct row *row = &table->rows[i];
    unsigned m = misfits(row, need, d, mask);
    if (m == 1u << TARGET) {
      say(&l, "%s%.200s (line %d, %s) ", elsewhere ? "; " : "", row->word[FILE_NAME], row->line, row->word[TARGET]);
      say_misfit(&l, row, m);
      elsewhere = true;
    }
    if (count(m) < least) nearest = i, least = count(m);
  }
  if (elsewhere)
    return ws_rt_fail(err, WS_ERR_UNSUPPORTED,
                      "%s: the table has no kernel for compute capability %d.%d (%s, %s): %s: generate one for this "
                      "target, or use another device",
                      what, d->info.major, d->info.minor, d->name, d->model, list);
  if (!table->nrows) return ws_rt_fail(err, WS_ERR_NO_KERNEL, "%s: the table of kernels is empty", what);
  const struct row *row = &table->rows[nearest];
  say_misfit(&l, row, misfits(row, need, d, mask));
  return ws_rt_fail(err, WS_ERR_NO_KERNEL, "%s: the table has no such kernel; the nearest, line %d, %s", what, row->line,
                    list);
}

static void explain(const struct ws_table *table, const struct ws_device *d, const struct ws_need *need, const char *mask,
                    size_t chosen, struct text *t) {
  const struct row *row = &table->rows[chosen];
  say_need(t, need, mask);
  say(t, " on %s (compute capability %d.%d): line %d, %s, queries %.40s, keys %.40s", d->name, d->info.major,
      d->info.minor, row->line, row->word[TARGET], row->word[QUERIES], row->word[KEYS]);
  for (size_t i = 0; i < chosen; i++) {
    const struct row *above = &table->rows[i];
    unsigned m = misfits(above, need, d, mask);
    if (m & ~(1u << TARGET | 1u << QUERIES | 1u << KEYS)) continue; /* for other problems: no news */
    say(t, "; line %d ", above->line);
    say_misfit(t, above, m);
  }
}

enum ws_status ws_table_choose(const struct ws_table *table, const struct ws_device *device, const struct ws_need *need,
                               struct ws_choice *choice, struct ws_error_info *err) {
  if (!table || !device || !need || !need->problem || !choice)
    return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_table_choose: %s is NULL",
                      !table            ? "the table"
                      : !device         ? "the device"
                      : !need           ? "need"
                      : !need->problem  ? "need->problem"
                                        : "choice");
  const char *mask = need->mask ? need->mask : "none";
  memset(choice, 0, sizeof *choice);
  size_t i = 0;
  while (i < table->nrows && misfits(&table->rows[i], need, device, mask)) i++;
  if (i == table->nrows) return none_fits(table, device, need, mask, err);
  struct text t = {choice->reason, 0, sizeof choice->reason};
  choice->file = table->rows[i].word[FILE_NAME];
  choice->row = i;
  choice->line = table->rows[i].line;
  explain(table, device, need, mask, i, &t);
  return WS_OK;
}

/* ---- loading ---- */

/* "none", "causal", or, of a kernel whose spec has a mathematics of its own (reference_score, reference_visible, ...) or a
 * window, the setting that says so: such a kernel is never an answer to somebody who wants plain attention. */
static const char *mask_of(const struct ws_manifest *m, bool *plain) {
  for (size_t i = 0; i < m->nsettings; i++) {
    const char *name = m->settings[i].name;
    *plain = strncmp(name, "reference_", 10) && (strcmp(name, "window") || !strcmp(m->settings[i].value, "0"));
    if (!*plain) return name;
  }
  const char *causal = ws_manifest_setting(m, "causal");
  *plain = true;
  return causal && !strcmp(causal, "true") ? "causal" : "none";
}

/* What the kernel says about itself must be what its line says, and of the mask what was asked for (a line may say `*`); a
 * table is written by hand. Masks beside none and causal are words of the table's own: what they mean is not compared. */
static enum ws_status compare(const struct row *row, const struct ws_need *need, const struct ws_manifest *m,
                              struct ws_error_info *err) {
  const char *dtype = ws_manifest_setting(m, "dtype"), *head_dim = ws_manifest_setting(m, "head_dim");
  const char *wanted = need->mask ? need->mask : "none";
  bool plain, own = strcmp(wanted, "none") && strcmp(wanted, "causal");
  const char *mask = mask_of(m, &plain);
  struct range d = {0, INT64_MAX};
  if (head_dim && !take_range(head_dim, &d)) d = (struct range){0, INT64_MAX};
  const struct {
    enum column column;
    const char *wanted, *found;
    bool good;
  } checks[] = {
      {PROBLEM, row->word[PROBLEM], m->info.problem, is(row->word[PROBLEM], m->info.problem)},
      {TARGET, row->word[TARGET], m->info.target, !strcmp(row->word[TARGET], m->info.target)},
      {TYPE, row->word[TYPE], dtype, !dtype || is(row->word[TYPE], dtype)},
      {HEAD_DIM, row->word[HEAD_DIM], head_dim, !head_dim || (d.low >= row->head_dim.low && d.high <= row->head_dim.high)},
      {MASK, wanted, mask, own || (plain && !strcmp(wanted, mask))},
  };
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (!checks[i].good)
      return bad(err, row->line, "%s %.80s, but the kernel %.400s has %s %.80s", titles[checks[i].column], checks[i].wanted,
                 row->word[FILE_NAME], titles[checks[i].column], checks[i].found);
  return WS_OK;
}

enum ws_status ws_table_load(const struct ws_table *table, struct ws_device *device, const struct ws_need *need,
                             struct ws_kernel **out, struct ws_choice *choice, struct ws_error_info *err) {
  struct ws_choice own;
  if (!choice) choice = &own;
  if (!out) return ws_rt_fail(err, WS_ERR_ARGUMENT, "ws_table_load: out is NULL");
  *out = NULL;
  enum ws_status status = ws_table_choose(table, device, need, choice, err);
  if (!status) status = ws_kernel_load_file(device, choice->file, out, err);
  if (status) return status;
  status = compare(&table->rows[choice->row], need, (*out)->manifest, err);
  if (!status) return WS_OK;
  ws_kernel_free(*out);
  *out = NULL;
  return status;
}
