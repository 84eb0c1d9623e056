// Four stages of asynchronous copies, two of them in flight: the sum of a block's quarters, element by element.
#include <cuda_pipeline.h>
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ __align__(16) unsigned s[2][64];
  unsigned t = threadIdx.x, sum = 0;
  in += blockIdx.x * 256;
  for (int n = 0; n < 5; n++) {
    if (n < 4 && t < 16) __pipeline_memcpy_async(&s[n % 2][t * 4], in + n * 64 + t * 4, 16);
    __pipeline_commit();
    if (!n) continue;
    __pipeline_wait_prior(1);
    __syncthreads();
    sum = sum * 3 + s[(n - 1) % 2][t % 64];
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = sum;
}
