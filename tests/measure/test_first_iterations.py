"""The first iterations: one by one, with the gauges between them, every end an event."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from stepmark.errors import Unsupported
from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.assemble import Ended, Timing, warmup_trial
from stepmark.measure.assignment import WarmupAssignment
from stepmark.measure.first_iterations import watch_start
from stepmark.measure.lane import Bind
from stepmark.measure.program import Program
from stepmark.measure.protocol import (
    Began,
    Entered,
    Event,
    FaultsWeighed,
    Finished,
    IterationDone,
    LaneFailed,
    Ready,
)
from stepmark.records.case import Case, Cell
from stepmark.records.evidence import Evidence
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.sample import Layout
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.warmup import Reading, WarmupTrial
from tests.measure.scripted import MS, then


@dataclass
class ScriptedGauges:
    """Faults count the readings; time passes while they are read, outside every clock."""

    instrument: FakeInstrument
    readings: int = 0
    asked: list[str] = field(default_factory=list)

    def read(self) -> Reading:
        self.readings += 1
        self.asked.append("read")
        self.instrument.advance(7 * MS)
        return Reading(minor_faults=self.readings)

    def new_modules(self) -> tuple[str, ...]:
        self.asked.append("modules")
        return ("xml",) if self.readings == 2 else ()

    def seconds_per_fault(self) -> float:
        self.asked.append("faults")
        return 2e-6


def started(fake: FakeInstrument, bind: Bind, iterations: int = 4) -> tuple[list[Event], ScriptedGauges]:
    events: list[Event] = []
    gauges = ScriptedGauges(fake)
    watch_start("mine", bind, instrument=fake, gauges=gauges, iterations=iterations, emit=events.append)
    return events, gauges


def done(events: list[Event]) -> list[IterationDone]:
    return [event for event in events if isinstance(event, IterationDone)]


def test_every_iteration_from_the_very_first_phase_by_phase() -> None:
    fake = FakeInstrument()
    program = fake.step({"forward": then(90 * MS, 2 * MS, MS), "backward": 3 * MS})
    events, _ = started(fake, lambda: program)
    assert events[:2] == [Entered(stage=stage, variant="mine") for stage in (Stage.BUILD, Stage.STEP)]
    assert events[2] == Ready(layout=program.layout, reading=Reading(minor_faults=1))
    times = [[time // MS for time in event.iteration.nanoseconds] for event in done(events)]
    assert times == [[93, 90, 3], [5, 2, 3], [4, 1, 3], [4, 1, 3]]
    assert events[-1] == FaultsWeighed(seconds_per_fault=2e-6)


def test_the_gauges_are_read_the_same_way_after_every_iteration_and_outside_the_clock() -> None:
    fake = FakeInstrument()
    events, gauges = started(fake, lambda: fake.operations({"a": MS}), iterations=3)
    assert gauges.asked == ["modules", "read", *["read", "modules"] * 3, "faults"]
    assert [event.iteration.after.minor_faults for event in done(events)] == [2, 3, 4]
    assert [event.iteration.new_modules for event in done(events)] == [("xml",), (), ()]
    assert {event.iteration.nanoseconds for event in done(events)} == {(MS,)}


@pytest.mark.parametrize(("phase", "asked"), [("optimizer", 3), ("forward", 0)])
def test_only_a_step_with_an_optimizer_is_asked_for_its_state(phase: str, asked: int) -> None:
    fake = FakeInstrument()
    plain = fake.step({phase: MS})
    inspected: list[int] = []

    def inspect() -> Evidence:
        inspected.append(fake.time)
        return Evidence(layout=plain.layout, optimizer_state_bytes=64)

    program = Program(layout=plain.layout, calls=plain.calls, prepare=plain.prepare, inspect=inspect)
    events, _ = started(fake, lambda: program, iterations=2)
    assert len(inspected) == asked
    assert done(events)[-1].iteration.after.optimizer_state_bytes == (64 if asked else 0)


def test_failing_to_build() -> None:
    def build() -> Program:
        raise Unsupported("only for wide layers")

    events, _ = started(FakeInstrument(), build)
    assert isinstance(events[-1], LaneFailed)
    assert (events[-1].failure.stage, events[-1].failure.outcome) == (Stage.BUILD, Outcome.UNSUPPORTED)


def test_failing_on_the_way_keeps_what_came_before() -> None:
    fake = FakeInstrument()
    count = iter(range(100))
    events, _ = started(fake, lambda: fake.step({"forward": lambda: 1 // (next(count) != 2)}))
    assert len(done(events)) == 2
    assert isinstance(events[-1], LaneFailed)
    assert events[-1].failure.stage is Stage.STEP


CASE = Case(variant="mine", cell=Cell(suite="s"))
ASSIGNMENT = WarmupAssignment(
    case=CASE, number=3, iterations=2, source=BuiltinSource(name="s"), settings=Settings(seed=5)
)
LAYOUT = Layout(phases=("forward",), primary="forward")
DEATH = Failure(outcome=Outcome.CRASHED, cause=Cause.SIGNAL, stage=Stage.STEP, message="killed by SIGSEGV")


def assembled(events: list[Event], death: Failure | None = None) -> WarmupTrial:
    home = Ended(events=[Began(pid=9, threads=2), *events], started_by="spawn", output="words\n")
    return warmup_trial(ASSIGNMENT, home, timing=Timing(started=1.0, seconds=2.0), death=death)


def test_a_whole_trial() -> None:
    fake = FakeInstrument()
    events, _ = started(fake, lambda: fake.operations({"forward": MS}), iterations=2)
    trial = assembled([*events, Finished()])
    assert (trial.number, trial.started, trial.seconds, trial.failure) == (3, 1.0, 2.0, None)
    assert trial.process is not None
    assert (trial.process.pid, trial.process.started_by, trial.process.threads) == (9, "spawn", 2)
    assert (trial.layout, trial.before) == (LAYOUT, Reading(minor_faults=1))
    assert len(trial.iterations) == 2
    assert trial.seconds_per_fault == 2e-6


def test_a_trial_that_died_keeps_its_iterations_and_last_words() -> None:
    fake = FakeInstrument()
    events, _ = started(fake, lambda: fake.operations({"forward": MS}), iterations=2)
    trial = assembled(events[:-2], DEATH)
    assert len(trial.iterations) == 1
    assert trial.seconds_per_fault is None
    assert trial.failure is not None
    assert (trial.failure.message, trial.failure.output, trial.failure.launch) == (
        DEATH.message,
        "words\n",
        3,
    )


def test_a_trial_that_never_began() -> None:
    trial = warmup_trial(
        ASSIGNMENT, Ended(events=[], started_by="spawn"), timing=Timing(started=0.0, seconds=0.0), death=DEATH
    )
    assert (trial.process, trial.layout, trial.before, trial.iterations) == (None, None, None, ())


def test_every_launch_has_a_seed_of_its_own() -> None:
    assert ASSIGNMENT.seed == f"5/{CASE.cell.id}/warm-up/3"
