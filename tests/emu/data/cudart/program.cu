// A program with its own kernels and its own check, as nvcc users write them: launches, a template, a symbol, a cluster with
// distributed shared memory, a stream with events, printf. Exit code 0 when all results are right.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

#define CHECK(call)                                                                                                   \
  do {                                                                                                                \
    cudaError_t r_ = (call);                                                                                          \
    if (r_ != cudaSuccess) return std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(r_)), 1;                 \
  } while (0)

__constant__ float weights[3];
__device__ unsigned counter;

template <class T> __global__ void smooth(const T *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = weights[0] * in[i ? i - 1 : 0] + weights[1] * in[i] + weights[2] * in[i + 1 < n ? i + 1 : i];
  if (i < n) atomicAdd(&counter, 1u);
}

__global__ void __cluster_dims__(4, 1, 1) neighbours(int *out) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  if (!threadIdx.x) mine = 100 * (int)blockIdx.x;
  cluster.sync();
  if (!threadIdx.x) out[blockIdx.x] = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % 4) + (int)cluster.block_rank();
  cluster.sync();
}

__global__ void reverse(int *p) {
  extern __shared__ int s[];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
  if (!threadIdx.x) printf("reversed %d of %s\n", (int)blockDim.x, "them");
}

int main() {
  cudaDeviceProp prop;
  int n = 1000, device = -1;
  unsigned count = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&prop, device));
  if (prop.major < 9 || prop.warpSize != 32 || !prop.clusterLaunch || prop.sharedMemPerBlockOptin < 200000) return std::puts("odd properties"), 1;
  std::vector<float> in(n), out(n, -1.f);
  for (int i = 0; i < n; i++) in[i] = (float)((i * 7919) % 256);
  float w[] = {0.25f, 0.5f, 0.25f}, *din, *dout, milliseconds = -1;
  cudaStream_t stream;
  cudaEvent_t from, to;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  CHECK(cudaMalloc(&din, n * sizeof *din));
  CHECK(cudaMallocAsync(&dout, n * sizeof *dout, stream));
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
  CHECK(cudaMemcpyAsync(din, in.data(), n * sizeof *din, cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(from, stream));
  smooth<<<(n + 127) / 128, 128, 0, stream>>>(din, dout, n);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(to, stream));
  CHECK(cudaMemcpyAsync(out.data(), dout, n * sizeof *dout, cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaEventElapsedTime(&milliseconds, from, to));
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  for (int i = 0; i < n; i++)
    if (out[i] != 0.25f * in[i ? i - 1 : 0] + 0.5f * in[i] + 0.25f * in[i + 1 < n ? i + 1 : i]) return std::printf("smooth: element %d\n", i), 1;
  if (count != (unsigned)n || milliseconds < 0) return std::puts("counter"), 1;

  int *p, ranks[8], back[256];
  CHECK(cudaMalloc(&p, sizeof back));
  neighbours<<<8, 32>>>(p);
  CHECK(cudaMemcpy(ranks, p, sizeof ranks, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++)
    if (ranks[i] != 100 * (i / 4 * 4 + (i + 1) % 4) + i % 4) return std::printf("neighbours: CTA %d\n", i), 1;

  for (int i = 0; i < 256; i++) back[i] = i;
  CHECK(cudaMemcpy(p, back, sizeof back, cudaMemcpyHostToDevice));
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 256;
  config.dynamicSmemBytes = 100000;
  CHECK(cudaLaunchKernelEx(&config, reverse, p));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(back, p, sizeof back, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; i++)
    if (back[i] != 255 - i) return std::puts("reverse"), 1;
  CHECK(cudaFree(p));
  CHECK(cudaFreeAsync(dout, stream));
  CHECK(cudaFree(din));
  std::puts("right");
  return 0;
}
