#!/usr/bin/env python3
"""A generated kernel as a function on PyTorch tensors: on torch's current stream, inside a CUDA graph, from several threads, on
tensors that come through DLPack. Run, it checks all of that; exit code 1 when something is wrong.

    python3 examples/pytorch/attention.py --library build/libwarpscore.so fa2_forward.ptx"""

import argparse
import math
import sys
import threading

import torch

from warpscore import Kernel, LOAD_SOURCES

DTYPE = {"bf16": torch.bfloat16, "f16": torch.float16}


class Attention:
    """o, lse = Attention(path)(q, k, v). Tensors [batch, heads, sequence, head dim], strided as they come."""

    def __init__(self, path, device=None, library=None, cache_folder=None):
        torch.cuda.init()
        ordinal = torch.cuda.current_device() if device is None else device
        self.kernel = Kernel(path, f"cuda:{ordinal}", library, cache_folder)

    def __call__(self, q, k, v):
        o = torch.empty_like(q)  # from torch's allocator: a graph's own pool while one is captured
        lse = torch.empty(q.shape[:3], device=q.device, dtype=torch.float32)
        self.kernel.prepare({"q": q, "k": k, "v": v, "o": o, "lse": lse}, torch.cuda.current_stream().cuda_stream)()
        return o, lse


class OnlyDLPack:
    """A tensor of some other framework: nothing but the DLPack protocol."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)


def inputs(kernel, seed, batch=2, heads=4, kv_heads=2, queries=300, keys=500):
    d, dtype = int(kernel.setting("head_dim")), DTYPE[kernel.setting("dtype")]
    generator = torch.Generator(device="cuda").manual_seed(seed)
    shapes = [(batch, heads, queries, d), (batch, kv_heads, keys, d), (batch, kv_heads, keys, d)]
    return [torch.randn(s, device="cuda", dtype=torch.float32, generator=generator).to(dtype) for s in shapes]


def reference(q, k, v, causal):
    q, k, v = (t.double() for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    s = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    if causal:
        row, col = torch.arange(q.shape[2], device=q.device), torch.arange(k.shape[2], device=q.device)
        s = s.masked_fill(col[None, :] > row[:, None] + k.shape[2] - q.shape[2], -math.inf)
    return torch.softmax(s, 3) @ v, torch.logsumexp(s, 3)


def same(a, b):
    return all(torch.equal(x.view(torch.uint8), y.view(torch.uint8)) for x, y in zip(a, b))


def check_eager(attention):
    q, k, v = inputs(attention.kernel, 1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # the kernel goes where torch works
        o, lse = attention(q, k, v)
    torch.cuda.current_stream().wait_stream(side)
    want, want_lse = reference(q, k, v, attention.kernel.setting("causal") == "true")
    error = ((o.double() - want).norm() / want.norm()).item()
    lse_error = (lse.double() - want_lse).abs().max().item()
    return error < 4e-3 and lse_error < 1e-3, f"error {error:.1e}, LSE within {lse_error:.1e}"


def check_graph(attention):
    """Captured once, replayed with new contents of the same tensors: bit for bit what eager launches give."""
    held = inputs(attention.kernel, 2)
    attention(*held)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = attention(*held)
    for seed in range(3, 13):
        for to, fresh in zip(held, inputs(attention.kernel, seed)):
            to.copy_(fresh)
        for out in outputs:
            out.fill_(math.nan)
        graph.replay()
        if not same(outputs, attention(*held)):
            return False, f"seed {seed} differs"
    return True, "10 replays equal 10 eager launches bit for bit"


def check_threads(attention, threads=8, rounds=200):
    work = [inputs(attention.kernel, 20 + i, queries=64 + 16 * i) for i in range(threads)]
    want = [attention(*tensors) for tensors in work]
    torch.cuda.synchronize()
    wrong = []

    def loop(i):
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(rounds):
                    result = attention(*work[i])
                stream.synchronize()
                if not same(result, want[i]):
                    wrong.append(f"thread {i} differs")
        except Exception as e:  # an error in a thread is an error of the check
            wrong.append(f"thread {i}: {e}")

    running = [threading.Thread(target=loop, args=(i,)) for i in range(threads)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return not wrong, wrong[0] if wrong else f"{threads} threads, {rounds} launches each on streams of their own"


def check_dlpack(attention):
    q, k, v = inputs(attention.kernel, 40)
    want = attention(q, k, v)
    o, lse = torch.full_like(q, math.nan), torch.full(q.shape[:3], math.nan, device="cuda")
    tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse}
    launch = attention.kernel.prepare({n: OnlyDLPack(t) for n, t in tensors.items()}, torch.cuda.current_stream().cuda_stream)
    launch()
    torch.cuda.synchronize()
    return same((o, lse), want), "the same bits as torch's tensors"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", metavar="KERNEL.ptx")
    parser.add_argument("--library", help="libwarpscore.so (default: build/ of this checkout)")
    parser.add_argument("--cache", help="folder for compiled kernels")
    options = parser.parse_args()
    good = True
    for path in options.kernels:
        attention = Attention(path, None, options.library, options.cache)
        load = attention.kernel.load
        print(f"{path}: {LOAD_SOURCES[load.source]} in {1e3 * load.seconds:.1f} ms {load.cache.decode()}")
        for check in (check_eager, check_graph, check_threads, check_dlpack):
            fine, text = check(attention)
            good &= fine
            print(f"  {check.__name__[6:]:8} {'ok   ' if fine else 'WRONG'} {text}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
