"""Products of few rows with a large matrix in float32, where a library's tiles for many rows stay half empty.

Measured on an H200, 16 rows times 8192 x 8192: 105 µs, cuBLAS 144; the matrix is read in 62. Of a matrix
that lies turned cuBLAS takes 142 and a kernel of this kind 320: there it is always cuBLAS.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import choose, is_for_a_graph
from stepmark.zoo.kernels.fragmented_sizes import next_power
from stepmark.zoo.kernels.launch import Launcher

MOST_ROWS = 16
TILES = {"tile32x64w2": (32, 64, 2, 4), "tile64x32w4": (64, 32, 4, 4), "tile16x64w1": (16, 64, 1, 4)}
"""Outputs, depth of a step, warps, stages."""

_chosen: dict[tuple[object, ...], str] = {}


def add_product(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    """a (rows, depth) @ b (depth, columns), b of any strides; added to `into` in place where it is given."""
    if a.shape[0] > MOST_ROWS or a.dtype is not torch.float32 or not a.is_cuda or b.stride(1) != 1:
        return _by_torch(into, a, b)
    key = (*a.shape, b.shape[1], into is None, is_for_a_graph())
    name = _chosen.get(key)
    if name is None:
        name = _chosen[key] = _choose(into, a, b)
    return _by_torch(into, a, b) if name == "torch" else _by_tiles(into, a, b, name)


def _choose(into: Tensor | None, a: Tensor, b: Tensor) -> str:
    spare = None if into is None else into.clone()
    candidates = {name: (lambda name=name: _by_tiles(spare, a, b, name)) for name in TILES}
    key = (next_power(a.shape[0]), a.shape[1], b.shape[1], "new" if into is None else "added")
    every = {"torch": lambda: _by_torch(spare, a, b), **candidates}
    return choose("few-rows-product/1", key, every, default="torch")


def _by_torch(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    return a @ b if into is None else into.addmm_(a, b)


def _by_tiles(into: Tensor | None, a: Tensor, b: Tensor, name: str) -> Tensor:
    tile, step, num_warps, stages = TILES[name]
    a = a.contiguous()
    out = a.new_empty(a.shape[0], b.shape[1]) if into is None else into
    _launcher()(
        (-(-b.shape[1] // tile), 1, 1), a, b, out, *a.shape, b.shape[1], *b.stride(),
        key=(name, into is None), ROWS=16, TILE=tile, STEP=step, STAGES=stages, AT_ONCE=8,
        ADD=into is not None, num_warps=num_warps, num_stages=stages,
    )  # fmt: skip
    return out


@cache
def _launcher() -> Launcher:
    from stepmark.zoo.kernels.fragmented_gate_kernels import few_rows_product

    return Launcher(few_rows_product)
