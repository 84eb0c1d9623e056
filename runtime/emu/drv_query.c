/* What the emulator can say about kernels without running them: parameters, unsupported statements, the table. */
#include "drv.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int wsemuGetParam(struct CUfunc_st *function, unsigned int index, struct wsemu_param *out) {
  int bad = 1;
  pthread_mutex_lock(&ws_emu_drv.lock);
  if (out && ws_emu_is_function(function) && index < function->f->nparams) {
    const struct ptx_sym *y = function->f->params[index];
    *out = (struct wsemu_param){.bytes = y->size, .floating = !y->is_array && ws_emu_types[y->type].cls == 'f', .array = y->is_array};
    snprintf(out->name, sizeof out->name, "%s", y->name);
    snprintf(out->type, sizeof out->type, "%s", ws_emu_types[y->type].text);
    bad = 0;
  }
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return bad;
}

/* Behind the `len` bytes before it, as far as there is room; returns the length of all. */
static size_t add_text(char *out, size_t n, size_t len, const char *text) {
  size_t m = text ? strlen(text) : 0;
  if (out && m && len + 1 < n) memcpy(out + len, text, m < n - 1 - len ? m : n - 1 - len);
  return len + m;
}

EXPORT size_t wsemuWarnings(struct CUfunc_st *function, char *out, size_t n) {
  pthread_mutex_lock(&ws_emu_drv.lock);
  size_t len = 0;
  if (ws_emu_is_function(function) && function->kernel) {
    len = add_text(out, n, len, function->kernel->warnings);
    len = add_text(out, n, len, function->unwritten);
  }
  for (struct CUctx_st *c = function ? NULL : ws_emu_drv.contexts; c; c = c->next)
    for (struct CUmod_st *m = c->modules; m; m = m->next)
      for (struct CUfunc_st *f = m->funcs; f; f = f->next) len = add_text(out, n, len, f->unwritten);
  if (out && n) out[len < n ? len : n - 1] = 0;
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return len;
}

EXPORT const char *wsemuEntryName(struct CUmod_st *module, unsigned int index) {
  const char *name = NULL;
  pthread_mutex_lock(&ws_emu_drv.lock);
  for (struct CUctx_st *c = ws_emu_drv.contexts; c; c = c->next)
    for (struct CUmod_st *m = c->modules; m; m = m->next)
      for (struct ptx_func *f = m == module ? m->ptx->funcs : NULL; f && !name; f = f->next)
        if (f->is_entry && !index--) name = f->sym->name;
  pthread_mutex_unlock(&ws_emu_drv.lock);
  return name;
}

EXPORT size_t wsemuCoverage(char *out, size_t n) { return ws_emu_isa_list(out, n); }

/* ---- unsupported statements ---- */
struct list {
  char *out;
  size_t n, at;
  unsigned int entries, refused; /* entries found, and those among them that cannot run */
};

static void say(struct list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct list *l, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  size_t room = l->at < l->n ? l->n - l->at : 0;
  int k = vsnprintf(room ? l->out + l->at : NULL, room, fmt, ap);
  va_end(ap);
  if (k > 0) l->at += (size_t)k;
}

/* Why a statement's name cannot be used in this module; false when it can. */
static bool refusal(const struct ptx_module *m, const char *name, char *why, size_t n) {
  struct isa_use u;
  if (!ws_emu_isa_match(name, &u, why, n)) return true;
  if (m->version < u.row->ptx)
    snprintf(why, n, "this form of '%s' needs .version %u.%u", u.row->mnemonic, u.row->ptx / 10u, u.row->ptx % 10u);
  else if (m->sm < u.row->sm)
    snprintf(why, n, "this form of '%s' needs .target sm_%u", u.row->mnemonic, u.row->sm);
  else
    return false;
  return true;
}

static unsigned int list_function(struct list *l, const struct ptx_module *m, const struct ptx_func *f) {
  unsigned int found = 0;
  for (size_t i = 0; i < f->ninsts; i++) {
    const struct ptx_inst *p = &f->insts[i];
    char why[300];
    if (!refusal(m, p->name, why, sizeof why)) continue;
    say(l, "%s '%s': %u:%u: %s: '%s'\n", f->is_entry ? "kernel" : "function", f->sym->name, p->line, p->col, why, p->name);
    found++;
  }
  return found;
}

/* An entry whose own statements all have a name in the table may still be refused when it is decoded: by an operand, or
 * by a function that it calls. */
static void list_entry(struct list *l, const struct ptx_module *m, struct ptx_func *f) {
  char err[1024];
  int code;
  unsigned int found = list_function(l, m, f);
  l->entries++;
  if (!found) {
    struct kernel *k = ws_emu_decode(m, f, UNINIT_WARN, &code, err, sizeof err);
    if (!k) say(l, "kernel '%s': %s\n", f->sym->name, err);
    found = !k;
    ws_emu_kernel_free(k);
  }
  l->refused += found != 0;
}

EXPORT int wsemuListUnsupported(const char *ptx, char *out, size_t n, size_t *length) {
  char err[1024] = "";
  struct list l = {.out = out, .n = out ? n : 0};
  if (!ptx) return -1;
  if (l.n) *out = 0;
  pthread_mutex_lock(&ws_emu_drv.lock);
  struct ptx_module *m = ws_emu_parse(ptx, strlen(ptx), err, sizeof err);
  if (!m) say(&l, "%s\n", err);
  const char *why = m ? ws_emu_target_refused(m->sm, m->sm_suffix) : NULL;
  if (why) {
    say(&l, "1:1: error: .target sm_%u%.1s %s\n", m->sm, &m->sm_suffix, why);
    l.refused++;
  }
  for (struct ptx_func *f = m ? m->funcs : NULL; f; f = f->next) {
    if (f->is_entry && f->has_body) list_entry(&l, m, f);
    else if (f->has_body) list_function(&l, m, f);
  }
  int result = m ? (int)l.refused : -1;
  ws_emu_module_free(m);
  pthread_mutex_unlock(&ws_emu_drv.lock);
  if (length) *length = l.at;
  return result;
}
