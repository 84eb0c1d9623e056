// A block's numbers as a 16 x 16 matrix A: A times its transpose, unrolled.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned a[16][17];
  unsigned x = threadIdx.x % 16, y = threadIdx.x / 16, i = blockIdx.x * 256 + threadIdx.x, sum = 0;
  a[y][x] = in[i];
  __syncthreads();
#pragma unroll
  for (unsigned n = 0; n < 16; n++) sum += a[y][n] * a[x][n];
  out[i] = sum;
}
