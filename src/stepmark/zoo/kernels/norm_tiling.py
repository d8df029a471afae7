"""Tilings of norms: how rows of a width are cut, as measured on an H200 (benchmarks/h200/operations_tilings).

Narrow rows   several a program, each a single piece: fewer, fuller programs
Wide rows     one a program, with the more warps the wider it is, so that 16 to 32 entries fall to a lane
Backward      three tiles on their way, and so few programs that their partial sums stay few
"""

from __future__ import annotations

from functools import cache

from stepmark.zoo.kernels.norm import Tiling


@cache
def forward_tiling(num_rows: int, width: int) -> Tiling:
    whole = 1 << (width - 1).bit_length()
    if whole <= 1024:
        fewest = 4 if num_rows >= 4096 else 2 if num_rows >= 512 else 1
        return Tiling(whole, max(fewest, 1024 // whole), 4)
    if whole <= 2048:
        return Tiling(512, 1, 2)
    if width <= 3072:
        return Tiling(1024, 1, 4)
    return Tiling(whole, 1, 8 if whole <= 8192 else 16)


@cache
def backward_tiling(num_rows: int, width: int, *, summed: bool) -> Tiling:
    """`summed`: gradients of weights are added up over rows; else rows have nothing to do with each other."""
    if not summed:
        return forward_tiling(num_rows, width)
    whole = 1 << (width - 1).bit_length()
    if whole <= 1024:
        return Tiling(whole, max(4, 2048 // whole), 4, stages=3, share=2)
    if whole <= 2048:
        return Tiling(whole, 1, 4, stages=3, share=4 if num_rows >= 4096 else 2)
    if whole <= 4096:
        return Tiling(1024, 1, 4, stages=3, share=2)
    return Tiling(whole, 1, 8 if whole <= 8192 else 16, stages=2, share=1)
