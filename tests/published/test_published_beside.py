"""Ours beside theirs: the right row for each case, the right sum for each phase, and the reasons."""

from __future__ import annotations

import pytest

from stepmark.published.beside import beside, counterpart
from stepmark.published.cells import cells
from stepmark.records.case import AxisValue, Case, Cell, Mode
from stepmark.report.published_table import render
from tests.report.builder import Lane, make_judgement, outline


def case(suite: str, variant: str, axes: dict[str, AxisValue], mode: Mode = Mode.TRAIN) -> Case:
    return Case(variant=variant, cell=Cell(suite=suite, axes=tuple(axes.items()), mode=mode))


FRAGMENTED = case("fragmented", "fragmented_hard", {"n": 8192, "batch": 16, "fragments": 2})
SWITCHBACK = case("switchback", "global", {"dim": 1408, "wm": 4.3637, "rows": 1024, "switch": True}, Mode.OPS)
TRANSFORMER = case("transformer", "compiled", {"size": "xl", "workload": "as_run", "context": 128})
LORA = case("lora_rank_scaling", "adapter", {"rank": 64}, Mode.FORWARD)


@pytest.mark.parametrize(
    ("ours", "row"),
    [
        (FRAGMENTED, "fragmented_hard at n=8192, batch=16, fragments=2"),
        (case("fragmented", "linear", {"n": 2048, "batch": 8, "fragments": 32}), "linear at n=2048, batch=8"),
        (SWITCHBACK, "batch_size=1024, dim_out=1408, dim_in=6144"),
        (TRANSFORMER, "xl in table warmup-5"),
        (LORA, "lora_rank_scaling/forward/rank_64"),
        (case("lazy_vs_eager_lora", "eager_forward", {}, Mode.FORWARD), "lazy_vs_eager_lora/eager_forward"),
    ],
)
def test_a_case_finds_its_row(ours: Case, row: str) -> None:
    found = counterpart(ours, cells())
    assert found is not None
    assert found.row == row


@pytest.mark.parametrize(
    "ours",
    [
        case("fragmented", "fragmented", {"n": 1024, "batch": 1, "fragments": 2}),
        case("fragmented", "fragmented", {"n": 2048, "batch": 1, "fragments": 2}, Mode.FORWARD),
        case("transformer", "eager", {"size": "xl", "workload": "handout", "context": 128}),
        case("lora_rank_scaling", "dense", {"rank": 64}, Mode.FORWARD),
        case("demo", "dense", {}),
    ],
)
def test_a_case_that_repeats_nothing_has_no_row(ours: Case) -> None:
    assert counterpart(ours, cells()) is None


def test_rows_of_a_run() -> None:
    lanes = {
        "linear": Lane(
            times={"step": 9e-3, "forward": 1e-3, "loss": 5e-4, "backward": 2e-3, "optimizer": 4e-3}
        )
    }
    axes: dict[str, list[AxisValue]] = {"n": [2048], "batch": [1], "fragments": [2]}
    cell = Cell(suite="fragmented", axes=(("n", 2048), ("batch", 1), ("fragments", 2)))
    judgement = make_judgement([(outline("fragmented", ["linear"], axes), {cell: lanes})])
    found = beside(judgement)
    assert [row.phase for row in found.rows] == ["forward", "backward+optimizer"]
    assert [row.ours for row in found.rows] == pytest.approx([1e-3, 6e-3])
    assert [row.theirs for row in found.rows] == pytest.approx([0.10e-3, 0.89e-3])
    assert found.rows[0].ratio == pytest.approx(10.0)
    assert any(reason.startswith("device: theirs was a CUDA GPU") for reason in found.reasons)
    assert any("Example CPU 9000 (1 thread)" in reason for reason in found.reasons)
    assert any(reason.startswith("clock: ") for reason in found.reasons)
    assert not any(reason.startswith("dtype") for reason in found.reasons)


def test_totals_are_the_primary_sum_of_their_variant() -> None:
    lanes = {
        "standard": Lane(times={"layer": 3e-3, "standard_fwd": 1e-3}),
        "rowwise": Lane(times={"layer": 2e-3, "rowwise_fwd": 1e-3}),
    }
    point: dict[str, AxisValue] = {"dim": 1024, "wm": 4, "rows": 1024, "switch": False}
    cell = Cell(suite="switchback", axes=tuple(point.items()), mode=Mode.OPS, dtype="bfloat16")
    described = outline("switchback", [*lanes], {name: [value] for name, value in point.items()})
    found = beside(make_judgement([(described, {cell: lanes})]))
    assert [(row.case.variant, row.phase, row.ours) for row in found.rows] == [
        ("standard", "standard_fwd", 1e-3),
        ("standard", "time_standard", 3e-3),
        ("rowwise", "rowwise_fwd", 1e-3),
        ("rowwise", "time_rowwise", 2e-3),
    ]
    assert any(reason == "dtype: theirs was float16; ours is bfloat16" for reason in found.reasons)
    text = render(found)
    assert "time_rowwise" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_run_that_repeats_nothing_says_so() -> None:
    cell = Cell(suite="demo")
    judgement = make_judgement(
        [(outline("demo", ["dense"], {}), {cell: {"dense": Lane(times={"step": 1e-3})}})]
    )
    found = beside(judgement)
    assert found.rows == ()
    assert "nothing in this run repeats a published row" in render(found)
