"""libwarpscore from Python: ctypes on its C interface (runtime/include/warpscore.h), nothing else needed.

    kernel = Kernel("fa2_forward.ptx", device="cuda:0", library="build/libwarpscore.so")
    launch = kernel.prepare({"q": q, "k": k, "v": v, "o": o, "lse": lse}, stream=torch.cuda.current_stream().cuda_stream)
    launch()          # queued on the stream; nothing is allocated, nothing waits

Tensors are anything with data_ptr(), shape, stride() and dtype: PyTorch's, in the order of dims that the manifest names
([batch, heads, sequence, head dim]); a transposed view is fine. Whoever prepares a launch keeps the tensors alive."""

import ctypes as c
import os

MAX_RANK, MESSAGE_SIZE = 8, 2048
DTYPES = {"torch.float16": 1, "torch.bfloat16": 2, "torch.float32": 3}  # enum ws_dtype


class ErrorInfo(c.Structure):
    _fields_ = [("status", c.c_int), ("driver_result", c.c_int), ("message", c.c_char * MESSAGE_SIZE)]


class KernelInfo(c.Structure):
    _fields_ = [(n, c.c_char_p) for n in ("entry", "target", "problem", "schedule", "tool", "lse_base", "checked", "grid")] + \
               [(n, c.c_uint32) for n in ("block", "shared", "registers", "ptx_major", "ptx_minor")]


class DeviceInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("model", c.c_char_p), ("choice", c.c_char_p), ("emulator", c.c_int), ("major", c.c_int),
                ("minor", c.c_int), ("multiprocessors", c.c_int), ("driver_version", c.c_int), ("memory", c.c_uint64),
                ("shared_per_cta", c.c_uint32)]


class Resources(c.Structure):
    _fields_ = [(n, c.c_int) for n in ("registers", "local_bytes", "static_shared", "ctas_per_sm")]


class Tensor(c.Structure):
    _fields_ = [("name", c.c_char_p), ("data", c.c_uint64), ("type", c.c_int), ("rank", c.c_int),
                ("shape", c.POINTER(c.c_int64)), ("stride", c.POINTER(c.c_int64))]


class Scalar(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_double)]


class Launch(c.Structure):
    _fields_ = [("tensors", c.POINTER(Tensor)), ("ntensors", c.c_size_t), ("scalars", c.POINTER(Scalar)),
                ("nscalars", c.c_size_t), ("stream", c.c_void_p)]


class Error(Exception):
    pass


def load_library(path=None):
    here = os.path.dirname(os.path.abspath(__file__))
    lib = c.CDLL(path or os.path.join(here, "..", "..", "build", "libwarpscore.so"))
    p, err = c.c_void_p, c.POINTER(ErrorInfo)
    signatures = {
        "ws_version": (c.c_char_p, []),
        "ws_manifest_read": (c.c_int, [c.c_char_p, c.POINTER(p), err]),
        "ws_manifest_free": (None, [p]),
        "ws_manifest_kernel": (c.POINTER(KernelInfo), [p]),
        "ws_manifest_setting": (c.c_char_p, [p, c.c_char_p]),
        "ws_manifest_check_launch": (c.c_int, [p, c.POINTER(Launch), c.POINTER(c.c_uint64), err]),
        "ws_device_open": (c.c_int, [c.c_char_p, p, p, c.POINTER(p), err]),
        "ws_device_close": (None, [p]),
        "ws_device_get_info": (c.POINTER(DeviceInfo), [p]),
        "ws_device_synchronize": (c.c_int, [p, err]),
        "ws_kernel_load_file": (c.c_int, [p, c.c_char_p, c.POINTER(p), err]),
        "ws_kernel_free": (None, [p]),
        "ws_kernel_manifest": (p, [p]),
        "ws_kernel_get_resources": (c.POINTER(Resources), [p]),
        "ws_kernel_launch": (c.c_int, [p, c.POINTER(Launch), err]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class PreparedLaunch:
    """The C structures of one launch, kept alive; calling it queues the kernel."""

    def __init__(self, kernel, tensors, stream, scalars):
        self.kernel, self.keep, self.error = kernel, [], ErrorInfo()
        array = (Tensor * len(tensors))()
        for slot, (name, t) in zip(array, tensors.items()):
            rank = len(t.shape)
            shape, stride = (c.c_int64 * rank)(*t.shape), (c.c_int64 * rank)(*t.stride())
            self.keep += [shape, stride, t]
            slot.name, slot.data, slot.type, slot.rank = name.encode(), t.data_ptr(), DTYPES.get(str(t.dtype), 0), rank
            slot.shape, slot.stride = c.cast(shape, c.POINTER(c.c_int64)), c.cast(stride, c.POINTER(c.c_int64))
        values = (Scalar * max(1, len(scalars)))()
        for slot, (name, value) in zip(values, scalars.items()):
            slot.name, slot.value = name.encode(), value
        self.keep += [array, values]
        self.launch = Launch(array, len(tensors), values, len(scalars), stream)

    def __call__(self):
        if self.kernel.lib.ws_kernel_launch(self.kernel.handle, c.byref(self.launch), c.byref(self.error)):
            raise Error(self.error.message.decode())


class Kernel:
    def __init__(self, path, device=None, library=None):
        self.lib = library if isinstance(library, c.CDLL) else load_library(library)
        self.path, self.handle, self.device, error = path, c.c_void_p(), c.c_void_p(), ErrorInfo()
        name = device.encode() if device else None
        if self.lib.ws_device_open(name, None, None, c.byref(self.device), c.byref(error)):
            raise Error(error.message.decode())
        if self.lib.ws_kernel_load_file(self.device, path.encode(), c.byref(self.handle), c.byref(error)):
            self.close()
            raise Error(error.message.decode())
        self.manifest = c.c_void_p(self.lib.ws_kernel_manifest(self.handle))
        self.info = self.lib.ws_manifest_kernel(self.manifest).contents
        self.resources = self.lib.ws_kernel_get_resources(self.handle).contents
        self.device_info = self.lib.ws_device_get_info(self.device).contents

    def setting(self, name, default=None):
        value = self.lib.ws_manifest_setting(self.manifest, name.encode())
        return value.decode() if value is not None else default

    def prepare(self, tensors, stream=0, scalars=None):
        return PreparedLaunch(self, tensors, stream, scalars or {})

    def synchronize(self):
        error = ErrorInfo()
        if self.lib.ws_device_synchronize(self.device, c.byref(error)):
            raise Error(error.message.decode())

    def close(self):
        self.lib.ws_kernel_free(self.handle)
        self.lib.ws_device_close(self.device)
        self.handle = self.device = c.c_void_p()
