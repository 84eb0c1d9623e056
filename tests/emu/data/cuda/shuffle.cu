// The sum of each warp, by butterflies, and what the lane above holds.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, v = in[i], s = v;
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  out[i] = s ^ __shfl_down_sync(~0u, v, 1);
}
