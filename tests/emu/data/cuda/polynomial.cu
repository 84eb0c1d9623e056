// Double precision: division, square root, fused multiply-add, all rounded as IEEE 754 says.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  double x = in[i] / 4294967296.0, y = sqrt(fma(x, x, 1.0)) / (x + 0.5);
  unsigned long long b = __double_as_longlong(y);
  out[i] = (unsigned)b ^ (unsigned)(b >> 32);
}
