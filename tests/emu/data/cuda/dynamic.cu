// Dynamic shared memory: the block's numbers in reverse.
extern __shared__ unsigned s[];
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  out[blockIdx.x * 256 + t] = s[255 - t];
}
