// Rank of each odd number within its warp, by ballot, in one half of each warp only; the others match equal values.
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, v = in[i];
  if (lane < 16) out[i] = __popc(__ballot_sync(0xffffu, v & 1) & ((1u << lane) - 1));
  else out[i] = __match_any_sync(0xffff0000u, v % 4);
}
