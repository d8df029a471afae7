"""Matrix products of int8 codes: 32-bit integer sums, and the scales applied to them afterwards.

Shapes
------
m  rows     k  summed features     n  output features
x8 (m, k) int8 · w8 (n, k) int8 · x_scale (m) · w_scale (n) or () · bias (n) · y (m, n)
x8 may have more leading dimensions; x_scale then has them too

Formula
-------
y_rc = w_scale_c / 127 * (x_scale_r / 127 * sum_i x8_ri w8_ci) + bias_c, the sum exact in int32, the rest in
float32 (float64 with float64 scales), rounded once to the output's dtype

On a GPU a Triton kernel computes sums and the rest in one go (kernels/int8.py), or torch._int_mm the sums,
whichever is faster there; with float64 scales, and under torch.compile, always the latter.

Routes of the sum, all exact:
- CUDA: torch._int_mm, padded with noughts to the shapes it takes (more than 16 rows; k and n multiples of 8)
- CPU with AVX-512 VNNI: torch._int_mm (oneDNN), any shape with k > 1
- anything else, where torch._int_mm is a plain loop, missing or wrong: float32 products of at most 1024
  summands, whose partial sums are whole numbers up to 2^24 and therefore exact in any order of adding
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from stepmark.zoo.kernels.backend import Backend, check_one_device, resolve
from stepmark.zoo.quantize import CODES

HAS_VNNI: Final = torch.cpu._is_vnni_supported()
"""Asks the processor once and touches no device. Without VNNI torch._int_mm on a CPU is a loop over elements
(pytorch/pytorch#136942)."""

EXACT_IN_FLOAT32: Final = 2**24 // 128**2
"""Products of two int8 whose sum float32 holds exactly."""
EXACT_IN_INT32: Final = (2**31 - 1) // 128**2
"""Products of two int8 whose sum int32 holds."""


def int8_linear_rowwise(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: torch.dtype,
    backend: Backend = "auto",
) -> Tensor:
    """A linear layer on codes with a scale for every row of x8 and of w8."""
    if w_scale.shape != w8.shape[:1]:
        raise ValueError(f"expected a scale for each of {w8.shape[0]} rows, got {tuple(w_scale.shape)}")
    return _linear(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype, backend=backend)


def int8_linear_global(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: torch.dtype,
    backend: Backend = "auto",
) -> Tensor:
    """A linear layer on codes with a scale for every row of x8 and one for the whole of w8."""
    if w_scale.ndim:
        raise ValueError(f"expected one scale of shape (), got {tuple(w_scale.shape)}")
    return _linear(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype, backend=backend)


def int8_product(x8: Tensor, w8: Tensor) -> Tensor:
    """x8 w8^T in int32, exact: (m, k) and (n, k) to (m, n)."""
    _check_codes(x8, w8)
    if 0 in (*x8.shape, w8.shape[0]):
        return x8.new_zeros(x8.shape[0], w8.shape[0], dtype=torch.int32)
    if x8.is_cuda:
        return _padded_product(x8, w8)
    # With one summand torch._int_mm gives rubbish on a CPU and says nothing, unless it also has one column.
    if x8.device.type == "cpu" and HAS_VNNI and x8.shape[1] > 1:
        return torch._int_mm(_dense(x8), _dense(w8).t())
    return float_product(x8, w8)


def float_product(x8: Tensor, w8: Tensor) -> Tensor:
    """The same through float32 products, wherever those are faster; autocast would have them in 16 bits."""
    total = x8.new_zeros(x8.shape[0], w8.shape[0], dtype=torch.int32)
    with torch.autocast(x8.device.type, enabled=False):
        for begin in range(0, x8.shape[1], EXACT_IN_FLOAT32):
            part = slice(begin, begin + EXACT_IN_FLOAT32)
            total += (x8[:, part].float() @ w8[:, part].float().t()).int()
    return total


def _padded_product(x8: Tensor, w8: Tensor) -> Tensor:
    """torch._int_mm on CUDA takes more than 16 rows and multiples of 8 in k and n."""
    (m, k), n = x8.shape, w8.shape[0]
    more_m, more_k, more_n = max(0, 17 - m), -k % 8, -n % 8
    if more_m or more_k:
        x8 = nn.functional.pad(x8, (0, more_k, 0, more_m))
    if more_n or more_k:
        w8 = nn.functional.pad(w8, (0, more_k, 0, more_n))
    return torch._int_mm(_dense(x8), _dense(w8).t())[:m, :n].contiguous()


def _dense(codes: Tensor) -> Tensor:
    """Codes by rows or by columns without gaps; with a stride of nought torch._int_mm gives rubbish on a CPU
    and says nothing (pytorch/pytorch#195066)."""
    rows, columns = codes.shape
    if codes.stride() in ((columns, 1), (1, rows)):
        return codes
    return codes.clone(memory_format=torch.contiguous_format)


def _linear(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None,
    dtype: torch.dtype,
    backend: Backend,
) -> Tensor:
    if x_scale.shape != x8.shape[:-1]:
        wanted = tuple(x8.shape[:-1])
        raise ValueError(f"expected scales of shape {wanted} for x8, got {tuple(x_scale.shape)}")
    if bias is not None and bias.shape != w8.shape[:1]:
        raise ValueError(f"expected a bias for each of {w8.shape[0]} rows of w8, got {tuple(bias.shape)}")
    check_one_device(x8, w8, x_scale, w_scale, bias)
    rows, row_scale = x8.reshape(-1, x8.shape[-1]), x_scale.reshape(-1)
    if _by_kernel(x8, x_scale, dtype, backend):
        from stepmark.zoo.kernels.product import product

        _check_codes(rows, w8)
        measured = backend == "auto"
        y = product(rows, w8, row_scale, w_scale, bias=bias, dtype=dtype, measured=measured)
    else:
        y = torch_linear(rows, w8, row_scale, w_scale, bias=bias, dtype=dtype)
    return y.view(*x8.shape[:-1], w8.shape[0])


def torch_linear(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None,
    dtype: torch.dtype,
) -> Tensor:
    """y (m, n) from the sums, in torch's own operations."""
    y = _as_floats(int8_product(x8, w8), x_scale.dtype)
    y = y.mul_((x_scale / CODES).unsqueeze(1)).mul_(w_scale / CODES)
    if bias is not None:
        y += bias
    return y.to(dtype)


def _by_kernel(x8: Tensor, x_scale: Tensor, dtype: torch.dtype, backend: Backend) -> bool:
    if torch.compiler.is_compiling() or torch.float64 in (x_scale.dtype, dtype):
        return False
    return resolve(backend, x8)


def _as_floats(sums: Tensor, dtype: torch.dtype) -> Tensor:
    """The sums as floating-point numbers, in their own place if they fit: scaling 1024 x 4096 of them then
    takes 5 ms and not 12 (one core of an Ice Lake Xeon); the rest was page faults."""
    if dtype != torch.float32 or torch.compiler.is_compiling():
        return sums.to(dtype)
    return sums.view(torch.float32).copy_(sums)


def _check_codes(x8: Tensor, w8: Tensor) -> None:
    if x8.dtype != torch.int8 or w8.dtype != torch.int8:
        raise ValueError(f"expected int8 codes, got {x8.dtype} and {w8.dtype}")
    if x8.ndim != 2 or w8.ndim != 2 or x8.shape[1] != w8.shape[1]:
        raise ValueError(f"expected codes (m, k) and (n, k), got {tuple(x8.shape)} and {tuple(w8.shape)}")
    if x8.shape[1] > EXACT_IN_INT32:
        raise ValueError(f"expected at most {EXACT_IN_INT32} summed features, got {x8.shape[1]}")
