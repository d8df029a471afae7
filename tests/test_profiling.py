"""Profiling: which case, one trace, then the launches of its cost; with a scripted engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from stepmark.errors import BenchFileError, UsageError
from stepmark.measure.expand import Selection
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.measure.protocol import Described
from stepmark.profiling import ProfileOrder, measure_costs, measure_profile, run_plainly
from stepmark.records.case import Case, Cell
from stepmark.records.environment import TorchFacts
from stepmark.records.outcome import Cause, Failure
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.profile import TracingTrial, WeighingTrial
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, Source
from tests.support.profiles import TRAIN, example_trace, make_weighing
from tests.support.trials import EPOCH, make_failure

OUTLINE = SuiteOutline(
    name="layers",
    axes=(Axis(name="features", values=(16, 32)),),
    variants=(VariantOutline(name="dense", baseline=True), VariantOutline(name="fused")),
    source_index=1,
)
SOURCES = (BuiltinSource(name="other"), BuiltinSource(name="layers"))


class ScriptedEngine:
    """Says what it was asked, and returns what the script says."""

    def __init__(
        self, *, tracing: Failure | None = None, weighing: Failure | None = None, rounds: int = 4
    ) -> None:
        self.asked: list[TracingAssignment | WeighingAssignment] = []
        self._tracing, self._weighing, self._rounds = tracing, weighing, rounds

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        facts = TorchFacts(version="fake", build="", threads=1, interop_threads=1, flags=())
        return Described(suites=(OUTLINE,), torch=facts, device=device)

    def trace(self, assignment: TracingAssignment) -> TracingTrial:
        self.asked.append(assignment)
        trace = None if self._tracing else example_trace()
        return TracingTrial(started=EPOCH, seconds=1.0, layout=TRAIN, trace=trace, failure=self._tracing)

    def weigh_profiler(self, assignment: WeighingAssignment) -> WeighingTrial:
        self.asked.append(assignment)
        launch = make_weighing(1.2, number=assignment.number, rounds=self._rounds)
        return replace(launch, failure=self._weighing)

    def iterate(self, assignment: TracingAssignment) -> bool:
        self.asked.append(assignment)
        return assignment.nvtx


def order(case: str | None = "fused", **options: object) -> ProfileOrder:
    given = {"selection": Selection(axes={"features": "16"}), "settings": Settings(launches=3)} | options
    return ProfileOrder(sources=SOURCES, case=case, **given)  # type: ignore[arg-type]


def test_one_trace_then_the_launches_of_its_cost() -> None:
    engine, said = ScriptedEngine(), list[str]()
    recording = measure_profile(
        order(iterations=7, rounds=4, trace_file="/x.json", nvtx=True), engine=engine, begins=said.append
    )
    tracing, *launches = engine.asked
    assert isinstance(tracing, TracingAssignment)
    assert (tracing.iterations, tracing.trace_file, tracing.nvtx) == (7, "/x.json", True)
    assert [each.number for each in launches if isinstance(each, WeighingAssignment)] == [0, 1, 2]
    assert {each.rounds for each in launches if isinstance(each, WeighingAssignment)} == {4}
    assert {each.source for each in engine.asked} == {SOURCES[1]}
    assert recording.case.id == "layers/fused[features=16]/cpu/float32/train"
    assert [launch.number for launch in recording.cost.launches] == [0, 1, 2]
    assert recording.trace_file == "/x.json"
    assert recording.environment.torch.version == "fake"
    assert len(said) == 4


def test_what_cannot_be_traced_is_not_weighed() -> None:
    engine = ScriptedEngine(tracing=make_failure())
    recording = measure_profile(order(), engine=engine)
    assert len(engine.asked) == 1
    assert recording.tracing.failure is not None
    assert recording.cost.launches == ()


def test_launches_that_fail_on_the_way_are_kept_and_the_others_go_on() -> None:
    engine = ScriptedEngine(weighing=make_failure())
    assert len(measure_profile(order(), engine=engine).cost.launches) == 3


def test_a_launch_that_fails_before_its_first_round_is_the_last() -> None:
    engine = ScriptedEngine(weighing=make_failure(), rounds=0)
    assert len(measure_profile(order(), engine=engine).cost.launches) == 1


@pytest.mark.parametrize("where", ["tracing", "weighing"])
def test_a_mistake_in_the_bench_file_stops_at_once(where: str) -> None:
    mistake = make_failure(cause=Cause.MISTAKE, message="returned nothing")
    engine = ScriptedEngine(**{where: mistake})  # type: ignore[arg-type]
    with pytest.raises(BenchFileError, match="returned nothing"):
        measure_profile(order(), engine=engine)
    assert len(engine.asked) == (1 if where == "tracing" else 2)


def test_several_cases_must_be_narrowed() -> None:
    with pytest.raises(UsageError, match="the target has 2 cases"):
        measure_profile(order(None), engine=ScriptedEngine())


def test_the_cost_of_many_cases() -> None:
    """What `stepmark run transformer --with-profile-overhead` asks for."""
    cases = [Case(variant="dense", cell=Cell(suite="layers", axes=(("size", size),))) for size in ("s", "m")]
    engine, said = ScriptedEngine(), list[str]()
    recordings = measure_costs(
        cases,
        source_of=lambda case: SOURCES[1],
        settings=Settings(launches=2),
        engine=engine,
        rounds=3,
        begins=said.append,
    )
    assert [recording.case for recording in recordings] == cases
    assert [len(recording.launches) for recording in recordings] == [2, 2]
    assert len(said) == 4
    assert "size=m" in said[-1]


@pytest.mark.parametrize("nvtx", [True, False])
def test_plainly_is_nothing_but_the_iterations(nvtx: bool) -> None:
    engine = ScriptedEngine()
    done = run_plainly(order(iterations=9, nvtx=nvtx), engine=engine)
    (assignment,) = engine.asked
    assert isinstance(assignment, TracingAssignment)
    assert assignment.iterations == 9
    assert (done.case.variant, done.had_ranges) == ("fused", nvtx)
