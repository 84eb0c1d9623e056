// C[m][n] = A[m][k] * B[n][k], bf16 with f32 accumulation: cp.async in two stages, ldmatrix, mma.sync. M and N are
// multiples of 64, K of 32. Compiled to gemm.ptx with: nvcc -arch=sm_80 -ptx gemm.cu
#include <stdint.h>

enum { BM = 64, BN = 64, BK = 32, PITCH = BK + 8 };

__device__ __forceinline__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void ldsm4(uint32_t r[4], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem(p)) : "memory");
}
__device__ __forceinline__ void mma(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128) gemm(const uint16_t *a, const uint16_t *b, float *c, int n, int k) {
  __shared__ __align__(16) uint16_t sa[2][BM][PITCH], sb[2][BN][PITCH];
  int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  float acc[8][4] = {};
  auto load = [&](int stage, int k0) {
    for (int i = tid; i < BM * BK / 8; i += 128) {
      int row = i / (BK / 8), col = i % (BK / 8) * 8;
      copy16(&sa[stage][row][col], a + (size_t)(m0 + row) * k + k0 + col);
      copy16(&sb[stage][row][col], b + (size_t)(n0 + row) * k + k0 + col);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  load(0, 0);
  for (int k0 = 0, s = 0; k0 < k; k0 += BK, s ^= 1) {
    if (k0 + BK < k) {
      load(s ^ 1, k0 + BK);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int kk = 0; kk < BK; kk += 16) {
      uint32_t fa[4], fb[4];
      ldsm4(fa, &sa[s][warp * 16 + lane % 16][kk + lane / 16 * 8]);
      for (int j = 0; j < 8; j += 2) {
        ldsm4(fb, &sb[s][j * 8 + lane % 8 + lane / 16 * 8][kk + lane / 8 % 2 * 8]);
        mma(acc[j], fa, fb);
        mma(acc[j + 1], fa, fb + 2);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++)
    for (int e = 0; e < 4; e++)
      c[(size_t)(m0 + warp * 16 + lane / 4 + e / 2 * 8) * n + n0 + j * 8 + lane % 4 * 2 + e % 2] = acc[j][e];
}
