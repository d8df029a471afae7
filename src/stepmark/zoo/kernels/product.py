"""The product of 8-bit codes by whichever way is the fastest here: one of the kernel's tiles, or torch's own.

Choices are made for rows rounded up to a power of two, at most MOST_ROWS: from there on time grows with the
rows and the order of the ways stays.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import Call, FromPython, choose, is_for_a_graph
from stepmark.zoo.kernels.int8 import DEFAULT, TILES, scaled_product

OPERATION: Final = "switchback-product/1"
MOST_ROWS: Final = 8192
TORCH: Final = "torch"
LONG: Final = 5e11
"""Operations that take a few hundred microseconds on an H200."""

_known: dict[tuple[int | str | torch.dtype | None, ...], str] = {}


def product(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: torch.dtype,
    measured: bool = True,
) -> Tensor:
    """y (m, n) from codes (m, k) and (n, k), their scales and a bias."""
    if not measured or x8.device.type == "cpu" or 0 in (*x8.shape, w8.shape[0]):
        return scaled_product(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)
    way = _way(x8, w8, x_scale, w_scale, dtype)
    if way == TORCH:
        return torch_product(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)
    return scaled_product(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype, tile=TILES[way])


def torch_product(
    x8: Tensor, w8: Tensor, x_scale: Tensor, w_scale: Tensor, *, bias: Tensor | None, dtype: torch.dtype
) -> Tensor:
    """The same by torch._int_mm with scales applied afterwards, or by torch._scaled_mm."""
    if x8.dtype == torch.int8:
        from stepmark.zoo.int8 import torch_linear

        return torch_linear(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)
    from stepmark.zoo.kernels.fp8 import scaled_mm

    return scaled_mm(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)


def without_graphs(candidates: dict[str, Call], *, operations: float) -> dict[str, Call]:
    """Candidates that are not captured, if they are long: what hides the next launch takes the same time in a
    graph and from Python, and a graph of many such calls takes memory and seconds."""
    return candidates if operations < LONG else {name: FromPython(call) for name, call in candidates.items()}


def rows_measured(rows: int, most: int = MOST_ROWS) -> int:
    """The rows that a choice is made for."""
    return min(most, 1 << max(0, rows - 1).bit_length())


def _way(x8: Tensor, w8: Tensor, x_scale: Tensor, w_scale: Tensor, dtype: torch.dtype) -> str:
    rows, captured = rows_measured(x8.shape[0]), is_for_a_graph()
    place = (x8.device.index, rows, *w8.shape, x8.dtype, dtype)
    known = None if captured else _known.get(place)
    if known is None:
        x8, x_scale = x8[:rows], x_scale[:rows]
        y = torch.empty(x8.shape[0], w8.shape[0], dtype=dtype, device=x8.device)
        call = partial(scaled_product, x8, w8, x_scale, w_scale, dtype=dtype, out=y)
        candidates: dict[str, Call] = {
            **{name: partial(call, tile=tile) for name, tile in TILES.items()},
            TORCH: partial(torch_product, x8, w8, x_scale, w_scale, bias=None, dtype=dtype),
        }
        key = (rows, *w8.shape, *(str(one).removeprefix("torch.") for one in (x8.dtype, dtype)))
        candidates = without_graphs(candidates, operations=2.0 * x8.numel() * w8.shape[0])
        known = choose(OPERATION, key, candidates, default=DEFAULT)
        if not captured:
            _known[place] = known
    return known
