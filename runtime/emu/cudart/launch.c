/* Launches, attributes of kernels, occupancy. "CUDA Runtime API", Execution Control and Occupancy. */
#include "cudart.h"

/* ---- kernel<<<grid, block, shared, stream>>>(..): the compiler pushes the configuration, the kernel's host stub pops it ---- */
enum { PUSHED = 8 };
struct configuration { struct rt_dim3 grid, block; size_t shared; struct CUstream_st *stream; };
static _Thread_local struct configuration pushed[PUSHED];
static _Thread_local int npushed;

__attribute__((visibility("default"))) unsigned int __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block, size_t shared, struct CUstream_st *stream);
__attribute__((visibility("default"))) unsigned int __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block, size_t shared, struct CUstream_st *stream) {
  if (npushed == PUSHED) return (unsigned int)ws_cudart_result(RT_INVALID_CONFIGURATION);
  pushed[npushed++] = (struct configuration){grid, block, shared, stream};
  return 0;
}

RT __cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream);
RT __cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream) {
  if (!npushed) return ws_cudart_result(RT_MISSING_CONFIGURATION);
  const struct configuration *c = &pushed[--npushed];
  *grid = c->grid;
  *block = c->block;
  *shared = c->shared;
  *(struct CUstream_st **)stream = c->stream;
  return 0;
}

/* The driver calls an impossible launch shape a bad argument. */
static int launch(const struct rt_launch_config *c, const void *host_function, void **args) {
  struct CUfunc_st *f;
  int r = ws_cudart_function(host_function, &f);
  if (r) return ws_cudart_result(r);
  if (c->shared_bytes > UINT32_MAX) return ws_cudart_result(WS_CUDA_ERROR_INVALID_VALUE);
  struct ws_cu_launch_config config = {.grid_x = c->grid.x, .grid_y = c->grid.y, .grid_z = c->grid.z, .block_x = c->block.x, .block_y = c->block.y,
                                       .block_z = c->block.z, .shared_bytes = (unsigned int)c->shared_bytes, .stream = c->stream, .attrs = c->attrs,
                                       .nattrs = c->nattrs};
  r = (int)cuLaunchKernelEx(&config, f, args, NULL);
  return ws_cudart_result(r);
}

RT cudaLaunchKernel(const void *function, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream);
RT cudaLaunchKernel(const void *function, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream) {
  return launch(&(struct rt_launch_config){.grid = grid, .block = block, .shared_bytes = shared, .stream = stream}, function, args);
}

/* The first parameter is a cudaKernel_t, which here is what the host function stands for. */
RT __cudaLaunchKernel(void *kernel, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream);
RT __cudaLaunchKernel(void *kernel, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream) {
  return launch(&(struct rt_launch_config){.grid = grid, .block = block, .shared_bytes = shared, .stream = stream}, kernel, args);
}

RT cudaLaunchKernelExC(const struct rt_launch_config *config, const void *function, void **args);
RT cudaLaunchKernelExC(const struct rt_launch_config *config, const void *function, void **args) {
  return config ? launch(config, function, args) : ws_cudart_result(WS_CUDA_ERROR_INVALID_VALUE);
}

static int get_kernel(void **kernel, const void *function) {
  struct rt_kernel *k = ws_cudart_kernel(function);
  if (!kernel || !k) return ws_cudart_result(kernel ? RT_INVALID_DEVICE_FUNCTION : WS_CUDA_ERROR_INVALID_VALUE);
  *kernel = k;
  return 0;
}
RT __cudaGetKernel(void **kernel, const void *function);
RT __cudaGetKernel(void **kernel, const void *function) { return get_kernel(kernel, function); }
RT cudaGetKernel(void **kernel, const void *function);
RT cudaGetKernel(void **kernel, const void *function) { return get_kernel(kernel, function); }

RT cudaGetFuncBySymbol(struct CUfunc_st **f, const void *function);
RT cudaGetFuncBySymbol(struct CUfunc_st **f, const void *function) {
  return ws_cudart_result(f ? ws_cudart_function(function, f) : (int)WS_CUDA_ERROR_INVALID_VALUE);
}

/* ---- attributes ---- */
/* cudaFuncAttribute* has the numbers of CU_FUNC_ATTRIBUTE_*. */
RT cudaFuncSetAttribute(const void *function, int attribute, int value);
RT cudaFuncSetAttribute(const void *function, int attribute, int value) {
  struct CUfunc_st *f;
  int r = ws_cudart_function(function, &f);
  if (!r) r = (int)cuFuncSetAttribute(f, (unsigned int)attribute, value);
  return ws_cudart_result(r);
}

RT cudaFuncSetCacheConfig(const void *function, int config);
RT cudaFuncSetCacheConfig(const void *function, int config) {
  struct CUfunc_st *f;
  (void)config; /* a preference */
  return ws_cudart_result(ws_cudart_function(function, &f));
}

RT cudaFuncGetAttributes(struct rt_func_attributes *out, const void *function);
RT cudaFuncGetAttributes(struct rt_func_attributes *out, const void *function) {
  struct CUfunc_st *f;
  int r = out ? ws_cudart_function(function, &f) : (int)WS_CUDA_ERROR_INVALID_VALUE, shared = 0, local = 0;
  if (r) return ws_cudart_result(r);
  *out = (struct rt_func_attributes){0};
  const struct { unsigned int attribute; int *value; } list[] = {
      {WS_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->max_threads}, {WS_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
      {WS_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local}, {WS_CU_FUNC_ATTRIBUTE_NUM_REGS, &out->registers},
      {WS_CU_FUNC_ATTRIBUTE_PTX_VERSION, &out->ptx_version}, {WS_CU_FUNC_ATTRIBUTE_BINARY_VERSION, &out->binary_version},
      {WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &out->max_dynamic_shared},
      {WS_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &out->carveout},
      {WS_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &out->non_portable_cluster}};
  for (size_t i = 0; !r && i < sizeof list / sizeof *list; i++) r = (int)cuFuncGetAttribute(list[i].value, list[i].attribute, f);
  out->shared_bytes = (size_t)shared;
  out->local_bytes = (size_t)local;
  return ws_cudart_result(r);
}

/* ---- occupancy ---- */
static int occupancy(int *blocks, const void *function, int block_size, size_t shared) {
  struct CUfunc_st *f;
  int r = ws_cudart_function(function, &f);
  if (!r) r = (int)cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, block_size, shared);
  return ws_cudart_result(r);
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size, size_t shared);
RT cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size, size_t shared) {
  return occupancy(blocks, function, block_size, shared);
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block_size, size_t shared, unsigned int flags);
RT cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block_size, size_t shared, unsigned int flags) {
  (void)flags;
  return occupancy(blocks, function, block_size, shared);
}

/* Each SM takes what one CTA after the other leaves; GPCs are not modelled. */
RT cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const struct rt_launch_config *config);
RT cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const struct rt_launch_config *config) {
  int blocks = 0, sms = 0;
  unsigned int size = 1;
  if (!clusters || !config) return ws_cudart_result(WS_CUDA_ERROR_INVALID_VALUE);
  for (unsigned int i = 0; i < config->nattrs; i++)
    if (config->attrs[i].id == WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      size = config->attrs[i].value.cluster_dim.x * config->attrs[i].value.cluster_dim.y * config->attrs[i].value.cluster_dim.z;
  int r = occupancy(&blocks, function, (int)(config->block.x * config->block.y * config->block.z), config->shared_bytes);
  if (!r) r = (int)cuDeviceGetAttribute(&sms, WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  if (!r) *clusters = size ? blocks * sms / (int)size : 0;
  return ws_cudart_result(r);
}
