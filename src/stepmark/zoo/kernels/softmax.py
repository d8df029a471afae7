"""Softmax of rows and its gradient by Triton, launched.

Shapes     rows (..., N), contiguous, and all else
Traffic    forward reads the rows once and writes as much; backward reads two matrices and writes one. Rows
           wider than WIDEST are read twice, the second time mostly from the cache.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.launch import Launcher

WIDEST = 16384
"""Of rows that are held in registers."""
WIDE_SIZE, WIDE_WARPS = 4096, 8


class Tiling(NamedTuple):
    """How rows are cut and who takes them."""

    size: int
    """Columns of a piece, a power of two."""
    rows: int
    """Rows a program holds."""
    warps: int


def forward(rows: Tensor, *, tiling: Tiling) -> Tensor:
    num_rows, width = _counts(rows)
    shares = torch.empty_like(rows)
    if width > WIDEST:
        _launch_wide(2, rows, shares)
    elif num_rows:
        _launchers()[0](
            (-(-num_rows // tiling.rows), 1, 1), rows, shares, num_rows,
            key=(rows.dtype, width, tiling),
            WIDTH=width, SIZE=tiling.size, ROWS=tiling.rows, num_warps=tiling.warps,
        )  # fmt: skip
    return shares


def backward(gradient: Tensor, shares: Tensor, *, tiling: Tiling) -> Tensor:
    num_rows, width = _counts(shares)
    d_rows = torch.empty_like(shares)
    if width > WIDEST:
        _launch_wide(3, gradient, shares, d_rows)
    elif num_rows:
        _launchers()[1](
            (-(-num_rows // tiling.rows), 1, 1), gradient, shares, d_rows, num_rows,
            key=(shares.dtype, width, tiling),
            WIDTH=width, SIZE=tiling.size, ROWS=tiling.rows, num_warps=tiling.warps,
        )  # fmt: skip
    return d_rows


def _counts(rows: Tensor) -> tuple[int, int]:
    width = rows.shape[-1]
    return rows.numel() // width, width


def _launch_wide(which: int, *matrices: Tensor) -> None:
    num_rows, width = _counts(matrices[0])
    if num_rows:
        _launchers()[which](
            (num_rows, 1, 1), *matrices, width,
            key=matrices[0].dtype, SIZE=WIDE_SIZE, num_warps=WIDE_WARPS,
        )  # fmt: skip


@cache
def _launchers() -> tuple[Launcher, Launcher, Launcher, Launcher]:
    from stepmark.zoo.kernels import softmax_kernels

    return (
        Launcher(softmax_kernels.softmax_forward),
        Launcher(softmax_kernels.softmax_backward),
        Launcher(softmax_kernels.softmax_forward_wide),
        Launcher(softmax_kernels.softmax_backward_wide),
    )
