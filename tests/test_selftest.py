"""The self-test with a scripted engine: the truth is in the script, so the answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

import pytest
from msgspec.structs import replace

from stepmark.authoring.load import load
from stepmark.engines.fake import FakeEngine
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.engine import CutOff
from stepmark.measure.protocol import Described
from stepmark.records.case import Cache, Cell
from stepmark.records.diagnosis import Check, State
from stepmark.records.environment import TorchFacts
from stepmark.records.self_test import Observations, SelfTest
from stepmark.records.settings import Settings
from stepmark.records.source import Source
from stepmark.records.trial import SoloTrial, Trial
from stepmark.selftest import (
    CYCLES_OF_THE_PRICE,
    DOSES,
    SOURCE,
    TURNS_OF_THE_PRICE,
    Plan,
    evaluate,
    rotation,
    self_test,
)
from stepmark.store.store import Store

CALL, TURN = 40_000, 5
"""Nanoseconds of a workload's call and of one empty turn."""


PROTOCOL = Settings(launches=6, round_seconds=0.01, warmup_seconds=0.005, alone=0, pilot=0)
"""Ended by the number of launches: a fake launch takes no time that a budget would notice."""


class ScriptedMachine:
    """An engine that knows what each variant takes; `noise` is a lane's own offset per launch."""

    def __init__(self, *, noise: float = 0.0, bias: float = 1.0, allocation: float = 1.0) -> None:
        self._outlines = {suite.name: suite.outline() for suite in load(SOURCE)}
        self._noise, self._bias, self._allocation = noise, bias, allocation
        self._random = Random(0)
        self.performed: list[Assignment] = []
        self.stop_at: int | None = None

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        assert tuple(sources) == (SOURCE,)
        facts = TorchFacts(version="fake", build="", threads=1, interop_threads=1, flags=())
        return Described(suites=tuple(self._outlines.values()), torch=facts, device=device)

    def perform(self, assignment: Assignment) -> Trial:
        self.performed.append(assignment)
        cell = assignment.cell if isinstance(assignment, LaunchAssignment) else assignment.case.cell
        outline = self._outlines[cell.suite]
        scripts = {one.name: {"call": self._script(one.name, cell)} for one in outline.variants}
        trial = FakeEngine(outline, scripts).perform(assignment)
        if len(self.performed) == self.stop_at:
            raise CutOff(trial)
        if isinstance(trial, SoloTrial) and trial.evidence is not None:
            extra = self._allocation * dict(cell.axes).get("mebibytes", 0) * 2**20  # type: ignore[operator]
            peak = 100 * 2**20 + (round(extra) if trial.case.variant == "with" else 0)
            return replace(trial, evidence=replace(trial.evidence, peak_rss_bytes=peak))
        return replace(trial, seconds=0.5) if not isinstance(trial, SoloTrial) else trial

    def ceilings(self, device: str) -> None: ...

    def close(self) -> None: ...

    def _script(self, variant: str, cell: Cell) -> Callable[[], int]:
        axes = dict(cell.axes)
        nanoseconds = {
            "plain": CALL,
            "other": CALL + TURN * int(axes.get("turns", 0)),
            "once": 4 * CALL,
            "twice": 8 * CALL,
            "wait": 1000 * int(axes.get("microseconds", 0)),
        }.get(variant, 1000)
        level = nanoseconds * self._bias * math.exp(self._random.gauss(0.0, self._noise))
        return lambda: round(level * math.exp(self._random.gauss(0.0, self._noise)))


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def ticking(step: float) -> Callable[[], float]:
    """A clock that moves by a step at every reading: the budget is a number of stages."""
    moments = (step * n for n in range(10**9))
    return moments.__next__


def tried(machine: ScriptedMachine, store: Store, *, stages: int = 45, device: str = "cpu") -> SelfTest:
    said: list[str] = []
    plan = Plan(budget=6000.0, seed=3, protocol=PROTOCOL, device=device)
    test = self_test(plan, engine=machine, store=store, say=said.append, now=ticking(plan.budget / stages))
    if not test.interrupted:
        assert len(said) == stages - 1
    return test


def states(test: SelfTest) -> dict[Check, State]:
    return {diagnosis.check: diagnosis.state for diagnosis in test.diagnoses}


def test_an_honest_machine_keeps_every_promise(store: Store) -> None:
    test = tried(ScriptedMachine(noise=0.002), store)
    seen = test.observations
    for price in seen.prices:
        assert price.per_turn == pytest.approx(TURN / CALL, rel=0.02)
    assert seen.allocation is not None
    assert seen.allocation.error == pytest.approx(0.0)
    assert seen.work is not None
    assert seen.work.error == pytest.approx(0.0, abs=0.01)
    assert [wait.true for wait in seen.waits] == [20e-6, 200e-6]
    assert max(abs(wait.error) for wait in seen.waits) < 0.02
    assert {row.workload for row in test.identical} == {*TURNS_OF_THE_PRICE, None}
    assert test.identical[-1].alarms.num == 0
    for row in test.detections:
        assert row.counted == pytest.approx(row.dose, rel=0.03)
        assert row.above.num == row.above.of
        if row.dose > test.margin:
            assert row.called.num == row.called.of
    assert set(states(test).values()) == {State.OK}
    assert [reach.workload for reach in test.reaches] == list(TURNS_OF_THE_PRICE)
    assert test.reaches[0].launch_seconds == 0.5
    assert 0.001 < test.reaches[0].deviation < 0.01
    assert test.num_invalid == 0


def test_on_an_accelerator_kernels_of_known_length_take_the_place_of_waits(store: Store) -> None:
    machine = ScriptedMachine(noise=0.002)
    test = tried(machine, store, stages=14, device="cuda")
    seen = test.observations
    assert (test.device, seen.allocation) == ("cuda", None)
    assert [kernel.true for kernel in seen.waits] == [200e-6, 2000e-6]
    assert max(abs(kernel.error) for kernel in seen.waits) < 0.02
    assert [price.turns for price in seen.prices] == list(CYCLES_OF_THE_PRICE.values())
    assert states(test)[Check.TIMER] is State.OK
    cells = {one.cell if isinstance(one, LaunchAssignment) else one.case.cell for one in machine.performed}
    assert {(cell.device, cell.cache) for cell in cells} == {("cuda", Cache.WARM)}


def test_every_comparison_has_a_seed_of_its_own_and_repeats_with_the_same(store: Store) -> None:
    machines = [ScriptedMachine(), ScriptedMachine()]
    tests = [tried(machine, store, stages=12) for machine in machines]
    seeds = [[one.settings.seed for one in machine.performed] for machine in machines]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 11
    assert tests[0].observations == tests[1].observations


def test_a_clock_that_is_wrong_and_memory_that_is_lost_are_named(store: Store) -> None:
    test = tried(ScriptedMachine(bias=1.05, allocation=0.8), store, stages=5)
    found = states(test)
    assert (found[Check.TIMER], found[Check.ALLOCATION]) == (State.WARNING, State.WARNING)
    assert found[Check.WORK] is State.OK
    assert found[Check.FALSE_ALARMS] is State.UNKNOWN
    assert test.diagnoses[0].state is State.WARNING


def test_a_budget_that_is_over_measures_nothing(store: Store) -> None:
    machine = ScriptedMachine()
    test = tried(machine, store, stages=1)
    assert machine.performed == []
    assert test.observations == Observations()
    assert set(states(test).values()) == {State.UNKNOWN}


def test_ctrl_c_keeps_what_is_known(store: Store) -> None:
    machine = ScriptedMachine()
    whole = tried(machine, store, stages=10)
    stopped = ScriptedMachine()
    stopped.stop_at = len(machine.performed) - 1
    test = tried(stopped, store, stages=10)
    assert test.interrupted
    assert not whole.interrupted
    assert test.observations.comparisons == whole.observations.comparisons[:-1]
    assert test.observations.prices == whole.observations.prices


def test_without_a_price_nothing_is_injected(store: Store) -> None:
    class NoTurns(ScriptedMachine):
        """Empty turns cost nothing here, so no number of them makes a known slowdown."""

        def _script(self, variant: str, cell: Cell) -> Callable[[], int]:
            return super()._script("plain" if variant == "other" else variant, cell)

    test = tried(NoTurns(), store, stages=16)
    assert test.observations.prices == ()
    assert {one.dose for one in test.observations.comparisons} == {0.0}


def test_the_solo_passes_are_enough_for_the_allocation(store: Store) -> None:
    machine = ScriptedMachine()
    tried(machine, store, stages=2)
    assert [type(one) for one in machine.performed] == [SoloAssignment, SoloAssignment]


def test_half_of_the_comparisons_are_of_identical_code_and_all_doses_have_their_turn() -> None:
    number = 4 * len(DOSES)
    rounds = list(islice(rotation(), number))
    for workload in TURNS_OF_THE_PRICE:
        doses = [dose for name, dose in rounds if name == workload]
        assert doses.count(0.0) == len(DOSES)
        assert sorted(dose for dose in doses if dose) == sorted(DOSES)


@pytest.mark.parametrize(("budget", "seconds"), [(1.0, 0.5), (60.0, 2.0), (300.0, 10.0), (3600.0, 10.0)])
def test_the_length_of_a_comparison(budget: float, seconds: float) -> None:
    assert Plan(budget=budget).comparison_seconds == seconds


def test_evaluation_is_pure() -> None:
    plan = Plan(budget=1.0)
    assert evaluate(Observations(), plan, seconds=1.0) == evaluate(Observations(), plan, seconds=1.0)
