"""check_ctypes.py FOLDER LIBRARY COPY.ptx LAYOUT: examples/pytorch/warpscore.py without PyTorch, on the emulator. Its structures
have the layout that the C compiler prints (LAYOUT, the program), and a launch with plain and with DLPack tensors does what it says."""

import ctypes as c
import random
import subprocess
import sys
import tempfile

folder, library, kernel_path, layout = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, folder)
import warpscore as w

STRUCTURES = {"ws_error_info": w.ErrorInfo, "ws_kernel_info": w.KernelInfo, "ws_device_options": w.DeviceOptions,
              "ws_device_info": w.DeviceInfo, "ws_kernel_resources": w.Resources, "ws_load_info": w.LoadInfo, "ws_tensor": w.Tensor,
              "ws_scalar": w.Scalar, "ws_launch": w.Launch, "ws_plan": w.Plan, "ws_need": w.Need, "ws_choice": w.Choice}


def check_layout():
    seen = set()
    for line in subprocess.run([layout], check=True, capture_output=True, text=True).stdout.splitlines():
        name, *numbers = line.split()
        struct, _, member = name.partition(".")
        if member:
            field = getattr(STRUCTURES[struct], member)
            assert [field.offset, field.size] == [int(n) for n in numbers], f"{line}: {field.offset} {field.size} in Python"
            seen.add((struct, member))
        else:
            assert c.sizeof(STRUCTURES[struct]) == int(numbers[0]), f"{line}: {c.sizeof(STRUCTURES[struct])} in Python"
    assert seen == {(s, f[0]) for s, t in STRUCTURES.items() for f in t._fields_}, "a member is missing on one side"


class Buffer:
    """A tensor in the emulator's memory: what torch's looks like to warpscore.py."""

    def __init__(self, lib, device, dtype, shape, values=None):
        self.lib, self.device, self.dtype, self.shape = lib, device, dtype, shape
        self.count = 1
        for n in shape:
            self.count *= n
        self.type = c.c_float if dtype == "torch.float32" else c.c_uint16
        address = c.c_uint64()
        w.call(lib.ws_memory_alloc, device, c.sizeof(self.type) * self.count, c.byref(address))
        self.address = address.value
        host = (self.type * self.count)(*(values or [7] * self.count))
        w.call(lib.ws_memory_upload, device, self.address, host, c.sizeof(host), None)

    def data_ptr(self):
        return self.address

    def stride(self):
        strides, n = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, n)
            n *= extent
        return strides

    def read(self):
        host = (self.type * self.count)()
        w.call(self.lib.ws_memory_download, self.device, host, self.address, c.sizeof(host), None)
        return list(host)

    def free(self):
        w.call(self.lib.ws_memory_free, self.device, self.address)


class OnlyDLPack:
    def __init__(self, buffer):
        self.buffer, rank = buffer, len(buffer.shape)
        self.shape, self.strides = (c.c_int64 * rank)(*buffer.shape), (c.c_int64 * rank)(*buffer.stride())
        code, bits = (2, 32) if buffer.type is c.c_float else (4, 16)
        self.managed = w.DLPackTensor(buffer.address - 64, 1, 0, rank, code, bits, 1, self.shape, self.strides, 64)

    def __dlpack__(self):
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        return new(c.addressof(self.managed), b"dltensor", None)


def raises(function, text):
    try:
        function()
    except w.Error as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError(f"no error: {text}")


def check_launches():
    lib = w.load_library(library)
    kernel = w.Kernel(kernel_path, "emu", lib)
    assert kernel.device_info.emulator == 1 and kernel.info.entry == b"copy" and kernel.setting("dtype") == "bf16"
    assert w.LOAD_SOURCES[kernel.load.source] == "compiled" and kernel.load.seconds > 0
    make = lambda dtype, *arguments: Buffer(lib, kernel.device, dtype, *arguments)
    source = [random.randrange(65536) for _ in range(2 * 4 * 5 * 128)]
    q, k = make("torch.bfloat16", [2, 4, 5, 128], source), make("torch.bfloat16", [2, 2, 7, 128])
    for wrap in (lambda t: t, OnlyDLPack):
        o, lse = make("torch.bfloat16", [2, 4, 5, 128]), make("torch.float32", [2, 4, 5])
        tensors = {"q": q, "k": k, "v": k, "o": o, "lse": lse}
        launch = kernel.prepare({n: wrap(t) for n, t in tensors.items()}, scalars={"scale": 2.0})
        assert launch.plan().grid == 40 and launch.plan().workspace_bytes == 0
        launch()
        kernel.synchronize()
        assert o.read() == source
        assert all(abs(x - 2 * 1.4426950408889634) < 1e-6 for x in lse.read())
        o.free()
        lse.free()
    raises(lambda: kernel.prepare({"q": q})(), "tensor k is missing")
    raises(lambda: w.Kernel("/nowhere.ptx", "emu", lib), "/nowhere.ptx: cannot be opened")
    raises(lambda: w.Kernel(kernel_path, "gpu", lib), "expected cuda:N, emu or best")
    q.free()
    k.free()
    kernel.close()


def check_table():
    lib = w.load_library(library)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write(f"warpscore table 1\nattention.forward bf16 128 none sm_80 * * {kernel_path}\n")
        f.flush()
        table = w.Table(f.name, "emu", lib)
    file, reason = table.choose("attention.forward", "torch.bfloat16", 128, "none", 5, 7)
    assert file == kernel_path and "line 2, sm_80" in reason, reason
    raises(lambda: table.choose("attention.forward", "torch.bfloat16", 64, "none", 5, 7), "the nearest, line 2, has head_dim 128")
    table.close()


check_layout()
check_table()
check_launches()
print("the structures agree; launches do what they say")
