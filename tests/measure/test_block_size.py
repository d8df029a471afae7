"""Block sizes: long against the clock, short against the machine's moods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.measure.block_size import MOST_ITERATIONS, block_size
from tests.support.properties import steady

seconds = st.floats(0.0, 10.0)
blocks = st.floats(1e-4, 1.0)


@steady
@given(st.lists(seconds, min_size=1, max_size=5), blocks, st.data())
def test_phases_of_a_whole_share_one_count(each: list[float], block: float, data: st.DataObject) -> None:
    whole = data.draw(st.integers(0, len(each) - 1))
    counts = block_size(each, whole=whole, block_seconds=block)
    assert len(counts) == len(each)
    assert set(counts) == set(block_size([each[whole]], whole=0, block_seconds=block))


@steady
@given(seconds, blocks)
def test_as_many_iterations_as_come_nearest_to_a_block(once: float, block: float) -> None:
    (count,) = block_size([once], whole=None, block_seconds=block)
    assert 1 <= count <= MOST_ITERATIONS
    if 1 < count < MOST_ITERATIONS:
        assert abs(count * once - block) <= once / 2 * (1 + 1e-9)
    if count == 1:
        assert once >= block / 1.5 * (1 - 1e-9)


@steady
@given(seconds, blocks)
def test_a_step_fills_half_a_block_whole_and_half_of_it_taken_apart(once: float, block: float) -> None:
    assert block_size([once], whole=0, block_seconds=block) == block_size(
        [once], whole=None, block_seconds=block / 2
    )


@steady
@given(st.lists(seconds, min_size=1, max_size=5), blocks)
def test_operations_share_the_time_of_a_block_equally(each: list[float], block: float) -> None:
    alone = [block_size([once], whole=None, block_seconds=block / len(each))[0] for once in each]
    assert list(block_size(each, whole=None, block_seconds=block)) == alone


@pytest.mark.parametrize(
    ("once", "step", "operation"),
    [
        (0.004, 1, 1),
        (0.0027, 1, 1),
        (0.0019, 1, 2),
        (0.001, 2, 4),
        (5.0, 1, 1),
        (0.0, MOST_ITERATIONS, MOST_ITERATIONS),
        (1e-12, MOST_ITERATIONS, MOST_ITERATIONS),
    ],
)
def test_counts_for_a_block_of_four_milliseconds(once: float, step: int, operation: int) -> None:
    assert block_size([once], whole=0, block_seconds=0.004) == (step,)
    assert block_size([once], whole=None, block_seconds=0.004) == (operation,)
