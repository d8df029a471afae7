"""A traced pass and the weighing of a profiler, in scripted time with a scripted profiler."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

from stepmark.errors import BenchFileError, Unsupported
from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.assemble import Ended, Timing
from stepmark.measure.lane import Bind
from stepmark.measure.profile_assignment import TracingAssignment, WeighingAssignment
from stepmark.measure.profile_trials import tracing_trial, weighing_trial
from stepmark.measure.profiler import around_phases, called_phases
from stepmark.measure.profiler_cost import weigh_profiler
from stepmark.measure.program import Call, Program
from stepmark.measure.protocol import (
    Began,
    CostRoundDone,
    Entered,
    Event,
    Finished,
    LaneFailed,
    ScalesReady,
    Traced,
)
from stepmark.measure.tracing import take_trace
from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.profile import CostRound, Trace, WeighingTrial
from stepmark.records.sample import Layout
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from tests.measure.scripted import MS, QUICK
from tests.support.profiles import example_trace

PRICE = 2 * MS
"""What the scripted profiler adds to every phase while it records."""


@dataclass
class ScriptedProfiler:
    """Takes its price where it records, and much more to start and stop."""

    instrument: FakeInstrument
    recordings: list[int] = field(default_factory=list)
    """Iterations begun in each recording."""
    waited: list[bool] = field(default_factory=list)
    files: list[str | None] = field(default_factory=list)
    collecting: list[bool] = field(default_factory=list)
    on: bool = False

    def annotate(self, program: Program, *, wait: bool) -> Program:
        self.waited.append(wait)
        first = called_phases(program.layout)[0]

        def wrap(name: str, call: Call) -> Call:
            return lambda: self._pay(call, begins=name == first)

        return around_phases(program, wrap)

    def _pay(self, call: Call, *, begins: bool) -> None:
        assert self.on, "an annotated program runs under the profiler only"
        self.recordings[-1] += begins
        self.collecting.append(gc.isenabled())
        call()
        self.instrument.advance(PRICE)

    @contextmanager
    def recording(self) -> Iterator[None]:
        self.instrument.advance(500 * MS)
        self.recordings.append(0)
        self.on = True
        yield
        self.on = False
        self.instrument.advance(500 * MS)

    def trace(self, layout: Layout, *, file: str | None) -> Trace:
        self.files.append(file)
        return example_trace()


def traced(fake: FakeInstrument, bind: Bind, iterations: int = 4) -> tuple[list[Event], ScriptedProfiler]:
    events: list[Event] = []
    profiler = ScriptedProfiler(fake)
    take_trace(
        "mine",
        bind,
        instrument=fake,
        profiler=profiler,
        settings=QUICK,
        iterations=iterations,
        trace_file="/x/trace.json",
        emit=events.append,
        now=fake.now,
    )
    return events, profiler


def weighed(
    fake: FakeInstrument, bind: Bind, rounds: int = 5, seed: int = 0
) -> tuple[list[Event], ScriptedProfiler]:
    events: list[Event] = []
    profiler = ScriptedProfiler(fake)
    weigh_profiler(
        "mine",
        bind,
        instrument=fake,
        profiler=profiler,
        settings=QUICK,
        rounds=rounds,
        random=Random(seed),
        emit=events.append,
        now=fake.now,
    )
    return events, profiler


def rounds_of(events: list[Event]) -> list[CostRound]:
    return [event.round for event in events if isinstance(event, CostRoundDone)]


def test_a_trace_is_taken_of_the_second_recording() -> None:
    fake = FakeInstrument()
    program = fake.step({"forward": 3 * MS, "backward": 5 * MS})
    events, profiler = traced(fake, lambda: program)
    stages = [event.stage for event in events if isinstance(event, Entered)]
    assert stages == [Stage.BUILD, Stage.WARMUP, Stage.STEP]
    assert events[-1] == Traced(layout=program.layout, trace=example_trace())
    assert profiler.recordings == [1, 4], "the first loads the profiler"
    assert profiler.files == ["/x/trace.json"]
    assert profiler.waited == [True], "a range ends when the device is done"
    assert not any(profiler.collecting)
    assert gc.isenabled()


def test_rounds_have_a_block_of_each_and_the_profilers_start_is_outside_the_clock() -> None:
    fake = FakeInstrument()
    program = fake.step({"forward": 3 * MS, "backward": 5 * MS})
    events, profiler = weighed(fake, lambda: program)
    ready = next(event for event in events if isinstance(event, ScalesReady))
    assert (ready.layout, ready.iterations) == (program.layout, (1, 1, 1))
    made = rounds_of(events)
    assert len(made) == 5
    assert {each.unprofiled for each in made} == {(8 * MS, 3 * MS, 5 * MS)}
    assert {each.profiled for each in made} == {(12 * MS, 5 * MS, 7 * MS)}
    assert profiler.recordings == [2] * 6, "an unclocked iteration, then the block; one recording to load it"
    assert profiler.waited == [False], "the clock waits already"


def test_operations_are_clocked_in_batches_of_the_same_size() -> None:
    fake = FakeInstrument()
    events, _ = weighed(fake, lambda: fake.operations({"a": MS // 2, "b": MS}), rounds=2)
    ready = next(event for event in events if isinstance(event, ScalesReady))
    assert ready.iterations == (4, 2)
    for each in rounds_of(events):
        assert each.unprofiled == (2 * MS, 2 * MS)
        assert each.profiled == (2 * MS + 4 * PRICE, 2 * MS + 2 * PRICE)


def test_the_order_is_drawn_anew_and_follows_from_the_seed() -> None:
    def order(seed: int) -> list[bool]:
        fake = FakeInstrument()
        events, _ = weighed(fake, lambda: fake.step({"forward": MS}), rounds=12, seed=seed)
        return [each.profiled_first for each in rounds_of(events)]

    assert order(1) == order(1)
    assert set(order(1)) == {True, False}
    assert order(1) != order(2)


@pytest.mark.parametrize("pass_", [traced, weighed])
@pytest.mark.parametrize(
    ("error", "outcome", "cause"),
    [
        (ValueError("no"), Outcome.CRASHED, Cause.EXCEPTION),
        (Unsupported("not here"), Outcome.UNSUPPORTED, Cause.DECLARED),
        (BenchFileError("mend it"), Outcome.CRASHED, Cause.MISTAKE),
    ],
)
def test_what_building_raises_is_the_end(
    pass_: Callable[[FakeInstrument, Bind], tuple[list[Event], ScriptedProfiler]],
    error: Exception,
    outcome: Outcome,
    cause: Cause,
) -> None:
    def bind() -> Program:
        raise error

    events, profiler = pass_(FakeInstrument(), bind)
    failed = events[-1]
    assert isinstance(failed, LaneFailed)
    assert (failed.failure.outcome, failed.failure.cause, failed.failure.stage) == (
        outcome,
        cause,
        Stage.BUILD,
    )
    assert profiler.recordings == []


@pytest.mark.parametrize("pass_", [traced, weighed])
@pytest.mark.parametrize("milliseconds", [0, 900])
def test_what_running_raises_is_the_end(
    pass_: Callable[[FakeInstrument, Bind], tuple[list[Event], ScriptedProfiler]],
    milliseconds: int,
) -> None:
    """While it warms up, or later under the profiler, which takes half a second to start."""
    fake = FakeInstrument()

    def duration() -> int:
        if fake.time >= milliseconds * MS:
            raise RuntimeError("enough")
        return MS

    events, _ = pass_(fake, lambda: fake.step({"forward": duration}))
    failed = events[-1]
    assert isinstance(failed, LaneFailed)
    assert "enough" in failed.failure.message
    assert failed.failure.stage in {Stage.WARMUP, Stage.STEP}
    assert not any(isinstance(event, Traced | CostRoundDone) for event in events)


def home(*events: Event, output: str = "") -> Ended:
    return Ended(events=[Began(pid=7, threads=2), *events], started_by="fork-server", output=output)


TIMING = Timing(started=5.0, seconds=2.0)
SOURCE = BuiltinSource(name="layers")
CASE = Case(variant="mine", cell=Cell(suite="layers"))
LAYOUT = Layout(phases=("forward",), primary="forward")
ROUND = CostRound(unprofiled=(1,), profiled=(2,), profiled_first=True)
DIED = Failure(outcome=Outcome.CRASHED, cause=Cause.SIGNAL, stage=Stage.ROUNDS, message="SIGSEGV")


def weighing(*events: Event, death: Failure | None = None) -> WeighingTrial:
    assignment = WeighingAssignment(case=CASE, number=3, rounds=9, source=SOURCE, settings=Settings())
    return weighing_trial(assignment, home(*events, output="said"), timing=TIMING, death=death)


def test_events_become_a_tracing_trial() -> None:
    trial = tracing_trial(
        home(Traced(layout=LAYOUT, trace=example_trace()), Finished()), timing=TIMING, death=None
    )
    assert (trial.layout, trial.trace, trial.failure) == (LAYOUT, example_trace(), None)
    assert trial.process is not None
    assert (trial.process.pid, trial.process.threads, trial.started) == (7, 2, 5.0)
    dead = tracing_trial(home(output="last words"), timing=TIMING, death=DIED)
    assert (dead.trace, dead.layout) == (None, None)
    assert dead.failure is not None
    assert dead.failure.output == "last words"


def test_events_become_a_weighing_trial_with_what_was_done_before_the_end() -> None:
    ready, done = ScalesReady(layout=LAYOUT, iterations=(4,)), CostRoundDone(round=ROUND)
    trial = weighing(ready, done, done, Finished())
    assert (trial.number, trial.layout, trial.iterations, trial.rounds) == (3, LAYOUT, (4,), (ROUND, ROUND))
    assert trial.failure is None
    dead = weighing(ready, done, death=DIED)
    assert (dead.rounds, dead.output) == ((ROUND,), "said")
    assert dead.failure is not None
    assert (dead.failure.launch, dead.failure.cause) == (3, Cause.SIGNAL)
    failed = weighing(LaneFailed(variant="mine", failure=DIED), Finished())
    assert failed.failure is not None
    assert failed.rounds == ()


def test_every_launch_and_the_trace_have_seeds_of_their_own() -> None:
    numbers = range(3)
    launches = [
        WeighingAssignment(case=CASE, number=number, rounds=9, source=SOURCE, settings=Settings())
        for number in numbers
    ]
    tracing = TracingAssignment(case=CASE, iterations=2, source=SOURCE, settings=Settings())
    assert len({tracing.seed, *(launch.seed for launch in launches)}) == 4
