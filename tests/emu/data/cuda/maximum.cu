// The largest number of each block by compare-and-swap, and the sum by a reduction over the warp.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, v = in[i], old = out[blockIdx.x];
  while (old < v) {
    unsigned seen = atomicCAS(&out[blockIdx.x], old, v);
    if (seen == old) break;
    old = seen;
  }
  unsigned s = __reduce_add_sync(~0u, v);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[gridDim.x + blockIdx.x], s);
}
