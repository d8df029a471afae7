"""Plans of FragmentedLinear's hard selection of few rows in two launches, the second of which chooses.

Every program of the second adds up what the first left of all rows, so that there are few splits, and not
many features. Either each fragment that a row chose is then read once; or the first has multiplied all
fragments by all rows, beside the narrow features, and the second takes those that were chosen: where most are
chosen by some row that reads no more, and nothing waits for the choice.
"""

from __future__ import annotations

from typing import Any

from stepmark.zoo.kernels.fragmented_chain import Chain, Kernel
from stepmark.zoo.kernels.fragmented_sizes import Sizes, Split, next_power, split_for_rows
from stepmark.zoo.kernels.launch import dependent_launch, key_of

MOST_ROWS = 32
"""All are in one tile."""
MOST_FEATURES = 4096
"""In and out. With more the second launch would read more than it spares."""
LONGEST_AT_ONCE = 64
"""Features of a fragment of which every row's are held in registers."""
MOST_PRODUCTS = 1 << 22
"""Float32 of all fragments' products of all rows: 16 MB."""
SPLITS = 8


def suits_choosing(sizes: Sizes) -> bool:
    """Few rows of not many features, some of them narrow."""
    few = 1 < sizes.rows <= MOST_ROWS and max(sizes.features, sizes.outputs) <= MOST_FEATURES
    return few and 0 < sizes.narrow <= MOST_FEATURES // 16


def suits_products(sizes: Sizes) -> bool:
    """Where so many rows choose most fragments."""
    number = sizes.fragments * _parts(sizes) * sizes.rows * sizes.outputs
    return suits_choosing(sizes) and sizes.fragments <= sizes.rows and number <= MOST_PRODUCTS


def choosing_plan(
    sizes: Sizes,
    *,
    tile: int,
    step: int = 64,
    stages: int = 5,
    splits: int = SPLITS,
    num_warps: int = 4,
    at_once: bool = False,
    tile_narrow: int = 16,
) -> Chain:
    """Of the fragments that some row chose, each is read once; or, at once, for each row that chose it."""
    split = split_for_rows(sizes, splits)
    narrow = _narrow(sizes, split) | _launch(1) | {"TILE": tile_narrow}
    first = Kernel("narrow_shots", (split.splits, -(-sizes.narrow // tile_narrow), 1), narrow)
    options = _second(sizes, split) | _launch(stages, num_warps) | {"SIZE": sizes.size, "STAGES": stages}
    size = next_power(sizes.size)
    options |= {"TILE": tile, "STEP": max(16, size if at_once else min(step, size)), "WHOLE": at_once}
    second = Kernel("expert_tiles_choosing", (-(-sizes.outputs // tile), 1, 1), options)
    configuration = (tile, step, stages, splits, num_warps, at_once, tile_narrow)
    key = key_of((sizes[1:], next_power(sizes.rows), "choosing", *configuration))
    return _chain(sizes, split, first, second, key=key)


def products_plan(
    sizes: Sizes,
    *,
    tile: int,
    last: int,
    step: int = 64,
    stages: int = 4,
    splits: int = SPLITS,
    tile_narrow: int = 16,
) -> Chain:
    """All fragments are multiplied, in tiles of so many outputs; the `last` launch has tiles of its own."""
    split, parts = split_for_rows(sizes, splits), _parts(sizes)
    part = _part(sizes)
    narrow = split.splits * -(-sizes.narrow // tile_narrow)
    options = _narrow(sizes, split) | _launch(stages) | {"STAGES": stages, "TILE": tile}
    options["TILE_NARROW"] = tile_narrow
    options |= {"NARROW_PROGRAMS": narrow, "OUTPUTS": sizes.outputs, "PARTS": parts, "PART": part}
    options["STEP"] = max(16, min(step, part))
    programs = narrow + sizes.fragments * parts * -(-sizes.outputs // tile)
    first = Kernel("narrow_and_products", (programs, 1, 1), options)
    more = _second(sizes, split) | _launch(1) | {"TILE": last, "PARTS": parts, "ALL_PARTS": next_power(parts)}
    second = Kernel("products_chosen", (-(-sizes.outputs // last), 1, 1), more)
    configuration = (tile, last, step, stages, splits, tile_narrow)
    key = key_of((sizes[1:], next_power(sizes.rows), "products", *configuration))
    return _chain(
        sizes, split, first, second, key=key, more=sizes.fragments * parts * sizes.rows * sizes.outputs
    )


PART = 512
"""Features that a program multiplies at most: as many programs as there are weights for."""


def _part(sizes: Sizes) -> int:
    return max(16, min(PART if sizes.features > MOST_FEATURES // 2 else PART // 2, next_power(sizes.size)))


def _parts(sizes: Sizes) -> int:
    return -(-sizes.size // _part(sizes))


def _launch(stages: int, num_warps: int = 4) -> dict[str, Any]:
    return {"num_warps": num_warps, "num_stages": stages} | dependent_launch()


def _narrow(sizes: Sizes, split: Split) -> dict[str, Any]:
    return {
        "SIZE": sizes.size,
        "FRAGMENTS": sizes.fragments,
        "NARROW": sizes.narrow,
        "SPLITS": split.splits,
        "SPLIT": split.length,
        "OWN": split.own,
        "PIECES": split.pieces,
        "ROWS": _rows(sizes),
    }


def _second(sizes: Sizes, split: Split) -> dict[str, Any]:
    every, columns = next_power(split.splits), max(16, next_power(sizes.narrow))
    return {
        "OUTPUTS": sizes.outputs,
        "NARROW": sizes.narrow,
        "SPLITS": split.splits,
        "OWN": split.own,
        "PIECES": split.pieces,
        "ALL_SPLITS": every,
        "COLUMNS": columns,
        "AT_ONCE": max(1, min(every, 8192 // (columns * _rows(sizes)))),
        "ROWS": _rows(sizes),
        "HAS_BIAS": sizes.has_bias,
    }


def _rows(sizes: Sizes) -> int:
    return max(16, next_power(sizes.rows))


def _chain(sizes: Sizes, split: Split, first: Kernel, second: Kernel, *, key: int, more: int = 0) -> Chain:
    plain, keeping = (
        (first, second._replace(options=second.options | {"KEEP": keep})) for keep in (False, True)
    )
    sums = -(-sizes.rows * split.splits * 2 * (sizes.narrow + 1) // 4) * 4
    return Chain(sizes, plain=plain, keeping=keeping, scratch=sums + more, hidden_dtype=sizes.dtype, key=key)
