"""libwarpscore from Python: ctypes on its C interface (runtime/include/warpscore.h), nothing else needed.

    kernel = Kernel("fa2_forward.ptx", device="cuda:0", library="build/libwarpscore.so")
    launch = kernel.prepare({"q": q, "k": k, "v": v, "o": o, "lse": lse}, stream=torch.cuda.current_stream().cuda_stream)
    launch()          # queued on the stream; nothing is allocated, nothing waits

Tensors are anything with data_ptr(), shape, stride() and dtype: PyTorch's, in the order of dims that the manifest names
([batch, heads, sequence, head dim]); a transposed view is fine. Or anything with __dlpack__ (JAX, CuPy, ...). A prepared launch
keeps its tensors alive and belongs to one thread; a kernel may be used by all."""

import ctypes as c
import os

MAX_RANK, MESSAGE_SIZE = 8, 2048
DTYPES = {"torch.float16": 1, "torch.bfloat16": 2, "torch.float32": 3}  # enum ws_dtype
DLPACK_DTYPES = {(2, 16): 1, (4, 16): 2, (2, 32): 3, (10, 8): 4, (12, 8): 5, (0, 32): 6}  # (code, bits); warpscore_dlpack.h
LOAD_SOURCES = ("compiled", "cached", "cubin")  # enum ws_load_source


class ErrorInfo(c.Structure):
    _fields_ = [("status", c.c_int), ("driver_result", c.c_int), ("message", c.c_char * MESSAGE_SIZE)]


class KernelInfo(c.Structure):
    _fields_ = [(n, c.c_char_p) for n in ("entry", "target", "problem", "schedule", "tool", "lse_base", "checked", "grid")] + \
               [(n, c.c_uint32) for n in ("persistent", "block", "shared", "registers", "ptx_major", "ptx_minor", "cluster")]


class DeviceOptions(c.Structure):
    _fields_ = [("driver_path", c.c_char_p), ("emulator_path", c.c_char_p), ("context", c.c_void_p), ("cache_folder", c.c_char_p)]


class DeviceInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("model", c.c_char_p), ("choice", c.c_char_p), ("emulator", c.c_int), ("ordinal", c.c_int),
                ("major", c.c_int), ("minor", c.c_int), ("multiprocessors", c.c_int), ("driver_version", c.c_int),
                ("memory", c.c_uint64), ("shared_per_cta", c.c_uint32)]


class Resources(c.Structure):
    _fields_ = [(n, c.c_int) for n in ("registers", "local_bytes", "static_shared", "ctas_per_sm")]


class LoadInfo(c.Structure):
    _fields_ = [("source", c.c_int), ("seconds", c.c_double), ("cache", c.c_char_p)]


class Tensor(c.Structure):
    _fields_ = [("name", c.c_char_p), ("data", c.c_uint64), ("type", c.c_int), ("rank", c.c_int),
                ("shape", c.POINTER(c.c_int64)), ("stride", c.POINTER(c.c_int64))]


class Scalar(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_double)]


class Launch(c.Structure):
    _fields_ = [("tensors", c.POINTER(Tensor)), ("ntensors", c.c_size_t), ("scalars", c.POINTER(Scalar)),
                ("nscalars", c.c_size_t), ("stream", c.c_void_p), ("workspace", c.c_uint64), ("workspace_bytes", c.c_size_t),
                ("sm_count", c.c_uint32), ("sm_margin", c.c_uint32)]


class Plan(c.Structure):
    _fields_ = [("grid", c.c_uint64), ("block", c.c_uint32), ("shared", c.c_uint32), ("sms", c.c_uint32),
                ("workspace_bytes", c.c_size_t)]


class Need(c.Structure):
    _fields_ = [("problem", c.c_char_p), ("type", c.c_int), ("head_dim", c.c_int64), ("mask", c.c_char_p), ("queries", c.c_int64),
                ("keys", c.c_int64)]


class Choice(c.Structure):
    _fields_ = [("file", c.c_char_p), ("row", c.c_size_t), ("line", c.c_int), ("reason", c.c_char * 1024)]


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
        "ws_device_open": (c.c_int, [c.c_char_p, p, c.POINTER(DeviceOptions), c.POINTER(p), err]),
        "ws_device_close": (None, [p]),
        "ws_device_get_info": (c.POINTER(DeviceInfo), [p]),
        "ws_device_synchronize": (c.c_int, [p, err]),
        "ws_memory_alloc": (c.c_int, [p, c.c_size_t, c.POINTER(c.c_uint64), err]),
        "ws_memory_free": (c.c_int, [p, c.c_uint64, err]),
        "ws_memory_upload": (c.c_int, [p, c.c_uint64, p, c.c_size_t, p, err]),
        "ws_memory_download": (c.c_int, [p, p, c.c_uint64, c.c_size_t, p, err]),
        "ws_kernel_load_file": (c.c_int, [p, c.c_char_p, c.POINTER(p), err]),
        "ws_kernel_free": (None, [p]),
        "ws_kernel_manifest": (p, [p]),
        "ws_kernel_get_resources": (c.POINTER(Resources), [p]),
        "ws_kernel_get_load_info": (c.POINTER(LoadInfo), [p]),
        "ws_kernel_launch": (c.c_int, [p, c.POINTER(Launch), err]),
        "ws_kernel_plan": (c.c_int, [p, c.POINTER(Launch), c.POINTER(Plan), err]),
        "ws_table_read": (c.c_int, [c.c_char_p, c.POINTER(p), err]),
        "ws_table_free": (None, [p]),
        "ws_table_choose": (c.c_int, [p, p, c.POINTER(Need), c.POINTER(Choice), err]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def call(function, *arguments):
    """One call of the library, its error an exception."""
    error = ErrorInfo()
    if function(*arguments, c.byref(error)):
        raise Error(error.message.decode())


class DLPackTensor(c.Structure):
    """The head of the structure in a "dltensor" capsule: DLPack's DLTensor."""
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("byte_offset", c.c_uint64)]


def from_dlpack(slot, tensor, device, stream):
    """Fills a Tensor; returns the capsule, which owns the memory and frees it when it is dropped unused."""
    if device.emulator:
        capsule = tensor.__dlpack__()
    else:  # 1: the default stream; the producer makes our stream wait for its work
        capsule = tensor.__dlpack__(stream=stream or 1)
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    t = DLPackTensor.from_address(get(capsule, b"dltensor"))
    if not device.emulator and t.device_type not in (2, 13):
        raise Error(f"tensor {slot.name.decode()}: its memory is of DLPack device type {t.device_type}: move it to the GPU")
    if t.device_type == 2 and t.device_id != device.ordinal:
        raise Error(f"tensor {slot.name.decode()}: it lies on device {t.device_id}, the kernel's is {device.ordinal}")
    if t.lanes != 1 or (t.code, t.bits) not in DLPACK_DTYPES:
        raise Error(f"tensor {slot.name.decode()}: DLPack type code {t.code} with {t.bits} bits is none that kernels take")
    slot.data, slot.type, slot.rank = (t.data or 0) + t.byte_offset, DLPACK_DTYPES[t.code, t.bits], t.ndim
    slot.shape, slot.stride = t.shape, t.strides
    return capsule


class PreparedLaunch:
    """The C structures of one launch, kept alive; calling it queues the kernel."""

    def __init__(self, kernel, tensors, stream, scalars, workspace=(0, 0), sm_count=0, sm_margin=0):
        self.kernel, self.keep, self.error = kernel, [], ErrorInfo()
        array = (Tensor * len(tensors))()
        for slot, (name, t) in zip(array, tensors.items()):
            slot.name = name.encode()
            if not hasattr(t, "data_ptr"):
                self.keep += [t, from_dlpack(slot, t, kernel.device_info, stream)]
                continue
            rank = len(t.shape)
            shape, stride = (c.c_int64 * rank)(*t.shape), (c.c_int64 * rank)(*t.stride())
            self.keep += [shape, stride, t]
            slot.data, slot.type, slot.rank = t.data_ptr(), DTYPES.get(str(t.dtype), 0), rank
            slot.shape, slot.stride = c.cast(shape, c.POINTER(c.c_int64)), c.cast(stride, c.POINTER(c.c_int64))
        values = (Scalar * max(1, len(scalars)))()
        for slot, (name, value) in zip(values, scalars.items()):
            slot.name, slot.value = name.encode(), value
        self.keep += [array, values]
        self.launch = Launch(array, len(tensors), values, len(scalars), stream, workspace[0], workspace[1], sm_count, sm_margin)

    def __call__(self):
        if self.kernel.lib.ws_kernel_launch(self.kernel.handle, c.byref(self.launch), c.byref(self.error)):
            raise Error(self.error.message.decode())

    def plan(self):
        plan = Plan()
        call(self.kernel.lib.ws_kernel_plan, self.kernel.handle, c.byref(self.launch), c.byref(plan))
        return plan


class Table:
    """Which kernel for which problem: choose() gives the file and, in words, why that one."""

    def __init__(self, path, device=None, library=None):
        self.lib = library if isinstance(library, c.CDLL) else load_library(library)
        self.handle, self.device = c.c_void_p(), c.c_void_p()
        call(self.lib.ws_table_read, path.encode(), c.byref(self.handle))
        try:
            call(self.lib.ws_device_open, device.encode() if device else None, None, None, c.byref(self.device))
        except Error:
            self.close()
            raise

    def choose(self, problem, dtype, head_dim, mask, queries, keys):
        need = Need(problem.encode(), DTYPES[str(dtype)], head_dim, mask.encode(), queries, keys)
        choice = Choice()
        call(self.lib.ws_table_choose, self.handle, self.device, c.byref(need), c.byref(choice))
        return choice.file.decode(), choice.reason.decode()

    def close(self):
        self.lib.ws_table_free(self.handle)
        self.lib.ws_device_close(self.device)
        self.handle = self.device = c.c_void_p()


class Kernel:
    def __init__(self, path, device=None, library=None, cache_folder=None):
        self.lib = library if isinstance(library, c.CDLL) else load_library(library)
        self.path, self.handle, self.device = path, c.c_void_p(), c.c_void_p()
        options = DeviceOptions(cache_folder=cache_folder.encode() if cache_folder else None)
        call(self.lib.ws_device_open, device.encode() if device else None, None, c.byref(options), c.byref(self.device))
        try:
            call(self.lib.ws_kernel_load_file, self.device, path.encode(), c.byref(self.handle))
        except Error:
            self.close()
            raise
        self.manifest = c.c_void_p(self.lib.ws_kernel_manifest(self.handle))
        self.info = self.lib.ws_manifest_kernel(self.manifest).contents
        self.resources = self.lib.ws_kernel_get_resources(self.handle).contents
        self.load = self.lib.ws_kernel_get_load_info(self.handle).contents
        self.device_info = self.lib.ws_device_get_info(self.device).contents

    def setting(self, name, default=None):
        value = self.lib.ws_manifest_setting(self.manifest, name.encode())
        return value.decode() if value is not None else default

    def prepare(self, tensors, stream=0, scalars=None, **more):
        return PreparedLaunch(self, tensors, stream, scalars or {}, **more)

    def synchronize(self):
        call(self.lib.ws_device_synchronize, self.device)

    def close(self):
        self.lib.ws_kernel_free(self.handle)
        self.lib.ws_device_close(self.device)
        self.handle = self.device = c.c_void_p()
