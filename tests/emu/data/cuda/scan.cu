// Inclusive sums within each block of 256.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[256];
  unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = in[i];
  for (unsigned d = 1; d < 256; d *= 2) {
    __syncthreads();
    unsigned v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
  }
  out[i] = s[t];
}
