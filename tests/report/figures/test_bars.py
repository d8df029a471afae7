"""Bars: in their own measure while cells are alike, as a share of the cell's longest where they are not."""

from __future__ import annotations

from stepmark.report.figures.bars import FAR_APART, lengths_of
from stepmark.report.figures.lines import everyone
from stepmark.report.view import build_view
from tests.report.figures.figure_examples import large

SUITE = build_view(large(10)).suites[0]
LINES = everyone(SUITE)
ROWS = [line for line in LINES if line.row]


def test_bars_of_similar_cells_are_as_long_as_what_they_measure() -> None:
    lengths = lengths_of(LINES, {line.place: 2.0 for line in ROWS})
    assert not lengths.relative
    assert lengths.longest == 2.0
    assert {lengths.of(line, 2.0) for line in ROWS} == {2.0}


def test_bars_of_cells_far_apart_are_shares_of_the_longest_in_their_cell() -> None:
    cells = list(dict.fromkeys(line.cell.cell.id for line in ROWS))
    totals = {line.place: (FAR_APART + 1.0) ** cells.index(line.cell.cell.id) for line in ROWS}
    lengths = lengths_of(LINES, totals)
    assert lengths.relative
    assert {round(lengths.of(line, totals[line.place]), 9) for line in ROWS} == {1.0}


def test_nothing_measured_is_no_length() -> None:
    assert lengths_of(LINES, {}).longest == 1.0
    assert not lengths_of(LINES, {line.place: 0.0 for line in ROWS}).relative
