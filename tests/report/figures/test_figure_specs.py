"""Figures of whole runs: valid for every example, hostile names as text, few cases and many."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from stepmark.records.run import Judgement
from stepmark.report.figures.draw import png, svg
from stepmark.report.figures.figure import Figure, Kind
from stepmark.report.figures.forest import forest
from stepmark.report.figures.memory import memory
from stepmark.report.figures.phases import phases
from stepmark.report.figures.roofline import roofline
from stepmark.report.figures.sweep import sweep
from tests.report.examples import EXAMPLES
from tests.report.figures.figure_examples import check, half_reached, hostile, large, with_costs
from tests.report.golden_files import check_golden

DRAWERS: dict[Kind, Callable[[Judgement], tuple[Figure, ...]]] = {
    Kind.FOREST: forest,
    Kind.SWEEP: sweep,
    Kind.PHASES: phases,
    Kind.MEMORY: memory,
    Kind.ROOFLINE: roofline,
}
kinds = pytest.mark.parametrize("kind", DRAWERS)


@kinds
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_gives_valid_figures_with_names_of_their_own(kind: Kind, example: str) -> None:
    figures = DRAWERS[kind](with_costs(EXAMPLES[example]()))
    for figure in figures:
        assert figure.kind is kind
        check(figure)
    assert len({figure.name for figure in figures}) == len(figures)


@kinds
def test_hostile_names_are_text_in_the_picture(kind: Kind) -> None:
    for figure in DRAWERS[kind](hostile()):
        check(figure)
        drawn = svg(figure)
        assert "<img" not in drawn
        assert "&lt;img" in drawn


@kinds
def test_a_suite_that_was_never_reached_is_no_picture_without_end(kind: Kind) -> None:
    for figure in DRAWERS[kind](half_reached()):
        check(figure)
        drawn = svg(figure)
        assert "Infinity" not in drawn
        assert "e+30" not in drawn
        assert "NaN" not in drawn
    assert [one.name for one in phases(half_reached())] == ["phases-reached"]


@kinds
@pytest.mark.parametrize("num_cells", [10, 100])
def test_few_and_many_cases_are_drawn(kind: Kind, num_cells: int) -> None:
    figures = DRAWERS[kind](large(num_cells))
    assert figures
    for figure in figures:
        check(figure)
        assert len(json.dumps(figure.spec)) < 400_000


@kinds
def test_a_picture_is_as_wide_as_it_says(kind: Kind) -> None:
    """Wide ones fit a page of 1184 pixels, narrow ones a telephone of 360."""
    for figure in DRAWERS[kind](with_costs(EXAMPLES["normal"]())):
        assert pixels(png(figure, scale=1.0)) <= 1184
        if figure.narrow:
            slim = replace(figure, spec=figure.narrowed(), title="x")
            assert pixels(png(slim, scale=1.0)) <= 372


def pixels(data: bytes) -> int:
    """The width that a PNG's header tells."""
    assert data.startswith(b"\x89PNG")
    return int.from_bytes(data[16:20], "big")


def test_a_run_without_ceilings_has_no_roofline() -> None:
    assert roofline(EXAMPLES["normal"]()) == ()


def test_the_forest_of_an_example_stays_as_it_is() -> None:
    (figure,) = forest(EXAMPLES["normal"]())
    check_golden("figure_forest.json", json.dumps(figure.spec, indent=1, ensure_ascii=False) + "\n")
