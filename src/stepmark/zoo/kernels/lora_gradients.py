"""LoRA's backward pass: all at once for few rows, or a product that gives dx and h, then dA and dB."""

from __future__ import annotations

import torch
from torch import Tensor

from stepmark.zoo.kernels.lora_launch import FixedLaunch, exactness, keys, launchers, options_of, padded
from stepmark.zoo.kernels.lora_products import rows_of, torch_thin
from stepmark.zoo.kernels.lora_sizes import (
    Adapted,
    Backward,
    Factors,
    Gradients,
    Outputs,
    Product,
    Sizes,
    Tile,
)


def at_once(sizes: Sizes, tile: Tile, *, needs_dx: bool) -> Backward:
    rows, inputs, outputs, _ = sizes.product(forward=True)
    assert rows <= tile.rows
    grid = (-(-inputs // tile.columns) + -(-outputs // tile.columns), 1, 1)
    options = options_of(tile, sizes, outputs, WIDE=sizes.has_weight, DX=needs_dx)
    launcher, shape = launchers().backward, sizes.shape(forward=False)
    launch = FixedLaunch(launcher, grid, (rows, inputs, outputs, inputs, outputs), options)

    def way(g: Tensor, x: Tensor, s: Tensor, layer: Adapted) -> Gradients:
        weight, _, a, b, scale = layer
        dx = g.new_empty(shape) if needs_dx else None
        da, db = torch.empty_like(a), torch.empty_like(b)
        tensors = (g, g if weight is None else weight, x, s, a, b, g if dx is None else dx, da, db)
        if g.is_contiguous() and x.is_contiguous():
            launch(*tensors, scale=scale)
        else:
            numbers = (rows, inputs, outputs, x.stride(-2), g.stride(-2), scale)
            launcher(grid, *tensors, *numbers, **options)
        return dx, da, db

    return way


def in_parts(product: Product, factors: Factors, *, needs_dx: bool) -> Backward:
    """The product's dx is left out where it is not wanted: a product that computes h alone will do."""

    def way(g: Tensor, x: Tensor, s: Tensor, layer: Adapted) -> Gradients:
        dx, h = product(g, layer)
        return dx if needs_dx else None, *factors(g, x, s, h)

    return way


def torch_thin_alone(z: Tensor, layer: Adapted) -> Outputs:
    """h and no dx."""
    return z, torch_thin(z, layer, forward=False)


def strips(sizes: Sizes, tile: Tile, splits: int = 1) -> Factors:
    """A program reads tile.columns features of x or g, tile.depth rows at a time; split, a part of the rows,
    and another launch sums the parts."""
    rows, inputs, outputs, rank = sizes.product(forward=True)
    tiles = -(-inputs // tile.columns) + -(-outputs // tile.columns)
    constants = {"R": rank, "SPLITS": splits, "BF": tile.columns, "BR": padded(rank)}
    options = {
        **constants, "BT": tile.depth, "PRECISION": exactness(sizes),
        "num_warps": tile.warps, "num_stages": tile.stages, "key": next(keys),
    }  # fmt: skip
    launcher, grid, numbers = launchers().gradients, (tiles, splits, 1), (rows, inputs, outputs)
    launch = FixedLaunch(launcher, grid, (*numbers, inputs, outputs), options)
    add_options = {**constants, "key": next(keys)}
    add = FixedLaunch(launchers().sum, (tiles, 1, 1), (inputs, outputs), add_options)

    def way(g: Tensor, x: Tensor, s: Tensor, h: Tensor) -> Outputs:
        da, db = g.new_empty((inputs, rank)), g.new_empty((rank, outputs))
        a_parts, b_parts = da, db
        if splits > 1:
            a_parts = g.new_empty((splits, inputs, rank), dtype=torch.float32)
            b_parts = g.new_empty((splits, outputs, rank), dtype=torch.float32)
        sides = (x, h, a_parts, g, s, b_parts)
        if x.is_contiguous() and g.is_contiguous():
            launch(*sides)
        else:
            launcher(grid, *sides, *numbers, x.stride(-2), g.stride(-2), **options)
        if splits > 1:
            add(a_parts, b_parts, da, db)
        return da, db

    return way


def torch_factors(g: Tensor, x: Tensor, s: Tensor, h: Tensor) -> Outputs:
    return rows_of(x).t().mm(h), s.t().mm(rows_of(g))
