// Blocks take turns from the last to the first: each waits for the one behind it. out[0] holds whose turn it is.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned me = gridDim.x - 1 - blockIdx.x;
  if (threadIdx.x == 0) {
    while (((volatile unsigned *)out)[0] != me) __nanosleep(50);
    __threadfence();
    out[1] = out[1] * 31 + in[blockIdx.x * 256];
    __threadfence();
    ((volatile unsigned *)out)[0] = me + 1;
  }
}
