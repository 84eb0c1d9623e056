/* Our own-words declarations against the toolkit's cuda.h: every constant, structure and function type. Compiled only
 * where that header is; that it compiles is the test. */
#include <cuda.h>
#include <stdio.h>

/* The names without a version are macros there, and stand for the newest form; the table holds exported names. */
#undef cuEventElapsedTime
#undef cuGetProcAddress
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);

#include "cuda_abi.h"

#define SAME(ours, theirs)                                                                                             \
  _Static_assert(sizeof(((struct ws_cu_launch_config *)0)->ours) == sizeof(((CUlaunchConfig *)0)->theirs), #ours);     \
  _Static_assert(offsetof(struct ws_cu_launch_config, ours) == offsetof(CUlaunchConfig, theirs), #ours);
SAME(grid_x, gridDimX)
SAME(grid_y, gridDimY)
SAME(grid_z, gridDimZ)
SAME(block_x, blockDimX)
SAME(block_y, blockDimY)
SAME(block_z, blockDimZ)
SAME(shared_bytes, sharedMemBytes)
SAME(stream, hStream)
SAME(attrs, attrs)
SAME(nattrs, numAttrs)
_Static_assert(sizeof(struct ws_cu_launch_config) == sizeof(CUlaunchConfig), "launch configuration");
_Static_assert(sizeof(struct ws_cu_launch_attribute) == sizeof(CUlaunchAttribute), "launch attribute");
_Static_assert(offsetof(struct ws_cu_launch_attribute, value) == offsetof(CUlaunchAttribute, value),
               "launch attribute");
_Static_assert(offsetof(union ws_cu_launch_attribute_value, cluster_dim.z) ==
                   offsetof(CUlaunchAttributeValue, clusterDim.z),
               "cluster");
_Static_assert(sizeof(struct ws_cu_tensor_map) == sizeof(CUtensorMap), "tensor map");
_Static_assert(_Alignof(struct ws_cu_tensor_map) == _Alignof(CUtensorMap), "tensor map");
_Static_assert(sizeof(ws_cu_device) == sizeof(CUdevice) && sizeof(ws_cu_deviceptr) == sizeof(CUdeviceptr), "scalars");

#define RESULT(name, value, meaning) _Static_assert(name == value && WS_##name == value, #name);
#define CONSTANT(name, value) _Static_assert(name == value && WS_##name == value, #name);
WS_CU_RESULTS(RESULT)
WS_CU_CONSTANTS(CONSTANT)

/* Function types, with the structures that differ in name only exchanged for theirs. */
#define ws_cu_launch_config CUlaunchConfig_st
#define ws_cu_tensor_map CUtensorMap_st
#define FUNCTION(need, name, params)                                                                                   \
  _Static_assert(__builtin_types_compatible_p(ws_cu_result params, __typeof__(name)), #name);
WS_CU_FUNCTIONS(FUNCTION)
WS_CU_LINKER_FUNCTIONS(FUNCTION)

int main(void) {
  puts("the declarations agree with cuda.h");
  return 0;
}
