"""Products of 8-bit codes by a Triton kernel: exact int32 sums (float32 for fp8), scaled and stored once.

Shapes
------
x8 (m, k) · w8 (n, k) · x_scale (m) · w_scale (n) or () · bias (n) · y (m, n)

Formula
-------
y_rc = w_scale_c / largest * (x_scale_r / largest * sum_i x8_ri w8_ci) + bias_c in float32, rounded once;
largest is 127 for int8 and 448 for float8_e4m3fn

TMA reads codes whose rows begin at multiples of 16 bytes and fills what lies outside with noughts, so that
any m, n and k will do; codes that begin elsewhere are copied. An output whose rows do not is stored by
pointers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.int8 import EXACT_IN_INT32
from stepmark.zoo.kernels.quantize import LARGEST, PITCH, pitched


class Tile(NamedTuple):
    """What a program computes at a time, and how it goes about it."""

    height: int
    width: int
    depth: int
    warps: int = 8
    stages: int = 3
    parts: int = 2
    """Pieces of a tile's width, stored one after the other through the same room in shared memory."""
    group: int = 8
    """Rows of tiles in a band, computed at the same time."""
    flat: bool = True
    """Loads of the next tile begin before the last is stored."""
    by_pointer: bool = False
    """Stores go by pointers and not by TMA."""
    per_processor: int = 1
    """Programs that share a multiprocessor."""
    early: bool = False
    """Scales are loaded before the sums."""

    @property
    def name(self) -> str:
        flags = {"f": self.flat, "p": self.by_pointer, "d": self.per_processor == 2, "e": self.early}
        marks = "".join(letter for letter, is_set in flags.items() if is_set)
        size = f"{self.height}x{self.width}x{self.depth}"
        return f"tile{size}w{self.warps}s{self.stages}c{self.parts}g{self.group}{marks}"


PAIRED: Final = Tile(128, 128, 128, warps=4, per_processor=2)
"""Two programs on a multiprocessor: one stores while the other multiplies. On an H200 1479 TOP/s at 8192
cubed, where one program with a tile of twice the size reaches 1207."""
TILES: Final = {
    tile.name: tile
    for tile in (
        PAIRED,
        PAIRED._replace(flat=False),
        PAIRED._replace(group=16),
        PAIRED._replace(by_pointer=True),
        Tile(128, 256, 128, parts=1),
    )
}
DEFAULT: Final = next(iter(TILES))


def scaled_product(
    x8: Tensor,
    w8: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: torch.dtype,
    tile: Tile = TILES[DEFAULT],
    out: Tensor | None = None,
) -> Tensor:
    """y (m, n) from codes of one dtype and float32 scales."""
    (m, k), n = x8.shape, w8.shape[0]
    if x8.dtype == torch.int8 and k > EXACT_IN_INT32:
        raise ValueError(f"expected at most {EXACT_IN_INT32} summed features, got {k}")
    y = torch.empty(m, n, dtype=dtype, device=x8.device) if out is None else out
    if y.numel() == 0 or k == 0:
        return y.zero_() if bias is None else y.copy_(bias)
    x8, w8 = _readable(x8), _readable(w8)
    x_scale, w_scale = x_scale.contiguous(), w_scale.contiguous()
    bias = None if bias is None else bias.contiguous()
    by_descriptor = not tile.by_pointer and n * y.itemsize % PITCH == 0
    num_tiles = -(-m // tile.height) * -(-n // tile.width)
    target = _descriptor(y, (tile.height, tile.width // tile.parts)) if by_descriptor else y
    language = _language()
    one_scale, has_bias = w_scale.ndim == 0, bias is not None
    dtypes = tuple(None if one is None else one.dtype for one in (x8, x_scale, w_scale, bias))
    _launcher()(
        (min(num_tiles, tile.per_processor * num_processors(x8.device)), 1, 1),
        _descriptor(x8, (tile.height, tile.depth)), _descriptor(w8, (tile.width, tile.depth)),
        target, x_scale, w_scale, y if bias is None else bias, m, n, k,
        key=(dtypes, dtype, tile, by_descriptor, one_scale),
        UNIT=1.0 / LARGEST[x8.dtype], SUMS=language.int32 if x8.dtype == torch.int8 else language.float32,
        ONE_SCALE=one_scale, BIAS=has_bias,
        HEIGHT=tile.height, WIDTH=tile.width, DEPTH=tile.depth, GROUP=tile.group, PARTS=tile.parts,
        BY_DESCRIPTOR=by_descriptor, FLAT=tile.flat, EARLY=tile.early,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return y


def _readable(codes: Tensor) -> Tensor:
    """Codes as TMA reads them."""
    if codes.stride(1) == 1 and codes.stride(0) % PITCH == 0 and codes.data_ptr() % PITCH == 0:
        return codes
    return pitched(*codes.shape, code=codes.dtype, device=codes.device).copy_(codes)


def _descriptor(matrix: Tensor, block: tuple[int, int]) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(matrix, list(matrix.shape), list(matrix.stride()), list(block))


@cache
def num_processors(device: torch.device) -> int:
    """Multiprocessors of a GPU; three in the interpreter, so that programs take several tiles each."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3


@cache
def kernel() -> Any:
    """The jit function, imported when it is first launched."""
    from stepmark.zoo.kernels.int8_kernels import scaled_product

    return scaled_product


@cache
def _launcher() -> Any:
    from stepmark.zoo.kernels.launch import Launcher

    return Launcher(kernel())


@cache
def _language() -> Any:
    import triton.language

    return triton.language
