// Attention forward, head dim 128, bf16: one CTA of 4 warps holds 64 query rows; keys and values come 64 rows at a time
// through cp.async; softmax in registers. Sequence lengths are multiples of 64. q, k, v, o: [heads][sequence][128].
// Compiled to attention.ptx with: nvcc -arch=sm_80 -ptx attention.cu
#include <stdint.h>

enum { D = 128, ROWS = 64, CHUNKS = D / 8 };

__device__ __forceinline__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldsm4(uint32_t r[4], uint32_t p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t r[4], uint32_t p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
__device__ __forceinline__ void mma(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ float exp2_(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ uint32_t pack(float lo, float hi) { uint32_t r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
// rows of 256 bytes, 16-byte chunks swizzled by the row
__device__ __forceinline__ uint32_t at(uint32_t tile, int row, int chunk) { return tile + row * 256 + ((chunk ^ (row & 7)) << 4); }

__device__ __forceinline__ void load(uint32_t tile, const uint16_t *from, int tid) {
#pragma unroll
  for (int i = 0; i < ROWS * CHUNKS / 128; i++) {
    int c = tid + i * 128, row = c / CHUNKS, col = c % CHUNKS;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(tile, row, col)), "l"(from + row * D + col * 8) : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(128) attention(const uint16_t *q, const uint16_t *k, const uint16_t *v, uint16_t *o, int rows_q,
                                                            int rows_k, float scale_log2) {
  extern __shared__ __align__(1024) uint8_t shared[];
  uint32_t sq = smem(shared), sk = sq + ROWS * 256, sv = sk + ROWS * 256;
  int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  size_t head = blockIdx.y;
  q += (head * rows_q + blockIdx.x * ROWS) * D;
  o += (head * rows_q + blockIdx.x * ROWS) * D;
  k += head * rows_k * D;
  v += head * rows_k * D;
  float acc[16][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};
  load(sq, q, tid);
  load(sk, k, tid);
  for (int j0 = 0; j0 < rows_k; j0 += ROWS) {
    load(sv, v + (size_t)j0 * D, tid);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    float s[8][4] = {};
#pragma unroll
    for (int kk = 0; kk < D / 16; kk++) {
      uint32_t a[4], b[4];
      ldsm4(a, at(sq, warp * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        ldsm4(b, at(sk, j * 8 + lane % 8 + lane / 16 * 8, kk * 2 + lane / 8 % 2));
        mma(s[j], a, b);
        mma(s[j + 1], a, b + 2);
      }
    }
    __syncthreads();
    if (j0 + ROWS < rows_k) load(sk, k + (size_t)(j0 + ROWS) * D, tid);
    else asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float mx = m[h];
#pragma unroll
      for (int j = 0; j < 8; j++) mx = fmaxf(mx, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
      mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, 1));
      mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, 2));
      float fix = exp2_((m[h] - mx) * scale_log2), sum = 0;
      m[h] = mx;
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; e++) sum += s[j][e] = exp2_(fmaf(s[j][e], scale_log2, -mx * scale_log2));
      l[h] = l[h] * fix + sum;
#pragma unroll
      for (int j = 0; j < 16; j++) acc[j][2 * h] *= fix, acc[j][2 * h + 1] *= fix;
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < ROWS / 16; kk++) {
      uint32_t a[4] = {pack(s[2 * kk][0], s[2 * kk][1]), pack(s[2 * kk][2], s[2 * kk][3]), pack(s[2 * kk + 1][0], s[2 * kk + 1][1]),
                       pack(s[2 * kk + 1][2], s[2 * kk + 1][3])};
#pragma unroll
      for (int j = 0; j < 16; j += 2) {
        uint32_t b[4];
        ldsm4t(b, at(sv, kk * 16 + lane % 16, j + lane / 16));
        mma(acc[j], a, b);
        mma(acc[j + 1], a, b + 2);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    l[h] += __shfl_xor_sync(~0u, l[h], 1);
    l[h] += __shfl_xor_sync(~0u, l[h], 2);
    int row = warp * 16 + lane / 4 + 8 * h;
#pragma unroll
    for (int j = 0; j < 16; j++)
      *(uint32_t *)(o + row * D + j * 8 + lane % 4 * 2) = pack(acc[j][2 * h] / l[h], acc[j][2 * h + 1] / l[h]);
  }
}
