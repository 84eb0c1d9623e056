/* THE table of keys: what a document and each declaration may hold, how each value is read and where it goes.
 *
 * Reading (decl.c), printing (print.c), suggestions for unknown keys and the JSON Schema (schema.c) derive from it. */
#ifndef WS_SPEC_KEYS_H
#define WS_SPEC_KEYS_H
#include <stdbool.h>
#include <stddef.h>

enum ws_key_kind {     /* the value, and the C type at `at` */
  WS_K_NAME,           /* NAME                                       const char * */
  WS_K_DOTTED,         /* NAME.NAME...                               const char * */
  WS_K_NAMES,          /* NAME or a list of NAME                     const char **, count, positions */
  WS_K_WORD,           /* one of `words`                             const char * */
  WS_K_FLAG,           /* one of two words; is it the second?        bool */
  WS_K_EXPR,           /* an expression; with `words`, one of them or a parameter    struct ws_expr * */
  WS_K_EXPRS,          /* an expression or a list of them            struct ws_expr **, count */
  WS_K_LIST,           /* a list of expressions                      struct ws_expr **, count */
  WS_K_TILE,           /* [rows, cols]                               two struct ws_expr *: at, at2 */
  WS_K_PAIRS,          /* NAME: expression ...                       struct ws_pair *, count */
  WS_K_ENDS,           /* ROLE, a list of roles, or {ROLE: unit}     struct ws_end *, count */
  WS_K_SECTION,        /* the keys of `record`                       the record itself */
  WS_K_TABLE,          /* NAME: the keys of `record` ...             array of records, count */
  WS_K_PROGRAMS,       /* ROLE or ROLE[i]: a block ...               struct ws_program *, count */
};

#define WS_NO_OFFSET ((size_t)-1)

struct ws_record;
struct ws_key {
  const char *name;
  enum ws_key_kind kind;
  bool required;
  size_t at;           /* offset of the value in the record's struct */
  size_t at2;          /* of the count, or of the second value of a tile */
  size_t pos;          /* of the value's position(s), or WS_NO_OFFSET */
  const char *const *words;      /* NULL-terminated, or NULL */
  const struct ws_record *record;
  const char *only;    /* barriers: the kind that may have this key; NULL = any */
  const char *doc;     /* one sentence: documentation and JSON Schema */
};

struct ws_record {     /* one declaration, or a section */
  const char *what;    /* "buffer" */
  const struct ws_key *keys;
  size_t nkeys;
  size_t size;         /* of its struct, which begins with the name if it is an entry of a table */
  size_t pos;          /* offset of the position of the name, or of the section */
  size_t count;        /* offset of the expression in NAME[expr]; WS_NO_OFFSET: no arrays */
  size_t scalar;       /* offset of the expression that may stand in place of the mapping, or WS_NO_OFFSET */
};

extern const struct ws_record ws_document_record;
#endif
