"""Tilings of softmax: every width is covered by pieces that Triton can hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo.kernels.softmax import WIDEST
from stepmark.zoo.kernels.softmax_tiling import backward_tiling, forward_tiling


def is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@given(st.integers(1, WIDEST), st.booleans())
def test_powers_of_two_that_fit_the_registers(width: int, few: bool) -> None:
    for tiling in (forward_tiling(width, few=few), backward_tiling(width, few=few)):
        assert all(is_power(number) for number in tiling)
        covered = tiling.size * -(-width // tiling.size)
        assert width <= covered < 2 * width, "no piece is without an entry, and few lanes are idle"
        assert covered * tiling.rows <= 64 * 32 * tiling.warps, "entries of one matrix per lane"


def test_few_rows_are_spread_over_more_programs() -> None:
    assert forward_tiling(1024, few=True).rows < forward_tiling(1024).rows
    assert forward_tiling(4096, few=True) == forward_tiling(4096)
