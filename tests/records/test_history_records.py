"""A history as JSON is the history."""

from __future__ import annotations

import msgspec

from stepmark.analysis.case_history import segment
from stepmark.records.history import CaseHistory
from tests.analysis.series_points import points_of


def test_a_history_survives_json() -> None:
    history = segment(points_of([1.0] * 8 + [1.3] * 8), case="case", phase="step")
    assert msgspec.json.decode(msgspec.json.encode(history), type=CaseHistory) == history
