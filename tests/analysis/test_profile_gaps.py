"""Gaps: what of a window no span covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.profile_gaps import find_idle, gaps_between
from stepmark.analysis.profile_spans import read_spans
from tests.support.profiles import OPERATIONS, Named, pack_spans
from tests.support.properties import steady

US = 1e-6


def gaps(begin: float, end: float, *spans: Named) -> list[float]:
    found = gaps_between(begin * US, end * US, read_spans(pack_spans({}, spans)))
    rounded: list[float] = np.rint(found / US).tolist()
    return rounded


def test_before_between_and_behind() -> None:
    assert gaps(0, 100, *OPERATIONS[:3]) == [10, 5, 10]
    assert gaps(120, 300, *OPERATIONS) == [10, 20]


def test_nothing_ran_at_all() -> None:
    assert gaps(0, 100) == [100]


def test_spans_that_cover_everything_or_reach_over_the_edges() -> None:
    assert gaps(10, 90, Named("a", 0, 50), Named("b", 50, 200)) == []
    assert gaps(10, 90, Named("a", 0, 20), Named("b", 80, 200)) == [60]


def test_a_long_span_hides_the_end_of_a_short_one_inside_it() -> None:
    assert gaps(0, 100, Named("a", 0, 80), Named("b", 10, 20), Named("c", 90, 100, 1)) == [10]


def test_idle_of_a_window() -> None:
    idle = find_idle(0.0, 100 * US, read_spans(pack_spans({}, OPERATIONS)))
    assert idle.gaps == 3
    assert idle.longest_seconds == pytest.approx(10 * US)
    assert idle.seconds == pytest.approx(25 * US)
    assert idle.share == pytest.approx(0.25)
    covered = find_idle(15 * US, 60 * US, read_spans(pack_spans({}, OPERATIONS)))
    assert (covered.gaps, covered.longest_seconds, covered.share) == (0, 0.0, 0.0)


@steady
@given(st.lists(st.tuples(st.integers(-20, 120), st.integers(0, 60)), max_size=12))
def test_gaps_and_covered_time_make_the_window(drawn: list[tuple[int, int]]) -> None:
    spans = sorted(Named("a", start, start + length) for start, length in drawn)
    covered = sum(any(span.start <= at < span.end for span in spans) for at in range(100))
    assert sum(gaps(0, 100, *spans)) + covered == pytest.approx(100)
