// Cooperative groups: tiles of 8 threads add up, threads with odd numbers count themselves.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  unsigned i = blockIdx.x * 256 + threadIdx.x, v = in[i];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  unsigned r = cg::reduce(tile, v, cg::plus<unsigned>());
  if (v & 1) {
    auto odd = cg::coalesced_threads();
    r ^= odd.size() << 8 | odd.thread_rank();
  }
  out[i] = r ^ tile.shfl_xor(v, 3);
}
