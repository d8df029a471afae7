"""Our own runs in the published formats: the published layout, read back by its readers."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from stepmark.errors import UsageError
from stepmark.interchange import fragmented_text as fragmented_reader
from stepmark.interchange import grid as grid_reader
from stepmark.interchange import switchback_jsonl as switchback_reader
from stepmark.records.case import AxisValue, Cell, Mode
from stepmark.records.environment import LoadFacts
from stepmark.records.evidence import Evidence
from stepmark.records.inspection import Inspection, MemoryFacts, PhaseInspection
from stepmark.records.run import Judgement, Recording
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, Role, SoloTrial
from stepmark.report import fragmented_text, grid_text, switchback_jsonl
from tests.report.builder import EPOCH, Lane, make_judgement, outline

LAYOUT = Layout(phases=("step", "forward", "backward"), primary="step", whole="step")
Axes = dict[str, list[AxisValue]]


def step(scale: float) -> Lane:
    times = {"step": 10e-3, "forward": 1e-3, "loss": 5e-4, "backward": 3e-3, "optimizer": 5e-3}
    return Lane(times={phase: scale * time for phase, time in times.items()}, parameters=10)


def fragmented_run(*, dtypes: tuple[str, ...] = ("float32",)) -> Judgement:
    axes: Axes = {"n": [64, 128], "batch": [1], "fragments": [2, 8]}
    cells = [
        Cell(suite="fragmented", axes=(("n", n), ("batch", 1), ("fragments", f)), dtype=dtype)
        for dtype in dtypes
        for n in (64, 128)
        for f in (2, 8)
    ]
    lanes = {"linear": step(1.0), "fragmented": step(2.0), "fragmented_hard": step(4.0)}
    return make_judgement([(outline("fragmented", [*lanes], axes), dict.fromkeys(cells, lanes))])


def solos(judgement: Judgement, inspection: Inspection | None = None) -> Recording:
    return Recording(
        run=judgement.run,
        solos=tuple(
            SoloTrial(
                case=case,
                started=EPOCH,
                seconds=0.1,
                evidence=Evidence(
                    layout=LAYOUT,
                    trainable_parameters=4160,
                    peak_rss_bytes=300 << 20,
                    inspection=inspection,
                ),
            )
            for case in judgement.run.cases
        ),
    )


def test_fragmented_text_has_a_section_a_size_and_nn_linear_once() -> None:
    judgement = fragmented_run()
    text = fragmented_text.render(judgement, solos(judgement))
    document = fragmented_reader.parse(text, "ours.txt")
    assert fragmented_reader.render(document) == text
    assert [section.input_size for section in document.sections] == [64, 128]
    section = document.sections[0]
    assert section.linear.forward == "1.01"  # the mean, which the builder puts one per cent above the median
    assert section.linear.backward == "8.08"
    assert section.linear.peak == "300.0"
    assert section.linear.parameters == 4160
    assert [(each.fragments, each.figures.forward) for each in section.train] == [(2, "2.02"), (8, "2.02")]
    assert [each.figures.forward for each in section.inference] == ["4.04", "4.04"]
    assert text.startswith(
        "#Tests stepmark.zoo.FragmentedLinear, run 20270115-080000-k3f9, cpu, float32\n\nBench"
    )
    assert text.endswith("  Parameters: 4160\n")


def test_fragmented_text_takes_the_peak_of_an_instrumented_step_where_there_was_one() -> None:
    judgement = fragmented_run()
    phases = tuple(
        PhaseInspection(phase=phase, peak_bytes=mebibytes << 20)
        for phase, mebibytes in (("forward", 2), ("backward", 7), ("optimizer", 4))
    )
    inspection = Inspection(phases=phases, memory=MemoryFacts(own=5 << 20))
    document = fragmented_reader.parse(fragmented_text.render(judgement, solos(judgement, inspection)), "x")
    assert document.sections[0].linear.peak == "12.0"
    broken = replace(inspection, problem="RuntimeError")
    document = fragmented_reader.parse(fragmented_text.render(judgement, solos(judgement, broken)), "x")
    assert document.sections[0].linear.peak == "300.0"


def test_fragmented_text_names_each_dtype_and_says_nan_for_what_is_missing() -> None:
    judgement = fragmented_run(dtypes=("bfloat16", "float32"))
    text = fragmented_text.render(judgement, Recording(run=judgement.run))
    document = fragmented_reader.parse(text, "ours.txt")
    assert len(document.sections) == 4
    assert text.count("#Tests") == 2
    assert document.sections[0].linear.peak == "nan"
    assert document.sections[0].linear.parameters == 0


OPS = {
    "standard": {"layer": 3e-3, "standard_fwd": 1e-3, "standard_gx": 1e-3, "standard_gw": 1e-3},
    "rowwise": {"layer": 7e-4}
    | dict.fromkeys([*switchback_reader.TOTALS["time_rowwise"]], 1e-4)
    | {"standard_gw": 9e-4},
    "casts": {"layer": 3e-5, "cast_x": 1e-5, "cast_g": 1e-5, "cast_w": 1e-5},
}


def test_switchback_rows_have_25_keys_and_null_for_what_is_missing() -> None:
    point: dict[str, AxisValue] = {"dim": 1408, "wm": 4.3637, "rows": 1024, "switch": True}
    cell = Cell(suite="switchback", axes=tuple(point.items()), mode=Mode.OPS)
    lanes = {name: Lane(times=times) for name, times in OPS.items()}
    described = outline("switchback", [*lanes], {name: [value] for name, value in point.items()})
    judgement = make_judgement([(described, {cell: lanes})])
    text = switchback_jsonl.render(judgement, Recording(run=judgement.run))
    document = switchback_reader.parse(text, "ours.jsonl")
    assert switchback_reader.render(document) == text
    (row,) = document.rows
    assert [*json.loads(text)] == [*switchback_reader.KEYS]
    assert (row.batch_size, row.dim_in, row.dim_out, row.wm, row.switch) == (1024, 6144, 1408, 4.3637, True)
    assert row.repeat == 400
    assert row.standard_gw == pytest.approx(1.01)  # that of the variant standard
    assert row.time_standard == pytest.approx(3.03)
    assert row.time_rowwise == pytest.approx(1.01 + 6 * 0.101)
    assert (row.global_fwd, row.time_global) == (None, None)


def launch(
    cell: Cell, variant: str, number: int, milliseconds: int, role: Role = Role.MEASURE
) -> LaunchTrial:
    nanoseconds = [milliseconds * 1_000_000] * 2
    samples = tuple(
        Sample(phase=phase, iterations=2, nanoseconds=pack(2 * scale * time for time in nanoseconds))
        for phase, scale in (("step", 3), ("forward", 1), ("backward", 2))
    )
    lane = LaneTrial(variant=variant, layout=LAYOUT, samples=samples, rounds=pack([0, 1]))
    return LaunchTrial(
        cell=cell,
        number=number,
        seed="0",
        isolation=Isolation.SHARED,
        started=EPOCH,
        seconds=1.0,
        role=role,
        lanes=(lane,),
        load=LoadFacts(time=EPOCH),
    )


def test_a_grid_has_mean_and_deviation_over_launches() -> None:
    axes: Axes = {"size": ["small", "xl"], "context": [128]}
    cells = [Cell(suite="transformer", axes=(("size", size), ("context", 128))) for size in ("small", "xl")]
    lanes = {"eager": Lane(times={"step": 3e-3, "forward": 1e-3, "backward": 2e-3})}
    judgement = make_judgement([(outline("transformer", ["eager"], axes), dict.fromkeys(cells, lanes))])
    launches = tuple(
        launch(cell, "eager", number, time) for cell in cells for number, time in enumerate((10, 20, 30))
    )
    alone = launch(cells[0], "eager", 9, 1000, Role.ALONE)
    recording = Recording(run=judgement.run, launches=(*launches, alone))
    text = grid_text.render(judgement, recording)
    (table,) = grid_reader.parse(text, "ours.md").tables
    assert table.headers == grid_text.HEADERS
    assert table.column("Experiment_name") == ("small", "xl")
    assert table.column("Forward time") == (0.02, 0.02)
    assert table.column("Forward std") == (0.00816497, 0.00816497)
    assert table.column("backward time") == (0.04, 0.04)


def test_a_grid_names_what_differs_and_has_no_backward_pass_in_inference() -> None:
    cell = Cell(suite="transformer", axes=(("size", "small"), ("context", 128)), mode=Mode.FORWARD)
    lanes = {name: Lane(times={"forward": 1e-3}) for name in ("eager", "compiled")}
    axes: Axes = {"size": ["small"], "context": [128]}
    judgement = make_judgement([(outline("transformer", [*lanes], axes), {cell: lanes})])
    text = grid_text.render(judgement, Recording(run=judgement.run))
    assert "small/eager" in text
    assert "small/compiled" in text
    assert "nan" in text


@pytest.mark.parametrize("format_", [fragmented_text, switchback_jsonl, grid_text])
def test_a_run_of_another_suite_is_refused(format_: object) -> None:
    cell = Cell(suite="demo")
    judgement = make_judgement(
        [(outline("demo", ["dense"], {}), {cell: {"dense": Lane(times={"step": 1e-3})}})]
    )
    with pytest.raises(UsageError, match="and this run has") as caught:
        format_.render(judgement, Recording(run=judgement.run))  # type: ignore[attr-defined]
    assert caught.value.remedy.startswith("stepmark run ")
