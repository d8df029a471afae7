"""Products of few rows with a large matrix in float32, where a library's tiles for many rows stay half empty.

Measured on an H200, 16 rows times 8192 x 8192: 105 µs, cuBLAS 144; the matrix is read in 62. Of a matrix
that lies turned cuBLAS takes 142 and a kernel with products one by one 320.
Matrix units know float32 by its first 11 digits: `tf32x3` adds up three products of first and last digits,
and what is left out, last times last, is smaller than float32's own rounding of the sum.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import choose, is_for_a_graph
from stepmark.zoo.kernels.fragmented_sizes import next_power
from stepmark.zoo.kernels.launch import Launcher

OPERATION = "few-rows-product/2"
MOST_ROWS = 16


class Tile(NamedTuple):
    outputs: int
    depth: int
    warps: int
    stages: int
    precision: str = "ieee"


TILES = {
    "tile32x64w2": Tile(32, 64, 2, 4),
    "tile64x32w4": Tile(64, 32, 4, 4),
    "tile16x64w1": Tile(16, 64, 1, 4),
    "tile32x64w4-tf32x3": Tile(32, 64, 4, 4, "tf32x3"),
    "tile64x64w4-tf32x3": Tile(64, 64, 4, 4, "tf32x3"),
    "tile32x128w4-tf32x3": Tile(32, 128, 4, 4, "tf32x3"),
    "tile64x64w8-tf32x3": Tile(64, 64, 8, 4, "tf32x3"),
}

_chosen: dict[tuple[object, ...], str] = {}


def add_product(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    """a (rows, depth) @ b (depth, columns), b of any strides; added to `into` in place where it is given."""
    if a.shape[0] > MOST_ROWS or a.dtype is not torch.float32 or not a.is_cuda:
        return _by_torch(into, a, b)
    key = (*a.shape, *b.shape, *b.stride(), into is None, is_for_a_graph())
    name = _chosen.get(key)
    if name is None:
        name = _chosen[key] = _choose(into, a, b)
    return _by_torch(into, a, b) if name == "torch" else _by_tiles(into, a, b, name)


def _choose(into: Tensor | None, a: Tensor, b: Tensor) -> str:
    spare = None if into is None else into.clone()
    candidates = {name: (lambda name=name: _by_tiles(spare, a, b, name)) for name in TILES}
    sizes = (next_power(a.shape[0]), a.shape[1], b.shape[1])
    lies = "straight" if b.stride(1) == 1 else "turned" if b.stride(0) == 1 else "apart"
    every = {"torch": lambda: _by_torch(spare, a, b), **candidates}
    return choose(OPERATION, (*sizes, lies, "new" if into is None else "added"), every, default="torch")


def _by_torch(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    return a @ b if into is None else into.addmm_(a, b)


def _by_tiles(into: Tensor | None, a: Tensor, b: Tensor, name: str) -> Tensor:
    tile, step, num_warps, stages, precision = TILES[name]
    a = a.contiguous()
    out = a.new_empty(a.shape[0], b.shape[1]) if into is None else into
    _launcher()(
        (-(-b.shape[1] // tile), 1, 1), a, b, out, *a.shape, b.shape[1], *b.stride(),
        key=(name, into is None), ROWS=16, TILE=tile, STEP=step, STAGES=stages, AT_ONCE=8,
        ADD=into is not None, PRECISION=precision, num_warps=num_warps, num_stages=stages,
    )  # fmt: skip
    return out


@cache
def _launcher() -> Launcher:
    from stepmark.zoo.kernels.fragmented_gate_kernels import few_rows_product

    return Launcher(few_rows_product)
