"""The history page's own arithmetic: how many runs a stretch has, and what a series is called."""

from __future__ import annotations

from stepmark.keeping import case_history
from stepmark.records.history import Series
from stepmark.store.store import Store
from stepmark.web.history_page import series_name, with_runs
from tests.support.served import LAYER_CASE


def test_every_run_is_in_one_stretch(store: Store) -> None:
    found = case_history(store, LAYER_CASE)
    counted = with_runs(found.segments, found.points)
    assert sum(number for _, number in counted) == len(found.points)
    for segment, number in counted:
        inside = [
            point
            for point in found.points
            if point.conditions == segment.series and segment.begin <= point.started <= segment.end
        ]
        assert len(inside) == number > 0


def test_a_series_is_called_by_what_sets_it_apart() -> None:
    facts = (("host", "bench"), ("torch", "2.9.1"), ("threads", "4"))
    alone = Series(key="k", machine="bench", facts=facts, differs=(), num_points=3)
    assert series_name(alone) == "bench"
    apart = Series(key="k", machine="bench", facts=facts, differs=("host", "torch"), num_points=3)
    assert series_name(apart) == "bench, torch 2.9.1"
