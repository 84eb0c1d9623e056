/* libyaml events to a tree of nodes.
 *
 * libyaml stops at its first error. To report all of a file, the broken line is reported, its content and whatever is
 * indented below it are blanked in the ASCII copy, and the file is read again: the line's key or dash stays, so that
 * nothing counts as missing. libyaml's objects live only inside collect(); everything else works on our own events. */
#include "spec/reader.h"
#include <string.h>
#include <yaml.h>

enum event_kind { ALIAS, SCALAR, LIST, MAP, END, DOCUMENT };

struct event {
  enum event_kind kind;
  enum ws_node_style style;
  bool flow, anchor, tag, directive;
  size_t begin, end;
};

struct events {
  struct event *e;
  size_t n, cap, i;
};

struct problem {
  char what[96], context[64];  /* libyaml's words */
  size_t at, context_at;       /* SIZE_MAX = none */
};

struct libyaml { /* in the arena, not on the stack: its content must survive the longjmp */
  yaml_parser_t parser;
  jmp_buf outer;
};

static bool convert(const yaml_event_t *y, struct event *e) {
  *e = (struct event){.begin = y->start_mark.index, .end = y->end_mark.index};
  switch (y->type) {
    case YAML_ALIAS_EVENT: e->kind = ALIAS; return true;
    case YAML_SCALAR_EVENT:
      e->kind = SCALAR;
      e->anchor = y->data.scalar.anchor != NULL;
      e->tag = y->data.scalar.tag != NULL;
      e->style = y->data.scalar.style == YAML_PLAIN_SCALAR_STYLE           ? WS_PLAIN
                 : y->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ? WS_QUOTED
                 : y->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE ? WS_DOUBLE_QUOTED
                                                                           : WS_LITERAL;
      return true;
    case YAML_SEQUENCE_START_EVENT:
      e->kind = LIST;
      e->anchor = y->data.sequence_start.anchor != NULL;
      e->tag = y->data.sequence_start.tag != NULL;
      e->flow = y->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
      return true;
    case YAML_MAPPING_START_EVENT:
      e->kind = MAP;
      e->anchor = y->data.mapping_start.anchor != NULL;
      e->tag = y->data.mapping_start.tag != NULL;
      e->flow = y->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
      return true;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: e->kind = END; return true;
    case YAML_DOCUMENT_START_EVENT:
      e->kind = DOCUMENT;
      e->directive = y->data.document_start.version_directive || y->data.document_start.tag_directives.start != y->data.document_start.tag_directives.end;
      return true;
    default: return false;
  }
}

static void keep_problem(const yaml_parser_t *y, struct problem *p, size_t len) {
  *p = (struct problem){.context_at = SIZE_MAX};
  if (y->problem) strncpy(p->what, y->problem, sizeof p->what - 1);
  if (y->context) {
    strncpy(p->context, y->context, sizeof p->context - 1);
    p->context_at = y->context_mark.index < len ? y->context_mark.index : len;
  }
  p->at = y->problem_mark.index < len ? y->problem_mark.index : len;
}

/* Reads all events; false with the problem where libyaml gave up. The arena's handler is replaced while libyaml's
 * parser is alive, so that it is deleted when memory runs out. */
static bool collect(struct ws_reader *r, struct events *out, struct problem *problem) {
  struct libyaml *s = WS_NEW(r->a, struct libyaml);
  bool ok = true, end = false;
  int depth = 0;
  out->n = out->i = 0;
  if (!yaml_parser_initialize(&s->parser)) longjmp(r->a->oom, 1);
  memcpy(s->outer, r->a->oom, sizeof s->outer);
  if (setjmp(r->a->oom)) {
    yaml_parser_delete(&s->parser);
    memcpy(r->a->oom, s->outer, sizeof s->outer);
    longjmp(r->a->oom, 1);
  }
  yaml_parser_set_encoding(&s->parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&s->parser, (const unsigned char *)r->clean, r->len);
  while (ok && !end) {
    yaml_event_t y;
    struct event e;
    if (!yaml_parser_parse(&s->parser, &y)) {
      if (s->parser.error == YAML_MEMORY_ERROR) longjmp(r->a->oom, 1);
      keep_problem(&s->parser, problem, r->len);
      ok = false;
      break;
    }
    bool keep = convert(&y, &e);
    end = y.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&y); /* before anything is allocated */
    if (!keep) continue;
    depth += e.kind == LIST || e.kind == MAP ? 1 : e.kind == END ? -1 : 0;
    if (depth > WS_NODE_DEPTH) {
      *problem = (struct problem){.what = "too deep", .at = e.begin, .context_at = SIZE_MAX};
      ok = false;
    } else
      *WS_PUSH(r->a, out->e, out->n, out->cap) = e;
  }
  yaml_parser_delete(&s->parser);
  memcpy(r->a->oom, s->outer, sizeof s->outer);
  return ok;
}

/* --- one error for a broken line, and its repair --- */

static size_t line_of(const struct ws_reader *r, size_t at) { return ws_reader_pos(r, at, at).line - 1; }

static size_t line_end(const struct ws_reader *r, size_t line) {
  return line + 1 < r->nlines ? r->line_start[line + 1] - 1 : r->len;
}

/* Column of a line's first character that is not a space; SIZE_MAX for an empty line. */
static size_t indent_of(const struct ws_reader *r, size_t line) {
  size_t i = r->line_start[line], end = line_end(r, line), begin = i;
  while (i < end && r->clean[i] == ' ') i++;
  return i == end || r->clean[i] == '#' || r->clean[i] == '\r' ? SIZE_MAX : i - begin;
}

static void blank(struct ws_reader *r, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++)
    if (r->clean[i] != '\n' && r->clean[i] != '\r') r->clean[i] = ' ';
}

/* Bytes of the line that stay: its dashes, or a key of word characters with its colon. */
static size_t frame(const struct ws_reader *r, size_t line) {
  size_t i = r->line_start[line], end = line_end(r, line);
  while (i < end && r->clean[i] == ' ') i++;
  size_t start = i;
  while (i < end && r->clean[i] == '-' && (i + 1 >= end || r->clean[i + 1] == ' ' || r->clean[i + 1] == '\r')) {
    start = ++i;
    while (i < end && r->clean[i] == ' ') i++;
  }
  if (start > r->line_start[line] && r->clean[start - 1] == '-') return start;
  while (i < end && (strchr("_[]", r->clean[i]) || (r->clean[i] >= '0' && r->clean[i] <= '9') || (r->clean[i] >= 'A' && r->clean[i] <= 'Z') || (r->clean[i] >= 'a' && r->clean[i] <= 'z'))) i++;
  return i > start && i < end && r->clean[i] == ':' && (i + 1 == end || r->clean[i + 1] == ' ' || r->clean[i + 1] == '\r') ? i + 1 : start;
}

static void neutralise(struct ws_reader *r, size_t line) {
  size_t indent = indent_of(r, line);
  bool item = indent != SIZE_MAX && r->clean[r->line_start[line] + indent] == '-';
  r->bad[line] = true;
  blank(r, frame(r, line), line_end(r, line));
  for (size_t k = line + 1; k < r->nlines; k++) {
    size_t d = indent_of(r, k);
    bool below = d == SIZE_MAX || d > indent || (d == indent && !item && r->clean[r->line_start[k] + d] == '-');
    if (indent == SIZE_MAX || !below) break;
    r->bad[k] = true;
    blank(r, r->line_start[k], line_end(r, k));
  }
}

/* libyaml's words, and ours: what is wrong and what to do. */
enum place { PROBLEM, CONTEXT, BRACKET };
static const struct { const char *what, *message; enum place place; } explanations[] = {
    {"too deep", "blocks are nested too deep here: a spec may have 100 levels of lists and mappings", PROBLEM},
    {"mapping values are not allowed", "a second `: ` on one line: a key has one value, and statements have no colon", PROBLEM},
    {"did not find expected ',' or '}'", "{}", BRACKET},
    {"did not find expected ',' or ']'", "[]", BRACKET},
    {"could not find expected ':'", "this line is no `key: value`: expected `:` after the key (at most 1024 bytes)", CONTEXT},
    {"did not find expected '-' indicator", "expected `- ` as in the lines of this list before: check the indentation", PROBLEM},
    {"did not find expected key", "expected `key:` at the indentation of the keys before: check the indentation", PROBLEM},
    {"block sequence entries are not allowed", "a list cannot begin on this line: put `- ` on a line of its own, indented", PROBLEM},
    {"found character that cannot start any token", "no value or statement begins with this character", PROBLEM},
    {"found unexpected end of stream", "this quote is not closed", CONTEXT},
    {"found unexpected document indicator", "this quote is not closed before the next document", CONTEXT},
    {"found unknown escape character", "no `\\` escapes in a spec", PROBLEM},
    {"did not find expected node content", "expected a value here", PROBLEM},
    {"mapping keys are not allowed", "no `? ` keys in a spec: write `key: value`", PROBLEM},
    {"did not find expected <document start>", "expected `---` before a further document: check the indentation", PROBLEM},
    {"found undefined tag handle", "no tags in a spec: every value is read as text and typed by its key", PROBLEM},
    {"did not find expected alphabetic or numeric character", "no anchors or aliases in a spec: write the value out", PROBLEM},
    {"while scanning a block scalar", "no `|` or `>` text in a spec", CONTEXT},
    {"while scanning a tag", "no tags in a spec: every value is read as text and typed by its key", CONTEXT},
    {"while parsing a tag", "no tags in a spec: every value is read as text and typed by its key", CONTEXT},
    {"while scanning a directive", "no `%` directives in a spec", CONTEXT},
    {"%YAML", "no `%` directives in a spec", PROBLEM},
};

/* Whether only spaces and dashes stand before `at` on its line. */
static bool first_on_line(const struct ws_reader *r, size_t at) {
  while (at && (r->clean[at - 1] == ' ' || r->clean[at - 1] == '-')) at--;
  return !at || r->clean[at - 1] == '\n';
}

/* A flow collection that does not end: on its line something else stands where `,` or the bracket should, or the
 * lines below have been taken for a part of it. */
static const char *explain_bracket(struct ws_reader *r, const struct problem *p, const char *brackets, size_t *at) {
  struct ws_pos open = ws_reader_pos(r, p->context_at, p->context_at), stop = ws_reader_pos(r, p->at, p->at);
  *at = p->context_at;
  if (p->at >= r->len) return ws_fmt(r->a, "this `%c` is not closed", brackets[0]);
  if (open.line != stop.line) return ws_fmt(r->a, "this `%c` is not closed: expected `,` or `%c` before line %u, column %u", brackets[0], brackets[1], stop.line, stop.col);
  *at = p->at;
  if (p->at < r->len && r->clean[p->at] == '[') return "NAME[n] cannot stand in `{ }`: write it as a key on a line of its own";
  return ws_fmt(r->a, "expected `,` or `%c` to close the `%c` of column %u", brackets[1], brackets[0], open.col);
}

/* Reports a problem once, at its line, and says which line that is. */
static size_t explain(struct ws_reader *r, const struct problem *p) {
  size_t i = 0, n = sizeof explanations / sizeof *explanations, at = p->at;
  while (i < n && !strstr(p->what, explanations[i].what) && !strstr(p->context, explanations[i].what)) i++;
  const char *message = i < n ? explanations[i].message : ws_fmt(r->a, "malformed YAML: %s", p->what);
  bool context = i < n && explanations[i].place != PROBLEM && p->context_at != SIZE_MAX;
  if (context && explanations[i].place == BRACKET) message = explain_bracket(r, p, message, &at);
  else if (context) at = p->context_at;
  else if (strstr(p->what, "did not find expected '-'") || strstr(p->what, "did not find expected key")) {
    if (!first_on_line(r, at)) message = "nothing may follow the value on its line";
    else if (at < r->len && r->clean[at] == '-') message = "this `- ` stands in line with no list above it: check the indentation";
  }
  while (at > 0 && (at >= r->len || r->clean[at] == '\n')) at--; /* an error at the end of the file belongs to its last line */
  ws_reader_error(r, ws_reader_pos(r, at, at + 1), "yaml", "%s", message);
  return line_of(r, at);
}

static void collect_all(struct ws_reader *r, struct events *ev) {
  struct problem p;
  for (int tries = 0; !collect(r, ev, &p); tries++) {
    size_t line = explain(r, &p);
    if (r->bad[line] && tries) { /* repaired before, and still broken */
      r->cut = true;
      return;
    }
    if (tries == WS_YAML_ERRORS) {
      ws_error(r->d, ws_reader_pos(r, p.at, p.at), "yaml", "too many broken lines: the rest of the file was not read");
      r->cut = true;
      return;
    }
    neutralise(r, line);
  }
}

/* --- events to nodes --- */

static struct ws_node *node_at(struct ws_reader *r, const struct event *e, enum ws_node_kind kind) {
  struct ws_node *n = WS_NEW(r->a, struct ws_node);
  *n = (struct ws_node){.kind = kind, .style = e->style, .flow = e->flow, .begin = e->begin, .end = e->end};
  n->pos = ws_reader_pos(r, e->begin, e->end);
  return n;
}

/* The bytes of an anchor, alias or tag: up to the next space. */
static struct ws_pos word_pos(struct ws_reader *r, size_t at) {
  size_t end = at;
  while (end < r->len && !strchr(" \r\n,]}", r->clean[end])) end++;
  return ws_reader_pos(r, at, end);
}

static bool has_properties(struct ws_reader *r, const struct event *e) {
  if (e->anchor) ws_reader_error(r, word_pos(r, e->begin), "anchor", "no anchors in a spec: write the value out where it is used");
  else if (e->tag) ws_reader_error(r, word_pos(r, e->begin), "tag", "no tags in a spec: every value is read as text and typed by its key");
  return e->anchor || e->tag;
}

static bool after_question(const struct ws_reader *r, size_t at) {
  while (at && r->clean[at - 1] == ' ') at--;
  return at && r->clean[at - 1] == '?';
}

static struct ws_node *build(struct ws_reader *r, struct events *ev);

static void build_items(struct ws_reader *r, struct events *ev, struct ws_node *n, bool map) {
  size_t cap = 0, key_cap = 0, keys = 0;
  while (ev->i < ev->n && ev->e[ev->i].kind != END && ev->e[ev->i].kind != DOCUMENT) {
    if (map) {
      struct ws_node *k = build(r, ev);
      if (k->kind != WS_NODE_SCALAR && k->kind != WS_NODE_BROKEN) {
        ws_reader_error(r, k->pos, "bad-key", "a key is a word, not a %s", k->kind == WS_NODE_MAP ? "mapping" : "list");
        k->kind = WS_NODE_BROKEN;
      } else if (k->kind == WS_NODE_SCALAR && after_question(r, k->begin)) {
        ws_reader_error(r, k->pos, "bad-key", "no `? ` keys in a spec: write `key: value`");
        k->kind = WS_NODE_BROKEN;
      }
      *WS_PUSH(r->a, n->key, keys, key_cap) = k;
    }
    struct ws_node *v = build(r, ev);
    *WS_PUSH(r->a, n->item, n->n, cap) = v;
  }
  if (ev->i < ev->n && ev->e[ev->i].kind == END) {
    if (n->flow) n->end = ev->e[ev->i].end;
    ev->i++;
  }
  if (n->flow) n->pos = ws_reader_pos(r, n->begin, n->end);
}

/* Recursion is bounded by WS_NODE_DEPTH. */
static struct ws_node *build(struct ws_reader *r, struct events *ev) {
  static const struct event none = {.kind = SCALAR};
  if (ev->i >= ev->n || ev->e[ev->i].kind == END || ev->e[ev->i].kind == DOCUMENT) return node_at(r, &none, WS_NODE_BROKEN);
  const struct event *e = &ev->e[ev->i++];
  bool props = e->kind != ALIAS && has_properties(r, e);
  struct ws_node *n;
  switch (e->kind) {
    case ALIAS:
      ws_reader_error(r, word_pos(r, e->begin), "alias", "no aliases in a spec: write the value out");
      return node_at(r, e, WS_NODE_BROKEN);
    case LIST:
    case MAP:
      n = node_at(r, e, e->kind == LIST ? WS_NODE_LIST : WS_NODE_MAP);
      n->pos = ws_reader_pos(r, e->begin, e->begin + 1);
      build_items(r, ev, n, e->kind == MAP);
      return n;
    default:
      n = node_at(r, e, props ? WS_NODE_BROKEN : WS_NODE_SCALAR);
      if (e->end < r->len && r->clean[e->end] == ':' && r->text[e->end] != ':') n->end++; /* layout.c put the colon there */
      if (n->begin == n->end && r->bad[n->pos.line - 1]) n->kind = WS_NODE_BROKEN; /* what neutralise() left */
      return n;
  }
}

struct ws_node **ws_yaml_read(struct ws_reader *r, size_t *n) {
  struct events ev = {0};
  struct ws_node **docs = NULL;
  size_t cap = 0;
  *n = 0;
  ws_reader_layout(r);
  collect_all(r, &ev);
  while (ev.i < ev.n) {
    if (ev.e[ev.i].kind != DOCUMENT) {
      ev.i++;
      continue;
    }
    if (ev.e[ev.i].directive) ws_reader_error(r, word_pos(r, ev.e[ev.i].begin), "directive", "no `%%` directives in a spec");
    ev.i++;
    struct ws_node *root = build(r, &ev);
    *WS_PUSH(r->a, docs, *n, cap) = root;
  }
  return docs;
}
