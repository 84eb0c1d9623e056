/* The stand-in for the CUDA runtime, called as the code that nvcc makes of a program calls it: a fat binary, registration before
 * main, a configuration pushed and popped around a kernel's host stub. "CUDA Runtime API". The fat binaries are built here. */
#include "cudart.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- the interface, as far as it is used ---- */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block, size_t shared, struct CUstream_st *stream);
int __cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream);
int __cudaGetKernel(void **kernel, const void *function);
int __cudaLaunchKernel(void *kernel, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream);
int cudaLaunchKernel(const void *function, struct rt_dim3 grid, struct rt_dim3 block, void **args, size_t shared, struct CUstream_st *stream);
int cudaLaunchKernelExC(const struct rt_launch_config *config, const void *function, void **args);
int cudaFuncSetAttribute(const void *function, int attribute, int value);
int cudaFuncGetAttributes(struct rt_func_attributes *out, const void *function);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size, size_t shared);
int cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const struct rt_launch_config *config);
int cudaMalloc(void **p, size_t bytes);
int cudaFree(void *p);
int cudaMallocHost(void **p, size_t bytes);
int cudaFreeHost(void *p);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct CUstream_st *stream);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemcpyToSymbol(const void *variable, const void *from, size_t bytes, size_t offset, int kind);
int cudaMemcpyFromSymbol(void *to, const void *variable, size_t bytes, size_t offset, int kind);
int cudaGetSymbolSize(size_t *bytes, const void *variable);
int cudaPointerGetAttributes(struct rt_pointer_attributes *out, const void *p);
int cudaGetDeviceProperties(struct rt_device_prop *p, int device);
int cudaDeviceGetAttribute(int *value, unsigned int attr, int device);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int result);
const char *cudaGetErrorString(int result);
int cudaStreamCreate(struct CUstream_st **stream);
int cudaStreamSynchronize(struct CUstream_st *stream);
int cudaStreamDestroy(struct CUstream_st *stream);
int cudaEventCreate(struct CUevent_st **event);
int cudaEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
int cudaEventSynchronize(struct CUevent_st *event);
int cudaEventElapsedTime(float *milliseconds, struct CUevent_st *from, struct CUevent_st *to);
int cudaEventDestroy(struct CUevent_st *event);
int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, unsigned int *found);
int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version, unsigned long long flags, unsigned int *found);

/* ---- a program ---- */
#define PTX(target, bonus)                                                                                            \
  ".version 8.0\n.target " target "\n.address_size 64\n.visible .global .align 4 .u32 factor = 3;\n.visible .const .align 4 .u32 table[4];\n" \
  ".visible .global .align 4 .u32 managed = 40;\n"                                                                    \
  ".visible .entry scale(.param .u64 p, .param .u32 n)\n{\n.reg .u64 p0, a;\n.reg .u32 n0, t, x, f;\n.reg .pred q;\nld.param.u64 p0, [p];\nld.param.u32 n0, [n];\n" \
  "mov.u32 t, %ctaid.x;\nmov.u32 x, %ntid.x;\nmad.lo.u32 t, t, x, 0;\nmov.u32 x, %tid.x;\nadd.u32 t, t, x;\nsetp.ge.u32 q, t, n0;\n@q exit;\n" \
  "mul.wide.u32 a, t, 4;\nadd.u64 a, a, p0;\nld.global.u32 x, [a];\nld.global.u32 f, [factor];\nmul.lo.u32 x, x, f;\nadd.u32 x, x, " #bonus ";\nld.const.u32 f, [table+8];\nadd.u32 x, x, f;\n" \
  "ld.global.u32 f, [managed];\nadd.u32 x, x, f;\nst.global.u32 [a], x;\nret;\n}\n"                                   \
  ".visible .entry rank(.param .u64 p)\n{\n.reg .u64 p0, a;\n.reg .u32 c, r;\nld.param.u64 p0, [p];\nmov.u32 c, %ctaid.x;\nmov.u32 r, %cluster_ctarank;\n" \
  "mul.wide.u32 a, c, 4;\nadd.u64 a, a, p0;\nst.global.u32 [a], r;\nret;\n}\n"                                        \
  ".visible .entry wrong()\n{\n.reg .u64 a;\nmov.u64 a, 8;\nst.global.u64 [a], a;\nret;\n}\n"

static void put(uint8_t *p, uint64_t v, size_t bytes) { memcpy(p, &v, bytes); }

/* Appends an entry to a fat binary of *size bytes. */
static void add_entry(uint8_t *fat, size_t *size, unsigned kind, unsigned target, uint64_t flags, const void *payload, size_t bytes) {
  uint8_t *e = fat + *size;
  size_t padded = (bytes + 7) & ~(size_t)7;
  if (!*size) {
    put(fat, 0xba55ed50u, 4), put(fat + 4, 1, 2), put(fat + 6, 16, 2);
    *size = 16;
    e = fat + 16;
  }
  memset(e, 0, 64 + padded);
  put(e, kind, 2), put(e + 2, 0x101, 2), put(e + 4, 64, 4), put(e + 8, padded, 8), put(e + 28, target, 4), put(e + 40, flags, 8);
  memcpy(e + 64, payload, bytes);
  *size += 64 + padded;
  put(fat + 8, *size - 16, 8);
}

static struct { uint32_t magic, version; const void *data, *more; } wrapper = {0x466243b1, 1, NULL, NULL}, other = {0x466243b1, 1, NULL, NULL};
static uint8_t fat[16384], odd[4096];
static char scale, rank, wrong, missing, unknown; /* a kernel's host stub is an address */
static uint32_t factor, table[4], *managed;
static void **handle;

static void launch_scale(uint32_t *p, uint32_t n) { /* as a host stub does */
  struct rt_dim3 grid, block;
  size_t shared;
  struct CUstream_st *stream;
  void *kernel, *args[] = {&p, &n};
  assert_int_equal(__cudaGetKernel(&kernel, &scale), 0);
  assert_int_equal(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), 0);
  assert_int_equal(__cudaLaunchKernel(kernel, grid, block, args, shared, stream), 0);
}

static int setup(void **state) {
  (void)state;
  size_t size = 0;
  static const char old[] = PTX("sm_70", 1), good[] = PTX("sm_90", 2), late[] = PTX("sm_250", 3);
  add_entry(fat, &size, 2, 90, 0x11, "\177ELF, not for us", 16);
  add_entry(fat, &size, 1, 70, 0x11, old, sizeof old - 1);
  add_entry(fat, &size, 1, 250, 0x11, late, sizeof late - 1); /* the newest, which the device refuses */
  add_entry(fat, &size, 1, 90, 0x11, good, sizeof good - 1);
  wrapper.data = fat;
  handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &scale, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(handle, &rank, "rank", "rank", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(handle, &wrong, "wrong", "wrong", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(handle, &missing, "missing", "missing", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterVar(handle, (char *)&factor, "factor", "factor", 0, 4, 0, 0);
  __cudaRegisterVar(handle, (char *)table, "table", "table", 0, 16, 1, 0);
  __cudaRegisterManagedVar(handle, (void **)(void *)&managed, "managed", "managed", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  __cudaUnregisterFatBinary(handle);
  return 0;
}

static void test_program(void **state) {
  enum { N = 1000 };
  uint32_t *host, *device, seven = 7, consts[4] = {10, 20, 30, 40}, back = 0;
  struct CUstream_st *stream;
  struct CUevent_st *from, *to;
  float milliseconds = -1;
  size_t bytes = 0;
  (void)state;
  assert_int_equal(cudaMallocHost((void **)&host, N * 4), 0);
  assert_int_equal(cudaMalloc((void **)&device, N * 4), 0);
  assert_int_equal(cudaStreamCreate(&stream), 0);
  assert_int_equal(cudaEventCreate(&from), 0);
  assert_int_equal(cudaEventCreate(&to), 0);
  for (uint32_t i = 0; i < N; i++) host[i] = i * i;
  assert_int_equal(cudaMemcpyAsync(device, host, N * 4, COPY_HOST_TO_DEVICE, stream), 0);
  assert_int_equal(cudaMemcpyToSymbol(&factor, &seven, 4, 0, COPY_HOST_TO_DEVICE), 0);
  assert_int_equal(cudaMemcpyToSymbol(table, consts + 2, 8, 8, COPY_DEFAULT), 0);
  assert_int_equal(cudaMemcpyFromSymbol(&back, &factor, 4, 0, COPY_DEFAULT), 0);
  assert_int_equal(back, 7);
  assert_int_equal(cudaGetSymbolSize(&bytes, table), 0);
  assert_int_equal(bytes, 16);
  assert_int_equal(__cudaInitModule(handle), 1);
  assert_int_equal(*managed, 40);
  *managed = 500;
  assert_int_equal(cudaEventRecord(from, stream), 0);
  assert_int_equal(__cudaPushCallConfiguration((struct rt_dim3){8, 1, 1}, (struct rt_dim3){128, 1, 1}, 0, stream), 0);
  launch_scale(device, N);
  assert_int_equal(cudaEventRecord(to, stream), 0);
  assert_int_equal(cudaEventSynchronize(to), 0);
  assert_int_equal(cudaEventElapsedTime(&milliseconds, from, to), 0);
  assert_true(milliseconds >= 0);
  memset(host, 0xee, N * 4);
  assert_int_equal(cudaMemcpy(host, device, N * 4, COPY_DEFAULT), 0);
  assert_int_equal(cudaStreamSynchronize(stream), 0);
  for (uint32_t i = 0; i < N; i++) assert_int_equal(host[i], i * i * 7 + 2 + 30 + 500); /* 2: from the entry for sm_90 */
  assert_int_equal(cudaMemset(device, 0x11, 8), 0);
  assert_int_equal(cudaMemcpy2D(host, 8, device, 4, 4, 3, COPY_DEVICE_TO_HOST), 0);
  assert_int_equal(host[0], 0x11111111);
  assert_int_equal(host[2], 0x11111111);
  assert_int_equal(host[1], 1 * 7 + 2 + 30 + 500);
  assert_int_equal(cudaEventDestroy(from), 0);
  assert_int_equal(cudaEventDestroy(to), 0);
  assert_int_equal(cudaStreamDestroy(stream), 0);
  assert_int_equal(cudaFree(device), 0);
  assert_int_equal(cudaFreeHost(host), 0);
  assert_int_equal(cudaFree(NULL), 0);
}

static void test_clusters(void **state) {
  uint32_t *device, host[8];
  struct ws_cu_launch_attribute attrs[2] = {{.id = WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmatic_stream_serialization = 1},
                                            {.id = WS_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster_dim = {4, 1, 1}}};
  struct rt_launch_config config = {.grid = {8, 1, 1}, .block = {32, 1, 1}, .attrs = attrs, .nattrs = 2};
  int n = 0;
  (void)state;
  assert_int_equal(cudaMalloc((void **)&device, sizeof host), 0);
  void *args[] = {&device};
  assert_int_equal(cudaLaunchKernelExC(&config, &rank, args), 0);
  assert_int_equal(cudaMemcpy(host, device, sizeof host, COPY_DEVICE_TO_HOST), 0);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(host[i], i % 4);
  assert_int_equal(cudaOccupancyMaxActiveClusters(&n, &rank, &config), 0);
  assert_true(n > 0);
  config.grid.x = 7;
  assert_int_equal(cudaLaunchKernelExC(&config, &rank, args), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  assert_int_equal(cudaGetLastError(), WS_CUDA_ERROR_INVALID_CLUSTER_SIZE);
  assert_int_equal(cudaGetLastError(), 0);
  assert_int_equal(cudaFree(device), 0);
}

static void test_queries(void **state) {
  struct rt_device_prop p;
  struct rt_func_attributes a;
  struct rt_pointer_attributes where;
  int major = 0, minor = 0, blocks = 0, device = 7;
  unsigned int found = 9;
  void *buffer, *entry = NULL;
  (void)state;
  memset(&p, 0xff, sizeof p);
  assert_int_equal(cudaGetDevice(&device), 0);
  assert_int_equal(device, 0);
  assert_int_equal(cudaSetDevice(0), 0);
  assert_int_equal(cudaSetDevice(1), WS_CUDA_ERROR_INVALID_DEVICE);
  assert_int_equal(cudaGetDeviceProperties(&p, 0), 0);
  assert_int_equal(cudaDeviceGetAttribute(&major, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 0);
  assert_int_equal(cudaDeviceGetAttribute(&minor, WS_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), 0);
  assert_int_equal(p.major, major);
  assert_int_equal(p.minor, minor);
  assert_true(p.sms > 0 && p.shared_optin == 227 * 1024 && p.warp_size == 32 && p.max_grid[0] == 0x7fffffff && strstr(p.name, "emulator"));
  for (size_t i = 0; i < sizeof p.reserved / 4; i++) assert_int_equal(p.reserved[i], 0);
  assert_int_equal(cudaFuncSetAttribute(&scale, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000), 0);
  assert_int_equal(cudaFuncGetAttributes(&a, &scale), 0);
  assert_int_equal(a.max_dynamic_shared, 100000);
  assert_int_equal(cudaFuncSetAttribute(&scale, WS_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &scale, 256, 100000), 0);
  assert_int_equal(blocks, 2);
  assert_int_equal(cudaMalloc(&buffer, 64), 0);
  assert_int_equal(cudaPointerGetAttributes(&where, (char *)buffer + 63), 0);
  assert_true(where.type == 2 && where.device == 0 && where.device_pointer == (char *)buffer + 63);
  assert_int_equal(cudaPointerGetAttributes(&where, &where), 0);
  assert_true(where.type == 0 && !where.device_pointer);
  assert_int_equal(cudaFree(buffer), 0);
  assert_int_equal(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, 0, &found), 0);
  assert_true(entry && !found);
  assert_int_equal(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, 0, &found), 0);
  assert_true(!entry && found);
}

static void test_errors(void **state) {
  struct rt_dim3 one = {1, 1, 1};
  size_t shared;
  void *stream, *kernel;
  (void)state;
  cudaGetLastError();
  assert_int_equal(cudaLaunchKernel(&unknown, one, one, NULL, 0, NULL), RT_INVALID_DEVICE_FUNCTION);
  assert_int_equal(__cudaGetKernel(&kernel, &unknown), RT_INVALID_DEVICE_FUNCTION);
  assert_int_equal(cudaLaunchKernel(&missing, one, one, NULL, 0, NULL), WS_CUDA_ERROR_NOT_FOUND);
  assert_int_equal(cudaMemcpyToSymbol(&one, &one, 4, 0, COPY_DEFAULT), RT_INVALID_SYMBOL);
  assert_int_equal(cudaMemcpyToSymbol(table, table, 12, 8, COPY_DEFAULT), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cudaMemcpy(&one, &one, 4, 9), RT_INVALID_MEMCPY_DIRECTION);
  assert_int_equal(__cudaPopCallConfiguration(&one, &one, &shared, &stream), RT_MISSING_CONFIGURATION);
  assert_int_equal(cudaLaunchKernel(&scale, (struct rt_dim3){0, 1, 1}, one, NULL, 0, NULL), WS_CUDA_ERROR_INVALID_VALUE);
  assert_int_equal(cudaPeekAtLastError(), WS_CUDA_ERROR_INVALID_VALUE);
  assert_string_equal(cudaGetErrorName(RT_INVALID_SYMBOL), "cudaErrorInvalidSymbol");
  assert_string_equal(cudaGetErrorString(-5), "unrecognized error code");
  assert_string_equal(cudaGetErrorString(0), "no error");
}

/* What cannot be loaded is said by the error's text. */
static void test_odd_binaries(void **state) {
  static const char good[] = PTX("sm_90", 0);
  static const struct { unsigned kind; uint64_t flags; const char *text, *why; } cases[] = {
      {1, 0x8011, good, "compressed"}, {2, 0x11, "\177ELF", "machine code"}, {1, 0x11, ".version 8.0\n.target sm_90\nnonsense\n", "3:"}};
  struct rt_dim3 one = {1, 1, 1};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases + 3; i++) {
    size_t size = 0;
    bool broken = i >= sizeof cases / sizeof *cases;
    add_entry(odd, &size, broken ? 1 : cases[i].kind, 90, broken ? 0x11 : cases[i].flags, broken ? good : cases[i].text, broken ? sizeof good - 1 : strlen(cases[i].text));
    if (broken) put(odd + (i % 3 ? 16 + 4 * (i % 3) : 0), 0xfffffff0u, 4); /* the magic number, the length of an entry's header, of its payload */
    other.data = odd;
    void **h = __cudaRegisterFatBinary(&other);
    __cudaRegisterFunction(h, &unknown, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
    int r = cudaLaunchKernel(&unknown, one, one, NULL, 0, NULL);
    assert_int_not_equal(r, 0);
    if (!broken && !strstr(cudaGetErrorString(r), cases[i].why)) fail_msg("'%s' is not in: %s", cases[i].why, cudaGetErrorString(r));
    assert_int_equal(cudaLaunchKernel(&unknown, one, one, NULL, 0, NULL), r);
    assert_int_equal(cudaDeviceSynchronize(), r);
    assert_int_equal(cudaStreamSynchronize(NULL), r);
    if (!broken && !strstr(cudaGetErrorString(r), cases[i].why)) fail_msg("'%s' is not in: %s", cases[i].why, cudaGetErrorString(r));
    __cudaUnregisterFatBinary(h);
    assert_int_equal(cudaDeviceSynchronize(), 0);
  }
  cudaGetLastError();
}

/* A fault stays until the program ends, and its text tells the story. */
static void test_fault(void **state) {
  struct rt_dim3 one = {1, 1, 1};
  (void)state;
  assert_int_equal(cudaLaunchKernel(&wrong, one, one, NULL, 0, NULL), WS_CUDA_ERROR_ILLEGAL_ADDRESS);
  assert_int_equal(cudaDeviceSynchronize(), WS_CUDA_ERROR_ILLEGAL_ADDRESS);
  assert_non_null(strstr(cudaGetErrorString(WS_CUDA_ERROR_ILLEGAL_ADDRESS), "kernel 'wrong', line"));
  assert_null(strstr(cudaGetErrorString(WS_CUDA_ERROR_INVALID_VALUE), "wrong"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_program), cmocka_unit_test(test_clusters), cmocka_unit_test(test_queries),
                                     cmocka_unit_test(test_errors), cmocka_unit_test(test_odd_binaries), cmocka_unit_test(test_fault)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
