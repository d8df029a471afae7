"""Products of fp8 codes by torch's own kernel, with a scale for every row of both sides.

Shapes
------
x8 (m, k) · w8 (n, k) float8_e4m3fn · x_scale (m) · w_scale (n) or () · bias (n) · y (m, n)

Sums are kept by the matrix units themselves ("fast accumulation"): on Hopper to about 14 bits, where int8
sums are exact. Needs k and n that are multiples of 16.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from stepmark.zoo.kernels.quantize import LARGEST

CODE = torch.float8_e4m3fn
LEAST_CAPABILITY = (8, 9)
"""Ada: the first whose matrix units take fp8."""


def scaled_mm(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: torch.dtype,
) -> Tensor:
    """y (m, n) by torch._scaled_mm, which wants scales by which codes are multiplied."""
    n = w8.shape[0]
    left = (x_scale / LARGEST[CODE]).unsqueeze(1)
    right = (w_scale / LARGEST[CODE]).expand(n).contiguous().unsqueeze(0)
    y = torch._scaled_mm(x8, w8.t(), left, right, out_dtype=torch.bfloat16, use_fast_accum=True)
    if bias is not None:
        y = y + bias
    return y.to(dtype)


@cache
def has_fp8(device: torch.device) -> bool:
    """Whether the device multiplies fp8; the interpreter does."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= LEAST_CAPABILITY
