"""Roofs: lines meet at the corners, and no label lies on another or on a mark."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.report.figures.lettering import width_of
from stepmark.report.figures.roofs import (
    GAP,
    LEVEL_DX,
    LEVEL_DY,
    LINE,
    SLOPE_DX,
    SLOPE_DY,
    WIDTH,
    frame_of,
    labelled,
    name_rows,
    roof_rows,
    si,
)
from tests.report.figures.figure_examples import CEILINGS
from tests.support.properties import steady

RATES = [(rate.dtype, rate.flops_per_second) for rate in CEILINGS.matrix]
points = st.lists(st.tuples(st.floats(0.1, 100.0), st.floats(1e8, 1e11)), min_size=1, max_size=40)


@given(points=points)
@steady
def test_labels_overlap_neither_each_other_nor_names_of_roofs(points: list[tuple[float, float]]) -> None:
    rows = [{"x": x, "y": y, "variant": "mine", "point": f"n={n}"} for n, (x, y) in enumerate(points)]
    frame = frame_of(rows, RATES, CEILINGS)
    names = name_rows(RATES, CEILINGS, frame)
    drawn = labelled(rows, names, frame)
    assert [(row["x"], row["y"]) for row in drawn] == points
    boxes = []
    for row in drawn:
        if "label" in row:
            x, y = frame.pixels(row["x"], row["y"])
            width = width_of(row["label"])
            left = x + GAP if row["side"] == "right" else x - GAP - width
            assert 0.0 < left < left + width < WIDTH
            boxes.append((left, y, left + width))
    for row in names:
        x, y = frame.pixels(row["x"], row["y"])
        width = width_of(row["text"])
        left = x + LEVEL_DX - width if "level" in row else x + SLOPE_DX
        named = (left, y + (LEVEL_DY if "level" in row else SLOPE_DY), left + width)
        assert all(
            box[2] <= named[0] or named[2] <= box[0] or abs(box[1] - named[1]) >= LINE for box in boxes
        )
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or abs(one[1] - other[1]) >= LINE


def test_the_slope_of_memory_ends_at_the_highest_level() -> None:
    rows = [{"x": 5.0, "y": 1e10}]
    frame = frame_of(rows, RATES, CEILINGS)
    memory, cache, *levels = roof_rows(RATES, CEILINGS, frame)
    assert memory["x2"] * CEILINGS.copy_memory == pytest.approx(memory["y2"], rel=1e-4)
    assert cache["dashed"]
    assert {row["y"] for row in levels} == {rate for _, rate in RATES}
    assert all(row["y"] == row["y2"] for row in levels)


def test_levels_that_lie_close_share_one_text() -> None:
    frame = frame_of([{"x": 5.0, "y": 1e10}], RATES, CEILINGS)
    texts = [row["text"] for row in name_rows(RATES, CEILINGS, frame) if "level" in row]
    assert len(texts) == 1
    assert "float32" in texts[0]
    assert "bfloat16" in texts[0]


def test_a_machine_without_a_rate_of_memory_has_levels_alone() -> None:
    bare = replace(CEILINGS, copy_memory=0.0, copy_cache=0.0)
    rows = [{"x": 5.0, "y": 1e10}]
    assert len(roof_rows(RATES, bare, frame_of(rows, RATES, bare))) == len(RATES)


def test_rates_are_told_with_three_digits_and_a_prefix() -> None:
    assert si(1.5123e11) == "151\u00a0G"
    assert si(9.89e14) == "989\u00a0T"
    assert si(12.0) == "12\u00a0"
