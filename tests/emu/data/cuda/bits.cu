// Bit operations and a switch.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, v = in[i], r;
  switch (v % 6) {
    case 0: r = __popc(v); break;
    case 1: r = __clz(v); break;
    case 2: r = __brev(v); break;
    case 3: r = __ffs(v); break;
    case 4: r = __byte_perm(v, ~v, 0x2705); break;
    default: r = __umulhi(v, 0x9e3779b9u);
  }
  out[i] = r;
}
