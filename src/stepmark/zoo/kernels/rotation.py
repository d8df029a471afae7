"""Packed projections to heads: queries and keys rotated, values as they are, one kernel each way.

Shapes     packed (B, T, 3 h D): queries, keys, values   tables (T, D / 2)   each result (B, h, T, D)
Backward   The three gradients, turned back, packed again.
Precision  Turned in float32 and rounded once. Results lie as (B, T, h, D), as fused attention likes them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels.backend import Backend, resolve
from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.undisturbed import without_autocast
from stepmark.zoo.rope import rotate

TOLERANCES = {torch.float32: 5e-7, torch.bfloat16: 8e-3, torch.float16: 1e-3}
"""Largest error of results and gradient against float64 on the same input, relative to the largest entry."""

BLOCK = 512
"""Pairs a program; twice as many entries of each of the three."""

Heads = tuple[Tensor, Tensor, Tensor]


def rotated_heads(
    packed: Tensor, cos: Tensor, sin: Tensor, heads: int, *, backend: Backend = "auto"
) -> Heads:
    """Queries, keys and values of packed projections. Under torch.compile it is torch's chain, which the
    compiler fuses."""
    if packed.dim() != 3 or packed.shape[-1] != 6 * heads * cos.shape[-1]:
        raise ValueError(
            f"expected projections (B, T, 3 h D) = (B, {cos.shape[0]}, {6 * heads * cos.shape[-1]}) for "
            f"{heads} heads and tables {tuple(cos.shape)}, got {tuple(packed.shape)}"
        )
    if cos.shape[0] != packed.shape[1] or sin.shape != cos.shape:
        raise ValueError(
            f"expected tables for {packed.shape[1]} positions, got {tuple(cos.shape)} and {tuple(sin.shape)}"
        )
    if cos.dtype != sin.dtype or not packed.device == cos.device == sin.device:
        raise ValueError(
            f"expected tables of one dtype on {packed.device}, got {cos.dtype} on {cos.device} and "
            f"{sin.dtype} on {sin.device}"
        )
    if packed.dtype not in TOLERANCES or torch.compiler.is_compiling() or not resolve(backend, packed):
        return _in_torch(packed, cos, sin, heads)
    parts: Heads = _RotatedHeads.apply(packed, cos, sin, heads)  # type: ignore[no-untyped-call]
    return parts


def _in_torch(packed: Tensor, cos: Tensor, sin: Tensor, heads: int) -> Heads:
    batch, length = packed.shape[:2]
    # (B, T, 3, h, D) -> (3, B, h, T, D); queries and keys are turned by one chain of operations
    parts = packed.view(batch, length, 3, heads, 2 * cos.shape[-1]).permute(2, 0, 3, 1, 4)
    turned, values = parts.split((2, 1))  # type: ignore[no-untyped-call]
    query, key = rotate(turned, cos, sin).unbind()
    return query, key, values.squeeze(0)


class _RotatedHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, packed: Tensor, cos: Tensor, sin: Tensor, heads: int) -> Heads:
        ctx.save_for_backward(cos, sin)
        batch, length, width = packed.shape[0], packed.shape[1], packed.shape[2] // 3
        packed = packed.contiguous()
        parts = [packed.new_empty(batch, length, heads, width // heads) for _ in range(3)]
        sizes = (length, width, cos.shape[-1])
        _launch(0, (packed, *parts, cos.contiguous(), sin.contiguous()), sizes, batch * length)
        query, key, value = (part.transpose(1, 2) for part in parts)
        return query, key, value

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        batch, heads, length, features = gradients[0].shape
        width = heads * features
        parts = [one.transpose(1, 2).contiguous() for one in gradients]
        packed = parts[0].new_empty(batch, length, 3 * width)
        sizes = (length, width, features // 2)
        _launch(1, (*parts, packed, cos.contiguous(), sin.contiguous()), sizes, batch * length)
        return packed, None, None, None


def _launch(which: int, tensors: tuple[Tensor, ...], sizes: tuple[int, int, int], rows: int) -> None:
    if rows == 0:
        return
    grid = (rows, -(-sizes[1] // (2 * BLOCK)), 1)
    key = (tensors[0].dtype, tensors[-1].dtype)
    _launchers()[which](grid, *tensors, *sizes, key=key, BLOCK=BLOCK, num_warps=4)


@cache
def _launchers() -> tuple[Launcher, Launcher]:
    from stepmark.zoo.kernels.rotation_kernels import pack_kernel, unpack_kernel

    return Launcher(unpack_kernel), Launcher(pack_kernel)
