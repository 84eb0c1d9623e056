// Where each number would stand among sixteen of its block, in ascending order: a sum of comparisons, then a binary search.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[16];
  unsigned t = threadIdx.x, i = blockIdx.x * 256 + t, v = in[i];
  if (t < 16) {
    unsigned rank = 0;
    for (unsigned n = 0; n < 16; n++) {
      unsigned o = in[i - t + n];
      rank += o < v || (o == v && n < t);
    }
    s[rank] = v;
  }
  __syncthreads();
  unsigned lo = 0, hi = 16;
  while (lo < hi) {
    unsigned mid = (lo + hi) / 2;
    if (s[mid] < v) lo = mid + 1;
    else hi = mid;
  }
  out[i] = lo;
}
