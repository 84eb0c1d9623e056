#!/usr/bin/env python3
"""Random shapes against fp64: lengths from 0 to 5000, query heads a KV head, strides that are not packed.

    python3 examples/pytorch/check_shapes.py --library build/libwarpscore.so --count 1000 K1.ptx K2.ptx ...

Shape n is the same on every machine for the same --seed; the kernels take turns. Inputs are N(0, 1), outputs are filled
with NaN first. A shape is right when every row that sees no key has O = 0 and LSE = -inf, no NaN is left, and the relative
Frobenius error of O is at most 1.6 times that of rounding P and O (about 2.5e-3 in bf16, 4e-4 in f16). Exit code 1 when one is wrong."""

import argparse
import math
import random
import sys

import torch

from bench_forward import frobenius, prepare
from warpscore import Kernel, load_library


def draw(generator):
    """A length: small ones, tile edges, and anything up to 5000."""
    kind = generator.random()
    if kind < 0.15:
        return generator.randrange(0, 9)
    if kind < 0.4:
        return max(0, generator.choice([64, 128, 192, 256, 384, 512, 1024]) * generator.randrange(1, 5) + generator.randrange(-2, 3))
    return generator.randrange(0, 5001)


def tensor(batch, heads, length, d, dtype, generator, seed):
    """[batch, heads, length, d] in one of three memory orders, with padding between rows and heads; N(0, 1)."""
    pad, order = generator.choice([0, 8, 64]), generator.randrange(3)
    torch.manual_seed(seed)
    shape = [(batch, length, heads), (batch, heads, length), (length, batch, heads)][order]
    flat = torch.randn(*shape, d + pad, device="cuda", dtype=torch.float32).to(dtype)[..., :d]
    return flat.permute(*[(0, 2, 1, 3), (0, 1, 2, 3), (1, 2, 0, 3)][order])


def reference(q, k, v, causal):
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    s = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    if causal:
        rows = torch.arange(q.shape[2], device="cuda")[:, None] + (k.shape[2] - q.shape[2])
        s = s.masked_fill(torch.arange(k.shape[2], device="cuda")[None, :] > rows, -math.inf)
    lse = torch.logsumexp(s, dim=3) if k.shape[2] else torch.full(q.shape[:3], -math.inf, device="cuda", dtype=torch.float64)
    o = torch.exp(s - lse.nan_to_num(neginf=0.0)[..., None]) @ v if k.shape[2] else torch.zeros_like(q)
    return o, lse


def check(kernel, n, seed):
    generator = random.Random(seed * 1000003 + n)
    d, causal = int(kernel.setting("head_dim")), kernel.setting("causal") == "true"
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[kernel.setting("dtype")]
    batch, kv_heads, group = generator.randrange(1, 4), generator.randrange(1, 4), generator.choice([1, 1, 2, 3, 4])
    sq, sk = draw(generator), draw(generator)
    if sq * sk * batch * kv_heads * group > 1.2e8:
        batch = kv_heads = 1
    if sq * sk * batch * kv_heads * group > 1.2e8:
        group = 1
    q = tensor(batch, kv_heads * group, sq, d, dtype, generator, n)
    k, v = (tensor(batch, kv_heads, sk, d, dtype, generator, n + i * 7919) for i in (1, 2))
    o = torch.full((batch, sq, kv_heads * group, d), math.nan, device="cuda", dtype=dtype).permute(0, 2, 1, 3)
    lse = torch.full((batch, kv_heads * group, sq), math.nan, device="cuda", dtype=torch.float32)
    prepare(kernel, q, k, v, o, lse)()
    torch.cuda.synchronize()
    want, want_lse = reference(q, k, v, causal)
    blind = torch.isinf(want_lse)
    fine = not torch.isnan(o).any() and not torch.isnan(lse).any() and bool((o[blind] == 0).all()) and bool((lse[blind] == -math.inf).all())
    seen = ~blind
    error = frobenius(o[seen], want[seen]) if seen.any() else 0.0
    lse_error = (lse.double() - want_lse)[seen].abs().max().item() if seen.any() else 0.0
    limit = {torch.bfloat16: 2.5e-3, torch.float16: 4.2e-4}[dtype] * 1.6
    fine = fine and error < limit and lse_error < 1e-4
    if not fine:
        print(f"WRONG {kernel.path} shape {n}: batch {batch}, heads {kv_heads * group}, kv_heads {kv_heads}, queries {sq}, keys {sk}: "
              f"error {error:.2e}, LSE {lse_error:.1e}", flush=True)
    return fine, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", metavar="KERNEL.ptx")
    parser.add_argument("--library")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.cuda.set_device(options.device)
    torch.cuda.init()
    library = load_library(options.library)
    kernels = [Kernel(path, f"cuda:{options.device}", library) for path in options.kernels]
    wrong, worst = 0, 0.0
    for n in range(options.count):
        fine, error = check(kernels[n % len(kernels)], n, options.seed)
        wrong += not fine
        worst = max(worst, error)
    print(f"{options.count} shapes over {len(kernels)} kernels: {wrong} wrong, largest error {worst:.2e}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
