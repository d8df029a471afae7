"""The sweep: every case in a panel, crossovers marked as far as they are known, not too many panels."""

from __future__ import annotations

from stepmark.records.crossover import Crossover
from stepmark.report.figures.sweep import sweep
from stepmark.report.figures.sweep_data import MOST_PANELS, crossing_text, where
from tests.report.examples import EXAMPLES
from tests.report.figures.figure_examples import check, large


def crossover(*, at: float | None) -> Crossover:
    return Crossover(
        suite="mylayer",
        axis="features",
        fixed=EXAMPLES["normal"]().run.cases[0].cell.apart_from("features"),
        phase="step",
        before="dense",
        after="low_rank",
        low=512.0,
        high=2048.0,
        at=at,
        at_low=None if at is None else 0.9 * at,
        at_high=None if at is None else 1.1 * at,
    )


def test_every_case_is_in_the_panel_of_its_phase() -> None:
    judgement = EXAMPLES["sweep"]()
    for figure in sweep(judgement):
        rows = [row for row in figure.spec["datasets"]["times"] if "sign" not in row]
        primary = {row["panel"] for row in rows if row["panel"] < len({each["cell"] for each in rows})}
        assert sum(row["panel"] in primary for row in rows) == len(judgement.cases)
        assert sum("failed" in row for row in rows if row["panel"] in primary) == 2


def test_a_known_crossover_is_marked_at_its_point() -> None:
    (figure,) = sweep(EXAMPLES["normal"](), [crossover(at=1000.0)])
    check(figure)
    (row,) = [row for row in figure.spec["datasets"]["times"] if "sign" in row]
    assert (row["at"], row["low"], row["high"]) == (1000.0, 900.0, 1100.0)
    assert "low_rank overtakes dense in step at features ≈1000" in figure.alt


def test_an_unknown_one_is_a_stretch_between_measurements() -> None:
    (figure,) = sweep(EXAMPLES["normal"](), [crossover(at=None)])
    (row,) = [row for row in figure.spec["datasets"]["times"] if "sign" in row]
    assert "at" not in row
    assert (row["low"], row["high"]) == (512.0, 2048.0)
    assert crossing_text(crossover(at=None)).endswith("at features between the measured 512 and 2048")


def test_a_point_has_two_digits() -> None:
    assert where(crossover(at=1234.5)) == "≈1200"


def test_too_many_panels_leave_the_primary_phase_of_all_cells() -> None:
    for figure in sweep(large(100)):
        panels = {row["panel"] for row in figure.spec["datasets"]["times"]}
        cells = {row["cell"] for row in figure.spec["datasets"]["times"]}
        assert len(panels) <= max(MOST_PANELS, len(cells))
        assert sum("seconds" in row for row in figure.spec["datasets"]["times"]) >= 200


def test_a_suite_without_an_axis_of_numbers_has_none() -> None:
    assert sweep(EXAMPLES["forward_only"]()) == ()
