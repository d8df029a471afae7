"""Plans of FragmentedLinear's hard selection: which kernels, how large their tiles; no wait for the device.

A plan takes x (rows, n) and the parameters and finds y (rows, o); where asked to keep them, also the narrow
features h (rows, c) and the chosen fragments (rows). Each stream, thread and graph has its own scratch.
Nothing is remembered of weights: a change is seen by the next call, whatever made it, and by a graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels.fragmented_chain import Chain, Found, Kernel, launchers
from stepmark.zoo.kernels.fragmented_gate import group
from stepmark.zoo.kernels.fragmented_sizes import (
    Parameters,
    Sizes,
    Split,
    next_power,
    split_for_rows,
    split_for_tiles,
)
from stepmark.zoo.kernels.launch import dependent_launch, key_of

MOST_ROWS = 16
"""Few: each is taken by itself."""
MOST_ROWS_OF_A_TILE = 32
"""With 64 and more rows a tile two configurations were wrong by some hundredths on an H200 (Triton 3.6). The
cause was not found; that products are asynchronous from there on is a suspicion."""
MOST_NARROW = 512
"""A tile of the decompressor that is held in registers has this many columns at most."""


def rows_plan(
    sizes: Sizes,
    *,
    splits: int,
    tile_narrow: int,
    tile: int,
    rows: int = 1,
    num_warps: int = 4,
    step: int = 64,
    inline: bool = True,
    early: bool = False,
    late: bool = False,
    ahead: bool = False,
) -> Chain:
    """Few rows: weights stay in registers while rows pass. Two launches; three where the sums over splits are
    finished by a kernel of their own, not inline by every program that needs them. Early: the next kernel may
    begin with the last of these, not at its end. Late: the second may begin at the end of the first, not with
    it. Ahead: the sums are loaded before the choice is known."""
    if not 0 < sizes.narrow <= MOST_NARROW or not 0 < sizes.rows <= MOST_ROWS:
        raise ValueError(f"expected 1 to {MOST_ROWS} rows and 1 to {MOST_NARROW} narrow features")
    split = split_for_rows(sizes, splits)
    launch = {"num_warps": num_warps, "num_stages": 1} | dependent_launch()
    first = _constants(sizes, split) | _features(sizes, split) | launch
    first |= {"TILE": tile_narrow, "LATE": late}
    grid = (split.splits, -(-sizes.narrow // tile_narrow), 1)
    ways = (inline, early, late, ahead)
    key = key_of((sizes[1:], splits, tile_narrow, tile, rows, num_warps, step, *ways))
    third = {"ROWS": rows, "TILE": tile, "STEP": step, "STAGES": 3, "EARLY": early, "AHEAD": ahead}
    narrow, choice = Kernel("narrow_rows", grid, first), _choosing(sizes, split, launch)
    ready, by_itself = (_by_rows(sizes, split, third | launch | {"READY": one}) for one in (True, False))
    keeping = (narrow, choice, ready)
    plain = (narrow, by_itself) if inline else keeping
    return _chain(sizes, split, plain, keeping, key=key)


def tiles_plan(
    sizes: Sizes,
    *,
    tile: int,
    step: int,
    splits: int = 32,
    tile_narrow: int = 32,
    num_warps: int = 4,
    stages: int = 3,
    one_by_one: bool = False,
    by_rows: int = 0,
    ahead: bool = False,
    inline: bool = False,
) -> Chain:
    """Up to 32 rows as one tile for their narrow features. Then every fragment that one of them chose is read
    once and multiplied with the whole tile; or, one by one, each row's fragment for it alone, in one program
    for all rows or, by rows, in one for few. Ahead: the decompressor is loaded before the choice is known; by
    rows, the sums. Inline, by rows: programs of the last kernel choose for themselves, without a launch."""
    if not 0 < sizes.narrow <= MOST_NARROW or not 0 < sizes.rows <= MOST_ROWS_OF_A_TILE:
        raise ValueError(f"expected 1 to {MOST_ROWS_OF_A_TILE} rows and 1 to {MOST_NARROW} narrow features")
    split, launch = split_for_tiles(sizes, splits), dependent_launch()
    step = max(16, min(step, next_power(sizes.size)))
    staged = {"STAGES": stages, "num_stages": stages, "ROWS": max(16, next_power(sizes.rows))} | launch
    first = _constants(sizes, split) | _features(sizes, split) | staged
    first |= {"TILE": tile_narrow, "STEP": min(step, 64), "num_warps": 4}
    grid = (split.splits, -(-sizes.narrow // tile_narrow), 1)
    third = staged | {"TILE": tile, "STEP": step, "num_warps": num_warps}
    narrow, choice = Kernel("narrow_tiles", grid, first), _choosing(sizes, split, launch)
    configuration = (splits, tile, step, tile_narrow, num_warps, stages, one_by_one, by_rows, ahead, inline)
    key = key_of((sizes[1:], next_power(sizes.rows), *configuration))
    if by_rows:
        third |= {"ROWS": by_rows, "EARLY": False, "AHEAD": ahead, "num_stages": 1}
        ready, by_itself = (_by_rows(sizes, split, third | {"READY": one}) for one in (True, False))
        keeping = (narrow, choice, ready)
        return _chain(sizes, split, (narrow, by_itself) if inline else keeping, keeping, key=key)
    third |= {"SIZE": sizes.size, "OUTPUTS": sizes.outputs, "NARROW": sizes.narrow}
    third |= {"HAS_BIAS": sizes.has_bias, "ONE_BY_ONE": one_by_one}
    third["COLUMNS"] = max(16, next_power(sizes.narrow)) if ahead else 0
    last = Kernel("expert_tiles", (-(-sizes.outputs // tile), 1, 1), third)
    return _chain(sizes, split, (narrow, choice, last), (narrow, choice, last), key=key)


class GroupsPlan:
    """Many rows: tiles of rows that chose the same fragment. The narrow part is computed by the library or,
    fused, in the same tile."""

    def __init__(
        self,
        sizes: Sizes,
        *,
        rows: int,
        tile: int,
        step: int,
        span: int = 1,
        num_warps: int = 4,
        stages: int = 3,
        fused: bool = True,
    ) -> None:
        self.fused = fused = fused and sizes.narrow > 0
        self.third = {"SIZE": sizes.size, "OUTPUTS": sizes.outputs, "NARROW": sizes.narrow, "ROWS": rows}
        self.third |= {"TILE": tile, "STEP": max(16, min(step, next_power(sizes.size))), "SPAN": span}
        self.third |= {"HAS_BIAS": sizes.has_bias, "ADD": not fused, "STAGES": stages, "num_stages": stages}
        self.third |= {"FRAGMENTS": sizes.fragments, "ALL_FRAGMENTS": next_power(sizes.fragments)}
        self.third["num_warps"] = num_warps
        tiles = min(sizes.rows, sizes.rows // rows + sizes.fragments)
        self.grid = (-(-sizes.outputs // (span * tile)), tiles, 1)
        self.key = key_of((sizes[1:], rows, tile, step, span, num_warps, stages, fused))

    @property
    def grids(self) -> tuple[tuple[int, int, int], ...]:
        """Of its launches with many rows."""
        return (self.grid,)

    def __call__(self, x: Tensor, parameters: Parameters, *, keep: bool = True) -> Found:  # noqa: ARG002
        _, weight, compressor, decompressor, bias = parameters
        rest, chosen, counts, slots = group(x, parameters.selector)
        hidden = rest @ compressor
        if self.fused:
            y = x.new_empty(x.shape[0], weight.shape[2])
        else:
            y = torch.nn.functional.linear(hidden, decompressor, bias)
        tensors = (x, weight, decompressor, bias, hidden, counts, slots, y)
        launchers()["expert_groups"](self.grid, *tensors, x.shape[0], x.stride(0), key=self.key, **self.third)
        return y, hidden, chosen


def _chain(
    sizes: Sizes, split: Split, plain: tuple[Kernel, ...], keeping: tuple[Kernel, ...], *, key: int
) -> Chain:
    dtype = torch.float32 if plain[0].name == "narrow_rows" else sizes.dtype
    scratch = sizes.rows * split.splits * (2 * sizes.narrow + 2)
    return Chain(sizes, plain=plain, keeping=keeping, scratch=scratch, hidden_dtype=dtype, key=key)


def _constants(sizes: Sizes, split: Split) -> dict[str, Any]:
    return {"NARROW": sizes.narrow, "SPLITS": split.splits, "OWN": split.own, "PIECES": split.pieces}


def _features(sizes: Sizes, split: Split) -> dict[str, Any]:
    return {"SIZE": sizes.size, "FRAGMENTS": sizes.fragments, "SPLIT": split.length}


def _summing(split: Split, columns: int) -> dict[str, Any]:
    every = next_power(split.splits)
    return {"ALL_SPLITS": every, "COLUMNS": columns, "AT_ONCE": max(1, min(every, 8192 // columns))}


def _choosing(sizes: Sizes, split: Split, launch: dict[str, Any]) -> Kernel:
    columns = min(64, next_power(sizes.narrow))
    constants = _constants(sizes, split) | _summing(split, columns) | launch
    grid = (sizes.rows, -(-sizes.narrow // columns), 1)
    return Kernel("choose_rows", grid, constants | {"num_warps": 4, "num_stages": 1})


def _by_rows(sizes: Sizes, split: Split, options: dict[str, Any]) -> Kernel:
    constants = _constants(sizes, split) | _summing(split, next_power(sizes.narrow)) | options
    constants |= {"SIZE": sizes.size, "OUTPUTS": sizes.outputs, "HAS_BIAS": sizes.has_bias}
    constants["STEP"] = max(16, min(options["STEP"], next_power(sizes.size)))
    grid = (-(-sizes.outputs // options["TILE"]), -(-sizes.rows // options["ROWS"]), 1)
    return Kernel("expert_rows", grid, constants)
