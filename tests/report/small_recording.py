"""A tiny recording by hand: every kind of trial, a handful of blocks, each number different."""

from __future__ import annotations

from stepmark.records.case import Case, Cell
from stepmark.records.environment import LoadFacts
from stepmark.records.evidence import Evidence, TensorFacts
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.run import Judgement, Recording
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import FlagChange, LaneTrial, LaunchTrial, ProcessFacts, SoloTrial, Warmup
from tests.report.builder import EPOCH

LAYOUT = Layout(phases=("forward", "backward", "step"), primary="step", whole="step")
HUGE = 2**62
"""Larger than a double can hold exactly: only integers keep it."""


def record(judgement: Judgement) -> Recording:
    """Trials for the first cell of a judged run: one solo pass a case, one launch whose last lane fails."""
    cell = judgement.run.cases[0].cell
    cases = [case for case in judgement.run.cases if case.cell == cell]
    lanes = tuple(
        _lane(case, offset=1000 * place, fails=case is cases[-1]) for place, case in enumerate(cases)
    )
    return Recording(run=judgement.run, solos=tuple(map(_solo, cases)), launches=(_launch(cell, lanes),))


def _solo(case: Case) -> SoloTrial:
    facts = TensorFacts(shape=(64, 512), dtype="float32", device="cpu")
    return SoloTrial(
        case=case,
        started=EPOCH,
        seconds=0.41,
        process=ProcessFacts(pid=11, started_by="fork-server", threads=1),
        evidence=Evidence(layout=LAYOUT, parameters=262_656, inputs=(facts,), output=facts),
        samples=(Sample(phase="step", iterations=1, nanoseconds=pack((900_001, 400_002))),),
        output="hello\n",
    )


def _lane(case: Case, *, offset: int, fails: bool) -> LaneTrial:
    failure = Failure(
        outcome=Outcome.CRASHED,
        cause=Cause.EXCEPTION,
        stage=Stage.ROUNDS,
        message="ValueError: no",
        launch=0,
        round=2,
    )
    rounds = range(2 if fails else 3)
    return LaneTrial(
        variant=case.variant,
        layout=LAYOUT,
        process=ProcessFacts(pid=12, started_by="fork-server", threads=1),
        warmup=Warmup(iterations=4, nanoseconds=pack((7, 6, 5)), settled=True, first=pack((99, 9))),
        samples=tuple(
            Sample(phase=phase, iterations=4, nanoseconds=pack(place * 100 + n + offset for n in rounds))
            for place, phase in enumerate(LAYOUT.phases)
        ),
        rounds=pack(rounds),
        flag_changes=(FlagChange(name="deterministic", before="False", after="True", round=1),),
        clock_seconds=1e-7,
        failure=failure if fails else None,
    )


def _launch(cell: Cell, lanes: tuple[LaneTrial, ...]) -> LaunchTrial:
    order = tuple(lane.variant for lane in lanes)
    return LaunchTrial(
        cell=cell,
        number=0,
        seed="0/0",
        isolation=Isolation.SHARED,
        started=EPOCH + 1,
        seconds=0.9,
        build_order=order,
        warmup_order=order[::-1],
        round_orders=(order, order[::-1], order),
        lanes=(*lanes[:-1], _with_huge(lanes[-1])),
        load=LoadFacts(time=EPOCH + 1, load_1m=0.5),
    )


def _with_huge(lane: LaneTrial) -> LaneTrial:
    from msgspec.structs import replace

    first, *others = lane.samples
    return replace(lane, samples=(replace(first, nanoseconds=pack((HUGE, HUGE + 1))), *others))
