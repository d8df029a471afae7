"""Displacement: the same lane, elsewhere."""

from __future__ import annotations

from random import Random

import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments.displacement import LINE, MOST_LINES, MOST_PAGES, PAGE, displace
from tests.support.properties import steady


@steady
@given(st.integers())
def test_it_takes_some_lines_and_some_pages_and_touches_them(seed: int) -> None:
    small, large = displace(Random(seed))
    assert small.numel() % LINE == 0
    assert large.numel() % PAGE == 0
    assert 0 < small.numel() <= MOST_LINES * LINE
    assert 0 < large.numel() <= MOST_PAGES * PAGE
    assert bool((small == 1).all())
    assert bool((large == 1).all())


def test_the_generator_decides_and_nothing_else() -> None:
    sizes = [[piece.numel() for piece in displace(Random(seed))] for seed in range(50)]
    assert sizes == [[piece.numel() for piece in displace(Random(seed))] for seed in range(50)]
    assert len({tuple(pair) for pair in sizes}) > 40


def test_what_is_built_again_comes_to_lie_elsewhere() -> None:
    def place(seed: int) -> int:
        held = displace(Random(seed))
        address = torch.ones(64, 512).data_ptr()
        del held
        return address

    for again in range(3):
        place(again)  # the allocator settles
    same = {place(7) for _ in range(20)}
    moved = {place(seed) for seed in range(60)}
    assert len(moved) > 2 * len(same)
