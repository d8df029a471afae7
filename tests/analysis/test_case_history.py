"""The history of a case: every point is kept, series are never mixed, changes have a size."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.case_history import segment
from stepmark.records.estimate import Method
from stepmark.records.history import CaseHistory, HistoryPoint
from tests.analysis.series_points import estimate, points_of

FACTS = {
    "here": (("host", "bench"), ("threads", "1"), ("torch", "2.9")),
    "there": (("host", "bench"), ("threads", "4"), ("torch", "2.9")),
}


def history(points: list[HistoryPoint]) -> CaseHistory:
    return segment(points, case="case", phase="step", facts=FACTS)


series = st.tuples(st.sampled_from(["here", "there", "elsewhere"]), st.integers(1, 30), st.integers(0, 1000))


@settings(max_examples=60)
@given(st.lists(series, max_size=4, unique_by=lambda each: each[0]), st.randoms(use_true_random=False))
def test_every_point_is_kept_and_lies_in_one_segment_of_its_series(
    chosen: list[tuple[str, int, int]], random: Random
) -> None:
    points = [
        point
        for key, num, seed in chosen
        for point in points_of([1.0] * num + [1.3] * (num // 2), seed=seed, conditions=key)
    ]
    random.shuffle(points)
    found = history(points)
    assert sorted(point.run for point in found.points) == sorted(point.run for point in points)
    assert [point.started for point in found.points] == sorted(point.started for point in points)
    for point in points:
        home = [
            each
            for each in found.segments
            if each.series == point.conditions and each.begin <= point.started <= each.end
        ]
        assert len(home) == 1
    assert sum(each.num_points for each in found.series) == len(points)
    assert len(found.changes) == len(found.segments) - len(found.series)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(random: Random) -> None:
    points = points_of([1.0] * 12 + [1.2] * 12)
    shuffled = points.copy()
    random.shuffle(shuffled)
    assert history(shuffled) == history(points)


def test_a_change_names_the_runs_around_it_and_its_size() -> None:
    points = points_of([1.0] * 20 + [1.1] * 20)
    (change,) = history(points).changes
    assert (change.before, change.run, change.at) == ("here-019", "here-020", points[20].started)
    assert change.change.low < 1.1 < change.change.high
    assert change.change.method is Method.WELCH_RUNS
    assert change.change.num_launches == 40


def test_segments_have_means_over_runs() -> None:
    first, second = history(points_of([1.0] * 20 + [1.1] * 20)).segments
    assert first.mean.low < 1e-3 < first.mean.high
    assert second.mean.low < 1.1e-3 < second.mean.high
    assert (first.mean.method, first.mean.num_launches) == (Method.T_RUNS, 20)
    assert (first.first_run, first.last_run) == ("here-000", "here-019")


def test_another_machine_is_no_change() -> None:
    """Levels of two series are far apart, run by run; neither changes."""
    mixed = points_of([1.0] * 20) + points_of([3.0] * 20, conditions="there", begin=1800.0, seed=2)
    found = history(mixed)
    assert found.changes == ()
    assert [each.series for each in found.segments] == ["there", "here"], "the newest series first"


def test_series_say_in_what_they_differ() -> None:
    found = history(points_of([1.0] * 3) + points_of([1.0] * 4, conditions="there", begin=7200.0))
    there, here = found.series
    assert (here.key, here.num_points, here.facts) == ("here", 3, FACTS["here"])
    assert here.differs == there.differs == ("threads",)


def test_one_series_differs_in_nothing() -> None:
    (only,) = history(points_of([1.0] * 3)).series
    assert only.differs == ()


def test_a_single_point_has_its_own_interval() -> None:
    (point,) = points_of([1.0])
    (only,) = history([point]).segments
    assert only.mean == point.level


def test_what_has_no_logarithm_is_shown_and_not_cut() -> None:
    points = [
        replace(point, level=estimate(level))
        for point, level in zip(points_of([1.0] * 3), (1.0, 0.0, -1.0), strict=True)
    ]
    found = history(points)
    assert (len(found.points), found.segments, found.changes) == (3, (), ())


def test_nothing_has_an_empty_history() -> None:
    found = history([])
    assert (found.points, found.segments, found.changes, found.series) == ((), (), (), ())


@pytest.mark.parametrize("word", ["PELT", "ruptures"])
def test_the_method_is_named(word: str) -> None:
    assert word in history([]).method
