"""LoRA's products in each of several ways: kernels of their own, torch's, or both together.

Shapes, formulas and rounding stand in lora_kernels.py; every way agrees with float64 within TOLERANCES of
zoo/lora.py. A way is made for given sizes, once, and called often: what depends on the sizes alone is worked
out when it is made, because at few rows the host's time is the layer's.
whole     one launch, the thin product computed again for every tile. Few rows.
spread    kernels write the thin part into the output, torch's wide product adds onto it. Many rows: at 4096 x
          4096 x 4096 in bfloat16 on an H200 adding costs that product 2.4 us, a product added onto its output
          16 us.
rows      torch's wide product, then one launch: each program the thin product of its rows, then their part of
          every output, added in place; without W one launch in all. Many rows.
fused     a wide product of our own with the thin one as a last step of its sum. Many rows, 16 bits.
torch     torch's products alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from stepmark.zoo.kernels.lora_launch import (
    FixedLaunch,
    exactness,
    keys,
    launchers,
    options_of,
    padded,
    processors,
)
from stepmark.zoo.kernels.lora_sizes import Adapted, Outputs, Product, Sizes, Tile

ROUND = 16
"""Bytes."""


def whole(sizes: Sizes, tile: Tile, *, forward: bool) -> Product:
    rows, depth, columns, rank = sizes.product(forward)
    grid = (-(-columns // tile.columns), -(-rows // tile.rows), 1)
    wide, biased = sizes.has_weight, sizes.has_bias and forward
    options = options_of(tile, sizes, depth, FORWARD=forward, WIDE=wide, BIAS=biased)
    launcher, shape = launchers().whole, sizes.shape(forward)
    launch = FixedLaunch(launcher, grid, (rows, depth, columns, depth), options)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        weight, bias, a, b, scale = layer
        out, thin = z.new_empty(shape), z.new_empty((rows, rank))
        p, q = (a, b) if forward else (b, a)
        w, c = z if weight is None else weight, bias if bias is not None and biased else z
        if z.is_contiguous():
            launch(z, w, p, q, c, out, thin, scale=scale)
        else:
            numbers = (rows, depth, columns, z.stride(-2), scale)
            launcher(grid, z, w, p, q, c, out, thin, *numbers, **options)
        return out, thin

    return way


def thin_alone(sizes: Sizes, tile: Tile, *, forward: bool) -> Product:
    """The thin product; in the output's place stands z."""
    rows, depth, _, rank = sizes.product(forward)
    options = options_of(tile, sizes, depth, FORWARD=forward)
    launcher, grid = launchers().thin, (-(-rows // tile.rows), 1, 1)
    launch = FixedLaunch(launcher, grid, (rows, depth, depth), options)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        thin, p = z.new_empty((rows, rank)), layer.a if forward else layer.b
        if z.is_contiguous():
            launch(z, p, thin, scale=layer.scale)
        else:
            launcher(grid, z, p, thin, rows, depth, z.stride(-2), layer.scale, **options)
        return z, thin

    return way


def spread(sizes: Sizes, thin_tile: Tile, tile: Tile, *, forward: bool) -> Product:
    """The thin product and its part of the output by kernels, the wide product by torch."""
    rows, _, columns, rank = sizes.product(forward)
    part, shape = thin_alone(sizes, thin_tile, forward=forward), sizes.shape(forward)
    grid = (-(-columns // tile.columns), -(-rows // tile.rows), 1)
    biased = sizes.has_bias and forward
    options = {
        "R": rank, "FORWARD": forward, "BIAS": biased, "BM": tile.rows, "BN": tile.columns,
        "BR": padded(rank), "PRECISION": exactness(sizes),
        "num_warps": tile.warps, "num_stages": tile.stages, "key": next(keys),
    }  # fmt: skip
    launch = FixedLaunch(launchers().spread, grid, (rows, columns), options)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        _, thin = part(z, layer)
        out = z.new_empty((rows, columns))
        q = layer.b if forward else layer.a
        launch(thin, q, layer.bias if biased and layer.bias is not None else thin, out)
        return _widened(out, z, layer.weight, forward).view(shape), thin

    return way


def in_rows(sizes: Sizes, tile: Tile, *, forward: bool) -> Product:
    """All but the wide product in one launch, after it."""
    rows, depth, columns, rank = sizes.product(forward)
    grid, shape = (-(-rows // tile.rows), 1, 1), sizes.shape(forward)
    options = options_of(tile, sizes, depth, FORWARD=forward, ADD=sizes.has_weight) | {"STAGES": tile.stages}
    launcher = launchers().rows
    launch = FixedLaunch(launcher, grid, (rows, depth, columns, depth), options)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        weight, bias, a, b, scale = layer
        thin = z.new_empty((rows, rank))
        out = z.new_empty(shape) if weight is None else _wide(z, weight, bias, forward)
        p, q = (a, b) if forward else (b, a)
        if z.is_contiguous():
            launch(z, p, q, out, thin, scale=scale)
        else:
            numbers = (rows, depth, columns, z.stride(-2), scale)
            launcher(grid, z, p, q, out, thin, *numbers, **options)
        return out.view(shape), thin

    return way


def fused(sizes: Sizes, thin_tile: Tile, tile: Tile, *, forward: bool) -> Product:
    """Two launches: the thin product, then all of the output."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    rows, depth, columns, rank = sizes.product(forward)
    part, shape = thin_alone(sizes, thin_tile, forward=forward), sizes.shape(forward)
    block = [tile.columns, tile.depth] if forward else [tile.depth, tile.columns]
    programs = min(-(-rows // tile.rows) * -(-columns // tile.columns), processors())
    biased = sizes.has_bias and forward
    options = {
        "R": rank,
        "FORWARD": forward,
        "BIAS": biased,
        "BM": tile.rows,
        "BN": tile.columns,
        "BK": tile.depth,
        "BR": padded(rank),
        "GROUP": 8,
        "PROGRAMS": programs,
        "num_warps": tile.warps,
        "num_stages": tile.stages,
        "key": next(keys),
    }
    launch = launchers().fused

    def way(z: Tensor, layer: Adapted) -> Outputs:
        weight, bias, a, b, _ = layer
        assert weight is not None
        _, thin = part(z, layer)
        out = z.new_empty(shape)
        z_rows = TensorDescriptor.from_tensor(_round(rows_of(z)), [tile.rows, tile.depth])
        tiles = TensorDescriptor.from_tensor(_round(weight), block)
        q = b if forward else a
        out_tiles = TensorDescriptor.from_tensor(rows_of(out), [tile.rows, tile.columns])
        given = (z_rows, tiles, out_tiles, thin, q, bias if biased else z, rows, depth, columns)
        launch((programs, 1, 1), *given, **options)
        return out, thin

    return way


def _round(matrix: Tensor) -> Tensor:
    """With rows that begin at multiples of 16 bytes and do not overlap, as descriptors want them; others are
    copied."""
    stride = matrix.stride(0)
    if matrix.data_ptr() % ROUND == 0 and stride * matrix.itemsize % ROUND == 0 and stride >= matrix.shape[1]:
        return matrix
    return matrix.clone(memory_format=torch.contiguous_format)


def torch_spread(sizes: Sizes, *, forward: bool) -> Product:
    """The thin part first, the wide product added onto it."""
    shape = sizes.shape(forward)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        thin = torch_thin(z, layer, forward=forward)
        if not forward:
            out = thin.mm(layer.a.t())
        elif layer.bias is None:
            out = thin.mm(layer.b)
        else:
            out = torch.addmm(layer.bias, thin, layer.b)
        return _widened(out, z, layer.weight, forward).view(shape), thin

    return way


def torch_added(sizes: Sizes, *, forward: bool) -> Product:
    """The wide product first, the thin one added onto it."""
    if not sizes.has_weight:
        return torch_spread(sizes, forward=forward)
    shape = sizes.shape(forward)

    def way(z: Tensor, layer: Adapted) -> Outputs:
        weight, bias, a, b, _ = layer
        assert weight is not None
        thin, out = torch_thin(z, layer, forward=forward), _wide(z, weight, bias, forward)
        return out.addmm_(thin, b if forward else a.t()).view(shape), thin

    return way


def torch_thin(z: Tensor, layer: Adapted, *, forward: bool) -> Tensor:
    """Scaled inside the product: beta = 0 leaves what was in the output unread."""
    rows = rows_of(z)
    thin = rows.new_empty((rows.shape[0], layer.a.shape[1]))
    return thin.addmm_(rows, layer.a if forward else layer.b.t(), beta=0.0, alpha=layer.scale)


def _wide(z: Tensor, weight: Tensor, bias: Tensor | None, forward: bool) -> Tensor:
    """The base's own product."""
    rows = rows_of(z)
    if not forward:
        return rows.mm(weight)
    return rows.mm(weight.t()) if bias is None else torch.addmm(bias, rows, weight.t())


def _widened(out: Tensor, z: Tensor, weight: Tensor | None, forward: bool) -> Tensor:
    return out if weight is None else out.addmm_(rows_of(z), weight.t() if forward else weight)


def rows_of(z: Tensor) -> Tensor:
    return z if z.dim() == 2 else z.view(-1, z.shape[-1])
