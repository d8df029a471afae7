# mypy: ignore-errors
"""A Triton kernel that is tuned anew for every length."""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": size}) for size in (256, 512)]


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


def scale(x):
    y = torch.empty_like(x)
    scale_kernel[lambda config: (triton.cdiv(x.numel(), config["BLOCK"]),)](x, y, x.numel())
    return y
