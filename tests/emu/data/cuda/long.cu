// 64-bit division and remainder, signed and unsigned.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  long long a = (long long)((unsigned long long)in[i] << 32 | in[i ^ 1]), b = (int)in[i ^ 2] | 1;
  unsigned long long u = (unsigned long long)a / (in[i ^ 3] | 1u);
  long long q = a / b, r = a % b;
  out[i] = (unsigned)q ^ (unsigned)(q >> 32) ^ (unsigned)r ^ (unsigned)u;
}
