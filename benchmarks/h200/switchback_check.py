"""The compiled kernels against float64, before any of them is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from stepmark.zoo import quantize as plain
from stepmark.zoo.kernels.int8 import DEFAULT, TILES, Tile, scaled_product
from stepmark.zoo.kernels.quantize import dequantize_rows, quantize_rows, quantize_weight

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def checks() -> Iterator[dict[str, Any]]:
    """One row a check; "wrong" counts elements that differ where all must be equal."""
    yield from _quantisers()
    for tile in TILES.values():
        yield _guarded(f"product {tile.name}", partial(product_check, tile, (513, 1024, 776)))
    for shape in ((300, 333, 203), (1, 16, 8), (83, 332, 83)):
        yield _guarded(f"product {shape}", partial(product_check, TILES[DEFAULT], shape))


def _quantisers() -> Iterator[dict[str, Any]]:
    for dtype in DTYPES:
        for shape in ((130, 83), (64, 4096), (5, 20000), (1000, 1664)):
            x = torch.randn(shape, device="cuda").to(dtype)
            x[0] = 0
            x[1, 3] = 60000.0
            x[2] *= 1e-7
            yield _guarded(f"rows {dtype} {shape}", partial(_rows, x))
            yield _guarded(f"weight {dtype} {shape}", partial(_weight, x))


def _rows(x: torch.Tensor) -> dict[str, Any]:
    (codes, scale), (same, own) = quantize_rows(x), plain.quantize_rowwise(x)
    back = dequantize_rows(codes, scale, x.dtype)
    return {
        "wrong codes": int((codes != same).sum()),
        "wrong scales": int((scale != own).sum()),
        "wrong back": int((back != plain.dequantize_rowwise(same, own, x.dtype)).sum()),
    }


def _weight(w: torch.Tensor) -> dict[str, Any]:
    vector, one = quantize_weight(w, one_scale=False), quantize_weight(w, one_scale=True)
    rows, columns, whole = plain.quantize_rowwise(w), plain.quantize_columnwise(w), plain.quantize_global(w)
    return {
        "wrong codes": int((vector.codes != rows[0]).sum()) + int((one.codes != whole[0]).sum()),
        "wrong turned": int((vector.turned != columns[0].t()).sum())
        + int((one.turned != whole[0].t()).sum()),
        "wrong scales": int((vector.scale != rows[1]).sum())
        + int((vector.turned_scale != columns[1]).sum())
        + int(one.scale != whole[1]),
    }


def product_check(tile: Tile, shape: tuple[int, int, int]) -> dict[str, Any]:
    """Largest errors of the largest output; with scales of one and small sums, wrong ones."""
    m, k, n = shape
    x8, w8 = (torch.randint(-127, 128, (r, k), device="cuda").to(torch.int8) for r in (m, n))
    ones = torch.full((max(m, n),), 127.0, device="cuda")
    small_x, small_w = (one.clamp(-1, 1) for one in (x8, w8))
    small = scaled_product(small_x, small_w, ones[:m], ones[:n], dtype=torch.float16, tile=tile)
    wanted = small_x.double() @ small_w.double().t()
    sums = (x8.cpu().long() @ w8.cpu().long().t()).cuda()
    x_scale, w_scale, bias = (torch.rand(size, device="cuda") for size in (m, n, n))
    truth = sums.double() * x_scale.double()[:, None] * w_scale.double() / 127**2 + bias.half().double()
    y = scaled_product(x8, w8, x_scale, w_scale, bias=bias.half(), dtype=torch.float16, tile=tile)
    one = scaled_product(x8, w8, x_scale, w_scale[0], dtype=torch.bfloat16, tile=tile)
    truth_one = sums.double() * x_scale.double()[:, None] * w_scale[0].double() / 127**2
    scale = float(truth.abs().max())
    return {
        "wrong sums": int((small.double() != wanted).sum()),
        "error fp16": float((y.double() - truth).abs().max()) / scale,
        "error bf16": float((one.double() - truth_one).abs().max()) / float(truth_one.abs().max()),
    }


def _guarded(what: str, check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"what": what, **check()}
    except Exception as error:
        return {"what": what, "failed": f"{type(error).__name__}: {str(error)[:300]}"}
