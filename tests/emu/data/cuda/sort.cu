// Bitonic sort of each block's numbers in shared memory.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[256];
  unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = in[i];
  for (unsigned size = 2; size <= 256; size *= 2)
    for (unsigned d = size / 2; d; d /= 2) {
      __syncthreads();
      unsigned o = t ^ d;
      if (o > t && (s[t] > s[o]) == !(t & size)) {
        unsigned v = s[t];
        s[t] = s[o];
        s[o] = v;
      }
    }
  __syncthreads();
  out[i] = s[t];
}
