// Kernels for sm_90a as nvcc 13.0 -arch=sm_90a -ptx translates them (hopper.ptx); checked by test_nvcc.c.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <stdint.h>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

// A block-wide sum in rounds of cuda::barrier; 256 threads.
extern "C" __global__ void rounds(const uint32_t *in, uint32_t *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ uint32_t x[2][256];
  uint32_t t = threadIdx.x, at = blockIdx.x * 256 + t;
  if (t == 0) init(&bar, 256);
  __syncthreads();
  x[0][t] = in[at];
  for (uint32_t d = 1, k = 0; d < 256; d *= 2, k ^= 1) {
    auto token = bar.arrive();
    bar.wait(std::move(token));
    x[k ^ 1][t] = x[k][t] + x[k][(t + d) % 256];
  }
  bar.arrive_and_wait();
  out[at] = x[0][t];
}

// A histogram over distributed shared memory: each block of a cluster of 4 holds 64 of 256 bins.
extern "C" __global__ void __cluster_dims__(4, 1, 1) bins(const uint32_t *in, uint32_t *out) {
  __shared__ uint32_t mine[64];
  cg::cluster_group cluster = cg::this_cluster();
  uint32_t t = threadIdx.x;
  if (t < 64) mine[t] = 0;
  cluster.sync();
  uint32_t v = in[blockIdx.x * 256 + t] % 256;
  atomicAdd(cluster.map_shared_rank(mine, v / 64) + v % 64, 1);
  cluster.sync();
  if (t < 64) atomicAdd(out + cluster.block_rank() * 64 + t, mine[t]);
}

// Blocks of a cluster of 2 hand a value back and forth through mbarriers of each other.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pingpong(const uint32_t *in, uint32_t *out) {
  __shared__ uint64_t bar;
  __shared__ uint32_t value;
  cg::cluster_group cluster = cg::this_cluster();
  uint32_t rank = cluster.block_rank(), local = (uint32_t)__cvta_generic_to_shared(&bar), remote, slot;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(local) : "memory");
  cluster.sync();
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank ^ 1));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(slot) : "r"((uint32_t)__cvta_generic_to_shared(&value)), "r"(rank ^ 1));
  if (threadIdx.x == 0) {
    uint32_t v = in[blockIdx.x / 2];
    for (uint32_t i = 0; i < 8; i++) {
      if (rank == 1 || i) {
        asm volatile("{ .reg .pred p; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W; }"
                     ::"r"(local), "r"((rank == 1 ? i : i - 1) & 1) : "memory");
        v = value * 3 + rank;
      }
      if (rank == 0 || i < 7)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(slot), "r"(v), "r"(remote) : "memory");
    }
    out[blockIdx.x] = v;
  }
  cluster.sync();
}

// O = A B for one tile of 64 x 64 x 64, K contiguous in both, through a 128-byte swizzle.
extern "C" __global__ void __launch_bounds__(128) tile(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *o) {
  __shared__ __align__(1024) uint8_t sa[8192], sb[8192];
  uint32_t t = threadIdx.x;
  for (uint32_t i = t; i < 512; i += 128) {
    uint32_t row = i / 8, unit = i % 8, at = row * 128 + ((unit ^ (row & 7)) << 4);
    *(uint4 *)(sa + at) = *(const uint4 *)(a + row * 64 + unit * 8);
    *(uint4 *)(sb + at) = *(const uint4 *)(b + row * 64 + unit * 8);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  uint64_t high = 1ull << 62 | 64ull << 32 | 1ull << 16;
  uint64_t da = high | (((uint32_t)__cvta_generic_to_shared(sa) & 0x3ffff) >> 4), db = high | (((uint32_t)__cvta_generic_to_shared(sb) & 0x3ffff) >> 4);
  float d[32];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; k++)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]),
                   "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                   "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(da + 2 * k), "l"(db + 2 * k), "r"(k));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 32; i++) o[(16 * (t / 32) + (t % 32) / 4 + 8 * (i >> 1 & 1)) * 64 + 8 * (i >> 2) + 2 * (t & 3) + (i & 1)] = d[i];
}
