/* The events of a system as a Promela model: a process for each agent and each operation that completes on its own. SPIN finds an invalid
 * end state where the schedule can deadlock. */
#include "explore.h"

static void arrival(const struct system *x, struct ws_buf *o, int bar, int units, long bytes) {
  ws_buf_printf(o, "arrive(%d, %d, %ld, %d)", bar, units, bytes, x->barrier[bar].count);
}

static void agent(const struct system *x, int index, struct ws_buf *o) {
  const struct agent *a = &x->agent[index];
  ws_buf_printf(o, "\nactive proctype agent%d() { /* %s */\n  short own;\n", index, a->role->name);
  for (size_t i = 0; i < a->n; i++) {
    const struct event *e = &a->event[i];
    ws_buf_puts(o, "  ");
    if (e->kind == EV_WAIT) ws_buf_printf(o, "atomic { (phase[%d] %% 2 != %d) -> at[%d]++ }", e->barrier, e->phase & 1, index);
    else if (e->kind == EV_WAIT_OWN) ws_buf_printf(o, "atomic { (phase[%d] > own) -> own = 0; at[%d]++ }", e->barrier, index);
    else {
      ws_buf_printf(o, "d_step { own = phase[%d]; ", e->barrier);
      arrival(x, o, e->barrier, e->units, e->bytes);
      ws_buf_printf(o, "; at[%d]++ }", index);
    }
    ws_buf_printf(o, "; /* line %u */\n", e->act->src->pos.line);
  }
  ws_buf_puts(o, "  skip\n}\n");
}

static void completion(const struct system *x, size_t index, struct ws_buf *o) {
  const struct operation *p = &x->op[index];
  ws_buf_printf(o, "\nactive proctype operation%zu() { /* line %u */\n  atomic { (at[%d] >= %d", index, p->act->src->pos.line, p->agent, p->segment);
  if (p->before >= 0) ws_buf_printf(o, " && complete[%d]", p->before);
  ws_buf_puts(o, ") ->");
  for (int i = 0; i < p->n; i++) ws_buf_puts(o, i ? "; " : " "), arrival(x, o, p->barrier[i], p->units, -p->bytes);
  ws_buf_printf(o, "; complete[%zu] = true }\n}\n", index);
}

void promela(const struct system *x, struct ws_buf *o) {
  ws_buf_printf(o, "short phase[%zu], at[%d];\nint bytes[%zu];\nbool complete[%zu];\nshort pending[%zu] = {", x->nbarriers + 1, x->nagents, x->nbarriers + 1, x->nops + 1, x->nbarriers + 1);
  for (size_t i = 0; i < x->nbarriers; i++) ws_buf_printf(o, "%d, ", x->barrier[i].count);
  ws_buf_puts(o, "0};\n\ninline arrive(b, n, x, all) {\n  bytes[b] = bytes[b] + x; pending[b] = pending[b] - n;\n"
                 "  if\n  :: pending[b] == 0 && bytes[b] == 0 -> phase[b]++; pending[b] = all\n  :: else\n  fi\n}\n");
  for (int i = 0; i < x->nagents; i++) agent(x, i, o);
  for (size_t i = 0; i < x->nops; i++) completion(x, i, o);
}
