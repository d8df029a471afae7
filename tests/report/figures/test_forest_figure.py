"""The forest plot: every comparison has its line and its letter, also what failed or was not reached."""

from __future__ import annotations

import pytest

from stepmark.pipeline import judged
from stepmark.records.verdict import VerdictKind
from stepmark.report.figures.forest import forest
from stepmark.report.figures.lettering import width_of
from stepmark.report.figures.theme import VERDICT_COLOURS, VERDICT_LETTERS, VERDICT_SHAPES
from tests.report.examples import EXAMPLES
from tests.report.figures.figure_examples import hostile
from tests.support.recordings import make_recording


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_comparison_has_a_line_and_the_letter_of_its_verdict(example: str) -> None:
    judgement = EXAMPLES[example]()
    lines = [
        row for figure in forest(judgement) for row in figure.spec["datasets"]["lines"] if not row["heading"]
    ]
    ratios = [
        row for figure in forest(judgement) for row in figure.spec["datasets"]["ratios"] if row["panel"] == 0
    ]
    compared = [case for case in judgement.cases if not case.baseline]
    assert len(lines) == len(compared)
    expected = [VERDICT_LETTERS[case.verdict.kind] for case in compared if case.verdict]
    assert sorted(row["letter"] for row in ratios) == sorted(expected)


def test_failures_and_cases_not_reached_say_so() -> None:
    (figure,) = forest(EXAMPLES["failures"]())
    troubles = [row.get("trouble") for row in figure.spec["datasets"]["lines"] if not row["heading"]]
    assert "out-of-memory in build" in troubles
    assert "not reached" in troubles
    assert None not in troubles


def test_verdicts_differ_by_letter_shape_and_colour() -> None:
    for table in (VERDICT_LETTERS, VERDICT_SHAPES, VERDICT_COLOURS):
        assert set(table) == set(VerdictKind)
        assert len(set(table.values())) == len(VerdictKind)


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow() -> None:
    (figure,) = forest(EXAMPLES["names"]())
    for row in figure.spec["datasets"]["ratios"]:
        assert row["low"] <= row["ratio"] <= row["high"]


def test_verdicts_begin_where_the_longest_numbers_end() -> None:
    recording = make_recording(variants={"dense": 1.0, "tiny": 0.00037}, num_rounds=3)
    (figure,) = forest(judged(recording))
    (tiny,) = [line for line in figure.spec["datasets"]["lines"] if not line["heading"]]
    numbers, verdict, _ = figure.spec["vconcat"][0]["hconcat"][2]["layer"]
    begin, end = (each["encoding"]["x"]["value"] for each in (numbers, verdict))
    assert begin + width_of(tiny["numbers"]) < end


def test_the_alt_text_has_the_counts_and_the_extremes() -> None:
    (figure,) = forest(hostile())
    assert "1 FASTER, 1 SLOWER, 1 INCONCLUSIVE, 6 INVALID" in figure.alt
    assert "0.100x" in figure.alt
    assert "1.300x" in figure.alt
