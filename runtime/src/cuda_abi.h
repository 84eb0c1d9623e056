/* The part of the CUDA driver's binary interface that warpscore uses or imitates, declared in our own words.
 *
 * Two sides include it: the loader, which calls a driver opened at run time, and the emulator, which exports the same
 * functions. Handles keep the struct tags of the driver's interface, enumerations are passed as unsigned int (their
 * ABI), constants carry the prefix WS_. tests/runtime/test_cuda_abi.c holds every line against the toolkit's header
 * where there is one. Includes nothing but the standard headers. */
#ifndef WS_CUDA_ABI_H
#define WS_CUDA_ABI_H
#include <stddef.h>
#include <stdint.h>

/* ---- handles and scalars ---- */
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUlinkState_st;

typedef unsigned int ws_cu_result;          /* enum of results, below */
typedef int ws_cu_device;                   /* an ordinal */
typedef unsigned long long ws_cu_deviceptr; /* an address in device memory */

/* ---- structures: layouts are the interface's ---- */
#ifndef WS_CUDA_ABI_NO_STRUCTS
union ws_cu_launch_attribute_value {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } cluster_dim;
  int programmatic_stream_serialization;
  int priority;
};

struct ws_cu_launch_attribute {
  unsigned int id; /* WS_CU_LAUNCH_ATTRIBUTE_* */
  char pad[4];
  union ws_cu_launch_attribute_value value;
};

struct ws_cu_launch_config {
  unsigned int grid_x, grid_y, grid_z;
  unsigned int block_x, block_y, block_z;
  unsigned int shared_bytes; /* dynamic */
  struct CUstream_st *stream;
  struct ws_cu_launch_attribute *attrs;
  unsigned int nattrs;
};

struct ws_cu_tensor_map {
  _Alignas(128) uint64_t opaque[16];
};
#endif

/* ---- results: X(name, value, meaning); the emulator's cuGetErrorString is made from the third column ---- */
#define WS_CU_RESULTS(X)                                                                                              \
  X(CUDA_SUCCESS, 0, "no error")                                                                                      \
  X(CUDA_ERROR_INVALID_VALUE, 1, "an argument is out of range")                                                       \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                                     \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "the driver is not initialized: call cuInit first")                                \
  X(CUDA_ERROR_DEINITIALIZED, 4, "the driver is shutting down")                                                       \
  X(CUDA_ERROR_STUB_LIBRARY, 34, "the library is a link-time stub, not a driver")                                     \
  X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, "the call needs a newer driver")                                       \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "the device is busy or unavailable")                                           \
  X(CUDA_ERROR_NO_DEVICE, 100, "there is no device")                                                                  \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "no such device")                                                                 \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "the image is no kernel module")                                                   \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "no valid context is current")                                                   \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "the module holds no code for this device")                                    \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "an uncorrectable memory error")                                               \
  X(CUDA_ERROR_INVALID_PTX, 218, "the PTX text does not compile")                                                     \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "the driver's PTX compiler is missing")                                   \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "the PTX version is newer than the driver")                              \
  X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, "compiling PTX is switched off")                                        \
  X(CUDA_ERROR_INVALID_SOURCE, 300, "the source is invalid")                                                          \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found")                                                                 \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, "a call to the operating system failed")                                        \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "the handle is not valid")                                                        \
  X(CUDA_ERROR_ILLEGAL_STATE, 401, "a needed resource is not in a valid state")                                       \
  X(CUDA_ERROR_NOT_FOUND, 500, "the name was not found")                                                              \
  X(CUDA_ERROR_NOT_READY, 600, "work is still running")                                                               \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "a kernel used an address that is not mapped")                                   \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "the launch needs more registers, threads or memory than exist")         \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "a kernel ran too long")                                                          \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is already in use")                                  \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context is destroyed")                                                 \
  X(CUDA_ERROR_ASSERT, 710, "a device-side assertion failed")                                                         \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "a call stack is corrupt or overflowed")                                    \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "a kernel met an illegal instruction")                                       \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "a kernel used a misaligned address")                                         \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "an address is in the wrong memory space")                                 \
  X(CUDA_ERROR_INVALID_PC, 718, "the program counter left the program")                                               \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "a kernel failed")                                                                 \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "a cooperative grid does not fit at once")                          \
  X(CUDA_ERROR_NOT_PERMITTED, 800, "the operation is not permitted")                                                  \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "the operation is not supported")                                                  \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "the system's GPU services are not ready")                                      \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "the kernel driver and the library differ in version")                    \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "the device does not support the compatibility library")          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "the operation cannot be captured")                                   \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "an earlier error spoilt the capture")                                \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the operation depends on a capture implicitly")                         \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "the cluster size is invalid")                                              \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

/* ---- other constants: X(name, value) ---- */
#define WS_CU_CONSTANTS(X)                                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                                     \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                                                           \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                                                           \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                                                           \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                               \
  X(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 9)                                                                     \
  X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                                                \
  X(CU_DEVICE_ATTRIBUTE_MAX_PITCH, 11)                                                                                \
  X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                                                               \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                                     \
  X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                                                               \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                                                                             \
  X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31)                                                                       \
  X(CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32)                                                                              \
  X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                                                                               \
  X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                                                        \
  X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                           \
  X(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40)                                                                       \
  X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                                                                       \
  X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                                                                            \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                                 \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                                 \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                     \
  X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                                         \
  X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83)                                                                           \
  X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                                                       \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                                        \
  X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                                                           \
  X(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)                                                        \
  X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)                                                                  \
  X(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120)                                                                          \
  X(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 127)                                                             \
                                                                                                                      \
  X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                                       \
  X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                                           \
  X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                                                            \
  X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                                            \
  X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                                                    \
  X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                                                                 \
  X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                                                                              \
  X(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 7)                                                                               \
  X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                               \
  X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)                                                            \
  X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                                                          \
                                                                                                                      \
  X(CU_JIT_MAX_REGISTERS, 0)                                                                                          \
  X(CU_JIT_INFO_LOG_BUFFER, 3)                                                                                        \
  X(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4)                                                                             \
  X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                                       \
  X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                                                            \
  X(CU_JIT_OPTIMIZATION_LEVEL, 7)                                                                                     \
  X(CU_JIT_LOG_VERBOSE, 12)                                                                                           \
  X(CU_JIT_GENERATE_LINE_INFO, 13)                                                                                    \
  X(CU_JIT_INPUT_PTX, 1)                                                                                              \
                                                                                                                      \
  X(CU_LAUNCH_ATTRIBUTE_IGNORE, 0)                                                                                    \
  X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                                               \
  X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                                         \
  X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                                                         \
  X(CU_LAUNCH_ATTRIBUTE_PRIORITY, 8)                                                                                  \
                                                                                                                      \
  X(CU_STREAM_DEFAULT, 0)                                                                                             \
  X(CU_STREAM_NON_BLOCKING, 1)                                                                                        \
  X(CU_EVENT_DEFAULT, 0)                                                                                              \
  X(CU_EVENT_BLOCKING_SYNC, 1)                                                                                        \
  X(CU_EVENT_DISABLE_TIMING, 2)                                                                                       \
  X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                                                 \
  X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                                               \
  X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)                                                                          \
  X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                                                 \
  X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                                           \
  X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                                                                \
  X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                                                                                   \
  X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                                                                          \
  X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)                                                                    \
                                                                                                                      \
  X(CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                                                                 \
  X(CU_TENSOR_MAP_DATA_TYPE_UINT16, 1)                                                                                \
  X(CU_TENSOR_MAP_DATA_TYPE_UINT32, 2)                                                                                \
  X(CU_TENSOR_MAP_DATA_TYPE_INT32, 3)                                                                                 \
  X(CU_TENSOR_MAP_DATA_TYPE_UINT64, 4)                                                                                \
  X(CU_TENSOR_MAP_DATA_TYPE_INT64, 5)                                                                                 \
  X(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6)                                                                               \
  X(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7)                                                                               \
  X(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8)                                                                               \
  X(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9)                                                                              \
  X(CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 10)                                                                          \
  X(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 11)                                                                             \
  X(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 12)                                                                         \
  X(CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                                                                                 \
  X(CU_TENSOR_MAP_INTERLEAVE_16B, 1)                                                                                  \
  X(CU_TENSOR_MAP_INTERLEAVE_32B, 2)                                                                                  \
  X(CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                                                                    \
  X(CU_TENSOR_MAP_SWIZZLE_32B, 1)                                                                                     \
  X(CU_TENSOR_MAP_SWIZZLE_64B, 2)                                                                                     \
  X(CU_TENSOR_MAP_SWIZZLE_128B, 3)                                                                                    \
  X(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, 4)                                                                           \
  X(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, 5)                                                                   \
  X(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 6)                                                                           \
  X(CU_TENSOR_MAP_L2_PROMOTION_NONE, 0)                                                                               \
  X(CU_TENSOR_MAP_L2_PROMOTION_L2_64B, 1)                                                                             \
  X(CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                                                                            \
  X(CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3)                                                                            \
  X(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                                                                             \
  X(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, 1)

#define WS_CU_RESULT_ENUM(name, value, meaning) WS_##name = value,
#define WS_CU_CONSTANT_ENUM(name, value) WS_##name = value,
enum ws_cu_results { WS_CU_RESULTS(WS_CU_RESULT_ENUM) };
enum ws_cu_constants { WS_CU_CONSTANTS(WS_CU_CONSTANT_ENUM) };

/* ---- functions: X(need, exported name, parameters); all return ws_cu_result ----
 * need: REQUIRED by the loader, OPTIONAL (used when there, or only imitated). */
#define WS_CU_FUNCTIONS(X)                                                                                            \
  X(REQUIRED, cuInit, (unsigned int flags))                                                                           \
  X(REQUIRED, cuDriverGetVersion, (int *version))                                                                     \
  X(REQUIRED, cuGetErrorName, (ws_cu_result result, const char **name))                                               \
  X(REQUIRED, cuGetErrorString, (ws_cu_result result, const char **text))                                             \
  X(OPTIONAL, cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags))                     \
  X(OPTIONAL, cuGetProcAddress_v2,                                                                                    \
    (const char *name, void **function, int version, uint64_t flags, unsigned int *found))                            \
                                                                                                                      \
  X(REQUIRED, cuDeviceGet, (ws_cu_device *device, int ordinal))                                                       \
  X(REQUIRED, cuDeviceGetCount, (int *count))                                                                         \
  X(REQUIRED, cuDeviceGetName, (char *name, int size, ws_cu_device device))                                           \
  X(REQUIRED, cuDeviceGetAttribute, (int *value, unsigned int attribute, ws_cu_device device))                        \
  X(REQUIRED, cuDeviceTotalMem_v2, (size_t *bytes, ws_cu_device device))                                              \
  X(OPTIONAL, cuDeviceComputeCapability, (int *major, int *minor, ws_cu_device device))                               \
  X(REQUIRED, cuDevicePrimaryCtxRetain, (struct CUctx_st **context, ws_cu_device device))                             \
  X(REQUIRED, cuDevicePrimaryCtxRelease_v2, (ws_cu_device device))                                                    \
  X(OPTIONAL, cuDevicePrimaryCtxSetFlags_v2, (ws_cu_device device, unsigned int flags))                               \
  X(OPTIONAL, cuDevicePrimaryCtxGetState, (ws_cu_device device, unsigned int *flags, int *active))                    \
                                                                                                                      \
  X(OPTIONAL, cuCtxCreate_v2, (struct CUctx_st **context, unsigned int flags, ws_cu_device device))                   \
  X(OPTIONAL, cuCtxDestroy_v2, (struct CUctx_st *context))                                                            \
  X(OPTIONAL, cuCtxSetCurrent, (struct CUctx_st *context))                                                            \
  X(REQUIRED, cuCtxGetCurrent, (struct CUctx_st **context))                                                           \
  X(REQUIRED, cuCtxPushCurrent_v2, (struct CUctx_st *context))                                                        \
  X(REQUIRED, cuCtxPopCurrent_v2, (struct CUctx_st **context))                                                        \
  X(REQUIRED, cuCtxSynchronize, (void))                                                                               \
  X(OPTIONAL, cuCtxGetDevice, (ws_cu_device *device))                                                                 \
                                                                                                                      \
  X(OPTIONAL, cuModuleLoadData, (struct CUmod_st **module, const void *image))                                        \
  X(REQUIRED, cuModuleLoadDataEx,                                                                                     \
    (struct CUmod_st **module, const void *image, unsigned int noptions, unsigned int *options, void **values))       \
  X(REQUIRED, cuModuleUnload, (struct CUmod_st *module))                                                              \
  X(REQUIRED, cuModuleGetFunction, (struct CUfunc_st **function, struct CUmod_st *module, const char *name))          \
  X(OPTIONAL, cuModuleGetGlobal_v2,                                                                                   \
    (ws_cu_deviceptr *address, size_t *bytes, struct CUmod_st *module, const char *name))                             \
  X(REQUIRED, cuFuncGetAttribute, (int *value, unsigned int attribute, struct CUfunc_st *function))                   \
  X(REQUIRED, cuFuncSetAttribute, (struct CUfunc_st *function, unsigned int attribute, int value))                    \
  X(REQUIRED, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                            \
    (int *blocks, struct CUfunc_st *function, int block_size, size_t dynamic_shared))                                 \
                                                                                                                      \
  X(REQUIRED, cuMemAlloc_v2, (ws_cu_deviceptr *address, size_t bytes))                                                \
  X(REQUIRED, cuMemFree_v2, (ws_cu_deviceptr address))                                                                \
  X(REQUIRED, cuMemGetInfo_v2, (size_t *available, size_t *total))                                                    \
  X(REQUIRED, cuMemHostAlloc, (void **address, size_t bytes, unsigned int flags))                                     \
  X(REQUIRED, cuMemFreeHost, (void *address))                                                                         \
  X(OPTIONAL, cuMemcpyHtoD_v2, (ws_cu_deviceptr to, const void *from, size_t bytes))                                  \
  X(OPTIONAL, cuMemcpyDtoH_v2, (void *to, ws_cu_deviceptr from, size_t bytes))                                        \
  X(OPTIONAL, cuMemcpyDtoD_v2, (ws_cu_deviceptr to, ws_cu_deviceptr from, size_t bytes))                              \
  X(REQUIRED, cuMemcpyHtoDAsync_v2,                                                                                   \
    (ws_cu_deviceptr to, const void *from, size_t bytes, struct CUstream_st *stream))                                 \
  X(REQUIRED, cuMemcpyDtoHAsync_v2, (void *to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream))       \
  X(REQUIRED, cuMemcpyDtoDAsync_v2,                                                                                   \
    (ws_cu_deviceptr to, ws_cu_deviceptr from, size_t bytes, struct CUstream_st *stream))                             \
  X(OPTIONAL, cuMemsetD8_v2, (ws_cu_deviceptr to, unsigned char value, size_t count))                                 \
  X(OPTIONAL, cuMemsetD16_v2, (ws_cu_deviceptr to, unsigned short value, size_t count))                               \
  X(OPTIONAL, cuMemsetD32_v2, (ws_cu_deviceptr to, unsigned int value, size_t count))                                 \
  X(REQUIRED, cuMemsetD8Async,                                                                                        \
    (ws_cu_deviceptr to, unsigned char value, size_t count, struct CUstream_st *stream))                              \
  X(OPTIONAL, cuMemsetD16Async,                                                                                       \
    (ws_cu_deviceptr to, unsigned short value, size_t count, struct CUstream_st *stream))                             \
  X(REQUIRED, cuMemsetD32Async,                                                                                       \
    (ws_cu_deviceptr to, unsigned int value, size_t count, struct CUstream_st *stream))                               \
                                                                                                                      \
  X(REQUIRED, cuLaunchKernel,                                                                                         \
    (struct CUfunc_st *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,                       \
     unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,                     \
     struct CUstream_st *stream, void **params, void **extra))                                                        \
  X(OPTIONAL, cuLaunchKernelEx,                                                                                       \
    (const struct ws_cu_launch_config *config, struct CUfunc_st *function, void **params, void **extra))              \
                                                                                                                      \
  X(REQUIRED, cuStreamCreate, (struct CUstream_st **stream, unsigned int flags))                                      \
  X(REQUIRED, cuStreamDestroy_v2, (struct CUstream_st *stream))                                                       \
  X(REQUIRED, cuStreamSynchronize, (struct CUstream_st *stream))                                                      \
  X(REQUIRED, cuStreamQuery, (struct CUstream_st *stream))                                                            \
  X(OPTIONAL, cuStreamWaitEvent, (struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags))          \
  X(OPTIONAL, cuStreamIsCapturing, (struct CUstream_st *stream, unsigned int *status))                                \
  X(REQUIRED, cuEventCreate, (struct CUevent_st **event, unsigned int flags))                                         \
  X(REQUIRED, cuEventDestroy_v2, (struct CUevent_st *event))                                                          \
  X(REQUIRED, cuEventRecord, (struct CUevent_st *event, struct CUstream_st *stream))                                  \
  X(REQUIRED, cuEventSynchronize, (struct CUevent_st *event))                                                         \
  X(OPTIONAL, cuEventQuery, (struct CUevent_st *event))                                                               \
  X(REQUIRED, cuEventElapsedTime, (float *milliseconds, struct CUevent_st *from, struct CUevent_st *to))              \
                                                                                                                      \
  X(OPTIONAL, cuStreamBeginCapture_v2, (struct CUstream_st *stream, unsigned int mode))                               \
  X(OPTIONAL, cuStreamEndCapture, (struct CUstream_st *stream, struct CUgraph_st **graph))                            \
  X(OPTIONAL, cuGraphInstantiateWithFlags,                                                                            \
    (struct CUgraphExec_st **exec, struct CUgraph_st *graph, unsigned long long flags))                               \
  X(OPTIONAL, cuGraphLaunch, (struct CUgraphExec_st *exec, struct CUstream_st *stream))                               \
  X(OPTIONAL, cuGraphExecDestroy, (struct CUgraphExec_st *exec))                                                      \
  X(OPTIONAL, cuGraphDestroy, (struct CUgraph_st *graph))                                                             \
                                                                                                                      \
  X(OPTIONAL, cuTensorMapEncodeTiled,                                                                                 \
    (struct ws_cu_tensor_map *map, unsigned int type, uint32_t rank, void *address, const uint64_t *extents,          \
     const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, unsigned int interleave,          \
     unsigned int swizzle, unsigned int l2_promotion, unsigned int fill))

/* The driver's linker, which gives back the machine code that it makes of PTX. The emulator has none. */
#define WS_CU_LINKER_FUNCTIONS(X)                                                                                     \
  X(OPTIONAL, cuLinkCreate_v2,                                                                                        \
    (unsigned int noptions, unsigned int *options, void **values, struct CUlinkState_st **state))                     \
  X(OPTIONAL, cuLinkAddData_v2,                                                                                       \
    (struct CUlinkState_st *state, unsigned int type, void *data, size_t bytes, const char *name,                     \
     unsigned int noptions, unsigned int *options, void **values))                                                    \
  X(OPTIONAL, cuLinkComplete, (struct CUlinkState_st *state, void **cubin, size_t *bytes))                            \
  X(OPTIONAL, cuLinkDestroy, (struct CUlinkState_st *state))

/* A driver's entry points, by the names above. */
struct ws_cu_api {
#define WS_CU_POINTER(need, name, params) ws_cu_result(*name) params;
  WS_CU_FUNCTIONS(WS_CU_POINTER)
  WS_CU_LINKER_FUNCTIONS(WS_CU_POINTER)
#undef WS_CU_POINTER
};
#endif
