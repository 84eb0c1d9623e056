// Counts of the lowest byte, gathered in shared memory, added to global memory.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[in[blockIdx.x * 256 + threadIdx.x] & 255], 1u);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
}
