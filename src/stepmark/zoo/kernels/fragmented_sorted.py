"""A plan of FragmentedLinear's hard selection for many rows: sorted by their fragments, x never copied.

Launches: the choice, which reads x; narrow features, which read it again; the order of rows; the products.
"""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import Any

from torch import Tensor, float32, int32

from stepmark.zoo.kernels.fragmented_chain import Found, Kernel
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, next_power
from stepmark.zoo.kernels.launch import Launcher, dependent_launch, key_of

WARPS = 8 * 132
"""Narrow features are split until so many warps are at work: eight for each processor of an H200."""
MOST_SPLITS = 8
"""Their sums are written and read once more, in float32."""
CHOOSING = 512
"""Programs that choose share the rows: each loads the selector once."""


class SortedPlan:
    """Tiles of rows, outputs and features for the products; of rows and narrow features before them.
    Rows of a tile that chose another fragment are noughts: weights that are not finite reach them too."""

    def __init__(
        self,
        sizes: Sizes,
        *,
        rows: int,
        tile: int,
        step: int,
        num_warps: int = 4,
        stages: int = 3,
        narrow: tuple[int, int, int, int] = (64, 128, 4, 4),
    ) -> None:
        """Narrow: its rows, its columns, warps and stages."""
        if sizes.narrow == 0:
            raise ValueError("expected narrow features")
        self.sizes = sizes
        self.about = next_power(sizes.rows)  # what is compiled follows from it: not a kernel for each number
        self.key = key_of((sizes[1:], self.about, rows, tile, step, num_warps, stages, narrow))
        self.launch = {"num_stages": 1} | dependent_launch()
        self.first = self._choosing()
        self.second, self.splits = self._narrow(*narrow)
        self.third = self._sorting()
        options = {"SIZE": sizes.size, "OUTPUTS": sizes.outputs, "NARROW": sizes.narrow, "ROWS": rows}
        options |= {"TILE": tile, "STEP": max(16, min(step, next_power(sizes.size)))}
        options |= {"NARROW_STEP": max(16, min(step, next_power(sizes.narrow))), "HAS_BIAS": sizes.has_bias}
        options |= self.launch | {"STAGES": stages, "num_stages": stages, "num_warps": num_warps}
        grid = (-(-sizes.outputs // tile), -(-sizes.rows // rows), 1)
        self.fourth = Kernel("expert_sorted", grid, options)

    @property
    def grids(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(kernel.grid for kernel in (self.first, self.second, self.third, self.fourth))

    def __call__(self, x: Tensor, parameters: Parameters, *, keep: bool = True) -> Found:  # noqa: ARG002
        selector, weight, compressor, decompressor, bias = parameters
        number, fragments, stride = self.sizes.rows, self.sizes.fragments, x.stride(0)
        chosen = x.new_empty(number, dtype=int32)
        length = -(-max(number, fragments) // 4) * 4  # each begins at a multiple of 16 bytes
        counts, slots, order, turns, experts = x.new_empty(5, length, dtype=int32).unbind()
        hidden = x.new_empty(number, self.sizes.narrow)
        parts = x.new_empty(self.splits, *hidden.shape, dtype=float32) if self.splits > 1 else None
        y = x.new_empty(number, self.sizes.outputs)
        self._launch(self.first, x, selector, chosen, counts, number, stride)
        found = (chosen, counts, slots, hidden, parts)
        self._launch(self.second, x, compressor, *found, number, stride)
        self._launch(self.third, *found, order, turns, experts, number)
        tensors = (x, weight, decompressor, bias, hidden, order, turns, experts, y)
        self._launch(self.fourth, *tensors, number, stride)
        return y, hidden, chosen

    def _launch(self, kernel: Kernel, *values: Any) -> None:
        launchers()[kernel.name](kernel.grid, *values, key=self.key, **kernel.options)

    def _choosing(self) -> Kernel:
        """It waits for all that came before, as any launch."""
        size, fragments = self.sizes.size, self.sizes.fragments
        rows = max(1, min(16, self.about // CHOOSING))
        options = {"SIZE": size, "FRAGMENTS": fragments, "ALL_FRAGMENTS": next_power(fragments)}
        options |= {"ALL_SIZE": next_power(size), "ROWS": rows, "PDL": self.launch["PDL"], "num_stages": 1}
        options["num_warps"] = max(4, min(16, next_power(fragments) * next_power(size) // 1024))
        return Kernel("choose_fragments", (-(-self.sizes.rows // rows), 1, 1), options)

    def _narrow(self, rows: int, tile: int, num_warps: int, stages: int) -> tuple[Kernel, int]:
        """And the number of splits. A step lies in one fragment or holds whole ones: a load has one mask."""
        tile = max(16, min(tile, next_power(self.sizes.narrow)))
        columns = -(-self.sizes.narrow // tile)
        size, step = self.sizes.size, max(16, min(64, next_power(self.sizes.features)))
        if size != next_power(size) and size % 32 == 0:
            step = gcd(64, size)
        every = -(-self.sizes.features // step)
        share = WARPS // (num_warps * columns * -(-self.about // rows))
        turns = -(-every // max(1, min(MOST_SPLITS, share)))
        splits = -(-every // turns)
        options = {"FEATURES": self.sizes.features, "SIZE": self.sizes.size, "NARROW": self.sizes.narrow}
        options |= {"SPLITS": splits, "TURNS": turns, "ROWS": rows, "TILE": tile, "STEP": step}
        options |= self.launch | {"STAGES": stages, "num_stages": stages, "num_warps": num_warps}
        grid = (columns, splits, -(-self.sizes.rows // rows))
        return Kernel("narrow_others", grid, options), splits

    def _sorting(self) -> Kernel:
        rows, fragments = 8, self.sizes.fragments
        options = {"FRAGMENTS": fragments, "ALL_FRAGMENTS": next_power(fragments)}
        options |= {"NARROW": self.sizes.narrow, "COLUMNS": min(256, next_power(self.sizes.narrow))}
        options |= self.launch | {"SPLITS": self.splits, "ROWS": rows, "num_warps": 4}
        return Kernel("sort_rows", (-(-self.sizes.rows // rows), 1, 1), options)


@cache
def launchers() -> dict[str, Launcher]:
    """By the kernels' names."""
    from stepmark.zoo.kernels import fragmented_sorted_kernels as kernels

    names = ("choose_fragments", "narrow_others", "sort_rows", "expert_sorted")
    return {name: Launcher(getattr(kernels, name)) for name in names}
