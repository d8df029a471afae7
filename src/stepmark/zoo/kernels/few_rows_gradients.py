"""Gradients of matrices from few rows in float32: a^T b is as large as the matrix, and writing it is all.

A sum has as many products as there are rows, at most 16: no matrix unit is needed, and it is float32's own.
On an H200 cuBLAS took 30 to 47 µs for 4096 x 4096 from 1 or 16 rows, and 122 for 8192 x 8192 from 16; at the
rate of a copy these are written in 16 and 64 (docs/gpu.md). There these tiles were the faster for every
square matrix, and for most of the narrow ones; they are taken where they are measured to be.
"""

from __future__ import annotations

from functools import cache, partial
from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import Call, choose, is_capturing, is_for_a_graph
from stepmark.zoo.kernels.few_rows import MOST_ROWS
from stepmark.zoo.kernels.fragmented_sizes import next_power
from stepmark.zoo.kernels.launch import Launcher, is_launchable

OPERATION = "few-rows-gradient/1"


class Tile(NamedTuple):
    height: int
    width: int
    warps: int

    def grid(self, a: Tensor, b: Tensor) -> tuple[int, int, int]:
        return (-(-b.shape[1] // self.width), -(-a.shape[1] // self.height), 1)


TILES = {"outer8x512w4": Tile(8, 512, 4), "outer16x512w4": Tile(16, 512, 4)}
"""Every thread has four columns, and the same rows as all others: nothing goes through shared memory
(`python -m benchmarks.hopper few-rows`). Taller tiles load less and leave room for fewer programs."""

_chosen: dict[tuple[object, ...], str] = {}


def turned_product(a: Tensor, b: Tensor) -> Tensor:
    """a (rows, height) turned @ b (rows, width)."""
    if (
        a.shape[0] > MOST_ROWS
        or a.dtype is not torch.float32
        or b.dtype is not torch.float32
        or not a.is_cuda
    ):
        return a.t() @ b
    key = (*a.shape, b.shape[1], is_for_a_graph())
    name = _chosen.get(key)
    if name is None:
        name = _choose(a, b)
        if not is_capturing():  # nothing is measured there
            _chosen[key] = name
    return a.t() @ b if name == "torch" else _by_tiles(a, b, name)


def _choose(a: Tensor, b: Tensor) -> str:
    launchable = [name for name, tile in TILES.items() if is_launchable(tile.grid(a, b))]
    every: dict[str, Call] = {"torch": lambda: a.t() @ b}
    every |= {name: partial(_by_tiles, a, b, name) for name in launchable}
    sizes = (next_power(a.shape[0]), a.shape[1], b.shape[1])
    return choose(OPERATION, sizes, every, default="torch")


def _by_tiles(a: Tensor, b: Tensor, name: str) -> Tensor:
    tile, rows = TILES[name], a.shape[0]
    a, b, out = a.contiguous(), b.contiguous(), a.new_empty(a.shape[1], b.shape[1])
    key = (name, next_power(rows))
    options = {"ROWS": next_power(rows), "HEIGHT": tile.height, "WIDTH": tile.width, "num_warps": tile.warps}
    _launcher()(tile.grid(a, b), a, b, out, rows, *out.shape, key=key, **options)
    return out


@cache
def _launcher() -> Launcher:
    from stepmark.zoo.kernels.few_rows_kernels import few_rows_gradient

    return Launcher(few_rows_gradient)
