"""RMSNorm and LayerNorm of rows by Triton: forward and backward, launched.

Shapes     rows (..., N), M of them, contiguous   weight, bias (N) or None
           moments (1 or 2, M) in float32: of each row 1 / sqrt(mean(x^2) + eps), or
           1 / sqrt(mean((x - mean(x))^2) + eps) and mean(x)
Traffic    forward reads the rows once and writes as much; backward reads two matrices and writes one, and
           2 (programs) N float32 for the weights' gradients, which a second launch adds up, always in the
           same order: the same inputs give the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.backend import is_interpreted
from stepmark.zoo.kernels.launch import Launcher

WIDEST = 16384
"""Of rows that the kernels hold in registers."""
COLUMNS, DEPTH, WARPS = 16, 256, 8
"""Of the second launch: the partial sums that a program takes at a time."""


class Tiling(NamedTuple):
    """How rows are cut and who takes them."""

    size: int
    """Columns of a piece, a power of two."""
    rows: int
    """Rows a program holds at a time."""
    warps: int
    stages: int = 1
    """Tiles on their way while one is computed."""
    share: int = 2
    """Programs of a backward pass per multiprocessor."""


class Parameters(NamedTuple):
    """Contiguous, or absent."""

    weight: Tensor | None
    bias: Tensor | None


class Gradients(NamedTuple):
    """Of rows, weight and bias."""

    rows: Tensor
    weight: Tensor | None
    bias: Tensor | None


def forward(
    rows: Tensor, parameters: Parameters, *, eps: float, centred: bool, kept: bool, tiling: Tiling
) -> tuple[Tensor, Tensor | None]:
    """The normed rows; and the moments, where they are to be kept."""
    width = rows.shape[-1]
    num_rows = rows.numel() // width
    normed = torch.empty_like(rows)
    moments = torch.empty((1 + centred, num_rows), dtype=torch.float32, device=rows.device) if kept else None
    if num_rows:
        _launchers()[0](
            (-(-num_rows // tiling.rows), 1, 1),
            rows, *parameters, normed, moments, num_rows, eps,
            key=(rows.dtype, *map(_kind, parameters), width, centred, tiling),
            WIDTH=width, SIZE=tiling.size, ROWS=tiling.rows, CENTRED=centred, num_warps=tiling.warps,
        )  # fmt: skip
    return normed, moments


def backward(
    gradient: Tensor,
    rows: Tensor,
    parameters: Parameters,
    moments: Tensor,
    *,
    wanted: tuple[bool, bool],
    tiling: Tiling,
) -> Gradients:
    """The rows' gradient, and those of weight and bias where wanted."""
    width = rows.shape[-1]
    num_rows = rows.numel() // width
    d_rows = torch.empty_like(rows)
    tiles = -(-num_rows // tiling.rows)
    # Where nothing is added up over rows everybody takes one tile.
    summed = wanted[0] or wanted[1]
    programs = min(tiles, tiling.share * _processors(rows.device)) if summed else tiles
    parts = (
        torch.empty((sum(wanted), programs, width), dtype=torch.float32, device=rows.device)
        if summed
        else None
    )
    if num_rows:
        _launchers()[1](
            (programs, 1, 1),
            gradient, rows, parameters.weight, moments, d_rows, parts, num_rows,
            key=(rows.dtype, _kind(parameters.weight), wanted, width, len(moments), tiling),
            WIDTH=width, SIZE=tiling.size, ROWS=tiling.rows, CENTRED=len(moments) == 2,
            WEIGHTED=wanted[0], BIASED=wanted[1], STAGES=tiling.stages, num_warps=tiling.warps,
        )  # fmt: skip
    weight, bias = parameters
    d_weight = torch.empty_like(weight) if weight is not None and wanted[0] else None
    d_bias = torch.empty_like(bias) if bias is not None and wanted[1] else None
    if summed:
        _launchers()[2](
            (-(-width // COLUMNS), sum(wanted), 1),
            parts, d_weight, d_bias, programs,
            key=(_kind(d_weight), _kind(d_bias), width, COLUMNS, DEPTH, WARPS),
            WIDTH=width, COLUMNS=COLUMNS, DEPTH=DEPTH, num_warps=WARPS,
        )  # fmt: skip
    return Gradients(d_rows, d_weight, d_bias)


def _kind(tensor: Tensor | None) -> torch.dtype | None:
    return None if tensor is None else tensor.dtype


@cache
def _processors(device: torch.device) -> int:
    return 2 if is_interpreted() else torch.cuda.get_device_properties(device).multi_processor_count


@cache
def _launchers() -> tuple[Launcher, Launcher, Launcher]:
    from stepmark.zoo.kernels import norm_kernels

    return (
        Launcher(norm_kernels.norm_forward),
        Launcher(norm_kernels.norm_backward),
        Launcher(norm_kernels.sum_parts),
    )
