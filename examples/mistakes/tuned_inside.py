"""The Triton kernel is tuned for each number of rows, and the number of rows changes all the time."""

import torch
import triton
import triton.language as tl

import stepmark as sm

FINDING = "compiled-inside"
VARIANT = "scaled"
DEVICE = "cuda"

suite = sm.Suite("ragged_batches", axes={"features": [1024]}, modes=["ops"])


def quickly(call, quantiles):
    return triton.testing.do_bench(call, warmup=1, rep=2, quantiles=quantiles)


CONFIGS = [triton.Config({"BLOCK": size}, num_warps=warps) for size in (512, 1024) for warps in (2, 4)]


@triton.autotune(CONFIGS, key=["rows"], do_bench=quickly)
@triton.jit
def scale_kernel(x, y, rows, n, BLOCK: tl.constexpr):  # noqa: ARG001, N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


def scale(x):
    y = torch.empty_like(x)
    kernel = scale_kernel[lambda config: (triton.cdiv(x.numel(), config["BLOCK"]),)]
    kernel(x, y, x.shape[0], x.numel())
    return y


@suite.variant(baseline=True)
def scaled(c):
    batch = torch.randn(4096, c.features, device=c.device)
    rows = 0

    def forward():
        nonlocal rows
        rows = rows % 4096 + 1
        return scale(batch[:rows])

    return sm.Ops({"forward": forward})
