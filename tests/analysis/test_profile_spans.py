"""Spans of a trace: nesting, own times, and which phase a moment falls into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.profile_spans import (
    NANOSECOND,
    NOTHING,
    Stretches,
    median_window,
    nest,
    read_spans,
    sum_upwards,
    windows_of,
)
from stepmark.records.profile import Spans
from stepmark.records.sample import pack
from tests.support.profiles import OPERATIONS, Named, pack_spans
from tests.support.properties import steady

US = 1e-6


def stretches(*spans: Named) -> Stretches:
    return read_spans(pack_spans({}, spans))


def test_own_time_is_without_what_is_inside() -> None:
    nesting = nest(stretches(*OPERATIONS))
    assert nesting.parents.tolist() == [NOTHING, 0, NOTHING, NOTHING, 3, 4, 4]
    assert nesting.own == pytest.approx(np.array([20, 40, 15, 10, 20, 60, 60]) * US)
    assert nesting.outermost.all()


def test_threads_do_not_nest_in_each_other() -> None:
    nesting = nest(stretches(Named("outer", 0, 100, 0), Named("other", 10, 20, 1)))
    assert nesting.parents.tolist() == [NOTHING, NOTHING]
    assert nesting.own == pytest.approx(np.array([100, 10]) * US)


def test_a_call_inside_a_call_of_the_same_name_is_no_outermost() -> None:
    spans = (Named("aten::sum", 0, 90), Named("aten::view", 5, 80), Named("aten::sum", 10, 50))
    assert nest(stretches(*spans)).outermost.tolist() == [True, True, False]


def test_a_nanosecond_too_long_is_cut() -> None:
    nesting = nest(stretches(Named("outer", 0, 10), Named("inner", 2, 10.001)))
    assert nesting.parents.tolist() == [NOTHING, 0]
    assert nesting.own[0] == pytest.approx(2 * US)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        read_spans(Spans(names=pack([0]), starts=pack([1, 2]), ends=pack([3, 4]), tracks=pack([0, 0])))


def test_moments_fall_into_phases_or_between_them() -> None:
    phases = stretches(Named("a", 0, 10), Named("b", 20, 30))
    moments = np.array([-1_000, 0, 9_900, 10_000, 15_000, 20_000, 30_000]) * NANOSECOND
    assert windows_of(phases, moments).tolist() == [NOTHING, 0, 0, NOTHING, NOTHING, 1, NOTHING]


def test_sums_go_up_to_all_that_is_around() -> None:
    parents = np.array([NOTHING, 0, 1, 0, NOTHING], dtype=np.intp)
    assert sum_upwards(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), parents).tolist() == [15.0, 6.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize(
    ("lengths", "place"), [([5.0], 0), ([9.0, 2.0], 1), ([9.0, 2.0, 5.0], 2), ([4.0, 4.0, 4.0, 1.0], 0)]
)
def test_the_window_of_median_length(lengths: list[float], place: int) -> None:
    assert median_window(np.array(lengths)) == place


@st.composite
def forests(draw: st.DrawFn) -> list[Named]:
    """Calls as a program makes them: properly nested on each thread."""
    spans: list[Named] = []

    def grow(start: int, end: int, depth: int, track: int) -> None:
        cuts = sorted(draw(st.lists(st.integers(start, end), max_size=4)))
        for begin, stop in zip(cuts[::2], cuts[1::2], strict=False):
            if stop > begin:
                spans.append(Named(draw(st.sampled_from("abc")), begin, stop, track))
                if depth:
                    grow(begin, stop, depth - 1, track)

    for track in range(2):
        grow(0, 1000, 3, track)
    return sorted(spans, key=lambda span: (span.start, -span.end))


@steady
@given(forests())
def test_own_times_add_up_to_the_time_of_the_outer_ones(spans: list[Named]) -> None:
    read = stretches(*spans)
    nesting = nest(read)
    assert (nesting.own >= 0.0).all()
    roots = nesting.parents == NOTHING
    assert nesting.own.sum() == pytest.approx(read.lengths[roots].sum())
    assert sum_upwards(nesting.own, nesting.parents) == pytest.approx(read.lengths)
