// Each block transposes its 16 x 16 tile in shared memory.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[16][17];
  unsigned t = threadIdx.x, x = t % 16, y = t / 16;
  s[y][x] = in[blockIdx.x * 256 + t];
  __syncthreads();
  out[blockIdx.x * 256 + t] = s[x][y];
}
