"""The local engine with real processes: solo passes, launches, failures alone and in company."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

import stepmark
from stepmark.engines.local import LocalEngine
from stepmark.errors import BenchFileError
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.measure.engine import CutOff
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.records.sample import unpack
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial

pytestmark = pytest.mark.process


def solo(engine: LocalEngine, settings: Settings, bench: Path, suite: str, variant: str) -> SoloTrial:
    cell = Cell(suite=suite, mode=Mode.FORWARD)
    trial = engine.perform(
        SoloAssignment(
            case=Case(variant=variant, cell=cell), source=FileSource(path=str(bench)), settings=settings
        )
    )
    assert isinstance(trial, SoloTrial)
    return trial


def launch(
    engine: LocalEngine, settings: Settings, bench: Path, cell: Cell, *variants: str, number: int = 0
) -> LaunchTrial:
    trial = engine.perform(
        LaunchAssignment(
            cell=cell,
            number=number,
            cases=tuple(Case(variant=variant, cell=cell) for variant in variants),
            source=FileSource(path=str(bench)),
            settings=settings,
        )
    )
    assert isinstance(trial, LaunchTrial)
    return trial


def lane_of(trial: LaunchTrial, variant: str) -> LaneTrial:
    return next(lane for lane in trial.lanes if lane.variant == variant)


ENDS_ONCE = """
import os
import stepmark as sm
from torch import nn

with open("{log}", "a") as log:
    log.write("x")
if os.path.getsize("{log}") == 1:
    os._exit(3)
suite = sm.Suite("ends", modes=["forward"])
for name in "ab":
    suite.variant(baseline=name == "a", name=name)(
        lambda c: sm.Step(nn.Linear(8, 8), inputs=sm.randn(4, 8))
    )
"""
NO_ANSWER = """
import stepmark as sm
import torch
from torch import nn

def no_answer(*_):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")

torch.cuda.is_initialized, torch.cuda.synchronize = lambda: True, no_answer
suite = sm.Suite("gone", modes=["forward"])

@suite.variant(baseline=True)
def honest(c):
    return sm.Step(nn.Linear(8, 8), inputs=sm.randn(4, 8))

@suite.variant
def broken(c):
    layer = nn.Linear(8, 8)
    layer.register_forward_hook(no_answer)
    return sm.Step(layer, inputs=sm.randn(4, 8))
"""
PLAIN = Cell(suite="plain", axes=(("features", 16),))


def test_describe_reads_the_outline_in_a_worker(engine: LocalEngine, benches: Path) -> None:
    described = engine.describe([FileSource(path=str(benches / "bench_plain.py"))], "cpu")
    (outline,) = described.suites
    assert outline.name == "plain"
    assert outline.baseline == "dense"
    assert outline.modes == (Mode.TRAIN, Mode.FORWARD)
    assert described.torch.threads == 1
    assert described.device == "cpu"


def test_a_bench_file_that_fails_to_import_shows_its_own_traceback(
    engine: LocalEngine, tmp_path: Path
) -> None:
    bench = tmp_path / "bench_broken.py"
    bench.write_text("import stepmark\n\ndef helper():\n    return missing\n\nhelper()\n")
    with pytest.raises(BenchFileError) as caught:
        engine.describe([FileSource(path=str(bench))], "cpu")
    assert "bench_broken.py failed to import: NameError" in caught.value.problem
    assert "return missing" in caught.value.detail
    assert "engines/worker.py" not in caught.value.detail


def test_a_bench_file_that_ends_the_process_is_named(engine: LocalEngine, tmp_path: Path) -> None:
    bench = tmp_path / "bench_gone.py"
    bench.write_text("import os\nprint('last words', flush=True)\nos._exit(9)\n")
    with pytest.raises(BenchFileError) as caught:
        engine.describe([FileSource(path=str(bench))], "cpu")
    assert "bench_gone.py" in caught.value.problem
    assert "exit code 9" in caught.value.problem
    assert "last words" in caught.value.detail


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_files_of_the_current_folder_are_not_taken_for_ours_or_torchs(
    start: str, quick: Settings, benches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stepmark", "torch", "random", "types", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(f'{__file__} was imported')\n")
    (tmp_path / "sizes_of_mine.py").write_text("")
    bench = tmp_path / "elsewhere" / "bench_it.py"
    bench.parent.mkdir()
    bench.write_text("import sizes_of_mine\n" + (benches / "bench_plain.py").read_text())
    # Of the tester it may name the current folder.
    monkeypatch.setenv("PYTHONPATH", str(Path(stepmark.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    engine = LocalEngine(quick, start=start)
    try:
        assert engine.describe((FileSource(path=str(bench)),), "cpu").suites
    finally:
        engine.close()


def test_workers_start_where_few_files_may_be_open(quick: Settings, benches: Path) -> None:
    most, hardest = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, most), hardest))
    engine = LocalEngine(quick)
    try:
        assert engine.describe((FileSource(path=str(benches / "bench_plain.py")),), "cpu").suites
    finally:
        engine.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hardest))


def refused(engine: LocalEngine, bench: Path, text: str) -> BenchFileError:
    """What is said of a bench file with this text."""
    bench.write_text(text)
    with pytest.raises(BenchFileError) as caught:
        engine.describe([FileSource(path=str(bench))], "cpu")
    return caught.value


def test_only_output_that_is_there_is_pointed_to(engine: LocalEngine, tmp_path: Path) -> None:
    error = refused(engine, tmp_path / "bench_gone.py", "import os\nos._exit(9)\n")
    assert error.detail == ""
    assert "output above" not in error.remedy
    assert "os._exit" in error.remedy


def test_what_is_wrong_with_an_import_is_one_line(engine: LocalEngine, tmp_path: Path) -> None:
    error = refused(engine, tmp_path / "bench_wordy.py", "raise ValueError('one\\ntwo')\n")
    assert error.problem == "bench_wordy.py failed to import: ValueError: one"
    assert "two" in error.detail


def test_a_worker_is_not_taken_for_a_dead_one_that_had_its_number(engine: LocalEngine, benches: Path) -> None:
    """As if workers with every number that the next one may get had ended before."""
    assert engine._fork is not None
    engine._fork._exits = dict.fromkeys([*range(50_000), *range(os.getpid(), os.getpid() + 50_000)], 0)
    described = engine.describe([FileSource(path=str(benches / "bench_plain.py"))], "cpu")
    assert described.suites[0].name == "plain"


def test_a_solo_pass_brings_evidence(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    trial = engine.perform(
        SoloAssignment(
            case=Case(variant="dense", cell=PLAIN),
            source=FileSource(path=str(benches / "bench_plain.py")),
            settings=quick,
        )
    )
    assert isinstance(trial, SoloTrial)
    assert trial.outcome is Outcome.MEASURED
    assert trial.evidence is not None
    assert trial.evidence.parameters == 16 * 16 + 16
    assert trial.evidence.layout.phases == ("step", "forward", "loss", "backward", "optimizer")
    assert trial.process is not None
    assert trial.process.threads == 1
    (steps,) = {sample.num_blocks for sample in trial.samples}
    assert quick.solo_steps <= steps
    assert len(trial.samples) == 5


@pytest.mark.parametrize(
    ("variant", "outcome", "cause", "stage", "message"),
    [
        ("raises_building", Outcome.CRASHED, Cause.EXCEPTION, Stage.BUILD, "RuntimeError: no such layer"),
        ("raises_running", Outcome.CRASHED, Cause.EXCEPTION, Stage.STEP, "ZeroDivisionError"),
        ("exits", Outcome.CRASHED, Cause.EXIT, Stage.STEP, "exit code 7"),
        ("exits_fine", Outcome.CRASHED, Cause.EXIT, Stage.STEP, "exit code 0"),
        ("leaves", Outcome.CRASHED, Cause.EXIT, Stage.STEP, "SystemExit: enough"),
        ("segfaults", Outcome.CRASHED, Cause.SIGNAL, Stage.STEP, "SIGSEGV"),
        ("python_memory", Outcome.OUT_OF_MEMORY, Cause.MEMORY, Stage.STEP, "MemoryError"),
        ("torch_memory", Outcome.OUT_OF_MEMORY, Cause.MEMORY, Stage.STEP, "allocate memory"),
        ("unsupported", Outcome.UNSUPPORTED, Cause.DECLARED, Stage.BUILD, "only for wide layers"),
        ("returns_nothing", Outcome.CRASHED, Cause.MISTAKE, Stage.BUILD, "returned nothing"),
    ],
)
def test_failures_alone(
    engine: LocalEngine,
    quick: Settings,
    benches: Path,
    variant: str,
    outcome: Outcome,
    cause: Cause,
    stage: Stage,
    message: str,
) -> None:
    trial = solo(engine, quick, benches / "bench_failing.py", "failing", variant)
    assert trial.failure is not None
    assert (trial.failure.outcome, trial.failure.cause, trial.failure.stage) == (outcome, cause, stage)
    assert message in trial.failure.message
    if cause not in {Cause.EXIT, Cause.DECLARED}:
        assert "bench_failing.py" in trial.failure.traceback or stage is Stage.BUILD
    assert trial.evidence is None


def test_the_output_of_a_failing_case_is_kept(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    trial = solo(engine, quick, benches / "bench_failing.py", "failing", "raises_running")
    assert trial.failure is not None
    assert "about to divide" in trial.failure.output


def test_a_hang_is_ended_and_says_where_it_hung(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    local = LocalEngine(replace(quick, timeout=1.0))
    try:
        trial = solo(local, quick, benches / "bench_failing.py", "failing", "hangs")
    finally:
        local.close()
    assert trial.failure is not None
    assert trial.failure.outcome is Outcome.TIMED_OUT
    assert "no progress for 1 s" in trial.failure.message
    assert "bench_failing.py" in trial.failure.traceback


@pytest.mark.parametrize("isolation", list(Isolation))
@pytest.mark.parametrize(
    ("suite", "cause"),
    [
        ("late_raise", Cause.EXCEPTION),
        ("late_exit", Cause.EXIT),
        ("late_segfault", Cause.SIGNAL),
        ("late_memory", Cause.MEMORY),
        ("late_torch_memory", Cause.MEMORY),
    ],
)
def test_failures_in_company_leave_the_neighbours_their_samples(
    engine: LocalEngine, quick: Settings, benches: Path, suite: str, cause: Cause, isolation: Isolation
) -> None:
    settings = replace(quick, isolation=isolation, min_rounds=60, max_rounds=60)
    cell = Cell(suite=suite, mode=Mode.FORWARD)
    alone = solo(engine, quick, benches / "bench_late.py", suite, "culprit")
    assert alone.outcome is Outcome.MEASURED
    variants = ("fine", "also_fine", "culprit")
    trial = launch(engine, settings, benches / "bench_late.py", cell, *variants)
    culprit = lane_of(trial, "culprit")
    assert culprit.failure is not None
    assert culprit.failure.cause is cause
    assert culprit.failure.stage is Stage.ROUNDS
    assert culprit.failure.round is not None
    assert culprit.failure.launch == 0
    assert len(unpack(culprit.rounds)) == culprit.failure.round
    for variant in ("fine", "also_fine"):
        lane = lane_of(trial, variant)
        assert lane.failure is None
        finished = len(unpack(lane.rounds))
        assert finished >= culprit.failure.round
        assert lane.samples[0].num_blocks == finished
    survived = cause in {Cause.EXCEPTION, Cause.MEMORY} or isolation is not Isolation.SHARED
    assert trial.cut_short is not survived
    if survived:
        assert len(unpack(lane_of(trial, "fine").rounds)) == 60


def test_a_hang_in_company_is_the_culprits(quick: Settings, benches: Path) -> None:
    settings = replace(quick, min_rounds=60, max_rounds=60, timeout=1.5)
    cell = Cell(suite="late_hang", mode=Mode.FORWARD)
    local = LocalEngine(settings)
    try:
        for isolation in Isolation:
            trial = launch(
                local,
                replace(settings, isolation=isolation),
                benches / "bench_late.py",
                cell,
                "fine",
                "culprit",
            )
            failure = lane_of(trial, "culprit").failure
            assert failure is not None
            assert failure.outcome is Outcome.TIMED_OUT
            assert "bench_late.py" in failure.traceback
            assert lane_of(trial, "fine").failure is None
            assert lane_of(trial, "fine").samples[0].num_blocks >= failure.round  # type: ignore[operator]
    finally:
        local.close()


@pytest.mark.parametrize("isolation", list(Isolation))
def test_rude_bench_files_do_not_disturb_the_protocol(
    engine: LocalEngine, quick: Settings, benches: Path, isolation: Isolation
) -> None:
    cell = Cell(suite="rude", mode=Mode.FORWARD)
    settings = replace(quick, isolation=isolation)
    bench = benches / "bench_rude.py"
    for variant in ("prints", "closes", "redirects"):
        assert solo(engine, quick, bench, "rude", variant).outcome is Outcome.MEASURED
        trial = launch(engine, settings, bench, cell, "polite", variant)
        for lane in trial.lanes:
            assert lane.failure is None
            assert lane.samples[0].num_blocks >= quick.min_rounds


def test_every_launch_is_a_fresh_process_with_its_own_recorded_order(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    bench = benches / "bench_plain.py"
    trials = [launch(engine, quick, bench, PLAIN, "dense", "bare", number=number) for number in range(4)]
    pids = [lane.process.pid for trial in trials for lane in trial.lanes if lane.process]
    assert len(pids) == 8
    assert len(set(pids)) == 4, "both lanes of a launch share a process, no two launches do"
    assert os.getpid() not in pids
    again = launch(engine, quick, bench, PLAIN, "dense", "bare", number=0)
    shared = min(len(again.round_orders), len(trials[0].round_orders))
    assert again.build_order == trials[0].build_order
    assert again.round_orders[:shared] == trials[0].round_orders[:shared]
    assert len({trial.round_orders[:4] for trial in trials}) > 1
    other = launch(engine, replace(quick, seed=1), bench, PLAIN, "dense", "bare", number=0)
    orders = {(t.build_order, t.warmup_order, t.round_orders[:4]) for t in (*trials, other)}
    assert len(orders) == 5


@pytest.mark.parametrize("isolation", [Isolation.SHARED, Isolation.SEPARATE])
def test_a_launch_builds_its_lanes_anew_with_other_values_elsewhere_in_memory(
    engine: LocalEngine, quick: Settings, benches: Path, isolation: Isolation
) -> None:
    settings = replace(quick, isolation=isolation, round_seconds=0.4, max_rounds=5000, instance_seconds=0.02)
    cell = Cell(suite="telling", mode=Mode.FORWARD)
    trial = launch(engine, settings, benches / "bench_telling.py", cell, "one", "other")
    assert trial.renewals
    assert all(sorted(renewal.order) == ["one", "other"] for renewal in trial.renewals)
    told = [line.split() for line in trial.output.splitlines() if line.startswith("built")]
    assert len(told) == 2 * (1 + len(trial.renewals))
    values = {name: [value for _, who, value, _ in told if who == name] for name in ("one", "other")}
    places = {name: [place for _, who, _, place in told if who == name] for name in ("one", "other")}
    assert values["one"] == values["other"], "the variants of a cell get the same values"
    assert len(set(values["one"])) == 1 + len(trial.renewals)
    assert any(len(set(each)) > 1 for each in places.values()), "large tensors may find the hole they left"


def test_what_cannot_end_well_is_not_tried(engine: LocalEngine, quick: Settings, benches: Path) -> None:
    bench = benches / "bench_greedy.py"
    assert solo(engine, quick, bench, "greedy", "modest").outcome is Outcome.MEASURED
    expected = {"greedy": Outcome.OUT_OF_MEMORY, "endless": Outcome.TIMED_OUT}
    for variant, outcome in expected.items():
        failure = solo(engine, quick, bench, "greedy", variant).failure
        assert failure is not None
        assert (failure.outcome, failure.cause, failure.stage) == (outcome, Cause.PREDICTED, Stage.BUILD)
        assert "not tried" in failure.message


def test_separate_lanes_live_in_processes_of_their_own(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    settings = replace(quick, isolation=Isolation.SEPARATE)
    trial = launch(engine, settings, benches / "bench_plain.py", PLAIN, "dense", "bare")
    assert trial.isolation is Isolation.SEPARATE
    assert len({lane.process.pid for lane in trial.lanes if lane.process}) == 2
    assert all(set(order) == {"dense", "bare"} for order in trial.round_orders)
    assert all(lane.failure is None for lane in trial.lanes)


def test_lanes_that_run_one_after_another_are_never_alive_together(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    settings = replace(quick, isolation=Isolation.ALONE)
    trial = launch(engine, settings, benches / "bench_plain.py", PLAIN, "dense", "bare")
    assert trial.isolation is Isolation.ALONE
    assert len({lane.process.pid for lane in trial.lanes if lane.process}) == 2
    assert set(trial.round_orders[0]) == {"dense", "bare"}
    both = [order for order in trial.round_orders if len(order) == 2]
    assert len(set(both)) == 1, "whoever came first came first in all"
    for lane in trial.lanes:
        assert lane.failure is None
        assert len(unpack(lane.rounds)) == sum(lane.variant in order for order in trial.round_orders)


def test_a_process_that_ends_while_it_imports_fails_its_own_lane_alone(
    engine: LocalEngine, quick: Settings, tmp_path: Path
) -> None:
    bench = tmp_path / "bench_ends.py"
    bench.write_text(ENDS_ONCE.format(log=tmp_path / "imports"))
    settings = replace(quick, isolation=Isolation.ALONE)
    trial = launch(engine, settings, bench, Cell(suite="ends", mode=Mode.FORWARD), "a", "b")
    failed = [lane for lane in trial.lanes if lane.failure is not None]
    assert [lane.failure.stage for lane in failed if lane.failure] == [Stage.IMPORT]
    (other,) = [lane for lane in trial.lanes if lane.failure is None]
    assert len(unpack(other.rounds)) >= settings.min_rounds


@pytest.mark.parametrize("isolation", list(Isolation))
def test_who_leaves_the_device_without_an_answer_is_the_only_one_that_failed(
    isolation: Isolation, engine: LocalEngine, quick: Settings, tmp_path: Path
) -> None:
    bench = tmp_path / "bench_gone.py"
    bench.write_text(NO_ANSWER)
    cell = Cell(suite="gone", mode=Mode.FORWARD)
    trial = launch(engine, replace(quick, isolation=isolation), bench, cell, "honest", "broken")
    failure = lane_of(trial, "broken").failure
    assert failure is not None
    assert "illegal memory access" in failure.message
    assert lane_of(trial, "honest").failure is None
    assert trial.cut_short is (isolation is Isolation.SHARED), "what is measured again"


def test_idle_processes_idle(
    quick: Settings, benches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "idle.log"
    monkeypatch.setenv("IDLE_LOG", str(log))
    settings = replace(quick, isolation=Isolation.SEPARATE, min_rounds=12, max_rounds=12)
    local = LocalEngine(settings)
    try:
        runner_before, begin = time.process_time(), time.perf_counter()
        cell = Cell(suite="idle", mode=Mode.FORWARD)
        trial = launch(local, settings, benches / "bench_idle.py", cell, "working", "waiting")
        runner, wall = time.process_time() - runner_before, time.perf_counter() - begin
    finally:
        local.close()
    assert all(lane.failure is None for lane in trial.lanes)
    rows = [tuple(map(float, line.split())) for line in log.read_text().splitlines()][-12:]
    waited, used = rows[-1][0] - rows[0][0], rows[-1][1] - rows[0][1]
    assert waited > 0.3, "the other lane works 30 ms a block"
    assert used < 0.25 * waited, f"the waiting lane used {used:.3f} s of processor in {waited:.3f} s"
    assert runner < 0.5 * wall, f"the runner used {runner:.3f} s of processor in {wall:.3f} s"


def test_a_lane_that_changes_a_global_flag_is_recorded_and_undone(
    engine: LocalEngine, quick: Settings, benches: Path
) -> None:
    cell = Cell(suite="flags", mode=Mode.FORWARD)
    trial = launch(engine, quick, benches / "bench_flags.py", cell, "watching", "changing")
    assert lane_of(trial, "watching").failure is None, "its neighbour's flag never reached it"
    change = lane_of(trial, "changing").flag_changes[0]
    assert (change.name, change.before, change.after) == ("float32_matmul_precision", "highest", "high")


def test_threads_are_set_in_the_worker_and_read_back(quick: Settings, benches: Path) -> None:
    settings = replace(quick, threads=2)
    local = LocalEngine(settings)
    try:
        trial = launch(local, settings, benches / "bench_plain.py", PLAIN, "dense")
    finally:
        local.close()
    assert trial.lanes[0].process is not None
    assert trial.lanes[0].process.threads == 2


def test_spawned_workers_do_the_same(quick: Settings, benches: Path) -> None:
    local = LocalEngine(replace(quick, timeout=60.0), start="spawn")
    try:
        trial = launch(local, quick, benches / "bench_plain.py", PLAIN, "dense", "bare")
    finally:
        local.close()
    assert {lane.process.started_by for lane in trial.lanes if lane.process} == {"spawn"}
    assert all(lane.samples[0].num_blocks >= quick.min_rounds for lane in trial.lanes)


def test_a_user_who_stops_lanes_that_run_one_after_another_keeps_what_there_is(
    quick: Settings, benches: Path
) -> None:
    settings = replace(quick, isolation=Isolation.ALONE, min_rounds=100_000, max_rounds=100_000)
    begin = time.perf_counter()

    def tick() -> None:
        if time.perf_counter() - begin > 3.0:
            raise KeyboardInterrupt

    local = LocalEngine(settings, tick=tick)
    try:
        with pytest.raises(CutOff) as stopped:
            launch(local, settings, benches / "bench_plain.py", PLAIN, "dense", "bare")
    finally:
        local.close()
    trial = stopped.value.trial
    assert isinstance(trial, LaunchTrial)
    assert trial.cut_short
    assert sum(lane.process is not None for lane in trial.lanes) <= 1, "the second never began"
    assert sum(bool(lane.rounds) for lane in trial.lanes) <= 1
