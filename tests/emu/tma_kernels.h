/* Kernels that move one tile between global and shared memory and show all of shared memory before or after. */
#ifndef EMU_TMA_KERNELS_H
#define EMU_TMA_KERNELS_H
/* k(map, shared, offset, bytes, smem, c0 .. c4), 128 threads: `shared` is copied into `smem` bytes of shared memory, a tile of `bytes`
 * is moved at + `offset`, then shared memory goes back to `shared`, and behind it 1 if the tile was never complete.
 * op NULL: a load; "": a store; else a reduction. To be freed. */
char *tma_kernel(int rank, const char *op);
#endif
