/* The structures of the stand-in for the CUDA runtime against the toolkit's headers. Compiled only where there are some. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include "cudart.h"

#define SAME_SIZE(a, b) _Static_assert(sizeof(a) == sizeof(b), #a)
#define SAME(a, fa, b, fb) _Static_assert(offsetof(a, fa) == offsetof(b, fb) && sizeof(((a *)0)->fa) == sizeof(((b *)0)->fb), #fb)
#define PROP(own, theirs) SAME(struct rt_device_prop, own, struct cudaDeviceProp, theirs)
#define FUNC(own, theirs) SAME(struct rt_func_attributes, own, struct cudaFuncAttributes, theirs)

SAME_SIZE(struct rt_dim3, dim3);
SAME_SIZE(struct rt_launch_config, cudaLaunchConfig_t);
SAME(struct rt_launch_config, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SAME(struct rt_launch_config, attrs, cudaLaunchConfig_t, attrs);
SAME(struct rt_launch_config, nattrs, cudaLaunchConfig_t, numAttrs);
SAME_SIZE(struct ws_cu_launch_attribute, cudaLaunchAttribute);
SAME(struct ws_cu_launch_attribute, value, cudaLaunchAttribute, val);
SAME_SIZE(struct rt_func_attributes, struct cudaFuncAttributes);
FUNC(shared_bytes, sharedSizeBytes); FUNC(max_threads, maxThreadsPerBlock); FUNC(registers, numRegs); FUNC(binary_version, binaryVersion);
FUNC(max_dynamic_shared, maxDynamicSharedSizeBytes); FUNC(cluster_width, requiredClusterWidth); FUNC(non_portable_cluster, nonPortableClusterSizeAllowed);
SAME_SIZE(struct rt_pointer_attributes, struct cudaPointerAttributes);
SAME(struct rt_pointer_attributes, device_pointer, struct cudaPointerAttributes, devicePointer);
SAME(struct rt_pointer_attributes, host_pointer, struct cudaPointerAttributes, hostPointer);
#if CUDART_VERSION >= 13000
SAME_SIZE(struct rt_device_prop, struct cudaDeviceProp);
PROP(global_bytes, totalGlobalMem); PROP(max_block, maxThreadsDim); PROP(max_grid, maxGridSize); PROP(major, major); PROP(minor, minor); PROP(sms, multiProcessorCount);
PROP(map_host, canMapHostMemory); PROP(surface_align, surfaceAlignment); PROP(concurrent_kernels, concurrentKernels); PROP(async_engines, asyncEngineCount);
PROP(unified_addressing, unifiedAddressing); PROP(l2_bytes, l2CacheSize); PROP(max_threads_per_sm, maxThreadsPerMultiProcessor); PROP(shared_per_sm, sharedMemPerMultiprocessor);
PROP(regs_per_sm, regsPerMultiprocessor); PROP(cooperative, cooperativeLaunch); PROP(shared_optin, sharedMemPerBlockOptin); PROP(max_blocks_per_sm, maxBlocksPerMultiProcessor);
PROP(shared_reserved, reservedSharedMemPerBlock); PROP(cluster_launch, clusterLaunch); PROP(host_numa, hostNumaId); PROP(reserved, reserved);
#endif
#define SAME_VALUE(a, b) _Static_assert((int)(a) == (int)(b), #a)
SAME_VALUE(RT_INVALID_CONFIGURATION, cudaErrorInvalidConfiguration);
SAME_VALUE(RT_INVALID_SYMBOL, cudaErrorInvalidSymbol);
SAME_VALUE(RT_INVALID_MEMCPY_DIRECTION, cudaErrorInvalidMemcpyDirection);
SAME_VALUE(RT_MISSING_CONFIGURATION, cudaErrorMissingConfiguration);
SAME_VALUE(RT_INVALID_DEVICE_FUNCTION, cudaErrorInvalidDeviceFunction);
SAME_VALUE(COPY_HOST_TO_DEVICE, cudaMemcpyHostToDevice);
SAME_VALUE(COPY_DEVICE_TO_HOST, cudaMemcpyDeviceToHost);
SAME_VALUE(COPY_DEFAULT, cudaMemcpyDefault);
SAME_VALUE(WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, cudaFuncAttributeMaxDynamicSharedMemorySize);
SAME_VALUE(WS_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, cudaDevAttrMultiProcessorCount);

int main(void) {
  puts("the structures agree with the CUDA runtime's headers");
  return 0;
}
