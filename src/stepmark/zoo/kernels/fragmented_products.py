"""A plan of FragmentedLinear's hard selection where few rows choose most of few fragments.

Two launches: the first multiplies all rows with all fragments, beside the narrow features, the second takes
of each row's products those of the fragment it chose. That reads hardly more than was chosen, and nothing but
a few additions waits for the choice. Every program of the second launch adds up what the first left of all
rows, so that it is for few features.
"""

from __future__ import annotations

from typing import Any

from stepmark.zoo.kernels.fragmented_chain import Chain, Kernel
from stepmark.zoo.kernels.fragmented_sizes import Sizes, next_power
from stepmark.zoo.kernels.launch import dependent_launch, key_of

MOST_ROWS = 32
"""All are in one tile."""
MOST_FEATURES = 4096
"""In and out."""
MOST_PRODUCTS = 1 << 22
"""Float32 of all products of all rows: 16 MB."""
SHORT_PART, LONG_PART = 256, 512
"""Features that a program multiplies: more where there are more than half of the most."""


def suits_products(sizes: Sizes) -> bool:
    """Where there are so many rows that most fragments are chosen, and the second launch has not too much to
    add up."""
    few = 1 < sizes.fragments <= sizes.rows <= MOST_ROWS and 0 < sizes.narrow <= MOST_FEATURES // 16
    return few and max(sizes.features, sizes.outputs) <= MOST_FEATURES and _number(sizes) <= MOST_PRODUCTS


def products_plan(
    sizes: Sizes, *, tile: int, last: int, length: int = 256, tile_narrow: int = 16, step: int = 64
) -> Chain:
    """Tiles of so many outputs; the last launch has tiles of its own. Narrow features are added up over so
    many features in the first."""
    length = max(16, min(length, next_power(sizes.size)))
    common = _common(sizes) | {"PIECES": next_power(-(-sizes.size // length))} | dependent_launch()
    splits = sizes.fragments * common["PIECES"]
    programs = splits * -(-sizes.narrow // tile_narrow)
    programs += sizes.fragments * common["PARTS"] * -(-sizes.outputs // tile)
    first = common | {"SIZE": sizes.size, "LENGTH": length, "PART": _part(sizes), "TILE": tile}
    first |= {"TILE_NARROW": tile_narrow, "STEP": max(16, min(step, _part(sizes))), "num_warps": 4}
    first |= {"STAGES": 4, "num_stages": 4}
    fragments, columns = next_power(sizes.fragments), max(16, next_power(sizes.narrow))
    every = fragments * common["PIECES"]
    second = common | {"ALL_FRAGMENTS": fragments, "ALL_PARTS": next_power(common["PARTS"])}
    second |= {"COLUMNS": columns, "AT_ONCE": max(1, min(every, 8192 // (columns * common["ROWS"])))}
    second |= {"TILE": last, "HAS_BIAS": sizes.has_bias, "num_warps": 4, "num_stages": 1}
    kernel = Kernel("narrow_and_products", (programs, 1, 1), first)
    plain, keeping = (
        (kernel, Kernel("products_chosen", (-(-sizes.outputs // last), 1, 1), second | {"KEEP": keep}))
        for keep in (False, True)
    )
    sums = -(-sizes.rows * splits * (sizes.narrow + 1) // 4) * 4
    key = key_of((sizes[1:], common["ROWS"], tile, last, length, tile_narrow, step))
    scratch = sums + _number(sizes)
    return Chain(sizes, plain=plain, keeping=keeping, scratch=scratch, hidden_dtype=sizes.dtype, key=key)


def _common(sizes: Sizes) -> dict[str, Any]:
    """What both kernels are compiled for."""
    return {
        "FRAGMENTS": sizes.fragments,
        "NARROW": sizes.narrow,
        "OUTPUTS": sizes.outputs,
        "PARTS": _parts(sizes),
        "ROWS": max(16, next_power(sizes.rows)),
    }


def _part(sizes: Sizes) -> int:
    most = SHORT_PART if sizes.features <= MOST_FEATURES // 2 else LONG_PART
    return max(16, min(most, next_power(sizes.size)))


def _parts(sizes: Sizes) -> int:
    return -(-sizes.size // _part(sizes))


def _number(sizes: Sizes) -> int:
    return sizes.fragments * _parts(sizes) * sizes.rows * sizes.outputs
