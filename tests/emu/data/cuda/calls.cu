// Calls that are not inlined, with a struct by value and by pointer, and a local array with a variable index.
struct pair { unsigned a, b; };
__device__ __noinline__ pair mix(pair p, unsigned n) { return {p.a * 3 + n, p.b ^ p.a}; }
__device__ __noinline__ void swap(pair *p) { unsigned t = p->a; p->a = p->b; p->b = t; }
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, last[8] = {0};
  pair p = {in[i], i};
  for (unsigned n = 0; n < 5; n++) {
    p = mix(p, n);
    if (p.a & 1) swap(&p);
    last[p.b % 8] += p.a;
  }
  out[i] = last[in[i] % 8] + p.b;
}
