/* Nodes to blocks. A block is a YAML list; its items are plain one-line scalars or mappings of a header to a block. */
#include "spec/reader.h"
#include <string.h>

static size_t first_word(const struct ws_reader *r, const struct ws_node *n) {
  size_t i = n->begin;
  while (i < n->end && ((r->text[i] >= 'a' && r->text[i] <= 'z') || (r->text[i] >= 'A' && r->text[i] <= 'Z') || r->text[i] == '_')) i++;
  return i - n->begin;
}

/* Whether the scalar is plain and stands on one line. */
static bool one_line(struct ws_reader *r, const struct ws_node *n, const char *what) {
  struct ws_pos last = ws_reader_pos(r, n->end, n->end);
  if (n->style == WS_LITERAL)
    ws_reader_error(r, ws_reader_pos(r, n->begin, n->begin + 1), "quoted", "a %s is plain text on one line: no `|` or `>`", what);
  else if (n->style != WS_PLAIN)
    ws_reader_error(r, n->pos, "quoted", "a %s is plain text: remove the quotes", what);
  else if (last.line == n->pos.line) return true;
  else if (ws_is_header_word(r->text + n->begin, first_word(r, n)))
    ws_reader_error(r, n->pos, "multi-line", "the `:` that opens the block is missing at the end of this line");
  else ws_reader_error(r, n->pos, "multi-line", "a %s stands on one line; this one runs on to line %u: check the indentation there", what, last.line);
  return false;
}

static struct ws_stmt *read_statement(struct ws_reader *r, const struct ws_node *n) {
  if (n->begin == n->end && n->style == WS_PLAIN) {
    ws_reader_error(r, n->pos, "empty", "an empty item: expected a statement after `-`");
    return NULL;
  }
  return one_line(r, n, "statement") ? ws_parse_stmt(r, n->begin, n->end) : NULL;
}

static struct ws_stmt *read_header(struct ws_reader *r, const struct ws_node *key) {
  if (key->kind != WS_NODE_SCALAR || !one_line(r, key, "header")) return NULL;
  return ws_parse_header(r, key->begin, key->end);
}

static bool starts_with(const struct ws_reader *r, const struct ws_node *key, const char *word) {
  size_t n = strlen(word);
  return key->kind == WS_NODE_SCALAR && first_word(r, key) == n && !memcmp(r->text + key->begin, word, n);
}

static bool same_condition(struct ws_reader *r, const struct ws_expr *x, const struct ws_expr *y) {
  struct ws_buf a = {.arena = r->a}, b = {.arena = r->a};
  if (!x || !y) return !x && !y;
  ws_expr_print(x, &a);
  ws_expr_print(y, &b);
  return !strcmp(a.s, b.s);
}

static void add_branch(struct ws_reader *r, struct ws_stmt *s, size_t *cap, const struct ws_stmt *head, struct ws_block *body) {
  *WS_PUSH(r->a, s->branches, s->nbranches, *cap) = (struct ws_branch){head->a, head->pos, head->text, body};
}

/* The keys of an item after its first: elif and else of an if. */
static void read_branches(struct ws_reader *r, const struct ws_node *n, struct ws_stmt *s, bool is_if) {
  size_t cap = s ? s->nbranches : 0;
  bool ended = false;
  for (size_t i = 1; i < n->n; i++) {
    const struct ws_node *key = n->key[i];
    bool is_else = starts_with(r, key, "else"), branch = is_else || starts_with(r, key, "elif");
    struct ws_pos word = ws_reader_pos(r, key->begin, key->begin + 4);
    if (key->kind == WS_NODE_BROKEN) continue;
    if (!branch) {
      ws_reader_error(r, key->pos, "header", "each block is an item of its own: put `- ` before this line");
      continue;
    }
    struct ws_stmt *head = read_header(r, key);
    struct ws_block *body = ws_read_block(r, n->item[i], key->pos, is_else ? "`else`" : "`elif`");
    if (!is_if) ws_reader_error(r, word, "dangling-else", "`%s` belongs to an `if` of the same item, in line with it", is_else ? "else" : "elif");
    else if (ended && is_else) ws_reader_error(r, word, "duplicate-key", "a second `else` of one `if`");
    else if (ended) ws_reader_error(r, word, "dangling-else", "`elif` after `else`: `else` comes last");
    else if (head && s) {
      for (size_t k = 0; k < s->nbranches && !is_else; k++)
        if (same_condition(r, s->branches[k].cond, head->a)) ws_reader_error(r, key->pos, "duplicate-key", "this condition is a repetition of line %u: it is never reached", s->branches[k].pos.line);
      add_branch(r, s, &cap, head, body);
    }
    ended |= is_else;
  }
}

static struct ws_stmt *read_item(struct ws_reader *r, const struct ws_node *n) {
  const struct ws_node *key = n->key[0];
  if (n->flow) {
    ws_reader_error(r, n->pos, "flow-block", "no `{` in a program: a block is a list with `- ` before each statement");
    return NULL;
  }
  bool is_if = starts_with(r, key, "if"), is_else = starts_with(r, key, "else") || starts_with(r, key, "elif");
  if (is_else) {
    ws_reader_error(r, key->pos, "dangling-else", "`%.4s` is a further key of its `if`: write it without a dash, in line with `if`", r->text + key->begin);
    (void)ws_read_block(r, n->item[0], key->pos, "`else`");
    read_branches(r, n, NULL, true);
    return NULL;
  }
  struct ws_stmt *s = read_header(r, key);
  bool known = s || ws_is_header_word(r->text + key->begin, first_word(r, key)); /* a block, even if its header is wrong */
  struct ws_block *body = NULL;
  if (known || n->item[0]->kind == WS_NODE_LIST)
    body = ws_read_block(r, n->item[0], key->pos, s ? ws_fmt(r->a, "`%s`", ws_reader_quote(r, key->begin, key->end)) : "this header");
  if (s && s->kind == WS_S_IF) {
    size_t cap = 0;
    add_branch(r, s, &cap, s, body);
    s->a = NULL;
  } else if (s) s->body = body;
  read_branches(r, n, s, is_if || !s);
  return s;
}

/* Always a block, perhaps an empty one after errors. Recursion is bounded by WS_NODE_DEPTH. */
struct ws_block *ws_read_block(struct ws_reader *r, const struct ws_node *node, struct ws_pos owner, const char *what) {
  struct ws_block *b = WS_NEW(r->a, struct ws_block);
  size_t cap = 0;
  if (node->kind == WS_NODE_BROKEN) return b;
  if (node->kind == WS_NODE_LIST && node->flow)
    ws_reader_error(r, node->pos, "flow-block", "no `[` in a program: a block is a list with `- ` before each statement");
  else if (node->kind == WS_NODE_SCALAR && node->begin == node->end && node->style == WS_PLAIN && !r->cut)
    ws_reader_error(r, owner, "empty-block", "the block of %s is empty: expected a list of statements below it", what);
  else if (node->kind == WS_NODE_SCALAR && node->begin != node->end)
    ws_reader_error(r, node->pos, "block", "expected a list on the lines below: put `- ` before this statement on a line of its own");
  else if (node->kind == WS_NODE_MAP)
    ws_reader_error(r, node->pos, "block", "expected a list of statements: put `- ` before each line of the block");
  if (node->kind != WS_NODE_LIST || node->flow) return b;
  for (size_t i = 0; i < node->n; i++) {
    const struct ws_node *n = node->item[i];
    struct ws_stmt *s = NULL;
    if (n->kind == WS_NODE_SCALAR) s = read_statement(r, n);
    else if (n->kind == WS_NODE_MAP && n->n) s = read_item(r, n);
    else if (n->kind == WS_NODE_LIST || n->kind == WS_NODE_MAP)
      ws_reader_error(r, n->pos, "flow-block", "expected a statement, found %s", n->kind == WS_NODE_MAP ? "`{`" : n->flow ? "`[`" : "a second `- `");
    if (s) *WS_PUSH(r->a, b->stmt, b->n, cap) = s;
  }
  return b;
}
