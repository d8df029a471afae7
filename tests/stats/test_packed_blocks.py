"""Packed block totals as times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.sample import pack
from stepmark.stats.blocks import integers, seconds_per_iteration
from tests.support.properties import steady


@steady
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_reads_what_records_pack(values: list[int]) -> None:
    assert integers(pack(values)).tolist() == values


def test_divides_by_the_iterations_of_a_block() -> None:
    assert seconds_per_iteration(pack([4_000, 8_000]), 4).tolist() == pytest.approx([1e-6, 2e-6])
