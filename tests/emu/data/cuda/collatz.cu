// Steps of the Collatz sequence: every thread loops as often as its number needs.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, n = 0;
  for (unsigned long long v = in[i] % 100000 + 1; v != 1; n++) {
    if (v & 1) v = 3 * v + 1;
    else v /= 2;
    if (n > 1000) break;
  }
  out[i] = n;
}
