/* DLPack tensors as arguments of a launch: what a framework hands over (PyTorch, JAX, CuPy, ... : __dlpack__, or the
 * DLTensor of its C interface) without a copy. Needs nothing but this header; a program that includes DLPack's own header
 * passes its DLTensor as it is.
 *
 *   struct ws_tensor t;
 *   if (ws_tensor_from_dlpack(&managed->dl_tensor, "q", device, &t, &err)) ...
 *
 * t points into the DLTensor's shape and strides: it lives as long as that. Whoever got the DLPack tensor owns it and calls
 * its deleter once the kernel has run. Work of the framework on another stream is the caller's to wait for. */
#ifndef WARPSCORE_DLPACK_H
#define WARPSCORE_DLPACK_H
#include "warpscore.h"
#include <stdio.h>
#include <string.h>

/* The binary layout of DLPack's DLTensor (all versions up to 1.1), under names of our own. */
struct ws_dlpack_tensor {
  void *data;
  int32_t device_type; /* enum ws_dlpack_device */
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code; /* enum ws_dlpack_code */
  uint8_t type_bits;
  uint16_t type_lanes; /* 1 */
  int64_t *shape;
  int64_t *strides; /* elements; NULL = packed */
  uint64_t byte_offset;
};
enum ws_dlpack_device { WS_DLPACK_CPU = 1, WS_DLPACK_CUDA = 2, WS_DLPACK_CUDA_HOST = 3, WS_DLPACK_CUDA_MANAGED = 13 };
enum ws_dlpack_code { WS_DLPACK_INT = 0, WS_DLPACK_FLOAT = 2, WS_DLPACK_BFLOAT = 4, WS_DLPACK_E4M3FN = 10, WS_DLPACK_E5M2 = 12 };

/* The capsule "dltensor" holds this, and the program that takes it calls deleter(self) (unless NULL) in the end. */
struct ws_dlpack_managed {
  struct ws_dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct ws_dlpack_managed *self);
};

static inline enum ws_dtype ws_dtype_from_dlpack(int code, int bits, int lanes) {
  if (lanes != 1) return WS_DTYPE_NONE;
  if (code == WS_DLPACK_FLOAT) return bits == 16 ? WS_DTYPE_F16 : bits == 32 ? WS_DTYPE_F32 : WS_DTYPE_NONE;
  if (code == WS_DLPACK_BFLOAT) return bits == 16 ? WS_DTYPE_BF16 : WS_DTYPE_NONE;
  if (code == WS_DLPACK_INT) return bits == 32 ? WS_DTYPE_I32 : WS_DTYPE_NONE;
  if (code == WS_DLPACK_E4M3FN) return bits == 8 ? WS_DTYPE_E4M3 : WS_DTYPE_NONE;
  if (code == WS_DLPACK_E5M2) return bits == 8 ? WS_DTYPE_E5M2 : WS_DTYPE_NONE;
  return WS_DTYPE_NONE;
}

static inline enum ws_status ws_dlpack_fail_(struct ws_error_info *err, const char *name, const char *what, long a, long b) {
  if (!err) return WS_ERR_ARGUMENT;
  err->status = WS_ERR_ARGUMENT;
  err->driver_result = 0;
  int n = snprintf(err->message, sizeof err->message, "tensor %.80s: DLPack: ", name ? name : "(no name)");
  if (n > 0) snprintf(err->message + n, sizeof err->message - (size_t)n, what, a, b);
  return WS_ERR_ARGUMENT;
}

/* dl_tensor: a DLTensor of DLPack's header, or struct ws_dlpack_tensor. The device has to be the one that holds it; the
 * emulator takes tensors in its own memory, whatever device they name. Shapes and alignment are checked by the launch. */
static inline enum ws_status ws_tensor_from_dlpack(const void *dl_tensor, const char *name, const struct ws_device *device,
                                                   struct ws_tensor *out, struct ws_error_info *err) {
  struct ws_dlpack_tensor t;
  const struct ws_device_info *info = ws_device_get_info(device);
  if (!dl_tensor || !name || !info || !out) return ws_dlpack_fail_(err, name, "an argument is NULL", 0, 0);
  memcpy(&t, dl_tensor, sizeof t);
  if (!info->emulator && t.device_type != WS_DLPACK_CUDA && t.device_type != WS_DLPACK_CUDA_MANAGED)
    return ws_dlpack_fail_(err, name, "its memory is of device type %ld, expected 2 (CUDA): move it to the GPU",
                           (long)t.device_type, 0);
  if (t.device_type == WS_DLPACK_CUDA && t.device_id != info->ordinal)
    return ws_dlpack_fail_(err, name, "it lies on device %ld, the kernel's is %ld", (long)t.device_id, (long)info->ordinal);
  enum ws_dtype type = ws_dtype_from_dlpack(t.type_code, t.type_bits, t.type_lanes);
  if (type == WS_DTYPE_NONE)
    return ws_dlpack_fail_(err, name, "type code %ld with %ld bits: expected f16, bf16, f32, e4m3, e5m2 or i32",
                           (long)t.type_code, (long)t.type_bits);
  memset(out, 0, sizeof *out);
  out->name = name;
  out->data = (uint64_t)(uintptr_t)t.data + t.byte_offset;
  out->type = type;
  out->rank = t.ndim;
  out->shape = t.shape;
  out->stride = t.strides;
  return WS_OK;
}
#endif
