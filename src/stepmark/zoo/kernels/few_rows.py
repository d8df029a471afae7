"""Products of few rows with a large matrix in float32, where a library's tiles for many rows stay half empty.

Matrix units know float32 by its first 11 bits: `tf32x3` adds up three products of first and last bits, and
leaves out last times last, at most 2^-22 of a product. Of sixteen rows a warp has one product for every eight
columns, which waits for the one before it: wide tiles have more of them at once, and splits of the depth make
more programs.

Measured on an H200, 16 rows times 8192 x 8192, which is read in 64 µs: cuBLAS 153, and 148 where the matrix
lies turned; these 75 and 84, with an error of 2e-7 where cuBLAS has 7e-7 and 6e-7 (docs/gpu.md).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import choose, is_capturing, is_for_a_graph
from stepmark.zoo.kernels.fragmented_sizes import next_power
from stepmark.zoo.kernels.launch import Launcher

OPERATION = "few-rows-product/2"
MOST_ROWS = 16
ADDED_AT_ONCE = 1024


class Tile(NamedTuple):
    outputs: int
    depth: int
    warps: int
    stages: int
    splits: int = 1


TILES = {
    "tile64x64w4": Tile(64, 64, 4, 4),
    "tile64x64w4-2": Tile(64, 64, 4, 4, 2),
    "tile64x64w4-4": Tile(64, 64, 4, 4, 4),
    "tile128x32w4-4": Tile(128, 32, 4, 5, 4),
    "tile128x32w4-8": Tile(128, 32, 4, 5, 8),
}

_chosen: dict[tuple[object, ...], str] = {}


def add_product(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    """a (rows, depth) @ b (depth, columns), b of any strides; added to `into` in place where it is given."""
    if a.shape[0] > MOST_ROWS or a.dtype is not torch.float32 or not a.is_cuda:
        return _by_torch(into, a, b)
    key = (*a.shape, *b.shape, *b.stride(), is_for_a_graph())
    name = _chosen.get(key)
    if name is None:
        name = _choose(a, b)
        if not is_capturing():  # nothing is measured there
            _chosen[key] = name
    return _by_torch(into, a, b) if name == "torch" else _by_tiles(into, a, b, name)


def _choose(a: Tensor, b: Tensor) -> str:
    """Without adding: what is added to again and again is another sum for each candidate."""
    candidates = {name: (lambda name=name: _by_tiles(None, a, b, name)) for name in TILES}
    lies = "straight" if b.stride(1) == 1 else "turned" if b.stride(0) == 1 else "apart"
    every = {"torch": lambda: _by_torch(None, a, b), **candidates}
    return choose(OPERATION, (next_power(a.shape[0]), *b.shape, lies), every, default="torch")


def _by_torch(into: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    return a @ b if into is None else into.addmm_(a, b)


def _by_tiles(into: Tensor | None, a: Tensor, b: Tensor, name: str) -> Tensor:
    tile, step, num_warps, stages, splits = TILES[name]
    a, rows, columns = a.contiguous(), a.shape[0], b.shape[1]
    out = a.new_empty(rows, columns) if into is None else into
    parts = out if splits == 1 else a.new_empty(splits, rows, columns)
    product, add = _launchers()
    product(
        (-(-columns // tile), splits, 1), a, b, parts, *a.shape, columns, *b.stride(),
        key=(name, into is None), ROWS=16, TILE=tile, STEP=step, STAGES=stages, AT_ONCE=max(1, 512 // step),
        SPLITS=splits, ADD=into is not None and splits == 1, num_warps=num_warps, num_stages=stages,
    )  # fmt: skip
    if splits > 1:
        options = {"SPLITS": splits, "AT_ONCE": ADDED_AT_ONCE, "ADD": into is not None, "num_warps": 4}
        number = rows * columns
        key = (splits, into is None, number < 1 << 31)  # compiled for 32 bits where they hold it
        add((-(-number // ADDED_AT_ONCE), 1, 1), parts, out, number, key=key, **options)
    return out


@cache
def _launchers() -> tuple[Launcher, Launcher]:
    from stepmark.zoo.kernels.few_rows_kernels import add_splits, few_rows_product

    return Launcher(few_rows_product), Launcher(add_splits)
