"""The history of a case: every stretch and change is drawn, series are told apart, nothing runs as code."""

from __future__ import annotations

from msgspec.structs import replace

from stepmark.analysis.case_history import segment
from stepmark.records.history import CaseHistory
from stepmark.report.figures.draw import svg
from stepmark.report.figures.history import MOST_POINTS, change_text, history, series_names, thinned
from tests.analysis.series_points import points_of
from tests.report.builder import estimate
from tests.report.figures.figure_examples import HOSTILE, check


def changed(num: int = 20) -> CaseHistory:
    """A level that rises by a tenth in the middle."""
    points = points_of([1.0] * (num // 2) + [1.1] * (num // 2), noise=0.005)
    return segment(points, case="suite/mine[features=8]/cpu/float32/train", phase="step")


def test_a_change_is_marked_before_its_first_run() -> None:
    found = history(changed())
    check(found)
    (change,) = found.spec["datasets"]["changes"]
    assert change["place"] == 9.5
    assert "1 change point: +9.8 %" in found.alt.replace("\u00a0", " ")
    assert len(found.spec["datasets"]["stretches"]) == 2


def test_many_runs_are_thinned_and_the_ends_of_stretches_stay() -> None:
    case = changed(2 * MOST_POINTS + 10)
    kept = {point.run for point in thinned(case)}
    assert len(kept) <= MOST_POINTS + 2 * len(case.segments)
    assert {run for each in case.segments for run in (each.first_run, each.last_run)} <= kept


def test_series_have_names_of_their_own() -> None:
    points = [
        *points_of([1.0] * 6, machine="bench", conditions="a"),
        *points_of([2.0] * 6, machine="bench", conditions="b", begin=1800.0),
    ]
    case = segment(sorted(points, key=lambda each: each.started), case="c", phase="step")
    names = series_names(case.series)
    assert len(set(names.values())) == len(names) == 2
    check(history(case))


def test_hostile_commits_branches_and_machines_are_text() -> None:
    case = changed()
    points = tuple(replace(point, commit=HOSTILE, branch=HOSTILE, machine=HOSTILE) for point in case.points)
    series = tuple(replace(each, machine=HOSTILE) for each in (*case.series, *case.series))
    found = history(replace(case, case=HOSTILE, phase=HOSTILE, points=points, series=series))
    check(found)
    assert "<img" not in svg(found)


def test_no_run_at_all_is_told() -> None:
    case = replace(changed(), points=(), segments=(), changes=(), series=())
    found = history(case)
    check(found)
    assert found.alt.startswith("No finished run")
    assert svg(found).startswith("<svg")


def test_changes_are_told_in_per_cent_or_as_a_factor() -> None:
    assert change_text(estimate(1.053, 1.04, 1.06)) == "+5.3\u00a0%"
    assert change_text(estimate(0.9, 0.89, 0.91)) == "−10\u00a0%"
    assert change_text(estimate(3.0, 2.9, 3.1)) == "x3"
