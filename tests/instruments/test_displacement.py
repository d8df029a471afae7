"""Displacement: the same lane, elsewhere."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
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


PLACES = """
from random import Random
import torch
from stepmark.instruments.displacement import displace

def place(seed=None):
    held = displace(Random(seed)) if seed is not None else ()
    return torch.ones(64, 512).data_ptr()

for again in range(3):
    place(again)  # the allocator settles
print(len({place(seed) for seed in range(60)}), len({place() for _ in range(60)}))
"""


@pytest.mark.process
def test_what_is_built_again_comes_to_lie_elsewhere() -> None:
    """In a process like a worker: holes that other tests leave behind would hold everything at one place."""
    done = subprocess.run([sys.executable, "-c", PLACES], capture_output=True, text=True, check=True)
    moved, plain = map(int, done.stdout.split())
    assert moved > plain
