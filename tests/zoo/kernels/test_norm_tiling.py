"""Tilings of norms: every width is covered by pieces that Triton can hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo.kernels.norm import WIDEST
from stepmark.zoo.kernels.norm_tiling import backward_tiling, forward_tiling

counts = st.sampled_from([1, 100, 4096, 1 << 20])


def is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@given(counts, st.integers(1, WIDEST), st.booleans())
def test_powers_of_two_that_fit_the_registers(num_rows: int, width: int, summed: bool) -> None:
    for tiling in (forward_tiling(num_rows, width), backward_tiling(num_rows, width, summed=summed)):
        assert all(is_power(number) for number in tiling[:3])
        covered = tiling.size * -(-width // tiling.size)
        assert width <= covered < 2 * width, "no piece is without an entry, and few lanes are idle"
        assert covered * tiling.rows <= 32 * 32 * tiling.warps, "entries of one matrix per lane"
        assert tiling.stages >= 1
        assert 1 <= tiling.share * tiling.warps <= 64
