"""SwiGLU's gate in one pass: silu(a) * b of packed rows [a | b], one kernel forward and one backward.

Shapes     packed (..., 2 F)   y (..., F)
Backward   with s = sigmoid(a): da = g b s (1 + a (1 - s)),  db = g a s
Precision  Computed in float32 and rounded once; torch's chain rounds silu(a) as well.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import silu

from stepmark.zoo.kernels.backend import Backend, resolve
from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.undisturbed import without_autocast

TOLERANCES = {torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
"""Largest error of output and gradient against float64 on the same input, relative to the largest entry: of
half types one unit in the last place, because Triton's interpreter cuts bits off where a GPU rounds."""

BLOCK = 1024
"""16 bytes of bfloat16 a thread of four warps."""


def silu_gate(packed: Tensor, *, backend: Backend = "auto") -> Tensor:
    """silu of the first half of each row times the second half. Under torch.compile it is torch's chain,
    which the compiler fuses with its neighbours as well."""
    if packed.shape[-1] % 2:
        raise ValueError(f"expected rows of two halves, got {tuple(packed.shape)}")
    if packed.dtype not in TOLERANCES or torch.compiler.is_compiling() or not resolve(backend, packed):
        gate, up = packed.chunk(2, dim=-1)
        return silu(gate) * up
    gated: Tensor = _SiluGate.apply(packed)  # type: ignore[no-untyped-call]
    return gated


class _SiluGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, packed: Tensor) -> Tensor:
        packed = packed.contiguous()
        ctx.save_for_backward(packed)
        width = packed.shape[-1] // 2
        out = packed.new_empty(*packed.shape[:-1], width)
        if out.numel():
            grid = (out.numel() // width, -(-width // BLOCK), 1)
            _launchers()[0](grid, packed, out, width, key=packed.dtype, BLOCK=BLOCK, num_warps=4)
        return out

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (packed,) = ctx.saved_tensors
        width = packed.shape[-1] // 2
        out = torch.empty_like(packed)
        if out.numel():
            grid = (gradient.numel() // width, -(-width // BLOCK), 1)
            given = gradient.contiguous()
            _launchers()[1](grid, packed, given, out, width, key=packed.dtype, BLOCK=BLOCK, num_warps=4)
        return out


@cache
def _launchers() -> tuple[Launcher, Launcher]:
    from stepmark.zoo.kernels.gated_kernels import gate_gradient_kernel, gate_kernel

    return Launcher(gate_kernel), Launcher(gate_gradient_kernel)
