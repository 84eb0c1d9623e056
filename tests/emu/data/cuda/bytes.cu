// Accesses of 1, 2, 4 and 16 bytes.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  const signed char *c = (const signed char *)in;
  const unsigned short *h = (const unsigned short *)in;
  uint4 v = ((const uint4 *)in)[i / 4];
  out[i] = (unsigned)(c[4 * i + 3] * 5) + h[2 * i] + (v.x ^ v.y ^ v.z ^ v.w);
}
