"""Quantisers by Triton kernels: rows in one read; a weight straight and turned, with all its scales, in two.

Shapes
------
x (m, k) · w (o, n) · codes int8 or float8_e4m3fn · scales float32: per row, per column, or one ()

Codes have rows that begin at multiples of 16 bytes, which TMA asks for: where the width is no such multiple
they are a view of a wider buffer. Scales are absolute maxima, as in zoo/quantize.py, whose formula this is,
to the last code. What is not finite is in the scale of its row (and column), so that no product hides it; its
own codes are unspecified.

Bytes for each element of a 16-bit weight: 2 read for the maxima, 2 read and 2 written for both layouts;
column scales are known only after the whole column, so that two reads are the least. Up to the L2's size the
second one does not reach memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

LARGEST: Final = {torch.int8: 127.0, torch.float8_e4m3fn: 448.0}
"""The largest code."""
LONGEST: Final = 16384
"""Elements of a row that are held in registers."""
PITCH: Final = 16
"""Bytes."""


class WeightCodes(NamedTuple):
    """A weight (o, n) for the product with inputs, and turned for the product with gradients."""

    codes: Tensor
    """(o, n)."""
    scale: Tensor
    """(o), or () for one."""
    turned: Tensor
    """(n, o)."""
    turned_scale: Tensor
    """(n), or () for one."""


def quantize_rows(x: Tensor, *, code: torch.dtype = torch.int8) -> tuple[Tensor, Tensor]:
    """Codes (m, k) and a scale for every row (m)."""
    x = x.detach() if x.stride(-1) == 1 else x.detach().contiguous()
    (m, k), codes = x.shape, pitched(*x.shape, code=code, device=x.device)
    scale = torch.empty(m, dtype=torch.float32, device=x.device)
    if m == 0 or k == 0:
        return codes, scale.zero_()
    strides = (x.stride(0), codes.stride(0))
    plain: dict[str, Any] = {**_kind(code), "enable_fp_fusion": False}
    if k > LONGEST:
        launchers().long_row(
            (m, 1, 1), x, as_bytes(codes), scale, k, *strides,
            key=(x.dtype, code), BLOCK=8192, num_warps=16, **plain,
        )  # fmt: skip
        return codes, scale
    block = max(64, _power(k))
    rows = max(1, 4096 // block)
    warps = max(4, rows * block // 1024)
    launchers().rows(
        (-(-m // rows), 1, 1), x, as_bytes(codes), scale, m, k, *strides,
        key=(x.dtype, code, rows, block), ROWS=rows, BLOCK=block, num_warps=warps, **plain,
    )  # fmt: skip
    return codes, scale


def quantize_weight(w: Tensor, *, one_scale: bool, code: torch.dtype = torch.int8) -> WeightCodes:
    """Codes of w (o, n) both ways round: by rows and by columns, or by one scale."""
    w = w.detach() if w.stride(-1) == 1 else w.detach().contiguous()
    tops = matrix_tops(w, by_row=not one_scale, by_column=not one_scale)
    o, n = w.shape
    codes, turned = pitched(o, n, code=code, device=w.device), pitched(n, o, code=code, device=w.device)
    matrix_codes(w, tops, codes=codes, turned=turned, one_scale=one_scale)
    return WeightCodes(codes, tops[0], turned, tops[1])


def quantize_turned(w: Tensor, *, one_scale: bool, code: torch.dtype = torch.int8) -> tuple[Tensor, Tensor]:
    """Codes (n, o) of w (o, n) by its columns, or by one scale."""
    w = w.detach() if w.stride(-1) == 1 else w.detach().contiguous()
    tops = matrix_tops(w, by_row=False, by_column=not one_scale)
    turned = pitched(w.shape[1], w.shape[0], code=code, device=w.device)
    matrix_codes(w, tops, codes=None, turned=turned, one_scale=one_scale)
    return turned, tops[1]


def quantize_whole(w: Tensor, *, code: torch.dtype = torch.int8) -> tuple[Tensor, Tensor]:
    """Codes (o, n) by one scale ()."""
    w = w.detach() if w.stride(-1) == 1 else w.detach().contiguous()
    tops = matrix_tops(w, by_row=False, by_column=False)
    codes = pitched(*w.shape, code=code, device=w.device)
    matrix_codes(w, tops, codes=codes, turned=None, one_scale=True)
    return codes, tops[0]


def dequantize_rows(codes: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """What codes (m, k) stand for."""
    m, k = codes.shape
    x = torch.empty(m, k, dtype=dtype, device=codes.device)
    if x.numel():
        rows, block = 8, min(1024, _power(k))
        launchers().back(
            (-(-m // rows), -(-k // block), 1), as_bytes(codes), scale, x, m, k, codes.stride(0),
            key=(codes.dtype, dtype, block),
            **_kind(codes.dtype), ROWS=rows, BLOCK=block, num_warps=8,
        )  # fmt: skip
    return x


def matrix_tops(
    w: Tensor, *, by_row: bool, by_column: bool, tile: tuple[int, int] = (32, 256)
) -> tuple[Tensor, Tensor]:
    """Largest magnitudes of w (o, n) by row (o) and column (n); with neither, that of the whole () twice."""
    (o, n), (height, width) = w.shape, tile
    whole = not (by_row or by_column)
    tops = torch.zeros(1 if whole else o + n, dtype=torch.int32, device=w.device)
    row_top, column_top = (tops, tops) if whole else (tops[:o], tops[o:])
    if w.numel():
        down, across = -(-o // height), -(-n // width)
        steps = 16 if down * across >= 4096 else 4
        launchers().maxima(
            (-(-down // steps), across, 1), w, row_top, column_top, o, n, w.stride(0),
            key=(w.dtype, by_row, by_column, tile, steps),
            BY_ROW=by_row, BY_COLUMN=by_column, ROWS=height, COLUMNS=width, STEPS=steps, num_warps=8,
        )  # fmt: skip
    scales = tops.view(torch.float32)
    return (scales.view(()), scales.view(())) if whole else (scales[:o], scales[o:])


def matrix_codes(
    w: Tensor,
    tops: tuple[Tensor, Tensor],
    *,
    codes: Tensor | None,
    turned: Tensor | None,
    one_scale: bool,
    tile: tuple[int, int] = (128, 128),
) -> None:
    """Fill codes (o, n), turned ones (n, o) or both, from scales that are known."""
    (o, n), (height, width) = w.shape, tile
    some = codes if codes is not None else turned
    assert some is not None
    if w.numel() == 0:
        return
    straight_out, turned_out = some if codes is None else codes, some if turned is None else turned
    launchers().codes(
        (-(-o // height), -(-n // width), 1), w, as_bytes(straight_out), as_bytes(turned_out), *tops,
        o, n, w.stride(0), straight_out.stride(0), turned_out.stride(0),
        key=(w.dtype, some.dtype, one_scale, codes is None, turned is None, tile),
        **_kind(some.dtype), ONE_SCALE=one_scale,
        STRAIGHT=codes is not None, TURNED=turned is not None,
        ROWS=height, COLUMNS=width, num_warps=8, enable_fp_fusion=False,
    )  # fmt: skip


def pitched(rows: int, width: int, *, code: torch.dtype, device: torch.device) -> Tensor:
    """An empty matrix of codes whose rows begin at multiples of 16 bytes."""
    return torch.empty(rows, -(-width // PITCH) * PITCH, dtype=code, device=device)[:, :width]


def as_bytes(codes: Tensor) -> Tensor:
    """The same memory, as kernels see it."""
    return codes.view(torch.int8)


def _kind(code: torch.dtype) -> dict[str, Any]:
    return {"LARGEST": LARGEST[code], "FP8": code == torch.float8_e4m3fn}


def _power(width: int) -> int:
    """The power of two that a row fits into."""
    return 1 << max(0, width - 1).bit_length()


class _Launchers:
    def __init__(self) -> None:
        from stepmark.zoo.kernels import quantize_kernels as kernels
        from stepmark.zoo.kernels.launch import Launcher

        self.rows = Launcher(kernels.quantize_rows)
        self.long_row = Launcher(kernels.quantize_long_row)
        self.maxima = Launcher(kernels.matrix_maxima)
        self.codes = Launcher(kernels.matrix_codes)
        self.back = Launcher(kernels.dequantize_rows)


@cache
def launchers() -> _Launchers:
    """Made when the first kernel is launched: importing Triton takes a second."""
    return _Launchers()
