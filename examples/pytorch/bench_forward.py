#!/usr/bin/env python3
"""Forward kernels beside PyTorch's SDPA, cuDNN and FlashAttention-2, in one process on one GPU.

    python3 examples/pytorch/bench_forward.py --library build/libwarpscore.so --json forward.json K1.ptx K2.ptx ...

Each .ptx is one schedule, head dim and mask; what it is stands in its manifest. The setting is that of the FlashAttention
papers: 16,384 tokens in total (batch = 16384 / length), hidden size 2048 (heads = 2048 / head dim), random inputs, all
kernels on the same tensors (batch, sequence, heads, head dim in memory). Kernels of one head dim, mask and type are
launched in turn with the peers, each timed with its own pair of CUDA events; the figure is the median. Before that, each
kernel is held against an fp64 reference on a small problem whose lengths are no multiples of a tile; afterwards, on the
timed problem itself, all errors are measured against fp64 for two heads. Exit code 1 when a kernel is wrong."""

import argparse
import hashlib
import json
import math
import os
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from warpscore import Kernel, load_library

TOKENS, HIDDEN = 16384, 2048


def reference(q, k, v, causal, rows=1024):
    """softmax(q k^T / sqrt d) v and its LSE in fp64, a block of rows at a time. q, k, v: [heads, length, d]."""
    q, k, v = q.double(), k.double(), v.double()
    sq, sk, scale = q.shape[1], k.shape[1], 1 / math.sqrt(q.shape[2])
    o, lse = torch.empty_like(q), torch.empty(q.shape[:2], dtype=torch.float64, device=q.device)
    keys = torch.arange(sk, device=q.device)
    for i in range(0, sq, rows):
        s = q[:, i:i + rows] @ k.transpose(1, 2) * scale
        if causal:  # aligned at the bottom right: query i sees keys j <= i + sk - sq
            last = torch.arange(i, min(i + rows, sq), device=q.device) + (sk - sq)
            s = s.masked_fill(keys[None, :] > last[:, None], -math.inf)
        lse[:, i:i + rows] = torch.logsumexp(s, dim=2)
        o[:, i:i + rows] = torch.softmax(s, dim=2) @ v
    return o, lse


def frobenius(have, want):
    return ((have.double() - want).norm() / want.norm()).item()


def inputs(batch, heads, length, d, dtype, seed):
    """q, k, v as [batch, heads, length, d] views of [batch, length, heads, d] memory, N(0, 1)."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return [torch.randn(batch, length, heads, d, device="cuda", dtype=torch.float32, generator=generator).to(dtype).transpose(1, 2)
            for _ in range(3)]


def outputs(q):
    o = torch.full((q.shape[0], q.shape[2], q.shape[1], q.shape[3]), math.nan, device="cuda", dtype=q.dtype).transpose(1, 2)
    return o, torch.full(q.shape[:3], math.nan, device="cuda", dtype=torch.float32)


def prepare(kernel, q, k, v, o, lse):
    return kernel.prepare({"q": q, "k": k, "v": v, "o": o, "lse": lse}, torch.cuda.current_stream().cuda_stream)


BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "fa2": SDPBackend.FLASH_ATTENTION}


def peer(name, q, k, v, causal):
    with sdpa_kernel(BACKENDS[name]):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


def check(kernel, d, causal, dtype):
    """Errors of ours and FA2's on a small problem with odd lengths, for common and for widely spread scores; false when ours is wrong.

    Where one score towers above the others, a kernel whose exponents refer to the row's exact maximum gives it the weight 1,
    which rounds exactly; one whose reference lags behind (a lazy or optimistic maximum) rounds it like the others."""
    rows, good = [], True
    for spread, limit in ((1, 1.1), (4, 1.6)):
        q, k, v = inputs(2, 3, 777, d, dtype, seed=3)
        q = q * spread
        o, lse = outputs(q)
        prepare(kernel, q, k, v, o, lse)()
        torch.cuda.synchronize()
        want, want_lse = reference(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), causal)
        ours, theirs = frobenius(o.flatten(0, 1), want), frobenius(peer("fa2", q, k, v, causal).flatten(0, 1), want)
        lse_error = (lse.flatten(0, 1).double() - want_lse).abs().max().item()
        good &= ours <= limit * theirs and lse_error < 1e-4  # NaN fails, too
        rows.append({"spread": spread, "ours": ours, "fa2": theirs, "lse_max": lse_error})
    said = "; ".join(f"spread {r['spread']}: error {r['ours']:.3e}, fa2 {r['fa2']:.3e}, LSE within {r['lse_max']:.1e}" for r in rows)
    print(f"check {os.path.basename(kernel.path)} d{d} {'causal' if causal else 'full'}: {said}: {'ok' if good else 'WRONG'}", flush=True)
    return good, {"checks": rows}


def time_in_turn(functions, warmup, repeat):
    """Median milliseconds of each function, launched in turn."""
    events = [[[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeat)] for _ in functions]
    for _ in range(warmup):
        for f in functions:
            f()
    torch.cuda.synchronize()
    for i in range(repeat):
        for f, pairs in zip(functions, events):
            pairs[i][0].record()
            f()
            pairs[i][1].record()
    torch.cuda.synchronize()
    return [statistics.median(a.elapsed_time(b) for a, b in pairs) for pairs in events]


def errors_on_timed(outs, q, k, v, causal):
    """Errors against fp64 for the first head of the first batch and the last of the last."""
    picks = [(0, 0), (q.shape[0] - 1, q.shape[1] - 1)]
    stack = lambda t: torch.stack([t[b, h] for b, h in picks])
    want, _ = reference(stack(q), stack(k), stack(v), causal)
    return [frobenius(stack(o), want) for o in outs]


def measure(kernels, d, causal, dtype, length, options):
    """One cell: all kernels of this head dim and mask, and the peers, in turn."""
    batch, heads = TOKENS // length, HIDDEN // d
    q, k, v = inputs(batch, heads, length, d, dtype, seed=length)
    outs = [outputs(q) for _ in kernels]
    functions = [prepare(kernel, q, k, v, o, lse) for kernel, (o, lse) in zip(kernels, outs)]
    functions += [lambda name=name: peer(name, q, k, v, causal) for name in options.peers]
    times = time_in_turn(functions, options.warmup, options.repeat)
    theirs = [f() for f in functions[len(kernels):]]
    errors = errors_on_timed([o for o, _ in outs] + theirs, q, k, v, causal)
    flop = 4 * batch * heads * length * length * d * (0.5 if causal else 1)
    names = [os.path.splitext(os.path.basename(kernel.path))[0] for kernel in kernels] + options.peers
    n, cells = len(kernels), []
    peers = dict(zip(options.peers, times[n:]))
    for i, kernel in enumerate(kernels):
        cells.append({"kernel": kernel.info.entry.decode(), "file": names[i], "head_dim": d, "causal": causal, "length": length, "batch": batch, "heads": heads, "ms": times[i],
                      "tflops": flop / times[i] * 1e-9, "error": errors[i], "peer_ms": peers,
                      "peer_tflops": {p: flop / t * 1e-9 for p, t in peers.items()}, "peer_error": dict(zip(options.peers, errors[n:])),
                      "ratio": {p: t / times[i] for p, t in peers.items()},
                      "finite": bool(torch.isfinite(outs[i][0]).all() and torch.isfinite(outs[i][1]).all())})
    print(f"{d:>4} {'causal' if causal else 'full':>7} {length:>6}  " +
          "  ".join(f"{name} {flop / t * 1e-9:.1f} ({e:.2e})" for name, t, e in zip(names, times, errors)), flush=True)
    return cells


def describe(kernels):
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {"gpu": properties.name, "torch": torch.__version__, "cuda": torch.version.cuda,
            "driver_cuda": kernels[0].device_info.driver_version, "warpscore": kernels[0].lib.ws_version().decode(),
            "kernels": [{"path": k.path, "entry": k.info.entry.decode(), "target": k.info.target.decode(),
                         "sha256": hashlib.sha256(open(k.path, "rb").read()).hexdigest(), "registers": k.resources.registers,
                         "local_bytes": k.resources.local_bytes, "ctas_per_sm": k.resources.ctas_per_sm} for k in kernels]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", metavar="KERNEL.ptx")
    parser.add_argument("--library", help="libwarpscore.so (default: build/ of this checkout)")
    parser.add_argument("--device", type=int, default=0, help="ordinal of the GPU")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192,16384")
    parser.add_argument("--peers", default="cudnn,fa2", help="of cudnn, fa2; their order is that of the launches")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--json", help="write all figures to this file")
    options = parser.parse_args()
    options.peers = [p for p in options.peers.split(",") if p]
    torch.cuda.set_device(options.device)
    torch.cuda.init()
    library = load_library(options.library)
    kernels = [Kernel(path, f"cuda:{options.device}", library) for path in options.kernels]
    report, good, cells = describe(kernels), True, []
    print(f"{report['gpu']}, torch {report['torch']}, driver for CUDA {report['driver_cuda']}")
    for k in report["kernels"]:
        print(f"{k['path']}: {k['entry']} for {k['target']}, {k['registers']} registers, {k['local_bytes']} bytes spilled, "
              f"{k['ctas_per_sm']} CTAs an SM")
    what = [(k, int(k.setting("head_dim")), k.setting("causal") == "true",
             {"bf16": torch.bfloat16, "f16": torch.float16}[k.setting("dtype")]) for k in kernels]
    report["checks"] = []
    for k, d, causal, dtype in what:
        fine, errors = check(k, d, causal, dtype)
        good &= fine
        report["checks"].append({"path": k.path, "head_dim": d, "causal": causal, **errors})
    groups = {}
    for k, *key in what:
        groups.setdefault(tuple(key), []).append(k)
    print("\nTFLOP/s (error against fp64)")
    for (d, causal, dtype), members in groups.items():
        for length in options.lengths.split(","):
            cells += measure(members, d, causal, dtype, int(length), options)
    report["cells"], report["summary"] = cells, []
    good &= all(cell["finite"] for cell in cells)
    for name in dict.fromkeys(cell["kernel"] for cell in cells):
        mine = [cell for cell in cells if cell["kernel"] == name]
        for p in options.peers:
            ratios = [cell["ratio"][p] for cell in mine]
            error = max(cell["error"] / cell["peer_error"][p] for cell in mine)
            report["summary"].append({"kernel": name, "peer": p, "geometric_mean": statistics.geometric_mean(ratios), "minimum": min(ratios), "error": error})
            print(f"{name} / {p}: geometric mean {statistics.geometric_mean(ratios):.3f}, minimum {min(ratios):.3f}; error at most {error:.3f} times")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(report, f, indent=1)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
