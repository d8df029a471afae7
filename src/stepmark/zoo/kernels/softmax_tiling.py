"""Tilings of softmax: how rows are cut, as measured on an H200 (benchmarks/h200/operations_tilings).

A piece of 256 half numbers is one warp's 16-byte loads, so narrow rows have warps of their own and need no
shared memory; wide rows are spread over the more warps the wider they are. Not measured: that few narrow rows
are spread as well, as those of norms are. By warps of their own 64 x 1024 were 16 programs for 132
processors, and took 2.8 µs where others took 2.0 (`python -m benchmarks.h200.operations --what softmax`).
"""

from __future__ import annotations

from functools import cache

from stepmark.zoo.kernels.softmax import Tiling

FEW_ROWS = 512


@cache
def forward_tiling(width: int, *, few: bool = False) -> Tiling:
    """`few`: there are less than FEW_ROWS."""
    whole = 1 << (width - 1).bit_length()
    if whole <= 1024 and few:
        return Tiling(whole, 1024 // whole, 4)
    if whole <= 1024:
        return Tiling(min(256, whole), max(4, 1024 // whole), 4)
    if whole <= 2048:
        return Tiling(256, 1, 1)
    if width <= 3072:
        return Tiling(1024, 1, 4)
    return Tiling(whole, 1, 8 if whole <= 8192 else 16)


@cache
def backward_tiling(width: int, *, few: bool = False) -> Tiling:
    whole = 1 << (width - 1).bit_length()
    if 1024 < whole <= 2048:
        return Tiling(512, 1, 2)
    if width > 3072 and whole <= 16384:
        return Tiling(whole, 1, 16)
    return forward_tiling(width, few=few)
