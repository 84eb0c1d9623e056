/* The driver's entry points for the linker alone, as the CUDA toolkit has them in lib64/stubs: a program linked with this file asks
 * for libcuda.so.1, and gets the driver's or the emulator's. No call reaches these. */
#include "../../src/cuda_abi.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
enum { STUB_LIBRARY = 34 }; /* CUDA_ERROR_STUB_LIBRARY */
#define X(need, name, params)                                             \
  __attribute__((visibility("default"))) ws_cu_result name params;        \
  ws_cu_result name params { return STUB_LIBRARY; }
WS_CU_FUNCTIONS(X)
WS_CU_LINKER_FUNCTIONS(X)
