/* libcudart.so.13: a stand-in for the CUDA runtime, for programs that nvcc built with `-cudart shared -no-compress` and that carry
 * PTX (`-gencode arch=compute_X,code=compute_X`). They run unmodified on the emulator: host code, kernels and their own check.
 *
 *     fatbin.c    the PTX in a fat binary
 *     registry.c  what the compiler registers before main: binaries, kernels, variables; modules are loaded at their first use
 *     launch.c    launches, attributes of kernels, occupancy
 *     memory.c    memory, copies, fills, symbols
 *     device.c    the device, streams, events, errors, look-up of driver functions
 *     stub.c      no part of it: libcuda.so for the linker
 *
 * Every call becomes calls of the driver API (../../src/cuda_abi.h) in the primary context. The declarations are our own words for
 * the binary interface that the CUDA Runtime API documentation and the compiler's registration calls describe; the names are those
 * of the interface. Structures are those of version 13. What is not here is not offered: graphs, textures, managed memory between
 * devices, cooperative launches, separate compilation (-rdc), machine code, compressed fat binaries. */
#ifndef WS_CUDART_H
#define WS_CUDART_H
#include "../../src/cuda_abi.h"
#include <stdbool.h>

#define WS_CUDART_DECLARE(need, name, params) ws_cu_result name params;
WS_CU_FUNCTIONS(WS_CUDART_DECLARE)
#undef WS_CUDART_DECLARE

#define RT __attribute__((visibility("default"))) int
enum { RUNTIME_VERSION = 13000 };

/* ---- "CUDA Runtime API", Data types used by CUDA Runtime. Results have the driver's numbers but for the few below. ---- */
enum { RT_INVALID_CONFIGURATION = 9, RT_INVALID_SYMBOL = 13, RT_INVALID_MEMCPY_DIRECTION = 21, RT_MISSING_CONFIGURATION = 52, RT_INVALID_DEVICE_FUNCTION = 98 };
enum { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };
struct rt_dim3 { unsigned int x, y, z; };
struct rt_launch_config {
  struct rt_dim3 grid, block;
  size_t shared_bytes;
  struct CUstream_st *stream;
  struct ws_cu_launch_attribute *attrs;
  unsigned int nattrs;
};
struct rt_func_attributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout, cluster_must_be_set;
  int cluster_width, cluster_height, cluster_depth, cluster_policy, non_portable_cluster, reserved[16];
};
struct rt_pointer_attributes { int type /* 0 unregistered, 1 host, 2 device */, device; void *device_pointer, *host_pointer; long reserved[8]; };
struct rt_device_prop {
  char name[256], uuid[16], luid[8];
  unsigned int node_mask;
  size_t global_bytes, shared_per_block;
  int regs_per_block, warp_size;
  size_t pitch;
  int max_threads, max_block[3], max_grid[3];
  size_t const_bytes;
  int major, minor;
  size_t texture_align, texture_pitch_align;
  int sms, integrated, map_host, textures[25], surfaces[14]; /* 1D .. cubemap layered; the emulator has none */
  size_t surface_align;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing, bus_width, l2_bytes, persisting_l2, max_threads_per_sm;
  int stream_priorities, global_l1, local_l1;
  size_t shared_per_sm;
  int regs_per_sm, managed, multi_gpu, multi_gpu_group, native_atomics, pageable, concurrent_managed, preemption, host_pointers, cooperative;
  size_t shared_optin;
  int host_page_tables, direct_managed, max_blocks_per_sm, access_window;
  size_t shared_reserved;
  int host_register, sparse, host_register_read_only, semaphores, memory_pools, rdma;
  unsigned int rdma_options;
  int rdma_ordering;
  unsigned int pool_handles;
  int deferred_arrays, ipc_event, cluster_launch, function_pointers, numa_config, numa_id, mps, host_numa;
  unsigned int pci_id, pci_subsystem;
  int host_numa_multinode, reserved[56];
};

/* ---- fatbin.c ---- */
/* The PTX entry number `nth`, newest target first, of the binary that the compiler's wrapper names: a copy with a terminator, to be
 * freed. NULL with a reason in why. */
char *ws_cudart_ptx(const void *wrapper, unsigned int nth, char *why, size_t n);

/* ---- registry.c; all thread-safe ---- */
struct rt_kernel; /* what a kernel's host function or cudaKernel_t stands for */
int ws_cudart_begin(void);                                          /* the primary context is made and current; a runtime result */
struct rt_kernel *ws_cudart_kernel(const void *host_function);      /* or NULL */
int ws_cudart_function(const void *host_function, struct CUfunc_st **f); /* loads its module if need be */
int ws_cudart_broken(void); /* the result of a load that failed, of a binary that is still registered; 0 = none */
int ws_cudart_symbol(const void *host_variable, ws_cu_deviceptr *address, size_t *bytes);

/* ---- device.c ---- */
int ws_cudart_result(int result); /* remembered for cudaGetLastError; returned */
/* The story behind a result, for cudaGetErrorString: of the load that failed. */
void ws_cudart_say(int result, const char *text);
#endif
