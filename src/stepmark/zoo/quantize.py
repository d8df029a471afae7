"""Quantisers: floating-point matrices as int8 codes with absolute maxima as scales.

Shapes
------
x (..., k) · w (o, k) · codes int8 · scale per row (...), per column (k) or one ()

Formula
-------
a = max |x| over the row, the column or the whole
code = rint(x * (127 / a)), halves to even;  x is about a code / 127

Scales are not divided by 127, as in bitsandbytes' kernels of March 2023, whose definition this is; but they
and the arithmetic are float32 for 16 bits too (float64 for float64): gradients may be so small that a float16
scale is 9 % off (3e-7) or nought, or too large for it (above 65504). Where a is nought, or so small that
127 / a would overflow, codes are nought: an all-zero row (padding) stays zero where the original divides by
zero. A row with an infinity or NaN has it in its scale too, so that what is computed from it is not finite
either. 127 / a is computed as 127 * (1 / a), which torch makes of it.

On a GPU Triton kernels compute the same, to the last code (kernels/quantize.py); for float64, and under
torch.compile, which fuses them itself, the plain operations remain.
"""

from __future__ import annotations

import torch
from torch import Tensor

from stepmark.zoo.kernels.backend import Backend, resolve

CODES = 127
"""The largest code; -128 is not used, so that codes are symmetric."""

LEAST = 2.0**-120
"""Maxima up to here have codes of nought: 127 / 2^-120 is still a float32."""


BLOCK = 2**17
"""Elements that are quantised at a time on a CPU: half a megabyte of float32."""


def quantize_rowwise(x: Tensor, *, backend: Backend = "auto") -> tuple[Tensor, Tensor]:
    """Codes (..., k) and a scale for every row (...)."""
    _check(x, num_dimensions=None)
    if _by_kernels(x, backend):
        from stepmark.zoo.kernels.quantize import quantize_rows

        codes, scale = quantize_rows(x.reshape(-1, x.shape[-1]))
        return codes.contiguous().view(x.shape), scale.view(x.shape[:-1])
    scale = _absolute_maximum(x, dim=-1)
    return _codes(x, scale.unsqueeze(-1)), scale


def quantize_columnwise(w: Tensor) -> tuple[Tensor, Tensor]:
    """Codes (o, k) and a scale for every column (k)."""
    _check(w, num_dimensions=2)
    scale = _absolute_maximum(w, dim=0)
    return _codes(w, scale), scale


def quantize_columnwise_transpose(w: Tensor, *, backend: Backend = "auto") -> tuple[Tensor, Tensor]:
    """Codes transposed and contiguous (k, o), and a scale for every column of w (k)."""
    _check(w, num_dimensions=2)
    if _by_kernels(w, backend):
        return _turned(w, one_scale=False)
    codes, scale = quantize_columnwise(w)
    return codes.t().contiguous(), scale


def quantize_global(w: Tensor, *, backend: Backend = "auto") -> tuple[Tensor, Tensor]:
    """Codes in the shape of w and one scale ()."""
    _check(w, num_dimensions=None)
    if _by_kernels(w, backend):
        from stepmark.zoo.kernels.quantize import quantize_whole

        codes, scale = quantize_whole(w.reshape(-1, w.shape[-1]))
        return codes.contiguous().view(w.shape), scale
    scale = _absolute_maximum(w, dim=None)
    return _codes(w, scale.view(1)), scale  # a scale without dimensions would leave 16-bit arithmetic


def quantize_global_transpose(w: Tensor, *, backend: Backend = "auto") -> tuple[Tensor, Tensor]:
    """Codes transposed and contiguous (k, o), and one scale ()."""
    _check(w, num_dimensions=2)
    if _by_kernels(w, backend):
        return _turned(w, one_scale=True)
    codes, scale = quantize_global(w)
    return codes.t().contiguous(), scale


def dequantize_rowwise(codes: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """What the codes (..., k) stand for, with a scale for every row (...)."""
    return codes.to(scale.dtype).mul_((scale / CODES).unsqueeze(-1)).to(dtype)


def _by_kernels(x: Tensor, backend: Backend) -> bool:
    if torch.compiler.is_compiling() or x.dtype == torch.float64 or x.numel() == 0:
        return False
    return resolve(backend, x)


def _turned(w: Tensor, *, one_scale: bool) -> tuple[Tensor, Tensor]:
    from stepmark.zoo.kernels.quantize import quantize_turned

    codes, scale = quantize_turned(w, one_scale=one_scale)
    return codes.contiguous(), scale


def _absolute_maximum(x: Tensor, *, dim: int | None) -> Tensor:
    x = x.detach()
    # Two passes beat one: along a dimension aminmax and the infinity norm are not vectorised on a CPU (rows
    # of 1024 x 4096 float32 on one core: amin and amax 1.4 ms, aminmax 7.5, norm 17, abs and amax 3.6).
    low, high = torch.aminmax(x) if dim is None else (x.amin(dim), x.amax(dim))
    return torch.maximum(high, -low).to(torch.promote_types(x.dtype, torch.float32))


def _codes(x: Tensor, scale: Tensor) -> Tensor:
    x, inverse = x.detach(), torch.where(scale > LEAST, CODES / scale, 0.0)
    if x.device.type == "cpu" and x.ndim == 2 and x.numel() > BLOCK and not torch.compiler.is_compiling():
        return _codes_by_blocks(x, inverse.expand(x.shape))
    return (x * inverse).round_().to(torch.int8)


def _codes_by_blocks(x: Tensor, inverse: Tensor) -> Tensor:
    """The same, with what lies between staying in the cache: 4096 x 1024 float32 take 7.6 ms and not 11 (one
    core of an Ice Lake Xeon); the rest was page faults."""
    codes = torch.empty(x.shape, dtype=torch.int8)
    num_rows = max(1, BLOCK // x.shape[1])
    between = torch.empty(min(num_rows, x.shape[0]), x.shape[1], dtype=inverse.dtype)
    for begin in range(0, x.shape[0], num_rows):
        rows = slice(begin, min(begin + num_rows, x.shape[0]))
        product = torch.mul(x[rows], inverse[rows], out=between[: rows.stop - begin])
        codes[rows] = product.round_()
    return codes


def _check(x: Tensor, *, num_dimensions: int | None) -> None:
    if not x.is_floating_point():
        raise ValueError(f"expected a floating-point tensor to quantise, got {x.dtype}")
    if x.ndim == 0 or (num_dimensions is not None and x.ndim != num_dimensions):
        wanted = "at least one dimension" if num_dimensions is None else f"{num_dimensions} dimensions"
        raise ValueError(f"expected {wanted} to quantise, got shape {tuple(x.shape)}")
