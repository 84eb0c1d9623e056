/* What copy.c shares with store.c: which thread has which unit of a tile, and where the unit lies in a tensor. */
#ifndef WS_LOWER_COPY_H
#define WS_LOWER_COPY_H
#include "lower.h"

/* Who copies what of a tile of rows x cols elements in units of 16 bytes; one for each name, shape and layout. `fill`: the padding of a
 * row is written, too; `everywhere`: its registers live for the whole program, not for a work tile. */
struct copy_map *ws_copy_map(struct lower *l, const char *name, int rows, int cols, enum ws_type t, const struct ws_smem_layout *lay, bool fill, bool everywhere, struct ws_pos pos);
/* A map that is there already, by a layout that no buffer has (pitch < 0: which kind of map), or NULL. `rows` is 0 where the kind has none. */
struct copy_map *ws_copy_kept(const struct lower *l, const struct ws_smem_layout *key, int rows, bool everywhere);
struct pointer *ws_copy_pointer(struct lower *l, const struct ws_mem *m, const struct copy_map *map);
struct row_walk ws_copy_walk(struct lower *l, const struct ws_mem *m, const struct pointer *p);
const char *ws_copy_rows_left(struct lower *l, const struct ws_mem *m, const char *thread_row);
const char *ws_copy_pass_guard(struct lower *l, const struct copy_map *map, int pass); /* a predicate, or NULL: all threads take part */
void ws_copy_fill(struct lower *l, const struct ws_mem *to, const char *word, struct ws_pos pos); /* one 32-bit word in all of a tile of shared memory */
void ws_copy_out(struct lower *l, struct ws_act *a, const char *move);
#endif
